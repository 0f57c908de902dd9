/** The gateway that lost data, alone or together with the ledger: it is told again what it lost, and pays nothing by itself. */
import { describe, expect, it } from "vitest";
import { parseStatement } from "../protocol/payloads.ts";
import { approve, assertWhole } from "./support/forgetful-signer.ts";
import { backup, type Contents, databaseOf, offer, orderOf, recovered, restore, shown, taken } from "./support/recovery-order.ts";
import { facts, hot, Rig } from "./support/signer-rig.ts";

describe("a gateway that went back", () => {
  it("is told again, in order, what it lost, and jobs go on where it stands", () => {
    const rig = new Rig().ready();
    rig.pay();
    const old = databaseOf(rig);
    const texts = [...rig.gateway.texts];
    const { last } = rig.gateway;
    const ended = rig.pay();
    const { txHash } = ended.versions[0]!;
    rig.ask("observed", { transactionId: ended.transactionId, stage: "final", outcome: "paid", txHash, block: 3 });
    rig.acknowledge();
    const open = rig.pay();
    const held = rig.request({ currency: "eth", amount: "1.5" });
    rig.acknowledge();
    const forgotten = rig.gateway.texts.splice(0, rig.gateway.texts.length, ...texts);
    Object.assign(rig.gateway, { stored: old.held, last });
    rig.crash();
    expect(rig.greet().code).toBe("GATEWAY_BEHIND");
    const plan = recovered(rig, old);
    expect(plan).toMatchObject({ isGatewayBehind: true, isOnlyUnheard: false, quarantined: 2, held: 1, settled: 0, imported: 0 });
    rig.greet();
    rig.statements.length = 0;
    rig.acknowledge();
    const told = rig.statements.flatMap(({ entries }) => entries);
    expect(told[0]?.kind).toBe("recovered");
    const of = (id: string): string[] =>
      told.filter((entry) => "transactionId" in entry && entry.transactionId === id).map(({ kind }) => kind);
    expect(of(ended.transactionId)).toEqual(["asked", "decision", "signed", "observed"]);
    expect(of(open.transactionId)).toEqual(["asked", "decision", "signed", "decision"]);
    expect(of(held.transactionId)).toEqual(["asked", "decision"]);
    // The next job takes the place of one the gateway has forgotten.
    expect(rig.request().state).toBe("held");
    assertWhole(rig, forgotten);
  });
});

describe("both sides put back", () => {
  it("pay nothing by themselves: what both forgot is asked for again and held, past every token the chain has seen", () => {
    const rig = new Rig().ready();
    rig.pay();
    const copy = backup(rig);
    const old = databaseOf(rig);
    const texts = [...rig.gateway.texts];
    const { last } = rig.gateway;
    const forgotten = rig.pay();
    const text = rig.gateway.texts.at(-1)!;
    rig.gateway.texts.splice(0, rig.gateway.texts.length, ...texts);
    Object.assign(rig.gateway, { stored: old.held, last });
    restore(rig, copy);
    rig.ask("account", { chain: "local", nonce: "7", witnesses: 2 });
    const plan = recovered(rig, old);
    expect(plan.accounts).toMatchObject([{ ledgerNext: "6", gatewayNext: "6", chainCount: "7", next: "7" }]);
    rig.greet();
    rig.acknowledge();
    const again = rig.request(orderOf(text));
    expect(again).toMatchObject({ transactionId: forgotten.transactionId, state: "held", code: "RECOVERY_HOLD" });
    expect(rig.ask("sign", { transactionId: again.transactionId, facts }).code).toBe("WITHDRAWAL_HELD");
  });
});

describe("a recovery before one was finished", () => {
  it("says so: a nonce given out since takes what both forgot out of the counts, and what was forgotten is held still", () => {
    const rig = new Rig().ready();
    rig.pay();
    rig.ask("account", { chain: "local", nonce: "8", witnesses: 2 });
    expect(recovered(rig, databaseOf(rig)).accounts).toMatchObject([{ ledgerNext: "6", gatewayNext: "6", chainCount: "8" }]);
    rig.greet();
    rig.acknowledge();
    const { transactionId } = rig.request();
    approve(rig, transactionId);
    rig.ask("sign", { transactionId, facts });
    rig.acknowledge();
    offer(rig, databaseOf(rig));
    expect(shown(rig)).toMatchObject({ isUnfinished: true, accounts: [{ ledgerNext: "9", gatewayNext: "9", passed: 0 }] });
  });

  it("is not said of one that a person has ended, nor before any", () => {
    const rig = new Rig().ready();
    offer(rig, databaseOf(rig));
    expect(shown(rig).isUnfinished).toBe(false);
    taken(rig, databaseOf(rig));
    expect(rig.operate("finish").ok).toBe(true);
    offer(rig, databaseOf(rig));
    expect(shown(rig).isUnfinished).toBe(false);
  });
});

describe("both sides put back, one after the other,", () => {
  /** The ledger first, which a recovery made good from the gateway; then the gateway, to where the ledger had been put. */
  function oneAfterTheOther(): { readonly rig: Rig; readonly old: Contents } {
    const rig = new Rig().ready();
    rig.pay();
    const copy = backup(rig);
    const old = databaseOf(rig);
    const { last } = rig.gateway;
    rig.pay();
    rig.pay();
    const newer = databaseOf(rig);
    // Both ended at the gateway, so the order does not name them.
    const ended = { ...newer, withdrawals: newer.withdrawals.slice(0, 1) };
    restore(rig, copy);
    taken(rig, ended);
    Object.assign(rig.gateway, { stored: old.held, last });
    rig.gateway.texts.splice(1);
    return { rig, old };
  }

  it("are told apart from a gateway that still knows: the nonces that an earlier recovery learned of are counted", () => {
    const { rig, old } = oneAfterTheOther();
    offer(rig, old);
    expect(shown(rig).accounts).toMatchObject([{ ledgerNext: "8", gatewayNext: "6", next: "8", passed: 2, passedFrom: "6" }]);
    const knows = { ...old, accounts: [{ network: "eip155:31337", account: hot, next: "8" }] };
    offer(rig, knows);
    expect(shown(rig).accounts).toMatchObject([{ ledgerNext: "8", gatewayNext: "8", passed: 0, passedFrom: "" }]);
  });

  it("show the account also when the gateway knows nothing of it any more", () => {
    const { rig, old } = oneAfterTheOther();
    offer(rig, { ...old, accounts: [], withdrawals: [] });
    expect(shown(rig).accounts).toMatchObject([{ ledgerNext: "8", gatewayNext: "", next: "8", passed: 2, passedFrom: "6" }]);
  });

  it("do not count what is open here", () => {
    const rig = new Rig().ready();
    rig.pay();
    const copy = backup(rig);
    const old = databaseOf(rig);
    const { last } = rig.gateway;
    const open = rig.pay();
    const newer = databaseOf(rig);
    restore(rig, copy);
    taken(rig, newer);
    expect(rig.show(open.transactionId)).toMatchObject({ state: "quarantined", nonce: "6" });
    Object.assign(rig.gateway, { stored: old.held, last });
    offer(rig, old);
    expect(shown(rig).accounts).toMatchObject([{ ledgerNext: "7", gatewayNext: "6", next: "7", passed: 0, passedFrom: "" }]);
  });
});

describe("the reader of statements", () => {
  it("takes what a recovery says", () => {
    const rig = new Rig().ready();
    rig.pay();
    taken(rig, databaseOf(rig));
    for (const statement of rig.statements) expect(parseStatement(JSON.stringify(statement))).toEqual(statement);
  });
});
