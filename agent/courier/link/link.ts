/**
 * The link to the gateway: connects, keeps the connection alive, reports the reason when the
 * connection ends, and tries again without end. Opens only one WebSocket at a time. Limits:
 * docs/protocol.md section 4.3.
 */

import type { KeyObject } from "node:crypto";
import type { Socket } from "node:net";
import WebSocket, { type RawData } from "ws";
import type { Code } from "../../../base/codes.ts";
import { addLikelyCause } from "../../../base/connection-words.ts";
import { AgentError } from "../../../base/fault.ts";
import { isByProxy, openTunnel, trustedAuthorities } from "../../../base/outgoing/egress.ts";
import {
  agentFrameBytesMax,
  frameKind,
  openEnvelope,
  sealEnvelope,
} from "../../../protocol/envelope.ts";
import {
  type AgentLedgerHead,
  type EnvelopeKind,
  frameFormNumber,
  type Hello,
  type OpenSlots,
} from "../../../protocol/messages.ts";
import { parseChallenge, parseHeartbeat, parseWelcome } from "../../../protocol/payloads.ts";

/*
 * The messages of one connection, without its bytes: challenge, hello, welcome, then jobs, acks and
 * heartbeats, until a message does not fit. Synchronous, with clock and keys passed in; `link.ts`
 * owns the socket. docs/protocol.md sections 2 and 4. The signer verifies jobs, acks and sightings
 * itself and trusts no other check. A second check here would double the most expensive step of a
 * job.
 */

/** The agent for which the link speaks, as the signer's own `hello` gives it. */
interface LinkSelf {
  readonly agent: string;
  readonly wallet: string;
  readonly ledgerEpoch: number;
  readonly nonce: string; // nonce of the signer's run; the welcome must repeat it
}

interface SessionKeys {
  readonly gatewayKey: KeyObject; // pinned at pairing
  readonly linkKey: KeyObject; // private
}

/** The contents of a hello in addition to its sender. */
interface HelloContent {
  readonly software: string;
  readonly open: () => readonly OpenSlots[];
}

/** The result of a frame. `welcome` and `frame` carry the complete envelope, for the signer. */
type FrameResult =
  | { readonly kind: "reply"; readonly frame: Uint8Array }
  | { readonly kind: "welcome"; readonly frame: Uint8Array }
  | { readonly kind: "recovery"; readonly frame: Uint8Array }
  | {
      readonly kind: "frame";
      readonly envelope: "jobs" | "ack" | "sightings";
      readonly frame: Uint8Array;
    }
  | { readonly kind: "heartbeat" };

interface Session {
  /** @throws AgentError LINK_* or ENVELOPE_* or JSON_*; then the connection must be closed. */
  receive(frame: Uint8Array, nowMs: number): FrameResult;
  heartbeat(head: AgentLedgerHead | null, nowMs: number): Uint8Array;
}

function createSession(self: LinkSelf, keys: SessionKeys, said: HelloContent): Session {
  let phase: "challenge" | "welcome" | "open" = "challenge";
  let lastHeartbeatAt = -1;

  const open = (frame: Uint8Array, kind: EnvelopeKind): Uint8Array =>
    openEnvelope(frame, { kind, publicKey: keys.gatewayKey, bytesMax: agentFrameBytesMax }).payload;

  const challenged = (frame: Uint8Array, nowMs: number): FrameResult => {
    const challenge = parseChallenge(open(frame, "challenge"));
    // The gateway's key signed it, so nobody on the way can make a gateway look old.
    if ((challenge.kinds ?? 0) < frameFormNumber)
      throw misfit("LINK_UPGRADE_REQUIRED", upgradeWords);
    const { agent, ledgerEpoch, nonce } = self;
    const { software } = said;
    const about = {
      agent,
      ledgerEpoch,
      answers: challenge.nonce,
      nonce,
      software,
      kinds: frameFormNumber,
    };
    const hello: Hello = { ...about, open: said.open(), at: nowMs };
    phase = "welcome";
    return { kind: "reply", frame: sealEnvelope("hello", hello, keys.linkKey) };
  };

  const welcomed = (frame: Uint8Array): FrameResult => {
    const welcome = parseWelcome(open(frame, "welcome"));
    if (welcome.answers !== self.nonce)
      throw misfit("LINK_WELCOME_CHALLENGE", "the welcome answers another run's nonce");
    if (welcome.agent !== self.agent || welcome.wallet !== self.wallet) {
      throw misfit("LINK_WELCOME_AGENT", "the welcome is for another agent or wallet");
    }
    phase = "open";
    return { kind: "welcome", frame };
  };

  const heartbeatOf = (frame: Uint8Array): FrameResult => {
    const heartbeat = parseHeartbeat(open(frame, "heartbeat"));
    // Only a rising time shows that the peer is alive now, because anyone on the way could repeat
    // an old heartbeat.
    if (heartbeat.agent !== self.agent || heartbeat.at <= lastHeartbeatAt)
      throw misfit("LINK_HEARTBEAT", "a heartbeat that does not go on");
    lastHeartbeatAt = heartbeat.at;
    return { kind: "heartbeat" };
  };

  return {
    receive(frame, nowMs) {
      const kind = frameKind(frame);
      if (phase === "challenge") return challenged(frame, nowMs);
      // Comes instead of a welcome, to an agent whose epoch is over. Only the signer judges this
      // frame.
      if (phase === "welcome" && kind === "recovery") return { kind, frame };
      if (phase === "welcome") return welcomed(frame);
      if (kind === "heartbeat") return heartbeatOf(frame);
      if (kind === "jobs" || kind === "ack" || kind === "sightings")
        return { kind: "frame", envelope: kind, frame };
      throw misfit("LINK_FRAME", "a frame that has no place here");
    },
    heartbeat: (head, nowMs) =>
      sealEnvelope("heartbeat", { agent: self.agent, head, at: nowMs }, keys.linkKey),
  };
}

