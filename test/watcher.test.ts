/**
 * The watcher against scripted chains served over HTTP, nodes that lie, and a real local chain; and its pure judgements.
 */
import { getAddress } from "ethers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { depositAddressOf } from "../chains/evm/address.ts";
import type { GatewayChain, GatewayConfig, GatewayCurrency } from "../gateway/config.ts";
import type { PaymentRow, TransactionRow } from "../gateway/store/rows.ts";
import { createSignals } from "../gateway/store/signals.ts";
import { judgeDeposit, type Payment } from "../gateway/watcher/credit.ts";
import { asksForCode, type FinalTransaction, judgeConsumer, judgePayout, type Payout } from "../gateway/watcher/payout.ts";
import { agreement } from "../gateway/watcher/reader.ts";
import { Turns, type Waiting } from "../gateway/watcher/turns.ts";
import { startWatcher, type Watcher } from "../gateway/watcher/watcher.ts";
import { AgentError } from "../protocol/fault.ts";
import { startAnvil } from "../scripts/anvil.ts";
import { balanceWei, rpc, sendUnlocked, tokenCall, transactionCount } from "../scripts/rpc.ts";
import { deployToken } from "../scripts/token.ts";
import { type ChainNode, FakeChain, type FakeTransaction, hashOf, type Lie, serveChain } from "./support/fake-chain.ts";
import {
  type AgentKeys,
  askWithdrawal,
  type GatewayDatabase,
  gatewayDatabase,
  insertTransaction,
  pairAgent,
  readTransaction,
  receiver,
  silentLog,
} from "./support/gateway-database.ts";
import { until } from "./support/until.ts";

const token = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
const stranger = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
const network = "eip155:31337";
const xpub = "xpub6BosfCnifzxcFwrSzQiqu2DBVTshkCXacvNsWGYJVVhhawA7d4R5WSWGFNbi8Aw6ZRc1brxMyWMzG3DSSSSoekkudhUd9yLb6qx39T9nMdj";

let db: GatewayDatabase;
let keys: AgentKeys;
let chain: FakeChain;
let nodes: ChainNode[];
let watcher: Watcher | null = null;
let told: string[];
let nowMs = 5_000;

const currency = (id: string, contract: string): GatewayCurrency => ({
  id,
  chain: "local",
  network,
  name: id,
  symbol: id,
  decimal: contract === "" ? 18 : 6,
  contract,
  minPaymentAmount: "0.01",
  minWithdrawAmount: "0.01",
  enabled: true,
});

function configOf(urls: readonly string[], confirmations: number): Pick<GatewayConfig, "chains" | "currencies"> {
  const local: GatewayChain = { family: "evm", chainId: 31337, network, nodes: urls, agentNodes: urls, confirmations };
  return { chains: { local }, currencies: { eth: currency("eth", ""), usd: currency("usd", token) } };
}

async function start(nodeCount = 1, confirmations = 3): Promise<void> {
  while (nodes.length < nodeCount) nodes.push(await serveChain(chain));
  watch(
    configOf(
      nodes.map((node) => node.url),
      confirmations,
    ),
  );
  await until(() => watcher!.ready());
}

function watch(config: Pick<GatewayConfig, "chains" | "currencies">, pollMs = 5): void {
  const signals = createSignals();
  signals.on("changed", ({ transactionId }) => told.push(transactionId));
  watcher = startWatcher({ store: db.store, signals, config, log: silentLog, clock: () => nowMs, pollMs });
}

/** Returns once the watcher has read the chain as it stands now, whatever it made of it. */
async function passes(count = 3): Promise<void> {
  for (let pass = 0; pass < count; pass += 1) {
    const before = asked;
    await until(() => asked > before + 1);
  }
}
let asked = 0;
const counting =
  (lie: Lie | null = null): Lie =>
  (method, params, honest) => {
    if (method === "eth_getBlockByNumber" && params[0] === "latest" && params[1] === false) asked += 1;
    return lie === null ? honest : lie(method, params, honest);
  };

beforeEach(async () => {
  db = gatewayDatabase();
  keys = pairAgent(db.store);
  chain = new FakeChain();
  chain.mineEmpty(5);
  nodes = [await serveChain(chain)];
  nodes[0]!.lie = counting();
  told = [];
  nowMs = 5_000;
});
afterEach(async () => {
  await watcher?.close();
  watcher = null;
  for (const node of nodes) await node.close();
  db.remove();
});

const eth = 10n ** 18n;

function signedWithdrawal(number: number, change: Partial<TransactionRow> = {}, nonce = number): string {
  const id = askWithdrawal(db.store, keys.id, number, { stage: "signed", ...change });
  addVersion(id, 1, nonce);
  db.store.database.run("INSERT INTO tokens VALUES (?, ?, ?, ?)", network, keys.hotAddress, `${nonce}`, id);
  return id;
}

function addVersion(id: string, version: number, nonce: number): void {
  const hash = versionHash(id, version);
  const sql = "INSERT INTO signatures VALUES (?, ?, ?, ?, ?, ?, ?, '21000', ?)";
  db.store.database.run(sql, id, version, keys.id, network, keys.hotAddress, `${nonce}`, hash, version);
}

