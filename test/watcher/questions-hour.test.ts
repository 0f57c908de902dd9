/**
 * The questions of a gateway and of an idle agent together to each server of Bitcoin in an hour, by
 * a clock of the test: six blocks, a look at each pause of both programs, one agent with an issued
 * address. Source of the limit: CypherBoxLLC/Cypher-Box #194 (700 an hour for an address).
 */

import { afterEach, expect, it, vi } from "vitest";
import { createChainAccess } from "../../agent/courier/nodes/chain.ts";
import { paceOf } from "../../chains/final-times.ts";
import { lookPauseMs } from "../../chains/look-pause.ts";
import type { SenderNodes } from "../../chains/nodes.ts";
import { findChainPreset } from "../../chains/presets.ts";
import { bitcoin, type UtxoNetwork } from "../../chains/utxo/network.ts";
import { createUtxoSender } from "../../chains/utxo/node-sender.ts";
import { createUtxoWatcher } from "../../chains/utxo/node-watcher.ts";
import type { GatewayChain, GatewayCurrency } from "../../gateway/config/config.ts";
import { rightClock } from "../../gateway/own-clock.ts";
import { createSignals, type Signals } from "../../gateway/store/signals.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { DepositAccounts } from "../../gateway/watcher/ahead.ts";
import { ChainWatch } from "../../gateway/watcher/watcher.ts";
import { unpricedChoices } from "../../lab/kit/choices.ts";
import {
  askWithdrawal,
  type GatewayDatabase,
  gatewayDatabase,
  giveAddress,
  pairAgent,
  silentLog,
} from "../../lab/kit/gateway-database.ts";
import { EsploraChain, type EsploraServer, serveEsplora } from "../support/esplora-chain.ts";
import { until } from "../support/until.ts";

const network = bitcoin.networks[0] as UtxoNetwork;
const genesis = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
const hot = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
const deposit = "bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3";
const begunMs = 1_790_000_000_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const blockMs = 10 * minuteMs;

interface World {
  readonly chain: EsploraChain;
  readonly servers: readonly EsploraServer[];
  readonly watch: ChainWatch;
  readonly sender: SenderNodes;
  readonly signals: Signals;
  readonly db: GatewayDatabase;
  nowMs: number;
}

let opened: World | null = null;
afterEach(async () => {
  vi.restoreAllMocks();
  await opened?.watch.close();
  opened?.sender.close();
  for (const server of opened?.servers ?? []) await server.close();
  opened?.db.remove();
  opened = null;
});

/** `isAwaited`: a customer has still to pay the issued address. */
async function open(isAwaited = false): Promise<World> {
  const chain = new EsploraChain(genesis, begunMs - 20 * blockMs);
  chain.pay(hot, 50_000_000n);
  for (let count = 20; count > 0; count -= 1) chain.mine(begunMs - count * blockMs);
  const servers = [await serveEsplora(chain), await serveEsplora(chain)];
  const urls = servers.map(({ url }) => url);
  const db = gatewayDatabase();
  const { id: agent } = pairAgent(db.store, "a", hot);
  const account = { family: "bitcoin", purpose: "hot", id: hot, firstAddress: hot };
  db.store.database.run(
    "UPDATE agents SET accounts = ?, networks = ?",
    JSON.stringify([account]),
    JSON.stringify([network.id]),
  );
  const waits = {
    createdAt: begunMs,
    changedAt: begunMs,
    network: network.id,
    currency: "btc",
    status: isAwaited ? 0 : 1,
    stage: isAwaited ? "waiting" : "completed",
    units: "100000",
  } as const;
  giveAddress(
    db.store,
    { id: "d1", address: deposit, place: 0, agent },
    { ...waits, expiresAt: begunMs + 24 * hourMs },
  );
  const world = { nowMs: begunMs } as { nowMs: number };
  const lines = {
    ...findChainPreset("bitcoin")?.lines,
    network: network.id,
  } as unknown as GatewayChain;
  const common = { log: () => {}, clock: () => world.nowMs, timeoutMs: 20_000 };
  const reader = createUtxoWatcher({ urls, network, confirmations: 3, ...common });
  const sender = createUtxoSender({ urls, network, confirmations: 3, ...common });
  const coin = {
    id: "btc",
    network: network.id,
    contract: "",
    decimal: 8,
  } as unknown as GatewayCurrency;
  const signals = createSignals();
  const options = {
    ...{ store: db.store, signals, log: silentLog, clock: () => world.nowMs, run: "one run" },
    ...{ monotonic: () => world.nowMs, ownClock: () => rightClock, openReader: () => reader },
    config: { chains: {}, currencies: { btc: coin } } as never,
    choices: unpricedChoices({ currencies: {} }, () => world.nowMs),
  };
  const watch = new ChainWatch("btc", lines, options, { btc: coin } as never);
  return Object.assign(world, { chain, servers, watch, sender, signals, db });
}

