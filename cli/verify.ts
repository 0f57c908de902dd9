/**
 * `verify`: reads the complete ledger back and checks every hash. The running signer does this, and
 * also checks with the wallet's key who wrote each line. If no signer answers, the command reads
 * the folder.
 */

import { join } from "node:path";
import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import { ledgerDisk } from "../agent/ledger/disk.ts";
import { verifyLedger } from "../agent/ledger/verify.ts";
import type { OperatorAnswers } from "../agent/socket/verbs.ts";
import { AgentError, runNamingFile } from "../base/fault.ts";
import { formatTerminalSafeJson } from "../base/visible.ts";
import { askOperator } from "./operator.ts";
import { fieldLines, type Terminal, withProgress } from "./terminal.ts";

/**
 * @throws AgentError LEDGER_* naming file and line, STATE_NOT_PAIRED, COMMAND_RIGHT
 */
export async function runVerify(
  state: StateFolder,
  isJson: boolean,
  terminal: Terminal,
): Promise<number> {
  const { by, records, segments, head } = await withProgress(
    terminal,
    "reading the ledger back",
    verifyState(state),
  );
  if (isJson)
    terminal.out(`${formatTerminalSafeJson({ ok: true, by, records, segments, head })}\n`);
  else {
    const rows = [
      ["records", `${records} in ${segments} ${segments === 1 ? "file" : "files"}`],
      ["head", `${head.seq} ${head.hash}`],
      [
        "checked by",
        by === "signer"
          ? "the running signer, hashes and the wallet's seal"
          : "this command, hashes alone: no signer answers",
      ],
    ] as const;
    terminal.out(`the ledger is whole\n\n${fieldLines(rows)}\n`);
  }
  return exitCodes.fine;
}

/** Faults of a question to a signer that does not run, hangs, or has no disk to write to. */
const silences: ReadonlySet<string> = new Set([
  "COMMAND_DAEMON_AWAY",
  "SOCKET_TIMEOUT",
  "LEDGER_READ_ONLY",
]);

/**
 * Verifies by the running signer, or from the folder if none answers. Asks a short question first:
 * a signer may take ten minutes for the long one, but a signer that hangs then shows within
 * seconds.
 * @throws AgentError LEDGER_*, STATE_NOT_PAIRED, COMMAND_RIGHT
 */
export async function verifyState(
  state: StateFolder,
): Promise<OperatorAnswers["verify"] & { readonly by: "signer" | "command" }> {
  try {
    await askOperator(state, "status", {});
  } catch (error) {
    if (!(error instanceof AgentError) || !silences.has(error.code)) throw error;
    return { ...readHere(join(state.signer, "ledger")), by: "command" };
  }
  return { ...(await askOperator(state, "verify", {})), by: "signer" };
}

/** A ledger that this user may not read is not an unreadable ledger. */
function readHere(folder: string): OperatorAnswers["verify"] {
  try {
    return runNamingFile(folder, () => verifyLedger(ledgerDisk(folder), null));
  } catch (error) {
    if (
      !(error instanceof AgentError) ||
      !/\b(?:EACCES|EPERM)\b/.test(`${error.message} ${error.context.reason ?? ""}`)
    )
      throw error;
    const hint = "run it as root; while crypto runs, any member of autowithdraw-operators may";
    throw new AgentError(
      "COMMAND_RIGHT",
      "none",
      `no signer answers, and this user may not read ${folder}`,
      { hint },
      { cause: error },
    );
  }
}