const versionHash = (id: string, version = 1): string => hashOf(`${id} ${version}`);

/** The transaction of a signed withdrawal, as the chain should hold it. */
const payment = (id: string, nonce: number, change: Partial<FakeTransaction> = {}): FakeTransaction => ({
  hash: versionHash(id),
  from: keys.hotAddress,
  nonce,
  to: receiver,
  value: eth,
  ...change,
});
const tokenPayment = (id: string, nonce: number, transfers: readonly { to: string; units: bigint }[]): FakeTransaction =>
  payment(id, nonce, {
    to: token,
    value: 0n,
    input: "0xa9059cbb",
    transfers: transfers.map((transfer) => ({ contract: token, from: keys.hotAddress, ...transfer })),
  });
const row = (id: string): TransactionRow => readTransaction(db.store, id);
const audit = (): string[] => db.store.database.all<{ act: string }>("SELECT act FROM audit").map((one) => one.act);
const payments = (): PaymentRow[] => db.store.database.all("SELECT * FROM payments ORDER BY block, logIndex");

describe("a node that hangs", () => {
  it("is told of before its time-out ends", async () => {
    await start();
    const [node] = nodes;
    node!.isHung = true;
    await new Promise((done) => setTimeout(done, 50)); // the running pass ends, the next one hangs
    nowMs += 9_999;
    expect(watcher!.ready()).toBe(true);
    nowMs += 1;
    expect(watcher!.chainStatus()[0]).toMatchObject({ ok: false, detail: "its nodes do not answer" });
  });
});

describe("a withdrawal on chain", () => {
  it("is confirming in a block and completed at finality, with hash, fee and block", async () => {
    const id = signedWithdrawal(0);
    await start();
    const block = chain.mine(payment(id, 0));
    await until(() => row(id).stage === "confirming");
    expect(row(id)).toMatchObject({ status: 0, txHash: versionHash(id), finalBlock: null });
    expect(watcher!.confirmations(id)).toBe(1);
    chain.mine();
    await until(() => watcher!.confirmations(id) === 2);
    expect(row(id).status).toBe(0);
    chain.mine();
    await until(() => row(id).status === 1);
    expect(row(id)).toMatchObject({
      stage: "completed",
      code: "",
      txHash: versionHash(id),
      feeUnits: "210000",
      finalBlock: block,
    });
    expect(told).toEqual([id, id]);
    expect(watcher!.confirmations(id)).toBeNull();
    expect(audit()).toEqual([]);
  });

  it("of a token is completed by exactly one transfer of the exact amount", async () => {
    const id = signedWithdrawal(0, { currency: "usd", amountUnits: "5000000" });
    await start();
    chain.mine(tokenPayment(id, 0, [{ to: receiver, units: 5_000_000n }]));
    chain.mineEmpty(2);
    await until(() => row(id).status === 1);
  });

  it.each([
    [
      "a fee on transfer",
      [
        { to: receiver, units: 4_950_000n },
        { to: stranger, units: 50_000n },
      ],
    ],
    [
      "a second transfer beside the right one",
      [
        { to: receiver, units: 5_000_000n },
        { to: stranger, units: 1n },
      ],
    ],
    ["no transfer at all", []],
    ["another receiver", [{ to: stranger, units: 5_000_000n }]],
  ])("of a token with %s stays pending, stuck, with an alarm", async (_name, transfers) => {
    const id = signedWithdrawal(0, { currency: "usd", amountUnits: "5000000" });
    await start();
    chain.mine(tokenPayment(id, 0, transfers));
    chain.mineEmpty(2);
    await until(() => row(id).stage === "stuck");
    expect(row(id).status).toBe(0);
    expect(audit()).toEqual(["alarm WATCHER_CONTENT_DIFFERS"]);
  });

  it.each([
    ["another amount", { value: eth - 1n }],
    ["another receiver", { to: stranger }],
    ["another payer", { from: stranger }],
    ["another nonce", { nonce: 9 }],
  ])("with %s than asked for is never completed", async (_name, change) => {
    const id = signedWithdrawal(0);
    await start();
    chain.mine(payment(id, 0, change));
    chain.mineEmpty(2);
    await until(() => row(id).stage === "stuck");
    expect(row(id)).toMatchObject({ status: 0, stage: "stuck" });
  });

  it("fails when it reverted for good, and not before", async () => {
    const id = signedWithdrawal(0);
    await start();
    const block = chain.mine(payment(id, 0, { status: 0 }));
    await until(() => row(id).stage === "confirming");
    chain.mineEmpty(2);
    await until(() => row(id).status === 2);
    expect(row(id)).toMatchObject({ stage: "failed", code: "chain_reverted", feeUnits: "210000", finalBlock: block });
  });

  it("goes back when its block vanishes, and completes by the version that stands at the end", async () => {
    const id = signedWithdrawal(0, { stage: "broadcast" });
    addVersion(id, 2, 0);
    await start();
    chain.mine(payment(id, 0, { status: 0 }));
    await until(() => row(id).stage === "confirming");
    chain.dropBlocks(1);
    chain.mineEmpty(2);
    await until(() => row(id).stage === "broadcast");
    chain.mine(payment(id, 0, { hash: versionHash(id, 2) }));
    chain.mineEmpty(2);
    await until(() => row(id).status === 1);
    expect(row(id).txHash).toBe(versionHash(id, 2));
  });

  it("stays pending for ever while nothing is known of it", async () => {
    const id = signedWithdrawal(0);
    nowMs = 50_000_000;
    await start();
    chain.mineEmpty(10);
    await passes();
    expect(row(id)).toMatchObject({ status: 0, stage: "signed" });
  });

  it("is paid by a version the gateway never heard of when that pays exactly this", async () => {
    const id = signedWithdrawal(0);
    await start();
    chain.mine(payment(id, 0, { hash: hashOf("malleated") }));
    chain.mineEmpty(2);
    await until(() => row(id).status === 1);
    expect(row(id).txHash).toBe(hashOf("malleated"));
  });

  it.each([
    ["a plain payment to somebody else", "eth", { to: stranger, value: 1n }, 2, "chain_token_consumed"],
    ["a payment to a contract, which may have passed it on", "eth", { to: token, value: 1n }, 0, ""],
    ["a revert", "eth", { status: 0 as const }, 2, "chain_token_consumed"],
    ["a part of the payment", "eth", { value: 1n }, 0, ""],
    ["a call that might have paid from inside", "eth", { to: stranger, value: 0n, input: "0x1234" }, 0, ""],
    ["a call without a transfer to the receiver", "usd", { to: stranger, value: 0n, input: "0x1234" }, 2, "chain_token_consumed"],
  ])("whose nonce was used by %s ends accordingly", async (_name, id, change, status, code) => {
    const withdrawal = signedWithdrawal(0, { currency: id });
    chain.contracts.add(token);
    await start();
    chain.mine(payment(withdrawal, 0, { hash: hashOf("foreign"), ...change }));
    chain.mineEmpty(3);
    await until(() => row(withdrawal).stage === (status === 2 ? "failed" : "stuck"));
    expect(row(withdrawal)).toMatchObject({ status, code });
    expect(audit()).toContain(status === 2 ? "alarm WATCHER_PAYMENT_FAILED" : "alarm WATCHER_TOKEN_CONSUMED");
  });

  it("whose nonce was used before the gateway looked is stuck, and not failed", async () => {
    chain.mine({ hash: hashOf("before"), from: keys.hotAddress, nonce: 0, to: stranger });
    chain.mineEmpty(3);
    await start();
    const id = signedWithdrawal(0);
    chain.mine();
    await until(() => row(id).stage === "stuck");
    expect(row(id).status).toBe(0);
    expect(audit()).toEqual(["alarm WATCHER_TOKEN_CONSUMED"]);
  });
});

