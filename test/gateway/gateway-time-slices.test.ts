/**
 * Turns of the event loop: work goes in order, a few milliseconds in each turn, and long work
 * leaves room between its parts.
 */
import { describe, expect, it } from "vitest";
import { createTimeSlices } from "../../gateway/api/routes.ts";

/** A clock that only work moves. */
function world() {
  const at = { ms: 0 };
  const timeSlices = createTimeSlices(() => at.ms);
  const done: string[] = [];
  const work = (name: string, ms: number) => () => {
    at.ms += ms;
    done.push(name);
    return name;
  };
  const next = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { timeSlices, done, work, next };
}

describe("timeSlices", () => {
  it("turns of requests take as much short work as fits, in order, and leave the rest to the next", async () => {
    const { timeSlices, done, work, next } = world();
    const all = ["a", "b", "c", "d", "e"].map((name) => timeSlices.run(work(name, 2)));
    await next();
    expect(done).toEqual(["a", "b"]);
    await next();
    expect(done).toEqual(["a", "b", "c", "d"]);
    expect(await Promise.all(all)).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("turns of requests give what is longer than a turn one of its own", async () => {
    const { timeSlices, done, work, next } = world();
    for (const name of ["a", "b"]) void timeSlices.run(work(name, 50));
    await next();
    expect(done).toEqual(["a"]);
    await next();
    expect(done).toEqual(["a", "b"]);
  });

  it("turns of requests serve the others while a fault, or somebody who waits, is among them", async () => {
    const { timeSlices, work } = world();
    const fault = timeSlices.run(() => {
      throw new Error("no");
    });
    const waits = timeSlices.run(
      () => new Promise<string>((resolve) => setImmediate(resolve, "late")),
    );
    const other = timeSlices.run(work("other", 1));
    await expect(fault).rejects.toThrow("no");
    expect(await other).toBe("other");
    expect(await waits).toBe("late");
  });

  it("turns of requests let others in between the parts of two lists", async () => {
    const { timeSlices, done, work } = world();
    function* list(name: string) {
      for (let part = 1; part <= 3; part += 1) yield work(`${name}${part}`, 4)();
    }
    const read = async (name: string) => {
      const got: string[] = [];
      for await (const part of timeSlices.parts(list(name))) got.push(part);
      return got;
    };
    const both = Promise.all([read("x"), read("y")]);
    const short = timeSlices.run(work("short", 1));
    await short;
    expect(done.indexOf("short")).toBe(2);
    expect(await both).toEqual([
      ["x1", "x2", "x3"],
      ["y1", "y2", "y3"],
    ]);
  });

  it("turns of requests end the source of a list whose reader goes away", async () => {
    const { timeSlices } = world();
    let isEnded = false;
    function* endless() {
      try {
        for (;;) yield "part";
      } finally {
        isEnded = true;
      }
    }
    for await (const part of timeSlices.parts(endless())) {
      expect(part).toBe("part");
      break;
    }
    expect(isEnded).toBe(true);
  });
});
