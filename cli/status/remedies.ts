/**
 * The line to type for a reason that stands in a status: by the code at its beginning, and for a
 * link that is down. Pure.
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
