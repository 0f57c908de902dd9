/**
 * A server that refuses much is asked for less, by one rule for every family, and is blamed for an
 * odd item of others only if another server reads it.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { Code } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import { QuestionSize } from "../../chains/providers/ask-smaller.ts";
import { createNodePool, type PoolNode } from "../../chains/providers/node-pool.ts";
import { outspendQuestions, rewardQuestions } from "../../chains/utxo/node-questions.ts";
import { createPool as createUtxoPool } from "../../chains/utxo/node-wire.ts";
import { createHistoryReader } from "../../chains/xrp/node-history.ts";
import type { Question, NodePool as XrpPool } from "../../chains/xrp/node-wire.ts";
import { type FakeEsplora, fakeEsplora, fakeNetwork } from "./utxo-fake.ts";

const fault = (code: Code) => new AgentError(code, "none", "words");

describe("a size", () => {
  const asking = (most: number, code: Code) => {
    const sizes: number[] = [];
    const ask = async (size: number): Promise<number> => {
      sizes.push(size);
      if (size > most) throw fault(code);
      return size;
    };
    return { sizes, ask };
  };

  it.each(["NODE_ERROR", "NODE_HTTP", "NODE_ANSWER", "NODE_ANSWER_SIZE"] as const)(
    "is halved after %s until the server answers, kept, and grows after many answers",
    async (code) => {
      const size = new QuestionSize(200);
      const { sizes, ask } = asking(12, code);
      expect(await size.ask(200, ask)).toBe(12);
      expect(sizes).toEqual([200, 100, 50, 25, 12]);
      sizes.length = 0;
      for (let time = 0; time < 15; time += 1) await size.ask(200, ask);
      expect([...new Set(sizes)]).toEqual([12]);
      sizes.length = 0;
      await size.ask(200, ask);
      expect(sizes).toEqual([15, 7]);
    },
  );

  it("is not asked for again after a time-out, which tries less the next time; the smallest one's fault is thrown", async () => {
    const size = new QuestionSize(8);
    const slow = asking(0, "NODE_TIMEOUT");
    await expect(size.ask(8, slow.ask)).rejects.toMatchObject({ code: "NODE_TIMEOUT" });
    expect([slow.sizes, size.now]).toEqual([[8], 4]);
    await expect(size.ask(8, asking(0, "NODE_ANSWER").ask)).rejects.toMatchObject({
      code: "NODE_ANSWER",
    });
    expect(size.now).toBe(1);
    await expect(new QuestionSize(8).ask(8, asking(0, "NODE_NO_BLOCK").ask)).rejects.toMatchObject({
      code: "NODE_NO_BLOCK",
    });
  });

  it("puts a list together out of the parts that the server answers", async () => {
    const size = new QuestionSize(32);
    const parts: number[] = [];
    const items = Array.from({ length: 21 }, (_, at) => at);
    const found = await size.parts(items, async (part) => {
      if (part.length > 5) throw fault("NODE_ANSWER_SIZE");
      parts.push(part.length);
      return part.map((item) => item * 2);
    });
    expect(found).toEqual(items.map((item) => item * 2));
    expect(Math.max(...parts)).toBe(5);
  });
});

describe("an account's transactions on XRP", () => {
  const transactionAt = (at: number) => ({
    ...{
      txHash: at.toString(16).padStart(64, "A").toUpperCase(),
      ledger: 100 + at,
      account: "r",
      kind: "Payment",
      sequence: `${at}`,
    },
    ...{
      result: "tesSUCCESS",
      feeDrops: 10n,
      destination: "",
      tag: "",
      amountDrops: 1n,
      deliveredDrops: 1n,
      risen: [],
    },
  });
  const span = { from: 100, to: 131, hash: "AB".repeat(32) };

  /** A server with twelve heavy transactions, of which one answer holds `most`. */
  function heavy(most: number) {
    const limits: number[] = [];
    const node = { rpc: { origin: "http://node" } };
    const ask = async (_: unknown, { params }: Question<unknown>): Promise<unknown> => {
      const { limit, marker } = params as unknown as { limit: number; marker?: number };
      limits.push(limit);
      const from = marker ?? 0;
      const count = Math.min(limit, 12 - from);
      if (count > most) throw fault("NODE_ANSWER_SIZE");
      const transactions = Array.from({ length: count }, (__, at) => transactionAt(from + at));
      return {
        from: 100,
        to: 131,
        transactions,
        unread: [],
        marker: from + count < 12 ? from + count : undefined,
      };
    };
    const agree = async (job: (one: unknown) => Promise<unknown>) => job(node);
    const pool = {
      nodes: [node],
      ask,
      agree,
      first: agree,
      fail: () => undefined,
    } as unknown as XrpPool;
    return { limits, history: createHistoryReader(pool, forgotten) };
  }

  const forgotten = async (): Promise<bigint> => {
    throw fault("NODE_NO_BLOCK");
  };

  it("are read in smaller pages where a page is too large, and the page that fits is remembered", async () => {
    const { limits, history } = heavy(3);
    const account = "rrrrrrrrrrrrrrrrrrrrrhoLvTp";
    expect((await history.within(account, span, true)).found).toHaveLength(12);
    expect(limits.slice(0, 8)).toEqual([200, 100, 50, 25, 12, 6, 3, 3]);
    limits.length = 0;
    await history.within(account, { ...span, hash: "CD".repeat(32) }, true);
    expect(Math.max(...limits)).toBe(3);
    const light = heavy(200);
    expect((await light.history.within(account, span, true)).found).toHaveLength(12);
    expect(light.limits).toEqual([200]);
    await expect(heavy(0).history.within(account, span, true)).rejects.toMatchObject({
      code: "NODE_ANSWER_SIZE",
    });
  });
});

