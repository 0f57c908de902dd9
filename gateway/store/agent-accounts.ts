/**
 * The accounts of a paired wallet, as a JSON list in its agent's row: of each family one that pays
 * and one that addresses for deposits are derived from. An account belongs to one merchant for
 * good.
 */
import { familyOf } from "../../chains/families.ts";
import type { AgentRow } from "./rows.ts";
import type { Database } from "./store.ts";

/**
 * One account. `firstAddress` is the account's own address, or that for deposits at index 0: an
 * account for deposits may come in many texts, and each gives this one address.
 * @public
 */
export interface AgentAccount {
  readonly family: string;
  readonly purpose: "hot" | "deposits";
  readonly id: string;
  readonly firstAddress: string;
}

type WithAccounts = Pick<AgentRow, "accounts">;

/** @public */
export function accountsOf({ accounts }: WithAccounts): readonly AgentAccount[] {
  return JSON.parse(accounts) as readonly AgentAccount[];
}

/**
 * The address that pays on a network; "" where the agent has no account of its family.
 * @public
 */
export function hotAddressOn(agent: WithAccounts, network: string): string {
  return accountOn(agent, network, "hot")?.id ?? "";
}

/**
 * The text that addresses for deposits on a network are derived from; "" where the agent has none.
 * @public
 */
export function depositsIdOn(agent: WithAccounts, network: string): string {
  return accountOn(agent, network, "deposits")?.id ?? "";
}

/**
 * The account that addresses for deposits on a network are derived from.
 * @public
 */
export function depositsAccountOn(agent: WithAccounts, network: string): AgentAccount | undefined {
  return accountOn(agent, network, "deposits");
}

function accountOn(agent: WithAccounts, network: string, purpose: AgentAccount["purpose"]): AgentAccount | undefined {
  const { name } = familyOf(network);
  return accountsOf(agent).find((one) => one.family === name && one.purpose === purpose);
}

/**
 * Every address that pays, whatever the family.
 * @public
 */
export function hotAddresses(agent: WithAccounts): readonly string[] {
  return accountsOf(agent).flatMap(({ purpose, id }) => (purpose === "hot" ? [id] : []));
}

/**
 * Whether another merchant was ever paired with one of these accounts. The case of letters is not
 * looked at: some families have addresses in either.
 * @public
 */
export function isAccountOfOtherAgents(database: Database, merchant: string, accounts: readonly AgentAccount[]): boolean {
  const sql = `SELECT 1 FROM agents, json_each(agents.accounts) AS account WHERE agents.merchant <> ?
    AND (lower(json_extract(account.value, '$.id')) = lower(?) OR lower(json_extract(account.value, '$.firstAddress')) = lower(?))
    LIMIT 1`;
  return accounts.some(({ id, firstAddress }) => database.get(sql, merchant, id, firstAddress) !== undefined);
}
