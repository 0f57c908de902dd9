/** The least gas of a transfer, reckoned from its bytes; vectors from EIP-2028 and EIP-7623. */
import { describe, expect, it } from "vitest";
import { encodeTransferCall } from "../../chains/evm/erc20.ts";
import { gasFloorOf, intrinsicGas } from "../../chains/evm/gas.ts";

const destination = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const contract = "0xdAC17F958D2ee523a2206206994597C13D831ec7";

describe("intrinsic gas", () => {
  it("is 21,000 and the more expensive of EIP-2028's price and EIP-7623's floor", () => {
    expect(intrinsicGas(new Uint8Array(0))).toBe(21_000n);
    // Ten tokens a byte that is not zero, four times ten; the price alone would be 16 each.
    expect(intrinsicGas(Uint8Array.of(0, 0, 1))).toBe(21_000n + 2n * 10n + 40n);
    const call = encodeTransferCall(destination, 1_500_000n);
    const zeros = BigInt(call.filter((byte) => byte === 0).length);
    expect(intrinsicGas(call)).toBe(21_000n + 10n * (zeros + 4n * (68n - zeros)));
  });

  it("has a floor for each kind of transfer", () => {
    expect(gasFloorOf({ contract: "", destination, amountUnits: 1n })).toBe(21_000n);
    expect(gasFloorOf({ contract, destination, amountUnits: 1n })).toBe(45_000n);
    expect(gasFloorOf({ contract, destination, amountUnits: 2n ** 256n - 1n })).toBe(45_000n);
  });
});
