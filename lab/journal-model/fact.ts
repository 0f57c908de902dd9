/**
 * Facts, as the model of the journal is told them: one after the other, none of them changed
 * later. Nothing here is of the gateway. Only types.
 */

/** A balance of an address in one currency. */
export interface Place {
  readonly network: string;
  readonly address: string;
  readonly currency: string;
}

/** An address of ours, and whose it is. */
export interface Wallet {
  readonly network: string;
  readonly address: string;
  readonly merchant: string;
  readonly kind: "hot" | "deposit";
}

export type TransferKind = "withdraw" | "sweep" | "topup";
export type AdjustmentKind = "outside" | "owner" | "note";

/** A payment in a final block; the same transaction and index again takes its place. */
export interface PaymentFact {
  readonly fact: "payment";
  readonly network: string;
  readonly txHash: string;
  readonly logIndex: number;
  readonly deposit: string; // the address that a customer was told, with its tag
  readonly account: string; // the account that holds the money
  readonly currency: string;
  readonly units: bigint;
  readonly block: number;
  readonly blockHash: string;
}

/** A final block with this payment left the chain. */
export interface LostPaymentFact {
  readonly fact: "lost";
  readonly network: string;
  readonly txHash: string;
  readonly logIndex: number;
}

/** A payment that is a part of a sum. */
export interface SmallPaymentFact {
  readonly fact: "small";
  readonly network: string;
  readonly account: string;
  readonly currency: string;
  readonly kind: "dust" | "more";
  readonly request: string; // "" none
  readonly block: number;
  readonly units: bigint;
  readonly end: number | null; // the block at which its request ended
}

/** Balances are compared at a block, so sums end there. */
export interface ComparedBlockFact {
  readonly fact: "compared";
  readonly network: string;
  readonly block: number;
}

/** The configuration names the coin that pays the fees. */
export interface CoinFact {
  readonly fact: "coin";
  readonly network: string;
  readonly currency: string;
}

/** An agent is asked to sign; a top-up's units are of the coin, its currency is its sweep's. */
export interface OrderFact {
  readonly fact: "order";
  readonly id: string;
  readonly kind: TransferKind;
  readonly merchant: string;
  readonly network: string;
  readonly currency: string;
  readonly units: bigint;
  readonly payer: string;
  readonly receiver: string | null; // null: not named yet
  readonly sweep: string; // the sweep of a top-up; "" else
}

/** Another content under the same order. */
export interface ContentFact {
  readonly fact: "content";
  readonly id: string;
  readonly currency: string;
  readonly units: bigint;
  readonly receiver: string | null;
}

/** An agent names the receiver. */
export interface ReceiverFact {
  readonly fact: "receiver";
  readonly id: string;
  readonly receiver: string;
}

/** An order failed and no block has anything of it, or one that had ended is open again. */
export interface StatusFact {
  readonly fact: "status";
  readonly id: string;
  readonly status: 0 | 2;
}

/** A final block decided an order. `sent` and `received` where an operator says what it moved. */
export interface EndFact {
  readonly fact: "end";
  readonly id: string;
  readonly status: 1 | 2;
  readonly fee: bigint | null;
  readonly block: number | null;
  readonly sent: bigint | null;
  readonly received: bigint | null;
}

/** Ends of several orders that become known at once. */
export interface EndsFact {
  readonly fact: "ends";
  readonly ends: readonly EndFact[];
}

/** A payment that nobody signed here paid an order. */
export interface AssignedPaymentFact {
  readonly fact: "assigned";
  readonly id: string;
  readonly fee: bigint;
  readonly block: number;
}

/** A signature says that a payment to a deposit address is a top-up of ours. */
export interface OwnTopUpFact {
  readonly fact: "own";
  readonly id: string;
  readonly txHash: string;
}

/** A hot wallet's balance at the end of a block, with which its books begin. */
export interface OpeningFact extends Place {
  readonly fact: "opening";
  readonly units: bigint;
  readonly block: number;
}

/** The balance of a deposit address before anybody was told it. */
export interface BaselineFact extends Place {
  readonly fact: "baseline";
  readonly units: bigint;
}

/** A change that neither a payment nor a transfer explains; negative: less lies there. */
export interface AdjustmentFact extends Place {
  readonly fact: "adjustment";
  readonly kind: AdjustmentKind;
  readonly units: bigint;
  readonly block: number;
}

/** A hot wallet's balance, as the nodes tell it at a block. */
export interface ReadingFact extends Place {
  readonly fact: "reading";
  readonly units: bigint;
  readonly block: number;
}

export type Fact =
  | PaymentFact
  | LostPaymentFact
  | SmallPaymentFact
  | ComparedBlockFact
  | CoinFact
  | OrderFact
  | ContentFact
  | ReceiverFact
  | StatusFact
  | EndFact
  | EndsFact
  | AssignedPaymentFact
  | OwnTopUpFact
  | OpeningFact
  | BaselineFact
  | AdjustmentFact
  | ReadingFact;
