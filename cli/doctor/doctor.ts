/**
 * `doctor`: looks for every known problem of an agent on its server before it does harm, and
 * reports each with a code, a sentence and the line to type. Works as root or as an operator.
 * Changes nothing; one scratch file is written and removed.
 */

import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { judgeChainNodeViews } from "../../agent/check/chains.ts";
import { readConfig } from "../../agent/config/config.ts";
import { findConfigFile } from "../../agent/config/location.ts";
import type { AgentSettings } from "../../agent/config/settings.ts";
import type { StateFolder } from "../../agent/files/state-folder.ts";
import { exitCodes } from "../../agent/launcher/exit-status.ts";
import { assertPaired } from "../../agent/launcher/paired.ts";
import { isRootSigner } from "../../agent/problems/table.ts";
import type { LimitView, OperatorView, SignerStatus } from "../../agent/socket/verbs.ts";
import { type Code, codes } from "../../base/codes.ts";
import { AgentError, reasonOf } from "../../base/fault.ts";
import { type Finding, findingOfFault, newFinding, runOrAddFinding } from "../../base/finding.ts";
import { version } from "../../base/version.ts";
import { formatTerminalSafeJson, shellWord } from "../../base/visible.ts";
import { parseAmount } from "../../protocol/amount.ts";
import { isCopyNameOf, secretNamesIn } from "../config-copies.ts";
import { askOperator } from "../operator.ts";
import { isStepCompleted, readProgress } from "../pair/progress.ts";
import { problemsOf, type StatusContext } from "../status/problems.ts";
import type { Terminal } from "../terminal.ts";
import { verifyState } from "../verify.ts";
import { judgeTree, readTree } from "./files.ts";
import {
  findOtherAgents,
  judgeClocks,
  judgeFileSystem,
  judgeFreeSpace,
  judgeNodeVersion,
  judgeSyncs,
  judgeUnits,
  unitsLookedAt,
} from "./machine.ts";
import type { MachineAccess } from "./outside.ts";
import { type DoctorReport, emptyReport, joinReports } from "./report.ts";

/*
 * Examines config.json and its folder: errors in the file, remaining secrets, copies with secrets,
 * a misplaced encKey.
 */

interface ConfigLook extends DoctorReport {
  readonly settings: AgentSettings | null;
}

const namesMax = 4_096;

interface ConfigContext {
  readonly isNamed: boolean; // named by an operator, or by the signer that runs with it
  readonly isPaired: boolean; // true if mnemonic and apiKey must no longer be in the file
  readonly isUnderUnits: boolean;
}

/** `settings` is null if the file does not parse. */
function lookAtConfig(path: string, state: StateFolder, about: ConfigContext): ConfigLook {
  const { isNamed, isPaired, isUnderUnits } = about;
  const beside = besideFindings(path, state);
  try {
    const { settings, secrets } = readConfig(path, { requireSecrets: [], isNamed });
    const secretsFound = Object.keys(secrets);
    for (const secret of Object.values(secrets)) secret.fill(0);
    const findings = [
      ...secretFindings(path, secretsFound, isPaired, isUnderUnits),
      ...policyFindings(settings),
      ...beside.findings,
    ];
    return { settings, findings, unseen: beside.unseen };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    if (error.code !== "CONFIG_UNREADABLE")
      return {
        settings: null,
        findings: [findingOfFault(error), ...beside.findings],
        unseen: beside.unseen,
      };
    const unseen = [
      `${path}, and with it the chains' nodes and the gateway's time (this user may not read it)`,
      ...beside.unseen,
    ];
    return { settings: null, findings: [...exposedFindings(path), ...beside.findings], unseen };
  }
}

/** A user without the right to read the file can still see its mode. */
function exposedFindings(path: string): readonly Finding[] {
  try {
    if ((statSync(path).mode & 0o077) === 0) return [];
  } catch {
    return [];
  }
  return [
    newFinding(
      "FILE_EXPOSED",
      "error",
      `${path} can be reached by others than its owner`,
      `chmod 600 ${path}`,
    ),
  ];
}

function secretFindings(
  path: string,
  secretsFound: readonly string[],
  isPaired: boolean,
  isUnderUnits: boolean,
): readonly Finding[] {
  const findings: Finding[] = [];
  const left = secretsFound.filter((name) => name !== "encKey");
  if (isPaired && left.length > 0) {
    const hint =
      "write the mnemonic down, then run pair again and answer yes: it does only what is left";
    findings.push(
      newFinding(
        "PAIRING_SECRETS_KEPT",
        "error",
        `${path} still holds ${left.join(" and ")}, though this server is paired`,
        hint,
      ),
    );
  }
  if (!secretsFound.includes("encKey")) return findings;
  const what = `${path} holds encKey, on the same machine as the keystore that it opens`;
  const code = isUnderUnits ? "CONFIG_SECRET_PRESENT" : "DOCTOR_ENCKEY_BESIDE";
  findings.push(newFinding(code, isUnderUnits ? "error" : "warning", what));
  return findings;
}

