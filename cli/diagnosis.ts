/**
 * The last lines of `show`: a diagnosis of a withdrawal (it goes on, waits, is stuck or has ended),
 * the reason, and the line to type. Judges the withdrawal and, if available, the status. Pure: asks
 * no process.
 */
import {
  chainWords,
  errorCodeIn,
  feeCodeIn,
  isForFunds,
  namingCodeIn,
  nodeTextOfUntakenOffer,
  remedyForDetail,
} from "../agent/problems/reasons.ts";
import { isChainAway, isCourierAway } from "../agent/problems/table.ts";
import { courierAttemptsMax } from "../agent/socket/limits.ts";
import type { OutgoingView } from "../agent/socket/recovery-plan.ts";
import type {
  CourierStatus,
  LedgerLine,
  OperatorView,
  SignerStatus,
} from "../agent/socket/verbs.ts";
import { agentStateEnds } from "../agent/state-ends.ts";
import { codes } from "../base/codes.ts";
import { commandOfEnd, effectOfEnd } from "../base/state-end.ts";
import { expiryExclusionOf } from "../chains/families.ts";
import { slotWord } from "../chains/several-networks.ts";
import { parseAmount } from "../protocol/amount.ts";
import { isInternalMode } from "../protocol/job-mode.ts";
import { commandOfStateEnd, typedCommand } from "./command-hint.ts";
import { type Diagnosis, heldDiagnosis, quarantinedDiagnosis } from "./decision-diagnosis.ts";
import { isHoldingWithdrawals } from "./outgoing-transactions.ts";
import { momentHere } from "./terminal.ts";

/*
 * Hints how to pay a withdrawal that ended unpaid. A shop orders a payment again; the gateway
 * orders sweeps and top-ups itself.
 */

/** The way to pay it after all. The gateway repeats its own sweeps. */
function orderAgainWords(one: OperatorView): string {
  if (isInternalMode(one.mode)) return sweptAgain(one);
  if (one.code === "SLOT_UNREACHABLE")
    return "the shop renews the order, if it should still be paid; no ledger ever takes what was signed of this one";
  // Its bytes may still be good, and only a renewal has to spend a coin that they spend.
  if (one.code === "COIN_UNKNOWN")
    return "the shop renews the order, if it should still be paid: never under another orderId, and never by hand";
  return "order it again under another orderId, if it should still be paid";
}

/** The gateway repeats a failed sweep after an hour (gateway/sweeps/sweep-threshold.ts). */
function sweptAgain(one: OperatorView): string {
  const whole = `by itself, where it sweeps this currency automatically; else: ${sweepLine(one)}`;
  if (one.code === "SWEEP_UNREACHABLE" || one.code === "COIN_UNKNOWN")
    return `the gateway orders another one ${whole}`;
  return `the gateway orders it again by itself an hour later, where it sweeps this currency automatically; at once: ${sweepLine(one)}`;
}

function sweepLine({ mode, account, sender, address }: OperatorView): string {
  const deposit = mode === "sweep" ? account || sender : address;
  return `autowithdraw-gateway sweeps order ${deposit || "ADDRESS"} at the service`;
}

function afterRevert(one: OperatorView): string {
  return isInternalMode(one.mode)
    ? `then an operator has the address swept after all: ${sweepLine(one)}`
    : "to pay after all, order it again under another orderId";
}

function refusedWords(one: OperatorView): string {
  const remedy = remedyForDetail(one.code);
  if (isInternalMode(one.mode)) {
    const first = sweepRemedies[one.code] ?? remedy;
    return `${first === "" ? "" : `${first}; then `}${sweptAgain(one)}`;
  }
  return `order it again under another orderId${remedy === "" ? ", if it should be paid" : `, after this: ${remedy}`}`;
}

/** A top-up has its own limits of these kinds. */
const sweepRemedies: Readonly<Record<string, string>> = {
  POLICY_ABOVE_WITHDRAWAL: "raise sweeps.maxTopUp in config.json and reload",
  POLICY_ABOVE_DAY: "wait, or raise sweeps.maxTopUpPerDay in config.json and reload",
};

