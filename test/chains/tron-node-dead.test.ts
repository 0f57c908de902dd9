/**
 * When a transaction on Tron is dead: only once solidified chain time has passed its expiration and
 * the margin, every block that could have taken it was read from enough providers, and none did.
 * Halts, lag, lies and an inclusion at the last moment. SEED=<number> replays the random part.
 */
import { afterEach, expect, describe as group, it } from "vitest";
import { createPayer, type TronPayer } from "../../chains/tron/node-payer.ts";
import { marginMs } from "../../chains/tron/waiting.ts";
import { Seeded, seedsOfRun } from "../../lab/rig/seeded.ts";
import type { Lie } from "../../lab/tron-node/lies.ts";
import { Rejection } from "../../lab/tron-node/rules.ts";
import { readJson } from "../../lab/tron-node/transaction.ts";
import type { TronNodeOptions } from "../../lab/tron-node/tron-node.ts";
import { inhabitant, payer, startTown, type Town } from "../support/tron-town.ts";

let town: Town;
let nodes: TronPayer;

async function begin(fronts = 2, options: TronNodeOptions = {}): Promise<void> {
  town = await startTown({ fronts: Array.from({ length: fronts }, () => ({})), solidLag: 5, ...options });
  const log = (): void => undefined;
  const chainId = town.node.chainId;
  const times = { timeoutMs: 5_000, patienceMs: 5_000 };
  nodes = createPayer({ urls: town.node.urls, chainId, tokens: [], clock: () => performance.now(), log, ...times });
}

afterEach(async () => {
  nodes.close();
  await town.node.close();
});

const receiver = inhabitant("a receiver").address;
const lifeMs = 300_000;

/** A payment that lives five minutes from the newest solidified block, as ours do. */
function payment(amount = 5_000_000) {
  const { chain } = town.node;
  const expirationMs = chain.blocks[chain.solid]!.timestampMs + lifeMs;
  const signed = town.coins(payer, receiver, amount, { expirationMs });
  return { signed, version: { txHash: signed.txID, untilMs: expirationMs } };
}

const dead = (...versions: readonly { txHash: string; untilMs: number }[]) => nodes.dead(payer.address, versions);

/** Blocks until the newest solidified one has passed a time. */
function mineUntilSolid(ms: number): void {
  const { chain } = town.node;
  for (let made = 0; chain.blocks[chain.solid]!.timestampMs <= ms && made < 2_000; made += 1) chain.mine();
}

group("a transaction that is in no block", () => {
  it("a transaction that is in no block is dead when solidified time has passed its expiration by the margin, and not a block before", async () => {
    await begin();
    const { version } = payment();
    const end = version.untilMs + marginMs;
    expect(await dead(version)).toMatchObject({ isDead: false });
    mineUntilSolid(end - town.node.chain.slotMs);
    expect(town.node.chain.blocks[town.node.chain.solid]!.timestampMs).toBeLessThanOrEqual(end);
    expect(await dead(version)).toMatchObject({ isDead: false });
    town.node.chain.mine();
    const { timestampMs: chainMs, number: block } = town.node.chain.blocks[town.node.chain.solid]!;
    expect(chainMs).toBeGreaterThan(end);
    expect(await dead(version)).toEqual({ isDead: true, chainMs, block, witnesses: 2 });
  });

  it("a transaction that is in no block is not dead while the chain stands still, however late it is by the clock", async () => {
    await begin();
    const { version } = payment();
    town.node.chain.mine(3);
    town.node.chain.halt(7_200_000);
    expect(await dead(version)).toMatchObject({ isDead: false });
    // The head is past it and not solidified.
    town.node.chain.mine(5);
    expect(await dead(version)).toMatchObject({ isDead: false });
    town.node.chain.mine(1);
    expect(await dead(version)).toMatchObject({ isDead: true });
  });

  it("a transaction that is in no block is not dead where a block right after its signing has it, though its end is the latest allowed and no receipt is left", async () => {
    await begin();
    const { chain, fronts } = town.node;
    chain.mine(40);
    // The latest that the signer takes, by a gateway whose clock is a hundred seconds ahead.
    const untilMs = chain.blocks[chain.solid]!.timestampMs + 760_000;
    const signed = town.coins(payer, receiver, 5_000_000, { expirationMs: untilMs });
    const other = { txHash: "33".repeat(32), untilMs };
    await town.send(signed);
    mineUntilSolid(untilMs + marginMs);
    expect(chain.placeOf(signed.txID)).toBeDefined();
    for (const front of fronts) front.suffer({ paths: "gettransactioninfobyid", lies: [{ kind: "hides" }] });
    expect(await dead({ txHash: signed.txID, untilMs })).toMatchObject({ isDead: false });
    expect(await dead(other)).toMatchObject({ isDead: true });
  });

  it("a withdrawal is dead when all of its versions are past; without a version nothing is dead", async () => {
    await begin();
    const [first, later] = [payment().version, { txHash: "22".repeat(32), untilMs: payment().version.untilMs + 60_000 }];
    mineUntilSolid(first.untilMs + marginMs);
    expect(await dead(first)).toMatchObject({ isDead: true });
    expect(await dead(first, later)).toMatchObject({ isDead: false });
    mineUntilSolid(later.untilMs + marginMs);
    expect(await dead(first, later)).toMatchObject({ isDead: true });
    expect(await dead()).toMatchObject({ isDead: false });
  });
});

