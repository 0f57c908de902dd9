/**
 * A chain node for the bench: answers the JSON-RPC calls that agent and plain build make, accepts
 * every transaction and puts it in the next block. It costs as little as possible, since it shares
 * the machine with what is measured.
 */
import { keccak_256 } from "@noble/hashes/sha3";

const hexOf = (value: number | bigint): string => `0x${value.toString(16)}`;
const blockHashes: string[] = [];
const hashOf = (text: string): string => `0x${Buffer.from(keccak_256(text)).toString("hex")}`;
const blockHashOf = (number: number): string => {
  blockHashes[number] ??= hashOf(`block ${number}`);
  return blockHashes[number];
};
const rich = `0x${(10n ** 30n).toString(16).padStart(64, "0")}`;

interface BenchChain {
  /** Answers one JSON-RPC body, single or batch. */
  answer(body: string): string;
  /** Makes a block of everything received since the last. */
  mine(): void;
  /** Called with each raw transaction when it arrives for the first time. */
  onRaw: (raw: string) => void;
}

interface MinedTransaction {
  readonly block: number;
  readonly from: string;
  readonly to: string;
}

/** `account` is the one that pays; its count follows what was received. */
export function createBenchChain(chainId: number, account: () => string): BenchChain {
  const known = new Map<string, MinedTransaction | null>();
  let waiting: string[] = [];
  let height = 10;
  let minedCount = 0;
  const blockOf = (number: number) => ({
    number: hexOf(number),
    hash: blockHashOf(number),
    parentHash: blockHashOf(number - 1),
    timestamp: hexOf(1_800_000_000 + number),
    baseFeePerGas: "0x3b9aca00",
    gasLimit: "0x1c9c380",
    gasUsed: "0x0",
    miner: `0x${"00".repeat(20)}`,
    extraData: "0x",
    nonce: "0x0000000000000000",
    difficulty: "0x0",
    transactions: [],
  });
  const numberOf = (tag: unknown): number =>
    typeof tag === "string" && tag.startsWith("0x") ? Number(BigInt(tag)) : height;
  const receiptOf = (hash: string) => {
    const mined = known.get(hash);
    if (mined === undefined || mined === null) return null;
    return {
      transactionHash: hash,
      transactionIndex: "0x0",
      blockNumber: hexOf(mined.block),
      blockHash: blockHashOf(mined.block),
      from: mined.from,
      to: mined.to,
      status: "0x1",
      type: "0x2",
      gasUsed: "0x5208",
      cumulativeGasUsed: "0x5208",
      effectiveGasPrice: "0x3b9aca00",
      contractAddress: null,
      logsBloom: `0x${"00".repeat(256)}`,
      logs: [],
    };
  };
  const chain: BenchChain = {
    onRaw: () => undefined,
    mine() {
      height += 1;
      for (const hash of waiting)
        known.set(hash, { block: height, from: account(), to: `0x${"11".repeat(20)}` });
      minedCount += waiting.length;
      waiting = [];
    },
    answer(body) {
      const asked = JSON.parse(body) as
        | { id: unknown; method: string; params?: unknown[] }
        | { id: unknown; method: string; params?: unknown[] }[];
      const one = (call: { id: unknown; method: string; params?: unknown[] }) => ({
        jsonrpc: "2.0",
        id: call.id,
        result: result(call.method, call.params ?? []),
      });
      return JSON.stringify(Array.isArray(asked) ? asked.map(one) : one(asked));
    },
  };
  function receive(raw: string): string {
    const hash = `0x${Buffer.from(keccak_256(Buffer.from(raw.slice(2), "hex"))).toString("hex")}`;
    if (!known.has(hash)) {
      known.set(hash, null);
      waiting.push(hash);
      chain.onRaw(raw);
    }
    return hash;
  }
  function result(method: string, params: unknown[]): unknown {
    switch (method) {
      case "eth_chainId":
        return hexOf(chainId);
      case "net_version":
        return String(chainId);
      case "eth_blockNumber":
        return hexOf(height);
      case "eth_getBlockByNumber":
        return blockOf(numberOf(params[0]));
      case "eth_getBlockByHash":
        return blockOf(height);
      case "eth_getTransactionCount":
        return hexOf(params[1] === "pending" ? minedCount + waiting.length : minedCount);
      case "eth_getBalance":
        return hexOf(10n ** 30n);
      case "eth_call":
        return rich;
      case "eth_estimateGas":
        return "0x5208";
      case "eth_gasPrice":
        return "0x77359400";
      case "eth_maxPriorityFeePerGas":
        return "0x3b9aca00";
      case "eth_feeHistory":
        return {
          oldestBlock: hexOf(height),
          baseFeePerGas: ["0x3b9aca00", "0x3b9aca00"],
          gasUsedRatio: [0.5],
          reward: [["0x3b9aca00"]],
        };
      case "eth_getCode":
        return "0x";
      case "eth_getLogs":
        return [];
      case "eth_sendRawTransaction":
        return receive(params[0] as string);
      case "eth_getTransactionReceipt":
        return receiptOf(params[0] as string);
      default:
        return null;
    }
  }
  return chain;
}
