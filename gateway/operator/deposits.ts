/**
 * `deposits`: lists and shows deposits with every payment, adds notes, and credits money that came
 * after the end or to an address without a request. A credit, like a shop's acceptance, leads from
 * Failed to Completed. An operator types it with a reason, which stays in the audit table.
 */

import type { Command } from "commander";
import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import { commandOfEnd } from "../../base/state-end.ts";
import { openWatcher } from "../../chains/connect.ts";
import { familyOf } from "../../chains/families.ts";
import type { WatcherNodes } from "../../chains/nodes.ts";
import { hasTags, payeeOf } from "../../chains/payees.ts";
import type { GatewayChain, GatewayConfig } from "../config/config.ts";
import { readSecretFile } from "../config/secret-file.ts";
import { FaultBook } from "../faults/book.ts";
import { createChoicePricing } from "../invoices/pricing.ts";
import { type InvoiceContext, invoiceBodyOf } from "../invoices/view.ts";
import { rightClock } from "../own-clock.ts";
import { type AuditAct, listActsOn, recordAct } from "../store/audit.ts";
import {
  listCreditsTo,
  listRequestsCreditedWith,
  listUnattributed,
  type UncreditedPayment,
} from "../store/credits.ts";
import { endGapHoldsOf, isHeldByGap } from "../store/gap-holds.ts";
import { type GonePayment, listGonePaymentsOf } from "../store/gone-payments.ts";
import { type InvoiceRow, readInvoice } from "../store/invoices.ts";
import { listFinalOf } from "../store/payments.ts";
import type { DepositRow, PaymentRow } from "../store/rows.ts";
import { createSignals } from "../store/signals.ts";
import type { Database } from "../store/store.ts";
import { listStrayTotals, type StrayTotal } from "../store/stray-sums.ts";
import { listSweepNotes } from "../store/sweeps.ts";
import {
  type DepositWithMerchant,
  listPaymentsTo,
  listTransactionsWithMerchant,
  readTransactionWithMerchant,
  type TransactionQuery,
} from "../store/transaction-lists.ts";
import { askReread, type UnreadRow } from "../store/unread-transactions.ts";
import { currenciesOf, type WatchedChain } from "../watcher/chain.ts";
import { nodeLog } from "../watcher/node-log.ts";
import { provePaymentsByHash } from "../watcher/proven.ts";
import { formatTimestamp, type OperatorContext } from "./accounts.ts";
import {
  isOkOrPrintsRefusal,
  type JsonOption,
  makeLog,
  printJson,
  printList,
  printText,
  readClock,
  runInOperatorContext,
} from "./command.ts";
import { creditDeposit, creditPaymentsByName, paymentName } from "./crediting.ts";
import { describeChoice, describeInvoice } from "./invoices.ts";
import { checkRecordFilter } from "./named.ts";
import {
  addRecordFilters,
  amountText,
  describeActs,
  describeRecord,
  jsonOfActs,
  jsonOfRecord,
  type ListOptions,
  printRecords,
  queryOf,
  receivedText,
  writeLineOrSetAside,
} from "./records.ts";
import { addDepositDecisionCommands, describeGonePayments, jsonOfGonePayment } from "./revoking.ts";
import { gatewayStateEnds } from "./state-ends.ts";
import {
  addActorOptions,
  addConfigAndJsonOptions,
  csvTable,
  describeNextPass,
  readRemark,
  readRowCount,
} from "./words.ts";

/*
 * `deposits credit ID --payment HASH` for a payment that the database does not have, on a chain
 * whose payments differ by tags: the gateway's own nodes prove it, and it is kept as the running
 * gateway would have kept it. Works while the gateway runs.
 */

/** Opens the questions to the nodes of a chain of the configuration, by its name there. */
type OpenNodes = (name: string, chain: GatewayChain) => Pick<WatcherNodes, "paymentBy" | "close">;

const openNodes: OpenNodes = (name, chain) =>
  openWatcher({ chain, readSecretFile, log: nodeLog(makeLog("error"), name) });

/**
 * Keeps the payments by these hashes to the account of a deposit, those alone that the database
 * does not have. Other chains have balances, which tell what came: nothing is asked there. Harmless
 * to call twice. Refuses GATEWAY_UNKNOWN_RECORD, and GATEWAY_PAYMENT_UNPROVEN for one that the
 * nodes do not prove.
 */
