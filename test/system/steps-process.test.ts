/**
 * A short run of `npm run faults -- --stream steps` on each family, with kills at some of the 13
 * steps; the long one is in docs/reliability.md, whose table of steps is held against the code's.
 * The parts that find a step and judge a chain are shown each case that they have to tell apart.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { LedgerRecord } from "../../agent/ledger/records.ts";
import { LedgerWatch } from "../../lab/faults/steps/ledger-watch.ts";
import { type AskedPayment, paidOnce } from "../../lab/faults/steps/orders.ts";
import { planOf, victims } from "../../lab/faults/steps/plan.ts";
import { playStepsOf, stepsFamilies, stepsLackOf } from "../../lab/faults/steps/play.ts";
import { Progress, steps } from "../../lab/faults/steps/steps.ts";
import { Gate, startHoldingProxy } from "../../lab/kit/holding-proxy.ts";
import { share } from "../../lab/kit/share.ts";
import { startsTheBuild } from "../support/built.ts";

const repository = new URL("../../", import.meta.url);

/** A kill takes half a minute on a busy machine; Litecoin is of Bitcoin's code. */
const kills = { bitcoin: share(4, 0), litecoin: share(2, 0), xrp: share(4, 1) } as const;

for (const family of stepsFamilies)
  if (stepsLackOf(family) !== null)
    process.stderr.write(`\n*** SKIPPED: steps on ${family}: ${stepsLackOf(family)}\n\n`);

describe("kills at the steps of a payout", () => {
  startsTheBuild();

  it.each(stepsFamilies.filter((family) => stepsLackOf(family) === null && kills[family] > 0))(
    "on %s each kill meets its step, and everybody is paid once",
    async (family) => {
      const seed = process.env.SEED ?? randomBytes(6).toString("hex");
      process.stderr.write(`steps on ${family}: SEED=${seed}\n`);
      const plan = { seed, kills: kills[family], blockMs: 600, only: null };
      const report = await playStepsOf(family, { ...plan, say: () => undefined });
      expect(report.violations).toEqual([]);
      const met = Object.values(report.table).map((row) =>
        Object.values(row).reduce((sum, one) => sum + one, 0),
      );
      expect(met.filter((count) => count === 1)).toHaveLength(plan.kills);
      expect(report.withdrawals).toBeGreaterThanOrEqual(plan.kills);
      expect(report.paidOnce).toBe(report.withdrawals);
    },
  );
});

it("a plan has each step as often as each other, with each victim in turn, and is the seed's own", () => {
  const rounds = planOf("a", 130, null);
  for (const step of steps) {
    const own = rounds.filter((round) => round.step === step);
    expect(own).toHaveLength(10);
    const counts = victims.map((victim) => own.filter((round) => round.victim === victim).length);
    expect([...counts].sort()).toEqual([3, 3, 4]);
  }
  expect(rounds.some(({ also }) => also !== null)).toBe(true);
  expect(rounds.every(({ also, victim }) => also !== victim)).toBe(true);
  expect(planOf("a", 130, null)).toEqual(rounds);
  expect(planOf("b", 130, null)).not.toEqual(rounds);
  expect(planOf("a", 4, 13).map(({ step }) => step.name)).toEqual(
    Array.from({ length: 4 }, () => "REPORTED"),
  );
});

it("the page on reliability has the table of the code", () => {
  const page = readFileSync(new URL("docs/reliability.md", repository), "utf8");
  for (const [at, { name, says }] of steps.entries())
    expect(page).toContain(`\n| ${at + 1} ${name} | ${says} |\n`);
});

describe("the steps in a ledger", () => {
  const transactionId = "11111111-1111-4111-8111-111111111111";
  const other = "22222222-2222-4222-8222-222222222222";
  const acked = (seq: number) => ({ seq, hash: "" });
  const observed = (seq: number, stage: string, of = transactionId) => ({
    kind: "OBSERVED",
    seq,
    stage,
    transactionId: of,
  });
  const requested = (of: string, orderId: string) => ({
    kind: "REQUESTED",
    transactionId: of,
    job: JSON.stringify({ orderId }),
  });
  const reachedBy = (...records: readonly object[]): readonly string[] => {
    const progress = new Progress("order-1");
    const jobs = [requested(other, "order-11"), requested(transactionId, "order-1")];
    for (const record of [...jobs, ...records]) progress.take(record as LedgerRecord);
    const [first, ...later] = progress.reached;
    expect(first).toBe("REQUESTED");
    return later;
  };

  it("records of another payout are no steps of this one", () => {
    const own = [
      { kind: "SIGNED", transactionId },
      { kind: "RELEASED", acked: acked(1), released: [{ transactionId, attempt: 1 }] },
    ];
    expect(reachedBy(...own)).toEqual(["SIGNED", "RELEASED"]);
    const others = [
      { kind: "SIGNED", transactionId: other },
      { kind: "RELEASED", acked: acked(1), released: [{ transactionId: other, attempt: 1 }] },
    ];
    expect(reachedBy(...others)).toEqual([]);
  });

  it("an acknowledgement counts once it covers the record of the end", () => {
    const end = [observed(7, "broadcast"), observed(8, "included"), observed(9, "final")];
    const stages = ["BROADCAST", "INCLUDED", "FINAL"];
    expect(reachedBy(...end, { kind: "REPORTED", acked: acked(8) })).toEqual(stages);
    expect(reachedBy(...end, { kind: "REPORTED", acked: acked(9) })).toEqual([
      ...stages,
      "REPORTED",
    ]);
    expect(reachedBy(...end, { kind: "RELEASED", acked: acked(9), released: [] })).toEqual([
      ...stages,
      "REPORTED",
    ]);
    expect(reachedBy(observed(9, "final", other), { kind: "REPORTED", acked: acked(9) })).toEqual(
      [],
    );
  });

  it("a record is told when its line is complete, also behind a tail that a start cut off", async () => {
    const folder = mkdtempSync(join(tmpdir(), "autowithdraw-steps-"));
    const file = join(folder, "1.jsonl");
    const line = (seq: number): string => `${JSON.stringify({ seq })}\n`;
    writeFileSync(file, line(1));
    const watch = new LedgerWatch(folder);
    const told: number[] = [];
    watch.follow((fresh) => told.push(...fresh.map(({ seq }) => seq)));
    writeFileSync(file, line(2) + line(3).slice(0, 4), { flag: "a" });
    watch.look();
    expect(told).toEqual([2]);
    truncateSync(file, (line(1) + line(2)).length);
    watch.look();
    writeFileSync(file, line(4), { flag: "a" });
    watch.look();
    expect(told).toEqual([2, 4]);
    expect(watch.records.map(({ seq }) => seq)).toEqual([1, 2, 4]);
    watch.close();
  });
});

