/** The type of a payment link. */

/** The payment that a link asks a wallet for. Addresses canonical, the amount above zero. */
export interface PaymentLink {
  readonly network: string; // CAIP-2
  readonly contract: string; // the token, "" for the native coin
  readonly receiver: string;
  readonly units: bigint; // base units
}
