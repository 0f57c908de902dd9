/**
 * The nodes' count of an account's transactions, from courier to signer, and the first slot of an
 * account, as the operator's verb `adopt` shows it. Only types.
 */

/**
 * The request of the courier's verbs `adopt` and `account`. `adopt`: the first slot of an account;
 * for a hot wallet, a slot above 0 is only kept, to be shown to an operator. `account`: the final
 * transaction count; a count above the ledger's own raises an alarm, then a lock, unless the
 * account began there.
 */
export interface SlotCountClaim {
  readonly chain: string;
  readonly slot: string;
  readonly quorum: number; // nodes that agreed
  readonly address?: string; // a deposit address that is swept; absent for the hot wallet
  /**
   * Only in `account`, while a withdrawal has a slot below the count: the first slot that the
   * account can use, and the time of a final block in which it did not exist (Unix milliseconds).
   */
  readonly began?: AccountBeginning;
}

export interface AccountBeginning {
  readonly slot: string;
  readonly absentMs: number;
}

/** `counted`: the count of `quorum` nodes in the courier's last claim, "" before the first. */
export interface FirstSlotView {
  readonly chain: string;
  readonly network: string;
  readonly account: string;
  readonly adopted: string; // "" before
  readonly isBegun: boolean; // a slot of the account was given out, so its first slot is fixed
  readonly counted: string;
  readonly quorum: number;
}
