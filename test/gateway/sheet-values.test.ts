/**
 * Numbers and dates of the table for people: a column's sum is the money's sum, each digit stands
 * beside it, and the column alone says which cell is a number.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  csvTableForPeople,
  csvWriterOf,
  type PeopleSettings,
} from "../../gateway/answer/csv-cell.ts";
import {
  recordColumns,
  recordColumnsOf,
  recordRowOf,
} from "../../gateway/answer/record-columns.ts";
import { isTimeZone, roundDecimal, sheetTimeWriter } from "../../gateway/answer/sheet-values.ts";
import { formatAmount } from "../../protocol/amount.ts";

const tableOf = (settings: PeopleSettings = {}) => {
  const table = csvTableForPeople(settings);
  if (table === null) throw new Error("a setting that does not exist");
  return table;
};

/** Units of a decimal text with 18 places. */
function unitsOf(text: string): bigint {
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(whole + fraction.padEnd(18, "0"));
}

const amounts = fc
  .tuple(fc.bigInt(0n, 10n ** 27n), fc.integer({ min: 0, max: 18 }))
  .map(([units, decimal]) => formatAmount(units, decimal));

describe("an amount as a number", () => {
  it.each([
    ["0", "0"],
    ["1.5", "1.5"],
    ["0.000000004", "0"],
    ["0.000000005", "0.00000001"],
    ["0.123456785", "0.12345679"],
    ["0.1234567849999", "0.12345678"],
    ["9.999999999", "10"],
    ["-0.000000004", "0"],
    ["-1.000000005", "-1.00000001"],
    ["12345678901.12345678", "12345678901.12345678"],
    ["100000000000000000000.5", "100000000000000000000.5"],
  ])("%s is %s", (text, number) => {
    expect(roundDecimal(text, 8)).toBe(number);
  });

  it.each(["", "1e5", "1,5", "01", ".5", "5.", "+1", "--1", "1 ", "=1", "0x1", "١", "Infinity"])(
    "%j is none",
    (text) => {
      expect(roundDecimal(text, 8)).toBeNull();
    },
  );

  it("is at most half of 0.00000001 away, so a column's sum is that of the money", () => {
    void fc.assert(
      fc.property(fc.array(amounts, { maxLength: 50 }), (column) => {
        const rounded = column.map((text) => unitsOf(roundDecimal(text, 8) ?? ""));
        const sum = (units: readonly bigint[]) => units.reduce((total, one) => total + one, 0n);
        const apart = sum(rounded) - sum(column.map(unitsOf));
        const most = BigInt(column.length) * 5n * 10n ** 9n;
        expect(apart <= most && -apart <= most).toBe(true);
      }),
    );
  });

  it("has its digits in the column after it, with the reader's mark in the number alone", () => {
    const columns = { amount: "amount", total: "sum", price: "price", at: "time" } as const;
    const row = {
      amount: "1234.000000015",
      total: "-0.000000015",
      price: "0.000000000123",
      at: "2026-11-29T07:52:11.999Z",
    };
    const text = (settings: PeopleSettings): string => {
      const { head, line } = csvWriterOf(tableOf(settings), columns);
      return `${head}${line(row)}`;
    };
    expect(text({ timezone: "Europe/Istanbul" })).toBe(
      '\ufeffamount;amountExact;total;price;at\r\n1234,00000002;"=""1234.000000015""";-0,00000002;0,000000000123;2026-11-29 10:52:11\r\n',
    );
    expect(text({ separator: "comma" })).toBe(
      '\ufeffamount,amountExact,total,price,at\r\n1234.00000002,"=""1234.000000015""",-0.00000002,0.000000000123,2026-11-29 07:52:11\r\n',
    );
    expect(text({ separator: "comma", decimal: "comma" })).toContain(
      '\r\n"1234,00000002","=""1234.000000015""","-0,00000002","0,000000000123",',
    );
    expect(text({ decimal: "point" })).toContain("\r\n1234.00000002;");
  });
});

describe("a time as a date", () => {
  it.each([
    ["Europe/Berlin", "2026-03-29T00:59:59.000Z", "2026-03-29 01:59:59"],
    ["Europe/Berlin", "2026-03-29T01:00:00.000Z", "2026-03-29 03:00:00"],
    ["Europe/Berlin", "2026-10-25T00:59:59.999Z", "2026-10-25 02:59:59"],
    ["Europe/Berlin", "2026-10-25T01:00:00.000Z", "2026-10-25 02:00:00"],
    ["Europe/Istanbul", "2026-07-01T21:00:00.000Z", "2026-07-02 00:00:00"],
    ["Europe/Istanbul", "2026-12-31T21:00:00.000Z", "2027-01-01 00:00:00"],
    ["asia/kathmandu", "2026-01-01T00:00:00.000Z", "2026-01-01 05:45:00"],
    ["UTC", "2026-01-01T00:00:00.000Z", "2026-01-01 00:00:00"],
  ])("in %s %s is %s", (zone, time, shown) => {
    expect(isTimeZone(zone)).toBe(true);
    expect(sheetTimeWriter(zone)(time)).toBe(shown);
  });

  it.each(["2026-13-01T00:00:00.000Z", "2026-01-01", "0999-01-01T00:00:00.000Z", "now", ""])(
    "%j is none",
    (text) => {
      expect(sheetTimeWriter("UTC")(text)).toBeNull();
    },
  );

  it.each(["", "+03:00", "Europe/Nowhere", "UTC\u0000", "x".repeat(65), "../UTC"])(
    "%j is no zone",
    (name) => {
      expect(isTimeZone(name)).toBe(false);
    },
  );
});

describe("a text of a shop", () => {
  const nasty = fc.oneof(
    amounts,
    fc.constantFrom(
      "DOĞRU",
      "wahr",
      "1.5",
      "-1",
      "=1+1",
      "2026-01-02T03:04:05.678Z",
      "2026-01-02",
      "true",
      "1,5",
    ),
    fc.string({ maxLength: 12 }),
  );
  const shopColumns = ["orderId", "tag", "metadata", "renews", "refundOf"] as const;

  it("is never a number, a date or a truth value, though an amount with the same digits is", () => {
    const table = tableOf();
    const columns = recordColumnsOf(table);
    void fc.assert(
      fc.property(nasty, (text) => {
        for (const name of shopColumns) {
          expect(recordColumns[name]).toBe("text");
          const cell = table.cell(text, columns[name] ?? "word");
          expect(/^(?:[-\d.,: ]*\d[-\d.,: ]*|true|false|wahr|doğru)$/i.test(cell)).toBe(false);
        }
        const amount = table.cell(text, "amount");
        const isNumber = /^-?\d+(?:,\d{1,8})?$/.test(amount);
        expect(isNumber).toBe(roundDecimal(text, 8) !== null);
      }),
    );
  });

  it("stays in its own column, whatever the record has", () => {
    const table = tableOf({ separator: "tab" });
    const record = { network: "eip155:1", metadata: { value: "5", fee: "7" }, orderId: "3" };
    const row = recordRowOf(table, record, () => "eth");
    const { head, line } = csvWriterOf(table, recordColumnsOf(table));
    const names = head.slice(1).trimEnd().split("\t");
    const cells = line(row).slice(0, -2).split("\t");
    const shown = Object.fromEntries(names.map((name, at) => [name, cells[at]]));
    expect(Object.entries(shown).filter(([, cell]) => cell !== "")).toEqual([
      ["orderId", '"=""3"""'],
      ["network", '"=""eip155:1"""'],
      ["metadata", '"{""value"":""5"",""fee"":""7""}"'],
    ]);
  });
});
