/**
 * `approve` and `refuse`: a person's word on a held withdrawal. The whole of it is shown first, and the yes is bound to the digest of
 * what was shown, so that nothing can change between look and word.
 */

import { exitCodes } from "../agent/launcher/verdict.ts";
import type { WithdrawalView } from "../agent/socket/verbs.ts";
import type { StateFolder } from "../agent/state-folder.ts";
import { parseAddress } from "../chains/evm/address.ts";
import { AgentError } from "../protocol/fault.ts";
import { askOperator } from "./operator.ts";
import type { Terminal } from "./terminal.ts";
import { describe } from "./withdrawals.ts";

/** @public */
export interface DecideOptions {
  readonly yes?: boolean | undefined;
  readonly address?: string | undefined; // approve only
  readonly json?: boolean | undefined;
}

/** @public */
export async function approve(
  state: StateFolder,
  transactionId: string,
  options: DecideOptions,
  terminal: Terminal,
): Promise<number> {
  const { withdrawal } = await askOperator(state, "show", { transactionId });
  if (withdrawal.state !== "held" && withdrawal.state !== "quarantined") {
    throw new AgentError("WITHDRAWAL_NOT_HELD", "none", `the withdrawal does not wait for a person: it is ${withdrawal.state}`);
  }
  const address = destinationOf(withdrawal, options.address);
  const shown = { ...withdrawal, address: withdrawal.address === "" ? address : withdrawal.address };
  await confirmed("approve", shown, options, terminal);
  const answer = await askOperator(state, "approve", { transactionId, digest: withdrawal.approvalDigest, address });
  return done(answer.withdrawal, options, terminal);
}

/** @public */
export async function refuse(
  state: StateFolder,
  transactionId: string,
  options: DecideOptions,
  terminal: Terminal,
): Promise<number> {
  const { withdrawal } = await askOperator(state, "show", { transactionId });
  await confirmed("refuse", withdrawal, options, terminal);
  const answer = await askOperator(state, "refuse", { transactionId });
  return done(answer.withdrawal, options, terminal);
}

/** The address to send along: only for a withdrawal that has none; for one that has, --address may only repeat it. */
function destinationOf({ address: own, transactionId }: WithdrawalView, given: string | undefined): string {
  if (given === undefined) {
    if (own !== "") return "";
    throw new AgentError("COMMAND_USAGE", "none", `withdrawal ${transactionId} has no address yet`, {
      hint: `node autowithdraw.js approve ${transactionId} --address ADDRESS`,
    });
  }
  const parsed = parseAddress(given);
  if (!parsed.ok) throw new AgentError(parsed.code, "none", `${JSON.stringify(given.slice(0, 100))} cannot be paid to`);
  if (own === "") return parsed.address;
  if (own === parsed.address) return "";
  throw new AgentError("COMMAND_USAGE", "none", `the withdrawal goes to ${own}, not to ${parsed.address}`, {
    hint: "refuse it and ask for a new one: an address is never changed",
  });
}

async function confirmed(
  act: "approve" | "refuse",
  withdrawal: WithdrawalView,
  options: DecideOptions,
  terminal: Terminal,
): Promise<void> {
  if (options.json !== true) terminal.out(`${describe(withdrawal)}\n`);
  if (options.yes === true) return;
  if (!terminal.isInteractive) {
    throw new AgentError("COMMAND_USAGE", "none", `${act} asks for a yes on a terminal, and this is none`, {
      hint: "look at it with show, then give --yes",
    });
  }
  const question = act === "approve" ? "approve it, so that it is paid? (yes/no) " : "refuse it for good? (yes/no) ";
  if (!(await terminal.confirm(question)))
    throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
}

function done(withdrawal: WithdrawalView, options: DecideOptions, terminal: Terminal): number {
  if (options.json === true) terminal.out(`${JSON.stringify({ ok: true, withdrawal })}\n`);
  else terminal.out(`now ${withdrawal.state}: ${withdrawal.amount} ${withdrawal.currency} to ${withdrawal.address}\n`);
  return exitCodes.fine;
}
