/**
 * Judges if the nodes of a chain are reliable, and gives the problem in plain words: a node is out,
 * refuses, has no quota left, stands still, lags or was rolled back. One judgement serves the
 * gateway's /ready, the agent's status, metrics and alerts. Pure: times are passed in.
 */
import type { Code } from "../base/codes.ts";
import type { ConfiguredChain } from "./family.ts";
import type { HeadView, NodeStatus } from "./nodes.ts";
import { chainPresets } from "./presets.ts";

export interface NodeHealth {
  readonly url: string; // scheme, host and port only
  readonly code: Code | ""; // "" for a node without a problem, or not asked yet
  readonly words: string; // its problem, after its name as the subject; "" with the code ""
  readonly plain: string; // the same without any text of the node
  readonly since: number; // Unix milliseconds, 0 with the code ""
  readonly isUsable: boolean;
  readonly lagBlocks: number | null; // behind the best node of the chain
  readonly headAgeMs: number | null; // age of its newest block when last shown, by that block's own time
}

export interface ChainHealth {
  readonly code: Code | ""; // the reason why the chain cannot be used, "" if it can
  readonly words: string; // a sentence for the operator; "" with the code ""
  readonly plain: string; // the same without a node's address or text
  readonly limitMs: number; // a head older than this is too old
  readonly headAgeMs: number | null; // age of the newest block that any node showed
  readonly nodes: readonly NodeHealth[]; // in the order given
}

/** A warning comes after this number of block times, and never before this time. */
const blocksMax = 10;
const limitMsMin = 30_000;
/**
 * Without a preset: the limit before two blocks of the chain were seen, and the highest limit that
 * an estimate may give.
 */
const blockMsUnknown = 12_000;
const blockMsMax = 60_000;
/**
 * A node that is out for a shorter time does not count as a problem: the next question may be
 * answered.
 */
const outMsMin = 5_000;
const dayMs = 72_000_000;

/** The usual time between two blocks by the preset of this network; null if it has no preset. */
export function presetBlockMs({ family, chainId }: Pick<ConfiguredChain, "family" | "chainId">): number | null {
  const isIt = ({ lines }: { readonly lines: { readonly family: string; readonly chainId: number | string } }): boolean =>
    lines.family === family && `${lines.chainId}` === `${chainId}`;
  return Object.values(chainPresets).find(isIt)?.blockMs ?? null;
}

/**
 * The greatest age of a head. `blockMs` is the preset's, else an estimate by heads, null for
 * neither.
 */
export function headLimitMs(blockMs: number | null): number {
  return Math.max(limitMsMin, blocksMax * (blockMs ?? blockMsUnknown));
}

/**
 * Judges the nodes of `chain` together. `blockMs` is the preset's, null for none; `nowMs` in Unix
 * milliseconds.
 */
export function healthOf(chain: string, blockMs: number | null, nodes: readonly NodeStatus[], nowMs: number): ChainHealth {
  const best = newest(nodes);
  const estimate = best?.head?.blockMs ?? null;
  const pace = blockMs ?? (estimate === null ? null : Math.min(blockMsMax, estimate));
  const limitMs = headLimitMs(pace);
  const judged = nodes.map((node) => judge(node, { best, limitMs, blockMs: pace ?? blockMsUnknown, nowMs }));
  return { ...chainHealth(chain, judged), limitMs, headAgeMs: best === null ? null : ageOf(best.head, nowMs), nodes: judged };
}

type Seen = NodeStatus & { readonly head: HeadView };

function newest(nodes: readonly NodeStatus[]): Seen | null {
  const seen = nodes.filter((node): node is Seen => node.head !== null);
  const isNewer = (one: HeadView, other: HeadView): boolean =>
    one.atMs === other.atMs ? one.number > other.number : one.atMs > other.atMs;
  return seen.reduce<Seen | null>((best, node) => (best === null || isNewer(node.head, best.head) ? node : best), null);
}

/**
 * The age by the block's own time when the node last showed it; only by our clock if the block has
 * no time.
 */
function ageOf({ atMs, seenAgoMs, stoodForMs }: HeadView, nowMs: number): number {
  return Math.max(stoodForMs, atMs === 0 ? 0 : nowMs - seenAgoMs - atMs);
}

interface Measures {
  readonly best: Seen | null;
  readonly limitMs: number;
  readonly blockMs: number;
  readonly nowMs: number;
}

