/**
 * Payouts that end in one pass: their reserved sums are read and written once, and are right; a
 * transaction of a hot wallet costs no statement of its own to find its signature and its slot.
 */
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Judgement, OutgoingTransaction } from "../../chains/nodes.ts";
import { FaultBook } from "../../gateway/faults/book.ts";
import { correctReservedSums, listReservedSums } from "../../gateway/store/reserved.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { insertSlot } from "../../gateway/store/slots.ts";
import type { Database } from "../../gateway/store/store.ts";
import { insertWithdrawal } from "../../gateway/store/withdrawals.ts";
import type { Tip, WatchedChain } from "../../gateway/watcher/chain.ts";
import { findSlotConsumptions } from "../../gateway/watcher/findings.ts";
import { findOutgoing, keepAllOutgoing } from "../../gateway/watcher/outgoing-transactions.ts";
import {
  applyJudgement,
  checkWithdrawals,
  newWithdrawalMemory,
} from "../../gateway/watcher/withdrawals.ts";
import {
  type AgentKeys,
  type GatewayDatabase,
  gatewayDatabase,
  pairAgent,
} from "../../lab/kit/gateway-database.ts";

const network = "eip155:31337";
const hashOf = (number: number): string => `0x${number.toString(16).padStart(64, "0")}`;
const idOf = (number: number): string => number.toString(16).padStart(32, "0");

let db: GatewayDatabase;
let keys: AgentKeys;
let verdictOf: (hash: string) => Judgement;
let sent: OutgoingTransaction[];
let chain: WatchedChain;

beforeEach(() => {
  db = gatewayDatabase();
  keys = pairAgent(db.store);
  verdictOf = () => ({ kind: "waiting" });
  sent = [];
  const reader = {
    pass: () => ({ judge: async (_: unknown, [hash = ""]: readonly string[]) => verdictOf(hash) }),
    outgoing: async () => ({ found: sent, unread: [] }),
    hasFailed: async () => false,
    judgeOutgoing: async (
      _: unknown,
      { txHash, block }: OutgoingTransaction,
    ): Promise<Judgement> => {
      return {
        kind: "failed",
        code: "chain_slot_consumed",
        final: { txHash, block, feeUnits: 1n },
      } as Judgement;
    },
  };
  chain = {
    ...{
      faults: new FaultBook(() => 9_000),
      store: db.store,
      network,
      reader,
      clock: () => 9_000,
      name: "evm",
    },
    ...{ signals: { emit: () => undefined }, currencies: [{ id: "eth", contract: "" }] },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  } as unknown as WatchedChain;
});
afterEach(() => db.remove());

/** Signed payouts 1 to `count`, each with its number as slot, of its number in units. */
function signedPayouts(count: number): void {
  const { hotWalletAddress: account, id: agent } = keys;
  db.store.write((database) => {
    for (let number = 1; number <= count; number += 1) {
      insertWithdrawal(database, {
        ...{
          id: idOf(number),
          merchant: "m1",
          orderId: `o-${number}`,
          contentHash: "00",
          currency: "eth",
          network,
        },
        ...{
          amount: "1",
          units: `${number}`,
          receiver: "0xc",
          payer: account,
          tag: "",
          stage: "broadcast",
        },
        ...{ createdAt: number, changedAt: number, expiresAt: 10_000_000, metadata: "" },
        ...({ operation: "withdraw", mode: "auto", renews: "", refundOf: "" } as const),
      });
      insertSlot(database, { network, account, slot: `${number}` }, idOf(number));
      insertSignature(database, {
        ...{
          transactionId: idOf(number),
          attempt: 1,
          agent,
          network,
          account,
          slot: `${number}`,
          txHash: hashOf(number),
        },
        ...{ feeMax: "1", seq: number, validUntilMs: 0, pin: "", cancel: 0 },
      });
    }
  });
}

const outgoingOf = (slot: number, hash: number): OutgoingTransaction =>
  ({
    ...{ account: keys.hotWalletAddress, slot: `${slot}`, txHash: hashOf(hash), block: 5 },
    ...{ receiver: "0xc", tag: "", contract: "", amountUnits: 1n },
  }) as unknown as OutgoingTransaction;

