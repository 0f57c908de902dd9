/**
 * The problems of an agent: one table, whose rows say of each problem when it holds, how grave it
 * is, its words, the line to type, and how long it lasts before somebody is told. `status`,
 * `doctor` and the alerts show what the table finds, each the rows with words for it; a limit
 * stands here alone (test/system/problems.test.ts). Pure: asks no process.
 */
import type { AlertCondition } from "../../base/alerts/queue/due-alerts.ts";
import { type AlertName, alertTable } from "../../base/alerts/queue/table.ts";
import { adviceOf, dangerOf } from "../../base/causes.ts";
import { codes } from "../../base/codes.ts";
import {
  type Gravity,
  gravityOfCode,
  readWording,
  roomLeft,
  type ShownGravity,
  showGravity,
  type Wording as WordingOf,
} from "../../base/problem.ts";
import { commandOfEnd } from "../../base/state-end.ts";
import { expiryExclusionOf, saySlot } from "../../chains/families.ts";
import { describeGatewayNodes } from "../config/nodes-of-gateway.ts";
import type { NotifySettings } from "../config/settings.ts";
import type { SignerStatus, StoppedView, WithdrawalState } from "../socket/verbs.ts";
import { agentStateEnds } from "../state-ends.ts";
import type {
  JudgedAgent,
  JudgedChain,
  JudgedRoom,
  JudgedStatus,
  JudgedStop,
  JudgedWait,
  JudgedWithdrawal,
} from "./judged.ts";
import {
  chainWords,
  errorCodeIn,
  feeCodeIn,
  isForFunds,
  isReasonOfAll,
  linkRemedy,
  namingCodeIn,
  nodeTextOfUntakenOffer,
  remedyForDetail,
  tooFewNodes,
} from "./reasons.ts";

/** `what` is a sentence in lower case; `hint` the line to type, "" if only time helps. */
export interface Problem extends ShownGravity {
  readonly code: string; // of base/codes.ts
  readonly what: string;
  readonly hint: string;
}

type AlertTimes = Pick<NotifySettings, "stuckMinutes" | "awayMinutes">;

type Wording<T, V> = WordingOf<T, JudgedAgent, V>;

interface Row<T> {
  /** The things for which the problem holds now. */
  readonly when: (judged: JudgedAgent) => readonly T[];
  readonly gravity: Wording<T, Gravity>;
  /** How `status` and `doctor` say it; absent for what an operator's command does not list. */
  readonly status?: {
    readonly code: Wording<T, string>; // of base/codes.ts
    readonly what: Wording<T, string>;
    readonly hint: Wording<T, string>;
  };
  /** How somebody is told of it; absent for what is only shown. */
  readonly alert?: {
    readonly event: AlertName;
    readonly subject: Wording<T, string>;
    readonly message: Wording<T, string>;
    readonly context?: Wording<T, AlertCondition["context"]>;
    readonly hint?: Wording<T, string>; // the alert's own advice unless given
    readonly afterMs: number | keyof AlertTimes; // so long it lasts first
    readonly endsAt?: (one: T) => number | undefined; // Unix milliseconds
    readonly isUnknown?: (judged: JudgedAgent) => boolean;
    readonly isToldByAnother?: (one: T, judged: JudgedAgent) => boolean;
  };
}

interface JudgedRow {
  said(judged: JudgedAgent): readonly Problem[];
  told(judged: JudgedAgent, times: AlertTimes): readonly AlertCondition[];
  unknown(judged: JudgedAgent): readonly AlertName[];
}

const minuteMs = 60_000;

/** A row of the table, whose things only the row itself knows. */
function problem<T>({ when, gravity, status, alert }: Row<T>): JudgedRow {
  return {
    said: (judged) =>
      status === undefined
        ? []
        : when(judged).map((one) => ({
            code: readWording(status.code, one, judged),
            what: readWording(status.what, one, judged),
            hint: readWording(status.hint, one, judged),
            ...showGravity(readWording(gravity, one, judged)),
          })),
    told: (judged, times) =>
      alert === undefined
        ? []
        : when(judged)
            .filter((one) => alert.isToldByAnother?.(one, judged) !== true)
            .map((one) => {
              const { event, afterMs, hint } = alert;
              const endsAt = alert.endsAt?.(one);
              return {
                event,
                subject: readWording(alert.subject, one, judged),
                gravity: readWording(gravity, one, judged),
                message: readWording(alert.message, one, judged),
                context: readWording(alert.context ?? {}, one, judged),
                afterMs: typeof afterMs === "number" ? afterMs : times[afterMs] * minuteMs,
                ...(hint === undefined ? {} : { hint: readWording(hint, one, judged) }),
                ...(endsAt === undefined ? {} : { endsAt }),
              };
            }),
    unknown: (judged) => (alert?.isUnknown?.(judged) === true ? [alert.event] : []),
  };
}

const { courier: courierEnds, signer: signerEnds, withdrawals: withdrawalEnds } = agentStateEnds;

/* Limits and conditions. Other files read them here. */

/** The courier sends its view every few seconds. An older view means that it has stopped. */
const courierWordMsMax = 60_000;
/** After this time a healthy courier has connected and has asked its nodes. */
const courierStartMs = 15_000;
/** The ledger may be ahead by this time, the largest error of a clock that stays unnoticed. */
const ledgerAheadMsMax = 600_000;
/** Fees that fall again within this time cause no alert. */
const feesMs = 5 * minuteMs;
/** With the time until the courier names it, a silence of the gateway is told within a minute. */
const unnamedMs = 30_000;

