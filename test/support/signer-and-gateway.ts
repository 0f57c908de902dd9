/**
 * A signer in memory beside a gateway's real database: welcomes, orders and what becomes of
 * statements are the gateway's own.
 */
import { createPublicKey } from "node:crypto";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listOpenSlots } from "../../agent/courier/scheduler/accounts.ts";
import { applySchedulerEvent, createScheduler } from "../../agent/courier/scheduler/scheduler.ts";
import type { RecoveryPlan } from "../../agent/socket/recovery-plan.ts";
import type { CourierAnswers } from "../../agent/socket/verbs.ts";
import { answeredSequence, fillEnvelope, jobsAfter } from "../../gateway/hub/outbox.ts";
import { applyStatements } from "../../gateway/hub/statements.ts";
import { keepCaughtUp } from "../../gateway/recovery/catch-up.ts";
import { endedIds, makeRecoveryOffer } from "../../gateway/recovery/offer.ts";
import { beginRecovery, recoveryOf } from "../../gateway/recovery/recovery.ts";
import type { AgentRow } from "../../gateway/store/rows.ts";
import { openStore, type Store } from "../../gateway/store/store.ts";
import { makeJob, numberJobs } from "../../gateway/withdrawals/jobs.ts";
import { contentHashOf } from "../../gateway/withdrawals/withdrawals.ts";
import { freshStore } from "../../lab/kit/fresh-store.ts";
import {
  type AnyTransaction,
  accountsText,
  insertTransaction,
  readAgent,
  readTransaction,
  silentLog,
  transferRow,
} from "../../lab/kit/gateway-database.ts";
import { callLevel } from "../../lab/kit/level-reader.ts";
import {
  type AnyAnswer,
  agentId,
  hotWallet,
  Kit,
  merchant,
  shop,
  token,
  txParams,
  vault,
  wallet,
} from "../../lab/kit/signer-kit.ts";
import {
  openEnvelope,
  publicKeyHex,
  sealEnvelope,
  signJob,
  verifyJobSignature,
} from "../../protocol/envelope.ts";
import { deriveOrderTransactionId, zeroHash } from "../../protocol/identity.ts";
import type { AgentLedgerHead, OpenSlots } from "../../protocol/messages.ts";
import { parseStatement } from "../../protocol/payloads.ts";
import { countChains } from "./recovery-offer.ts";
import { assertTaken } from "./taken.ts";

const currencies = JSON.stringify([
  { id: "usdt", network: "eip155:31337", contract: token, decimal: 6, maxFee: "0.01" },
]);
const run = "this run";
const insertAgent = `INSERT INTO agents (id, merchant, wallet, ledgerEpoch, signerKey, linkKey, accounts, networks, currencies,
  pairedAt) VALUES (?, ?, ?, 1, ?, ?, ?, '["eip155:31337"]', ?, 0)`;

/** The open slots in a courier's hello. */
function openSlotsOf(hello: AnyAnswer): readonly OpenSlots[] {
  const scheduler = createScheduler();
  applySchedulerEvent(
    scheduler,
    {
      kind: "hello",
      hello: hello as AnyAnswer & CourierAnswers["hello"],
      isFresh: true,
      askedAtMs: 0,
    },
    0,
  );
  return listOpenSlots(scheduler.book);
}

export class SignerAndGateway {
  readonly kit = new Kit();
  readonly #folder = mkdtempSync(join(tmpdir(), "signer-and-gateway-"));
  readonly #signerKey = createPublicKey(vault.signerKey);
  #opened = 0;
  store: Store;