describe("many withdrawals", () => {
  it("of one agent take no pass whole: each is bounded, and another agent's is looked at in every one", async () => {
    for (let number = 0; number < 60; number += 1) {
      const id = signedWithdrawal(number);
      db.store.write(() => {
        for (let version = 2; version <= 25; version += 1) addVersion(id, version, number);
      });
    }
    const other = pairAgent(db.store, "b", stranger);
    const theirs = askWithdrawal(db.store, other.id, 999, { stage: "signed" });
    const sql = "INSERT INTO signatures VALUES (?, 1, ?, ?, ?, '0', ?, '21000', 1)";
    db.store.database.run(sql, theirs, other.id, network, stranger, versionHash(theirs));
    const receipts: string[] = [];
    nodes[0]!.lie = counting((method, params, honest) => {
      if (method === "eth_getTransactionReceipt") receipts.push(String(params[0]));
      return honest;
    });
    watch(configOf([nodes[0]!.url], 3), 60_000);
    await until(() => watcher!.ready());
    expect(receipts.length).toBeGreaterThan(1000);
    expect(receipts.length).toBeLessThanOrEqual(1024);
    expect(receipts).toContain(versionHash(theirs));
    await watcher!.close();
    await start();
    await until(() => new Set(receipts).size === 60 * 20 + 1);
    chain.mine(payment(theirs, 0, { from: stranger }), payment("3b".padStart(32, "0"), 59));
    chain.mineEmpty(2);
    await until(() => row(theirs).status === 1 && row("3b".padStart(32, "0")).status === 1);
  });

  const waiting = (account: string, count: number, questions = 1): Waiting[] =>
    Array.from({ length: count }, (_, number) => ({
      id: `${account}${number}`,
      account,
      hashes: Array.from({ length: questions }, String),
    }));
  const ids = (taken: readonly Waiting[]): string => taken.map((one) => one.id).join(" ");

  it("have their turn one of each agent at a time, each once, and then those first who waited longest", () => {
    const turns = new Turns();
    const open = [...waiting("a", 4), ...waiting("b", 1), ...waiting("c", 2)];
    expect([ids(turns.take(open, "block 1", 3)), turns.left]).toEqual(["a0 b0 c0", 4]);
    expect([ids(turns.take(open, "block 1", 3)), turns.left]).toEqual(["a1 c1 a2", 1]);
    expect([ids(turns.take(open, "block 2", 3)), turns.left]).toEqual(["a3 b0 c0", 4]);
    expect([ids(turns.take(open, "block 2", 9)), turns.left]).toEqual(["a0 c1 a1 a2", 0]);
    expect(ids(turns.take(open, "block 2", 9))).toBe("");
    turns.restart();
    expect(ids(turns.take(open, "block 2", 9)).split(" ").length).toBe(7);
  });

  it("never wait because one of them asks more than a pass may", () => {
    const turns = new Turns();
    const open = [...waiting("a", 1, 50), ...waiting("b", 2)];
    expect(ids(turns.take(open, "key", 10))).toBe("a0");
    expect(ids(turns.take(open, "key", 10))).toBe("b0 b1");
  });
});

