/**
 * `end`: an operator ends a withdrawal that no block takes, a sweep whose slot the chain cannot
 * reach, a payment below its account's first slot, or a payment or sweep whose coin no node shows.
 * Shows what the nodes say and the possible
 * fate of the signed bytes; the yes is to exactly this slot.
 */

import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import type { EndPlan } from "../agent/socket/stuck.ts";
import type { OperatorView } from "../agent/socket/verbs.ts";
import { agentStateEnds } from "../agent/state-ends.ts";
import { AgentError } from "../base/fault.ts";
import { formatTerminalSafeJson } from "../base/visible.ts";
import { saySlot } from "../chains/families.ts";
import { isInternalMode } from "../protocol/job-mode.ts";
import { feeWords, payoutAmountWords } from "./amounts.ts";
import { commandOfStateEnd } from "./command-hint.ts";
import { approverOf } from "./decide.ts";
import { askOperator } from "./operator.ts";
import { fieldLines, type Terminal, wrapText } from "./terminal.ts";
import { describeWithdrawal } from "./withdrawals.ts";

const wordsWidth = 62;

export interface EndOptions {
  readonly yes?: boolean | undefined;
  readonly as?: string | undefined;
  readonly json?: boolean | undefined;
}

/**
 * @throws AgentError COMMAND_*, WITHDRAWAL_*, REPLACEMENT_*, SIGNER_*
 */
export async function runEnd(
  state: StateFolder,
  transactionId: string,
  options: EndOptions,
  terminal: Terminal,
): Promise<number> {
  const approver = approverOf(options, terminal);
  const { withdrawal, plan } = await askOperator(state, "end", {
    transactionId,
    slot: "",
    approver,
  });
  if (options.json !== true)
    terminal.out(`${describeWithdrawal(withdrawal, null)}${planWords(withdrawal, plan)}`);
  if (options.yes !== true) await confirmed(transactionId, terminal);
  const done = await askOperator(state, "end", { transactionId, slot: plan.slot, approver });
  if (options.json === true) terminal.out(`${formatTerminalSafeJson({ ok: true, ...done })}\n`);
  else terminal.out(`${doneWords(done.withdrawal, done.plan)}\n`);
  return exitCodes.fine;
}

const endLine = (id: string): string =>
  commandOfStateEnd(agentStateEnds.signer.unreachable, { ID: id });

async function confirmed(id: string, terminal: Terminal): Promise<void> {
  if (!terminal.isInteractive) {
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      "end asks for a yes on a terminal, and this is none",
      {
        hint: `when all of it is right: ${endLine(id)} --yes`,
      },
    );
  }
  if (!(await terminal.confirm("end it? (yes/no) ")))
    throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
}

function doneWords({ mode, transactionId, code }: OperatorView, { isFirstYes }: EndPlan): string {
  if (isFirstYes === true)
    return `the first yes of two: another operator types ${endLine(transactionId)}`;
  if (code === "SLOT_UNREACHABLE")
    return "ended: the shop hears that it failed (slot_unreachable), and may renew the order";
  return mode === "sweep" || mode === "topup"
    ? "ended: the gateway gives its place back when it learns of it, and may order another sweep"
    : "ended: the shop hears that it failed (coin_unknown), and may renew the order; never pay it by hand";
}

function planWords(one: OperatorView, plan: EndPlan): string {
  if (plan.pin !== undefined) return coinWords(one, plan);
  return plan.began === undefined ? slotWords(one, plan) : belowWords(one, plan, plan.began);
}

/** The bytes stay signed, and the words say why nobody can use them. */
function belowWords(
  { network, account, slot }: OperatorView,
  { counted, isFirstYes }: EndPlan,
  began: string,
): string {
  const onChain =
    `no ledger takes ${saySlot(network, slot)}: an account begins at the number of the ledger that made it, and only rises from there. ` +
    "No ledger before has it, since the account was not there when the order was made";
  const does =
    "the payment ends as expired; the shop hears Failed, slot_unreachable, and may renew the order";
  const rows = [
    ["began", `${account} at ${saySlot(network, began)}, as the nodes of both sides show`],
    ["nodes count", counted],
    ...wrapText(onChain, wordsWidth).map((line, at) => [at === 0 ? "on chain" : "", line] as const),
    ...wrapText(does, wordsWidth).map((line, at) => [at === 0 ? "does" : "", line] as const),
    ...(isFirstYes === true
      ? [["yes", "the first of two: another operator gives the second"] as const]
      : []),
  ] as const;
  return `\n${fieldLines(rows)}\n`;
}

/** No slot excludes, so the words say what may still be paid, and by which money. */
function coinWords(one: OperatorView, { pin = "", owed = [], isFirstYes }: EndPlan): string {
  const own = isInternalMode(one.mode);
  const alone = own
    ? `then the signed bytes move ${payoutAmountWords(one)} to your own hot wallet`
    : `then the signed bytes may still pay ${payoutAmountWords(one)} beside a renewal, with money that is not in the wallet today`;
  const onChain = `no block takes it while that coin does not exist. If the coin appears after all, ${
    owed.length === 0
      ? alone
      : "its renewal spends a coin that the signed bytes spend too, so only one of the two is paid"
  }. Look the coin up in a block explorer first: where it is there, say no`;
  const does = own
    ? "the sweep ends as expired; the gateway may order another one"
    : "the payment ends as expired; the shop hears Failed, coin_unknown, and may renew the order. Pay nothing by hand";
  const rows = [
    ["coin", pin.slice(0, pin.lastIndexOf(":"))],
    [
      "nodes",
      "neither side's nodes have shown it for 24 hours of chain time, in blocks and mempools",
    ],
    ...owed.map(
      (coin) => ["owed", `its renewal spends ${coin.slice(0, coin.lastIndexOf(":"))}`] as const,
    ),
    ...wrapText(onChain, wordsWidth).map((line, at) => [at === 0 ? "on chain" : "", line] as const),
    ...wrapText(does, wordsWidth).map((line, at) => [at === 0 ? "does" : "", line] as const),
    ...(isFirstYes === true
      ? [["yes", "the first of two: another operator gives the second"] as const]
      : []),
  ] as const;
  return `\n${fieldLines(rows)}\n`;
}

function slotWords(one: OperatorView, { counted }: EndPlan): string {
  const { network, slot, account, attempts } = one;
  const dearest =
    attempts.map(({ feeMax }) => BigInt(feeMax)).sort((a, b) => (a < b ? 1 : -1))[0] ?? 0n;
  const fee = feeWords(dearest, network);
  const onChain =
    `no block takes ${saySlot(network, slot)} before all below it are used, and nobody fills them. The signed bytes stay ` +
    `good: if the count ever comes there, one of them may pay ${payoutAmountWords(one)} to your own ` +
    `hot wallet, or fail; either costs at most ${fee}. Nothing can go to anybody else`;
  const rows = [
    ["nodes count", `${counted} final transactions of ${account}`],
    ["gateway", "its own nodes say so too"],
    ...wrapText(onChain, wordsWidth).map((line, at) => [at === 0 ? "on chain" : "", line] as const),
    ...wrapText("the sweep ends as expired, and its slot stays its own", wordsWidth).map(
      (line) => ["does", line] as const,
    ),
  ] as const;
  return `\n${fieldLines(rows)}\n`;
}
