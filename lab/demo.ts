/**
 * `npm run demo [-- --json] [-- --keep] [-- --gateways 2]`: the main job on real parts. A local EVM
 * chain, a node that stands in for java-tron, one for rippled, a real bitcoind where it is there, a
 * gateway on SQLite, pairing, `crypto`; a paid deposit with its callback, one quoted in liras and
 * paid by its link, an ETH and an ERC-20 withdrawal to Completed, a refusal by policy, a `kill -9`
 * of the signer in the middle of a stream that still pays exactly once; and in each currency a
 * deposit that is swept and paid out again to the last unit, with a `kill -9` of each process in
 * between. With `--gateways 2` a `kill -9` of the active one of two gateways on PostgreSQL comes on
 * top. Every balance is checked by reads of its own; exit 0 only when all of it held.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Gateways } from "./demo-gateways.ts";
import { TronTestNetwork } from "./deposits/tron-network.ts";
import { type Receiver, startReceiver } from "./kit/callback-receiver.ts";
import { readCommandLine } from "./kit/command-line.ts";
import { type Kit, startKit } from "./kit/kit.ts";
import { childrenOf, until } from "./kit/processes.ts";
import { profileNamed } from "./kit/provider/profiles.ts";
import { listSweeps, roundTrips, type Trip, unitsOf } from "./kit/round-trip.ts";
import {
  balanceWei,
  rpc,
  sendUnlocked,
  tokenCall,
  tokenUnits,
  transactionCount,
} from "./kit/rpc.ts";
import { createShop, type Shop } from "./kit/shop.ts";
import { type Bitcoin, bitcoinTripsOf, openBitcoin, servedBy } from "./utxo-node/in-demo.ts";
import { awaitXrp, fundXrp, openXrp, servedByXrp, xrpTripsOf } from "./xrp-node/in-demo.ts";
import type { XrpNode } from "./xrp-node/xrp-node.ts";

interface DemoPayment {
  readonly transactionId: string;
  readonly currency: string;
  readonly amount: string;
  readonly txHash: string;
  readonly status: number;
}

const { values, whole } = readCommandLine({
  name: "demo",
  does: "The main job on real parts: local chains, a gateway, pairing, crypto, deposits, callbacks, withdrawals, a refusal, a kill -9.",
  options: {
    keep: { says: "leaves it running, and tells what to try next" },
    json: { says: "ends with one line of JSON" },
    gateways: {
      takes: "N",
      default: "1",
      says: "2: one active and one standby on PostgreSQL, and a kill -9 of the active one",
    },
  },
});
const isPair = whole("gateways", { least: 1, most: 2 }) === 2;
const started = Date.now();
const ether = 10n ** 18n;

/**
 * One line of the timeline: seconds since the start, who, what. With --json it goes to stderr, so
 * that stdout ends with one line.
 */
function tell(who: string, what: string): void {
  const line = `${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${who.padEnd(8)} ${what}\n`;
  (values.json ? process.stderr : process.stdout).write(line);
}

function hold(condition: boolean, what: string): void {
  if (!condition) throw new Error(`this did not hold: ${what}`);
}

const newAddress = (): string => `0x${randomBytes(20).toString("hex")}`;

async function ended(
  shop: Shop,
  transactionId: string,
  type: 1 | 2 = 2,
): Promise<{ status: number; txHash: string }> {
  return until(`the end of ${transactionId}`, 120_000, async () => {
    const record = await shop.transaction(transactionId, type);
    return record.status === 0 ? undefined : record;
  });
}

/** The networks beside the EVM chain; null where one cannot be had here. */
interface Networks {
  readonly testNetwork: TronTestNetwork;
  readonly bitcoin: Bitcoin | null;
  readonly xrp: XrpNode | null;
}

interface Interruption {
  readonly isOver: boolean; // a signal came
  readonly signal: Promise<never>; // rejects with the signal's name
  ignore(): void;
}

/** Two gateways are ended in order at SIGINT and SIGTERM. */
function awaitInterruption(): Interruption {
  const names = ["SIGINT", "SIGTERM"] as const;
  const { promise, reject } = withRejection();
  let isOver = false;
  const end = (name: NodeJS.Signals): void => {
    isOver = true;
    reject(new Error(`ended by ${name}`));
  };
  for (const name of names) process.on(name, end);
  const ignore = (): void => {
    for (const name of names) process.off(name, end);
  };
  return {
    signal: promise,
    get isOver() {
      return isOver;
    },
    ignore,
  };
}

