/**
 * When a transaction on Tron is void: only once solidified chain time has passed its expiration and
 * the margin, every block that could have taken it was read from enough providers, and none did.
 * Halts, lag, lies and an inclusion at the last moment. SEED=<number> replays the random part.
 */
import { afterEach, expect, describe as group, it } from "vitest";
import { voidMarginMs } from "../../chains/tron/expiry-exclusion.ts";
import { createSender, type TronSender } from "../../chains/tron/node-sender.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { share } from "../../lab/kit/share.ts";
import type { Lie } from "../../lab/tron-node/lies.ts";
import { Rejection } from "../../lab/tron-node/rules.ts";
import { readJson } from "../../lab/tron-node/transaction.ts";
import type { TronNodeOptions } from "../../lab/tron-node/tron-node.ts";
import { inhabitant, sender, startTestNetwork, type TestNetwork } from "../support/tron-network.ts";

let testNetwork: TestNetwork;
let nodes: TronSender;

async function begin(fronts = 2, options: TronNodeOptions = {}): Promise<void> {
  testNetwork = await startTestNetwork({
    fronts: Array.from({ length: fronts }, () => ({})),
    solidLag: 5,
    ...options,
  });
  const log = (): void => undefined;
  const chainId = testNetwork.node.chainId;
  const times = { timeoutMs: 20_000, patienceMs: 20_000 };
  nodes = createSender({
    urls: testNetwork.node.urls,
    chainId,
    tokens: [],
    clock: () => performance.now(),
    log,
    ...times,
  });
}

afterEach(async () => {
  nodes.close();
  await testNetwork.node.close();
});

const receiver = inhabitant("a receiver").address;
const lifetimeMs = 300_000;

/** A payment that lives five minutes from the newest solidified block, as ours do. */
function payment(amount = 5_000_000) {
  const { chain } = testNetwork.node;
  const expirationMs = chain.blocks[chain.solid]!.timestampMs + lifetimeMs;
  const signed = testNetwork.coins(sender, receiver, amount, { expirationMs });
  return { signed, attempt: { txHash: signed.txID, validUntilMs: expirationMs } };
}

const findVoid = (...attempts: readonly { txHash: string; validUntilMs: number }[]) =>
  nodes.findVoid(sender.address, attempts);

/** Blocks until the newest solidified one has passed a time. */
function mineUntilSolid(ms: number): void {
  const { chain } = testNetwork.node;
  for (let made = 0; chain.blocks[chain.solid]!.timestampMs <= ms && made < 2_000; made += 1)
    chain.mine();
}

group("a transaction that is in no block", () => {
  it("a transaction that is in no block is void when solidified time has passed its expiration by the margin, and not a block before", async () => {
    await begin();
    const { attempt } = payment();
    const end = attempt.validUntilMs + voidMarginMs;
    expect(await findVoid(attempt)).toMatchObject({ isVoid: false });
    mineUntilSolid(end - testNetwork.node.chain.slotMs);
    expect(
      testNetwork.node.chain.blocks[testNetwork.node.chain.solid]!.timestampMs,
    ).toBeLessThanOrEqual(end);
    expect(await findVoid(attempt)).toMatchObject({ isVoid: false });
    testNetwork.node.chain.mine();
    const { timestampMs: chainMs, number: block } =
      testNetwork.node.chain.blocks[testNetwork.node.chain.solid]!;
    expect(chainMs).toBeGreaterThan(end);
    expect(await findVoid(attempt)).toEqual({ isVoid: true, chainMs, block, quorum: 2 });
  });

  it("a transaction that is in no block is not void while the chain stands still, however late it is by the clock", async () => {
    await begin();
    const { attempt } = payment();
    testNetwork.node.chain.mine(3);
    testNetwork.node.chain.halt(7_200_000);
    expect(await findVoid(attempt)).toMatchObject({ isVoid: false });
    // The head is past it and not solidified.
    testNetwork.node.chain.mine(5);
    expect(await findVoid(attempt)).toMatchObject({ isVoid: false });
    testNetwork.node.chain.mine(1);
    expect(await findVoid(attempt)).toMatchObject({ isVoid: true });
  });

  it("a transaction that is in no block is not void where a block right after its signing has it, though its end is the latest allowed and no receipt is left", async () => {
    await begin();
    const { chain, fronts } = testNetwork.node;
    chain.mine(40);
    // The latest that the signer takes, by a gateway whose clock is a hundred seconds ahead.
    const validUntilMs = chain.blocks[chain.solid]!.timestampMs + 760_000;
    const signed = testNetwork.coins(sender, receiver, 5_000_000, { expirationMs: validUntilMs });
    const other = { txHash: "33".repeat(32), validUntilMs };
    await testNetwork.send(signed);
    mineUntilSolid(validUntilMs + voidMarginMs);
    expect(chain.placeOf(signed.txID)).toBeDefined();
    for (const front of fronts)
      front.suffer({ paths: "gettransactioninfobyid", lies: [{ kind: "hides" }] });
    expect(await findVoid({ txHash: signed.txID, validUntilMs })).toMatchObject({ isVoid: false });
    expect(await findVoid(other)).toMatchObject({ isVoid: true });
  });

  it("a withdrawal is void when all of its attempts are past; without an attempt nothing is void", async () => {
    await begin();
    const [first, later] = [
      payment().attempt,
      { txHash: "22".repeat(32), validUntilMs: payment().attempt.validUntilMs + 60_000 },
    ];
    mineUntilSolid(first.validUntilMs + voidMarginMs);
    expect(await findVoid(first)).toMatchObject({ isVoid: true });
    expect(await findVoid(first, later)).toMatchObject({ isVoid: false });
    mineUntilSolid(later.validUntilMs + voidMarginMs);
    expect(await findVoid(first, later)).toMatchObject({ isVoid: true });
    expect(await findVoid()).toMatchObject({ isVoid: false });
  });
});

