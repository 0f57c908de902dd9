/**
 * The shop that orders, asks again and sometimes changes its mind; and the operator at the agent
 * who looks at what is held, and says yes or no, sometimes late.
 */
import type { FirstSlotView } from "../../../agent/socket/first-slot.ts";
import type { Answer, OperatorView } from "../../../agent/socket/verbs.ts";
import { holdersOfOrder, releaseOrder } from "../../../gateway/operator/releasing.ts";
import { readTransactionWithMerchant } from "../../../gateway/store/transaction-lists.ts";
import { deriveOrderTransactionId } from "../../../protocol/identity.ts";
import { Violation } from "../invariants/violation.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Machine } from "./agent.ts";
import { coinReceiversOn } from "./coins.ts";
import { Operators } from "./operators.ts";
import { namedReceiver, type Order, receivers } from "./plan.ts";
import type { Scene } from "./scene.ts";
import { sequenceReceivers } from "./sequences.ts";
import { chainName, merchant, stage } from "./setting.ts";

const askAgainMs = 2_000;
const cancelMs = 1_000;
const operatorMs = {
  evm: 2_500,
  xrp: 2_500,
  bitcoinregtest: 2_500,
  litecoinregtest: 2_500,
  tron: 5_000,
} as const;
/** States in which policy has still to judge, or the withdrawal waits for the chain. */
const undecidable: ReadonlySet<string> = new Set(["SIGNER_NO_HANDSHAKE", "SLOT_CONTESTED"]);
/** The prefix of the orders that come after everything else. */
export const lateOrder = "order-late";

interface Row {
  readonly id: string;
  readonly orderId: string;
  readonly status: number;
  readonly stage: string;
  readonly agent: string | null;
  readonly lockedCode: string | null;
}

const heldRows = "SELECT id FROM transfers WHERE stage = 'awaiting_operator' AND status = 0";
const seenPayments = "SELECT txHash FROM unexplained";

export class Actors {
  readonly #world: Scene;
  /** Orders the gateway has answered with an id, so that the shop need not ask again. */
  readonly #taken = new Set<string>();
  readonly #operators: Operators;
  /** Ids of the orders for which a person had to decide, at the agent or at the gateway. */
  readonly waited = new Set<string>();
  #lateOrders = 0;

