/**
 * `status`: one screen with everything that an operator of the gateway looks at, and each problem
 * with the line to type. Asks the running gateway at its own address and reads the database.
 * Changes nothing. Exit: 0 fine, 1 something is wrong, 3 the gateway does not run.
 */
import type { Command } from "commander";
import { AgentError } from "../../base/fault.ts";
import { version } from "../../base/version.ts";
import { booksState } from "../books/state.ts";
import type { GatewayConfig } from "../config/config.ts";
import { databaseName } from "../database/database.ts";
import { activeCheck, type Problem, withdrawalsWaitMs } from "../problems/table.ts";
import type { GatewayFigures } from "../service.ts";
import { type Counts, countsOf, type StageCount } from "../store/counts.ts";
import { fileBytesOf, freeBytesOf } from "../store/disk.ts";
import { listPresences, measureDatabaseBytes } from "../store/leases.ts";
import { readRestoreMark } from "../store/restored-database.ts";
import { countStuckSweeps } from "../store/sweeps.ts";
import { listWaitingMerchants, type WaitingMerchant } from "../store/withdrawals.ts";
import { formatTimestamp } from "./accounts.ts";
import {
  configInForce,
  exitStatuses,
  type JsonOption,
  printJson,
  printText,
  readClock,
  readConfigOrError,
  runInOperatorContext,
} from "./command.ts";
import { askHealth, readyAnswerOf, untrustedText } from "./health.ts";
import {
  type ChainBooks,
  type GatewayState,
  problemsOf,
  type SharedDatabaseView,
} from "./status-problems.ts";
import { addConfigAndJsonOptions } from "./words.ts";

interface StatusReading {
  readonly counts: Counts | null;
  readonly storeFault: AgentError | null;
  readonly books: readonly ChainBooks[];
  readonly restored: string;
  readonly waitingMerchants: readonly WaitingMerchant[];
  readonly stuckSweeps: number;
  readonly shared: SharedDatabaseView | null;
}

const namedMerchantsMax = 20;

function readDatabase(
  options: JsonOption,
  { chains, postgres }: GatewayConfig,
  nowMs: number,
): StatusReading {
  try {
    return runInOperatorContext(options, ({ store: { database }, run }) => {
      const restored = readRestoreMark(database)?.reason ?? "";
      const books = Object.entries(chains).map(([chain, { network }]): ChainBooks => {
        return { chain, ...booksState(database, network, nowMs) };
      });
      return {
        counts: countsOf(database, run),
        storeFault: null,
        books,
        restored,
        waitingMerchants: listWaitingMerchants(
          database,
          nowMs - withdrawalsWaitMs,
          namedMerchantsMax,
        ),
        stuckSweeps: countStuckSweeps(database),
        shared:
          postgres === null
            ? null
            : { bytes: measureDatabaseBytes(database), gateways: listPresences(database) },
      };
    });
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return {
      counts: null,
      storeFault: error,
      books: [],
      restored: "",
      waitingMerchants: [],
      stuckSweeps: 0,
      shared: null,
    };
  }
}

async function lookAt(options: JsonOption, config: GatewayConfig): Promise<GatewayState> {
  const nowMs = readClock();
  const health = await askHealth(config);
  const { database, postgres } = config;
  const file = readConfigOrError(options.config);
  return {
    nowMs,
    configFault: file instanceof AgentError ? file.message : "",
    reached: health.reached,
    unreachedWhy: health.reached ? "" : health.text,
    untrusted: health.reached ? health.untrusted : "",
    ready: health.reached ? readyAnswerOf(health.text) : null,
    files: {
      databaseBytes: postgres === null ? fileBytesOf(database) : 0,
      walBytes: fileBytesOf(`${database}-wal`),
      freeBytes: freeBytesOf(database),
    },
    ...readDatabase(options, config, nowMs),
  };
}

const mebibyte = 1024 * 1024;
const sizeText = (bytes: number): string =>
  bytes < 10 * mebibyte ? `${Math.ceil(bytes / 1024)} KiB` : `${Math.floor(bytes / mebibyte)} MiB`;

