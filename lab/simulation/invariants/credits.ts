/**
 * The truth of deposits that the gateway credits, held against the simulated chain: each
 * final payment is one that came from outside, is final there, and to the unit; no transaction is
 * credited twice; a request is completed by what is final at its own address alone.
 */
import { stage } from "../world/setting.ts";
import { must } from "./violation.ts";

/** The content of the gateway's database at a commit. */
export interface Credits {
  // final
  readonly payments: readonly {
    readonly address: string;
    readonly currency: string;
    readonly units: string;
    readonly txHash: string;
  }[];
  readonly requests: readonly {
    readonly id: string;
    readonly status: 0 | 1 | 2;
    readonly currency: string;
    readonly units: string;
    readonly address: string;
  }[];
}

/** A payment from outside as the chain has it. */
export interface IncomingPayment {
  readonly receiver: string; // as the chain writes it
  readonly contract: string; // "" native
  readonly units: bigint;
  readonly isFinal: boolean; // now, for good
}

/** `cameBy`: null for what never came from outside. */
export function creditsAreTrue(
  { payments, requests }: Credits,
  cameBy: (txHash: string) => IncomingPayment | null,
  nameOf: (address: string) => string,
): void {
  const sums = new Map<string, bigint>();
  const seen = new Set<string>();
  for (const { address, currency, units, txHash } of payments) {
    const came = cameBy(txHash);
    must(came !== null, "only money from outside is a deposit", () => txHash);
    must(came?.isFinal === true, "only final payments are credited", () => txHash);
    const isSame =
      came?.receiver === nameOf(address) &&
      came.units === BigInt(units) &&
      (came.contract === "") === (currency === stage.coin.id);
    must(
      isSame && !seen.has(txHash),
      "a payment is credited once, to the unit, at its own address",
      () => `${units} by ${txHash}`,
    );
    seen.add(txHash);
    const key = `${address} ${currency}`;
    sums.set(key, (sums.get(key) ?? 0n) + BigInt(units));
  }
  for (const { id, status, currency, units, address } of requests) {
    const paid = sums.get(`${address} ${currency}`) ?? 0n;
    must(
      status !== 1 || paid >= BigInt(units),
      "a request is completed by final money alone",
      () => id,
    );
  }
}
