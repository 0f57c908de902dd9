/**
 * Payers of the deposits in the callbacks' run: each deposit is paid by one plan, and each plan
 * says what the shop must have been told at last. A second part waits until the shop was told of
 * the first, a third of the request's life at most, since a gateway under kills may tell of it
 * later.
 */
import type { EventType } from "../../gateway/callbacks/events.ts";
import { type FakeChain, hashOf } from "../../rig/fake-chain.ts";
import type { Receiver } from "../callback-receiver.ts";

/** What whoever was told everything knows of a record. */
export interface Ending {
  readonly last: EventType;
  readonly status: 1 | 2;
  readonly also: readonly EventType[];
}

interface Plan extends Ending {
  readonly payments: readonly { readonly units: bigint; readonly after?: EventType }[];
}

export const depositAmount = "0.004"; // four times the smallest payment
const whole = 4n * 10n ** 15n;
const crumb = 5n * 10n ** 14n; // half of the smallest payment
const plans: readonly Plan[] = [
  { payments: [{ units: whole }], last: "deposit.completed", status: 1, also: [] },
  {
    payments: [{ units: whole / 2n }, { units: whole / 2n, after: "deposit.partial" }],
    ...{ last: "deposit.completed", status: 1, also: [] },
  },
  {
    payments: [{ units: crumb }, { units: whole - crumb, after: "deposit.below_minimum" }],
    ...{ last: "deposit.completed", status: 1, also: [] },
  },
  { payments: [{ units: 2n * whole }], last: "deposit.overpaid", status: 1, also: ["deposit.completed"] },
  // These end by time.
  { payments: [], last: "deposit.expired", status: 2, also: [] },
  { payments: [{ units: whole, after: "deposit.expired" }], last: "deposit.late", status: 2, also: ["deposit.expired"] },
];

interface Asked {
  readonly id: string;
  readonly address: string;
  readonly plan: Plan;
  readonly patientUntil: number; // by the monotonic clock
  paid: number; // payments made
}

export const depositMinutes = 1;
const patienceMs = (depositMinutes * 60_000) / 3;
const payer = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";

export class Depositor {
  readonly #chain: FakeChain;
  readonly #told: () => Receiver["received"]; // what the live receiver got
  readonly #plans: readonly Plan[];
  readonly #asked: Asked[] = [];
  readonly #types = new Map<string, Set<string>>();
  #read = 0;

  /** Without `untilExpired` no plan is taken that ends by time. */
  constructor(chain: FakeChain, told: () => Receiver["received"], untilExpired: boolean) {
    this.#chain = chain;
    this.#told = told;
    this.#plans = untilExpired ? plans : plans.filter(({ status }) => status === 1);
  }

  /** Takes the deposit that was asked for as the `number`th. @returns how it must end */
  take(id: string, address: string, number: number): Ending {
    const plan = this.#plans[number % this.#plans.length];
    if (plan === undefined) throw new Error("there is no plan");
    this.#asked.push({ id, address, plan, patientUntil: performance.now() + patienceMs, paid: 0 });
    return plan;
  }

  /** Pays what is due now, in a block of its own, and lets the chain go on by one. */
  turn(): void {
    for (const { data, type } of this.#told().slice(this.#read)) {
      const id = String(data.transactionId);
      this.#types.set(id, (this.#types.get(id) ?? new Set()).add(type));
      this.#read += 1;
    }
    const due = this.#asked.flatMap((one) => {
      const next = one.plan.payments[one.paid];
      if (next === undefined || !this.#isDue(one, next.after)) return [];
      one.paid += 1;
      return [{ hash: hashOf(`${one.id} ${one.paid}`), from: payer, to: one.address, value: next.units }];
    });
    this.#chain.mine(...due);
  }

  /** Whether the shop was told how every deposit ended. */
  get isDone(): boolean {
    return this.#asked.every(({ id, plan }) => this.#has(id, plan.last));
  }

  #isDue({ id, patientUntil }: Asked, after: EventType | undefined): boolean {
    if (after === undefined || this.#has(id, after)) return true;
    return after !== "deposit.expired" && performance.now() >= patientUntil;
  }

  #has(id: string, type: EventType): boolean {
    return this.#types.get(id)?.has(type) === true;
  }
}
