/**
 * The plan of an installation, made from the facts of a machine: steps, each with its state and the
 * acts that carry it out. Pure, so a test can show every case and `--dry-run` can print the plan.
 */
import { installedConfig, installedCredential } from "../../agent/installed.ts";
import { AgentError } from "../../base/fault.ts";
import { agentStartCommand } from "../unit-names.ts";
import {
  gatewayConfig,
  gatewayState,
  gatewayUser,
  type Layout,
  takeAwayFile,
  unitFolder,
} from "./layout.ts";

/** One change of the machine, as data; cli/install/steps.ts carries it out. */
export type InstallAct =
  | {
      readonly kind: "run";
      readonly program: string;
      readonly args: readonly string[];
      readonly as?: string;
    }
  | {
      readonly kind: "folder";
      readonly path: string;
      readonly mode: number;
      readonly owner: string | null;
    }
  | { readonly kind: "text"; readonly path: string; readonly text: string; readonly mode: number }
  | { readonly kind: "copy-private"; readonly from: string; readonly to: string }
  | { readonly kind: "program"; readonly layout: Layout }
  | { readonly kind: "credential" }
  | { readonly kind: "remove"; readonly path: string };

export interface Step {
  readonly state: "make" | "change" | "keep" | "leave"; // leave: not done, and `says` has the reason
  readonly name: string;
  readonly says: string;
  readonly acts: readonly InstallAct[];
}

/** A folder that exists. */
export interface FolderState {
  readonly mode: number;
  readonly owner: string | null; // a user's name; null for a number without a name, or if something in it belongs to another user
}

/** The facts of the machine, and of the copy from which it is installed. */
export interface Survey {
  readonly isRoot: boolean;
  readonly platform: string;
  readonly systemd: number | null; // version of systemd; null if it is not the machine's init
  readonly node: string; // path of the binary, links resolved
  readonly nodeVersion: string;
  readonly npm: string | null; // its version
  readonly root: string; // folder of --root, "" for this machine itself
  readonly accounts: ReadonlySet<string>; // users and groups of the layout that exist
  readonly folders: ReadonlyMap<string, FolderState>;
  readonly source: {
    readonly version: string;
    readonly nodeLeast: string; // the least version of Node for the part; "" without it
    readonly hasPart: boolean; // false in a copy of only the other part
    readonly units: ReadonlyMap<string, string>; // texts to be written, by name
    readonly command: string;
    readonly helps: ReadonlyMap<string, string>; // by the path to which each belongs
  };
  readonly installed: {
    readonly version: string | null; // version of the program
    readonly isSame: boolean; // same files and packages as the source
    readonly units: ReadonlyMap<string, string>;
    readonly command: string | null;
    readonly helps: ReadonlyMap<string, string>;
    readonly isEnabled: boolean;
    readonly isActive: boolean;
    readonly isPaired: boolean; // agent: a keystore is there
    readonly hasConfig: boolean; // agent: config.json; gateway: gateway.config.json
    readonly hasCredential: boolean;
  };
}

export interface InstallOptions {
  readonly config?: string | undefined;
  readonly encKeyFile?: string | undefined;
  readonly yes: boolean;
}

const systemdLeast = 250; // credentials sealed by systemd-creds

/**
 * Refuses a machine that cannot run the part. `isForced` allows an older version than the installed
 * one.
 * @throws AgentError INSTALL_MACHINE, INSTALL_DOWNGRADE, COMMAND_RIGHT
 */
export function assertFit(survey: Survey, layout: Layout, isForced: boolean): void {
  const lacks = (message: string, hint: string): never => {
    throw new AgentError("INSTALL_MACHINE", "none", message, { hint });
  };
  if (survey.platform !== "linux")
    lacks(
      `this is ${survey.platform}, and the units need Linux with systemd`,
      "use a Linux server",
    );
  if (!survey.isRoot) {
    throw new AgentError(
      "COMMAND_RIGHT",
      "none",
      "installing writes to /opt, /etc and /var/lib, which only root may",
      {
        hint: "run it as root; --dry-run shows the steps without it",
      },
    );
  }
  if (survey.root === "" && survey.systemd === null) {
    lacks(
      "systemd does not run here",
      "use a server with systemd; --root FOLDER fills an image instead",
    );
  }
  if (survey.systemd !== null && survey.systemd < systemdLeast) {
    lacks(
      `systemd ${survey.systemd} is too old to seal a credential`,
      `use a system with systemd ${systemdLeast} or later, as Debian 12 has`,
    );
  }
  if (survey.source.hasPart && isOlder(survey.nodeVersion, survey.source.nodeLeast)) {
    lacks(
      `the ${layout.part} needs Node ${survey.source.nodeLeast} or later, this is ${survey.nodeVersion}`,
      "install Node 22 or 24 for the whole machine, and run this again with it",
    );
  }
  if (/^\/(home|root|tmp|run\/user)\//.test(survey.node)) {
    lacks(
      `Node lies in ${survey.node}, which the units cannot see`,
      "install Node for the whole machine, such as in /usr or /opt",
    );
  }
  if (!survey.source.hasPart) {
    lacks(
      `this copy holds no ${layout.part}`,
      "run it from the unpacked release archive, or from a built checkout",
    );
  }
  const { version } = survey.installed;
  if (version !== null && !isForced && isOlder(survey.source.version, version)) {
    throw new AgentError(
      "INSTALL_DOWNGRADE",
      "none",
      `${layout.program} holds ${version}, and this is ${survey.source.version}`,
    );
  }
}