export async function addPaymentsByHash(
  by: OperatorContext,
  {
    config,
    open,
  }: { readonly config: Pick<GatewayConfig, "chains" | "currencies">; readonly open: OpenNodes },
  id: string,
  { payments, reason }: { readonly payments: readonly string[]; readonly reason: string },
): Promise<{ readonly ok: true } | Refusal> {
  const { database } = by.store;
  const row = readTransactionWithMerchant(database, "deposit", id);
  if (row === undefined) return refuse("GATEWAY_UNKNOWN_RECORD");
  if (!hasTags(row.network)) return { ok: true };
  const hashes = [...new Set(payments.map((name) => name.replace(/:-?\d+$/, "").toUpperCase()))];
  const unknown = hashes.filter(
    (one) =>
      familyOf(row.network).isTxHash(one) && listFinalOf(database, row.network, one).length === 0,
  );
  if (unknown.length === 0) return { ok: true };
  const named = Object.entries(config.chains).find(([, one]) => one.network === row.network);
  if (named === undefined)
    return refuse("GATEWAY_PAYMENT_UNPROVEN", `no chain of the configuration is ${row.network}`);
  const reader = open(...named);
  try {
    const chain = chainOf(by, config.currencies, named, reader as WatcherNodes);
    for (const txHash of unknown) {
      const proven = await provePaymentsByHash(
        chain,
        { txHash, depositAddress: row.address },
        (inside) =>
          recordAct(inside, {
            at: by.nowMs,
            actor: by.actor,
            act: "payment proven",
            subject: id,
            detail: `${txHash}: ${reason}`,
          }),
      );
      if ("problem" in proven) return refuse("GATEWAY_PAYMENT_UNPROVEN", proven.problem);
    }
    return { ok: true };
  } catch (error) {
    if (!(error instanceof AgentError) || !error.code.startsWith("NODE_")) throw error;
    return refuse("GATEWAY_PAYMENT_UNPROVEN", `${error.code}: ${error.message}`);
  } finally {
    reader.close();
  }
}

const noPrices = { of: () => null, canHave: () => false } as const;

function chainOf(
  { store, run }: OperatorContext,
  currencies: GatewayConfig["currencies"],
  [name, chain]: readonly [name: string, chain: GatewayChain],
  reader: WatcherNodes,
): WatchedChain {
  // The native coin is paid alone, and no token is asked.
  const tokens = { confirmed: new Set<string>(), out: new Map<string, string>(), askedAt: null };
  const served = {
    network: chain.network,
    reader,
    currencies: currenciesOf(chain, currencies),
    tokens,
  };
  const told = {
    faults: new FaultBook(readClock),
    signals: createSignals(),
    log: makeLog("error"),
  };
  return {
    ...served,
    ...told,
    name,
    store,
    clock: readClock,
    hasLongBlocks: false,
    ownClock: () => rightClock,
    confirmingMs: 0,
    run: run ?? "",
    // No price is known here; the running gateway keeps when a payment of a choice was seen.
    choices: createChoicePricing({ config: { currencies }, clock: readClock, prices: noPrices }),
  };
}

/*
 * `deposits release`: ends the hold of a request that lived in blocks which were given up. Where
 * tags tell payments apart nothing but an operator's word ends it, other than its payment.
 */

/**
 * Lets a request go that a gap holds which was given up: it expires like each other one. Refuses
 * GATEWAY_UNKNOWN_RECORD, and GATEWAY_DEPOSIT_NOT_HELD for one that no gap holds, also at a second
 * call.
 */
export function releaseDeposit(
  by: OperatorContext,
  id: string,
  reason: string,
): { readonly ok: true } | Refusal {
  return by.store.writeIfOk((database): { readonly ok: true } | Refusal => {
    if (readTransactionWithMerchant(database, "deposit", id) === undefined)
      return refuse("GATEWAY_UNKNOWN_RECORD");
    if (!endGapHoldsOf(database, id)) return refuse("GATEWAY_DEPOSIT_NOT_HELD");
    recordAct(database, {
      at: by.nowMs,
      actor: by.actor,
      act: "deposit released",
      subject: id,
      detail: reason,
    });
    return { ok: true };
  });
}

