/**
 * No deposit address leaves before a ceiling above its index is held outside the database: by the
 * agent's ledger, and for every account in the file next to the database. So a database restored
 * from a backup gives no address a second time. An address that may have left below a ceiling and
 * is unknown here is watched as forgotten. Sources: docs/protocol.md section 6.5;
 * docs/recovering.md, section 2.
 */
import type { AddressMark, IssuedAddressMarks } from "../store/address-marks.ts";
import { accountsOf } from "../store/agent-accounts.ts";
import { isAnyAgentBehind } from "../store/agent-state.ts";
import {
  awaitsCeiling,
  endAwaitedCeiling,
  keepDepositCeiling,
  listAgentsEver,
  readAgent,
  skipDepositIndexes,
} from "../store/agents.ts";
import { recordAct } from "../store/audit.ts";
import {
  countForgottenIndexes,
  hasForgottenIndexes,
  insertForgottenRange,
} from "../store/forgotten-ranges.ts";
import {
  listReceivingKeys,
  moveReceivingKey,
  nextDepositIndexUnder,
} from "../store/receiving-keys.ts";
import {
  endRestoreMark,
  hasMarksFile,
  isBackupCopy,
  keepHasMarksFile,
  markRestored,
  readRestoreMark,
  vouchForCursors,
  vouchForNewCursors,
} from "../store/restored-database.ts";
import type { AgentRow, ReceivingKeyRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { ceilingStep, indexesJumpMin } from "./ceiling-steps.ts";

/** The ceiling to ask for while `next` is the first free index: at least half a step ahead. */
export function ceilingToAskFor(next: number): number {
  return (Math.floor((next + ceilingStep / 2) / ceilingStep) + 1) * ceilingStep;
}

/** The ceiling that the agent's ledger should hold; null if the present ceiling is high enough. */
export function missingCeilingOfAgent({
  nextDepositIndex,
  depositCeiling,
}: Pick<AgentRow, "nextDepositIndex" | "depositCeiling">): number | null {
  const wanted = ceilingToAskFor(nextDepositIndex);
  return wanted > depositCeiling ? wanted : null;
}

/** One count of indexes, with the accounts whose addresses it counts. */
interface Holder {
  readonly merchant: string;
  readonly agent: string | null;
  readonly next: number;
  readonly accounts: readonly {
    readonly family: string;
    readonly id: string;
    readonly firstAddress: string;
  }[];
  skipTo(database: Database, next: number): void;
}

function holderOfAgent(agent: AgentRow): Holder {
  return {
    merchant: agent.merchant,
    agent: agent.id,
    next: agent.nextDepositIndex,
    accounts: accountsOf(agent).filter(({ purpose }) => purpose === "deposits"),
    skipTo: (database, next) => skipDepositIndexes(database, agent.id, next),
  };
}

function holderOfKey(database: Database, key: ReceivingKeyRow): Holder {
  const { merchant, family, xpub, firstDepositAddress } = key;
  return {
    merchant,
    agent: null,
    next: nextDepositIndexUnder(database, merchant, firstDepositAddress),
    accounts: [{ family, id: xpub, firstAddress: firstDepositAddress }],
    skipTo: (inside, next) => moveReceivingKey(inside, key, next),
  };
}

const holders = (database: Database): readonly Holder[] => [
  ...listAgentsEver(database).map(holderOfAgent),
  ...listReceivingKeys(database).map((key) => holderOfKey(database, key)),
];

type MarkOf = (account: string) => AddressMark | undefined;

/** Undefined if none of its accounts has a mark. */
function markOf(holder: Holder, of: MarkOf): AddressMark | undefined {
  const marks = holder.accounts
    .map(({ firstAddress }) => of(firstAddress))
    .filter((mark) => mark !== undefined);
  if (marks.length === 0) return undefined;
  return {
    next: Math.max(...marks.map(({ next }) => next)),
    ceiling: Math.max(...marks.map(({ ceiling }) => ceiling)),
  };
}

/**
 * Skips every index up to `to`; the addresses are derived and watched gradually
 * (skipped-addresses.ts).
 * @returns the number of skipped indexes
 */
function skip(database: Database, holder: Holder, to: number, nowMs: number): number {
  if (to <= holder.next) return 0;
  const { merchant, agent, next } = holder;
  for (const { family, id } of holder.accounts)
    insertForgottenRange(database, {
      account: id,
      family,
      merchant,
      agent,
      next,
      indexesEnd: to,
      at: nowMs,
    });
  holder.skipTo(database, to);
  return to - holder.next;
}

/**
 * Every deposit account that a merchant ever had here, with its first index whose address has not
 * left, and the ceiling in the agent's ledger.
 */
export function listMerchantDepositAccounts(
  database: Database,
  merchant: string,
): readonly DepositAccount[] {
  const own = holders(database).filter((holder) => holder.merchant === merchant);
  return own.flatMap(({ agent, next, accounts }) => {
    const ceiling = agent === null ? 0 : (readAgent(database, agent)?.depositCeiling ?? 0);
    return accounts.map((account) => ({ ...account, merchant, agent, next, ceiling }));
  });
}

export interface DepositAccount {
  readonly family: string;
  readonly id: string; // the text that addresses are derived from
  readonly firstAddress: string;
  readonly merchant: string;
  readonly agent: string | null; // null: no agent here has its key
  readonly next: number;
  readonly ceiling: number; // 0 if no ledger holds one
}

/**
 * Records that addresses below index `to` of an account may have left, so that no order gets such
 * an address. The caller must have the addresses watched. Runs in the caller's transaction.
 * Harmless to call twice.
 * @returns the number of skipped indexes
 */
export function skipAddresses(database: Database, firstAddress: string, to: number): number {
  let passed = 0;
  for (const holder of holders(database)) {
    if (
      to <= holder.next ||
      !holder.accounts.some((account) => account.firstAddress === firstAddress)
    )
      continue;
    holder.skipTo(database, to);
    passed = Math.max(passed, to - holder.next);
  }
  return passed;
}

const farBehind = ({ next }: Holder): number => next + Math.max(indexesJumpMin, next);

/** The result of the comparison at a start. */
export interface StartComparison {
  readonly reason: string; // why the database counts as restored from a backup; "" if it does not
  readonly skipped: number;
}

/** How a database stands to the file of marks on this machine. */
export interface DatabaseSharing {
  /** Other machines work on the database too, so the file here may be absent, or behind theirs. */
  readonly isShared: boolean;
  /** Why the database may lack its newest commits, whatever the marks are; "" if it lacks none. */
  readonly newHistory: string;
}

const unshared: DatabaseSharing = { isShared: false, newHistory: "" };

/**
 * Compares the database with the marks outside it, before anything is read or given out. `marks` is
 * null if there is no file. A restored database continues at its ceilings.
 */
export function compareMarks(
  database: Database,
  marks: ReadonlyMap<string, AddressMark> | null,
  nowMs: number,
  { isShared, newHistory }: DatabaseSharing = unshared,
): StartComparison {
  const reason = newHistory || reasonOf(database, marks, isShared);
  keepHasMarksFile(database);
  vouchForNewCursors(database);
  if (reason === "") return { reason, skipped: 0 };
  noteRestored(database, reason, nowMs);
  let skipped = 0;
  for (const holder of holders(database)) {
    const mark = markOf(holder, (account) => marks?.get(account));
    // An agent reports the ceiling in its ledger, so the gateway waits for the agent.
    const unknown =
      holder.agent === null && (marks === null || holder.next > 0) ? farBehind(holder) : 0;
    // The file of another machine may be ahead of the one here.
    const end = isShared ? Math.max(mark?.ceiling ?? 0, unknown) : (mark?.ceiling ?? unknown);
    skipped += skip(database, holder, end, nowMs);
  }
  return { reason, skipped };
}

/**
 * The marks next to the database from now on: the earlier marks, raised to the database's own
 * counts.
 */
export function raisedMarksOf(
  database: Database,
  known: ReadonlyMap<string, AddressMark> | null,
): ReadonlyMap<string, AddressMark> {
  const marks = new Map(known ?? []);
  for (const { accounts, next } of holders(database)) {
    for (const { firstAddress } of next === 0 ? [] : accounts) {
      const mark = marks.get(firstAddress);
      const ceiling = Math.max(mark?.ceiling ?? 0, ceilingToAskFor(next));
      marks.set(firstAddress, { next: Math.max(mark?.next ?? 0, next), ceiling });
    }
  }
  return marks;
}

function reasonOf(
  database: Database,
  marks: ReadonlyMap<string, AddressMark> | null,
  isShared: boolean,
): string {
  if (isBackupCopy(database)) return "it is a copy that backup made";
  if (marks === null)
    return hasMarksFile(database) && !isShared
      ? "the file of addresses beside it is gone or damaged"
      : "";
  for (const holder of holders(database)) {
    const mark = markOf(holder, (account) => marks.get(account));
    const whose = holder.agent === null ? `merchant ${holder.merchant}` : `agent ${holder.agent}`;
    if (mark !== undefined && mark.next > holder.next)
      return `it counts ${holder.next} addresses of ${whose}, and ${mark.next} left`;
    if (mark === undefined && holder.next > 0 && !isShared)
      return `the file of addresses beside it does not know ${whose}`;
  }
  return "";
}

function noteRestored(
  database: Database,
  reason: string,
  nowMs: number,
  caughtUpIn?: string,
): void {
  if (readRestoreMark(database) === null) {
    recordAct(database, {
      at: nowMs,
      actor: "gateway",
      act: "database restored",
      subject: "database",
      detail: reason,
    });
  }
  markRestored(database, reason, caughtUpIn);
}

/**
 * True if an agent's statement that this database was restored is news. The statement is no news
 * from an agent that has caught up in this run, because nothing of that agent is missing. It is no
 * news from an agent whose ceiling is already awaited. Otherwise an agent of another merchant could
 * stop everybody's orders again and again, and have their indexes skipped.
 */
function isNews({ caughtUp, awaitsCeiling }: AgentRow, run: string): boolean {
  return caughtUp !== run && awaitsCeiling === 0;
}

/**
 * Marks the database as restored from a backup, because an agent reports an entry that this
 * database has forgotten. Agents that have caught up in the gateway's run `run` are not asked
 * again. Runs in the caller's transaction. Harmless to call twice.
 */
export function markDatabaseRestored(
  database: Database,
  agentId: string,
  { reason, run }: { readonly reason: string; readonly run: string },
): void {
  const agent = readAgent(database, agentId);
  if (agent !== undefined && isNews(agent, run)) markRestored(database, reason, run);
}

/**
 * Keeps the ceiling in the agent's ledger. A ceiling that this database cannot have asked for
 * proves a restore from a backup. Runs in the caller's transaction.
 */
export function keepReportedCeiling(
  database: Database,
  agentId: string,
  ceiling: number,
  { run, nowMs }: { readonly run: string; readonly nowMs: number },
): void {
  const agent = readAgent(database, agentId);
  if (agent === undefined) return;
  const isUnasked =
    ceiling > Math.max(agent.depositCeiling, ceilingToAskFor(agent.nextDepositIndex));
  if (isUnasked && isNews(agent, run))
    noteRestored(database, `agent ${agentId} holds addresses up to ${ceiling}`, nowMs, run);
  keepDepositCeiling(database, agentId, ceiling);
}

/**
 * Settles the ceiling of an agent that has caught up in this run; a restored database continues
 * from there. Runs in the caller's transaction. Harmless to call twice.
 * @returns the number of skipped indexes
 */
export function settleCeilingOfAgent(
  database: Database,
  agentId: string,
  {
    marks,
    run,
    nowMs,
  }: { readonly marks: IssuedAddressMarks; readonly run: string; readonly nowMs: number },
): number {
  const agent = awaitsCeiling(database, agentId) ? readAgent(database, agentId) : undefined;
  const skipped =
    agent === undefined ? 0 : skip(database, holderOfAgent(agent), knownEnd(agent, marks), nowMs);
  if (agent !== undefined) endAwaitedCeiling(database, agentId);
  if (countForgottenIndexes(database) > 0) return skipped;
  if (!isAnyAgentBehind(database, run)) vouchForCursors(database);
  return skipped;
}

function knownEnd(agent: AgentRow, marks: IssuedAddressMarks): number {
  const holder = holderOfAgent(agent);
  const ends = [agent.depositCeiling, markOf(holder, (account) => marks.of(account))?.ceiling ?? 0];
  const end = Math.max(...ends);
  return end === 0 && agent.nextDepositIndex > 0 ? farBehind(holder) : end;
}

/**
 * Ends the wait of a restored database after every chain was read since the restore was noticed,
 * and every agent has reported its ceiling. Harmless to call twice.
 * @returns true if it ended now
 */
export function endRestoreWaitIfRead(
  database: Database,
  isRead: (wait: number) => boolean,
): boolean {
  const restored = readRestoreMark(database);
  if (restored === null || !isRead(restored.wait) || countForgottenIndexes(database) > 0)
    return false;
  if (
    listAgentsEver(database).some(
      ({ unpairedAt, awaitsCeiling }) => unpairedAt === null && awaitsCeiling === 1,
    )
  )
    return false;
  endRestoreMark(database);
  return true;
}

/** An index for a new address, or the reason why none can leave now. */
export type NextIndexResult =
  | { readonly ok: true; readonly index: number }
  /**
   * The restored database is still reading, or the agent's ledger holds no ceiling above the index.
   */
  | { readonly ok: false; readonly reason: "catching_up" | "server_away" };

interface CeilingQuestion {
  readonly marks: IssuedAddressMarks;
  readonly firstAddress: string; // first address of the account
  readonly isRead: (wait: number) => boolean; // true if the chain was read since that wait began
  readonly nowMs: number;
}

/**
 * The next index of an agent's accounts. The caller must take it in the same transaction.
 * @throws AgentError GATEWAY_MARKS
 */
export function nextDepositIndexOfAgent(
  database: Database,
  agent: AgentRow,
  asked: CeilingQuestion,
): NextIndexResult {
  return placeOf(database, holderOfAgent(agent), agent, asked);
}

/**
 * Like `nextDepositIndexOfAgent`, for the account of a merchant that only receives.
 * @throws AgentError GATEWAY_MARKS
 */
export function nextDepositIndexOfKey(
  database: Database,
  key: ReceivingKeyRow,
  asked: CeilingQuestion,
): NextIndexResult {
  return placeOf(database, holderOfKey(database, key), null, asked);
}

function placeOf(
  database: Database,
  holder: Holder,
  agent: AgentRow | null,
  asked: CeilingQuestion,
): NextIndexResult {
  const { marks, firstAddress, isRead, nowMs } = asked;
  const mark = marks.of(firstAddress);
  if (mark !== undefined && mark.next > holder.next) {
    noteRestored(
      database,
      `it counts ${holder.next} addresses of an account, and ${mark.next} left`,
      nowMs,
    );
    skip(database, holder, mark.ceiling, nowMs);
    return { ok: false, reason: "catching_up" };
  }
  const restored = readRestoreMark(database);
  if (agent !== null && (agent.awaitsCeiling === 1 || holder.next >= agent.depositCeiling))
    return { ok: false, reason: "server_away" };
  const isBehind =
    restored !== null && (!isRead(restored.wait) || hasForgottenIndexes(database, holder.merchant));
  if (isBehind) return { ok: false, reason: "catching_up" };
  marks.raise(firstAddress, ceilingToAskFor(holder.next));
  return { ok: true, index: holder.next };
}
