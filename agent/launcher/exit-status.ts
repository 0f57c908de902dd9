/**
 * The end of a command that fails: two lines for an operator and an exit code for a script. Lower
 * case, no stack, no secret: `crypto: problem` (`pair: …`), then `hint: action`. Pure.
 */
import { type Code, codes, passingCauseOf } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import { visibleText } from "../../base/visible.ts";

/**
 * 0 fine; 1 a clear no, or a problem that passes by itself; 2 wrong usage or configuration; 3 the
 * daemon or the gateway cannot be reached; 4 locked; 5 a right is missing; 70 a bug.
 */
export const exitCodes = {
  fine: 0,
  no: 1,
  configuration: 2,
  unreachable: 3,
  locked: 4,
  right: 5,
  bug: 70,
} as const;

export interface ExitVerdict {
  readonly exitCode: number;
  readonly code: string; // from base/codes.ts, BUG for anything else
  readonly message: string;
  readonly hint: string;
}

const exitByCode: Readonly<Record<string, number>> = {
  PAIRING_API_KEY: exitCodes.configuration,
  PAIRING_AWAY: exitCodes.unreachable,
  STATE_FOLDER: exitCodes.configuration,
  STATE_INCOMPLETE: exitCodes.configuration,
  STATE_NOT_PAIRED: exitCodes.configuration,
  POLICY_SETTINGS: exitCodes.configuration,
  INSTALL_MACHINE: exitCodes.configuration,
  COMMAND_USAGE: exitCodes.configuration,
  COMMAND_DAEMON_AWAY: exitCodes.unreachable,
  COMMAND_RIGHT: exitCodes.right,
  KEYSTORE_ENCKEY: exitCodes.configuration,
  BACKUP_ENCKEY: exitCodes.configuration,
  KEYSTORE_MISSING: exitCodes.configuration,
  SIGNER_LOCKED: exitCodes.locked,
};

const exitByRoom: Readonly<Record<string, number>> = {
  CONFIG: exitCodes.configuration,
  FILE: exitCodes.configuration,
  MNEMONIC: exitCodes.configuration,
  ENCKEY: exitCodes.configuration,
  SOCKET: exitCodes.unreachable,
  LEDGER: exitCodes.locked,
};

/** The verdict on a thrown value. A value other than an AgentError is a bug. */
export function exitVerdictOfError(error: unknown): ExitVerdict {
  if (error instanceof AgentError)
    return exitVerdictOfCode(error.code, error.message, error.context.hint);
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return {
    exitCode: exitCodes.bug,
    code: "BUG",
    message: `a bug: ${message}`,
    hint: "report it with the version and what was done",
  };
}

/**
 * The verdict on a code from elsewhere, e.g. over a socket. Without `hint` the table's own is used.
 */
export function exitVerdictOfCode(code: string, message: string, hint?: unknown): ExitVerdict {
  const room = code.slice(0, Math.max(0, code.indexOf("_")));
  const known = Object.hasOwn(codes, code) ? (code as Code) : null;
  // A service manager starts again what passes by itself.
  const isPassing = known !== null && passingCauseOf(known) !== null;
  return {
    exitCode: isPassing ? exitCodes.no : (exitByCode[code] ?? exitByRoom[room] ?? exitCodes.no),
    code,
    message,
    hint:
      typeof hint === "string" ? hint : known === null ? "see docs/errors.md" : codes[known].advice,
  };
}

/**
 * The two lines, each with its newline; the texts can never make a third. `pair` speaks in its own
 * name.
 */
export function formatExitVerdict(
  verdict: ExitVerdict,
  speaker: "crypto" | "autowithdraw" | "autowithdraw-gateway" | "pair" = "crypto",
): string {
  return `${speaker}: ${visibleText(verdict.message)}\nhint: ${visibleText(verdict.hint)}\n`;
}
