/** Gathers the facts of this machine and of the copy to be installed. Changes nothing. */
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { installedConfig, installedCredential, installedState } from "../../agent/installed.ts";
import { systemEnvironment } from "../../base/system-path.ts";
import {
  gatewayConfig,
  gatewayState,
  gatewayUser,
  type Layout,
  partOfUnit,
  unitFolder,
  unitSources,
} from "./layout.ts";
import type { FolderState, Survey } from "./plan.ts";
import { isSameProgram, npmEnvironment, readLeastNodeVersion, versionInFolder } from "./program.ts";
import { type RemovalSurvey, removalPaths } from "./removal.ts";

/* The texts that installing writes: units for this machine, and the short commands. Pure. */

/** A unit of packaging/systemd/ with the path of this machine's Node and of the part's program. */
export function unitText(text: string, node: string, { part, program }: Layout): string {
  const placed =
    part === "gateway"
      ? text.replaceAll(" /opt/autowithdraw/gateway/", ` ${program}/gateway/`)
      : text;
  return placed.replaceAll("/usr/bin/node ", `${node} `);
}

const head = `#!/bin/sh
# Made by install, and made again by every upgrade. The environment of anybody who calls decides nothing about what code runs.
unset NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS LD_PRELOAD
`;

/**
 * The short command, a shell script. If root calls the gateway's command, it runs as the gateway's
 * user, so no file of root gets into this user's folder.
 */
export function commandText(node: string, { part, program, launcher }: Layout): string {
  const call = `${node} ${program}/${launcher}`;
  if (part === "agent") {
    return `${head}AUTOWITHDRAW_STATE=${installedState}
AUTOWITHDRAW_CONFIG=${installedConfig}
export AUTOWITHDRAW_STATE AUTOWITHDRAW_CONFIG
exec ${call} "$@"
`;
  }
  return `${head}case "\${1-}/\${2-}" in
/* | -* | init/* | help/*) ;;
*)
  named=no
  for word in "$@"; do
    case "$word" in --config | --config=* | --help | -h) named=yes ;; esac
  done
  if [ $named = no ]; then set -- "$@" --config ${gatewayConfig}; fi
  ;;
esac
if [ "$(id -u)" = 0 ]; then
  # The audit names who typed: the user before sudo, else root, and never the gateway's own user.
  SUDO_USER="\${SUDO_USER:-root}"
  export SUDO_USER
  cd ${gatewayState} || exit 2
  exec setpriv --reuid=${gatewayUser} --regid=${gatewayUser} --init-groups ${call} "$@"
fi
exec ${call} "$@"
`;
}

/** The stdout of a program; "" when it fails or takes longer than 30 s. */
function outputOf(program: string, ...args: readonly string[]): string {
  const env = program === "npm" ? npmEnvironment() : systemEnvironment;
  const done = spawnSync(program, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    timeout: 30_000,
    env,
  });
  return done.status === 0 ? done.stdout : "";
}

