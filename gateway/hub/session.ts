/**
 * One agent's connection: challenge, hello under the link key, welcome, then jobs, acknowledgements
 * and beats out, statements and beats in. A frame's signature is verified before anything of it is
 * parsed; whoever sends anything else is cut off with a code and no explanation. Holds no state
 * that the database does not, but for how far jobs were sent on this connection. Sources:
 * docs/protocol.md sections 4 to 7.
 */
import { randomBytes } from "node:crypto";
import type { WebSocket } from "ws";
import * as envelope from "../../protocol/envelope.ts";
import { AgentError } from "../../protocol/fault.ts";
import { zeroHash } from "../../protocol/identity.ts";
import type { Ack, Beat, Challenge, EnvelopeKind, Head, Hello, Jobs, OpenSlots, Welcome } from "../../protocol/messages.ts";
import { deadPerAckMax, endedPerAckMax, parseBeat, parseHello, parseStatement } from "../../protocol/payloads.ts";
import type { Recovery } from "../../protocol/recovery.ts";
import { askedCeiling } from "../deposits/ceilings.ts";
import { endedIds, recoveryOrder } from "../recovery/order.ts";
import { awaitsRecovery, recoveryOf } from "../recovery/recovery.ts";
import { readAgent } from "../store/agents.ts";
import { listDeadHashes, listEndedDeadInRange } from "../store/deaths.ts";
import type { AgentRow } from "../store/rows.ts";
import { listUnreachable } from "../store/unreachable.ts";
import { claimedAgent, helloBytesMax } from "./claimed.ts";
import { type CloseReason, closeCodes } from "./link-limits.ts";
import { answeredUpTo, fillEnvelope, jobsAfter } from "./outbox.ts";
import type { Live, SessionRooms } from "./session-rooms.ts";
import { headOf } from "./standing.ts";

/** How long an end may wait for others, so that they share an acknowledgement. */
const endedMs = 20;
/** After so many beats what was said of ends is said once more: a minute. */
const beatsToRepeat = 4;

/** Takes over an upgraded connection; `start` sends the challenge. */
export class Session {
  readonly #socket: WebSocket;
  readonly #rooms: SessionRooms<Session>;
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
  // of the hello: what the agent still keeps bytes of lies in there
  #open: readonly OpenSlots[] = [];
  readonly #untold = new Set<string>(); // ended; to be told with the next acknowledgements
  #told: string[] = []; // said once
  readonly #repeated = new Set<string>(); // being said once more
  readonly #dead = new Set<string>(); // hashes; to be told with the next acknowledgements
  #beatCount = 0;
  #askedCeiling = 0; // with the newest acknowledgement
  #unreachable = ""; // sweeps that the newest acknowledgement names
  #telling: NodeJS.Timeout | null = null;

