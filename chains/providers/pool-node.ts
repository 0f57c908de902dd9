/** One node of a pool, and what a family brings for it. Only types. */
import type { AgentError } from "../../base/fault.ts";
import type { BlockRange, NodeLog } from "../nodes.ts";
import type { HourCount } from "./hour-count.ts";
import type { NodeHeads } from "./node-heads.ts";
import type { ServerAddress } from "./server.ts";

/** The connection to one node, in its family's protocol. */
export interface Client {
  readonly origin: string; // scheme, host and port only
  /**
   * The refusal of a provider that has refused every question for some time while those questions
   * still wait.
   */
  refusal?(): ProviderRefusal | null;
  close(): void;
}

export interface ProviderRefusal {
  readonly detail: string; // begins with a code
  readonly forMs: number;
}

export interface PoolOptions<C extends Client, A> {
  readonly servers?: readonly ServerAddress[]; // of the clients, in their order
  readonly clients: readonly C[];
  readonly chain: string; // chain that every node must serve, as `chainOf` returns it
  /** One exchange. */
  readonly askChain: (client: C) => Promise<A>;
  readonly chainOf: (answer: A, client: C) => string;
  /** The cure for a node that answers with this chain; "" for nothing but another address. */
  readonly cureOf?: (answered: string) => string;
  readonly log: NodeLog;
  readonly clock: () => number; // milliseconds, never running back
}

export interface PoolNode<C extends Client> {
  readonly rpc: C;
  chain: "unchecked" | "right" | "wrong";
  checking: Promise<void> | null;
  failures: number; // in a row; those of questions that were under way at one failure count once
  asked: number; // exchanges begun
  failedAt: number; // exchanges begun before the newest failure
  outAt: number | null; // time of the first failure, or since the node showed another chain
  restUntil: number;
  quiet: { readonly untilMs: number; readonly fault: AgentError } | null; // the provider asked for no questions until then
  detail: string;
  readonly heads: NodeHeads;
  readonly finals: NodeHeads; // its newest final blocks
  ranges: readonly BlockRange[] | null; // blocks that it keeps, where it said so
  readonly hour: HourCount | null; // null without a limit by the hour
}
