/**
 * The simulator's own reckoning of how long limits hold a withdrawal back, beside the moment at
 * which the signer binds it.
 */
import { describe, expect, it } from "vitest";
import type { PolicySettings } from "../../agent/config/settings.ts";
import { begun, Kit, settings, txParams } from "../../lab/kit/signer-kit.ts";
import { RecordInvariants } from "../../lab/simulation/invariants/records.ts";

const hourMs = 3_600_000;
const dayMs = 86_400_000;
const generous = { maxPerWithdrawal: "1000000", maxPerDay: "1000000", maxFee: "1", maxFeePerDay: "1" };

/**
 * A kit with this policy for usdt: the acts that sign the n-th order, and the time until which the
 * simulator would wait for that order.
 */
function kitOf(change: Partial<PolicySettings>) {
  const policy = { ...generous, ...change };
  const kit = new Kit({ settings: { ...settings, policy: { usdt: policy } } }).ready();
  const ids: string[] = [];
  return {
    kit,
    ask: (amount: string): void => void ids.push(kit.request({ amount, expiresAt: begun + 9 * dayMs }).transactionId),
    sign: (index: number): string => kit.ask("sign", { transactionId: ids[index], txParams }).code ?? "",
    until: (index: number): number => {
      const atMax = (): number => Number.POSITIVE_INFINITY;
      const stateOf = (): never => {
        throw new Error("nothing is opened here");
      };
      const invariants = new RecordInvariants({
        name: "a",
        policy,
        decimals: { usdt: 6 },
        coinDecimal: 18,
        isGatewayHonest: true,
        atMax,
        endMax: atMax,
        stateOf,
      });
      for (const record of kit.records()) invariants.add(record);
      return invariants.heldBackUntil(ids[index] ?? "");
    },
  };
}

describe("a withdrawal that a limit holds back", () => {
  it.each([
    ["hour", { maxPerHour: "10" }, hourMs, "POLICY_ABOVE_HOUR"],
    ["day", { maxPerDay: "10" }, dayMs, "POLICY_ABOVE_DAY"],
  ])("a withdrawal waits until the very moment at which the limit of the %s lets it through", (_, change, spanMs, code) => {
    const { kit, ask, sign, until } = kitOf(change);
    for (const amount of ["6", "5", "7"]) {
      ask(amount);
      kit.now += spanMs;
    }
    expect([0, 1, 2].map(until)).toEqual([0, 0, 0]);
    const assignedAt = kit.now;
    expect(sign(0)).toBe("");
    expect([0, 1, 2].map(until)).toEqual([0, assignedAt + spanMs, assignedAt + spanMs]);
    for (const [next, last] of [
      [1, 2],
      [2, 1],
    ] as const) {
      const untilAt = until(next);
      kit.now = untilAt - 1;
      kit.start();
      kit.handshake();
      expect(sign(next)).toBe(code);
      kit.now += 1;
      expect(sign(next)).toBe("");
      // A late binding was held back until then, also when another was bound after it.
      expect(until(next)).toBe(untilAt);
      expect(until(last)).toBe(last === 2 ? untilAt + spanMs : untilAt - spanMs);
    }
  });

  it("a withdrawal is not held back by a limit with room for it, nor by one before its approval", () => {
    const { kit, ask, sign, until } = kitOf({ maxPerHour: "10", holdAbove: "7" });
    ask("6");
    ask("4");
    ask("8");
    expect([sign(0), sign(2)]).toEqual(["", "WITHDRAWAL_HELD"]);
    expect([0, 1, 2, 3].map(until)).toEqual([0, 0, 0, 0]);
    expect(sign(1)).toBe("");
    expect(kit.kinds().filter((kind) => kind === "INTENT")).toHaveLength(2);
  });
});
