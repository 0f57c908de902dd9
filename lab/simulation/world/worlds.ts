/**
 * Worlds beside the one that chance draws: in each, one trouble is there in every run and for
 * longer. A world is a range of seeds, so that a seed alone tells a run again. Touches nothing.
 */
import type { Random } from "../kernel/random.ts";
import { bothLie } from "./both-lie.ts";
import { coins, onLitecoin } from "./coins.ts";
import { besideWrongClock, wrongClock } from "./gateway-clock.ts";
import { inCoins, manyOf } from "./order-copies.ts";
import {
  badItems,
  type DepositOrder,
  type FaultKind,
  type Order,
  type Plan,
  type Rates,
  type SimulatedFamily,
} from "./plan.ts";
import { restoredCell } from "./restored-cells.ts";
import { sequences } from "./sequences.ts";
import { unitsOf } from "./units.ts";

/** The seed before the first of each world. */
export const worlds = {
  "lying-node": 1_000_000_000,
  sweeps: 2_000_000_000,
  "same-epoch": 3_000_000_000,
  waiting: 4_000_000_000,
  "two-liars": 5_000_000_000,
  "false-chain": 6_000_000_000,
  "two-merchants": 7_000_000_000,
  "shop-cancels": 8_000_000_000,
  sequences: 9_000_000_000,
  coins: 10_000_000_000,
  "both-restored": 11_000_000_000,
  "unnamed-coins": 12_000_000_000,
  "one-bad-among-many": 13_000_000_000,
  "gateway-clock": 14_000_000_000,
} as const;

export type WorldName = keyof typeof worlds;

const seedsMax = 100_000_000;
/** Troubles that pass by themselves without an operator, and hide nothing for long. */
const brief: readonly FaultKind[] = [
  ...(["signerDies", "courierDies", "gatewayDies", "lineCut", "lineSlow", "slowDisk"] as const),
  ...(["nodeErrors", "nodeSlow", "reorganisation", "feeSpikes", "minerStale"] as const),
];
const passing: readonly FaultKind[] = [
  ...brief,
  "nodeHides",
  "nodeLags",
  "poolForgets",
  "blocksSkip",
];

type DrawnPlan = Omit<Plan, "isForged" | "isRestoredAgain" | "providers">;

/** Whether a seed is one of a world's. */
export function isIn(world: WorldName, seed: number): boolean {
  const from = worlds[world];
  return seed > from && seed <= from + seedsMax;
}

/** The plan that chance drew, as it is in the world of its seed. */
export function inWorld(
  drawn: DrawnPlan,
  seed: number,
  random: Random,
): Omit<Plan, "isForged" | "providers"> {
  const plan = { ...drawn, isRestoredAgain: false };
  if (isIn("lying-node", seed)) return lyingNode(plan, random);
  if (isIn("sweeps", seed)) return withDeposits(plan, random);
  if (isIn("same-epoch", seed)) return sameEpoch(plan, random);
  if (isIn("two-liars", seed)) return twoLiars(plan, random);
  if (isIn("sequences", seed)) return sequences(plan, random);
  if (isIn("coins", seed)) return coins(plan, random);
  if (isIn("both-restored", seed)) return bothRestored(plan, seed, random);
  if (isIn("unnamed-coins", seed)) return bothLie(unnamedCoins(plan, random), seed);
  if (isIn("false-chain", seed)) return falseChain(plan, random);
  if (isIn("one-bad-among-many", seed)) return oneBadAmongMany(plan, random);
  if (isIn("gateway-clock", seed)) return gatewayClock(plan, random);
  if (isIn("two-merchants", seed)) return twoMerchants(plan, random);
  if (isIn("shop-cancels", seed))
    return { ...plan, cancels: random.between("the shop cancels how often", 300, 3_000) };
  return isIn("waiting", seed) ? withCustomers(waiting(plan, random), random) : plan;
}

function lyingNode<P extends DrawnPlan>(plan: P, random: Random): P {
  return {
    ...plan,
    rates: {
      ...limitedTo(plan.rates, passing),
      nodeLies: random.between("how often the node lies", 2_000, 10_000),
    },
    ...{ nodes: 2, recoveryScenario: false, takeover: false, oldBackup: "" },
    // Long enough for a second and a third attempt under the lies.
    faultsMs: random.between("the node lies for", 20, 240) * 500,
  };
}

