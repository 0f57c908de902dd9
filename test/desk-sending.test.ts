/** The desk after a signature: what is sent, when it is sent again, and when a dearer version is asked for. */
import { describe, expect, it } from "vitest";
import { confirm, look, observedBody, refused, sent, whyOf } from "./support/desk-answers.ts";
import { asked, drive, hashOf, idOf, only, sentView, versionOf, viewOf } from "./support/desk-views.ts";

describe("sending", () => {
  it("sends released bytes at once, in order of nonce, and none that are not released", () => {
    const driver = drive([]);
    driver.block(10);
    const effects = driver.feed({
      kind: "views",
      withdrawals: [sentView(3, "released"), viewOf(4, "signed", { versions: [versionOf(1)] }), sentView(2, "released")],
    });
    expect(only(effects, "send").map((effect) => effect.withdrawal.sequence)).toEqual([2, 3]);
  });

  it("tells broadcast after any outcome but unsent, and tries an unsent one again", () => {
    const driver = drive([sentView(1, "released"), sentView(2, "released")]);
    sent(driver, 1, "sent");
    expect(asked(sent(driver, 2, "unsent"))).toEqual([]);
    expect(whyOf(driver, 2)).toBe("no node takes it");
    const later = driver.tick(500);
    expect(observedBody(later)).toEqual([
      { transactionId: idOf(1), stage: "broadcast", outcome: "", txHash: hashOf(1, 1), block: 0 },
    ]);
    expect(only(later, "send")).toHaveLength(0);
    expect(only(driver.tick(600), "send").map((effect) => effect.withdrawal.sequence)).toEqual([2]);
  });

  it("tells no stage that the next one overtakes at once", () => {
    const driver = drive([sentView(1, "released")]);
    driver.block(10, { finalNumber: 9 });
    expect(asked(sent(driver, 1))).toEqual([]);
    expect(asked(driver.tick(499))).toEqual([]);
    expect(asked(look(driver, 1, 9))).toEqual([]);
    expect(observedBody(confirm(driver, 1, "paid")).map(({ stage }) => stage)).toEqual(["final"]);
    const slower = drive([sentView(1, "released")]);
    slower.block(10, { finalNumber: 9 });
    look(slower, 1, 9);
    expect(observedBody(slower.tick(500)).map(({ stage }) => stage)).toEqual(["included"]);
  });

  it("never sends what independent code reads differently", () => {
    const driver = drive([sentView(1, "released")]);
    expect(only(sent(driver, 1, "misread"), "alarm")).toHaveLength(1);
    for (let i = 0; i < 20; i++) expect(only(driver.tick(30_000), "send")).toEqual([]);
    expect(whyOf(driver, 1)).toBe("COURIER_READ_BACK");
  });

  it("sends the same version again while no block has it, lowest nonces first", () => {
    const many = Array.from({ length: 20 }, (_, i) => sentView(i + 1, "broadcast"));
    const driver = drive(many);
    for (const view of many) sent(driver, view.sequence);
    expect(only(driver.tick(29_000), "send")).toEqual([]);
    const again = only(driver.tick(1000), "send");
    expect(again.map((effect) => effect.withdrawal.sequence)).toEqual(Array.from({ length: 16 }, (_, i) => i + 1));
    expect(again.every((effect) => effect.version === 1)).toBe(true);
  });

  it("looks at the chain at once when a node says that the nonce is used", () => {
    const driver = drive([sentView(1, "released")]);
    expect(only(sent(driver, 1, "nonce-consumed"), "look")).toHaveLength(1);
  });
});

