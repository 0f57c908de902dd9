/**
 * The feed of the stream `withdrawals`: orders of a shop, each with an amount and a receiver of its
 * own, and the judge of their end. The chain says who was paid, how often: it is read here by
 * questions to the node, with no code of agent or gateway.
 */
import { createHash } from "node:crypto";
import { Interface } from "ethers";
import type { Kit } from "../kit/kit.ts";
import { until } from "../kit/processes.ts";
import { balanceWei, rpc, tokenUnits, transactionCount } from "../kit/rpc.ts";
import { createShop, type Shop } from "../kit/shop.ts";
import type { Random } from "./tally.ts";

const endMs = 180_000;
/** A payment leaves more records than this. */
const recordsPerPayment = 5;
const transfer = new Interface(["function transfer(address to, uint256 amount)"]);

/** One payment that was asked for. */
export interface AskedPayment {
  readonly orderId: string;
  readonly currency: "eth" | "usdt";
  readonly amount: string;
  readonly units: bigint;
  readonly receiver: string;
  transactionId: string;
  status: number;
}

interface Transfer {
  readonly key: string;
  readonly nonce: number;
  readonly isDone: boolean;
}

interface MinedTransaction {
  readonly from: string;
  readonly to: string | null;
  readonly value: string;
  readonly input: string;
  readonly nonce: string;
  readonly hash: string;
}

export class Orders {
  readonly asked: AskedPayment[] = [];
  readonly #kit: Kit;
  readonly #seed: string;
  readonly #random: Random;
  readonly #shop: Shop;
  readonly #posts: Promise<void>[] = [];

  constructor(kit: Kit, seed: string, random: Random) {
    this.#kit = kit;
    this.#seed = seed;
    this.#random = random;
    this.#shop = createShop(kit);
  }

  order(): AskedPayment {
    const one = orderOf(this.#seed, this.asked.length + 1, this.#random() < 0.4);
    this.asked.push(one);
    this.again(one);
    return one;
  }

  /**
   * Posts until there is an answer: the shop's own duty after a lost one, harmless because of the
   * orderId.
   */
  again(one: AskedPayment): void {
    let last = "";
    const look = async (): Promise<true | undefined> => {
      const { status, code, message, transactionId } = await this.#shop.autoWithdraw(one);
      last = `${status} ${code} ${message}`;
      if (transactionId === "") return undefined;
      one.transactionId = transactionId;
      return true;
    };
    this.#posts.push(
      until(`an answer for ${one.orderId}`, endMs, look, () => `last answer: ${last}`).then(
        () => undefined,
      ),
    );
  }

  /** Waits until every order has ended. */
  async settle(): Promise<void> {
    await Promise.all(this.#posts.splice(0));
    for (const one of this.asked) {
      if (one.status !== 0) continue;
      const ended = async (): Promise<true | undefined> => {
        one.status = (await this.#shop.transaction(one.transactionId)).status;
        return one.status === 0 ? undefined : true;
      };
      const said = (): string => this.#kit.crypto?.output().slice(-3_000) ?? "";
      await until(`the end of ${one.orderId} ${one.transactionId}`, endMs, ended, said);
    }
  }

  get paid(): number {
    return this.asked.filter(({ status }) => status === 1).length;
  }

  /** Every order paid as its status says, no nonce gap, a ledger that verifies. */
  async judge(): Promise<readonly string[]> {
    const violations: string[] = [];
    const { anvil, token, hotWalletAddress } = this.#kit;
    const transfers = await this.#transfers();
    for (const { orderId, currency, receiver, units, status } of this.asked) {
      const held =
        currency === "eth"
          ? await balanceWei(anvil.url, receiver)
          : await tokenUnits(anvil.url, token, receiver);
      const expected = status === 1 ? units : 0n;
      if (held !== expected)
        violations.push(`${orderId}: receiver holds ${held}, status ${status} means ${expected}`);
      const times = transfers.filter(
        ({ isDone, key }) => isDone && key === keyOf(currency, receiver, units),
      ).length;
      if (times !== (status === 1 ? 1 : 0))
        violations.push(`${orderId}: paid ${times} times, status ${status}`);
    }
    if (transfers.length > this.asked.length)
      violations.push(`${transfers.length} transactions for ${this.asked.length} withdrawals`);
    const nonces = transfers.map(({ nonce }) => nonce).sort((a, b) => a - b);
    nonces.forEach((nonce, place) => {
      if (nonce !== place) violations.push(`nonce gap: ${nonce} at place ${place}`);
    });
    if ((await transactionCount(anvil.url, hotWalletAddress)) !== transfers.length)
      violations.push("the account's count differs from its transactions");
    const { code, output } = await this.#kit.cli("verify", "--json");
    if (code !== 0) violations.push(`ledger does not verify: ${output.trim()}`);
    const records = Number(/"records":\s*(\d+)/.exec(output)?.[1] ?? 0);
    if (records <= this.paid * recordsPerPayment)
      violations.push(`${this.paid} payments left ${records} records`);
    return violations;
  }

  /** Every transaction that the hot wallet has in the chain. */
  async #transfers(): Promise<readonly Transfer[]> {
    const { anvil, hotWalletAddress } = this.#kit;
    const head = Number(await rpc(anvil.url, "eth_blockNumber"));
    const found: Transfer[] = [];
    for (let number = 0; number <= head; number += 1) {
      const block = (await rpc(anvil.url, "eth_getBlockByNumber", [
        `0x${number.toString(16)}`,
        true,
      ])) as {
        readonly transactions: readonly MinedTransaction[];
      };
      for (const { hash, from, to, input, value, nonce } of block.transactions) {
        if (from.toLowerCase() !== hotWalletAddress.toLowerCase()) continue;
        const { status } = (await rpc(anvil.url, "eth_getTransactionReceipt", [hash])) as {
          status: string;
        };
        const call = transfer.parseTransaction({ data: input });
        const [receiver, units] =
          call === null ? [to ?? "", BigInt(value)] : (call.args as unknown as [string, bigint]);
        const key = keyOf(call === null ? "eth" : "usdt", receiver, units);
        found.push({ key, nonce: Number(nonce), isDone: status === "0x1" });
      }
    }
    return found;
  }
}

const keyOf = (currency: string, receiver: string, units: bigint): string =>
  `${currency} ${receiver.toLowerCase()} ${units}`;

/** The `number`-th order of a seed. Amounts differ, so that no payment looks like another. */
function orderOf(seed: string, number: number, isToken: boolean): AskedPayment {
  const receiver = `0x${createHash("sha256").update(`${seed}/receiver/${number}`).digest("hex").slice(0, 40)}`;
  const units = isToken ? 10_000n + BigInt(number) : 10n ** 12n + BigInt(number) * 10n ** 6n;
  const amount = `0.${units.toString().padStart(isToken ? 6 : 18, "0")}`.replace(/0+$/, "");
  const currency = isToken ? "usdt" : "eth";
  return {
    orderId: `order-${number}`,
    currency,
    amount,
    units,
    receiver,
    transactionId: "",
    status: 0,
  };
}
