/**
 * The watch of one chain with the timers held by the test: the questions that it asks while an
 * account is busy, and while it is idle.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ChainAccess } from "../../agent/courier/nodes/chain.ts";
import { type ChainPolling, startChainPolling } from "../../agent/courier/watch/watch.ts";
import { AgentError } from "../../base/fault.ts";
import { account, chainStateOf } from "../support/scheduler-views.ts";

const open = new Set<ChainPolling>();
beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  for (const watch of open) watch.close();
  open.clear();
  vi.useRealTimers();
});

/** A watch of a chain with a block every `blockMs`, and the number of each question so far. */
function watching(blockMs: number, isIdle: () => boolean, isShort = () => false) {
  const asked = { heads: 0, states: 0 };
  const told = { heads: 0, states: [] as number[], away: [] as string[] };
  const node = { isAway: false, lag: 0 };
  const beganMs = Date.now();
  const numberNow = (): number => 100 + Math.floor((Date.now() - beganMs) / blockMs);
  const reach = (): void => {
    if (node.isAway) throw new AgentError("NODE_TIMEOUT", "none", "late");
  };
  const access = {
    blockMs: null,
    nodes: {
      async tip() {
        asked.heads += 1;
        reach();
        return { number: numberNow(), hash: `${numberNow()}` };
      },
    },
    async chainState() {
      asked.states += 1;
      reach();
      return chainStateOf(numberNow() - node.lag);
    },
  };
  const watch = startChainPolling({
    access: access as unknown as ChainAccess,
    account,
    pollMsMin: 250,
    pollMsMax: 3000,
    clock: () => Date.now(),
    isIdle,
    isShort,
    onHead: () => {
      told.heads += 1;
    },
    onChainState: ({ number }) => told.states.push(number),
    onAway: (code) => told.away.push(code),
    onBug: (error) => {
      throw error;
    },
  });
  open.add(watch);
  /** The questions within the next milliseconds. */
  const within = async (ms: number) => {
    const before = { ...asked };
    await vi.advanceTimersByTimeAsync(ms);
    return { heads: asked.heads - before.heads, states: asked.states - before.states };
  };
  return { watch, told, node, within };
}

describe("the watch of a chain", () => {
  it("a watch of a busy account asks for four heads a block, and for the state at each block", async () => {
    const { within, told } = watching(1000, () => false);
    await within(10_000);
    const { heads, states } = await within(60_000);
    expect(states).toBe(60);
    expect(heads).toBeGreaterThanOrEqual(220);
    expect(told.states).toHaveLength(told.heads);
  });

  it("a watch of an idle account asks for one head a block, and for the state once a minute", async () => {
    const { within, told } = watching(1000, () => true);
    await within(10_000);
    expect(told.states).toEqual([100]);
    const { heads, states } = await within(120_000);
    expect(states).toBe(2);
    expect(heads).toBeLessThanOrEqual(120);
    expect(told.heads).toBeGreaterThan(110);
  });

  it("a watch of an idle account without enough funds reads the state every three seconds, until funds come", async () => {
    let isShort = true;
    const { within } = watching(
      1000,
      () => true,
      () => isShort,
    );
    await within(10_000);
    const { heads, states } = await within(60_000);
    expect(heads).toBeLessThanOrEqual(60);
    expect(states).toBeGreaterThanOrEqual(15);
    expect(states).toBeLessThanOrEqual(20);
    isShort = false;
    expect((await within(60_000)).states).toBe(1);
  });

  it("a watch of an idle account asks at most once a second, and every 12 seconds or twenty times a block", async () => {
    const fast = watching(250, () => true);
    await fast.within(10_000);
    expect((await fast.within(60_000)).heads).toBeLessThanOrEqual(61);
    const usual = watching(30_000, () => true);
    await usual.within(100_000);
    expect((await usual.within(600_000)).heads).toBeGreaterThanOrEqual(50);
    // Blocks of ten minutes: no sooner than each half minute, busy or idle.
    for (const isIdle of [true, false]) {
      const slow = watching(600_000, () => isIdle);
      await slow.within(1_300_000);
      expect((await slow.within(600_000)).heads).toBe(20);
    }
  });

  it("a woken watch reads the state at once, also at a head whose state it has passed on, and only once", async () => {
    const { watch, within, told } = watching(600_000, () => true);
    await within(5000);
    expect(told.states).toEqual([100]);
    const asking = within(1);
    watch.wake();
    expect(await asking).toEqual({ heads: 1, states: 1 });
    expect(told.states).toEqual([100, 100]);
    expect((await within(30_000)).states).toBe(0);
  });

  it("a watch that is woken while it asks reads the state after that", async () => {
    const { watch, within, told } = watching(600_000, () => true);
    watch.wake();
    await within(1);
    expect(told.states).toEqual([100, 100]);
  });

  it("a watch reads the state again that belongs to an earlier head than the newest", async () => {
    const { node, within, told } = watching(600_000, () => true);
    node.lag = 1;
    await within(1);
    node.lag = 0;
    await within(30_000);
    expect(told.states).toEqual([99, 100]);
  });

  it("a watch of an idle account tells once that its nodes are away, and reads the state at their first answer", async () => {
    const { node, within, told } = watching(1000, () => true);
    await within(5000);
    node.isAway = true;
    await within(5000);
    expect(told.away).toEqual(["NODE_TIMEOUT"]);
    node.isAway = false;
    await within(1000);
    expect(told.states).toHaveLength(2);
  });
});
