/**
 * The real agent and gateway over real daemons of the coins, which two fronts show by the Esplora
 * API: paid out and paid in, with kills of the courier and of the signer, replaced by a higher fee,
 * swept, and cancelled by an operator. Every balance is read from the daemon itself.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bitcoin, litecoin } from "../../chains/utxo/network.ts";
import { type Kit, projectRoot, startKit } from "../../lab/kit/kit.ts";
import { run, until } from "../../lab/kit/processes.ts";
import { createShop, type Shop } from "../../lab/kit/shop.ts";
import { missing } from "../../lab/utxo-node/daemon.ts";
import { startUtxoNetwork, type UtxoTestNetwork } from "../../lab/utxo-node/network.ts";
import { Wallet } from "../chains/utxo-wallet.ts";
import { startsTheBuild } from "../support/built.ts";

const waitMs = 180_000;
const policy = {
  maxPerWithdrawal: "10",
  maxPerHour: "90",
  maxPerDay: "90",
  maxFee: "0.001",
  maxFeePerDay: "0.1",
};
const coins = [
  ["bitcoin", bitcoin, "btc"],
  ["litecoin", litecoin, "ltc"],
] as const;
for (const [name] of coins)
  if (missing(name) !== null) process.stderr.write(`\n*** SKIPPED: ${missing(name)}\n\n`);

interface Shown {
  readonly state: string;
  readonly attempts: readonly {
    readonly txHash: string;
    readonly raw?: string;
    readonly txParams: { readonly coins?: string; readonly feeSat?: string } | null;
  }[];
}

startsTheBuild();

describe.each(coins)("an agent with a chain of %s", (name, nativeCoin, currency) => {
  const isHere = missing(name) === null;
  // Nodes of Litecoin keep the first of two transactions.
  const isReplaced = isHere && name === "bitcoin";
  let testNetwork: UtxoTestNetwork;
  let customer: Wallet;
  let kit: Kit;
  let shop: Shop;
  let hotWallet = "";
  const paid: string[] = [];
  let last = "";
  let mining: NodeJS.Timeout | undefined;

  const said = (): string =>
    `${kit.crypto?.output().slice(-3_000)}\n${kit.gateway?.output().slice(-2_000)}`;

  /** A block each half second, to nobody here. */
  function mines(isOn: boolean): void {
    clearInterval(mining);
    if (isOn) mining = setInterval(() => void customer.mine(1).catch(() => undefined), 500);
  }

  async function receivedSat(address: string): Promise<bigint> {
    const { unspents } = await testNetwork.node.ask<{ unspents: { amount: number }[] }>(
      "scantxoutset",
      "start",
      [`addr(${address})`],
    );
    return unspents.reduce((sum, { amount }) => sum + BigInt(Math.round(amount * 1e8)), 0n);
  }

  async function order(amount: string, receiver: string, orderId: string): Promise<string> {
    let last = "";
    return until(
      `an answer to ${orderId}`,
      waitMs,
      async () => {
        const answer = await shop.autoWithdraw({ currency, amount, receiver, orderId });
        last = JSON.stringify(answer);
        return answer.transactionId === "" ? undefined : answer.transactionId;
      },
      () => `${last}\n${said()}`,
    );
  }

  const ends = (id: string, status: number, type: 1 | 2 = 2) =>
    until(
      `${id} has the status ${status}`,
      waitMs,
      async () => {
        const found = await shop.transaction(id, type);
        return found.status === status ? found : undefined;
      },
      said,
    );

  beforeAll(async () => {
    if (!isHere) return;
    testNetwork = await startUtxoNetwork(name);
    customer = new Wallet(nativeCoin, testNetwork, 3);
    await customer.fund(4);
    const chainId = customer.network.reference;
    kit = await startKit({
      inProcess: true,
      alsoServes: {
        chains: {
          regtest: { family: `${name}regtest`, chainId, nodes: testNetwork.urls, confirmations: 3 },
        },
        currencies: {
          [currency]: {
            ...{ chain: "regtest", decimal: 8, name, symbol: currency.toUpperCase(), market: "" },
            ...{ minPaymentAmount: "0.0001", minWithdrawAmount: "0.0001" },
          },
        },
      },
    });
    const config = JSON.parse(readFileSync(kit.configPath, "utf8")) as {
      policy: Record<string, object>;
    };
    config.policy[currency] = policy;
    writeFileSync(kit.configPath, JSON.stringify(config), { mode: 0o600 });
    mines(true);
    await kit.startGateway(waitMs);
    const paired = await kit.pair();
    expect(paired.code, paired.output).toBe(0);
    hotWallet = (
      JSON.parse((await kit.cli("address", currency, "--json")).output) as { address: string }
    ).address;
    expect(hotWallet).toMatch(/^(?:bcrt|rltc)1q/);
    for (const amountUnits of [300_000_000n, 200_000_000n, 100_000_000n]) {
      const { raw } = await customer.first({ destination: hotWallet, amountUnits });
      await testNetwork.node.ask("sendrawtransaction", raw);
      await until("the customer's change is final", waitMs, async () =>
        (await customer.market()).coins.length >= 3 ? true : undefined,
      );
    }
    await kit.startCrypto();
    shop = createShop(kit);
    await until(
      "the funds are final",
      waitMs,
      async () => ((await shop.balance(currency)).available === "6" ? true : undefined),
      said,
    );
  });
  afterAll(async () => {
    mines(false);
    await kit?.close();
    await testNetwork?.close();
  });

  it.skipIf(!isHere)(
    "the agent pays out to each kind of address, once, though the courier and the signer are killed",
    async () => {
      const receivers = [
        customer.other,
        customer.values.destination(customer.network, "p2tr"),
        customer.other,
      ];
      const ids: string[] = [];
      for (const [at, receiver] of receivers.entries())
        ids.push(await order("0.25", receiver, `payout-${at}`));
      for (const pid of [kit.courierPid(), kit.signerPid()])
        if (pid !== undefined) process.kill(pid, "SIGKILL");
      for (const id of ids) await ends(id, 1);
      for (const receiver of receivers) expect(await receivedSat(receiver)).toBe(25_000_000n);
      paid.push(...ids);
    },
  );

  it.skipIf(!isHere)(
    "`status` tells the coins of the hot wallet, and `show` those of an attempt",
    async () => {
      // The change of the payments is final a block or two after they are.
      const output = await until(
        "status tells all coins",
        waitMs,
        async () => {
          last = (await kit.cli("status")).output;
          return /regtest {7}ok, block \d+, \d+ s old, 5\.24\d+ of its native coin/.test(last)
            ? last
            : undefined;
        },
        () => last,
      );
      expect(output).toContain(`account       ${hotWallet}, regtest`);
      expect(output).toMatch(/limits {8}(?:btc|ltc): 10 each; hour 0\.75 of 90/);
      const { output: shown } = await kit.cli("show", paid[0] ?? "");
      expect(shown).toMatch(/payment 0|payment {2,}0/);
      expect(shown).toMatch(/fee \d+ sat, about \d+\.\d sat for a byte, of 1 coin/);
    },
  );

  it.skipIf(!isHere)(
    "the agent is paid in, credits the payment by its output, and sweeps it to the hot wallet",
    async () => {
      const { address, transactionId } = await shop.deposit(currency, "0.4", "deposit-0");
      expect(address).toMatch(/^(?:bcrt|rltc)1q/);
      const before = await receivedSat(hotWallet);
      const { raw, txHash } = await customer.first({
        destination: address,
        amountUnits: 40_000_000n,
      });
      await testNetwork.node.ask("sendrawtransaction", raw);
      const found = await ends(transactionId, 1, 1);
      expect(found).toMatchObject({ amountReceived: "0.4", txHash });
      await until(
        "the deposit is swept",
        waitMs,
        async () =>
          (await receivedSat(address)) === 0n && (await receivedSat(hotWallet)) > before
            ? true
            : undefined,
        said,
      );
      const swept = (await receivedSat(hotWallet)) - before;
      expect(swept).toBeGreaterThan(39_000_000n);
      expect(swept).toBeLessThan(40_000_000n);
    },
  );

  it.skipIf(!isReplaced)(
    "the agent replaces a payment that no block takes by a higher fee, and one of the two is paid",
    async () => {
      mines(false);
      const receiver = customer.other;
      const id = await order("0.1", receiver, "payout-slow");
      const withdrawal = async (): Promise<Shown> =>
        (JSON.parse((await kit.cli("show", id, "--json")).output) as { withdrawal: Shown })
          .withdrawal;
      const becomes = (what: string, is: (one: Shown) => boolean): Promise<Shown> =>
        until(
          `${id} ${what}`,
          waitMs,
          async () => {
            await testNetwork.node.ask("generateblock", customer.other, []);
            const one = await withdrawal();
            return is(one) ? one : undefined;
          },
          said,
        );
      const { attempts } = await becomes(
        "has a second attempt",
        (one) => one.attempts.length === 2 && one.attempts[1]?.raw !== undefined,
      );
      const [first, second] = attempts.map(({ txParams }) => txParams);
      expect(second?.coins?.split(",")[0]).toBe(first?.coins?.split(",")[0]);
      expect(BigInt(second?.feeSat ?? 0)).toBeGreaterThan(BigInt(first?.feeSat ?? 0));
      mines(true);
      const { txHash } = await ends(id, 1);
      expect(attempts.map((one) => one.txHash)).toContain(txHash);
      expect(await receivedSat(receiver)).toBe(10_000_000n);
    },
  );

  it.skipIf(!isReplaced)(
    "an operator's cancel takes the coins back, and the shop sees Failed",
    async () => {
      mines(false);
      const receiver = customer.other;
      const id = await order("0.05", receiver, "payout-cancelled");
      await until(
        "its bytes are out",
        waitMs,
        async () => {
          const { output } = await kit.cli("show", id, "--json");
          return (JSON.parse(output) as { withdrawal: Shown }).withdrawal.attempts[0]?.raw ===
            undefined
            ? undefined
            : true;
        },
        said,
      );
      const { code, output } = await kit.cli("cancel", id, "--yes");
      expect(code, output).toBe(0);
      mines(true);
      expect(await ends(id, 2)).toMatchObject({ code: "cancelled" });
      expect(await receivedSat(receiver)).toBe(0n);
    },
  );

  it.skipIf(!isHere)(
    "a reorganisation below its depth ends nothing early, and the payment is in the chain again",
    async () => {
      mines(false);
      const receiver = customer.other;
      const id = await order("0.02", receiver, "payout-reorganised");
      const stateOf = async (): Promise<string> =>
        (JSON.parse((await kit.cli("show", id, "--json")).output) as { withdrawal: Shown })
          .withdrawal.state;
      const becomes = (state: string): Promise<true> =>
        until(
          `${id} is ${state}`,
          waitMs,
          async () => ((await stateOf()) === state ? true : undefined),
          said,
        );
      await becomes("broadcast");
      await customer.mine(1);
      await becomes("included");
      const hash = await testNetwork.node.ask<string>(
        "getblockhash",
        await testNetwork.node.ask<number>("getblockcount"),
      );
      await testNetwork.node.ask("invalidateblock", hash);
      expect((await shop.transaction(id)).status).toBe(0);
      mines(true);
      await ends(id, 1);
      expect(await receivedSat(receiver)).toBe(2_000_000n);
    },
  );

  it.skipIf(!isHere)(
    "the agent pays out, is paid in and sweeps while no server lists coins, and `status` tells all coins",
    async () => {
      mines(true);
      for (const front of testNetwork.fronts) front.options = { ...front.options, utxosMax: 0 };
      const receiver = customer.other;
      await ends(await order("0.03", receiver, "payout-unlisted"), 1);
      expect(await receivedSat(receiver)).toBe(3_000_000n);
      const { address, transactionId } = await shop.deposit(currency, "0.2", "deposit-unlisted");
      const { raw } = await customer.first({ destination: address, amountUnits: 20_000_000n });
      await testNetwork.node.ask("sendrawtransaction", raw);
      expect(await ends(transactionId, 1, 1)).toMatchObject({ amountReceived: "0.2" });
      await until(
        "the deposit is swept",
        waitMs,
        async () => ((await receivedSat(address)) === 0n ? true : undefined),
        said,
      );
      await until(
        "status tells all coins",
        waitMs,
        async () => {
          last = (await kit.cli("status")).output;
          return /regtest {7}ok, block \d+, \d+ s old, [45]\.\d+ of its native coin/.test(last)
            ? last
            : undefined;
        },
        () => last,
      );
    },
  );

  it.skipIf(!isHere)("the books agree with the chain, to the last unit", async () => {
    mines(true);
    const args = [
      join(projectRoot, "gateway/gateway.js"),
      "reconcile",
      "--json",
      "--config",
      kit.gatewayConfigPath,
    ];
    const closed = await until(
      "the books agree",
      waitMs,
      async () => {
        const { code, output } = await run(process.execPath, args, {
          cwd: kit.dir,
          logFile: join(kit.dir, "books.log"),
        });
        last = output;
        return code === 0 ? output : undefined;
      },
      () => last,
    );
    const { chains } = JSON.parse(closed) as {
      chains: { chain: string; code: string; differences: object[] }[];
    };
    expect(chains.find(({ chain }) => chain === "regtest")).toMatchObject({
      code: "",
      uncompared: 0,
      differences: [],
    });
  });
});
