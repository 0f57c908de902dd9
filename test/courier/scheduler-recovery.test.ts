/**
 * The courier's scheduler after a recovery: a quarantined withdrawal is watched and not sent, and
 * one that lost its bytes gets new ones.
 */
import { describe, expect, it } from "vitest";
import { listOpenSlots } from "../../agent/courier/scheduler/accounts.ts";
import { gasFor } from "../support/scheduler-answers.ts";
import {
  account,
  asked,
  attemptOf,
  type Driver,
  drive,
  gwei,
  hashOf,
  idOf,
  only,
  sentView,
  viewOf,
} from "../support/scheduler-views.ts";

const outOf = (sequence: number, attempt = 1) =>
  attemptOf(attempt, {
    ...{ txHash: hashOf(sequence, attempt), isOut: true, txParams: null, feeMax: "0" },
  });
const quarantined = (sequence: number, attempts = [outOf(sequence)]) =>
  viewOf(sequence, "quarantined", { attempts });
const location = (driver: Driver, sequence: number) =>
  driver.feed({
    ...{ kind: "looked", chain: "local" },
    found: [
      {
        transactionId: idOf(sequence),
        location: { txHash: hashOf(sequence, 1), block: 30, blockHash: "0x30" },
        isDoubtful: false,
      },
    ],
  });

describe("the open slots of a hello", () => {
  const openAfter = (views: Parameters<typeof drive>[0]) =>
    listOpenSlots(drive(views).scheduler.book);

  it("the open slots lie between the lowest and the highest bound nonce, quarantined or not", () => {
    const views = [
      viewOf(4, "broadcast"),
      quarantined(2),
      viewOf(17, "included"),
      viewOf(29, "approved"),
    ];
    expect(openAfter(views)).toEqual([
      { network: "eip155:31337", account, first: "2", last: "17" },
    ]);
  });

  it("there are no open slots if nothing is bound", () => {
    expect(openAfter([viewOf(9, "approved"), viewOf(8, "held")])).toEqual([]);
    const driver = drive([viewOf(1, "approved")]);
    driver.block(10);
    expect(asked(gasFor(driver, 1))).toEqual(["sign:1"]);
    expect(listOpenSlots(driver.scheduler.book)).toEqual([]);
  });

  it("a slot is open until the gateway has confirmed its end; an unconfirmed end leaves it open", () => {
    const driver = drive([viewOf(4, "broadcast"), viewOf(5, "broadcast")]);
    driver.feed({ kind: "views", withdrawals: [viewOf(5, "paid", { changedAt: 9 })] });
    expect(listOpenSlots(driver.scheduler.book)).toMatchObject([{ first: "4", last: "5" }]);
    driver.feed({
      kind: "steps",
      withdrawals: [viewOf(5, "paid", { changedAt: 9, isOver: true })],
    });
    expect(listOpenSlots(driver.scheduler.book)).toMatchObject([{ first: "4", last: "4" }]);
  });
});

describe("a quarantined withdrawal", () => {
  it("is looked for under every hash and told of, and nothing of it is sent, replaced or signed", () => {
    const driver = drive([quarantined(1, [outOf(1), outOf(1, 2)])]);
    const effects = [...driver.block(10), ...driver.tick(120_000), ...driver.block(20)];
    expect(only(effects, "look")[0]?.wanted[0]?.txHashes).toEqual([hashOf(1, 1), hashOf(1, 2)]);
    expect(only(effects, "send")).toEqual([]);
    expect(asked(effects)).toEqual([]);
    expect(asked(location(driver, 1))).toEqual(["observed:1"]);
  });

  it("is told of to its end without waiting, though its state stays as it is", () => {
    const driver = drive([quarantined(1)]);
    driver.block(10);
    location(driver, 1);
    const answer = { ok: true, withdrawal: quarantined(1) } as const;
    driver.feed({ kind: "answered", verb: "observed", transactionId: idOf(1), answer });
    const chainOutcome = { outcome: "paid", txHash: hashOf(1, 1), block: 30 } as const;
    const effects = driver.feed({
      kind: "confirmed",
      chain: "local",
      found: [{ transactionId: idOf(1), chainOutcome }],
    });
    expect(only(effects, "ask")).toMatchObject([
      { verb: "observed", body: { stage: "final", outcome: "paid" } },
    ]);
  });

  it("binds its funds, so that nothing is signed on top that it may need", () => {
    const driver = drive([quarantined(1), viewOf(2, "approved")]);
    const funds = new Map([["", 10n ** 18n + 10n ** 17n]]);
    driver.block(10, { balances: funds });
    driver.feed({ kind: "gas", transactionId: idOf(2), answer: { ok: true, gasLimit: 21_000n } });
    expect(asked(driver.tick(1_000))).toEqual([]);
    expect(asked(driver.block(11))).toEqual(["sign:2"]);
  });
});

