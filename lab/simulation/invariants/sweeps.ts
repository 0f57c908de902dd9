/**
 * Invariants about sweeps and their top-ups, compared with the simulated chain and the gateway's
 * own rows: money moves only between the wallet's own accounts, a sweep has one slot of its address
 * and one top-up, and no unit is lost between receipts, balances and transactions on their way.
 */
import { families } from "../../../chains/families.ts";
import type { Chain } from "../world/chain.ts";
import type { DepositOrder } from "../world/plan.ts";
import { isCancel, type SignedTransaction } from "../world/raw.ts";
import { hotWallet, stage } from "../world/setting.ts";
import { type Credits, creditsAreTrue, type IncomingPayment } from "./credits.ts";
import { must } from "./violation.ts";

/** A sweep or a top-up as the gateway's tables have it. */
export interface MovedRow {
  readonly id: string;
  readonly operation: "sweep" | "topup";
  readonly orderId: string;
  readonly currency: string;
  readonly units: string;
  readonly receiver: string;
  readonly payer: string;
  readonly status: 0 | 1 | 2;
  readonly txHash: string;
  readonly feeUnits: string;
  readonly feeMax: string | null; // the attempt that ended it
  readonly finalBlock: number | null;
}

/** The rows of the gateway's database at a commit. */
export interface Books extends Credits {
  readonly moved: readonly MovedRow[];
  readonly unsweptBalances: readonly {
    readonly address: string;
    readonly currency: string;
    readonly units: string;
  }[];
}

/** Addresses below the deposit account that a run can come to between two recoveries. */
const indexesMax = 8;
/** A recovery goes on so many addresses later: a restored database may have forgotten some. */
const indexesSkipped = 1_000;
/** Recoveries of a database after which a run still gives an address. */
const recoveriesMax = 5;

type Form = (address: string) => string;

const derived = new Map<string, string>();
const formed = new Map<string, WeakMap<Form, ReadonlySet<string>>>();

/** The deposit address with this index; derived once per process. */
export function derivedAddress(index: number): string {
  const { family, depositsId } = stage;
  const key = `${depositsId} ${index}`;
  const known = derived.get(key);
  if (known !== undefined) return known;
  const made = families[family].depositAddress(depositsId, index);
  derived.set(key, made);
  return made;
}

/** Every deposit address that a run can come to, each in the caller's form. */
export function derivedAddresses(form: Form): ReadonlySet<string> {
  const { depositsId } = stage;
  const byForm = formed.get(depositsId) ?? new WeakMap<Form, ReadonlySet<string>>();
  formed.set(depositsId, byForm);
  const known = byForm.get(form);
  if (known !== undefined) return known;
  const made = new Set<string>();
  for (let recoveries = 0; recoveries <= recoveriesMax; recoveries += 1)
    for (let index = 0; index < indexesMax; index += 1)
      made.add(form(derivedAddress(recoveries * indexesSkipped + index)));
  byForm.set(form, made);
  return made;
}

/** Places behind the next one that a run's orders can pass over, because nobody can read them. */
const placesMax = 256;

/** Whether the deposit account has this address, however far orders passed places over. */
function isOfAccount(address: string): boolean {
  if (derivedAddresses(asDerived).has(address)) return true;
  for (let recoveries = 0; recoveries <= recoveriesMax; recoveries += 1)
    for (let index = indexesMax; index < placesMax; index += 1)
      if (derivedAddress(recoveries * indexesSkipped + index) === address) return true;
  return false;
}

const asDerived: Form = (address) => address;
const lowerCase: Form = (address) => address.toLowerCase();

/**
 * The deposit addresses that left in one run, each derived here once more, so that no statement of
 * the gateway makes an address the wallet's own.
 */
export class OwnAddresses {
  readonly #form: Form;
  readonly #left = new Set<string>();

  constructor(form: Form) {
    this.#form = form;
  }

  /** A shop has this address now. */
  gave(address: string): void {
    must(isOfAccount(address), "an address that leaves is the wallet's own", () => address);
    this.#left.add(this.#form(address));
  }

  has(address: string): boolean {
    return this.#left.has(address);
  }
}

export class Sweeps {
  readonly #chain: Chain;
  readonly #expected: readonly DepositOrder[];
  readonly #slots = new Map<string, string>(); // by address and nonce: what it moves
  readonly #slotOf = new Map<string, string>(); // the other way round
  readonly #topUps = new Map<string, Set<number>>(); // nonces of the hot wallet, by address
  readonly #attempts = new Map<string, SignedTransaction>(); // that left, by hash
  readonly #hotWallet = hotWallet.toLowerCase();
  readonly #addresses = new OwnAddresses(lowerCase);
  #rows: readonly MovedRow[] = [];

  constructor(chain: Chain, expected: readonly DepositOrder[]) {
    this.#chain = chain;
    this.#expected = expected;
  }

