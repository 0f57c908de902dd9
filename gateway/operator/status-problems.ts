/**
 * The problems that `status` lists, each with the line to type. Pure: computed from one look at the
 * gateway.
 */
import { adviceOf, lockedAdvice } from "../../base/causes.ts";
import { type Code, codes } from "../../base/codes.ts";
import type { AgentError } from "../../base/fault.ts";
import { formatTimestampUtc } from "../../base/timestamp.ts";
import { faultText } from "../faults/words.ts";
import type { Counts } from "../store/counts.ts";
import { type Check, type ReadyAnswer, untrustedText } from "./health.ts";
import {
  alarmsHint,
  awayHint,
  checkHints,
  coinHint,
  faultHint,
  heldCurrencyHint,
  heldHint,
  otherCheckHint,
  readerHint,
  reorgHint,
  restoredHint,
  stopHint,
  stoppedCurrencyHint,
  targetHint,
} from "./state-words.ts";

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
  readonly files: {
    readonly databaseBytes: number;
    readonly walBytes: number;
    readonly freeBytes: number | null;
  };
}

/** The books of a chain. */
export interface ChainBooks {
  readonly chain: string;
  readonly closedAt: number | null; // the newest closing of all balances; null before the first
  readonly differences: number; // open now
}

export interface Problem {
  readonly what: string; // a sentence in lower case, without a stop
  readonly hint: string; // "" if there is nothing to do here
  readonly isWarning: boolean; // the gateway works; an operator should look
}

/** The words for a file that cannot be used while the gateway runs, and the line to type. */
export const staleConfigWarning = [
  "the running gateway goes by the configuration before",
  "correct the file, then autowithdraw-gateway check: a restart would fail",
] as const;

const untrustedHint =
  "if listen.tls names a newer certificate: systemctl reload autowithdraw-gateway; else autowithdraw-gateway check";

const minuteMs = 60_000;
/** Withdrawals that wait longer than this for a person or for the chain are named. */
const approvalWarningMs = 30 * minuteMs;

function checkProblem({ name, ok, detail }: Check): readonly Problem[] {
  if (ok && detail === "") return [];
  const [kind = ""] = name.split(" ");
  return [
    {
      what: `${name}: ${detail || "not well"}`,
      hint: checkHints[kind] ?? otherCheckHint,
      isWarning: ok,
    },
  ];
}

function agentProblems({ counts, ready }: GatewayState): readonly Problem[] {
  if (counts === null) return [];
  const { agents, lockedAgents } = counts;
  const locked = lockedAgents.map(({ id, merchant, code }): Problem => {
    const known = Object.hasOwn(codes, code) ? codes[code as Code] : null;
    const hint = lockedAdvice(code);
    return {
      what: `agent ${id} of ${merchant} is locked: ${code}${known === null ? "" : ` (${known.meaning})`}`,
      hint,
      isWarning: false,
    };
  });
  const unnamed = agents.locked - lockedAgents.length;
  const rest =
    unnamed > 0
      ? [
          {
            what: `${unnamed} more agents are locked`,
            hint: "autowithdraw-gateway agents",
            isWarning: false,
          },
        ]
      : [];
  const away = agents.paired - (ready?.figures?.agentsConnected ?? agents.paired);
  if (away <= 0) return [...locked, ...rest];
  const what = `${away} of ${agents.paired} paired agents ${away === 1 ? "has" : "have"} no link; their withdrawals wait`;
  return [...locked, ...rest, { what, hint: awayHint, isWarning: true }];
}

/**
 * Money that may have been stolen: payments of an agent's account that nobody here ordered, and
 * accounts whose money is gone.
 */
function theftProblems({ counts }: GatewayState): readonly Problem[] {
  const foreign = (counts?.foreignPayments ?? []).map(
    ({ account, merchant, txHash, block }): Problem => {
      const what = `${account} of ${merchant} paid by a transaction that nobody here ordered: ${txHash} in block ${block}`;
      return { what, hint: adviceOf("WATCHER_OUTGOING_FOREIGN"), isWarning: false };
    },
  );
  const missing = (counts?.missingMoney ?? []).map(
    ({ address, merchant, currency, kind }): Problem => {
      const what = `${kind === "hot" ? "the hot wallet" : "the deposit address"} ${address} of ${merchant} lacks ${currency}`;
      return {
        what,
        hint: adviceOf("BOOKS_DIFFERENCE", kind === "hot" ? "hot" : "deposit-less"),
        isWarning: false,
      };
    },
  );
  return [...foreign, ...missing];
}

/** Networks on which an agent signs no first payment; only its own operator ends that. */
function stopProblems({ counts }: GatewayState): readonly Problem[] {
  return (counts?.networkStops ?? []).map(({ agent, merchant, network, at }): Problem => {
    const what = `agent ${agent} of ${merchant} signs no first payment on ${network} since ${formatTimestampUtc(at)}: orders there wait`;
    return { what, hint: stopHint, isWarning: true };
  });
}

/** Currencies in which nothing is paid, here or by an agent. */
function currencyProblems({ counts }: GatewayState): readonly Problem[] {
  const held = (counts?.currencyHolds ?? []).map(
    ({ currency, merchant, at, transactionId, txHash }): Problem => {
      const whose = merchant === "" ? "every merchant" : merchant;
      const what = `${currency} is held for ${whose} since ${formatTimestampUtc(at)}: ${txHash} moved something else than ${transactionId} asks for`;
      const hint = heldCurrencyHint(currency);
      return { what, hint, isWarning: false };
    },
  );
  const stops = (counts?.currencyStops ?? []).map(({ agent, merchant, currency, at }): Problem => {
    const what = `agent ${agent} of ${merchant} signs no first payment in ${currency} since ${formatTimestampUtc(at)}: orders in it wait`;
    const hint = stoppedCurrencyHint(currency);
    return { what, hint, isWarning: true };
  });
  return [...held, ...stops];
}

