/**
 * The rows of schema.ts as types, so that a query says which table it reads:
 * `database.get<TransactionRow>("SELECT * FROM …")`. Base units are TEXT holding a whole number;
 * times are milliseconds since 1970; flags are 0 or 1.
 */

import type { Operation } from "../../protocol/identity.ts";

/** @public */
export interface MerchantRow {
  readonly id: string;
  readonly name: string;
  readonly language: "en" | "tr";
  readonly createdAt: number;
  readonly disabledAt: number | null; // since when none of its keys does anything
}

/**
 * The account of a merchant who receives without an agent: the gateway derives its deposit
 * addresses.
 * @public
 */
export interface ReceivingKeyRow {
  readonly merchant: string;
  readonly family: string; // of chains
  readonly xpub: string;
  readonly firstDepositAddress: string; // at index 0: tells one xpub's key whatever its text
  readonly nextDepositIndex: number;
  readonly createdAt: number;
}

/**
 * `secretBox` is set for HS256 (sealed under the gateway's key), `publicKey` (raw, hex) for EdDSA;
 * scopes are joined by commas.
 * @public
 */
export interface KeyRow {
  readonly id: string;
  readonly merchant: string;
  readonly scopes: string;
  readonly profile: "compatible" | "strict";
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
 * Its networks are a JSON list of CAIP-2 ids, its currencies a JSON list of PairedCurrency, its
 * accounts one of AgentAccount, all as paired.
 * @public
 */
export interface AgentRow {
  readonly id: string;
  readonly merchant: string;
  readonly wallet: string;
  readonly epoch: number;
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
  readonly transcriptHash: string; // of the newest transcript that was granted
  readonly transcriptAt: number; // what that transcript says of its own time
  readonly pairedAt: number;
  readonly releasedAt: number | null;
  readonly lastSeenAt: number | null;
  readonly lockedCode: string;
  readonly heard: string; // gateway/recovery/hearing.ts
  readonly linkBlock: string; // the address block its newest hello came from; "" before the first
  readonly software: string; // as its newest hello named it; "" before the first
  readonly pausedAt: number | null; // when its operator stopped new signatures, by its ledger
  readonly ledgerAt: number; // its ledger's time in its newest statement; 0 before the first
  readonly policy: string; // digest of the limits that its signer last went by; "" before its first statement
  readonly depositCeiling: number; // its ledger holds that no address at or above this place has left; 0 before the first
  readonly awaitsCeiling: 0 | 1; // the database was put back, and the agent has not told its ceiling since
}

/** @public */
export interface TransactionRow {
  readonly id: string;
  readonly merchant: string;
  readonly operation: Operation;
  readonly mode: "" | "auto" | "manual";
  readonly orderId: string;
  readonly contentHash: string;
  readonly currency: string;
  readonly network: string;
  readonly amount: string;
  readonly amountUnits: string;
  readonly receiverAddress: string;
  readonly depositAddress: string;
  readonly tag: string;
  readonly status: 0 | 1 | 2;
  readonly stage: string;
  readonly code: string;
  readonly txHash: string;
  readonly feeUnits: string;
  readonly amountReceivedUnits: string;
  readonly finalBlock: number | null;
  readonly createdAt: number;
  readonly changedAt: number;
  readonly expiresAt: number;
  readonly late: 0 | 1; // of a deposit: money came after its end
  readonly quote: string; // of a deposit asked for in fiat money, JSON; "" none
  readonly toleranceUnits: string; // of a deposit: so much may be missing from the amount
  readonly metadata: string; // the shop's own words, as a JSON object; "" without any
  readonly callbackStatus: 0 | 1 | 2 | 3; // callback-outbox.ts keeps it
}

/** @public */
export interface JobRow {
  readonly agent: string;
  readonly sequence: number;
  readonly hash: string;
  readonly text: string;
  readonly transactionId: string;
  readonly answeredAt: number | null;
}

/** @public */
export interface SignatureRow {
  readonly transactionId: string;
  readonly version: number;
  readonly agent: string;
  readonly network: string;
  readonly account: string;
  readonly slot: string;
  readonly txHash: string;
  readonly feeMax: string;
  readonly seq: number;
  readonly cancel: 0 | 1; // pays nothing, to the account itself, by the word of the agent alone
  readonly untilMs: number; // past it in chain time no block takes it; 0 where a slot keeps others out
  readonly deadAt: number | null; // since when this database says that no block ever will
}

/**
 * An epoch of an agent that began with a recovery. `heldSeq` 0 and `heldHash` "" when nothing was
 * held before.
 * @public
 */
export interface RecoveryRow {
  readonly agent: string;
  readonly epoch: number;
  readonly at: number;
  readonly heldSeq: number; // newest head of the epoch before
  readonly heldHash: string;
  readonly takenAt: number | null; // when the agent's recovered ledger was first heard
  readonly mark: string; // drawn at its beginning; each of its orders' names starts with it
}

/**
 * A final transaction of a paying account, by its slot, or without one where the chain has none.
 * @public
 */
export interface SpendRow {
  readonly network: string;
  readonly account: string;
  readonly slot: string;
  readonly txHash: string;
  readonly block: number;
  readonly receiver: string;
  readonly contract: string; // "" native
  readonly units: string;
  readonly untold: 0 | 1; // nothing here explained it, and no person was told
}

/**
 * What pending withdrawals of an account promise in one currency.
 * @public
 */
export interface ReservedRow {
  readonly account: string;
  readonly network: string;
  readonly currency: string;
  readonly withdrawals: number; // how many
  readonly units: string; // their sum
}

/** @public */
export interface DepositAddressRow {
  readonly address: string;
  readonly agent: string | null; // null: under the merchant's receiving key
  readonly addressIndex: number;
  readonly transactionId: string;
}

/**
 * An address that may have left before the database was put back, and belongs to no request.
 * @public
 */
export interface ForgottenAddressRow {
  readonly address: string;
  readonly merchant: string;
  readonly agent: string | null; // null: under the merchant's receiving key
  readonly addressIndex: number;
  readonly namespace: string; // of the networks that it is watched on
  readonly at: number; // when it was noticed that the database was put back
}

/** @public */
export interface ForgottenRangeRow {
  readonly id: number;
  readonly account: string; // the extended public key that its addresses are derived from
  readonly family: string;
  readonly merchant: string;
  readonly agent: string | null; // null: under the merchant's receiving key
  readonly next: number; // the first place that is not watched yet
  readonly placesEnd: number; // the place behind the last one
  readonly at: number; // when it was noticed that the database was put back
}

/** @public */
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

/** @public */
export interface CursorRow {
  readonly network: string;
  readonly block: number;
  readonly hash: string;
}

/**
 * Funds of an account at the newest final block the watcher has read.
 * @public
 */
export interface BalanceRow {
  readonly account: string;
  readonly currency: string;
  readonly units: string;
  readonly block: number;
  readonly at: number;
}
