/** Words of the gateway that the signer refused while the clocks of the two were apart. */
import type { Link } from "./link/link.ts";
import type { Shared } from "./run-state.ts";

/** Clocks that jumped are often set right before this. */
const skewedMs = 30_000;

/**
 * Ends that an acknowledgement named come again twice on a connection, and then at the next
 * greeting alone: so the connection begins anew, and `status` says why when clocks are still apart.
 */
export function checkSkewed({ state, options }: Pick<Shared, "state" | "options">, link: Pick<Link, "drop">): void {
  const { skewedAtMs } = state;
  if (skewedAtMs === null || state.link !== "up" || options.monotonic() - skewedAtMs < skewedMs) return;
  state.skewedAtMs = null;
  link.drop("LINK_RESUME", "CLOCK_SKEW");
}
