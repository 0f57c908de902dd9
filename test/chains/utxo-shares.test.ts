/**
 * What is asked once of the nodes of a coin's chain, against two servers in memory: the place of a
 * payment, which holds as long as its block stands, and bytes that this program has already.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { Payment } from "../../chains/family.ts";
import { bitcoin, type UtxoNetwork } from "../../chains/utxo/network.ts";
import { createUtxoSender, type UtxoSender } from "../../chains/utxo/node-sender.ts";
import { createUtxoWatcher, type UtxoWatcher } from "../../chains/utxo/node-watcher.ts";
import type { CoinTransaction } from "../../lab/simulation/world/coin-raw.ts";
import {
  type Answer,
  EsploraChain,
  type EsploraServer,
  serveEsplora,
} from "../support/esplora-chain.ts";

const network = bitcoin.networks[0] as UtxoNetwork;
const genesis = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
const hot = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
const shop = "bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3";
const confirmations = 3;

let chain: EsploraChain;
let servers: EsploraServer[] = [];
let sender: UtxoSender;
let reader: UtxoWatcher;
let minedAtMs = 1_790_000_000_000;

afterEach(async () => {
  sender.close();
  reader.close();
  for (const server of servers) await server.close();
});

async function begin(change?: (path: string, answer: Answer) => Answer): Promise<void> {
  chain = new EsploraChain(genesis, minedAtMs);
  mine(3);
  servers = [await serveEsplora(chain, change), await serveEsplora(chain)];
  const urls = servers.map(({ url }) => url);
  const common = {
    urls,
    network,
    confirmations,
    log: () => {},
    clock: () => performance.now(),
    timeoutMs: 20_000,
  };
  sender = createUtxoSender(common);
  reader = createUtxoWatcher(common);
}

function mine(count = 1): void {
  for (let left = count; left > 0; left -= 1) {
    minedAtMs += 600_000;
    chain.mine(minedAtMs);
  }
}

/** The newest blocks leave the chain, and what they held waits again if it is `kept`. */
function undo(count: number, kept: boolean): void {
  const gone = chain.blocks.splice(-count).flatMap(({ transactions }) => transactions.slice(1));
  if (kept) chain.pool.push(...gone);
}

/** Questions to each server for a path, since the last call. */
let from: readonly number[] = [];
function asked(form: RegExp): readonly number[] {
  const since = servers.map(
    ({ asked: paths }, at) => paths.slice(from[at] ?? 0).filter((path) => form.test(path)).length,
  );
  return since;
}
function begins(): void {
  from = servers.map(({ asked: paths }) => paths.length);
}

const status = /\/status$/;
const hex = /\/hex$/;
const locate = async (some: readonly CoinTransaction[]) =>
  (
    await sender.locations(
      hot,
      some.map(({ hash }) => ({ slot: "", txHashes: [hash] })),
    )
  ).map((one) => one?.location?.block ?? null);
const ends = (some: readonly CoinTransaction[]) =>
  Promise.all(
    some.map(async ({ hash }) => {
      const payment = { account: hot, contract: "", destination: shop, tag: "", amountUnits: 1n };
      return (
        (await sender.chainOutcome(payment, [{ txHash: hash, isCancel: false }]))?.block ?? null
      );
    }),
  );