/** The room on the ledger's disk. */
export function ledgerRoomLeft({
  freeBytes,
  freeBytesMin,
}: Pick<JudgedRoom, "freeBytes" | "freeBytesMin">): ReturnType<typeof roomLeft> {
  return roomLeft(freeBytes < 0 ? null : freeBytes, freeBytesMin);
}

/** True while the nodes of a chain cannot be used; not while the first of them is asked. */
export function isChainAway({ ok, isAsking }: { ok: boolean; isAsking: boolean }): boolean {
  return !ok && !isAsking;
}

/** True while no courier has told the signer what it sees. */
export function isCourierAway({
  courierConnected,
  courier,
}: Pick<SignerStatus, "courierConnected" | "courier">): boolean {
  return !courierConnected || courier === null;
}

/** True while the agent has just been started, and its courier has not said yet what it sees. */
export function isStarting({ startedAt }: Pick<SignerStatus, "startedAt">, nowMs: number): boolean {
  return nowMs - startedAt < courierStartMs;
}

/** True for a signer that runs as root: nothing holds its keys apart. */
export const isRootSigner = ({ isolation }: Pick<SignerStatus, "isolation">): boolean =>
  /^level 0:.*\broot\b/.test(isolation);

/**
 * States that a withdrawal must leave by itself; in the later states it only waits for the chain.
 */
export const movingStates: ReadonlySet<WithdrawalState> = new Set([
  "approved",
  "intent",
  "signed",
  "released",
  "broadcast",
]);

/* Words that several rows or commands share. */

/** For example "64 MiB"; "unknown room" for -1. */
export function bytesWords(bytes: number): string {
  if (bytes < 0) return "unknown room";
  const mib = bytes / 1_048_576;
  return mib < 1024 ? `${Math.floor(mib)} MiB` : `${(mib / 1024).toFixed(1)} GiB`;
}

/** For the operator: hours above two hours, else minutes. */
function spanOf(ms: number): string {
  const minutes = Math.round(ms / minuteMs);
  return minutes >= 120 ? `${Math.round(minutes / 60)} hours` : `${minutes} minutes`;
}

const fixedHint = (code: string) => (): string => remedyForDetail(code);

/** The hint to read the courier's log: by journalctl under the units, else on crypto's terminal. */
const courierLogHint = ({ isUnderUnits }: JudgedStatus): string =>
  isUnderUnits ? "journalctl -u autowithdraw-courier -n 20" : "look at what crypto printed last";

const reloadHint = ({ isUnderUnits }: JudgedStatus): string =>
  isUnderUnits
    ? "systemctl reload crypto"
    : "stop crypto and start it again: until then the old limits hold";

/** The name by which `resume` knows a stopped network. */
export const nameOfStop = ({ chain, network }: Pick<StoppedView, "chain" | "network">): string =>
  chain || network;

/** The operator's view, for rows that need it; nothing for the courier. */
const ofOperator = ({ operator }: JudgedAgent): readonly JudgedStatus[] =>
  operator === null ? [] : [operator];

type SignerPart<K extends keyof SignerStatus> = NonNullable<SignerStatus[K]>;

/** One part of the signer's status, if it is there. */
const ofSigner =
  <K extends "paused" | "stuck" | "manualReplace" | "noRoom" | "unreachable">(name: K) =>
  ({ operator }: JudgedAgent): readonly SignerPart<K>[] => {
    const found = operator?.signer[name];
    return found === null || found === undefined ? [] : [found];
  };

/** The signer, if this holds of it. */
const signerThat =
  (isSo: (signer: SignerStatus) => boolean) =>
  ({ operator }: JudgedAgent): readonly SignerStatus[] =>
    operator !== null && isSo(operator.signer) ? [operator.signer] : [];

/* The rows in the order in which `status` lists them. */

