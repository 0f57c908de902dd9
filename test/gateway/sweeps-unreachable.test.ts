/**
 * Slots of deposit addresses by the gateway's own nodes: the slot in a sweep's job, the wait
 * of a sweep in its place, the open sweeps that no block can take, and the funds that their end
 * gives back. Reports of the kind: smartcontractkit/chainlink 4063 (a restored database goes on at
 * nonces that are used), BoltzExchange/boltz-backend 1201 (a gap holds up all above it for good).
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SlotCounts } from "../../chains/nodes.ts";
import type { GatewayCurrency } from "../../gateway/config/config.ts";
import { FaultBook } from "../../gateway/faults/book.ts";
import { makeRecoveryOffer } from "../../gateway/recovery/offer.ts";
import { unsweptBalanceOf } from "../../gateway/store/journal.ts";
import { keepFinalPayment } from "../../gateway/store/payments.ts";
import { keepNativeCoins } from "../../gateway/store/posting.ts";
import type { RecoveryRow, SweepRow } from "../../gateway/store/rows.ts";
import { createSignals } from "../../gateway/store/signals.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { insertSlot } from "../../gateway/store/slots.ts";
import { listSweepNotes } from "../../gateway/store/sweeps.ts";
import { listUnreachable } from "../../gateway/store/unreachable.ts";
import { keepExpiryStatement } from "../../gateway/store/void-attempts.ts";
import { endWithdrawal, updateWithdrawal } from "../../gateway/store/withdrawals.ts";
import { createSweeps, type Sweeps } from "../../gateway/sweeps/sweeps.ts";
import type { WatchedChain } from "../../gateway/watcher/chain.ts";
import {
  type AgentKeys,
  type GatewayDatabase,
  gatewayDatabase,
  haveAddress,
  insertTransaction,
  pairAgent,
  readAgent,
  readAll,
  readTransaction,
  silentLog,
} from "../../lab/kit/gateway-database.ts";
import { callLevel } from "../../lab/kit/level-reader.ts";
import type { Job } from "../../protocol/messages.ts";

const network = "eip155:31337";
const run = "run 1";
const hourMs = 3_600_000;
const sweepsAtOnce = 12;
const clock = { nowMs: 10 * hourMs };
let db: GatewayDatabase;
let keys: AgentKeys;
let sweeps: Sweeps;
let chain: WatchedChain;
let block: number;
let told: string[];
/** The nodes' counts of each address. */
let counted: Map<string, SlotCounts>;

const usdt: GatewayCurrency = {
  ...{
    id: "usdt",
    chain: "local",
    network,
    name: "",
    symbol: "",
    decimal: 6,
    contract: "0xc",
    minPaymentAmount: "1",
  },
  ...{
    minWithdrawAmount: "1",
    paymentTolerance: "0",
    surplusTolerance: "0",
    enabled: true,
    depositOnly: false,
  },
  ...{ preset: "", market: "", listUnpriced: false },
  sweep: { isAutomatic: true, feeMultiple: 10, least: "1" },
};

beforeEach(() => {
  db = gatewayDatabase();
  keys = pairAgent(db.store);
  clock.nowMs = 10 * hourMs;
  [block, told, counted] = [1, [], new Map()];
  const paired = JSON.stringify([
    { id: "usdt", network, contract: "0xc", decimal: 6, maxFee: "0.01" },
  ]);
  db.store.database.run("UPDATE agents SET caughtUp = ?, currencies = ?", run, paired);
  callLevel(db.store.database, run);
  db.store.write((database) => keepNativeCoins(database, new Map([[network, "eth"]])));
  const signals = createSignals();
  signals.on("void", ({ transactionId }) => told.push(transactionId));
  const lifetimes = { depositMinutes: 60, withdrawalHours: 24, approvalDays: 7 };
  const config = { currencies: { usdt }, lifetimes, sweepsAtOnce } as unknown as Parameters<
    typeof createSweeps
  >[0]["config"];
  sweeps = createSweeps({
    store: db.store,
    signals,
    config,
    log: silentLog,
    clock: () => clock.nowMs,
    run,
  });
  const reader = {
    balance: () => Promise.resolve(10n ** 18n),
    cost: () => Promise.resolve({ ok: true, feeUnits: 1n }),
    closed: (account: string) => Promise.resolve(counted.get(account) ?? slotCounts(0)),
  };
  chain = {
    ...{
      name: "local",
      network,
      reader,
      currencies: [usdt],
      tokens: { confirmed: new Set(), out: new Map(), askedAt: null },
    },
    ...{ store: db.store, signals, log: silentLog, clock: () => clock.nowMs, run },
    faults: new FaultBook(() => clock.nowMs),
  } as unknown as WatchedChain;
});
afterEach(() => db.remove());

