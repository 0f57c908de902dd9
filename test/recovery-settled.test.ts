/** What a recovery took for ended at the gateway, and the gateway asks for once more: a person decides it, and nothing else does. */
import { describe, expect, it } from "vitest";
import { readRules } from "../agent/signer/policy/rules.ts";
import { Core, type CoreSnapshot } from "../agent/signer/state/core.ts";
import { approve, assertWhole } from "./support/forgetful-signer.ts";
import { MemoryDisk } from "./support/ledger-disk.ts";
import {
  backup,
  type Contents,
  databaseOf,
  ledgerOf,
  offer,
  orderOf,
  recovered,
  restore,
  shown,
  taken,
} from "./support/recovery-order.ts";
import { facts, hot, other, Rig, settings, shop } from "./support/signer-rig.ts";

const dayMs = 86_400_000;

interface Settled {
  readonly rig: Rig;
  readonly transactionId: string;
  readonly order: ReturnType<typeof orderOf>;
  /** The database that still calls it open. */
  readonly contents: Contents;
}

/** One paid and one held; then an order that leaves the held one out is carried out, and taken by the gateway unless told otherwise. */
function settledOne(isTaken = true): Settled {
  const rig = new Rig().ready();
  rig.pay();
  const { transactionId } = rig.request({ currency: "eth", amount: "1.5" });
  rig.acknowledge();
  const contents = databaseOf(rig);
  const order = { ...contents, withdrawals: contents.withdrawals.slice(0, 1) };
  if (isTaken) taken(rig, order);
  else {
    recovered(rig, order);
    rig.greet();
  }
  expect(rig.show(transactionId)).toMatchObject({ state: "settled", code: "RECOVERY_SETTLED" });
  return { rig, transactionId, order: orderOf(contents.withdrawals[1]!.job), contents };
}

function finished(found: Settled): Settled {
  expect(found.rig.operate("finish").ok).toBe(true);
  return found;
}

