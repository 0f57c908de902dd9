/**
 * `autowithdraw install`, `upgrade` and `uninstall`: examines the machine, plans, carries out step
 * by step and prints each step, then the lines to type next. Loads no package, because a bare
 * server has none before.
 */
import "../../base/no-inspector.ts";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { programFolder } from "../../agent/config/location.ts";
import { readPrivateFile } from "../../agent/files/private-file.ts";
import { installedConfig, installedCredential, installedState } from "../../agent/installed.ts";
import {
  exitCodes,
  exitVerdictOfError,
  formatExitVerdict,
} from "../../agent/launcher/exit-status.ts";
import { AgentError } from "../../base/fault.ts";
import { systemEnvironment } from "../../base/system-path.ts";
import { processTerminal, type Terminal } from "../terminal.ts";
import { type InstallCommand, installHelp, readInstallCommand } from "./command-line.ts";
import { sealEncKey } from "./credential.ts";
import { gatewayConfig, type Layout, layouts, takeAwayFile } from "./layout.ts";
import {
  assertFit,
  assertUpgrade,
  needsRestart,
  planInstall,
  type Step,
  type Survey,
} from "./plan.ts";
import { listKeptByRemoval, planRemoval } from "./removal.ts";
import { carryOutInstallAct, type InstallContext } from "./steps.ts";
import { gatherRemovalSurvey, gatherSurvey } from "./survey.ts";

/** The entry of the three commands. Resolves with the exit code; never rejects. */
export async function main(argv: readonly string[]): Promise<number> {
  const terminal = processTerminal();
  // Root's own umask may be stricter, but every user must be able to read program and units.
  process.umask(0o022);
  try {
    const command = readInstallCommand(argv);
    if (command.isHelp) terminal.out(installHelp);
    else if (command.command === "uninstall") await uninstall(command, terminal);
    else await install(command, terminal);
    return exitCodes.fine;
  } catch (error) {
    const verdict = exitVerdictOfError(error);
    const name = argv.includes("--gateway") ? "autowithdraw-gateway" : "autowithdraw";
    terminal.err(formatExitVerdict(verdict, name));
    return verdict.exitCode;
  }
}

async function install(command: InstallCommand, terminal: Terminal): Promise<void> {
  const layout = layouts[command.part];
  const from = programFolder();
  const survey = await gatherSurvey(layout, from, command.root);
  if (!command.isDry) assertFit(survey, layout, command.isYes);
  if (command.command === "upgrade") assertUpgrade(survey, layout, from);
  assertReadable(command, survey);
  const npm = survey.npm === null ? "npm is not here" : `npm ${survey.npm}`;
  const systemd = survey.systemd === null ? "no systemd" : `systemd ${survey.systemd}`;
  terminal.out(`  checked  Node ${survey.nodeVersion} in ${survey.node}, ${npm}, ${systemd}\n`);
  const steps = planInstall(survey, layout, {
    config: command.config,
    encKeyFile: command.encKeyFile,
    yes: command.isYes,
  });
  const { encKeyFile } = command;
  const places = {
    credential: installedCredential,
    config: installedConfig,
    takeAway: takeAwayFile,
    encKeyFile,
  };
  const context = {
    from,
    root: command.root,
    node: survey.node,
    seal: () => sealEncKey(places, command.isYes, terminal),
  };
  for (const step of steps) await carry(step, context, command.isDry, terminal);
  if (command.isDry) {
    terminal.out("nothing was done: --dry-run\n");
    return;
  }
  if (command.root === "" && needsRestart(survey)) restart(layout, survey.node, terminal);
  terminal.out(nextWords(survey, layout, command));
}

/**
 * Runs before the first step, so a mistyped name leaves nothing half done. Also runs for --dry-run,
 * which would otherwise promise too much.
 */
function assertReadable({ config, encKeyFile }: InstallCommand, { installed }: Survey): void {
  const named = (option: string): string => `name the file with ${option}, readable by this user`;
  if (config !== undefined && !installed.hasConfig)
    readPrivateFile(config, { owner: "any", hint: named("--config") }).fill(0);
  if (encKeyFile !== undefined)
    readPrivateFile(encKeyFile, { hint: named("--enc-key-file") }).fill(0);
}

const doneWords = { make: "made", change: "changed", keep: "kept", leave: "skipped" } as const;
const dryWords = { make: "make", change: "change", keep: "keep", leave: "skip" } as const;

async function carry(
  { state, name, says, acts }: Step,
  context: InstallContext,
  isDry: boolean,
  terminal: Terminal,
): Promise<void> {
  const found: string[] = [];
  if (!isDry && acts.some(({ kind }) => kind === "program"))
    terminal.out(
      "  waiting  for npm, which brings the packages from the registry: up to some minutes\n",
    );
  if (!isDry) for (const act of acts) found.push(await carryOutInstallAct(act, context));
  const words = found.find((text) => text !== "") ?? says;
  const word = isDry ? dryWords[state] : doneWords[state];
  terminal.out(`  ${word.padEnd(9)}${name}${words === "" ? "" : `: ${words}`}\n`);
}

const readyTimeoutSeconds = 60;

/**
 * Restarts the unit, and asks it until it answers. @throws AgentError INSTALL_NOT_READY after 60 s,
 * with the way back as hint
 */