const signerRows: readonly JudgedRow[] = [
  problem<string>({
    when: ({ locked }) => (locked === "" ? [] : [locked]),
    gravity: (code) => gravityOfCode(code),
    status: {
      code: (code) => code,
      what: (code, { operator }) =>
        `the signer is locked (${code}): ${operator?.signer.lockedDetail ?? ""}`,
      hint: remedyForDetail,
    },
    alert: {
      event: "agent-locked",
      subject: (_, { agent }) => agent,
      message: (code) => `the agent is locked: ${code}`,
      context: (code) => ({ code, danger: dangerOf(code) }),
      hint: (code) => adviceOf(code) || alertTable["agent-locked"].advice,
      afterMs: 0,
    },
  }),
  // A stop that may be a theft stands first.
  problem<JudgedStop>({
    when: ({ stops }) => stops.filter(({ kind }) => kind === "foreign"),
    gravity: gravityOfCode("CHAIN_COIN_FOREIGN"),
    status: { code: "CHAIN_COIN_FOREIGN", what: foreignWords, hint: foreignHint },
    alert: {
      event: "network-stopped",
      subject: ({ place }) => place,
      message: ({ place }) =>
        `the account on ${place} paid by a transaction that nothing here signed: no first payment is signed there`,
      context: { code: "CHAIN_COIN_FOREIGN", danger: dangerOf("CHAIN_COIN_FOREIGN") },
      hint: adviceOf("CHAIN_COIN_FOREIGN"),
      afterMs: 0,
    },
  }),
  problem<JudgedStop>({
    when: ({ stops }) => stops.filter(({ kind }) => kind === "moved"),
    gravity: gravityOfCode("CURRENCY_MOVES_OTHERWISE"),
    status: {
      code: "CURRENCY_MOVES_OTHERWISE",
      what: movedWords,
      hint: ({ place }, { voice }) =>
        `look at that transaction: a token that takes a fee must not be paid in; once it is clear why: ${voice.command(signerEnds.currencyStopped, { ID: place })}`,
    },
    alert: {
      event: "currency-stopped",
      subject: ({ place }) => place,
      message: ({ place }) =>
        `a final payment in ${place} moved something else than was asked for: no first payment is signed in it`,
      context: { code: "CURRENCY_MOVES_OTHERWISE", danger: dangerOf("CURRENCY_MOVES_OTHERWISE") },
      hint: adviceOf("CURRENCY_MOVES_OTHERWISE"),
      afterMs: 0,
    },
  }),
  problem<JudgedStop>({
    when: ({ stops }) => stops.filter(({ kind }) => kind === "ordered"),
    gravity: "broken",
    status: {
      code: "NETWORK_PAUSED",
      what: ({ place, view }, { voice }) =>
        `first payments on ${place} stopped by ${view?.approver} (claimed) at ${voice.moment(view?.at ?? 0)}`,
      hint: ({ place }, { voice }) => voice.command(signerEnds.networkStopped, { CHAIN: place }),
    },
  }),
  problem<SignerPart<"paused">>({
    when: ofSigner("paused"),
    gravity: "broken",
    status: {
      code: "SIGNER_PAUSED",
      what: ({ approver, at }, { voice }) =>
        `paused by ${approver} (claimed) at ${voice.moment(at)}: no payment is signed`,
      hint: (_, { voice }) => voice.command(signerEnds.paused),
    },
  }),
  problem<string>({
    when: ({ recovery }) => (recovery === "" ? [] : [recovery]),
    gravity: "broken",
    status: {
      code: (code) => code,
      what: (code) => recoveryWords[code] ?? code,
      hint: remedyForDetail,
    },
    alert: {
      event: "recovery-offered",
      subject: (_, { agent }) => agent,
      message: "the gateway offers a recovery",
      afterMs: 0,
    },
  }),
  problem({
    when: signerThat(({ isResyncing }) => isResyncing),
    gravity: "broken",
    status: {
      code: "HUB_DATABASE_BEHIND",
      what: "the gateway was rolled back and is sent again what it lost; nothing new is signed meanwhile",
      hint: "wait: this ends by itself",
    },
  }),
  problem({
    when: signerThat(({ clockAheadMs }) => clockAheadMs > 0),
    gravity: "broken",
    status: {
      code: "CLOCK_AHEAD",
      what: ({ clockAheadMs }) =>
        `this clock and the gateway's are ${spanOf(clockAheadMs)} ahead of the newest block: nothing is decided or signed, orders wait`,
      hint: codes.CLOCK_AHEAD.advice,
    },
  }),
  problem({
    when: signerThat(({ ledgerAheadMs }) => ledgerAheadMs > ledgerAheadMsMax),
    gravity: "broken",
    status: {
      code: "LEDGER_AHEAD",
      what: ({ ledgerAheadMs }) =>
        `ledger time is ${spanOf(ledgerAheadMs)} ahead of this clock and stands: an order that ends before then waits at the gateway`,
      hint: `where this clock is right: ${codes.LEDGER_AHEAD.advice}`,
    },
  }),
  problem({
    when: signerThat(isRootSigner),
    gravity: "broken",
    status: {
      code: "DOCTOR_ISOLATION",
      what: "the signer runs as root, so nothing holds the keys apart from anything else here",
      hint: "run it by its systemd units, or as a user of its own: docs/operations.md, section 5",
    },
  }),
];

function foreignWords({ place, view }: JudgedStop, { voice }: JudgedAgent): string {
  const { txHashes = [], approver = "", at = 0 } = view ?? {};
  const others = txHashes.length > 1 ? ` and ${txHashes.length - 1} more` : "";
  return `the account on ${place} paid by ${txHashes.at(-1) ?? ""}${others}, which nothing here signed, as the ${approver} shows: no first payment is signed there since ${voice.moment(at)}`;
}

function foreignHint({ place }: JudgedStop, { voice }: JudgedAgent): string {
  const line = commandOfEnd(signerEnds.networkStopped).replace(/^autowithdraw /, "");
  const typed = voice.command(signerEnds.networkStopped, { CHAIN: place });
  return codes.CHAIN_COIN_FOREIGN.advice.replace(line, typed);
}

function movedWords({ place, view }: JudgedStop, { voice }: JudgedAgent): string {
  const newest = view?.txHashes.at(-1);
  const why =
    newest === undefined
      ? `the ${view?.approver} beside the ledger says so`
      : `${newest} moved something else than was asked for`;
  return `no first payment is signed in ${place} since ${voice.moment(view?.at ?? 0)}: ${why}`;
}

const recoveryWords: Readonly<Record<string, string>> = {
  RECOVERY_OFFERED:
    "the gateway offers a recovery (RECOVERY_OFFERED): nothing is signed until an operator carries it out",
  RECOVERY_HOLD:
    "ledger and gateway both were rolled back (RECOVERY_HOLD): every withdrawal is held for an operator",
};

