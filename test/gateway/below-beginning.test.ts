/**
 * Payouts with a sequence below the first that their account ever had: stuck once this gateway's
 * own nodes show that, told once, named to their agent, ended by its word and by nothing else, and
 * renewed.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FaultBook } from "../../gateway/faults/book.ts";
import { type EntryContext, entryEffectOf } from "../../gateway/hub/effect.ts";
import { ackListsOfAgent } from "../../gateway/hub/session.ts";
import {
  endedSlotUnreachableCode,
  slotUnreachableCode,
} from "../../gateway/store/below-beginning.ts";
import { createSignals } from "../../gateway/store/signals.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { forgetEndedCoins } from "../../gateway/store/unknown-coins.ts";
import { keepExpiryStatement } from "../../gateway/store/void-attempts.ts";
import { updateWithdrawal } from "../../gateway/store/withdrawals.ts";
import type { WatchedChain } from "../../gateway/watcher/chain.ts";
import { applyJudgement } from "../../gateway/watcher/withdrawals.ts";
import { checkRenewal } from "../../gateway/withdrawals/renewal.ts";
import {
  type AgentKeys,
  askWithdrawal,
  type GatewayDatabase,
  gatewayDatabase,
  pairAgent,
  readAgent,
  readTransaction,
  requestedRecord,
  silentLog,
  transferRow,
} from "../../lab/kit/gateway-database.ts";

const network = "xrpl:0";
let db: GatewayDatabase;
let keys: AgentKeys;
let chain: WatchedChain;

beforeEach(() => {
  db = gatewayDatabase();
  keys = pairAgent(db.store);
  chain = {
    ...{ name: "xrp", network, reader: {}, currencies: [{ id: "xrp" }] },
    ...{
      store: db.store,
      signals: createSignals(),
      log: silentLog,
      clock: () => 9_000,
      run: "run 1",
    },
    faults: new FaultBook(() => 9_000),
  } as unknown as WatchedChain;
});
afterEach(() => db.remove());

/** Signed at a sequence, and out. */
function out(number: number): string {
  const id = askWithdrawal(db.store, keys.id, number, { network, currency: "xrp" });
  db.store.write((database) => {
    insertSignature(database, {
      ...{
        transactionId: id,
        attempt: 1,
        agent: keys.id,
        network,
        account: "rX",
        slot: `${number}`,
        txHash: `${number}`,
      },
      ...{ feeMax: "1", seq: 1, validUntilMs: 0, pin: "", cancel: 0 },
    });
    updateWithdrawal(database, id, { stage: "broadcast" }, 8_000);
  });
  return id;
}

const row = (id: string) => readTransaction(db.store, id);
const alarms = () =>
  db.store.database.all("SELECT act, subject FROM audit WHERE act LIKE 'alarm %'");
const named = () => ackListsOfAgent(db.store.database, readAgent(db.store, keys.id), "run");
const judge = (id: string, verdict: Parameters<typeof applyJudgement>[3]) =>
  db.store.write((database) => applyJudgement(chain, database, transferRow(row(id)), verdict));
/** The nodes show that the account was not there so long before the order. */
const shown = (id: string, beforeMs = 1) =>
  judge(id, {
    kind: "unreachable",
    absentMs: row(id).createdAt - beforeMs,
    detail: "it began at 95000000",
  });

const entry = (transactionId: string, change: object = {}) =>
  ({
    kind: "decision",
    seq: 9,
    at: 9,
    transactionId,
    decision: "expired",
    code: slotUnreachableCode,
    address: "",
    ...change,
  }) as const;
const around = (id: string): EntryContext => ({
  ...{
    agent: readAgent(db.store, keys.id),
    row: requestedRecord(row(id)),
    jobAgent: keys.id,
    isSigned: true,
    slot: "1",
  },
  ...{
    known: null,
    pin: "",
    slotOwner: null,
    hashOwner: null,
    assigned: null,
    isVoid: false,
    isCoinGone: false,
    nowMs: 9,
  },
  isHandshakeDone: true,
});

