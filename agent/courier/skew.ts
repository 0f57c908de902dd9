/** Words of the gateway that the signer refused while the clocks of the two were apart. */
import type { Link } from "./link/link.ts";
import type { Shared } from "./run-state.ts";

/** By this time a clock that jumped has often been set right. */
const skewedMs = 30_000;

/**
 * The gateway names an end twice on a connection, then only at the next greeting. A signer that
 * refused both for its clock hears it on a new connection; `status` names CLOCK_SKEW while the
 * clocks are apart.
 */
export function checkSkewed({ state, options }: Pick<Shared, "state" | "options">, link: Pick<Link, "drop">): void {
  const { skewedAtMs } = state;
  if (skewedAtMs === null || state.link !== "up" || options.monotonic() - skewedAtMs < skewedMs) return;
  state.skewedAtMs = null;
  link.drop("LINK_RESUME", "CLOCK_SKEW");
}
