/**
 * `replace` and `cancel`: an operator helps a withdrawal whose slot gets into no block. The signer
 * first returns the attempt that it would sign. The command shows it with its meaning on chain, and
 * the yes is to exactly this attempt.
 */

import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import type { OperatorView, ReplacementPlan } from "../agent/socket/verbs.ts";
import { AgentError } from "../base/fault.ts";
import { formatTerminalSafeJson } from "../base/visible.ts";
import { expiryExclusionOf, familyOf, saySlot } from "../chains/families.ts";
import { type FeeMarketTexts, readFeeMarket } from "../chains/fee-market.ts";
import type { TypedFees } from "../chains/offers.ts";
import { feeWords, payoutAmountWords } from "./amounts.ts";
import { typedCommand } from "./command-hint.ts";
import { approverOf } from "./decide.ts";
import { askOperator } from "./operator.ts";
import { fieldLines, type Terminal, wrapText } from "./terminal.ts";
import { describeWithdrawal } from "./withdrawals.ts";

const wordsWidth = 62;

export interface ReplacementOptions extends TypedFees {
  readonly yes?: boolean | undefined;
  readonly as?: string | undefined;
  readonly json?: boolean | undefined;
}

/**
 * Shows the attempt that would be signed, asks, and orders its signature.
 * @throws AgentError COMMAND_*, WITHDRAWAL_*, REPLACEMENT_*, POLICY_FEE_*, SIGNER_*
 */
export async function runManualReplacement(
  state: StateFolder,
  act: "replace" | "cancel",
  transactionId: string,
  options: ReplacementOptions,
  terminal: Terminal,
): Promise<number> {
  const approver = approverOf(options, terminal);
  const { network } = (await askOperator(state, "show", { transactionId })).withdrawal;
  const typedFees = familyOf(network).fees.typed(options);
  if (!typedFees.ok) throw new AgentError("COMMAND_USAGE", "none", typedFees.problem);
  const wish = { transactionId, act, approver, txParams: typedFees.txParams };
  const { withdrawal, plan, feeMarket } = await askOperator(state, "manualReplacement", {
    ...wish,
    plan: null,
  });
  if (options.json !== true)
    terminal.out(
      `${describeWithdrawal(withdrawal, null)}${planWords(withdrawal, plan, feeMarket)}`,
    );
  await confirmed(
    act,
    transactionId,
    options,
    terminal,
    isOrder(withdrawal) ? `${act} it?` : "sign it?",
  );
  const done = await askOperator(state, "manualReplacement", { ...wish, plan });
  if (options.json === true) terminal.out(`${formatTerminalSafeJson({ ok: true, ...done })}\n`);
  else if (isOrder(withdrawal)) terminal.out(`${orderedWords(done.withdrawal, plan)}\n`);
  else {
    const made = done.withdrawal.attempts.find(({ attempt }) => attempt === plan.attempt);
    terminal.out(
      `signed attempt ${plan.attempt}${made === undefined ? "" : `, ${made.txHash}`}\n${afterWords[plan.act]}\n`,
    );
  }
  return exitCodes.fine;
}

const afterWords = {
  replace: "it leaves as soon as the gateway has confirmed it; show follows it",
  cancel:
    "it leaves as soon as the gateway has confirmed it; show says which of the attempts the chain takes",
} as const;

/**
 * On a chain with exclusion by expiry, the operator's decision signs nothing: the courier starts
 * another attempt, or none follows.
 */
function isOrder({ network }: OperatorView): boolean {
  return expiryExclusionOf(network) !== null;
}

function orderedWords({ state }: OperatorView, { act, attempt }: ReplacementPlan): string {
  if (act === "replace")
    return `ordered: the courier has attempt ${attempt} made with its next look at the chain; show follows it`;
  return state === "expired"
    ? "cancelled: nothing was paid, and the order ends as failed"
    : "ordered: no other attempt is made; the withdrawal ends when the last one is void, unless that one is paid; show follows it";
}

async function confirmed(
  act: string,
  id: string,
  options: ReplacementOptions,
  terminal: Terminal,
  question: string,
): Promise<void> {
  if (options.yes === true) return;
  if (!terminal.isInteractive) {
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      `${act} asks for a yes on a terminal, and this is none`,
      {
        hint: `when all of it is right: ${typedCommand(`${act} ${id} --yes`)}`,
      },
    );
  }
  if (!(await terminal.confirm(`${question} (yes/no) `)))
    throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
}

