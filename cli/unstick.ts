/**
 * `replace` and `cancel`: a person helps a withdrawal whose nonce comes into no block. The signer
 * first says what it would sign; that is shown with what it means on chain, and the yes is to
 * exactly that version.
 */

import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/verdict.ts";
import type { UnstickPlan, WithdrawalView } from "../agent/socket/verbs.ts";
import { families, familyOf } from "../chains/families.ts";
import { formatAmount, parseAmount } from "../protocol/amount.ts";
import { AgentError } from "../protocol/fault.ts";
import { approverOf } from "./decide.ts";
import { askOperator } from "./operator.ts";
import { fields, type Terminal, wrapped } from "./terminal.ts";
import { typed } from "./typed.ts";
import { describe } from "./withdrawals.ts";

const gweiDecimal = families.evm.fees.tipDecimal;
const wordsWidth = 62;

/** @public */
export interface UnstickOptions {
  readonly maxFee?: string | undefined; // gwei per gas
  readonly tip?: string | undefined; // gwei per gas
  readonly gas?: string | undefined;
  readonly dataFee?: string | undefined; // gwei, beside the gas
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
  const wish = {
    ...{ transactionId, act, approver },
    facts: {
      gasLimit: gasFrom(options.gas),
      ...{ maxFeePerGas: weiFrom("--max-fee", options.maxFee), maxPriorityFeePerGas: weiFrom("--tip", options.tip) },
      ...(options.dataFee === undefined ? {} : { dataFee: weiFrom("--data-fee", options.dataFee) }),
    },
  };
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
    ["will sign", `version ${plan.version} on nonce ${withdrawal.slot}`],
    ["pays", plan.act === "cancel" ? `nothing, to ${withdrawal.account} itself` : `the same, with a higher fee`],
    ...fees.rows(plan.facts, before?.facts ?? null, `version ${before?.version}`),
    ["fee at most", formatAmount(fees.most(plan.facts), fees.decimal)],
  ];
  const lines = wrapped(onChain(withdrawal, plan), wordsWidth);
  return `\n${fields([...rows, ...lines.map((line, at) => [at === 0 ? "on chain" : "", line] as const)])}\n`;
}

function onChain({ slot, state, versions, amount, currency }: WithdrawalView, { act }: UnstickPlan): string {
  const isCancelled = versions.some(({ isCancel }) => isCancel === true);
  if (act === "replace") return `one version of nonce ${slot} comes into a block, never two: ${amount} ${currency} is paid once`;
  if (isCancelled) return `it was cancelled before, so a dearer version of it pays nothing either`;
  const paying = state !== "quarantined" || versions.some(({ isOut, raw }) => isOut === true || raw !== undefined);
  return paying
    ? `one version of nonce ${slot} comes into a block: an earlier one, and ${amount} ${currency} is paid, or this one, and nothing is ` +
        `paid and the order ends as failed; nothing that pays is signed for it any more`
    : `nothing of it ever left, so nothing is paid: the order ends as failed, and nothing that pays is signed for it any more`;
}

function weiFrom(option: string, given: string | undefined): string {
  if (given === undefined) return "";
  const parsed = parseAmount(given, gweiDecimal);
  if (parsed.ok) return parsed.units.toString();
  if (parsed.code === "AMOUNT_ZERO") return "0";
  throw new AgentError(
    "COMMAND_USAGE",
    "none",
    `${option} must be gwei${option === "--data-fee" ? "" : " per gas"}, such as 12.5`,
  );
}

function gasFrom(given: string | undefined): string {
  if (given === undefined) return "";
  if (/^[1-9]\d{0,8}$/.test(given)) return given;
  throw new AgentError("COMMAND_USAGE", "none", "--gas must be a whole number of gas, such as 65000");
}
