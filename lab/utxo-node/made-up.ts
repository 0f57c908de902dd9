/**
 * A stand-in for bitcoind and litecoind where these are not on the machine: one chain in memory
 * with blocks of true bytes, a mempool with the coin's own rule for replacements, and the few calls
 * of their RPC that the fronts and the lab's chains use. It judges that coins are there, unspent,
 * and spent by the key that they name; it checks no signature and no proof of work. Sources:
 * validation.cpp and policy.cpp of both programs (the words of refusals), BIP-125, BIP-141.
 */
import { createHash } from "node:crypto";
import { bech32 } from "@scure/base";
import {
  type BlockBytes,
  blockBytes,
  blockHash,
  writeBlock,
} from "../simulation/world/coin-block.ts";
import {
  type CoinTransaction,
  readCoinRaw,
  writeCoinTransaction,
} from "../simulation/world/coin-raw.ts";
import type { NodeName, UtxoNode } from "./daemon.ts";

const networks = {
  bitcoin: {
    prefix: "bcrt",
    genesis: "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206",
    isReplaced: true,
  },
  litecoin: {
    prefix: "rltc",
    genesis: "530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9",
    isReplaced: false,
  },
} as const;
const rewardSat = 5_000_000_000n;
const zeros = "0".repeat(64);
/** The least rate that a node forwards, in sat for each 1,000 vB. */
const satPerKvBMin = 1_000n;

interface Block extends BlockBytes {
  readonly height: number;
  readonly hash: string;
  readonly parent: string;
  readonly time: number;
}

type Method = (...params: never[]) => unknown;

export class MadeUpNode implements UtxoNode {
  readonly #name: NodeName;
  readonly #blocks: Block[] = [];
  readonly #pool = new Map<string, CoinTransaction>();
  readonly #made = new Map<string, CoinTransaction>();
  /** Coins that the faucet spends, and that no transaction made. */
  readonly #faucet = new Set<string>();
  #names = 0;

  constructor(name: NodeName) {
    this.#name = name;
    this.#mine(this.#addressOf(`0014${"00".repeat(20)}`));
  }

  async ask<T>(method: string, ...params: unknown[]): Promise<T> {
    const known = this.#methods[method];
    if (known === undefined) throw new Error(`${this.#name}d, ${method}: Method not found`);
    try {
      return known(...(params as never[])) as T;
    } catch (error) {
      throw new Error(`${this.#name}d, ${method}: ${(error as Error).message}`);
    }
  }

  refusal(method: string, ...params: unknown[]): Promise<string> {
    return this.ask(method, ...params).then(
      () => "",
      (error: Error) => error.message.replace(/^[^:]*: /, ""),
    );
  }

  async stop(): Promise<void> {
    this.#blocks.length = 0;
  }

