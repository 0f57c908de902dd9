/**
 * The product's readers through each provider's profile: they find every payment of a small chain
 * and nothing else, beside a second node without limits. Each profile names its sources.
 */
import { getAddress } from "ethers";
import { afterEach, expect, describe as group, it } from "vitest";
import { openWatcher } from "../../chains/connect.ts";
import type { ConfiguredChain } from "../../chains/family.ts";
import type { DetectedPayment, WatcherNodes } from "../../chains/nodes.ts";
import { FakeChain, fakeChainId, hashOf } from "../../lab/kit/fake-chain.ts";
import type { FakeAnswer } from "../../lab/kit/fake-node.ts";
import { startEvmFront } from "../../lab/kit/provider/evm-front.ts";
import type { Profile } from "../../lab/kit/provider/profile.ts";
import { ofOneChain, profileNamed, profiles } from "../../lab/kit/provider/profiles.ts";
import { encodeDisperse } from "../../lab/tron-node/contracts.ts";
import { disperser, inhabitant, sender, startTestNetwork, usdt } from "../support/tron-network.ts";

/** Read by a pass that fails now and then: the watcher asks again, so often at most. */
const passesMax = 12;
const blocksAtOnce = 15;
const token = getAddress(`0x${"7a".repeat(20)}`);
const ours = [getAddress(`0x${"a1".repeat(20)}`), getAddress(`0x${"a2".repeat(20)}`)] as const;
const outsider = `0x${"b0".repeat(20)}`;

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const survived = (family: Profile["family"]): readonly string[] =>
  profiles.filter((one) => one.family === family && one.isFit).map(({ name }) => name);

/** Beside a plain node of the same chain. */
const pairOf = (family: Profile["family"], name: string) =>
  ofOneChain([profileNamed(family, name), profileNamed(family, "plain node")]);

function bookOf(addresses: readonly string[]) {
  const all = new Set(addresses);
  return { size: all.size, has: (address: string) => all.has(address), all: () => all };
}

function watch(
  chain: ConfiguredChain & { nodes: readonly string[]; confirmations: number | "finalized" },
): WatcherNodes {
  const reader = openWatcher({ chain, log: () => undefined });
  closers.push(() => reader.close());
  return reader;
}

/** Every payment up to a block, in runs of blocks, each by passes that may fail. */
async function read(
  reader: WatcherNodes,
  last: number,
  contracts: readonly string[],
  addresses: readonly string[],
): Promise<readonly DetectedPayment[]> {
  const found: DetectedPayment[] = [];
  for (let [first, failed] = [1, 0]; first <= last; ) {
    try {
      const final = await reader.finalTip();
      if (final.number < last) throw new Error(`the final block is ${final.number}, not ${last}`);
      const numbers = Array.from(
        { length: Math.min(blocksAtOnce, last - first + 1) },
        (_, at) => first + at,
      );
      const blocks = await Promise.all(numbers.map((number) => reader.block(number, true)));
      found.push(...(await reader.payments(blocks, contracts, bookOf(addresses), true)).found);
      [first, failed] = [first + numbers.length, 0];
    } catch (error) {
      failed += 1;
      if (failed === passesMax) throw error;
    }
  }
  return found;
}

const sums = (found: readonly DetectedPayment[]): Record<string, bigint> => {
  const all: Record<string, bigint> = {};
  for (const { address, contract, amountUnits } of found)
    all[`${address} ${contract}`] = (all[`${address} ${contract}`] ?? 0n) + amountUnits;
  return all;
};

function evmChain(): FakeChain {
  const chain = new FakeChain();
  for (let number = 1; number <= 30; number += 1) {
    const name = `payment ${number}`;
    const to = ours[number % 2] as string;
    const transfer = { contract: token, from: outsider, to, units: BigInt(number) };
    const hash = (text: string): string => hashOf(`${text} of ${name}`);
    if (number % 5 === 0)
      chain.mine({ hash: hash("coins"), from: outsider, to, value: BigInt(number * 100) });
    else if (number % 3 === 0)
      chain.mine(
        { hash: hash("token"), from: outsider, to: token, transfers: [transfer] },
        { hash: hash("noise"), from: outsider, to: outsider },
      );
    else chain.mine();
  }
  chain.mineEmpty(12);
  return chain;
}

const asked =
  (chain: FakeChain) =>
  async (method: string, params: readonly unknown[]): Promise<FakeAnswer> => {
    if (method === "eth_blockNumber") return { result: `0x${chain.top.toString(16)}` };
    try {
      return { result: chain.answer(method, params) };
    } catch (error) {
      return { error: { code: -32_601, message: (error as Error).message } };
    }
  };

group("the readers of EVM chains", () => {
  it.each(survived("evm"))("every payment is found beside a plain node: %s", async (name) => {
    const ask = asked(evmChain());
    const fronts = await Promise.all(
      pairOf("evm", name).map((profile) => startEvmFront({ profile, chain: ask })),
    );
    closers.push(...fronts.map((front) => () => front.close()));
    const nodes = fronts.map(({ url }) => url);
    const reader = watch({ family: "evm", chainId: fakeChainId, nodes, confirmations: 8 });
    expect(sums(await read(reader, 30, ["", token], ours))).toEqual({
      [`${ours[0]} `]: 6_000n, // blocks 10, 20 and 30
      [`${ours[1]} `]: 4_500n, // blocks 5, 15 and 25
      [`${ours[0]} ${token}`]: 60n, // blocks 6, 12, 18 and 24
      [`${ours[1]} ${token}`]: 60n, // blocks 3, 9, 21 and 27
    });
  });
});

