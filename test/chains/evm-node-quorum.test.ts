/**
 * One node of two lies about gas, fee, tip, funds, code or a receipt: it sets none of them, and is
 * named. The twin of each lie is the same pair of honest nodes. With three nodes, the two that
 * agree decide.
 */
import { describe, expect, it } from "vitest";
import type { EvmNodes } from "../../chains/evm/node.ts";
import { closesItsNodes, codeOf, fakeNode, nodesOf, receiver } from "../support/evm-nodes.ts";

closesItsNodes();

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const gwei = 10n ** 9n;
const quantity = (value: bigint | number): string => `0x${value.toString(16)}`;
const block = {
  number: "0x64",
  hash: hash("a"),
  parentHash: hash("b"),
  timestamp: "0x1",
  transactions: [],
};
const receipt = {
  ...{
    transactionHash: hash("c"),
    blockNumber: "0x64",
    blockHash: hash("a"),
    status: "0x1",
    from: receiver,
    to: receiver,
  },
  ...{ gasUsed: "0x5208", effectiveGasPrice: "0x1", logs: [] },
};

type Answers = Readonly<Record<string, unknown>>;
const truth: Answers = {
  eth_chainId: "0x7a69",
  eth_getBlockByNumber: { ...block, baseFeePerGas: quantity(10n * gwei) },
  eth_maxPriorityFeePerGas: quantity(gwei),
  eth_estimateGas: quantity(52_000),
  eth_getBalance: "0x5",
  eth_getCode: "0x",
  eth_getTransactionReceipt: receipt,
};
const failing = { error: { code: 3, message: "execution reverted" } };

/** Honest nodes, each with the given exception, and the entries of the log. */
async function nodesThatSay(
  ...lies: readonly Answers[]
): Promise<{ nodes: EvmNodes; named: string[]; urls: string[]; asked(method: string): number }> {
  const fakes = await Promise.all(
    lies.map((lie) =>
      fakeNode({
        answer: ({ method }) => {
          const said = { ...truth, ...lie }[method];
          return said === failing ? failing : { result: said };
        },
      }),
    ),
  );
  const urls = fakes.map(({ url }) => url);
  const named: string[] = [];
  const nodes = nodesOf(urls, {
    confirmations: 1,
    log: (event, { node, what }) =>
      void (event === "node-outlier" && named.push(`${urls.indexOf(String(node))} ${what}`)),
  });
  const asked = (method: string): number =>
    fakes.reduce((sum, fake) => sum + fake.count(method), 0);
  return { nodes, named, urls, asked };
}

const honest: Answers = {};
const call = { from: receiver, to: receiver, valueWei: 0n, data: "0x" };
const baseFee = (wei: bigint): Answers => ({
  eth_getBlockByNumber: { ...block, baseFeePerGas: quantity(wei) },
});
const tip = (wei: bigint): Answers => ({ eth_maxPriorityFeePerGas: quantity(wei) });
const gas = (units: bigint): Answers => ({ eth_estimateGas: quantity(units) });

describe("the base fee", () => {
  it.each([
    ["one wei", 1n],
    ["a thousandfold", 10_000n * gwei],
  ])("is not one node's of two: %s", async (_, wei) => {
    for (const lies of [
      [baseFee(wei), honest],
      [honest, baseFee(wei)],
    ]) {
      const { nodes, named } = await nodesThatSay(...lies);
      expect(await codeOf(nodes.fees())).toBe("NODE_DISAGREE");
      expect(named.sort()).toEqual(["0 base fee", "1 base fee"]);
      await codeOf(nodes.fees());
      expect(named, "named once").toHaveLength(2);
    }
  });

  it("is the higher of two that differ by a few blocks", async () => {
    const { nodes, named } = await nodesThatSay(baseFee(12n * gwei), honest);
    expect((await nodes.fees()).baseFeePerGas).toBe(12n * gwei);
    expect(named).toEqual([]);
  });

  it.each([1n, 10_000n * gwei])(
    "is that of two nodes of three, and the third is named (%s wei)",
    async (wei) => {
      for (const at of [0, 1, 2]) {
        const { nodes, named } = await nodesThatSay(
          ...[0, 1, 2].map((each) => (each === at ? baseFee(wei) : honest)),
        );
        expect((await nodes.fees()).baseFeePerGas).toBe(10n * gwei);
        expect(named).toEqual([`${at} base fee`]);
      }
    },
  );
});

describe("the tip", () => {
  it("is the lower of two, and the higher node is named", async () => {
    for (const lies of [
      [tip(440n * gwei), honest],
      [honest, tip(440n * gwei)],
    ]) {
      const { nodes, named } = await nodesThatSay(...lies);
      expect(await nodes.fees()).toEqual({
        ...{
          baseFeePerGas: 10n * gwei,
          maxPriorityFeePerGas: gwei,
          maxPriorityFeePerGasHigh: 440n * gwei,
        },
      });
      expect(named).toEqual([`${lies[0] === honest ? 1 : 0} tip`]);
    }
  });

  it("a tip that differs between honest nodes names no node", async () => {
    const { nodes, named } = await nodesThatSay(tip(2n * gwei), honest);
    expect(await nodes.fees()).toMatchObject({
      maxPriorityFeePerGas: gwei,
      maxPriorityFeePerGasHigh: 2n * gwei,
    });
    expect(named).toEqual([]);
  });

  it("of three nodes is the middle one", async () => {
    for (const lie of [0n, 440n * gwei]) {
      const { nodes } = await nodesThatSay(honest, tip(lie), honest);
      expect(await nodes.fees()).toMatchObject({
        maxPriorityFeePerGas: gwei,
        maxPriorityFeePerGasHigh: gwei,
      });
    }
  });
});

