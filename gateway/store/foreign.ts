/**
 * Theft on chains without a count of transactions: what each agent's ledger knows of transactions
 * that nothing here signed, and the networks on which it signs no first attempt because of them, or
 * by its operator's order.
 */
import { familyOf } from "../../chains/families.ts";
import type { ForeignTransaction } from "../../protocol/messages.ts";
import { foreignPerAckMax } from "../../protocol/payloads.ts";
import { hotWalletAddressOn } from "./agent-accounts.ts";
import { acceptedDifferenceBlocksSql } from "./books.ts";
import type { AgentRow } from "./rows.ts";
import type { Database } from "./store.ts";

/**
 * The final transactions of an agent's hot wallets that nothing explains and that its ledger does
 * not know, at most as many as one acknowledgement can name, the newest first. Explained ones are
 * those that an operator assigned to an order or released from all orders, and those before a note
 * in the books. On a chain that counts the ledger itself finds a foreign one, by the count.
 */
export function listForeignTransactions(
  database: Database,
  agent: Pick<AgentRow, "id" | "accounts" | "networks">,
): readonly ForeignTransaction[] {
  const networks = (JSON.parse(agent.networks) as readonly string[]).filter(
    (network) => !familyOf(network).slots.isCounted,
  );
  return networks
    .flatMap((network) =>
      database.all<ForeignTransaction>(
        `SELECT u.network, u.account, u.txHash FROM unexplained u WHERE u.account = ? AND u.network = ? AND u.final = 1
           AND NOT EXISTS (SELECT 1 FROM foreignTold f WHERE f.agent = ? AND f.network = u.network AND f.txHash = u.txHash)
           AND NOT EXISTS (SELECT 1 FROM assignedPayments a WHERE a.txHash = u.txHash AND a.account = u.account)
           AND NOT EXISTS (SELECT 1 FROM releasedOrders r
             WHERE r.account = u.account AND r.txHash = u.txHash AND r.transactionId = '')
           AND NOT EXISTS (SELECT 1 FROM (${acceptedDifferenceBlocksSql("u.account", "u.network")}) e WHERE e.block >= u.block)
         ORDER BY u.block DESC, u.txHash LIMIT ${foreignPerAckMax}`,
        ...[hotWalletAddressOn(agent, network), network, agent.id],
      ),
    )
    .slice(0, foreignPerAckMax);
}

/** Keeps that an agent's ledger knows these transactions. Harmless to call twice. */
export function keepForeignTold(
  database: Database,
  agent: string,
  network: string,
  txHashes: readonly string[],
  nowMs: number,
): void {
  const sql = "INSERT OR IGNORE INTO foreignTold (agent, network, txHash, at) VALUES (?, ?, ?, ?)";
  for (const txHash of txHashes) database.run(sql, agent, network, txHash, nowMs);
}

/** Keeps that an agent signs no first attempt on a network since `at`; null: it does again. */
export function keepNetworkStop(
  database: Database,
  agent: string,
  network: string,
  at: number | null,
): void {
  if (at === null)
    database.run("DELETE FROM networkStops WHERE agent = ? AND network = ?", agent, network);
  else
    database.run(
      "INSERT OR IGNORE INTO networkStops (agent, network, at) VALUES (?, ?, ?)",
      agent,
      network,
      at,
    );
}

/** Forgets the stops of an agent, which tells those that hold of its recovered ledger. */
export function forgetNetworkStops(database: Database, agent: string): void {
  database.run("DELETE FROM networkStops WHERE agent = ?", agent);
}

/** A network on which a paired agent signs no first attempt. */
export interface NetworkStop {
  readonly agent: string;
  readonly merchant: string; // its name
  readonly network: string;
  readonly at: number; // Unix milliseconds, by the agent's ledger
}

/** The stops of all paired agents, the oldest first. */
export function listNetworkStops(database: Database, most: number): readonly NetworkStop[] {
  return database.all<NetworkStop>(
    `SELECT s.agent, m.name AS merchant, s.network, s.at FROM networkStops s
       JOIN agents a ON a.id = s.agent AND a.unpairedAt IS NULL JOIN merchants m ON m.id = a.merchant
     ORDER BY s.at, s.agent, s.network LIMIT ?`,
    most,
  );
}

/**
 * Has each foreign transaction told to an agent again. Harmless, because its ledger knows the told
 * ones.
 */
export function forgetForeignTold(database: Database, agent: string): void {
  database.run("DELETE FROM foreignTold WHERE agent = ?", agent);
}