function restart(
  { unit, program, launcher, part }: Layout,
  node: string,
  terminal: Terminal,
): void {
  const asked =
    part === "agent"
      ? ["status", "--state", installedState, "--json"]
      : ["health", "--config", gatewayConfig];
  const isAway = (): boolean =>
    spawnSync(node, [join(program, launcher), ...asked], { stdio: "ignore" }).status ===
    exitCodes.unreachable;
  const back = `mv ${program} ${program}.failed && mv ${program}.old ${program} && systemctl restart ${unit}`;
  const restarted =
    spawnSync("systemctl", ["restart", unit], { stdio: ["ignore", 2, 2], env: systemEnvironment })
      .status === 0;
  if (restarted && isAway())
    terminal.out(
      `  waiting  for ${unit}: it has up to ${readyTimeoutSeconds} s until it answers\n`,
    );
  const until = performance.now() + readyTimeoutSeconds * 1000;
  while (restarted && isAway() && performance.now() < until)
    spawnSync("sleep", ["1"], { env: systemEnvironment });
  if (!restarted || isAway()) {
    throw new AgentError(
      "INSTALL_NOT_READY",
      "done",
      `${unit} was not ready ${readyTimeoutSeconds} s after its restart`,
      {
        hint: `journalctl -u 'autowithdraw-*' -n 50; the way back: ${back}`,
      },
    );
  }
  terminal.out(`  restarted ${unit}: it answers. The way back: ${back}\n`);
}

function nextWords(
  { installed, root }: Survey,
  { part, unit }: Layout,
  { config }: InstallCommand,
): string {
  if (root !== "")
    return "next, on the machine that starts from this image: run install there once\n";
  if (part === "gateway") {
    const words = installed.hasConfig
      ? ""
      : `  set publicUrl, chains and currencies in ${gatewayConfig}\n`;
    if (installed.isActive) return "next:\n  autowithdraw-gateway status\n";
    return `next:\n${words}  systemctl enable --now ${unit}\n  autowithdraw-gateway health\n`;
  }
  if (installed.isActive) return "next:\n  autowithdraw status\n";
  const hasConfig = installed.hasConfig || config !== undefined;
  const first = hasConfig ? "" : `  install -m 0600 YOUR-CONFIG.json ${installedConfig}\n`;
  const taken = existsSync(takeAwayFile)
    ? `  shred -u ${takeAwayFile}      once encKey is kept in another place\n`
    : "";
  const paired = installed.isPaired
    ? ""
    : "  autowithdraw pair      or, from a backup of this agent, restore: docs/install.md, section 7\n";
  return `next:
${taken}${first}${paired}  systemctl enable --now ${unit}
  autowithdraw status      a minute after the start: the link is dialled first
  usermod -aG autowithdraw-operators NAME      for each operator who may look and approve
`;
}

async function uninstall(command: InstallCommand, terminal: Terminal): Promise<void> {
  const layout = layouts[command.part];
  const from = programFolder();
  const survey = gatherRemovalSurvey(layout, from);
  const steps = planRemoval(survey, layout);
  if (!command.isDry) {
    if (process.getuid?.() !== 0)
      throw new AgentError("COMMAND_RIGHT", "none", "only root may uninstall", {
        hint: "run it as root",
      });
    await assertMeant(layout, command.isYes, terminal);
  }
  if (layout.part === "agent") terminal.out(openWords(layout));
  const noSeal = async (): Promise<string> => "";
  for (const step of steps)
    await carry(
      step,
      { from, root: "", node: process.execPath, seal: noSeal },
      command.isDry,
      terminal,
    );
  if (steps.length === 0) terminal.out(`nothing of the ${layout.part} is installed\n`);
  const left = listKeptByRemoval(survey, layout);
  if (left.length === 0) return;
  terminal.out("\nleft here on purpose, with the command that would remove it:\n");
  for (const { what, why, command: remove } of left)
    terminal.out(`  ${what}\n    ${why}\n    ${remove}\n`);
}

const listedMax = 20;

/** The withdrawals that are open with the agent, "" if there is none or no agent answers. */
function openWords({ program, launcher }: Layout): string {
  const asked = [
    join(program, launcher),
    "withdrawals",
    "--open",
    "--json",
    "--state",
    installedState,
  ];
  const { stdout } = spawnSync(process.execPath, asked, {
    encoding: "utf8",
    env: systemEnvironment,
  });
  return describeOpenWithdrawals(stdout ?? "");
}

/** The lines for an answer of `withdrawals --open --json`; "" for an answer of another form. */
export function describeOpenWithdrawals(answer: string): string {
  const open = listOpen(answer);
  if (open.length === 0) return "";
  const lines = open
    .slice(0, listedMax)
    .map(({ transactionId, state }) => `    ${transactionId}  ${state}\n`);
  const words = open.length === 1 ? "1 withdrawal is" : `${open.length} withdrawals are`;
  return `  open     ${words} not ended: they stay open until an agent of this wallet runs again\n${lines.join("")}`;
}

type OpenLine = { readonly transactionId: string; readonly state: string };

function listOpen(answer: string): readonly OpenLine[] {
  try {
    const { withdrawals } = JSON.parse(answer) as { readonly withdrawals?: unknown };
    return Array.isArray(withdrawals) ? (withdrawals as readonly OpenLine[]) : [];
  } catch {
    return [];
  }
}

async function assertMeant(
  { part, unit }: Layout,
  isYes: boolean,
  terminal: Terminal,
): Promise<void> {
  if (isYes) return;
  if (!terminal.isInteractive) {
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      "uninstall asks for a yes on a terminal, and this is none",
      {
        hint: "--dry-run shows what it does; then give --yes",
      },
    );
  }
  if (
    !(await terminal.confirm(`stop ${unit} and remove the ${part} from this machine? (yes/no) `))
  ) {
    throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
  }
}
