/**
 * One agent's connection: challenge, hello under the link key, welcome, then jobs, acknowledgements and beats out, statements and
 * beats in. A frame's signature is verified before anything of it is parsed; whoever sends anything else is cut off with a code
 * and no explanation. Holds no state that the database does not, but for how far jobs were sent on this connection.
 * Sources: docs/protocol.md sections 4 to 7.
 */
import { type KeyObject, randomBytes } from "node:crypto";
import type { WebSocket } from "ws";
import { frameKind, gatewayFrameBytesMax, openEnvelope, publicKeyFromHex, sealEnvelope } from "../../protocol/envelope.ts";
import { AgentError } from "../../protocol/fault.ts";
import { zeroHash } from "../../protocol/identity.ts";
import type { GatewayLog } from "../../protocol/log.ts";
import type { Ack, Beat, Challenge, EnvelopeKind, Head, Hello, Jobs, Statement, Welcome } from "../../protocol/messages.ts";
import { parseBeat, parseHello, parseStatement } from "../../protocol/payloads.ts";
import type { Recovery } from "../../protocol/recovery.ts";
import { recoveryOrder } from "../recovery/order.ts";
import { awaitsRecovery, recoveryOf } from "../recovery/recovery.ts";
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

/** docs/protocol.md, sections 4 and 5.3. */
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
  readonly log: GatewayLog;
  readonly clock: () => number;
  readonly limits: LinkLimits;
  /** The hello is the agent's own, whatever comes of it: what the agent calls its software. */
  readonly onHello: (agentId: string, software: string) => void;
  /** The hello held: from here `agentId` is set. */
  readonly onLive: (session: Session) => void;
  readonly onStatement: (session: Session, statement: Statement) => void;
  readonly onBeat: (session: Session, head: Head | null) => void;
  readonly onBehind: (agentId: string, detail: string) => void;
  readonly onClosed: (session: Session) => void;
}

interface Live {
  readonly id: string;
  readonly epoch: number;
  readonly linkKey: KeyObject;
  readonly signerKey: KeyObject;
}

/** Takes over an upgraded connection; `start` sends the challenge. */
export class Session {
  readonly #socket: WebSocket;
  readonly #rooms: SessionRooms;
  readonly #nonce = randomBytes(32).toString("hex");
  #live: Live | null = null;
  #ended = false;
  #deadline: NodeJS.Timeout;
  #beats: NodeJS.Timeout | null = null;
  #sentSequence = 0;
  #answered = 0; // answeredUpTo when last looked at
  #quietSince = 0; // when jobs were sent or answered last
  #beatAt = 0;
  #toldSeq = 0;

  constructor(socket: WebSocket, rooms: SessionRooms) {
    this.#socket = socket;
    this.#rooms = rooms;
    this.#deadline = setTimeout(() => this.end("silent"), rooms.limits.helloMs);
  }

  /** Null before the hello. */
  get agentId(): string | null {
    return this.#live === null ? null : this.#live.id;
  }

  /** Of this connection's challenge and welcome: who repeats it heard them. */
  get nonce(): string {
    return this.#nonce;
  }

  /** The record that the welcome named: whose ledger holds it goes on from there. */
  get toldSeq(): number {
    return this.#toldSeq;
  }

