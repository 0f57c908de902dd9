/** Agents: who is paired for whom. agent-state.ts holds what each was heard to say since. */
import { hotAddressOn } from "./agent-accounts.ts";
import type { AgentRow } from "./rows.ts";
import type { Database } from "./store.ts";

/**
 * An agent, released ones included.
 * @public
 */
export function readAgent(database: Database, id: string): AgentRow | undefined {
  return database.get<AgentRow>("SELECT * FROM agents WHERE id = ?", id);
}

/**
 * An agent that was not released.
 * @public
 */
export function readPairedAgent(database: Database, id: string): AgentRow | undefined {
  return database.get<AgentRow>("SELECT * FROM agents WHERE id = ? AND releasedAt IS NULL", id);
}

/**
 * The one agent that a merchant has now.
 * @public
 */
export function agentOfMerchant(database: Database, merchant: string): AgentRow | undefined {
  return database.get<AgentRow>("SELECT * FROM agents WHERE merchant = ? AND releasedAt IS NULL", merchant);
}

/**
 * The agents that are paired now and take part in a network.
 * @public
 */
export function listPairedOn(database: Database, network: string): readonly AgentRow[] {
  return database
    .all<AgentRow>("SELECT * FROM agents WHERE releasedAt IS NULL ORDER BY id")
    .filter(({ networks }) => (JSON.parse(networks) as readonly string[]).includes(network));
}

/**
 * What each pairing of an agent brings; lists as JSON.
 * @public
 */
export type Pairing = Pick<
  AgentRow,
  "networks" | "currencies" | "pairedAt" | "nextDepositIndex" | "transcriptHash" | "transcriptAt"
>;

/**
 * What stays with an agent for ever.
 * @public
 */
export type AgentIdentity = Pick<AgentRow, "id" | "merchant" | "wallet" | "signerKey" | "linkKey" | "accounts">;

