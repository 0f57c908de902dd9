/** The gateway that lost data, alone or together with the ledger: it is told again what it lost, and pays nothing by itself. */
import { describe, expect, it } from "vitest";
import { parseStatement } from "../protocol/payloads.ts";
import { assertWhole } from "./support/forgetful-signer.ts";
import { backup, databaseOf, orderOf, recovered, restore, taken } from "./support/recovery-order.ts";
import { facts, Rig } from "./support/signer-rig.ts";

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
    expect(plan).toMatchObject({ isGatewayBehind: true, quarantined: 2, held: 1, settled: 0, imported: 0 });
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

describe("the reader of statements", () => {
  it("takes what a recovery says", () => {
    const rig = new Rig().ready();
    rig.pay();
    taken(rig, databaseOf(rig));
    for (const statement of rig.statements) expect(parseStatement(JSON.stringify(statement))).toEqual(statement);
  });
});
