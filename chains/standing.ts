/**
 * The standing of signed bytes by the answers of several nodes, one rule for every family. What is
 * no acceptance is no "taken". Pure.
 */
import type { BroadcastMeaning, BroadcastStanding, NodeAnswer } from "./nodes.ts";

/** The standing that counts most comes first. */
const standings: readonly BroadcastStanding[] = ["taken", "doubtful", "refused", "unsent"];
/**
 * The words that help most come first of several refusals: those that a later attempt can answer.
 * "expired" counts only where nobody leaves the attempt open.
 */
const meanings: readonly (BroadcastMeaning | "")[] = [
  "slot-used",
  "price",
  "",
  "funds",
  "bytes",
  "known",
  "node",
  "expired",
];
/** Refusals that a new attempt at a higher fee does not change. */
const incurable: ReadonlySet<BroadcastMeaning | ""> = new Set(["funds", "bytes", "node"]);

const none: NodeAnswer = { node: "", standing: "unsent", meaning: "", text: "no node is in use" };

/** The answer that stands for all; unsent without any. */
export function bestAnswer(answers: readonly NodeAnswer[]): NodeAnswer {
  const [best = none] = [...answers].sort(
    (a, b) =>
      standings.indexOf(a.standing) - standings.indexOf(b.standing) ||
      meanings.indexOf(a.meaning) - meanings.indexOf(b.meaning),
  );
  return best;
}

/**
 * True if a new attempt at a higher fee may be taken where this one was not. An unknown refusal may
 * be about the fee.
 */
export function mayHigherFeeHelp(answers: readonly NodeAnswer[]): boolean {
  const open = answers.filter(({ standing }) => standing !== "unsent");
  return open.some(({ standing, meaning }) => standing !== "refused" || !incurable.has(meaning));
}
