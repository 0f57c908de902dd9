/** The made-up family's chain and its coin by name. */
import type { ChainLines, ChainPreset, CurrencyPreset } from "../../../chains/presets/preset.ts";

/** A preset whose family is named as it is outside the table of families. */
type Named<Name extends string> = Omit<ChainPreset, "lines"> & {
  readonly lines: Pick<ChainLines, "chainId" | "confirmations" | "explorer"> & {
    readonly family: Name;
  };
};

const chain: Named<"madeup"> = {
  name: "Made up",
  isTest: true,
  lines: { family: "madeup", chainId: 1, confirmations: 1, explorer: "https://madeup.example/" },
  blockMs: 1_000,
  finalSeconds: 1,
  maxFee: "10",
  maxFeePerDay: "1000",
  sources: {},
};

export const madeupChains = { madeup: chain };

const lines: CurrencyPreset["lines"] = {
  name: "Word",
  symbol: "WORD",
  decimal: 0,
  market: "",
  minPaymentAmount: "1",
};

export const madeupCurrencies: Readonly<Record<string, CurrencyPreset>> = {
  word: { chain: "madeup", lines, source: "made up" },
};
