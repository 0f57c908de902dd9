/**
 * Customers of the deposits in the callbacks' run: each deposit is paid by one plan, and each plan
 * says what the shop must have been told at last. A second part waits until the shop was told of
 * the first, a third of the request's life at most, since a gateway under kills may tell of it
 * later.
 */
import type { EventType } from "../../gateway/callbacks/events.ts";
import type { Receiver } from "../kit/callback-receiver.ts";
import { type FakeChain, type FakeTransaction, hashOf } from "../kit/fake-chain.ts";

/** The state of a record for a receiver that got every event. */
export interface Ending {
  readonly last: EventType;
  readonly status: 1 | 2;
  readonly also: readonly EventType[];
}

interface Plan extends Ending {
  readonly payments: readonly PlannedPayment[];
  /** By the operator, once it is told to be late. */
  readonly isCredited?: true;
}

interface PlannedPayment {
  readonly units: bigint; // in the deposit's own currency
  readonly after?: EventType;
  readonly isToken?: true; // a currency that was not asked for, and that the gateway knows
  /**
   * Leaves the chain once it is told to be seen, where it is not final by then. The customer sends
   * it again once it is told to be gone, after two thirds of the request's life at the latest.
   */
  readonly isLost?: true;
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
  // Final before anybody tells of it, under kills, it completes with nothing between.
  { payments: [{ units: whole, isLost: true }], last: "deposit.completed", status: 1, also: [] },
  {
    payments: [
      { units: whole, isToken: true },
      { units: whole, after: "deposit.unattributed" },
    ],
    ...{ last: "deposit.completed", status: 1, also: ["deposit.unattributed"] },
  },
  {
    payments: [{ units: 2n * whole }],
    last: "deposit.overpaid",
    status: 1,
    also: ["deposit.completed"],
  },
  // These end by time.
  { payments: [], last: "deposit.expired", status: 2, also: [] },
  {
    payments: [{ units: whole, after: "deposit.expired" }],
    last: "deposit.late",
    status: 2,
    also: ["deposit.expired"],
  },
  {
    payments: [{ units: whole, after: "deposit.expired" }],
    ...{
      last: "deposit.completed",
      status: 1,
      also: ["deposit.expired", "deposit.late"],
      isCredited: true,
    },
  },
];

interface PlannedDeposit {
  readonly id: string;
  readonly address: string;
  readonly plan: Plan;
  readonly patientUntil: number; // by the monotonic clock
  paid: number; // payments made
  paidIn: number; // the newest payment's block
  wasLost: boolean;
  isAwaited: boolean; // the next report of the payment tells the shop of its loss or return
  isCredited: boolean;
}

/** Blocks from a payment's own on until it is final. */
export const depositConfirmations = 12;
/**
 * A gateway that is killed every second reads final blocks in each of its lives and may come to the
 * newest ones in none, and then no payment is told to be seen or gone. For so many payments, one
 * at a time, the kills wait until it is told.
 */
const awaitedMost = 3;
/** The currency that nobody asks for. */
export const strayContract = "0x5FbDB2315678afecb367f032d93F642f64180aa3";

export const depositMinutes = 1;
const patienceMs = (depositMinutes * 60_000) / 3;
const customer = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";

const begun = { paid: 0, paidIn: 0, wasLost: false, isAwaited: false, isCredited: false };

/** Nothing ends such a plan but the request's own time. */
function isByTime({ payments }: Plan): boolean {
  return payments.length === 0 || payments.some(({ after }) => after === "deposit.expired");
}

function paymentOf(
  { id, address, paid }: PlannedDeposit,
  { units, isToken }: PlannedPayment,
): FakeTransaction {
  const hash = hashOf(`${id} ${paid}`);
  if (isToken === undefined) return { hash, from: customer, to: address, value: units };
  return {
    hash,
    from: customer,
    to: strayContract,
    transfers: [{ contract: strayContract, from: customer, to: address, units }],
  };
}

export class Depositor {
  readonly #chain: FakeChain;
  readonly #told: () => Receiver["received"]; // events that the live receiver got
  readonly #plans: readonly Plan[];
  readonly #asked: PlannedDeposit[] = [];
  readonly #types = new Map<string, Set<string>>();
  #read = 0;
  #awaited = 0;

  /** Without `untilExpired` no plan is taken that ends by time. */
  constructor(chain: FakeChain, told: () => Receiver["received"], untilExpired: boolean) {
    this.#chain = chain;
    this.#told = told;
    this.#plans = untilExpired ? plans : plans.filter((plan) => !isByTime(plan));
  }

