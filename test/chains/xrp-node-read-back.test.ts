/**
 * The reading of signed bytes back by the courier's second reader: each field that differs, and
 * bytes that no writer of ours makes, with the same bytes read alike beside them.
 */
import crypto from "node:crypto";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { expect, describe as group, it, onTestFinished, vi } from "vitest";
import type { Payment } from "../../chains/family.ts";
import type { ExpectedAttempt } from "../../chains/nodes.ts";
import { independentReadingOf } from "../../chains/read-back.ts";
import { owner, paymentOf, sign } from "./xrp-wallet.ts";

const readBack = independentReadingOf("xrpl:0");
const codec = createRequire(import.meta.url)("ripple-binary-codec") as {
  decode(hex: string): Record<string, unknown>;
  encode(fields: Record<string, unknown>): string;
};
const from = owner("a payer");
const txParams = { feeDrops: "12", lastLedger: "95000020" };
const tagged = paymentOf(from, { tag: "0" });

function said(
  payment: Payment,
  change: Partial<ExpectedAttempt> = {},
  isCancel = false,
): { raw: string; expected: ExpectedAttempt } {
  const { raw, txHash } = sign(from, payment, txParams, isCancel);
  return { raw, expected: { payment, txParams, txHash, isCancel, ...change } };
}

/** The same fields with some in another place, with or without a signature that fits. */
function rewritten(raw: string, change: Record<string, unknown>): string {
  return codec.encode({ ...codec.decode(raw.slice(2)), ...change });
}

