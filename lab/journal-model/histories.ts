/** Random histories of money, which the model alone makes from a seed. */
import { SeededRandom } from "../kit/seeded.ts";
import type { Fact, PaymentFact, Place, TransferKind, Wallet } from "./fact.ts";
import type { Cast, Look } from "./figures.ts";
import type { Picture } from "./model.ts";
import type { PlainTransfer } from "./moves.ts";
import { canBecome, isPlayable, type Step, Story } from "./play.ts";

/** A deposit address as a customer is told it, and the account that gets the money. */
export interface PaidAddress {
  readonly network: string;
  readonly address: string;
  readonly account: string;
  readonly request: string;
}

/** The steps of a history, and what the facts say after each. */
export interface History {
  readonly steps: readonly Step[];
  readonly pictures: readonly Picture[];
}

/** Makes a history from a seed, by the model alone. */
export function makeHistory(cast: Cast, paid: readonly PaidAddress[], seed: number): History {
  return new HistoryMaker(cast, paid, new SeededRandom(seed)).make();
}

/** Steps of a history. */
const [fewest, most] = [12, 40];

const nearBlocks = [1, 2, 3, 4, 5, 6, 7, 8];
/** Around the ends of the windows of sums. */
const farBlocks = [70, 200, 255, 256, 257, 300, 330, 511, 512];
const sizes = [10n ** 18n, 2n ** 63n, 10n ** 30n];

class HistoryMaker {
  readonly #cast: Cast;
  readonly #paid: readonly PaidAddress[];
  readonly #random: SeededRandom;
  readonly #blocks: readonly number[];
  readonly #networks: readonly string[];
  readonly #hasRestarts: boolean;
  readonly #story: Story;
  #made = 0;

  constructor(cast: Cast, paid: readonly PaidAddress[], random: SeededRandom) {
    this.#cast = cast;
    this.#random = random;
    const all = [...new Set(cast.wallets.map(({ network }) => network))];
    const some = all.filter(() => random.chance(2));
    this.#networks = some.length === 0 ? [random.pick(all)] : some;
    this.#paid = paid.filter(({ network }) => this.#networks.includes(network));
    const blocks = [...nearBlocks.filter(() => random.chance(2)), 9];
    const far = random.chance(3) ? farBlocks.filter(() => random.chance(2)) : [];
    this.#blocks = [...blocks, ...far];
    this.#hasRestarts = random.chance(2);
    this.#story = new Story(cast.wallets);
  }

