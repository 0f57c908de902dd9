/**
 * Hardens the process that holds the keys (inspector, foreign start options, core dumps) and
 * reports how far it is isolated from the rest of the machine. Runs before any key is read.
 * Sources: core(5), proc_pid_status(5); docs/threat-model.md.
 */
import { readFileSync } from "node:fs";
import { AgentError } from "../../base/fault.ts";
import { emptyCoreDumps } from "../files/core-dumps.ts";

/**
 * Refuses start options that open the process, and closes what can be closed from inside. The
 * signer calls it first; a second call is harmless. `warnings` are lines for the operator.
 * @throws AgentError PROCESS_NODE_OPTIONS, PROCESS_INSPECTOR
 */
export function hardenProcess(
  own: Pick<NodeJS.Process, "env" | "execArgv" | "on" | "listenerCount">,
): {
  readonly warnings: readonly string[];
} {
  // SIGUSR1 opens the inspector in every version of Node unless the program has a listener for it.
  if (own.listenerCount("SIGUSR1") === 0) own.on("SIGUSR1", () => {});
  if ((own.env.NODE_OPTIONS ?? "") !== "") {
    throw new AgentError(
      "PROCESS_NODE_OPTIONS",
      "none",
      "NODE_OPTIONS is set for the process with the keys",
    );
  }
  if (own.execArgv.some((option) => /^--(?:inspect|debug)/.test(option))) {
    throw new AgentError(
      "PROCESS_INSPECTOR",
      "none",
      "the process with the keys was started with an inspector",
    );
  }
  return {
    warnings: emptyCoreDumps()
      ? []
      : ["core dumps of the signer could hold keys: set LimitCORE=0 and CoredumpFilter=0"],
  };
}

/** The kernel's data about this process and its isolation; null if the kernel gives no answer. */
export interface IsolationState {
  readonly uid: number | null;
  readonly parentUid: number | null;
  readonly socketsInherited: boolean; // the courier's socket came from the service manager
  readonly noNewPrivileges: boolean;
  readonly systemCallFilter: boolean;
  readonly interfaces: readonly string[] | null; // visible network interfaces, without loopback
}

/**
 * Returns the isolation level with its reason, for example "level 0: one user". At level 1 the
 * signer has its own user; at level 2 it also has no network and a system call filter. Level 3 (a
 * credential tied to the machine or a TPM) cannot be seen from inside and is never claimed.
 */
export function isolationLevel(state: IsolationState): string {
  // Under the service manager, the parent is a launcher with the same user, and the courier is
  // another unit with another user.
  const ownUser =
    state.socketsInherited || (state.parentUid !== null && state.parentUid !== state.uid);
  if (!ownUser || state.uid === null || state.uid === 0)
    return state.uid === 0 ? "level 0: one user, and it is root" : "level 0: one user";
  const missing: string[] = [];
  if (state.interfaces === null || state.interfaces.length > 0) missing.push("network in reach");
  if (!state.noNewPrivileges) missing.push("may gain privileges");
  if (!state.systemCallFilter) missing.push("no system call filter");
  return missing.length === 0
    ? "level 2: own user, no network, system call filter"
    : `level 1: own user; ${missing.join(", ")}`;
}

/**
 * Reads the isolation data from /proc. `parentPid` is that of the launcher or the service manager.
 */
export function isolationState(own: {
  readonly parentPid: number;
  readonly socketsInherited: boolean;
}): IsolationState {
  const status = readText("/proc/self/status");
  return {
    uid: uidIn(status),
    parentUid: uidIn(readText(`/proc/${own.parentPid}/status`)),
    socketsInherited: own.socketsInherited,
    noNewPrivileges: /^NoNewPrivs:\s*1$/m.test(status ?? ""),
    systemCallFilter: /^Seccomp:\s*2$/m.test(status ?? ""),
    interfaces: interfacesIn(readText("/proc/self/net/dev")),
  };
}

function uidIn(status: string | null): number | null {
  const match = /^Uid:\s*(\d+)/m.exec(status ?? "");
  return match === null ? null : Number(match[1]);
}

function interfacesIn(table: string | null): readonly string[] | null {
  if (table === null) return null;
  const names = table.split("\n").flatMap((row) => /^\s*([^\s:|]+):/.exec(row)?.[1] ?? []);
  return names.filter((name) => name !== "lo");
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
