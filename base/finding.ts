/**
 * A finding of a check: its code, its severity, a sentence and the line to type. Also formats a
 * finding as one line for the operator. Pure.
 */
import { type Code, codes, passingCauseOf } from "./codes.ts";
import { AgentError } from "./fault.ts";
import { visibleText } from "./visible.ts";

/**
 * `error`: the program does not work in this state, or keys or money are at risk. `warning`: the
 * program works, but the operator should change something.
 */
export interface Finding {
  readonly code: Code;
  readonly severity: "error" | "warning";
  readonly what: string; // a sentence in lower case, without a stop
  readonly hint: string;
}

/**
 * Makes a finding, with the table's hint if `hint` is left out. Makes both texts safe to print,
 * because an answer of a node or the name of a file may be part of them.
 */
export function newFinding(
  code: Code,
  severity: Finding["severity"],
  what: string,
  hint: string = codes[code].advice,
): Finding {
  return { code, severity, what: visibleText(what), hint: visibleText(hint) };
}

/**
 * Makes a finding from a fault. The hint is the fault's own or else the table's, with the fault's
 * path instead of `<file>`.
 */
export function findingOfFault(
  { code, message, context }: AgentError,
  severity: Finding["severity"] = "error",
): Finding {
  const tableHint = codes[code].advice.replace("<file>", String(context.path ?? "<file>"));
  return newFinding(
    code,
    severity,
    message,
    typeof context.hint === "string" ? context.hint : tableHint,
  );
}

/**
 * Returns the result of `act`. If `act` throws a fault, returns null and adds a finding. Throws
 * every other error again.
 */
export function runOrAddFinding<T>(findings: Finding[], act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    findings.push(findingOfFault(error));
    return null;
  }
}

/**
 * Returns the verdict of a check: `ok` without an error, `passing` if every error passes by itself,
 * with the first one's sentence, `wrong` if a person must change something.
 */
export function verdictOfFindings(
  findings: readonly Finding[],
): { readonly verdict: "ok" | "wrong" } | { readonly verdict: "passing"; readonly why: string } {
  const errors = findings.filter(({ severity }) => severity === "error");
  const [first] = errors;
  if (first === undefined) return { verdict: "ok" };
  return errors.every(({ code }) => passingCauseOf(code) !== null)
    ? { verdict: "passing", why: first.what }
    : { verdict: "wrong" };
}

/** Formats the finding as one line without a newline: `error CODE: problem; hint: command`. */
export function findingLine({ code, severity, what, hint }: Finding): string {
  return `${severity} ${code}: ${what}; hint: ${hint}`;
}
