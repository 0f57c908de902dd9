/**
 * The courier's report on itself, and the facts of a waiting withdrawal for the operator who
 * decides. Only types.
 */

/**
 * The courier's view of the outside, sent to the signer with `tell` so that `status` has one
 * source.
 */
export interface CourierStatus {
  readonly at: number;
  readonly link: "up" | "down";
  readonly linkDetail: string; // why down, since when, next try
  readonly chains: readonly {
    readonly chain: string;
    readonly ok: boolean;
    readonly isAsking: boolean; // not ok only because no node has answered or failed yet
    readonly detail: string; // last block seen, or the problem
    readonly block: number;
    // own time of the newest block that enough nodes have reached, Unix milliseconds; 0 if unknown
    readonly headAtMs: number;
    readonly nativeBalance: string; // wei at the last final block, "" if unknown
    // by the newest block, decimal strings in the family's own fields; absent while the nodes are
    // away
    readonly feeMarket?: Readonly<Record<string, string>>;
    readonly nodes: readonly CourierNode[]; // in the order of config.json
    /** Causes of late payments on a chain that can be used, each with its code; else absent. */
    readonly delays?: readonly string[];
  }[];
  // e.g. funds, fee ceiling
  readonly waiting: readonly { readonly transactionId: string; readonly why: string }[];
  /**
   * Median time from a job frame's arrival to its signature on disk, over the newest 256, in
   * microseconds; 0 before the first.
   */
  readonly durableMedianUs: number;
  readonly configDigest: string; // digest of the courier's config.json
  /** The state of the alerts (`notify`); null if none are configured. */
  readonly notify: { readonly ok: boolean; readonly detail: string } | null;
  /**
   * Currencies for which nothing is signed, because their contract has other decimals than
   * configured.
   */
  readonly outOfService: readonly { readonly currency: string; readonly why: string }[];
  /** The hot wallets whose first slot waits for the gateway or an operator; absent if none does. */
  readonly unbegun?: readonly { readonly chain: string; readonly why: string }[];
  // decimal strings
  readonly lowFunds: readonly {
    readonly currency: string;
    readonly has: string;
    readonly wanted: string;
  }[];
}

/** The recent state of one node. */
export interface CourierNode {
  readonly url: string; // scheme, host and port only
  readonly ok: boolean;
  readonly detail: string; // "" if ok, else a text that begins with a code, or the note that the node was not asked yet
  readonly since: number; // time of its first failure in a row; 0 if ok or not asked yet
}

/** The facts of a waiting withdrawal for the operator who decides, beyond the withdrawal itself. */
export interface WaitView {
  readonly until: number; // when policy decides by itself, 0 if never
  readonly isNew: boolean; // nothing was ever paid to the destination on its network
  /** The paid destination that resembles it, with the last payment there. */
  readonly likeness: {
    readonly address: string;
    readonly at: number;
    readonly amount: string;
    readonly currency: string;
  } | null;
  readonly needsTwo: boolean; // two operators must approve
  // the first yes of two
  readonly confirmed: {
    readonly approver: string;
    readonly address: string;
    readonly at: number;
  } | null;
}
