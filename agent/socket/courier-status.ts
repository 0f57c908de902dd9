/**
 * What the courier tells of itself, and what a person who decides should know of a withdrawal that
 * waits. Types alone.
 */

/**
 * The courier's view of the outside, given to the signer with `tell` so that `status` has one place
 * to ask.
 * @public
 */
export interface CourierStatus {
  readonly at: number;
  readonly link: "up" | "down";
  readonly linkDetail: string; // why down, since when, next try
  readonly chains: readonly {
    readonly chain: string;
    readonly ok: boolean;
    readonly isAsking: boolean; // not ok yet only because no node has answered or failed to
    readonly detail: string; // last block seen, or what is wrong
    readonly block: number;
    // newest block's own time that enough nodes have reached, Unix milliseconds; 0 when not known
    readonly headAtMs: number;
    readonly nativeBalance: string; // wei at the last final block, "" when unknown
    readonly nodes: readonly CourierNode[]; // in the order of config.json
  }[];
  // e.g. funds, fee ceiling
  readonly waiting: readonly { readonly transactionId: string; readonly why: string }[];
  /**
   * Median time from a job frame's arrival to its signature on disk, over the newest 256;
   * microseconds, 0 before the first.
   */
  readonly durableMedianUs: number;
  readonly configDigest: string; // of the config.json the courier goes by
  /** How telling somebody goes (`notify`); null when nobody is to be told. */
  readonly notify: { readonly ok: boolean; readonly detail: string } | null;
  /**
   * Currencies that nothing is signed of, because their contract counts otherwise than configured.
   */
  readonly outOfService: readonly { readonly currency: string; readonly why: string }[];
  // decimal strings
  readonly lowFunds: readonly { readonly currency: string; readonly has: string; readonly wanted: string }[];
}

/**
 * One node as it did lately.
 * @public
 */
export interface CourierNode {
  readonly url: string; // scheme, host and port only
  readonly ok: boolean;
  readonly detail: string; // "" when ok, else begins with a code, or says that it was not asked yet
  readonly since: number; // of its first failure in a row; 0 when ok or not asked yet
}

/**
 * What a person who decides should know of a withdrawal that waits, beyond the withdrawal itself.
 * @public
 */
export interface WaitView {
  readonly until: number; // when policy decides by itself, 0 when it never does
  readonly isNew: boolean; // nothing was ever paid to the destination on its network
  /** The paid destination that it could be taken for, with the last payment to it. */
  readonly likeness: { readonly address: string; readonly at: number; readonly amount: string; readonly currency: string } | null;
  readonly needsTwo: boolean; // two people must say yes
  // the first yes of two
  readonly confirmed: { readonly approver: string; readonly address: string; readonly at: number } | null;
}
