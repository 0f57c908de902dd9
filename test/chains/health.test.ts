/**
 * One judgement of a chain's nodes: out, without quota, standing still, lagging, gone back.
 * Sources: shkeeper.io #197, movementlabsxyz/movement #1317, litentry/heima #807,
 * hyperlane-xyz/hyperlane-monorepo #2570 and #3226, 0xMiden/node #1506.
 */
import { describe, expect, it } from "vitest";
import { finalMsOf, paceOf, paceUnknown, presetBlockMs } from "../../chains/final-times.ts";
import { headLimitMs, healthOf } from "../../chains/health.ts";
import type { HeadView, NodeStatus } from "../../chains/nodes.ts";

const nowMs = Date.parse("2026-11-25T13:50:00.000Z");
const head = (number: number, ageMs: number, more: Partial<HeadView> = {}): HeadView => ({
  ...{ number, atMs: nowMs - ageMs, seenAgoMs: 0, stoodForMs: 0, highest: number, blockMs: null },
  ...more,
});
const up = (url: string, seen: HeadView | null): NodeStatus => ({
  ...{
    url,
    ok: true,
    detail: "",
    outForMs: null,
    block: seen?.number ?? null,
    head: seen,
    final: null,
    ranges: null,
  },
});
const out = (url: string, detail: string, outForMs = 170_000): NodeStatus => ({
  ...{ url, ok: false, detail, outForMs, block: null, head: null, final: null, ranges: null },
});
const judge = (...nodes: NodeStatus[]) =>
  healthOf("local", { blockMs: 1_000, final: { ms: 60_000 } }, nodes, nowMs);

describe("the time after which a head is too old", () => {
  it("is ten block times of the preset, and at least 30 s", () => {
    expect(headLimitMs(presetBlockMs({ family: "evm", chainId: 1 }))).toBe(120_000);
    expect(headLimitMs(presetBlockMs({ family: "evm", chainId: 42_161 }))).toBe(30_000);
    expect(headLimitMs(presetBlockMs({ family: "tron", chainId: "0x2b6653dc" }))).toBe(30_000);
    expect(presetBlockMs({ family: "evm", chainId: 31_337 })).toBeNull();
  });

  it("is by the blocks that a chain without a preset has shown", () => {
    const seen = (blockMs: number | null) =>
      healthOf("own", paceUnknown, [up("http://a", head(9, 0, { blockMs }))], nowMs).limitMs;
    expect([seen(1_000), seen(5_000), seen(null), seen(3_600_000)]).toEqual([
      30_000, 50_000, 120_000, 600_000,
    ]);
  });
});

