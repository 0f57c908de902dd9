/**
 * Draws the plan of a seed's run. Each seed draws its own mix, most kinds of fault being off in
 * most runs, so that a rare pair of faults meets somewhere without being drowned by all the others.
 */
import type { Backend } from "../../kit/provider/profile.ts";
import { profiles } from "../../kit/provider/profiles.ts";
import { Random, rateParts } from "../kernel/random.ts";
import {
  type FaultKind,
  faultKinds,
  hiding,
  type Order,
  type Plan,
  type Rates,
  receivers,
  twin,
  untrue,
} from "./plan.ts";
import { unitsOf } from "./units.ts";
import { inWorld } from "./worlds.ts";

/** In one plan of so many somebody forges. */
const forgedOf = 16;

/** One plan of so many has providers with profiles. */
const providersOf = 4;
const providersFrom = 77_000_000_000;

/** When a twin is asked for at the latest. */
const twinMsMax = 20_000;

/** The plan of a seed's run. */
export function planOf(seed: number): Plan {
  return drawPlan(new Random(seed), seed);
}

function without(rates: Rates, kinds: readonly FaultKind[]): Rates {
  return { ...rates, ...Object.fromEntries(kinds.map((kind) => [kind, 0])) };
}

/**
 * Ledger and database are restored together in runs with no other way back, and with nodes that
 * show what the chain has; unless people carry out a recovery, who know what to do with what nobody
 * shows.
 */
function restoredTogether(
  random: Random,
  rates: Rates,
): { readonly rates: Rates; readonly recoveryScenario: boolean } {
  const { ledgerRestored, gatewayRestored, folderCloned, pairedAgain, bothRestored } = rates;
  const isOther = ledgerRestored + gatewayRestored + folderCloned + pairedAgain > 0;
  if (bothRestored === 0 || isOther)
    return { rates: { ...rates, bothRestored: 0 }, recoveryScenario: false };
  const isRecoveryScenario = random.below("rescue of both", 2) === 0;
  if (!isRecoveryScenario)
    return { rates: without(rates, [...untrue, ...hiding, "blocksSkip"]), recoveryScenario: false };
  const isShown = random.below("all that left is shown", 2) === 0;
  return {
    rates: without(rates, [
      ...untrue,
      "ordersAltered",
      ...(isShown ? [...hiding, "blocksSkip" as const] : []),
    ]),
    recoveryScenario: true,
  };
}

/** A plan as the seed's world has it. */
export function drawPlan(random: Random, seed: number): Plan {
  const plan = inWorld(drawAny(random), seed, random);
  return { ...plan, providers: drawProviders(plan, seed), isForged: seed % forgedOf === 7 };
}

/**
 * By a chance of their own, so that every other draw stays as it was. One that lags stands only
 * where nodes lag anyhow, and one with a backend that lies nowhere: lies are the run's own.
 */
function drawProviders(
  { family, nodes, rates, saysFinal }: Pick<Plan, "family" | "nodes" | "rates" | "saysFinal">,
  seed: number,
): readonly string[] {
  const random = new Random(seed + providersFrom);
  if (random.below("run with providers", providersOf) !== 0)
    return Array.from({ length: nodes }, () => "");
  if (family !== "evm" && family !== "tron") return Array.from({ length: nodes }, () => "");
  const fit = profiles.filter(({ backends = [], still, ...one }) => {
    const isLagging = backends.length > 0 || still !== undefined;
    // A node without the chain's own word serves nobody where that word is asked for.
    if (saysFinal && one.noFinalized !== undefined) return false;
    return (
      one.family === family &&
      one.isFit &&
      !(isLagging && (rates.nodeLags === 0 || nodes < 2)) &&
      !isLying(backends)
    );
  });
  return Array.from({ length: nodes }, () => random.pick("provider", fit).name);
}

function isLying(backends: readonly Backend[]): boolean {
  return backends.some(({ lies = [] }) => lies.length > 0);
}

