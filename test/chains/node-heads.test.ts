/**
 * The heads of a node as its pool remembers them. Sources: hyperlane-xyz/hyperlane-monorepo #2570
 * and #3226 (a stuck node is asked first for days), litentry/heima #807.
 */
import { describe, expect, it } from "vitest";
import { NodeHeads } from "../../chains/providers/node-heads.ts";
import type { FakeAnswer } from "../../lab/kit/fake-node.ts";
import { closesItsNodes, fakeNode, nodesOf } from "../support/evm-nodes.ts";
import { until } from "../support/until.ts";

closesItsNodes();

describe("the heads of a node", () => {
  it("show how long the number stood while the node was asked, and the chain's pace", () => {
    const heads = new NodeHeads();
    expect(heads.view(0)).toBeNull();
    heads.saw(100, 1_000_000, 0);
    expect(heads.view(500)).toEqual({
      number: 100,
      atMs: 1_000_000,
      seenAgoMs: 500,
      stoodForMs: 0,
      highest: 100,
      blockMs: null,
    });
    heads.saw(104, 1_008_000, 8_000);
    heads.saw(104, 1_008_000, 20_000);
    expect(heads.view(60_000)).toMatchObject({
      number: 104,
      seenAgoMs: 40_000,
      stoodForMs: 12_000,
      blockMs: 2_000,
    });
  });

  it("keep the highest number of a node that was rolled back, and forget it after an hour", () => {
    const heads = new NodeHeads();
    heads.saw(655, 1_000_000, 0);
    heads.saw(195, 500_000, 1_000);
    expect(heads.view(1_000)).toMatchObject({ number: 195, highest: 655 });
    heads.saw(196, 501_000, 3_700_000);
    expect(heads.view(3_700_000)).toMatchObject({ number: 196, highest: 196 });
  });
});

describe("a pool of nodes", () => {
  const answering =
    (number: () => number) =>
    ({ method }: { method: string }): FakeAnswer => {
      const hash = `0x${number().toString(16).padStart(64, "0")}`;
      const head = {
        number: `0x${number().toString(16)}`,
        hash,
        timestamp: `0x${(1_000 + number()).toString(16)}`,
        baseFeePerGas: "0x7",
      };
      return { result: method === "eth_chainId" ? "0x7a69" : head };
    };

  it("asks every node for its head, and one that stands still after the others", async () => {
    let clock = 0;
    let number = 100;
    const stuck = await fakeNode({ answer: answering(() => 100) });
    const moving = await fakeNode({ answer: answering(() => number) });
    const nodes = nodesOf([stuck.url, moving.url], { clock: () => clock });
    expect((await nodes.head()).number).toBe(100);
    await until(() => nodes.status()[1]?.block === number);
    for (let at = 0; at < 8; at += 1) {
      clock += 6_000;
      number += 6;
      await nodes.head();
      await until(() => nodes.status()[1]?.block === number);
    }
    expect((await nodes.head()).number).toBe(number);
    await until(() => (nodes.status()[1]?.block ?? 0) >= number);
    expect(nodes.status()[0]?.head).toMatchObject({ number: 100 });
    expect(nodes.status()[0]?.head?.stoodForMs).toBeGreaterThanOrEqual(30_000);
  });
});
