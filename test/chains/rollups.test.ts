/**
 * Chains that bill data: the sender on nodes of a real chain in place of a rollup, the rules of
 * fees, the receipt, and the policy that counts gas and data.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Policy } from "../../agent/signer/policy/policy.ts";
import { readRules } from "../../agent/signer/policy/rules.ts";
import { readReceipt } from "../../chains/evm/answers.ts";
import { gasPriceOracle } from "../../chains/evm/data-fee.ts";
import { type FeeModel, feeModelOf } from "../../chains/evm/fee-model.ts";
import { evmFees, firstOffer } from "../../chains/evm/fees.ts";
import { createEvmNodes } from "../../chains/evm/node.ts";
import { createSender } from "../../chains/evm/node-sender.ts";
import { judgeSlotConsumer } from "../../chains/evm/outcome.ts";
import { evmTransactions } from "../../chains/evm/transactions.ts";
import type { TxParams } from "../../chains/family.ts";
import { type Anvil, startAnvil } from "../../lab/kit/anvil.ts";
import { rpc } from "../../lab/kit/rpc.ts";
import { deployToken } from "../../lab/kit/token.ts";

const account = `0x${"a1".repeat(20)}`;
const shop = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const hash = `0x${"11".repeat(32)}`;
const receiver = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const gwei = 10n ** 9n;
const unit = 1_000_000_007n;

let anvil: Anvil;
beforeAll(async () => {
  anvil = await startAnvil({ chainId: 31337 });
});
afterAll(() => anvil.stop());

/** Code that answers every call with one word, or refuses every call. */
const answering = (value: bigint): string =>
  `0x7f${value.toString(16).padStart(64, "0")}60005260206000f3`;
const refusing = "0x60006000fd";
const fake = (code: string): Promise<unknown> =>
  rpc(anvil.url, "anvil_setCode", [gasPriceOracle, code]);

function senderOn(
  feeModel: FeeModel,
  tokens: { contract: string; decimal: number }[] = [],
  clock = () => 0,
) {
  const nodes = createEvmNodes({ urls: [anvil.url], chainId: 31337, confirmations: 1, feeModel });
  return createSender(nodes, tokens, clock);
}

describe("a sender on an OP Stack chain", () => {
  it("prices data and the operator's fee with double room, and offers it in the parameters", async () => {
    await fake(answering(unit));
    const sender = senderOn("op-stack");
    const { feeMarket } = await sender.chainState(account);
    if (feeMarket === null) throw new Error("no market");
    expect(feeMarket.dataFee).toBe(4n * unit);
    const offer = firstOffer({ feeMarket, computeLimit: 21_000n });
    expect(offer.dataFee).toBe(`${4n * unit}`);
    expect(evmFees.most(offer)).toBe(21_000n * BigInt(offer.maxFeePerGas!) + 4n * unit);
    sender.close();
  });

  it("gives no market if the oracle does not answer, so that nothing is signed by a guess, and all else", async () => {
    const sender = senderOn("op-stack");
    for (const code of ["0x", refusing]) {
      await fake(code);
      const { feeMarket, balances, unread } = await sender.chainState(account);
      expect([feeMarket, [...(unread?.keys() ?? [])], balances.has("")]).toEqual([
        null,
        ["market"],
        true,
      ]);
    }
    await fake(answering(unit));
    await expect(sender.chainState(account)).resolves.toMatchObject({
      feeMarket: { dataFee: 4n * unit },
    });
    sender.close();
  });

  it("asks no oracle on a chain that bills gas alone", async () => {
    await fake(answering(unit));
    const sender = senderOn("ethereum");
    expect(Object.keys((await sender.chainState(account)).feeMarket ?? {})).not.toContain(
      "dataFee",
    );
    sender.close();
  });
});

describe("a sender on Arbitrum", () => {
  it("estimates a plain payment and a cancel, with double room, where Ethereum's takes 21,000", async () => {
    const payment = { contract: "", destination: shop, tag: "", amountUnits: 0n };
    const arbitrum = senderOn("arbitrum");
    const ethereum = senderOn("ethereum");
    expect(await ethereum.computeLimit(account, payment)).toEqual({
      ok: true,
      computeLimit: 21_000n,
    });
    expect(await arbitrum.computeLimit(account, payment)).toEqual({
      ok: true,
      computeLimit: 42_000n,
    });
    expect((await arbitrum.chainState(account)).feeMarket?.cancelGas).toBe(42_000n);
    expect((await ethereum.chainState(account)).feeMarket).not.toHaveProperty("cancelGas");
    arbitrum.close();
    ethereum.close();
  });
});

