/**
 * One judgement of a chain's nodes: out, without quota, standing still, lagging, gone back.
 * Sources: shkeeper.io #197, movementlabsxyz/movement #1317, litentry/heima #807,
 * hyperlane-xyz/hyperlane-monorepo #2570 and #3226, 0xMiden/node #1506.
 */
import { describe, expect, it } from "vitest";
import { headLimitMs, healthOf, presetBlockMs } from "../../chains/health.ts";
import type { HeadView, NodeStatus } from "../../chains/nodes.ts";

const nowMs = Date.parse("2026-11-25T13:50:00.000Z");
const head = (number: number, ageMs: number, more: Partial<HeadView> = {}): HeadView => ({
  ...{ number, atMs: nowMs - ageMs, seenAgoMs: 0, stoodForMs: 0, highest: number, blockMs: null },
  ...more,
});
const up = (url: string, seen: HeadView | null): NodeStatus => ({
  ...{ url, ok: true, detail: "", outForMs: null, block: seen?.number ?? null, head: seen },
});
const out = (url: string, detail: string, outForMs = 170_000): NodeStatus => ({
  ...{ url, ok: false, detail, outForMs, block: null, head: null },
});
const judge = (...nodes: NodeStatus[]) => healthOf("local", 1_000, nodes, nowMs);

describe("the time after which a head is too old", () => {
  it("is ten block times of the preset, and at least 30 s", () => {
    expect(headLimitMs(presetBlockMs({ family: "evm", chainId: 1 }))).toBe(120_000);
    expect(headLimitMs(presetBlockMs({ family: "evm", chainId: 42_161 }))).toBe(30_000);
    expect(headLimitMs(presetBlockMs({ family: "tron", chainId: "0x2b6653dc" }))).toBe(30_000);
    expect(presetBlockMs({ family: "evm", chainId: 31_337 })).toBeNull();
  });

  it("is by the blocks that a chain without a preset has shown", () => {
    const seen = (blockMs: number | null) => healthOf("own", null, [up("http://a", head(9, 0, { blockMs }))], nowMs).limitMs;
    expect([seen(1_000), seen(5_000), seen(null), seen(3_600_000)]).toEqual([30_000, 50_000, 120_000, 600_000]);
  });
});

describe("a chain", () => {
  it("with nodes that do well, or were not asked yet, has nothing to say", () => {
    const well = judge(up("http://a", head(9, 29_000)), up("http://b", head(8, 30_000)), up("http://c", null));
    expect(well).toMatchObject({ code: "", words: "", headAgeMs: 29_000, nodes: [{ lagBlocks: 0 }, { lagBlocks: 1 }, {}] });
    expect(judge({ ...out("http://a", "not asked yet"), outForMs: null })).toMatchObject({ code: "", words: "" });
  });

  it("whose only node refuses is told in one sentence, with the node's own words", () => {
    const words = "no node of chain local can be used: http://a answers HTTP 429 (too many requests) since 13:47:10 UTC";
    expect(judge(out("http://a", "NODE_QUOTA: HTTP status 429 (too many requests)"))).toMatchObject({
      code: "NODE_QUOTA",
      words,
    });
    const full = judge(out("http://a", "NODE_HTTP: HTTP status 403 (forbidden): the key k is not valid"));
    expect(full.words).toBe(
      "no node of chain local can be used: http://a answers HTTP 403 (forbidden) since 13:47:10 UTC: the key k is not valid",
    );
    expect(full.plain).toBe("no node of chain local can be used: node 0 answers HTTP 403 (forbidden) since 13:47:10 UTC");
    expect(judge(out("http://a", "NODE_UNREACHABLE: ECONNREFUSED", 90_000_000)).words).toBe(
      "no node of chain local can be used: http://a cannot be reached since 2026-11-24 12:50:00 UTC: ECONNREFUSED",
    );
    expect(judge(out("http://a", "NODE_UNREACHABLE: ECONNREFUSED", 4_000))).toMatchObject({ code: "" });
  });

  it("that stands still is told by the age of its newest block", () => {
    const still = judge(up("http://a", head(655, 150_000)), up("http://b", head(655, 150_000)));
    expect(still.code).toBe("NODE_STALE");
    expect(still.words).toContain("http://a shows no new block for 150 s: its newest block is 655, of 13:47:30 UTC");
    expect(still.nodes.map(({ code }) => code)).toEqual(["NODE_STALE", "NODE_STALE"]);
    // This machine's clock may be behind the chain's: only the number counts then.
    expect(judge(up("http://a", head(655, -3_600_000, { stoodForMs: 31_000 }))).code).toBe("NODE_STALE");
    // A node that nobody asked has said nothing since.
    expect(judge(up("http://a", head(655, 150_000, { seenAgoMs: 140_000 }))).code).toBe("");
  });

  it("with one of two nodes far behind names that one, and cannot be used", () => {
    const one = judge(up("http://a", head(655, 500)), up("http://b", head(155, 500_500)));
    expect(one.nodes.map(({ code }) => code)).toEqual(["", "NODE_LAG"]);
    expect(one).toMatchObject({ code: "NODE_LAG", headAgeMs: 500 });
    expect(one.words).toBe(
      "only 1 of 2 nodes of chain local can be used, and 2 must say the same: http://b is 500 blocks behind: its newest block is 155, of 13:41:39 UTC",
    );
    const three = judge(up("http://a", head(655, 500)), up("http://b", head(155, 500_500)), up("http://c", head(655, 500)));
    expect(three).toMatchObject({ code: "", words: "" });
    expect(three.nodes.map(({ code }) => code)).toEqual(["", "NODE_LAG", ""]);
  });

  it("with a node that was rolled back says so", () => {
    const back = judge(up("http://a", head(195, 460_000, { highest: 655 })));
    expect(back.code).toBe("NODE_ROLLED_BACK");
    expect(back.words).toContain("http://a rolled back from block 655 to block 195 and shows no new block for 460 s");
    // Backends behind one name differ by some blocks.
    expect(judge(up("http://a", head(650, 0, { highest: 655 }))).code).toBe("");
  });
});
