/**
 * The world of a chain of coins: every attempt of a withdrawal spends one coin, the pin, and change
 * comes back as new coins. Touches nothing.
 */
import type { Random } from "../kernel/random.ts";
import {
  type FaultKind,
  hiding,
  type Order,
  type Plan,
  type Rates,
  type SimulatedFamily,
  untrue,
} from "./plan.ts";
import { unitsOf } from "./units.ts";

export const coinReceivers = [
  "bcrt1qzyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3lgth6c",
  "bcrt1qyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zs4w3j0",
  "bcrt1qxvenxvenxvenxvenxvenxvenxvenxvenztev8a",
] as const;
/** The same three, as Litecoin's network for tests spells them. */
const litecoinReceivers = [
  "rltc1qzyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3p937dx",
  "rltc1qyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zwc5c93",
  "rltc1qxvenxvenxvenxvenxvenxvenxvenxvenuxr9sr",
] as const;

export function coinReceiversOn(family: SimulatedFamily): readonly string[] {
  return family === "litecoinregtest" ? litecoinReceivers : coinReceivers;
}

/** A plan of coins, turned to Litecoin. */
export function onLitecoin<P extends TurnedPlan>(plan: P): P {
  const known: readonly string[] = coinReceivers;
  const at = (address: string): string => litecoinReceivers[known.indexOf(address)] ?? "";
  const orders = plan.orders.map(
    (order): Order => ({ ...order, currency: "ltc", address: at(order.address) }),
  );
  return { ...plan, family: "litecoinregtest", orders };
}

/** The faults of the plan that this world has too. */
const carried: readonly FaultKind[] = [
  ...([
    "signerDies",
    "courierDies",
    "powerFails",
    "syncFails",
    "writeFails",
    "shortWrites",
    "diskFills",
    "clockJumps",
  ] as const),
  ...([
    "slowDisk",
    "gatewayDies",
    "commitFails",
    "gatewayClockJumps",
    "gatewayRestored",
    "ledgerRestored",
  ] as const),
  ...([
    "lineCut",
    "lineHangs",
    "lineSlow",
    "frameLost",
    "frameTwice",
    "frameOld",
    "framesSwapped",
    "frameDamaged",
  ] as const),
  ...([
    "nodeErrors",
    "nodeSilence",
    "nodeLies",
    "nodeHides",
    "nodeLags",
    "nodeSlow",
    "poolForgets",
    "reorganisation",
  ] as const),
  ...([
    "blocksSkip",
    "feeSpikes",
    "foreignOutgoing",
    "minerStale",
    "ordersRepeated",
    "ordersAltered",
    "operatorSlow",
  ] as const),
  ...(["timeLeaps", "hostileCourier", "folderCloned", "pairedAgain", "bothRestored"] as const),
];
type TurnedPlan = Pick<
  Plan,
  "rates" | "orders" | "rules" | "recoveryScenario" | "helps" | "takeover" | "oldBackup"
>;

export function coins<P extends TurnedPlan>(plan: P, random: Random): P {
  const drawn = Object.fromEntries(
    Object.entries(plan.rates).map(([kind, rate]) => [
      kind,
      carried.includes(kind as FaultKind) ? rate : 0,
    ]),
  ) as Rates;
  const of = (kind: FaultKind, share: number, least: number, most: number): number =>
    random.below(`coins with ${kind}`, share) === 0
      ? random.between(`rate of ${kind}`, least, most)
      : 0;
  const rates: Rates = {
    ...drawn,
    marketRises: of("marketRises", 4, 2_000, 8_000),
    reorganisation: drawn.reorganisation || of("reorganisation", 3, 500, 3_000),
    minerStale: drawn.minerStale || of("minerStale", 4, 1_000, 6_000),
  };
  const { kind, isMany } = restoreOf(rates, random);
  const restored =
    kind === "" ? {} : { [kind]: rates[kind] || random.between(`rate of ${kind}`, 800, 3_000) };
  const isFollowed = kind === "bothRestored" || (kind !== "" && (plan.recoveryScenario || isMany));
  return {
    ...plan,
    ...{
      family: "bitcoinregtest",
      orders: ordersOf(plan.orders, random, kind !== "bothRestored"),
      deposits: [],
      saysFinal: false,
      firstNonce: 0,
    },
    rates: { ...(kind === "bothRestored" ? shown(rates) : rates), ...noRestore, ...restored },
    blockMs: random.pick("blocks come every", [3_000, 5_000, 8_000]),
    confirmations: random.pick("depth", [1, 2, 2, 3]),
    nodes: random.pick("nodes of it", [1, 1, 2, 2, 3]),
    rules: plan.rules === "destinations" ? "" : plan.rules,
    recoveryScenario: isFollowed,
    ...{
      refusing: "",
      takeover: kind === "gatewayRestored" && isFollowed && random.below("another server", 3) === 0,
    },
    oldBackup: kind === "ledgerRestored" && isFollowed ? plan.oldBackup : "",
    faultsMs:
      random.pick(
        "faults last for seconds",
        rates.marketRises > 0 ? [64, 80, 112] : [8, 16, 32, 64, 128],
      ) * 1_000,
  };
}

/** Ways in which a run loses records or gets a second server; a run has one at most. */
const restores = [
  "ledgerRestored",
  "gatewayRestored",
  "folderCloned",
  "pairedAgain",
  "bothRestored",
] as const;
const noRestore = Object.fromEntries(restores.map((kind) => [kind, 0])) as Pick<
  Rates,
  (typeof restores)[number]
>;

/**
 * The way of this run, more often than chance has one: only then does a ledger know no more than
 * the pin of a payment.
 */
function restoreOf(
  rates: Rates,
  random: Random,
): { readonly kind: "" | (typeof restores)[number]; readonly isMany: boolean } {
  const drawn = restores.find((kind) => rates[kind] > 0);
  if (drawn !== undefined || random.below("a restore among coins", 6) > 0)
    return { kind: drawn ?? "", isMany: false };
  return {
    kind: random.pick("which restore", restores),
    isMany: random.below("people follow the page", 2) === 0,
  };
}

/**
 * Ledger and database are restored together only where nodes show all that left: a coin that a
 * forgotten payment spends has no number that another one could use up.
 */
function shown(rates: Rates): Rates {
  const hidden: readonly FaultKind[] = [...untrue, ...hiding, "blocksSkip", "ordersAltered"];
  return { ...rates, ...Object.fromEntries(hidden.map((kind) => [kind, 0])) };
}

/**
 * Most runs have several orders at once, so that they want the same coins. In one run of three the
 * second pays the same amount to the same address.
 */
function ordersOf(orders: readonly Order[], random: Random, mayBeAlike: boolean): readonly Order[] {
  const [first] = orders;
  const few =
    first === undefined || orders.length > 1 || random.below("one order alone", 3) === 0
      ? []
      : [first];
  const others = [
    ...orders,
    ...few.map((one) => ({
      ...one,
      orderId: "order-2",
      amount: one.amount === "0.1" ? "0.2" : "0.1",
    })),
  ];
  const all = others.map((order): Order => {
    const address = random.pick("receiver", coinReceivers);
    return { ...order, currency: "btc", address, units: unitsOf(order.amount, "btc") };
  });
  const [one, another, ...rest] = all;
  if (
    one === undefined ||
    another === undefined ||
    random.below("the same once more", 3) > 0 ||
    !mayBeAlike
  )
    return all;
  const { amount, units, address } = one;
  return [one, { ...another, amount, units, address }, ...rest];
}
