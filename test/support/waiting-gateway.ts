/**
 * A gateway's watcher with its sweeps, beside the fake for java-tron: an agent that pays from the
 * test network's rich account, the database's withdrawals, and their attempts signed by tronweb.
 * New for every test.
 */

import { afterEach, beforeEach } from "vitest";
import { voidMarginMs } from "../../chains/tron/expiry-exclusion.ts";
import { tron } from "../../chains/tron/family.ts";
import type { GatewayConfig, GatewayCurrency } from "../../gateway/config/config.ts";
import type { SignatureRow } from "../../gateway/store/rows.ts";
import { createSignals } from "../../gateway/store/signals.ts";
import { startWatcher, type Watcher, type WatcherOptions } from "../../gateway/watcher/watcher.ts";
import { unpricedChoices } from "../../lab/kit/choices.ts";
import {
  type AgentKeys,
  type AnyTransaction,
  askWithdrawal,
  depositXpub,
  type GatewayDatabase,
  gatewayDatabase,
  giveAddress,
  pairAgent,
  readTransaction,
  silentLog,
} from "../../lab/kit/gateway-database.ts";
import { callLevel } from "../../lab/kit/level-reader.ts";
import type { TronNodeOptions } from "../../lab/tron-node/tron-node.ts";
import {
  type Inhabitant,
  inhabitant,
  type Sending,
  type SignedTronTransaction,
  sender,
  startTestNetwork,
  type TestNetwork,
  usdt,
} from "./tron-network.ts";
import { until as untilWithin } from "./until.ts";

const lifetimeMs = 300_000;
export const receiver = inhabitant("a receiver").address;
export const run = "this run";

// The running test's own: each test has others.
export let db: GatewayDatabase;
export let keys: AgentKeys;
export let testNetwork: TestNetwork;
export let network: string;
export let watcher: Watcher | null = null;
/** Signals, in the order in which they came. */
export let told: string[];
export const clock = { nowMs: 5_000 };
let requests = 0;

const currency = (id: string, contract: string): GatewayCurrency => ({
  ...{
    id,
    chain: "testnet",
    network,
    name: id,
    symbol: id,
    decimal: 6,
    contract,
    minPaymentAmount: "1",
    minWithdrawAmount: "1",
    paymentTolerance: "0",
    surplusTolerance: "0",
  },
  ...{ enabled: true, depositOnly: false, preset: "", market: "", listUnpriced: false },
  sweep: { isAutomatic: true, feeMultiple: 20, least: "1" },
});

/** With room for a machine that does much else: some hundred blocks are read here. */
export const until = (holds: () => boolean): Promise<void> => untilWithin(holds, 30_000);

/** To be called once at the head of a test file. */
export function eachTestItsNetwork(fronts = 2, options: TronNodeOptions = {}): void {
  beforeEach(async () => {
    testNetwork = await startTestNetwork({
      fronts: Array.from({ length: fronts }, () => ({})),
      solidLag: 5,
      ...options,
    });
    network = tron.networkOf({ chainId: testNetwork.node.chainId });
    db = gatewayDatabase();
    keys = { ...pairAgent(db.store), hotWalletAddress: sender.address };
    const accounts = [
      { family: "tron", purpose: "hot", id: sender.address, firstAddress: sender.address },
      { family: "tron", purpose: "deposits", id: depositXpub, firstAddress: "none" },
    ];
    const paired = ["trx", "usdt"].map((id) => ({
      ...{ id, network, contract: id === "trx" ? "" : usdt, decimal: 6, maxFee: "40" },
    }));
    const sql = "UPDATE agents SET accounts = ?, networks = ?, currencies = ?, caughtUp = ?";
    db.store.database.run(
      sql,
      JSON.stringify(accounts),
      JSON.stringify([network]),
      JSON.stringify(paired),
      run,
    );
    callLevel(db.store.database, run);
    told = [];
    requests = 0;
    clock.nowMs = 5_000;
  });
  afterEach(async () => {
    await watcher?.close();
    watcher = null;
    await testNetwork.node.close();
    db.remove();
  });
}

export function configOf(): Pick<GatewayConfig, "chains" | "currencies"> {
  const { urls, chainId } = testNetwork.node;
  const chain = {
    family: "tron",
    chainId,
    preset: "",
    explorer: "",
    network,
    nodes: urls,
    agentNodes: urls,
  } as const;
  return {
    chains: { testnet: { ...chain, confirmations: "finalized" } },
    currencies: { trx: currency("trx", ""), usdt: currency("usdt", usdt) },
  };
}

/** Ready once it has read the chain as it stands. */
export async function watch(change: Partial<WatcherOptions> = {}): Promise<void> {
  const signals = createSignals();
  signals.on("changed", ({ transactionId }) =>
    told.push(`changed ${Number(`0x${transactionId}`)}`),
  );
  signals.on("void", ({ transactionId }) => told.push(`void ${Number(`0x${transactionId}`)}`));
  const options = {
    store: db.store,
    signals,
    config: configOf(),
    log: silentLog,
    clock: () => clock.nowMs,
    run,
    choices: unpricedChoices(configOf(), () => clock.nowMs),
    pollMs: 5,
  };
  watcher = startWatcher({ ...options, ...change });
  await until(() => watcher!.ready());
}

