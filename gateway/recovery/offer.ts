/**
 * The recovery offer for one run of an agent's signer: all data of the database that a ledger must
 * not have forgotten, in as many parts as necessary. Reads only. Source: docs/protocol.md section
 * 8.
 */

import { AgentError, invariant } from "../../base/fault.ts";
import { familyOf } from "../../chains/families.ts";
import { zeroHash } from "../../protocol/identity.ts";
import { limitGroupOf } from "../../protocol/job-mode.ts";
import type { Hello, OpenSlots } from "../../protocol/messages.ts";
import {
  type RecoveryAccount,
  type RecoveryAttempt,
  type RecoveryPart,
  type RecoverySpentSums,
  type RecoveryWithdrawal,
  recoveryNameOf,
  recoveryOutgoingMax,
  recoveryWithdrawalsMax,
  type UnexplainedRecoveryTransaction,
} from "../../protocol/recovery.ts";
import { hotWalletAddresses } from "../store/agent-accounts.ts";
import { jobHashAtSeq } from "../store/jobs.ts";
import { listUnexplainedOutgoing } from "../store/outgoing-transactions.ts";
import type { AgentRow, RecoveryRow, SignatureRow } from "../store/rows.ts";
import { type EndedAttempt, listEndedAttempts, listSignatures } from "../store/signatures.ts";
import {
  listEndedIdsInRange,
  listEndedInRange,
  listHighestSlots,
  listPendingWithSlot,
  type WithdrawalWithJobText,
} from "../store/slots.ts";
import type { Database } from "../store/store.ts";

/**
 * Largest size of one part's withdrawals as JSON: below the agent's 64 KiB, with room for the other
 * fields.
 */
const partBytesMax = 40 * 1024;
const dayMs = 86_400_000;
/** Largest number of open sweeps, including stuck ones; an order has room for all. */
const sweptAccountsMax = 32;

/** The run that gets the order, and the gateway's signature. */
interface OfferTarget {
  readonly hello: Pick<Hello, "nonce" | "open">;
  readonly sign: (text: string) => string; // signs one job
  readonly nowMs: number;
}

/**
 * Returns all parts, in order, for the run that sent this hello. The same database and hello give
 * the same order with the same name.
 * @throws AgentError RECOVERY_OFFER if more withdrawals are signed and open than an order can hold
 */
export function makeRecoveryOffer(
  database: Database,
  agent: AgentRow,
  recovery: RecoveryRow,
  { hello, sign, nowMs }: OfferTarget,
): readonly RecoveryPart[] {
  const told = (row: WithdrawalWithJobText): RecoveryWithdrawal =>
    withdrawalOf(database, row, sign);
  const withdrawals = openWithdrawals(database, agent).map(told);
  const ended = endedAmong(
    database,
    agent,
    hello.open,
    recoveryWithdrawalsMax - withdrawals.length,
  ).map(told);
  const held = recovery.heldSeq === 0 ? null : { seq: recovery.heldSeq, hash: recovery.heldHash };
  const jobs = { sequence: agent.jobSequence, hash: jobHashAt(database, agent, agent.jobSequence) };
  const once = {
    accounts: accountsOf(database, agent, withdrawals),
    spent: spentOf(database, agent, nowMs),
    outgoing: unexplainedOutgoing(database, agent),
  };
  const ceiling = agent.depositCeiling === 0 ? {} : { ceiling: agent.depositCeiling };
  const base = {
    agent: agent.id,
    wallet: agent.wallet,
    ledgerEpoch: agent.ledgerEpoch,
    answers: hello.nonce,
    ...ceiling,
  };
  const order = recoveryNameOf(recovery.mark, { ...base, held, jobs, ...once, withdrawals, ended });
  const parts = partsOf(withdrawals, ended);
  return parts.map((part, index) => ({
    ...base,
    order,
    part: index + 1,
    parts: parts.length,
    held,
    jobs,
    ...(index === 0 ? once : { accounts: [], spent: [], outgoing: [] }),
    ...part,
    at: nowMs,
  }));
}

/**
 * Every signed withdrawal that is not final. Unsigned withdrawals come as new jobs after the
 * recovery.
 */
function openWithdrawals(database: Database, agent: AgentRow): readonly WithdrawalWithJobText[] {
  const rows = listPendingWithSlot(database, agent.id);
  if (rows.length <= recoveryWithdrawalsMax) return rows;
  throw new AgentError("RECOVERY_OFFER", "none", "more is open than one order holds", {
    agent: agent.id,
  });
}

/**
 * Ended withdrawals of the agent with a slot in these ranges, at most `room`, with the highest
 * slots of each range first. A backup is seldom old, but one slot that does not advance makes the
 * range long.
 */
function endedAmong(
  database: Database,
  agent: AgentRow,
  open: readonly OpenSlots[],
  room: number,
): readonly WithdrawalWithJobText[] {
  const ended: WithdrawalWithJobText[] = [];
  for (const range of open)
    ended.push(...[...listEndedInRange(database, agent.id, range, room - ended.length)].reverse());
  return ended;
}

/** The ids of all withdrawals that `endedAmong` can find. */
export function endedIds(
  database: Database,
  agent: Pick<AgentRow, "id">,
  open: readonly OpenSlots[],
): readonly string[] {
  return open.flatMap((range) => listEndedIdsInRange(database, agent.id, range));
}

