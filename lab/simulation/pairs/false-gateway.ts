/**
 * A gateway that its operator has turned against the merchant: it has the gateway's true key and
 * signs whatever is asked of it. It remembers the chain of its own jobs, since nobody takes another
 * one, and every job that it ever made.
 */
import { sealEnvelope, signJob } from "../../../protocol/envelope.ts";
import { deriveOrderTransactionId, jobHashOf, zeroHash } from "../../../protocol/identity.ts";
import { operationOf } from "../../../protocol/job-mode.ts";
import type { AgentLedgerHead, Job } from "../../../protocol/messages.ts";
import { type RecoveryPart, recoveryNameOf } from "../../../protocol/recovery.ts";
import type { Sightings } from "../../../protocol/sightings.ts";
import { gatewayKey, merchant, network, wallet } from "../world/setting.ts";

/** The terms of a job; the rest of it follows from the jobs before it. */
export type FalseJobTerms = Pick<
  Job,
  "mode" | "orderId" | "currency" | "amount" | "address" | "issuedAt" | "expiresAt"
>;

/** Jobs that one frame carries: the newest, with those that a lost frame may have had. */
const jobsAtOnce = 24;
const { privateKey } = gatewayKey;

export class FalseGateway {
  readonly agent: string;
  #ledgerEpoch = 1;
  readonly texts: string[] = [];
  /** Every text, those of recovery offers among them. */
  readonly made = new Set<string>();
  #last = { sequence: 0, hash: zeroHash };
  #handshakes = 0;
  /** The number of jobs before the newest recovery offer, and before the ledger that goes on. */
  readonly #before = { order: 0, ledger: 0 };

  constructor(agent: string) {
    this.agent = agent;
  }

  get ledgerEpoch(): number {
    return this.#ledgerEpoch;
  }

  /** The agent's own word; a new one means that an order was carried out. */
  set ledgerEpoch(ledgerEpoch: number) {
    if (ledgerEpoch !== this.#ledgerEpoch) this.#before.ledger = this.#before.order;
    this.#ledgerEpoch = ledgerEpoch;
  }

  /** One more job at the end of the chain. */
  order(asked: FalseJobTerms): void {
    const text = this.textOf(asked, this.#last.sequence + 1);
    this.texts.push(text);
    this.#last = { sequence: this.#last.sequence + 1, hash: jobHashOf(text) };
  }

  /** The text of a job at any place. */
  textOf(asked: FalseJobTerms, sequence: number): string {
    const transactionId = deriveOrderTransactionId({
      merchant,
      operation: operationOf(asked.mode),
      orderId: asked.orderId,
    });
    const place = {
      agent: this.agent,
      wallet,
      network,
      ledgerEpoch: this.ledgerEpoch,
      sequence,
      previous: this.#last.hash,
    };
    const text = JSON.stringify({ ...place, transactionId, tag: "", ...asked });
    this.made.add(text);
    return text;
  }

  jobs(gatewayHead: AgentLedgerHead | null, at: number): Uint8Array {
    const jobs = this.texts.slice(this.#before.ledger).slice(-jobsAtOnce);
    const signatures = jobs.map((text) => signJob(text, privateKey));
    return this.#sealed("jobs", {
      agent: this.agent,
      wallet,
      ledgerEpoch: this.ledgerEpoch,
      gatewayHead,
      at,
      jobs,
      signatures,
    });
  }

  welcome(answers: string, gatewayHead: AgentLedgerHead | null, at: number): Uint8Array {
    this.#handshakes += 1;
    const challenge = this.#handshakes.toString(16).padStart(64, "0");
    return this.#sealed("welcome", {
      ...{
        agent: this.agent,
        wallet,
        ledgerEpoch: this.ledgerEpoch,
        challenge,
        answers,
        gatewayHead,
        jobs: this.#last,
        at,
      },
    });
  }

  ack(
    head: AgentLedgerHead,
    said: { readonly ended: readonly string[]; readonly void: readonly string[] },
    at: number,
  ): Uint8Array {
    const { ended, void: voided } = said;
    const rest = voided.length === 0 ? {} : { void: voided };
    return this.#sealed("ack", {
      agent: this.agent,
      ledgerEpoch: this.ledgerEpoch,
      head,
      ended,
      ...rest,
      at,
    });
  }

  /** Whatever the courier beside it wants to be named. */
  sightings(answers: string, next: Sightings["next"], at: number): Uint8Array {
    return this.#sealed("sightings", {
      agent: this.agent,
      ledgerEpoch: this.ledgerEpoch,
      answers,
      coins: [],
      next,
      orders: [],
      at,
    });
  }

  /** A recovery offer in one part, for the run with this id. */
  recovery(
    answers: string,
    contents: Omit<
      RecoveryPart,
      "agent" | "wallet" | "answers" | "order" | "part" | "parts" | "jobs"
    >,
  ): Uint8Array {
    this.#before.order = this.texts.length;
    const all = { agent: this.agent, wallet, answers, jobs: this.#last, ...contents };
    return this.#sealed("recovery", { ...all, order: recoveryNameOf("", all), part: 1, parts: 1 });
  }

  #sealed(
    kind: "jobs" | "welcome" | "ack" | "recovery" | "sightings",
    payload: object,
  ): Uint8Array {
    return sealEnvelope(kind, payload, privateKey);
  }
}
