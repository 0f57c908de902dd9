/**
 * `report`: what each merchant had, received and paid in a month, by currency, for an accountant. A
 * month is the blocks whose own times are in it. Opening, movements and closing agree to the unit;
 * `--on-chain` compares both ends with the nodes, which must keep old state for that. Changes
 * nothing. Exit: 0 fine, 1 the chain differs, 3 a chain could not be read.
 */
import { type Command, CommanderError, InvalidArgumentError } from "commander";
import { AgentError } from "../../base/fault.ts";
import { openWatcher } from "../../chains/connect.ts";
import { type CsvTable, tableForPrograms } from "../answer/csv-cell.ts";
import { lastBlockBefore, type PeriodBlocks, type PeriodLine, sumPeriod } from "../books/period.ts";
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
  printCsv,
  printJson,
  printText,
  readClock,
  runInOperatorContext,
} from "./command.ts";
import { checkRecordFilter } from "./named.ts";
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

interface ReportedChain {
  readonly chain: string;
  readonly blocks: PeriodBlocks | null; // null if it could not be read
  readonly code: string; // why not
  readonly lines: readonly ReportLine[];
}

const columns = [
  ...[
    "merchantId",
    "merchant",
    "currency",
    "opening",
    "paidIn",
    "paidOut",
    "fees",
    "broughtIn",
    "corrected",
    "closing",
  ],
  ...["chainOpening", "chainClosing", "chain", "afterBlock", "lastBlock"],
] as const;

function monthOf(text: string): Period {
  const [, year = "", month = ""] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? [];
  if (year === "") throw new InvalidArgumentError("a month in UTC: 2026-11");
  return {
    sinceMs: Date.UTC(Number(year), Number(month) - 1),
    untilMs: Date.UTC(Number(year), Number(month)),
  };
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
  const now = new Date(nowMs);
  if (since === undefined && until === undefined) {
    const [year, at] = [now.getUTCFullYear(), now.getUTCMonth()];
    return { sinceMs: Date.UTC(year, at - 1), untilMs: Date.UTC(year, at) };
  }
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

async function reportOn(
  store: Store,
  config: GatewayConfig,
  [name, chain]: readonly [string, GatewayChain],
  { sinceMs, untilMs }: Period,
  options: ReportOptions,
): Promise<ReportedChain> {
  const { network } = chain;
  const currencies = Object.values(config.currencies).filter((one) => one.network === network);
  const reader = openWatcher({ chain, readSecretFile, log: nodeLog(makeLog("error"), name) });
  try {
    const read = readCursor(store.database, network)?.block;
    if (read === undefined)
      throw new AgentError("BOOKS_UNREAD", "none", `no final block of ${network} was read yet`, {
        network,
      });
    const end = async (atMs: number): Promise<number> =>
      lastBlockBefore(reader.timestamp, read, atMs);
    const blocks = { before: await end(sinceMs), last: await end(untilMs) };
    const isCompared = options.onChain === true && reader.tellsNewestBalances !== true;
    const of = {
      store,
      network,
      merchant: options.merchant ?? null,
      currencies,
      reader,
      rest,
    };
    const lines = await sumPeriod(of, blocks, isCompared);
    const names = new Map(merchantNames(store.database).map((one) => [one.id, one.name]));
    return {
      chain: name,
      blocks,
      code: "",
      lines: lines.map((line) => listed(line, config, names)),
    };
  } catch (error) {
    if (!(error instanceof AgentError) || error.code.startsWith("GATEWAY_STORE_")) throw error;
    return { chain: name, blocks: null, code: error.code, lines: [] };
  } finally {
    reader.close();
  }
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

function describe({ chain, blocks, code, lines }: ReportedChain): string {
  if (blocks === null) return `${chain}: cannot be read: ${code}`;
  const { before, last } = blocks;
  if (last <= before) return `${chain}: no block of this time was read yet`;
  return [`${chain}: blocks ${before + 1} to ${last}`, ...lines.map(lineText)].join("\n");
}

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
  const table = csvTable(options);
  const period = periodOf(options, readClock());
  return runInOperatorContext(options, async (by, config) => {
    if (!isOkOrPrintsRefusal(checkRecordFilter(by, options))) return;
    const chains: ReportedChain[] = [];
    for (const chain of Object.entries(config.chains))
      chains.push(await reportOn(by.store, config, chain, period, options));
    const isUnread = chains.some(({ blocks }) => blocks === null);
    const isOther = chains.some(({ lines }) => lines.some(differs));
    const [since, until] = [formatTimestamp(period.sinceMs), formatTimestamp(period.untilMs)];
    if (table !== null) printCsv(withNegatives(table), columns, chains.flatMap(csvRows));
    else if (options.json === true) printJson({ since, until, chains });
    else printText([`from ${since} to ${until}`, ...chains.map(describe)].join("\n"));
    if (isUnread) process.exitCode = exitStatuses.unreachable;
    else if (isOther) process.exitCode = exitStatuses.no;
  });
}

/** Amounts are the gateway's own, so a program's table keeps a negative one as a number. */
function withNegatives(table: CsvTable): CsvTable {
  if (table !== tableForPrograms) return table;
  return {
    ...table,
    cell: (value) => (/^-\d+(?:\.\d+)?$/.test(String(value)) ? String(value) : table.cell(value)),
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
    .option("--on-chain", "compare both ends with the chain; the nodes must keep old state")
    .action(report);
}
