/** The signer's position towards gateway and operators, for its courier. Touches nothing. */
import type { SignerRun } from "../handlers/context.ts";
import type { Core } from "../state/core.ts";

/**
 * Returns the record up to which the gateway holds this ledger. A locked signer records no
 * acknowledgement, so the head in the newest welcome counts too: the gateway would refuse repeated
 * records each time.
 */
export function readGatewaySeq({ heads }: Core, { resync, gatewayHeadSeq }: SignerRun): number {
  return resync?.from ?? Math.max(heads.acked.seq, gatewayHeadSeq ?? 0);
}

/**
 * Returns the lock's code. For the courier, a recovery offer that waits for an operator is a lock
 * too.
 */
export function lockCode({ locked }: Core, { orders }: SignerRun): string {
  return locked?.code ?? (orders.isWhole ? "RECOVERY_OFFERED" : "");
}
