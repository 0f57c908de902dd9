/**
 * The hot wallets whose chain the running gateway has read up to a head that it asked for after its
 * start. Before that, what both the database and the agent's ledger may have forgotten is not
 * known, so no job of the wallet gets a place.
 */
import { hotWalletAddressOn } from "./agent-accounts.ts";
import type { AgentRow, TransferRow } from "./rows.ts";
import type { Database } from "./store.ts";

/** A hot wallet on one network. */
export interface WalletOnNetwork {
  readonly network: string;
  readonly account: string;
}

/** Keeps that the chain was read far enough for a wallet in this run. Harmless to call twice. */
export function markWalletChainRead(
  database: Database,
  { network, account }: WalletOnNetwork,
  run: string,
): void {
  keep(database, { network, account }, run, "");
}

/** Keeps the reason why a wallet's chain is not read far enough: words for operators. */
export function keepCatchUpTrouble(
  database: Database,
  { network, account }: WalletOnNetwork,
  trouble: string,
): void {
  keep(database, { network, account }, "", trouble);
}

function keep(
  database: Database,
  { network, account }: WalletOnNetwork,
  run: string,
  trouble: string,
): void {
  database.run(
    `INSERT INTO levels (network, account, run, trouble) VALUES (?, ?, ?, ?)
     ON CONFLICT (network, account) DO UPDATE SET run = excluded.run, trouble = excluded.trouble`,
    ...[network, account, run, trouble],
  );
}

export function isWalletChainRead(
  database: Database,
  { network, account }: WalletOnNetwork,
  run: string,
): boolean {
  const sql = "SELECT 1 FROM levels WHERE network = ? AND account = ? AND run = ?";
  return database.get(sql, network, account, run) !== undefined;
}

/** Reasons why an order's job gets no position, apart from its agent's own state. */
interface PlacingState {
  readonly isHeld: 0 | 1; // nothing is paid in its currency (currency-holds.ts)
  readonly isLevel: 0 | 1;
  readonly hasUnexplained: 0 | 1; // its wallet has transactions that nothing explains (outgoing-holds.ts)
}

/** Reads all of it in one statement. */
export function readPlacingObstacles(
  database: Database,
  { network, account }: WalletOnNetwork,
  { currency, merchant }: Pick<TransferRow, "currency" | "merchant">,
  run: string,
): PlacingState {
  const state = database.get<PlacingState>(
    `SELECT EXISTS (SELECT 1 FROM currencyHolds WHERE currency = ? AND merchant IN (?, '')) AS isHeld,
       EXISTS (SELECT 1 FROM levels WHERE network = ? AND account = ? AND run = ?) AS isLevel,
       EXISTS (SELECT 1 FROM unexplained WHERE account = ? AND network = ?) AS hasUnexplained`,
    ...[currency, merchant, network, account, run, account, network],
  );
  return state ?? { isHeld: 1, isLevel: 0, hasUnexplained: 1 };
}

/** Why a wallet's chain is not read far enough; "" without a reason of its own. */
export function readCatchUpTrouble(
  database: Database,
  { network, account }: WalletOnNetwork,
): string {
  const sql = "SELECT trouble FROM levels WHERE network = ? AND account = ?";
  return database.get<{ trouble: string }>(sql, network, account)?.trouble ?? "";
}

/** Orders of one network whose jobs wait for the reader of its chain. */
export interface WaitingForReader {
  readonly network: string;
  readonly count: number;
  readonly oldestAt: number; // Unix milliseconds
  readonly trouble: string; // of the first wallet that has one; "" for none
}

type WaitingAgent = Pick<AgentRow, "id" | "accounts" | "networks"> & {
  readonly network: string;
  readonly count: number;
  readonly oldestAt: number;
};

/**
 * The networks with jobs that wait for the reader in this run, though their agents have caught up.
 * An order that is held is not among them.
 */
export function listWaitingForReader(database: Database, run: string): readonly WaitingForReader[] {
  const rows = database.all<WaitingAgent>(
    `SELECT a.id, a.accounts, a.networks, t.network, count(*) AS count, min(t.createdAt) AS oldestAt
     FROM jobs j INDEXED BY jobsWaiting CROSS JOIN transfers t ON t.id = j.transactionId
       CROSS JOIN agents a ON a.id = j.agent
     WHERE j.sequence < 0 AND j.answeredAt IS NULL AND t.status = 0 AND a.caughtUp = ?
     GROUP BY a.id, t.network ORDER BY t.network, a.id`,
    run,
  );
  const found = new Map<string, WaitingForReader>();
  for (const { network, count, oldestAt, ...agent } of rows) {
    const wallet = { network, account: hotWalletAddressOn(agent, network) };
    if (isWalletChainRead(database, wallet, run)) continue;
    const before = found.get(network);
    found.set(network, {
      network,
      count: count + (before?.count ?? 0),
      oldestAt: Math.min(oldestAt, before?.oldestAt ?? oldestAt),
      trouble: before?.trouble || readCatchUpTrouble(database, wallet),
    });
  }
  return [...found.values()];
}
