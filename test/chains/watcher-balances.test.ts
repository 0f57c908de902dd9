/**
 * Many balances at one block equal those asked one by one: in their order, in bounded exchanges,
 * and with two nodes that agree on each.
 */

import { Interface } from "ethers";
import { afterEach, expect, describe as group, it } from "vitest";
import { type Result, valuesIn } from "../../base/result.ts";
import { createWatcher } from "../../chains/evm/node-watcher.ts";
import type { WatcherNodes } from "../../chains/nodes.ts";
import { createWatcher as createTronWatcher } from "../../chains/tron/node-watcher.ts";
import {
  type ChainNode,
  FakeChain,
  hashOf,
  type Lie,
  NodeErrorAnswer,
  serveChain,
} from "../../lab/kit/fake-chain.ts";
import { inhabitant, startTestNetwork, type TestNetwork, usdt } from "../support/tron-network.ts";

const token = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
const broken = "0x00000000000000000000000000000000000bAd0E";
const addressAt = (at: number): string => `0x${(at + 1).toString(16).padStart(40, "0")}`;

const codesIn = (results: readonly Result<unknown>[]) =>
  results.map((one) => (one.ok ? "" : one.fault.code));

let nodes: ChainNode[] = [];
let watcher: WatcherNodes | null = null;
let testNetwork: TestNetwork | null = null;

afterEach(async () => {
  watcher?.close();
  for (const node of nodes.splice(0)) await node.close();
  await testNetwork?.node.close();
  testNetwork = null;
});

async function twoNodes(chain: FakeChain, lie: Lie | null = null): Promise<WatcherNodes> {
  nodes = [await serveChain(chain), await serveChain(chain)];
  nodes[1]!.lie = lie;
  watcher = createWatcher(
    { nodes: nodes.map(({ url }) => url), chainId: 31337, confirmations: 1 },
    () => undefined,
  );
  return watcher;
}

function paidChain(): FakeChain {
  const chain = new FakeChain();
  for (const [at, units] of [5n, 7n, 11n].entries())
    chain.mine({ hash: hashOf(`${at}`), from: addressAt(900), to: addressAt(at), value: units });
  chain.tokens.set(`${token} ${addressAt(1)}`.toLowerCase(), 13n);
  return chain;
}

group("on an EVM chain", () => {
  it("balances come in the order of the questions, coins and tokens, at the block asked for", async () => {
    const reader = await twoNodes(paidChain());
    const questions = [
      { account: addressAt(2), contract: "" },
      { account: addressAt(1), contract: token },
      { account: addressAt(0), contract: "" },
      { account: addressAt(2), contract: "" },
    ];
    expect(valuesIn(await reader.balances(questions, 3))).toEqual([11n, 13n, 5n, 11n]);
    expect(valuesIn(await reader.balances(questions, 2))).toEqual([0n, 13n, 5n, 0n]);
    expect(valuesIn(await reader.balances([], 3))).toEqual([]);
  });

  it("an account was used that ever sent something, up to the block asked for, as two nodes say alike", async () => {
    const chain = paidChain();
    chain.mine({ hash: hashOf("sent"), from: addressAt(0), to: addressAt(5), nonce: 0 });
    const reader = await twoNodes(chain);
    const accounts = [addressAt(0), addressAt(1), addressAt(7)];
    expect(valuesIn(await reader.wereUsed(accounts, 4))).toEqual([true, false, false]);
    expect(valuesIn(await reader.wereUsed(accounts, 3))).toEqual([false, false, false]);
    nodes[1]!.lie = (method, _params, honest) =>
      method === "eth_getTransactionCount" ? "0x9" : honest;
    expect(codesIn(await reader.wereUsed(accounts, 4))).toContain("NODE_DISAGREE");
  });

  it("a balance that two nodes tell differently fails the call, and the same balance told alike does not", async () => {
    const lie: Lie = (method, params, honest) =>
      method === "eth_getBalance" && params[0] === addressAt(0) ? "0x63" : honest;
    const reader = await twoNodes(paidChain(), lie);
    const [ours, other] = [0, 1].map((at) => ({ account: addressAt(at), contract: "" }));
    expect(codesIn(await reader.balances([other!, ours!], 3))).toContain("NODE_DISAGREE");
    expect(valuesIn(await reader.balances([other!], 3))).toEqual([7n]);
  });
});

