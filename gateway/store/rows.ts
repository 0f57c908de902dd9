/**
 * The rows of schema.ts as types, so that a query says which table it reads:
 * `database.get<PaymentRow>("SELECT * FROM …")`. Base units are TEXT with a whole number; times
 * are milliseconds since 1970; flags are 0 or 1.
 */

export interface MerchantRow {
  readonly id: string;
  readonly name: string;
  readonly language: "en" | "tr";
  readonly createdAt: number;
  readonly disabledAt: number | null; // since then none of its keys is accepted
  readonly shownName: string; // to senders; "" shows the name
  readonly contact: string; // of senders: an e-mail address or a page; "" none
  readonly origins: string; // of its own sites, joined by spaces: may embed the payment page, and take the customer back
  readonly keepsEvents: 0 | 1; // 1: events are kept for GET events, also without a callback target
}

/**
 * The account of a merchant that receives without an agent; the gateway derives its deposit
 * addresses.
 */
export interface ReceivingKeyRow {
  readonly merchant: string;
  readonly family: string; // of chains
  readonly xpub: string;
  readonly firstDepositAddress: string; // at index 0: identifies an xpub's key, whatever the xpub's text
  readonly nextDepositIndex: number;
  readonly createdAt: number;
}

/**
 * `secretBox` is set for HS256 (sealed under the gateway's key), `publicKey` (raw, hex) for EdDSA;
 * scopes are joined by commas.
 */
/**
 * `strict` binds each token to its request. `interface` takes tokens as `compatible` does, and gets
 * answers with the interface's fields alone.
 */
export type KeyProfile = "compatible" | "strict" | "interface";

export interface KeyRow {
  readonly id: string;
  readonly merchant: string;
  readonly scopes: string;
  readonly profile: KeyProfile;
  readonly alg: "HS256" | "EdDSA";
  readonly secretBox: Uint8Array | null;
  readonly publicKey: string | null;
  readonly pairingUsed: 0 | 1;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
  readonly expiresAt: number | null; // null never
  readonly allowedAddresses: string; // addresses and networks joined by commas; "" any
}

/**
 * An agent. `networks` is a JSON list of CAIP-2 ids, `currencies` of PairedCurrency, `accounts` of
 * AgentAccount, all as paired.
 */
export interface AgentRow {
  readonly id: string;
  readonly merchant: string;
  readonly wallet: string;
  readonly ledgerEpoch: number;
  readonly signerKey: string;
  readonly linkKey: string;
  readonly accounts: string; // gateway/store/agent-accounts.ts
  readonly networks: string;
  readonly currencies: string;
  readonly headSeq: number;
  readonly headHash: string;
  readonly jobSequence: number;
  readonly jobHash: string;
  readonly nextDepositIndex: number; // one count for the accounts of all families
  readonly transcriptHash: string; // hash of the newest transcript that was granted
  readonly transcriptAt: number; // the time that this transcript states
  readonly pairedAt: number;
  readonly unpairedAt: number | null;
  readonly lastSeenAt: number | null;
  readonly lockedCode: string;
  readonly caughtUp: string; // gateway/recovery/catch-up.ts
  readonly linkBlock: string; // address block of its newest hello; "" before the first
  readonly software: string; // as stated in its newest hello; "" before the first
  readonly pausedAt: number | null; // when its operator stopped new signatures, by its ledger
  readonly ledgerAt: number; // the ledger's time in its newest statement; 0 before the first
  readonly policy: string; // digest of its signer's newest limits; "" before its first statement
  readonly depositCeiling: number; // in its ledger: no address at or above this index has left; 0 before the first
  readonly awaitsCeiling: 0 | 1; // 1: the database was restored, and the agent has not reported its ceiling since
}

/**
 * The service's own reasons as the `code` of a failed record, each with its meaning for a shop; all
 * other codes of a record are an agent's, of base/codes.ts. docs/api.md lists both.
 */
