/**
 * The plan of one run: the chain, the nodes, the orders, and the kinds of fault with their rates.
 * Each seed draws its own mix, most kinds being off in most runs, so that a rare pair of faults
 * meets somewhere without being drowned by all the others.
 */

import type { FamilyName } from "../../../chains/family.ts";
import type { Backend } from "../../rig/provider/profile.ts";
import { profiles } from "../../rig/provider/profiles.ts";
import { Chance, rateParts } from "../kernel/chance.ts";
import { type CurrencyId, unitsOf } from "./units.ts";
import { inWorld } from "./worlds.ts";

/** Faults by the place where they strike; a rate is in parts of 10,000 per occasion. */
export const faultKinds = {
  // The agent's machine.
  signerDies: { percent: 20, rates: [20, 200] }, // at a write, sync, rename, answer
  courierDies: { percent: 20, rates: [50, 400] }, // at a frame, a request
  powerFails: { percent: 15, rates: [200, 1200] }, // in any moment of the weather
  syncFails: { percent: 8, rates: [50, 400] },
  writeFails: { percent: 6, rates: [50, 400] },
  shortWrites: { percent: 10, rates: [1000, 5000] },
  diskFills: { percent: 6, rates: [300, 1200] },
  clockJumps: { percent: 15, rates: [300, 1600] },
  slowDisk: { percent: 15, rates: [1000, 5000] },
  // The gateway's machine.
  gatewayDies: { percent: 20, rates: [30, 300] }, // at a commit or a frame
  commitFails: { percent: 6, rates: [30, 300] },
  gatewayClockJumps: { percent: 6, rates: [100, 500] },
  gatewayRestored: { percent: 8, rates: [800, 3000] },
  // The line between them.
  lineCut: { percent: 20, rates: [50, 500] }, // per frame
  lineHangs: { percent: 12, rates: [50, 300] },
  lineSlow: { percent: 20, rates: [500, 4000] },
  frameLost: { percent: 8, rates: [100, 1000] },
  frameTwice: { percent: 10, rates: [200, 2000] },
  // one of long ago, recorded by whoever carries them
  frameOld: { percent: 10, rates: [200, 2000] },
  framesSwapped: { percent: 8, rates: [200, 1500] },
  frameDamaged: { percent: 5, rates: [100, 500] },
  // The chain and its nodes.
  nodeErrors: { percent: 20, rates: [100, 2000] },
  nodeSilence: { percent: 12, rates: [50, 600] },
  nodeLies: { percent: 12, rates: [500, 4000] },
  nodeHides: { percent: 10, rates: [1000, 5000] },
  nodeLags: { percent: 20, rates: [1000, 5000] },
  nodeSlow: { percent: 20, rates: [1000, 9000] },
  poolForgets: { percent: 10, rates: [500, 3000] },
  reorganisation: { percent: 25, rates: [500, 4000] },
  reverts: { percent: 15, rates: [1000, 6000] },
  blocksSkip: { percent: 15, rates: [1000, 5000] },
  feeSpikes: { percent: 12, rates: [300, 2000] },
  // Faults of a chain on which only time excludes a payment, drawn only in its own world.
  chainHalts: { percent: 0, rates: [100, 1000] },
  chainJams: { percent: 0, rates: [100, 1000] }, // blocks come, and take nothing
  sleeps: { percent: 0, rates: [500, 2500] }, // machines sleep, and the chain goes on
  branchesOld: { percent: 0, rates: [1000, 8000] }, // a branch takes what had expired on the other
  receiptsMissing: { percent: 0, rates: [500, 4000] },
  minerStale: { percent: 12, rates: [1000, 6000] }, // a block takes a version that was replaced
  // People.
  ordersRepeated: { percent: 25, rates: [500, 2000] },
  ordersAltered: { percent: 20, rates: [500, 3000] },
  operatorSlow: { percent: 30, rates: [1000, 8000] },
  timeLeaps: { percent: 10, rates: [300, 1500] },
  foreignSpend: { percent: 5, rates: [300, 1000] },
  ledgerRestored: { percent: 8, rates: [800, 3000] },
  folderCloned: { percent: 6, rates: [800, 3000] },
  pairedAgain: { percent: 4, rates: [800, 3000] },
  hostileCourier: { percent: 15, rates: [2000, 9000] },
  // one server with both, put back to its snapshot
  bothRestored: { percent: 6, rates: [800, 3000] },
} as const;

