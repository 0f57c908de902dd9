/**
 * The standing of the bytes that a withdrawal offers, by what each node said last, and its words:
 * the one place for `status`, `show`, `doctor` and alerts, for every family. Pure.
 */
import type { BroadcastStanding, NodeAnswer } from "../../../chains/nodes.ts";
import { bestAnswer, mayHigherFeeHelp } from "../../../chains/standing.ts";
import type { OfferToNodes, ScheduledWithdrawal } from "./item.ts";

/**
 * After this time without a node that took them, bytes in doubt, or on a used slot, are told. A
 * node says both of a payment that is on its way into a block.
 */
const doubtMs = 60_000;

/** The start of the words for bytes that no node took; the command line recognises the texts. */
const refusedReason = "offered, no node took it";
const doubtfulReason = "offered, no node has said that it took it";

/** The offer after further answers. A node that was not reached keeps its last one. */
export function addNodeAnswers(offer: OfferToNodes, answers: readonly NodeAnswer[]): OfferToNodes {
  const heard = answers.filter(({ standing }) => standing !== "unsent");
  return {
    ...offer,
    byNode: new Map([...offer.byNode, ...heard.map((answer) => [answer.node, answer] as const)]),
  };
}

export function bestNodeAnswerOf({ byNode }: OfferToNodes): NodeAnswer {
  return bestAnswer([...byNode.values()]);
}

/** The standing of the newest offer; unasked if no node has got its bytes in this run. */
export function standingOfOffer(
  offer: OfferToNodes | null,
): Exclude<BroadcastStanding, "unsent"> | "unasked" {
  if (offer === null) return "unasked";
  const { standing } = bestNodeAnswerOf(offer);
  return standing === "unsent" ? "unasked" : standing;
}

/** True if every node that has got the bytes calls their end past. */
export function isOfferExpired(offer: OfferToNodes | null): boolean {
  return (
    standingOfOffer(offer) === "refused" &&
    offer !== null &&
    bestNodeAnswerOf(offer).meaning === "expired"
  );
}

/** True if no node took the bytes, and a higher fee changes none of the refusals. */
export function isRefusedForGood(offer: OfferToNodes): boolean {
  return standingOfOffer(offer) === "refused" && !mayHigherFeeHelp([...offer.byNode.values()]);
}

/** The least price that refusals of the bytes name, the lowest of all; null without one. */
export function readLowestRequiredFee(offer: OfferToNodes | null): bigint | null {
  if (standingOfOffer(offer) !== "refused") return null;
  const named = [...(offer?.byNode.values() ?? [])].flatMap(({ least }) =>
    least === undefined ? [] : [BigInt(least)],
  );
  return named.reduce<bigint | null>(
    (lowest, one) => (lowest === null || one < lowest ? one : lowest),
    null,
  );
}

/**
 * The reason why the offered bytes are in no mempool as far as the nodes say, in a node's own
 * words; "" if a node took them, or if that is not long ago enough to say.
 */
export function describeUntakenOffer({
  offer,
  location,
  chainOutcome,
}: Pick<ScheduledWithdrawal, "offer" | "location" | "chainOutcome">): string {
  if (offer === null || location !== null || chainOutcome !== null || isOfferExpired(offer))
    return "";
  const standing = standingOfOffer(offer);
  const { node, meaning, text } = bestNodeAnswerOf(offer);
  const isLong = offer.atMs - offer.firstAtMs >= doubtMs;
  const words = node === "" ? text : `${node}: ${text}`;
  if (standing === "refused" && (meaning !== "slot-used" || isLong))
    return `${refusedReason}: ${words}`;
  return standing === "doubtful" && isLong ? `${doubtfulReason}: ${words}` : "";
}
