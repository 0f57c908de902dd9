/** Looks up the wallet's own accounts for policy and handlers. Touches nothing. */
import type { PairedAccount } from "../../../protocol/messages.ts";

/** Returns the hot wallet of a family; "" if the wallet has no such account. */
export function hotWalletAddressOf(accounts: readonly PairedAccount[], family: string): string {
  return idOf(accounts, family, "hot");
}

/**
 * Returns the account id from which a family's deposit addresses are derived; "" if the wallet has
 * no such account.
 */
export function depositAccountIdOf(accounts: readonly PairedAccount[], family: string): string {
  return idOf(accounts, family, "deposits");
}

function idOf(
  accounts: readonly PairedAccount[],
  family: string,
  purpose: PairedAccount["purpose"],
): string {
  return accounts.find((one) => one.family === family && one.purpose === purpose)?.id ?? "";
}
