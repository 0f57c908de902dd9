/**
 * Turns changes into deliveries: each change of a record becomes its events, and each event a
 * delivery for every target that accepts it. Events of a merchant that asks for them are kept
 * without a target too. A change was written down in its own transaction;
 * another transaction turns it into events, completely or not at all. `sequence` of a record's
 * events is taken from time, so that it still rises after an older database is restored.
 */
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import type { GatewayConfig } from "../config/config.ts";
import { surplusToleranceUnits } from "../config/surplus.ts";
import { countWaitingDeliveries, insertDelivery } from "../store/callback-deliveries.ts";
import {
  type CallbackEventRow,
  forgetChange,
  hasEvent,
  insertEvent,
  newestEventSequence,
  type RecordChange,
  readChanges,
  readInvoiceChanges,
  refreshCallbackStatus,
} from "../store/callback-outbox.ts";
import { type CallbackTargetRow, liveTargets } from "../store/callback-targets.ts";
import { type InvoiceRow, readInvoice } from "../store/invoices.ts";
import { keepsEvents } from "../store/merchants.ts";
import type { RecordRow } from "../store/rows.ts";
import { guardedWrite, insertAsideRow, type RowKey } from "../store/set-aside.ts";
import type { Database } from "../store/store.ts";
import { refundedUnits } from "../store/transactions.ts";
import { type EventType, eventsOf, isExceptionOfChoice, rankOf, testType } from "./events.ts";

export interface OutboxOptions {
  readonly config: Pick<GatewayConfig, "currencies">;
  readonly recordOf: (row: RecordRow) => object; // as GET transaction shows it
  readonly invoiceOf: (row: InvoiceRow) => object; // as GET invoice shows it
  readonly random: (bytes: number) => Uint8Array;
  readonly clock: () => number;
}

/**
 * Largest number of waiting deliveries of one target. A delivery above the limit is given up at
 * once, and stays in the log for a later redelivery.
 */
export const waitingDeliveriesMax = 50_000;
/** Changes in one transaction: some tens of milliseconds. */
export const changesPerStepMax = 200;
const idBytes = 16;

/** The targets that were found while changes are told, and the room that each has left. */
interface Round {
  readonly targets: Map<string, readonly CallbackTargetRow[]>;
  readonly room: Map<string, number>;
  readonly full: Set<string>; // targets with too many waiting deliveries
}

/** The result of `makeEventsOfChanges`. */
export interface OutboxResult {
  readonly full: readonly string[];
  readonly aside: readonly { readonly key: RowKey; readonly error: unknown }[]; // changes that were set aside
}

/**
 * Makes events from at most `changesMax` changes, inside the caller's transaction. A change of
 * which no event can be made is set aside, and the others are told.
 */
export function makeEventsOfChanges(database: Database, options: OutboxOptions): OutboxResult {
  const round: Round = { targets: new Map(), room: new Map(), full: new Set() };
  const touched = new Set<string>();
  const aside: OutboxResult["aside"][number][] = [];
  const changes = [
    ...readChanges(database, changesPerStepMax),
    ...readInvoiceChanges(database, changesPerStepMax),
  ].sort((a, b) => a.id - b.id);
  for (const change of changes.slice(0, changesPerStepMax)) {
    const key = { kind: "change", id: String(change.id), about: change.row.id } as const;
    const told = guardedWrite(database, () => {
      if ("event" in change) tellInvoice(database, change.event, change.row, round, options);
      else tell(database, change, round, options);
      forgetChange(database, change.id);
    });
    if (told.ok && !("event" in change)) touched.add(change.row.id);
    else if (!told.ok && insertAsideRow(database, key, told.error, options.clock()))
      aside.push({ key, error: told.error });
  }
  refreshCallbackStatus(database, touched);
  return { full: [...round.full], aside };
}

/** The targets of a merchant that take an event. A choice's own go to those that name them. */
function wantingOf(
  database: Database,
  { merchant, type, isOfChoice }: { merchant: string; type: string; isOfChoice: boolean },
  { targets }: Round,
): readonly CallbackTargetRow[] {
  const takers = targets.get(merchant) ?? liveTargets(database, merchant);
  targets.set(merchant, takers);
  return takers.filter(({ events }) =>
    events === "" ? !isOfChoice : events.split(",").includes(type),
  );
}

/** Keeps an event and its deliveries, if anybody reads it. */
function keepEvent(
  database: Database,
  { merchant, type, isOfChoice }: { merchant: string; type: string; isOfChoice: boolean },
  make: () => CallbackEventRow,
  round: Round,
  { clock }: OutboxOptions,
): void {
  const wanting = wantingOf(database, { merchant, type, isOfChoice }, round);
  if (wanting.length === 0 && !keepsEvents(database, merchant)) return;
  const event = make();
  insertEvent(database, event, clock());
  const { room, full } = round;
  for (const { id: target } of wanting) {
    const left =
      room.get(target) ??
      waitingDeliveriesMax - countWaitingDeliveries(database, target, waitingDeliveriesMax);
    room.set(target, left - 1);
    if (left <= 0) full.add(target);
    const state = left > 0 ? "waiting" : "given up";
    insertDelivery(database, {
      event: event.id,
      target,
      state,
      nextAt: clock(),
      rank: rankOf(type),
    });
  }
}

