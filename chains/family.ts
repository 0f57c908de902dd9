/**
 * The offline interface to the chains: all that the rest of the program knows of a family of
 * chains. Transaction parameters and slots are the family's own texts; other modules only compare,
 * store and return them. Only types: for a new name the compiler shows every table that lacks it.
 */
import type { Refusal } from "../base/fault.ts";
import type { FamilyAccounts, KeyPaths } from "./accounts.ts";
import type { FeeMarket, FirstOffers, LaterOffers, PricedAttempt, TxParams } from "./offers.ts";
import type { PaymentLink } from "./payment-link.ts";
import type { UtxoNetworkName } from "./utxo/network.ts";

export type {
  FamilyAccounts,
  KeyPaths,
  NamedAccount,
  NumberedAccount,
  PublicKeyNode,
} from "./accounts.ts";
export type {
  Coin,
  FeeMarket,
  OfferBasis,
  PaymentTerms,
  PricedAttempt,
  TxParams,
} from "./offers.ts";

/** The families, each with code of its own. */
export type FamilyName = "evm" | "tron" | "utxo" | "xrp";

/**
 * The address spaces by their names, which stand under `family` in configurations, transcripts and
 * records. A family is one address space, of the same name; of Bitcoin's kind each network is one.
 */
export type AddressSpaceName = Exclude<FamilyName, "utxo"> | UtxoNetworkName;

/** A chain's id in its family's only spelling, as `readChainId` returned it. */
export type ChainId = number | string;

/** A chain as a configuration names it. */
export interface ConfiguredChain {
  readonly family: AddressSpaceName;
  readonly chainId: ChainId;
  readonly feeModel?: string; // one of the family's fee models; by default the chain's id decides
  readonly nodesFrom?: NodesFrom;
  readonly servers?: Readonly<Record<string, ServerLines>>; // further lines of its nodes, by address
}

/** What a configuration says of one server beside its address. */
export interface ServerLines {
  readonly headersFile?: string; // path of the file with further headers of each question
  readonly questionsPerHour?: number; // most questions that this program asks it in an hour
}

/** The party that named a chain's nodes: the service in its gateway's file, or the merchant. */
export type NodesFrom = "gateway" | "own";

/** A slot of an account, which is the sender. */
export interface AccountSlot {
  readonly network: string; // CAIP-2
  readonly account: string;
  readonly slot: string;
}

/** A payment on its slot. Addresses canonical, amounts in base units. */
export interface Payment extends AccountSlot {
  readonly contract: string; // the token, "" for the native coin
  readonly destination: string;
  /** Names the payee behind a shared address, in the family's only spelling; "" for none. */
  readonly tag: string;
  readonly amountUnits: bigint;
  /**
   * The fee comes out of the amount, so that the receiver gets less: a sweep of coins. False if
   * absent.
   */
  readonly isFeeInside?: boolean;
}

/**
 * The content of unsigned bytes. `account` is "" if the bytes name no sender. `feeMaxUnits` is the
 * most that the transaction can cost, in units of the fee coin.
 */
export type Description = Omit<Payment, "isFeeInside"> & {
  readonly txParams: TxParams;
  readonly feeMaxUnits: bigint;
};

/** The recorded values of unsigned bytes. `describe` takes only those that stand in no byte. */
export interface RecordedFields extends AccountSlot {
  readonly txParams: TxParams;
  readonly isFeeInside?: boolean; // as `Payment` has it
}

export type DescriptionResult = { readonly ok: true; readonly description: Description } | Refusal;

/**
 * The slots of an account. Each excludes all transactions made for it except one. A slot has only
 * one spelling, of at most 160 characters.
 */
export interface SlotRules {
  /** The first slot of an account that never paid; null if only the chain knows it. */
  readonly first: string | null;
  /** The lowest slot that there is. */
  readonly least: string;
  /** No account of a real chain gets beyond this slot; a higher one is made up. */
  readonly last: string;
  /** The slot, or null if the text is not the only spelling of one. */
  read(text: string): string | null;
  next(slot: string): string;
  /** Below 0 if the chain takes `a` before `b`. */
  compare(a: string, b: string): number;
  /** The number of slots from one on and before another; 0 if the other does not come later. */
  between(from: string, before: string): bigint;
  /** True if no block takes a slot before all earlier slots. */
  readonly blocksLater: boolean;
  /** True if the chain counts an account's slots; otherwise only the signer assigns them. */
  readonly isCounted: boolean;
  /** A slot for the operator, with the chain's own term. */
  say(slot: string): string;
  readonly word: string;
}