describe("two nodes", () => {
  const hideReceipt: Lie = (method, _params, honest) => (method === "eth_getTransactionReceipt" ? null : honest);

  it("that agree complete a withdrawal; one that hides, alters or invents does not", async () => {
    const id = signedWithdrawal(0);
    await start(2);
    nodes[1]!.lie = hideReceipt;
    chain.mine(payment(id, 0));
    chain.mineEmpty(3);
    await until(() => row(id).stage === "confirming");
    await passes(6);
    expect(row(id).status).toBe(0);
    nodes[1]!.lie = null;
    chain.mine();
    await until(() => row(id).status === 1);
  });

  it("one of which invents a payment complete nothing", async () => {
    const id = signedWithdrawal(0);
    const dreamt = new FakeChain();
    dreamt.blocks = [...chain.blocks];
    dreamt.mine(payment(id, 0));
    dreamt.mineEmpty(10);
    await start(2);
    nodes[0]!.chain = dreamt;
    await until(() => row(id).stage === "confirming");
    await passes(5);
    expect(row(id).status).toBe(0);
    expect(db.store.database.get("SELECT block FROM cursors")).toEqual({ block: 3 });
  });

  it("one of which alters the amount of a final transaction complete nothing until it stops", async () => {
    const id = signedWithdrawal(0);
    chain.mine(payment(id, 0, { value: eth - 1n }));
    chain.mineEmpty(3);
    nodes.push(await serveChain(chain));
    const alter: Lie = (method, params, honest) => {
      const block = honest as { transactions?: Record<string, unknown>[] } | null;
      if (method !== "eth_getBlockByNumber" || params[1] !== true || block === null) return honest;
      return { ...block, transactions: block.transactions?.map((one) => ({ ...one, value: `0x${eth.toString(16)}` })) };
    };
    nodes[1]!.lie = alter;
    watch(
      configOf(
        nodes.map((node) => node.url),
        3,
      ),
    );
    await until(() => row(id).stage === "confirming" || watcher!.chainStatus()[0]!.detail.startsWith("NODE_DISAGREE"));
    await passes(4);
    expect(row(id).status).toBe(0);
    expect(watcher!.ready()).toBe(false);
    nodes[1]!.lie = null;
    await until(() => row(id).stage === "stuck");
    await until(() => watcher!.ready());
  });

  it("one of which is away stop what needs both, and go on when it is back", async () => {
    const id = signedWithdrawal(0);
    await start(2);
    nodes[1]!.isDown = true;
    chain.mine(payment(id, 0));
    chain.mineEmpty(3);
    await until(() => !watcher!.ready());
    await passes(3);
    expect(row(id).status).toBe(0);
    nodes[1]!.isDown = false;
    await until(() => row(id).status === 1, 8_000);
  });

  it("one of which hides a deposit credit it all the same only when both show it", async () => {
    const { id, address } = request(0);
    await start(2);
    const hide: Lie = (method, params, honest) => {
      const block = honest as { transactions?: unknown[] } | null;
      const isFull = method === "eth_getBlockByNumber" && params[1] === true && block !== null;
      return isFull ? { ...block, transactions: [] } : honest;
    };
    nodes[1]!.lie = hide;
    chain.mine({ hash: hashOf("d"), from: stranger, to: address, value: eth });
    chain.mineEmpty(3);
    await passes(5);
    expect(row(id).status).toBe(0);
    nodes[1]!.lie = null;
    await until(() => row(id).status === 1);
  });
});

/** A deposit request for 1 ETH (or 5 usd) at the xpub's address of this index. */
function request(index: number, change: Partial<TransactionRow> = {}): { id: string; address: string } {
  const address = depositAddressOf(xpub, index);
  const id = (index + 1).toString(16).padStart(32, "d");
  insertTransaction(db.store, { id, orderId: `d-${index}`, receiverAddress: address, depositAddress: address, ...change });
  db.store.database.run("INSERT INTO depositAddresses VALUES (?, ?, ?, ?)", address, keys.id, index, id);
  return { id, address };
}
const usd = { currency: "usd", amountUnits: "5000000" } as const;
const usdPayment = (hash: string, address: string, ...units: bigint[]): FakeTransaction => ({
  hash: hashOf(hash),
  from: stranger,
  to: token,
  transfers: units.map((each) => ({ contract: token, from: stranger, to: address, units: each })),
});

