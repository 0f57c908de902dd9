/**
 * Finds config.json if none is named: the file of AUTOWITHDRAW_CONFIG (the installed command sets
 * this), else the file next to the launchers. Never a file in the working folder, because the owner
 * of that folder would then set the limits. Also finds the sealed encKey next to config.json.
 */
import { existsSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** The absolute path of config.json; the file may be missing. */
export function findConfigFile(named?: string): string {
  if (named !== undefined) return resolve(named);
  const installed = process.env.AUTOWITHDRAW_CONFIG ?? "";
  if (installed !== "") return resolve(installed);
  return join(programFolder(), "config.json");
}

/**
 * The path of encKey sealed by systemd-creds, next to config.json. Undefined if the file is
 * missing, or if this user is not root, because only root may open it.
 */
export function findEncKeyCredential(configPath: string): string | undefined {
  const path = join(dirname(configPath), "encKey.cred");
  return process.getuid?.() === 0 && existsSync(path) ? path : undefined;
}

/**
 * The folder of pair.js, crypto.js and autowithdraw.js: above agent/ and cli/ in the source tree,
 * above dist/ after a build.
 */
export function programFolder(): string {
  // A bundle holds this module at another depth, and under cli/ in the programs of commands.
  const here = fileURLToPath(import.meta.url);
  const above = here.slice(
    0,
    Math.max(here.lastIndexOf(`${sep}agent${sep}`), here.lastIndexOf(`${sep}cli${sep}`)),
  );
  return basename(above) === "dist" ? dirname(above) : above;
}