describe("gas", () => {
  it.each([21_000n, 5_000_000n])("is not one node's of two (%s)", async (units) => {
    const { nodes, named } = await nodesThatSay(gas(units), honest);
    expect(await codeOf(nodes.estimateGas(call))).toBe("NODE_DISAGREE");
    expect(named.sort()).toEqual(["0 gas estimate", "1 gas estimate"]);
  });

  it("the gas is the higher of two within reason, and with three nodes that of the two that agree", async () => {
    const near = await nodesThatSay(gas(40_000n), honest);
    expect(await near.nodes.estimateGas(call)).toEqual({ ok: true, gas: 52_000n });
    expect(near.named).toEqual([]);
    const three = await nodesThatSay(gas(21_000n), honest, honest);
    expect(await three.nodes.estimateGas(call)).toEqual({ ok: true, gas: 52_000n });
    expect(three.named).toEqual(["0 gas estimate"]);
  });

  it("the gas of a call is unknown if one node of two reports a revert; two such reports are a revert", async () => {
    const one = await nodesThatSay({ eth_estimateGas: failing }, honest);
    expect(await codeOf(one.nodes.estimateGas(call))).toBe("NODE_DISAGREE");
    const two = await nodesThatSay({ eth_estimateGas: failing }, { eth_estimateGas: failing });
    expect(await two.nodes.estimateGas(call)).toMatchObject({
      ok: false,
      code: "NODE_WOULD_REVERT",
    });
  });
});

describe("funds and code", () => {
  it("are what two nodes say alike", async () => {
    const { nodes } = await nodesThatSay(honest, honest);
    expect(await nodes.agreedBalance(receiver, "", 100)).toBe(5n);
    expect(await nodes.hasCode(receiver)).toBe(false);
    const poor = await nodesThatSay({ eth_getBalance: "0x0" }, honest);
    expect(await codeOf(poor.nodes.agreedBalance(receiver, "", 100))).toBe("NODE_DISAGREE");
    const coded = await nodesThatSay({ eth_getCode: "0x60" }, honest);
    expect(await codeOf(coded.nodes.hasCode(receiver))).toBe("NODE_DISAGREE");
    const both = await nodesThatSay({ eth_getCode: "0x60" }, { eth_getCode: "0x6001" });
    expect(await both.nodes.hasCode(receiver)).toBe(true);
  });
});

describe("a receipt", () => {
  it("that one node of two makes up, denies or moves is shown and no place", async () => {
    for (const lie of [
      null,
      { ...receipt, blockHash: hash("d") },
      { ...receipt, blockNumber: "0x1" },
    ]) {
      const { nodes } = await nodesThatSay({ eth_getTransactionReceipt: lie }, honest);
      expect(await nodes.shownReceipt(hash("c"))).toEqual({ receipt: null, isShown: true });
    }
  });

  it("is one that two nodes show alike, and none that none shows", async () => {
    const { nodes } = await nodesThatSay(honest, honest);
    expect((await nodes.shownReceipt(hash("c"))).receipt).toMatchObject({
      blockNumber: 100,
      blockHash: hash("a"),
    });
    const none = await nodesThatSay(
      { eth_getTransactionReceipt: null },
      { eth_getTransactionReceipt: null },
    );
    expect(await none.nodes.shownReceipt(hash("c"))).toEqual({ receipt: null, isShown: false });
    const alone = await nodesThatSay(honest);
    expect((await alone.nodes.shownReceipt(hash("c"))).receipt?.blockNumber).toBe(100);
  });

  it("that two nodes showed alike is not asked for again when its block is final", async () => {
    const { nodes, asked } = await nodesThatSay(honest, honest);
    await nodes.shownReceipt(hash("c"));
    expect(await nodes.finalReceipt(hash("c"))).toMatchObject({ blockNumber: 100, status: 1 });
    expect(asked("eth_getTransactionReceipt")).toBe(2);
  });

  it("is asked for again when they differed in anything, or its block is another by then", async () => {
    const apart = await nodesThatSay(honest, {
      eth_getTransactionReceipt: { ...receipt, status: "0x0" },
    });
    expect((await apart.nodes.shownReceipt(hash("c"))).receipt).toMatchObject({ blockNumber: 100 });
    expect(await codeOf(apart.nodes.finalReceipt(hash("c")))).toBe("NODE_DISAGREE");
    const lie: Record<string, unknown> = {};
    const { nodes } = await nodesThatSay(lie, lie);
    await nodes.shownReceipt(hash("c"));
    lie.eth_getTransactionReceipt = null;
    lie.eth_getBlockByNumber = { ...block, hash: hash("d"), baseFeePerGas: "0x1" };
    expect(await nodes.finalReceipt(hash("c"))).toBeNull();
  });
});

describe("the count that says what no block holds", () => {
  it("the pending count is the highest that any node says", async () => {
    const says = (count: string): Answers => ({ eth_getTransactionCount: count });
    const { nodes } = await nodesThatSay(says("0x5"), says("0x7"));
    expect(await nodes.usedNonces(receiver)).toBe(7n);
    const broken = await nodesThatSay(says("0x5"), says("seven"));
    expect(await codeOf(broken.nodes.usedNonces(receiver))).toBe("NODE_ANSWER");
  });
});
