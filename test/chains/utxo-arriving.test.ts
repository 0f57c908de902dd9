/** Payments to an address that no block has, as several nodes show them. */
import { afterEach, describe, expect, it } from "vitest";
import type { ArrivingPayments } from "../../chains/nodes.ts";
import { addressOfScript } from "../../chains/utxo/address.ts";
import { createUtxoWatcher } from "../../chains/utxo/node-watcher.ts";
import { type FakeEsplora, fakeEsplora, fakeNetwork } from "./utxo-fake.ts";

const hash = (n: number): string => n.toString(16).padStart(64, "0");
const scriptOf = (byte: string): string => `0014${byte.repeat(20)}`;
const address = addressOfScript(Buffer.from(scriptOf("11"), "hex"), fakeNetwork) ?? "";

/** 100 vB at `rate` sat/vB. */
const pay = (
  n: number,
  value: number,
  { rate = 10, sequence = 0xffffffff, to = "11", confirmed = false } = {},
): object => ({
  txid: hash(n),
  status: confirmed ? { confirmed, block_height: 1, block_hash: hash(9) } : { confirmed },
  ...{ fee: rate * 100, weight: 400 },
  vin: [
    {
      txid: hash(n + 1_000),
      vout: 0,
      prevout: { scriptpubkey: scriptOf("44"), value: 90_000 },
      is_coinbase: false,
      sequence,
    },
  ],
  vout: [
    { scriptpubkey: scriptOf(to), value },
    { scriptpubkey: scriptOf("55"), value: 1_000 },
  ],
});

let fakes: FakeEsplora[] = [];
afterEach(async () => {
  for (const fake of fakes) await fake.close();
  fakes = [];
});

/** What nodes with these mempools show together; null for a node that does not answer. */
async function shown(
  pools: readonly (readonly object[] | null)[],
  rates: object | null = { 3: 20 },
): Promise<ArrivingPayments | string> {
  for (const list of pools) {
    const fees = rates === null ? {} : { "/fee-estimates": JSON.stringify(rates) };
    fakes.push(
      await fakeEsplora(
        list === null ? {} : { [`/address/${address}/txs/mempool`]: JSON.stringify(list), ...fees },
      ),
    );
  }
  const watcher = createUtxoWatcher({
    urls: fakes.map(({ url }) => url),
    ...{
      network: fakeNetwork,
      confirmations: 2,
      log: () => undefined,
      timeoutMs: 20_000,
      patienceMs: 20_000,
    },
  });
  const [answer] = (await watcher.arriving?.([address])) ?? [];
  watcher.close();
  return answer?.ok === true ? answer.value : (answer?.fault.code ?? "");
}
const one = (n: number, units: bigint, isSure: boolean, isReplaceable = false) => ({
  txHash: hash(n),
  units,
  isReplaceable,
  isSure,
});

describe("payments to an address that no block has", () => {
  it("are those to the address alone, and none that a block has", async () => {
    expect(
      await shown([[pay(1, 700), pay(2, 700, { to: "22" }), pay(3, 700, { confirmed: true })]]),
    ).toEqual({
      isWhole: true,
      payments: [one(1, 700n, true)],
    });
  });

  it("are sure from a quarter of the market's rate on, and never without a known rate", async () => {
    const rated = [
      pay(1, 700, { rate: 5 }),
      pay(2, 700, { rate: 4 }),
      { ...pay(3, 700), fee: undefined },
    ];
    const payments = [one(1, 700n, true), one(2, 700n, false), one(3, 700n, false)];
    expect(await shown([rated])).toEqual({ isWhole: true, payments });
  });

  it("are sure only where enough nodes show them, by the least of their words", async () => {
    expect(await shown([[pay(1, 700), pay(2, 600)], [pay(1, 500)]])).toEqual({
      isWhole: true,
      payments: [one(1, 500n, true), one(2, 600n, false)],
    });
  });

  it("can be sent elsewhere where one says so (BIP-125)", async () => {
    const final = [0xffffffff, 0xfffffffe].map((sequence, n) => pay(n, 7, { sequence }));
    const open = [0xfffffffd, 0].map((sequence, n) => pay(n + 2, 7, { sequence }));
    const found = (await shown([[...final, ...open]])) as ArrivingPayments;
    expect(found.payments.map(({ isReplaceable }) => isReplaceable)).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });

  it("are not whole where a list may be cut, or a node did not answer; without any answer there is a fault", async () => {
    const many = Array.from({ length: 50 }, (_, n) => pay(n, 7, { to: "22" }));
    expect(await shown([many])).toEqual({ isWhole: false, payments: [] });
    fakes = [];
    expect(await shown([[pay(1, 700)], null])).toEqual({
      isWhole: false,
      payments: [one(1, 700n, false)],
    });
    fakes = [];
    expect(await shown([null])).toMatch(/^NODE_/);
  });
});