/** @public */
export function insertAgent(database: Database, agent: AgentIdentity & Pairing & Pick<AgentRow, "epoch">): void {
  const { id, merchant, wallet, epoch, signerKey, linkKey, accounts, networks, currencies } = agent;
  database.run(
    `INSERT INTO agents (id, merchant, wallet, epoch, signerKey, linkKey, accounts, networks, currencies,
       nextDepositIndex, transcriptHash, transcriptAt, pairedAt)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[id, merchant, wallet, epoch, signerKey, linkKey, accounts, networks, currencies],
    ...[agent.nextDepositIndex, agent.transcriptHash, agent.transcriptAt, agent.pairedAt],
  );
}

/**
 * Pairs a known agent once more, in its next epoch.
 * @public
 */
export function pairAgentAgain(database: Database, id: string, pairing: Pairing): void {
  const { networks, currencies, pairedAt, nextDepositIndex, transcriptHash, transcriptAt } = pairing;
  database.run(
    `UPDATE agents SET epoch = epoch + 1, networks = ?, currencies = ?, pairedAt = ?, releasedAt = NULL, nextDepositIndex = ?,
       transcriptHash = ?, transcriptAt = ? WHERE id = ?`,
    ...[networks, currencies, pairedAt, nextDepositIndex, transcriptHash, transcriptAt, id],
  );
}

/** @public */
export function markReleased(
  database: Database,
  id: string,
  { heard, nowMs }: { readonly heard: string; readonly nowMs: number },
): void {
  database.run("UPDATE agents SET releasedAt = ?, heard = ? WHERE id = ?", nowMs, heard, id);
}

type Payer = Pick<AgentRow, "accounts" | "networks">;

function payingOn(rows: readonly Payer[], network: string): readonly string[] {
  return rows
    .filter((row) => (JSON.parse(row.networks) as readonly string[]).includes(network))
    .map((row) => hotAddressOn(row, network));
}

/**
 * Accounts that pay or paid on a network, released agents' included.
 * @public
 */
export function listAccountsEver(database: Database, network: string): readonly string[] {
  return payingOn(database.all<Payer>("SELECT accounts, networks FROM agents"), network);
}

/**
 * Accounts of the agents that are paired now and pay on a network.
 * @public
 */
export function listAccountsNow(database: Database, network: string): readonly string[] {
  const sql = "SELECT accounts, networks FROM agents WHERE releasedAt IS NULL ORDER BY id";
  return payingOn(database.all<Payer>(sql), network);
}

/**
 * The wallets of the agents that are paired now and pay on a network.
 * @public
 */
export function listPairedWallets(database: Database, network: string): readonly Pick<AgentRow, "merchant" | "accounts">[] {
  const sql = "SELECT merchant, accounts, networks FROM agents WHERE releasedAt IS NULL ORDER BY id";
  return database
    .all<Payer & Pick<AgentRow, "merchant">>(sql)
    .filter((row) => (JSON.parse(row.networks) as readonly string[]).includes(network));
}

/**
 * The agents that are paired now and may pay from an account on a network: a hot account's own, or
 * the one under whose key an address for deposits lies.
 * @public
 */
export function listPayersFrom(database: Database, account: string, network: string): readonly Pick<AgentRow, "id" | "heard">[] {
  const live = database.all<Payer & Pick<AgentRow, "id" | "heard">>(
    "SELECT id, heard, accounts, networks FROM agents WHERE releasedAt IS NULL",
  );
  const hot = live.filter((agent) => payingOn([agent], network).includes(account));
  if (hot.length > 0) return hot;
  return database.all(
    `SELECT l.id, l.heard FROM depositAddresses d JOIN agents a ON a.id = d.agent
       JOIN agents l ON l.merchant = a.merchant AND l.releasedAt IS NULL WHERE d.address = ?`,
    account,
  );
}

/**
 * @public
 */
export type ListedAgent = AgentRow & {
  readonly name: string; // of its merchant
  readonly open: number; // withdrawals that are pending
  readonly paired: string | null; // what the audit table says of its newest pairing
};

/**
 * Every agent, paired ones first, then the newest pairing first.
 * @public
 */
export function listAgentRows(database: Database): readonly ListedAgent[] {
  return database.all<ListedAgent>(
    `SELECT agents.*, merchants.name,
       (SELECT count(*) FROM jobs JOIN transactions ON transactions.id = jobs.transactionId
          WHERE jobs.agent = agents.id AND transactions.status = 0) AS open,
       (SELECT detail FROM audit WHERE act = 'paired' AND subject = agents.id ORDER BY audit.id DESC LIMIT 1) AS paired
     FROM agents JOIN merchants ON merchants.id = agents.merchant ORDER BY releasedAt IS NOT NULL, pairedAt DESC`,
  );
}

/**
 * Agents that are paired now, in the order of their ids, at most `most` (all of them when it is
 * -1).
 * @public
 */
export function listPairedAgents(database: Database, most = -1): readonly Pick<AgentRow, "id" | "lockedCode" | "pausedAt">[] {
  const sql = "SELECT id, lockedCode, pausedAt FROM agents WHERE releasedAt IS NULL ORDER BY id LIMIT ?";
  return database.all(sql, most);
}

/**
 * Moves the first place that no address has left to `next`.
 * @public
 */
export function skipDepositIndexes(database: Database, id: string, next: number): void {
  database.run("UPDATE agents SET nextDepositIndex = max(nextDepositIndex, ?) WHERE id = ?", next, id);
}

/**
 * The agent's ledger holds this ceiling; a lower one than before changes nothing.
 * @public
 */
export function keepDepositCeiling(database: Database, id: string, ceiling: number): void {
  database.run("UPDATE agents SET depositCeiling = max(depositCeiling, ?) WHERE id = ?", ceiling, id);
}

/**
 * The agent has told its ceiling since the database was put back.
 * @public
 */
export function endAwaitedCeiling(database: Database, id: string): void {
  database.run("UPDATE agents SET awaitsCeiling = 0 WHERE id = ? AND awaitsCeiling = 1", id);
}

/**
 * Every agent, released ones too.
 * @public
 */
export function listAgentsEver(database: Database): readonly AgentRow[] {
  return database.all<AgentRow>("SELECT * FROM agents ORDER BY id");
}
