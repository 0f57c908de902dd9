/**
 * The values of config.json that pairing binds: networks and payable currencies, in the order and
 * form that the transcript demands. Also the addresses of the wallet for the operator. Pure.
 */
import type { AgentSettings } from "../../agent/config/settings.ts";
import { invariant } from "../../base/fault.ts";
import { families, familyOf, networkOf } from "../../chains/families.ts";
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import type { PairedAccount, PairedCurrency } from "../../protocol/messages.ts";

/** Names by CAIP-2, e.g. eip155:1; sorted, without repeats. */
export function networksOf({ chains }: AgentSettings): readonly string[] {
  return [...new Set(Object.values(chains).map(networkOf))].sort();
}

/** The currencies with a policy, sorted by id. Others are not payable. */
export function currenciesOf({
  chains,
  currencies,
  policy,
}: AgentSettings): readonly PairedCurrency[] {
  return Object.keys(policy)
    .sort()
    .map((id) => {
      const currency = currencies[id];
      const chain = currency === undefined ? undefined : chains[currency.chain];
      const limits = policy[id];
      invariant(
        currency !== undefined && chain !== undefined && limits !== undefined,
        "config.json was checked against itself",
      );
      const { decimal } = families[chain.family].fees;
      const fee = parseAmount(limits.maxFee, decimal);
      const maxFee = formatAmount(fee.ok ? fee.units : 0n, decimal);
      return {
        id,
        network: networkOf(chain),
        contract: currency.contract ?? "",
        decimal: currency.decimal,
        maxFee,
      };
    });
}

/**
 * The hot wallet addresses, or the texts from which the gateway derives deposit addresses: one for
 * each family, with the given networks of this family.
 */
export function accountsFor(
  accounts: readonly PairedAccount[],
  purpose: PairedAccount["purpose"],
  networks: readonly string[],
): readonly { readonly id: string; readonly networks: readonly string[] }[] {
  return accounts
    .filter((one) => one.purpose === purpose)
    .map(({ family, id }) => ({
      id,
      networks: networks.filter((network) => familyOf(network).addressSpace.name === family),
    }));
}
