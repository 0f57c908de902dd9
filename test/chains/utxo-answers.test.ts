/**
 * Answers of the Esplora API, shape by shape: those that servers give are read, and each other
 * shape is refused. The words of a node that refuses signed bytes, by their kind. No daemon is
 * needed.
 */
import { afterEach, describe, expect, it } from "vitest";
import {
  readAddressSums,
  readHash,
  readHead,
  readHexAnswer,
  readOutspend,
  readRates,
  readTransactionCount,
  readTransactionPlace,
  readUnspent,
} from "../../chains/utxo/answers.ts";
import { createUtxoSender, type UtxoSender } from "../../chains/utxo/node-sender.ts";
import { createUtxoWatcher } from "../../chains/utxo/node-watcher.ts";
import { type FakeAnswer, type FakeEsplora, fakeEsplora, fakeNetwork } from "./utxo-fake.ts";

const hash = "ab".repeat(32);
const other = "cd".repeat(32);
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const status = { confirmed: true, block_height: 7, block_hash: hash, block_time: 1_700_000_000 };
const place = { block: 7, blockHash: hash };
const head = {
  id: hash,
  height: 7,
  version: 2,
  timestamp: 1_700_000_000,
  tx_count: 1,
  previousblockhash: other,
  nonce: 1,
};
const output = { txid: hash, vout: 2, status, value: 2_100_000_000_000_000 };

describe("an answer", () => {
  it("of a usual server is read", () => {
    expect(readHash(Buffer.from(`${hash}\n`))).toBe(hash);
    expect(readHexAnswer(Buffer.from("00ff"))).toEqual(Buffer.from([0, 255]));
    expect(readHead(json(head))).toEqual({
      number: 7,
      hash,
      parentHash: other,
      timestampMs: 1_700_000_000_000,
    });
    expect(readHead(json({ ...head, height: 0, previousblockhash: null }))).toMatchObject({
      number: 0,
      parentHash: "",
    });
    expect(readTransactionPlace(json(status))).toEqual(place);
    expect(readTransactionPlace(json({ confirmed: false }))).toBeNull();
    expect(
      readUnspent(json([output, { ...output, vout: 0, status: { confirmed: false } }])),
    ).toEqual([
      { id: `${hash}:2`, txHash: hash, units: 2_100_000_000_000_000n, place },
      { id: `${hash}:0`, txHash: hash, units: 2_100_000_000_000_000n, place: null },
    ]);
    expect(readOutspend(json({ spent: false }))).toBeNull();
    expect(readOutspend(json({ spent: true, txid: other, vin: 0, status }))).toEqual({
      txHash: other,
      place,
    });
    expect(
      readTransactionCount(
        json({ address: "a", chain_stats: { tx_count: 3 }, mempool_stats: { tx_count: 1 } }),
      ),
    ).toBe(3);
  });

  it("of the Esplora API with rates is read in sat for 1,000 vB, rounded up, and may be empty", () => {
    const rates = { "144": 1, "3": 2.2520000000000002, "10": 0.1, "1008": 1e-7, "2": 87.882 };
    expect([...readRates(json(rates))]).toEqual([
      [2, 87_882n],
      [3, 2_253n],
      [10, 100n],
      [144, 1_000n],
      [1008, 1n],
    ]);
    expect(readRates(json({})).size).toBe(0);
  });

  it.each<[string, (bytes: Buffer) => unknown, readonly unknown[]]>([
    ["hash", readHash, [hash, "", hash.toUpperCase()]],
    [
      "head",
      readHead,
      [
        [],
        null,
        7,
        {},
        { ...head, id: "x" },
        { ...head, height: -1 },
        { ...head, height: 7.5 },
        { ...head, previousblockhash: null },
      ],
    ],
    [
      "status",
      readTransactionPlace,
      [
        [],
        {},
        { confirmed: 1 },
        { confirmed: true },
        { ...status, block_hash: 7 },
        { ...status, block_height: 2 ** 33 },
      ],
    ],
    [
      "list of coins",
      readUnspent,
      [
        {},
        [7],
        [{ ...output, value: -1 }],
        [{ ...output, value: 1.5 }],
        [{ ...output, value: 1e17 }],
        [{ ...output, status: {} }],
      ],
    ],
    [
      "spend",
      readOutspend,
      [[], {}, { spent: "true" }, { spent: true, txid: hash }, { spent: true, status }],
    ],
    [
      "address",
      readAddressSums,
      [{}, { chain_stats: {} }, { chain_stats: { funded_txo_count: 1, spent_txo_count: 0 } }],
    ],
    [
      "address",
      readTransactionCount,
      [{}, { chain_stats: {} }, { chain_stats: { tx_count: "many" } }],
    ],
    [
      "rate",
      readRates,
      [[], 7, { a: 1 }, { "3": -1 }, { "3": "high" }, { "3": 1e9 }, { "3": null }],
    ],
  ])("of the Esplora API of another shape is refused: %s", (_, read, values) => {
    for (const value of values) {
      const text = JSON.stringify(value);
      expect(() => read(json(value)), text).toThrow(
        expect.objectContaining({ code: "NODE_ANSWER" }),
      );
      expect(() => read(Buffer.from(text.slice(0, -1))), text).toThrow(
        expect.objectContaining({ code: "NODE_ANSWER" }),
      );
    }
  });

  it("of the Esplora API of hex with an odd length, with other digits, or of nothing is refused", () => {
    for (const text of ["", "0", "0g", "0x00", "AB"])
      expect(() => readHexAnswer(Buffer.from(text)), text).toThrow(
        expect.objectContaining({ code: "NODE_ANSWER" }),
      );
  });
});

