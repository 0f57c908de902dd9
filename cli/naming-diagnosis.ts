/**
 * The diagnosis of a withdrawal that waits for the gateway's word before its first attempt. Pure.
 */
import type { OperatorView } from "../agent/socket/verbs.ts";
import { agentEnds } from "../agent/state-ends.ts";
import { type Code, codes } from "../base/codes.ts";
import { typedEnd } from "./command-hint.ts";
import type { Diagnosis } from "./decision-diagnosis.ts";
import { remedyIn } from "./status/remedies.ts";

/**
 * Waiting for the gateway's word on a coin, a first slot or the order, or for an operator's; else
 * null.
 */
export function namingDiagnosis(why: string, { chain }: OperatorView): Diagnosis | null {
  if (why.includes("the gateway's word on it is asked for"))
    return {
      verdict: "goes on",
      why: "the gateway's nodes are asked about it and what it would spend, which takes seconds",
      what: "",
    };
  const code = /WITHDRAWAL_UNCLEARED|ACCOUNT_(?:PIN_UNNAMED|FIRST_UNNAMED|FIRST_SLOT)/.exec(
    why,
  )?.[0] as Code | undefined;
  if (code === undefined) return null;
  const told = `${codes[code].meaning} (${code})`;
  if (code === "ACCOUNT_PIN_UNNAMED" || code === "WITHDRAWAL_UNCLEARED")
    return { verdict: "waits", why: told, what: remedyIn(code) };
  const adopt = `compare the count with a block explorer, then ${typedEnd(agentEnds.courier.firstSlot, { CHAIN: chain })}`;
  if (code === "ACCOUNT_FIRST_SLOT")
    return { verdict: "waits for an operator", why: told, what: adopt };
  return {
    verdict: "waits",
    why: told,
    what: `it goes on by itself when the gateway's nodes answer; to end it sooner: ${adopt}`,
  };
}
