/**
 * Invariants about money on a chain of coins, compared with the simulated chain and with nobody's
 * statement: a withdrawal has one pin, no coin is in two open withdrawals, and nothing is paid
 * twice. Checked at every release, block and commit.
 */
import { deriveOrderTransactionId } from "../../../protocol/identity.ts";
import type { CoinBlock, CoinChain } from "../world/coin-chain.ts";
import { type CoinTransaction, readCoinRaw } from "../world/coin-raw.ts";
import { scriptOf } from "../world/coin-script.ts";
import type { Order, Plan } from "../world/plan.ts";
import { hotWallet, merchant } from "../world/setting.ts";
import type { BytesOwner, Money, MovedMoney } from "./money.ts";
import type { End, WithdrawalRow } from "./payments.ts";
import { must, Violation } from "./violation.ts";

/** The ceiling of one payment's fee, as the policy of these runs has it, in sat. */
const feeMaxSat = 50_000n;

interface Fate {
  readonly order: Order;
  readonly payable: Set<string>; // script and units
  pin: string; // "" until its first attempt left
  readonly attempts: Map<string, CoinTransaction>; // that left, by hash
  hasFailed: boolean;
  /** It left, and ledger and gateway were both restored to before, until it leaves again. */
  isForgotten: boolean;
}

export class CoinMoney implements Money {
  readonly foreignNonces: readonly number[] = [];
  readonly sweeps: MovedMoney = { gave: () => {}, told: () => {}, open: () => "", ends: () => {} };
  apart = 0;
  readonly #hidden = new Set<string>(); // hashes that no node showed
  readonly #lost = new Set<string>(); // hashes of what left and the gateway has forgotten
  readonly #byId = new Map<string, Fate>();
  readonly #byOrder = new Map<string, Fate>();
  readonly #ownerOf = new Map<string, Fate>(); // by pin
  readonly #holderOf = new Map<string, Fate>(); // by coin
  readonly #byHash = new Map<string, Fate>();
  readonly #chain: CoinChain;
  readonly #own: string;
  /** Nothing was restored: the ledger knows all that ever left. */
  readonly #isAllKnown: boolean;

  constructor(chain: CoinChain, plan: Plan) {
    this.#chain = chain;
    this.#own = scriptOf(hotWallet);
    const { ledgerRestored, gatewayRestored, bothRestored, folderCloned, pairedAgain } = plan.rates;
    this.#isAllKnown =
      ledgerRestored + gatewayRestored + bothRestored + folderCloned + pairedAgain === 0;
    for (const order of plan.orders) this.expect(order);
  }

  get foreign(): ReadonlySet<string> {
    return this.#chain.foreign;
  }

  get released(): number {
    let count = 0;
    for (const { attempts } of this.#byOrder.values()) count += attempts.size;
    return count;
  }

  /** Every attempt that left. */
  get attempts(): readonly CoinTransaction[] {
    return [...this.#byOrder.values()].flatMap(({ attempts }) => [...attempts.values()]);
  }

  get isShown(): boolean {
    return [...this.#byOrder.values()].every(
      (fate) => fate.attempts.size === 0 || this.#isSeen(fate),
    );
  }

  #isSeen({ attempts }: Fate): boolean {
    return [...attempts.keys()].some(
      (hash) => this.#chain.pool.has(hash) || this.#chain.includedIn(hash) !== null,
    );
  }

  get isSpoiled(): boolean {
    return [...this.#byOrder.values()].some((fate) => {
      const inputs = this.#isOver(fate)
        ? []
        : [...fate.attempts.values()].flatMap((one) => one.inputs);
      return inputs.some(({ coin }) => {
        const spender = this.#chain.spenderOf(coin, this.#chain.finalNumber);
        const isLost =
          this.#chain.isMadeUp(coin) || (spender !== null && !fate.attempts.has(spender.hash));
        return coin !== fate.pin && isLost;
      });
    });
  }

  isAttempt(transactionId: string, txHash: string): boolean {
    return this.#byId.get(transactionId)?.attempts.has(txHash) === true;
  }

