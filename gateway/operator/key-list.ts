/** `key list`: the API keys and the rights of each; never a secret. */
import type { Refusal } from "../../base/fault.ts";
import { listKeyRows } from "../store/keys.ts";
import type { KeyProfile } from "../store/rows.ts";
import { formatTimestamp, type OperatorContext } from "./accounts.ts";
import { checkRecordFilter } from "./named.ts";

export interface KeyLine {
  readonly keyId: string;
  readonly merchantId: string;
  readonly merchant: string;
  readonly scopes: readonly string[];
  readonly profile: KeyProfile;
  readonly alg: "HS256" | "EdDSA";
  readonly createdAt: string;
  readonly lastUsedAt: string; // "" never
  readonly revokedAt: string; // "" while it is not revoked
  readonly expiresAt: string; // "" never
  readonly allowedAddresses: readonly string[]; // empty: any address
  readonly pairingUsed: boolean; // true when its right to pair is used up
}

/**
 * The keys of all merchants, or of one; keys that are not revoked come first. Refuses
 * GATEWAY_UNKNOWN_MERCHANT.
 */
export function listKeys(
  by: Pick<OperatorContext, "store">,
  merchant: string | undefined,
): { readonly ok: true; readonly keys: readonly KeyLine[] } | Refusal {
  const known = checkRecordFilter(by, { merchant });
  if (!known.ok) return known;
  const { database } = by.store;
  const keys = listKeyRows(database, merchant).map((row) => ({
    keyId: row.id,
    merchantId: row.merchant,
    merchant: row.name,
    scopes: row.scopes.split(","),
    profile: row.profile,
    alg: row.alg,
    createdAt: formatTimestamp(row.createdAt),
    lastUsedAt: formatTimestamp(row.lastUsedAt),
    revokedAt: formatTimestamp(row.revokedAt),
    expiresAt: formatTimestamp(row.expiresAt),
    allowedAddresses: row.allowedAddresses === "" ? [] : row.allowedAddresses.split(","),
    pairingUsed: row.pairingUsed === 1,
  }));
  return { ok: true, keys };
}

/** Lines of at most 80 characters, except for a merchant's long name. */
export function describeKey(key: KeyLine): string {
  return [
    `${key.keyId}  ${stateOf(key)}  ${key.merchant} (${key.merchantId})`,
    `  ${key.scopes.join(",")}${key.pairingUsed ? " (pairing used up)" : ""}`,
    `  ${key.profile}, ${key.alg}, made ${key.createdAt}`,
    `  last used ${key.lastUsedAt || "never"}`,
    ...(key.allowedAddresses.length === 0
      ? []
      : [`  from ${key.allowedAddresses.join(", ")} alone`]),
  ].join("\n");
}

function stateOf({ revokedAt, expiresAt }: KeyLine): string {
  if (revokedAt !== "") return `revoked ${revokedAt}`;
  return expiresAt === "" ? "good" : `ends ${expiresAt}`;
}
