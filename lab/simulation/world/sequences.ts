/**
 * The world of a chain where a slot is a sequence: it begins at the number of a ledger, an attempt
 * has a last ledger, and a payment may name a tag. Touches nothing.
 */
import type { Random } from "../kernel/random.ts";
import type { FaultKind, Order, Plan, Rates } from "./plan.ts";
import { unitsOf } from "./units.ts";

export const sequenceReceivers = [
  "rpZNAnHcvr6TbaY7QJa9yrVfu6coDz9pPH",
  "rhf7192NqpPvBUnAobBJAryNFQNbPKz11w",
  "rnC5oDiiksa4mHdRUtGTupTMjaiPXzGs18",
] as const;
const tags = ["", "", "0", "7", "7", "8", "4294967295"] as const;
/** A validated ledger stays, and no amount of a token is asked for. */
const absent: ReadonlySet<FaultKind> = new Set(["reorganisation"]);
/** The part of a plan that this world turns. */
type TurnedPlan = Pick<Plan, "rates" | "orders" | "rules" | "refusing" | "recoveryScenario">;

export function sequences<P extends TurnedPlan>(plan: P, random: Random): P {
  const rates = Object.fromEntries(
    Object.entries(plan.rates).map(([kind, rate]) => [
      kind,
      absent.has(kind as FaultKind) ? 0 : rate,
    ]),
  ) as Rates;
  return {
    ...plan,
    ...{
      family: "xrp",
      rates,
      orders: ordersOf(plan.orders, random),
      deposits: [],
      confirmations: 1,
      saysFinal: false,
    },
    blockMs: random.pick("ledgers come every", [2_000, 3_000, 4_000]),
    firstNonce: 80_000_000 + random.below("the account's ledger", 1_000_000),
    nodes: random.pick("nodes of it", [1, 1, 2, 2, 3]),
    rules: plan.rules === "destinations" ? "" : plan.rules,
    refusing: plan.refusing === "" ? "" : sequenceReceivers[1],
    faultsMs: random.pick("faults last for seconds", [4, 8, 16, 32, 64, 128]) * 1_000,
  };
}

/**
 * Two in three times the second is the first once more but for its tag, and sometimes the third
 * too: an order is told from another by all three of amount, address and tag.
 */
function ordersOf(orders: readonly Order[], random: Random): readonly Order[] {
  const all = orders.map((order): Order => {
    const address = random.pick("receiver", sequenceReceivers);
    return {
      ...order,
      currency: "xrp",
      address,
      tag: random.pick("tag", tags),
      units: unitsOf(order.amount, "xrp"),
    };
  });
  const [first, ...rest] = all;
  if (first === undefined || random.below("the same with another tag", 3) === 0) return all;
  const { amount, units, address } = first;
  const others = tags.filter((tag) => tag !== first.tag);
  const twins = (rest.length === 0 ? [{ ...first, orderId: "order-2" }] : rest).map(
    (order, at): Order => ({
      ...order,
      amount,
      units,
      address,
      tag: [...new Set(others)][at % 4] ?? "",
    }),
  );
  return [first, ...twins];
}
