/**
 * Mutants that an agent of another merchant uses: words on others' withdrawals, locks and doubts
 * that stop everybody.
 */
import type { Mutant } from "./mutant.ts";

const world = "two-merchants";
const effect = "gateway/hub/effect.ts";

export const twoMerchantsMutants: readonly Mutant[] = [
  {
    name: "withdrawals-of-others-decided",
    file: effect,
    find: '      if (row.operation === "deposit" || (around.jobAgent !== null && around.jobAgent !== around.agent.id)) {',
    replace: '      if (row.operation === "deposit") {',
    invariant: "An agent says that another merchant's withdrawal was refused, and the shop learns that it failed (truth).",
    world,
  },
  {
    name: "lock-of-one-locks-all",
    file: "gateway/store/agent-state.ts",
    find: '  database.run("UPDATE agents SET lockedCode = ? WHERE id = ?", code, id);',
    replace: '  database.run("UPDATE agents SET lockedCode = ? WHERE id >= ? OR 1", code, id);',
    invariant: "An agent that says that it stopped stops every other one at its gateway (lock).",
    world,
  },
  {
    name: "doubt-of-one-asks-all",
    file: "gateway/store/restored-database.ts",
    find: '  database.run("UPDATE agents SET awaitsCeiling = 1 WHERE unpairedAt IS NULL AND caughtUp <> ?", caughtUpIn);',
    replace: '  database.run("UPDATE agents SET awaitsCeiling = 1 WHERE unpairedAt IS NULL AND id <> ?", caughtUpIn);',
    invariant: "An agent says that the database was restored, and places of every other one are passed over (deposits).",
    world,
  },
];