/** `from`: the copy to be installed. `root`: the folder of --root, "" for this machine. */
export async function gatherSurvey(layout: Layout, from: string, root: string): Promise<Survey> {
  const at = (path: string): string => join(root, path);
  const node = nodePath();
  const units = new Map(
    unitNames(join(from, unitSources), layout).map((name) => [
      name,
      unitText(readFileSync(join(from, unitSources, name), "utf8"), node, layout),
    ]),
  );
  const config = layout.part === "agent" ? installedConfig : gatewayConfig;
  const hasPart =
    existsSync(join(from, layout.launcher)) &&
    layout.rooms.every((room) => existsSync(join(from, "dist", room)));
  return {
    isRoot: process.getuid?.() === 0,
    platform: process.platform,
    systemd: systemdVersion(),
    node,
    nodeVersion: process.versions.node,
    npm: outputOf("npm", "--version").trim() || null,
    root,
    accounts: accountsThere(layout),
    folders: new Map(
      layout.folders.flatMap(({ path, owner }) => folderStateOf(path, at(path), owner !== "root")),
    ),
    source: {
      version: versionInFolder(from) ?? "",
      nodeLeast: hasPart ? await readLeastNodeVersion(from, layout.part) : "",
      hasPart,
      units,
      command: commandText(node, layout),
      helps: new Map(layout.helps.flatMap(({ file, path }) => textEntry(path, join(from, file)))),
    },
    installed: {
      version: versionInFolder(at(layout.program)),
      isSame: await isSameProgram(layout, from, at(layout.program)),
      units: new Map(
        unitNames(at(unitFolder), layout)
          .filter((name) => units.has(name))
          .map((name) => [name, readFileSync(at(`${unitFolder}/${name}`), "utf8")]),
      ),
      command: textOf(at(layout.command)),
      helps: new Map(layout.helps.flatMap(({ path }) => textEntry(path, at(path)))),
      isEnabled:
        root === "" && outputOf("systemctl", "is-enabled", layout.unit).trim() === "enabled",
      isActive: root === "" && outputOf("systemctl", "is-active", layout.unit).trim() === "active",
      isPaired: existsSync(at(`${installedState}/signer/keystore.json`)),
      hasConfig: existsSync(at(config)),
      hasCredential: existsSync(at(installedCredential)),
    },
  };
}

/** The facts for uninstalling. `from`: the copy from which the command was started. */
export function gatherRemovalSurvey(layout: Layout, from: string): RemovalSurvey {
  const ours = new Set(
    [join(from, unitSources), join(layout.program, unitSources)].flatMap((folder) =>
      unitNames(folder, layout),
    ),
  );
  return {
    units: unitNames(unitFolder, layout).filter((name) => ours.has(name)),
    paths: new Set(removalPaths(layout).filter((path) => existsSync(path))),
    accounts: accountsThere(layout),
  };
}

function unitNames(folder: string, { part }: Layout): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter(
    (name) => /\.(service|socket|target|timer|path)$/.test(name) && partOfUnit(name) === part,
  );
}

/**
 * /usr/bin/node if this is the same binary, because an upgrade of the distribution keeps the name;
 * else the real path.
 */
function nodePath(): string {
  const own = realpathSync(process.execPath);
  return existsSync("/usr/bin/node") && realpathSync("/usr/bin/node") === own
    ? "/usr/bin/node"
    : own;
}

function systemdVersion(): number | null {
  if (!existsSync("/run/systemd/system")) return null;
  const found = /^systemd (\d+)/.exec(outputOf("systemctl", "--version"));
  return found === null ? null : Number(found[1]);
}

function accountsThere({ users, groups }: Layout): ReadonlySet<string> {
  const there = [
    ...users.filter(({ name }) => outputOf("getent", "passwd", name) !== ""),
    ...groups.filter(({ name }) => outputOf("getent", "group", name) !== ""),
  ];
  return new Set(there.map(({ name }) => name));
}

/**
 * The folder as an entry of Survey. Its owner is null if something in it belongs to another user,
 * as after a copy made by root.
 */
function folderStateOf(
  path: string,
  place: string,
  isUsers: boolean,
): readonly (readonly [string, FolderState])[] {
  const stat = statSync(place, { throwIfNoEntry: false });
  if (stat === undefined) return [];
  const isWhole = !isUsers || process.getuid?.() !== 0 || isAllOf(stat.uid, place);
  const owner = isWhole
    ? outputOf("getent", "passwd", String(stat.uid)).split(":")[0] || null
    : null;
  return [[path, { mode: stat.mode & 0o7777, owner }]];
}

function isAllOf(uid: number, folder: string): boolean {
  // Node's own recursive listing follows links, and the folder's owner may have made a loop of
  // links.
  return readdirSync(folder, { withFileTypes: true }).every((entry) => {
    const path = join(folder, entry.name);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat === undefined || (stat.uid === uid && (!entry.isDirectory() || isAllOf(uid, path)));
  });
}

/** The content of the file `place`, under the name `path`. */
function textEntry(path: string, place: string): readonly (readonly [string, string])[] {
  const text = textOf(place);
  return text === null ? [] : [[path, text]];
}

function textOf(path: string): string | null {
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}