/**
 * Refuses an upgrade that would change nothing, or that would install a part that is not here.
 * @throws AgentError COMMAND_USAGE
 */
export function assertUpgrade(
  { installed, root }: Pick<Survey, "installed" | "root">,
  { part, program }: Layout,
  from: string,
): void {
  const as = part === "gateway" ? " --gateway" : "";
  const refuse = (message: string, hint: string): never => {
    throw new AgentError("COMMAND_USAGE", "none", message, { hint });
  };
  if (root === "" && from === program)
    refuse(
      `${program} is what is installed: it holds no newer release`,
      `in the folder of the new release: node autowithdraw.js upgrade${as}`,
    );
  if (installed.version === null)
    refuse(
      `no ${part} is installed here, so there is nothing to upgrade`,
      `to install it here: node autowithdraw.js install${as}`,
    );
}

/** True if `a` comes before `b`, by the numbers of x.y.z. */
function isOlder(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) => text.split(/[.+-]/, 3).map(Number));
  const at = [0, 1, 2].find((index) => left?.[index] !== right?.[index]);
  return at !== undefined && (left?.[at] ?? 0) < (right?.[at] ?? 0);
}

/** Every step of installing, in order. */
export function planInstall(
  survey: Survey,
  layout: Layout,
  options: InstallOptions,
): readonly Step[] {
  return [
    ...accountSteps(survey, layout),
    programStep(survey, layout),
    ...layout.folders.map((folder) => folderStep(survey, folder)),
    ...(layout.part === "agent"
      ? [configStep(survey, options), credentialStep(survey, options)]
      : [initStep(survey, layout)]),
    ...unitSteps(survey, layout),
    commandStep(survey, layout),
    ...helpSteps(survey, layout),
    ...startSteps(survey, layout),
  ];
}

const image = "not in an image; run install on the machine itself once";

function accountSteps({ accounts, root }: Survey, { users, groups }: Layout): readonly Step[] {
  const noHome = [
    "--system",
    "--user-group",
    "--no-create-home",
    "--home-dir",
    "/nonexistent",
    "--shell",
    "/usr/sbin/nologin",
  ];
  const accountStep = (
    kind: "user" | "group",
    name: string,
    does: string,
    program: string,
    args: readonly string[],
  ): Step => {
    if (root !== "") return { state: "leave", name: `${kind} ${name}`, says: image, acts: [] };
    if (accounts.has(name)) return { state: "keep", name: `${kind} ${name}`, says: does, acts: [] };
    return {
      state: "make",
      name: `${kind} ${name}`,
      says: does,
      acts: [{ kind: "run", program, args: [...args, name] }],
    };
  };
  return [
    ...users.map(({ name, does }) => accountStep("user", name, does, "useradd", noHome)),
    ...groups.map(({ name, does }) => accountStep("group", name, does, "groupadd", ["--system"])),
  ];
}

function programStep({ installed, source, root }: Survey, layout: Layout): Step {
  const name = layout.program;
  if (installed.isSame) return { state: "keep", name, says: source.version, acts: [] };
  const acts = [{ kind: "program", layout }] as const;
  if (installed.version === null) return { state: "make", name, says: source.version, acts };
  const says = `${installed.version} becomes ${source.version}; the old one stays in ${root}${layout.program}.old`;
  return { state: "change", name, says, acts };
}

function folderStep(
  { folders, root }: Survey,
  { path, mode, owner, holds }: Layout["folders"][number],
): Step {
  const there = folders.get(path);
  // an image has no users yet; the units later give the folders to their users
  const wanted = root === "" ? owner : null;
  const says = `${mode.toString(8).padStart(4, "0")} ${wanted ?? "root"}, ${holds}`;
  const acts = [{ kind: "folder", path, mode, owner: wanted }] as const;
  if (there === undefined) return { state: "make", name: path, says, acts };
  const isRight = there.mode === mode && (wanted === null || there.owner === wanted);
  return isRight
    ? { state: "keep", name: path, says, acts: [] }
    : { state: "change", name: path, says, acts };
}