/*
 * For chains with exclusion by expiry: says if the attempts of a withdrawal are void, and if the
 * courier or an operator starts the next one. Touches nothing; the signer judges again itself.
 */

/**
 * The party that starts the next attempt. `above` and `many`: an operator, because the amount is
 * above manualReplaceAbove or many attempts exist. `unknown`: the courier or an operator, because
 * the limits are unknown.
 */
type NextMaker = "courier" | "above" | "many" | "unknown" | "nobody";

interface NextAttemptSource {
  readonly one: OperatorView;
  readonly status: Pick<SignerStatus, "limits"> | null;
  readonly nowMs: number; // Unix milliseconds
}

function nextMakerOf({ one, status, nowMs }: NextAttemptSource): NextMaker {
  if (nowMs > one.expiresAt) return "nobody";
  if (one.attempts.length >= courierAttemptsMax) return "many";
  // No amount needs an operator if money only moves inside the wallet.
  if (isInternalMode(one.mode)) return "courier";
  const limit = status?.limits.find(({ currency }) => currency === one.currency);
  if (limit === undefined || one.amountUnits === "") return "unknown";
  if (limit.manualReplaceAbove === "") return "courier";
  const most = parseAmount(limit.manualReplaceAbove, one.decimal);
  if (!most.ok && most.code !== "AMOUNT_ZERO") return "unknown";
  return BigInt(one.amountUnits) > (most.ok ? most.units : 0n) ? "above" : "courier";
}

/** True if something was signed, and both gateway and courier have called all of it void. */
function isVoid({ attempts }: OperatorView): boolean {
  return attempts.length > 0 && attempts.every(({ voidBy }) => voidBy === "both");
}

/** True if an operator has ordered the attempt after the newest one. */
function isOperatorsWordGiven(history: readonly LedgerLine[]): boolean {
  const newest = history
    .filter(({ kind }) => kind === "MANUAL_REPLACEMENT" || kind === "INTENT")
    .at(-1);
  return newest?.kind === "MANUAL_REPLACEMENT" && newest.detail.startsWith("replace ");
}

/*
 * The diagnosis of a withdrawal that waits for the gateway's word before its first attempt. Pure.
 */

/**
 * Waiting for the gateway's word on a coin, a first slot or the order, or for an operator's; else
 * null.
 */
function namingDiagnosis(why: string, { chain }: OperatorView): Diagnosis | null {
  if (why.includes("the gateway's word on it is asked for"))
    return {
      verdict: "goes on",
      why: "the gateway's nodes are asked about it and what it would spend, which takes seconds",
      what: "",
    };
  const code = namingCodeIn(why);
  if (code === null) return null;
  const told = `${codes[code].meaning} (${code})`;
  if (code === "ACCOUNT_COIN_SPENT") {
    const COIN = /has spent ([^\s,]+)/.exec(why)?.[1] ?? "COIN";
    const free = commandOfStateEnd(agentStateEnds.courier.coinSpent, { CHAIN: chain, COIN });
    const what = `compare the coin with a block explorer: a node is behind; or the chain undid that payment, and then ${free}`;
    return { verdict: "waits", why: told, what };
  }
  if (code === "ACCOUNT_PIN_UNNAMED" || code === "WITHDRAWAL_UNCLEARED")
    return { verdict: "waits", why: told, what: remedyForDetail(code) };
  const adopt = `compare the count with a block explorer, then ${commandOfStateEnd(agentStateEnds.courier.firstSlot, { CHAIN: chain })}`;
  if (code === "ACCOUNT_FIRST_SLOT")
    return { verdict: "waits for an operator", why: told, what: adopt };
  return {
    verdict: "waits",
    why: told,
    what: `it goes on by itself when the gateway's nodes answer; to end it sooner: ${adopt}`,
  };
}

/* The diagnosis of a withdrawal whose final transaction moved something else. Pure. */

