/**
 * The chain as one backend of a provider shows it: what lies above its head it lacks, as real nodes
 * lack it (`[]` for logs of a range, null for a block, an error for a block's hash), what it has
 * pruned it refuses, and its odd fields stand in what it answers. Asks the chain through `ask` and
 * changes nothing there. Source: the reports that the profiles name.
 */
import type { FakeAnswer, RpcCall } from "../fake-node.ts";
import { refusedBy, type WordedRefusal } from "./meter.ts";
import { malform, outsiderReceipt } from "./odd-fields.ts";
import { behindAt, type Profile, wordsOf } from "./profile.ts";
import type { Ask, EvmView } from "./view.ts";

interface Filter {
  readonly fromBlock?: string;
  readonly toBlock?: string;
  readonly blockHash?: string;
  readonly topics?: readonly (string | readonly string[] | null)[];
}

type Fields = Readonly<Record<string, unknown>>;

/** The place of the block in the parameters of each method. */
const blockPlaces: Readonly<Record<string, number>> = {
  eth_getBlockByNumber: 0,
  eth_getBlockReceipts: 0,
  eth_getBalance: 1,
  eth_getTransactionCount: 1,
  eth_getCode: 1,
  eth_call: 1,
  eth_estimateGas: 1,
  eth_getStorageAt: 2,
};
const stateMethods = new Set([
  "eth_getBalance",
  "eth_getTransactionCount",
  "eth_getCode",
  "eth_call",
  "eth_getStorageAt",
]);
const unknownBlock: FakeAnswer = { error: { code: -32_000, message: "unknown block" } };
const noHeader: FakeAnswer = { error: { code: -32_000, message: "header not found" } };
const prunedWords =
  "missing trie node 7c2e0c4f (path ) state 0x7c2e0c4f is not available, not found";

const hexOf = (number: number): string => `0x${number.toString(16)}`;

/** The refusal of one call by itself, before it is answered; null where it is let through. */
export function refusedCall(
  { limits, missing, noFinalized }: Profile,
  { method, params }: RpcCall,
): WordedRefusal | null {
  if (missing?.methods.includes(method) === true)
    return {
      refusal: missing.refusal,
      words: wordsOf(missing.refusal).replaceAll("{method}", method),
    };
  const tag = params[blockPlaces[method] ?? -1];
  if (noFinalized !== undefined && (tag === "finalized" || tag === "safe"))
    return { refusal: noFinalized, words: wordsOf(noFinalized) };
  if (method !== "eth_getLogs") return null;
  const { fromBlock, toBlock, topics = [] } = params[0] as Filter;
  const { rangeBlocks, filterTopics } = limits ?? {};
  const blocks = Number(toBlock ?? 0) - Number(fromBlock ?? 0) + 1;
  if (rangeBlocks !== undefined && fromBlock !== undefined && blocks > rangeBlocks.most)
    return refusedBy(rangeBlocks, blocks);
  const widest = Math.max(0, ...topics.map((one) => (Array.isArray(one) ? one.length : 1)));
  return filterTopics !== undefined && widest > filterTopics.most
    ? refusedBy(filterTopics, widest)
    : null;
}

/** The refusal of an answer that is too much; null where it is sent. */
export function refusedAnswer(
  { limits }: Profile,
  method: string,
  result: unknown,
): WordedRefusal | null {
  const most = limits?.resultLogs;
  if (most === undefined || method !== "eth_getLogs" || !Array.isArray(result)) return null;
  return result.length > most.most ? refusedBy(most, result.length) : null;
}

export async function answerOf(view: EvmView, call: RpcCall): Promise<FakeAnswer> {
  const answer = await honest(view, call);
  return "result" in answer
    ? { result: lied(view, call, malform(view, call, answer.result)) }
    : answer;
}

async function honest(view: EvmView, { method, params }: RpcCall): Promise<FakeAnswer> {
  const { ask, profile, backend } = view;
  const top = view.head - behindAt(profile, backend, view.head);
  switch (method) {
    case "eth_blockNumber":
      return { result: hexOf(top) };
    case "eth_getLogs":
      return logs(view, params[0] as Filter, top);
    case "eth_getTransactionReceipt":
      return outsiderReceipt(view, String(params[0])) ?? upTo(await ask(method, params), top);
    case "eth_getTransactionByHash":
    case "eth_getBlockByHash":
      return upTo(await ask(method, params), top);
  }
  const place = blockPlaces[method];
  const tag = place === undefined ? undefined : params[place];
  if (place === undefined || typeof tag !== "string") return ask(method, params);
  const number = await resolved(ask, tag, top, view.head);
  if (number === null) return ask(method, params);
  if (number > top) return method.startsWith("eth_getBlock") ? { result: null } : noHeader;
  if (stateMethods.has(method) && isPruned(view, top - number)) return pruned(profile);
  return ask(
    method,
    params.map((one, at) => (at === place ? hexOf(number) : one)),
  );
}

