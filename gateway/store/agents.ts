/** Agents and their merchants. agent-state.ts has the agents' later reports. */
import { hotWalletAddressOn } from "./agent-accounts.ts";
import type { AgentRow } from "./rows.ts";
import type { Database } from "./store.ts";

/** An agent, paired or unpaired. */
export function readAgent(database: Database, id: string): AgentRow | undefined {
  return database.get<AgentRow>("SELECT * FROM agents WHERE id = ?", id);
}

/** The columns that an open link reads again and again. */
export type LinkedAgent = Pick<
  AgentRow,
  | (
      | "id"
      | "wallet"
      | "ledgerEpoch"
      | "accounts"
      | "networks"
      | "headSeq"
      | "headHash"
      | "jobSequence"
      | "nextDepositIndex"
    )
  | ("unpairedAt" | "lockedCode" | "caughtUp" | "depositCeiling")
>;

/** An agent, paired or unpaired, as its link needs it. */
export function readLinkedAgent(database: Database, id: string): LinkedAgent | undefined {
  return database.get<LinkedAgent>(
    `SELECT id, wallet, ledgerEpoch, accounts, networks, headSeq, headHash, jobSequence, nextDepositIndex, unpairedAt,
       lockedCode, caughtUp, depositCeiling FROM agents WHERE id = ?`,
    id,
  );
}

/** The columns that an order needs of the agent that pays it. */
export type PayingAgent = Pick<
  AgentRow,
  | (
      | "id"
      | "merchant"
      | "wallet"
      | "ledgerEpoch"
      | "accounts"
      | "currencies"
      | "jobSequence"
      | "jobHash"
      | "lockedCode"
    )
  | ("caughtUp" | "ledgerAt" | "unpairedAt")
>;

const paying = `id, merchant, wallet, ledgerEpoch, accounts, currencies, jobSequence, jobHash, lockedCode, caughtUp,
  ledgerAt, unpairedAt`;

/** `agentOfMerchant` with the columns of an order. */
export function payingAgentOf(database: Database, merchant: string): PayingAgent | undefined {
  return database.get<PayingAgent>(
    `SELECT ${paying} FROM agents WHERE merchant = ? AND unpairedAt IS NULL`,
    merchant,
  );
}

/** An agent, paired or unpaired, with the columns of an order. */
export function readPayingAgent(database: Database, id: string): PayingAgent | undefined {
  return database.get<PayingAgent>(`SELECT ${paying} FROM agents WHERE id = ?`, id);
}

/** An agent that is not unpaired. */
export function readPairedAgent(database: Database, id: string): AgentRow | undefined {
  return database.get<AgentRow>("SELECT * FROM agents WHERE id = ? AND unpairedAt IS NULL", id);
}

/** The one agent that a merchant has paired now. */
export function agentOfMerchant(database: Database, merchant: string): AgentRow | undefined {
  return database.get<AgentRow>(
    "SELECT * FROM agents WHERE merchant = ? AND unpairedAt IS NULL",
    merchant,
  );
}

export function networksOf({ networks }: Pick<AgentRow, "networks">): readonly string[] {
  return JSON.parse(networks) as readonly string[];
}

/** The paired agents that take part in a network. */
export function listPairedOn(database: Database, network: string): readonly AgentRow[] {
  return database
    .all<AgentRow>("SELECT * FROM agents WHERE unpairedAt IS NULL ORDER BY id")
    .filter(({ networks }) => networksOf({ networks }).includes(network));
}

/**
 * A number that rises when an agent is paired or unpaired (by the triggers of schema.ts), so that a
 * reader need not read the list of all agents again.
 */
export function agentsVersion(database: Database): number {
  return (
    database.get<{ value: number }>(
      "SELECT CAST(value AS INTEGER) AS value FROM meta WHERE name = 'agents'",
    )?.value ?? 0
  );
}

/** Values that each pairing of an agent brings; lists as JSON. */
export type PairingColumns = Pick<
  AgentRow,
  "networks" | "currencies" | "pairedAt" | "nextDepositIndex" | "transcriptHash" | "transcriptAt"
>;

