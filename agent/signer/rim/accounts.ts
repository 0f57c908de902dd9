/**
 * The paying accounts as couriers and operators see them: the hot one of each chain, and every
 * address for deposits that an open sweep empties. Touches nothing.
 */
import { networkOf } from "../../../chains/families.ts";
import type { ConfiguredChain } from "../../../chains/family.ts";
import type { AccountView, WithdrawalView } from "../../socket/verbs.ts";
import type { Core } from "../state/core.ts";

/** An account on a chain of the settings, with the slot that comes next. */
export function accountOn(
  { accounts }: Pick<Core, "accounts">,
  configured: ConfiguredChain | undefined,
  chain: string,
  { address, hot }: { readonly address: string; readonly hot: string },
): AccountView {
  const network = configured === undefined ? "" : networkOf(configured);
  const view = { chain, network, address, nextSlot: `${accounts.find(network, address)?.next ?? ""}` };
  return address === hot ? view : { ...view, deposit: true };
}

/** Each address that an open sweep empties, once. */
export function sweptAccounts(
  open: readonly WithdrawalView[],
  accountOf: (chain: string, address: string) => AccountView,
): readonly AccountView[] {
  const sweeps = open.filter(({ mode }) => mode === "sweep");
  const each = new Map(sweeps.map((one) => [`${one.chain} ${one.payer}`, one]));
  return [...each.values()].map(({ chain, payer }) => accountOf(chain, payer));
}