const withdrawalRows: readonly JudgedRow[] = [
  problem<SignerPart<"stuck">>({
    when: ofSigner("stuck"),
    gravity: "broken",
    status: {
      code: "WITHDRAWAL_STUCK",
      what: (
        { transactionId, state, network, slot, since, afterMinutes, isCancelling },
        { voice },
      ) => {
        const place =
          slot === ""
            ? state
            : `${state}, ${saySlot(network, slot)}${isCancelling ? ", cancelled" : ""}`;
        return `withdrawal ${transactionId} (${place}) waits since ${voice.moment(since)}, longer than ${afterMinutes} minutes`;
      },
      hint: stuckHint,
    },
  }),
  // The courier's own time (`notify.stuckMinutes`) is another than the signer's.
  problem<JudgedWithdrawal>({
    when: ({ withdrawals }) =>
      withdrawals.filter(({ state, why }) => movingStates.has(state) && !isReasonOfAll(why)),
    gravity: "broken",
    alert: {
      event: "withdrawal-stuck",
      subject: ({ transactionId }) => transactionId,
      message: ({ amount, currency, why }) =>
        `a withdrawal of ${amount} ${currency} does not go on: ${why === "" ? "no block has it yet" : why}`,
      context: ({ state, code, currency, amount, why }) => ({ state, code, currency, amount, why }),
      hint: ({ transactionId }, { voice }) =>
        `${voice.command(signerEnds.stuck, { ID: transactionId })} says what it waits for`,
      afterMs: "stuckMinutes",
    },
  }),
  // An alert that an operator can act on: order, amount, end, and the lines to type.
  problem<JudgedWithdrawal>({
    when: ({ withdrawals }) =>
      withdrawals.filter(({ state }) => state === "held" || state === "quarantined"),
    gravity: "warning",
    alert: {
      event: "withdrawal-held",
      subject: ({ transactionId }) => transactionId,
      message: ({ amount, currency, awaited }) => {
        const words = `a withdrawal of ${amount} ${currency}`;
        return awaited === null
          ? `${words} waits for an operator`
          : `${words} (order ${awaited.order}) waits for an operator until ${new Date(awaited.endsAtMs).toISOString()}`;
      },
      context: ({ state, code, currency, amount, awaited }) => ({
        state,
        code,
        currency,
        amount,
        ...(awaited === null
          ? {}
          : { orderId: awaited.order, until: new Date(awaited.endsAtMs).toISOString() }),
      }),
      hint: ({ transactionId }, { voice }) => {
        const names = { ID: transactionId };
        const yes = commandOfEnd(withdrawalEnds.held, names).replace(/^autowithdraw /, "");
        return `${voice.command(signerEnds.stuck, names)}; ${yes} pays it, refuse ${transactionId} rejects it`;
      },
      afterMs: 0,
      endsAt: ({ awaited }) => awaited?.endsAtMs,
    },
  }),
  problem<SignerPart<"manualReplace">>({
    when: ofSigner("manualReplace"),
    gravity: "broken",
    status: {
      code: "WITHDRAWAL_WAITS_FOR_OPERATOR",
      what: ({ transactionId, network, slot, attempts }) =>
        `withdrawal ${transactionId} (${saySlot(network, slot)}) is not paid and ${voidWords(attempts)}: an operator decides on another one`,
      hint: ({ transactionId }, { voice }) =>
        `${voice.command(signerEnds.allVoid, { ID: transactionId })}, or cancel in its place`,
    },
  }),
  // The withdrawal goes on by itself when the window has room.
  problem<SignerPart<"noRoom">>({
    when: ofSigner("noRoom"),
    gravity: "warning",
    status: {
      code: "WITHDRAWAL_WAITS_FOR_LIMIT",
      what: ({ transactionId, network, slot, attempts, code }) =>
        `withdrawal ${transactionId} (${saySlot(network, slot)}) is not paid and ${voidWords(attempts)}: another one waits for the limit of the ${code === "POLICY_ABOVE_HOUR" ? "hour" : "day"}`,
      hint: fixedHint("WITHDRAWAL_WAITS_FOR_LIMIT"),
    },
  }),
  problem<SignerPart<"unreachable">>({
    when: ofSigner("unreachable"),
    // A sweep takes the place of no other. A withdrawal does not go on by itself once both sides
    // have shown it.
    gravity: ({ code, left }) =>
      code === "SWEEP_UNREACHABLE" || left !== "" ? "warning" : "broken",
    status: {
      code: ({ code }) => code,
      what: ({ transactionId, network, slot, count, code }) => {
        const isSweep = code === "SWEEP_UNREACHABLE";
        const others = count === 1 ? "" : `, as of ${count} ${isSweep ? "sweeps" : "withdrawals"}`;
        return {
          SWEEP_UNREACHABLE: `the chain cannot reach the slot of sweep ${transactionId} (${saySlot(network, slot)})${others}`,
          COIN_UNKNOWN: `no node of the gateway shows the coin of withdrawal ${transactionId}${others}: no block takes it`,
          SLOT_UNREACHABLE: `no ledger takes withdrawal ${transactionId} (${saySlot(network, slot)})${others}: its account began above it`,
        }[code];
      },
      hint: ({ transactionId, left }, { voice }) => {
        const by = voice.command(signerEnds.unreachable, { ID: transactionId });
        return left === "" ? by : `${by}, which is too early now: ${left}`;
      },
    },
  }),
  problem<string>({
    when: ({ operator }) => operator?.signer.nodesOfGateway ?? [],
    gravity: "warning",
    status: {
      code: "AGENT_NODES_OF_GATEWAY",
      what: describeGatewayNodes,
      hint: fixedHint("AGENT_NODES_OF_GATEWAY"),
    },
  }),
];

const voidWords = (attempts: number): string =>
  attempts === 1 ? "its attempt is void" : `its ${attempts} attempts are void`;

/**
 * The line to type depends on the state. A withdrawal without a signature waits for a cause that
 * another row names, and so does each one while its chain is not read: no attempt helps then.
 */
