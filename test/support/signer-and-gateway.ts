/**
 * A signer in memory beside a gateway's real database: welcomes, orders and what becomes of
 * statements are the gateway's own.
 */
import { createPublicKey } from "node:crypto";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSlots } from "../../agent/courier/desk/accounts.ts";
import { createDesk, step } from "../../agent/courier/desk/desk.ts";
import type { RecoveryPlan } from "../../agent/socket/recovery-plan.ts";
import type { CourierAnswers } from "../../agent/socket/verbs.ts";
import { answeredUpTo, fillEnvelope, jobsAfter } from "../../gateway/hub/outbox.ts";
import { applyStatements } from "../../gateway/hub/statements.ts";
import { keepHeard } from "../../gateway/recovery/hearing.ts";
import { endedIds, recoveryOrder } from "../../gateway/recovery/order.ts";
import { beginRecovery, recoveryOf } from "../../gateway/recovery/recovery.ts";
import type { AgentRow, TransactionRow } from "../../gateway/store/rows.ts";
import { createStore, openStore, type Store } from "../../gateway/store/store.ts";
import { makeJob, placeJobs } from "../../gateway/withdrawals/jobs.ts";
import { contentHashOf } from "../../gateway/withdrawals/withdrawals.ts";
import { accountsText, insertTransaction, readAgent, readTransaction, silentLog } from "../../lab/rig/gateway-database.ts";
import { type AnyAnswer, agentId, facts, hot, merchant, Rig, shop, token, vault, wallet } from "../../lab/rig/signer-rig.ts";
import { isJobSignature, openEnvelope, publicKeyHex, sealEnvelope, signJob } from "../../protocol/envelope.ts";
import { transactionIdOf, zeroHash } from "../../protocol/identity.ts";
import type { Head, OpenSlots } from "../../protocol/messages.ts";
import { parseStatement } from "../../protocol/payloads.ts";
import { assertTaken } from "./taken.ts";

const currencies = JSON.stringify([{ id: "usdt", network: "eip155:31337", contract: token, decimal: 6, maxFee: "0.01" }]);
const run = "this run";
const insertAgent = `INSERT INTO agents (id, merchant, wallet, epoch, signerKey, linkKey, accounts, networks, currencies,
  pairedAt) VALUES (?, ?, ?, 1, ?, ?, ?, '["eip155:31337"]', ?, 0)`;

/** The open slots in a courier's hello. */
function openSlotsOf(hello: AnyAnswer): readonly OpenSlots[] {
  const desk = createDesk();
  step(desk, { kind: "hello", hello: hello as AnyAnswer & CourierAnswers["hello"], isFresh: true, askedAtMs: 0 }, 0);
  return openSlots(desk.book);
}

export class SignerAndGateway {
  readonly rig = new Rig();
  readonly #folder = mkdtempSync(join(tmpdir(), "signer-and-gateway-"));
  readonly #signerKey = createPublicKey(vault.signerKey);
  #opened = 0;
  store: Store;

