/**
 * Customers on the fake for java-tron: coins by transfer and by a contract, USDT, a contract and a
 * TRC-10 of the same name, a token that takes a fee. Some payments of replaced blocks return under
 * their id, some are paid again, and some never return. tronweb signs; everything read at the end
 * comes from the node's own answers about solidified blocks.
 */
import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { HDNodeWallet } from "ethers";
import { TronWeb } from "tronweb";
import type { Random } from "../faults/tally.ts";
import { projectRoot, type ServedChains } from "../kit/kit.ts";
import { until } from "../kit/processes.ts";
import type { Profile } from "../kit/provider/profile.ts";
import { type Inhabitant, inhabitant, signedBy } from "../kit/tron-sender.ts";
import { encodeDelegation, encodeDisperse, encodeTransfer } from "../tron-node/contracts.ts";
import { startTronProcess, type TronProcess } from "../tron-node/process.ts";
import { type Asset, shapes } from "./shapes.ts";
import type {
  DepartingTransfer,
  FinalChain,
  ReorganisationReport,
  TestNetwork,
  Transaction,
} from "./test-network.ts";

/** Fewer than lie above the solidified block. */
const depthMax = 6;
const customersCount = 6;
/**
 * Bounds of a dropped payment's chance: above the first it is another transaction, above the second
 * none.
 */
const redoneFrom = 0.6;
const lostFrom = 0.9;
const oursDroppedMax = 4;
const lifetimeMs = 300_000;
const trx = 1_000_000n;
/**
 * Above what the dearest sweep of it costs, times twenty; the smallest part of a payment is more.
 */
const sweptFromSun = 7n * trx;
const trc10 = "1000001";
const contracts = {
  token: inhabitant("contract of usdt"),
  lookAlike: inhabitant("contract of a look-alike"),
  fee: inhabitant("contract of a token that takes a fee"),
  crowd: inhabitant("contract that pays many"),
  staking: inhabitant("contract that delegates its stake"),
};
const ids = { coin: "trx", token: "usdt-trc20", fee: "fee-trc20" } as const;
const transferTopic = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

export interface TronTestNetworkOptions {
  readonly slotMs: number;
  readonly solidLag: number;
  readonly profiles: readonly Profile[]; // the nodes that gateway and agent ask
}

interface Header {
  readonly blockID: string;
  readonly block_header: { readonly raw_data: { readonly timestamp: number } };
}

interface BlockJson extends Header {
  readonly transactions?: readonly TransactionJson[];
}

interface TransactionJson {
  readonly txID: string;
  readonly ret: readonly { readonly contractRet: string }[];
  readonly raw_data: {
    readonly contract: readonly { readonly parameter: { readonly value: ContractParameter } }[];
  };
}

interface ContractParameter {
  readonly owner_address: string;
  readonly to_address?: string;
  readonly contract_address?: string;
  readonly amount?: number;
  readonly data?: string;
}

interface TransactionReceipt {
  readonly id: string;
  readonly fee?: number;
  readonly log?: readonly {
    readonly address: string;
    readonly topics: readonly string[];
    readonly data: string;
  }[];
}

interface State {
  readonly head: number;
  readonly solid: number;
}

export class TronTestNetwork implements TestNetwork {
  readonly coin = { id: ids.coin, decimal: 6 };
  readonly currencies = ids;
  readonly decimals = { trx: 6, "usdt-trc20": 6, "fee-trc20": 6 };
  readonly shapes = shapes;
  readonly asked = {
    coin: { least: 20n * trx, most: 200n * trx },
    token: { least: 150_000_000n, most: 500_000_000n },
    fee: { least: 5_000_000n, most: 500_000_000n },
  };
  readonly sweptFrom = { [ids.coin]: sweptFromSun, [ids.token]: 75_000_000n };
  readonly robbed = new Set<string>();
  readonly node: TronProcess;
  readonly #customers: readonly Inhabitant[];
  readonly #sent = new Map<string, Transaction>(); // by transaction id
  #turn = 0;
  #oursDropped = 0;

