/**
 * Decides whether the balance of a deposit address is swept now, and which amount: a pure function
 * of the database and the chain. Sources: docs/gateway.md, Sweeps; docs/operations.md.
 */
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import type { GatewayCurrency } from "../config/config.ts";
import type { TransactionRow } from "../store/rows.ts";
import { sweepUnreachableCode } from "../store/slots.ts";
import type { SweepableRow } from "../store/sweeps.ts";

/** A failure that may pass by itself is tried again after this time. */
const retryMs = 3_600_000;

/** The reason why a balance is not swept, as the operator's list names it. */
export type UnsweptReason =
  | "request_open" // the deposit request waits for more, or for its end
  | "last_sweep_failed"
  | "currency_unknown" // no longer in the configuration
  | "not_payable" // the agent was not paired with it
  | "out_of_service"
  | "currency_held" // a payout in it moved something else, and an operator has not resumed it
  | "not_automatic"
  | "below_least"
  | "below_fee"
  | "coin_too_large" // its transaction cannot be proven, so no agent spends it
  | "not_there" // the chain shows less than was credited
  | "would_revert"
  | "sweeps_stuck" // so many that an operator must look before another begins
  | "slot_unreachable" // for an open sweep: the chain's count is below its slot
  | "slot_behind" // the nodes' count is lower than the database's
  | "slot_moving" // a transaction of the address is on its way that nobody here ordered
  | "slot_ended" // the next slot belongs to a sweep that an operator ended
  | "faulty" // its address, its currency or its hot wallet cannot be read
  | "no_coin"; // the hot wallet cannot pay the top-up

export interface SweepRefusal {
  readonly ok: false;
  readonly reason: UnsweptReason;
  readonly detail: string;
}

const no = (reason: UnsweptReason, detail = ""): SweepRefusal => ({ ok: false, reason, detail });

/** The database's view of one candidate. */
interface SweepCandidate {
  readonly row: SweepableRow;
  readonly currency: GatewayCurrency | undefined;
  readonly isPayable: boolean;
  readonly isOut: boolean;
  readonly isHeld: boolean;
  readonly last: TransactionRow | undefined; // the newest sweep from there
  readonly nowMs: number;
}

/** Checked before the chain is asked. An operator's order skips the checks that only save fees. */
export function judgeCandidate({
  row,
  currency,
  isPayable,
  isOut,
  isHeld,
  last,
  nowMs,
}: SweepCandidate): { readonly ok: true } | SweepRefusal {
  if (currency === undefined) return no("currency_unknown", row.currency);
  if (!isPayable) return no("not_payable");
  if (isOut) return no("out_of_service");
  if (isHeld) return no("currency_held");
  if (row.requestStatus === 0) return no("request_open");
  const isWished = row.wishedAt !== null;
  // A sweep that an operator ended because the chain could not reach it paid nothing and cost
  // nothing.
  const isEnded = last?.code === sweepUnreachableCode;
  const failed = last?.status === 2 && !isWished && !isEnded ? last : undefined;
  if (
    failed !== undefined &&
    (isForOperator(failed) || Math.abs(nowMs - failed.changedAt) < retryMs)
  ) {
    return no("last_sweep_failed", failed.code);
  }
  if (isWished) return { ok: true };
  if (!currency.sweep.isAutomatic) return no("not_automatic");
  const units = BigInt(row.units);
  if (units >= leastUnits(currency)) return { ok: true };
  return no(
    "below_least",
    `${currencyAmountWords(units, currency)} there, at least ${currency.sweep.least} ${currency.id}`,
  );
}

/** An amount for the operator, with the name of its currency. */
export function currencyAmountWords(
  units: bigint,
  { decimal, id }: Pick<GatewayCurrency, "decimal" | "id">,
): string {
  return `${formatAmount(units, decimal)} ${id}`;
}

/**
 * A sweep that the chain executed and reverted cost its fee, so an operator must look before the
 * next.
 */
function isForOperator({ code }: TransactionRow): boolean {
  return code === "chain_reverted" || code === "chain_slot_consumed";
}

function leastUnits({ sweep, decimal }: GatewayCurrency): bigint {
  const least = parseAmount(sweep.least, decimal);
  return least.ok ? least.units : 0n;
}

/** The chain's view at one final block. */
interface OnChain {
  readonly units: bigint; // in the currency, at the address
  readonly coinUnits: bigint; // in the native coin, at the address
  readonly feeUnits: bigint; // the highest cost of the sweep
  readonly isFeeInside?: boolean; // the cost comes out of the amount
  readonly worth: FiatWorth | null; // only for a token; null if prices are unknown
}

/** The price of one unit of each currency, in one fiat currency. */
export interface FiatWorth {
  readonly price: bigint; // price of the currency
  readonly coinPrice: bigint; // price of the native coin
  readonly coinDecimal: number;
}

/** The amount of the sweep, and the amount of native coin that must come first. */
export interface SweepSize {
  readonly ok: true;
  readonly amountUnits: bigint;
  readonly topUpUnits: bigint;
}

/**
 * The amount is the credited balance that is really there; of a native coin minus the highest cost
 * of the sweep, if that does not come out of the amount.
 */
export function measureSweep(
  row: SweepableRow,
  currency: GatewayCurrency,
  chain: OnChain,
): SweepSize | SweepRefusal {
  const there = smallerOf(chain.units, BigInt(row.units));
  if (there <= 0n) return no("not_there");
  const { feeUnits, coinUnits } = chain;
  if (currency.contract !== "") {
    if (
      row.wishedAt === null &&
      chain.worth !== null &&
      !bearsFee(there, currency, feeUnits, chain.worth)
    )
      return no(
        "below_fee",
        `${currencyAmountWords(there, currency)} there, less than ${currency.sweep.feeMultiple} times the fee`,
      );
    return {
      ok: true,
      amountUnits: there,
      topUpUnits: coinUnits >= feeUnits ? 0n : feeUnits - coinUnits,
    };
  }
  const isWorth = row.wishedAt !== null || there >= feeUnits * BigInt(currency.sweep.feeMultiple);
  const restUnits = there - feeUnits;
  if (!isWorth || restUnits <= 0n) return belowFeeRefusal(there, feeUnits, currency);
  return { ok: true, amountUnits: chain.isFeeInside === true ? there : restUnits, topUpUnits: 0n };
}

export function belowFeeRefusal(
  there: bigint,
  feeUnits: bigint,
  currency: GatewayCurrency,
): SweepRefusal {
  return no(
    "below_fee",
    `${currencyAmountWords(there, currency)} there, the fee up to ${currencyAmountWords(feeUnits, currency)}`,
  );
}

function bearsFee(
  units: bigint,
  { decimal, sweep }: GatewayCurrency,
  feeUnits: bigint,
  worth: FiatWorth,
): boolean {
  const fee = feeUnits * worth.coinPrice * 10n ** BigInt(decimal) * BigInt(sweep.feeMultiple);
  return units * worth.price * 10n ** BigInt(worth.coinDecimal) >= fee;
}

export function smallerOf(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}
