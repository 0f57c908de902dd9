/**
 * In one recovery offer a gateway contradicts the payments that have left this ledger, and repeats
 * itself in the next one. The repeat settles nothing: the released attempt may still be paid on its
 * slot. Others whose recovery made a second payment or nonce: samotari/paynoway #46,
 * tari-project/tari #6464.
 */
import { describe, expect, it } from "vitest";
import { Kit, txParams } from "../../lab/kit/signer-kit.ts";
import { databaseOf, ledgerOf, recovered } from "../support/recovery-offer.ts";

/** One withdrawal left on slot 5, and two orders in a row have opened the ledger with this slot. */
function openedTwice(
  slot: string,
  between: (kit: Kit, id: string) => void = () => {},
): { readonly kit: Kit; readonly id: string } {
  const kit = new Kit().ready();
  const { transactionId: id } = kit.pay({ amount: "1" });
  const { withdrawals, accounts, ...rest } = databaseOf(kit);
  const told = withdrawals.map((one) => ({ ...one, slot }));
  const next = accounts.map((account) => ({ ...account, next: `${Number(slot) + 1}` }));
  for (let order = 0; order < 2; order++) {
    if (order > 0) between(kit, id);
    kit.now += 1;
    recovered(kit, { ...rest, withdrawals: told, accounts: next, held: kit.gateway.stored });
    kit.now += 1;
    kit.handshake();
    kit.acknowledge();
  }
  return { kit, id };
}

const signed = (kit: Kit): readonly string[] => {
  const records = ledgerOf(kit);
  const opened = records.map(({ kind }) => kind).lastIndexOf("RECOVERED");
  return records
    .slice(opened)
    .flatMap((record) => (record.kind === "SIGNED" ? [record.transactionId] : []));
};

describe("an order that repeats itself", () => {
  it("gives no second slot to what has left on the first one: the chain decides, or an operator cancels", () => {
    const { kit, id } = openedTwice("6");
    expect(kit.show(id)).toMatchObject({ state: "quarantined", code: "SLOT_CONTESTED" });
    const { length } = kit.show(id).attempts;
    expect(kit.ask("replace", { transactionId: id, above: length, txParams })).toMatchObject({
      ok: false,
    });
    expect(signed(kit)).toEqual([]);
  });

  it.each(["paid", "reverted"])(
    "after the courier called the withdrawal %s gives it no second slot either",
    (outcome) => {
      const { kit, id } = openedTwice("6", (before, transactionId) => {
        const [{ txHash } = { txHash: "" }] = before.show(transactionId).attempts;
        const claim = { transactionId, stage: "final", outcome, txHash, block: 8 };
        expect(before.ask("observed", claim)).toMatchObject({ ok: true });
        expect(before.show(transactionId).state).toBe(outcome);
      });
      expect(kit.show(id)).toMatchObject({ state: "quarantined", code: "SLOT_CONTESTED" });
      expect(kit.ask("replace", { transactionId: id, above: 1, txParams })).toMatchObject({
        ok: false,
      });
      expect(signed(kit)).toEqual([]);
    },
  );

  it("has the next attempt made where it says what the ledger says", () => {
    const { kit, id } = openedTwice("5");
    expect(kit.ask("replace", { transactionId: id, above: 1, txParams })).toMatchObject({
      ok: true,
    });
    expect(signed(kit)).toEqual([id]);
  });
});
