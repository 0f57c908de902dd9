/** The logs of the code under test: lines of a readable trace, and nothing otherwise. */
import type { Logger } from "pino";
import { kernel } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";

type Line = (context: unknown, message?: string) => void;

const nothing: Line = () => {};

export function logOf(owner: Owner): Logger {
  const { lines } = kernel.trace;
  const line =
    (level: string): Line =>
    (context, message) =>
      lines?.push(
        `${(kernel.scheduler.nowMs / 1000).toFixed(3).padStart(10)} ${owner.name.padEnd(12)} says ${level} ${textOf(context, message)}`,
      );
  const of = (level: string): Line => (lines === null ? nothing : line(level));
  const log = {
    debug: nothing,
    trace: nothing,
    info: of("info"),
    warn: of("warn"),
    error: of("error"),
    fatal: of("fatal"),
  };
  return log as unknown as Logger;
}

function textOf(context: unknown, message: string | undefined): string {
  return typeof context === "string" ? context : `${message ?? ""} ${JSON.stringify(context)}`;
}