describe("a deposit on chain", () => {
  it("is seen, confirming, and completed at finality", async () => {
    const { id, address } = request(0);
    await start();
    chain.mine({ hash: hashOf("a"), from: stranger, to: address, value: eth / 2n });
    await until(() => row(id).stage === "seen");
    const block = chain.mine({ hash: hashOf("b"), from: stranger, to: address, value: eth / 2n });
    await until(() => row(id).stage === "confirming");
    chain.mine();
    await until(() => row(id).amountReceivedUnits === `${eth / 2n}`);
    expect(row(id)).toMatchObject({ status: 0, stage: "confirming" });
    chain.mine();
    await until(() => row(id).status === 1);
    const completed = { stage: "completed", amountReceivedUnits: `${eth}`, txHash: hashOf("b"), finalBlock: block };
    expect(row(id)).toMatchObject(completed);
  });

  it("of a token counts each transfer of the configured contract, several in one transaction, more than asked", async () => {
    const { id, address } = request(0, usd);
    await start();
    const other: FakeTransaction = {
      hash: hashOf("lookalike"),
      from: stranger,
      to: stranger,
      transfers: [{ contract: stranger, from: stranger, to: address, units: 9_000_000n }],
    };
    chain.mine(other, usdPayment("a", address, 2_000_000n, 2_500_000n));
    chain.mineEmpty(2);
    await until(() => row(id).stage === "partial");
    expect(row(id).amountReceivedUnits).toBe("4500000");
    chain.mine(usdPayment("b", address, 1_000_000n, 0n));
    chain.mineEmpty(2);
    await until(() => row(id).status === 1);
    expect(row(id).amountReceivedUnits).toBe("5500000");
    expect(payments().map((one) => one.units)).toEqual(["2000000", "2500000", "1000000"]);
  });

  it("that reverted or vanished is not counted", async () => {
    const { id, address } = request(0);
    await start();
    chain.mine({ hash: hashOf("reverted"), from: stranger, to: address, value: eth, status: 0 });
    chain.mine({ hash: hashOf("vanishing"), from: stranger, to: address, value: eth });
    await until(() => row(id).stage === "confirming");
    expect(payments()).toHaveLength(1);
    chain.dropBlocks(1);
    chain.mineEmpty(2);
    await until(() => row(id).stage === "waiting");
    expect(payments()).toEqual([]);
    chain.mine({ hash: hashOf("vanishing"), from: stranger, to: address, value: eth });
    chain.mineEmpty(2);
    await until(() => row(id).status === 1);
    expect(payments()).toHaveLength(1);
  });

  it("re-mined at another place counts once", async () => {
    const { id, address } = request(0, usd);
    await start();
    chain.mine(usdPayment("noise", stranger, 1n), usdPayment("a", address, 3_000_000n));
    await until(() => row(id).stage === "seen");
    chain.dropBlocks(1);
    chain.mine(usdPayment("a", address, 3_000_000n));
    chain.mineEmpty(4);
    await until(() => row(id).stage === "partial");
    expect(row(id).amountReceivedUnits).toBe("3000000");
    expect(payments()).toHaveLength(1);
  });

  it("sent by a contract is found by the balance, once", async () => {
    const { id, address } = request(0);
    const second = request(1);
    await start();
    chain.mine({ hash: hashOf("a"), from: stranger, to: address, value: eth / 4n });
    chain.coins.push({ block: 7, address, units: eth / 4n }, { block: 7, address: second.address, units: eth });
    chain.mineEmpty(3);
    await until(() => row(second.id).status === 1);
    await until(() => row(id).amountReceivedUnits === `${eth / 2n}`);
    expect(row(second.id).txHash).toBe("");
    chain.mineEmpty(3);
    await passes();
    expect(row(id)).toMatchObject({ status: 0, stage: "partial", amountReceivedUnits: `${eth / 2n}` });
    expect(payments().filter((one) => one.txHash.startsWith("internal:"))).toHaveLength(2);
  });

  it("expires only when nothing of it is still confirming, and keeps what comes late", async () => {
    const waiting = request(0, { expiresAt: 10_000 });
    const confirming = request(1, { expiresAt: 10_000 });
    await start();
    chain.mine({ hash: hashOf("a"), from: stranger, to: confirming.address, value: eth });
    await until(() => row(confirming.id).stage === "confirming");
    nowMs = 10_000;
    await until(() => row(waiting.id).status === 2);
    expect(row(waiting.id)).toMatchObject({ stage: "expired", code: "deposit_expired" });
    expect(row(confirming.id).status).toBe(0);
    chain.mine({ hash: hashOf("late"), from: stranger, to: waiting.address, value: eth });
    chain.mineEmpty(2);
    await until(() => row(confirming.id).status === 1);
    await until(() => row(waiting.id).amountReceivedUnits === `${eth}`);
    expect(row(waiting.id)).toMatchObject({ status: 2, stage: "expired" });
  });

  it("does not expire while the chain cannot be read", async () => {
    const { id } = request(0, { expiresAt: 10_000 });
    await start();
    nodes[0]!.isDown = true;
    nowMs = 20_000;
    await until(() => !watcher!.ready());
    expect(row(id).status).toBe(0);
    nodes[0]!.isDown = false;
    await until(() => row(id).status === 2, 8_000);
  });

  it("in another currency than asked is recorded and counts for nothing", async () => {
    const { id, address } = request(0);
    await start();
    chain.mine(usdPayment("a", address, 7n));
    chain.mineEmpty(2);
    await until(() => payments().some((one) => one.final === 1));
    expect(payments()[0]).toMatchObject({ currency: "usd", transactionId: id });
    expect(row(id)).toMatchObject({ stage: "waiting", amountReceivedUnits: "0" });
  });
});

