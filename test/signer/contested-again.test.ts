/**
 * In one recovery order a gateway contradicts the payments that have left this ledger, and repeats
 * itself in the next one. The repeat settles nothing: the released version may still be paid on its
 * slot. Others whose recovery made a second payment or nonce: samotari/paynoway #46,
 * tari-project/tari #6464.
 */
import { describe, expect, it } from "vitest";
import { facts, Rig } from "../../lab/rig/signer-rig.ts";
import { databaseOf, ledgerOf, recovered } from "../support/recovery-order.ts";

/** One withdrawal left on slot 5, and two orders in a row have opened the ledger with this slot. */
function openedTwice(slot: string): { readonly rig: Rig; readonly id: string } {
  const rig = new Rig().ready();
  const { transactionId: id } = rig.pay({ amount: "1" });
  const { withdrawals, accounts, ...rest } = databaseOf(rig);
  const told = withdrawals.map((one) => ({ ...one, slot }));
  const next = accounts.map((account) => ({ ...account, next: `${Number(slot) + 1}` }));
  for (let order = 0; order < 2; order++) {
    rig.now += 1;
    recovered(rig, { ...rest, withdrawals: told, accounts: next, held: rig.gateway.stored });
    rig.now += 1;
    rig.greet();
    rig.acknowledge();
  }
  return { rig, id };
}

const signed = (rig: Rig): readonly string[] => {
  const records = ledgerOf(rig);
  const opened = records.map(({ kind }) => kind).lastIndexOf("OPENED");
  return records.slice(opened).flatMap((record) => (record.kind === "SIGNED" ? [record.transactionId] : []));
};

describe("an order that repeats itself", () => {
  it("an order that repeats itself gives no second slot to what has left on the first one: the chain decides, or a person cancels", () => {
    const { rig, id } = openedTwice("6");
    expect(rig.show(id)).toMatchObject({ state: "quarantined", code: "SLOT_CONTESTED" });
    const { length } = rig.show(id).versions;
    expect(rig.ask("replace", { transactionId: id, above: length, facts })).toMatchObject({ ok: false });
    expect(signed(rig)).toEqual([]);
  });

  it("an order that repeats itself has the next version made where it says what the ledger says", () => {
    const { rig, id } = openedTwice("5");
    expect(rig.ask("replace", { transactionId: id, above: 1, facts })).toMatchObject({ ok: true });
    expect(signed(rig)).toEqual([id]);
  });
});