/** A length of time in its largest unit: 4 s, 12 min, 3 h, 2 d. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800
    ? `${Math.round(seconds / 3_600)} h`
    : `${Math.round(seconds / 86_400)} d`;
}

function stagesText(stages: readonly StageCount[], nowMs: number): string {
  if (stages.length === 0) return "none open";
  return stages
    .map(({ stage, count, oldestAt }) => {
      const age = oldestAt === null ? "" : ` (oldest ${ageText(nowMs - oldestAt)})`;
      return `${count} ${stage.replaceAll("_", " ")}${age}`;
    })
    .join(", ");
}

function chainRows(figures: GatewayFigures | undefined): readonly (readonly [string, string])[] {
  return (figures?.chains ?? []).map(
    ({ chain, head, final, headAgeSeconds, finalAgeSeconds, read }) => {
      if (head === null) return [`chain ${chain}`, "not read yet"];
      const age = headAgeSeconds === null ? "" : ` (${ageText(headAgeSeconds * 1000)} old)`;
      const finalAge = finalAgeSeconds === null ? "" : ` (${ageText(finalAgeSeconds * 1000)} old)`;
      const behind =
        final === null || read === null
          ? ""
          : `, payments read to ${read} of ${final} final${finalAge}`;
      return [`chain ${chain}`, `block ${head}${age}${behind}`];
    },
  );
}

function agentsText({ agents }: Counts, figures: GatewayFigures | undefined): string {
  const connected = figures === undefined ? [] : [`${figures.agentsConnected} connected`];
  const more = [...connected, `${agents.locked} locked`, `${agents.paused} paused`];
  return `${agents.paired} paired: ${more.join(", ")}`;
}

function booksRows({ books }: GatewayState): readonly (readonly [string, string])[] {
  return books.map(({ chain, closedAt, differences }) => {
    const closed = closedAt === null ? "no closing yet" : `closed at ${formatTimestamp(closedAt)}`;
    return [
      `books ${chain}`,
      `${closed}, ${differences} ${differences === 1 ? "difference" : "differences"} open`,
    ];
  });
}

const sharedWords = ({ bytes }: SharedDatabaseView, config: GatewayConfig): string =>
  `${databaseName(config)}: ${sizeText(bytes)}`;

function gatewaysText({ gateways }: SharedDatabaseView): string {
  return gateways.map(({ name, state }) => `${name} ${state}`).join(", ") || "none";
}

function rowsOf(state: GatewayState, config: GatewayConfig): string {
  const { reached, untrusted, ready, counts, files, nowMs } = state;
  const figures = ready?.figures;
  const since = figures === undefined ? "" : `, runs since ${figures.startedAt}`;
  const isStandby = ready?.checks.some(({ name }) => name === activeCheck) ?? false;
  const readyText = isStandby ? "a standby, which answers GET alone" : ready?.status;
  const answer = untrusted === "" ? (readyText ?? "no readable answer") : untrustedText(untrusted);
  const run = reached ? `${figures?.version ?? version}${since}, ${answer}` : "does not run";
  const { shared } = state;
  const free = files.freeBytes === null ? "" : `, ${sizeText(files.freeBytes)} free on its disk`;
  const size =
    config.postgres === null
      ? `: ${sizeText(files.databaseBytes)}, WAL ${sizeText(files.walBytes)}${free}`
      : ": not read";
  const rows: readonly (readonly [string, string])[] = [
    ["gateway", run],
    ["address", config.publicUrl],
    ["database", shared === null ? `${databaseName(config)}${size}` : sharedWords(shared, config)],
    ...(shared === null ? [] : [["gateways", gatewaysText(shared)] as const]),
    ...chainRows(figures),
    ...booksRows(state),
    ...(counts === null ? [] : countRows(counts, figures, nowMs)),
  ];
  const width = Math.max(...rows.map(([name]) => name.length)) + 3;
  return rows.map(([name, text]) => `  ${name.padEnd(width)}${text}`).join("\n");
}

function countRows(
  counts: Counts,
  figures: GatewayFigures | undefined,
  nowMs: number,
): readonly (readonly [string, string])[] {
  const { withdrawals, deposits, sweeps, callbacks, alarms, jobsUnanswered } = counts;
  const newest = alarms.newestAt === null ? "" : `, newest at ${formatTimestamp(alarms.newestAt)}`;
  const unanswered = jobsUnanswered === 0 ? "" : `; ${jobsUnanswered} that no agent has answered`;
  return [
    ["agents", agentsText(counts, figures)],
    ["withdrawals", `${stagesText(withdrawals, nowMs)}${unanswered}`],
    ["deposits", stagesText(deposits, nowMs)],
    ["sweeps", stagesText(sweeps, nowMs)],
    ["callbacks", `${callbacks.waiting} waiting, ${callbacks.givenUp} given up`],
    ["alarms", `${alarms.count} open${newest}`],
  ];
}

/** 3 if the gateway does not run, 1 for a problem that is no warning, else 0. */
export function exitStatusOf(
  { reached }: Pick<GatewayState, "reached">,
  problems: readonly Problem[],
): number {
  if (!reached) return exitStatuses.unreachable;
  return problems.every(({ isWarning }) => isWarning) ? exitStatuses.fine : exitStatuses.no;
}

function headline(code: number, problems: readonly Problem[]): string {
  if (code === exitStatuses.fine) return "everything works";
  if (code === exitStatuses.unreachable)
    return "THE GATEWAY DOES NOT RUN, or does not answer at its own address";
  return `PROBLEMS (${problems.filter(({ isWarning }) => !isWarning).length})`;
}

function listed(title: string, problems: readonly Problem[]): string {
  if (problems.length === 0) return "";
  const lines = problems.map(
    ({ what, hint }) => `  - ${what}\n${hint === "" ? "" : `    hint: ${hint}\n`}`,
  );
  return `\n${title}:\n${lines.join("")}`;
}

async function status(options: JsonOption): Promise<void> {
  const config = configInForce(options.config);
  const state = await lookAt(options, config);
  const problems = problemsOf(state);
  const code = exitStatusOf(state, problems);
  process.exitCode = code;
  if (options.json === true) {
    const { reached, ready, counts, restored, files, storeFault, shared } = state;
    const fault = storeFault === null ? "" : storeFault.code;
    printJson({
      ok: code === exitStatuses.fine,
      running: reached,
      problems,
      ready,
      counts,
      restored,
      files,
      databaseFault: fault,
      ...(shared === null ? {} : { gateways: shared.gateways }),
    });
    return;
  }
  const [warnings, wrong] = [
    problems.filter((one) => one.isWarning),
    problems.filter((one) => !one.isWarning),
  ];
  const lists = `${listed("what is wrong", wrong)}${listed("not wrong yet", warnings)}`;
  printText(`${headline(code, problems)}\n\n${rowsOf(state, config)}\n${lists}`.trimEnd());
}

export function addStatusCommand(program: Command): void {
  addConfigAndJsonOptions(
    program
      .command("status")
      .description("one screen: whether everything works, what is open, and what is wrong"),
  ).action(status);
}