describe("the cursor", () => {
  it("goes on where it stood after a restart, whatever was paid meanwhile, and for addresses issued before it was set", async () => {
    const first = request(0, { createdAt: 1_003_000 + 20 * 60_000 });
    await start();
    await watcher!.close();
    chain.mineEmpty(100);
    const block = chain.mine({ hash: hashOf("a"), from: stranger, to: first.address, value: eth });
    chain.mineEmpty(100);
    db.reopen();
    await start();
    await until(() => row(first.id).status === 1);
    expect(row(first.id).finalBlock).toBe(block);
  });

  it("starts before the oldest request when the chain was away until now", async () => {
    chain.mineEmpty(3000);
    // The fake chain makes a block each second from second 1000; skew of clocks is taken as fifteen minutes.
    const { id, address } = request(0, { ...usd, createdAt: 3_950_000 });
    chain.mine(usdPayment("a", address, 5_000_000n));
    chain.mineEmpty(5);
    await start();
    await until(() => row(id).status === 1);
  });

  it("does not move over a block whose receipts cannot be had", async () => {
    const { id, address } = request(0);
    await start();
    nodes[0]!.lie = counting((method, _params, honest) => (method === "eth_getTransactionReceipt" ? null : honest));
    const block = chain.mine({ hash: hashOf("a"), from: stranger, to: address, value: eth });
    chain.mineEmpty(3);
    await until(() => !watcher!.ready());
    await passes(4);
    expect(db.store.database.get<{ block: number }>("SELECT block FROM cursors")!.block).toBeLessThan(block);
    nodes[0]!.lie = counting();
    await until(() => row(id).status === 1);
  });

  it("waits while a receipt belongs to another block than the payment", async () => {
    const { id, address } = request(0);
    await start();
    const elsewhere: Lie = (method, _params, honest) =>
      method === "eth_getTransactionReceipt" ? { ...(honest as object), blockHash: hashOf("elsewhere") } : honest;
    nodes[0]!.lie = counting(elsewhere);
    chain.mine({ hash: hashOf("a"), from: stranger, to: address, value: eth });
    await until(() => watcher!.chainStatus()[0]!.detail.startsWith("NODE_DISAGREE"));
    expect(payments()).toEqual([]);
    nodes[0]!.lie = counting();
    await until(() => row(id).stage === "confirming");
  });

  it("waits while a transfer belongs to another block than the one read", async () => {
    const { id, address } = request(0, usd);
    await start();
    const elsewhere: Lie = (method, _params, honest) =>
      method === "eth_getLogs" ? (honest as object[]).map((log) => ({ ...log, blockHash: hashOf("elsewhere") })) : honest;
    nodes[0]!.lie = counting(elsewhere);
    chain.mine(usdPayment("a", address, 5_000_000n));
    await until(() => watcher!.chainStatus()[0]!.detail.startsWith("NODE_DISAGREE"));
    expect(payments()).toEqual([]);
    nodes[0]!.lie = counting();
    await until(() => row(id).stage === "confirming");
  });

  it("does not start while a token counts in other decimals than configured", async () => {
    nodes[0]!.lie = (method, _params, honest) => (method === "eth_call" ? `0x${"12".padStart(64, "0")}` : honest);
    watch(configOf([nodes[0]!.url], 3));
    await until(() => watcher!.chainStatus()[0]!.detail === "WATCHER_DECIMALS: the contract of usd has 18 decimals, not 6");
    expect(db.store.database.all("SELECT * FROM cursors")).toEqual([]);
    nodes[0]!.lie = null;
    await until(() => watcher!.ready());
  });

  it("goes back with an alarm when a final block left the chain, and credits nothing twice", async () => {
    const { id, address } = request(0, usd);
    await start(1, 1);
    chain.mine(usdPayment("a", address, 3_000_000n));
    await until(() => row(id).stage === "partial");
    chain.dropBlocks(1);
    chain.mine(usdPayment("noise", stranger, 1n), usdPayment("a", address, 3_000_000n));
    chain.mine(usdPayment("b", address, 1_000_000n));
    await until(() => row(id).amountReceivedUnits === "4000000");
    expect(audit()).toEqual(["alarm WATCHER_FINAL_REORG", "alarm WATCHER_FINAL_REORG"]);
    expect(payments()).toHaveLength(2);
  });
});

