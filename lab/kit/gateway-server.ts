/**
 * A gateway for tests: real HTTP on loopback and a real SQLite file in a folder of its own; no hub
 * and no watcher, whose words to the rest (rows and signals) the test says itself, but that every
 * address is unused. The clock stands until the test moves it or lets it run.
 */
import {
  createHash,
  createHmac,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { type Agent, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mnemonicToSeedSync } from "bip39";
import type { FastifyInstance } from "fastify";
import { type Logger, pino } from "pino";
import {
  deriveAccounts,
  pairedAccountsOf,
  proveAccounts,
  type WalletAccount,
} from "../../agent/keystore/nodes.ts";
import { addPayerPages } from "../../gateway/api/payer.ts";
import { addOperations } from "../../gateway/api/routes.ts";
import { createServer } from "../../gateway/api/server.ts";
import { addServiceRoutes } from "../../gateway/api/service-routes.ts";
import { createGatewayKey } from "../../gateway/auth/gateway-key.ts";
import type { NewKey } from "../../gateway/auth/keys.ts";
import { parseConfig } from "../../gateway/config/config.ts";
import { addApiDescription } from "../../gateway/openapi/openapi.ts";
import { addKey, createMerchant, type OperatorContext } from "../../gateway/operator/accounts.ts";
import { type ClockState, rightClock } from "../../gateway/own-clock.ts";
import { createPriceBoard } from "../../gateway/prices/price-cache.ts";
import type { Service } from "../../gateway/service.ts";
import { marksPathOf, openMarks } from "../../gateway/store/address-marks.ts";
import { keepNativeCoins } from "../../gateway/store/posting.ts";
import { createSignals } from "../../gateway/store/signals.ts";
import { createWaiters } from "../../gateway/withdrawals/waiters.ts";
import { publicKeyHex } from "../../protocol/envelope.ts";
import { walletFingerprintOf } from "../../protocol/identity.ts";
import type { PairingTranscript } from "../../protocol/messages.ts";
import {
  accountDigestOf,
  parseApiKey,
  type SealedTranscript,
  type SignerTranscriptProofs,
  sealTranscript,
  signTranscript,
} from "../../protocol/pairing.ts";
import { freshStore } from "./fresh-store.ts";
import { callAddressesUnused } from "./unused-addresses.ts";

export const usdtContract = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
const otherContract = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
export const receiver = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

const testWords = "test test test test test test test test test test test junk";

/** A wallet with its keys, and what others know of it. */
export function walletFrom(nodes: readonly WalletAccount[]) {
  const accounts = pairedAccountsOf(nodes);
  const [hotWallet, deposits] = accounts;
  return {
    nodes,
    accounts,
    hotWalletAddress: hotWallet?.id ?? "",
    depositXpub: deposits?.id ?? "",
  };
}

export const wallet = walletFrom(
  deriveAccounts(Uint8Array.from(mnemonicToSeedSync(testWords)), ["evm"]),
);

/** The signatures that the process with the keys makes of a transcript. */
export const provenBy = (
  transcript: string,
  signer: KeyObject,
  nodes: readonly WalletAccount[],
): SignerTranscriptProofs => ({
  signerSignature: signTranscript(transcript, signer),
  proofs: proveAccounts(nodes, accountDigestOf(transcript)),
});

export const testConfig = {
  listen: { host: "127.0.0.1", port: 0 },
  publicUrl: "http://127.0.0.1:8080",
  database: "sqlite:gateway.db",
  chains: {
    local: { family: "evm", chainId: 31337, nodes: ["http://127.0.0.1:9"], confirmations: 1 },
  },
  currencies: {
    eth: { chain: "local", decimal: 18, name: "Ether", symbol: "ETH", minPaymentAmount: "0.001" },
    usdt: {
      chain: "local",
      decimal: 6,
      contract: usdtContract,
      name: "Tether",
      symbol: "USDT",
      minPaymentAmount: "5",
      minWithdrawAmount: "1",
    },
    off: {
      chain: "local",
      decimal: 6,
      contract: otherContract,
      name: "Off",
      symbol: "OFF",
      minPaymentAmount: "1",
      enabled: false,
    },
  },
  prices: {
    manual: {
      eth: { usd: "3000", eur: "2800.5", try: "126000" },
      usdt: { usd: "1", eur: "0.93", try: "42" },
    },
  },
  logLevel: "silent",
};

export interface GatewayAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: ReturnType<typeof JSON.parse>; // a test reads what the service sent, of any shape
}

