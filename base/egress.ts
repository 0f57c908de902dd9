/** How a process leaves a company's network. Only types. */
export interface Egress {
  readonly ca: string; // PEM, trusted besides the machine's own certificates; "" none
  readonly proxy: string; // http://[USER:PASSWORD@]HOST:PORT; "" none
  readonly direct: readonly string[]; // hosts and .domains that the proxy is not asked for
}
