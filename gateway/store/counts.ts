/**
 * Numbers of everything that is open or wrong, for the operator's one screen. Each question reads
 * an index of open rows, or the tables of people and servers; none grows with the past, but the
 * count of given-up callbacks. Reads only.
 */
import { listSendersFrom } from "./agents.ts";
import { type AlarmKind, countOpenAlarms, listOpenAlarmKinds, type OpenAlarms } from "./alarm.ts";
import { actOfAlarm } from "./audit.ts";
import {
  acceptedDifferenceBlocksSql,
  type DifferenceRow,
  endedTransferOfOutgoingSql,
  listDifferences,
} from "./books.ts";
import {
  type CurrencyHold,
  type CurrencyStop,
  listCurrencyHolds,
  listCurrencyStops,
} from "./currency-holds.ts";
import { countPendingDepositsByStage } from "./deposits.ts";
import { countFaults } from "./faults.ts";
import { listNetworkStops, type NetworkStop } from "./foreign.ts";
import { listUndecidedDeposits, type UndecidedDeposit } from "./gone-payments.ts";
import { countUnansweredJobs } from "./jobs.ts";
import { listWaitingForReader, type WaitingForReader } from "./levels.ts";
import { explainingSignatureSql } from "./outgoing-transactions.ts";
import type { Database } from "./store.ts";
import { countOpenSweepsByStage } from "./sweeps.ts";
import { listUnusable, type UnusableRow } from "./unusable-coins.ts";
import { countPendingWithdrawalsByStage } from "./withdrawals.ts";

const namedFaultsMax = 20;

/** Open records of one stage. */
export interface StageCount {
  readonly stage: string;
  readonly count: number;
  readonly oldestAt: number | null; // Unix milliseconds; null where it is not counted
}

export interface LockedAgent {
  readonly id: string;
  readonly merchant: string; // its name
  readonly code: string;
}

/** A callback target whose newest try failed, or that is off because it answered 410. */
export interface FailingTarget {
  readonly id: string;
  readonly merchant: string; // its name
  readonly since: number | null; // its newest success; null never
  readonly reason: string;
}

export interface Counts {
  readonly withdrawals: readonly StageCount[];
  readonly deposits: readonly StageCount[];
  readonly sweeps: readonly StageCount[]; // sweeps and top-ups
  readonly jobsUnanswered: number;
  readonly agents: { readonly paired: number; readonly locked: number; readonly paused: number };
  readonly lockedAgents: readonly LockedAgent[]; // the first of them
  readonly callbacks: { readonly waiting: number; readonly givenUp: number };
  readonly failingTargets: readonly FailingTarget[]; // the first of them
  readonly alarms: OpenAlarms;
  readonly alarmKinds: readonly AlarmKind[]; // of the open alarms, each once
  readonly foreignPayments: readonly ForeignPayment[]; // the first of them
  readonly missingMoney: readonly MissingMoney[]; // the first of them
  readonly faults: readonly UnreadItems[]; // the first of them
  readonly waitingForReader: readonly WaitingForReader[]; // by network; none while no gateway runs
  readonly heldOrders: readonly HeldOrder[]; // the first of them
  readonly networkStops: readonly NetworkStop[]; // the first of them
  readonly unusableCoins: readonly UnusableRow[]; // of hot wallets; the first of them
  readonly reorgedDeposits: readonly UndecidedDeposit[]; // the first of them
  readonly currencyHolds: readonly HeldCurrency[]; // the first of them
  readonly currencyStops: readonly CurrencyStop[]; // of agents; the first of them
}

/** A currency in which nothing is paid, of one merchant's name or, with "", of all. */
export interface HeldCurrency
  extends Pick<CurrencyHold, "currency" | "at" | "transactionId" | "txHash"> {
  readonly merchant: string;
}

/** Items of one kind and one merchant's name that cannot be read; "" for nobody's. */
export interface UnreadItems {
  readonly domain: string;
  readonly merchant: string;
  readonly count: number;
  readonly since: number; // Unix milliseconds, of the oldest
}

/** An order that waits because its wallet paid the same before. */
export interface HeldOrder {
  readonly id: string;
  readonly merchant: string; // its name
  readonly since: number; // Unix milliseconds
}

/** A payment of an agent's account that nobody ordered, until an operator has settled it. */
export interface ForeignPayment {
  readonly account: string;
  readonly merchant: string; // its name
  readonly txHash: string;
  readonly block: number;
}

/** An account that holds less than the database explains, by the newest closing. */
export interface MissingMoney {
  readonly kind: "hot" | "deposit";
  readonly address: string;
  readonly merchant: string; // its name
  readonly currency: string;
}

const namedMax = 20;

/**
 * Alarms of WATCHER_OUTGOING_FOREIGN that nothing has settled: neither a withdrawal explains the
 * payment by now, nor has an operator taken the difference in. Books that began after the payment
 * show no difference, so there it counts as long as its alarm is open.
 */
