/**
 * The turns of merchants: who comes next, how a pass is shared out, and that nobody waits for all
 * of another's things.
 */
import { describe, expect, it } from "vitest";
import { MerchantTurns } from "../../gateway/faults/turns.ts";

interface Thing {
  readonly id: string;
  readonly merchant: string;
  readonly questions: number;
}

const things = (merchant: string, count: number, questions = 1): Thing[] =>
  Array.from({ length: count }, (_, at) => ({ id: `${merchant}${at}`, merchant, questions }));
const ids = (taken: readonly Thing[]): string => taken.map(({ id }) => id).join(" ");

/** One pass of a list. */
function pass(turns: MerchantTurns, list: readonly Thing[], questionsMax: number): string {
  turns.beginPass();
  return ids(turns.deal(list, questionsMax, (one) => one));
}

describe("turns", () => {
  it("take one of each merchant at a time, and those first that were asked about longest ago", () => {
    const turns = new MerchantTurns();
    const list = [...things("a", 4), ...things("b", 1), ...things("c", 2)];
    expect(pass(turns, list, 3)).toBe("a0 b0 c0");
    expect(pass(turns, list, 3)).toBe("a1 b0 c1");
    expect(pass(turns, list, 3)).toBe("a2 b0 c0");
    expect(pass(turns, list, 9)).toBe("a3 b0 c1 a0 c0 a1 a2");
  });

  it("take the things of a merchant as they are listed, where they have no id", () => {
    const turns = new MerchantTurns();
    const deal = () =>
      ids(turns.deal(things("a", 3), 2, ({ merchant, questions }) => ({ merchant, questions })));
    expect([deal(), deal()]).toEqual(["a0 a1", "a0 a1"]);
  });

  it("count questions, not things", () => {
    const list = [...things("a", 9, 4), ...things("b", 9)];
    expect(pass(new MerchantTurns(), list, 12)).toBe("a0 b0 b1 b2 b3 a1");
    expect(pass(new MerchantTurns(), [...things("a", 9), ...things("b", 9)], 12)).toBe(
      "a0 b0 a1 b1 a2 b2 a3 b3 a4 b4 a5 b5",
    );
  });

  it("give a share that is not used to the others", () => {
    expect(pass(new MerchantTurns(), [...things("a", 9), ...things("b", 2)], 8)).toBe(
      "a0 b0 a1 b1 a2 a3 a4 a5",
    );
  });

  it("take one thing that costs more than a pass may, and then the others", () => {
    const turns = new MerchantTurns();
    const list = [...things("a", 1, 50), ...things("b", 2)];
    expect(pass(turns, list, 10)).toBe("a0");
    expect(pass(turns, list, 10)).toBe("b0 b1");
    expect(pass(turns, list, 10)).toBe("a0");
  });

  it("are shared by all lists of a pass", () => {
    const turns = new MerchantTurns();
    turns.beginPass();
    expect(ids(turns.deal(things("a", 4), 3, (one) => one))).toBe("a0 a1 a2");
    expect(ids(turns.deal([...things("a", 9), ...things("b", 4)], 4, (one) => one))).toBe(
      "b0 b1 b2 a3",
    );
    expect(pass(turns, [...things("a", 9), ...things("b", 4)], 2)).toBe("b3 a4");
  });

  it("reach each of a thousand merchants before one of them twice", () => {
    const turns = new MerchantTurns();
    const list = Array.from({ length: 1_000 }, (_, at) => things(`shop ${at} `, 3)).flat();
    const asked = Array.from({ length: 10 }, () => {
      turns.beginPass();
      return turns.deal(list, 100, (one) => one).map(({ merchant }) => merchant);
    }).flat();
    expect(new Set(asked).size).toBe(1_000);
  });

  it("name the next merchant alone", () => {
    const turns = new MerchantTurns();
    expect(turns.next([])).toBeNull();
    turns.count("a", 2);
    turns.count("b", 1);
    expect([turns.next(["a", "b"]), turns.next(["a"]), turns.next(["a", "b", "c"])]).toEqual([
      "b",
      "a",
      "c",
    ]);
    turns.beginPass();
    expect(turns.next(["b", "a"])).toBe("a");
  });

  it("forget things that are gone", () => {
    const turns = new MerchantTurns();
    const list = things("a", 2);
    pass(turns, list, 1);
    expect(pass(turns, list, 1)).toBe("a1");
    turns.keep(new Set(["a1"]));
    expect(pass(turns, list, 1)).toBe("a0");
  });
});
