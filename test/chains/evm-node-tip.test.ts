/**
 * A node without the question for the tip gives it by its price of gas or its history of fees, as
 * wallets compute it; a missing question is not asked each time. Reported for such software:
 * ethereum/go-ethereum #23479, MetaMask/metamask-extension #22370, uniswap-python/uniswap-python
 * #299 (the question is missing); floating/frame #659 (no history of fees).
 */
import { describe, expect, it } from "vitest";
import type { FakeAnswer, FakeNodeOptions, RpcCall } from "../../lab/kit/fake-node.ts";
import { closesItsNodes, codeOf, fakeNode, nodesOf } from "../support/evm-nodes.ts";

closesItsNodes();

const gwei = 10n ** 9n;
const quantity = (value: bigint): string => `0x${value.toString(16)}`;
const hash = `0x${"aa".repeat(32)}`;
const block = {
  number: "0x64",
  hash,
  parentHash: hash,
  timestamp: "0x1",
  baseFeePerGas: quantity(10n * gwei),
  transactions: [],
};
const missing: FakeAnswer = {
  error: { code: -32_601, message: "the method does not exist/is not available" },
};
const history = (ratios: readonly number[], gweis: readonly bigint[]): FakeAnswer => ({
  result: {
    oldestBlock: "0x5b",
    gasUsedRatio: ratios,
    reward: gweis.map((one) => [quantity(one * gwei)]),
  },
});
type Answers = Readonly<Record<string, FakeAnswer>>;
const whole: Answers = {
  eth_chainId: { result: "0x7a69" },
  eth_getBlockByNumber: { result: block },
  eth_maxPriorityFeePerGas: { result: quantity(gwei) },
  eth_gasPrice: { result: quantity(13n * gwei) },
  eth_feeHistory: history([0.5, 0, 0.9, 1], [4n, 0n, 7n, 5n]),
};

async function nodeThatSays(change: Answers, hijack?: FakeNodeOptions["hijack"]) {
  const answers = { ...whole, ...change };
  const answer = ({ method }: RpcCall): FakeAnswer => answers[method] ?? missing;
  const fake = await fakeNode(hijack === undefined ? { answer } : { answer, hijack });
  return { fake, nodes: nodesOf([fake.url], { confirmations: 1 }) };
}

const refusedBy =
  (status: number, body = "method not allowed"): FakeNodeOptions["hijack"] =>
  (calls, response) => {
    if (calls.every(({ method }) => method !== "eth_maxPriorityFeePerGas")) return false;
    response.writeHead(status).end(body);
    return true;
  };

describe("the tip of one node", () => {
  it("is its own answer where it has one, and nothing else is asked", async () => {
    const { fake, nodes } = await nodeThatSays({});
    expect((await nodes.fees()).maxPriorityFeePerGas).toBe(gwei);
    expect([fake.count("eth_gasPrice"), fake.count("eth_feeHistory")]).toEqual([0, 0]);
  });

  const lacking: readonly (readonly [string, Answers, bigint])[] = [
    ["the price of gas without its base fee", { eth_maxPriorityFeePerGas: missing }, 3n],
    ["the price where its own answer is null", { eth_maxPriorityFeePerGas: { result: null } }, 3n],
    [
      "the middle reward of its newest blocks in use, where the price is the base fee alone",
      { eth_maxPriorityFeePerGas: missing, eth_gasPrice: { result: quantity(10n * gwei) } },
      5n,
    ],
    [
      "the same where it names no price",
      { eth_maxPriorityFeePerGas: missing, eth_gasPrice: missing },
      5n,
    ],
    [
      "nothing where its price is the base fee and it has no history",
      {
        eth_maxPriorityFeePerGas: missing,
        eth_gasPrice: { result: quantity(10n * gwei) },
        eth_feeHistory: missing,
      },
      0n,
    ],
    [
      "nothing where its newest blocks are empty",
      {
        eth_maxPriorityFeePerGas: missing,
        eth_gasPrice: missing,
        eth_feeHistory: history([0, 0], [0n, 0n]),
      },
      0n,
    ],
  ];

  it.each(lacking)("the tip of a node without the question is %s", async (_, change, tip) => {
    const { nodes } = await nodeThatSays(change);
    expect((await nodes.fees()).maxPriorityFeePerGas).toBe(tip * gwei);
  });

  it.each([400, 403, 404, 405, 501])(
    "a node that refuses the question by HTTP status %i is asked in the other way",
    async (status) => {
      const { nodes } = await nodeThatSays({}, refusedBy(status));
      expect((await nodes.fees()).maxPriorityFeePerGas).toBe(3n * gwei);
    },
  );

  it("a method that a node lacks is asked for again now and then alone", async () => {
    const { fake, nodes } = await nodeThatSays({ eth_maxPriorityFeePerGas: missing });
    for (let time = 0; time < 66; time += 1) await nodes.fees();
    expect([fake.count("eth_maxPriorityFeePerGas"), fake.count("eth_gasPrice")]).toEqual([2, 66]);
  });

  it("a node that tells it in no way fails by its first refusal", async () => {
    const all = {
      eth_maxPriorityFeePerGas: missing,
      eth_gasPrice: missing,
      eth_feeHistory: missing,
    };
    const { fake, nodes } = await nodeThatSays(all);
    expect(await codeOf(nodes.fees())).toBe("NODE_ERROR");
    expect(await codeOf(nodes.fees())).toBe("NODE_ERROR");
    expect(fake.count("eth_feeHistory")).toBe(2);
  });
});
