/**
 * Upgrades the database of its argument as the start of a gateway does, in a process that can be
 * killed. Prints the code of what stopped it; "" if nothing did.
 */
import { argv, stdout } from "node:process";
import { pino } from "pino";
import { AgentError } from "../../base/fault.ts";
import { migrateStore } from "../../gateway/store/migrate.ts";

const [, , path = ""] = argv;
let code = "";
try {
  migrateStore(path, { log: pino({ level: "silent" }), nowMs: 1_700_000_000_000 });
} catch (error) {
  if (!(error instanceof AgentError)) throw error;
  code = error.code;
}
stdout.write(`${JSON.stringify({ code })}\n`);
