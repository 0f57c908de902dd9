/**
 * What a run of blocks holds for this gateway: payments to watched addresses, and transactions of hot accounts that use a
 * withdrawal's token without being one of its versions. Reads the chain and the tables, writes nothing.
 * Sources: EIP-20 (Transfer); docs/architecture.md section 8.
 */
import type { Block, BlockTransaction, PlacedLog } from "../../chains/evm/answers.ts";
import { addressTopic, readTransferLog } from "../../chains/evm/erc20.ts";
import { AgentError } from "../../protocol/fault.ts";
import type { DepositAddressRow, PaymentRow, SignatureRow, TransactionRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { inWaves, type WatchedChain } from "./chain.ts";
import { nativeLogIndex } from "./payments.ts";
import { asksForCode, type FinalTransaction, judgeConsumer, type Verdict } from "./payout.ts";

/** Deposit addresses and the requests they belong to; only grows, because an address is watched for ever. */
export class WatchList {
  readonly #requests = new Map<string, string>(); // transaction id by address
  #newest = 0;

  /** Takes in addresses issued since the last time. Must run after the nodes named the blocks that are read next. */
  refresh(database: Database): void {
    const rows = database.all<Pick<DepositAddressRow, "address" | "transactionId"> & { readonly place: number }>(
      "SELECT rowid AS place, address, transactionId FROM depositAddresses WHERE rowid > ? ORDER BY rowid",
      this.#newest,
    );
    for (const row of rows) {
      this.#requests.set(row.address, row.transactionId);
      this.#newest = row.place;
    }
  }

  get size(): number {
    return this.#requests.size;
  }

  requestOf(address: string): string | undefined {
    return this.#requests.get(address);
  }

  /** All addresses as topics, in lists of at most `width`. */
  topics(width: number): readonly (readonly string[])[] {
    const all = [...this.#requests.keys()].map(addressTopic);
    return Array.from({ length: Math.ceil(all.length / width) }, (_, index) => all.slice(index * width, (index + 1) * width));
  }
}

/** A withdrawal whose token a foreign transaction used, and what that means. */
export interface Consumption {
  readonly row: TransactionRow;
  readonly verdict: Verdict;
}

const topicsPerFilter = 500;
const questionsAtOnce = 32;

/** Payments in `blocks`, which follow one another. `agreed`: on the word of enough nodes, and then they count as final. */
export async function findPayments(
  chain: WatchedChain,
  list: WatchList,
  blocks: readonly Block[],
  agreed: boolean,
): Promise<readonly PaymentRow[]> {
  if (list.size === 0 || blocks.length === 0) return [];
  const final = agreed ? 1 : 0;
  const [natives, tokens] = await Promise.all([
    findNative(chain, list, blocks, agreed),
    findTransfers(chain, list, blocks, agreed),
  ]);
  return [...natives, ...tokens].map((payment) => ({ ...payment, network: chain.network, final }));
}

type Found = Omit<PaymentRow, "network" | "final">;

async function findNative(
  chain: WatchedChain,
  list: WatchList,
  blocks: readonly Block[],
  agreed: boolean,
): Promise<readonly Found[]> {
  const native = chain.currencies.find((currency) => currency.contract === "");
  if (native === undefined) return [];
  const paying = blocks.flatMap((block) =>
    block.transactions
      .filter((one) => one.valueUnits > 0n && list.requestOf(one.to ?? "") !== undefined)
      .map((one) => ({ block, one })),
  );
  const found = await inWaves(paying, questionsAtOnce, async ({ block, one }): Promise<Found | null> => {
    const receipt = await (agreed ? chain.reader.finalReceipt(one.hash) : chain.reader.receipt(one.hash));
    if (receipt === null || receipt.blockHash !== block.hash) throw notTogether(block.number, "a receipt");
    if (receipt.status !== 1) return null;
    const address = one.to as string;
    return {
      txHash: one.hash,
      logIndex: nativeLogIndex,
      address,
      currency: native.id,
      units: one.valueUnits.toString(),
      block: block.number,
      blockHash: block.hash,
      transactionId: list.requestOf(address) as string,
    };
  });
  return found.filter((payment) => payment !== null);
}

async function findTransfers(
  chain: WatchedChain,
  list: WatchList,
  blocks: readonly Block[],
  agreed: boolean,
): Promise<readonly Found[]> {
  const tokens = new Map(chain.currencies.filter((one) => one.contract !== "").map((one) => [one.contract, one.id]));
  const fromBlock = blocks[0]?.number ?? 0;
  const toBlock = blocks.at(-1)?.number ?? 0;
  if (tokens.size === 0) return [];
  const hashes = new Map(blocks.map((block) => [block.number, block.hash]));
  const contracts = [...tokens.keys()];
  const answers = await inWaves(list.topics(topicsPerFilter), questionsAtOnce, (topics) =>
    chain.reader.transfers({ fromBlock, toBlock, contracts, topics }, agreed),
  );
  const found: Found[] = [];
  for (const log of answers.flat()) {
    if (hashes.get(log.blockNumber) !== log.blockHash) throw notTogether(log.blockNumber, "a log");
    const payment = paymentOf(log, tokens, list);
    if (payment !== null) found.push(payment);
  }
  return found;
}

function paymentOf(log: PlacedLog, tokens: ReadonlyMap<string, string>, list: WatchList): Found | null {
  const transfer = readTransferLog(log);
  const currency = tokens.get(log.address);
  const transactionId = transfer === null ? undefined : list.requestOf(transfer.to);
  // A transfer of nothing is noise that others send to be seen.
  if (transfer === null || currency === undefined || transactionId === undefined || transfer.amountUnits === 0n) return null;
  return {
    txHash: log.txHash,
    logIndex: log.logIndex,
    address: transfer.to,
    currency,
    units: transfer.amountUnits.toString(),
    block: log.blockNumber,
    blockHash: log.blockHash,
    transactionId,
  };
}

/** Final, agreed blocks only: foreign uses of open withdrawals' tokens. */
export async function findConsumptions(chain: WatchedChain, blocks: readonly Block[]): Promise<readonly Consumption[]> {
  const { database } = chain.store;
  const accounts = new Set(
    database
      .all<{ account: string }>("SELECT DISTINCT account FROM tokens WHERE network = ?", chain.network)
      .map((row) => row.account),
  );
  const used = blocks.flatMap((block) => block.transactions.filter((one) => accounts.has(one.from)));
  const foreign = used.flatMap((one) => {
    const owner = ownerOf(database, chain.network, one);
    return owner === null ? [] : [{ one, ...owner }];
  });
  return inWaves(foreign, questionsAtOnce, async ({ one, row, account }): Promise<Consumption> => {
    const receipt = await chain.reader.finalReceipt(one.hash);
    if (receipt === null) throw notTogether(blocks[0]?.number ?? 0, "a receipt");
    const final: FinalTransaction = { receipt, transaction: one };
    const contract = chain.currencies.find((currency) => currency.id === row.currency)?.contract;
    if (contract === undefined) {
      return {
        row,
        verdict: { kind: "stuck", code: "WATCHER_TOKEN_CONSUMED", detail: `currency ${row.currency} is not configured` },
      };
    }
    const { receiverAddress: receiver } = row;
    const payout = { account, nonce: one.nonce, contract, receiver, amountUnits: BigInt(row.amountUnits) };
    const code = asksForCode(payout, final) ? await codeThen(chain, one.to ?? "", receipt.blockNumber) : null;
    return { row, verdict: judgeConsumer(payout, final, code) };
  });
}

/**
 * Code that stood at an address when a transaction of this block ran: before the block, or else at its end, since a delegation
 * (EIP-7702) may be set in the very block, and be gone when the block is read. "0x" for none, null when the nodes cannot say.
 */
async function codeThen({ reader }: WatchedChain, address: string, block: number): Promise<string | null> {
  try {
    const [before, after] = await Promise.all([reader.code(address, block - 1), reader.code(address, block)]);
    return before === "0x" ? after : before;
  } catch (fault) {
    if (!(fault instanceof AgentError) || fault.code === "NODE_CLOSED") throw fault;
    return null;
  }
}

function ownerOf(
  database: Database,
  network: string,
  one: BlockTransaction,
): { readonly row: TransactionRow; readonly account: string } | null {
  const row = database.get<TransactionRow>(
    `SELECT t.* FROM tokens k JOIN transactions t ON t.id = k.transactionId
       WHERE k.network = ? AND k.account = ? AND k.token = ? AND t.status = 0`,
    network,
    one.from,
    one.nonce.toString(),
  );
  if (row === undefined) return null;
  const known = database.get<SignatureRow>("SELECT * FROM signatures WHERE transactionId = ? AND txHash = ?", row.id, one.hash);
  return known === undefined ? { row, account: one.from } : null;
}

function notTogether(block: number, what: string): AgentError {
  return new AgentError("NODE_DISAGREE", "none", `the nodes' block ${block} and ${what} of it do not belong together`, { block });
}
