/**
 * Stands in for agent/files/trusted.ts where the ledger's disk uses it: a simulated drive has one
 * owner and no links.
 */
import { openSync } from "./files.ts";

export function openTrusted(path: string, flags: number): number {
  return openSync(path, flags);
}

export function isTrustedFolder(): boolean {
  return true;
}