/**
 * Ledger and database are restored together, and the database alone once more when that was
 * recovered: it counts to the epoch of that recovery a second time.
 */
function sameEpoch<P extends DrawnPlan>(
  plan: P,
  random: Random,
): P & { readonly isRestoredAgain: true } {
  return {
    ...plan,
    rates: {
      ...limitedTo(plan.rates, brief),
      bothRestored: random.between("how soon both are restored", 800, 3_000),
    },
    ...{ recoveryScenario: true, takeover: false, oldBackup: "", rules: "", isRestoredAgain: true },
    faultsMs: random.between("long enough for two recoveries", 120, 240) * 500,
  };
}

/** In one run of ten bytes are on their way that no node shows until the order has come again. */
const unseenOf = 10;

/**
 * Ledger and database of one server are restored together, on each family in turn, with people who
 * know it and carry out a recovery, or with nobody who knows. The shop asks for all of it again.
 */
function bothRestored<P extends DrawnPlan>(drawn: P, seed: number, random: Random): P {
  const { family, isRecovered } = restoredCell(seed - worlds["both-restored"]);
  const plan = {
    ...drawn,
    rates: limitedTo(drawn.rates, brief),
    recoveryScenario: isRecovered,
    takeover: false,
    oldBackup: "" as const,
  };
  const turned = turnedTo[family](plan, random);
  const isCounted = family === "evm" || family === "xrp";
  return {
    ...turned,
    rates: {
      ...limitedTo(turned.rates, brief),
      bothRestored: random.between("how soon both are restored", 800, 3_000),
    },
    ...{
      takeover: false,
      oldBackup: "",
      rules: "",
      helps: 0,
      refusing: "",
      deposits: [],
      policy: "wide",
    },
    ...{ manualReplaceAbove: "", recoveryScenario: isRecovered },
    isUnseen: !isCounted && random.below("bytes that no node shows", unseenOf) === 0,
    faultsMs:
      family === "tron"
        ? random.pick("minutes of it", [4, 6, 8]) * 60_000
        : random.between("long enough to ask again", 60, 160) * 500,
  };
}

/** The plan of a family that chance drew for another one. */
const turnedTo: Readonly<
  Record<SimulatedFamily, <P extends DrawnPlan>(plan: P, random: Random) => P>
> = {
  evm: (plan) => plan,
  tron: (plan, random) => waiting(plan, random),
  xrp: (plan, random) => sequences(plan, random),
  bitcoinregtest: (plan, random) => coins(plan, random),
  litecoinregtest: (plan, random) => onLitecoin(coins(plan, random)),
};

/** Events of the signer's machine while gateway and courier lie together. */
const machines: readonly FaultKind[] = [
  ...([
    "signerDies",
    "powerFails",
    "syncFails",
    "writeFails",
    "shortWrites",
    "diskFills",
    "slowDisk",
  ] as const),
];

/**
 * Gateway and courier lie with one mind, on a chain whose slots exclude or on one that excludes by
 * expiry. They order what they like; the plan's own orders are those that an operator would
 * approve.
 */
function twoLiars<P extends DrawnPlan>(plan: P, random: Random): P {
  const family = random.pick("family", ["evm", "tron"] as const);
  const policy = random.pick("policy", ["narrow", "narrow", "daily", "holding", "wide"] as const);
  const orders = family === "evm" ? plan.orders : ordersOf(plan.orders, random);
  return {
    ...plan,
    ...{
      liars: "gateway and courier",
      family,
      policy,
      orders,
      rates: limitedTo(plan.rates, machines),
    },
    ...{ recoveryScenario: false, takeover: false, oldBackup: "", deposits: [], nodes: 1 },
    rules: plan.rules === "destinations" ? "" : plan.rules,
    manualReplaceAbove: family === "evm" ? "" : random.pick("signs again above", ["", "", "0.2"]),
  };
}

/** Beside a chain that is made up. */
const besideFalse: readonly FaultKind[] = [
  ...machines,
  ...([
    "courierDies",
    "gatewayDies",
    "lineCut",
    "lineSlow",
    "nodeErrors",
    "nodeSlow",
    "nodeSilence",
    "operatorSlow",
  ] as const),
  ...(["ordersRepeated", "ordersAltered", "sleeps", "poolForgets"] as const),
];