const upgradeWords =
  "the gateway's program is of an earlier version: on its server, unpack this version and type: node autowithdraw.js upgrade --gateway";

function misfit(
  code:
    | "LINK_UPGRADE_REQUIRED"
    | "LINK_WELCOME_CHALLENGE"
    | "LINK_WELCOME_AGENT"
    | "LINK_HEARTBEAT"
    | "LINK_FRAME",
  message: string,
): AgentError {
  return new AgentError(code, "none", message);
}

/*
 * The wait before the next try: exponential, with full jitter, so a thousand agents do not arrive
 * together after their gateway came back. Pure. Source: "Exponential Backoff And Jitter" (AWS
 * Architecture Blog, 2015), full jitter.
 */

interface BackoffLimits {
  readonly baseMs: number; // the first wait is drawn from 0 … baseMs
  readonly capMs: number;
}

/** `attempt` counts failures since the last success, from 0; `random` is in [0, 1). */
export function backoffMs(attempt: number, random: number, limits: BackoffLimits): number {
  // 2^16 is past every cap. The bound keeps the product finite after a week of failures.
  const ceilingMs = Math.min(limits.capMs, limits.baseMs * 2 ** Math.min(attempt, 16));
  return Math.floor(random * ceilingMs);
}

export type { LinkSelf };

/** Times of the link, in milliseconds. Tests shorten them; a process uses `linkTimes`. */
interface LinkTimes extends BackoffLimits {
  readonly handshakeMs: number; // from dialling to welcome
  readonly heartbeatMs: number;
  readonly deadMs: number; // without a frame from the gateway
  readonly settledMs: number; // after this time up, a link's earlier failures no longer count
  readonly closeMs: number; // wait for the peer's answer to a close
}

export const linkTimes: LinkTimes = {
  baseMs: 500,
  capMs: 30_000,
  handshakeMs: 10_000,
  heartbeatMs: 15_000,
  deadMs: 35_000,
  settledMs: 10_000,
  closeMs: 5000,
};

/**
 * More unsent bytes mean that the gateway does not read; the link is closed, and resumes by
 * sequence.
 */
const sendBufferBytesMax = 1024 * 1024;
/** docs/protocol.md section 4.3: this program is of an earlier version than the gateway's. */
const upgradeCloseCode = 4010;
const fragmentsMax = 16;
const bufferedChunksMax = 1024;

export interface LinkOptions extends SessionKeys {
  readonly address: string; // from linkAddress()
  readonly self: LinkSelf;
  readonly software: string;
  readonly clock: () => number;
  readonly random: () => number; // [0, 1)
  readonly head: () => AgentLedgerHead | null; // newest known ledger head, for the heartbeat
  readonly open: () => readonly OpenSlots[]; // ranges of slots with open withdrawals at this moment, for the hello
  readonly times?: Partial<LinkTimes>;
  readonly onUp: (welcomeFrame: Uint8Array) => void;
  /**
   * Receives a part of a recovery offer, which comes instead of a welcome. The link will not come
   * up under this epoch.
   */
  readonly onRecovery: (frame: Uint8Array) => void;
  /** Only after onUp. */
  readonly onFrame: (envelope: "jobs" | "ack" | "sightings", frame: Uint8Array) => void;
  /**
   * Called once per connection or failed try. `reason` is for the operator and carries no secret.
   */
  readonly onDown: (reason: LinkDown) => void;
}

