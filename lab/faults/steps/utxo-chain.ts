/**
 * The real daemon of Bitcoin or Litecoin behind two fronts that speak the Esplora API. A receiver
 * is the hash of a name, so that nobody ever spends what it gets.
 */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { bech32 } from "@scure/base";
import { hexByte, littleEndian, satOf } from "../../deposits/utxo-values.ts";
import type { Call } from "../../kit/holding-proxy.ts";
import type { Kit } from "../../kit/kit.ts";
import type { UtxoNode } from "../../utxo-node/daemon.ts";
import { startUtxoNetwork, type UtxoTestNetwork } from "../../utxo-node/network.ts";
import type { ChainJudgement, Payment, StepsChain } from "./chain.ts";

const settings = {
  bitcoin: { id: "btc", prefix: "bcrt", chainId: "0f9188f13cb7b2c71f2a335e3a4fc328" },
  litecoin: { id: "ltc", prefix: "rltc", chainId: "530827f38f93b43ed12af0b3ad25a288" },
} as const;
type CoinName = keyof typeof settings;

const confirmations = 3;
const decimal = 8;
/** Blocks after which the chain takes a reward. */
const matureBlocks = 101;
/** Litecoin's extension begins at this block, with the first money that goes in. */
const extensionFrom = 432;
const extensionCoins = 1;
const hotWalletCoins = 40;
const hotWalletCoinSat = 100_000_000n;

interface Block {
  readonly tx: readonly {
    readonly txid: string;
    readonly vin: readonly { readonly txid?: string; readonly vout?: number }[];
    readonly vout: readonly {
      readonly value?: number; // none inside Litecoin's extension
      readonly scriptPubKey?: { readonly address?: string; readonly addresses?: readonly string[] };
    }[];
  }[];
}

export class UtxoStepsChain implements StepsChain {
  readonly id: string;
  readonly chainName: string;
  readonly decimal = decimal;
  readonly unit = 100_000n;
  readonly fees = { maxFee: "0.01", maxFeePerDay: "10" };
  readonly asksAtItsBeginning = true;
  readonly #name: CoinName;
  readonly #network: UtxoTestNetwork;
  readonly #blockMs: number;
  readonly #mining: Promise<void>;
  #miner: string;
  #hotWalletAddress = "";
  #line: Promise<unknown> = Promise.resolve();
  #isOn = true;
  #fault: string | null = null;
  #isOver = false;

  private constructor(name: CoinName, network: UtxoTestNetwork, miner: string, blockMs: number) {
    this.id = settings[name].id;
    this.chainName = name;
    this.#name = name;
    this.#network = network;
    this.#miner = miner;
    this.#blockMs = blockMs;
    this.#mining = this.#mine();
  }

  /** A chain of the coin's daemon, or of a node that is handed in. */
  static async open(
    name: CoinName,
    blockMs: number,
    node: UtxoNode | null = null,
  ): Promise<UtxoStepsChain> {
    const network = await startUtxoNetwork(name, undefined, node);
    try {
      await network.node.ask("createwallet", "customers");
      const miner = await network.node.ask<string>("getnewaddress");
      await network.mine(name === "litecoin" ? extensionFrom - 1 : matureBlocks, miner);
      if (name === "litecoin")
        await network.node.ask(
          "sendtoaddress",
          await network.node.ask("getnewaddress", "", "mweb"),
          extensionCoins,
        );
      await network.mine(1, miner);
      return new UtxoStepsChain(name, network, miner, blockMs);
    } catch (error) {
      await network.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#mining;
    await this.#network.close();
  }

  get urls(): readonly string[] {
    return this.#network.urls;
  }

  served() {
    const { id, chainName } = this;
    const { chainId } = settings[this.#name];
    const chain = { family: `${this.#name}regtest`, chainId, nodes: this.urls, confirmations };
    const currency = {
      chain: chainName,
      decimal,
      name: this.#name,
      symbol: id.toUpperCase(),
      market: "",
    };
    const least = { minPaymentAmount: "0.0001", minWithdrawAmount: "0.0001" };
    return {
      chains: { [chainName]: chain },
      currencies: { [id]: { ...currency, ...least } },
      prices: { [id]: { usd: "60000", eur: "52000", try: "2500000" } },
    };
  }

  async fund(_: Kit, hotWalletAddress: string): Promise<void> {
    this.#hotWalletAddress = hotWalletAddress;
    const { scriptPubKey } = await this.#ask<{ scriptPubKey: string }>(
      "validateaddress",
      hotWalletAddress,
    );
    const output = `${littleEndian(hotWalletCoinSat, 8)}${hexByte(scriptPubKey.length / 2)}${scriptPubKey}`;
    const unfunded = `0200000000${hexByte(hotWalletCoins)}${output.repeat(hotWalletCoins)}00000000`;
    const { hex: funded } = await this.#ask<{ hex: string }>(
      "fundrawtransaction",
      unfunded,
      {},
      false,
    );
    const { hex } = await this.#ask<{ hex: string }>("signrawtransactionwithwallet", funded);
    await this.#ask("sendrawtransaction", hex);
  }

