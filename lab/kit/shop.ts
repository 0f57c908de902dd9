/**
 * A merchant's shop for the scripts: the client with its answers in the few words a script
 * compares.
 */
import { createClient } from "../../clients/typescript/client.ts";
import type { FiatOrder } from "../../clients/typescript/orders.ts";
import type { DepositResult } from "../../clients/typescript/records.ts";

/** One withdrawal order as the scripts write it. */
export interface ShopOrder {
  readonly currency: string;
  readonly amount: string;
  readonly receiver: string;
  readonly orderId: string;
  readonly tag?: string;
}

/**
 * `status` is the HTTP status, 0 when nobody answered; `transactionId` "" when nothing was created
 * as far as the shop can tell.
 */
export interface ShopAnswer {
  readonly status: number;
  readonly transactionId: string;
  readonly code: string;
  readonly message: string;
}

/** A record in the few words a script compares; `amountReceived` is "" for a withdrawal. */
interface ShopRecord {
  readonly status: number;
  readonly stage: string;
  readonly code: string;
  readonly txHash: string;
  readonly amountReceived: string;
}

export interface Shop {
  autoWithdraw(order: ShopOrder): Promise<ShopAnswer>;
  manualWithdraw(
    order: Omit<ShopOrder, "receiver"> & { readonly receiver?: string },
  ): Promise<ShopAnswer>;
  /** Throws when there is no record; 2 is a withdrawal, 1 a deposit. */
  transaction(transactionId: string, type?: 1 | 2): Promise<ShopRecord>;
  deposit(
    currency: string,
    amount: string,
    orderId: string,
  ): Promise<{ address: string; tag: string; transactionId: string; paymentUrl: string }>;
  /** A deposit of a sum of money, at the gateway's price. */
  fiatDeposit(order: FiatOrder): Promise<DepositResult>;
  balance(currency: string): Promise<{
    available: string;
    pending: string;
    sweeping: string;
    reserved: string;
    total: string;
  }>;
}

/** A deposit's address is not to be had for a moment after pairing and after a restore: 503. */
const depositTries = 45;
const depositPauseMs = 2_000;

/** A shop with the merchant's own key; only an order of a deposit that gets 503 is sent again. */
export function createShop(merchant: {
  readonly gatewayUrl: string;
  readonly shopKey: string;
}): Shop {
  const client = createClient({
    baseUrl: merchant.gatewayUrl,
    key: { apiKey: merchant.shopKey },
    language: "en",
  });
  const answerOf = async (asked: ReturnType<typeof client.autoWithdraw>): Promise<ShopAnswer> => {
    const result = await asked;
    if (result.ok)
      return {
        status: 200,
        transactionId: result.value.transactionId,
        code: "",
        message: result.value.message,
      };
    return {
      status: result.status,
      transactionId: result.transactionId ?? "",
      code: result.code,
      message: result.message,
    };
  };
  const ordered = async (
    order: Parameters<typeof client.createTransactionRequest>[0],
  ): Promise<DepositResult> => {
    for (let tries = 1; ; tries += 1) {
      const result = await client.createTransactionRequest(order);
      if (result.ok) return result.value;
      const isLater =
        result.status === 503 && result.code === "unavailable" && tries < depositTries;
      if (!isLater)
        throw new Error(`deposit request ${order.orderId}: ${result.code} ${result.message}`);
      await new Promise((resolve) => setTimeout(resolve, depositPauseMs));
    }
  };
  return {
    autoWithdraw: ({ currency, amount, orderId, receiver, tag = "" }) =>
      answerOf(
        client.autoWithdraw({
          currency,
          amount,
          orderId,
          address: receiver,
          ...(tag === "" ? {} : { tag }),
        }),
      ),
    manualWithdraw: ({ receiver, ...order }) =>
      answerOf(
        client.manualWithdraw(receiver === undefined ? order : { ...order, address: receiver }),
      ),
    async transaction(transactionId, type = 2) {
      const result = await client.transaction(transactionId, type);
      if (!result.ok)
        throw new Error(`transaction ${transactionId}: ${result.code} ${result.message}`);
      const { status, stage = "", code = "", txHash = "", amountReceived = "" } = result.value;
      return { status, stage, code, txHash, amountReceived };
    },
    async deposit(currency, amount, orderId) {
      const {
        address,
        tag,
        transactionId,
        paymentUrl = "",
      } = await ordered({ currency, amount, orderId });
      return { address, tag, transactionId, paymentUrl };
    },
    fiatDeposit: ordered,
    async balance(currency) {
      const result = await client.balance(currency);
      if (!result.ok) throw new Error(`balance of ${currency}: ${result.code} ${result.message}`);
      const {
        available = "",
        pending = "",
        sweeping = "",
        reserved = "",
        total = "",
      } = result.value;
      return { available, pending, sweeping, reserved, total };
    },
  };
}
