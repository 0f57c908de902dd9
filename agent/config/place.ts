/**
 * Which config.json is meant when none is named: that of AUTOWITHDRAW_CONFIG (as the installed command sets it), else the one in the
 * working folder, else the one beside the launchers. And where the sealed encKey lies beside it.
 */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * An absolute path; whether a file is there is the reader's business.
 * @public
 */
export function findConfigFile(named?: string): string {
  if (named !== undefined) return resolve(named);
  const installed = process.env.AUTOWITHDRAW_CONFIG ?? "";
  if (installed !== "") return resolve(installed);
  const here = resolve("config.json");
  if (existsSync(here)) return here;
  const beside = join(projectRoot(), "config.json");
  return existsSync(beside) ? beside : here;
}

/**
 * encKey as systemd-creds sealed it for this machine, beside config.json where installing puts it; undefined when there is none, or
 * when this user is not root, who alone may open it.
 * @public
 */
export function encKeyCredential(configPath: string): string | undefined {
  const path = join(dirname(configPath), "encKey.cred");
  return process.getuid?.() === 0 && existsSync(path) ? path : undefined;
}

/** Where pair.js, crypto.js and autowithdraw.js lie: above agent/ in the source tree, above dist/ once built. */
function projectRoot(): string {
  const above = dirname(dirname(fileURLToPath(import.meta.url)));
  return above.endsWith("dist") ? dirname(above) : above;
}