export const serviceReasons = {
  chain_reverted: "the transaction is final on chain and failed there",
  chain_slot_consumed:
    "another transaction of the account took its place on chain, and paid nobody for it",
  cancelled:
    "an operator of the agent cancelled the signed payment, and a final transaction that pays nobody took its place",
  slot_unreachable:
    "XRP: the payment was signed with a sequence below its account's first, so no ledger ever takes it, and an operator of the agent ended it; renew the order",
  coin_unknown:
    "Bitcoin and Litecoin: no node has shown the coin of this payment for a day, and an operator of the agent ended it; renew the order, and never order it under another `orderId`",
  chain_moved:
    "the transaction is final on chain and moved another amount than was asked for, such as a token that takes a fee: `received` says what the receiver got; order the rest under another `orderId`",
  deposit_expired: "a deposit request was not paid in time",
  deposit_reorged:
    "a completed deposit: the block of its payment left the chain, and the service's operator took the credit back",
  deposit_cancelled:
    "the shop cancelled a deposit request, or its invoice, before anything was paid",
  invoice_paid:
    "a deposit of an invoice that another currency has paid; what came to it is a surplus",
} as const;

export type ServiceReason = keyof typeof serviceReasons;

/** The fields that each transaction has (transaction-rows.ts). */
interface SharedFields {
  readonly id: string;
  readonly merchant: string;
  readonly orderId: string;
  readonly currency: string;
  readonly network: string;
  readonly tag: string; // "" none
  readonly status: 0 | 1 | 2;
  readonly stage: string;
  readonly code: string; // "" none
  readonly txHash: string; // "" none
  readonly finalBlock: number | null;
  readonly receivedUnits: string; // a transfer has it only if an operator says that it differs
  readonly createdAt: number;
  readonly changedAt: number;
  readonly expiresAt: number;
}

/** The fields of a record that a shop sees. */
interface RecordFields extends SharedFields {
  readonly renews: string; // the ended record of the same order that this one follows; "" none
  readonly metadata: string; // the shop's own data, as a JSON object; "" none
  readonly value: string; // in fiat money at its completion: JSON; "" none
  readonly callbackStatus: 0 | 1 | 2 | 3; // callback-outbox.ts keeps it
}

/**
 * A request for a deposit, or what was paid to an address that no shop asked for in this database.
 */
export interface DepositRow extends RecordFields {
  readonly operation: "deposit";
  readonly origin: "ordered" | "unattributed";
  readonly contentHash: string | null; // null: no shop asked
  readonly amount: string | null; // null: nobody named an amount
  readonly units: string | null;
  readonly address: string; // as it was given; on chains with tags the tag is inside
  readonly payTo: string; // the same without the tag
  readonly toleranceUnits: string; // so much may be missing from the amount
  readonly quote: string; // in fiat money: JSON; "" none
  readonly payToken: string; // in the address of the payment page; "" has no page
  readonly returnUrl: string; // where the payment page leads back to; "" nowhere
  readonly late: 0 | 1; // money came after the end
  readonly invoice: string; // the id of the invoice that it is a choice of; "" none
  readonly acceptedAt: number | null; // when a shop or an operator took it as paid after its end
}

/** The fields of what an agent signs. */
interface TransferFields extends SharedFields {
  readonly contentHash: string;
  readonly amount: string;
  readonly units: string;
  readonly payer: string; // the account that pays
  readonly feeUnits: string; // "" before the end
}

export interface WithdrawalRow extends RecordFields, TransferFields {
  readonly operation: "withdraw";
  readonly mode: "auto" | "manual";
  readonly receiver: string | null; // null: its operator has not named it yet
  readonly refundOf: string; // the deposit that it pays back; "" none
}

/** A deposit address that is emptied into the hot wallet. */
export interface SweepRow extends TransferFields {
  readonly operation: "sweep";
  readonly receiver: string;
  readonly addressIndex: number; // the deposit address's
  readonly nextSlot: string; // that its job names; "" none
}

/** Coins for the fee of a sweep. The currency is that of the sweep, the amount is in the coin. */
export interface TopUpRow extends TransferFields {
  readonly operation: "topup";
  readonly receiver: string;
  readonly addressIndex: number; // the deposit address's
}