/** Lines about a request that a gap holds, with the lines to type. */
function heldLines(
  { store }: OperatorContext,
  { id, network }: DepositWithMerchant,
): readonly string[] {
  if (!isHeldByGap(store.database, id)) return [];
  const held = "  held: it lived in blocks that were given up, and may have been paid in them";
  if (!hasTags(network)) return [`${held}; it goes on once its balance was compared`];
  return [
    held,
    `  do: look for payments with its tag in a block explorer`,
    `      for each that there is: ${commandOfEnd(gatewayStateEnds.deposits.late, { ID: `${id} --payment HASH` })}`,
    `      if there is none:       ${commandOfEnd(gatewayStateEnds.gaps.held, { ID: id })}`,
  ];
}

function release(
  id: string,
  { reason, ...options }: JsonOption & { readonly reason: string },
): void {
  runInOperatorContext(options, (by) => {
    if (!isOkOrPrintsRefusal(releaseDeposit(by, id, reason))) return;
    if (options.json === true) printJson({ transactionId: id, released: true });
    else printText(`Released ${id}: it expires at its end, like each other one.`);
  });
}

function addRelease(deposits: Command): void {
  addActorOptions(
    deposits
      .command("release")
      .description(
        "let one go that lived in blocks which were given up: no payment came for it in them",
      )
      .argument("<transactionId>"),
  )
    .requiredOption("--reason <text>", "why, for anybody who looks later", readRemark)
    .action(release);
}

export function listDeposits(
  { store }: OperatorContext,
  query: TransactionQuery<"deposit">,
): readonly DepositWithMerchant[] {
  return listTransactionsWithMerchant(store.database, query);
}

export interface ShownDeposit {
  readonly ok: true;
  readonly row: DepositWithMerchant;
  readonly payments: readonly PaymentRow[]; // to its address
  readonly credits: ReturnType<typeof listCreditsTo>; // to other addresses, credited by an operator
  readonly creditedTo: ReadonlyMap<string, readonly string[]>; // other requests, by the name of a payment to this address
  readonly strays: readonly StrayTotal[]; // small payments to its address that count for nothing
  readonly gone: readonly GonePayment[]; // payments whose block left the chain
  readonly acts: readonly AuditAct[];
}

/**
 * A deposit, by its id or its order, with all payments to its address. Refuses
 * GATEWAY_UNKNOWN_RECORD.
 */
export function showDeposit(
  { store: { database } }: OperatorContext,
  id: string,
): ShownDeposit | Refusal {
  const row =
    readTransactionWithMerchant(database, "deposit", id) ?? onlyDepositOfOrder(database, id);
  if (row === undefined) return refuse("GATEWAY_UNKNOWN_RECORD");
  return shownDeposit(database, row);
}

/** The deposit of a shop's order; undefined if several deposits have an order of that name. */
function onlyDepositOfOrder(database: Database, orderId: string): DepositWithMerchant | undefined {
  const [row, other] = listTransactionsWithMerchant(database, {
    operations: ["deposit"],
    orderId,
    most: 2,
  });
  return other === undefined ? row : undefined;
}

function shownDeposit(database: Database, row: DepositWithMerchant): ShownDeposit {
  const { id } = row;
  const payments = listPaymentsTo(database, id);
  const creditedTo = new Map(
    payments.map((payment) => [paymentName(payment), listRequestsCreditedWith(database, payment)]),
  );
  // On a chain with tags they came to the account of all tags.
  const strays = listStrayTotals(database, { account: row.address });
  const gone = listGonePaymentsOf(database, id);
  return {
    ok: true,
    row,
    payments,
    credits: listCreditsTo(database, id),
    creditedTo,
    strays,
    gone,
    acts: listActsOn(database, id),
  };
}

/**
 * Has a transaction that could not be read tried again by the running gateway. Refuses
 * GATEWAY_NOT_UNREAD.
 */
export function rereadTransaction(
  by: OperatorContext,
  txHash: string,
): { readonly ok: true; readonly rows: readonly UnreadRow[] } | Refusal {
  return by.store.write((database) => {
    const rows = askReread(database, txHash);
    if (rows.length === 0) return refuse("GATEWAY_NOT_UNREAD", ...otherName(txHash));
    recordAct(database, {
      at: by.nowMs,
      actor: by.actor,
      act: "transaction read again",
      subject: txHash,
      detail: "",
    });
    return { ok: true, rows };
  });
}

/** The line to type for a fault's own name, of which the hash is a part; none for a hash. */
function otherName(typed: string): readonly string[] {
  return typed.includes("/")
    ? [`that is the name of a fault, and not a hash: faults --retry ${typed} tries it again`]
    : [];
}

