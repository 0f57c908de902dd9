/**
 * A chain of each family with empty blocks, behind two servers that count their questions. Blocks
 * come by the test's word. The forms of the questions, by server, are what a check has to ask too:
 * a method with the kind of its block, or a path without names.
 */
import { multicallAddress } from "../../chains/evm/multicall.ts";
import type { ChainPreset, CurrencyPreset } from "../../chains/presets/preset.ts";
import { chainPresets, currencyPresets } from "../../chains/presets.ts";
import { maskQuestionPath } from "../../chains/providers/node-words.ts";
import { FakeChain } from "../../lab/kit/fake-chain.ts";
import { type RpcCall, startFakeNode } from "../../lab/kit/fake-node.ts";
import { TronNode } from "../../lab/tron-node/tron-node.ts";
import { startXrpNode } from "../../lab/xrp-node/xrp-node.ts";
import { EsploraChain, serveEsplora } from "./esplora-chain.ts";

export const begunMs = 1_790_000_000_000;

export interface HourChain {
  readonly urls: readonly string[];
  /** Gives an account coins, which are final at that time. */
  fund(account: string, atMs: number): void;
  mine(atMs: number): void;
  /** The forms of all questions so far, by server. */
  asked(): readonly (readonly string[])[];
  close(): Promise<unknown>;
}

export function presetNamed(name: string): ChainPreset {
  const preset = chainPresets[name];
  if (preset === undefined) throw new Error(`no preset ${name}`);
  return preset;
}

export function currenciesOn(name: string): readonly (readonly [string, CurrencyPreset])[] {
  return Object.entries(currencyPresets).filter(([, { chain }]) => chain === name);
}

/** Bytes of a whole chain's first block; the presets have 32 digits of them. */
const firstHashes: Readonly<Record<string, string>> = {
  bitcoin: "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f",
  litecoin: "12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2",
};

export function openHourChain(name: string): Promise<HourChain> {
  const { family } = presetNamed(name).lines;
  if (family === "evm") return openEvm(name);
  if (family === "tron") return openTron(name);
  return family === "xrp" ? openXrp() : openCoins(name);
}

async function openCoins(name: string): Promise<HourChain> {
  const { blockMs } = presetNamed(name);
  const chain = new EsploraChain(firstHashes[name] ?? "", begunMs - 20 * blockMs);
  const servers = [await serveEsplora(chain), await serveEsplora(chain)];
  return {
    urls: servers.map(({ url }) => url),
    fund: (account, atMs) => {
      chain.pay(account, 50_000_000n);
      for (let left = 20; left > 0; left -= 1) chain.mine(atMs - left * blockMs);
    },
    mine: (atMs) => chain.mine(atMs),
    asked: () => servers.map(({ asked }) => asked.map(maskQuestionPath)),
    close: () => Promise.all(servers.map((server) => server.close())),
  };
}

async function openXrp(): Promise<HourChain> {
  const node = await startXrpNode({ startAtMs: begunMs - 80_000, fronts: [{}, {}] });
  return {
    urls: node.urls,
    fund: (account) => {
      void node.fund(account, 100_000_000n);
      while (node.chain.nowMs < begunMs) node.closeLedgers();
    },
    mine: () => node.closeLedgers(),
    asked: () => node.fronts.map(({ counts }) => namesIn(counts)),
    close: () => node.close(),
  };
}

async function openTron(name: string): Promise<HourChain> {
  const { lines, blockMs } = presetNamed(name);
  const node = new TronNode({ startAtMs: begunMs - 40 * blockMs, fronts: [{}, {}] });
  const [first] = node.chain.blocks;
  if (first !== undefined)
    node.chain.blocks[0] = { ...first, id: first.id.slice(0, -8) + String(lines.chainId).slice(2) };
  await Promise.all(node.fronts.map((front) => front.listen()));
  for (const [, { lines: currency }] of currenciesOn(name)) {
    const { contract = "", symbol, decimal: decimals } = currency;
    if (contract !== "")
      node.deploy({ address: contract, kind: "usdt", name: symbol, symbol, decimals });
  }
  return {
    urls: node.urls,
    fund: (account) => {
      node.fund(account, 100_000_000n);
      while (node.chain.nowMs < begunMs) node.chain.mine();
    },
    mine: () => node.chain.mine(),
    asked: () => node.fronts.map(({ counts }) => namesIn(counts)),
    close: () => node.close(),
  };
}

