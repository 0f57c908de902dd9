/**
 * The agent's end of the link beside a gateway under faults: it admits, binds, signs and reports by
 * the protocol with a ledger of its own in memory, pays on a chain of this process once
 * acknowledged, and remembers every word the gateway ever gave.
 */
import type { KeyObject } from "node:crypto";
import { parseAmount } from "../../protocol/amount.ts";
import { jobHashOf } from "../../protocol/identity.ts";
import type { AgentLedgerHead, Welcome } from "../../protocol/messages.ts";
import { parseJob } from "../../protocol/payloads.ts";
import { FakeChain, type FakeTransaction, hashOf } from "../kit/fake-chain.ts";
import type { AgentKeys } from "../kit/gateway-database.ts";
import { type EntryBody, hashAt, headAt, LinkAgent, statementOf } from "../kit/link-agent.ts";

interface PaidJob {
  readonly text: string; // its job's
  readonly nonce: number;
  readonly txHash: string;
  readonly seq: number; // its `signed` entry's
  isOut: boolean;
  observed: number; // stages told
}

/**
 * The chain's first block is so far in the future: blocks come with payments alone, and a chain
 * that waits for one is no node that stands still.
 */
const standingS = 600;
const entriesAtOnce = 64;
const stages = ["broadcast", "included", "final"] as const;

/** The link ended before what was waited for came. */
export class LinkLost extends Error {
  override readonly name = "LinkLost";
}

export class StubAgent {
  readonly chain: FakeChain;
  readonly violations: string[] = [];
  readonly withdrawals = new Map<string, PaidJob>();
  readonly #keys: AgentKeys;
  readonly #gatewayKey: KeyObject;
  readonly #send: (payment: FakeTransaction) => void;
  readonly #entries: EntryBody[] = [];
  readonly #texts: string[] = [];
  #acked = 0; // head.seq; the ledger's first record, its pairing, has no entry
  #ceiling = 0; // for deposit addresses
  #link: LinkAgent | null = null;

  /** `send` brings a payment into a block; without it that happens at once, and two more follow. */
  constructor(keys: AgentKeys, gatewayKey: KeyObject, send?: (payment: FakeTransaction) => void) {
    this.#keys = keys;
    this.#gatewayKey = gatewayKey;
    this.#send = send ?? ((payment) => this.#mine(payment));
    this.chain = new FakeChain(Math.floor(Date.now() / 1_000) + standingS);
    this.chain.coins.push({ block: 0, address: keys.hotWalletAddress, units: 10n ** 24n });
    this.chain.mineEmpty(3);
  }

  /**
   * Connects, completes the handshake and works until the link ends; the welcome's statements about
   * older promises are checked first.
   */
  async connect(port: number): Promise<void> {
    this.#link?.socket.terminate();
    const link = new LinkAgent(port, this.#keys, this.#gatewayKey);
    this.#link = link;
    // LinkAgent pairs with epoch 2; this agent was granted 1.
    await link.hello({ ledgerEpoch: 1, at: Date.now() }).catch(() => lost());
    const welcome = await link.next("welcome").catch(() => lost());
    this.#hold(welcome);
    // A gateway head that fits is the same word as an acknowledgement.
    if (welcome.gatewayHead !== null) this.#goOn(welcome.gatewayHead);
    this.#state(link, welcome.gatewayHead?.seq ?? 0);
    this.#listen(link).catch(() => undefined);
  }

  close(): void {
    this.#link?.socket.terminate();
    this.#link = null;
  }

  get isLinked(): boolean {
    return this.#link?.socket.readyState === this.#link?.socket.OPEN && this.#link !== null;
  }

  get isSettled(): boolean {
    return this.#acked === this.#top;
  }

  /** The newest record. */
  get #top(): number {
    return 1 + this.#entries.length;
  }

  /** Every job is bound and signed, acknowledged, and told to the end. */
  get isDone(): boolean {
    return (
      this.isSettled &&
      [...this.withdrawals.values()].every((one) => one.isOut && one.observed === stages.length)
    );
  }

