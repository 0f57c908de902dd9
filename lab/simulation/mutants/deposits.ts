/**
 * Mutants of the rules by which deposits are credited: what is seen counts, what is explained is
 * credited again, what a sweep moves looks like a payment, what is not there completes a request.
 */
import type { Plan } from "../world/plan.ts";
import type { Mutant } from "./mutant.ts";

const payments = "gateway/store/payments.ts";
const states = "gateway/store/address-states.ts";
const credit = "gateway/watcher/credit.ts";
const readings = "gateway/watcher/readings.ts";
const world = "sweeps";

const paysTokens = ({ deposits }: Plan): boolean =>
  deposits.some(({ currency }) => currency === "usdt");
const paysCoins = ({ deposits }: Plan): boolean =>
  deposits.some(({ currency }) => currency !== "usdt");

export const depositMutants: readonly Mutant[] = [
  {
    name: "credited-when-seen",
    file: payments,
    find: '  upsert(database, payment, "WHERE final = 0");',
    replace: "  keepFinalPayment(database, { ...payment, final: 1 });",
    invariant: "A payment in a block that may be replaced counts as final (truth).",
    world,
  },
  {
    name: "completed-by-what-is-seen",
    file: credit,
    find: "  const final = payments.filter((payment) => payment.final);",
    replace: "  const final = payments;",
    invariant: "A request is completed by money that a reorganisation can take back (truth).",
    world,
  },
  {
    name: "balance-pays-again",
    file: states,
    find: "  const units = unitsAt(database, place, block);",
    replace: "  const units = 0n;",
    invariant:
      "A payment of a transaction is credited a second time as the balance that nothing explains (no unit appears).",
    world,
    when: paysCoins,
  },
  {
    name: "top-up-explains-nothing",
    file: "gateway/store/posting.ts",
    find: '  if (operation === "topup") return { address, merchant, kind: "deposit" };',
    replace: '  if (operation === "topup") return "@payees";',
    invariant: "The rest of a top-up looks like coins that a contract sent (no unit appears).",
    world,
    when: paysTokens,
  },
  {
    name: "compared-while-it-is-swept",
    file: readings,
    find: "  if (!isBeingSwept(database, network, of.address, oldestOf(chain, from))) {",
    replace: "  if (isBeingSwept(database, network, of.address, from) || to >= from) {",
    invariant:
      "Money that its sweep has not taken yet looks like money that came since (no unit appears).",
    world,
  },
  {
    name: "seen-money-is-held",
    file: payments,
    find: '  upsert(database, payment, "WHERE final = 0");',
    replace: `  upsert(database, payment, "WHERE final = 0");
  postPaymentMove(database, payment, merchantOf(database, payment));`,
    invariant:
      "A payment in no final block lies on its address already, and is swept before it is there (no unit appears).",
    world,
  },
  {
    name: "address-of-another-place",
    file: "gateway/deposits/fresh-address.ts",
    find: "      return { addressIndex, address, next: addressIndex + 1 };",
    replace: `      return { addressIndex, address: family.depositAddress(account, addressIndex + 500), next: addressIndex + 1 };`,
    invariant:
      "An address leaves that is not the account's at its index, and no sweep takes what comes there (a deposit address is of the wallet).",
    world,
  },
  {
    name: "final-blocks-by-one-node",
    file: "gateway/watcher/deposits.ts",
    find: "  const blocks = await readLinkedBlocks(chain, cursor.number + 1, last, true);",
    replace: "  const blocks = await readLinkedBlocks(chain, cursor.number + 1, last, false);",
    invariant:
      "One node that lies about a final block hides its payments, and the cursor passes it (truth).",
    world: "waiting",
    when: ({ deposits, rates, nodes }) => deposits.length > 0 && rates.nodeLies > 0 && nodes > 1,
  },
];
