/**
 * Table `receivingKeys`: the account of each merchant who receives without an agent, and the next
 * place in an account for a deposit address. An account belongs to one merchant for good, and no
 * place in it is ever used twice.
 */
import type { ReceivingKeyRow } from "./rows.ts";
import type { Database } from "./store.ts";

/**
 * Keeps a merchant's account, from its first address that nobody was given.
 * @public
 */
export function addReceivingKey(database: Database, key: Omit<ReceivingKeyRow, "nextDepositIndex">): void {
  database.run(
    "INSERT INTO receivingKeys (merchant, xpub, firstDepositAddress, nextDepositIndex, createdAt) VALUES (?, ?, ?, 0, ?)",
    key.merchant,
    key.xpub,
    key.firstDepositAddress,
    key.createdAt,
  );
}

/** @public */
export function receivingKeyOf(database: Database, merchant: string): ReceivingKeyRow | undefined {
  return database.get<ReceivingKeyRow>("SELECT * FROM receivingKeys WHERE merchant = ?", merchant);
}

/**
 * Whether another merchant receives under this account, with an agent or without, now or before.
 * @public
 */
export function isAccountOfOthers(
  database: Database,
  merchant: string,
  account: { readonly xpub: string; readonly firstDepositAddress: string },
): boolean {
  const others = database.get(
    `SELECT 1 FROM agents WHERE merchant <> ? AND (depositXpub = ? OR firstDepositAddress = ?)
     UNION ALL SELECT 1 FROM receivingKeys WHERE merchant <> ? AND (xpub = ? OR firstDepositAddress = ?) LIMIT 1`,
    ...[merchant, account.xpub, account.firstDepositAddress],
    ...[merchant, account.xpub, account.firstDepositAddress],
  );
  return others !== undefined;
}

/**
 * The first place in an account that no deposit address was taken from, whether an agent or the
 * merchant alone brought the account.
 * @public
 */
export function nextDepositIndexUnder(database: Database, firstDepositAddress: string): number {
  const sql = `SELECT max(next) AS next FROM (
    SELECT nextDepositIndex AS next FROM agents WHERE firstDepositAddress = ?
    UNION ALL SELECT nextDepositIndex FROM receivingKeys WHERE firstDepositAddress = ?)`;
  return database.get<{ next: number | null }>(sql, firstDepositAddress, firstDepositAddress)?.next ?? 0;
}

/**
 * Says that every place below `next` is taken.
 * @public
 */
export function moveReceivingKey(database: Database, merchant: string, next: number): void {
  database.run("UPDATE receivingKeys SET nextDepositIndex = ? WHERE merchant = ?", next, merchant);
}
