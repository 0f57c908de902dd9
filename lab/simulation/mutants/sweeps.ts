/**
 * Mutants of sweeps and top-ups: a top-up too many, an address that is not the wallet's, a second
 * slot, money that counts too early or twice.
 */
import type { Mutant } from "./mutant.ts";

const orders = "gateway/sweeps/orders.ts";
const posting = "gateway/store/posting.ts";
const asked = "agent/signer/policy/job-terms.ts";
const ends =
  '  return { ok: true, address: question.mode === "sweep" ? hotWalletOn(rules, question.network) : deposit.address };';
const world = "sweeps";

export const sweepMutants: readonly Mutant[] = [
  {
    name: "topped-up-twice",
    file: orders,
    find: "  dropSweepRequest(database, row);\n",
    replace: `  if (topUpUnits > 0n) {
    const again = sweep.split("").reverse().join("");
    insert(database, agent, ordering, row, {
      ...{ mode: "topup", orderId: again, units: 10n ** 12n, decimal: 18, payer: hotWalletAddress },
      ...{ receiver: address, nextSlot: "" },
    });
  }
  dropSweepRequest(database, row);
`,
    invariant:
      "While a top-up is on its way the gateway orders another one for the same sweep (a sweep has one top-up).",
    world,
    when: ({ deposits }) => deposits.some(({ currency }) => currency === "usdt"),
  },
  {
    name: "sweep-to-another-address",
    file: asked,
    find: ends,
    replace: "  return { ok: true, address: deposit.address };",
    invariant:
      "A sweep goes to an address that is not the hot wallet (a sweep stays in the wallet).",
    world,
  },
  {
    name: "top-up-to-oneself",
    file: asked,
    find: ends,
    replace: "  return { ok: true, address: hotWalletOn(rules, question.network) };",
    invariant:
      "A top-up goes to another address than the one that its sweep empties (a top-up stays in the wallet).",
    world,
    when: ({ deposits }) => deposits.some(({ currency }) => currency === "usdt"),
  },
  {
    name: "sweep-of-an-address-not-derived",
    file: asked,
    find: "    return family.depositAddress(deposits, depositIndex);",
    replace: "    return family.depositAddress(deposits, depositIndex + 1);",
    invariant:
      "The signer derives another place than the job names, and what it refuses is never swept (liveness).",
    world,
  },
  {
    name: "sweep-from-the-hot-wallet",
    file: "agent/signer/handlers/sign.ts",
    find: "  const account = findOrBeginAccount(context, approval.network, sender.account);",
    replace:
      "  const account = findOrBeginAccount(context, approval.network, context.accountOn(approval.network));",
    invariant: "A sweep gets a slot of the hot wallet, which signs nothing of it (bijection).",
    world,
  },
  {
    name: "second-slot-for-a-sweep",
    file: "gateway/store/sweeps.ts",
    find: "coalesce((SELECT t.id FROM sweeps s CROSS JOIN transfers t ON t.id = s.id\n      WHERE s.address = h.address AND t.status = 0 AND t.network = h.network LIMIT 1),\n    (SELECT t.id FROM sweeps s CROSS JOIN topUps u",
    replace: "coalesce((SELECT t.id FROM sweeps s CROSS JOIN topUps u",
    invariant:
      "What comes while a sweep is on its way is swept beside it, and one of the two may find nothing left (bijection).",
    world,
    when: ({ deposits }) => deposits.some(({ moreMs }) => moreMs > 0),
  },
  {
    name: "sweep-completed-before-final",
    file: "gateway/watcher/withdrawals.ts",
    find: '    case "confirming":\n',
    replace: `    case "confirming":
      if (row.operation === "sweep") {
        const final = { txHash: verdict.txHash, block: verdict.block, feeUnits: 0n };
        return end(chain, applying, row, { status: 1, stage: "completed", code: "", final });
      }
`,
    invariant: "A sweep in a block that may vanish counts as arrived, and can be paid out (truth).",
    world,
  },
  {
    name: "top-up-taken-for-a-deposit",
    file: "gateway/watcher/findings.ts",
    find: "  return rows.filter((row) => !isOwnTopUp(chain.store.database, row));",
    replace: "  return rows;",
    invariant: "What the wallet sends itself counts as paid in by somebody (no unit appears).",
    world,
    when: ({ deposits }) => deposits.some(({ currency }) => currency === "usdt"),
  },
  {
    name: "fee-of-a-sweep-forgotten",
    file: posting,
    find: 'const feeUnits = BigInt(row.feeUnits === "" ? "0" : row.feeUnits);',
    replace: "const feeUnits = 0n;",
    invariant:
      "What a sweep cost stays in the sum of what addresses hold, and is there no more (no unit appears).",
    world,
  },
  {
    name: "sweep-counted-where-it-was",
    file: posting,
    find: 'if (row?.operation !== "sweep" || row.status !== 0) continue;',
    replace: 'if (row?.operation !== "sweep" || row.units !== "") continue;',
    invariant:
      "While a sweep is on its way its money counts as lying on the address as well (no unit appears).",
    world,
  },
  {
    name: "addresses-not-watched",
    file: "agent/courier/run.ts",
    find: "      if (isDeposit && !deposits.has(key)) deposits.set(key, watchDeposit(shared, chain, address));",
    replace: "      if (isDeposit && !deposits.has(key)) deposits.set(key, null);",
    invariant:
      "Nobody asks the nodes what a deposit address has, and its sweep waits permanently (liveness).",
    world,
  },
  {
    name: "last-block-of-a-run-unread",
    file: "gateway/watcher/deposits.ts",
    find: "of payments.filter((one) => !isUnconfirmedTransfer(one))) touched.push(",
    replace:
      "of payments.filter((one) => !isUnconfirmedTransfer(one) && one.block < reached.number)) touched.push(",
    invariant:
      "The cursor passes a block whose payments were not kept, and their balance is credited without them (truth).",
    world,
  },
];