function judge(node: NodeStatus, measures: Measures): NodeHealth {
  const { url, ok, outForMs, head, detail } = node;
  const { best, limitMs, nowMs, blockMs } = measures;
  const lagBlocks = best === null || head === null ? null : Math.max(0, best.head.number - head.number);
  const shown = { url, lagBlocks, headAgeMs: head === null ? null : ageOf(head, nowMs) };
  if (!ok && outForMs !== null) {
    const since = Math.max(1, Math.round(nowMs - outForMs));
    const { code, words, plain } = refusalOf(detail, since, nowMs);
    return { ...shown, code, words, plain, since, isUsable: outForMs < outMsMin };
  }
  if (head === null || best === null) return { ...shown, code: "", words: "", plain: "", since: 0, isUsable: true };
  const isOld = ageOf(head, nowMs) > limitMs;
  const isBehind = best.head.atMs - head.atMs > limitMs || (lagBlocks ?? 0) * blockMs > limitMs;
  const rolledBack = (head.highest - head.number) * blockMs > limitMs;
  if (!isOld && !isBehind && !rolledBack) return { ...shown, code: "", words: "", plain: "", since: 0, isUsable: true };
  const newestWords = `its newest block is ${head.number}${head.atMs === 0 ? "" : `, of ${clockTime(head.atMs, nowMs)}`}`;
  const back = rolledBack ? `rolled back from block ${head.highest} to block ${head.number}` : "";
  const lag = isBehind && lagBlocks !== null && lagBlocks > 0 ? `is ${lagBlocks} blocks behind` : "";
  const still = `shows no new block for ${spanWords(ageOf(head, nowMs))}`;
  const said = [back, lag, lag === "" && isOld ? still : ""].filter((part) => part !== "").join(" and ");
  const code = rolledBack ? "NODE_ROLLED_BACK" : lag === "" ? "NODE_STALE" : "NODE_LAG";
  const words = `${said}: ${newestWords}`;
  const since = head.atMs === 0 ? Math.max(1, Math.round(nowMs - head.stoodForMs)) : head.atMs;
  return { ...shown, code, words, plain: words, since, isUsable: !isOld && !isBehind };
}

function chainHealth(chain: string, nodes: readonly NodeHealth[]): Pick<ChainHealth, "code" | "words" | "plain"> {
  const out = nodes.filter(({ isUsable }) => !isUsable);
  const usable = nodes.length - out.length;
  const [first] = out;
  if (first === undefined || usable >= Math.min(2, nodes.length)) return { code: "", words: "", plain: "" };
  const head =
    usable === 0
      ? `no node of chain ${chain} can be used`
      : `only ${usable} of ${nodes.length} nodes of chain ${chain} can be used, and 2 must say the same`;
  const problems = nodes.flatMap((node, at) => (node.isUsable ? [] : [`node ${at} ${node.plain}`]));
  return {
    code: first.code,
    words: `${head}: ${out.map(({ url, words }) => `${url} ${words}`).join("; ")}`,
    plain: `${head}: ${problems.join("; ")}`,
  };
}

/** A node's failure, whose detail begins with a code, as a clause after the node's name. */
function refusalOf(detail: string, sinceMs: number, nowMs: number): Pick<NodeHealth, "code" | "words" | "plain"> {
  const [, code = "NODE_UNREACHABLE", message = ""] = /^(NODE_[A-Z_]+): (.*)$/s.exec(detail) ?? [undefined, undefined, detail];
  const since = `since ${clockTime(sinceMs, nowMs)}`;
  const http = /^HTTP status (\d{3}(?: \([a-z ]+\))?)(?:: )?(.*)$/s.exec(message);
  if (http !== null) {
    const [, status = "", own = ""] = http;
    const plain = `answers HTTP ${status} ${since}`;
    return { code: code as Code, plain, words: own === "" ? plain : `${plain}: ${own}` };
  }
  const said = clauses[code] ?? "answers with an error";
  const plain = `${said} ${since}`;
  return { code: code as Code, plain, words: message === "" ? plain : `${plain}: ${message}` };
}

const clauses: Readonly<Record<string, string>> = {
  NODE_QUOTA: "says that it is asked too much",
  NODE_UNREACHABLE: "cannot be reached",
  NODE_TIMEOUT: "gives no answer in time",
  NODE_ANSWER: "gives answers that cannot be read",
  NODE_ANSWER_SIZE: "gives answers that are too large",
  NODE_WRONG_CHAIN: "serves another chain",
};

/** A time for the operator, in UTC: the time of day, with the date if it is not about today. */
export function clockTime(atMs: number, nowMs: number): string {
  const text = new Date(atMs).toISOString();
  const time = `${text.slice(11, 19)} UTC`;
  return Math.abs(nowMs - atMs) < dayMs ? time : `${text.slice(0, 10)} ${time}`;
}

function spanWords(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 600) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
