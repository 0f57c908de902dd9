/**
 * A watcher and the books of one chain in memory: each movement stands in a block, the watcher sees
 * a payment as nodes report it, and the balances are sums of the real movements. The lists of logs
 * and the receipts of Tron go through the product's own readers.
 */

import { goodResult } from "../../base/result.ts";
import type { Block, FoundLog } from "../../chains/evm/answers.ts";
import { bloomOf } from "../../chains/evm/bloom.ts";
import { createTransferLogReader } from "../../chains/evm/node-logs.ts";
import { transferTopic } from "../../chains/evm/token-reads.ts";
import type {
  BalanceQuestion,
  DetectedPayment,
  WatchedAddresses,
  WatchedBlock,
  WatcherNodes,
} from "../../chains/nodes.ts";
import { addressBytes, addressOfBytes } from "../../chains/tron/address.ts";
import * as tronAnswers from "../../chains/tron/answers.ts";
import { closeBooks } from "../../gateway/books/closing.ts";
import { keepNativeCoins } from "../../gateway/store/posting.ts";
import type { AgentRow } from "../../gateway/store/rows.ts";
import type { Tip, WatchedChain } from "../../gateway/watcher/chain.ts";
import { newDepositMemory } from "../../gateway/watcher/deposit-memory.ts";
import {
  type AgentKeys,
  type AnyTransaction,
  type GatewayDatabase,
  gatewayDatabase,
  giveAddress,
  insertTransaction,
  pairAgent,
} from "../../lab/kit/gateway-database.ts";
import { repostRows } from "../../lab/kit/repost.ts";
import { scan, watchedBy } from "./watched-by.ts";
import { currency } from "./watched-chain.ts";

const token = "0x5fbdb2315678afecb367f032d93f642f64180aa3";
const finalLag = 2;
const dayMs = 86_400_000;
const bloom = bloomOf([token, transferTopic]);
const tronAddress = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";

/** A change of a balance in one block. */
interface Move {
  readonly address: string;
  readonly units: bigint;
  readonly contract?: string; // "" the native coin
  readonly txHash?: string; // a payment that the blocks name; without it only the balance shows the move
  readonly note?: string; // an entry in a Tron receipt; an entry alone moves nothing
}

/** A request and the address that it was given. */
export interface Given {
  readonly id: string;
  readonly address: string;
}

