/**
 * The gateway's single commands, and the functions that all groups of commands share. Each command
 * reads or changes the files and the database, prints lines or one line of JSON, and sets the exit
 * status.
 */
import { randomBytes } from "node:crypto";
import { existsSync, fstatSync } from "node:fs";
import { userInfo } from "node:os";
import { resolve } from "node:path";
import { destination, type Logger, pino } from "pino";
import { type Code, codes } from "../../base/codes.ts";
import { gatewayEvents } from "../../base/events-gateway.ts";
import { AgentError, type Refusal } from "../../base/fault.ts";
import { findingLine, verdictOfFindings } from "../../base/finding.ts";
import {
  formatLogLine,
  type GatewayLog,
  isJournalStream,
  pinoLineOptions,
  priorityOf,
  withPriority,
} from "../../base/log.ts";
import { formatTerminalSafeJson, visibleLines, visibleText } from "../../base/visible.ts";
import { expiryExclusionOf, pinExclusionOf } from "../../chains/families.ts";
import { type CsvColumns, type CsvTable, csvWriterOf } from "../answer/csv-cell.ts";
import { readGatewayKey } from "../auth/gateway-key.ts";
import { type GatewayConfig, readConfig } from "../config/config.ts";
import { readConfigInForce } from "../config/in-force.ts";
import { databaseName, findActiveRun, openDatabase } from "../database/database.ts";
import { staleConfigWarning } from "../problems/table.ts";
import { checkCopy, copyStore, type StoreCopy } from "../store/copy.ts";
import { checkStoreKey, owningRun } from "../store/owner.ts";
import type { Store } from "../store/store.ts";
import { listAgents, type OperatorContext, recoverAgent, unpairAgent } from "./accounts.ts";
import { checkGateway } from "./check.ts";
import { initFolder } from "./folder.ts";
import { askHealth, failedChecks, warnedChecks } from "./health.ts";

/*
 * `backup`: copies the database while the gateway runs, or checks a kept copy; and the text for the
 * operator.
 */

/**
 * Copies the database to `file`.
 * @throws AgentError GATEWAY_FILE_EXISTS, also for an existing file unless `overwrite`;
 * GATEWAY_BACKUP_DAMAGED
 */
export function backUp(store: Store, file: string, nowMs: number, overwrite: boolean): StoreCopy {
  const path = resolve(file);
  if (existsSync(path) && !overwrite)
    throw new AgentError(
      "GATEWAY_FILE_EXISTS",
      "none",
      `${path} is there already; --yes replaces it`,
      { path },
    );
  return copyStore(store.database, path, nowMs);
}

/**
 * Reads all of a copy. With a key's fingerprint, the copy must belong to that key.
 * @throws AgentError GATEWAY_BACKUP_DAMAGED, GATEWAY_STORE_VERSION, GATEWAY_KEY_OTHER
 */
export function checkBackup(file: string, fingerprint: string | null): StoreCopy {
  const path = resolve(file);
  const copy = checkCopy(path);
  if (fingerprint === null || copy.gatewayKey === fingerprint) return copy;
  throw new AgentError(
    "GATEWAY_KEY_OTHER",
    "none",
    `${path} belongs to the gateway key ${copy.gatewayKey}, this one is ${fingerprint}`,
    {
      path,
      found: copy.gatewayKey,
      expected: fingerprint,
    },
  );
}

/**
 * The reason why a file that reads well is no backup: `backup` did not make it, so the newest
 * records may stand in a write-ahead file that was not copied. "" for a backup.
 */
function copyProblem(copy: StoreCopy): string {
  if (copy.copiedAt !== 0) return "";
  return "backup did not make this file: a copy by other means may lack the newest records";
}

/** A server of PostgreSQL has copies of its own, which hold up to the last commit. */
function serverBackupFault(path: string): AgentError {
  const words = `${path} is copied by its server: pg_basebackup with archived WAL, or pg_dump`;
  return new AgentError("GATEWAY_BACKUP_SERVER", "none", words, { path });
}