function tell(
  database: Database,
  change: RecordChange,
  round: Round,
  options: OutboxOptions,
): void {
  const { merchant } = change.row;
  const invoice = change.row.operation === "deposit" ? change.row.invoice : "";
  for (const type of typesOf(database, change, options)) {
    const about = { merchant, type, isOfChoice: invoice !== "" };
    keepEvent(database, about, () => eventOf(database, change, type, options), round, options);
    if (invoice === "" || !isExceptionOfChoice(type)) continue;
    const row = readInvoice(database, invoice);
    if (row !== undefined) tellInvoice(database, "invoice.exception", row, round, options);
  }
}

/** An event of an invoice, with the invoice as it is then. */
function tellInvoice(
  database: Database,
  type: string,
  row: InvoiceRow,
  round: Round,
  options: OutboxOptions,
): void {
  const { id, merchant } = row;
  const make = (): CallbackEventRow => {
    const nowMs = options.clock();
    const at = type === "invoice.exception" || type === "invoice.chosen" ? nowMs : row.changedAt;
    const data = options.invoiceOf(row);
    return newEvent(database, { merchant, subject: id, type, at, data }, options);
  };
  keepEvent(database, { merchant, type, isOfChoice: false }, make, round, options);
}

function typesOf(
  database: Database,
  change: RecordChange,
  { config }: OutboxOptions,
): readonly EventType[] {
  const currency = config.currencies[change.row.currency];
  const least =
    currency === undefined ? null : parseAmount(currency.minPaymentAmount, currency.decimal);
  return eventsOf(change, {
    minPaymentUnits: least?.ok === true ? least.units : 0n,
    surplusToleranceUnits: surplusToleranceUnits(
      change.row.operation === "deposit" ? BigInt(change.row.units ?? 0) : 0n,
      currency,
    ),
    refundedUnits:
      change.row.operation === "deposit"
        ? refundedUnits(database, change.row.id, change.row.changedAt)
        : 0n,
    wasBroadcast: hasEvent(database, change.row.id, "withdrawal.broadcast"),
  });
}

function eventOf(
  database: Database,
  change: RecordChange,
  type: EventType,
  options: OutboxOptions,
): CallbackEventRow {
  const { row, payment } = change;
  const at = payment === null ? row.changedAt : options.clock();
  const data = {
    ...options.recordOf({ ...row, callbackStatus: 0 }),
    ...(payment === null ? {} : other(change, options)),
  };
  const { id: subject, merchant } = row;
  return newEvent(database, { merchant, subject, type, at, data }, options);
}

/** An event of a record or an invoice, whose id is the subject's. */
function newEvent(
  database: Database,
  {
    merchant,
    subject,
    type,
    at,
    data,
  }: {
    readonly merchant: string;
    readonly subject: string;
    readonly type: string;
    readonly at: number;
    readonly data: object;
  },
  { random, clock }: OutboxOptions,
): CallbackEventRow {
  const sequence = Math.max(newestEventSequence(database, subject) + 1, clock());
  return {
    id: newEventId(random),
    merchant,
    transactionId: subject,
    type,
    sequence,
    at,
    body: JSON.stringify({ type, timestamp: new Date(at).toISOString(), data, sequence }),
  };
}

/** A payment in a coin that the record did not ask for. */
function other({ payment }: RecordChange, { config }: OutboxOptions): object {
  if (payment === null) return {};
  const { currency, units, txHash } = payment;
  const decimal = config.currencies[currency]?.decimal;
  return {
    unattributed: {
      currency,
      amount: decimal === undefined ? "" : formatAmount(BigInt(units), decimal),
      txHash,
    },
  };
}

const newEventId = (random: OutboxOptions["random"]): string =>
  `msg_${Buffer.from(random(idBytes)).toString("hex")}`;

/** An event without a record, for one target that an operator tests. */
export function testEvent(
  target: Pick<CallbackTargetRow, "id" | "merchant">,
  { random, clock }: Pick<OutboxOptions, "random" | "clock">,
): CallbackEventRow {
  const at = clock();
  const data = { callbackId: target.id, merchantId: target.merchant };
  const body = JSON.stringify({
    type: testType,
    timestamp: new Date(at).toISOString(),
    data,
    sequence: at,
  });
  return {
    id: newEventId(random),
    merchant: target.merchant,
    transactionId: null,
    type: testType,
    sequence: at,
    at,
    body,
  };
}
