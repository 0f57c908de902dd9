/**
 * A digest of config.json, by which signer, courier and commands compare the settings in force.
 * Pure.
 */
import { createHash } from "node:crypto";
import type { AgentSettings } from "./settings.ts";

/**
 * SHA-256 as lower-case hex over the settings as JSON with sorted keys. Settings hold no secret;
 * order and white space in the file do not change it.
 */
export function configDigest(settings: AgentSettings): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(settings)))
    .digest("hex");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]));
}
