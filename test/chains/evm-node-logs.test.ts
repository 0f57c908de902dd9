/**
 * Token deposits on EVM by lists that nodes may cut, leave empty or refuse: the bloom of the header
 * and the receipts of the block prove the missing entries, a refused range is asked in smaller
 * ones, and the question is the same for any number of addresses.
 */
import { afterEach, beforeEach, expect, describe as group, it } from "vitest";
import { createWatcher } from "../../chains/evm/node-watcher.ts";
import type { DetectedPayment, WatchedAddresses, WatcherNodes } from "../../chains/nodes.ts";
import { FakeChain, hashOf } from "../../lab/kit/fake-chain.ts";
import type { FakeAnswer, RpcCall } from "../../lab/kit/fake-node.ts";
import { closesItsNodes, fakeNode } from "../support/evm-nodes.ts";

const token = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
const other = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512";
const address = "0x52908400098527886E0F7030069857D2E4169EE7";
const outsider = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";

type Malform = (call: RpcCall, honest: unknown) => FakeAnswer | null;
type Fields = Record<string, unknown>;

let chain: FakeChain;
let watcher: WatcherNodes | null = null;

closesItsNodes();
beforeEach(() => {
  chain = new FakeChain();
});
afterEach(() => watcher?.close());

const bookOf = (...all: readonly string[]): WatchedAddresses => {
  const set = new Set(all);
  return { size: set.size, has: (one) => set.has(one), all: () => set };
};

function pays(units: bigint, to = address, contract = token): number {
  const transfers = [{ contract, from: outsider, to, units }];
  return chain.mine({
    hash: hashOf(`${chain.top} ${to} ${units}`),
    from: outsider,
    to: contract,
    transfers,
  });
}

async function nodeWith(malform: Malform = () => null) {
  return fakeNode({
    answer: (call) => {
      const honest = chain.answer(call.method, call.params);
      return malform(call, honest) ?? { result: honest };
    },
  });
}

async function watchedBy(...malforms: readonly (Malform | undefined)[]) {
  const nodes = await Promise.all(malforms.map((malform) => nodeWith(malform)));
  const options = { nodes: nodes.map(({ url }) => url), chainId: 31337, confirmations: 1 };
  watcher = createWatcher(options, () => undefined);
  return { nodes, reader: watcher };
}

async function finds(
  reader: WatcherNodes,
  from: number,
  to: number,
  isAgreed = true,
  book = bookOf(address),
) {
  const numbers = Array.from({ length: to - from + 1 }, (_, at) => from + at);
  const blocks = await Promise.all(numbers.map((number) => reader.block(number, isAgreed)));
  return reader.payments(blocks, ["", token, other], book, isAgreed);
}

const found = async (...question: Parameters<typeof finds>) => (await finds(...question)).found;

const unitsOf = (payments: readonly DetectedPayment[]): readonly bigint[] =>
  payments.map(({ amountUnits }) => amountUnits);
const ofLogs =
  (result: unknown): Malform =>
  (call) =>
    call.method === "eth_getLogs" ? { result } : null;
const change =
  (method: string, malform: (honest: Fields) => unknown): Malform =>
  (call, honest) =>
    call.method === method && honest !== null ? { result: malform(honest as Fields) } : null;

