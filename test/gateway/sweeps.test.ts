/**
 * The sums of deposit addresses (held, on the way, arrived) over random histories: a unit that was
 * paid in is in exactly one of the sums, and a start counts the same. The amounts that are worth a
 * sweep, and the reason for which the rest waits.
 */

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { GatewayCurrency } from "../../gateway/config/config.ts";
import { sweepSettingsOf } from "../../gateway/config/sweep-settings.ts";
import { unsweptBalanceOf } from "../../gateway/store/journal.ts";
import { keepDetectedPayment, keepFinalPayment } from "../../gateway/store/payments.ts";
import { keepNativeCoins } from "../../gateway/store/posting.ts";
import { correctReservedSums } from "../../gateway/store/reserved.ts";
import type { SweepRow, TopUpRow } from "../../gateway/store/rows.ts";
import {
  listSweepable,
  listSweepsAwaitingTopUp,
  openSweepUnits,
  type SweepableRow,
  topUpOf,
} from "../../gateway/store/sweeps.ts";
import { endWithdrawal, updateWithdrawal } from "../../gateway/store/withdrawals.ts";
import { orderSweep, resumeToppedUpSweeps } from "../../gateway/sweeps/orders.ts";
import { judgeCandidate, measureSweep } from "../../gateway/sweeps/sweep-threshold.ts";
import { isRefused } from "../../lab/kit/database-tables.ts";
import {
  type AgentKeys,
  type GatewayDatabase,
  gatewayDatabase,
  haveAddress,
  insertTransaction,
  pairAgent,
  readAll,
} from "../../lab/kit/gateway-database.ts";
import { journalFaults } from "../../lab/kit/journal-audit.ts";
import { callLevel } from "../../lab/kit/level-reader.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { share } from "../../lab/kit/share.ts";

const network = "eip155:31337";
const run = "run 1";
const ordering = { run, nowMs: 10, lifetimeMs: 3_600_000 };
let db: GatewayDatabase;
let keys: AgentKeys;
let requests = 0;

beforeEach(() => {
  db = gatewayDatabase();
  keys = pairAgent(db.store);
  requests = 0;
  db.store.database.run("UPDATE agents SET caughtUp = ?", run);
  callLevel(db.store.database, run);
  db.store.write((database) => keepNativeCoins(database, new Map([[network, "eth"]])));
});
afterEach(() => db.remove());

/** A deposit request that has ended, with its address. */
function address(status: 0 | 1 = 1): string {
  requests += 1;
  const own = `0x${requests.toString(16).padStart(40, "0")}`;
  const id = requests.toString(16).padStart(32, "d");
  insertTransaction(db.store, {
    id,
    operation: "deposit",
    orderId: `in-${requests}`,
    address: own,
    payTo: own,
    status,
  });
  haveAddress(db.store, { address: own, agent: keys.id, addressIndex: requests, request: id });
  return own;
}

function pay(to: string, currency: string, units: bigint, hash: string, final: 0 | 1 = 1): void {
  const transactionId = Number.parseInt(to, 16).toString(16).padStart(32, "d");
  const payment = {
    network,
    txHash: hash,
    logIndex: 0,
    address: to,
    currency,
    block: 1,
    blockHash: "0x2",
    transactionId,
  };
  const keep = final === 1 ? keepFinalPayment : keepDetectedPayment;
  db.store.write((database) => keep(database, { ...payment, units: `${units}`, final }));
}

const rowOf = (at: string, currency: string): SweepableRow | undefined =>
  listSweepable(db.store.database, network).find(
    (row) => row.address === at && row.currency === currency,
  );

const open = (): readonly (SweepRow | TopUpRow)[] =>
  [...readAll(db.store, "sweep"), ...readAll(db.store, "topup")].filter(
    ({ status }) => status === 0,
  );

function order(row: SweepableRow, amountUnits: bigint, topUpUnits: bigint): void {
  const wanted = {
    ok: true,
    row,
    amountUnits,
    topUpUnits,
    decimal: row.currency === "eth" ? 18 : 6,
  } as const;
  db.store.write((database) => orderSweep(database, wanted, ordering));
}

