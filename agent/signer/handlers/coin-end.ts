/**
 * The end of a withdrawal whose pin no node shows. Gateway and courier must both have seen nothing
 * of the transaction that made it for a day of chain time, in blocks and mempools. The signed bytes
 * stay good if that coin appears after all. An attempt of a payment that spends it alone could then
 * pay only money that is not in the wallet today; where an attempt has coins beside it, the renewal
 * has to spend one of each such attempt, named by the gateway in this run (`OwedCoins`). Touches
 * nothing.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import { pinExclusionOf } from "../../../chains/families.ts";
import { isInternal } from "../../../protocol/job-mode.ts";
import type { EndPlan } from "../../socket/stuck.ts";
import { owedMax } from "../state/owed-coins.ts";
import { isInNoBlock, pinOf, type Withdrawal } from "../state/withdrawal.ts";
import { shownReason } from "./coin-looks.ts";
import type { RequestContext } from "./context.ts";

/** Returns the plan, or why the withdrawal may still be paid. */
export function planCoinEnd(
  context: RequestContext,
  withdrawal: Withdrawal,
): { readonly ok: true; readonly plan: EndPlan } | Refusal {
  const { run, core } = context;
  const { transactionId, slot } = withdrawal;
  if (!isInNoBlock(withdrawal))
    return refuse("REPLACEMENT_REACHABLE", "the courier's nodes show it in a block");
  // A ledger restored from a backup may have forgotten an end that the gateway holds.
  if (!run.endable.has(transactionId) && !withdrawal.isEnded)
    return refuse(
      "REPLACEMENT_REACHABLE",
      "the gateway's nodes have not missed its coin for 24 hours",
    );
  const shown = shownReason(context, withdrawal);
  if (shown !== null) return refuse("REPLACEMENT_REACHABLE", shown);
  const owed = isInternal(withdrawal.job.mode)
    ? { ok: true as const, coins: [] }
    : owedBy(context, withdrawal);
  if (!owed.ok) return owed;
  if (core.owed.size >= owedMax)
    return refuse(
      "REPLACEMENT_REACHABLE",
      `${owedMax} renewals of such payments are to come first`,
    );
  return { ok: true, plan: { slot, counted: "", pin: pinOf(withdrawal), owed: owed.coins } };
}

/**
 * The coins that the renewal has to spend: one of each attempt that spends others beside the pin,
 * the fewest found. The chain shows whether a named one is spent, and none else is known to exist.
 */
function owedBy(
  { run }: RequestContext,
  { job, account, attempts }: Withdrawal,
): { readonly ok: true; readonly coins: readonly string[] } | Refusal {
  const exclusion = pinExclusionOf(job.network);
  const coins: string[] = [];
  const paying = attempts.filter(({ txHash, isCancel }) => txHash !== "" && !isCancel);
  for (const { attempt, txParams } of paying) {
    if (txParams === null)
      return refuse(
        "REPLACEMENT_REACHABLE",
        `the coins of attempt ${attempt} are not known since the recovery`,
      );
    const [, ...others] = exclusion?.coins(txParams) ?? [];
    if (others.length === 0 || others.some((coin) => coins.includes(coin))) continue;
    const named = others.filter((coin) =>
      run.sightings.names({ network: job.network, account }, coin),
    );
    const found =
      named.find((coin) => paying.every((one) => isIn(one.txParams, coin, job.network))) ??
      named[0];
    if (found === undefined)
      return refuse(
        "REPLACEMENT_REACHABLE",
        `the gateway has named none of the coins beside it in attempt ${attempt} in this run`,
      );
    coins.push(found);
  }
  return { ok: true, coins };
}

/** True if an attempt spends the coin, or no other coin than the pin. */
function isIn(
  txParams: Withdrawal["attempts"][number]["txParams"],
  coin: string,
  network: string,
): boolean {
  const [, ...others] =
    txParams === null ? [""] : (pinExclusionOf(network)?.coins(txParams) ?? [""]);
  return others.length === 0 || others.includes(coin);
}
