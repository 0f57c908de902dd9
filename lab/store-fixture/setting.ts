/**
 * Fixed values of the fixture's gateway: its configuration, its keys, its clock and its chance. All
 * secrets are made up, from names that stand here, so that no key has to lie beside the fixture.
 */
import { createHash, createPrivateKey, type KeyObject } from "node:crypto";
import { existsSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The time at which the fixture's story begins, and the time at which its answers are asked. */
export const storyBegins = Date.parse("2026-01-30T08:00:00Z");
export const storyEnds = Date.parse("2026-02-03T12:00:00Z");

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Bytes that look random and are the same in each run: SHA-256 of a name and a counter. */
export function fixedRandom(name: string): (bytes: number) => Uint8Array {
  let count = 0;
  return (bytes) => {
    const parts: Buffer[] = [];
    for (let length = 0; length < bytes; length += 32) {
      count += 1;
      parts.push(sha256(`${name} ${count}`));
    }
    return Uint8Array.from(Buffer.concat(parts).subarray(0, bytes));
  };
}

/** PKCS #8 of Ed25519 before the 32 bytes of the seed: RFC 8410. */
const pkcs8Head = Buffer.from("302e020100300506032b657004220420", "hex");

/** The Ed25519 key of a name. */
export function fixedKey(name: string): KeyObject {
  return createPrivateKey({
    key: Buffer.concat([pkcs8Head, sha256(`key of ${name}`)]),
    format: "der",
    type: "pkcs8",
  });
}

/** The seed of a wallet (64 bytes), of a name. */
export const fixedSeed = (name: string): Uint8Array =>
  Uint8Array.from([...sha256(`${name} 1`), ...sha256(`${name} 2`)]);

export const contracts = {
  usdtErc20: "0xdAC17F958D2ee523a2206206994597C13D831ec7",
  eurErc20: "0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c",
  usdtTrc20: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
} as const;

export const networks = {
  ethereum: "eip155:1",
  tron: "tron:0x2b6653dc",
  xrp: "xrpl:0",
  bitcoin: "bip122:000000000019d6689c085ae165831e93",
} as const;
export type ChainName = keyof typeof networks;

/** No node listens there: the answers come from the database alone. */
const away = ["http://127.0.0.1:9"];

const chains = {
  ethereum: { family: "evm", chainId: 1, nodes: away, confirmations: 3 },
  tron: { family: "tron", chainId: "0x2b6653dc", nodes: away, confirmations: "finalized" },
  xrp: { family: "xrp", chainId: 0, nodes: away, confirmations: "finalized" },
  bitcoin: { family: "bitcoin", chainId: networks.bitcoin.slice(7), nodes: away, confirmations: 2 },
};

const currencies = {
  eth: { chain: "ethereum", decimal: 18, name: "Ether", symbol: "ETH", minPaymentAmount: "0.001" },
  "usdt-erc20": {
    ...{
      chain: "ethereum",
      decimal: 6,
      contract: contracts.usdtErc20,
      name: "Tether USD",
      symbol: "USDT",
    },
    ...{ minPaymentAmount: "5", minWithdrawAmount: "1", paymentTolerance: "0.5" },
  },
  "eur-erc20": {
    chain: "ethereum",
    decimal: 6,
    contract: contracts.eurErc20,
    name: "Euro",
    symbol: "EUR",
    minPaymentAmount: "5",
  },
  trx: {
    chain: "tron",
    decimal: 6,
    name: "Tron",
    symbol: "TRX",
    minPaymentAmount: "10",
    sweep: { automatic: false },
  },
  "usdt-trc20": {
    chain: "tron",
    decimal: 6,
    contract: contracts.usdtTrc20,
    name: "Tether",
    symbol: "USDT",
    minPaymentAmount: "5",
  },
  xrp: { chain: "xrp", decimal: 6, name: "XRP", symbol: "XRP", minPaymentAmount: "1" },
  btc: { chain: "bitcoin", decimal: 8, name: "Bitcoin", symbol: "BTC", minPaymentAmount: "0.0001" },
};

/** The currency that left the configuration after the story: its records stay. */
export const goneCurrency = "eur-erc20";

const prices = {
  manual: {
    eth: { usd: "3000", eur: "2800", try: "126000" },
    "usdt-erc20": { usd: "1", eur: "0.93", try: "42" },
    trx: { usd: "0.25", eur: "0.23", try: "10.5" },
    xrp: { usd: "2.5", eur: "2.3", try: "105" },
    btc: { usd: "100000", eur: "93000", try: "4200000" },
  },
};

/** The configuration's text; `nodes` names nodes that do answer. */
export function configText({
  isStory,
  nodes = {},
}: {
  readonly isStory: boolean;
  readonly nodes?: { readonly [chain in ChainName]?: readonly string[] };
}): string {
  const { [goneCurrency]: gone, ...kept } = currencies;
  const named = Object.entries(nodes).map(([name, urls]) => [
    name,
    { ...chains[name as ChainName], nodes: urls },
  ]);
  return JSON.stringify({
    listen: { host: "127.0.0.1", port: 0 },
    publicUrl: "http://127.0.0.1:8080",
    database: "sqlite:gateway.db",
    chains: { ...chains, ...Object.fromEntries(named) },
    currencies: isStory ? { ...kept, [goneCurrency]: gone } : kept,
    prices,
    limits: {
      withdrawalWaitMs: 0,
      readsPerSecond: 100_000,
      writesPerSecond: 100_000,
      burst: 1_000,
      payerReadsPerSecond: 100_000,
    },
    callbacks: { retrySeconds: [60, 600] },
    logLevel: "silent",
  });
}

export const configFile = "gateway.config.json";

/** Makes a folder with the configuration and the gateway's key in it. */
export function prepareFolder(folder: string, text: string, name = configFile): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, name);
  writeFileSync(file, text);
  // The age of prices that an operator typed is the file's.
  utimesSync(file, storyEnds / 1000, storyEnds / 1000);
  const keyFile = join(folder, "gateway.key");
  const pem = fixedKey("gateway").export({ format: "pem", type: "pkcs8" });
  if (!existsSync(keyFile)) writeFileSync(keyFile, pem, { mode: 0o600 });
  return file;
}