/** The lines about a copy, for an operator; no newline at the end. */
function describeCopy(file: string, copy: StoreCopy): string {
  const when =
    copy.copiedAt === 0 ? "not a copy that backup made" : new Date(copy.copiedAt).toISOString();
  const rows = [
    ["file", resolve(file)],
    ["made", when],
    ["schema", String(copy.schema)],
    ["key", copy.gatewayKey],
    [
      "rows",
      `${copy.merchants} merchants, ${copy.transactions} transactions, ${copy.agents.length} agents`,
    ],
    ...copy.agents.map(({ id, ledgerEpoch, headSeq }) => [
      "agent",
      `${id}, epoch ${ledgerEpoch}, ledger up to record ${headSeq}`,
    ]),
  ];
  return rows.map(([name = "", text = ""]) => `  ${name.padEnd(9)}${text}`).join("\n");
}

/** The advice for an operator who has just made a copy; no newline at the end. */
function keepWords(keyFile: string, configFile: string): string {
  return [
    "  - not in it: the gateway's key and its configuration. Keep a copy of each apart from this file:",
    `    ${keyFile}`,
    `    ${resolve(configFile)}`,
    "  - API secrets in it are sealed under that key; names, addresses and amounts are readable: keep it private",
    "  - a restored copy has forgotten what came later. Stop the gateway first. Agents tell it again what they paid, no",
    "    deposit address is given out twice, and nobody need act before payments go on. Then look at what only the",
    "    database knew, deposits among it: docs/recovering.md, section 2",
  ].join("\n");
}

export const exitStatuses = { fine: 0, no: 1, usage: 2, unreachable: 3, bug: 70 } as const;

export const printText = (text: string): void =>
  void process.stdout.write(`${visibleLines(text)}\n`);

export const readClock = (): number => Date.now();
const isJournal = isJournalStream(process.env.JOURNAL_STREAM, fstatSync(2));

/** Longest time that a line of the log may wait for others, and most bytes of them. */
const logMs = 100;
const logBytesHeld = 8_192;
/** Brings what waits in the newest log out, so that lines keep their order. */
let flushLog = (): void => {};
process.on("exit", () => flushLog());

/**
 * Prints an error: in two lines for an operator or a script, or as one line of the log if the
 * journal reads.
 */
export function printProblem(message: string, hint: string): void {
  flushLog();
  if (isJournal) {
    const form = {
      at: readClock(),
      level: "error",
      process: "gateway",
      event: "command-fault",
      message,
    } as const;
    process.stderr.write(`${priorityOf("error")}${visibleText(formatLogLine(form, { hint }))}\n`);
    return;
  }
  process.stderr.write(
    `autowithdraw-gateway: ${visibleText(message)}\n${hint === "" ? "" : `hint: ${visibleText(hint)}\n`}`,
  );
}

let isJson = false; // the command line asks for the answer as JSON

/** Says of the command line whether a program reads the answer. */
export function setJsonAnswers(is: boolean): void {
  isJson = is;
}

/** Prints why a command did not do it: as `complain`, and for a program as a line of JSON too. */
export function refuseCommand(code: Code | "BUG", message: string, hint: string): void {
  if (isJson) printJson({ ok: false, code, message, hint });
  printProblem(message, hint);
}

/**
 * Answers an operator's signal to the running gateway, with a line of the log that no logLevel
 * suppresses.
 */
export function answerSignal(
  event: "config-reload" | "config-refused" | "service-manager-away",
  message: string,
): void {
  flushLog();
  const level = gatewayEvents[event].level;
  const line = formatLogLine({ at: readClock(), level, process: "gateway", event, message });
  process.stderr.write(`${isJournal ? priorityOf(level) : ""}${visibleText(line)}\n`);
}

/**
 * Prints the records of a list, or `none`. A terminal shows the lines of each record; a pipe gets
 * one line a record, as grep and awk need it.
 */
export function printList(records: readonly string[], none: string): void {
  const isShown = process.stdout.isTTY === true;
  printText(
    records.map((text) => (isShown ? text : text.replaceAll(/\n {2,}/g, "  "))).join("\n") || none,
  );
}

/** Prints a value for a program; no character of it is replaced. */
export const printJson = (value: object): void =>
  void process.stdout.write(`${formatTerminalSafeJson(value)}\n`);

/**
 * Prints rows as CSV. Only the cells are made safe to print, because the line ends
 * are CR LF. Source: RFC 4180.
 */
export function printCsv(
  table: CsvTable,
  columns: CsvColumns,
  rows: readonly Readonly<Record<string, unknown>>[],
): void {
  openCsv(table, columns)(rows);
}

