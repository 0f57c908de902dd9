/**
 * Final transactions of the account that the gateway could not explain, compared with the orders of
 * this ledger. If both sides were restored, each may be a payment that both have forgotten. Pure.
 * Source: docs/protocol.md section 8.
 */
import type { RecoverySpend } from "../../../protocol/recovery.ts";
import { canonicalAddress } from "./content.ts";
import type { Core } from "./core.ts";
import { unitsOf } from "./view.ts";
import type { Withdrawal } from "./withdrawal.ts";

/**
 * Returns the transactions that may have paid this withdrawal: the same receiver, or the same asset
 * and amount. `given` is the address that an operator would give to a withdrawal without one.
 */
export function spendsLike(core: Core, withdrawal: Withdrawal, given = ""): readonly RecoverySpend[] {
  const { job } = withdrawal;
  const address = withdrawal.address || canonicalAddress(given);
  return (core.opened?.spends ?? []).filter(
    (spend) =>
      spend.network === job.network && ((address !== "" && spend.receiver === address) || isAmountOf(core, withdrawal, spend)),
  );
}

/**
 * Returns, in their order, the transactions for which no order since the recovery asks. One order
 * explains one transaction with its asset, amount and receiver. An order that an operator approved
 * explains none, because it is paid once more. Empty after the hold.
 */
export function spendsWithoutOrder(core: Core): readonly RecoverySpend[] {
  const { opened, book } = core;
  if (opened === null || opened.spends.length === 0) return [];
  const known = [...book.open(), ...book.recent()];
  const ours = new Set(known.flatMap(({ versions }) => versions.map(({ txHash }) => txHash)));
  const isSince = ({ history }: Withdrawal): boolean => (history[0]?.seq ?? 0) > opened.seq;
  const unpaid = ["requested", "held", "refused"];
  const waiting = new Set(known.filter((one) => isSince(one) && unpaid.includes(one.state)));
  // An order without an address takes what the orders with an address have left.
  const take = (spend: RecoverySpend, receiver: string): boolean => {
    const isPaidBy = (one: Withdrawal): boolean =>
      one.job.network === spend.network && one.address === receiver && isAmountOf(core, one, spend);
    const found = [...waiting].find(isPaidBy);
    return found !== undefined && waiting.delete(found);
  };
  return opened.spends
    .filter(({ txHash }) => !ours.has(txHash))
    .filter((spend) => !take(spend, spend.receiver))
    .filter((spend) => !take(spend, ""));
}

function isAmountOf(core: Core, withdrawal: Withdrawal, { contract, units }: RecoverySpend): boolean {
  return contract === core.policy.asset(withdrawal.job.currency)?.contract && units === unitsOf(withdrawal, core.policy);
}