describe("a token of a sender", () => {
  it("has no funds while its contract counts otherwise than configured, and the others go on", async () => {
    const [right, wrong] = [await deployToken(anvil.url), await deployToken(anvil.url)];
    const none = { contract: shop, decimal: 6 };
    let nowMs = 0;
    const tokens = [
      { contract: right.address, decimal: 6 },
      { contract: wrong.address, decimal: 18 },
      none,
    ];
    const sender = senderOn("ethereum", tokens, () => nowMs);
    const { balances, unfit } = await sender.chainState(account);
    expect([...balances.keys()].sort()).toEqual(["", right.address].sort());
    expect(unfit.get(wrong.address)).toBe(
      "the contract has 6 decimals, and config.json says 18 decimals",
    );
    expect(unfit.get(shop)).toBe("the contract is no token's, and config.json says 6 decimals");
    expect(unfit.size).toBe(2);
    // It is asked again: a contract may come to stand there.
    await rpc(anvil.url, "anvil_setCode", [shop, answering(6n)]);
    nowMs = 31_000;
    expect((await sender.chainState(account)).unfit.size).toBe(1);
    await rpc(anvil.url, "anvil_setCode", [shop, "0x"]);
    sender.close();
  });
});

describe("the fees of a rollup", () => {
  const offer = (over: TxParams = {}): TxParams => ({
    gasLimit: "60000",
    maxFeePerGas: "100",
    maxPriorityFeePerGas: "10",
    ...over,
  });
  const attempt = (txParams: TxParams) => ({
    txHash: "0x1",
    txParams,
    feeMax: `${evmFees.most(txParams)}`,
  });

  it("keep the highest figure for data of all attempts, since one of them comes into the block", () => {
    const attempts = [attempt(offer({ dataFee: "900" })), attempt(offer({ dataFee: "500" }))];
    expect(evmFees.bidding!.replacement(attempts, offer({ dataFee: "700" }), false).dataFee).toBe(
      "900",
    );
    expect(evmFees.bidding!.replacement(attempts, offer({ dataFee: "1000" }), false).dataFee).toBe(
      "1000",
    );
    expect(
      evmFees.bidding!.replacement([attempt(offer())], offer(), false).dataFee,
    ).toBeUndefined();
    const next = evmFees.bidding!.replacement(attempts, offer({ dataFee: "700" }), false);
    expect(evmFees.bidding!.replacement(attempts, next, false)).toEqual(next);
  });

  it("give a cancel the gas that its chain asks for one, and 21,000 elsewhere", () => {
    const wish = { gasLimit: "", maxFeePerGas: "", maxPriorityFeePerGas: "" };
    const gasOf = (txParams: TxParams): unknown => {
      const found = evmFees.bidding!.manualReplacement([attempt(txParams)], true, wish);
      return found.ok ? found.txParams.map(({ gasLimit }) => gasLimit) : found.code;
    };
    expect(gasOf(offer({ cancelGas: "90000" }))).toEqual(["90000", "90000"]);
    expect(gasOf(offer())).toEqual(["21000", "21000"]);
    // A replacement with a higher fee of a cancel takes what is asked now, and never less than
    // before.
    const cancel = offer({ gasLimit: "90000", cancelGas: "90000" });
    expect(
      evmFees.bidding!.replacement([attempt(cancel)], offer({ cancelGas: "120000" }), true)
        .gasLimit,
    ).toBe("120000");
    expect(
      evmFees.bidding!.replacement([attempt(cancel)], offer({ cancelGas: "70000" }), true).gasLimit,
    ).toBe("90000");
  });

  it("let an operator name the figure for data, and take the highest known one otherwise", () => {
    const wish = { gasLimit: "", maxFeePerGas: "", maxPriorityFeePerGas: "" };
    const dataOf = (over: TxParams): unknown => {
      const found = evmFees.bidding!.manualReplacement(
        [attempt(offer({ dataFee: "900" }))],
        false,
        {
          ...wish,
          ...over,
        },
      );
      return found.ok ? found.txParams[0]?.dataFee : found.code;
    };
    expect(dataOf({})).toBe("900");
    expect(dataOf({ dataFee: "5000" })).toBe("5000");
    expect(() => evmFees.read(offer({ dataFee: "1.5" }))).toThrow("txParams");
    expect(() => evmFees.read(offer({ other: "1" }))).toThrow("txParams");
    expect(evmFees.read(offer({ dataFee: "15" }))).toEqual(offer({ dataFee: "15" }));
  });

  it("are known of Base, OP Mainnet and Arbitrum without a word of the configuration, which may say another", () => {
    const modelOf = (chainId: number, feeModel?: string) =>
      feeModelOf({ family: "evm", chainId, ...(feeModel === undefined ? {} : { feeModel }) });
    expect([8453, 10, 42161, 1, 56].map((id) => modelOf(id))).toEqual([
      "op-stack",
      "op-stack",
      "arbitrum",
      "ethereum",
      "ethereum",
    ]);
    expect(modelOf(31337, "op-stack")).toBe("op-stack");
    expect(modelOf(8453, "ethereum")).toBe("ethereum");
  });
});

