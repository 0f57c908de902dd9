/**
 * The courier's access to the chain, over nodes with the test's answers; and its independent
 * reading of the signer's bytes.
 */
import { describe, expect, it } from "vitest";
import { type ChainAccess, createChainAccess } from "../../agent/courier/nodes/chain.ts";
import { prefetchAnswers } from "../../agent/courier/nodes/prefetch.ts";
import { createReadBack } from "../../agent/courier/nodes/read-back.ts";
import type { CourierView } from "../../agent/socket/verbs.ts";
import { AgentError } from "../../base/fault.ts";
import type { EvmNodes } from "../../chains/evm/node.ts";
import { createSender } from "../../chains/evm/node-sender.ts";
import { addressTopic, transferTopic } from "../../chains/evm/token-reads.ts";
import type { SenderNodes } from "../../chains/nodes.ts";
import { Kit, shop } from "../../lab/kit/signer-kit.ts";
import { ether, kitOn, paid, receiver, startsAnvil } from "../support/courier-on-anvil.ts";
import { account, sentView, token, viewOf } from "../support/scheduler-views.ts";

startsAnvil();

describe("the access to the chain", () => {
  const nodesWith = (change: Partial<EvmNodes>): EvmNodes => {
    const never = () => Promise.reject(new AgentError("NODE_TIMEOUT", "none", "not in this test"));
    return {
      feeModel: "ethereum",
      agreedCall: () => Promise.resolve(`0x${"6".padStart(64, "0")}`),
      status: () => [],
      checkChain: never,
      head: never,
      finalBlock: never,
      slotCounts: never,
      balance: never,
      sent: never,
      code: never,
      fees: never,
      agreedBalance: never,
      hasCode: never,
      shownReceipt: never,
      estimateGas: never,
      broadcast: () =>
        Promise.resolve({ node: "", standing: "unsent", meaning: "", text: "", byNode: [] }),
      receipt: never,
      finalReceipt: never,
      block: never,
      logs: never,
      blockLogs: never,
      usedNonces: never,
      call: never,
      close: () => undefined,
      ...change,
    };
  };
  const accessTo = (change: Partial<EvmNodes>) =>
    createChainAccess(
      createSender(nodesWith(change), [{ contract: token, decimal: 6 }], () => 0),
      () => 0,
    );
  const tokenView = sentView(1, "included", 1, {
    contract: token,
    currency: "usdt",
    amountUnits: "500",
  });
  const transfer = (to: string, units: bigint, from = account, contract = token) => ({
    address: contract,
    topics: [transferTopic, addressTopic(from), addressTopic(to)],
    data: `0x${units.toString(16).padStart(64, "0")}`,
    logIndex: 0,
  });
  const chainOutcome = async (
    status: 0 | 1,
    logs: readonly ReturnType<typeof transfer>[],
    view = tokenView,
  ) => {
    const receipt = {
      txHash: view.attempts[0]!.txHash,
      blockNumber: 5,
      blockHash: "0x5",
      status,
      from: account,
      to: token,
      logs,
    };
    const access = accessTo({
      finalReceipt: () =>
        Promise.resolve({ ...receipt, gasUsed: 1n, effectiveGasPrice: 1n, dataFee: 0n }),
    });
    const [found] = await access.confirm([{ withdrawal: view, txHashes: [receipt.txHash] }]);
    return found?.chainOutcome?.outcome;
  };

  it("calls a token payment paid only for one exact Transfer out of the account, and no other of the token", async () => {
    const right = transfer(tokenView.address, 500n);
    expect(await chainOutcome(1, [right])).toBe("paid");
    expect(await chainOutcome(1, [right, transfer(account, 9n, tokenView.address, account)])).toBe(
      "paid",
    );
    // A fee that the receiver pays leaves less than was asked for.
    expect(await chainOutcome(1, [right, transfer(account, 9n, tokenView.address)])).toBe("moved");
    expect(await chainOutcome(0, [])).toBe("reverted");
    expect(await chainOutcome(1, [])).toBe("moved");
    expect(await chainOutcome(1, [transfer(tokenView.address, 499n)])).toBe("moved");
    expect(await chainOutcome(1, [transfer(account, 500n)])).toBe("moved");
    expect(await chainOutcome(1, [transfer(tokenView.address, 500n, tokenView.address)])).toBe(
      "moved",
    );
    expect(await chainOutcome(1, [transfer(tokenView.address, 500n, account, account)])).toBe(
      "moved",
    );
    expect(
      await chainOutcome(1, [right, transfer("0x0000000000000000000000000000000000000fee", 1n)]),
    ).toBe("moved");
  });

  it("knows the native balance when a token's cannot be read", async () => {
    const access = accessTo({
      head: () => Promise.resolve({ number: 9, hash: "0x9", baseFeePerGas: 1n, timestamp: 1 }),
      finalBlock: () => Promise.resolve({ number: 8, hash: "0x8" }),
      fees: () =>
        Promise.resolve({
          baseFeePerGas: 1n,
          maxPriorityFeePerGas: 1n,
          maxPriorityFeePerGasHigh: 1n,
        }),
      hasCode: () => Promise.resolve(false),
      agreedBalance: (_account, contract) =>
        contract === ""
          ? Promise.resolve(7n)
          : Promise.reject(new AgentError("NODE_ANSWER", "none", "no word")),
    });
    expect([...(await access.chainState(account)).balances]).toEqual([["", 7n]]);
    const away = accessTo({ hasCode: () => Promise.resolve(false) });
    await expect(away.chainState(account)).rejects.toMatchObject({ code: "NODE_TIMEOUT" });
  });

  it("calls a payment in the native coin paid by its status", async () => {
    const native = sentView(1, "included");
    expect(await chainOutcome(1, [], native)).toBe("paid");
    expect(await chainOutcome(0, [], native)).toBe("reverted");
  });

  it("names 21000 gas to a plain address, an estimate and a quarter for the rest", async () => {
    const estimate = () => Promise.resolve({ ok: true as const, gas: 40_001n });
    const plain = accessTo({ hasCode: () => Promise.resolve(false), estimateGas: estimate });
    const contract = accessTo({ hasCode: () => Promise.resolve(true), estimateGas: estimate });
    expect(await plain.gas(account, viewOf(1, "approved"))).toEqual({
      ok: true,
      gasLimit: 21_000n,
    });
    expect(await contract.gas(account, viewOf(1, "approved"))).toEqual({
      ok: true,
      gasLimit: 50_002n,
    });
    expect(await plain.gas(account, viewOf(1, "approved", { contract: token }))).toEqual({
      ok: true,
      gasLimit: 50_002n,
    });
  });

  it("names no gas below the floor of a token's transfer, and none that the nodes do not agree on", async () => {
    const view = viewOf(1, "approved", { contract: token });
    const low = accessTo({ estimateGas: () => Promise.resolve({ ok: true, gas: 30_000n }) });
    expect(await low.gas(account, view)).toEqual({ ok: true, gasLimit: 45_000n });
    const apart = accessTo({
      estimateGas: () =>
        Promise.reject(new AgentError("NODE_DISAGREE", "none", "apart", { what: "gas estimate" })),
    });
    expect(await apart.gas(account, view)).toMatchObject({
      ...{ ok: false, code: "NODE_DISAGREE: gas estimate", wouldRevert: false },
    });
  });

  it("answers from what it asked ahead, once and for seconds only", async () => {
    let asked = 0;
    let nowMs = 0;
    const nodes = nodesWith({
      estimateGas: () => {
        asked += 1;
        return Promise.resolve({ ok: true, gas: 40_000n });
      },
    });
    const clock = (): number => nowMs;
    const access = createChainAccess(createSender(nodes, [], clock), clock);
    const view = viewOf(1, "approved", { contract: token });
    await access.expect(account, {
      contract: token,
      address: view.address,
      tag: view.tag,
      amountUnits: view.amountUnits,
    });
    expect(await access.gas(account, view)).toEqual({ ok: true, gasLimit: 50_000n });
    expect(asked).toBe(1);
    await access.gas(account, view);
    expect(asked).toBe(2);
    await access.expect(account, view);
    nowMs += 5000;
    await access.gas(account, view);
    expect(asked).toBe(4);
    await access.expect(account, { ...view, amountUnits: "1" });
    await access.gas(account, view);
    expect(asked).toBe(6);
  });

  it("asks ahead about receivers as the signer spells them, and about none that is no address", () => {
    const { gateway } = new Kit();
    const asked: string[] = [];
    const expected: string[] = [];
    const access = {
      expect: (_from: string, { address }: { address: string }) =>
        Promise.resolve(asked.push(address)),
    };
    const chainAccess = new Map([["local", access as unknown as ChainAccess]]);
    const currencies = { eth: { chain: "local", decimal: 18 } };
    const accounts = [{ chain: "local", network: "eip155:31337", address: account, nextSlot: "0" }];
    for (const [at, address] of [shop.toLowerCase(), "nobody"].entries()) {
      gateway.job({ currency: "eth", amount: "1", address }, at + 1);
      const onBug = (error: unknown): never => {
        throw error;
      };
      prefetchAnswers(gateway.jobs([gateway.texts.at(-1) ?? ""]), accounts, {
        chainAccess,
        currencies,
        onBug,
        onExpected: (chain) => expected.push(chain),
      });
    }
    expect(asked).toEqual([shop]);
    expect(expected).toEqual(["local", "local"]);
  });

  it("asks for void attempts in one question, and one by one where that is no", async () => {
    const asked: string[][] = [];
    const wanted = [1, 2].map((sequence) => {
      const txHash = `${sequence}`.repeat(64);
      return {
        withdrawal: viewOf(sequence, "broadcast"),
        attempts: [{ txHash, validUntilMs: 1 }],
        txHashes: [txHash],
      };
    });
    const accessOf = (
      findVoid: (hashes: readonly string[]) => boolean | AgentError,
    ): ChainAccess => {
      asked.length = 0;
      const nodes = {
        async findVoid(_: string, attempts: readonly { readonly txHash: string }[]) {
          const hashes = attempts.map(({ txHash }) => txHash.slice(0, 1));
          asked.push(hashes);
          const isVoid = findVoid(hashes);
          if (isVoid instanceof AgentError) throw isVoid;
          return { isVoid, chainMs: 2, block: 7, quorum: 2 };
        },
      };
      return createChainAccess(nodes as unknown as SenderNodes, () => 0);
    };
    const told = async (access: ChainAccess) =>
      (await access.findVoid(wanted)).map(({ answer }) =>
        answer.ok ? answer.isVoid : answer.code,
      );
    expect(await told(accessOf(() => true))).toEqual([true, true]);
    expect(asked).toEqual([["1", "2"]]);
    expect(await told(accessOf((hashes) => !hashes.includes("2")))).toEqual([true, false]);
    expect(asked).toEqual([["1", "2"], ["1"], ["2"]]);
    const disagree = new AgentError("NODE_DISAGREE", "none", "apart", { what: "receipt" });
    expect(await told(accessOf((hashes) => (hashes.includes("2") ? disagree : true)))).toEqual([
      true,
      "NODE_DISAGREE: receipt",
    ]);
    expect(asked).toEqual([["1", "2"], ["1"], ["2"]]);
    expect(await told(accessOf(() => new AgentError("NODE_TIMEOUT", "none", "late")))).toEqual([
      "NODE_TIMEOUT",
      "NODE_TIMEOUT",
    ]);
    expect(asked).toEqual([["1", "2"]]);
  });

  it("tells a call that would revert from a node in trouble", async () => {
    const view = viewOf(1, "approved", { contract: token });
    const reverting = accessTo({
      estimateGas: () => Promise.resolve({ ok: false, code: "NODE_WOULD_REVERT" }),
    });
    expect(await reverting.gas(account, view)).toMatchObject({ ok: false, wouldRevert: true });
    expect(await accessTo({}).gas(account, view)).toMatchObject({
      ok: false,
      code: "NODE_TIMEOUT",
      wouldRevert: false,
    });
  });

  it("leaves out what the nodes could not answer", async () => {
    const wanted = [1, 2].map((sequence) => {
      const view = sentView(sequence, "broadcast");
      return { withdrawal: view, txHashes: [view.attempts[0]!.txHash] };
    });
    const access = accessTo({
      shownReceipt: (txHash) =>
        txHash === wanted[0]!.txHashes[0]
          ? Promise.resolve({ receipt: null, isShown: false })
          : Promise.reject(new AgentError("NODE_TIMEOUT", "none", "late")),
    });
    expect(await access.look(wanted)).toEqual([
      { transactionId: wanted[0]!.withdrawal.transactionId, location: null, isDoubtful: false },
    ]);
  });
});

