/**
 * Findings about a chain's nodes, for `crypto --check`, `doctor` and `gateway check`: needed
 * questions of a payment or a deposit that a node does not answer, and blocks that are too old.
 * Pure.
 */
import type { Code } from "../base/codes.ts";
import { type Finding, newFinding } from "../base/finding.ts";
import { clockTime } from "./delays.ts";
import type { ConfiguredChain } from "./family.ts";
import { presetBlockMs } from "./final-times.ts";
import { headLimitMs } from "./health.ts";
import type { MissingAnswer, NodeView } from "./nodes.ts";

/** Codes of failures that do not pass by themselves. */
const lasting: ReadonlySet<Code> = new Set([
  "NODE_PRUNED",
  "NODE_ERROR",
  "NODE_PATH",
  "NODE_NO_BLOCK",
  "CHAIN_PLAIN_GAS",
]);

/** Heads of honest nodes may differ by this number of blocks at any time. */
const lagBlocksMax = 3;

/** Questions and their needs in words. */
const needs: Readonly<Record<MissingAnswer["neededBy"], string>> = {
  payments: "payments need",
  deposits: "deposits need",
  both: "payments and deposits need",
};

/** The other way that takes the place of an optional question. */
const otherWays: Readonly<Record<string, string>> = {
  "the receipts of a block together": "is asked for each receipt then, which takes longer",
  "questions together": "is asked one by one then, which takes longer",
  "the market's rates": "has the chain's usual rate for silence taken",
  "a tip": "has its tip taken from the price or the history of fees that it names",
};

/** Codes of a node, or of a chain, that no wait mends. */
const wrong: ReadonlySet<Code> = new Set(["NODE_WRONG_CHAIN", "CHAIN_NO_EIP1559"]);

/** An error if the fault of a node that gave no view never passes; otherwise a warning. */
export function severityOf({ code }: Pick<NodeView, "code">): Finding["severity"] {
  return code !== "" && wrong.has(code) ? "error" : "warning";
}

/**
 * An error if too few nodes are left for a needed question, so that the service stops; otherwise
 * warnings. `nowMs` in Unix milliseconds; `lagCode` is for a node behind the others.
 */
export function nodeFindings(
  name: string,
  chain: Pick<ConfiguredChain, "family" | "chainId">,
  views: readonly NodeView[],
  nowMs: number,
  lagCode: Code,
): readonly Finding[] {
  const isComplete = ({ lacks }: NodeView): boolean =>
    lacks.every((lack) => lack.isOptional || !lasting.has(lack.code));
  const isEnough = views.filter(isComplete).length >= Math.min(2, views.length);
  const answered = views.filter(({ code }) => code === "");
  const best = answered.reduce<NodeView | null>(
    (newest, view) => (newest === null || view.blockAtMs > newest.blockAtMs ? view : newest),
    null,
  );
  const limitMs = headLimitMs(presetBlockMs(chain) ?? best?.blockMs ?? null);
  return views.flatMap((view) => [
    ...lackFindings(name, view, isEnough),
    ...(best === null || view.code !== ""
      ? []
      : headFindings(name, view, { best, limitMs, nowMs, lagCode })),
  ]);
}

/** One finding for each code of a node, with the first text that the node gave. */
function lackFindings(
  name: string,
  { url, lacks }: NodeView,
  isEnough: boolean,
): readonly Finding[] {
  const groups = new Map<string, MissingAnswer[]>();
  for (const lack of lacks) {
    const key = `${lack.code} ${lack.isOptional ? lack.question : ""}`;
    groups.set(key, [...(groups.get(key) ?? []), lack]);
  }
  return [...groups.values()].map((group) => {
    const { code, words, isOptional, question, neededBy } = group[0] as MissingAnswer;
    if (isOptional) {
      const what = `${url} of ${name} does not answer ${question}, and ${otherWays[question] ?? "another way is taken"}: ${words}`;
      return newFinding(code, "warning", what);
    }
    const questions = group.map((lack) => lack.question).join(", ");
    const isOfBoth = group.some((lack) => lack.neededBy !== neededBy);
    const what = `${url} of ${name} does not answer ${questions}, which ${needs[isOfBoth ? "both" : neededBy]}: ${words}`;
    return newFinding(code, !isEnough && lasting.has(code) ? "error" : "warning", what);
  });
}

interface Heads {
  readonly best: NodeView;
  readonly limitMs: number;
  readonly nowMs: number;
  readonly lagCode: Code;
}

/** Compares each node with the best one, and the best one with the clock. */
function headFindings(
  name: string,
  { url, block, blockAtMs }: NodeView,
  heads: Heads,
): readonly Finding[] {
  const { best, limitMs, nowMs, lagCode } = heads;
  const lagMs = best.blockAtMs - blockAtMs;
  if (lagMs > limitMs && best.block - block > lagBlocksMax) {
    const by = `${best.block - block} blocks and ${Math.round(lagMs / 1000)} s`;
    const hint = `look at this node, or name a better one under chains.${name}.nodes in the configuration`;
    return [newFinding(lagCode, "warning", `${url} of ${name} is ${by} behind ${best.url}`, hint)];
  }
  const ageMs = nowMs - best.blockAtMs;
  if (blockAtMs === 0 || ageMs <= limitMs) return [];
  const what = `${url} of ${name} shows no block newer than ${block}, of ${clockTime(blockAtMs, nowMs)}, ${Math.round((nowMs - blockAtMs) / 1000)} s ago`;
  return [newFinding("NODE_STALE", "warning", what)];
}
