/**
 * The options of install, upgrade and uninstall, and their help. The parser uses no package,
 * because a bare server has none. Pure.
 */
import { parseArgs } from "node:util";
import { AgentError } from "../../base/fault.ts";
import type { InstalledPart } from "./layout.ts";

export interface InstallCommand {
  readonly command: "install" | "upgrade" | "uninstall";
  readonly part: InstalledPart;
  readonly config: string | undefined;
  readonly encKeyFile: string | undefined;
  readonly root: string; // "" for this machine
  readonly isYes: boolean;
  readonly isDry: boolean;
  readonly isHelp: boolean;
}

const options = {
  gateway: { type: "boolean" },
  config: { type: "string" },
  "enc-key-file": { type: "string" },
  root: { type: "string" },
  yes: { type: "boolean" },
  "dry-run": { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

/** Parses the words after `autowithdraw`. @throws AgentError COMMAND_USAGE */
export function readInstallCommand(argv: readonly string[]): InstallCommand {
  const [command, ...args] = argv;
  if (command !== "install" && command !== "upgrade" && command !== "uninstall")
    throw usage("no command given");
  const values = parsed(args);
  const onlyFor = (
    name: "config" | "enc-key-file" | "root",
    isFor: boolean,
    whom: string,
  ): void => {
    if (values[name] !== undefined && !isFor) throw usage(`--${name} is for ${whom}`);
  };
  const isAgent = values.gateway !== true && command !== "uninstall";
  onlyFor("config", isAgent, "installing the agent");
  onlyFor("enc-key-file", isAgent, "installing the agent");
  onlyFor("root", command !== "uninstall", "install and upgrade");
  if (values.root !== undefined && !values.root.startsWith("/"))
    throw usage("--root names a folder by its whole path, from / on");
  return {
    command,
    part: values.gateway === true ? "gateway" : "agent",
    config: values.config,
    encKeyFile: values["enc-key-file"],
    root: values.root === undefined ? "" : values.root.replace(/\/+$/, ""),
    isYes: values.yes === true,
    isDry: values["dry-run"] === true,
    isHelp: values.help === true,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: false }).values;
  } catch (error) {
    throw usage(error instanceof Error ? (error.message.split(". ")[0] ?? "") : String(error));
  }
}

function usage(message: string): AgentError {
  return new AgentError("COMMAND_USAGE", "none", message);
}

export const installHelp = `Usage: autowithdraw install [options]     users, program, state folder, sealed
                                          encKey, units, short command,
                                          manual pages, bash completion
       autowithdraw upgrade [options]     the same, from a newer release;
                                          restarts what runs
       autowithdraw uninstall [options]   stops and removes units, program,
                                          command, manual; leaves ledger, keys and
                                          configuration, and says where

As root, from an unpacked release (node autowithdraw.js install) or a built
checkout. Running it again changes only what is not as it should be.
docs/install.md has the whole way.

Options:
  --gateway              the payment service instead of the agent
  --config <file>        config.json that the payment service made, mode 0600;
                         one in /etc/autowithdraw stays
  --enc-key-file <file>  encKey in a file, mode 0600; else that of config.json,
                         else a new one is made
  --root <folder>        fill the image of a machine below this folder: no users,
                         no systemctl, no encKey; run install once more on the
                         machine itself
  --yes                  encKey is kept elsewhere; an older version is meant;
                         uninstall is meant: do not ask
  --dry-run              print the steps, do nothing
`;
