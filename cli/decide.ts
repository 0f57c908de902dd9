/**
 * `approve` and `refuse`: an operator's decision on a held withdrawal. The command shows the
 * complete withdrawal first, and the yes is bound to the digest of this text, so nothing can change
 * between the text and the yes.
 */

import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import {
  approverMax,
  type OperatorAnswers,
  type OperatorView,
  type WaitView,
} from "../agent/socket/verbs.ts";
import { agentStateEnds } from "../agent/state-ends.ts";
import { codes } from "../base/codes.ts";
import { AgentError } from "../base/fault.ts";
import { formatTerminalSafeJson } from "../base/visible.ts";
import { parseAddress } from "../chains/address-forms.ts";
import { saySlot } from "../chains/families.ts";
import { payoutAmountWords } from "./amounts.ts";
import { commandOfStateEnd, typedCommand } from "./command-hint.ts";
import { askOperator } from "./operator.ts";
import { isHoldingWithdrawals, outgoingWordsOf } from "./outgoing-transactions.ts";
import type { Terminal } from "./terminal.ts";
import { describeWithdrawal, statusIfAny } from "./withdrawals.ts";

export interface DecideOptions {
  readonly yes?: boolean | undefined;
  readonly as?: string | undefined;
  readonly address?: string | undefined; // approve only
  readonly json?: boolean | undefined;
}

export async function runApprove(
  state: StateFolder,
  transactionId: string,
  options: DecideOptions,
  terminal: Terminal,
): Promise<number> {
  const approver = approverOf(options, terminal);
  const now = await askOperator(state, "show", { transactionId });
  const given = addressFrom(options.address ?? "", now.withdrawal.network);
  // Shows the withdrawal as it would be paid, because the operator must see what the given address
  // resembles before the yes.
  const { withdrawal, wait, outgoing } =
    given === "" ? now : await askOperator(state, "show", { transactionId, address: given });
  if (withdrawal.state !== "held" && withdrawal.state !== "quarantined") {
    throw new AgentError(
      "WITHDRAWAL_NOT_HELD",
      "none",
      `the withdrawal does not wait for an operator: it is ${withdrawal.state}`,
    );
  }
  const own = withdrawal.address || (wait?.confirmed?.address ?? "");
  const address = addressToSend(own, given, transactionId);
  if (options.json !== true) {
    const seen = { withdrawal: { ...withdrawal, address: own || address }, wait, outgoing };
    terminal.out(await decidedUpon(state, seen, terminal));
  }
  await confirmed("approve", withdrawal, options, terminal);
  const answer = await askOperator(state, "approve", {
    transactionId,
    digest: withdrawal.approvalDigest,
    address,
    approver,
  });
  return done(answer.withdrawal, answer.wait, options, terminal);
}

export async function runRefuse(
  state: StateFolder,
  transactionId: string,
  options: DecideOptions,
  terminal: Terminal,
): Promise<number> {
  const approver = approverOf(options, terminal);
  const { withdrawal, wait, outgoing } = await askOperator(state, "show", { transactionId });
  assertRefusable(withdrawal);
  if (options.json !== true)
    terminal.out(await decidedUpon(state, { withdrawal, wait, outgoing }, terminal));
  await confirmed("refuse", withdrawal, options, terminal);
  const answer = await askOperator(state, "refuse", { transactionId, approver });
  return done(answer.withdrawal, null, options, terminal);
}

/** Does not ask for a yes that changes nothing. The signer judges again itself. */
function assertRefusable({ state, network, slot }: OperatorView): void {
  if (state === "held" || state === "approved" || state === "refused") return;
  const isClosed = closed.includes(state);
  const code = isClosed ? "WITHDRAWAL_CLOSED" : "WITHDRAWAL_HAS_SLOT";
  throw new AgentError(
    code,
    "none",
    `${codes[code].meaning} (${isClosed ? state : saySlot(network, slot)})`,
  );
}