describe("the independent reading", () => {
  it("finds each single difference", async () => {
    const kit = await kitOn();
    const told: Partial<CourierView>[] = [];
    kit.tamper = (verb, answer) => {
      if (verb === "admit" || verb === "release") {
        told.push(
          ...((answer as unknown as { withdrawals?: Partial<CourierView>[] }).withdrawals ?? []),
        );
      }
      return answer;
    };
    const { transactionId } = kit.gateway.order({ address: receiver() });
    await paid(kit, transactionId);
    const view = Object.assign({}, ...told) as CourierView;
    const attempt = view.attempts[0]!;
    const read = createReadBack(kit.settings);
    expect(await read(view, attempt)).toBe("");
    const other = {
      ...kit.settings,
      chains: { local: { ...kit.settings.chains.local!, chainId: 1 } },
    };
    expect(await createReadBack(other)(view, attempt)).toContain("network");
    expect(await createReadBack(other)({ ...view, network: "eip155:1" }, attempt)).toContain(
      "chain",
    );
    const wrongs: readonly (readonly [object, object, string])[] = [
      [{ address: receiver() }, {}, "to"],
      [{ amountUnits: `${ether + 1n}` }, {}, "amount"],
      [{ amountUnits: `${ether + 1n}`, amount: "1.000000000000000001" }, {}, "value"],
      [{ slot: `${Number(view.slot) + 1}` }, {}, "nonce"],
      [{ tag: "77" }, {}, "tag"],
      [{ contract: token }, {}, "contract"],
      [{ currency: "usdt" }, {}, "contract"],
      [{ network: "eip155:1" }, {}, "network"],
      [{ currency: "none" }, {}, "does not know"],
      [{}, { txHash: `0x${"00".repeat(32)}` }, "hash"],
      [{}, { txParams: { ...attempt.txParams, gasLimit: "21001" } }, "gas limit"],
      [{}, { txParams: { ...attempt.txParams, maxFeePerGas: "1" } }, "maxFeePerGas"],
      [
        {},
        { txParams: { ...attempt.txParams, maxPriorityFeePerGas: "7" } },
        "maxPriorityFeePerGas",
      ],
      [{}, { raw: `${attempt.raw?.slice(0, -2)}00` }, "hash"],
      [{}, { raw: "0x02" }, "unreadable"],
    ];
    for (const [change, attemptChange, word] of wrongs) {
      expect(await read({ ...view, ...change }, { ...attempt, ...attemptChange })).toContain(word);
    }
  });
});
