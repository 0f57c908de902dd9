/**
 * Mutants of sweeps and top-ups where nothing but time excludes a payment: a top-up too many, or
 * for too much, an attempt beside a living one, an address that is not the wallet's, money that
 * counts too early, twice or not at all, and a void attempt that nobody asks about.
 */
import type { Plan } from "../world/plan.ts";
import type { Mutant } from "./mutant.ts";

const orders = "gateway/sweeps/orders.ts";
const asked = "agent/signer/policy/job-terms.ts";
const acts = "agent/signer/handlers/expiry-exclusion.ts";
const ends =
  '  return { ok: true, address: question.mode === "sweep" ? hotWalletOn(rules, question.network) : deposit.address };';
const alive = `  if (!isVoid(withdrawal)) return refuseForNonVoidAttempts(withdrawal);
  if (!isReceivedVoid(context, withdrawal)) return`;
const aliveUnless = (
  mode: string,
): string => `  if (job.mode !== "${mode}" && !isVoid(withdrawal)) return refuseForNonVoidAttempts(withdrawal);
  if (job.mode !== "${mode}" && !isReceivedVoid(context, withdrawal)) return`;
const world = "waiting";

const pays = ({ deposits }: Plan): boolean => deposits.length > 0;
const paysTokens = ({ deposits }: Plan): boolean =>
  deposits.some(({ currency }) => currency === "usdt");

