/**
 * The events and effects of the scheduler, as types. Events come from the signer, the chains and
 * the clock; effects go back to them. Every question among the effects has exactly one event as its
 * answer, also for a fault; a lost answer only costs time. `account` names a deposit address;
 * without it the chain's hot wallet is meant.
 */

import type { Effect } from "../../../base/fault.ts";
import type {
  BeginningProof,
  ChainOutcome,
  ChainState,
  CoinVisibility,
  Inclusion,
  NodeAnswer,
  SlotCounts,
  VoidAnswer,
  VoidQuestion,
} from "../../../chains/nodes.ts";
import type { AskedAccount, SightedCoin, SightingsQuestion } from "../../../protocol/sightings.ts";
import type {
  AccountView,
  ChangedWithdrawalPart,
  CourierAnswers,
  CourierRequests,
  CourierView,
  NetworkStop,
} from "../../socket/verbs.ts";

/** The nodes' answer on the inclusion of a withdrawal. */
export type InclusionAnswer = Inclusion & { readonly transactionId: string };

/** The nodes' answer on possibly void attempts of a withdrawal, all of them together. */
export interface VoidAttemptsAnswer {
  readonly transactionId: string;
  readonly txHashes: readonly string[];
  readonly answer: ({ readonly ok: true } & VoidAnswer) | SchedulerRefusal;
}

/** A refusal (effect none) or a fault, of the signer or of the nodes. */
export interface SchedulerRefusal {
  readonly ok: false;
  readonly code: string;
  readonly detail?: string; // the signer's own words
  readonly effect: Effect;
}

/** The verbs of the signer about one withdrawal. */
export type SchedulerVerb = "sign" | "replace" | "decline" | "observed";

export type SchedulerEvent =
  /**
   * `isFresh`: the signer has another run than before, so no earlier state counts. `askedAtMs`: the
   * time of the question.
   */
  | {
      readonly kind: "hello";
      readonly hello: CourierAnswers["hello"];
      readonly isFresh: boolean;
      readonly askedAtMs: number;
    }
  | { readonly kind: "locked"; readonly code: string }
  /** `network`: only first attempts there. */
  | ({ readonly kind: "paused"; readonly paused: boolean } & Partial<NetworkStop>)
  | { readonly kind: "views"; readonly withdrawals: readonly CourierView[] }
  /**
   * Steps of withdrawals with earlier views. For a withdrawal without a view, the scheduler asks
   * for the signer's complete view.
   */
  | { readonly kind: "steps"; readonly withdrawals: readonly ChangedWithdrawalPart[] }
  | {
      readonly kind: "answered";
      readonly verb: SchedulerVerb;
      readonly transactionId: string;
      readonly answer:
        | { readonly ok: true; readonly withdrawal: ChangedWithdrawalPart }
        | SchedulerRefusal;
    }
  | {
      readonly kind: "adopted";
      readonly chain: string;
      readonly account?: string;
      readonly answer: { readonly ok: true; readonly account: AccountView } | SchedulerRefusal;
    }
  /** The gateway has sent a job for the chain, which the signer has not judged yet. */
  | { readonly kind: "expected"; readonly chain: string }
  /** A new block exists; the rest of its data follows as `block`. */
  | {
      readonly kind: "head";
      readonly chain: string;
      readonly account?: string;
      readonly number: number;
    }
  | {
      readonly kind: "block";
      readonly chain: string;
      readonly account?: string;
      readonly chainState: ChainState;
    }
  /** The chain's nodes do not answer usefully; a `block` ends it. */
  | {
      readonly kind: "away";
      readonly chain: string;
      readonly account?: string;
      readonly code: string;
    }
  | {
      readonly kind: "gas";
      readonly transactionId: string;
      readonly isOwn?: true; // of the transfer to the hot wallet itself
      /**
       * `wouldRevert` is the node's judgement on the call; any other no is a fault of the question.
       */
      readonly answer:
        | { readonly ok: true; readonly gasLimit: bigint }
        | (SchedulerRefusal & { readonly wouldRevert: boolean });
    }
  | {
      readonly kind: "sent";
      readonly transactionId: string;
      readonly attempt: number;
      /** Of the nodes that were asked, up to the first that took the bytes. */
      readonly answers: readonly NodeAnswer[];
    }
  /** Independent code read other bytes, and no node has got them. */
  | {
      readonly kind: "misread";
      readonly transactionId: string;
      readonly attempt: number;
      readonly detail: string;
    }
  | {
      readonly kind: "looked";
      readonly chain: string;
      readonly account?: string;
      readonly found: readonly InclusionAnswer[];
      /** Withdrawals whose look-up failed. */
      readonly failed?: readonly string[];
    }
  | {
      readonly kind: "confirmed";
      readonly chain: string;
      readonly account?: string;
      readonly found: readonly {
        readonly transactionId: string;
        readonly chainOutcome: ChainOutcome | null;
      }[];
      /** Withdrawals that the nodes could not answer. */
      readonly failed?: readonly string[];
    }
  | {
      readonly kind: "void";
      readonly chain: string;
      readonly account?: string;
      readonly found: readonly VoidAttemptsAnswer[];
    }
  /** The gateway's word on coins, next slots and withdrawals, as the signer took it. */
  | {
      readonly kind: "sighted";
      readonly coins: readonly SightedCoin[];
      readonly next: readonly AskedAccount[];
      readonly orders: readonly string[];
    }
  /** The answer to `checkBlock`; missing if the block could not be read. */
  | {
      readonly kind: "blockChecked";
      readonly chain: string;
      readonly account?: string;
      readonly holds: boolean;
    }
  | {
      readonly kind: "slotCounts";
      readonly chain: string;
      readonly account?: string;
      /** `began`: null if it was not asked for, or the nodes do not show it. */
      readonly answer:
        | ({ readonly ok: true; readonly began?: BeginningProof | null } & SlotCounts)
        | SchedulerRefusal;
    }
  /** The final spenders of coins; null for a coin without one, or without an answer. */
  | {
      readonly kind: "spenders";
      readonly chain: string;
      readonly account?: string;
      readonly found: readonly { readonly coin: string; readonly txHash: string | null }[];
    }
  /** Answers to `makers`; null where the nodes did not answer. */
  | {
      readonly kind: "makers";
      readonly chain: string;
      readonly account?: string;
      readonly found: readonly (PinQuestion & { readonly answer: CoinVisibility | null })[];
    }
  /** The withdrawals that no block takes, as the gateway's newest acknowledgement names them. */
  | { readonly kind: "unreachable"; readonly transactionIds: readonly string[] }
  | { readonly kind: "tick" };