  /** Whether these bytes are of a sweep or a top-up, and not of anything that was ordered. */
  isOwn({ from, payment }: SignedTransaction): boolean {
    if (this.#expected.length === 0) return false;
    return from !== this.#hotWallet || (payment !== null && this.#addresses.has(payment.receiver));
  }

  gave(address: string): void {
    this.#addresses.gave(address);
  }

  has(hash: string): boolean {
    return this.#attempts.has(hash);
  }

  /** Signed bytes that left a signer for the first time. */
  left(transaction: SignedTransaction): void {
    this.#attempts.set(transaction.hash, transaction);
    if (transaction.from === this.#hotWallet) this.#topUp(transaction);
    else this.#sweep(transaction);
  }

  #sweep(transaction: SignedTransaction): void {
    const { from, nonce, payment } = transaction;
    must(this.#addresses.has(from), "only addresses of the wallet are swept", () => from);
    if (isCancel(transaction)) return;
    must(
      payment?.receiver === this.#hotWallet,
      "a sweep goes to the hot wallet address alone",
      () => `${from} to ${payment?.receiver}`,
    );
    const slot = `${from} ${nonce}`;
    const what = `${from} ${payment?.contract} ${payment?.units}`;
    must((this.#slots.get(slot) ?? what) === what, "a slot has one sweep", () => slot);
    const before = this.#slotOf.get(what) ?? slot;
    must(
      before === slot || this.#isOver(before),
      "a sweep has one slot",
      () => `${before} and ${slot}`,
    );
    this.#slots.set(slot, what);
    this.#slotOf.set(what, slot);
  }

  /** Its slot is used up, for good: whatever comes later is another sweep. */
  #isOver(slot: string): boolean {
    const [address = "", nonce = "0"] = slot.split(" ");
    const final = this.#chain.blocks[this.#chain.finalNumber];
    return Number(nonce) < this.#chain.purseOf(address, final).nonce;
  }

  #topUp({ nonce, payment, hash }: SignedTransaction): void {
    must(payment?.contract === "", "a top-up is of the coin that pays the fees", () => hash);
    const address = payment?.receiver ?? "";
    const nonces = this.#topUps.get(address) ?? new Set();
    nonces.add(nonce);
    this.#topUps.set(address, nonces);
    this.#countTopUps(address);
  }

  #countTopUps(address: string): void {
    const nonces = this.#topUps.get(address)?.size ?? 0;
    const sweeps = this.#rows.filter(
      (row) => row.operation === "sweep" && row.payer.toLowerCase() === address,
    );
    must(
      nonces <= sweeps.length,
      "no sweep is topped up twice",
      () => `${address}: ${nonces} for ${sweeps.length}`,
    );
  }

  /** The statements of the gateway's database after a commit. */
  told(books: Books): void {
    const { moved } = books;
    this.#rows = moved;
    for (const address of this.#topUps.keys()) this.#countTopUps(address);
    const sweeps = new Set(
      moved.filter(({ operation }) => operation === "sweep").map(({ id }) => id),
    );
    const topped = moved
      .filter(({ operation }) => operation === "topup")
      .map(({ orderId }) => orderId);
    must(new Set(topped).size === topped.length, "a sweep has one top-up", () => topped.join());
    must(
      topped.every((id) => sweeps.has(id)),
      "a top-up is for a sweep",
      () => topped.join(),
    );
    for (const row of moved) this.#isTrue(row);
    creditsAreTrue(
      books,
      (txHash) => this.#cameBy(txHash),
      (address) => address.toLowerCase(),
    );
    const rest = restOf(books, stage.coin.id);
    must(rest === "", "no unit is lost between coming and arriving", () => rest);
  }

  #cameBy(txHash: string): IncomingPayment | null {
    if (!this.#chain.outside.has(txHash)) return null;
    const block = this.#chain.includedIn(txHash);
    const payment = block?.included.find(({ transaction }) => transaction.hash === txHash)
      ?.transaction.payment;
    const nowhere = { receiver: "", contract: "", units: 0n };
    return {
      ...(payment ?? nowhere),
      isFinal: block !== null && block.number <= this.#chain.finalNumber,
    };
  }

  /** Completed means final on chain; that is when the money counts as arrived. */
  #isTrue({ id, status, txHash }: MovedRow): void {
    if (status !== 1) return;
    const block = this.#chain.includedIn(txHash);
    const isFinal = block !== null && block.number <= this.#chain.finalNumber;
    must(
      isFinal && this.#attempts.has(txHash),
      "completed means final on chain, sweeps as well",
      () => `${id} by ${txHash}`,
    );
  }

  /** The deposits that are not swept yet, in words; "" if all are. */
  open(rows: readonly MovedRow[]): string {
    const waiting = rows
      .filter(({ status }) => status === 0)
      .map(({ operation, orderId }) => `${operation} ${orderId}`);
    return waiting.join(", ");
  }

  /** At the end of a run nothing lies on an address that a sweep would be worth. */
  ends(paid: ReadonlyMap<string, DepositOrder>): void {
    for (const [address, { currency, orderId }] of paid) {
      const { nativeWei, tokenUnits } = this.#chain.purseOf(address.toLowerCase());
      const isSwept = currency === "usdt" ? tokenUnits === 0n : nativeWei < 10n ** 17n;
      must(
        isSwept,
        "money that is worth a sweep is swept when faults stop",
        () => `${orderId} at ${address}`,
      );
    }
  }
}

/**
 * Everything that came in lies on its address, is in a sweep, or was a fee of the coin: what does
 * not add up, "" when all of it does.
 */
export function restOf(
  { moved, unsweptBalances, payments }: Omit<Books, "requests">,
  coin: string,
): string {
  const sums = new Map<string, bigint>();
  const add = (address: string, currency: string, units: bigint): void => {
    const key = `${address} ${currency}`;
    sums.set(key, (sums.get(key) ?? 0n) + units);
  };
  for (const { address, currency, units } of payments) add(address, currency, BigInt(units));
  for (const row of moved) {
    const units = BigInt(row.units);
    if (row.operation === "topup" && row.status === 1) add(row.receiver, coin, units);
    if (row.operation === "topup") continue;
    if (row.status !== 2) add(row.payer, row.currency, -units);
    if (row.feeUnits !== "") add(row.payer, coin, -BigInt(row.feeUnits));
  }
  for (const { address, currency, units } of unsweptBalances)
    add(address, currency, -BigInt(units));
  const wrong = [...sums].find(([, rest]) => rest !== 0n);
  return wrong === undefined ? "" : `${wrong[0]}: ${wrong[1]}`;
}
