/**
 * The gateway of this process. Takes another configuration by a start within the process: open
 * requests are answered, links end and agents connect again, as at a restart of the service, and
 * nothing that is durable changes. If the new configuration does not start, the earlier one does.
 */
import { AgentError } from "../base/fault.ts";
import type { GatewayConfig } from "./config/config.ts";
import type { Gateway } from "./gateway.ts";

export interface RunningOptions {
  readonly start: (config: GatewayConfig) => Promise<Gateway>;
  /**
   * Neither the new configuration starts nor the earlier one: nothing runs, and the process ends.
   */
  readonly onLost: (error: AgentError) => void;
}

export class RunningGateway {
  readonly #options: RunningOptions;
  #config: GatewayConfig;
  #gateway: Gateway;
  #turn: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(config: GatewayConfig, gateway: Gateway, options: RunningOptions) {
    this.#config = config;
    this.#gateway = gateway;
    this.#options = options;
  }

  /** Rejects as `start` does; then nothing is left running. */
  static async begin(config: GatewayConfig, options: RunningOptions): Promise<RunningGateway> {
    return new RunningGateway(config, await options.start(config), options);
  }

  /** The listening address, with the real port. */
  get url(): string {
    return this.#gateway.url;
  }

  /** As `Gateway.renewCertificate`. */
  renewCertificate(): number | null {
    return this.#gateway.renewCertificate();
  }

  /**
   * Ends the gateway and starts it with `next`. Calls wait for each other.
   * @throws AgentError why `next` does not start; the gateway then runs by the earlier one
   */
  take(next: GatewayConfig): Promise<void> {
    const taken = this.#turn.then(() => (this.#isClosed ? undefined : this.#change(next)));
    this.#turn = taken.catch(() => undefined);
    return taken;
  }

  async #change(next: GatewayConfig): Promise<void> {
    const { start, onLost } = this.#options;
    await this.#gateway.close();
    try {
      this.#gateway = await start(next);
      this.#config = next;
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      try {
        this.#gateway = await start(this.#config);
      } catch (again) {
        if (!(again instanceof AgentError)) throw again;
        onLost(again);
      }
      throw error;
    }
  }

  /** Harmless to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#turn;
    await this.#gateway.close();
  }
}
