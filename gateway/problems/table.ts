/**
 * The problems of a gateway: one table, whose rows say of each problem when it holds, how grave it
 * is, its words, the line to type, and how long it lasts before somebody is told. `/ready`,
 * `status`, `check` and the alerts show what the table finds, each the rows with words for it; a
 * limit stands here alone (test/system/problems.test.ts). The fault book is one of its sources.
 * Pure: reads only the state that it is given.
 */
import type { AlertCondition } from "../../base/alerts/queue/due-alerts.ts";
import { type AlertName, alertTable } from "../../base/alerts/queue/table.ts";
import { adviceOf, dangerOf, lockedAdvice } from "../../base/causes.ts";
import { type Code, codes } from "../../base/codes.ts";
import {
  type Gravity,
  gravityOfCode,
  readWording,
  roomLeft,
  type ShownGravity,
  showGravity,
  type Wording as WordingOf,
} from "../../base/problem.ts";
import { formatTimestampUtc } from "../../base/timestamp.ts";
import type { GatewayAlerts } from "../config/config.ts";
import { faultDomains } from "../faults/domains.ts";
import type { Fault } from "../faults/fault.ts";
import { faultGroupName, faultText } from "../faults/words.ts";
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
} from "../operator/state-words.ts";
import type { Counts } from "../store/counts.ts";
import { freeDiskBytesMin, walBytesMax } from "../store/disk.ts";
import { heartbeatMs, type ShownGateway } from "../store/leases.ts";
import type { WaitingMerchant } from "../store/withdrawals.ts";
import type { ChainStatus } from "../watcher/chain-status.ts";
import type {
  JudgedAlarm,
  JudgedGateway,
  JudgedLock,
  JudgedParts,
  JudgedScreen,
} from "./judged.ts";

/** As `status` lists it. */
export interface Problem extends ShownGravity {
  readonly what: string; // a sentence in lower case, without a stop
  readonly hint: string; // "" if there is nothing to do here
}

/** As a check of `/ready` shows it. */
export interface CheckProblem {
  readonly ok: boolean; // true for a warning
  readonly detail: string; // public text
  readonly full?: string; // longer text for the operator, if there is one
}

/** The checks of `/ready`, by the first word of their names. */
export type CheckKind =
  | "database"
  | "disk"
  | "wal"
  | "certificate"
  | "clock"
  | "chains"
  | "chain"
  | "currency"
  | "prices"
  | "books";

type AlertTimes = Pick<GatewayAlerts, "agentAwayMinutes">;

type Wording<T, V> = WordingOf<T, JudgedGateway, V>;

interface Row<T> {
  /** The things for which the problem holds now. */
  readonly when: (judged: JudgedGateway) => readonly T[];
  readonly gravity: Wording<T, Gravity>;
  /** How the check of `/ready` says it; absent for what is no part of the process. */
  readonly ready?: {
    readonly check: CheckKind;
    readonly detail: Wording<T, string>; // public text
    readonly full?: (one: T, judged: JudgedGateway) => string;
  };
  /** How `status` says it; what a check of `/ready` says, `status` reads there. */
  readonly status?: { readonly what: Wording<T, string>; readonly hint: Wording<T, string> };
  /** How somebody is told of it; absent for what is only shown. */
  readonly alert?: {
    readonly event: AlertName;
    readonly subject: Wording<T, string>;
    readonly message: Wording<T, string>;
    readonly context?: Wording<T, AlertCondition["context"]>;
    readonly hint?: Wording<T, string>; // the alert's own advice unless given
    readonly afterMs: number | keyof AlertTimes | ((one: T, judged: JudgedGateway) => number);
    readonly againMs?: number;
    readonly isTold?: (one: T, judged: JudgedGateway) => boolean; // by an earlier run
  };
}

interface JudgedRow {
  readonly check: CheckKind | null;
  checked(judged: JudgedGateway): readonly CheckProblem[];
  said(judged: JudgedGateway): readonly Problem[];
  told(judged: JudgedGateway, times: AlertTimes): readonly AlertCondition[];
}

const minuteMs = 60_000;

