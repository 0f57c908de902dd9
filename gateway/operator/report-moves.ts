/**
 * `report --moves`: every change that the lines of a report add up, each with its order, for a
 * bookkeeper. Reads the journal and the days of blocks, changes nothing.
 */
import type { CsvColumns } from "../answer/csv-cell.ts";
import {
  BlockDays,
  type ChangeSum,
  listPeriodMoves,
  type PeriodBlocks,
  type PeriodMove,
  type PeriodOptions,
} from "../books/period.ts";
import { signedAmount } from "../books/taking-in.ts";
import type { GatewayConfig } from "../config/config.ts";
import { merchantNames } from "../store/merchants.ts";
import { type MoveFact, readMoveFact } from "../store/posting.ts";
import { formatTimestamp } from "./accounts.ts";

/** A change of one account; an amount below zero left it. */
export interface ListedMove {
  readonly block: number;
  readonly day: string; // day of the block, in UTC
  readonly merchantId: string;
  readonly merchant: string;
  readonly account: "hot" | "deposit";
  readonly address: string;
  readonly currency: string;
  readonly column: string; // sum of the report that has the amount
  readonly kind: string;
  readonly amount: string; // in the usual notation
  readonly other: string; // address of the other side, or a word for it
  readonly transactionId: string;
  readonly orderId: string;
  readonly txHash: string;
  readonly undoes: string; // "yes" of a move that takes an earlier one back
  readonly actor: string;
  readonly reason: string;
  readonly notedAt: string; // when an operator or the gateway wrote an adjustment
}

export const moveColumns: CsvColumns = {
  chain: "word",
  block: "count",
  day: "day",
  merchantId: "text",
  merchant: "text",
  account: "text",
  address: "text",
  currency: "word",
  column: "word",
  kind: "word",
  amount: "amount",
  other: "text",
  transactionId: "text",
  orderId: "text",
  txHash: "text",
  undoes: "text",
  actor: "text",
  reason: "text",
  notedAt: "time",
};

const columnNames: Readonly<Record<ChangeSum, string>> = {
  inUnits: "paidIn",
  outUnits: "paidOut",
  feeUnits: "fees",
  broughtUnits: "broughtIn",
  correctedUnits: "corrected",
};

interface BlockTimes {
  timestamp(block: number): Promise<number>; // seconds since 1970
}

/** The changes of a chain, some at a time, in the order of accounts and blocks. */
export async function* listMoves(
  options: PeriodOptions & { readonly reader: BlockTimes },
  blocks: PeriodBlocks,
  config: GatewayConfig,
): AsyncGenerator<readonly ListedMove[]> {
  const { database } = options.store;
  const names = new Map(merchantNames(database).map((one) => [one.id, one.name]));
  const days = new BlockDays(options.reader.timestamp);
  const ends = [blocks.before + 1, blocks.last] as const;
  for await (const moves of listPeriodMoves(options, blocks)) {
    const dayByBlock = new Map<number, string>();
    for (const { block } of moves)
      if (!dayByBlock.has(block)) dayByBlock.set(block, await days.dayOf(block, ends));
    yield moves.map((one) => {
      const { merchant, kind: account, address } = one.account;
      const decimal = config.currencies[one.currency]?.decimal ?? 0;
      const fact = readMoveFact(database, options.network, one.move?.cause ?? "");
      const isOthers = fact.merchant !== "" && fact.merchant !== merchant;
      return {
        block: one.block,
        day: dayByBlock.get(one.block) ?? "",
        merchantId: merchant,
        merchant: names.get(merchant) ?? "",
        account,
        address,
        currency: one.currency,
        column: columnNames[one.sum],
        kind: one.move?.kind ?? "opening",
        amount: signedAmount(one.units, decimal),
        other: otherSide(one, fact),
        // The receiver of a payout from another merchant sees no order of that merchant.
        transactionId: isOthers ? "" : fact.transactionId,
        orderId: isOthers ? "" : fact.orderId,
        txHash: fact.txHash,
        undoes: (one.move?.undoes ?? null) === null ? "" : "yes",
        actor: one.move?.why?.actor ?? "",
        reason: one.move?.why?.reason ?? "",
        notedAt: formatTimestamp(one.move?.why?.at ?? null),
      };
    });
  }
}

/** The other account's address, the receiver of a payout, or a word for who it was. */
function otherSide({ move }: PeriodMove, { receiver }: MoveFact): string {
  const side = move?.farSide ?? "@outside";
  if (side === "@payees" && receiver !== "") return receiver;
  return side.replace("@", "");
}

/** A line of text for a person at a terminal. */
export function moveText(move: ListedMove): string {
  const { day, block, merchantId, currency, amount, column, kind, other, orderId, txHash } = move;
  const parts = [
    `${amount} ${currency}`,
    `${column}, ${kind}${move.undoes === "" ? "" : " taken back"}`,
    amount.startsWith("-") ? `to ${other}` : `from ${other}`,
    `${move.account} ${move.address}`,
    ...(orderId === "" ? [] : [`order ${orderId}`]),
    ...(txHash === "" ? [] : [txHash]),
    ...(move.reason === "" ? [] : [`${move.actor}: ${move.reason}`]),
  ];
  return `  ${day}  ${block}  ${merchantId}  ${parts.join("  ")}`;
}
