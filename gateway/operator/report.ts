/**
 * `report`: what each merchant had, received and paid in a month, by currency, for an accountant. A
 * month is the blocks whose own times are in it. Opening, movements and closing agree to the unit;
 * `--on-chain` compares both ends with the nodes, which must keep old state for that; `--moves`
 * lists every change instead. Changes nothing. Exit: 0 fine, 1 the chain differs, 3 a chain could
 * not be read.
 */
import { type Command, CommanderError, InvalidArgumentError } from "commander";
import { AgentError } from "../../base/fault.ts";
import { openWatcher } from "../../chains/connect.ts";
import { type CsvColumns, type CsvTable, csvTableForPrograms } from "../answer/csv-cell.ts";
import { monthAt, parseMonth } from "../books/months.ts";
import {
  lastBlockBefore,
  type PeriodBlocks,
  type PeriodLine,
  type PeriodOptions,
  sumPeriod,
} from "../books/period.ts";
import { signedAmount } from "../books/taking-in.ts";
import type { GatewayChain, GatewayConfig } from "../config/config.ts";
import { readSecretFile } from "../config/secret-file.ts";
import { readCursor } from "../store/cursors.ts";
import { merchantNames } from "../store/merchants.ts";
import type { Store } from "../store/store.ts";
import { nodeLog } from "../watcher/node-log.ts";
import { formatTimestamp } from "./accounts.ts";
import {
  exitStatuses,
  isOkOrPrintsRefusal,
  type JsonOption,
  makeLog,
  openCsv,
  printCsv,
  printJson,
  printProblem,
  printText,
  readClock,
  runInOperatorContext,
} from "./command.ts";
import { checkRecordFilter } from "./named.ts";
import { type ListedMove, listMoves, moveColumns, moveText } from "./report-moves.ts";
import {
  addConfigAndJsonOptions,
  addCsvOptions,
  type CsvOptions,
  csvTable,
  readMomentOption,
} from "./words.ts";

interface ReportOptions extends JsonOption, CsvOptions {
  readonly month?: Period;
  readonly since?: number;
  readonly until?: number;
  readonly merchant?: string;
  readonly onChain?: boolean;
  readonly moves?: boolean;
}

