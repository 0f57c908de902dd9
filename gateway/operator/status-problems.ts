/**
 * Reads the table of problems (problems/table.ts) for `status`: the answer at the gateway's address
 * and the database as the state that the table judges. Pure.
 */
import { codes } from "../../base/codes.ts";
import type { AgentError } from "../../base/fault.ts";
import { type JudgedScreen, nothingSeen } from "../problems/judged.ts";
import { activeCheck, listProblems, type Problem } from "../problems/table.ts";
import type { Counts } from "../store/counts.ts";
import type { ShownGateway } from "../store/leases.ts";
import type { WaitingMerchant } from "../store/withdrawals.ts";
import { type ReadyAnswer, untrustedText } from "./health.ts";

/** The state of the gateway at one moment. */
export interface GatewayState {
  readonly nowMs: number;
  readonly configFault: string; // why the file on disk cannot be used; "" if it can
  readonly reached: boolean;
  readonly unreachedWhy: string; // "" if reached
  readonly untrusted: string; // the TLS library's code if it answers with a certificate that is not trusted here
  readonly ready: ReadyAnswer | null; // null if it gave no answer that can be read
  readonly counts: Counts | null; // null if the database cannot be read
  readonly storeFault: AgentError | null; // why it cannot be read
  readonly books: readonly ChainBooks[];
  readonly restored: string; // why the database counts as restored from a backup, "" if it does not
  readonly waitingMerchants: readonly WaitingMerchant[]; // for longer than `withdrawalsWaitMs`; the first of them
  readonly stuckSweeps: number; // and top-ups
  readonly shared: SharedDatabaseView | null; // null for a file, and if it cannot be read
  readonly files: {
    readonly databaseBytes: number;
    readonly walBytes: number;
    readonly freeBytes: number | null;
  };
}

/** A database that several gateways share. */
export interface SharedDatabaseView {
  readonly bytes: number; // on the server's disk
  readonly gateways: readonly ShownGateway[];
}

/** The books of a chain. */
export interface ChainBooks {
  readonly chain: string;
  readonly closedAt: number | null; // the newest closing of all balances; null before the first
  readonly differences: number; // open now
}

/** As the table lists them. The same state always gives the same list. */
export function problemsOf(state: GatewayState): readonly Problem[] {
  const { nowMs, counts, waitingMerchants, stuckSweeps } = state;
  return listProblems({
    ...nothingSeen,
    nowMs,
    lockedAgents: counts?.lockedAgents ?? [],
    waitingForReader: counts?.waitingForReader ?? [],
    failingTargets: counts?.failingTargets ?? [],
    waitingMerchants,
    stuckSweeps,
    gateways: state.shared?.gateways ?? [],
    screen: screenOf(state),
  });
}

function screenOf(state: GatewayState): JudgedScreen {
  const { configFault, ready, storeFault, restored, counts } = state;
  return {
    ...answerOf(state),
    configFault,
    restored,
    counts,
    storeFault:
      storeFault === null
        ? null
        : { message: storeFault.message, advice: codes[storeFault.code].advice },
    // A standby is not ready for what writes, and nobody need act.
    checks: ready?.checks.filter(({ name }) => name !== activeCheck) ?? [],
    agentsConnected: ready?.figures?.agentsConnected,
  };
}

function answerOf({
  reached,
  unreachedWhy,
  untrusted,
  ready,
}: GatewayState): Pick<JudgedScreen, "answer" | "answerWords"> {
  if (!reached) return { answer: "none", answerWords: unreachedWhy };
  if (untrusted !== "") return { answer: "untrusted", answerWords: untrustedText(untrusted) };
  return { answer: ready === null ? "foreign" : "own", answerWords: "" };
}
