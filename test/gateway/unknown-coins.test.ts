/**
 * Payouts whose coin no node shows, in no block and no mempool: after an hour by both clocks each
 * is stuck, told and named to its agent, it takes no place of a sweep, and it goes on once a node
 * shows the coin.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { FaultBook } from "../../gateway/faults/book.ts";
import { createSignals } from "../../gateway/store/signals.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { countOpenSweeps } from "../../gateway/store/sweeps.ts";
import { isCoinGone, listWithdrawalsOnUnknownCoins } from "../../gateway/store/unknown-coins.ts";
import { listUnreachable } from "../../gateway/store/unreachable.ts";
import { keepExpiryStatement } from "../../gateway/store/void-attempts.ts";
import { updateWithdrawal } from "../../gateway/store/withdrawals.ts";
import { checkUnknownCoins } from "../../gateway/sweeps/unknown-coins.ts";
import type { WatchedChain } from "../../gateway/watcher/chain.ts";
import { checkRenewal } from "../../gateway/withdrawals/renewal.ts";
import {
  type AgentKeys,
  askWithdrawal,
  type GatewayDatabase,
  gatewayDatabase,
  pairAgent,
  readTransaction,
  silentLog,
  transferRow,
} from "../../lab/kit/gateway-database.ts";

const network = "bip122:000000000019d6689c085ae165831e93";
const minuteMs = 60_000;
const begunMs = 100 * 60 * minuteMs;
let db: GatewayDatabase;
let keys: AgentKeys;
let nowMs: number;
let chainMs: number;
let shown: Set<string>;
let asked: string[];
let isAway: boolean;
let memory: Map<string, number>;
let chain: WatchedChain;

beforeEach(() => {
  db = gatewayDatabase();
  keys = pairAgent(db.store);
  [nowMs, chainMs, isAway, asked] = [begunMs, begunMs, false, []];
  [shown, memory] = [new Set(), new Map()];
  const isCoinShown = async (coin: string): Promise<boolean> => {
    asked.push(coin);
    if (isAway) throw new AgentError("NODE_UNREACHABLE", "none", "away");
    return shown.has(coin);
  };
  chain = {
    ...{
      name: "bitcoin",
      network,
      reader: { isCoinShown, timestamp: async () => chainMs / 1_000 },
    },
    ...{
      store: db.store,
      signals: createSignals(),
      log: silentLog,
      clock: () => nowMs,
      run: "run 1",
    },
    faults: new FaultBook(() => nowMs),
  } as unknown as WatchedChain;
});
afterEach(() => db.remove());

const coin = (number: number): string => `${number.toString(16).padStart(64, "0")}:0`;

/** Signed on a coin, and out for a while. */
function out(number: number, change: Parameters<typeof askWithdrawal>[3] = {}): string {
  const id = askWithdrawal(db.store, keys.id, number, { network, currency: "btc", ...change });
  db.store.write((database) => {
    insertSignature(database, {
      ...{
        transactionId: id,
        attempt: 1,
        agent: keys.id,
        network,
        account: "bc1qx",
        slot: `${number}`,
        txHash: `${number}`,
      },
      ...{ feeMax: "1", seq: 1, validUntilMs: 0, pin: `${coin(number)}:5000`, cancel: 0 },
    });
    updateWithdrawal(database, id, { stage: "broadcast" }, begunMs - 60 * minuteMs);
  });
  return id;
}

/** Passes for so many minutes of both clocks, or of the gateway's own alone. */
async function passes(minutes: number, isChainAlive = true): Promise<void> {
  const tip = { head: { number: 9, hash: "h" }, final: { number: 7, hash: "f" }, askedAt: nowMs };
  for (let at = 0; at <= minutes; at += 10) {
    await checkUnknownCoins(chain, tip, memory);
    nowMs += 10 * minuteMs;
    if (isChainAlive) chainMs += 10 * minuteMs;
  }
}

const row = (id: string) => readTransaction(db.store, id);
const alarms = () =>
  db.store.database.all("SELECT subject FROM audit WHERE act = 'alarm COIN_UNKNOWN'");
const named = () => listUnreachable(db.store.database, keys.id);

