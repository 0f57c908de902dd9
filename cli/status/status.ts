/** `status`: shows in one screen of plain words if everything works, and otherwise each problem. */

import type { StateFolder } from "../../agent/files/state-folder.ts";
import { exitCodes } from "../../agent/launcher/exit-status.ts";
import type { SignerStatus } from "../../agent/socket/verbs.ts";
import { AgentError } from "../../base/fault.ts";
import { jsonText } from "../../base/visible.ts";
import type { Machine } from "../machine.ts";
import { askOperator } from "../operator.ts";
import { fieldLines, type Terminal } from "../terminal.ts";
import { type Problem, problemsOf, startMs } from "./problems.ts";
import { rowsOf } from "./rows.ts";

const watchMs = 2_000;
/** While crypto starts, it is asked again after this time. */
const startLookMs = 500;
const heldIdsMax = 500;

export interface StatusOptions {
  readonly watch?: boolean | undefined;
  readonly held?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/**
 * 0 if everything works, 1 if something does not, 4 if locked or in recovery. Warnings do not
 * count.
 */
export function exitCodeOf(status: SignerStatus, problems: readonly Problem[]): number {
  if (status.locked !== "" || status.recovery !== "") return exitCodes.locked;
  return problems.every((one) => one.isWarning) ? exitCodes.fine : exitCodes.no;
}

/**
 * Prints the status, and resolves with the exit code. With `watch` it repeats this until the
 * terminal ends the sleep.
 * @throws AgentError COMMAND_DAEMON_AWAY with the reason if one is known, COMMAND_RIGHT,
 * SOCKET_TIMEOUT, STATE_NOT_PAIRED
 */
export async function showStatus(
  state: StateFolder,
  options: StatusOptions,
  terminal: Terminal,
  machine: Machine,
): Promise<number> {
  if (options.held === true) return showHeld(state, options.json === true, terminal, machine);
  if (options.watch !== true)
    return show(state, await started(state, terminal, machine), options, terminal, machine);
  for (;;) {
    try {
      const status = await ask(state, machine);
      if (options.json !== true && terminal.isInteractive) terminal.clear?.();
      show(state, status, options, terminal, machine);
    } catch (error) {
      if (!(error instanceof AgentError) || error.code === "STATE_NOT_PAIRED") throw error;
      const line =
        options.json === true
          ? `${jsonText({ ok: false, code: error.code })}\n`
          : `${error.message}\n`;
      if (options.json !== true && terminal.isInteractive) terminal.clear?.();
      terminal.out(line);
    }
    if (!(await terminal.sleep(watchMs))) return exitCodes.fine;
  }
}

/**
 * The status, once the courier has said what it sees. Right after a start this takes some seconds,
 * and an answer before would be about the start alone.
 */
async function started(
  state: StateFolder,
  terminal: Terminal,
  machine: Machine,
): Promise<SignerStatus> {
  for (;;) {
    const status = await ask(state, machine);
    const isStarting = status.courier === null && terminal.now() - status.startedAt < startMs;
    if (!isStarting || !(await terminal.sleep(startLookMs))) return status;
  }
}

async function ask(state: StateFolder, machine: Machine): Promise<SignerStatus> {
  return (await askOperator(state, "status", {}, machine)).status;
}

function show(
  state: StateFolder,
  status: SignerStatus,
  options: StatusOptions,
  terminal: Terminal,
  machine: Machine,
): number {
  const seen = {
    nowMs: terminal.now(),
    isUnderUnits: machine.isUnderUnits(state),
    config: machine.configOnDisk(status.config.path),
  };
  const problems = problemsOf(status, seen);
  const exitCode = exitCodeOf(status, problems);
  if (options.json === true)
    terminal.out(`${jsonText({ ok: exitCode === exitCodes.fine, problems, status })}\n`);
  else {
    const rows = fieldLines(rowsOf(status, seen.nowMs), terminal.columns);
    const [warnings, wrong] = [
      problems.filter((one) => one.isWarning),
      problems.filter((one) => !one.isWarning),
    ];
    const lists = `${listed("what is wrong", wrong)}${listed("not wrong yet", warnings)}`;
    terminal.out(`${headline(exitCode, status, wrong.length)}\n\n${rows}\n${lists}`);
  }
  return exitCode;
}

/**
 * For scripts: prints the ids that wait for an operator, one on each line. Resolves with 1 if there
 * are any.
 */
async function showHeld(
  state: StateFolder,
  isJson: boolean,
  terminal: Terminal,
  machine: Machine,
): Promise<number> {
  const status = await ask(state, machine);
  const waits = status.counts.held + status.counts.quarantined;
  const { withdrawals } =
    waits === 0
      ? { withdrawals: [] }
      : await askOperator(state, "list", { openOnly: true, limit: heldIdsMax });
  const held = withdrawals
    .filter((one) => one.state === "held" || one.state === "quarantined")
    .map((one) => one.transactionId);
  if (isJson) terminal.out(`${jsonText({ ok: waits === 0, count: waits, held })}\n`);
  else for (const id of held) terminal.out(`${id}\n`);
  return waits === 0 ? exitCodes.fine : exitCodes.no;
}

function headline(exitCode: number, { recovery }: SignerStatus, problemCount: number): string {
  if (exitCode === exitCodes.fine) return "everything works";
  if (recovery === "RECOVERY_OFFERED")
    return "RECOVERY OFFERED: nothing is signed until an operator has carried it out";
  if (recovery !== "") return "RECOVERY: nothing is paid without an operator's approve";
  return exitCode === exitCodes.locked
    ? "LOCKED: nothing is signed until an operator has looked"
    : `PROBLEMS (${problemCount})`;
}

function listed(title: string, problems: readonly Problem[]): string {
  if (problems.length === 0) return "";
  const lines = problems.map(
    ({ what, hint }) => `  - ${what}\n${hint === "" ? "" : `    hint: ${hint}\n`}`,
  );
  return `\n${title}:\n${lines.join("")}`;
}
