/**
 * Judges the machine under the agent: Node, the disk, the units, other state folders, the clocks.
 * Readings in, findings out.
 */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { ChainNodeViews } from "../../agent/check/chains.ts";
import { keystoreName } from "../../agent/files/keystore-name.ts";
import type { StateFolder } from "../../agent/files/state-folder.ts";
import { readKeystore } from "../../agent/keystore/file.ts";
import { readKeystoreHeader } from "../../agent/keystore/keystore.ts";
import { freeDiskBytesMinDefault } from "../../agent/ledger/options.ts";
import { bytesWords, ledgerRoomLeft } from "../../agent/problems/table.ts";
import { AgentError, reasonOf } from "../../base/fault.ts";
import { type Finding, newFinding } from "../../base/finding.ts";
import { typedCommand } from "../command-hint.ts";
import type { UnitView } from "../machine.ts";
import { serviceNames } from "../unit-names.ts";
import type { GatewayTime } from "./outside.ts";
import type { DoctorReport } from "./report.ts";

const dayMs = 86_400_000;
const warnedMs = 90 * dayMs;
/**
 * The last day of security updates, by major version. Source: github.com/nodejs/Release,
 * schedule.json.
 */
const nodeEnds: Readonly<Record<string, string>> = {
  18: "2025-04-30",
  19: "2023-06-01",
  20: "2026-04-30",
  21: "2024-06-01",
  22: "2027-04-30",
  23: "2025-06-01",
  24: "2028-04-30",
  25: "2026-06-01",
  26: "2029-04-30",
};

/**
 * A finding 90 days before the last security update and after it. A major version beyond the table
 * is newer than this program.
 */
export function judgeNodeVersion(version: string, nowMs: number): readonly Finding[] {
  const end = nodeEnds[/^v(\d+)\./.exec(version)?.[1] ?? ""];
  if (end === undefined) return [];
  const leftMs = Date.parse(`${end}T23:59:59Z`) - nowMs;
  if (leftMs > warnedMs) return [];
  const hint =
    "install Node 24 or later, then start crypto again; a distribution may mend its own package for longer";
  const when =
    leftMs < 0
      ? `had its last security updates on ${end}`
      : `gets security updates until ${end} only`;
  return [newFinding("DOCTOR_NODEJS_END", "warning", `Node ${version.slice(1)} ${when}`, hint)];
}

/** Types of file systems in memory. */
const forgetful = /^(?:tmpfs|ramfs|devtmpfs)$/;
/** Types of file systems on other machines, or in user space. */
const remote = /^(?:nfs\d?|cifs|smb\d?|9p|afs|ceph|glusterfs|fuse\..+|fuse)$/;

/**
 * The type of the file system that holds `path`, by the longest mount point above it; "" if
 * unknown.
 */
export function fileSystemOf(path: string, mounts: string): string {
  const rows = mounts.split("\n").map((line) => line.split(" "));
  const above = rows.filter(
    ([, at = ""]) => at === "/" || path === at || path.startsWith(`${at}/`),
  );
  return (
    above.reduce(
      (best, row) => ((row[1]?.length ?? 0) >= (best[1]?.length ?? 0) ? row : best),
      ["", "", ""],
    )[2] ?? ""
  );
}

/** `mounts` as in /proc/self/mounts. */
export function judgeFileSystem(path: string, mounts: string): readonly Finding[] {
  const type = fileSystemOf(path, mounts);
  const trouble = forgetful.test(type)
    ? "which forgets everything at a restart of the machine: the ledger with it"
    : remote.test(type)
      ? "where locks and syncs may not hold what they promise"
      : type === "overlay"
        ? "a container's own layer, which goes with the container: the ledger with it"
        : "";
  if (trouble === "") return [];
  const hint =
    "stop crypto, then mount a local disk (ext4, xfs) in that place and move all of the folder onto it";
  return [newFinding("DOCTOR_DISK_KIND", "error", `${path} is on ${type}, ${trouble}`, hint)];
}

const syncMsMax = 50;

