/**
 * Door of the hub: agents' links on the gateway's HTTP server, one live connection each. Gathers the statements that arrive in one
 * tick of all agents into one transaction, so that they share one sync, and acknowledges only what is durable.
 * Sources: docs/protocol.md sections 4 to 7; docs/architecture.md sections 2 and 3; failures.md sections 2.5 and 7.1.
 */
import type { KeyObject } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Duplex } from "node:stream";
import type { Logger } from "pino";
import { WebSocketServer } from "ws";
import { gatewayFrameBytesMax } from "../../protocol/envelope.ts";
import { AgentError } from "../../protocol/fault.ts";
import type { Statement } from "../../protocol/messages.ts";
import type { GatewayConfig } from "../config.ts";
import { recordAlarm } from "../store/alarm.ts";
import type { Signals } from "../store/signals.ts";
import { type Database, isConflict, type Store } from "../store/store.ts";
import { addressReader } from "./address.ts";
import { type LinkLimits, linkLimits, openSession, type Session, type SessionRooms } from "./session.ts";
import { type Applied, applyStatements, Halt } from "./statements.ts";

/** Path of the agents' WebSocket. @public */
export const linkPath = "/agent/v1/link";

const connectionsPerAddressMax = 20;
const strangersMax = 1000; // connections that have not said hello
const upgradeHeaderBytesMax = 8 * 1024;
const closeTimeoutMs = 5000;

/** @public */
export interface HubOptions {
  readonly server: Server | SecureServer;
  readonly store: Store;
  readonly gatewayKey: KeyObject; // Ed25519 private key
  readonly signals: Signals;
  readonly config: Pick<GatewayConfig, "trustProxy">;
  readonly log: Logger;
  readonly clock: () => number;
  readonly limits?: Partial<LinkLimits>;
}

/** @public */
export interface Hub {
  /** Whether the agent's link is open and greeted. */
  online(agentId: string): boolean;
  /** Sends the agent what is pending; harmless at any time. */
  wake(agentId: string): void;
  /** Closes every link and leaves the server; calling again is harmless. */
  close(): Promise<void>;
}

interface Arrival {
  readonly session: Session;
  readonly agentId: string;
  readonly statement: Statement;
}

