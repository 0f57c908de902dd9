/**
 * Payouts on Tron through the real agent and gateway and the fake for java-tron, three
 * processes: TRX and a token are paid once, and an expired payment is signed again when both sides
 * have called it void. The courier is killed between any two steps.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TronWeb } from "tronweb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Kit, projectRoot, settle, startKit } from "../../lab/kit/kit.ts";
import { run, until } from "../../lab/kit/processes.ts";
import { createShop, type Shop } from "../../lab/kit/shop.ts";
import { startTronProcess, type TronProcess } from "../../lab/tron-node/process.ts";
import { startsTheBuild } from "../support/built.ts";
import { inhabitant, usdt } from "../support/tron-network.ts";

const waitMs = 180_000;
const policy = {
  maxPerWithdrawal: "1000",
  maxPerHour: "9000",
  maxPerDay: "9000",
  maxFee: "60",
  maxFeePerDay: "900",
};

interface Shown {
  readonly state: string;
  readonly attempts: readonly {
    readonly txHash: string;
    readonly voidBy?: string;
    readonly raw?: string;
  }[];
}

startsTheBuild();

describe("an agent with a chain of Tron", () => {
  let node: TronProcess;
  let kit: Kit;
  let shop: Shop;
  let hotWallet = "";

  const ask = async (path: string, asked: object): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${node.urls[0]}/${path}`, {
      method: "POST",
      body: JSON.stringify(asked),
    });
    return (await answer.json()) as Record<string, unknown>;
  };
  const balanceSun = async (address: string): Promise<number> =>
    (
      (await ask("walletsolidity/getaccount", { address: TronWeb.address.toHex(address) })) as {
        balance?: number;
      }
    ).balance ?? 0;
  const tokenUnits = async (address: string): Promise<bigint> => {
    const hex = TronWeb.address.toHex(address);
    const { constant_result } = (await ask("walletsolidity/triggerconstantcontract", {
      ...{ owner_address: hex, contract_address: TronWeb.address.toHex(usdt) },
      ...{ function_selector: "balanceOf(address)", parameter: hex.slice(2).padStart(64, "0") },
    })) as { constant_result: string[] };
    return BigInt(`0x${constant_result[0]}`);
  };
  const said = (): string =>
    `${kit.crypto?.output().slice(-3_000)}\n${kit.gateway?.output().slice(-1_000)}`;

  async function order(
    currency: string,
    amount: string,
    receiver: string,
    orderId: string,
  ): Promise<string> {
    const asked = { currency, amount, receiver, orderId };
    let last = "";
    return until(
      `an answer to ${orderId}`,
      waitMs,
      async () => {
        const answer = await shop.autoWithdraw(asked);
        last = JSON.stringify(answer);
        return answer.transactionId === "" ? undefined : answer.transactionId;
      },
      () => last,
    );
  }

  async function shown(id: string): Promise<Shown> {
    const { output } = await kit.cli("show", id, "--json");
    return (JSON.parse(output) as { withdrawal: Shown }).withdrawal;
  }

  /** Waits until the withdrawal fits `is`; with `mines`, each look makes a block. */
  function becomes(
    id: string,
    what: string,
    is: (one: Shown) => boolean,
    mines = false,
  ): Promise<Shown> {
    let last = "";
    return until(
      `${id} ${what}`,
      waitMs,
      async () => {
        if (mines) await node.control("mine");
        const one = await shown(id);
        last = JSON.stringify({
          state: one.state,
          attempts: one.attempts.map(({ txHash, voidBy }) => [txHash, voidBy]),
        });
        return is(one) ? one : undefined;
      },
      () => `${last}\n${said()}`,
    );
  }

  /** Blocks until the gateway calls it Completed. */
  function completes(id: string): Promise<{ txHash: string }> {
    return until(
      `${id} is Completed`,
      waitMs,
      async () => {
        await node.control("mine");
        const found = await shop.transaction(id);
        return found.status === 1 ? found : undefined;
      },
      said,
    );
  }

  async function killCourier(): Promise<void> {
    const pid = await until("a running courier", waitMs, async () => kit.courierPid(), said);
    process.kill(pid, "SIGKILL");
    await until("another courier", waitMs, async () => {
      const other = kit.courierPid();
      return other !== undefined && other !== pid ? true : undefined;
    });
  }

  beforeAll(async () => {
    // Its clock is behind ours: no decision may go by the machine's time.
    const options = { fronts: [{}, {}], startAtMs: Date.now() - 3_600_000 };
    node = await startTronProcess(
      options,
      join(projectRoot, "dist", "lab", "tron-node", "command.js"),
    );
    await node.control("deploy", {
      address: usdt,
      kind: "usdt",
      name: "Tether USD",
      symbol: "USDT",
      decimals: 6,
    });
    const common = {
      chain: "tron",
      decimal: 6,
      minPaymentAmount: "1",
      minWithdrawAmount: "0.1",
      market: "",
    };
    kit = await startKit({
      inProcess: true,
      alsoServes: {
        chains: {
          tron: {
            family: "tron",
            chainId: node.chainId,
            nodes: node.urls,
            confirmations: "finalized",
          },
        },
        currencies: {
          trx: { ...common, name: "TRON", symbol: "TRX" },
          "usdt-trc20": { ...common, name: "Tether USD", symbol: "USDT", contract: usdt },
        },
      },
    });
    const config = JSON.parse(readFileSync(kit.configPath, "utf8")) as {
      policy: Record<string, object>;
      chains: Record<string, object>;
    };
    config.chains.tron = { ...config.chains.tron, nodesFrom: "own" };
    for (const currency of ["trx", "usdt-trc20"]) config.policy[currency] = policy;
    writeFileSync(kit.configPath, JSON.stringify(config), { mode: 0o600 });
    // The hour makes the chain stale: it is served, and that is the only failed check.
    await kit.startGateway(waitMs, ({ checks }) => {
      const out = checks.filter(({ ok }) => !ok);
      return (
        out.length === 1 && out[0]?.name === "chain tron" && out[0].detail.includes("NODE_STALE: ")
      );
    });
    const paired = await kit.pair();
    expect(paired.code, paired.output).toBe(0);
    hotWallet =
      /T[1-9A-HJ-NP-Za-km-z]{33}/.exec((await kit.cli("address", "trx")).output)?.[0] ?? "";
    await node.control("fund", { address: hotWallet, sun: "1000000000" });
    await node.control("mint", { contract: usdt, address: hotWallet, units: "1000000000" });
    await node.control("mine", { count: 25 });
    // The check asks a token at the final block, so that its contract has to be in one.
    await settle(kit.anvil.url, 96);
    await kit.startCrypto();
    shop = createShop(kit);
  });

  afterAll(async () => {
    await kit?.close();
    await node?.stop();
  });

  it("`check` of an agent with a chain of Tron finds nothing wrong with its nodes and tokens but their age, and a wrong decimal", async () => {
    const check = (path: string): Promise<string> => {
      const args = [
        join(projectRoot, "crypto.js"),
        "--check",
        "--config",
        path,
        "--state",
        kit.stateDir,
      ];
      // A busy machine may be too slow for the check's own limit, which it then says.
      return until("a check in time", waitMs, async () => {
        const { output } = await run(process.execPath, args, {
          cwd: kit.dir,
          logFile: join(kit.dir, "check.log"),
        });
        return output.includes("could not be looked at in time") ? undefined : output;
      });
    };
    const config = JSON.parse(readFileSync(kit.configPath, "utf8")) as {
      currencies: Record<string, object>;
    };
    const well = await check(kit.configPath);
    expect(well).toMatch(/NODE_STALE/);
    expect(well.replaceAll("NODE_STALE", "")).not.toMatch(/NODE_|CHECK_DECIMALS|CHECK_CONTRACT/);
    const wrong = join(kit.dir, "wrong.json");
    config.currencies["usdt-trc20"] = { ...config.currencies["usdt-trc20"], decimal: 8 };
    writeFileSync(wrong, JSON.stringify(config), { mode: 0o600 });
    expect(await check(wrong)).toMatch(
      /the contract of usdt-trc20 has 6 decimals, and config\.json says 8;/,
    );
  });

  it("pays TRX and a token once, to the last unit", async () => {
    const [coins, tokens] = [
      inhabitant("one who is paid coins").address,
      inhabitant("one who is paid tokens").address,
    ];
    const ids = [
      await order("trx", "5.000001", coins, "out-trx"),
      await order("usdt-trc20", "7.000002", tokens, "out-usdt"),
    ];
    for (const id of ids) {
      const { txHash } = await completes(id);
      expect((await shown(id)).attempts.map((one) => one.txHash)).toEqual([txHash]);
    }
    await node.control("mine", { count: 20 });
    expect([await balanceSun(coins), await tokenUnits(tokens)]).toEqual([5_000_001, 7_000_002n]);
  });

  it("a payment that expired while the chain stood still is called void by both sides, signed again and paid once, with the courier killed between any two steps", {
    timeout: 400_000,
  }, async () => {
    const receiver = inhabitant("one who waits").address;
    await node.control("hold");
    const id = await order("trx", "3", receiver, "out-late");
    const first = await becomes(id, "is broadcast", ({ state }) => state === "broadcast");
    await killCourier();
    await node.control("halt", { ms: 500_000 });
    await node.control("mine");
    await killCourier();
    // Past its end, and not yet by the margin in solidified time: nobody calls it void.
    const { attempts } = await shown(id);
    expect(attempts.map(({ txHash, voidBy }) => [txHash, voidBy])).toEqual([
      [first.attempts[0]!.txHash, undefined],
    ]);
    await node.control("mine", { count: 25 });
    const called = await becomes(
      id,
      "is called void",
      (one) => one.attempts[0]?.voidBy !== undefined,
    );
    await killCourier();
    const second = await becomes(id, "has a second attempt", (one) => one.attempts.length === 2);
    expect(second.attempts[0]?.voidBy).toBe("both");
    expect(called.attempts[0]?.txHash).not.toBe(second.attempts[1]?.txHash);
    await killCourier();
    await becomes(
      id,
      "is broadcast again",
      ({ state, attempts: both }) => state === "broadcast" && both[1]?.raw !== undefined,
    );
    await killCourier();
    // Both are with the nodes now: the first is too late for any block.
    await node.control("release");
    await becomes(
      id,
      "is in a block",
      ({ state }) => state === "included" || state === "paid",
      true,
    );
    await killCourier();
    const { txHash } = await completes(id);
    expect(txHash).toBe(second.attempts[1]?.txHash);
    await node.control("mine", { count: 25 });
    expect(await balanceSun(receiver)).toBe(3_000_000);
    const { attempts: all } = await shown(id);
    expect(all.map((one) => one.voidBy)).toEqual(["both", undefined]);
    expect(
      await ask("walletsolidity/gettransactioninfobyid", { value: first.attempts[0]!.txHash }),
    ).toEqual({});
  });
});
