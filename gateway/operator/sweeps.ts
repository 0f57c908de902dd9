/**
 * `sweeps`: lists the movements between a wallet's own accounts with their fees, for an accountant,
 * and the unswept balances with the reason. Also orders a sweep that may not be worth its fee. The
 * running gateway carries out the order.
 */
import type { Command } from "commander";
import { type Refusal, refuse } from "../../base/fault.ts";
import { familyOf } from "../../chains/families.ts";
import { formatAmount } from "../../protocol/amount.ts";
import type { CsvColumns } from "../answer/csv-cell.ts";
import { nativeCurrencyOf } from "../balance/funds.ts";
import type { GatewayConfig } from "../config/config.ts";
import { type AuditAct, listActsOn } from "../store/audit.ts";
import { jobOf } from "../store/jobs.ts";
import type { SweepRow, TopUpRow } from "../store/rows.ts";
import { listSignatures } from "../store/signatures.ts";
import { listSweepNotes, type SweepNoteRow, topUpOf } from "../store/sweeps.ts";
import { listTransactionsWithMerchant } from "../store/transaction-lists.ts";
import { readTransfer } from "../store/transactions.ts";
import { orderSweeps } from "../sweeps/sweep-requests.ts";
import { formatTimestamp, type OperatorContext } from "./accounts.ts";
import {
  isOkOrPrintsRefusal,
  type JsonOption,
  printCsv,
  printJson,
  printList,
  printText,
  runInOperatorContext,
} from "./command.ts";
import { addMovedCommand } from "./moved-commands.ts";
import { checkRecordFilter } from "./named.ts";
import {
  addRecordFilters,
  amountText,
  describeActs,
  jsonOfActs,
  type ListOptions,
  queryOf,
} from "./records.ts";
import { addActorOptions, addConfigAndJsonOptions, csvTable } from "./words.ts";

const states = ["Pending", "Completed", "Failed"] as const;

/** The columns of the accountant's table, in this order; JSON has the same fields. */
const columns = {
  transactionId: "text",
  kind: "word",
  sweep: "text",
  merchantId: "text",
  currency: "word",
  network: "text",
  from: "text",
  to: "text",
  amount: "amount",
  asset: "word",
  status: "count",
  stage: "word",
  code: "word",
  fee: "amount",
  feeAsset: "word",
  txHash: "text",
  block: "count",
  createdAt: "time",
  changedAt: "time",
} as const satisfies CsvColumns;

type SweepLine = Readonly<Record<keyof typeof columns, string | number>>;

/** The amount of a row and its fee. A top-up moves the native coin. */
function listed(row: SweepRow | TopUpRow, config: GatewayConfig): SweepLine {
  const coin = nativeCurrencyOf(config, row.network)?.id ?? "";
  const isTopUp = row.operation === "topup";
  return {
    transactionId: row.id,
    kind: row.operation,
    sweep: isTopUp ? row.orderId : row.id,
    merchantId: row.merchant,
    currency: row.currency,
    network: row.network,
    from: row.payer,
    to: row.receiver,
    amount: row.amount,
    asset: isTopUp ? coin : row.currency,
    status: row.status,
    stage: row.stage,
    code: row.code,
    fee:
      row.feeUnits === ""
        ? ""
        : formatAmount(BigInt(row.feeUnits), familyOf(row.network).fees.decimal),
    feeAsset: coin,
    txHash: row.txHash,
    block: row.finalBlock ?? "",
    createdAt: formatTimestamp(row.createdAt),
    changedAt: formatTimestamp(row.changedAt),
  };
}

/** A balance that stays on an address, with the reason. */
const waitingOf = ({ address, network, currency, reason, detail, at }: SweepNoteRow) => ({
  address,
  network,
  currency,
  reason,
  detail,
  since: formatTimestamp(at),
});

function list(options: ListOptions): void {
  const table = csvTable(options);
  runInOperatorContext(options, (by, config) => {
    if (!isOkOrPrintsRefusal(checkRecordFilter(by, options))) return;
    const { database } = by.store;
    const rows = listTransactionsWithMerchant(database, queryOf(["sweep", "topup"], options)).map(
      (row) => listed(row, config),
    );
    const waiting = listSweepNotes(database, null);
    if (table !== null) {
      printCsv(table, columns, rows);
      return;
    }
    if (options.json === true) {
      printJson({ sweeps: rows, waiting: waiting.map(waitingOf) });
      return;
    }
    printList(rows.map(describe), "Nothing was swept.");
    for (const one of waiting) printText(describeWaiting(one));
  });
}

