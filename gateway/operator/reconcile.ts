/**
 * `reconcile`: closes the books in its own process while a gateway runs, and compares the balances
 * of all addresses and hot wallets with the database. `reconcile note` accepts a difference under
 * an operator's name.
 */
import type { Command } from "commander";
import { AgentError, refuse } from "../../base/fault.ts";
import { openWatcher } from "../../chains/connect.ts";
import { closeBooks } from "../books/closing.ts";
import type { ClosingOptions, UncomparedBalances } from "../books/compare.ts";
import { amountWords, type ClosingResult, differenceWords } from "../books/keeping.ts";
import { acceptDifference, signedAmount } from "../books/taking-in.ts";
import type { GatewayChain, GatewayConfig, GatewayCurrency } from "../config/config.ts";
import { readSecretFile } from "../config/secret-file.ts";
import {
  type BookEntryRow,
  type ClosingRow,
  type DifferenceRow,
  listDifferences,
  listNewestEntries,
  readClosing,
} from "../store/books.ts";
import type { Store } from "../store/store.ts";
import { nodeLog } from "../watcher/node-log.ts";
import { formatTimestamp } from "./accounts.ts";
import {
  exitStatuses,
  isOkOrPrintsRefusal,
  type JsonOption,
  makeLog,
  printJson,
  printText,
  readClock,
  runInOperatorContext,
} from "./command.ts";
import { checkRecordFilter } from "./named.ts";
import { addConfigAndJsonOptions, readRemark } from "./words.ts";

interface ReconcileOptions extends JsonOption {
  readonly currency?: string;
  readonly merchant?: string;
  readonly last?: boolean;
}

/** A chain's books for the output. */
interface ShownBooks {
  readonly chain: string;
  readonly network: string;
  readonly closing: Pick<
    ClosingResult,
    "firstBlock" | "lastBlock" | "addresses" | "hotWallets" | "compared"
  > | null;
  readonly closedAt: number | null;
  readonly code: string; // code of the fault that prevented the closing
  readonly uncompared: number;
  readonly left: readonly UncomparedBalances[]; // balances that this closing could not compare
  readonly differences: readonly DifferenceRow[];
  readonly entries: readonly BookEntryRow[];
}

const entriesMax = 20;

type Currencies = readonly GatewayCurrency[];

/** The part of a chain that is compared. */
function scopeOf(config: GatewayConfig, network: string, { currency, merchant }: ReconcileOptions) {
  const all = Object.values(config.currencies).filter((one) => one.network === network);
  const currencies = all.filter(({ id }) => currency === undefined || id === currency);
  const isWhole = merchant === undefined && currency === undefined;
  return { network, currencies, merchant: merchant ?? null, isWhole };
}

const timerRest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function closeChain(
  name: string,
  chain: GatewayChain,
  scope: ReturnType<typeof scopeOf>,
  store: Store,
): Promise<ShownBooks> {
  const none = {
    chain: name,
    network: chain.network,
    closing: null,
    closedAt: null,
    uncompared: 0,
    left: [],
  };
  const reader = openWatcher({ chain, readSecretFile, log: nodeLog(makeLog("error"), name) });
  const options: ClosingOptions = {
    ...scope,
    store,
    reader,
    clock: readClock,
    rest: timerRest,
    onProgress: progressOf(name),
  };
  try {
    const closed = await closeBooks(options);
    const uncompared = closed.left.reduce((sum, { balances }) => sum + balances, 0);
    const { at, left, differences, entries } = closed;
    return {
      ...none,
      closing: closed,
      closedAt: at,
      code: "",
      uncompared,
      left,
      differences,
      entries,
    };
  } catch (error) {
    if (!(error instanceof AgentError) || error.code.startsWith("GATEWAY_STORE_")) throw error;
    return { ...none, code: error.code, differences: [], entries: [] };
  } finally {
    progressOf(name)(0, 0);
    reader.close();
  }
}

const progressMs = 200;

/** One terminal line that is overwritten; nothing if stderr is no terminal. */
function progressOf(name: string): (done: number, of: number) => void {
  let saidAt = 0;
  return (done, of) => {
    if (!process.stderr.isTTY || (done < of && readClock() - saidAt < progressMs)) return;
    saidAt = readClock();
    process.stderr.write(of === 0 ? "\r\u001b[K" : `\r\u001b[K${name}: ${done} of ${of} accounts`);
  };
}

