/**
 * The courier's snapshot: a complete view of one moment, gathered once for alerts and metrics. Only
 * types.
 */
import type { ChainHealth } from "../../../chains/health.ts";
import type { NodeStatus } from "../../../chains/nodes.ts";
import type { JudgedWithdrawal } from "../../problems/judged.ts";
import type { SignerSummary } from "../../socket/summary.ts";

export interface SnapshotChain {
  readonly chain: string;
  readonly ok: boolean;
  readonly isAsking: boolean; // not ok, because no node has answered or failed yet
  readonly detail: string; // why it is not ok
  readonly block: number; // newest
  readonly balances: ReadonlyMap<string, bigint>; // base units by contract, "" for the native coin; empty when unknown
  readonly nodes: readonly NodeStatus[];
  readonly health: ChainHealth | null; // null if no nodes are configured
  readonly stopped: string; // the code of the stop of first attempts there, "" for none
  readonly held: readonly string[]; // its currencies in which no first attempt is signed
}

export interface Snapshot {
  readonly agent: string;
  readonly locked: string; // RECOVERY_OFFERED among the codes, "" when running
  readonly link: "up" | "down";
  readonly linkDetail: string;
  readonly chains: readonly SnapshotChain[];
  readonly items: readonly JudgedWithdrawal[];
  readonly summary: SignerSummary | null; // null before the first answer to `tell`
}