/** Judges the median of the writes. */
export function judgeSyncs(path: string, syncsMs: readonly number[]): readonly Finding[] {
  const median = [...syncsMs].sort((a, b) => a - b)[Math.floor(syncsMs.length / 2)] ?? 0;
  if (median <= syncMsMax) return [];
  return [
    newFinding(
      "DOCTOR_DISK_SLOW",
      "warning",
      `a small write to ${path} takes ${Math.round(median)} ms to be durable (median)`,
    ),
  ];
}

/**
 * Judges the room by the least that the signer itself demands, while no signer answers.
 * `freeBytes` below 0: unknown.
 */
export function judgeFreeSpace(path: string, freeBytes: number): readonly Finding[] {
  const freeBytesMin = freeDiskBytesMinDefault;
  const left = ledgerRoomLeft({ freeBytes, freeBytesMin });
  if (left === "enough") return [];
  const what = `${bytesWords(freeBytes)} free on the disk of ${path}; below ${bytesWords(freeBytesMin)} nothing new is signed`;
  return [
    left === "none"
      ? newFinding("LEDGER_DISK_FULL", "error", what)
      : newFinding("DOCTOR_DISK_LOW", "warning", what),
  ];
}

export const unitsLookedAt = [
  ...serviceNames,
  "autowithdraw-signer.socket",
  "autowithdraw-operator.socket",
] as const;
/** The exposure of the units of packaging/systemd/, with a margin for other versions of systemd. */
const exposures = [
  ["autowithdraw-signer.service", 0.4],
  ["autowithdraw-courier.service", 1.5],
] as const;
const restartsMany = 10;

/**
 * `exposure` gives 0 to 10, null for unknown. A unit that runs and was never restarted often has no
 * finding.
 */
export function judgeUnits(
  units: ReadonlyMap<string, UnitView>,
  exposure: (unit: string) => number | null,
): readonly Finding[] {
  const findings = [...units].flatMap(
    ([name, { ActiveState, Result = "", ExecMainStatus = "", NRestarts = "0" }]): Finding[] => {
      const hint = `journalctl -u ${name} -n 20; then: systemctl reset-failed ${name} && systemctl start autowithdraw.target`;
      if (ActiveState === "failed")
        return [
          newFinding(
            "DOCTOR_UNIT_FAILED",
            "error",
            `${name} has failed (${Result}, status ${ExecMainStatus})`,
            hint,
          ),
        ];
      if (Number(NRestarts) <= restartsMany) return [];
      return [
        newFinding(
          "DOCTOR_UNIT_FAILED",
          "warning",
          `${name} was started again ${NRestarts} times`,
          `journalctl -u ${name} -n 50`,
        ),
      ];
    },
  );
  for (const [name, most] of exposures) {
    const level = exposure(name);
    if (level === null || level <= most) continue;
    const hint = `systemctl cat ${name}: look for drop-ins, and compare with packaging/systemd/${name} of this version`;
    findings.push(
      newFinding(
        "DOCTOR_UNIT_EXPOSED",
        "warning",
        `${name} has an exposure of ${level}, and its own file gives at most ${most}`,
        hint,
      ),
    );
  }
  return findings;
}

/** Finds other agents in `folders`; one with the same wallet is an error. */
export function findOtherAgents(state: StateFolder, folders: readonly string[]): DoctorReport {
  const own = walletIn(state.signer);
  const findings = folders.flatMap((root): Finding[] => {
    const wallet = walletIn(join(root, "signer"));
    if (wallet === null) return [];
    if (wallet === "" || wallet !== own) {
      const hint = `if nothing runs on it any more, archive it; if it is another agent, look at it with: ${typedCommand(`doctor --state ${root}`)}`;
      return [newFinding("DOCTOR_AGENTS_MANY", "warning", `${root} holds an agent too`, hint)];
    }
    const what = `${root} holds the same wallet: an agent started there would give out the same slots again`;
    return [
      newFinding(
        "DOCTOR_AGENTS_MANY",
        "error",
        what,
        `archive it where no crypto can start on it: tar -C ${root} -cf FILE . && rm -r ${root}`,
      ),
    ];
  });
  return { findings, unseen: [] };
}

