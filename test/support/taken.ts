/** The hub's result of an agent's statements, for tests that expect the hub to take them. */
import type { AppliedStatements, RefusedStatements } from "../../gateway/hub/statements.ts";

/** @throws Error with the hub's own words when it refused them */
export function assertTaken(
  verdict: AppliedStatements | RefusedStatements,
): asserts verdict is AppliedStatements {
  if (verdict.ok) return;
  throw new Error(verdict.kind === "outdated" ? verdict.reason : verdict.detail);
}
