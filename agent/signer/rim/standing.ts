/** How the signer stands with the gateway and with people, for its courier. Touches nothing. */
import type { Run } from "../acts/run.ts";
import type { Core } from "../state/core.ts";

/**
 * Up to where the gateway holds this ledger. A locked signer records no acknowledgement; what it
 * repeated of what the gateway holds would be refused, each time.
 * @public
 */
export function heldThere({ heads }: Core, { telling, echoed }: Run): number {
  return telling?.from ?? Math.max(heads.acked.seq, echoed ?? 0);
}

/**
 * To the courier an order that waits for a person is a lock like any other.
 * @public
 */
export function lockCode({ locked }: Core, { orders }: Run): string {
  return locked?.code ?? (orders.isWhole ? "RECOVERY_OFFERED" : "");
}
