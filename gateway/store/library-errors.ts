/**
 * The meaning of an error of the database library, by its number. Source: sqlite.org/rescode.html.
 */
import { AgentError } from "../../base/fault.ts";

const constraintUnique = 2067;
const constraintPrimaryKey = 1555;
const primaryCodeMask = 0xff;
const busyCode = 5;
const fullCode = 13;
// BUSY and CONSTRAINT: nothing was written
const harmlessCodes: ReadonlySet<number> = new Set([busyCode, 19]);

function errorCode(error: unknown): number | null {
  if (!(error instanceof Error)) return null;
  const code = (error as { readonly errcode?: unknown }).errcode;
  return typeof code === "number" ? code : null;
}

/** True if a unique constraint or primary key refused a row, because an equal row came first. */
export function isUniqueConflictError(error: unknown): boolean {
  const code = errorCode(error);
  return code === constraintUnique || code === constraintPrimaryKey;
}

/** True if another process held the file for longer than the busy time-out. */
export function isDatabaseBusyError(error: unknown): boolean {
  const code = errorCode(error);
  return (
    (code !== null && (code & primaryCodeMask) === busyCode) ||
    (error instanceof AgentError && error.code === "GATEWAY_STORE_BUSY")
  );
}

/**
 * True if a commit that failed with this error has left nothing. With SQLITE_FULL the file had no
 * room for all pages, so the mark that makes them count is not in it. Without room for the shared
 * memory (4874) that mark may be on disk already, and after a failed sync nobody knows.
 */
export function isUncommittedError(error: unknown): boolean {
  const code = errorCode(error);
  return code === fullCode || (code !== null && harmlessCodes.has(code & primaryCodeMask));
}
