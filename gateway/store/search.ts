/**
 * Finds the rows that a text names, for the operator's search: by id, order, address, transaction
 * hash or amount. Each question uses an index, so that a search among millions of rows takes
 * milliseconds; only the tables of people and servers are read whole. Reads only.
 */
import type { Payee } from "../../chains/accounts.ts";
import { unattributedOrderOf } from "./forgotten-addresses.ts";
import type { OutgoingRow } from "./rows.ts";
import type { Database } from "./store.ts";
import { currencyOfTransferSql } from "./transaction-rows.ts";

/** A record, and the field by which it was found. */
export interface FoundRecord {
  readonly id: string;
  readonly by:
    | "transactionId"
    | "tag"
    | "orderId"
    | "address"
    | "txHash"
    | "amount"
    | "payment page"
    | "invoice"
    | "invoice's page"
    | "event";
}

/** Somebody or something that is no record. */
export interface FoundNonRecord {
  readonly kind: "merchant" | "agent" | "key" | "callback" | "invoice";
  readonly id: string;
  readonly name: string; // the merchant's
  readonly by: string;
}

type Ids = readonly { readonly id: string }[];

const named = (by: FoundRecord["by"], ids: Ids): readonly FoundRecord[] =>
  ids.map(({ id }) => ({ id, by }));

/** An open transfer, which the index of open ones finds. */
const openTransfer = "operation IN ('withdraw', 'sweep', 'topup') AND status = 0";

/** The ids of transactions of any kind that fulfil a condition. */
const anyWhere = (condition: string): string =>
  `SELECT id FROM deposits WHERE ${condition} UNION ALL SELECT id FROM transfers WHERE ${condition}`;

/** Records by an id of their own: the transaction's, the payment page's, or an event's. */
export function recordsOfId(database: Database, text: string): readonly FoundRecord[] {
  const one = (sql: string): Ids => database.all<{ id: string }>(sql, text);
  return [
    ...named("transactionId", one(anyWhere("id = ?1"))),
    ...named("payment page", one("SELECT id FROM deposits WHERE payToken = ?")),
    ...named("invoice", one("SELECT id FROM deposits WHERE invoice = ? ORDER BY number")),
    ...named(
      "invoice's page",
      one(
        "SELECT d.id FROM invoices i JOIN deposits d ON d.invoice = i.id WHERE i.payToken = ? ORDER BY d.number",
      ),
    ),
    ...named(
      "event",
      one(
        "SELECT transactionId AS id FROM callbackEvents WHERE id = ? AND transactionId IS NOT NULL",
      ),
    ),
  ];
}

/** Letters that the beginning of an id has at least: fewer name too many records. */
const beginningMin = 6;

/** Records whose id begins with a text of lower-case letters and digits, oldest id first. */
export function recordsOfBeginning(
  database: Database,
  text: string,
  most: number,
): readonly FoundRecord[] {
  if (text.length < beginningMin || !/^[0-9a-z-]+$/.test(text)) return [];
  const sql = `${anyWhere("id > ?1 AND id < ?2")} ORDER BY id LIMIT ?3`;
  return named("transactionId", database.all(sql, text, `${text}~`, most));
}

/** Deposits of any merchant whose payers name this tag, newest first for each shared address. */
export function depositsOfTag(
  database: Database,
  tag: string,
  most: number,
): readonly FoundRecord[] {
  if (!/^\d{1,20}$/.test(tag)) return [];
  const owners = database.all<{ account: string }>(
    "SELECT DISTINCT account FROM accountOwners ORDER BY account",
  );
  return owners
    .flatMap(({ account }) => depositsOfPayee(database, { address: account, tag }, most))
    .map(({ id }) => ({ id, by: "tag" as const }))
    .slice(0, most);
}

/** Deposits and withdrawals of any merchant with this reference, newest first. */
export function recordsOfOrder(
  database: Database,
  orderId: string,
  most: number,
): readonly FoundRecord[] {
  // The unique indexes begin with the merchant, so it is named.
  const order = "merchant IN (SELECT id FROM merchants) AND orderId = ?1";
  const sql = `SELECT id, createdAt FROM deposits WHERE ${order} UNION ALL
    SELECT t.id, t.createdAt FROM transfers t WHERE t.id IN (SELECT id FROM withdrawals WHERE ${order}) ORDER BY createdAt DESC, id LIMIT ?2`;
  return named("orderId", database.all(sql, orderId, most));
}

/**
 * Records that an address pays, receives or is swept from, newest first; the address in its
 * canonical form. For a hot wallet this is what it received, since it pays everything.
 */
export function recordsOfAddress(
  database: Database,
  address: string,
  most: number,
): readonly FoundRecord[] {
  const sql = `SELECT id FROM (
      SELECT d.id, d.createdAt FROM addresses a JOIN deposits d ON d.id = a.request WHERE a.address = ?2
      UNION SELECT id, createdAt FROM transfers WHERE ${openTransfer} AND receiver = ?2
      UNION SELECT id, createdAt FROM transfers WHERE status <> 0 AND receiver = ?2
      UNION SELECT t.id, t.createdAt FROM sweeps s JOIN transfers t ON t.id = s.id WHERE s.address = ?2
      UNION SELECT d.id, d.createdAt FROM addresses f JOIN deposits d ON d.merchant = f.merchant
        AND d.orderId = ?1 || f.address WHERE f.address = ?2)
    ORDER BY createdAt DESC, id LIMIT ?3`;
  return named("address", database.all(sql, unattributedOrderOf(""), address, most));
}

