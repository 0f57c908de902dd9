/**
 * The run's interface to a family's chain and to the people who pay there. Each family's test
 * network reads its chain by itself, with no code of agent or gateway.
 */
import type { Random } from "../faults/tally.ts";
import type { Asset, Nobody, Range, Shape } from "./shapes.ts";

/** One payment of a transaction, with the address it goes to. */
export interface AddressedPayment {
  readonly asset: Asset;
  readonly units: bigint;
  readonly to: string;
}

/** One transaction. */
export interface Transaction {
  readonly pays: readonly AddressedPayment[];
  readonly byContract: boolean;
  readonly fails: boolean;
  /** It has entries of coins to everybody in the list, and moves none. */
  readonly isVain: boolean;
  /** The chain says how much a block's reward is. */
  readonly isReward?: boolean;
  /** It names a far higher amount than it delivers. */
  readonly isPartial?: boolean;
}

/** By currency, at one address. */
export type Units = ReadonlyMap<string, bigint>;

/** A transaction of a deposit address, in a final block. */
export interface DepartingTransfer {
  readonly txHash: string;
  readonly from: string;
  readonly to: string; // the receiver
  readonly currency: string;
  readonly units: bigint;
}

/** The state of the final chain, read at the end and at one block. */
export interface FinalChain {
  /**
   * Amounts paid in from outside, by address. An address is in lower case if case has no meaning.
   */
  readonly arrived: ReadonlyMap<string, Units>;
  /** The balances there. */
  readonly held: ReadonlyMap<string, Units>;
  readonly hotWallet: Units; // the part that can be spent
  /** Sums of payments to requests by tag, at accounts that nobody signs for, by account. */
  readonly receivedByTag?: ReadonlyMap<string, Units>;
  readonly left: readonly DepartingTransfer[];
  /** Coin that the wallet's own transactions burned as fees. */
  readonly feesUnits: bigint;
  /**
   * Payments for no request that an operator must find in a list, as amount and tag; undefined
   * where each deposit has an address of its own.
   */
  readonly unattributed?: readonly string[];
}

export interface ReorganisationReport {
  readonly blocks: number;
  readonly again: number; // payments that came into another block, under the same id
  readonly redone: number; // made again under another id
  readonly lost: number; // that never come
  readonly ours: number; // transactions of the wallet's own, for its agent to send again
  readonly trouble?: string; // that a node had from now on
}

export interface TestNetwork {
  readonly coin: { readonly id: string; readonly decimal: number };
  /** Currency id by what is paid; nothing serves the one that only has a name. */
  readonly currencies: { readonly coin: string } & Readonly<
    Partial<Record<Exclude<Asset, "lookAlike">, string>>
  >;
  readonly shapes: readonly Shape[];
  readonly asked: Readonly<Partial<Record<Shape["asked"], Range>>>;
  readonly decimals: Readonly<Record<string, number>>; // by currency
  /** By currency: so much bears the fee of a sweep for certain, once its request has ended. */
  readonly sweptFrom: Readonly<Record<string, bigint>>;
  /** Hands a transaction to the chain. */
  send(transaction: Transaction): Promise<void>;
  /**
   * Another branch takes the place of the newest blocks that are not final; some payments never
   * come again where `loses` says so.
   */
  reorganise(random: Random, loses: boolean): Promise<ReorganisationReport>;
  /** Addresses that a reorganisation took a payment from permanently. */
  readonly robbed: ReadonlySet<string>;
  /** An address that no request has; `beside` is a request's. */
  newAddress(payee: Nobody, beside: string): string;
  /** Resolves when everything sent is final. */
  settled(): Promise<void>;
  /** `payouts`: transactions of the hot wallet that pay an address as anybody would. */
  read(
    addresses: readonly string[],
    hotWalletAddress: string,
    payouts: ReadonlySet<string>,
  ): Promise<FinalChain>;
  /** The wallet's deposit address with this number, as any wallet derives it; null for tags. */
  addressAt(mnemonic: string, index: number): string | null;
  /** One text for a request's payee. */
  payeeOf(address: string, tag: string): string;
  /** The account of another wallet that receives alone, as `merchant create` takes it. */
  receivingAccount(mnemonic: string): string;
  /** As `read` writes an address. */
  nameOf(address: string): string;
}

/** As the interface writes amounts. */
export function decimalText(units: bigint, decimal: number): string {
  const digits = units.toString().padStart(decimal + 1, "0");
  const rest = digits.slice(-decimal).replace(/0+$/, "");
  return `${digits.slice(0, -decimal)}${rest === "" ? "" : `.${rest}`}`;
}