function policyFindings({ currencies, policy }: AgentSettings): readonly Finding[] {
  return Object.keys(currencies)
    .filter((id) => !Object.hasOwn(policy, id))
    .map((id) =>
      newFinding(
        "POLICY_NONE",
        "warning",
        `${id} is in config.json and has no policy: every order of it is refused`,
        `add policy.${id}, or take ${id} out of currencies`,
      ),
    );
}

/**
 * Finds copies of config.json in its folder, and encKey next to the keystore or next to its
 * credential.
 */
function besideFindings(path: string, state: StateFolder): DoctorReport {
  const folder = dirname(path);
  const unseen: string[] = [];
  const names = (where: string): readonly string[] => {
    try {
      return readdirSync(where).slice(0, namesMax);
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== "ENOENT" && reason !== "ENOTDIR") unseen.push(`${where} (${reason})`);
      return [];
    }
  };
  const near = names(folder);
  const copies = near
    .filter((name) => isCopyNameOf(name, basename(path)))
    .map((name) => copyFinding(join(folder, name)));
  const plain = near.includes("encKey.cred")
    ? near.filter(isEncKey).map((name) => plainFinding(join(folder, name)))
    : [];
  const inside = [state.root, state.signer].flatMap((where) =>
    names(where)
      .filter(isEncKey)
      .map((name) => join(where, name)),
  );
  return { findings: [...copies, ...plain, ...inside.map(besideFinding)], unseen };
}

const isEncKey = (name: string): boolean =>
  /^\.?enc[-_]?key(?:\.(?:txt|hex|key|bin))?$/i.test(name);

/** The operator types this line, but another user may have chosen the file's name. */
function lineFor(path: string, command: string): string {
  return `${command} ${shellWord(path) ?? "the file named above, by hand"}`;
}

function copyFinding(path: string): Finding {
  const secretsFound = secretNamesIn(path);
  if (secretsFound === null)
    return newFinding(
      "DOCTOR_CONFIG_COPY",
      "warning",
      `${path} looks like a copy of config.json, and this user may not read it`,
      lineFor(path, "ls -l"),
    );
  if (secretsFound.length > 0)
    return newFinding(
      "DOCTOR_CONFIG_COPY_SECRET",
      "error",
      `${path} is a copy of config.json and holds ${secretsFound.join(", ")}`,
      lineFor(path, "shred -u"),
    );
  return newFinding(
    "DOCTOR_CONFIG_COPY",
    "warning",
    `${path} looks like a copy of config.json, without secrets`,
    lineFor(path, "rm"),
  );
}

function plainFinding(path: string): Finding {
  return newFinding(
    "DOCTOR_ENCKEY_PLAIN",
    "error",
    `${path} is a plain file beside encKey.cred`,
    `keep a copy elsewhere, then: shred -u ${path}`,
  );
}

function besideFinding(path: string): Finding {
  const hint = "move it away from the state folder: docs/operations.md, section 3";
  return newFinding(
    "DOCTOR_ENCKEY_BESIDE",
    "error",
    `${path} lies in the state folder, beside the keystore that it opens`,
    hint,
  );
}

/*
 * Judges the running agent by its own answers: `status`, isolation, version, and limits against
 * past payments. Pure.
 */

/** A finding for every problem of `status`, and for isolation and version. */
function judgeStatus(status: SignerStatus, seen: StatusContext): readonly Finding[] {
  const problems = problemsOf(status, seen).map(({ code, what, hint, isWarning }) => {
    const known = (Object.hasOwn(codes, code) ? code : "SOCKET_FORMAT") as Code;
    return newFinding(
      known,
      isWarning ? "warning" : "error",
      what,
      hint === "" ? "wait: it is tried again by itself" : hint,
    );
  });
  return [...problems, ...isolationFindings(status, seen), ...versionFindings(status, seen)];
}

/** A signer that runs as root is a problem of `status` already, so it is no finding here. */
function isolationFindings(
  status: SignerStatus,
  { isUnderUnits }: StatusContext,
): readonly Finding[] {
  const { isolation } = status;
  if (isRootSigner(status)) return [];
  if (/^level [2-9]\b/.test(isolation)) return [];
  if (isUnderUnits)
    return [
      newFinding(
        "DOCTOR_ISOLATION",
        "error",
        `the signer's unit gives it less than its own file says: ${isolation}`,
        "systemctl cat autowithdraw-signer: look for drop-ins",
      ),
    ];
  return [
    newFinding(
      "DOCTOR_ISOLATION",
      "warning",
      `the signer is not set apart as its units would do it: ${isolation}`,
    ),
  ];
}

