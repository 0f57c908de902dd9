/**
 * Invariants about money if only time excludes a payment, compared with the simulated chain and
 * with nobody's statement: a second attempt leaves only when no block of any branch can take the
 * first; no id belongs to two payments; nothing is paid twice; a failed withdrawal can never be
 * paid.
 */
import { deriveOrderTransactionId } from "../../../protocol/identity.ts";
import type { SignedBytes } from "../../kit/signed-bytes.ts";
import { kernel } from "../kernel/kernel.ts";
import type { Order, Plan } from "../world/plan.ts";
import {
  begun,
  contract,
  currencies,
  hotWallet,
  merchant,
  policyOf,
  stage,
} from "../world/setting.ts";
import type { TronBlock, TronChain } from "../world/tron-chain.ts";
import { addressHex, readTransfer, type SignedTransfer } from "../world/tron-raw.ts";
import type { BytesOwner, Money, MovedMoney } from "./money.ts";
import { unitsIn, withinWindows } from "./payable.ts";
import type { End, WithdrawalRow } from "./payments.ts";
import { must, Violation } from "./violation.ts";
import { WaitingSweeps } from "./waiting-sweeps.ts";

/** So far past its end, in solidified time, nobody calls an attempt void. */
export const marginMs = 120_000;

interface Fate {
  readonly order: Order;
  readonly units: bigint[]; // that may be paid: the order's, and what it was altered to where the database forgot it
  readonly attempts: Map<string, SignedTransfer>; // that left, by hash
  hasFailed: boolean; // the gateway said so, once
  /** It left, and ledger and gateway were both restored to before. */
  isForgotten: boolean;
}

const hourMs = 3_600_000;

export class WaitingMoney implements Money {
  readonly foreign: ReadonlySet<string> = new Set();
  readonly foreignNonces: readonly number[] = [];
  readonly sweeps: MovedMoney;
  readonly #moved: WaitingSweeps;
  readonly #chain: TronChain;
  readonly #plan: Plan;
  readonly #signed = new Map<string, readonly SignedBytes[]>(); // that left, by contract
  readonly #fates = new Map<string, Fate>(); // by order
  readonly #byId = new Map<string, Fate>(); // as everybody calls them
  readonly #ownerOf = new Map<string, Fate>(); // by hash
  apart = 0;
  readonly #hidden = new Set<string>(); // hashes that no node showed
  readonly #leftAt = new Map<string, number>(); // simulated time at which bytes left first, by hash

  constructor(chain: TronChain, plan: Plan) {
    this.#chain = chain;
    this.#plan = plan;
    this.#moved = new WaitingSweeps(chain, plan);
    this.sweeps = this.#moved;
    for (const order of plan.orders) this.expect(order);
  }

