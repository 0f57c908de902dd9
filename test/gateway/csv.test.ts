/**
 * The list as CSV: the same records as the JSON list, in a form that spreadsheets take and do not
 * run.
 */
import { describe, expect, it } from "vitest";
import { csvCell } from "../../gateway/answer/csv-cell.ts";
import { csvColumns, csvHead, wantsCsv } from "../../gateway/api/csv.ts";
import { schemas } from "../../gateway/openapi/records.ts";
import { auto, db, deposit, eachTestItsGateway, gateway, manual, read, ready } from "../support/shop.ts";

eachTestItsGateway();

/** RFC 4180, section 2. */
function rowsOf(text: string): string[][] {
  const rows: string[][] = [[]];
  for (const [, quoted, bare = "", end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    rows.at(-1)?.push(quoted?.replace(/""/g, '"') ?? bare);
    if (end === "\r\n") rows.push([]);
    if (end === "") break;
  }
  return rows.slice(0, -1);
}

const textOf = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value) : `${value ?? ""}`);
const csv = (path: string) => read(path, { Accept: "text/csv" });

describe("GET /transactions as CSV", () => {
  it("GET /transactions as CSV holds what the JSON holds, record for record, in columns that are the record's fields", async () => {
    await ready();
    await auto({ orderId: "a", metadata: { note: 'ş, "ö"' } });
    await deposit({ orderId: 'b,"c"' });
    await manual({ orderId: "d" });
    const { status, headers, text } = await csv("/transactions");
    expect([status, headers["content-type"], headers.vary]).toEqual([
      200,
      "text/csv; charset=utf-8; header=present",
      "Accept-Language, Accept",
    ]);
    const [head = [], ...lines] = rowsOf(text);
    const { body } = await read("/transactions");
    const shown = lines.map((line) => Object.fromEntries(head.map((name, index) => [name, line[index]])));
    expect(shown).toEqual(
      body.map((record: Record<string, unknown>) => Object.fromEntries(head.map((name) => [name, textOf(record[name])]))),
    );
    expect(shown.map(({ orderId }) => orderId)).toContain('b,"c"');
    expect([...head].sort()).toEqual(Object.keys(schemas.Transaction?.properties ?? {}).sort());
    expect(head).toEqual(csvColumns);
  });

  it("GET /transactions as CSV comes whole, whatever its length, and empty with its head alone", async () => {
    expect((await csv("/transactions")).text).toBe(csvHead);
    await ready();
    const { transactionId } = (await auto({ orderId: "a" })).body;
    const copy = `INSERT INTO transactions SELECT printf('%032x', value), merchant, operation, mode, 'n-' || value, contentHash, currency,
      network, amount, amountUnits, receiverAddress, depositAddress, tag, status, stage, code, txHash, feeUnits, amountReceivedUnits,
      finalBlock, createdAt, changedAt, expiresAt, late, quote, metadata, callbackStatus, toleranceUnits, '', '', '' FROM transactions, (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL
      SELECT value + 1 FROM n WHERE value < 1200) SELECT value FROM n) WHERE id = ?`;
    db().run(copy, transactionId);
    const lines = rowsOf((await csv("/transactions")).text);
    expect(new Set(lines.map(([id]) => id)).size).toBe(1202);
    expect(rowsOf((await csv("/transactions?orderId=n-7")).text)).toHaveLength(2);
    const page = await csv("/transactions?limit=10");
    expect(rowsOf(page.text)).toHaveLength(11);
    expect(page.headers.link).toContain("cursor=");
  });

  it("GET /transactions as CSV keeps a spreadsheet from running what a shop wrote", async () => {
    await ready();
    for (const orderId of ["=1+1", "@x", "+2", "-3", "4=4"]) await deposit({ orderId });
    const [head = [], ...lines] = rowsOf((await csv("/transactions")).text);
    const place = head.indexOf("orderId");
    expect(lines.map((line) => line[place]).sort()).toEqual(["'+2", "'-3", "'=1+1", "'@x", "4=4"]);
  });

  it.each([
    ["x;=HYPERLINK(1)", `"x;'=HYPERLINK(1)"`],
    ["x; =1", `"x;' =1"`],
    ["x\t+1", `"x\t'+1"`],
    ["x\r\n@a", `"x\r\n'@a"`],
    ["\n=1", `"\n'=1"`],
    [" =1", "' =1"],
    ["＝1+1", "'＝1+1"],
    [{ note: "a;=b" }, `"{""note"":""a;'=b""}"`],
    ["x;y", `"x;y"`],
    ["a=b-c", "a=b-c"],
  ])("a spreadsheet that separates cells by semicolons or tabs runs nothing of %j either", (value, cell) => {
    expect(csvCell(value)).toBe(cell);
  });

  it("GET /transactions as CSV is asked for by Accept alone, and errors stay JSON", async () => {
    for (const [accept, isCsv] of [
      ["text/csv", true],
      ["TEXT/CSV;q=0.5, */*;q=0.1", true],
      ["application/json, text/csv", true],
      ["application/json, text/csv;q=0.9", false],
      ["text/csv;q=0", false],
      ["*/*", false],
      [undefined, false],
    ] as const) {
      expect(wantsCsv(accept), accept).toBe(isCsv);
    }
    const wrong = await csv("/transactions?a=1");
    expect([wrong.status, wrong.body.code]).toEqual([400, "query_invalid"]);
    expect((await csv("/supportedCurrency")).headers["content-type"]).toContain("application/json");
    expect((await gateway.send("/api/v1/transactions", { headers: { Accept: "text/csv" } })).status).toBe(401);
  });
});