function versionFindings(
  status: SignerStatus,
  { isUnderUnits }: StatusContext,
): readonly Finding[] {
  if (status.version === version) return [];
  const hint = isUnderUnits
    ? "systemctl restart autowithdraw.target"
    : "stop crypto and start it again";
  return [
    newFinding(
      "DOCTOR_VERSION_OTHER",
      "warning",
      `the signer that runs is ${status.version}, and this program is ${version}`,
      hint,
    ),
  ];
}

const dayMs = 86_400_000;
/** Fewer payments show no habit. */
const paymentsMin = 10;
/** A limit this many times the largest payment is wide. */
const factorMax = 100n;

/**
 * Finds limits far above all payments. `withdrawals`: the newest ones of the signer's list, in any
 * state.
 */
function judgeLimits(
  limits: readonly LimitView[],
  withdrawals: readonly OperatorView[],
): readonly Finding[] {
  return limits.flatMap((limit) => {
    const paid = withdrawals.filter((one) => one.currency === limit.currency && one.slot !== "");
    const [first] = paid;
    if (first === undefined || paid.length < paymentsMin) return [];
    const largest = paid.reduce(
      (most, one) => (BigInt(one.amountUnits) > most ? BigInt(one.amountUnits) : most),
      0n,
    );
    return [
      ...wideFindings(limit, "maxPerWithdrawal", first, largest, "the largest payment"),
      ...wideFindings(limit, "maxPerDay", first, largestDay(paid), "the most in 24 hours"),
    ];
  });
}

/** The largest sum within 24 hours, in base units. */
function largestDay(paid: readonly OperatorView[]): bigint {
  const byTime = [...paid].sort((a, b) => a.requestedAt - b.requestedAt);
  let most = 0n;
  let sum = 0n;
  let from = 0;
  for (const one of byTime) {
    sum += BigInt(one.amountUnits);
    for (
      let first = byTime[from];
      first !== undefined && one.requestedAt - first.requestedAt > dayMs;
      first = byTime[from]
    ) {
      sum -= BigInt(first.amountUnits);
      from += 1;
    }
    if (sum > most) most = sum;
  }
  return most;
}

function wideFindings(
  limit: LimitView,
  key: "maxPerWithdrawal" | "maxPerDay",
  { decimal }: OperatorView,
  usedUnits: bigint,
  usedWords: string,
): readonly Finding[] {
  const most = parseAmount(limit[key], decimal);
  if (!most.ok || usedUnits === 0n) return [];
  const factor = most.units / usedUnits;
  if (factor < factorMax) return [];
  const what = `${key} of ${limit.currency}, ${limit[key]}, is ${factor} times ${usedWords} so far`;
  return [
    newFinding(
      "DOCTOR_LIMIT_WIDE",
      "warning",
      what,
      `lower policy.${limit.currency}.${key} in config.json: an attacker may use all of it`,
    ),
  ];
}

/**
 * The finding for a signer that is away or silent; null for a missing right, which leaves a part
 * unseen.
 */
function awayFinding(error: unknown): Finding | null {
  if (!(error instanceof AgentError)) throw error;
  return error.code === "COMMAND_RIGHT" ? null : findingOfFault(error);
}

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
    config.settings === null ? emptyReport : await lookAtNetwork(config.settings, outside);
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
    terminal.out(
      `${formatTerminalSafeJson({ ok: findings.length === 0, findings: ordered, unseen })}\n`,
    );
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
    isPaired = isStepCompleted(readProgress(state), "registered");
    assertPaired(state, "both");
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    if (error.code !== "COMMAND_RIGHT" && error.code !== "STATE_FOLDER")
      whole.push(findingOfFault(error));
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
    const room = status === null ? judgeFreeSpace(folder, outside.freeBytes(folder)) : [];
    return [
      ...judgeFileSystem(folder, outside.mounts()),
      ...room,
      ...judgeSyncs(folder, outside.syncsMs(folder)),
    ];
  };
  const units = machine.isUnderUnits(state)
    ? judgeUnits(machine.units(unitsLookedAt), outside.exposure)
    : [];
  const others = findOtherAgents(state, outside.stateFolders(state.root));
  const findings = [
    ...judgeNodeVersion(outside.nodeVersion, outside.now()),
    ...units,
    ...others.findings,
  ];
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
    return { findings: [findingOfFault(fault), ...findings], unseen: [] };
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
  runOrAddFinding(unusable, () => outside.leaveBy(settings.network));
  if (unusable.length > 0)
    return { findings: unusable, unseen: ["the chains' nodes and the gateway's clock"] };
  const [chains, gateway] = await Promise.all([
    outside.chains(settings),
    outside.gatewayTime(settings.gatewayUrl),
  ]);
  const clocks = judgeClocks(outside.now(), gateway, chains);
  // The age of a block proves nothing while the clock of this machine is in doubt.
  const nodes = judgeChainNodeViews(settings, chains, outside.now()).filter(
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