function withRejection(): { promise: Promise<never>; reject: (reason: Error) => void } {
  let reject: (reason: Error) => void = () => {};
  const promise = new Promise<never>((_, fail) => {
    reject = fail;
  });
  promise.catch(() => {}); // the process is told of a rejection by the caller that awaits the promise
  return { promise, reject };
}

/** Ends the kit's programs and all that these programs started, at a signal. */
function killCommands(): void {
  const familyOf = (pid: number, part: string): readonly number[] =>
    childrenOf(pid, part).flatMap((child) => [child, ...familyOf(child, "")]);
  for (const pid of running === null ? [] : familyOf(process.pid, running.dir))
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process ended between the look and the signal.
    }
}

const interruption = isPair ? awaitInterruption() : null;

/** The kit that a signal ends; null until it is there. */
let running: Kit | null = null;

async function setUp(
  { testNetwork, bitcoin, xrp }: Networks,
  gateways: Gateways | null,
): Promise<{ kit: Kit; shop: Shop }> {
  tell(
    "demo",
    "starting a local EVM chain and a node in java-tron's place, deploying a test token, initialising a gateway",
  );
  const others = servedBy(bitcoin, testNetwork.served(["coin", "token"]));
  const kit = await startKit({
    keep: values.keep,
    alsoServes: servedByXrp(xrp, others),
    settings: gateways?.settings ?? {},
  });
  running = kit;
  gateways?.join(kit);
  try {
    await kit.startGateway();
    tell("gateway", `listens on ${kit.gatewayUrl}, merchant ${kit.merchantId}`);
    const paired = await kit.pair();
    hold(paired.code === 0, `pair.js ends with 0, not ${paired.code}:\n${paired.output}`);
    tell(
      "pair",
      `wallet sealed and registered, words gone from config.json; pays from ${kit.hotWalletAddress}`,
    );
    await kit.fund(10n * ether, 10_000_000_000n);
    const ofTron = await kit.cli("address", testNetwork.coin.id, "--json");
    await testNetwork.fund(
      (JSON.parse(ofTron.output) as { address: string }).address,
      10_000_000_000n,
    );
    if (bitcoin !== null) {
      const { output } = await kit.cli("address", "btc", "--json");
      await bitcoin.people.pay((JSON.parse(output) as { address: string }).address, 100_000_000n);
    }
    await fundXrp(xrp, kit);
    await kit.startCrypto();
    tell("crypto", "signer and courier run");
    await awaitXrp(xrp, kit);
    const shop = createShop(kit);
    await until("balance at the gateway", 60_000, async () =>
      (await shop.balance("usdt")).available === "10000" ? true : undefined,
    );
    tell(
      "shop",
      `balance: ${(await shop.balance("eth")).available} ETH and ${(await shop.balance("usdt")).available} USDT can be paid out`,
    );
    return { kit, shop };
  } catch (error) {
    tell("demo", kit.gateway?.output().slice(-2000) ?? "");
    tell("demo", kit.crypto?.output().slice(-2000) ?? "");
    await kit.close();
    throw error;
  }
}

/**
 * The shop's own server: a receiver on this machine, whose every message the stock package of
 * Standard Webhooks verifies.
 */
async function listen(kit: Kit): Promise<Receiver> {
  const receiver = await startReceiver();
  const added = await kit.operate(
    "callbacks",
    "add",
    "--merchant",
    kit.merchantId,
    "--url",
    receiver.url,
    "--json",
  );
  receiver.secret = (JSON.parse(added.slice(added.indexOf("{"))) as { secret: string }).secret;
  tell("shop", `is told of every step at ${receiver.url}`);
  return receiver;
}

/** Waits for an event of a record. */
async function told(receiver: Receiver, type: string, transactionId: string): Promise<void> {
  const find = () =>
    receiver.received.find((one) => one.type === type && one.data.transactionId === transactionId);
  const message = await until(`the callback ${type}`, 30_000, async () => find());
  hold(
    receiver.refused.length === 0,
    `the stock verifier takes every callback: ${receiver.refused.join("; ")}`,
  );
  tell(
    "callback",
    `${type} arrived, signature good: status ${String(message.data.status)}, sequence ${message.sequence}`,
  );
}

