/**
 * The one place that decides whether this program knows a database's tables: by the version and
 * the digest in its `meta`. Reads nothing itself.
 */
import { AgentError } from "../../base/fault.ts";
import { version as programVersion } from "../../base/version.ts";
import { digestOfVersion, type Migration, migrations } from "./migrations.ts";

/** Reads a value of a database's `meta`; "" if there is none. */
export type MetaReader = (name: "schema" | "schemaDigest") => string;

/**
 * The version of the tables of the database at `path`, this program's or an earlier one.
 * @throws AgentError GATEWAY_STORE_VERSION if this program does not know the tables
 */
export function readKnownSchemaVersion(
  path: string,
  meta: MetaReader,
  steps: readonly Migration[] = migrations,
): number {
  const [found, digest] = [meta("schema"), meta("schemaDigest")];
  const version = /^[1-9]\d{0,3}$/.test(found) ? Number(found) : 0;
  const expectedDigest = digestOfVersion(version, steps);
  if (version >= 1 && version <= steps.length && digest === expectedDigest) return version;
  const details = { path, found: found || "none", expected: steps.length, digest, expectedDigest };
  throw new AgentError(
    "GATEWAY_STORE_VERSION",
    "none",
    words(path, version, steps.length),
    details,
  );
}

function words(path: string, version: number, newest: number): string {
  if (version === 0) return `${path} is not a gateway's database`;
  const own = `version ${newest}, which gateway ${programVersion} has`;
  return version > newest
    ? `${path} has tables of version ${version}, later than ${own}; nothing was changed`
    : `${path} was made with other tables under version ${version} than this gateway has; nothing was changed`;
}

/**
 * Refuses a database that does not have this program's tables.
 * @throws AgentError GATEWAY_STORE_VERSION, GATEWAY_STORE_OLDER (a start of the gateway upgrades
 * it)
 */
export function requireNewestSchema(path: string, meta: MetaReader): void {
  const version = readKnownSchemaVersion(path, meta);
  if (version === migrations.length) return;
  const message = `${path} has tables of version ${version}, and this gateway has version ${migrations.length}: start the gateway once`;
  throw new AgentError("GATEWAY_STORE_OLDER", "none", message, {
    path,
    found: version,
    expected: migrations.length,
  });
}