/** Puts the hub on the server's upgrade requests. @public */
export function startHub(options: HubOptions): Hub {
  const { server, store, signals, log, clock } = options;
  const limits = { ...linkLimits, ...options.limits };
  const sessions = new Map<string, Session>(); // live, by agent
  const open = new Map<Session, string>(); // every connection, with the address it came from
  const arrivals: Arrival[] = [];
  const addressOf = addressReader(options.config.trustProxy);
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: gatewayFrameBytesMax,
    maxFragments: 16,
    maxBufferedChunks: 1024,
    closeTimeout: closeTimeoutMs,
    clientTracking: true,
  } as ConstructorParameters<typeof WebSocketServer>[0]);
  let flushing: NodeJS.Immediate | null = null;
  let closed: Promise<void> | null = null;

  const rooms: SessionRooms = {
    store,
    gatewayKey: options.gatewayKey,
    log,
    clock,
    limits,
    onLive(session) {
      const agentId = session.agentId;
      if (agentId === null) return;
      const older = sessions.get(agentId);
      sessions.set(agentId, session);
      older?.end("replaced");
      noteSeen([agentId]);
      log.info({ agent: agentId }, "agent is online");
      signals.emit("agent", { agent: agentId, online: true });
    },
    onStatement(session, statement) {
      if (session.agentId !== null) arrivals.push({ session, agentId: session.agentId, statement });
      flushing ??= setImmediate(flush);
    },
    onBehind(agentId, detail) {
      raise(agentId, new Halt("HUB_DATABASE_BEHIND", false, `gateway database is behind agent ${agentId}: ${detail}`));
    },
    onClosed(session) {
      open.delete(session);
      const agentId = session.agentId;
      if (agentId === null || sessions.get(agentId) !== session) return;
      sessions.delete(agentId);
      log.info({ agent: agentId }, "agent is offline");
      signals.emit("agent", { agent: agentId, online: false });
    },
  };

  /** One transaction for everybody; when somebody's word stops it, one for each, so that nobody waits for a contradiction. */
  function flush(): void {
    flushing = null;
    const groups = new Map<string, Arrival[]>();
    for (const arrival of arrivals.splice(0)) {
      const group = groups.get(arrival.agentId);
      if (group === undefined) groups.set(arrival.agentId, [arrival]);
      else group.push(arrival);
    }
    if (!tryStore([...groups.values()])) for (const group of groups.values()) tryStore([group]);
  }

  /** False when the groups must be tried one by one. */
  function tryStore(groups: readonly (readonly Arrival[])[]): boolean {
    const nowMs = clock();
    let applied: readonly Applied[];
    try {
      applied = store.write((database) =>
        groups.map((group) => {
          const statements = group.map((arrival) => arrival.statement);
          return applyStatements(database, group[0]?.agentId ?? "", statements, nowMs);
        }),
      );
    } catch (error) {
      const halt = haltOf(error);
      if (halt !== null && groups.length > 1) return false;
      for (const group of groups) stopGroup(group, error, halt);
      return true;
    }
    for (const [index, group] of groups.entries()) tellApplied(group, applied[index] as Applied);
    return true;
  }

  function stopGroup(group: readonly Arrival[], error: unknown, halt: Halt | null): void {
    const agentId = group[0]?.agentId ?? "";
    if (halt === null) {
      if (!(error instanceof AgentError)) throw error;
      log.error({ agent: agentId, code: error.code }, "statements could not be stored; the agent will send them again");
    } else {
      raise(agentId, halt);
    }
    const reason = halt === null ? "busy" : halt.lock ? "locked" : "behind";
    for (const { session } of group) session.end(reason);
  }

  function tellApplied(group: readonly Arrival[], applied: Applied): void {
    for (const session of new Set(group.map((arrival) => arrival.session))) session.acknowledge(applied.head);
    const agent = group[0]?.agentId ?? "";
    for (const { code, locked } of applied.alarms) log.error({ agent, code, locked }, "the agent raised an alarm");
    for (const transactionId of applied.changed) signals.emit("changed", { transactionId });
    for (const transactionId of applied.decided) signals.emit("decided", { transactionId });
  }

  function raise(agentId: string, halt: Halt): void {
    const { code, message: detail } = halt;
    const isNew = tryWrite((database) => {
      const sql = "UPDATE agents SET lockedCode = ? WHERE id = ? AND lockedCode NOT LIKE 'HUB\\_%' ESCAPE '\\'";
      if (halt.lock) database.run(sql, code, agentId);
      return recordAlarm(database, { at: clock(), actor: "hub", code, subject: agentId, detail });
    });
    if (isNew !== false) log.error({ agent: agentId, code }, detail);
  }

  /** For what may be lost now because the next beat or connection says it again; null when the database did not take it. */
  function tryWrite<T>(fn: (database: Database) => T): T | null {
    try {
      return store.write(fn);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      log.warn({ code: error.code }, "the database did not take what the hub noted");
      return null;
    }
  }

  function noteSeen(agentIds: readonly string[]): void {
    tryWrite((database) => {
      for (const id of agentIds) database.run("UPDATE agents SET lastSeenAt = ? WHERE id = ?", clock(), id);
    });
  }

  function upgrade(request: IncomingMessage, socket: Duplex, rest: Buffer): void {
    socket.on("error", () => socket.destroy());
    const address = addressOf(request);
    const status = refusalOf(request, address);
    if (status !== null) {
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, rest, (webSocket) => {
      open.set(openSession(webSocket, rooms), address);
    });
  }

  function refusalOf(request: IncomingMessage, address: string): string | null {
    if ((request.url ?? "").split("?", 1)[0] !== linkPath) return "404 Not Found";
    const headerBytes = request.rawHeaders.reduce((bytes, text) => bytes + text.length + 2, 0);
    if (headerBytes > upgradeHeaderBytesMax) return "431 Request Header Fields Too Large";
    let fromThere = 0;
    for (const from of open.values()) if (from === address) fromThere += 1;
    if (fromThere >= connectionsPerAddressMax) return "429 Too Many Requests";
    if (open.size - sessions.size >= strangersMax) return "503 Service Unavailable";
    return null;
  }

  const seenTimer = setInterval(() => {
    if (sessions.size > 0) noteSeen([...sessions.keys()]);
  }, limits.beatMs);
  const stopListening = signals.on("job", ({ agent }) => sessions.get(agent)?.pump());
  server.on("upgrade", upgrade);

  return {
    online: (agentId) => sessions.has(agentId),
    wake: (agentId) => sessions.get(agentId)?.pump(),
    close() {
      closed ??= closeAll();
      return closed;
    },
  };

  async function closeAll(): Promise<void> {
    server.off("upgrade", upgrade);
    stopListening();
    clearInterval(seenTimer);
    if (flushing !== null) {
      clearImmediate(flushing);
      flush();
    }
    for (const session of [...open.keys()]) session.cut();
    await new Promise<void>((done) => sockets.close(() => done()));
  }
}

/** A constraint that refused a row says the same as a contradiction found by looking. */
function haltOf(error: unknown): Halt | null {
  if (error instanceof Halt) return error;
  return isConflict(error) ? new Halt("HUB_CONTRADICTION", true, "a unique constraint refused what the agent said") : null;
}
