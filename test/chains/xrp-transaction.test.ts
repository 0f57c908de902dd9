/**
 * Payments and cancels of XRP as bytes: three independent packages read them, and `describe` takes
 * nothing that `build` does not make.
 */
import { setImmediate as turn } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { signDigest } from "../../agent/signer/vault/curve.ts";
import type { Payment, TxParams } from "../../chains/family.ts";
import { hashOfAddress } from "../../chains/xrp/address.ts";
import {
  decodeFields,
  encodeFields,
  type PaymentFields,
  xrpTransactions,
} from "../../chains/xrp/transactions.ts";
import { codeOf } from "../support/evm-values.ts";
import { places, strideOfRun } from "../support/stride.ts";
import { findJudges } from "./xrp-judges.ts";
import {
  accountAt,
  bytesAt,
  knowSender,
  network,
  payment,
  receiver,
  sender,
  txParams,
} from "./xrp-values.ts";

beforeEach(knowSender);

const judges = await findJudges();
const cancels = xrpTransactions.cancels!;
const upper = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex").toUpperCase();
const place = { network, account: sender.address, slot: "7" };
const told = { ...place, txParams };
/**
 * The first five have the edges of every figure; the quick tier takes them and a tenth of the
 * others.
 */
const edges = [0, 1, 2, 3, 4];
const stride = strideOfRun();
const cases = [...edges, ...[...places(1_000, stride)].filter((at) => at >= edges.length)];

/** An integer of 0 … 2^52-1 that the name and the number decide. */
const pick = (name: string, at: number): number =>
  Number(`0x${Buffer.from(bytesAt(name, at)).toString("hex").slice(0, 13)}`);

function amountAt(at: number): bigint {
  const edges = [1n, 10n ** 17n, 10n ** 17n - 1n, 2n ** 32n, 999_999n];
  return edges[at] ?? ((BigInt(pick("amount", at)) * 22n) >> BigInt(pick("size", at) % 52) || 1n);
}

function tagAt(at: number): string {
  const edges = ["0", "1", "4294967295", "2147483648", ""];
  return edges[at] ?? (at % 3 === 0 ? "" : `${pick("tag", at) % 2 ** 32}`);
}

function paidAt(at: number): {
  readonly made: Payment;
  readonly params: TxParams;
  readonly key: Uint8Array;
} {
  const own = accountAt(100 + (at % 7));
  const slots = ["1", "4294967295"];
  const made = {
    ...{
      network: "xrpl:1",
      account: own.address,
      contract: "",
      slot: slots[at] ?? `${1 + (pick("slot", at) % 2 ** 31)}`,
    },
    ...{
      destination: accountAt(200 + (at % 50)).address,
      tag: tagAt(at),
      amountUnits: amountAt(at),
    },
  };
  const params = {
    feeDrops: `${10 + (pick("fee", at) % 10_000)}`,
    lastLedger: `${1 + (pick("last", at) % (2 ** 32 - 1))}`,
  };
  return { made, params, key: own.key };
}