describe("a chain", () => {
  it("with nodes that do well, or were not asked yet, has nothing to say", () => {
    const well = judge(
      up("http://a", head(9, 29_000)),
      up("http://b", head(8, 30_000)),
      up("http://c", null),
    );
    expect(well).toMatchObject({
      code: "",
      words: "",
      headAgeMs: 29_000,
      nodes: [{ lagBlocks: 0 }, { lagBlocks: 1 }, {}],
    });
    expect(judge({ ...out("http://a", "not asked yet"), outForMs: null })).toMatchObject({
      code: "",
      words: "",
    });
  });

  it("whose only node refuses is told in one sentence, with the node's own words", () => {
    const words =
      "no node of chain local can be used: http://a answers HTTP 429 (too many requests) since 13:47:10 UTC";
    expect(judge(out("http://a", "NODE_QUOTA: HTTP status 429 (too many requests)"))).toMatchObject(
      {
        code: "NODE_QUOTA",
        words,
      },
    );
    const full = judge(
      out("http://a", "NODE_HTTP: HTTP status 403 (forbidden): the key k is not valid"),
    );
    expect(full.words).toBe(
      "no node of chain local can be used: http://a answers HTTP 403 (forbidden) since 13:47:10 UTC: the key k is not valid",
    );
    expect(full.plain).toBe(
      "no node of chain local can be used: node 0 answers HTTP 403 (forbidden) since 13:47:10 UTC",
    );
    expect(judge(out("http://a", "NODE_UNREACHABLE: ECONNREFUSED", 90_000_000)).words).toBe(
      "no node of chain local can be used: http://a cannot be reached since 2026-11-24 12:50:00 UTC: ECONNREFUSED",
    );
    expect(judge(out("http://a", "NODE_UNREACHABLE: ECONNREFUSED", 4_000))).toMatchObject({
      code: "",
    });
  });

  it("that stands still is told by the age of its newest block", () => {
    const still = judge(up("http://a", head(655, 150_000)), up("http://b", head(655, 150_000)));
    expect(still.code).toBe("NODE_STALE");
    expect(still.words).toContain(
      "http://a shows no new block for 150 s: its newest block is 655, of 13:47:30 UTC",
    );
    expect(still.nodes.map(({ code }) => code)).toEqual(["NODE_STALE", "NODE_STALE"]);
    // This machine's clock may be behind the chain's: only the number counts then.
    expect(judge(up("http://a", head(655, -3_600_000, { stoodForMs: 31_000 }))).code).toBe(
      "NODE_STALE",
    );
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
    const three = judge(
      up("http://a", head(655, 500)),
      up("http://b", head(155, 500_500)),
      up("http://c", head(655, 500)),
    );
    expect(three).toMatchObject({ code: "", words: "" });
    expect(three.nodes.map(({ code }) => code)).toEqual(["", "NODE_LAG", ""]);
  });

  it("with a node that was rolled back says so", () => {
    const back = judge(up("http://a", head(195, 460_000, { highest: 655 })));
    expect(back.code).toBe("NODE_ROLLED_BACK");
    expect(back.words).toContain(
      "http://a rolled back from block 655 to block 195 and shows no new block for 460 s",
    );
    // Backends behind one name differ by some blocks.
    expect(judge(up("http://a", head(650, 0, { highest: 655 }))).code).toBe("");
  });
});

