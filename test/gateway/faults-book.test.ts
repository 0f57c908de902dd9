/**
 * The book of faults: whose a fault is, when its item is asked for again, when it is the parent's,
 * and how many are kept. Each rule has a twin that differs in one thing.
 */
import { beforeEach, describe, expect, it } from "vitest";
import type { Code } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import { failedResult, goodResult, type Result } from "../../base/result.ts";
import { FaultBook } from "../../gateway/faults/book.ts";
import { type FaultDomain, faultDomains } from "../../gateway/faults/domains.ts";
import {
  currencyItemId,
  type FaultKey,
  keyText,
  parentFaultKeyOf,
} from "../../gateway/faults/fault.ts";

const network = "eip155:1";
let nowMs = 1_000_000;
let book: FaultBook;
beforeEach(() => {
  nowMs = 1_000_000;
  book = new FaultBook(() => nowMs);
});

const fault = (code: Code, message = "no") => failedResult(new AgentError(code, "none", message));
const refused = fault("NODE_ERROR", "execution reverted");
const key = (domain: FaultDomain, id: string, merchant = ""): FaultKey => ({
  domain,
  network,
  id,
  merchant,
});
const address = (name: string, merchant = "shop-a", currency = "usdt"): FaultKey =>
  key("address", currencyItemId(name, currency), merchant);
const usdt = key("currency", "usdt");

/** One pass over these items. */
function pass(
  items: readonly (readonly [FaultKey, Result<unknown>, boolean?])[],
  controls: readonly (readonly [FaultKey, Result<unknown>])[] = [],
): void {
  book.beginPass();
  for (const [item, answer, isWaited] of items) book.settle(item, answer, isWaited);
  book.endPass(new Map(controls.map(([parent, answer]) => [keyText(parent), answer])));
}

const shown = () => book.list().map(({ domain, id, code }) => `${domain} ${id} ${code}`);

describe("the fault of one item", () => {
  it("stands with its code, its words and its merchant, and an answer clears it", () => {
    pass([
      [
        address("a"),
        failedResult(new AgentError("NODE_ERROR", "none", "reverted", { node: "https://n" })),
      ],
    ]);
    expect(book.list()).toEqual([
      {
        ...{
          domain: "address",
          network,
          id: "a usdt",
          merchant: "shop-a",
          code: "NODE_ERROR",
          plain: "NODE_ERROR",
        },
        ...{ words: "https://n: reverted", sinceMs: nowMs, tries: 1, retryAtMs: nowMs, count: 1 },
      },
    ]);
    expect(book.settle(address("a"), goodResult(7n))).toBe(7n);
    expect(book.list()).toEqual([]);
  });

  it("has begun now at the latest, where it was noted while this machine's clock was a day ahead", () => {
    const day = 86_400_000;
    pass([[address("a"), refused]]);
    const since = nowMs;
    nowMs += day;
    pass([
      [address("a"), refused],
      [address("b"), refused],
    ]);
    nowMs -= day - 60_000;
    const sinceOf = () => book.list().map(({ id, sinceMs }) => `${id} ${sinceMs}`);
    expect(sinceOf()).toEqual([`a usdt ${since}`, `b usdt ${since + day}`]);
    pass([[address("b"), refused]]);
    expect(sinceOf()).toEqual([`a usdt ${since}`, `b usdt ${nowMs}`]);
    book.restore([{ ...book.list()[0]!, sinceMs: nowMs + day }]);
    expect(sinceOf()[0]).toBe(`a usdt ${nowMs}`);
  });

  it("rests no longer than it may, where it was noted while this machine's clock was a day ahead", () => {
    const day = 26 * 3_600_000;
    for (const ahead of [0, day]) {
      nowMs = 1_000_000 + ahead;
      book = new FaultBook(() => nowMs);
      for (let tries = 0; tries < 3; tries += 1) pass([[address("a"), refused]]);
      expect(book.isDue(address("a"))).toBe(false);
      nowMs -= ahead;
      expect(book.isDue(address("a"))).toBe(ahead === day);
    }
  });

  it("costs no other item", () => {
    pass([
      [address("a"), refused],
      [address("b"), goodResult(1n)],
      [address("c"), goodResult(1n)],
    ]);
    expect([book.isDue(address("b")), book.standingOver(address("b"))]).toEqual([true, null]);
    expect(book.standingOver(address("a"))?.code).toBe("NODE_ERROR");
  });

  it("is asked for again at once, then after 15 s, then ever later, up to the table's most", () => {
    const rests: number[] = [];
    for (let tries = 0; tries < 12; tries += 1) {
      pass([
        [address("a"), refused],
        [address("b"), goodResult(1)],
      ]);
      const { retryAtMs, sinceMs } = book.standing(address("a"))!;
      expect(sinceMs).toBe(1_000_000);
      rests.push((retryAtMs - nowMs) / 1000);
      expect(book.isDue(address("a"))).toBe(retryAtMs === nowMs);
      nowMs = retryAtMs;
      expect(book.isDue(address("a"))).toBe(true);
    }
    expect(rests).toEqual([0, 15, 30, 60, 120, 240, 480, 900, 900, 900, 900, 900]);
    expect(faultDomains.address.restMaxMs).toBe(900_000);
  });

  it("rests a minute at most while a person waits for it", () => {
    for (let tries = 0; tries < 9; tries += 1)
      pass([
        [address("a"), refused, true],
        [address("b"), goodResult(1)],
      ]);
    expect(book.standing(address("a"))!.retryAtMs - nowMs).toBe(60_000);
  });

  it("is asked for in the next pass after `retry`; an item without a fault is none to try", () => {
    for (let tries = 0; tries < 5; tries += 1)
      pass([
        [address("a"), refused],
        [address("b"), goodResult(1)],
      ]);
    expect([book.isDue(address("a")), book.retry(address("a")), book.isDue(address("a"))]).toEqual([
      false,
      true,
      true,
    ]);
    expect(book.retry(address("b"))).toBe(false);
  });
});

