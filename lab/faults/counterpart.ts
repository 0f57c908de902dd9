/**
 * The signer's environment in the light world: a gateway that never forgets, an honest courier and
 * a chain, in this process. It drives withdrawals to their end through the real socket, and keeps
 * everything that ever left the signer, to hold it against the ledger and against what is said
 * after a restart.
 */

import type { KeyObject } from "node:crypto";
import { Transaction } from "ethers";
import {
  createSocketClient,
  type SocketAnswer,
  type SocketClient,
} from "../../agent/socket/client.ts";
import { attemptsApartMs } from "../../agent/socket/limits.ts";
import type {
  AttemptView,
  ChangedWithdrawalPart,
  CourierAnswers,
  CourierRequests,
  CourierView,
} from "../../agent/socket/verbs.ts";
import { AgentError } from "../../base/fault.ts";
import { openEnvelope, publicKeyHex } from "../../protocol/envelope.ts";
import { deriveOrderTransactionId, jobHashOf, zeroHash } from "../../protocol/identity.ts";
import type { Entry, Statement } from "../../protocol/messages.ts";
import { parseJob, parseStatement } from "../../protocol/payloads.ts";
import { GatewaySide } from "../kit/gateway-side.ts";
import { assertSafe, type KnownLimits } from "../kit/invariants.ts";
import { agentId, known, merchant } from "../kit/signer-kit.ts";
import { type Identity, openedOf, type SignerFolder } from "./signer-folder.ts";

type Client = SocketClient<CourierRequests, CourierAnswers>;

const answerMs = 20_000;
const roundsMax = 60;
const receiver = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const oneEther = 10n ** 18n;
const limits: Readonly<Record<string, KnownLimits>> = {
  eth: {
    perWithdrawal: 5n * oneEther,
    perHour: null,
    perDay: 10n ** 26n,
    fee: oneEther / 100n,
    feePerDay: 10n ** 24n,
  },
};
/** Cheap first attempts, so that a replacement with a higher fee is always within the ceiling. */
const txParams = {
  gasLimit: "21000",
  maxFeePerGas: "2000000000",
  maxPriorityFeePerGas: "1000000000",
};
const higher = {
  gasLimit: "21000",
  maxFeePerGas: "3000000000",
  maxPriorityFeePerGas: "2000000000",
};

/** The signer refused or ended: what the caller expects when it struck. */
export class SignerGoneError extends Error {
  override readonly name = "SignerGoneError";
  readonly code: string;

  constructor(code: string) {
    super(`the signer did not answer: ${code}`);
    this.code = code;
  }
}

interface MinedPayment {
  readonly transactionId: string;
  readonly txHash: string;
}

export class Counterpart {
  readonly gateway = new GatewaySide(known, Date.now);
  readonly identity: Identity;
  readonly violations: string[] = [];
  /** Every raw transaction that ever left a signer, by withdrawal and attempt. */
  readonly raws = new Map<string, string>();
  readonly asked: string[] = [];
  readonly #mined = new Map<number, MinedPayment>();
  readonly #answered = new Set<string>();
  readonly #tokenOf = new Map<string, string>();
  readonly #ownerOf = new Map<string, string>();
  readonly #hashes = new Map<string, string>();
  readonly #bumped = new Set<string>();
  readonly #key: KeyObject;

  /** `key` is the gateway's; folders made for one counterpart work with another of the same key. */
  constructor(key: KeyObject) {
    this.#key = key;
    this.identity = { agent: agentId, merchant, gatewayKey: publicKeyHex(key) };
  }

  get paidOnce(): number {
    return this.#mined.size;
  }