describe("three ages of a chain", () => {
  const bitcoin = {
    family: "bitcoin",
    chainId: "000000000019d6689c085ae165831e93",
    confirmations: 3,
  } as const;
  const at = (
    final: HeadView | null,
    ranges: NodeStatus["ranges"] = null,
    url = "http://a",
  ): NodeStatus => ({
    ...up(url, head(655, 500)),
    final,
    ranges,
  });

  it("the usual time until a block is final is the preset's, or counts the configured blocks", () => {
    const usual = (chain: Parameters<typeof paceOf>[0]) =>
      finalMsOf(paceOf(chain).final, paceOf(chain).blockMs ?? 12_000);
    expect(usual({ family: "evm", chainId: 1, confirmations: "finalized" })).toBe(960_000);
    expect(usual({ family: "evm", chainId: 1, confirmations: 30 })).toBe(360_000);
    expect(usual({ family: "tron", chainId: "0x2b6653dc", confirmations: "finalized" })).toBe(
      90_000,
    );
    expect(usual({ family: "xrp", chainId: 0, confirmations: "finalized" })).toBe(5_000);
    expect([usual(bitcoin), usual({ ...bitcoin, confirmations: "finalized" })]).toEqual([
      1_800_000, 3_600_000,
    ]);
    expect(usual({ family: "evm", chainId: 31_337, confirmations: "finalized" })).toBe(1_200_000);
  });

  it("a final block that stands while the head goes on is told, and the chain can be used", () => {
    const old = head(394, 181_000);
    const still = judge(at(old), at(old, null, "http://b"));
    expect(still).toMatchObject({ code: "", finalAgeMs: 181_000, headAgeMs: 500 });
    const words =
      "the final block of local is 394, of 13:46:59 UTC, 181 s old, while new blocks come: confirmation takes longer";
    expect(still.delays).toEqual([{ code: "CHAIN_FINAL_STALE", words, plain: words }]);
    // Three times the usual minute is the limit.
    expect(judge(at(head(394, 180_000)), at(old, null, "http://b")).delays).toHaveLength(1);
    expect(judge(at(head(394, 180_000)), at(head(394, 180_000), null, "http://b")).delays).toEqual(
      [],
    );
    // The one that stands alone is named beside the other.
    const one = judge(at(head(600, 1_000)), at(old, null, "http://b"));
    expect(one.delays[0]?.words).toContain("(http://a 600, http://b 394)");
    // A number that does not rise counts, whatever its own time says.
    expect(
      judge(at(head(394, -9, { stoodForMs: 181_000 }))).delays.map(({ code }) => code),
    ).toEqual(["CHAIN_FINAL_STALE"]);
  });

  it("a final block of a chain that stands still altogether is told by its head", () => {
    const still = judge({ ...up("http://a", head(655, 400_000)), final: head(600, 460_000) });
    expect([still.code, still.delays]).toEqual(["NODE_STALE", []]);
  });

  it("ten blocks are allowed where final blocks come fast", () => {
    const xrp = paceOf({ family: "xrp", chainId: 0, confirmations: "finalized" });
    const delays = (ageMs: number) =>
      healthOf("xrp", xrp, [at(head(655, ageMs))], nowMs).delays.length;
    expect([delays(45_000), delays(45_001)]).toEqual([0, 1]);
    const btc = paceOf(bitcoin);
    const onBitcoin = (ageMs: number) =>
      healthOf("btc", btc, [at(head(653, ageMs))], nowMs).delays.length;
    expect([onBitcoin(7_800_000), onBitcoin(7_800_001)]).toEqual([0, 1]);
  });

  it("blocks that too few nodes keep are named, with the cure", () => {
    const seen = head(1_200, 500);
    const needs = (from: number | null, ...nodes: NodeStatus[]) =>
      healthOf("xrp", { blockMs: 4_000, final: { ms: 5_000 } }, nodes, nowMs, from).delays;
    const short = at(seen, [[1_141, 1_200]]);
    const whole = at(
      seen,
      [
        [32_570, 99_999_999],
        [1, 1_200],
      ],
      "http://b",
    );
    const [told] = needs(1_035, short, { ...short, url: "http://b" });
    expect(told?.code).toBe("NODE_HISTORY_SHORT");
    expect(told?.plain).toBe(
      "blocks 1035 to 1140 of xrp are still to be read, and no node keeps them: name a node with the full history",
    );
    expect(told?.words).toContain("(http://a keeps 1141 to 1200, http://b keeps 1141 to 1200)");
    expect(needs(1_035, short, whole)[0]?.plain).toContain("only 1 node keeps them");
    expect(needs(1_035, { ...whole, url: "http://a" }, whole)).toEqual([]);
    // A node that names no ledgers is taken to keep them, and what is read is not needed.
    expect(needs(1_035, at(seen), at(seen, null, "http://b"))).toEqual([]);
    expect(needs(1_201, short, short)).toEqual([]);
    expect(needs(null, short, short)).toEqual([]);
  });
});

describe("the order of heads", () => {
  it("is by height: a block's own time may be older than its parent's", () => {
    const nodes = [up("http://a", head(900_001, 40_000)), up("http://b", head(900_000, 1_000))];
    const { headAgeMs, nodes: judged } = judge(...nodes);
    expect(headAgeMs).toBe(40_000);
    expect(judged.map(({ lagBlocks }) => lagBlocks)).toEqual([0, 1]);
  });

  it("one of three that runs ahead makes none of the others late", () => {
    const ahead = judge(
      up("http://a", head(655, 500)),
      up("http://b", head(655, 500)),
      up("http://c", head(9_999_655, 0)),
    );
    expect(ahead.nodes.map(({ code }) => code)).toEqual(["", "", ""]);
  });
});
