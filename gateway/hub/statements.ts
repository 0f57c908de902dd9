/**
 * Verified statements into the database: continuity first, then each entry's effect, all of one agent or nothing. Runs inside the
 * caller's transaction; what stops an agent is thrown, so that not a row of it stays.
 * Sources: docs/protocol.md section 6; docs/architecture.md section 2 (bijection, monotone).
 */
import { type Code, codes } from "../../protocol/codes.ts";
import { invariant } from "../../protocol/fault.ts";
import { zeroHash } from "../../protocol/identity.ts";
import type { AskedEntry, Entry, Head, SignedEntry, Statement } from "../../protocol/messages.ts";
import { learnWithdrawal } from "../recovery/learning.ts";
import { awaitsRecovery, recoveryOf, takeRecovery } from "../recovery/recovery.ts";
import { recordAlarm } from "../store/alarm.ts";
import type { AgentRow, JobRow, SignatureRow, TransactionRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { type Around, type Change, effectOf } from "./effect.ts";

/** Why nothing of an agent's statements is stored. `lock`: its word contradicts the database and a person must look. */
export class Halt extends Error {
  override readonly name = "Halt";
  readonly code: Code;
  readonly lock: boolean;

  constructor(code: Code, lock: boolean, detail: string) {
    super(detail);
    this.code = code;
    this.lock = lock;
  }
}

/** A statement that begins before what is held and ends behind it: the agent is to come again and go on where the welcome says. */
export class Overlapping extends Error {
  override readonly name = "Overlapping";
}

/** A statement of an epoch that is over, or of an agent that was released: the link it came over has to end. */
export class Outdated extends Error {
  override readonly name = "Outdated";
  readonly reason: "epoch" | "refused";

  constructor(reason: "epoch" | "refused") {
    super(reason);
    this.reason = reason;
  }
}

/** What became durable with the caller's commit, and whom to tell of it afterwards. */
export interface Applied {
  readonly was: AgentRow; // before them
  readonly head: Head;
  readonly decided: readonly string[]; // transaction ids answered for the first time
  readonly changed: readonly string[]; // transaction ids whose row changed
  readonly alarms: readonly Raised[]; // each code once
  readonly isRecovered: boolean; // its recovery was taken: jobs go on from another place
}

interface Raised {
  readonly code: string; // as the agent says it
  readonly locked: boolean;
}

interface Progress {
  readonly database: Database;
  readonly agent: AgentRow;
  readonly nowMs: number;
  readonly decided: Set<string>;
  readonly changed: Set<string>;
  readonly alarms: Map<string, Raised>; // by the code that is stored
}

/**
 * Stores what is new in an agent's statements, in the order they came. Repeats change nothing and answer the stored head.
 * @throws Halt HUB_DATABASE_BEHIND (this database lacks what the agent has seen acknowledged), HUB_LEDGER_FORKED, HUB_TOKEN_REUSED,
 * HUB_CONTRADICTION; Overlapping, Outdated; the caller's transaction must then be rolled back.
 */
export function applyStatements(database: Database, agentId: string, statements: readonly Statement[], nowMs: number): Applied {
  const agent = database.get<AgentRow>("SELECT * FROM agents WHERE id = ?", agentId);
  invariant(agent !== undefined, "a live link belongs to a paired agent");
  // Looked at inside the transaction: whoever released the agent or raised the epoch counts on it that not a word is taken any more.
  if (agent.releasedAt !== null) throw new Outdated("refused");
  if (statements.some(({ epoch }) => epoch !== agent.epoch)) throw new Outdated("epoch");
  const progress: Progress = { database, agent, nowMs, decided: new Set(), changed: new Set(), alarms: new Map() };
  let head: Head | null = agent.headSeq === 0 ? null : { seq: agent.headSeq, hash: agent.headHash };
  for (const statement of statements) head = applyStatement(progress, statement, head);
  invariant(head !== null, "a statement always carries a head");
  database.run("UPDATE agents SET headSeq = ?, headHash = ? WHERE id = ?", head.seq, head.hash, agent.id);
  const { decided, changed, alarms } = progress;
  const isRecovered = agent.headSeq === 0 && statements[0]?.entries[0]?.kind === "recovered";
  return { was: agent, head, decided: [...decided], changed: [...changed], alarms: [...alarms.values()], isRecovered };
}

function applyStatement(progress: Progress, statement: Statement, stored: Head | null): Head {
  const storedSeq = stored?.seq ?? 0;
  if (statement.after > storedSeq) throw behind(progress, `its ledger's entries after ${storedSeq} are missing here`);
  if (stored !== null && statement.head.seq === storedSeq && statement.head.hash !== stored.hash) {
    throw new Halt("HUB_LEDGER_FORKED", true, `record ${storedSeq} of the ledger is not the one acknowledged before`);
  }
  if (stored !== null && statement.head.seq <= storedSeq) return stored;
  // Another ledger may agree in every number: only what goes on from the very record that is held may move the head.
  if (statement.after < storedSeq) throw new Overlapping(`it repeats records up to ${storedSeq} and goes on`);
  if (statement.previous !== (stored?.hash ?? zeroHash)) {
    throw new Halt(
      "HUB_LEDGER_FORKED",
      true,
      `the ledger goes on from another record ${storedSeq} than the one acknowledged before`,
    );
  }
  const [first] = statement.entries;
  if (stored === null && awaitsRecovery(progress.database, progress.agent)) {
    if (first?.kind !== "recovered") throw behind(progress, "its ledger goes on as if there had been no recovery");
    const problem = takeRecovery(progress.database, progress.agent, first, statement.head, progress.nowMs);
    if (problem !== "") throw behind(progress, problem);
    for (const entry of statement.entries.slice(1)) {
      if (isAskedAgain(progress, entry, first.sequence)) {
        throw behind(progress, "it tells of a withdrawal that was asked for again since the order: order a recovery again");
      }
      applyEntry(progress, entry);
    }
    return statement.head;
  }
  for (const entry of statement.entries) applyEntry(progress, entry);
  return statement.head;
}

/**
 * Its job stands behind those of the order, and what the recovery tells would count as its answer: it would never be sent, and every
 * later one would leave a gap.
 */
function isAskedAgain({ database, agent }: Progress, entry: Entry, upTo: number): boolean {
  if (!("transactionId" in entry)) return false;
  const sql = "SELECT 1 FROM jobs WHERE agent = ? AND transactionId = ? AND sequence > ?";
  return database.get(sql, agent.id, entry.transactionId, upTo) !== undefined;
}

function applyEntry(progress: Progress, entry: Entry): void {
  const { database, agent, nowMs } = progress;
  const effect = effectOf(entry, readAround(database, agent, entry));
  switch (effect.kind) {
    case "none":
      return;
    case "behind":
      throw behind(progress, effect.detail);
    case "contradiction":
      throw new Halt(effect.code, true, effect.detail);
    case "alarm":
      keepAlarm(progress, effect.code, effect.locked);
      return;
    case "learn": {
      const problem = learnWithdrawal(database, agent, entry as AskedEntry, nowMs);
      if (problem !== "") throw new Halt("HUB_CONTRADICTION", true, problem);
      progress.changed.add(transactionOf(entry));
      return;
    }
    case "answer":
    case "sign":
    case "advance": {
      const transactionId = transactionOf(entry);
      if (effect.kind === "sign" && effect.newToken) insertToken(database, entry as SignedEntry);
      if (effect.kind === "sign" && effect.newVersion) insertSignature(database, agent.id, entry as SignedEntry);
      // A signature is an answer as well: a job whose first answer was lost with an older database is not sent for ever.
      if (effect.kind !== "advance" && markAnswered(database, transactionId, nowMs)) progress.decided.add(transactionId);
      if (effect.kind === "answer") progress.decided.add(transactionId);
      if (updateTransaction(database, transactionId, effect.change, nowMs)) progress.changed.add(transactionId);
    }
  }
}

/** A code that is none of ours is kept under one name, so that no agent fills the table with codes it makes up. */
function keepAlarm(progress: Progress, said: string, locked: boolean): void {
  const { database, agent, nowMs, alarms } = progress;
  const code: Code = Object.hasOwn(codes, said) ? (said as Code) : "ALARM_UNKNOWN";
  if (!alarms.has(code))
    recordAlarm(database, { at: nowMs, actor: `agent ${agent.id}`, code, subject: agent.id, detail: "" }, "once");
  if (locked) database.run("UPDATE agents SET lockedCode = ? WHERE id = ?", code, agent.id);
  alarms.set(code, { code: said, locked: locked || alarms.get(code)?.locked === true });
}

function transactionOf(entry: Entry): string {
  invariant("transactionId" in entry, "only an entry about a withdrawal changes one");
  return entry.transactionId;
}

const unsigned = {
  ...{ isSigned: false, token: null, known: null, tokenOwner: null, hashOwner: null, isRecovered: false },
} as const;

/** Only what this kind of entry asks for, each by an index: an agent may have a great many entries, and all wait for them. */
function readAround(database: Database, agent: AgentRow, entry: Entry): Around {
  if (entry.kind === "adopted" || entry.kind === "alarm" || entry.kind === "recovered") {
    return { agent, row: null, jobAgent: null, ...unsigned };
  }
  const id = entry.transactionId;
  const base = {
    agent,
    row: database.get<TransactionRow>("SELECT * FROM transactions WHERE id = ?", id) ?? null,
    jobAgent: database.get<Pick<JobRow, "agent">>("SELECT agent FROM jobs WHERE transactionId = ?", id)?.agent ?? null,
  };
  if (entry.kind === "observed") return { ...unsigned, ...base };
  if (entry.kind === "asked") return { ...unsigned, ...base, isRecovered: recoveryOf(database, agent) !== undefined };
  const isSigned = database.get("SELECT 1 FROM signatures WHERE transactionId = ? LIMIT 1", id) !== undefined;
  if (entry.kind === "decision") return { ...unsigned, ...base, isSigned };
  const owner = (sql: string, ...values: readonly string[]): string | null =>
    database.get<{ transactionId: string }>(sql, ...values)?.transactionId ?? null;
  return {
    ...{ ...base, isSigned, isRecovered: false },
    token: database.get<{ token: string }>("SELECT token FROM tokens WHERE transactionId = ?", id)?.token ?? null,
    known:
      database.get<SignatureRow>("SELECT * FROM signatures WHERE transactionId = ? AND version = ?", id, entry.version) ?? null,
    tokenOwner: owner(
      "SELECT transactionId FROM tokens WHERE network = ? AND account = ? AND token = ?",
      entry.network,
      entry.account,
      entry.token,
    ),
    hashOwner: owner("SELECT transactionId FROM signatures WHERE txHash = ?", entry.txHash),
  };
}

/** The tables' own constraints stand behind the checks of `effectOf`: whatever slips past it is refused here. */
function insertToken(database: Database, entry: SignedEntry): void {
  database.run(
    "INSERT INTO tokens (network, account, token, transactionId) VALUES (?, ?, ?, ?)",
    entry.network,
    entry.account,
    entry.token,
    entry.transactionId,
  );
}

function insertSignature(database: Database, agentId: string, entry: SignedEntry): void {
  database.run(
    `INSERT INTO signatures (transactionId, version, agent, network, account, token, txHash, feeMaxWei, seq)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    entry.transactionId,
    entry.version,
    agentId,
    entry.network,
    entry.account,
    entry.token,
    entry.txHash,
    entry.feeMax,
    entry.seq,
  );
}

function markAnswered(database: Database, transactionId: string, nowMs: number): boolean {
  const sql = "UPDATE jobs SET answeredAt = ? WHERE transactionId = ? AND answeredAt IS NULL";
  return database.run(sql, nowMs, transactionId).changes > 0;
}

function updateTransaction(database: Database, transactionId: string, change: Change, nowMs: number): boolean {
  if (Object.keys(change).length === 0) return false;
  const { changes } = database.run(
    `UPDATE transactions SET status = coalesce(?, status), stage = coalesce(?, stage), code = coalesce(?, code),
       receiverAddress = coalesce(?, receiverAddress), changedAt = ? WHERE id = ?`,
    change.status ?? null,
    change.stage ?? null,
    change.code ?? null,
    change.receiverAddress ?? null,
    nowMs,
    transactionId,
  );
  return changes > 0;
}

function behind(progress: Progress, detail: string): Halt {
  return new Halt("HUB_DATABASE_BEHIND", false, `gateway database is behind agent ${progress.agent.id}: ${detail}`);
}