/** A row of the table, whose things only the row itself knows. */
function problem<T>({ when, gravity, ready, status, alert }: Row<T>): JudgedRow {
  const shownGravity = (one: T, judged: JudgedGateway): ShownGravity =>
    showGravity(readWording(gravity, one, judged));
  return {
    check: ready?.check ?? null,
    checked: (judged) =>
      ready === undefined
        ? []
        : when(judged).map((one) => ({
            ok: shownGravity(one, judged).isWarning,
            detail: readWording(ready.detail, one, judged),
            ...(ready.full === undefined ? {} : { full: ready.full(one, judged) }),
          })),
    said: (judged) =>
      status === undefined
        ? []
        : when(judged).map((one) => ({
            what: readWording(status.what, one, judged),
            hint: readWording(status.hint, one, judged),
            ...shownGravity(one, judged),
          })),
    told: (judged, times) =>
      alert === undefined
        ? []
        : when(judged).map((one) => {
            const { event, afterMs, hint, againMs, isTold } = alert;
            return {
              event,
              subject: readWording(alert.subject, one, judged),
              gravity: readWording(gravity, one, judged),
              message: readWording(alert.message, one, judged),
              context: readWording(alert.context ?? {}, one, judged),
              afterMs:
                typeof afterMs === "function"
                  ? afterMs(one, judged)
                  : typeof afterMs === "number"
                    ? afterMs
                    : times[afterMs] * minuteMs,
              ...(hint === undefined ? {} : { hint: readWording(hint, one, judged) }),
              ...(againMs === undefined ? {} : { againMs }),
              ...(isTold === undefined ? {} : { isTold: isTold(one, judged) }),
            };
          }),
  };
}

/* Limits and conditions. Other files read them here. */

/** Withdrawals that wait longer than this for a person at the merchant's server are named. */
const approvalWarningMs = 30 * minuteMs;
/** The oldest open withdrawal of a merchant may wait for this time. */
export const withdrawalsWaitMs = 60 * minuteMs;
/** Orders of a network may wait so long for the reader of its chain before that is wrong. */
const readerWarningMs = 60_000;
/** Orders wait for a chain that is not read for so long before it is told: less than a minute. */
const unreadMs = 45_000;
/** The same while the chain is read: on Tron a start takes a minute of blocks. */
const readingMs = 180_000;
/** A gateway that does not run is told of again after this time. */
const downAgainMs = 3_600_000;

/** The room on the database's disk; "enough" also while it is unknown (null). */
export const databaseRoomLeft = (freeBytes: number | null): ReturnType<typeof roomLeft> =>
  roomLeft(freeBytes, freeDiskBytesMin);

/** The words for a file that cannot be used while the gateway runs, and the line to type. */
export const staleConfigWarning = [
  "the running gateway goes by the configuration before",
  "correct the file, then autowithdraw-gateway check: a restart would fail",
] as const;

const untrustedHint =
  "if listen.tls names a newer certificate: systemctl reload autowithdraw-gateway; else autowithdraw-gateway check";
const unreachedHint =
  "systemctl start autowithdraw-gateway; journalctl -u autowithdraw-gateway -n 50 says why it ended; autowithdraw-gateway check";

const mebibyteWords = (bytes: number): string => `${Math.floor(bytes / 1024 / 1024)} MiB`;

/** The one thing of a part, if its text says that something is wrong. */
const ifSaid = (words: string): readonly string[] => (words === "" ? [] : [words]);

/** The view of an operator's command, if this holds of it. */
const screenThat =
  (isSo: (screen: JudgedScreen) => boolean) =>
  ({ screen }: JudgedGateway): readonly JudgedScreen[] =>
    screen !== null && isSo(screen) ? [screen] : [];

/** The rows that a command reads from the database. */
const counted =
  <T>(read: (counts: Counts) => readonly T[]) =>
  ({ screen }: JudgedGateway): readonly T[] => {
    const counts = screen?.counts ?? null;
    return counts === null ? [] : read(counts);
  };

/* The rows in the order in which `status` lists them; theft stands before all others. */

const theftRows: readonly JudgedRow[] = [
  problem<Counts["foreignPayments"][number]>({
    when: counted(({ foreignPayments }) => foreignPayments),
    gravity: gravityOfCode("WATCHER_OUTGOING_FOREIGN"),
    status: {
      what: ({ account, merchant, txHash, block }) =>
        `${account} of ${merchant} paid by a transaction that nobody here ordered: ${txHash} in block ${block}`,
      hint: adviceOf("WATCHER_OUTGOING_FOREIGN"),
    },
  }),
  problem<Counts["missingMoney"][number]>({
    when: counted(({ missingMoney }) => missingMoney),
    gravity: ({ kind }) => gravityOfCode("BOOKS_DIFFERENCE", missingCause(kind)),
    status: {
      what: ({ address, merchant, currency, kind }) =>
        `${kind === "hot" ? "the hot wallet" : "the deposit address"} ${address} of ${merchant} lacks ${currency}`,
      hint: ({ kind }) => adviceOf("BOOKS_DIFFERENCE", missingCause(kind)),
    },
  }),
];

