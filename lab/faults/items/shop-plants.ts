/**
 * The faults of the shop's side, by domain and family: a stored row that no reader takes, a
 * receiver of callbacks, a market. Each names the report that it copies. A domain or a family
 * without a cell does not compile.
 */
import type { DeliveryResult } from "../../../gateway/callbacks/send.ts";
import type { PriceAnswer } from "../../../gateway/prices/ask.ts";
import type { DepositRow } from "../../../gateway/store/rows.ts";
import type { FamilyKey } from "./plants.ts";

/** Columns of a deposit with text that nobody can read. */
export interface RowPlant {
  readonly report: string;
  readonly spoilt: Partial<Pick<DepositRow, "metadata" | "quote" | "value" | "createdAt">>;
}

/** An answer of the receiver; null while it keeps the line open. */
export interface TargetPlant {
  readonly report: string;
  readonly answer: DeliveryResult | null;
  /** Orders of A beside the first, of which all events go to the receiver. */
  readonly more: number;
}

/** The answer of one market to all questions. */
export interface PricePlant {
  readonly report: string;
  readonly answer: (honest: PriceAnswer) => PriceAnswer;
}

const sent = (status: number, answer: string, retryAfter?: string): DeliveryResult => ({
  ...{ status, answer, retryAfter, durationMs: status === 0 ? 15_000 : 20 },
});
const failed = (why: string, status = 0): PriceAnswer => ({ ok: false, status, why, waitMs: 0 });
const page: PriceAnswer = {
  ok: true,
  text: "<section><h2>Pay Button request failed</h2></section>",
};
const unknownPair: PriceAnswer = { ok: true, text: '{"error":["EQuery:Unknown asset pair"]}' };

export const rowPlants: Readonly<Record<FamilyKey, RowPlant>> = {
  evm: {
    report: "operator.md N1: one record ended the process at each start",
    spoilt: { metadata: "{" },
  },
  tron: {
    report: "craftcms/commerce #2936: one field of one line item, and no list of orders loads",
    spoilt: { quote: '{"fiat":' },
  },
  bitcoin: {
    report: "pretix/pretix #6159: an export fails for one order",
    spoilt: { createdAt: 8_700_000_000_000_000 },
  },
  litecoin: {
    report:
      "openfoodfoundation/openfoodnetwork #5572: one order without a payment, and the report is 500",
    spoilt: { value: "{" },
  },
  xrp: {
    report: "openfoodfoundation/openfoodnetwork #7059: a state that no order should have",
    spoilt: { metadata: "undefined" },
  },
};

export const targetPlants: Readonly<Record<FamilyKey, TargetPlant>> = {
  evm: {
    report: "owncast/owncast #1504: one slow receiver delays all others",
    answer: null,
    more: 0,
  },
  tron: {
    report: "btcpayserver/btcpayserver #3146: a receiver answers 500 for hours",
    answer: sent(500, ""),
    more: 0,
  },
  bitcoin: {
    report: "craftcms/commerce #1296: a receiver that many events strain",
    answer: sent(429, "", "1"),
    more: 0,
  },
  litecoin: {
    report: "mageplaza/magento-2-webhook #27: nobody listens at the address",
    answer: sent(0, "ECONNREFUSED"),
    more: 0,
  },
  xrp: {
    report: "reapit/foundations #3429: 41 minutes late, behind the queue of one account",
    answer: sent(503, ""),
    more: 60,
  },
};

export const pricePlants: Readonly<Record<FamilyKey, PricePlant>> = {
  evm: {
    report: "btcpayserver/btcpayserver #7153: 403 from one market",
    answer: () => failed("answered 403", 403),
  },
  tron: {
    report: "btcpayserver/btcpayserver #7090: one market is offline, and no invoice is made",
    answer: () => failed("no answer in 8 s"),
  },
  bitcoin: {
    report: "btcpayserver/btcpayserver #6022: a market's numbers are swapped",
    answer: (honest) =>
      honest.ok ? { ok: true, text: honest.text.replaceAll("3000", "3") } : honest,
  },
  litecoin: {
    report: "btcpayserver/btcpayserver #1532: a page with status 200",
    answer: () => page,
  },
  xrp: {
    report: "btcpayserver/btcpayserver #4027: EQuery:Unknown asset pair, with status 200",
    answer: () => unknownPair,
  },
};

export const shopPlants = { row: rowPlants, target: targetPlants, price: pricePlants } as const;
export type ShopDomain = keyof typeof shopPlants;