describe("an approved one whose bytes are gone", () => {
  const revived = () => viewOf(1, "released", { attempts: [outOf(1)] });
  const gas = (driver: Driver) =>
    driver.feed({ kind: "gas", transactionId: idOf(1), answer: { ok: true, gasLimit: 30_000n } });

  it("an approved withdrawal whose bytes are gone gets a further attempt at the market's price, once, after an estimate", () => {
    const driver = drive([revived()]);
    expect(only(driver.block(10), "gas")).toMatchObject([{ from: account }]);
    gas(driver);
    const [ask, ...more] = only(driver.tick(1_000), "ask");
    expect(more).toEqual([]);
    expect(ask).toMatchObject({
      verb: "replace",
      body: {
        transactionId: idOf(1),
        above: 1,
        txParams: { gasLimit: "30000", maxFeePerGas: `${21n * gwei}` },
      },
    });
    expect(asked(driver.tick(1_000))).toEqual([]);
  });

  it("an approved withdrawal whose bytes are gone gets none while a block has the old one, nor before an estimate that works", () => {
    const driver = drive([revived()]);
    driver.block(10);
    location(driver, 1);
    gas(driver);
    expect(asked(driver.tick(1_000)).filter((one) => one.startsWith("replace"))).toEqual([]);

    const other = drive([revived()]);
    other.block(10);
    const answer = { ok: false, code: "NODE_TIMEOUT", effect: "none", wouldRevert: false } as const;
    other.feed({ kind: "gas", transactionId: idOf(1), answer });
    expect(asked(other.tick(1_000))).toEqual([]);
    gas(other);
    expect(asked(other.tick(1_000))).toEqual(["replace:1"]);
  });

  it("an approved withdrawal that has its bytes is sent as ever", () => {
    const driver = drive([sentView(1, "released")]);
    const effects = driver.block(10);
    expect(only(effects, "gas")).toEqual([]);
    expect(asked(effects)).toEqual([]);
  });
});

describe("a locked signer", () => {
  it("is told the chain's count, and asked for no first nonce", () => {
    const over = { handshakeDone: false, locked: "LEDGER_BEHIND_GATEWAY" } as const;
    const unknown = [{ chain: "local", network: "eip155:31337", address: account, nextSlot: "" }];
    const driver = drive([], { ...over, accounts: unknown });
    expect(
      only(driver.block(10), "slotCounts").length + only(driver.tick(0), "slotCounts").length,
    ).toBeLessThanOrEqual(1);
    const answer = {
      ok: true,
      latest: 9n,
      pending: 9n,
      final: 9n,
      quorum: 2,
      isSame: true,
    } as const;
    const effects = driver.feed({ kind: "slotCounts", chain: "local", answer });
    expect(only(effects, "account")).toMatchObject([
      { body: { chain: "local", slot: "9", quorum: 2 } },
    ]);
    expect(only(effects, "adopt")).toEqual([]);
    const free = drive([], { accounts: unknown });
    free.block(10);
    expect(only(free.feed({ kind: "slotCounts", chain: "local", answer }), "adopt")).toHaveLength(
      1,
    );
  });
});
