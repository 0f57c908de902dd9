/**
 * Customers on a real bitcoind or litecoind: payments by one or several outputs, and blocks whose
 * reward goes to a deposit address. A reorganisation makes the newest blocks invalid; a longer
 * branch takes their place, or after a while they return. A block of that branch spends some
 * customers' coins otherwise, so that those payments are made again or never. The daemon's blocks
 * tell the balances at the end.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createBase58check } from "@scure/base";
import { HDNodeWallet, SigningKey, sha256 } from "ethers";
import type { Random } from "../faults/tally.ts";
import { until } from "../kit/processes.ts";
import type { NodeName } from "../utxo-node/daemon.ts";
import type { Trouble } from "../utxo-node/front.ts";
import { startUtxoNetwork, type UtxoTestNetwork } from "../utxo-node/network.ts";
import { apply, type UtxoProfile } from "./server-profiles.ts";
import { outputShapes } from "./shapes.ts";
import type {
  DepartingTransfer,
  FinalChain,
  ReorganisationReport,
  TestNetwork,
  Transaction,
} from "./test-network.ts";
import { addressOf, coinsOf, hexByte, littleEndian, satOf } from "./utxo-values.ts";

const confirmations = 6;
/** Fewer than lie above the final block. */
const depthMax = 4;
/** A reward can be spent, and counts, so many blocks after its own. */
const rewardDepth = 100;
const blocksAtFirst = 150;
/** Litecoin's extension begins at this block, with the first money that goes in. */
const extensionFrom = 432;
const extensionCoins = 1;
/** So often the replaced blocks return. */
const returnsBelow = 0.25;
/**
 * Bounds of a dropped payment's chance: above the first it is another transaction, above the second
 * none.
 */
const redoneFrom = 0.6;
const lostFrom = 0.9;
const milli = 100_000n; // sat
const decimal = 8;
const sweptFromSat = 3n * milli;
/** More than a payment and what spends its change offer together. */
const conflictFeeSat = 20_000n;
const coinType = 1;
const settings = {
  bitcoin: { id: "btc", prefix: "bcrt", chainId: "0f9188f13cb7b2c71f2a335e3a4fc328" },
  litecoin: { id: "ltc", prefix: "rltc", chainId: "530827f38f93b43ed12af0b3ad25a288" },
} as const satisfies Readonly<Record<NodeName, object>>;
const base58check = createBase58check((bytes) => Buffer.from(sha256(bytes).slice(2), "hex"));
const testAccountVersion = [0x04, 0x35, 0x87, 0xcf]; // a tpub's, SLIP-132

/** Troubles of one node, until the next one has another; reading goes on with them. */
const troubles: Readonly<Record<string, Trouble>> = {
  "no trouble": {},
  "a block behind": { lagBlocks: 1 },
  "three blocks behind": { lagBlocks: 3 },
  "no mempool": { hasNoMempool: true },
  "forgets transactions": { swallows: true },
  "cut connections": { isCut: true, times: 12 },
  "busy answers": { status: 429, retryAfterS: 1, words: "Too Many Requests", times: 8 },
  "errors of its database": { status: 500, words: "rocksdb", times: 12 },
};

interface Block {
  readonly hash: string;
  readonly tx: readonly MinedTransaction[];
}

interface MinedTransaction {
  readonly txid: string;
  readonly vin: readonly { readonly txid?: string; readonly vout?: number }[];
  readonly vout: readonly {
    readonly value?: number; // none inside Litecoin's extension
    readonly scriptPubKey?: { readonly address?: string; readonly addresses?: readonly string[] };
  }[];
}

interface WalletOutput {
  readonly value: number;
  readonly confirmations: number;
  readonly coinbase: boolean;
}

interface SubmittedTransaction {
  readonly raw: string;
  readonly transaction: Transaction;
}

interface Reward {
  readonly address: string;
  readonly height: number;
}

type Counts = { again: number; redone: number; lost: number };

