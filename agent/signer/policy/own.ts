/** The wallet's own accounts, as policy and the acts look them up. Touches nothing. */
import type { PairedAccount } from "../../../protocol/messages.ts";

/**
 * The address that pays for a family; "" where the wallet has no such account.
 * @public
 */
export function hotOf(accounts: readonly PairedAccount[], family: string): string {
  return idOf(accounts, family, "hot");
}

/**
 * What the addresses for deposits of a family are made from; "" where the wallet has no such
 * account.
 * @public
 */
export function depositsOf(accounts: readonly PairedAccount[], family: string): string {
  return idOf(accounts, family, "deposits");
}

function idOf(accounts: readonly PairedAccount[], family: string, purpose: PairedAccount["purpose"]): string {
  return accounts.find((one) => one.family === family && one.purpose === purpose)?.id ?? "";
}