function withdrawalOf(
  database: Database,
  row: WithdrawalWithJobText,
  sign: OfferTarget["sign"],
): RecoveryWithdrawal {
  const signed = listSignatures(database, row.id);
  const [first] = signed;
  invariant(first !== undefined, "what has a slot was signed");
  return {
    job: row.text,
    signature: sign(row.text),
    address: row.receiver ?? "",
    account: first.account,
    slot: first.slot,
    attempts: signed.map(attemptOf),
  };
}

function attemptOf({ txHash, feeMax, validUntilMs, pin, cancel }: SignatureRow): RecoveryAttempt {
  return {
    txHash,
    feeMax,
    ...(validUntilMs > 0 ? { validUntilMs } : {}),
    ...(pin === "" ? {} : { pin }),
    ...(cancel === 1 ? { cancel: true } : {}),
  };
}

/**
 * The hash of an agent's job at a position; zeros for position 0, and for a position without a job.
 */
export function jobHashAt(database: Database, agent: AgentRow, sequence: number): string {
  if (sequence === 0) return zeroHash;
  if (sequence === agent.jobSequence) return agent.jobHash;
  return jobHashAtSeq(database, agent.id, sequence) ?? zeroHash;
}

/** The newest unexplained transactions of all accounts. */
function unexplainedOutgoing(
  database: Database,
  agent: AgentRow,
): readonly UnexplainedRecoveryTransaction[] {
  const all = hotWalletAddresses(agent).flatMap((account) =>
    listUnexplainedOutgoing(database, account, recoveryOutgoingMax),
  );
  const named = all.map(
    ({ network, account, slot, txHash, block, receiver, tag, contract, units }) => ({
      network,
      account,
      slot,
      txHash,
      block,
      receiver,
      ...(tag === "" ? {} : { tag }),
      contract,
      units,
    }),
  );
  return named.sort((a, b) => b.block - a.block).slice(0, recoveryOutgoingMax);
}

/**
 * The next slots of each hot wallet, whichever agent it was paired through, because a slot is used
 * up for all of them. Also of each deposit address with an open sweep; every other deposit address
 * starts at the nodes' count.
 */
function accountsOf(
  database: Database,
  agent: AgentRow,
  withdrawals: readonly RecoveryWithdrawal[],
): readonly RecoveryAccount[] {
  const hotWallet = hotWalletAddresses(agent);
  const swept = new Set(
    withdrawals.map(({ account }) => account).filter((account) => !hotWallet.includes(account)),
  );
  const accounts = [...hotWallet, ...[...swept].sort().slice(0, sweptAccountsMax)];
  return accounts.flatMap((account) =>
    listHighestSlots(database, account).map(({ network, slot }) => ({
      network,
      account,
      next: familyOf(network).slots.next(slot),
    })),
  );
}

/**
 * Totals of the withdrawals that ended within the last day: each amount counts only once, with the
 * highest fee of its attempts.
 */
function spentOf(database: Database, agent: AgentRow, nowMs: number): readonly RecoverySpentSums[] {
  const dearest = new Map<string, EndedAttempt>();
  const rows = hotWalletAddresses(agent).flatMap((account) =>
    listEndedAttempts(database, account, nowMs - dayMs),
  );
  for (const row of rows) {
    const known = dearest.get(row.id);
    if (known === undefined || BigInt(row.feeMax) > BigInt(known.feeMax)) dearest.set(row.id, row);
  }
  const sums = new Map<string, { units: bigint; feesUnits: bigint }>();
  for (const row of dearest.values()) {
    const { units, feeMax } = row;
    const currency = limitGroupNameOf(row);
    const sum = sums.get(currency) ?? { units: 0n, feesUnits: 0n };
    sums.set(currency, {
      units: sum.units + BigInt(units),
      feesUnits: sum.feesUnits + BigInt(feeMax),
    });
  }
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, sum]) => ({ currency, units: `${sum.units}`, feesUnits: `${sum.feesUnits}` }));
}

/** Sweeps and top-ups count under their own limits. */
function limitGroupNameOf({ operation, currency }: EndedAttempt): string {
  return operation === "sweep" || operation === "topup"
    ? limitGroupOf({ mode: operation, currency })
    : currency;
}

/** At least one part, so that an order without withdrawals still says so. */
function partsOf(
  withdrawals: readonly RecoveryWithdrawal[],
  ended: readonly RecoveryWithdrawal[],
): readonly Pick<RecoveryPart, "withdrawals" | "ended">[] {
  const first: { withdrawals: RecoveryWithdrawal[]; ended: RecoveryWithdrawal[] } = {
    withdrawals: [],
    ended: [],
  };
  const parts = [first];
  let part = first;
  let bytes = 0;
  const put = (list: "withdrawals" | "ended", withdrawal: RecoveryWithdrawal): void => {
    const size = Buffer.byteLength(JSON.stringify(withdrawal)) + 1;
    if (bytes > 0 && bytes + size > partBytesMax) {
      part = { withdrawals: [], ended: [] };
      parts.push(part);
      bytes = 0;
    }
    part[list].push(withdrawal);
    bytes += size;
  };
  for (const withdrawal of withdrawals) put("withdrawals", withdrawal);
  for (const withdrawal of ended) put("ended", withdrawal);
  return parts;
}