const slotCounts = (final: number, change: Partial<SlotCounts> = {}): SlotCounts => ({
  ...{
    final: BigInt(final),
    latest: BigInt(final),
    pending: BigInt(final),
    quorum: 2,
    isSame: true,
  },
  ...change,
});

async function passes(): Promise<void> {
  block += 1;
  const at = { number: block, hash: `0x${block}` };
  await sweeps.onPass(chain, { head: at, final: at, askedAt: clock.nowMs });
}

/** A deposit address on which `units` lie. */
function paidTo(number: number, units = 5_000_000n): string {
  const address = `0x${number.toString(16).padStart(40, "0")}`;
  const id = number.toString(16).padStart(32, "d");
  insertTransaction(db.store, {
    id,
    operation: "deposit",
    orderId: `in-${number}`,
    address,
    payTo: address,
    status: 1,
  });
  db.store.write((database) => {
    haveAddress(db.store, {
      address,
      agent: keys.id,
      addressIndex: number,
      request: id,
    });
    keepFinalPayment(database, {
      ...{
        network,
        txHash: `0x${number}`,
        logIndex: 0,
        address,
        currency: "usdt",
        block: 1,
        blockHash: "0x2",
      },
      ...{ transactionId: id, units: `${units}`, final: 1 },
    });
  });
  return address;
}

const ordered = (address: string): readonly SweepRow[] =>
  readAll(db.store, "sweep").filter(({ payer }) => payer === address);
const newest = (address: string): SweepRow => ordered(address).at(-1)!;
const notes = () =>
  listSweepNotes(db.store.database, network).map(({ address, reason }) => [address, reason]);
const jobOf = ({ id }: SweepRow): Job =>
  JSON.parse(
    db.store.database.get<{ text: string }>("SELECT text FROM jobs WHERE transactionId = ?", id)!
      .text,
  ) as Job;

/** As the hub takes its agent's word: signed on this slot, and out. */
function signs({ id, payer: account }: SweepRow, slot: string): void {
  db.store.write((database) => {
    insertSlot(database, { network, account, slot }, id);
    insertSignature(database, {
      ...{
        transactionId: id,
        attempt: 1,
        agent: keys.id,
        network,
        account,
        slot,
        txHash: `0x${id}`,
      },
      ...{ feeMax: "1", seq: 1, validUntilMs: 0, pin: "", cancel: 0 },
    });
    updateWithdrawal(database, id, { stage: "broadcast" }, clock.nowMs);
  });
}

function completes({ id }: SweepRow): void {
  const how = {
    status: 1,
    stage: "completed",
    code: "",
    txHash: `0x${id}`,
    feeUnits: "1",
    finalBlock: 5,
    changedAt: 20,
  } as const;
  db.store.write((database) => endWithdrawal(database, id, how));
}

/** As the hub takes `expired` of a sweep that is unreachable here. */
function ends({ id }: SweepRow): void {
  db.store.write((database) =>
    updateWithdrawal(
      database,
      id,
      { status: 2, stage: "expired", code: "SWEEP_UNREACHABLE" },
      clock.nowMs,
    ),
  );
}