function listForeignPayments(database: Database): readonly ForeignPayment[] {
  const rows = database.all<Omit<ForeignPayment, "merchant"> & { readonly network: string }>(
    `SELECT DISTINCT outgoing.network, outgoing.account, outgoing.txHash, outgoing.block
     FROM audit JOIN outgoing ON outgoing.txHash = audit.subject
     WHERE audit.act = ? AND NOT EXISTS (${explainingSignatureSql}) AND NOT EXISTS (${endedTransferOfOutgoingSql})
       AND NOT EXISTS (SELECT 1 FROM (${acceptedDifferenceBlocksSql("outgoing.account", "outgoing.network")}) e WHERE e.block >= outgoing.block)
       AND NOT EXISTS (SELECT 1 FROM accounts c WHERE c.address = outgoing.account AND c.network = outgoing.network
         AND c.openedBlock >= outgoing.block AND audit.id NOT IN (SELECT act FROM openAlarms))
     ORDER BY outgoing.block, outgoing.txHash`,
    actOfAlarm({ code: "WATCHER_OUTGOING_FOREIGN" }),
  );
  return rows
    .flatMap(({ network, ...row }): readonly ForeignPayment[] => {
      const [sender] = listSendersFrom(database, row.account, network);
      return sender === undefined ? [] : [{ ...row, merchant: merchantOf(database, sender.id) }];
    })
    .slice(0, namedMax);
}

const merchantOf = (database: Database, agent: string): string =>
  database.get<{ name: string }>(
    "SELECT m.name FROM agents a JOIN merchants m ON m.id = a.merchant WHERE a.id = ?",
    agent,
  )?.name ?? "";

function listMissingMoney(database: Database): readonly MissingMoney[] {
  const isLess = (row: DifferenceRow): boolean =>
    row.kind === "hot" || BigInt(row.foundUnits) < BigInt(row.expectedUnits);
  return listDifferences(database)
    .filter(isLess)
    .slice(0, namedMax)
    .map(({ kind, address, merchant, currency }) => ({
      kind,
      address,
      merchant: nameOf(database, merchant),
      currency,
    }));
}

const nameOf = (database: Database, merchant: string): string =>
  database.get<{ name: string }>("SELECT name FROM merchants WHERE id = ?", merchant)?.name ??
  merchant;

function listHeldOrders(database: Database): readonly HeldOrder[] {
  return database.all<HeldOrder>(
    `SELECT t.id, m.name AS merchant, t.changedAt AS since FROM transfers t JOIN merchants m ON m.id = t.merchant
     WHERE t.operation = 'withdraw' AND t.status = 0 AND t.stage = 'awaiting_operator' ORDER BY t.changedAt, t.id LIMIT ?`,
    namedMax,
  );
}

/** @param run of the gateway that runs now; null without one */
export function countsOf(database: Database, run: string | null): Counts {
  const agents =
    "SELECT count(*) AS paired, count(*) FILTER (WHERE lockedCode <> '') AS locked, count(pausedAt) AS paused FROM agents";
  const paired = database.get<Counts["agents"]>(`${agents} WHERE unpairedAt IS NULL`);
  return {
    withdrawals: countPendingWithdrawalsByStage(database),
    deposits: countPendingDepositsByStage(database),
    sweeps: countOpenSweepsByStage(database).map(({ operation, stage, count }) => {
      return { stage: operation === "topup" ? `top-up ${stage}` : stage, count, oldestAt: null };
    }),
    jobsUnanswered: countUnansweredJobs(database),
    agents: paired ?? { paired: 0, locked: 0, paused: 0 },
    lockedAgents: database.all<LockedAgent>(
      `SELECT a.id, m.name AS merchant, a.lockedCode AS code FROM agents a JOIN merchants m ON m.id = a.merchant
       WHERE a.unpairedAt IS NULL AND a.lockedCode <> '' ORDER BY a.id LIMIT ?`,
      namedMax,
    ),
    callbacks: {
      waiting: deliveriesIn(database, "waiting"),
      givenUp: deliveriesIn(database, "given up"),
    },
    failingTargets: listFailingTargets(database, namedMax),
    alarms: countOpenAlarms(database),
    alarmKinds: listOpenAlarmKinds(database),
    faults: countFaults(database).slice(0, namedFaultsMax),
    foreignPayments: listForeignPayments(database),
    missingMoney: listMissingMoney(database),
    waitingForReader: run === null ? [] : listWaitingForReader(database, run),
    heldOrders: listHeldOrders(database),
    networkStops: listNetworkStops(database, namedMax),
    unusableCoins: listUnusable(database, namedMax),
    reorgedDeposits: listUndecidedDeposits(database, namedMax),
    currencyHolds: listCurrencyHolds(database)
      .slice(0, namedMax)
      .map((hold) => ({
        ...hold,
        merchant: hold.merchant === "" ? "" : nameOf(database, hold.merchant),
      })),
    currencyStops: listCurrencyStops(database, namedMax),
  };
}

/**
 * Targets that did not take the newest event, or are off because they answered 410; at most `most`.
 */
export function listFailingTargets(database: Database, most: number): readonly FailingTarget[] {
  return database.all<FailingTarget>(
    `SELECT t.id, m.name AS merchant, t.succeededAt AS since,
       CASE WHEN t.offReason = 'gone' THEN 'it answered 410 and is off' WHEN t.failedStatus = 0 THEN t.failedReason
         ELSE 'it answered ' || t.failedStatus END AS reason
     FROM callbackTargets t INDEXED BY callbackTargetsFailing JOIN merchants m ON m.id = t.merchant
     WHERE t.offReason = 'gone' OR (t.offAt IS NULL AND t.failedAt > coalesce(t.succeededAt, 0)) ORDER BY t.id LIMIT ?`,
    most,
  );
}

function deliveriesIn(database: Database, state: "waiting" | "given up"): number {
  // The state stands in the text, because a partial index serves no parameter.
  return (
    database.get<{ n: number }>(
      `SELECT count(*) AS n FROM callbackDeliveries WHERE state = '${state}'`,
    )?.n ?? 0
  );
}
