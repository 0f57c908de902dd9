/** The coin that a first attempt would spend, as a gateway names it. */
import type { Core } from "../../agent/signer/state/core.ts";
import type { SightedCoin } from "../../protocol/sightings.ts";

/** Null for a request without coins, or about a withdrawal that the signer does not know. */
export function pinAsked(body: object, core: Core): SightedCoin | null {
  const { transactionId = "", txParams } = body as { transactionId?: string; txParams?: { coins?: string } };
  const pin = txParams?.coins?.split(",")[0] ?? "";
  const withdrawal = pin === "" ? undefined : core.book.find(transactionId);
  const sender = withdrawal === undefined ? null : core.policy.sender(withdrawal.job);
  if (withdrawal === undefined || sender === null) return null;
  const at = pin.lastIndexOf(":");
  return { network: withdrawal.job.network, account: sender.account, id: pin.slice(0, at), units: pin.slice(at + 1) };
}
