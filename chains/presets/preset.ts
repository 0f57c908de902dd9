/**
 * The shape of a preset: a chain or a currency by name, as lines that a configuration could hold
 * itself, and beside each figure where it comes from. Types alone. A family adds its own file.
 */
import type { JsonValue } from "../../protocol/json.ts";
import type { FamilyName } from "../family.ts";

/** As in `chains` of a configuration, without the nodes: those are each person's own. */
export interface ChainLines {
  readonly family: FamilyName;
  readonly chainId: number | string;
  readonly confirmations: number | "finalized";
  readonly explorer: string; // an address that ends where a transaction's hash begins
  readonly [line: string]: JsonValue; // further lines of the family
}

/** @public */
export interface ChainPreset {
  readonly name: string; // for people
  readonly isTest: boolean; // its coins are worth nothing
  readonly lines: ChainLines;
  readonly blockMs: number; // usual time between two blocks
  readonly finalSeconds: number; // usual time until a block is final by `confirmations`
  /** Cautious ceilings of fees in the chain's coin, where its price is not known. */
  readonly maxFee: string;
  readonly maxFeePerDay: string;
  /** By line of `lines`, and of the other figures. */
  readonly sources: Readonly<Record<string, string>>;
}

/** As in `currencies` of a configuration, without the chain's own name there. */
export interface CurrencyLines {
  readonly name: string;
  readonly symbol: string;
  readonly decimal: number;
  readonly contract?: string; // absent for the chain's coin
  readonly market: string; // ticker where prices are asked; "" has no market
  readonly minPaymentAmount: string;
}

/** @public */
export interface CurrencyPreset {
  readonly chain: string; // a chain's preset
  readonly lines: CurrencyLines;
  readonly source: string; // of contract and decimals
  /** So much of a token bears ten times what its sweep costs, where fees are high. */
  readonly sweepLeast?: string;
}
