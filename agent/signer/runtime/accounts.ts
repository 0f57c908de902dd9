/**
 * The sending accounts for couriers and operators: the hot wallet of each chain, and every deposit
 * address that an open sweep empties. Touches nothing.
 */
import { networkOf } from "../../../chains/families.ts";
import type { ConfiguredChain } from "../../../chains/family.ts";
import type { AccountView, CourierView } from "../../socket/verbs.ts";
import type { Core } from "../state/core.ts";

/** Returns an account on a configured chain with its next slot; the hot wallet by default. */
export function accountOnNetwork(
  { accounts }: Pick<Core, "accounts">,
  configured: ConfiguredChain | undefined,
  chain: string,
  {
    address,
    hotWalletOn,
  }: { readonly address: string | undefined; readonly hotWalletOn: (network: string) => string },
): AccountView {
  const network = configured === undefined ? "" : networkOf(configured);
  const hotWallet = network === "" ? "" : hotWalletOn(network);
  const own = address ?? hotWallet;
  const view = { chain, network, address: own, nextSlot: accounts.find(network, own)?.next ?? "" };
  return own === hotWallet ? view : { ...view, deposit: true };
}

/** Returns each address that an open sweep empties, once. */
export function sweptAccounts(
  open: readonly CourierView[],
  accountOf: (chain: string, address: string) => AccountView,
): readonly AccountView[] {
  const sweeps = open.filter(({ mode }) => mode === "sweep");
  const each = new Map(sweeps.map((one) => [`${one.chain} ${one.sender}`, one]));
  return [...each.values()].map(({ chain, sender }) => accountOf(chain, sender));
}
