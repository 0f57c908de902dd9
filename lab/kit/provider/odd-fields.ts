/**
 * Fields of EVM answers that readers stumbled over: transactions of rollups that have no nonce, no
 * fee and no signature, receipts without a price, padded quantities, addresses in capitals, a
 * logsBloom of zeros. Each changes how an answer is written, never what it says of anybody's coins.
 */
import type { FakeAnswer, RpcCall } from "../fake-node.ts";
import { behindAt, type OddField, type Profile } from "./profile.ts";
import type { EvmView } from "./view.ts";

type Fields = Readonly<Record<string, unknown>>;

const hexOf = (number: number): string => `0x${number.toString(16)}`;
const quantityNames = new Set([
  ...[
    "number",
    "nonce",
    "value",
    "gas",
    "gasPrice",
    "blockNumber",
    "gasUsed",
    "status",
    "logIndex",
    "timestamp",
  ],
  ...[
    "effectiveGasPrice",
    "baseFeePerGas",
    "type",
    "transactionIndex",
    "cumulativeGasUsed",
    "gasLimit",
  ],
]);
const quantityMethods = new Set([
  "eth_getBalance",
  "eth_getTransactionCount",
  "eth_blockNumber",
  "eth_gasPrice",
  "eth_chainId",
]);
const addressNames = new Set(["from", "to", "address", "miner", "contractAddress"]);

interface Outsider {
  readonly type: string;
  readonly from: string;
  readonly to: string;
  readonly more: Fields;
}

const arbitrumSystem = "0x00000000000000000000000000000000000a4b05";
const outsiders: Readonly<Partial<Record<OddField, readonly Outsider[]>>> = {
  "op-deposit": [
    {
      ...{ type: "0x7e", from: "0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001" },
      to: "0x4200000000000000000000000000000000000015",
      more: {
        sourceHash: `0x${"5c".repeat(32)}`,
        isSystemTx: false,
        gas: "0xf4240",
        input: "0x440a5e20",
      },
    },
  ],
  arbitrum: [
    {
      ...{ type: "0x6a", from: arbitrumSystem, to: arbitrumSystem },
      more: { chainId: "0xa4b1", nonce: "0x0", gas: "0x0", gasPrice: "0x0", input: "0x6bf6a42d" },
    },
    {
      ...{ type: "0x69", from: "0xb8787d8f23e176a5d32135d746b69886e03313be" },
      to: "0x000000000000000000000000000000000000006e",
      more: {
        requestId: `0x${"11".repeat(32)}`,
        retryTo: null,
        maxRefund: "0x1",
        gas: "0x186a0",
        input: "0xc9f95d32",
      },
    },
    {
      ...{ type: "0x65", from: "0x5d3919f12bcc35c26eee5f8226a9bee90c257ccc" },
      to: "0x0000000000000000000000000000000000000064",
      more: { gas: "0x186a0", gasPrice: "0x3b9aca00", input: "0x" },
    },
  ],
};

function outsidersOf({ odd = [] }: Profile): readonly Outsider[] {
  return odd.flatMap((one) => outsiders[one] ?? []);
}

/** The type, then the block: a hash that names both. */
function hashOf({ type }: Outsider, block: number): string {
  return `${type}${block.toString(16).padStart(62, "0")}`;
}

/** A transaction that the odd fields put into a block: its block, and its receipt there. */
export interface OutsiderFound {
  readonly number: number;
  readonly receiptIn: (block: Fields) => Fields;
}

/** Null for a hash that no odd field made. */
export function outsiderFound(profile: Profile, hash: string): OutsiderFound | null {
  const all = outsidersOf(profile);
  const at = all.findIndex(({ type }) => hash.startsWith(`${type}${"0".repeat(50)}`));
  const one = all[at];
  if (one === undefined) return null;
  return {
    number: Number(`0x${hash.slice(-12)}`),
    receiptIn: (block) => receiptOf(one, at, block),
  };
}

/** The receipt of such a transaction, once the backend has its block; null for any other. */
export function outsiderReceipt(view: EvmView, hash: string): Promise<FakeAnswer> | null {
  const found = outsiderFound(view.profile, hash);
  return found === null ? null : readReceipt(view, found);
}

async function readReceipt(
  view: EvmView,
  { number, receiptIn }: OutsiderFound,
): Promise<FakeAnswer> {
  const top = view.head - behindAt(view.profile, view.backend, view.head);
  const answer =
    number > top
      ? { result: null }
      : await view.ask("eth_getBlockByNumber", [hexOf(number), false]);
  if (!("result" in answer) || answer.result === null) return { result: null };
  return { result: receiptIn(answer.result as Fields) };
}

