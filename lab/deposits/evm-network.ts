/**
 * Customers on a local EVM chain, each with keys of their own: coins by transfer and by a contract,
 * a token, one of the same name and one that takes a fee. A reorganisation drops what its blocks
 * held; some of it comes again under its hash, some is replaced by another transaction of the same
 * count, and some of those pay nobody. Reads balances, logs and blocks at the end.
 */
import { randomBytes } from "node:crypto";
import { AbiCoder, HDNodeWallet, Interface, Mnemonic, Transaction as Raw } from "ethers";
import type { Random } from "../faults/tally.ts";
import { until } from "../kit/processes.ts";
import { rpc, sendUnlocked, tokenCall, tokenUnits } from "../kit/rpc.ts";
import { compileFile, deployToken } from "../kit/token.ts";
import { replaceLost } from "./lost-blocks.ts";
import { type Asset, type Shape, shapes } from "./shapes.ts";
import type {
  DepartingTransfer,
  FinalChain,
  ReorganisationReport,
  TestNetwork,
  Transaction,
} from "./test-network.ts";

const confirmations = 8;
/** Less than lies above the final block. */
const depthMax = 5;
const chainId = 31_337;
const customersCount = 6;
/**
 * Bounds of a dropped payment's chance: above the first it is another transaction, above the second
 * none.
 */
const redoneFrom = 0.5;
const lostFrom = 0.9;
const milli = 10n ** 15n; // the coin's
const gwei = 10n ** 9n;
const words = "test test test test test test test test test test test junk";
const crowd = new Interface([
  "function coins(address[] to, uint256[] value) payable",
  "function vain(address[] to, uint256[] value) payable",
  "function tokens(address token, address[] to, uint256[] value)",
]);
const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** A currency's contract and its settings at the gateway. */
export interface EvmContracts {
  readonly token: string;
  readonly fee: string;
  readonly lookAlike: string;
  readonly crowd: string;
}

interface SubmittedTransaction {
  readonly hash: string;
  readonly raw: string;
  readonly nonce: number;
  readonly customer: Customer;
  readonly transaction: Transaction;
}

interface Block {
  readonly number: string;
  readonly transactions: readonly MinedTransaction[];
}

interface MinedTransaction {
  readonly hash: string;
  readonly from: string;
  readonly to: string | null;
  readonly value: string;
  readonly input: string;
}

interface Receipt {
  readonly status: string;
  readonly gasUsed: string;
  readonly effectiveGasPrice: string;
  readonly l1Fee?: string;
}

interface Customer {
  readonly wallet: HDNodeWallet;
  nonce: number;
}

/** Puts the contracts on a chain, from its first unlocked account. */
export async function deployContracts(url: string, token: string): Promise<EvmContracts> {
  const file = new URL("contracts.sol", import.meta.url);
  const deploy = async (contract: string, args: string): Promise<string> => {
    const { bytecode } = compileFile(file, contract);
    const hash = await sendUnlocked(url, { data: bytecode + args.slice(2), gas: "0x1e8480" });
    return ((await rpc(url, "eth_getTransactionReceipt", [hash])) as { contractAddress: string })
      .contractAddress;
  };
  const named = AbiCoder.defaultAbiCoder().encode(
    ["string", "string", "uint8"],
    ["Fee Dollar", "FEE", 6],
  );
  const lookAlike = (await deployToken(url)).address;
  return {
    token,
    lookAlike,
    fee: await deploy("FeeToken", named),
    crowd: await deploy("Crowd", "0x"),
  };
}

/** The members of gateway.config.json for the chain and what is paid on it. */
export function servedBy({ token, fee }: EvmContracts, nodes: readonly string[]) {
  const usual = { chain: "local", decimal: 6, minPaymentAmount: "1" };
  const least = "0.001";
  return {
    chains: { local: { family: "evm", chainId, nodes, confirmations } },
    currencies: {
      eth: {
        ...{ chain: "local", decimal: 18, name: "Ether", symbol: "ETH", minPaymentAmount: "0.001" },
        ...{ minWithdrawAmount: "0.000001", sweep: { least } },
      },
      usdt: {
        ...usual,
        contract: token,
        name: "Tether USD",
        symbol: "USDT",
        minWithdrawAmount: "0.01",
      },
      // Its sweep would bring less than it says, and wait for an operator.
      fee: {
        ...usual,
        contract: fee,
        name: "Fee Dollar",
        symbol: "FEE",
        sweep: { automatic: false },
      },
    },
  };
}

