/**
 * Exclusion tokens: which nonce an account uses next. There is no counter beside the ledger; this one is folded from ADOPTED and
 * INTENT records, so a nonce and its withdrawal are one fact. Touches nothing.
 */
import { invariant } from "../../../protocol/fault.ts";
import type { LedgerRecord } from "../ledger/records.ts";

/**
 * Most withdrawals of one account whose token is bound and not final. More would only queue in the nodes' pools, where one stuck
 * transaction holds up all behind it.
 * @public
 */
export const unfinishedPerAccountMax = 256;

/** @public */
export interface Account {
  readonly network: string;
  readonly account: string; // EIP-55
  readonly adopted: bigint; // the first nonce ever used from here
  next: bigint;
  unfinished: number;
}

/**
 * `[network, account, adopted, next, unfinished]`
 * @public
 */
export type AccountEntries = readonly (readonly [string, string, string, string, number])[];

/**
 * Every adopted account. Only `fold` and `finish` change it, from records.
 * @public
 */
export class Accounts {
  readonly #byKey = new Map<string, Account>();

  constructor(entries: AccountEntries = []) {
    for (const [network, account, adopted, next, unfinished] of entries) {
      this.#byKey.set(keyOf(network, account), { network, account, adopted: BigInt(adopted), next: BigInt(next), unfinished });
    }
  }

  find(network: string, account: string): Account | undefined {
    return this.#byKey.get(keyOf(network, account));
  }

  /** ADOPTED and INTENT records. The nonce of a first version is the next one and no other. */
  fold(record: LedgerRecord): void {
    if (record.kind === "ADOPTED") {
      const key = keyOf(record.network, record.account);
      invariant(!this.#byKey.has(key), "an account is adopted once");
      const adopted = BigInt(record.nonce);
      this.#byKey.set(key, { network: record.network, account: record.account, adopted, next: adopted, unfinished: 0 });
    }
    if (record.kind === "INTENT" && record.version === 1) {
      const account = this.find(record.network, record.account);
      invariant(account !== undefined && account.next === BigInt(record.nonce), "nonces are allocated in order, without gaps");
      account.next += 1n;
      account.unfinished += 1;
    }
  }

  /** A bound token met its end. */
  finish(network: string, account: string): void {
    const found = this.find(network, account);
    invariant(found !== undefined && found.unfinished > 0, "what ends was begun");
    found.unfinished -= 1;
  }

  snapshot(): AccountEntries {
    return [...this.#byKey.values()].map(({ network, account, adopted, next, unfinished }) => [
      network,
      account,
      adopted.toString(),
      next.toString(),
      unfinished,
    ]);
  }
}

function keyOf(network: string, account: string): string {
  return `${network} ${account}`;
}
