/**
 * Interface of the hub: agents' links on the gateway's HTTP server, one live connection for each
 * agent. A newer connection replaces the older. No connection is refused because there are many: a
 * connection without a hello loses its place to the next (auth/pending-connections.ts). Sources:
 * docs/protocol.md sections 4 to 7; docs/architecture.md sections 2 and 8.
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Duplex } from "node:stream";
import { type ServerOptions, WebSocketServer } from "ws";
import { closeSoon } from "../../base/close-soon.ts";
import type { Code } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import { gatewayFrameBytesMax, verifyJobSignature } from "../../protocol/envelope.ts";
import { type AgentLedgerHead, linkPath, type Statement } from "../../protocol/messages.ts";
import type { Sightings, SightingsQuestion } from "../../protocol/sightings.ts";
import { PendingConnections } from "../auth/pending-connections.ts";
import { addressBlock } from "../auth/rate.ts";
import { createClientAddressReader } from "../config/client-address.ts";
import type { GatewayConfig } from "../config/config.ts";
import { markDatabaseRestored, settleCeilingOfAgent } from "../deposits/ceilings.ts";
import { acceptsHandshake, keepCaughtUp, keepNotCaughtUp } from "../recovery/catch-up.ts";
import type { IsOwnJob } from "../recovery/job-restore.ts";
import type { IssuedAddressMarks } from "../store/address-marks.ts";
import {
  isLinkBlock,
  keepHello,
  lockAgentUnlessByHub,
  markAgentSeen,
} from "../store/agent-state.ts";
import { type LinkedAgent, readLinkedAgent } from "../store/agents.ts";
import { recordAlarm } from "../store/alarm.ts";
import { agentIdOfJob, groupEndedByAgent } from "../store/jobs.ts";
import { isUniqueConflictError } from "../store/library-errors.ts";
import type { Signals } from "../store/signals.ts";
import type { Database, Store } from "../store/store.ts";
import { type ClearOrders, createOrderClearing } from "../withdrawals/clearing.ts";
import { numberJobs, type PlacementResult } from "../withdrawals/jobs.ts";
import { type CloseReason, type LinkLimits, linkLimits } from "./link-limits.ts";
import { Session } from "./session.ts";
import type { SessionRooms } from "./session-rooms.ts";
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
  type RefusedStatements,
  type StatementsHalt,
} from "./statements.ts";

/*
 * Stores statements in the database. Statements of one tick, from all agents, share one transaction
 * and one sync; acknowledgements and signals leave only after the commit. If a statement stops the
 * transaction, each agent's statements are tried alone, so that no agent waits because of another's
 * contradiction.
 */

