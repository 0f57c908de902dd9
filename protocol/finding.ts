/**
 * A finding of a check: its code, its severity, a sentence and the line to type; and its one line
 * for a person. Pure.
 */
import { type Code, codes } from "./codes.ts";
import { AgentError } from "./fault.ts";
import { visible } from "./visible.ts";

/**
 * `error`: it does not work so, or keys or money are at risk. `warning`: it works, and should not
 * stay so.
 * @public
 */
export interface Finding {
  readonly code: Code;
  readonly severity: "error" | "warning";
  readonly what: string; // a sentence in lower case, without a stop
  readonly hint: string;
}

/**
 * Makes a finding, with the table's hint where `hint` is left out. Both texts are made safe to
 * print, since a node's answer or a file's name may be part of them.
 * @public
 */
export function finding(code: Code, severity: Finding["severity"], what: string, hint: string = codes[code][4]): Finding {
  return { code, severity, what: visible(what), hint: visible(hint) };
}

/**
 * Makes a finding of a fault. The hint is the fault's own, else the table's, with the fault's path
 * in the place of `<file>`.
 * @public
 */
export function faultFound({ code, message, context }: AgentError, severity: Finding["severity"] = "error"): Finding {
  const tableHint = codes[code][4].replace("<file>", String(context.path ?? "<file>"));
  return finding(code, severity, message, typeof context.hint === "string" ? context.hint : tableHint);
}

/**
 * Gives the result of `act`; for its fault null, and a finding more. Anything else that `act`
 * throws is thrown on.
 * @public
 */
export function orFinding<T>(findings: Finding[], act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    findings.push(faultFound(error));
    return null;
  }
}

/**
 * The finding as one line without a newline: `error CODE: what is wrong; hint: what to type`.
 * @public
 */
export function findingLine({ code, severity, what, hint }: Finding): string {
  return `${severity} ${code}: ${what}; hint: ${hint}`;
}