describe("a dearer version", () => {
  const waited = (over = {}) => {
    const driver = drive([sentView(1, "broadcast"), sentView(2, "broadcast")]);
    driver.block(10, over);
    sent(driver, 1);
    sent(driver, 2);
    return driver;
  };

  it("is asked for the lowest nonce alone, after six blocks, an eighth dearer", () => {
    const driver = waited();
    expect(asked(driver.block(15))).toEqual([]);
    const [ask] = only(driver.block(16), "ask");
    expect(ask?.body).toEqual({
      transactionId: idOf(1),
      above: 1,
      facts: { gasLimit: "21000", maxFeePerGas: "23625000000", maxPriorityFeePerGas: "1125000000" },
    });
  });

  it("follows the market where that is higher", () => {
    const driver = waited();
    const [ask] = only(driver.block(16, { baseFeePerGas: 50_000_000_000n, maxPriorityFeePerGas: 3_000_000_000n }), "ask");
    expect(ask?.verb === "replace" && ask.body.facts).toEqual({
      gasLimit: "21000",
      maxFeePerGas: "103000000000",
      maxPriorityFeePerGas: "3000000000",
    });
  });

  it("comes after a minute on a slow chain, but never without a new block", () => {
    const driver = waited();
    expect(asked(driver.tick(61_000)).filter((ask) => ask.startsWith("replace"))).toEqual([]);
    expect(asked(driver.block(11))).toContain("replace:1");
  });

  it("counts blocks from the first one known after a start", () => {
    const driver = drive([sentView(1, "broadcast")]);
    sent(driver, 1);
    expect(asked(driver.block(1000))).not.toContain("replace:1");
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "broadcast") },
    });
    expect(asked(driver.block(1005))).toEqual([]);
    expect(asked(driver.block(1006))).toEqual(["replace:1"]);
  });

  const counted = (driver: ReturnType<typeof waited>, latest: bigint) =>
    driver.feed({
      kind: "counters",
      chain: "local",
      answer: { ok: true, latest, pending: latest, final: 0n, witnesses: 1, isSame: true },
    });

  it("is not asked for above a nonce that nobody here can send, until the chain's count comes to it", () => {
    const driver = waited();
    counted(driver, 0n);
    expect(asked(driver.block(16))).toEqual([]);
    expect(whyOf(driver, 1)).toBe("nonce 0 of the account comes first");
    // A count costs calls: not with each block.
    expect(only(driver.block(17), "counters")).toEqual([]);
    driver.tick(14_000);
    expect(only(driver.block(18), "counters")).toEqual([]);
    expect(only(driver.tick(1_000), "counters")).toHaveLength(1);
    counted(driver, 1n);
    expect(asked(driver.block(19))).toEqual(["replace:1"]);
  });

  it("is asked for above one of our own that is in a block, though nodes count it late", () => {
    const driver = waited();
    look(driver, 1, 12);
    counted(driver, 1n);
    expect(asked(driver.block(16))).toContain("replace:2");
  });

  it("is asked for a nonce that is used: it may be the very version that a ledger put back forgot", () => {
    const driver = waited();
    counted(driver, 2n);
    expect(asked(driver.block(16))).toEqual(["replace:1"]);
  });

  it("is asked for where the chain's count cannot be had", () => {
    const driver = waited();
    counted(driver, 0n);
    driver.feed({ kind: "counters", chain: "local", answer: { ok: false, code: "NODE_UNREACHABLE", effect: "none" } });
    expect(asked(driver.block(16))).toEqual(["replace:1"]);
  });

  it("waits for its ceiling block by block", () => {
    const driver = waited();
    driver.block(16);
    driver.feed(refused("replace", 1, "POLICY_FEE_ABOVE_DAY"));
    expect(whyOf(driver, 1)).toBe("fee POLICY_FEE_ABOVE_DAY");
    expect(asked(driver.block(17))).toEqual(["replace:1"]);
  });

  it("is sent once released, and both versions are looked for", () => {
    const driver = waited();
    driver.block(16);
    const effects = driver.feed({
      kind: "answered",
      verb: "replace",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: signedAgain() },
    });
    expect(only(effects, "send")).toEqual([]);
    const released = driver.feed({ kind: "views", withdrawals: [sentView(1, "broadcast", 2)] });
    expect(only(released, "send").map((effect) => effect.version)).toEqual([2]);
    expect(only(driver.block(17), "look")[0]?.wanted[0]?.txHashes).toEqual([hashOf(1, 1), hashOf(1, 2)]);
  });

  const signedAgain = () => {
    const view = sentView(1, "broadcast", 2);
    return {
      ...view,
      versions: view.versions.map(({ raw, ...rest }) => (rest.version === 1 ? { ...rest, raw: raw ?? "" } : rest)),
    };
  };
});
