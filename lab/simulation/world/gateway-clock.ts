/**
 * The world in which the gateway's clock is a day and more from the truth for seconds, again and
 * again: requests end meanwhile that nobody pays, beside deposits and withdrawals. Touches nothing.
 */
import type { Random } from "../kernel/random.ts";
import type { DepositOrder, FaultKind, Plan } from "./plan.ts";
import { unitsOf } from "./units.ts";

const hourMs = 3_600_000;
/** How far from the truth: a chain's own times may be three hours away at most. */
export const wrongByMs = [26 * hourMs, -26 * hourMs] as const;
/** Faults that keep nothing from its end once they have stopped. */
export const besideWrongClock: readonly FaultKind[] = [
  ...([
    "signerDies",
    "courierDies",
    "gatewayDies",
    "powerFails",
    "lineCut",
    "lineSlow",
    "slowDisk",
  ] as const),
  ...([
    "nodeErrors",
    "nodeSlow",
    "reorganisation",
    "ordersRepeated",
    "frameLost",
    "frameTwice",
  ] as const),
];

type TurnedPlan = Pick<
  Plan,
  "family" | "deposits" | "recoveryScenario" | "rules" | "helps" | "takeover" | "oldBackup"
>;

export function wrongClock<P extends TurnedPlan>(
  plan: P,
  random: Random,
): P & Pick<Plan, "isClockWrong" | "depositMinutes"> {
  const hasDeposits = plan.family === "evm" || plan.family === "tron";
  const count = hasDeposits ? random.between("requests that nobody pays", 1, 4) : 0;
  const coin = plan.family === "tron" ? "trx" : "eth";
  const unpaid = Array.from({ length: count }, (_, at): DepositOrder => {
    const currency = random.pick("asked for in vain", [coin, "usdt"] as const);
    const [orderId, amount] = [`unpaid-${at + 1}`, `1.${at + 1}`];
    const atMs = 500 + random.below("asked in vain at", 12_000);
    return {
      orderId,
      currency,
      amount,
      units: unitsOf(amount, currency),
      atMs,
      moreMs: 0,
      isUnpaid: true,
    };
  });
  return {
    ...plan,
    ...{
      recoveryScenario: false,
      takeover: false,
      oldBackup: "",
      rules: "",
      helps: 0,
      policy: "wide",
      isClockWrong: true,
    },
    deposits: [...plan.deposits.map((order) => ({ ...order, moreMs: 0 })), ...unpaid],
    depositMinutes: random.pick("a request lives for minutes", [0.25, 0.5, 0.75]),
    faultsMs: random.pick("the clock is wrong for seconds", [20, 40, 60]) * 1_000,
  };
}
