/**
 * The commands' view of this machine in addition to the signer's socket: the units of the service
 * manager, the exit reason of a process that ended, config.json on disk. Changes nothing and never
 * throws: "unknown" is also an answer.
 */

import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { readConfig } from "../agent/config/config.ts";
import { configDigest } from "../agent/config/digest.ts";
import { type ExitReason, readExitReason } from "../agent/exit-reason.ts";
import type { StateFolder } from "../agent/files/state-folder.ts";
import { installedState } from "../agent/installed.ts";
import { exitVerdictOfError } from "../agent/launcher/exit-status.ts";
import { isReadOnly } from "../agent/ledger/disk.ts";
import type { ConfigOnDisk } from "../agent/problems/judged.ts";
import { AgentError } from "../base/fault.ts";
import { systemEnvironment } from "../base/system-path.ts";
import { serviceNames } from "./unit-names.ts";

/** A unit as `systemctl show` gives it: its properties by name, e.g. ActiveState. */
export type UnitView = Readonly<Record<string, string>>;

/** The view as one object, so tests can give their own. */
export interface Machine {
  /** True if the service manager starts and stops the agent on this state folder. */
  isUnderUnits(state: StateFolder): boolean;
  /** The units by name; empty if no service manager answers within three seconds. */
  units(names: readonly string[]): ReadonlyMap<string, UnitView>;
  /** Newest first. */
  exitReason(state: StateFolder): readonly ExitReason[];
  configOnDisk(path: string): ConfigOnDisk;
  /** False also if this user may not look. */
  isThere(path: string): boolean;
  /** True if its file system is mounted read-only; false also if this user may not look. */
  isReadOnly(path: string): boolean;
}

/** The folders that systemd reads units from. */
const unitFolders = [
  "/etc/systemd/system",
  "/run/systemd/system",
  "/usr/local/lib/systemd/system",
  "/usr/lib/systemd/system",
];
const systemctl = ["/usr/bin/systemctl", "/bin/systemctl"];
const properties =
  "Id,ActiveState,SubState,Result,ExecMainStatus,NRestarts,StatusText,StateChangeTimestamp";
const unitsMs = 3_000;

/** This machine. */
export const thisMachine: Machine = {
  isUnderUnits: (state) =>
    state.root === installedState &&
    unitFolders.some((folder) => existsSync(`${folder}/${serviceNames[0]}`)),
  units: (names) => {
    const program = systemctl.find((path) => existsSync(path));
    if (program === undefined) return new Map();
    const done = spawnSync(program, ["show", "-p", properties, ...names], {
      encoding: "utf8",
      timeout: unitsMs,
      stdio: ["ignore", "pipe", "ignore"],
      env: systemEnvironment,
    });
    return unitsIn(done.status === 0 ? done.stdout : "");
  },
  exitReason: readExitReason,
  configOnDisk,
  isThere: existsSync,
  isReadOnly,
};

/**
 * Parses the output of `systemctl show`: blocks of NAME=VALUE, separated by empty lines. Keyed by
 * unit; a block without Id is skipped.
 */
export function unitsIn(text: string): ReadonlyMap<string, UnitView> {
  const units = new Map<string, UnitView>();
  for (const block of text.split(/\n\n+/)) {
    const pairs = block.split("\n").flatMap((line) => {
      const at = line.indexOf("=");
      return at < 1 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const];
    });
    const unit = Object.fromEntries(pairs);
    if (unit.Id !== undefined) units.set(unit.Id, unit);
  }
  return units;
}

function configOnDisk(path: string): ConfigOnDisk {
  try {
    // No setting is taken from it: only its digest is compared with the signer's.
    const { settings, secrets } = readConfig(path, { requireSecrets: [], isNamed: true });
    for (const secret of Object.values(secrets)) secret.fill(0);
    return { is: "read", digest: configDigest(settings) };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    if (error.code === "CONFIG_MISSING") return { is: "gone" };
    if (error.code !== "CONFIG_UNREADABLE") {
      const { code, message, hint } = exitVerdictOfError(error);
      return { is: "invalid", code, message, hint };
    }
    try {
      return { is: "closed", changedAtMs: statSync(path).ctimeMs };
    } catch {
      return { is: "unseen" };
    }
  }
}