  readonly #methods: Readonly<Record<string, Method>> = {
    createwallet: () => ({}),
    getnewaddress: () => this.#newAddress(),
    // Litecoin's extension, which this chain does not have, begins with a payment.
    sendtoaddress: () => "",
    generatetoaddress: (count: number, address: string) =>
      Array.from({ length: count }, () => this.#mine(address).hash),
    invalidateblock: (hash: string) => this.#invalidate(hash),
    getbestblockhash: () => this.#top.hash,
    getblockcount: () => this.#top.height,
    getblockhash: (height: number) =>
      this.#blocks[height]?.hash ?? fail("Block height out of range"),
    getblock: (hash: string, verbosity = 1) => {
      const block = this.#blocks.find((one) => one.hash === hash) ?? fail("Block not found");
      return verbosity === 0 ? blockBytes(block).toString("hex") : this.#shownBlock(block);
    },
    getrawmempool: () => [...this.#pool.keys()],
    getrawtransaction: (txid: string, isShown = false) => {
      const found = this.#found(txid) ?? fail("No such mempool or blockchain transaction");
      return isShown ? this.#shown(found) : found.raw;
    },
    testmempoolaccept: ([raw = ""]: readonly string[]) => {
      const { hash: txid } = decoded(raw);
      const reason = this.#reasonAgainst(raw);
      return [
        reason === "" ? { txid, allowed: true } : { txid, allowed: false, "reject-reason": reason },
      ];
    },
    sendrawtransaction: (raw: string) => this.#take(raw),
    validateaddress: (address: string) => ({ scriptPubKey: scriptOf(address) }),
    fundrawtransaction: (raw: string) => ({ hex: this.#funded(raw) }),
    signrawtransactionwithwallet: (hex: string) => ({ hex }),
    scantxoutset: (_: string, asked: readonly string[]) => ({ unspents: this.#unspents(asked) }),
  };

  get #top(): Block {
    return this.#blocks.at(-1) ?? fail("the node was stopped");
  }

  /** A number that nothing here had before. */
  #next(): number {
    this.#names += 1;
    return this.#names;
  }

  #newAddress(): string {
    const hash = createHash("sha256").update(`${this.#name} ${this.#next()}`).digest("hex");
    return this.#addressOf(`0014${hash.slice(0, 40)}`);
  }

  #mine(address: string): Block {
    const height = this.#blocks.length;
    const parent = this.#blocks.at(-1)?.hash ?? zeros;
    const time = Math.floor(Date.now() / 1_000);
    const taken = [...this.#pool.values()];
    this.#pool.clear();
    const paid = { units: rewardSat, script: scriptOf(address) };
    // Two blocks of one height and one miner are two all the same.
    const mark = `${height} ${this.#next()}`;
    const bytes = writeBlock({ parentHash: parent, timestamp: time }, mark, taken, paid);
    const block = {
      ...bytes,
      height,
      parent,
      time,
      hash: height === 0 ? networks[this.#name].genesis : blockHash(bytes),
    };
    this.#made.set(bytes.reward.hash, bytes.reward);
    this.#blocks.push(block);
    return block;
  }

  /** The block and all above it leave; what they held waits again. */
  #invalidate(hash: string): void {
    const at = this.#blocks.findIndex((block) => block.hash === hash);
    if (at <= 0) fail("Block not found");
    const waiting = [...this.#pool.values()];
    this.#pool.clear();
    const back = this.#blocks.splice(at).flatMap(({ transactions }) => transactions);
    for (const one of [...back, ...waiting])
      if (this.#reasonAgainst(one.raw) === "") this.#pool.set(one.hash, one);
  }

  #take(raw: string): string {
    const reason = this.#reasonAgainst(raw);
    if (reason !== "") fail(reason);
    const taken = readCoinRaw(raw) as CoinTransaction;
    for (const one of this.#conflictsOf(taken)) this.#pool.delete(one.hash);
    this.#made.set(taken.hash, taken);
    this.#pool.set(taken.hash, taken);
    return taken.hash;
  }

  /** The reason for which the mempool does not take bytes; "" if it does. */
  #reasonAgainst(raw: string): string {
    const transaction = decoded(raw);
    const { hash, inputs } = transaction;
    if (this.#pool.has(hash)) return "txn-already-in-mempool";
    if (this.#isPlaced(hash)) return "Transaction outputs already in utxo set";
    if (inputs.some(({ coin }) => !this.#isThere(coin) || this.#isSpent(coin)))
      return "bad-txns-inputs-missingorspent";
    if (inputs.some(({ coin, keyHash }) => !this.#isOwner(coin, keyHash)))
      return "mandatory-script-verify-flag-failed";
    const feeSat = this.#feeOf(transaction);
    if (feeSat * 1_000n < satPerKvBMin * BigInt(transaction.size)) return "min relay fee not met";
    const conflicts = this.#conflictsOf(transaction);
    if (conflicts.length === 0) return "";
    if (!networks[this.#name].isReplaced) return "txn-mempool-conflict";
    const least = conflicts.reduce((sum, one) => sum + this.#feeOf(one), BigInt(transaction.size));
    return feeSat < least ? "insufficient fee, rejecting replacement" : "";
  }

  #conflictsOf({ inputs }: CoinTransaction): readonly CoinTransaction[] {
    const coins = new Set(inputs.map(({ coin }) => coin));
    return [...this.#pool.values()].filter((one) => one.inputs.some(({ coin }) => coins.has(coin)));
  }

  #placed(): readonly CoinTransaction[] {
    return this.#blocks.flatMap(({ reward, transactions }) => [reward, ...transactions]);
  }

  #isPlaced(hash: string): boolean {
    return this.#placed().some((one) => one.hash === hash);
  }

  #isThere(coin: string): boolean {
    const [hash = ""] = coin.split(":");
    if (this.#faucet.has(coin)) return true;
    return this.#outputOf(coin) !== undefined && (this.#pool.has(hash) || this.#isPlaced(hash));
  }

  #isSpent(coin: string): boolean {
    return this.#placed().some(({ inputs }) => inputs.some((one) => one.coin === coin));
  }

  #isOwner(coin: string, keyHash: string): boolean {
    return this.#faucet.has(coin) || this.#outputOf(coin)?.script === `0014${keyHash}`;
  }

  #outputOf(coin: string) {
    const [hash = "", output = "0"] = coin.split(":");
    return this.#made.get(hash)?.outputs[Number(output)];
  }

  #feeOf({ inputs, outputs }: CoinTransaction): bigint {
    const paid = outputs.reduce((sum, { units }) => sum + units, 0n);
    if (inputs.some(({ coin }) => this.#faucet.has(coin))) return paid;
    return inputs.reduce((sum, { coin }) => sum + (this.#outputOf(coin)?.units ?? 0n), 0n) - paid;
  }

  /** The outputs alone, spent from a coin of the faucet. */
  #funded(raw: string): string {
    const { outputs } = decoded(raw);
    const coin = `${createHash("sha256").update(`faucet ${this.#next()}`).digest("hex")}:0`;
    this.#faucet.add(coin);
    return writeCoinTransaction([coin], outputs).raw;
  }

  #unspents(asked: readonly string[]) {
    const wanted = new Set(asked.map((text) => scriptOf(text.replace(/^addr\((.*)\)$/, "$1"))));
    return this.#placed().flatMap(({ hash, outputs }) =>
      outputs
        .filter(({ script }, at) => wanted.has(script) && !this.#isSpent(`${hash}:${at}`))
        .map(({ script, units }) => ({ scriptPubKey: script, amount: coinsOf(units) })),
    );
  }

  #found(txid: string): CoinTransaction | undefined {
    return this.#pool.get(txid) ?? this.#placed().find(({ hash }) => hash === txid);
  }

  #shownBlock(block: Block) {
    const { hash, height, parent, time, reward, transactions } = block;
    const before = height === 0 ? {} : { previousblockhash: parent };
    return {
      hash,
      height,
      ...before,
      time,
      tx: [reward, ...transactions].map((one) => this.#shown(one)),
    };
  }

  #shown({ hash: txid, inputs, outputs }: CoinTransaction) {
    const vin = inputs.map(({ coin }) => {
      const [from = "", vout = "0"] = coin.split(":");
      return from === zeros ? {} : { txid: from, vout: Number(vout) };
    });
    const vout = outputs.map(({ units, script: hex }, n) => {
      const address = hex.startsWith("0014") ? { address: this.#addressOf(hex) } : {};
      return { value: coinsOf(units), n, scriptPubKey: { hex, ...address } };
    });
    return { txid, vin, vout };
  }

  #addressOf(script: string): string {
    return bech32.encode(networks[this.#name].prefix, [
      0,
      ...bech32.toWords(Buffer.from(script.slice(4), "hex")),
    ]);
  }
}

/** Amounts are whole sat below 2^53, which a decimal of eight places gives back exactly. */
function coinsOf(units: bigint): number {
  return Number(units) / 1e8;
}

/** P2WPKH, BIP-141: version 0 and the 20 bytes. */
function scriptOf(address: string): string {
  const { words } = bech32.decode(address as `${string}1${string}`);
  return `0014${Buffer.from(bech32.fromWords(words.slice(1))).toString("hex")}`;
}

function decoded(raw: string): CoinTransaction {
  let read: CoinTransaction | null = null;
  try {
    read = readCoinRaw(raw);
  } catch {
    // Bytes that end too soon.
  }
  return read ?? fail("TX decode failed. Make sure the tx has at least one input.");
}

function fail(words: string): never {
  throw new Error(words);
}
