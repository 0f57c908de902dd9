/**
 * A look at a node of Tron finds by receipts if the node keeps internal transactions, because no
 * answer of the node says so. Reports: tronprotocol/java-tron #3064, #3152, #6119, #6284.
 */
import { describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { nodeFindings } from "../../chains/node-findings.ts";
import type { MissingAnswer, NodeView } from "../../chains/nodes.ts";
import { findMissingAnswers } from "../../chains/tron/node-probe.ts";
import type { NodePool, Question } from "../../chains/tron/node-wire.ts";

const newest = 1_000;

interface Behind {
  readonly callsInBlock: number;
  /** The block whose first call has an internal entry; 0 for none. */
  readonly entryAt: number;
  readonly fails?: boolean; // receipts below the newest block
}

function receipts({ callsInBlock, entryAt }: Behind, number: number): readonly object[] {
  const id = "ab".repeat(32);
  const coins = { id, blockNumber: number, receipt: { net_usage: 268 } };
  const calls = Array.from({ length: callsInBlock }, (_, at) => ({
    ...{ id, blockNumber: number, receipt: { result: "SUCCESS" } },
    ...(number === entryAt && at === 0
      ? { internal_transactions: [{ note: "63616c6c", callValueInfo: [{}] }] }
      : {}),
  }));
  return [coins, ...calls];
}

/** The lacks of a node with such blocks, and the blocks whose receipts it was asked for. */
async function lookAt(
  behind: Behind,
): Promise<{ readonly lacks: readonly MissingAnswer[]; readonly asked: readonly number[] }> {
  const asked: number[] = [];
  const hash = `${newest.toString(16).padStart(16, "0")}${"cd".repeat(24)}`;
  const block = {
    blockID: hash,
    block_header: { raw_data: { number: newest, timestamp: 1, parentHash: "00".repeat(32) } },
    transactions: [],
  };
  const answer = (path: string, fields: Readonly<Record<string, unknown>>): unknown => {
    if (path.endsWith("/gettransactioninfobyblocknum")) {
      if (path.startsWith("/walletsolidity/")) asked.push(Number(fields.num));
      if (behind.fails === true && fields.num !== newest)
        throw new AgentError("NODE_TIMEOUT", "none", "no answer");
      return receipts(behind, Number(fields.num));
    }
    if (path.endsWith("/getblock") || path.endsWith("/getblockbynum")) return block;
    if (path.endsWith("/getaccount")) return {};
    return {
      chainParameter: [
        { key: "getTransactionFee", value: 1000 },
        { key: "getEnergyFee", value: 100 },
      ],
    };
  };
  const pool = {
    nodes: [{ rpc: { origin: "http://node" } }],
    ask: async (_: unknown, { path, fields, read }: Question<unknown>) =>
      read(answer(path, fields)),
  } as unknown as NodePool;
  const lacks = await findMissingAnswers(pool, []);
  return { lacks: lacks.filter(({ neededBy }) => neededBy === "deposits"), asked };
}

describe("a look at a node of Tron", () => {
  it("finds that the node keeps no internal transactions, once two hundred calls had none", async () => {
    const { lacks, asked } = await lookAt({ callsInBlock: 60, entryAt: 0 });
    expect(lacks).toMatchObject([
      {
        ...{ code: "CHECK_INTERNAL", question: "internal transactions", isOptional: false },
        words: "none with 240 calls of contracts in blocks 997 to 1000: set vm.saveInternalTx",
      },
    ]);
    expect(asked).toEqual([1000, 999, 998, 997]);
    const view: NodeView = {
      ...{
        url: "http://node",
        code: "",
        detail: "",
        block: newest,
        blockAtMs: 1,
        blockMs: null,
        lacks,
        tokens: [],
      },
    } as NodeView;
    expect(
      nodeFindings("tron", { family: "tron", chainId: "0x2b6653dc" }, [view], 1, "NODE_LAG"),
    ).toMatchObject([
      {
        ...{ code: "CHECK_INTERNAL", severity: "warning" },
        what: "http://node of tron does not answer internal transactions, which deposits need: none with 240 calls of contracts in blocks 997 to 1000: set vm.saveInternalTx",
      },
    ]);
  });

  it("one entry in any of the blocks is enough, and then no further block is asked for", async () => {
    expect(await lookAt({ callsInBlock: 60, entryAt: 998 })).toEqual({
      lacks: [],
      asked: [1000, 999, 998],
    });
    expect(await lookAt({ callsInBlock: 60, entryAt: newest })).toEqual({
      lacks: [],
      asked: [1000],
    });
  });

  it("says nothing of a quiet chain, nor of a node that gives no older receipts", async () => {
    const quiet = await lookAt({ callsInBlock: 5, entryAt: 0 });
    expect([quiet.lacks, quiet.asked.length]).toEqual([[], 20]);
    expect(await lookAt({ callsInBlock: 60, entryAt: 0, fails: true })).toEqual({
      lacks: [],
      asked: [1000, 999],
    });
  });
});