describe("the place of a payment in coins", () => {
  it("is asked for once: while its block stands, that block alone is asked for, also for the end", async () => {
    await begin();
    const paid = [1n, 2n, 3n].map((units) => chain.pay(shop, units * 10_000n));
    mine();
    begins();
    expect(await locate(paid)).toEqual([4, 4, 4]);
    expect(asked(status)).toEqual([3, 3]);
    begins();
    expect(await locate(paid)).toEqual([4, 4, 4]);
    expect([asked(status), asked(/^\/block-height\/4$/)]).toEqual([
      [0, 0],
      [1, 1],
    ]);
    mine(2);
    begins();
    expect(await ends(paid)).toEqual([4, 4, 4]);
    expect(asked(status)).toEqual([0, 0]);
    expect(asked(/^\/block-height\/4$/).every((count) => count <= 1)).toBe(true);
  });

  it("is lost with its block, and is another one in another block", async () => {
    await begin();
    const [moved, gone] = [chain.pay(shop, 10_000n), chain.pay(shop, 20_000n)];
    mine();
    expect(await locate([moved, gone])).toEqual([4, 4]);
    undo(1, false);
    mine();
    chain.pool.push(moved);
    mine();
    expect(await locate([moved, gone])).toEqual([5, null]);
    mine(3);
    expect(await ends([moved, gone])).toEqual([5, null]);
  });

  it("ends no payment before its block is final, nor in a block that left the chain", async () => {
    await begin();
    const paid = [chain.pay(shop, 10_000n)];
    mine();
    expect(await locate(paid)).toEqual([4]);
    mine();
    expect(await ends(paid)).toEqual([null]);
    undo(2, false);
    mine(4);
    expect(await ends(paid)).toEqual([null]);
  });

  it("has no end by a hash that was agreed on below another final block", async () => {
    await begin();
    const paid = [chain.pay(shop, 10_000n)];
    mine(5);
    expect(await locate(paid)).toEqual([4]);
    expect(await ends(paid)).toEqual([4]);
    undo(5, false);
    mine(6);
    expect(await ends(paid)).toEqual([null]);
  });

  it("is no place by the word of one server of two", async () => {
    await begin((path, answer) =>
      status.test(path) ? { status: 200, body: '{"confirmed":false}' } : answer,
    );
    const paid = [chain.pay(shop, 10_000n)];
    mine();
    expect(await locate(paid)).toEqual([null]);
    mine(3);
    expect(await ends(paid)).toEqual([null]);
  });
});

describe("bytes that are there already", () => {
  it("of a payment that was broadcast prove its change, and no server is asked for them", async () => {
    await begin();
    const own = chain.pay(hot, 50_000n);
    await sender.broadcast(`0x${own.raw}`);
    mine(3);
    begins();
    const evidence = await sender.evidence({
      coins: `${own.hash}:0:50000`,
      changeSat: "0",
      feeSat: "1000",
    });
    expect(evidence.map((one) => own.raw.includes(one.slice(8, -8)))).toEqual([true]);
    expect(asked(hex)).toEqual([0, 0]);
  });

  it("of a payment in a newest final block judge its end at the gateway", async () => {
    await begin();
    const spent = chain.pay(hot, 50_000n);
    mine();
    const paid = chain.pay(shop, 10_000n);
    const payment: Payment = {
      ...{ network: network.id, account: hot, slot: "", contract: "", destination: shop, tag: "" },
      ...{ amountUnits: 10_000n, isFeeInside: false },
    };
    const judge = async (): Promise<string> => {
      const verdict = await reader
        .pass(await reader.finalTip())
        .judge(payment, [paid.hash], `${spent.hash}:0:50000`);
      return verdict.kind;
    };
    mine();
    begins();
    expect(await judge()).toBe("confirming");
    expect(asked(status)).toEqual([1, 1]);
    mine();
    begins();
    expect(await judge()).toBe("confirming");
    expect(asked(status)).toEqual([0, 0]);
    mine();
    begins();
    // Its coin comes from nowhere in this chain, so that only the payment itself can be read.
    await judge().catch(() => "");
    expect([asked(status), asked(new RegExp(`/tx/${paid.hash}/hex`))]).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(asked(/\/raw$/).reduce((sum, count) => sum + count, 0)).toBe(1);
  });

  it("of the newest final blocks show the payments in them, and nodes are asked for the others alone", async () => {
    await begin();
    const paid = [1n, 2n, 3n].map((units) => chain.pay(shop, units * 10_000n));
    mine();
    const later = chain.pay(shop, 40_000n);
    mine(2);
    expect(await askedFor([...paid, later])).toEqual({ places: [1, 1], blocks: 3 });
    mine();
    expect(await askedFor([...paid, later])).toEqual({ places: [0, 0], blocks: 1 });
    undo(4, false);
    mine(5);
    expect(await askedFor(paid)).toEqual({ places: [3, 3], blocks: 3 });
  });

  /** Questions of a pass to each server for places, and to both for blocks. */
  async function askedFor(some: readonly CoinTransaction[]) {
    begins();
    const pass = reader.pass(await reader.finalTip());
    const place = {
      network: network.id,
      account: hot,
      slot: "",
      contract: "",
      destination: shop,
      tag: "",
    };
    const payment: Payment = { ...place, amountUnits: 10_000n, isFeeInside: false };
    // Their coins come from nowhere in this chain, so that only the places can be read.
    await Promise.allSettled(some.map(({ hash }) => pass.judge(payment, [hash], `${hash}:0:1`)));
    return {
      places: asked(status),
      blocks: asked(/\/raw$/).reduce((sum, count) => sum + count, 0),
    };
  }
});
