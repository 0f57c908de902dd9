/**
 * Gathers the gateway's recovery offer for this run part by part, and remembers the plan that an
 * operator saw. Everything is in memory only: a run that ends forgets the order, and the gateway
 * makes another for the next run. Keeping an order changes nothing else. Touches nothing.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import { type RecoveryPart, recoveryWithdrawalsMax } from "../../../protocol/recovery.ts";
import type { RecoveryOrder } from "../state/recovered-terms.ts";

/** The sources of a plan that an operator saw: an order and the chains' own counts. */
export interface RecoveryPlanSource {
  readonly order: RecoveryOrder;
  readonly counts: ReadonlyMap<string, string>; // network → final transactions, as nodes agree
  readonly uncounted: ReadonlySet<string>; // networks that the operator recovers without a count
  readonly bothRestored: boolean;
  readonly localMs: number; // this machine's time when the plan was shown
}

/**
 * Holds only the order being gathered and the newest complete order, so the size is bounded
 * whatever the courier sends.
 */
export class RecoveryOrderCollector {
  readonly #parts = new Map<number, RecoveryPart>();
  #whole: RecoveryOrder | null = null;
  #shown: RecoveryPlanSource | null = null;

  /** The newest complete order; null before the first. */
  get whole(): RecoveryOrder | null {
    return this.#whole;
  }

  get isWhole(): boolean {
    return this.#whole !== null;
  }

  /** The plan that an operator saw last; an operator's yes is to that plan. */
  get shown(): RecoveryPlanSource | null {
    return this.#shown;
  }

  show(shown: RecoveryPlanSource): void {
    this.#shown = shown;
  }

  /** Takes a verified part. A repeat is harmless; a part of another order begins that order. */
  take(part: RecoveryPart): { readonly ok: true } | Refusal {
    const whole = this.#whole;
    if (whole?.order === part.order) return { ok: true };
    // The courier may send an older order of this very run again.
    if (whole !== null && (part.ledgerEpoch < whole.ledgerEpoch || part.at < whole.at))
      return refuse("RECOVERY_OFFER", "older than the one at hand");
    const known = this.#parts.values().next().value;
    if (known !== undefined && (known.order !== part.order || known.parts !== part.parts))
      this.#parts.clear();
    this.#parts.set(part.part, part);
    let count = 0;
    for (const { withdrawals, ended } of this.#parts.values())
      count += withdrawals.length + ended.length;
    if (count > recoveryWithdrawalsMax) {
      this.#parts.clear();
      return refuse("RECOVERY_OFFER", `${count} withdrawals`);
    }
    if (this.#parts.size < part.parts) return { ok: true };
    const parts = [...this.#parts.values()].sort((a, b) => a.part - b.part);
    const { part: _part, parts: _parts, ...first } = parts[0] as RecoveryPart;
    const [withdrawals, ended] = [
      parts.flatMap((each) => each.withdrawals),
      parts.flatMap((each) => each.ended),
    ];
    this.#whole = { ...first, withdrawals, ended };
    this.#parts.clear();
    return { ok: true };
  }

  /** Forgets the order after it was carried out or has become useless. */
  forget(): void {
    this.#parts.clear();
    this.#whole = null;
    this.#shown = null;
  }
}