async function deposit(kit: Kit, shop: Shop, receiver: Receiver): Promise<DemoPayment> {
  const asked = await shop.deposit("eth", "0.5", "order-1001");
  tell("shop", `asked for a deposit of 0.5 ETH: pay to ${asked.address}`);
  await sendUnlocked(kit.anvil.url, { to: asked.address, value: `0x${(ether / 2n).toString(16)}` });
  tell("customer", "paid 0.5 ETH");
  const record = await ended(shop, asked.transactionId, 1);
  hold(record.status === 1, "the deposit is Completed");
  tell("gateway", "deposit Completed: paid to finality");
  await told(receiver, "deposit.completed", asked.transactionId);
  return { transactionId: asked.transactionId, currency: "eth", amount: "0.5", ...record };
}

/** A basket of 1,000 liras: the shop asks in liras, and the customer's wallet follows the link. */
async function quotedDeposit(kit: Kit, shop: Shop): Promise<DemoPayment> {
  const order = {
    currency: "eth",
    fiatCurrency: "TRY",
    fiatAmount: "1000",
    orderId: "order-1002",
  } as const;
  const asked = await shop.fiatDeposit(order);
  tell("shop", `asked for a deposit of 1000 TRY: ${asked.amount} ETH at ${asked.quote?.price} TRY`);
  tell("shop", `link for the customer's wallet: ${asked.paymentUri}`);
  const [, to = "", value = "0"] =
    /^ethereum:(0x[0-9A-Fa-f]{40})@31337\?value=(\d+)$/.exec(asked.paymentUri ?? "") ?? [];
  const wei = BigInt(value);
  const liras = (wei * BigInt(asked.quote?.price ?? "0")) / 10n ** 16n; // in kuruş
  hold(
    to === asked.address && liras === 100_000n,
    "the link asks for 1000 liras' worth, to the request's own address",
  );
  await sendUnlocked(kit.anvil.url, { to, value: `0x${wei.toString(16)}` });
  tell("customer", `paid ${asked.amount} ETH by the link`);
  const record = await ended(shop, asked.transactionId, 1);
  hold(record.status === 1, "the quoted deposit is Completed");
  hold(
    (await shop.fiatDeposit(order)).amount === asked.amount,
    "the same order again has the same quote",
  );
  tell("gateway", "quoted deposit Completed");
  return { transactionId: asked.transactionId, currency: "eth", amount: asked.amount, ...record };
}

async function withdraw(
  kit: Kit,
  shop: Shop,
  currency: "eth" | "usdt",
  amount: string,
  units: bigint,
  orderId: string,
): Promise<DemoPayment> {
  const receiver = newAddress();
  const order = { currency, amount, receiver, orderId };
  const answer = await shop.autoWithdraw(order);
  hold(
    answer.status === 200,
    `autoWithdraw answers 200, not ${answer.status} ${answer.code} ${answer.message}`,
  );
  tell("shop", `withdraw ${amount} ${currency} to ${receiver}: ${answer.message}`);
  const again = await shop.autoWithdraw(order);
  hold(again.transactionId === answer.transactionId, "the same order again is the same withdrawal");
  const record = await ended(shop, answer.transactionId);
  hold(record.status === 1, `${orderId} is Completed`);
  const held =
    currency === "eth"
      ? await balanceWei(kit.anvil.url, receiver)
      : await tokenUnits(kit.anvil.url, kit.token, receiver);
  hold(held === units, `the receiver holds exactly ${units} base units, not ${held}`);
  tell("gateway", `${amount} ${currency} Completed in ${record.txHash}`);
  return { transactionId: answer.transactionId, currency, amount, ...record };
}

