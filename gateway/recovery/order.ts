/**
 * The recovery order for one run of an agent's signer: everything the database holds that a ledger must not have forgotten, in as
 * many parts as it takes. Reads only. Source: docs/protocol.md section 8.
 */
import { AgentError } from "../../protocol/fault.ts";
import { zeroHash } from "../../protocol/identity.ts";
import type { Hello, OpenTokens } from "../../protocol/messages.ts";
import {
  type Recovery,
  type RecoveryAccount,
  type RecoverySpent,
  type RecoveryWithdrawal,
  recoveryNameOf,
  recoveryWithdrawalsMax,
} from "../../protocol/recovery.ts";
import type { AgentRow, JobRow, RecoveryRow, SignatureRow, TransactionRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";

/** Bytes of one part's withdrawals as JSON, under the agent's 64 KiB with room for everything else. */
const partBytesMax = 40 * 1024;
const dayMs = 86_400_000;

type Open = Pick<JobRow, "sequence" | "text" | "answeredAt"> & Pick<TransactionRow, "id" | "receiverAddress">;

/**
 * All parts, in order, for the run that said this hello. The same database gives the same hello the same order by the same name.
 * @throws AgentError RECOVERY_TOO_LARGE when more is open than an order holds, answered or signed
 * @public
 */
export function recoveryOrder(
  database: Database,
  agent: AgentRow,
  recovery: RecoveryRow,
  { nonce: answers, open }: Pick<Hello, "nonce" | "open">,
  nowMs: number,
): readonly Recovery[] {
  const { withdrawals, sequence } = openWithdrawals(database, agent);
  const ended = endedAmong(database, agent, open, recoveryWithdrawalsMax - withdrawals.length);
  const held = recovery.heldSeq === 0 ? null : { seq: recovery.heldSeq, hash: recovery.heldHash };
  const jobs = { sequence, hash: jobHashAt(database, agent, sequence) };
  const accounts = accountsOf(database, agent);
  const spent = spentOf(database, agent, nowMs);
  const base = { agent: agent.id, wallet: agent.wallet, epoch: agent.epoch, answers };
  const order = recoveryNameOf({ ...base, held, jobs, accounts, spent, withdrawals, ended });
  const parts = partsOf(withdrawals, ended);
  return parts.map((part, index) => ({
    ...{ ...base, order, part: index + 1, parts: parts.length, held, jobs },
    ...(index === 0 ? { accounts, spent } : { accounts: [], spent: [] }),
    ...part,
    at: nowMs,
  }));
}

/** Every withdrawal that is not final, and the place up to which every job is either among them or ended. */
function openWithdrawals(
  database: Database,
  agent: AgentRow,
): { readonly withdrawals: readonly RecoveryWithdrawal[]; readonly sequence: number } {
  const rows = database.all<Open>(
    `SELECT transactions.id, transactions.receiverAddress, jobs.sequence, jobs.text, jobs.answeredAt
     FROM jobs JOIN transactions ON transactions.id = jobs.transactionId
     WHERE jobs.agent = ? AND transactions.status = 0 ORDER BY jobs.sequence`,
    agent.id,
  );
  const versions = new Map<string, SignatureRow[]>();
  const signed = database.all<SignatureRow>(
    `SELECT signatures.* FROM signatures JOIN transactions ON transactions.id = signatures.transactionId
     JOIN jobs ON jobs.transactionId = transactions.id
     WHERE jobs.agent = ? AND transactions.status = 0 ORDER BY signatures.transactionId, signatures.version`,
    agent.id,
  );
  for (const row of signed) versions.set(row.transactionId, [...(versions.get(row.transactionId) ?? []), row]);
  const isTold = (row: Open): boolean => row.answeredAt !== null || versions.has(row.id);
  let room = recoveryWithdrawalsMax - rows.filter(isTold).length;
  if (room < 0) throw new AgentError("RECOVERY_TOO_LARGE", "none", "more is open than one order holds", { agent: agent.id });
  let sequence = agent.jobSequence;
  const taken: Open[] = [];
  for (const row of rows) {
    if (!isTold(row)) {
      // What was never answered nor signed may as well come as a job once the agent is back.
      if (room === 0) {
        sequence = Math.min(sequence, row.sequence - 1);
        continue;
      }
      room -= 1;
    }
    taken.push(row);
  }
  return { withdrawals: taken.map((row) => withdrawalOf(row, versions.get(row.id) ?? [])), sequence };
}

/**
 * What has ended of the agent's withdrawals with a token in these ranges, at most `room`, the highest tokens of each first: a backup
 * is seldom old, and one that stands still below makes the range long.
 */
export function endedAmong(
  database: Database,
  agent: AgentRow,
  open: readonly OpenTokens[],
  room: number,
): readonly RecoveryWithdrawal[] {
  type Ended = Pick<JobRow, "text"> & Pick<TransactionRow, "id" | "receiverAddress">;
  const ended: RecoveryWithdrawal[] = [];
  for (const { network, account, first, last } of open) {
    // Tokens are texts, the longer the higher.
    const rows = database.all<Ended>(
      `SELECT transactions.id, transactions.receiverAddress, jobs.text
       FROM tokens JOIN transactions ON transactions.id = tokens.transactionId JOIN jobs ON jobs.transactionId = transactions.id
       WHERE tokens.network = ? AND tokens.account = ? AND jobs.agent = ? AND transactions.status <> 0
         AND (length(tokens.token), tokens.token) BETWEEN (?, ?) AND (?, ?)
       ORDER BY length(tokens.token) DESC, tokens.token DESC LIMIT ?`,
      ...[network, account, agent.id],
      ...[first.length, first, last.length, last, room - ended.length],
    );
    const versions = "SELECT * FROM signatures WHERE transactionId = ? ORDER BY version";
    ended.push(...rows.reverse().map((row) => withdrawalOf(row, database.all<SignatureRow>(versions, row.id))));
  }
  return ended;
}

function withdrawalOf(row: Pick<Open, "text" | "receiverAddress">, signed: readonly SignatureRow[]): RecoveryWithdrawal {
  const [first] = signed;
  return {
    job: row.text,
    address: row.receiverAddress,
    account: first?.account ?? "",
    token: first?.token ?? "",
    versions: signed.map(({ txHash, feeMaxWei }) => ({ txHash, feeMax: feeMaxWei })),
  };
}

/**
 * The hash of an agent's job by its place; zeros for 0, and where there is none.
 * @public
 */
export function jobHashAt(database: Database, agent: AgentRow, sequence: number): string {
  if (sequence === 0) return zeroHash;
  if (sequence === agent.jobSequence) return agent.jobHash;
  const sql = "SELECT hash FROM jobs WHERE agent = ? AND sequence = ?";
  return database.get<{ hash: string }>(sql, agent.id, sequence)?.hash ?? zeroHash;
}

/** Of the account, whichever agent it was paired through: a token is used up for all of them. */
function accountsOf(database: Database, { hotAddress }: AgentRow): readonly RecoveryAccount[] {
  const networks = database.all<{ network: string }>("SELECT DISTINCT network FROM tokens WHERE account = ?", hotAddress);
  return networks.map(({ network }) => {
    const sql = "SELECT token FROM tokens WHERE network = ? AND account = ? ORDER BY length(token) DESC, token DESC LIMIT 1";
    const highest = database.get<{ token: string }>(sql, network, hotAddress)?.token ?? "0";
    return { network, account: hotAddress, next: (BigInt(highest) + 1n).toString() };
  });
}

/** What ended within the last day: the amount once for each withdrawal, and the dearest of its versions. */
function spentOf(database: Database, { hotAddress }: AgentRow, nowMs: number): readonly RecoverySpent[] {
  type Row = Pick<TransactionRow, "id" | "currency" | "amountUnits"> & Pick<SignatureRow, "feeMaxWei">;
  const rows = database.all<Row>(
    `SELECT transactions.id, transactions.currency, transactions.amountUnits, signatures.feeMaxWei
     FROM signatures JOIN transactions ON transactions.id = signatures.transactionId
     WHERE signatures.account = ? AND transactions.status <> 0 AND transactions.changedAt > ?`,
    hotAddress,
    nowMs - dayMs,
  );
  const dearest = new Map<string, Row>();
  for (const row of rows) {
    const known = dearest.get(row.id);
    if (known === undefined || BigInt(row.feeMaxWei) > BigInt(known.feeMaxWei)) dearest.set(row.id, row);
  }
  const sums = new Map<string, { units: bigint; feesWei: bigint }>();
  for (const { currency, amountUnits, feeMaxWei } of dearest.values()) {
    const sum = sums.get(currency) ?? { units: 0n, feesWei: 0n };
    sums.set(currency, { units: sum.units + BigInt(amountUnits), feesWei: sum.feesWei + BigInt(feeMaxWei) });
  }
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, sum]) => ({ currency, units: `${sum.units}`, feesWei: `${sum.feesWei}` }));
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
