/**
 * chains/evm/node against nodes that are away, stall, flood, break off, talk nonsense or refuse
 * what others take.
 */
import { describe, expect, it } from "vitest";
import type { AgentError } from "../../base/fault.ts";
import { createEvmNodes, type EvmNodes } from "../../chains/evm/node.ts";
import type { FakeAnswer, FakeNodeOptions } from "../../lab/kit/fake-node.ts";
import {
  closedPort,
  closesItsNodes,
  codeOf,
  fakeNode,
  nodesOf,
  receiver,
  signed,
} from "../support/evm-nodes.ts";

closesItsNodes();

describe("nodes in trouble", () => {
  const number = "0x10";
  const block = {
    number,
    hash: `0x${"11".repeat(32)}`,
    parentHash: `0x${"22".repeat(32)}`,
    timestamp: "0x1",
    baseFeePerGas: "0x7",
    transactions: [],
  };
  const results: Readonly<Record<string, unknown>> = {
    eth_chainId: "0x7a69",
    eth_getBlockByNumber: block,
    eth_getBalance: "0x5",
    eth_getTransactionCount: "0x3",
  };
  const plain = ({ method }: { method: string }): FakeAnswer =>
    method in results
      ? { result: results[method] }
      : { error: { code: -32601, message: "no such method" } };
  const notChain = (calls: readonly { method: string }[]): boolean =>
    calls.every((call) => call.method !== "eth_chainId");
  const raw = signed({ nonce: 3n }).raw;

  it("the pool of nodes keeps a node of another chain out until it answers right", async () => {
    let nowMs = 0;
    const events: string[] = [];
    const wrong = await fakeNode({
      answer: (call) => (call.method === "eth_chainId" ? { result: "0x1" } : { result: "0xbad" }),
    });
    const right = await fakeNode({ answer: plain });
    const nodes = nodesOf([wrong.url, right.url], {
      clock: () => nowMs,
      log: (event) => events.push(event),
    });
    await nodes.checkChain();
    expect(nodes.status().map(({ ok }) => ok)).toEqual([false, true]);
    expect(nodes.status()[0]?.detail).toContain("NODE_WRONG_CHAIN");
    expect(await nodes.balance(receiver, "", "latest")).toBe(5n);
    expect((await nodes.broadcast(raw)).standing).toBe("refused");
    expect(wrong.calls.every((call) => call.method === "eth_chainId")).toBe(true);
    expect(events).toEqual(["node-wrong-chain"]);

    const alone = nodesOf([wrong.url]);
    expect(await codeOf(alone.checkChain())).toBe("NODE_WRONG_CHAIN");
    expect(await codeOf(alone.balance(receiver, "", "latest"))).toBe("NODE_WRONG_CHAIN");
    expect((await alone.broadcast(raw)).standing).toBe("unsent");
    expect(wrong.count("eth_sendRawTransaction")).toBe(0);

    wrong.options = { answer: plain };
    await alone.checkChain();
    expect(await alone.balance(receiver, "", "latest")).toBe(5n);
    nowMs += 60_000;
    await right.close();
    expect(await nodes.balance(receiver, "", "latest")).toBe(5n);
  });

  it("the pool of nodes asks a node for its chain again after it was away", async () => {
    const node = await fakeNode({ answer: plain });
    const nodes = nodesOf([node.url]);
    expect(await nodes.balance(receiver, "", "latest")).toBe(5n);
    expect(node.count("eth_chainId")).toBe(1);
    node.options = {
      answer: plain,
      hijack: (_calls, response) => response.destroy() !== undefined,
    };
    expect(await codeOf(nodes.balance(receiver, "", "latest"))).toBe("NODE_UNREACHABLE");
    node.options = {
      answer: (call) => (call.method === "eth_chainId" ? { result: "0x1" } : plain(call)),
    };
    expect(await codeOf(nodes.balance(receiver, "", "latest"))).toBe("NODE_WRONG_CHAIN");
  });

  const nonsense: readonly (readonly [what: string, status: number, body: string, code: string])[] =
    [
      ["a web page", 200, "<html>502 Bad Gateway</html>", "NODE_ANSWER"],
      ["a web page with its status", 502, "<html>502 Bad Gateway</html>", "NODE_HTTP"],
      ["too many requests", 429, "", "NODE_QUOTA"],
      ["a redirect", 302, "", "NODE_HTTP"],
      ["nothing", 200, "", "NODE_ANSWER"],
      ["half a JSON text", 200, '{"jsonrpc":"2.0","id":2,"res', "NODE_ANSWER"],
      ["a number", 200, "7", "NODE_ANSWER"],
      ["null", 200, "null", "NODE_ANSWER"],
      ["an empty list", 200, "[]", "NODE_ANSWER"],
      ["an envelope without result", 200, '{"jsonrpc":"2.0","id":2}', "NODE_ANSWER"],
      ["another call's answer", 200, '{"jsonrpc":"2.0","id":99,"result":"0x5"}', "NODE_ANSWER"],
      [
        "an error that names no call",
        200,
        '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}',
        "NODE_ERROR",
      ],
      ["an error without words", 200, '{"jsonrpc":"2.0","id":2,"error":{}}', "NODE_ERROR"],
      ["a number as a number", 200, '{"jsonrpc":"2.0","id":2,"result":5}', "NODE_ANSWER"],
      ["a decimal text", 200, '{"jsonrpc":"2.0","id":2,"result":"5"}', "NODE_ANSWER"],
      ["an empty quantity", 200, '{"jsonrpc":"2.0","id":2,"result":"0x"}', "NODE_ANSWER"],
      ["257 bits", 200, `{"jsonrpc":"2.0","id":2,"result":"0x1${"0".repeat(64)}"}`, "NODE_ANSWER"],
      ["null as the result", 200, '{"jsonrpc":"2.0","id":2,"result":null}', "NODE_ANSWER"],
      [
        "an error beside a result",
        200,
        '{"jsonrpc":"2.0","id":2,"result":"0x5","error":{"code":1,"message":"x"}}',
        "NODE_ERROR",
      ],
      ["deep nesting", 200, "[".repeat(60_000), "NODE_ANSWER"],
    ];

  it.each(nonsense)(
    "the pool of nodes makes a fault, never a number, of %s, and asks the next node",
    async (_what, status, body, code) => {
      const hijack: FakeNodeOptions["hijack"] = (calls, response) => {
        if (!notChain(calls)) return false;
        response.writeHead(status, { location: "http://127.0.0.1:9/" }).end(body);
        return true;
      };
      const bad = await fakeNode({ answer: plain, hijack });
      expect(await codeOf(nodesOf([bad.url]).balance(receiver, "", "latest"))).toBe(code);
      const good = await fakeNode({ answer: plain });
      expect(await nodesOf([bad.url, good.url]).balance(receiver, "", "latest")).toBe(5n);
      // A status 4xx and an error in the protocol's form are refusals; nothing here is an
      // acceptance.
      const isRefusal = status === 429 || code === "NODE_ERROR";
      expect((await nodesOf([bad.url]).broadcast(raw)).standing).toBe(
        isRefusal ? "refused" : "doubtful",
      );
    },
  );

  it("the pool of nodes reads no more of an answer than it may", async () => {
    let written = 0;
    const flood = await fakeNode({
      answer: plain,
      hijack: (calls, response) => {
        if (!notChain(calls)) return false;
        response.writeHead(200);
        const chunk = Buffer.alloc(64 * 1024, 0x20);
        const more = (): void => {
          if (response.destroyed || written > 200 * 1024 * 1024) return;
          written += chunk.length;
          response.write(chunk, () => setImmediate(more));
        };
        more();
        return true;
      },
    });
    const nodes = nodesOf([flood.url]);
    expect(await codeOf(nodes.balance(receiver, "", "latest"))).toBe("NODE_ANSWER_SIZE");
    expect(await codeOf(nodes.block(1, { full: true }))).toBe("NODE_ANSWER_SIZE");
    expect(written).toBeLessThan(30 * 1024 * 1024);
    expect(nodes.status()[0]?.ok).toBe(false);
  });

  it("the pool of nodes waits no longer than it may, and sends nothing twice", async () => {
    const slow = await fakeNode({ answer: plain, hijack: (calls) => notChain(calls) });
    const nodes = nodesOf([slow.url], { timeoutMs: 2_000 });
    const patient = codeOf(
      nodesOf([slow.url], { timeoutMs: 3_600_000 }).balance(receiver, "", "latest"),
    );
    const later = patient.then((code) => `first ended the patient one: ${code}`);
    expect(await Promise.race([later, codeOf(nodes.balance(receiver, "", "latest"))])).toBe(
      "NODE_TIMEOUT",
    );
    expect(await Promise.race([later, nodes.broadcast(raw)])).toMatchObject({
      standing: "doubtful",
    });
    expect(slow.count("eth_sendRawTransaction")).toBe(1);
    const good = await fakeNode({ answer: plain });
    expect(
      await nodesOf([slow.url, good.url], { timeoutMs: 2_000 }).balance(receiver, "", "latest"),
    ).toBe(5n);
  });

  it("the pool of nodes asks a read once more when the line is cut in the middle of an answer, and never a send", async () => {
    const cut: FakeNodeOptions["hijack"] = (calls, response) => {
      if (!notChain(calls)) return false;
      response.writeHead(200, { "content-length": "100" });
      response.write('{"jsonrpc"', () => response.destroy());
      return true;
    };
    const node = await fakeNode({ answer: plain, hijack: cut });
    const nodes = nodesOf([node.url]);
    expect(await codeOf(nodes.balance(receiver, "", "latest"))).toBe("NODE_UNREACHABLE");
    expect(node.count("eth_getBalance")).toBe(2);
    expect((await nodes.broadcast(raw)).standing).toBe("doubtful");
    expect(node.count("eth_sendRawTransaction")).toBe(1);
    let cuts = 1;
    node.options = {
      answer: plain,
      hijack: (calls, response, isBatch) =>
        notChain(calls) && cuts-- > 0 && cut(calls, response, isBatch),
    };
    expect(await nodes.balance(receiver, "", "latest")).toBe(5n);
  });

  it("the pool of nodes says unsent only when surely nothing left", async () => {
    const dead = `http://127.0.0.1:${await closedPort()}`;
    expect((await nodesOf([dead]).broadcast(raw)).standing).toBe("unsent");
    expect((await nodesOf([]).broadcast(raw)).standing).toBe("unsent");
    const refusing = await fakeNode({ answer: plain });
    expect((await nodesOf([dead, refusing.url]).broadcast(raw)).standing).toBe("refused");
    // The chain id was checked, then the node went away: the send meets a closed port.
    const nodes = nodesOf([refusing.url]);
    await nodes.checkChain();
    await refusing.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await nodes.broadcast(raw)).standing).toBe("unsent");
  });

  it("the pool of nodes answers each call of a batch, whatever the node makes of batches", async () => {
    const five = async (nodes: EvmNodes): Promise<string> =>
      (
        await Promise.all(
          Array.from({ length: 5 }, (_, block) => nodes.balance(receiver, "", block)),
        )
      ).join();
    const answerTo = (call: { id: number; method: string }): object => ({
      jsonrpc: "2.0",
      id: call.id,
      ...plain(call),
    });
    const ways: Readonly<
      Record<string, (calls: readonly { id: number; method: string }[]) => unknown>
    > = {
      "refuses them with one error": () => ({
        jsonrpc: "2.0",
        id: null,
        error: { code: -32600, message: "batch not supported" },
      }),
      "refuses them without an id": () => ({ error: "no batches" }),
      "answers a text": () => "ok",
      "answers an empty list": () => [],
      "answers in another order": (calls) => calls.map(answerTo).reverse(),
      "leaves some out": (calls) => calls.slice(1, 3).map(answerTo),
      "answers some twice": (calls) => [...calls, calls[0]!].map(answerTo),
      "adds answers to no call": (calls) =>
        [...calls, { id: 12345, method: "eth_chainId" }].map(answerTo),
    };
    for (const [way, make] of Object.entries(ways)) {
      const node = await fakeNode({
        answer: plain,
        hijack: (calls, response, isBatch) =>
          isBatch && response.end(JSON.stringify(make(calls))) !== undefined,
      });
      const nodes = nodesOf([node.url]);
      expect(await five(nodes), way).toBe("5,5,5,5,5");
      for (let n = 0; n < 8; n++) expect(await five(nodes), way).toBe("5,5,5,5,5");
    }
  });

  it("the pool of nodes gives up batches with a node that refuses them, and never sends one of its sends again", async () => {
    const node = await fakeNode({
      answer: (call) =>
        call.method === "eth_sendRawTransaction"
          ? { error: { code: -32000, message: "already known" } }
          : plain(call),
      hijack: (_calls, response, isBatch) =>
        isBatch &&
        response.end(
          '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches"}}',
        ) !== undefined,
    });
    const nodes = nodesOf([node.url]);
    await nodes.checkChain();
    const both = await Promise.all([
      nodes.broadcast(raw),
      nodes.broadcast(signed({ nonce: 4n }).raw),
    ]);
    expect(both.map(({ standing }) => standing)).toEqual(["doubtful", "doubtful"]);
    expect(node.count("eth_sendRawTransaction")).toBe(2);
    for (let n = 0; n < 6; n++)
      await Promise.all(
        Array.from({ length: 64 }, (_, block) => nodes.balance(receiver, "", block)),
      );
    node.counts.requests = 0;
    await Promise.all(Array.from({ length: 10 }, (_, block) => nodes.balance(receiver, "", block)));
    expect(node.counts.requests).toBe(10);
    expect((await nodes.broadcast(raw)).meaning).toBe("known");
  });

  it("the pool of nodes asks a node the same thing once in one go, and again in the next", async () => {
    const node = await fakeNode({ answer: plain });
    const nodes = nodesOf([node.url]);
    await nodes.checkChain();
    const read = (): Promise<unknown> =>
      Promise.all([1, 2, 3].map(() => nodes.balance(receiver, "", "latest")));
    await read();
    expect(node.count("eth_getBalance")).toBe(1);
    await read();
    expect(node.count("eth_getBalance")).toBe(2);
  });

  it("the pool of nodes fails what is under way when it is closed, and everything after", async () => {
    const slow = await fakeNode({ answer: plain, hijack: (calls) => notChain(calls) });
    const nodes = nodesOf([slow.url]);
    await nodes.checkChain();
    const waiting = codeOf(nodes.balance(receiver, "", "latest"));
    const sending = nodes.broadcast(raw);
    await new Promise((resolve) => setTimeout(resolve, 50));
    nodes.close();
    nodes.close();
    expect(await waiting).toBe("NODE_CLOSED");
    expect((await sending).standing).toBe("doubtful");
    expect(await codeOf(nodes.head())).toBe("NODE_CLOSED");
    expect((await nodes.broadcast(raw)).standing).toBe("unsent");
  });

  it("the pool of nodes shows no key that stands in a node's address", async () => {
    const port = await closedPort();
    const url = `http://user:hunter2@127.0.0.1:${port}/v3/secret-key?k=secret`;
    const said: string[] = [];
    const nodes = nodesOf([url], {
      log: (event, context) => said.push(event, JSON.stringify(context)),
    });
    const error = (await nodes.head().catch((fault: unknown) => fault)) as AgentError;
    said.push(
      error.message,
      JSON.stringify(error.context),
      JSON.stringify(nodes.status()),
      (await nodes.broadcast(raw)).text,
    );
    expect(said.join("\n")).not.toMatch(/hunter2|secret|user/);
    expect(nodes.status()[0]?.url).toBe(`http://127.0.0.1:${port}`);
    for (const wrong of ["ftp://127.0.0.1/", "127.0.0.1:8545", ""]) {
      expect(
        await codeOf(
          (async () => createEvmNodes({ urls: [wrong], chainId: 1, confirmations: 1 }))(),
        ),
      ).toBe("NODE_URL");
    }
  });

  it("the pool of nodes speaks with a node that wants a name and a password, at a path", async () => {
    let seen = "";
    const node = await fakeNode({
      answer: plain,
      hijack: (_calls, response) => {
        seen = `${response.req.url} ${response.req.headers.authorization}`;
        return false;
      },
    });
    const url = `${node.url.replace("http://", "http://na%20me:p%40ss@")}/v3/key?x=1`;
    expect((await nodesOf([url]).head()).number).toBe(16);
    expect(seen).toBe(`/v3/key?x=1 Basic ${Buffer.from("na me:p@ss").toString("base64")}`);
  });

  it("the pool of nodes turns to a resting node last, and comes back to it", async () => {
    let nowMs = 0;
    const events: string[] = [];
    const first = await fakeNode({
      answer: plain,
      hijack: (_calls, response) => response.destroy() !== undefined,
    });
    const second = await fakeNode({ answer: plain });
    const nodes = nodesOf([first.url, second.url], {
      clock: () => nowMs,
      log: (event) => events.push(event),
    });
    await nodes.head();
    first.options = { answer: plain };
    const { requests } = first.counts;
    await nodes.head();
    expect(first.counts.requests).toBe(requests);
    nowMs += 5_000;
    await nodes.head();
    expect(first.counts.requests).toBeGreaterThan(requests);
    expect(events).toEqual(["node-failed", "node-recovered"]);
  });
});
