/**
 * A token that begins to take a fee, on real processes: the payout is final and moved less than it
 * was asked for. Both sides hold the currency; the gateway's operator ends the order, its agent
 * hears the end, and after a resume on both the next order is paid.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Kit, startKit } from "../../lab/kit/kit.ts";
import { stop, until } from "../../lab/kit/processes.ts";
import { sendUnlocked, tokenCall, tokenUnits } from "../../lab/kit/rpc.ts";
import { createShop, type Shop } from "../../lab/kit/shop.ts";
import { deployFeeToken, setTokenFee } from "../../lab/kit/token.ts";
import { startsTheBuild } from "../support/built.ts";

const waitMs = 90_000;
const receiver = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const why = ["--reason", "the issuer says so"];

startsTheBuild();

describe("a token that takes a fee", () => {
  let kit: Kit;
  let shop: Shop;
  let token = "";

  const said = (): string =>
    `${kit.crypto?.output().slice(-2_000)}\n${kit.gateway?.output().slice(-2_000)}`;
  const becomes = (
    id: string,
    what: string,
    is: (record: { status: number; stage: string }) => boolean,
  ) =>
    until(
      `${id} is ${what}`,
      waitMs,
      async () => {
        const record = await shop.transaction(id);
        return is(record) ? record : undefined;
      },
      said,
    );
  const asked = (orderId: string) =>
    shop.autoWithdraw({ currency: "fusd", amount: "5", receiver, orderId });

  beforeAll(async () => {
    kit = await startKit({
      alsoServes: async (nodeUrl) => {
        token = await deployFeeToken(nodeUrl);
        const names = {
          name: "Fee Dollar",
          symbol: "FUSD",
          minPaymentAmount: "1",
          minWithdrawAmount: "0.01",
          market: "",
        };
        return {
          chains: {},
          currencies: { fusd: { chain: "local", decimal: 6, contract: token, ...names } },
        };
      },
      policy: {
        fusd: { maxPerWithdrawal: "100", maxPerDay: "1000", maxFee: "0.01", maxFeePerDay: "20" },
      },
    });
    await kit.startGateway();
    expect((await kit.pair()).code).toBe(0);
    await kit.fund(10n ** 18n, 0n);
    const mint = {
      to: token,
      data: tokenCall("mint", kit.hotWalletAddress, 100_000_000n),
      gas: "0x30d40",
    };
    await sendUnlocked(kit.anvil.url, mint);
    await kit.startCrypto();
    shop = createShop(kit);
    await until(
      "funds are read",
      waitMs,
      async () => ((await shop.balance("fusd")).available === "100" ? true : undefined),
      said,
    );
  }, 240_000);

  afterAll(async () => {
    if (kit?.crypto) await stop(kit.crypto);
    await kit?.close();
  });

  it("holds the currency on both sides, its order ends by what an operator says, and the next one is paid after both resume", {
    timeout: 400_000,
  }, async () => {
    await setTokenFee(kit.anvil.url, token, 10);
    const { transactionId: id } = await asked("order-1");
    await becomes(id, "stuck", ({ stage }) => stage === "stuck");
    expect(await tokenUnits(kit.anvil.url, token, receiver)).toBe(4_950_000n);
    const openAlarms = async (): Promise<
      readonly { readonly number: number; readonly code: string }[]
    > => JSON.parse(await kit.operate("alarms", "--open", "--json"));
    const alarms = await openAlarms();
    expect(alarms.map(({ code }) => code)).toContain("CURRENCY_MOVES_OTHERWISE");
    for (const { number } of alarms)
      await kit.operate("alarms", "done", `${number}`, "--reason", "the token takes a fee");
    expect(await openAlarms()).toEqual([]);
    await expect(kit.operate("status")).rejects.toThrow(/fusd is held for every merchant since/);

    // The agent found it by its own nodes, and says the line to type.
    await until("the agent holds the currency", waitMs, async () =>
      (await kit.cli("status")).output.includes("resume --currency fusd") ? true : undefined,
    );
    expect((await kit.cli("show", id)).output).toContain("moved");
    const refused = await asked("order-2");
    expect(JSON.stringify(refused)).toContain("unavailable");

    const shown = await kit.operate("withdrawals", "moved", id);
    expect(shown).toContain("its payments to the receiver, in base units: 4950000");
    expect(shown).toContain(`do: autowithdraw-gateway withdrawals moved ${id} --received UNITS`);
    expect((await shop.transaction(id)).status).toBe(0);
    const done = await kit.operate(
      "withdrawals",
      "moved",
      id,
      "--received",
      "4950000",
      "--sent",
      "5000000",
      ...why,
    );
    expect(done).toContain(`${id} is Failed (chain_moved): 4.95 fusd were received.`);
    expect(await shop.transaction(id)).toMatchObject({ status: 2, code: "chain_moved" });
    expect(await shop.balance("fusd")).toMatchObject({ reserved: "0", available: "95" });
    await until(
      "the agent has ended it",
      waitMs + 60_000,
      async () => {
        const { withdrawal } = JSON.parse((await kit.cli("show", id, "--json")).output) as {
          withdrawal: { isOver: boolean; state: string };
        };
        return withdrawal.isOver ? withdrawal.state : undefined;
      },
      said,
    );

    await setTokenFee(kit.anvil.url, token, 0);
    expect(await kit.operate("currencies", "resume", "fusd", ...why)).toContain(
      "fusd is held no longer",
    );
    const { transactionId: next } = await asked("order-2");
    await until("the order waits for the agent's operator", waitMs, async () =>
      (await kit.cli("show", next)).output
        .replaceAll(/\s+/g, " ")
        .includes("resume --currency fusd")
        ? true
        : undefined,
    );
    expect((await kit.cli("resume", "--currency", "fusd")).output).toContain("asks for a yes");
    const resumed = await kit.cli("resume", "--currency", "fusd", "--yes");
    expect([resumed.code, resumed.output]).toEqual([
      0,
      expect.stringContaining("first payments in fusd are signed again"),
    ]);
    await becomes(next, "Completed", ({ status }) => status === 1);
    expect(await tokenUnits(kit.anvil.url, token, receiver)).toBe(9_950_000n);
    await until("the gateway is well", waitMs, async () => {
      const counts = await kit.operate("status").catch((error: Error) => error.message);
      return counts.includes("fusd") ? undefined : true;
    });
    const closing = await kit.operate("reconcile").catch((error: Error) => error.message);
    expect(closing).toContain(", 0 differences");
  });
});
