/** The price of a chain by what its nodes name, and the ways by which a node names it. */
import { describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { createAgreedFeeRates, FigureWays, middleOf } from "../../chains/providers/market.ts";
import type { SettledAnswer } from "../../chains/providers/node-pool.ts";

const named = (value: bigint | null): SettledAnswer<bigint | null> => ({ ok: true, value });
const failed: SettledAnswer<bigint | null> = {
  ok: false,
  error: new AgentError("NODE_TIMEOUT", "none", "no answer"),
};

function priced(withoutEstimate: bigint | null = null) {
  const at = { ms: 0 };
  const price = createAgreedFeeRates({ quorumMin: 2, clock: () => at.ms, withoutEstimate });
  return {
    at,
    of: (...settled: readonly SettledAnswer<bigint | null>[]) => price.figures(settled),
  };
}

const codeOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    if (error instanceof AgentError) return error.code;
    throw error;
  }
  return "";
};

describe("a price", () => {
  it("needs one good answer, and of several it has the middle", () => {
    const { of } = priced();
    expect(of(named(9n), failed)).toEqual([9n]);
    expect(of(named(9n), named(null))).toEqual([9n]);
    expect(middleOf(of(named(9n), named(4n)), "lower")).toBe(4n);
    expect(middleOf(of(named(9n), named(4n)), "higher")).toBe(9n);
    expect(middleOf(of(named(9n), named(4n), named(7n)), "lower")).toBe(7n);
  });

  it("by one node alone is at most three times the last agreed one of the hour", () => {
    const { at, of } = priced();
    expect(of(named(1_000n), failed)).toEqual([1_000n]);
    of(named(5n), named(4n));
    expect(of(named(1_000n), failed)).toEqual([15n]);
    expect(of(named(14n), failed)).toEqual([14n]);
    at.ms = 3_599_999;
    expect(of(named(1_000n), failed)).toEqual([15n]);
    at.ms = 3_600_000;
    expect(of(named(1_000n), failed)).toEqual([1_000n]);
  });

  it("of silence is the hour's last one, else the network's own for silence, else none", () => {
    const { at, of } = priced();
    expect(codeOf(() => of(named(null), named(null)))).toBe("NODE_NO_RATE");
    expect(codeOf(() => of(named(null), failed))).toBe("NODE_TIMEOUT");
    expect(codeOf(() => of())).toBe("NODE_NONE");
    of(named(5n), named(4n));
    expect(of(named(null), failed)).toEqual([4n, 5n]);
    at.ms = 3_600_000;
    expect(codeOf(() => of(named(null), named(null)))).toBe("NODE_NO_RATE");
    expect(priced(10n).of(named(null), named(null))).toEqual([10n]);
  });
});

describe("the ways of a node", () => {
  const node = {};
  const asked: string[] = [];
  const way =
    (name: string, answer: bigint | null | "lacking" | "away") =>
    async (): Promise<bigint | null> => {
      asked.push(name);
      if (answer === "lacking") throw new AgentError("NODE_HTTP", "none", "HTTP status 404");
      if (answer === "away") throw new AgentError("NODE_TIMEOUT", "none", "no answer");
      return answer;
    };
  const told = async (...answers: readonly (bigint | null | "lacking" | "away")[]) => {
    const ways = new FigureWays<object, undefined, bigint>(
      answers.map((answer, at) => way(`${at}`, answer)),
    );
    return ways;
  };

  it("are taken in order, past those that it lacks or that name nothing, and the one that works is remembered", async () => {
    const ways = await told("lacking", 7n);
    asked.length = 0;
    for (let time = 0; time < 66; time += 1) expect(await ways.ask(node, undefined)).toBe(7n);
    expect(asked.filter((one) => one === "0")).toHaveLength(2);
    expect(await (await told(null, 7n)).ask(node, undefined)).toBe(7n);
    expect(await (await told(5n, 7n)).ask(node, undefined)).toBe(5n);
  });

  it("end with nothing where a way names nothing, and with the usual way's fault where it has none", async () => {
    expect(await (await told(null, "lacking")).ask(node, undefined)).toBeNull();
    await expect((await told("lacking", "lacking")).ask(node, undefined)).rejects.toMatchObject({
      code: "NODE_HTTP",
    });
    await expect((await told("away", 7n)).ask(node, undefined)).rejects.toMatchObject({
      code: "NODE_TIMEOUT",
    });
    expect(await (await told("lacking", "away", 3n)).hasOther(node, undefined)).toBe(true);
    expect(await (await told(3n, "away")).hasOther(node, undefined)).toBe(false);
  });
});
