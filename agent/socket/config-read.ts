/**
 * The config.json by which a process goes. Signer and courier of two units may have read two
 * versions of it: then the one that read earlier gives way, and its next start reads the file that
 * is there. Pure.
 */
export interface ConfigRead {
  readonly digest: string; // agent/config/digest.ts
  // when its launcher read the file: milliseconds on the clock that all processes of this machine
  // share and nobody sets
  readonly readMs: number;
}

export function isOlderConfig(own: ConfigRead, other: ConfigRead): boolean {
  return own.digest !== other.digest && own.readMs < other.readMs;
}