/** Everything to which a yes agrees, and its meaning on chain. */
function planWords(
  withdrawal: OperatorView,
  plan: ReplacementPlan,
  feeMarket: FeeMarketTexts | null,
): string {
  if (isOrder(withdrawal)) return orderWords(withdrawal, plan);
  const before = withdrawal.attempts.at(-1);
  const { fees } = familyOf(withdrawal.network);
  const rows: (readonly [string, string])[] = [
    ["will sign", `attempt ${plan.attempt} on ${saySlot(withdrawal.network, withdrawal.slot)}`],
    [
      "pays",
      plan.act === "cancel"
        ? `nothing, to ${withdrawal.account} itself`
        : `the same, with a higher fee`,
    ],
    ...fees.rows(plan.txParams, before?.txParams ?? null, `attempt ${before?.attempt}`),
    ["fee at most", feeWords(fees.most(plan.txParams), withdrawal.network)],
  ];
  return `\n${fieldLines([...rows, ...marketRows(withdrawal, plan, feeMarket), ...wrappedRow("on chain", onChain(withdrawal, plan))])}\n`;
}

/** The fee market of the moment, and a warning if no block takes the offer at it. */
function marketRows(
  { network }: OperatorView,
  { txParams }: ReplacementPlan,
  feeMarket: FeeMarketTexts | null,
): readonly (readonly [string, string])[] {
  const { bidding } = familyOf(network).fees;
  if (feeMarket === null || bidding === null)
    return wrappedRow(
      "market now",
      "not known: the chain's nodes do not answer the courier; status shows why",
    );
  const { now, tooLow } = bidding.beside(txParams, readFeeMarket(feeMarket));
  const warning = `${tooLow}. A higher offer: --max-fee, within maxFee of config.json`;
  return [
    ...wrappedRow("market now", now),
    ...(tooLow === "" ? [] : wrappedRow("WARNING", warning)),
  ];
}

function wrappedRow(name: string, text: string): readonly (readonly [string, string])[] {
  return wrapText(text, wordsWidth).map((line, at) => [at === 0 ? name : "", line] as const);
}

/** The effect of an operator's decision on a chain without replacements. */
function orderWords(withdrawal: OperatorView, { act, attempt }: ReplacementPlan): string {
  const sum = payoutAmountWords(withdrawal);
  const isVoid = withdrawal.attempts.every(({ voidBy }) => voidBy === "both");
  const does =
    act === "replace"
      ? `the courier has attempt ${attempt} made, by the market of that moment and within the limits`
      : "no other attempt is made, whatever comes";
  const means =
    act === "replace"
      ? `every attempt so far is void, as the gateway and the courier have said: no block takes one of them any more, ` +
        `so ${sum} is paid once`
      : isVoid
        ? `every attempt is void: nothing is paid, and the order ends as failed now`
        : `an attempt may still come into a block, and then ${sum} is paid; when the last one is void, ` +
          `nothing is paid and the order ends as failed`;
  return `\n${fieldLines([...wrappedRow("does", does), ...wrappedRow("on chain", means)])}\n`;
}

function onChain(withdrawal: OperatorView, { act }: ReplacementPlan): string {
  const { network, slot, state, attempts } = withdrawal;
  const sum = payoutAmountWords(withdrawal);
  const oneOf = `one attempt of ${slot === "" ? "it" : saySlot(network, slot)} comes into a block`;
  const isCancelled = attempts.some(({ isCancel }) => isCancel === true);
  if (act === "replace") return `${oneOf}, never two: ${sum} is paid once`;
  if (isCancelled)
    return `it was cancelled before, so a replacement with a higher fee of it pays nothing either`;
  const paying =
    state !== "quarantined" ||
    attempts.some(({ isOut, raw }) => isOut === true || raw !== undefined);
  return paying
    ? `${oneOf}: an earlier one, and ${sum} is paid, or this one, and nothing is ` +
        `paid and the order ends as failed; nothing that pays is signed for it any more`
    : `nothing of it ever left, so nothing is paid: the order ends as failed, and nothing that pays is signed for it any more`;
}
