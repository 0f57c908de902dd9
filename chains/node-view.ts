/**
 * The state of one node: recent answers, movement of the head, and the result of an examination of
 * only this node. Only types.
 */
import type { Code } from "../base/codes.ts";
import type { ConfiguredChain } from "./family.ts";

/** A node as it did lately. */
export interface NodeStatus {
  readonly url: string; // scheme, host and port only
  readonly ok: boolean;
  readonly detail: string; // "" when ok
  readonly outForMs: number | null; // time of its first failure in a row; null when ok or not asked yet
  readonly block: number | null; // newest head it showed
  readonly head: HeadView | null; // movement of that head; null before the first
  readonly final: HeadView | null; // movement of its newest final block; null before the first
  readonly ranges: readonly BlockRange[] | null; // blocks that it keeps; null if it does not say
  readonly hour?: HourQuotaView | null; // its questions of the last hour; null without a limit
}

/** Questions to one server within an hour. */
export interface HourQuotaView {
  readonly perHour: number; // the most
  readonly asked: number; // those of the last hour
}

/** Blocks from the first to the last, both counted. */
export type BlockRange = readonly [from: number, to: number];

/**
 * The newest head or final block of one node and its movement. `seenAgoMs` and `stoodForMs` are by
 * a clock that never runs back, `atMs` by the chain's own.
 */
export interface HeadView {
  readonly number: number;
  readonly atMs: number; // the block's own time, Unix milliseconds; 0 if the node gave none
  readonly seenAgoMs: number; // since the node last showed it
  readonly stoodForMs: number; // time between the first and the last answer with this number
  readonly highest: number; // highest number that it ever showed; above `number` if the node was rolled back
  readonly blockMs: number | null; // time between two blocks by its heads; null before the head rose
}

/** Receives events of a chain's nodes, for logs and metrics. Fields hold no secret. */
export type NodeLog = (
  event:
    | "node-failed"
    | "node-recovered"
    | "node-wrong-chain"
    | "node-outlier"
    | "entry-unknown"
    | "coin-unused",
  fields: Readonly<Record<string, string | number>>,
) => void;

/** One node to be examined without others. */
export interface NodeToExamine {
  readonly chain: ConfiguredChain & { readonly confirmations: number | "finalized" };
  readonly url: string;
  readonly contracts: readonly string[];
  readonly timeoutMs: number; // time limit of one exchange
  /** Reads the node's `headersFile`. @throws AgentError */
  readonly readSecretFile?: (path: string) => Uint8Array;
}

/** The result for one node. `code` is "" for a node that serves the right chain and answered. */
export interface NodeView {
  readonly url: string; // scheme, host and port only
  readonly code: Code | "";
  readonly detail: string;
  readonly block: number; // its newest, 0 when unknown
  readonly blockAtMs: number; // that block's own time, 0 when unknown
  readonly blockMs: number | null; // time between two blocks by its newest ones, null when unknown
  readonly lacks: readonly MissingAnswer[]; // questions without an answer; empty if all that is needed is answered
  readonly tokens: readonly TokenView[];
}

/** A question of payments or deposits that a node does not answer. */
export interface MissingAnswer {
  readonly question: string; // name of the question, such as "a balance at the final block"
  readonly neededBy: "payments" | "deposits" | "both";
  readonly isOptional: boolean; // there is another way
  readonly code: Code;
  readonly words: string; // the node's own, cut and cleaned
}

/**
 * The decimals that a contract names. -1 if it answers with no number of decimals, or does not
 * answer, and so is no token.
 */
export interface TokenView {
  readonly contract: string;
  readonly decimals: number;
}