  start(): void {
    this.#socket.on("message", (data, isBinary) => {
      const reason = isBinary && data instanceof Buffer ? this.#admit(data) : "protocol";
      if (reason !== null) this.end(reason);
    });
    this.#socket.on("error", (error) => {
      this.#rooms.log.info({ event: "link-failed", agent: this.agentId ?? "", reason: error.message }, "link failed");
      this.cut();
    });
    this.#socket.on("close", () => this.#stop());
    this.#send("challenge", { nonce: this.#nonce, at: this.#rooms.clock() } satisfies Challenge);
  }

  acknowledge(head: Head): void {
    const live = this.#live;
    if (live === null || this.#served(live) === null) return;
    this.#send("ack", { agent: live.id, epoch: live.epoch, head, at: this.#rooms.clock() } satisfies Ack);
  }

  /** Sends what is pending, as far as the connection takes it; harmless at any time. */
  pump(): void {
    const live = this.#live;
    const { store, limits, clock } = this.#rooms;
    // A job the order names must not come as a job as well.
    if (live !== null && awaitsRecovery(store.database, live)) return;
    while (live !== null && !this.#ended && this.#socket.bufferedAmount < limits.fillBytesMax) {
      const batch = fillEnvelope(jobsAfter(store.database, live.id, this.#sentSequence));
      const last = batch.at(-1);
      const agent = last === undefined ? null : this.#served(live);
      if (last === undefined || agent === null) return;
      this.#sentSequence = last.sequence;
      this.#quietSince = clock();
      const jobs: Jobs = {
        agent: agent.id,
        wallet: agent.wallet,
        epoch: live.epoch,
        echo: headOf(agent),
        at: clock(),
        jobs: batch.map((job) => job.text),
      };
      this.#send("jobs", jobs, () => this.pump());
    }
  }

  /** The agent was recovered: jobs go on from the first one it has not answered. */
  goOn(): void {
    const agent = this.#live === null ? null : this.#served(this.#live);
    if (agent === null) return;
    this.#answered = answeredUpTo(this.#rooms.store.database, agent);
    this.#sentSequence = this.#answered;
    this.pump();
  }

  end(reason: CloseReason): void {
    if (this.#ended) return;
    this.#rooms.log.info({ event: "link-closed", agent: this.agentId ?? "", reason }, "link closed by the gateway");
    this.#stop();
    this.#socket.close(closeCodes[reason], reason);
  }

  /** Ends without the closing handshake. */
  cut(): void {
    this.#stop();
    this.#socket.terminate();
  }

  #stop(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#deadline);
    if (this.#beats !== null) clearInterval(this.#beats);
    this.#rooms.onClosed(this);
  }

  #send(kind: EnvelopeKind, payload: object, done?: () => void): void {
    if (this.#ended || this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.send(sealEnvelope(kind, payload, this.#rooms.gatewayKey), { binary: true }, (error) => {
      if (error === undefined || error === null) done?.();
    });
    if (this.#socket.bufferedAmount > this.#rooms.limits.sendBytesMax) this.cut();
  }

  #readAgent(id: string): AgentRow | undefined {
    return this.#rooms.store.database.get<AgentRow>("SELECT * FROM agents WHERE id = ?", id);
  }

  /** The agent as the database has it now. Null when another process released it or raised its epoch: then the link ends. */
  #served({ id, epoch }: Live): AgentRow | null {
    const agent = this.#readAgent(id);
    if (agent !== undefined && agent.releasedAt === null && agent.epoch === epoch) return agent;
    this.end(agent === undefined || agent.releasedAt !== null ? "refused" : "epoch");
    return null;
  }

  /** One frame in; why the link has to end, or null. */
  #admit(frame: Uint8Array): CloseReason | null {
    if (this.#ended) return null;
    const live = this.#live;
    try {
      return live === null ? this.#admitHello(frame) : this.#admitFrame(live, frame);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      const { code, context } = error;
      this.#rooms.log.warn({ event: "frame-refused", agent: live?.id ?? "", code, context }, "a frame was refused");
      return live === null ? "refused" : "protocol";
    }
  }

  #admitHello(frame: Uint8Array): CloseReason | null {
    const agent = this.#readAgent(claimedAgent(frame));
    if (agent === undefined || agent.releasedAt !== null) return "refused";
    const linkKey = publicKeyFromHex(agent.linkKey);
    const { payload } = openEnvelope(frame, { kind: "hello", publicKey: linkKey, bytesMax: helloBytesMax });
    const hello = parseHello(payload);
    if (hello.agent !== agent.id || hello.answers !== this.#nonce) return "refused";
    this.#rooms.onHello(agent.id, hello.software);
    if (hello.epoch < agent.epoch) return this.#offer(agent, hello);
    if (hello.epoch > agent.epoch) {
      this.#rooms.onBehind(agent.id, `it holds epoch ${agent.epoch}, the agent was granted ${hello.epoch}`);
      return "behind";
    }
    if (agent.lockedCode.startsWith("HUB_")) return "locked";
    this.#live = { id: agent.id, epoch: agent.epoch, linkKey, signerKey: publicKeyFromHex(agent.signerKey) };
    this.#greet(agent, hello);
    return null;
  }

  /** An agent that its operator here recovers gets the order for it, and nothing else; it is not live with its old epoch. */
  #offer(agent: AgentRow, hello: Hello): CloseReason | null {
    const { store, clock, log } = this.#rooms;
    const recovery = recoveryOf(store.database, agent);
    if (recovery === undefined || recovery.takenAt !== null) return "epoch";
    const parts = recoveryOrder(store.database, agent, recovery, hello, clock());
    log.info({ event: "recovery-offered", agent: agent.id, epoch: agent.epoch, parts: parts.length }, "a recovery is offered");
    this.#sendParts(parts);
    return null;
  }

  /** One after another, as the connection takes them: all of a large order at once would be more than may wait there. */
  #sendParts([part, ...rest]: readonly Recovery[]): void {
    if (this.#ended) return;
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.end("epoch"), this.#rooms.limits.deadMs);
    if (part !== undefined) this.#send("recovery", part, () => this.#sendParts(rest));
  }

  #greet(agent: AgentRow, hello: Hello): void {
    const { store, limits, clock } = this.#rooms;
    this.#stayAlive();
    this.#answered = answeredUpTo(store.database, agent);
    this.#sentSequence = this.#answered;
    this.#beats = setInterval(() => this.#beat(), limits.beatMs);
    this.#toldSeq = agent.headSeq;
    const welcome: Welcome = {
      agent: agent.id,
      wallet: agent.wallet,
      epoch: agent.epoch,
      challenge: this.#nonce,
      answers: hello.nonce,
      echo: headOf(agent),
      jobs: { sequence: agent.jobSequence, hash: agent.jobSequence === 0 ? zeroHash : agent.jobHash },
      at: clock(),
    };
    this.#send("welcome", welcome);
    this.#rooms.onLive(this);
    this.pump();
  }

  /** Also the moment to notice what another process did: a released agent, a new epoch, jobs whose signal was lost. */
  #beat(): void {
    const live = this.#live;
    const { store, limits, clock } = this.#rooms;
    if (live === null) return;
    const agent = this.#served(live);
    if (agent === null) return;
    // Rises even when the clock was set back: the agent takes a beat that does not for a replay.
    this.#beatAt = Math.max(clock(), this.#beatAt + 1);
    this.#send("beat", { agent: agent.id, head: headOf(agent), at: this.#beatAt } satisfies Beat);
    const answered = answeredUpTo(store.database, agent);
    if (answered !== this.#answered || answered >= this.#sentSequence) {
      this.#answered = answered;
      this.#quietSince = clock();
    } else if (Math.abs(clock() - this.#quietSince) >= limits.resendMs) {
      this.#sentSequence = answered;
    }
    this.pump();
  }

  #stayAlive(): void {
    clearTimeout(this.#deadline);
    if (!this.#ended) this.#deadline = setTimeout(() => this.end("silent"), this.#rooms.limits.deadMs);
  }

  #admitFrame(live: Live, frame: Uint8Array): CloseReason | null {
    const publicKey = frameKind(frame) === "statement" ? live.signerKey : live.linkKey;
    const { kind, payload } = openEnvelope(frame, { kinds: ["statement", "beat"], publicKey, bytesMax: gatewayFrameBytesMax });
    if (kind === "beat") {
      const beat = parseBeat(payload);
      if (beat.agent !== live.id) return "protocol";
      this.#rooms.onBeat(this, beat.head);
    } else {
      const statement = parseStatement(payload);
      if (statement.agent !== live.id) return "protocol";
      if (statement.epoch !== live.epoch) return "epoch";
      this.#rooms.onStatement(this, statement);
    }
    this.#stayAlive();
    return null;
  }
}

function headOf(agent: Pick<AgentRow, "headSeq" | "headHash">): Head | null {
  return agent.headSeq === 0 ? null : { seq: agent.headSeq, hash: agent.headHash };
}

/** Which agent a hello claims to be from, found without parsing: only to choose the key that must have signed all of it. */
function claimedAgent(frame: Uint8Array): string {
  if (frame.length > helloBytesMax) return "";
  return /"agent":\s*"([0-9a-f]{16})"/.exec(Buffer.from(frame).toString("latin1"))?.[1] ?? "";
}
