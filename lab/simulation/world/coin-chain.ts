/**
 * A simulated chain of coins with one account that matters: blocks with their true bytes, a pool
 * with the replacement rule, other people's payments by the account's coins, reorganisations above
 * finality. A final block never leaves again. Shows nothing; `coin-node.ts` is what others see.
 */
import { kernel, note } from "../kernel/kernel.ts";
import { type BlockBytes, blockHash, writeBlock } from "./coin-block.ts";
import {
  type CoinOutput,
  type CoinTransaction,
  readCoinRaw,
  twice,
  writeCoinTransaction,
} from "./coin-raw.ts";

export interface CoinBlock extends BlockBytes {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestamp: number;
}

export interface CoinChainOptions {
  readonly genesis: string; // the first block's hash
  readonly isReplaced: boolean; // by a transaction that pays more for the same coins
  readonly script: string; // the account's, hex
  readonly confirmations: number;
  readonly funds: readonly bigint[];
  readonly startedAt: number; // milliseconds
}

/** The pool's words for bytes that it does not take; "" where it does. */
type PoolAnswer =
  | ""
  | "txn-already-in-mempool"
  | "Transaction already in block chain"
  | "bad-txns-inputs-missingorspent"
  | "insufficient fee, rejecting replacement"
  | "txn-mempool-conflict"
  | "min relay fee not met";

const elsewhere = `0014${"ee".repeat(20)}`;
/** Smaller coins stay. */
const foreignMin = 100_000n;
const zeros = "0".repeat(64);

export class CoinChain {
  readonly options: CoinChainOptions;
  readonly blocks: CoinBlock[] = [];
  readonly pool = new Map<string, CoinTransaction>();
  /** Every transaction that anybody has seen. */
  readonly made = new Map<string, CoinTransaction>();
  /** Every transaction that ever was in a block, with the newest block that held it. */
  readonly placeOf = new Map<string, number>();
  /** Other people's transactions. */
  readonly outside = new Set<string>();
  readonly foreign = new Set<string>();
  /** The spender of each coin in the chain, with its block. */
  readonly #spenders = new Map<string, { readonly by: CoinTransaction; readonly number: number }>();
  #replaced: CoinTransaction[] = [];
  #incoming: CoinTransaction[] = [];
  satPerKvB = 3_000n;
  /** Parts of 10,000. */
  skipRate = 0;
  staleRate = 0;
  topEver = 0;
  onBlock: (block: CoinBlock | null) => void = () => {};
  #salt = 0;
  #paid = 0;
  readonly #madeUp = new Set<string>(); // hashes

  constructor(options: CoinChainOptions) {
    this.options = options;
    this.#add([]);
    this.fund(options.funds);
    for (let count = 0; count <= options.confirmations; count += 1) this.mine();
  }

  get top(): CoinBlock {
    return this.blocks[this.blocks.length - 1] as CoinBlock;
  }

  get finalNumber(): number {
    return Math.max(0, this.topEver - this.options.confirmations + 1);
  }

  get incoming(): number {
    return this.#incoming.length;
  }

  /** Somebody pays the account, each amount as a coin of its own. */
  fund(amounts: readonly bigint[]): void {
    this.payIn(amounts.map((units) => ({ units, script: this.options.script })));
  }

