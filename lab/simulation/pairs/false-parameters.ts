/** Fees and lives of an attempt that a lying courier names, by family. */
import { kernel } from "../kernel/kernel.ts";
import { stage } from "../world/setting.ts";

type TxParams = Readonly<Record<string, string>>;

const minuteMs = 60_000;
const lifetimeMs = 5 * minuteMs;
/** Prices of 100,000 gas: under the ceiling of one attempt, at it, and above it by little. */
const pricesWei = [
  "12000000000",
  "60000000000",
  "95000000000",
  "100000000000",
  "105000000000",
] as const;

/** As an honest courier would, at this time. */
export function fairTxParams(nowMs: number, token: string): TxParams {
  if (stage.family === "evm")
    return { gasLimit: "100000", maxFeePerGas: "60000000000", maxPriorityFeePerGas: "1000000000" };
  return {
    ...offered(nowMs, lifetimeMs),
    ...(token === "" ? { feeLimitSun: "0", energy: "0" } : {}),
  };
}

/** Dear, short, long, of tomorrow, or no figures at all. */
export function falseTxParams(nowMs: number): TxParams {
  const { random } = kernel;
  if (stage.family === "evm")
    return {
      gasLimit: random.pick("false gas", ["100000", "100000", "100000", "30000", "07"]),
      maxFeePerGas: random.pick("false price", pricesWei),
      maxPriorityFeePerGas: random.pick("false tip", [
        "1000000000",
        "1000000000",
        "49000000000",
        "60000000000",
      ]),
    };
  const timestamp =
    nowMs +
    random.pick("false stamp", [
      0,
      0,
      -lifetimeMs,
      5 * minuteMs,
      60 * minuteMs,
      20 * 60 * minuteMs,
    ]);
  const life = random.pick("false life", [
    lifetimeMs,
    2 * lifetimeMs,
    2 * lifetimeMs,
    1,
    24 * 60 * minuteMs,
  ]);
  const limit = random.pick("false limit", ["16285625", "59000000", "61000000", "15000000000"]);
  return { ...offered(timestamp, life), feeLimitSun: limit };
}

function offered(stampMs: number, life: number): TxParams {
  return {
    ...{
      refBlockBytes: "7",
      refBlockHash: "12885632475867",
      timestampMs: `${stampMs}`,
      expirationMs: `${stampMs + life}`,
    },
    ...{ feeLimitSun: "16285625", energy: "130285", byteSun: "1000", activationSun: "0" },
  };
}