function namesIn(counts: ReadonlyMap<string, number>): readonly string[] {
  return [...counts].flatMap(([one, count]) => Array.from({ length: count }, () => one));
}

const hex = (value: number | bigint): string => `0x${value.toString(16)}`;
const word = (value: number | bigint): string => value.toString(16).padStart(64, "0");

async function openEvm(name: string): Promise<HourChain> {
  const { lines, finalSeconds, blockMs } = presetNamed(name);
  const lag = Math.round((finalSeconds * 1_000) / blockMs);
  const chain = new FakeChain(Math.floor(begunMs / 1_000));
  const times = [begunMs - (lag + 1) * blockMs];
  const decimals = new Map(
    currenciesOn(name).map(([, { lines: of }]) => [of.contract ?? "", of.decimal]),
  );
  for (const contract of decimals.keys()) chain.contracts.add(contract);
  const answer = (method: string, params: readonly unknown[]): unknown => {
    if (method === "eth_chainId") return hex(Number(lines.chainId));
    if (method === "eth_estimateGas") return hex(21_000);
    if (method === "eth_maxPriorityFeePerGas") return hex(1_000_000_000);
    const place = params.map((one) =>
      one === "finalized" ? hex(Math.max(0, chain.top - lag)) : one,
    );
    if (method === "eth_call") return called(place[0] as { to: string; data: string }, decimals);
    if (method === "eth_getCode" && place[0] === multicallAddress) return "0x60";
    const told = chain.answer(method, place);
    if (method !== "eth_getBlockByNumber" || told === null) return told;
    return {
      ...(told as object),
      timestamp: hex(Math.floor((times[Number((told as { number: string }).number)] ?? 0) / 1_000)),
    };
  };
  const node = () =>
    startFakeNode({
      answer: ({ method, params }) => ({ result: answer(method, params) }),
    });
  const servers = [await node(), await node()];
  const mine = (atMs: number): void => {
    chain.mine();
    times.push(atMs);
  };
  return {
    urls: servers.map(({ url }) => url),
    fund: (address, atMs) => {
      chain.coins.push({ block: 0, address, units: 10n ** 18n });
      for (let left = lag; left >= 0; left -= 1) mine(atMs - left * blockMs);
    },
    mine,
    asked: () => servers.map(({ calls }) => calls.map(formOf)),
    close: () => Promise.all(servers.map((server) => server.close())),
  };
}

/** Calls of tokens and of the contract that tells many balances; nobody holds a token. */
function called(
  { to, data }: { to: string; data: string },
  decimals: ReadonlyMap<string, number>,
): string {
  if (data === "0x313ce567") return `0x${word(decimals.get(to) ?? 6)}`;
  if (to.toLowerCase() !== multicallAddress.toLowerCase()) return `0x${word(0)}`;
  const count = Number.parseInt(data.slice(10 + 64, 10 + 128), 16);
  const all = Array.from({ length: count }, (_, at) => at);
  const offsets = all.map((at) => word(count * 32 + at * 128)).join("");
  return `0x${word(32)}${word(count)}${offsets}${all.map(() => word(1) + word(64) + word(32) + word(0)).join("")}`;
}

/** A method, and the kind of the block that it names. */
function formOf({ method, params }: RpcCall): string {
  const kinds = params.flatMap((one) =>
    typeof one === "string" && /^(?:latest|pending|finalized|0x[0-9a-f]{1,12})$/.test(one)
      ? [one.startsWith("0x") ? "number" : one]
      : typeof one === "boolean"
        ? [String(one)]
        : [],
  );
  return [method, ...kinds].join(" ");
}