group("an empty list", () => {
  // ethereum/go-ethereum #24078: a lagging machine behind one name; besu-eth/besu #8007 and
  // filecoin-project/lotus #13749: the same by the hash of a block.
  it.each([true, false])(
    "an empty list that answers every question is not believed if the header speaks of logs (agreed: %s)",
    async (isAgreed) => {
      pays(5n);
      chain.mineEmpty(2);
      const { reader } = await watchedBy(ofLogs([]));
      expect(unitsOf(await found(reader, 1, 3, isAgreed))).toEqual([5n]);
    },
  );

  it("an empty list is believed if the header speaks of none, and costs no further question", async () => {
    chain.mine({ hash: hashOf("coins"), from: outsider, to: outsider, value: 1n });
    chain.mineEmpty(2);
    const { nodes, reader } = await watchedBy(undefined);
    expect(await found(reader, 1, 3)).toEqual([]);
    expect(nodes[0]!.count("eth_getLogs")).toBe(1);
    expect(
      nodes[0]!.count("eth_getBlockReceipts") + nodes[0]!.count("eth_getTransactionReceipt"),
    ).toBe(0);
  });

  it("an empty list from a node without the receipts too is a block that the node does not have, and credits nothing", async () => {
    pays(5n);
    const lags: Malform = (call) =>
      call.method === "eth_getLogs"
        ? { result: [] }
        : call.method.endsWith("Receipts") || call.method.endsWith("Receipt")
          ? { result: null }
          : null;
    const { nodes, reader } = await watchedBy(lags);
    await expect(found(reader, 1, 1)).rejects.toMatchObject({ code: "NODE_NO_BLOCK" });
    nodes[0]!.options = { answer: (call) => ({ result: chain.answer(call.method, call.params) }) };
    expect(unitsOf(await found(reader, 1, 1))).toEqual([5n]);
  });

  it("an empty list from a node without receipts by block is proven by the receipts one by one", async () => {
    pays(5n);
    const malform: Malform = (call) => {
      if (call.method === "eth_getLogs") return { result: [] };
      return call.method === "eth_getBlockReceipts"
        ? { error: { code: -32601, message: "method not found" } }
        : null;
    };
    const { reader } = await watchedBy(malform);
    expect(unitsOf(await found(reader, 1, 1))).toEqual([5n]);
  });

  it("an empty list beside a header without a bloom is proven by receipts where the block has transactions", async () => {
    pays(5n);
    const malform: Malform = (call, honest) =>
      change("eth_getBlockByNumber", ({ logsBloom: _, ...block }) => block)(call, honest) ??
      ofLogs([])(call, honest);
    const { reader } = await watchedBy(malform);
    expect(unitsOf(await found(reader, 1, 1))).toEqual([5n]);
  });

  it("an empty bloom is not believed once a header with one stood beside logs", async () => {
    pays(5n);
    pays(6n);
    const blind = change("eth_getBlockByNumber", (block) => ({
      ...block,
      logsBloom: `0x${"0".repeat(512)}`,
    }));
    let isEmpty = false;
    const { reader } = await watchedBy(
      (call, honest) => blind(call, honest) ?? (isEmpty ? ofLogs([])(call, honest) : null),
    );
    expect(unitsOf(await found(reader, 1, 1))).toEqual([5n]);
    isEmpty = true;
    expect(unitsOf(await found(reader, 2, 2))).toEqual([6n]);
  });

  it("an empty list in the place of a block's transactions, where its header has some, is a block that the node does not have", async () => {
    pays(5n);
    const root = hashOf("root");
    const { nodes, reader } = await watchedBy(
      change("eth_getBlockByNumber", (block) => ({
        ...block,
        transactionsRoot: root,
        transactions: [],
      })),
    );
    await expect(reader.block(1, true)).rejects.toMatchObject({ code: "NODE_NO_BLOCK" });
    nodes[0]!.options = { answer: (call) => ({ result: chain.answer(call.method, call.params) }) };
    expect((await reader.block(1, true)).number).toBe(1);
  });
});

group("a list that is cut", () => {
  // ethers-io/ethers.js #1389: a provider cuts lists at 100 without a word.
  it("a list that is cut at a round number is asked for in smaller ranges, and of one block by its receipts", async () => {
    for (let at = 0; at < 150; at += 1) pays(1n, outsider);
    const last = pays(7n);
    const many = Array.from({ length: 120 }, () => ({
      contract: token,
      from: outsider,
      to: outsider,
      units: 1n,
    }));
    const transfers = [...many, { contract: token, from: outsider, to: address, units: 9n }];
    const full = chain.mine({ hash: hashOf("full"), from: outsider, to: token, transfers });
    const cut: Malform = (call, honest) =>
      call.method === "eth_getLogs" ? { result: (honest as unknown[]).slice(0, 100) } : null;
    const { reader } = await watchedBy(cut);
    expect(unitsOf(await found(reader, 1, last))).toEqual([7n]);
    expect(unitsOf(await found(reader, full, full))).toEqual([9n]);
  });
});

