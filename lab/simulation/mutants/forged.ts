/**
 * Mutants of the ledger's seal: what somebody without a key wrote into the folder is taken for the
 * wallet's own.
 */
import type { Mutant } from "./mutant.ts";

const seal = "agent/ledger/seal.ts";
const segment = "agent/ledger/segment.ts";
const isForged: Mutant["when"] = (plan) => plan.isForged;

export const forgedMutants: readonly Mutant[] = [
  {
    name: "mac-not-read",
    file: segment,
    find: "    if (seal !== null && !seal.closes(closing.hash, closing.mac)) throw forgedFault(foreignLineReason, where);\n",
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
    invariant:
      "The MAC of one line closes every other, so that anybody who has a ledger can lengthen it (write-ahead).",
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
    file: segment,
    find: "    if (seal !== null && !seal.closes(closing.hash, closing.mac)) throw forgedFault(foreignLineReason, where);\n",
    replace: "    if (seal !== null && !seal.closes(closing.hash, closing.mac)) break;\n",
    invariant:
      "What an outsider closed is cut off like a torn write, and nobody learns that somebody was there (write-ahead).",
    when: isForged,
  },
  {
    name: "lines-without-a-mac-count",
    file: segment,
    find: `    if (closing.mac === "") continue;\n    if (seal !== null && `,
    replace: `    if (closing.mac !== "" && seal !== null && `,
    invariant:
      "Lines that no MAC covers count: an outsider lengthens the ledger by leaving the MAC out (write-ahead).",
    when: isForged,
  },
];