  constructor(world: Scene) {
    this.#world = world;
    this.#operators = new Operators(world, (machine, verb, body, answered) =>
      this.ask(machine, verb, body, answered),
    );
  }

  begin(): void {
    const { scheduler } = kernel;
    for (const order of this.#world.plan.orders) {
      scheduler.after(order.atMs, scheduler.world, () => this.#order(order));
    }
    scheduler.every(operatorMs[stage.family], scheduler.world, () => {
      this.#lookAtHeld();
      for (const machine of this.#world.machines) this.#adopt(machine);
      this.#lookAtGateway();
    });
    this.#operators.begin();
    if (this.#world.plan.cancels > 0)
      scheduler.every(cancelMs, scheduler.world, () => this.#cancelSome());
  }

  /** Open orders that the shop no longer wants, signed or not. */
  #cancelSome(): void {
    const { plan, gateway } = this.#world;
    if (!this.#world.isFaulty) return;
    for (const { orderId } of plan.orders) {
      if (!this.#taken.has(orderId) || !kernel.random.fault("the shop cancels", plan.cancels))
        continue;
      const transactionId = deriveOrderTransactionId({ merchant, operation: "withdraw", orderId });
      gateway.cancel(
        { merchant, body: Buffer.from(JSON.stringify({ transactionId })), language: "en" },
        (answer) => {
          const said = answer as { kind: string; body?: string; code?: string };
          note("cancel answered", said.code ?? said.kind, () => `${orderId} ${said.body ?? ""}`);
          const isCancelled =
            said.body !== undefined && (JSON.parse(said.body) as { cancelled: boolean }).cancelled;
          if (isCancelled) this.#mustHaveFailed(orderId);
        },
      );
    }
  }

  /** Asks until the gateway says that it has the order. */
  #order(order: Order): void {
    if (this.#taken.has(order.orderId)) return;
    this.request(order, order.amount);
    kernel.scheduler.after(askAgainMs, kernel.scheduler.world, () => this.#order(order));
  }

  /** One more than planned; once. */
  orderOnceMore(): void {
    if (this.#lateOrders === 0) this.orderNew();
  }

  /** One that nobody ever asked for, of an amount that no other has. */
  orderNew(): void {
    const thousandths = 50 + this.#lateOrders;
    this.#lateOrders += 1;
    const mark = this.#lateOrders === 1 ? "" : `-${this.#lateOrders}`;
    const { coin } = stage;
    const late: Order = {
      ...{
        orderId: `${lateOrder}${mark}`,
        mode: "auto",
        currency: coin.id,
        amount: `0.0${thousandths}`.replace(/0$/, ""),
      },
      ...{
        units: BigInt(thousandths) * 10n ** BigInt(coin.decimal - 3),
        address: lateReceiver(),
        atMs: kernel.scheduler.nowMs,
      },
    };
    this.#world.payments.expect(late);
    this.#order(late);
  }

  /** The shop misses what a database that was restored forgot, and asks for all of it once more. */
  askAgain(): void {
    for (const order of this.#world.plan.orders)
      if (this.#taken.has(order.orderId)) this.request(order, order.amount);
  }

  /**
   * The shop misses everything, asks until all of it is taken, and has one order more; tells how
   * many it misses.
   */
  orderAllAgain(): number {
    const { scheduler } = kernel;
    const missed = this.#world.plan.orders.filter(({ orderId }) => this.#taken.delete(orderId));
    for (const order of missed) {
      scheduler.after(kernel.random.between("asks again after", 500, 4_000), scheduler.world, () =>
        this.#order(order),
      );
    }
    this.orderOnceMore();
    return missed.length;
  }

  /** One request; another amount than the order's is an altered repeat. */
  request(
    { orderId, mode, currency, address, tag = "" }: Order,
    amount: string,
    answered: (said: { readonly kind: string; readonly code?: string }) => void = () => {},
  ): void {
    const body = Buffer.from(
      JSON.stringify({
        currency,
        amount,
        orderId,
        ...(address === "" ? {} : { address }),
        ...(tag === "" ? {} : { tag }),
      }),
    );
    note("orders", orderId, () => `${orderId} ${mode} ${amount} ${currency}`);
    this.#world.gateway.request({ merchant, mode, body, language: "en" }, (answer) => {
      const said = answer as { kind: string; body?: string; code?: string };
      note("answered", said.kind, () => said.body ?? said.code ?? "");
      const hasId = said.kind === "data" || said.code === "withdrawal_failed";
      if (hasId) this.#taken.add(orderId);
      if (said.code === "withdrawal_failed") this.#mustHaveFailed(orderId);
      answered(said);
    });
  }

  /** A withdrawal that the shop was told has failed stays failed. */
  #mustHaveFailed(orderId: string): void {
    const [row] = this.#world.gateway.all<Row>(
      "SELECT t.status FROM withdrawals w JOIN transfers t ON t.id = w.id WHERE w.orderId = ?",
      orderId,
    );
    if (row?.status !== 2)
      this.#world.violated(new Violation("failed is said of what has failed", orderId));
  }

  /**
   * The same order with another amount or tag: something else under a name that is taken, which
   * must be refused.
   */
  alter(order: Order): void {
    if (!this.#taken.has(order.orderId)) return;
    const amount = `${order.amount}7`;
    // A database from a backup may not know the order any more; then this is the first that it
    // learns of it.
    const isRestored = this.#world.faultInjector.backups.wasGatewayRestored;
    const isTag =
      !isRestored && order.tag !== undefined && kernel.random.below("alters the tag", 2) === 0;
    if (isRestored) this.#world.payments.allow(order, amount);
    const altered = isTag ? { ...order, tag: "5" } : order;
    this.request(altered, isTag ? order.amount : amount, ({ code = "" }) => {
      if (isRestored || code === "order_id_reused") return;
      this.#world.violated(
        new Violation("an order that comes again with another content is refused", order.orderId),
      );
    });
  }

  get taken(): ReadonlySet<string> {
    return this.#taken;
  }

  #lookAtHeld(): void {
    for (const machine of this.#world.machines) {
      const signer = machine.signer;
      if (signer === null) continue;
      const slow = this.#world.rate("operatorSlow");
      if (slow > 0 && kernel.random.fault("operator is slow", slow)) continue;
      this.ask(machine, "list", { openOnly: true, limit: 20 }, (answer) => {
        const { withdrawals = [] } = answer as unknown as { withdrawals?: readonly OperatorView[] };
        for (const view of withdrawals) {
          // The operator who carries the recovery out decides on withdrawals that are held because
          // both were rolled back.
          const isTheirs = view.code !== "RECOVERY_HOLD" && !this.#leavesToTime(view);
          if (view.state === "held" || view.state === "quarantined")
            this.waited.add(view.transactionId);
          if (view.state === "held" && isTheirs) this.#decide(machine, view);
          if (view.state === "quarantined" && !undecidable.has(view.code))
            this.approve(machine, view);
        }
      });
    }
  }

  /**
   * The gateway's operator looks at each order that a payment holds, and releases it if that
   * payment was not this order's.
   */
  #lookAtGateway(): void {
    const { gateway, payments } = this.#world;
    if (gateway.isInTransaction || gateway.service === null) return;
    for (const { id } of gateway.all<{ id: string }>(heldRows)) {
      this.waited.add(id);
      gateway.command(
        ({ store: { database } }) => {
          const row = readTransactionWithMerchant(database, "withdraw", id);
          return row === undefined ? [] : holdersOfOrder(database, row);
        },
        (holders) => {
          const strange = (holders ?? []).find(({ txHash }) => !payments.isAttempt(id, txHash));
          if (strange === undefined) return;
          const { txHash } = strange;
          gateway.command(
            (by) => releaseOrder(by, id, { txHash, reason: "it paid another", isNoOrders: false }),
            (said) =>
              note("withdrawals release", said === null ? "no answer" : said.ok ? "ok" : said.code),
          );
        },
      );
    }
  }

  /**
   * An account that was used before begins with an operator's yes, who compares what the nodes
   * count with the chain itself.
   */
  #adopt(machine: Machine): void {
    const { chainFixture, payments } = this.#world;
    if (chainFixture.counted === null) return;
    // A ledger that does not know where it begins, of an account that has paid, is for anybody who
    // looks at the chain first.
    const isCareful = payments.released > 0 && machine.name !== "c";
    this.ask(machine, "adopt", { chain: chainName, slot: "" }, (answer) => {
      const { first } = answer as unknown as { first?: FirstSlotView };
      if (
        first === undefined ||
        first.isBegun ||
        first.adopted === first.counted ||
        (isCareful && first.adopted === "")
      )
        return;
      if (first.counted === chainFixture.counted)
        this.ask(machine, "adopt", { chain: chainName, slot: first.counted });
    });
  }

  /**
   * A withdrawal that only waits for its time is left alone as a rule, and always once nothing goes
   * wrong any more.
   */
  #leavesToTime({ code }: OperatorView): boolean {
    if (code !== "POLICY_NEW_DESTINATION_DELAY") return false;
    return !this.#world.isFaulty || kernel.random.below("decides before the delay ends", 8) > 0;
  }

  /** One of two operators, one of whom writes their name in two ways. */
  #name(): string {
    return this.#world.plan.rules === "approvers"
      ? kernel.random.pick("who decides", ["ann", "bob", "Ann"])
      : "ann";
  }

  #decide(machine: Machine, view: OperatorView): void {
    if (kernel.random.below("operator refuses", 4) === 0) this.refuse(machine, view);
    else this.approve(machine, view);
  }

  refuse(machine: Machine, { transactionId }: OperatorView): void {
    this.ask(machine, "refuse", { transactionId, approver: this.#name() });
  }

  approve(
    machine: Machine,
    view: OperatorView,
    never: (code: string) => void = () => this.refuse(machine, view),
  ): void {
    const { transactionId, approvalDigest } = view;
    const address = view.address === "" ? namedReceiver : "";
    const yes = { transactionId, digest: approvalDigest, address, approver: this.#name() };
    this.ask(machine, "approve", yes, (answer) => {
      // An operator who sees why policy stops a withdrawal refuses it.
      const isNever =
        !answer.ok && (answer.code.startsWith("POLICY_ABOVE") || answer.code === "JOB_EXPIRED");
      if (isNever && view.state === "held") never(answer.code);
    });
  }

  /** Its slot is used up, no matter who has it. */
  cancel(machine: Machine, { transactionId, orderId, slot }: OperatorView): void {
    this.#world.payments.cancelled(orderId, Number(slot));
    this.#operators.cancel(machine, transactionId);
  }

  /** One request on the operator's socket. */
  ask(
    machine: Machine,
    verb: string,
    body: object,
    answered: (answer: Answer) => void = () => {},
  ): void {
    const signer = machine.signer;
    if (signer === null) return;
    kernel.scheduler.after(1, signer.owner, () => {
      signer.operatorVerbs({ id: 1, verb, ...body }, (answer) => {
        if (!signer.owner.isAlive) return;
        note(`operator ${verb}`, answer.ok ? "ok" : answer.code);
        answered(answer);
      });
    });
  }

  /** The open orders, in words; "" if every order has ended or waits for an operator. */
  open(): string {
    const { untaken } = this;
    if (untaken.length > 0)
      return `the gateway never took ${untaken.map((order) => order.orderId).join()}`;
    return this.unended.map((row) => `${row.orderId} is ${row.stage}`).join(", ");
  }

  /** Orders that the gateway has not answered. */
  get untaken(): readonly Order[] {
    return this.#world.plan.orders.filter((order) => !this.#taken.has(order.orderId));
  }

  /** The orders that have no end at the gateway and wait for no operator. */
  get unended(): readonly Row[] {
    return this.#pending.filter(
      (row) => !this.#isOdd(row) && !(this.#world.faultInjector.mayLock && row.lockedCode),
    );
  }

  /** Ids of what the gateway leaves to an operator, who may never come to an end with it. */
  get left(): ReadonlySet<string> {
    return new Set(this.#pending.filter((row) => this.#isOdd(row)).map(({ id }) => id));
  }

  /** Orders of an unpaired agent stay with it, for an operator. */
  get #pending(): readonly Row[] {
    return this.#world.gateway.all<Row>(
      `SELECT t.id, w.orderId, t.status, t.stage, j.agent, a.lockedCode FROM transfers t JOIN withdrawals w ON w.id = t.id
         LEFT JOIN jobs j ON j.transactionId = t.id LEFT JOIN agents a ON a.id = j.agent WHERE t.status = 0 AND a.unpairedAt IS NULL AND t.merchant = ?`,
      merchant,
    );
  }

  /**
   * Without a foreign hand nothing stays odd: what a node hid is found again, unless the gateway
   * itself has forgotten it.
   */
  #isOdd({ id, stage }: Row): boolean {
    const { payments: money, gateway: there } = this.#world;
    // Its own payment holds it, as the chain has it: an operator names that one.
    if (stage === "awaiting_operator")
      return there
        .all<{ txHash: string }>(seenPayments)
        .some(({ txHash }) => money.isAttempt(id, txHash));
    if (stage !== "stuck") return false;
    const { payments, gateway } = this.#world;
    const [bound] = gateway.all<{ slot: string }>(
      "SELECT slot FROM slots WHERE transactionId = ?",
      id,
    );
    return payments.foreign.size > 0 || payments.isForgottenNonce(Number(bound?.slot ?? -1));
  }
}

function lateReceiver(): string {
  if (stage.isOfCoins) return coinReceiversOn(stage.family)[0] as string;
  return stage.family === "xrp" ? sequenceReceivers[0] : receivers[0];
}
