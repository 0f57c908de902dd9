/** The hub's result of an agent's statements, for tests that expect the hub to take them. */
import type { Applied, Refused } from "../../gateway/hub/statements.ts";

/** @throws Error with the hub's own words when it refused them */
export function assertTaken(verdict: Applied | Refused): asserts verdict is Applied {
  if (verdict.ok) return;
  throw new Error(verdict.kind === "outdated" ? verdict.reason : verdict.detail);
}
