/**
 * The meaning of an error of either database library, by its number. Sources:
 * sqlite.org/rescode.html; postgresql.org/docs/15/errcodes-appendix.html.
 */
import { AgentError } from "../../base/fault.ts";
import { PostgresFault } from "../postgres/fault.ts";

const constraintUnique = 2067;
const constraintPrimaryKey = 1555;
const primaryCodeMask = 0xff;
const constraintCode = 19;
const busyCode = 5;
/** PostgreSQL's state of a unique constraint, and the class of every constraint. */
const uniqueState = "23505";
const constraintClass = "23";
const fullCode = 13;
// BUSY and CONSTRAINT: nothing was written
const harmlessCodes: ReadonlySet<number> = new Set([busyCode, constraintCode]);

function errorCode(error: unknown): number | null {
  if (!(error instanceof Error)) return null;
  const code = (error as { readonly errcode?: unknown }).errcode;
  return typeof code === "number" ? code : null;
}

/** True if a unique constraint or primary key refused a row, because an equal row came first. */
export function isUniqueConflictError(error: unknown): boolean {
  if (error instanceof PostgresFault) return error.sqlState === uniqueState;
  const code = errorCode(error);
  return code === constraintUnique || code === constraintPrimaryKey;
}

/** True if any constraint of a table refused a row. */
export function isConstraintError(error: unknown): boolean {
  if (error instanceof PostgresFault) return error.sqlState.startsWith(constraintClass);
  const code = errorCode(error);
  return code !== null && (code & primaryCodeMask) === constraintCode;
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