  payIn(outputs: readonly CoinOutput[]): void {
    this.#paid += 1;
    const transaction = writeCoinTransaction(
      [`${twice(Buffer.from(`paid in ${this.#paid}`)).toString("hex")}:0`],
      outputs,
    );
    this.made.set(transaction.hash, transaction);
    this.outside.add(transaction.hash);
    this.#incoming.push(transaction);
  }

  /** A transaction that pays the account and reaches nobody; its coin is not there. */
  makeUp(units: bigint): string {
    this.#paid += 1;
    const from = `${twice(Buffer.from(`made up ${this.#paid}`)).toString("hex")}:0`;
    const transaction = writeCoinTransaction([from], [{ units, script: this.options.script }]);
    this.made.set(transaction.hash, transaction);
    this.#madeUp.add(transaction.hash);
    return `${transaction.hash}:0`;
  }

  /** Whether nobody has the transaction that made the coin. */
  isMadeUp(coin: string): boolean {
    return this.#madeUp.has(coin.slice(0, 64));
  }

  outputOf(coin: string): CoinOutput | undefined {
    const [hash = "", output = "0"] = coin.split(":");
    return this.made.get(hash)?.outputs[Number(output)];
  }

  includedIn(hash: string): CoinBlock | null {
    const block = this.blocks[this.placeOf.get(hash) ?? -1];
    return block?.transactions.some((one) => one.hash === hash) ? block : null;
  }

  isFinal(hash: string): boolean {
    const block = this.includedIn(hash);
    return block !== null && block.number <= this.finalNumber;
  }

  /** The account's own leave the pool, and nobody has them. @returns their bytes, by hash */
  conceal(): ReadonlyMap<string, string> {
    const own = [...this.pool.values()].filter(({ hash }) => !this.outside.has(hash));
    for (const { hash } of own) this.pool.delete(hash);
    return new Map(own.map(({ hash, raw }) => [hash, raw]));
  }

  /** Transactions that no final block has, those of outsiders left out. */
  get young(): readonly string[] {
    const blocks = this.blocks
      .slice(this.finalNumber + 1)
      .flatMap(({ transactions }) => transactions);
    return [...blocks, ...this.pool.values()]
      .map(({ hash }) => hash)
      .filter((hash) => !this.outside.has(hash));
  }

  /** Those of the pool that no block takes at the market's rate. */
  get dear(): readonly string[] {
    return [...this.pool.values()].filter((one) => this.#isDear(one)).map(({ hash }) => hash);
  }

  #isDear(transaction: CoinTransaction): boolean {
    return this.#rateOf(transaction) * 2n < this.satPerKvB;
  }

  /** The transaction of the chain, up to a block, that spends a coin. */
  spenderOf(coin: string, upTo = this.top.number): CoinTransaction | null {
    const spend = this.#spenders.get(coin);
    return spend === undefined || spend.number > upTo ? null : spend.by;
  }

  /** In the pool. */
  claimantOf(coin: string): CoinTransaction | null {
    return (
      [...this.pool.values()].find(({ inputs }) => inputs.some((input) => input.coin === coin)) ??
      null
    );
  }

  feeOf({ inputs, outputs }: CoinTransaction): bigint {
    const ins = inputs.reduce((sum, { coin }) => sum + (this.outputOf(coin)?.units ?? 0n), 0n);
    return ins - outputs.reduce((sum, { units }) => sum + units, 0n);
  }

  #rateOf(transaction: CoinTransaction): bigint {
    return (this.feeOf(transaction) * 1000n) / BigInt(transaction.size);
  }

  #isUnspent(coin: string): boolean {
    const [hash = ""] = coin.split(":");
    return (
      this.includedIn(hash) !== null &&
      this.outputOf(coin) !== undefined &&
      this.spenderOf(coin) === null
    );
  }

  /** Signed bytes reach the network. */
  offer(raw: string): PoolAnswer {
    const transaction = readCoinRaw(raw);
    if (transaction === null) return "bad-txns-inputs-missingorspent";
    const { hash, inputs } = transaction;
    if (this.includedIn(hash) !== null) return "Transaction already in block chain";
    if (this.pool.has(hash)) return "txn-already-in-mempool";
    if (!inputs.every(({ coin }) => this.#isUnspent(coin))) return "bad-txns-inputs-missingorspent";
    if (this.#rateOf(transaction) < 1000n) return "min relay fee not met";
    const conflicts = new Set(inputs.flatMap(({ coin }) => this.claimantOf(coin) ?? []));
    if (conflicts.size > 0 && !this.options.isReplaced) return "txn-mempool-conflict";
    const fees = [...conflicts].reduce((sum, one) => sum + this.feeOf(one), 0n);
    const isLow = [...conflicts].some((one) => this.#rateOf(one) >= this.#rateOf(transaction));
    if (conflicts.size > 0 && (isLow || this.feeOf(transaction) < fees + BigInt(transaction.size)))
      return "insufficient fee, rejecting replacement";
    for (const one of conflicts) {
      this.pool.delete(one.hash);
      this.#replaced.push(one);
    }
    this.made.set(hash, transaction);
    this.pool.set(hash, transaction);
    return "";
  }

  /** Takes what the pool has into a block. */
  mine(): CoinBlock {
    const { random } = kernel;
    const taken = this.#incoming.splice(0);
    const spent = new Set<string>();
    const isFree = (one: CoinTransaction): boolean =>
      one.inputs.every(({ coin }) => !spent.has(coin) && this.#isUnspent(coin));
    const stale = this.#replaced.filter(() =>
      random.fault("a block takes what was replaced", this.staleRate),
    );
    for (const one of [...stale, ...this.pool.values()]) {
      if (this.#isDear(one) || !isFree(one)) continue;
      if (random.fault("block without it", this.skipRate)) continue;
      for (const { coin } of one.inputs) spent.add(coin);
      taken.push(one);
    }
    return this.#add(taken);
  }

  /** Takes the newest blocks away, their transactions back to the pool or out of it. */
  reorganise(depth: number, isDoubleSpent: boolean): void {
    const { random } = kernel;
    const most = Math.min(depth, this.top.number - this.finalNumber);
    if (most <= 0) return;
    const gone = this.blocks.splice(this.blocks.length - most);
    for (const { inputs } of gone.flatMap(({ transactions }) => transactions))
      for (const { coin } of inputs) this.#spenders.delete(coin);
    this.#salt += 1;
    note("reorganisation", most);
    this.onBlock(null);
    for (const one of gone.flatMap((block) => block.transactions)) {
      if (this.outside.has(one.hash)) this.#incoming.push(one);
      else if (!random.fault("forgotten in a reorganisation", this.skipRate))
        this.pool.set(one.hash, one);
    }
    // The branch begins with another one of two that exclude each other.
    if (isDoubleSpent)
      for (const one of this.#replaced)
        if (random.below("the other of two", 2) === 0) this.pool.delete(this.#winnerOf(one));
    for (let count = 0; count < most; count += 1) this.mine();
  }

  #winnerOf({ inputs }: CoinTransaction): string {
    return this.claimantOf(inputs[0]?.coin ?? "")?.hash ?? "";
  }

  /**
   * Somebody with the same key spends one of the account's coins that is worth it. Most of it comes
   * back as change, or too little would be left to pay the orders.
   */
  mineForeign(): void {
    const coins = this.coins().filter((one) => (this.outputOf(one)?.units ?? 0n) > foreignMin);
    const coin = coins[kernel.random.below("which coin they spend", Math.max(1, coins.length))];
    if (coin === undefined) return;
    const units = (this.outputOf(coin)?.units ?? 0n) - 1_000n;
    const gone = units / 10n;
    const transaction = writeCoinTransaction(
      [coin],
      [
        { units: gone, script: elsewhere },
        { units: units - gone, script: this.options.script },
      ],
    );
    this.made.set(transaction.hash, transaction);
    this.foreign.add(transaction.hash);
    this.#add([transaction]);
  }

  /** The account's coins that no block spends. */
  coins(): readonly string[] {
    const all = this.blocks.flatMap(({ transactions }) =>
      transactions.flatMap(({ hash, outputs }) =>
        outputs.flatMap(({ script }, output) =>
          script === this.options.script ? [`${hash}:${output}`] : [],
        ),
      ),
    );
    return all.filter((coin) => !this.#spenders.has(coin));
  }

  /** The newest coins of other people that no block spends. */
  coinsOfOthers(): readonly string[] {
    const { script: own } = this.options;
    const newest = this.blocks.slice(-12).flatMap(({ transactions }) => transactions);
    const all = newest.flatMap(({ hash, outputs }) =>
      outputs.flatMap(({ script }, at) => (script === own ? [] : [`${hash}:${at}`])),
    );
    return all.filter((coin) => !this.#spenders.has(coin));
  }

  forget(): void {
    const all = [...this.pool.keys()];
    if (all.length > 0) this.pool.delete(kernel.random.pick("which one is forgotten", all));
  }

  #add(transactions: readonly CoinTransaction[]): CoinBlock {
    const number = this.blocks.length;
    const parentHash = number === 0 ? zeros : this.top.hash;
    const timestamp = Math.floor((this.options.startedAt + kernel.scheduler.nowMs) / 1000);
    const bytes = writeBlock({ parentHash, timestamp }, `${number} ${this.#salt}`, transactions);
    const hash = number === 0 ? this.options.genesis : blockHash(bytes);
    const block = { number, hash, parentHash, timestamp, ...bytes };
    this.blocks.push(block);
    this.topEver = Math.max(this.topEver, number);
    for (const one of transactions) {
      this.placeOf.set(one.hash, number);
      this.pool.delete(one.hash);
      for (const { coin } of one.inputs) this.#spenders.set(coin, { by: one, number });
    }
    this.#replaced = this.#replaced.filter(({ hash: one }) => !this.isFinal(one));
    for (const [one, { inputs }] of this.pool) {
      if (inputs.every(({ coin }) => this.spenderOf(coin) === null)) continue;
      this.pool.delete(one);
      this.#replaced.push(this.made.get(one) as CoinTransaction);
    }
    note(
      "block",
      transactions.length,
      () => `${number} ${transactions.map((one) => one.hash.slice(0, 8)).join()}`,
    );
    this.onBlock(block);
    return block;
  }
}
