/**
 * The type of a preset: a chain or a currency by name, as lines that a configuration could hold
 * itself, and the source of each figure. Only types. A family adds its own file.
 */
import type { JsonValue } from "../../base/json.ts";
import type { AddressSpaceName } from "../family.ts";

/** As in `chains` of a configuration, without the nodes, which each merchant chooses. */
export interface ChainLines {
  readonly family: AddressSpaceName;
  readonly chainId: number | string;
  readonly confirmations: number | "finalized";
  readonly explorer: string; // start of an address; the hash of a transaction follows
  readonly [line: string]: JsonValue; // further lines of the family
}

export interface ChainPreset {
  readonly name: string; // for people
  readonly isTest: boolean; // its coins are worth nothing
  /** The word by which customers' wallets and exchanges know its tokens, if there is one. */
  readonly tokens?: string;
  readonly lines: ChainLines;
  readonly blockMs: number; // usual time between two blocks
  readonly finalSeconds: number; // usual time until a block is final by `confirmations`
  /** Cautious fee caps in the native coin, for use without a price. */
  readonly maxFee: string;
  readonly maxFeePerDay: string;
  /** Public servers that allow so many questions an hour, by the host of their address. */
  readonly publicServers?: Readonly<
    Record<string, { readonly questionsPerHour: number; readonly source: string }>
  >;
  /** The sources, by line of `lines`, and those of the other figures. */
  readonly sources: Readonly<Record<string, string>>;
}

/** As in `currencies` of a configuration, without the chain's own name there. */
export interface CurrencyLines {
  readonly name: string;
  readonly symbol: string;
  readonly decimal: number;
  readonly contract?: string; // absent for the native coin
  readonly market: string; // ticker for price questions; "" has no market
  readonly minPaymentAmount: string;
}

export interface CurrencyPreset {
  readonly chain: string; // a chain's preset
  readonly lines: CurrencyLines;
  readonly source: string; // source of contract and decimals
  /** This amount of a token is ten times the cost of its sweep, at times of high fees. */
  readonly sweepLeast?: string;
}
