/**
 * What several payouts of one block on Tron share, against the fake for java-tron: the questions of
 * the agent for their places and receipts, those of the gateway for their ends, and what stays a
 * question for each.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { Payment } from "../../chains/family.ts";
import { createSender, type TronSender } from "../../chains/tron/node-sender.ts";
import { createWatcher, type TronWatcher } from "../../chains/tron/node-watcher.ts";
import {
  inhabitant,
  type SignedTronTransaction,
  sender,
  startTestNetwork,
  type TestNetwork,
  usdt,
} from "../support/tron-network.ts";

let testNetwork: TestNetwork;
let nodes: TronSender;
let reader: TronWatcher;

async function begin(): Promise<void> {
  testNetwork = await startTestNetwork({ fronts: [{}, {}] });
  const { urls, chainId } = testNetwork.node;
  const common = {
    urls,
    chainId,
    log: () => {},
    clock: () => performance.now(),
    timeoutMs: 20_000,
    patienceMs: 40_000,
  };
  nodes = createSender({ ...common, tokens: [] });
  reader = createWatcher(common);
}

afterEach(async () => {
  nodes.close();
  reader.close();
  await testNetwork.node.close();
});

const holder = inhabitant("a holder");
const payout = (at: number): Payment => ({
  ...{
    network: "tron:0x2b6653dc",
    account: sender.address,
    slot: "",
    contract: "",
    destination: holder.address,
    tag: "",
  },
  ...{ amountUnits: BigInt(at + 1), isFeeInside: false },
});

/** Payments of 1, 2, 3 … sun, in no block yet. */
async function send(count: number, from = 0): Promise<readonly SignedTronTransaction[]> {
  const signed = Array.from({ length: count }, (_, at) =>
    testNetwork.coins(sender, holder.address, from + at + 1),
  );
  for (const one of signed) await testNetwork.send(one);
  return signed;
}

/** Questions to each node since the last call, by the end of their path. */
let before: readonly ReadonlyMap<string, number>[] = [];
function asked(): readonly Readonly<Record<string, number>>[] {
  const now = testNetwork.node.fronts.map(({ counts }) => new Map(counts));
  const changes = now.map((counts, at) =>
    Object.fromEntries(
      [...counts]
        .map(([path, count]) => [path, count - (before[at]?.get(path) ?? 0)] as const)
        .filter(([path, count]) => count > 0 && /getblockbynum|gettransactioninfo/.test(path)),
    ),
  );
  before = now;
  return changes;
}

const locate = (some: readonly SignedTronTransaction[]) =>
  nodes.locations(
    sender.address,
    some.map(({ txID }) => ({ slot: "", txHashes: [txID] })),
  );
const endOf = ({ txID }: SignedTronTransaction, at: number) =>
  nodes.chainOutcome(payout(at), [{ txHash: txID, isCancel: false }]);

