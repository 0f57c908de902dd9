/**
 * An agent on Node 18.19.1 and a gateway on Node 20.9.0, with real binaries, pay one order each in
 * BTC, LTC and XRP. Daemons of the coins stand behind the Esplora API; the stand-in for rippled
 * runs in this process, because Ripple's packages do not load on Node 18.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Kit, startKit } from "../../lab/kit/kit.ts";
import { run, until } from "../../lab/kit/processes.ts";
import { createShop, type Shop } from "../../lab/kit/shop.ts";
import { runtimeBinary } from "../../lab/nodes.ts";
import { missing, type NodeName } from "../../lab/utxo-node/daemon.ts";
import { startUtxoNetwork, type UtxoTestNetwork } from "../../lab/utxo-node/network.ts";
import { UtxoPeople } from "../../lab/utxo-node/people.ts";
import { awaitXrp } from "../../lab/xrp-node/in-demo.ts";
import { person } from "../../lab/xrp-node/people.ts";
import { startXrpNode, type XrpNode, xrpNodeMissing } from "../../lab/xrp-node/xrp-node.ts";
import { startsTheBuild } from "../support/built.ts";

const waitMs = 180_000;
const blockMs = 300;
const policy = {
  maxPerWithdrawal: "10",
  maxPerHour: "90",
  maxPerDay: "90",
  maxFee: "0.005",
  maxFeePerDay: "0.1",
};
const daemons = [
  ["bitcoin", "btc", "0f9188f13cb7b2c71f2a335e3a4fc328"],
  ["litecoin", "ltc", "530827f38f93b43ed12af0b3ad25a288"],
] as const;

interface Coin {
  readonly name: NodeName;
  readonly currency: string;
  readonly chainId: string;
  readonly network: UtxoTestNetwork;
  readonly people: UtxoPeople;
}

const node = await runtimeBinary("18");
const gatewayNode = await runtimeBinary("20");
const skipped = new Map<string, string | null>([
  ...daemons.map(([name, currency]) => [currency, missing(name)] as const),
  ["xrp", xrpNodeMissing],
]);
const isHere = node !== null && gatewayNode !== null;
if (!isHere)
  process.stderr.write("\n*** SKIPPED: no Node binaries for this machine; run it on Linux x64\n\n");
for (const [, reason] of skipped)
  if (reason !== null) process.stderr.write(`\n*** SKIPPED: ${reason}\n\n`);
const isSkipped = (currency: string): boolean => !isHere || skipped.get(currency) !== null;

let coins: readonly Coin[] = [];
let ripple: XrpNode | null = null;
let kit: Kit;
let shop: Shop;

startsTheBuild();

const said = (): string =>
  `${kit.crypto?.output().slice(-3_000)}\n${kit.gateway?.output().slice(-2_000)}`;

async function hotWallet(currency: string): Promise<string> {
  const { output } = await kit.cli("address", currency, "--json");
  return (JSON.parse(output) as { address: string }).address;
}

async function openCoin([name, currency, chainId]: (typeof daemons)[number]): Promise<
  readonly Coin[]
> {
  if (isSkipped(currency)) return [];
  const network = await startUtxoNetwork(name);
  const people = await UtxoPeople.open(network);
  people.mines(blockMs);
  return [{ name, currency, chainId, network, people }];
}

async function paid(currency: string, amount: string, receiver: string): Promise<void> {
  await until(
    `the funds in ${currency}`,
    waitMs,
    async () => ((await shop.balance(currency)).available === "5" ? true : undefined),
    said,
  );
  const { transactionId } = await until(
    `an answer to the order in ${currency}`,
    waitMs,
    async () => {
      const answer = await shop.autoWithdraw({
        currency,
        amount,
        receiver,
        orderId: `runtime-${currency}`,
      });
      return answer.transactionId === "" ? undefined : answer;
    },
    said,
  );
  const { status } = await until(
    `the end in ${currency}`,
    waitMs,
    async () => {
      const now = await shop.transaction(transactionId);
      return now.status === 0 ? undefined : now;
    },
    said,
  );
  expect(status, said()).toBe(1);
}

beforeAll(async () => {
  if (!isHere) return;
  coins = (await Promise.all(daemons.map(openCoin))).flat();
  if (!isSkipped("xrp"))
    ripple = await startXrpNode({
      fronts: [{}, {}],
      isPaced: true,
      closeMs: blockMs,
      rules: { networkId: 1 },
    });
  const least = { minPaymentAmount: "0.01", minWithdrawAmount: "0.01" };
  const utxoChains = coins.map(({ name, chainId, network: { urls: nodes } }) => {
    return [name, { family: `${name}regtest`, chainId, nodes, confirmations: 2 }] as const;
  });
  const utxoCurrencies = coins.map(({ name, currency }) => {
    return [
      currency,
      { chain: name, decimal: 8, name, symbol: currency.toUpperCase(), market: "", ...least },
    ] as const;
  });
  const xrpChain = { family: "xrp", chainId: 1, nodes: ripple?.urls, confirmations: "finalized" };
  const xrpCurrency = {
    chain: "ripple",
    decimal: 6,
    name: "XRP",
    symbol: "XRP",
    market: "",
    ...least,
  };
  const chains = {
    ...Object.fromEntries(utxoChains),
    ...(ripple === null ? {} : { ripple: xrpChain }),
  };
  const currencies = {
    ...Object.fromEntries(utxoCurrencies),
    ...(ripple === null ? {} : { xrp: xrpCurrency }),
  };
  kit = await startKit({
    ...{
      node: node as string,
      gatewayNode: gatewayNode as string,
      alsoServes: { chains, currencies },
    },
    policy: Object.fromEntries(Object.keys(currencies).map((currency) => [currency, policy])),
  });
  await kit.startGateway(waitMs);
  const pairing = await kit.pair();
  expect(pairing.code, pairing.output).toBe(0);
  for (const { currency, people } of coins)
    await people.pay(await hotWallet(currency), 500_000_000n);
  ripple?.fund(await hotWallet("xrp"), 6_000_000n);
  await kit.startCrypto();
  shop = createShop(kit);
});

afterAll(async () => {
  await Promise.all(coins.map(({ people }) => people.rest()));
  await kit?.close();
  await ripple?.close();
  await Promise.all(coins.map(({ network }) => network.close()));
});

it.skipIf(!isHere)("the agent and the gateway run on the oldest Node of each", async () => {
  const versionOf = async (binary: string): Promise<string> =>
    (await run(binary, ["--version"], { logFile: "/dev/null" })).output.trim();
  expect([await versionOf(node as string), await versionOf(gatewayNode as string)]).toEqual([
    "v18.19.1",
    "v20.9.0",
  ]);
});

for (const [name, currency] of daemons)
  it.skipIf(isSkipped(currency))(`${name} is paid to the last sat`, async () => {
    const people = coins.find((coin) => coin.currency === currency)?.people as UtxoPeople;
    const receiver = await people.newAddress();
    await paid(currency, "1.25", receiver);
    expect(await people.held(receiver)).toBe(125_000_000n);
  });

it.skipIf(isSkipped("xrp"))(
  "XRP is paid to the drop, from the sequence at which its account was made",
  async () => {
    await awaitXrp(ripple, kit);
    const { address } = person("receiver of old Node");
    await paid("xrp", "2.5", address);
    expect(ripple?.balance(address)).toBe(2_500_000n);
  },
);