describe("an item of others that cannot be read", () => {
  const client = (origin: string) => ({ origin, close: () => undefined });
  type Client = ReturnType<typeof client>;

  async function blamed(
    reads: readonly boolean[],
    isOfOthers: boolean,
  ): Promise<readonly boolean[]> {
    const pool = createNodePool<Client, string>({
      ...{
        clients: reads.map((_, at) => client(`http://${at}`)),
        chain: "one",
        askChain: async () => "one",
      },
      ...{ chainOf: (answer: string) => answer, log: () => undefined, clock: () => 0 },
    });
    await pool.checkChain();
    const job = async (node: PoolNode<Client>): Promise<string> => {
      if (reads[pool.nodes.indexOf(node)] === true) return "read";
      throw pool.unreadable(node, fault("NODE_ANSWER"), isOfOthers);
    };
    await pool.agree(job, String, "item").catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    return pool.nodes.map(({ failures }) => failures > 0);
  }

  it("is a server's failure only where another one reads it, and every other answer at once", async () => {
    expect(await blamed([false, false], true)).toEqual([false, false]);
    expect(await blamed([true, false], true)).toEqual([false, true]);
    expect(await blamed([false], true)).toEqual([false]);
    expect(await blamed([false, false], false)).toEqual([true, true]);
    expect(await blamed([true, true], true)).toEqual([false, false]);
  });
});

describe("an Esplora server without a path", () => {
  const fakes: FakeEsplora[] = [];
  afterEach(async () => {
    for (const fake of fakes.splice(0)) await fake.close();
  });
  const hash = "ab".repeat(32);
  const spend = { spent: true, txid: "cd".repeat(32), vin: 0, status: { confirmed: false } };

  it("is asked the same by its other one from then on, and one with it is not", async () => {
    const both = {
      [`/block/${hash}/txids`]: JSON.stringify([hash, hash]),
      [`/tx/${hash}/outspends`]: JSON.stringify([{ spent: false }, spend]),
    };
    const own = { [`/block/${hash}/txid/0`]: hash };
    fakes.push(
      await fakeEsplora(both),
      await fakeEsplora({ ...both, ...own }),
      await fakeEsplora(),
    );
    const urls = fakes.map(({ url }) => url);
    const options = {
      network: fakeNetwork,
      timeoutMs: 20_000,
      patienceMs: 40_000,
      log: () => undefined,
      clock: () => 0,
    };
    const pool = createUtxoPool({ ...options, urls });
    const [lacking, whole, none] = pool.nodes as [
      (typeof pool.nodes)[0],
      (typeof pool.nodes)[0],
      (typeof pool.nodes)[0],
    ];
    for (let time = 0; time < 2; time += 1)
      expect(await pool.askEither(lacking, rewardQuestions, hash)).toBe(hash);
    expect(fakes[0]?.asked.filter((path) => path.startsWith("/block/"))).toEqual([
      ...[`/block/${hash}/txid/0`, `/block/${hash}/txids`, `/block/${hash}/txids`],
    ]);
    expect(await pool.askEither(whole, rewardQuestions, hash)).toBe(hash);
    expect(fakes[1]?.asked.filter((path) => path.startsWith("/block/"))).toEqual([
      `/block/${hash}/txid/0`,
    ]);
    await expect(pool.askEither(none, rewardQuestions, hash)).rejects.toBeInstanceOf(AgentError);
    // A refused spend is no "not spent": a 404 of the path is one of the coin for the usual
    // question.
    fakes[0]!.answers = { ...both, [`/tx/${hash}/outspend/1`]: [400, "Unsupported"] };
    expect(await pool.askEither(lacking, outspendQuestions, `${hash}:1`)).toMatchObject({
      txHash: "cd".repeat(32),
    });
    pool.close();
  });
});