interface RequestParts {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly agent?: Agent; // a connection of its own unless told
}

export interface TestGateway {
  readonly url: string;
  readonly dir: string;
  readonly service: Service;
  readonly server: FastifyInstance;
  readonly operator: OperatorContext;
  /** `judged` is the judgement of the chains on it; right without one. */
  readonly clock: { nowMs: number; judged?: ClockState };
  /** For programs that sign by the machine's clock, however long they take. */
  runClock(): void;
  /** Its `apiKey` pairs and does nothing else; `shopKey` is what a shop asks with. */
  readonly merchant: ReturnType<typeof createMerchant>;
  send(path: string, sent?: RequestParts): Promise<GatewayAnswer>;
  /** With a fresh compatible token of the shop's key. */
  call(
    method: "GET" | "POST",
    path: string,
    body?: object | string,
    headers?: Record<string, string>,
  ): Promise<GatewayAnswer>;
  key(wanted: Partial<NewKey>): { readonly keyId: string; readonly apiKey: string };
  /** As an agent pairs: each transcript is a millisecond newer than the one before. */
  pair(
    change?: Partial<PairingTranscript>,
    apiKey?: string,
    keys?: AgentKeyPairs,
    nodes?: readonly WalletAccount[],
  ): Promise<GatewayAnswer>;
  sealed(
    change?: Partial<PairingTranscript>,
    apiKey?: string,
    keys?: AgentKeyPairs,
    nodes?: readonly WalletAccount[],
  ): SealedTranscript;
  register(sealed: object): Promise<GatewayAnswer>;
  /** The rows that the watcher would store. */
  fund(currency: string, units: bigint, block?: number): void;
  close(): Promise<void>;
}

/** A JWT made by hand, so that a test can make any mistake in it. */
export function handmadeToken(
  apiKey: string,
  nowMs: number,
  change: { readonly header?: object; readonly claims?: object; readonly secret?: Uint8Array } = {},
): string {
  const { keyId, secret } = parseApiKey(apiKey);
  const iat = Math.floor(nowMs / 1000);
  const header = { alg: "HS256", typ: "JWT", kid: keyId, ...change.header };
  const claims = {
    sub: keyId,
    iat,
    exp: iat + 60,
    jti: randomBytes(16).toString("hex"),
    bodyHash: sha256(""),
    ...change.claims,
  };
  const text = `${encode(JSON.stringify(header))}.${encode(JSON.stringify(claims))}`;
  return `${text}.${createHmac("sha256", change.secret ?? secret)
    .update(text)
    .digest("base64url")}`;
}

export const encode = (text: string): string => Buffer.from(text, "utf8").toString("base64url");
export const sha256 = (text: string | Uint8Array): string =>
  createHash("sha256").update(text).digest("hex");

interface AgentKeyPairs {
  readonly signer: KeyObject;
  readonly link: KeyObject;
}

export const newAgentKeys = (): AgentKeyPairs => ({
  signer: generateKeyPairSync("ed25519").privateKey,
  link: generateKeyPairSync("ed25519").privateKey,
});

const agentKeys = newAgentKeys();

function transcriptOf(
  gateway: Pick<TestGateway, "service" | "clock">,
  keyId: string,
  keys: AgentKeyPairs = agentKeys,
  accounts: PairingTranscript["accounts"] = wallet.accounts,
): PairingTranscript {
  return {
    version: 1,
    keyId,
    gatewayFingerprint: gateway.service.key.fingerprint,
    signerKey: publicKeyHex(keys.signer),
    linkKey: publicKeyHex(keys.link),
    wallet: walletFingerprintOf(accounts),
    networks: ["eip155:31337"],
    accounts,
    currencies: [
      { id: "eth", network: "eip155:31337", contract: "", decimal: 18, maxFee: "0.01" },
      { id: "usdt", network: "eip155:31337", contract: usdtContract, decimal: 6, maxFee: "0.02" },
    ],
    nonce: randomBytes(32).toString("hex"),
    at: gateway.clock.nowMs,
  };
}

function ask(
  url: string,
  { method = "GET", headers = {}, body, agent }: RequestParts,
): Promise<GatewayAnswer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent: agent ?? false }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("end", () => {
        const text = Buffer.concat(parts).toString("utf8");
        const isJson = (response.headers["content-type"] ?? "").includes("json") && text !== "";
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          body: isJson ? JSON.parse(text) : null,
        });
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}

