/**
 * The journal of money against a model by another hand, which keeps plain facts and counts every
 * figure from nothing: after each act of a random history all figures of both are the same. The
 * histories that once went apart are kept as they were at their smallest.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EndFact, Fact, OrderFact, PaymentFact } from "../../lab/journal-model/fact.ts";
import { makeHistory } from "../../lab/journal-model/histories.ts";
import { huntMutant } from "../../lab/journal-model/hunt.ts";
import { journalMutants } from "../../lab/journal-model/mutants.ts";
import { loadPatched } from "../../lab/journal-model/patched.ts";
import { type Failure, play, type Step, shrink, wordsOf } from "../../lab/journal-model/play.ts";
import { cast, coins, deposits, evm, GatewayWorld, tags } from "../../lab/journal-model/world.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { patchText } from "../../lab/kit/patch.ts";
import { seedsOfRun } from "../../lab/kit/seeded.ts";
import { isLongTier, share } from "../../lab/kit/share.ts";

let world: GatewayWorld;
beforeAll(() => {
  world = new GatewayWorld();
});
afterAll(() => world.close());

const hotOn = (network: string, merchant: string): string =>
  cast.wallets.find(
    (one) => one.network === network && one.merchant === merchant && one.kind === "hot",
  )?.address ?? "";
const [hot, otherHot] = [hotOn(evm, "m1"), hotOn(evm, "m-b")];
const [taggedHot, otherTaggedHot] = [hotOn(tags, "m1"), hotOn(tags, "m-b")];

/** A payment to the first tag of a merchant. */
function paid(merchant: string, block: number, units: bigint): PaymentFact {
  const to = deposits.find((one) => one.network === tags && one.merchant === merchant);
  return {
    ...{ fact: "payment", network: tags, txHash: "paid", logIndex: -1, currency: "xrp", units },
    ...{ deposit: to?.address ?? "", account: to?.account ?? "", block, blockHash: `${block}` },
  };
}

const opened = (network: string, address: string, currency: string, block: number): Fact => ({
  ...{ fact: "opening", network, address, currency, units: 60n, block },
});

const ordered = (id: string, change: Partial<OrderFact>): OrderFact => ({
  ...{ fact: "order", id, kind: "withdraw", merchant: "m1", network: evm, currency: "eth" },
  ...{ units: 9n, payer: hot, receiver: "somebody", sweep: "" },
  ...change,
});

const ended = (id: string, block: number, fee: bigint): EndFact => ({
  ...{ fact: "end", id, status: 1, fee, block, sent: null, received: null },
});

const addressOf = (merchant: string): string =>
  deposits.find((one) => one.network === evm && one.merchant === merchant)?.address ?? "";
const address = addressOf("m1");
const coin: Fact = { fact: "coin", network: evm, currency: "eth" };
const lost: Fact = { fact: "lost", network: tags, txHash: "paid", logIndex: -1 };
const sweep = ordered("sweep", { kind: "sweep", payer: address, receiver: hot });
const topUp = ordered("topup", { kind: "topup", units: 6n, receiver: address, sweep: "sweep" });
const toOther = ordered("payout", { receiver: otherHot });

