/**
 * The committed fixture in a folder of its own, opened as a gateway opens its database at a start:
 * with its own files beside it, at the time at which the story stopped, and with nodes that do not
 * answer, so that nothing of it changes.
 */
import { createHash } from "node:crypto";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { pino } from "pino";
import { readConfig } from "../../gateway/config/config.ts";
import { type Gateway, startGateway } from "../../gateway/gateway.ts";
import type { KeptChain } from "./chain.ts";
import { configText, prepareFolder, storyEnds } from "./setting.ts";

export const fixtureName = "gateway-4d8fbe51";

/** A made-up shop whose key asks the questions. */
export interface FixtureShop {
  readonly name: string;
  readonly merchantId: string;
  readonly readKey: string;
  readonly interfaceKey?: string; // gets the interface's fields alone
}

export interface Fixture {
  readonly folder: string;
  readonly configFile: string;
  readonly database: string;
  readonly sha256: string; // the unpacked database's
  readonly shops: readonly FixtureShop[];
  readonly chain: KeptChain;
  remove(): void;
}

/** `from` is the folder test/store-fixture, or one that make.ts wrote. */
export function unpackFixture(from: string, name = fixtureName): Fixture {
  const folder = mkdtempSync(join(tmpdir(), "store-fixture-"));
  const configFile = prepareFolder(folder, configText({ isStory: false }));
  const bytes = brotliDecompressSync(readFileSync(join(from, `${name}.db.br`)));
  const database = join(folder, "gateway.db");
  writeFileSync(database, bytes, { mode: 0o600 });
  copyFileSync(join(from, `${name}.db.addresses`), `${database}.addresses`);
  const read = <T>(file: string): T => JSON.parse(readFileSync(join(from, file), "utf8")) as T;
  return {
    folder,
    configFile,
    database,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    shops: read<readonly FixtureShop[]>("shops.json"),
    chain: read<KeptChain>("chain.json"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The whole gateway on the fixture. */
export function openFixture({ configFile }: Pick<Fixture, "configFile">): Promise<Gateway> {
  const onPoisoned = (): never => {
    throw new Error("the fixture's disk failed");
  };
  return startGateway(readConfig(configFile), {
    log: pino({ level: "silent" }),
    clock: () => storyEnds,
    onPoisoned,
  });
}