const missingCause = (kind: "hot" | "deposit") => (kind === "hot" ? "hot" : "deposit-less");

const processRows: readonly JudgedRow[] = [
  problem({
    when: screenThat(({ configFault }) => configFault !== ""),
    gravity: "warning",
    status: {
      what: ({ configFault }) => `${configFault}; ${staleConfigWarning[0]}`,
      hint: staleConfigWarning[1],
    },
  }),
  problem({
    when: screenThat(({ answer }) => answer === "none"),
    gravity: "broken",
    status: {
      what: ({ answerWords }) => `the gateway cannot be reached: ${answerWords}`,
      hint: unreachedHint,
    },
  }),
  problem({
    when: screenThat(({ answer }) => answer === "untrusted"),
    gravity: "broken",
    status: {
      what: ({ answerWords }) => `the gateway's address: ${answerWords}`,
      hint: untrustedHint,
    },
  }),
  problem({
    when: screenThat(({ answer }) => answer === "foreign"),
    gravity: "broken",
    status: {
      what: "another program answers at the gateway's address",
      hint: "look at listen in the configuration",
    },
  }),
  // As the process sees it that the service manager starts when the gateway has failed.
  problem<NonNullable<JudgedGateway["down"]>>({
    when: ({ down }) => (down === null ? [] : [down]),
    gravity: "broken",
    alert: {
      event: "gateway-down",
      subject: "gateway",
      message: ({ words }) => `the gateway does not run: ${words}`,
      context: ({ code }) => ({ code }),
      hint: ({ advice }) => advice || alertTable["gateway-down"].advice,
      afterMs: 0,
      againMs: downAgainMs,
    },
  }),
  problem<NonNullable<JudgedScreen["storeFault"]>>({
    when: ({ screen }) => {
      const fault = screen?.storeFault ?? null;
      return fault === null ? [] : [fault];
    },
    gravity: "broken",
    status: { what: ({ message }) => message, hint: ({ advice }) => advice },
  }),
  // The running gateway finds these in its own parts, which the next rows judge there.
  problem<JudgedScreen["checks"][number]>({
    when: ({ screen }) => (screen?.checks ?? []).filter(({ ok, detail }) => !ok || detail !== ""),
    gravity: ({ ok }) => (ok ? "warning" : "broken"),
    status: {
      what: ({ name, detail }) => `${name}: ${detail || "not well"}`,
      hint: ({ name }) => checkHints[name.split(" ")[0] ?? ""] ?? otherCheckHint,
    },
  }),
];

/** The alert of a disk with too little room. */
const roomAlert = {
  event: "disk-room-low",
  subject: "database",
  context: (freeBytes: number) => ({ freeBytes, freeBytesMin: freeDiskBytesMin }),
  afterMs: 0,
} as const;

const ofRoom =
  (left: "little" | "none") =>
  ({ freeBytes }: JudgedGateway): readonly number[] => {
    const free = freeBytes();
    return free !== null && databaseRoomLeft(free) === left ? [free] : [];
  };

const partRows: readonly JudgedRow[] = [
  problem<string>({
    when: ({ store }) => ifSaid(store()),
    gravity: "broken",
    ready: { check: "database", detail: (words) => words },
  }),
  problem<number>({
    when: ofRoom("none"),
    gravity: "broken",
    ready: {
      check: "disk",
      detail: (free) =>
        `${mebibyteWords(free)} are free on the database's disk, too few: make room`,
    },
    alert: { ...roomAlert, message: "the disk of the gateway's database is full" },
  }),
  problem<number>({
    when: ofRoom("little"),
    gravity: "warning",
    ready: {
      check: "disk",
      detail: (free) => `${mebibyteWords(free)} are free on the database's disk: make room`,
    },
    alert: { ...roomAlert, message: "the disk of the gateway's database is nearly full" },
  }),
  problem<number>({
    when: ({ walBytes }) => {
      const bytes = walBytes();
      return bytes > walBytesMax ? [bytes] : [];
    },
    gravity: "broken",
    ready: { check: "wal", detail: walWords, full: walFullWords },
    alert: { event: "wal-large", subject: "database", message: walFullWords, afterMs: 0 },
  }),
  problem<ReturnType<JudgedGateway["certificate"]>>({
    when: ({ certificate }) => [certificate()].filter(({ left }) => left !== "enough"),
    gravity: ({ left }) => (left === "none" ? "broken" : "warning"),
    ready: { check: "certificate", detail: ({ words }) => words },
    alert: {
      event: "certificate-ends",
      subject: "certificate",
      message: ({ words }) => words,
      afterMs: 0,
    },
  }),
  problem<string>({
    when: ({ clock }) => ifSaid(clock()),
    gravity: "broken",
    ready: { check: "clock", detail: (words) => words },
    alert: { event: "clock-wrong", subject: "clock", message: (words) => words, afterMs: 0 },
  }),
  // One chain that is not read costs no other, so the gateway is ready while any of them is read.
  problem<true>({
    when: ({ chains }) =>
      chains.length > 0 && chains.every(({ status }) => status()?.ok !== true) ? [true] : [],
    gravity: "broken",
    ready: { check: "chains", detail: "no chain is read" },
  }),
];

