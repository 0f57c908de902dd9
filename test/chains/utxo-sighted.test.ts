/**
 * Coins that the gateway may name: final, of this account with this amount by the bytes that made
 * them, listed by enough nodes, and spent by nothing that any of them shows.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createUtxoSender } from "../../chains/utxo/node-sender.ts";
import type { UtxoWatcher } from "../../chains/utxo/node-watcher.ts";
import { createUtxoWatcher } from "../../chains/utxo/node-watcher.ts";
import { seed } from "../support/evm-values.ts";
import { type FakeEsplora, fakeEsplora, fakeNetwork } from "./utxo-fake.ts";
import { scriptOf, Values } from "./utxo-values.ts";

const values = new Values(seed);
const account = values.destination(fakeNetwork, "p2wpkh");
const other = values.destination(fakeNetwork, "p2wpkh");
const head = { hash: "11".repeat(32), number: 100 };
let nodes: FakeEsplora[];
let watcher: UtxoWatcher;

beforeEach(async () => {
  nodes = await Promise.all([fakeEsplora(chain()), fakeEsplora(chain())]);
  watcher = createUtxoWatcher({
    urls: nodes.map(({ url }) => url),
    network: fakeNetwork,
    confirmations: 2,
    log: () => {},
  });
});
afterEach(async () => {
  watcher.close();
  await Promise.all(nodes.map((node) => node.close()));
});

/** A head, and the block before it, which is final. */
function chain(): Record<string, string> {
  const final = { hash: "22".repeat(32), number: 99 };
  const blocks = [head, final].map(({ hash, number }) => [
    [`/block-height/${number}`, hash],
    [
      `/block/${hash}`,
      JSON.stringify({
        id: hash,
        height: number,
        timestamp: 1_790_000_000,
        previousblockhash: "33".repeat(32),
      }),
    ],
  ]);
  return Object.fromEntries([["/blocks/tip/hash", head.hash], ...blocks.flat()]) as Record<
    string,
    string
  >;
}

/** A coin in a block, as both nodes show it unless told. */
function give(
  units: bigint,
  { to = account, block = 99, on = nodes } = {},
): { readonly id: string; readonly units: bigint } {
  const { id, made } = values.coin(scriptOf(to, fakeNetwork), units);
  const [txid = "", vout = ""] = id.split(":");
  const status = { confirmed: true, block_height: block, block_hash: "44".repeat(32) };
  for (const node of nodes) {
    node.answers[`/tx/${txid}/hex`] = made;
    node.answers[`/tx/${txid}/outspend/${vout}`] = JSON.stringify({ spent: false });
  }
  for (const node of on) {
    const listed = JSON.parse(
      (node.answers[`/address/${account}/utxo`] as string | undefined) ?? "[]",
    ) as object[];
    node.answers[`/address/${account}/utxo`] = JSON.stringify([
      ...listed,
      { txid, vout: Number(vout), value: Number(units), status },
    ]);
  }
  return { id, units };
}

describe("coins that nodes show", () => {
  it("are named one by one: this amount, of this account, final, listed by enough nodes, and not spent", async () => {
    const coin = give(50_000n);
    const young = give(40_000n, { block: 100 });
    const others = give(30_000n, { to: other });
    const doubted = give(20_000n, { on: nodes.slice(0, 1) });
    const gone = { id: `${"ab".repeat(32)}:0`, units: 50_000n };
    const wanted = [coin, { ...coin, units: 50_001n }, young, others, doubted, gone];
    expect(await watcher.sightedCoins?.(account, wanted)).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
    // Only what nodes list of the account is asked about: an agent's own text reaches no node.
    expect(
      nodes.flatMap(({ asked }) => asked).filter((path) => path.includes("ab".repeat(32))),
    ).toEqual([]);
  });

  it("are known as shown by any node that has the bytes, and as unknown only if enough nodes lack them", async () => {
    const coin = give(50_000n, { on: nodes.slice(0, 1) });
    const gone = `${"ab".repeat(32)}:0`;
    expect(await watcher.isCoinShown?.(coin.id)).toBe(true);
    expect(await watcher.isCoinShown?.(gone)).toBe(false);
    // Bytes of another id show nothing.
    const [first, second] = nodes as [FakeEsplora, FakeEsplora];
    const [txHash = ""] = coin.id.split(":");
    first.answers[`/tx/${gone.split(":")[0]}/hex`] = first.answers[`/tx/${txHash}/hex`] ?? "";
    await expect(watcher.isCoinShown?.(gone)).rejects.toThrow();
    await second.close();
    expect(await watcher.isCoinShown?.(coin.id)).toBe(true);
    await expect(watcher.isCoinShown?.(`${"cd".repeat(32)}:0`)).rejects.toMatchObject({
      code: "NODE_UNREACHABLE",
    });
  });

  it("are looked for by the courier too, with the final block's own time, and one that too few nodes answer about is left out", async () => {
    const sender = createUtxoSender({
      ...{
        urls: nodes.map(({ url }) => url),
        network: fakeNetwork,
        confirmations: 2,
        log: () => {},
        clock: () => 0,
      },
    });
    const coin = give(50_000n, { on: nodes.slice(0, 1) });
    const gone = `${"ab".repeat(32)}:0`;
    const chainMs = 1_790_000_000_000;
    expect(await sender.coinsSeen([coin.id, gone])).toEqual([
      { isShown: true, chainMs },
      { isShown: false, chainMs },
    ]);
    const [, second] = nodes as [FakeEsplora, FakeEsplora];
    second.answers[`/tx/${gone.split(":")[0]}/hex`] = "no transaction";
    expect(await sender.coinsSeen([coin.id, gone])).toEqual([{ isShown: true, chainMs }, null]);
    sender.close();
  });

  it("are not named while any of three nodes shows a spend, and are while it only lags", async () => {
    nodes.push(await fakeEsplora(chain()));
    watcher.close();
    watcher = createUtxoWatcher({
      urls: nodes.map(({ url }) => url),
      network: fakeNetwork,
      confirmations: 2,
      log: () => {},
    });
    const coin = give(50_000n, { on: nodes.slice(0, 2) });
    const third = nodes[2] as FakeEsplora;
    third.answers[`/address/${account}/utxo`] = "[]";
    const outspend = `/tx/${coin.id.replace(":", "/outspend/")}`;
    expect(await watcher.sightedCoins?.(account, [coin])).toEqual([true]);
    third.answers[outspend] = JSON.stringify({
      spent: true,
      txid: "cd".repeat(32),
      vin: 0,
      status: { confirmed: false },
    });
    expect(await watcher.sightedCoins?.(account, [coin])).toEqual([false]);
  });
});
