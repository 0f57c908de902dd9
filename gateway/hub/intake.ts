/**
 * Stores statements in the database. Statements of one tick, from all agents, share one transaction
 * and one sync; acknowledgements and signals leave only after the commit. If a statement stops the
 * transaction, each agent's statements are tried alone, so that no agent waits because of another's
 * contradiction.
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import type { Code } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import { isJobSignature } from "../../protocol/envelope.ts";
import type { Head, Statement } from "../../protocol/messages.ts";
import { doubtDatabase, settleAgent } from "../deposits/ceilings.ts";
import { acceptsHandshake, keepCaughtUp, keepNotCaughtUp } from "../recovery/catch-up.ts";
import type { IsOwnJob } from "../recovery/job-restore.ts";
import type { AddressMarks } from "../store/address-marks.ts";
import { lockAgentUnlessByHub } from "../store/agent-state.ts";
import { type LinkedAgent, readLinkedAgent } from "../store/agents.ts";
import { recordAlarm } from "../store/alarm.ts";
import { isConflict } from "../store/library-errors.ts";
import type { Signals } from "../store/signals.ts";
import type { Database, Store } from "../store/store.ts";
import { numberJobs, type PlacementResult } from "../withdrawals/jobs.ts";
import type { CloseReason } from "./link-limits.ts";
import type { Session } from "./session.ts";
import {
  keepStanding,
  type LedgerStanding,
  standingOfHeartbeat,
  standingOfOverlap,
  standingOfStatement,
} from "./standing.ts";
import {
  type AppliedStatements,
  applyStatements,
  type Halt,
  type RefusedStatements,
} from "./statements.ts";

export interface IntakeRooms {
  readonly store: Store;
  readonly signals: Signals;
  readonly log: GatewayLog;
  readonly clock: () => number;
  readonly run: string; // names this process (store/owner.ts)
  readonly gatewayKey: KeyObject; // Ed25519 private key
  readonly marks: AddressMarks;
}

interface Arrival {
  readonly session: Session;
  readonly agentId: string;
  readonly statement: Statement;
}

interface StoredStatements extends AppliedStatements, PlacementResult {
  readonly standing: LedgerStanding | null; // change of the state of the agent's ledger; null if unchanged
}

/** The database stored nothing. */
interface UnstoredStatements {
  readonly ok: false;
  readonly kind: "unstored";
  readonly code: Code;
}

type Verdict =
  | { readonly ok: true; readonly taken: readonly StoredStatements[] }
  | RefusedStatements
  | UnstoredStatements;

export class Intake {
  readonly #rooms: IntakeRooms;
  readonly #arrivals: Arrival[] = [];
  #flushing: NodeJS.Immediate | null = null;

  readonly #isOwn: IsOwnJob;

  constructor(rooms: IntakeRooms) {
    this.#rooms = rooms;
    const publicKey = createPublicKey(rooms.gatewayKey);
    this.#isOwn = (text, signature) => isJobSignature(text, signature, publicKey);
  }

  add(session: Session, agentId: string, statement: Statement): void {
    this.#arrivals.push({ session, agentId, statement });
    this.#flushing ??= setImmediate(() => this.flush());
  }

  /** Takes the ledger head of an agent's heartbeat. Writes only a change. */
  receive(agentId: string, head: Head | null): void {
    this.#keepStanding(agentId, (agent) => standingOfHeartbeat(agent, head));
  }

  #keepStanding(agentId: string, standingOf: (agent: LinkedAgent) => LedgerStanding | null): void {
    const agent = readLinkedAgent(this.#rooms.store.database, agentId);
    const standing = agent === undefined ? null : standingOf(agent);
    if (agent === undefined || standing === null || agent.lockedCode !== "") return;
    this.#announceStanding(
      agentId,
      this.note((database) => keepStanding(database, agent, standing, this.#rooms.clock())),
    );
  }

  #announceStanding(agent: string, standing: LedgerStanding | null): void {
    const { log } = this.#rooms;
    if (standing === "behind")
      log.error(
        { event: "agent-behind", agent, code: "AGENT_BEHIND" },
        "the agent's ledger is older than what was acknowledged, or another",
      );
    if (standing === "level")
      log.info({ event: "agent-whole", agent }, "the agent's ledger is whole again");
  }

  /** Stores all statements that have arrived. Harmless if there are none. */
  flush(): void {
    if (this.#flushing !== null) clearImmediate(this.#flushing);
    this.#flushing = null;
    const groups = new Map<string, Arrival[]>();
    for (const arrival of this.#arrivals.splice(0)) {
      const group = groups.get(arrival.agentId);
      if (group === undefined) groups.set(arrival.agentId, [arrival]);
      else group.push(arrival);
    }
    if (groups.size === 0) return;
    if (!this.#store([...groups.values()]))
      for (const group of groups.values()) this.#store([group]);
  }

  /**
   * Keeps and logs permanently why an agent was stopped. An agent that is not locked can return
   * with the same reason again and again.
   */
  raise(agentId: string, halt: Halt): void {
    const { code, detail, lock } = halt;
    const isNew = this.note((database) => {
      if (lock) lockAgentUnlessByHub(database, agentId, code);
      const { run } = this.#rooms;
      if (code === "HUB_DATABASE_BEHIND") doubtDatabase(database, agentId, { reason: detail, run });
      keepNotCaughtUp(database, agentId, code === "HUB_DATABASE_BEHIND");
      const alarm = {
        at: this.#rooms.clock(),
        actor: "hub",
        code,
        subject: agentId,
        detail,
      } as const;
      return recordAlarm(database, alarm, lock ? undefined : "once");
    });
    const { log } = this.#rooms;
    if (isNew === false) log.warn({ event: "agent-stopped-again", agent: agentId, code }, detail);
    else log.error({ event: "agent-stopped", agent: agentId, code }, detail);
  }

  /**
   * Writes data that may be lost, because the next heartbeat or connection repeats it. Returns null
   * if the database did not store it.
   */
  note<T>(fn: (database: Database) => T): T | null {
    try {
      return this.#rooms.store.write(fn);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      this.#rooms.log.warn(
        { event: "note-unstored", code: error.code },
        "the database did not take what the hub noted",
      );
      return null;
    }
  }

  /** False if the groups must be tried one by one. */
  #store(groups: readonly (readonly Arrival[])[]): boolean {
    const verdict = this.#apply(groups);
    if (verdict.ok) {
      for (const [index, group] of groups.entries())
        this.#announce(group, verdict.taken[index] as StoredStatements);
      return true;
    }
    if (verdict.kind !== "unstored" && groups.length > 1) return false;
    for (const group of groups) this.#stop(group, verdict);
    return true;
  }