function walWords(bytes: number): string {
  return `the write-ahead file of the database has ${mebibyteWords(bytes)}`;
}

function walFullWords(bytes: number, { databaseReaders }: JudgedGateway): string {
  const others = databaseReaders();
  return `${walWords(bytes)}: ${others === "" ? "another program reads an old state" : `end ${others}, which reads an old state`}`;
}

type PoorNode = ChainStatus["nodes"][number] & { readonly chain: string };

const seenChains = ({ chains }: JudgedGateway): readonly ChainStatus[] =>
  chains.flatMap(({ status }) => status() ?? []);

const isPoor = ({ since }: ChainStatus["nodes"][number]): boolean => since !== null;

const chainRows: readonly JudgedRow[] = [
  problem<true>({
    when: ({ chains }) =>
      chains.flatMap(({ status }) => (status() === undefined ? [true as const] : [])),
    gravity: "broken",
    ready: { check: "chain", detail: "not read: the gateway is starting" },
  }),
  // All that the check of one chain says, in one line.
  problem<ChainStatus>({
    when: (judged) =>
      seenChains(judged).filter(
        ({ ok, delays, nodes }) => !ok || delays.length > 0 || nodes.some(isPoor),
      ),
    gravity: ({ ok }) => (ok ? "warning" : "broken"),
    ready: {
      check: "chain",
      detail: (status) => chainDetail(status, false),
      full: (status) => chainDetail(status, true),
    },
  }),
  problem<ChainStatus>({
    when: (judged) => seenChains(judged).filter(({ ok }) => !ok),
    gravity: "broken",
    alert: {
      event: "nodes-away",
      subject: ({ chain }) => chain,
      message: ({ chain, detail }) => `the chain ${chain} is not read: ${detail}`,
      context: ({ detail }) => ({ detail }),
      afterMs: "agentAwayMinutes",
    },
  }),
  problem<ChainStatus["delays"][number] & { readonly chain: string }>({
    when: (judged) =>
      seenChains(judged).flatMap(({ chain, ok, delays }) =>
        ok ? delays.map((delay) => ({ chain, ...delay })) : [],
      ),
    gravity: "warning",
    alert: {
      event: "chain-late",
      subject: ({ chain, code }) => `${chain} ${code}`,
      message: ({ words }) => words,
      context: ({ code }) => ({ code }),
      afterMs: "agentAwayMinutes",
    },
  }),
  problem<PoorNode>({
    when: (judged) =>
      seenChains(judged).flatMap(({ chain, ok, nodes }) =>
        ok ? nodes.filter(isPoor).map((node) => ({ chain, ...node })) : [],
      ),
    gravity: "warning",
    alert: {
      event: "node-poor",
      subject: ({ chain, url }) => `${chain} ${url}`,
      message: ({ chain, url, detail }) => `node ${url} of ${chain}: ${detail}`,
      context: ({ detail }) => ({ detail }),
      afterMs: "agentAwayMinutes",
    },
  }),
];

/**
 * The state of a chain. The public text has the fault's code or a fixed text, and the number of
 * good nodes. It names each bad node by its position in the configuration, with the problem. The
 * operator's text also has the node's address without its path, and the node's own message.
 */
function chainDetail({ ok, detail, plain, nodes, delays }: ChainStatus, isFull: boolean): string {
  const wrong = nodes.flatMap((node, at) => {
    if (!isPoor(node)) return [];
    return [
      isFull ? `${node.url} ${node.detail.replace(/^[A-Z_]+: /, "")}` : `node ${at} ${node.plain}`,
    ];
  });
  const late = delays.map((delay) => `${delay.code}: ${isFull ? delay.words : delay.plain}`);
  if (ok && wrong.length === 0) return late.join("; ");
  const words = isFull ? detail : plain;
  const answering = `${nodes.filter((node) => node.ok).length} of ${nodes.length} nodes answer`;
  const unsaid = wrong.filter((one) => ok || !words.includes(one));
  return [...(ok ? late : [`not read: ${words}`]), answering, ...unsaid].join("; ");
}

