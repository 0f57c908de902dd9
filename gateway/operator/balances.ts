/**
 * `balances`: each merchant's money in each currency, as the shop's own balance shows it, beside
 * the hot wallet as the chain had it and the difference that the books found. Changes nothing.
 */
import type { Command } from "commander";
import { type Refusal, refuse } from "../../base/fault.ts";
import { formatAmount } from "../../protocol/amount.ts";
import type { CsvColumns } from "../answer/csv-cell.ts";
import { type Balance, balanceOf } from "../balance/balance.ts";
import { signedAmount } from "../books/taking-in.ts";
import type { GatewayConfig, GatewayCurrency } from "../config/config.ts";
import { type DifferenceRow, listDifferences } from "../store/books.ts";
import { merchantNames } from "../store/merchants.ts";
import type { Store } from "../store/store.ts";
import {
  isOkOrPrintsRefusal,
  type JsonOption,
  printCsv,
  printJson,
  printList,
  runInOperatorContext,
} from "./command.ts";
import { checkRecordFilter } from "./named.ts";
import { addConfigAndJsonOptions, addCsvOptions, type CsvOptions, csvTable } from "./words.ts";

const columns: CsvColumns = {
  merchantId: "text",
  merchant: "text",
  currency: "word",
  available: "sum",
  reserved: "sum",
  pending: "sum",
  sweeping: "sum",
  total: "sum",
  hotWallet: "sum",
  block: "count",
  difference: "sum",
};

/** One merchant's money in one currency. */
export interface BalanceLine
  extends Pick<Balance, "currency" | "available" | "reserved" | "pending" | "sweeping" | "total"> {
  readonly merchantId: string;
  readonly merchant: string;
  readonly hotWallet: string; // on the chain at the end of the block
  readonly block: number | null; // the newest final block that was read; null: no hot wallet, or not read yet
  readonly difference: string; // found by the books minus explained by the database, "0" without one
}

interface BalanceQuery {
  readonly merchant?: string | undefined;
  readonly currency?: string | undefined;
  readonly isAll: boolean; // also where nothing is
}

/**
 * By merchant and currency. A merchant's currency that the chain was not read for yet has no
 * amounts.
 */
export function listBalances(
  store: Store,
  config: GatewayConfig,
  { merchant, currency, isAll }: BalanceQuery,
): readonly BalanceLine[] {
  const differences = listDifferences(store.database);
  const currencies = Object.values(config.currencies).filter(
    ({ id }) => currency === undefined || id === currency,
  );
  const merchants = merchantNames(store.database).filter(
    ({ id }) => merchant === undefined || id === merchant,
  );
  return merchants.flatMap((one) =>
    currencies.flatMap((of) => {
      const line = lineOf(store, config, one, of, differences);
      return isAll || line.block === null || line.total !== "0" || line.difference !== "0"
        ? [line]
        : [];
    }),
  );
}

function lineOf(
  store: Store,
  config: GatewayConfig,
  { id: merchantId, name: merchant }: { readonly id: string; readonly name: string },
  currency: GatewayCurrency,
  differences: readonly DifferenceRow[],
): BalanceLine {
  const own = differences.filter(
    (row) => row.merchant === merchantId && row.currency === currency.id,
  );
  const units = own.reduce(
    (sum, row) => sum + BigInt(row.foundUnits) - BigInt(row.expectedUnits),
    0n,
  );
  const ours = { merchantId, merchant, difference: signedAmount(units, currency.decimal) };
  const read = balanceOf({ config, store }, merchantId, currency);
  if (read === null) {
    const unread = {
      available: "",
      reserved: "",
      pending: "",
      sweeping: "",
      total: "",
      hotWallet: "",
    };
    return { ...ours, currency: currency.id, ...unread, block: null };
  }
  const { available, reserved, pending, sweeping, total } = read.balance;
  const hotWallet = formatAmount(read.fundsUnits, currency.decimal);
  const amounts = { available, reserved, pending, sweeping, total, hotWallet };
  return { ...ours, currency: currency.id, ...amounts, block: read.block };
}

function describe(line: BalanceLine): string {
  const {
    merchantId,
    merchant,
    currency,
    available,
    reserved,
    pending,
    sweeping,
    total,
    hotWallet,
    block,
    difference,
  } = line;
  const name = `${merchantId}  ${merchant}  ${currency}`;
  if (block === null) return `${name}: its hot wallet was not read yet`;
  const parts = `available ${available}, reserved ${reserved}, on deposit addresses ${pending}, being swept ${sweeping}`;
  const chain = block === 0 ? "" : `; hot wallet ${hotWallet} at block ${block}`;
  return `${name}: ${total} in all; ${parts}${chain}${difference === "0" ? "" : `; BOOKS DIFFER by ${difference}`}`;
}

type BalancesOptions = JsonOption &
  CsvOptions & { readonly merchant?: string; readonly currency?: string; readonly all?: boolean };

function balances(options: BalancesOptions): void {
  const table = csvTable(options);
  runInOperatorContext(options, (by, config) => {
    const { merchant, currency, all } = options;
    if (
      !isOkOrPrintsRefusal(checkRecordFilter(by, options)) ||
      !isOkOrPrintsRefusal(isCurrency(config, currency))
    )
      return;
    const lines = listBalances(by.store, config, { merchant, currency, isAll: all === true });
    if (table !== null)
      printCsv(table, columns, lines as readonly (BalanceLine & Record<string, unknown>)[]);
    else if (options.json === true) printJson(lines);
    else printList(lines.map(describe), "No merchant has anything; --all lists them nevertheless.");
  });
}

function isCurrency(
  { currencies }: GatewayConfig,
  id: string | undefined,
): { readonly ok: true } | Refusal {
  if (id === undefined || Object.hasOwn(currencies, id)) return { ok: true };
  return refuse("GATEWAY_UNKNOWN_CURRENCY", `there is no currency ${id}`);
}

export function addBalancesCommand(program: Command): void {
  addCsvOptions(
    addConfigAndJsonOptions(
      program
        .command("balances")
        .description("each merchant's money, beside its hot wallet on the chain"),
    ),
  )
    .option("--merchant <id>", "whose")
    .option("--currency <id>", "this one alone")
    .option("--all", "also where there is nothing")
    .action(balances);
}
