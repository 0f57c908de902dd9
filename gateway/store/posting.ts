/**
 * The moves that a fact stands for: a final payment, or a transfer that ended in a block. This file
 * alone decides which sides a fact has and which of them pays the fee; journal.ts keeps the moves.
 */
import { isFeeInside } from "../../chains/families.ts";
import { hasTags, payeeOf } from "../../chains/payees.ts";
import {
  type AccountChanges,
  type AccountSide,
  holdUnits,
  hotWalletOwner,
  type Move,
  postMoves,
  readPostedCoin,
  settleMoves,
} from "./journal.ts";
import type { PaymentRow, TransferRow } from "./rows.ts";
import type { Statements as Database } from "./statements.ts";
import { listOwnTopUps } from "./top-ups.ts";
import { currencyOfTransferSql } from "./transaction-rows.ts";

/**
 * Names the native coin of each network, which pays the fees. A network that is left out keeps the
 * name that it had, so that its fees count on; the first name of a network's coin has the fees and
 * top-ups of before posted. Harmless to call twice.
 */
export function keepNativeCoins(database: Database, coins: ReadonlyMap<string, string>): void {
  for (const [network, currency] of coins) {
    const isNew =
      database.get("SELECT 1 FROM nativeCoins WHERE network = ?", network) === undefined;
    const sql =
      "INSERT INTO nativeCoins (network, currency) VALUES (?, ?) ON CONFLICT (network) DO UPDATE SET currency = excluded.currency";
    database.run(sql, network, currency);
    // Transfers that ended while the coin had no name have moves in it now.
    if (!isNew) continue;
    settleEnded(database, "t.network = ?", network);
    // A fee of the first time can be the first move of a hot wallet, to which others paid.
    settleEnded(database, "t.network = ?", network);
  }
}

/**
 * Posts payouts that ended above the block of a hot wallet's opening and came to that wallet before
 * it had books. Harmless to call twice.
 */
export function postPayoutsToHotWallet(
  database: Database,
  network: string,
  hotWallet: string,
): void {
  const sql = "t.network = ? AND t.receiver = ? AND t.operation = 'withdraw'";
  settleEnded(database, sql, network, hotWallet);
}

function settleEnded(database: Database, sql: string, ...values: readonly string[]): void {
  const ended = database.all<PostedTransfer>(
    `${postedTransfersSql} WHERE ${sql} AND t.status <> 0 AND t.finalBlock IS NOT NULL`,
    ...values,
  );
  for (const row of ended) {
    const cause = causeOfTransfer(row);
    // A coin that the configuration calls otherwise now keeps its name in what is posted.
    const coin = readPostedCoin(database, cause) ?? row.coin ?? null;
    settleMoves(database, cause, movesOfTransfer(database, { ...row, coin }));
  }
}

const causeOfTransfer = ({ id }: Pick<PostedTransfer, "id">): string => `transfer:${id}`;

const causeOfPayment = ({
  network,
  txHash,
  logIndex,
}: Pick<PaymentRow, "network" | "txHash" | "logIndex">): string =>
  `payment:${network}:${txHash}:${logIndex}`;

/** The fact that made a move, as far as its records say. */
export interface MoveFact {
  readonly transactionId: string; // "" none
  readonly orderId: string; // the shop's; "" none
  readonly txHash: string; // "" unknown
  readonly receiver: string; // of a transfer; "" none
  readonly merchant: string; // whose transfer it is; "" no transfer
}