type UnpricedPairs = ReturnType<JudgedParts["unpriced"]>;

const serviceRows: readonly JudgedRow[] = [
  problem<{ readonly id: string; readonly words: string }>({
    when: ({ currencies }) =>
      currencies.flatMap(({ id, why }) => ifSaid(why()).map((words) => ({ id, words }))),
    gravity: "broken",
    ready: { check: "currency", detail: ({ words }) => words },
    alert: {
      event: "currency-out",
      subject: ({ id }) => id,
      message: ({ id, words }) => `${id} is ${words}`,
      afterMs: 0,
    },
  }),
  // Requests in coins are taken all the same.
  problem<UnpricedPairs>({
    when: ({ unpriced }) => [unpriced()].filter(({ length }) => length > 0),
    gravity: "broken",
    ready: {
      check: "prices",
      detail: (all) =>
        `no price holds of ${all.map(({ currency, fiat }) => `${currency.id} in ${fiat}`).join(", ")}: quotes are refused`,
    },
  }),
  problem<UnpricedPairs[number]>({
    when: ({ unpriced }) => unpriced(),
    gravity: "broken",
    alert: {
      event: "price-stale",
      subject: ({ currency, fiat }) => `${currency.id} ${fiat}`,
      message: ({ currency, fiat }) =>
        `no price of ${currency.id} in ${fiat} holds: quotes are refused`,
      afterMs: faultDomains.price.toldAfterMs,
    },
  }),
  // A difference waits for an operator, and the gateway is still ready.
  problem<{ readonly ok: boolean; readonly detail: string }>({
    when: ({ books }) =>
      books.map(({ state }) => state()).filter(({ ok, detail }) => !ok || detail !== ""),
    gravity: ({ ok }) => (ok ? "warning" : "broken"),
    ready: { check: "books", detail: ({ detail }) => detail },
  }),
  problem({
    when: screenThat(({ restored }) => restored !== ""),
    gravity: "warning",
    status: {
      what: ({ restored }) =>
        `the database may lack its newest rows (${restored}) and has not caught up: no deposit is taken yet`,
      hint: restoredHint,
    },
  }),
  problem<Counts["reorgedDeposits"][number]>({
    when: counted(({ reorgedDeposits }) => reorgedDeposits),
    gravity: gravityOfCode("WATCHER_FINAL_REORG", "deposit"),
    status: {
      what: ({ id, merchant, since }) =>
        `deposit ${id} of ${merchant} was credited in a block that left the chain, and is in no final block since ${formatTimestampUtc(since)}`,
      hint: ({ id }) => reorgHint(id),
    },
  }),
  problem<Counts["heldOrders"][number]>({
    when: counted(({ heldOrders }) => heldOrders),
    gravity: "broken",
    status: {
      what: ({ id, merchant }) =>
        `withdrawal ${id} of ${merchant} is held: its wallet paid exactly this already, by a transaction that no order explains`,
      hint: ({ id }) => heldHint(id),
    },
  }),
  problem<JudgedGateway["waitingForReader"][number]>({
    when: ({ waitingForReader }) => waitingForReader,
    gravity: ({ oldestAt }, { nowMs }) =>
      nowMs - oldestAt < readerWarningMs ? "warning" : "broken",
    status: {
      what: ({ network, count, trouble }) =>
        `${ordersWait(count)} for the reader of ${network}: ${trouble || `${network} is not read up to its newest block since the gateway was started`}`,
      hint: readerHint,
    },
    alert: {
      event: "payouts-unplaced",
      subject: ({ network }) => network,
      message: ({ network, count, trouble }) =>
        `${ordersWait(count)} for the reader of ${network}: ${trouble || "it is not read up to its newest block since the start"}`,
      context: ({ count }) => ({ count }),
      hint: readerHint,
      afterMs: ({ network, trouble }, judged) =>
        trouble === "" && seenChains(judged).some((chain) => chain.network === network && chain.ok)
          ? readingMs
          : unreadMs,
    },
  }),
];

const ordersWait = (count: number): string =>
  count === 1 ? "1 order waits" : `${count} orders wait`;