/** Adds a note to a deposit, for later readers. Refuses GATEWAY_UNKNOWN_RECORD. */
export function addDepositNote(
  by: OperatorContext,
  id: string,
  text: string,
): { readonly ok: true } | Refusal {
  return by.store.write((database) => {
    if (readTransactionWithMerchant(database, "deposit", id) === undefined)
      return refuse("GATEWAY_UNKNOWN_RECORD");
    recordAct(database, { at: by.nowMs, actor: by.actor, act: "note", subject: id, detail: text });
    return { ok: true };
  });
}

function list(options: ListOptions): void {
  const table = csvTable(options);
  runInOperatorContext(options, (by, config) => {
    if (!isOkOrPrintsRefusal(checkRecordFilter(by, options))) return;
    const rows = listDeposits(by, queryOf(["deposit"], options));
    if (table !== null) printRecords(by, table, rows, config);
    else if (options.json === true) printJson(rows.map((row) => jsonOfRecord(by, row, config)));
    else
      printList(
        rows.map((row) =>
          writeLineOrSetAside(by, row, () => describeRecord(row, receivedText(config, row))),
        ),
        "No deposit is like that.",
      );
  });
}

/** The address as a customer types it, with its tag if it has one. */
function payeeText(network: string, depositAddress: string): string {
  const { address, tag } = payeeOf(network, depositAddress);
  return tag === "" ? address : `${address} tag ${tag}`;
}

const paymentOf = (
  config: GatewayConfig,
  { txHash, currency, units, block, final }: PaymentRow,
) => ({
  txHash: txHash.startsWith("internal:") ? "" : txHash,
  currency,
  amount: amountText(config, currency, units).split(" ")[0] ?? "",
  block,
  final: final === 1,
});

/** The transactions to which an operator credited a payment, by its name. */
const creditsOf = ({ creditedTo }: ShownDeposit, payment: PaymentRow): readonly string[] =>
  creditedTo.get(paymentName(payment)) ?? [];

function jsonOfShown(by: OperatorContext, config: GatewayConfig, shown: ShownDeposit): object {
  const { row, payments, credits, acts } = shown;
  const paid = payments.map((payment) => ({
    ...paymentOf(config, payment),
    creditedTo: creditsOf(shown, payment),
  }));
  const more = credits.map(({ creditedUnits: units, ...one }) => ({
    ...paymentOf(config, { ...one, units }),
    ...payeeOf(row.network, one.address),
  }));
  const inSums = shown.strays.map((one) => listedTotal(config, one));
  const left = shown.gone.map((one) => jsonOfGonePayment(config, one));
  const waits = unsweptNotes(by, row);
  const beside = { payments: paid, credited: more, strays: inSums, leftChain: left };
  const unswept = waits.length === 0 ? {} : { unswept: waits };
  return { ...jsonOfRecord(by, row, config), ...beside, ...unswept, acts: jsonOfActs(acts) };
}

function showInvoice(context: InvoiceContext, row: InvoiceRow, { json }: JsonOption): void {
  if (json === true) printJson(invoiceBodyOf(context, row));
  else printText(describeInvoice(context, row).join("\n"));
}

function show(id: string, options: JsonOption): void {
  runInOperatorContext(options, (by, config) => {
    const invoice = readInvoice(by.store.database, id);
    if (invoice !== undefined) return showInvoice({ config, store: by.store }, invoice, options);
    const shown = showDeposit(by, id);
    if (!isOkOrPrintsRefusal(shown)) return;
    const { row, payments, credits, acts } = shown;
    if (options.json === true) return printJson(jsonOfShown(by, config, shown));
    printText(
      [
        describeRecord(row, receivedText(config, row)),
        `  address ${payeeText(row.network, row.address)} (${row.network})`,
        ...describeChoice(by.store.database, row),
      ].join("\n"),
    );
    for (const one of payments) {
      const { txHash, block, final } = paymentOf(config, one);
      const place = `block ${block}${final ? "" : ", not final"}`;
      const away = creditsOf(shown, one)
        .map((id) => `, credited to ${id}`)
        .join("");
      printText(
        `  paid ${amountText(config, one.currency, one.units)}, ${place}, ${txHash || "by a contract"}${away}`,
      );
    }
    for (const { creditedUnits, currency, block, address } of credits)
      printText(
        `  credited ${amountText(config, currency, creditedUnits)}, block ${block}, that came to ${payeeText(row.network, address)}`,
      );
    for (const one of shown.strays) printText(`  besides: ${totalText(config, one)}`);
    for (const { currency, reason, detail } of unsweptNotes(by, row))
      printText(`  not swept: ${currency}: ${reason}${detail === "" ? "" : ` (${detail})`}`);
    for (const line of describeGonePayments(config, row.id, shown.gone)) printText(line);
    for (const line of heldLines(by, row)) printText(line);
    if (acts.length > 0) printText(describeActs(acts));
    for (const line of nextLines(shown)) printText(`  next: ${line}`);
  });
}

