/**
 * Characters that do not show are named with their place, in secrets and in configuration.
 * Reported for other software in openmask 73, oasis-wallet 530, embit 105, MetaMask 8746 (spaces
 * in a pasted phrase) and npm 6234 (a byte order mark in a JSON file).
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readConfig } from "../../agent/config/config.ts";
import { assertEncKey } from "../../agent/keystore/enckey.ts";
import { AgentError } from "../../base/fault.ts";
import { describeOddCharacter, findInvisible } from "../../base/invisible.ts";
import { seedOf } from "../../cli/sealing/mnemonic.ts";
import { createTokenMaker } from "../../clients/typescript/signature-token.ts";
import { parseConfig } from "../../gateway/config/config.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import { parseApiKey } from "../../protocol/pairing.ts";

const dir = mkdtempSync(join(tmpdir(), "invisible-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const bytes = (text: string) => Buffer.from(text);
const words = "test test test test test test test test test test test junk";

function told(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof AgentError) return `${error.code}: ${error.message}`;
    if (error instanceof TypeError) return error.message;
    throw error;
  }
  return "";
}

describe("invisible characters", () => {
  it.each([
    ["a b\tc\r\nşü☃😀", null],
    ["a\u00a0b", "a no-break space (U+00A0) 2"],
    ["\ufeffa", "a byte order mark (U+FEFF) 1"],
    ["şa\u200b", "a zero-width space (U+200B) 3"],
    ["😀\u202e", "a direction mark (U+202E) 2"],
    ["a\u0000", "a control character (U+0000) 2"],
    ["a\u0085", "a control character (U+0085) 2"],
    ["a\u{e0041}", "a tag character (U+E0041) 2"],
  ])("%j has %s", (text, found) => {
    const unseen = findInvisible(bytes(text));
    expect(unseen === null ? null : `${unseen.name} ${unseen.character}`).toBe(found);
  });

  it("are looked for in bytes that are no UTF-8 as well", () => {
    expect(findInvisible(Uint8Array.from([0xff, 0xc2, 0xe2, 0x80]))).toBeNull();
    expect(findInvisible(Uint8Array.from([0xff, 0xc2, 0xa0]))).toMatchObject({
      at: 1,
      character: 2,
    });
  });

  it.each([
    ["abc", ""],
    ["abc ", "a space at the end"],
    [" abc", "a space at the beginning"],
    ["ab\nc", "a line break after character 2"],
    ["ab\tc", "a tab after character 2"],
    ["abc\u200b", "a zero-width space (U+200B) at the end"],
    ["şb\u00a0c", "a no-break space (U+00A0) after character 2"],
  ])("make %j odd: %s", (text, oddity) => {
    expect(describeOddCharacter(bytes(text))).toBe(oddity);
  });
});

describe("a mnemonic", () => {
  it.each([
    ["\u00a0", "a no-break space (U+00A0)"],
    ["\u3000", "an ideographic space (U+3000)"],
    ["\u200b ", "a zero-width space (U+200B)"],
  ])("with %j between two words is refused with its place", (blank, name) => {
    const typed = words.replace("test test test ", `test test test${blank}`);
    expect(told(() => seedOf(bytes(typed)))).toBe(
      `MNEMONIC_INVISIBLE: the mnemonic holds ${name} behind the letters of word 3`,
    );
  });

  it("with a byte order mark in front is refused, and with ordinary blanks and line ends is taken", () => {
    expect(told(() => seedOf(bytes(`\ufeff${words}`)))).toContain(
      "a byte order mark (U+FEFF) before word 1",
    );
    expect(told(() => seedOf(bytes(`${words.replaceAll(" ", " \t\r\n")}\n`)))).toBe("");
  });
});

describe("an encKey", () => {
  const hex = "0123456789abcdef0f1e2d3c4b5a69788796a5b4c3d2e1f00123456789abcdef";

  it.each([
    [`${hex} `, "64 hex digits with other characters"],
    [`0x${hex}`, "64 hex digits with a prefix in front"],
    [`"${hex}"`, "64 hex digits with other characters"],
    [(hex.match(/../g) as string[]).join(":"), "64 hex digits with other characters"],
    [`${hex}\u200b`, "a zero-width space (U+200B) as character 65"],
    ["correct\u00a0horse battery staple 42 Zq", "a no-break space (U+00A0) as character 8"],
  ])("%j is refused", (typed, why) => {
    const message = told(() => assertEncKey(bytes(typed)));
    expect(message).toContain("ENCKEY_WRITTEN");
    expect(message).toContain(why);
  });

  it("with 64 hex digits, and a passphrase with spaces, are taken", () => {
    expect(told(() => assertEncKey(bytes(hex)))).toBe("");
    expect(told(() => assertEncKey(bytes("vWq8 zR4n tXk2 Lm9p Hb3c")))).toBe("");
  });
});

describe("an apiKey", () => {
  const key = `k_${"0".repeat(16)}.${"A".repeat(43)}.${"0".repeat(32)}`;

  it("with a character too many names it, at the agent and at the shop", () => {
    expect(told(() => parseApiKey(bytes(`${key} `)))).toMatch(
      /keyId\.secret\.fingerprint: it has a space at the end$/,
    );
    const maker = () => createTokenMaker({ apiKey: `\u200b${key}`, alg: "HS256" }, () => 0);
    expect(told(maker)).toMatch(/fingerprint: character 1 is U\+200B$/);
    expect(told(() => parseApiKey(bytes(key)))).toBe("");
  });
});

describe("config.json", () => {
  const read = (text: string): string => {
    const path = join(dir, "config.json");
    writeFileSync(path, text, { mode: 0o600 });
    return told(() => readConfig(path, { requireSecrets: [], isNamed: true })).replace(dir, "");
  };

  it("with a byte order mark is read like one without", () => {
    const fault = read("{}");
    expect(fault).toContain("is missing");
    expect(read("\ufeff{}")).toBe(fault);
  });

  it("with a character that does not show names line and column", () => {
    expect(read('{\n "gatewayUrl":\u00a0"https://pay.example.com"}')).toBe(
      "CONFIG_INVISIBLE: /config.json, line 2, column 15: a no-break space (U+00A0)",
    );
  });
});

describe("the gateway's configuration", () => {
  const text = JSON.stringify(testConfig);

  it("with a byte order mark is read like one without", () => {
    expect(parseConfig(`\ufeff${text}`, dir, 0)).toEqual(parseConfig(text, dir, 0));
  });

  it("with a character that does not show names line and column", () => {
    expect(told(() => parseConfig(text.replace("http", "\u2060http"), dir, 0))).toMatch(
      /^CONFIG_INVISIBLE: line 1, column \d+: a word joiner/,
    );
  });
});