export type FaultKind = keyof typeof faultKinds;
export type Rates = Readonly<Record<FaultKind, number>>;

export interface Order {
  readonly orderId: string;
  readonly mode: "auto" | "manual";
  readonly currency: CurrencyId;
  readonly amount: string;
  readonly units: bigint;
  readonly address: string; // "" when an operator is to name it
  readonly atMs: number;
}

/** A deposit as a shop asks for it and somebody pays it. */
export interface DepositOrder {
  readonly orderId: string;
  readonly currency: CurrencyId;
  readonly amount: string;
  readonly units: bigint;
  readonly atMs: number;
  readonly moreMs: number; // as much again comes so long after, 0 for never
}

export interface Plan {
  readonly family: FamilyName;
  readonly rates: Rates;
  readonly orders: readonly Order[];
  readonly deposits: readonly DepositOrder[];
  readonly faultsMs: number; // how long things go wrong
  readonly blockMs: number;
  readonly confirmations: number;
  /** The nodes are asked which block is final, instead of counting from the newest. */
  readonly saysFinal: boolean;
  readonly nodes: number;
  /** Profiles of the nodes' providers by name, "" for one without limits. */
  readonly providers: readonly string[];
  readonly firstNonce: number;
  readonly policy: "wide" | "narrow" | "daily" | "holding";
  /**
   * Holds that a person or time decides, besides the limits: destinations never paid before, or two
   * names for larger amounts.
   */
  readonly rules: "" | "destinations" | "approvers";
  readonly segmentBytesMax: number;
  readonly linkSlowMs: number;
  /** An address whose code refuses payments, "" for none. */
  readonly refusing: string;
  /** People do what docs/recovering.md says when an agent is locked. */
  readonly rescue: boolean;
  /**
   * A gateway that was put back: another server takes the old one's place after it, by the rules of
   * that page.
   */
  readonly takeover: boolean;
  /**
   * The kind of open order in the restored backup: one on its way, which has ended by a dearer
   * version since, or one held, which has been signed since. "" if the backup was not chosen by its
   * open orders.
   */
  readonly oldBackup: "" | "on its way" | "held";
  /**
   * Ledger and database were put back and recovered: then the database is put back to the same
   * moment once more, alone.
   */
  readonly isPutBackAgain: boolean;
  /** Somebody writes into the ledger's folder each time the signer is down. */
  readonly isForged: boolean;
  /** Above it a second version needs a person, where the chain counts nothing; "" for no limit. */
  readonly resignAbove: string;
  /** The most that one top-up may bring to an address; "" for what a fee may be. */
  readonly maxTopUp: string;
  /** How often a person replaces, cancels, pauses or resumes without need, of 10,000 looks. */
  readonly helps: number;
  /** Two parties that lie with one mind; "" where nobody does, or a courier alone. */
  readonly liars: "" | "gateway and courier" | "gateway and nodes" | "a merchant";
  /** Whose word the nodes are, as the configuration has it; "" where it does not say. */
  readonly nodesFrom: "own" | "gateway" | "";
}

/** Destinations in EIP-55 form. */
export const receivers = [
  "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
  "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
] as const;
/** Begins and ends as the first receiver does, in other letters' case. */
export const twin = "0x7099abababababAbaBaBABaBaBabAbAbaBA179c8";
/** The one that operators name where the shop left it open. */
export const namedReceiver = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65";

/** In one plan of so many somebody forges. */
const forgedOf = 16;

/** One plan of so many has providers with profiles. */
const providersOf = 4;
const providersFrom = 77_000_000_000;

/** When a twin is asked for at the latest. */
const twinMsMax = 20_000;

/** The plan of a seed's run. */
export function planOf(seed: number): Plan {
  return drawPlan(new Chance(seed), seed);
}

/** Faults that show the account's transactions as other ones. */
const untrue: readonly FaultKind[] = ["nodeLies", "hostileCourier", "foreignSpend"];
/** Faults that hide them. */
const hiding: readonly FaultKind[] = ["nodeHides", "nodeLags", "poolForgets"];

