/**
 * `doctor`: looks for every known problem of an agent on its server before it does harm, and
 * reports each with a code, a sentence and the line to type. Works as root or as an operator.
 * Changes nothing; one scratch file is written and removed.
 */

import { join } from "node:path";
import { judgeChains } from "../../agent/check/chains.ts";
import { findConfigFile } from "../../agent/config/location.ts";
import type { StateFolder } from "../../agent/files/state-folder.ts";
import { exitCodes } from "../../agent/launcher/exit-status.ts";
import { assertPaired } from "../../agent/launcher/paired.ts";
import type { SignerStatus } from "../../agent/socket/verbs.ts";
import { AgentError, reasonOf } from "../../base/fault.ts";
import { type Finding, faultFound, orFinding } from "../../base/finding.ts";
import { jsonText } from "../../base/visible.ts";
import { askOperator } from "../operator.ts";
import { isPast, readProgress } from "../pair/progress.ts";
import type { Terminal } from "../terminal.ts";
import { verifyState } from "../verify.ts";
import { awayFinding, judgeLimits, judgeStatus } from "./agent.ts";
import { type ConfigLook, lookAtConfig } from "./config.ts";
import { judgeTree, readTree } from "./files.ts";
import {
  judgeClocks,
  judgeFileSystem,
  judgeNode,
  judgeRoom,
  judgeSyncs,
  judgeUnits,
  lookAtOthers,
  unitsLookedAt,
} from "./machine.ts";
import type { MachineAccess } from "./outside.ts";
import { type DoctorReport, joinReports, nothing } from "./report.ts";

export interface DoctorOptions {
  readonly config?: string | undefined;
  readonly json?: boolean | undefined;
}

const listMax = 500;
const quietMs = 1_000;

/**
 * Prints the findings, errors first, and the parts that this user could not look at. Resolves with
 * 0 without a finding, else with 1.
 * @throws AgentError COMMAND_RIGHT when this user could look at nothing
 */
export async function runDoctor(
  state: StateFolder,
  options: DoctorOptions,
  terminal: Terminal,
  outside: MachineAccess,
): Promise<number> {
  const say = progress(terminal, outside.now);
  const agent = await lookAtAgent(state, outside, say);
  say("the state folder");
  const folder = lookAtFolder(state);
  say("config.json");
  const config = configOf(
    state,
    options.config ?? agent.status?.config.path,
    folder.isPaired,
    outside,
  );
  say("the disk, the units and other folders");
  const machine = lookAtMachine(state, agent.status, outside);
  say("the chains' nodes and the gateway");
  const network =
    config.settings === null ? nothing : await lookAtNetwork(config.settings, outside);
  const { findings, unseen } = joinReports([agent, folder, config, machine, network]);
  if (
    !agent.isSeen &&
    !folder.isSeen &&
    config.settings === null &&
    findings.every(({ code }) => code === "DOCTOR_NODEJS_END")
  )
    throw new AgentError(
      "COMMAND_RIGHT",
      "none",
      `this user may look at nothing of the agent in ${state.root}`,
      {
        hint: "run it as root, or as a member of autowithdraw-operators",
      },
    );
  const ordered = [...findings].sort(
    (a, b) => Number(a.severity === "warning") - Number(b.severity === "warning"),
  );
  if (options.json === true)
    terminal.out(`${jsonText({ ok: findings.length === 0, findings: ordered, unseen })}\n`);
  else terminal.out(report(ordered, unseen));
  return findings.length === 0 ? exitCodes.fine : exitCodes.no;
}

/** Names the check that begins on the terminal, after a second has passed. */
function progress(terminal: Terminal, now: () => number): (what: string) => void {
  const from = now();
  return (what) => {
    if (terminal.isInteractive && now() - from >= quietMs)
      terminal.err(`doctor: looking at ${what}\n`);
  };
}

function report(findings: readonly Finding[], unseen: readonly string[]): string {
  const head =
    findings.length === 0
      ? "nothing found"
      : `${findings.length} ${findings.length === 1 ? "finding" : "findings"}`;
  const lines = findings.map(
    ({ code, severity, what, hint }) =>
      `\n  - ${severity} ${code}\n    ${what}\n    hint: ${hint}\n`,
  );
  const closed =
    unseen.length === 0
      ? ""
      : `\nnot looked at, as this user:\n${unseen.map((one) => `  - ${one}\n`).join("")}`;
  return `${head}\n${lines.join("")}${closed}`;
}

interface AgentLook extends DoctorReport {
  readonly status: SignerStatus | null;
  readonly isSeen: boolean;
}

