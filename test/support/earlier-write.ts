/**
 * Part of a write in the form of an earlier program, which closed each line with a MAC of its own.
 * Such a ledger can end between two records that are one write today.
 */
import { testSeal } from "../../lab/kit/ledger-seal.ts";
import type { Kit } from "../../lab/kit/signer-kit.ts";

const file = "00000001.jsonl";
const hashDigits = 64;
const lineEnd = '"}';

/** Starts the signer on the lines of the write under way that stand before one of `kind`. */
export function crashBefore(kit: Kit, kind: string): void {
  const found = kit.disk.crash();
  const durable = Buffer.from(found.read(file, 0, found.size(file)));
  const written = kit.disk.crash(Number.MAX_SAFE_INTEGER);
  const lines = Buffer.from(written.read(file, durable.length, written.size(file)))
    .toString()
    .trimEnd()
    .split("\n");
  const kept = lines.slice(
    0,
    lines.findIndex((line) => line.includes(`"kind":"${kind}"`)),
  );
  const closed = kept.map((line) => {
    const hash = line.slice(-hashDigits - lineEnd.length, -lineEnd.length);
    return `${line.slice(0, -lineEnd.length)}","mac":"${testSeal.macOf(hash)}${lineEnd}\n`;
  });
  found.create(file, Buffer.concat([durable, Buffer.from(closed.join(""))]));
  kit.disk = found;
  kit.start();
}
