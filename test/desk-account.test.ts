/** The desk and the account: where its nonces begin, and what the nodes count. */
import { describe, expect, it } from "vitest";
import { whyOf } from "./support/desk-answers.ts";
import { type Driver, drive, helloOf, only, sentView, viewOf } from "./support/desk-views.ts";

describe("the account", () => {
  const unadopted = { accounts: [{ chain: "local", network: "eip155:31337", address: "0x1", nextNonce: "" }] };
  const counters = (driver: Driver, latest: bigint, pending: bigint, final: bigint) =>
    driver.feed({ kind: "counters", chain: "local", answer: { ok: true, latest, pending, final, witnesses: 2 } });

  it("adopts the first nonce only when all three counters agree", () => {
    const driver = drive([viewOf(1, "approved")], unadopted);
    expect(only(counters(driver, 4n, 5n, 3n), "adopt")).toEqual([]);
    driver.block(10);
    expect(whyOf(driver, 1)).toBe("first nonce the account's counters differ: final 3, latest 4, pending 5");
    expect(only(driver.tick(5000), "counters")).toHaveLength(1);
    expect(only(counters(driver, 4n, 4n, 4n), "adopt")[0]?.body).toEqual({ chain: "local", nonce: "4", witnesses: 2 });
    const adopted = { chain: "local", network: "eip155:31337", address: "0x1", nextNonce: "4" };
    expect(only(driver.feed({ kind: "adopted", chain: "local", answer: { ok: true, account: adopted } }), "gas")).toHaveLength(1);
  });

  it("is asked about as soon as the gateway has greeted, and not before", () => {
    const driver = drive([], { ...unadopted, greeted: false });
    driver.block(10);
    expect(only(driver.tick(5000), "counters")).toEqual([]);
    const greeting = { kind: "hello", hello: helloOf([], unadopted), isFresh: false, askedAtMs: driver.nowMs } as const;
    expect(only(driver.feed(greeting), "counters")).toHaveLength(1);
  });

  it("begins elsewhere when nothing is under way and all counters say so; the signer knows whether it still may", () => {
    const driver = drive([]);
    expect(only(counters(driver, 9n, 9n, 8n), "adopt")).toEqual([]);
    expect(only(counters(driver, 7n, 7n, 7n), "adopt")).toEqual([]);
    expect(counters(driver, 9n, 9n, 9n).slice(0, 2)).toEqual([
      { kind: "adopt", body: { chain: "local", nonce: "9", witnesses: 2 } },
      { kind: "account", body: { chain: "local", nonce: "9", witnesses: 2 } },
    ]);
    const adopted = { chain: "local", network: "eip155:31337", address: "0x1", nextNonce: "9" };
    driver.feed({ kind: "adopted", chain: "local", answer: { ok: true, account: adopted } });
    expect(only(counters(driver, 9n, 9n, 9n), "adopt")).toEqual([]);
    const busy = drive([sentView(1, "broadcast")]);
    expect(only(counters(busy, 9n, 9n, 9n), "adopt")).toEqual([]);
  });

  it("takes a fault for no number, and asks again", () => {
    const driver = drive([], unadopted);
    const fault = { ok: false, code: "NODE_DISAGREE", effect: "none" } as const;
    expect(driver.feed({ kind: "counters", chain: "local", answer: fault })).toEqual([]);
    expect(only(driver.tick(5000), "counters")).toHaveLength(1);
  });

  it("gives the signer the final counter each minute", () => {
    const driver = drive([]);
    expect(only(counters(driver, 9n, 9n, 8n), "account")[0]?.body).toEqual({ chain: "local", nonce: "8", witnesses: 2 });
    expect(only(driver.tick(59_000), "counters")).toEqual([]);
    expect(only(driver.tick(1000), "counters")).toHaveLength(1);
  });
});