export class UtxoDepositsNetwork implements TestNetwork {
  readonly coin: TestNetwork["coin"];
  readonly currencies: TestNetwork["currencies"];
  readonly decimals: TestNetwork["decimals"];
  readonly shapes = outputShapes;
  readonly asked: TestNetwork["asked"] = { coin: { least: 10n * milli, most: 500n * milli } };
  readonly sweptFrom: TestNetwork["sweptFrom"];
  readonly robbed = new Set<string>();
  readonly node: UtxoTestNetwork;
  readonly #name: NodeName;
  #miner: string;
  readonly #sent = new Map<string, SubmittedTransaction>(); // by transaction id, not known to be final
  readonly #rewards = new Map<string, Reward>(); // by block hash
  readonly #blockMs: number;
  #line: Promise<unknown> = Promise.resolve();
  #mining: Promise<void> | null = null;
  #isOver = false;

  private constructor(name: NodeName, node: UtxoTestNetwork, miner: string, blockMs: number) {
    const { id } = settings[name];
    this.coin = { id, decimal };
    this.currencies = { coin: id };
    this.decimals = { [id]: decimal };
    this.sweptFrom = { [id]: sweptFromSat };
    this.#name = name;
    this.node = node;
    this.#miner = miner;
    this.#blockMs = blockMs;
  }