const kept: readonly (readonly [title: string, history: readonly Fact[]])[] = [
  [
    "a payment that left the chain behind an opening and came again",
    [paid("m1", 4, 27n), opened(tags, taggedHot, "xrp", 5), lost, paid("m1", 4, 27n)],
  ],
  [
    "a payment before an opening that is another wallet's after all",
    [opened(tags, taggedHot, "xrp", 4), paid("m1", 3, 11n), paid("m-b", 3, 11n)],
  ],
  [
    "small payments that an opening found",
    [
      {
        ...{ fact: "small", network: tags, account: otherTaggedHot, currency: "xrp" },
        ...{ kind: "dust", request: "", block: 7, units: 28n, end: null },
      },
      opened(tags, otherTaggedHot, "xrp", 9),
    ],
  ],
  [
    "a payout in a new currency to another merchant's wallet",
    [opened(evm, otherHot, "eth", 1), { ...toOther, currency: "usdt" }, ended("payout", 2, 0n)],
  ],
  [
    "a payout to the wallet that pays it",
    [opened(evm, hot, "eth", 1), { ...toOther, receiver: hot }, ended("payout", 2, 3n)],
  ],
  [
    "changes of two blocks that are nothing together",
    [coin, sweep, topUp, { fact: "ends", ends: [ended("topup", 7, 3n), ended("sweep", 6, 0n)] }],
  ],
  [
    "a payout to a wallet that has only paid itself",
    [
      { ...toOther, merchant: "m-b", payer: otherHot },
      { ...toOther, id: "second" },
      { fact: "ends", ends: [ended("payout", 2, 0n), ended("second", 3, 0n)] },
    ],
  ],
  [
    "a note of nothing before a payout to the wallet",
    [
      {
        ...{ fact: "adjustment", kind: "note", network: evm, address: otherHot, currency: "eth" },
        ...{ units: 0n, block: 9 },
      },
      toOther,
      { ...ended("payout", 2, 9n), status: 2, sent: 0n, received: 3n },
    ],
  ],
  [
    "fees from before the coin had a name",
    [toOther, ended("payout", 2, 3n), coin, { ...toOther, id: "second" }, ended("second", 4, 1n)],
  ],
  [
    "a payout to a wallet whose first move is a fee from before the coin had a name",
    [
      ...[{ ...toOther, merchant: "m-b", payer: otherHot }, ended("payout", 7, 8n), coin],
      ...[ordered("second", { currency: "usdt", receiver: otherHot }), ended("second", 3, 0n)],
    ],
  ],
  [
    "a payout to a wallet whose books begin in the same write",
    [
      { ...sweep, merchant: "m-b", payer: addressOf("m-b"), receiver: otherHot },
      toOther,
      { fact: "ends", ends: [ended("sweep", 6, 0n), ended("payout", 7, 0n)] },
    ],
  ],
];

/** Fails with the smallest history that goes apart. */
async function expectSame(failure: Failure | null, about: string): Promise<void> {
  if (failure === null) return;
  expect.fail(`${about}\n${wordsOf(await shrink(cast, world, failure))}`);
}

describe("the journal", () => {
  it("has after each act of a random history what the facts say", async () => {
    for (const seed of seedsOfRun(share(2_000, 60))) {
      await setImmediate(); // the runner hears from this worker
      const { steps, pictures } = makeHistory(cast, deposits, seed);
      const failure = await play(cast, world, steps, pictures);
      await expectSame(failure, `SEED=${seed}, made small:`);
    }
  });

  it.each(kept)("counts %s", async (title, history) => {
    const blocks = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    const period = { network: evm, merchant: null, before: 0, last: 9 };
    const look = { networks: [evm, coins, tags], blocks, period, isLast: true };
    const steps = history.map((act): Step => ({ act, look }));
    await expectSame(await play(cast, world, steps), title);
  });
});

/** Mutants that the first histories find; the command hunts all of them. */
const quickMutants = ["no-remainder", "posted-twice", "fee-of-a-failure-missed", "hold-kept"];

describe("the mutants of the journal", () => {
  it("have names of their own, and each changes one place", () => {
    expect(journalMutants.length).toBeGreaterThanOrEqual(30);
    expect(new Set(journalMutants.map(({ name }) => name)).size).toBe(journalMutants.length);
    const misfits = journalMutants.filter(({ name, file, find, replace }) => {
      const text = readFileSync(join(projectRoot, file), "utf8");
      return (
        !/^[a-z]+(-[a-z]+)*$/.test(name) ||
        [null, text].includes(patchText(text, { find, replace }))
      );
    });
    expect(misfits.map(({ name }) => name)).toEqual([]);
  });

  it.runIf(isLongTier).each(quickMutants)("die: %s", async (name) => {
    const mutant = journalMutants.find((one) => one.name === name);
    if (mutant === undefined) throw new Error(`there is no mutant ${name}`);
    expect(await huntMutant(mutant, { from: 1, most: 100 })).toMatchObject({
      name,
      seed: expect.any(Number),
    });
  });

  it.runIf(isLongTier)("are shown by a history that is made small", async () => {
    const [mutant] = journalMutants.filter(({ name }) => name === "no-remainder");
    if (mutant === undefined) throw new Error("there is no such mutant");
    const run = await loadPatched(mutant);
    const failure = await run.findFailure({ from: 1, most: 100 });
    if (failure === null) throw new Error("the mutant is alive");
    const small = await run.shrinkFailure(failure);
    expect(small.steps.length).toBeLessThanOrEqual(3);
    expect(wordsOf(small)).toMatch(/"opening".*, should be /s);
  });
});