/** The fact behind a cause on a network; of a move that adjusts a balance all fields are empty. */
export function readMoveFact(database: Database, network: string, cause: string): MoveFact {
  const none = { transactionId: "", orderId: "", txHash: "", receiver: "", merchant: "" };
  const [, id] = /^transfer:(.+)$/.exec(cause) ?? [];
  if (id !== undefined)
    return (
      database.get<MoveFact>(
        `SELECT t.id AS transactionId, coalesce(w.orderId, '') AS orderId, coalesce(t.txHash, '') AS txHash,
           coalesce(t.receiver, '') AS receiver, t.merchant
         FROM transfers t LEFT JOIN withdrawals w ON w.id = t.id WHERE t.id = ?`,
        id,
      ) ?? none
    );
  const prefix = `payment:${network}:`;
  // The hash of a payment that only a balance showed has colons, and so have names of networks.
  const [, txHash = "", logIndex] = /^(.+):(-?\d+)$/.exec(cause.slice(prefix.length)) ?? [];
  if (!cause.startsWith(prefix) || logIndex === undefined) return none;
  const counted = database.get<Pick<MoveFact, "transactionId" | "orderId">>(
    `SELECT d.id AS transactionId, d.orderId FROM (
         SELECT transactionId FROM payments WHERE network = ?1 AND txHash = ?2 AND logIndex = ?3
         UNION ALL SELECT transactionId FROM gonePayments WHERE network = ?1 AND txHash = ?2 AND logIndex = ?3) p
       JOIN deposits d ON d.id = p.transactionId LIMIT 1`,
    ...[network, txHash, Number(logIndex)],
  );
  return { ...none, ...counted, txHash: txHash.startsWith("internal:") ? "" : txHash };
}

/** What a transfer is for. */
export interface TransferPurpose {
  readonly operation: TransferRow["operation"];
  readonly isRefund: boolean; // a withdrawal that pays a deposit back
}

/** The purposes of the transfers behind these causes, by cause. */
export function readTransferPurposes(
  database: Database,
  causes: readonly string[],
): ReadonlyMap<string, TransferPurpose> {
  const rows = database.all<{
    readonly cause: string;
    readonly operation: TransferRow["operation"];
    readonly isRefund: number;
  }>(
    `SELECT c.value AS cause, t.operation, CASE WHEN w.refundOf IS NULL THEN 0 ELSE 1 END AS isRefund
     FROM json_each(?) AS c CROSS JOIN transfers t ON t.id = substr(c.value, 10) LEFT JOIN withdrawals w ON w.id = t.id
     WHERE c.value LIKE 'transfer:%'`,
    JSON.stringify(causes),
  );
  return new Map(
    rows.map(({ cause, operation, isRefund }) => [cause, { operation, isRefund: isRefund === 1 }]),
  );
}

/**
 * Posts a final payment to its address; on a chain with tags to the account of all tags. Harmless
 * to call twice; other content takes the place of the earlier.
 */
export function postPaymentMove(database: Database, payment: PaymentRow, merchant: string): void {
  const { network, address, currency, units, block } = payment;
  const to: AccountSide = {
    address: payeeOf(network, address).address,
    merchant,
    kind: hasTags(network) ? "hot" : "deposit",
  };
  const move = { kind: "payment", network, currency, from: "@customers", to, block } as const;
  settleMoves(
    database,
    causeOfPayment(payment),
    units === "0" ? [] : [{ ...move, units: BigInt(units) }],
  );
}

/** Takes a payment back that no block has any more. Harmless to call twice. */
export function takeBackPaymentMove(
  database: Database,
  payment: Pick<PaymentRow, "network" | "txHash" | "logIndex">,
): void {
  settleMoves(database, causeOfPayment(payment), []);
}

/** The fields of a transfer that decide its moves. */
export type PostedTransfer = Pick<
  TransferRow,
  | ("id" | "operation" | "merchant" | "network" | "currency" | "units" | "payer" | "receiver")
  | ("status" | "feeUnits" | "finalBlock")
> & {
  /** The currency that pays its fee; null or absent: then no fee is posted. */
  readonly coin?: string | null;
  /** The amounts that it took and brought, where an operator says that they differ. */
  readonly saidSentUnits?: string | null; // without the fee
  readonly saidReceivedUnits?: string | null;
};

/** The transfers `t` with the fields of a `PostedTransfer`. */
export const postedTransfersSql = `SELECT t.id, t.operation, t.merchant, t.network, ${currencyOfTransferSql} AS currency, t.units, t.payer,
  t.receiver, t.status, coalesce(t.feeUnits, '') AS feeUnits, t.finalBlock, n.currency AS coin,
  m.sentUnits AS saidSentUnits, m.receivedUnits AS saidReceivedUnits
  FROM transfers t LEFT JOIN topUps u ON u.id = t.id LEFT JOIN movedPayments m ON m.transactionId = t.id
    LEFT JOIN nativeCoins n ON n.network = t.network`;