function without(rates: Rates, kinds: readonly FaultKind[]): Rates {
  return { ...rates, ...Object.fromEntries(kinds.map((kind) => [kind, 0])) };
}

/** Whether the chain's nodes show all that ever left. */
export function showsAll({ rates }: Pick<Plan, "rates">): boolean {
  return isWithout(rates, [...untrue, ...hiding, "blocksSkip"]);
}

/**
 * Whether people can compare what the shop asks for with the chain: another amount is another
 * payment.
 */
export function canCompare({ rates }: Pick<Plan, "rates">): boolean {
  return isWithout(rates, [...untrue, "ordersAltered"]);
}

function isWithout(rates: Rates, kinds: readonly FaultKind[]): boolean {
  return kinds.every((kind) => rates[kind] === 0);
}

/**
 * Ledger and database are put back together in runs with no other way back, and with nodes that
 * show what the chain has; unless people carry out a recovery, who know what to do with what nobody
 * shows.
 */
function putBackTogether(chance: Chance, rates: Rates): { readonly rates: Rates; readonly rescue: boolean } {
  const { ledgerRestored, gatewayRestored, folderCloned, pairedAgain, bothRestored } = rates;
  const isOther = ledgerRestored + gatewayRestored + folderCloned + pairedAgain > 0;
  if (bothRestored === 0 || isOther) return { rates: { ...rates, bothRestored: 0 }, rescue: false };
  const isRescue = chance.below("rescue of both", 2) === 0;
  if (!isRescue) return { rates: without(rates, [...untrue, ...hiding, "blocksSkip"]), rescue: false };
  const isShown = chance.below("all that left is shown", 2) === 0;
  return {
    rates: without(rates, [...untrue, "ordersAltered", ...(isShown ? [...hiding, "blocksSkip" as const] : [])]),
    rescue: true,
  };
}

/** A plan as the seed's world has it. */
export function drawPlan(chance: Chance, seed: number): Plan {
  const plan = inWorld(drawAny(chance), seed, chance);
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
  const chance = new Chance(seed + providersFrom);
  if (chance.below("run with providers", providersOf) !== 0) return Array.from({ length: nodes }, () => "");
  const fit = profiles.filter(({ backends = [], still, ...one }) => {
    const isLagging = backends.length > 0 || still !== undefined;
    // A node without the chain's own word serves nobody where that word is asked for.
    if (saysFinal && one.noFinalized !== undefined) return false;
    return one.family === family && one.isFit && !(isLagging && (rates.nodeLags === 0 || nodes < 2)) && !isLying(backends);
  });
  return Array.from({ length: nodes }, () => chance.pick("provider", fit).name);
}

function isLying(backends: readonly Backend[]): boolean {
  return backends.some(({ lies = [] }) => lies.length > 0);
}

