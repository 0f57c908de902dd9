/**
 * A short run of `npm run faults -- --stream deposits` on each family; the long one is in
 * docs/reliability.md. Only shapes that complete by themselves: the others wait for the end of a
 * request's time.
 */
import { expect, it } from "vitest";
import { familyNames, lackOf, playFamily } from "../../lab/deposits/families.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

/**
 * Troubles of the two nodes: odd fields, entries that move nothing, refused sends. The other
 * families' nodes have troubles of their own, which the seed draws.
 */
const sizes = {
  evm: { records: 18, kills: 3, profiles: ["padded quantities", "fee cap on sends"] },
  tron: {
    records: 18,
    kills: 3,
    profiles: ["internal entries of every kind", "no peers for sends"],
  },
  bitcoin: { records: 6, kills: 2 },
  litecoin: { records: 6, kills: 2 },
  xrp: { records: 6, kills: 2 },
} as const;

for (const family of familyNames)
  if (lackOf(family) !== null)
    process.stderr.write(`\n*** SKIPPED: deposits on ${family}: ${lackOf(family)}\n\n`);

it.each(familyNames.filter((family) => lackOf(family) === null))(
  "deposits on %s are credited as the final chain has them, through reorganisations and kill -9",
  async (family) => {
    const plan = { seed: "short", blockMs: 400, untilExpired: false, ...sizes[family] };
    const report = await playFamily(family, { ...plan, say: () => undefined });
    expect(report.violations).toEqual([]);
    expect(report.credited).toEqual(report.arrived);
    expect(Object.values(report.kills).reduce((sum, one) => sum + one, 0)).toBe(plan.kills);
    expect(report.deposits).toBeGreaterThanOrEqual(plan.records);
    expect(report.ends).toEqual({ completed: report.deposits });
  },
);