describe("balances and state", () => {
  it("follow the final block for every live agent, one that pairs later too", async () => {
    chain.coins.push({ block: 2, address: keys.hotAddress, units: 7n }, { block: 6, address: keys.hotAddress, units: 5n });
    chain.tokens.set(`${token} ${keys.hotAddress}`.toLowerCase(), 11n);
    await start();
    const read = (account: string): unknown[] =>
      db.store.database.all("SELECT currency, units, block FROM balances WHERE account = ? ORDER BY currency", account);
    expect(read(keys.hotAddress)).toEqual([
      { currency: "eth", units: "7", block: 3 },
      { currency: "usd", units: "11", block: 3 },
    ]);
    pairAgent(db.store, "b", stranger);
    await until(() => read(stranger).length === 2);
    chain.mineEmpty(4);
    await until(() => (read(keys.hotAddress)[0] as { units: string }).units === "12");
  });

  it("are read as far as they can be when one contract does not answer", async () => {
    chain.coins.push({ block: 2, address: keys.hotAddress, units: 7n });
    nodes[0]!.lie = (method, _params, honest) => (method === "eth_call" ? "0x" : honest);
    watch(configOf([nodes[0]!.url], 3));
    await until(() => db.store.database.get("SELECT 1 FROM balances") !== undefined);
    expect(db.store.database.all("SELECT currency, units FROM balances")).toEqual([{ currency: "eth", units: "7" }]);
    expect(watcher!.ready()).toBe(false);
  });

  it("is not ready on a wrong chain, and says so", async () => {
    nodes[0]!.lie = (method, _params, honest) => (method === "eth_chainId" ? "0x1" : honest);
    watch(configOf([nodes[0]!.url], 3));
    await until(() => watcher!.chainStatus()[0]!.detail.startsWith("NODE_WRONG_CHAIN"));
    expect(watcher!.ready()).toBe(false);
    expect(watcher!.chainStatus()[0]).toMatchObject({ chain: "local", network, head: null });
  });
});

describe("a real chain", () => {
  it("completes deposits of both kinds, coins from a contract, and withdrawals, at the chain's own finality", async () => {
    const anvil = await startAnvil();
    try {
      const contract = (await deployToken(anvil.url)).address;
      const hot = getAddress(((await rpc(anvil.url, "eth_accounts")) as string[])[0]!);
      await sendUnlocked(anvil.url, { to: contract, data: tokenCall("mint", hot, 9_000_000n) });
      await rpc(anvil.url, "anvil_mine", ["0x3"]);
      db.store.database.run("UPDATE agents SET hotAddress = ?", hot);
      keys = { ...keys, hotAddress: hot };
      const config = configOf([anvil.url], 3);
      watch({ ...config, currencies: { eth: currency("eth", ""), usd: currency("usd", contract) } });
      await until(() => watcher!.ready());
      const [native, inside, tokens] = [request(0), request(1), request(2, usd)];
      await sendUnlocked(anvil.url, { to: native.address, value: "0xde0b6b3a7640000" });
      await sendUnlocked(anvil.url, { data: `0x73${inside.address.slice(2)}ff`, value: "0xde0b6b3a7640000" });
      await sendUnlocked(anvil.url, { to: contract, data: tokenCall("transfer", tokens.address, 5_000_000n) });
      const paying = [
        [signedAs("eth", `${eth}`, 1), { to: receiver, value: "0xde0b6b3a7640000" }],
        [signedAs("usd", "4000000", 2), { to: contract, data: tokenCall("transfer", receiver, 4_000_000n) }],
      ] as const;
      for (const [id, transaction] of paying) {
        const nonce = await transactionCount(anvil.url, hot);
        const hash = await sendUnlocked(anvil.url, transaction);
        db.store.database.run("INSERT INTO tokens VALUES (?, ?, ?, ?)", network, hot, `${nonce}`, id);
        const sql = "INSERT INTO signatures VALUES (?, 1, ?, ?, ?, ?, ?, '21000', 1)";
        db.store.database.run(sql, id, keys.id, network, hot, `${nonce}`, hash);
      }
      await until(() => paying.every(([id]) => row(id).stage === "confirming"));
      await rpc(anvil.url, "anvil_mine", ["0x3"]);
      for (const { id } of [native, inside, tokens]) await until(() => row(id).status === 1);
      for (const [id] of paying) await until(() => row(id).status === 1);
      expect(row(tokens.id).amountReceivedUnits).toBe("5000000");
      const funds = (): { units: string }[] => db.store.database.all("SELECT units FROM balances ORDER BY currency");
      await until(() => funds()[1]?.units === "0");
      expect(BigInt(funds()[0]!.units)).toBe(await balanceWei(anvil.url, hot));
      expect(audit()).toEqual([]);
    } finally {
      await watcher?.close();
      await anvil.stop();
    }
  }, 30_000);

  const signedAs = (id: string, amountUnits: string, number: number): string =>
    askWithdrawal(db.store, keys.id, number, { stage: "signed", currency: id, amountUnits });
});

