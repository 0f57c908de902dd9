/**
 * Sweeps on a chain where only expiry excludes a second payment, beside the fake for
 * java-tron: the order and the amount of payments, the worth of a sweep against its fee, and the
 * end of a sweep whose top-up no block took. tronweb signs in the place of the agent.
 */
import { beforeEach, describe, expect, it } from "vitest";
import type { UnusableCoin } from "../../chains/nodes.ts";
import { unsweptBalanceOf } from "../../gateway/store/journal.ts";
import { keepNativeCoins } from "../../gateway/store/posting.ts";
import type { RowsByOperation, SweepRow, TopUpRow } from "../../gateway/store/rows.ts";
import { createSignals } from "../../gateway/store/signals.ts";
import { listSweepNotes } from "../../gateway/store/sweeps.ts";
import { markVoid } from "../../gateway/store/void-attempts.ts";
import { updateWithdrawal } from "../../gateway/store/withdrawals.ts";
import { createSweeps } from "../../gateway/sweeps/sweeps.ts";
import {
  insertTransaction,
  readAll,
  readTransaction,
  silentLog,
} from "../../lab/kit/gateway-database.ts";
import { type Inhabitant, inhabitant, sender, usdt } from "../support/tron-network.ts";
import {
  alarms,
  clock,
  configOf,
  db,
  depositAddress,
  eachTestItsNetwork,
  isVoid,
  network,
  outlive,
  passes,
  readsAll,
  row,
  run,
  sign,
  testNetwork,
  until,
  watch,
} from "../support/waiting-gateway.ts";

eachTestItsNetwork();

const customer = inhabitant("a customer");
const hourMs = 3_600_000;
/** Coins that the chain's reader says nothing can spend. */
let large: readonly UnusableCoin[] = [];

beforeEach(async () => {
  testNetwork.node.fund(customer.address, 10_000_000_000n);
  testNetwork.node.mint(usdt, customer.address, 1_000_000_000n);
  testNetwork.node.chain.mine(6);
  db.store.write((database) => keepNativeCoins(database, new Map([[network, "trx"]])));
  const lifetimes = {
    depositMinutes: 60,
    confirmingHours: 24,
    withdrawalHours: 1,
    approvalDays: 1,
  };
  const config = { ...configOf(), lifetimes, sweepsAtOnce: 4 };
  const signals = createSignals();
  const sweeps = createSweeps({
    store: db.store,
    signals,
    config,
    log: silentLog,
    clock: () => clock.nowMs,
    run,
  });
  large = [];
  await watch({
    onPass: (chain, tip) => {
      const cost = async () =>
        ({ ok: true, feeUnits: 1n, mostUnits: 0n, unusable: large }) as const;
      return sweeps.onPass(
        large.length === 0 ? chain : { ...chain, reader: { ...chain.reader, cost } },
        tip,
      );
    },
  });
});

const ordered = <T extends "sweep" | "topup">(operation: T): readonly RowsByOperation[T][] =>
  readAll(db.store, operation);

const jobs = (): readonly { readonly transactionId: string }[] =>
  db.store.database.all("SELECT transactionId FROM jobs ORDER BY sequence");

async function pays(to: Inhabitant, units: bigint, isToken = true): Promise<void> {
  const paid = isToken
    ? testNetwork.token(customer, usdt, to.address, units)
    : testNetwork.coins(customer, to.address, Number(units));
  expect(await testNetwork.send(paid)).toMatchObject({ result: true });
  testNetwork.node.chain.mine(7);
  await readsAll();
}

/** A block now and then, as on a real chain: a question at one block comes again at the next. */
async function comesTo(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 40 && !holds(); turn += 1) {
    await new Promise((done) => setTimeout(done, 40));
    if (!holds()) testNetwork.node.chain.mine(1);
  }
  await until(holds);
}

/** So many blocks more, each looked at. */
async function lives(blocks: number): Promise<void> {
  for (let made = 0; made < blocks; made += 1) {
    testNetwork.node.chain.mine(1);
    await readsAll();
    await passes();
  }
}

/** Signs the payment of a row, as the agent would, and sends it. */
async function carriesOut(id: string, from: Inhabitant = sender): Promise<void> {
  const { signed } = sign(id, 1, { from });
  expect(await testNetwork.send(signed)).toMatchObject({ result: true });
  testNetwork.node.chain.mine(7);
  await until(() => row(id).status !== 0);
}