/** Stuck until the gateway's operator ends it, and failed from then on. */
function movedDiagnosis({ transactionId, isOver, currency }: OperatorView): Diagnosis {
  const why =
    "its transaction is final and did not move exactly what was asked for: a token may take a fee";
  const seen = `look the txHash up in a block explorer; first payments in ${currency} wait for ${commandOfStateEnd(agentStateEnds.signer.currencyStopped, { ID: currency })}`;
  if (isOver) return { verdict: "FAILED", why: `${why}; the gateway has ended it`, what: seen };
  const what = `${seen}; the gateway's operator ends it: ${commandOfEnd(agentStateEnds.withdrawals.moved, { ID: transactionId })}`;
  return { verdict: "STUCK", why, what };
}

/** A withdrawal, and the facts for its diagnosis. */
interface DiagnosisSource {
  readonly one: OperatorView;
  readonly history: readonly LedgerLine[];
  readonly outgoing: readonly OutgoingView[]; // outgoing transactions that may have paid it
  readonly status: SignerStatus | null; // null when no signer answered
  readonly nowMs: number; // Unix milliseconds
}

const seeStatus = "look at it with status";
const wouldRevert = "the chain would revert it"; // the reason as the courier's scheduler words it
const unreachable = "SWEEP_UNREACHABLE";
const slowMs = 600_000;
const daySeconds = 86_400;
/**
 * The courier reports waiting withdrawals every few seconds, so a newer withdrawal may not be in
 * its report yet.
 */
const soonMs = 15_000;

/** Without `status` only the withdrawal is judged. */
export function diagnosisOf(judged: DiagnosisSource): Diagnosis {
  const { one, status, outgoing } = judged;
  const slot = slotWord([one.network]);
  switch (one.state) {
    case "held":
      return heldDiagnosis(one, { outgoing, isCompared: isHoldingWithdrawals(status) });
    case "approved":
    case "intent":
    case "signed":
    case "released":
    case "broadcast":
    case "included":
      return beyondDiagnosis(one) ?? hindrance(judged) ?? movingDiagnosis(judged);
    case "quarantined":
      return quarantinedDiagnosis(one, { outgoing, isCompared: isHoldingWithdrawals(status) });
    case "paid":
      return {
        verdict: "ended well",
        why: one.isOver
          ? "the payment is final on chain, and the gateway has confirmed it"
          : "the payment is final on chain, and the gateway is told; its own nodes have not confirmed it yet",
        what: "",
      };
    case "cancelled":
      return {
        verdict: "ended, nothing paid",
        why: `an operator cancelled it, and a payment of nothing to oneself has used its ${slot} up for good`,
        what: orderAgainWords(one),
      };
    case "reverted":
      return {
        verdict: "FAILED",
        why: "its transaction is final and was reverted by the chain: only the fee was spent",
        what: `look the txHash up in a block explorer for the reason; ${afterRevert(one)}`,
      };
    case "moved":
      return movedDiagnosis(one);
    case "conflicted":
      return {
        verdict: "FAILED",
        why: `another transaction took its ${slot} for good, so this payment can never happen`,
        what: remedyForDetail("CHAIN_SLOT_CONFLICTED"),
      };
    case "refused":
      return endedDiagnosis(
        `it was refused${codeOf(one)} ${endWords(one)}, and never comes back`,
        refusedWords(one),
      );
    case "expired":
      return endedDiagnosis(expiredWords(one), orderAgainWords(one));
  }
}

function beyondDiagnosis({ transactionId, code, left = "" }: OperatorView): Diagnosis | null {
  if (code !== unreachable && code !== "COIN_UNKNOWN" && code !== "SLOT_UNREACHABLE") return null;
  const by = commandOfStateEnd(agentStateEnds.signer.unreachable, { ID: transactionId });
  return stuck(
    `${codes[code].meaning} (${code})`,
    left === "" ? by : `${by}, which is too early now: ${left}`,
  );
}

function codeOf({ code }: OperatorView): string {
  return code === "" ? "" : ` (${code})`;
}

function endedDiagnosis(why: string, what: string): Diagnosis {
  return { verdict: "ended, nothing paid", why, what };
}

