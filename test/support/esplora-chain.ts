/**
 * A chain of coins in memory with its true bytes, and servers of the Esplora API over it that count
 * their questions by path. Blocks come by the test's word; no clock, no daemon.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type CoinOutput,
  type CoinTransaction,
  readCoinRaw,
  reversed,
  twice,
  writeCoinTransaction,
} from "../../lab/simulation/world/coin-raw.ts";
import { scriptOf } from "../../lab/simulation/world/coin-script.ts";

interface Made {
  readonly number: number;
  readonly hash: string;
  readonly timestamp: number; // seconds
  readonly transactions: readonly CoinTransaction[]; // the reward first
  readonly bytes: Buffer;
}

interface Placed {
  readonly one: CoinTransaction;
  readonly block: Made | null;
}

export interface Answer {
  readonly status: number;
  readonly body: string | Buffer;
}

const zeros = "0".repeat(64);
const json = (value: unknown): Answer => ({ status: 200, body: JSON.stringify(value) });
const text = (body: string | Buffer): Answer => ({ status: 200, body });
const absent: Answer = { status: 404, body: "Not found" };

export class EsploraChain {
  readonly blocks: Made[];
  readonly pool: CoinTransaction[] = [];
  #made = 0;

  /** `genesis`: hash of the first block, whose bytes nobody asks for. */
  constructor(genesis: string, atMs: number) {
    this.blocks = [
      {
        number: 0,
        hash: genesis,
        timestamp: Math.floor(atMs / 1000),
        transactions: [],
        bytes: Buffer.alloc(0),
      },
    ];
  }

  get top(): Made {
    return this.blocks.at(-1) as Made;
  }

  /** A transaction of somebody, in the mempool until a block takes it. */
  pay(address: string, units: bigint): CoinTransaction {
    this.#made += 1;
    const coin = `${twice(Buffer.from(`coin ${this.#made}`)).toString("hex")}:0`;
    const outputs: readonly CoinOutput[] = [{ units, script: scriptOf(address) }];
    const made = writeCoinTransaction([coin], outputs);
    this.pool.push(made);
    return made;
  }

  mine(atMs: number): void {
    const { hash: parent, number: before } = this.top;
    const number = before + 1;
    const mark = Buffer.from(`block ${number}`).toString("hex");
    const length = Buffer.from([mark.length / 2]).toString("hex");
    const reward = readCoinRaw(
      `0200000001${zeros}ffffffff${length}${mark}ffffffff0100000000000000000151${"00000000"}`,
    );
    const transactions = [reward as CoinTransaction, ...this.pool.splice(0)];
    const timestamp = Math.floor(atMs / 1000);
    const header = Buffer.alloc(80);
    header.write(reversed(parent), 4, "hex");
    header.write(rootOf(transactions.map(({ hash }) => reversed(hash))), 36, "hex");
    header.writeUInt32LE(timestamp, 68);
    const count = Buffer.from([transactions.length]);
    const bytes = Buffer.concat([
      header,
      count,
      ...transactions.map(({ raw }) => Buffer.from(raw, "hex")),
    ]);
    this.blocks.push({
      number,
      hash: reversed(twice(header).toString("hex")),
      timestamp,
      transactions,
      bytes,
    });
  }

  answer(path: string): Answer {
    const [, kind = "", name = "", part = "", last = ""] = path.split("/");
    if (path === "/blocks/tip/hash") return text(this.top.hash);
    if (path === "/fee-estimates") return json({ 1: 3, 2: 3, 3: 3, 6: 3 });
    if (kind === "block-height")
      return this.blocks[Number(name)] ? text((this.blocks[Number(name)] as Made).hash) : absent;
    if (kind === "block") return this.#block(name, part);
    if (kind === "tx") return this.#transaction(name, part, last);
    return kind === "address" ? this.#address(name, part, last) : absent;
  }

  #block(hash: string, part: string): Answer {
    const block = this.blocks.find((one) => one.hash === hash);
    if (block === undefined) return absent;
    if (part === "raw") return text(block.bytes);
    if (part === "txid") return text(block.transactions[0]?.hash ?? "");
    const previousblockhash = this.blocks[block.number - 1]?.hash ?? null;
    return json({ id: hash, height: block.number, timestamp: block.timestamp, previousblockhash });
  }

  #placed(): readonly Placed[] {
    const inBlocks = this.blocks.flatMap((block) =>
      block.transactions.map((one) => ({ one, block })),
    );
    return [...inBlocks, ...this.pool.map((one) => ({ one, block: null }))];
  }

  #transaction(hash: string, part: string, last: string): Answer {
    const all = this.#placed();
    const found = all.find(({ one }) => one.hash === hash);
    if (part === "outspend") {
      const spend = all.find(({ one }) =>
        one.inputs.some(({ coin }) => coin === `${hash}:${last}`),
      );
      return json(
        spend === undefined
          ? { spent: false }
          : { spent: true, txid: spend.one.hash, vin: 0, status: statusOf(spend) },
      );
    }
    if (part === "status")
      return json(found === undefined ? { confirmed: false } : statusOf(found));
    return found === undefined ? absent : text(found.one.raw);
  }

  #address(address: string, part: string, which: string): Answer {
    const script = scriptOf(address);
    const mine = this.#placed().filter(({ one }) =>
      one.outputs.some((output) => output.script === script),
    );
    if (part === "utxo")
      return json(
        mine.flatMap((placed) =>
          placed.one.outputs.flatMap((output, vout) =>
            output.script === script
              ? [
                  {
                    txid: placed.one.hash,
                    vout,
                    value: Number(output.units),
                    status: statusOf(placed),
                  },
                ]
              : [],
          ),
        ),
      );
    if (part === "txs") {
      const chosen = mine.filter(({ block }) =>
        which === "mempool" ? block === null : which !== "chain" || block !== null,
      );
      return json(chosen.map((placed) => shown(placed)));
    }
    const funded = mine.filter(({ block }) => block !== null);
    const sum = funded.reduce((total, { one }) => total + Number(one.outputs[0]?.units ?? 0n), 0);
    const stats = { tx_count: funded.length, funded_txo_count: funded.length, funded_txo_sum: sum };
    return json({ address, chain_stats: { ...stats, spent_txo_count: 0, spent_txo_sum: 0 } });
  }
}

