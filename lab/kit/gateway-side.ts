/**
 * The gateway's side of a signer's talk: it signs jobs, handshakes and acknowledgements with its
 * own key, honest unless a test changes a field.
 */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { sealEnvelope, signJob } from "../../protocol/envelope.ts";
import { deriveOrderTransactionId, jobHashOf, zeroHash } from "../../protocol/identity.ts";
import type { Ack, AgentLedgerHead, Job, Jobs, Welcome } from "../../protocol/messages.ts";
import type { Sightings } from "../../protocol/sightings.ts";

/** The signer it talks to, and what its jobs say unless told otherwise. */
interface JobDefaults {
  readonly agentId: string;
  readonly wallet: string;
  readonly merchant: string;
  readonly receiver: string;
  readonly begun: number;
}

/**
 * The messages that the gateway would sign, with its own memory of the jobs and of the agent's
 * ledger.
 */
export class GatewaySide {
  readonly key: KeyObject;
  readonly texts: string[] = [];
  /**
   * The withdrawals that its own nodes call ended: all that the courier told, unless a test takes
   * one out.
   */
  readonly ended = new Set<string>();
  /** Hashes that its own nodes call void. */
  readonly voided = new Set<string>();
  stored: AgentLedgerHead | null = null;
  last = { sequence: 0, hash: zeroHash };
  ledgerEpoch = 1;
  #orders = 0;
  #connections = 0;
  readonly #known: JobDefaults;
  readonly #clock: () => number;

  constructor(
    known: JobDefaults,
    clock: () => number,
    key: KeyObject = generateKeyPairSync("ed25519").privateKey,
  ) {
    this.#known = known;
    this.#clock = clock;
    this.key = key;
  }

  /** Makes the next job in the chain and remembers its text. */
  job(change: Partial<Job> = {}, at = this.#known.begun): Job {
    const { agentId, wallet, merchant, receiver } = this.#known;
    const orderId = change.orderId ?? `order-${++this.#orders}`;
    const job: Job = {
      ...{
        agent: agentId,
        wallet,
        network: "eip155:31337",
        ledgerEpoch: this.ledgerEpoch,
        sequence: this.last.sequence + 1,
      },
      ...{ previous: this.last.hash, issuedAt: at, expiresAt: at + 86_400_000, mode: "auto" },
      transactionId: deriveOrderTransactionId({ merchant, operation: "withdraw", orderId }),
      ...{ orderId, currency: "usdt", amount: "1.5", address: receiver, tag: "" },
      ...change,
    };
    const text = JSON.stringify(job);
    this.texts.push(text);
    this.last = { sequence: job.sequence, hash: jobHashOf(text) };
    return job;
  }

  jobs(texts: readonly string[], change: Partial<Jobs> = {}, key = this.key): Uint8Array {
    const { agentId: agent, wallet } = this.#known;
    const signed = { signatures: texts.map((text) => signJob(text, key)) };
    return sealEnvelope(
      "jobs",
      {
        agent,
        wallet,
        ledgerEpoch: this.ledgerEpoch,
        gatewayHead: this.stored,
        at: this.#clock(),
        jobs: texts,
        ...signed,
        ...change,
      },
      key,
    );
  }

  welcome(answers: string, change: Partial<Welcome> = {}, key = this.key): Uint8Array {
    const welcome = {
      agent: this.#known.agentId,
      wallet: this.#known.wallet,
      ledgerEpoch: this.ledgerEpoch,
      challenge: (++this.#connections).toString(16).padStart(64, "0"),
      answers,
      gatewayHead: this.stored,
      jobs: this.last,
      at: this.#clock(),
      ...change,
    };
    return sealEnvelope("welcome", welcome, key);
  }

  /** What its own nodes show, for the run with this nonce. */
  sightings(answers: string, shown: Partial<Sightings>, key = this.key): Uint8Array {
    const about = { agent: this.#known.agentId, ledgerEpoch: this.ledgerEpoch, answers };
    return sealEnvelope(
      "sightings",
      { ...about, coins: [], next: [], orders: [], at: this.#clock(), ...shown },
      key,
    );
  }

  ack(head: AgentLedgerHead, change: Partial<Ack> = {}, key = this.key): Uint8Array {
    const ended = [...this.ended].slice(-256);
    const voided = this.voided.size === 0 ? {} : { void: [...this.voided].slice(-256) };
    const ack = {
      agent: this.#known.agentId,
      ledgerEpoch: this.ledgerEpoch,
      head,
      ended,
      ...voided,
      at: this.#clock(),
      ...change,
    };
    return sealEnvelope("ack", ack, key);
  }
}
