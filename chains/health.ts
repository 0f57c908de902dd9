/**
 * Judges if the nodes of a chain are reliable, and gives the problem in plain words: a node is out,
 * refuses, has no quota left, stands still, lags or was rolled back. Three ages count: of the head,
 * of the final block, and of the oldest block that is still needed. One judgement serves the
 * gateway's /ready, the agent's status, metrics and alerts. Pure: times are passed in.
 */
import type { Code } from "../base/codes.ts";
import {
  type ChainDelayProblem,
  chainDelayProblemsOf,
  clockTime,
  type NodeWithHead,
  spanWords,
} from "./delays.ts";
import { type ChainPace, finalMsOf } from "./final-times.ts";
import { comparedHeight } from "./heights.ts";
import type { HeadView, NodeStatus } from "./nodes.ts";

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
  readonly finalAgeMs: number | null; // age of the newest final block of enough nodes
  readonly nodes: readonly NodeHealth[]; // in the order given
  /** Causes of late payments while the chain can be used. */
  readonly delays: readonly ChainDelayProblem[];
}

/** A warning comes after this number of block times, and never before this time. */
const blocksMax = 10;
/** A final block may be so many times as old as usual. */
const usualTimes = 3;
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

/**
 * The greatest age of a head. `blockMs` is the preset's, else an estimate by heads, null for
 * neither.
 */
export function headLimitMs(blockMs: number | null): number {
  return Math.max(limitMsMin, blocksMax * (blockMs ?? blockMsUnknown));
}

/**
 * Judges the nodes of `chain` together. `pace` by its preset; `neededFrom` is the oldest block that
 * was not read, null if no block is needed; `nowMs` in Unix milliseconds.
 */
export function healthOf(
  chain: string,
  { blockMs, final }: ChainPace,
  nodes: readonly NodeStatus[],
  nowMs: number,
  neededFrom: number | null = null,
): ChainHealth {
  const best = highest(nodes);
  const estimate = best?.head?.blockMs ?? null;
  const known = blockMs ?? (estimate === null ? null : Math.min(blockMsMax, estimate));
  const pace = known ?? blockMsUnknown;
  const limitMs = headLimitMs(known);
  const judged = nodes.map((node) => judge(node, { best, limitMs, blockMs: pace, nowMs }));
  const health = chainHealth(chain, judged);
  const headAgeMs = best === null ? null : ageOf(best.head, nowMs);
  const agreed = agreedFinal(nodes);
  const finalAgeMs = agreed === null ? null : ageOf(agreed, nowMs);
  const usualMs = finalMsOf(final, pace);
  const finalLimitMs = Math.max(usualTimes * usualMs, usualMs + blocksMax * pace);
  // A chain whose head stands still is told by its head.
  const isStill = health.code !== "" || headAgeMs === null || headAgeMs > limitMs;
  const stale =
    isStill || agreed === null || (finalAgeMs ?? 0) <= finalLimitMs
      ? null
      : { agreed, ageMs: finalAgeMs ?? 0 };
  const delays = chainDelayProblemsOf({
    chain,
    nodes,
    nowMs,
    stale,
    neededFrom,
    finalNumber: agreed?.number ?? null,
  });
  return { ...health, limitMs, headAgeMs, finalAgeMs, nodes: judged, delays };
}

function highest(nodes: readonly NodeStatus[]): NodeWithHead | null {
  const seen = nodes.filter((node): node is NodeWithHead => node.head !== null);
  const height = comparedHeight(seen.map(({ head }) => head.number));
  const there = seen.filter(({ head }) => head.number === height);
  // At one height, the newest look counts for the age.
  return there.reduce<NodeWithHead | null>(
    (best, node) => (best !== null && best.head.atMs >= node.head.atMs ? best : node),
    null,
  );
}

/** The newest final block that enough nodes have reached. */
function agreedFinal(nodes: readonly NodeStatus[]): HeadView | null {
  const finals = nodes
    .flatMap(({ final }) => (final === null ? [] : [final]))
    .sort((a, b) => b.number - a.number);
  return finals[Math.min(2, nodes.length) - 1] ?? null;
}

/**
 * The age by the block's own time when the node last showed it; only by our clock if the block has
 * no time.
 */
function ageOf({ atMs, seenAgoMs, stoodForMs }: HeadView, nowMs: number): number {
  return Math.max(stoodForMs, atMs === 0 ? 0 : nowMs - seenAgoMs - atMs);
}

interface Measures {
  readonly best: NodeWithHead | null;
  readonly limitMs: number;
  readonly blockMs: number;
  readonly nowMs: number;
}

function judge(node: NodeStatus, measures: Measures): NodeHealth {
  const { url, ok, outForMs, head, detail } = node;
  const { best, limitMs, nowMs, blockMs } = measures;
  const lagBlocks =
    best === null || head === null ? null : Math.max(0, best.head.number - head.number);
  const shown = { url, lagBlocks, headAgeMs: head === null ? null : ageOf(head, nowMs) };
  if (!ok && outForMs !== null) {
    const since = Math.max(1, Math.round(nowMs - outForMs));
    const { code, words, plain } = refusalOf(detail, since, nowMs);
    return { ...shown, code, words, plain, since, isUsable: outForMs < outMsMin };
  }
  if (head === null || best === null)
    return { ...shown, code: "", words: "", plain: "", since: 0, isUsable: true };
  const isOld = ageOf(head, nowMs) > limitMs;
  const isBehind = (lagBlocks ?? 0) * blockMs > limitMs;
  const rolledBack = (head.highest - head.number) * blockMs > limitMs;
  if (!isOld && !isBehind && !rolledBack)
    return { ...shown, code: "", words: "", plain: "", since: 0, isUsable: true };
  const newestWords = `its newest block is ${head.number}${head.atMs === 0 ? "" : `, of ${clockTime(head.atMs, nowMs)}`}`;
  const back = rolledBack ? `rolled back from block ${head.highest} to block ${head.number}` : "";
  const lag =
    isBehind && lagBlocks !== null && lagBlocks > 0 ? `is ${lagBlocks} blocks behind` : "";
  const still = `shows no new block for ${spanWords(ageOf(head, nowMs))}`;
  const said = [back, lag, lag === "" && isOld ? still : ""]
    .filter((part) => part !== "")
    .join(" and ");
  const code = rolledBack ? "NODE_ROLLED_BACK" : lag === "" ? "NODE_STALE" : "NODE_LAG";
  const words = `${said}: ${newestWords}`;
  const since = head.atMs === 0 ? Math.max(1, Math.round(nowMs - head.stoodForMs)) : head.atMs;
  return { ...shown, code, words, plain: words, since, isUsable: !isOld && !isBehind };
}

function chainHealth(
  chain: string,
  nodes: readonly NodeHealth[],
): Pick<ChainHealth, "code" | "words" | "plain"> {
  const out = nodes.filter(({ isUsable }) => !isUsable);
  const usable = nodes.length - out.length;
  const [first] = out;
  if (first === undefined || usable >= Math.min(2, nodes.length))
    return { code: "", words: "", plain: "" };
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
function refusalOf(
  detail: string,
  sinceMs: number,
  nowMs: number,
): Pick<NodeHealth, "code" | "words" | "plain"> {
  const [, code = "NODE_UNREACHABLE", message = ""] = /^(NODE_[A-Z_]+): (.*)$/s.exec(detail) ?? [
    undefined,
    undefined,
    detail,
  ];
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
  NODE_HEADERS: "lacks its further headers",
};