function ends(row: Pick<SweepRow, "id">, status: 1 | 2, feeUnits: bigint): void {
  const how = {
    status,
    stage: "x",
    code: "" as const,
    txHash: "0x1",
    feeUnits: `${feeUnits}`,
    finalBlock: 5,
    changedAt: 20,
  };
  db.store.write((database) => endWithdrawal(database, row.id, how));
}

/** A wallet beside the database, reckoned from what happens alone. */
class Wallet {
  readonly lies = new Map<string, bigint>(); // by address and currency
  readonly hotWallet = new Map<string, bigint>();
  fees = 0n;

  add(at: string, currency: string, units: bigint): void {
    const map = at === "hot" ? this.hotWallet : this.lies;
    const key = at === "hot" ? currency : `${at} ${currency}`;
    map.set(key, (map.get(key) ?? 0n) + units);
  }
}

describe("paid-in money", () => {
  it.each(seedsOfRun(share(5, 1)))(
    "is in exactly one sum after each of 400 acts, seed %i",
    (seed) => {
      const seeded = new SeededRandom(seed);
      const wallet = new Wallet();
      const addresses = Array.from({ length: 4 }, () => address());
      for (let at = 0; at < 400; at += 1) {
        const [row] =
          seeded.below(3) === 0 ? open().slice(seeded.below(Math.max(1, open().length))) : [];
        if (row === undefined && seeded.below(2) === 0) {
          const to = seeded.pick(addresses);
          const currency = seeded.pick(["eth", "usdt"] as const);
          const units = 1n + 10n ** BigInt(seeded.below(30)) + BigInt(seeded.below(1_000_000));
          pay(to, currency, units, `0x${at}`, 0);
          if (seeded.below(4) > 0) {
            pay(to, currency, units, `0x${at}`);
            pay(to, currency, units, `0x${at}`); // read again after a rewind
            wallet.add(to, currency, units);
          }
        } else if (row === undefined) {
          const all = listSweepable(db.store.database, network).filter(
            ({ open: one, units }) => one === "" && BigInt(units) > 0n,
          );
          const found = all[seeded.below(Math.max(1, all.length))];
          if (found !== undefined) {
            const part = BigInt(found.units) - BigInt(seeded.below(2));
            if (part > 0n)
              order(found, part, found.currency === "usdt" ? BigInt(seeded.below(3)) * 500n : 0n);
          }
        } else if (
          db.store.database.get("SELECT 1 FROM jobs WHERE transactionId = ?", row.id) === undefined
        ) {
          db.store.write((database) => resumeToppedUpSweeps(database, network, { run, nowMs: 30 }));
        } else if (seeded.below(5) === 0) {
          db.store.write((database) =>
            updateWithdrawal(database, row.id, { status: 2, stage: "refused", code: "X" }, 1),
          );
        } else {
          const [status, fee] = [seeded.pick([1, 1, 1, 2] as const), BigInt(seeded.below(1_000))];
          ends(row, status, fee);
          const units = BigInt(row.units);
          const currency = row.operation === "topup" ? "eth" : row.currency;
          const from = row.operation === "topup" ? "hot" : row.payer;
          if (status === 1) wallet.add(from, currency, -units);
          if (status === 1)
            wallet.add(row.operation === "topup" ? row.receiver : "hot", currency, units);
          wallet.add(from, "eth", -fee);
          wallet.fees += fee;
        }
        const { database } = db.store;
        for (const currency of ["eth", "usdt"] as const) {
          let held = 0n;
          for (const one of addresses) held += unsweptBalanceOf(database, one, network, currency);
          let lies = 0n;
          for (const [key, units] of wallet.lies) if (key.endsWith(` ${currency}`)) lies += units;
          expect(held + openSweepUnits(database, "m1", currency)).toBe(lies);
        }
        if (at % 50 === 0)
          expect([journalFaults(database), db.store.write(correctReservedSums)]).toEqual([[], 0]);
      }
      expect(wallet.fees).toBeGreaterThan(0n);
      db.reopen();
      expect(journalFaults(db.store.database)).toEqual([]);
    },
  );

  it("is still counted when the database is opened again, and its operation is a known one", () => {
    const to = address();
    pay(to, "usdt", 7n, "0x1");
    db.reopen();
    expect(unsweptBalanceOf(db.store.database, to, network, "usdt")).toBe(7n);
    expect(db.store.database.get("SELECT count(*) AS n FROM payments")).toEqual({ n: 1 });
    order(rowOf(to, "usdt")!, 7n, 0n);
    const { database } = db.store;
    expect(isRefused(() => database.run("UPDATE transfers SET operation = 'gift'"))).toBe(true);
    expect(isRefused(() => database.run("UPDATE deposits SET origin = 'gift'"))).toBe(true);
  });
});

