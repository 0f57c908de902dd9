/** What has ended at the gateway and is open in a ledger that was put back: the order names its versions, and so its end is known. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { endedAmong, recoveryOrder } from "../gateway/recovery/order.ts";
import { beginRecovery, recoveryOf } from "../gateway/recovery/recovery.ts";
import { transactionIdOf } from "../protocol/identity.ts";
import type { Recovery, RecoveryWithdrawal } from "../protocol/recovery.ts";
import { MemoryDisk } from "./support/ledger-disk.ts";
import { backup, databaseOf, ledgerOf, offer, recovered, restore, shown } from "./support/recovery-order.ts";
import { SignerAndGateway } from "./support/signer-and-gateway.ts";
import { type AnyAnswer, facts, hot, merchant, Rig } from "./support/signer-rig.ts";

let both: SignerAndGateway;

beforeEach(() => {
  both = new SignerAndGateway();
});
afterEach(() => both.remove());

const network = "eip155:31337";

function hashesOf(id: string): readonly string[] {
  return both.rig.show(id).versions.map(({ txHash }) => txHash);
}

function observed(id: string, outcome: "paid" | "lost", txHash: string): AnyAnswer {
  return both.rig.ask("observed", { transactionId: id, stage: "final", outcome, txHash, block: outcome === "paid" ? 9 : 0 });
}

/** Paid by a dearer version, of which a ledger put back to before it knows nothing. */
function paidByForgottenVersion(): { readonly id: string; readonly known: string; readonly forgotten: string } {
  const id = both.pay("first");
  const [known = ""] = hashesOf(id);
  const copy = backup(both.rig);
  both.rig.ask("replace", { transactionId: id, above: 1, facts: { ...facts, maxFeePerGas: "90000000000" } });
  both.acknowledge();
  const [, forgotten = ""] = hashesOf(id);
  both.complete(id);
  restore(both.rig, copy);
  expect(both.connect()).toMatchObject({ code: "SIGNER_LOCKED" });
  return { id, known, forgotten };
}

describe("a withdrawal paid by a version that the ledger forgot", () => {
  it("is named to it, watched under every hash, and ends as paid", () => {
    const { id, known, forgotten } = paidByForgottenVersion();
    expect(both.recover()).toMatchObject({ quarantined: 1, settled: 0, imported: 0 });
    expect(both.rig.show(id)).toMatchObject({ state: "quarantined", nonce: "5" });
    expect(hashesOf(id)).toEqual([known, forgotten]);
    expect(observed(id, "paid", forgotten)).toMatchObject({ ok: true, withdrawal: { state: "paid" } });
    both.acknowledge();
    expect(both.rig.operate("finish").ok).toBe(true);
    expect(both.row(id)).toMatchObject({ status: 1 });
    expect(both.rig.core.locked).toBeNull();
  });

  it("is not called lost while the ledger is known to lack something; after its recovery a courier may say so", () => {
    const { id, known } = paidByForgottenVersion();
    expect(observed(id, "lost", known)).toMatchObject({ ok: false, code: "SIGNER_LOCKED", detail: "LEDGER_BEHIND_GATEWAY" });
    expect(both.rig.show(id).state).toBe("released");
    both.recover();
    expect(observed(id, "lost", known)).toMatchObject({ ok: true, withdrawal: { state: "lost" } });
  });
});

it("a withdrawal bound and not signed in a ledger that was put back, and paid since, ends without a yes", () => {
  const id = both.order("first");
  both.rig.send("sign", { transactionId: id, facts });
  both.rig.disk.sync();
  const copy = MemoryDisk.of(both.rig.disk.files);
  both.acknowledge();
  const [txHash = ""] = hashesOf(id);
  both.complete(id);
  restore(both.rig, copy);
  both.connect();
  both.recover();
  expect(both.rig.show(id)).toMatchObject({ state: "quarantined", nonce: "5" });
  expect(hashesOf(id)).toEqual([txHash]);
  expect(observed(id, "paid", txHash)).toMatchObject({ ok: true, withdrawal: { state: "paid" } });
});

