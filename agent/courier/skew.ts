/** Statements of the gateway that the signer refused because of a difference of clocks. */
import type { Link } from "./link/link.ts";
import type { RunContext } from "./run-state.ts";

/** A clock that jumped is often corrected within this time. */
const skewedMs = 30_000;

/**
 * Restarts the link after a refusal because of clocks. The gateway names an end twice on a
 * connection, then only after the next welcome. A signer that refused both needs a new connection;
 * `status` shows CLOCK_SKEW while the clocks differ.
 */
export function checkSkewed(
  { state, options }: Pick<RunContext, "state" | "options">,
  link: Pick<Link, "drop">,
): void {
  const { skewedAtMs } = state;
  if (skewedAtMs === null || state.link !== "up" || options.monotonic() - skewedAtMs < skewedMs)
    return;
  state.skewedAtMs = null;
  link.drop("LINK_RESUME", "CLOCK_SKEW");
}
