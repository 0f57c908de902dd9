/** chains/evm/node against a real chain (anvil), and against nodes that lie, stall, flood and break off. */

import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { HDNodeWallet } from "ethers";
import { sign } from "tiny-secp256k1";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { addressTopic, encodeTransferCall, readTransferLog, transferTopic } from "../chains/evm/erc20.ts";
import { createEvmNodes, type EvmNodes, type EvmNodesOptions } from "../chains/evm/node.ts";
import { attachSignature, buildTransfer, digestOf, type Transfer } from "../chains/evm/transaction.ts";
import { AgentError } from "../protocol/fault.ts";
import { type Anvil, startAnvil } from "../scripts/anvil.ts";
import { rpc, tokenCall } from "../scripts/rpc.ts";
import { deployToken } from "../scripts/token.ts";
import { type FakeAnswer, type FakeNode, type FakeNodeOptions, forwarding, startFakeNode } from "./support/fake-node.ts";

const phrase = "test test test test test test test test test test test junk";
const hot = HDNodeWallet.fromPhrase(phrase, "", "m/44'/60'/0'/0/1");
const hotKey = Uint8Array.from(Buffer.from(hot.privateKey.slice(2), "hex"));
const receiver = "0x52908400098527886E0F7030069857D2E4169EE7";
const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString("hex")}`;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

function nodesOf(urls: readonly string[], options: Partial<EvmNodesOptions> = {}): EvmNodes {
  const nodes = createEvmNodes({ urls, chainId: 31337, confirmations: 3, timeoutMs: 2000, ...options });
  closers.push(nodes.close);
  return nodes;
}

async function fakeNode(options: FakeNodeOptions): Promise<FakeNode> {
  const node = await startFakeNode(options);
  closers.push(node.close);
  return node;
}

/** The code an act is rejected with, "" when it is not. */
async function codeOf(act: Promise<unknown>): Promise<string> {
  try {
    await act;
    return "";
  } catch (error) {
    return error instanceof AgentError ? error.code : `${error}`;
  }
}

function signed(change: Partial<Transfer> & { readonly nonce: bigint }): { raw: string; txHash: string } {
  const unsigned = buildTransfer({
    chainId: 31337n,
    contract: "",
    destination: receiver,
    amountUnits: 12345n,
    gasLimit: change.contract === undefined ? 21_000n : 100_000n,
    maxFeePerGas: 20n * 10n ** 9n,
    maxPriorityFeePerGas: 10n ** 9n,
    ...change,
  });
  const { raw, txHash } = attachSignature(unsigned, sign(digestOf(unsigned), hotKey), hot.address);
  return { raw: hex(raw), txHash };
}

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe("a real chain", () => {
  let anvil: Anvil;
  let token: string;
  const mine = (blocks = 1): Promise<unknown> => rpc(anvil.url, "anvil_mine", [`0x${blocks.toString(16)}`]);
  const nonceOf = async (): Promise<bigint> =>
    BigInt((await rpc(anvil.url, "eth_getTransactionCount", [hot.address, "latest"])) as string);

  beforeAll(async () => {
    anvil = await startAnvil();
    token = (await deployToken(anvil.url)).address;
    await rpc(anvil.url, "eth_sendTransaction", [
      {
        from: ((await rpc(anvil.url, "eth_accounts")) as string[])[0],
        to: token,
        data: tokenCall("mint", hot.address, 10n ** 12n),
      },
    ]);
    await rpc(anvil.url, "evm_setAutomine", [false]);
    await mine(5);
  });
  afterAll(() => anvil.stop());

  it("reads head, fees, balances, code and blocks", async () => {
    const nodes = nodesOf([anvil.url]);
    await nodes.checkChain();
    const head = await nodes.head();
    expect(head.number).toBe(Number((await rpc(anvil.url, "eth_blockNumber")) as string));
    expect(await nodes.finalBlock()).toEqual({
      number: head.number - 2,
      hash: (await nodes.block(head.number - 2, { full: false })).hash,
    });
    expect((await nodes.fees()).baseFeePerGas).toBe(head.baseFeePerGas);
    expect(await nodes.balance(hot.address, "", "latest")).toBe(10_000n * 10n ** 18n);
    expect(await nodes.balance(hot.address, token, "latest")).toBe(10n ** 12n);
  });

  it("reads code and calls, and never takes an empty answer for a number", async () => {
    const nodes = nodesOf([anvil.url]);
    expect(await nodes.code(hot.address)).toBe("0x");
    expect((await nodes.code(token)).length).toBeGreaterThan(100);
    expect(BigInt(await nodes.call(token, "0x313ce567", "latest"))).toBe(6n);
    expect(await codeOf(nodes.balance(hot.address, receiver, "latest"))).toBe("NODE_ANSWER");
    expect(await codeOf(nodes.block(10_000, { full: false }))).toBe("NODE_NO_BLOCK");
    expect(await nodes.receipt(`0x${"12".repeat(32)}`)).toBeNull();
  });

  it("follows native coin and token from broadcast to finality", async () => {
    const nodes = nodesOf([anvil.url]);
    const nonce = await nonceOf();
    const native = signed({ nonce });
    const call = signed({ nonce: nonce + 1n, contract: token, amountUnits: 777n });
    expect(await Promise.all([nodes.broadcast(native.raw), nodes.broadcast(call.raw.slice(2))])).toEqual([
      { outcome: "accepted", text: "" },
      { outcome: "accepted", text: "" },
    ]);
    expect((await nodes.broadcast(native.raw)).outcome).toBe("known");
    expect(await nodes.receipt(native.txHash)).toBeNull();
    expect(await nodes.counters(hot.address)).toMatchObject({ latest: nonce, pending: nonce + 2n, witnesses: 1 });

    await mine();
    const receipt = await nodes.receipt(call.txHash);
    const { number } = await nodes.head();
    expect(receipt).toMatchObject({ txHash: call.txHash, blockNumber: number, status: 1, from: hot.address, to: token });
    expect(receipt!.logs.map(readTransferLog)).toEqual([{ from: hot.address, to: receiver, amountUnits: 777n }]);
    expect(await nodes.counters(hot.address)).toMatchObject({ latest: nonce + 2n, pending: nonce + 2n, final: nonce });
    expect(await nodes.finalReceipt(call.txHash)).toBeNull();
    await mine();
    expect(await nodes.finalReceipt(call.txHash)).toBeNull();
    await mine();
    expect(await nodes.finalReceipt(call.txHash)).toEqual(receipt);
    expect(await nodes.finalReceipt(native.txHash)).toMatchObject({ status: 1, to: receiver, gasUsed: 21_000n });
    expect(await nodes.counters(hot.address)).toMatchObject({ latest: nonce + 2n, final: nonce + 2n });

    const block = await nodes.block(number, { full: true });
    expect(block.transactions.find((one) => one.hash === native.txHash)).toMatchObject({
      from: hot.address,
      to: receiver,
      valueUnits: 12345n,
      input: "0x",
    });
    expect((await nodes.block(number, { full: false })).transactions).toEqual([]);
    expect(block.parentHash).toBe((await nodes.block(number - 1, { full: false })).hash);
    const filter = {
      fromBlock: number,
      toBlock: number + 2,
      address: [token],
      topics: [transferTopic, null, [addressTopic(receiver)]],
    };
    expect(await nodes.logs(filter)).toEqual([
      { ...receipt!.logs[0], blockNumber: number, blockHash: block.hash, txHash: call.txHash },
    ]);
    expect(await nodes.logs({ ...filter, topics: [transferTopic, addressTopic(receiver)] })).toEqual([]);
    expect(await nodes.balance(receiver, token, number)).toBe((await nodes.balance(receiver, token, number - 1)) + 777n);
  });

  it("names what the node says to a broadcast, and takes none of it for the fate of the payment", async () => {
    const nodes = nodesOf([anvil.url]);
    const nonce = await nonceOf();
    expect((await nodes.broadcast(signed({ nonce: nonce - 1n, amountUnits: 5n }).raw)).outcome).toBe("nonce-consumed");
    expect((await nodes.broadcast(signed({ nonce }).raw)).outcome).toBe("accepted");
    expect((await nodes.broadcast(signed({ nonce, amountUnits: 5n }).raw)).outcome).toBe("underpriced");
    expect((await nodes.broadcast(signed({ nonce: nonce + 1n, amountUnits: 10n ** 23n }).raw)).outcome).toBe("funds");
    expect((await nodes.broadcast("0x02c0")).outcome).toBe("unknown");
    await mine(3);
    expect((await nodes.broadcast(signed({ nonce }).raw)).outcome).toBe("nonce-consumed");
  });

  it("estimates gas, and tells a call that would revert from an account without funds", async () => {
    const nodes = nodesOf([anvil.url]);
    const call = (units: bigint) => ({
      from: hot.address,
      to: token,
      valueWei: 0n,
      data: hex(encodeTransferCall(receiver, units)),
    });
    const estimate = await nodes.estimateGas(call(1n));
    expect(estimate.ok && estimate.gas > 21_000n && estimate.gas < 100_000n).toBe(true);
    expect(await nodes.estimateGas(call(10n ** 13n))).toMatchObject({ ok: false, code: "NODE_WOULD_REVERT" });
    const poor = await fakeNode({
      answer: forwarding(anvil.url, ({ method }, answer) =>
        method === "eth_estimateGas" ? { error: { code: -32000, message: "insufficient funds for transfer" } } : answer,
      ),
    });
    expect(await codeOf(nodesOf([poor.url]).estimateGas(call(1n)))).toBe("NODE_ERROR");
  });

  it("takes back what a reorganisation removed", async () => {
    const nodes = nodesOf([anvil.url]);
    const { raw, txHash } = signed({ nonce: await nonceOf() });
    expect((await nodes.broadcast(raw)).outcome).toBe("accepted");
    await mine();
    expect((await nodes.receipt(txHash))?.status).toBe(1);
    await rpc(anvil.url, "anvil_reorg", [1, []]);
    expect(await nodes.receipt(txHash)).toBeNull();
    await mine(3);
    expect(await nodes.finalReceipt(txHash)).toBeNull();
    expect((await nodes.broadcast(raw)).outcome).toBe("accepted");
    await mine(3);
    expect((await nodes.finalReceipt(txHash))?.status).toBe(1);
  });

  it("takes the chain's own word for what is finalized", async () => {
    const nodes = nodesOf([anvil.url], { confirmations: "finalized" });
    const finalized = (await rpc(anvil.url, "eth_getBlockByNumber", ["finalized", false])) as { number: string; hash: string };
    expect(await nodes.finalBlock()).toEqual({ number: Number(finalized.number), hash: finalized.hash });
    expect(finalized.number).not.toBe(await rpc(anvil.url, "eth_blockNumber"));
  });

  it("counts genesis as final while the chain is younger than the confirmations", async () => {
    const { hash } = (await rpc(anvil.url, "eth_getBlockByNumber", ["0x0", false])) as { hash: string };
    expect(await nodesOf([anvil.url], { confirmations: 10_000 }).finalBlock()).toEqual({ number: 0, hash });
    const head = await nodesOf([anvil.url]).head();
    expect(await nodesOf([anvil.url], { confirmations: 1 }).finalBlock()).toEqual({ number: head.number, hash: head.hash });
  });

  it("gathers the calls of one tick into one request, over few connections", async () => {
    const node = await fakeNode({ answer: forwarding(anvil.url) });
    const nodes = nodesOf([node.url]);
    await nodes.head();
    node.counts.requests = 0;
    await Promise.all(Array.from({ length: 60 }, () => nodes.balance(hot.address, "", "latest")));
    expect(node.counts.requests).toBe(1);
    await Promise.all(Array.from({ length: 100 }, () => nodes.balance(hot.address, "", "latest")));
    expect(node.counts.requests).toBe(3);
    for (let n = 0; n < 30; n++) await nodes.head();
    expect(node.counts.connections).toBeLessThanOrEqual(3);
  });

  it("asks for one final block, however many receipts wait for it", async () => {
    const node = await fakeNode({ answer: forwarding(anvil.url) });
    const nodes = nodesOf([node.url]);
    const nonce = await nonceOf();
    const sent = Array.from({ length: 20 }, (_, i) => signed({ nonce: nonce + BigInt(i) }));
    for (const { raw } of sent) expect((await nodes.broadcast(raw)).outcome).toBe("accepted");
    await mine(4);
    node.calls.length = 0;
    node.counts.requests = 0;
    const receipts = await Promise.all(sent.map(({ txHash }) => nodes.finalReceipt(txHash)));
    expect(receipts.every((receipt) => receipt?.status === 1)).toBe(true);
    expect(node.count("eth_getTransactionReceipt")).toBe(20);
    expect(node.counts.requests).toBeLessThanOrEqual(5);
    expect(node.count("eth_getBlockByNumber")).toBeLessThanOrEqual(4);
  });

  describe("with nodes that lie", () => {
    const lying = (change: (method: string, result: never) => unknown): Promise<FakeNode> =>
      fakeNode({
        answer: forwarding(
          anvil.url,
          (call, answer): FakeAnswer =>
            "result" in answer && answer.result !== null ? { result: change(call.method, answer.result as never) } : answer,
        ),
      });
    let paid: { raw: string; txHash: string };

    beforeAll(async () => {
      paid = signed({ nonce: await nonceOf() });
      await rpc(anvil.url, "eth_sendRawTransaction", [paid.raw]);
      await mine(4);
    });

    it("believes two of three, and no single one", async () => {
      const liars = {
        "a reverted receipt": await lying((method, result: object) =>
          method.endsWith("Receipt") ? { ...result, status: "0x0" } : result,
        ),
        "a receipt in another block": await lying((method, result: object) =>
          method.endsWith("Receipt") ? { ...result, blockHash: `0x${"ab".repeat(32)}` } : result,
        ),
        "a head far ahead": await lying((method, result: object) =>
          method === "eth_getBlockByNumber" ? { ...result, number: "0xffffff" } : result,
        ),
        "other counters": await lying((method, result) => (method === "eth_getTransactionCount" ? "0x0" : result)),
      };
      const truth = await nodesOf([anvil.url]).counters(hot.address);
      for (const [lie, liar] of Object.entries(liars)) {
        const three = nodesOf([liar.url, anvil.url, anvil.url]);
        expect((await three.finalReceipt(paid.txHash))?.status, lie).toBe(1);
        expect((await three.finalBlock()).number, lie).toBeLessThan(1000);
        expect(await three.counters(hot.address), lie).toEqual({ ...truth, witnesses: 2 });
      }
      const two = (lie: keyof typeof liars): EvmNodes => nodesOf([liars[lie].url, anvil.url]);
      expect(await codeOf(two("a reverted receipt").finalReceipt(paid.txHash))).toBe("NODE_DISAGREE");
      expect(await codeOf(two("a receipt in another block").finalReceipt(paid.txHash))).toBe("NODE_DISAGREE");
      expect(await codeOf(two("a head far ahead").finalReceipt(paid.txHash))).toBe("NODE_ANSWER");
      expect(await codeOf(two("other counters").counters(hot.address))).toBe("NODE_DISAGREE");
      expect((await nodesOf([anvil.url, anvil.url]).finalReceipt(paid.txHash))?.status).toBe(1);
    });

    it("says nothing is final on one node's word when two are configured", async () => {
      const dead = `http://127.0.0.1:${await closedPort()}`;
      const nodes = nodesOf([dead, anvil.url]);
      expect(await codeOf(nodes.finalReceipt(paid.txHash))).toBe("NODE_UNREACHABLE");
      expect(await codeOf(nodes.finalBlock())).toBe("NODE_UNREACHABLE");
      expect(await codeOf(nodes.counters(hot.address))).toBe("NODE_UNREACHABLE");
      expect((await nodes.receipt(paid.txHash))?.status).toBe(1);
      const blind = await lying((method, result) => (method.endsWith("Receipt") ? null : result));
      expect(await nodesOf([blind.url, anvil.url]).finalReceipt(paid.txHash)).toBeNull();
      expect((await nodesOf([blind.url, anvil.url]).receipt(paid.txHash))?.status).toBe(1);
    });

    it("takes no receipt of an orphaned block, when all show it", async () => {
      const orphan = await lying((method, result: object) =>
        method.endsWith("Receipt") ? { ...result, blockHash: `0x${"ab".repeat(32)}` } : result,
      );
      expect(await nodesOf([orphan.url, orphan.url]).finalReceipt(paid.txHash)).toBeNull();
    });

    it("takes no answer to another question", async () => {
      const other = signed({ nonce: 0n }).txHash;
      const swapped = await lying((method, result: object) =>
        method.endsWith("Receipt") ? { ...result, transactionHash: other } : result,
      );
      expect(await codeOf(nodesOf([swapped.url]).receipt(paid.txHash))).toBe("NODE_ANSWER");
      const shifted = await lying((method, result: object) =>
        method === "eth_getBlockByNumber" ? { ...result, number: "0x1" } : result,
      );
      expect(await codeOf(nodesOf([shifted.url]).block(2, { full: false }))).toBe("NODE_ANSWER");
      expect((await nodesOf([shifted.url]).block(1, { full: false })).number).toBe(1);
      const early = await lying((method, result: object[]) =>
        method === "eth_getLogs" ? result.map((log) => ({ ...log, blockNumber: "0x0" })) : result,
      );
      const filter = { fromBlock: 1, toBlock: 20, address: token, topics: [transferTopic] };
      expect(await codeOf(nodesOf([early.url]).logs(filter))).toBe("NODE_ANSWER");
      expect((await nodesOf([anvil.url]).logs(filter)).length).toBeGreaterThan(0);
    });

    it("declines a call only when two nodes say that it would revert", async () => {
      const call = { from: hot.address, to: token, valueWei: 0n, data: hex(encodeTransferCall(receiver, 1n)) };
      const reverting = await fakeNode({
        answer: forwarding(anvil.url, ({ method }, answer) =>
          method === "eth_estimateGas" ? { error: { code: 3, message: "execution reverted" } } : answer,
        ),
      });
      expect((await nodesOf([reverting.url, anvil.url]).estimateGas(call)).ok).toBe(true);
      expect(await nodesOf([reverting.url, reverting.url]).estimateGas(call)).toMatchObject({
        ok: false,
        code: "NODE_WOULD_REVERT",
      });
      const alone = nodesOf([reverting.url, `http://127.0.0.1:${await closedPort()}`]);
      expect(await codeOf(alone.estimateGas(call))).toBe("NODE_DISAGREE");
    });

    it("believes no broadcast that answers another hash", async () => {
      const { raw } = signed({ nonce: (await nonceOf()) + 5n });
      const liar = await lying((method, result) => (method === "eth_sendRawTransaction" ? `0x${"cd".repeat(32)}` : result));
      expect((await nodesOf([liar.url]).broadcast(raw)).outcome).toBe("unknown");
    });
  });
});

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
    method in results ? { result: results[method] } : { error: { code: -32601, message: "no such method" } };
  const notChain = (calls: readonly { method: string }[]): boolean => calls.every((call) => call.method !== "eth_chainId");
  const raw = signed({ nonce: 3n }).raw;

  it("keeps a node of another chain out until it answers right", async () => {
    let nowMs = 0;
    const events: string[] = [];
    const wrong = await fakeNode({ answer: (call) => (call.method === "eth_chainId" ? { result: "0x1" } : { result: "0xbad" }) });
    const right = await fakeNode({ answer: plain });
    const nodes = nodesOf([wrong.url, right.url], { clock: () => nowMs, log: (event) => events.push(event) });
    await nodes.checkChain();
    expect(nodes.status().map(({ ok }) => ok)).toEqual([false, true]);
    expect(nodes.status()[0]?.detail).toContain("NODE_WRONG_CHAIN");
    expect(await nodes.balance(receiver, "", "latest")).toBe(5n);
    expect((await nodes.broadcast(raw)).outcome).toBe("unknown");
    expect(wrong.calls.every((call) => call.method === "eth_chainId")).toBe(true);
    expect(events).toEqual(["node-wrong-chain"]);

    const alone = nodesOf([wrong.url]);
    expect(await codeOf(alone.checkChain())).toBe("NODE_WRONG_CHAIN");
    expect(await codeOf(alone.balance(receiver, "", "latest"))).toBe("NODE_WRONG_CHAIN");
    expect((await alone.broadcast(raw)).outcome).toBe("unsent");
    expect(wrong.count("eth_sendRawTransaction")).toBe(0);

    wrong.options = { answer: plain };
    await alone.checkChain();
    expect(await alone.balance(receiver, "", "latest")).toBe(5n);
    nowMs += 60_000;
    await right.close();
    expect(await nodes.balance(receiver, "", "latest")).toBe(5n);
  });

  it("asks a node for its chain again after it was away", async () => {
    const node = await fakeNode({ answer: plain });
    const nodes = nodesOf([node.url]);
    expect(await nodes.balance(receiver, "", "latest")).toBe(5n);
    expect(node.count("eth_chainId")).toBe(1);
    node.options = { answer: plain, hijack: (_calls, response) => response.destroy() !== undefined };
    expect(await codeOf(nodes.balance(receiver, "", "latest"))).toBe("NODE_UNREACHABLE");
    node.options = { answer: (call) => (call.method === "eth_chainId" ? { result: "0x1" } : plain(call)) };
    expect(await codeOf(nodes.balance(receiver, "", "latest"))).toBe("NODE_WRONG_CHAIN");
  });

  const nonsense: readonly (readonly [what: string, status: number, body: string, code: string])[] = [
    ["a web page", 200, "<html>502 Bad Gateway</html>", "NODE_ANSWER"],
    ["a web page with its status", 502, "<html>502 Bad Gateway</html>", "NODE_HTTP"],
    ["too many requests", 429, "", "NODE_HTTP"],
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
    ["an error beside a result", 200, '{"jsonrpc":"2.0","id":2,"result":"0x5","error":{"code":1,"message":"x"}}', "NODE_ERROR"],
    ["deep nesting", 200, "[".repeat(60_000), "NODE_ANSWER"],
  ];

  it.each(nonsense)("makes a fault, never a number, of %s, and asks the next node", async (_what, status, body, code) => {
    const hijack: FakeNodeOptions["hijack"] = (calls, response) => {
      if (!notChain(calls)) return false;
      response.writeHead(status, { location: "http://127.0.0.1:9/" }).end(body);
      return true;
    };
    const bad = await fakeNode({ answer: plain, hijack });
    expect(await codeOf(nodesOf([bad.url]).balance(receiver, "", "latest"))).toBe(code);
    const good = await fakeNode({ answer: plain });
    expect(await nodesOf([bad.url, good.url]).balance(receiver, "", "latest")).toBe(5n);
    expect((await nodesOf([bad.url]).broadcast(raw)).outcome).toBe("unknown");
  });

  it("reads no more of an answer than it may", async () => {
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

  it("waits no longer than it may, and sends nothing twice", async () => {
    const slow = await fakeNode({ answer: plain, hijack: (calls) => notChain(calls) });
    const nodes = nodesOf([slow.url], { timeoutMs: 200 });
    const before = performance.now();
    expect(await codeOf(nodes.balance(receiver, "", "latest"))).toBe("NODE_TIMEOUT");
    expect((await nodes.broadcast(raw)).outcome).toBe("unknown");
    expect(performance.now() - before).toBeLessThan(1500);
    expect(slow.count("eth_sendRawTransaction")).toBe(1);
    const good = await fakeNode({ answer: plain });
    expect(await nodesOf([slow.url, good.url], { timeoutMs: 200 }).balance(receiver, "", "latest")).toBe(5n);
  });

  it("asks a read once more when the line is cut in the middle of an answer, and never a send", async () => {
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
    expect((await nodes.broadcast(raw)).outcome).toBe("unknown");
    expect(node.count("eth_sendRawTransaction")).toBe(1);
    let cuts = 1;
    node.options = {
      answer: plain,
      hijack: (calls, response, isBatch) => notChain(calls) && cuts-- > 0 && cut(calls, response, isBatch),
    };
    expect(await nodes.balance(receiver, "", "latest")).toBe(5n);
  });

  it("says unsent only when surely nothing left", async () => {
    const dead = `http://127.0.0.1:${await closedPort()}`;
    expect((await nodesOf([dead]).broadcast(raw)).outcome).toBe("unsent");
    expect((await nodesOf([]).broadcast(raw)).outcome).toBe("unsent");
    const refusing = await fakeNode({ answer: plain });
    expect((await nodesOf([dead, refusing.url]).broadcast(raw)).outcome).toBe("unknown");
    // The chain id was checked, then the node went away: the send meets a closed port.
    const nodes = nodesOf([refusing.url]);
    await nodes.checkChain();
    await refusing.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await nodes.broadcast(raw)).outcome).toBe("unsent");
  });

  it("answers each call of a batch, whatever the node makes of batches", async () => {
    const five = async (nodes: EvmNodes): Promise<string> =>
      (await Promise.all(Array.from({ length: 5 }, () => nodes.balance(receiver, "", "latest")))).join();
    const answerTo = (call: { id: number; method: string }): object => ({ jsonrpc: "2.0", id: call.id, ...plain(call) });
    const ways: Readonly<Record<string, (calls: readonly { id: number; method: string }[]) => unknown>> = {
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
      "adds answers to no call": (calls) => [...calls, { id: 12345, method: "eth_chainId" }].map(answerTo),
    };
    for (const [way, make] of Object.entries(ways)) {
      const node = await fakeNode({
        answer: plain,
        hijack: (calls, response, isBatch) => isBatch && response.end(JSON.stringify(make(calls))) !== undefined,
      });
      const nodes = nodesOf([node.url]);
      expect(await five(nodes), way).toBe("5,5,5,5,5");
      for (let n = 0; n < 8; n++) expect(await five(nodes), way).toBe("5,5,5,5,5");
    }
  });

  it("gives up batches with a node that refuses them, and never sends one of its sends again", async () => {
    const node = await fakeNode({
      answer: (call) =>
        call.method === "eth_sendRawTransaction" ? { error: { code: -32000, message: "already known" } } : plain(call),
      hijack: (_calls, response, isBatch) =>
        isBatch && response.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches"}}') !== undefined,
    });
    const nodes = nodesOf([node.url]);
    await nodes.checkChain();
    const both = await Promise.all([nodes.broadcast(raw), nodes.broadcast(signed({ nonce: 4n }).raw)]);
    expect(both.map(({ outcome }) => outcome)).toEqual(["unknown", "unknown"]);
    expect(node.count("eth_sendRawTransaction")).toBe(2);
    for (let n = 0; n < 6; n++) await Promise.all(Array.from({ length: 64 }, () => nodes.balance(receiver, "", "latest")));
    node.counts.requests = 0;
    await Promise.all(Array.from({ length: 10 }, () => nodes.balance(receiver, "", "latest")));
    expect(node.counts.requests).toBe(10);
    expect((await nodes.broadcast(raw)).outcome).toBe("known");
  });

  it("fails what is under way when it is closed, and everything after", async () => {
    const slow = await fakeNode({ answer: plain, hijack: (calls) => notChain(calls) });
    const nodes = nodesOf([slow.url]);
    await nodes.checkChain();
    const waiting = codeOf(nodes.balance(receiver, "", "latest"));
    const sending = nodes.broadcast(raw);
    await new Promise((resolve) => setTimeout(resolve, 50));
    nodes.close();
    nodes.close();
    expect(await waiting).toBe("NODE_CLOSED");
    expect((await sending).outcome).toBe("unknown");
    expect(await codeOf(nodes.head())).toBe("NODE_CLOSED");
    expect((await nodes.broadcast(raw)).outcome).toBe("unsent");
  });

  it("shows no key that stands in a node's address", async () => {
    const port = await closedPort();
    const url = `http://user:hunter2@127.0.0.1:${port}/v3/secret-key?k=secret`;
    const said: string[] = [];
    const nodes = nodesOf([url], { log: (event, context) => said.push(event, JSON.stringify(context)) });
    const error = (await nodes.head().catch((fault: unknown) => fault)) as AgentError;
    said.push(error.message, JSON.stringify(error.context), JSON.stringify(nodes.status()), (await nodes.broadcast(raw)).text);
    expect(said.join("\n")).not.toMatch(/hunter2|secret|user/);
    expect(nodes.status()[0]?.url).toBe(`http://127.0.0.1:${port}`);
    for (const wrong of ["ftp://127.0.0.1/", "127.0.0.1:8545", ""]) {
      expect(await codeOf((async () => createEvmNodes({ urls: [wrong], chainId: 1, confirmations: 1 }))())).toBe("NODE_URL");
    }
  });

  it("speaks with a node that wants a name and a password, at a path", async () => {
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

  it("turns to a resting node last, and comes back to it", async () => {
    let nowMs = 0;
    const events: string[] = [];
    const first = await fakeNode({ answer: plain, hijack: (_calls, response) => response.destroy() !== undefined });
    const second = await fakeNode({ answer: plain });
    const nodes = nodesOf([first.url, second.url], { clock: () => nowMs, log: (event) => events.push(event) });
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