  make(): History {
    const length = fewest + this.#random.below(most - fewest + 1);
    const steps: Step[] = [];
    const pictures: Picture[] = [];
    const add = (act: Step["act"]): void => {
      this.#story.add(act);
      steps.push({ act, look: this.#look(steps.length === length - 1) });
      pictures.push(this.#picture);
    };
    for (const network of this.#networks) if (!this.#random.chance(6)) add(this.#coin(network));
    while (steps.length < length) {
      const act = this.#next();
      if (act !== null && isPlayable(this.#story, act)) add(act);
    }
    return { steps, pictures };
  }

  #look(isLast: boolean): Look {
    const blocks = [0, ...this.#blocks];
    const networks = this.#networks;
    if (!isLast && !this.#random.chance(8)) return { networks, blocks, period: null, isLast };
    const [one, other] = [this.#random.pick([-1, ...blocks]), this.#random.pick(blocks)];
    const [before, last] = [Math.min(one, other), Math.max(one, other)];
    const network = this.#random.pick(networks);
    const merchant = this.#random.chance(3) ? (this.#wallet("hot")?.merchant ?? null) : null;
    const period = { network, merchant, before, last };
    return { networks, blocks, period, isLast };
  }

  #next(): Step["act"] | null {
    const turn = this.#random.below(100);
    if (turn < 9) return this.#newPayment();
    if (turn < 21) return this.#otherPayment();
    if (turn < 28) return this.#small();
    if (turn < 45) return this.#order();
    if (turn < 63) return this.#end();
    if (turn < 69) return this.#content();
    if (turn < 74) return this.#opening();
    if (turn < 80) return this.#adjustment();
    if (turn < 84) return this.#reading();
    if (turn < 86) return this.#baseline();
    if (turn < 92) return this.#ownTopUp();
    if (turn < 94) return { fact: "compared", network: this.#network(), block: this.#block() };
    if (turn < 95) return this.#coin(this.#network());
    if (!this.#hasRestarts) return null;
    if (this.#random.chance(4)) return "restart";
    const { length } = this.#story.history;
    return length === 0 ? null : { fact: "restore", back: 1 + this.#random.below(length) };
  }

  get #picture(): Picture {
    return this.#story.picture;
  }

  #network(): string {
    return this.#random.pick(this.#networks);
  }

  #block(): number {
    return this.#random.pick(this.#blocks);
  }

  #units(): bigint {
    const small = BigInt(1 + this.#random.below(30));
    return this.#random.chance(6) ? this.#random.pick(sizes) + small : small;
  }

  #currency(network: string): string {
    return this.#random.pick(this.#cast.currencies.filter((one) => one.network === network)).id;
  }

  #coinOf(network: string): string {
    const of = this.#cast.currencies.filter((one) => one.network === network);
    return (of.find(({ isCoin }) => isCoin) ?? this.#random.pick(of)).id;
  }

  #coin(network: string): Fact {
    return { fact: "coin", network, currency: this.#coinOf(network) };
  }

  #wallet(kind: Wallet["kind"] | null, network: string | null = null): Wallet | null {
    const fitting = this.#cast.wallets.filter(
      (one) =>
        (kind === null || one.kind === kind) &&
        (network === null ? this.#networks.includes(one.network) : one.network === network),
    );
    return fitting.length === 0 ? null : this.#random.pick(fitting);
  }

  #hotOf({ network, merchant }: Wallet): string {
    const hot = this.#cast.wallets.find(
      (one) => one.kind === "hot" && one.network === network && one.merchant === merchant,
    );
    return hot?.address ?? "";
  }

  #placeOf({ network, address }: Wallet): Place {
    return { network, address, currency: this.#currency(network) };
  }

  #newPayment(): PaymentFact {
    const to = this.#random.pick(this.#paid);
    const block = this.#block();
    this.#made += 1;
    return {
      ...{ fact: "payment", network: to.network, txHash: `paid ${this.#made}`, logIndex: -1 },
      ...{ deposit: to.address, account: to.account, currency: this.#currency(to.network) },
      ...{ units: this.#units(), block, blockHash: `hash of ${block}` },
    };
  }

  /** A payment that is known already: again, otherwise, a part more, lost, or back. */
  #otherPayment(): Fact | null {
    const known = [...this.#picture.payments.values()];
    const lost = [...this.#picture.lost.values()];
    if (lost.length > 0 && this.#random.chance(4)) {
      const back = this.#random.pick(lost);
      return this.#random.chance(3) ? this.#inBlock(back) : back;
    }
    if (known.length === 0) return null;
    const one = this.#random.pick(known);
    const { network, txHash, logIndex } = one;
    switch (this.#random.below(7)) {
      case 0:
        return one;
      case 1:
        return { ...one, units: this.#random.chance(5) ? 0n : this.#units() };
      case 2:
        return this.#inBlock(one);
      case 3:
        return this.#inBlock({ ...one, units: this.#units() });
      case 4:
        return { ...one, logIndex: this.#random.below(3), units: this.#units() };
      case 5: {
        const to = this.#random.pick(this.#paid.filter((to) => to.network === network));
        const currency = this.#currency(network);
        return { ...one, deposit: to.address, account: to.account, currency };
      }
      default:
        return { fact: "lost", network, txHash, logIndex };
    }
  }

  #inBlock(one: PaymentFact): PaymentFact {
    const block = this.#random.chance(4) ? one.block : this.#block();
    this.#made += 1;
    return { ...one, block, blockHash: `hash ${this.#made} of ${block}` };
  }

  #small(): Fact {
    const to = this.#random.pick(this.#paid);
    const isMore = this.#random.chance(2);
    const isAsked = isMore && this.#random.chance(2);
    return {
      ...{ fact: "small", network: to.network, account: to.account },
      ...{ currency: this.#currency(to.network), kind: isMore ? "more" : "dust" },
      ...{ request: isAsked ? to.request : "", block: this.#block(), units: this.#units() },
      end: isAsked && this.#random.chance(2) ? this.#block() : null,
    };
  }

  #order(): Fact | null {
    const kind = this.#random.pick<TransferKind>([
      "withdraw",
      "withdraw",
      "sweep",
      "sweep",
      "topup",
    ]);
    this.#made += 1;
    const id = (1_000 + this.#made).toString(16).padStart(32, "0");
    if (kind === "topup") return this.#topUp(id);
    const payer = this.#wallet(kind === "sweep" ? "deposit" : "hot");
    if (payer === null) return null;
    const { network, merchant, address } = payer;
    const receiver = kind === "sweep" ? this.#hotOf(payer) : this.#payee(payer);
    return {
      ...{ fact: "order", id, kind, merchant, network, currency: this.#currency(network) },
      ...{ units: this.#units(), payer: address, receiver, sweep: "" },
    };
  }

  #topUp(id: string): Fact | null {
    const sweeps = [...this.#picture.transfers.values()].filter(({ kind }) => kind === "sweep");
    if (sweeps.length === 0) return null;
    const { network, merchant, currency, payer, receiver, id: sweep } = this.#random.pick(sweeps);
    return {
      ...{ fact: "order", id, kind: "topup", merchant, network, currency, units: this.#units() },
      ...{ payer: receiver ?? "", receiver: payer, sweep },
    };
  }

  /** Somebody else, a hot wallet of this gateway, a deposit address here, or not named yet. */
  #payee({ network }: Wallet): string | null {
    if (this.#random.chance(8)) return null;
    return this.#random.chance(2)
      ? `payee on ${network}`
      : (this.#wallet(this.#random.chance(4) ? null : "hot", network)?.address ?? null);
  }

  #openTransfer(): PlainTransfer | null {
    const open = [...this.#picture.transfers.values()].filter(({ status }) => status === 0);
    return open.length === 0 ? null : this.#random.pick(open);
  }

  #end(): Fact | null {
    if (this.#random.chance(8)) return this.#assigned();
    if (this.#random.chance(8)) return this.#openAgain();
    if (this.#random.chance(4)) return this.#ends();
    const one = this.#openTransfer();
    return one === null ? null : this.#endOf(one);
  }

  /** Ends on one network, which one pass of the watcher writes together. */
  #ends(): Fact | null {
    const network = this.#openTransfer()?.network;
    const ends = [0, 1, 2, 3].flatMap(() => {
      const one = this.#openTransfer();
      const end = one === null || one.network !== network ? null : this.#endOf(one);
      return end?.fact === "end" ? [end] : [];
    });
    const first = ends.filter(({ id }, at) => ends.findIndex((one) => one.id === id) === at);
    return first.length === 0 ? null : { fact: "ends", ends: first };
  }

  #endOf(one: PlainTransfer): Fact {
    const { id, units } = one;
    const fee = this.#random.chance(5) ? 0n : BigInt(1 + this.#random.below(9));
    const block = this.#block();
    const none = { sent: null, received: null };
    const ended = { fact: "end", id, fee, block } as const;
    switch (this.#random.below(8)) {
      case 0:
        return { ...ended, status: 2, ...none };
      case 1:
        return { fact: "status", id, status: 2 };
      case 2: {
        const [sent, received] = [this.#moved(units), this.#moved(units)];
        return { ...ended, status: received === units ? 1 : 2, sent, received };
      }
      case 3:
        return { ...ended, status: 2, fee: null, block: null, ...none };
      default:
        return { ...ended, status: 1, ...none, fee: fee > units ? 0n : fee };
    }
  }

  #moved(units: bigint): bigint {
    const other = BigInt(this.#random.below(5));
    return this.#random.pick([units, units, units + other, units > other ? units - other : 0n]);
  }

  #assigned(): Fact | null {
    const fitting = [...this.#picture.transfers.values()].filter(({ kind }) => kind === "withdraw");
    if (fitting.length === 0) return null;
    const { id, end } = this.#random.pick(fitting);
    const fee = BigInt(this.#random.below(9));
    const isSame = this.#random.chance(2);
    return { fact: "assigned", id, fee: isSame ? (end?.fee ?? fee) : fee, block: this.#block() };
  }

  #openAgain(): Fact | null {
    const ended = [...this.#picture.transfers.values()].filter((one) => canBecome(one, 0));
    return ended.length === 0
      ? null
      : { fact: "status", id: this.#random.pick(ended).id, status: 0 };
  }

  #content(): Fact | null {
    const one = this.#openTransfer();
    if (one === null) return null;
    const { id, kind, network, payer, receiver } = one;
    const wallet = this.#cast.wallets.find(({ address }) => address === payer);
    if (kind === "withdraw" && wallet !== undefined && this.#random.chance(3)) {
      const named = this.#payee(wallet);
      return named === null ? null : { fact: "receiver", id, receiver: named };
    }
    const other = kind === "withdraw" && wallet !== undefined ? this.#payee(wallet) : receiver;
    return {
      ...{ fact: "content", id, currency: this.#currency(network) },
      ...{ units: this.#random.chance(3) ? one.units : this.#units(), receiver: other },
    };
  }

  #opening(): Fact | null {
    const hot = this.#wallet("hot");
    if (hot === null) return null;
    const units = this.#random.chance(4) ? 0n : this.#units() * 3n;
    return { fact: "opening", ...this.#placeOf(hot), units, block: this.#block() };
  }

  #adjustment(): Fact | null {
    const kind = this.#random.pick(["outside", "owner", "note", "note"] as const);
    const wallet = this.#wallet(kind === "outside" ? "hot" : kind === "owner" ? "deposit" : null);
    if (wallet === null) return null;
    const size = this.#units();
    const note = this.#random.pick([size, -size, 0n]);
    const units = kind === "outside" ? size : kind === "owner" ? -size : note;
    return {
      ...{ fact: "adjustment", kind, ...this.#placeOf(wallet), units, block: this.#block() },
    };
  }

  #reading(): Fact | null {
    const hot = this.#wallet("hot");
    if (hot === null) return null;
    const units = 10n ** 32n + this.#units();
    return { fact: "reading", ...this.#placeOf(hot), units, block: this.#block() };
  }

  #baseline(): Fact | null {
    const wallet = this.#wallet("deposit");
    if (wallet === null) return null;
    return { fact: "baseline", ...this.#placeOf(wallet), units: this.#units() };
  }

  /** The payment of a top-up, or the signature that says so. */
  #ownTopUp(): Fact | null {
    const open = [...this.#picture.transfers.values()].filter(
      ({ kind, status }) => kind === "topup" && status === 0,
    );
    const paid = open.filter(
      ({ id, network }) =>
        this.#picture.paymentOf({ network, txHash: `end ${id}`, logIndex: -1 }) !== undefined,
    );
    const from = paid.length > 0 ? paid : open;
    const topUp = from.length === 0 ? undefined : this.#random.pick(from);
    const to = this.#paid.find(({ address }) => address === topUp?.receiver);
    if (topUp === undefined || to === undefined) return null;
    const { id, network, units } = topUp;
    const txHash = `end ${id}`;
    const payment = { network, txHash, logIndex: -1 };
    if (this.#picture.paymentOf(payment) !== undefined) return { fact: "own", id, txHash };
    const block = this.#block();
    return {
      ...{ fact: "payment", ...payment, deposit: to.address, account: to.account, units },
      ...{ currency: this.#coinOf(network), block, blockHash: `hash of ${block}` },
    };
  }
}
