/**
 * A look at one node puts every question of a payment and of a deposit, and names the questions
 * without an answer. Sources: ethereum/go-ethereum #16471 and #20874, ethereum-optimism/op-geth
 * #220, NethermindEth/nethermind #9408, 0xPolygon/bor #1303, paritytech/jsonrpsee #744,
 * bnb-chain/bsc #1215.
 */
import { afterEach, describe, expect, it } from "vitest";
import { lookAtNode } from "../../chains/connect.ts";
import { isPruned } from "../../chains/evm/node-wire.ts";
import { nodeFindings, severityOf } from "../../chains/node-findings.ts";
import type { NodeView } from "../../chains/nodes.ts";
import { FakeChain } from "../../lab/kit/fake-chain.ts";
import type { FakeAnswer } from "../../lab/kit/fake-node.ts";
import { type EvmFront, startEvmFront } from "../../lab/kit/provider/evm-front.ts";
import { evmProfiles } from "../../lab/kit/provider/evm-profiles.ts";

const token = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
const chain = { family: "evm", chainId: 31337, confirmations: 6 } as const;
const nowMs = Date.parse("2026-11-25T13:50:00Z");
let front: EvmFront | null = null;
afterEach(async () => {
  await front?.close();
  front = null;
});

/** The view of `--check` on a node behind a provider of this profile. */
async function seen(
  profileName: string,
  missing: readonly string[] = [],
  change: (method: string, answer: unknown) => unknown = (_, answer) => answer,
): Promise<NodeView> {
  const behind = new FakeChain(Math.floor(nowMs / 1000) - 40);
  behind.mineEmpty(17);
  behind.mine({ hash: `0x${"ab".repeat(32)}`, from: token, to: token, value: 1n });
  behind.mineEmpty(5);
  const extra: Readonly<Record<string, unknown>> = {
    ...{
      eth_estimateGas: "0x5208",
      eth_maxPriorityFeePerGas: "0x1",
      eth_gasPrice: "0x77359400",
      eth_blockNumber: `0x${behind.top.toString(16)}`,
    },
  };
  const ask = async (method: string, params: readonly unknown[]): Promise<FakeAnswer> => {
    if (missing.includes(method))
      return { error: { code: -32_601, message: `the method ${method} does not exist` } };
    return { result: change(method, extra[method] ?? behind.answer(method, params)) };
  };
  const plain = { name: "plain", family: "evm", isFit: true, sources: [] } as const;
  const profile = evmProfiles.find(({ name }) => name === profileName) ?? plain;
  front = await startEvmFront({ profile, chain: ask });
  return lookAtNode({ chain, url: front.url, contracts: [token], timeoutMs: 20_000 });
}

const findingsOf = (...views: NodeView[]) =>
  nodeFindings("local", chain, views, nowMs, "NODE_LAG").map(
    ({ code, severity, what }) => `${severity} ${code} ${what}`,
  );
const quiet = (view: NodeView): NodeView => ({ ...view, lacks: [] });

