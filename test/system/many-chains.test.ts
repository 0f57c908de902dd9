/**
 * Twelve chains in one configuration, nine of them presets of one line, through real processes:
 * payouts on ten go on at the same pace while two are down, and `status` gives the reason for both.
 */
import { afterAll, expect, it } from "vitest";
import { gasPriceOracle } from "../../chains/evm/data-fee.ts";
import { chainPresets, currencyPresets } from "../../chains/presets.ts";
import { type Anvil, startAnvil } from "../../lab/kit/anvil.ts";
import { type Kit, startKit } from "../../lab/kit/kit.ts";
import { until } from "../../lab/kit/processes.ts";
import { balanceWei, rpc, sendUnlocked } from "../../lab/kit/rpc.ts";
import { createShop, type Shop } from "../../lab/kit/shop.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();
process.setMaxListeners(32); // each chain's process is ended with this one

const blockTimeMs = 1_000;
const receiver = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const ordersEach = 3;
/** Every payout waits for whole blocks and their finality: a third more is no other pace. */
const paceRatioMax = 1.34;
/** Data of a payment on the two that bill it, in wei, and as much again for the operator. */
const dataFeeWord = 10n ** 13n;

interface Network {
  readonly name: string;
  readonly currency: string;
  readonly anvil: Anvil;
}

interface ChainStatus {
  readonly chain: string;
  readonly ok: boolean;
  readonly detail: string;
}

const networks: Network[] = [];
let kit: Kit | null = null;

afterAll(async () => {
  for (const { anvil } of networks) {
    // SIGKILL ends one that stands still as well.
    await anvil.stop();
  }
  await kit?.close();
});

async function startNetworks(): Promise<{
  chains: Record<string, object>;
  currencies: Record<string, object>;
}> {
  const chains: Record<string, object> = {};
  const currencies: Record<string, object> = {};
  for (const [name, { lines }] of Object.entries(chainPresets)) {
    if (lines.family !== "evm") continue;
    const [currency = ""] =
      Object.entries(currencyPresets).find(
        ([, one]) => one.chain === name && !one.lines.contract,
      ) ?? [];
    const anvil = await startAnvil({ chainId: Number(lines.chainId), blockTimeMs });
    networks.push({ name, currency: currency === "eth" ? "eth-mainnet" : currency, anvil });
    if (lines.feeModel === "op-stack") {
      const code = `0x7f${dataFeeWord.toString(16).padStart(64, "0")}60005260206000f3`;
      await rpc(anvil.url, "anvil_setCode", [gasPriceOracle, code]);
    }
    chains[name] = { preset: name, nodes: [anvil.url] };
    // The kit's own chain has the id eth; a line beside the preset is anybody's.
    currencies[currency === "eth" ? "eth-mainnet" : currency] = {
      preset: currency,
      minPaymentAmount: "0.001",
    };
  }
  for (const [at, name] of ["own-one", "own-two"].entries()) {
    const anvil = await startAnvil({ chainId: 31_400 + at, blockTimeMs });
    networks.push({ name, currency: `${name}-coin`, anvil });
    chains[name] = {
      family: "evm",
      chainId: 31_400 + at,
      nodes: [anvil.url],
      confirmations: "finalized",
    };
    const words = { name: "Coin", symbol: "COIN", market: "", minPaymentAmount: "0.001" };
    currencies[`${name}-coin`] = { chain: name, decimal: 18, ...words };
  }
  return { chains, currencies };
}

/** Withdrawals by the shop's own id. */
const ids = new Map<string, string>();

async function order(shop: Shop, currency: string, orderId: string): Promise<string> {
  const answer = await until(`an answer to ${orderId}`, 30_000, async () => {
    const given = await shop.autoWithdraw({ currency, amount: "0.002", receiver, orderId });
    return given.transactionId === "" ? undefined : given;
  });
  ids.set(orderId, answer.transactionId);
  return answer.transactionId;
}

/** Orders on each of the chains, all at once. @returns milliseconds until the last is Completed */
async function paceOf(shop: Shop, currencies: readonly string[], round: string): Promise<number> {
  const beganAt = performance.now();
  const wanted = currencies.flatMap((currency) =>
    Array.from({ length: ordersEach }, (_, n) => [currency, `${round}-${currency}-${n}`]),
  );
  await Promise.all(
    wanted.map(async ([currency = "", orderId = ""]) => {
      const id = await order(shop, currency, orderId);
      await until(`${orderId} Completed`, 90_000, async () =>
        (await shop.transaction(id)).status === 1 ? true : undefined,
      );
    }),
  );
  return performance.now() - beganAt;
}

const evmPresets = Object.values(chainPresets).filter(({ lines }) => lines.family === "evm").length;

