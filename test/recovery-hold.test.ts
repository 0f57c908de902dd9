/** What a recovery holds is a person's alone: neither time nor policy says of it that it will never be paid. */
import { describe, expect, it } from "vitest";
import { backup, databaseOf, ledgerOf, recovered, restore } from "./support/recovery-order.ts";
import { facts, Rig } from "./support/signer-rig.ts";

const dayMs = 86_400_000;

/** Ledger and gateway both put back to when one withdrawal was approved; it was signed, released and paid since. */
function bothPutBack(): { readonly rig: Rig; readonly forgotten: string } {
  const rig = new Rig().ready();
  const { transactionId } = rig.request();
  rig.acknowledge();
  const copy = backup(rig);
  const old = databaseOf(rig);
  rig.ask("sign", { transactionId, facts });
  rig.acknowledge();
  rig.gateway.stored = old.held;
  restore(rig, copy);
  rig.ask("account", { chain: "local", nonce: "6", witnesses: 2 });
  recovered(rig, old);
  rig.greet();
  rig.acknowledge();
  return { rig, forgotten: transactionId };
}

function later(rig: Rig, ms: number): void {
  rig.now += ms;
  rig.greet();
  rig.signer.tick();
}

describe("in a recovery", () => {
  it("nothing runs out, and nothing is told to have failed", () => {
    const { rig, forgotten } = bothPutBack();
    expect(rig.show(forgotten)).toMatchObject({ state: "held", code: "RECOVERY_HOLD" });
    later(rig, 2 * dayMs);
    expect(rig.show(forgotten).state).toBe("held");
    expect(ledgerOf(rig).map(({ kind }) => kind)).not.toContain("EXPIRED");
    expect(rig.stated().join(" ")).not.toContain("expired");
    // A person who has looked at the chain may say so.
    expect(rig.operate("refuse", { transactionId: forgotten }).ok).toBe(true);
    expect(rig.show(forgotten).state).toBe("refused");
  });

  it("and nothing is refused by policy: limits and currencies may have been others when it was paid", () => {
    const { rig } = bothPutBack();
    const asked = [
      { amount: "5000" },
      { currency: "btc" },
      { address: "nowhere" },

      { mode: "manual" },
    ] as const;
    for (const change of asked)
      expect(rig.request(change), JSON.stringify(change)).toMatchObject({ state: "held", code: "RECOVERY_HOLD" });
    rig.acknowledge();
    expect(rig.operate("finish").ok).toBe(true);
    const states = asked.map((change) => rig.request(change).state);
    expect(states).toEqual(["refused", "refused", "refused", "held"]);
  });
});

describe("after it", () => {
  it("what it held still waits for a person, and what came since runs out", () => {
    const { rig, forgotten } = bothPutBack();
    expect(rig.operate("finish").ok).toBe(true);
    const fresh = rig.request({ mode: "manual" });
    expect(fresh).toMatchObject({ state: "held", code: "POLICY_MANUAL" });
    later(rig, 2 * dayMs);
    expect(rig.show(forgotten)).toMatchObject({ state: "held", code: "RECOVERY_HOLD" });
    expect(rig.show(fresh.transactionId).state).toBe("expired");
  });
});
