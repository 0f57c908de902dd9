/**
 * The accounts of one ledger. A fork begins with the same accounts and changes none of its origin.
 */

/** Flags of an AccountRoot. Source: xrpl.org, AccountRoot flags. */
export const accountFlags = {
  requireDest: 0x0002_0000,
  disallowXrp: 0x0008_0000,
  depositAuth: 0x0100_0000,
} as const;

export interface Account {
  readonly balanceDrops: bigint;
  readonly sequence: number; // the next transaction's
  readonly flags: number;
  readonly ownerCount: number;
  readonly previousTxnId: string;
  readonly previousLedger: number;
}

export class State {
  readonly #accounts: Map<string, Account>;

  constructor(accounts: Iterable<readonly [string, Account]> = []) {
    this.#accounts = new Map(accounts);
  }

  fork(): State {
    return new State(this.#accounts);
  }

  account(address: string): Account | undefined {
    return this.#accounts.get(address);
  }

  /** The whole account, or its changed fields where it is there. */
  put(address: string, change: Account | Partial<Account>): void {
    const before = this.#accounts.get(address);
    this.#accounts.set(address, { ...before, ...change } as Account);
  }

  /** Adds drops; an account that was not there begins in this ledger. */
  add(address: string, drops: bigint, ledgerIndex: number): void {
    const before = this.#accounts.get(address);
    if (before !== undefined) this.put(address, { balanceDrops: before.balanceDrops + drops });
    else this.#accounts.set(address, { ...fresh, balanceDrops: drops, sequence: ledgerIndex });
  }

  /** Addresses whose accounts are others than in an older state. */
  changedSince(older: State): readonly string[] {
    return [...this.#accounts]
      .filter(([address, account]) => older.account(address) !== account)
      .map(([address]) => address);
  }
}

const fresh = {
  flags: 0,
  ownerCount: 0,
  previousTxnId: "0".repeat(64),
  previousLedger: 0,
} as const;