function drawAny(chance: Chance): Omit<Plan, "isForged" | "isPutBackAgain" | "providers"> {
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
        chance.fault(`run with ${kind}`, (percent * rateParts) / 100) ? chance.between(`rate of ${kind}`, least, most) : 0,
      ],
    ),
  ) as Rates;
  const { rates, rescue: isBoth } = putBackTogether(chance, drawn);
  const isLong = chance.below("long run", 12) === 0;
  const isTwofold = rates.ledgerRestored + rates.gatewayRestored + rates.folderCloned + rates.pairedAgain > 0;
  const rescue = isBoth || (isTwofold && chance.below("rescue", 3) === 0);
  const takeover = rescue && rates.gatewayRestored > 0 && chance.below("takeover", 3) === 0;
  const isLedgerAlone = rates.gatewayRestored + rates.folderCloned + rates.pairedAgain === 0 && rates.ledgerRestored > 0;
  const isOld = rescue && isLedgerAlone && chance.below("an old backup", 3) === 0;
  const oldBackup = isOld ? chance.pick("what is open in it", ["on its way", "on its way", "held"] as const) : "";
  const oldMs = isOld ? chance.between("an old backup grows older", 16, 40) * 500 : 0;
  const wayBackMs = rescue ? chance.between("faults last on the way back", 0, 24) * 500 : 0;
  const faultsMs = chance.between("faults last", isLong ? 16 : 3, isLong ? 40 : 10) * 500;
  const policies =
    oldBackup === "held" ? (["narrow", "daily"] as const) : (["wide", "wide", "narrow", "daily", "holding"] as const);
  const policy = chance.pick("policy", policies);
  const rules = oldBackup === "" ? drawRules(chance) : "";
  const orders = drawOrders(chance, faultsMs, rules === "destinations" ? 3 : oldBackup === "held" ? 2 : 1);
  return {
    // Ledger time stands for minutes after a jump, and a delay with it: longer than runs are told.
    rates: rules === "destinations" ? without(rates, ["clockJumps", "gatewayClockJumps"]) : rates,
    orders: oldBackup === "held" ? heldFirst(orders) : rules === "destinations" ? withTwin(chance, orders) : orders,
    faultsMs: faultsMs + oldMs + wayBackMs + (rules === "destinations" ? twinMsMax : 0),
    deposits: [],
    family: "evm",
    ...{ resignAbove: "", maxTopUp: "", liars: "", nodesFrom: "own" },
    rules,
    rescue,
    takeover,
    oldBackup,
    blockMs: chance.between("block time", 2, 5) * 500,
    confirmations: chance.pick("confirmations", [1, 2, 2, 2, 2, 2, 3, 4]),
    saysFinal: chance.below("nodes say what is final", 6) === 0,
    nodes: chance.pick("nodes", [1, 1, 1, 1, 1, 2, 2, 3]),
    firstNonce: chance.pick("first nonce", [0, 5]),
    policy,
    segmentBytesMax: chance.pick("segment size", [1_024, 4_096, 16_384, 1_048_576, 1_048_576, 1_048_576]),
    linkSlowMs: chance.pick("line delay", [1, 20, 150]),
    refusing: chance.fault("a receiver refuses", 500) ? receivers[1] : "",
    helps: chance.fault("people help", 2_000) ? chance.between("people help how often", 1_000, 6_000) : 0,
  };
}

function drawRules(chance: Chance): Plan["rules"] {
  const drawn = chance.below("rules", 12);
  return drawn === 0 ? "destinations" : drawn === 1 ? "approvers" : "";
}

/**
 * The first may be paid for good before another is asked for that goes to an address which looks
 * like the first one's; between the two, one more to the first one's own.
 */
function withTwin(chance: Chance, orders: readonly Order[]): readonly Order[] {
  const [first, second] = [
    { address: receivers[0], atMs: 500 },
    { address: receivers[0], atMs: chance.between("the same again at", 1_000, 12_000) },
  ];
  const last = { address: twin, atMs: chance.between("a twin at", 8_000, twinMsMax) };
  return orders.map((order, index) => ({ ...order, mode: "auto", ...(index === 0 ? first : index === 1 ? second : last) }));
}

/**
 * The first waits for a person, and all are of one currency: together they may be more than a day's
 * limit.
 */
function heldFirst(orders: readonly Order[]): readonly Order[] {
  const currency = orders[0]?.currency ?? "eth";
  return orders.map((order, index) => ({
    ...order,
    ...{ mode: index === 0 ? ("manual" as const) : ("auto" as const), currency },
    ...{ address: order.address || receivers[0], units: unitsOf(order.amount, currency) },
  }));
}

function drawOrders(chance: Chance, faultsMs: number, least = 1): readonly Order[] {
  const count = Math.max(least, chance.pick("orders", [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3]));
  // No two of the same amount: a payment is told from another by what it pays.
  const smallest = chance.below("least amount", 4);
  return Array.from({ length: count }, (_, index) => {
    const mode = chance.below("manual", 5) === 0 ? "manual" : "auto";
    const currency = chance.pick("currency", ["eth", "usdt"] as const);
    const amount = `0.${((smallest + index) % 4) + 1}`;
    const isOpen = mode === "manual" && chance.below("address open", 2) === 0;
    return {
      ...{ orderId: `order-${index + 1}`, mode, currency, amount, units: unitsOf(amount, currency) },
      address: isOpen ? "" : chance.pick("receiver", receivers),
      atMs: 500 + chance.below("order at", Math.max(1, Math.floor(faultsMs * 0.8))),
    };
  });
}
