/**
 * Examines config.json and its folder: errors in the file, remaining secrets, copies with secrets,
 * a misplaced encKey.
 */
import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readConfig } from "../../agent/config/config.ts";
import type { AgentSettings } from "../../agent/config/settings.ts";
import type { StateFolder } from "../../agent/files/state-folder.ts";
import { AgentError, reasonOf } from "../../base/fault.ts";
import { type Finding, faultFound, newFinding } from "../../base/finding.ts";
import { shellWord } from "../../base/visible.ts";
import { isCopyOf, secretsIn } from "../config-copies.ts";
import type { DoctorReport } from "./report.ts";

export interface ConfigLook extends DoctorReport {
  readonly settings: AgentSettings | null;
}

const namesMax = 4_096;

export interface ConfigContext {
  readonly isNamed: boolean; // named by an operator, or by the signer that runs with it
  readonly isPaired: boolean; // true if mnemonic and apiKey must no longer be in the file
  readonly isUnderUnits: boolean;
}

/** `settings` is null if the file does not parse. */
export function lookAtConfig(path: string, state: StateFolder, about: ConfigContext): ConfigLook {
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
        findings: [faultFound(error), ...beside.findings],
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
    .filter((name) => isCopyOf(name, basename(path)))
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
  const secretsFound = secretsIn(path);
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
