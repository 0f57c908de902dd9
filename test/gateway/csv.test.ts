/**
 * The list as CSV: the same records as the JSON list, in a form that spreadsheets take and do not
 * run.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import {
  type CsvTable,
  csvCell,
  csvTableForPeople,
  csvTableForPrograms,
  csvWriterOf,
  type SeparatorName,
  separatorByName,
} from "../../gateway/answer/csv-cell.ts";
import { recordColumns } from "../../gateway/answer/record-columns.ts";
import { runGatewayCommandLine } from "../../gateway/command.ts";
import { csvTableOf } from "../../gateway/operations/csv.ts";
import { transactionRecord } from "../../gateway/operations/records.ts";
import { isOnPostgres } from "../../lab/kit/fresh-store.ts";
import { insertTransaction } from "../../lab/kit/gateway-database.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import {
  auto,
  db,
  deposit,
  eachTestItsGateway,
  gateway,
  manual,
  read,
  ready,
} from "../support/shop.ts";

eachTestItsGateway();

/** RFC 4180, section 2. */
function rowsOf(text: string): string[][] {
  const rows: string[][] = [[]];
  for (const [, quoted, bare = "", end] of text.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g,
  )) {
    rows.at(-1)?.push(quoted?.replace(/""/g, '"') ?? bare);
    if (end === "\r\n") rows.push([]);
    if (end === "") break;
  }
  return rows.slice(0, -1);
}

const textOf = (value: unknown): string =>
  typeof value === "object" ? JSON.stringify(value) : `${value ?? ""}`;
const csv = (path: string) => read(path, { Accept: "text/csv" });

describe("GET /transactions as CSV", () => {
  it("holds what the JSON holds, record for record, in columns that are the record's fields", async () => {
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
    const shown = lines.map((line) =>
      Object.fromEntries(head.map((name, index) => [name, line[index]])),
    );
    expect(shown).toEqual(
      body.map((record: Record<string, unknown>) =>
        Object.fromEntries(head.map((name) => [name, textOf(record[name])])),
      ),
    );
    expect(shown.map(({ orderId }) => orderId)).toContain('b,"c"');
    expect([...head].sort()).toEqual(Object.keys(transactionRecord.schema.properties).sort());
    expect(head).toEqual(Object.keys(recordColumns));
  });

  it("comes whole, whatever its length, and empty with its head alone", async () => {
    expect((await csv("/transactions")).text).toBe(
      csvWriterOf(csvTableForPrograms, recordColumns).head,
    );
    await ready();
    const { transactionId } = (await auto({ orderId: "a" })).body;
    const count =
      "WITH RECURSIVE n(nth) AS (SELECT 1 UNION ALL SELECT nth + 1 FROM n WHERE nth < 1200)";
    const copy = (table: string, same: string, order = ""): void =>
      void db().run(
        `${count} INSERT INTO ${table} (id, ${same}${order && ", orderId"})
         SELECT '000000000000000000000000' || (10000000 + nth), ${same}${order} FROM ${table}, n WHERE id = ?`,
        transactionId,
      );
    const times = "createdAt, changedAt, expiresAt";
    const asked = "currency, network, amount, units, payer, receiver, tag";
    copy("transfers", `merchant, operation, contentHash, ${asked}, status, stage, ${times}`);
    copy("withdrawals", "merchant, mode", ", 'n-' || nth");
    const lines = rowsOf((await csv("/transactions")).text);
    expect(new Set(lines.map(([id]) => id)).size).toBe(1202);
    expect(rowsOf((await csv("/transactions?orderId=n-7")).text)).toHaveLength(2);
    const page = await csv("/transactions?limit=10");
    expect(rowsOf(page.text)).toHaveLength(11);
    expect(page.headers.link).toContain("cursor=");
  });

  it("keeps a spreadsheet from running what a shop wrote", async () => {
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
  ])(
    "a spreadsheet that separates cells by semicolons or tabs runs nothing of %j either",
    (value, cell) => {
      expect(csvCell(value)).toBe(cell);
    },
  );

  it("is asked for by Accept alone, and errors stay JSON", async () => {
    for (const [accept, isCsv] of [
      ["text/csv", true],
      ["TEXT/CSV;q=0.5, */*;q=0.1", true],
      ["application/json, text/csv", true],
      ["application/json, text/csv;q=0.9", false],
      ["text/csv;q=0", false],
      ["*/*", false],
      [undefined, false],
    ] as const) {
      expect(csvTableOf(accept), accept).toBe(isCsv ? csvTableForPrograms : null);
    }
    const wrong = await csv("/transactions?a=1");
    expect([wrong.status, wrong.body.code]).toEqual([400, "query_invalid"]);
    expect((await csv("/supportedCurrency")).headers["content-type"]).toContain("application/json");
    expect(
      (await gateway.send("/api/v1/transactions", { headers: { Accept: "text/csv" } })).status,
    ).toBe(401);
  });
});

