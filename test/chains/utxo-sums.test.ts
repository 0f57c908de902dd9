/**
 * Lists of an address against its own totals: a list that leaves a coin or a spend out is no
 * smaller balance. It is asked again, then the coins are found by other pages, and where these do
 * not make the totals either, that is a fault of the account. Reported of such servers: XRPLF/clio
 * #1389 (a transaction left out at the border of a page), mempool/electrs #54.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { Coin } from "../../chains/family.ts";
import { createUtxoWatcher, type UtxoWatcher } from "../../chains/utxo/node-watcher.ts";
import { seed } from "../support/evm-values.ts";
import { type FakeAnswer, type FakeEsplora, fakeEsplora, fakeNetwork } from "./utxo-fake.ts";
import { type MadeCoin, scriptOf, Values } from "./utxo-values.ts";

const values = new Values(seed);
const account = values.destination(fakeNetwork, "p2wpkh");
const script = Buffer.from(scriptOf(account, fakeNetwork)).toString("hex");
const coinOf = (units: bigint): MadeCoin => values.coin(scriptOf(account, fakeNetwork), units);
const [a, b, c] = [coinOf(60_000n), coinOf(40_000n), coinOf(5_000n)];

let nodes: FakeEsplora[] = [];
let watcher: UtxoWatcher | null = null;
afterEach(async () => {
  watcher?.close();
  await Promise.all(nodes.map((node) => node.close()));
});

const confirmed = (block: number) => ({
  confirmed: true,
  block_height: block,
  block_hash: "44".repeat(32),
});

/** A transaction of the address's list: it makes or takes a coin. */
function shown(
  txid: string,
  block: number,
  { makes = [] as Coin[], takes = [] as Coin[] },
): object {
  const outputs = makes.map(({ id, units }) => [Number(id.split(":")[1]), Number(units)] as const);
  const last = Math.max(-1, ...outputs.map(([at]) => at));
  const vout = Array.from({ length: last + 1 }, (_, at) => {
    const own = outputs.find(([place]) => place === at);
    return own === undefined
      ? { scriptpubkey: "51", value: 1 }
      : { scriptpubkey: script, value: own[1] };
  });
  const vin = takes.map(({ id, units }) => {
    const [of = "", at] = id.split(":");
    return {
      txid: of,
      vout: Number(at),
      prevout: { scriptpubkey: script, value: Number(units) },
      is_coinbase: false,
    };
  });
  return { txid, status: confirmed(block), vin, vout };
}

const making = (coin: Coin, block: number) =>
  shown(coin.id.split(":")[0] as string, block, { makes: [coin] });

interface Shown {
  readonly utxo: readonly Coin[];
  readonly newest: readonly object[]; // /txs
  readonly pages: readonly object[]; // /txs/chain
  readonly funded: readonly Coin[];
  readonly spent: readonly Coin[];
}

/** What a node at block 100 answers. */
function tables({ utxo, newest, pages, funded, spent }: Shown): Record<string, FakeAnswer> {
  const head = {
    id: "11".repeat(32),
    height: 100,
    timestamp: 1_790_000_000,
    previousblockhash: "33".repeat(32),
  };
  const list = utxo.map(({ id, units }) => {
    const [txid, vout] = id.split(":");
    return { txid, vout: Number(vout), value: Number(units), status: confirmed(90) };
  });
  const sum = (coins: readonly Coin[]) =>
    Number(coins.reduce((total, { units }) => total + units, 0n));
  const stats = {
    ...{ funded_txo_count: funded.length, funded_txo_sum: sum(funded), tx_count: pages.length },
    ...{ spent_txo_count: spent.length, spent_txo_sum: sum(spent) },
  };
  return {
    ...{ "/blocks/tip/hash": head.id, [`/block/${head.id}`]: JSON.stringify(head) },
    [`/address/${account}/utxo`]: JSON.stringify(list),
    [`/address/${account}/txs`]: JSON.stringify(newest),
    [`/address/${account}/txs/chain`]: JSON.stringify(pages),
    [`/address/${account}`]: JSON.stringify({ address: account, chain_stats: stats }),
    ...Object.fromEntries([a, b, c].map(({ id, made }) => [`/tx/${id.split(":")[0]}/hex`, made])),
  };
}

