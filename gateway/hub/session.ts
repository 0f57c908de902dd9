/**
 * One agent's connection: challenge, hello under the link key, welcome, then jobs, acknowledgements and beats out, statements and
 * beats in. A frame's signature is verified before anything of it is parsed; whoever sends anything else is cut off with a code
 * and no explanation. Holds no state that the database does not, but for how far jobs were sent on this connection.
 * Sources: docs/protocol.md sections 4 to 7; failures.md F50, F51, F52.
 */
import { type KeyObject, randomBytes } from "node:crypto";
import type { Logger } from "pino";
import type { WebSocket } from "ws";
import { frameKind, gatewayFrameBytesMax, openEnvelope, publicKeyFromHex, sealEnvelope } from "../../protocol/envelope.ts";
import { AgentError } from "../../protocol/fault.ts";
import { zeroHash } from "../../protocol/identity.ts";
import type { Ack, Beat, Challenge, EnvelopeKind, Head, Hello, Jobs, Statement, Welcome } from "../../protocol/messages.ts";
import { parseBeat, parseHello, parseStatement } from "../../protocol/payloads.ts";
import type { AgentRow } from "../store/rows.ts";
import type { Store } from "../store/store.ts";
import { answeredUpTo, fillEnvelope, jobsAfter } from "./outbox.ts";

/** Close codes of the link, RFC 6455 section 7.4.2; docs/protocol.md section 4 says what each asks of the agent. */
export const closeCodes = {
  replaced: 4000, // a newer connection of the same agent took over
  refused: 4001, // unknown agent, wrong key, or released
  protocol: 4002, // a frame that cannot be
  epoch: 4003, // an older epoch than the one granted
  locked: 4004, // this agent's word contradicted the database
  silent: 4005, // no hello in time, or no beat
  busy: 4006, // the database did not take it: come again
  behind: 4009, // the database lacks what the agent has: reconnect, and resend after the welcome's echo
} as const;
export type CloseReason = keyof typeof closeCodes;

/** Milliseconds, and bytes waiting in a connection. */
export interface LinkLimits {
  readonly helloMs: number;
  readonly beatMs: number;
  readonly deadMs: number; // without a valid frame
  readonly resendMs: number; // for jobs that found no answer on this connection
  readonly fillBytesMax: number; // no more jobs are queued above this
  readonly sendBytesMax: number; // above this the connection is cut
}

/** failures.md section 7.1. */
export const linkLimits: LinkLimits = {
  helloMs: 10_000,
  beatMs: 15_000,
  deadMs: 35_000,
  resendMs: 30_000,
  fillBytesMax: 256 * 1024,
  sendBytesMax: 1024 * 1024,
};

const helloBytesMax = 4096;

/** What a session needs of the hub. */
export interface SessionRooms {
  readonly store: Store;
  readonly gatewayKey: KeyObject;
  readonly log: Logger;
  readonly clock: () => number;
  readonly limits: LinkLimits;
  /** The hello held: from here `agentId` is set. */
  readonly onLive: (session: Session) => void;
  readonly onStatement: (session: Session, statement: Statement) => void;
  readonly onBehind: (agentId: string, detail: string) => void;
  readonly onClosed: (session: Session) => void;
}

export interface Session {
  readonly agentId: string | null; // null before the hello
  /** Sends what is pending; harmless at any time. */
  pump(): void;
  acknowledge(head: Head): void;
  end(reason: CloseReason): void;
  /** Without the closing handshake. */
  cut(): void;
}

interface Live {
  readonly id: string;
  readonly epoch: number;
  readonly linkKey: KeyObject;
  readonly signerKey: KeyObject;
}

interface Delivery {
  sentSequence: number;
  answered: number; // answeredUpTo when the resend timer was last looked at
  quietSince: number;
}