const stopRows: readonly JudgedRow[] = [
  problem<Counts["currencyHolds"][number]>({
    when: counted(({ currencyHolds }) => currencyHolds),
    gravity: gravityOfCode("CURRENCY_MOVES_OTHERWISE"),
    status: {
      what: ({ currency, merchant, at, transactionId, txHash }) =>
        `${currency} is held for ${merchant === "" ? "every merchant" : merchant} since ${formatTimestampUtc(at)}: ${txHash} moved something else than ${transactionId} asks for`,
      hint: ({ currency }) => heldCurrencyHint(currency),
    },
  }),
  problem<Counts["currencyStops"][number]>({
    when: counted(({ currencyStops }) => currencyStops),
    gravity: "warning",
    status: {
      what: ({ agent, merchant, currency, at }) =>
        `agent ${agent} of ${merchant} signs no first payment in ${currency} since ${formatTimestampUtc(at)}: orders in it wait`,
      hint: ({ currency }) => stoppedCurrencyHint(currency),
    },
  }),
  problem<Counts["networkStops"][number]>({
    when: counted(({ networkStops }) => networkStops),
    gravity: "warning",
    status: {
      what: ({ agent, merchant, network, at }) =>
        `agent ${agent} of ${merchant} signs no first payment on ${network} since ${formatTimestampUtc(at)}: orders there wait`,
      hint: stopHint,
    },
  }),
  problem<Counts["unusableCoins"][number]>({
    when: counted(({ unusableCoins }) => unusableCoins),
    gravity: "warning",
    status: {
      what: ({ account, currency, units, words }) =>
        `the hot wallet ${account} has ${units} units of ${currency} that are not available: ${words}`,
      hint: coinHint,
    },
  }),
];

const agentRows: readonly JudgedRow[] = [
  problem<string>({
    when: ({ awayAgents }) => awayAgents,
    gravity: "warning",
    alert: {
      event: "agent-away",
      subject: (id) => id,
      message: (id) => `agent ${id} has no link to this gateway`,
      context: {},
      afterMs: "agentAwayMinutes",
    },
  }),
  problem<JudgedLock>({
    when: ({ lockedAgents }) => lockedAgents,
    gravity: ({ code }) => gravityOfCode(code),
    status: {
      what: ({ id, merchant, code }) => {
        const meaning = Object.hasOwn(codes, code) ? ` (${codes[code as Code].meaning})` : "";
        return `agent ${id} of ${merchant} is locked: ${code}${meaning}`;
      },
      hint: ({ code }) => lockedAdvice(code),
    },
    alert: {
      event: "agent-locked",
      subject: ({ id }) => id,
      message: ({ id, code }) => `agent ${id} is locked: ${code}`,
      context: ({ code }) => ({ code, danger: dangerOf(code) }),
      hint: ({ code }) => lockedAdvice(code),
      afterMs: 0,
    },
  }),
  problem<number>({
    when: counted(({ agents, lockedAgents }) =>
      [agents.locked - lockedAgents.length].filter((more) => more > 0),
    ),
    gravity: "broken",
    status: {
      what: (more) => `${more} more agents are locked`,
      hint: "autowithdraw-gateway agents",
    },
  }),
  problem<{ readonly away: number; readonly paired: number }>({
    when: ({ screen }) => {
      const paired = screen?.counts?.agents.paired ?? 0;
      const away = paired - (screen?.agentsConnected ?? paired);
      return away > 0 ? [{ away, paired }] : [];
    },
    gravity: "warning",
    status: {
      what: ({ away, paired }) =>
        `${away} of ${paired} paired agents ${away === 1 ? "has" : "have"} no link; their withdrawals wait`,
      hint: awayHint,
    },
  }),
];

type StageCount = Counts["withdrawals"][number];

const withdrawalsAre = (count: number): string =>
  count === 1 ? "1 withdrawal" : `${count} withdrawals`;
const stageLine = ({ stage }: StageCount): string =>
  `autowithdraw-gateway withdrawals list --stage ${stage}`;

const isForApproval = ({ stage }: WaitingMerchant): boolean => stage === "awaiting_approval";

const waitingWords = ({ merchant, name, count, oldestAt, stage }: WaitingMerchant): string =>
  `${count === 1 ? "1 withdrawal waits" : `${count} withdrawals wait`} at ${name} (${merchant}), the oldest since ${formatTimestampUtc(oldestAt)} as ${stage || "asked"}`;

const waitingHint = ({ merchant }: WaitingMerchant): string =>
  `autowithdraw-gateway withdrawals list --merchant ${merchant} --status 0`;

