/**
 * Invariants about money, compared with the simulated chain and with nobody's statement: the bytes
 * that left, their possible effects, the payments, and the gateway's statements about them. Checked
 * at every release, block and commit.
 */
import { deriveOrderTransactionId } from "../../../protocol/identity.ts";
import type { Block, Chain } from "../world/chain.ts";
import { namedReceiver, type Order, type Plan, showsAll } from "../world/plan.ts";
import { isCancel, type SignedTransaction } from "../world/raw.ts";
import { payeeText } from "../world/sequence-raw.ts";
import { contract, currencies, hotWallet, merchant } from "../world/setting.ts";
import { type PricesOfChain, plainGas } from "./prices.ts";
import { Sweeps } from "./sweeps.ts";
import { must, Violation } from "./violation.ts";

/** A row of the gateway's table of withdrawals, as far as truth goes. */
export interface WithdrawalRow {
  readonly id: string;
  readonly orderId: string;
  readonly status: 0 | 1 | 2;
  readonly stage: string;
  readonly code: string;
  readonly txHash: string;
}

/** An end as a courier named it. */
export interface End {
  readonly transactionId: string;
  readonly outcome: string;
  readonly txHash: string;
}

interface Fate {
  readonly order: Order;
  slot: number | null;
  readonly attempts: Map<string, SignedTransaction>; // that left, by hash
  hasFailed: boolean; // the gateway said so, once
  /**
   * It left, and ledger and gateway were both restored to before: what they say of it is not of
   * that time, until it leaves again.
   */
  isForgotten: boolean;
}

/** The reader of a family's bytes, and the judge of its prices. */
export interface Reading {
  readonly read: (raw: string) => SignedTransaction | null;
  readonly prices: PricesOfChain;
}

export class Payments {
  readonly #fates = new Map<string, Fate>(); // by contract, units and payee
  readonly #byOrder = new Map<string, Fate>();
  readonly #ownerOf = new Map<number, Fate>(); // by nonce
  readonly #ownNonces = new Set<number>(); // of top-ups
  readonly #byId = new Map<string, Fate>(); // as the gateway calls them
  readonly #chain: Chain;
  /**
   * The gateway knows all that ever left: it was never restored, and one ledger at a time went on.
   */
  readonly #isAllKnown: boolean;
  /** People look at what was forgotten, and may have it paid after all where it did not pay. */
  readonly #mayPayAgain: boolean;
  /**
   * Bytes that were forgotten and that no node shows may have the nonce of a new transaction. Then
   * only one of the two is mined.
   */
  readonly #mayMeet: boolean;
  readonly #forgotten = new Set<number>(); // nonces of what left and nobody knows of
  readonly #met = new Set<number>(); // those that something new has
  readonly #lost = new Set<string>(); // hashes of what left and the gateway has forgotten
  readonly #prices: PricesOfChain;
  readonly #read: Reading["read"];
  readonly #cancelled = new Map<number, Fate>(); // by an operator, by nonce
  readonly #helped = new Set<string>(); // withdrawals with an attempt that an operator ordered
  /** A courier that lies names prices and first nonces of its own, and backups bring others. */
  readonly #isHonest: boolean;
  /** Nothing was restored, so that no recovery passes nonces over. */
  readonly #isInOrder: boolean;
  /** Transactions of the account that somebody else made with its key. */
  readonly foreign = new Set<string>();
  readonly sweeps: Sweeps;

  constructor(chain: Chain, plan: Plan, { read, prices }: Reading) {
    this.#chain = chain;
    this.sweeps = new Sweeps(chain, plan.deposits);
    this.#prices = prices;
    this.#read = read;
    // Signatures that were made and forgotten in between raise the fee of the attempt that leaves.
    this.#isHonest = plan.rates.hostileCourier === 0 && !plan.isRestoredAgain;
    this.#isInOrder =
      plan.rates.gatewayRestored +
        plan.rates.bothRestored +
        plan.rates.folderCloned +
        plan.rates.pairedAgain ===
        0 && plan.rates.ledgerRestored === 0;
    const { gatewayRestored, bothRestored, folderCloned, pairedAgain } = plan.rates;
    this.#isAllKnown = gatewayRestored + bothRestored + folderCloned + pairedAgain === 0;
    this.#mayPayAgain = plan.recoveryScenario;
    this.#mayMeet = plan.recoveryScenario && !showsAll(plan);
    for (const order of plan.orders) this.expect(order);
  }

