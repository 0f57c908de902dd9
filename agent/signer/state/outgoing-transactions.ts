/**
 * Final transactions of the account that the gateway could not explain, compared with the orders of
 * this ledger. If both sides were restored, each may be a payment that both have forgotten. Pure.
 * Source: docs/protocol.md section 8.
 */
import type { UnexplainedRecoveryTransaction } from "../../../protocol/recovery.ts";
import { canonicalAddress } from "./content.ts";
import type { Core } from "./core.ts";
import { amountUnitsOf } from "./view.ts";
import type { Withdrawal } from "./withdrawal.ts";

/**
 * Returns the transactions that may have paid this withdrawal: the same receiver, or the same asset
 * and amount. `given` is the address that an operator would give to a withdrawal without one.
 */
export function listPossiblePayments(
  core: Core,
  withdrawal: Withdrawal,
  given = "",
): readonly UnexplainedRecoveryTransaction[] {
  const { job } = withdrawal;
  const address = withdrawal.address || canonicalAddress(job.network, given);
  return (core.recovered?.outgoing ?? []).filter(
    (outgoingTx) =>
      outgoingTx.network === job.network &&
      ((address !== "" && outgoingTx.receiver === address) ||
        isAmountOf(core, withdrawal, outgoingTx)),
  );
}

/**
 * Returns, in their order, the transactions for which no order since the recovery asks. One order
 * explains one transaction with its asset, amount, receiver and tag. An order that an operator
 * approved explains none, because it is paid once more. Empty after the hold.
 */
export function listUnorderedOutgoing(core: Core): readonly UnexplainedRecoveryTransaction[] {
  const { recovered, book } = core;
  if (recovered === null || recovered.outgoing.length === 0) return [];
  const known = [...book.open(), ...book.recent()];
  const ours = new Set(known.flatMap(({ attempts }) => attempts.map(({ txHash }) => txHash)));
  const isSince = ({ history }: Withdrawal): boolean => (history[0]?.seq ?? 0) > recovered.seq;
  const unpaid = ["requested", "held", "refused"];
  const waiting = new Set(known.filter((one) => isSince(one) && unpaid.includes(one.state)));
  // An order without an address takes what the orders with an address have left.
  const take = (outgoingTx: UnexplainedRecoveryTransaction, receiver: string): boolean => {
    const isPaidBy = (one: Withdrawal): boolean =>
      one.job.network === outgoingTx.network &&
      one.address === receiver &&
      isSame(core, one, outgoingTx);
    const found = [...waiting].find(isPaidBy);
    return found !== undefined && waiting.delete(found);
  };
  return recovered.outgoing
    .filter(({ txHash }) => !ours.has(txHash))
    .filter((outgoingTx) => !take(outgoingTx, outgoingTx.receiver))
    .filter((outgoingTx) => !take(outgoingTx, ""));
}

function isSame(
  core: Core,
  withdrawal: Withdrawal,
  outgoingTx: UnexplainedRecoveryTransaction,
): boolean {
  return (outgoingTx.tag ?? "") === withdrawal.job.tag && isAmountOf(core, withdrawal, outgoingTx);
}

function isAmountOf(
  core: Core,
  withdrawal: Withdrawal,
  { contract, units }: UnexplainedRecoveryTransaction,
): boolean {
  return (
    contract === core.policy.asset(withdrawal.job.currency)?.contract &&
    units === amountUnitsOf(withdrawal, core.policy)
  );
}