function endWords({ attempts }: OperatorView): string {
  return attempts.length === 0
    ? "before anything was signed"
    : "and no block takes any more what was signed of it";
}

function expiredWords(one: OperatorView): string {
  if (one.code === "COIN_UNKNOWN")
    return "an operator ended it, since no node showed the coin that it spends (COIN_UNKNOWN)";
  if (one.code === "SLOT_UNREACHABLE")
    return `an operator ended it, since its account began above its ${slotWord([one.network])} (SLOT_UNREACHABLE)`;
  if (one.code === unreachable)
    return `an operator ended it, since the chain could not reach its ${slotWord([one.network])} (${unreachable})`;
  if (one.isCancelling !== true)
    return `it ran out${codeOf(one)} ${endWords(one)}, and never comes back`;
  return `an operator cancelled it${one.attempts.length === 0 ? "" : ","} ${endWords(one)}`;
}

/** The diagnosis of a withdrawal that something stops, in any state; null if nothing does. */
function hindrance(judged: DiagnosisSource): Diagnosis | null {
  const { one, status } = judged;
  if (status === null) return null;
  const { courier } = status;
  const isSigning = one.state === "approved" || one.state === "intent";
  if (status.locked !== "" && isSigning)
    return stuck(
      `the signer is locked (${status.locked}): ${status.lockedDetail}`,
      remedyForDetail(status.locked),
    );
  if (isCourierAway(status) || courier === null)
    return stuck(
      "the courier does not run, and nothing moves without it",
      "status says why and what to type",
    );
  const own = courier.waiting.find(({ transactionId }) => transactionId === one.transactionId);
  if (own !== undefined && !isStale(own.why, judged)) return waitingDiagnosis(own.why, judged);
  if (one.state === "signed" && courier.link !== "up")
    return {
      verdict: "waits",
      why: `the link to the gateway is down (${courier.linkDetail}), and nothing leaves before the gateway confirms`,
      what: "nothing is lost, and it goes on by itself when the link is up; to end it sooner: status says what to mend",
    };
  const chain = courier.chains.find((known) => known.chain === one.chain);
  if (one.state !== "signed" && chain !== undefined && isChainAway(chain))
    return nodesDiagnosis(chain);
  return null;
}

/** A problem of the nodes: nothing is lost, and an operator can only shorten the wait. */
function nodesDiagnosis({ chain, detail }: CourierStatus["chains"][number]): Diagnosis {
  const sooner =
    remedyForDetail(detail) || `name better nodes under chains.${chain}.nodes in config.json`;
  return {
    verdict: "waits",
    why: chainWords(chain, detail),
    what: `nothing is lost, and it goes on by itself; to end it sooner: ${sooner}`,
  };
}

function stuck(why: string, what: string): Diagnosis {
  return { verdict: "STUCK", why, what };
}

/**
 * The courier keeps a reason until it looks at the withdrawal again. An operator may have decided
 * meanwhile.
 */
function isStale(why: string, { one, history }: DiagnosisSource): boolean {
  if (
    errorCodeIn(why) !== "WITHDRAWAL_WAITS_FOR_OPERATOR" ||
    expiryExclusionOf(one.network) === null
  )
    return false;
  return !isVoid(one) || one.isCancelling === true || isOperatorsWordGiven(history);
}

/**
 * Translates the courier's reason for waiting (agent/courier/scheduler) for the operator. Long: one
 * answer for each thing that a withdrawal can wait for.
 */