const statusOf = ({ block }: Placed): object =>
  block === null
    ? { confirmed: false }
    : { confirmed: true, block_height: block.number, block_hash: block.hash };

function shown(placed: Placed): object {
  const { one } = placed;
  const vin = one.inputs.map(({ coin }) => ({
    ...{ txid: coin.split(":")[0], vout: Number(coin.split(":")[1]), is_coinbase: false },
    prevout: { scriptpubkey: `0014${"ee".repeat(20)}`, value: 1_000_000 },
  }));
  const vout = one.outputs.map((output) => ({
    scriptpubkey: output.script,
    value: Number(output.units),
  }));
  return { txid: one.hash, vin, vout, status: statusOf(placed) };
}

function rootOf(hashes: readonly string[]): string {
  let row = [...hashes];
  while (row.length > 1)
    row = row.flatMap((left, at) =>
      at % 2 === 1 ? [] : [twice(Buffer.from(left + (row[at + 1] ?? left), "hex")).toString("hex")],
    );
  return row[0] ?? zeros;
}

export interface EsploraServer {
  readonly url: string;
  readonly asked: string[]; // paths, in order
  close(): Promise<void>;
}

export async function serveEsplora(
  chain: EsploraChain,
  change = (_: string, answer: Answer): Answer => answer,
): Promise<EsploraServer> {
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push(path);
    const { status, body } = change(path, chain.answer(path));
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close };
}
