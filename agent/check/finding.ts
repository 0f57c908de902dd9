/** What a check found: a code, how grave it is, a sentence, the line to type; and how a person reads it. Pure. */
import { type Code, codes } from "../../protocol/codes.ts";
import type { AgentError } from "../../protocol/fault.ts";
import { visible } from "../../protocol/visible.ts";

/**
 * `error`: it does not work so, or keys or money are at risk. `warning`: it works, and should not stay so.
 * @public
 */
export interface Finding {
  readonly code: Code;
  readonly severity: "error" | "warning";
  readonly what: string;
  readonly hint: string;
}

/**
 * A finding with the table's hint where `hint` is left out; both fit to print, whatever a node or a file's name brought into them.
 * @public
 */
export function finding(code: Code, severity: Finding["severity"], what: string, hint: string = codes[code][4]): Finding {
  return { code, severity, what: visible(what), hint: visible(hint) };
}

/**
 * A fault as a finding.
 * @public
 */
export function faultFound({ code, message, context }: AgentError, severity: Finding["severity"] = "error"): Finding {
  return finding(code, severity, message, typeof context.hint === "string" ? context.hint : codes[code][4]);
}

/**
 * One line: `error CODE: what is wrong; hint: what to type`.
 * @public
 */
export function findingLine({ code, severity, what, hint }: Finding): string {
  return `${severity} ${code}: ${what}; hint: ${hint}`;
}
