/**
 * Accounts by agreement of min(2, configured) nodes: what an account may spend, its sequences, and
 * whether a receiver takes a payment. Touches nodes only through node-wire.ts. Source: the ledger's
 * documentation of reserves, AccountRoot flags, deposit authorization and the transaction queue.
 */
import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import type { NextSlot, SlotCounts, WantedPayment } from "../nodes.ts";
import { slowNodeGraceMs } from "../providers/chain-blocks.ts";
import { firstFault, type SettledAnswer } from "../providers/node-pool.ts";
import type { Account, Reserve } from "./node-answers.ts";
import { askServerState, type XrpLedgerReader } from "./node-ledgers.ts";
import { accountQuestion } from "./node-questions.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";

/** Flags of an account, by the documentation's names. */
const requiresTag = 0x0002_0000; // lsfRequireDestTag
const authorizesDeposits = 0x0100_0000; // lsfDepositAuth
/** A payment's compute limit is always the same. */
const computeLimit = 1n;

/** An account at an agreed ledger; null if it does not exist there. */
export function agreedAccount(
  pool: NodePool,
  address: string,
  ledger: number,
): Promise<Account | null> {
  const ask = (node: PoolNode): Promise<Account | null> =>
    pool.ask(node, accountQuestion(address, ledger));
  return pool.agree(ask, accountKey, `account ${address}`);
}

/** The agreed balance of an account at a ledger, its reserve included; 0 if it is not there. */
export async function askAgreedBalance(
  pool: NodePool,
  address: string,
  ledger: number,
): Promise<bigint> {
  return (await agreedAccount(pool, address, ledger))?.balanceDrops ?? 0n;
}

/** The reserves by the newest validated ledgers of enough nodes. */
export function agreedReserve(pool: NodePool): Promise<Reserve> {
  const ask = async (node: PoolNode): Promise<Reserve> =>
    (await askServerState(pool, node)).reserve;
  return pool.agree(
    ask,
    ({ baseDrops, incrementDrops }) => `${baseDrops} ${incrementDrops}`,
    "reserve",
  );
}

/** Drops above the reserve, at an agreed ledger; 0 for an account that does not exist. */
export async function spendableDrops(
  pool: NodePool,
  address: string,
  ledger: number,
): Promise<bigint> {
  const [account, reserve] = await Promise.all([
    agreedAccount(pool, address, ledger),
    agreedReserve(pool),
  ]);
  if (account === null) return 0n;
  const units =
    account.balanceDrops - reserve.baseDrops - account.ownerCount * reserve.incrementDrops;
  return units > 0n ? units : 0n;
}

/**
 * The sequence counts of an account. Its next sequence is the number of its closed slots.
 * @throws NODE_ERROR for an account that is not in the final ledger: nobody knows its first
 * sequence
 */
export async function askSlotCounts(
  pool: NodePool,
  ledgers: XrpLedgerReader,
  address: string,
): Promise<SlotCounts> {
  const { number } = await ledgers.finalHead();
  const ask = async (node: PoolNode): Promise<Sequences> => {
    const [final, current] = await Promise.all([
      pool.ask(node, accountQuestion(address, number)),
      pool.ask(node, accountQuestion(address, "current")),
    ]);
    if (final === null) return null;
    return [
      current?.sequence ?? final.sequence,
      current?.sequenceQueued ?? final.sequence,
      final.sequence,
    ];
  };
  const { quorumMin: quorum } = pool;
  try {
    const agreed = await pool.agree(ask, String, "sequences of the account");
    if (agreed === null) throw unfunded(address);
    const [latest, pending, final] = agreed;
    return { latest, pending, final, quorum, isSame: true };
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== "NODE_DISAGREE") throw error;
    return reached(await pool.all(ask, slowNodeGraceMs), quorum, error);
  }
}

/**
 * The next sequence of an account. It never sent a transaction if it did not exist in the ledger
 * before that number: an account begins at the number of the ledger in which it was made, and each
 * transaction of its own takes it further, so the two are equal only before the first. Nodes that
 * do not keep that ledger cannot show it. Source: xrpl.org, amendment DeletableAccounts.
 */
