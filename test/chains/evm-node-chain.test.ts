/** chains/evm/node against a real chain (anvil), with nodes before it that lie. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mayBloomHold } from "../../chains/evm/bloom.ts";
import { encodeTransferCall } from "../../chains/evm/erc20.ts";
import type { EvmNodes } from "../../chains/evm/node.ts";
import { addressTopic, readTransferLog, transferTopic } from "../../chains/evm/token-reads.ts";
import { type Anvil, startAnvil } from "../../lab/kit/anvil.ts";
import { type FakeAnswer, type FakeNode, forwarding } from "../../lab/kit/fake-node.ts";
import { rpc, tokenCall } from "../../lab/kit/rpc.ts";
import { deployToken } from "../../lab/kit/token.ts";
import {
  closedPort,
  closesItsNodes,
  codeOf,
  fakeNode,
  hex,
  hotWallet,
  nodesOf,
  receiver,
  signed,
} from "../support/evm-nodes.ts";

closesItsNodes();

describe("a real chain", () => {
  let anvil: Anvil;
  let token: string;
  const mine = (blocks = 1): Promise<unknown> =>
    rpc(anvil.url, "anvil_mine", [`0x${blocks.toString(16)}`]);
  const nonceOf = async (): Promise<bigint> =>
    BigInt(
      (await rpc(anvil.url, "eth_getTransactionCount", [hotWallet.address, "latest"])) as string,
    );

  beforeAll(async () => {
    anvil = await startAnvil();
    token = (await deployToken(anvil.url)).address;
    await rpc(anvil.url, "eth_sendTransaction", [
      {
        from: ((await rpc(anvil.url, "eth_accounts")) as string[])[0],
        to: token,
        data: tokenCall("mint", hotWallet.address, 10n ** 12n),
      },
    ]);
    await rpc(anvil.url, "evm_setAutomine", [false]);
    await mine(5);
  });
  afterAll(() => anvil.stop());

  it("the pool of nodes reads head, fees, balances, code and blocks", async () => {
    const nodes = nodesOf([anvil.url]);
    await nodes.checkChain();
    const head = await nodes.head();
    expect(head.number).toBe(Number((await rpc(anvil.url, "eth_blockNumber")) as string));
    expect(await nodes.finalBlock()).toEqual({
      number: head.number - 2,
      hash: (await nodes.block(head.number - 2, { full: false })).hash,
    });
    expect((await nodes.fees()).baseFeePerGas).toBe(head.baseFeePerGas);
    expect(await nodes.balance(hotWallet.address, "", "latest")).toBe(10_000n * 10n ** 18n);
    expect(await nodes.balance(hotWallet.address, token, "latest")).toBe(10n ** 12n);
  });

  it("the pool of nodes reads code and calls, and never takes an empty answer for a number", async () => {
    const nodes = nodesOf([anvil.url]);
    expect(await nodes.code(hotWallet.address, "latest")).toBe("0x");
    expect((await nodes.code(token, "latest")).length).toBeGreaterThan(100);
    expect(BigInt(await nodes.call(token, "0x313ce567", "latest"))).toBe(6n);
    expect(await codeOf(nodes.balance(hotWallet.address, receiver, "latest"))).toBe("NODE_ANSWER");
    expect(await codeOf(nodes.block(10_000, { full: false }))).toBe("NODE_NO_BLOCK");
    expect(await nodes.receipt(`0x${"12".repeat(32)}`)).toBeNull();
  });

  it("the pool of nodes follows native coin and token from broadcast to finality", async () => {
    const nodes = nodesOf([anvil.url]);
    const nonce = await nonceOf();
    const native = signed({ nonce });
    const call = signed({ nonce: nonce + 1n, contract: token, amountUnits: 777n });
    expect(
      await Promise.all([nodes.broadcast(native.raw), nodes.broadcast(call.raw.slice(2))]),
    ).toMatchObject([
      { standing: "taken", meaning: "" },
      { standing: "taken", meaning: "" },
    ]);
    expect((await nodes.broadcast(native.raw)).meaning).toBe("known");
    expect(await nodes.receipt(native.txHash)).toBeNull();
    expect(await nodes.slotCounts(hotWallet.address)).toMatchObject({
      latest: nonce,
      pending: nonce + 2n,
      quorum: 1,
    });

    await mine();
    const receipt = await nodes.receipt(call.txHash);
    const { number } = await nodes.head();
    expect(receipt).toMatchObject({
      txHash: call.txHash,
      blockNumber: number,
      status: 1,
      from: hotWallet.address,
      to: token,
    });
    expect(receipt!.logs.map(readTransferLog)).toEqual([
      { from: hotWallet.address, to: receiver, amountUnits: 777n },
    ]);
    expect(await nodes.slotCounts(hotWallet.address)).toMatchObject({
      latest: nonce + 2n,
      pending: nonce + 2n,
      final: nonce,
    });
    expect(await nodes.finalReceipt(call.txHash)).toBeNull();
    await mine();
    expect(await nodes.finalReceipt(call.txHash)).toBeNull();
    await mine();
    expect(await nodes.finalReceipt(call.txHash)).toEqual(receipt);
    expect(await nodes.finalReceipt(native.txHash)).toMatchObject({
      status: 1,
      to: receiver,
      gasUsed: 21_000n,
    });
    expect(await nodes.slotCounts(hotWallet.address)).toMatchObject({
      latest: nonce + 2n,
      final: nonce + 2n,
    });

    const block = await nodes.block(number, { full: true });
    expect(block.transactions.find((one) => one.hash === native.txHash)).toMatchObject({
      from: hotWallet.address,
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
      topics: [transferTopic, null, addressTopic(receiver)],
    };
    const logs = await nodes.logs(filter);
    expect(logs.map((log) => log.read())).toEqual([
      { ...receipt!.logs[0], blockNumber: number, blockHash: block.hash, txHash: call.txHash },
    ]);
    expect(
      await nodes.logs({ ...filter, topics: [transferTopic, addressTopic(receiver)] }),
    ).toEqual([]);
    const { fromBlock: _, toBlock: _to, ...ofOne } = filter;
    expect(await nodes.logs({ ...ofOne, blockHash: block.hash })).toHaveLength(1);
    expect((await nodes.blockLogs(block)).map((log) => log.read())).toEqual(
      logs.map((log) => log.read()),
    );
    expect(block.bloom).toMatch(/^[0-9a-f]{512}$/);
    expect(
      [token, transferTopic, addressTopic(receiver)].every((value) =>
        mayBloomHold(block.bloom, value),
      ),
    ).toBe(true);
    expect(mayBloomHold(block.bloom, addressTopic(`0x${"12".repeat(20)}`))).toBe(false);
    expect(await nodes.balance(receiver, token, number)).toBe(
      (await nodes.balance(receiver, token, number - 1)) + 777n,
    );
  });

  it("the pool of nodes names what the node says to a broadcast, and takes none of it for the fate of the payment", async () => {
    const nodes = nodesOf([anvil.url]);
    const nonce = await nonceOf();
    expect(
      (await nodes.broadcast(signed({ nonce: nonce - 1n, amountUnits: 5n }).raw)).meaning,
    ).toBe("slot-used");
    expect((await nodes.broadcast(signed({ nonce }).raw)).standing).toBe("taken");
    expect((await nodes.broadcast(signed({ nonce, amountUnits: 5n }).raw)).meaning).toBe("price");
    expect(
      (await nodes.broadcast(signed({ nonce: nonce + 1n, amountUnits: 10n ** 23n }).raw)).meaning,
    ).toBe("funds");
    expect((await nodes.broadcast("0x02c0")).standing).toBe("refused");
    await mine(3);
    expect((await nodes.broadcast(signed({ nonce }).raw)).meaning).toBe("slot-used");
  });

  it("the pool of nodes estimates gas, and tells a call that would revert from an account without funds", async () => {
    const nodes = nodesOf([anvil.url]);
    const call = (units: bigint) => ({
      from: hotWallet.address,
      to: token,
      valueWei: 0n,
      data: hex(encodeTransferCall(receiver, units)),
    });
    const estimate = await nodes.estimateGas(call(1n));
    expect(estimate.ok && estimate.gas > 21_000n && estimate.gas < 100_000n).toBe(true);
    expect(await nodes.estimateGas(call(10n ** 13n))).toMatchObject({
      ok: false,
      code: "NODE_WOULD_REVERT",
    });
    const poor = await fakeNode({
      answer: forwarding(anvil.url, ({ method }, answer) =>
        method === "eth_estimateGas"
          ? { error: { code: -32000, message: "insufficient funds for transfer" } }
          : answer,
      ),
    });
    expect(await codeOf(nodesOf([poor.url]).estimateGas(call(1n)))).toBe("NODE_ERROR");
  });

  it("the pool of nodes takes back what a reorganisation removed", async () => {
    const nodes = nodesOf([anvil.url]);
    const { raw, txHash } = signed({ nonce: await nonceOf() });
    expect((await nodes.broadcast(raw)).standing).toBe("taken");
    await mine();
    expect((await nodes.receipt(txHash))?.status).toBe(1);
    await rpc(anvil.url, "anvil_reorg", [1, []]);
    expect(await nodes.receipt(txHash)).toBeNull();
    await mine(3);
    expect(await nodes.finalReceipt(txHash)).toBeNull();
    expect((await nodes.broadcast(raw)).standing).toBe("taken");
    await mine(3);
    expect((await nodes.finalReceipt(txHash))?.status).toBe(1);
  });

  it("the pool of nodes takes the chain's own word for what is finalized", async () => {
    const nodes = nodesOf([anvil.url], { confirmations: "finalized" });
    const finalized = (await rpc(anvil.url, "eth_getBlockByNumber", ["finalized", false])) as {
      number: string;
      hash: string;
    };
    expect(await nodes.finalBlock()).toEqual({
      number: Number(finalized.number),
      hash: finalized.hash,
    });
    expect(finalized.number).not.toBe(await rpc(anvil.url, "eth_blockNumber"));
  });

  it("the pool of nodes counts genesis as final while the chain is younger than the confirmations", async () => {
    const { hash } = (await rpc(anvil.url, "eth_getBlockByNumber", ["0x0", false])) as {
      hash: string;
    };
    expect(await nodesOf([anvil.url], { confirmations: 10_000 }).finalBlock()).toEqual({
      number: 0,
      hash,
    });
    const head = await nodesOf([anvil.url]).head();
    expect(await nodesOf([anvil.url], { confirmations: 1 }).finalBlock()).toEqual({
      number: head.number,
      hash: head.hash,
    });
  });

  it("the pool of nodes gathers the calls of one tick into one request, over few connections", async () => {
    const node = await fakeNode({ answer: forwarding(anvil.url) });
    const nodes = nodesOf([node.url]);
    await nodes.head();
    node.counts.requests = 0;
    const account = (at: number): string => `0x${(at + 1).toString(16).padStart(40, "0")}`;
    await Promise.all(
      Array.from({ length: 60 }, (_, at) => nodes.balance(account(at), "", "latest")),
    );
    expect(node.counts.requests).toBe(1);
    await Promise.all(
      Array.from({ length: 100 }, (_, at) => nodes.balance(account(at), "", "latest")),
    );
    expect(node.counts.requests).toBe(3);
    for (let n = 0; n < 30; n++) await nodes.head();
    expect(node.counts.connections).toBeLessThanOrEqual(3);
  });

  it("the pool of nodes asks for one final block, however many receipts wait for it", async () => {
    const node = await fakeNode({ answer: forwarding(anvil.url) });
    const nodes = nodesOf([node.url]);
    const nonce = await nonceOf();
    const sent = Array.from({ length: 20 }, (_, i) => signed({ nonce: nonce + BigInt(i) }));
    for (const { raw } of sent) expect((await nodes.broadcast(raw)).standing).toBe("taken");
    await mine(4);
    node.calls.length = 0;
    node.counts.requests = 0;
    const receipts = await Promise.all(sent.map(({ txHash }) => nodes.finalReceipt(txHash)));
    expect(receipts.every((receipt) => receipt?.status === 1)).toBe(true);
    expect(node.count("eth_getBlockReceipts")).toBe(1);
    expect(node.count("eth_getTransactionReceipt")).toBe(1);
    expect(node.counts.requests).toBeLessThanOrEqual(5);
    expect(node.count("eth_getBlockByNumber")).toBeLessThanOrEqual(4);
  });

  describe("with nodes that lie", () => {
    const lying = (change: (method: string, result: never) => unknown): Promise<FakeNode> =>
      fakeNode({
        answer: forwarding(
          anvil.url,
          (call, answer): FakeAnswer =>
            "result" in answer && answer.result !== null
              ? { result: change(call.method, answer.result as never) }
              : answer,
        ),
      });
    let paid: { raw: string; txHash: string };

    beforeAll(async () => {
      paid = signed({ nonce: await nonceOf() });
      await rpc(anvil.url, "eth_sendRawTransaction", [paid.raw]);
      await mine(4);
    });

    it("the pool of nodes believes two of three, and no single one", async () => {
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
        "other counters": await lying((method, result) =>
          method === "eth_getTransactionCount" ? "0x0" : result,
        ),
      };
      const truth = await nodesOf([anvil.url]).slotCounts(hotWallet.address);
      for (const [lie, liar] of Object.entries(liars)) {
        const three = nodesOf([liar.url, anvil.url, anvil.url]);
        expect((await three.finalReceipt(paid.txHash))?.status, lie).toBe(1);
        expect((await three.finalBlock()).number, lie).toBeLessThan(1000);
        expect(await three.slotCounts(hotWallet.address), lie).toEqual({ ...truth, quorum: 2 });
      }
      const two = (lie: keyof typeof liars): EvmNodes => nodesOf([liars[lie].url, anvil.url]);
      expect(await codeOf(two("a reverted receipt").finalReceipt(paid.txHash))).toBe(
        "NODE_DISAGREE",
      );
      expect(await codeOf(two("a receipt in another block").finalReceipt(paid.txHash))).toBe(
        "NODE_DISAGREE",
      );
      expect(await codeOf(two("a head far ahead").finalReceipt(paid.txHash))).toBe("NODE_ANSWER");
      expect(await codeOf(two("other counters").slotCounts(hotWallet.address))).toBe(
        "NODE_DISAGREE",
      );
      expect((await nodesOf([anvil.url, anvil.url]).finalReceipt(paid.txHash))?.status).toBe(1);
    });

    it("the pool of nodes counts at the head and in the pool the number that enough nodes have reached, and never so the final one", async () => {
      const truth = await nodesOf([anvil.url]).slotCounts(hotWallet.address);
      const aheadBy = (more: bigint): Promise<FakeNode> =>
        fakeNode({
          answer: forwarding(anvil.url, ({ method, params }, answer): FakeAnswer => {
            const isFinal = params[1] !== "latest" && params[1] !== "pending";
            if (method !== "eth_getTransactionCount" || isFinal || !("result" in answer))
              return answer;
            return { result: `0x${(BigInt(`${answer.result}`) + more).toString(16)}` };
          }),
        });
      const [ahead, further] = [await aheadBy(3n), await aheadBy(4n)];
      const more = {
        latest: truth.latest + 3n,
        pending: truth.pending + 3n,
        isSame: false,
        quorum: 2,
      };
      expect(await nodesOf([ahead.url, anvil.url]).slotCounts(hotWallet.address)).toEqual({
        ...truth,
        isSame: false,
        quorum: 2,
      });
      expect(await nodesOf([ahead.url, ahead.url]).slotCounts(hotWallet.address)).toEqual({
        ...truth,
        ...more,
        isSame: true,
      });
      expect(await nodesOf([ahead.url, further.url]).slotCounts(hotWallet.address)).toEqual({
        ...truth,
        ...more,
      });
    });

    it("the pool of nodes says nothing is final on one node's word when two are configured", async () => {
      const dead = `http://127.0.0.1:${await closedPort()}`;
      const nodes = nodesOf([dead, anvil.url]);
      expect(await codeOf(nodes.finalReceipt(paid.txHash))).toBe("NODE_UNREACHABLE");
      expect(await codeOf(nodes.finalBlock())).toBe("NODE_UNREACHABLE");
      expect(await codeOf(nodes.slotCounts(hotWallet.address))).toBe("NODE_UNREACHABLE");
      expect((await nodes.receipt(paid.txHash))?.status).toBe(1);
      const blind = await lying((method, result) => (method.endsWith("Receipt") ? null : result));
      expect(await nodesOf([blind.url, anvil.url]).finalReceipt(paid.txHash)).toBeNull();
      expect((await nodesOf([blind.url, anvil.url]).receipt(paid.txHash))?.status).toBe(1);
    });

    it("the pool of nodes takes no receipt of an orphaned block, when all show it", async () => {
      const orphan = await lying((method, result: object) =>
        method.endsWith("Receipt") ? { ...result, blockHash: `0x${"ab".repeat(32)}` } : result,
      );
      expect(await nodesOf([orphan.url, orphan.url]).finalReceipt(paid.txHash)).toBeNull();
    });

    it("the pool of nodes takes no answer to another question", async () => {
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
      const filter = { fromBlock: 1, toBlock: 20, address: [token], topics: [transferTopic] };
      expect(await codeOf(nodesOf([early.url]).logs(filter))).toBe("NODE_ANSWER");
      expect((await nodesOf([anvil.url]).logs(filter)).length).toBeGreaterThan(0);
    });

    it("the pool of nodes declines a call only when two nodes say that it would revert", async () => {
      const call = {
        from: hotWallet.address,
        to: token,
        valueWei: 0n,
        data: hex(encodeTransferCall(receiver, 1n)),
      };
      const reverting = await fakeNode({
        answer: forwarding(anvil.url, ({ method }, answer) =>
          method === "eth_estimateGas"
            ? { error: { code: 3, message: "execution reverted" } }
            : answer,
        ),
      });
      expect(await codeOf(nodesOf([reverting.url, anvil.url]).estimateGas(call))).toBe(
        "NODE_DISAGREE",
      );
      expect((await nodesOf([reverting.url, anvil.url, anvil.url]).estimateGas(call)).ok).toBe(
        true,
      );
      expect(await nodesOf([reverting.url, reverting.url]).estimateGas(call)).toMatchObject({
        ok: false,
        code: "NODE_WOULD_REVERT",
      });
      const alone = nodesOf([reverting.url, `http://127.0.0.1:${await closedPort()}`]);
      expect(await codeOf(alone.estimateGas(call))).toBe("NODE_UNREACHABLE");
    });

    it("the pool of nodes believes no broadcast that answers another hash", async () => {
      const { raw } = signed({ nonce: (await nonceOf()) + 5n });
      const liar = await lying((method, result) =>
        method === "eth_sendRawTransaction" ? `0x${"cd".repeat(32)}` : result,
      );
      expect((await nodesOf([liar.url]).broadcast(raw)).standing).toBe("doubtful");
    });
  });
});
