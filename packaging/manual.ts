/**
 * Writes what helps at a shell into a folder, from the command lines themselves: the manual pages
 * of the three programs into `man`, the completion of autowithdraw and of autowithdraw-gateway for
 * bash into `completion`.
 * `node dist/packaging/manual.js FOLDER`.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cryptoCommandTable } from "../agent/crypto.ts";
import {
  installedConfig,
  installedCredential,
  installedRuntime,
  installedState,
} from "../agent/installed.ts";
import { programVersion, version } from "../base/version.ts";
import { commandOf } from "../cli/command-of.ts";
import { gatewayConfig, gatewayState } from "../cli/install/layout.ts";
import { commandTree } from "../cli/main.ts";
import { completionScript } from "../cli/manual/completion.ts";
import { agentIdCommands, gatewayIdCommands } from "../cli/manual/offered-ids.ts";
import { type ManualFields, manualPage } from "../cli/manual/roff.ts";
import { buildGatewayCommands as gatewayTree } from "../gateway/command.ts";

const agentFiles = [
  [
    installedConfig,
    "The configuration: gateway, chains, currencies, limits; no secret after pair.",
  ],
  [installedCredential, "encKey, sealed for this machine."],
] as const;
const usual = [
  ["0", "It is done, or everything works."],
  ["1", "A clear no: refused, not found, not well."],
  ["2", "Wrong usage or configuration."],
] as const;
const bug = ["70", "A bug."] as const;

// The defaults of an installed server stand under FILES; options say what holds elsewhere.
for (const name of ["AUTOWITHDRAW_STATE", "AUTOWITHDRAW_CONFIG"]) delete process.env[name];

const pages: readonly (readonly [
  fields: Omit<ManualFields, "version">,
  command: ReturnType<typeof commandTree>,
])[] = [
  [
    {
      program: "autowithdraw",
      exitCodes: [
        ...usual,
        ["3", "Not reachable."],
        ["4", "Locked: an operator is needed."],
        ["5", "A right is missing."],
        bug,
      ],
      files: [
        ...agentFiles,
        [
          `${installedState}/signer`,
          "The sealed wallet and the ledger; only the signer's user reads them.",
        ],
        [
          `${installedRuntime}`,
          "The sockets of the running agent. Members of autowithdraw-operators may ask there.",
        ],
      ],
      environment: [
        [
          "AUTOWITHDRAW_STATE, AUTOWITHDRAW_CONFIG",
          "State folder and config.json; the installed command sets both.",
        ],
        ["XDG_DATA_HOME", "Without an installation, the folder above the state folder."],
        [
          "SUDO_USER",
          "The name under which an act of root stands in the ledger unless --as gives one.",
        ],
      ],
      examples: [
        ["autowithdraw status", "Whether everything works, and what to type if not:"],
        [
          "autowithdraw withdrawals --open | grep ORDER",
          "One order among those that are not final:",
        ],
        ["autowithdraw approve ID", "Look at a held withdrawal, and pay it after a yes:"],
        [
          "autowithdraw withdrawals --since 2026-11-01 --until 2026-12-01 --limit 500 --json",
          "A month for a program:",
        ],
        ["autowithdraw check", "Before a restart with a changed config.json:"],
      ],
      seeAlso: ["crypto(1)", "autowithdraw-gateway(1)", "docs/operations.md"],
    },
    commandTree(),
  ],
  [
    {
      program: "crypto",
      exitCodes: [
        ["0", "It ended as told."],
        ...usual.slice(1),
        ["4", "Locked: an operator is needed."],
        ["5", "A right is missing."],
        bug,
      ],
      files: agentFiles,
      environment: [
        [
          "AUTOWITHDRAW_STATE, AUTOWITHDRAW_CONFIG",
          "State folder and config.json, unless an option names them.",
        ],
        [
          "CREDENTIALS_DIRECTORY",
          "The folder where a service manager puts encKey and config.json.",
        ],
        [
          "NODE_OPTIONS, HTTPS_PROXY and others",
          "Not used, and named in the log: network in config.json takes their place.",
        ],
      ],
      examples: [
        [
          "systemctl reload crypto",
          "Take a changed config.json; a wrong one is refused and the old limits stay:",
        ],
        ["node crypto.js --state FOLDER --enc-key-file FILE", "Without an installation:"],
      ],
      seeAlso: ["autowithdraw(1)", "docs/operations.md"],
    },
    commandOf(cryptoCommandTable).version(programVersion, "--version", "print the version"),
  ],
  [
    {
      program: "autowithdraw-gateway",
      exitCodes: [...usual, ["3", "Not reached."], bug],
      files: [
        [gatewayConfig, "The configuration that the installed command uses."],
        [
          `${gatewayState}/gateway.db`,
          "The database. Only the command backup makes a copy that can be used.",
        ],
        [
          `${gatewayState}/gateway.key`,
          "The service's own key; agents know the service by it. Keep a copy apart.",
        ],
      ],
      environment: [
        ["CREDENTIALS_DIRECTORY", "The folder where a service manager puts keys of nodes."],
        ["NODE_OPTIONS and others", "Removed by the installed command."],
      ],
      examples: [
        [
          "autowithdraw-gateway status",
          "One screen: whether everything works, and what to type if not:",
        ],
        ["autowithdraw-gateway find TEXT", "By order, address, hash, id, amount or name:"],
        [
          "autowithdraw-gateway withdrawals --since 2026-11-01 --csv > november.csv",
          "A month for a program:",
        ],
        [
          "autowithdraw-gateway deposits --late | cut -d' ' -f1",
          "The ids of deposits that were paid late:",
        ],
        [
          "autowithdraw-gateway backup gateway.backup",
          "A copy of the database, while the gateway runs:",
        ],
      ],
      seeAlso: ["autowithdraw(1)", "docs/gateway.md"],
    },
    gatewayTree(),
  ],
];

const [folder = "dist"] = process.argv.slice(2);
for (const part of ["man", "completion"]) mkdirSync(join(folder, part), { recursive: true });
for (const [fields, command] of pages) {
  writeFileSync(
    join(folder, "man", `${fields.program}.1`),
    manualPage(command, { ...fields, version }),
  );
}
// bash-completion looks for a file with the name of what is typed.
const completion = join(folder, "completion");
writeFileSync(
  join(completion, "autowithdraw"),
  completionScript("bash", commandTree(), { program: "autowithdraw", offered: agentIdCommands }),
);
const gateway = completionScript("bash", gatewayTree(), {
  program: "autowithdraw-gateway",
  maker: "npm run build",
  offered: gatewayIdCommands,
});
writeFileSync(join(completion, "autowithdraw-gateway"), gateway);
