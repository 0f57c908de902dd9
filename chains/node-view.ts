/**
 * How one node does: as it did lately, how its head moved, and how it shows itself when it is
 * looked at alone. Types alone.
 */
import type { Code } from "../protocol/codes.ts";
import type { ConfiguredChain } from "./family.ts";

/**
 * A node as it did lately.
 * @public
 */
export interface NodeStatus {
  readonly url: string; // scheme, host and port only
  readonly ok: boolean;
  readonly detail: string; // "" when ok
  readonly outForMs: number | null; // since its first failure in a row; null when ok or not asked yet
  readonly block: number | null; // newest head it showed
  readonly head: HeadView | null; // how that head moved; null before the first
}

/**
 * The newest head of one node, and how it moved. `seenAgoMs` and `stoodForMs` by a clock that never
 * runs back, `atMs` by the chain's own.
 * @public
 */
export interface HeadView {
  readonly number: number;
  readonly atMs: number; // the block's own time, Unix milliseconds; 0 where the node did not say
  readonly seenAgoMs: number; // since the node last showed it
  readonly stoodForMs: number; // between the first and the last time that the node showed this number
  readonly highest: number; // that it ever showed; above `number` where the node went back
  readonly blockMs: number | null; // time between two blocks by its heads; null before it rose
}

/**
 * Hears what the nodes of a chain went through, for logs and metrics. Fields hold no secret.
 * @public
 */
export type NodeLog = (
  event: "node-failed" | "node-recovered" | "node-wrong-chain" | "node-outlier" | "entry-unknown",
  fields: Readonly<Record<string, string | number>>,
) => void;

/**
 * One node, to be looked at by itself.
 * @public
 */
export interface NodeQuestion {
  readonly chain: ConfiguredChain & { readonly confirmations: number | "finalized" };
  readonly url: string;
  readonly contracts: readonly string[];
  readonly timeoutMs: number; // of one exchange
}

/**
 * A node's own showing. `code` is "" for one that serves the right chain and answered.
 * @public
 */
export interface NodeView {
  readonly url: string; // scheme, host and port only
  readonly code: Code | "";
  readonly detail: string;
  readonly block: number; // its newest, 0 when unknown
  readonly blockAtMs: number; // that block's own time, 0 when unknown
  readonly blockMs: number | null; // time between two blocks by its newest ones, null when unknown
  readonly lacks: readonly Lack[]; // empty where it answers all that is needed
  readonly tokens: readonly TokenView[];
}

/**
 * A question of payments or deposits that a node does not answer.
 * @public
 */
export interface Lack {
  readonly question: string; // what is asked for, such as "a balance at the final block"
  readonly neededBy: "payments" | "deposits" | "both";
  readonly isOptional: boolean; // there is another way
  readonly code: Code;
  readonly words: string; // the node's own, cut and cleaned
}

/**
 * The decimals that a contract names; -1: it answers, and not with decimals or not at all, which is
 * no contract of a token.
 * @public
 */
export interface TokenView {
  readonly contract: string;
  readonly decimals: number;
}
