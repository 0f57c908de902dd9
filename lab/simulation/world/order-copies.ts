/** The orders of a plan, copied for a world: of the coin in place of a token, or as many again. */
import type { Random } from "../kernel/random.ts";
import type { DepositOrder, Order, Plan } from "./plan.ts";
import { unitsOf } from "./units.ts";

/** Orders and deposits of a token are of the coin, in the same amounts. */
export function inCoins({
  orders,
  deposits,
}: Pick<Plan, "orders" | "deposits">): Pick<Plan, "orders" | "deposits"> {
  const asCoin = <One extends Order | DepositOrder>(one: One): One => ({
    ...one,
    currency: "eth",
    units: unitsOf(one.amount, "eth"),
  });
  return { orders: orders.map(asCoin), deposits: deposits.map(asCoin) };
}

/** As many again, of their own ids, so that an hour's limit has more than it takes. */
export function manyOf(orders: readonly Order[], random: Random): readonly Order[] {
  const again = orders.map((order, at) => ({
    ...order,
    orderId: `more-${at + 1}`,
    atMs: order.atMs + random.below("more at", 400_000),
  }));
  return [...orders, ...again];
}