describe("a look at one node", () => {
  it("finds nothing where it answers all", async () => {
    const view = await seen("plain");
    expect(view.lacks).toEqual([]);
    expect(view.blockMs).toBe(1_000);
    expect(findingsOf(view)).toEqual([]);
  });

  it("finds a pruned state by the node's own words, an error where too few nodes are left", async () => {
    const view = await seen("state pruned below the final block");
    expect(view.lacks.map(({ code, question }) => [code, question])).toEqual([
      ["NODE_PRUNED", "a balance at the final block"],
      ["NODE_PRUNED", "a token's balance at the final block"],
      ["NODE_PRUNED", "the code of an address at the final block"],
      ["NODE_PRUNED", "a count at the final block"],
    ]);
    const [found, ...more] = findingsOf(view);
    expect(more).toEqual([
      expect.stringMatching(/^warning NODE_PRUNED .+ the code of an address at the final block/),
    ]);
    expect(found).toMatch(
      /^error NODE_PRUNED http:.+ of local does not answer a balance at the final block, a token's balance/,
    );
    expect(found).toMatch(/which payments and deposits need: missing trie node 1a3bddc4/);
    expect(findingsOf(view, quiet(view), quiet(view))[0]).toMatch(/^warning NODE_PRUNED /);
  });

  it("finds refused batches, which cost time alone", async () => {
    const view = await seen("no batches");
    expect(findingsOf(view)).toEqual([
      `warning CHECK_BATCH ${view.url} of local does not answer questions together, and is asked one by one then, which takes longer: HTTP status 400: batch requests are not supported by this server`,
    ]);
  });

  it("finds that the node keeps no logs", async () => {
    const view = await seen("no logs");
    expect(findingsOf(view)).toEqual([
      `error NODE_ERROR ${view.url} of local does not answer logs of the final block, which deposits need: limit exceeded`,
    ]);
  });

  it("finds a missing estimate, and a tip that has another way", async () => {
    const view = await seen("plain", ["eth_estimateGas", "eth_maxPriorityFeePerGas"]);
    expect(findingsOf(view)).toEqual([
      expect.stringMatching(
        /^error NODE_ERROR .+ does not answer an estimate of gas, which payments need: the method/,
      ),
      expect.stringMatching(
        /^warning NODE_ERROR .+ does not answer a tip, and has its tip taken from the price or the history of fees that it names: the method/,
      ),
    ]);
  });

  it("finds a chain whose plain payments take more than 21,000 gas, which no payment would offer", async () => {
    const view = await seen("plain", [], (method, answer) =>
      method === "eth_estimateGas" ? "0x2bf20" : answer,
    );
    expect(findingsOf(view)).toEqual([
      expect.stringMatching(
        /^error CHAIN_PLAIN_GAS .+ a plain payment takes 180000 gas there, and is offered 21000$/,
      ),
    ]);
  });

  it("finds a chain without a base fee, which is not supported", async () => {
    const view = await seen("plain", [], (method, answer) => {
      if (method !== "eth_getBlockByNumber" || answer === null) return answer;
      const { baseFeePerGas: _, ...block } = answer as Record<string, unknown>;
      return block;
    });
    expect([view.code, severityOf(view)]).toEqual(["CHAIN_NO_EIP1559", "error"]);
    expect([
      (await seen("plain")).code,
      severityOf({ code: "" }),
      severityOf({ code: "NODE_TIMEOUT" }),
    ]).toEqual([...["", "warning", "warning"]]);
  });

  it("finds a newest block that is too old", async () => {
    const view = await seen("plain");
    expect(findingsOf({ ...view, blockAtMs: nowMs - 31_000 })).toEqual([
      `warning NODE_STALE ${view.url} of local shows no block newer than 23, of 13:49:29 UTC, 31 s ago`,
    ]);
  });
});

describe("nodes of one chain", () => {
  it("are held against the best of them", async () => {
    const view = await seen("plain");
    const behind = {
      ...view,
      url: "http://behind",
      block: view.block - 40,
      blockAtMs: view.blockAtMs - 40_000,
    };
    expect(findingsOf(view, behind)).toEqual([
      `warning NODE_LAG http://behind of local is 40 blocks and 40 s behind ${view.url}`,
    ]);
    expect(
      findingsOf(view, { ...behind, block: view.block - 29, blockAtMs: view.blockAtMs - 29_000 }),
    ).toEqual([]);
  });
});

describe("a state that is gone", () => {
  const gone = [
    "missing trie node c6ebfa185e24 (path ) state 0xc6ebfa185e24 is not available, not found",
    "Nethermind.Trie.MissingTrieNodeException: Node A: P:2 H:0x992eacd1 is missing from the DB",
    "required historical state unavailable (reexec=128)",
    "World state unavailable",
    "historical state 0xabc is not available",
    "old data not available due to pruning",
    "state at block #19000000 is pruned",
  ];
  it.each(gone)("is known by the words: %s", (words) => expect(isPruned(words)).toBe(true));
  it.each([
    "execution reverted: the state is closed",
    "header not found",
    "insufficient funds",
    "state override",
  ])("is not known by the words: %s", (words) => expect(isPruned(words)).toBe(false));
});
