/** Mutants of coins: amounts that nobody proved, and a coin that two withdrawals spend. */
import type { Mutant } from "./mutant.ts";

const world = "coins";
const pins = "agent/signer/handlers/intent.ts";
const previous = "chains/utxo/previous.ts";
const when: Mutant["when"] = ({ rates }) => rates.hostileCourier > 0;

export const coinMutants: readonly Mutant[] = [
  {
    name: "coin-of-two-withdrawals",
    file: pins,
    find: "    if (taken !== undefined) return refuse(",
    replace: '    if (taken === "") return refuse(',
    invariant:
      "A courier that lies has one coin in two open withdrawals, of which one can never be paid (coins).",
    when,
    world,
  },
  {
    name: "coins-without-evidence",
    file: pins,
    find: "others, shown) ?? null",
    replace: "[], shown.slice(shown.length)) ?? null",
    invariant:
      "A courier names any amount for a coin, and the rest of it is a fee that nobody agreed to (coins).",
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
    invariant:
      "Coins, change and fee need not add up, and the difference goes to the miner (coins).",
    when,
    world,
  },
  {
    name: "every-coin-waits-like-a-reward",
    file: "chains/utxo/node-coins.ts",
    find: "made.isExtension ? extensionDepth : 0);",
    replace: "made.isExtension ? extensionDepth : rewardMaturityDepth);",
    invariant:
      "Coins that anybody paid in count as too young for a hundred blocks, and no payment is made (liveness).",
    world,
  },
  {
    name: "change-counts-as-paid",
    file: "chains/utxo/tx-params.ts",
    find: "- changeSat.reduce((sum, units) => sum + units, 0n) - feeSat",
    replace: "- feeSat",
    invariant:
      "The change is counted into the amount, so that no payment with change is ever like its order (liveness).",
    world,
  },
  {
    name: "coins-beyond-the-pin-not-held",
    file: pins,
    find: "(exclusion?.coins(txParams) ?? [])",
    replace: "(exclusion?.coins(txParams) ?? []).slice(0, 1)",
    invariant:
      "Only the pin of a payment is held, and a lying courier gives its other coins to a second payment (coins).",
    when,
    world,
  },
  {
    name: "included-payment-holds-no-coins",
    file: pins,
    find: "    if (one === withdrawal || one.job.network",
    replace: '    if (one === withdrawal || one.state === "included" || one.job.network',
    invariant:
      "The coins of a payment in a block are free before that block is final, and another branch takes both (coins).",
    when: ({ rates }) => rates.hostileCourier > 0 || rates.reorganisation > 0,
    world,
  },
  {
    name: "evidence-of-the-first-coin",
    file: pins,
    find: "others, shown) ?? null",
    replace: "others.slice(0, 1), shown.slice(0, 1)) ?? null",
    invariant:
      "Only the first coin's amount is proven; a lying courier names any for the others (coins).",
    when,
    world,
  },
  {
    name: "added-coins-without-evidence",
    file: pins,
    find: "coins.filter((coin) => !proven.includes(coin));",
    replace: "coins.filter((coin) => isFirst && !proven.includes(coin));",
    invariant:
      "The coins that a replacement adds are believed: they may be others', or of another amount (coins).",
    when,
    world,
  },
  {
    name: "known-coin-of-any-amount",
    file: pins,
    find: "coins.filter((coin) => !proven.includes(coin));",
    replace:
      "coins.filter((coin) => !proven.some((one) => one.slice(0, 66) === coin.slice(0, 66)));",
    invariant:
      "A coin that was proven once counts as proven with any amount in a replacement (coins).",
    when,
    world,
  },
  {
    name: "size-of-one-coin",
    file: "chains/utxo/fees.ts",
    find: "sizeOf(coins.length, scriptBytes, changes);",
    replace: "sizeOf(1, scriptBytes, changes);",
    invariant:
      "The fee is that of one coin however many are spent, so no node forwards a payment of several (liveness).",
    world,
  },
  {
    name: "rest-goes-nowhere",
    file: "chains/utxo/fees.ts",
    find: "{ coins, changeSat: [], feeSat: over } : null;",
    replace: "{ coins, changeSat: [], feeSat: fee } : null;",
    invariant:
      "A payment without change names a fee that its coins do not add up to, and is never signed (liveness).",
    world,
  },
  {
    name: "two-coins-at-most",
    file: "chains/utxo/fees.ts",
    find: "start.length + added <= coinsPerTransactionMax; added += 1) {",
    replace: "start.length + added <= 2; added += 1) {",
    invariant:
      "No payment takes more than two coins, and those that need more wait permanently (liveness).",
    world,
  },
  {
    name: "replacement-keeps-its-coins-alone",
    file: "chains/utxo/fees.ts",
    find: "const known = distinct([...held, ...largestFirst(coins)]);",
    replace: "const known = held.length > 0 ? distinct(held) : largestFirst(coins);",
    invariant:
      "A replacement adds no coin, so a payment without change is never replaced while the market is high (liveness).",
    when: ({ rates }) => rates.marketRises > 0,
    world,
  },
];
