/**
 * The plan of one run: the chain, the nodes, the orders, and the kinds of fault with their rates.
 */

import type { AddressSpaceName } from "../../../chains/family.ts";
import type { CurrencyId } from "./units.ts";

/** Faults by the place where they strike; a rate is in parts of 10,000 per occasion. */
export const faultKinds = {
  // The agent's machine.
  signerDies: { percent: 20, rates: [20, 200] }, // at a write, sync, rename, answer
  courierDies: { percent: 20, rates: [50, 400] }, // at a frame, a request
  powerFails: { percent: 15, rates: [200, 1200] }, // in any moment of the fault injector
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
  // one of long ago, recorded by anybody who carries them
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
  // The market rises while an attempt waits, for long enough that it is replaced; the same there.
  marketRises: { percent: 0, rates: [2000, 8000] },
  minerStale: { percent: 12, rates: [1000, 6000] }, // a block takes an attempt that was replaced
  // People.
  ordersRepeated: { percent: 25, rates: [500, 2000] },
  ordersAltered: { percent: 20, rates: [500, 3000] },
  operatorSlow: { percent: 30, rates: [1000, 8000] },
  timeLeaps: { percent: 10, rates: [300, 1500] },
  foreignOutgoing: { percent: 5, rates: [300, 1000] },
  ledgerRestored: { percent: 8, rates: [800, 3000] },
  folderCloned: { percent: 6, rates: [800, 3000] },
  pairedAgain: { percent: 4, rates: [800, 3000] },
  hostileCourier: { percent: 15, rates: [2000, 9000] },
  // one server with both, restored to its snapshot
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
  readonly tag?: string; // "" and absent for none
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
  readonly isUnpaid?: true; // nobody pays it
}

/** The families with a simulated chain. */
export type SimulatedFamily = Extract<
  AddressSpaceName,
  "evm" | "tron" | "xrp" | "bitcoinregtest" | "litecoinregtest"
>;

export interface Plan {
  readonly family: SimulatedFamily;
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
   * Holds that an operator or time decides, besides the limits: destinations never paid before, or
   * two names for larger amounts.
   */
  readonly rules: "" | "destinations" | "approvers";
  readonly segmentBytesMax: number;
  readonly linkSlowMs: number;
  /** An address whose code refuses payments, "" for none. */
  readonly refusing: string;
  /** People do what docs/recovering.md says when an agent is locked. */
  readonly recoveryScenario: boolean;
  /**
   * A gateway that was restored: another server takes the old one's place after it, by the rules of
   * that page.
   */
  readonly takeover: boolean;
  /**
   * The kind of open order in the restored backup: one on its way, which has ended by a more
   * expensive attempt since, or one held, which has been signed since. "" if the backup was not
   * chosen by its open orders.
   */
  readonly oldBackup: "" | "on its way" | "held";
  /**
   * Ledger and database were restored and recovered: then the database is restored to the same
   * moment once more, alone.
   */
  readonly isRestoredAgain: boolean;
  /**
   * Ledger and database are restored while bytes are on their way, and no node shows these until
   * the shop has ordered again.
   */
  readonly isUnseen: boolean;
  /** Somebody writes into the ledger's folder each time the signer is down. */
  readonly isForged: boolean;
  /**
   * Above it a second attempt needs an operator, where the chain counts nothing; "" for no limit.
   */
  readonly manualReplaceAbove: string;
  /** The most that one top-up may bring to an address; "" for what a fee may be. */
  readonly maxTopUp: string;
  /** How often an operator replaces, cancels, pauses or resumes without need, of 10,000 looks. */
  readonly helps: number;
  /** How often the shop cancels an open order, of 10,000 looks at each. */
  readonly cancels: number;
  /** Two parties that lie with one mind; "" where nobody does, or a courier alone. */
  readonly liars: "" | "gateway and courier" | "gateway and nodes" | "a merchant";
  /**
   * The unreadable things of another merchant, of whom everything else is as the liars' merchants.
   */
  readonly bad: readonly BadItemKind[];
  /** The run lasts so long at least. */
  readonly leastMs: number;
  /** Who names coins and first slots that there are not; "" for nobody, or a courier's own lies. */
  readonly unnamed: "" | "courier" | "gateway" | "both";
  /** The gateway's clock is a day and more from the truth for seconds, again and again. */
  readonly isClockWrong: boolean;
  /** The life of a deposit request. */
  readonly depositMinutes: number;
  /** Whose word the nodes are, as the configuration has it; "" where it does not say. */
  readonly nodesFrom: "own" | "gateway" | "";
}

/**
 * Things of one merchant that cannot be read or judged, a token that nobody's account can be read
 * in, and more addresses than a pass asks about that hold less than their sweep costs.
 */
export const badItems = [
  "wallet",
  "addresses",
  "payouts",
  "ends",
  "payments",
  "token",
  "dust",
] as const;
export type BadItemKind = (typeof badItems)[number];

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

/** Whether the gateway's rooms for sweeps, and for coins that nobody shows, have anything to do. */
export const isSwept = ({ deposits, unnamed }: Pick<Plan, "deposits" | "unnamed">): boolean =>
  deposits.length > 0 || unnamed === "both";

/** Faults that show the account's transactions as other ones. */
export const untrue: readonly FaultKind[] = ["nodeLies", "hostileCourier", "foreignOutgoing"];
/** Faults that hide them. */
export const hiding: readonly FaultKind[] = ["nodeHides", "nodeLags", "poolForgets"];

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