interface Period {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** One line of the report; amounts in the usual notation, negative where money left. */
interface ReportLine {
  readonly merchantId: string;
  readonly merchant: string;
  readonly currency: string;
  readonly opening: string;
  readonly paidIn: string;
  readonly paidOut: string;
  readonly fees: string;
  readonly broughtIn: string;
  readonly corrected: string;
  readonly closing: string;
  readonly chainOpening: string; // "" if the chain was not asked
  readonly chainClosing: string;
}

interface ReportedBlocks {
  readonly chain: string;
  readonly blocks: PeriodBlocks | null; // null if it could not be read
  readonly code: string; // why not
}

interface ReportedChain extends ReportedBlocks {
  readonly lines: readonly ReportLine[];
}

const columns: CsvColumns = {
  merchantId: "text",
  merchant: "text",
  currency: "word",
  opening: "sum",
  paidIn: "sum",
  paidOut: "sum",
  fees: "sum",
  broughtIn: "sum",
  corrected: "sum",
  closing: "sum",
  chainOpening: "sum",
  chainClosing: "sum",
  chain: "word",
  afterBlock: "count",
  lastBlock: "count",
};

function monthOf(text: string): Period {
  const month = parseMonth(text);
  if (month === null) throw new InvalidArgumentError("a month in UTC: 2026-11");
  return month;
}

/**
 * The month that was named, the time between two that were named, else the month before this one.
 */
function periodOf({ month, since, until }: ReportOptions, nowMs: number): Period {
  if (month !== undefined) {
    if (since !== undefined || until !== undefined)
      throw usage("--month stands alone, without --since and --until");
    return month;
  }
  if (since === undefined && until === undefined) return monthAt(nowMs, -1);
  if (since === undefined) throw usage("--until needs --since");
  const untilMs = until ?? nowMs;
  if (untilMs <= since) throw usage("--until must be later than --since");
  return { sinceMs: since, untilMs };
}

const usage = (words: string): CommanderError =>
  new CommanderError(exitStatuses.usage, "period", words);

/** The note on a sum below zero. */
const beginsLater =
  "the books of a hot wallet begin with its first closing, which is later: what it had then is not in yet";

const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

type ChainReader = ReturnType<typeof openWatcher>;

/** The period and the options of a report, and the books to read. */
interface ReportQuestion {
  readonly store: Store;
  readonly config: GatewayConfig;
  readonly period: Period;
  readonly options: ReportOptions;
}

/** Finds the blocks of the period on a chain, and lets `read` read what is in them. */
async function readChain(
  { store, config, period, options }: ReportQuestion,
  [name, chain]: readonly [string, GatewayChain],
  read: (
    of: PeriodOptions & { readonly reader: ChainReader },
    blocks: PeriodBlocks,
  ) => Promise<void>,
): Promise<ReportedBlocks> {
  const { network } = chain;
  const currencies = Object.values(config.currencies).filter((one) => one.network === network);
  const reader = openWatcher({ chain, readSecretFile, log: nodeLog(makeLog("error"), name) });
  try {
    const final = readCursor(store.database, network)?.block;
    if (final === undefined)
      throw new AgentError("BOOKS_UNREAD", "none", `no final block of ${network} was read yet`, {
        network,
      });
    const end = async (atMs: number): Promise<number> =>
      lastBlockBefore(reader.timestamp, final, atMs);
    const blocks = { before: await end(period.sinceMs), last: await end(period.untilMs) };
    const merchant = options.merchant ?? null;
    await read({ store, network, merchant, currencies, reader, rest }, blocks);
    return { chain: name, blocks, code: "" };
  } catch (error) {
    if (!(error instanceof AgentError) || error.code.startsWith("GATEWAY_STORE_")) throw error;
    return { chain: name, blocks: null, code: error.code };
  } finally {
    reader.close();
  }
}

async function reportOn(
  question: ReportQuestion,
  named: readonly [string, GatewayChain],
): Promise<ReportedChain> {
  const { store, config, options } = question;
  const names = new Map(merchantNames(store.database).map((one) => [one.id, one.name]));
  let lines: readonly ReportLine[] = [];
  const read = await readChain(question, named, async (of, blocks) => {
    const isCompared = options.onChain === true && of.reader.tellsNewestBalances !== true;
    const summed = await sumPeriod(of, blocks, isCompared);
    lines = summed.map((line) => listed(line, config, names));
  });
  return { ...read, lines };
}

function listed(
  line: PeriodLine,
  { currencies }: GatewayConfig,
  names: ReadonlyMap<string, string>,
): ReportLine {
  const decimal = currencies[line.currency]?.decimal ?? 0;
  const text = (units: bigint | null): string =>
    units === null ? "" : signedAmount(units, decimal);
  return {
    merchantId: line.merchant,
    merchant: names.get(line.merchant) ?? "",
    currency: line.currency,
    opening: text(line.openingUnits),
    paidIn: text(line.inUnits),
    paidOut: text(line.outUnits),
    fees: text(line.feeUnits),
    broughtIn: text(line.broughtUnits),
    corrected: text(line.correctedUnits),
    closing: text(line.closingUnits),
    chainOpening: text(line.chainOpeningUnits),
    chainClosing: text(line.chainClosingUnits),
  };
}

const differs = ({ opening, closing, chainOpening, chainClosing }: ReportLine): boolean =>
  chainOpening !== "" && (chainOpening !== opening || chainClosing !== closing);

function chainText({ chain, blocks, code }: ReportedBlocks): string {
  if (blocks === null) return `${chain}: cannot be read: ${code}`;
  const { before, last } = blocks;
  if (last <= before) return `${chain}: no block of this time was read yet`;
  return `${chain}: blocks ${before + 1} to ${last}`;
}

const describe = (chain: ReportedChain): string =>
  [chainText(chain), ...chain.lines.map(lineText)].join("\n");

function lineText(line: ReportLine): string {
  const {
    merchantId,
    merchant,
    currency,
    opening,
    paidIn,
    paidOut,
    fees,
    broughtIn,
    corrected,
    closing,
  } = line;
  const rare = [
    broughtIn === "0" ? "" : `, brought in ${broughtIn}`,
    corrected === "0" ? "" : `, corrected ${corrected}`,
  ];
  const moved = `paid in ${paidIn}, paid out ${paidOut}, fees ${fees}${rare.join("")}`;
  const chain = differs(line)
    ? `; THE CHAIN HAS ${line.chainOpening} and ${line.chainClosing}`
    : "";
  const fits = line.chainOpening !== "" && !differs(line) ? "; as on the chain" : "";
  // No balance is below zero: what came before the books of a hot wallet began is in no column yet.
  const later = [opening, closing].some((amount) => amount.startsWith("-"))
    ? `; ${beginsLater}`
    : "";
  return `  ${merchantId}  ${merchant}  ${currency}: opening ${opening}, ${moved}, closing ${closing}${chain}${fits}${later}`;
}

function report(options: ReportOptions): Promise<void> {
  if (options.moves === true && options.onChain === true)
    throw usage("--moves lists what the journal has; --on-chain compares sums with the chain");
  const table = csvTable(options);
  const period = periodOf(options, readClock());
  return runInOperatorContext(options, async (by, config) => {
    if (!isOkOrPrintsRefusal(checkRecordFilter(by, options))) return;
    const question = { store: by.store, config, period, options };
    const print = options.moves === true ? printMoves : printSums;
    await print(question, table === null ? null : withNegatives(table));
  });
}

const timesOf = ({
  sinceMs,
  untilMs,
}: Period): { readonly since: string; readonly until: string } => ({
  since: formatTimestamp(sinceMs),
  until: formatTimestamp(untilMs),
});

async function printSums(question: ReportQuestion, table: CsvTable | null): Promise<void> {
  const { config, period, options } = question;
  const chains: ReportedChain[] = [];
  for (const chain of Object.entries(config.chains)) chains.push(await reportOn(question, chain));
  const isOther = chains.some(({ lines }) => lines.some(differs));
  const { since, until } = timesOf(period);
  if (table !== null) printCsv(table, columns, chains.flatMap(csvRows));
  else if (options.json === true) printJson({ since, until, chains });
  else printText([`from ${since} to ${until}`, ...chains.map(describe)].join("\n"));
  if (isOther) process.exitCode = exitStatuses.no;
  tellUnread(chains, table !== null);
}

const isUnread = ({ blocks }: ReportedBlocks): boolean => blocks === null;

/** Sets the exit status if a chain could not be read; a table has no place to say so. */
function tellUnread(chains: readonly ReportedBlocks[], isTable: boolean): void {
  const unread = chains.filter(isUnread);
  if (unread.length > 0) process.exitCode = exitStatuses.unreachable;
  if (!isTable) return;
  for (const chain of unread)
    printProblem(
      `the table has not every line of ${chainText(chain)}`,
      "autowithdraw-gateway check; then make the table again",
    );
}

/** Text and CSV leave as they are read; a chain that fails in between leaves what came before. */
async function printMoves(question: ReportQuestion, table: CsvTable | null): Promise<void> {
  const { config, period, options } = question;
  const { since, until } = timesOf(period);
  const isText = table === null && options.json !== true;
  const printRows = table === null ? null : openCsv(table, moveColumns);
  if (isText) printText(`from ${since} to ${until}`);
  const chains: (ReportedBlocks & { readonly moves: readonly ListedMove[] })[] = [];
  for (const chain of Object.entries(config.chains)) {
    const moves: ListedMove[] = [];
    const read = await readChain(question, chain, async (of, blocks) => {
      if (isText) printText(chainText({ chain: chain[0], blocks, code: "" }));
      for await (const some of listMoves(of, blocks, config)) {
        if (printRows !== null) printRows(some.map((move) => ({ ...move, chain: chain[0] })));
        else if (!isText) for (const move of some) moves.push(move);
        else if (some.length > 0) printText(some.map(moveText).join("\n"));
      }
    });
    if (isText && isUnread(read)) printText(chainText(read));
    chains.push({ ...read, moves: isUnread(read) ? [] : moves });
  }
  if (options.json === true) printJson({ since, until, chains });
  tellUnread(chains, printRows !== null);
}

/** Amounts are the gateway's own, so a program's table keeps a negative one as a number. */
function withNegatives(table: CsvTable): CsvTable {
  if (table !== csvTableForPrograms) return table;
  return {
    ...table,
    cell: (value, kind) =>
      /^-\d+(?:\.\d+)?$/.test(String(value)) ? String(value) : table.cell(value, kind),
  };
}

const csvRows = ({
  chain,
  blocks,
  lines,
}: ReportedChain): readonly Readonly<Record<string, unknown>>[] =>
  lines.map((line) => ({ ...line, chain, afterBlock: blocks?.before, lastBlock: blocks?.last }));

export function addReportCommand(program: Command): void {
  addCsvOptions(
    addConfigAndJsonOptions(
      program
        .command("report")
        .description("each merchant's month, for an accountant: had, came, went, has"),
    ),
  )
    .option(
      "--month <month>",
      "in UTC, such as 2026-11; the one before this one unless told",
      monthOf,
    )
    .option("--since <time>", "another time, from here on", readMomentOption)
    .option("--until <time>", "and before here (default: now)", readMomentOption)
    .option("--merchant <id>", "whose")
    .option("--moves", "each change behind the lines, by account and block, with its order")
    .option("--on-chain", "compare both ends with the chain; the nodes must keep old state")
    .action(report);
}