  hide(txHashes: readonly string[]): void {
    for (const txHash of txHashes) this.#hidden.add(txHash);
    // Bytes that left and never came to a node are on none either.
    for (const fate of this.#byOrder.values())
      if (!this.#isSeen(fate)) for (const txHash of fate.attempts.keys()) this.#hidden.add(txHash);
  }

  expect(order: Order): void {
    const payable = new Set([payableOf(order, order.units)]);
    const fate: Fate = {
      order,
      payable,
      pin: "",
      attempts: new Map(),
      hasFailed: false,
      isForgotten: false,
    };
    this.#byOrder.set(order.orderId, fate);
    this.#byId.set(
      deriveOrderTransactionId({ merchant, operation: "withdraw", orderId: order.orderId }),
      fate,
    );
  }

  allow(order: Order, amount: string): void {
    const [, digits = ""] = amount.split(".");
    const units = BigInt(digits) * 10n ** BigInt(8 - digits.length);
    this.#byOrder.get(order.orderId)?.payable.add(payableOf(order, units));
  }

  /**
   * Ledger and database were restored together; these transactions are what the database knows now.
   */
  forget(known: ReadonlySet<string>): void {
    for (const fate of this.#byOrder.values()) {
      fate.hasFailed = false;
      for (const hash of fate.attempts.keys()) this.#lost[known.has(hash) ? "delete" : "add"](hash);
      fate.isForgotten ||=
        fate.attempts.size > 0 && ![...fate.attempts.keys()].some((hash) => known.has(hash));
    }
  }

  /** The amount of an order, as the shop ordered it. */
  amountOf(transactionId: string): bigint | undefined {
    return this.#byId.get(transactionId)?.order.units;
  }

  /** Whether a final transaction of the account pays this script these units. */
  hasPaid(script: string, units: bigint): boolean {
    const isIt = (one: CoinTransaction): boolean =>
      this.#chain.isFinal(one.hash) &&
      one.outputs.some((output) => output.script === script && output.units === units);
    return this.attempts.some(isIt);
  }

  isForgottenNonce(): boolean {
    return false;
  }

  helped(): void {}

  cancelled(): void {}

  left(
    raw: string,
    { transactionId }: BytesOwner,
  ): { readonly hash: string; readonly nonce: string } {
    const transaction = readCoinRaw(raw);
    const pin = transaction?.inputs[0]?.coin;
    if (transaction === null || pin === undefined)
      throw new Violation("only a payment leaves", "bytes that are no transaction");
    const { hash, inputs } = transaction;
    const fate = this.#byId.get(transactionId);
    if (fate === undefined || !this.#isOf(fate, transaction))
      throw new Violation("only orders are paid", `${hash} with pin ${pin}`);
    const say = (): string => `${fate.order.orderId}: ${hash}, pin ${pin}, before ${fate.pin}`;
    for (const { coin, keyHash } of inputs) {
      const output = this.#chain.outputOf(coin);
      must(
        output?.script === this.#own && this.#own.endsWith(keyHash) && keyHash !== "",
        "only the own account pays",
        say,
      );
      const holder = this.#holderOf.get(coin) ?? fate;
      // A ledger that forgot a payment learns its pin from the gateway, and no other coin of it.
      const isForgotten = this.#isUnseen(holder) || (!this.#isAllKnown && coin !== holder.pin);
      must(
        holder === fate || this.#isOver(holder) || isForgotten,
        "no coin is in two open withdrawals",
        say,
      );
      this.#holderOf.set(coin, fate);
    }
    const owner = this.#ownerOf.get(pin) ?? fate;
    must(
      owner === fate || this.#isOver(owner) || this.#isUnseen(owner),
      "a pin has one withdrawal",
      say,
    );
    const isUnseen = this.#isUnseen(fate);
    const isOther =
      fate.pin === "" ||
      fate.pin === pin ||
      isUnseen ||
      (!this.#isAllKnown && this.#isSpentElsewhere(fate));
    fate.isForgotten &&= fate.pin === pin;
    must(isOther, "a withdrawal has one pin", say);
    must(
      !fate.hasFailed || this.#isSpentElsewhere(fate),
      "a failed withdrawal can never be paid",
      say,
    );
    const fee = this.#chain.feeOf(transaction);
    must(
      fee > 0n && fee <= feeMaxSat,
      "no fee is above its limit, and no amount of a coin is made up",
      () => `${say()}: ${fee}`,
    );
    const before = this.#byHash.get(hash) ?? fate;
    must(before === fate || this.#lost.has(hash), "a transaction pays one order", say);
    this.#lost.delete(hash);
    if (before !== fate) this.#takes(before, hash);
    this.#ownerOf.set(pin, fate);
    fate.pin = pin;
    fate.attempts.set(hash, transaction);
    this.#byHash.set(hash, fate);
    this.#chain.made.set(hash, transaction);
    return { hash, nonce: pin.slice(0, 12) };
  }

  /**
   * The same bytes left again, of an equal order: ledger and gateway have forgotten of which they
   * were before, and they pay one of the two.
   */
  #takes(before: Fate, hash: string): void {
    before.attempts.delete(hash);
    if (before.attempts.size === 0) before.pin = "";
  }

  added({ transactions }: CoinBlock): void {
    for (const transaction of transactions) {
      const { hash } = transaction;
      if (this.#chain.outside.has(hash) || this.#chain.foreign.has(hash)) continue;
      const fate = this.#byHash.get(hash);
      must(fate !== undefined, "only released bytes are in a block", () => hash);
      if (fate === undefined || this.#isCancel(transaction)) continue;
      must(
        !fate.hasFailed || fate.isForgotten,
        "a failed withdrawal is never paid",
        () => fate.order.orderId,
      );
      const others = [...fate.attempts.values()].filter(
        (one) => one.hash !== hash && this.#pays(one),
      );
      if (others.length > 0 && [...others, transaction].some((one) => this.#hidden.has(one.hash))) {
        this.apart += 1;
        continue;
      }
      must(others.length === 0, "no withdrawal is paid twice", () => fate.order.orderId);
    }
  }

  told(rows: readonly WithdrawalRow[]): void {
    for (const { orderId, status, txHash, code } of rows) {
      const fate = this.#byOrder.get(orderId);
      if (fate === undefined || status === 0) continue;
      if (status === 1) {
        const attempt = fate.attempts.get(txHash);
        const isPaid =
          attempt !== undefined && this.#chain.isFinal(txHash) && !this.#isCancel(attempt);
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

  isEnd({ outcome, txHash }: End, txHashes: readonly string[]): boolean {
    if (outcome === "moved") return false;
    if (outcome === "conflicted") return !txHashes.some((hash) => this.#chain.isFinal(hash));
    const attempt = this.#chain.made.get(txHash);
    return (
      attempt !== undefined &&
      this.#chain.isFinal(txHash) &&
      this.#isCancel(attempt) === (outcome === "cancelled")
    );
  }

  heldBytes(): readonly string[] {
    return this.attempts.map(({ raw }) => raw);
  }

  mayBePaid(transactionId: string): boolean {
    const fate = this.#byId.get(transactionId);
    return fate !== undefined && !fate.isForgotten && this.#canBePaid(fate);
  }

  #canBePaid(fate: Fate): boolean {
    if (fate.pin === "" || this.#chain.isMadeUp(fate.pin)) return false;
    const spender = this.#chain.spenderOf(fate.pin, this.#chain.finalNumber);
    return spender === null || (fate.attempts.has(spender.hash) && !this.#isCancel(spender));
  }

  /** Its pin is spent for good, by an attempt or by somebody else. */
  #isOver({ pin }: Fate): boolean {
    return pin === "" || this.#chain.spenderOf(pin, this.#chain.finalNumber) !== null;
  }

  /** No node showed what left of it when the order came again. */
  #isUnseen({ attempts }: Fate): boolean {
    return [...attempts.keys()].some((hash) => this.#hidden.has(hash));
  }

  #isSpentElsewhere(fate: Fate): boolean {
    return this.#isOver(fate) && !this.#canBePaid(fate);
  }

  #pays(transaction: CoinTransaction): boolean {
    return this.#chain.includedIn(transaction.hash) !== null && !this.#isCancel(transaction);
  }

  #isCancel({ outputs }: CoinTransaction): boolean {
    return outputs.every(({ script }) => script === this.#own);
  }

  /** One output pays the order, all others are change; a cancel has only change. */
  #isOf({ payable }: Fate, transaction: CoinTransaction): boolean {
    const [one, ...more] = transaction.outputs.filter(({ script }) => script !== this.#own);
    return one === undefined || (more.length === 0 && payable.has(`${one.script} ${one.units}`));
  }
}

function payableOf({ address }: Order, units: bigint): string {
  return `${scriptOf(address)} ${units}`;
}