group("a transaction that came into a block", () => {
  it("a transaction that came into a block is never void, also when it failed there", async () => {
    await begin();
    const { signed, attempt } = payment();
    await testNetwork.send(signed);
    mineUntilSolid(attempt.validUntilMs + voidMarginMs + 60_000);
    expect(await findVoid(attempt)).toMatchObject({ isVoid: false });
    expect(
      await findVoid({ txHash: "33".repeat(32), validUntilMs: attempt.validUntilMs }, attempt),
    ).toMatchObject({
      isVoid: false,
    });
  });

  it("a transaction that came into a block at the last moment, in the block after a halt of two hours, is not void", async () => {
    await begin();
    const { signed, attempt } = payment();
    await testNetwork.send(signed);
    testNetwork.node.chain.hold();
    testNetwork.node.chain.halt(7_200_000);
    testNetwork.node.chain.mine();
    expect(testNetwork.node.chain.placeOf(signed.txID)?.block.timestampMs).toBeGreaterThan(
      attempt.validUntilMs + voidMarginMs,
    );
    testNetwork.node.chain.mine(5);
    // The first solidified block past the margin holds the transaction.
    expect(testNetwork.node.chain.solid).toBe(26);
    expect(await findVoid(attempt)).toMatchObject({ isVoid: false });
    testNetwork.node.chain.mine(50);
    expect(await findVoid(attempt)).toMatchObject({ isVoid: false });
  });

  it("a transaction of a replaced branch is void when the other branch never took it", async () => {
    await begin();
    const { signed, attempt } = payment();
    await testNetwork.send(signed);
    testNetwork.node.chain.mine(2);
    testNetwork.node.chain.replace(3, { kept: "none" });
    mineUntilSolid(attempt.validUntilMs + voidMarginMs);
    expect(await findVoid(attempt)).toMatchObject({ isVoid: true });
  });
});