group("a transaction that came into a block", () => {
  it("a transaction that came into a block is never dead, also when it failed there", async () => {
    await begin();
    const { signed, version } = payment();
    await town.send(signed);
    mineUntilSolid(version.untilMs + marginMs + 60_000);
    expect(await dead(version)).toMatchObject({ isDead: false });
    expect(await dead({ txHash: "33".repeat(32), untilMs: version.untilMs }, version)).toMatchObject({ isDead: false });
  });

  it("a transaction that came into a block at the last moment, in the block after a halt of two hours, is not dead", async () => {
    await begin();
    const { signed, version } = payment();
    await town.send(signed);
    town.node.chain.hold();
    town.node.chain.halt(7_200_000);
    town.node.chain.mine();
    expect(town.node.chain.placeOf(signed.txID)?.block.timestampMs).toBeGreaterThan(version.untilMs + marginMs);
    town.node.chain.mine(5);
    // The first solidified block past the margin holds the transaction.
    expect(town.node.chain.solid).toBe(26);
    expect(await dead(version)).toMatchObject({ isDead: false });
    town.node.chain.mine(50);
    expect(await dead(version)).toMatchObject({ isDead: false });
  });

  it("a transaction of a replaced branch is dead when the other branch never took it", async () => {
    await begin();
    const { signed, version } = payment();
    await town.send(signed);
    town.node.chain.mine(2);
    town.node.chain.replace(3, { kept: "none" });
    mineUntilSolid(version.untilMs + marginMs);
    expect(await dead(version)).toMatchObject({ isDead: true });
  });
});