  /** A daemon behind two fronts like these servers, with customers who have coins. */
  static async open(
    name: NodeName,
    blockMs: number,
    pair: readonly UtxoProfile[] = [],
  ): Promise<UtxoDepositsNetwork> {
    const node = await startUtxoNetwork(
      name,
      pair.length === 0 ? undefined : pair.map(({ front }) => front),
    );
    apply(node.fronts, pair.length === 0 ? [{ trouble: {} }, { trouble: {} }] : pair);
    try {
      await node.node.ask("createwallet", "customers");
      const miner = await node.node.ask<string>("getnewaddress");
      await node.mine(name === "litecoin" ? extensionFrom - 1 : blocksAtFirst, miner);
      if (name === "litecoin") {
        const inside = await node.node.ask<string>("getnewaddress", "", "mweb");
        await node.node.ask("sendtoaddress", inside, extensionCoins);
        await node.mine(1, miner);
      }
      const testNetwork = new UtxoDepositsNetwork(name, node, miner, blockMs);
      testNetwork.#mining = testNetwork.#mine();
      return testNetwork;
    } catch (error) {
      await node.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#mining;
    await this.node.close();
  }

  /** The members of gateway.config.json for the chain and its coin. */
  served() {
    const name = this.#name;
    const { id, chainId } = settings[name];
    const chain = {
      family: `${name}regtest`,
      chainId,
      nodes: this.node.urls,
      confirmations,
    };
    const least = {
      minPaymentAmount: "0.0001",
      minWithdrawAmount: "0.0001",
      sweep: { least: "0.002" },
    };
    return {
      chains: { [name]: chain },
      currencies: {
        [id]: { chain: name, decimal, name, symbol: id.toUpperCase(), market: "", ...least },
      },
      prices: { [id]: { usd: "60000", eur: "52000", try: "2500000" } },
    };
  }

  /** Coins of a customer. */
  fund(address: string, units: bigint): Promise<void> {
    return this.send({
      pays: [{ asset: "coin", to: address, units }],
      byContract: false,
      fails: false,
      isVain: false,
    });
  }

  nameOf(address: string): string {
    return address;
  }

  payeeOf(address: string): string {
    return address;
  }

  newAddress(): string {
    const key = SigningKey.computePublicKey(`0x${randomBytes(32).toString("hex")}`, true);
    return addressOf(key, settings[this.#name].prefix);
  }

  addressAt(mnemonic: string, index: number): string {
    const { publicKey } = HDNodeWallet.fromPhrase(mnemonic, "", `m/84'/${coinType}'/1'/0/${index}`);
    return addressOf(publicKey, settings[this.#name].prefix);
  }

  receivingAccount(mnemonic: string): string {
    const { extendedKey } = HDNodeWallet.fromPhrase(mnemonic, "", `m/84'/${coinType}'/0'`).neuter();
    const bytes = base58check.decode(extendedKey);
    bytes.set(testAccountVersion);
    return `${this.#name}regtest=${base58check.encode(bytes)}`;
  }

  /** One at a time: payments, blocks and reorganisations. */
  #alone<T>(does: () => Promise<T>): Promise<T> {
    const done = this.#line.then(does);
    this.#line = done.catch(() => undefined);
    return done;
  }

  #ask<T>(method: string, ...params: unknown[]): Promise<T> {
    return this.node.node.ask<T>(method, ...params);
  }

  async #mine(): Promise<void> {
    while (!this.#isOver) {
      await this.#alone(() => this.node.mine(1, this.#miner));
      await sleep(this.#blockMs);
    }
  }

  send(transaction: Transaction): Promise<void> {
    return this.#alone(() => this.#hand(transaction));
  }

  async #hand(transaction: Transaction): Promise<void> {
    const { pays, isReward = false } = transaction;
    if (isReward) {
      const address = pays[0]?.to ?? "";
      const [hash = ""] = await this.node.mine(1, address);
      this.#rewards.set(hash, { address, height: await this.#ask<number>("getblockcount") });
      return;
    }
    const outputs: string[] = [];
    for (const { to, units } of pays) {
      const { scriptPubKey } = await this.#ask<{ scriptPubKey: string }>("validateaddress", to);
      outputs.push(`${littleEndian(units, 8)}${hexByte(scriptPubKey.length / 2)}${scriptPubKey}`);
    }
    // Several outputs may pay one address, which the daemon's own calls refuse.
    const unfunded = `0200000000${hexByte(outputs.length)}${outputs.join("")}00000000`;
    const { hex: funded } = await this.#ask<{ hex: string }>(
      "fundrawtransaction",
      unfunded,
      this.#choosesBlocks ? {} : { replaceable: true },
      false,
    );
    const { hex: raw } = await this.#ask<{ hex: string }>("signrawtransactionwithwallet", funded);
    this.#sent.set(await this.#ask<string>("sendrawtransaction", raw), { raw, transaction });
  }

  async reorganise(random: Random, loses: boolean): Promise<ReorganisationReport> {
    const trouble = this.#trouble(random);
    const blocks = 1 + Math.floor(random() * depthMax);
    const returns = random() < returnsBelow;
    const done = { again: 0, redone: 0, lost: 0 };
    await this.#alone(async () => {
      const height = await this.#ask<number>("getblockcount");
      const first = height - blocks + 1;
      const replaced: { readonly hash: string; readonly tx: readonly string[] }[] = [];
      for (let number = first; number <= height; number += 1)
        replaced.push(
          await this.#ask("getblock", await this.#ask<string>("getblockhash", number), 1),
        );
      await this.#ask("invalidateblock", replaced[0]?.hash);
      // To the same miner, a block of the same second would be one of those that are invalid now.
      this.#miner = await this.#ask<string>("getnewaddress");
      if (returns) {
        await this.node.mine(Math.max(1, blocks - 1), this.#miner);
        await sleep(this.#blockMs);
        // The first one seen of two branches of one length stays the chain, unless it is told so.
        await this.#ask("reconsiderblock", replaced[0]?.hash);
        if (blocks === 1) await this.#ask("preciousblock", replaced[0]?.hash);
        done.again += replaced.reduce((sum, { tx }) => sum + tx.length - 1, 0);
        return;
      }
      for (const { hash } of replaced) this.#dropReward(hash, done);
      const ids = replaced.flatMap(({ tx }) => tx.slice(1));
      const redone = await this.#replace(ids, blocks, random, loses, done);
      for (const transaction of redone) await this.#hand(transaction);
      await this.#bringBack(done);
    });
    return { blocks, ...done, ours: 0, trouble };
  }

  #trouble(random: Random): string {
    const name = Object.keys(troubles)[
      Math.floor(random() * Object.keys(troubles).length)
    ] as string;
    const { fronts } = this.node;
    const struck = Math.floor(random() * fronts.length);
    for (const [at, front] of fronts.entries())
      front.suffer(at === struck ? (troubles[name] as Trouble) : {});
    return name;
  }