describe("blame", () => {
  it.each([
    "NODE_ERROR",
    "NODE_ANSWER",
    "NODE_ANSWER_SIZE",
    "NODE_PRUNED",
    "NODE_DISAGREE",
  ] as const)("%s is the item's", (code) => {
    pass([
      [address("a"), fault(code)],
      [address("b"), goodResult(1)],
    ]);
    expect(shown()).toEqual([`address a usdt ${code}`]);
  });

  it.each([
    "NODE_UNREACHABLE",
    "NODE_TIMEOUT",
    "NODE_QUOTA",
    "NODE_WRONG_CHAIN",
    "NODE_NONE",
    "NODE_NO_BLOCK",
  ] as const)("%s is not", (code) => {
    pass([
      [address("a"), fault(code)],
      [address("b"), goodResult(1)],
    ]);
    expect(shown()).toEqual([]);
    expect(book.isDue(address("a"))).toBe(true);
  });

  it("HTTP 404 for one question is the item's, 502 is the server's", () => {
    pass([
      [address("a"), fault("NODE_HTTP", "HTTP status 404 (not found)")],
      [address("b"), goodResult(1)],
    ]);
    pass([
      [address("c"), fault("NODE_HTTP", "HTTP status 502")],
      [address("b"), goodResult(1)],
    ]);
    expect(shown()).toEqual(["address a usdt NODE_HTTP"]);
  });

  const alone: readonly (readonly [FaultKey, Result<unknown>])[] = [
    [address("a"), fault("NODE_TIMEOUT")],
  ];

  it("a server that dies of one question: the third pass blames the item, if the control question is answered", () => {
    for (let passes = 0; passes < 2; passes += 1) pass(alone, [[usdt, goodResult(0n)]]);
    expect(shown()).toEqual([]);
    pass(alone, [[usdt, goodResult(0n)]]);
    expect(shown()).toEqual(["address a usdt NODE_TIMEOUT"]);
  });

  it("and never while the control question is not answered", () => {
    for (let passes = 0; passes < 5; passes += 1) pass(alone, [[usdt, fault("NODE_TIMEOUT")]]);
    expect(shown()).toEqual([]);
    for (let passes = 0; passes < 2; passes += 1) pass(alone, [[usdt, goodResult(0n)]]);
    expect(shown()).toEqual([]);
  });
});

