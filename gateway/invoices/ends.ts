/**
 * Ends invoices whose time for choosing is over and that have no open choice: the watcher ends each
 * choice once its last block is final, so that no invoice ends while a payment may still be in
 * time.
 */
import { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import type { ClockState } from "../own-clock.ts";
import { endInvoice, listEndedInvoiceIds } from "../store/invoices.ts";
import type { Store } from "../store/store.ts";

export interface InvoiceEndsOptions {
  readonly store: Store;
  readonly log: GatewayLog;
  readonly clock: () => number;
  readonly ownClock: () => ClockState; // a clock that the chains contradict ends nothing
}

const everyMs = 2_000;
const endsAtOnce = 256;

/** Ends what is over now. @returns how many */
export function endInvoices({ store, clock, ownClock }: Omit<InvoiceEndsOptions, "log">): number {
  const nowMs = clock();
  if (ownClock().kind !== "right") return 0;
  if (listEndedInvoiceIds(store.database, nowMs, 1).length === 0) return 0;
  return store.write((database) => {
    const ids = listEndedInvoiceIds(database, nowMs, endsAtOnce);
    for (const id of ids) endInvoice(database, id, { code: "invoice_expired", at: nowMs });
    return ids.length;
  });
}

/** Looks every two seconds. A database that is busy or away is asked again. */
export function startEndingInvoices(options: InvoiceEndsOptions): { close(): void } {
  const timer = setInterval(() => {
    try {
      endInvoices(options);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      options.log.warn(
        { event: "invoices-unended", code: error.code },
        "invoices that are over could not be ended; it is tried again",
      );
    }
  }, everyMs);
  return { close: () => clearInterval(timer) };
}