it("payouts on ten chains go on at the same pace while two are down, and status says of both why", {
  timeout: 420_000,
}, async () => {
  expect(evmPresets + 3).toBe(12);
  kit = await startKit({ inProcess: true, blockTimeMs, alsoServes: await startNetworks() });
  await kit.startGateway();
  expect((await kit.pair()).code).toBe(0);
  const { hotWalletAddress } = kit;
  await kit.fund(10n ** 18n, 0n);
  for (const { anvil } of networks)
    await sendUnlocked(anvil.url, {
      to: hotWalletAddress,
      value: `0x${(10n ** 18n).toString(16)}`,
    });
  await kit.startCrypto();
  const shop = createShop(kit);
  const chainsNow = async (): Promise<readonly ChainStatus[]> => {
    const told = JSON.parse((await kit!.cli("status", "--json")).output) as {
      status: { courier: { chains: ChainStatus[] } | null };
    };
    return told.status.courier?.chains ?? [];
  };
  const well = async (): Promise<true | undefined> => {
    const chains = await chainsNow();
    return chains.length === 12 && chains.every(({ ok }) => ok) ? true : undefined;
  };
  await until("twelve chains that are well", 60_000, well);

  const downs = networks.filter(({ name }) => name === "polygon" || name === "own-two");
  const ups = networks.filter((one) => !downs.includes(one));
  const ten = ["eth", ...ups.map(({ currency }) => currency)];
  expect([downs.length, ten.length]).toEqual([2, 10]);
  await paceOf(shop, [...ten, ...downs.map(({ currency }) => currency)], "warm");
  const allUpMs = await paceOf(shop, ten, "up");

  const txParamsOf = async (currency: string): Promise<unknown> => {
    const shown = await kit!.cli("show", ids.get(`up-${currency}-0`) ?? "", "--json");
    return (JSON.parse(shown.output) as { withdrawal: { attempts: { txParams: unknown }[] } })
      .withdrawal.attempts[0]?.txParams;
  };
  expect(await txParamsOf("eth-base")).toMatchObject({
    gasLimit: "21000",
    dataFee: `${4n * dataFeeWord}`,
  });
  expect(await txParamsOf("eth-arbitrum")).toMatchObject({ gasLimit: "42000", cancelGas: "42000" });
  expect(Object.keys((await txParamsOf("bnb")) as object)).toEqual([
    "gasLimit",
    "maxFeePerGas",
    "maxPriorityFeePerGas",
  ]);

  const [polygon, ownTwo] = downs as [Network, Network];
  process.kill(polygon.anvil.pid, "SIGSTOP"); // it hangs
  await ownTwo.anvil.stop(); // it refuses
  const late = await order(shop, polygon.currency, "late");
  const twoDownMs = await paceOf(shop, ten, "down");
  const ratio = twoDownMs / allUpMs;
  process.stdout.write(
    `many chains: ${Math.round(allUpMs)} ms with all up, ${Math.round(twoDownMs)} ms with two down, ratio ${ratio.toFixed(2)}\n`,
  );
  expect(ratio).toBeLessThan(paceRatioMax);

  const says = (code: string, { name, anvil }: Network): string =>
    `${code}: no node of chain ${name} can be used: ${anvil.url} `;
  const wanted = {
    "own-two": says("NODE_UNREACHABLE", ownTwo),
    polygon: says("NODE_TIMEOUT", polygon),
  };
  // The failure of a first question is shown in the node's own words; a node that stays away is
  // judged.
  const notOk = await until("both named", 60_000, async () => {
    const chains = await chainsNow();
    expect(chains).toHaveLength(12);
    const away = chains.filter(({ ok }) => !ok);
    return away.length === 2 && away.every(({ detail }) => detail.includes("no node of chain"))
      ? away
      : undefined;
  });
  const begins = (one: string, other: string): string => one.slice(0, other.length);
  const told = notOk.map(({ chain, detail }) => [
    chain,
    begins(detail, wanted[chain as keyof typeof wanted] ?? ""),
  ]);
  expect(Object.fromEntries(told)).toEqual(wanted);
  const words = (await kit.cli("status")).output.replace(/\s+/g, " ");
  for (const name of Object.keys(wanted))
    expect(words).toContain(`no node of chain ${name} can be used`);

  process.kill(polygon.anvil.pid, "SIGCONT");
  await until("the late one Completed", 90_000, async () =>
    (await shop.transaction(late)).status === 1 ? true : undefined,
  );

  for (const { anvil, name } of ups)
    expect([name, await balanceWei(anvil.url, receiver)]).toEqual([
      name,
      10_000n * 10n ** 18n + 9n * 2n * 10n ** 15n,
    ]);
});
