/**
 * `replace` and `cancel`: an operator helps a withdrawal whose slot gets into no block. The signer
 * first returns the attempt that it would sign. The command shows it with its meaning on chain, and
 * the yes is to exactly this attempt.
 */

import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/verdict.ts";
import type { OperatorView, UnstickPlan } from "../agent/socket/verbs.ts";
import { AgentError } from "../base/fault.ts";
import { jsonText } from "../base/visible.ts";
import { familyOf, saySlot, waitingOf } from "../chains/families.ts";
import type { TypedFees } from "../chains/family.ts";
import { feeWords, sumWords } from "./amounts.ts";
import { approverOf } from "./decide.ts";
import { askOperator } from "./operator.ts";
import { fields, type Terminal, wrapped } from "./terminal.ts";
import { typed } from "./typed.ts";
import { describe } from "./withdrawals.ts";

const wordsWidth = 62;

export interface UnstickOptions extends TypedFees {
  readonly yes?: boolean | undefined;
  readonly as?: string | undefined;
  readonly json?: boolean | undefined;
}

/**
 * Shows the attempt that would be signed, asks, and orders its signature.
 * @throws AgentError COMMAND_*, WITHDRAWAL_*, UNSTICK_*, POLICY_FEE_*, SIGNER_*
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
  await confirmed(act, transactionId, options, terminal, isOrder(withdrawal) ? `${act} it?` : "sign it?");
  const done = await askOperator(state, "unstick", { ...wish, plan });
  if (options.json === true) terminal.out(`${jsonText({ ok: true, ...done })}\n`);
  else if (isOrder(withdrawal)) terminal.out(`${orderedWords(done.withdrawal, plan)}\n`);
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

/**
 * On a chain with exclusion by expiry, the operator's decision signs nothing: the courier starts
 * another attempt, or none follows.
 */
function isOrder({ network }: OperatorView): boolean {
  return waitingOf(network) !== null;
}

function orderedWords({ state }: OperatorView, { act, version }: UnstickPlan): string {
  if (act === "replace")
    return `ordered: the courier has version ${version} made with its next look at the chain; show follows it`;
  return state === "expired"
    ? "cancelled: nothing was paid, and the order ends as failed"
    : "ordered: no other version is made; the withdrawal ends when the last one is dead, unless that one is paid; show follows it";
}

async function confirmed(act: string, id: string, options: UnstickOptions, terminal: Terminal, question: string): Promise<void> {
  if (options.yes === true) return;
  if (!terminal.isInteractive) {
    throw new AgentError("COMMAND_USAGE", "none", `${act} asks for a yes on a terminal, and this is none`, {
      hint: `when all of it is right: ${typed(`${act} ${id} --yes`)}`,
    });
  }
  if (!(await terminal.confirm(`${question} (yes/no) `)))
    throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
}

/** Everything to which a yes agrees, and its meaning on chain. */
function planWords(withdrawal: OperatorView, plan: UnstickPlan): string {
  if (isOrder(withdrawal)) return orderWords(withdrawal, plan);
  const before = withdrawal.versions.at(-1);
  const { fees } = familyOf(withdrawal.network);
  const rows: (readonly [string, string])[] = [
    ["will sign", `version ${plan.version} on ${saySlot(withdrawal.network, withdrawal.slot)}`],
    ["pays", plan.act === "cancel" ? `nothing, to ${withdrawal.account} itself` : `the same, with a higher fee`],
    ...fees.rows(plan.facts, before?.facts ?? null, `version ${before?.version}`),
    ["fee at most", feeWords(fees.most(plan.facts), withdrawal.network)],
  ];
  const lines = wrapped(onChain(withdrawal, plan), wordsWidth);
  return `\n${fields([...rows, ...lines.map((line, at) => [at === 0 ? "on chain" : "", line] as const)])}\n`;
}

/** The effect of an operator's decision on a chain without replacements. */
function orderWords(withdrawal: OperatorView, { act, version }: UnstickPlan): string {
  const sum = sumWords(withdrawal);
  const isDead = withdrawal.versions.every(({ dead }) => dead === "both");
  const does =
    act === "replace"
      ? `the courier has version ${version} made, by the market of that moment and within the limits`
      : "no other version is made, whatever comes";
  const means =
    act === "replace"
      ? `every version so far is dead, as the gateway and the courier have said: no block takes one of them any more, ` +
        `so ${sum} is paid once`
      : isDead
        ? `every version is dead: nothing is paid, and the order ends as failed now`
        : `a version may still come into a block, and then ${sum} is paid; when the last one is dead, ` +
          `nothing is paid and the order ends as failed`;
  const lines = [["does", does] as const, ["on chain", means] as const].flatMap(([name, text]) =>
    wrapped(text, wordsWidth).map((line, at) => [at === 0 ? name : "", line] as const),
  );
  return `\n${fields(lines)}\n`;
}

function onChain(withdrawal: OperatorView, { act }: UnstickPlan): string {
  const { network, slot, state, versions } = withdrawal;
  const sum = sumWords(withdrawal);
  const oneOf = `one version of ${slot === "" ? "it" : saySlot(network, slot)} comes into a block`;
  const isCancelled = versions.some(({ isCancel }) => isCancel === true);
  if (act === "replace") return `${oneOf}, never two: ${sum} is paid once`;
  if (isCancelled) return `it was cancelled before, so a dearer version of it pays nothing either`;
  const paying = state !== "quarantined" || versions.some(({ isOut, raw }) => isOut === true || raw !== undefined);
  return paying
    ? `${oneOf}: an earlier one, and ${sum} is paid, or this one, and nothing is ` +
        `paid and the order ends as failed; nothing that pays is signed for it any more`
    : `nothing of it ever left, so nothing is paid: the order ends as failed, and nothing that pays is signed for it any more`;
}
