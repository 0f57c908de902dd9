/**
 * The courier's status of its chains: the node that is out, and since when; and a chain with too
 * few nodes while the open questions still wait.
 */
import { describe, expect, it } from "vitest";
import { createChainAccess } from "../../agent/courier/nodes/chain.ts";
import type { KnownChain } from "../../agent/courier/run-state.ts";
import { statusOf } from "../../agent/courier/status.ts";
import type { NodeStatus, SenderNodes } from "../../chains/nodes.ts";

const nowMs = 1_795_211_100_000;
const good: NodeStatus = {
  url: "http://one",
  ok: true,
  detail: "",
  outForMs: null,
  block: 9,
  head: null,
  final: null,
  ranges: null,
};
const refused: NodeStatus = {
  url: "http://two",
  ok: false,
  detail: "NODE_QUOTA: HTTP status 429 (too many requests)",
  outForMs: 60_000,
  block: 8,
  head: null,
  final: null,
  ranges: null,
};
const known: KnownChain = {
  away: "",
  awayWords: "",
  block: 9,
  nativeBalance: "7",
  unread: [],
  feeMarket: null,
  balances: new Map(),
  unfit: new Map(),
  lost: "",
  unusable: "",
};

function saidOf(nodes: readonly NodeStatus[], change: Partial<KnownChain> = {}) {
  const access = createChainAccess({ status: () => nodes } as unknown as SenderNodes, () => 0);
  const options = {
    chainAccess: new Map([["tron", access]]),
    clock: () => nowMs,
    currencies: {},
    configDigest: "",
  };
  const metrics = { durableMedianUs: () => 0 };
  const state = {
    link: "up",
    linkDetail: "",
    chains: new Map([["tron", { ...known, ...change }]]),
    summary: null,
  };
  const shared = { options: { ...options, metrics }, state } as unknown as Parameters<
    typeof statusOf
  >[0];
  return statusOf(shared, []).chains[0];
}

describe("a chain in the courier's status", () => {
  it("a chain whose second of two providers refuses every question is not ok before a question fails", () => {
    const words = "answers HTTP 429 (too many requests) since 21:44:00 UTC";
    expect(saidOf([good, refused])).toMatchObject({
      ok: false,
      detail: `NODE_QUOTA: only 1 of 2 nodes of chain tron can be used, and 2 must say the same: http://two ${words}`,
      nodes: [
        { url: "http://one", ok: true, detail: "", since: 0 },
        { url: "http://two", ok: false, detail: `NODE_QUOTA: ${words}`, since: nowMs - 60_000 },
      ],
    });
    expect(saidOf([good, { ...refused, outForMs: 4_999 }])).toMatchObject({ ok: true });
  });

  it("a chain with two of three providers is ok, and names the third with the time since when it is out", () => {
    const third = { ...good, url: "http://three" };
    expect(saidOf([good, refused, third])).toMatchObject({
      ok: true,
      nodes: [{}, { since: nowMs - 60_000 }, {}],
    });
    expect(saidOf([good, good, third])).toMatchObject({ ok: true, detail: "block 9" });
  });

  it("a chain's fee market is in the status as long as the chain can be used", () => {
    const feeMarket = { baseFeePerGas: 1_000n, maxPriorityFeePerGas: 2n };
    expect(saidOf([good], { feeMarket })?.feeMarket).toEqual({
      baseFeePerGas: "1000",
      maxPriorityFeePerGas: "2",
    });
    expect(saidOf([good], { feeMarket, away: "NODE_TIMEOUT" })?.feeMarket).toBeUndefined();
  });

  it("a chain with a node that was not asked yet is ok, and that node is out since no time", () => {
    const fresh = { ...good, ok: false, detail: "not asked yet" };
    expect(saidOf([good, fresh])).toMatchObject({ ok: true, nodes: [{}, { ok: false, since: 0 }] });
  });

  it("a fault that a question met comes before the count of nodes", () => {
    expect(saidOf([good, refused], { away: "NODE_DISAGREE: prices" })?.detail).toMatch(
      /^NODE_DISAGREE: prices; /,
    );
    expect(saidOf([good, good], { away: "asking" })).toMatchObject({ ok: false, isAsking: true });
  });
});