function lastOf(
  store: Store,
  chain: string,
  { network, currencies, merchant }: ReturnType<typeof scopeOf>,
): ShownBooks {
  const { database } = store;
  const row: ClosingRow | undefined = readClosing(database, network);
  const isIn = (one: DifferenceRow): boolean =>
    currencies.some(({ id }) => id === one.currency) &&
    (merchant === null || one.merchant === merchant);
  return {
    chain,
    network,
    closedAt: row?.closedAt ?? null,
    code: row?.fault ?? "",
    uncompared: row?.left ?? 0,
    left: [],
    closing: row === undefined || row.closedAt === null ? null : row,
    differences: listDifferences(database, network).filter(isIn),
    entries: listNewestEntries(database, network, entriesMax).filter(
      ({ currency }) => merchant === null && currencies.some(({ id }) => id === currency),
    ),
  };
}

function reconcile(options: ReconcileOptions): Promise<void> | void {
  return runInOperatorContext(options, async (by, config) => {
    const { currency, merchant } = options;
    if (!isOkOrPrintsRefusal(checkRecordFilter(by, merchant === undefined ? {} : { merchant })))
      return;
    if (currency !== undefined && !isOkOrPrintsRefusal(known(config, currency))) return;
    const shown: ShownBooks[] = [];
    for (const [name, chain] of Object.entries(config.chains)) {
      const scope = scopeOf(config, chain.network, options);
      if (scope.currencies.length === 0) continue;
      shown.push(
        options.last === true
          ? lastOf(by.store, name, scope)
          : await closeChain(name, chain, scope, by.store),
      );
    }
    const currencies = Object.values(config.currencies);
    if (options.json === true)
      printJson({
        ok: codeOf(shown) === exitStatuses.fine,
        chains: shown.map((one) => listed(one, currencies)),
      });
    else for (const one of shown) printText(describe(one, currencies));
    process.exitCode = codeOf(shown);
  });
}

function known(config: GatewayConfig, currency: string) {
  if (Object.hasOwn(config.currencies, currency)) return { ok: true as const };
  return refuse("GATEWAY_UNKNOWN_CURRENCY", `there is no currency ${currency}`);
}

function codeOf(shown: readonly ShownBooks[]): number {
  if (shown.some(({ differences }) => differences.length > 0)) return exitStatuses.no;
  return shown.some(({ code, uncompared }) => code !== "" || uncompared > 0)
    ? exitStatuses.unreachable
    : exitStatuses.fine;
}

const decimalOf = (currencies: Currencies, id: string): number =>
  currencies.find((one) => one.id === id)?.decimal ?? 0;

const listedDifference = (row: DifferenceRow, currencies: Currencies) => {
  const { address, merchant: merchantId, kind, currency, block, sinceBlock, detail, at } = row;
  const decimal = decimalOf(currencies, currency);
  const [expected, found] = [BigInt(row.expectedUnits), BigInt(row.foundUnits)];
  return {
    address,
    kind,
    merchantId,
    currency,
    expected: signedAmount(expected, decimal),
    found: signedAmount(found, decimal),
    difference: signedAmount(found - expected, decimal),
    block,
    sinceBlock,
    detail,
    firstFoundAt: formatTimestamp(at),
  };
};

function listed(
  { closing, closedAt, code, uncompared, left, differences, entries, chain, network }: ShownBooks,
  currencies: Currencies,
) {
  const {
    firstBlock = null,
    lastBlock = null,
    addresses = 0,
    hotWallets = 0,
    compared = 0,
  } = closing ?? {};
  return {
    chain,
    network,
    closedAt: formatTimestamp(closedAt),
    code,
    firstBlock,
    lastBlock,
    addresses,
    hotWallets,
    compared,
    uncompared,
    left,
    differences: differences.map((row) => listedDifference(row, currencies)),
    entries: entries.map(({ address, kind, currency, units, block, at, operator, reason }) => ({
      address,
      kind,
      currency,
      amount: signedAmount(BigInt(units), decimalOf(currencies, currency)),
      block,
      at: formatTimestamp(at),
      operator,
      reason,
    })),
  };
}

const counted = (count: number, one: string, many: string): string =>
  `${count} ${count === 1 ? one : many}`;