function drawAny(random: Random): Omit<Plan, "isForged" | "isRestoredAgain" | "providers"> {
  const drawn = Object.fromEntries(
    Object.entries(faultKinds).map(
      ([
        kind,
        {
          percent,
          rates: [least, most],
        },
      ]) => [
        kind,
        random.fault(`run with ${kind}`, (percent * rateParts) / 100)
          ? random.between(`rate of ${kind}`, least, most)
          : 0,
      ],
    ),
  ) as Rates;
  const { rates, recoveryScenario: isBoth } = restoredTogether(random, drawn);
  const isLong = random.below("long run", 12) === 0;
  const isTwofold =
    rates.ledgerRestored + rates.gatewayRestored + rates.folderCloned + rates.pairedAgain > 0;
  const recoveryScenario = isBoth || (isTwofold && random.below("recoveryScenario", 3) === 0);
  const takeover =
    recoveryScenario && rates.gatewayRestored > 0 && random.below("takeover", 3) === 0;
  const isLedgerAlone =
    rates.gatewayRestored + rates.folderCloned + rates.pairedAgain === 0 &&
    rates.ledgerRestored > 0;
  const isOld = recoveryScenario && isLedgerAlone && random.below("an old backup", 3) === 0;
  const oldBackup = isOld
    ? random.pick("what is open in it", ["on its way", "on its way", "held"] as const)
    : "";
  const oldMs = isOld ? random.between("an old backup grows older", 16, 40) * 500 : 0;
  const wayBackMs = recoveryScenario
    ? random.between("faults last on the way back", 0, 24) * 500
    : 0;
  const faultsMs = random.between("faults last", isLong ? 16 : 3, isLong ? 40 : 10) * 500;
  const policies =
    oldBackup === "held"
      ? (["narrow", "daily"] as const)
      : (["wide", "wide", "narrow", "daily", "holding"] as const);
  const policy = random.pick("policy", policies);
  const rules = oldBackup === "" ? drawRules(random) : "";
  const orders = drawOrders(
    random,
    faultsMs,
    rules === "destinations" ? 3 : oldBackup === "held" ? 2 : 1,
  );
  return {
    // Ledger time stands for minutes after a jump, and a delay with it: longer than runs are told.
    rates: rules === "destinations" ? without(rates, ["clockJumps", "gatewayClockJumps"]) : rates,
    orders:
      oldBackup === "held"
        ? heldFirst(orders)
        : rules === "destinations"
          ? withTwin(random, orders)
          : orders,
    faultsMs: faultsMs + oldMs + wayBackMs + (rules === "destinations" ? twinMsMax : 0),
    deposits: [],
    family: "evm",
    ...{
      manualReplaceAbove: "",
      maxTopUp: "",
      liars: "",
      bad: [],
      leastMs: 0,
      unnamed: "",
      nodesFrom: "own",
      isUnseen: false,
    },
    ...{ isClockWrong: false, depositMinutes: 60 },
    rules,
    recoveryScenario,
    takeover,
    oldBackup,
    blockMs: random.between("block time", 2, 5) * 500,
    confirmations: random.pick("confirmations", [1, 2, 2, 2, 2, 2, 3, 4]),
    saysFinal: random.below("nodes say what is final", 6) === 0,
    nodes: random.pick("nodes", [1, 1, 1, 1, 1, 2, 2, 3]),
    firstNonce: random.pick("first nonce", [0, 5]),
    policy,
    segmentBytesMax: random.pick(
      "segment size",
      [1_024, 4_096, 16_384, 1_048_576, 1_048_576, 1_048_576],
    ),
    linkSlowMs: random.pick("line delay", [1, 20, 150]),
    refusing: random.fault("a receiver refuses", 500) ? receivers[1] : "",
    cancels: 0,
    helps: random.fault("people help", 2_000)
      ? random.between("people help how often", 1_000, 6_000)
      : 0,
  };
}

function drawRules(random: Random): Plan["rules"] {
  const drawn = random.below("rules", 12);
  return drawn === 0 ? "destinations" : drawn === 1 ? "approvers" : "";
}

/**
 * The first may be paid for good before another is asked for that goes to an address which looks
 * like the first one's; between the two, one more to the first one's own.
 */
function withTwin(random: Random, orders: readonly Order[]): readonly Order[] {
  const [first, second] = [
    { address: receivers[0], atMs: 500 },
    { address: receivers[0], atMs: random.between("the same again at", 1_000, 12_000) },
  ];
  const last = { address: twin, atMs: random.between("a twin at", 8_000, twinMsMax) };
  return orders.map((order, index) => ({
    ...order,
    mode: "auto",
    ...(index === 0 ? first : index === 1 ? second : last),
  }));
}

/**
 * The first waits for an operator, and all are of one currency: together they may be more than a
 * day's limit.
 */
function heldFirst(orders: readonly Order[]): readonly Order[] {
  const currency = orders[0]?.currency ?? "eth";
  return orders.map((order, index) => ({
    ...order,
    ...{ mode: index === 0 ? ("manual" as const) : ("auto" as const), currency },
    ...{ address: order.address || receivers[0], units: unitsOf(order.amount, currency) },
  }));
}

function drawOrders(random: Random, faultsMs: number, least = 1): readonly Order[] {
  const count = Math.max(least, random.pick("orders", [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3]));
  // No two of the same amount: a payment is told from another by what it pays.
  const smallest = random.below("least amount", 4);
  return Array.from({ length: count }, (_, index) => {
    const mode = random.below("manual", 5) === 0 ? "manual" : "auto";
    const currency = random.pick("currency", ["eth", "usdt"] as const);
    const amount = `0.${((smallest + index) % 4) + 1}`;
    const isOpen = mode === "manual" && random.below("address open", 2) === 0;
    return {
      ...{
        orderId: `order-${index + 1}`,
        mode,
        currency,
        amount,
        units: unitsOf(amount, currency),
      },
      address: isOpen ? "" : random.pick("receiver", receivers),
      atMs: 500 + random.below("order at", Math.max(1, Math.floor(faultsMs * 0.8))),
    };
  });
}
