/** The script of a SegWit address of version 0, hex. Source: BIP-173. */
import { bech32 } from "@scure/base";

const known = new Map<string, string>();

export function scriptOf(address: string): string {
  const before = known.get(address);
  if (before !== undefined) return before;
  const { words } = bech32.decode(address as `${string}1${string}`);
  const program = Buffer.from(bech32.fromWords(words.slice(1)));
  const script = `00${program.length.toString(16).padStart(2, "0")}${program.toString("hex")}`;
  known.set(address, script);
  return script;
}
