/**
 * Shops that ask for deposits and customers who pay them, for the worlds with sweeps: the same
 * request is asked for until it has its address, the money comes once, and as much again where the
 * plan says so. An operator at the gateway has swept once more what a sweep failed to move.
 */
import { orderSweeps } from "../../../gateway/sweeps/sweep-requests.ts";
import type { RequestRow } from "../invariants/request-ends.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { DepositOrder } from "./plan.ts";
import type { Scene } from "./scene.ts";
import { contract, merchant } from "./setting.ts";

const askAgainMs = 2_000;
const lookMs = 60_000;
/** A request that ends later than this is not waited for. */
const awaitedMs = 120_000;

export class Customers {
  readonly #world: Scene;
  /** Paid amounts, by address. */
  readonly paid = new Map<string, DepositOrder>();
  /** The addresses of requests that nobody pays. */
  readonly #unpaid = new Map<string, DepositOrder>();
  #left = 0; // payments that have still to come

  constructor(world: Scene) {
    this.#world = world;
  }

  begin(): void {
    const { scheduler } = kernel;
    const { deposits } = this.#world.plan;
    if (deposits.length > 0) scheduler.every(lookMs, scheduler.world, () => this.#look());
    for (const order of deposits) {
      if (order.isUnpaid !== true) this.#left += order.moreMs === 0 ? 1 : 2;
      scheduler.after(order.atMs, scheduler.world, () => this.#ask(order, false));
    }
  }

  #ask(order: DepositOrder, isAsked: boolean): void {
    const { gateway } = this.#world;
    if (isAsked && [...this.paid.values(), ...this.#unpaid.values()].includes(order)) return;
    const { currency, amount, orderId } = order;
    gateway.askDeposit(Buffer.from(JSON.stringify({ currency, amount, orderId })), (address) => {
      this.#world.payments.sweeps.gave(address);
      if (this.paid.has(address)) return;
      if (order.isUnpaid === true) {
        this.#unpaid.set(address, order);
        return;
      }
      this.paid.set(address, order);
      note(
        "asked for a deposit",
        orderId,
        () => `${amount} ${currency} to ${address.toLowerCase()}`,
      );
      this.#pay(address, order);
      if (order.moreMs > 0) {
        kernel.scheduler.after(order.moreMs, kernel.scheduler.world, () =>
          this.#pay(address, order),
        );
      }
    });
    kernel.scheduler.after(askAgainMs, kernel.scheduler.world, () => this.#ask(order, true));
  }

  #pay(address: string, { currency, units }: DepositOrder): void {
    this.#left -= 1;
    this.#world.chainFixture.payIn(address, currency === "usdt" ? contract : "", units);
  }

  /** A sweep that the chain took back waits for an operator, who reads of it in `sweeps list`. */
  #look(): void {
    const { gateway } = this.#world;
    type FailedAddress = {
      readonly address: string;
      readonly network: string;
      readonly currency: string;
    };
    const failed = gateway.all<FailedAddress>(
      `SELECT n.address, n.network, n.currency FROM sweepNotes n WHERE n.reason = 'last_sweep_failed'
         AND NOT EXISTS (SELECT 1 FROM sweepWishes w WHERE w.address = n.address AND w.currency = n.currency)`,
    );
    for (const { address, network, currency } of failed) {
      gateway.command(
        (by) => orderSweeps(by, [network], { text: address, currency }),
        (said) =>
          note(
            "orders a sweep",
            said?.ok === true ? "ok" : "",
            () => `${currency} on ${address.toLowerCase()}`,
          ),
      );
    }
  }

  /** All requests, as the gateway has them; those asked for under a wrong clock live for a day. */
  get requests(): readonly RequestRow[] {
    const sql = "SELECT id, status, expiresAt FROM deposits WHERE merchant = ?";
    return this.#world.gateway.all<RequestRow>(sql, merchant);
  }

  /**
   * Payments that have still to come or to be swept, in words; "" if all of it is at the hot
   * wallet.
   */
  open(): string {
    const { chainFixture, plan } = this.#world;
    if (chainFixture.incoming > 0) return "a payment from outside is in no block";
    if (this.#left > 0) return `${this.#left} deposits have still to come`;
    if (this.paid.size + this.#unpaid.size < plan.deposits.length)
      return "a deposit was never asked for";
    const waits = this.requests.find(
      ({ status, expiresAt }) => status === 0 && expiresAt - chainFixture.headMs < awaitedMs,
    );
    if (plan.isClockWrong && waits !== undefined) return `request ${waits.id} has not ended`;
    const rest = [...this.paid].find(([address, { currency }]) =>
      chainFixture.isLeft(address, currency === "usdt" ? contract : ""),
    );
    if (rest !== undefined) return `${rest[1].orderId} is not swept`;
    return this.#world.payments.sweeps.open(this.#world.observer.moved());
  }
}
