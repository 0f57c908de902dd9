/** `copy`: every record of a gateway that does not run goes into a database of the other engine. */
import { copyFileSync, existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { AgentError } from "../../base/fault.ts";
import { type GatewayConfig, parseDatabase } from "../config/config.ts";
import {
  createDatabase,
  type DatabaseSettings,
  databaseName,
  openDatabase,
} from "../database/database.ts";
import { marksPathOf } from "../store/address-marks.ts";
import { type CopiedTable, type CopySide, copyRows } from "../store/copy-rows.ts";
import type { Store } from "../store/store.ts";
import { type JsonOption, makeLog, printJson, printText, runInOperatorContext } from "./command.ts";
import { addConfigAndJsonOptions } from "./words.ts";

interface CopyOptions extends JsonOption {
  readonly to: string;
  readonly toPasswordFile?: string;
}

const sideOf = (place: DatabaseSettings, store: Store): CopySide => ({
  store,
  engine: place.postgres === null ? "sqlite" : "postgres",
  name: databaseName(place),
});

/** A database whose copy broke off has its tables already; one with rows is refused by the copy. */
function makeTarget(target: DatabaseSettings, fingerprint: string): void {
  try {
    createDatabase(target, fingerprint, makeLog("error"));
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== "GATEWAY_STORE_EXISTS") throw error;
  }
}

/** The file of deposit addresses belongs to the records. Returns the line about it. */
function copyMarks(source: GatewayConfig, target: DatabaseSettings): string {
  const path = marksPathOf(source.database);
  if (!existsSync(path)) return "";
  if (target.postgres === null) {
    copyFileSync(path, marksPathOf(target.database));
    return `Copied ${path} beside it.`;
  }
  return `Copy ${path} to gateway.postgres.addresses beside the configuration that names the new database.`;
}

function runCopy(options: CopyOptions): void {
  runInOperatorContext(options, ({ store, run, gatewayKey }, config) => {
    if (run !== null) {
      const path = databaseName(config);
      const words = `a gateway runs on ${path}: stop it, so that nothing is written behind the copy`;
      throw new AgentError("GATEWAY_STORE_OWNED", "none", words, { path });
    }
    const target = parseDatabase(options.to, resolve("."), options.toPasswordFile);
    makeTarget(target, gatewayKey.fingerprint);
    const opened = openDatabase(target, makeLog("error"));
    let tables: readonly CopiedTable[];
    try {
      tables = copyRows(sideOf(config, store), sideOf(target, opened));
    } finally {
      opened.close();
    }
    const marks = copyMarks(config, target);
    const to = databaseName(target);
    if (options.json === true) {
      printJson({ from: databaseName(config), to, tables });
      return;
    }
    const filled = tables.filter(({ rows }) => rows > 0);
    const lines = filled.map(({ table, rows }) => `  ${table.padEnd(24)}${rows}`);
    const next = `Next: set database to ${options.to} in ${options.config}, then start the gateway.`;
    printText(
      [`Copied to ${to}, and read back.`, ...lines, marks, next].filter(Boolean).join("\n"),
    );
  });
}

export function addCopyCommand(program: Command): void {
  addConfigAndJsonOptions(
    program
      .command("copy")
      .description("copy all records of a stopped gateway to another database, of either engine"),
  )
    .requiredOption("--to <database>", "sqlite:FILE or postgres://…, new or empty")
    .option("--to-password-file <file>", "the role's password there")
    .action(runCopy);
}
