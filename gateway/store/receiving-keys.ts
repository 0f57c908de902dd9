/**
 * Table `receivingKeys`: the accounts of each merchant who receives without an agent, one a family,
 * and the next place in an account for a deposit address. An account belongs to one merchant for
 * good, and no place in it is ever used twice.
 */
import { type AgentAccount, isAccountOfOtherAgents } from "./agent-accounts.ts";
import type { ReceivingKeyRow } from "./rows.ts";
import type { Database } from "./store.ts";

/**
 * Keeps a merchant's account, from its first address that nobody was given.
 * @public
 */
export function addReceivingKey(database: Database, key: Omit<ReceivingKeyRow, "nextDepositIndex">): void {
  database.run(
    "INSERT INTO receivingKeys (merchant, family, xpub, firstDepositAddress, nextDepositIndex, createdAt) VALUES (?, ?, ?, ?, 0, ?)",
    key.merchant,
    key.family,
    key.xpub,
    key.firstDepositAddress,
    key.createdAt,
  );
}

/** @public */
export function receivingKeyOf(database: Database, merchant: string, family: string): ReceivingKeyRow | undefined {
  return database.get<ReceivingKeyRow>("SELECT * FROM receivingKeys WHERE merchant = ? AND family = ?", merchant, family);
}

/**
 * The accounts of every merchant who receives without an agent in a family, each with its first
 * place that no deposit address was taken from.
 * @public
 */
export function listReceivingAccounts(
  database: Database,
  family: string,
): readonly { readonly id: string; readonly next: number }[] {
  return database
    .all<ReceivingKeyRow>("SELECT * FROM receivingKeys WHERE family = ? ORDER BY merchant", family)
    .map(({ xpub: id, firstDepositAddress }) => ({ id, next: nextDepositIndexUnder(database, firstDepositAddress) }));
}

/**
 * Whether the merchant was created to receive, in whatever family.
 * @public
 */
export function hasReceivingKey(database: Database, merchant: string): boolean {
  return database.get("SELECT 1 FROM receivingKeys WHERE merchant = ? LIMIT 1", merchant) !== undefined;
}

/**
 * Whether another merchant has one of these accounts, with an agent or without, now or before.
 * @public
 */
export function isAccountOfOthers(database: Database, merchant: string, accounts: readonly AgentAccount[]): boolean {
  const sql = "SELECT 1 FROM receivingKeys WHERE merchant <> ? AND (xpub = ? OR firstDepositAddress = ?) LIMIT 1";
  const receives = accounts.some(({ id, firstAddress }) => database.get(sql, merchant, id, firstAddress) !== undefined);
  return receives || isAccountOfOtherAgents(database, merchant, accounts);
}

/**
 * The first place in an account that no deposit address was taken from, whether an agent or the
 * merchant alone brought the account.
 * @public
 */
export function nextDepositIndexUnder(database: Database, firstDepositAddress: string): number {
  const sql = `SELECT max(next) AS next FROM (
    SELECT nextDepositIndex AS next FROM agents, json_each(agents.accounts) AS account
      WHERE json_extract(account.value, '$.firstAddress') = ? AND json_extract(account.value, '$.purpose') = 'deposits'
    UNION ALL SELECT nextDepositIndex FROM receivingKeys WHERE firstDepositAddress = ?)`;
  return database.get<{ next: number | null }>(sql, firstDepositAddress, firstDepositAddress)?.next ?? 0;
}

/**
 * Says that every place below `next` is taken.
 * @public
 */
export function moveReceivingKey(
  database: Database,
  { merchant, family }: Pick<ReceivingKeyRow, "merchant" | "family">,
  next: number,
): void {
  database.run("UPDATE receivingKeys SET nextDepositIndex = ? WHERE merchant = ? AND family = ?", next, merchant, family);
}

/** @public */
export function listReceivingKeys(database: Database): readonly ReceivingKeyRow[] {
  return database.all<ReceivingKeyRow>("SELECT * FROM receivingKeys ORDER BY merchant, family");
}