describe("a job for a settled withdrawal", () => {
  it.each([
    ["while the recovery goes on", settledOne()],
    ["after it", finished(settledOne())],
    ["before the gateway has heard of its end", settledOne(false)],
  ])("%s is answered, and held for a person", (_when, { rig, transactionId, order }) => {
    const before = rig.stated().length;
    expect(rig.request(order)).toMatchObject({ transactionId, state: "held", code: "RECOVERY_SETTLED" });
    expect(ledgerOf(rig).slice(-2)).toMatchObject([
      { kind: "REQUESTED", transactionId },
      { kind: "HELD", code: "RECOVERY_SETTLED" },
    ]);
    rig.acknowledge();
    expect(rig.stated().slice(before).join(" ")).toContain("held");
    // Its old end is acknowledged with that, and does not close it.
    expect(rig.show(transactionId).state).toBe("held");
    rig.request(order);
    expect(ledgerOf(rig).at(-1)).toMatchObject({ kind: "REPEATED", transactionId });
    // One that was closed would still be shown, and could not be decided any more.
    approve(rig, transactionId);
    expect(rig.show(transactionId).state).toBe("approved");
    assertWhole(rig);
  });

  it("shows what it was before", () => {
    const { rig, transactionId, order } = finished(settledOne());
    rig.request(order);
    const { history } = rig.operate("show", { transactionId });
    expect(history.map(({ kind }) => kind)).toEqual(["REQUESTED", "HELD", "SETTLED", "REQUESTED", "HELD"]);
  });

  it("is paid after a yes, once, and refused after a no", () => {
    const yes = finished(settledOne());
    yes.rig.request(yes.order);
    yes.rig.acknowledge();
    expect(yes.rig.ask("sign", { transactionId: yes.transactionId, facts }).code).toBe("WITHDRAWAL_HELD");
    approve(yes.rig, yes.transactionId);
    expect(yes.rig.ask("sign", { transactionId: yes.transactionId, facts }).ok).toBe(true);
    expect(yes.rig.show(yes.transactionId)).toMatchObject({ state: "signed", nonce: "6" });
    yes.rig.request(yes.order);
    expect(ledgerOf(yes.rig).at(-1)).toMatchObject({ kind: "REPEATED" });
    assertWhole(yes.rig);
    const no = finished(settledOne());
    no.rig.request(no.order);
    expect(no.rig.operate("refuse", { transactionId: no.transactionId }).ok).toBe(true);
    no.rig.acknowledge();
    no.rig.request(no.order);
    expect(ledgerOf(no.rig).at(-1)).toMatchObject({ kind: "REPEATED" });
    expect(no.rig.show(no.transactionId).state).toBe("refused");
    assertWhole(no.rig);
  });

  it("never runs out, where another one does", () => {
    const { rig, transactionId, order } = finished(settledOne());
    rig.request(order);
    const fresh = rig.request({ mode: "manual" });
    rig.acknowledge();
    rig.now += 2 * dayMs;
    rig.greet();
    rig.signer.tick();
    expect(rig.show(fresh.transactionId).state).toBe("expired");
    expect(rig.show(transactionId).state).toBe("held");
    assertWhole(rig);
  });

  it("that says something else contradicts it, and changes nothing", () => {
    const { rig, transactionId, order } = finished(settledOne());
    rig.request({ ...order, amount: "1.25" });
    expect(ledgerOf(rig).slice(-2)).toMatchObject([
      { kind: "REPEATED", code: "WITHDRAWAL_EXISTS_DIFFERENT_AMOUNT" },
      { kind: "ALARM" },
    ]);
    expect(rig.show(transactionId).state).toBe("settled");
  });

  it("is held as well when the power goes between its record and the decision", () => {
    const { rig, transactionId, order } = finished(settledOne());
    rig.request(order);
    rig.settle();
    const [name, bytes] = [...rig.disk.files].at(-1)!;
    const lines = Buffer.from(bytes).toString().trimEnd().split("\n");
    restore(rig, MemoryDisk.of([[name, Buffer.from(`${lines.slice(0, -1).join("\n")}\n`)]]));
    expect(ledgerOf(rig).at(-1)).toMatchObject({ kind: "REQUESTED", transactionId });
    rig.greet();
    expect(rig.show(transactionId)).toMatchObject({ state: "held", code: "RECOVERY_SETTLED" });
    assertWhole(rig);
  });

  it("leaves the state that a checkpoint brings back, one that has forgotten its history too", () => {
    const { rig, transactionId, order } = finished(settledOne());
    const old = JSON.parse(JSON.stringify(rig.core.snapshot())) as CoreSnapshot;
    const from = ledgerOf(rig).length;
    rig.request(order);
    rig.acknowledge();
    const lived = rig.core.snapshot();
    const folded = new Core(readRules(settings, hot), JSON.parse(JSON.stringify(lived)) as CoreSnapshot);
    expect(folded.snapshot()).toEqual(lived);
    expect(folded.book.count("settled")).toBe(0);
    expect(folded.book.count("held")).toBe(1);
    const bare = new Core(readRules(settings, hot), { ...old, book: { ...old.book, recent: [] } });
    expect(bare.book.count("settled")).toBe(1);
    for (const record of ledgerOf(rig).slice(from)) bare.fold(record);
    expect(bare.book.find(transactionId)).toMatchObject({ state: "held", code: "RECOVERY_SETTLED" });
    expect(bare.book.count("settled")).toBe(0);
  });
});

