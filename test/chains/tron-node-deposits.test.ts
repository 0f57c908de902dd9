/**
 * Deposits on Tron, read from several providers with troubles of their own while unsolidified
 * blocks are replaced: the credited sum is the chain's at the end, to the last unit, and no deposit
 * counts twice. SEED=<number> replays one run.
 */
import { afterEach, expect, describe as group, it } from "vitest";
import type { DetectedPayment } from "../../chains/nodes.ts";
import { createWatcher, type TronWatcher } from "../../chains/tron/node-watcher.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { share } from "../../lab/kit/share.ts";
import { encodeDisperse } from "../../lab/tron-node/contracts.ts";
import type { Trouble } from "../../lab/tron-node/front.ts";
import type { Lie } from "../../lab/tron-node/lies.ts";
import { Rejection } from "../../lab/tron-node/rules.ts";
import { type ReadTransaction, readJson } from "../../lab/tron-node/transaction.ts";
import {
  disperser,
  feeToken,
  inhabitant,
  liar,
  lookAlike,
  paused,
  sender,
  startTestNetwork,
  type TestNetwork,
  usdt,
} from "../support/tron-network.ts";
import { Scanner } from "../support/tron-scanner.ts";

let testNetwork: TestNetwork;
let watcher: TronWatcher;

const patient = { timeoutMs: 10_000, patienceMs: 20_000 };
/** A short time for nodes that hang on order: nobody has to wait for them. */
const hasty = { timeoutMs: 1_000, patienceMs: 2_000 };

function watch(times = patient): TronWatcher {
  const chainId = testNetwork.node.chainId;
  return createWatcher({ urls: testNetwork.node.urls, chainId, log: () => undefined, ...times });
}

async function begin(fronts: number): Promise<void> {
  testNetwork = await startTestNetwork({ fronts: Array.from({ length: fronts }, () => ({})) });
  watcher = watch();
}

afterEach(async () => {
  watcher.close();
  await testNetwork.node.close();
});

const address = (at: number): string => inhabitant(`deposit ${at}`).address;
const one = inhabitant("deposit 0").address;

/** Everything paid to `addresses` since block 25, at the newest solidified block. */
async function found(
  addresses: readonly string[],
  contracts = ["", usdt],
): Promise<readonly DetectedPayment[]> {
  const scanner = scannerOf(addresses, contracts);
  expect(await scanner.read(watcher)).toBe(true);
  return [...scanner.credited.values()];
}

function scannerOf(addresses: readonly string[], contracts: readonly string[]): Scanner {
  const { number, id } = testNetwork.node.chain.blocks[5]!;
  return new Scanner({ number, hash: id }, addresses, contracts);
}

async function mined(...sent: readonly { readonly txID: string }[]): Promise<void> {
  for (const signed of sent)
    expect(await testNetwork.send(signed as never)).toMatchObject({ result: true });
  testNetwork.node.chain.mine(20);
}

