/**
 * A short run of `npm run faults -- --stream restored`: real processes of both sides are restored
 * to before some of their payments, and the shop asks for all of it again. The parts that draw a
 * run, judge a chain and stand in for a coin's daemon are shown what they have to tell apart.
 */
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { judgedRun, type RestoredOrder } from "../../lab/faults/restored/judge.ts";
import { planOf, wordsOf } from "../../lab/faults/restored/plan.ts";
import { playCell, restoredFamilies, restoredLackOf } from "../../lab/faults/restored/play.ts";
import { cellsOf, linesOf, together } from "../../lab/simulation/cells.ts";
import { readCoinRaw, writeCoinTransaction } from "../../lab/simulation/world/coin-raw.ts";
import { restoredCell } from "../../lab/simulation/world/restored-cells.ts";
import { MadeUpNode } from "../../lab/utxo-node/made-up.ts";
import { startsTheBuild } from "../support/built.ts";

/**
 * A run takes a minute on a busy machine; the long tier plays one, of a cell that the seed draws.
 */
describe("both sides of real processes, restored", () => {
  startsTheBuild();

  it("each order is paid once, and what waits says what to type", {
    timeout: 900_000,
  }, async () => {
    const seed = process.env.SEED ?? randomBytes(6).toString("hex");
    process.stderr.write(`restored: SEED=${seed}\n`);
    const at = Number.parseInt(seed.slice(0, 8), 16) || 0;
    const families = restoredFamilies.filter((family) => restoredLackOf(family) === null);
    const family = families[at % families.length] ?? "evm";
    const recovery = Math.floor(at / families.length) % 2 === 0 ? "with" : "without";
    const told: string[] = [];
    const report = await playCell(family, recovery, {
      ...{ runs: 1, recoveries: [recovery], seed, blockMs: 500 },
      say: (line) => told.push(line),
    });
    expect(report.violations, told.join("\n")).toEqual([]);
    expect(report).toMatchObject({ family, recovery, runs: 1 });
    expect(report.waited).toBeGreaterThan(0);
  });
});

it("a run is the seed's own, forgets a payment at least, and has its words", () => {
  const plans = Array.from({ length: 40 }, (_, at) => planOf("a", at + 1));
  expect(plans.every(({ after }) => after.paid > 0)).toBe(true);
  for (const isSo of ["isApprovedAfter", "isKilled", "isAtRest"] as const)
    expect(new Set(plans.map((plan) => plan[isSo]))).toEqual(new Set([true, false]));
  expect(planOf("a", 3)).toEqual(plans[2]);
  expect(planOf("b", 3)).not.toEqual(plans[2]);
  const plan = {
    ...{ atCopy: { paid: 0, held: 1, onItsWay: 2 }, after: { paid: 1, held: 0, onItsWay: 0 } },
    ...{ isApprovedAfter: true, isKilled: true, isAtRest: false, alike: 1 },
  };
  expect(wordsOf(plan)).toBe(
    "copy: 0 paid, 1 held, 2 on their way; later: 1 paid, 0 held, 0 on their way, held ones approved after it, killed, 1 alike",
  );
});

describe("the judge of a run", () => {
  const order = (orderId: string, receiver: string, txHash: string): RestoredOrder => ({
    ...{ orderId, receiver, units: 5n, transactionId: orderId, status: 1, txHash, before: [] },
  });
  const [one, alike, other] = [
    order("one", "r1", "t1"),
    order("alike", "r1", "t2"),
    order("other", "r2", "t3"),
  ];
  const payment = (txHash: string, receiver: string) =>
    [txHash, [{ txHash, receiver, units: 5n }]] as const;
  const sound = {
    transactions: new Map([payment("t1", "r1"), payment("t2", "r1"), payment("t3", "r2")]),
    held: new Map([
      ["r1", 10n],
      ["r2", 5n],
    ]),
    violations: [],
  };

  it("finds nothing if each order was paid by a transaction of its own", () => {
    expect(judgedRun([one, alike, other], sound)).toEqual([]);
  });

  it.each([
    [
      "a second payment",
      [one, alike, other],
      {
        ...sound,
        transactions: new Map([...sound.transactions, payment("t4", "r2")]),
        held: new Map([...sound.held, ["r2", 10n]]),
      },
      "other: PAID TWICE, 2 payments of 1 orders",
    ],
    [
      "one transaction for two orders",
      [one, { ...alike, txHash: "t1" }, other],
      sound,
      "one and alike: one transaction for two orders",
    ],
    [
      "a transaction that pays somebody else",
      [one, alike, { ...other, txHash: "t1" }],
      sound,
      "other: the shop was told t1, which does not pay it",
    ],
    [
      "an order without its end",
      [one, alike, { ...other, status: 0 }],
      sound,
      "other: status 0, not Completed",
    ],
    [
      "money that blocks do not explain",
      [one, alike, other],
      { ...sound, held: new Map([["r1", 10n]]) },
      "other: the receiver has undefined in place of 5",
    ],
    [
      "a fault of the chain",
      [one, alike, other],
      { ...sound, violations: ["no block"] },
      "no block",
    ],
  ])("finds %s", (_, orders, judged, words) => {
    expect(judgedRun(orders, judged)).toContain(words);
  });
});