/** Money of hot wallets that is there and that no payment of an agent can spend. */
function coinProblems({ counts }: GatewayState): readonly Problem[] {
  return (counts?.unusableCoins ?? []).map(({ account, currency, units, words }): Problem => {
    const what = `the hot wallet ${account} has ${units} units of ${currency} that are not available: ${words}`;
    return { what, hint: coinHint, isWarning: true };
  });
}

/** Deposits that were credited by a payment which left the chain. */
function reorgProblems({ counts }: GatewayState): readonly Problem[] {
  return (counts?.reorgedDeposits ?? []).map(({ id, merchant, since }): Problem => {
    const what = `deposit ${id} of ${merchant} was credited in a block that left the chain, and is in no final block since ${formatTimestampUtc(since)}`;
    return { what, hint: reorgHint(id), isWarning: false };
  });
}

/** Items of the chains that cannot be read, by kind and merchant. */
function faultProblems({ counts }: GatewayState): readonly Problem[] {
  return (counts?.faults ?? []).map(({ domain, merchant, count, since }): Problem => {
    const hint = faultHint(domain, merchant);
    return { what: faultText({ domain, merchant, count, sinceMs: since }), hint, isWarning: true };
  });
}

/** Orders of a network may wait so long for the reader of its chain before that is wrong. */
const readerWarningMs = 60_000;

/** Orders that get no place at their agent, and what ends that. */
function placeProblems({ counts, nowMs }: GatewayState): readonly Problem[] {
  const held = (counts?.heldOrders ?? []).map(({ id, merchant }): Problem => {
    const what = `withdrawal ${id} of ${merchant} is held: its wallet paid exactly this already, by a transaction that no order explains`;
    return { what, hint: heldHint(id), isWarning: false };
  });
  const unread = (counts?.waitingForReader ?? []).map(
    ({ network, count, oldestAt, trouble }): Problem => {
      const orders = count === 1 ? "1 order waits" : `${count} orders wait`;
      const why =
        trouble || `${network} is not read up to its newest block since the gateway was started`;
      const isWarning = nowMs - oldestAt < readerWarningMs;
      return {
        what: `${orders} for the reader of ${network}: ${why}`,
        hint: readerHint,
        isWarning,
      };
    },
  );
  return [...held, ...unread];
}

function withdrawalProblems({ counts, nowMs }: GatewayState): readonly Problem[] {
  return (counts?.withdrawals ?? []).flatMap(({ stage, count, oldestAt }): readonly Problem[] => {
    const are = count === 1 ? "1 withdrawal" : `${count} withdrawals`;
    const list = `autowithdraw-gateway withdrawals list --stage ${stage}`;
    if (stage === "stuck")
      return [{ what: `${are} stuck: no version reaches a block`, hint: list, isWarning: true }];
    if (stage !== "awaiting_approval" || oldestAt === null || nowMs - oldestAt < approvalWarningMs)
      return [];
    const what = `${are} waiting for approval by a person at the merchant's server`;
    return [{ what, hint: list, isWarning: true }];
  });
}

function callbackProblems({ counts }: GatewayState): readonly Problem[] {
  return (counts?.failingTargets ?? []).map(({ id, merchant, reason }) => {
    return {
      what: `callback target ${id} of ${merchant} fails: ${reason}`,
      hint: targetHint(id),
      isWarning: true,
    };
  });
}

/**
 * Problems first, theft before all others; warnings last. The same state always gives the same
 * list.
 */
export function problemsOf(state: GatewayState): readonly Problem[] {
  const { configFault, reached, unreachedWhy, untrusted, ready, storeFault, restored, counts } =
    state;
  const problems: Problem[] = [...theftProblems(state)];
  if (configFault !== "")
    problems.push({
      what: `${configFault}; ${staleConfigWarning[0]}`,
      hint: staleConfigWarning[1],
      isWarning: true,
    });
  if (!reached) {
    const hint =
      "systemctl start autowithdraw-gateway; journalctl -u autowithdraw-gateway -n 50 says why it ended; autowithdraw-gateway check";
    problems.push({
      what: `the gateway cannot be reached: ${unreachedWhy}`,
      hint,
      isWarning: false,
    });
  } else if (untrusted !== "") {
    problems.push({
      what: `the gateway's address: ${untrustedText(untrusted)}`,
      hint: untrustedHint,
      isWarning: false,
    });
  } else if (ready === null) {
    problems.push({
      what: "another program answers at the gateway's address",
      hint: "look at listen in the configuration",
      isWarning: false,
    });
  }
  if (storeFault !== null)
    problems.push({
      what: storeFault.message,
      hint: codes[storeFault.code].advice,
      isWarning: false,
    });
  problems.push(...(ready?.checks ?? []).flatMap(checkProblem));
  if (restored !== "") {
    const what = `the database was restored from a backup (${restored}) and has not caught up: no deposit is taken yet`;
    problems.push({ what, hint: restoredHint, isWarning: true });
  }
  problems.push(
    ...reorgProblems(state),
    ...placeProblems(state),
    ...currencyProblems(state),
    ...stopProblems(state),
    ...coinProblems(state),
    ...agentProblems(state),
    ...withdrawalProblems(state),
    ...callbackProblems(state),
  );
  problems.push(...faultProblems(state));
  if (counts !== null && counts.alarms.count > 0) {
    const what = `${counts.alarms.count} ${counts.alarms.count === 1 ? "alarm is" : "alarms are"} open`;
    problems.push({ what, hint: alarmsHint, isWarning: true });
  }
  return [...problems.filter((one) => !one.isWarning), ...problems.filter((one) => one.isWarning)];
}