async function lookAtAgent(
  state: StateFolder,
  outside: MachineAccess,
  say: (what: string) => void,
): Promise<AgentLook> {
  const { machine } = outside;
  const findings: Finding[] = [];
  const unseen: string[] = [];
  let status: SignerStatus | null = null;
  let isSeen = true;
  const attempt = async (what: string, act: () => Promise<void>): Promise<void> => {
    say(what);
    try {
      await act();
    } catch (error) {
      const found = awayFinding(error);
      if (found === null) unseen.push(what);
      else findings.push(found);
      if (found === null && what === "the signer") isSeen = false;
    }
  };
  await attempt("the signer", async () => {
    status = (await askOperator(state, "status", {}, machine)).status;
    const config = machine.configOnDisk(status.config.path);
    findings.push(
      ...judgeStatus(status, {
        nowMs: outside.now(),
        isUnderUnits: machine.isUnderUnits(state),
        config,
      }),
    );
  });
  const known = status as SignerStatus | null;
  const isAnswering = known !== null;
  // A signer that hangs, or a folder without an agent, would cause the same finding again.
  const isReadHere = findings.every(
    ({ code }) => code === "COMMAND_DAEMON_AWAY" || code === "LEDGER_READ_ONLY",
  );
  if (!isAnswering && !isReadHere) return { status, isSeen, findings, unseen };
  await attempt("the ledger, read back whole", async () => void (await verifyState(state)));
  if (isAnswering)
    await attempt("the limits against what was paid", async () => {
      const { withdrawals } = await askOperator(
        state,
        "list",
        { openOnly: false, limit: listMax },
        machine,
      );
      findings.push(...judgeLimits(known.limits, withdrawals));
    });
  return { status, isSeen, findings, unseen };
}

interface FolderLook extends DoctorReport {
  readonly isPaired: boolean;
  readonly isSeen: boolean;
}

function lookAtFolder(state: StateFolder): FolderLook {
  const tree = readTree(state.root);
  const { findings, unseen } = judgeTree(state, tree);
  const whole: Finding[] = [];
  let isPaired = false;
  try {
    isPaired = isPast(readProgress(state), "registered");
    assertPaired(state, "both");
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    if (error.code !== "COMMAND_RIGHT" && error.code !== "STATE_FOLDER")
      whole.push(faultFound(error));
  }
  return { isPaired, isSeen: tree.entries.length > 1, findings: [...whole, ...findings], unseen };
}

/** The system's errors for a disk that takes no writes, each with its code. */
const diskFaults: Readonly<
  Record<string, "LEDGER_READ_ONLY" | "LEDGER_DISK_FULL" | "LEDGER_POISONED">
> = {
  EROFS: "LEDGER_READ_ONLY",
  ENOSPC: "LEDGER_DISK_FULL",
  EIO: "LEDGER_POISONED",
};

function lookAtMachine(
  state: StateFolder,
  status: SignerStatus | null,
  outside: MachineAccess,
): DoctorReport {
  const { machine } = outside;
  // The ledger may have a disk of its own.
  const ledger = join(state.signer, "ledger");
  const folder = machine.isThere(ledger) ? ledger : state.root;
  const disk = (): readonly Finding[] => {
    const room = status === null ? judgeRoom(folder, outside.freeBytes(folder)) : [];
    return [
      ...judgeFileSystem(folder, outside.mounts()),
      ...room,
      ...judgeSyncs(folder, outside.syncsMs(folder)),
    ];
  };
  const units = machine.isUnderUnits(state)
    ? judgeUnits(machine.units(unitsLookedAt), outside.exposure)
    : [];
  const others = lookAtOthers(state, outside.stateFolders(state.root));
  const findings = [...judgeNode(outside.nodeVersion, outside.now()), ...units, ...others.findings];
  // The signer has already reported that its disk takes no writes.
  if (status?.ledgerReadOnly === true) return { findings, unseen: others.unseen };
  try {
    return { findings: [...disk(), ...findings], unseen: others.unseen };
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === "ENOENT") return { findings, unseen: others.unseen };
    const code = diskFaults[reason];
    if (code === undefined)
      return {
        findings,
        unseen: [...others.unseen, `how long the disk of ${folder} takes to sync (${reason})`],
      };
    const fault = new AgentError(code, "none", `nothing can be written in ${folder} (${reason})`);
    return { findings: [faultFound(fault), ...findings], unseen: [] };
  }
}

/**
 * Without --config and without a signer, a missing config.json is no finding: the real one may lie
 * elsewhere.
 */
function configOf(
  state: StateFolder,
  named: string | undefined,
  isPaired: boolean,
  { machine }: MachineAccess,
): ConfigLook {
  const path = findConfigFile(named);
  const isInstalled = machine.isUnderUnits(state) && (process.env.AUTOWITHDRAW_CONFIG ?? "") !== "";
  if (named === undefined && !isInstalled && machine.configOnDisk(path).is === "gone")
    return {
      settings: null,
      findings: [],
      unseen: ["config.json: name it with --config, since no signer says where it is"],
    };
  return lookAtConfig(path, state, {
    isNamed: named !== undefined,
    isPaired,
    isUnderUnits: machine.isUnderUnits(state),
  });
}

type Settings = NonNullable<ReturnType<typeof lookAtConfig>["settings"]>;

async function lookAtNetwork(settings: Settings, outside: MachineAccess): Promise<DoctorReport> {
  const unusable: Finding[] = [];
  orFinding(unusable, () => outside.leaveBy(settings.network));
  if (unusable.length > 0)
    return { findings: unusable, unseen: ["the chains' nodes and the gateway's clock"] };
  const [chains, gateway] = await Promise.all([
    outside.chains(settings),
    outside.gatewayTime(settings.gatewayUrl),
  ]);
  const clocks = judgeClocks(outside.now(), gateway, chains);
  // The age of a block proves nothing while the clock of this machine is in doubt.
  const nodes = judgeChains(settings, chains, outside.now()).filter(
    ({ code }) => code !== "NODE_STALE" || clocks.length === 0,
  );
  const findings = [...nodes, ...clocks];
  return {
    findings,
    unseen: gateway.ok
      ? []
      : [`the gateway's clock: ${settings.gatewayUrl} cannot be asked (${gateway.reason})`],
  };
}
