/**
 * The plan of an uninstallation. It leaves every ledger, every key, and every file that pairing or
 * an operator made. Pure.
 */
import { type Layout, takeAwayFile, unitFolder } from "./layout.ts";
import { type Step, systemctlAct } from "./plan.ts";

/** The facts for an uninstallation. */
export interface RemovalSurvey {
  readonly units: readonly string[]; // units of this part, in /etc/systemd/system
  readonly paths: ReadonlySet<string>; // paths of the layout that exist
  readonly accounts: ReadonlySet<string>;
}

/** A thing that stays, with the reason and the command that would remove it. */
export interface KeptByRemoval {
  readonly what: string;
  readonly why: string;
  readonly command: string;
}

/** Every path of the layout that uninstalling may take away or leave. */
export function removalPaths({ program, command, folders, helps }: Layout): readonly string[] {
  const parts = [...helps, ...folders].map(({ path }) => path);
  return [
    program,
    `${program}.old`,
    `${program}.new`,
    `${program}.failed`,
    command,
    takeAwayFile,
    ...parts,
  ];
}

/** Steps that remove units, command and program. */
export function planRemoval(survey: RemovalSurvey, layout: Layout): readonly Step[] {
  const { unit, program, command, helps } = layout;
  const steps: Step[] = [];
  if (survey.units.length > 0) {
    // The target comes first, so it does not start the others again meanwhile.
    const names = [...survey.units].sort((a, b) => Number(b === unit) - Number(a === unit));
    const acts = [
      systemctlAct("disable", "--quiet", "--now", ...names),
      ...names.map((name) => removed(`${unitFolder}/${name}`)),
    ];
    steps.push({
      state: "change",
      name: names.join(" "),
      says: "stopped, disabled, removed",
      acts: [...acts, systemctlAct("daemon-reload")],
    });
  }
  for (const path of [
    command,
    ...helps.map((help) => help.path),
    program,
    `${program}.old`,
    `${program}.new`,
  ]) {
    if (survey.paths.has(path))
      steps.push({ state: "change", name: path, says: "removed", acts: [removed(path)] });
  }
  return steps;
}

const removed = (path: string) => ({ kind: "remove", path }) as const;

/** Everything that stays on the machine. */
export function listKeptByRemoval(
  survey: RemovalSurvey,
  { part, program, folders, users, groups }: Layout,
): readonly KeptByRemoval[] {
  const why =
    part === "agent"
      ? "the sealed keys and the only record of what was paid: while the agent is paired, anybody who deletes it may pay twice"
      : "the service's key, database and configuration: agents know the service by that key";
  // The outermost folders stand for everything inside them.
  const tops = folders.filter(
    ({ path }) => !folders.some((other) => path.startsWith(`${other.path}/`)),
  );
  const left: KeptByRemoval[] = tops
    .filter(({ path }) => survey.paths.has(path))
    .map(({ path, holds }) => ({
      what: path,
      why: path.startsWith("/etc/") ? holds : why,
      command: `rm -r ${path}`,
    }));
  const failed = `${program}.failed`;
  if (survey.paths.has(failed))
    left.push({
      what: failed,
      why: "the release that was set aside by the way back, to be examined",
      command: `rm -r ${failed}`,
    });
  if (part === "agent" && survey.paths.has(takeAwayFile)) {
    left.push({
      what: takeAwayFile,
      why: "encKey, for you to take away",
      command: `shred -u ${takeAwayFile}`,
    });
  }
  const accounts = [
    ...users.map(({ name }) => ({ name, program: "userdel" })),
    ...groups.map(({ name }) => ({ name, program: "groupdel" })),
  ].filter(({ name }) => survey.accounts.has(name));
  for (const { name, program } of accounts)
    left.push({ what: name, why: "owns files that stay", command: `${program} ${name}` });
  return left;
}
