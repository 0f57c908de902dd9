/**
 * State that the parts of a run share: the run's options, the signer's socket, the way to the
 * scheduler, and the known state of the outside.
 */
import type { KeyObject } from "node:crypto";
import type { AgentLog } from "../../base/log.ts";
import type { FeeMarket } from "../../chains/family.ts";
import type { AgentLedgerHead, OpenSlots } from "../../protocol/messages.ts";
import type { CourierSettings } from "../config/settings.ts";
import type { SignerSummary } from "../socket/summary.ts";
import type { CourierAnswers } from "../socket/verbs.ts";
import { type SignerSocket, settleAnswer } from "./effects.ts";
import type { AlertMonitor } from "./events/alert-monitor.ts";
import type { LinkOptions } from "./link/link.ts";
import type { Metrics } from "./metrics.ts";
import type { ChainAccess } from "./nodes/chain.ts";
import type { ReadBack } from "./nodes/read-back.ts";
import type { GatewayQuestions } from "./questions.ts";
import type { codeOfLostControl } from "./scheduler/accounts.ts";
import type { SchedulerEvent, SchedulerRefusal } from "./scheduler/scheduler.ts";

export interface RunOptions {
  readonly address: string; // address of the link, from linkAddress()
  readonly gatewayKey: KeyObject;
  readonly linkKey: KeyObject;
  readonly chainAccess: ReadonlyMap<string, ChainAccess>; // by chain name
  readonly currencies: CourierSettings["currencies"];
  readonly readBack: ReadBack;
  readonly software: string;
  readonly configDigest: string; // digest of the settings, for status
  readonly configReadMs: number; // agent/socket/config-read.ts
  readonly clock: () => number; // wall time, for sent messages
  readonly monotonic: () => number; // never goes back, for waiting times
  readonly random: () => number;
  readonly pollMs: { readonly min: number; readonly max: number };
  readonly statusMs?: number; // time between two status reports to the signer, default 2000
  readonly linkTimes?: LinkOptions["times"];
  readonly log: AgentLog;
  readonly metrics: Metrics;
  // gets a snapshot with each status; without it there are no alerts and no metrics
  readonly alertMonitor?: AlertMonitor;
  readonly onBug: (error: unknown) => void;
}

export type SignerHello = CourierAnswers["hello"];

/** State that the parts of a run share. */
export interface RunContext {
  readonly options: RunOptions;
  readonly signer: SignerSocket;
  readonly feed: (event: SchedulerEvent) => void;
  readonly state: RunState;
  /** True while no withdrawal of the chain's hot wallet is open or expected. */
  readonly isIdle: (chain: string) => boolean;
  /** The ranges of slots with open withdrawals at this moment. */
  readonly openSlots: () => readonly OpenSlots[];
  /** Gives the signer the courier's present view of the outside. */
  readonly tellStatus: () => void;
}

export interface KnownChain {
  away: string; // the code of the nodes' fault, "" for none
  awayWords: string; // the same with the node's own text
  block: number;
  nativeBalance: string;
  feeMarket: FeeMarket | null; // by the last block, null before the first
  unread: readonly string[]; // parts of the chain's state that cannot be read, each with its code
  balances: ReadonlyMap<string, bigint>; // empty when unknown
  unfit: ReadonlyMap<string, string>; // by contract, as in the chain's state
  lost: ReturnType<typeof codeOfLostControl>;
  unusable: string; // coins that no payment can spend, in words; "" for none
}

export interface RunState {
  head: AgentLedgerHead;
  link: "up" | "down";
  linkDetail: string;
  linkUps: number;
  skewedAtMs: number | null; // time since when the signer refuses this connection's frames because of its clock
  isEnded: boolean;
  /** The gateway offers a recovery over this connection, and the scheduler has this event. */
  isOffered: boolean;
  /**
   * The newest statement on this connection, or the last check of its acknowledgement; null while
   * there is no connection.
   */
  stated: { readonly seq: number; readonly atMs: number } | null;
  questions: GatewayQuestions | null; // to the gateway, from the first dialling on
  unreachable: string; // the withdrawals that the newest acknowledgement named as unreachable
  acked: number; // head up to which the gateway held the ledger when the signer was last asked
  summary: SignerSummary | null; // the signer's last answer to `tell`
  readonly chains: Map<string, KnownChain>;
}

/** Asks for the signer's state, for the scheduler and for the caller. */
export async function askSignerHello({
  signer,
  feed,
  state,
  options,
}: RunContext): Promise<SignerHello | SchedulerRefusal> {
  const askedAtMs = options.monotonic();
  const answer = await settleAnswer(signer.request("hello", {}));
  if (!answer.ok) return answer;
  state.acked = answer.acked;
  feed({ kind: "hello", hello: answer, isFresh: false, askedAtMs });
  return answer;
}