/** Values of an agent that never change. */
export type AgentIdentity = Pick<
  AgentRow,
  "id" | "merchant" | "wallet" | "signerKey" | "linkKey" | "accounts"
>;

export function insertAgent(
  database: Database,
  agent: AgentIdentity & PairingColumns & Pick<AgentRow, "ledgerEpoch">,
): void {
  const { id, merchant, wallet, ledgerEpoch, signerKey, linkKey, accounts, networks, currencies } =
    agent;
  database.run(
    `INSERT INTO agents (id, merchant, wallet, ledgerEpoch, signerKey, linkKey, accounts, networks, currencies,
       nextDepositIndex, transcriptHash, transcriptAt, pairedAt)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[id, merchant, wallet, ledgerEpoch, signerKey, linkKey, accounts, networks, currencies],
    ...[agent.nextDepositIndex, agent.transcriptHash, agent.transcriptAt, agent.pairedAt],
  );
}

/** Pairs a known agent again, in its next epoch. */
export function pairAgentAgain(database: Database, id: string, pairing: PairingColumns): void {
  const { networks, currencies, pairedAt, nextDepositIndex, transcriptHash, transcriptAt } =
    pairing;
  database.run(
    `UPDATE agents SET ledgerEpoch = ledgerEpoch + 1, networks = ?, currencies = ?, pairedAt = ?, unpairedAt = NULL, nextDepositIndex = ?,
       transcriptHash = ?, transcriptAt = ? WHERE id = ?`,
    ...[networks, currencies, pairedAt, nextDepositIndex, transcriptHash, transcriptAt, id],
  );
}

export function markUnpaired(
  database: Database,
  id: string,
  { caughtUp, nowMs }: { readonly caughtUp: string; readonly nowMs: number },
): void {
  database.run("UPDATE agents SET unpairedAt = ?, caughtUp = ? WHERE id = ?", nowMs, caughtUp, id);
}

type Sender = Pick<AgentRow, "accounts" | "networks">;

function hotWalletsOn(rows: readonly Sender[], network: string): readonly string[] {
  return rows
    .filter((row) => networksOf(row).includes(network))
    .map((row) => hotWalletAddressOn(row, network));
}

/** Hot wallets that pay or paid on a network, including those of unpaired agents. */
export function listHotWalletsEver(database: Database, network: string): readonly string[] {
  return hotWalletsOn(database.all<Sender>("SELECT accounts, networks FROM agents"), network);
}

/** Hot wallets of the paired agents that pay on a network. */
export function listPayingHotWallets(database: Database, network: string): readonly string[] {
  const sql = "SELECT accounts, networks FROM agents WHERE unpairedAt IS NULL ORDER BY id";
  return hotWalletsOn(database.all<Sender>(sql), network);
}

/** The wallets of the paired agents that pay on a network. */
export function listPairedWallets(
  database: Database,
  network: string,
): readonly Pick<AgentRow, "merchant" | "accounts">[] {
  const sql =
    "SELECT merchant, accounts, networks FROM agents WHERE unpairedAt IS NULL ORDER BY id";
  return database
    .all<Sender & Pick<AgentRow, "merchant">>(sql)
    .filter((row) => networksOf(row).includes(network));
}

/**
 * The paired agents that may pay from an account on a network: the owner of the hot wallet, or the
 * agent that has the key of the deposit address.
 */
export function listSendersFrom(
  database: Database,
  account: string,
  network: string,
): readonly Pick<AgentRow, "id" | "caughtUp">[] {
  const live = database.all<Sender & Pick<AgentRow, "id" | "caughtUp">>(
    "SELECT id, caughtUp, accounts, networks FROM agents WHERE unpairedAt IS NULL",
  );
  const hotWallet = live.filter((agent) => hotWalletsOn([agent], network).includes(account));
  if (hotWallet.length > 0) return hotWallet;
  return database.all(
    `SELECT l.id, l.caughtUp FROM addresses d JOIN agents a ON a.id = d.agent
       JOIN agents l ON l.merchant = a.merchant AND l.unpairedAt IS NULL
     WHERE d.address = ? AND d.request IS NOT NULL`,
    account,
  );
}

/** An agent as `agents` lists it. */
export type ListedAgent = AgentRow & {
  readonly name: string; // the merchant's name
  readonly open: number; // number of pending withdrawals
  readonly paired: string | null; // the audit table's detail of the newest pairing
};

/** Every agent: paired agents first, then by newest pairing. */
export function listAgentRows(database: Database): readonly ListedAgent[] {
  return database.all<ListedAgent>(
    `SELECT agents.*, merchants.name,
       (SELECT count(*) FROM jobs JOIN transfers t ON t.id = jobs.transactionId
          WHERE jobs.agent = agents.id AND t.status = 0) AS open,
       (SELECT detail FROM audit WHERE act = 'paired' AND subject = agents.id ORDER BY audit.id DESC LIMIT 1) AS paired
     FROM agents JOIN merchants ON merchants.id = agents.merchant ORDER BY unpairedAt IS NOT NULL, pairedAt DESC`,
  );
}

/** Paired agents in the order of their ids, at most `most`; -1 for all. */
export function listPairedAgents(
  database: Database,
  most = -1,
): readonly Pick<AgentRow, "id" | "lockedCode" | "pausedAt">[] {
  const sql =
    "SELECT id, lockedCode, pausedAt FROM agents WHERE unpairedAt IS NULL ORDER BY id LIMIT ?";
  return database.all(sql, most);
}

/** The ids of the paired agents, read again only after one was paired or unpaired. */
export class PairedAgentIds {
  #version = -1;
  #ids: readonly string[] = [];

  read(database: Database): readonly string[] {
    const version = agentsVersion(database);
    if (version !== this.#version) this.#ids = listPairedAgents(database).map(({ id }) => id);
    this.#version = version;
    return this.#ids;
  }
}

/** The paired agents that are locked or paused, in the order of their ids. */
export function listHaltedAgents(
  database: Database,
): readonly Pick<AgentRow, "id" | "lockedCode" | "pausedAt">[] {
  const sql = `SELECT id, lockedCode, pausedAt FROM agents INDEXED BY agentsHalted
    WHERE unpairedAt IS NULL AND (lockedCode <> '' OR pausedAt IS NOT NULL) ORDER BY id`;
  return database.all(sql);
}

/** The first index of an agent's deposit account whose address has not left. */
export function nextDepositIndexOf(database: Database, id: string): number {
  return (
    database.get<{ next: number }>("SELECT nextDepositIndex AS next FROM agents WHERE id = ?", id)
      ?.next ?? 0
  );
}

/** Moves the first index whose address has not left up to `next`. */
export function skipDepositIndexes(database: Database, id: string, next: number): void {
  database.run(
    "UPDATE agents SET nextDepositIndex = max(nextDepositIndex, ?) WHERE id = ?",
    next,
    id,
  );
}

/** Keeps a ceiling that the agent's ledger holds. A lower ceiling than before changes nothing. */
export function keepDepositCeiling(database: Database, id: string, ceiling: number): void {
  database.run(
    "UPDATE agents SET depositCeiling = max(depositCeiling, ?) WHERE id = ?",
    ceiling,
    id,
  );
}

/** True if the database was restored, and the agent has not reported its ceiling since. */
export function awaitsCeiling(database: Database, id: string): boolean {
  return database.get("SELECT 1 FROM agents WHERE id = ? AND awaitsCeiling = 1", id) !== undefined;
}

/**
 * Ends the wait for the ceiling: the agent has reported the ceiling since the database was restored
 * from a backup.
 */
export function endAwaitedCeiling(database: Database, id: string): void {
  database.run("UPDATE agents SET awaitsCeiling = 0 WHERE id = ? AND awaitsCeiling = 1", id);
}

/** When the first agent with a network was paired, in milliseconds; null without one. */
export function oldestPairingAt(database: Database, network: string): number | null {
  const sql =
    "SELECT min(pairedAt) AS at FROM agents WHERE EXISTS (SELECT 1 FROM json_each(networks) WHERE value = ?)";
  return database.get<{ at: number | null }>(sql, network)?.at ?? null;
}

/** Every agent, paired or unpaired. */
export function listAgentsEver(database: Database): readonly AgentRow[] {
  return database.all<AgentRow>("SELECT * FROM agents ORDER BY id");
}
