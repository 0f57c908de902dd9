/**
 * The accounts of a paired wallet, as a JSON list in the agent's row: for each family a hot wallet
 * and an account that deposit addresses are derived from. An account belongs to one merchant
 * permanently.
 */
import { familyOf } from "../../chains/families.ts";
import { createCachedJsonParser } from "./parsed-text.ts";
import type { AgentRow } from "./rows.ts";
import type { Database } from "./store.ts";

/**
 * One account. `firstAddress` is the hot wallet's address, or the deposit address at index 0.
 * Several texts can name the same deposit account, and each gives the same first address.
 */
export interface AgentAccount {
  readonly family: string;
  readonly purpose: "hot" | "deposits";
  readonly id: string;
  readonly firstAddress: string;
}

type WithAccounts = Pick<AgentRow, "accounts">;

const parsedAccounts = createCachedJsonParser<readonly AgentAccount[]>();

export function accountsOf({ accounts }: WithAccounts): readonly AgentAccount[] {
  return parsedAccounts(accounts);
}

/**
 * The hot wallet's address on a network; "" if the agent has no account of the network's family.
 */
export function hotWalletAddressOn(agent: WithAccounts, network: string): string {
  return accountOn(agent, network, "hot")?.id ?? "";
}

/** The text that deposit addresses on a network are derived from; "" if the agent has none. */
export function depositAccountIdOn(agent: WithAccounts, network: string): string {
  return accountOn(agent, network, "deposits")?.id ?? "";
}

/** The account that deposit addresses on a network are derived from. */
export function depositAccountOn(agent: WithAccounts, network: string): AgentAccount | undefined {
  return accountOn(agent, network, "deposits");
}

function accountOn(
  agent: WithAccounts,
  network: string,
  purpose: AgentAccount["purpose"],
): AgentAccount | undefined {
  const { name } = familyOf(network).addressSpace;
  return accountsOf(agent).find((one) => one.family === name && one.purpose === purpose);
}

/** The addresses of all hot wallets of an agent, in every family. */
export function hotWalletAddresses(agent: WithAccounts): readonly string[] {
  return accountsOf(agent).flatMap(({ purpose, id }) => (purpose === "hot" ? [id] : []));
}

/**
 * True if another merchant was ever paired with one of these accounts. Compares without the case of
 * letters, because some families write addresses in either case.
 */
export function isAccountOfOtherAgents(
  database: Database,
  merchant: string,
  accounts: readonly AgentAccount[],
): boolean {
  const sql = `SELECT 1 FROM agents, json_each(agents.accounts) AS account WHERE agents.merchant <> ?
    AND (lower(json_extract(account.value, '$.id')) = lower(?) OR lower(json_extract(account.value, '$.firstAddress')) = lower(?))
    LIMIT 1`;
  return accounts.some(
    ({ id, firstAddress }) => database.get(sql, merchant, id, firstAddress) !== undefined,
  );
}
