/** The common ground of the generated clients' calls: what they order, and what they report. */

export interface Orders {
  readonly currency: string;
  readonly address: string;
  readonly orderId: (side: "in" | "out") => string; // a new one each time
  readonly month: string; // of the gateway's clock
  readonly late: string; // transactionId of an expired deposit with money
}

/** `status` by operationId; `read` is what the calls read by the generated types. */
export interface Called {
  readonly status: Readonly<Record<string, number | undefined>>;
  readonly read: Readonly<Record<string, unknown>>;
}