describe("a payout whose coin no node shows", () => {
  it("is stuck after an hour, told once, and named to its agent; one whose coin is there goes on", async () => {
    const [lost, good] = [out(1), out(2)];
    shown.add(coin(2));
    await passes(50);
    expect([row(lost), named(), alarms()]).toMatchObject([
      { stage: "broadcast", code: "" },
      [],
      [],
    ]);
    await passes(20);
    expect(row(lost)).toMatchObject({ status: 0, stage: "stuck", code: "COIN_UNKNOWN" });
    expect(row(good)).toMatchObject({ stage: "broadcast", code: "" });
    expect(named()).toEqual([lost]);
    await passes(120);
    expect(alarms()).toEqual([{ subject: lost }]);
  });

  it("goes on once a node shows the coin, and its hour begins again", async () => {
    const id = out(1);
    await passes(70);
    expect(named()).toEqual([id]);
    shown.add(coin(1));
    await passes(10);
    expect([row(id), named()]).toMatchObject([{ stage: "broadcast", code: "" }, []]);
    shown.clear();
    await passes(50);
    expect(row(id)).toMatchObject({ stage: "broadcast" });
    await passes(20);
    expect(row(id)).toMatchObject({ stage: "stuck" });
  });

  it("waits while too few nodes answer, and while the chain stands", async () => {
    const id = out(1);
    isAway = true;
    await passes(120);
    expect(asked).not.toEqual([]);
    isAway = false;
    await passes(120, false);
    expect([row(id), named()]).toMatchObject([{ stage: "broadcast" }, []]);
    await passes(80);
    expect(named()).toEqual([id]);
  });

  it("a sweep of that kind takes no place of others, and a payment in a block is none", async () => {
    const sweep = out(1, {
      operation: "sweep",
      payer: "bc1qx",
    });
    const mined = out(2);
    await passes(20);
    db.store.write((database) => updateWithdrawal(database, mined, { stage: "confirming" }, nowMs));
    await passes(70);
    expect(countOpenSweeps(db.store.database, row(sweep).merchant)).toEqual({
      moving: 0,
      stuck: 1,
    });
    expect(row(mined)).toMatchObject({ stage: "confirming", code: "" });
    expect(named()).toEqual([sweep]);
  });

  it("is asked about each ten minutes, eight of them a pass", async () => {
    for (let number = 1; number <= 10; number += 1) out(number);
    await passes(0);
    expect(asked).toHaveLength(8);
    nowMs -= 9 * minuteMs;
    await passes(0);
    expect(new Set(asked).size).toBe(10);
  });
});

const endable = () => listWithdrawalsOnUnknownCoins(db.store.database, keys.id, true);
const dayMinutes = 25 * 60;

/** Stuck for so long, with the agent's word on its end. */
async function endedAt(minutes: number): Promise<string> {
  const id = out(1);
  await passes(minutes);
  db.store.write((database) => keepExpiryStatement(database, id, "coin_unknown", nowMs));
  await passes(0);
  return id;
}

describe("a payout whose coin no node has shown for a day", () => {
  it("is named as one that may be ended, and ends by its agent's word alone from then on", async () => {
    const id = out(1);
    await passes(23 * 60);
    expect([named(), endable()]).toEqual([[id], []]);
    await passes(2 * 60);
    expect(endable()).toEqual([id]);
    expect(row(id)).toMatchObject({ status: 0, stage: "stuck", code: "COIN_UNKNOWN" });
    expect(db.store.write((database) => isCoinGone(database, id))).toBe(true);
  });

  it("ends where its agent had said so before, and not before the day is over", async () => {
    const id = await endedAt(120);
    expect(row(id)).toMatchObject({ status: 0, stage: "stuck" });
    await passes(dayMinutes);
    expect(row(id)).toMatchObject({ status: 2, stage: "expired", code: "coin_unknown" });
    expect(db.store.database.all("SELECT * FROM coinLooks")).toEqual(
      db.store.database.all("SELECT * FROM coinLooks WHERE 1 = 0"),
    );
  });

  it("counts a gap in which nobody asked as an hour, and a chain that stands as nothing", async () => {
    const id = out(1);
    await passes(60);
    nowMs += 30 * 60 * minuteMs;
    chainMs += 30 * 60 * minuteMs;
    await passes(60);
    expect([named(), endable()]).toEqual([[id], []]);
    await passes(30 * 60, false);
    expect(endable()).toEqual([]);
    await passes(22 * 60);
    expect(endable()).toEqual([id]);
  });

  it("begins its day again once a node shows the coin", async () => {
    const id = out(1);
    await passes(20 * 60);
    shown.add(coin(1));
    await passes(10);
    shown.clear();
    await passes(20 * 60);
    expect([named(), endable()]).toEqual([[id], []]);
    await passes(5 * 60);
    expect(endable()).toEqual([id]);
  });

  it("is open again, with an alarm, once a node shows the coin after its end; and ends again if it goes for a day", async () => {
    const id = await endedAt(dayMinutes);
    expect(row(id)).toMatchObject({ status: 2, code: "coin_unknown" });
    await passes(70);
    expect(row(id)).toMatchObject({ status: 2 });
    shown.add(coin(1));
    await passes(70);
    expect(row(id)).toMatchObject({ status: 0, stage: "broadcast", code: "" });
    expect(
      db.store.database.all("SELECT subject FROM audit WHERE act = 'alarm COIN_RETURNED'"),
    ).toEqual([{ subject: id }]);
    shown.clear();
    await passes(dayMinutes);
    expect(row(id)).toMatchObject({ status: 2, stage: "expired", code: "coin_unknown" });
  });

  it("may be renewed, and one that the chain has ended in another way may not", async () => {
    const id = await endedAt(dayMinutes);
    const again = (renews: string) =>
      checkRenewal(
        db.store.database,
        { ...row(id), operation: "withdraw", renews },
        transferRow(row(id)).contentHash,
      );
    expect(again(id)).toMatchObject({ id });
    const other = out(2);
    db.store.write((database) =>
      updateWithdrawal(
        database,
        other,
        { status: 2, stage: "failed", code: "chain_slot_consumed" },
        nowMs,
      ),
    );
    const { orderId, contentHash } = transferRow(row(other));
    const refused = checkRenewal(
      db.store.database,
      { ...row(other), operation: "withdraw", orderId, renews: other },
      contentHash,
    );
    expect(refused).toMatchObject({ code: "not_renewable", extra: { reason: "signed" } });
  });
});