  expect(order: Order): void {
    const fate = {
      order,
      units: [order.units],
      attempts: new Map(),
      hasFailed: false,
      isForgotten: false,
    };
    this.#fates.set(order.orderId, fate);
    this.#byId.set(
      deriveOrderTransactionId({ merchant, operation: "withdraw", orderId: order.orderId }),
      fate,
    );
  }

  allow(order: Order, amount: string): void {
    const [, digits = ""] = amount.split(".");
    const decimal = currencies[order.currency]?.decimal ?? 0;
    this.#fates
      .get(order.orderId)
      ?.units.push(BigInt(digits) * 10n ** BigInt(decimal - digits.length));
  }

  get released(): number {
    return this.#ownerOf.size;
  }

  /**
   * Ledger and database were restored together; these transactions are what the database knows now.
   */
  forget(known: ReadonlySet<string>): void {
    for (const fate of this.#fates.values()) {
      fate.hasFailed = false;
      fate.isForgotten ||=
        fate.attempts.size > 0 && ![...fate.attempts.keys()].some((hash) => known.has(hash));
    }
  }

  /** What left, and a block can still take, is in the pool or in a block. */
  get isShown(): boolean {
    return [...this.#fates.values()].every(({ attempts }) =>
      [...attempts.values()].every((one) => this.#isSeen(one)),
    );
  }

  #isSeen(one: SignedTransfer): boolean {
    return (
      !this.#chain.canTake(one) ||
      this.#chain.pool.has(one.hash) ||
      this.#chain.includedIn(one.hash) !== null
    );
  }

  isAttempt(transactionId: string, txHash: string): boolean {
    return this.#byId.get(transactionId)?.attempts.has(txHash) === true;
  }

  hide(txHashes: readonly string[]): void {
    for (const txHash of txHashes) this.#hidden.add(txHash);
    // Bytes that left and never came to a node are on none either.
    for (const { attempts } of this.#fates.values())
      for (const one of attempts.values()) if (!this.#isSeen(one)) this.#hidden.add(one.hash);
  }

  /** Whether a solidified transaction of the account pays this address these units. */
  hasPaid(receiver: string, units: bigint): boolean {
    const isIt = (one: SignedTransfer): boolean =>
      one.receiver === receiver &&
      one.units === units &&
      this.#chain.isSolid(one.hash) &&
      this.#isPaidBy(one.hash);
    return [...this.#fates.values()].some(({ attempts }) => [...attempts.values()].some(isIt));
  }

  isForgottenNonce(): boolean {
    return false;
  }

  /** Nobody bids here, and nothing is cancelled on chain. */
  helped(): void {}
  cancelled(): void {}

  left(
    raw: string,
    { transactionId }: BytesOwner,
  ): { readonly hash: string; readonly nonce: string } {
    const transfer = readTransfer(raw);
    if (transfer === null)
      throw new Violation("only a payment leaves", "bytes that are no transfer");
    const { hash, owner, signer } = transfer;
    must(owner === signer, "only the own account pays", () => `${owner} by ${signer}`);
    const short = { hash, nonce: hash.slice(0, 8) };
    if (this.#moved.isOwn(transfer)) {
      this.#moved.left(transfer, transactionId);
      return short;
    }
    const fate = this.#byId.get(transactionId);
    if (fate === undefined || !isFor(transfer, fate))
      throw new Violation("only orders are paid", transactionId);
    const { orderId } = fate.order;
    must(owner === addressHex(hotWallet), "only the own account pays", () => owner);
    must(
      (this.#ownerOf.get(hash) ?? fate) === fate,
      "an id is of one payment",
      () => `${hash}: ${orderId}`,
    );
    must(
      !fate.hasFailed,
      "a failed withdrawal can never be paid",
      () => `${orderId} was released after it had failed`,
    );
    const living = [...fate.attempts.values()].find(
      (one) => one.hash !== hash && this.#chain.canTake(one) && !this.#hidden.has(one.hash),
    );
    must(
      living === undefined,
      "another attempt leaves when no block can take the one before",
      () => `${orderId}: ${living?.hash}`,
    );
    fate.attempts.set(hash, transfer);
    if (!this.#leftAt.has(hash)) this.#leftAt.set(hash, kernel.scheduler.nowMs);
    this.#ownerOf.set(hash, fate);
    if (this.#plan.liars === "gateway and nodes") this.#withinWindows(transfer);
    else this.#withinLimits(transfer.contract);
    return short;
  }

  /**
   * Amounts of a currency that blocks can still take, and those that left within the window, are
   * within hour and day, by bytes that left. A ledger that was restored has forgotten bytes, and a
   * recovery keeps what is bound.
   */
  #withinLimits(token: string): void {
    const { rates } = this.#plan;
    if (
      rates.ledgerRestored + rates.gatewayRestored + rates.bothRestored > 0 ||
      this.#plan.takeover
    )
      return;
    const { maxPerHour, maxPerDay } = policyOf(this.#plan);
    const decimal = currencies[token === "" ? stage.coin.id : "usdt"]?.decimal ?? 0;
    const windows = [
      { limit: maxPerHour, spanMs: hourMs },
      { limit: maxPerDay, spanMs: 24 * hourMs },
    ];
    for (const { limit, spanMs } of windows) {
      const units = this.#payable(token, kernel.scheduler.nowMs - spanMs);
      const isWithin = limit === undefined || units <= unitsIn(limit, decimal);
      must(
        isWithin,
        "the sum that blocks can still take is within each limit",
        () => `${units} units in ${spanMs} ms`,
      );
    }
  }

  /** The units that a block can take or has taken, but for old payments in a solidified block. */
  #payable(token: string, sinceMs: number): bigint {
    let units = 0n;
    for (const { attempts } of this.#fates.values()) {
      for (const one of attempts.values()) {
        const isOld = (this.#leftAt.get(one.hash) ?? 0) <= sinceMs;
        const block = this.#chain.includedIn(one.hash);
        const isPast = isOld && block !== null && block.number <= this.#chain.solid.number;
        if (one.contract === token && this.#chain.canTake(one) && !isPast) units += one.units;
      }
    }
    return units;
  }

  /**
   * No block of any branch takes it: solidified time is past its end by the margin, and none has
   * it.
   */
  isGone(transfer: SignedTransfer): boolean {
    return (
      !this.#chain.canTake(transfer) &&
      this.#chain.solid.timestampMs > transfer.expirationMs + marginMs
    );
  }

  /** The same over an hour and a day, by what two liars may have given back. */
  #withinWindows({ contract: token, units, expirationMs }: SignedTransfer): void {
    const decimal = currencies[token === "" ? stage.coin.id : "usdt"]?.decimal ?? 0;
    const signedAt = begun + Math.floor(kernel.scheduler.nowMs);
    const signed = [
      ...(this.#signed.get(token) ?? []),
      { units, signedAt, validUntilMs: expirationMs + marginMs, slot: "" },
    ];
    this.#signed.set(token, signed);
    withinWindows(signed, policyOf(this.#plan), decimal);
  }

  /** A block was added. */
  added(block: TronBlock): void {
    for (const { transfer, ret } of block.done) {
      const { hash } = transfer;
      if (this.#chain.outside.has(hash) || this.#moved.has(hash)) continue;
      const fate = this.#ownerOf.get(hash);
      must(fate !== undefined, "only released bytes are in a block", () => hash);
      if (fate === undefined || ret !== "SUCCESS") continue;
      must(
        !fate.hasFailed || fate.isForgotten,
        "a failed withdrawal is never paid",
        () => fate.order.orderId,
      );
      const others = [...fate.attempts.keys()].filter(
        (other) => other !== hash && this.#isPaidBy(other),
      );
      if (others.length > 0 && [...others, hash].some((one) => this.#hidden.has(one))) {
        this.apart += 1;
        continue;
      }
      must(others.length === 0, "no withdrawal is paid twice", () => fate.order.orderId);
    }
    this.#moved.added(block);
  }

  told(rows: readonly WithdrawalRow[]): void {
    // A gateway that lies says what it likes.
    if (this.#plan.liars === "gateway and nodes") return;
    for (const { orderId, status, txHash, code } of rows) {
      const fate = this.#fates.get(orderId);
      if (fate === undefined || status === 0) continue;
      if (status === 1) {
        const isPaid =
          this.#chain.isSolid(txHash) && this.#isPaidBy(txHash) && fate.attempts.has(txHash);
        must(isPaid, "completed means final on chain, exactly so", () => `${orderId} by ${txHash}`);
        continue;
      }
      if (fate.hasFailed) continue;
      fate.hasFailed = true;
      const living = [...fate.attempts.values()].find((one) => this.#canPay(one));
      must(
        living === undefined || fate.isForgotten,
        "failed means that it can never be paid",
        () => `${orderId}, ${code}: ${living?.hash}`,
      );
    }
  }

  /** One that left, by its hash. */
  transferOf(hash: string): SignedTransfer | undefined {
    return this.#ownerOf.get(hash)?.attempts.get(hash) ?? this.#moved.transferOf(hash);
  }

  heldBytes(): readonly SignedTransfer[] {
    return [
      ...[...this.#fates.values()].flatMap(({ attempts }) => [...attempts.values()]),
      ...this.#moved.heldBytes(),
    ];
  }

  isEnd({ outcome, txHash }: End): boolean {
    if (outcome !== "paid" && outcome !== "reverted") return false;
    return this.#chain.isSolid(txHash) && this.#isPaidBy(txHash) === (outcome === "paid");
  }

  /** It paid, or may still. */
  #canPay(transfer: SignedTransfer): boolean {
    if (this.#chain.isSolid(transfer.hash)) return this.#isPaidBy(transfer.hash);
    return this.#chain.canTake(transfer);
  }

  #isPaidBy(hash: string): boolean {
    return this.#chain.doneOf(hash)?.ret === "SUCCESS";
  }
}

function isFor(
  { contract: token, receiver, units }: SignedTransfer,
  { order, units: allowed }: Fate,
): boolean {
  const wanted = order.currency === "usdt" ? addressHex(contract) : "";
  return token === wanted && receiver === addressHex(order.address) && allowed.includes(units);
}
