/**
 * `pause` and `resume`: an operator stops new signatures, or allows them again. The effect on open
 * withdrawals is shown first.
 */

import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import type { SignerStatus } from "../agent/socket/verbs.ts";
import { AgentError } from "../base/fault.ts";
import { jsonText } from "../base/visible.ts";
import { typed } from "./command-hint.ts";
import { approverOf } from "./decide.ts";
import { askOperator } from "./operator.ts";
import type { Terminal } from "./terminal.ts";

export interface PauseOptions {
  readonly yes?: boolean | undefined;
  readonly as?: string | undefined;
  readonly json?: boolean | undefined;
}

export async function pause(
  state: StateFolder,
  act: "pause" | "resume",
  options: PauseOptions,
  terminal: Terminal,
): Promise<number> {
  const approver = approverOf(options, terminal);
  const { status } = await askOperator(state, "status", {});
  if (options.json !== true) terminal.out(act === "pause" ? pauseWords(status) : resumeWords(status));
  if (options.yes !== true) {
    if (!terminal.isInteractive) {
      throw new AgentError("COMMAND_USAGE", "none", `${act} asks for a yes on a terminal, and this is none`, {
        hint: `when that is right: ${typed(`${act} --yes`)}`,
      });
    }
    if (!(await terminal.confirm(`${act}? (yes/no) `)))
      throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
  }
  const { paused } = await askOperator(state, "pause", { paused: act === "pause", approver });
  const { head, acked } = (await askOperator(state, "status", {})).status;
  const isHeld = acked >= head.seq;
  if (options.json === true) terminal.out(`${jsonText({ ok: true, paused, isHeld })}\n`);
  else
    terminal.out(
      `${paused ? "paused: no payment is signed before resume" : "not paused: signing goes on"}; ${heldWords(isHeld)}\n`,
    );
  return exitCodes.fine;
}

/** A writer of the ledger file can still cut off a record that the gateway does not hold. */
function heldWords(isHeld: boolean): string {
  return isHeld
    ? "the gateway holds the record"
    : "the gateway does not hold the record yet: status says when it has all of them";
}

function pauseWords({ counts }: SignerStatus): string {
  const signed = counts.signed + counts.released + counts.broadcast + counts.included;
  return (
    `no payment is signed from here on, also after a restart, until resume\n` +
    `${signed} with a signature go on to their end on chain; a cancel can still be signed\n` +
    `new orders are taken and wait; one that waits past its expiry ends unpaid\n`
  );
}

function resumeWords({ counts, paused }: SignerStatus): string {
  if (paused === null) return "it is not paused\n";
  return `payments are signed again at once: ${counts.approved + counts.intent} wait for that\n`;
}
