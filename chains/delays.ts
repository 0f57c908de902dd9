/**
 * Causes of late payments on a chain whose nodes can be used: a final block that stands, blocks
 * that too few nodes keep, and servers that were asked almost as often as they allow. Words for
 * operators. Pure. Sources: ethereum-optimism/optimism #11234 and #13809, bnb-chain/opbnb #244 (the
 * head goes on, the final block stands for hours); XRPLF/rippled #2903 and #4262 (a stock server
 * keeps some 512 ledgers).
 */
import type { Code } from "../base/codes.ts";
import { isNearLimit } from "./hour-share.ts";
import type { HeadView, NodeStatus } from "./nodes.ts";

export interface ChainDelayProblem {
  readonly code: Code;
  readonly words: string; // a sentence for the operator
  readonly plain: string; // the same without a node's address
}

/** A node that has shown a head. */
export type NodeWithHead = NodeStatus & { readonly head: HeadView };

export interface ChainDelayState {
  readonly chain: string;
  readonly nodes: readonly NodeStatus[];
  readonly nowMs: number; // Unix milliseconds
  /** The final block of enough nodes, if it is too old. */
  readonly stale: { readonly agreed: HeadView; readonly ageMs: number } | null;
  readonly neededFrom: number | null; // the oldest block that was not read
  readonly finalNumber: number | null; // of the final block
}

export function chainDelayProblemsOf(ages: ChainDelayState): readonly ChainDelayProblem[] {
  return [...finalDelay(ages), ...historyDelay(ages), ...hourDelay(ages)];
}

function finalDelay({ chain, nodes, nowMs, stale }: ChainDelayState): readonly ChainDelayProblem[] {
  if (stale === null) return [];
  const { agreed, ageMs } = stale;
  const of = agreed.atMs === 0 ? "" : `, of ${clockTime(agreed.atMs, nowMs)}`;
  const words = `the final block of ${chain} is ${agreed.number}${of}, ${spanWords(ageMs)} old, while new blocks come: confirmation takes longer`;
  const finals = nodes.flatMap(({ url, final }) =>
    final === null ? [] : [{ url, number: final.number }],
  );
  const isOne = new Set(finals.map(({ number }) => number)).size < 2;
  const each = finals.map(({ url, number }) => `${url} ${number}`).join(", ");
  return [{ code: "CHAIN_FINAL_STALE", words: isOne ? words : `${words} (${each})`, plain: words }];
}

/** A node that names no blocks is taken to keep them all: its answers tell. */
function historyDelay({
  chain,
  nodes,
  neededFrom,
  finalNumber,
}: ChainDelayState): readonly ChainDelayProblem[] {
  if (neededFrom === null || finalNumber === null || neededFrom > finalNumber) return [];
  const short = nodes.filter(
    ({ ranges }) =>
      ranges !== null && !ranges.some(([from, to]) => from <= neededFrom && to >= neededFrom),
  );
  if (nodes.length - short.length >= Math.min(2, nodes.length)) return [];
  const ends = short.map(({ ranges }) => firstAfter(ranges ?? [], neededFrom) - 1);
  const last = Math.min(finalNumber, Math.max(...ends));
  const has = nodes.length - short.length === 0 ? "no node keeps them" : "only 1 node keeps them";
  const span = last === neededFrom ? `block ${neededFrom}` : `blocks ${neededFrom} to ${last}`;
  const plain = `${span} of ${chain} are still to be read, and ${has}: name a node with the full history`;
  const each = short
    .map(({ url, ranges }) => `${url} keeps ${rangeWords(ranges ?? [])}`)
    .join(", ");
  return [{ code: "NODE_HISTORY_SHORT", words: `${plain} (${each})`, plain }];
}

function hourDelay({ chain, nodes }: ChainDelayState): readonly ChainDelayProblem[] {
  const near = nodes.filter(isNearLimit);
  if (near.length === 0) return [];
  const each = near.map(({ url, hour }) => `${url} ${hour?.asked} of ${hour?.perHour}`).join(", ");
  const plain = `${near.length === 1 ? "a node" : `${near.length} nodes`} of ${chain} had almost as many questions in the last hour as questionsPerHour allows`;
  return [
    { code: "NODE_HOUR_NEAR", words: `${plain} (${each}): comparison and looks wait`, plain },
  ];
}

function firstAfter(ranges: NonNullable<NodeStatus["ranges"]>, number: number): number {
  const later = ranges.map(([from]) => from).filter((from) => from > number);
  return later.length === 0 ? Number.POSITIVE_INFINITY : Math.min(...later);
}

const shownRanges = 3;

function rangeWords(ranges: NonNullable<NodeStatus["ranges"]>): string {
  if (ranges.length === 0) return "none";
  const newest = ranges.slice(-shownRanges).map(([from, to]) => `${from} to ${to}`);
  return `${ranges.length > shownRanges ? "parts, the newest " : ""}${newest.join(" and ")}`;
}

const dayMs = 72_000_000;

/** A time for the operator, in UTC: the time of day, with the date if it is not about today. */
export function clockTime(atMs: number, nowMs: number): string {
  const text = new Date(atMs).toISOString();
  const time = `${text.slice(11, 19)} UTC`;
  return Math.abs(nowMs - atMs) < dayMs ? time : `${text.slice(0, 10)} ${time}`;
}

export function spanWords(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 600) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