export async function askNextSlot(
  pool: NodePool,
  ledgers: XrpLedgerReader,
  address: string,
): Promise<NextSlot> {
  const { final, latest, pending, isSame } = await askSlotCounts(pool, ledgers, address);
  const isQuiet = isSame && latest === final && pending === final;
  return { slot: `${final}`, isUnused: isQuiet && (await isMadeAt(pool, address, Number(final))) };
}

async function isMadeAt(pool: NodePool, address: string, ledger: number): Promise<boolean> {
  if (ledger < 2) return false;
  try {
    return (await agreedAccount(pool, address, ledger - 1)) === null;
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== "NODE_NO_BLOCK") throw error;
    return false;
  }
}

/**
 * In the open ledger, with the queue, and at the final ledger; null if the account is not there.
 */
type Sequences = readonly [latest: bigint, pending: bigint, final: bigint] | null;

/**
 * Open ledgers and queues differ between nodes for a while, but the final ledger does not. @throws
 * the fault if the final sequence differs
 */
function reached(
  settled: readonly SettledAnswer<Sequences>[],
  quorum: number,
  fault: AgentError,
): SlotCounts {
  const told = settled.flatMap((one) => (one.ok && one.value !== null ? [one.value] : []));
  const highest = (at: 0 | 1): bigint =>
    told.map((all) => all[at]).sort((a, b) => (a < b ? 1 : -1))[quorum - 1] ?? 0n;
  const same = told.find(
    ([, , final]) => told.filter((other) => other[2] === final).length >= quorum,
  );
  if (same === undefined) throw fault;
  return { latest: highest(0), pending: highest(1), final: same[2], quorum, isSame: false };
}

function unfunded(address: string): AgentError {
  const words = `${address} is not in the ledger: send it at least the base reserve of XRP`;
  return new AgentError("NODE_ERROR", "none", words, { account: address });
}

/** The highest sequence that each node shows at its newest validated ledger, 0 for no account. */
export async function shownSequences(pool: NodePool, address: string): Promise<readonly bigint[]> {
  const ask = async (node: PoolNode): Promise<bigint> =>
    (await pool.ask(node, accountQuestion(address, "validated")))?.sequence ?? 0n;
  const settled = await pool.all(ask, slowNodeGraceMs);
  const shown = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (shown.length < pool.quorumMin) throw firstFault(settled);
  return shown;
}

/**
 * The compute limit of a payment. Refuses with NODE_WOULD_REVERT if the ledger would not take it at
 * the receiver. A receiver with deposit authorization is refused, because no method that is used
 * here names the senders that it has authorised.
 */
export async function askComputeLimit(
  pool: NodePool,
  ledgers: XrpLedgerReader,
  account: string,
  { destination, tag, amountUnits }: WantedPayment,
): Promise<{ readonly ok: true; readonly computeLimit: bigint } | Refusal> {
  if (destination === account)
    return refuse("NODE_WOULD_REVERT", "the ledger takes no payment to oneself");
  const { number } = await ledgers.finalHead();
  const [receiver, reserve] = await Promise.all([
    agreedAccount(pool, destination, number),
    agreedReserve(pool),
  ]);
  const { baseDrops } = reserve;
  if (receiver === null) {
    if (amountUnits >= baseDrops) return { ok: true, computeLimit };
    return refuse(
      "NODE_WOULD_REVERT",
      `the receiver is not in the ledger yet, and a first payment is at least ${baseDrops} drops`,
    );
  }
  if (receiver.isPseudo)
    return refuse(
      "NODE_WOULD_REVERT",
      "the receiver belongs to the ledger itself and takes no payment",
    );
  if ((receiver.flags & requiresTag) !== 0 && tag === "")
    return refuse("NODE_WOULD_REVERT", "the receiver demands a destination tag");
  // Such an account takes small payments while it has too little for a transaction of its own.
  const isPoor = receiver.balanceDrops <= baseDrops && amountUnits <= baseDrops;
  if ((receiver.flags & authorizesDeposits) !== 0 && !isPoor)
    return refuse(
      "NODE_WOULD_REVERT",
      "the receiver takes payments only from senders that it has authorised",
    );
  return { ok: true, computeLimit };
}

function accountKey(account: Account | null): string {
  if (account === null) return "none";
  const { sequence, balanceDrops, ownerCount, flags, isPseudo } = account;
  return `${sequence} ${balanceDrops} ${ownerCount} ${flags} ${isPseudo}`;
}