describe("the slot that a sweep's job names", () => {
  it("the slot in a job is what the nodes count, also if a restored database knows of none", async () => {
    const [fresh, forgotten] = [paidTo(1), paidTo(2)];
    counted.set(forgotten, slotCounts(3));
    await passes();
    expect([jobOf(newest(fresh)).depositNext, jobOf(newest(forgotten)).depositNext]).toEqual([
      "0",
      "3",
    ]);
  });

  it("the slot in a job is the one after the last sweep's, by both words", async () => {
    const address = paidTo(1);
    await passes();
    signs(newest(address), "0");
    completes(newest(address));
    db.store.database.run(
      "UPDATE accounts SET units = '5000000', heldUnits = '0' WHERE address = ? AND currency = 'usdt'",
      address,
    );
    await passes();
    expect([ordered(address).length, notes()]).toEqual([1, [[address, "slot_behind"]]]);
    counted.set(address, slotCounts(1, { pending: 2n }));
    await passes();
    expect([ordered(address).length, notes()]).toEqual([1, [[address, "slot_moving"]]]);
    counted.set(address, slotCounts(1, { isSame: false }));
    await passes();
    expect([ordered(address).length, notes()]).toEqual([1, [[address, "slot_moving"]]]);
    counted.set(address, slotCounts(1));
    await passes();
    expect([ordered(address).length, notes(), jobOf(newest(address)).depositNext]).toEqual([
      2,
      [],
      "1",
    ]);
  });
});

describe("a sweep that the chain cannot reach", () => {
  it("a sweep that no block can take is named once it stood still, and freed when the count comes there", async () => {
    const address = paidTo(1);
    await passes();
    signs(newest(address), "7");
    await passes();
    expect(newest(address)).toMatchObject({ stage: "broadcast", code: "" });
    clock.nowMs += hourMs;
    await passes();
    expect(newest(address)).toMatchObject({ status: 0, stage: "stuck", code: "SWEEP_UNREACHABLE" });
    expect([notes(), told]).toEqual([[[address, "slot_unreachable"]], [newest(address).id]]);
    expect(listUnreachable(db.store.database, keys.id)).toEqual([newest(address).id]);
    counted.set(address, slotCounts(7));
    clock.nowMs += hourMs;
    await passes();
    expect(newest(address)).toMatchObject({ status: 0, stage: "broadcast", code: "" });
    expect([notes(), listUnreachable(db.store.database, keys.id)]).toEqual([[], []]);
  });

  it.each([
    ["the count is its slot", slotCounts(7)],
    ["the nodes do not agree", slotCounts(0, { isSame: false })],
    ["something moves", slotCounts(0, { latest: 1n })],
  ])("a sweep of an address is not named while %s", async (_, count) => {
    const address = paidTo(1);
    await passes();
    signs(newest(address), "7");
    counted.set(address, count);
    clock.nowMs += hourMs;
    await passes();
    expect(newest(address)).toMatchObject({ stage: "broadcast", code: "" });
  });

  it("twelve sweeps that the chain cannot reach take no place of the thirteenth, and their ends give all of it back", async () => {
    const addresses = Array.from({ length: sweepsAtOnce }, (_, at) => paidTo(at + 1));
    await passes();
    for (const address of addresses) signs(newest(address), "1000000");
    const thirteenth = paidTo(13);
    await passes();
    expect(ordered(thirteenth)).toHaveLength(0);
    clock.nowMs += hourMs;
    await passes();
    await passes();
    expect(ordered(thirteenth)).toHaveLength(1);
    for (const address of addresses) ends(newest(address));
    expect(
      addresses.map((address) => unsweptBalanceOf(db.store.database, address, network, "usdt")),
    ).toEqual(addresses.map(() => 5_000_000n));
    await passes();
    // One place is the thirteenth's.
    const again = addresses.filter((address) => ordered(address).length === 2);
    expect(again).toHaveLength(sweepsAtOnce - 1);
    expect(again.map((address) => jobOf(newest(address)).depositNext)).toEqual(
      again.map(() => "0"),
    );
    expect(ordered(again[0]!).map(({ orderId }) => orderId)).toEqual([
      `${again[0]}/1`,
      `${again[0]}/2`,
    ]);
  });

  it("twelve sweeps that an operator has to look at take no place of the thirteenth", async () => {
    const addresses = Array.from({ length: sweepsAtOnce }, (_, at) => paidTo(at + 1));
    await passes();
    const stick = (address: string): boolean =>
      db.store.write((database) =>
        updateWithdrawal(database, newest(address).id, { stage: "stuck" }, clock.nowMs),
      );
    for (const address of addresses) stick(address);
    const thirteenth = paidTo(13);
    await passes();
    expect(ordered(thirteenth)).toHaveLength(1);
  });

  it("a sweep that its agent ended before this gateway saw why ends once its own nodes say so", async () => {
    const address = paidTo(1);
    await passes();
    const sweep = newest(address);
    signs(sweep, "7");
    db.store.write((database) => keepExpiryStatement(database, sweep.id, "SWEEP_UNREACHABLE", 1));
    counted.set(address, slotCounts(7));
    clock.nowMs += hourMs;
    await passes();
    expect(readTransaction(db.store, sweep.id)).toMatchObject({ status: 0, stage: "broadcast" });
    counted.set(address, slotCounts(0));
    clock.nowMs += hourMs;
    await passes();
    expect(readTransaction(db.store, sweep.id)).toMatchObject({
      status: 2,
      stage: "expired",
      code: "SWEEP_UNREACHABLE",
    });
  });
});

