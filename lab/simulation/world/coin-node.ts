/**
 * One simulated node of a chain of coins as the Esplora API shows it: it may lag behind the chain,
 * answer errors or nothing, take a transaction and not say so, keep one to itself, and lie. The
 * real pool judges its questions and answers. Source: the API's description (API.md).
 */
import { AgentError } from "../../../base/fault.ts";
import type { EsploraAnswer } from "../../../chains/utxo/esplora.ts";
import { kernel, note, type RpcEndpoint } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import { blockBytes } from "./coin-block.ts";
import type { CoinBlock, CoinChain } from "./coin-chain.ts";
import type { CoinTransaction } from "./coin-raw.ts";
import { type NodeFaults, noFaults } from "./node.ts";

const silenceMs = 5_000;
/** More calls to one node than any run has that goes on. */
const callsMax = 60_000;

type Json = Readonly<Record<string, unknown>>;

interface PlacedTransaction {
  readonly transaction: CoinTransaction;
  readonly block: CoinBlock | null;
}

export class CoinNode implements RpcEndpoint {
  faults: NodeFaults = { ...noFaults };
  readonly #chain: CoinChain;
  readonly #scriptOf: (address: string) => string;
  readonly #onCircle: (owner: Owner) => void;
  #hidden: string[] = [];
  #calls = 0;

  constructor(
    chain: CoinChain,
    scriptOf: (address: string) => string,
    onCircle: (owner: Owner) => void,
  ) {
    this.#chain = chain;
    this.#scriptOf = scriptOf;
    this.#onCircle = onCircle;
  }

