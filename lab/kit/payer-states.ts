/**
 * A gateway over real HTTP with one request in each of the fifteen states of the payment page, in
 * the rows that the watcher would write. Half of them are on Tron, half on an EVM chain.
 */
import { createHash } from "node:crypto";
import { changeMerchantPage } from "../../gateway/operator/merchant-page.ts";
import type { PayerState } from "../../gateway/pages/state.ts";
import { keepArrivingPayment } from "../../gateway/store/arriving.ts";
import { type DepositCredit, updateDeposit } from "../../gateway/store/deposits.ts";
import { insertInvoice } from "../../gateway/store/invoices.ts";
import { keepDetectedPayment, keepFinalPayment } from "../../gateway/store/payments.ts";
import { insertQuote } from "../../gateway/store/quotes.ts";
import { insertDeposit } from "../../gateway/store/transactions.ts";
import { startTestGateway, type TestGateway } from "./gateway-server.ts";

export interface StatesGateway {
  readonly gateway: TestGateway;
  /** The path of each state's page. */
  readonly pathOf: Readonly<Record<PayerState, string>>;
  /** The path of an invoice's page, where its payer chooses. */
  readonly choosingPath: string;
}

const ether = 10n ** 18n;
const usdt = 10n ** 6n;
const minuteMs = 60_000;
const evmAddress = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94";
const tronAddress = "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH";

export const shop = "Çınar Kitabevi";
export const returnUrl = "https://shop.example.com/thanks?order=1042";

interface WantedState {
  readonly currency: "eth" | "usdt-erc20" | "usdt-trc20";
  readonly credit?: Partial<DepositCredit>;
  readonly paid?: readonly {
    readonly currency: string;
    readonly units: bigint;
    readonly isFinal: boolean;
  }[];
  readonly arriving?: bigint; // units without a block
  readonly endsInMinutes?: number;
  readonly priceEndsInMinutes?: number; // it is the choice of an invoice
}

const paidUsdt = (units: bigint, isFinal = true) => ({
  currency: "usdt-trc20",
  units: units * usdt,
  isFinal,
});
const completed = { status: 1, stage: "completed" } as const;
const expired = { status: 2, stage: "expired", code: "deposit_expired" } as const;

const wanted: Readonly<Record<PayerState, WantedState>> = {
  waiting: { currency: "usdt-trc20" },
  unconfirmed: { currency: "eth", credit: { stage: "unconfirmed" }, arriving: ether / 4n },
  seen: {
    currency: "eth",
    credit: { stage: "confirming" },
    paid: [{ currency: "eth", units: ether / 4n, isFinal: false }],
  },
  short: {
    currency: "eth",
    credit: { stage: "partial" },
    paid: [{ currency: "eth", units: ether / 10n, isFinal: true }],
  },
  over: { currency: "usdt-trc20", credit: completed, paid: [paidUsdt(30n)] },
  completed: {
    currency: "eth",
    credit: completed,
    paid: [{ currency: "eth", units: ether / 4n, isFinal: true }],
  },
  ending: { currency: "usdt-trc20", endsInMinutes: -5 },
  expired: { currency: "usdt-trc20", credit: expired, endsInMinutes: -30 },
  expiredWithMoney: {
    currency: "usdt-trc20",
    credit: expired,
    paid: [paidUsdt(10n)],
    endsInMinutes: -30,
  },
  late: {
    currency: "usdt-trc20",
    credit: { ...expired, late: 1 },
    paid: [paidUsdt(25n)],
    endsInMinutes: -30,
  },
  otherCoin: {
    currency: "eth",
    paid: [{ currency: "usdc-erc20", units: 750n * usdt, isFinal: true }],
  },
  outOfService: { currency: "usdt-erc20" },
  quoteOver: { currency: "usdt-trc20", priceEndsInMinutes: -2 },
  paidOtherwise: {
    currency: "usdt-trc20",
    credit: { ...expired, code: "invoice_paid" },
    priceEndsInMinutes: 18,
  },
  cancelled: {
    currency: "usdt-trc20",
    credit: { ...expired, stage: "cancelled", code: "deposit_cancelled" },
  },
};

const config = {
  chains: {
    ethereum: { preset: "ethereum", nodes: ["http://127.0.0.1:9"] },
    tron: { preset: "tron", nodes: ["http://127.0.0.1:9"] },
  },
  currencies: {
    eth: { preset: "eth" },
    "usdt-erc20": { preset: "usdt-erc20" },
    "usdc-erc20": { preset: "usdc-erc20" },
    "usdt-trc20": { preset: "usdt-trc20" },
  },
  prices: {
    manual: {
      "usdt-trc20": { usd: "1", eur: "0.93", try: "42" },
      "usdt-erc20": { usd: "1", eur: "0.93", try: "42" },
      "usdc-erc20": { usd: "1", eur: "0.93", try: "41.9" },
    },
  },
  limits: { payerReadsPerSecond: 1000 },
};

const hex = (text: string): string => createHash("sha256").update(text).digest("hex");

