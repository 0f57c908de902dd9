/**
 * An agent as the gateway sees it: a real WebSocket client with real envelopes, whose ledger is
 * whatever the test says.
 */
import { createHash, type KeyObject } from "node:crypto";
import { WebSocket } from "ws";
import { openEnvelope, sealEnvelope } from "../../protocol/envelope.ts";
import { zeroHash } from "../../protocol/identity.ts";
import type {
  Ack,
  AgentLedgerHead,
  Challenge,
  Entry,
  EnvelopeKind,
  Heartbeat,
  Hello,
  Jobs,
  Statement,
  Welcome,
} from "../../protocol/messages.ts";
import { frameFormNumber, linkPathWithFormNumber } from "../../protocol/messages.ts";
import {
  parseAck,
  parseChallenge,
  parseHeartbeat,
  parseJobs,
  parseWelcome,
} from "../../protocol/payloads.ts";
import { parseRecoveryPart, type RecoveryPart } from "../../protocol/recovery.ts";
import { parseSightings, type Sightings } from "../../protocol/sightings.ts";
import type { AgentKeys } from "./gateway-database.ts";

type Body<T> = T extends Entry ? Omit<T, "seq" | "at"> : never;
export type EntryBody = Body<Entry>;

const parsers: Record<string, (payload: Uint8Array) => unknown> = {
  challenge: parseChallenge,
  welcome: parseWelcome,
  jobs: parseJobs,
  ack: parseAck,
  heartbeat: parseHeartbeat,
  sightings: parseSightings,
  recovery: parseRecoveryPart,
};

interface Messages {
  challenge: Challenge;
  welcome: Welcome;
  jobs: Jobs;
  ack: Ack;
  heartbeat: Heartbeat;
  sightings: Sightings;
  recovery: RecoveryPart;
}

/** The hash the test's ledger has at a place; `branch` makes another history. */
export function hashAt(seq: number, branch = ""): string {
  return createHash("sha256").update(`${branch}${seq}`).digest("hex");
}

export function headAt(seq: number, branch = ""): AgentLedgerHead {
  return { seq, hash: hashAt(seq, branch) };
}

/** A statement of entries at after+1, after+2, … */
export function statementOf(
  agent: string,
  after: number,
  bodies: readonly EntryBody[],
  change: Partial<Statement> = {},
): Statement {
  const entries = bodies.map(
    (body, index) => ({ ...body, seq: after + index + 1, at: 5_000 }) as Entry,
  );
  const previous = after === 0 ? zeroHash : hashAt(after);
  return {
    agent,
    ledgerEpoch: 2,
    handshake: "",
    after,
    previous,
    head: headAt(after + bodies.length),
    at: 5_000,
    entries,
    ...change,
  };
}

export class LinkAgent {
  readonly socket: WebSocket;
  readonly keys: AgentKeys;
  readonly frames: { kind: EnvelopeKind; bytes: number; message: unknown }[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #gatewayKey: KeyObject;
  #waiting: (() => void)[] = [];
  #read: Record<string, number> = {};
  #over = false;

  /** `from` is the address that a proxy in between would name. */
  constructor(port: number, keys: AgentKeys, gatewayKey: KeyObject, from?: string) {
    this.keys = keys;
    this.#gatewayKey = gatewayKey;
    this.socket = new WebSocket(`ws://127.0.0.1:${port}${linkPathWithFormNumber}`, {
      perMessageDeflate: false,
      ...(from === undefined ? {} : { headers: { "X-Forwarded-For": from } }),
    });
    this.closed = new Promise((done) => {
      this.socket.on("close", (code, reason) => {
        this.#over = true;
        this.#wakeAll();
        done({ code, reason: reason.toString() });
      });
    });
    this.socket.on("error", () => {});
    this.socket.on("message", (data: Buffer) => {
      const kinds = [
        "challenge",
        "welcome",
        "jobs",
        "ack",
        "heartbeat",
        "sightings",
        "recovery",
      ] as const;
      const { kind, payload } = openEnvelope(data, {
        kinds,
        publicKey: this.#gatewayKey,
        bytesMax: 65_536,
      });
      this.frames.push({ kind, bytes: data.length, message: parsers[kind]!(payload) });
      this.#wakeAll();
    });
  }

  /** This connection's challenge. */
  get nonce(): string {
    return (this.frames[0]!.message as Challenge).nonce;
  }

  #wakeAll(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** The next message of a kind that this test has not taken yet. */
  async next<K extends keyof Messages>(kind: K): Promise<Messages[K]> {
    for (;;) {
      const found = this.frames.filter((frame) => frame.kind === kind)[this.#read[kind] ?? 0];
      if (found !== undefined) {
        this.#read[kind] = (this.#read[kind] ?? 0) + 1;
        return found.message as Messages[K];
      }
      if (this.#over) throw new Error(`the link closed before a ${kind} came`);
      await new Promise<void>((done) => this.#waiting.push(done));
    }
  }

  send(kind: EnvelopeKind, payload: object, key: KeyObject): void {
    this.socket.send(sealEnvelope(kind, payload, key));
  }

  /** Says hello properly, but for `change` and `key`. */
  async hello(change: Partial<Hello> = {}, key: KeyObject = this.keys.linkKey): Promise<void> {
    const { nonce } = await this.next("challenge");
    const hello: Hello = {
      agent: this.keys.id,
      ledgerEpoch: 2,
      answers: nonce,
      nonce: "07".repeat(32),
      software: "test",
      kinds: frameFormNumber,
      open: [],
      at: 5_000,
      ...change,
    };
    this.send("hello", hello, key);
  }

  async handshake(): Promise<Welcome> {
    await this.hello();
    return this.next("welcome");
  }

  state(statement: Statement, key: KeyObject = this.keys.signerKey): void {
    this.send("statement", statement, key);
  }
}