  /** Takes the deposit that was asked for as the `number`th. @returns how it must end */
  take(id: string, address: string, number: number): Ending {
    const plan = this.#plans[number % this.#plans.length];
    if (plan === undefined) throw new Error("there is no plan");
    this.#asked.push({ id, address, plan, patientUntil: performance.now() + patienceMs, ...begun });
    return plan;
  }

  /** Lets the chain go on by one block, with what is due now and all of `pool`. */
  turn(pool: FakeTransaction[]): void {
    for (const { data, type } of this.#told().slice(this.#read)) {
      const id = String(data.transactionId);
      this.#types.set(id, (this.#types.get(id) ?? new Set()).add(type));
      this.#read += 1;
    }
    for (const one of this.#asked) this.#lose(one);
    const moved = this.#move();
    const due = this.#asked.flatMap((one) => {
      const next = one.plan.payments[one.paid];
      if (next === undefined || !this.#isDue(one, next)) return [];
      one.paid += 1;
      one.paidIn = this.#chain.top + 1;
      if (next.isLost && !one.wasLost && !this.isAwaiting && this.#awaited < awaitedMost) {
        one.isAwaited = true;
        this.#awaited += 1;
      }
      return [paymentOf(one, next)];
    });
    this.#chain.mine(...moved, ...due, ...pool.splice(0));
  }

  /**
   * Whether the gateway has to live on to tell that the awaited payment is seen, or is gone. False
   * after a third of the request's life for each, however silent the gateway is.
   */
  get isAwaiting(): boolean {
    return this.#asked.some((one) => this.#isKeptOpen(one) || this.#isMissed(one));
  }

  /**
   * The awaited payment moves into the next block where its own block would make it final before
   * it is told to be seen.
   * @returns what the next block has to hold
   */
  #move(): readonly FakeTransaction[] {
    const one = this.#asked.find((asked) => this.#isKeptOpen(asked));
    const payment = one?.plan.payments[0];
    if (one === undefined || payment === undefined || !this.#isAlmostFinal(one)) return [];
    const moved = paymentOf(one, payment);
    if (!this.#chain.dropTransaction(moved.hash, depositConfirmations - 1))
      throw new Error(`the chain has no ${moved.hash}`);
    one.paidIn = this.#chain.top + 1;
    return [moved];
  }

  #isKeptOpen({ id, wasLost, isAwaited, patientUntil }: PlannedDeposit): boolean {
    return (
      isAwaited &&
      !wasLost &&
      !this.#has(id, "deposit.detected") &&
      performance.now() < patientUntil
    );
  }

  #isMissed({ paid, wasLost, isAwaited }: PlannedDeposit): boolean {
    return isAwaited && wasLost && paid === 0;
  }

  /** The next block would be the last of the payment's confirmations. */
  #isAlmostFinal({ paidIn }: PlannedDeposit): boolean {
    return this.#chain.top - paidIn === depositConfirmations - 2;
  }

  /** Payments that the operator has to credit now, once each; `credited` says that one was. */
  get late(): readonly string[] {
    const due = this.#asked.filter(
      ({ id, plan, isCredited }) => plan.isCredited && !isCredited && this.#has(id, "deposit.late"),
    );
    return due.map(({ id }) => id);
  }

  credited(id: string): void {
    for (const one of this.#asked) if (one.id === id) one.isCredited = true;
  }

  /** Whether the shop was told how every deposit ended. */
  get isDone(): boolean {
    return this.#asked.every(({ id, plan }) => this.#has(id, plan.last));
  }

  /** A block without it comes in the place of its own, while nobody can call that one final. */
  #lose(one: PlannedDeposit): void {
    const { id, plan, paid, wasLost } = one;
    if (wasLost || paid !== 1 || !plan.payments[0]?.isLost || !this.#has(id, "deposit.detected"))
      return;
    if (!this.#chain.dropTransaction(hashOf(`${id} ${paid}`), depositConfirmations - 1)) return;
    one.wasLost = true;
    one.paid = 0;
  }

  #isDue({ id, patientUntil, wasLost }: PlannedDeposit, { after }: PlannedPayment): boolean {
    if (wasLost)
      return this.#has(id, "deposit.reorged") || performance.now() >= patientUntil + patienceMs;
    if (after === undefined || this.#has(id, after)) return true;
    return after !== "deposit.expired" && performance.now() >= patientUntil;
  }

  #has(id: string, type: EventType): boolean {
    return this.#types.get(id)?.has(type) === true;
  }
}
