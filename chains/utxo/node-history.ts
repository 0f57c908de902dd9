/**
 * The coins of an address by its transactions, for addresses whose coins a server does not list:
 * public ones refuse above 500. The newest page comes first, so a spend is always seen before its
 * coin. Pages are read until the coins have the number and the sum that the server's own totals
 * name; afterwards only newer pages are asked for. An address with more coins than are kept has
 * those of its newest transactions, and is partial: the rest is in its totals alone. Touches nodes
 * only through node-wire.ts.
 * Sources: Blockstream/esplora #282 (coins by two passes over the history), #304 (25 a page);
 * Blockstream/electrs #243 and mempool/electrs #54 (the words of the refusal).
 */
import { AgentError } from "../../base/fault.ts";
import type { AddressSums, AddressTransaction, UnspentOutput } from "./answers.ts";
import { feeOfInput, mergingLimits } from "./fees.ts";
import { addressSumsQuestion, historyQuestion } from "./node-questions.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";

/** The bounds of everything that is read and kept here. */
export const historyLimits = {
  /** Transactions of blocks on one page, as every server of this kind has it. */
  page: 25,
  /** Transactions without a block in one answer; more of them are not shown. */
  pool: 50,
  /** Pages of one question; the next question goes on behind them. */
  pagesAtOnce: 100,
  /** Coins of an address. Of one with more, so many of the newest that are worth something. */
  coins: 20_000,
  /** Transactions that are read to find the coins of an address. */
  transactions: 50_000,
  /** Transactions of an address that stay as they are; of older ones only the coins stay. */
  kept: 2_000,
  /** Coins and transactions of all addresses together. */
  all: 150_000,
} as const;

/** An address as blocks have it. */
export interface AddressHistory {
  /** The coins that no block spends. */
  readonly unspent: readonly UnspentOutput[];
  /** Newest first: all above the block that was asked for, and perhaps earlier ones. */
  readonly later: readonly AddressTransaction[];
  /** The totals, where `unspent` has not all coins; null where it has. */
  readonly partialOf: AddressSums | null;
}

export interface HistoryReader {
  /**
   * The history by one node, at least back to the block `since`.
   * @throws NODE_ERROR above a limit and while the reading goes on, NODE_LIST_SHORT if the node
   * contradicts itself
   */
  read(node: PoolNode, address: AddressWithScript, since: number): Promise<AddressHistory>;
}

export interface AddressWithScript {
  readonly account: string;
  readonly script: string; // hex
}

/** The fee of fetching a coin at 10 sat for a byte, the highest at which small ones are merged. */
const worthUnits = feeOfInput(mergingLimits.satPerKvBMax);
/** Newest pages and totals that do not fit because a block came between them. */
const triesMax = 3;

export function createHistoryReader(pool: NodePool): HistoryReader {
  const kept = new Map<string, KeptHistory>();
  const underWay = new Map<string, Promise<unknown>>();

  /** The histories that were asked for longest ago give way. */
  function forget(): void {
    let all = [...kept.values()].reduce((sum, { size }) => sum + size, 0);
    for (const [key, { size }] of kept) {
      if (all <= historyLimits.all || underWay.has(key)) continue;
      kept.delete(key);
      all -= size;
    }
  }

  return {
    read: (node, address, since) => {
      const key = `${pool.nodes.indexOf(node)} ${address.account}`;
      // One after the other: an answer that began before this question may lack its block.
      const before = underWay.get(key) ?? Promise.resolve();
      const job = before
        .catch(() => undefined)
        .then(() => {
          const one = kept.get(key) ?? new KeptHistory(pool, node, address);
          kept.delete(key);
          kept.set(key, one);
          return one.read(since);
        })
        .finally(() => {
          if (underWay.get(key) === job) underWay.delete(key);
          forget();
        });
      underWay.set(key, job);
      return job;
    },
  };
}

class KeptHistory {
  readonly #pool: NodePool;
  readonly #node: PoolNode;
  readonly #address: AddressWithScript;
  #entries: readonly AddressTransaction[] = []; // newest first, with the address's own coins alone
  #older: readonly UnspentOutput[] = []; // coins of transactions before them
  #hasAllCoins = false;
  #isToEnd = false; // nothing earlier is left to be read
  #floor = -1; // the newest block of which only coins stayed
  #pages = 0; // that this question may still ask for