group("by one call of a contract", () => {
  const answers = new Interface([
    "function aggregate3((address target, bool allowFailure, bytes callData)[]) returns ((bool success, bytes returnData)[])",
    "function getEthBalance(address) returns (uint256)",
  ]);
  const multicall = "0xcA11bde05977b3631167028862bE2a173976CA11";
  /** As the contract does it, by a decoder that shares nothing with ours. */
  const served =
    (chain: FakeChain, counts: Map<string, number>, callsMax = 1_000): Lie =>
    (method, params, honest) => {
      const { to = "", data = "" } = (params[0] ?? {}) as { to?: string; data?: string };
      counts.set(method, (counts.get(method) ?? 0) + 1);
      if (method === "eth_getCode") return params[0] === multicall ? "0x60" : honest;
      if (method !== "eth_call" || to !== multicall) return honest;
      const [calls] = answers.decodeFunctionData("aggregate3", data) as unknown as [
        { target: string; callData: string }[],
      ];
      if (calls.length > callsMax) return "0x";
      const told = calls.map(({ target, callData }) => {
        if (target.toLowerCase() === broken.toLowerCase())
          return [false, broken.replace("0x", "0x08c379a0")];
        const isCoin = target === multicall;
        const [of] = isCoin
          ? (answers.decodeFunctionData("getEthBalance", callData) as unknown as [string])
          : [""];
        const answer = isCoin
          ? chain.answer("eth_getBalance", [of, params[1]])
          : chain.answer("eth_call", [{ to: target, data: callData }, params[1]]);
        return [true, `0x${String(answer).slice(2).padStart(64, "0")}`];
      });
      return answers.encodeFunctionResult("aggregate3", [told]);
    };
  const questions = Array.from({ length: 600 }, (_, at) => ({
    account: addressAt(at),
    contract: at % 2 === 0 ? "" : token,
  }));
  const expected = questions.map((_, at) => (at === 0 ? 5n : at === 1 ? 13n : at === 2 ? 11n : 0n));

  it.each([1_000, 70])(
    "600 balances cost a few questions of each node, and are those asked one by one (node takes %i)",
    async (callsMax) => {
      const chain = paidChain();
      const reader = await twoNodes(chain);
      const counts = new Map<string, number>();
      for (const node of nodes) node.lie = served(chain, counts, callsMax);
      expect(valuesIn(await reader.balances(questions, 3))).toEqual(expected);
      expect(counts.get("eth_getBalance") ?? 0).toBe(0);
      expect(counts.get("eth_call")).toBeLessThan(30);
    },
  );

  it.each([0, 1])(
    "balances that one node tells otherwise are asked one by one (node %i lies)",
    async (liar) => {
      const chain = paidChain();
      const reader = await twoNodes(chain);
      const honest = served(chain, new Map());
      nodes[1 - liar]!.lie = honest;
      nodes[liar]!.lie = (method, params, answer) => {
        const told = honest(method, params, answer);
        return method === "eth_call" && typeof told === "string" && told.length > 1_000
          ? `${told.slice(0, -1)}9`
          : told;
      };
      expect(valuesIn(await reader.balances(questions, 3))).toEqual(expected);
      expect(valuesIn(await reader.balances(questions.slice(0, 3), 3))).toEqual(
        expected.slice(0, 3),
      );
    },
  );
});

group("one balance that cannot be told", () => {
  /** A contract that reverts every call, as a proxy in a bad upgrade does. */
  const reverting: Lie = (method, params, honest) => {
    const { to = "" } = (params[0] ?? {}) as { to?: string };
    if (method === "eth_getCode") return "0x";
    return method === "eth_call" && to.toLowerCase() === broken.toLowerCase()
      ? new NodeErrorAnswer("execution reverted")
      : honest;
  };

  it.each([3, 40])("costs none of %i others: a token whose contract reverts", async (count) => {
    const chain = paidChain();
    const reader = await twoNodes(chain);
    for (const node of nodes) node.lie = reverting;
    const others = Array.from({ length: count }, (_, at) => ({
      account: addressAt(at),
      contract: "",
    }));
    const told = await reader.balances([{ account: addressAt(1), contract: broken }, ...others], 3);
    expect(codesIn(told.slice(0, 1))).toEqual(["NODE_ERROR"]);
    expect(valuesIn(told.slice(1)).slice(0, 3)).toEqual([5n, 7n, 11n]);
  });
});

group("on Tron", () => {
  it("balances come in the order of the questions, and one of a block to come is a fault", async () => {
    testNetwork = await startTestNetwork({ fronts: [{}, {}] });
    watcher = createTronWatcher({
      urls: testNetwork.node.urls,
      chainId: testNetwork.node.chainId,
      log: () => undefined,
    });
    const accounts = Array.from({ length: 70 }, (_, at) => inhabitant(`many ${at}`).address);
    for (const [at, account] of accounts.entries()) testNetwork.node.fund(account, BigInt(at + 1));
    testNetwork.node.mint(usdt, accounts[3]!, 9n);
    const { number } = await watcher.finalTip();
    const questions = [
      { account: accounts[3]!, contract: usdt },
      ...accounts.map((account) => ({ account, contract: "" })),
    ];
    const expected = [9n, ...accounts.map((_, at) => BigInt(at + 1))];
    expect(valuesIn(await watcher.balances(questions, number))).toEqual(expected);
    expect(codesIn(await watcher.balances(questions, number + 1))).toContain("NODE_NO_BLOCK");
  });

  it("an account was used that exists, and one of a block to come is a fault", async () => {
    testNetwork = await startTestNetwork({ fronts: [{}, {}] });
    watcher = createTronWatcher({
      urls: testNetwork.node.urls,
      chainId: testNetwork.node.chainId,
      log: () => undefined,
    });
    const [known, unknown] = ["known", "unknown"].map((name) => inhabitant(name).address);
    testNetwork.node.fund(known!, 1n);
    const { number } = await watcher.finalTip();
    expect(valuesIn(await watcher.wereUsed([unknown!, known!], number))).toEqual([false, true]);
    expect(codesIn(await watcher.wereUsed([known!], number + 1))).toContain("NODE_NO_BLOCK");
  });
});
