/** Merchants: made once by the operator, never removed. */
import type { MerchantRow } from "./rows.ts";
import type { Database, Store } from "./store.ts";

const oneMerchant = "SELECT * FROM merchants WHERE id = ?";

export function readMerchant(database: Database, id: string): MerchantRow | undefined {
  return database.get<MerchantRow>(oneMerchant, id);
}

/** Like `readMerchant`, for a request. */
export function readCachedMerchant(
  { remembered }: Pick<Store, "remembered">,
  id: string,
): MerchantRow | undefined {
  return remembered.read<MerchantRow>(oneMerchant, id);
}

/** Every merchant, by name. */
export function merchantNames(database: Database): readonly Pick<MerchantRow, "id" | "name">[] {
  return database.all("SELECT id, name FROM merchants ORDER BY name, id");
}

/** When the first merchant was made; undefined before. */
export function oldestMerchantAt(database: Database): number | undefined {
  const sql = "SELECT min(createdAt) AS at FROM merchants";
  return database.get<{ at: number | null }>(sql)?.at ?? undefined;
}

/** A merchant's settings for the payment page. */
export type MerchantPage = Pick<MerchantRow, "shownName" | "contact" | "origins">;

export function setMerchantPage(
  database: Database,
  id: string,
  { shownName, contact, origins }: MerchantPage,
): void {
  const sql = "UPDATE merchants SET shownName = ?, contact = ?, origins = ? WHERE id = ?";
  database.run(sql, shownName, contact, origins, id);
}

/** Must not be called twice, because the id is the table's key. */
export function insertMerchant(
  database: Database,
  {
    id,
    name,
    language,
    createdAt,
  }: Omit<MerchantRow, "disabledAt" | "keepsEvents" | keyof MerchantPage>,
): void {
  const sql = "INSERT INTO merchants (id, name, language, createdAt) VALUES (?, ?, ?, ?)";
  database.run(sql, id, name, language, createdAt);
}

/**
 * Keeps the merchant's events from now on, so that the shop can ask for them. Harmless to call
 * twice.
 */
export function startKeepingEvents(database: Database, id: string): void {
  database.run("UPDATE merchants SET keepsEvents = 1 WHERE id = ? AND keepsEvents = 0", id);
}

export function keepsEvents(database: Database, id: string): boolean {
  return database.get("SELECT 1 FROM merchants WHERE id = ? AND keepsEvents = 1", id) !== undefined;
}

/** A merchant with its keys, agent, accounts and counts. */
export interface MerchantSummary extends MerchantRow {
  readonly goodKeys: number; // neither revoked nor expired
  readonly agent: string | null; // the paired agent
  readonly receives: string; // JSON: accounts by family, if the merchant only receives
  readonly transactions: number;
  readonly open: number; // number of pending transactions
  readonly newestAt: number | null;
}

const columns = `merchants.*,
  (SELECT count(*) FROM keys WHERE merchant = merchants.id AND revokedAt IS NULL AND (expiresAt IS NULL OR expiresAt > ?)) AS goodKeys,
  (SELECT id FROM agents WHERE merchant = merchants.id AND unpairedAt IS NULL) AS agent,
  (SELECT json_group_object(family, xpub) FROM receivingKeys WHERE merchant = merchants.id) AS receives,
  (SELECT count(*) FROM deposits d WHERE d.merchant = merchants.id) +
    (SELECT count(*) FROM transfers t WHERE t.merchant = merchants.id) AS transactions,
  (SELECT count(*) FROM deposits d WHERE d.merchant = merchants.id AND d.status = 0) +
    (SELECT count(*) FROM transfers t WHERE t.merchant = merchants.id AND t.status = 0) AS open,
  (SELECT max(createdAt) FROM (SELECT createdAt FROM deposits d WHERE d.merchant = merchants.id
    UNION ALL SELECT createdAt FROM transfers t WHERE t.merchant = merchants.id)) AS newestAt`;

/** Every merchant, by name. */
export function merchantSummaries(database: Database, nowMs: number): readonly MerchantSummary[] {
  return database.all<MerchantSummary>(`SELECT ${columns} FROM merchants ORDER BY name, id`, nowMs);
}

export function merchantSummary(
  database: Database,
  id: string,
  nowMs: number,
): MerchantSummary | undefined {
  return database.get<MerchantSummary>(`SELECT ${columns} FROM merchants WHERE id = ?`, nowMs, id);
}

/**
 * Disables a merchant since `at`, or enables it with null. A merchant that is disabled keeps its
 * earlier time.
 */
export function setMerchantDisabled(database: Database, id: string, at: number | null): void {
  const sql = at === null ? "UPDATE merchants SET disabledAt = NULL WHERE id = ?" : disable;
  if (at === null) database.run(sql, id);
  else database.run(sql, at, id);
}

const disable = "UPDATE merchants SET disabledAt = ? WHERE id = ? AND disabledAt IS NULL";
