/**
 * The delay for new destinations, when an opened ledger keeps a withdrawal: it counts from the
 * agent's first knowledge of the withdrawal, not from the time that the gateway names.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { facts } from "../../lab/rig/signer-rig.ts";
import { backup, ledgerOf, restore } from "../support/recovery-order.ts";
import { SignerAndGateway } from "../support/signer-and-gateway.ts";

let both: SignerAndGateway;
beforeEach(() => {
  both = new SignerAndGateway();
});
afterEach(() => both.remove());

const hourMs = 3_600_000;

/** Rules with a delay of an hour, from the next run on. */
function delays(): void {
  const { rig } = both;
  const { usdt, ...rest } = rig.settings.policy;
  if (usdt === undefined) throw new Error("the currency has limits");
  rig.edited = { ...rig.settings, policy: { ...rest, usdt: { ...usdt, newDestination: { delayMinutes: 60 } } } };
}

describe("a withdrawal to a new destination that an opened ledger keeps", () => {
  it("a withdrawal to a new destination that an opened ledger keeps waits from the opening on where the ledger before never heard of it, however long ago it was asked for", () => {
    const { rig } = both;
    const copy = backup(rig);
    const lost = both.pay("lost");
    delays();
    rig.now += 2 * hourMs;
    restore(rig, copy);
    both.connect();
    both.recover();
    const openedAt = ledgerOf(rig).find(({ kind }) => kind === "OPENED")?.at ?? 0;
    const held = { state: "quarantined", code: "POLICY_NEW_DESTINATION_DELAY", requestedAt: openedAt };
    expect(rig.show(lost)).toMatchObject(held);
    expect(rig.operate("show", { transactionId: lost }).wait).toMatchObject({ until: openedAt + hourMs });
    // A start reads the same from the file.
    rig.start();
    both.meet();
    expect(rig.show(lost)).toMatchObject(held);
    rig.now = openedAt + hourMs - 1;
    rig.signer.tick();
    expect(rig.show(lost).state).toBe("quarantined");
    rig.now += 1;
    rig.signer.tick();
    rig.settle();
    expect(rig.show(lost)).toMatchObject({ state: "released", code: "" });
  });

  it("a withdrawal to a new destination that an opened ledger keeps waits from its request on where the ledger before had recorded that", () => {
    const { rig } = both;
    delays();
    rig.start();
    both.meet();
    const known = both.order("known");
    both.acknowledge();
    const { requestedAt, code } = rig.show(known);
    expect(code).toBe("POLICY_NEW_DESTINATION_DELAY");
    const copy = backup(rig);
    rig.now += hourMs;
    rig.signer.tick();
    rig.ask("sign", { transactionId: known, facts });
    both.acknowledge();
    restore(rig, copy);
    both.connect();
    both.recover();
    expect(rig.show(known)).toMatchObject({ state: "released", code: "", requestedAt });
  });
});
