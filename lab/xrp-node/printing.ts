/**
 * Transactions, metadata and ledgers as rippled's API version 1 prints them. Source: xrpl.org,
 * transaction metadata, tx, account_tx and ledger.
 */
import {
  type Chain,
  closeTimeResolutionS,
  type Ledger,
  type ValidatedTransaction,
} from "./chain.ts";
import { accountIndex, type Json } from "./codecs.ts";
import type { Change } from "./open-ledger.ts";
import type { Account } from "./state.ts";
import type { ReadTransaction } from "./transaction.ts";

const rippleEpochMs = 946_684_800_000;

/** A transaction with its hash, without a ledger. */
export function txJson({ fields, hash, type }: ReadTransaction): Json {
  return { ...fields, ...(type === "Payment" ? { DeliverMax: fields.Amount } : {}), hash };
}

/** A transaction of a closed ledger. */
export function doneJson(chain: Chain, { tx, ledgerIndex }: ValidatedTransaction): Json {
  const { closeTime } = chain.ledger(ledgerIndex)!;
  return { ...txJson(tx), date: closeTime, inLedger: ledgerIndex, ledger_index: ledgerIndex };
}

export function metaJson({
  tx,
  changes,
  result,
  place,
  delivered,
  ledgerIndex,
}: ValidatedTransaction): Json {
  const isTold = delivered !== null;
  const isPartial = isTold && JSON.stringify(delivered) !== JSON.stringify(tx.fields.Amount);
  return {
    AffectedNodes: changes.map((change) => nodeJson(change, ledgerIndex)),
    ...(isPartial ? { DeliveredAmount: delivered } : {}),
    TransactionIndex: place,
    TransactionResult: result,
    ...(isTold ? { delivered_amount: delivered } : {}),
  };
}

/** The compact identifier: C, ledger, place and network in hex. */
export function ctidOf({ ledgerIndex, place }: ValidatedTransaction, networkId: number): string {
  const hex = (value: number, digits: number): string =>
    value.toString(16).toUpperCase().padStart(digits, "0");
  return `C${hex(ledgerIndex, 7)}${hex(place, 4)}${hex(networkId, 4)}`;
}

export function accountRoot(address: string, account: Account): Json {
  return {
    Account: address,
    Balance: String(account.balanceDrops),
    Flags: account.flags,
    LedgerEntryType: "AccountRoot",
    OwnerCount: account.ownerCount,
    PreviousTxnID: account.previousTxnId,
    PreviousTxnLgrSeq: account.previousLedger,
    Sequence: account.sequence,
    index: accountIndex(address),
  };
}

export function ledgerJson(ledger: Ledger, withTransactions: boolean): Json {
  const closed = new Date(ledger.closeTime * 1000 + rippleEpochMs);
  return {
    account_hash: ledger.accountHash,
    close_flags: 0,
    close_time: ledger.closeTime,
    close_time_human: closed.toUTCString(),
    close_time_iso: `${closed.toISOString().slice(0, 19)}Z`,
    close_time_resolution: closeTimeResolutionS,
    closed: true,
    ledger_hash: ledger.hash,
    ledger_index: String(ledger.index),
    parent_close_time: ledger.parentCloseTime,
    parent_hash: ledger.parentHash,
    total_coins: String(ledger.totalDrops),
    transaction_hash: ledger.transactionHash,
    ...(withTransactions ? { transactions: ledger.done.map(({ tx }) => tx.hash) } : {}),
  };
}

function nodeJson({ address, before, after }: Change, ledgerIndex: number): Json {
  const kind = { LedgerEntryType: "AccountRoot", LedgerIndex: accountIndex(address) };
  const final = shortRoot(address, after);
  if (before === null) {
    const NewFields = { Account: address, Balance: final.Balance, Sequence: ledgerIndex };
    return { CreatedNode: { ...kind, NewFields } };
  }
  const was = shortRoot(address, before);
  const changed = Object.entries(was).filter(([name, value]) => value !== final[name]);
  const previous = {
    PreviousTxnID: before.previousTxnId,
    PreviousTxnLgrSeq: before.previousLedger,
  };
  return {
    ModifiedNode: {
      FinalFields: final,
      ...kind,
      PreviousFields: Object.fromEntries(changed),
      ...previous,
    },
  };
}

function shortRoot(address: string, { balanceDrops, flags, ownerCount, sequence }: Account): Json {
  return {
    Account: address,
    Balance: String(balanceDrops),
    Flags: flags,
    OwnerCount: ownerCount,
    Sequence: sequence,
  };
}
