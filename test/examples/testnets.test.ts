/**
 * The configurations of examples/testnets, read by the programs' own readers: refused as they
 * stand, taken once the placeholders are replaced, and agent and gateway are of one mind.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type Config, readConfig } from "../../agent/config/config.ts";
import { families } from "../../chains/families.ts";
import { chainPresets, findCurrencyPreset } from "../../chains/presets.ts";
import { type GatewayConfig, parseConfig } from "../../gateway/config/config.ts";
import { agentConfigText } from "../../gateway/operator/agent-config.ts";
import { parseAmount } from "../../protocol/amount.ts";

const folder = mkdtempSync(join(tmpdir(), "testnets-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const textOf = (name: string): string =>
  readFileSync(new URL(`../../examples/testnets/${name}`, import.meta.url), "utf8");
const nodes = {
  "<SEPOLIA_NODE>": "https://sepolia.example/v3",
  "<NILE_NODE>": "https://KEY@nile.example",
};
const secrets = {
  "<MNEMONIC>": `${"test ".repeat(11)}junk`,
  "<API_KEY>": "an-api-key",
  "<ENCRYPTION_KEY>": "ab".repeat(32),
};

const filled = (name: string, values: Readonly<Record<string, string>>): string =>
  Object.entries(values).reduce(
    (text, [placeholder, value]) => text.replaceAll(placeholder, value),
    textOf(name),
  );

const gateway = (values: Readonly<Record<string, string>>): GatewayConfig =>
  parseConfig(filled("gateway.config.json", values), folder, 0);

function agent(values: Readonly<Record<string, string>>): Config {
  const path = join(folder, "config.json");
  writeFileSync(path, filled("config.json", values), { mode: 0o600 });
  return readConfig(path, { requireSecrets: ["mnemonic", "apiKey", "encKey"] });
}

describe("the configurations of examples/testnets", () => {
  it("each reader refuses a placeholder that was left, and names it", () => {
    expect(() => gateway({})).toThrow("<SEPOLIA_NODE> in config.chains.sepolia.nodes[0]");
    expect(() => gateway({ "<SEPOLIA_NODE>": nodes["<SEPOLIA_NODE>"] })).toThrow(
      "<NILE_NODE> in config.chains.nile.nodes[0]",
    );
    expect(() => agent(secrets)).toThrow("<SEPOLIA_NODE> in chains.sepolia.nodes[0]");
    expect(() => agent(nodes)).toThrow(
      "mnemonic (<MNEMONIC>), apiKey (<API_KEY>), encKey (<ENCRYPTION_KEY>)",
    );
  });

  it("the placeholders are those that the README names, and no other", () => {
    const used = [
      ...`${textOf("gateway.config.json")}${textOf("config.json")}`.matchAll(/<[A-Z_]+>/g),
    ].map(([one]) => one);
    expect(new Set(used)).toEqual(new Set(Object.keys({ ...nodes, ...secrets })));
    expect(new Set(textOf("README.md").match(/<[A-Z_]+>/g))).toEqual(new Set(used));
  });

  it("the README names public nodes and a faucet for each network, and both readers take every named node", () => {
    const rows = new Map(
      [...textOf("README.md").matchAll(/^\| (Sepolia|Tron Nile) \| (.*?) \| (.*?) \|$/gm)].map(
        (row) => [row[1], row],
      ),
    );
    const namedIn = (text = ""): string[] =>
      [...text.matchAll(/`(https:[^`]+)`/g)].map(([, url = ""]) => url);
    for (const [network, placeholder] of [
      ["Sepolia", "<SEPOLIA_NODE>"],
      ["Tron Nile", "<NILE_NODE>"],
    ] as const) {
      const [, , urls, faucets] = rows.get(network) ?? [];
      expect([namedIn(urls).length > 0, namedIn(faucets).length > 0]).toEqual([true, true]);
      for (const url of namedIn(urls)) {
        const values = { ...nodes, ...secrets, [placeholder]: url };
        expect(Object.values(gateway(values).chains).map((chain) => chain.nodes)).toContainEqual([
          url,
        ]);
        expect(
          Object.values(agent(values).settings.chains).map((chain) => chain.nodes),
        ).toContainEqual([url]);
      }
    }
  });

  it("agent and gateway have the same chains, currencies and address, all of them by preset and of test networks", () => {
    const service = gateway(nodes);
    const { settings } = agent({ ...nodes, ...secrets });
    const made = JSON.parse(agentConfigText(service)) as {
      chains: Record<string, object>;
      currencies: Record<string, object>;
    };
    const path = join(folder, "made.json");
    writeFileSync(path, agentConfigText(service).replace("<NODE_KEY>", "KEY"), { mode: 0o600 });
    const own = Object.fromEntries(
      Object.entries(settings.chains).map(([name, chain]) => [
        name,
        { ...chain, nodesFrom: "gateway" },
      ]),
    );
    const wanted = readConfig(path, { requireSecrets: [] }).settings;
    expect({ ...settings, chains: own, policy: {} }).toEqual({ ...wanted, policy: {} });
    expect(Object.keys(settings.policy)).toEqual(Object.keys(made.currencies));
    for (const { preset } of Object.values(service.chains))
      expect([preset, chainPresets[preset]?.isTest]).toEqual([preset, true]);
    for (const { preset } of Object.values(service.currencies))
      expect(findCurrencyPreset(preset)).toBeDefined();
  });

  it("every policy lets the README's first withdrawals out without an operator, and no fee above the preset's ceiling", () => {
    const { settings } = agent({ ...nodes, ...secrets });
    const service = gateway(nodes);
    const orders = [...textOf("README.md").matchAll(/withdraw test-\d ([a-z0-9-]+) ([\d.]+)/g)].map(
      ([, ...order]) => order,
    );
    expect(orders.map(([id]) => id)).toEqual(["eth-sepolia", "trx-nile"]);
    const units = (amount: string, decimal: number): bigint => {
      const parsed = parseAmount(amount, decimal);
      return parsed.ok ? parsed.units : -1n;
    };
    for (const [id = "", amount = ""] of orders) {
      const { decimal, minWithdrawAmount } = service.currencies[id]!;
      const { holdAbove = "0", maxPerWithdrawal } = settings.policy[id]!;
      const [paid, least, held, most] = [
        amount,
        minWithdrawAmount,
        holdAbove,
        maxPerWithdrawal,
      ].map((one) => units(one, decimal));
      expect([paid! >= least!, paid! <= held!, held! <= most!], `${id} ${amount}`).toEqual([
        true,
        true,
        true,
      ]);
    }
    for (const [id, policy] of Object.entries(settings.policy)) {
      const chain = service.chains[service.currencies[id]!.chain]!;
      const { fees } = families[chain.family];
      const preset = chainPresets[chain.preset]!;
      for (const key of ["maxFee", "maxFeePerDay"] as const)
        expect(
          units(policy[key], fees.decimal) <= units(preset[key], fees.decimal),
          `${id} ${key}`,
        ).toBe(true);
    }
  });
});