  /**
   * Completes the handshake and takes whatever the signer has to say; the acknowledgement gets
   * lost. @throws SignerGoneError
   */
  async listen(folder: SignerFolder): Promise<void> {
    await this.#connected(folder, async (client) => {
      await this.handshake(client, folder);
      const { frames } = await ask(client, "report", { after: this.gateway.stored?.seq ?? 0 });
      for (const frame of frames) this.#store(folder, frame, true);
    });
  }

  /** The code with which the gateway's handshake is answered; "" for a yes. */
  async handshakes(folder: SignerFolder): Promise<string> {
    return this.#connected(folder, (client) => this.handshake(client, folder)).then(
      () => "",
      (error: unknown) => {
        if (error instanceof SignerGoneError) return error.code;
        throw error;
      },
    );
  }

  /**
   * Does everything that could make a signer bind, sign or let bytes out: each must be answered
   * with `code`, or be about something that this ledger does not know. Gives what was not.
   */
  async tempt(folder: SignerFolder, code: string): Promise<readonly string[]> {
    const found: string[] = [];
    await this.#connected(folder, async (client) => {
      const { open } = await ask(client, "hello", {});
      const wallet = folder.wallet;
      const jobs = this.gateway.jobs(this.gateway.texts, { wallet, at: Date.now() }, this.#key);
      const asked: [string, Promise<SocketAnswer<object>>][] = [
        ["jobs", client.request("admit", { frames: [jobs] })],
        [
          "an account's first nonce",
          client.request("adopt", { chain: "local", slot: "0", quorum: 1 }),
        ],
      ];
      if (this.gateway.stored !== null) {
        const ack = this.gateway.ack(this.gateway.stored, { at: Date.now() }, this.#key);
        asked.push(["an acknowledgement", client.request("release", { frames: [ack] })]);
      }
      for (const { transactionId, state, attempts } of open) {
        asked.push([`sign in ${state}`, client.request("sign", { transactionId, txParams })]);
        const above = attempts.at(-1)?.attempt;
        if (above !== undefined)
          asked.push([
            `replace in ${state}`,
            client.request("replace", { transactionId, above, txParams: higher }),
          ]);
      }
      for (const [what, answer] of asked) {
        const got = await answer;
        if (got.ok || got.code !== code)
          found.push(`${what} was answered with ${got.ok ? "a yes" : got.code} instead of ${code}`);
      }
    });
    return found;
  }

  /**
   * Asks for `count` new withdrawals and drives everything open to its end.
   * @throws SignerGoneError when the signer ends or will not
   */
  async drive(folder: SignerFolder, count: number, bumps = false): Promise<void> {
    await this.#connected(folder, async (client, pushed) => {
      await this.handshake(client, folder);
      for (let added = 0; added < count; added += 1) this.#ask(folder, bumps);
      await this.#deliver(client, folder);
      for (let round = 0; ; round += 1) {
        if (round > roundsMax) throw new Error(`withdrawals are open after ${roundsMax} rounds`);
        const { open } = await ask(client, "hello", {});
        if (open.length === 0 && this.asked.every((id) => this.#answered.has(id))) break;
        await settleAll(open.map((view) => this.#advance(client, folder, view)));
        await this.receive(client, folder, pushed.splice(0));
        await this.#deliver(client, folder);
      }
      await this.receive(client, folder, []);
    });
  }

  async #connected(
    folder: SignerFolder,
    work: (client: Client, pushed: Uint8Array[]) => Promise<void>,
  ): Promise<void> {
    const client = createSocketClient<CourierRequests, CourierAnswers>(
      folder.settings.courierSocket,
      { timeoutMs: answerMs },
    );
    const pushed: Uint8Array[] = [];
    client.onPush((push) => {
      if (push.push === "statement") pushed.push(...push.frames);
    });
    try {
      await work(client, pushed);
    } catch (error) {
      if (error instanceof AgentError) throw new SignerGoneError(error.code);
      throw error;
    } finally {
      client.close();
    }
  }

  /** The gateway's handshake of this run; the first one also gives the account its first nonce. */
  async handshake(client: Client, folder: SignerFolder): Promise<void> {
    const hello = await ask(client, "hello", {});
    const frame = this.gateway.welcome(
      hello.nonce,
      { wallet: folder.wallet, jobs: this.gateway.last, at: Date.now() },
      this.#key,
    );
    await ask(client, "admit", { frames: [frame] });
    const [hot] = hello.accounts;
    if (hot?.nextSlot !== "") return;
    const next = [{ network: hot.network, account: hot.address, slot: "0", isUnused: true }];
    await ask(client, "sightings", {
      frames: [this.gateway.sightings(hello.nonce, { next, at: Date.now() }, this.#key)],
    });
    await ask(client, "adopt", { chain: "local", slot: "0", quorum: 1 });
  }

  #ask(folder: SignerFolder, bumps: boolean): void {
    const number = this.asked.length + 1;
    const orderId = `order-${number}`;
    const now = Date.now();
    const { transactionId } = this.gateway.job(
      {
        ...{
          wallet: folder.wallet,
          orderId,
          transactionId: deriveOrderTransactionId({ merchant, operation: "withdraw", orderId }),
        },
        ...{
          currency: "eth",
          amount: `0.${String(number).padStart(9, "0")}1`,
          address: receiver,
          expiresAt: now + 3_600_000,
        },
      },
      now,
    );
    this.asked.push(transactionId);
    if (bumps) this.#bumped.add(transactionId);
  }

  /** Everything from the first unanswered job on, as the gateway resends it. */
  async #deliver(client: Client, folder: SignerFolder): Promise<void> {
    const first = this.asked.findIndex((id) => !this.#answered.has(id));
    if (first < 0) return;
    const frame = this.gateway.jobs(
      this.gateway.texts.slice(first),
      { wallet: folder.wallet, at: Date.now() },
      this.#key,
    );
    await ask(client, "admit", { frames: [frame] });
  }

  async #advance(client: Client, folder: SignerFolder, view: CourierView): Promise<void> {
    const { transactionId, state } = view;
    for (const attempt of view.attempts) this.#keep(view, attempt);
    if (state === "approved" || state === "intent") {
      this.#see((await ask(client, "sign", { transactionId, txParams })).withdrawal);
    } else if (state === "released" && this.#bumped.has(transactionId) && isRipe(view)) {
      this.#see(
        (await ask(client, "replace", { transactionId, above: 1, txParams: higher })).withdrawal,
      );
    } else if (state === "released" || state === "broadcast" || state === "included") {
      const mined = this.#mine(folder, view);
      if (mined === null) return;
      const stage =
        state === "released" ? "broadcast" : state === "broadcast" ? "included" : "final";
      const outcome = stage === "final" ? "paid" : "";
      const block = stage === "broadcast" ? 0 : 7;
      await ask(client, "observed", { transactionId, stage, outcome, txHash: mined.txHash, block });
    }
  }

  #see(view: ChangedWithdrawalPart): void {
    for (const attempt of view.attempts) this.#keep(view, attempt);
  }

  /** Bytes that left once must stay the same. */
  #keep({ transactionId }: ChangedWithdrawalPart, { attempt, txHash, raw }: AttemptView): void {
    const key = `${transactionId} ${attempt}`;
    const hash = this.#hashes.get(key);
    if (hash !== undefined && hash !== txHash)
      this.violations.push(`${key} was ${hash} and is ${txHash}`);
    this.#hashes.set(key, txHash);
    if (raw === undefined) return;
    const known = this.raws.get(key);
    if (known !== undefined && known !== raw)
      this.violations.push(`${key}: other bytes than those that left before`);
    this.raws.set(key, raw);
  }

  /** The chain takes the newest attempt that is out, once per nonce. */
  #mine(folder: SignerFolder, view: CourierView): MinedPayment | null {
    const raw = view.attempts.filter((attempt) => attempt.raw !== undefined).at(-1)?.raw;
    if (raw === undefined) return null;
    const transaction = Transaction.from(raw);
    if (transaction.from !== folder.hotWallet)
      this.violations.push(`${view.transactionId}: sent by ${transaction.from}`);
    const known = this.#mined.get(transaction.nonce);
    const mined = known ?? { transactionId: view.transactionId, txHash: transaction.hash ?? "" };
    if (mined.transactionId !== view.transactionId) {
      this.violations.push(
        `nonce ${transaction.nonce} is ${mined.transactionId}'s and ${view.transactionId}'s`,
      );
    }
    for (const [nonce, other] of this.#mined) {
      if (other.transactionId === view.transactionId && nonce !== transaction.nonce)
        this.violations.push(
          `${view.transactionId} has the nonces ${nonce} and ${transaction.nonce}: it could be paid twice`,
        );
    }
    this.#mined.set(transaction.nonce, mined);
    return mined;
  }

  /** Takes every statement there is, as the gateway's database would, and acknowledges. */
  async receive(
    client: Client,
    folder: SignerFolder,
    pushed: readonly Uint8Array[],
  ): Promise<void> {
    for (const frame of pushed) this.#store(folder, frame, false);
    for (let isMore = true; isMore; ) {
      const before = this.gateway.stored?.seq ?? 0;
      const { frames } = await ask(client, "report", { after: before });
      for (const frame of frames) this.#store(folder, frame, true);
      isMore = (this.gateway.stored?.seq ?? 0) > before;
      if (this.gateway.stored === null) return;
      const ack = this.gateway.ack(this.gateway.stored, { at: Date.now() }, this.#key);
      for (const view of (await ask(client, "release", { frames: [ack] })).withdrawals)
        this.#see(view);
    }
  }

  #store(folder: SignerFolder, frame: Uint8Array, isReport: boolean): void {
    const statement = this.#open(folder, frame);
    const stored = this.gateway.stored?.seq ?? 0;
    if (statement.after > stored) {
      if (isReport)
        this.violations.push(
          `a statement after ${statement.after} when ${stored} was acknowledged`,
        );
      return;
    }
    if (statement.head.seq <= stored) return;
    for (const entry of statement.entries) if (entry.seq > stored) this.#enter(entry);
    this.gateway.stored = statement.head;
  }

  #open(folder: SignerFolder, frame: Uint8Array): Statement {
    return parseStatement(
      openEnvelope(frame, { kind: "statement", publicKey: folder.signerKey, bytesMax: 262_144 })
        .payload,
    );
  }

  #enter(entry: Entry): void {
    if (entry.kind === "decision" && entry.decision !== "held") {
      if (entry.decision !== "approved")
        this.violations.push(`${entry.transactionId} was ${entry.decision}: ${entry.code}`);
      this.#answered.add(entry.transactionId);
    }
    // A final transaction here is mined, and this chain takes nothing back.
    if (entry.kind === "observed" && entry.stage === "final")
      this.gateway.ended.add(entry.transactionId);
    if (entry.kind !== "signed") return;
    const { transactionId, attempt, txHash } = entry;
    const token = `${entry.network} ${entry.account} ${entry.slot}`;
    if ((this.#tokenOf.get(transactionId) ?? token) !== token)
      this.violations.push(`${transactionId} has two tokens`);
    if ((this.#ownerOf.get(token) ?? transactionId) !== transactionId)
      this.violations.push(`${token} has two owners`);
    const key = `${transactionId} ${attempt}`;
    if ((this.#hashes.get(key) ?? txHash) !== txHash)
      this.violations.push(`${key} was signed twice, differently`);
    this.#tokenOf.set(transactionId, token);
    this.#ownerOf.set(token, transactionId);
    this.#hashes.set(key, txHash);
    this.#answered.add(transactionId);
  }

  /**
   * Everything asked so far is paid exactly once, nonces have no gap, and the ledger on disk holds
   * every invariant.
   */
  judge(folder: SignerFolder): void {
    const records = openedOf(folder);
    const left = new Set(this.raws.values());
    try {
      assertSafe({ records, left, genuine: new Set(this.gateway.texts), limits });
    } catch (error) {
      this.violations.push(error instanceof Error ? error.message : String(error));
    }
    const paid = new Map<string, number>();
    const ended = new Set(
      records.flatMap((one) =>
        one.kind === "OBSERVED" && one.stage === "final" ? [one.transactionId] : [],
      ),
    );
    for (const { transactionId } of this.#mined.values())
      paid.set(transactionId, (paid.get(transactionId) ?? 0) + 1);
    for (const id of this.asked) {
      if (paid.get(id) !== 1) this.violations.push(`${id} was paid ${paid.get(id) ?? 0} times`);
      if (!ended.has(id)) this.violations.push(`${id} is not final`);
    }
    for (let nonce = 0; nonce < this.#mined.size; nonce += 1)
      if (!this.#mined.has(nonce)) this.violations.push(`a gap at nonce ${nonce}`);
    this.#judgeChain();
  }

  #judgeChain(): void {
    let previous = zeroHash;
    this.gateway.texts.forEach((text, place) => {
      const job = parseJob(text);
      if (job.sequence !== place + 1 || job.previous !== previous)
        this.violations.push(`job ${place + 1} is not in its place`);
      previous = jobHashOf(text);
    });
  }
}

/** All are waited for, so that nothing is under way when the first fault is told. */
async function settleAll(acts: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(acts);
  const failed = results.find((result) => result.status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}

/** An answer that must be a yes. @throws SignerGoneError */
export async function ask<V extends keyof CourierRequests & string>(
  client: Client,
  verb: V,
  body: CourierRequests[V],
): Promise<CourierAnswers[V]> {
  const answer = await client.request(verb, body);
  if (!answer.ok) throw new SignerGoneError(answer.code);
  return answer;
}

/** One attempt, and old enough for a second: the signer wants half a minute between the two. */
function isRipe({ attempts }: CourierView): boolean {
  return attempts.length === 1 && Date.now() - (attempts[0]?.signedAt ?? 0) >= attemptsApartMs;
}
