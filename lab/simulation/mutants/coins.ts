/** Mutants of coins: amounts that nobody proved, and a coin that two withdrawals spend. */
import type { Mutant } from "./mutant.ts";

const world = "coins";
const pins = "agent/signer/handlers/pins.ts";
const previous = "chains/utxo/previous.ts";
const when: Mutant["when"] = ({ rates }) => rates.hostileCourier > 0;

export const coinMutants: readonly Mutant[] = [
  {
    name: "coin-of-two-withdrawals",
    file: pins,
    find: "    if (taken !== undefined) return refuse(",
    replace: '    if (taken === "") return refuse(',
    invariant: "A courier that lies has one coin in two open withdrawals, of which one can never be paid (coins).",
    when,
    world,
  },
  {
    name: "coins-without-evidence",
    file: pins,
    find: "others, shown) ?? null;",
    replace: "[], shown.slice(shown.length)) ?? null;",
    invariant: "A courier names any amount for a coin, and the rest of it is a fee that nobody agreed to (coins).",
    when,
    world,
  },
  {
    name: "evidence-of-another-amount",
    file: previous,
    find: "    if (made.output.units !== units) return",
    replace: "    if (made.output.units < 0n) return",
    invariant: "The amount in the evidence is not compared with the one that is offered (coins).",
    when,
    world,
  },
  {
    name: "amount-beside-its-coins",
    file: "chains/utxo/transaction.ts",
    find: "  if (amountOf(figures) !== (paid?.units ?? 0n)) return",
    replace: "  if (amountOf(figures) < 0n) return",
    invariant: "Coins, change and fee need not add up, and the difference goes to the miner (coins).",
    when,
    world,
  },
  {
    name: "every-coin-waits-like-a-reward",
    file: "chains/utxo/node-coins.ts",
    find: "made.isExtension ? extensionDepth : 0);",
    replace: "made.isExtension ? extensionDepth : rewardDepth);",
    invariant: "Coins that anybody paid in count as too young for a hundred blocks, and no payment is made (liveness).",
    world,
  },
  {
    name: "change-counts-as-paid",
    file: "chains/utxo/tx-params.ts",
    find: " - changeSat.reduce((sum, units) => sum + units, 0n) - feeSat;",
    replace: " - feeSat;",
    invariant: "The change is counted into the amount, so that no payment with change is ever like its order (liveness).",
    world,
  },
];
