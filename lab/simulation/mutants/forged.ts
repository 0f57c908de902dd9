/**
 * Mutants of the ledger's seal: what somebody without a key wrote into the folder is taken for the
 * wallet's own.
 */
import type { Mutant } from "./mutant.ts";

const seal = "agent/ledger/seal.ts";
const isForged: Mutant["when"] = (plan) => plan.isForged;

export const forgedMutants: readonly Mutant[] = [
  {
    name: "mac-not-read",
    file: "agent/ledger/codec.ts",
    find: `  if (seal !== null && !isClosedBy(seal, line)) throw forged("this wallet's signer did not write the line", where);\n`,
    replace: "",
    invariant:
      "Lines with right hashes are believed, no matter who wrote them: an outsider approves and binds what they like (write-ahead).",
    when: isForged,
  },
  {
    name: "no-mac-is-a-mac",
    file: seal,
    find: "    return isSame(this.macOf(hash), mac);",
    replace: "    return isSame(this.macOf(hash), mac) || /^0+$/.test(mac);",
    invariant: "A line that nobody closed counts as one of this wallet's (write-ahead).",
    when: isForged,
  },
  {
    name: "mac-of-any-line",
    file: seal,
    find: 'createHmac("sha256", this.#line).update(lineDomain).update(hash).digest("hex")',
    replace: 'createHmac("sha256", this.#line).update(lineDomain).digest("hex")',
    invariant: "The MAC of one line closes every other, so that anybody who has a ledger can lengthen it (write-ahead).",
    when: isForged,
  },
  {
    name: "mac-of-no-key",
    file: seal,
    find: '    this.#line = derived(key, "line");',
    replace: '    this.#line = derived(new Uint8Array(keyBytes), "line");',
    invariant: "Lines are closed by a key that everybody can make (write-ahead).",
    when: isForged,
  },
  {
    name: "forged-line-cut-off",
    file: "agent/ledger/segment.ts",
    find: "    const record = decodeRecord(line, where, seal);\n",
    replace: `    let record: LedgerRecord;
    try {
      record = decodeRecord(line, where, seal);
    } catch {
      return { records, map, bytes: start, torn: true };
    }
`,
    invariant: "What an outsider wrote is cut off like a torn write, and nobody learns that somebody was there (write-ahead).",
    when: isForged,
  },
];