const closed: readonly OperatorView["state"][] = [
  "paid",
  "reverted",
  "conflicted",
  "expired",
  "cancelled",
  "moved",
];

/**
 * The name that stands in the ledger. A user of the socket may give any name: it is only a claim,
 * and `show` says so.
 * @throws AgentError COMMAND_USAGE
 */
export function approverOf({ as }: Pick<DecideOptions, "as">, terminal: Terminal): string {
  const name = as ?? terminal.user;
  if (/^[\x21-\x7e]+$/.test(name) && name.length <= approverMax) return name;
  throw new AgentError(
    "COMMAND_USAGE",
    "none",
    `${JSON.stringify(name.slice(0, 80))} cannot stand in the ledger as a name: 1 to ${approverMax} visible ASCII characters`,
    { hint: "say who decides with --as NAME" },
  );
}

/** "" when none was given. @throws AgentError ADDRESS_* */
function addressFrom(given: string, network: string): string {
  if (given === "") return "";
  const parsed = parseAddress(given, network);
  if (!parsed.ok)
    throw new AgentError(
      parsed.code,
      "none",
      `${JSON.stringify(given.slice(0, 100))} cannot be paid to`,
    );
  return parsed.address;
}

/**
 * The address to send along, only for a withdrawal without one. For a withdrawal with an address,
 * --address may only repeat it.
 */
function addressToSend(own: string, given: string, transactionId: string): string {
  if (own === "" && given === "") {
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      `withdrawal ${transactionId} has no address yet`,
      {
        hint: `${commandOfStateEnd(agentStateEnds.withdrawals.held, { ID: transactionId })} --address ADDRESS`,
      },
    );
  }
  if (own === "") return given;
  if (given === "" || own === given) return "";
  throw new AgentError("COMMAND_USAGE", "none", `the withdrawal goes to ${own}, not to ${given}`, {
    hint: "refuse it and ask for a new one: an address is never changed",
  });
}

/**
 * Shows the complete withdrawal and, right above the question, the transactions on chain that may
 * have paid it.
 */
async function decidedUpon(
  state: StateFolder,
  { withdrawal, wait, outgoing }: Pick<OperatorAnswers["show"], "withdrawal" | "wait" | "outgoing">,
  { columns }: Terminal,
): Promise<string> {
  // Without a recovery there are no outgoing transactions to compare.
  const isCompared =
    withdrawal.code === "RECOVERY_HOLD" && isHoldingWithdrawals(await statusIfAny(state));
  return `${describeWithdrawal(withdrawal, wait, { outgoing, isCompared })}${outgoingWordsOf(outgoing, columns)}\n`;
}

async function confirmed(
  act: "approve" | "refuse",
  withdrawal: OperatorView,
  options: DecideOptions,
  terminal: Terminal,
): Promise<void> {
  if (options.yes === true) return;
  if (!terminal.isInteractive) {
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      `${act} asks for a yes on a terminal, and this is none`,
      {
        hint: `when all of it is right: ${typedCommand(`${act} ${withdrawal.transactionId} --yes`)}`,
      },
    );
  }
  const question =
    act === "approve"
      ? "approve it, so that it is paid? (yes/no) "
      : "refuse it for good? (yes/no) ";
  if (!(await terminal.confirm(question)))
    throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
}

function done(
  withdrawal: OperatorView,
  wait: WaitView | null,
  options: DecideOptions,
  terminal: Terminal,
): number {
  const { state, address } = withdrawal;
  const sum = payoutAmountWords(withdrawal);
  const first = wait?.confirmed ?? null;
  if (options.json === true)
    terminal.out(`${formatTerminalSafeJson({ ok: true, withdrawal, wait })}\n`);
  else if (first !== null)
    terminal.out(
      `still ${state}: ${sum} to ${first.address}\n` +
        `the first yes is ${first.approver}'s; approve under another name lets it be paid, refuse ends it\n`,
    );
  else terminal.out(`now ${state}: ${sum} to ${address}\n`);
  return exitCodes.fine;
}
