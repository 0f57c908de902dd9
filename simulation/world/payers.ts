/**
 * Shops that ask for deposits and payers who pay them, for the world of sweeps: the same request is
 * asked for until it has its address, the money comes once, and as much again where the plan says
 * so.
 */
import { kernel, note } from "../kernel/kernel.ts";
import type { DepositOrder } from "./plan.ts";
import { contract } from "./setting.ts";
import type { World } from "./world.ts";

const askAgainMs = 2_000;

export class Payers {
  readonly #world: World;
  /** What was paid, by address. */
  readonly paid = new Map<string, DepositOrder>();
  #left = 0; // payments that have still to come

  constructor(world: World) {
    this.#world = world;
  }

  begin(): void {
    const { scheduler } = kernel;
    for (const order of this.#world.plan.deposits) {
      this.#left += order.moreMs === 0 ? 1 : 2;
      scheduler.after(order.atMs, scheduler.world, () => this.#ask(order, false));
    }
  }

  #ask(order: DepositOrder, isAsked: boolean): void {
    const { gateway } = this.#world;
    if (isAsked && [...this.paid.values()].includes(order)) return;
    const { currency, amount, orderId } = order;
    gateway.askDeposit(Buffer.from(JSON.stringify({ currency, amount, orderId })), (address) => {
      if (this.paid.has(address)) return;
      this.paid.set(address, order);
      note("asked for a deposit", orderId, () => `${amount} ${currency} to ${address.toLowerCase()}`);
      this.#pay(address, order);
      if (order.moreMs > 0) {
        kernel.scheduler.after(order.moreMs, kernel.scheduler.world, () => this.#pay(address, order));
      }
    });
    kernel.scheduler.after(askAgainMs, kernel.scheduler.world, () => this.#ask(order, true));
  }

  #pay(address: string, { currency, units }: DepositOrder): void {
    this.#left -= 1;
    this.#world.ground.payIn(address, currency === "usdt" ? contract : "", units);
  }

  /**
   * What has still to come or to be swept, in words; "" when all of it is at the paying account.
   */
  open(): string {
    const { ground, plan } = this.#world;
    if (ground.incoming > 0) return "a payment from outside is in no block";
    if (this.#left > 0) return `${this.#left} deposits have still to come`;
    if (this.paid.size < plan.deposits.length) return "a deposit was never asked for";
    const rest = [...this.paid].find(([address, { currency }]) => ground.isLeft(address, currency === "usdt" ? contract : ""));
    if (rest !== undefined) return `${rest[1].orderId} is not swept`;
    return this.#world.payments.sweeps.open(this.#world.witness.moved());
  }
}
