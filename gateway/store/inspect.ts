/**
 * Inspects the gateway key and version of a database without opening the database for work. Writes
 * nothing.
 */
import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import { AgentError } from "../../base/fault.ts";
import { unusableStore } from "./disk.ts";
import { isBusy } from "./library-errors.ts";
import { schemaFault } from "./schema-check.ts";
import { refuseOthersWal } from "./stray-wal.ts";

/**
 * Returns the fingerprint of the gateway key that the database at `path` was made with.
 * @throws AgentError GATEWAY_STORE_MISSING, GATEWAY_STORE_INVALID, GATEWAY_STORE_VERSION,
 * GATEWAY_STORE_BUSY, GATEWAY_STORE_WAL
 */
export function keyOfStore(path: string): string {
  if (!existsSync(path)) throw fault("GATEWAY_STORE_MISSING", path, `there is no database file ${path}`);
  if (statSync(path).size === 0) throw fault("GATEWAY_STORE_INVALID", path, `${path} is empty and was not made by init`);
  let raw: InstanceType<typeof DatabaseSync> | null = null;
  try {
    refuseOthersWal(path);
    raw = new DatabaseSync(path, { readOnly: true });
    const meta = (name: string): string =>
      (raw?.prepare("SELECT value FROM meta WHERE name = ?").get(name) as { value: string } | undefined)?.value ?? "";
    const other = schemaFault(path, meta);
    if (other !== null) throw other;
    return meta("gatewayKey");
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    if (isBusy(cause)) throw fault("GATEWAY_STORE_BUSY", path, `${path} is held by another process`, cause);
    throw unusableStore(path, cause);
  } finally {
    raw?.close();
  }
}

type StoreCode = "GATEWAY_STORE_MISSING" | "GATEWAY_STORE_INVALID" | "GATEWAY_STORE_BUSY";

function fault(code: StoreCode, path: string, message: string, cause?: unknown): AgentError {
  return new AgentError(code, "none", message, { path }, { cause });
}