  /** After the handshake, its account adopted. */
  constructor() {
    this.store = freshStore(this.#path(), "", silentLog);
    const { database } = this.store;
    database.run("INSERT INTO merchants (id, name, createdAt) VALUES (?, 'Shop', 0)", merchant);
    const key = publicKeyHex(vault.signerKey);
    database.run(
      insertAgent,
      agentId,
      merchant,
      wallet,
      key,
      key,
      accountsText(hotWallet),
      currencies,
    );
    this.connect();
    this.kit.begin("5");
    this.acknowledge();
  }

  remove(): void {
    this.store.close();
    rmSync(this.#folder, { recursive: true });
  }

  get agent(): AgentRow {
    return readAgent(this.store, agentId);
  }

  row(transactionId: string): AnyTransaction | undefined {
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
    this.store.database.run("UPDATE agents SET caughtUp = ''");
  }

  /** The shop asks, once or again, and the job reaches the signer. */
  order(orderId: string, change: Partial<AnyTransaction> = {}): string {
    const id = deriveOrderTransactionId({ merchant, operation: "withdraw", orderId });
    const place = {
      id,
      orderId,
      merchant,
      operation: "withdraw",
      mode: "auto",
      stage: "queued",
    } as const;
    const content = {
      currency: "usdt",
      amount: "1.5",
      units: "1500000",
      receiver: shop,
      payer: hotWallet,
    };
    const times = {
      createdAt: this.kit.now,
      changedAt: this.kit.now,
      expiresAt: this.kit.now + 86_400_000,
    };
    if (this.row(id) === undefined) {
      this.store.write((database) => {
        const contentHash = contentHashOf("auto", {
          currency: "usdt",
          amount: "1.5",
          address: shop,
          tag: "",
        });
        const row = insertTransaction(this.store, {
          ...place,
          ...content,
          ...times,
          contentHash,
          ...change,
        });
        makeJob(database, this.agent, transferRow(row), run);
      });
    }
    this.deliver();
    return id;
  }

  /** Sends the jobs with a place and without an answer to the signer. */
  deliver(): AnyAnswer | null {
    const { database } = this.store;
    const jobs = fillEnvelope(
      jobsAfter(database, agentId, answeredSequence(database, this.agent)),
    ).map(({ text }) => text);
    const signatures = jobs.map((text) => signJob(text, this.kit.gateway.key));
    return jobs.length === 0
      ? null
      : this.kit.admit(this.#seal("jobs", { wallet, gatewayHead: this.#head(), jobs, signatures }));
  }

  /** From an order to released bytes. */
  pay(orderId: string, change: Partial<AnyTransaction> = {}): string {
    const id = this.order(orderId, change);
    this.kit.ask("sign", { transactionId: id, txParams });
    this.acknowledge();
    return id;
  }

  /** Both sides see its newest attempt final on the chain. */
  complete(id: string): void {
    const attempt = this.kit.show(id).attempts.at(-1);
    const seen = { stage: "final", outcome: "paid", txHash: attempt?.txHash ?? "", block: 9 };
    this.kit.ask("observed", { transactionId: id, ...seen });
    this.store.database.run(
      "UPDATE transfers SET status = 1, stage = 'completed' WHERE id = ?",
      id,
    );
    this.acknowledge();
  }

  /**
   * Sends the gateway's answer to the signer's hello, and returns the signer's answer to it; null
   * when the two are of different epochs.
   */
  connect(): AnyAnswer | null {
    this.kit.now += 1;
    const hello = this.kit.ask("hello");
    const { nonce } = hello;
    const { agent, kit } = this;
    if (kit.core.paired.ledgerEpoch > agent.ledgerEpoch) return null;
    if (kit.core.paired.ledgerEpoch < agent.ledgerEpoch) {
      const recovery = recoveryOf(this.store.database, agent);
      if (recovery === undefined || recovery.takenAt !== null) return null;
      const parts = makeRecoveryOffer(this.store.database, agent, recovery, {
        hello: { nonce, open: openSlotsOf(hello) },
        sign: (text) => signJob(text, kit.gateway.key),
        nowMs: kit.now,
      });
      return (
        parts.map((part) => kit.admit(sealEnvelope("recovery", part, kit.gateway.key))).at(-1) ??
        null
      );
    }
    const jobs = {
      sequence: agent.jobSequence,
      hash: agent.jobSequence === 0 ? zeroHash : agent.jobHash,
    };
    const challenge = kit.now.toString(16).padStart(64, "0");
    return kit.admit(
      this.#seal("welcome", { wallet, challenge, answers: nonce, gatewayHead: this.#head(), jobs }),
    );
  }

  /** The gateway stores the signer's report and acknowledges it. @throws Error when it refuses */
  acknowledge(): void {
    this.take();
    const head = this.#head();
    const ended = endedIds(this.store.database, this.agent, openSlotsOf(this.kit.ask("hello")));
    if (head !== null) this.kit.release(this.#seal("ack", { head, ended }));
  }

  /** The gateway stores the signer's report, and its acknowledgement is lost on the way. */
  take(): void {
    for (let before = -1; before !== this.agent.headSeq; ) {
      before = this.agent.headSeq;
      for (const frame of this.kit.ask("report", { after: before }).frames) this.#store(frame);
    }
  }

  /** `agents recover`, a yes, and the gateway has taken it. */
  recover(both = false, above = 0): RecoveryPlan {
    const plan = this.sayYes(both, above);
    this.meet();
    return plan;
  }

  /**
   * Connects as far as possible: completes the handshake, reports, acknowledges, and delivers the
   * open jobs.
   */
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
    this.store.write((database) => beginRecovery(database, this.agent, above, this.kit.now));
    this.connect();
    countChains(this.kit);
    const { plan } = this.kit.operate("recover", {
      digest: "",
      bothRestored: both,
    }) as AnyAnswer & { plan: RecoveryPlan };
    const done = this.kit.operate("recover", { digest: plan.digest, bothRestored: both });
    if (!done.ok) throw new Error(`${done.code} ${done.detail}`);
    return plan;
  }

  #path(): string {
    return join(this.#folder, `gateway-${this.#opened}.db`);
  }

  #head(): AgentLedgerHead | null {
    const { headSeq, headHash } = this.agent;
    return headSeq === 0 ? null : { seq: headSeq, hash: headHash };
  }

  #seal(kind: "welcome" | "jobs" | "ack", body: object): Uint8Array {
    const { ledgerEpoch } = this.agent;
    return sealEnvelope(
      kind,
      { agent: agentId, ledgerEpoch, at: this.kit.now, ...body },
      this.kit.gateway.key,
    );
  }

  #store(frame: Uint8Array): void {
    const { payload } = openEnvelope(frame, {
      kind: "statement",
      publicKey: this.#signerKey,
      bytesMax: 262_144,
    });
    const statement = parseStatement(payload);
    const publicKey = createPublicKey(this.kit.gateway.key);
    const isOwn = (text: string, signature: string): boolean =>
      verifyJobSignature(text, signature, publicKey);
    const showsHandshake = ({ handshake }: typeof statement): boolean => handshake !== "";
    const verdict = this.store.writeIfOk((database) => {
      const applied = applyStatements(database, agentId, [statement], {
        isOwn,
        showsHandshake,
        run,
        nowMs: this.kit.now,
      });
      if (!applied.ok) return applied;
      // As the intake does: an agent that took this handshake gets the waiting jobs.
      if (statement.handshake !== "" && keepCaughtUp(database, agentId, run)) {
        callLevel(database, run);
        numberJobs(database, agentId, this.kit.now);
      }
      return applied;
    });
    assertTaken(verdict);
  }
}
