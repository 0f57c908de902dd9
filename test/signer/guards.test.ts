/**
 * Tables of guards: their order is their meaning, so the rows stand here a second time. The rows
 * that no whole story ends at are tried alone.
 */
import { describe, expect, it } from "vitest";
import { approveGuards } from "../../agent/signer/handlers/approve.ts";
import { observeGuards } from "../../agent/signer/handlers/observe.ts";
import { replaceGuards } from "../../agent/signer/handlers/replace.ts";
import { answerOfFirstGuard, type Guard } from "../../base/guard.ts";
import { signedGuards } from "../../gateway/hub/effect.ts";

const namesOf = (guards: readonly (readonly [string, ...unknown[]])[]): readonly string[] =>
  guards.map(([name]) => name);

/** The row that a case ends at, and the code of its answer. */
function endOf<Case, Answer extends object>(
  guards: readonly Guard<Case, Answer>[],
  given: object,
): readonly [string, unknown] {
  const [name] = guards.find(([, holds]) => holds(given as Case)) ?? ["none"];
  const answer = answerOfFirstGuard(guards, given as Case);
  return [name, answer !== null && "code" in answer ? answer.code : ""];
}

describe("tables of guards", () => {
  it("the first row that holds decides, and none decides nothing", () => {
    const guards: readonly Guard<number, string>[] = [
      ["even", (n) => n % 2 === 0, (n) => `${n} is even`],
      ["small", (n) => n < 10, (n) => `${n} is small`],
    ];
    expect([4, 5, 11].map((n) => answerOfFirstGuard(guards, n))).toEqual([
      "4 is even",
      "5 is small",
      null,
    ]);
  });

  it("an observation is refused or repeated by these rows, in this order", () => {
    expect(namesOf(observeGuards)).toEqual([
      "an attempt is void",
      "a quorum of something else",
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

  it("a replacement is answered without another attempt by these rows, in this order", () => {
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
      "last attempt",
      "excluded by expiry",
      "an operator's",
      "too soon",
    ]);
  });

  it("a signed entry contradicts the database by these rows, in this order", () => {
    expect(namesOf(signedGuards)).toEqual([
      "ended unsigned before",
      "no destination",
      "another spelling of slot or txHash",
      "another network or account",
      "after the last attempt",
      "another withdrawal's slot",
      "a second slot",
      "an attempt signed twice",
      "another end of validity",
      "an end that no attempt has",
      "another spelling of the pin",
      "another pin",
      "a cancel where there is none",
      "another withdrawal's txHash",
      "another attempt is not void",
    ]);
  });

  it("a yes to a withdrawal on its slot is refused after a cancel", () => {
    const withdrawal = {
      state: "quarantined",
      attempts: [],
      ordered: { act: "cancel", attempts: 1 },
    };
    expect(endOf(approveGuards, { withdrawal })).toEqual(["cancelled", "WITHDRAWAL_CANCELLING"]);
  });

  it("a replacement is refused where a payment was recorded before the cancel, and after the last attempt", () => {
    const one = { state: "released", isEnded: false };
    const context = { core: { paused: null } };
    const made = { txHash: "", isCancel: false };
    expect(endOf(replaceGuards, { context, one, made, isCancel: true })).toEqual([
      "cancelled since",
      "WITHDRAWAL_CANCELLING",
    ]);
    const last = {
      context,
      one,
      isCancel: false,
      made: undefined,
      newest: { released: true },
      above: 20,
    };
    expect(endOf(replaceGuards, last)).toEqual(["last attempt", "WITHDRAWAL_TOO_MANY_ATTEMPTS"]);
  });
});