/** Deposits with a tag at an address that they share, newest first. */
export function depositsOfPayee(
  database: Database,
  { address, tag }: Payee,
  most: number,
): readonly FoundRecord[] {
  const sql = `SELECT id FROM deposits INDEXED BY depositsByTag WHERE payTo <> address AND payTo = ? AND tag = ? ORDER BY createdAt DESC, id LIMIT ?`;
  return named("address", database.all(sql, address, tag, most));
}

/**
 * Records that a transaction of the chain pays: signed here, paid in, or credited by an operator.
 */
export function recordsOfTxHash(
  database: Database,
  { networks, txHash }: { readonly networks: readonly string[]; readonly txHash: string },
): readonly FoundRecord[] {
  const chains = JSON.stringify(networks);
  const sql = `SELECT transactionId AS id FROM signatures WHERE txHash = ?
    UNION SELECT transactionId FROM payments WHERE network IN (SELECT value FROM json_each(?)) AND txHash = ?
    UNION SELECT transactionId FROM gonePayments WHERE network IN (SELECT value FROM json_each(?)) AND txHash = ?
    UNION SELECT transactionId FROM depositCredits WHERE network IN (SELECT value FROM json_each(?)) AND txHash = ?`;
  return named("txHash", database.all(sql, txHash, chains, txHash, chains, txHash, chains, txHash));
}

/** Final outgoing transactions of a hot wallet with this hash that nobody signed here. */
export function foreignOfTxHash(database: Database, txHash: string): readonly OutgoingRow[] {
  const sql = `SELECT * FROM outgoing WHERE txHash = ?
    AND NOT EXISTS (SELECT 1 FROM signatures s WHERE s.txHash = outgoing.txHash AND s.account = outgoing.account)`;
  return database.all<OutgoingRow>(sql, txHash);
}

/**
 * Records of a currency with exactly this amount, asked for or paid in one payment, newest first.
 */
export function recordsOfAmount(
  database: Database,
  { currency, units }: { readonly currency: string; readonly units: bigint },
  most: number,
): readonly FoundRecord[] {
  const sql = `SELECT id FROM (
      SELECT id, createdAt FROM deposits WHERE status = 0 AND units = ?1 AND currency = ?2
      UNION SELECT id, createdAt FROM deposits WHERE status <> 0 AND units = ?1 AND currency = ?2
      UNION SELECT t.id, t.createdAt FROM transfers t LEFT JOIN topUps u ON u.id = t.id
        WHERE ${openTransfer} AND t.units = ?1 AND ${currencyOfTransferSql} = ?2
      UNION SELECT t.id, t.createdAt FROM transfers t LEFT JOIN topUps u ON u.id = t.id
        WHERE t.status <> 0 AND t.units = ?1 AND ${currencyOfTransferSql} = ?2
      UNION SELECT d.id, d.createdAt FROM payments p JOIN deposits d ON d.id = p.transactionId
        WHERE p.units = ?1 AND p.currency = ?2)
    ORDER BY createdAt DESC, id LIMIT ?3`;
  return named("amount", database.all(sql, units.toString(), currency, most));
}

const ofMerchant = "JOIN merchants m ON m.id = merchant";

/**
 * Merchants, agents, keys and callback targets that a text names; a merchant by part of its name.
 */
export function findNamedNonRecords(
  database: Database,
  text: string,
  most: number,
): readonly FoundNonRecord[] {
  const all = (kind: FoundNonRecord["kind"], by: string, sql: string): readonly FoundNonRecord[] =>
    database
      .all<{ id: string; name: string }>(`${sql} LIMIT ?`, text, most)
      .map((row) => ({ kind, by, ...row }));
  const isNamed = "id <> ?1 AND instr(lower(name), lower(?1)) > 0";
  return [
    ...all("merchant", "merchantId", "SELECT id, name FROM merchants WHERE id = ?"),
    ...all("merchant", "name", `SELECT id, name FROM merchants WHERE ${isNamed} ORDER BY name, id`),
    ...all("agent", "agentId", `SELECT a.id, m.name FROM agents a ${ofMerchant} WHERE a.id = ?`),
    ...all("key", "keyId", `SELECT k.id, m.name FROM keys k ${ofMerchant} WHERE k.id = ?`),
    ...all(
      "callback",
      "callbackId",
      `SELECT c.id, m.name FROM callbackTargets c ${ofMerchant} WHERE c.id = ?`,
    ),
    ...all(
      "invoice",
      "invoice",
      `SELECT i.id, m.name FROM invoices i ${ofMerchant} WHERE i.id = ?`,
    ),
  ];
}

/** Agents whose hot wallet, or first deposit address, an address is; in its canonical form. */
export function agentsOfAddress(database: Database, address: string): readonly FoundNonRecord[] {
  const sql = `SELECT a.id, m.name FROM agents a ${ofMerchant} WHERE instr(a.accounts, ?) > 0`;
  const rows = database.all<{ id: string; name: string }>(sql, `"${address}"`);
  return rows.map((row) => ({ kind: "agent" as const, by: "address", ...row }));
}
