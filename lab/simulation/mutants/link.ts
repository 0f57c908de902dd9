/**
 * Mutants of the courier's link and its life: connections that are not made again, or not missed.
 */
import type { Mutant } from "./mutant.ts";

export const linkMutants: readonly Mutant[] = [
  {
    name: "dials-once",
    file: "agent/courier/link/link.ts",
    find: "        if (isClosed) return;\n        retry = setTimeout(dial, retryMs);",
    replace:
      "        if (isClosed) return;\n        if (upMs >= 0) retry = setTimeout(dial, retryMs);",
    invariant: "A gateway that is away when it is dialled is never dialled again (liveness).",
  },
  {
    name: "silence-is-golden",
    file: "agent/courier/link/link.ts",
    find: "    if (upAtMs >= 0) alive();\n",
    replace: '    if (upAtMs >= 0) timers.clear("dead");\n',
    invariant:
      "A connection whose other end is gone without a word is kept permanently (liveness).",
    when: ({ rates }) => rates.lineHangs > 0,
  },
  {
    name: "signer-connected-once",
    file: "agent/courier/courier.ts",
    find: "      again(reason.code);",
    replace: '      if (reason.code === "SOCKET_BUSY") again(reason.code);',
    invariant: "After a restart of the signer the courier does not come back (liveness).",
  },
];
