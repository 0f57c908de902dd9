/**
 * Refusals of providers that are asked too much: they are recognised in every shape, shown in the
 * provider's own words, and obeyed. Sources of the words: enviodev/hyperindex #715, xclud/web3dart
 * #24, latticexyz/mud #1522, a16z/zkdocs #9, namehash/ensnode #1022, iexbase/tron-api #171,
 * rpc-plane #18, RequestNetwork #1606.
 */
import { describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { createNodePool } from "../../chains/providers/node-pool.ts";
import { quotaPauseMsOf } from "../../chains/providers/node-quota.ts";
import { cleanNodeText, statusWords } from "../../chains/providers/node-words.ts";
import type { FakeAnswer } from "../../lab/kit/fake-node.ts";
import {
  closesItsNodes,
  codeOf,
  fakeNode,
  nodesOf,
  receiver,
  signed,
} from "../support/evm-nodes.ts";

closesItsNodes();

describe("a refusal of a provider", () => {
  const ok = { status: 200, retryAfter: "" };
  const quota: readonly (readonly [rpcCode: number, words: string])[] = [
    [-32005, "daily request count exceeded, request rate limited"],
    [-32005, "rate limit exceeded"],
    [-32005, "limit exceeded"],
    [
      429,
      "Your app has exceeded its compute units per second capacity. If you have retries enabled, you can ignore this.",
    ],
    [-32012, "credits limited to 6000/sec"],
    [
      -32000,
      "Monthly capacity limit exceeded. Visit https://dashboard.example/settings/billing to upgrade",
    ],
    [0, "request rate exceeded the allowed_rps(10), and the query server is suspended for 5 s"],
    [-32029, "Too Many Requests"],
    [-32000, "You have reached your monthly quota"],
  ];
  it.each(quota)("with code %d is about quota: %s", (rpcCode, words) => {
    expect(quotaPauseMsOf({ ...ok, words, rpcCode })).not.toBeNull();
  });

  const other: readonly (readonly [rpcCode: number, words: string])[] = [
    [-32005, "query returned more than 10000 results. Try with this block range [0x1, 0x2]."],
    [-32005, "logs matched by query exceeds limit of 10000"],
    [-32000, "tx fee (2.10 ether) exceeds the configured cap (1.00 ether)"],
    [-32000, "account limit exceeded"],
    [-32000, "in-flight transaction limit reached for delegated accounts"],
    [-32000, "exceeds block gas limit"],
    [-32602, "eth_getLogs is limited to a 10 block range"],
    [-32000, "missing trie node"],
    [3, "execution reverted: capped, the supply is exhausted"],
  ];
  it.each(other)("with code %d is about something else: %s", (rpcCode, words) => {
    expect(quotaPauseMsOf({ ...ok, words, rpcCode })).toBeNull();
  });

  it("names the time of quiet in seconds or in its words, and ten minutes are the most", () => {
    const quiet = (retryAfter: string, words = "", status = 429) =>
      quotaPauseMsOf({ status, retryAfter, words });
    expect(quiet("60")).toBe(60_000);
    expect(quiet("")).toBe(0);
    expect(quiet("999999")).toBe(600_000);
    expect(
      quiet("", "exceeds the frequency limit(15), and the query server is suspended for 30s", 403),
    ).toBe(30_000);
    expect(quiet("", "the key is wrong", 403)).toBeNull();
    expect(quiet("7", "", 503)).toBe(7_000);
    expect(quiet("", "", 503)).toBeNull();
  });

  it("is told in its own words, without what may be a key", () => {
    expect(statusWords(429, "")).toBe("HTTP status 429 (too many requests)");
    expect(statusWords(429, "<html><head><title>429 Too Many Requests</title></head></html>")).toBe(
      "HTTP status 429 (too many requests)",
    );
    expect(
      statusWords(400, '{"jsonrpc":"2.0","error":{"code":-32600,"message":"batch too large"}}'),
    ).toBe("HTTP status 400: batch too large");
    expect(
      cleanNodeText("see https://user:pass@node.example/v3/0123456789abcdef0123456789abcdef now"),
    ).toBe("see node.example now");
    expect(cleanNodeText("key 0123456789abcdef0123456789abcdef is over\u202e\u0007")).toBe(
      "key ... is over",
    );
    expect(cleanNodeText("x ".repeat(1_000_000)).length).toBeLessThanOrEqual(300);
  });
});

describe("an EVM node that is asked too much", () => {
  const block = {
    ...{ number: "0x10", hash: `0x${"11".repeat(32)}`, parentHash: `0x${"22".repeat(32)}` },
    ...{ timestamp: "0x1", baseFeePerGas: "0x7", transactions: [] },
  };
  const plain = ({ method }: { method: string }): FakeAnswer => {
    if (method === "eth_getBlockByNumber") return { result: block };
    return { result: method === "eth_chainId" ? "0x7a69" : "0x5" };
  };

  it("an EVM node that says 429 and Retry-After, as a date here, is left alone for so long, though it is the only one", async () => {
    let clock = 0;
    const node = await fakeNode({ answer: plain });
    const nodes = nodesOf([node.url], { clock: () => clock });
    await nodes.head();
    node.options = {
      answer: plain,
      hijack: (_calls, response) => {
        response
          .writeHead(429, {
            date: "Wed, 25 Nov 2026 13:47:10 GMT",
            "retry-after": "Wed, 25 Nov 2026 13:48:10 GMT",
          })
          .end();
        return true;
      },
    };
    expect(await codeOf(nodes.head())).toBe("NODE_QUOTA");
    const asked = node.counts.requests;
    for (; clock < 59_000; clock += 1_000) expect(await codeOf(nodes.head())).toBe("NODE_QUOTA");
    expect((await nodes.broadcast(signed({ nonce: 3n }).raw)).standing).toBe("unsent");
    expect(node.counts.requests).toBe(asked);
    expect(nodes.status()[0]).toMatchObject({
      ok: false,
      detail: "NODE_QUOTA: HTTP status 429 (too many requests)",
    });
    node.options = { answer: plain };
    clock = 61_000;
    expect((await nodes.head()).number).toBe(16);
    expect(nodes.status()[0]).toMatchObject({ ok: true, detail: "" });
  });

  it("an EVM node that has no quota left, in HTTP 200, rests as with 429, and the other is asked first", async () => {
    let clock = 0;
    const words = "daily request count exceeded, request rate limited";
    const poor = await fakeNode({ answer: () => ({ error: { code: -32005, message: words } }) });
    const rich = await fakeNode({ answer: plain });
    const nodes = nodesOf([poor.url, rich.url], { clock: () => clock });
    expect((await nodes.head()).number).toBe(16);
    const asked = poor.counts.requests;
    for (let at = 0; at < 5; at += 1) {
      clock += 100;
      expect(await nodes.balance(receiver, "", "latest")).toBe(5n);
    }
    expect(poor.counts.requests).toBe(asked);
    expect(nodes.status()[0]).toMatchObject({ ok: false, detail: `NODE_QUOTA: ${words}` });
    expect(nodes.status()[1]).toMatchObject({ ok: true });
  });
});

describe("questions that a node refuses together", () => {
  it("count as one failure: the node rests as long as it asked for, and longer only after the next refusal", async () => {
    let clock = 0;
    const client = { origin: "http://node", close: () => {} };
    const options = {
      clients: [client],
      chain: "1",
      askChain: async () => "1",
      chainOf: (answer: string) => answer,
      log: () => {},
    };
    const pool = createNodePool({ ...options, clock: () => clock });
    const [node] = pool.nodes;
    const refused = new AgentError("NODE_QUOTA", "none", "too many requests", { quietMs: 1_000 });
    let answer: (value: string) => void = () => {};
    const burst = async (): Promise<void> => {
      await pool.exchange(node!, async () => "");
      const late = pool.exchange(
        node!,
        () =>
          new Promise<string>((resolve) => {
            answer = resolve;
          }),
      );
      const all = Array.from({ length: 8 }, () =>
        pool.exchange(node!, async () => Promise.reject(refused)),
      );
      expect((await Promise.allSettled(all)).every(({ status }) => status === "rejected")).toBe(
        true,
      );
      answer("an answer to a question from before the refusals");
      await late;
    };
    const isAsked = async (): Promise<boolean> =>
      (await Promise.allSettled([pool.exchange(node!, async () => "")]))[0].status === "fulfilled";
    await burst();
    clock = 999;
    expect(await isAsked()).toBe(false);
    clock = 1_000;
    expect(await isAsked()).toBe(true);
    expect(pool.status()[0]).toMatchObject({ ok: true });
    // The twin: refusals one after the other, each after its rest, make the rest longer.
    for (const restMs of [1_000, 2_000, 4_000]) {
      await expect(pool.exchange(node!, async () => Promise.reject(refused))).rejects.toThrow(
        "too many requests",
      );
      clock += restMs - 1;
      expect(node!.restUntil > clock).toBe(true);
      clock += 1;
      expect(node!.restUntil > clock).toBe(false);
      node!.chain = "right"; // the question for the chain would be an answer
    }
  });
});