export interface LinkDown {
  readonly code: Code;
  readonly detail: string;
  readonly wasUp: boolean;
  readonly retryMs: number;
}

export interface Link {
  readonly isUp: boolean;
  /** Bytes accepted by `send` and not yet given to the kernel. */
  readonly bufferedBytes: number;
  /**
   * Returns false if the link is down, or went down because of this frame. `flushed` is called
   * after the frame has left this process.
   */
  send(frame: Uint8Array, flushed?: () => void): boolean;
  /** Closes this connection for the given reason; the next try follows automatically. */
  drop(code: Code, detail: string): void;
  /** Ends the link permanently. */
  close(): void;
}

/** Starts to connect at once. */
export function createLink(options: LinkOptions): Link {
  const times: LinkTimes = { ...linkTimes, ...options.times };
  let connection: Connection | null = null;
  let attempt = 0;
  let retry: NodeJS.Timeout | undefined;
  let isClosed = false;

  const dial = (): void => {
    if (isClosed) return;
    connection = connect(options, times, {
      up: options.onUp,
      down: (code, detail, upMs) => {
        connection = null;
        attempt = upMs >= times.settledMs ? 0 : attempt;
        const retryMs = backoffMs(attempt, options.random(), times);
        attempt += 1;
        if (isClosed) return;
        retry = setTimeout(dial, retryMs);
        options.onDown({ code, detail, wasUp: upMs >= 0, retryMs });
      },
    });
  };

  dial();
  return {
    get isUp() {
      return connection?.isUp() ?? false;
    },
    get bufferedBytes() {
      return connection?.bufferedBytes() ?? 0;
    },
    send: (frame, flushed) => connection?.send(frame, flushed) ?? false,
    drop: (code, detail) => connection?.drop(code, detail),
    close() {
      isClosed = true;
      clearTimeout(retry);
      connection?.drop("LINK_CLOSED", "this agent is stopping");
    },
  };
}

interface Connection {
  isUp(): boolean;
  bufferedBytes(): number;
  send(frame: Uint8Array, flushed?: () => void): boolean;
  drop(code: Code, detail: string): void;
}

interface ConnectionEvents {
  readonly up: (welcomeFrame: Uint8Array) => void;
  /** Called exactly once. `upMs` is the time that the link was up, -1 if it never was. */
  readonly down: (code: Code, detail: string, upMs: number) => void;
}