/** Prints the head of a table. @returns prints rows below it; may be called again */
export function openCsv(
  table: CsvTable,
  columns: CsvColumns,
): (rows: readonly Readonly<Record<string, unknown>>[]) => void {
  const safe: CsvTable = { ...table, cell: (value, kind) => visibleText(table.cell(value, kind)) };
  const { head, line } = csvWriterOf(safe, columns);
  process.stdout.write(head);
  return (rows) => {
    for (const row of rows) process.stdout.write(line(row));
  };
}

/**
 * A log on stderr. Lines below `error` wait for others, at most 100 ms and 8 KiB of them, because a
 * write for each costs more than the line. A line of `error` leaves at once, with all that wait
 * before it, and so does everything when the process ends by itself, by a bug, or by a signal that
 * it listens to. Another signal, such as SIGKILL, and a loss of power lose what waits.
 */
export function makeLog(level: GatewayConfig["logLevel"]): GatewayLog & Pick<Logger, "level"> {
  const out = destination({ dest: 2, sync: true, minLength: logBytesHeld, periodicFlush: logMs });
  flushLog();
  flushLog = () => out.flush();
  // JSON escapes only the oldest control characters. Shops and nodes choose some of these texts,
  // and operators read them on a terminal.
  const stream = {
    write: (line: string) => {
      out.write(visibleLines(isJournal ? withPriority(line) : line));
      if (line.startsWith('{"level":"error"')) out.flush();
    },
  };
  return pino({ level, ...pinoLineOptions("gateway", readClock) }, stream);
}

export interface ConfigOption {
  readonly config: string;
}
export interface ActorOption {
  readonly as?: string; // the name that stands in the audit
}
export interface JsonOption extends ConfigOption {
  readonly json?: boolean;
}

/**
 * The configuration that commands go by: the file, or the running gateway's own copy while the file
 * cannot be used. Says so on stderr. @throws AgentError as `readConfig`, if no gateway runs
 */
export function configInForce(path: string): GatewayConfig {
  const read = readConfigOrError(path);
  if (!(read instanceof AgentError)) return read;
  const kept = readConfigInForce(path);
  if (kept === null || !isRun(kept)) throw read;
  if (!isSaid) printProblem(`${read.message}; ${staleConfigWarning[0]}`, staleConfigWarning[1]);
  isSaid = true;
  return kept;
}

/** The configuration of the file, or why the file cannot be used. */
export function readConfigOrError(path: string): GatewayConfig | AgentError {
  try {
    return readConfig(path);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return error;
  }
}

let isSaid = false; // once for a command

function isRun({ database }: GatewayConfig): boolean {
  try {
    return owningRun(database) !== null;
  } catch {
    return false;
  }
}

/**
 * Opens configuration, key and database for `work`, and closes the database after `work`, or after
 * its promise.
 */
export function runInOperatorContext<T>(
  options: ConfigOption & ActorOption,
  work: (by: OperatorContext, config: GatewayConfig) => T,
): T {
  const config = configInForce(options.config);
  const gatewayKey = readGatewayKey(config.keyFile);
  const store = openDatabase(config, makeLog("error"));
  let waits = false;
  try {
    checkStoreKey(store.database, gatewayKey.fingerprint, {
      keyFile: config.keyFile,
      database: databaseName(config),
    });
    const done = work(
      {
        store,
        gatewayKey,
        random: randomBytes,
        nowMs: readClock(),
        run: findActiveRun(config, store),
        actor: actorOf(options),
      },
      config,
    );
    if (!(done instanceof Promise)) return done;
    waits = true;
    return done.finally(() => store.close()) as T;
  } finally {
    if (!waits) store.close();
  }
}

/**
 * The name in the audit: the one that the person typed, else the one of the login. Nobody proves
 * it, so it is only a claim; "operator" before it keeps it apart from rooms, keys and agents.
 */
function actorOf({ as }: ActorOption): string {
  const name = as ?? (process.env.SUDO_USER || loginName());
  return name === "" ? "operator" : `operator ${name}`;
}

/** "" for a user id without a name, as in some containers. */
function loginName(): string {
  try {
    return userInfo().username;
  } catch {
    return "";
  }
}

/** True for a success. Otherwise prints the refusal and sets the exit status. */
export function isOkOrPrintsRefusal<T extends { readonly ok: true }>(
  outcome: T | Refusal,
): outcome is T {
  if (outcome.ok) return true;
  const { meaning, advice } = codes[outcome.code];
  refuseCommand(outcome.code, outcome.detail ?? meaning, advice);
  process.exitCode = exitStatuses.no;
  return false;
}