interface Attempt {
  readonly txHash: string;
  readonly validUntilMs: number;
  readonly signed: SignedTronTransaction;
}

/** A withdrawal of five coins or tokens, with its job and its slot; `number` makes its id. */
export function withdrawal(number: number, change: Partial<AnyTransaction> = {}): string {
  const id = askWithdrawal(db.store, keys.id, number, {
    ...{ network, currency: "trx", amount: "5", units: "5000000", receiver },
    ...{ payer: sender.address, stage: "signed" },
    ...change,
  });
  return id;
}

/** Signs an attempt that lives five minutes from the newest solidified block, as ours do. */
export function sign(
  id: string,
  attempt = 1,
  sending: Sending & { readonly from?: Inhabitant } = {},
): Attempt {
  const { chain } = testNetwork.node;
  const row = readTransaction(db.store, id);
  const { from = sender, ...more } = sending;
  const expirationMs = more.expirationMs ?? chain.blocks[chain.solid]!.timestampMs + lifetimeMs;
  const units = BigInt(row.units);
  const isToken = row.currency === "usdt" && row.operation !== "topup";
  const signed = isToken
    ? testNetwork.token(from, usdt, row.receiver ?? "", units, { ...more, expirationMs })
    : testNetwork.coins(from, row.receiver ?? "", Number(units), { ...more, expirationMs });
  addAttempt(id, attempt, {
    txHash: signed.txID,
    validUntilMs: expirationMs,
    account: from.address,
  });
  return { txHash: signed.txID, validUntilMs: expirationMs, signed };
}

export function addAttempt(
  id: string,
  attempt: number,
  {
    txHash,
    validUntilMs,
    account = sender.address,
  }: { txHash: string; validUntilMs: number; account?: string },
): void {
  const slot = `${Number(`0x${id.slice(-8)}`)}`;
  const { database } = db.store;
  const sql = `INSERT INTO signatures (transactionId, attempt, agent, network, account, slot, txHash, feeMax, seq, validUntilMs)
    VALUES (?, ?, ?, ?, ?, ?, ?, '1000000', ?, ?)`;
  database.run(sql, id, attempt, keys.id, network, account, slot, txHash, attempt, validUntilMs);
  database.run("INSERT OR IGNORE INTO slots VALUES (?, ?, ?, ?)", network, account, slot, id);
}

export const row = (id: string): AnyTransaction => readTransaction(db.store, id);
export const signature = (txHash: string): SignatureRow =>
  db.store.database.get<SignatureRow>("SELECT * FROM signatures WHERE txHash = ?", txHash)!;
export const isVoid = (txHash: string): boolean => signature(txHash).voidAt !== null;
export const audit = (): { act: string; subject: string; detail: string }[] =>
  db.store.database.all("SELECT act, subject, detail FROM audit ORDER BY id");
export const alarms = (): string[] =>
  audit().flatMap(({ act }) => (act.startsWith("alarm ") ? [act.slice(6)] : []));

/**
 * Blocks until the newest solidified one has passed a time. Four slots of five are missed, as when
 * most producers are away: a minute has four blocks, each of which the watcher reads.
 */
export function mineUntilSolid(ms: number): void {
  const { chain } = testNetwork.node;
  for (let made = 0; chain.blocks[chain.solid]!.timestampMs <= ms && made < 2_000; made += 1) {
    chain.halt(4 * chain.slotMs);
    chain.mine();
  }
}

/** So that chain time is past the end of an attempt by the margin. */
export const outlive = ({ validUntilMs }: Pick<Attempt, "validUntilMs">): void =>
  mineUntilSolid(validUntilMs + voidMarginMs);

/** Returns when the watcher has read the chain up to now, with or without success. */
export async function passes(count = 3): Promise<void> {
  const asked = (): number =>
    Math.max(
      ...testNetwork.node.fronts.map(({ counts }) => counts.get("/walletsolidity/getblock") ?? 0),
    );
  for (let pass = 0; pass < count; pass += 1) {
    const before = asked();
    await until(() => asked() > before + 1);
  }
}

/** Waits for one pass: every block was read up to the newest solidified one. */
export const readsAll = (): Promise<unknown> =>
  until(() => {
    const cursor = db.store.database.get<{ block: number }>(
      "SELECT block FROM cursors WHERE network = ?",
      network,
    );
    return cursor?.block === testNetwork.node.chain.solid;
  });

/** A deposit request that has ended, at the address of an inhabitant. */
export function depositAddress(name: string): Inhabitant {
  requests += 1;
  const who = inhabitant(name);
  const id = requests.toString(16).padStart(32, "d");
  const ended = {
    status: 1,
    stage: "completed",
    createdAt: 1_000,
    changedAt: 1_000,
    expiresAt: 10_000_000,
  } as const;
  const asked = {
    currency: "usdt",
    network,
    amount: "1",
    units: "1000000",
    orderId: `in-${requests}`,
  };
  giveAddress(
    db.store,
    { id, address: who.address, place: requests, agent: keys.id },
    { ...asked, ...ended },
  );
  return who;
}
