/**
 * A watcher beside a scripted chain that is served over HTTP, new for every test: the database's
 * withdrawals and deposits, and their transactions for the chain.
 */

import { afterEach, beforeEach } from "vitest";
import { depositAddressOf } from "../../chains/evm/address.ts";
import type { GatewayChain, GatewayConfig, GatewayCurrency } from "../../gateway/config/config.ts";
import type { PaymentRow } from "../../gateway/store/rows.ts";
import { createSignals } from "../../gateway/store/signals.ts";
import { startWatcher, type Watcher } from "../../gateway/watcher/watcher.ts";
import { unpricedChoices } from "../../lab/kit/choices.ts";
import {
  type ChainNode,
  FakeChain,
  type FakeTransaction,
  hashOf,
  type Lie,
  serveChain,
} from "../../lab/kit/fake-chain.ts";
import {
  type AgentKeys,
  type AnyTransaction,
  accountsText,
  askWithdrawal,
  depositXpub,
  type GatewayDatabase,
  gatewayDatabase,
  giveAddress,
  pairAgent,
  readTransaction,
  receiver,
  silentLog,
} from "../../lab/kit/gateway-database.ts";
import { until } from "./until.ts";

export const token = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
export const outsider = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
export const network = "eip155:31337";
export const eth = 10n ** 18n;

// The running test's own: each test has others.
export let db: GatewayDatabase;
export let keys: AgentKeys;
export let chain: FakeChain;
export let nodes: ChainNode[];
export let watcher: Watcher | null = null;
/** The withdrawals and deposits that the watcher reported as changed, in order. */
export let told: string[];
export const clock = { nowMs: 5_000 };

/** To be called once at the head of a test file. */
export function eachTestItsChain(): void {
  beforeEach(async () => {
    db = gatewayDatabase();
    keys = pairAgent(db.store);
    chain = new FakeChain();
    chain.mineEmpty(5);
    nodes = [await serveChain(chain)];
    nodes[0]!.lie = counting();
    told = [];
    clock.nowMs = 5_000;
  });
  afterEach(async () => {
    await watcher?.close();
    watcher = null;
    for (const node of nodes) await node.close();
    db.remove();
  });
}

/** Makes another address the agent's hot wallet. */
export function payFrom(hotWalletAddress: string): void {
  db.store.database.run("UPDATE agents SET accounts = ?", accountsText(hotWalletAddress));
  keys = { ...keys, hotWalletAddress };
}

export const currency = (id: string, contract: string): GatewayCurrency => ({
  id,
  chain: "local",
  network,
  name: id,
  symbol: id,
  decimal: contract === "" ? 18 : 6,
  contract,
  minPaymentAmount: "0.01",
  minWithdrawAmount: "0.01",
  paymentTolerance: "0",
  surplusTolerance: "0",
  enabled: true,
  depositOnly: false,
  ...{
    preset: "",
    market: "",
    listUnpriced: false,
    sweep: { isAutomatic: true, feeMultiple: 20, least: "0.000001" },
  },
});

export function configOf(
  urls: readonly string[],
  confirmations: number,
): Pick<GatewayConfig, "chains" | "currencies"> {
  const local: GatewayChain = {
    family: "evm",
    chainId: 31337,
    preset: "",
    explorer: "",
    network,
    nodes: urls,
    agentNodes: urls,
    confirmations,
  };
  return {
    chains: { local },
    currencies: { eth: currency("eth", ""), usd: currency("usd", token) },
  };
}

export async function start(nodeCount = 1, confirmations = 3): Promise<void> {
  while (nodes.length < nodeCount) nodes.push(await serveChain(chain));
  watch(
    configOf(
      nodes.map((node) => node.url),
      confirmations,
    ),
  );
  await until(() => watcher!.ready());
}

export function watch(config: Pick<GatewayConfig, "chains" | "currencies">, pollMs = 5): void {
  const signals = createSignals();
  signals.on("changed", ({ transactionId }) => told.push(transactionId));
  watcher = startWatcher({
    store: db.store,
    signals,
    config,
    log: silentLog,
    clock: () => clock.nowMs,
    run: "this run",
    choices: unpricedChoices(config, () => clock.nowMs),
    pollMs,
  });
}

/** Returns when the watcher has read the chain up to now, with or without success. */
export async function passes(count = 3): Promise<void> {
  for (let pass = 0; pass < count; pass += 1) {
    const before = asked;
    await until(() => asked > before + 1);
  }
}
let asked = 0;
export const counting =
  (lie: Lie | null = null): Lie =>
  (method, params, honest) => {
    if (method === "eth_getBlockByNumber" && params[0] === "latest" && params[1] === false)
      asked += 1;
    return lie === null ? honest : lie(method, params, honest);
  };

export function signedWithdrawal(
  number: number,
  change: Partial<AnyTransaction> = {},
  nonce = number,
): string {
  const id = askWithdrawal(db.store, keys.id, number, { stage: "signed", ...change });
  addAttempt(id, 1, nonce);
  db.store.database.run(
    "INSERT INTO slots VALUES (?, ?, ?, ?)",
    network,
    keys.hotWalletAddress,
    `${nonce}`,
    id,
  );
  return id;
}

export function addAttempt(id: string, attempt: number, nonce: number): void {
  const hash = attemptTxHash(id, attempt);
  const sql = "INSERT INTO signatures VALUES (?, ?, ?, ?, ?, ?, ?, '21000', ?, 0, '', NULL, 0)";
  db.store.database.run(
    sql,
    id,
    attempt,
    keys.id,
    network,
    keys.hotWalletAddress,
    `${nonce}`,
    hash,
    attempt,
  );
}

export const attemptTxHash = (id: string, attempt = 1): string => hashOf(`${id} ${attempt}`);

/** The transaction of a signed withdrawal, as the chain should hold it. */
export const payment = (
  id: string,
  nonce: number,
  change: Partial<FakeTransaction> = {},
): FakeTransaction => ({
  hash: attemptTxHash(id),
  from: keys.hotWalletAddress,
  nonce,
  to: receiver,
  value: eth,
  ...change,
});
export const tokenPayment = (
  id: string,
  nonce: number,
  transfers: readonly { to: string; units: bigint }[],
): FakeTransaction =>
  payment(id, nonce, {
    to: token,
    value: 0n,
    input: "0xa9059cbb",
    transfers: transfers.map((transfer) => ({
      contract: token,
      from: keys.hotWalletAddress,
      ...transfer,
    })),
  });
export const row = (id: string): AnyTransaction => readTransaction(db.store, id);
export const audit = (): string[] =>
  db.store.database
    .all<{ act: string }>("SELECT act FROM audit ORDER BY subject, act")
    .map((one) => one.act);
export const payments = (): PaymentRow[] =>
  db.store.database.all("SELECT * FROM payments ORDER BY block, logIndex");

/** A deposit request for 1 ETH (or 5 usd) at the xpub's address of this index. */
export function request(
  index: number,
  change: Partial<AnyTransaction> = {},
): { id: string; address: string } {
  const address = depositAddressOf(depositXpub, index);
  const { id = (index + 1).toString(16).padStart(32, "d") } = change;
  giveAddress(
    db.store,
    { id, address, place: index, agent: keys.id },
    { orderId: `d-${index}`, ...change },
  );
  return { id, address };
}
export const usd = { currency: "usd", units: "5000000" } as const;
export const usdPayment = (hash: string, address: string, ...units: bigint[]): FakeTransaction => ({
  hash: hashOf(hash),
  from: outsider,
  to: token,
  transfers: units.map((each) => ({ contract: token, from: outsider, to: address, units: each })),
});
