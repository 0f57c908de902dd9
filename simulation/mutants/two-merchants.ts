/**
 * Mutants that an agent of another merchant uses: words on others' withdrawals, slots of others'
 * accounts, hashes of others' transactions, and doubts that stop everybody.
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
    sentence: "An agent says that another merchant's withdrawal was refused, and the shop hears that it failed (truth).",
    world,
  },
  {
    name: "slots-of-others-taken",
    file: effect,
    find: "  if (entry.network !== row.network || entry.account !== payer) {",
    replace: '  if (entry.network !== row.network || payer === "") {',
    sentence: "An agent says that it gave a slot of another's account, and that one's own signature is a contradiction (lock).",
    world,
  },
  {
    name: "hash-tells-whose-it-is",
    file: "gateway/store/signatures.ts",
    find: '  const sql = "SELECT transactionId FROM signatures WHERE txHash = ? AND account = ?";\n  return database.get<{ transactionId: string }>(sql, txHash, account)?.transactionId;',
    replace:
      "  const sql = \"SELECT transactionId FROM signatures WHERE txHash = ? AND ? <> ''\";\n  return database.get<{ transactionId: string }>(sql, txHash, account)?.transactionId;",
    sentence: "An agent names the hash of another's payment, and that one is told to contradict itself (lock).",
    world,
  },
  {
    name: "payment-explained-by-any-top-up",
    file: "gateway/store/top-ups.ts",
    find: "    AND u.merchant = r.merchant AND u.receiverAddress = p.address AND u.amountUnits = p.units`;",
    replace: "    AND u.merchant <> '' AND r.merchant <> ''`;",
    sentence: "An agent says that a customer's payment was its own top-up, and it is credited to nobody (deposits).",
    world,
  },
  {
    name: "lock-of-one-locks-all",
    file: "gateway/store/agent-state.ts",
    find: '  database.run("UPDATE agents SET lockedCode = ? WHERE id = ?", code, id);',
    replace: '  database.run("UPDATE agents SET lockedCode = ? WHERE id >= ? OR 1", code, id);',
    sentence: "An agent that says that it stopped stops every other one at its gateway (lock).",
    world,
  },
  {
    name: "doubt-of-one-asks-all",
    file: "gateway/store/put-back.ts",
    find: '  database.run("UPDATE agents SET awaitsCeiling = 1 WHERE releasedAt IS NULL AND heard <> ?", heardIn);',
    replace: '  database.run("UPDATE agents SET awaitsCeiling = 1 WHERE releasedAt IS NULL AND id <> ?", heardIn);',
    sentence: "An agent says that the database was put back, and places of every other one are passed over (deposits).",
    world,
  },
  {
    name: "signed-withdrawals-of-others",
    file: effect,
    find: "  if (around.slotOwner !== null && around.slotOwner !== row.id) {",
    replace: "  if (around.slotOwner !== null && around.slotOwner !== row.id && around.slot !== null) {",
    sentence: "A slot that another withdrawal holds is given to a second one by an agent's word (bijection).",
    world,
  },
];
