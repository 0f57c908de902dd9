/**
 * The figures that an operator names for a replacement on an EVM chain, beside attempts of which a
 * recovery told only the hash and the total fee.
 */
import { describe, expect, it } from "vitest";
import { evmFees } from "../../chains/evm/fees.ts";
import type { PricedAttempt, TxParams } from "../../chains/family.ts";

const gwei = 1_000_000_000n;
const named = (fee: bigint, more: Readonly<Record<string, string>> = {}): TxParams => ({
  ...{ gasLimit: "100000", maxFeePerGas: `${fee}`, maxPriorityFeePerGas: `${gwei}`, ...more },
});
/** A recovery told its total: 0.0095 of the coin, so 95 gwei for each of 100,000 gas. */
const told: PricedAttempt = {
  txHash: `0x${"ab".repeat(32)}`,
  txParams: null,
  feeMax: `${95n * gwei * 100_000n}`,
};

function offersOf(
  attempts: readonly PricedAttempt[],
  wish: TxParams,
  isCancel = false,
): readonly TxParams[] {
  const { bidding } = evmFees;
  if (bidding === null) throw new Error("this family bids");
  const answer = bidding.manualReplacement(attempts, isCancel, wish);
  if (!answer.ok) throw new Error(answer.code);
  return answer.txParams;
}

describe("an operator's figures beside an attempt of which only the total is known", () => {
  it.each([
    ["below the total", 60n * gwei, 60n * gwei],
    ["equal to the total, one wei more, since the bytes must differ", 95n * gwei, 95n * gwei + 1n],
    ["above the total", 100n * gwei, 100n * gwei],
  ])("figures %s", (_, fee, expected) => {
    for (const isCancel of [false, true])
      for (const offer of offersOf([told], named(fee), isCancel))
        expect(offer).toEqual(named(expected));
  });

  it("a chain that bills data hides the total's parts, so the figures rise above it", () => {
    const [offer] = offersOf([told], named(60n * gwei, { dataFee: "1" }));
    expect(BigInt(offer?.maxFeePerGas ?? 0)).toBeGreaterThan(95n * gwei);
  });

  it("the courier's replacement stays above the total", () => {
    const { maxFeePerGas = "0" } =
      evmFees.bidding?.replacement([told], named(60n * gwei), false) ?? {};
    expect(BigInt(maxFeePerGas) * 8n).toBeGreaterThanOrEqual(95n * gwei * 9n);
  });

  it("figures below an attempt whose parts are known are refused", () => {
    const known: PricedAttempt = { ...told, txParams: named(95n * gwei) };
    expect(() => offersOf([known], named(60n * gwei))).toThrow("REPLACEMENT_FEES");
    const higher = named(110n * gwei, { maxPriorityFeePerGas: `${2n * gwei}` });
    expect(offersOf([known], higher)).toContainEqual(higher);
  });
});
