/**
 * Many questions to nodes with a quota smaller than one burst: each is answered in the end, and no
 * node is asked while it wants rest. A model of a node on a clock of its own, then a real server.
 */

import { describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { valuesIn } from "../../base/result.ts";
import { createWatcher } from "../../chains/evm/node-watcher.ts";
import { PacedWaves } from "../../chains/providers/paced-waves.ts";
import type { FakeAnswer } from "../../lab/kit/fake-node.ts";
import { closesItsNodes, fakeNode } from "../support/evm-nodes.ts";

closesItsNodes();

/** A node that answers so many questions in a second, and after one more none for `quietMs`. */
class LimitedNode {
  nowMs = 0;
  asked = 0;
  askedWhileQuiet = 0;
  readonly #perSecond: number;
  readonly #quietMs: number;
  #second = 0;
  #inSecond = 0;
  #quietUntil = 0;

  constructor(perSecond: number, quietMs = 0) {
    [this.#perSecond, this.#quietMs] = [perSecond, quietMs];
  }

  readonly pacing = {
    clock: () => this.nowMs,
    wait: async (ms: number) => {
      this.nowMs += ms;
    },
  };

  async answer(item: number): Promise<number> {
    this.asked += 1;
    const second = Math.floor(this.nowMs / 1_000);
    if (second !== this.#second) [this.#second, this.#inSecond] = [second, 0];
    if (this.nowMs < this.#quietUntil) {
      this.askedWhileQuiet += 1;
      throw this.#refusal();
    }
    this.#inSecond += 1;
    if (this.#inSecond <= this.#perSecond) return item * 2;
    // The questions of the same wave were under way already, so they do not count as asked in vain.
    queueMicrotask(() => {
      this.#quietUntil = Math.max(this.#quietUntil, this.nowMs + this.#quietMs);
    });
    throw this.#refusal();
  }

  #refusal(): AgentError {
    return new AgentError("NODE_QUOTA", "none", "too many", { quietMs: this.#quietMs });
  }
}

const items = Array.from({ length: 600 }, (_, index) => index);
const answers = items.map((item) => item * 2);

describe("paced waves", () => {
  it("end behind any quota, at no less than a third of it, and rest as long as a node asks", async () => {
    for (const [perSecond, quietMs] of [
      ...[
        [120, 0],
        [120, 5_000],
        [7, 0],
        [1, 0],
        [255, 1_000],
      ],
    ] as const) {
      const node = new LimitedNode(perSecond, quietMs);
      const few = items.slice(0, Math.min(items.length, perSecond * 60));
      const waves = new PacedWaves(256, node.pacing);
      expect(await waves.ask(few, (item) => node.answer(item)), `${perSecond}`).toEqual(
        few.map((item) => item * 2),
      );
      expect(node.nowMs, `${perSecond} a second`).toBeLessThan(
        (few.length / perSecond) * 3_000 + 12_000 + 4 * quietMs,
      );
      expect(node.askedWhileQuiet).toBe(0);
    }
  });

  it("wait for nothing where the quota is large, and use it again after a narrow time", async () => {
    const wide = new LimitedNode(1_000_000);
    const waves = new PacedWaves(256, wide.pacing);
    expect(await waves.ask(items, (item) => wide.answer(item))).toEqual(answers);
    expect([wide.nowMs, wide.asked]).toEqual([0, 600]);
    const narrow = new LimitedNode(120);
    const again = new PacedWaves(256, narrow.pacing);
    await again.ask(items, (item) => narrow.answer(item));
    const grown = new LimitedNode(1_000_000);
    grown.nowMs = narrow.nowMs;
    narrow.pacing.wait = grown.pacing.wait;
    for (let round = 0; round < 40; round += 1) {
      await again.ask(items, (item) => grown.answer(item));
      narrow.nowMs = grown.nowMs;
    }
    const beforeMs = grown.nowMs;
    await again.ask(items, (item) => grown.answer(item));
    expect(grown.nowMs - beforeMs).toBe(0);
  });

  it("pass on every other fault at once, and a refusal that never ends after two minutes", async () => {
    const down = new LimitedNode(1_000_000);
    const fault = new AgentError("NODE_TIMEOUT", "none", "no answer");
    const asked = new PacedWaves(256, down.pacing).ask(items, async (item) => {
      if (item === 3) throw fault;
      return down.answer(item);
    });
    await expect(asked).rejects.toBe(fault);
    expect(down.nowMs).toBe(0);
    const closed = new LimitedNode(0);
    const never = new PacedWaves(256, closed.pacing).ask([1], (item) => closed.answer(item));
    await expect(never).rejects.toMatchObject({ code: "NODE_QUOTA" });
    expect(closed.nowMs).toBeGreaterThan(110_000);
    expect(closed.nowMs).toBeLessThan(130_000);
  });
});

describe("paced waves that are closed", () => {
  it("end at once, in the middle of a rest of a minute", async () => {
    const waves = new PacedWaves(256);
    const quota = new AgentError("NODE_QUOTA", "none", "too many", { quietMs: 60_000 });
    let asked = 0;
    const ended = waves.ask([1], async () => {
      asked += 1;
      throw quota;
    });
    setTimeout(() => waves.close(), 20);
    await expect(ended).rejects.toMatchObject({ code: "NODE_CLOSED" });
    expect(asked).toBe(1);
    await expect(waves.ask([1], async () => 1)).rejects.toMatchObject({ code: "NODE_CLOSED" });
  });
});

describe("an EVM watcher whose node takes few questions a second", () => {
  it("reads more balances than it takes at once", async () => {
    let [second, inSecond] = [0, 0];
    const answer = ({ method }: { method: string }): FakeAnswer => {
      if (method === "eth_chainId") return { result: "0x7a69" };
      if (method === "eth_call") return { error: { code: -32601, message: "no such contract" } };
      const now = Math.floor(performance.now() / 1_000);
      if (now !== second) [second, inSecond] = [now, 0];
      inSecond += 1;
      if (inSecond > 60) return { error: { code: -32005, message: "rate limit exceeded" } };
      return { result: "0x5" };
    };
    const node = await fakeNode({ answer });
    const watcher = createWatcher(
      { nodes: [node.url], chainId: 31337, confirmations: 1 },
      () => undefined,
    );
    try {
      const accounts = Array.from(
        { length: 150 },
        (_, at) => `0x${(at + 1).toString(16).padStart(40, "0")}`,
      );
      const questions = accounts.map((account) => ({ account, contract: "" }));
      const told = valuesIn(await watcher.balances(questions, 3));
      expect(told).toEqual(accounts.map(() => 5n));
      expect(valuesIn(await watcher.wereUsed(accounts, 3))).toEqual(accounts.map(() => true));
    } finally {
      watcher.close();
    }
  });
});
