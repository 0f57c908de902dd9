/**
 * A chain's state of which one part cannot be read: the scheduler stops only what needs the part.
 * Nothing new is signed; what is signed is looked for. Reported of this agent: one server without
 * rates, and every payment of the chain stood (public-bugs-coins.md 5).
 */
import { describe, expect, it } from "vitest";
import { describeStandstill } from "../../agent/courier/scheduler/signing.ts";
import type { Code } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import type { ChainState, StatePart } from "../../chains/nodes.ts";
import { StatePartReader } from "../../chains/state-parts.ts";
import { drive, only, sentView, viewOf } from "../support/scheduler-views.ts";

const faultOf = (code: Code): AgentError => new AgentError(code, "none", "made up");

/** A chain's state without a part. */
function without(part: StatePart): Partial<ChainState> {
  const unread = new Map([[part, faultOf("NODE_NO_RATE")]]);
  if (part === "market") return { unread, feeMarket: null };
  return part === "funds" ? { unread, balances: new Map() } : { unread };
}

describe("a chain's state without a part", () => {
  it.each(["market", "funds", "control"] as const)(
    "%s: signs nothing new, and looks for what is signed",
    (part) => {
      const driver = drive([sentView(1, "broadcast"), viewOf(2, "approved")]);
      const out = driver.block(100, without(part));
      expect(only(out, "look")).toHaveLength(1);
      expect(only(out, "gas")).toEqual([]);
      const [account] = driver.scheduler.book.accounts.values();
      expect(describeStandstill(driver.scheduler.book, account!)).toBe("nodes NODE_NO_RATE");
      // With the part it goes on.
      expect(only(driver.block(101), "gas")).toHaveLength(1);
      expect(describeStandstill(driver.scheduler.book, account!)).toBe("");
    },
  );
});

describe("the parts of a chain's state", () => {
  it("fail each alone, and the first fault of a part is told; nothing is told if all were read", async () => {
    const parts = new StatePartReader();
    expect(await parts.read("market", async () => 7n)).toBe(7n);
    expect(parts.told()).toEqual({});
    for (const code of ["NODE_NO_RATE", "NODE_TIMEOUT"] as const)
      expect(await parts.read("market", () => Promise.reject(faultOf(code)))).toBeNull();
    expect([...(parts.told().unread ?? [])].map(([part, { code }]) => [part, code])).toEqual([
      ["market", "NODE_NO_RATE"],
    ]);
  });

  it("throw on a bug, and the end of the nodes by us", async () => {
    const parts = new StatePartReader();
    await expect(parts.read("funds", () => Promise.reject(new TypeError("a bug")))).rejects.toThrow(
      "a bug",
    );
    await expect(
      parts.read("funds", () => Promise.reject(faultOf("NODE_CLOSED"))),
    ).rejects.toMatchObject({
      code: "NODE_CLOSED",
    });
    expect(parts.told()).toEqual({});
  });
});
