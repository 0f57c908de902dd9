/**
 * Stores verified statements in the database: checks continuity first, then applies each entry's
 * effect. Either all statements of an agent are stored or none. Runs inside the caller's
 * transaction, which the caller rolls back on a refusal. Sources: docs/protocol.md section 6;
 * docs/architecture.md section 2 (bijection, monotone).
 */
import { isSingleCauseCode, type SingleCauseCode } from "../../base/causes.ts";
import { invariant } from "../../base/fault.ts";
import { expiryExclusionOf } from "../../chains/families.ts";
import { zeroHash } from "../../protocol/identity.ts";
import type {
  AgentLedgerHead,
  AskedEntry,
  Entry,
  RecoveredEntry,
  SignedEntry,
  Statement,
} from "../../protocol/messages.ts";
import { keepReportedCeiling, markDatabaseRestored } from "../deposits/ceilings.ts";
import { type IsOwnJob, restoreLostJob } from "../recovery/job-restore.ts";
import {
  acceptRecoveredLedger,
  awaitsRecovery,
  isOrderOfPendingRecovery,
  notOfRecoveryReason,
} from "../recovery/recovery.ts";
import { keepPause, keepPolicyDigest, lockAgent, moveLedgerHead } from "../store/agent-state.ts";
import { readAgent } from "../store/agents.ts";
import { recordAlarm } from "../store/alarm.ts";
import {
  hasAssigned,
  type PaymentAssignedToWithdrawal,
  readAssignedPayment,
  withdrawalOfAssignedPayment,
} from "../store/assigned-payments.ts";
import { recordAct } from "../store/audit.ts";
import { forgetCurrencyStops, keepCurrencyStop } from "../store/currency-holds.ts";
import {
  forgetForeignTold,
  forgetNetworkStops,
  keepForeignTold,
  keepNetworkStop,
} from "../store/foreign.ts";
import { type JobRecordRow, listJobRecords, markAnswered, readJobRecord } from "../store/jobs.ts";
import type { AgentRow, SignatureRow } from "../store/rows.ts";
import { insertSignature, isSigned, listSignatures } from "../store/signatures.ts";
import { insertSlot, readSlotAssignments } from "../store/slots.ts";
import type { Database } from "../store/store.ts";
import { readTransaction } from "../store/transactions.ts";
import { isCoinGone } from "../store/unknown-coins.ts";
import { isAllVoid, keepExpiryStatement } from "../store/void-attempts.ts";
import { completeAssigned, updateWithdrawal } from "../store/withdrawals.ts";
import { type EntryContext, entryEffectOf, type WithdrawalRowChange } from "./effect.ts";

/*
 * The rows of the withdrawals that one call's statements are about: each is read once and written
 * once, however many entries name it. Lives inside one transaction of the database, in which nobody
 * else writes. What changes the rows in another way has to come after `flush`.
 */

interface FrameRow {
  row: JobRecordRow;
  change: WithdrawalRowChange; // not written yet
}

class FrameRows {
  readonly #database: Database;
  readonly #nowMs: number;
  readonly #rows = new Map<string, FrameRow>();
  #hasAssigned: boolean | null = null;

  constructor(database: Database, nowMs: number) {
    this.#database = database;
    this.#nowMs = nowMs;
  }