/** Money on the deposit's address that no sweep will ever take. */
function unsweptNotes({ store }: OperatorContext, { network, address }: DepositRow) {
  const notes = listSweepNotes(store.database, network).filter((one) => {
    return one.address === address && one.reason === "coin_too_large";
  });
  return notes.map(({ currency, reason, detail, at }) => ({
    currency,
    reason,
    detail,
    at: formatTimestamp(at),
  }));
}

/** The lines to type for payments that count for no request; none for another deposit. */
function nextLines({ row, payments, creditedTo }: ShownDeposit): readonly string[] {
  if (row.origin !== "unattributed") return [];
  const left = payments.filter(
    (one) => one.final === 1 && (creditedTo.get(paymentName(one)) ?? []).length === 0,
  );
  return left.map((one) => `deposits credit DEPOSIT --payment ${paymentName(one)} --reason TEXT`);
}

interface CreditOptions extends JsonOption {
  readonly reason: string;
  readonly short?: boolean;
  readonly payment?: readonly string[];
}

function credit(
  id: string,
  { reason, short, payment: payments, ...options }: CreditOptions,
): void | Promise<void> {
  const how = { reason, isShortFine: short === true };
  return runInOperatorContext(options, (by, config) => {
    const tell = (credited: ReturnType<typeof creditDeposit>): void => {
      if (!isOkOrPrintsRefusal(credited)) return;
      const { row } = credited;
      const state = row.status === 1 ? "is Completed" : "stays open";
      if (options.json === true) printJson(jsonOfRecord(by, row, config));
      else printText(`Credited ${id}: it ${state}, with ${receivedText(config, row)} received.`);
    };
    if (payments === undefined) return tell(creditDeposit(by, id, how));
    const named = { ...how, payments };
    return addPaymentsByHash(by, { config, open: openNodes }, id, named).then((proven) => {
      if (isOkOrPrintsRefusal(proven)) tell(creditPaymentsByName(by, id, named));
    });
  });
}

interface UnattributedOptions extends JsonOption {
  readonly merchant?: string;
  readonly limit: number;
}

const listedPayment = (config: GatewayConfig, payment: UncreditedPayment) => {
  const { txHash, currency, amount, block } = paymentOf(config, {
    ...payment,
    units: `${payment.leftUnits}`,
  });
  const { network, merchant: merchantId, merchantName: merchant, transactionId, orderId } = payment;
  return {
    payment: paymentName(payment),
    merchantId,
    merchant,
    network,
    currency,
    amount,
    ...payeeOf(network, payment.address),
    txHash,
    block,
    transactionId,
    orderId,
  };
};

function unattributed(options: UnattributedOptions): void {
  runInOperatorContext(options, (by, config) => {
    if (!isOkOrPrintsRefusal(checkRecordFilter(by, options))) return;
    const rows = listUnattributed(by.store.database, options.merchant ?? null, options.limit);
    if (options.json === true) {
      printJson(rows.map((row) => listedPayment(config, row)));
      return;
    }
    const texts = rows.map((row) => {
      const { payment, merchant, merchantId, network, block, orderId } = listedPayment(config, row);
      const address = payeeText(network, row.address);
      const amount = amountText(config, row.currency, `${row.leftUnits}`);
      return `${payment}\n  ${amount} to ${address}, ${network} block ${block}\n  of ${merchant} (${merchantId}), order ${orderId}`;
    });
    printList(texts, "No payment waits for a request.");
  });
}

const listedTotal = (config: GatewayConfig, total: StrayTotal) => {
  const amountOf = (units: bigint): string =>
    amountText(config, total.currency, `${units}`).split(" ")[0] ?? "";
  const {
    network,
    currency,
    account: address,
    merchant: merchantId,
    count,
    fromBlock,
    toBlock,
  } = total;
  const amounts = { amount: amountOf(total.units), largest: amountOf(total.largest) };
  return {
    merchantId,
    network,
    currency,
    address,
    payments: count,
    ...amounts,
    fromBlock,
    toBlock,
  };
};