/** Takes over an upgraded connection and sends the challenge. */
export function openSession(socket: WebSocket, rooms: SessionRooms): Session {
  const { store, gatewayKey, clock, limits, log } = rooms;
  const nonce = randomBytes(32).toString("hex");
  let live: Live | null = null;
  let ended = false;
  let beats: NodeJS.Timeout | null = null;
  const delivery: Delivery = { sentSequence: 0, answered: 0, quietSince: 0 };
  let deadline = setTimeout(() => session.end("silent"), limits.helloMs);

  const session: Session = {
    get agentId() {
      return live === null ? null : live.id;
    },
    pump,
    acknowledge(head) {
      if (live === null) return;
      send("ack", { agent: live.id, epoch: live.epoch, head, at: clock() } satisfies Ack);
    },
    end(reason) {
      if (ended) return;
      log.info({ agent: live?.id ?? "", reason }, "link closed by the gateway");
      stop();
      socket.close(closeCodes[reason], reason);
    },
    cut() {
      stop();
      socket.terminate();
    },
  };

  function stop(): void {
    if (ended) return;
    ended = true;
    clearTimeout(deadline);
    if (beats !== null) clearInterval(beats);
    rooms.onClosed(session);
  }

  function send(kind: EnvelopeKind, payload: object, done?: () => void): void {
    if (ended || socket.readyState !== socket.OPEN) return;
    socket.send(sealEnvelope(kind, payload, gatewayKey), { binary: true }, (error) => {
      if (error === undefined || error === null) done?.();
    });
    if (socket.bufferedAmount > limits.sendBytesMax) session.cut();
  }

  function pump(): void {
    if (live === null || ended) return;
    while (!ended && socket.bufferedAmount < limits.fillBytesMax) {
      const batch = fillEnvelope(jobsAfter(store.database, live.id, delivery.sentSequence));
      const last = batch.at(-1);
      const agent = readAgent(live.id);
      if (last === undefined || agent === undefined) return;
      delivery.sentSequence = last.sequence;
      delivery.quietSince = clock();
      const jobs: Jobs = {
        agent: agent.id,
        wallet: agent.wallet,
        epoch: live.epoch,
        echo: headOf(agent),
        at: clock(),
        jobs: batch.map((job) => job.text),
      };
      send("jobs", jobs, pump);
    }
  }

  function readAgent(id: string): AgentRow | undefined {
    return store.database.get<AgentRow>("SELECT * FROM agents WHERE id = ?", id);
  }

  function admitHello(frame: Uint8Array): void {
    const agent = readAgent(claimedAgent(frame));
    if (agent === undefined || agent.releasedAt !== null) return session.end("refused");
    const linkKey = publicKeyFromHex(agent.linkKey);
    const { payload } = openEnvelope(frame, { kind: "hello", publicKey: linkKey, bytesMax: helloBytesMax });
    const hello = parseHello(payload);
    if (hello.agent !== agent.id || hello.answers !== nonce) return session.end("refused");
    if (hello.epoch < agent.epoch) return session.end("epoch");
    if (hello.epoch > agent.epoch) {
      rooms.onBehind(agent.id, `it holds epoch ${agent.epoch}, the agent was granted ${hello.epoch}`);
      return session.end("behind");
    }
    if (agent.lockedCode.startsWith("HUB_")) return session.end("locked");
    live = { id: agent.id, epoch: agent.epoch, linkKey, signerKey: publicKeyFromHex(agent.signerKey) };
    greet(agent, hello);
  }

  function greet(agent: AgentRow, hello: Hello): void {
    stayAlive();
    const welcome: Welcome = {
      agent: agent.id,
      wallet: agent.wallet,
      epoch: agent.epoch,
      answers: hello.nonce,
      echo: headOf(agent),
      jobs: { sequence: agent.jobSequence, hash: agent.jobSequence === 0 ? zeroHash : agent.jobHash },
      at: clock(),
    };
    delivery.answered = answeredUpTo(store.database, agent);
    delivery.sentSequence = delivery.answered;
    beats = setInterval(beat, limits.beatMs);
    rooms.onLive(session);
    send("welcome", welcome);
    pump();
  }

  /** Also the moment to notice what another process did: a released agent, a new epoch, jobs whose signal was lost. */
  function beat(): void {
    if (live === null) return;
    const agent = readAgent(live.id);
    if (agent === undefined || agent.releasedAt !== null) return session.end("refused");
    if (agent.epoch !== live.epoch) return session.end("epoch");
    send("beat", { agent: agent.id, head: headOf(agent), at: clock() } satisfies Beat);
    const answered = answeredUpTo(store.database, agent);
    if (answered !== delivery.answered || answered >= delivery.sentSequence) {
      delivery.answered = answered;
      delivery.quietSince = clock();
    } else if (Math.abs(clock() - delivery.quietSince) >= limits.resendMs) {
      delivery.sentSequence = answered;
    }
    pump();
  }

  function stayAlive(): void {
    clearTimeout(deadline);
    if (!ended) deadline = setTimeout(() => session.end("silent"), limits.deadMs);
  }

  function admitFrame(from: Live, frame: Uint8Array): void {
    const publicKey = frameKind(frame) === "statement" ? from.signerKey : from.linkKey;
    const { kind, payload } = openEnvelope(frame, { kinds: ["statement", "beat"], publicKey, bytesMax: gatewayFrameBytesMax });
    if (kind === "beat") {
      if (parseBeat(payload).agent !== from.id) return session.end("protocol");
    } else {
      const statement = parseStatement(payload);
      if (statement.agent !== from.id) return session.end("protocol");
      if (statement.epoch !== from.epoch) return session.end("epoch");
      rooms.onStatement(session, statement);
    }
    stayAlive();
  }

  socket.on("message", (data, isBinary) => {
    if (ended) return;
    if (!isBinary || !(data instanceof Buffer)) return session.end("protocol");
    try {
      if (live === null) admitHello(data);
      else admitFrame(live, data);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      log.warn({ agent: live?.id ?? "", code: error.code, context: error.context }, "a frame was refused");
      session.end(live === null ? "refused" : "protocol");
    }
  });
  socket.on("error", (error) => {
    log.info({ agent: live?.id ?? "", reason: error.message }, "link failed");
    session.cut();
  });
  socket.on("close", stop);
  send("challenge", { nonce, at: clock() } satisfies Challenge);
  return session;
}

function headOf(agent: Pick<AgentRow, "headSeq" | "headHash">): Head | null {
  return agent.headSeq === 0 ? null : { seq: agent.headSeq, hash: agent.headHash };
}

/** Which agent a hello claims to be from, found without parsing: only to choose the key that must have signed all of it. */
function claimedAgent(frame: Uint8Array): string {
  if (frame.length > helloBytesMax) return "";
  return /"agent":\s*"([0-9a-f]{16})"/.exec(Buffer.from(frame).toString("latin1"))?.[1] ?? "";
}