describe("an order", () => {
  it("of a sweep is made once: not beside an open one, not for more than is held, and twice after its end", () => {
    const to = address();
    pay(to, "usdt", 50n, "0x1");
    const row = rowOf(to, "usdt")!;
    order(row, 51n, 0n);
    expect(open()).toHaveLength(0);
    order(row, 30n, 0n);
    order(row, 10n, 0n);
    expect(open().map(({ units, orderId }) => [units, orderId])).toEqual([["30", `${to}/1`]]);
    ends(open()[0]!, 1, 0n);
    order(rowOf(to, "usdt")!, 20n, 0n);
    expect(open().map(({ orderId }) => orderId)).toEqual([`${to}/2`]);
  });

  it("of a sweep has its job before that of its top-up, and no other comes while that is open", () => {
    const to = address();
    pay(to, "usdt", 50n, "0x1");
    order(rowOf(to, "usdt")!, 50n, 9n);
    const [sweep, topUp] = ["sweep", "topup"].map(
      (one) => open().find(({ operation }) => operation === one)!,
    );
    const jobs = db.store.database.all<{ text: string }>("SELECT text FROM jobs ORDER BY sequence");
    expect(jobs.map(({ text }) => JSON.parse(text) as object)).toMatchObject([
      {
        mode: "sweep",
        address: "",
        depositAddress: to,
        currency: "usdt",
        transactionId: sweep!.id,
        sequence: 1,
      },
      {
        mode: "topup",
        address: "",
        depositAddress: to,
        depositIndex: 1,
        orderId: sweep!.id,
        sequence: 2,
      },
    ]);
    const fails = (id: string): boolean =>
      db.store.write((database) =>
        updateWithdrawal(database, id, { status: 2, stage: "expired", code: "JOB_EXPIRED" }, 1),
      );
    fails(sweep!.id);
    order(rowOf(to, "usdt")!, 50n, 9n);
    expect(open().map(({ id }) => id)).toEqual([topUp!.id]);
    fails(topUp!.id);
    order(rowOf(to, "usdt")!, 50n, 9n);
    expect(open()).toHaveLength(2);
  });

  it("of a sweep keeps its row when its top-up fails: its agent has the job, and says how it ends", () => {
    const to = address();
    pay(to, "usdt", 50n, "0x1");
    order(rowOf(to, "usdt")!, 50n, 9n);
    const topUp = open().find(({ operation }) => operation === "topup")!;
    db.store.write((database) =>
      updateWithdrawal(database, topUp.id, { status: 2, stage: "refused", code: "X" }, 1),
    );
    db.store.write((database) => resumeToppedUpSweeps(database, network, { run, nowMs: 30 }));
    expect(open().map(({ operation, stage }) => [operation, stage])).toEqual([["sweep", "queued"]]);
  });

  it("of a sweep that an earlier attempt made waits for its top-up, goes on behind it, or ends with it", () => {
    const [first, second] = [address(), address()];
    for (const to of [first, second]) {
      pay(to, "usdt", 50n, to);
      order(rowOf(to, "usdt")!, 50n, 9n);
    }
    const ofSweeps = "transactionId IN (SELECT id FROM sweeps)";
    db.store.database.run(`DELETE FROM jobs WHERE ${ofSweeps}`);
    expect(listSweepsAwaitingTopUp(db.store.database, network)).toHaveLength(2);
    const waiting = [...listSweepsAwaitingTopUp(db.store.database, network)].sort((a, b) =>
      a.payer < b.payer ? -1 : 1,
    );
    const [one, two] = waiting.map((sweep) => topUpOf(db.store.database, sweep)!);
    db.store.write((database) => resumeToppedUpSweeps(database, network, { run, nowMs: 30 }));
    expect(listSweepsAwaitingTopUp(db.store.database, network)).toHaveLength(2);
    ends(one!, 1, 1n);
    db.store.write((database) =>
      updateWithdrawal(
        database,
        two!.id,
        { status: 2, stage: "refused", code: "POLICY_ABOVE_DAY" },
        1,
      ),
    );
    db.store.write((database) => resumeToppedUpSweeps(database, network, { run, nowMs: 30 }));
    db.store.write((database) => resumeToppedUpSweeps(database, network, { run, nowMs: 30 }));
    const sweeps = [...readAll(db.store, "sweep")].sort((a, b) => (a.payer < b.payer ? -1 : 1));
    expect(sweeps.map(({ status, stage, code }) => [status, stage, code])).toEqual([
      [0, "queued", ""],
      [2, "failed", "POLICY_ABOVE_DAY"],
    ]);
    expect(unsweptBalanceOf(db.store.database, second, network, "usdt")).toBe(50n);
    const jobs = db.store.database.all<{ text: string }>("SELECT text FROM jobs ORDER BY sequence");
    expect(jobs.map(({ text }) => JSON.parse(text) as object)).toMatchObject([
      { mode: "topup", address: "", depositAddress: first, depositIndex: 1 },
      { mode: "topup", address: "", depositAddress: second },
      {
        mode: "sweep",
        address: "",
        depositAddress: first,
        currency: "usdt",
        transactionId: sweeps[0]!.id,
      },
    ]);
  });

  it("of a sweep is not made for a merchant who only receives", () => {
    const to = address();
    pay(to, "usdt", 50n, "0x1");
    expect(rowOf(to, "usdt")).toBeDefined();
    db.store.database.run("UPDATE addresses SET agent = NULL");
    expect(rowOf(to, "usdt")).toBeUndefined();
  });
});