/** The columns of a shop's records for people, as a bookkeeper reads them. */
const peopleHead = [
  ...["transactionId", "transactionType", "orderId", "currency", "amount", "amountExact"],
  ...["status", "stage", "code", "createdAt", "changedAt", "expiresAt", "receiverAddress"],
  ...["depositAddress", "tag", "network", "txHash", "confirmations", "amountReceived"],
  ...["amountReceivedExact", "late", "mode", "fee", "feeExact", "feeAsset", "callbackStatus"],
  ...["paymentUri", "paymentUrl", "paymentTolerance", "quoteFiat", "quoteAmount", "quotePrice"],
  ...["metadata", "explorerUrl", "renews", "refundOf", "valueTry", "valueUsd", "valueEur"],
  ...["received", "receivedExact", "accepted", "invoice"],
];

const peopleTable = (settings: Parameters<typeof csvTableForPeople>[0] = {}): CsvTable => {
  const table = csvTableForPeople(settings);
  if (table === null) throw new Error("a setting that does not exist");
  return table;
};
const textCell = (value: unknown): string => peopleTable().cell(value, "text");

describe("the table for people", () => {
  it("leaves a word of the gateway's own as it is, unless it is a number or a truth value", () => {
    const word = (value: unknown) => peopleTable().cell(value, "word");
    expect(["completed", "deposit_expired", "vrai", ""].map(word)).toEqual([
      ...["completed", "deposit_expired", "vrai", ""],
    ]);
    expect(["true", "1e5", "=1"].map(word)).toEqual(['"=""true"""', '"=""1e5"""', "'=1"]);
  });

  const people = (separator: SeparatorName, path = "/transactions") =>
    read(path, { Accept: `text/csv;for=people;separator=${separator}` });

  /** Cells of one line as a spreadsheet with this separator splits them. */
  const split = (line: string, separator: string): string[] =>
    [
      ...line.matchAll(
        new RegExp(`(?:^|${separator})(?:"((?:[^"]|"")*)"|([^"${separator}]*))`, "g"),
      ),
    ].map(([, quoted, bare = ""]) => quoted?.replace(/""/g, '"') ?? bare);

  it.each(Object.keys(separatorByName) as SeparatorName[])(
    "separates cells by %s, and begins with a byte order mark",
    async (name) => {
      await ready();
      const metadata = { customer: "Şükrü; Ağaoğlu, A.Ş." };
      await deposit({ orderId: "000200397", amount: "1.5", metadata });
      const { status, headers, text } = await people(name);
      expect([status, headers["content-type"], text.codePointAt(0)]).toEqual([
        200,
        "text/csv; charset=utf-8; header=present",
        0xfeff,
      ]);
      const [head = "", line = ""] = text.slice(1).split("\r\n");
      expect(head).toBe(peopleHead.join(separatorByName[name]));
      const cells = split(line, separatorByName[name]);
      const cell = (column: string) => cells[peopleHead.indexOf(column)];
      expect(cells).toHaveLength(peopleHead.length);
      expect(["orderId", "amount", "amountExact", "currency", "status", "late"].map(cell)).toEqual([
        '="000200397"',
        name === "comma" ? "1.5" : "1,5",
        '="1.5"',
        "eth",
        "0",
        "false",
      ]);
      expect(cell("createdAt")).toBe(
        new Date(gateway.clock.nowMs).toISOString().slice(0, 19).replace("T", " "),
      );
      expect(JSON.parse(cell("metadata") ?? "")).toEqual(metadata);
      expect(cell("receiverAddress")).toMatch(/^0x[0-9a-fA-F]{40}$/);
    },
  );

  it("says what a record cost, was quoted at and is worth, in columns of their own", async () => {
    await ready();
    const fiat = { fiatCurrency: "TRY", fiatAmount: "1249.90" };
    const order = { currency: "usdt", amount: undefined, ...fiat };
    const { transactionId } = (await deposit(order)).body;
    const worth = { try: "1249.88", usd: "30", pricedAt: "2026-01-02T03:04:05.678Z" };
    db().run("UPDATE deposits SET value = ?", JSON.stringify(worth));
    const paidOut = (await auto({ orderId: "out" })).body.transactionId;
    db().run("UPDATE transfers SET feeUnits = '420000000000000' WHERE id = ?", paidOut);
    const [head = "", ...lines] = (await people("tab")).text.slice(1).split("\r\n");
    const names = head.split("\t");
    const shown = (id: string, ...columns: string[]) => {
      const cells = split(lines.find((line) => line.includes(id)) ?? "", "\t");
      return columns.map((column) => cells[names.indexOf(column)]);
    };
    expect(
      shown(transactionId, "quoteFiat", "quoteAmount", "quotePrice", "valueTry", "valueUsd"),
    ).toEqual(["TRY", "1249,9", "42", "1249,88", "30"]);
    expect(shown(transactionId, "valueEur", "fee", "feeAsset")).toEqual(["", "", ""]);
    expect(shown(paidOut, "fee", "feeExact", "feeAsset", "quoteFiat", "valueTry")).toEqual([
      ...["0,00042", '="0.00042"', "eth", "", ""],
    ]);
  });

  it("is separated by semicolons unless the reader asks for another, which has to exist", async () => {
    await ready();
    await deposit();
    const asked = (accept: string) => read("/transactions", { Accept: accept });
    expect((await asked("text/csv; for=people")).text).toBe((await people("semicolon")).text);
    expect((await asked('text/csv;FOR="people"; separator=TAB')).text).toBe(
      (await people("tab")).text,
    );
    expect((await asked("text/csv;for=programs")).text).toBe((await csv("/transactions")).text);
    for (const accept of [
      "text/csv;for=nobody",
      "text/csv;for=people;separator=pipe",
      "text/csv;separator=comma",
      "text/csv;for=people;separator=constructor",
      "text/csv;for=people;decimal=tab",
      "text/csv;for=people;decimal=toString",
      "text/csv;decimal=point",
      "text/csv;for=people;timezone=Europe/Nowhere",
      "text/csv;for=people;timezone=+03:00",
      "text/csv;for=programs;timezone=UTC",
    ])
      expect(await asked(accept), accept).toMatchObject({
        status: 400,
        body: { code: "request_invalid", field: "Accept" },
      });
    for (const accept of [
      "text/csv;for=people;decimal=point",
      "text/csv;for=people;separator=comma;decimal=comma",
      "text/csv;for=people;timezone=Europe/Istanbul",
      "text/csv;for=people;timezone=europe/berlin;q=0.7",
      "application/json, text/csv;for=nobody;q=0.5",
    ])
      expect((await asked(accept)).status, accept).toBe(200);
  });

  it.each([
    ["000200397", '"=""000200397"""'],
    ["12345678901234567890", '"=""12345678901234567890"""'],
    ["1.234", '"=""1.234"""'],
    ["1.5", '"=""1.5"""'],
    ["1E5", '"=""1E5"""'],
    ["1-2", '"=""1-2"""'],
    ["10:30", '"=""10:30"""'],
    ["MAR1", '"=""MAR1"""'],
    ["-3", '"=""-3"""'],
    ["+905321234567", '"=""+905321234567"""'],
    ["true", '"=""true"""'],
    ["DOĞRU", '"=""DOĞRU"""'],
    ["wahr", '"=""wahr"""'],
    ["Kahve Dükkânı", "Kahve Dükkânı"],
    ["0x12", "0x12"],
    ["1,5", '"=""1,5"""'],
    ["5 %", '"=""5 %"""'],
    ["1. Mai", '"=""1. Mai"""'],
    ["₺5", '"=""₺5"""'],
    ["٣", '"=""٣"""'],
    ["2026-01-02T03:04:05.678Z", '"=""2026-01-02T03:04:05.678Z"""'],
    [7, '"=""7"""'],
    [undefined, ""],
  ])("keeps %j a text where it would become a number, a date or a truth value", (value, cell) => {
    expect(textCell(value)).toBe(cell);
    if (typeof value === "string") expect(csvCell(value).replace(/^'|"/g, "")).toBe(value);
  });

  it.each([
    ["=1+1", "'=1+1"],
    ['="1"&A1', `"'=""1""&A1"`],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"],
    ["x,=HYPERLINK(1)", `"x,'=HYPERLINK(1)"`],
    ["x;=HYPERLINK(1)", `"x;'=HYPERLINK(1)"`],
    ['1"&A1&"', `"1""&A1&"""`],
    ["＝1+1", "'＝1+1"],
    ["\t=1", `"\t'=1"`],
    ["1\n=2", `"1\n'=2"`],
  ])("runs nothing of %j, whichever separator its reader has", (value, cell) => {
    expect(textCell(value)).toBe(cell);
  });

  it("has only constants where a cell begins with a sign of a formula", () => {
    const signs = ["=", "+", "-", "@", "", "1", '"', ",", ";", "\t", " ", "A1", "x"];
    for (const one of signs)
      for (const two of signs)
        for (const three of signs) {
          const [cell = ""] = rowsOf(`${textCell(one + two + three)}\r\n`)[0] ?? [];
          const isConstant = /^="(?!.*, *[+-])[^"=@;\t]*"$/.test(cell);
          for (const part of cell.split(/[,;\t]/))
            if (/^ *[=+@-]/.test(part)) expect([cell, isConstant]).toEqual([cell, true]);
        }
  });
});

describe("sweeps list --csv", () => {
  async function listed(
    ...options: readonly string[]
  ): Promise<{ readonly text: string; readonly code: number }> {
    const config = join(gateway.dir, "gateway.config.json");
    writeFileSync(
      config,
      JSON.stringify({ ...testConfig, keyFile: "gateway.key", database: "sqlite:gateway.db" }),
    );
    let text = "";
    const take = (part: string | Uint8Array): boolean => {
      text += part.toString();
      return true;
    };
    const spies = [process.stdout, process.stderr].map((stream) =>
      vi.spyOn(stream, "write").mockImplementation(take),
    );
    const before = process.exitCode;
    process.exitCode = undefined;
    try {
      await runGatewayCommandLine(["sweeps", "list", ...options, "--config", config]);
      return { text, code: Number(process.exitCode ?? 0) };
    } finally {
      process.exitCode = before;
      for (const spy of spies) spy.mockRestore();
    }
  }

  // The command opens the file.
  it.skipIf(isOnPostgres)(
    "prints the table for programs, and with people the one for spreadsheets, by any separator",
    async () => {
      const { merchantId: merchant } = gateway.merchant;
      const of = {
        merchant,
        operation: "sweep",
        orderId: "0x1/1",
        payer: "0x1",
        receiver: "0x2",
        amount: "1.5",
        units: "1500000000000000000",
      } as const;
      insertTransaction(gateway.service.store, { ...of, id: "1".repeat(32) });
      const programs = await listed("--csv");
      const [head = "", line = ""] = programs.text.split("\r\n");
      expect([
        programs.code,
        head.split(",").length,
        line.includes(",1.5,"),
        line.includes("1".repeat(32)),
      ]).toEqual([...[0, line.split(",").length, true, true]]);
      expect((await listed("--csv", "programs")).text).toBe(programs.text);
      const people = await listed("--csv", "people");
      expect([people.code, people.text.codePointAt(0)]).toEqual([0, 0xfeff]);
      const peopleNames = head
        .split(",")
        .flatMap((name) => (["amount", "fee"].includes(name) ? [name, `${name}Exact`] : [name]));
      expect(people.text.slice(1).split("\r\n")[0]).toBe(peopleNames.join(";"));
      expect(people.text).toContain(`"=""${"1".repeat(32)}""";`);
      expect(people.text).toContain(';1,5;"=""1.5""";');
      const tabs = await listed("--csv", "people", "--separator", "tab", "--decimal", "point");
      expect(tabs.text.slice(1).split("\r\n")[0]).toBe(peopleNames.join("\t"));
      expect(tabs.text).toContain('\t1.5\t"=""1.5"""\t');
      const hours = async (...zone: readonly string[]): Promise<number> => {
        const { text } = await listed("--csv", "people", ...zone);
        const cells = text.split("\r\n")[1]?.split(";") ?? [];
        return Date.parse(`${cells[peopleNames.indexOf("createdAt")]}Z`) / 3_600_000;
      };
      expect((await hours("--timezone", "Asia/Tokyo")) - (await hours())).toBe(9);
    },
  );

  it.each([
    [["--csv", "nobody"], "Allowed choices are programs, people"],
    [["--csv", "people", "--separator", "pipe"], "Allowed choices are semicolon, comma, tab"],
    [["--csv", "--separator", "comma"], "--separator needs --csv people"],
    [["--separator", "comma"], "--separator needs --csv people"],
    [["--csv", "people", "--decimal", "tab"], "Allowed choices are comma, point"],
    [["--csv", "--decimal", "comma"], "--decimal needs --csv people"],
    [["--csv", "people", "--timezone", "Nowhere"], "a name such as Europe/Istanbul or UTC"],
    [["--timezone", "UTC"], "--timezone needs --csv people"],
  ])("sweeps list %j is refused", async (options, words) => {
    expect(await listed(...options)).toEqual({ text: expect.stringContaining(words), code: 2 });
  });
});
