/** link.json, and the name the agent gives itself on the link. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { readLinkFile, writeLinkFile } from "../../agent/config/link-file.ts";
import { softwareName } from "../../agent/courier/software.ts";
import { keyPair } from "../support/link-gateway.ts";

const agent = "ab".repeat(8);
const gatewayKey = keyPair();
const linkKey = keyPair();

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

describe("link.json", () => {
  const folder = () => {
    const made = mkdtempSync(join(tmpdir(), "link-"));
    cleanups.push(() => rmSync(made, { recursive: true }));
    return join(made, "courier");
  };
  const identity = () => ({
    agent,
    ledgerEpoch: 3,
    gatewayKey: gatewayKey.hex,
    linkSeed: linkKey.seed,
    gatewayUrl: "https://pay.example.com",
  });

  it("is read back as it was written, for its owner alone", () => {
    const location = folder();
    writeLinkFile(location, identity());
    writeLinkFile(location, { ...identity(), ledgerEpoch: 4 });
    expect(readLinkFile(location)).toEqual({ ...identity(), ledgerEpoch: 4 });
    expect(statSync(join(location, "link.json")).mode & 0o777).toBe(0o600);
    expect(statSync(location).mode & 0o777).toBe(0o700);
    expect(JSON.parse(readFileSync(join(location, "link.json"), "utf8"))).toMatchObject({
      linkSeed: Buffer.from(linkKey.seed).toString("hex"),
    });
  });

  it("is written through nothing that was planted in its temporary file's place", () => {
    const location = folder();
    mkdirSync(location);
    const planted = join(location, "link.json.new");
    const elsewhere = join(location, "elsewhere");
    writeFileSync(elsewhere, "theirs");
    for (const plant of [
      () => writeFileSync(planted, "", { mode: 0o666 }),
      () => symlinkSync(elsewhere, planted),
    ]) {
      plant();
      writeLinkFile(location, identity());
      expect(lstatSync(join(location, "link.json")).mode & 0o777).toBe(0o600);
      expect(lstatSync(join(location, "link.json")).isFile()).toBe(true);
      expect(readFileSync(elsewhere, "utf8")).toBe("theirs");
      expect(readLinkFile(location)).toEqual(identity());
    }
  });

  it("a link.json that others can read, that is missing or damaged is refused", () => {
    const location = folder();
    const path = join(location, "link.json");
    expect(() => readLinkFile(location)).toThrow(
      expect.objectContaining({ code: "LINK_FILE_MISSING" }),
    );
    writeLinkFile(location, identity());
    const whole = readFileSync(path, "utf8");
    chmodSync(path, 0o640);
    expect(() => readLinkFile(location)).toThrow(expect.objectContaining({ code: "FILE_EXPOSED" }));
    chmodSync(path, 0o600);
    for (const damaged of [
      "",
      "{}",
      whole.replace("linkSeed", "seed"),
      whole.replace(/"ledgerEpoch":3/, '"ledgerEpoch":"3"'),
      whole.slice(0, 90),
    ]) {
      writeFileSync(path, damaged);
      expect(() => readLinkFile(location)).toThrow(
        expect.objectContaining({ code: "LINK_FILE_INVALID" }),
      );
    }
    writeFileSync(path, whole);
    expect(readLinkFile(location).agent).toBe(agent);
  });
});

it("the courier names itself with the package's version", () => {
  const { name, version } = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  ) as Record<string, string>;
  expect(softwareName).toBe(`${name}/${version}`);
});
