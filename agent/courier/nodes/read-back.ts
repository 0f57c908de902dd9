/**
 * Compares a signed attempt with this courier's own table, and its bytes with an independent
 * reading, before a byte reaches a node.
 */

import { parseAddress } from "../../../chains/address-forms.ts";
import { families, isFeeInside, networkOf } from "../../../chains/families.ts";
import type { ConfiguredChain } from "../../../chains/family.ts";
import { independentReadingOf } from "../../../chains/read-back.ts";
import { parseAmount } from "../../../protocol/amount.ts";
import type { CourierSettings } from "../../config/settings.ts";
import type { AttemptView, CourierView } from "../../socket/verbs.ts";

/**
 * Resolves with "" if the bytes match the withdrawal, else with the difference. Never rejects
 * because of the bytes' content.
 */
export type ReadBack = (withdrawal: CourierView, attempt: AttemptView) => Promise<string>;

export function createReadBack(settings: Pick<CourierSettings, "chains" | "currencies">): ReadBack {
  return async (withdrawal, attempt) => {
    const chain = settings.chains[withdrawal.chain];
    const currency = settings.currencies[withdrawal.currency];
    if (chain === undefined || currency === undefined)
      return "this courier does not know the chain or the currency";
    // A top-up moves the coin that pays the fees, for a sweep of any currency.
    const isTopUp = withdrawal.mode === "topup";
    const { decimal } = isTopUp ? families[chain.family].fees : currency;
    const amount = parseAmount(withdrawal.amount, decimal);
    const checks: readonly (readonly [what: string, said: unknown, expected: unknown])[] = [
      ["network", withdrawal.network, networkOf(chain)],
      [
        "contract",
        canonical(chain, withdrawal.contract),
        isTopUp ? "" : canonical(chain, currency.contract ?? ""),
      ],
      ["amount", amount.ok ? amount.units : amount.code, BigInt(withdrawal.amountUnits)],
    ];
    const wrong = checks.find(([, said, expected]) => said !== expected);
    if (wrong !== undefined) return `${wrong[0]} reads as ${wrong[1]}, not ${wrong[2]}`;
    try {
      return await independentReadingOf(withdrawal.network)(
        attempt.raw ?? "",
        saidOf(withdrawal, attempt),
      );
    } catch (error) {
      return `unreadable: ${error instanceof Error ? error.message : "no reason"}`;
    }
  };
}

/** The address in the network's only spelling; a text that is no address stays as it is. */
function canonical(chain: ConfiguredChain, contract: string): string {
  const parsed = parseAddress(contract, networkOf(chain));
  return parsed.ok ? parsed.address : contract;
}

function saidOf(
  withdrawal: CourierView,
  attempt: AttemptView,
): Parameters<ReturnType<typeof independentReadingOf>>[1] {
  const { network, account, slot, contract, address, tag, amountUnits } = withdrawal;
  const units = {
    amountUnits: BigInt(amountUnits),
    isFeeInside: isFeeInside(network, withdrawal.mode),
  };
  const payment = { network, account, slot, contract, destination: address, tag, ...units };
  return {
    payment,
    txParams: attempt.txParams,
    txHash: attempt.txHash,
    isCancel: attempt.isCancel === true,
  };
}