describe("the slot of an ended sweep", () => {
  async function endedAtOne(): Promise<{
    readonly address: string;
    readonly sweep: SweepRow;
  }> {
    const address = paidTo(1);
    await passes();
    const sweep = newest(address);
    signs(sweep, "1");
    ends(sweep);
    return { address, sweep };
  }

  it("is given to no other, and when the chain has passed it the sweep is open again", async () => {
    const { address, sweep } = await endedAtOne();
    counted.set(address, slotCounts(1));
    await passes();
    expect([ordered(address).length, notes()]).toEqual([1, [[address, "slot_ended"]]]);
    counted.set(address, slotCounts(2));
    await passes();
    expect([ordered(address).length, readTransaction(db.store, sweep.id).status]).toEqual([1, 0]);
    completes(sweep);
    expect(unsweptBalanceOf(db.store.database, address, network, "usdt")).toBe(0n);
  });

  it("is looked at each hour, also where nothing of its address is to be swept", async () => {
    const { address, sweep } = await endedAtOne();
    db.store.database.run("UPDATE accounts SET units = heldUnits");
    counted.set(address, slotCounts(1));
    await passes();
    counted.set(address, slotCounts(2));
    await passes();
    expect(readTransaction(db.store, sweep.id).status).toBe(2);
    clock.nowMs += hourMs;
    await passes();
    expect(readTransaction(db.store, sweep.id)).toMatchObject({
      status: 0,
      stage: "broadcast",
      code: "",
    });
  });

  it("moves no account of a recovery beyond what is used", async () => {
    const { address } = await endedAtOne();
    await passes();
    signs(newest(address), "0");
    const recovery = {
      agent: keys.id,
      ledgerEpoch: 3,
      at: 1,
      heldSeq: 0,
      heldHash: "",
      takenAt: null,
      mark: "m",
    } as RecoveryRow;
    const asking = { hello: { nonce: "n", open: [] }, sign: () => "s", nowMs: clock.nowMs };
    const [order] = makeRecoveryOffer(
      db.store.database,
      readAgent(db.store, keys.id),
      recovery,
      asking,
    );
    expect(order?.accounts).toMatchObject([{ account: address, next: "1" }]);
  });
});