export class TestNetwork {
  readonly db: GatewayDatabase = gatewayDatabase();
  readonly agent: AgentKeys = pairAgent(this.db.store);
  readonly network: string;
  readonly usd = token;
  clock = 1_000_000;
  isSilent = false; // the node answers an empty list of logs for any range
  ahead = 0; // blocks beyond the final one of which a node tells its newest balance
  readonly #isTron: boolean;
  #blocks: { readonly hash: string; readonly moves: readonly Move[]; readonly atMs: number }[] = [
    { hash: "0x0", moves: [], atMs: 0 },
  ];
  readonly #memory: ReturnType<typeof newDepositMemory>;
  #made = 0;

  constructor(isTron = false) {
    this.#isTron = isTron;
    this.network = isTron ? "tron:0x2b6653dc" : "eip155:31337";
    this.#memory = newDepositMemory(this.network);
    const coins = new Map([[this.network, isTron ? "trx" : "eth"]]);
    this.db.store.write((database) => keepNativeCoins(database, coins));
    // Without a deposit account no address is looked at ahead, which takes most of the time.
    const { database } = this.db.store;
    for (const { id, accounts } of database.all<AgentRow>("SELECT * FROM agents")) {
      const kept = (JSON.parse(accounts) as readonly unknown[]).filter((_, at) => at !== 1);
      database.run("UPDATE agents SET accounts = ? WHERE id = ?", JSON.stringify(kept), id);
    }
  }

  get top(): number {
    return this.#blocks.length - 1;
  }

  get final(): number {
    return Math.max(0, this.top - finalLag);
  }

  /** A request at an address that nobody was given before. */
  give(change: Partial<AnyTransaction> = {}, isOurs = true): Given {
    const id = this.#nextId();
    const address = this.#isTron ? tronAddress : `0x${id.padStart(40, "d")}`;
    const given = { id, address, place: this.#made, agent: isOurs ? this.agent.id : null };
    giveAddress(this.db.store, given, {
      network: this.network,
      currency: "eth",
      createdAt: 0,
      expiresAt: 1e15,
      ...change,
    });
    return { id, address };
  }

  /** A row of any other kind; returns its id. */
  row(change: Partial<AnyTransaction>): string {
    const id = this.#nextId();
    insertTransaction(this.db.store, { id, orderId: id, network: this.network, ...change });
    return id;
  }

  sign(transactionId: string, txHash: string, agent = this.agent): void {
    const sql = "INSERT INTO signatures VALUES (?, 1, ?, ?, ?, ?, ?, '21000', 1, 0, '', NULL, 0)";
    this.db.store.database.run(
      sql,
      transactionId,
      agent.id,
      this.network,
      agent.hotWalletAddress,
      `${this.#made}`,
      txHash,
    );
  }

  /** Changes columns of a withdrawal, sweep or top-up. */
  change(id: string, sql: string): void {
    this.db.store.database.run(`UPDATE transfers SET ${sql} WHERE id = ?`, id);
    repostRows(this.db.store);
  }

  mine(...moves: readonly Move[]): number {
    this.#made += 1;
    this.#blocks.push({
      hash: `0x${this.#made.toString(16).padStart(64, "0")}`,
      moves,
      atMs: this.clock,
    });
    return this.top;
  }

  /** Other blocks stand in the place of the newest ones. */
  reorganise(count: number): void {
    this.#blocks = this.#blocks.slice(0, -count);
    for (let block = 0; block < count; block += 1) this.mine();
  }

  /** These movements become final, and the watcher reads them. */
  async settle(...moves: readonly Move[]): Promise<void> {
    if (moves.length > 0) this.mine(...moves);
    for (let block = 0; block < finalLag + 1; block += 1) {
      this.mine();
      await this.pass();
    }
  }

  /** Every address is compared once more. */
  async nextDay(): Promise<void> {
    this.clock += dayMs;
    await this.settle();
  }

  async pass(): Promise<void> {
    const id = (number: number) => ({ number, hash: this.#hash(number) });
    const tip = (): Tip => ({ head: id(this.top), final: id(this.final), askedAt: this.clock });
    await scan(this.#watched(), tip, this.#memory);
  }

  /** The addresses that the books name, each with its unexplained difference. */
  async reconcile(): Promise<readonly string[]> {
    const currencies = this.#watched().currencies.map(({ id, contract, decimal }) => ({
      id,
      contract,
      decimal,
    }));
    const closed = await closeBooks({
      ...{
        store: this.db.store,
        network: this.network,
        reader: this.#reader(false),
        currencies,
        coin: "eth",
        merchant: null,
      },
      ...{ isWhole: true, clock: () => this.clock, rest: async () => {} },
    });
    return closed.differences.map(
      ({ address, currency: id, expectedUnits, foundUnits }) =>
        `${address} ${BigInt(foundUnits) - BigInt(expectedUnits)} ${id}`,
    );
  }

  #nextId(): string {
    this.#made += 1;
    return this.#made.toString(16).padStart(32, "0");
  }

  #hash(number: number): string {
    return this.#blocks[number]?.hash ?? "";
  }

  #watched(): WatchedChain {
    const all = [currency("eth", ""), ...(this.#isTron ? [] : [currency("usd", token)])];
    const reader = this.#reader(this.#isTron);
    return watchedBy({
      db: this.db,
      network: this.network,
      reader,
      currencies: all,
      clock: () => this.clock,
    });
  }

  #reader(tellsNewestBalances: boolean): WatcherNodes {
    const id = (number: number) => ({ number, hash: this.#hash(number) });
    return {
      tellsNewestBalances,
      ...(tellsNewestBalances ? { highestHead: async () => this.top } : {}),
      tip: async () => id(this.top),
      finalTip: async () => id(this.final),
      status: () => [],
      timestamp: async (number: number) => Math.ceil((this.#blocks[number]?.atMs ?? 0) / 1000),
      block: async (number: number) => ({
        ...id(number),
        parentHash: this.#hash(number - 1),
        content: null,
      }),
      outgoing: () => ({ found: [], unread: [] }),
      payments: async (
        blocks: readonly WatchedBlock[],
        _contracts: readonly string[],
        list: WatchedAddresses,
      ) => ({
        found: await this.#payments(blocks, list),
        unread: [],
      }),
      balances: async (asked: readonly BalanceQuestion[], block: number) =>
        asked.map(({ account, contract }) =>
          goodResult(
            this.#balance(account, contract, tellsNewestBalances ? this.final + this.ahead : block),
          ),
        ),
      balance: async (account: string, contract: string, block: number) =>
        this.#balance(account, contract, block),
      wereUsed: async (accounts: readonly string[]) => accounts.map(() => goodResult(false)),
    } as unknown as WatcherNodes;
  }

  #balance(account: string, contract: string, block: number): bigint {
    const moves = this.#blocks.slice(0, block + 1).flatMap(({ moves }) => moves);
    const own = moves.filter(
      (one) =>
        one.address === account && (one.contract ?? "") === contract && one.note === undefined,
    );
    return own.reduce((sum, { units }) => sum + units, 0n);
  }

  async #payments(
    blocks: readonly WatchedBlock[],
    list: WatchedAddresses,
  ): Promise<readonly DetectedPayment[]> {
    const tokens = await this.#tokens(blocks);
    const found = blocks.flatMap((block) => [...this.#coins(block), ...this.#entries(block)]);
    return [...found, ...tokens].filter(({ address }) => list.has(address));
  }

  #named(
    { number }: { readonly number: number },
    isToken: boolean,
  ): readonly (Move & { readonly txHash: string })[] {
    const moves = this.#blocks[number]?.moves ?? [];
    return moves.flatMap((one) =>
      one.txHash !== undefined && one.note === undefined && (one.contract !== undefined) === isToken
        ? [{ ...one, txHash: one.txHash }]
        : [],
    );
  }

  #coins({ number: block, hash: blockHash }: WatchedBlock): readonly DetectedPayment[] {
    return this.#named({ number: block }, false).map(({ txHash, address, units: amountUnits }) => ({
      ...{ txHash, index: -1, address, contract: "", amountUnits, block, blockHash },
    }));
  }

  /** Payments that receipts name, by the product's own reader. */
  #entries({ number: block, hash: blockHash }: WatchedBlock): readonly DetectedPayment[] {
    const entries = (this.#blocks[block]?.moves ?? []).filter(({ note }) => note !== undefined);
    const listed = entries.map(({ address, units, note }) => ({
      ...{
        transferTo_address: Buffer.from(addressBytes(address)).toString("hex"),
        callValueInfo: [{ callValue: Number(units) }],
        note,
      },
    }));
    const id = block.toString(16).padStart(64, "0");
    const receipt = tronAnswers.readReceipt({
      id,
      blockNumber: block,
      internal_transactions: listed,
    });
    return (receipt?.internal ?? []).map(({ receiverKey, amountSun: amountUnits }, at) => ({
      ...{
        txHash: id,
        index: -2 - at,
        address: addressOfBytes(Buffer.from(receiverKey, "hex")) ?? "",
        contract: "",
        amountUnits,
        block,
        blockHash,
      },
    }));
  }

  /** Token payments that the product finds and proves in the lists of one node. */
  async #tokens(blocks: readonly WatchedBlock[]): Promise<readonly DetectedPayment[]> {
    const moves = new Map<FoundLog, DetectedPayment>();
    const logsIn = ({
      number: block,
      hash: blockHash,
    }: {
      readonly number: number;
      readonly hash: string;
    }): readonly FoundLog[] =>
      this.#named({ number: block }, true).map(({ txHash, address, units: amountUnits }) => {
        const log = {
          address: token,
          topics: [transferTopic],
          blockNumber: block,
          blockHash,
        } as unknown as FoundLog;
        moves.set(log, {
          txHash,
          index: 0,
          address,
          contract: token,
          amountUnits,
          block,
          blockHash,
        });
        return log;
      });
    const find = createTransferLogReader({
      logs: async () => (this.isSilent ? [] : blocks.flatMap(logsIn)),
      blockLogs: async (block: Block) => logsIn(block),
    });
    const headers = blocks.map((block): Block => {
      const has = this.#named(block, true).length > 0;
      const content = {
        timestamp: 0,
        bloom: has ? bloom : "0".repeat(512),
        transactions: has ? [{}] : [],
      };
      return { ...block, ...content } as unknown as Block;
    });
    const logs = await find(headers, [token]);
    return logs.flatMap((log) => moves.get(log) ?? []);
  }
}