/**
 * For example "5000 payments that nobody asked for, 0.005 xrp in all, 0.000001 at most, in blocks 7
 * to 90".
 */
function totalText(config: GatewayConfig, total: StrayTotal): string {
  const { payments, amount, largest, currency, fromBlock, toBlock } = listedTotal(config, total);
  const blocks = fromBlock === toBlock ? `block ${toBlock}` : `blocks ${fromBlock} to ${toBlock}`;
  const of = payments === 1 ? "1 payment" : `${payments} payments`;
  return `${of} that nobody asked for, ${amount} ${currency} in all, ${largest} at most, in ${blocks}`;
}

function strays(options: JsonOption & { readonly merchant?: string }): void {
  runInOperatorContext(options, (by, config) => {
    if (!isOkOrPrintsRefusal(checkRecordFilter(by, options))) return;
    const { merchant } = options;
    const totals = listStrayTotals(by.store.database, merchant === undefined ? {} : { merchant });
    if (options.json === true) printJson(totals.map((one) => listedTotal(config, one)));
    else
      printList(
        totals.map(
          (one) =>
            `${one.account} (${one.network}) of ${one.merchant}\n  ${totalText(config, one)}`,
        ),
        "No payment is kept in a sum.",
      );
  });
}

function reread(txHash: string, options: JsonOption): void {
  runInOperatorContext(options, (by) => {
    const asked = rereadTransaction(by, txHash);
    if (!isOkOrPrintsRefusal(asked)) return;
    const rows = asked.rows.map(
      ({ network, txHash: hash, block, address, merchant: merchantId, words }) => ({
        network,
        txHash: hash,
        block,
        address,
        merchantId,
        words,
      }),
    );
    if (options.json === true) printJson(rows);
    else
      for (const one of rows)
        printText(
          `Read again ${describeNextPass(by.run)}: ${one.txHash} in block ${one.block} (${one.network}).`,
        );
  });
}

function note(id: string, text: string, options: JsonOption): void {
  runInOperatorContext(options, (by) => {
    if (!isOkOrPrintsRefusal(addDepositNote(by, id, text))) return;
    if (options.json === true) printJson({ transactionId: id, note: text });
    else printText(`Noted on ${id}.`);
  });
}

export function addDepositCommands(program: Command): void {
  const deposits = program
    .command("deposits")
    .alias("deposit")
    .description("deposit requests and their payments");
  addRecordFilters(deposits.command("list", { isDefault: true }).description("the newest ones"))
    .option("--late", "those alone that were paid after their end")
    .option(
      "--reorged",
      "those alone whose credited payment left the chain, until it is decided on",
    )
    .option("--held", "those alone that a gap of blocks holds which was given up")
    .action(list);
  addConfigAndJsonOptions(
    deposits
      .command("show")
      .description("one, with its payments and notes")
      .argument("<transactionId>"),
  ).action(show);
  addConfigAndJsonOptions(
    deposits
      .command("unattributed")
      .description("payments that count for no deposit, until an operator credits them"),
  )
    .option("--merchant <id>", "whose")
    .option("--limit <number>", "how many, the newest first", readRowCount, 50)
    .action(unattributed);
  addActorOptions(
    deposits
      .command("credit")
      .description(
        "make one Completed that was paid late, or credit payments to it that came elsewhere",
      )
      .argument("<transactionId>"),
  )
    .requiredOption("--reason <text>", "why, for anybody who looks later", readRemark)
    .option(
      "--payment <payment...>",
      "as deposits unattributed names it, or on XRP by its hash: counts for this deposit from now on",
    )
    .option("--short", "also when less was paid than it asked for")
    .action(credit);
  addConfigAndJsonOptions(
    deposits
      .command("strays")
      .description(
        "small payments that nobody asked for, and those beyond a day's rows, as sums of accounts",
      ),
  )
    .option("--merchant <id>", "whose")
    .action(strays);
  addActorOptions(
    deposits
      .command("reread")
      .description(
        "have a transaction that no node showed so that it could be read tried again now",
      )
      .argument("<hash>", "as alarms and faults name it"),
  ).action(reread);
  addDepositDecisionCommands(deposits);
  addRelease(deposits);
  addActorOptions(
    deposits
      .command("note")
      .description("leave a note on one")
      .argument("<transactionId>")
      .argument("<text>", "the note", readRemark),
  ).action(note);
}