  receiver(name: string): string {
    return bech32.encode(settings[this.#name].prefix, [0, ...bech32.toWords(hashOf(name))]);
  }

  isBroadcast({ path, body }: Call, receiver: string): boolean {
    return path.endsWith("/tx") && body.includes(scriptOf(receiver));
  }

  isFirstQuery({ path }: Call): boolean {
    return path.endsWith(`/address/${this.#hotWalletAddress}/utxo`);
  }

  goesOn(isOn: boolean): void {
    this.#isOn = isOn;
  }

  disagrees(isOn: boolean): void {
    this.#network.fronts[1]?.suffer(isOn ? { lagBlocks: 1 } : {});
  }

  async reorganises(): Promise<boolean> {
    await this.#alone(async () => {
      await this.#ask("invalidateblock", await this.#ask<string>("getbestblockhash"));
      // To the same miner, a block of the same second would be the one that is invalid now.
      this.#miner = await this.#ask<string>("getnewaddress");
      await this.#network.mine(2, this.#miner);
    });
    return true;
  }

  /** Reads every block. */
  async judge(hotWalletAddress: string, receivers: readonly string[]): Promise<ChainJudgement> {
    const outputs = new Map<string, { readonly address: string; readonly units: bigint }>();
    const transactions = new Map<string, readonly Payment[]>();
    const violations = this.#fault === null ? [] : [this.#fault];
    const height = await this.#ask<number>("getblockcount");
    for (let number = 0; number <= height; number += 1) {
      const { tx } = await this.#ask<Block>(
        "getblock",
        await this.#ask<string>("getblockhash", number),
        2,
      );
      for (const { txid, vin, vout } of tx) {
        const made = vout.map(({ value = 0, scriptPubKey: { address, addresses } = {} }) => ({
          address: address ?? addresses?.[0] ?? "",
          units: satOf(value),
        }));
        for (const [at, output] of made.entries()) outputs.set(`${txid}:${at}`, output);
        const isOurs = vin.some(
          (spent) => outputs.get(`${spent.txid}:${spent.vout}`)?.address === hotWalletAddress,
        );
        if (!isOurs) continue;
        const payments = made
          .filter(({ address }) => address !== hotWalletAddress)
          .map(({ address, units }) => ({ txHash: txid, receiver: address, units }));
        transactions.set(txid, payments);
      }
    }
    const held = await this.#held(receivers);
    if ((await this.#ask<readonly string[]>("getrawmempool")).length > 0)
      violations.push("a transaction is still on its way");
    return { transactions, held, violations };
  }

  /** From the set of coins, which the daemon keeps apart from the blocks. */
  async #held(receivers: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
    const scripts = new Map(receivers.map((receiver) => [scriptOf(receiver), receiver]));
    const asked = receivers.map((receiver) => `addr(${receiver})`);
    const { unspents } = await this.#ask<{
      unspents: readonly { readonly scriptPubKey: string; readonly amount: number }[];
    }>(...(["scantxoutset", "start", asked] as const));
    const held = new Map(receivers.map((receiver) => [receiver, 0n]));
    for (const { scriptPubKey, amount } of unspents) {
      const receiver = scripts.get(scriptPubKey) ?? "";
      held.set(receiver, (held.get(receiver) ?? 0n) + satOf(amount));
    }
    return held;
  }

  #ask<T>(method: string, ...params: readonly unknown[]): Promise<T> {
    return this.#network.node.ask<T>(method, ...params);
  }

  /** One at a time: blocks and reorganisations. */
  #alone<T>(does: () => Promise<T>): Promise<T> {
    const done = this.#line.then(does);
    this.#line = done.catch(() => undefined);
    return done;
  }

  async #mine(): Promise<void> {
    while (!this.#isOver) {
      try {
        if (this.#isOn) await this.#alone(() => this.#network.mine(1, this.#miner));
      } catch (error) {
        this.#fault = String(error);
      }
      await sleep(this.#blockMs);
    }
  }
}

/** P2WPKH, BIP-141: version 0 and the 20 bytes. */
function scriptOf(receiver: string): string {
  const { words } = bech32.decode(receiver as `${string}1${string}`);
  return `0014${Buffer.from(bech32.fromWords(words.slice(1))).toString("hex")}`;
}

function hashOf(name: string): Buffer {
  return createHash("sha256").update(name).digest().subarray(0, 20);
}