/** The alert of withdrawals that wait for long. */
const waitingAlert = {
  event: "withdrawals-waiting",
  subject: ({ merchant }: WaitingMerchant) => merchant,
  message: waitingWords,
  context: ({ count, stage }: WaitingMerchant) => ({ count, stage }),
  hint: waitingHint,
  afterMs: 0,
} as const;

const stuckSweepsWords = (count: number): string =>
  count === 1
    ? "1 sweep or top-up contradicts the chain and waits for an operator"
    : `${count} sweeps or top-ups contradict the chain and wait for an operator`;

const moneyRows: readonly JudgedRow[] = [
  problem<StageCount>({
    when: ({ screen, nowMs }) =>
      (screen?.counts?.withdrawals ?? []).filter(
        ({ stage, oldestAt }) =>
          stage === "awaiting_approval" &&
          oldestAt !== null &&
          nowMs - oldestAt >= approvalWarningMs,
      ),
    gravity: "warning",
    status: {
      what: ({ count }) =>
        `${withdrawalsAre(count)} waiting for approval by a person at the merchant's server`,
      hint: stageLine,
    },
  }),
  problem<StageCount>({
    when: counted(({ withdrawals }) => withdrawals.filter(({ stage }) => stage === "stuck")),
    gravity: "warning",
    status: {
      what: ({ count }) => `${withdrawalsAre(count)} stuck: no version reaches a block`,
      hint: stageLine,
    },
  }),
  problem<JudgedGateway["failingTargets"][number]>({
    when: ({ failingTargets }) => failingTargets,
    gravity: "warning",
    status: {
      what: ({ id, merchant, reason }) => `callback target ${id} of ${merchant} fails: ${reason}`,
      hint: ({ id }) => targetHint(id),
    },
    alert: {
      event: "callbacks-failing",
      subject: ({ id }) => id,
      message: ({ id, merchant, reason }) =>
        `callback target ${id} of ${merchant} takes no event: ${reason}`,
      context: ({ reason }) => ({ reason }),
      hint: ({ id }) => targetHint(id),
      afterMs: faultDomains.target.toldAfterMs,
    },
  }),
  // A person at the merchant's server decides; `status` counts these by their stage.
  problem<WaitingMerchant>({
    when: ({ waitingMerchants }) => {
      // A merchant's alert is one, and the graver row has it.
      const others = waitingMerchants.filter((one) => !isForApproval(one));
      const named = new Set(others.map(({ merchant }) => merchant));
      return waitingMerchants.filter((one) => isForApproval(one) && !named.has(one.merchant));
    },
    gravity: "warning",
    alert: waitingAlert,
  }),
  problem<WaitingMerchant>({
    when: ({ waitingMerchants }) => waitingMerchants.filter((one) => !isForApproval(one)),
    gravity: "broken",
    status: { what: waitingWords, hint: waitingHint },
    alert: waitingAlert,
  }),
  problem<number>({
    when: ({ stuckSweeps }) => [stuckSweeps].filter((count) => count > 0),
    gravity: "broken",
    status: {
      what: stuckSweepsWords,
      hint: `autowithdraw-gateway ${alertTable["sweeps-stuck"].advice}`,
    },
    alert: {
      event: "sweeps-stuck",
      subject: "sweeps",
      message: stuckSweepsWords,
      context: (count) => ({ count }),
      afterMs: 0,
    },
  }),
];

/** The check of a standby, which is not ready for what writes. */
export const activeCheck = "active";

/** A gateway counts as gone when its newest heartbeat is so old; six heartbeats. */
const silentMs = 6 * heartbeatMs;

const silentWords = ({ name, heartbeatAgeMs }: ShownGateway): string =>
  `gateway ${name} has not been seen for ${Math.round(heartbeatAgeMs / 1000)} s`;

/** The gateways of one database; `cluster` lists them. */
const sharingRows: readonly JudgedRow[] = [
  problem<number>({
    when: ({ gateways }) =>
      gateways.every(({ state }) => state !== "active")
        ? [gateways.length].filter((count) => count > 0)
        : [],
    gravity: "broken",
    status: {
      what: () => "no gateway on the database is active: nothing is paid or credited",
      hint: "autowithdraw-gateway cluster shows the lease and what its commits wait for; 15 seconds after the active one is gone a standby takes over",
    },
  }),
  problem<ShownGateway>({
    when: ({ gateways }) => gateways.filter(({ heartbeatAgeMs }) => heartbeatAgeMs >= silentMs),
    gravity: "warning",
    status: { what: silentWords, hint: alertTable["gateway-silent"].advice },
    alert: {
      event: "gateway-silent",
      subject: ({ name }) => name,
      message: silentWords,
      afterMs: 0,
    },
  }),
  problem<ShownGateway>({
    when: ({ gateways }) => {
      const active = gateways.find(({ state }) => state === "active");
      return gateways.filter(
        ({ version, digest }) =>
          active !== undefined && (version !== active.version || digest !== active.digest),
      );
    },
    gravity: "warning",
    status: {
      what: ({ name }) =>
        `gateway ${name} has another version or other settings than the active gateway`,
      hint: "autowithdraw-gateway cluster shows both: give all gateways the same program and settings",
    },
  }),
];