  constructor(pool: NodePool, node: PoolNode, address: AddressWithScript) {
    this.#pool = pool;
    this.#node = node;
    this.#address = address;
  }

  get size(): number {
    return this.#entries.length + this.#older.length;
  }

  async read(since: number): Promise<AddressHistory> {
    this.#pages = historyLimits.pagesAtOnce;
    for (let tries = 1; tries <= triesMax; tries += 1) {
      const sums = await this.#pool.ask(this.#node, addressSumsQuestion(this.#address.account));
      await this.#refresh();
      const coins = await this.#extend(sums, since);
      if (sums.count > historyLimits.coins)
        this.#entries = this.#entries.slice(0, historyLimits.transactions);
      if (sums.count > historyLimits.coins)
        return { unspent: coins.worth, later: this.#entries, partialOf: sums };
      if (!coins.are(sums)) {
        if (tries === triesMax - 1) this.#lookFurther();
        continue;
      }
      this.#hasAllCoins = true;
      const later = this.#entries;
      if (since < this.#floor)
        throw this.#fault(`block ${since} is too long ago for the transactions that are kept`);
      this.#fold();
      return { unspent: coins.list, later, partialOf: null };
    }
    this.#restart([], false);
    const { account } = this.#address;
    const message = `the transactions of ${account} do not make the coins that its totals name`;
    throw new AgentError("NODE_LIST_SHORT", "none", message, {
      node: this.#node.rpc.origin,
      account,
    });
  }

  /** Joins the newest pages with the kept ones, where both have a transaction in the same block. */
  async #refresh(): Promise<void> {
    const known = new Set(this.#entries.map(placeKey));
    const oldest = this.#entries.at(-1);
    const fresh: AddressTransaction[] = [];
    for (;;) {
      const page = await this.#page(fresh.at(-1));
      fresh.push(...page);
      const last = fresh.at(-1);
      if (last === undefined || page.length < historyLimits.page) return this.#restart(fresh, true);
      if (known.has(placeKey(last))) {
        // A block's hash stands for all blocks before it. Servers may order one block's otherwise.
        const newer = fresh.filter((one) => blockOf(one) > blockOf(last));
        this.#entries = [...newer, ...this.#entries.filter((one) => blockOf(one) <= blockOf(last))];
        return;
      }
      const isPast = oldest === undefined || blockOf(last) < blockOf(oldest);
      if (isPast || this.#pages <= 0) return this.#restart(fresh, false);
    }
  }

  /** Reads on from the oldest transaction until all coins are found and `since` is passed. */
  async #extend(sums: AddressSums, since: number): Promise<Coins> {
    const { account } = this.#address;
    const coins = new Coins(this.#address.script);
    for (const one of this.#entries) coins.add(one);
    for (const one of this.#older) coins.put(one);
    const entries = [...this.#entries];
    const isPartial = sums.count > historyLimits.coins;
    const isEnough = (): boolean =>
      isPartial
        ? coins.worthCount >= historyLimits.coins || this.#pages <= 0
        : this.#hasAllCoins || coins.are(sums);
    const isDone = (): boolean => {
      const oldest = entries.at(-1);
      return (
        isEnough() &&
        (oldest === undefined || since === Number.MAX_SAFE_INTEGER || blockOf(oldest) <= since)
      );
    };
    try {
      while (!this.#isToEnd && !isDone()) {
        const { length } = entries;
        if (length >= historyLimits.transactions && isPartial) break;
        if (length >= historyLimits.transactions) throw this.#fault(tooManyTransactions(account));
        if (this.#pages <= 0)
          throw this.#fault(stillReading(account, length, coins.list.length, sums.count));
        const page = await this.#page(entries.at(-1));
        for (const one of page) coins.add(one);
        entries.push(...page);
        this.#isToEnd = page.length < historyLimits.page;
      }
    } finally {
      this.#entries = entries;
    }
    return coins;
  }

  async #page(after: AddressTransaction | undefined): Promise<readonly AddressTransaction[]> {
    this.#pages -= 1;
    const page = await this.#pool.ask(
      this.#node,
      historyQuestion(this.#address.account, after?.txHash),
    );
    const isOwn = ({ script }: { readonly script: string }): boolean =>
      script === this.#address.script;
    return page
      .filter(({ place }) => place !== null)
      .map((one) => ({
        ...one,
        inputs: one.inputs.filter(isOwn),
        outputs: one.outputs.filter(isOwn),
      }));
  }

  /**
   * A block that is gone may have spent coins from before the oldest entry. Without older coins the
   * last try reads on to them; beside folded ones all is read again.
   */
  #lookFurther(): void {
    if (this.#floor < 0) this.#hasAllCoins = false;
    else this.#restart([], false);
  }

  #restart(entries: readonly AddressTransaction[], isToEnd: boolean): void {
    this.#entries = entries;
    this.#older = [];
    this.#hasAllCoins = false;
    this.#isToEnd = isToEnd;
    this.#floor = -1;
  }

  /** The oldest transactions leave, in whole blocks, and their coins stay. */
  #fold(): void {
    const border = this.#entries[historyLimits.kept];
    if (this.#entries.length <= 2 * historyLimits.kept || border === undefined) return;
    const coins = new Coins(this.#address.script);
    for (const one of this.#entries) if (blockOf(one) < blockOf(border)) coins.add(one);
    for (const one of this.#older) coins.put(one);
    this.#entries = this.#entries.filter((one) => blockOf(one) >= blockOf(border));
    this.#older = coins.list;
    this.#isToEnd = true;
    this.#floor = blockOf(border) - 1;
  }

  #fault(message: string): AgentError {
    return new AgentError("NODE_ERROR", "none", message, { node: this.#node.rpc.origin });
  }
}

/** Coins that transactions leave, added from the newest one backwards. */
class Coins {
  readonly #script: string;
  readonly #coins = new Map<string, UnspentOutput>();
  readonly #spent = new Set<string>();
  #units = 0n;
  #worth = 0;

  constructor(script: string) {
    this.#script = script;
  }

  add({ txHash, place, inputs, outputs }: AddressTransaction): void {
    for (const { id, units } of outputs) this.put({ id, txHash, units, place });
    for (const { id, script } of inputs) if (script === this.#script) this.#take(id);
  }

  put(coin: UnspentOutput): void {
    if (this.#spent.has(coin.id) || this.#coins.has(coin.id)) return;
    this.#coins.set(coin.id, coin);
    this.#units += coin.units;
    if (isWorth(coin)) this.#worth += 1;
  }

  are({ count, units }: AddressSums): boolean {
    return this.#coins.size === count && this.#units === units;
  }

  get list(): readonly UnspentOutput[] {
    return [...this.#coins.values()];
  }

  get worth(): readonly UnspentOutput[] {
    return this.list.filter(isWorth);
  }

  get worthCount(): number {
    return this.#worth;
  }

  /** In one block a coin may stand before its spend. */
  #take(id: string): void {
    this.#spent.add(id);
    const coin = this.#coins.get(id);
    this.#units -= coin?.units ?? 0n;
    if (coin !== undefined && isWorth(coin)) this.#worth -= 1;
    this.#coins.delete(id);
  }
}

/** Worth its fetching at the rate at which small coins are merged; dust fills no bound. */
const isWorth = ({ units }: UnspentOutput): boolean => units > worthUnits;

function blockOf({ place }: AddressTransaction): number {
  return place?.block ?? 0;
}

function placeKey({ txHash, place }: AddressTransaction): string {
  return `${txHash} ${place?.blockHash}`;
}

const newWallet =
  "pair a new wallet, and send it the funds of this one by any program that has its mnemonic";

function tooManyTransactions(account: string): string {
  const most = historyLimits.transactions;
  return `the coins of ${account} are not among its newest ${most} transactions, and no more are read: ${newWallet}`;
}

function stillReading(account: string, transactions: number, found: number, count: number): string {
  return `the transactions of ${account} are being read, ${transactions} so far, with ${found} of its ${count} coins: wait`;
}
