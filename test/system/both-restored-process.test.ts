/**
 * Gateway and agent of real processes are both restored to before a payment on Tron, where no count
 * and no coin excludes a second one, and nobody orders a recovery. The shop asks again for what it
 * misses: nothing is paid twice, and the operator's two commands end what waits.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { TronWeb } from "tronweb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Kit, projectRoot, startKit } from "../../lab/kit/kit.ts";
import { stop, until } from "../../lab/kit/processes.ts";
import { createShop, type Shop } from "../../lab/kit/shop.ts";
import { startTronProcess, type TronProcess } from "../../lab/tron-node/process.ts";
import { startsTheBuild } from "../support/built.ts";
import { inhabitant } from "../support/tron-network.ts";

const waitMs = 90_000;
const policy = {
  maxPerWithdrawal: "1000",
  maxPerHour: "9000",
  maxPerDay: "9000",
  maxFee: "60",
  maxFeePerDay: "900",
};

startsTheBuild();

describe("gateway and agent, both restored", () => {
  let node: TronProcess;
  let kit: Kit;
  let shop: Shop;

  const receiver = inhabitant("one who is paid once").address;
  const balanceSun = async (): Promise<number> => {
    const body = JSON.stringify({ address: TronWeb.address.toHex(receiver) });
    const answer = await fetch(`${node.urls[0]}/walletsolidity/getaccount`, {
      method: "POST",
      body,
    });
    return ((await answer.json()) as { balance?: number }).balance ?? 0;
  };
  const said = (): string =>
    `${kit.crypto?.output().slice(-2_000)}\n${kit.gateway?.output().slice(-2_000)}`;

  async function order(orderId: string): Promise<string> {
    const asked = { currency: "trx", amount: "5", receiver, orderId };
    return until(`an answer to ${orderId}`, waitMs, async () => {
      const { transactionId } = await shop.autoWithdraw(asked);
      return transactionId === "" ? undefined : transactionId;
    });
  }

  /** Each look makes a block. */
  function becomes(
    id: string,
    what: string,
    is: (record: { status: number; stage: string }) => boolean,
  ) {
    return until(
      `${id} is ${what}`,
      waitMs,
      async () => {
        await node.control("mine");
        const record = await shop.transaction(id);
        return is(record) ? record : undefined;
      },
      said,
    );
  }

  const folders = (): readonly string[] => [kit.stateDir, dirname(kit.gatewayConfigPath)];
  const copy = (from: string, to: string): void => {
    rmSync(to, { recursive: true, force: true });
    cpSync(from, to, { recursive: true, preserveTimestamps: true });
  };
  const start = async (): Promise<void> => {
    await kit.startGateway(waitMs, ({ checks }) =>
      checks.every(
        ({ name, ok, detail }) => ok || (name === "chain tron" && detail.includes("NODE_STALE")),
      ),
    );
    await kit.startCrypto();
  };

  beforeAll(async () => {
    const options = { fronts: [{}, {}], startAtMs: Date.now() - 3_600_000 };
    node = await startTronProcess(
      options,
      join(projectRoot, "dist", "lab", "tron-node", "command.js"),
    );
    const common = {
      chain: "tron",
      decimal: 6,
      minPaymentAmount: "1",
      minWithdrawAmount: "0.1",
      market: "",
    };
    kit = await startKit({
      alsoServes: {
        chains: {
          tron: {
            family: "tron",
            chainId: node.chainId,
            nodes: node.urls,
            confirmations: "finalized",
          },
        },
        currencies: { trx: { ...common, name: "TRON", symbol: "TRX" } },
      },
    });
    const config = JSON.parse(readFileSync(kit.configPath, "utf8")) as {
      policy: Record<string, object>;
      chains: Record<string, object>;
    };
    config.chains.tron = { ...config.chains.tron, nodesFrom: "own" };
    config.policy.trx = policy;
    writeFileSync(kit.configPath, JSON.stringify(config), { mode: 0o600 });
    await kit.startGateway(waitMs, ({ checks }) =>
      checks.every(({ name, ok }) => ok || name === "chain tron"),
    );
    const paired = await kit.pair();
    expect(paired.code, paired.output).toBe(0);
    const hotWallet =
      /T[1-9A-HJ-NP-Za-km-z]{33}/.exec((await kit.cli("address", "trx")).output)?.[0] ?? "";
    await node.control("fund", { address: hotWallet, sun: "1000000000" });
    await node.control("mine", { count: 25 });
    await kit.startCrypto();
    shop = createShop(kit);
  }, 240_000);

  afterAll(async () => {
    await kit?.close();
    await node?.stop();
  });

  it("pay an order once that the shop asks for again, and go on with another of the same content when an operator says so", {
    timeout: 400_000,
  }, async () => {
    await stop(kit.crypto!);
    await stop(kit.gateway!);
    for (const [at, folder] of folders().entries()) copy(folder, join(kit.dir, `copy-${at}`));
    await start();
    const id = await order("asked-twice");
    const { txHash } = (await becomes(
      id,
      "Completed",
      ({ status }) => status === 1,
    )) as unknown as { txHash: string };
    await node.control("mine", { count: 25 });
    expect(await balanceSun()).toBe(5_000_000);

    await stop(kit.crypto!);
    await stop(kit.gateway!);
    for (const [at, folder] of folders().entries()) copy(join(kit.dir, `copy-${at}`), folder);
    await start();
    expect(await order("asked-twice")).toBe(id);
    const other = await order("of-the-same-content");
    for (const one of [id, other])
      await becomes(one, "held", ({ stage }) => stage === "awaiting_operator");
    await node.control("mine", { count: 25 });
    expect(await balanceSun()).toBe(5_000_000);

    const shown = await kit.operate("withdrawals", "show", id);
    expect(shown).toContain(`held: ${txHash}, in block`);
    expect(shown).toContain(`withdrawals release ${id} --not ${txHash} --reason TEXT`);
    await expect(kit.operate("status")).rejects.toThrow(
      new RegExp(`ended with 1[^]*withdrawal ${id} of Demo shop is held`),
    );
    const why = ["--reason", "seen in a block explorer"];
    await expect(
      kit.operate("withdrawals", "release", other, "--not", "ab".repeat(32), ...why),
    ).rejects.toThrow(`it is held by ${txHash}`);
    expect(await kit.operate("withdrawals", "release", other, "--not", txHash, ...why)).toContain(
      `${other} is released`,
    );
    // The agent, which both sides' restore left without that payment, stopped the chain itself.
    const stopped = await kit.cli("status");
    expect(stopped.code).toBe(1);
    expect(stopped.output).toContain(
      `the account on tron paid by ${txHash}, which nothing here signed, as the gateway shows`,
    );
    expect(stopped.output).toContain("resume --network tron");
    expect((await kit.cli("resume", "--network", "tron")).output).toContain("asks for a yes");
    const resumed = await kit.cli("resume", "--network", "tron", "--yes");
    expect([resumed.code, resumed.output]).toEqual([
      0,
      expect.stringContaining("first payments on tron are signed again"),
    ]);
    await becomes(other, "Completed", ({ status }) => status === 1);
    await node.control("mine", { count: 25 });
    expect(await balanceSun()).toBe(10_000_000);

    expect(await kit.operate("withdrawals", "paid", id, "--transaction", txHash, ...why)).toContain(
      "it is Completed",
    );
    expect(await shop.transaction(id)).toMatchObject({ status: 1, txHash });
    await node.control("mine", { count: 25 });
    expect(await balanceSun()).toBe(10_000_000);
    expect(await kit.operate("audit", "--json")).toContain("order released");
  });
});
