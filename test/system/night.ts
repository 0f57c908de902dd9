/**
 * The parts of an operator's night: a machine with gateway and agent as `install` lays them out, a
 * shop that orders, and the books of all orders, so that at any moment each order can be compared
 * with the chain.
 */
import { randomBytes } from "node:crypto";
import { until } from "../../lab/kit/processes.ts";
import type { ShopAnswer } from "../../lab/kit/shop.ts";
import { type Turn, textOn } from "../support/pty.ts";
import type { Ended, Machine, RunOptions } from "./machine.ts";
import type { TestNetwork } from "./test-network.ts";

export interface Order {
  readonly orderId: string;
  readonly amount: string; // ETH
  readonly wei: bigint;
  readonly receiver: string;
  answer: ShopAnswer;
}

const ether = 10n ** 18n;
const completedMs = 90_000;

/**
 * The processes a night is hard on, and how each is found: the unit, and the program of the child
 * where the unit's own is a launcher.
 */
export const processes = {
  "signer's launcher": ["autowithdraw-signer.service", ""],
  signer: ["autowithdraw-signer.service", "agent/signer/main.js"],
  "courier's launcher": ["autowithdraw-courier.service", ""],
  courier: ["autowithdraw-courier.service", "agent/courier/main.js"],
  gateway: ["autowithdraw-gateway.service", ""],
} as const;
export type ProcessName = keyof typeof processes;

export class Night {
  readonly machine: Machine;
  readonly testNetwork: TestNetwork;
  readonly orders: Order[] = [];
  account = "";
  /** The agent's machine: the gateway's, until the agent moves to another. */
  agentOn: Machine;

  constructor(machine: Machine, testNetwork: TestNetwork) {
    this.machine = machine;
    this.agentOn = machine;
    this.testNetwork = testNetwork;
  }

  /** A command that must end with `code`; the error has its output. */
  async must(line: string, code = 0, user = "root"): Promise<string> {
    const ended = await this.machine.sh(line, { user, timeoutMs: 180_000 });
    if (ended.code !== code)
      throw new Error(`${line}: ended with ${ended.code}, not ${code}:\n${ended.output}`);
    return ended.output;
  }

  /**
   * A line that an operator types on a terminal of the machine, with the answers to its questions;
   * returns the output.
   */
  async typed(
    machine: Machine,
    line: string,
    turns: readonly Turn[],
    options: RunOptions = {},
    code = 0,
  ): Promise<string> {
    const ended = await machine.run(["sh", "-c", line], { timeoutMs: 180_000, ...options, turns });
    if (ended.code !== code)
      throw new Error(`${line}: ended with ${ended.code}, not ${code}:\n${ended.output}`);
    return textOn(ended.output);
  }

  status(...words: readonly string[]): Promise<Ended> {
    return this.agentOn.run(["autowithdraw", "status", ...words]);
  }

  /** Waits until `status` ends with `code` and prints `words`. */
  async says(code: number, words: RegExp, timeoutMs = 60_000): Promise<string> {
    let last: Ended = { code: null, output: "" };
    const look = async (): Promise<string | undefined> => {
      last = await this.status();
      return last.code === code && words.test(last.output) ? last.output : undefined;
    };
    return until(
      `status with ${code} and ${words}`,
      timeoutMs,
      look,
      () => `last: exit ${last.code}\n${last.output}`,
    );
  }

  well(): Promise<string> {
    return this.says(0, /everything works/);
  }

  /** Orders once; the answer may be a no, or that nobody answered. */
  async order(amount: string): Promise<Order> {
    const [whole = "0", rest = ""] = amount.split(".");
    const wei = BigInt(whole) * ether + BigInt(rest.padEnd(18, "0"));
    const receiver = `0x${randomBytes(20).toString("hex")}`;
    const orderId = `night-${this.orders.length + 1}`;
    const order: Order = {
      orderId,
      amount,
      wei,
      receiver,
      answer: { status: 0, transactionId: "", code: "", message: "" },
    };
    this.orders.push(order);
    order.answer = await this.#ask(order);
    return order;
  }

  /**
   * An order that the shop repeats until the gateway answers, as shops do; then waits for its end.
   */
  async paid(order: Order): Promise<void> {
    await until(`${order.orderId} is caught up`, completedMs, async () => {
      if (order.answer.transactionId !== "") return true;
      order.answer = await this.#ask(order);
      return undefined;
    });
    await until(`${order.orderId} is Completed`, completedMs, async () => {
      const record = await this.testNetwork.ask<{ status: number }>("record", {
        transactionId: order.answer.transactionId,
      });
      if (record.status === 2) throw new Error("it is Failed");
      return record.status === 1 ? true : undefined;
    }).catch(async (error: Error) => {
      throw new Error(`${error.message}${(await this.status()).output}`, { cause: error });
    });
    const { wei } = await this.testNetwork.ask<{ wei: string }>("received", {
      address: order.receiver,
    });
    if (BigInt(wei) !== order.wei)
      throw new Error(`${order.orderId}: the receiver has ${wei} wei, not ${order.wei}`);
  }

  /** One order from beginning to end, the test that everything works. */
  async works(amount = "0.01"): Promise<void> {
    await this.paid(await this.order(amount));
  }

  async #ask(order: Order): Promise<ShopAnswer> {
    const { amount, orderId, receiver } = order;
    return this.testNetwork.withdraw({ currency: "eth", amount, orderId, receiver });
  }

  /** Process id inside the machine. */
  async pid(name: ProcessName): Promise<string> {
    const [unit, program] = processes[name];
    return until(`a process id of the ${name}`, 20_000, async () => {
      const main = (
        await this.machine.run(["systemctl", "show", "-p", "MainPID", "--value", unit])
      ).output.trim();
      if (!/^[1-9]\d*$/.test(main)) return undefined;
      const found =
        program === ""
          ? main
          : (await this.machine.run(["pgrep", "-P", main, "-f", program])).output.trim();
      return /^\d+$/.test(found) ? found : undefined;
    });
  }

  /**
   * Every order against the chain: what was paid was paid once and exactly, and the account made no
   * other transaction.
   */
  async balanceTheBooks(): Promise<{ readonly paid: number; readonly unpaid: number }> {
    let paid = 0;
    for (const order of this.orders) {
      const { wei } = await this.testNetwork.ask<{ wei: string }>("received", {
        address: order.receiver,
      });
      if (BigInt(wei) !== 0n && BigInt(wei) !== order.wei)
        throw new Error(`${order.orderId}: paid ${wei} wei of ${order.wei}`);
      if (BigInt(wei) !== 0n) paid += 1;
    }
    const { count } = await this.testNetwork.ask<{ count: number }>("count", {
      address: this.account,
    });
    if (count !== paid)
      throw new Error(`the account made ${count} transactions for ${paid} orders`);
    return { paid, unpaid: this.orders.length - paid };
  }
}