export class EvmTestNetwork implements TestNetwork {
  readonly coin = { id: "eth", decimal: 18 };
  readonly currencies = { coin: "eth", token: "usdt", fee: "fee" };
  readonly decimals = { eth: 18, usdt: 6, fee: 6 };
  readonly shapes = shapes;
  readonly asked = {
    coin: { least: 10n * milli, most: 500n * milli },
    token: { least: 50_000_000n, most: 500_000_000n },
    fee: { least: 5_000_000n, most: 500_000_000n },
  };
  readonly sweptFrom = { eth: 2n * milli, usdt: 15_000_000n };
  readonly robbed = new Set<string>();
  readonly #url: string;
  readonly #contracts: EvmContracts;
  readonly #customers: readonly Customer[];
  readonly #sent: SubmittedTransaction[] = []; // not known to be final
  #turn = 0;

  private constructor(url: string, contracts: EvmContracts) {
    this.#url = url;
    this.#contracts = contracts;
    const mnemonic = Mnemonic.fromPhrase(words);
    this.#customers = Array.from({ length: customersCount }, (_, at) => {
      return { wallet: HDNodeWallet.fromMnemonic(mnemonic, `m/44'/60'/0'/0/${at + 1}`), nonce: 0 };
    });
  }

  /** Gives every customer, and the contract that pays many, what they will spend. */
  static async open(url: string, contracts: EvmContracts): Promise<EvmTestNetwork> {
    const testNetwork = new EvmTestNetwork(url, contracts);
    const holders = [
      ...testNetwork.#customers.map(({ wallet }) => wallet.address),
      contracts.crowd,
    ];
    const { token, fee, lookAlike } = contracts;
    for (const contract of [token, fee, lookAlike])
      await Promise.all(
        holders.map((holder) =>
          sendUnlocked(url, {
            to: contract,
            data: tokenCall("mint", holder, 10n ** 15n),
            gas: "0x30d40",
          }),
        ),
      );
    return testNetwork;
  }

  nameOf(address: string): string {
    return address.toLowerCase();
  }

  newAddress(): string {
    return `0x${randomBytes(20).toString("hex")}`;
  }

  payeeOf(address: string): string {
    return address;
  }

  addressAt(mnemonic: string, index: number): string {
    return HDNodeWallet.fromPhrase(mnemonic, "", `m/44'/60'/1'/0/${index}`).address;
  }

  receivingAccount(mnemonic: string): string {
    return HDNodeWallet.fromPhrase(mnemonic, "", "m/44'/60'/0'").neuter().extendedKey;
  }

  async send(transaction: Transaction): Promise<void> {
    const customer = this.#customers[this.#turn++ % this.#customers.length] as Customer;
    const { nonce } = customer;
    customer.nonce += 1;
    await this.#hand(customer, nonce, transaction, 2n * gwei);
  }

  async #hand(
    customer: Customer,
    nonce: number,
    transaction: Transaction,
    tip: bigint,
  ): Promise<void> {
    const raw = await customer.wallet.signTransaction({
      ...{ chainId, nonce, type: 2, maxFeePerGas: 100n * gwei + tip, maxPriorityFeePerGas: tip },
      ...this.#callOf(customer, transaction),
    });
    const hash = Raw.from(raw).hash as string;
    this.#sent.push({ hash, raw, nonce, customer, transaction });
    await rpc(this.#url, "eth_sendRawTransaction", [raw]);
  }

  #callOf(
    { wallet }: Customer,
    { pays, byContract, fails, isVain }: Transaction,
  ): Record<string, unknown> {
    const [first] = pays;
    if (first === undefined) return { to: wallet.address, value: 0n, gasLimit: 21_000n };
    const contract = this.#contractOf(first.asset);
    const receivers = pays.map(({ to }) => to);
    const units = pays.map((one) => one.units);
    if ((byContract || isVain) && contract === "") {
      const value = units.reduce((sum, one) => sum + one, 0n);
      return {
        to: this.#contracts.crowd,
        value,
        gasLimit: 400_000n,
        data: crowd.encodeFunctionData(isVain ? "vain" : "coins", [receivers, units]),
      };
    }
    if (byContract) {
      const data = crowd.encodeFunctionData("tokens", [contract, receivers, units]);
      return { to: this.#contracts.crowd, gasLimit: 400_000n, data };
    }
    if (contract === "") return { to: first.to, value: first.units, gasLimit: 21_000n };
    const amount = fails ? 10n ** 30n : first.units; // nobody has so much
    return { to: contract, data: tokenCall("transfer", first.to, amount), gasLimit: 120_000n };
  }

  #contractOf(asset: Asset | Shape["asked"]): string {
    return asset === "coin" ? "" : this.#contracts[asset];
  }

  async #placed(hash: string): Promise<number | null> {
    const known = (await rpc(this.#url, "eth_getTransactionByHash", [hash])) as {
      blockNumber: string | null;
    } | null;
    if (known === null) return null;
    return known.blockNumber === null ? -1 : Number(known.blockNumber);
  }

  async #height(): Promise<number> {
    return Number(await rpc(this.#url, "eth_blockNumber"));
  }

  async reorganise(random: Random, loses: boolean): Promise<ReorganisationReport> {
    const blocks = 1 + Math.floor(random() * depthMax);
    const done = { blocks, again: 0, redone: 0, lost: 0, ours: 0 };
    const height = await this.#height();
    if (height <= blocks) return { ...done, blocks: 0 };
    const hashes = new Set(this.#sent.map(({ hash }) => hash));
    for (let number = height - blocks + 1; number <= height; number += 1) {
      const block = (await rpc(this.#url, "eth_getBlockByNumber", [
        `0x${number.toString(16)}`,
        true,
      ])) as Block;
      done.ours += block.transactions.filter(({ hash }) => !hashes.has(hash)).length;
    }
    await rpc(this.#url, "anvil_reorg", [blocks, []]);
    await replaceLost((method, params) => rpc(this.#url, method, params), height - blocks + 1);
    // It sets the chain's clock back by what it replaced, and a head that is old is a fault.
    await rpc(this.#url, "evm_setTime", [Math.floor(Date.now() / 1_000)]);
    const final = (await this.#height()) - confirmations + 1;
    const open = [...this.#sent].sort((a, b) => a.nonce - b.nonce);
    for (const sent of open) {
      const at = await this.#placed(sent.hash);
      if (at !== null && (at < 0 || at > final)) continue;
      this.#sent.splice(this.#sent.indexOf(sent), 1);
      if (at === null) await this.#again(sent, loses ? random() : random() * lostFrom, done);
    }
    return done;
  }

  /**
   * Payments that a reorganisation dropped: half of them unchanged, most of the rest with another
   * hash.
   */
  async #again(
    sent: SubmittedTransaction,
    chance: number,
    done: { again: number; redone: number; lost: number },
  ): Promise<void> {
    const { customer, nonce, transaction } = sent;
    if (chance < redoneFrom || transaction.pays.length === 0) {
      done.again += 1;
      this.#sent.push(sent);
      await rpc(this.#url, "eth_sendRawTransaction", [sent.raw]);
    } else if (chance < lostFrom) {
      done.redone += 1;
      await this.#hand(customer, nonce, transaction, 3n * gwei + BigInt(this.#turn++));
    } else {
      done.lost += 1;
      for (const { to } of transaction.pays) this.robbed.add(this.nameOf(to));
      await this.#hand(
        customer,
        nonce,
        { pays: [], byContract: false, fails: false, isVain: false },
        3n * gwei + BigInt(this.#turn++),
      );
    }
  }

  async settled(): Promise<void> {
    await until("the payments' end on the chain", 60_000, async () => {
      const final = (await this.#height()) - confirmations + 1;
      for (const sent of [...this.#sent]) {
        const at = await this.#placed(sent.hash);
        if (at === null) throw new Error(`${sent.hash} is not known to the chain`);
        if (at >= 0 && at <= final) this.#sent.splice(this.#sent.indexOf(sent), 1);
      }
      return this.#sent.length === 0 ? true : undefined;
    });
  }

  async read(
    addresses: readonly string[],
    hotWalletAddress: string,
    payouts: ReadonlySet<string>,
  ): Promise<FinalChain> {
    const final = (await this.#height()) - confirmations + 1;
    const ours = new Set(addresses.map((address) => this.nameOf(address)));
    const hotWallet = this.nameOf(hotWalletAddress);
    const arrived = new Map<string, Map<string, bigint>>();
    const add = (address: string, currency: string, units: bigint): void => {
      const at = arrived.get(address) ?? new Map<string, bigint>();
      arrived.set(address, at.set(currency, (at.get(currency) ?? 0n) + units));
    };
    const held = new Map<string, Map<string, bigint>>();
    for (const address of ours) {
      held.set(address, await this.#unsweptBalances(address, final));
      // Received coins, on whatever way: the balance plus all that left, without our own top-ups.
      add(address, "eth", held.get(address)?.get("eth") ?? 0n);
    }
    const left: DepartingTransfer[] = [];
    let feesUnits = 0n;
    for (let number = 1; number <= final; number += 1) {
      const block = (await rpc(this.#url, "eth_getBlockByNumber", [
        `0x${number.toString(16)}`,
        true,
      ])) as Block;
      for (const tx of block.transactions) {
        const [from, to] = [tx.from.toLowerCase(), (tx.to ?? "").toLowerCase()];
        if (from !== hotWallet && !ours.has(from)) continue;
        const receipt = (await rpc(this.#url, "eth_getTransactionReceipt", [tx.hash])) as Receipt;
        const fee = BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice);
        feesUnits += fee;
        const value = receipt.status === "0x1" ? BigInt(tx.value) : 0n;
        if (from === hotWallet) {
          if (ours.has(to) && !payouts.has(tx.hash)) add(to, "eth", -value);
          continue;
        }
        add(from, "eth", value + fee);
        left.push(receipt.status === "0x1" ? this.#leftBy(tx) : { ...this.#leftBy(tx), units: 0n });
      }
    }
    for (const currency of ["usdt", "fee"] as const)
      await this.#addLogs(currency, final, ours, add);
    return {
      arrived,
      held,
      hotWallet: await this.#unsweptBalances(hotWallet, final),
      left,
      feesUnits,
    };
  }

  /** A sweep as its bytes say it, when it went well. */
  #leftBy({ hash, from, to, value, input }: MinedTransaction): DepartingTransfer {
    const isToken =
      input.startsWith("0xa9059cbb") &&
      this.nameOf(to ?? "") === this.nameOf(this.#contracts.token);
    const receiver = isToken ? `0x${input.slice(34, 74)}` : (to ?? "");
    const units = isToken ? BigInt(`0x${input.slice(74)}`) : BigInt(value);
    return {
      txHash: hash,
      from: this.nameOf(from),
      to: this.nameOf(receiver),
      currency: isToken ? "usdt" : "eth",
      units,
    };
  }

  async #unsweptBalances(address: string, block: number): Promise<Map<string, bigint>> {
    const eth = BigInt(
      (await rpc(this.#url, "eth_getBalance", [address, `0x${block.toString(16)}`])) as string,
    );
    const { token, fee } = this.#contracts;
    const [usdt, ofFee] = [
      await tokenUnits(this.#url, token, address),
      await tokenUnits(this.#url, fee, address),
    ];
    return new Map([
      ["eth", eth],
      ["usdt", usdt],
      ["fee", ofFee],
    ]);
  }

  async #addLogs(
    currency: "usdt" | "fee",
    final: number,
    ours: ReadonlySet<string>,
    add: (address: string, currency: string, units: bigint) => void,
  ): Promise<void> {
    const address = this.#contracts[currency === "usdt" ? "token" : "fee"];
    const filter = {
      fromBlock: "0x0",
      toBlock: `0x${final.toString(16)}`,
      address,
      topics: [transferTopic],
    };
    const logs = (await rpc(this.#url, "eth_getLogs", [filter])) as {
      topics: string[];
      data: string;
    }[];
    for (const { topics, data } of logs) {
      const to = `0x${topics[2]?.slice(26)}`;
      if (ours.has(to)) add(to, currency, BigInt(data));
    }
  }
}