export async function startTestGateway(
  change: object = {},
  log: Logger = pino({ level: "silent" }),
): Promise<TestGateway> {
  const dir = mkdtempSync(join(tmpdir(), "gateway-test-"));
  const clock: TestGateway["clock"] = { nowMs: Date.parse("2026-01-02T03:04:05.678Z") };
  const config = parseConfig(JSON.stringify({ ...testConfig, ...change }), dir, clock.nowMs);
  const key = createGatewayKey(config.keyFile);
  const store = freshStore(config.database, key.fingerprint, log);
  const coins = Object.values(config.currencies).filter(({ contract }) => contract === "");
  store.write((database) =>
    keepNativeCoins(database, new Map(coins.map(({ network, id }) => [network, id]))),
  );
  const signals = createSignals();
  const waiters = createWaiters(signals);
  const service: Service = {
    config,
    store,
    signals,
    key,
    log,
    clock: () => clock.nowMs,
    random: randomBytes,
    waiters,
    prices: createPriceBoard(config, () => clock.nowMs),
    run: "first run",
    confirmations: () => null,
    outOfService: () => "",
    ownClock: () => clock.judged ?? rightClock,
    unreadSince: () => null,
    isLate: () => false,
    addressMarks: openMarks(marksPathOf(config.database), new Map()),
    readAt: () => clock.nowMs,
    waitsRead: () => Number.MAX_SAFE_INTEGER,
  };
  callAddressesUnused(service);
  const server = createServer(service);
  addOperations(server, service);
  addPayerPages(server, service);
  addApiDescription(server, config);
  addServiceRoutes(server, service, []);
  await server.listen({ host: "127.0.0.1", port: 0 });
  const address = server.server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  const operator = {
    store,
    gatewayKey: key,
    random: randomBytes,
    run: "this run",
    actor: "operator",
    get nowMs() {
      return clock.nowMs;
    },
  };
  const merchant = createMerchant(operator, { name: "Shop", language: "en" });
  let pairings = 0;
  const gateway: TestGateway = {
    url,
    dir,
    service,
    server,
    operator,
    clock,
    runClock: () => void Object.defineProperty(clock, "nowMs", { get: Date.now }),
    merchant,
    send: (path, sent = {}) => ask(`${url}${path}`, sent),
    call: (method, path, body, headers = {}) =>
      gateway.send(path, {
        method,
        headers: {
          signatureToken: handmadeToken(merchant.shopKey, clock.nowMs),
          "Content-Type": "application/json",
          ...headers,
        },
        ...(body === undefined
          ? {}
          : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
    key(wanted) {
      const made = addKey(operator, {
        merchant: merchant.merchantId,
        scopes: ["read"],
        profile: "compatible",
        alg: "HS256",
        ...wanted,
      });
      if (!made.ok) throw new Error(made.code);
      return made;
    },
    pair: (...given) => gateway.register(gateway.sealed(...given)),
    sealed(changed = {}, apiKey = merchant.apiKey, keys = agentKeys, nodes = wallet.nodes) {
      const { keyId, secret } = parseApiKey(apiKey);
      const at = clock.nowMs + pairings;
      pairings += 1;
      const transcript = JSON.stringify({
        ...transcriptOf(gateway, keyId, keys, pairedAccountsOf(nodes)),
        at,
        ...changed,
      });
      return sealTranscript(transcript, {
        secret,
        linkKey: keys.link,
        proven: provenBy(transcript, keys.signer, nodes),
      });
    },
    async register(sealed) {
      const answered = await gateway.send("/agent/v1/pair", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(sealed),
      });
      // As an agent's first statements leave it.
      store.database.run("UPDATE agents SET depositCeiling = 1000000");
      return answered;
    },
    fund(currency, units, block = 100) {
      store.database.run(
        `INSERT INTO balances (account, currency, units, block, at) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (account, currency)
         DO UPDATE SET units = excluded.units, block = excluded.block, at = excluded.at`,
        wallet.hotWalletAddress,
        currency,
        units.toString(),
        block,
        clock.nowMs,
      );
    },
    async close() {
      waiters.close();
      await server.close();
      service.addressMarks.close();
      store.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  return gateway;
}
