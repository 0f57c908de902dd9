/**
 * Answers of the Esplora API about what one provider sees. Sources: the API's description (API.md);
 * Blockstream/electrs #243, mempool/electrs #54 and the src/rest.rs of both (limits and their
 * words; an id or number of another form is refused before anything is looked for).
 */
import type { IndexedBlock, IndexedOutput, IndexedTransaction, Sight } from "./chain-index.ts";
import type { UtxoNode } from "./daemon.ts";

/** A body, or an error as the server words it. */
export type Reply = { readonly status: number; readonly body: string | Buffer };

export interface Server {
  readonly node: UtxoNode;
  readonly rates: Readonly<Record<string, number>>;
  readonly utxosMax: number;
  readonly program: Program;
}

/**
 * The program behind the API: Blockstream's, mempool.space's, or mempool of one's own with an
 * Electrum backend, which lacks some paths and has others in their place. Source: mempool/mempool,
 * tags 3.2.1 and 3.3.1; bitcoindevkit/bdk #1962.
 */
export type Program = "electrs" | "mempool" | "own mempool";

const ok = (value: unknown): Reply => ({
  status: 200,
  body: typeof value === "string" ? value : JSON.stringify(value),
});
const absent = (what: string): Reply => ({ status: 404, body: `${what} not found` });
const cannotGet = (path: string): Reply => ({ status: 404, body: `Cannot GET /api/v1${path}` });
const recommended = (rates: Server["rates"]): Readonly<Record<string, number>> => {
  const rate = rates[3] ?? 1;
  return { fastestFee: rate, halfHourFee: rate, hourFee: rate, economyFee: 1, minimumFee: 1 };
};
const malformed = (words: string): Reply => ({ status: 400, body: words });
const idForm = /^[0-9a-fA-F]{64}$/;
const numberForm = /^[0-9]{1,10}$/;

interface PlacedTransaction {
  readonly transaction: IndexedTransaction;
  readonly block: IndexedBlock | null;
}

export async function answerOf(server: Server, sight: Sight, path: string): Promise<Reply> {
  const [kind = "", name = "", part = "", last = ""] = path.split("/").slice(1);
  const { blocks } = sight;
  const head = blocks.at(-1) as IndexedBlock;
  if (path === "/blocks/tip/hash") return ok(head.hash);
  if (path === "/blocks/tip/height") return ok(`${head.height}`);
  const isOwn = server.program === "own mempool";
  if (isOwn && (path === "/fee-estimates" || part === "outspend" || part === "txid"))
    return cannotGet(path);
  if (path === "/fee-estimates") return ok(server.rates);
  if (path === "/v1/fees/recommended")
    return isOwn ? ok(recommended(server.rates)) : absent("Page");
  if ((kind === "tx" || kind === "block") && !idForm.test(name))
    return malformed("Invalid hex string");
  if (part === "outspend" && !numberForm.test(last))
    return malformed("invalid digit found in string");
  if (kind === "block-height") {
    if (!numberForm.test(name)) return malformed("invalid digit found in string");
    const block = blocks[Number(name)];
    return block === undefined ? absent("Block") : ok(block.hash);
  }
  if (kind === "block") return blockAnswer(server, sight, name, part, last);
  if (kind === "address" && part === "txs")
    return historyAnswer(server, sight, name, last, path.split("/")[5] ?? "");
  if (kind === "address") return addressAnswer(server, sight, name, part);
  return kind === "tx" ? transactionAnswer(server, sight, name, part, last) : absent("Page");
}

async function blockAnswer(
  { node }: Server,
  { blocks }: Sight,
  hash: string,
  part: string,
  last: string,
): Promise<Reply> {
  const block = blocks.find((one) => one.hash === hash);
  if (block === undefined) return absent("Block");
  if (part === "raw")
    return { status: 200, body: Buffer.from(await node.ask<string>("getblock", hash, 0), "hex") };
  if (part === "txid") return ok(block.transactions[Number(last)]?.txid ?? "");
  if (part === "txids") return ok(block.transactions.map(({ txid }) => txid));
  const parent = block.height === 0 ? null : block.parent;
  return ok({
    id: hash,
    height: block.height,
    timestamp: block.time,
    previousblockhash: parent,
    tx_count: block.transactions.length,
  });
}

function addressAnswer(
  { utxosMax, program }: Server,
  sight: Sight,
  address: string,
  part: string,
): Reply {
  const all = placedIn(sight);
  const spent = spentIn(all);
  const mine = all.flatMap(({ transaction: { txid, outputs }, block }) =>
    outputs.flatMap((output, vout) =>
      output.address === address ? [{ txid, vout, value: output.units, block }] : [],
    ),
  );
  if (part === "utxo") {
    const unspent = mine.filter(({ txid, vout }) => !spent.has(`${txid}:${vout}`));
    if (unspent.length > utxosMax) return { status: 400, body: tooMany[program](utxosMax) };
    return ok(unspent.map(({ block, ...output }) => ({ ...output, status: statusOf(block) })));
  }
  const ids = new Set(mine.map(({ txid, vout }) => `${txid}:${vout}`));
  const named = all.filter(({ transaction: { outputs, spent: coins }, block }) => {
    return (
      block !== null &&
      (outputs.some((one) => one.address === address) || coins.some((id) => ids.has(id)))
    );
  });
  const funded = mine.filter(({ block }) => block !== null);
  const taken = funded.filter(
    ({ txid, vout }) => (spent.get(`${txid}:${vout}`)?.block ?? null) !== null,
  );
  const sumOf = (coins: readonly { readonly value: number }[]): number =>
    coins.reduce((sum, { value }) => sum + value, 0);
  const chainStats = {
    ...{ funded_txo_count: funded.length, funded_txo_sum: sumOf(funded) },
    ...{ spent_txo_count: taken.length, spent_txo_sum: sumOf(taken), tx_count: named.length },
  };
  const pooled = mine.filter(({ txid, vout }) => spent.get(`${txid}:${vout}`)?.block === null);
  return ok({
    address,
    chain_stats: chainStats,
    mempool_stats: { tx_count: 0, spent_txo_count: pooled.length },
  });
}

