/**
 * Whether what an address for deposits holds is swept now, and with how much: a pure function of
 * what the database and the chain say. Sources: docs/api.md, Sweeps; docs/operations.md.
 */
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import type { GatewayCurrency } from "../config.ts";
import type { TransactionRow } from "../store/rows.ts";
import { unreachableCode } from "../store/slots.ts";
import type { SweepableRow } from "../store/sweeps.ts";

/** A failure that may pass by itself is tried again after this long. */
const retryMs = 3_600_000;

/**
 * Why something is not swept, as the list of the operator names it.
 * @public
 */
export type Reason =
  | "request_open" // its deposit request waits for more, or for its end
  | "last_sweep_failed"
  | "currency_unknown" // the configuration has it no more
  | "not_payable" // the agent was not paired with it
  | "out_of_service"
  | "not_automatic"
  | "below_least"
  | "below_fee"
  | "not_there" // the chain shows less than was credited
  | "would_revert"
  | "sweeps_stuck" // so many that a person looks before another begins
  | "slot_unreachable" // the open sweep of the address: the chain's count stands below its slot
  | "slot_behind" // the nodes count less than the database holds
  | "slot_moving" // something of the address is on its way that nobody here ordered
  | "slot_ended" // the next slot is of a sweep that a person ended
  | "no_coin"; // the hot account cannot pay the top-up

/** @public */
export interface No {
  readonly ok: false;
  readonly reason: Reason;
  readonly detail: string;
}

const no = (reason: Reason, detail = ""): No => ({ ok: false, reason, detail });

/** What the database says of one candidate. */
interface Standing {
  readonly row: SweepableRow;
  readonly currency: GatewayCurrency | undefined;
  readonly isPayable: boolean;
  readonly isOut: boolean;
  readonly last: TransactionRow | undefined; // the newest sweep from there
  readonly nowMs: number;
}

/** Looked at before the chain is asked; a person's wish passes over what only saves fees. */
export function standing({ row, currency, isPayable, isOut, last, nowMs }: Standing): { readonly ok: true } | No {
  if (currency === undefined) return no("currency_unknown", row.currency);
  if (!isPayable) return no("not_payable");
  if (isOut) return no("out_of_service");
  if (row.requestStatus === 0) return no("request_open");
  const isWished = row.wishedAt !== null;
  // One that a person ended since the chain could not reach it paid nothing and cost nothing.
  const isEnded = last?.code === unreachableCode;
  const failed = last?.status === 2 && !isWished && !isEnded ? last : undefined;
  if (failed !== undefined && (isForPerson(failed) || nowMs - failed.changedAt < retryMs)) {
    return no("last_sweep_failed", failed.code);
  }
  if (isWished) return { ok: true };
  if (!currency.sweep.isAutomatic) return no("not_automatic");
  const units = BigInt(row.units);
  if (units >= leastUnits(currency)) return { ok: true };
  return no("below_least", `${inWords(units, currency)} there, at least ${currency.sweep.least} ${currency.id}`);
}

/** An amount for the operator, with the name of its currency. */
export function inWords(units: bigint, { decimal, id }: Pick<GatewayCurrency, "decimal" | "id">): string {
  return `${formatAmount(units, decimal)} ${id}`;
}

/**
 * One that the chain carried out and took back cost its fee: a person looks before the next one
 * does.
 */
function isForPerson({ code }: TransactionRow): boolean {
  return code === "chain_reverted" || code === "chain_slot_consumed";
}

function leastUnits({ sweep, decimal }: GatewayCurrency): bigint {
  const least = parseAmount(sweep.least, decimal);
  return least.ok ? least.units : 0n;
}

/** What the chain says, at one final block. */
interface OnChain {
  readonly units: bigint; // of the currency, at the address
  readonly coinUnits: bigint; // of the coin that pays the fees, there
  readonly feeUnits: bigint; // the most that the sweep can cost
  readonly worth: Worth | null; // of a token; null where prices are not known
}

/**
 * The worth of one unit of each currency, in one money.
 * @public
 */
export interface Worth {
  readonly price: bigint; // of the currency
  readonly coinPrice: bigint; // of the coin that pays the fees
  readonly coinDecimal: number;
}

/**
 * How much is swept, and how much of the coin has to come first.
 * @public
 */
export interface Measured {
  readonly ok: true;
  readonly amountUnits: bigint;
  readonly topUpUnits: bigint;
}

/** The amount is what was credited and is there, of a native coin less what the sweep can cost. */
export function measure(row: SweepableRow, currency: GatewayCurrency, chain: OnChain): Measured | No {
  const there = smaller(chain.units, BigInt(row.units));
  if (there <= 0n) return no("not_there");
  const { feeUnits, coinUnits } = chain;
  if (currency.contract !== "") {
    if (row.wishedAt === null && chain.worth !== null && !bearsFee(there, currency, feeUnits, chain.worth))
      return no("below_fee", `${inWords(there, currency)} there, less than ${currency.sweep.feeMultiple} times the fee`);
    return { ok: true, amountUnits: there, topUpUnits: coinUnits >= feeUnits ? 0n : feeUnits - coinUnits };
  }
  const isWorth = row.wishedAt !== null || there >= feeUnits * BigInt(currency.sweep.feeMultiple);
  const amountUnits = there - feeUnits;
  if (!isWorth || amountUnits <= 0n)
    return no("below_fee", `${inWords(there, currency)} there, the fee up to ${inWords(feeUnits, currency)}`);
  return { ok: true, amountUnits, topUpUnits: 0n };
}

function bearsFee(units: bigint, { decimal, sweep }: GatewayCurrency, feeUnits: bigint, worth: Worth): boolean {
  const fee = feeUnits * worth.coinPrice * 10n ** BigInt(decimal) * BigInt(sweep.feeMultiple);
  return units * worth.price * 10n ** BigInt(worth.coinDecimal) >= fee;
}

export function smaller(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}