group("the reading of signed bytes back", () => {
  it.each<[string, Payment, boolean]>([
    ["a payment without a tag", paymentOf(from), false],
    ["a payment with the tag 0", tagged, false],
    [
      "a payment with the highest tag, of the most drops",
      paymentOf(from, { tag: "4294967295", amountUnits: 10n ** 17n }),
      false,
    ],
    ["a cancel", paymentOf(from), true],
  ])("agrees with %s", async (_, payment, isCancel) => {
    const { raw, expected } = said(payment, {}, isCancel);
    expect(await readBack(raw, expected)).toBe("");
    expect(await readBack(raw.slice(2).toUpperCase(), expected)).toBe("");
  });

  it.each<[string, Partial<Payment>, RegExp]>([
    ["account", { account: owner("another").address }, /^account reads as/],
    ["slot", { slot: "8" }, /^sequence reads as 7, not 8/],
    ["destination", { destination: owner("another").address }, /^receiver reads as/],
    ["tag", { tag: "1" }, /^tag reads as 0, not 1/],
    ["missing tag", { tag: "" }, /^tag reads as 0, not none/],
    ["amount", { amountUnits: 5_000_001n }, /^amount reads as 5000000, not 5000001/],
    ["token", { contract: "USD" }, /^token reads as none, not USD/],
  ])("the reading of signed bytes back names another %s", async (_, change, words) => {
    const { raw, expected } = said(tagged);
    expect(await readBack(raw, { ...expected, payment: { ...tagged, ...change } })).toMatch(words);
    expect(await readBack(raw, expected)).toBe("");
  });

  it("the reading of signed bytes back names another fee, last ledger, id and kind", async () => {
    const { raw, expected } = said(tagged);
    const read = (change: Partial<ExpectedAttempt>) => readBack(raw, { ...expected, ...change });
    expect(await read({ txParams: { ...txParams, feeDrops: "13" } })).toBe(
      "fee reads as 12, not 13",
    );
    expect(await read({ txParams: { ...txParams, lastLedger: "95000021" } })).toMatch(
      /^last ledger reads as 95000020/,
    );
    expect(await read({ txParams: null })).toMatch(/^fee reads as 12/);
    expect(await read({ txHash: "0".repeat(64) })).toMatch(/^id reads as/);
    expect(await read({ isCancel: true })).toBe("type reads as 0, not 3");
    expect(await read({})).toBe("");
    const cancel = said(tagged, { isCancel: false }, true);
    expect(await readBack(cancel.raw, cancel.expected)).toBe("type reads as 3, not 0");
  });

  it("the reading of signed bytes back names a signature that does not fit the bytes, of another key, or with s in the upper half", async () => {
    const { raw, expected } = said(tagged);
    expect(await readBack(rewritten(raw, {}), expected)).toBe("");
    expect(await readBack(rewritten(raw, { Flags: 0 }), expected)).toMatch(/^flags reads as 0/);
    const other = said(paymentOf(from, { slot: "8", tag: "0" }));
    const { TxnSignature } = codec.decode(other.raw.slice(2));
    expect(await readBack(rewritten(raw, { TxnSignature }), expected)).toMatch(
      /^key of the signature reads as/,
    );
    const { SigningPubKey } = codec.decode(
      sign(owner("another"), paymentOf(owner("another")), txParams).raw.slice(2),
    ) as Record<string, string>;
    expect(await readBack(rewritten(raw, { SigningPubKey }), expected)).toMatch(
      /^owner of the key reads as/,
    );
    const signature = Buffer.from(codec.decode(raw.slice(2)).TxnSignature as string, "hex");
    expect(await readBack(rewritten(raw, { TxnSignature: mirrored(signature) }), expected)).toBe(
      `key of the signature reads as none, not ${codec.decode(raw.slice(2)).SigningPubKey}`.replace(
        /[0-9A-F]{66}$/,
        (key) => key.toLowerCase(),
      ),
    );
  });

  it("the reading of signed bytes back reads the key of an account once, and checks each signature", async () => {
    const spies = [vi.spyOn(crypto, "createPublicKey"), vi.spyOn(crypto, "verify")];
    syncBuiltinESMExports();
    onTestFinished(() => {
      for (const spy of spies) spy.mockRestore();
      syncBuiltinESMExports();
    });
    for (const payer of [owner("one of two payers"), owner("the other of two")]) {
      for (const spy of spies) spy.mockClear();
      for (const slot of ["7", "8", "9", "10"]) {
        const payment = paymentOf(payer, { slot });
        const { raw, txHash } = sign(payer, payment, txParams);
        expect(await readBack(raw, { payment, txParams, txHash, isCancel: false })).toBe("");
      }
      expect(spies.map(({ mock }) => mock.calls.length)).toEqual([1, 4]);
    }
  });

  it("the reading of signed bytes back throws for fields that no payment has, for tokens, for another order, and for bytes that are cut", async () => {
    const { raw, expected } = said(tagged);
    const usd = { currency: "USD", issuer: from.address, value: "1" };
    for (const change of [
      { NetworkID: 1 },
      { SourceTag: 1 },
      { TicketSequence: 1 },
      { Amount: usd },
      { SendMax: "9" },
      { Paths: [] },
    ])
      await expect(readBack(rewritten(raw, change), expected)).rejects.toThrow();
    await expect(readBack(raw.slice(0, -2), expected)).rejects.toThrow();
    await expect(readBack(`0x${raw.slice(8)}${raw.slice(2, 8)}`, expected)).rejects.toThrow(
      "order",
    );
    await expect(readBack(`${raw}${raw.slice(-4)}`, expected)).rejects.toThrow();
    expect(await readBack(raw, expected)).toBe("");
  });
});

/** The other signature of the same key: s below the order instead of above, in DER. */
function mirrored(der: Buffer): string {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const rLength = der[3] as number;
  const s = BigInt(`0x${der.subarray(6 + rLength).toString("hex")}`);
  const digits = (order - s).toString(16).padStart(64, "0");
  const integer = Buffer.from(/^[89a-f]/.test(digits) ? `00${digits}` : digits, "hex");
  const body = Buffer.concat([
    der.subarray(2, 4 + rLength),
    Uint8Array.of(2, integer.length),
    integer,
  ]);
  return Buffer.concat([Uint8Array.of(0x30, body.length), body])
    .toString("hex")
    .toUpperCase();
}
