/**
 * The paths of an installation, for the agent and for the gateway: the one list for install,
 * upgrade and uninstall. The units of packaging/systemd/ name the same paths. Pure.
 */
import { installedState } from "../../agent/installed.ts";

export type InstalledPart = "agent" | "gateway";

interface Account {
  readonly name: string;
  readonly does: string;
}

interface Folder {
  readonly path: string;
  readonly mode: number;
  readonly owner: string; // a user, and the group of the same name
  readonly holds: string;
}

/** A file of the program that shells and readers look for in a folder of the machine. */
interface Help {
  readonly file: string; // in the program's folder
  readonly path: string;
  readonly gives: string;
}

export interface Layout {
  readonly part: InstalledPart;
  readonly program: string;
  readonly launcher: string; // in the program's folder
  readonly command: string; // the short command, in the path
  readonly unit: string; // starts and stops every unit of the part
  readonly aliased: readonly string[]; // units with a second name, `Alias=` in their file
  readonly users: readonly Account[];
  readonly groups: readonly Account[];
  readonly folders: readonly Folder[];
  readonly rooms: readonly string[]; // folders of dist/
  readonly files: readonly string[]; // copied in addition to modules, units, documents and helps
  readonly helps: readonly Help[];
}

/** A new encKey lies here until the operator takes it away. The units cannot see this folder. */
export const takeAwayFile = "/root/autowithdraw-encKey";
export const unitFolder = "/etc/systemd/system";
/** The units in the folder of a checkout, a release or an installed program. */
export const unitSources = "packaging/systemd";
export const gatewayState = "/var/lib/autowithdraw-gateway";
export const gatewayConfig = `${gatewayState}/gateway.config.json`;
export const gatewayUser = "autowithdraw-gateway";

const manual = (page: string): Help => ({
  file: `dist/man/${page}.1`,
  path: `/usr/local/share/man/man1/${page}.1`,
  gives: `man ${page}`,
});

const completion = (program: string): Help => ({
  file: `dist/completion/${program}`,
  path: `/usr/local/share/bash-completion/completions/${program}`,
  gives: `completion of ${program} in bash`,
});

const papers = ["LICENSE", "README.md", "dist/.built", "dist/licences.txt"];

export const layouts: Readonly<Record<InstalledPart, Layout>> = {
  agent: {
    part: "agent",
    program: "/opt/autowithdraw",
    launcher: "autowithdraw.js",
    command: "/usr/local/bin/autowithdraw",
    unit: "autowithdraw.target",
    aliased: ["autowithdraw-courier.service"],
    users: [
      { name: "autowithdraw-signer", does: "holds the keys" },
      { name: "autowithdraw", does: "the courier, which has the network" },
    ],
    groups: [{ name: "autowithdraw-operators", does: "people who may look, approve and refuse" }],
    folders: [
      {
        path: "/etc/autowithdraw",
        mode: 0o711,
        owner: "root",
        holds: "config.json and the sealed encKey",
      },
      { path: installedState, mode: 0o711, owner: "root", holds: "the state" },
      {
        path: `${installedState}/signer`,
        mode: 0o700,
        owner: "autowithdraw-signer",
        holds: "keystore and ledger",
      },
      {
        path: `${installedState}/courier`,
        mode: 0o700,
        owner: "autowithdraw",
        holds: "the link's key",
      },
    ],
    rooms: ["base", "protocol", "chains", "agent", "cli", "clients"],
    files: [
      ...papers,
      "pair.js",
      "crypto.js",
      "autowithdraw.js",
      "cli/launch/launch.js",
      "cli/launch/placeholders.js",
      "cli/launch/packages.js",
      "cli/launch/stamp.js",
      "cli/launch/started.js",
      "config.example.json",
    ],
    helps: [manual("autowithdraw"), manual("crypto"), completion("autowithdraw")],
  },
  gateway: {
    part: "gateway",
    program: "/opt/autowithdraw-gateway",
    launcher: "gateway/gateway.js",
    command: "/usr/local/bin/autowithdraw-gateway",
    unit: "autowithdraw-gateway.service",
    aliased: [],
    users: [{ name: gatewayUser, does: "the payment service" }],
    groups: [],
    folders: [
      {
        path: gatewayState,
        mode: 0o700,
        owner: gatewayUser,
        holds: "its key, configuration and database",
      },
    ],
    rooms: ["base", "protocol", "chains", "gateway"],
    files: [...papers, "gateway/gateway.js"],
    helps: [manual("autowithdraw-gateway"), completion("autowithdraw-gateway")],
  },
};

/** The part to which a file of packaging/systemd/ belongs. */
export function partOfUnit(name: string): InstalledPart {
  return name.includes("gateway") ? "gateway" : "agent";
}