function receiptOf(one: Outsider, at: number, { number, hash }: Fields): Fields {
  const { type, from, to } = one;
  return {
    ...{
      transactionHash: hashOf(one, Number(number)),
      blockNumber: number,
      blockHash: hash,
      status: "0x1",
      type,
      from,
      to,
    },
    ...{
      transactionIndex: hexOf(at),
      gasUsed: "0x0",
      cumulativeGasUsed: "0x0",
      contractAddress: null,
      logs: [],
    },
    ...{
      logsBloom: `0x${"00".repeat(256)}`,
      ...(type === "0x7e" ? { depositNonce: "0x2efae9e" } : { l1BlockNumber: "0x1" }),
    },
  };
}

function transactionOf(one: Outsider, at: number, { number, hash }: Fields): Fields {
  const { type, from, to, more } = one;
  const place = { blockNumber: number, blockHash: hash, transactionIndex: hexOf(at) };
  return { type, hash: hashOf(one, Number(number)), from, to, value: "0x0", ...more, ...place };
}

/** The answer as this provider writes it. */
export function malform(view: EvmView, { method, params }: RpcCall, result: unknown): unknown {
  const { odd = [] } = view.profile;
  if (odd.length === 0 || result === null) return result;
  const isFull = params[1] === true;
  const told = method.startsWith("eth_getBlockBy")
    ? withOutsiders(view, result as Fields, isFull)
    : method === "eth_getBlockReceipts"
      ? withReceipts(view, result as readonly Fields[])
      : isPlaced(method)
        ? shifted(result, outsidersOf(view.profile).length)
        : result;
  const priced = odd.includes("no-price") ? withoutPrice(view, told) : told;
  if (!odd.some((one) => one === "leading-zeros" || one === "upper-case")) return priced;
  if (typeof priced === "string")
    return odd.includes("leading-zeros") && quantityMethods.has(method) ? padded(priced) : priced;
  return rewritten(priced, "", odd);
}

function isPlaced(method: string): boolean {
  return (
    method === "eth_getTransactionReceipt" ||
    method === "eth_getTransactionByHash" ||
    method === "eth_getLogs"
  );
}

function withOutsiders(view: EvmView, block: Fields, isFull: boolean): Fields {
  const all = outsidersOf(view.profile);
  const bloom =
    view.profile.odd?.includes("zero-bloom") === true ? { logsBloom: `0x${"00".repeat(256)}` } : {};
  if (all.length === 0 || block.number === "0x0") return { ...block, ...bloom };
  const { transactions = [] } = block as { transactions?: readonly unknown[] };
  const first = all.map((one, at) =>
    isFull ? transactionOf(one, at, block) : hashOf(one, Number(block.number)),
  );
  return {
    ...block,
    ...bloom,
    transactions: [
      ...first,
      ...(isFull ? (shifted(transactions, all.length) as unknown[]) : transactions),
    ],
  };
}

function withReceipts(view: EvmView, receipts: readonly Fields[]): readonly unknown[] {
  const all = outsidersOf(view.profile);
  const [first] = receipts;
  if (all.length === 0 || first === undefined) return receipts;
  const block = { number: first.blockNumber, hash: first.blockHash };
  return [
    ...all.map((one, at) => receiptOf(one, at, block)),
    ...(shifted(receipts, all.length) as unknown[]),
  ];
}

/** Places behind the transactions that were put first. */
function shifted(value: unknown, by: number): unknown {
  if (by === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => shifted(one, by));
  const fields = value as Fields;
  const { transactionIndex, logs, type } = fields;
  if (
    ["0x7e", "0x6a", "0x69", "0x65"].includes(String(type)) ||
    typeof transactionIndex !== "string"
  )
    return value;
  const moved = { ...fields, transactionIndex: hexOf(Number(transactionIndex) + by) };
  return logs === undefined ? moved : { ...moved, logs: shifted(logs, by) };
}

/** The provider keeps the price of what was sent through it: nobody reported such a loss. */
function withoutPrice({ isOurs }: EvmView, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutPriceOf(one as Fields, isOurs));
  return typeof value === "object" && value !== null
    ? withoutPriceOf(value as Fields, isOurs)
    : value;
}

function withoutPriceOf(fields: Fields, isOurs: (hash: string) => boolean): Fields {
  const { effectiveGasPrice, ...others } = fields;
  return effectiveGasPrice === undefined || isOurs(String(fields.transactionHash))
    ? fields
    : others;
}

function rewritten(value: unknown, name: string, odd: readonly OddField[]): unknown {
  if (Array.isArray(value)) return value.map((one) => rewritten(one, name, odd));
  if (typeof value === "string") {
    if (odd.includes("leading-zeros") && quantityNames.has(name)) return padded(value);
    return odd.includes("upper-case") && addressNames.has(name)
      ? `0x${value.slice(2).toUpperCase()}`
      : value;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, rewritten(one, key, odd)]),
  );
}

function padded(text: string): string {
  return /^0x[0-9a-f]+$/.test(text) && text.length % 2 === 1 ? `0x0${text.slice(2)}` : text;
}
