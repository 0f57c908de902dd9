/**
 * Finds config.json when none is named: the one of AUTOWITHDRAW_CONFIG (the installed command sets
 * that), else the one beside the launchers. Never one in the working folder, whose owner would set
 * the limits of whoever stands there. Finds the sealed encKey beside it.
 */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The absolute path of config.json, which may be missing there.
 * @public
 */
export function findConfigFile(named?: string): string {
  if (named !== undefined) return resolve(named);
  const installed = process.env.AUTOWITHDRAW_CONFIG ?? "";
  if (installed !== "") return resolve(installed);
  return join(projectRoot(), "config.json");
}

/**
 * The path of encKey sealed by systemd-creds, beside config.json; undefined when the file is
 * missing, or when this user is not root, since only root may open it.
 * @public
 */
export function encKeyCredential(configPath: string): string | undefined {
  const path = join(dirname(configPath), "encKey.cred");
  return process.getuid?.() === 0 && existsSync(path) ? path : undefined;
}

/**
 * The folder of pair.js, crypto.js and autowithdraw.js: above agent/ in the source tree, above
 * dist/ once built.
 */
function projectRoot(): string {
  const above = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
  return above.endsWith("dist") ? dirname(above) : above;
}