/** A token that only this state has, so that a picture of the page has always the same path. */
export const tokenOf = (state: PayerState): string =>
  createHash("md5").update(state).digest("base64url");

const tokenOfInvoice = (state: PayerState): string =>
  createHash("md5").update(`invoice ${state}`).digest("base64url");

const coin = { amount: "0.25", units: ether / 4n, quote: "" };
const quote = {
  fiatCurrency: "TRY",
  fiatAmount: "1071",
  price: "42",
  priceUpdatedAt: "2026-01-02T03:04:00.000Z",
};
const token = { amount: "25.5", units: (255n * usdt) / 10n, quote: JSON.stringify(quote) };

function put(
  { service, merchant, clock }: TestGateway,
  state: PayerState,
  { currency, ...more }: WantedState,
): void {
  const { credit, paid = [], arriving, endsInMinutes = 47, priceEndsInMinutes } = more;
  const id = hex(state).slice(0, 32);
  const { network = "" } = service.config.currencies[currency] ?? {};
  const isEvm = network.startsWith("eip155");
  const [address, txHash] = isEvm ? [evmAddress, `0x${hex(id)}`] : [tronAddress, hex(id)];
  const { amount, units, quote } = currency === "eth" ? coin : token;
  const invoice = priceEndsInMinutes === undefined ? "" : hex(`invoice ${state}`).slice(0, 32);
  service.store.write((database) => {
    if (invoice !== "")
      insertInvoice(database, {
        ...{ id: invoice, merchant: merchant.merchantId, contentHash: hex(invoice), renews: "" },
        ...{ orderId: `in-${1042 + states.indexOf(state)}`, metadata: "", returnUrl },
        ...{ fiatCurrency: "TRY", fiatAmount: "1071", tolerancePercent: "", quoteMinutes: 20 },
        currencies: JSON.stringify(["usdt-trc20", "usdc-erc20", "eth", "usdt-erc20"]),
        createdAt: clock.nowMs,
        payToken: tokenOfInvoice(state),
        expiresAt: clock.nowMs + endsInMinutes * minuteMs,
      });
    insertDeposit(database, {
      invoice,
      ...{
        id,
        merchant: merchant.merchantId,
        orderId: `in-${1042 + states.indexOf(state)}`,
        contentHash: hex(id),
      },
      ...{
        currency,
        network,
        amount,
        units: `${units}`,
        address,
        payTo: address,
      },
      ...{ tag: "", stage: "waiting", metadata: "", quote, payToken: tokenOf(state), returnUrl },
      ...{ renews: "", toleranceUnits: "0" },
      ...{
        createdAt: clock.nowMs,
        changedAt: clock.nowMs,
        expiresAt: clock.nowMs + endsInMinutes * minuteMs,
      },
    });
    if (priceEndsInMinutes !== undefined)
      insertQuote(database, {
        ...{ transactionId: id, number: 1, price: "42", priceAt: clock.nowMs },
        fromAt: clock.nowMs + (priceEndsInMinutes - 20) * minuteMs,
        untilAt: clock.nowMs + priceEndsInMinutes * minuteMs,
      });
    if (arriving !== undefined)
      keepArrivingPayment(database, {
        ...{
          transactionId: id,
          txHash,
          units: `${arriving}`,
          firstAt: clock.nowMs,
          seenAt: clock.nowMs,
        },
        ...{ isReplaceable: 0, isHeld: 0 },
      });
    for (const one of paid) {
      const payment = {
        ...{
          network,
          txHash,
          logIndex: 1,
          address,
          currency: one.currency,
          units: `${one.units}`,
          transactionId: id,
        },
        ...({ block: 100, blockHash: hex("block"), final: one.isFinal ? 1 : 0 } as const),
      };
      if (one.isFinal) keepFinalPayment(database, payment);
      else keepDetectedPayment(database, payment);
    }
    const counted = paid.filter((one) => one.isFinal && one.currency === currency);
    updateDeposit(database, id, {
      ...{
        status: 0,
        stage: "waiting",
        code: "",
        late: 0,
        finalBlock: null,
        changedAt: clock.nowMs,
      },
      receivedUnits: `${counted.reduce((sum, { units }) => sum + units, 0n)}`,
      txHash: counted.length > 0 ? txHash : "",
      ...credit,
    });
  });
}

const states = Object.keys(wanted) as PayerState[];

export async function startStatesGateway(): Promise<StatesGateway> {
  const gateway = await startTestGateway(config);
  const { service, operator, merchant } = gateway;
  Object.assign(service, {
    outOfService: (currency: string) =>
      currency === wanted.outOfService.currency ? "its contract is silent" : "",
  });
  changeMerchantPage(operator, merchant.merchantId, {
    ...{ shownName: shop, contact: "help@shop.example.com", origins: [new URL(returnUrl).origin] },
  });
  for (const state of states) put(gateway, state, wanted[state]);
  const paths = states.map((state) => [state, `/pay/${tokenOf(state)}`]);
  return {
    gateway,
    pathOf: Object.fromEntries(paths) as Record<PayerState, string>,
    choosingPath: `/pay/${tokenOfInvoice("quoteOver")}`,
  };
}