describe("the table of the world both-restored", () => {
  const run = { restores: 2, hidden: 1, waited: 3, left: 1 };
  const told = { violation: null, apart: 1, restored: { ...restoredCell(1), ...run } };

  it("has ten cells, one after the other", () => {
    const cells = Array.from({ length: 20 }, (_, at) => JSON.stringify(restoredCell(at + 1)));
    expect(new Set(cells.slice(0, 10)).size).toBe(10);
    expect(cells.slice(10)).toEqual(cells.slice(0, 10));
  });

  it("sums runs of one cell, and counts a second payment apart from other faults", () => {
    const failed = (invariant: string) => ({
      ...told,
      apart: 0,
      violation: { invariant, detail: "" },
    });
    const name = "evm, without recovery";
    const all = [
      told,
      failed("no withdrawal is paid twice"),
      failed("a pin has one withdrawal"),
    ].map(cellsOf);
    expect(all.reduce(together)).toEqual({
      [name]: {
        runs: 3,
        restores: 6,
        violations: 2,
        twice: 1,
        hiding: 3,
        apart: 1,
        waited: 9,
        left: 3,
      },
    });
    expect(cellsOf({ ...told, restored: null })).toEqual({});
    expect(linesOf({})).toEqual([]);
    const [head, row] = linesOf(cellsOf(told));
    expect(head).toContain("paid twice by them");
    expect(row).toMatch(/^evm, without recovery +1 +2 +0 +0 +1 +1 +3 +1$/);
  });
});

describe("a stand-in for a coin's daemon", () => {
  const mine = (node: MadeUpNode, count: number, address: string) =>
    node.ask<string[]>("generatetoaddress", count, address);
  /** A coin of the faucet's, at an address of this node. */
  async function funded(node: MadeUpNode): Promise<string> {
    const script = (
      await node.ask<{ scriptPubKey: string }>(
        "validateaddress",
        await node.ask<string>("getnewaddress"),
      )
    ).scriptPubKey;
    const bare = `02000000000200e1f5050000000016${script}00e1f5050000000016${script}00000000`;
    const { hex } = await node.ask<{ hex: string }>("fundrawtransaction", bare);
    return node.ask<string>("sendrawtransaction", hex);
  }

  it.each(["bitcoin", "litecoin"] as const)(
    "of %s has the first block of its network, and blocks whose bytes say their hash",
    async (name) => {
      const node = new MadeUpNode(name);
      const miner = await node.ask<string>("getnewaddress");
      const txid = await funded(node);
      expect(await node.ask("getrawmempool")).toEqual([txid]);
      const [hash = ""] = await mine(node, 1, miner);
      expect(await node.ask("getbestblockhash")).toBe(hash);
      expect(await node.ask("getblockhash", 0)).toMatch(
        name === "bitcoin" ? /^0f9188f13cb7b2c7/ : /^530827f38f93b43e/,
      );
      const { tx } = await node.ask<{ tx: { txid: string }[] }>("getblock", hash, 2);
      expect(tx.map((one) => one.txid)).toContain(txid);
      const raw = await node.ask<string>("getrawtransaction", txid);
      expect(await node.ask<string>("getblock", hash, 0)).toContain(raw);
      await node.ask("invalidateblock", hash);
      expect(await node.ask("getrawmempool")).toEqual([txid]);
    },
  );

  it("takes no coin that is not there, and none that another key spends", async () => {
    const node = new MadeUpNode("bitcoin");
    const txid = await funded(node);
    const out = [{ units: 90_000_000n, script: `0014${"11".repeat(20)}` }];
    const [strange, stolen] = ["ab".repeat(32), txid].map(
      (from) => writeCoinTransaction([`${from}:0`], out).raw,
    );
    await expect(node.ask("sendrawtransaction", strange)).rejects.toThrow(
      "bad-txns-inputs-missingorspent",
    );
    await expect(node.ask("sendrawtransaction", stolen)).rejects.toThrow(
      "mandatory-script-verify-flag-failed",
    );
    expect(await node.refusal("testmempoolaccept", ["00"])).toMatch(/decode failed/);
    expect(readCoinRaw(stolen ?? "")?.inputs[0]?.coin).toBe(`${txid}:0`);
  });
});