function stuckHint(
  { transactionId, state, network, isCancelling, chain: name }: NonNullable<SignerStatus["stuck"]>,
  { chains, waits, voice }: JudgedAgent,
): string {
  const names = { ID: transactionId };
  const look = voice.command(signerEnds.stuck, names);
  if (state === "quarantined")
    return `${voice.command(withdrawalEnds.quarantined, names)}, or cancel in its place`;
  const chain = chains.find((known) => known.chain === name);
  if (chain !== undefined && isChainAway(chain))
    return `wait: ${name} is not read now, as another line here says, and it goes on by itself; ${look}`;
  if (expiryExclusionOf(network) !== null) return `${look}: it says until when this one waits`;
  const again = voice.command(withdrawalEnds.released, names);
  if (waits.some((one) => one.transactionId === transactionId && feeCodeIn(one.why) !== null))
    return `no attempt within its limits reaches a block now: wait for lower fees, or raise maxFee, then ${again}`;
  if (state === "approved" || state === "intent" || state === "signed") return look;
  return isCancelling
    ? `to raise the cancel's fee, which pays nothing else: ${again}`
    : `${again}, or cancel in its place`;
}

/** The words of a disk with too little room, for its alert. */
const roomAlert = {
  event: "disk-room-low",
  subject: "ledger",
  context: ({ freeBytes, freeBytesMin }: JudgedRoom) => ({ freeBytes, freeBytesMin }),
  afterMs: 0,
  isUnknown: ({ room }: JudgedAgent): boolean => room === null,
} as const;

const ofRoom =
  (isSo: (room: JudgedRoom) => boolean) =>
  ({ room }: JudgedAgent): readonly JudgedRoom[] =>
    room !== null && isSo(room) ? [room] : [];

const freeWords = ({ freeBytes }: JudgedRoom): string =>
  `${bytesWords(freeBytes)} free on the ledger's disk`;

const roomRows: readonly JudgedRow[] = [
  problem({
    when: ofRoom(({ isReadOnly }) => isReadOnly),
    gravity: "broken",
    status: {
      code: "LEDGER_READ_ONLY",
      what: codes.LEDGER_READ_ONLY.meaning,
      hint: codes.LEDGER_READ_ONLY.advice,
    },
  }),
  problem({
    when: ofRoom((room) => !room.isReadOnly && ledgerRoomLeft(room) === "none"),
    gravity: "broken",
    status: {
      code: "LEDGER_DISK_FULL",
      what: (room) =>
        `${freeWords(room)}, and below ${bytesWords(room.freeBytesMin)} nothing new is signed`,
      hint: "free space there; work goes on by itself",
    },
    alert: { ...roomAlert, message: "the ledger's disk is full: nothing new is begun" },
  }),
  problem({
    when: ofRoom((room) => !room.isReadOnly && !room.isWritable && ledgerRoomLeft(room) !== "none"),
    gravity: "broken",
    status: {
      code: "LEDGER_POISONED",
      what: "the ledger cannot be written",
      hint: "check the disk's free space and health",
    },
  }),
  problem({
    when: ofRoom(
      (room) => !room.isReadOnly && room.isWritable && ledgerRoomLeft(room) === "little",
    ),
    gravity: "warning",
    status: {
      code: "DOCTOR_DISK_LOW",
      what: (room) =>
        `${freeWords(room)}: below ${bytesWords(room.freeBytesMin)} nothing new is signed`,
      hint: "free space there, or give the state folder a larger disk",
    },
    alert: { ...roomAlert, message: "the ledger's disk is nearly full" },
  }),
];

const ofConfig =
  (isSo: (config: JudgedStatus["config"], signer: SignerStatus) => boolean) =>
  (judged: JudgedAgent): readonly JudgedStatus[] =>
    ofOperator(judged).filter(({ config, signer }) => isSo(config, signer));

const configRows: readonly JudgedRow[] = [
  problem({
    when: ofConfig(
      (config, signer) =>
        (config.is === "read" && config.digest !== signer.config.digest) ||
        (config.is === "closed" && config.changedAtMs > signer.config.readAt),
    ),
    gravity: "broken",
    status: {
      code: "DOCTOR_CONFIG_OTHER",
      what: ({ signer: { config } }) =>
        `${config.path} was changed after the signer read it, so it is not what the signer goes by`,
      hint: reloadHint,
    },
  }),
  problem({
    when: (judged) =>
      ofOperator(judged).flatMap((operator) =>
        operator.config.is === "invalid" ? [{ operator, file: operator.config }] : [],
      ),
    gravity: "broken",
    status: {
      code: ({ file }) => file.code,
      what: ({ file }) => `${file.message}: the signer goes on by what it read before`,
      hint: ({ file, operator }) => `${file.hint}; then: ${reloadHint(operator)}`,
    },
  }),
  problem({
    when: ofConfig(({ is }) => is === "gone"),
    gravity: "broken",
    status: {
      code: "CONFIG_MISSING",
      what: ({ signer: { config } }) =>
        `${config.path} is not there any more: the next start will fail`,
      hint: "bring it back, or name the right one with --config when crypto is started",
    },
  }),
  problem<true>({
    when: ({ isConfigSplit }) => (isConfigSplit === true ? [true] : []),
    gravity: "broken",
    status: {
      code: "DOCTOR_CONFIG_COURIER",
      what: "the courier goes by another config.json than the signer",
      hint: (_, { operator }) =>
        operator?.isUnderUnits === true
          ? "systemctl restart autowithdraw.target"
          : "stop crypto and start it again",
    },
    alert: {
      event: "config-differs",
      subject: "config",
      message: "signer and courier go by two versions of config.json",
      afterMs: 0,
      isUnknown: ({ isConfigSplit }) => isConfigSplit === null,
    },
  }),
];