describe("a sweep of a token", () => {
  it("from an address that the chain does not know begins with one top-up, which pays for its life and for the sweep", async () => {
    const at = depositAddress("a deposit address");
    await pays(at, 50_000_000n);
    await comesTo(() => ordered("topup").length > 0);
    const [topUp] = ordered("topup") as [TopUpRow];
    const [sweep] = ordered("sweep") as [SweepRow];
    expect([sweep.stage, sweep.units, jobs().map(({ transactionId }) => transactionId)]).toEqual([
      ...["queued", "50000000"],
      [sweep.id, topUp.id],
    ]);
    expect(topUp).toMatchObject({
      payer: sender.address,
      receiver: at.address,
      orderId: sweep.id,
      currency: "usdt",
    });
    const before = testNetwork.node.balance(sender.address);
    await carriesOut(topUp.id);
    // A new account costs its maker 1 TRX, and bandwidth that no free bytes pay.
    expect(
      before - testNetwork.node.balance(sender.address) - BigInt(topUp.units),
    ).toBeGreaterThanOrEqual(1_000_000n);
    expect(row(sweep.id).stage).toBe("queued");
    expect(ordered("topup")).toHaveLength(1);
    await carriesOut(sweep.id, at);
    expect(row(sweep.id)).toMatchObject({ status: 1, stage: "completed" });
    const held = (currency: string): bigint =>
      unsweptBalanceOf(db.store.database, at.address, network, currency);
    expect([held("usdt"), testNetwork.node.balance(at.address, usdt)]).toEqual([0n, 0n]);
    expect(held("trx")).toBe(testNetwork.node.balance(at.address));
    expect([ordered("topup").length, alarms()]).toEqual([1, []]);
  });

  it("from an address with coins enough needs no top-up", async () => {
    const at = depositAddress("a deposit address");
    testNetwork.node.fund(at.address, 100_000_000n);
    await pays(at, 50_000_000n);
    await comesTo(() => ordered("sweep").length > 0);
    expect([ordered("sweep")[0]?.stage, ordered("topup")]).toEqual(["queued", []]);
  });

  it("is not ordered while the hot wallet cannot pay the top-up, and its own fee beside it", async () => {
    const at = depositAddress("a deposit address");
    db.store.database.run(
      'UPDATE agents SET currencies = replace(currencies, \'"maxFee":"40"\', \'"maxFee":"100000"\')',
    );
    await pays(at, 50_000_000n);
    await comesTo(() => listSweepNotes(db.store.database, network).length > 0);
    expect(listSweepNotes(db.store.database, network)).toMatchObject([
      { reason: "no_coin", currency: "usdt" },
    ]);
    db.store.database.run(
      'UPDATE agents SET currencies = replace(currencies, \'"maxFee":"100000"\', \'"maxFee":"40"\')',
    );
    await comesTo(() => ordered("topup").length > 0);
  });
});

describe("a top-up that no block took", () => {
  it("stands in the way of another sweep while it is open, and afterwards another one has its own", async () => {
    const at = depositAddress("a deposit address");
    await pays(at, 50_000_000n);
    await comesTo(() => ordered("topup").length > 0);
    const [topUp] = ordered("topup") as [TopUpRow];
    const attempt = sign(topUp.id);
    outlive(attempt);
    await until(() => isVoid(attempt.txHash));
    // The sweep is void and still open: the agent may sign it again, so nobody orders a second one.
    clock.nowMs += 2 * hourMs;
    await lives(3);
    expect([ordered("sweep").length, ordered("topup").length, row(topUp.id).status]).toEqual([
      1, 1, 0,
    ]);
    // The hub takes the agent's word in the same way; the word ends a sweep that has run out.
    const runsOut = (id: string): boolean =>
      db.store.write((database) =>
        updateWithdrawal(
          database,
          id,
          { status: 2, stage: "expired", code: "JOB_EXPIRED" },
          clock.nowMs,
        ),
      );
    runsOut(ordered("sweep")[0]!.id);
    clock.nowMs += 2 * hourMs;
    await lives(3);
    expect(ordered("sweep")).toHaveLength(1);
    runsOut(topUp.id);
    expect(unsweptBalanceOf(db.store.database, at.address, network, "usdt")).toBe(50_000_000n);
    await comesTo(() => ordered("topup").length > 1);
    expect(ordered("topup").map(({ orderId }) => orderId)).toEqual(
      ordered("sweep").map(({ id }) => id),
    );
    expect(ordered("sweep").map(({ orderId }) => orderId)).toEqual([
      `${at.address}/1`,
      `${at.address}/2`,
    ]);
  });

  it("a sweep that no block took and that its agent gave up is ordered again from what the top-up left", async () => {
    const at = depositAddress("a deposit address");
    await pays(at, 50_000_000n);
    await comesTo(() => ordered("topup").length > 0);
    await carriesOut(ordered("topup")[0]!.id);
    const sweep = ordered("sweep")[0]!;
    expect(row(sweep.id).stage).toBe("queued");
    const attempt = sign(sweep.id, 1, { from: at });
    db.store.write((database) => {
      markVoid(database, { ...attempt, transactionId: sweep.id }, 9);
      updateWithdrawal(
        database,
        sweep.id,
        { status: 2, stage: "expired", code: "JOB_EXPIRED" },
        clock.nowMs,
      );
    });
    clock.nowMs += hourMs;
    await comesTo(() => ordered("sweep").length > 1);
    expect([ordered("sweep")[1]?.stage, ordered("topup").length]).toEqual(["queued", 1]);
  });
});

