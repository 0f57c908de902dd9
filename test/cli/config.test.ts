/**
 * config.json: every mistake has its own code and a line that names the place; every rejection has
 * a twin that passes.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type ConfigOptions, readConfig } from "../../agent/config/config.ts";
import { AgentError } from "../../base/fault.ts";

const dir = mkdtempSync(join(tmpdir(), "autowithdraw-config-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const usdt = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
const receiver = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

interface Sample {
  [key: string]: unknown;
  gatewayUrl: unknown;
  chains: Record<string, Record<string, unknown>>;
  currencies: Record<string, Record<string, unknown>>;
  policy: Record<string, Record<string, unknown>>;
}

function sample(): Sample {
  return {
    gatewayUrl: "https://pay.example.com",
    mnemonic: "test test test test test test test test test test test junk",
    apiKey: "k_0011223344556677.secret.00",
    encKey: "0f".repeat(32),
    chains: {
      ethereum: {
        family: "evm",
        chainId: 1,
        nodes: ["https://one.example", "https://two.example"],
        confirmations: "finalized",
      },
    },
    currencies: {
      eth: { chain: "ethereum", decimal: 18 },
      "usdt-erc20": { chain: "ethereum", decimal: 6, contract: usdt },
    },
    policy: {
      eth: {
        maxPerWithdrawal: "1.5",
        maxPerHour: "5",
        maxPerDay: "20",
        maxFee: "0.01",
        maxFeePerDay: "0.2",
        maxTip: "2.5",
        holdAbove: "1",
        allow: [receiver],
        deny: [],
      },
      "usdt-erc20": {
        maxPerWithdrawal: "5000",
        maxPerDay: "50000",
        maxFee: "0.01",
        maxFeePerDay: "0.2",
      },
    },
  };
}

let count = 0;
function write(content: string | Uint8Array, mode = 0o600): string {
  count += 1;
  const path = join(dir, `config-${count}.json`);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

const every: ConfigOptions = { requireSecrets: ["mnemonic", "apiKey", "encKey"] };

function faultOf(path: string, options: ConfigOptions = every): AgentError {
  try {
    readConfig(path, options);
  } catch (error) {
    if (error instanceof AgentError) return error;
    throw error;
  }
  throw new Error("the file was taken");
}

function faultAfter(change: (config: Sample) => void): AgentError {
  const config = sample();
  change(config);
  return faultOf(write(JSON.stringify(config, null, 2)));
}

describe("a good config.json", () => {
  it("gives settings without secrets, and secrets as bytes", () => {
    const { settings, secrets } = readConfig(write(JSON.stringify(sample())), every);
    expect(settings.gatewayUrl).toBe("https://pay.example.com");
    expect(settings.chains.ethereum).toEqual(sample().chains.ethereum);
    expect(settings.currencies["usdt-erc20"]).toEqual({
      chain: "ethereum",
      decimal: 6,
      contract: usdt,
    });
    expect(settings.policy.eth?.allow).toEqual([receiver]);
    expect(JSON.stringify(settings)).not.toContain("junk");
    expect(secrets.encKey).toBeInstanceOf(Uint8Array);
    expect(Buffer.from(secrets.encKey ?? []).toString()).toBe("0f".repeat(32));
    expect(Buffer.from(secrets.mnemonic ?? []).toString()).toMatch(/^test .* junk$/);
  });

  it("puts addresses into their checksummed form", () => {
    const config = sample();
    (config.currencies["usdt-erc20"] as Record<string, unknown>).contract = usdt.toLowerCase();
    expect(
      readConfig(write(JSON.stringify(config)), every).settings.currencies["usdt-erc20"]?.contract,
    ).toBe(usdt);
  });

  it.each([
    "http://127.0.0.1:8080",
    "http://localhost:9",
    "http://[::1]:80",
    "https://pay.example.com/",
  ])("takes %s", (url) => {
    expect(() =>
      readConfig(write(JSON.stringify({ ...sample(), gatewayUrl: url })), every),
    ).not.toThrow();
  });

  it("may lack the secrets nobody asked for, and a policy for a currency", () => {
    const { mnemonic, apiKey, encKey, ...rest } = sample();
    const { eth, ...policy } = rest.policy as Record<string, unknown>;
    const config = readConfig(write(JSON.stringify({ ...rest, policy })), { requireSecrets: [] });
    expect(config.secrets).toEqual({});
    expect([mnemonic, apiKey, encKey, eth]).not.toContain(undefined);
  });
});

describe("the file itself", () => {
  it("config.json is named when it is missing", () => {
    const error = faultOf(join(dir, "nowhere.json"));
    expect(error.code).toBe("CONFIG_MISSING");
    expect(error.message).toContain(join(dir, "nowhere.json"));
  });

  it("a config.json that is a symbolic link is refused, no matter who named it", () => {
    const link = join(dir, "link.json");
    const file = write(JSON.stringify(sample()));
    symlinkSync(file, link);
    expect(faultOf(link).code).toBe("FILE_LINK");
    expect(faultOf(link, { ...every, isNamed: true }).code).toBe("FILE_LINK");
    expect(readConfig(file, every).settings.gatewayUrl).toBe("https://pay.example.com");
  });

  it("a config.json that is a folder, or a pipe that nobody writes to, is refused", () => {
    expect(faultOf(dir).code).toBe("FILE_KIND");
    const pipe = join(dir, "pipe");
    execFileSync("mkfifo", ["-m", "600", pipe]);
    expect(faultOf(pipe).code).toBe("FILE_KIND");
  });

  it.each([0o640, 0o604, 0o644, 0o620, 0o666, 0o601])(
    "a config.json that is open to others is refused (mode %o)",
    (mode) => {
      const error = faultOf(write(JSON.stringify(sample()), mode));
      expect(error.code).toBe("FILE_EXPOSED");
      expect(error.message).toContain(mode.toString(8));
      expect(error.context.hint).toContain("chmod go=");
    },
  );

  it("config.json may be group-readable inside the service manager's private folder only", () => {
    const folder = join(dir, "credentials");
    mkdirSync(folder, { recursive: true });
    const path = join(folder, "config.json");
    writeFileSync(path, JSON.stringify(sample()));
    chmodSync(path, 0o440);
    expect(readConfig(path, { ...every, privateFolder: folder }).settings.gatewayUrl).toBe(
      "https://pay.example.com",
    );
    expect(faultOf(path, { ...every, privateFolder: join(dir, "cred") }).code).toBe("FILE_EXPOSED");
  });

  it.runIf(process.getuid?.() !== 0)("config.json is named when it is unreadable", () => {
    expect(faultOf(write(JSON.stringify(sample()), 0o000)).code).toBe("CONFIG_UNREADABLE");
  });

  it("config.json with a number as an amount is refused at its place, and the error asks for quotes", () => {
    const text = JSON.stringify(sample(), null, 2).replace(
      /"maxPerWithdrawal": "[^"]+"/,
      '"maxPerWithdrawal": 0.5',
    );
    const error = faultOf(write(text));
    expect([error.code, error.message]).toEqual([
      "CONFIG_JSON",
      expect.stringMatching(/, line \d+, column \d+: /),
    ]);
    expect(error.context.hint).toContain("in quotes");
  });

  it("config.json is named when it is far too large", () => {
    expect(faultOf(write(" ".repeat(1_048_577))).code).toBe("CONFIG_TOO_LARGE");
  });
});

describe("the text", () => {
  it.each(["", " \n\t\n"])("config.json is refused when its text is empty", (text) => {
    const error = faultOf(write(text));
    expect(error.code).toBe("CONFIG_JSON");
    expect(error.message).toContain("is empty");
  });

  it("a malformed config.json is refused with its line", () => {
    const lines = JSON.stringify(sample(), null, 2).split("\n");
    lines[4] = (lines[4] as string).replace(/,$/, "");
    const error = faultOf(write(lines.join("\n")));
    expect(error.code).toBe("CONFIG_JSON");
    expect(error.message).toMatch(/line 6, column 3/);
  });

  it.each([
    ["a comma at the end", '{"gatewayUrl": "https://a.example",}'],
    ["a comment", '{ // mine\n"gatewayUrl": "https://a.example"}'],
    ["a secret without its closing quote", '{"mnemonic": "test test\n}'],
    ["a fraction", '{"chains": 1.5}'],
    ["a word", "hello"],
    ["bytes that are no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ["something after the object", "{} {}"],
  ])("config.json is refused when its text holds %s", (_, text) => {
    expect(faultOf(write(text)).code).toBe("CONFIG_JSON");
  });

  it("a refusal of config.json never shows a secret, whatever is wrong around it", () => {
    for (const text of [
      '{"mnemonic": "legal winner thank"',
      '{"mnemonic": "legal winner thank" "x"',
      '{"mnemonic": "legal winner thank", "mnemonic": "legal"}',
      '{"encKey": "legal winner thank\\q"}',
      '{"legal winner thank": 1}',
      '{"gatewayUrl": "legal winner thank"}',
      '{"mnemonic": ["legal winner thank"]}',
    ]) {
      const error = faultOf(write(text));
      expect(`${error.message} ${JSON.stringify(error.context)} ${error.stack}`).not.toContain(
        "winner",
      );
    }
  });

  it("a config.json with the same key twice is refused", () => {
    const text = JSON.stringify(sample(), null, 2).replace(
      '"gatewayUrl"',
      '"encKey": "a",\n  "gatewayUrl"',
    );
    const error = faultOf(write(text));
    expect(error.code).toBe("CONFIG_DUPLICATE_KEY");
    expect(error.message).toContain("line 6");
  });

  it("a key of config.json that hides behind an escape is refused", () => {
    const text = JSON.stringify(sample()).replace('"encKey"', '"enc\\u004bey"');
    expect(faultOf(write(text)).code).toBe("CONFIG_SECRET");
  });

  it("a key that nothing reads is refused, and the error names the key that was meant", () => {
    const error = faultAfter((config) => {
      (config.policy.eth as Record<string, unknown>).maxPerWitdrawal = "1";
    });
    expect(error.code).toBe("CONFIG_UNKNOWN_KEY");
    expect(error.message).toContain("policy.eth.maxPerWitdrawal");
    expect(error.context.hint).toBe("did you mean maxPerWithdrawal?");
    const unit = faultAfter((config) =>
      Object.assign(config.policy.eth as object, { maxTipGwei: "2.5" }),
    );
    expect(unit.code).toBe("CONFIG_UNKNOWN_KEY");
    expect(unit.context.hint).toBe("did you mean maxTip?");
    expect(faultAfter((config) => Object.assign(config, { extra: 1 })).code).toBe(
      "CONFIG_UNKNOWN_KEY",
    );
    expect(
      faultAfter((config) => Object.assign(config.chains.ethereum as object, { rpc: "" })).code,
    ).toBe("CONFIG_UNKNOWN_KEY");
  });
});

const path = (config: Sample, place: string, value: unknown): void => {
  const keys = place.split("/");
  const last = keys.pop() as string;
  let object: Record<string, unknown> = config;
  for (const key of keys) object = object[key] as Record<string, unknown>;
  if (value === undefined) delete object[last];
  else object[last] = value;
};

describe("a value", () => {
  it.each<[string, string, unknown]>([
    ["CONFIG_MISSING_KEY", "gatewayUrl", undefined],
    ["CONFIG_MISSING_KEY", "chains", undefined],
    ["CONFIG_MISSING_KEY", "policy", undefined],
    ["CONFIG_MISSING_KEY", "policy/eth/maxFee", undefined],
    ["CONFIG_MISSING_KEY", "policy/eth/maxPerDay", undefined],
    ["CONFIG_MISSING_KEY", "chains/ethereum/confirmations", undefined],
    ["CONFIG_TYPE", "gatewayUrl", 1],
    ["CONFIG_TYPE", "mnemonic", ["test"]],
    ["CONFIG_TYPE", "encKey", 5],
    ["CONFIG_TYPE", "apiKey", null],
    ["CONFIG_TYPE", "chains", []],
    ["CONFIG_TYPE", "chains/ethereum", "https://one.example"],
    ["CONFIG_TYPE", "chains/ethereum/chainId", "1"],
    ["CONFIG_TYPE", "chains/ethereum/nodes", "https://one.example"],
    ["CONFIG_TYPE", "currencies/eth/decimal", "18"],
    ["CONFIG_TYPE", "policy/eth/allow", receiver],
    ["CONFIG_VALUE", "chains", {}],
    ["CONFIG_VALUE", "chains/ethereum/family", "bitcoin"],
    ["CONFIG_DECIMAL", "chains/ethereum/family", "tron"],
    [
      "CONFIG_VALUE",
      "chains/tron",
      {
        family: "tron",
        chainId: "0x2B6653DC",
        nodes: ["https://x.example"],
        confirmations: "finalized",
      },
    ],
    [
      "CONFIG_VALUE",
      "chains/tron",
      { family: "tron", chainId: "0x2b6653dc", nodes: ["https://x.example"], confirmations: 19 },
    ],
    ["CONFIG_AMOUNT", "policy/usdt-erc20/manualReplaceAbove", "1.0000001"],
    ["CONFIG_VALUE", "chains/ethereum/chainId", 0],
    ["CONFIG_VALUE", "chains/ethereum/nodes", []],
    [
      "CONFIG_VALUE",
      "chains/ethereum/nodes",
      Array.from({ length: 9 }, (_, index) => `https://n${index}.example`),
    ],
    ["CONFIG_VALUE", "chains/ethereum/nodes", ["https://one.example", "https://one.example"]],
    ["CONFIG_VALUE", "chains/ethereum/confirmations", "latest"],
    ["CONFIG_VALUE", "chains/ethereum/confirmations", 0],
    ["CONFIG_VALUE", "chains/ethereum/confirmations", 10_001],
    ["CONFIG_VALUE", "currencies/usdt-erc20/decimal", 37],
    ["CONFIG_VALUE", "currencies/USDT", { chain: "ethereum", decimal: 6, contract: receiver }],
    ["CONFIG_NODE_URL", "chains/ethereum/nodes", ["ws://one.example"]],
    ["CONFIG_NODE_URL", "chains/ethereum/nodes", ["https://…"]],
    ["CONFIG_NODE_URL", "chains/ethereum/nodes", [{ url: "ws://one.example" }]],
    ["CONFIG_PLACEHOLDER", "chains/ethereum/nodes", [{ url: "https://<NODE_KEY>@one.example" }]],
    [
      "CONFIG_VALUE",
      "chains/ethereum/nodes",
      ["https://one.example", { url: "https://one.example", questionsPerHour: 60 }],
    ],
    [
      "CONFIG_VALUE",
      "chains/ethereum/nodes",
      [{ url: "https://one.example", headersFile: "node.headers" }],
    ],
    [
      "CONFIG_VALUE",
      "chains/ethereum/nodes",
      [{ url: "https://one.example", questionsPerHour: 59 }],
    ],
    [
      "CONFIG_UNKNOWN_KEY",
      "chains/ethereum/nodes",
      [{ url: "https://one.example", headers: "x: y" }],
    ],
    [
      "CONFIG_CHAIN_TWICE",
      "chains/main",
      { family: "evm", chainId: 1, nodes: ["https://x.example"], confirmations: 1 },
    ],
    [
      "CONFIG_ASSET_TWICE",
      "currencies/tether",
      { chain: "ethereum", decimal: 6, contract: usdt.toLowerCase() },
    ],
    ["CONFIG_ASSET_TWICE", "currencies/ether", { chain: "ethereum", decimal: 18 }],
    ["CONFIG_CURRENCY_CHAIN", "currencies/eth/chain", "etherium"],
    ["CONFIG_DECIMAL", "currencies/eth/decimal", 6],
    ["CONFIG_CONTRACT", "currencies/usdt-erc20/contract", `${usdt.slice(0, -2)}C7`],
    ["CONFIG_CONTRACT", "currencies/usdt-erc20/contract", "0x…"],
    ["CONFIG_CONTRACT", "currencies/usdt-erc20/contract", `0x${"0".repeat(40)}`],
    [
      "CONFIG_POLICY_CURRENCY",
      "policy/btc",
      { maxPerWithdrawal: "1", maxPerDay: "1", maxFee: "1", maxFeePerDay: "1" },
    ],
    ["CONFIG_AMOUNT", "policy/usdt-erc20/maxPerDay", "1.0000001"],
    ["CONFIG_AMOUNT", "policy/eth/maxFee", "0.0000000000000000001"],
    ["CONFIG_AMOUNT", "policy/eth/maxTip", "0.0000000001"],
    ["CONFIG_AMOUNT", "policy/eth/maxTip", 50],
    ["CONFIG_AMOUNT", "policy/eth/maxPerDay", "1,5"],
    ["CONFIG_AMOUNT", "policy/eth/maxPerDay", "-1"],
    ["CONFIG_AMOUNT", "policy/eth/maxPerDay", "1e3"],
    ["CONFIG_AMOUNT", "policy/eth/maxPerDay", ""],
    ["CONFIG_AMOUNT", "policy/eth/maxPerDay", 20],
    ["CONFIG_AMOUNT", "policy/usdt-erc20/twoApproversAbove", "1.0000001"],
    ["CONFIG_AMOUNT", "policy/eth/twoApproversAbove", 10],
    ["CONFIG_AMOUNT", "policy/usdt-erc20/newDestination", { holdAbove: "0.0000001" }],
    ["CONFIG_MISSING_KEY", "policy/eth/newDestination", {}],
    ["CONFIG_TYPE", "policy/eth/newDestination", "0.5"],
    ["CONFIG_UNKNOWN_KEY", "policy/eth/newDestination", { holdAbove: "1", delayHours: 1 }],
    ["CONFIG_TYPE", "policy/eth/newDestination", { delayMinutes: "60" }],
    ["CONFIG_VALUE", "policy/eth/newDestination", { delayMinutes: 0 }],
    ["CONFIG_VALUE", "policy/eth/newDestination", { delayMinutes: 10_081 }],
    ["CONFIG_ADDRESS", "policy/eth/allow", [receiver.replace("0x70997970C", "0x70997970c")]],
    ["CONFIG_ADDRESS", "policy/eth/deny", ["somebody"]],
    ["CONFIG_GATEWAY_URL", "gatewayUrl", "pay.example.com"],
    ["CONFIG_GATEWAY_URL", "gatewayUrl", "ftp://pay.example.com"],
    ["CONFIG_GATEWAY_URL", "gatewayUrl", "https://pay.example.com/api"],
    ["CONFIG_GATEWAY_URL", "gatewayUrl", "https://me:pw@pay.example.com"],
    ["CONFIG_GATEWAY_URL", "gatewayUrl", "https://pay.example.com?x=1"],
    ["CONFIG_GATEWAY_URL", "gatewayUrl", "https://"],
    ["CONFIG_GATEWAY_PLAINTEXT", "gatewayUrl", "http://pay.example.com"],
    ["CONFIG_GATEWAY_PLAINTEXT", "gatewayUrl", "http://127.0.0.1.example.com"],
    ["CONFIG_GATEWAY_PLAINTEXT", "gatewayUrl", "http://10.0.0.1:8080"],
    ["CONFIG_SECRET_MISSING", "mnemonic", undefined],
    ["CONFIG_SECRET_MISSING", "encKey", ""],
    ["CONFIG_PLACEHOLDER", "mnemonic", "<MNEMONIC>"],
    ["CONFIG_PLACEHOLDER", "apiKey", "<API_KEY>"],
    ["CONFIG_PLACEHOLDER", "encKey", "<ENCRYPTION_KEY>"],
  ])("of config.json: %s: %s", (code, place, value) => {
    const error = faultAfter((config) => path(config, place, value));
    expect(error.code).toBe(code);
    expect(error.effect).toBe("none");
    expect(error.message).toContain(dir);
  });

  it.each<[string, unknown]>([
    ["chains/ethereum/confirmations", 12],
    ["chains/ethereum/nodes", ["http://10.0.0.1:8545/key"]],
    [
      "chains/ethereum/nodes",
      [{ url: "https://one.example", headersFile: "/etc/node.headers", questionsPerHour: 60 }],
    ],
    ["policy/usdt-erc20/maxPerDay", "1.000001"],
    ["policy/eth/maxFee", "0.000000000000000001"],
    ["policy/eth/maxPerHour", undefined],
    ["policy/eth/holdAbove", "0"],
    ["policy/eth/twoApproversAbove", "0"],
    ["policy/usdt-erc20/newDestination", { holdAbove: "0.000001" }],
    ["policy/eth/newDestination", { delayMinutes: 1 }],
    ["policy/eth/newDestination", { holdAbove: "0", delayMinutes: 10_080 }],
    ["policy/eth/allow", [receiver.toLowerCase()]],
    ["currencies/usdt-erc20/decimal", 0],
    [
      "currencies/weth",
      { chain: "ethereum", decimal: 18, contract: "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2" },
    ],
  ])("of config.json is taken: %s", (place, value) => {
    const config = sample();
    if (place === "currencies/usdt-erc20/decimal") path(config, "policy/usdt-erc20", undefined);
    path(config, place, value);
    expect(() => readConfig(write(JSON.stringify(config)), every)).not.toThrow();
  });

  it("config.json may have one network of a family whose transactions name none, and a second one of it is refused", () => {
    const config = sample();
    const tron = {
      family: "tron",
      chainId: "0x2b6653dc",
      nodes: ["https://t.example"],
      confirmations: "finalized",
    };
    config.chains.tron = tron;
    config.currencies.trx = { chain: "tron", decimal: 6 };
    config.policy.trx = {
      maxPerWithdrawal: "5",
      maxPerDay: "50",
      maxFee: "45",
      maxFeePerDay: "2000",
      manualReplaceAbove: "3",
    };
    const { chains, policy } = readConfig(write(JSON.stringify(config)), every).settings;
    expect(chains.tron).toEqual(tron);
    expect(policy.trx!.manualReplaceAbove).toBe("3");
    const error = faultAfter((two) => {
      two.chains.tron = tron;
      two.chains.nile = { ...tron, chainId: "0xcd8690dc" };
    });
    expect([error.code, error.message.includes("name no network")]).toEqual(["CONFIG_VALUE", true]);
    const xrp = {
      family: "xrp",
      chainId: 0,
      nodes: ["https://x.example"],
      confirmations: "finalized",
    };
    config.chains.xrp = xrp;
    expect(readConfig(write(JSON.stringify(config)), every).settings.chains.xrp).toEqual(xrp);
    const other = faultAfter((two) => {
      two.chains.xrp = xrp;
      two.chains.xrptest = { ...xrp, chainId: 1 };
    });
    expect([other.code, other.message.includes("name no network")]).toEqual(["CONFIG_VALUE", true]);
  });

  it.each([
    [
      "policy/eth/allow",
      ["TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"],
      "CONFIG_ADDRESS",
      "another family of chains, tron, and this chain is of evm",
    ],
    [
      "policy/trx/allow",
      [receiver],
      "CONFIG_ADDRESS",
      "another family of chains, evm, and this chain is of tron",
    ],
    ["policy/trx/maxTip", "5", "CONFIG_VALUE", "leave it out"],
    ["chains/tron/feeModel", "ethereum", "CONFIG_VALUE", "leave it out"],
    ["chains/tron/confirmations", 20, "CONFIG_VALUE", 'must be "finalized"'],
  ])(
    "an error says in words what is wrong beside a chain that ends by expiry: %s %s",
    (place, value, code, words) => {
      const change = (config: ReturnType<typeof sample>): void => {
        config.chains.tron = {
          family: "tron",
          chainId: "0x2b6653dc",
          nodes: ["https://t.example"],
          confirmations: "finalized",
        };
        config.currencies.trx = { chain: "tron", decimal: 6 };
        config.policy.trx = {
          maxPerWithdrawal: "5",
          maxPerDay: "50",
          maxFee: "45",
          maxFeePerDay: "2000",
        };
      };
      const right = sample();
      change(right);
      expect(() => readConfig(write(JSON.stringify(right)), every)).not.toThrow();
      const error = faultAfter((config) => {
        change(config);
        path(config, place, value);
      });
      expect([error.code, error.message]).toEqual([code, expect.stringContaining(words)]);
    },
  );

  it("an error names every placeholder at once", () => {
    const error = faultAfter((config) =>
      Object.assign(config, { mnemonic: "<MNEMONIC>", encKey: "<ENCRYPTION_KEY>" }),
    );
    expect(error.message).toContain("mnemonic (<MNEMONIC>), encKey (<ENCRYPTION_KEY>)");
    expect(error.message).not.toContain("apiKey");
  });
});
