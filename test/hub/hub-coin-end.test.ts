/**
 * Payments whose coin no node shows, between hub and agent: which of them an acknowledgement names
 * as ready to be ended, and the moment at which an agent's `expired` ends one that was signed.
 */
import { describe, expect, it } from "vitest";
import { type EntryContext, entryEffectOf } from "../../gateway/hub/effect.ts";
import { ackListsOfAgent } from "../../gateway/hub/session.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { keepUnknownCoin } from "../../gateway/store/unknown-coins.ts";
import { updateWithdrawal } from "../../gateway/store/withdrawals.ts";
import {
  askWithdrawal,
  readAgent,
  readTransaction,
  requestedRecord,
} from "../../lab/kit/gateway-database.ts";
import { db, eachTestItsHub, keys } from "../support/hub-server.ts";

eachTestItsHub();

const network = "bip122:000000000019d6689c085ae165831e93";
const hourMs = 3_600_000;
const expired = {
  kind: "decision",
  seq: 9,
  at: 9,
  decision: "expired",
  code: "COIN_UNKNOWN",
  address: "",
} as const;

/** Stuck, with so many hours of watched chain time. */
function stuck(hours: number): string {
  const id = askWithdrawal(db.store, keys.id, 1, { network, currency: "btc" });
  db.store.write((database) => {
    insertSignature(database, {
      ...{
        transactionId: id,
        attempt: 1,
        agent: keys.id,
        network,
        account: "bc1qx",
        slot: "1",
        txHash: "1",
      },
      ...{ feeMax: "1", seq: 1, validUntilMs: 0, pin: `${"1".repeat(64)}:0:5000`, cancel: 0 },
    });
    for (let at = 0; at <= hours; at += 1) keepUnknownCoin(database, id, 0, at * hourMs);
    updateWithdrawal(database, id, { stage: "stuck", code: "COIN_UNKNOWN" }, 7_000);
  });
  return id;
}

const around = (id: string, isCoinGone: boolean): EntryContext => ({
  ...{
    agent: readAgent(db.store, keys.id),
    row: requestedRecord(readTransaction(db.store, id)),
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
    isCoinGone,
    nowMs: 9,
  },
  isHandshakeDone: true,
});

describe("a signed payment whose coin no node shows", () => {
  it("is named from the first hour, and as one to be ended after a day of watched chain time", () => {
    const id = stuck(23);
    const named = () => ackListsOfAgent(db.store.database, readAgent(db.store, keys.id), "run");
    expect(named()).toEqual({ unreachable: [id] });
    db.store.write((database) => keepUnknownCoin(database, id, 0, 24 * hourMs));
    expect(named()).toEqual({ unreachable: [id], endable: [id] });
  });

  it("ends by its agent's word once the gateway's own nodes have missed its coin for a day, and not before", () => {
    const id = stuck(0);
    const entry = { ...expired, transactionId: id };
    expect(entryEffectOf(entry, around(id, false))).toEqual({
      kind: "expire",
      code: "coin_unknown",
    });
    expect(entryEffectOf(entry, around(id, true))).toEqual({
      kind: "answer",
      change: { status: 2, stage: "expired", code: "coin_unknown" },
    });
  });

  it("stays what the chain made of it, and another end than this is a contradiction", () => {
    const id = stuck(0);
    db.store.write((database) =>
      updateWithdrawal(database, id, { status: 1, stage: "completed", code: "" }, 8_000),
    );
    expect(entryEffectOf({ ...expired, transactionId: id }, around(id, true))).toEqual({
      kind: "answer",
      change: {},
    });
    const refused = { ...expired, transactionId: id, decision: "refused" } as const;
    expect(entryEffectOf(refused, around(id, true))).toMatchObject({ kind: "contradiction" });
  });
});
