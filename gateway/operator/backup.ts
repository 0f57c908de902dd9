/**
 * `backup`: copies the database while the gateway runs, or checks a kept copy; and the text for the
 * operator.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { AgentError } from "../../base/fault.ts";
import { checkCopy, copyStore, type StoreCopy } from "../store/copy.ts";
import type { Store } from "../store/store.ts";

/**
 * Copies the database to `file`.
 * @throws AgentError GATEWAY_FILE_EXISTS, also for an existing file unless `overwrite`;
 * GATEWAY_BACKUP_DAMAGED
 */
export function backUp(store: Store, file: string, nowMs: number, overwrite: boolean): StoreCopy {
  const path = resolve(file);
  if (existsSync(path) && !overwrite)
    throw new AgentError(
      "GATEWAY_FILE_EXISTS",
      "none",
      `${path} is there already; --yes replaces it`,
      { path },
    );
  return copyStore(store.database, path, nowMs);
}

/**
 * Reads all of a copy. With a key's fingerprint, the copy must belong to that key.
 * @throws AgentError GATEWAY_BACKUP_DAMAGED, GATEWAY_STORE_VERSION, GATEWAY_KEY_OTHER
 */
export function checkBackup(file: string, fingerprint: string | null): StoreCopy {
  const path = resolve(file);
  const copy = checkCopy(path);
  if (fingerprint === null || copy.gatewayKey === fingerprint) return copy;
  throw new AgentError(
    "GATEWAY_KEY_OTHER",
    "none",
    `${path} belongs to the gateway key ${copy.gatewayKey}, this one is ${fingerprint}`,
    {
      path,
      found: copy.gatewayKey,
      expected: fingerprint,
    },
  );
}

/**
 * The reason why a file that reads well is no backup: `backup` did not make it, so the newest
 * records may stand in a write-ahead file that was not copied. "" for a backup.
 */
export function copyProblem(copy: StoreCopy): string {
  if (copy.copiedAt !== 0) return "";
  return "backup did not make this file: a copy by other means may lack the newest records";
}

/** The lines about a copy, for an operator; no newline at the end. */
export function describeCopy(file: string, copy: StoreCopy): string {
  const when =
    copy.copiedAt === 0 ? "not a copy that backup made" : new Date(copy.copiedAt).toISOString();
  const rows = [
    ["file", resolve(file)],
    ["made", when],
    ["schema", String(copy.schema)],
    ["key", copy.gatewayKey],
    [
      "rows",
      `${copy.merchants} merchants, ${copy.transactions} transactions, ${copy.agents.length} agents`,
    ],
    ...copy.agents.map(({ id, ledgerEpoch, headSeq }) => [
      "agent",
      `${id}, epoch ${ledgerEpoch}, ledger up to record ${headSeq}`,
    ]),
  ];
  return rows.map(([name = "", text = ""]) => `  ${name.padEnd(9)}${text}`).join("\n");
}

/** The advice for an operator who has just made a copy; no newline at the end. */
export function keepWords(keyFile: string, configFile: string): string {
  return [
    "  - not in it: the gateway's key and its configuration. Keep a copy of each apart from this file:",
    `    ${keyFile}`,
    `    ${resolve(configFile)}`,
    "  - API secrets in it are sealed under that key; names, addresses and amounts are readable: keep it private",
    "  - a restored copy has forgotten what came later. Stop the gateway first. Agents tell it again what they paid, no",
    "    deposit address is given out twice, and nobody need act before payments go on. Then look at what only the",
    "    database knew, deposits among it: docs/recovering.md, section 2",
  ].join("\n");
}