function configStep({ installed }: Survey, { config }: InstallOptions): Step {
  if (installed.hasConfig) {
    const says =
      config === undefined
        ? "as it is"
        : `as it is; ${config} is not taken over it, since pairing changes this one`;
    return { state: "keep", name: installedConfig, says, acts: [] };
  }
  if (config === undefined) {
    const says =
      "the payment service makes it (merchant create … --config-out); give it with --config FILE, or put it there, mode 0600";
    return { state: "leave", name: installedConfig, says, acts: [] };
  }
  return {
    state: "make",
    name: installedConfig,
    says: `from ${config}, mode 0600; that one still holds what is secret in it`,
    acts: [{ kind: "copy-private", from: config, to: installedConfig }],
  };
}

function credentialStep({ installed, root }: Survey, { encKeyFile }: InstallOptions): Step {
  const name = installedCredential;
  if (root !== "") return { state: "leave", name, says: image, acts: [] };
  const acts = [{ kind: "credential" }] as const;
  // The act stays, because an installation that was cut short may have left encKey in config.json.
  if (installed.hasCredential)
    return { state: "keep", name, says: "opens here, and on no other machine", acts };
  const from =
    encKeyFile ??
    `encKey of config.json, else a new one, also written to ${takeAwayFile} for you to take away`;
  return { state: "make", name, says: `sealed for this machine from ${from}`, acts };
}

function initStep({ installed, root }: Survey, { program, launcher }: Layout): Step {
  const name = gatewayConfig;
  if (root !== "") return { state: "leave", name, says: image, acts: [] };
  if (installed.hasConfig) return { state: "keep", name, says: "as it is", acts: [] };
  const args = [`${program}/${launcher}`, "init", "--dir", gatewayState];
  const says = "key, configuration and an empty database, by gateway init";
  return {
    state: "make",
    name,
    says,
    acts: [{ kind: "run", program: "node", args, as: gatewayUser }],
  };
}

function unitSteps({ source, installed }: Survey, { unit }: Layout): readonly Step[] {
  return [...source.units]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => {
      const there = installed.units.get(name);
      const says = name === unit ? "the one name for all of it" : "";
      const path = `${unitFolder}/${name}`;
      if (there === text) return { state: "keep", name: path, says, acts: [] };
      return {
        state: there === undefined ? "make" : "change",
        name: path,
        says,
        acts: [{ kind: "text", path, text, mode: 0o644 }],
      };
    });
}

function commandStep({ source, installed }: Survey, { command, part }: Layout): Step {
  const says =
    part === "agent"
      ? "knows state folder and config.json"
      : "knows the configuration, and acts as the gateway's user";
  if (installed.command === source.command) return { state: "keep", name: command, says, acts: [] };
  const acts = [{ kind: "text", path: command, text: source.command, mode: 0o755 }] as const;
  return { state: installed.command === null ? "make" : "change", name: command, says, acts };
}

function helpSteps({ source, installed }: Survey, { helps }: Layout): readonly Step[] {
  return helps.flatMap(({ path, gives }): readonly Step[] => {
    const [text, there] = [source.helps.get(path), installed.helps.get(path)];
    if (text === undefined) return [];
    if (text === there) return [{ state: "keep", name: path, says: gives, acts: [] }];
    const acts = [{ kind: "text", path, text, mode: 0o644 }] as const;
    return [{ state: there === undefined ? "make" : "change", name: path, says: gives, acts }];
  });
}

/**
 * Enables the unit, and those whose other name systemd makes when they are enabled. A running unit
 * keeps the old program until its restart, which comes after all steps. An agent that is not paired
 * is not enabled: a boot before the pairing would leave failed units.
 */
function startSteps(
  { installed, source, root }: Survey,
  { part, unit, aliased }: Layout,
): readonly Step[] {
  if (root !== "") return [{ state: "leave", name: `enable ${unit}`, says: image, acts: [] }];
  const isReread = [...source.units].every(([name, text]) => installed.units.get(name) === text);
  const enable: Step = installed.isEnabled
    ? { state: "keep", name: `enable ${unit}`, says: "starts with the machine", acts: [] }
    : part === "agent" && !installed.isPaired
      ? {
          state: "leave",
          name: `enable ${unit}`,
          says: `after the pairing: ${agentStartCommand}`,
          acts: [],
        }
      : {
          state: "make",
          name: `enable ${unit}`,
          says: "starts with the machine",
          acts: [systemctlAct("enable", "--quiet", unit, ...aliased)],
        };
  return isReread
    ? [enable]
    : [
        {
          state: "make",
          name: "systemctl daemon-reload",
          says: "",
          acts: [systemctlAct("daemon-reload")],
        },
        enable,
      ];
}

/** True if a running service must be restarted to take the new program or units. */
export function needsRestart({ installed, source }: Survey): boolean {
  const isReread = [...source.units].every(([name, text]) => installed.units.get(name) === text);
  return installed.isActive && !(installed.isSame && isReread);
}

export function systemctlAct(...args: readonly string[]): InstallAct {
  return { kind: "run", program: "systemctl", args };
}
