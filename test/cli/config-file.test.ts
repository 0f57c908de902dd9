/**
 * config.json as bytes: secrets read without becoming text, members taken out, and the file
 * replaced whole or not at all.
 */
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { decodeJsonStringBytes, withoutMembers } from "../../agent/config/text.ts";
import { replaceFile } from "../../agent/files/replace-file.ts";

const dir = mkdtempSync(join(tmpdir(), "autowithdraw-config-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("replacing a file", () => {
  const place = (name: string): string => {
    const made = mkdtempSync(join(dir, name));
    return join(made, "config.json");
  };
  const planted = {
    nothing: () => {},
    "a file that all may write": (path: string) => {
      writeFileSync(path, "planted and longer than what follows");
      chmodSync(path, 0o666);
    },
    "a way to another file": (path: string) => symlinkSync(join(path, "..", "other"), path),
    "a second name of another file": (path: string) => linkSync(join(path, "..", "other"), path),
  };

  it.each(Object.entries(planted))(
    "gives exactly what was asked for with %s in the temporary file's place",
    (_, plant) => {
      const path = place("replace-");
      writeFileSync(join(path, "..", "other"), "another's");
      writeFileSync(path, "old");
      plant(`${path}.new`);
      const before = process.umask(0o077);
      try {
        replaceFile(path, Buffer.from("new"), 0o640);
      } finally {
        process.umask(before);
      }
      expect(readFileSync(path, "utf8")).toBe("new");
      expect(lstatSync(path)).toMatchObject({ nlink: 1 });
      expect(lstatSync(path).isFile()).toBe(true);
      expect(lstatSync(path).mode & 0o777).toBe(0o640);
      expect(readFileSync(join(path, "..", "other"), "utf8")).toBe("another's");
      expect(readdirSync(join(path, "..")).sort()).toEqual(["config.json", "other"]);
    },
  );
});

describe("secrets as bytes", () => {
  it("the reader of secrets resolves every escape as JSON does", () => {
    const texts = ['plain "quoted" \\ / \b\f\n\r\t', "é ü ğ ₺", "\u{1f600}", "\u0000\u001f", ""];
    for (const text of texts) {
      const plain = JSON.stringify(text);
      const escaped = `"${[...text]
        .map((c) =>
          [...c]
            .flatMap((x) => x.split(""))
            .map((u) => `\\u${u.charCodeAt(0).toString(16).padStart(4, "0")}`)
            .join(""),
        )
        .join("")}"`;
      for (const source of [plain, escaped]) {
        expect(
          Buffer.from(decodeJsonStringBytes(Buffer.from(source)) ?? [1]).toString(),
          source,
        ).toBe(text);
      }
    }
    for (const bad of ['"\\q"', '"\\u12"', '"\\ud83d"', '"\\ude00"', '"\\u00g0"'])
      expect(decodeJsonStringBytes(Buffer.from(bad))).toBeNull();
  });

  it("the reader of secrets takes no byte that a JSON string does not have", () => {
    expect(Buffer.from(decodeJsonStringBytes(Buffer.from('"a b"')) ?? []).toString()).toBe("a b");
    expect(decodeJsonStringBytes(Buffer.from('"a\nb"'))).toBeNull();
    expect(decodeJsonStringBytes(Buffer.from('"a\u0000b"'))).toBeNull();
    expect(decodeJsonStringBytes(Buffer.from([0x22, 0xc3, 0xa9, 0x22]))).toEqual(
      Uint8Array.of(0xc3, 0xa9),
    );
    for (const bytes of [[0xc3], [0xa9], [0xf7, 0x80], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
      expect(decodeJsonStringBytes(Uint8Array.from([0x22, ...bytes, 0x22]))).toBeNull();
    }
  });
});

describe("taking members out", () => {
  const remove = (text: string, ...names: string[]): string =>
    Buffer.from(withoutMembers(Buffer.from(text), names)).toString();

  it("leaves every other byte as it was", () => {
    const text =
      '{\n  "a": 1,\n  "mnemonic": "x, \\"y\\" }",\n  "b": { "mnemonic": [1, 2] },\n\n  "c": "é"\n}\n';
    expect(remove(text, "mnemonic")).toBe(
      '{\n  "a": 1,\n  "b": { "mnemonic": [1, 2] },\n\n  "c": "é"\n}\n',
    );
  });

  it("works at the beginning, at the end, for all and for none", () => {
    expect(remove('{"x":1,"y":2,"z":3}', "x")).toBe('{"y":2,"z":3}');
    expect(remove('{"x":1,"y":2,"z":3}', "z")).toBe('{"x":1,"y":2}');
    expect(remove('{"x":1,"y":2,"z":3}', "x", "y")).toBe('{"z":3}');
    expect(remove('{"x":1,"y":2}', "x", "y")).toBe("{}");
    expect(remove('{"x":1}', "q")).toBe('{"x":1}');
    expect(remove("{}", "q")).toBe("{}");
  });
});
