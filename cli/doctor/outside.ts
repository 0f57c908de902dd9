/**
 * The readings of this machine and its neighbours for `doctor`, as one object, so tests can give
 * their own.
 */
import { spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { askChainNodes, type ChainNodeViews } from "../../agent/check/chains.ts";
import { egressOf } from "../../agent/config/network.ts";
import type { AgentSettings } from "../../agent/config/settings.ts";
import { addLikelyCause } from "../../base/connection-words.ts";
import { useEgress } from "../../base/outgoing/egress.ts";
import { createOutgoingClient } from "../../base/outgoing/exchange.ts";
import { systemEnvironment } from "../../base/system-path.ts";
import { type Machine, thisMachine } from "../machine.ts";

export interface MachineAccess {
  readonly machine: Machine;
  readonly now: () => number; // Unix milliseconds
  readonly nodeVersion: string; // v20.11.0
  /** Mounted file systems as /proc/self/mounts lists them. */
  mounts(): string;
  /**
   * Milliseconds that each of a few small writes to a scratch file in `folder` takes to be durable.
   * Throws the disk's error.
   */
  syncsMs(folder: string): readonly number[];
  /** Bytes free for users other than root on the disk of `folder`; -1 for unknown. */
  freeBytes(folder: string): number;
  /** Folders other than `root` in which an agent may lie. They need not exist. */
  stateFolders(root: string): readonly string[];
  /** A unit's exposure by systemd-analyze security, 0 to 10; null for unknown. */
  exposure(unit: string): number | null;
  /** The date in the gateway's answer of any status. Never rejects. */
  gatewayTime(url: string): Promise<GatewayTime>;
  /**
   * Sets the way out of this process, before the questions to gateway and nodes. @throws AgentError
   * CONFIG_CA, FILE_*
   */
  leaveBy(network: AgentSettings["network"]): void;
  chains(
    settings: Pick<AgentSettings, "chains" | "currencies">,
  ): Promise<readonly ChainNodeViews[]>;
}

/** `earliestMs` and `latestMs`: this machine's clock before the question and after the answer. */
export type GatewayTime =
  | {
      readonly ok: true;
      readonly dateMs: number;
      readonly earliestMs: number;
      readonly latestMs: number;
    }
  | { readonly ok: false; readonly reason: string };

const syncs = 9;
const syncBytes = Buffer.alloc(4096, "doctor\n");
const gatewayMs = 5_000;
const headBytesMax = 1_024;
const analyzers = ["/usr/bin/systemd-analyze", "/bin/systemd-analyze"];
const analyzeMs = 10_000;

/** The real machine. Writes one scratch file, and removes it. */
export const realMachineAccess: MachineAccess = {
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
  leaveBy: (network) => {
    const egress = egressOf(network);
    if (egress !== null) useEgress(egress);
  },
  chains: (settings) => askChainNodes(settings),
};

function syncsMs(folder: string): readonly number[] {
  // A name that the ledger takes for a file that is still being made.
  const path = join(folder, `doctor-${process.pid}.tmp`);
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

/**
 * The default state folders of commands and units, and the folder's neighbours, where operators
 * make copies.
 */
function stateFolders(root: string): readonly string[] {
  const homes = ["/root", homedir(), ...namesOrNone("/home").map((name) => join("/home", name))];
  const usual = [
    "/var/lib/autowithdraw",
    ...homes.map((home) => join(home, ".local/share/autowithdraw")),
  ];
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
    env: systemEnvironment,
  });
  return exposureIn(done.status === 0 ? done.stdout : "");
}

/** The level in the last line of systemd-analyze; null without one. */
export function exposureIn(text: string): number | null {
  const level = /Overall exposure level for \S+: (\d+(?:\.\d+)?)/.exec(text)?.[1];
  return level === undefined ? null : Number(level);
}

/**
 * Asks for the gateway's first page, because every answer has a date (RFC 9110 section 6.6.1).
 * Never rejects.
 */
export function gatewayTime(url: string, now: () => number): Promise<GatewayTime> {
  const earliestMs = now();
  const outgoing = createOutgoingClient({
    origin: new URL(url).origin,
    connectionsMax: 1,
    idleMs: 0,
  });
  const request = {
    method: "HEAD",
    path: "/",
    bytesMax: headBytesMax,
    timeoutMs: gatewayMs,
    bodyMs: 1,
  } as const;
  return new Promise((resolve) => {
    outgoing.send(request, (outcome) => {
      outgoing.close();
      if (!outcome.ok) return resolve({ ok: false, reason: addLikelyCause(outcome.why) });
      const dateMs = Date.parse(outcome.date);
      if (Number.isNaN(dateMs)) return resolve({ ok: false, reason: "its answer has no date" });
      return resolve({ ok: true, dateMs, earliestMs, latestMs: now() });
    });
  });
}