group("providers that are asked whether a transaction is void", () => {
  const includedAndPast = async (fronts: number) => {
    await begin(fronts);
    const { signed, attempt } = payment();
    await testNetwork.send(signed);
    mineUntilSolid(attempt.validUntilMs + voidMarginMs + 30_000);
    return attempt;
  };

  it("one that lags holds the answer back; one that runs ahead does not bring it", async () => {
    await begin();
    const { attempt } = payment();
    mineUntilSolid(attempt.validUntilMs + voidMarginMs);
    testNetwork.node.fronts[0]!.suffer({ lagBlocks: 1 });
    expect(await findVoid(attempt)).toMatchObject({ isVoid: false });
    testNetwork.node.fronts[0]!.suffer({});
    expect(await findVoid(attempt)).toMatchObject({ isVoid: true });
  });

  it("one that says everything is solidified does not bring it", async () => {
    await begin();
    const { attempt } = payment();
    mineUntilSolid(attempt.validUntilMs + voidMarginMs - 3_000);
    testNetwork.node.fronts[0]!.suffer({ lies: [{ kind: "all-solid" }] });
    expect(await findVoid(attempt)).toMatchObject({ isVoid: false });
  });

  it.each([
    ["claims later times", { kind: "ahead", ms: 3_600_000 }],
    ["tells other blocks", { kind: "other-hash", from: 10 }],
  ] satisfies [string, Lie][])("one of two that %s brings no void attempt", async (_, lie) => {
    await begin();
    const { attempt } = payment();
    testNetwork.node.chain.mine(10);
    testNetwork.node.fronts[0]!.suffer({ lies: [lie] });
    await expect(findVoid(attempt)).rejects.toMatchObject({ code: "NODE_DISAGREE" });
  });

  it("one of two that hides the transaction brings no void attempt, and with both well it is not void either", async () => {
    const attempt = await includedAndPast(2);
    testNetwork.node.fronts[0]!.suffer({ lies: [{ kind: "hides", txIds: [attempt.txHash] }] });
    await expect(findVoid(attempt)).rejects.toMatchObject({ code: "NODE_DISAGREE" });
    testNetwork.node.fronts[0]!.suffer({});
    expect(await findVoid(attempt)).toMatchObject({ isVoid: false });
  });

  it("one that shows a receipt of no agreed block is an operator's matter", async () => {
    await begin(3);
    const { signed, attempt } = payment();
    await testNetwork.send(signed);
    mineUntilSolid(attempt.validUntilMs + voidMarginMs + 30_000);
    for (const front of testNetwork.node.fronts.slice(0, 2))
      front.suffer({ lies: [{ kind: "hides", txIds: [attempt.txHash] }] });
    await expect(findVoid(attempt)).rejects.toMatchObject({ code: "NODE_DISAGREE" });
  });

  it("faults in the middle of the reading make it late, and it goes on where it ended", async () => {
    await begin();
    const { attempt } = payment();
    mineUntilSolid(attempt.validUntilMs + voidMarginMs + 3_000);
    for (const front of testNetwork.node.fronts) front.suffer({ status: 500, share: 0.1 });
    let faults = 0;
    const asked = async (): Promise<boolean> => {
      try {
        return (await findVoid(attempt)).isVoid;
      } catch {
        faults += 1;
        return false;
      }
    };
    await expect.poll(asked, { interval: 1 }).toBe(true);
    expect(faults).toBeGreaterThan(0);
  });
});

group("halts, branches, lag and lies, at random", () => {
  const runs = 30;

  it.each(seedsOfRun(1))(
    "a transaction called void is never on the chain, in many lives (seed %s)",
    async (seed) => {
      const chance = new SeededRandom(seed);
      let voids = 0;
      let locations = 0;
      let lives = 0;
      // The quick tier goes on only while it lacks one of both ends.
      for (
        ;
        lives < share(runs) || (lives < runs && (voids === 0 || locations === 0));
        lives += 1
      ) {
        await begin(3, { isSlotChecked: chance.chance(2) });
        const { chain, fronts } = testNetwork.node;
        const { signed, attempt } = payment();
        if (chance.chance(2)) chain.hold();
        if (!chance.chance(4)) push(signed);
        let isVoid = false;
        for (let turn = 0; turn < 60 && !isVoid; turn += 1) {
          if (chance.chance(6)) chain.release();
          if (chance.chance(8)) chain.halt(1_000 * 10 ** chance.below(4));
          chain.mine(1 + chance.below(8));
          if (chance.chance(6))
            chain.replace(1 + chance.below(4), {
              kept: chance.pick(["all", "none"] as const),
              empty: chance.below(2),
            });
          for (const front of fronts) front.suffer({});
          // One of three at a time, because two equal lies would decide.
          chance
            .pick(fronts)
            .suffer(
              chance.pick([
                {},
                { lagBlocks: 3 },
                { lies: [chance.pick<Lie>(lies)] },
                { status: 500, share: 0.2 },
              ]),
            );
          try {
            isVoid = (await findVoid(attempt)).isVoid;
          } catch (error) {
            expect(error).toMatchObject({ code: expect.stringMatching(/^NODE_/) });
          }
        }
        chain.release();
        chain.mine(30);
        const location = chain.placeOf(attempt.txHash);
        if (isVoid) expect(location, `seed ${seed}, life ${lives}`).toBeNull();
        if (isVoid) voids += 1;
        if (location !== null) locations += 1;
        nodes.close();
        await testNetwork.node.close();
      }
      await begin();
      process.stdout.write(
        `seed ${seed}: ${lives} lives, ${voids} voids, ${locations} in a block\n`,
      );
      expect(voids).toBeGreaterThan(0);
      expect(locations).toBeGreaterThan(0);
    },
  );

  const lies: readonly Lie[] = [
    { kind: "all-solid" },
    { kind: "hides" },
    { kind: "ahead", ms: 900_000 },
    { kind: "other-hash", from: 20 },
  ];

  function push(signed: object): void {
    try {
      testNetwork.node.chain.push(readJson(signed as never));
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
    }
  }
});