  /** Applies all groups in one transaction. A refusal of any group rolls back all of them. */
  #apply(groups: readonly (readonly Arrival[])[]): Verdict {
    try {
      return this.#rooms.store.writeIfOk((database): Verdict => {
        const taken: StoredStatements[] = [];
        for (const group of groups) {
          const one = this.#take(database, group);
          if (!one.ok) return one;
          taken.push(one);
        }
        return { ok: true, taken };
      });
    } catch (error) {
      // A row that a constraint refused is the same contradiction as one found by a query.
      const detail = "a unique constraint refused what the agent said";
      if (isConflict(error))
        return { ok: false, kind: "halt", code: "HUB_CONTRADICTION", lock: true, detail };
      if (error instanceof AgentError) return { ok: false, kind: "unstored", code: error.code };
      throw error;
    }
  }

  #take(database: Database, group: readonly Arrival[]): StoredStatements | RefusedStatements {
    const { run, marks } = this.#rooms;
    const nowMs = this.#rooms.clock();
    const agentId = group[0]?.agentId ?? "";
    const statements = group.map((arrival) => arrival.statement);
    const caughtUp = group.filter(
      ({ session, statement }) => statement.handshake === session.nonce,
    );
    const told = new Set(caughtUp.map(({ statement }) => statement));
    const showsHandshake = (statement: Statement): boolean => told.has(statement);
    const done = applyStatements(database, agentId, statements, {
      isOwn: this.#isOwn,
      showsHandshake,
      run,
      nowMs,
    });
    if (!done.ok) return done;
    const isHandshakeDone = ({ session, statement }: Arrival): boolean =>
      acceptsHandshake(statement, session.nonce, done.head);
    const isCaughtUp = group.some(isHandshakeDone);
    const standings = group.map((arrival) =>
      standingOfStatement(done.was.headSeq, arrival.statement, isHandshakeDone(arrival)),
    );
    const standing = keepStanding(database, done.was, last(standings), nowMs);
    if (!isCaughtUp || !keepCaughtUp(database, agentId, run))
      return { ...done, standing, placed: 0, refused: [], moved: [] };
    const skipped = settleAgent(database, agentId, { marks, run, nowMs });
    const words =
      "addresses that may have left before the database was restored are skipped and watched";
    if (skipped > 0)
      this.#rooms.log.warn({ event: "addresses-skipped", agent: agentId, skipped }, words);
    return { ...done, standing, ...numberJobs(database, agentId, nowMs) };
  }

  #stop(group: readonly Arrival[], verdict: RefusedStatements | UnstoredStatements): void {
    const agentId = group[0]?.agentId ?? "";
    const { log } = this.#rooms;
    const end = (reason: CloseReason): void => {
      for (const { session } of group) session.end(reason);
    };
    switch (verdict.kind) {
      case "outdated":
        end(verdict.reason);
        return;
      case "overlapping": {
        const standings = group.map(({ session, statement }) =>
          standingOfOverlap(session.toldSeq, statement),
        );
        this.#keepStanding(agentId, () => last(standings));
        log.info(
          { event: "agent-again", agent: agentId, reason: verdict.detail },
          "the agent comes again",
        );
        end("busy");
        return;
      }
      case "unstored": {
        const fields = { agent: agentId, code: verdict.code };
        log.error(
          { event: "statements-unstored", ...fields },
          "statements could not be stored; the agent sends them again",
        );
        end("busy");
        return;
      }
      case "halt":
        this.raise(agentId, verdict);
        end(verdict.lock ? "locked" : "behind");
    }
  }

  #announce(group: readonly Arrival[], applied: StoredStatements): void {
    const { signals, log } = this.#rooms;
    const agent = group[0]?.agentId ?? "";
    for (const session of new Set(group.map((arrival) => arrival.session))) {
      session.acknowledge(applied.head);
      if (applied.isRecovered || applied.placed > 0) session.goOn();
    }
    if (applied.isRecovered)
      log.info(
        { event: "agent-recovered", agent, head: applied.head.seq },
        "the agent was recovered",
      );
    for (const { code, locked } of applied.alarms)
      log.error({ event: "agent-alarm", agent, code, locked }, "the agent raised an alarm");
    this.#announceStanding(agent, applied.standing);
    for (const transactionId of applied.refused) {
      log.warn(
        { event: "refund-refused", transactionId, agent },
        "its deposit is paid back already",
      );
      signals.emit("changed", { transactionId });
    }
    for (const transactionId of applied.moved) signals.emit("changed", { transactionId });
    for (const change of applied.changed) signals.emit("changed", change);
    for (const transactionId of [...applied.refused, ...applied.decided])
      signals.emit("decided", { transactionId });
  }
}

function last(standings: readonly (LedgerStanding | null)[]): LedgerStanding | null {
  return standings.filter((one) => one !== null).at(-1) ?? null;
}