describe("judging", () => {
  const asked = { status: 0 as const, stage: "waiting", amountUnits: 10n, expiresAt: 100 };
  const paid = (units: bigint, final = true, block = 1): Payment => ({ units, final, block, txHash: `0x${block}` });

  it.each([
    [[], 99, 0, "waiting"],
    [[], 100, 2, "expired"],
    [[paid(3n, false)], 99, 0, "seen"],
    [[paid(3n, false)], 100, 0, "seen"],
    [[paid(10n, false)], 100, 0, "confirming"],
    [[paid(4n), paid(6n, false)], 100, 0, "confirming"],
    [[paid(4n), paid(5n, false)], 100, 0, "partial"],
    [[paid(4n)], 99, 0, "partial"],
    [[paid(4n)], 100, 2, "expired"],
    [[paid(4n), paid(6n)], 100, 1, "completed"],
    [[paid(11n)], 1, 1, "completed"],
  ] as const)("deposit %# ends as it must", (payments_, at, status, stage) => {
    expect(judgeDeposit(asked, payments_, at)).toMatchObject({ status, stage });
  });

  it("keeps a finished request finished whatever comes", () => {
    const expired = { ...asked, status: 2 as const, stage: "expired" };
    expect(judgeDeposit(expired, [paid(50n)], 500)).toMatchObject({ status: 2, stage: "expired", receivedUnits: 50n });
    const completed = { ...asked, status: 1 as const, stage: "completed" };
    expect(judgeDeposit(completed, [], 500)).toMatchObject({ status: 1, stage: "completed", receivedUnits: 0n });
  });

  const payout: Payout = { account: stranger, nonce: 4n, contract: "", receiver, amountUnits: 5n };
  const final = (change: Partial<FinalTransaction["transaction"]>, status: 0 | 1 = 1): FinalTransaction => ({
    transaction: { hash: "0x1", from: stranger, nonce: 4n, to: receiver, valueUnits: 5n, input: "0x", ...change },
    receipt: {
      txHash: "0x1",
      blockNumber: 9,
      blockHash: "0xb",
      status,
      from: stranger,
      to: receiver,
      gasUsed: 1n,
      effectiveGasPrice: 1n,
      logs: [],
    },
  });

  it("a version is judged by its final transaction first, then by its block, then by the account's counter", () => {
    const version = { txHash: "0x1", includedIn: 9, final: final({}) };
    expect(judgePayout(payout, { versions: [version], finalCount: 9n }).kind).toBe("completed");
    expect(judgePayout(payout, { versions: [{ ...version, final: null }], finalCount: 9n }).kind).toBe("confirming");
    const unseen = { txHash: "0x1", includedIn: null, final: null };
    expect(judgePayout(payout, { versions: [unseen], finalCount: 5n }).kind).toBe("stuck");
    expect(judgePayout(payout, { versions: [unseen], finalCount: 4n }).kind).toBe("waiting");
    expect(judgePayout(payout, { versions: [unseen], finalCount: null }).kind).toBe("waiting");
  });

  it("a foreign transaction of the same nonce fails the withdrawal only when it cannot have paid", () => {
    const judge = (one: FinalTransaction, code: string | null = "0x") => judgeConsumer(payout, one, code).kind;
    expect(judge(final({}))).toBe("completed");
    expect(judge(final({ to: stranger }))).toBe("failed");
    expect(judge(final({ to: stranger }), "0x6000")).toBe("stuck"); // a contract may pass the coins on
    expect(judge(final({ to: stranger }), null)).toBe("stuck");
    expect(judge(final({ to: stranger }, 0), "0x6000")).toBe("failed");
    expect(judge(final({ to: stranger, input: "0x00" }))).toBe("stuck");
    expect(judge(final({ to: null }))).toBe("stuck");
    expect(judge(final({ valueUnits: 4n }))).toBe("stuck");
    expect(judge(final({ to: stranger, input: "0x00" }, 0))).toBe("failed");
    expect([final({ to: stranger }), final({}), final({ to: null })].map((one) => asksForCode(payout, one))).toEqual([
      true,
      false,
      false,
    ]);
    expect(judgeConsumer({ ...payout, contract: token }, final({ to: stranger }), null).kind).toBe("failed");
  });

  it("agreement wants two like answers of several nodes and asks no more than it needs", async () => {
    const calls: number[] = [];
    const ask = (answers: readonly (string | null)[]) => (node: number) => {
      calls.push(node);
      const answer = answers[node];
      return answer === null || answer === undefined
        ? Promise.reject(new AgentError("NODE_TIMEOUT", "none", "late"))
        : Promise.resolve(answer);
    };
    const agree = (answers: readonly (string | null)[]) =>
      agreement(
        answers.map((_answer, node) => node),
        ask(answers),
        (value) => value,
        "thing",
      );
    expect(await agree(["a"])).toBe("a");
    calls.length = 0;
    expect(await agree(["a", "a", "b"])).toBe("a");
    expect(calls).toEqual([0, 1]);
    expect(await agree(["b", "a", "a"])).toBe("a");
    expect(await agree([null, "a", "a"])).toBe("a");
    await expect(agree(["a", "b"])).rejects.toMatchObject({ code: "NODE_DISAGREE" });
    await expect(agree([null, "a"])).rejects.toMatchObject({ code: "NODE_TIMEOUT" });
  });
});