function connect(options: LinkOptions, times: LinkTimes, events: ConnectionEvents): Connection {
  const session = createSession(options.self, options, options);
  const socket = openSocket(options.address, times);
  const timers = createTimers();
  let upAtMs = -1;
  let isDown = false;
  let isOffered = false;

  const drop = (code: Code, detail: string): void => {
    if (isDown) return;
    isDown = true;
    timers.stop();
    // A peer without an answer to the close within closeMs is cut off; the next try does not wait
    // for it.
    socket.close(1000);
    const cut = setTimeout(() => socket.terminate(), times.closeMs);
    cut.unref();
    socket.once("close", () => clearTimeout(cut));
    events.down(code, detail, upAtMs < 0 ? -1 : options.clock() - upAtMs);
  };
  const send = (frame: Uint8Array, flushed?: () => void): boolean => {
    if (isDown || socket.readyState !== WebSocket.OPEN) return false;
    if (socket.bufferedAmount + frame.length > sendBufferBytesMax) {
      drop("LINK_BACKLOG", "the gateway does not read what is sent");
      return false;
    }
    socket.send(frame, { binary: true }, (error) =>
      error ? drop("LINK_SEND", error.message) : flushed?.(),
    );
    return true;
  };
  const alive = (): void =>
    timers.set("dead", times.deadMs, () =>
      drop(...ended("LINK_TIMEOUT", `no word for ${times.deadMs / 1000} s`)),
    );
  // After an offer of a recovery the reason for the missing link is already known.
  const ended = (code: Code, detail: string): [Code, string] =>
    isOffered ? ["RECOVERY_OFFERED", "the gateway offers a recovery"] : [code, detail];
  const heartbeat = (): void => {
    send(session.heartbeat(options.head(), options.clock()));
    timers.set("heartbeat", times.heartbeatMs, heartbeat);
  };
  const act = (received: FrameResult): void => {
    if (received.kind === "reply") send(received.frame);
    if (received.kind === "frame") options.onFrame(received.envelope, received.frame);
    if (received.kind === "recovery") {
      isOffered = true;
      timers.clear("handshake");
      alive();
      options.onRecovery(received.frame);
    }
    if (received.kind !== "welcome") return;
    upAtMs = options.clock();
    timers.clear("handshake");
    alive();
    timers.set("heartbeat", times.heartbeatMs, heartbeat);
    events.up(received.frame);
  };

  timers.set("handshake", times.handshakeMs, () =>
    drop("LINK_HANDSHAKE", `no welcome within ${times.handshakeMs / 1000} s`),
  );
  socket.on("message", (data, isBinary) => {
    if (isDown) return;
    const received = receive(session, data, isBinary, options.clock());
    if (received instanceof AgentError) return drop(received.code, received.message);
    if (upAtMs >= 0) alive();
    act(received);
  });
  socket.on("error", (error: NodeJS.ErrnoException) =>
    drop("LINK_SOCKET", addLikelyCause(seenIn(error))),
  );
  socket.on("close", (code, reason) => {
    const isOld = code === upgradeCloseCode;
    drop(
      ...ended(
        isOld ? "LINK_UPGRADE_REQUIRED" : "LINK_ENDED",
        `closed by the gateway, ${code} ${printable(reason)}`.trim(),
      ),
    );
  });
  return {
    isUp: () => upAtMs >= 0 && !isDown,
    bufferedBytes: () => socket.bufferedAmount,
    send,
    drop,
  };
}

function openSocket(address: string, times: LinkTimes): WebSocket {
  return new WebSocket(address, {
    perMessageDeflate: false,
    followRedirects: false,
    handshakeTimeout: times.handshakeMs,
    maxPayload: agentFrameBytesMax,
    maxFragments: fragmentsMax,
    maxBufferedChunks: bufferedChunksMax,
    ...wayTo(address, times.handshakeMs),
  });
}

/** The options of a connection that leaves by the proxy, or trusts more certificates. */
function wayTo(address: string, timeoutMs: number): WebSocket.ClientOptions {
  const { hostname, port, protocol } = new URL(address);
  const ca = trustedAuthorities();
  if (!isByProxy(hostname)) return ca === undefined ? {} : { ca: [...ca] };
  const target = { hostname, port: Number(port || 0), isSecure: protocol === "wss:" };
  const createConnection = (
    _options: object,
    done: (error: Error | null, socket?: Socket) => void,
  ): undefined => {
    openTunnel(target, timeoutMs, (error, socket) =>
      socket === null ? done(error) : done(null, socket),
    );
    return undefined;
  };
  return {
    createConnection: createConnection as unknown as NonNullable<
      WebSocket.ClientOptions["createConnection"]
    >,
  };
}

/** The code of an error, with the words of one whose code says little. */
function seenIn({ code, message }: NodeJS.ErrnoException): string {
  if (code === undefined) return message;
  return code.startsWith("PROXY_") ? `${code}: ${message}` : code;
}

function receive(
  session: Session,
  data: RawData,
  isBinary: boolean,
  nowMs: number,
): FrameResult | AgentError {
  if (!isBinary || !Buffer.isBuffer(data))
    return new AgentError("LINK_FRAME", "none", "a text frame");
  try {
    return session.receive(data, nowMs);
  } catch (error) {
    if (error instanceof AgentError) return error;
    throw error;
  }
}

/** A peer's own text, short and without characters that a terminal would act on. */
function printable(text: Buffer): string {
  return text
    .subarray(0, 120)
    .toString("utf8")
    .replace(/[^\x20-\x7e]/g, "?");
}

interface Timers {
  set(name: "handshake" | "heartbeat" | "dead", ms: number, run: () => void): void;
  clear(name: "handshake" | "heartbeat" | "dead"): void;
  stop(): void;
}

function createTimers(): Timers {
  const running = new Map<string, NodeJS.Timeout>();
  const clear = (name: string): void => clearTimeout(running.get(name));
  return {
    set(name, ms, run) {
      clear(name);
      running.set(name, setTimeout(run, ms));
    },
    clear,
    stop() {
      for (const timer of running.values()) clearTimeout(timer);
    },
  };
}
