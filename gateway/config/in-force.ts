/**
 * A copy of the configuration that the running gateway goes by, next to the file: made when a
 * configuration is taken, removed at a clean stop. So the operator's commands still work while an
 * edit has left the file unreadable. A folder that takes no file has no copy.
 */
import { renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { AgentError } from "../../base/fault.ts";
import { type ConfigWithText, type GatewayConfig, readConfig } from "./config.ts";

const copyOf = (path: string): string => `${path}.in-force`;

/** Replaces the copy. Does nothing where the folder takes no file. Harmless to call twice. */
export function keepConfigInForce(path: string, { text, changedAtMs }: ConfigWithText): void {
  const fresh = `${copyOf(path)}.new`;
  try {
    writeFileSync(fresh, text, { mode: 0o600 });
    // The time of a typed price is the file's.
    utimesSync(fresh, changedAtMs / 1000, changedAtMs / 1000);
    renameSync(fresh, copyOf(path));
  } catch {
    rmSync(fresh, { force: true });
  }
}

/** Harmless to call twice. */
export function dropConfigInForce(path: string): void {
  try {
    rmSync(copyOf(path), { force: true });
  } catch {
    // The folder takes no change, so there is no copy of this run.
  }
}

/** The copy; null if there is none that can be used. */
export function readConfigInForce(path: string): GatewayConfig | null {
  try {
    return readConfig(copyOf(path));
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return null;
  }
}
