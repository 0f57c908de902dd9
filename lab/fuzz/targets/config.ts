/** config.json of the agent and gateway.config.json, as bytes of a file. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../../agent/config/config.ts";
import { withoutMembers } from "../../../agent/config/text.ts";
import { parseConfig } from "../../../gateway/config/config.ts";
import { testConfig } from "../../kit/gateway-server.ts";
import type { SeededRandom } from "../../kit/seeded.ts";
import { malformedText } from "../malform.ts";
import { bytes, codeOr, must, type Target, textOf } from "../target.ts";
import { receiver } from "./honest.ts";

const secrets = ["mnemonic", "apiKey", "encKey"] as const;
const contract = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
const agentConfig = {
  gatewayUrl: "https://pay.example.com",
  ...{
    mnemonic: "test test junk",
    apiKey: "k_0011223344556677.secret.00",
    encKey: "0f".repeat(32),
  },
  chains: {
    one: {
      family: "evm",
      chainId: 1,
      nodes: ["https://one.example", "http://127.0.0.1:8545"],
      confirmations: "finalized",
    },
  },
  currencies: { eth: { chain: "one", decimal: 18 }, usdt: { chain: "one", decimal: 6, contract } },
  policy: {
    eth: {
      maxPerWithdrawal: "1.5",
      maxPerHour: "5",
      maxPerDay: "20",
      maxFee: "0.01",
      maxFeePerDay: "0.2",
      holdAbove: "1",
      twoApproversAbove: "1.2",
      newDestination: { holdAbove: "0.5", delayMinutes: 60 },
      allow: [receiver],
      deny: [],
    },
    usdt: { maxPerWithdrawal: "5000", maxPerDay: "50000", maxFee: "0.01", maxFeePerDay: "0.2" },
  },
};

/** The agent's. A secret comes out as the bytes that the engine's parser reads there. */
export function openAgentConfig(): Target {
  const folder = mkdtempSync(join(tmpdir(), "autowithdraw-fuzz-"));
  const path = join(folder, "config.json");
  return {
    name: "config",
    words: [
      '"mnemonic":',
      '"encKey":"',
      "\\u0041",
      "\\ud83d\\ude00",
      '"chains":{',
      '"finalized"',
      '"contract":',
      "https://",
      '"0.5"',
      "<MNEMONIC>",
      ",",
      "\n",
    ],
    seeds: [bytes(JSON.stringify(agentConfig, null, 2)), bytes(JSON.stringify(agentConfig))],
    make: (random: SeededRandom) => bytes(malformedText(agentConfig, random)),
    run(input) {
      writeFileSync(path, input, { mode: 0o600 });
      const given = codeOr(() => readConfig(path, { requireSecrets: [] }));
      if ("code" in given) {
        must(given.code.startsWith("CONFIG_"), `refused with ${given.code}`);
        return;
      }
      const { settings, secrets: found } = given.value;
      const said = JSON.parse(textOf(input)) as typeof agentConfig;
      for (const name of secrets) {
        const secret = found[name];
        if (secret !== undefined)
          must(Buffer.from(said[name]).equals(secret), `${name} is not what stands there`);
        else
          must(
            said[name] === undefined ||
              said[name] === "" ||
              (said[name].startsWith("<") && said[name].endsWith(">")),
            `${name} was not taken`,
          );
      }
      must(
        Object.keys(settings.policy).join() === Object.keys(said.policy).join(),
        "a policy was added or lost",
      );
      for (const [id, { chain }] of Object.entries(settings.currencies))
        must(Object.hasOwn(settings.chains, chain), `${id} has no chain`);
      const scrubbed = JSON.parse(textOf(withoutMembers(input, secrets))) as Record<
        string,
        unknown
      >;
      must(
        secrets.every((name) => !Object.hasOwn(scrubbed, name)) &&
          scrubbed.gatewayUrl === said.gatewayUrl,
        "scrubbed wrongly",
      );
    },
    shapes: {
      currencies: {
        from: 20,
        of: (size) => bytes(JSON.stringify({ ...agentConfig, policy: {}, currencies: many(size) })),
      },
      addresses: {
        from: 50,
        of: (size) =>
          bytes(
            JSON.stringify({
              ...agentConfig,
              policy: {
                eth: { ...agentConfig.policy.eth, deny: Array.from({ length: size }, addressOf) },
              },
            }),
          ),
      },
      secret: {
        from: 4_000,
        of: (size) => bytes(JSON.stringify({ ...agentConfig, mnemonic: "\u00e9".repeat(size) })),
      },
      blanks: { from: 4_000, of: (size) => bytes(`{${" \n".repeat(size)}`) },
      members: {
        from: 100,
        of: (size) =>
          bytes(
            `{${Array.from({ length: size }, (_, each) => `"mnemonic${each}":[[{}]]`).join()}}`,
          ),
      },
      unended: { from: 1_000, of: (size) => bytes(`{"mnemonic":"${"\\".repeat(size * 2)}`) },
    },
    async close() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const addressOf = (_: unknown, each: number): string =>
  `0x${(each + 1).toString(16).padStart(40, "0")}`;
const many = (size: number): object =>
  Object.fromEntries(
    Array.from({ length: size }, (_, each) => [
      `c${each}`,
      { chain: "one", decimal: 6, contract: addressOf(0, each) },
    ]),
  );

/** The gateway's. */
export const gatewayConfig: Target = {
  name: "gateway-config",
  words: [
    '"limits":{"burst":1}',
    '"trustProxy":["10.0.0.0/8"]',
    '"confirmations":"finalized"',
    '"chains":{',
    '"0.5"',
    "sqlite:",
    "https://",
  ],
  seeds: [bytes(JSON.stringify(testConfig))],
  make: (random: SeededRandom) =>
    bytes(
      malformedText(
        {
          ...testConfig,
          trustProxy: ["127.0.0.1", "10.0.0.0/8"],
          limits: { burst: 2 },
          lifetimes: { depositMinutes: 5 },
        },
        random,
      ),
    ),
  run(input) {
    const given = codeOr(() => parseConfig(input, "/", 0));
    if ("code" in given) return;
    const said = JSON.parse(textOf(input)) as typeof testConfig;
    must(
      Object.keys(given.value.currencies).sort().join() ===
        Object.keys(said.currencies).sort().join(),
      "a currency was added or lost",
    );
    for (const [id, { decimal, chain }] of Object.entries(given.value.currencies)) {
      must(Object.hasOwn(given.value.chains, chain), `${id} has no chain`);
      must(
        decimal === (said.currencies as Record<string, { decimal: number }>)[id]?.decimal,
        `${id} has other decimals`,
      );
    }
  },
  shapes: {
    currencies: {
      from: 8,
      of: (size) =>
        bytes(
          JSON.stringify({
            ...testConfig,
            prices: { manual: {} },
            currencies: Object.fromEntries(
              Array.from({ length: size }, (_, each) => [
                `c${each}`,
                { ...testConfig.currencies.usdt, contract: addressOf(0, each) },
              ]),
            ),
          }),
        ),
    },
  },
};