const tooMany: Readonly<Record<Program, (limit: number) => string>> = {
  electrs: () => "Too many unspent outputs",
  "own mempool": () => "Too many unspent outputs",
  mempool: (limit) =>
    `Too many unspent transaction outputs (>${limit}). Contact support to raise limits.`,
};

/**
 * As the servers page it: 50 of the mempool and 25 of blocks at first, then 25 after a transaction.
 * mempool.space's program shows 50 at first of both together.
 */
const mempoolPage = 50;
const chainPage = 25;

function historyAnswer(
  { program }: Server,
  sight: Sight,
  address: string,
  part: string,
  after: string,
): Reply {
  const all = placedIn(sight);
  const outputs = new Map<string, IndexedOutput>(
    all.flatMap(({ transaction }) =>
      transaction.outputs.map((output, vout) => [`${transaction.txid}:${vout}`, output] as const),
    ),
  );
  const isNamed = ({ transaction }: PlacedTransaction): boolean =>
    transaction.outputs.some((one) => one.address === address) ||
    transaction.spent.some((id) => outputs.get(id)?.address === address);
  const mine = all.filter(isNamed);
  const chain = mine.filter(({ block }) => block !== null).reverse();
  const at = chain.findIndex(({ transaction }) => transaction.txid === after);
  const from = after === "" ? 0 : at === -1 ? chain.length : at + 1;
  const pool =
    part === "chain" ? [] : mine.filter(({ block }) => block === null).slice(0, mempoolPage);
  const size = part === "" && program === "mempool" ? mempoolPage - pool.length : chainPage;
  const placed = part === "mempool" ? [] : chain.slice(from, from + size);
  return ok([...pool, ...placed].map((one) => shownAs(one, outputs)));
}

function shownAs(
  { transaction: { txid, spent, outputs: made }, block }: PlacedTransaction,
  outputs: ReadonlyMap<string, IndexedOutput>,
) {
  const vin = spent.map((id) => {
    const [from = "", vout = ""] = id.split(":");
    const output = outputs.get(id);
    const prevout =
      output === undefined ? null : { scriptpubkey: output.script, value: output.units };
    return { txid: from, vout: Number(vout), prevout, is_coinbase: false };
  });
  const vout = made.map(({ script: scriptpubkey, units: value }) => ({ scriptpubkey, value }));
  return { txid, vin, vout, status: statusOf(block) };
}

async function transactionAnswer(
  { node }: Server,
  sight: Sight,
  txid: string,
  part: string,
  last: string,
): Promise<Reply> {
  const all = placedIn(sight);
  const found = all.find(({ transaction }) => transaction.txid === txid);
  // Such a server says of every unknown transaction that no block has it, and nothing uses it.
  if (part === "status") return ok(statusOf(found?.block ?? null));
  if (part === "outspend") {
    const spend = spentIn(all).get(`${txid}:${last}`);
    return ok(
      spend === undefined
        ? { spent: false }
        : { spent: true, txid: spend.transaction.txid, vin: 0, status: statusOf(spend.block) },
    );
  }
  if (found === undefined) return absent("Transaction");
  if (part === "outspends") {
    const spent = spentIn(all);
    const uses = found.transaction.outputs.map((_, vout) => spent.get(`${txid}:${vout}`));
    return ok(
      uses.map((one) =>
        one === undefined
          ? { spent: false }
          : { spent: true, txid: one.transaction.txid, vin: 0, status: statusOf(one.block) },
      ),
    );
  }
  const blockHash = found.block?.hash;
  return ok(
    await node.ask<string>(
      "getrawtransaction",
      txid,
      false,
      ...(blockHash === undefined ? [] : [blockHash]),
    ),
  );
}

export async function sent({ node }: Server, raw: string): Promise<Reply> {
  const words = await node.refusal("testmempoolaccept", [raw]);
  if (words !== "")
    return { status: 400, body: `sendrawtransaction RPC error: {"code":-22,"message":"${words}"}` };
  try {
    return ok(await node.ask<string>("sendrawtransaction", raw));
  } catch (error) {
    const message = (error as Error).message.replace(/^[^:]*: /, "");
    return {
      status: 400,
      body: `sendrawtransaction RPC error: ${JSON.stringify({ code: -26, message })}`,
    };
  }
}

function placedIn({ blocks, mempool }: Sight): readonly PlacedTransaction[] {
  return [
    ...blocks.flatMap((block) => block.transactions.map((transaction) => ({ transaction, block }))),
    ...mempool.map((transaction) => ({ transaction, block: null })),
  ];
}

function spentIn(all: readonly PlacedTransaction[]): ReadonlyMap<string, PlacedTransaction> {
  return new Map(
    all.flatMap((placed) => placed.transaction.spent.map((id) => [id, placed] as const)),
  );
}

function statusOf(block: IndexedBlock | null) {
  if (block === null) return { confirmed: false };
  return {
    confirmed: true,
    block_height: block.height,
    block_hash: block.hash,
    block_time: block.time,
  };
}