describe("the receipt of a rollup", () => {
  const plain = {
    ...{
      transactionHash: hash,
      blockNumber: "0x9",
      blockHash: hash,
      status: "0x1",
      from: account,
      to: shop,
      logs: [],
    },
    ...{ gasUsed: "0x5208", effectiveGasPrice: "0xa" },
  };
  const operator = { operatorFeeScalar: "0x64", operatorFeeConstant: "0x7" };

  it("bills data and the operator's fee by the formula of its fork, and nothing on other chains", () => {
    expect(readReceipt(plain).dataFee).toBe(0n);
    expect(readReceipt({ ...plain, l1Fee: "0x3e8" }).dataFee).toBe(1000n);
    expect(readReceipt({ ...plain, l1Fee: null }).dataFee).toBe(0n);
    expect(readReceipt({ ...plain, l1Fee: "0x3e8", ...operator }).dataFee).toBe(
      1000n + (21_000n * 100n) / 1_000_000n + 7n,
    );
    expect(
      readReceipt({ ...plain, l1Fee: "0x3e8", ...operator, daFootprintGasScalar: "0x190" }).dataFee,
    ).toBe(1000n + 21_000n * 100n * 100n + 7n);
    expect(() => readReceipt({ ...plain, l1Fee: "1000" }).dataFee).toThrow("l1Fee");
  });
});

describe("the fee that the gateway records", () => {
  it("is the receipt's gas and the data that was billed with it", () => {
    const receipt = readReceipt({
      ...{
        transactionHash: hash,
        blockNumber: "0x9",
        blockHash: hash,
        status: "0x0",
        from: account,
        to: shop,
        logs: [],
      },
      ...{ gasUsed: "0x5208", effectiveGasPrice: "0xa", l1Fee: "0x3e8" },
    });
    const payment = {
      network: "eip155:10",
      account,
      slot: "5",
      contract: "",
      destination: shop,
      tag: "",
      amountUnits: 5n,
    };
    const transaction = { hash, from: account, nonce: 5n, to: shop, valueUnits: 5n, input: "0x" };
    expect(judgeSlotConsumer(payment, { transaction, receipt }, null)).toMatchObject({
      kind: "failed",
      final: { feeUnits: 211_000n },
    });
  });
});

describe("the policy on a rollup", () => {
  const network = "eip155:31337";
  const policyOf = (feeModel?: string, maxFeePerDay = "1") => {
    const settings = {
      chains: {
        local: {
          family: "evm",
          chainId: 31337,
          ...(feeModel === undefined ? {} : { feeModel }),
        } as const,
      },
      currencies: { eth: { chain: "local", decimal: 18 } },
      policy: { eth: { maxPerWithdrawal: "10", maxPerDay: "100", maxFee: "0.001", maxFeePerDay } },
    };
    const policy = new Policy(readRules(settings, [{ family: "evm", purpose: "hot", id: shop }]));
    const transactionId = "01".repeat(16);
    const about = {
      transactionId,
      chain: "local",
      network,
      contract: "",
      address: receiver,
      amountUnits: "5",
    } as const;
    const stamp = { seq: 2, prev: "", at: 0, hash: "" };
    policy.apply({ kind: "APPROVED", by: "policy", approver: "", ...about, ...stamp }, "eth");
    return { policy, approval: policy.approval(transactionId)! };
  };
  const clear = ({ policy, approval }: ReturnType<typeof policyOf>, dataFee?: string) => {
    const txParams = {
      gasLimit: "21000",
      maxFeePerGas: `${gwei}`,
      maxPriorityFeePerGas: "1",
      ...(dataFee ? { dataFee } : {}),
    };
    const payment = {
      network,
      account: shop,
      slot: "5",
      contract: "",
      destination: approval.address,
      tag: "",
      amountUnits: 5n,
    };
    const unsigned = evmTransactions.build(payment, txParams);
    return policy.clear(
      { approval, unsigned, txParams, attempt: 2, account: shop, addressIndex: null, slot: "5" },
      0,
    );
  };
  const gasMost = 21_000n * gwei;
  const room = 10n ** 15n - gasMost;

  it("signs nothing without a figure for data where the chain bills it beside the gas", () => {
    expect(clear(policyOf("op-stack"))).toMatchObject({ ok: false, code: "POLICY_FEE_UNBOUNDED" });
    expect(clear(policyOf("op-stack"), "1")).toMatchObject({
      ok: true,
      description: { txParams: { dataFee: "1" } },
    });
    expect(clear(policyOf())).toMatchObject({ ok: true });
  });

  it("holds gas and data together under the ceiling of a withdrawal and of a day", () => {
    const found = clear(policyOf("op-stack"), `${room}`);
    expect(found.ok && found.description.feeMaxUnits).toBe(10n ** 15n);
    expect(clear(policyOf("op-stack"), `${room + 1n}`)).toMatchObject({
      ok: false,
      code: "POLICY_FEE_ABOVE_WITHDRAWAL",
    });
    expect(clear(policyOf("op-stack", "0.0001"), "1")).toMatchObject({ ok: true });
    expect(clear(policyOf("op-stack", "0.0001"), `${10n ** 14n}`)).toMatchObject({
      ok: false,
      code: "POLICY_FEE_ABOVE_DAY",
    });
  });
});