describe("a rise", () => {
  const three = ["a", "b", "c"].map((name) => [address(name), refused] as const);

  it("three of three alike are one fault of the currency, and the items keep their counters", () => {
    pass([
      [address("a"), refused],
      [address("x"), goodResult(1)],
      [address("y"), goodResult(1)],
    ]);
    const before = book.standing(address("a"));
    pass(three);
    expect(shown()).toEqual(["address a usdt NODE_ERROR", "currency usdt NODE_ERROR"]);
    expect(book.standing(address("a"))).toEqual(before);
    expect(book.isDue(address("z"))).toBe(false);
    expect(book.standingOver(address("z"))?.domain).toBe("currency");
    expect(book.standingOver(address("z", "shop-b", "eth"))).toBeNull();
  });

  it("three of three alike are the items' if the currency answers for nobody's account", () => {
    pass(three, [[usdt, goodResult(0n)]]);
    expect(book.standing(usdt)).toBeNull();
    expect(book.list({ domain: "address" })).toHaveLength(3);
  });

  it("two of two are the items'; so are three of seven, and three with three codes", () => {
    pass(three.slice(0, 2));
    expect(shown()).toHaveLength(2);
    book = new FaultBook(() => nowMs);
    pass([
      ...three,
      ...["d", "e", "f", "g"].map((name) => [address(name), goodResult(1)] as const),
    ]);
    expect(shown()).toHaveLength(3);
    book = new FaultBook(() => nowMs);
    pass([
      [address("a"), refused],
      [address("b"), fault("NODE_ANSWER")],
      [address("c"), fault("NODE_PRUNED")],
    ]);
    expect(shown()).toHaveLength(3);
  });

  it("one of one is the currency's if nobody's balance is refused too, and the item's if it is told", () => {
    pass([[address("a"), refused]], [[usdt, refused]]);
    expect(shown()).toEqual(["currency usdt NODE_ERROR"]);
    book = new FaultBook(() => nowMs);
    pass([[address("a"), refused]], [[usdt, goodResult(0n)]]);
    expect(shown()).toEqual(["address a usdt NODE_ERROR"]);
    book = new FaultBook(() => nowMs);
    pass([[address("a"), refused]], [[usdt, fault("NODE_TIMEOUT")]]);
    expect(shown()).toEqual(["address a usdt NODE_ERROR"]);
  });

  it("names the parents that a control question must judge", () => {
    book.beginPass();
    book.settle(address("a"), refused);
    book.settle(address("b", "shop-b", "eth"), goodResult(1));
    expect(book.doubts()).toEqual([usdt]);
    expect(parentFaultKeyOf(key("transaction", "7 0x1"))).toBeNull();
  });

  it("three currencies of three are the chain's; the end of a rise is an answer", () => {
    const items = ["usdt", "usdc", "dai"].flatMap((currency) =>
      ["a", "b", "c"].map((name) => [address(name, "shop-a", currency), refused] as const),
    );
    pass(items);
    expect(shown()).toEqual(["head currency NODE_ERROR"]);
    pass(items.map(([item]) => [item, goodResult(1)] as const));
    expect(shown()).toEqual([]);
  });

  it("two currencies are theirs", () => {
    pass(
      ["usdt", "usdc"].flatMap((one) =>
        ["a", "b", "c"].map((name) => [address(name, "s", one), refused] as const),
      ),
    );
    expect(shown()).toEqual(["currency usdc NODE_ERROR", "currency usdt NODE_ERROR"]);
  });
});

describe("what is kept", () => {
  it("4,096 items, and beyond them one sum for each domain, merchant and code", () => {
    book.beginPass();
    for (let at = 0; at < 4_100; at += 1)
      book.settle(key("withdrawal", `${at}`, "shop-a"), refused);
    const all = book.list();
    expect(all).toHaveLength(4_097);
    expect(all.filter(({ id }) => id === "")).toMatchObject([
      { domain: "withdrawal", merchant: "shop-a", count: 4 },
    ]);
    book.settle(key("withdrawal", "4099", "shop-a"), goodResult(1));
    expect(book.list().find(({ id }) => id === "")?.count).toBe(3);
  });

  it("an item that is gone is forgotten, and one that nobody asked for in two days", () => {
    pass([
      [key("withdrawal", "1"), refused],
      [key("withdrawal", "2"), refused],
      [address("a"), refused],
    ]);
    book.keepOnly("withdrawal", (id) => id === "2");
    expect(shown()).toEqual(["address a usdt NODE_ERROR", "withdrawal 2 NODE_ERROR"]);
    nowMs += 2 * 86_400_000 + 1;
    pass([]);
    expect(shown()).toEqual([]);
  });

  it("an earlier run's faults keep their age and are asked for at once", () => {
    for (let tries = 0; tries < 4; tries += 1)
      pass([
        [address("a"), refused],
        [address("b"), goodResult(1)],
      ]);
    const kept = book.list();
    nowMs += 1_000;
    book = new FaultBook(() => nowMs);
    book.restore(kept);
    expect(book.list()).toEqual(kept.map((one) => ({ ...one, retryAtMs: nowMs })));
    expect(book.isDue(address("a"))).toBe(true);
  });
});