async function refusal(kit: Kit, shop: Shop): Promise<void> {
  const receiver = newAddress();
  const before = await transactionCount(kit.anvil.url, kit.hotWalletAddress);
  const answer = await shop.autoWithdraw({
    currency: "usdt",
    amount: "6000",
    receiver,
    orderId: "order-too-much",
  });
  hold(
    answer.status === 422,
    `above the merchant's own limit the answer is 422, not ${answer.status}`,
  );
  hold((await tokenUnits(kit.anvil.url, kit.token, receiver)) === 0n, "nothing was paid");
  hold(
    (await transactionCount(kit.anvil.url, kit.hotWalletAddress)) === before,
    "no transaction was made",
  );
  const { code } = await shop.transaction(answer.transactionId);
  tell("signer", `refused 6000 usdt (${code}): above the merchant's own limit`);
}

async function killed(kit: Kit, shop: Shop): Promise<{ shown: DemoPayment[] }> {
  const orders = Array.from({ length: 6 }, (_, place) => ({
    currency: "eth" as const,
    amount: `0.01${place}1`,
    receiver: newAddress(),
    orderId: `stream-${place}`,
  }));
  const answers = orders.map((order) =>
    until(`an answer for ${order.orderId}`, 60_000, async () => {
      const answer = await shop.autoWithdraw(order);
      return answer.transactionId === "" ? undefined : answer;
    }),
  );
  await sleep(60);
  const pid = kit.signerPid();
  hold(pid !== undefined, "the signer runs");
  process.kill(pid as number, "SIGKILL");
  tell(
    "demo",
    `kill -9 of the signer (process ${pid}) in the middle of ${orders.length} withdrawals`,
  );
  const shown: DemoPayment[] = [];
  for (const [place, answer] of (await Promise.all(answers)).entries()) {
    const order = orders[place]!;
    const record = await ended(shop, answer.transactionId);
    hold(record.status === 1, `${order.orderId} is Completed`);
    const units = BigInt(order.amount.slice(2).padEnd(18, "0"));
    hold(
      (await balanceWei(kit.anvil.url, order.receiver)) === units,
      `${order.orderId} was paid exactly once`,
    );
    shown.push({
      transactionId: answer.transactionId,
      currency: order.currency,
      amount: order.amount,
      ...record,
    });
  }
  tell("crypto", `started the signer again; all ${orders.length} paid exactly once`);
  return { shown };
}

/** How one gateway took over from the other. */
interface Takeover {
  readonly killed: string; // the names by which `cluster` lists the gateways
  readonly active: string;
  readonly refusals: number; // answers to one order until a gateway took the order
  readonly secondsWithoutService: number;
}

/**
 * Kills the active gateway while its orders are on their way, and pays a deposit while no gateway
 * takes orders. Each order is asked again until its answer, and is paid once.
 */
async function takenOver(
  kit: Kit,
  shop: Shop,
  gateways: Gateways,
): Promise<{ report: Takeover; shown: DemoPayment[] }> {
  let refusals = 0;
  const ask = async (place: number) => {
    const [amount, receiver] = [`0.02${place}1`, newAddress()];
    const order = { currency: "eth", amount, receiver, orderId: `takeover-${place}` };
    const { transactionId } = await until(`an answer for ${order.orderId}`, 120_000, async () => {
      const answer = await shop.autoWithdraw(order);
      if (answer.status === 200) return answer;
      refusals += 1;
      return undefined;
    });
    return { ...order, transactionId };
  };
  const paidLater = await shop.deposit("eth", "0.125", "order-1003");
  const { name: killed, started } = await gateways.findActive();
  const [first, ...others] = [0, 1, 2, 3].map(ask);
  await first;
  started.child.kill("SIGKILL");
  const killedAt = Date.now();
  tell("demo", `kill -9 of the active gateway ${killed} with orders on their way`);
  const next = ask(4);
  const value = `0x${(ether / 8n).toString(16)}`;
  await sendUnlocked(kit.anvil.url, { to: paidLater.address, value });
  tell("customer", "paid 0.125 ETH while no gateway takes orders");
  await next;
  const secondsWithoutService = (Date.now() - killedAt) / 1000;
  const listed = await gateways.list();
  tell("cluster", listed.map(({ name, state }) => `${name} ${state}`).join(", "));
  const active = listed.find(({ state }) => state === "active")?.name ?? "";
  hold(active !== "" && active !== killed, "cluster names the other gateway as active");
  tell(
    "shop",
    `orders were refused for ${secondsWithoutService.toFixed(1)} s (${refusals} times), then ${active} took them`,
  );
  const shown: DemoPayment[] = [];
  for (const order of await Promise.all([first, ...others, next])) {
    if (order === undefined) continue;
    const record = await ended(shop, order.transactionId);
    hold(record.status === 1, `${order.orderId} is Completed`);
    const held = await balanceWei(kit.anvil.url, order.receiver);
    const units = unitsOf(order.amount, 18);
    hold(held === units, `${order.orderId} was paid exactly once: ${units} wei, not ${held}`);
    const { transactionId, currency, amount } = order;
    shown.push({ transactionId, currency, amount, ...record });
  }
  hold((await ended(shop, paidLater.transactionId, 1)).status === 1, "the deposit is Completed");
  tell("gateway", `all ${shown.length} orders paid exactly once, and the deposit is Completed`);
  await gateways.startMissing();
  tell("gateway", `${killed} came again as the standby`);
  return { report: { killed, active, refusals, secondsWithoutService }, shown };
}

