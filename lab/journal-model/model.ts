/**
 * The journal of money by another hand: it keeps plain facts and counts every figure from nothing.
 * It imports nothing of the gateway, and it has no sums that a change could leave wrong. Its rules
 * are those of docs/architecture.md section 8: a balance at the end of a block is the sum of all
 * that final blocks up to it moved; the books of a hot wallet begin with the balance that was
 * found, and facts of blocks up to that one are in it, whenever they become known.
 */
import type {
  AdjustmentFact,
  BaselineFact,
  CoinFact,
  Fact,
  OpeningFact,
  PaymentFact,
  Place,
  ReadingFact,
  SmallPaymentFact,
  Wallet,
} from "./fact.ts";
import {
  endOf,
  hasCoins,
  hasTags,
  moveOfAdjustment,
  moveOfBaseline,
  moveOfPayment,
  moveOfSum,
  movesOfTransfer,
  nameOf,
  orNothing,
  type PlainChange,
  type PlainMove,
  type PlainTransfer,
  paymentName,
  type SmallSum,
  total,
} from "./moves.ts";

/** A merchant's balance of a currency. */
export interface PlainBalance {
  readonly block: number;
  readonly available: bigint;
  readonly reserved: bigint;
  readonly pending: bigint;
  readonly sweeping: bigint;
  readonly total: bigint;
}

/** The sums of a period. */
export interface PlainPeriod {
  opening: bigint;
  in: bigint;
  out: bigint;
  fee: bigint;
  brought: bigint;
  corrected: bigint;
  closing: bigint;
}

/** All that the facts up to now say. Made again for each look; nothing is kept between two. */
export class Picture {
  readonly payments = new Map<string, PaymentFact>();
  readonly lost = new Map<string, PaymentFact>(); // by payment and block
  readonly transfers = new Map<string, PlainTransfer>();
  readonly openings = new Map<string, OpeningFact>();
  readonly readings = new Map<string, ReadingFact>();
  readonly sums = new Map<string, SmallSum>();
  readonly moves: readonly PlainMove[];
  readonly #changes = new Map<string, PlainChange[]>(); // by account
  readonly #wallets: readonly Wallet[];
  readonly #books = new Set<string>(); // addresses whose books have something
  readonly #coins = new Map<string, string>(); // by network
  readonly #baselines = new Map<string, BaselineFact>();
  readonly #adjustments: AdjustmentFact[] = [];
  readonly #late = new Set<AdjustmentFact>();
  readonly #fineTo = new Map<string, number>();
  readonly #ownTopUps = new Map<string, string>(); // id of the top-up by the name of the payment

  constructor(wallets: readonly Wallet[], history: readonly Fact[]) {
    this.#wallets = wallets;
    for (const fact of history) this.#take(fact);
    this.moves = [
      ...[...this.payments.values()].filter((one) => !this.#isOwnTopUp(one)).map(moveOfPayment),
      ...[...this.sums.values()].map(moveOfSum),
      ...[...this.transfers.values()].flatMap(movesOfTransfer),
      ...[...this.#baselines.values()].map(moveOfBaseline),
      ...this.#adjustments.map((one) => moveOfAdjustment(one, this.#late.has(one))),
    ];
    for (const move of this.moves)
      if (move.from !== move.to) {
        this.#change(move, move.from, -move.units);
        this.#change(move, move.to, move.units);
      }
  }

  #change(move: PlainMove, address: string, by: bigint): void {
    if (address.startsWith("@") || by === 0n) return;
    const name = `${move.network} ${address} ${move.currency}`;
    const known = this.#changes.get(name);
    if (known === undefined) this.#changes.set(name, [{ move, by }]);
    else known.push({ move, by });
  }

  #take(fact: Fact): void {
    switch (fact.fact) {
      case "payment":
        this.#pay(fact);
        break;
      case "lost":
        this.#lose(paymentName(fact));
        break;
      case "small":
        this.#addSmall(fact);
        break;
      case "compared": {
        const known = this.#fineTo.get(fact.network) ?? -1;
        this.#fineTo.set(fact.network, Math.max(known, fact.block + 64));
        break;
      }
      case "opening":
        if (!this.openings.has(nameOf(fact))) this.openings.set(nameOf(fact), fact);
        this.#books.add(fact.address);
        this.#settle((one) => one.kind === "withdraw" && one.receiver === fact.address);
        break;
      case "baseline":
        if (!this.#baselines.has(nameOf(fact))) this.#baselines.set(nameOf(fact), fact);
        break;
      case "adjustment":
        this.#adjustments.push(fact);
        if (this.openings.has(nameOf(fact))) this.#late.add(fact);
        this.#books.add(fact.address);
        break;
      case "reading":
        this.readings.set(nameOf(fact), fact);
        break;
      case "own": {
        const { network } = this.transfers.get(fact.id) as PlainTransfer;
        this.#ownTopUps.set(paymentName({ network, txHash: fact.txHash, logIndex: -1 }), fact.id);
        break;
      }
      case "ends":
        for (const end of fact.ends) this.#transfer(end);
        break;
      case "coin":
        if (!this.#coins.has(fact.network)) {
          this.#coins.set(fact.network, fact.currency);
          this.#settle(({ network }) => network === fact.network);
        }
        break;
      default:
        this.#transfer(fact);
        break;
    }
  }

  /** Ended transfers get the coin and the receiver that are known by now. */
  #settle(isMeant: (transfer: PlainTransfer) => boolean): void {
    for (const one of this.#ended().filter(isMeant)) {
      const coin = this.#coins.get(one.network) ?? null;
      const settled = { ...one, isHere: this.#isHere(one), coin };
      this.transfers.set(one.id, settled);
      this.#beginBooks(settled);
    }
  }

  #ended(): readonly PlainTransfer[] {
    return [...this.transfers.values()].filter(
      ({ status, end }) => status !== 0 && (end?.block ?? null) !== null,
    );
  }

