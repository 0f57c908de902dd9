/**
 * Three independent packages that read our bytes and addresses. They load on Node 20.19 and later
 * alone.
 */
import type * as Addresses from "ripple-address-codec";
import type * as Binary from "ripple-binary-codec";
import type * as Hashes from "ripple-binary-codec/dist/hashes.js";
import type * as Keys from "ripple-keypairs";

export interface Judges {
  readonly addresses: typeof Addresses;
  readonly binary: typeof Binary;
  readonly hashes: typeof Hashes;
  readonly keys: typeof Keys;
}

/** The judges, or the reason why there are none, which is also written to the standard error. */
export async function findJudges(): Promise<Judges | string> {
  try {
    const [addresses, binary, hashes, keys] = await Promise.all([
      import("ripple-address-codec"),
      import("ripple-binary-codec"),
      import("ripple-binary-codec/dist/hashes.js"),
      import("ripple-keypairs"),
    ]);
    return { addresses, binary, hashes, keys };
  } catch (cause) {
    const why = `ripple-binary-codec does not load on Node ${process.versions.node}: ${String(cause).slice(0, 120)}`;
    process.stderr.write(`\n*** SKIPPED: ${why}\n\n`);
    return why;
  }
}