  call(path: string, [body]: readonly unknown[], isWrite: boolean): Promise<unknown> {
    const { random, scheduler } = kernel;
    const { error, silence, slowMs } = this.faults;
    const owner = scheduler.current;
    this.#calls += 1;
    if (this.#calls > callsMax) {
      this.#onCircle(owner);
      return new Promise(() => {});
    }
    note(`asks ${path.split("/")[1]}`, isWrite ? String(body).slice(-16) : path.slice(-16));
    const act = (): EsploraAnswer => (isWrite ? this.#send(String(body)) : this.#answer(path));
    if (error > 0 && random.fault("node error", error)) {
      const isRefused = random.below("refused or failed", 2) === 0;
      if (isRefused)
        return Promise.reject(
          new AgentError("NODE_UNREACHABLE", "none", "no connection: simulated", { path }),
        );
      return Promise.resolve(refused("internal error: simulated"));
    }
    if (silence > 0 && random.fault("node silence", silence)) {
      if (random.below("silence after", 2) === 1) act();
      return new Promise((_, reject) => {
        scheduler.after(silenceMs, owner, () =>
          reject(
            new AgentError("NODE_TIMEOUT", isWrite ? "unknown" : "none", "no answer: simulated", {
              path,
            }),
          ),
        );
      });
    }
    if (slowMs === 0) return Promise.resolve(act());
    return new Promise((resolve) => {
      scheduler.after(random.below("node delay", slowMs), owner, () => resolve(act()));
    });
  }

  /** The transactions that it kept to itself reach the others. */
  passOn(): void {
    for (const raw of this.#hidden.splice(0)) this.#chain.offer(raw);
  }

  get #top(): number {
    return Math.max(0, this.#chain.blocks.length - 1 - this.faults.lagBlocks);
  }

  #send(raw: string): EsploraAnswer {
    if (this.faults.hides > 0 && kernel.random.fault("node hides", this.faults.hides)) {
      this.#hidden.push(raw);
      return refused("sendrawtransaction RPC error: timeout");
    }
    const words = this.#chain.offer(raw);
    note("offered", words);
    const hash = [...this.#chain.pool.values()].find((one) => one.raw === raw)?.hash ?? "";
    return words === "" ? text(hash) : refused(words);
  }

  #answer(path: string): EsploraAnswer {
    const [, kind = "", name = "", part = "", last = ""] = path.split("/");
    const honest = this.#read(path, kind, name, part, last);
    const { lie } = this.faults;
    return lie > 0 && kernel.random.fault("node lie", lie)
      ? this.#lie(kind, name, part, honest)
      : honest;
  }

  #read(path: string, kind: string, name: string, part: string, last: string): EsploraAnswer {
    // As electrs, which reads an id before it looks for anything.
    if ((kind === "tx" || kind === "block") && !/^[0-9a-f]{64}$/.test(name))
      return refused("Invalid hex string");
    if (path === "/blocks/tip/hash") return text((this.#chain.blocks[this.#top] as CoinBlock).hash);
    if (path === "/fee-estimates") return json({ 3: Number(this.#chain.satPerKvB) / 1000 });
    // As a server of the other API does, to which this path belongs.
    if (kind !== "block-height" && kind !== "block" && kind !== "tx" && kind !== "address")
      return absent("Path");
    if (kind === "block-height") {
      const block = Number(name) > this.#top ? undefined : this.#chain.blocks[Number(name)];
      return block === undefined ? absent("Block") : text(block.hash);
    }
    if (kind === "block") return this.#block(name, part);
    if (kind === "tx") return this.#transaction(name, part, last);
    if (part === "txs") return this.#history(name, last, path.split("/")[5]);
    return part === "utxo" ? this.#unspent(name) : this.#sums(name);
  }

  #block(hash: string, part: string): EsploraAnswer {
    const block = this.#chain.blocks.slice(0, this.#top + 1).find((one) => one.hash === hash);
    if (block === undefined) return absent("Block");
    if (part === "raw") return { ok: true, bytes: blockBytes(block) };
    const parent = block.number === 0 ? null : block.parentHash;
    return json({
      id: hash,
      height: block.number,
      timestamp: block.timestamp,
      previousblockhash: parent,
    });
  }

  #placed(): readonly PlacedTransaction[] {
    const shown = this.#chain.blocks.slice(0, this.#top + 1);
    const placed = shown.flatMap((block) =>
      block.transactions.map((transaction) => ({ transaction, block })),
    );
    return [
      ...placed,
      ...[...this.#chain.pool.values()].map((transaction) => ({ transaction, block: null })),
    ];
  }

  #transaction(hash: string, part: string, last: string): EsploraAnswer {
    const all = this.#placed();
    const found = all.find(({ transaction }) => transaction.hash === hash);
    if (part === "status") return json(statusOf(found?.block ?? null));
    if (part === "outspend") {
      const coin = `${hash}:${last}`;
      const spend = all.find(({ transaction }) =>
        transaction.inputs.some((one) => one.coin === coin),
      );
      if (spend === undefined) return json({ spent: false });
      return json({
        spent: true,
        txid: spend.transaction.hash,
        vin: 0,
        status: statusOf(spend.block),
      });
    }
    if (part !== "hex") return absent("Path");
    const made = found?.transaction;
    return made === undefined ? absent("Transaction") : text(made.raw);
  }

  #unspent(address: string): EsploraAnswer {
    const script = this.#scriptOf(address);
    const all = this.#placed();
    const spent = new Set(
      all.flatMap(({ transaction }) => transaction.inputs.map(({ coin }) => coin)),
    );
    const list = all.flatMap(({ transaction: { hash, outputs }, block }) =>
      outputs.flatMap((output, vout) =>
        output.script === script && !spent.has(`${hash}:${vout}`)
          ? [{ txid: hash, vout, value: Number(output.units), status: statusOf(block) }]
          : [],
      ),
    );
    return json(list);
  }

  #named(address: string): readonly PlacedTransaction[] {
    const script = this.#scriptOf(address);
    return this.#placed().filter(
      ({ transaction: { inputs, outputs } }) =>
        outputs.some((one) => one.script === script) ||
        inputs.some(({ coin }) => this.#chain.outputOf(coin)?.script === script),
    );
  }

  #history(address: string, part: string, after = ""): EsploraAnswer {
    const mine = this.#named(address);
    const chain = mine.filter(({ block }) => block !== null).reverse();
    const from =
      after === "" ? 0 : chain.findIndex(({ transaction }) => transaction.hash === after) + 1;
    const pool = part === "chain" ? [] : mine.filter(({ block }) => block === null).slice(0, 50);
    const placed = part === "mempool" ? [] : chain.slice(from, from + 25);
    return json([...pool, ...placed].map((one) => this.#shown(one)));
  }

  #shown({ transaction: { hash, inputs, outputs }, block }: PlacedTransaction): Json {
    const vin = inputs.map(({ coin }) => {
      const [txid, vout] = coin.split(":");
      const output = this.#chain.outputOf(coin);
      const prevout =
        output === undefined ? null : { scriptpubkey: output.script, value: Number(output.units) };
      return { txid, vout: Number(vout), prevout, is_coinbase: false };
    });
    const vout = outputs.map((output) => ({
      scriptpubkey: output.script,
      value: Number(output.units),
    }));
    return { txid: hash, vin, vout, status: statusOf(block) };
  }

  #sums(address: string): EsploraAnswer {
    const script = this.#scriptOf(address);
    const placed = this.#named(address).filter(({ block }) => block !== null);
    const funded = placed.flatMap(({ transaction }) =>
      transaction.outputs.filter((one) => one.script === script),
    );
    const spent = placed.flatMap(({ transaction }) =>
      transaction.inputs.map(({ coin }) => this.#chain.outputOf(coin)),
    );
    const own = spent.filter((one) => one?.script === script);
    const sumOf = (coins: readonly ({ readonly units: bigint } | undefined)[]): string =>
      `${coins.reduce((sum, one) => sum + (one?.units ?? 0n), 0n)}`;
    const sums = { funded_txo_count: funded.length, funded_txo_sum: sumOf(funded) };
    const spentSums = { spent_txo_count: own.length, spent_txo_sum: sumOf(own) };
    return json({ address, chain_stats: { tx_count: placed.length, ...sums, ...spentSums } });
  }

  /** Something else in the same shape. */
  #lie(kind: string, name: string, part: string, honest: EsploraAnswer): EsploraAnswer {
    const { random } = kernel;
    const turn = random.below("lie", 4);
    const top = this.#chain.blocks[this.#top] as CoinBlock;
    if (kind === "fee-estimates") return json({ 3: random.pick("rate", [1, 900, 40]) });
    if (kind === "block-height") return turn === 0 ? text("ab".repeat(32)) : honest;
    if (part === "status") return json(turn < 2 ? statusOf(top) : { confirmed: false });
    if (part === "outspend") {
      if (turn < 2) return json({ spent: false });
      return json({ spent: true, txid: "cd".repeat(32), vin: 0, status: statusOf(top) });
    }
    if (part === "utxo") return turn < 2 ? json([]) : this.#inventedCoins(name);
    if (part === "hex") return turn === 0 ? absent("Transaction") : honest;
    return honest;
  }

  /** Coins that there are, of ten times as much; and one that there is not. */
  #inventedCoins(address: string): EsploraAnswer {
    const honest = this.#unspent(address);
    const list = honest.ok ? (JSON.parse(honest.bytes.toString()) as readonly Json[]) : [];
    const more = list.map((one) => ({ ...one, value: Number(one.value) * 10 }));
    return json([...more, ...list.slice(0, 1).map((one) => ({ ...one, vout: 9 }))]);
  }
}

function text(value: string): EsploraAnswer {
  return { ok: true, bytes: Buffer.from(value) };
}

function json(value: unknown): EsploraAnswer {
  return text(JSON.stringify(value));
}

function absent(what: string): EsploraAnswer {
  return { ok: false, status: 404, isAbsent: true, words: `${what} not found` };
}

function refused(words: string): EsploraAnswer {
  return { ok: false, status: 400, isAbsent: false, words };
}

function statusOf(block: CoinBlock | null): Json {
  return block === null
    ? { confirmed: false }
    : { confirmed: true, block_height: block.number, block_hash: block.hash };
}