/** Each server's questions in an hour that begins when both programs have read all. */
async function anHour(world: World, isPaying: boolean, txHash = ""): Promise<readonly number[]> {
  const { chain, servers, watch, sender } = world;
  const access = createChainAccess(
    sender,
    () => world.nowMs,
    paceOf({ ...bitcoinLines, confirmations: 3 }),
  );
  const pauseMs = lookPauseMs(access.blockMs);
  let known = "";
  let looked = "";
  let stateAtMs = 0;
  const look = async (): Promise<void> => {
    while (!(await watch.passOnce()));
    const { hash } = await sender.tip();
    const isDue = isPaying || world.nowMs - stateAtMs >= minuteMs;
    if (hash !== known && isDue) {
      await access.chainState(hot);
      known = hash;
      stateAtMs = world.nowMs;
    }
    // The scheduler looks for a payout at each new head.
    if (isPaying && hash !== looked)
      await sender.locations(hot, [{ slot: "1", txHashes: [txHash] }]);
    looked = hash;
  };
  await look();
  await look();
  const before = servers.map(({ asked }) => asked.length);
  expect(watch.pauseMs).toBe(pauseMs);
  for (let atMs = 0; atMs < hourMs; atMs += pauseMs) {
    world.nowMs += pauseMs;
    if ((atMs + pauseMs) % blockMs === 0) chain.mine(world.nowMs);
    await look();
  }
  return servers.map(({ asked }, at) => asked.length - (before[at] ?? 0));
}

const bitcoinLines = { family: "bitcoin", chainId: network.reference } as const;

it("a gateway and an idle agent ask each server of Bitcoin at most 360 questions in an hour", async () => {
  opened = await open();
  const asked = await anHour(opened, false);
  expect(asked.map((count) => count > 120)).toEqual([true, true]);
  for (const count of asked) expect(count).toBeLessThanOrEqual(360);
});

it("one request that waits for its payer adds two questions a minute, which show the payment before a block has it", async () => {
  opened = await open();
  const idle = Math.max(...(await anHour(opened, false)));
  await opened.watch.close();
  opened.sender.close();
  for (const server of opened.servers) await server.close();
  opened.db.remove();
  opened = await open(true);
  for (const count of await anHour(opened, false)) expect(count).toBeLessThanOrEqual(idle + 180);
});

it("and with one payout that waits for its block at most 450", async () => {
  opened = await open();
  const { db } = opened;
  const agents = db.store.database.all<{ id: string }>("SELECT id FROM agents");
  const agent = agents[0]?.id ?? "";
  const id = askWithdrawal(db.store, agent, 0x1001, {
    ...{
      network: network.id,
      currency: "btc",
      stage: "broadcast",
      receiver: deposit,
      payer: hot,
    },
    ...{ units: "1000", expiresAt: begunMs + 24 * hourMs },
  });
  const txHash = "ab".repeat(32);
  insertSignature(db.store.database, {
    ...{
      transactionId: id,
      attempt: 1,
      agent,
      network: network.id,
      account: hot,
      slot: "1",
      txHash,
    },
    ...{ feeMax: "1", seq: 1, validUntilMs: 0, pin: `${"cd".repeat(32)}:0:5000`, cancel: 0 },
  });
  for (const count of await anHour(opened, true, txHash)) expect(count).toBeLessThanOrEqual(450);
});

it("an order that waits for a look does not wait for the end of the pause", async () => {
  opened = await open();
  const { watch, servers, signals } = opened;
  expect(watch.pauseMs).toBe(30_000);
  watch.start();
  const heads = (): number =>
    servers[0]?.asked.filter((path) => path === "/blocks/tip/hash").length ?? 0;
  await until(() => watch.readAt !== null);
  const before = heads();
  opened.nowMs += 1_000;
  signals.emit("look", { network: network.id, account: hot });
  await until(() => heads() > before);
});

it("an address that leaves before the end of the pause wakes a pass where few are left, and else none", async () => {
  opened = await open();
  const { watch, servers, signals } = opened;
  watch.start();
  const heads = (): number =>
    servers[0]?.asked.filter((path) => path === "/blocks/tip/hash").length ?? 0;
  const leave = (): void => signals.emit("left", { network: network.id, account: hot, index: 3 });
  // A pass that was woken comes after a second; half a minute passes before the others.
  const rested = async (): Promise<number> => {
    for (let before = -1; before !== heads() || watch.readAt === null; ) {
      before = heads();
      await new Promise((resolve) => setTimeout(resolve, 1_500));
    }
    return heads();
  };
  const before = await rested();
  leave();
  expect(await rested()).toBe(before);
  vi.spyOn(DepositAccounts.prototype, "isShort").mockReturnValue(true);
  opened.nowMs += 1_000;
  leave();
  const atMs = performance.now();
  await until(() => heads() > before);
  expect(performance.now() - atMs).toBeLessThan(watch.pauseMs);
});