describe("a later recovery", () => {
  it("holds a settled one that the gateway calls open, and says what it was here", () => {
    const { rig, transactionId, contents } = settledOne();
    const copy = backup(rig);
    offer(rig, contents);
    expect(shown(rig).withdrawals.at(-1)).toMatchObject({ transactionId, here: "settled", becomes: "held" });
    restore(rig, copy);
    rig.greet();
    taken(rig, contents);
    expect(rig.show(transactionId)).toMatchObject({ state: "held", code: "RECOVERY_HOLD" });
    approve(rig, transactionId);
    expect(rig.ask("sign", { transactionId, facts }).ok).toBe(true);
    assertWhole(rig);
  });

  it("quarantines it on the nonce that the gateway knows it by", () => {
    const { rig, transactionId, contents } = settledOne();
    const [paid, open] = contents.withdrawals;
    const versions = [{ txHash: `0x${"ab".repeat(32)}`, feeMax: "1" }];
    const accounts = contents.accounts.map((each) => ({ ...each, next: "7" }));
    taken(rig, { ...contents, accounts, withdrawals: [paid!, { ...open!, account: hot, token: "6", versions }] });
    expect(rig.show(transactionId)).toMatchObject({ state: "quarantined", nonce: "6" });
    assertWhole(rig);
  });

  it("tells nothing of it to a gateway that went back: that one would wait for its end for ever", () => {
    const { rig, transactionId, contents } = settledOne();
    const before = { ...contents, held: { seq: 1, hash: ledgerOf(rig)[0]!.hash }, withdrawals: [] };
    const from = ledgerOf(rig).length;
    recovered(rig, before);
    const told = ledgerOf(rig)
      .slice(from)
      .filter((record) => record.kind === "RESTATED");
    expect(told.map(({ fact }) => fact).join()).toContain("signed");
    expect(told.map(({ fact }) => fact).join()).not.toContain(transactionId);
  });

  it("tells of its second life alone, when that has ended: another yes may have stood in the first", () => {
    const rig = new Rig().ready();
    rig.pay();
    const { transactionId } = rig.request({ mode: "manual", address: "", currency: "eth", amount: "0.5" });
    const yes = (address: string): void => {
      const { approvalDigest: digest } = rig.show(transactionId);
      expect(rig.operate("approve", { transactionId, digest, address })).toMatchObject({ ok: true });
    };
    rig.acknowledge();
    const contents = databaseOf(rig);
    yes(shop);
    rig.acknowledge();
    taken(rig, { ...databaseOf(rig), withdrawals: contents.withdrawals.slice(0, 1) });
    expect(rig.show(transactionId).state).toBe("settled");
    const { orderId, currency, amount } = orderOf(contents.withdrawals[1]!.job);
    rig.request({ orderId, currency, amount, mode: "manual", address: "" });
    yes(other);
    rig.ask("sign", { transactionId, facts });
    rig.acknowledge();
    const { txHash } = rig.show(transactionId).versions[0]!;
    for (const stage of ["broadcast", "included", "final"] as const) {
      rig.ask("observed", {
        transactionId,
        stage,
        outcome: stage === "final" ? "paid" : "",
        txHash,
        block: stage === "broadcast" ? 0 : 9,
      });
    }
    expect(rig.show(transactionId).state).toBe("paid");
    const from = ledgerOf(rig).length;
    recovered(rig, { ...contents, held: { seq: 1, hash: ledgerOf(rig)[0]!.hash }, withdrawals: [] });
    const told = ledgerOf(rig)
      .slice(from)
      .flatMap((record) => (record.kind === "RESTATED" ? [record.fact] : []));
    const about = told.filter((fact) => fact.includes(transactionId));
    expect(about.map((fact) => (JSON.parse(fact) as { kind: string }).kind)).toEqual(["asked", "decision", "signed", "observed"]);
    expect(about.join()).toContain(other);
    expect(about.join()).not.toContain(shop);
  });

  it("finds it lost there when it was asked for again after the order's newest job", () => {
    const { rig, transactionId, order, contents } = settledOne();
    const { last } = rig.gateway;
    rig.request(order);
    rig.acknowledge();
    const old = { ...contents, held: rig.gateway.stored, jobs: last, withdrawals: contents.withdrawals.slice(0, 1) };
    offer(rig, old);
    expect(shown(rig).withdrawals.at(-1)).toMatchObject({ transactionId, here: "held", becomes: "held" });
  });
});