/** Faults of one domain, merchant and code. */
type FaultGroup = Fault & { readonly group: string };

/** Those of the fault book that are told: a chain's own are told by the chain's state. */
function groupFaults({ faults, nowMs }: JudgedGateway): readonly FaultGroup[] {
  const groups = new Map<string, FaultGroup>();
  for (const fault of faults) {
    const { domain, sinceMs, count } = fault;
    const isYoung = nowMs - sinceMs < faultDomains[domain].toldAfterMs;
    if (domain === "head" || domain === "span" || isYoung) continue;
    const group = faultGroupName(fault);
    const first = groups.get(group);
    groups.set(group, { ...(first ?? fault), group, count: (first?.count ?? 0) + count });
  }
  return [...groups.values()];
}

const faultRows: readonly JudgedRow[] = [
  problem<Counts["faults"][number]>({
    when: counted(({ faults }) => faults),
    gravity: "warning",
    status: {
      what: ({ domain, merchant, count, since }) =>
        faultText({ domain, merchant, count, sinceMs: since }),
      hint: ({ domain, merchant }) => faultHint(domain, merchant),
    },
  }),
  problem<FaultGroup>({
    when: groupFaults,
    gravity: "warning",
    alert: {
      event: "item-fault",
      subject: ({ group }) => group,
      message: (fault) => `${faultText(fault)}: ${fault.code}: ${fault.words}`,
      context: ({ code, count }) => ({ code, count }),
      hint: ({ domain, merchant }) => faultHint(domain, merchant),
      afterMs: 0,
      isTold: ({ group }, { faultsTold }) => faultsTold.has(group),
    },
  }),
  problem<number>({
    when: counted(({ alarms }) => [alarms.count].filter((count) => count > 0)),
    gravity: (_, { screen }) => {
      const kinds = screen?.counts?.alarmKinds ?? [];
      const wakes = kinds.some(({ code, cause }) => gravityOfCode(code, cause) === "wake");
      return wakes ? "wake" : "warning";
    },
    status: {
      what: (count) => `${count} ${count === 1 ? "alarm is" : "alarms are"} open`,
      hint: alarmsHint,
    },
  }),
  problem<JudgedAlarm>({
    when: ({ alarms }) => alarms,
    gravity: ({ code, cause }) => gravityOfCode(code, cause),
    alert: {
      event: "alarm",
      subject: ({ code, subject, id }) => `${code} ${subject} ${id}`,
      message: ({ detail }) => detail,
      context: ({ code, cause, subject: about }) => ({
        code,
        danger: dangerOf(code, cause),
        about,
      }),
      hint: ({ code, cause }) => adviceOf(code, cause) || alertTable.alarm.advice,
      afterMs: 0,
    },
  }),
];

const rows: readonly JudgedRow[] = [
  ...theftRows,
  ...processRows,
  ...partRows,
  ...chainRows,
  ...serviceRows,
  ...stopRows,
  ...agentRows,
  ...moneyRows,
  ...sharingRows,
  ...faultRows,
];

/**
 * Problems for an operator's command: problems first, theft before all others; warnings last. The
 * same state always gives the same list.
 */
export function listProblems(judged: JudgedGateway): readonly Problem[] {
  const found = rows.flatMap((row) => row.said(judged));
  return [...found.filter((one) => !one.isWarning), ...found.filter((one) => one.isWarning)];
}

/**
 * The problem that a check of `/ready` shows, by the state of its one thing; null if all is well.
 */
export function findCheckProblem(judged: JudgedGateway, check: CheckKind): CheckProblem | null {
  for (const row of rows) {
    const [found] = row.check === check ? row.checked(judged) : [];
    if (found !== undefined) return found;
  }
  return null;
}

/** The problems that somebody is told of. */
export function listConditions(
  judged: JudgedGateway,
  times: AlertTimes,
): readonly AlertCondition[] {
  return rows.flatMap((row) => row.told(judged, times));
}