describe.skipIf(typeof judges === "string")("transactions of XRP, judged by others", () => {
  if (typeof judges === "string") {
    it.skip(judges, () => undefined);
    return;
  }
  const { binary, hashes, keys } = judges;

  /** The signed transaction, after the checks that all of them share. */
  function judged(unsigned: Uint8Array, key: Uint8Array, account: string): Record<string, unknown> {
    const read = binary.decode(upper(unsigned));
    expect(binary.encode(read)).toBe(upper(unsigned));
    const signing = binary.encodeForSigning(read);
    expect(signing).toBe(`53545800${upper(unsigned)}`);
    const [digest] = xrpTransactions.digests(unsigned);
    const { raw, txHash } = xrpTransactions.attach(unsigned, [signDigest(digest!, key)], account);
    const whole = binary.decode(upper(raw)) as Record<string, string>;
    expect(binary.encode(whole)).toBe(upper(raw));
    expect(keys.verify(signing, whole.TxnSignature ?? "", whole.SigningPubKey ?? "")).toBe(true);
    expect(keys.deriveAddress(whole.SigningPubKey ?? "")).toBe(account);
    expect(txHash).toBe(hashes.transactionID(raw).toHex());
    const { TxnSignature: _, ...rest } = whole;
    expect(rest).toEqual(read);
    return whole;
  }

  it("payments are read alike, encoded alike, signed by the account's key and named by the same id", async () => {
    for (const at of cases) {
      await turn(); // The runner's answers wait for the end of what is synchronous.
      const { made, params, key } = paidAt(at);
      const unsigned = xrpTransactions.build(made, params);
      const { TxnSignature: _, SigningPubKey: __, ...whole } = judged(unsigned, key, made.account);
      expect(whole, `case ${at}`).toEqual({
        ...{
          TransactionType: "Payment",
          Flags: 0x80000000,
          Account: made.account,
          Destination: made.destination,
        },
        ...{
          Sequence: Number(made.slot),
          LastLedgerSequence: Number(params.lastLedger),
          Fee: params.feeDrops,
        },
        ...{
          Amount: `${made.amountUnits}`,
          ...(made.tag === "" ? {} : { DestinationTag: Number(made.tag) }),
        },
      });
      const read = xrpTransactions.describe(unsigned, { ...made, txParams: params });
      expect(read).toEqual({
        ok: true,
        description: { ...made, txParams: params, feeMaxUnits: BigInt(params.feeDrops ?? 0) },
      });
    }
  });

  it("cancels are an AccountSet that sets nothing", async () => {
    for (const at of cases) {
      await turn();
      const { made, params, key } = paidAt(at);
      const unsigned = cancels.build(made, params);
      const { TxnSignature: _, SigningPubKey: __, ...whole } = judged(unsigned, key, made.account);
      expect(whole, `case ${at}`).toEqual({
        ...{
          TransactionType: "AccountSet",
          Flags: 0x80000000,
          Account: made.account,
          Fee: params.feeDrops,
        },
        ...{ Sequence: Number(made.slot), LastLedgerSequence: Number(params.lastLedger) },
      });
      expect(cancels.describe(unsigned, { ...made, txParams: params })).toMatchObject({
        ok: true,
        description: {
          account: made.account,
          destination: made.account,
          amountUnits: 0n,
          tag: "",
          contract: "",
        },
      });
    }
  });

  /** Bytes that the judge makes from the fields of a plain payment, with changes. */
  const others = (change: Readonly<Record<string, unknown>>): Uint8Array => {
    const plain = binary.decode(upper(xrpTransactions.build(payment, txParams)));
    const changed = Object.fromEntries(
      Object.entries({ ...plain, ...change }).filter(([, value]) => value !== undefined),
    );
    return Uint8Array.from(Buffer.from(binary.encode(changed), "hex"));
  };
  const issued = { currency: "USD", issuer: receiver.address, value: "1" };

  it("the judge's own bytes of a plain payment are ours, and pass", () => {
    expect(upper(others({}))).toBe(upper(xrpTransactions.build(payment, txParams)));
    expect(xrpTransactions.describe(others({}), told)).toMatchObject({ ok: true });
    expect(xrpTransactions.describe(others({ DestinationTag: 5 }), told)).toMatchObject({
      ok: true,
      description: { tag: "5" },
    });
  });

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ["a partial payment", { Flags: 0x80000000 + 0x00020000 }],
    ["no flag", { Flags: 0 }],
    ["no flags at all", { Flags: undefined }],
    ["no last ledger", { LastLedgerSequence: undefined }],
    ["an amount that is an issued token", { Amount: issued }],
    ["a most that it may send", { SendMax: issued }],
    ["a least that it delivers", { DeliverMin: "1" }],
    ["another tag of the sender", { SourceTag: 5 }],
    ["a network's number", { NetworkID: 1025 }],
    ["a memo", { Memos: [{ Memo: { MemoData: "00" } }] }],
    ["a ticket", { Sequence: 0, TicketSequence: 7 }],
    ["an invoice", { InvoiceID: "00".repeat(32) }],
    ["a signature", { TxnSignature: "30" }],
    ["an empty key, as for several signers", { SigningPubKey: "" }],
    [
      "another type",
      {
        TransactionType: "OfferCancel",
        Destination: undefined,
        Amount: undefined,
        OfferSequence: 1,
      },
    ],
  ])("describe refuses %s", (_, change) => {
    expect(xrpTransactions.describe(others(change), told)).toMatchObject({
      ok: false,
      code: "TRANSACTION_TYPE",
    });
    expect(cancels.describe(others(change), told)).toMatchObject({
      ok: false,
      code: "TRANSACTION_TYPE",
    });
  });

  it("a cancel that sets anything is none", () => {
    const plain = binary.decode(upper(cancels.build(place, txParams)));
    const bytesOf = (change: object): Uint8Array =>
      Uint8Array.from(Buffer.from(binary.encode({ ...plain, ...change }), "hex"));
    expect(cancels.describe(bytesOf({}), told)).toMatchObject({ ok: true });
    for (const change of [
      { SetFlag: 4 },
      { ClearFlag: 1 },
      { Domain: "AA" },
      { TransferRate: 0 },
      { MessageKey: "" },
    ])
      expect(cancels.describe(bytesOf(change), told)).toMatchObject({
        ok: false,
        code: "TRANSACTION_TYPE",
      });
  });
});

