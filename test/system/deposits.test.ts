/**
 * A short run of `npm run faults -- --stream deposits` on each family; the long one is in
 * docs/reliability.md. Only shapes that complete by themselves: the others wait for the end of a
 * request's time.
 */
import { expect, it } from "vitest";
import { familyNames, playFamily } from "../../lab/deposits/families.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

/** Troubles of the two nodes: odd fields, entries that move nothing, refused sends. */
const profiles = {
  evm: ["padded quantities", "fee cap on sends"],
  tron: ["internal entries of every kind", "no peers for sends"],
} as const;

it.each(familyNames)(
  "deposits on %s are credited as the final chain has them, through reorganisations and kill -9",
  {
    timeout: 300_000,
  },
  async (family) => {
    const plan = { records: 18, kills: 3, seed: "short", blockMs: 400, untilExpired: false, profiles: profiles[family] };
    const report = await playFamily(family, { ...plan, say: () => undefined });
    expect(report.violations).toEqual([]);
    expect(report.credited).toEqual(report.arrived);
    expect(Object.values(report.kills).reduce((sum, one) => sum + one, 0)).toBe(3);
    expect(report.deposits).toBeGreaterThanOrEqual(18);
    expect(report.ends).toEqual({ completed: report.deposits });
  },
);