group("what a deposit on Tron is", () => {
  it("coins and tokens are found with their transaction, their place in it and their block", async () => {
    await begin(2);
    const [coins, token] = [
      testNetwork.coins(sender, one, 5_000_000),
      testNetwork.token(sender, usdt, one, 7n),
    ];
    await mined(coins, token);
    const { number: block, id: blockHash } = testNetwork.node.chain.blocks[26]!;
    expect(await found([one])).toEqual([
      {
        txHash: coins.txID,
        index: -1,
        address: one,
        contract: "",
        amountUnits: 5_000_000n,
        block,
        blockHash,
      },
      {
        txHash: token.txID,
        index: 0,
        address: one,
        contract: usdt,
        amountUnits: 7n,
        block,
        blockHash,
      },
    ]);
  });

  it("several payments of one transaction are apart by the place of their event", async () => {
    await begin(2);
    const two = address(1);
    const hexes = [
      inhabitant("deposit 0").hex,
      inhabitant("deposit 1").hex,
      inhabitant("deposit 0").hex,
    ];
    await mined(
      testNetwork.call(
        sender,
        disperser,
        encodeDisperse(inhabitant("contract of usdt").hex, hexes, [1n, 2n, 4n]),
      ),
      testNetwork.call(sender, disperser, encodeDisperse("", hexes, [10n, 20n, 40n]), {
        callSun: 70,
      }),
    );
    const locations = (await found([one, two])).map((each) => [
      each.contract,
      each.index,
      each.address,
      each.amountUnits,
    ]);
    expect(locations).toHaveLength(6);
    expect(locations).toEqual(
      expect.arrayContaining([
        [usdt, 0, one, 1n],
        [usdt, 1, two, 2n],
        [usdt, 2, one, 4n],
        ["", -2, one, 10n],
        ["", -3, two, 20n],
        ["", -4, one, 40n],
      ]),
    );
  });

  it.each([
    ["a look-alike of the same name", () => testNetwork.token(sender, lookAlike, one, 9n)],
    ["a TRC-10 token of the same name", () => testNetwork.asset(sender, one, 9)],
    [
      "a token that tells of transfers and moves nothing",
      () => testNetwork.token(sender, liar, one, 9n),
    ],
    ["a transfer of nothing", () => testNetwork.token(sender, usdt, one, 0n)],
    ["a call that reverts", () => testNetwork.token(sender, usdt, one, 9_000_000_000_000n)],
    [
      "a call that runs out of energy",
      () => testNetwork.token(sender, usdt, one, 9n, { feeLimitSun: 1_000_000 }),
    ],
    ["a paused token", () => testNetwork.token(sender, paused, one, 9n)],
  ])("%s is no deposit of USDT, and the one beside it is", async (_, make) => {
    await begin(2);
    await mined(make(), testNetwork.token(sender, usdt, one, 3n));
    const paid = await found([one]);
    expect(paid.map(({ contract, amountUnits }) => [contract, amountUnits])).toEqual([[usdt, 3n]]);
  });

  it("the deposit of a token that takes a fee is the amount that arrived", async () => {
    await begin(2);
    await mined(testNetwork.token(sender, feeToken, one, 1_000n));
    expect((await found([one], [feeToken])).map(({ amountUnits }) => amountUnits)).toEqual([990n]);
  });

  it("TRX that a contract delegates is no deposit and is logged; coins that the same call sends are one", async () => {
    await begin(2);
    const told: (readonly [string, unknown])[] = [];
    const { urls, chainId } = testNetwork.node;
    watcher.close();
    watcher = createWatcher({
      urls,
      chainId,
      log: (event, { message }) => void told.push([event, message]),
      ...patient,
    });
    const note = "delegateResourceOfEnergy";
    const lies: readonly Lie[] = [
      { kind: "delegates", toHex: inhabitant("deposit 0").hex, sun: 1_000_000_000, note },
    ];
    for (const front of testNetwork.node.fronts) front.suffer({ lies });
    await mined(testNetwork.token(sender, usdt, address(1), 3n));
    expect(await found([one], [""])).toEqual([]);
    expect(told).toEqual([["entry-unknown", note]]);
    await mined(
      testNetwork.call(sender, disperser, encodeDisperse("", [inhabitant("deposit 0").hex], [7n]), {
        callSun: 7,
      }),
    );
    expect(
      (await found([one], [""])).map(({ index, amountUnits }) => [index, amountUnits]),
    ).toEqual([[-2, 7n]]);
  });

  // tronprotocol/java-tron #6284, #3152: of two providers one keeps no internal transactions.
  it("coins that a call sends to us are found by the word of the node that keeps them, where the other node keeps none", async () => {
    await begin(2);
    testNetwork.node.fronts[1]!.suffer({ lies: [{ kind: "no-internal" }] });
    const toOutsider = testNetwork.call(
      sender,
      disperser,
      encodeDisperse("", [inhabitant("nobody").hex], [7n]),
      { callSun: 7 },
    );
    await mined(toOutsider, testNetwork.token(sender, usdt, one, 3n));
    expect(
      (await found([one])).map(({ contract, amountUnits }) => [contract, amountUnits]),
    ).toEqual([[usdt, 3n]]);
    await mined(
      testNetwork.call(sender, disperser, encodeDisperse("", [inhabitant("deposit 0").hex], [7n]), {
        callSun: 7,
      }),
    );
    await watcher.finalTip();
    const blocks = [await watcher.block(46, true)];
    expect((await watcher.payments(blocks, [""], bookOf(one), true)).found).toMatchObject([
      { address: one, amountUnits: 7n },
    ]);
  });

  it("nodes that disagree on more than internal entries give nothing, and the one that keeps none is named", async () => {
    await begin(2);
    testNetwork.node.fronts[1]!.suffer({ lies: [{ kind: "no-internal" }] });
    testNetwork.node.fronts[0]!.suffer({ lies: [{ kind: "amount" }] });
    await mined(
      testNetwork.call(sender, disperser, encodeDisperse("", [inhabitant("deposit 0").hex], [7n]), {
        callSun: 7,
      }),
      testNetwork.token(sender, usdt, one, 3n),
    );
    await watcher.finalTip();
    const port = new URL(testNetwork.node.urls[1]!).host;
    const asked = watcher
      .block(26, true)
      .then((block) => watcher.payments([block], ["", usdt], bookOf(one), true));
    await expect(asked).rejects.toMatchObject({
      code: "NODE_DISAGREE",
      message: expect.stringContaining(
        `${port} keeps no internal transactions (vm.saveInternalTx)`,
      ),
    });
    testNetwork.node.fronts[0]!.suffer({});
    testNetwork.node.fronts[1]!.suffer({});
    const block = await watcher.block(26, true);
    expect((await watcher.payments([block], ["", usdt], bookOf(one), true)).found).toHaveLength(2);
  });

  it("a block that is asked for many times at once is downloaded once from each node", async () => {
    await begin(2);
    await mined(testNetwork.token(sender, usdt, one, 3n));
    const asked: Promise<unknown>[] = [];
    for (let at = 0; at < 20; at += 1) {
      asked.push(watcher.block(26, true));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(asked);
    await watcher.block(26, true);
    expect(
      testNetwork.node.fronts.map(({ counts }) => counts.get("/walletsolidity/getblockbynum")),
    ).toEqual([1, 1]);
  });

  it("a deposit counts once its block is solidified, and is seen before", async () => {
    await begin(2);
    await testNetwork.send(testNetwork.token(sender, usdt, one, 3n));
    testNetwork.node.chain.mine(19);
    expect(await found([one])).toEqual([]);
    const seen = (
      await watcher.payments([await watcher.block(26, false)], [usdt], bookOf(one), false)
    ).found;
    expect(seen).toHaveLength(1);
    testNetwork.node.chain.mine();
    expect(await found([one])).toHaveLength(1);
  });

  it("coins beyond 2^53 keep their last unit", async () => {
    await begin(2);
    testNetwork.node.fund(one, 2n ** 60n + 1n);
    const { number } = await watcher.finalTip();
    expect(await watcher.balance(one, "", number)).toBe(2n ** 60n + 1n);
    await expect(watcher.balance(one, "", number + 1)).rejects.toMatchObject({
      code: "NODE_NO_BLOCK",
    });
  });

  it("the final block of nodes that stand at one costs one question of each, and of nodes that stand apart one more", async () => {
    await begin(2);
    const asked = (): readonly number[] =>
      testNetwork.node.fronts.map(({ counts }) => counts.get("/walletsolidity/getblock") ?? 0);
    const { number, hash } = await watcher.finalTip();
    expect(hash).toBe(testNetwork.node.chain.blocks[number]!.id);
    expect(asked()).toEqual([1, 1]);
    testNetwork.node.fronts[0]!.suffer({ lagBlocks: 1 });
    expect(await watcher.finalTip()).toEqual({
      number: number - 1,
      hash: testNetwork.node.chain.blocks[number - 1]!.id,
    });
    expect(asked()).toEqual([3, 3]);
  });

  it("a balance is of the block asked for or a later one, also by nodes that stand apart", async () => {
    await begin(2);
    await mined(testNetwork.token(sender, usdt, one, 1_000n));
    testNetwork.node.chain.mine(2);
    const { number } = await watcher.finalTip();
    expect(await watcher.balance(one, usdt, number - 1)).toBe(1_000n);
    testNetwork.node.fronts[0]!.suffer({ lagBlocks: 1 });
    expect(await watcher.balance(one, usdt, number - 1)).toBe(1_000n);
    await expect(watcher.balance(one, usdt, number)).rejects.toMatchObject({
      code: "NODE_NO_BLOCK",
    });
  });

  it("decimals are those of the contract; what is no token does not say", async () => {
    await begin(2);
    expect(await watcher.decimals(usdt)).toBe(6n);
    await expect(watcher.decimals(disperser)).rejects.toMatchObject({ code: "NODE_ERROR" });
    await expect(watcher.decimals(one)).rejects.toMatchObject({ code: "NODE_ERROR" });
  });

  it("an outgoing transaction of an account shows whom it pays, in coins, in tokens, by another call", async () => {
    await begin(2);
    const calls = [
      testNetwork.coins(sender, one, 5),
      testNetwork.token(sender, usdt, one, 7n),
      testNetwork.call(sender, usdt, "06fdde03"),
      testNetwork.asset(sender, one, 1),
    ];
    await mined(...calls);
    const outgoing = (
      await watcher.outgoing([await watcher.block(26, true)], new Set([sender.address]))
    ).found;
    expect(
      outgoing.map(({ receiver, contract, amountUnits, slot }) => [
        receiver,
        contract,
        amountUnits,
        slot,
      ]),
    ).toEqual([
      [one, "", 5n, ""],
      [one, usdt, 7n, ""],
      [usdt, "", 0n, ""],
      ["", "", 0n, ""],
    ]);
    expect((await watcher.outgoing([await watcher.block(26, true)], new Set([one]))).found).toEqual(
      [],
    );
  });
});

function bookOf(...addresses: readonly string[]) {
  return {
    size: addresses.length,
    has: (text: string) => addresses.includes(text),
    all: () => addresses,
  };
}

group("a provider that misbehaves", () => {
  const lies: readonly [string, Lie][] = [
    ["tells ten times the amount", { kind: "amount" }],
    ["hides all transactions", { kind: "hides" }],
    ["tells other ids of blocks", { kind: "other-hash", from: 20 }],
    ["says that all blocks are solidified", { kind: "all-solid" }],
    ["says that what failed was done", { kind: "success" }],
    ["says that what was done failed", { kind: "failure" }],
    ["moves receipts to another block", { kind: "moved" }],
    ["tells of other times", { kind: "ahead", ms: 3_600_000 }],
  ];

  it.each(lies)(
    "a provider of two that %s stops the reading and credits nothing wrong",
    async (_, lie) => {
      await begin(2);
      await mined(
        testNetwork.token(sender, usdt, one, 3n),
        testNetwork.coins(sender, one, 4),
        testNetwork.token(sender, usdt, one, 9n, { feeLimitSun: 1_000_000 }),
      );
      testNetwork.node.fronts[1]!.suffer({ lies: [lie] });
      const scanner = scannerOf([one], ["", usdt]);
      await scanner.read(watcher);
      for (const [contract, units] of [
        ["", 4n],
        [usdt, 3n],
      ] as const)
        expect([0n, units]).toContain(scanner.sum(one, contract));
      testNetwork.node.fronts[1]!.suffer({});
      await expect.poll(() => scanner.read(watcher)).toBe(true);
      expect([scanner.sum(one, ""), scanner.sum(one, usdt)]).toEqual([4n, 3n]);
    },
  );

  it.each(lies)("a provider of three that %s changes nothing", async (_, lie) => {
    await begin(3);
    await mined(
      testNetwork.token(sender, usdt, one, 3n),
      testNetwork.coins(sender, one, 4),
      testNetwork.token(sender, usdt, one, 9n, { feeLimitSun: 1_000_000 }),
    );
    testNetwork.node.fronts[0]!.suffer({ lies: [lie] });
    const paid = await found([one]);
    expect(paid.map(({ contract, amountUnits }) => [contract, amountUnits])).toEqual([
      ["", 4n],
      [usdt, 3n],
    ]);
  });

  it("receipts that are missing are waited for, and none of them is a failure", async () => {
    await begin(2);
    await mined(testNetwork.token(sender, usdt, one, 3n));
    for (const front of testNetwork.node.fronts)
      front.suffer({ lies: [{ kind: "hides" }], paths: "gettransactioninfobyblocknum" });
    const scanner = scannerOf([one], ["", usdt]);
    expect(await scanner.read(watcher)).toBe(false);
    expect(scanner.cursor.number).toBeLessThan(26);
    for (const front of testNetwork.node.fronts) front.suffer({});
    await expect.poll(() => scanner.read(watcher)).toBe(true);
    expect(scanner.sum(one, usdt)).toBe(3n);
  });

  it("a receipt that says it failed pays nothing, whatever events it shows", async () => {
    await begin(1);
    await mined(testNetwork.token(sender, usdt, one, 3n));
    testNetwork.node.fronts[0]!.suffer({ lies: [{ kind: "failure" }] });
    expect(await found([one])).toEqual([]);
    watcher.close();
    watcher = watch();
    testNetwork.node.fronts[0]!.suffer({});
    expect(await found([one])).toHaveLength(1);
  });

  it("a provider's bound on questions makes reading late and misses nothing", async () => {
    // A provider's second ends with its first refusal, so that a slow reader is refused as well.
    const clockOf = (at: number) => () => (testNetwork?.node.fronts[at]?.refused ?? 0) * 1_000;
    testNetwork = await startTestNetwork({
      fronts: [
        { questionsPerS: 40, apiKey: "key-one", clock: clockOf(0) },
        { questionsPerS: 40, apiKey: "key-two", clock: clockOf(1) },
      ],
    });
    const keyed = testNetwork.node.urls.map((url, at) =>
      url.replace("//", `//key-${at === 0 ? "one" : "two"}@`),
    );
    watcher = createWatcher({
      urls: keyed,
      chainId: testNetwork.node.chainId,
      log: () => undefined,
    });
    for (let at = 0; at < 40; at += 1) {
      testNetwork.node.chain.push(readSigned(testNetwork.token(sender, usdt, one, 1n)));
      testNetwork.node.chain.mine();
    }
    testNetwork.node.chain.mine(20);
    expect((await found([one])).length).toBe(40);
    expect(testNetwork.node.fronts[0]!.refused).toBeGreaterThan(0);
    expect(testNetwork.node.fronts[0]!.refused).toBeLessThan(60);
  });

  const suspended =
    "The key exceeds the frequency limit(15), and the query server is suspended for 1s";

  it.each([
    ["429", { status: 429, retryAfterS: 1, times: 1 }],
    ["403 with words of a limit", { status: 403, words: suspended, times: 1 }],
  ])(
    "a provider that asks to wait a second by %s is not asked in that second, and then answers",
    async (_, trouble) => {
      await begin(1);
      await watcher.tip();
      testNetwork.node.fronts[0]!.suffer(trouble);
      const startedAt = performance.now();
      await watcher.tip();
      expect(performance.now() - startedAt).toBeGreaterThan(950);
    },
  );

  it("a provider that answers 403 without words of a limit is not asked again: the key is wrong", async () => {
    await begin(1);
    await watcher.tip();
    testNetwork.node.fronts[0]!.suffer({ status: 403, words: "ApiKey not exists", times: 1 });
    await expect(watcher.tip()).rejects.toMatchObject({ code: "NODE_HTTP" });
    await watcher.tip();
  });
});

/** Signed JSON, as the fake itself reads it. */
function readSigned(signed: object): ReadTransaction {
  return readJson(signed as never);
}

group("deposits of every shape, with replaced blocks and providers in trouble", () => {
  const deposits = share(300, 75);

  it.each(seedsOfRun(1))(
    "many deposits come to what the chain holds, none twice (seed %s)",
    async (seed) => {
      await begin(3);
      watcher.close();
      watcher = watch(hasty);
      watcher.close();
      watcher = watch(hasty);
      const chance = new SeededRandom(seed);
      const { chain, fronts } = testNetwork.node;
      const addresses = Array.from({ length: 40 }, (_, at) => address(at));
      const contracts = ["", usdt, feeToken];
      const scanner = scannerOf(addresses, contracts);
      let replaced = 0;
      let restarts = 0;
      let liar: (typeof fronts)[number] | null = null;
      for (let made = 0; made < deposits; ) {
        for (let burst = chance.below(6); burst > 0 && made < deposits; burst -= 1, made += 1) {
          try {
            chain.push(readSigned(deposit(chance, addresses)));
          } catch (error) {
            if (!(error instanceof Rejection)) throw error;
          }
        }
        chain.mine(1 + chance.below(3));
        if (chance.chance(4)) {
          const kept = chance.pick(["all", "all", "none"] as const);
          chain.replace(1 + chance.below(Math.min(18, chain.head.number - chain.solid - 1)), {
            kept,
            empty: chance.below(2),
          });
          replaced += 1;
        }
        for (const front of fronts) {
          if (!chance.chance(4)) continue;
          const trouble = troubleOf(chance);
          // Two nodes of three that lie alike agree on the lie: no watcher could know.
          const isSecond = trouble.lies !== undefined && liar !== null && liar !== front;
          if (trouble.lies !== undefined && !isSecond) liar = front;
          else if (liar === front) liar = null;
          front.suffer(isSecond ? {} : trouble);
        }
        if (chance.chance(4)) await scanner.read(watcher);
        if (chance.chance(12)) {
          watcher.close();
          watcher = watch(hasty);
          restarts += 1;
        }
      }
      for (const front of fronts) front.suffer({});
      watcher.close();
      watcher = watch(); // no node hangs from here on
      chain.mine(25);
      await expect.poll(() => scanner.read(watcher)).toBe(true);
      const wrong = addresses.flatMap((each) =>
        contracts.flatMap((contract) => {
          const [credited, held] = [
            scanner.sum(each, contract),
            testNetwork.node.solidBalance(each, contract),
          ];
          return credited === held
            ? []
            : [`${each} ${contract}: ${credited} credited, ${held} there`];
        }),
      );
      expect(wrong).toEqual([]);
      expect(scanner.credited.size).toBeGreaterThan(share(100, 15));
      expect(replaced).toBeGreaterThan(share(5, 0));
      process.stdout.write(
        `seed ${seed}: ${scanner.credited.size} credits, ${replaced} branches, ${restarts} restarts, ${scanner.faults} faults\n`,
      );
    },
  );
});

function deposit(chance: SeededRandom, addresses: readonly string[]): object {
  const to = chance.pick(addresses);
  const amount = 1 + chance.below(1_000_000);
  const hexes = (): readonly string[] =>
    Array.from(
      { length: 1 + chance.below(4) },
      () => inhabitant(`deposit ${chance.below(40)}`).hex,
    );
  const amounts = (list: readonly string[]): readonly bigint[] =>
    list.map(() => BigInt(chance.below(5_000)));
  switch (chance.below(13)) {
    case 0:
    case 1:
      return testNetwork.coins(sender, to, amount);
    case 2:
    case 3:
    case 4:
      return testNetwork.token(sender, usdt, to, BigInt(amount));
    case 5:
      return testNetwork.token(sender, feeToken, to, BigInt(amount));
    case 6: {
      const list = hexes();
      return testNetwork.call(
        sender,
        disperser,
        encodeDisperse(inhabitant("contract of usdt").hex, list, amounts(list)),
      );
    }
    case 7: {
      const list = hexes();
      const sums = amounts(list);
      const callSun = Number(sums.reduce((sum, each) => sum + each, 0n));
      return testNetwork.call(sender, disperser, encodeDisperse("", list, sums), { callSun });
    }
    case 8:
      return testNetwork.token(sender, lookAlike, to, BigInt(amount));
    case 9:
      return testNetwork.asset(sender, to, (amount % 1_000) + 1);
    case 10:
      return testNetwork.token(sender, usdt, to, BigInt(amount), { feeLimitSun: 1_000_000 });
    case 11:
      return testNetwork.token(sender, usdt, to, 0n);
    default:
      return testNetwork.token(sender, usdt, to, 10n ** 15n);
  }
}

function troubleOf(chance: SeededRandom): Trouble {
  const lies: readonly Lie[] = [
    { kind: "amount" },
    { kind: "hides" },
    { kind: "all-solid" },
    { kind: "success" },
    { kind: "failure" },
    { kind: "moved" },
    { kind: "other-hash", from: chance.below(60) },
  ];
  return chance.pick<Trouble>([
    {},
    {},
    { status: 500, share: 0.3 },
    { status: 429, retryAfterS: 0, share: 0.2 },
    { isCut: true, share: 0.2 },
    { isGarbage: true, share: 0.2 },
    { isHung: true, times: 1 },
    {},
    { lagBlocks: 1 + chance.below(10) },
    { lies: [chance.pick(lies)] },
  ]);
}
