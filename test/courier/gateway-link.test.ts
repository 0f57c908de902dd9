/** The courier's reaction to an acknowledgement that the signer does not take. */
import { describe, expect, it } from "vitest";
import { createMetrics } from "../../agent/courier/metrics.ts";
import { forwardAcknowledgement, reconnectAfterClockSkew } from "../../agent/courier/run.ts";
import type { RunContext } from "../../agent/courier/run-state.ts";

/** A courier whose link stands, beside a signer that answers each acknowledgement with `code`. */
function standing(code: string) {
  const clock = { ms: 1_000 };
  const dropped: string[] = [];
  const shared = {
    options: {
      monotonic: () => clock.ms,
      metrics: createMetrics(() => clock.ms),
      log: { warn: () => {} },
    },
    signer: { request: async () => ({ ok: code === "", code, effect: "none", withdrawals: [] }) },
    feed: () => {},
    state: { link: "up", skewedAtMs: null, unreachable: "" },
  } as unknown as RunContext;
  const link = { drop: (why: string, detail: string) => dropped.push(`${why} ${detail}`) };
  const check = (ms: number): readonly string[] => {
    clock.ms = ms;
    reconnectAfterClockSkew(shared, link);
    return dropped;
  };
  return { take: () => forwardAcknowledgement(shared, link, Buffer.from("ack")), check, clock };
}

describe("an acknowledgement", () => {
  it("that the signer refuses for its clock begins the connection again after half a minute, once", async () => {
    const { take, check, clock } = standing("CLOCK_SKEW");
    await take();
    clock.ms = 20_000;
    await take();
    expect(check(30_999)).toEqual([]);
    expect(check(31_000)).toEqual(["LINK_RESUME CLOCK_SKEW"]);
    expect(check(90_000)).toHaveLength(1);
  });

  it("that the signer takes leaves the connection as it is", async () => {
    const { take, check } = standing("");
    await take();
    expect(check(90_000)).toEqual([]);
  });
});
