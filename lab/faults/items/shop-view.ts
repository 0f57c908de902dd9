/**
 * The view of shops and payers on the items of a world: the record as the API answers it, the state
 * of the payer's page, and the events of its callbacks. Times are left out, because a fault may
 * cost a pass.
 */
import { createHash } from "node:crypto";
import { recordOf } from "../../../gateway/answer/record.ts";
import { payerView } from "../../../gateway/api/payer.ts";
import { makeEventsOfChanges } from "../../../gateway/callbacks/outbox.ts";
import type { GatewayConfig } from "../../../gateway/config/config.ts";
import { listTransactions } from "../../../gateway/operations/transactions.ts";
import { judgePayerState } from "../../../gateway/pages/state.ts";
import type { Service } from "../../../gateway/service.ts";
import { readMerchant } from "../../../gateway/store/merchants.ts";
import type { MerchantRow, RecordRow } from "../../../gateway/store/rows.ts";
import { type RowKey, runGuarded } from "../../../gateway/store/set-aside.ts";
import type { Store } from "../../../gateway/store/store.ts";
import { readTransaction } from "../../kit/gateway-database.ts";

/** The parts of a gateway that the shop's side asks. */
export type ShopService = Pick<
  Service,
  "store" | "clock" | "confirmations" | "readAt" | "unreadSince" | "outOfService" | "isLate" | "log"
> & { readonly config: Pick<GatewayConfig, "chains" | "currencies" | "publicUrl" | "limits"> };

const timesOfRecord = ["createdAt", "changedAt", "expiresAt", "confirmations"] as const;

export class ShopView {
  /** Rows that no event could be made of. */
  readonly aside: RowKey[] = [];
  readonly #service: ShopService;
  readonly #store: Store;
  #random = 0;

  constructor(service: ShopService) {
    this.#service = service;
    this.#store = service.store;
    // Events are kept without a target too.
    this.#store.database.run("UPDATE merchants SET keepsEvents = 1");
  }

  /** Makes events of what changed. */
  tell(): void {
    const recordOfRow = (row: Parameters<typeof recordOf>[0]): object =>
      recordOf(row, this.#service);
    const { clock, config } = this.#service;
    const told = this.#store.write((database) =>
      makeEventsOfChanges(database, {
        config,
        clock,
        recordOf: recordOfRow,
        invoiceOf: ({ id }: { readonly id: string }) => ({ invoice: id }),
        random: (bytes) => this.#bytes(bytes),
      }),
    );
    this.aside.push(...told.aside.map(({ key }) => key));
  }

  /** The record, the page's state and the events of an item. */
  shown(id: string): readonly unknown[] {
    const row = readTransaction(this.#store, id) as RecordRow;
    const record: Record<string, unknown> = { ...recordOf(row, this.#service) };
    for (const name of timesOfRecord) delete record[name];
    const merchant = readMerchant(this.#store.database, row.merchant) as MerchantRow;
    const page =
      row.operation === "deposit"
        ? judgePayerState(payerView(this.#service as Service, row, merchant, 0))
        : "";
    const events = this.#store.database.all<{ type: string }>(
      "SELECT type FROM callbackEvents WHERE transactionId = ? ORDER BY number",
      id,
    );
    return [record, page, events.map(({ type }) => type)];
  }

  /** As `shown`; "unreadable" for a row of which nothing can be made. */
  shownOrAside(id: string): unknown {
    const told = runGuarded(() => this.shown(id));
    return told.ok ? told.value : "unreadable";
  }

  /** The lines of a merchant's list, as the API answers it, without these rows. */
  list(merchant: string, leftOut: { has(id: string): boolean }): readonly string[] {
    const service = this.#service as Service;
    const answer = listTransactions(service, merchant, {}, { headers: {}, isInterface: false });
    const text =
      answer.kind === "list" ? [...(answer.parts as Iterable<string>)].join("") : answer.kind;
    const records = JSON.parse(text) as readonly {
      readonly transactionId: string;
      readonly stage: string;
      readonly code: string;
    }[];
    return records
      .filter(({ transactionId }) => !leftOut.has(transactionId))
      .map(({ transactionId, stage, code }) => `${transactionId} ${stage} ${code}`);
  }

  #bytes(count: number): Uint8Array {
    this.#random += 1;
    return createHash("sha512").update(`${this.#random}`).digest().subarray(0, count);
  }
}