const courierRows: readonly JudgedRow[] = [
  problem({
    when: (judged) => ofOperator(judged).filter(({ signer }) => isCourierAway(signer)),
    gravity: "broken",
    status: {
      code: "DOCTOR_COURIER_AWAY",
      what: ({ signer, nowMs }) => {
        const what = signer.courierConnected
          ? "the courier has not said yet what it sees"
          : "the courier does not run";
        return isStarting(signer, nowMs) ? `crypto has just started: ${what}` : what;
      },
      hint: (operator) => {
        const log = courierLogHint(operator);
        return isStarting(operator.signer, operator.nowMs)
          ? `ask again in ten seconds; then: ${log}`
          : log;
      },
    },
  }),
  problem({
    when: (judged) =>
      ofOperator(judged).filter(
        ({ signer: { courier }, nowMs }) =>
          courier !== null && nowMs - courier.at > courierWordMsMax,
      ),
    gravity: "broken",
    status: {
      code: "DOCTOR_COURIER_AWAY",
      what: ({ signer }, { voice }) =>
        `the courier last said what it sees at ${voice.moment(signer.courier?.at ?? 0)}`,
      hint: courierLogHint,
    },
  }),
  problem<string>({
    when: ({ link, linkDetail }) => (link === "down" ? [linkDetail] : []),
    gravity: "broken",
    status: {
      code: (detail) => errorCodeIn(detail) || "LINK_SOCKET",
      what: (detail) => `the link to the gateway is down: ${detail}`,
      hint: linkRemedy,
    },
    alert: {
      event: "link-down",
      subject: "gateway",
      message: "the link to the gateway is down",
      context: (detail) => ({ detail }),
      afterMs: "awayMinutes",
    },
  }),
  problem<string>({
    when: ({ link, linkDetail }) =>
      link === "up" && linkDetail.startsWith("LEDGER_") ? [linkDetail] : [],
    gravity: "broken",
    status: {
      code: errorCodeIn,
      what: (detail) => `orders wait at the gateway: ${detail}`,
      hint: remedyForDetail,
    },
  }),
];

const isAsked = ({ chains }: JudgedAgent): boolean => chains.some(({ isAsking }) => isAsking);

/** The rows of one chain, whose problems stand together. */
const chainRows: readonly JudgedRow[] = [
  problem({
    when: ({ chains }) =>
      chains.flatMap(({ chain, isAsking, delays }) =>
        isAsking ? [] : delays.map((delay) => ({ chain, ...delay })),
      ),
    gravity: "warning",
    status: {
      code: ({ code }) => code,
      what: ({ words }) => words,
      hint: ({ code }) => remedyForDetail(code),
    },
    alert: {
      event: "chain-late",
      subject: ({ chain, code }) => `${chain} ${code}`,
      message: ({ words }) => words,
      context: ({ code }) => ({ code }),
      afterMs: "awayMinutes",
      isUnknown: isAsked,
    },
  }),
  problem<JudgedChain>({
    when: ({ chains }) => chains.filter(isChainAway),
    gravity: "broken",
    status: {
      code: ({ detail }) => errorCodeIn(detail) || "NODE_UNREACHABLE",
      what: ({ chain, detail }) => chainWords(chain, detail),
      hint: ({ detail }) => remedyForDetail(detail),
    },
    alert: {
      event: "nodes-away",
      subject: ({ chain }) => chain,
      message: ({ chain }) => tooFewNodes(chain),
      context: ({ detail }) => ({ detail }),
      afterMs: "awayMinutes",
      isUnknown: isAsked,
    },
  }),
  // One bad node while the others are enough is a warning: after one more, payments would wait.
  problem({
    when: ({ chains }) =>
      chains.flatMap(({ chain, ok, isAsking, detail, poorNodes }) =>
        isAsking
          ? []
          : poorNodes
              // The sentence about a chain already names some of them.
              .filter(({ url }) => ok || !detail.includes(url))
              .map((node) => ({ chain, ok, ...node })),
      ),
    gravity: "warning",
    status: {
      code: ({ code }) => code || "NODE_UNREACHABLE",
      what: ({ chain, url, words }) => `node ${url} of ${chain} ${words}`,
      hint: ({ code }) => remedyForDetail(code),
    },
    alert: {
      event: "node-poor",
      subject: ({ chain, url }) => `${chain} ${url}`,
      message: ({ chain, url, words }) => `node ${url} of ${chain} ${words}`,
      context: ({ code }) => ({ code }),
      afterMs: "awayMinutes",
      isUnknown: isAsked,
      isToldByAnother: ({ ok }) => !ok,
    },
  }),
];

/** The waits of each chain, or of each currency; one group where a looker knows neither. */
function waitsBy(
  waits: readonly JudgedWait[],
  key: "chain" | "currency",
): readonly (readonly [name: string, waits: readonly JudgedWait[]])[] {
  const groups = new Map<string, JudgedWait[]>();
  for (const one of waits) groups.set(one[key], [...(groups.get(one[key]) ?? []), one]);
  return [...groups];
}

/** A reason that waits for an operator and stops every new withdrawal of an account. */
const standstill = (code: string, why: string): JudgedRow =>
  problem<readonly JudgedWait[]>({
    when: ({ waits }) => someOf(waits.filter((one) => one.why === code)),
    gravity: "broken",
    status: {
      code,
      what: ({ length }) => `approved and not signed (${code}): ${length}, ${why}`,
      hint: remedyForDetail(code),
    },
  });