group("providers that are asked whether a transaction is dead", () => {
  const includedAndPast = async (fronts: number) => {
    await begin(fronts);
    const { signed, version } = payment();
    await town.send(signed);
    mineUntilSolid(version.untilMs + marginMs + 30_000);
    return version;
  };

  it("one that lags holds the answer back; one that runs ahead does not bring it", async () => {
    await begin();
    const { version } = payment();
    mineUntilSolid(version.untilMs + marginMs);
    town.node.fronts[0]!.suffer({ lagBlocks: 1 });
    expect(await dead(version)).toMatchObject({ isDead: false });
    town.node.fronts[0]!.suffer({});
    expect(await dead(version)).toMatchObject({ isDead: true });
  });

  it("one that says everything is solidified does not bring it", async () => {
    await begin();
    const { version } = payment();
    mineUntilSolid(version.untilMs + marginMs - 3_000);
    town.node.fronts[0]!.suffer({ lies: [{ kind: "all-solid" }] });
    expect(await dead(version)).toMatchObject({ isDead: false });
  });

  it.each([
    ["claims later times", { kind: "ahead", ms: 3_600_000 }],
    ["tells other blocks", { kind: "other-hash", from: 10 }],
  ] satisfies [string, Lie][])("one of two that %s brings no death", async (_, lie) => {
    await begin();
    const { version } = payment();
    town.node.chain.mine(10);
    town.node.fronts[0]!.suffer({ lies: [lie] });
    await expect(dead(version)).rejects.toMatchObject({ code: "NODE_DISAGREE" });
  });

  it("one of two that hides the transaction brings no death, and with both well it is not dead either", async () => {
    const version = await includedAndPast(2);
    town.node.fronts[0]!.suffer({ lies: [{ kind: "hides", txIds: [version.txHash] }] });
    await expect(dead(version)).rejects.toMatchObject({ code: "NODE_DISAGREE" });
    town.node.fronts[0]!.suffer({});
    expect(await dead(version)).toMatchObject({ isDead: false });
  });

  it("one that shows a receipt of no agreed block is a person's matter", async () => {
    await begin(3);
    const { signed, version } = payment();
    await town.send(signed);
    mineUntilSolid(version.untilMs + marginMs + 30_000);
    for (const front of town.node.fronts.slice(0, 2)) front.suffer({ lies: [{ kind: "hides", txIds: [version.txHash] }] });
    await expect(dead(version)).rejects.toMatchObject({ code: "NODE_DISAGREE" });
  });

  it("faults in the middle of the reading make it late, and it goes on where it ended", async () => {
    await begin();
    const { version } = payment();
    mineUntilSolid(version.untilMs + marginMs + 3_000);
    for (const front of town.node.fronts) front.suffer({ status: 500, share: 0.1 });
    let faults = 0;
    const asked = async (): Promise<boolean> => {
      try {
        return (await dead(version)).isDead;
      } catch {
        faults += 1;
        return false;
      }
    };
    await expect.poll(asked, { timeout: 30_000, interval: 1 }).toBe(true);
    expect(faults).toBeGreaterThan(0);
  });
});

group("halts, branches, lag and lies, at random", () => {
  const runs = 30;

  it.each(seedsOfRun(1))(
    `a transaction called dead is never on the chain, in ${runs} lives (seed %s)`,
    { timeout: 180_000 },
    async (seed) => {
      const chance = new Seeded(seed);
      let deaths = 0;
      let places = 0;
      for (let run = 0; run < runs; run += 1) {
        await begin(3, { isSlotChecked: chance.chance(2) });
        const { chain, fronts } = town.node;
        const { signed, version } = payment();
        if (chance.chance(2)) chain.hold();
        if (!chance.chance(4)) push(signed);
        let isDead = false;
        for (let turn = 0; turn < 60 && !isDead; turn += 1) {
          if (chance.chance(6)) chain.release();
          if (chance.chance(8)) chain.halt(1_000 * 10 ** chance.below(4));
          chain.mine(1 + chance.below(8));
          if (chance.chance(6))
            chain.replace(1 + chance.below(4), { kept: chance.pick(["all", "none"] as const), empty: chance.below(2) });
          for (const front of fronts) front.suffer({});
          // One of three at a time, because two equal lies would decide.
          chance
            .pick(fronts)
            .suffer(chance.pick([{}, { lagBlocks: 3 }, { lies: [chance.pick<Lie>(lies)] }, { status: 500, share: 0.2 }]));
          try {
            isDead = (await dead(version)).isDead;
          } catch (error) {
            expect(error).toMatchObject({ code: expect.stringMatching(/^NODE_/) });
          }
        }
        chain.release();
        chain.mine(30);
        const place = chain.placeOf(version.txHash);
        if (isDead) expect(place, `seed ${seed}, run ${run}`).toBeNull();
        if (isDead) deaths += 1;
        if (place !== null) places += 1;
        nodes.close();
        await town.node.close();
      }
      await begin();
      process.stdout.write(`seed ${seed}: ${runs} lives, ${deaths} deaths, ${places} in a block\n`);
      expect(deaths).toBeGreaterThan(0);
      expect(places).toBeGreaterThan(0);
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
      town.node.chain.push(readJson(signed as never));
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
    }
  }
});