/** Null: the tag is left as it is, since the backend has the chain's own head. */
async function resolved(ask: Ask, tag: string, top: number, head: number): Promise<number | null> {
  if (tag.startsWith("0x")) return Number(tag);
  if (top === head) return null;
  if (tag === "latest" || tag === "pending") return top;
  if (tag === "earliest") return 0;
  const answer = await ask("eth_getBlockByNumber", [tag, false]);
  const number = "result" in answer ? Number((answer.result as Fields | null)?.number ?? 0) : 0;
  return Math.max(0, number - (head - top));
}

function isPruned({ profile, backend }: EvmView, below: number): boolean {
  const kept = backend.keepsState ?? profile.state?.blocks;
  return kept !== undefined && below > kept;
}

function pruned({ state }: Profile): FakeAnswer {
  const { code = -32_000, words = prunedWords } = state?.refusal ?? {};
  return { error: { code, message: words } };
}

/** Nothing of a block that the backend lacks. */
function upTo(answer: FakeAnswer, top: number): FakeAnswer {
  if (!("result" in answer) || answer.result === null) return answer;
  const { blockNumber, number } = answer.result as Fields;
  const at = blockNumber ?? number;
  return typeof at === "string" && Number(at) > top ? { result: null } : answer;
}

async function logs({ ask }: EvmView, filter: Filter, top: number): Promise<FakeAnswer> {
  if (filter.blockHash !== undefined) {
    const known = upTo(await ask("eth_getBlockByHash", [filter.blockHash, false]), top);
    return "result" in known && known.result === null ? unknownBlock : ask("eth_getLogs", [filter]);
  }
  const from = filter.fromBlock?.startsWith("0x") === true ? Number(filter.fromBlock) : 0;
  const to = filter.toBlock?.startsWith("0x") === true ? Number(filter.toBlock) : top;
  if (from > top) return { result: [] };
  return ask("eth_getLogs", [
    { ...filter, fromBlock: hexOf(from), toBlock: hexOf(Math.min(to, top)) },
  ]);
}

/** The lies of the one backend that tells them. */
function lied(
  { backend: { lies = [] }, head }: EvmView,
  { method, params }: RpcCall,
  result: unknown,
): unknown {
  if (lies.length === 0 || result === null) return result;
  if (lies.includes("amount") && method === "eth_getBalance")
    return `0x${(BigInt(String(result)) * 10n + 10n ** 18n).toString(16)}`;
  if (lies.includes("log") && method === "eth_getLogs")
    return [...(result as unknown[]), ...invented(params[0] as Filter, head)];
  const fields = result as Fields;
  if (lies.includes("success") && method === "eth_getTransactionReceipt" && fields.status === "0x0")
    return { ...fields, status: "0x1" };
  const isNew = method === "eth_getBlockByNumber" && Number(fields.number ?? 0) > head - 3;
  return lies.includes("other-hash") && isNew
    ? { ...fields, hash: `0x${"ab".repeat(32)}` }
    : result;
}

/** A transfer that never was, of a hundred dollars, to the first address that is asked for. */
function invented(
  filter: Filter & { readonly address?: string | readonly string[] },
  head: number,
): readonly unknown[] {
  const receivers = filter.topics?.[2];
  const to = typeof receivers === "string" ? receivers : receivers?.[0];
  const address = typeof filter.address === "string" ? filter.address : filter.address?.[0];
  if (to === undefined || address === undefined) return [];
  const blockNumber = filter.fromBlock ?? hexOf(head);
  return [
    {
      ...{
        address,
        topics: [filter.topics?.[0] ?? "", `0x${"0".repeat(63)}1`, to],
        data: `0x${(10n ** 8n).toString(16).padStart(64, "0")}`,
      },
      ...{
        blockNumber,
        blockHash: filter.blockHash ?? `0x${"cd".repeat(32)}`,
        transactionHash: `0x${"ef".repeat(32)}`,
      },
      ...{ transactionIndex: "0x0", logIndex: "0x0", removed: false },
    },
  ];
}
