/**
 * The one place that decides whether a database has this program's tables: by the version and the
 * digest in its `meta`. Reads nothing itself.
 */
import { AgentError } from "../../base/fault.ts";
import { schemaDigest, schemaVersion } from "./schema.ts";

/**
 * Returns the reason why this program does not open the database at `path`; null if it does.
 * `meta` reads a value of the database, "" if there is none.
 */
export function schemaFault(path: string, meta: (name: "schema" | "schemaDigest") => string): AgentError | null {
  const [found, digest] = [meta("schema"), meta("schemaDigest")];
  if (found === String(schemaVersion) && digest === schemaDigest) return null;
  const message =
    found === ""
      ? `${path} is not a gateway's database`
      : `${path} was made with other tables than this version of the gateway has`;
  const details = { path, found: found || "none", expected: schemaVersion };
  return new AgentError("GATEWAY_STORE_VERSION", "none", message, { ...details, digest, expectedDigest: schemaDigest });
}
