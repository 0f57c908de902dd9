/** Recoveries one after another, where the gateway's head is of a ledger that parted from this one: what it may lack is told again. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Heads } from "../agent/signer/state/heads.ts";
import { approve } from "./support/forgetful-signer.ts";
import type { MemoryDisk } from "./support/ledger-disk.ts";
import { backup, restore } from "./support/recovery-order.ts";
import { SignerAndGateway } from "./support/signer-and-gateway.ts";
import { facts } from "./support/signer-rig.ts";

let both: SignerAndGateway;

beforeEach(() => {
  both = new SignerAndGateway();
});
afterEach(() => both.remove());

/** The ledger was put back to `copy` and recovered, paid one more; then the gateway was put back to before that, and recovered. */
function ledgerThenGateway(): { readonly copy: MemoryDisk; readonly paid: string; readonly nonce: string } {
  both.pay("first");
  const copy = backup(both.rig);
  both.pay("second");
  both.pay("third");
  both.keepDatabase("old");
  restore(both.rig, copy);
  expect(both.connect()).toMatchObject({ code: "SIGNER_LOCKED" });
  both.recover();
  expect(both.rig.operate("finish").ok).toBe(true);
  const paid = both.pay("paid");
  const { nonce } = both.rig.show(paid);
  both.complete(paid);
  both.putDatabaseBack("old");
  expect(both.connect()).toBe(null);
  expect(both.recover(both.rig.core.paired.epoch).restated).toBeGreaterThan(0);
  expect(both.rig.operate("finish").ok).toBe(true);
  return { copy, paid, nonce };
}

describe("a gateway put back to before a recovery of the ledger", () => {
  it("is told what was paid since, and the shop that asks again is answered", () => {
    const { paid } = ledgerThenGateway();
    expect(both.row(paid)).toMatchObject({ status: 0, stage: "signed" });
    both.order("paid");
    both.acknowledge();
    expect(both.isAnswered(paid)).toBe(true);
  });

  it("names its nonce to a ledger that is put back once more, and nothing is paid twice", () => {
    const { copy, paid, nonce } = ledgerThenGateway();
    both.order("paid");
    both.acknowledge();
    both.complete(both.pay("later"));
    restore(both.rig, copy);
    expect(both.connect()).toBe(null);
    both.recover();
    expect(both.rig.show(paid)).toMatchObject({ state: "quarantined", nonce });
    approve(both.rig, paid);
    both.rig.ask("sign", { transactionId: paid, facts });
    both.acknowledge();
    expect(both.rig.show(paid).nonce).toBe(nonce);
  });
});

it("a recovery that the gateway had not taken, ordered again, tells no more than before", () => {
  both.complete(both.pay("first"));
  const copy = backup(both.rig);
  both.pay("second");
  restore(both.rig, copy);
  both.connect();
  const { restated } = both.sayYes();
  expect(both.recover()).toMatchObject({ restated, isGatewayBehind: false });
});

describe("how much of the ledger a gateway has whose head is none of its records", () => {
  const head = (seq: number): { seq: number; hash: string } => ({ seq, hash: seq.toString(16).padStart(64, "0") });

  it("is what it acknowledged, in whatever epoch, but for a head that a recovery may have left behind", () => {
    const heads = new Heads();
    heads.acknowledge(head(40));
    expect(heads.sharedWith(90)).toBe(40);
    heads.restart(90);
    expect(heads.sharedWith(95)).toBe(40);
    heads.acknowledge(head(60));
    expect([91, 90, 70].map((held) => heads.sharedWith(held))).toEqual([60, 40, 40]);
    heads.restart(80);
    heads.acknowledge(head(99));
    const again = new Heads(JSON.parse(JSON.stringify(heads.snapshot())));
    for (const one of [heads, again]) expect([91, 90, 80].map((held) => one.sharedWith(held))).toEqual([99, 40, 40]);
  });
});
