/**
 * Coins at the end of a block, by lists that show only what is unspent now and by the history of an
 * address, page after page. Reported for such software: balances that miss the change of payments
 * on their way (btcpayserver, electrs' /utxo without what the mempool spends).
 */
import { describe, expect, it } from "vitest";
import type { AddressTransaction, UnspentOutput } from "../../chains/utxo/answers.ts";
import { readHistory } from "../../chains/utxo/answers.ts";
import { listCoinsAtBlockEnd } from "../../chains/utxo/node-balance.ts";

const block = 100;
const script = `0014${"ab".repeat(20)}`;
const hash = (digit: string): string => digit.repeat(64);
const at = (number: number | null) =>
  number === null ? null : { block: number, blockHash: hash("f") };
const unspent = (digit: string, units: bigint, number: number | null): UnspentOutput => ({
  id: `${hash(digit)}:0`,
  txHash: hash(digit),
  units,
  place: at(number),
});
const spending = (
  digit: string,
  number: number | null,
  coins: readonly string[],
  of = script,
): AddressTransaction => ({
  txHash: hash(digit),
  place: at(number),
  inputs: coins.map((one) => ({ id: `${hash(one)}:0`, txHash: hash(one), units: 7n, script: of })),
  outputs: [],
  satPerKvB: null,
  isReplaceable: true,
});
const sumOf = (seen: Partial<Parameters<typeof listCoinsAtBlockEnd>[0]>): bigint =>
  listCoinsAtBlockEnd({ unspent: [], later: [], block, script, ...seen }).reduce(
    (sum, { units }) => sum + units,
    0n,
  );

describe("the coins of an address at the end of a block", () => {
  it("are those of blocks up to it, and no later ones", () => {
    expect(
      sumOf({ unspent: [unspent("1", 5n, 100), unspent("2", 3n, 101), unspent("3", 9n, null)] }),
    ).toBe(5n);
  });

  it("are also those that a later block or the mempool spends, each once", () => {
    expect(sumOf({ later: [spending("a", null, ["1"]), spending("b", 101, ["2"])] })).toBe(14n);
    // A node that saw the spend between its two answers shows the coin in both.
    expect(sumOf({ unspent: [unspent("1", 7n, 99)], later: [spending("a", null, ["1"])] })).toBe(
      7n,
    );
    // Two attempts of one payment in two mempools spend the same coin.
    expect(sumOf({ later: [spending("a", null, ["1"]), spending("b", null, ["1"])] })).toBe(7n);
  });

  it("are none that were made later, though something spends them already, and none of another address", () => {
    const later = [spending("b", null, ["a"]), spending("a", 101, ["1"])];
    expect(sumOf({ unspent: [unspent("b", 4n, null)], later })).toBe(7n);
    expect(sumOf({ later: [spending("a", 101, ["1"], `0014${"cd".repeat(20)}`)] })).toBe(0n);
  });

  it("are the same whatever the node's mempool has", () => {
    const full = listCoinsAtBlockEnd({
      unspent: [unspent("2", 3n, 90)],
      later: [spending("a", null, ["1"])],
      block,
      script,
    });
    const empty = listCoinsAtBlockEnd({
      unspent: [unspent("1", 7n, 80), unspent("2", 3n, 90)],
      later: [],
      block,
      script,
    });
    const key = (coins: readonly UnspentOutput[]): string =>
      coins.map(({ id, units }) => `${id} ${units}`).join();
    expect(key(full)).toBe(key(empty));
  });
});

describe("the history of an address", () => {
  const prevout = { scriptpubkey: script, value: 12 };
  const status = { confirmed: true, block_height: 100, block_hash: hash("f") };
  const vin = [{ txid: hash("1"), vout: 3, prevout, is_coinbase: false }];
  const vout = [{ value: 5 }, { scriptpubkey: script, value: 6 }];
  const read = (change: object) =>
    readHistory(Buffer.from(JSON.stringify([{ txid: hash("a"), status, vin, vout, ...change }])));

  it("is read with the coins that each transaction spends and makes; a reward spends none", () => {
    const inputs = [{ id: `${hash("1")}:3`, txHash: hash("1"), units: 12n, script }];
    const outputs = [{ id: `${hash("a")}:1`, txHash: hash("a"), units: 6n, script }];
    expect(read({})).toEqual([
      { txHash: hash("a"), place: at(100), inputs, outputs, satPerKvB: null, isReplaceable: true },
    ]);
    expect(
      read({ vin: [{ txid: hash("0"), vout: 0xffffffff, prevout: null, is_coinbase: true }] })[0]
        ?.inputs,
    ).toEqual([]);
    expect(read({ status: { confirmed: false } })[0]?.place).toBeNull();
  });

  it.each([
    ["no inputs", { vin: undefined }],
    ["no outputs", { vout: undefined }],
    ["an output whose script is no hex", { vout: [{ scriptpubkey: "0", value: 1 }] }],
    ["an output without its amount", { vout: [{ scriptpubkey: script }] }],
    ["an input without its output", { vin: [{ txid: hash("1"), vout: 0, is_coinbase: false }] }],
    [
      "a script that is no hex",
      { vin: [{ ...vin[0], prevout: { scriptpubkey: "0g", value: 1 } }] },
    ],
    ["half a coin", { vin: [{ ...vin[0], prevout: { scriptpubkey: script, value: 1.5 } }] }],
    ["no status", { status: undefined }],
    ["another id", { txid: "x" }],
  ])("is refused with %s", (_, change) => {
    expect(() => read(change)).toThrow(expect.objectContaining({ code: "NODE_ANSWER" }));
  });
});