describe("the order", () => {
  function orderFor(open: { first: string; last: string }[], account = hot): readonly Recovery[] {
    const ranges = open.map((range) => ({ network, account, ...range }));
    const recovery = recoveryOf(both.store.database, both.agent);
    if (recovery === undefined) throw new Error("no recovery was begun");
    return recoveryOrder(both.store.database, both.agent, recovery, { nonce: both.rig.nonce, open: ranges }, both.rig.now);
  }
  const tokens = (parts: readonly Recovery[]): string[] => parts.flatMap(({ ended }) => ended.map(({ token }) => token));

  it("with less room than has ended names the newest", () => {
    for (let i = 0; i < 7; i++) both.complete(both.pay(`order-${i}`));
    const range = { network, account: hot, first: "0", last: "99" };
    const ended = endedAmong(both.store.database, both.agent, [range], 3);
    expect(ended.map(({ token }) => token)).toEqual(["9", "10", "11"]);
  });

  it("names what has ended between the tokens that the hello named, in their order, and nothing else of it", () => {
    for (let i = 0; i < 7; i++) both.complete(both.pay(`order-${i}`)); // tokens 5 to 11
    both.pay("open");
    both.store.write((database) => beginRecovery(database, both.agent, 0, both.rig.now));
    expect(tokens(orderFor([]))).toEqual([]);
    expect(tokens(orderFor([{ first: "9", last: "10" }]))).toEqual(["9", "10"]);
    expect(tokens(orderFor([{ first: "0", last: "99" }]))).toEqual(["5", "6", "7", "8", "9", "10", "11"]);
    expect(tokens(orderFor([{ first: "0", last: "99" }], "0x0000000000000000000000000000000000000001"))).toEqual([]);
    const [part] = orderFor([{ first: "9", last: "9" }]);
    expect(part?.withdrawals.map(({ token }) => token)).toEqual(["12"]);
    const before = orderFor([]).map(({ order }) => order);
    expect(orderFor([{ first: "9", last: "9" }]).map(({ order }) => order)).not.toEqual(before);
  });

  it("of many that have ended goes over several parts, each under its limit", () => {
    const ids = Array.from({ length: 60 }, (_, i) => both.pay(`order-${i}`));
    const copy = backup(both.rig);
    for (const id of ids) both.complete(id);
    both.store.write((database) => beginRecovery(database, both.agent, 0, both.rig.now));
    const parts = orderFor([{ first: "0", last: "999" }]);
    expect(parts.length).toBeGreaterThan(1);
    expect(tokens(parts)).toHaveLength(60);
    expect(Math.max(...parts.map((part) => Buffer.byteLength(JSON.stringify(part))))).toBeLessThan(48 * 1024);
    restore(both.rig, copy);
    both.connect();
    expect(shown(both.rig)).toMatchObject({ quarantined: 60, settled: 0, imported: 0, restated: 0 });
  });
});

/** The same withdrawal under another order's name. */
function orderNamed(one: RecoveryWithdrawal, orderId: string): RecoveryWithdrawal {
  const transactionId = transactionIdOf({ merchant, operation: "withdraw", orderId });
  return { ...one, job: JSON.stringify({ ...JSON.parse(one.job), orderId, transactionId }) };
}

describe("what an order calls ended", () => {
  it("changes nothing for a ledger that has ended it too, never had it, or has no token for it", () => {
    const rig = new Rig().ready();
    const { transactionId, versions } = rig.pay();
    const open = databaseOf(rig);
    const [paid] = open.withdrawals;
    rig.ask("observed", { transactionId, stage: "final", outcome: "paid", txHash: versions[0]!.txHash, block: 3 });
    const held = rig.request({ currency: "eth", amount: "1.5" });
    rig.acknowledge();
    const contents = databaseOf(rig);
    const there = { account: hot, token: "4", versions: [{ txHash: "0xab", feeMax: "1" }] };
    const never = orderNamed(contents.withdrawals[0]!, "order-8");
    const ended = [paid!, { ...contents.withdrawals[0]!, ...there }, { ...never, ...there, token: "3" }];
    offer(rig, { ...contents, withdrawals: [], ended });
    expect(shown(rig)).toMatchObject({ quarantined: 0, settled: 1, imported: 0, restated: 0 });
    expect(shown(rig).withdrawals).toMatchObject([{ transactionId: held.transactionId, becomes: "settled", nonce: "" }]);
  });

  it("with another token than the one here contradicts, as what it calls open does", () => {
    const rig = new Rig().ready();
    rig.pay();
    const { withdrawals, ...contents } = databaseOf(rig);
    const as = (token: string, item = withdrawals[0]!): AnyAnswer => {
      offer(rig, { ...contents, withdrawals: [], ended: [{ ...item, token }] });
      return rig.operate("recover", { digest: "" }) as AnyAnswer;
    };
    expect(as("4").code).toBe("RECOVERY_CONFLICT");
    const other = orderNamed(withdrawals[0]!, "order-8");
    expect(as("5", other)).toMatchObject({ code: "RECOVERY_CONFLICT", detail: expect.stringContaining("nonce 5") });
    expect(as("4", other)).toMatchObject({ ok: true });
    expect(as("5")).toMatchObject({ ok: true });
  });

  it("contradicts too where it was refused here, and another has its token", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request({ currency: "eth", amount: "1.5" });
    rig.acknowledge();
    const [refused] = databaseOf(rig).withdrawals;
    rig.operate("refuse", { transactionId });
    rig.pay();
    const contents = { ...databaseOf(rig), withdrawals: [] };
    const as = (token: string): AnyAnswer => {
      const versions = [{ txHash: "0xab", feeMax: "1" }];
      offer(rig, { ...contents, ended: [{ ...refused!, account: hot, token, versions }] });
      return rig.operate("recover", { digest: "" }) as AnyAnswer;
    };
    expect(as("5")).toMatchObject({ code: "RECOVERY_CONFLICT", detail: expect.stringContaining("nonce 5") });
    expect(as("4")).toMatchObject({ ok: true });
  });

  it("is not counted twice: it stands in the gateway's sum of the day and in this ledger's", () => {
    const rig = new Rig().ready();
    rig.pay();
    const { withdrawals, ...contents } = databaseOf(rig);
    const spent = [{ currency: "usdt", units: "1500000", feesWei: "130000000000000" }];
    const sumAfter = (ended: typeof withdrawals): unknown => {
      const other = new Rig().ready();
      other.pay();
      recovered(other, { ...contents, ...databaseOf(other), withdrawals: [], ended, spent });
      return ledgerOf(other).at(-1);
    };
    expect(sumAfter(withdrawals)).toMatchObject({ kind: "RECOVERED", spent: [] });
    expect(sumAfter([])).toMatchObject({ kind: "RECOVERED", spent: [{ units: "1500000" }] });
  });
});
