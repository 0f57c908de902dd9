/**
 * The five networks that the bench pays on: their currencies, receivers that nobody paid before,
 * and the chains behind them. EVM is the local chain of the test kit; the others are nodes of the
 * lab, each in a process of its own.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { bech32 } from "@scure/base";
import { TronWeb } from "tronweb";
import { addressOfHash } from "../../chains/xrp/address.ts";
import { projectRoot } from "../kit/kit.ts";
import { rpc } from "../kit/rpc.ts";
import { startTronProcess } from "../tron-node/process.ts";
import { requestMark, rpcMark } from "./calls.ts";

export const networkNames = ["evm", "tron", "xrp", "bitcoin", "litecoin"] as const;
export type NetworkName = (typeof networkNames)[number];
export type CoinName = "bitcoin" | "litecoin";

export const xrpChainId = 2;
const coinChains = {
  bitcoin: { prefix: "bcrt", chainId: "0f9188f13cb7b2c71f2a335e3a4fc328" },
  litecoin: { prefix: "rltc", chainId: "530827f38f93b43ed12af0b3ad25a288" },
} as const;
const blockMs = 1_000;
/** Blocks below the head that are not solid: the fewest, as one confirmation is on EVM. */
const solidLag = 1;

export interface Network {
  readonly currency: string;
  readonly chainName: string; // in the configuration
  readonly amount: string; // each payout's
  readonly maxFee: string;
  readonly callMark: string; // calls.ts
  /** The network's form of an account's 20 bytes. */
  addressOf(hash: Buffer): string;
}

export const networks: Readonly<Record<NetworkName, Network>> = {
  evm: {
    ...{
      currency: "eth",
      chainName: "local",
      amount: "0.000001",
      maxFee: "0.01",
      callMark: rpcMark,
    },
    addressOf: (hash) => `0x${hash.toString("hex")}`,
  },
  tron: {
    ...{
      currency: "trx",
      chainName: "tron",
      amount: "0.000001",
      maxFee: "60",
      callMark: requestMark,
    },
    addressOf: (hash) => TronWeb.address.fromHex(`41${hash.toString("hex")}`) as string,
  },
  // The least that an account can begin with.
  xrp: {
    ...{ currency: "xrp", chainName: "ripple", amount: "1", maxFee: "1", callMark: requestMark },
    addressOf: addressOfHash,
  },
  bitcoin: coinNetwork("btc", "bitcoin"),
  litecoin: coinNetwork("ltc", "litecoin"),
};

function coinNetwork(currency: string, chainName: CoinName): Network {
  return {
    ...{ currency, chainName, amount: "0.0001", maxFee: "0.01", callMark: requestMark },
    addressOf: (hash) => bech32.encode(coinChains[chainName].prefix, [0, ...bech32.toWords(hash)]),
  };
}

/** An address that nobody paid before; `hex` are its 20 bytes. */
export function newReceiver(name: NetworkName): { readonly hex: string; readonly address: string } {
  const hash = randomBytes(20);
  return { hex: hash.toString("hex"), address: networks[name].addressOf(hash) };
}

/** A chain behind a network, with blocks of one second. */
export interface StandIn {
  readonly url: string;
  readonly chainId: string;
  /** Sends an address the funds of all payouts. */
  fund(address: string): Promise<void>;
  /** Begins, or with false ends, making blocks. */
  pace(isPaced: boolean): Promise<void>;
  /** Resolves when its process is gone. Calling twice is harmless. */
  stop(): Promise<void>;
}

/** The local chain of a kit, which the kit stops. */
export function evmStandIn(url: string, fund: () => Promise<void>): StandIn {
  return {
    ...{ url, chainId: "31337", fund },
    pace: async (isPaced) =>
      void (await rpc(url, "evm_setIntervalMining", [isPaced ? blockMs / 1_000 : 0])),
    stop: async () => undefined,
  };
}

/** Starts the built program, so `dist` has to be there. */
export async function startStandIn(name: Exclude<NetworkName, "evm">): Promise<StandIn> {
  if (name === "tron") return startTron();
  const chainId = name === "xrp" ? `${xrpChainId}` : coinChains[name].chainId;
  const command = join(projectRoot, "dist", "lab", "bench", "stand-in.js");
  const child = spawn(process.execPath, [command, name, `${blockMs}`], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const gone = once(child, "close");
  const lines = createInterface({ input: child.stdout });
  const answer = async (): Promise<string> => {
    const ended = gone.then(() => Promise.reject(new Error(`the node for ${name} ended`)));
    const [line] = (await Promise.race([once(lines, "line"), ended])) as [string];
    return line;
  };
  const wish = async (asked: object): Promise<void> => {
    const answered = answer();
    child.stdin.write(`${JSON.stringify(asked)}\n`);
    await answered;
  };
  const { url } = JSON.parse(await answer()) as { readonly url: string };
  return {
    ...{ url, chainId },
    fund: (address) => wish({ fund: address }),
    pace: (isPaced) => wish({ isPaced }),
    async stop() {
      child.stdin.end();
      await gone;
    },
  };
}

async function startTron(): Promise<StandIn> {
  const command = join(projectRoot, "dist", "lab", "tron-node", "command.js");
  const tron = await startTronProcess({ isPaced: true, slotMs: blockMs, solidLag }, command);
  return {
    ...{ url: tron.urls[0] ?? "", chainId: tron.chainId },
    fund: async (address) => void (await tron.control("fund", { address, sun: "1000000000000" })),
    pace: async (isPaced) => void (await tron.control("pace", { isPaced })),
    stop: () => tron.stop(),
  };
}

const currencyOf = {
  // A deposit's figures are without its sweep.
  evm: {
    decimal: 18,
    name: "Ether",
    symbol: "ETH",
    minPaymentAmount: "0.001",
    minWithdrawAmount: "0.000001",
  },
  tron: {
    decimal: 6,
    name: "TRON",
    symbol: "TRX",
    minPaymentAmount: "1",
    minWithdrawAmount: "0.000001",
  },
  xrp: {
    decimal: 6,
    name: "XRP",
    symbol: "XRP",
    minPaymentAmount: "0.01",
    minWithdrawAmount: "0.01",
  },
  bitcoin: {
    decimal: 8,
    name: "Bitcoin",
    symbol: "BTC",
    minPaymentAmount: "0.0001",
    minWithdrawAmount: "0.0001",
  },
  litecoin: {
    decimal: 8,
    name: "Litecoin",
    symbol: "LTC",
    minPaymentAmount: "0.0001",
    minWithdrawAmount: "0.0001",
  },
} as const;

const familyOf = {
  evm: "evm",
  tron: "tron",
  xrp: "xrp",
  bitcoin: "bitcoinregtest",
  litecoin: "litecoinregtest",
} as const;

/**
 * A network as gateway.config.json has it, with the node at `url`. One block makes a payout final,
 * or the chain itself says so.
 */
export function servedBy(name: NetworkName, { chainId }: StandIn, url: string) {
  const { chainName, currency } = networks[name];
  const id = name === "evm" || name === "xrp" ? Number(chainId) : chainId;
  const confirmations = name === "tron" || name === "xrp" ? "finalized" : 1;
  const chain = { family: familyOf[name], chainId: id, nodes: [url], confirmations };
  return {
    chains: { [chainName]: chain },
    currencies: {
      [currency]: {
        chain: chainName,
        market: "",
        sweep: { automatic: false },
        ...currencyOf[name],
      },
    },
  };
}