/** A row that a shop sees as a record. */
export type RecordRow = DepositRow | WithdrawalRow;
/** A row that an agent signs. */
export type TransferRow = WithdrawalRow | SweepRow | TopUpRow;
export type TransactionRow = DepositRow | TransferRow;

/** The kind of row that an operation has. */
export interface RowsByOperation {
  readonly deposit: DepositRow;
  readonly withdraw: WithdrawalRow;
  readonly sweep: SweepRow;
  readonly topup: TopUpRow;
}

export interface JobRow {
  readonly agent: string;
  readonly sequence: number;
  readonly hash: string;
  readonly text: string;
  readonly transactionId: string;
  readonly answeredAt: number | null;
}

export interface SignatureRow {
  readonly transactionId: string;
  readonly attempt: number;
  readonly agent: string;
  readonly network: string;
  readonly account: string;
  readonly slot: string;
  readonly txHash: string;
  readonly feeMax: string;
  readonly seq: number;
  readonly cancel: 0 | 1; // pays nothing, to the account itself; only the agent ordered it
  readonly validUntilMs: number; // no block takes it after this chain time; 0 if a slot keeps others out
  readonly pin: string; // the coin that all attempts spend; "" on chains without coins
  readonly voidAt: number | null; // since when this database holds it as void
}

/**
 * An epoch of an agent that began with a recovery. `heldSeq` is 0 and `heldHash` is "" if the
 * gateway held nothing before.
 */
export interface RecoveryRow {
  readonly agent: string;
  readonly ledgerEpoch: number;
  readonly at: number;
  readonly heldSeq: number; // newest head of the previous epoch
  readonly heldHash: string;
  readonly takenAt: number | null; // when the agent's recovered ledger first reported
  readonly mark: string; // random; the names of all its recovery offers begin with it
}

/**
 * A final outgoing transaction of a hot wallet, with its slot; without a slot on chains that have
 * none.
 */
export interface OutgoingRow {
  readonly network: string;
  readonly account: string;
  readonly slot: string;
  readonly txHash: string;
  readonly block: number;
  readonly receiver: string;
  readonly tag: string; // "" for none
  readonly contract: string; // "" native
  readonly units: string;
  readonly untold: 0 | 1; // nothing here explained it, and no operator was alerted
}

/** The amount that an account's pending withdrawals promise in one currency. */
export interface ReservedRow {
  readonly account: string;
  readonly network: string;
  readonly currency: string;
  readonly withdrawals: number; // their number
  readonly units: string; // their sum
}

/** A deposit address that a shop's request has. */
export interface GivenAddress {
  readonly address: string;
  readonly merchant: string;
  readonly agent: string | null; // null: under the merchant's receiving key
  readonly addressIndex: number;
  readonly addressSpace: string; // the watched networks' addressSpace
  readonly request: string; // transaction id of the deposit
  readonly at: number;
}

/** A deposit address that is watched, though no shop asked for it in this database. */
export interface ForgottenAddressRow extends Omit<GivenAddress, "addressIndex" | "request"> {
  readonly addressIndex: number | null; // null: no request can have its tag
  readonly origin: "skipped" | "found" | "stray"; // by a restored database, a scan, a payment
}

export interface ForgottenRangeRow {
  readonly id: number;
  readonly account: string; // extended public key of the addresses
  readonly family: string;
  readonly merchant: string;
  readonly agent: string | null; // null: under the merchant's receiving key
  readonly next: number; // first index that is not watched yet
  readonly indexesEnd: number; // the index after the last one
  readonly at: number; // when the restored database was noticed
}

export interface PaymentRow {
  readonly network: string;
  readonly txHash: string;
  readonly logIndex: number;
  readonly address: string;
  readonly currency: string;
  readonly units: string;
  readonly block: number;
  readonly blockHash: string;
  readonly final: 0 | 1;
  readonly transactionId: string;
}

export interface CursorRow {
  readonly network: string;
  readonly block: number;
  readonly hash: string;
}

/** Balance of an account at the newest final block that the watcher has read. */
export interface BalanceRow {
  readonly account: string;
  readonly currency: string;
  readonly units: string;
  readonly block: number;
  readonly at: number;
}