function describe(row: SweepLine): string {
  const code = row.code === "" ? "" : `, ${row.code}`;
  const fee = row.fee === "" ? "" : `, fee ${row.fee} ${row.feeAsset}`;
  const kind = row.kind === "topup" ? `top-up for ${row.sweep}` : "sweep";
  return [
    `${row.transactionId}  ${states[Number(row.status)]} (${row.stage}${code})  ${row.amount} ${row.asset}${fee}`,
    `  ${kind}  ${row.from} to ${row.to}  made ${row.createdAt}`,
  ].join("\n");
}

function describeWaiting({ address, currency, reason, detail, at }: SweepNoteRow): string {
  return `waits: ${currency} on ${address}: ${reason}${detail === "" ? "" : ` (${detail})`} since ${formatTimestamp(at)}`;
}

export interface ShownSweep {
  readonly ok: true;
  readonly row: SweepRow | TopUpRow;
  readonly topUp: TopUpRow | undefined;
  readonly acts: readonly AuditAct[];
}

/** A sweep or a top-up. Refuses GATEWAY_UNKNOWN_RECORD. */
export function showSweep(
  { store: { database } }: OperatorContext,
  id: string,
): ShownSweep | Refusal {
  const row = readTransfer(database, id);
  if (row === undefined || row.operation === "withdraw") return refuse("GATEWAY_UNKNOWN_RECORD");
  const topUp = row.operation === "sweep" ? topUpOf(database, row) : undefined;
  return { ok: true, row, topUp, acts: listActsOn(database, id) };
}

function show(id: string, options: JsonOption): void {
  runInOperatorContext(options, (by, config) => {
    const shown = showSweep(by, id);
    if (!isOkOrPrintsRefusal(shown)) return;
    const { row, topUp, acts } = shown;
    const { database } = by.store;
    const agentId = jobOf(database, id)?.agent ?? "";
    const attempts = listSignatures(database, id).map(
      ({ attempt, account, slot, txHash, feeMax }) => ({
        attempt,
        account,
        slot,
        txHash,
        feeMax: formatAmount(BigInt(feeMax), familyOf(row.network).fees.decimal),
      }),
    );
    if (options.json === true) {
      const more = {
        agentId,
        topUp: topUp === undefined ? null : listed(topUp, config),
        attempts,
        acts: jsonOfActs(acts),
      };
      printJson({ ...listed(row, config), ...more });
      return;
    }
    printText(describe(listed(row, config)));
    if (topUp !== undefined) printText(describe(listed(topUp, config)));
    if (agentId !== "") printText(`  agent ${agentId}`);
    for (const one of attempts)
      printText(`  attempt ${one.attempt}, slot ${one.slot} of ${one.account}, ${one.txHash}`);
    if (acts.length > 0) printText(describeActs(acts));
  });
}

/**
 * Orders the sweep of an address's balance. Refuses GATEWAY_UNKNOWN_CURRENCY, and everything that
 * `orderSweeps` refuses.
 */
export function orderSweep(
  by: OperatorContext,
  { chains, currencies }: Pick<GatewayConfig, "chains" | "currencies">,
  address: string,
  currency: string | undefined,
): ReturnType<typeof orderSweeps> {
  if (currency !== undefined && !Object.hasOwn(currencies, currency))
    return refuse("GATEWAY_UNKNOWN_CURRENCY", `there is no currency ${currency}`);
  const networks = Object.values(chains).map(({ network }) => network);
  return orderSweeps(by, networks, { text: address, currency });
}

function order(text: string, options: JsonOption & { readonly currency?: string }): void {
  runInOperatorContext(options, (by, config) => {
    const done = orderSweep(by, config, text, options.currency);
    if (!isOkOrPrintsRefusal(done)) return;
    const { address } = done;
    if (options.json === true) {
      printJson({
        address,
        ordered: done.wished.map(({ currency, network, units }) => ({ currency, network, units })),
      });
      return;
    }
    for (const { currency, units } of done.wished)
      printText(`Ordered: ${amountText(config, currency, units)} from ${address}.`);
    const begins =
      "begins with the next final block; sweeps list says how it goes, and why where it does not.";
    printText(
      by.run === null
        ? `The gateway does not run. Once it does, it ${begins}`
        : `The gateway ${begins}`,
    );
  });
}

export function addSweepCommands(program: Command): void {
  const sweeps = program
    .command("sweeps")
    .alias("sweep")
    .description("what went from deposit addresses to the hot wallet");
  addRecordFilters(
    sweeps
      .command("list", { isDefault: true })
      .description("sweeps and top-ups with their fees, and what waits and why (not in CSV)"),
  ).action(list);
  addConfigAndJsonOptions(
    sweeps
      .command("show")
      .description("one, with its top-up and what was signed")
      .argument("<transactionId>"),
  ).action(show);
  addActorOptions(
    sweeps
      .command("order")
      .description("have what an address holds swept, worth it or not")
      .argument("<address>"),
  )
    .option("--currency <id>", "this one alone")
    .action(order);
  addMovedCommand(sweeps, "sweep");
}