/** The statements that `act` gives to the database. */
async function askedBy(act: () => unknown): Promise<readonly string[]> {
  const asked: string[] = [];
  const { store } = chain;
  const counted = (database: Database): Database => ({
    run: (sql, ...values) => {
      asked.push(sql);
      return database.run(sql, ...values);
    },
    get: (sql, ...values) => {
      asked.push(sql);
      return database.get(sql, ...values);
    },
    all: (sql, ...values) => {
      asked.push(sql);
      return database.all(sql, ...values);
    },
  });
  const write = <T>(fn: (database: Database) => T): T =>
    store.write((database) => fn(counted(database)));
  Object.assign(chain, { store: { ...store, database: counted(store.database), write } });
  await act();
  Object.assign(chain, { store });
  return asked;
}

const paid = (hash: string): Judgement =>
  ({ kind: "completed", final: { txHash: hash, block: 5, feeUnits: 1n } }) as unknown as Judgement;

async function passOver(count: number): Promise<readonly string[]> {
  signedPayouts(count);
  verdictOf = paid;
  const tip = {
    head: { number: 6, hash: "h6" },
    final: { number: 5, hash: "h5" },
    askedAt: 9_000,
  } as unknown as Tip;
  return askedBy(() => checkWithdrawals(chain, tip, newWithdrawalMemory()));
}

it("the reserved sum of payouts that end in one pass is written once, and is what is left", async () => {
  const asked = await passOver(8);
  expect(asked.filter((sql) => sql.includes("INTO reserved"))).toHaveLength(1);
  expect(asked.filter((sql) => sql.includes("voidAttempts"))).toHaveLength(1);
  expect(asked.filter((sql) => /(?:INTO|UPDATE) accounts/.test(sql))).toHaveLength(1);
  // Whose transaction it is, the row, its end, whose account the receiver is, and two moves.
  expect(asked.length).toBeLessThanOrEqual(8 * 6 + 10);
  expect(listReservedSums(db.store.database, keys.hotWalletAddress, network)).toMatchObject([
    { withdrawals: 0, units: "0" },
  ]);
  expect(correctReservedSums(db.store.database)).toBe(0);
  expect(db.store.database.all("SELECT id FROM transfers WHERE status = 1")).toHaveLength(8);
});

it("signatures and slots of a block's transactions are each looked up in one statement", async () => {
  signedPayouts(6);
  sent = [1, 2, 3, 4, 5, 6].map((number) => outgoingOf(number, number));
  const accounts = new Set([keys.hotWalletAddress]);
  const asked = await askedBy(async () => {
    expect(await findSlotConsumptions(chain, accounts, [])).toEqual([]);
    const found = await findOutgoing(chain, accounts, []);
    expect(found.paid.map(({ untold }) => untold)).toEqual([0, 0, 0, 0, 0, 0]);
    chain.store.write((database) => keepAllOutgoing(chain, database, found));
  });
  expect(
    asked.filter((sql) => sql.includes("FROM signatures") && !sql.includes("slots k")),
  ).toHaveLength(2);
  expect(asked.filter((sql) => sql.includes("slots k"))).toHaveLength(1);
  expect(db.store.database.all("SELECT * FROM outgoing")).toHaveLength(6);
  expect(db.store.database.all("SELECT * FROM unexplained")).toEqual([]);
});

it("a foreign transaction among own ones is found by its slot, and kept as unexplained", async () => {
  signedPayouts(4);
  sent = [outgoingOf(1, 1), outgoingOf(2, 99), outgoingOf(7, 98), outgoingOf(3, 3)];
  const accounts = new Set([keys.hotWalletAddress]);
  const used = await findSlotConsumptions(chain, accounts, []);
  expect(
    used.map(({ row, verdict }) => [row.id, verdict.kind === "failed" && verdict.final.txHash]),
  ).toEqual([[idOf(2), hashOf(99)]]);
  const found = await findOutgoing(chain, accounts, []);
  db.store.write((database) => {
    keepAllOutgoing(chain, database, found);
    expect(used.map(({ row, verdict }) => applyJudgement(chain, database, row, verdict))).toEqual([
      true,
    ]);
  });
  expect(listReservedSums(db.store.database, keys.hotWalletAddress, network)).toMatchObject([
    { withdrawals: 3, units: "8" },
  ]);
  const unexplained = db.store.database.all<{ txHash: string }>(
    "SELECT txHash FROM unexplained ORDER BY txHash",
  );
  expect(unexplained.map(({ txHash }) => txHash)).toEqual([hashOf(98), hashOf(99)]);
});
