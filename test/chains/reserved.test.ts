/**
 * Addresses that a chain itself uses: no family pays them, and every other low or odd address is
 * paid. Each kind of contract that the protocols define stands here.
 */
import { describe, expect, it } from "vitest";
import { evm } from "../../chains/evm/family.ts";
import { createComputeLimitReader } from "../../chains/evm/node-sender.ts";
import { addressOfHash } from "../../chains/tron/address.ts";
import { tron } from "../../chains/tron/family.ts";

const last = (digits: string): string => digits.padStart(40, "0");
const reserved: readonly (readonly [string, string])[] = [
  ["ecrecover", last("1")],
  ["the last precompile of Ethereum so far", last("11")],
  ["P-256 of rollups (RIP-7212)", last("100")],
  ["a system contract of BNB Smart Chain", last("1000")],
  ["the system contract of Arbitrum for its fees", last("6c")],
  ["a precompile of Tron for shielded transfers", last("1000001")],
];
const payable: readonly (readonly [string, string])[] = [
  ["an address whose first 15 bytes are zero", `${"0".repeat(30)}01${"0".repeat(8)}`],
  ["an address that ends with zeros", `01${"0".repeat(38)}`],
  ["a usual address", "70997970c51812dc3a010c7d01b50e0d17dc79c8"],
];

describe("an address of the chain itself", () => {
  it.each(reserved)("is reserved in every family: %s", (_, digits) => {
    expect(evm.isReserved(`0x${digits}`)).toBe(true);
    expect(tron.isReserved(addressOfHash(Buffer.from(digits, "hex")))).toBe(true);
  });

  it.each(payable)("is not %s", (_, digits) => {
    expect(evm.isReserved(`0x${digits}`)).toBe(false);
    expect(tron.isReserved(addressOfHash(Buffer.from(digits, "hex")))).toBe(false);
  });

  it("a payment to it is never taken for a plain one: the nodes are asked, and may say that it fails", async () => {
    const nodes = {
      feeModel: "ethereum",
      hasCode: async () => false,
      estimateGas: async () => ({ ok: false, wouldRevert: true, detail: "execution reverted" }),
    } as unknown as Parameters<typeof createComputeLimitReader>[0];
    const limit = createComputeLimitReader(nodes, () => 0);
    const payment = (destination: string) => ({
      account: "",
      contract: "",
      destination,
      tag: "",
      amountUnits: 1n,
    });
    const of = (digits: string) => limit(`0x${last("a1")}`, payment(`0x${digits}`));
    expect(await of(last("9"))).toMatchObject({ ok: false });
    expect(await of("70997970c51812dc3a010c7d01b50e0d17dc79c8")).toEqual({
      ok: true,
      computeLimit: 21_000n,
    });
  });
});