  #hold({ gatewayHead, jobs }: Welcome): void {
    const seq = gatewayHead?.seq ?? 0;
    if (seq < this.#acked)
      this.violations.push(`record ${this.#acked} was acknowledged, the gateway now holds ${seq}`);
    if (gatewayHead !== null && (seq > this.#top || gatewayHead.hash !== hashAt(seq)))
      this.violations.push(`the gateway holds a record ${seq} that is not ours`);
    const known = this.#texts[jobs.sequence - 1];
    if (jobs.sequence < this.#texts.length)
      this.violations.push(`job ${this.#texts.length} is forgotten`);
    if (known !== undefined && jobHashOf(known) !== jobs.hash)
      this.violations.push(`job ${jobs.sequence} is another one now`);
  }

  async #listen(link: LinkAgent): Promise<void> {
    const jobs = async (): Promise<void> => {
      for (;;) for (const text of (await link.next("jobs")).jobs) this.#admit(text);
    };
    const acks = async (): Promise<void> => {
      for (;;) {
        const { head, ceiling } = await link.next("ack");
        this.#keepCeiling(ceiling);
        this.#release(head);
      }
    };
    await Promise.race([jobs(), acks()]);
  }

  #admit(text: string): void {
    const job = parseJob(text);
    const known = this.#texts[job.sequence - 1];
    if (known !== undefined) {
      if (known !== text) this.violations.push(`job ${job.sequence} came with two texts`);
      return;
    }
    if (job.sequence !== this.#texts.length + 1)
      this.violations.push(`job ${job.sequence} after ${this.#texts.length}`);
    if (this.withdrawals.has(job.transactionId))
      this.violations.push(`two jobs for ${job.transactionId}`);
    this.#texts.push(text);
    const { transactionId, address } = job;
    const nonce = this.withdrawals.size;
    const txHash = hashOf(`${transactionId} ${nonce}`);
    const from = this.#top;
    this.#entries.push(
      { kind: "decision", transactionId, decision: "approved", code: "", address },
      {
        ...{
          kind: "signed",
          transactionId,
          attempt: 1,
          network: job.network,
          account: this.#keys.hotWalletAddress,
        },
        ...{ slot: String(nonce), txHash, feeMax: "42000000000000" },
      },
    );
    this.withdrawals.set(transactionId, {
      text,
      nonce,
      txHash,
      seq: from + 2,
      isOut: false,
      observed: 0,
    });
    if (this.#link !== null) this.#state(this.#link, from);
  }

  /**
   * Every record after `after`, as many statements as it takes; that the handshake was taken is
   * said with it, also where nothing is new.
   */
  #state(link: LinkAgent, after: number): void {
    if (link.socket.readyState !== link.socket.OPEN) return;
    let said = after;
    do {
      const first = Math.max(said, 1);
      const news = this.#entries.slice(first - 1, first - 1 + entriesAtOnce);
      const entries = news.map((body, index) => ({ ...body, seq: first + index + 1, at: 5_000 }));
      const head = headAt(Math.min(this.#top, first + news.length));
      link.state(
        statementOf(this.#keys.id, said, [], {
          ledgerEpoch: 1,
          at: Date.now(),
          handshake: link.nonce,
          head,
          entries,
        }),
      );
      said = head.seq;
    } while (said < this.#top);
  }

  /** A ledger holds the highest ceiling of deposit addresses that it was asked to hold. */
  #keepCeiling(ceiling = 0): void {
    if (ceiling <= this.#ceiling) return;
    this.#ceiling = ceiling;
    const after = this.#top;
    this.#entries.push({ kind: "ceiling", ceiling });
    if (this.#link !== null) this.#state(this.#link, after);
  }

  #release(head: AgentLedgerHead): void {
    const after = this.#top;
    this.#goOn(head);
    if (this.#link !== null && this.#top > after) this.#state(this.#link, after);
  }

  /**
   * The first bytes leave here; afterwards the stages are noted, each when the one before is
   * acknowledged.
   */
  #goOn(head: AgentLedgerHead): void {
    if (head.seq > this.#top || head.hash !== headAt(head.seq).hash)
      this.violations.push(`the gateway acknowledges record ${head.seq}, which is not ours`);
    this.#acked = Math.max(this.#acked, head.seq);
    const after = this.#top;
    for (const [transactionId, one] of this.withdrawals) {
      if (one.seq > this.#acked) continue;
      if (!one.isOut) this.#pay(one);
      const stage = stages[one.observed];
      if (stage === undefined || !this.#isToldUpTo(after)) continue;
      one.observed += 1;
      const outcome = stage === "final" ? "paid" : "";
      this.#entries.push({ kind: "observed", transactionId, stage, outcome, txHash: one.txHash });
    }
  }

  #isToldUpTo(seq: number): boolean {
    return this.#acked >= seq;
  }

  #pay(one: PaidJob): void {
    one.isOut = true;
    const job = parseJob(one.text);
    const amount = parseAmount(job.amount, 18);
    if (!amount.ok) throw new Error(`an amount that no agent can read: ${job.amount}`);
    const { txHash: hash, nonce } = one;
    this.#send({
      hash,
      from: this.#keys.hotWalletAddress,
      nonce,
      to: job.address,
      value: amount.units,
    });
  }

  #mine(payment: FakeTransaction): void {
    this.chain.mine(payment);
    this.chain.mineEmpty(2);
  }
}

function lost(): never {
  throw new LinkLost();
}