  /** This order may be paid, once. */
  expect(order: Order): void {
    const fate: Fate = {
      order,
      slot: null,
      attempts: new Map(),
      hasFailed: false,
      isForgotten: false,
    };
    this.#fates.set(keyOf(order, order.units), fate);
    this.#byOrder.set(order.orderId, fate);
  }

  isAttempt(transactionId: string, txHash: string): boolean {
    const isIt = ({ orderId }: Order): boolean =>
      deriveOrderTransactionId({ merchant, operation: "withdraw", orderId }) === transactionId;
    return [...this.#byOrder.values()].some(
      ({ order, attempts }) => isIt(order) && attempts.has(txHash),
    );
  }

  /** This order may be paid with this amount as well, once. */
  allow(order: Order, amount: string): void {
    const fate = this.#byOrder.get(order.orderId);
    const [, digits = ""] = amount.split(".");
    const units =
      BigInt(digits) * 10n ** BigInt((currencies[order.currency]?.decimal ?? 0) - digits.length);
    if (fate !== undefined) this.#fates.set(keyOf(order, units), fate);
  }

  /** Whether everything that left is in a block, or waits for one where nodes show it. */
  get isShown(): boolean {
    const { pool } = this.#chain;
    return [...this.#ownerOf].every(
      ([nonce, { attempts }]) =>
        pool.has(nonce) || [...attempts.keys()].some((hash) => this.#isIn(hash)),
    );
  }

  /**
   * Ledger and database were restored together; these transactions are what the database knows now.
   */
  forget(known: ReadonlySet<string>): void {
    for (const fate of this.#fates.values()) {
      // A shop that orders a failed withdrawal again wants it paid after all.
      fate.hasFailed = false;
      for (const hash of fate.attempts.keys()) this.#lost[known.has(hash) ? "delete" : "add"](hash);
      if (fate.slot === null || [...fate.attempts.keys()].some((hash) => known.has(hash))) continue;
      fate.isForgotten = true;
      this.#forgotten.add(fate.slot);
    }
  }

  /** Whether something left with this nonce of which neither ledger nor gateway knows. */
  isForgottenNonce(nonce: number): boolean {
    return this.#forgotten.has(nonce);
  }

  get released(): number {
    let count = 0;
    for (const fate of this.#fates.values()) count += fate.attempts.size;
    return count;
  }

  /**
   * An operator ordered an attempt of it: its prices are theirs from here on, and every more
   * expensive one's after them.
   */
  helped(transactionId: string): void {
    this.#helped.add(transactionId);
  }

  /** An operator uses up the nonce of an order, of which nothing else may ever have left. */
  cancelled(orderId: string, nonce: number): void {
    const fate = this.#byOrder.get(orderId);
    if (fate !== undefined) this.#cancelled.set(nonce, fate);
  }

  /** Signed bytes that left one signer for the first time, 0x hex. */
  left(raw: string): SignedTransaction {
    const transaction = this.#read(raw);
    if (transaction === null)
      throw new Violation("only a payment leaves", "bytes that are no transaction");
    if (this.sweeps.isOwn(transaction)) {
      this.sweeps.left(transaction);
      if (transaction.from === hotWallet.toLowerCase()) this.#ownNonces.add(transaction.nonce);
      return transaction;
    }
    const fate = this.#fateOf(transaction);
    if (fate === null)
      throw new Violation(
        "only orders are paid",
        `nonce ${transaction.nonce}, ${transaction.data}`,
      );
    must(
      transaction.from === hotWallet.toLowerCase(),
      "only the own account pays",
      () => transaction.from,
    );
    const { nonce, hash } = transaction;
    const owner = this.#ownerOf.get(nonce) ?? fate;
    const isMet = this.#mayMeet && this.#forgotten.has(nonce) && !this.#met.has(nonce);
    const isFree = this.#hasLapsed(this.heldBytes(), nonce);
    must(
      owner === fate || isMet || isFree,
      "a slot has one withdrawal",
      () => `nonce ${nonce}: ${owner.order.orderId} and ${fate.order.orderId}`,
    );
    must(
      (fate.slot ?? nonce) === nonce ||
        this.#isSpent(fate) ||
        this.#hasLapsed([...fate.attempts.values()], fate.slot),
      "a withdrawal has one slot",
      () => `${fate.order.orderId}: ${fate.slot} and ${nonce}`,
    );
    const isSpent = nonce < this.#final.nonce;
    must(
      !fate.hasFailed || fate.isForgotten || isSpent,
      "a failed withdrawal can never be paid",
      () => `${fate.order.orderId} was released after it had failed`,
    );
    const isHelped = this.#helped.has(
      deriveOrderTransactionId({ merchant, operation: "withdraw", orderId: fate.order.orderId }),
    );
    // A signer on a copied folder answers with attempts that left the first one long before.
    const isNew = !fate.attempts.has(hash);
    if (this.#isHonest && !isHelped && isNew)
      this.#prices.left(transaction, fate.attempts.size + 1);
    const isTaken = (one: number): boolean => this.#ownerOf.has(one) || this.#ownNonces.has(one);
    const isNext = nonce <= this.#chain.top.nonce || isTaken(nonce - 1) || isTaken(nonce);
    must(
      !this.#ownNonces.has(nonce),
      "a slot has one withdrawal",
      () => `nonce ${nonce} is a top-up's`,
    );
    must(
      isNext || !this.#isInOrder,
      "no nonce is given that the chain never comes to",
      () => `nonce ${nonce}`,
    );
    if (isFree) this.#forgotten.delete(nonce);
    else if (owner !== fate) this.#met.add(nonce);
    this.#lost.delete(hash);
    if (fate.slot !== nonce) fate.isForgotten = false;
    this.#ownerOf.set(nonce, fate);
    fate.slot = nonce;
    fate.attempts.set(hash, transaction);
    return transaction;
  }

  /** A block was added. */
  added(block: Block): void {
    this.#prices.see(block.baseFeeWei);
    for (const { transaction, status, gasUsed } of block.included) {
      if (this.#isHonest && status === 0 && !this.foreign.has(transaction.hash)) {
        const isShort = gasUsed === transaction.gasLimit && gasUsed > plainGas;
        must(
          !isShort,
          "no payment fails for want of gas",
          () => `${transaction.hash}: ${transaction.gasLimit}`,
        );
      }
      if (this.foreign.has(transaction.hash) || this.#chain.outside.has(transaction.hash)) continue;
      if (this.sweeps.isOwn(transaction)) {
        must(
          this.sweeps.has(transaction.hash),
          "only released bytes are in a block",
          () => transaction.hash,
        );
        continue;
      }
      const fate = this.#fateOf(transaction);
      must(
        fate?.attempts.has(transaction.hash) === true,
        "only released bytes are in a block",
        () => transaction.hash,
      );
      if (fate === null || status === 0 || isCancel(transaction)) continue;
      must(
        !fate.hasFailed || fate.isForgotten,
        "a failed withdrawal is never paid",
        () => fate.order.orderId,
      );
      const others = [...fate.attempts.keys()].filter(
        (hash) => hash !== transaction.hash && this.#isPaidBy(hash),
      );
      must(others.length === 0, "no withdrawal is paid twice", () => fate.order.orderId);
    }
  }

  /** The statements of the gateway's database after a commit. */
  told(rows: readonly WithdrawalRow[]): void {
    for (const { id, orderId, status, txHash, code } of rows) {
      const fate = this.#byOrder.get(orderId);
      if (fate === undefined) continue;
      this.#byId.set(id, fate);
      if (status === 0) continue;
      if (status === 1) {
        const isPaid = this.#isFinal(txHash) && this.#isPaidBy(txHash) && fate.attempts.has(txHash);
        must(isPaid, "completed means final on chain, exactly so", () => `${orderId} by ${txHash}`);
        continue;
      }
      if (fate.hasFailed) continue;
      fate.hasFailed = true;
      must(
        fate.isForgotten || !this.#canBePaid(fate),
        "failed means that it can never be paid",
        () => `${orderId}, ${code}`,
      );
    }
  }

  /** Whether a withdrawal's bytes are out, for anybody who wants to know when to publish them. */
  heldBytes(): readonly SignedTransaction[] {
    return [...this.#fates.values()].flatMap((fate) => [...fate.attempts.values()]);
  }

  get #final(): Block {
    return this.#chain.blocks[this.#chain.finalNumber] as Block;
  }

  /** Nonces of the account that somebody else used, for good. */
  get foreignNonces(): readonly number[] {
    const final = [...this.foreign].filter((hash) => this.#isFinal(hash));
    return final.flatMap((hash) => {
      const one = this.#chain
        .includedIn(hash)
        ?.included.find(({ transaction }) => transaction.hash === hash);
      return one === undefined ? [] : [one.transaction.nonce];
    });
  }

  /**
   * Whether the end that a courier named is one, at the final block. Lost is what somebody else's
   * transaction took the nonce of; not what an attempt paid that this ledger had forgotten, as long
   * as the gateway knows all of them.
   */
  isEnd({ transactionId, outcome, txHash }: End, txHashes: readonly string[]): boolean {
    if (outcome === "cancelled") return this.#isFinal(txHash) && this.#isCancel(txHash);
    if (outcome === "moved") return false; // no token here moves another amount
    if (outcome === "conflicted") {
      const attempts = this.#isAllKnown
        ? [...(this.#byId.get(transactionId)?.attempts.keys() ?? [])]
        : [];
      return ![...txHashes, ...attempts].some((hash) => this.#isFinal(hash));
    }
    return this.#isFinal(txHash) && this.#isPaidBy(txHash) === (outcome === "paid");
  }

  mayBePaid(transactionId: string): boolean {
    const fate = this.#byId.get(transactionId);
    return fate !== undefined && !fate.isForgotten && this.#canBePaid(fate);
  }

  #canBePaid({ attempts, slot }: Fate): boolean {
    if (slot === null) return false;
    if (slot >= this.#final.nonce) return true;
    return [...attempts.keys()].some((hash) => this.#isPaidBy(hash));
  }

  /**
   * It was forgotten, and what left then is final and did not pay: anybody who saw that may have it
   * paid after all.
   */
  #isSpent(fate: Fate): boolean {
    return this.#mayPayAgain && fate.isForgotten && !this.#canBePaid(fate);
  }

  /**
   * The gateway has forgotten all of these that have the nonce, and no block can take one: each has
   * an end of its own, which is past. The nonce is as if nothing had left with it. A ledger that
   * still knows one of them is held to it by its own records.
   */
  #hasLapsed(all: readonly SignedTransaction[], nonce: number | null): boolean {
    return all
      .filter((one) => one.nonce === nonce)
      .every((one) => this.#lost.has(one.hash) && !this.#chain.canTake(one));
  }

  #isPaidBy(hash: string): boolean {
    const block = this.#chain.includedIn(hash);
    return (
      block?.included.some(
        ({ transaction, status }) =>
          transaction.hash === hash && status === 1 && !isCancel(transaction),
      ) === true
    );
  }

  #isCancel(hash: string): boolean {
    const block = this.#chain.includedIn(hash);
    return (
      block?.included.some(
        ({ transaction }) => transaction.hash === hash && isCancel(transaction),
      ) === true
    );
  }

  #isIn(hash: string): boolean {
    return this.#chain.includedIn(hash) !== null;
  }

  #isFinal(hash: string): boolean {
    const block = this.#chain.includedIn(hash);
    return block !== null && block.number <= this.#chain.finalNumber;
  }

  #fateOf(transaction: SignedTransaction): Fate | null {
    const { payment, nonce } = transaction;
    if (payment === null) return null;
    // A cancel is of whichever withdrawal has the slot, and of no other order.
    if (isCancel(transaction))
      return this.#ownerOf.get(nonce) ?? this.#cancelled.get(nonce) ?? null;
    return this.#fates.get(`${payment.contract} ${payment.units} ${payment.receiver}`) ?? null;
  }
}

/** An order that the shop left open goes where the operator says, and nowhere else. */
function keyOf(order: Order, units: bigint): string {
  return `${contractOf(order)} ${units} ${payeeText(order.address || namedReceiver, order.tag ?? "").toLowerCase()}`;
}

function contractOf({ currency }: Order): string {
  return currencies[currency]?.contract === undefined ? "" : contract.toLowerCase();
}