function describe(
  { chain, closing, closedAt, code, uncompared, left, differences, entries }: ShownBooks,
  currencies: Currencies,
): string {
  if (closing === null)
    return `${chain}: ${code === "" ? "the books were never closed" : `the books cannot be closed: ${code}`}`;
  const { firstBlock, lastBlock, addresses, hotWallets, compared } = closing;
  const blocks =
    firstBlock === lastBlock ? `at block ${lastBlock}` : `at blocks ${firstBlock} to ${lastBlock}`;
  const accounts = `${counted(addresses, "deposit address", "deposit addresses")} and ${counted(hotWallets, "hot wallet", "hot wallets")}`;
  return [
    `${chain}: closed ${formatTimestamp(closedAt)} ${blocks}, ${accounts}, ${counted(compared, "balance", "balances")} compared, ${counted(differences.length, "difference", "differences")}`,
    ...(code === "" ? [] : [`  newest try failed: ${code}`]),
    ...(uncompared === 0
      ? []
      : [`  not compared: ${counted(uncompared, "balance", "balances")}${leftWords(left)}`]),
    ...differences.map((row) => describeDifference(row, currencies)),
    ...entries.map((entry) => describeEntry(entry, currencies)),
  ].join("\n");
}

const leftWords = (left: readonly UncomparedBalances[]): string =>
  left.map(({ currency, code, balances }) => `; ${balances} of ${currency}: ${code}`).join("");

function describeDifference(row: DifferenceRow, currencies: Currencies): string {
  const { currency, expected, found, difference, merchantId, detail } = listedDifference(
    row,
    currencies,
  );
  return [
    `  DIFFERENCE ${difference} ${currency}  ${row.address}  merchant ${merchantId}`,
    `    ${differenceWords(row, currencies)}; expected ${expected}, found ${found} at block ${row.block}`,
    ...(detail === "" ? [] : [`    ${detail}`]),
  ].join("\n");
}

function describeEntry(
  { kind, address, units, currency, block, operator, reason }: BookEntryRow,
  currencies: Currencies,
): string {
  const amount = amountWords(BigInt(units), currency, currencies);
  if (kind === "opening")
    return `  the books of hot wallet ${address} begin with ${amount} at block ${block}`;
  if (kind === "outside")
    return `  came in from outside: ${amount} to hot wallet ${address}, seen at block ${block}`;
  if (kind === "owner")
    return `  taken out by its owner: ${amount} of ${address}, seen at block ${block}`;
  return `  taken in by ${operator}: ${amount} of ${address} at block ${block}: ${reason}`;
}

interface NoteOptions extends JsonOption {
  readonly amount: string;
  readonly by: string;
  readonly reason: string;
}

function note(address: string, currency: string, options: NoteOptions): void {
  runInOperatorContext(options, ({ store, nowMs }, config) => {
    const { amount, by: operator, reason } = options;
    if (!isOkOrPrintsRefusal(known(config, currency))) return;
    const { network, decimal } = config.currencies[currency] as GatewayCurrency;
    const taken = acceptDifference(store, {
      network,
      address,
      currency,
      decimal,
      amount,
      operator,
      reason,
      nowMs,
    });
    if (!isOkOrPrintsRefusal(taken)) return;
    const { entry } = taken;
    const shown = signedAmount(BigInt(entry.units), decimal);
    if (options.json === true)
      printJson({ address, currency, amount: shown, block: entry.block, by: operator, reason });
    else
      printText(
        `Taken in: ${shown} ${currency} of ${address} at block ${entry.block}. The next closing counts it as explained.`,
      );
  });
}

export function addReconcileCommand(program: Command): void {
  const command = addConfigAndJsonOptions(
    program
      .command("reconcile")
      .description("close the books: what every address and hot wallet holds against the database"),
  )
    .option("--currency <id>", "this one alone")
    .option("--merchant <id>", "whose")
    .option("--last", "show the newest closing; no node is asked")
    .action(reconcile);
  addConfigAndJsonOptions(
    command.command("note").description("take a difference in, by name and with a reason"),
  )
    .argument("<address>")
    .argument("<currency>", "in which it differs")
    .requiredOption("--amount <amount>", "the difference as reconcile shows it, with its sign")
    .requiredOption("--by <name>", "who takes it in", readRemark)
    .requiredOption("--reason <text>", "why, for anybody who looks later", readRemark)
    .action((address: string, currency: string, _own: unknown, own: Command) =>
      note(address, currency, own.optsWithGlobals()),
    );
}