/** One thing of all that are there; none of none. */
const someOf = <T>(things: readonly T[]): readonly (readonly T[])[] =>
  things.length === 0 ? [] : [things];

const standstillRows: readonly JudgedRow[] = [
  standstill("ACCOUNT_BEHIND", "the chain has seen more transactions than the ledger"),
  standstill("ACCOUNT_WAITS", "behind a lower slot that is quarantined"),
  // A paused token, or a blocked hot wallet, is one problem, whatever the number of withdrawals.
  problem({
    when: ({ waits }) =>
      waitsBy(
        waits.filter(({ why }) => why === "COURIER_TOKEN_REFUSES"),
        "currency",
      ),
    gravity: "broken",
    status: {
      code: "COURIER_TOKEN_REFUSES",
      what: ([, { length }]) =>
        `approved and not signed (COURIER_TOKEN_REFUSES): ${length}, the token's contract refuses every transfer of the hot wallet`,
      hint: fixedHint("COURIER_TOKEN_REFUSES"),
    },
    alert: {
      event: "currency-refused",
      subject: ([currency]) => currency,
      message: ([currency, { length }]) =>
        `the contract of ${currency} refuses every transfer of the hot wallet: ${length} wait`,
      context: ([, { length }]) => ({ code: "COURIER_TOKEN_REFUSES", waiting: length }),
      afterMs: 0,
    },
  }),
  standstill("LEDGER_DISK_FULL", "until the ledger's disk has room"),
  standstill("LEDGER_POISONED", "until the ledger can be written"),
  standstill("LEDGER_READ_ONLY", "until the ledger's disk is writable again"),
  problem({
    when: ({ operator }) => operator?.signer.courier?.outOfService ?? [],
    gravity: "broken",
    status: {
      code: "CHECK_DECIMALS",
      what: ({ currency, why }) =>
        `${currency} is out of service, and nothing of it is signed: ${why}`,
      hint: fixedHint("CHECK_DECIMALS"),
    },
  }),
];

/** The alert of orders for which the gateway's word is missing, of any of these reasons. */
const unnamed: ReadonlySet<string | null> = new Set([
  "ACCOUNT_PIN_UNNAMED",
  "ACCOUNT_FIRST_UNNAMED",
  "WITHDRAWAL_UNCLEARED",
]);

const waitsFor = (
  code: "ACCOUNT_PIN_UNNAMED" | "ACCOUNT_COIN_SPENT" | "WITHDRAWAL_UNCLEARED",
  until: string,
): JudgedRow =>
  problem<readonly JudgedWait[]>({
    when: ({ waits }) => someOf(waits.filter(({ why }) => why.includes(code))),
    gravity: "broken",
    status: {
      code,
      what: ({ length }) => `${length} wait until ${until} (${code})`,
      hint: codes[code].advice,
    },
  });

const namingRows: readonly JudgedRow[] = [
  waitsFor("ACCOUNT_PIN_UNNAMED", "the gateway's nodes name a coin that they can spend"),
  waitsFor("ACCOUNT_COIN_SPENT", "nodes show a coin that no closed payment here has spent"),
  waitsFor("WITHDRAWAL_UNCLEARED", "the gateway says that nothing on the chain pays them already"),
  // An account for which nothing waits yet is a warning.
  problem({
    when: ({ unbegun, waits }) =>
      unbegun.map(({ chain, why }) => ({
        chain,
        code: why.startsWith("ACCOUNT_FIRST_SLOT")
          ? ("ACCOUNT_FIRST_SLOT" as const)
          : ("ACCOUNT_FIRST_UNNAMED" as const),
        waiting: waits.filter((one) => one.why.includes(why)).length,
      })),
    gravity: ({ waiting }) => (waiting === 0 ? "warning" : "broken"),
    status: {
      code: ({ code }) => code,
      what: ({ chain, code, waiting }) => {
        const ends =
          code === "ACCOUNT_FIRST_SLOT"
            ? "an operator says where it begins"
            : "the gateway's nodes name its next slot";
        return `the account of ${chain} begins when ${ends}, and ${waiting} wait for it (${code})`;
      },
      hint: ({ chain }, { voice }) => voice.command(courierEnds.firstSlot, { CHAIN: chain }),
    },
  }),
  problem({
    when: ({ waits }) =>
      waitsBy(
        waits.filter(({ why }) => unnamed.has(namingCodeIn(why))),
        "chain",
      ),
    gravity: "broken",
    alert: {
      event: "gateway-unnamed",
      subject: ([chain]) => chain,
      message: ([chain, { length }]) =>
        `the gateway says nothing of coins, first slots or orders of ${chain}: ${length} wait`,
      context: ([, { length }]) => ({ waiting: length }),
      afterMs: unnamedMs,
    },
  }),
  problem({
    when: ({ waits }) =>
      waitsBy(
        waits.filter(({ why }) => namingCodeIn(why) === "ACCOUNT_FIRST_SLOT"),
        "chain",
      ),
    gravity: "broken",
    alert: {
      event: "adopt-needed",
      subject: ([chain]) => chain,
      message: ([chain, { length }]) =>
        `the account of ${chain} was used before, and begins with an operator's yes: ${length} wait`,
      context: ([, { length }]) => ({ waiting: length }),
      hint: ([chain], { voice }) => voice.command(courierEnds.firstSlot, { CHAIN: chain }),
      afterMs: 0,
    },
  }),
];