  private constructor(node: TronProcess) {
    this.node = node;
    this.#customers = Array.from({ length: customersCount }, (_, at) =>
      inhabitant(`customer ${at}`),
    );
  }

  /** One chain: a front of the test network's own, then one for each profile. */
  static async open({
    slotMs,
    solidLag,
    profiles,
  }: TronTestNetworkOptions): Promise<TronTestNetwork> {
    const command = join(projectRoot, "dist", "lab", "tron-node", "command.js");
    const node = await startTronProcess(
      {
        fronts: [{}, ...profiles.map((profile) => ({ profile }))],
        isPaced: true,
        slotMs,
        solidLag,
      },
      command,
    );
    const testNetwork = new TronTestNetwork(node);
    const usual = { name: "Tether USD", symbol: "USDT", decimals: 6 };
    await node.control("deploy", { address: contracts.token.address, kind: "usdt", ...usual });
    await node.control("deploy", { address: contracts.lookAlike.address, kind: "plain", ...usual });
    await node.control("deploy", {
      address: contracts.fee.address,
      kind: "fee",
      name: "Fee",
      symbol: "FEE",
      decimals: 6,
    });
    const crowd = { kind: "disperse", name: "Disperse", symbol: "", decimals: 0 };
    await node.control("deploy", { address: contracts.crowd.address, ...crowd });
    await node.control("deploy", { address: contracts.staking.address, ...crowd, kind: "staking" });
    for (const { address } of testNetwork.#customers) {
      await node.control("fund", { address, sun: `${1_000_000n * trx}` });
      for (const contract of [contracts.token, contracts.lookAlike, contracts.fee])
        await node.control("mint", { contract: contract.address, address, units: `${10n ** 14n}` });
    }
    const issued = {
      id: trc10,
      name: "Tether USD",
      address: testNetwork.#customers[0]?.address,
      supply: `${10n ** 14n}`,
    };
    await node.control("issue", issued);
    return testNetwork;
  }

  /** The members of gateway.config.json for the chain and what is paid on it. */
  served(assets: readonly (keyof typeof ids)[] = ["coin", "token", "fee"]): ServedChains {
    const usual = { chain: "tron", decimal: 6, minPaymentAmount: "1", minWithdrawAmount: "0.01" };
    const { urls, chainId } = this.node;
    const nodes = urls.slice(1);
    const all = {
      coin: { ...usual, name: "TRON", symbol: "TRX", sweep: { least: `${sweptFromSun / trx}` } },
      token: { ...usual, name: "Tether USD", symbol: "USDT", contract: contracts.token.address },
      // Its sweep would bring less than it says, and wait for an operator.
      fee: {
        ...usual,
        name: "Fee",
        symbol: "FEE",
        contract: contracts.fee.address,
        sweep: { automatic: false },
      },
    };
    return {
      chains: { tron: { family: "tron", chainId, nodes, confirmations: "finalized" } },
      currencies: Object.fromEntries(assets.map((asset) => [ids[asset], all[asset]])),
      prices: {
        [ids.coin]: { usd: "0.3", eur: "0.26", try: "12.6" },
        [ids.token]: { usd: "1", eur: "0.87", try: "42" },
      },
    };
  }

  /** Coins out of nowhere. */
  async fund(address: string, sun: bigint): Promise<void> {
    await this.node.control("fund", { address, sun: `${sun}` });
  }

  /** USDT out of nowhere. */
  async mint(address: string, units: bigint): Promise<void> {
    await this.node.control("mint", {
      contract: contracts.token.address,
      address,
      units: `${units}`,
    });
  }

  /** The balances of an address in solidified blocks. */
  async held(address: string, asset: keyof typeof ids): Promise<bigint> {
    return (await this.#unsweptBalances(this.nameOf(address))).get(ids[asset]) ?? 0n;
  }

  nameOf(address: string): string {
    return TronWeb.address.toHex(address).toLowerCase();
  }

  newAddress(): string {
    const key = createHash("sha256").update(randomBytes(32)).digest("hex");
    return TronWeb.address.fromPrivateKey(key) as string;
  }

  payeeOf(address: string): string {
    return address;
  }

  addressAt(mnemonic: string, index: number): string {
    const { privateKey } = HDNodeWallet.fromPhrase(mnemonic, "", `m/44'/195'/1'/0/${index}`);
    return TronWeb.address.fromPrivateKey(privateKey.slice(2)) as string;
  }

  receivingAccount(mnemonic: string): string {
    return `tron=${HDNodeWallet.fromPhrase(mnemonic, "", "m/44'/195'/0'").neuter().extendedKey}`;
  }

  async #ask<T>(path: string, asked: object = {}): Promise<T> {
    const answer = await fetch(`${this.node.urls[0]}/${path}`, {
      method: "POST",
      body: JSON.stringify(asked),
    });
    return (await answer.json()) as T;
  }

  async #state(): Promise<State> {
    return (await this.node.control("state")) as unknown as State;
  }

  async send(transaction: Transaction): Promise<void> {
    this.#turn += 1;
    const customer = this.#customers[this.#turn % this.#customers.length] as Inhabitant;
    const [type, value, from] = this.#contentOf(customer, transaction);
    const { blockID, block_header } = await this.#ask<Header>("walletsolidity/getnowblock");
    const { timestamp } = block_header.raw_data;
    const signed = signedBy(from, type, value, {
      reference: { refBytes: blockID.slice(12, 16), refHash: blockID.slice(16, 32) },
      ...{ expirationMs: timestamp + lifetimeMs, timestampMs: timestamp + this.#turn },
    });
    this.#sent.set(signed.txID, transaction);
    const taken = await this.#ask<{ result?: boolean; code?: string; message?: string }>(
      "wallet/broadcasttransaction",
      signed,
    );
    if (taken.result !== true)
      throw new Error(
        `the chain refused a payment: ${taken.code} ${Buffer.from(taken.message ?? "", "hex").toString("utf8")}`,
      );
  }

  /** Kind of contract, its value, and who pays: only one has the TRC-10. */
  #contentOf(
    customer: Inhabitant,
    { pays, byContract, fails, isVain }: Transaction,
  ): [string, Record<string, unknown>, Inhabitant] {
    const [first] = pays;
    if (first === undefined) throw new Error("a transaction that pays nobody");
    const to = pays.map((one) => this.nameOf(one.to));
    const units = pays.map((one) => one.units);
    const contract = this.#contractOf(first.asset);
    const trigger = "TriggerSmartContract";
    if (isVain) {
      const data = encodeDelegation(this.#turn % 2 === 0, to, units);
      return [trigger, { contract_address: contracts.staking.hex, data }, customer];
    }
    if (byContract) {
      const sum = contract === "" ? units.reduce((all, one) => all + one, 0n) : 0n;
      const call = {
        contract_address: contracts.crowd.hex,
        data: encodeDisperse(contract, to, units),
      };
      return [trigger, sum === 0n ? call : { ...call, call_value: Number(sum) }, customer];
    }
    if (first.asset === "lookAlike" && this.#turn % 2 === 0) {
      const asset = {
        to_address: to[0],
        amount: Number(first.units),
        asset_name: Buffer.from(trc10).toString("hex"),
      };
      return ["TransferAssetContract", asset, this.#customers[0] as Inhabitant];
    }
    if (contract === "")
      return ["TransferContract", { to_address: to[0], amount: Number(first.units) }, customer];
    const amount = fails ? 10n ** 30n : first.units; // nobody has so much
    return [
      trigger,
      { contract_address: contract, data: encodeTransfer(to[0] as string, amount) },
      customer,
    ];
  }

  #contractOf(asset: Asset): string {
    return asset === "coin" ? "" : contracts[asset].hex;
  }

  async reorganise(random: Random, loses: boolean): Promise<ReorganisationReport> {
    const blocks = 1 + Math.floor(random() * depthMax);
    const done = { blocks, again: 0, redone: 0, lost: 0, ours: 0 };
    await this.node.control("pace", { isPaced: false });
    const { head, solid } = await this.#state();
    if (head - blocks <= solid) {
      await this.node.control("pace", { isPaced: true });
      return { ...done, blocks: 0 };
    }
    const kept: string[] = [];
    const redone: Transaction[] = [];
    for (let number = head - blocks + 1; number <= head; number += 1) {
      const { transactions = [] } = await this.#ask<BlockJson>("wallet/getblockbynum", {
        num: number,
      });
      for (const { txID } of transactions) {
        const sent = this.#sent.get(txID);
        const chance = loses ? random() : random() * lostFrom;
        // A few of the wallet's own are dropped, and its agent has to bring them again or wait for
        // their end. The others come again: a node takes what a fork dropped back by itself.
        const isOurs = sent === undefined;
        if (isOurs && loses && this.#oursDropped < oursDroppedMax && chance > redoneFrom) {
          this.#oursDropped += 1;
          done.ours += 1;
          continue;
        }
        if (isOurs || chance < redoneFrom) {
          kept.push(txID);
          done.again += 1;
          continue;
        }
        this.#sent.delete(txID);
        if (chance < lostFrom) redone.push(sent);
        else {
          done.lost += 1;
          for (const { to } of sent.pays) this.robbed.add(this.nameOf(to));
        }
      }
    }
    await this.node.control("replace", {
      depth: blocks,
      kept,
      empty: Math.floor(random() * blocks),
    });
    await this.node.control("pace", { isPaced: true });
    for (const transaction of redone) await this.send(transaction);
    return { ...done, redone: redone.length };
  }

  async settled(): Promise<void> {
    const { head } = await this.#state();
    await until("the payments' end on the chain", 60_000, async () => {
      const { solid, pending } = (await this.node.control("state")) as unknown as State & {
        pending: readonly string[];
      };
      return solid > head && pending.length === 0 ? true : undefined;
    });
  }

  async read(
    addresses: readonly string[],
    hotWalletAddress: string,
    payouts: ReadonlySet<string>,
  ): Promise<FinalChain> {
    const ours = new Set(addresses.map((address) => this.nameOf(address)));
    const hotWallet = hotWalletAddress === "" ? "" : this.nameOf(hotWalletAddress);
    const arrived = new Map<string, Map<string, bigint>>();
    const add = (address: string, currency: string, units: bigint): void => {
      const at = arrived.get(address) ?? new Map<string, bigint>();
      arrived.set(address, at.set(currency, (at.get(currency) ?? 0n) + units));
    };
    const held = new Map<string, Map<string, bigint>>();
    for (const address of ours) {
      held.set(address, await this.#unsweptBalances(address));
      add(address, ids.coin, held.get(address)?.get(ids.coin) ?? 0n);
    }
    const left: DepartingTransfer[] = [];
    let feesUnits = 0n;
    const { solid } = await this.#state();
    for (let num = 1; num <= solid; num += 1) {
      const { transactions = [] } = await this.#ask<BlockJson>("walletsolidity/getblockbynum", {
        num,
      });
      if (transactions.length === 0) continue;
      const infos = await this.#ask<readonly TransactionReceipt[]>(
        "walletsolidity/gettransactioninfobyblocknum",
        { num },
      );
      for (const info of infos) this.#addLogs(info, ours, add);
      for (const tx of transactions) {
        const value = tx.raw_data.contract[0]?.parameter.value;
        const from = value?.owner_address ?? "";
        if (value === undefined || (from !== hotWallet && !ours.has(from))) continue;
        const fee = BigInt(infos.find(({ id }) => id === tx.txID)?.fee ?? 0);
        feesUnits += fee;
        const moved = leftBy(tx, value);
        if (from !== hotWallet) {
          add(from, ids.coin, fee + (moved.currency === ids.coin ? moved.units : 0n));
          left.push(moved);
        } else if (ours.has(moved.to) && moved.currency === ids.coin && !payouts.has(tx.txID))
          add(moved.to, ids.coin, -moved.units);
      }
    }
    return {
      arrived,
      held,
      hotWallet: hotWallet === "" ? new Map() : await this.#unsweptBalances(hotWallet),
      left,
      feesUnits,
    };
  }

  #addLogs(
    { log = [] }: TransactionReceipt,
    ours: ReadonlySet<string>,
    add: (address: string, currency: string, units: bigint) => void,
  ): void {
    for (const { address, topics, data } of log) {
      const asset = (["token", "fee"] as const).find(
        (one) => contracts[one].hex === `41${address}`,
      );
      const to = `41${topics[2]?.slice(24)}`;
      if (asset !== undefined && topics[0] === transferTopic && ours.has(to))
        add(to, ids[asset], BigInt(`0x${data}`));
    }
  }

  async #unsweptBalances(hex: string): Promise<Map<string, bigint>> {
    const { balance = 0 } = await this.#ask<{ balance?: number }>("walletsolidity/getaccount", {
      address: hex,
    });
    const units = async (contract: string): Promise<bigint> => {
      const asked = {
        owner_address: hex,
        contract_address: contract,
        function_selector: "balanceOf(address)",
      };
      const called = await this.#ask<{ constant_result: readonly string[] }>(
        "walletsolidity/triggerconstantcontract",
        {
          ...asked,
          parameter: hex.slice(2).padStart(64, "0"),
        },
      );
      return BigInt(`0x${called.constant_result[0]}`);
    };
    return new Map([
      [ids.coin, BigInt(balance)],
      [ids.token, await units(contracts.token.hex)],
      [ids.fee, await units(contracts.fee.hex)],
    ]);
  }
}

/** A sweep as the node shows it; nothing where it failed. */
function leftBy({ txID, ret }: TransactionJson, value: ContractParameter): DepartingTransfer {
  const isWell = ret[0]?.contractRet === "SUCCESS";
  const { data = "" } = value;
  const isToken = value.contract_address === contracts.token.hex && data.startsWith("a9059cbb");
  const to = isToken ? `41${data.slice(32, 72)}` : (value.to_address ?? "");
  const units = isToken ? BigInt(`0x${data.slice(72)}`) : BigInt(value.amount ?? 0);
  const currency = isToken ? ids.token : ids.coin;
  return { txHash: txID, from: value.owner_address, to, currency, units: isWell ? units : 0n };
}
