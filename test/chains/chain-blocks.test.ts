/**
 * Head, final block, agreed blocks and places: one rule for every family, over made-up nodes whose
 * questions are counted. Each node answers as the test says; no network.
 */
import { describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import type { BlockId } from "../../chains/nodes.ts";
import {
  agreedValueOrNull,
  createChainBlocks,
  quorumAnswerOf,
} from "../../chains/providers/chain-blocks.ts";
import { type Client, createNodePool, type PoolNode } from "../../chains/providers/node-pool.ts";

interface Made {
  head: number;
  final: number;
  fork?: string; // appended to its hashes
}

interface TimedId extends BlockId {
  readonly timestampMs: number;
}

const blockMs = 10_000;

function chainOf(nodes: readonly Made[], final: number | "own") {
  let nowMs = 1_000_000;
  const asked = { at: 0, time: 0 };
  const clients = nodes.map((_, index): Client => ({ origin: `http://${index}`, close: () => {} }));
  const pool = createNodePool<Client, string>({
    ...{
      clients,
      chain: "made",
      askChain: async () => "made",
      chainOf: (answer) => answer,
      log: () => {},
    },
    clock: () => nowMs,
  });
  const madeOf = (node: PoolNode<Client>): Made => nodes[pool.nodes.indexOf(node)] as Made;
  const idOn = (node: PoolNode<Client>, number: number): TimedId => {
    const hash = `${number}${madeOf(node).fork ?? ""}`;
    return { number, hash, timestampMs: number * blockMs };
  };
  const newest = (node: PoolNode<Client>): Promise<TimedId> =>
    pool.exchange(node, async () => {
      const head = idOn(node, madeOf(node).head);
      const parentHash = `${head.number - 1}${madeOf(node).fork ?? ""}`;
      pool.sawHead(node, head.number, head.timestampMs, { hash: head.hash, parentHash });
      return head;
    });
  const blocks = createChainBlocks<Client, TimedId, BlockId>(pool, {
    newest,
    at: async (node, number) => {
      asked.at += 1;
      if (number > madeOf(node).head) throw new AgentError("NODE_NO_BLOCK", "none", "not so far");
      const { hash } = idOn(node, number);
      return { number, hash };
    },
    final: final === "own" ? async (node) => idOn(node, madeOf(node).final) : final,
    timeOf: async ({ number }) => {
      asked.time += 1;
      return number * blockMs;
    },
    keyOf: ({ hash }) => hash,
  });
  const finals = () => pool.status().map((one) => [one.final?.number, one.final?.atMs]);
  return { pool, blocks, asked, finals, pass: (ms: number) => (nowMs += ms) };
}

describe("a final block", () => {
  it("that enough nodes show alike is agreed without another question, and each node's own is kept", async () => {
    const { blocks, asked, finals } = chainOf([made(100, 90), made(101, 90), made(99, 80)], "own");
    expect(await blocks.finalHead()).toMatchObject({ number: 90, hash: "90" });
    expect(asked.at).toBe(0);
    expect(finals()).toEqual([
      [90, 900_000],
      [90, 900_000],
      [80, 800_000],
    ]);
  });

  it("is the highest that enough nodes have reached, and one that runs ahead or lags has no effect", async () => {
    const { blocks, finals } = chainOf([made(100, 90), made(9_999, 9_000), made(100, 88)], "own");
    expect((await blocks.finalHead()).number).toBe(90);
    expect(finals()[1]).toEqual([90, 900_000]);
  });

  it("by depth has the time of one more question for each new block alone", async () => {
    const nodes = [made(100, 0), made(100, 0)];
    const { blocks, asked, finals } = chainOf(nodes, 3);
    for (let look = 0; look < 5; look += 1) expect((await blocks.finalHead()).number).toBe(98);
    expect([asked.time, finals()[0]]).toEqual([1, [98, 980_000]]);
    for (const node of nodes) node.head += 1;
    expect((await blocks.finalHead()).number).toBe(99);
    expect([asked.time, finals()[0]]).toEqual([2, [99, 990_000]]);
  });

  it("of two nodes on two branches is a disagreement", async () => {
    const { blocks } = chainOf([made(100, 90), { ...made(100, 90), fork: "b" }], "own");
    await expect(blocks.finalHead()).rejects.toMatchObject({ code: "NODE_DISAGREE" });
    await expect(blocks.agreedAt(50)).rejects.toMatchObject({ code: "NODE_DISAGREE" });
    // Each node's own word stands beside its name.
    await expect(blocks.agreedAt(50)).rejects.toThrow(
      "block 50: http://0 says 50, http://1 says 50b",
    );
  });

  it("whose number stands shows since when, by our own clock", async () => {
    const { blocks, pool, pass } = chainOf([made(100, 90), made(100, 90)], "own");
    await blocks.finalHead();
    pass(3_600_000);
    await blocks.finalHead();
    expect(pool.status().map(({ final }) => final?.stoodForMs)).toEqual([3_600_000, 3_600_000]);
  });
});

describe("the order in which nodes are asked", () => {
  it("at one height puts a block first whose parent another node has too", async () => {
    const nodes = [{ ...made(100, 0), fork: "b" }, made(100, 0), made(99, 0)];
    const { blocks, pool } = chainOf(nodes, 3);
    await blocks.head();
    await Promise.resolve();
    await pool.all(async () => null);
    expect((await blocks.head()).hash).toBe("100");
    // Without a branch, the first configured node is asked first.
    const whole = chainOf([made(100, 0), made(100, 0)], 3);
    await whole.blocks.head();
    expect(await whole.pool.first(async (node) => node.rpc.origin)).toBe("http://0");
  });
});

describe("an answer by quorum", () => {
  const told = (...values: (string | null)[]) =>
    values.map((value) => ({ ok: true, value }) as const);
  it("is agreed, shown alone, in two versions, or missing", () => {
    expect(quorumAnswerOf(told("a", "a", null), 2, String)).toEqual({
      agreed: "a",
      shown: "a",
      count: 2,
      versions: 1,
    });
    expect(quorumAnswerOf(told("a", null), 2, String)).toEqual({
      agreed: null,
      shown: "a",
      count: 1,
      versions: 1,
    });
    const two = quorumAnswerOf(told("a", "b"), 2, String);
    expect(two).toMatchObject({ agreed: null, versions: 2 });
    expect(() => agreedValueOrNull(two, 2, "place")).toThrow(
      expect.objectContaining({ code: "NODE_DISAGREE" }),
    );
    expect(agreedValueOrNull(quorumAnswerOf(told("a", null), 2, String), 2, "place")).toBeNull();
  });

  it("is the fault of a node where too few answered", () => {
    const error = new AgentError("NODE_TIMEOUT", "none", "late");
    expect(() => quorumAnswerOf([{ ok: false, error }, ...told("a")], 2, String)).toThrow(error);
  });
});

function made(head: number, final: number): Made {
  return { head, final };
}
