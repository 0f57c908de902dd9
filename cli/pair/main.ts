/** The entry point of pair.js after packages and build are there. */
import "../../base/no-inspector.ts";
import { main as autowithdraw } from "../main.ts";

/** Resolves with the exit code. */
export function main(argv: readonly string[]): Promise<number> {
  return autowithdraw(argv[0] === "--version" ? argv : ["pair", ...argv]);
}
