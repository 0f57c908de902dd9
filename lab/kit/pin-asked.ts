/** The coin that a first attempt would spend and the withdrawal, as a gateway names them. */
import type { Core } from "../../agent/signer/state/core.ts";
import { familyOf } from "../../chains/families.ts";
import type { SightedCoin } from "../../protocol/sightings.ts";

/** Null for a request without coins, or about a withdrawal that the signer does not know. */
export function pinAsked(body: object, core: Core): SightedCoin | null {
  const { transactionId = "", txParams } = body as {
    transactionId?: string;
    txParams?: { coins?: string };
  };
  const pin = txParams?.coins?.split(",")[0] ?? "";
  const withdrawal = pin === "" ? undefined : core.book.find(transactionId);
  const sender = withdrawal === undefined ? null : core.policy.sender(withdrawal.job);
  if (withdrawal === undefined || sender === null) return null;
  const at = pin.lastIndexOf(":");
  return {
    network: withdrawal.job.network,
    account: sender.account,
    id: pin.slice(0, at),
    units: pin.slice(at + 1),
  };
}

/** Null where the signer wants no word on the withdrawal, and for one that it does not know. */
export function orderAsked(body: object, core: Core): string | null {
  const { transactionId = "" } = body as { transactionId?: string };
  const withdrawal = core.book.find(transactionId);
  return withdrawal === undefined || familyOf(withdrawal.job.network).slots.isCounted
    ? null
    : transactionId;
}