describe("a server", () => {
  const fakes: FakeEsplora[] = [];
  let sender: UtxoSender | null = null;
  const log = (): void => undefined;
  const clock = (): number => performance.now();

  async function senderOn(...tables: readonly Record<string, FakeAnswer>[]): Promise<UtxoSender> {
    for (const table of tables) fakes.push(await fakeEsplora(table));
    const urls = fakes.map(({ url }) => url);
    sender = createUtxoSender({
      urls,
      network: fakeNetwork,
      confirmations: 1,
      clock,
      log,
      timeoutMs: 20_000,
      patienceMs: 40_000,
    });
    return sender;
  }
  afterEach(async () => {
    sender?.close();
    for (const fake of fakes.splice(0)) await fake.close();
  });

  const account = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";
  const tip = { "/blocks/tip/hash": hash, [`/block/${hash}`]: json(head), "/block-height/7": hash };
  const empty = { ...tip, "/fee-estimates": "{}", [`/address/${account}/utxo`]: "[]" };

  it("that estimates for many blocks only, or nothing, has the network's rate for silence, and a main network none", async () => {
    const far = { ...empty, "/fee-estimates": '{"504":5.026,"144":5.026}' };
    expect((await (await senderOn(far, empty)).chainState(account)).feeMarket).toEqual({
      satPerKvB: 1_000n,
    });
    sender?.close();
    for (const fake of fakes.splice(0)) await fake.close();
    for (const table of [far, empty]) fakes.push(await fakeEsplora(table));
    const network = { ...fakeNetwork, rateWithoutEstimate: null };
    const urls = fakes.map(({ url }) => url);
    sender = createUtxoSender({
      urls,
      network,
      confirmations: 1,
      clock,
      log,
      timeoutMs: 20_000,
      patienceMs: 40_000,
    });
    // All else is read: blocks, funds and coins.
    const { unread, ...told } = await sender.chainState(account);
    expect([unread?.get("market")?.code, unread?.size]).toEqual(["NODE_NO_RATE", 1]);
    expect(told).toMatchObject({
      feeMarket: null,
      number: 7,
      coins: [],
      balances: new Map([["", 0n]]),
    });
    // One good answer is enough, and one for twelve blocks is good.
    fakes[1]!.answers = { ...empty, "/fee-estimates": '{"12":7,"1008":1}' };
    expect((await sender.chainState(account)).feeMarket).toEqual({ satPerKvB: 7_000n });
  });

  it("that lacks /fee-estimates is asked as mempool's own server, and one of two that lacks both stops nothing", async () => {
    const { "/fee-estimates": _, ...lacking } = empty;
    const own = {
      ...lacking,
      "/v1/fees/recommended":
        '{"fastestFee":9,"halfHourFee":6.5,"hourFee":4,"economyFee":2,"minimumFee":1}',
    };
    expect((await (await senderOn(own, lacking)).chainState(account)).feeMarket).toEqual({
      satPerKvB: 6_500n,
    });
  });

  it("two servers with different rates: the lower rate counts if a higher fee can follow; of three servers, the middle one", async () => {
    const at = (rate: number) => ({ ...empty, "/fee-estimates": `{"3":${rate},"2":99,"6":1}` });
    expect((await (await senderOn(at(9), at(4))).chainState(account)).feeMarket).toEqual({
      satPerKvB: 4_000n,
    });
    sender?.close();
    for (const fake of fakes.splice(0)) await fake.close();
    expect((await (await senderOn(at(9), at(4), at(7))).chainState(account)).feeMarket).toEqual({
      satPerKvB: 7_000n,
    });
  });

  it("of the Esplora API at its quota is asked again after the time that it names", async () => {
    let times = 0;
    const busy = (
      response: Parameters<Exclude<FakeAnswer, string | Buffer | readonly unknown[]>>[0],
    ): void => {
      times += 1;
      if (times === 1) response.writeHead(429, { "retry-after": "1" }).end("Too Many Requests");
      else response.end(hash);
    };
    expect(await (await senderOn({ ...tip, "/blocks/tip/hash": busy })).tip()).toEqual({
      number: 7,
      hash,
    });
    expect(times).toBe(2);
  });

  it.each<[string, FakeAnswer, string]>([
    ["a page with a good status", "<html><title>Just a moment</title></html>", "NODE_ANSWER"],
    ["a page of a proxy that has no such path", [404, "<html>404 Not Found</html>"], "NODE_PATH"],
    ["a login that is asked for", [401, ""], "NODE_HTTP"],
    ["another text", "not a hash", "NODE_ANSWER"],
    ["words of its own", [400, "Invalid hash"], "NODE_ERROR"],
    ["an endless text", Buffer.alloc(200_000, "a"), "NODE_ANSWER_SIZE"],
  ])("of the Esplora API that answers %s gives no head", async (_, answer, code) => {
    await expect(
      (await senderOn({ ...tip, "/blocks/tip/hash": answer })).tip(),
    ).rejects.toMatchObject({ code, effect: "none" });
  });

  it("of the Esplora API whose head has another hash than the tip that it named gives no head", async () => {
    const table = { ...tip, [`/block/${hash}`]: json({ ...head, id: other }) };
    await expect((await senderOn(table)).tip()).rejects.toMatchObject({ code: "NODE_ANSWER" });
  });

  it("of the Esplora API of another chain is never asked for anything else", async () => {
    await expect(
      (await senderOn({ ...tip, "/block-height/0": other })).tip(),
    ).rejects.toMatchObject({
      code: "NODE_WRONG_CHAIN",
    });
    expect(fakes[0]?.asked).toEqual(["/block-height/0"]);
  });

  it.each([
    "Too many unspent outputs",
    "Too many history entries",
    "Too many unspent transaction outputs (>500). Contact support",
  ])(
    "that lists no coins of a popular address (%s) is asked for its transactions, and what even these lack is not available",
    async (refusal) => {
      const sums = {
        funded_txo_count: 20_002,
        spent_txo_count: 1,
        funded_txo_sum: 9,
        spent_txo_sum: 1,
      };
      const totals = json({ address: account, chain_stats: sums });
      const lists = {
        [`/address/${account}/txs/chain`]: "[]",
        [`/address/${account}/txs/mempool`]: "[]",
      };
      const table = {
        ...empty,
        ...lists,
        [`/address/${account}/utxo`]: [400, refusal] as const,
        [`/address/${account}`]: totals,
      };
      const state = await (await senderOn(table)).chainState(account);
      expect(state).toMatchObject({
        coins: [],
        unusable: [{ units: 8n, words: expect.stringContaining("more coins than are read") }],
      });
      expect(state.balances).toEqual(new Map([["", 0n]]));
    },
  );

  it("of the Esplora API that gives other bytes for a transaction or a block is not believed", async () => {
    const bytes =
      "01000000010000000000000000000000000000000000000000000000000000000000000000ffffffff0151ffffffff010000000000000000015100000000";
    const table = {
      ...tip,
      [`/tx/${hash}/hex`]: bytes,
      [`/block/${hash}/raw`]: Buffer.from(bytes, "hex"),
    };
    const nodes = await senderOn(table);
    const txParams = { coins: `${hash}:0:5000`, changeSat: "0", feeSat: "200" };
    await expect(nodes.evidence(txParams)).rejects.toMatchObject({ code: "NODE_ANSWER" });
    const watcher = createUtxoWatcher({
      urls: fakes.map(({ url }) => url),
      network: fakeNetwork,
      confirmations: 1,
      log,
    });
    await expect(watcher.block(7, true)).rejects.toMatchObject({ code: "NODE_ANSWER" });
    watcher.close();
  });

  it("of the Esplora API that took a write and gave no answer leaves its bytes in doubt; one that cannot be reached has not got it", async () => {
    const raw =
      "01000000010000000000000000000000000000000000000000000000000000000000000000ffffffff0151ffffffff010000000000000000015100000000";
    const cut: FakeAnswer = (response) => response.socket?.destroy();
    const nodes = await senderOn({ "/tx": cut });
    expect(await nodes.broadcast(raw)).toMatchObject({ standing: "doubtful" });
    expect(fakes[0]?.asked.filter((path) => path === "/tx")).toHaveLength(1);
    fakes[0]!.answers = { "/tx": [429, ""] };
    expect(await nodes.broadcast(raw)).toMatchObject({ standing: "refused", meaning: "node" });
    await fakes[0]!.close();
    expect(await nodes.broadcast(raw)).toMatchObject({ standing: "unsent" });
  });
});
