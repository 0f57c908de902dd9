/**
 * A gateway that its operator has turned against the merchant: it has the gateway's true key and
 * signs whatever is asked of it. It remembers the chain of its own jobs, since nobody takes another
 * one, and every job that it ever made.
 */
import { sealEnvelope, signJob } from "../../../protocol/envelope.ts";
import { jobHashOf, transactionIdOf, zeroHash } from "../../../protocol/identity.ts";
import { operationOf } from "../../../protocol/job-mode.ts";
import type { Head, Job } from "../../../protocol/messages.ts";
import { type Recovery, recoveryNameOf } from "../../../protocol/recovery.ts";
import { gatewayKey, merchant, network, wallet } from "../world/setting.ts";

/** The words of an order; the rest of a job follows from the chain of jobs. */
export type Asked = Pick<Job, "mode" | "orderId" | "currency" | "amount" | "address" | "issuedAt" | "expiresAt">;

/** Jobs that one frame carries: the newest, with those that a lost frame may have had. */
const jobsAtOnce = 24;
const { privateKey } = gatewayKey;

export class FalseGateway {
  readonly agent: string;
  #epoch = 1;
  readonly texts: string[] = [];
  /** Every text, those of recovery orders among them. */
  readonly made = new Set<string>();
  #last = { sequence: 0, hash: zeroHash };
  #greetings = 0;
  /** Jobs that stand before the newest order, and before the ledger that goes on. */
  readonly #before = { order: 0, ledger: 0 };

  constructor(agent: string) {
    this.agent = agent;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** The agent's own word; a new one means that an order was carried out. */
  set epoch(epoch: number) {
    if (epoch !== this.#epoch) this.#before.ledger = this.#before.order;
    this.#epoch = epoch;
  }

  /** One more job at the end of the chain. */
  order(asked: Asked): void {
    const text = this.textOf(asked, this.#last.sequence + 1);
    this.texts.push(text);
    this.#last = { sequence: this.#last.sequence + 1, hash: jobHashOf(text) };
  }

  /** The text of a job at any place. */
  textOf(asked: Asked, sequence: number): string {
    const transactionId = transactionIdOf({ merchant, operation: operationOf(asked.mode), orderId: asked.orderId });
    const place = { agent: this.agent, wallet, network, epoch: this.epoch, sequence, previous: this.#last.hash };
    const text = JSON.stringify({ ...place, transactionId, tag: "", ...asked });
    this.made.add(text);
    return text;
  }

  jobs(echo: Head | null, at: number): Uint8Array {
    const jobs = this.texts.slice(this.#before.ledger).slice(-jobsAtOnce);
    const signatures = jobs.map((text) => signJob(text, privateKey));
    return this.#sealed("jobs", { agent: this.agent, wallet, epoch: this.epoch, echo, at, jobs, signatures });
  }

  welcome(answers: string, echo: Head | null, at: number): Uint8Array {
    this.#greetings += 1;
    const challenge = this.#greetings.toString(16).padStart(64, "0");
    return this.#sealed("welcome", {
      ...{ agent: this.agent, wallet, epoch: this.epoch, challenge, answers, echo, jobs: this.#last, at },
    });
  }

  ack(head: Head, said: { readonly ended: readonly string[]; readonly dead: readonly string[] }, at: number): Uint8Array {
    const { ended, dead } = said;
    const rest = dead.length === 0 ? {} : { dead };
    return this.#sealed("ack", { agent: this.agent, epoch: this.epoch, head, ended, ...rest, at });
  }

  /** An order of one part, for the run that asked with this nonce. */
  recovery(
    answers: string,
    contents: Omit<Recovery, "agent" | "wallet" | "answers" | "order" | "part" | "parts" | "jobs">,
  ): Uint8Array {
    this.#before.order = this.texts.length;
    const all = { agent: this.agent, wallet, answers, jobs: this.#last, ...contents };
    return this.#sealed("recovery", { ...all, order: recoveryNameOf("", all), part: 1, parts: 1 });
  }

  #sealed(kind: "jobs" | "welcome" | "ack" | "recovery", payload: object): Uint8Array {
    return sealEnvelope(kind, payload, privateKey);
  }
}