describe("a payout below its account's first sequence", () => {
  it("is stuck at once, told once, named to its agent, and stays so where a node forgets those ledgers", () => {
    const [id, other] = [out(5), out(6)];
    expect(named()).toEqual({});
    expect([shown(id), shown(id)]).toEqual([true, false]);
    expect(row(id)).toMatchObject({ status: 0, stage: "stuck", code: slotUnreachableCode });
    expect(row(other)).toMatchObject({ stage: "broadcast" });
    expect(named()).toEqual({ unreachable: [id] });
    expect(judge(id, { kind: "stuck", code: "WATCHER_SLOT_CONSUMED", detail: "used" })).toBe(false);
    expect(alarms()).toEqual([{ act: "alarm SLOT_UNREACHABLE", subject: id }]);
  });

  it("is judged as one whose slot was used where the account was made after the order", () => {
    const id = out(5);
    expect(shown(id, 0)).toBe(true);
    expect(row(id)).toMatchObject({ status: 0, stage: "stuck", code: "" });
    expect(named()).toEqual({});
    expect(alarms()).toMatchObject([
      { act: expect.stringContaining("WATCHER_SLOT_CONSUMED"), subject: id },
    ]);
  });

  it("ends by its agent's word once the gateway's own nodes have shown it, and not before", () => {
    const id = out(5);
    expect(entryEffectOf(entry(id), around(id))).toEqual({
      kind: "expire",
      code: endedSlotUnreachableCode,
    });
    db.store.write((database) =>
      keepExpiryStatement(database, id, endedSlotUnreachableCode, 9_000),
    );
    expect(row(id)).toMatchObject({ status: 0, stage: "broadcast" });
    expect(shown(id)).toBe(true);
    expect(row(id)).toMatchObject({ status: 2, stage: "expired", code: endedSlotUnreachableCode });
    const told = out(6);
    shown(told);
    const change = { status: 2, stage: "expired", code: endedSlotUnreachableCode };
    expect(entryEffectOf(entry(told), around(told))).toEqual({ kind: "answer", change });
    db.store.write((database) =>
      updateWithdrawal(
        database,
        told,
        { status: 2, stage: "expired", code: endedSlotUnreachableCode },
        9_000,
      ),
    );
    expect(named()).toEqual({});
    forgetEndedCoins(db.store);
    expect(db.store.database.all("SELECT * FROM unknownCoins")).toEqual([]);
  });

  it("stays what the chain made of it, and no other end of a signed payment is taken", () => {
    const id = out(5);
    expect(entryEffectOf(entry(id, { code: "JOB_EXPIRED" }), around(id))).toMatchObject({
      kind: "contradiction",
    });
    expect(entryEffectOf(entry(id, { decision: "refused" }), around(id))).toMatchObject({
      kind: "contradiction",
    });
    db.store.write((database) =>
      updateWithdrawal(database, id, { status: 1, stage: "completed", code: "" }, 9_000),
    );
    expect(entryEffectOf(entry(id), around(id))).toEqual({ kind: "answer", change: {} });
    expect(shown(id)).toBe(false);
    const evm = askWithdrawal(db.store, keys.id, 7);
    expect(entryEffectOf(entry(evm), around(evm))).toMatchObject({ kind: "contradiction" });
  });

  it("may be renewed after its end, and one whose slot another transaction used may not", () => {
    const [id, other] = [out(5), out(6)];
    const again = (renews: string) =>
      checkRenewal(
        db.store.database,
        { ...row(renews), operation: "withdraw", renews },
        transferRow(row(renews)).contentHash,
      );
    expect(again(id)).toMatchObject({ extra: { reason: "open" } });
    db.store.write((database) => {
      updateWithdrawal(
        database,
        id,
        { status: 2, stage: "expired", code: endedSlotUnreachableCode },
        9_000,
      );
      updateWithdrawal(
        database,
        other,
        { status: 2, stage: "failed", code: "chain_slot_consumed" },
        9_000,
      );
    });
    expect(again(id)).toMatchObject({ id });
    expect(again(other)).toMatchObject({ code: "not_renewable", extra: { reason: "signed" } });
  });
});