group("a question that is too large", () => {
  const refusals: readonly (readonly [string, FakeAnswer])[] = [
    ["a range in words", { error: { code: -32602, message: "range 32 exceeds limit of 10" } }],
    [
      "a limit of results",
      { error: { code: -32005, message: "query returned more than 10000 results" } },
    ],
    [
      "a response size",
      { error: { code: -32008, message: "Response size is larger than 150MB limit" } },
    ],
    ["words that nobody knows", { error: { code: 35, message: "no" } }],
  ];
  // INFURA/infura #237, foundry-rs/foundry #12687, stakewise/v3-operator #775.
  it.each(refusals)(
    "a question that a node refuses by %s is asked smaller, and the size that works is kept",
    async (_, refusal) => {
      for (let at = 0; at < 40; at += 1) pays(BigInt(at + 1));
      const sizeOf = ({ params }: RpcCall): number => {
        const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string };
        return Number(toBlock) - Number(fromBlock) + 1;
      };
      const malform: Malform = (call) =>
        call.method === "eth_getLogs" && sizeOf(call) > 10 ? refusal : null;
      const { nodes, reader } = await watchedBy(malform);
      expect(await found(reader, 1, 32)).toHaveLength(32);
      const refused = nodes[0]!.calls.filter(
        (call) => call.method === "eth_getLogs" && sizeOf(call) > 10,
      ).length;
      expect(refused).toBe(2);
      expect(await found(reader, 9, 40)).toHaveLength(32);
      expect(
        nodes[0]!.calls.filter((call) => call.method === "eth_getLogs" && sizeOf(call) > 10),
      ).toHaveLength(refused);
    },
  );

  it.each([400, 403, 413, 500])(
    "a question that a node refuses by HTTP status %i is asked smaller, down to one block",
    async (status) => {
      for (let at = 0; at < 8; at += 1) pays(BigInt(at + 1));
      const { nodes, reader } = await watchedBy(undefined);
      nodes[0]!.options = {
        ...nodes[0]!.options,
        hijack: (calls, response) => {
          const isLarge = calls.some(({ method, params }) => {
            const { fromBlock, toBlock } = (params[0] ?? {}) as {
              fromBlock?: string;
              toBlock?: string;
            };
            return method === "eth_getLogs" && fromBlock !== toBlock;
          });
          if (isLarge) response.writeHead(status).end("too much");
          return isLarge;
        },
      };
      expect(await found(reader, 1, 8)).toHaveLength(8);
    },
  );

  // base/base #2421: a limit of results that a single block exceeds.
  it("a question that a node refuses for one block as well is answered by the receipts of this block", async () => {
    pays(1n);
    const transfers = Array.from({ length: 4 }, (_, at) => ({
      contract: token,
      from: outsider,
      to: address,
      units: BigInt(at + 2),
    }));
    chain.mine({ hash: hashOf("four"), from: outsider, to: token, transfers });
    const many: Malform = (call, honest) =>
      call.method === "eth_getLogs" && (honest as unknown[]).length > 3
        ? { error: { code: -32005, message: "query returned more than 3 results" } }
        : null;
    const { nodes, reader } = await watchedBy(many);
    expect(unitsOf(await found(reader, 1, 2))).toEqual([1n, 2n, 3n, 4n, 5n]);
    expect(nodes[0]!.count("eth_getBlockReceipts")).toBe(1);
  });

  it("a question that a node refuses for one block as well, and has no receipts for, is the node's fault, in its own words", async () => {
    pays(1n);
    const { reader } = await watchedBy((call) =>
      call.method === "eth_getLogs"
        ? { error: { code: 35, message: "no" } }
        : call.method.endsWith("Receipts") || call.method.endsWith("Receipt")
          ? { result: null }
          : null,
    );
    await expect(found(reader, 1, 1)).rejects.toMatchObject({ code: "NODE_ERROR", message: "no" });
  });

  it("a question of a method that the node does not have is the node's fault, in its own words", async () => {
    pays(1n);
    pays(2n);
    const { reader } = await watchedBy((call) =>
      call.method === "eth_getLogs" ? { error: { code: -32601, message: "logs are off" } } : null,
    );
    await expect(found(reader, 1, 2)).rejects.toMatchObject({
      code: "NODE_ERROR",
      message: "logs are off",
    });
  });
});

