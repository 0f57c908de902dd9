/**
 * The agent as the table of problems (table.ts) judges it: its state at one moment, as the signer
 * tells it to an operator's command, or as the courier sees it itself. A part that a looker cannot
 * know is empty or null, and the rows of that part find nothing. Only types.
 */
import type { PlaceholderValues, StateEnd } from "../../base/state-end.ts";
import type {
  ApprovalDetails,
  CourierStatus,
  SignerStatus,
  StoppedView,
  WithdrawalState,
} from "../socket/verbs.ts";

/** The ledger's disk. */
export interface JudgedRoom {
  readonly freeBytes: number; // below 0: unknown
  readonly freeBytesMin: number; // the signer begins nothing new below this
  readonly isWritable: boolean;
  readonly isReadOnly: boolean;
}

/** A node, or a cause of late payments, with its code in front of its words. */
export interface CodedWords {
  readonly code: string;
  readonly words: string;
}

export interface JudgedChain {
  readonly chain: string;
  readonly ok: boolean;
  readonly isAsking: boolean; // not ok, because no node has answered or failed yet
  readonly detail: string; // why it is not ok
  readonly delays: readonly CodedWords[];
  readonly poorNodes: readonly (CodedWords & { readonly url: string })[];
  readonly nativeBalance: string; // base units at the last final block, "" if unknown
  readonly isBalanceKnown: boolean;
}

/** A network, or with `currency` a currency, in which no first attempt is signed. */
export interface JudgedStop {
  readonly kind: "foreign" | "moved" | "ordered";
  readonly place: string;
  readonly view: StoppedView | null; // null: the looker sees the place alone
}

/** A withdrawal that does not go on, with the reason as the courier's scheduler words it. */
export interface JudgedWait {
  readonly transactionId: string;
  readonly why: string;
  readonly chain: string; // "" if the looker does not know it
  readonly currency: string; // "" if the looker does not know it
}

/** One withdrawal that is not final, as the courier sees it. */
export interface JudgedWithdrawal {
  readonly transactionId: string;
  readonly state: WithdrawalState;
  readonly code: string;
  readonly currency: string;
  readonly chain: string;
  readonly amount: string; // decimal
  readonly why: string; // the reason why it waits, "" while it goes on
  readonly awaited: ApprovalDetails | null; // null unless an operator must decide
}

/**
 * config.json as far as this user may look. `digest` as of agent/config/digest.ts; `changedAtMs` in
 * Unix milliseconds.
 */
export type ConfigOnDisk =
  | { readonly is: "read"; readonly digest: string }
  | {
      readonly is: "invalid";
      readonly code: string;
      readonly message: string;
      readonly hint: string;
    }
  | { readonly is: "closed"; readonly changedAtMs: number } // exists, but this user may not read it
  | { readonly is: "gone" }
  | { readonly is: "unseen" }; // this user may not look into its folder

/** The view of an operator's command on the agent's machine, beyond the courier's. */
export interface JudgedStatus {
  readonly signer: SignerStatus;
  readonly nowMs: number; // Unix milliseconds
  readonly isUnderUnits: boolean;
  readonly config: ConfigOnDisk;
}

export interface JudgedAgent {
  readonly agent: string;
  readonly locked: string; // the code, "" when running
  readonly recovery: string; // RECOVERY_OFFERED, RECOVERY_HOLD, or ""
  readonly link: "up" | "down" | "unknown";
  readonly linkDetail: string;
  readonly stops: readonly JudgedStop[];
  readonly room: JudgedRoom | null;
  readonly isConfigSplit: boolean | null; // signer and courier go by two versions of config.json; null: unknown
  readonly chains: readonly JudgedChain[];
  readonly waits: readonly JudgedWait[];
  /** The accounts that begin with somebody's word, of a looker whose waits name no chain. */
  readonly unbegun: NonNullable<CourierStatus["unbegun"]>;
  readonly lowFunds: CourierStatus["lowFunds"];
  readonly withdrawals: readonly JudgedWithdrawal[]; // empty for an operator's command
  readonly operator: JudgedStatus | null; // null for the courier
  /** How this looker spells a command and a time. */
  readonly voice: {
    command(end: StateEnd, names?: PlaceholderValues): string;
    moment(ms: number): string;
  };
}