describe("the judge of the chain", () => {
  const one: AskedPayment = {
    orderId: "order-1",
    receiver: "r1",
    units: 5n,
    transactionId: "",
    status: 1,
  };
  const two: AskedPayment = { ...one, orderId: "order-2", receiver: "r2", units: 6n };
  const payment = (txHash: string, receiver: string, units: bigint) => ({
    txHash,
    receiver,
    units,
  });
  const sound = {
    transactions: new Map([
      ["t1", [payment("t1", "r1", 5n)]],
      ["t2", [payment("t2", "r2", 6n)]],
    ]),
    held: new Map([
      ["r1", 5n],
      ["r2", 6n],
    ]),
    violations: [],
  };

  it("finds nothing if each receiver was paid once", () => {
    expect(paidOnce([one, two], sound)).toEqual([]);
  });

  it.each([
    [
      "a second transaction to one receiver",
      {
        ...sound,
        transactions: new Map([...sound.transactions, ["t3", [payment("t3", "r1", 5n)]]]),
      },
      "order-1: paid 2 times",
    ],
    [
      "one transaction that pays a receiver twice",
      {
        ...sound,
        transactions: new Map([
          ...sound.transactions,
          ["t1", [payment("t1", "r1", 5n), payment("t1", "r1", 5n)]],
        ]),
      },
      "t1 makes 2 payments",
    ],
    [
      "a payment to nobody who was to be paid",
      {
        ...sound,
        transactions: new Map([...sound.transactions, ["t3", [payment("t3", "r3", 1n)]]]),
      },
      "3 transactions for 2 withdrawals",
    ],
    [
      "a payment that is missing",
      { ...sound, transactions: new Map([["t1", [payment("t1", "r1", 5n)]]]) },
      "order-2: paid 0 times",
    ],
    [
      "another amount",
      {
        ...sound,
        transactions: new Map([...sound.transactions, ["t1", [payment("t1", "r1", 4n)]]]),
      },
      "order-1: paid another amount than 5",
    ],
    [
      "a balance that differs from the blocks",
      { ...sound, held: new Map([...sound.held, ["r2", 12n]]) },
      "order-2: its receiver has 12 in place of 6",
    ],
  ])("finds %s", (_, judged, words) => {
    expect(paidOnce([one, two], judged)).toContain(words);
  });

  it("finds an order that is not Completed", () => {
    expect(paidOnce([one, { ...two, status: 2 }], sound)).toEqual([
      "order-2: status 2, not Completed",
    ]);
  });
});

describe("a proxy that holds calls", () => {
  async function node() {
    const bodies: string[] = [];
    const server = createServer(async (asked, answer) => {
      let body = "";
      for await (const chunk of asked) body += String(chunk);
      bodies.push(body);
      answer.writeHead(201, { "x-told": "yes" });
      answer.end(`told ${body}`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const gate = new Gate();
    const proxy = await startHoldingProxy(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`,
      gate,
    );
    const ask = (body: string) => fetch(`${proxy.url}/tx`, { method: "POST", body });
    const close = async (): Promise<void> => {
      await proxy.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    return { bodies, gate, ask, close };
  }

  it("a question is held before the node has it, then passes or is dropped; others pass at once", async () => {
    const { bodies, gate, ask, close } = await node();
    const held = gate.hold("question", ({ path, body }) => path === "/api/tx" && body === "one");
    const asked = ask("one");
    await held.first;
    const other = await ask("two");
    expect([other.status, other.headers.get("x-told"), await other.text()]).toEqual([
      201,
      "yes",
      "told two",
    ]);
    expect(bodies).toEqual(["two"]);
    held.end("passes");
    expect(await (await asked).text()).toBe("told one");
    const again = gate.hold("question", ({ body }) => body === "three");
    const dropped = ask("three").catch(() => "broken");
    await again.first;
    again.end("is dropped");
    expect(await dropped).toBe("broken");
    expect(bodies).toEqual(["two", "one"]);
    await close();
  });

  it("an answer is held when the node has taken the call", async () => {
    const { bodies, gate, ask, close } = await node();
    const held = gate.hold("answer", () => true);
    const asked = ask("one");
    await held.first;
    expect(bodies).toEqual(["one"]);
    expect(await Promise.race([asked, sleep(50, "waits")])).toBe("waits");
    held.end("passes");
    expect(await (await asked).text()).toBe("told one");
    await close();
  });
});