const eth = {
  ...{
    id: "eth",
    chain: "local",
    network,
    name: "",
    symbol: "",
    decimal: 18,
    contract: "",
    minPaymentAmount: "1",
  },
  ...{
    minWithdrawAmount: "1",
    paymentTolerance: "0",
    surplusTolerance: "0",
    enabled: true,
    depositOnly: false,
    preset: "",
    market: "",
    listUnpriced: false,
  },
  sweep: { isAutomatic: true, feeMultiple: 20, least: "0.000000000000000005" },
} satisfies GatewayCurrency;

describe("a sweep's worth", () => {
  const rowFor = (change: Partial<SweepableRow> = {}): SweepableRow => ({
    ...{
      address: "0xa",
      network,
      currency: "eth",
      merchant: "m1",
      units: "1000",
      agent: "a",
      addressIndex: 1,
    },
    ...{ request: "r", requestStatus: 1, open: "", wishedAt: null },
    ...change,
  });
  const looked = (change: Partial<SweepableRow> = {}, over: object = {}) =>
    judgeCandidate({
      row: rowFor(change),
      currency: eth,
      isPayable: true,
      isOut: false,
      isHeld: false,
      last: undefined,
      nowMs: 10,
      ...over,
    });
  const failed = (code: string, changedAt = 0) => ({
    last: { status: 2, code, changedAt } as SweepRow,
  });

  it("is judged before the chain is asked, each no beside its twin", () => {
    expect(looked()).toEqual({ ok: true });
    expect(looked({ requestStatus: 0 })).toMatchObject({ reason: "request_open" });
    expect(looked({}, { currency: undefined })).toMatchObject({ reason: "currency_unknown" });
    expect(looked({}, { isPayable: false })).toMatchObject({ reason: "not_payable" });
    expect(looked({}, { isHeld: true })).toMatchObject({ reason: "currency_held" });
    expect(looked({}, { isOut: true })).toMatchObject({ reason: "out_of_service" });
    const byHand = { ...eth, sweep: { ...eth.sweep, isAutomatic: false } };
    expect(looked({}, { currency: byHand })).toMatchObject({ reason: "not_automatic" });
    expect(looked({ wishedAt: 1 }, { currency: byHand })).toEqual({ ok: true });
    expect(looked({ units: "4" })).toMatchObject({ reason: "below_least" });
    expect(looked({ units: "4", wishedAt: 1 })).toEqual({ ok: true });
  });

  it("a sweep waits for an operator after one that the chain took back, and an hour after any other that failed", () => {
    const hour = 3_600_000;
    expect(looked({}, { ...failed("chain_reverted"), nowMs: 99 * hour })).toMatchObject({
      reason: "last_sweep_failed",
    });
    expect(looked({ wishedAt: 1 }, failed("chain_reverted"))).toEqual({ ok: true });
    expect(looked({}, { ...failed("POLICY_ABOVE_DAY"), nowMs: hour - 1 })).toMatchObject({
      reason: "last_sweep_failed",
    });
    expect(looked({}, { ...failed("POLICY_ABOVE_DAY"), nowMs: hour })).toEqual({ ok: true });
  });

  it("a sweep of a coin is all that is there, less what it costs in its native coin; a token asks for what is missing", () => {
    const chain = { units: 1_000n, coinUnits: 0n, feeUnits: 50n, worth: null };
    expect(measureSweep(rowFor(), eth, chain)).toEqual({
      ok: true,
      amountUnits: 950n,
      topUpUnits: 0n,
    });
    expect(measureSweep(rowFor(), eth, { ...chain, feeUnits: 51n })).toMatchObject({
      reason: "below_fee",
    });
    expect(measureSweep(rowFor({ wishedAt: 1 }), eth, { ...chain, feeUnits: 51n })).toMatchObject({
      amountUnits: 949n,
    });
    expect(
      measureSweep(rowFor({ wishedAt: 1 }), eth, { ...chain, feeUnits: 1_000n }),
    ).toMatchObject({ reason: "below_fee" });
    const usdt = { ...eth, id: "usdt", contract: "0xc" };
    expect(measureSweep(rowFor(), usdt, chain)).toEqual({
      ok: true,
      amountUnits: 1_000n,
      topUpUnits: 50n,
    });
    expect(measureSweep(rowFor(), usdt, { ...chain, coinUnits: 20n })).toMatchObject({
      topUpUnits: 30n,
    });
    expect(measureSweep(rowFor(), usdt, { ...chain, coinUnits: 60n })).toMatchObject({
      topUpUnits: 0n,
    });
    expect(measureSweep(rowFor(), usdt, { ...chain, units: 900n })).toMatchObject({
      amountUnits: 900n,
    });
    expect(measureSweep(rowFor(), usdt, { ...chain, units: 0n })).toMatchObject({
      reason: "not_there",
    });
  });

  it("a sweep of a token waits while it would cost more than a tenth of what is there, by the prices of both", () => {
    // 2.85 dollars, as a sweep on Tron took of a deposit of 5 USDT.
    const worth = { price: 10n ** 18n, coinPrice: 3n * 10n ** 17n, coinDecimal: 6 };
    const sweep = sweepSettingsOf(undefined, { least: "5", isCoin: false });
    const usdt = { ...eth, id: "usdt", contract: "T", decimal: 6, sweep };
    const chain = { coinUnits: 0n, feeUnits: 9_500_000n, worth };
    const measured = (units: bigint, change: Partial<SweepableRow> = {}, over: object = {}) =>
      measureSweep(rowFor({ units: `${units}`, ...change }), usdt, { ...chain, units, ...over });
    expect(measured(28_499_999n)).toMatchObject({ ok: false, reason: "below_fee" });
    expect(measured(28_500_000n)).toMatchObject({ ok: true });
    expect(measured(5_000_000n, { wishedAt: 1 })).toMatchObject({ ok: true });
    expect(measured(5_000_000n, {}, { worth: null })).toMatchObject({ ok: true });
    const ownRule = { ...usdt, sweep: { ...sweep, feeMultiple: 1 } };
    expect(
      measureSweep(rowFor({ units: "5000000" }), ownRule, { ...chain, units: 5_000_000n }),
    ).toMatchObject({ ok: true });
  });
});