/**
 * The exclusion of a second payment on a chain without slots. The first attempt is void if the
 * chain's own time is past its end and no block has it. Times are milliseconds since 1970, all by
 * the chain.
 */
export interface ExpiryExclusion {
  readonly kind: "expiry";
  /** Margin past the end, in final chain time, before an attempt counts as void. */
  readonly marginMs: number;
  /** The longest lifetime that an attempt may have, from its timestamp on. */
  readonly lifetimeMsMax: number;
  /** The chain time after which no block takes the attempt. */
  validUntilMs(txParams: TxParams): number;
  /**
   * The timestamp of an attempt. It rises strictly from one attempt of an account to the next, so
   * no two payments are the same transaction. Never after `validUntilMs`.
   */
  timestamp(txParams: TxParams): bigint;
  /** The same offer with a timestamp above `last`; its end moves by the same time. */
  timestamped(txParams: TxParams, last: bigint): TxParams;
  /**
   * Chain time within which a block takes bytes that nodes have, as a rule: nodes show no attempt
   * before a block has it.
   */
  readonly unseenMs: number;
  /**
   * The end of an attempt of an order that was made at a time, as somebody tells it now; null for a
   * time that no signer gives an attempt, even by a wrong clock.
   */
  readEnd(validUntilMs: number, madeAtMs: number, nowMs: number): number | null;
}

/**
 * The exclusion of a second payment on a chain with coins. All attempts of a withdrawal spend one
 * coin, the pin, and the chain takes a coin only once. The slot is then only the signer's count.
 */
export interface PinExclusion {
  readonly kind: "pin";
  /** All coins of an attempt, each as a text with its amount; the first is the pin. */
  coins(txParams: TxParams): readonly [pin: string, ...others: string[]];
}

/**
 * The exclusion of a second payment: by a slot, which the chain gives to only one transaction; by
 * the pin; or by expiry, which waits until the first attempt is void.
 */
export type Exclusion = { readonly kind: "slot" } | PinExclusion | ExpiryExclusion;

export interface FamilyFees extends FirstOffers {
  readonly decimal: number; // decimals of the coin that pays fees
  readonly tipDecimal: number; // decimals of the usual unit for tips
  readonly tipUnit: string; // name of the tip's unit; "" if the chain has no tips
  readonly tipMax: string; // highest tip if config.json names none, in that unit
  /**
   * The parameters themselves. @throws AgentError JSON_SHAPE if a field is missing, unknown or no
   * number
   */
  read(txParams: TxParams): TxParams;
  /** As `read`, but "" leaves a figure to the program. */
  readWish(txParams: TxParams): TxParams;
  /** The most that an attempt may cost. */
  most(txParams: TxParams): bigint;
  /** The part of the offer that has a cap of its own, per unit of computation. */
  tipOf(txParams: TxParams): bigint;
  /** Null if the chain has no fee market: then no attempt is more expensive than another. */
  readonly bidding: FeeBumps | null;
  /** The reason why the bytes cannot do their payment for so low a limit, or null. */
  tooLittle(description: Description): string | null;
  /** The reason why parameters leave the cost of an attempt open on such a chain, or null. */
  unbounded(chain: ConfiguredChain, txParams: TxParams): string | null;
}

type Attempts = readonly PricedAttempt[];
type Offers = { readonly ok: true; readonly txParams: readonly TxParams[] } | Refusal;

/** Replaces earlier attempts of a slot by offering more. */
export interface FeeBumps extends LaterOffers {
  /**
   * The rule for a replacement, which nodes take instead of all earlier attempts: at least the
   * smallest step above the newest, and more if `asked` is higher. The rule gives the same result
   * for its own result.
   */
  replacement(attempts: Attempts, asked: TxParams, isCancel: boolean): TxParams;
  /** The least tip above every attempt so far; 0 if no attempt offered a tip. */
  leastTip(attempts: Attempts): bigint;
  /**
   * Offers to try for an operator's `replace` or `cancel`, best first; the best one fits the fee
   * market, if it is known. `isFeeInside` as `Payment` has it. Refuses with REPLACEMENT_FEES.
   */
  manualReplacement(
    attempts: Attempts,
    isCancel: boolean,
    wish: TxParams,
    feeMarket?: FeeMarket | null,
    isFeeInside?: boolean,
  ): Offers;
}