  /** The first move of an account begins its books. */
  #beginBooks(transfer: PlainTransfer): void {
    for (const { from, to } of movesOfTransfer(transfer))
      if (from !== to) this.#books.add(from).add(to);
  }

  /**
   * True if the first name of a coin would give a hot wallet its first move, a fee, and a payout to
   * that wallet has ended: the gateway settles both in the order of an index.
   */
  dependsOnOrder({ network, currency: coin }: CoinFact): boolean {
    if (this.#coins.has(network)) return false;
    const ended = this.#ended().filter((one) => one.network === network);
    const payers = new Set(
      ended.flatMap((one) => movesOfTransfer({ ...one, coin }).map(({ from }) => from)),
    );
    return ended.some(
      (one) =>
        one.receiver !== null &&
        !this.#books.has(one.receiver) &&
        payers.has(one.receiver) &&
        one.receiver !== one.payer,
    );
  }

  /** A transaction is in one block alone, and what left comes back if it is the same again. */
  #pay(paid: PaymentFact): void {
    for (const [name, one] of this.payments)
      if (isSameTransaction(one, paid) && one.blockHash !== paid.blockHash) this.#lose(name);
    const again = [...this.lost]
      .filter(([, one]) => isSameTransaction(one, paid) && isSameSum(one, paid))
      .sort(([, a], [, b]) => a.logIndex - b.logIndex);
    const back = again.find(([, { logIndex }]) => logIndex === paid.logIndex) ?? again[0];
    if (back !== undefined) this.lost.delete(back[0]);
    this.payments.set(paymentName(paid), paid);
  }

  #lose(name: string): void {
    const paid = this.payments.get(name);
    if (paid === undefined) return;
    this.payments.delete(name);
    this.lost.set(`${name} ${paid.blockHash}`, paid);
  }

  /** Sums are of 256 blocks; those up to 64 blocks behind a compared one are of one block each. */
  #addSmall(small: SmallPaymentFact): void {
    const { name, first } = this.sumOf(small);
    const known = this.sums.get(name);
    const blocks = [...(known?.blocks ?? []), small.block];
    this.sums.set(name, {
      ...small,
      units: (known?.units ?? 0n) + small.units,
      block: Math.max(...blocks),
      first,
      blocks,
    });
  }

  /** The sum to which a small payment would be added now, and its first block. */
  sumOf(small: SmallPaymentFact): { readonly name: string; readonly first: number } {
    const { network, account, currency, kind, request, block, end } = small;
    const fineTo = this.#fineTo.get(network) ?? -1;
    const late = end !== null && block > end ? end + 1 : 0;
    const window = Math.max(Math.floor(block / 256) * 256, late);
    const first = block <= fineTo ? block : Math.max(window, fineTo + 1);
    return { name: `${network} ${account} ${currency} ${kind} ${request} ${first}`, first };
  }

  #transfer(
    fact: Extract<Fact, { fact: "order" | "content" | "receiver" | "status" | "end" | "assigned" }>,
  ): void {
    if (fact.fact === "order") {
      const { fact: _fact, ...order } = fact;
      this.transfers.set(fact.id, { ...order, status: 0, end: null, isHere: false, coin: null });
      return;
    }
    const before = this.transfers.get(fact.id) as PlainTransfer;
    const end = endOf(fact);
    const after: PlainTransfer = {
      ...before,
      ...(fact.fact === "content" ? { currency: fact.currency, units: fact.units } : {}),
      ...("receiver" in fact ? { receiver: fact.receiver } : {}),
      ...("status" in fact ? { status: fact.status } : {}),
      ...(fact.fact === "assigned" ? { status: 1 } : {}),
      ...(end === null ? {} : { end, coin: this.#coins.get(before.network) ?? null }),
    };
    const ended = end === null ? after : { ...after, isHere: this.#isHere(after) };
    this.transfers.set(fact.id, ended);
    if (end !== null) this.#beginBooks(ended);
    if (end !== null && end.block !== null) this.#nameOwnTopUp(ended);
  }

  /** The transaction that completed a top-up is the top-up, also where no signature says so yet. */
  #nameOwnTopUp({ id, kind, network, units, receiver, status }: PlainTransfer): void {
    const place = { network, txHash: `end ${id}`, logIndex: -1 };
    const paid = this.paymentOf(place);
    if (kind === "topup" && status === 1 && paid?.units === units && paid.deposit === receiver)
      this.#ownTopUps.set(paymentName(place), id);
  }

  paymentOf(one: Pick<PaymentFact, "network" | "txHash" | "logIndex">): PaymentFact | undefined {
    return this.payments.get(paymentName(one));
  }

  /** True if a signature says that a payment is a top-up. */
  isOwn(one: Pick<PaymentFact, "network" | "txHash" | "logIndex">): boolean {
    return this.#ownTopUps.has(paymentName(one));
  }

  /** True if a payment is known to be this top-up. */
  hasOwn(id: string): boolean {
    return [...this.#ownTopUps.values()].includes(id);
  }

  /**
   * True if a sum would have payments of both sides of its account's opening. Sums end at a block
   * at which balances are compared, so that none has.
   */
  wouldStraddle(small: SmallPaymentFact): boolean {
    const { network, account: address, currency, block } = small;
    const opening = this.openings.get(nameOf({ network, address, currency }));
    const known = this.sums.get(this.sumOf(small).name)?.blocks ?? [];
    return opening !== undefined && areOnBothSides([...known, block], opening.block);
  }

  /** True if a sum has payments of both sides of a block. */
  isStraddled({ network, address, currency, block }: Place & { readonly block: number }): boolean {
    return [...this.sums.values()].some(
      (sum) =>
        sum.network === network &&
        sum.account === address &&
        sum.currency === currency &&
        areOnBothSides(sum.blocks, block),
    );
  }

  #isOwnTopUp(paid: PaymentFact): boolean {
    const id = this.#ownTopUps.get(paymentName(paid));
    const transfer = id === undefined ? undefined : this.transfers.get(id);
    return (
      transfer !== undefined && transfer.status !== 0 && (transfer.end?.block ?? null) !== null
    );
  }

  /** True if the receiver of a transfer that ends now is an account of ours with books. */
  #isHere({ kind, network, payer, receiver }: PlainTransfer): boolean {
    if (kind !== "withdraw") return true;
    if (hasTags(network) || receiver === null) return false;
    if (receiver === payer) return true;
    return this.#walletAt(network, receiver)?.kind === "hot" && this.#books.has(receiver);
  }

  #walletAt(network: string, address: string): Wallet | undefined {
    return this.#wallets.find((one) => one.network === network && one.address === address);
  }

  hasMoves(place: Place): boolean {
    return this.#changes.has(nameOf(place));
  }

  #changesOf(place: Place): readonly PlainChange[] {
    return this.#changes.get(nameOf(place)) ?? [];
  }

  /** The balance at the end of a block; 0 before the books of the account began. */
  unitsAt(place: Place, block: number): bigint {
    const opening = this.openings.get(nameOf(place));
    if (opening !== undefined && block < opening.block) return 0n;
    const since = opening?.block ?? -1;
    let units = opening?.units ?? 0n;
    for (const { move, by } of this.#changesOf(place))
      if (move.block <= block && (move.isLate || move.block > since)) units += by;
    return units;
  }

  /** The balance with every block. */
  unitsOf(place: Place): bigint {
    return this.unitsAt(place, Number.MAX_SAFE_INTEGER);
  }

  /** The units that open sweeps take from an address, and small coins that none takes. */
  heldOf({ network, address, currency }: Place): bigint {
    const isHere = (one: { network: string; currency: string }): boolean =>
      one.network === network && one.currency === currency;
    const sweeps = [...this.transfers.values()].filter(
      (one) => one.kind === "sweep" && one.status === 0 && one.payer === address && isHere(one),
    );
    const dust = [...this.sums.values()].filter(
      (one) => hasCoins(network) && one.kind === "dust" && one.account === address && isHere(one),
    );
    return total([...sweeps, ...dust].map(({ units }) => units));
  }

  /** The balance that the watcher expects: without notes, and with all that the owner took. */
  explainedAt(place: Place, block: number, isBeyondCounted: boolean): bigint {
    return total(
      this.#changesOf(place).flatMap(({ move: { kind, block: at, first }, by }) => {
        if (kind === "note") return [];
        if (kind === "owner") return [by];
        const from = isBeyondCounted && kind === "payment" ? first : at;
        return from <= block ? [by] : [];
      }),
    );
  }

  /**
   * The sum of each far side of a network in a currency. The balance of an account before its
   * books began is on one side with the moves of that time that came to light later.
   */
  farSides(network: string, currency: string): ReadonlyMap<string, bigint> {
    const sides = new Map<string, bigint>();
    const add = (side: string, units: bigint): void => {
      const name = side === "@earlier" ? "@outside" : side;
      if (name.startsWith("@")) sides.set(name, (sides.get(name) ?? 0n) + units);
    };
    for (const move of this.moves)
      if (move.network === network && move.currency === currency) {
        add(move.from, -move.units);
        add(move.to, move.units);
      }
    for (const opening of this.openings.values())
      if (opening.network === network && opening.currency === currency) {
        const earlier = this.#changesOf(opening).filter(
          ({ move: { block, isLate } }) => block <= opening.block && !isLate,
        );
        add("@outside", total(earlier.map(({ by }) => by)) - opening.units);
      }
    return sides;
  }

  /** The newest block at which an operator accepted a difference; -1 without one. */
  settledAt(place: Place): number {
    const notes = this.#adjustments.filter(
      (one) => one.kind === "note" && nameOf(one) === nameOf(place),
    );
    return Math.max(-1, ...notes.map(({ block }) => block));
  }

  /**
   * The units that moves of a kind moved and that nothing took back. Payouts are left out: one
   * between two wallets whose openings have it is no move.
   */
  standing(): ReadonlyMap<string, bigint> {
    const sums = new Map<string, bigint>();
    for (const { kind, network, currency, units, isSum } of this.moves) {
      if (isSum || kind === "withdraw" || kind === "opening") continue;
      const name = `${network} ${currency} ${kind}`;
      sums.set(name, (sums.get(name) ?? 0n) + units);
    }
    return sums;
  }

  /** The promises of an account's open withdrawals and top-ups, by their names. */
  promised(network: string, account: string): ReadonlyMap<string, bigint> {
    const sums = new Map<string, bigint>();
    for (const { kind, currency, units, payer, status, network: on } of this.transfers.values()) {
      if (kind === "sweep" || status !== 0 || payer !== account || on !== network) continue;
      const name = kind === "topup" ? `${currency}:topup` : currency;
      sums.set(name, (sums.get(name) ?? 0n) + units);
    }
    return sums;
  }

  /**
   * Null until the hot wallet was read at the opening of its books or later. The coin, which pays
   * the fees, promises the highest fee of each open transfer; `feeOf` is that of a currency's.
   */
  balanceOf(
    hot: Wallet,
    { id: currency, isCoin }: { readonly id: string; readonly isCoin: boolean },
    feeOf: (currency: string) => bigint,
  ): PlainBalance | null {
    const { network, address, merchant } = hot;
    const reading = this.readings.get(nameOf({ network, address, currency }));
    const opening = this.openings.get(nameOf({ network, address, currency }));
    if (reading === undefined || reading.block < (opening?.block ?? -1)) return null;
    const open = [...this.transfers.values()].filter(
      (one) => one.network === network && one.status === 0,
    );
    const isOf = ({ kind, currency: of }: PlainTransfer): boolean =>
      kind === "topup" ? isCoin : of === currency;
    const later = this.#changesOf(reading).filter(({ move }) => move.block > reading.block);
    const left = later.filter(({ by }) => by < 0n);
    const amounts = (moves: typeof later): readonly bigint[] => moves.map(({ move }) => move.units);
    const promising = open.filter((one) => one.kind !== "sweep" && one.payer === address);
    const reserved = total([
      ...promising.filter(isOf).map(({ units }) => units),
      ...(isCoin ? promising.map((one) => feeOf(one.currency)) : []),
      ...amounts(left.filter(({ move }) => isPayment(move.kind))),
    ]);
    const sweeps = open.filter(
      (one) => one.kind === "sweep" && one.merchant === merchant && one.currency === currency,
    );
    const deposits = this.#wallets
      .filter((one) => one.network === network && one.merchant === merchant)
      .filter(({ kind }) => kind === "deposit")
      .map((one) => ({ network, address: one.address, currency }));
    const unswept = (place: Place): bigint => this.unitsOf(place) - this.heldOf(place);
    const pending = total(deposits.map(unswept).map(orNothing));
    const gone = deposits.filter((place) => this.#isSweptInVain(place));
    const sweeping = orNothing(
      total([
        ...sweeps.map(({ units }) => units),
        ...amounts(later.filter(({ move, by }) => move.kind === "sweep" && by > 0n)),
        ...gone.map((place) => -orNothing(-unswept(place))),
      ]),
    );
    const topped = total(amounts(left.filter(({ move }) => move.kind === "topup")));
    return {
      block: reading.block,
      available: orNothing(reading.units - reserved),
      reserved,
      pending,
      sweeping,
      total: reading.units - topped + pending + sweeping,
    };
  }

  /** True if an open sweep takes from an address what may have left the chain. */
  #isSweptInVain({ network, address, currency }: Place): boolean {
    const isHere = (one: { network: string; currency: string }): boolean =>
      one.network === network && one.currency === currency;
    return (
      [...this.lost.values()].some((one) => one.deposit === address && isHere(one)) &&
      [...this.transfers.values()].some(
        (one) => one.kind === "sweep" && one.status === 0 && one.payer === address && isHere(one),
      )
    );
  }

  /** The sums of the blocks after `before` and up to `last`, by merchant and currency. */
  periodOf(
    { network, merchant: only }: { readonly network: string; readonly merchant: string | null },
    currencies: readonly string[],
    before: number,
    last: number,
  ): ReadonlyMap<string, PlainPeriod> {
    const lines = new Map<string, PlainPeriod>();
    const wallets = this.#wallets.filter(
      (one) => one.network === network && (only === null || one.merchant === only),
    );
    for (const { address, merchant } of wallets)
      for (const currency of currencies) {
        const name = `${merchant} ${currency}`;
        const line = lines.get(name) ?? emptyPeriod();
        lines.set(name, line);
        this.#addTo(line, { network, address, currency }, before, last);
      }
    const isEmpty = (line: PlainPeriod): boolean => Object.values(line).every((one) => one === 0n);
    return new Map([...lines].filter(([, line]) => !isEmpty(line)));
  }

  #addTo(line: PlainPeriod, place: Place, before: number, last: number): void {
    line.opening += this.unitsAt(place, before);
    line.closing += this.unitsAt(place, last);
    const opening = this.openings.get(nameOf(place));
    if (opening !== undefined && opening.block > before && opening.block <= last)
      line.brought += this.unitsAt(place, opening.block);
    const since = Math.max(before, opening?.block ?? -1);
    for (const { move, by } of this.#changesOf(place)) {
      const { kind, block, from } = move;
      if (block > since && block <= last) line[columnOf(kind, from === place.address)] += by;
    }
  }
}

const emptyPeriod = (): PlainPeriod => ({
  opening: 0n,
  in: 0n,
  out: 0n,
  fee: 0n,
  brought: 0n,
  corrected: 0n,
  closing: 0n,
});

function columnOf(
  kind: PlainMove["kind"],
  isPayer: boolean,
): "in" | "out" | "fee" | "brought" | "corrected" {
  switch (kind) {
    case "payment":
    case "opening":
      return "in";
    case "withdraw":
      return isPayer ? "out" : "in";
    case "fee":
      return "fee";
    case "outside":
      return "brought";
    default:
      return "corrected";
  }
}

/** True for the kinds of moves that a hot wallet pays. */
const isPayment = (kind: PlainMove["kind"]): boolean =>
  kind === "withdraw" || kind === "topup" || kind === "fee";

const areOnBothSides = (blocks: readonly number[], block: number): boolean =>
  Math.min(...blocks) <= block && Math.max(...blocks) > block;

const isSameTransaction = (one: PaymentFact, other: PaymentFact): boolean =>
  one.network === other.network && one.txHash === other.txHash;
const isSameSum = (one: PaymentFact, other: PaymentFact): boolean =>
  one.deposit === other.deposit && one.currency === other.currency && one.units === other.units;