function waitingDiagnosis(why: string, judged: DiagnosisSource): Diagnosis {
  const { one } = judged;
  const chain = judged.status?.courier?.chains.find((known) => known.chain === one.chain);
  if (/^nodes [A-Z]/.test(why) && chain !== undefined)
    return nodesDiagnosis(chain.ok ? { ...chain, detail: why.slice("nodes ".length) } : chain);
  if (/^waits for (?:chain time|the gateway's word)/.test(why)) return endingDiagnosis(why, judged);
  const naming = namingDiagnosis(why, one);
  if (naming !== null) return naming;
  const fee = feeCodeIn(why);
  if (fee !== null)
    return {
      verdict: "waits",
      why: `the chain's fees are above the limits (${fee})`,
      what: `nothing, or ${raised(fee, one)}`,
    };
  if (/^POLICY_ABOVE_(?:HOUR|DAY)/.test(why))
    return {
      verdict: "waits",
      why: `what was assigned since its approval uses the limit up (${why})`,
      what: `nothing: it is signed when the sum allows it, or expires at ${momentHere(one.expiresAt)}; or raise the limit`,
    };
  if (why === "WITHDRAWAL_WAITS_FOR_LIMIT")
    return { verdict: "waits", why: `${codes[why].meaning} (${why})`, what: remedyForDetail(why) };
  if (isForFunds(why)) {
    const more = fundsFor[why] ?? "amount and fee";
    const isOrderedAgain = one.mode === "sweep" && why === "funds for another attempt";
    return stuck(
      `the hot wallet does not cover ${more} (${why})`,
      `send funds to ${one.account || "the hot wallet address, which the command address prints"}${isOrderedAgain ? `; or ${typedCommand(`cancel ${one.transactionId}`)}: the gateway orders the sweep again, with another top-up` : ""}`,
    );
  }
  const declined = nodeTextOfUntakenOffer(why);
  if (declined !== "")
    return stuck(
      `it was offered, and no node took it, so no pool has it: ${declined}`,
      `${remedyForDetail("COURIER_DECLINED")}; ${neverByHand}`,
    );
  const doubtful = /^offered, no node has said that it took it: (.*)$/s.exec(why)?.[1];
  if (doubtful !== undefined)
    return {
      verdict: "waits",
      why: `it was offered, and no node has said that it took it: ${doubtful}`,
      what: `nothing is lost, and it is ${effectOfEnd(agentStateEnds.offers.doubtful)}; status says what the nodes lack`,
    };
  if (why === "others in flight")
    return {
      verdict: "waits",
      why: "as many before it as may be under way are under way",
      what: "",
    };
  const gap = /^([a-z]+ [\x21-\x7e]+) of the account comes first$/.exec(why)?.[1];
  if (gap !== undefined)
    return stuck(
      `the nodes miss ${gap} of the account, and no withdrawal here has it`,
      `look ${gap} up in a block explorer, then docs/operations.md, section 7`,
    );
  const code = errorCodeIn(why);
  if (code === "SWEEP_OR_TOPUP_OPEN") return oneAtATimeDiagnosis(code);
  if (code === "WITHDRAWAL_WAITS_FOR_OPERATOR") return operatorsDiagnosis(judged);
  const told = code === "" ? why : `${codes[code].meaning} (${code})`;
  const operators = (what: string): Diagnosis => ({
    verdict: "waits for an operator",
    why: told,
    what,
  });
  const { paused, networkStopped, currencyStopped } = agentStateEnds.signer;
  if (code === "SIGNER_PAUSED")
    return operators(`${commandOfStateEnd(paused)}, when signing may go on`);
  if (code === "NETWORK_PAUSED")
    return operators(
      `${seeStatus}, then ${commandOfStateEnd(networkStopped, { CHAIN: one.chain })}`,
    );
  if (code === "CURRENCY_MOVES_OTHERWISE")
    return operators(
      `${seeStatus}, then ${commandOfStateEnd(currencyStopped, { ID: one.currency })}`,
    );
  if (code === "WITHDRAWAL_TOO_SOON")
    return { verdict: "waits", why: told, what: "nothing: it goes on by itself" };
  if (code !== "") return stuck(told, remedyForDetail(code) || seeStatus);
  if (why === wouldRevert && one.attempts.length > 0) return revertingDiagnosis(one);
  return stuck(why, waitRemedies[why] ?? seeStatus);
}

function oneAtATimeDiagnosis(code: "SWEEP_OR_TOPUP_OPEN"): Diagnosis {
  return {
    verdict: "waits",
    why: `${codes[code].meaning} (${code})`,
    what: `nothing: it is signed by itself when the other one has ended; ${typedCommand("withdrawals --open")} lists both`,
  };
}

/**
 * All signed attempts are void, and the chain would revert any other one. An operator may wait for
 * the receiver, or end the withdrawal.
 */
function revertingDiagnosis({ transactionId }: OperatorView): Diagnosis {
  return stuck(
    `every attempt so far is void, and ${wouldRevert} as well if it were signed again`,
    `look whether the receiver can take this token: then it is signed again by itself; or ${typedCommand(`cancel ${transactionId}`)}, and it ends unpaid`,
  );
}

function operatorsDiagnosis(judged: DiagnosisSource): Diagnosis {
  const { transactionId, network, attempts } = judged.one;
  const because = {
    above: "the amount is above manualReplaceAbove",
    many: `${attempts.length} attempts are made`,
  } as const;
  const maker = nextMakerOf(judged);
  const { meaning: either } = codes.WITHDRAWAL_WAITS_FOR_OPERATOR;
  const look =
    expiryExclusionOf(network) === null
      ? "look its txHashes up in a block explorer, then, with a fee that you choose,"
      : "look the receiver up in a block explorer, then";
  return {
    verdict: "waits for an operator",
    why:
      maker === "above" || maker === "many"
        ? `the next attempt is an operator's, since ${because[maker]}`
        : either,
    what: `${look} ${commandOfStateEnd(agentStateEnds.signer.allVoid, { ID: transactionId })}, or cancel in its place`,
  };
}

/**
 * For an attempt that no block took, on a chain with exclusion by expiry: nothing is signed again
 * before both statements.
 */
function endingDiagnosis(why: string, judged: DiagnosisSource): Diagnosis {
  const [, trouble = ""] = why.split("; ");
  const code = errorCodeIn(trouble);
  const isOver = isTimeOver(why);
  const over =
    isOver === true && code === ""
      ? ". That time is over: the nodes read the blocks of that time, to see whether one has it"
      : "";
  const standing =
    isOver === false ? ". Where that time does not move, the chain or its nodes stand still" : "";
  const next = afterEnding(
    judged,
    isOver === false ? "come back after that time" : "look again in some minutes",
  );
  return {
    verdict: "waits",
    why: `no block has taken it, and it ends by the chain's own time: ${why}${over}`,
    what:
      code === ""
        ? `nothing now: ${next}${standing}; ${neverByHand}`
        : remedyForDetail(code) || seeStatus,
  };
}

function afterEnding(judged: DiagnosisSource, back: string): string {
  const { transactionId, attempts, isCancelling, expiresAt } = judged.one;
  if (isCancelling === true) return "then it ends unpaid, as an operator has said";
  const decides = `${back} and type ${commandOfStateEnd(agentStateEnds.signer.allVoid, { ID: transactionId })}, or cancel in its place`;
  switch (nextMakerOf(judged)) {
    case "courier":
      return "then it is signed again by itself, since nothing can pay it twice by then";
    case "above":
      return `then an operator decides, since it is above manualReplaceAbove; ${decides}`;
    case "many":
      return `then an operator decides, since ${attempts.length} attempts are made; ${decides}`;
    case "unknown":
      return `then nothing can pay it twice, and it is signed again: by itself, or ${onlyByOperator}`;
    case "nobody":
      return `then it ends unpaid, since it ran out at ${momentHere(expiresAt)}`;
  }
}

/**
 * True if the chain is past the time for which the courier waits; null if it waits for none. The
 * two times of day are less than half a day apart.
 */
function isTimeOver(why: string): boolean | null {
  const [past, now] = [...why.matchAll(/\b(\d\d):(\d\d):(\d\d)\b/g)].map(
    ([, hours, minutes, seconds]) => Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds),
  );
  if (past === undefined || now === undefined) return null;
  return now !== past && (now - past + daySeconds) % daySeconds < daySeconds / 2;
}

const fundsFor: Readonly<Record<string, string>> = {
  "funds for a higher fee": "a higher fee, which the chain asks for now",
  "funds for another attempt": "another attempt, since those before are void",
};

const waitRemedies: Readonly<Record<string, string>> = {
  "no node takes it":
    "look at the chain's nodes, or name better ones in config.json; it is handed to them again by itself",
  [wouldRevert]:
    "look whether the receiver can take this token; after half a minute it is refused by itself",
  "the token's balance cannot be read": "check contract and nodes of this currency in config.json",
};

function raised(fee: string, { mode }: OperatorView): string {
  const limit = fee === "POLICY_FEE_ABOVE_DAY" ? "maxFeePerDay" : "maxFee";
  return `raise ${isInternalMode(mode) ? "sweeps." : ""}${limit} in config.json and reload`;
}

function movingDiagnosis(judged: DiagnosisSource): Diagnosis {
  const { one, status, nowMs } = judged;
  const ageMs = nowMs - one.changedAt;
  const endsByWaiting = one.state === "broadcast" && expiryExclusionOf(one.network) !== null;
  if (endsByWaiting && isVoid(one) && isOperators(judged)) return operatorsDiagnosis(judged);
  const next = endsByWaiting ? waitedFor(judged) : nextSteps[one.state as keyof typeof nextSteps];
  const isLate =
    ageMs >
    (one.state === "broadcast" || one.state === "included" ? slowMs : soonMs) *
      (status === null ? 4 : 1);
  if (!isLate) return { verdict: "goes on", why: next, what: "" };
  const late = `for ${Math.floor(ageMs / 60_000)} minutes: ${next}`;
  const what = endsByWaiting
    ? `nothing but cancel, if it should not be paid; ${neverByHand}`
    : lateWords[one.state as keyof typeof lateWords];
  return { verdict: "waits", why: late, what };
}

/** The next event, which comes by itself. */
const nextSteps = {
  approved: "it is signed as soon as its turn comes, within seconds",
  intent: "its signature is made and recorded next, within a second",
  signed: "the gateway confirms it next, within seconds; until then nothing leaves this machine",
  released: "it is handed to the nodes, and none has said yet that it took it",
  broadcast:
    "the nodes took it, and a block takes it next; where nodes replace it, its fee is raised by itself, up to maxFee",
  included: "a block has it, and it is paid once that block is final",
} as const;

/** True if the next attempt needs an operator, and no operator has ordered it. */
function isOperators(judged: DiagnosisSource): boolean {
  const maker = nextMakerOf(judged);
  const isOrdered = judged.one.isCancelling === true || isOperatorsWordGiven(judged.history);
  return (maker === "above" || maker === "many") && !isOrdered;
}

function waitedFor(judged: DiagnosisSource): string {
  const { one } = judged;
  const maker = nextMakerOf(judged);
  if (one.isCancelling === true)
    return isVoid(one)
      ? "an operator has cancelled it and all that was signed of it is void: it ends unpaid next, within seconds"
      : "an operator has cancelled it: a block may still take what the nodes have, and else it ends unpaid";
  if (!isVoid(one))
    return `the nodes have it, and a block takes it next; what no block takes in its time ${notTaken[maker]}`;
  return maker === "nobody"
    ? "every attempt so far is void, and it ran out: it ends unpaid next, within seconds"
    : "every attempt so far is void, and another one is made next, within seconds";
}

const onlyByOperator =
  "above manualReplaceAbove and after 14 attempts by an operator's replace alone";
const notTaken = {
  courier: "is signed again by itself, since nothing can pay it twice by then",
  above: "waits for an operator, since it is above manualReplaceAbove",
  many: "waits for an operator, since so many attempts are made",
  unknown: `is signed again: by itself, or ${onlyByOperator}`,
  nobody: "ends unpaid, since it ran out",
} as const;
const neverByHand = "never pay it by hand: it may still be paid";
const lateWords = {
  approved: "look with status at link, nodes and funds",
  intent: `${seeStatus}; the next start of crypto signs it as well`,
  signed: "look with status at gateway and link; nothing is lost",
  released: `look with status at the nodes; ${neverByHand}`,
  broadcast: `look its txHash up in a block explorer, then replace or cancel; ${neverByHand}`,
  included: "look whether the chain makes final blocks; nothing else is to be done",
} as const;
