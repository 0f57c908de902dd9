/**
 * Writes what helps at a shell into a folder, from the command lines themselves: the manual pages
 * of the three programs into `man`, the completion of autowithdraw and of autowithdraw-gateway for
 * bash into `completion`.
 * `node dist/packaging/manual.js FOLDER`.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cryptoCommand } from "../agent/crypto.ts";
import { version } from "../base/version.ts";
import { commandTree } from "../cli/main.ts";
import { completionScript } from "../cli/manual/completion.ts";
import { type ManualFields, manualPage } from "../cli/manual/roff.ts";
import { tree as gatewayTree } from "../gateway/command.ts";

const usual = [
  ["0", "It is done, or everything works."],
  ["1", "A clear no: refused, not found, not well."],
  ["2", "Wrong usage or configuration."],
] as const;
const bug = ["70", "A bug."] as const;

const pages: readonly (readonly [fields: Omit<ManualFields, "version">, command: ReturnType<typeof commandTree>])[] = [
  [
    {
      program: "autowithdraw",
      exitCodes: [...usual, ["3", "Not reachable."], ["4", "Locked: an operator is needed."], ["5", "A right is missing."], bug],
      seeAlso: ["crypto(1)", "autowithdraw-gateway(1)", "docs/operations.md"],
    },
    commandTree(),
  ],
  [
    {
      program: "crypto",
      exitCodes: [["0", "It ended as told."], ...usual.slice(1), ["4", "Locked: an operator is needed."], bug],
      seeAlso: ["autowithdraw(1)", "docs/operations.md"],
    },
    cryptoCommand(),
  ],
  [
    {
      program: "autowithdraw-gateway",
      exitCodes: [...usual, ["3", "Not reached."], bug],
      seeAlso: ["autowithdraw(1)", "docs/api.md"],
    },
    gatewayTree(),
  ],
];

const [folder = "dist"] = process.argv.slice(2);
for (const part of ["man", "completion"]) mkdirSync(join(folder, part), { recursive: true });
for (const [fields, command] of pages) {
  writeFileSync(join(folder, "man", `${fields.program}.1`), manualPage(command, { ...fields, version }));
}
// bash-completion looks for a file with the name of what is typed.
const completion = join(folder, "completion");
writeFileSync(join(completion, "autowithdraw"), completionScript("bash", commandTree(), "autowithdraw"));
const gateway = completionScript("bash", gatewayTree(), "autowithdraw-gateway", "npm run build");
writeFileSync(join(completion, "autowithdraw-gateway"), gateway);
