/**
 * Inspects the gateway key and version of a database without opening the database for work. Writes
 * nothing.
 */
import { existsSync, statSync } from "node:fs";
import { AgentError } from "../../base/fault.ts";
import { unusableStoreFault } from "./disk.ts";
import { isDatabaseBusyError } from "./library-errors.ts";
import { type Migration, migrations } from "./migrations.ts";
import { readMeta } from "./read-meta.ts";
import { readKnownSchemaVersion } from "./schema-check.ts";

export interface DatabaseSummary {
  readonly gatewayKey: string; // fingerprint of the key that the database was made with
  readonly version: number; // the version of its tables
  readonly isOlder: boolean; // a start of the gateway upgrades it
}

/**
 * Looks at the database at `path`, whose tables may be of an earlier version.
 * @throws AgentError GATEWAY_STORE_MISSING, GATEWAY_STORE_INVALID, GATEWAY_STORE_VERSION,
 * GATEWAY_STORE_BUSY, GATEWAY_STORE_WAL
 */
export function inspectStore(
  path: string,
  steps: readonly Migration[] = migrations,
): DatabaseSummary {
  if (!existsSync(path))
    throw fault("GATEWAY_STORE_MISSING", path, `there is no database file ${path}`);
  if (statSync(path).size === 0)
    throw fault("GATEWAY_STORE_INVALID", path, `${path} is empty and was not made by init`);
  try {
    return inspectMeta(path, readMeta(path), steps);
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    if (isDatabaseBusyError(cause))
      throw fault("GATEWAY_STORE_BUSY", path, `${path} is held by another process`, cause);
    throw unusableStoreFault(path, cause);
  }
}

/**
 * The same from the rows of table `meta`; `path` is for messages.
 * @throws AgentError GATEWAY_STORE_VERSION
 */
export function inspectMeta(
  path: string,
  meta: ReadonlyMap<string, string>,
  steps: readonly Migration[] = migrations,
): DatabaseSummary {
  const version = readKnownSchemaVersion(path, (name) => meta.get(name) ?? "", steps);
  return { gatewayKey: meta.get("gatewayKey") ?? "", version, isOlder: version < steps.length };
}

type StoreCode = "GATEWAY_STORE_MISSING" | "GATEWAY_STORE_INVALID" | "GATEWAY_STORE_BUSY";

function fault(code: StoreCode, path: string, message: string, cause?: unknown): AgentError {
  return new AgentError(code, "none", message, { path }, { cause });
}
