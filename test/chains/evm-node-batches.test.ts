/**
 * Batches that a node refuses, with any status and in any words: smaller batches follow, down to
 * one call, and the size that works is kept. A write is sent once in every case.
 */
import { expect, describe as group, it } from "vitest";
import type { FakeAnswer, RpcCall } from "../../lab/kit/fake-node.ts";
import {
  closesItsNodes,
  codeOf,
  fakeNode,
  nodesOf,
  receiver,
  signed,
} from "../support/evm-nodes.ts";

closesItsNodes();

const plain = ({ method }: RpcCall): FakeAnswer => ({
  result: method === "eth_chainId" ? "0x7a69" : "0x5",
});
const many = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);

type Refusal = (calls: readonly RpcCall[]) => { readonly status: number; readonly body: string };

async function nodeThatTakes(callsMax: number, refusal: Refusal) {
  const sizes: number[] = [];
  const node = await fakeNode({
    answer: plain,
    hijack: (calls, response) => {
      sizes.push(calls.length);
      if (calls.length <= callsMax) return false;
      const { status, body } = refusal(calls);
      response.writeHead(status, { "content-type": "application/json" }).end(body);
      return true;
    },
  });
  const nodes = nodesOf([node.url]);
  await nodes.checkChain();
  const ask = () => Promise.all(many(64).map((block) => nodes.balance(receiver, "", block)));
  return { node, nodes, sizes, ask };
}

const words =
  (status: number, text: string): Refusal =>
  () => ({ status, body: text });
const each =
  (code: number, message: string): Refusal =>
  (calls) => ({
    status: 200,
    body: JSON.stringify(calls.map(({ id }) => ({ jsonrpc: "2.0", id, error: { code, message } }))),
  });

group("a batch that is refused", () => {
  // hemilabs/ui-monorepo #887, beefyfinance/beefy-v2 #2774, besu-eth/besu #4951,
  // paritytech/jsonrpsee #744.
  const refusals: readonly (readonly [string, Refusal])[] = [
    ["HTTP 400", words(400, "Bad Request")],
    ["HTTP 413 and a page", words(413, "<html><title>413 Request Entity Too Large</title></html>")],
    ["HTTP 403", words(403, '{"error":"batch requests are not allowed on this plan"}')],
    ["HTTP 429 about the batch", words(429, "batch too large")],
    ["HTTP 500", words(500, "")],
    [
      "HTTP 500 and an error of JSON-RPC",
      words(500, '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"x"}}'),
    ],
    [
      "one error with HTTP 200",
      words(
        200,
        '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch limit exceeded"}}',
      ),
    ],
    ["an error for each call", each(-32005, "Batch size too large")],
    // geth with --rpc.batch-request-limit: the first call alone has an answer.
    [
      "an error for the first call alone",
      (calls) => each(-32600, "batch too large")(calls.slice(0, 1)),
    ],
  ];

  it.each(refusals)(
    "a batch that is refused by %s is asked in smaller ones, and the size that works is kept",
    async (_, refusal) => {
      const { sizes, ask } = await nodeThatTakes(3, refusal);
      expect(await ask()).toEqual(many(64).map(() => 5n));
      sizes.length = 0;
      expect(await ask()).toEqual(many(64).map(() => 5n));
      expect(Math.max(...sizes)).toBeLessThanOrEqual(4);
      expect(sizes.filter((size) => size > 3).length).toBeLessThanOrEqual(2);
    },
  );

  it.each(refusals)(
    "a batch that is refused by %s of any size is asked as single calls",
    async (_, refusal) => {
      const { sizes, ask } = await nodeThatTakes(1, refusal);
      expect(await ask()).toEqual(many(64).map(() => 5n));
      expect(await ask()).toEqual(many(64).map(() => 5n));
      expect(sizes.filter((size) => size === 1).length).toBeGreaterThan(100);
    },
  );

  it("a batch that is refused by a node that refuses single calls as well fails with its words after a few questions", async () => {
    const { node, sizes, ask } = await nodeThatTakes(64, words(500, ""));
    node.options = {
      ...node.options,
      hijack: (calls, response) =>
        void sizes.push(calls.length) === undefined &&
        response.writeHead(500).end("database is closed") !== undefined,
    };
    sizes.length = 0;
    expect(await codeOf(ask())).toBe("NODE_HTTP");
    await expect(ask()).rejects.toThrow("database is closed");
    expect(sizes.length).toBeLessThan(24);
  });

  it("a batch with a size that worked before grows by a call after many answers", async () => {
    let most = 2;
    const { node, sizes, ask } = await nodeThatTakes(64, words(500, ""));
    node.options = {
      ...node.options,
      hijack: (calls, response) => {
        sizes.push(calls.length);
        return calls.length > most && response.writeHead(400).end() !== undefined;
      },
    };
    await ask();
    most = 64;
    sizes.length = 0;
    await ask();
    expect(Math.max(...sizes)).toBe(3);
  });

  it("a batch with two writes in it sends neither again", async () => {
    const { node, nodes } = await nodeThatTakes(1, words(500, ""));
    const both = await Promise.all([4n, 5n].map((nonce) => nodes.broadcast(signed({ nonce }).raw)));
    expect(both.map(({ standing }) => standing)).toEqual(["doubtful", "doubtful"]);
    expect(node.count("eth_sendRawTransaction")).toBe(2);
  });
});