export const waitingSweepMutants: readonly Mutant[] = [
  {
    name: "waiting-topped-up-twice",
    file: orders,
    find: "  dropSweepRequest(database, row);\n",
    replace: `  if (topUpUnits > 0n) {
    const again = sweep.split("").reverse().join("");
    insert(database, agent, ordering, row, {
      ...{ mode: "topup", orderId: again, units: 2_000_000n, decimal: 6, payer: hotWalletAddress },
      ...{ receiver: address, nextSlot: "" },
    });
  }
  dropSweepRequest(database, row);
`,
    invariant:
      "While a top-up waits for its block the gateway orders another one for the same sweep (a sweep has one top-up).",
    world,
    when: paysTokens,
  },
  {
    name: "top-up-again-beside-a-living-one",
    file: acts,
    find: alive,
    replace: aliveUnless("topup"),
    invariant:
      "A second attempt of a top-up is signed while a block may take the first (exclusion).",
    world,
    when: (plan) => paysTokens(plan) && plan.rates.hostileCourier + plan.helps > 0,
  },
  {
    name: "sweep-again-beside-a-living-one",
    file: acts,
    find: alive,
    replace: aliveUnless("sweep"),
    invariant:
      "A second attempt of a sweep is signed while a block may take the first (exclusion).",
    world,
    when: (plan) => pays(plan) && plan.rates.hostileCourier + plan.helps > 0,
  },
  {
    name: "sweep-beside-its-top-up",
    file: "agent/signer/handlers/top-up.ts",
    find: '    return topUp === undefined || isOver(topUp) ? null : other(topUp, "is open");',
    replace:
      '    return topUp === undefined || topUp.state !== "requested" ? null : other(topUp, "is open");',
    invariant:
      "A courier that lies has a sweep signed while its top-up may still come into a block (one at a time).",
    world,
    when: (plan) => paysTokens(plan) && plan.rates.hostileCourier > 0,
  },
  {
    name: "sweep-to-an-address-not-derived",
    file: asked,
    find: ends,
    replace:
      '  return { ok: true, address: question.mode === "sweep" ? (derived(rules, { network: question.network, depositIndex: 99 }) ?? "") : deposit.address };',
    invariant:
      "A sweep goes to an address that the hot wallet's key does not open (a sweep stays in the wallet).",
    world,
    when: pays,
  },
  {
    name: "sweep-of-another-place",
    file: orders,
    find: "const sweep = insert(database, agent, ordering, row, {",
    replace:
      "const sweep = insert(database, agent, ordering, { ...row, addressIndex: row.addressIndex + 1 }, {",
    invariant:
      "A job names another place than its address has, and what the signer refuses is never swept (liveness).",
    world,
    when: pays,
  },
  {
    name: "top-up-without-a-ceiling",
    file: "agent/signer/policy/rules.ts",
    find: "sweeps.maxTopUp ?? sweeps.maxFee ?? maxFee),",
    replace: "sweeps.maxFee ?? maxFee),",
    invariant:
      "Energy is dear, and a top-up brings more to an address than its own ceiling allows (limits).",
    world,
    when: (plan) => paysTokens(plan) && plan.rates.feeSpikes > 0,
  },
  {
    name: "top-up-of-the-swept-token",
    file: asked,
    find: '  return { ...asset, contract: "", decimal: asset.family.fees.decimal };',
    replace: "  return { ...asset, decimal: asset.family.fees.decimal };",
    invariant:
      "A top-up brings the token that is to be swept, and nothing that pays for its sweep (a top-up pays the fees).",
    world,
    when: paysTokens,
  },
  {
    name: "top-up-there-before-final",
    file: "gateway/watcher/withdrawals.ts",
    find: '    case "confirming":\n',
    replace: `    case "confirming":
      if (row.operation === "topup") {
        const final = { txHash: verdict.txHash, block: verdict.block, feeUnits: 0n };
        return end(chain, applying, row, { status: 1, stage: "completed", code: "", final });
      }
`,
    invariant:
      "A top-up in a block that may be replaced counts as completed, and another block takes it back (truth).",
    world,
    when: paysTokens,
  },
  {
    name: "swept-twice-side-by-side",
    file: "gateway/store/sweeps.ts",
    find: "    coalesce((SELECT t.id FROM sweeps s CROSS JOIN transfers t ON t.id = s.id\n      WHERE s.address = h.address AND t.status = 0 ",
    replace:
      "    coalesce((SELECT t.id FROM sweeps s CROSS JOIN transfers t ON t.id = s.id\n      WHERE s.address = h.address AND t.status = 3 ",
    invariant: "What comes while a sweep waits for its end is swept beside it (one at a time).",
    world,
    when: ({ deposits }) => deposits.some(({ moreMs }) => moreMs > 0),
  },
  {
    name: "own-top-up-credited",
    file: "gateway/watcher/findings.ts",
    find: "  return rows.filter((row) => !isOwnTopUp(chain.store.database, row));",
    replace:
      "  return rows.filter((row) => row.logIndex === -1 || !isOwnTopUp(chain.store.database, row));",
    invariant:
      "TRX that the wallet sends to its own address counts as paid in by somebody (no unit appears).",
    world,
    when: paysTokens,
  },
  {
    name: "fee-of-a-failed-sweep-forgotten",
    file: "gateway/store/posting.ts",
    find: 'const feeUnits = BigInt(row.feeUnits === "" ? "0" : row.feeUnits);',
    replace: 'const feeUnits = BigInt(row.feeUnits === "" || status === 2 ? "0" : row.feeUnits);',
    invariant:
      "A sweep that ran out of energy cost its limit, and the sum of the address still has it (no unit appears).",
    world,
    when: (plan) => paysTokens(plan) && plan.rates.feeSpikes + plan.rates.reverts > 0,
  },
  {
    name: "activation-not-counted",
    file: "chains/tron/node-sender.ts",
    find: "computeLimit: exists ? computeLimitOfCoinTransfer : computeLimitOfActivation };",
    replace:
      "computeLimit: exists || !isContract ? computeLimitOfCoinTransfer : computeLimitOfActivation };",
    invariant:
      "A top-up makes its address an account, and costs more than its attempt said (limits).",
    world,
    when: paysTokens,
  },
  {
    name: "voids-of-sweeps-not-asked",
    file: "gateway/store/void-attempts.ts",
    find: "     WHERE t.operation IN ('withdraw', 'sweep', 'topup') AND t.status = 0 AND t.network = ?",
    replace: "     WHERE t.operation IN ('withdraw') AND t.status = 0 AND t.network = ?",
    invariant:
      "No block took a sweep or its top-up, the gateway says of neither that it is void, and neither ends (liveness).",
    world,
    when: (plan) =>
      pays(plan) && plan.rates.poolForgets + plan.rates.blocksSkip + plan.rates.chainJams > 0,
  },
  {
    name: "top-up-without-its-sweep",
    file: orders,
    find: "  makeJob(database, agent, transferOf(database, sweep), ordering.run);\n",
    replace:
      "  if (topUpUnits === 0n) makeJob(database, agent, transferOf(database, sweep), ordering.run);\n",
    invariant:
      "The agent learns of a top-up alone, refuses it each time, and nothing is swept (liveness).",
    world,
    when: paysTokens,
  },
];