/**
 * The gateway named the agent's nodes, and all of them show a chain that there is not: blocks and
 * clocks are made up, and so are void attempts. Signer and courier are honest, on the chain that
 * excludes by expiry.
 */
function falseChain<P extends DrawnPlan>(plan: P, random: Random): P {
  const drawn = waiting(plan, random);
  const { rates } = drawn;
  const orders = manyOf(drawn.orders, random);
  return {
    ...drawn,
    ...{
      liars: "gateway and nodes",
      nodesFrom: random.pick("whose nodes", ["gateway", ""] as const),
      orders,
    },
    ...{
      blockMs: 12_000,
      confirmations: 5,
      nodes: random.pick("false nodes", [1, 2, 3]),
      deposits: [],
    },
    rates: { ...limitedTo(rates, besideFalse), sleeps: rates.sleeps || 300, gatewayClockJumps: 0 },
    ...{
      policy: random.pick("policy", ["narrow", "narrow", "daily", "wide"] as const),
      refusing: "",
      recoveryScenario: false,
    },
    ...{
      manualReplaceAbove: "",
      helps: random.pick("people help how often", [0, 3_000, 8_000]),
      rules: "",
    },
    faultsMs: random.pick("they lie for minutes", [8, 16, 24]) * 60_000,
  };
}

/**
 * The courier offers coins that no block has and claims first slots that were never the account's,
 * or the gateway says of both what it likes: one of them alone. Beside that nothing loses records.
 */
function unnamedCoins<P extends DrawnPlan>(plan: P, random: Random): P {
  const unnamed = random.pick("who lies about coins and slots", ["courier", "gateway"] as const);
  const isOfCoins = random.below("on a chain of coins", 3) > 0;
  const drawn = isOfCoins ? coins(plan, random) : sequences(plan, random);
  const kinds: readonly FaultKind[] = [
    ...passing,
    "frameLost",
    "frameTwice",
    "frameOld",
    "lineHangs",
    "powerFails",
    "ordersRepeated",
  ];
  const hostileCourier =
    unnamed === "courier" ? random.between("the courier lies how often", 2_000, 8_000) : 0;
  return {
    ...drawn,
    ...{
      unnamed,
      recoveryScenario: false,
      takeover: false,
      oldBackup: "",
      helps: 0,
      cancels: 0,
      policy: "wide",
    },
    rates: { ...limitedTo(drawn.rates, kinds), hostileCourier },
    faultsMs: random.pick("they lie for seconds", [16, 32, 64]) * 1_000,
  };
}

/** On each family in turn of chance; requests that nobody pays where deposits are asked for. */
function gatewayClock<P extends DrawnPlan>(plan: P, random: Random): P {
  const family = random.pick("family under a wrong clock", [
    "evm",
    "evm",
    "evm",
    "tron",
    "xrp",
    "bitcoinregtest",
  ] as const);
  const turned = {
    ...{ evm: withDeposits(plan, random), tron: waiting(plan, random) },
    ...{ xrp: sequences(plan, random), bitcoinregtest: coins(plan, random) },
  }[family];
  return wrongClock({ ...turned, rates: limitedTo(turned.rates, besideWrongClock) }, random);
}

/** Deposits, sweeps and withdrawals of one merchant beside agents of others who lie. */
function twoMerchants<P extends DrawnPlan>(plan: P, random: Random): P {
  const drawn = withDeposits(plan, random);
  // No agent has caught up with a gateway that starts again, and one agent's word counts for all
  // until another has.
  return { ...drawn, rates: { ...drawn.rates, gatewayDies: 0 }, liars: "a merchant" };
}

/** One in so many runs with something bad lasts until rests have grown. */
const grownOf = 4;
const grownMs = 6 * 60_000;

/**
 * One of four other merchants has some kinds of things that nobody can read or judge, or too many
 * of them, from the first pass to the last, beside troubles that pass. Where nobody can read the
 * token, the first merchant has only coins.
 */
function oneBadAmongMany<P extends DrawnPlan>(plan: P, random: Random): P {
  const drawn = twoMerchants(plan, random);
  const bad = badItems.filter((item) => random.below(`bad ${item}`, 2) === 1);
  const one = random.pick("one that is bad", badItems);
  const items = bad.length === 0 ? [one] : bad;
  return {
    ...drawn,
    rates: limitedTo(
      drawn.rates,
      brief.filter((kind) => kind !== "gatewayDies"),
    ),
    bad: items,
    leastMs: random.below("until rests have grown", grownOf) === 0 ? grownMs : 0,
    ...(items.includes("token") ? inCoins(drawn) : {}),
  };
}

