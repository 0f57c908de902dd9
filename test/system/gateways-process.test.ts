/**
 * A short run of `npm run faults -- --stream gateways`: two real gateways on one PostgreSQL are
 * killed, frozen, failed over and restored under a flow of orders. The parts that draw a run and
 * judge the shop's books are shown what they have to tell apart.
 */
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { PostgresConnection } from "../../gateway/postgres/messages.ts";
import {
  beginAudit,
  countLateWrites,
  findWriter,
  readToken,
} from "../../lab/faults/gateways/audit.ts";
import { type JudgedBooks, judgedBooks, type ToldEvent } from "../../lab/faults/gateways/judge.ts";
import { planOf, wordsOf } from "../../lab/faults/gateways/plan.ts";
import { playGateways } from "../../lab/faults/gateways/play.ts";
import type { BookedDeposit, BookedWithdrawal } from "../../lab/faults/gateways/shop.ts";
import {
  connectTo,
  PostgresDatabases,
  postgresInstallLine,
  postgresPrograms,
  startPostgres,
} from "../../lab/kit/postgres.ts";
import { startsTheBuild } from "../support/built.ts";

const isHere = postgresPrograms() !== null;
if (!isHere) process.stderr.write(`no PostgreSQL on this machine: ${postgresInstallLine}\n`);

describe.skipIf(!isHere)("two gateways on one PostgreSQL, under faults", () => {
  startsTheBuild();

  it("each order is paid once, and each answered one is there", { timeout: 600_000 }, async () => {
    const seed = process.env.SEED ?? randomBytes(6).toString("hex");
    process.stderr.write(`gateways: SEED=${seed}\n`);
    const told: string[] = [];
    const counts = { kills: 2, freezes: 1, failovers: 1, restores: 1 };
    const report = await playGateways({
      ...{ ...counts, freezeMsMax: 20_000, seed },
      say: (line) => told.push(line),
    });
    expect(report.violations, told.join("\n")).toEqual([]);
    expect(report).toMatchObject(counts);
    expect(report.takeovers.count).toBeGreaterThanOrEqual(2);
    expect(report.repeated).toBeGreaterThan(0);
  });
});

it.skipIf(!isHere)(
  "the audit counts what a holder writes under a later number than its own",
  () => {
    const server = startPostgres();
    try {
      const url = new PostgresDatabases(server.urlOf).make();
      const [admin, old, next] = [connectTo(url), connectTo(url), connectTo(url)];
      const ask = (text: string) => admin.ask([{ text, values: [] }])[0]?.rows ?? [];
      const places = { ask };
      beginAudit(places);
      const write = (connection: PostgresConnection, name: string): void =>
        void connection.ask([{ text: `INSERT INTO meta VALUES ('${name}', '1')`, values: [] }]);
      write(old, "own");
      const token = readToken(places);
      const writer = findWriter(places, token) ?? 0;
      ask("UPDATE leases SET token = token + 1");
      write(next, "of the next holder");
      expect([writer > 0, countLateWrites(places, writer, token)]).toEqual([true, 0]);
      write(old, "late");
      expect(countLateWrites(places, writer, token)).toBe(1);
      for (const connection of [admin, old, next]) connection.close();
    } finally {
      server.stop();
    }
  },
);

it("a run is the seed's own, has each event as often as asked for, and has its words", () => {
  const counts = { kills: 20, freezes: 20, failovers: 20, restores: 20 };
  const plan = planOf("a", counts, 60_000);
  const count = (kind: string): number => plan.filter((event) => event.kind === kind).length;
  expect(["kill", "freeze", "failover", "restore"].map(count)).toEqual([20, 20, 20, 20]);
  for (const event of plan) {
    if (event.kind === "freeze") {
      expect(event.frozenMs).toBeGreaterThanOrEqual(5_000);
      expect(event.frozenMs).toBeLessThanOrEqual(60_000);
    }
    if (event.kind !== "failover") continue;
    expect(event.commits).toBeGreaterThanOrEqual(1);
    expect(event.commits).toBeLessThanOrEqual(500);
  }
  expect(planOf("a", counts, 60_000)).toEqual(plan);
  expect(planOf("b", counts, 60_000)).not.toEqual(plan);
  const words = [
    wordsOf({ kind: "kill", pauseMs: 0 }),
    wordsOf({ kind: "freeze", pauseMs: 0, frozenMs: 12_345 }),
    wordsOf({ kind: "failover", pauseMs: 0, commits: 7, toolMs: 2_000 }),
    wordsOf({ kind: "restore", pauseMs: 0, orders: 3 }),
  ];
  expect(words).toEqual([
    "kill -9 of the active gateway",
    "the active gateway frozen for 12.3 s",
    "the primary killed 7 commits ahead of its standby, promoted after 2.0 s",
    "a base backup restored after 3 orders more",
  ]);
});

