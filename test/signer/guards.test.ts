/**
 * Tables of guards: their order is their meaning, so the rows stand here a second time. The rows
 * that no whole story ends at are tried alone.
 */
import { describe, expect, it } from "vitest";
import { approveGuards } from "../../agent/signer/acts/approve.ts";
import { observeGuards } from "../../agent/signer/acts/observe.ts";
import { replaceGuards } from "../../agent/signer/acts/replace.ts";
import { firstOf, type Guard } from "../../base/guard.ts";
import { signedGuards } from "../../gateway/hub/effect.ts";

const namesOf = (guards: readonly (readonly [string, ...unknown[]])[]): readonly string[] => guards.map(([name]) => name);

/** The row that a case ends at, and the code of its answer. */
function endOf<Case, Answer extends object>(guards: readonly Guard<Case, Answer>[], given: object): readonly [string, unknown] {
  const [name] = guards.find(([, holds]) => holds(given as Case)) ?? ["none"];
  const answer = firstOf(guards, given as Case);
  return [name, answer !== null && "code" in answer ? answer.code : ""];
}

describe("tables of guards", () => {
  it("the first row that holds decides, and none decides nothing", () => {
    const guards: readonly Guard<number, string>[] = [
      ["even", (n) => n % 2 === 0, (n) => `${n} is even`],
      ["small", (n) => n < 10, (n) => `${n} is small`],
    ];
    expect([4, 5, 11].map((n) => firstOf(guards, n))).toEqual(["4 is even", "5 is small", null]);
  });

  it("an observation is refused or repeated by these rows, in this order", () => {
    expect(namesOf(observeGuards)).toEqual([
      "a version is dead",
      "witnesses of something else",
      "an outcome without an end, or an end without one",
      "taken by another transaction, where none can",
      "the same end again",
      "after the end",
      "before a release",
      "a foreign transaction",
      "a payment cancelled, or a cancel paid",
      "the same stage again",
      "too many observations",
    ]);
  });

  it("a yes is refused or repeated by these rows, in this order", () => {
    expect(namesOf(approveGuards)).toEqual([
      "the same yes again",
      "not held",
      "cancelled",
      "contested",
      "another view",
      "another destination",
      "no destination",
    ]);
  });

  it("a replacement is answered without another version by these rows, in this order", () => {
    expect(namesOf(replaceGuards)).toEqual([
      "held",
      "signed",
      "over",
      "paused",
      "cancelled since",
      "recorded too early",
      "recorded",
      "not the newest",
      "not released",
      "in a block",
      "last version",
      "excluded by expiry",
      "an operator's",
      "too soon",
    ]);
  });

  it("a signed entry contradicts the database by these rows, in this order", () => {
    expect(namesOf(signedGuards)).toEqual([
      "failed unsigned before",
      "no destination",
      "another spelling of slot or txHash",
      "another network or account",
      "after the last version",
      "another withdrawal's slot",
      "a second slot",
      "a version signed twice",
      "another end of validity",
      "a cancel where there is none",
      "another withdrawal's txHash",
      "another version is not dead",
    ]);
  });

  it("a yes to a withdrawal on its slot is refused after a cancel", () => {
    const withdrawal = { state: "quarantined", versions: [], ordered: { act: "cancel", versions: 1 } };
    expect(endOf(approveGuards, { withdrawal })).toEqual(["cancelled", "WITHDRAWAL_CANCELLING"]);
  });

  it("a replacement is refused where a payment was recorded before the cancel, and after the last version", () => {
    const one = { state: "released", isEnded: false };
    const turn = { core: { paused: null } };
    const made = { txHash: "", isCancel: false };
    expect(endOf(replaceGuards, { turn, one, made, isCancel: true })).toEqual(["cancelled since", "WITHDRAWAL_CANCELLING"]);
    const last = { turn, one, isCancel: false, made: undefined, newest: { released: true }, above: 20 };
    expect(endOf(replaceGuards, last)).toEqual(["last version", "WITHDRAWAL_TOO_MANY_VERSIONS"]);
  });
});
