/**
 * The judge of the stream `gateways`: the chain and what the shop was told, and nothing of the
 * database. Pure, but for the reader of the chain, which asks a node with no code of agent or
 * gateway.
 */
import { getAddress } from "ethers";
import { balanceWei, rpc } from "../../kit/rpc.ts";
import type { BookedDeposit, BookedWithdrawal } from "./shop.ts";

/** A payment of the hot wallet that a block has. */
export interface ChainPayment {
  readonly txHash: string;
  readonly receiver: string;
  readonly units: bigint;
}

/** A message of a callback, or an event of the list. */
export interface ToldEvent {
  readonly id: string;
  readonly type: string;
  readonly transactionId: string;
  readonly sequence: number;
  readonly atMs: number; // monotonic
}

/** A time in which commits were lost, from the first lost one to the end of the server. */
export interface LostCommits {
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface JudgedBooks {
  readonly withdrawals: readonly BookedWithdrawal[];
  readonly deposits: readonly BookedDeposit[];
  readonly payments: readonly ChainPayment[];
  readonly held: ReadonlyMap<string, bigint>; // by receiver
  readonly messages: readonly ToldEvent[];
  readonly listed: readonly ToldEvent[]; // that the shop's own question for events gave
  readonly losses: readonly LostCommits[];
  /** The merchant's balance in the currency of the deposits. */
  readonly credited: bigint;
}

/** All that may not be. */
export function judgedBooks(books: JudgedBooks): readonly string[] {
  return [
    ...judgedWithdrawals(books),
    ...judgedDeposits(books),
    ...judgedEvents(books),
    ...judgedEndings(books),
  ];
}

function judgedWithdrawals({ withdrawals, payments, held }: JudgedBooks): readonly string[] {
  const found: string[] = [];
  for (const { orderId, ids, status, code, txHash, receiver, units } of withdrawals) {
    const own = payments.filter((payment) => payment.receiver === receiver);
    if (own.length > 1) found.push(`${orderId}: PAID TWICE, by ${own.length} transactions`);
    if (ids.length === 0) found.push(`${orderId}: never taken`);
    else if (status !== 1)
      found.push(`${orderId}: status ${status} ${code}, not Completed, ${own.length} payments`);
    if (status === 1 && !own.some((payment) => payment.txHash === txHash))
      found.push(`${orderId}: Completed by ${txHash || "no transaction"}, which does not pay it`);
    const wanted = status === 1 ? units : 0n;
    if (held.get(receiver) !== wanted)
      found.push(`${orderId}: the receiver has ${held.get(receiver)} in place of ${wanted}`);
  }
  const receivers = new Set(withdrawals.map(({ receiver }) => receiver));
  for (const { txHash, receiver } of payments)
    if (!receivers.has(receiver))
      found.push(`${txHash} pays ${receiver}, and no order asks for it`);
  return found;
}

function judgedDeposits({ deposits, credited }: JudgedBooks): readonly string[] {
  const found: string[] = [];
  const ownerOf = new Map<string, string>();
  let paid = 0n;
  for (const { orderId, units, addresses, paidTo, status, received } of deposits) {
    for (const address of addresses) {
      const other = ownerOf.get(address);
      if (other !== undefined) found.push(`${address} was given to ${other} and to ${orderId}`);
      ownerOf.set(address, orderId);
    }
    if (paidTo === "") found.push(`${orderId}: the customer could not pay`);
    else paid += units;
    if (status !== 1) found.push(`${orderId}: status ${status}, not Completed`);
    if (unitsOf(received) !== units)
      found.push(`${orderId}: ${received || "nothing"} was credited in place of ${units} units`);
  }
  if (credited !== paid)
    found.push(`customers paid ${paid} units, and the merchant's balance has ${credited}`);
  return found;
}

/** Base units of an amount of the token. */
export function unitsOf(amount: string): bigint {
  const [whole = "0", part = ""] = amount.split(".");
  return BigInt(`${whole || "0"}${part.padEnd(6, "0")}`);
}

/** The events by which a record ends, once in its life. */
const once = ["withdrawal.created", "withdrawal.completed", "deposit.completed"];

function judgedEvents({ messages, listed, losses }: JudgedBooks): readonly string[] {
  const found: string[] = [];
  const firsts = new Map<string, ToldEvent>(); // by id
  for (const message of messages) {
    const first = firsts.get(message.id);
    if (first === undefined) firsts.set(message.id, message);
    else if (keyOf(first) !== keyOf(message) || first.sequence !== message.sequence)
      found.push(`${message.id} names ${keyOf(first)}, and then ${keyOf(message)}`);
  }
  for (const event of listed)
    if (!firsts.has(event.id)) found.push(`${keyOf(event)} is listed, and was never delivered`);
  const newest = new Map<string, ToldEvent>();
  for (const event of firsts.values()) {
    if (!once.includes(event.type)) continue;
    const before = newest.get(keyOf(event));
    newest.set(keyOf(event), event);
    if (before === undefined) continue;
    // A server that forgot the first event makes a second one of the same record.
    const isForgotten = losses.some(
      ({ fromMs, untilMs }) => before.atMs >= fromMs && untilMs <= event.atMs,
    );
    if (!isForgotten) found.push(`${keyOf(event)} has two ids, ${before.id} and ${event.id}`);
  }
  return found;
}

const keyOf = ({ type, transactionId }: ToldEvent): string => `${type} of ${transactionId}`;

/** The shop is told of each Completed record, and of no other end. */
function judgedEndings({ withdrawals, deposits, messages }: JudgedBooks): readonly string[] {
  const found: string[] = [];
  const told = new Set(messages.map(keyOf));
  const ends = [
    ...withdrawals.map((one) => ({ ...one, type: "withdrawal.completed" })),
    ...deposits.map((one) => ({ ...one, type: "deposit.completed" })),
  ];
  for (const { orderId, ids, status, type } of ends) {
    const isTold = ids.some((id) => told.has(`${type} of ${id}`));
    if (status === 1 && !isTold) found.push(`${orderId}: ${type} never came`);
    if (status !== 1 && isTold) found.push(`${orderId}: ${type} came, and its status is ${status}`);
  }
  return found;
}

interface Block {
  readonly transactions: readonly {
    readonly hash: string;
    readonly from: string;
    readonly to: string | null;
    readonly value: string;
  }[];
}

/** Reads every block. */
export async function readPayments(url: string, hotWallet: string): Promise<ChainPayment[]> {
  const height = Number(BigInt((await rpc(url, "eth_blockNumber")) as string));
  const found: ChainPayment[] = [];
  for (let number = 0; number <= height; number += 1) {
    const asked = [`0x${number.toString(16)}`, true];
    const { transactions } = (await rpc(url, "eth_getBlockByNumber", asked)) as Block;
    for (const { hash, from, to, value } of transactions)
      if (from.toLowerCase() === hotWallet.toLowerCase())
        found.push({ txHash: hash, receiver: getAddress(to ?? ""), units: BigInt(value) });
  }
  return found;
}

/** The balances of receivers, in wei. */
export async function readHeld(
  url: string,
  receivers: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  const held = new Map<string, bigint>();
  for (const receiver of receivers) held.set(receiver, await balanceWei(url, receiver));
  return held;
}