  /** Reads in one statement the rows that entries are about to name. Harmless to leave out. */
  load(transactionIds: ReadonlySet<string>): void {
    const wanted = [...transactionIds].filter((id) => !this.#rows.has(id));
    if (wanted.length < 2) return;
    for (const row of listJobRecords(this.#database, wanted))
      this.#rows.set(row.id, { row, change: {} });
  }

  /** The row as the entries so far have left it; null if there is no such transaction. */
  read(transactionId: string): JobRecordRow | null {
    const known = this.#rows.get(transactionId);
    if (known !== undefined) return known.row;
    const row = readJobRecord(this.#database, transactionId);
    if (row !== undefined) this.#rows.set(transactionId, { row, change: {} });
    return row ?? null;
  }

  /** True if an operator has assigned any payment to any withdrawal; hardly ever. */
  get hasAssigned(): boolean {
    this.#hasAssigned ??= hasAssigned(this.#database);
    return this.#hasAssigned;
  }

  /**
   * Changes the row of a withdrawal; one that ends it is written at once, since sums follow it.
   * @returns true if there is such a row and it is another one now
   */
  change(transactionId: string, asked: WithdrawalRowChange): boolean {
    const row = this.read(transactionId);
    const change = row === null ? {} : differing(row, asked);
    if (Object.keys(change).length === 0) return false;
    const known = this.#rows.get(transactionId) as FrameRow;
    known.row = { ...known.row, ...change };
    known.change = { ...known.change, ...change };
    if (change.status !== undefined) this.#write(transactionId, known);
    return true;
  }

  /** Marks the job as answered. @returns true if it is the job's first answer */
  answer(transactionId: string): boolean {
    const row = this.read(transactionId);
    if (row === null || row.answeredAt !== null || row.jobAgent === null) return false;
    (this.#rows.get(transactionId) as FrameRow).row = { ...row, answeredAt: this.#nowMs };
    return markAnswered(this.#database, transactionId, this.#nowMs);
  }

  /** Writes what has changed, and forgets the rows. Harmless to repeat. */
  flush(): void {
    for (const [transactionId, one] of this.#rows) this.#write(transactionId, one);
    this.#rows.clear();
  }

  #write(transactionId: string, one: FrameRow): void {
    const { change } = one;
    one.change = {};
    if (Object.keys(change).length > 0)
      updateWithdrawal(this.#database, transactionId, change, this.#nowMs);
  }
}

/** The part of a change that a row does not have already. */
function differing(row: JobRecordRow, change: WithdrawalRowChange): WithdrawalRowChange {
  const names = Object.keys(change) as (keyof WithdrawalRowChange)[];
  return Object.fromEntries(
    names.filter((name) => change[name] !== row[name]).map((name) => [name, change[name]]),
  );
}

/** The reason why none of an agent's statements is stored. */
export type RefusedStatements =
  | ({ readonly ok: false; readonly kind: "halt" } & StatementsHalt)
  /**
   * The statement begins before the stored head and ends after it. The agent must reconnect and
   * continue where the welcome says.
   */
  | { readonly ok: false; readonly kind: "overlapping"; readonly detail: string }
  /** The statement is of an old epoch, or of an unpaired agent. Its link must end. */
  | { readonly ok: false; readonly kind: "outdated"; readonly reason: "ledgerEpoch" | "refused" };

/** `lock`: the agent's statement contradicts the database, and an operator must look. */
export interface StatementsHalt {
  readonly code: SingleCauseCode;
  readonly lock: boolean;
  readonly detail: string;
}

/**
 * The changes that became durable with the caller's commit, and the listeners' data for afterwards.
 */
export interface AppliedStatements {
  readonly ok: true;
  readonly was: AgentRow; // before the statements
  readonly head: AgentLedgerHead;
  readonly decided: readonly string[]; // transaction ids answered for the first time
  readonly changed: readonly ChangedTransaction[];
  readonly alarms: readonly RaisedAlarm[]; // each code only once
  readonly isRecovered: boolean; // its recovered ledger was accepted: jobs continue from another position
}

/** A transaction whose row changed. */
interface ChangedTransaction {
  readonly transactionId: string;
  readonly isOpen?: true; // the change did not end it
}

interface RaisedAlarm {
  readonly code: string; // as the agent names it
  readonly locked: boolean;
}

interface Progress {
  readonly database: Database;
  readonly agent: AgentRow;
  readonly isOwn: IsOwnJob;
  /** True if the statement's signer accepted the handshake of its connection. */
  readonly showsHandshake: (statement: Statement) => boolean;
  readonly run: string; // run of this gateway (store/owner.ts)
  readonly nowMs: number;
  readonly rows: FrameRows;
  awaits: boolean; // a recovered ledger, which no entry has begun yet
  readonly decided: Set<string>;
  readonly changed: Map<string, ChangedTransaction>;
  readonly alarms: Map<string, RaisedAlarm>; // by the code that is stored
}

/**
 * Stores the new entries of an agent's statements, in the order of arrival. Repeated entries change
 * nothing, and the answer is the stored head. Halts with HUB_DATABASE_BEHIND (this database lacks
 * an entry that was acknowledged to the agent), HUB_LEDGER_FORKED, HUB_SLOT_REUSED or
 * HUB_CONTRADICTION. After a refusal the caller must roll back its transaction.
 */
export function applyStatements(
  database: Database,
  agentId: string,
  statements: readonly Statement[],
  {
    isOwn,
    showsHandshake,
    run,
    nowMs,
  }: Pick<Progress, "isOwn" | "showsHandshake" | "run" | "nowMs">,
): AppliedStatements | RefusedStatements {
  const agent = readAgent(database, agentId);
  invariant(agent !== undefined, "a live link belongs to a paired agent");
  // Checked inside the transaction, because a process that unpaired the agent or raised the epoch
  // relies on no further statement being stored.
  if (agent.unpairedAt !== null) return outdated("refused");
  if (statements.some(({ ledgerEpoch }) => ledgerEpoch !== agent.ledgerEpoch))
    return outdated("ledgerEpoch");
  const awaits = awaitsRecovery(database, agent);
  const progress: Progress = {
    database,
    agent,
    isOwn,
    showsHandshake,
    run,
    nowMs,
    rows: new FrameRows(database, nowMs),
    awaits,
    decided: new Set(),
    changed: new Map(),
    alarms: new Map(),
  };
  let head: AgentLedgerHead | null =
    agent.headSeq === 0 ? null : { seq: agent.headSeq, hash: agent.headHash };
  for (const statement of statements) {
    const verdict = applyStatement(progress, statement, head);
    if ("ok" in verdict) return verdict;
    head = verdict;
  }
  progress.rows.flush();
  invariant(head !== null, "a statement always carries a head");
  moveLedgerHead(database, agent.id, {
    ...head,
    ledgerAt: statements.at(-1)?.at ?? agent.ledgerAt,
  });
  for (const { policy = "" } of statements) if (policy !== "") keepPolicy(progress, policy);
  const { decided, changed, alarms } = progress;
  const isRecovered = awaits && !progress.awaits;
  return {
    ok: true,
    was: agent,
    head,
    decided: [...decided],
    changed: [...changed.values()],
    alarms: [...alarms.values()],
    isRecovered,
  };
}

/**
 * Records that the signer's limits changed, and when. The limits themselves are the business of the
 * agent's operator.
 */
function keepPolicy({ database, agent, nowMs }: Progress, policy: string): void {
  if (!keepPolicyDigest(database, agent.id, policy)) return;
  recordAct(database, {
    at: nowMs,
    actor: `agent ${agent.id}`,
    act: "policy",
    subject: agent.id,
    detail: policy,
  });
}

function applyStatement(
  progress: Progress,
  statement: Statement,
  stored: AgentLedgerHead | null,
): AgentLedgerHead | RefusedStatements {
  const storedSeq = stored?.seq ?? 0;
  // Also checked before a recovered ledger's first entry, because acknowledged bytes may be
  // released.
  const isOwn =
    !progress.awaits ||
    isOrderOfPendingRecovery(progress.database, progress.agent, statement.recovered ?? "");
  if (!isOwn) return behind(progress, notOfRecoveryReason);
  if (statement.after > storedSeq)
    return behind(progress, `its ledger's entries after ${storedSeq} are missing here`);
  if (stored !== null && statement.head.seq === storedSeq && statement.head.hash !== stored.hash) {
    return halt(
      "HUB_LEDGER_FORKED",
      `record ${storedSeq} of the ledger is not the one acknowledged before`,
    );
  }
  if (stored !== null && statement.head.seq <= storedSeq) return stored;
  // Another ledger may have the same numbers. The head moves only to entries that follow the stored
  // record itself.
  if (statement.after < storedSeq) {
    return {
      ok: false,
      kind: "overlapping",
      detail: `it repeats records up to ${storedSeq} and goes on`,
    };
  }
  if (statement.previous !== (stored?.hash ?? zeroHash)) {
    const detail = `the ledger goes on from another record ${storedSeq} than the one acknowledged before`;
    return halt("HUB_LEDGER_FORKED", detail);
  }
  // A recovered ledger's first entry may change the rows.
  if (!progress.awaits) progress.rows.load(new Set(statement.entries.flatMap(namedBy)));
  for (const entry of statement.entries) {
    const isHandshakeDone = !progress.awaits && progress.showsHandshake(statement);
    const refused = applyEntry(progress, entry, statement.head, isHandshakeDone);
    if (refused !== null) return refused;
  }
  return statement.head;
}

/**
 * Begins a recovered ledger. Earlier entries resend state to the gateway; later entries are new.
 */
function open(
  progress: Progress,
  entry: RecoveredEntry,
  head: AgentLedgerHead,
): RefusedStatements | null {
  const { database, agent, nowMs } = progress;
  progress.rows.flush();
  const problem = acceptRecoveredLedger(database, agent, entry, head, nowMs);
  if (problem !== "") return behind(progress, problem);
  // A ledger from before a stop has to hear of its transactions again; it knows the others.
  forgetNetworkStops(database, agent.id);
  forgetCurrencyStops(database, agent.id);
  forgetForeignTold(database, agent.id);
  progress.awaits = false;
  return null;
}

/** Long: one case for each kind of entry. */
function applyEntry(
  progress: Progress,
  entry: Entry,
  head: AgentLedgerHead,
  isHandshakeDone: boolean,
): RefusedStatements | null {
  const { database, agent, nowMs, rows } = progress;
  if (entry.kind === "recovered" && progress.awaits) return open(progress, entry, head);
  const around = readAround(progress, entry);
  const effect = entryEffectOf(entry, { ...around, isHandshakeDone, nowMs });
  switch (effect.kind) {
    case "none":
      return null;
    case "behind":
      return behind(progress, effect.detail);
    case "contradiction":
      return halt(effect.code, effect.detail);
    case "alarm":
      keepAlarm(progress, effect.code, effect.locked);
      return null;
    case "pause":
      keepPause(database, agent.id, effect.pausedAt);
      return null;
    case "stop":
      if (effect.currency !== "") {
        keepCurrencyStop(database, { ...effect, agent: agent.id }, effect.at);
        return null;
      }
      keepNetworkStop(database, agent.id, effect.network, effect.at);
      keepForeignTold(database, agent.id, effect.network, effect.txHashes, nowMs);
      return null;
    case "ceiling":
      keepReportedCeiling(database, agent.id, effect.ceiling, { run: progress.run, nowMs });
      return null;
    case "learn": {
      rows.flush();
      const isLost = readTransaction(database, transactionOf(entry)) === undefined;
      const reason = `agent ${agent.id} tells of ${transactionOf(entry)} again`;
      if (isLost) markDatabaseRestored(database, agent.id, { reason, run: progress.run });
      const problem = restoreLostJob(database, agent, entry as AskedEntry, progress.isOwn, nowMs);
      if (problem !== "") return halt("HUB_CONTRADICTION", problem);
      noteChanged(progress, transactionOf(entry), false);
      return null;
    }
    case "paid": {
      const { transactionId } = effect.by;
      rows.answer(transactionId);
      rows.flush();
      progress.decided.add(transactionId);
      if (completeAssigned(database, effect.by, nowMs)) noteChanged(progress, transactionId, false);
      return null;
    }
    case "expire":
      rows.flush();
      keepExpiryStatement(database, transactionOf(entry), effect.code, nowMs);
      return null;
    case "answer":
    case "sign":
    case "advance": {
      const transactionId = transactionOf(entry);
      if (effect.kind === "sign" && effect.newSlot)
        insertSlot(database, entry as SignedEntry, transactionId);
      if (effect.kind === "sign" && effect.newAttempt) {
        if (around.assigned !== null) tellUnassigned(progress, around.assigned);
        insertSignature(database, attemptOf(agent, entry as SignedEntry));
      }
      // A signature also answers the job, so that a job whose first answer was lost with an older
      // database is not sent again and again.
      if (effect.kind !== "advance" && rows.answer(transactionId))
        progress.decided.add(transactionId);
      if (effect.kind === "answer") progress.decided.add(transactionId);
      const isOpen = around.row?.status === 0 && (effect.change.status ?? 0) === 0;
      if (rows.change(transactionId, effect.change)) noteChanged(progress, transactionId, isOpen);
      return null;
    }
  }
}

/** A change that may have ended the transaction counts before the others. */
function noteChanged({ changed }: Progress, transactionId: string, isOpen: boolean): void {
  const isStillOpen = isOpen && changed.get(transactionId)?.isOpen !== undefined;
  const isFirst = !changed.has(transactionId);
  changed.set(transactionId, {
    transactionId,
    ...(isOpen && (isFirst || isStillOpen) ? { isOpen: true } : {}),
  });
}

/**
 * Keeps an alarm. Unknown codes share one name, so that an agent cannot fill the table with
 * invented codes.
 */
function keepAlarm(progress: Progress, said: string, locked: boolean): void {
  const { database, agent, nowMs, alarms } = progress;
  const code: SingleCauseCode = isSingleCauseCode(said) ? said : "ALARM_UNKNOWN";
  if (!alarms.has(code))
    recordAlarm(
      database,
      { at: nowMs, actor: `agent ${agent.id}`, code, subject: agent.id, detail: "" },
      "once",
    );
  if (locked) lockAgent(database, agent.id, code);
  alarms.set(code, { code: said, locked: locked || alarms.get(code)?.locked === true });
}

const namedBy = (entry: Entry): readonly string[] =>
  "transactionId" in entry ? [entry.transactionId] : [];

function transactionOf(entry: Entry): string {
  invariant("transactionId" in entry, "only an entry about a withdrawal changes one");
  return entry.transactionId;
}

const unsigned = {
  isSigned: false,
  slot: null,
  known: null,
  pin: "",
  slotOwner: null,
  hashOwner: null,
  assigned: null,
  isVoid: false,
  isCoinGone: false,
} as const;

/**
 * Reads only the rows that the entry's kind needs, each by an index, because an agent may send many
 * entries and all agents wait.
 */
function readAround(
  { database, agent, rows }: Progress,
  entry: Entry,
): Omit<EntryContext, "isHandshakeDone" | "nowMs"> {
  if (!("transactionId" in entry)) {
    return { agent, row: null, jobAgent: null, ...unsigned };
  }
  const id = entry.transactionId;
  const row = rows.read(id);
  const base = { agent, row, jobAgent: row?.jobAgent ?? null };
  if (entry.kind === "observed" || entry.kind === "asked") return { ...unsigned, ...base };
  const waits = row !== null && expiryExclusionOf(row.network) !== null;
  const isVoid = waits && isAllVoid(database, id, entry.kind === "signed" ? entry.txHash : "");
  const assigned = rows.hasAssigned ? (readAssignedPayment(database, id) ?? null) : null;
  if (entry.kind === "decision") {
    const { decision } = entry;
    const isYes = (decision === "approved" || decision === "held") && row?.status === 0;
    const isCoinMissing = decision === "expired" && isCoinGone(database, id);
    return {
      ...unsigned,
      ...base,
      isSigned: !isYes && isSigned(database, id),
      isVoid,
      assigned,
      isCoinGone: isCoinMissing,
    };
  }
  const { attemptCount, slot, slotOwner, hashOwner } = readSlotAssignments(database, entry);
  const attempts = attemptCount === 0 ? [] : listSignatures(database, id);
  return {
    ...base,
    isSigned: attempts.length > 0,
    isVoid,
    isCoinGone: false,
    assigned,
    slot,
    known: attempts.find(({ attempt }) => attempt === entry.attempt) ?? null,
    pin: attempts[0]?.pin ?? "",
    slotOwner,
    hashOwner: hashOwner ?? (rows.hasAssigned ? otherAssigned(database, entry) : null),
  };
}

/** The other withdrawal that an operator says the entry's transaction paid. */
function otherAssigned(database: Database, entry: SignedEntry): string | null {
  const id = withdrawalOfAssignedPayment(database, entry) ?? null;
  return id === entry.transactionId ? null : id;
}

/** Records that a signature ends what an operator had assigned to its withdrawal. */
function tellUnassigned(
  { database, agent, nowMs }: Progress,
  { transactionId, txHash }: PaymentAssignedToWithdrawal,
): void {
  const detail = `agent ${agent.id} had signed it; ${txHash} is nobody's payment again`;
  recordAct(database, {
    at: nowMs,
    actor: `agent ${agent.id}`,
    act: "payment not assigned",
    subject: transactionId,
    detail,
  });
}

function attemptOf(agent: AgentRow, entry: SignedEntry): Omit<SignatureRow, "voidAt"> {
  const {
    transactionId,
    attempt,
    network,
    account,
    slot,
    txHash,
    feeMax,
    seq,
    validUntilMs = 0,
    pin = "",
  } = entry;
  const cancel = entry.cancel === true ? 1 : 0;
  return {
    transactionId,
    attempt,
    agent: agent.id,
    network,
    account,
    slot,
    txHash,
    feeMax,
    seq,
    validUntilMs,
    pin,
    cancel,
  };
}

const outdated = (reason: "ledgerEpoch" | "refused"): RefusedStatements => ({
  ok: false,
  kind: "outdated",
  reason,
});

const halt = (code: SingleCauseCode, detail: string): RefusedStatements => ({
  ok: false,
  kind: "halt",
  code,
  lock: true,
  detail,
});

const behind = ({ agent }: Progress, detail: string): RefusedStatements => ({
  ok: false,
  kind: "halt",
  ...haltForDatabaseBehindAgent(agent.id, detail),
});

/** The word on an agent whose program is of an earlier version; it is not locked. */
export function haltForOutdatedAgent(agentId: string, software: string): StatementsHalt {
  const detail = `agent ${agentId} runs ${software}, which does not speak with this gateway: on its server, unpack this version and type: node autowithdraw.js upgrade`;
  return { code: "AGENT_UPGRADE_REQUIRED", lock: false, detail };
}

/** The halt for a database that lacks an entry which an agent has. */
export function haltForDatabaseBehindAgent(agentId: string, detail: string): StatementsHalt {
  return {
    code: "HUB_DATABASE_BEHIND",
    lock: false,
    detail: `gateway database is behind agent ${agentId}: ${detail}`,
  };
}
