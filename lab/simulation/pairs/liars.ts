/**
 * Gateway and courier with one mind: they order what they like, ask for signatures, call void, paid
 * and ended what they like, tell times of their own, show again what was said before, and make
 * orders for a recovery that never was. Their words are well formed as a rule; some are garbage.
 */
import type { CourierAnswers, CourierRequests, CourierView } from "../../../agent/socket/verbs.ts";
import { signJob } from "../../../protocol/envelope.ts";
import type { AgentLedgerHead, Job } from "../../../protocol/messages.ts";
import type { RecoveryWithdrawal } from "../../../protocol/recovery.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import type { Machine } from "../world/agent.ts";
import { LocalSocket } from "../world/local-socket.ts";
import { namedReceiver, type Order, type Plan, receivers, twin } from "../world/plan.ts";
import {
  begun,
  chainName,
  contract,
  gatewayKey,
  hotWallet,
  network,
  stage,
} from "../world/setting.ts";
import { waitingReceivers } from "../world/worlds.ts";
import { FalseGateway, type FalseJobTerms } from "./false-gateway.ts";
import { fairTxParams, falseTxParams } from "./false-parameters.ts";

type Hello = CourierAnswers["hello"] & { readonly ok: boolean };
type SignerAnswer = Readonly<Record<string, unknown>> & { readonly ok: boolean };

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** Times that they claim, beside the true one. */
const skewsMs = [0, 0, 0, 0, 0, 9 * minuteMs, -9 * minuteMs, 11 * minuteMs, 26 * hourMs] as const;
/** Nobody acts for so long. */
const leapsMs = [
  0,
  0,
  31_000,
  31_000,
  8 * minuteMs,
  8 * minuteMs,
  61 * minuteMs,
  25 * hourMs,
] as const;
const amounts = [
  "0.1",
  "0.1",
  "0.15",
  "0.2",
  "0.25",
  "0.3",
  "0.35",
  "0.36",
  "0.45",
  "0.5",
  "1.9",
  "2",
  "2.1",
  "49",
] as const;
/** Acts of two liars: those that bring a payment, and then anything. */
const plain = [
  "order",
  "order",
  "order",
  "sign",
  "sign",
  "acknowledge",
  "acknowledge",
  "replace",
  "handshake",
] as const;
const strange = ["callVoid", "end", "recover", "adopt", "again", "garble", "wait"] as const;
/** Their aim in one run, beside everything else. */
const campaigns = [
  [...plain, ...strange],
  [...plain, ...strange],
  [...plain, "cycle", "cycle", "cycle", "cycle", "wait"],
  [...plain, "recover", "recover", "recover", "recover", "replace", "replace", "acknowledge"],
] as const;
type Act = (typeof campaigns)[number][number];
const garbled = ["tell", "report", "decline", "observed", "account", "sing"] as const;

export class Liars {
  readonly gateway: FalseGateway;
  readonly #machine: Machine;
  readonly #plan: Plan;
  readonly #owner: Owner = { name: "liars", isAlive: true, hasPromises: true };
  readonly #seen: (message: never) => void;
  readonly #frames: { readonly verb: "admit" | "release"; readonly frame: Uint8Array }[] = [];
  readonly #heads: AgentLedgerHead[] = [];
  readonly #voided = new Set<string>();
  /** Withdrawals that they called ended. */
  readonly ended = new Set<string>();
  #socket: LocalSocket | null = null;
  #handshakeDone: object | null = null; // the signer's run of their last handshake
  readonly #campaign = kernel.random.pick("what they are after", campaigns);
  #ledgerEpoch = 1;
  #orders = 0;
  #ledgerEpochs = 0; // epochs of recoveries that they began

  constructor(machine: Machine, plan: Plan, seen: (message: never) => void) {
    this.#machine = machine;
    this.#plan = plan;
    this.#seen = seen;
    this.gateway = new FalseGateway(machine.id);
  }