describe("sweeps that are stuck", () => {
  const stick = (id: string): boolean =>
    db.store.write((database) => updateWithdrawal(database, id, { stage: "stuck" }, clock.nowMs));
  const pays4 = async (): Promise<void> => {
    for (let at = 0; at < 4; at += 1) await pays(depositAddress(`one of four ${at}`), 50_000_000n);
    await comesTo(() => ordered("topup").length === 4);
  };

  it("sweeps that are stuck, by themselves or by their top-up, take no place of others; those on their way do", async () => {
    await pays4();
    const fifth = depositAddress("the fifth");
    await pays(fifth, 50_000_000n);
    await lives(3);
    expect(ordered("sweep")).toHaveLength(4);
    stick(ordered("sweep")[0]!.id);
    await comesTo(() => ordered("sweep").length === 5);
    await pays(depositAddress("the sixth"), 50_000_000n);
    await lives(3);
    expect(ordered("sweep")).toHaveLength(5);
    stick(ordered("topup")[1]!.id);
    await comesTo(() => ordered("sweep").length === 6);
  });

  it("twenty sweeps that are stuck stop the next one, and the list says so; nineteen do not", async () => {
    const stuckBefore = (count: number): void => {
      const { id } = ordered("sweep")[0]!;
      const row = readTransaction(db.store, id);
      for (let at = 0; at < count; at += 1) {
        const other = `${at}`.padStart(32, "5");
        insertTransaction(db.store, {
          ...row,
          id: other,
          orderId: `T${at}/1`,
          payer: `T${at}`,
          stage: "stuck",
        });
      }
    };
    await pays(depositAddress("the first"), 50_000_000n);
    await comesTo(() => ordered("sweep").length === 1);
    stuckBefore(19);
    await pays(depositAddress("beside nineteen"), 50_000_000n);
    await comesTo(() => ordered("topup").length === 2);
    stick(ordered("sweep")[0]!.id);
    const at = depositAddress("beside twenty");
    await pays(at, 50_000_000n);
    await comesTo(() => listSweepNotes(db.store.database, network).length > 0);
    expect(listSweepNotes(db.store.database, network)).toMatchObject([
      { address: at.address, reason: "sweeps_stuck", detail: "20" },
    ]);
    expect(ordered("topup")).toHaveLength(2);
  });
});

describe("a sweep of the coin", () => {
  it("leaves what it can cost, and is not ordered where that is too much of it", async () => {
    const [rich, poor] = [depositAddress("rich"), depositAddress("poor")];
    await pays(rich, 100_000_000n, false);
    await pays(poor, 5_000_000n, false);
    await comesTo(
      () => ordered("sweep").length > 0 && listSweepNotes(db.store.database, network).length > 0,
    );
    const [sweep] = ordered("sweep") as [SweepRow];
    // 277 bytes at 1,000 sun each, and no activation: the hot wallet is there.
    expect(sweep).toMatchObject({
      payer: rich.address,
      currency: "trx",
      units: `${100_000_000 - 277_000}`,
    });
    expect(listSweepNotes(db.store.database, network)).toMatchObject([
      { address: poor.address, reason: "below_fee" },
    ]);
    await carriesOut(sweep.id, rich);
    expect(row(sweep.id)).toMatchObject({ status: 1 });
    expect(unsweptBalanceOf(db.store.database, rich.address, network, "trx")).toBe(
      testNetwork.node.balance(rich.address),
    );
    expect([ordered("topup"), alarms()]).toEqual([[], []]);
  });

  it("is not ordered over coins that nothing can spend, and the reason stands at the address until that ends", async () => {
    const at = depositAddress("large");
    large = [
      {
        id: `${"ab".repeat(32)}:1`,
        units: 60_000_000n,
        words: "the transaction that made it has 100001 bytes",
      },
    ];
    await pays(at, 100_000_000n, false);
    const notes = () => listSweepNotes(db.store.database, network);
    await comesTo(() => notes().length > 0);
    expect(notes()).toMatchObject([{ address: at.address, reason: "coin_too_large" }]);
    expect(notes()[0]?.detail).toBe(
      `60 trx in coin ${"ab".repeat(32)}:1: the transaction that made it has 100001 bytes`,
    );
    expect(ordered("sweep")).toEqual([]);
    large = [];
    await comesTo(() => ordered("sweep").length > 0);
    expect(notes()).toEqual([]);
  });
});