export interface InitOptions {
  readonly dir: string;
  readonly database?: string; // of PostgreSQL
  readonly databasePasswordFile?: string;
  readonly json?: boolean;
}

export function runInit(options: InitOptions): void {
  const made = initFolder(options.dir, makeLog("error"), options);
  if (options.json === true) {
    printJson(made);
    return;
  }
  printText(
    `Made ${made.key}, an empty database${options.database === undefined ? "" : " on the server"}, and ${made.config}.`,
  );
  printText(
    `Next: set publicUrl, chains and currencies there, then run this program with: start --config ${made.config}`,
  );
}

export function runBackup(
  file: string,
  options: JsonOption & { readonly check?: boolean; readonly yes?: boolean },
): void {
  if (options.check === true) {
    // A restore drill may run on another machine. With a configuration, the copy must belong to its
    // gateway.
    const config = existsSync(options.config) ? readConfig(options.config) : null;
    const copy = checkBackup(
      file,
      config === null ? null : readGatewayKey(config.keyFile).fingerprint,
    );
    const problem = copyProblem(copy);
    if (options.json === true) printJson({ file, ...copy, problem });
    else printText(`The copy is whole.\n${describeCopy(file, copy)}`);
    if (problem === "") return;
    process.exitCode = exitStatuses.no;
    if (options.json !== true)
      printProblem(
        problem,
        "make it with: autowithdraw-gateway backup FILE, also while the gateway runs",
      );
    return;
  }
  runInOperatorContext(options, ({ store, nowMs }, config) => {
    const { keyFile } = config;
    if (config.postgres !== null) throw serverBackupFault(databaseName(config));
    const copy = backUp(store, file, nowMs, options.yes === true);
    if (options.json === true) printJson({ file, ...copy });
    else
      printText(
        `Copied, and the copy read through.\n${describeCopy(file, copy)}\n${keepWords(keyFile, options.config)}`,
      );
  });
}

export function runAgentsList(options: JsonOption): void {
  runInOperatorContext(options, (by) => {
    const agents = listAgents(by);
    if (options.json === true) {
      printJson(agents);
      return;
    }
    printList(agents.map(agentText), "No agent has paired yet.");
  });
}

type ListedAgent = ReturnType<typeof listAgents>[number];

function agentText(agent: ListedAgent): string {
  const state = agent.unpairedAt === "" ? pairedState(agent) : "unpaired";
  const effect =
    agent.unpairedAt === "" ? "agents unpair is refused" : "the next server begins with a recovery";
  return [
    `${agent.agentId}  ${state}  ${agent.merchant} (${agent.merchantId})  short code ${agent.shortCode}`,
    `  ${agent.hotWalletAddresses.join(", ")}  epoch ${agent.ledgerEpoch}  last seen ${agent.lastSeenAt || "never"}  open ${agent.openWithdrawals}`,
    ...(agent.software === "" ? [] : [`  runs ${agent.software}`]),
    ...(agent.policy === "" ? [] : [`  limits ${agent.policy}`]),
    ...(agent.notCaughtUp === "" ? [] : [`  not caught up, so ${effect}: ${agent.notCaughtUp}`]),
  ].join("\n");
}

function pairedState({ lockedCode, pausedAt }: ListedAgent): string {
  if (lockedCode !== "") return `locked ${lockedCode}`;
  return pausedAt === "" ? "paired" : `paused by its operator since ${pausedAt}`;
}

export function runAgentsUnpair(
  agentId: string,
  options: JsonOption & { readonly skipCatchUp?: boolean; readonly open?: boolean },
): void {
  runInOperatorContext(options, (by) => {
    const notCaughtUp = options.skipCatchUp === true;
    const released = unpairAgent(
      by,
      agentId,
      notCaughtUp ? "notCaughtUp" : options.open === true ? "open" : undefined,
    );
    if (!isOkOrPrintsRefusal(released)) return;
    const { openWithdrawals } = released;
    if (options.json === true) {
      printJson({ agentId, unpaired: true, notCaughtUp, openWithdrawals });
      return;
    }
    printText(
      `Unpaired ${agentId}${notCaughtUp ? ", which had not caught up" : ""}; its merchant may pair another server.`,
    );
    if (openWithdrawals > 0) {
      printText(
        `Open withdrawals and sweeps that stay with it: ${openWithdrawals}. Those on the chain still end; the others stay Pending,`,
      );
      printText(
        "unless the same server is paired again. End that server before another one is paired.",
      );
    }
    if (notCaughtUp) {
      printText(
        "What it paid may be missing here. The server that is paired next begins with a recovery and pays nothing by itself:",
      );
      printText(
        "compare each of its orders with the chain before it is approved (docs/recovering.md, section 4).",
      );
    }
  });
}