  constructor(socket: WebSocket, rooms: SessionRooms<Session>) {
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
    const agent = live === null ? null : this.#served(live);
    if (live === null || agent === null) return;
    const ended = [...this.#untold].slice(0, endedPerAckMax);
    for (const id of ended) {
      this.#untold.delete(id);
      if (!this.#repeated.delete(id)) this.#told.push(id);
    }
    const hashes = [...this.#dead].slice(0, deadPerAckMax);
    for (const txHash of hashes) this.#dead.delete(txHash);
    const dead = hashes.length === 0 ? {} : { dead: hashes };
    this.#askedCeiling = askedCeiling(agent) ?? 0;
    const ceiling = this.#askedCeiling === 0 ? {} : { ceiling: this.#askedCeiling };
    const unreachable = this.#listUnreachable(live.id);
    this.#unreachable = unreachable.join();
    const beyond = unreachable.length === 0 ? {} : { unreachable };
    const said = { agent: live.id, epoch: live.epoch, head, ended, ...dead, ...beyond, ...ceiling, at: this.#rooms.clock() };
    this.#send("ack", said satisfies Ack);
    this.#tellRestSoon();
  }

  /** Asks its ledger to hold a ceiling for addresses, unless that was asked on this connection. */
  askCeiling(): void {
    const agent = this.#live === null ? null : this.#served(this.#live);
    const head = agent === null ? null : headOf(agent);
    if (agent === null || head === null || (askedCeiling(agent) ?? 0) <= this.#askedCeiling) return;
    this.acknowledge(head);
  }

  /**
   * The chain has ended these, and this database holds it: the agent may forget their bytes. A word
   * that gets lost is said again with a later beat, and at the next greeting.
   */
  tellEnded(ids: readonly string[]): void {
    for (const id of ids) this.#untold.add(id);
    this.#tellRestSoon();
  }

  /**
   * No block takes a version of these withdrawals any more, or the chain cannot reach these sweeps,
   * as this database holds: said at once, at each greeting, and now and then while the withdrawal
   * is open, here or as the hello called it.
   */
  tellDead(): void {
    const agent = this.#live === null ? null : this.#served(this.#live);
    if (agent === null || agent.headSeq === 0) return;
    const { database } = this.#rooms.store;
    for (const txHash of listDeadHashes(database, agent.id)) this.#dead.add(txHash);
    for (const range of this.#open) for (const txHash of listEndedDeadInRange(database, agent.id, range)) this.#dead.add(txHash);
    this.#tellRestSoon();
    const isNews = this.#listUnreachable(agent.id).join() !== this.#unreachable;
    if (isNews) this.acknowledge({ seq: agent.headSeq, hash: agent.headHash });
  }

  #listUnreachable(agentId: string): readonly string[] {
    return listUnreachable(this.#rooms.store.database, agentId);
  }

  get #hasMore(): boolean {
    return this.#untold.size + this.#dead.size > 0;
  }

  /** One pass of the watcher ends many at once. */
  #tellRestSoon(): void {
    if (!this.#hasMore) return;
    this.#telling ??= setTimeout(() => {
      this.#telling = null;
      const agent = this.#live === null ? null : this.#served(this.#live);
      const head = agent === null ? null : headOf(agent);
      if (head !== null && this.#hasMore) this.acknowledge(head);
    }, endedMs);
  }

  /** Sends what is pending, as far as the connection takes it; harmless at any time. */
  pump(): void {
    const live = this.#live;
    const { store, limits, clock } = this.#rooms;
    // What an opened ledger keeps must not come as a job as well.
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
        signatures: batch.map((job) => envelope.signJob(job.text, this.#rooms.gatewayKey)),
      };
      this.#send("jobs", jobs, () => this.pump());
    }
  }

  /**
   * A new ledger was opened, or jobs got their places: they go on from the first one that is not
   * answered.
   */
  goOn(): void {
    const agent = this.#live === null ? null : this.#served(this.#live);
    if (agent === null) return;
    this.#answered = answeredUpTo(this.#rooms.store.database, agent);
    this.#sentSequence = this.#answered;
    this.tellEnded(endedIds(this.#rooms.store.database, agent, this.#open));
    this.tellDead();
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
    if (this.#telling !== null) clearTimeout(this.#telling);
    if (this.#beats !== null) clearInterval(this.#beats);
    this.#rooms.onClosed(this);
  }

  #send(kind: EnvelopeKind, payload: object, done?: () => void): void {
    if (this.#ended || this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.send(envelope.sealEnvelope(kind, payload, this.#rooms.gatewayKey), { binary: true }, (error) => {
      if (error === undefined || error === null) done?.();
    });
    if (this.#socket.bufferedAmount > this.#rooms.limits.sendBytesMax) this.cut();
  }

  #readAgent(id: string): AgentRow | undefined {
    return readAgent(this.#rooms.store.database, id);
  }

  /**
   * The agent as the database has it now. Null when another process released it or raised its
   * epoch: then the link ends.
   */
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
    const linkKey = envelope.publicKeyFromHex(agent.linkKey);
    const { payload } = envelope.openEnvelope(frame, { kind: "hello", publicKey: linkKey, bytesMax: helloBytesMax });
    const hello = parseHello(payload);
    if (hello.agent !== agent.id || hello.answers !== this.#nonce) return "refused";
    this.#rooms.onHello(this, agent.id, hello.software);
    if (hello.epoch < agent.epoch) return this.#offer(agent, hello);
    if (hello.epoch > agent.epoch) {
      this.#rooms.onBehind(agent.id, `it holds epoch ${agent.epoch}, the agent was granted ${hello.epoch}`);
      return "behind";
    }
    if (agent.lockedCode.startsWith("HUB_")) return "locked";
    this.#live = { id: agent.id, epoch: agent.epoch, linkKey, signerKey: envelope.publicKeyFromHex(agent.signerKey) };
    this.#greet(agent, hello);
    return null;
  }

  /**
   * An agent that its operator here recovers gets the order for it, and nothing else; it is not
   * live with its old epoch.
   */
  #offer(agent: AgentRow, hello: Hello): CloseReason | null {
    const { store, clock, log } = this.#rooms;
    const recovery = recoveryOf(store.database, agent);
    if (recovery === undefined || recovery.takenAt !== null) return "epoch";
    const sign = (text: string): string => envelope.signJob(text, this.#rooms.gatewayKey);
    const parts = recoveryOrder(store.database, agent, recovery, { hello, sign, nowMs: clock() });
    log.info({ event: "recovery-offered", agent: agent.id, epoch: agent.epoch, parts: parts.length }, "a recovery is offered");
    this.#sendParts(parts);
    return null;
  }

  /**
   * One after another, as the connection takes them: all of a large order at once would be more
   * than may wait there.
   */
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
      ...{ agent: agent.id, wallet: agent.wallet, epoch: agent.epoch },
      challenge: this.#nonce,
      answers: hello.nonce,
      echo: headOf(agent),
      jobs: { sequence: agent.jobSequence, hash: agent.jobSequence === 0 ? zeroHash : agent.jobHash },
      at: clock(),
    };
    this.#send("welcome", welcome);
    this.#rooms.onLive(this);
    this.#open = hello.open;
    // An agent that is recovered, or has stated nothing yet, is told when it has.
    if (agent.headSeq > 0) this.tellEnded(endedIds(this.#rooms.store.database, agent, this.#open));
    this.tellDead();
    this.pump();
  }

  /**
   * A word that was lost on a line that stands: each end is said once more on this connection, and
   * then at the next greeting.
   */
  #repeatEnded(): void {
    this.#beatCount += 1;
    if (this.#beatCount % beatsToRepeat !== 0) return;
    this.tellDead();
    const again = this.#told;
    this.#told = [];
    for (const id of again) this.#repeated.add(id);
    this.tellEnded(again);
  }

  /**
   * Also the moment to notice what another process did: a released agent, a new epoch, jobs whose
   * signal was lost.
   */
  #beat(): void {
    const live = this.#live;
    const { store, limits, clock } = this.#rooms;
    if (live === null) return;
    const agent = this.#served(live);
    if (agent === null) return;
    // Rises even when the clock was set back: the agent takes a beat that does not for a replay.
    this.#beatAt = Math.max(clock(), this.#beatAt + 1);
    this.#send("beat", { agent: agent.id, head: headOf(agent), at: this.#beatAt } satisfies Beat);
    this.#repeatEnded();
    // A word that was lost is said again.
    this.#askedCeiling = 0;
    this.askCeiling();
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
    const publicKey = envelope.frameKind(frame) === "statement" ? live.signerKey : live.linkKey;
    const bytesMax = envelope.gatewayFrameBytesMax;
    const { kind, payload } = envelope.openEnvelope(frame, { kinds: ["statement", "beat"], publicKey, bytesMax });
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