describe("payouts of one block on Tron", () => {
  it("have their places by one receipt and one list of the block, and those in none are asked for alone", async () => {
    await begin();
    const inBlock = await send(12);
    testNetwork.node.chain.mine();
    const waiting = await send(2, 12);
    await nodes.tip();
    asked();
    const found = await locate([...inBlock, ...waiting]);
    expect(found.map((one) => one?.location?.block ?? null)).toEqual([
      ...inBlock.map(() => 26),
      null,
      null,
    ]);
    expect(found.map((one) => one?.isDoubtful)).toEqual(found.map(() => false));
    for (const one of asked())
      expect(one).toEqual({ "/wallet/gettransactioninfobyid": 3, "/wallet/getblockbynum": 1 });
  });

  it("keep the list of their block below the next head, and lose it with the block", async () => {
    await begin();
    const signed = await send(3);
    testNetwork.node.chain.mine();
    await nodes.tip();
    await locate(signed);
    asked();
    testNetwork.node.chain.mine();
    await nodes.tip();
    expect((await locate(signed)).map((one) => one?.location?.block)).toEqual([26, 26, 26]);
    for (const one of asked()) expect(one).toEqual({ "/wallet/gettransactioninfobyid": 1 });
    const { id: gone } = testNetwork.node.chain.blocks[26]!;
    testNetwork.node.chain.replace(2, { kept: "all" });
    await nodes.tip();
    const moved = (await locate(signed)).map((one) => one?.location?.blockHash);
    expect(moved.map((hash) => hash !== undefined && hash !== gone)).toEqual([true, true, true]);
    testNetwork.node.chain.replace(3, { kept: "none" });
    await nodes.tip();
    expect((await locate(signed)).map((one) => one?.location)).toEqual([null, null, null]);
  });

  it("are doubtful where the list of one node of two lacks one", async () => {
    await begin();
    const signed = await send(3);
    testNetwork.node.chain.mine();
    await nodes.tip();
    const [, hidden] = signed as readonly [
      SignedTronTransaction,
      SignedTronTransaction,
      SignedTronTransaction,
    ];
    testNetwork.node.fronts[1]!.suffer({ lies: [{ kind: "hides", txIds: [hidden.txID] }] });
    const found = await locate(signed);
    expect(found.map((one) => [one?.location?.block ?? null, one?.isDoubtful])).toEqual([
      [26, false],
      [null, true],
      [26, false],
    ]);
  });

  it("have their ends by one question for the receipts of the block to each node", async () => {
    await begin();
    const signed = await send(12);
    testNetwork.node.chain.mine();
    await nodes.tip();
    await locate(signed);
    testNetwork.node.chain.mine(19);
    asked();
    const ends = await Promise.all(signed.map(endOf));
    expect(ends.map((end) => end?.outcome)).toEqual(signed.map(() => "paid"));
    const {
      "/walletsolidity/gettransactioninfobyblocknum": receipts,
      "/walletsolidity/gettransactioninfobyid": alone,
    } = asked()[0] ?? {};
    expect([receipts, alone]).toEqual([1, undefined]);
  });

  it("are asked for one by one where the block has more than eight receipts of others for each", async () => {
    await begin();
    const others = await send(17);
    const own = await send(2, 17);
    testNetwork.node.chain.mine();
    await nodes.tip();
    await locate(own);
    testNetwork.node.chain.mine(19);
    asked();
    const ends = await Promise.all(own.map((one, at) => endOf(one, others.length + at)));
    expect(ends.map((end) => end?.outcome)).toEqual(["paid", "paid"]);
    expect(asked()[0]).toMatchObject({ "/walletsolidity/gettransactioninfobyid": 2 });
    expect(asked()[0]).not.toHaveProperty("/walletsolidity/gettransactioninfobyblocknum");
  });

  it.each([
    ["lacks one", { lies: [{ kind: "hides" as const }] }],
    ["is refused", { status: 404, words: "no such path" }],
  ])(
    "are asked for alone where the answer for the block %s: none of them is lost",
    async (_, trouble) => {
      await begin();
      const signed = await send(4);
      testNetwork.node.chain.mine();
      await nodes.tip();
      await locate(signed);
      testNetwork.node.chain.mine(19);
      for (const front of testNetwork.node.fronts)
        front.suffer({ paths: "gettransactioninfobyblocknum", ...trouble });
      asked();
      const ends = await Promise.all(signed.map(endOf));
      expect(ends.map((end) => end?.outcome)).toEqual(signed.map(() => "paid"));
      expect(asked()[0]).toMatchObject({ "/walletsolidity/gettransactioninfobyid": 4 });
    },
  );

  it("have no end by the receipts of one node of two", async () => {
    await begin();
    const signed = await Promise.all(
      [1, 2].map(async () => testNetwork.token(sender, usdt, holder.address, 2_000_000_000_000n)),
    );
    for (const one of signed) await testNetwork.send(one);
    testNetwork.node.chain.mine();
    await nodes.tip();
    await locate(signed);
    testNetwork.node.chain.mine(19);
    testNetwork.node.fronts[0]!.suffer({
      paths: "gettransactioninfobyblocknum",
      lies: [{ kind: "success" }],
    });
    const payment = { ...payout(0), contract: usdt, amountUnits: 2_000_000_000_000n };
    const ends = await Promise.allSettled(
      signed.map(({ txID }) => nodes.chainOutcome(payment, [{ txHash: txID, isCancel: false }])),
    );
    for (const end of ends)
      expect(end).toMatchObject({ status: "rejected", reason: { code: "NODE_DISAGREE" } });
  });
});