  /** Greeted, its account adopted. */
  constructor() {
    this.store = createStore(this.#path(), "", silentLog);
    const { database } = this.store;
    database.run("INSERT INTO merchants (id, name, createdAt) VALUES (?, 'Shop', 0)", merchant);
    const key = publicKeyHex(vault.signerKey);
    database.run(insertAgent, agentId, merchant, wallet, key, key, accountsText(hot), currencies);
    this.connect();
    this.rig.begin("5");
    this.acknowledge();
  }

  remove(): void {
    this.store.close();
    rmSync(this.#folder, { recursive: true });
  }

  get agent(): AgentRow {
    return readAgent(this.store, agentId);
  }

  row(transactionId: string): TransactionRow | undefined {
    return readTransaction(this.store, transactionId);
  }

  isAnswered(transactionId: string): boolean {
    const sql = "SELECT 1 FROM jobs WHERE transactionId = ? AND answeredAt IS NOT NULL";
    return this.store.database.get(sql, transactionId) !== undefined;
  }

  keepDatabase(name: string): void {
    this.store.database.run("VACUUM INTO ?", join(this.#folder, name));
  }

  putDatabaseBack(name: string): void {
    this.store.close();
    this.#opened += 1;
    copyFileSync(join(this.#folder, name), this.#path());
    this.store = openStore(this.#path(), silentLog);
    // Another life of the gateway: it has no agent's word yet.
    this.store.database.run("UPDATE agents SET heard = ''");
  }

  /** The shop asks, once or again, and the job reaches the signer. */
  order(orderId: string, change: Partial<TransactionRow> = {}): string {
    const id = transactionIdOf({ merchant, operation: "withdraw", orderId });
    const place = { id, orderId, merchant, operation: "withdraw", mode: "auto", stage: "queued" } as const;
    const content = { currency: "usdt", amount: "1.5", amountUnits: "1500000", receiverAddress: shop, depositAddress: hot };
    const times = { createdAt: this.rig.now, changedAt: this.rig.now, expiresAt: this.rig.now + 86_400_000 };
    if (this.row(id) === undefined) {
      this.store.write((database) => {
        const contentHash = contentHashOf("auto", { currency: "usdt", amount: "1.5", address: shop, tag: "" });
        const row = insertTransaction(this.store, { ...place, ...content, ...times, contentHash, ...change });
        makeJob(database, this.agent, row, run);
      });
    }
    this.deliver();
    return id;
  }

  /** Sends the jobs with a place and without an answer to the signer. */
  deliver(): AnyAnswer | null {
    const { database } = this.store;
    const jobs = fillEnvelope(jobsAfter(database, agentId, answeredUpTo(database, this.agent))).map(({ text }) => text);
    const signatures = jobs.map((text) => signJob(text, this.rig.gateway.key));
    return jobs.length === 0 ? null : this.rig.admit(this.#seal("jobs", { wallet, echo: this.#head(), jobs, signatures }));
  }

  /** From an order to released bytes. */
  pay(orderId: string): string {
    const id = this.order(orderId);
    this.rig.ask("sign", { transactionId: id, facts });
    this.acknowledge();
    return id;
  }

  /** Both sides see its newest version final on the chain. */
  complete(id: string): void {
    const version = this.rig.show(id).versions.at(-1);
    const seen = { stage: "final", outcome: "paid", txHash: version?.txHash ?? "", block: 9 };
    this.rig.ask("observed", { transactionId: id, ...seen });
    this.store.database.run("UPDATE transactions SET status = 1, stage = 'completed' WHERE id = ?", id);
    this.acknowledge();
  }

  /**
   * Sends the gateway's answer to the signer's hello, and returns the signer's answer to it; null
   * when the two are of different epochs.
   */
  connect(): AnyAnswer | null {
    this.rig.now += 1;
    const hello = this.rig.ask("hello");
    const { nonce } = hello;
    const { agent, rig } = this;
    if (rig.core.paired.epoch > agent.epoch) return null;
    if (rig.core.paired.epoch < agent.epoch) {
      const recovery = recoveryOf(this.store.database, agent);
      if (recovery === undefined || recovery.takenAt !== null) return null;
      const parts = recoveryOrder(this.store.database, agent, recovery, {
        hello: { nonce, open: openSlotsOf(hello) },
        sign: (text) => signJob(text, rig.gateway.key),
        nowMs: rig.now,
      });
      return parts.map((part) => rig.admit(sealEnvelope("recovery", part, rig.gateway.key))).at(-1) ?? null;
    }
    const jobs = { sequence: agent.jobSequence, hash: agent.jobSequence === 0 ? zeroHash : agent.jobHash };
    const challenge = rig.now.toString(16).padStart(64, "0");
    return rig.admit(this.#seal("welcome", { wallet, challenge, answers: nonce, echo: this.#head(), jobs }));
  }

  /** The gateway stores the signer's report and acknowledges it. @throws Error when it refuses */
  acknowledge(): void {
    for (let before = -1; before !== this.agent.headSeq; ) {
      before = this.agent.headSeq;
      for (const frame of this.rig.ask("report", { after: before }).frames) this.#store(frame);
    }
    const head = this.#head();
    const ended = endedIds(this.store.database, this.agent, openSlotsOf(this.rig.ask("hello")));
    if (head !== null) this.rig.release(this.#seal("ack", { head, ended }));
  }

  /** `agents recover`, a yes, and the gateway has taken it. */
  recover(both = false, above = 0): RecoveryPlan {
    const plan = this.sayYes(both, above);
    this.meet();
    return plan;
  }

  /** Connects as far as possible: greets, reports, acknowledges, and delivers the open jobs. */
  meet(): AnyAnswer | null {
    const answer = this.connect();
    this.acknowledge();
    this.acknowledge();
    this.deliver();
    this.acknowledge();
    return answer;
  }

  /** The same up to the yes: the gateway receives nothing of it yet. */
  sayYes(both = false, above = 0): RecoveryPlan {
    this.store.write((database) => beginRecovery(database, this.agent, above, this.rig.now));
    this.connect();
    const { plan } = this.rig.operate("recover", { digest: "", both }) as AnyAnswer & { plan: RecoveryPlan };
    const done = this.rig.operate("recover", { digest: plan.digest, both });
    if (!done.ok) throw new Error(`${done.code} ${done.detail}`);
    return plan;
  }

  #path(): string {
    return join(this.#folder, `gateway-${this.#opened}.db`);
  }

  #head(): Head | null {
    const { headSeq, headHash } = this.agent;
    return headSeq === 0 ? null : { seq: headSeq, hash: headHash };
  }

  #seal(kind: "welcome" | "jobs" | "ack", body: object): Uint8Array {
    const { epoch } = this.agent;
    return sealEnvelope(kind, { agent: agentId, epoch, at: this.rig.now, ...body }, this.rig.gateway.key);
  }

  #store(frame: Uint8Array): void {
    const { payload } = openEnvelope(frame, { kind: "statement", publicKey: this.#signerKey, bytesMax: 262_144 });
    const statement = parseStatement(payload);
    const publicKey = createPublicKey(this.rig.gateway.key);
    const isOwn = (text: string, signature: string): boolean => isJobSignature(text, signature, publicKey);
    const tellsGreeting = ({ greeted }: typeof statement): boolean => greeted !== "";
    const verdict = this.store.writeIfOk((database) => {
      const applied = applyStatements(database, agentId, [statement], { isOwn, tellsGreeting, run, nowMs: this.rig.now });
      if (!applied.ok) return applied;
      // As the intake does: an agent that took this greeting gets the waiting jobs.
      if (statement.greeted !== "" && keepHeard(database, agentId, run)) placeJobs(database, agentId);
      return applied;
    });
    assertTaken(verdict);
  }
}