/** True on a chain that counts an account's transactions: an agent that forgot one stops there. */
function isStoppedByChain(network: string): boolean {
  return expiryExclusionOf(network) === null && pinExclusionOf(network) === null;
}

export function runAgentsRecover(
  agentId: string,
  options: JsonOption & { readonly aboveEpoch?: number },
): void {
  runInOperatorContext(options, (by, { chains }) => {
    const begun = recoverAgent(by, agentId, options.aboveEpoch ?? 0);
    if (!isOkOrPrintsRefusal(begun)) return;
    const { ok: _ok, unread, ...told } = begun;
    const { ledgerEpoch, openWithdrawals } = told;
    const unreadChains = Object.keys(chains).filter((name) =>
      unread.includes(chains[name]?.network ?? ""),
    );
    if (options.json === true) {
      printJson({ agentId, ...told, unreadChains });
      return;
    }
    printText(
      `Recovery of ${agentId} begun: epoch ${ledgerEpoch}. Anybody who runs with an older one is refused from now on.`,
    );
    printText(`Open withdrawals that go with the order: ${openWithdrawals}.`);
    printText(
      "Next, on the agent's server, once status says RECOVERY_OFFERED there: the command recover;",
    );
    printText(
      "recover --both-restored where this gateway's database was restored too (docs/recovering.md).",
    );
    if (unreadChains.length > 0) {
      printText(
        `Not read up to its newest block since the gateway was started: ${unreadChains.join(", ")}. Where both were restored, the order`,
      );
      printText(
        "lacks what both have forgotten there: wait until health prints ready, then give this command again.",
      );
    }
    const unstopped = Object.keys(chains).filter(
      (name) => !isStoppedByChain(chains[name]?.network ?? ""),
    );
    if (unstopped.length === 0) return;
    printText(
      `No chain stops an agent that has forgotten a payment on ${unstopped.join(", ")}. If both were restored and a block`,
    );
    printText(
      "explorer shows a payment of the hot wallet there that is not final yet, wait until it is, then give this command",
    );
    printText("again: the order lists the payments that are final when it is given.");
  });
}

export async function runHealth(options: JsonOption): Promise<void> {
  const answer = await askHealth(configInForce(options.config));
  if (!answer.reached) {
    printProblem(
      `cannot be reached: ${answer.text}`,
      "start it, or look at listen in the configuration",
    );
    process.exitCode = exitStatuses.unreachable;
    return;
  }
  const warned = answer.ready ? warnedChecks(answer.text) : "";
  const words = answer.ready
    ? `ready${warned === "" ? "" : `; ${warned}`}`
    : `not ready: ${failedChecks(answer.text)}`;
  printText(options.json === true ? answer.text : words);
  if (!answer.ready && options.json !== true)
    printText(
      `hint: autowithdraw-gateway check says more; in a checkout: node gateway/gateway.js check --config ${options.config}`,
    );
  process.exitCode = answer.ready ? exitStatuses.fine : exitStatuses.no;
}

export async function runCheck(options: JsonOption): Promise<void> {
  const findings = await checkGateway(options.config, readClock());
  const verdict = verdictOfFindings(findings);
  const ok = verdict.verdict === "ok";
  if (options.json === true) printJson({ ok, config: options.config, findings });
  else {
    for (const one of findings) printText(`gateway: ${findingLine(one)}`);
    const now = verdict.verdict === "passing" ? `would not start now: ${verdict.why}` : "";
    const words = ok ? "would start" : now || "would not start, or would be wrong";
    printText(`gateway: ${words} (config ${options.config})`);
  }
  process.exitCode = ok
    ? exitStatuses.fine
    : verdict.verdict === "passing"
      ? exitStatuses.no
      : exitStatuses.usage;
}
