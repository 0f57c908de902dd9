/**
 * One agent's connection: challenge, hello under the link key, welcome, then jobs, acknowledgements
 * and heartbeats out, statements and heartbeats in. A frame's signature is verified before the
 * frame is parsed; a client that sends anything else is cut off with a code and no explanation.
 * Holds no state that the database does not have, except how far jobs were sent on this connection.
 * Sources: docs/protocol.md sections 4 to 7.
 */

import { randomBytes } from "node:crypto";
import type { WebSocket } from "ws";
import { AgentError } from "../../base/fault.ts";
import * as envelope from "../../protocol/envelope.ts";
import { frameKind, gatewayFrameBytesMax, openEnvelope } from "../../protocol/envelope.ts";
import { zeroHash } from "../../protocol/identity.ts";
import {
  type Ack,
  type AgentLedgerHead,
  type Challenge,
  type EnvelopeKind,
  frameFormNumber,
  type Heartbeat,
  type Hello,
  type Jobs,
  type OpenSlots,
  type Statement,
  type Welcome,
} from "../../protocol/messages.ts";
import {
  endedPerAckMax,
  jobsPerFrameMax,
  parseHeartbeat,
  parseHello,
  parseStatement,
  voidPerAckMax,
} from "../../protocol/payloads.ts";
import type { RecoveryPart } from "../../protocol/recovery.ts";
import {
  clearedPerQuestionMax,
  parseSightingsQuestion,
  type Sightings,
  type SightingsQuestion,
} from "../../protocol/sightings.ts";
import { missingCeilingOfAgent } from "../deposits/ceilings.ts";
import { endedIds, makeRecoveryOffer } from "../recovery/offer.ts";
import { awaitsRecovery, recoveryOf } from "../recovery/recovery.ts";
import { type LinkedAgent, readAgent, readLinkedAgent } from "../store/agents.ts";
import { listForeignTransactions } from "../store/foreign.ts";
import { listEndedMovedWithdrawals } from "../store/moved-payments.ts";
import { listRecalled } from "../store/recalls.ts";
import type { AgentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { listWithdrawalsOnUnknownCoins } from "../store/unknown-coins.ts";
import { isAnyRecalledOrUnreachable, listUnreachable } from "../store/unreachable.ts";
import { listEndedVoidInRange, listVoidHashes } from "../store/void-attempts.ts";
import { type CloseReason, closeCodes, closeWords } from "./link-limits.ts";
import { answeredSequence, fillEnvelope, jobsAfter, type PendingJob } from "./outbox.ts";
import type { LiveAgent, SessionRooms } from "./session-rooms.ts";
import { type JobSigner, jobSigner } from "./sign-job.ts";
import { ledgerHeadOfAgent } from "./standing.ts";
import { haltForDatabaseBehindAgent, haltForOutdatedAgent } from "./statements.ts";

/*
 * The news for the next acknowledgements of one connection: withdrawals that have ended, and
 * void attempts. An acknowledgement can be lost on an open connection, so each ended one is told
 * twice; the next handshake tells all again. Holds nothing that the database does not have.
 */

class UnreportedEnds {
  readonly #ended = new Set<string>();
  #told: string[] = []; // only once so far
  readonly #repeated = new Set<string>(); // to be told a second time
  readonly #commanded = new Set<string>(); // added already
  readonly #voided = new Set<string>(); // hashes

  get hasMore(): boolean {
    return this.#ended.size + this.#voided.size > 0;
  }

  addEnded(ids: Iterable<string>): void {
    for (const id of ids) this.#ended.add(id);
  }

  /** Those that an operator ended by a command, so by another process; each once a connection. */
  addCommanded(ids: Iterable<string>): void {
    for (const id of ids) {
      if (!this.#commanded.has(id)) this.#ended.add(id);
      this.#commanded.add(id);
    }
  }

  addVoid(hashes: Iterable<string>): void {
    for (const txHash of hashes) this.#voided.add(txHash);
  }

  /** The part of the next acknowledgement, which counts as told from now on. */
  take(): Pick<Ack, "ended" | "void"> {
    const ended = [...this.#ended].slice(0, endedPerAckMax);
    for (const id of ended) {
      this.#ended.delete(id);
      if (!this.#repeated.delete(id)) this.#told.push(id);
    }
    const hashes = [...this.#voided].slice(0, voidPerAckMax);
    for (const txHash of hashes) this.#voided.delete(txHash);
    return { ended, ...(hashes.length === 0 ? {} : { void: hashes }) };
  }

  /** The ended ones that were told once come a second time. */
  repeat(): void {
    const again = this.#told;
    this.#told = [];
    for (const id of again) this.#repeated.add(id);
    this.addEnded(again);
  }
}

/*
 * Withdrawals and transactions that each acknowledgement names, as the database has them: those
 * that no block takes, those of them that may be ended, recalls, and transactions that nothing
 * here signed. Sources: docs/protocol.md sections 6.6, 6.7 and 6.9.
 */

/**
 * The lists of an agent; one that would be empty is left out. A database restored from a backup may
 * lack signatures until the agent has caught up in this `run`, so nothing is foreign before.
 */
export function ackListsOfAgent(
  database: Database,
  agent: Pick<LinkedAgent, "id" | "caughtUp" | "accounts" | "networks">,
  run: string,
): Pick<Ack, "unreachable" | "endable" | "recalled" | "foreign"> {
  const isAny = isAnyRecalledOrUnreachable(database);
  const unreachable = isAny ? listUnreachable(database, agent.id) : [];
  const endable =
    unreachable.length === 0 ? [] : listWithdrawalsOnUnknownCoins(database, agent.id, true);
  const recalled = isAny ? listRecalled(database, agent.id) : [];
  const foreign = agent.caughtUp === run ? listForeignTransactions(database, agent) : [];
  return {
    ...(unreachable.length === 0 ? {} : { unreachable }),
    ...(endable.length === 0 ? {} : { endable }),
    ...(recalled.length === 0 ? {} : { recalled }),
    ...(foreign.length === 0 ? {} : { foreign }),
  };
}

/*
 * The welcome of an agent, and the frames of one whose hello was accepted: each is verified under
 * the key of its kind, read, and belongs to this agent and epoch. Source: docs/protocol.md sections
 * 2 and 4.1.
 */

type AgentFrame =
  | { readonly kind: "statement"; readonly message: Statement }
  | { readonly kind: "heartbeat"; readonly message: Heartbeat }
  | { readonly kind: "question"; readonly message: SightingsQuestion };

const kinds = ["statement", "heartbeat", "question"] as const;

/**
 * The message of a frame, or the reason to end the link.
 * @throws AgentError ENVELOPE_*, JSON_*
 */
function readFrame(live: LiveAgent, frame: Uint8Array): AgentFrame | CloseReason {
  const publicKey = frameKind(frame) === "statement" ? live.signerKey : live.linkKey;
  const { kind, payload } = openEnvelope(frame, {
    kinds,
    publicKey,
    bytesMax: gatewayFrameBytesMax,
  });
  if (kind === "heartbeat") {
    const message = parseHeartbeat(payload);
    return message.agent === live.id ? { kind, message } : "protocol";
  }
  const read: AgentFrame =
    kind === "question"
      ? { kind, message: parseSightingsQuestion(payload) }
      : { kind: "statement", message: parseStatement(payload) };
  if (read.message.agent !== live.id) return "protocol";
  return read.message.ledgerEpoch === live.ledgerEpoch ? read : "ledgerEpoch";
}

/** The welcome for the agent's run that gave `answers`, with what this database holds of it. */
function welcomeOf(agent: AgentRow, answers: string, challenge: string, at: number): Welcome {
  return {
    agent: agent.id,
    wallet: agent.wallet,
    ledgerEpoch: agent.ledgerEpoch,
    challenge,
    answers,
    gatewayHead: ledgerHeadOfAgent(agent),
    jobs: { sequence: agent.jobSequence, hash: agent.jobSequence === 0 ? zeroHash : agent.jobHash },
    at,
  };
}

/** An envelope of jobs, each under the gateway's own signature. */
function jobsOf(
  agent: Pick<AgentRow, "id" | "wallet" | "headSeq" | "headHash">,
  ledgerEpoch: number,
  batch: readonly PendingJob[],
  sign: JobSigner,
  at: number,
): Jobs {
  return {
    agent: agent.id,
    wallet: agent.wallet,
    ledgerEpoch,
    gatewayHead: ledgerHeadOfAgent(agent),
    at,
    jobs: batch.map((job) => job.text),
    signatures: batch.map((job) => sign(job.text)),
  };
}

/** A program that names no kinds refuses a challenge with a field that it does not know. */
function challengeOf(nonce: string, isNaming: boolean, at: number): Challenge {
  return isNaming ? { nonce, kinds: frameFormNumber, at } : { nonce, at };
}

/** True for the hello of an agent whose program knows fewer kinds than this one. */
function isOutdated({ kinds = 0 }: Hello): boolean {
  return kinds < frameFormNumber;
}

/*
 * The claimed sender of a hello, read before the hello is parsed. Source: docs/protocol.md section
 * 4.1.
 */

/** Largest size of a hello's frame. */
const helloBytesMax = 4096;

/**
 * Returns the agent that a hello claims to come from, found without parsing. Use it only to choose
 * the key that must have signed the hello.
 */
function claimedAgent(frame: Uint8Array): string {
  if (frame.length > helloBytesMax) return "";
  return /"agent":\s*"([0-9a-f]{16})"/.exec(Buffer.from(frame).toString("latin1"))?.[1] ?? "";
}

/** How long an ended withdrawal may wait for others, so that they share an acknowledgement. */
const endedMs = 20;
/** Number of heartbeats, in total a minute, after which ended withdrawals are sent again. */
const heartbeatsToRepeat = 4;

/** Takes over an upgraded connection; `start` sends the challenge. */
export class Session {
  readonly #socket: WebSocket;
  readonly #rooms: SessionRooms<Session>;
  readonly #signJob: JobSigner;
  readonly #nonce = randomBytes(32).toString("hex");
  #live: LiveAgent | null = null;
  #ended = false;
  #deadline: NodeJS.Timeout;
  #heartbeats: NodeJS.Timeout | null = null;
  #sentSequence = 0;
  #hasMore = false; // jobs that the connection could not take yet
  #answered = 0; // newest result of answeredUpTo
  #quietSince = 0; // when jobs were last sent or answered
  #heartbeatAt = 0;
  #toldSeq = 0;
  // From the hello: slots of withdrawals whose bytes the agent may still keep.
  #open: readonly OpenSlots[] = [];
  readonly #untold = new UnreportedEnds(); // to send with the next acknowledgements
  #heartbeatCount = 0;
  #askedCeiling = 0; // in the newest acknowledgement
  #named = "{}"; // what the newest acknowledgement named
  #jobTimer: NodeJS.Timeout | null = null;
  #runNonce = ""; // the run of the agent, from its hello
  #questionAt = Number.NEGATIVE_INFINITY;

  constructor(socket: WebSocket, rooms: SessionRooms<Session>) {
    this.#socket = socket;
    this.#rooms = rooms;
    this.#signJob = jobSigner(rooms.gatewayKey);
    this.#deadline = setTimeout(() => this.end("silent"), rooms.limits.helloMs);
  }

  /** Null before the hello. */
  get agentId(): string | null {
    return this.#live === null ? null : this.#live.id;
  }

  /** Value of the challenge and welcome. Repeated in a statement if the signer accepted both. */
  get nonce(): string {
    return this.#nonce;
  }

  /** Sequence of the record that the welcome named. A ledger with it continues after it. */
  get toldSeq(): number {
    return this.#toldSeq;
  }

  start(isNaming: boolean): void {
    this.#socket.on("message", (data, isBinary) => {
      const reason = isBinary && data instanceof Buffer ? this.#admit(data) : "protocol";
      if (reason !== null) this.end(reason);
    });
    this.#socket.on("error", (error) => {
      this.#rooms.log.info(
        { event: "link-failed", agent: this.agentId ?? "", reason: error.message },
        "link failed",
      );
      this.cut();
    });
    this.#socket.on("close", () => this.#stop());
    this.#send("challenge", challengeOf(this.#nonce, isNaming, this.#rooms.clock()));
  }

  acknowledge(head: AgentLedgerHead): void {
    const live = this.#live;
    const agent = live === null ? null : this.#served(live);
    if (live === null || agent === null) return;
    const untold = this.#untold.take();
    this.#askedCeiling = missingCeilingOfAgent(agent) ?? 0;
    const ceiling = this.#askedCeiling === 0 ? {} : { ceiling: this.#askedCeiling };
    const named = ackListsOfAgent(this.#rooms.store.database, agent, this.#rooms.run);
    this.#named = JSON.stringify(named);
    const about = { agent: live.id, ledgerEpoch: live.ledgerEpoch, head };
    this.#send("ack", {
      ...about,
      ...untold,
      ...named,
      ...ceiling,
      at: this.#rooms.clock(),
    } satisfies Ack);
    this.#tellRestSoon();
  }

  /** Asks the agent's ledger to hold a ceiling for addresses, once on each connection. */
  askCeiling(): void {
    const agent = this.#live === null ? null : this.#served(this.#live);
    const head = agent === null ? null : ledgerHeadOfAgent(agent);
    if (
      agent === null ||
      head === null ||
      (missingCeilingOfAgent(agent) ?? 0) <= this.#askedCeiling
    )
      return;
    this.acknowledge(head);
  }

  /**
   * Reports ended withdrawals, so that the agent may forget their bytes. A lost message is repeated
   * with a later heartbeat and at the next handshake.
   */
  tellEnded(ids: readonly string[]): void {
    this.#untold.addEnded(ids);
    this.#tellRestSoon();
  }

  /**
   * Reports void attempts, unreachable sweeps and recalls, as this database holds them: at once, at
   * each handshake, and at intervals while the withdrawal is open here or in the hello.
   */
  tellVoid(): void {
    const agent = this.#live === null ? null : this.#served(this.#live);
    if (agent === null || agent.headSeq === 0) return;
    const { database } = this.#rooms.store;
    this.#untold.addVoid(listVoidHashes(database, agent.id));
    for (const range of this.#open)
      this.#untold.addVoid(listEndedVoidInRange(database, agent.id, range));
    this.#tellRestSoon();
    this.tellNamed();
  }

  /** Sends what each acknowledgement names, if it is not what the newest one named. */
  tellNamed(): void {
    const agent = this.#live === null ? null : this.#served(this.#live);
    if (agent === null || agent.headSeq === 0) return;
    const isNews =
      JSON.stringify(ackListsOfAgent(this.#rooms.store.database, agent, this.#rooms.run)) !==
      this.#named;
    if (isNews) this.acknowledge({ seq: agent.headSeq, hash: agent.headHash });
  }

  /**
   * Sends what the gateway's nodes show, and the withdrawals that it clears, to the agent's run.
   */
  sight({ coins, next, orders }: Pick<Sightings, "coins" | "next" | "orders">): void {
    const agent = this.#live === null ? null : this.#served(this.#live);
    if (agent === null) return;
    const about = {
      agent: agent.id,
      ledgerEpoch: agent.ledgerEpoch,
      answers: this.#runNonce,
      at: this.#rooms.clock(),
    };
    this.#send("sightings", { ...about, coins, next, orders } satisfies Sightings);
  }

  /** Waits a moment, because one pass of the watcher ends many withdrawals. */
  #tellRestSoon(): void {
    if (!this.#untold.hasMore) return;
    this.#jobTimer ??= setTimeout(() => {
      this.#jobTimer = null;
      const agent = this.#live === null ? null : this.#served(this.#live);
      const head = agent === null ? null : ledgerHeadOfAgent(agent);
      if (head !== null && this.#untold.hasMore) this.acknowledge(head);
    }, endedMs);
  }

  /** Sends the pending jobs that the connection can take. Harmless at any time. */
  pump(): void {
    const live = this.#live;
    const { store, limits, clock } = this.#rooms;
    // A withdrawal in a recovered ledger must not come as a job as well.
    if (live === null || awaitsRecovery(store.database, live)) return;
    for (this.#hasMore = true; this.#hasMore && !this.#ended; ) {
      if (this.#socket.bufferedAmount >= limits.fillBytesMax) return;
      const jobs = jobsAfter(store.database, live.id, this.#sentSequence);
      const batch = fillEnvelope(jobs);
      this.#hasMore = batch.length < jobs.length || jobs.length >= jobsPerFrameMax;
      const last = batch.at(-1);
      const agent = last === undefined ? null : this.#served(live);
      if (last === undefined || agent === null) return;
      this.#sentSequence = last.sequence;
      this.#quietSince = clock();
      // First, so that the signer has the word when it gets the job.
      this.#clear(batch.map(({ transactionId }) => transactionId));
      const frame = jobsOf(agent, live.ledgerEpoch, batch, this.#signJob, clock());
      this.#send("jobs", frame, () => this.#hasMore && this.pump());
    }
  }

  /**
   * Says of the withdrawals of jobs that nothing on the chain pays them already, where it is so.
   */
  #clear(ids: readonly string[]): void {
    const cleared = this.#rooms.clear(this.agentId ?? "", ids);
    for (let at = 0; at < cleared.length; at += clearedPerQuestionMax)
      this.sight({ coins: [], next: [], orders: cleared.slice(at, at + clearedPerQuestionMax) });
  }

  /** Continues from the first unanswered job, after a recovery or after jobs got positions. */
  goOn(): void {
    const agent = this.#live === null ? null : this.#served(this.#live);
    if (agent === null) return;
    this.#answered = answeredSequence(this.#rooms.store.database, agent);
    this.#sentSequence = this.#answered;
    this.tellEnded(endedIds(this.#rooms.store.database, agent, this.#open));
    this.tellVoid();
    this.pump();
  }

  end(reason: CloseReason): void {
    if (this.#ended) return;
    this.#rooms.log.info(
      { event: "link-closed", agent: this.agentId ?? "", reason },
      "link closed by the gateway",
    );
    this.#stop();
    this.#socket.close(closeCodes[reason], closeWords(reason));
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
    if (this.#jobTimer !== null) clearTimeout(this.#jobTimer);
    if (this.#heartbeats !== null) clearInterval(this.#heartbeats);
    this.#rooms.onClosed(this);
  }

  #send(kind: EnvelopeKind, payload: object, done?: () => void): void {
    if (this.#ended || this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.send(
      envelope.sealEnvelope(kind, payload, this.#rooms.gatewayKey),
      { binary: true },
      (error) => {
        if (error === undefined || error === null) done?.();
      },
    );
    if (this.#socket.bufferedAmount > this.#rooms.limits.sendBytesMax) this.cut();
  }

  /**
   * The agent as the database has it now. Null if another process unpaired the agent or raised its
   * epoch; then the link ends.
   */
  #served({ id, ledgerEpoch }: LiveAgent): LinkedAgent | null {
    const agent = readLinkedAgent(this.#rooms.store.database, id);
    if (agent !== undefined && agent.unpairedAt === null && agent.ledgerEpoch === ledgerEpoch)
      return agent;
    this.end(agent === undefined || agent.unpairedAt !== null ? "refused" : "ledgerEpoch");
    return null;
  }

  /** Handles one frame. Returns the reason to end the link, or null. */
  #admit(frame: Uint8Array): CloseReason | null {
    if (this.#ended) return null;
    const live = this.#live;
    try {
      return live === null ? this.#admitHello(frame) : this.#admitFrame(live, frame);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      const { code, context } = error;
      this.#rooms.log.warn(
        { event: "frame-refused", agent: live?.id ?? "", code, context },
        "a frame was refused",
      );
      return live === null ? "refused" : "protocol";
    }
  }

  #admitHello(frame: Uint8Array): CloseReason | null {
    const agent = readAgent(this.#rooms.store.database, claimedAgent(frame));
    if (agent === undefined || agent.unpairedAt !== null) return "refused";
    const linkKey = envelope.publicKeyFromHex(agent.linkKey);
    const { payload } = envelope.openEnvelope(frame, {
      kind: "hello",
      publicKey: linkKey,
      bytesMax: helloBytesMax,
    });
    const hello = parseHello(payload);
    if (hello.agent !== agent.id || hello.answers !== this.#nonce) return "refused";
    this.#rooms.onHello(this, agent.id, hello.software);
    if (isOutdated(hello)) {
      this.#rooms.onHalt(agent.id, haltForOutdatedAgent(agent.id, hello.software));
      return "upgrade_required";
    }
    if (hello.ledgerEpoch < agent.ledgerEpoch) return this.#offer(agent, hello);
    if (hello.ledgerEpoch > agent.ledgerEpoch) {
      const detail = `it holds epoch ${agent.ledgerEpoch}, the agent was granted ${hello.ledgerEpoch}`;
      this.#rooms.onHalt(agent.id, haltForDatabaseBehindAgent(agent.id, detail));
      return "behind";
    }
    if (agent.lockedCode.startsWith("HUB_")) return "locked";
    this.#live = {
      id: agent.id,
      ledgerEpoch: agent.ledgerEpoch,
      linkKey,
      signerKey: envelope.publicKeyFromHex(agent.signerKey),
    };
    this.#handshake(agent, hello);
    return null;
  }

  /** Sends an agent in recovery only its recovery offer. It is not live with its old epoch. */
  #offer(agent: AgentRow, hello: Hello): CloseReason | null {
    const { store, clock, log } = this.#rooms;
    const recovery = recoveryOf(store.database, agent);
    if (recovery === undefined || recovery.takenAt !== null) return "ledgerEpoch";
    const parts = makeRecoveryOffer(store.database, agent, recovery, {
      hello,
      sign: this.#signJob,
      nowMs: clock(),
    });
    log.info(
      {
        event: "recovery-offered",
        agent: agent.id,
        ledgerEpoch: agent.ledgerEpoch,
        parts: parts.length,
      },
      "a recovery is offered",
    );
    this.#sendParts(parts);
    return null;
  }

  /**
   * Sends the parts one by one, as the connection takes them. All parts of a large order would
   * exceed the limit.
   */
  #sendParts([part, ...rest]: readonly RecoveryPart[]): void {
    if (this.#ended) return;
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.end("ledgerEpoch"), this.#rooms.limits.deadMs);
    if (part !== undefined) this.#send("recovery", part, () => this.#sendParts(rest));
  }

  #handshake(agent: AgentRow, hello: Hello): void {
    const { store, limits, clock } = this.#rooms;
    this.#stayAlive();
    this.#answered = answeredSequence(store.database, agent);
    this.#sentSequence = this.#answered;
    this.#heartbeats = setInterval(() => this.#heartbeat(), limits.heartbeatMs);
    this.#toldSeq = agent.headSeq;
    this.#runNonce = hello.nonce;
    this.#send("welcome", welcomeOf(agent, hello.nonce, this.#nonce, clock()));
    this.#rooms.onLive(this);
    this.#open = hello.open;
    // An agent in recovery, or without a statement yet, gets them after its first statement.
    if (agent.headSeq > 0) this.tellEnded(endedIds(this.#rooms.store.database, agent, this.#open));
    this.tellVoid();
    this.pump();
  }

  /**
   * Repeats the ended withdrawals, because a message can be lost on an open connection. Each is
   * sent twice on this connection, and then at the next handshake.
   */
  #repeatEnded(): void {
    this.#heartbeatCount += 1;
    if (this.#heartbeatCount % heartbeatsToRepeat !== 0) return;
    this.tellVoid();
    this.#untold.addCommanded(
      listEndedMovedWithdrawals(this.#rooms.store.database, this.agentId ?? ""),
    );
    this.#untold.repeat();
    this.#tellRestSoon();
  }

  /**
   * Sends a heartbeat. Also detects an unpaired agent, a new epoch, and jobs with a lost signal.
   */
  #heartbeat(): void {
    const live = this.#live;
    const { store, limits, clock } = this.#rooms;
    if (live === null) return;
    const agent = this.#served(live);
    if (agent === null) return;
    // Rises even if the clock was set back, because the agent takes a lower time for a replay.
    this.#heartbeatAt = Math.max(clock(), this.#heartbeatAt + 1);
    this.#send("heartbeat", {
      agent: agent.id,
      head: ledgerHeadOfAgent(agent),
      at: this.#heartbeatAt,
    } satisfies Heartbeat);
    this.#repeatEnded();
    // The question may have been lost, so it is asked again.
    this.#askedCeiling = 0;
    this.askCeiling();
    const answered = answeredSequence(store.database, agent);
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
    if (!this.#ended)
      this.#deadline = setTimeout(() => this.end("silent"), this.#rooms.limits.deadMs);
  }

  #admitFrame(live: LiveAgent, frame: Uint8Array): CloseReason | null {
    const read = readFrame(live, frame);
    if (typeof read === "string") return read;
    if (read.kind === "question") this.#takeQuestion(read.message);
    else if (read.kind === "heartbeat") this.#rooms.onHeartbeat(this, read.message.head);
    else this.#rooms.onStatement(this, read.message);
    this.#stayAlive();
    return null;
  }

  /** One that comes too soon is dropped: a slow network may bring two together. */
  #takeQuestion(question: SightingsQuestion): void {
    const { clock, limits } = this.#rooms;
    if (Math.abs(clock() - this.#questionAt) < limits.questionMs) return;
    this.#questionAt = clock();
    this.#rooms.onQuestion(this, question);
  }
}