  get #now(): number {
    return begun + Math.floor(kernel.scheduler.nowMs);
  }

  /** The time that they tell now. */
  get #at(): number {
    return this.#now + kernel.random.pick("they say that the time is", skewsMs);
  }

  /** One act of theirs, now. */
  act(): void {
    kernel.scheduler.after(1, this.#owner, () => {
      this.#next().catch(() => {});
    });
  }

  async #next(): Promise<void> {
    const hello = await this.#hello();
    if (hello === null) return;
    // Without a handshake nothing is taken, so that mostly comes first.
    const isNew = this.#machine.signer?.signer !== this.#handshakeDone;
    if (hello.ledgerEpoch > this.#ledgerEpoch) await this.#harvest(hello);
    else if (
      isNew ||
      (!hello.handshakeDone && kernel.random.below("complete the handshake with it", 3) > 0)
    )
      await this.#handshake(hello);
    else await this.#act(hello, kernel.random.pick("their act", this.#campaign));
  }

  async #act(hello: Hello, act: Act): Promise<void> {
    const { random, scheduler } = kernel;
    note("they", act);
    switch (act) {
      case "handshake":
        return this.#handshake(hello);
      case "order":
        return this.#order(hello);
      case "sign":
        for (const { transactionId, contract: token } of hello.open)
          void this.#ask("sign", { transactionId, txParams: this.#txParams(token) });
        return;
      case "acknowledge":
        return this.#acknowledge(hello);
      case "replace":
        for (const { transactionId, attempts, contract: token } of hello.open)
          void this.#ask("replace", {
            transactionId,
            above: Math.max(1, attempts.length),
            txParams: this.#txParams(token),
          });
        return;
      case "callVoid":
        await this.#callVoid(hello);
        return this.#acknowledge(hello);
      case "end":
        await this.#end(hello);
        return this.#acknowledge(hello);
      case "recover":
        return this.#recover(hello);
      case "cycle":
        return this.#cycle();
      case "adopt": {
        const slot = random.pick("first slot", ["0", `${this.#plan.firstNonce}`, "3", "9"]);
        await this.#name(hello, slot);
        await this.#ask("adopt", {
          chain: chainName,
          slot,
          quorum: random.between("witnesses", 1, 3),
        });
        return;
      }
      case "again": {
        const old =
          this.#frames[random.below("what they show again", Math.max(1, this.#frames.length))];
        if (old !== undefined) await this.#ask(old.verb, { frames: [old.frame] });
        return;
      }
      case "garble":
        await this.#ask(
          random.pick("garbled", garbled),
          random.pick("garbage", [{}, { after: 3 }, { transactionId: 7 }]),
        );
        return;
      default:
        scheduler.leap(random.pick("they wait", leapsMs));
    }
  }

  #txParams(token: string): Readonly<Record<string, string>> {
    const isFair = kernel.random.below("fair facts", 3) > 0;
    return isFair ? fairTxParams(this.#now, token) : falseTxParams(this.#now);
  }

  async #hello(): Promise<Hello | null> {
    const said = (await this.#ask("hello", {})) as Hello | null;
    if (said?.ok !== true || !Array.isArray(said.open)) return null;
    this.gateway.ledgerEpoch = said.ledgerEpoch;
    this.#heads.push(said.head);
    return said;
  }

  /** The head that they say the gateway holds; another one than the ledger's locks it as a rule. */
  #gatewayHead(hello: Hello): AgentLedgerHead | null {
    const { random } = kernel;
    const lie = random.below("they lie about the ledger", 40);
    if (lie === 0) return { seq: hello.head.seq + 3, hash: "ab".repeat(32) };
    if (lie === 1) return null;
    if (lie < 4)
      return this.#heads[random.below("an older head", this.#heads.length)] ?? hello.head;
    return hello.head;
  }

  async #handshake(hello: Hello): Promise<void> {
    this.#handshakeDone = this.#machine.signer?.signer ?? null;
    const frame = this.gateway.welcome(hello.nonce, this.#gatewayHead(hello), this.#at);
    await this.#show("admit", frame);
    if (kernel.random.below("adopt at once", 2) > 0) return;
    await this.#name(hello, `${this.#plan.firstNonce}`);
    await this.#ask("adopt", { chain: chainName, slot: `${this.#plan.firstNonce}`, quorum: 2 });
  }

  /** The gateway names what the courier claims. */
  async #name({ nonce }: Hello, slot: string): Promise<void> {
    const next = [{ network, account: hotWallet, slot, isUnused: true }];
    await this.#ask("sightings", { frames: [this.gateway.sightings(nonce, next, this.#now)] });
  }

  async #order(hello: Hello): Promise<void> {
    for (let count = kernel.random.between("orders at once", 1, 4); count > 0; count -= 1)
      this.gateway.order(this.#asked());
    await this.#show("admit", this.gateway.jobs(this.#gatewayHead(hello), this.#at));
    const open = (await this.#hello())?.open ?? [];
    for (const { transactionId, state, contract: token } of open)
      if (state === "approved")
        void this.#ask("sign", { transactionId, txParams: this.#txParams(token) });
  }

  /** A recovery was carried out: everything that it brought is to be signed, and more. */
  async #harvest(hello: Hello): Promise<void> {
    this.#ledgerEpoch = hello.ledgerEpoch;
    await this.#handshake(hello);
    await this.#acknowledge(hello);
    await this.#order(hello);
    const open = (await this.#hello())?.open ?? [];
    for (const { transactionId, attempts, contract: token } of open) {
      const txParams = fairTxParams(this.#now, token);
      if (attempts.length === 0) await this.#ask("sign", { transactionId, txParams });
      else await this.#ask("replace", { transactionId, above: attempts.length, txParams });
    }
    await this.#acknowledge(hello);
  }

  /** All that is out is called void when its time is over, and something else is paid first. */
  async #cycle(): Promise<void> {
    kernel.scheduler.leap(8 * minuteMs);
    const hello = await this.#hello();
    if (hello === null) return;
    await this.#handshake(hello);
    await this.#callVoid(hello);
    await this.#acknowledge(hello);
    await this.#order(hello);
    const again = await this.#hello();
    for (const { transactionId, attempts, contract: token } of again?.open ?? []) {
      const above = Math.max(1, attempts.length);
      await this.#ask("replace", {
        transactionId,
        above,
        txParams: fairTxParams(this.#now, token),
      });
    }
    await this.#acknowledge(hello);
  }

  /** Something of their own, or an order of the shop, also with another content. */
  #asked(): FalseJobTerms {
    const { random } = kernel;
    if (random.below("a plain order", 2) === 0) return this.#plain();
    const { orders, family } = this.#plan;
    const isShops = random.below("an order of the shop", 3) === 0;
    const shops = isShops ? random.pick("which order", orders) : null;
    const issuedAt = this.#at;
    const times = {
      issuedAt,
      expiresAt:
        issuedAt + random.pick("their order runs out", [dayMs, dayMs, 40 * dayMs, 1_000, 1]),
    };
    const named: readonly string[] =
      family === "evm" ? [...receivers, twin, namedReceiver] : waitingReceivers;
    const isOther = shops === null || random.below("with another content", 4) === 0;
    const mode = random.pick("mode", ["auto", "auto", "auto", "auto", "manual"] as const);
    // The form of a job is its own, or no other one behind it is read.
    const open = mode === "manual" ? "" : named[0];
    const other = {
      mode,
      currency: random.pick("currency", [stage.coin.id, "usdt", "usdt"]),
      amount: random.pick("amount", amounts),
      address:
        random.pick("to whom", [
          named[0],
          named[0],
          named[0],
          named[1],
          ...named,
          hotWallet,
          contract,
          open,
        ]) ?? "",
    };
    const orderId = shops?.orderId ?? this.#orderId();
    return { orderId, ...(isOther ? other : contentOf(shops)), ...times };
  }

  /** Amounts that policy lets through by itself. */
  #plain(): FalseJobTerms {
    const { random } = kernel;
    const address = (this.#plan.family === "evm" ? receivers : waitingReceivers)[0];
    const amount = random.pick("a small amount", ["0.1", "0.15", "0.2", "0.2"]);
    const times = { issuedAt: this.#now, expiresAt: this.#now + dayMs };
    return { orderId: this.#orderId(), mode: "auto", currency: "usdt", amount, address, ...times };
  }

  #orderId(): string {
    const { random } = kernel;
    if (this.#orders > 0 && random.below("an id of before", 6) === 0)
      return `own-${random.between("which id", 1, this.#orders)}`;
    this.#orders += 1;
    return `own-${this.#orders}`;
  }

  async #acknowledge(hello: Hello): Promise<void> {
    const said = {
      ended: [...this.ended].slice(-64),
      void: stage.family === "tron" ? [...this.#voided].slice(-64) : [],
    };
    const head = (await this.#hello())?.head ?? hello.head;
    if (head.seq > 0) await this.#show("release", this.gateway.ack(head, said, this.#at));
  }

  /** Both words of whatever is out, true or not. */
  async #callVoid({ open }: Hello): Promise<void> {
    for (const { transactionId, attempts } of open) {
      const newest = attempts.at(-1);
      if (newest === undefined) continue;
      this.#voided.add(newest.txHash);
      const claim = {
        transactionId,
        stage: "void",
        outcome: "",
        txHash: newest.txHash,
        block: 9,
        quorum: 3,
      };
      await this.#ask("observed", claim);
    }
  }

  async #end({ open }: Hello): Promise<void> {
    const { random } = kernel;
    for (const { transactionId, attempts } of open) {
      if (random.below("which they call ended", 2) === 0) continue;
      const txHash =
        attempts[random.below("by which version", Math.max(1, attempts.length))]?.txHash ??
        "ab".repeat(32);
      // A lost withdrawal stops the signer, and there is nothing left to try.
      const outcome = random.pick("how it ended", [
        "paid",
        "paid",
        "reverted",
        "reverted",
        "cancelled",
      ] as const);
      await this.#ask("observed", { transactionId, stage: "final", outcome, txHash, block: 8 });
      this.ended.add(transactionId);
    }
  }

  async #recover(hello: Hello): Promise<void> {
    const { random } = kernel;
    if (random.below("they begin a recovery", 2) === 0) return;
    this.#ledgerEpochs += 1;
    const count = random.between("withdrawals in their order", 0, 6);
    const withdrawals = new Map<string, RecoveryWithdrawal>();
    for (const view of hello.open)
      if (view.slot !== "" && random.below("they tell of it", 4) > 0) this.#tell(withdrawals, view);
    for (let at = 0; at < count; at += 1) this.#invent(withdrawals, hello, at);
    const all = [...withdrawals.values()];
    const isEnded = random.below("as ended", 4) === 0;
    const top = BigInt(Math.max(0, ...all.map(({ slot }) => Number(slot))));
    const next = random.pick("next slot in their order", [top + 1n, top + 1n, 0n, top + 7n]);
    const frame = this.gateway.recovery(hello.nonce, {
      ledgerEpoch: hello.ledgerEpoch + random.pick("their epoch", [1, 1, 2]),
      held: random.pick("they hold", [hello.head, hello.head, null, this.#heads[0] ?? null]),
      accounts:
        random.below("an account in it", 5) === 0
          ? []
          : [{ network, account: hotWallet, next: `${next}` }],
      ...{ spent: [], withdrawals: isEnded ? [] : all, ended: isEnded ? all : [], outgoing: [] },
      at: this.#at,
    });
    await this.#show("admit", frame);
  }

  /** A withdrawal of the ledger, as it is or on another slot. */
  #tell(
    into: Map<string, RecoveryWithdrawal>,
    { transactionId, address, slot, attempts }: CourierView,
  ): void {
    const text = [...this.gateway.made].find(
      (each) => (JSON.parse(each) as Job).transactionId === transactionId,
    );
    if (text === undefined || attempts.length === 0) return;
    const told = attempts.map(({ txHash, feeMax, validUntilMs }) => ({
      txHash,
      feeMax,
      ...(validUntilMs === undefined ? {} : { validUntilMs }),
    }));
    const isMoved = kernel.random.below("on another slot", 8) === 0;
    const place = { address, account: hotWallet, slot: isMoved ? `${BigInt(slot) + 1n}` : slot };
    into.set(transactionId, {
      job: text,
      signature: signJob(text, gatewayKey.privateKey),
      ...place,
      attempts: told,
    });
  }

  /** A withdrawal that nobody ever asked for, or one that was and has no slot here. */
  #invent(into: Map<string, RecoveryWithdrawal>, hello: Hello, at: number): void {
    const { random } = kernel;
    const asked = random.below("a plain one", 3) > 0 ? this.#plain() : this.#asked();
    const text = this.gateway.textOf(asked, random.between("its place", 1, 9));
    const { transactionId, address } = JSON.parse(text) as Job;
    const from = BigInt(hello.accounts[0]?.nextSlot || this.#plan.firstNonce);
    const slot = random.below("below the next", 6) === 0 ? from - 1n : from + BigInt(at);
    const validUntilMs =
      stage.family === "tron"
        ? { validUntilMs: this.#now + random.pick("until", [1, -hourMs, 4 * minuteMs]) }
        : {};
    const made = random.bytes("a made-up hash", 32).toString("hex");
    const txHash = stage.family === "tron" ? made : `0x${made}`;
    const attempts = [
      { txHash, feeMax: random.pick("a made-up fee", ["1000", "900000"]), ...validUntilMs },
    ];
    if (slot < 0n) return;
    into.set(transactionId, {
      ...{ job: text, signature: signJob(text, gatewayKey.privateKey) },
      ...{ address, account: hotWallet, slot: `${slot}`, attempts },
    });
  }

  async #show(verb: "admit" | "release", frame: Uint8Array): Promise<void> {
    this.#frames.push({ verb, frame });
    await this.#ask(verb, { frames: [frame] });
  }

  #ask(verb: string, body: object): Promise<SignerAnswer | null> {
    if (this.#socket === null || this.#socket.isEnded)
      this.#socket = new LocalSocket(this.#owner, this.#machine.signer, (message) =>
        this.#seen(message as never),
      );
    const asked = this.#socket.request(
      verb as keyof CourierRequests,
      body as never,
    ) as Promise<SignerAnswer>;
    return asked.catch(() => null);
  }
}

function contentOf({
  mode,
  currency,
  amount,
  address,
}: Order): Pick<FalseJobTerms, "mode" | "currency" | "amount" | "address"> {
  return { mode, currency, amount, address };
}
