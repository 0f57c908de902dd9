/**
 * Answers of chain nodes: a status and a text, through the JSON-RPC envelope into typed answers.
 */
import { readBlock, readFoundLogs, readHead, readReceipt } from "../../../chains/evm/answers.ts";
import { readEnvelopes } from "../../../chains/evm/rpc-envelope.ts";
import type { SeededRandom } from "../../kit/seeded.ts";
import { malformedText } from "../malform.ts";
import { bytes, codeOr, must, type Target, textOf } from "../target.ts";
import { hotWallet, receiver } from "./honest.ts";

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const log = {
  ...{
    address: receiver,
    topics: [hash("a"), hash("b")],
    data: "0x00ff",
    logIndex: "0x0",
    blockNumber: "0x10",
  },
  ...{ blockHash: hash("c"), transactionHash: hash("d"), removed: false },
};
const transaction = {
  hash: hash("d"),
  from: hotWallet,
  nonce: "0x5",
  to: receiver,
  value: "0xde0b6b3a7640000",
  input: "0x",
};
const block = {
  number: "0x10",
  hash: hash("c"),
  parentHash: hash("e"),
  timestamp: "0x65000000",
  baseFeePerGas: "0x7",
  transactions: [transaction],
};
const receipt = {
  ...{
    transactionHash: hash("d"),
    blockNumber: "0x10",
    blockHash: hash("c"),
    status: "0x1",
    from: hotWallet,
    to: null,
  },
  ...{ gasUsed: "0x5208", effectiveGasPrice: "0x3b9aca00", logs: [log] },
};

type NumberReader = (result: unknown) => { readonly number: number; readonly asSaid: unknown };

/** Each reader beside one plain number that it read, and where the node said that number. */
const readers: Readonly<Record<string, NumberReader>> = {
  h: (result) => ({ number: readHead(result).number, asSaid: (result as typeof block).number }),
  b: (result) => ({
    number: readBlock(result, true).number,
    asSaid: (result as typeof block).number,
  }),
  r: (result) => ({
    number: readReceipt(result).blockNumber,
    asSaid: (result as typeof receipt).blockNumber,
  }),
  l: (result) => {
    const read = readFoundLogs(result).map((found) => found.read());
    const said = (result as readonly (typeof log)[]).filter(({ removed }) => removed !== true);
    must(read.length === said.length, "a log was lost");
    return { number: read[0]?.blockNumber ?? 0, asSaid: said[0]?.blockNumber ?? "0x0" };
  },
};
const results: Readonly<Record<string, unknown>> = {
  h: block,
  b: block,
  r: receipt,
  l: [log, { ...log, removed: true }],
};
const answered = (result: unknown): object => ({ jsonrpc: "2.0", id: 1, result });

const refusals: readonly string[] = ["NODE_ANSWER", "CHAIN_NO_EIP1559"];

/** A letter that names the reader, then the body. */
export const answers: Target = {
  name: "answers",
  words: [
    "h",
    "b",
    "r",
    "l",
    '"result":',
    '"error":{"code":-32000,"message":"x"}',
    '"id":1',
    '"id":null',
    "0x",
    "null",
    '"removed":true',
    '"__proto__":{}',
  ],
  seeds: [
    ...Object.entries(results).map(([letter, result]) =>
      bytes(letter + JSON.stringify(answered(result))),
    ),
    bytes(
      `b${JSON.stringify([answered(block), { ...answered(block), id: 2 }, { jsonrpc: "2.0", id: 2, error: { code: -1, message: "no\u0007" } }])}`,
    ),
  ],
  make(random: SeededRandom) {
    const [letter, result] = random.pick(Object.entries(results));
    const body = random.chance(4)
      ? [answered(result), answered(random.pick(Object.values(results)))]
      : answered(result);
    return bytes(letter + malformedText(body, random));
  },
  run(input) {
    const reader = readers[String.fromCharCode(input[0] ?? 0)];
    if (reader === undefined) return;
    const read = readEnvelopes(200, textOf(input.subarray(1)));
    must(
      !readEnvelopes(200, "").ok && (read.ok || read.code === "NODE_ANSWER"),
      "an unreadable answer has another code",
    );
    if (!read.ok) return;
    for (const envelope of read.byId.values()) {
      if (!envelope.ok) {
        must(
          envelope.message.length <= 300 && /^[\x20-\x7e]*$/.test(envelope.message),
          "a node's words reach an operator as they came",
        );
        continue;
      }
      const given = codeOr(() => reader(envelope.result));
      // A block without a base fee is whole, and of a chain from before EIP-1559.
      if ("code" in given) must(refusals.includes(given.code), `refused with ${given.code}`);
      else
        must(
          BigInt(String(given.value.asSaid)) === BigInt(given.value.number),
          "a number was read differently",
        );
    }
  },
  shapes: {
    logs: {
      from: 60,
      of: (size) => bytes(`l${JSON.stringify(answered(Array.from({ length: size }, () => log)))}`),
    },
    transactions: {
      from: 60,
      of: (size) =>
        bytes(
          `b${JSON.stringify(answered({ ...block, transactions: Array.from({ length: size }, () => transaction) }))}`,
        ),
    },
    batch: {
      from: 60,
      of: (size) =>
        bytes(
          `h${JSON.stringify(Array.from({ length: size }, (_, id) => ({ ...answered(block), id })))}`,
        ),
    },
    data: {
      from: 4_000,
      of: (size) =>
        bytes(`l${JSON.stringify(answered([{ ...log, data: `0x${"00".repeat(size)}` }]))}`),
    },
  },
};
