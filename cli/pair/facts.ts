/** What pairing binds of config.json: networks and payable currencies, in the order and form the transcript demands. Pure. */
import type { AgentSettings } from "../../agent/config/settings.ts";
import { nativeDecimal, networkOf } from "../../chains/evm/network.ts";
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import { invariant } from "../../protocol/fault.ts";
import type { PairedCurrency } from "../../protocol/messages.ts";

/** Names by CAIP-2, e.g. eip155:1; sorted, without repeats. */
export function networksOf({ chains }: AgentSettings): readonly string[] {
  return [...new Set(Object.values(chains).map(({ chainId }) => networkOf(chainId)))].sort();
}

/** The currencies that have a policy, sorted by id: the others are not payable. */
export function currenciesOf({ chains, currencies, policy }: AgentSettings): readonly PairedCurrency[] {
  return Object.keys(policy)
    .sort()
    .map((id) => {
      const currency = currencies[id];
      const chain = currency === undefined ? undefined : chains[currency.chain];
      const limits = policy[id];
      invariant(currency !== undefined && chain !== undefined && limits !== undefined, "config.json was checked against itself");
      const fee = parseAmount(limits.maxFee, nativeDecimal);
      const maxFee = formatAmount(fee.ok ? fee.units : 0n, nativeDecimal);
      return { id, network: networkOf(chain.chainId), contract: currency.contract ?? "", decimal: currency.decimal, maxFee };
    });
}
