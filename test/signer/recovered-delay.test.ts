/**
 * The delay for new destinations, when a recovered ledger keeps a withdrawal: it counts from the
 * agent's first knowledge of the withdrawal, not from the time that the gateway names.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { txParams } from "../../lab/kit/signer-kit.ts";
import { backup, ledgerOf, restore } from "../support/recovery-offer.ts";
import { SignerAndGateway } from "../support/signer-and-gateway.ts";

let both: SignerAndGateway;
beforeEach(() => {
  both = new SignerAndGateway();
});
afterEach(() => both.remove());

const hourMs = 3_600_000;

/** Rules with a delay of an hour, from the next run on. */
function delays(): void {
  const { kit } = both;
  const { usdt, ...rest } = kit.settings.policy;
  if (usdt === undefined) throw new Error("the currency has limits");
  kit.edited = {
    ...kit.settings,
    policy: { ...rest, usdt: { ...usdt, newDestination: { delayMinutes: 60 } } },
  };
}

describe("a withdrawal to a new destination that a recovered ledger keeps", () => {
  it("waits from the recovery on where the ledger before had no record of it, however long ago it was asked for", () => {
    const { kit } = both;
    const copy = backup(kit);
    const lost = both.pay("conflicted");
    delays();
    kit.now += 2 * hourMs;
    restore(kit, copy);
    both.connect();
    both.recover();
    const openedAt = ledgerOf(kit).find(({ kind }) => kind === "RECOVERED")?.at ?? 0;
    const held = {
      state: "quarantined",
      code: "POLICY_NEW_DESTINATION_DELAY",
      requestedAt: openedAt,
    };
    expect(kit.show(lost)).toMatchObject(held);
    expect(kit.operate("show", { transactionId: lost }).wait).toMatchObject({
      until: openedAt + hourMs,
    });
    // A start reads the same from the file.
    kit.start();
    both.meet();
    expect(kit.show(lost)).toMatchObject(held);
    kit.now = openedAt + hourMs - 1;
    kit.signer.tick();
    expect(kit.show(lost).state).toBe("quarantined");
    kit.now += 1;
    kit.signer.tick();
    kit.settle();
    expect(kit.show(lost)).toMatchObject({ state: "released", code: "" });
  });

  it("waits from its request on where the ledger before had recorded that", () => {
    const { kit } = both;
    delays();
    kit.start();
    both.meet();
    const known = both.order("known");
    both.acknowledge();
    const { requestedAt, code } = kit.show(known);
    expect(code).toBe("POLICY_NEW_DESTINATION_DELAY");
    const copy = backup(kit);
    kit.now += hourMs;
    kit.signer.tick();
    kit.ask("sign", { transactionId: known, txParams });
    both.acknowledge();
    restore(kit, copy);
    both.connect();
    both.recover();
    expect(kit.show(known)).toMatchObject({ state: "released", code: "", requestedAt });
  });
});