interface IntakeRooms {
  readonly store: Store;
  readonly signals: Signals;
  readonly log: GatewayLog;
  readonly clock: () => number;
  readonly run: string; // names this process (store/owner.ts)
  readonly gatewayKey: KeyObject; // Ed25519 private key
  readonly marks: IssuedAddressMarks;
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
    this.#isOwn = (text, signature) => verifyJobSignature(text, signature, publicKey);
  }

  add(session: Session, agentId: string, statement: Statement): void {
    this.#arrivals.push({ session, agentId, statement });
    this.#flushing ??= setImmediate(() => this.flush());
  }

  /** Takes the ledger head of an agent's heartbeat. Writes only a change. */
  receive(agentId: string, head: AgentLedgerHead | null): void {
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
  raise(agentId: string, halt: StatementsHalt): void {
    const { code, detail, lock } = halt;
    const isNew = this.note((database) => {
      if (lock) lockAgentUnlessByHub(database, agentId, code);
      const { run } = this.#rooms;
      if (code === "HUB_DATABASE_BEHIND")
        markDatabaseRestored(database, agentId, { reason: detail, run });
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
      if (isUniqueConflictError(error))
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
    const skipped = settleCeilingOfAgent(database, agentId, { marks, run, nowMs });
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

/*
 * When each agent was last seen, as operators are shown it. A connected agent's time is written
 * when its link opens and once in a while, not at each heartbeat; that of a link which ended, with
 * the next write. Whether an agent is online is the hub's own knowledge and not in the table.
 */

interface LastSeen {
  /** The agent's link opened; written at once. */
  came(agent: string): void;
  /** The agent's link ended. */
  left(agent: string): void;
  /** Writes the times of all agents that are connected or left. Harmless to call twice. */
  close(): void;
}

/**
 * `live` has the agents that are connected, by id. A write that the database refuses is dropped: an
 * agent that left then keeps the time that was written before.
 */
export function createLastSeenWriter(
  live: ReadonlyMap<string, unknown>,
  intake: Pick<Intake, "note">,
  { clock, everyMs }: { readonly clock: () => number; readonly everyMs: number },
): LastSeen {
  const leftAt = new Map<string, number>();
  const write = (seen: ReadonlyMap<string, number>): void => {
    if (seen.size === 0) return;
    intake.note((database) => {
      for (const [agent, atMs] of seen) markAgentSeen(database, agent, atMs);
    });
  };
  const keep = (): void => {
    const nowMs = clock();
    write(new Map([...leftAt, ...[...live.keys()].map((agent) => [agent, nowMs] as const)]));
    leftAt.clear();
  };
  const timer = setInterval(keep, everyMs);
  return {
    came: (agent) => write(new Map([[agent, clock()]])),
    left: (agent) => void leftAt.set(agent, clock()),
    close() {
      clearInterval(timer);
      keep();
    },
  };
}

const upgradeHeaderBytesMax = 8 * 1024;

/** Connections without a hello; a block from which an agent said hello before has no limit. */
export const pendingLinksMax = { perBlock: 20, inAll: 1000 } as const;

/**
 * docs/protocol.md section 4.3. The last three options are missing from the library's type
 * declarations.
 */
const socketOptions: ServerOptions & {
  maxFragments: number;
  maxBufferedChunks: number;
  closeTimeout: number;
} = {
  noServer: true,
  perMessageDeflate: false,
  maxPayload: gatewayFrameBytesMax,
  maxFragments: 16,
  maxBufferedChunks: 1024,
  closeTimeout: 5000,
};

/** The rooms that the hub works with, and its limits. */
export interface HubOptions {
  readonly server: Server | SecureServer;
  readonly store: Store;
  readonly gatewayKey: KeyObject; // Ed25519 private key
  readonly signals: Signals;
  readonly config: Pick<GatewayConfig, "trustProxy">;
  readonly log: GatewayLog;
  readonly clock: () => number;
  readonly limits?: Partial<LinkLimits>; // default: docs/protocol.md section 4
  readonly run: string; // names this process (store/owner.ts)
  readonly marks: IssuedAddressMarks; // use of deposit addresses, kept outside the database
  /** Answers what this gateway's nodes show; null for silence. Rejects only for bugs. */
  readonly answerQuestion: (
    agentId: string,
    question: SightingsQuestion,
  ) => Promise<Pick<Sightings, "coins" | "next"> | null>;
}

/** The agents' links, for the rooms that have news for an agent. */
export interface Hub {
  /** True if the agent's link is open and its handshake is done. */
  online(agentId: string): boolean;
  /** Sends the agent its pending jobs. Harmless at any time. */
  wake(agentId: string): void;
  /** Stores what has arrived, cuts every link and leaves the server. Harmless to call again. */
  close(): Promise<void>;
}

/** Answers the server's upgrade requests from now on. */
export function startHub(options: HubOptions): Hub {
  const { server, signals, log, clock } = options;
  const limits = { ...linkLimits, ...options.limits };
  const live = new Map<string, Session>(); // by agent
  const open = new Map<Session, string>(); // every connection, with its address block
  // A block with an earlier hello counts as known after a restart, when all agents connect at the
  // same time.
  const pending = new PendingConnections<Session>(pendingLinksMax, (block) =>
    isLinkBlock(options.store.database, block),
  );
  const intake = new Intake(options);
  const seen = createLastSeenWriter(live, intake, { clock, everyMs: limits.seenMs });
  const clear = createOrderClearing(options);
  const addressOf = createClientAddressReader(options.config.trustProxy);
  const sockets = new WebSocketServer(socketOptions);
  const rooms: SessionRooms<Session> = {
    store: options.store,
    gatewayKey: options.gatewayKey,
    log,
    clock,
    limits,
    run: options.run,
    onHello: (session, agent, software) =>
      intake.note((database) => keepHello(database, agent, software, open.get(session) ?? "")),
    onLive: (session) => {
      pending.leave(session);
      const agent = session.agentId ?? "";
      const older = live.get(agent);
      live.set(agent, session);
      older?.end("replaced");
      seen.came(agent);
      signals.emit("agent", { agent, online: true });
    },
    onStatement: (session, statement) => intake.add(session, session.agentId ?? "", statement),
    onHeartbeat: (session, head) => intake.receive(session.agentId ?? "", head),
    clear,
    onQuestion: (session, question) => answer(options, clear, session, question),
    onHalt: (agent, halt) => intake.raise(agent, halt),
    onClosed: (session) => {
      open.delete(session);
      pending.leave(session);
      const agent = session.agentId ?? "";
      if (live.get(agent) !== session) return;
      live.delete(agent);
      seen.left(agent);
      signals.emit("agent", { agent, online: false });
    },
  };
  const upgrade = (request: IncomingMessage, socket: Duplex, rest: Buffer): void => {
    socket.on("error", () => socket.destroy());
    if (isAnswered(socket)) return;
    const status = refusalOf(request);
    if (status !== null) {
      closeSoon(socket, `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, rest, (webSocket) => {
      const session = new Session(webSocket, rooms);
      const block = addressBlock(addressOf(request).address);
      open.set(session, block);
      pending.enter(session, block)?.cut();
      session.start(namesKinds(request));
    });
  };
  const stopListening = listen(options, live);
  server.on("upgrade", upgrade);
  const close = async (): Promise<void> => {
    server.off("upgrade", upgrade);
    stopListening();
    intake.flush();
    seen.close();
    for (const session of [...open.keys()]) session.cut();
    for (const closing of sockets.clients) closing.terminate();
    await new Promise<void>((done) => sockets.close(() => done()));
  };
  let closed: Promise<void> | null = null;
  return {
    online: (agentId) => live.has(agentId),
    wake: (agentId) => live.get(agentId)?.pump(),
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

/** Sends new jobs, ended withdrawals and void attempts to their agents. */
function listen({ signals, store }: HubOptions, live: ReadonlyMap<string, Session>): () => void {
  const woken = createOncePerTurn((agents) => {
    for (const agent of agents) live.get(agent)?.pump();
  });
  const ended = createOncePerTurn((ids) => {
    for (const [agent, own] of groupEndedByAgent(store.database, ids))
      live.get(agent)?.tellEnded(own);
  });
  const stops = [
    signals.on("job", ({ agent }) => woken.add(agent)),
    signals.on("recall", ({ agent }) => live.get(agent)?.tellNamed()),
    signals.on("foreign", ({ agent }) => live.get(agent)?.tellNamed()),
    signals.on("ceiling", ({ agent }) => live.get(agent)?.askCeiling()),
    signals.on("changed", ({ transactionId, isOpen = false }) => {
      if (!isOpen && live.size > 0) ended.add(transactionId);
    }),
    signals.on("void", ({ transactionId }) => {
      const agent = live.size === 0 ? undefined : agentIdOfJob(store.database, transactionId);
      if (agent !== undefined) live.get(agent)?.tellVoid();
    }),
  ];
  return () => {
    woken.stop();
    ended.stop();
    for (const stop of stops) stop();
  };
}

/**
 * Calls `act` once with all names that were added in a turn of the event loop: orders of one turn
 * were stored together, so their jobs leave in one frame.
 */
function createOncePerTurn(act: (names: readonly string[]) => void): {
  add(name: string): void;
  stop(): void;
} {
  const names = new Set<string>();
  let asked: NodeJS.Immediate | null = null;
  return {
    add(name) {
      names.add(name);
      asked ??= setImmediate(() => {
        asked = null;
        const taken = [...names];
        names.clear();
        act(taken);
      });
    },
    stop() {
      if (asked !== null) clearImmediate(asked);
    },
  };
}

/** The session sends what the nodes show, unless they show nothing. */
function answer(
  { answerQuestion }: HubOptions,
  clear: ClearOrders,
  session: Session,
  question: SightingsQuestion,
): void {
  const agent = session.agentId ?? "";
  answerQuestion(agent, question).then((sighted) => {
    const orders = clear(agent, question.orders);
    if (sighted !== null || orders.length > 0)
      session.sight({ ...(sighted ?? { coins: [], next: [] }), orders });
  }, throwBug);
}

/** True for an agent that dials the path with the kinds that it knows. */
function namesKinds({ url = "" }: IncomingMessage): boolean {
  return new URLSearchParams(url.split("?")[1] ?? "").has("kinds");
}

/** A bug ends the process, as it would in a listener. */
function throwBug(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}

/** True if the server answered the upgrade before the hub. */
const isAnswered = (socket: Duplex): boolean => socket.writableEnded || socket.destroyed;

/** The end of the status line for a refused upgrade; null if the upgrade is accepted. */
function refusalOf(request: IncomingMessage): string | null {
  if ((request.url ?? "").split("?", 1)[0] !== linkPath) return "404 Not Found";
  const headerBytes = request.rawHeaders.reduce((bytes, text) => bytes + text.length + 2, 0);
  return headerBytes > upgradeHeaderBytesMax ? "431 Request Header Fields Too Large" : null;
}