describe("the judge of the shop's books", () => {
  const out: BookedWithdrawal = {
    ...{ orderId: "out-1", receiver: "r1", units: 5n, amount: "5", ids: ["t1"], answeredAtMs: 1 },
    ...{ transactionId: "t1", status: 1, code: "", txHash: "h1", before: [] },
  };
  const into: BookedDeposit = {
    ...{ orderId: "in-1", units: 2_000_001n, ids: ["d1"], addresses: ["a1"], answeredAtMs: 1 },
    ...{ paidTo: "a1", status: 1, received: "2.000001" },
  };
  const event = (id: string, type: string, transactionId: string, atMs = 10): ToldEvent => ({
    ...{ id, type, transactionId, sequence: 1, atMs },
  });
  const messages = [
    event("m1", "withdrawal.completed", "t1"),
    event("m1", "withdrawal.completed", "t1", 20),
    event("m2", "deposit.completed", "d1"),
  ];
  const payment = { txHash: "h1", receiver: "r1", units: 5n };
  const sound: JudgedBooks = {
    ...{ withdrawals: [out], deposits: [into], payments: [payment], held: new Map([["r1", 5n]]) },
    ...{ messages, listed: messages, losses: [], credited: 2_000_001n },
  };
  const again = event("m3", "withdrawal.completed", "t1", 50);

  it("finds nothing in sound books, nor in an event that was made again after lost commits", () => {
    expect(judgedBooks(sound)).toEqual([]);
    const losses = [{ fromMs: 5, untilMs: 40 }];
    expect(judgedBooks({ ...sound, losses, messages: [...messages, again] })).toEqual([]);
  });

  it.each<readonly [string, Partial<JudgedBooks>, string]>([
    [
      "a second payment",
      { payments: [payment, { ...payment, txHash: "h2" }] },
      "out-1: PAID TWICE, by 2 transactions",
    ],
    [
      "a payment that nobody asked for",
      { payments: [payment, { ...payment, txHash: "h2", receiver: "r2" }] },
      "h2 pays r2, and no order asks for it",
    ],
    [
      "an order that is Completed without its payment",
      { payments: [] },
      "out-1: Completed by h1, which does not pay it",
    ],
    [
      "an order that has not ended",
      { withdrawals: [{ ...out, status: 0 }] },
      "out-1: status 0 , not Completed, 1 payments",
    ],
    [
      "money that blocks do not explain",
      { held: new Map([["r1", 10n]]) },
      "out-1: the receiver has 10 in place of 5",
    ],
    [
      "an order that nobody took",
      { withdrawals: [{ ...out, ids: [], status: 0 }] },
      "out-1: never taken",
    ],
    [
      "an address that two orders have",
      { deposits: [into, { ...into, orderId: "in-2" }] },
      "a1 was given to in-1 and to in-2",
    ],
    [
      "a payment that was credited twice",
      { deposits: [{ ...into, received: "4.000002" }] },
      "in-1: 4.000002 was credited in place of 2000001 units",
    ],
    [
      "a payment that is lost",
      { credited: 0n },
      "customers paid 2000001 units, and the merchant's balance has 0",
    ],
    [
      "a deposit that has not ended",
      { deposits: [{ ...into, status: 0 }] },
      "in-1: status 0, not Completed",
    ],
    [
      "a customer who could not pay",
      { deposits: [{ ...into, paidTo: "" }] },
      "in-1: the customer could not pay",
    ],
    [
      "an event that was not delivered",
      { listed: [...messages, event("m9", "deposit.detected", "d1")] },
      "deposit.detected of d1 is listed, and was never delivered",
    ],
    [
      "an id of two events",
      { messages: [...messages, event("m1", "deposit.detected", "d1")] },
      "m1 names withdrawal.completed of t1, and then deposit.detected of d1",
    ],
    [
      "an event with two ids",
      { messages: [...messages, again] },
      "withdrawal.completed of t1 has two ids, m1 and m3",
    ],
    [
      "an event with two ids whose first came after the lost commits",
      { messages: [...messages, again], losses: [{ fromMs: 12, untilMs: 40 }] },
      "withdrawal.completed of t1 has two ids, m1 and m3",
    ],
    [
      "an end that the shop was not told",
      { messages: messages.slice(0, 2), listed: [] },
      "in-1: deposit.completed never came",
    ],
    [
      "an end that is none",
      { withdrawals: [{ ...out, status: 2, code: "c" }] },
      "out-1: withdrawal.completed came, and its status is 2",
    ],
  ])("finds %s", (_, change, words) => {
    expect(judgedBooks({ ...sound, ...change })).toContain(words);
  });
});