/** A verb and its fields. */
export type SignerRequest =
  | { readonly verb: "sign"; readonly body: CourierRequests["sign"] }
  | { readonly verb: "replace"; readonly body: CourierRequests["replace"] }
  | { readonly verb: "decline"; readonly body: CourierRequests["decline"] }
  | { readonly verb: "observed"; readonly body: CourierRequests["observed"] };

/** Questions to a chain's nodes. */
export type NodeQuestion =
  /** `isOwn` asks for the same transfer to the hot wallet itself. */
  | {
      readonly kind: "gas";
      readonly chain: string;
      readonly from: string;
      readonly withdrawal: CourierView;
      readonly isOwn?: true;
    }
  | {
      readonly kind: "look";
      readonly chain: string;
      readonly account?: string;
      readonly wanted: readonly InclusionQuestion[];
    }
  | {
      readonly kind: "confirm";
      readonly chain: string;
      readonly account?: string;
      readonly wanted: readonly InclusionQuestion[];
    }
  /** Asks if attempts of an account are void, those of each withdrawal together. */
  | {
      readonly kind: "void";
      readonly chain: string;
      readonly account?: string;
      readonly wanted: readonly VoidAttemptsQuestion[];
    }
  /** `asksBegan`: some of its withdrawals have slots below the count. */
  | {
      readonly kind: "slotCounts";
      readonly chain: string;
      readonly account?: string;
      readonly address: string;
      readonly asksBegan?: true;
    }
  /** Asks which final transaction spends each coin, as txHash:output. */
  | {
      readonly kind: "spenders";
      readonly chain: string;
      readonly account?: string;
      readonly coins: readonly string[];
    }
  /** Asks if nodes show the transactions that made these coins. */
  | {
      readonly kind: "makers";
      readonly chain: string;
      readonly account?: string;
      readonly wanted: readonly PinQuestion[];
    };

/** The pin of a withdrawal, as txHash:output. */
export interface PinQuestion {
  readonly transactionId: string;
  readonly coin: string;
}

export interface SendEffect {
  readonly kind: "send";
  readonly chain: string;
  readonly withdrawal: CourierView;
  readonly attempt: number;
}

export interface BlockCheckEffect {
  readonly kind: "checkBlock";
  readonly chain: string;
  readonly account?: string;
  readonly block: number;
  readonly blockHash: string;
}

/** Every effect may be carried out twice without harm. */
export type SchedulerEffect =
  | ({ readonly kind: "ask"; readonly withdrawal: CourierView } & SignerRequest)
  | { readonly kind: "adopt"; readonly body: CourierRequests["adopt"] }
  | { readonly kind: "account"; readonly body: CourierRequests["account"] }
  /** Tells the signer of a coin that no attempt spends. */
  | { readonly kind: "foreign"; readonly body: CourierRequests["foreign"] }
  /** Tells the signer if the nodes show the coin that a withdrawal spends. */
  | { readonly kind: "unseen"; readonly body: CourierRequests["unseen"] }
  /**
   * Asks for the signer's `hello` again, because the signer has newer state than this scheduler.
   */
  | { readonly kind: "refresh" }
  /** Asks the watch of an account for the chain's state at once; a `block` or `away` follows. */
  | { readonly kind: "wake"; readonly chain: string; readonly account?: string }
  /** A question to the gateway; `sighted` follows, or silence. */
  | ({ readonly kind: "question" } & Pick<SightingsQuestion, "coins" | "accounts" | "orders">)
  | NodeQuestion
  | SendEffect
  | BlockCheckEffect
  | {
      readonly kind: "alarm";
      readonly code: "COURIER_READ_BACK" | "COURIER_TOKEN_MOVED" | "COURIER_VOID_INCLUDED";
      readonly transactionId: string;
      readonly detail: string;
    };

export interface VoidAttemptsQuestion {
  readonly withdrawal: CourierView;
  readonly attempts: readonly VoidQuestion[];
}

export interface InclusionQuestion {
  readonly withdrawal: CourierView;
  readonly txHashes: readonly string[];
}
