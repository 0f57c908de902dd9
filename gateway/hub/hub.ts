/**
 * Interface of the hub: agents' links on the gateway's HTTP server, one live connection for each
 * agent. A newer connection replaces the older. No connection is refused because there are many: a
 * connection without a hello loses its place to the next (auth/pending-connections.ts). Sources:
 * docs/protocol.md sections 4 to 7; docs/architecture.md sections 2 and 8.
 */
import type { KeyObject } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Duplex } from "node:stream";
import { type ServerOptions, WebSocketServer } from "ws";
import { closeSoon } from "../../base/close-soon.ts";
import type { GatewayLog } from "../../base/log.ts";
import { gatewayFrameBytesMax } from "../../protocol/envelope.ts";
import { linkPath } from "../../protocol/messages.ts";
import type { Question, Sightings } from "../../protocol/sightings.ts";
import { PendingConnections } from "../auth/pending-connections.ts";
import { addressBlock } from "../auth/rate.ts";
import { addressReader } from "../config/client-address.ts";
import type { GatewayConfig } from "../config/config.ts";
import type { AddressMarks } from "../store/address-marks.ts";
import { isLinkBlock, keepHello } from "../store/agent-state.ts";
import { endedByAgent, holderOfJob } from "../store/jobs.ts";
import type { Signals } from "../store/signals.ts";
import type { Store } from "../store/store.ts";
import { type ClearOrders, createClearing } from "../withdrawals/clearing.ts";
import { Intake } from "./intake.ts";
import { createLastSeen } from "./last-seen.ts";
import { type LinkLimits, linkLimits } from "./link-limits.ts";
import { Session } from "./session.ts";
import type { SessionRooms } from "./session-rooms.ts";

const upgradeHeaderBytesMax = 8 * 1024;

/** Connections without a hello; a block from which an agent said hello before has no limit. */
export const pendingLinks = { perBlock: 20, inAll: 1000 } as const;

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
  readonly marks: AddressMarks; // use of deposit addresses, kept outside the database
  /** Answers what this gateway's nodes show; null for silence. Rejects only for bugs. */
  readonly answerQuestion: (
    agentId: string,
    question: Question,
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
  const pending = new PendingConnections<Session>(pendingLinks, (block) =>
    isLinkBlock(options.store.database, block),
  );
  const intake = new Intake(options);
  const seen = createLastSeen(live, intake, { clock, everyMs: limits.seenMs });
  const clear = createClearing(options);
  const addressOf = addressReader(options.config.trustProxy);
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
    for (const [agent, own] of endedByAgent(store.database, ids)) live.get(agent)?.tellEnded(own);
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
      const agent = live.size === 0 ? undefined : holderOfJob(store.database, transactionId);
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
  question: Question,
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