group("acts of outsiders", () => {
  // subsquid/squid-sdk #542 and OffchainLabs/go-ethereum #658: no nonce; hiero-ledger/
  // hiero-json-rpc-relay #417: no type, price or signature either.
  it("a foreign transaction with odd fields fails no block, and nodes need not show it alike", async () => {
    const odd = (more: Fields): Malform =>
      change("eth_getBlockByNumber", ({ transactions, ...block }) => ({
        ...{
          ...block,
          transactions: (transactions as Fields[]).flatMap((one) => [
            { hash: hashOf("system"), type: "0x7e", ...more },
            one,
          ]),
        },
      }));
    const block = chain.mine({ hash: hashOf("coins"), from: outsider, to: address, value: 4n });
    const { reader } = await watchedBy(
      odd({ from: other, to: other, value: "0x0" }),
      odd({ from: null, nonce: "x", input: 7 }),
    );
    expect(unitsOf(await found(reader, block, block))).toEqual([4n]);
    expect(
      (await reader.outgoing([await reader.block(block, true)], new Set([outsider]))).found.map(
        ({ txHash }) => txHash,
      ),
    ).toEqual([hashOf("coins")]);
  });

  it("a payment by a transaction without a nonce is credited, also where nodes show others differently", async () => {
    const block = chain.mine(
      { hash: hashOf("deposit"), from: outsider, to: address, value: 4n },
      { hash: hashOf("b"), from: other, to: other },
    );
    const malform = (value: string): Malform =>
      change("eth_getBlockByNumber", ({ transactions, ...head }) => ({
        ...head,
        transactions: (transactions as Fields[]).map(({ nonce: _, ...one }) =>
          one.from === other ? { ...one, value } : one,
        ),
      }));
    const { reader } = await watchedBy(malform("0x1"), malform("0x2"));
    expect(unitsOf(await found(reader, block, block))).toEqual([4n]);
  });

  it("our own transaction in another amount by one of two nodes is a disagreement, and of three the two count", async () => {
    const block = chain.mine({ hash: hashOf("coins"), from: outsider, to: address, value: 4n });
    const tenfold = change("eth_getBlockByNumber", ({ transactions, ...head }) => ({
      ...{
        ...head,
        transactions: (transactions as Fields[]).map((one) =>
          typeof one === "object" ? { ...one, value: "0x28" } : one,
        ),
      },
    }));
    const two = await watchedBy(tenfold, undefined);
    await expect(found(two.reader, block, block)).rejects.toMatchObject({ code: "NODE_DISAGREE" });
    two.reader.close();
    const three = await watchedBy(tenfold, undefined, undefined);
    expect(unitsOf(await found(three.reader, block, block))).toEqual([4n]);
  });

  it("a foreign log with odd fields is nothing, ours with an odd field is named and costs no other", async () => {
    pays(5n);
    pays(6n, outsider);
    const malformAt =
      (to: string): Malform =>
      (call, honest) => {
        if (call.method !== "eth_getLogs") return null;
        const isOf = ({ topics }: Fields): boolean =>
          String((topics as string[])[2]).endsWith(to.slice(2).toLowerCase());
        return {
          result: (honest as Fields[]).map((log) =>
            isOf(log) ? { ...log, data: "0x1", logIndex: null, transactionHash: 5 } : log,
          ),
        };
      };
    const { reader } = await watchedBy(malformAt(outsider));
    expect(unitsOf(await found(reader, 1, 2))).toEqual([5n]);
    reader.close();
    const { reader: malformed } = await watchedBy(malformAt(address));
    const coins = chain.mine({ hash: hashOf("coins"), from: outsider, to: address, value: 4n });
    const { found: others, unread } = await finds(malformed, 1, coins);
    expect(unitsOf(others)).toEqual([4n]);
    expect(unread).toMatchObject([
      { txHash: "", block: 1, account: address, fault: { code: "NODE_ANSWER" } },
    ]);
  });

  // foundry-rs/foundry #7640.
  it("a receipt without its price credits what it pays", async () => {
    const block = chain.mine({ hash: hashOf("coins"), from: outsider, to: address, value: 4n });
    const malform = change(
      "eth_getTransactionReceipt",
      ({ effectiveGasPrice: _, gasUsed: _gas, ...receipt }) => receipt,
    );
    const { reader } = await watchedBy(malform, malform);
    expect(unitsOf(await found(reader, block, block))).toEqual([4n]);
  });
});

group("the cost of many addresses", () => {
  it("questions and bytes of a window are the same for 100,000 addresses as for 100, and each block comes once", async () => {
    for (let at = 0; at < 32; at += 1) pays(BigInt(at + 1));
    const costOf = async (count: number) => {
      const { nodes, reader } = await watchedBy(undefined, undefined);
      const book = bookOf(
        ...Array.from({ length: count }, (_, at) => `0x${(at + 1).toString(16).padStart(40, "0")}`),
        address,
      );
      expect(await found(reader, 1, 32, true, book)).toHaveLength(32);
      await Promise.all([reader.block(5, true), reader.block(5, true)]);
      reader.close();
      return nodes.map(({ calls }) => ({
        logs: calls.filter(({ method }) => method === "eth_getLogs").length,
        blocks: calls.filter(
          ({ method, params }) => method === "eth_getBlockByNumber" && params[1] === true,
        ).length,
        bytes: calls.reduce(
          (sum, { method, params }) => sum + JSON.stringify([method, params]).length,
          0,
        ),
      }));
    };
    const few = await costOf(100);
    expect(few.map(({ logs, blocks }) => [logs, blocks])).toEqual([
      [1, 32],
      [1, 32],
    ]);
    expect(await costOf(100_000)).toEqual(few);
  });
});

it("two payments of one block are both credited where a node counts logs in each transaction", async () => {
  const pay = (units: bigint) => ({
    ...{ hash: hashOf(`pay ${units}`), from: outsider, to: token },
    transfers: [{ contract: token, from: outsider, to: address, units }],
  });
  const top = chain.mine(pay(5n), pay(6n));
  const { reader } = await watchedBy((call, honest) =>
    call.method === "eth_getLogs"
      ? { result: (honest as Fields[]).map((log) => ({ ...log, logIndex: "0x0" })) }
      : null,
  );
  expect(unitsOf(await found(reader, top, top))).toEqual([5n, 6n]);
});
