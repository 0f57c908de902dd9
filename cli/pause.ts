/**
 * `pause` and `resume`: an operator stops new signatures, or allows them again; with a network,
 * first payments there alone, and with a currency that the signer stopped, first payments in it
 * again. The effect on open withdrawals is shown first.
 */

import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import { nameOfStop } from "../agent/problems/table.ts";
import type { SignerStatus } from "../agent/socket/verbs.ts";
import { AgentError } from "../base/fault.ts";
import { formatTerminalSafeJson } from "../base/visible.ts";
import { typedCommand } from "./command-hint.ts";
import { approverOf } from "./decide.ts";
import { askOperator } from "./operator.ts";
import { momentText, type Terminal } from "./terminal.ts";

export interface PauseOptions {
  readonly network?: string | undefined; // name of a chain in config.json
  readonly currency?: string | undefined; // its id; only to resume
  readonly yes?: boolean | undefined;
  readonly as?: string | undefined;
  readonly json?: boolean | undefined;
}

type PauseAct = "pause" | "resume";

export async function runPause(
  state: StateFolder,
  act: PauseAct,
  options: PauseOptions,
  terminal: Terminal,
): Promise<number> {
  const approver = approverOf(options, terminal);
  const { network, currency } = options;
  if (network !== undefined && currency !== undefined)
    throw new AgentError("COMMAND_USAGE", "none", "--network and --currency are two acts");
  const { status } = await askOperator(state, "status", {});
  if (options.json !== true) terminal.out(wordsOf(status, act, options));
  if (options.yes !== true) {
    if (!terminal.isInteractive) {
      const place = network === undefined ? "" : ` --network ${network}`;
      const line = `${act}${currency === undefined ? place : ` --currency ${currency}`}`;
      throw new AgentError(
        "COMMAND_USAGE",
        "none",
        `${act} asks for a yes on a terminal, and this is none`,
        {
          hint: `when that is right: ${typedCommand(`${line} --yes`)}`,
        },
      );
    }
    if (!(await terminal.confirm(`${act}? (yes/no) `)))
      throw new AgentError(
        "COMMAND_DECLINED",
        "none",
        "not answered with yes: nothing was changed",
      );
  }
  const where = {
    ...(network === undefined ? {} : { network }),
    ...(currency === undefined ? {} : { currency }),
  };
  const { paused } = await askOperator(state, "pause", {
    paused: act === "pause",
    approver,
    ...where,
  });
  const { head, acked } = (await askOperator(state, "status", {})).status;
  const isHeld = acked >= head.seq;
  if (options.json === true)
    terminal.out(
      `${formatTerminalSafeJson({ ok: true, paused, network: network ?? "", currency: currency ?? "", isHeld })}\n`,
    );
  else terminal.out(`${doneWords(paused, options)}; ${heldWords(isHeld)}\n`);
  return exitCodes.fine;
}

function wordsOf(status: SignerStatus, act: PauseAct, { network, currency }: PauseOptions): string {
  if (currency !== undefined) return currencyWords(status, currency);
  if (network !== undefined) return networkWords(status, act, network);
  return act === "pause" ? pauseWords(status) : resumeWords(status);
}

function doneWords(paused: boolean, { network, currency }: PauseOptions): string {
  if (currency !== undefined) return `first payments in ${currency} are signed again`;
  if (network !== undefined)
    return paused
      ? `no first payment is signed on ${network} before resume --network ${network}`
      : `first payments on ${network} are signed again`;
  return paused ? "paused: no payment is signed before resume" : "not paused: signing goes on";
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

function resumeWords({ counts, paused, stopped = [] }: SignerStatus): string {
  const others = stopped.map((one) =>
    one.currency === undefined
      ? `first payments on ${nameOfStop(one)} stay stopped: resume --network ${nameOfStop(one)}\n`
      : `first payments in ${one.currency} stay stopped: resume --currency ${one.currency}\n`,
  );
  if (paused === null) return `it is not paused\n${others.join("")}`;
  return `payments are signed again at once: ${counts.approved + counts.intent} wait for that\n${others.join("")}`;
}

function networkWords({ stopped = [] }: SignerStatus, act: PauseAct, network: string): string {
  if (act === "pause")
    return (
      `no first payment is signed on ${network} from here on, also after a restart, until resume --network ${network}\n` +
      `payments with a signature go on, and other networks too; one that waits past its expiry ends unpaid\n`
    );
  const found = stopped.find((one) => one.currency === undefined && nameOfStop(one) === network);
  if (found === undefined) return `first payments on ${network} are not stopped\n`;
  const named = found.txHashes.map((txHash) => `  ${txHash}\n`).join("");
  const since = `stopped by ${found.approver} at ${momentText(found.at)}`;
  if (named === "") return `${since}; first payments on ${network} are signed again at once\n`;
  return (
    `${since}, because nothing here signed:\n${named}` +
    `say yes only if each is explained: the wallet's owner made it, or it paid an order before a restore\n` +
    `otherwise somebody else has the key: move the funds to a new wallet\n`
  );
}

function currencyWords({ stopped = [] }: SignerStatus, currency: string): string {
  const found = stopped.find((one) => one.currency === currency);
  if (found === undefined) return `first payments in ${currency} are not stopped\n`;
  const named = found.txHashes.map((txHash) => `  ${txHash}\n`).join("");
  return (
    `stopped at ${momentText(found.at)}, because a final payment moved something else than was asked for:\n${named}` +
    `say yes only if it is clear why: the next payment in ${currency} may move something else too\n`
  );
}
