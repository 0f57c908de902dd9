/**
 * The recovery order for one run of an agent's signer: everything the database holds that a ledger
 * must not have forgotten, in as many parts as it takes. Reads only. Source: docs/protocol.md
 * section 8.
 */

import { familyOf } from "../../chains/families.ts";
import { AgentError, invariant } from "../../protocol/fault.ts";
import { zeroHash } from "../../protocol/identity.ts";
import { laneOf } from "../../protocol/job-mode.ts";
import type { Hello, OpenSlots } from "../../protocol/messages.ts";
import {
  type Recovery,
  type RecoveryAccount,
  type RecoverySpend,
  type RecoverySpent,
  type RecoveryVersion,
  type RecoveryWithdrawal,
  recoveryNameOf,
  recoverySpendsMax,
  recoveryWithdrawalsMax,
} from "../../protocol/recovery.ts";
import { hotAddresses } from "../store/agent-accounts.ts";
import { jobHashAtPlace } from "../store/jobs.ts";
import type { AgentRow, RecoveryRow, SignatureRow } from "../store/rows.ts";
import { type EndedVersion, listEndedVersions, listSignatures } from "../store/signatures.ts";
import {
  type AskedWithdrawal,
  listEndedIdsInRange,
  listEndedInRange,
  listHighestSlots,
  listPendingWithSlot,
} from "../store/slots.ts";
import { listUnexplainedSpends } from "../store/spends.ts";
import type { Database } from "../store/store.ts";

/**
 * Bytes of one part's withdrawals as JSON, under the agent's 64 KiB with room for everything else.
 */
const partBytesMax = 40 * 1024;
const dayMs = 86_400_000;
/** More sweeps are never open at once, stuck ones among them; an order has room for so many. */
const sweptAccountsMax = 32;

/** The run that is told, and how the gateway signs. */
interface Asking {
  readonly hello: Pick<Hello, "nonce" | "open">;
  readonly sign: (text: string) => string; // of one job
  readonly nowMs: number;
}

/**
 * All parts, in order, for the run that said this hello. The same database gives the same hello the
 * same order by the same name.
 * @throws AgentError RECOVERY_ORDER when more is signed and open than an order holds
 * @public
 */
export function recoveryOrder(
  database: Database,
  agent: AgentRow,
  recovery: RecoveryRow,
  { hello, sign, nowMs }: Asking,
): readonly Recovery[] {
  const told = (row: AskedWithdrawal): RecoveryWithdrawal => withdrawalOf(database, row, sign);
  const withdrawals = openWithdrawals(database, agent).map(told);
  const ended = endedAmong(database, agent, hello.open, recoveryWithdrawalsMax - withdrawals.length).map(told);
  const held = recovery.heldSeq === 0 ? null : { seq: recovery.heldSeq, hash: recovery.heldHash };
  const jobs = { sequence: agent.jobSequence, hash: jobHashAt(database, agent, agent.jobSequence) };
  const once = {
    accounts: accountsOf(database, agent, withdrawals),
    spent: spentOf(database, agent, nowMs),
    spends: unexplainedSpends(database, agent),
  };
  const ceiling = agent.depositCeiling === 0 ? {} : { ceiling: agent.depositCeiling };
  const base = { agent: agent.id, wallet: agent.wallet, epoch: agent.epoch, answers: hello.nonce, ...ceiling };
  const order = recoveryNameOf(recovery.mark, { ...base, held, jobs, ...once, withdrawals, ended });
  const parts = partsOf(withdrawals, ended);
  return parts.map((part, index) => ({
    ...{ ...base, order, part: index + 1, parts: parts.length, held, jobs },
    ...(index === 0 ? once : { accounts: [], spent: [], spends: [] }),
    ...part,
    at: nowMs,
  }));
}

/**
 * Every withdrawal that is not final and has a signature. What has none comes as a new job once the
 * agent is back.
 */
function openWithdrawals(database: Database, agent: AgentRow): readonly AskedWithdrawal[] {
  const rows = listPendingWithSlot(database, agent.id);
  if (rows.length <= recoveryWithdrawalsMax) return rows;
  throw new AgentError("RECOVERY_ORDER", "none", "more is open than one order holds", { agent: agent.id });
}

/**
 * What has ended of the agent's withdrawals with a slot in these ranges, at most `room`, the
 * highest slots of each first: a backup is seldom old, and one that stands still below makes the
 * range long.
 */
function endedAmong(database: Database, agent: AgentRow, open: readonly OpenSlots[], room: number): readonly AskedWithdrawal[] {
  const ended: AskedWithdrawal[] = [];
  for (const range of open) ended.push(...[...listEndedInRange(database, agent.id, range, room - ended.length)].reverse());
  return ended;
}