function limitedTo(rates: Rates, kinds: readonly FaultKind[]): Rates {
  return Object.fromEntries(
    Object.entries(rates).map(([kind, rate]) => [
      kind,
      kinds.includes(kind as FaultKind) ? rate : 0,
    ]),
  ) as Rates;
}

/**
 * Deposits that are swept, beside a few withdrawals: anybody who is paid in pays out of the same
 * account. No price rises above what a sweep may cost, since one that is refused waits for an hour.
 */
function withDeposits<P extends DrawnPlan>(plan: P, random: Random): P {
  const faultsMs = random.between("faults last among sweeps", 20, 60) * 500;
  const count = random.between("deposits", 1, 3);
  const deposits = Array.from({ length: count }, (_, index): DepositOrder => {
    const currency = random.pick("deposited", ["eth", "usdt", "usdt"] as const);
    const amount = `0.${6 + index}`;
    return {
      ...{
        orderId: `deposit-${index + 1}`,
        currency,
        amount,
        units: BigInt(6 + index) * 10n ** (currency === "eth" ? 17n : 5n),
      },
      atMs: 500 + random.below("deposit at", Math.floor(faultsMs / 2)),
      // The rest comes while the sweep of the first part is on its way, or after it.
      moreMs:
        random.below("more comes", 3) === 0 ? random.between("more comes after", 10, 60) * 500 : 0,
    };
  });
  return {
    ...plan,
    rates: { ...limitedTo(plan.rates, passing), feeSpikes: 0 },
    ...{
      recoveryScenario: false,
      takeover: false,
      oldBackup: "",
      rules: "",
      policy: "wide",
      refusing: "",
      helps: 0,
    },
    ...{ deposits, faultsMs },
  };
}

/** The faults of the plan that also exist on a chain without counts. */
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
    "reverts",
    "blocksSkip",
    "feeSpikes",
    "foreignOutgoing",
    "ordersRepeated",
    "ordersAltered",
    "operatorSlow",
  ] as const),
  ...(["timeLeaps", "hostileCourier"] as const),
];
/** The first three receivers of the other family, as this one spells them. */
export const waitingReceivers = [
  "TLEaY8XoqpBmndLsjcfThgdKLN1ssNuUcF",
  "TFTsyAaajS3DTEbekme2wm9fNcypguDHp4",
  "TPBivseBCFmG8AEL38DJ4hxrFMQteENxDz",
] as const;
const slotOf = {
  short: { blockMs: 3_000, confirmations: 19 },
  long: { blockMs: 20_000, confirmations: 3 },
} as const;
/**
 * Blocks below the head that are not solidified, by the time between two: about a minute. Most
 * blocks hold nothing and are read all the same, so the chain's own three seconds come seldom.
 */
const slots = [
  slotOf.short,
  { blockMs: 6_000, confirmations: 10 },
  ...([12_000, 12_000, 12_000] as const).map((blockMs) => ({ blockMs, confirmations: 5 })),
  ...[slotOf.long, slotOf.long, slotOf.long],
] as const;