export function readPostedTransfer(database: Database, id: string): PostedTransfer | undefined {
  return database.get<PostedTransfer>(`${postedTransfersSql} WHERE t.id = ?`, id);
}

/** The moves of a transfer that ended in a block: what it brought, what else it took, its fee. */
function movesOfTransfer(
  database: Database,
  row: PostedTransfer,
  later?: AccountChanges,
): readonly Move[] {
  const { operation, network, status, finalBlock: block, coin = null } = row;
  const { saidSentUnits = null, saidReceivedUnits = null } = row;
  if (status === 0 || block === null) return [];
  const currency = operation === "topup" ? coin : row.currency;
  const from: AccountSide = {
    address: row.payer,
    merchant: row.merchant,
    kind: operation === "sweep" ? "deposit" : "hot",
  };
  const to = receiverOf(database, row, later);
  const isInside = status === 1 && saidSentUnits === null && isFeeInside(network, operation);
  const feeUnits = BigInt(row.feeUnits === "" ? "0" : row.feeUnits);
  const amountUnits = status === 1 ? BigInt(row.units) - (isInside ? feeUnits : 0n) : 0n;
  const sent = saidSentUnits === null ? amountUnits : BigInt(saidSentUnits);
  const received = saidReceivedUnits === null ? amountUnits : BigInt(saidReceivedUnits);
  const moved = { kind: operation, network, block } as const;
  const excess = sent > received ? sent - received : 0n;
  const both = sent - excess;
  const feeCurrency = isInside ? currency : coin;
  return [
    ...(currency === null
      ? []
      : [
          { ...moved, currency, units: both, from, to },
          { ...moved, currency, units: excess, from, to: "@payees" as const },
          { ...moved, currency, units: received - both, from: "@outside" as const, to },
        ]),
    ...(feeCurrency === null
      ? []
      : [
          {
            kind: "fee" as const,
            network,
            currency: feeCurrency,
            units: feeUnits,
            from,
            to: "@fees" as const,
            block,
          },
        ]),
  ].filter((move) => move.units > 0n);
}

/**
 * The side that a transfer goes to. A hot wallet of this gateway is an account, unless payments to
 * it are kept by their tags; a payout to a deposit address is a payment there.
 */
function receiverOf(
  database: Database,
  { operation, network, payer, receiver, merchant }: PostedTransfer,
  later: AccountChanges | undefined,
): Move["to"] {
  const address = receiver ?? "";
  if (operation === "sweep") return { address, merchant, kind: "hot" };
  if (operation === "topup") return { address, merchant, kind: "deposit" };
  if (hasTags(network)) return "@payees";
  if (address === payer) return { address, merchant, kind: "hot" };
  const owner =
    later?.hotWalletOwner(network, address) ?? hotWalletOwner(database, network, address);
  return owner === undefined ? "@payees" : { address, merchant: owner.merchant, kind: owner.kind };
}

/**
 * Follows the change of a transfer: what an open sweep holds of its address, and the moves of one
 * that ended. `before` is null for a new row; `later` takes the changes of accounts. Must not be
 * called twice.
 */
export function postTransfer(
  database: Database,
  before: PostedTransfer | null,
  after: PostedTransfer,
  later?: AccountChanges,
): void {
  for (const [row, sign] of [
    [before, -1n],
    [after, 1n],
  ] as const) {
    if (row?.operation !== "sweep" || row.status !== 0) continue;
    const { network, currency, payer: address, merchant } = row;
    const owner = { merchant, kind: "deposit" } as const;
    holdUnits(database, { network, address, currency }, owner, sign * BigInt(row.units));
  }
  const hadMoves = before !== null && before.status !== 0;
  if (!hadMoves && (after.status === 0 || after.finalBlock === null)) return;
  const cause = causeOfTransfer(after);
  const moves = movesOfTransfer(database, after, later);
  // A payout that was open never had a move before; a sweep may have been opened again.
  if (after.operation === "withdraw" && !hadMoves) postMoves(database, cause, moves, later);
  else settleMoves(database, cause, moves, later);
  if (after.operation === "topup")
    for (const own of listOwnTopUps(database, after.id)) takeBackPaymentMove(database, own);
}
