/**
 * Reasons as the courier words them: why a link is down, why the nodes of a chain cannot be used,
 * why a withdrawal waits; with the line to type for each. The table of problems
 * (table.ts) and the diagnosis of one withdrawal read them here alone. Pure.
 */
import { type Code, codes } from "../../base/codes.ts";
import { connectionAdvice } from "../../base/connection-words.ts";

/**
 * Hints for close codes of the gateway (docs/protocol.md section 4.3); the other codes pass by
 * themselves.
 */
const closeRemedies: Readonly<Record<string, string>> = {
  4001: "the gateway has unpaired this agent, or does not know it: ask its operator; if another server took its place, stop crypto here",
  4003: "the gateway has a newer epoch: another copy of this agent was paired or recovered; end one of the two (docs/recovering.md)",
  4004: "the gateway has locked this agent: its operator sees why in agents; then docs/recovering.md",
  4009: "the gateway's database lacks what this agent knows: ask its operator whether a backup was restored (docs/recovering.md)",
};

/** The hint for a link that is down, "" when only time helps. `detail` as in the status. */
export function linkRemedy(detail: string): string {
  const upgrade = /^LINK_UPGRADE_REQUIRED.*?(node autowithdraw\.js upgrade(?: --gateway)?)/s.exec(
    detail,
  )?.[1];
  if (upgrade !== undefined) return upgrade;
  const closed = /^LINK_ENDED: closed by the gateway, (\d{4})\b/.exec(detail)?.[1] ?? "";
  const advice = detail.startsWith("LINK_SOCKET") ? connectionAdvice(detail) : null;
  if (advice !== null) return advice.hint;
  // The signer's own code explains more than LINK_REFUSED in front of it.
  return closeRemedies[closed] ?? remedyForDetail(detail.replace(/^LINK_REFUSED: (?=[A-Z])/, ""));
}

/** The code at the beginning of `detail`; "" without one. */
export function errorCodeIn(detail: string): Code | "" {
  const code = /^[A-Z][A-Z0-9_]*/.exec(detail)?.[0] ?? "";
  return Object.hasOwn(codes, code) ? (code as Code) : "";
}

/**
 * The table's advice for the code at the beginning of `detail`; "" without a code, or if only time
 * helps.
 */
export function remedyForDetail(detail: string): string {
  const code = errorCodeIn(detail);
  const remedy = code === "" ? "" : codes[code].advice;
  return /^none\b/.test(remedy) ? "" : remedy;
}

/** The sentence behind the code at the beginning of `detail`. */
export const wordsAfterCode = (detail: string): string =>
  detail.replace(/^[A-Z][A-Z0-9_]*(?:: |$)/, "");

/** The problem of a chain as a sentence without a code. `detail` as in the status. */
export function chainWords(chain: string, detail: string): string {
  const words = wordsAfterCode(detail);
  if (words.includes(` chain ${chain} `)) return words;
  return `${tooFewNodes(chain)}: ${words === "" ? detail : words}`;
}

/** The sentence about a chain, as an alert has it. */
export const tooFewNodes = (chain: string): string => `too few nodes of ${chain} can be used`;

/** The code of the fee limit for which a withdrawal waits; null for any other reason. */
export function feeCodeIn(why: string): string | null {
  return /^fee ([A-Z][A-Z0-9_]*|)/.exec(why)?.[1] ?? null;
}

/** True for a withdrawal that the hot wallet's funds do not cover. */
export const isForFunds = (why: string): boolean => why.startsWith("funds");

const namingCode =
  /WITHDRAWAL_UNCLEARED|ACCOUNT_(?:PIN_UNNAMED|COIN_SPENT|FIRST_UNNAMED|FIRST_SLOT)/;
type NamingCode =
  | "WITHDRAWAL_UNCLEARED"
  | "ACCOUNT_PIN_UNNAMED"
  | "ACCOUNT_COIN_SPENT"
  | "ACCOUNT_FIRST_UNNAMED"
  | "ACCOUNT_FIRST_SLOT";

/**
 * The code of a wait for the gateway's word on a coin, a first slot or the order, or for an
 * operator's; null for any other reason.
 */
export function namingCodeIn(why: string): NamingCode | null {
  return (namingCode.exec(why)?.[0] as NamingCode | undefined) ?? null;
}

/** The node's text in the reason of a withdrawal that no node took; "" for any other reason. */
export function nodeTextOfUntakenOffer(why: string): string {
  return /^offered, no node took it: (.*)$/s.exec(why)?.[1] ?? "";
}

/**
 * True for a reason for which every withdrawal, or every one of a currency, waits; each has a
 * problem of its own.
 */
export function isReasonOfAll(why: string): boolean {
  return general.test(why);
}

const general =
  /^(?:locked|link|nodes|SIGNER_PAUSED|NETWORK_PAUSED:|CURRENCY_MOVES_OTHERWISE:|COURIER_TOKEN_REFUSES)(?: |$)|ACCOUNT_(?:PIN_UNNAMED|FIRST_UNNAMED|FIRST_SLOT)/;