  #dropReward(hash: string, done: Counts): void {
    const reward = this.#rewards.get(hash);
    if (reward === undefined) return;
    this.#rewards.delete(hash);
    this.robbed.add(reward.address);
    done.lost += 1;
  }

  /**
   * The other branch, one block longer: its first one spends the coins of some payments otherwise.
   * @returns payments to make again under another id
   */
  async #replace(
    ids: readonly string[],
    blocks: number,
    random: Random,
    loses: boolean,
    done: Counts,
  ): Promise<readonly Transaction[]> {
    const conflicts: string[] = [];
    const redone: Transaction[] = [];
    for (const txid of ids) {
      const sent = this.#sent.get(txid);
      const chance = loses ? random() : random() * lostFrom;
      const conflict =
        sent === undefined || chance < redoneFrom ? null : await this.#conflictWith(sent.raw);
      if (sent === undefined || conflict === null || !(await this.#takesPlace(conflict))) {
        done.again += 1;
        continue;
      }
      conflicts.push(conflict);
      this.#sent.delete(txid);
      if (chance < lostFrom) {
        done.redone += 1;
        redone.push(sent.transaction);
      } else {
        done.lost += 1;
        for (const { to } of sent.transaction.pays) this.robbed.add(to);
      }
    }
    if (this.#choosesBlocks) {
      await this.#ask("generateblock", this.#miner, conflicts);
      if (random() < 0.5) await this.#ask("generateblock", this.#miner, []);
      await this.node.mine(blocks, this.#miner);
    } else await this.node.mine(blocks + 1, this.#miner);
    return redone;
  }

  /** litecoind with its extension makes no block of chosen transactions. */
  get #choosesBlocks(): boolean {
    return this.#name === "bitcoin";
  }

  /**
   * True if the next block has the transaction: where nobody chooses, the mempool takes it
   * (BIP-125).
   */
  async #takesPlace(raw: string): Promise<boolean> {
    return this.#choosesBlocks || (await this.node.node.refusal("sendrawtransaction", raw)) === "";
  }

  /** Null where the chain below the replaced blocks does not have all coins of the transaction. */
  async #conflictWith(raw: string): Promise<string | null> {
    const { vin } = await this.#ask<{ vin: readonly { txid: string; vout: number }[] }>(
      "decoderawtransaction",
      raw,
    );
    let sat = -conflictFeeSat;
    for (const { txid, vout } of vin) {
      const coin = await this.#ask<WalletOutput | null>("gettxout", txid, vout, false);
      if (coin === null || (coin.coinbase && coin.confirmations <= rewardDepth)) return null;
      sat += satOf(coin.value);
    }
    const inputs = vin.map(({ txid, vout }) => ({ txid, vout }));
    const unsigned = await this.#ask<string>("createrawtransaction", inputs, [
      { [this.#miner]: coinsOf(sat) },
    ]);
    const { hex, complete } = await this.#ask<{ hex: string; complete: boolean }>(
      "signrawtransactionwithwallet",
      unsigned,
    );
    return complete ? hex : null;
  }

  /** Hands payments over again that neither the chain nor the mempool has. */
  async #bringBack(done: Counts): Promise<void> {
    const mempool = new Set(await this.#ask<readonly string[]>("getrawmempool"));
    for (const [txid, { raw, transaction }] of [...this.#sent]) {
      const known = await this.#ask<{ confirmations: number }>("gettransaction", txid);
      if (known.confirmations >= confirmations) this.#sent.delete(txid);
      if (known.confirmations > 0 || mempool.has(txid)) continue;
      if ((await this.node.node.refusal("sendrawtransaction", raw)) === "") continue;
      this.#sent.delete(txid);
      done.redone += 1;
      await this.#hand(transaction);
    }
  }

  async settled(): Promise<void> {
    for (const front of this.node.fronts) front.suffer({});
    const made = Math.max(
      0,
      ...[...this.#rewards.values()].map(({ height }) => height + rewardDepth),
    );
    const from = Math.max(made, await this.#ask<number>("getblockcount")) + confirmations;
    await until(
      "the payments' end on the chain",
      120_000 + 2 * rewardDepth * this.#blockMs,
      async () => {
        const [height, mempool] = [
          await this.#ask<number>("getblockcount"),
          await this.#ask<readonly string[]>("getrawmempool"),
        ];
        return height > from && mempool.length === 0 ? true : undefined;
      },
    );
  }

  async read(addresses: readonly string[], hotWalletAddress: string): Promise<FinalChain> {
    const { id } = this.coin;
    const ours = new Set(addresses);
    const final = (await this.#ask<number>("getblockcount")) - confirmations + 1;
    const arrived = new Map<string, bigint>();
    const held = new Map<string, bigint>([...ours].map((address) => [address, 0n]));
    const made = new Map<string, Part>(); // by transaction id and place
    const left: DepartingTransfer[] = [];
    let feesUnits = 0n;
    let hotWallet = 0n;
    for (let height = 1; height <= final; height += 1) {
      const { tx } = await this.#ask<Block>(
        "getblock",
        await this.#ask<string>("getblockhash", height),
        2,
      );
      for (const one of tx) {
        const [from, to] = [inputsOf(one, made), outputsOf(one)];
        for (const [at, part] of to.entries()) made.set(`${one.txid}:${at}`, part);
        if (from.length === 0 && height + rewardDepth > final) continue; // nobody can spend it yet
        for (const { address, units } of to) {
          if (address === hotWalletAddress) hotWallet += units;
          if (!ours.has(address)) continue;
          const isChange = from.some((coin) => coin.address === address);
          if (!isChange) arrived.set(address, (arrived.get(address) ?? 0n) + units);
          held.set(address, (held.get(address) ?? 0n) + units);
        }
        for (const { address, units } of from) {
          if (address === hotWalletAddress) hotWallet -= units;
          if (ours.has(address)) held.set(address, (held.get(address) ?? 0n) - units);
        }
        const spender = from.find(
          ({ address }) => ours.has(address) || address === hotWalletAddress,
        )?.address;
        if (spender === undefined) continue;
        feesUnits += sum(from) - sum(to);
        if (spender !== hotWalletAddress)
          left.push({
            txHash: one.txid,
            from: spender,
            currency: id,
            ...departing(spender, from, to),
          });
      }
    }
    const inCoin = (all: ReadonlyMap<string, bigint>) =>
      new Map([...all].map(([address, units]) => [address, new Map([[id, units]])]));
    return {
      arrived: inCoin(arrived),
      held: inCoin(held),
      hotWallet: new Map([[id, hotWallet]]),
      left,
      feesUnits,
    };
  }
}

interface Part {
  readonly address: string;
  readonly units: bigint;
}

/** The receiver and the amount, which is what leaves the address, the fee with it. */
function departing(
  spender: string,
  from: readonly Part[],
  to: readonly Part[],
): { readonly to: string; readonly units: bigint } {
  const away = to.find(({ address }) => address !== spender);
  const units = sum(from) - sum(to.filter(({ address }) => address === spender));
  return { to: away?.address ?? "", units };
}

/** Empty for a reward. */
function inputsOf({ vin }: MinedTransaction, made: ReadonlyMap<string, Part>): readonly Part[] {
  return vin.flatMap(({ txid, vout }) => made.get(`${txid}:${vout}`) ?? []);
}

function outputsOf({ vout }: MinedTransaction): readonly Part[] {
  return vout.map(({ value = 0, scriptPubKey: { address, addresses } = {} }) => ({
    address: address ?? addresses?.[0] ?? "",
    units: satOf(value),
  }));
}

function sum(parts: readonly Part[]): bigint {
  return parts.reduce((all, { units }) => all + units, 0n);
}