/**
 * The ids of what `endedAmong` finds, all of them.
 * @public
 */
export function endedIds(database: Database, agent: AgentRow, open: readonly OpenSlots[]): readonly string[] {
  return open.flatMap((range) => listEndedIdsInRange(database, agent.id, range));
}

function withdrawalOf(database: Database, row: AskedWithdrawal, sign: Asking["sign"]): RecoveryWithdrawal {
  const signed = listSignatures(database, row.id);
  const [first] = signed;
  invariant(first !== undefined, "what has a slot was signed");
  return {
    ...{ job: row.text, signature: sign(row.text), address: row.receiverAddress },
    ...{ account: first.account, slot: first.slot },
    versions: signed.map(versionOf),
  };
}

function versionOf({ txHash, feeMax, untilMs, cancel }: SignatureRow): RecoveryVersion {
  return { txHash, feeMax, ...(untilMs > 0 ? { until: untilMs } : {}), ...(cancel === 1 ? { cancel: true } : {}) };
}

/**
 * The hash of an agent's job by its place; zeros for 0, and where there is none.
 * @public
 */
export function jobHashAt(database: Database, agent: AgentRow, sequence: number): string {
  if (sequence === 0) return zeroHash;
  if (sequence === agent.jobSequence) return agent.jobHash;
  return jobHashAtPlace(database, agent.id, sequence) ?? zeroHash;
}

/** The newest of all accounts. */
function unexplainedSpends(database: Database, agent: AgentRow): readonly RecoverySpend[] {
  const all = hotAddresses(agent).flatMap((account) => listUnexplainedSpends(database, account, recoverySpendsMax));
  const named = all.map(({ network, account, slot, txHash, block, receiver, contract, units }) => ({
    ...{ network, account, slot, txHash, block, receiver, contract, units },
  }));
  return named.sort((a, b) => b.block - a.block).slice(0, recoverySpendsMax);
}

/**
 * Of each account, whichever agent it was paired through: a slot is used up for all of them. Of the
 * addresses for deposits those with an open sweep; any other begins anew where the nodes say.
 */
function accountsOf(database: Database, agent: AgentRow, withdrawals: readonly RecoveryWithdrawal[]): readonly RecoveryAccount[] {
  const hot = hotAddresses(agent);
  const swept = new Set(withdrawals.map(({ account }) => account).filter((account) => !hot.includes(account)));
  const accounts = [...hot, ...[...swept].sort().slice(0, sweptAccountsMax)];
  return accounts.flatMap((account) =>
    listHighestSlots(database, account).map(({ network, slot }) => ({
      ...{ network, account, next: familyOf(network).slots.next(slot) },
    })),
  );
}

/**
 * What ended within the last day: the amount once for each withdrawal, and the dearest of its
 * versions.
 */
function spentOf(database: Database, agent: AgentRow, nowMs: number): readonly RecoverySpent[] {
  const dearest = new Map<string, EndedVersion>();
  const rows = hotAddresses(agent).flatMap((account) => listEndedVersions(database, account, nowMs - dayMs));
  for (const row of rows) {
    const known = dearest.get(row.id);
    if (known === undefined || BigInt(row.feeMax) > BigInt(known.feeMax)) dearest.set(row.id, row);
  }
  const sums = new Map<string, { units: bigint; feesUnits: bigint }>();
  for (const row of dearest.values()) {
    const { amountUnits, feeMax } = row;
    const currency = laneNameOf(row);
    const sum = sums.get(currency) ?? { units: 0n, feesUnits: 0n };
    sums.set(currency, { units: sum.units + BigInt(amountUnits), feesUnits: sum.feesUnits + BigInt(feeMax) });
  }
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, sum]) => ({ currency, units: `${sum.units}`, feesUnits: `${sum.feesUnits}` }));
}

/** Sweeps and top-ups count under limits of their own. */
function laneNameOf({ operation, currency }: EndedVersion): string {
  return operation === "sweep" || operation === "topup" ? laneOf({ mode: operation, currency }) : currency;
}

/** One part at least, so that an order that names nothing still says so. */
function partsOf(
  withdrawals: readonly RecoveryWithdrawal[],
  ended: readonly RecoveryWithdrawal[],
): readonly Pick<Recovery, "withdrawals" | "ended">[] {
  const first: { withdrawals: RecoveryWithdrawal[]; ended: RecoveryWithdrawal[] } = { withdrawals: [], ended: [] };
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
