/**
 * Real processes and a real chain: what was paid in is Completed, swept to the hot wallet, and
 * paid out again to the last unit; a token's address without coin gets its top-up first; a killed
 * process in between changes no figure.
 */
import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { type Kit, startPairedKit } from "../../lab/kit/kit.ts";
import { until } from "../../lab/kit/processes.ts";
import { completedSweep, listSweeps, unitsOf } from "../../lab/kit/round-trip.ts";
import {
  balanceWei,
  sendUnlocked,
  tokenCall,
  tokenUnits,
  transactionCount,
} from "../../lab/kit/rpc.ts";
import { createShop, type Shop } from "../../lab/kit/shop.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

const ether = 10n ** 18n;
const waitMs = 180_000;
const newAddress = (): string => `0x${randomBytes(20).toString("hex")}`;
let kit: Kit | null = null;
afterEach(async () => {
  await kit?.close();
  kit = null;
});

async function paidIn(
  of: Kit,
  shop: Shop,
  currency: "eth" | "usdt",
  amount: string,
  units: bigint,
): Promise<string> {
  const asked = await shop.deposit(currency, amount, `in-${currency}-${amount}`);
  if (currency === "eth")
    await sendUnlocked(of.anvil.url, { to: asked.address, value: `0x${units.toString(16)}` });
  else
    await sendUnlocked(of.anvil.url, {
      to: of.token,
      data: tokenCall("mint", asked.address, units),
      gas: "0x30d40",
    });
  await until(`the deposit of ${amount} ${currency}`, waitMs, async () =>
    (await shop.transaction(asked.transactionId, 1)).status === 1 ? true : undefined,
  );
  return asked.address;
}

/** By the chain itself: the hot wallet and the deposit addresses, in wei. */
async function weiOf(of: Kit, addresses: readonly string[]): Promise<bigint> {
  let sum = 0n;
  for (const address of [of.hotWalletAddress, ...addresses])
    sum += await balanceWei(of.anvil.url, address);
  return sum;
}

describe("a deposit", () => {
  it("is swept, a token after its top-up, and paid out again to the last unit", async () => {
    kit = await startPairedKit({ inProcess: true }, { wei: ether, units: 0n });
    const { anvil, token } = kit;
    const shop = createShop(kit);
    await until("the balance", waitMs, async () =>
      (await shop.balance("eth")).available === "1" ? true : undefined,
    );
    const [coins, tokens] = await Promise.all([
      paidIn(kit, shop, "eth", "0.5", ether / 2n),
      paidIn(kit, shop, "usdt", "125.5", 125_500_000n),
    ]);
    const ofCoins = await completedSweep(kit, coins, "eth");
    const ofTokens = await completedSweep(kit, tokens, "usdt");
    expect([ofCoins.to, ofTokens.to]).toEqual([kit.hotWalletAddress, kit.hotWalletAddress]);
    expect(await tokenUnits(anvil.url, token, kit.hotWalletAddress)).toBe(125_500_000n);
    expect(await tokenUnits(anvil.url, token, tokens)).toBe(0n);

    const sweeps = await listSweeps(kit);
    const table = await kit.operate("sweeps", "list", "--csv", "--limit", "10000");
    const lines = table.slice(table.indexOf("transactionId")).split("\r\n");
    expect(lines.slice(1).map((line) => line.split(",")[0])).toEqual([
      ...sweeps.map(({ transactionId }) => transactionId),
      "",
    ]);
    expect(table).not.toContain("\ufffd");
    const topUps = sweeps.filter(({ kind }) => kind === "topup");
    expect(topUps).toMatchObject([
      { sweep: ofTokens.transactionId, from: kit.hotWalletAddress, to: tokens, status: 1 },
    ]);
    const rest = await balanceWei(anvil.url, coins);
    expect(await balanceWei(anvil.url, coins)).toBe(
      ether / 2n - unitsOf(ofCoins.amount, 18) - unitsOf(ofCoins.fee, 18),
    );
    expect(await transactionCount(anvil.url, coins)).toBe(1);
    expect(await transactionCount(anvil.url, tokens)).toBe(1);

    // The gateway's sums equal the chain's to the last unit.
    await until("the sum", waitMs, async () => {
      const { total, sweeping, pending } = await shop.balance("eth");
      const lies = await weiOf(kit!, [coins, tokens]);
      return unitsOf(total, 18) === lies && sweeping === "0" && unitsOf(pending, 18) >= rest
        ? true
        : undefined;
    });
    expect(await shop.balance("usdt")).toMatchObject({
      available: "125.5",
      pending: "0",
      sweeping: "0",
      total: "125.5",
    });

    const receiver = newAddress();
    const out = await shop.autoWithdraw({
      currency: "usdt",
      amount: "125.5",
      receiver,
      orderId: "all-of-it",
    });
    expect(out.status).toBe(200);
    await until("the withdrawal", waitMs, async () =>
      (await shop.transaction(out.transactionId)).status === 1 ? true : undefined,
    );
    expect(await tokenUnits(anvil.url, token, receiver)).toBe(125_500_000n);
    expect((await kit.cli("verify")).code).toBe(0);
  });

  it("is swept once, whatever is killed on the way", async () => {
    kit = await startPairedKit({ inProcess: true }, { wei: ether, units: 0n });
    const shop = createShop(kit);
    const killing = { isOn: true };
    const kill = async (): Promise<void> => {
      for (let round = 0; killing.isOn && round < 6; round += 1) {
        await new Promise((resolve) => setTimeout(resolve, 2_500));
        const pid = round % 2 === 0 ? kit?.signerPid() : kit?.courierPid();
        if (round === 3 && kit?.gateway !== null && kit !== null) {
          process.kill(kit.gateway.pid, "SIGKILL");
          await kit.startGateway();
        } else if (pid !== undefined) process.kill(pid, "SIGKILL");
      }
    };
    const addresses: string[] = [];
    const killed = kill();
    const asking = async (
      currency: "eth" | "usdt",
      amount: string,
      units: bigint,
    ): Promise<void> => {
      for (;;) {
        try {
          addresses.push(await paidIn(kit!, shop, currency, amount, units));
          return;
        } catch (error) {
          if (!/fetch failed|unreachable|ECONNREFUSED|no answer|unavailable/i.test(String(error)))
            throw error;
        }
      }
    };
    await asking("eth", "0.25", ether / 4n);
    await asking("usdt", "40", 40_000_000n);
    const [coins = "", tokens = ""] = addresses;
    await completedSweep(kit, coins, "eth");
    await completedSweep(kit, tokens, "usdt");
    killing.isOn = false;
    await killed;
    const sweeps = await listSweeps(kit);
    expect(
      sweeps.map(({ kind, currency, status }) => `${kind} ${currency} ${status}`).sort(),
    ).toEqual(["sweep eth 1", "sweep usdt 1", "topup usdt 1"]);
    expect(await transactionCount(kit.anvil.url, coins)).toBe(1);
    expect(await transactionCount(kit.anvil.url, tokens)).toBe(1);
    expect(await tokenUnits(kit.anvil.url, kit.token, kit.hotWalletAddress)).toBe(40_000_000n);
  });
});