describe("unsigned bytes of XRP", () => {
  const plain = xrpTransactions.build(payment, txParams);
  const tagged = xrpTransactions.build({ ...payment, tag: "4294967295" }, txParams);
  const cancel = cancels.build(place, txParams);
  const refused = (bytes: Uint8Array): void => {
    for (const { describe: read } of [xrpTransactions, cancels])
      expect(read(bytes, told), upper(bytes)).toMatchObject({
        ok: false,
        code: "TRANSACTION_TYPE",
      });
  };
  /** Whether both readers refuse it. */
  const isRefused = (bytes: Uint8Array): boolean =>
    [xrpTransactions, cancels].every(({ describe: read }) => {
      const answer = read(bytes, told);
      return !answer.ok && answer.code === "TRANSACTION_TYPE";
    });

  it("each is read by its own reader alone", () => {
    expect([plain, tagged].map((bytes) => xrpTransactions.describe(bytes, told).ok)).toEqual([
      true,
      true,
    ]);
    expect(cancels.describe(cancel, told).ok).toBe(true);
    expect([plain, tagged].map((bytes) => cancels.describe(bytes, told).ok)).toEqual([
      false,
      false,
    ]);
    expect(xrpTransactions.describe(cancel, told)).toMatchObject({
      ok: false,
      code: "TRANSACTION_TYPE",
    });
  });

  it("a byte more, a byte less and fields in another order are refused", () => {
    for (const bytes of [plain, tagged, cancel]) {
      for (let end = 0; end < bytes.length; end += 1)
        if (!isRefused(bytes.subarray(0, end))) refused(bytes.subarray(0, end));
      refused(Uint8Array.of(...bytes, 0));
      refused(Uint8Array.of(0, ...bytes));
      // Flags and Sequence, five bytes each, change places.
      refused(
        Uint8Array.of(
          ...bytes.subarray(0, 3),
          ...bytes.subarray(8, 13),
          ...bytes.subarray(3, 8),
          ...bytes.subarray(13),
        ),
      );
    }
  });

  it("a flipped bit is refused, or says something else that the same bytes come from", () => {
    for (const bytes of [plain, tagged, cancel]) {
      for (const bit of places(bytes.length * 8, stride)) {
        const flipped = Uint8Array.from(bytes);
        flipped[bit >> 3]! ^= 1 << (bit & 7);
        const fields = decodeFields(flipped);
        if (fields === null) continue;
        expect(upper(encodeFields(fields)), `SEED=${stride.seed}`).toBe(upper(flipped));
        expect(fields).not.toEqual(decodeFields(bytes));
      }
    }
  });

  const fields = decodeFields(plain) as PaymentFields;
  const changed = (change: Partial<PaymentFields>): ReturnType<typeof xrpTransactions.describe> =>
    xrpTransactions.describe(encodeFields({ ...fields, ...change }), told);
  const paying = (change: Partial<NonNullable<PaymentFields["paid"]>>): Partial<PaymentFields> => ({
    paid: { ...fields.paid!, ...change },
  });

  it("a key that is not the account's is refused, and so is another account with the same key", () => {
    expect(changed({ signingKey: receiver.publicKey })).toMatchObject({
      ok: false,
      code: "TRANSACTION_SENDER",
    });
    expect(changed({ account: hashOfAddress(accountAt(2).address) })).toMatchObject({
      ok: false,
      code: "TRANSACTION_SENDER",
    });
    expect(changed({ signingKey: sender.publicKey })).toMatchObject({ ok: true });
  });

  it("figures at their bounds pass, and beyond them are refused", () => {
    const most = 10n ** 17n;
    for (const change of [
      ...[
        { sequence: 1n },
        { sequence: 2n ** 32n - 1n },
        { lastLedger: 1n },
        { feeDrops: 1n },
        { feeDrops: most },
      ],
      ...[paying({ drops: 1n }), paying({ drops: most }), paying({ tag: 0n })],
    ])
      expect(changed(change)).toMatchObject({ ok: true });
    for (const change of [
      ...[{ sequence: 0n }, { lastLedger: 0n }, { feeDrops: 0n }, { feeDrops: most + 1n }],
      ...[paying({ drops: 0n }), paying({ drops: most + 1n })],
      paying({ destination: fields.account }),
    ])
      expect(changed(change)).toMatchObject({ ok: false, code: "TRANSACTION_FIELD" });
    expect(changed(paying({ destination: new Uint8Array(20) }))).toMatchObject({
      ok: false,
      code: "ADDRESS_ZERO",
    });
    const elsewhere = { ...told, network: "xrpl:1025" };
    expect(xrpTransactions.describe(plain, elsewhere)).toMatchObject({
      ok: false,
      code: "TRANSACTION_FIELD",
    });
    expect(xrpTransactions.describe(plain, { ...told, network: "xrpl:1024" })).toMatchObject({
      ok: true,
    });
  });

  it("build throws the same codes", () => {
    const code = (change: Partial<Payment>, figures: TxParams = txParams): string =>
      codeOf(() => xrpTransactions.build({ ...payment, ...change }, figures));
    expect(xrpTransactions.build({ ...payment, tag: "0" }, txParams)).toHaveLength(
      plain.length + 5,
    );
    expect(code({ contract: receiver.address })).toBe("TRANSACTION_FIELD");
    for (const tag of ["00", "4294967296", "-1", " 1", "x"])
      expect(code({ tag }), tag).toBe("TRANSACTION_FIELD");
    expect(code({ amountUnits: 0n })).toBe("TRANSACTION_FIELD");
    expect(code({ amountUnits: 2n ** 62n })).toBe("TRANSACTION_FIELD");
    expect(code({ slot: "0" })).toBe("TRANSACTION_FIELD");
    expect(code({ slot: "4294967296" })).toBe("TRANSACTION_FIELD");
    expect(code({ destination: sender.address })).toBe("TRANSACTION_FIELD");
    expect(code({ destination: sender.address.slice(0, -1) })).toBe("ADDRESS_CHECKSUM");
    expect(code({ network: "eip155:1" })).toBe("TRANSACTION_FIELD");
    expect(code({}, { feeDrops: "12", lastLedger: "4294967296" })).toBe("TRANSACTION_FIELD");
    expect(code({}, { feeDrops: "12" })).toBe("JSON_SHAPE");
    // Its key was never seen here.
    expect(code({ account: "rHsMGQEkVNJmpGWs8XUBoTBiAAbwxZN5v3" })).toBe("TRANSACTION_SENDER");
    expect(code({ account: accountAt(3).address })).toBe("");
  });

  it("a signature of another key, of another digest or in another form is refused", () => {
    const [digest] = xrpTransactions.digests(plain);
    const signature = signDigest(digest!, sender.key);
    const code = (signatures: readonly Uint8Array[], account = sender.address): string =>
      codeOf(() => xrpTransactions.attach(plain, signatures, account));
    expect(code([signature])).toBe("");
    const other = Uint8Array.from(signature);
    other[64]! ^= 1;
    expect(code([other])).toBe("TRANSACTION_SENDER");
    expect(code([signDigest(digest!, receiver.key)])).toBe("TRANSACTION_SENDER");
    expect(code([signDigest(bytesAt("digest", 1), sender.key)])).toBe("TRANSACTION_SENDER");
    expect(code([signature], receiver.address)).toBe("TRANSACTION_SENDER");
    for (const signatures of [
      [],
      [signature, signature],
      [signature.subarray(0, 64)],
      [Uint8Array.of(...signature, 0)],
    ])
      expect(code(signatures)).toBe("TRANSACTION_SIGNATURE");
    const high = Uint8Array.from(signature);
    high[32] = 0xff;
    expect(code([high])).toBe("TRANSACTION_SIGNATURE");
    expect(
      codeOf(() => xrpTransactions.attach(plain.subarray(1), [signature], sender.address)),
    ).toBe("TRANSACTION_TYPE");
  });
});
