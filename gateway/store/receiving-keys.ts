/**
 * Table `receivingKeys`: the accounts of each merchant that receives without an agent, one for each
 * family, with the next free index for a deposit address. An account belongs to one merchant
 * permanently, and no index of it is used twice.
 */
import { type AgentAccount, isAccountOfOtherAgents } from "./agent-accounts.ts";
import type { ReceivingKeyRow } from "./rows.ts";
import type { Database } from "./store.ts";

/** Keeps a merchant's account, beginning at index 0. */
export function addReceivingKey(
  database: Database,
  key: Omit<ReceivingKeyRow, "nextDepositIndex">,
): void {
  database.run(
    "INSERT INTO receivingKeys (merchant, family, xpub, firstDepositAddress, nextDepositIndex, createdAt) VALUES (?, ?, ?, ?, 0, ?)",
    key.merchant,
    key.family,
    key.xpub,
    key.firstDepositAddress,
    key.createdAt,
  );
}

export function receivingKeyOf(
  database: Database,
  merchant: string,
  family: string,
): ReceivingKeyRow | undefined {
  return database.get<ReceivingKeyRow>(
    "SELECT * FROM receivingKeys WHERE merchant = ? AND family = ?",
    merchant,
    family,
  );
}

/** The accounts of all merchants that receive without an agent in a family. */
export function listReceivingAccounts(
  database: Database,
  family: string,
): readonly {
  readonly id: string;
  readonly firstDepositAddress: string;
  readonly merchant: string;
}[] {
  return database
    .all<ReceivingKeyRow>("SELECT * FROM receivingKeys WHERE family = ? ORDER BY merchant", family)
    .map(({ xpub: id, firstDepositAddress, merchant }) => ({ id, firstDepositAddress, merchant }));
}

/** A number that rises with each account that is added; none is ever taken away. */
export function receivingKeysVersion(database: Database): number {
  return (
    database.get<{ newest: number | null }>("SELECT max(rowid) AS newest FROM receivingKeys")
      ?.newest ?? 0
  );
}

/** True if the merchant was created to receive, in any family. */
export function hasReceivingKey(database: Database, merchant: string): boolean {
  return (
    database.get("SELECT 1 FROM receivingKeys WHERE merchant = ? LIMIT 1", merchant) !== undefined
  );
}

/**
 * True if another merchant has or had one of these accounts, with or without an agent, or if the
 * address of a hot wallet is a deposit address here: its payments would be payouts' money.
 */
export function isAccountOfOthers(
  database: Database,
  merchant: string,
  accounts: readonly AgentAccount[],
): boolean {
  const sql =
    "SELECT 1 FROM receivingKeys WHERE merchant <> ? AND (xpub = ? OR firstDepositAddress = ?) LIMIT 1";
  const receives = accounts.some(
    ({ id, firstAddress }) => database.get(sql, merchant, id, firstAddress) !== undefined,
  );
  const isDeposit = accounts.some(
    ({ purpose, id }) =>
      purpose === "hot" &&
      database.get("SELECT 1 FROM addresses WHERE address = ?", id) !== undefined,
  );
  return receives || isDeposit || isAccountOfOtherAgents(database, merchant, accounts);
}

/**
 * The first index of an account that no deposit address has used, whether an agent or only the
 * merchant brought the account. An account belongs to one merchant permanently, so no other
 * merchant's agents are read.
 */
export function nextDepositIndexUnder(
  database: Database,
  merchant: string,
  firstDepositAddress: string,
): number {
  const sql = `SELECT max(next) AS next FROM (
    SELECT nextDepositIndex AS next FROM agents INDEXED BY agentsByMerchant CROSS JOIN json_each(agents.accounts) AS account
      WHERE merchant = ? AND json_extract(account.value, '$.firstAddress') = ?
        AND json_extract(account.value, '$.purpose') = 'deposits'
    UNION ALL SELECT nextDepositIndex FROM receivingKeys WHERE firstDepositAddress = ?)`;
  return (
    database.get<{ next: number | null }>(sql, merchant, firstDepositAddress, firstDepositAddress)
      ?.next ?? 0
  );
}

/** Records that every index below `next` is used. */
export function moveReceivingKey(
  database: Database,
  { merchant, family }: Pick<ReceivingKeyRow, "merchant" | "family">,
  next: number,
): void {
  database.run(
    "UPDATE receivingKeys SET nextDepositIndex = ? WHERE merchant = ? AND family = ?",
    next,
    merchant,
    family,
  );
}

export function listReceivingKeys(database: Database): readonly ReceivingKeyRow[] {
  return database.all<ReceivingKeyRow>("SELECT * FROM receivingKeys ORDER BY merchant, family");
}
