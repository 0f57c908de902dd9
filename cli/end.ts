/**
 * `end`: an operator ends a sweep whose slot the chain cannot reach, so the gateway may order
 * another one. Shows the nodes' counts and the possible fate of the signed bytes; the yes is to
 * exactly this slot.
 */

import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import type { EndPlan } from "../agent/socket/stuck.ts";
import type { OperatorView } from "../agent/socket/verbs.ts";
import { AgentError } from "../base/fault.ts";
import { jsonText } from "../base/visible.ts";
import { saySlot } from "../chains/families.ts";
import { feeWords, sumWords } from "./amounts.ts";
import { typed } from "./command-hint.ts";
import { approverOf } from "./decide.ts";
import { askOperator } from "./operator.ts";
import { fields, type Terminal, wrapped } from "./terminal.ts";
import { describe } from "./withdrawals.ts";

const wordsWidth = 62;

export interface EndOptions {
  readonly yes?: boolean | undefined;
  readonly as?: string | undefined;
  readonly json?: boolean | undefined;
}

/**
 * @throws AgentError COMMAND_*, WITHDRAWAL_*, REPLACEMENT_*, SIGNER_*
 */
export async function end(state: StateFolder, transactionId: string, options: EndOptions, terminal: Terminal): Promise<number> {
  const approver = approverOf(options, terminal);
  const { withdrawal, plan } = await askOperator(state, "end", { transactionId, slot: "", approver });
  if (options.json !== true) terminal.out(`${describe(withdrawal, null)}${planWords(withdrawal, plan)}`);
  if (options.yes !== true) await confirmed(transactionId, terminal);
  const done = await askOperator(state, "end", { transactionId, slot: plan.slot, approver });
  if (options.json === true) terminal.out(`${jsonText({ ok: true, ...done })}\n`);
  else terminal.out("ended: the gateway gives its place back when it learns of it, and may order another sweep\n");
  return exitCodes.fine;
}

async function confirmed(id: string, terminal: Terminal): Promise<void> {
  if (!terminal.isInteractive) {
    throw new AgentError("COMMAND_USAGE", "none", "end asks for a yes on a terminal, and this is none", {
      hint: `when all of it is right: ${typed(`end ${id} --yes`)}`,
    });
  }
  if (!(await terminal.confirm("end it? (yes/no) ")))
    throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
}

function planWords(one: OperatorView, { counted }: EndPlan): string {
  const { network, slot, account, attempts } = one;
  const dearest = attempts.map(({ feeMax }) => BigInt(feeMax)).sort((a, b) => (a < b ? 1 : -1))[0] ?? 0n;
  const fee = feeWords(dearest, network);
  const onChain =
    `no block takes ${saySlot(network, slot)} before all below it are used, and nobody fills them. The signed bytes stay ` +
    `good: if the count ever comes there, one of them may pay ${sumWords(one)} to your own ` +
    `hot wallet, or fail; either costs at most ${fee}. Nothing can go to anybody else`;
  const rows = [
    ["nodes count", `${counted} final transactions of ${account}`],
    ["gateway", "its own nodes say so too"],
    ...wrapped(onChain, wordsWidth).map((line, at) => [at === 0 ? "on chain" : "", line] as const),
    ...wrapped("the sweep ends as expired, and its slot stays its own", wordsWidth).map((line) => ["does", line] as const),
  ] as const;
  return `\n${fields(rows)}\n`;
}
