/**
 * Invariants about sweeps and top-ups if only time excludes a payment: money moves only between the
 * wallet's own accounts, another attempt leaves only when the one before is void, a sweep has one
 * top-up that pays, and no unit is lost.
 */
import type { DepositOrder, Plan } from "../world/plan.ts";
import { contract, hotWallet, stage } from "../world/setting.ts";
import type { TronBlock, TronChain } from "../world/tron-chain.ts";
import { addressHex, type SignedTransfer } from "../world/tron-raw.ts";
import { creditsAreTrue, type IncomingPayment } from "./credits.ts";
import type { MovedMoney } from "./money.ts";
import { type Books, type MovedRow, OwnAddresses, restOf } from "./sweeps.ts";
import { must } from "./violation.ts";

/** The most that a sweep of coins may leave. */
const restSun = 2_000_000n;

interface Move {
  readonly mode: "sweep" | "topup";
  readonly id: string;
  readonly attempts: Map<string, SignedTransfer>;
}

export class WaitingSweeps implements MovedMoney {
  readonly #chain: TronChain;
  readonly #moves = new Map<string, Move>(); // by id
  readonly #ownerOf = new Map<string, Move>(); // by hash
  readonly #hotWallet = addressHex(hotWallet);
  readonly #addresses = new OwnAddresses(addressHex);
  readonly #isExpected: boolean;
  /** The chain's charge for a new account stands in no bytes: it is the courier's word. */
  readonly #isPriced: boolean;

  constructor(chain: TronChain, { deposits, rates }: Plan) {
    this.#chain = chain;
    this.#isExpected = deposits.length > 0;
    this.#isPriced = rates.hostileCourier === 0;
  }

  /** Whether these bytes are of a sweep or a top-up, and not of anything that was ordered. */
  isOwn({ owner, receiver }: SignedTransfer): boolean {
    return this.#isExpected && (owner !== this.#hotWallet || this.#addresses.has(receiver));
  }

  gave(address: string): void {
    this.#addresses.gave(address);
  }

  has(hash: string): boolean {
    return this.#ownerOf.has(hash);
  }

  transferOf(hash: string): SignedTransfer | undefined {
    return this.#ownerOf.get(hash)?.attempts.get(hash);
  }

  heldBytes(): readonly SignedTransfer[] {
    return [...this.#moves.values()].flatMap(({ attempts }) => [...attempts.values()]);
  }

  /** Signed bytes that left a signer for the first time. */
  left(transfer: SignedTransfer, id: string): void {
    const { hash, owner, receiver, contract: token } = transfer;
    const mode = owner === this.#hotWallet ? "topup" : "sweep";
    const [from, to] = mode === "sweep" ? [owner, receiver] : [receiver, owner];
    must(this.#addresses.has(from), "only addresses of the wallet are swept", () => from);
    must(
      to === this.#hotWallet,
      "a sweep goes to the hot wallet address alone",
      () => `${from} to ${to}`,
    );
    must(
      mode === "sweep" || token === "",
      "a top-up is of the coin that pays the fees",
      () => hash,
    );
    const key = `${mode} ${id}`;
    const move = this.#moves.get(id) ?? { mode, id, attempts: new Map() };
    this.#moves.set(id, move);
    must(
      (this.#ownerOf.get(hash) ?? move) === move,
      "an id is of one payment",
      () => `${hash}: ${key}`,
    );
    const address = mode === "sweep" ? owner : receiver;
    const other = [...this.#moves.values()].find(
      (one) => one !== move && this.#isOnItsWay(one, address),
    );
    must(
      other === undefined,
      "an address has one sweep or top-up at a time",
      () => `${key} and ${other?.mode} ${other?.id}`,
    );
    const living = [...move.attempts.values()].find(
      (one) => one.hash !== hash && this.#chain.canTake(one),
    );
    must(
      living === undefined,
      "another attempt leaves when no block can take the one before",
      () => `${key}: ${living?.hash}`,
    );
    move.attempts.set(hash, transfer);
    this.#ownerOf.set(hash, move);
  }

  /** A block may still take it, or has it and may be replaced. */
  #isOnItsWay({ attempts }: Move, address: string): boolean {
    const isOf = ({ owner, receiver }: SignedTransfer): boolean =>
      owner === address || receiver === address;
    return [...attempts.values()].some(
      (one) => isOf(one) && !this.#chain.isSolid(one.hash) && this.#chain.canTake(one),
    );
  }

  added(block: TronBlock): void {
    for (const { transfer, ret } of block.done) {
      const move = this.#ownerOf.get(transfer.hash);
      if (move === undefined || ret !== "SUCCESS") continue;
      const paid = [...move.attempts.keys()].filter(
        (hash) => this.#chain.doneOf(hash)?.ret === "SUCCESS",
      );
      must(
        paid.length <= 1,
        "no sweep and no top-up moves money twice",
        () => `${move.mode} ${move.id}`,
      );
    }
  }

  told(books: Books): void {
    const { moved } = books;
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
    for (const { id, status, txHash } of moved) {
      const isTrue = status !== 1 || (this.#chain.isSolid(txHash) && this.#ownerOf.has(txHash));
      must(isTrue, "completed means final on chain, sweeps as well", () => `${id} by ${txHash}`);
    }
    const dear = moved.find(
      ({ feeUnits, feeMax }) => feeUnits !== "" && BigInt(feeUnits) > BigInt(feeMax ?? "0"),
    );
    must(
      !this.#isPriced || dear === undefined,
      "nothing costs more than was signed for",
      () => `${dear?.id}: ${dear?.feeUnits}`,
    );
    creditsAreTrue(books, (txHash) => this.#cameBy(txHash), addressHex);
    const rest = restOf(books, stage.coin.id);
    must(rest === "", "no unit is lost between coming and arriving", () => rest);
  }

  #cameBy(txHash: string): IncomingPayment | null {
    if (!this.#chain.outside.has(txHash)) return null;
    const transfer = this.#chain.doneOf(txHash)?.transfer;
    const nowhere = { receiver: "", contract: "", units: 0n };
    return { ...(transfer ?? nowhere), isFinal: this.#chain.isSolid(txHash) };
  }

  open(rows: readonly MovedRow[]): string {
    const waiting = rows
      .filter(({ status }) => status === 0)
      .map(({ operation, orderId }) => `${operation} ${orderId}`);
    return waiting.join(", ");
  }

  ends(paid: ReadonlyMap<string, DepositOrder>): void {
    for (const [address, { currency, orderId }] of paid) {
      const { sun, units } = this.#chain.purseOf(addressHex(address));
      const isSwept = currency === "usdt" ? units === 0n : sun < restSun;
      must(
        isSwept,
        "money that is worth a sweep is swept when faults stop",
        () => `${orderId} at ${address}, ${contract}`,
      );
    }
  }
}
