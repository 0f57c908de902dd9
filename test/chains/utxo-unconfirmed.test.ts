/**
 * What nodes show of an account in their mempools: the spends of its coins, by any node's word, and
 * never fewer than a node counts.
 */
import { afterEach, describe, expect, it } from "vitest";
import { addressOfScript } from "../../chains/utxo/address.ts";
import { createUtxoWatcher } from "../../chains/utxo/node-watcher.ts";
import { type FakeEsplora, fakeEsplora, fakeNetwork } from "./utxo-fake.ts";

const scriptOf = (byte: string): string => `0014${byte.repeat(20)}`;
const addressOf = (byte: string): string =>
  addressOfScript(Buffer.from(scriptOf(byte), "hex"), fakeNetwork) as string;
const account = addressOf("11");
const hash = (n: number): string => n.toString(16).padStart(64, "0");
const spend = (
  n: number,
  from = "11",
  to: readonly (readonly [string, number])[] = [["22", 900]],
) => ({
  txid: hash(n),
  status: { confirmed: false },
  vin: [
    {
      txid: hash(n + 1_000),
      vout: 0,
      prevout: { scriptpubkey: scriptOf(from), value: 1_000 },
      is_coinbase: false,
    },
  ],
  vout: to.map(([byte, value]) => ({ scriptpubkey: scriptOf(byte), value })),
});

let fakes: FakeEsplora[] = [];
afterEach(async () => {
  for (const fake of fakes) await fake.close();
  fakes = [];
});

/** A watcher of nodes whose mempools have these transactions, and count so many spends. */
async function watch(...pools: readonly (readonly [list: readonly object[], counted?: number])[]) {
  for (const [list, counted] of pools) {
    const pool = counted === undefined ? {} : { mempool_stats: { spent_txo_count: counted } };
    const answers = {
      [`/address/${account}/txs/mempool`]: JSON.stringify(list),
      [`/address/${account}`]: JSON.stringify(pool),
    };
    fakes.push(await fakeEsplora(answers));
  }
  const urls = fakes.map(({ url }) => url);
  return createUtxoWatcher({
    urls,
    network: fakeNetwork,
    confirmations: 2,
    log: () => undefined,
    timeoutMs: 20_000,
    patienceMs: 20_000,
  });
}

describe("unconfirmed transactions of an account", () => {
  it("are the spends of its coins with the receiver and amount, and no payment to it", async () => {
    const toItself = spend(3, "11", [["11", 900]]);
    const change = spend(2, "11", [
      ["11", 50],
      ["33", 850],
    ]);
    const watcher = await watch([[spend(1), change, toItself, spend(4, "22", [["11", 900]])]]);
    expect(await watcher.unconfirmed?.(account)).toEqual([
      {
        account,
        txHash: hash(1),
        receiver: addressOf("22"),
        amountUnits: 900n,
        tag: "",
        contract: "",
      },
      {
        account,
        txHash: hash(2),
        receiver: addressOf("33"),
        amountUnits: 850n,
        tag: "",
        contract: "",
      },
      { account, txHash: hash(3), receiver: account, amountUnits: 0n, tag: "", contract: "" },
    ]);
    watcher.close();
  });

  it("are those that any node shows, and too few answers are a fault", async () => {
    const watcher = await watch([[spend(1)]], [[spend(2)]], [[]]);
    expect((await watcher.unconfirmed?.(account))?.map(({ txHash }) => txHash).sort()).toEqual([
      hash(1),
      hash(2),
    ]);
    for (const fake of fakes.slice(1)) fake.answers = {};
    await expect(watcher.unconfirmed?.(account)).rejects.toMatchObject({ code: "NODE_NO_BLOCK" });
    watcher.close();
  });

  it("are all that the node counts, if outsiders have filled its list", async () => {
    const outsiders = Array.from({ length: 49 }, (_, n) => spend(100 + n, "44", [["11", 546]]));
    const watcher = await watch([[spend(1), ...outsiders], 1]);
    expect(await watcher.unconfirmed?.(account)).toHaveLength(1);
    watcher.close();
    fakes = [];
    const cut = await watch([[spend(1), ...outsiders], 2]);
    await expect(cut.unconfirmed?.(account)).rejects.toMatchObject({ code: "NODE_ANSWER_SIZE" });
    cut.close();
  });
});
