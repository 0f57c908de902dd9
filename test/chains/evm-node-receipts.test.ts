/**
 * Many receipts of one node in few questions: one block's receipts in the place of each. A lone
 * receipt costs one question; a node without the method, or one that leaves receipts out, gives
 * the same receipts as before, and no receipt is taken for absent.
 */
import { describe, expect, it } from "vitest";
import type { FakeAnswer, FakeNode, RpcCall } from "../../lab/kit/fake-node.ts";
import { closesItsNodes, codeOf, fakeNode, nodesOf, receiver } from "../support/evm-nodes.ts";

closesItsNodes();

const hashOf = (number: number): string => `0x${number.toString(16).padStart(64, "0")}`;
const hashes = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, at) => hashOf(from + at));
const receiptOf = (txHash: string, block: number) => ({
  ...{
    transactionHash: txHash,
    blockNumber: `0x${block.toString(16)}`,
    blockHash: hashOf(0xb000 + block),
    status: "0x1",
  },
  ...{ from: receiver, to: receiver, gasUsed: "0x5208", effectiveGasPrice: "0x1", logs: [] },
});

/** Transactions 1 to 20 are in block 5, and 21 to 40 in block 6. */
const blockOf = (txHash: string): number | null => {
  const number = Number(BigInt(txHash));
  return number <= 20 ? 5 : number <= 40 ? 6 : null;
};
const inBlock = (block: number) => hashes(1, 41).filter((txHash) => blockOf(txHash) === block);

type Lie = (call: RpcCall, honest: FakeAnswer) => FakeAnswer;

async function node(lie: Lie = (_call, honest) => honest): Promise<FakeNode> {
  return fakeNode({
    answer: (call) => {
      const [asked] = call.params;
      if (call.method === "eth_chainId") return { result: "0x7a69" };
      if (call.method === "eth_getBlockReceipts") {
        const block = Number(BigInt(String(asked)));
        return lie(call, { result: inBlock(block).map((txHash) => receiptOf(txHash, block)) });
      }
      const block = blockOf(String(asked));
      return lie(call, { result: block === null ? null : receiptOf(String(asked), block) });
    },
  });
}

const counts = (one: FakeNode): string =>
  `${one.count("eth_getTransactionReceipt")} ${one.count("eth_getBlockReceipts")}`;
const blocks = async (nodes: ReturnType<typeof nodesOf>, wanted: readonly string[]) =>
  (await Promise.all(wanted.map((txHash) => nodes.receipt(txHash)))).map(
    (one) => one?.blockNumber ?? null,
  );

describe("receipts of many transactions", () => {
  it("cost two questions a block, and those of few one each", async () => {
    const one = await node();
    const nodes = nodesOf([one.url]);
    expect(await blocks(nodes, hashes(1, 41))).toEqual(hashes(1, 41).map(blockOf));
    expect(counts(one)).toBe("2 2");
    expect(await blocks(nodes, hashes(1, 2))).toEqual([5]);
    expect(counts(one)).toBe("3 2");
    expect(await blocks(nodes, hashes(1, 8))).toEqual(hashes(1, 8).map(blockOf));
    expect(counts(one)).toBe("10 2");
  });

  it("receipts of transactions in no block are asked for one by one", async () => {
    const one = await node();
    const nodes = nodesOf([one.url]);
    expect(await blocks(nodes, hashes(41, 61))).toEqual(hashes(41, 61).map(() => null));
    expect(counts(one)).toBe("20 0");
    expect(await blocks(nodes, [...hashes(1, 12), ...hashes(41, 43)])).toEqual([
      ...hashes(1, 12).map(() => 5),
      null,
      null,
    ]);
    expect(counts(one)).toBe("23 1");
  });

  const refusal: FakeAnswer = {
    error: { code: -32601, message: "the method eth_getBlockReceipts does not exist" },
  };
  it("a node without receipts of a block is asked for it once in ten minutes, and gives each receipt", async () => {
    let nowMs = 0;
    const one = await node(({ method }, honest) =>
      method === "eth_getBlockReceipts" ? refusal : honest,
    );
    const nodes = nodesOf([one.url], { clock: () => nowMs });
    expect(await blocks(nodes, hashes(1, 21))).toEqual(hashes(1, 21).map(blockOf));
    expect(await blocks(nodes, hashes(21, 41))).toEqual(hashes(21, 41).map(blockOf));
    expect(counts(one)).toBe("40 1");
    nowMs = 600_001;
    expect(await blocks(nodes, hashes(1, 21))).toEqual(hashes(1, 21).map(blockOf));
    expect(counts(one)).toBe("60 2");
  });

  const odd: readonly (readonly [
    string,
    (list: readonly ReturnType<typeof receiptOf>[]) => unknown,
    string,
  ])[] = [
    ["null", () => null, "20 1"],
    ["nothing", () => [], "20 1"],
    ["only a part", (list) => list.filter((_, at) => at < 15), "6 1"],
    [
      "receipts of another block",
      (list) => list.map((each) => ({ ...each, blockNumber: "0x7" })),
      "20 1",
    ],
    [
      "one receipt that cannot be read",
      (list) => list.map((each, at) => (at === 9 ? { ...each, status: "0x7" } : each)),
      "2 1",
    ],
    ["entries that are no receipts", (list) => [null, 5, {}, ...list], "1 1"],
  ];
  for (const [words, change, cost] of odd) {
    it(`a node that answers ${words} for a block is asked for the receipts that are left`, async () => {
      const one = await node(({ method }, honest) =>
        method === "eth_getBlockReceipts" && "result" in honest
          ? { result: change(honest.result as never) }
          : honest,
      );
      expect(await blocks(nodesOf([one.url]), hashes(1, 21))).toEqual(hashes(1, 21).map(() => 5));
      expect(counts(one)).toBe(cost);
    });
  }

  it("a receipt of one node of two is shown in a block's receipts, and is agreed only if both show it alike", async () => {
    const elsewhere: Lie = ({ method }, honest) =>
      method === "eth_getBlockReceipts" && "result" in honest
        ? {
            result: (honest.result as readonly object[]).map((each, at) =>
              at === 4 ? { ...each, blockHash: hashOf(7) } : each,
            ),
          }
        : honest;
    const [first, second] = [await node(), await node(elsewhere)];
    const nodes = nodesOf([first.url, second.url]);
    const shown = await Promise.all(hashes(1, 21).map((txHash) => nodes.shownReceipt(txHash)));
    expect(shown.map(({ receipt }) => receipt?.blockNumber ?? null)).toEqual(
      hashes(1, 21).map((_, at) => (at === 4 ? null : 5)),
    );
    expect(shown.every(({ isShown }) => isShown)).toBe(true);
    expect(counts(first)).toBe("1 1");
  });

  it("receipts that wait when the nodes are closed end with a fault", async () => {
    const one = await node();
    const nodes = nodesOf([one.url]);
    const asked = hashes(1, 21).map((txHash) => codeOf(nodes.receipt(txHash)));
    nodes.close();
    expect(new Set(await Promise.all(asked))).toEqual(new Set(["NODE_CLOSED"]));
  });
});