group("the readers of Tron", () => {
  it.each(survived("tron"))("every payment is found beside a plain node: %s", async (name) => {
    const fronts = pairOf("tron", name).map((profile) => ({ profile }));
    const testNetwork = await startTestNetwork({ fronts, solidLag: 5 });
    closers.push(() => testNetwork.node.close());
    const [first, second] = [inhabitant("a depositor"), inhabitant("another depositor")];
    await testNetwork.send(testNetwork.coins(sender, first.address, 5_000_000), 1);
    await testNetwork.send(testNetwork.token(sender, usdt, second.address, 7_000_000n), 1);
    testNetwork.node.chain.mine();
    const call = encodeDisperse("", [first.hex, second.hex], [3_000_000n, 4_000_000n]);
    await testNetwork.send(testNetwork.call(sender, disperser, call, { callSun: 7_000_000 }), 1);
    testNetwork.node.chain.mine(12);
    const { chainId, urls } = testNetwork.node;
    const reader = watch({ family: "tron", chainId, nodes: urls, confirmations: "finalized" });
    expect(sums(await read(reader, 28, ["", usdt], [first.address, second.address]))).toEqual({
      [`${first.address} `]: 8_000_000n,
      [`${second.address} `]: 4_000_000n,
      [`${second.address} ${usdt}`]: 7_000_000n,
    });
  });
});

interface Answered {
  readonly status: number;
  readonly text: string;
}

async function asks(profile: Profile, question: unknown): Promise<Answered> {
  const front = await startEvmFront({ profile, chain: asked(evmChain()) });
  closers.push(() => front.close());
  const answer = await fetch(front.url, { method: "POST", body: JSON.stringify(question) });
  return { status: answer.status, text: await answer.text() };
}

const call = (id: number, method: string, ...params: readonly unknown[]) => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});
const logsOf = (from: number, to: number) =>
  call(1, "eth_getLogs", {
    fromBlock: `0x${from.toString(16)}`,
    toBlock: `0x${to.toString(16)}`,
    address: token,
    topics: [],
  });

group("the fronts of EVM profiles", () => {
  it("a range above the limit gets the status, the code and the words of the report, and one below it the logs", async () => {
    const profile = profileNamed("evm", "range limit as HTTP 413");
    const refused = await asks(profile, logsOf(1, 6));
    expect(refused.status).toBe(413);
    expect(JSON.parse(refused.text)).toMatchObject({
      error: { code: -32_614, message: "eth_getLogs is limited to a 5 range" },
    });
    expect(JSON.parse((await asks(profile, logsOf(1, 5))).text)).toMatchObject({
      result: [{ blockNumber: "0x3" }],
    });
  });

  it("a batch above the limit is refused by plain text, and a lone call is answered", async () => {
    const profile = profileNamed("evm", "no batches");
    const batch = [call(1, "eth_chainId"), call(2, "eth_blockNumber")];
    expect(await asks(profile, batch)).toEqual({
      status: 400,
      text: "batch requests are not supported by this server",
    });
    expect(JSON.parse((await asks(profile, batch[1])).text)).toEqual({
      jsonrpc: "2.0",
      id: 2,
      result: "0x2a",
    });
  });

  it("a backend that is behind answers [] for logs above its head, null for a block and an error for its hash", async () => {
    const chain = evmChain();
    const behind: Profile = { ...profileNamed("evm", "plain node"), backends: [{ behind: 40 }] };
    const hash = chain.blocks[10]?.hash;
    const front = await startEvmFront({ profile: behind, chain: asked(chain) });
    closers.push(() => front.close());
    const ask = async (question: unknown): Promise<unknown> =>
      (await fetch(front.url, { method: "POST", body: JSON.stringify(question) })).json();
    expect(await ask(logsOf(1, 9))).toMatchObject({ result: [] });
    expect(await ask(call(1, "eth_getBlockByNumber", "0xa", false))).toMatchObject({
      result: null,
    });
    expect(await ask(call(1, "eth_getBlockByNumber", "latest", false))).toMatchObject({
      result: { number: "0x2" },
    });
    expect(await ask(call(1, "eth_getLogs", { blockHash: hash }))).toMatchObject({ error: {} });
    expect(await ask(call(1, "eth_getBalance", ours[0], "0xa"))).toMatchObject({
      error: { message: "header not found" },
    });
  });

  it("every profile names the reports that it is taken from", () => {
    const named = profiles.filter(({ name }) => name !== "plain node");
    expect(named.length).toBeGreaterThanOrEqual(24);
    for (const { name, sources } of named)
      expect(
        [name, ...sources.filter((one) => /^[\w.-]+\/[\w.-]+#\d+$/.test(one))].length,
      ).toBeGreaterThan(1);
  });
});
