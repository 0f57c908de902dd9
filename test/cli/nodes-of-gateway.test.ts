/**
 * Nodes that came in the gateway's file: marked there, named to the operator until replaced or
 * confirmed, and until then another attempt on a chain where only expiry excludes is an operator's.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readConfig } from "../../agent/config/config.ts";
import { listChainsOnGatewayNodes } from "../../agent/config/nodes-of-gateway.ts";
import { problemsOf } from "../../cli/status/problems.ts";
import { parseConfig } from "../../gateway/config/config.ts";
import { agentConfigText } from "../../gateway/operator/agent-config.ts";
import { describeWrittenAgentConfig } from "../../gateway/operator/merchants.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import { Kit } from "../../lab/kit/signer-kit.ts";
import { waitingKit, waitingSettings } from "../support/waiting-kit.ts";

const folder = mkdtempSync(join(tmpdir(), "nodes-of-gateway-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const nodes = ["https://one.example", "https://two.example"];
const usual = { decimal: 6, name: "X", symbol: "X", minPaymentAmount: "1", minWithdrawAmount: "5" };

interface Made {
  chains: Record<string, { nodes: readonly string[]; nodesFrom?: string }>;
}

function made(hasNodes = true): Made {
  const chains = {
    mine: { preset: "tron", nodes },
    other: { family: "evm", chainId: 777, nodes, confirmations: 5 },
  };
  const currencies = {
    trx: { ...usual, chain: "mine" },
    ether: { ...usual, chain: "other", decimal: 18 },
  };
  const config = parseConfig(
    JSON.stringify({ ...testConfig, chains, currencies, prices: {} }),
    folder,
    0,
  );
  return JSON.parse(agentConfigText(config, hasNodes)) as Made;
}

function ofGateway(file: Made): readonly string[] {
  const path = join(folder, "config.json");
  writeFileSync(path, JSON.stringify(file), { mode: 0o600 });
  return listChainsOnGatewayNodes(readConfig(path, { requireSecrets: [] }).settings);
}

describe("the file that the gateway makes", () => {
  it("marks its nodes, and the operator's line takes the mark away", () => {
    const file = made();
    expect(ofGateway(file)).toEqual(["mine", "other"]);
    file.chains.mine!.nodesFrom = "own";
    file.chains.other!.nodesFrom = "own";
    expect(ofGateway(file)).toEqual([]);
  });

  it("without the mark counts as marked where only expiry excludes, so that leaving it out gains nothing", () => {
    const file = made();
    for (const chain of Object.values(file.chains)) delete chain.nodesFrom;
    expect(ofGateway(file)).toEqual(["mine"]);
  });

  it("can leave the nodes to the merchant, and the reader names each line that is to be filled in", () => {
    const file = made(false);
    expect(() => ofGateway(file)).toThrow(
      "chains.mine.nodes is empty: write the addresses of your own nodes there",
    );
    expect(describeWrittenAgentConfig("f", JSON.stringify(file, null, 2))).toContain(
      "fills in nodes of their own",
    );
    for (const chain of Object.values(file.chains)) chain.nodes = nodes;
    expect(ofGateway(file)).toEqual([]);
  });

  it("takes no other word for the mark", () => {
    const file = made();
    file.chains.mine!.nodesFrom = "mine";
    expect(() => ofGateway(file)).toThrow('chains.mine.nodesFrom must be "own" or "gateway"');
  });
});

describe("nodes of the gateway", () => {
  const chains = { tron: { ...waitingSettings.chains.tron!, nodesFrom: "gateway" as const } };

  it("leave another attempt to an operator, whatever the amount, and status names the chain", () => {
    const kit = waitingKit({ settings: { ...waitingSettings, chains } });
    const id = kit.payout({ amount: "0.000001" });
    kit.callVoid(id);
    expect(kit.next(id)).toMatchObject({ ok: false, code: "WITHDRAWAL_WAITS_FOR_OPERATOR" });
    const { status } = kit.operate("status");
    expect(status.nodesOfGateway).toEqual(["tron"]);
    const found = problemsOf(status, {
      nowMs: kit.now,
      config: { is: "away" },
      isUnderUnits: false,
    } as never);
    expect(found.find(({ code }) => code === "AGENT_NODES_OF_GATEWAY")).toMatchObject({
      gravity: "warning",
      isWarning: true,
    });
    expect(found.map(({ code }) => code)).toContain("WITHDRAWAL_WAITS_FOR_OPERATOR");
    expect(kit.order("replace", id).ok).toBe(true);
    expect(kit.next(id).ok).toBe(true);
  });

  it("that are the merchant's own leave it to the courier, and status names no chain", () => {
    const kit = waitingKit();
    const id = kit.payout();
    kit.callVoid(id);
    expect(kit.next(id).ok).toBe(true);
    expect(kit.operate("status").status.nodesOfGateway).toEqual([]);
  });

  it("are named where a slot excludes too, and there no operator is asked", () => {
    const kit = new Kit();
    const evm = Object.fromEntries(
      Object.entries(kit.settings.chains).map(([name, chain]) => [
        name,
        { ...chain, nodesFrom: "gateway" as const },
      ]),
    );
    kit.edited = { ...kit.settings, chains: evm };
    kit.start();
    kit.handshake();
    expect(kit.operate("status").status.nodesOfGateway).toEqual(["local"]);
    expect(
      kit
        .operate("status")
        .status.limits.every(({ manualReplaceAbove }) => manualReplaceAbove === ""),
    ).toBe(true);
  });
});
