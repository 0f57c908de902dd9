/** Presets in gateway.config.json, in the config.json made from it, and in one written by hand. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type Config, readConfig } from "../../agent/config/config.ts";
import { addressSpaceNames } from "../../chains/families.ts";
import { mainNetworkByAddressSpace } from "../../chains/network-names.ts";
import { chainPresets, currencyPresets } from "../../chains/presets.ts";
import { parseConfig } from "../../gateway/config/config.ts";
import { agentConfigText } from "../../gateway/operator/agent-config.ts";
import { initFolder } from "../../gateway/operator/folder.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";

const folder = mkdtempSync(join(tmpdir(), "preset-configs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const nodes = ["https://one.example", "https://two.example"];
const usdtOnBsc = "0x55d398326f99059fF775485246999027B3197955";

const gateway = (chains: object, currencies: object, change: object = {}) =>
  parseConfig(
    JSON.stringify({ ...testConfig, chains, currencies, prices: {}, ...change }),
    folder,
    0,
  );

function agent(change: object): Config["settings"] {
  const path = join(folder, "config.json");
  const fees = { maxPerWithdrawal: "1", maxPerDay: "1", maxFee: "0.01", maxFeePerDay: "0.1" };
  const policy = { "usdt-bep20": fees };
  writeFileSync(
    path,
    JSON.stringify({ gatewayUrl: "https://pay.example.com", policy, ...change }),
    { mode: 0o600 },
  );
  return readConfig(path, { requireSecrets: [] }).settings;
}

describe("the first configuration that init writes", () => {
  it("names its chain and currencies by presets, so a merchant gets the chain's own fees", () => {
    const made = initFolder(join(folder, "first"), silentLog);
    const written = readFileSync(made.config, "utf8");
    const { chains, currencies } = JSON.parse(written) as Record<
      string,
      Record<string, { preset?: string }>
    >;
    for (const one of [...Object.values(chains ?? {}), ...Object.values(currencies ?? {})])
      expect(one.preset).toMatch(/./);
    const config = parseConfig(written, join(folder, "first"), 0);
    expect(Object.keys(config.currencies)).toEqual(["eth", "usdt-erc20"]);
    expect(config.currencies["usdt-erc20"]).toMatchObject({
      decimal: 6,
      contract: "0xdAC17F958D2ee523a2206206994597C13D831ec7",
    });
  });
});

describe("the agent's configuration with presets", () => {
  const chains = { bsc: { preset: "bnb-smart-chain", nodes } };
  const currencies = { "usdt-bep20": { preset: "usdt-bep20" } };

  it("a preset in a configuration reads as the lines that they stand for, USDT on BNB Smart Chain with its 18 decimals", () => {
    const read = agent({ chains, currencies });
    const lines = { family: "evm", chainId: 56, confirmations: "finalized", feeModel: "ethereum" };
    expect(read.chains).toEqual({ bsc: { ...lines, nodes } });
    expect(read.currencies).toEqual({
      "usdt-bep20": { chain: "bsc", decimal: 18, contract: usdtOnBsc },
    });
    expect(agent({ chains: { bsc: { ...lines, nodes } }, currencies: read.currencies })).toEqual(
      read,
    );
  });

  it("a configuration's fault names a mistyped preset, a currency of another chain and a model of fees that is none", () => {
    const codeOf = (change: object): unknown => {
      try {
        return agent({ chains, currencies, ...change });
      } catch (error) {
        return [
          (error as { code: string }).code,
          (error as { context: { hint?: string } }).context.hint,
        ];
      }
    };
    expect(codeOf({ chains: { bsc: { preset: "bsc-testne", nodes } } })).toEqual([
      "CONFIG_PRESET",
      "did you mean bsc-testnet?",
    ]);
    expect(codeOf({ chains: { bsc: { preset: "base", nodes } } })).toMatchObject([
      "CONFIG_PRESET",
      undefined,
    ]);
    const onBase = {
      chains: { bsc: { preset: "base", nodes } },
      currencies: { "usdt-bep20": { preset: "usdt-bep20", chain: "bsc" } },
    };
    expect(codeOf(onBase)).toMatchObject(["CONFIG_PRESET", undefined]);
    expect(codeOf({ chains: { bsc: { ...chains.bsc, feeModel: "opstack" } } })).toEqual([
      "CONFIG_VALUE",
      "did you mean op-stack?",
    ]);
    expect(codeOf({ chains: { bsc: { ...chains.bsc, feeModel: "op-stack" } } })).toMatchObject({
      chains: { bsc: { feeModel: "op-stack" } },
    });
  });
});

describe("the gateway's configuration with presets", () => {
  it("a currency by preset has name, ticker, explorer and least amounts from them, and any line beside them wins", () => {
    const currencies = {
      "usdc-base": { preset: "usdc-base", minPaymentAmount: "3" },
      "eth-base": { preset: "eth-base" },
    };
    const read = gateway({ mine: { preset: "base", nodes } }, currencies);
    expect(read.chains.mine).toMatchObject({
      chainId: 8453,
      network: "eip155:8453",
      feeModel: "op-stack",
      preset: "base",
    });
    expect(read.chains.mine?.explorer).toBe("https://basescan.org/tx/");
    expect(read.currencies["usdc-base"]).toMatchObject({
      symbol: "USDC",
      decimal: 6,
      minPaymentAmount: "3",
      chain: "mine",
    });
    expect(read.currencies["eth-base"]).toMatchObject({
      symbol: "ETH",
      decimal: 18,
      contract: "",
      minPaymentAmount: "0.001",
    });
    expect(() => gateway({ mine: { preset: "bass", nodes } }, currencies)).toThrow(
      "config.chains.mine.preset",
    );
  });

  it("writes presets as presets for the agent, with the lines that differ and the ceilings of fees of its chain", () => {
    const chains = { mine: { preset: "polygon", nodes, confirmations: 64 } };
    const text = agentConfigText(gateway(chains, { "usdc-polygon": { preset: "usdc-polygon" } }));
    const made = JSON.parse(text) as {
      chains: object;
      currencies: object;
      policy: Record<string, object>;
    };
    expect(made.chains).toEqual({
      mine: { preset: "polygon", nodes, nodesFrom: "gateway", confirmations: 64 },
    });
    expect(made.currencies).toEqual({ "usdc-polygon": { preset: "usdc-polygon", chain: "mine" } });
    expect(made.policy["usdc-polygon"]).toMatchObject({ maxFee: "0.5", maxFeePerDay: "20" });
  });

  it("writes ceilings of fees that a payment fits under also for a chain without a preset, by the chain's family", () => {
    const usual = {
      decimal: 6,
      name: "X",
      symbol: "X",
      minPaymentAmount: "1",
      minWithdrawAmount: "1",
    };
    const chains = {
      mine: { family: "tron", chainId: "0x0000abcd", nodes, confirmations: "finalized" },
      other: { family: "evm", chainId: 777, nodes, confirmations: 5 },
    };
    const currencies = {
      coin: { ...usual, chain: "mine" },
      ether: { ...usual, chain: "other", decimal: 18 },
    };
    const { policy } = JSON.parse(agentConfigText(gateway(chains, currencies))) as {
      policy: Record<string, object>;
    };
    const { maxFee, maxFeePerDay } = chainPresets.tron!;
    expect(policy.coin).toMatchObject({ maxFee, maxFeePerDay });
    expect(policy.ether).toMatchObject({ maxFee: "0.01", maxFeePerDay: "0.2" });
  });

  it("writes a tenth of the largest withdrawal as manualReplaceAbove where payments end by expiry, and nowhere else; the agent takes the file", () => {
    const usual = {
      decimal: 6,
      name: "X",
      symbol: "X",
      minPaymentAmount: "1",
      minWithdrawAmount: "5",
    };
    const chains = {
      mine: { preset: "tron", nodes },
      other: { family: "evm", chainId: 777, nodes, confirmations: 5 },
    };
    const contract = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
    const currencies = {
      trx: { ...usual, chain: "mine" },
      token: { ...usual, chain: "mine", contract },
      ether: { ...usual, chain: "other", decimal: 18 },
    };
    const manual = { trx: { usd: "0.25", eur: "0.2", try: "8" } };
    const path = join(folder, "with-waiting.json");
    writeFileSync(path, agentConfigText(gateway(chains, currencies, { prices: { manual } })), {
      mode: 0o600,
    });
    const { policy } = readConfig(path, { requireSecrets: [] }).settings;
    expect(policy.trx).toMatchObject({ maxPerWithdrawal: "20000", manualReplaceAbove: "2000" });
    expect(policy.token).toMatchObject({ maxPerWithdrawal: "5000", manualReplaceAbove: "500" });
    expect(policy.ether?.maxPerWithdrawal).toBe("5000");
    expect(policy.ether?.manualReplaceAbove).toBeUndefined();
  });

  it("writes a file that the agent takes for each pair of presets, in both orders, and for each pair of families", () => {
    const preset = new Set(Object.values(chainPresets).map(({ lines }) => lines.family));
    const without = addressSpaceNames.filter((name) => !preset.has(name));
    expect(without).toEqual(expect.arrayContaining(["bitcoinregtest", "litecoinregtest"]));
    const forms: Readonly<Record<string, object>> = {
      ...Object.fromEntries(Object.keys(chainPresets).map((preset) => [preset, { preset, nodes }])),
      ...Object.fromEntries(
        without.map((family) => [
          family,
          {
            family,
            chainId: mainNetworkByAddressSpace[family].split(":")[1],
            confirmations: 6,
            nodes,
          },
        ]),
      ),
    };
    const path = join(folder, "pair.json");
    const coin = {
      decimal: 8,
      name: "C",
      symbol: "C",
      minPaymentAmount: "1",
      minWithdrawAmount: "1",
    };
    const currenciesOf = (chain: string): readonly (readonly [id: string, lines: object])[] => {
      const named = Object.entries(currencyPresets).filter(([, one]) => one.chain === chain);
      if (chainPresets[chain] === undefined) return [[`coin-${chain}`, { ...coin, chain }]];
      return named.map(([id]) => [id, { preset: id, chain }]);
    };
    const left: string[] = [];
    const families = new Set<string>();
    for (const first of Object.keys(forms)) {
      for (const second of Object.keys(forms)) {
        const pair = [...new Set([first, second])];
        const chains = Object.fromEntries(pair.map((name) => [name, forms[name]]));
        writeFileSync(
          path,
          agentConfigText(gateway(chains, Object.fromEntries(pair.flatMap(currenciesOf)))),
          { mode: 0o600 },
        );
        const { chains: kept } = readConfig(path, { requireSecrets: [] }).settings;
        if (kept[second] === undefined) left.push(`${second} after ${first}`);
        for (const { family } of Object.values(kept)) families.add(family);
      }
    }
    expect(left).toEqual([
      ...[
        "tron-nile after tron",
        "tron-shasta after tron",
        "tron after tron-nile",
        "tron-shasta after tron-nile",
      ],
      ...[
        "tron after tron-shasta",
        "tron-nile after tron-shasta",
        "xrp-testnet after xrp",
        "xrp after xrp-testnet",
      ],
    ]);
    expect(families).toEqual(new Set(addressSpaceNames));
  });
});