/** ETH and the token of the local chain. */
const tripsOf = ({ anvil: { url }, token }: Kit): readonly Trip[] => [
  {
    ...{
      currency: "eth",
      network: "eip155:31337",
      decimal: 18,
      amount: "0.75",
      sweepFee: "beside",
    },
    newReceiver: newAddress,
    async pay(address, units) {
      await sendUnlocked(url, { to: address, value: `0x${units.toString(16)}` });
    },
    held: (address) => balanceWei(url, address),
  },
  {
    ...{
      currency: "usdt",
      network: "eip155:31337",
      decimal: 6,
      amount: "321.123456",
      sweepFee: "other coin",
    },
    newReceiver: newAddress,
    async pay(address, units) {
      await sendUnlocked(url, {
        to: token,
        data: tokenCall("mint", address, units),
        gas: "0x30d40",
      });
    },
    held: (address) => tokenUnits(url, token, address),
  },
];

/** TRX and USDT of the fake for java-tron. */
function tronTripsOf(testNetwork: TronTestNetwork): readonly Trip[] {
  const trip = (asset: "coin" | "token", amount: string): Trip => ({
    ...{
      currency: testNetwork.currencies[asset],
      network: `tron:${testNetwork.node.chainId}`,
      decimal: 6,
      amount,
      sweepFee: asset === "coin" ? "beside" : "other coin",
    },
    newReceiver: () => testNetwork.newAddress(),
    pay: (address, units) =>
      testNetwork.send({
        pays: [{ asset, units, to: address }],
        byContract: false,
        fails: false,
        isVain: false,
      }),
    held: (address) => testNetwork.held(address, asset),
  });
  return [trip("coin", "75.5"), trip("token", "321.123456")];
}

async function main(): Promise<void> {
  const gateways = isPair ? await Gateways.open((what) => tell("demo", what)) : null;
  let testNetwork: TronTestNetwork | null = null;
  let bitcoin: Bitcoin | null = null;
  let xrp: XrpNode | null = null;
  try {
    const plain = profileNamed("tron", "plain node");
    testNetwork = await TronTestNetwork.open({
      slotMs: 200,
      solidLag: 4,
      profiles: [plain, plain],
    });
    bitcoin = await openBitcoin((what) => tell("demo", what));
    xrp = await openXrp((what) => tell("demo", what));
    const playing = play({ testNetwork, bitcoin, xrp }, gateways);
    await (interruption === null ? playing : Promise.race([playing, interruption.signal]));
  } finally {
    if (interruption?.isOver === true) killCommands();
    if (gateways !== null) await running?.close();
    await gateways?.close();
    await xrp?.close();
    await bitcoin?.people.rest();
    await bitcoin?.testNetwork.close();
    await testNetwork?.node.stop();
    if (interruption?.isOver === true) killCommands();
  }
}

