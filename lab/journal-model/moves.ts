/**
 * The moves that plain facts make, each by itself: a payment, a sum of small payments, a transfer
 * that ended, an adjustment. It imports nothing of the gateway.
 */
import type {
  AdjustmentFact,
  AssignedPaymentFact,
  BaselineFact,
  EndFact,
  Fact,
  OrderFact,
  PaymentFact,
  Place,
  SmallPaymentFact,
  TransferKind,
} from "./fact.ts";

export const hasTags = (network: string): boolean => network.startsWith("xrpl:");
export const hasCoins = (network: string): boolean => network.startsWith("bip122:");
export const nameOf = ({ network, address, currency }: Place): string =>
  `${network} ${address} ${currency}`;
export const paymentName = (one: Pick<PaymentFact, "network" | "txHash" | "logIndex">): string =>
  `${one.network} ${one.txHash} ${one.logIndex}`;
export const total = (units: readonly bigint[]): bigint =>
  units.reduce((sum, one) => sum + one, 0n);
export const orNothing = (units: bigint): bigint => (units > 0n ? units : 0n);

/** A move that a fact makes. A side is an address, or a name that begins with @. */
export interface PlainMove {
  readonly kind: "payment" | "fee" | "opening" | TransferKind | AdjustmentFact["kind"];
  readonly network: string;
  readonly currency: string;
  readonly units: bigint;
  readonly from: string;
  readonly to: string;
  readonly block: number;
  /** The first block that the move may belong to; other than `block` for a sum alone. */
  readonly first: number;
  /** True for an adjustment that was made after the books of its account began. */
  readonly isLate: boolean;
  /** True for a sum of small payments, which is no move in the journal. */
  readonly isSum: boolean;
}

/** A move as one of its accounts has it. */
export interface PlainChange {
  readonly move: PlainMove;
  readonly by: bigint; // negative: out of the account
}

/** An order with its newest content and end. */
export interface PlainTransfer extends Omit<OrderFact, "fact"> {
  readonly status: 0 | 1 | 2;
  readonly end: Omit<EndFact, "fact" | "id" | "status"> | null; // null: no block decided it
  readonly isHere: boolean; // its receiver had books here when it ended
  readonly coin: string | null; // that paid the fees when it ended; null: none was configured
}

/** A sum of small payments: all of one window of blocks. */
export interface SmallSum extends Omit<SmallPaymentFact, "fact" | "end"> {
  readonly first: number;
  readonly blocks: readonly number[];
}

/** An order's end as a fact tells it; null for a fact that is no end. */
export function endOf(fact: Fact): Omit<EndFact, "fact" | "id" | "status"> | null {
  if (fact.fact === "assigned") return endByAssigned(fact);
  if (fact.fact !== "end") return null;
  const { fee, block, sent, received } = fact;
  return { fee, block, sent, received };
}

const endByAssigned = ({ fee, block }: AssignedPaymentFact) => ({
  fee,
  block,
  sent: null,
  received: null,
});

/** A sweep of coins pays its fee out of its amount, unless a person says what it moved. */
const isFeeInside = ({ kind, network, status, end }: PlainTransfer): boolean =>
  kind === "sweep" && hasCoins(network) && status === 1 && end?.sent === null;

/** The amounts that a transfer took without its fee and brought, and its fee. */
function amountsOf(transfer: PlainTransfer): {
  readonly sent: bigint;
  readonly received: bigint;
  readonly fee: bigint;
} {
  const { status, units, end } = transfer;
  const fee = end?.fee ?? 0n;
  const asked = status === 1 ? units - (isFeeInside(transfer) ? fee : 0n) : 0n;
  return { sent: end?.sent ?? asked, received: end?.received ?? asked, fee };
}

/** The moves of a transfer that ended in a block: its amount, what exceeds it, its fee. */
export function movesOfTransfer(transfer: PlainTransfer): readonly PlainMove[] {
  const { kind, network, payer, receiver, status, end, coin } = transfer;
  if (status === 0 || end === null || end.block === null) return [];
  const isInside = isFeeInside(transfer);
  const { sent, received, fee } = amountsOf(transfer);
  const to = transfer.isHere ? (receiver ?? "") : "@payees";
  const both = sent - orNothing(sent - received);
  const currency = kind === "topup" ? coin : transfer.currency;
  const feeCurrency = isInside ? currency : coin;
  const at = { network, block: end.block, first: end.block, isSum: false, isLate: false };
  const moves: PlainMove[] = [];
  const add = (one: Pick<PlainMove, "kind" | "currency" | "units" | "from" | "to">): void => {
    if (one.units > 0n) moves.push({ ...at, ...one });
  };
  if (currency !== null) {
    add({ kind, currency, units: both, from: payer, to });
    add({ kind, currency, units: sent - both, from: payer, to: "@payees" });
    add({ kind, currency, units: received - both, from: "@outside", to });
  }
  if (feeCurrency !== null)
    add({ kind: "fee", currency: feeCurrency, units: fee, from: payer, to: "@fees" });
  return moves;
}

export const moveOfPayment = ({
  network,
  currency,
  units,
  account,
  block,
}: PaymentFact): PlainMove => ({
  ...{ kind: "payment", network, currency, units, from: "@customers", to: account },
  ...{ block, first: block, isSum: false, isLate: false },
});

export const moveOfSum = ({
  network,
  currency,
  units,
  account,
  block,
  first,
}: SmallSum): PlainMove => ({
  ...{ kind: "payment", network, currency, units, from: "@customers", to: account },
  ...{ block, first, isSum: true, isLate: false },
});

export const moveOfBaseline = ({ network, currency, units, address }: BaselineFact): PlainMove => ({
  ...{ kind: "opening", network, currency, units, from: "@outside", to: address },
  ...{ block: 0, first: 0, isSum: false, isLate: false },
});

export function moveOfAdjustment(fact: AdjustmentFact, isLate: boolean): PlainMove {
  const { kind, network, currency, units, address, block } = fact;
  const [from, to] = units < 0n ? [address, `@${kind}`] : [`@${kind}`, address];
  const size = units < 0n ? -units : units;
  const at = { block, first: block, isSum: false, isLate };
  return { kind, network, currency, units: size, from, to, ...at };
}
