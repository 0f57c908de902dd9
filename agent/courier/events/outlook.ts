/** What the courier sees of everything at one moment, gathered once for notices and metrics. Pure. */
import type { NodeStatus } from "../../../chains/evm/node-pool.ts";
import type { SignerSummary } from "../../socket/summary.ts";
import type { WithdrawalState } from "../../socket/verbs.ts";

/** @public */
export interface OutlookChain {
  readonly chain: string;
  readonly ok: boolean;
  readonly isAsking: boolean; // not ok yet only because no node has answered or failed to
  readonly detail: string;
  readonly block: number;
  readonly balances: ReadonlyMap<string, bigint>; // base units by contract, "" for the native coin; empty when unknown
  readonly nodes: readonly NodeStatus[];
}

/** @public */
export interface OutlookItem {
  readonly transactionId: string;
  readonly state: WithdrawalState;
  readonly code: string;
  readonly currency: string;
  readonly chain: string;
  readonly amount: string;
  readonly why: string; // why it does not go on, "" when it does
}

/** @public */
export interface Outlook {
  readonly agent: string;
  readonly locked: string; // RECOVERY_OFFERED among the codes, "" when running
  readonly link: "up" | "down";
  readonly linkDetail: string;
  readonly chains: readonly OutlookChain[];
  readonly items: readonly OutlookItem[]; // what is not final
  readonly summary: SignerSummary | null; // null before the first answer to `tell`
}