/** The code of the fee limit for which one waits. */
const feeCode = ({ why }: JudgedWait): string => errorCodeIn(feeCodeIn(why) ?? "");

const moneyRows: readonly JudgedRow[] = [
  problem<readonly JudgedWait[]>({
    when: ({ waits }) => someOf(waits.filter(({ why }) => isForFunds(why))),
    gravity: "broken",
    status: {
      code: "COURIER_FUNDS",
      what: ({ length }) => `${length} wait for funds of the hot wallet`,
      hint: fixedHint("COURIER_FUNDS"),
    },
  }),
  problem({
    when: ({ waits }) =>
      waitsBy(
        waits.filter(({ why }) => feeCodeIn(why) !== null),
        "chain",
      ).flatMap(([chain, all]) =>
        [...new Set(all.map(feeCode))].map((code) => ({
          chain,
          code,
          ofCode: all.filter((one) => feeCode(one) === code).length,
          waiting: all.length,
        })),
      ),
    gravity: "broken",
    status: {
      code: ({ code }) => code,
      what: ({ code, ofCode }) => `${ofCode} wait for lower fees (${code})`,
      hint: ({ code }) => remedyForDetail(code),
    },
    alert: {
      event: "fees-high",
      subject: ({ chain }) => chain,
      message: ({ chain }) => `fees of ${chain} are above maxFee`,
      context: ({ waiting }) => ({ waiting }),
      afterMs: feesMs,
    },
  }),
  problem<JudgedChain>({
    when: ({ chains }) => chains.filter(({ nativeBalance }) => isWithoutFeeCoin(nativeBalance)),
    gravity: "warning",
    status: {
      code: "COURIER_FUNDS",
      what: ({ chain }) => `the hot wallet of ${chain} holds no native coin, so it can pay no fee`,
      hint: fixedHint("COURIER_FUNDS"),
    },
  }),
  problem({
    when: ({ lowFunds }) => lowFunds,
    gravity: "broken",
    status: {
      code: "COURIER_FUNDS",
      what: ({ currency, has, wanted }) =>
        `low funds: ${has} ${currency}, less than notify.lowFunds wants (${wanted})`,
      hint: fixedHint("COURIER_FUNDS"),
    },
    alert: {
      event: "funds-low",
      subject: ({ currency }) => currency,
      message: ({ currency, has, wanted }) =>
        `the hot wallet has ${has} ${currency}, less than ${wanted}`,
      context: ({ has, wanted }) => ({ has, wanted }),
      afterMs: 0,
      isUnknown: ({ chains }) => chains.some(({ isBalanceKnown }) => !isBalanceKnown),
    },
  }),
  // Bytes that every node refused are in no mempool. They need another setting or another node.
  problem({
    when: ({ waits }) => {
      const declined = waits.filter(({ why }) => nodeTextOfUntakenOffer(why) !== "");
      const texts = new Set(declined.map(({ why }) => why));
      return [...texts].map((text) => declined.filter(({ why }) => why === text));
    },
    gravity: "broken",
    status: {
      code: "COURIER_DECLINED",
      what: ([first, ...others]) => {
        const more = others.length === 0 ? "" : ` and ${others.length} others`;
        return `withdrawal ${first?.transactionId}${more}: offered, and no node took it: ${nodeTextOfUntakenOffer(first?.why ?? "")}`;
      },
      hint: fixedHint("COURIER_DECLINED"),
    },
  }),
  problem({
    when: ({ operator }) => {
      const notify = operator?.signer.courier?.notify ?? null;
      return notify === null || notify.ok ? [] : [notify];
    },
    gravity: "broken",
    status: {
      code: "COURIER_NOTIFY",
      what: ({ detail }) => `nobody is told of what happens: ${detail}`,
      hint: fixedHint("COURIER_NOTIFY"),
    },
  }),
];

/** True for a hot wallet that can pay no fee. @param nativeBalance "" if unknown */
export const isWithoutFeeCoin = (nativeBalance: string): boolean => nativeBalance === "0";

/** A part of the table; the rows of one chain are read chain by chain. */
const parts: readonly {
  readonly rows: readonly JudgedRow[];
  readonly each?: "chain";
}[] = [
  { rows: signerRows },
  { rows: withdrawalRows },
  { rows: roomRows },
  { rows: configRows },
  { rows: courierRows },
  { rows: chainRows, each: "chain" },
  { rows: standstillRows },
  { rows: namingRows },
  { rows: moneyRows },
];

function findAll<T>(
  judged: JudgedAgent,
  find: (row: JudgedRow, judged: JudgedAgent) => readonly T[],
): readonly T[] {
  return parts.flatMap(({ rows, each }) => {
    const views =
      each === "chain" ? judged.chains.map((chain) => ({ ...judged, chains: [chain] })) : [judged];
    return views.flatMap((view) => rows.flatMap((row) => find(row, view)));
  });
}

/** The problems for an operator's command. Empty when everything works. */
export function listProblems(judged: JudgedAgent): readonly Problem[] {
  return findAll(judged, (row, view) => row.said(view));
}

/** The problems that somebody is told of, and the events whose state is unknown now. */
export function listConditions(
  judged: JudgedAgent,
  times: AlertTimes,
): { readonly conditions: readonly AlertCondition[]; readonly unknown: readonly AlertName[] } {
  return {
    conditions: findAll(judged, (row, view) => row.told(view, times)),
    unknown: [...new Set(findAll(judged, (row, view) => row.unknown(view)))],
  };
}
