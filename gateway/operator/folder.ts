/**
 * `init`: makes the gateway's key, its first configuration and an empty database. Never touches an
 * existing file.
 */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { AgentError, reasonOf } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import { createGatewayKey } from "../auth/gateway-key.ts";
import { parseDatabase } from "../config/config.ts";
import { createDatabase } from "../database/database.ts";

/** By presets, so that fees and limits are those of the chain; docs/chains.md has all presets. */
const firstConfig = {
  listen: { host: "127.0.0.1", port: 8080 },
  publicUrl: "http://127.0.0.1:8080",
  database: "sqlite:gateway.db",
  chains: { ethereum: { preset: "ethereum", nodes: ["http://127.0.0.1:8545"] } },
  currencies: { eth: { preset: "eth" }, "usdt-erc20": { preset: "usdt-erc20" } },
  prices: {
    manual: {},
    sources: { coinbase: {}, kraken: {}, bitstamp: {}, btcturk: {}, paribu: {}, binance: {} },
  },
};

/**
 * Writes a new file of mode 0600 and returns when it is durable.
 * @throws AgentError GATEWAY_FILE_EXISTS, also for a file that cannot be made
 */
export function writeOwnFile(path: string, text: string): void {
  let descriptor: number;
  try {
    descriptor = openSync(path, "wx", 0o600);
  } catch (cause) {
    throw new AgentError(
      "GATEWAY_FILE_EXISTS",
      "none",
      `${path} cannot be made: ${reasonOf(cause)}`,
      { path },
      { cause },
    );
  }
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

export interface DatabaseOrder {
  readonly database?: string; // the setting; without one, a file of SQLite in the folder
  readonly databasePasswordFile?: string; // the setting
}

/**
 * Makes the gateway's folder, which may exist, and the files in it; or the tables in an empty
 * database of PostgreSQL.
 * @throws AgentError GATEWAY_FILE_EXISTS if one of the files exists, before anything is written, or
 * if the folder cannot be made; CONFIG_VALUE, and as `createDatabase`
 */
export function initFolder(
  dir: string,
  log: GatewayLog,
  { database, databasePasswordFile }: DatabaseOrder = {},
): { readonly config: string; readonly key: string; readonly fingerprint: string } {
  const place = parseDatabase(database ?? firstConfig.database, dir, databasePasswordFile);
  const files = {
    config: join(dir, "gateway.config.json"),
    key: join(dir, "gateway.key"),
    database: place.database,
  };
  for (const path of Object.values(files)) {
    if (existsSync(path))
      throw new AgentError("GATEWAY_FILE_EXISTS", "none", `${path} is there already`, { path });
  }
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const message = `the folder ${dir} cannot be made: ${reasonOf(cause)}`;
    throw new AgentError("GATEWAY_FILE_EXISTS", "none", message, { path: dir }, { cause });
  }
  const { fingerprint } = createGatewayKey(files.key);
  try {
    createDatabase(place, fingerprint, log);
  } catch (error) {
    // Without a database nothing was made with the key, and the same line may be typed again.
    rmSync(files.key);
    throw error;
  }
  const settings = {
    ...firstConfig,
    ...(database === undefined ? {} : { database }),
    ...(databasePasswordFile === undefined ? {} : { databasePasswordFile }),
  };
  writeOwnFile(files.config, `${JSON.stringify(settings, null, 2)}\n`);
  return { config: files.config, key: files.key, fingerprint };
}