/** Two nodes at block 100 of which 99 is final, and what each shows of the account. */
async function watching(...all: readonly [Shown, Shown]): Promise<UtxoWatcher> {
  nodes = await Promise.all(all.map((one) => fakeEsplora(tables(one))));
  watcher = createUtxoWatcher({
    urls: nodes.map(({ url }) => url),
    network: fakeNetwork,
    confirmations: 2,
    log: () => {},
  });
  return watcher;
}

const paths = (): string[] =>
  nodes.flatMap(({ asked }) => asked).filter((path) => path.endsWith("/txs/chain"));
const history = [making(b, 90), making(a, 90)];
const whole: Shown = { utxo: [a, b], newest: history, pages: history, funded: [a, b], spent: [] };
const spend = shown("aa".repeat(32), 100, { takes: [c] });
/** A coin that the newest block takes: it is in the balance of block 99. */
const moving: Shown = {
  utxo: [a, b],
  newest: [spend, making(c, 90), ...history],
  pages: [spend, making(c, 90), ...history],
  funded: [a, b, c],
  spent: [c],
};

describe("the balance of an address", () => {
  it("is the list where it makes the totals, also while a later block takes, and no page is asked for", async () => {
    expect(await (await watching(whole, whole)).balance(account, "", 99)).toBe(100_000n);
    watcher?.close();
    expect(await (await watching(moving, moving)).balance(account, "", 99)).toBe(105_000n);
    expect(paths()).toEqual([]);
  });

  it("is found by other pages where both lists leave a coin out", async () => {
    const short = { ...whole, utxo: [a] };
    expect(await (await watching(short, short)).balance(account, "", 99)).toBe(100_000n);
    expect(paths().length).toBeGreaterThan(0);
  });

  it("is what it was while the counters stand, without a list; what comes then counts at once", async () => {
    const one = await watching(whole, whole);
    expect(await one.balance(account, "", 99)).toBe(100_000n);
    for (const node of nodes) node.asked.length = 0;
    expect(await one.balance(account, "", 99)).toBe(100_000n);
    expect(nodes.flatMap(({ asked }) => asked).filter((path) => path.endsWith("/utxo"))).toEqual(
      [],
    );
    const more = tables({
      ...whole,
      utxo: [a, b, c],
      newest: [making(c, 90), ...history],
      funded: [a, b, c],
    });
    for (const node of nodes) Object.assign(node.answers, more);
    expect(await one.balance(account, "", 99)).toBe(105_000n);
  });

  it("is a fault of the account where no pages make the totals: never a smaller number", async () => {
    const short = { ...whole, utxo: [a], pages: [making(a, 90)] };
    const fault = expect.objectContaining({ code: "NODE_LIST_SHORT" });
    await expect((await watching(short, short)).balance(account, "", 99)).rejects.toEqual(fault);
    watcher?.close();
    // One node's short list is no agreement either.
    await expect((await watching(whole, short)).balance(account, "", 99)).rejects.toEqual(fault);
  });

  it("of more coins than are read is the totals, less what came later, and the rest is not available", async () => {
    const counters = {
      tx_count: 9,
      funded_txo_count: 20_002,
      funded_txo_sum: 6_800_000,
      spent_txo_count: 1,
      spent_txo_sum: 5_000,
    };
    const one = await watching(moving, moving);
    for (const node of nodes) {
      node.answers[`/address/${account}/utxo`] = [400, "Too many history entries"];
      node.answers[`/address/${account}`] = JSON.stringify({
        address: account,
        chain_stats: counters,
      });
    }
    // The newest block took a coin of 5,000 that was there at block 99.
    expect(await one.balance(account, "", 99)).toBe(6_800_000n);
    expect(one.unusableCoins?.(account)).toMatchObject([{ units: 6_800_000n - 105_000n }]);
    const to = values.destination(fakeNetwork, "p2wpkh");
    const wanted = {
      contract: "",
      tag: "",
      destination: to,
      amountUnits: 100_000n,
      isFeeInside: true,
    };
    for (const node of nodes) node.answers["/fee-estimates"] = '{"3":1}';
    for (const node of nodes) node.answers[`/address/${account}/txs/mempool`] = "[]";
    expect(await one.cost(account, wanted)).toMatchObject({ ok: true, mostUnits: 100_000n });
  });
});