/**
 * The wallet of a keystore; null without a keystore, "" for a keystore that this user cannot read.
 */
function walletIn(signer: string): string | null {
  try {
    if (lstatSync(join(signer, keystoreName), { throwIfNoEntry: false }) === undefined) return null;
    return readKeystoreHeader(readKeystore(signer)).wallet;
  } catch (error) {
    if (error instanceof AgentError) return "";
    // ENOTDIR: a neighbour that is a file. EACCES: the folder of another user, which this user
    // cannot judge.
    return reasonOf(error) === "EACCES" || reasonOf(error) === "ENOTDIR" ? null : "";
  }
}

const skewMsMax = 30_000;
/** Nothing is signed beyond this difference (docs/operations.md, CLOCK_SKEW). */
const skewMsStops = 600_000;
/**
 * By a correct clock the newest block is at most this old. A chain lets block times be ahead a
 * little.
 */
const freshMs = 120_000;
const aheadMs = 15_000;

/**
 * Compares this machine's clock with the gateway's. The newest block of any chain decides which
 * clock is wrong, because the time of this block has surely passed.
 */
export function judgeClocks(
  nowMs: number,
  gateway: GatewayTime | null,
  chains: readonly ChainNodeViews[],
): readonly Finding[] {
  const blockAtMs = Math.max(
    0,
    ...chains.flatMap(({ nodes }) => nodes.map((node) => node.blockAtMs)),
  );
  const isBehindBlock = blockAtMs > nowMs + aheadMs * 4;
  if (gateway === null || !gateway.ok) {
    return isBehindBlock
      ? [
          clockFinding(
            "DOCTOR_CLOCK_HERE",
            `this machine's clock is at least ${durationWords(blockAtMs - nowMs)} behind the newest block`,
            blockAtMs - nowMs,
          ),
        ]
      : [];
  }
  // The header counts only seconds, and the answer took a while, so only a difference beyond both
  // counts.
  const apartMs =
    gateway.dateMs > gateway.latestMs
      ? gateway.dateMs - gateway.latestMs
      : Math.max(0, gateway.earliestMs - gateway.dateMs - 1_000);
  if (apartMs <= skewMsMax) return [];
  const isAhead = gateway.dateMs > gateway.latestMs;
  const gatewayNowMs = isAhead ? nowMs + apartMs : nowMs - apartMs;
  const fitsHere = blockAtMs > 0 && blockAtMs <= nowMs + aheadMs && nowMs - blockAtMs <= freshMs;
  const fitsGateway =
    blockAtMs > 0 && blockAtMs <= gatewayNowMs + aheadMs && gatewayNowMs - blockAtMs <= freshMs;
  const apart = `the gateway's clock is ${durationWords(apartMs)} ${isAhead ? "ahead of" : "behind"} this machine's`;
  if (fitsHere && !fitsGateway)
    return [
      clockFinding(
        "DOCTOR_CLOCK_GATEWAY",
        `${apart}, and the newest block says that this machine is right`,
        apartMs,
      ),
    ];
  if (fitsGateway && !fitsHere)
    return [
      clockFinding(
        "DOCTOR_CLOCK_HERE",
        `${apart}, and the newest block says that the gateway is right`,
        apartMs,
      ),
    ];
  return [
    clockFinding("CLOCK_SKEW", `${apart}, and no chain says which of the two is right`, apartMs),
  ];
}

function clockFinding(
  code: "DOCTOR_CLOCK_HERE" | "DOCTOR_CLOCK_GATEWAY" | "CLOCK_SKEW",
  what: string,
  apartMs: number,
): Finding {
  const isStop = apartMs > skewMsStops;
  return newFinding(
    code,
    isStop ? "error" : "warning",
    `${what}${isStop ? "; beyond ten minutes nothing is signed" : ""}`,
  );
}

function durationWords(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} minutes`;
}