/** An address in its canonical form. */
export type ParsedAddress = { readonly ok: true; readonly address: string } | Refusal;

/** The networks on which one text is one address, and one wallet's accounts are the same. */
export interface AddressSpace {
  readonly name: AddressSpaceName;
  /**
   * The beginning of the networks' names (CAIP-2) up to the colon, or one whole name. No network of
   * another address space begins so.
   */
  readonly networks: string;
}

/**
 * A family of chains in one of its address spaces, without a network. Every function is
 * deterministic.
 */
export interface Family {
  readonly name: FamilyName;
  /** The name for people; the test networks of a coin share it. */
  readonly title: string;
  readonly exclusion: Exclusion;
  /**
   * True if a configuration may count blocks until one is final; otherwise only the chain decides.
   */
  readonly countsConfirmations: boolean;
  /** Blocks that `finalized` counts as, where the chain finalizes none itself; else null. */
  readonly finalDepth: number | null;
  /** Whether each block's own time is after that of the block before it, as its rules say. */
  readonly blockTimes: "rising" | "about";
  readonly slots: SlotRules;
  readonly fees: FamilyFees;
  /** The names of the chain's fee models, as a configuration may write them. */
  readonly feeModels: readonly string[];
  /** The id of a chain that a configuration names; null for an invalid value. */
  readChainId(value: unknown): ChainId | null;
  networkOf(chain: ConfiguredChain): string;
  readonly addressSpace: AddressSpace;
  /** True if a text is a transaction's hash in its only spelling. */
  isTxHash(text: string): boolean;
  /** A pin in its only spelling; null for another text, and on a chain without coins. */
  readPin(text: string): string | null;
  /**
   * The canonical form on a network of the family; one text may have several, each on a network of
   * its own. Refuses with ADDRESS_*.
   */
  parseAddress(text: string, network: string): ParsedAddress;
  /** The tag in its only spelling, or null if a payment of the family cannot carry the text. */
  readTag(text: string): string | null;
  /** True for a canonical address that the protocol itself uses, so no person has its key. */
  isReserved(address: string): boolean;
  /**
   * A link that wallets of the family open; "" if the family has no form of link. With 0 units the
   * link names no amount.
   */
  paymentUri(link: PaymentLink): string;
  /** A deposit address under the id of a deposit account. @throws ADDRESS_* */
  depositAddress(accountId: string, index: number): string;
  /** The derivation paths of its keys. */
  readonly paths: KeyPaths;
  /**
   * Reads the id of an account by its public key (hot), or by the text that stands for its node
   * (deposits).
   */
  readonly accounts: FamilyAccounts;
}

type SignedBytes = { readonly raw: Uint8Array; readonly txHash: string };

/**
 * The transactions of a family, as bytes. Only the signer needs them, and the curve that they load.
 */
export interface FamilyTransactions {
  /** Unsigned bytes. @throws TRANSACTION_FIELD, or ADDRESS_*, when a field is out of range */
  build(payment: Payment, txParams: TxParams): Uint8Array;
  /**
   * Reads a transaction back from the bytes; refuses all bytes that `build` does not make. From
   * `told` it takes only values that stand in no byte, such as a fee that the chain bills in
   * addition.
   */
  describe(unsigned: Uint8Array, told: RecordedFields): DescriptionResult;
  /**
   * Refuses coins of the account with TRANSACTION_EVIDENCE unless each has been made, as the text
   * says, by the transaction beside it (hex). Only on chains with coins.
   */
  unproven?(
    place: AccountSlot,
    coins: readonly string[],
    evidence: readonly string[],
  ): Refusal | null;
  /** Null if no transaction can use a slot up. */
  readonly cancels: CancelTransactions | null;
  /** The digests that get signed, 32 bytes each. */
  digests(unsigned: Uint8Array): readonly Uint8Array[];
  /**
   * Attaches one signature for each digest, in their order. @throws TRANSACTION_SIGNATURE,
   * TRANSACTION_SENDER
   */
  attach(unsigned: Uint8Array, signatures: readonly Uint8Array[], account: string): SignedBytes;
}

/** Transactions that use a slot up and pay nothing. */
export interface CancelTransactions {
  /** @throws as `build` */
  build(slot: AccountSlot, txParams: TxParams): Uint8Array;
  describe(unsigned: Uint8Array, told: RecordedFields): DescriptionResult;
}
