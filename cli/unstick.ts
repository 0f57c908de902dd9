/**
 * `replace` and `cancel`: a person helps a withdrawal whose slot comes into no block. The signer
 * first says what it would sign; that is shown with what it means on chain, and the yes is to
 * exactly that version.
 */

import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/verdict.ts";
import type { UnstickPlan, WithdrawalView } from "../agent/socket/verbs.ts";
import { familyOf, saySlot } from "../chains/families.ts";
import type { TypedFees } from "../chains/family.ts";
import { formatAmount } from "../protocol/amount.ts";
import { AgentError } from "../protocol/fault.ts";
import { approverOf } from "./decide.ts";
import { askOperator } from "./operator.ts";
import { fields, type Terminal, wrapped } from "./terminal.ts";
import { typed } from "./typed.ts";
import { describe } from "./withdrawals.ts";

const wordsWidth = 62;

/** @public */
export interface UnstickOptions extends TypedFees {
  readonly yes?: boolean | undefined;
  readonly as?: string | undefined;
  readonly json?: boolean | undefined;
}

/**
 * Shows the version that would be signed, asks, and has it signed.
 * @throws AgentError COMMAND_*, WITHDRAWAL_*, UNSTICK_*, POLICY_FEE_*, SIGNER_*
 * @public
 */
export async function unstick(
  state: StateFolder,
  act: "replace" | "cancel",
  transactionId: string,
  options: UnstickOptions,
  terminal: Terminal,
): Promise<number> {
  const approver = approverOf(options, terminal);
  const { network } = (await askOperator(state, "show", { transactionId })).withdrawal;
  const typedFees = familyOf(network).fees.typed(options);
  if (!typedFees.ok) throw new AgentError("COMMAND_USAGE", "none", typedFees.problem);
  const wish = { transactionId, act, approver, facts: typedFees.facts };
  const { withdrawal, plan } = await askOperator(state, "unstick", { ...wish, plan: null });
  if (options.json !== true) terminal.out(`${describe(withdrawal, null)}${planWords(withdrawal, plan)}`);
  await confirmed(act, transactionId, options, terminal);
  const done = await askOperator(state, "unstick", { ...wish, plan });
  if (options.json === true) terminal.out(`${JSON.stringify({ ok: true, ...done })}\n`);
  else {
    const made = done.withdrawal.versions.find(({ version }) => version === plan.version);
    terminal.out(`signed version ${plan.version}${made === undefined ? "" : `, ${made.txHash}`}\n${afterWords[plan.act]}\n`);
  }
  return exitCodes.fine;
}

const afterWords = {
  replace: "it leaves as soon as the gateway has confirmed it; show follows it",
  cancel: "it leaves as soon as the gateway has confirmed it; show says which of the versions the chain takes",
} as const;

async function confirmed(act: string, id: string, options: UnstickOptions, terminal: Terminal): Promise<void> {
  if (options.yes === true) return;
  if (!terminal.isInteractive) {
    throw new AgentError("COMMAND_USAGE", "none", `${act} asks for a yes on a terminal, and this is none`, {
      hint: `when all of it is right: ${typed(`${act} ${id} --yes`)}`,
    });
  }
  if (!(await terminal.confirm("sign it? (yes/no) ")))
    throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
}

/** Everything that a yes is a yes to, and the meaning of it on chain. */
function planWords(withdrawal: WithdrawalView, plan: UnstickPlan): string {
  const before = withdrawal.versions.at(-1);
  const { fees } = familyOf(withdrawal.network);
  const rows: (readonly [string, string])[] = [
    ["will sign", `version ${plan.version} on ${saySlot(withdrawal.network, withdrawal.slot)}`],
    ["pays", plan.act === "cancel" ? `nothing, to ${withdrawal.account} itself` : `the same, with a higher fee`],
    ...fees.rows(plan.facts, before?.facts ?? null, `version ${before?.version}`),
    ["fee at most", formatAmount(fees.most(plan.facts), fees.decimal)],
  ];
  const lines = wrapped(onChain(withdrawal, plan), wordsWidth);
  return `\n${fields([...rows, ...lines.map((line, at) => [at === 0 ? "on chain" : "", line] as const)])}\n`;
}

function onChain({ network, slot, state, versions, amount, currency }: WithdrawalView, { act }: UnstickPlan): string {
  const oneOf = `one version of ${slot === "" ? "it" : saySlot(network, slot)} comes into a block`;
  const isCancelled = versions.some(({ isCancel }) => isCancel === true);
  if (act === "replace") return `${oneOf}, never two: ${amount} ${currency} is paid once`;
  if (isCancelled) return `it was cancelled before, so a dearer version of it pays nothing either`;
  const paying = state !== "quarantined" || versions.some(({ isOut, raw }) => isOut === true || raw !== undefined);
  return paying
    ? `${oneOf}: an earlier one, and ${amount} ${currency} is paid, or this one, and nothing is ` +
        `paid and the order ends as failed; nothing that pays is signed for it any more`
    : `nothing of it ever left, so nothing is paid: the order ends as failed, and nothing that pays is signed for it any more`;
}
