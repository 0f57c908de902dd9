/** gateway.config.json, and the agent's own config.json that is made from it. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readConfig as readAgentConfig } from "../../agent/config/config.ts";
import type { AgentError } from "../../base/fault.ts";
import { createPeerRules } from "../../gateway/api/server.ts";
import { parseConfig, readConfigText } from "../../gateway/config/config.ts";
import { agentConfigText } from "../../gateway/operator/agent-config.ts";
import { writeOwnFile } from "../../gateway/operator/folder.ts";
import { describeWrittenAgentConfig } from "../../gateway/operator/merchants.ts";
import { testConfig, usdtContract } from "../../lab/kit/gateway-server.ts";

describe("configuration", () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-config-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const parse = (change: object) =>
    parseConfig(JSON.stringify({ ...testConfig, ...change }), folder, 0);
  const { chains, currencies, listen } = testConfig;
  const tron = {
    family: "tron",
    chainId: "0x2b6653dc",
    nodes: ["https://key@one.example"],
    confirmations: "finalized",
  };
  const trc20 = {
    chain: "tron",
    decimal: 6,
    name: "Tether",
    symbol: "USDT",
    minPaymentAmount: "5",
  };

  it("is taken as the tests use it, with its defaults and absolute paths", () => {
    const config = parse({});
    expect(config.limits).toMatchObject({
      readsPerSecond: 10,
      writesPerSecond: 20,
      burst: 5,
      bodyBytesMax: 16_384,
    });
    expect(config.database).toBe(join(folder, "gateway.db"));
    expect(config.currencies.eth?.minWithdrawAmount).toBe("0.001");
    expect(config.currencies.eth?.paymentTolerance).toBe("0");
    const tolerant = parse({
      currencies: { ...currencies, eth: { ...currencies.eth, paymentTolerance: "0.00010" } },
    });
    expect(tolerant.currencies.eth?.paymentTolerance).toBe("0.0001");
    expect(config.currencies.eth?.surplusTolerance).toBe("0");
    const generous = parse({
      currencies: { ...currencies, eth: { ...currencies.eth, surplusTolerance: "0.0020" } },
    });
    expect(generous.currencies.eth?.surplusTolerance).toBe("0.002");
    const swept = parse({
      chains: { ...chains, tron },
      currencies: { "usdt-trc20": { preset: "usdt-trc20", chain: "tron" } },
      prices: {},
    });
    expect(swept.currencies["usdt-trc20"]?.sweep).toEqual({
      isAutomatic: true,
      feeMultiple: 10,
      least: "50",
    });
    expect(parse({ publicUrl: "https://pay.example.com/" }).publicUrl).toBe(
      "https://pay.example.com",
    );
    expect(
      parse({ listen: { ...listen, host: "0.0.0.0", tls: { certificate: "c.pem", key: "k.pem" } } })
        .listen.tls?.key,
    ).toBe(join(folder, "k.pem"));
    expect(config.prices).toMatchObject({
      sources: [],
      everySeconds: 60,
      guardPercent: 5,
      staleMinutes: 5,
      manualHoursMax: 24,
    });
    const sources = { kraken: {}, btcturk: { url: "http://127.0.0.1:9/mirror/" } };
    expect(
      parse({ prices: { sources, everySeconds: 600, staleMinutes: 20 } }).prices.sources,
    ).toEqual([
      { name: "kraken", url: "" },
      { name: "btcturk", url: "http://127.0.0.1:9/mirror" },
    ]);
    expect(
      parse({ listen: { ...listen, host: "0.0.0.0" }, trustProxy: ["10.0.0.0/8"] }).trustProxy,
    ).toEqual(["10.0.0.0/8"]);
  });

  it("takes addresses alone and addresses with the lines of their server", () => {
    const lined = { url: "http://b.example", headersFile: "b.headers", questionsPerHour: 60 };
    const { local } = parse({
      chains: { local: { ...chains.local, nodes: ["http://a.example", lined] } },
    }).chains;
    expect(local?.nodes).toEqual(["http://a.example", "http://b.example"]);
    expect(local?.servers).toEqual({
      "http://b.example": { headersFile: join(folder, "b.headers"), questionsPerHour: 60 },
    });
    expect(local?.agentNodes).toEqual(["http://a.example", "http://b.example"]);
    expect(parse({}).chains.local?.servers).toBeUndefined();
  });

  const wrong: Record<string, object> = {
    "an unknown key": { limit: {} },
    "an unknown limit": { limits: { readPerSecond: 1 } },
    "plaintext off loopback": { listen: { host: "0.0.0.0", port: 1 } },
    "a plain publicUrl off loopback": { publicUrl: "http://pay.example.com" },
    "a publicUrl with a query": { publicUrl: "https://pay.example.com/?a=1" },
    "another database": { database: "mysql://localhost/x" },
    "a PostgreSQL database without a name": { database: "postgres://localhost" },
    "a password in the database's address": { database: "postgres://shop:pass@localhost/x" },
    "a port of the database that is none": { database: "postgres://localhost:65536/x" },
    "an unknown line of the database": { database: "postgres://localhost/x?password=y" },
    "an unknown sslmode of the database": { database: "postgres://localhost/x?sslmode=prefer" },
    "a database's name that is not well-formed": { database: "postgres://localhost/%zz" },
    "a password file for SQLite": { databasePasswordFile: "password" },
    "a port that is none": { listen: { host: "127.0.0.1", port: 65_536 } },
    "a proxy that is no address": { trustProxy: ["proxy"] },
    "a network with too many bits": { trustProxy: ["10.0.0.0/33"] },
    "no nodes": { chains: { local: { ...chains.local, nodes: [] } } },
    "a node with an unknown line": {
      chains: { local: { ...chains.local, nodes: [{ url: "http://a.example", header: "x: y" }] } },
    },
    "a node that may be asked less than a minute's question": {
      chains: {
        local: { ...chains.local, nodes: [{ url: "http://a.example", questionsPerHour: 59 }] },
      },
    },
    "a node that is no URL": { chains: { local: { ...chains.local, nodes: ["node"] } } },
    "another family": { chains: { local: { ...chains.local, family: "bitcoin" } } },
    "an id that is none of its family": {
      chains: { local: { ...chains.local, chainId: "0x7a69" } },
    },
    "a model of fees that is none of its family": {
      chains: { local: { ...chains.local, feeModel: "cheap" } },
    },
    "an id that is no chain of Tron's": {
      chains: { ...chains, tron: { ...tron, chainId: "0x2B6653DC" } },
    },
    "a model of fees on a chain that has none": {
      chains: { ...chains, tron: { ...tron, feeModel: "ethereum" } },
    },
    "confirmations counted where the chain alone says what is final": {
      chains: { ...chains, tron: { ...tron, confirmations: 19 } },
    },
    "no least withdrawal at all": {
      currencies: { ...currencies, eth: { ...currencies.eth, minWithdrawAmount: null } },
    },
    "no tolerance at all": {
      currencies: { ...currencies, eth: { ...currencies.eth, paymentTolerance: null } },
    },
    "no least sweep at all": {
      currencies: { ...currencies, eth: { ...currencies.eth, sweep: { least: null } } },
    },
    "no confirmations": { chains: { local: { ...chains.local, confirmations: 0 } } },
    "two chains with one id": { chains: { local: chains.local, other: chains.local } },
    "a currency on no chain": { currencies: { eth: { ...currencies.eth, chain: "gone" } } },
    "a currency on a chain with the name of a method": {
      currencies: { eth: { ...currencies.eth, chain: "constructor" } },
    },
    "a contract with a wrong checksum": {
      currencies: {
        ...currencies,
        usdt: { ...currencies.usdt, contract: usdtContract.replace("dAC", "DAC") },
      },
    },
    "one asset twice": { currencies: { ...currencies, again: currencies.usdt } },
    "a native coin with other decimals": {
      currencies: { eth: { ...currencies.eth, decimal: 6 } },
      prices: {},
    },
    "a tolerance that is no amount": {
      currencies: { ...currencies, eth: { ...currencies.eth, paymentTolerance: "1%" } },
    },
    "a tolerance above that is no amount": {
      currencies: { ...currencies, eth: { ...currencies.eth, surplusTolerance: "-1" } },
    },
    "a tolerance above that is finer than the coin": {
      currencies: {
        ...currencies,
        eth: { ...currencies.eth, surplusTolerance: "0.0000000000000000001" },
      },
    },
    "a tolerance as large as the smallest deposit": {
      currencies: { ...currencies, eth: { ...currencies.eth, paymentTolerance: "0.001" } },
    },
    "a minimum of zero": {
      currencies: { ...currencies, eth: { ...currencies.eth, minPaymentAmount: "0" } },
    },
    "a price for nothing": { prices: { manual: { doge: { usd: "1", eur: "1", try: "1" } } } },
    "a price of zero": { prices: { manual: { eth: { usd: "0.00", eur: "1", try: "1" } } } },
    "a typed price at no time": {
      prices: { manual: { eth: { usd: "1", eur: "1", try: "1", at: "2026-02-30" } } },
    },
    "a source that nobody knows": { prices: { sources: { mtgox: {} } } },
    "a source in plain text off loopback": {
      prices: { sources: { kraken: { url: "http://api.kraken.com" } } },
    },
    "prices stale between two questions": {
      prices: { sources: { kraken: {} }, everySeconds: 600, staleMinutes: 15 },
    },
    "a market in small letters": {
      currencies: { ...currencies, eth: { ...currencies.eth, market: "eth" } },
    },
    "a price that is a number": { prices: { manual: { eth: { usd: 1, eur: "1", try: "1" } } } },
  };
  for (const [name, change] of Object.entries(wrong)) {
    it(`the gateway's configuration is refused with ${name}`, () => {
      expect(() => parse(change)).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^CONFIG_/) }),
      );
    });
  }

  it("names the line of a text that is no JSON, and the nearest right key", () => {
    const text = '{"listen": 1,\n  "limits": {"burst": 0.5}}';
    expect(() => parseConfig(text, folder, 0)).toThrow(
      expect.objectContaining({
        code: "CONFIG_JSON",
        message: expect.stringMatching(/^line 2, column 2\d: /),
        context: expect.objectContaining({ line: 2, hint: expect.stringContaining("quotes") }),
      }),
    );
    expect(() => parse({ limits: { burts: 5 } })).toThrow(
      expect.objectContaining({
        code: "CONFIG_UNKNOWN_KEY",
        context: { hint: "did you mean burst?" },
      }),
    );
    expect(parse({ limits: { burst: 5 } }).limits.burst).toBe(5);
  });

  it("shows no value that may be a secret: neither a key between < > nor one at a chain's place", () => {
    const failureOf = (change: object): string => {
      try {
        parse(change);
        return "";
      } catch (error) {
        const { message, context } = error as AgentError;
        return `${message} ${JSON.stringify(context)}`;
      }
    };
    const nodes = (key: string) => ({
      chains: { local: { ...chains.local, nodes: [`https://rpc.example/<${key}>`] } },
    });
    expect(failureOf(nodes("NODE_KEY"))).toContain("<NODE_KEY> in config.chains.local.nodes[0]");
    for (const key of ["0123456789abcdef", "ABCDEF0123", "A".repeat(40)])
      expect(failureOf(nodes(key))).toMatch(
        /^still to be replaced with your own: what stands in < > in config\.chains\.local\.nodes\[0\] /,
      );
    const on = (chain: string) => ({ currencies: { eth: { ...currencies.eth, chain } } });
    expect(failureOf(on("locl"))).toMatch(/config\.currencies\.eth\.chain is "locl".*mean local\?/);
    expect(failureOf(on("legal winner thank year"))).not.toContain("legal");
    const price = { usd: "1", eur: "1", try: "1" };
    expect(failureOf({ prices: { manual: { etth: price } } })).toContain("did you mean eth?");
    expect(failureOf({ prices: { sources: { krakn: {} } } })).toContain("did you mean kraken?");
  });

  it("waits for nothing: a named pipe, a device and a file of gigabytes are refused at once", () => {
    const pipe = join(folder, "pipe.json");
    execFileSync("mkfifo", [pipe]);
    const long = join(folder, "long.json");
    writeFileSync(long, "{");
    truncateSync(long, 8 * 2 ** 30);
    for (const [path, why] of [
      [pipe, "it is not a file"],
      ["/dev/zero", "it is not a file"],
      [folder, "it is not a file"],
      [long, "it is far longer than 262144 bytes"],
      [join(folder, "none.json"), "ENOENT"],
    ] as const)
      expect(() => readConfigText(path), path).toThrow(
        expect.objectContaining({
          code: "GATEWAY_CONFIG_MISSING",
          message: `the configuration ${path} cannot be read: ${why}`,
        }),
      );
  });

  it("takes a chain of each family, whose id is one network in each of its spellings", () => {
    const contract = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
    for (const chainId of ["0x2b6653dc", 728_126_428]) {
      const both = {
        chains: { ...chains, tron: { ...tron, chainId } },
        currencies: { ...currencies, trc20: { ...trc20, contract } },
      };
      const config = parse(both);
      expect(config.chains.tron).toMatchObject({
        family: "tron",
        chainId: "0x2b6653dc",
        network: "tron:0x2b6653dc",
      });
      expect(config.currencies.trc20).toMatchObject({ network: "tron:0x2b6653dc", contract });
      const wrongLetter = { ...trc20, contract: contract.replace("TR7", "TR8") };
      expect(() => parse({ ...both, currencies: { trc20: wrongLetter } })).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^CONFIG_/) }),
      );
    }
    // XRP's own network has the number 0, which is no chain of another family.
    const xrp = {
      family: "xrp",
      chainId: 0,
      nodes: ["https://one.example"],
      confirmations: "finalized",
    };
    expect(parse({ chains: { ...chains, xrp } }).chains.xrp).toMatchObject({
      chainId: 0,
      network: "xrpl:0",
    });
    for (const odd of [
      { ...xrp, chainId: -1 },
      { ...xrp, chainId: 1025 },
      { ...xrp, family: "evm" },
    ])
      expect(() => parse({ chains: { ...chains, odd } })).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^CONFIG_/) }),
      );
    const named = { chains: { local: { ...chains.local, feeModel: "arbitrum" } } };
    expect(parse(named).chains.local?.feeModel).toBe("arbitrum");
  });

  it("keeps plaintext to this machine and the named proxies", () => {
    const plain = createPeerRules({
      listen: { ...listen, tls: null },
      trustProxy: ["10.1.0.0/16", "2001:db8::1"],
    });
    for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.1.2.3", "2001:db8::1"])
      expect(plain.mayComePlain(address), address).toBe(true);
    for (const address of ["10.2.0.1", "192.0.2.1", "2001:db8::2", undefined])
      expect(plain.mayComePlain(address), String(address)).toBe(false);
    const tls = createPeerRules({
      listen: { ...listen, tls: { certificate: "c", key: "k" } },
      trustProxy: [],
    });
    expect(tls.mayComePlain("192.0.2.1")).toBe(true);
  });

  it("names one network of Tron in the agent's file, which takes no second one beside it", () => {
    const path = join(folder, "both-families.json");
    const trx = { ...trc20, symbol: "TRX" };
    const nile = { ...tron, chainId: "0xcd8690dc" };
    const agentNodes = tron.nodes;
    const more = { ...currencies, trx, "nile-trx": { ...trx, chain: "nile" } };
    const text = agentConfigText(
      parse({ chains: { ...chains, tron: { ...tron, agentNodes }, nile }, currencies: more }),
    );
    writeOwnFile(path, text);
    const { settings } = readAgentConfig(path, { requireSecrets: [] });
    expect([Object.keys(settings.chains), Object.keys(settings.currencies)]).toEqual([
      ["local", "tron"],
      ["eth", "usdt", "trx"],
    ]);
    const file = JSON.parse(text);
    const added = join(folder, "one-more.json");
    writeOwnFile(added, JSON.stringify({ ...file, chains: { ...file.chains, nile } }));
    expect(() => readAgentConfig(added, { requireSecrets: [] })).toThrow(
      expect.objectContaining({ code: "CONFIG_VALUE" }),
    );
  });

  it("leaves the gateway's own keys of providers out of the agent's file, which wants others in their place", () => {
    const nodes = [
      "https://0f1e2d3c-secret@api.trongrid.io/tron",
      "https://user:secret@node.example",
      "https://mainnet.example/v3/Secret0123456789",
      "https://rpc.example/eth/secretsecretsecret/",
      "https://rpc.example/?apikey=secret&chain=secret",
      "https://rpc.example/#secret",
    ];
    const text = agentConfigText(
      parse({ chains: { ...chains, local: { ...chains.local, nodes } } }),
    );
    expect(text).not.toMatch(/secret/i);
    expect(JSON.parse(text).chains.local.nodes).toEqual([
      "https://<NODE_KEY>@api.trongrid.io/tron",
      "https://<NODE_KEY>@node.example",
      "https://mainnet.example/v3/<NODE_KEY>",
      "https://rpc.example/eth/<NODE_KEY>/",
      "https://rpc.example?apikey=<NODE_KEY>&chain=<NODE_KEY>",
      "https://rpc.example",
    ]);
    expect(describeWrittenAgentConfig("f", text)).toMatch(
      /^Wrote f: the merchant replaces the three secrets in it, and each <NODE_KEY> /,
    );
    const path = join(folder, "without-keys.json");
    writeOwnFile(path, text);
    expect(() => readAgentConfig(path, { requireSecrets: [] })).toThrow(
      expect.objectContaining({
        code: "CONFIG_PLACEHOLDER",
        message: expect.stringContaining("<NODE_KEY> in chains.local.nodes[0]"),
      }),
    );
    const filled = join(folder, "with-keys.json");
    writeOwnFile(filled, text.replaceAll("<NODE_KEY>", "0123456789abcdef"));
    expect(
      readAgentConfig(filled, { requireSecrets: [] }).settings.chains.local?.nodes,
    ).toHaveLength(6);
  });

  it("writes nodes without a key to the letter, and those named for agents with the keys they have", () => {
    const nodes = [
      "http://127.0.0.1:8545",
      "https://rpc.example/v1/jsonrpc",
      "https://Rpc.Example/",
    ];
    expect(describeWrittenAgentConfig("f", agentConfigText(parse({})))).toBe(
      "Wrote f: the merchant replaces the three secrets in it.",
    );
    const fileOf = (chain: object) =>
      JSON.parse(
        agentConfigText(parse({ chains: { ...chains, local: { ...chains.local, ...chain } } })),
      ).chains.local.nodes;
    expect(fileOf({ nodes })).toEqual(nodes);
    const agentNodes = ["https://theirs-0123456789abcdef@rpc.example"];
    expect(fileOf({ nodes, agentNodes })).toEqual(agentNodes);
    expect(
      fileOf({ nodes: ["https://one-secret@rpc.example", "https://two-secret@rpc.example"] }),
    ).toHaveLength(1);
  });

  it("makes the agent's own file, which the agent takes but for the three secrets", () => {
    const path = join(folder, "config.json");
    writeOwnFile(
      path,
      agentConfigText(parse({ prices: { manual: { eth: { usd: "3000", eur: "1", try: "1" } } } })),
    );
    const { settings } = readAgentConfig(path, { requireSecrets: [] });
    expect(settings.gatewayUrl).toBe("http://127.0.0.1:8080");
    expect(Object.keys(settings.currencies)).toEqual(["eth", "usdt"]);
    expect(settings.policy.eth).toMatchObject({
      maxPerWithdrawal: "1.6",
      maxPerDay: "16",
      holdAbove: "1",
      maxFee: "0.01",
      maxFeePerDay: "0.2",
    });
    expect(settings.policy.usdt).toMatchObject({ maxPerWithdrawal: "1000", maxPerDay: "10000" });
    expect(() => readAgentConfig(path, { requireSecrets: ["apiKey"] })).toThrow();
    expect(() => writeOwnFile(path, "")).toThrow(
      expect.objectContaining({ code: "GATEWAY_FILE_EXISTS" }),
    );
  });
});
