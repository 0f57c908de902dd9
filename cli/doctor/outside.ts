/** What `doctor` reads of this machine and its neighbours, beside what it is given a path or an address of; tests put their own in place. */
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, fsyncSync, openSync, readdirSync, readFileSync, rmSync, statfsSync, writeSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { type ChainView, lookAtChains } from "../../agent/check/chains.ts";
import type { AgentSettings } from "../../agent/config/settings.ts";
import { reasonOf } from "../../protocol/fault.ts";
import { type Machine, thisMachine } from "../machine.ts";

/** @public */
export interface Outside {
  readonly machine: Machine;
  readonly now: () => number; // Unix milliseconds
  readonly nodeVersion: string; // v20.11.0
  /** Mounted file systems as /proc/self/mounts lists them. */
  mounts(): string;
  /** How long each of a few small writes to a scratch file in `folder` took to become durable. Throws what the disk said. */
  syncsMs(folder: string): readonly number[];
  /** Room for others than root on the disk of `folder`; -1 when it cannot be told. */
  freeBytes(folder: string): number;
  /** Folders in which an agent may lie, beside the one that is looked at. */
  stateFolders(root: string): readonly string[];
  /** What systemd-analyze security gives a unit, 0 to 10; null where it cannot be asked. */
  exposure(unit: string): number | null;
  /** The time in the gateway's answer, whatever else it answers. */
  gatewayTime(url: string): Promise<GatewayTime>;
  chains(settings: Pick<AgentSettings, "chains" | "currencies">): Promise<readonly ChainView[]>;
}

/**
 * `earliestMs` and `latestMs`: this machine's clock when it was asked and when it had answered.
 * @public
 */
export type GatewayTime =
  | { readonly ok: true; readonly dateMs: number; readonly earliestMs: number; readonly latestMs: number }
  | { readonly ok: false; readonly reason: string };

const syncs = 9;
const syncBytes = Buffer.alloc(4096, "doctor\n");
const gatewayMs = 5_000;
const analyzers = ["/usr/bin/systemd-analyze", "/bin/systemd-analyze"];
const analyzeMs = 10_000;

/**
 * This machine. Writes one scratch file, and takes it away again.
 * @public
 */
export const thisOutside: Outside = {
  machine: thisMachine,
  now: Date.now,
  nodeVersion: process.version,
  mounts: () => readFileSync("/proc/self/mounts", "utf8"),
  syncsMs,
  freeBytes: (folder) => {
    try {
      const { bavail, bsize } = statfsSync(folder);
      return bavail * bsize;
    } catch {
      return -1;
    }
  },
  stateFolders,
  exposure,
  gatewayTime: (url) => gatewayTime(url, Date.now),
  chains: (settings) => lookAtChains(settings),
};

function syncsMs(folder: string): readonly number[] {
  const path = join(folder, `.doctor-${process.pid}`);
  const fd = openSync(path, "wx", 0o600);
  try {
    return Array.from({ length: syncs }, () => {
      const from = performance.now();
      writeSync(fd, syncBytes);
      fsyncSync(fd);
      return performance.now() - from;
    });
  } finally {
    closeSync(fd);
    rmSync(path, { force: true });
  }
}

/** The folder's neighbours, where copies are made, and the places that commands and units take when none is named. */
function stateFolders(root: string): readonly string[] {
  const homes = ["/root", homedir(), ...namesOrNone("/home").map((name) => join("/home", name))];
  const usual = ["/var/lib/autowithdraw", ...homes.map((home) => join(home, ".local/share/autowithdraw"))];
  const beside = namesOrNone(dirname(root)).map((name) => join(dirname(root), name));
  return [...new Set([...usual, ...beside])].filter((path) => path !== root);
}

function namesOrNone(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function exposure(unit: string): number | null {
  const program = analyzers.find((path) => existsSync(path));
  if (program === undefined) return null;
  const done = spawnSync(program, ["security", "--no-pager", unit], {
    encoding: "utf8",
    timeout: analyzeMs,
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
  });
  return exposureIn(done.status === 0 ? done.stdout : "");
}

/**
 * The level in what systemd-analyze prints last; null when it printed none.
 * @public
 */
export function exposureIn(text: string): number | null {
  const level = /Overall exposure level for \S+: (\d+(?:\.\d+)?)/.exec(text)?.[1];
  return level === undefined ? null : Number(level);
}

/**
 * Asks for the gateway's first page; any answer has a date (RFC 9110 section 6.6.1).
 * @public
 */
export async function gatewayTime(url: string, now: () => number): Promise<GatewayTime> {
  const earliestMs = now();
  try {
    const answer = await fetch(url, { method: "HEAD", redirect: "manual", signal: AbortSignal.timeout(gatewayMs) });
    const dateMs = Date.parse(answer.headers.get("date") ?? "");
    if (Number.isNaN(dateMs)) return { ok: false, reason: "its answer has no date" };
    return { ok: true, dateMs, earliestMs, latestMs: now() };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return { ok: false, reason: reasonOf(cause) };
  }
}
