/**
 * Transactions that cannot be read: each is named and costs no other, also where only one of the
 * nodes shows it oddly. A node that hides a transaction is no such case.
 */
import { describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import type { BlockFinds } from "../../chains/nodes.ts";
import { findAgreedAnswer } from "../../chains/providers/node-agreement.ts";
import { agreedFinds, collectFinds, joinFinds } from "../../chains/providers/unread.ts";

interface One {
  readonly txHash: string;
}
const odd = new AgentError("NODE_ANSWER", "none", "odd");
const shown = (found: readonly string[], unread: readonly string[] = []): BlockFinds<One> => ({
  found: found.map((txHash) => ({ txHash })),
  unread: unread.map((txHash) => ({ txHash, block: 7, account: "", fault: odd })),
});
const agreed = async (...nodes: readonly BlockFinds<One>[]): Promise<readonly unknown[]> => {
  const answered: BlockFinds<One>[] = [];
  const ask = async (one: BlockFinds<One>): Promise<BlockFinds<One>> => {
    answered.push(one);
    return one;
  };
  const keyOf = (found: readonly One[]): string => found.map(({ txHash }) => txHash).join();
  const { found, unread } = await agreedFinds(
    (key) => findAgreedAnswer(nodes, ask, key, "list"),
    () => answered,
    keyOf,
  );
  return [found.map(({ txHash }) => txHash), unread.map(({ txHash }) => txHash)];
};

describe("the finds of several nodes", () => {
  it.each<readonly [string, readonly BlockFinds<One>[], readonly unknown[]]>([
    ["alike", [shown(["a", "b"]), shown(["a", "b"])], [["a", "b"], []]],
    ["alike with one unread", [shown(["a"], ["b"]), shown(["a"], ["b"])], [["a"], ["b"]]],
    [
      "one node cannot read what the other reads",
      [shown(["a"], ["b"]), shown(["a", "b"])],
      [["a"], ["b"]],
    ],
    [
      "each cannot read another one",
      [shown(["c", "b"], ["a"]), shown(["c", "a"], ["b"])],
      [["c"], ["a", "b"]],
    ],
    [
      "two of three read all",
      [shown(["a"], ["b"]), shown(["a", "b"]), shown(["a", "b"])],
      [["a", "b"], []],
    ],
  ])("%s", async (_, nodes, expected) => {
    expect(await agreed(...nodes)).toEqual(expected);
  });

  it.each<readonly [string, readonly BlockFinds<One>[]]>([
    ["a node hides a transaction", [shown(["a", "b"]), shown(["a"])]],
    [
      "a node hides one beside one that it cannot read",
      [shown(["a", "c"], ["b"]), shown(["a"], ["b"])],
    ],
  ])("no agreement if %s", async (_, nodes) => {
    await expect(agreed(...nodes)).rejects.toMatchObject({ code: "NODE_DISAGREE" });
  });
});

describe("the finds of a reader", () => {
  const placeOf = (txHash: string) => ({ txHash, block: 7, account: "ours" });
  const reads =
    (fault: Error) =>
    (txHash: string): readonly One[] => {
      if (txHash === "b") throw fault;
      return [{ txHash }];
    };

  it("name what cannot be read, and hold all others", () => {
    const finds = collectFinds(["a", "b", "c"], reads(odd), placeOf);
    expect(finds).toEqual({
      found: [{ txHash: "a" }, { txHash: "c" }],
      unread: [{ ...placeOf("b"), fault: odd }],
    });
    expect(joinFinds([finds, finds]).unread).toHaveLength(1);
  });

  it.each([new AgentError("NODE_UNREACHABLE", "none", "away"), new TypeError("a bug")])(
    "end with any other error: %s",
    (error) => {
      expect(() => collectFinds(["a", "b", "c"], reads(error), placeOf)).toThrow(error);
    },
  );
});
