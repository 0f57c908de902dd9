/**
 * The database of tree 4d8fbe51, opened by this tree as a gateway opens it at a start, gives the
 * answers that 4d8fbe51 gave. lab/store-fixture/make.ts says how it was made.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { held, lacking, needed } from "../../lab/store-fixture/coverage.ts";
import { differences } from "../../lab/store-fixture/differences.ts";
import { type Fixture, fixtureName, unpackFixture } from "../../lab/store-fixture/opened.ts";
import { type Answers, askAll } from "../../lab/store-fixture/questions.ts";
import { goneCurrency } from "../../lab/store-fixture/setting.ts";

const folder = join(import.meta.dirname, "..", "store-fixture");

const read = (file: string): Answers =>
  new Map(
    Object.entries(
      JSON.parse(readFileSync(join(folder, file), "utf8")) as Record<string, readonly string[]>,
    ),
  );

const golden = read("answers.json");
const since = read("answers-since.json");
const isDifferent = (question: string): boolean =>
  differences.some(({ questions }) => question.startsWith(questions));

let fixture: Fixture;
let answers: Answers;

beforeAll(async () => {
  fixture = unpackFixture(folder);
  answers = await askAll(fixture);
});
afterAll(() => fixture.remove());

describe("the database of an earlier tree", () => {
  it("is the one whose hash was kept", () => {
    const [sha256, name] = readFileSync(join(folder, "SHA256SUMS"), "utf8").trim().split(/\s+/);
    expect({ sha256: fixture.sha256, name: `${fixtureName}.db` }).toEqual({ sha256, name });
  });

  it("gives every answer of that tree, byte for byte, but for the listed differences", () => {
    const now = [...answers].filter(([question]) => !isDifferent(question));
    const then = [...golden].filter(([question]) => !isDifferent(question));
    expect(now.map(([question]) => question)).toEqual(then.map(([question]) => question));
    const other = now.filter(
      ([question, lines]) => JSON.stringify(lines) !== JSON.stringify(golden.get(question)),
    );
    // Only the answers that differ, so that a failure shows them and not a thousand others.
    expect(Object.fromEntries(other)).toEqual(
      Object.fromEntries(other.map(([question]) => [question, golden.get(question)])),
    );
  });

  it("gives the kept new answer to each question that a difference names", () => {
    const now = [...answers].filter(([question]) => isDifferent(question));
    const changed = now.filter(
      ([question, lines]) => JSON.stringify(lines) !== JSON.stringify(golden.get(question)),
    );
    expect(Object.fromEntries(changed)).toEqual(Object.fromEntries(since));
    for (const { questions } of differences) {
      const isMet = changed.some(([question]) => question.startsWith(questions));
      expect({ questions, isMet }).toEqual({ questions, isMet: true });
    }
  });

  it("was asked at least 1,000 questions, 60 of them by find", () => {
    expect(golden.size).toBeGreaterThan(1_000);
    expect(
      [...golden.keys()].filter((question) => question.startsWith("$ gateway find ")).length,
    ).toBeGreaterThanOrEqual(60);
  });

  it("holds each kind, stage and state that the product knows, or a reason stands for it", () => {
    const there = held(answers, goneCurrency);
    expect(needed().filter((name) => !there.has(name))).toEqual(Object.keys(lacking));
    for (const reason of Object.values(lacking)) expect(reason.length).toBeGreaterThan(20);
  });
});