async function play(networks: Networks, gateways: Gateways | null): Promise<void> {
  const { kit, shop } = await setUp(networks, gateways);
  let failed = true;
  let receiver: Receiver | null = null;
  try {
    receiver = await listen(kit);
    const deposits = await Promise.all([deposit(kit, shop, receiver), quotedDeposit(kit, shop)]);
    const withdrawals = [
      await withdraw(kit, shop, "eth", "0.25", ether / 4n, "order-2001"),
      await withdraw(kit, shop, "usdt", "125.5", 125_500_000n, "order-2002"),
    ];
    for (const { transactionId } of withdrawals)
      await told(receiver, "withdrawal.completed", transactionId);
    await refusal(kit, shop);
    const stream = await killed(kit, shop);
    withdrawals.push(...stream.shown);
    const takeover = gateways === null ? null : await takenOver(kit, shop, gateways);
    withdrawals.push(...(takeover?.shown ?? []));
    const trips = tripsOf(kit);
    const { testNetwork, bitcoin, xrp } = networks;
    const others = [
      ...tronTripsOf(testNetwork),
      ...(await bitcoinTripsOf(bitcoin)),
      ...xrpTripsOf(xrp),
    ];
    const chains = await roundTrips(kit, shop, [...trips, ...others], tell);
    const isLocal = ({ network }: { readonly network: string }): boolean =>
      network === trips[0]?.network;
    const topUps = (await listSweeps(kit)).filter(
      (one) => one.kind === "topup" && isLocal(one),
    ).length;
    const made = withdrawals.length + chains.filter(isLocal).length + topUps;
    const count = await transactionCount(kit.anvil.url, kit.hotWalletAddress);
    hold(count === made, `the account made ${made} transactions, not ${count}`);
    const verified = await kit.cli("verify");
    hold(verified.code === 0, `the ledger verifies:\n${verified.output}`);
    tell("verify", verified.output.trim().split("\n").at(-1) ?? "");
    failed = false;
    const elapsedMs = Date.now() - started;
    tell("demo", `all of it held, in ${(elapsedMs / 1000).toFixed(1)} s`);
    interruption?.ignore();
    if (values.keep) await keepRunning(kit, shop);
    else await kit.close();
    if (values.json)
      process.stdout.write(
        `${JSON.stringify({ ok: true, deposits, withdrawals, chains, callbacks: receiver.received.length, killed: ["signer", "courier", "gateway"], ...(takeover === null ? {} : { takeover: takeover.report }), elapsedMs })}\n`,
      );
  } finally {
    await receiver?.close();
    if (failed && interruption?.isOver !== true) {
      process.stderr.write(
        `${kit.gateway?.output().slice(-4000) ?? ""}\n${kit.crypto?.output().slice(-4000) ?? ""}\n`,
      );
      await kit.close();
    }
  }
}

/** A request that waits for an operator, and the command that pays it as a wallet would. */
async function payable(kit: Kit, shop: Shop): Promise<readonly string[]> {
  await kit.operate(
    "merchant",
    "page",
    kit.merchantId,
    "--shown-name",
    "Corner Shop",
    "--contact",
    "help@shop.example",
  );
  const { address, paymentUrl } = await shop.deposit("eth", "0.25", "order-to-pay");
  const [from] = (await rpc(kit.anvil.url, "eth_accounts")) as readonly string[];
  const payment = JSON.stringify({
    ...{ jsonrpc: "2.0", id: 1, method: "eth_sendTransaction" },
    params: [{ from, to: address, value: `0x${(ether / 4n).toString(16)}` }],
  });
  return [
    `A page to pay from: open ${paymentUrl}`,
    "and pay it, from another terminal; the page shows the payment by itself:",
    `  curl -s -H content-type:application/json ${kit.anvil.url} -d '${payment}'`,
  ];
}

async function keepRunning(kit: Kit, shop: Shop): Promise<void> {
  const lines = [
    ...(await payable(kit, shop)),
    "Still running. To try next, in another terminal:",
    `  node autowithdraw.js status --state ${kit.stateDir}`,
    `  node autowithdraw.js withdrawals --state ${kit.stateDir}`,
    `  curl -s -H content-type:application/json -H "signatureToken: $(echo ${kit.shopKey} | node autowithdraw.js token)" ${kit.gatewayUrl}/api/v1/transactions`,
    `The chain node is ${kit.anvil.url}, everything else is in ${kit.dir}. Ctrl-C ends it all.`,
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
  await new Promise<void>((resolve) => {
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
  });
  await kit.close();
}

try {
  await main();
  process.exit(0);
} catch (error) {
  process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`);
  if (values.json)
    process.stdout.write(
      `${JSON.stringify({ ok: false, error: error instanceof Error ? error.message : String(error), elapsedMs: Date.now() - started })}\n`,
    );
  process.exit(1);
}
