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
    invariant:
      "An agent says that another merchant's withdrawal was refused, and the shop learns that it failed (truth).",
    world,
  },
  {
    name: "lock-of-one-locks-all",
    file: "gateway/store/agent-state.ts",
    find: "WHERE id = ? AND lockedCode NOT LIKE",
    replace: "WHERE (id = ? OR 1) AND lockedCode NOT LIKE",
    invariant: "A contradiction of one agent locks every other one, which comes in no more (lock).",
    world,
  },
  {
    name: "doubt-of-one-asks-all",
    file: "gateway/store/restored-database.ts",
    find: '  database.run("UPDATE agents SET awaitsCeiling = 1 WHERE unpairedAt IS NULL AND caughtUp <> ?", caughtUpIn);',
    replace:
      '  database.run("UPDATE agents SET awaitsCeiling = 1 WHERE unpairedAt IS NULL AND id <> ?", caughtUpIn);',
    invariant:
      "An agent says that the database was restored, and places of every other one are passed over (deposits).",
    world,
  },
  {
    name: "slots-of-all-accounts",
    file: "gateway/store/slots.ts",
    find: "(SELECT transactionId FROM slots WHERE network = ? AND account = ? AND slot = ?) AS slotOwner,",
    replace:
      "(SELECT transactionId FROM slots WHERE network = ? AND ? <> '' AND slot = ?) AS slotOwner,",
    invariant:
      "A slot of another merchant's account counts as taken for every account, and an honest agent is locked (lock).",
    world,
  },
  {
    name: "account-of-another-taken",
    file: effect,
    find: "entry.network !== row.network || entry.account !== senderOf(row, around.agent, entry.network)",
    replace: "entry.network !== row.network || around.agent === undefined",
    invariant:
      "An agent says that it signed with another merchant's account, and takes slots of that account (bijection).",
    world,
  },
  {
    name: "head-of-one-for-all",
    file: "gateway/store/agent-state.ts",
    find: 'headHash = ?, ledgerAt = ? WHERE id = ?", seq, hash, ledgerAt, id);',
    replace: 'headHash = ?, ledgerAt = ? WHERE id = ? OR headSeq > 0", seq, hash, ledgerAt, id);',
    invariant:
      "The head of one agent's ledger is stored for every agent, and an honest one counts as forked (lock).",
    world,
  },
];
