/**
 * Metadata that a shop keeps with an order is small, returned and never read. Two orders that
 * differ only in their metadata are the same order.
 */
import { describe, expect, it } from "vitest";
import {
  auto,
  countOf,
  deposit,
  eachTestItsGateway,
  manual,
  read,
  ready,
} from "../support/shop.ts";

eachTestItsGateway();

const metadata = { customer: "C-1042", "note.tr": 'çek "öde"', empty: "" };

describe("metadata", () => {
  it("comes back in the record of each operation, alone and in the list, and is {} without any", async () => {
    await ready();
    const made = [
      [(await auto({ orderId: "a", metadata })).body, 2],
      [(await manual({ orderId: "b", metadata })).body, 2],
      [(await deposit({ orderId: "c", metadata })).body, 1],
    ] as const;
    for (const [{ transactionId }, type] of made) {
      expect(
        (await read(`/transaction/${transactionId}?transactionType=${type}`)).body.metadata,
      ).toEqual(metadata);
    }
    await auto({ orderId: "d" });
    await auto({ orderId: "e", metadata: {} });
    const { body } = await read("/transactions");
    expect(
      Object.fromEntries(
        body.map((record: Record<string, unknown>) => [record.orderId, record.metadata]),
      ),
    ).toEqual({
      ...{ a: metadata, b: metadata, c: metadata },
      ...{ d: {}, e: {} },
    });
  });

  it("makes no other order of the same one: the first stays", async () => {
    await ready();
    const first = await auto({ metadata });
    expect((await auto({ metadata: { customer: "other" } })).body).toEqual(first.body);
    expect((await auto()).body).toEqual(first.body);
    const { transactionId } = first.body;
    expect((await read(`/transaction/${transactionId}?transactionType=2`)).body.metadata).toEqual(
      metadata,
    );
    expect(["deposits", "transfers"].map(countOf)).toEqual([0, 1]);
  });

  it("and each other field that may be left out is left out by null, metadata by an empty list too", async () => {
    await ready();
    const nothing = { tag: null, metadata: null, renew: null };
    const terms = {
      returnUrl: null,
      expiresInMinutes: null,
      tolerancePercent: null,
      fiatCurrency: null,
      fiatAmount: null,
    };
    const rows = [
      [
        "auto",
        (fields: object) => auto({ orderId: "auto", ...fields }),
        { ...nothing, refundOf: null },
      ],
      [
        "manual",
        (fields: object) => manual({ orderId: "manual", ...fields }),
        { ...nothing, address: null },
      ],
      [
        "deposit",
        (fields: object) => deposit({ orderId: "deposit", ...fields }),
        { ...nothing, ...terms, address: null, refundOf: null },
      ],
    ] as const;
    for (const [name, order, empty] of rows) {
      const { status, body } = await order(empty);
      expect([name, status]).toEqual([name, 200]);
      expect((await order({ metadata: [] })).body, name).toEqual(body);
      expect((await order({})).body, name).toEqual(body);
      expect((await order({ orderId: `${name} null`, unknown: null })).body.code, name).toBe(
        "field_unknown",
      );
      expect((await order({ orderId: null })).body.code, name).toBe("order_id_invalid");
    }
    expect(["deposits", "transfers"].map(countOf)).toEqual([1, rows.length - 1]);
  });

  it("is refused when it is large or no object of texts, and taken at its limits", async () => {
    await ready();
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]));
    const long = (characters: number) => ({ k: "v".repeat(characters) });
    const whole = (bytes: number) => {
      const values = Object.fromEntries(
        Array.from({ length: 8 }, (_, index) => [`k${index}`, "v".repeat(240)]),
      );
      const left = bytes - JSON.stringify({ ...values, rest: "" }).length;
      return { ...values, rest: "v".repeat(left) };
    };
    for (const good of [many(16), long(256), whole(2048), { ["k".repeat(40)]: "" }]) {
      expect((await deposit({ orderId: `${countOf("deposits")}`, metadata: good })).status).toBe(
        200,
      );
    }
    const made = countOf("deposits");
    const bad = [
      many(17),
      long(257),
      whole(2049),
      { ["k".repeat(41)]: "" },
      { "": "" },
      { "a b": "" },
      { a: 1 },
      { a: null },
    ];
    for (const wrong of [...bad, { a: {} }, [1], "x", 1]) {
      const { status, body } = await deposit({ orderId: "wrong", metadata: wrong });
      expect([status, body.code, body.field], JSON.stringify(wrong)).toEqual([
        400,
        "metadata_invalid",
        "metadata",
      ]);
    }
    expect(countOf("deposits")).toBe(made);
  });
});