/** A chain on which nothing but time excludes a second payment, with faults for minutes of it. */
function waiting<P extends DrawnPlan>(plan: P, random: Random): P {
  const drawn = limitedTo(plan.rates, carried);
  const of = (kind: FaultKind, share: number, least: number, most: number): number =>
    random.below(`waiting with ${kind}`, share) === 0
      ? random.between(`rate of ${kind}`, least, most)
      : 0;
  const rates: Rates = {
    ...drawn,
    chainHalts: of("chainHalts", 3, 50, 300),
    chainJams: of("chainJams", 2, 200, 1_500),
    sleeps: of("sleeps", 4, 200, 900),
    branchesOld: of("branchesOld", 2, 1_000, 8_000),
    receiptsMissing: of("receiptsMissing", 3, 300, 2_000),
    reorganisation: drawn.reorganisation || of("reorganisation", 3, 300, 2_000),
    blocksSkip: drawn.blocksSkip || of("blocksSkip", 3, 3_000, 9_500),
    poolForgets: drawn.poolForgets || of("poolForgets", 4, 500, 3_000),
    nodeHides: drawn.nodeHides || of("nodeHides", 4, 3_000, 9_000),
    gatewayRestored: drawn.ledgerRestored > 0 ? 0 : drawn.gatewayRestored,
  };
  return {
    ...plan,
    ...{ family: "tron", rates, orders: ordersOf(plan.orders, random), deposits: [] },
    ...random.pick("slots", slots),
    ...{ saysFinal: true, nodes: random.pick("nodes of it", [1, 2, 2, 2, 3]), firstNonce: 0 },
    ...{ takeover: false, oldBackup: "", rules: plan.rules === "destinations" ? "" : plan.rules },
    recoveryScenario: plan.recoveryScenario && rates.ledgerRestored + rates.gatewayRestored > 0,
    refusing: plan.refusing === "" ? "" : waitingReceivers[1],
    manualReplaceAbove: random.pick("signs again above", ["", "", "0.2"]),
    faultsMs: random.pick("faults last for minutes", [1, 2, 4, 8, 12, 16, 22]) * 60_000,
  };
}

/** In TRX: a sweep of a token needs some 9 of them, and four times that when energy is dear. */
const maxTopUp = "20";
/** In one run of four customers pay in, and what they pay is swept. */
const customersOf = 4;
/**
 * Faults that keep no deposit and no sweep from its end once they have stopped. A clock that jumps
 * is not one of them, because ledger time may then stand in the next month and each sweep has run
 * out before it.
 */
const swept: readonly FaultKind[] = [
  ...passing,
  ...([
    "powerFails",
    "syncFails",
    "writeFails",
    "shortWrites",
    "diskFills",
    "lineHangs",
    "frameLost",
    "frameTwice",
  ] as const),
  ...([
    "framesSwapped",
    "frameDamaged",
    "nodeSilence",
    "nodeLies",
    "reverts",
    "ordersRepeated",
    "operatorSlow",
  ] as const),
  ...([
    "chainHalts",
    "chainJams",
    "sleeps",
    "branchesOld",
    "receiptsMissing",
    "timeLeaps",
    "hostileCourier",
  ] as const),
  ...(["commitFails", "frameOld", "ordersAltered"] as const),
];

/**
 * Deposits that are swept on a chain where nothing but time excludes: one of coins is of so many
 * that their sweep is worth its fee, and one of a token needs a top-up first.
 */
function withCustomers<P extends DrawnPlan>(plan: P, random: Random): P {
  if (random.below("waiting with payers", customersOf) !== 0) return plan;
  const count = random.between("deposits", 1, 3);
  const deposits = Array.from({ length: count }, (_, index): DepositOrder => {
    const currency = random.pick("deposited", ["trx", "usdt", "usdt"] as const);
    const [amount, units] =
      currency === "trx"
        ? [`${20 + index}`, BigInt(20 + index) * 10n ** 6n]
        : [`0.${6 + index}`, BigInt(6 + index) * 10n ** 5n];
    return {
      ...{ orderId: `deposit-${index + 1}`, currency, amount, units },
      atMs: 500 + random.below("deposit at", 60_000),
      moreMs:
        random.below("more comes", 3) === 0
          ? random.between("more comes after", 10, 200) * 1_000
          : 0,
    };
  });
  return {
    ...plan,
    rates: limitedTo(plan.rates, swept),
    ...{ recoveryScenario: false, rules: "", policy: "wide", refusing: "", deposits, maxTopUp },
  };
}

/** Two in three times the second is the first once more, to the last digit: an order is no id. */
function ordersOf(orders: readonly Order[], random: Random): readonly Order[] {
  const all = orders.map((order): Order => {
    const currency = order.currency === "usdt" ? "usdt" : "trx";
    const address = random.pick("receiver", waitingReceivers);
    return { ...order, currency, address, units: unitsOf(order.amount, currency) };
  });
  const [first, second, ...rest] = all;
  if (first === undefined || second === undefined || random.below("the same once more", 3) === 0)
    return all;
  const { currency, amount, units, address } = first;
  return [
    first,
    {
      ...second,
      currency,
      amount,
      units,
      address,
      atMs: first.atMs + random.below("soon after", 2_000),
    },
    ...rest,
  ];
}
