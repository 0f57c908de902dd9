/**
 * The orders of the stream `steps`, each with an amount and a receiver of its own, and the judge of
 * their end: the chain says who was paid, how often.
 */
import { decimalText } from "../../deposits/test-network.ts";
import type { Kit } from "../../kit/kit.ts";
import { until } from "../../kit/processes.ts";
import { createShop, type Shop } from "../../kit/shop.ts";
import type { ChainJudgement, StepsChain } from "./chain.ts";

const answerMs = 120_000;
const endMs = 300_000;
const lookMs = 10;
/** Amounts in the chain's unit: below, and above the limit from which an operator approves. */
const units = { usual: 2n, held: 5n } as const;
const heldAboveUnits = 4n;
/** So much of what reconcile printed is kept. */
const bookCharactersMax = 2_000;

export interface AskedPayment {
  readonly orderId: string;
  readonly receiver: string;
  readonly units: bigint;
  transactionId: string;
  status: number;
}

export class StepsOrders {
  readonly asked: AskedPayment[] = [];
  readonly #kit: Kit;
  readonly #chain: StepsChain;
  readonly #seed: string;
  readonly #shop: Shop;

  constructor(kit: Kit, chain: StepsChain, seed: string) {
    this.#kit = kit;
    this.#chain = chain;
    this.#seed = seed;
    this.#shop = createShop(kit);
  }

  /** The next order, not posted yet. */
  next(isHeld: boolean): AskedPayment {
    const number = this.asked.length + 1;
    const amount = (isHeld ? units.held : units.usual) * this.#chain.unit + BigInt(number);
    const receiver = this.#chain.receiver(`${this.#seed}/receiver/${number}`);
    const one = {
      orderId: `order-${number}`,
      receiver,
      units: amount,
      transactionId: "",
      status: 0,
    };
    this.asked.push(one);
    return one;
  }

  /** Posts until there is an answer, as a shop has to, harmless because of the orderId. */
  async post(one: AskedPayment): Promise<void> {
    const { orderId, receiver } = one;
    const order = {
      orderId,
      receiver,
      currency: this.#chain.id,
      amount: decimalText(one.units, this.#chain.decimal),
    };
    let last = "";
    const look = async (): Promise<true | undefined> => {
      const { status, code, message, transactionId } = await this.#shop.autoWithdraw(order);
      last = `${status} ${code} ${message}`;
      if (transactionId === "") return undefined;
      one.transactionId = transactionId;
      return true;
    };
    await until(`an answer for ${orderId}`, answerMs, look, () => `last answer: ${last}`, lookMs);
  }

  /** Waits until the order is Completed, or has another end. */
  async ended(one: AskedPayment): Promise<void> {
    if (one.status !== 0) return;
    const look = async (): Promise<true | undefined> => {
      one.status = (await this.#shop.transaction(one.transactionId)).status;
      return one.status === 0 ? undefined : true;
    };
    const said = (): string =>
      `${this.#kit.crypto?.output().slice(-3_000)}\n${this.#kit.gateway?.output().slice(-2_000)}`;
    await until(`the end of ${one.orderId} ${one.transactionId}`, endMs, look, said);
  }

  /** Waits until the hot wallet's money is there. */
  async funded(): Promise<void> {
    const look = async (): Promise<true | undefined> =>
      Number((await this.#shop.balance(this.#chain.id)).available) > 0 ? true : undefined;
    await until(
      "the hot wallet has its money",
      answerMs,
      look,
      () => this.#kit.gateway?.output().slice(-2_000) ?? "",
    );
  }

  get paid(): number {
    return this.asked.filter(({ status }) => status === 1).length;
  }

  /** Every receiver paid once, a ledger that verifies, books that agree with the chain. */
  async judge(hotWalletAddress: string): Promise<readonly string[]> {
    const receivers = this.asked.map(({ receiver }) => receiver);
    const violations = [
      ...paidOnce(this.asked, await this.#chain.judge(hotWalletAddress, receivers)),
    ];
    const { code, output } = await this.#kit.cli("verify", "--json");
    if (code !== 0) violations.push(`the ledger does not verify: ${output.trim()}`);
    await this.#closeBooks(violations);
    return violations;
  }

  async #closeBooks(violations: string[]): Promise<void> {
    let last = "";
    const look = async (): Promise<true | undefined> => {
      last = await this.#kit.operate("reconcile", "--json");
      return true;
    };
    await until("books that agree with the chain", answerMs, look, () =>
      last.slice(-bookCharactersMax),
    ).catch((error: unknown) =>
      violations.push(`reconcile: ${String(error).slice(0, bookCharactersMax)}`),
    );
  }
}

/**
 * Differences between the orders and the chain: each receiver is paid by one payment of one
 * transaction, and the hot wallet made no other transaction.
 */
export function paidOnce(
  orders: readonly AskedPayment[],
  { transactions, held, violations: found }: ChainJudgement,
): readonly string[] {
  const violations = [...found];
  const payments = [...transactions.values()].flat();
  for (const { orderId, receiver, units: asked, status } of orders) {
    if (status !== 1) violations.push(`${orderId}: status ${status}, not Completed`);
    const own = payments.filter((payment) => payment.receiver === receiver);
    if (own.length !== 1) violations.push(`${orderId}: paid ${own.length} times`);
    if (own.some((payment) => payment.units !== asked))
      violations.push(`${orderId}: paid another amount than ${asked}`);
    if (held.get(receiver) !== asked)
      violations.push(`${orderId}: its receiver has ${held.get(receiver)} in place of ${asked}`);
  }
  for (const [txHash, paid] of transactions)
    if (paid.length !== 1) violations.push(`${txHash} makes ${paid.length} payments`);
  if (transactions.size !== orders.length)
    violations.push(`${transactions.size} transactions for ${orders.length} withdrawals`);
  return violations;
}

/** The agent's limits for the run's currency. */
export function policyOf({
  unit,
  decimal,
  fees,
}: Pick<StepsChain, "unit" | "decimal" | "fees">): Readonly<Record<string, string>> {
  const inCoin = (amount: bigint): string => decimalText(amount * unit, decimal);
  const limits = {
    maxPerWithdrawal: inCoin(10n),
    maxPerHour: inCoin(100_000n),
    maxPerDay: inCoin(100_000n),
  };
  return { ...limits, ...fees, holdAbove: inCoin(heldAboveUnits) };
}