describe("payouts that a gateway judges on Tron", () => {
  /** One pass: heads, judgements, and the block of the head as deposits read it. */
  async function pass(some: readonly SignedTronTransaction[]): Promise<readonly string[]> {
    const [head, final] = await Promise.all([reader.tip(), reader.finalTip()]);
    const judging = reader.pass(final, some.length);
    const verdicts = await Promise.all(
      some.map(({ txID }, at) => judging.judge(payout(at), [txID], "")),
    );
    await reader.block(head.number, false);
    return verdicts.map(({ kind }) => kind);
  }

  it("cost no question each: the newest blocks show them, which are read once for all", async () => {
    await begin();
    for (let count = 0; count < 3; count += 1) {
      testNetwork.node.chain.mine();
      await pass((await send(0)) as readonly SignedTronTransaction[]);
      await reader.pass(await reader.finalTip(), 1).judge(payout(99), ["11".repeat(32)], "");
    }
    const signed = await send(12);
    asked();
    expect(await pass(signed)).toEqual(signed.map(() => "waiting"));
    testNetwork.node.chain.mine();
    expect(await pass(signed)).toEqual(signed.map(() => "confirming"));
    const seen = asked();
    const blocks = seen.reduce((sum, one) => sum + (one["/wallet/getblockbynum"] ?? 0), 0);
    const alone = seen.reduce((sum, one) => sum + (one["/wallet/gettransactioninfobyid"] ?? 0), 0);
    // The head's block of each pass, from one node.
    expect([alone, blocks <= 2]).toEqual([0, true]);
    for (let count = 0; count < 19; count += 1) {
      testNetwork.node.chain.mine();
      if (count < 18) expect(await pass(signed)).toEqual(signed.map(() => "confirming"));
    }
    asked();
    expect(await pass(signed)).toEqual(signed.map(() => "completed"));
    for (const one of asked()) {
      expect(one["/walletsolidity/gettransactioninfobyblocknum"]).toBe(1);
      expect(one).not.toHaveProperty("/walletsolidity/gettransactioninfobyid");
      expect(one).not.toHaveProperty("/wallet/gettransactioninfobyid");
    }
  });

  it("wait again when their block leaves the chain", async () => {
    await begin();
    await pass(await send(0));
    const signed = await send(2);
    testNetwork.node.chain.mine();
    expect(await pass(signed)).toEqual(["confirming", "confirming"]);
    testNetwork.node.chain.replace(1, { kept: "none", empty: 1 });
    expect(await pass(signed)).toEqual(["waiting", "waiting"]);
  });

  it("are found in a block from before the first that was read, by their receipts", async () => {
    await begin();
    const signed = await send(2);
    testNetwork.node.chain.mine(10);
    expect(await pass(signed)).toEqual(["confirming", "confirming"]);
    // A statement that comes late names an old transaction.
    const late = await send(1, 2);
    testNetwork.node.chain.mine(9);
    for (let count = 0; count < 4; count += 1) {
      testNetwork.node.chain.mine();
      await pass(signed);
    }
    const kinds: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      const [head, final] = await Promise.all([reader.tip(), reader.finalTip()]);
      kinds.push((await reader.pass(final, 1).judge(payout(2), [late[0]!.txID], "")).kind);
      await reader.block(head.number, false);
      testNetwork.node.chain.mine();
    }
    expect(kinds.at(-1)).toBe("confirming");
  });
});
