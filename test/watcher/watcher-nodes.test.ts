/**
 * The watcher beside nodes that hang, lie, disagree or are away; its reports about itself; and a
 * real local chain.
 */
import { getAddress } from "ethers";
import { describe, expect, it } from "vitest";
import { listFaults, requestFaultRetry } from "../../gateway/store/faults.ts";
import { startAnvil } from "../../lab/kit/anvil.ts";
import { FakeChain, hashOf, type Lie, serveChain } from "../../lab/kit/fake-chain.ts";
import { askWithdrawal, pairAgent, receiver } from "../../lab/kit/gateway-database.ts";
import { balanceWei, rpc, sendUnlocked, tokenCall, transactionCount } from "../../lab/kit/rpc.ts";
import { deployToken } from "../../lab/kit/token.ts";
import { until } from "../support/until.ts";
import {
  audit,
  chain,
  clock,
  configOf,
  currency,
  db,
  eachTestItsChain,
  eth,
  keys,
  network,
  nodes,
  outsider,
  passes,
  payFrom,
  payment,
  request,
  row,
  signedWithdrawal,
  start,
  token,
  usd,
  watch,
  watcher,
} from "../support/watched-chain.ts";

eachTestItsChain();

describe("a node that hangs", () => {
  it("is told of before its time-out ends", async () => {
    await start();
    const [node] = nodes;
    node!.isHung = true;
    await new Promise((done) => setTimeout(done, 50)); // the running pass ends, the next one hangs
    clock.nowMs += 9_999;
    expect(watcher!.ready()).toBe(true);
    clock.nowMs += 1;
    expect(watcher!.chainStatus()[0]).toMatchObject({
      ok: false,
      detail: "its nodes do not answer",
    });
  });
});

describe("two nodes", () => {
  const hideReceipt: Lie = (method, _params, honest) =>
    method === "eth_getTransactionReceipt" ? null : honest;

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

  it("two nodes, one of which invents a payment, complete nothing", async () => {
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

  it("two nodes, one of which alters the amount of a final transaction, complete nothing until it stops", async () => {
    const id = signedWithdrawal(0);
    chain.mine(payment(id, 0, { value: eth - 1n }));
    chain.mineEmpty(3);
    nodes.push(await serveChain(chain));
    const alter: Lie = (method, params, honest) => {
      const block = honest as { transactions?: Record<string, unknown>[] } | null;
      if (method !== "eth_getBlockByNumber" || params[1] !== true || block === null) return honest;
      return {
        ...block,
        transactions: block.transactions?.map((one) => ({
          ...one,
          value: `0x${eth.toString(16)}`,
        })),
      };
    };
    nodes[1]!.lie = alter;
    watch(
      configOf(
        nodes.map((node) => node.url),
        3,
      ),
    );
    await until(() => row(id).stage === "confirming" || watcher!.faults().length > 0);
    await passes(4);
    expect(row(id).status).toBe(0);
    // The fault is the withdrawal's: the chain is read for all others.
    expect(watcher!.faults()).toMatchObject([{ domain: "withdrawal", id, code: "NODE_DISAGREE" }]);
    nodes[1]!.lie = null;
    // The withdrawal rests after each try; an operator has it tried at once.
    await until(() => listFaults(db.store.database).length > 0);
    expect(
      db.store.write((database) =>
        requestFaultRetry(database, { domain: "withdrawal", network, id }),
      ),
    ).toBe(true);
    await until(() => row(id).stage === "stuck");
    await until(() => listFaults(db.store.database).length === 0);
    await until(() => watcher!.ready());
  });

  it("two nodes, one of which is away, stop what needs both, and go on when it is back", async () => {
    const id = signedWithdrawal(0);
    await start(2);
    nodes[1]!.isDown = true;
    chain.mine(payment(id, 0));
    chain.mineEmpty(3);
    await until(() => !watcher!.ready());
    await passes(3);
    expect(row(id).status).toBe(0);
    nodes[1]!.isDown = false;
    await until(() => row(id).status === 1);
  });

  it("two nodes, one of which hides a deposit, credit it only when both show it", async () => {
    const { id, address } = request(0);
    await start(2);
    const hide: Lie = (method, params, honest) => {
      const block = honest as { transactions?: unknown[] } | null;
      const isFull = method === "eth_getBlockByNumber" && params[1] === true && block !== null;
      return isFull ? { ...block, transactions: [] } : honest;
    };
    nodes[1]!.lie = hide;
    chain.mine({ hash: hashOf("d"), from: outsider, to: address, value: eth });
    chain.mineEmpty(3);
    await passes(5);
    expect(row(id).status).toBe(0);
    nodes[1]!.lie = null;
    await until(() => row(id).status === 1);
  });
});

describe("balances and state", () => {
  it("of a chain are read of every live agent, of one that pairs later too, and in turn of one that no transaction moved", async () => {
    chain.coins.push(
      { block: 2, address: keys.hotWalletAddress, units: 7n },
      { block: 6, address: keys.hotWalletAddress, units: 5n },
    );
    chain.tokens.set(`${token} ${keys.hotWalletAddress}`.toLowerCase(), 11n);
    await start();
    const read = (account: string): unknown[] =>
      db.store.database.all(
        "SELECT currency, units, block FROM balances WHERE account = ? ORDER BY currency",
        account,
      );
    expect(read(keys.hotWalletAddress)).toEqual([
      { currency: "eth", units: "7", block: 3 },
      { currency: "usd", units: "11", block: 3 },
    ]);
    pairAgent(db.store, "b", outsider);
    await until(() => read(outsider).length === 2);
    chain.mineEmpty(4);
    clock.nowMs += 6 * 60_000;
    await until(() => (read(keys.hotWalletAddress)[0] as { units: string }).units === "12");
  });

  it("of a chain are read at the block that a transaction moved one", async () => {
    await start();
    const read = (): unknown =>
      db.store.database.get("SELECT units FROM balances WHERE account = ?", keys.hotWalletAddress);
    await until(() => read() !== undefined);
    expect(read()).toEqual({ units: "0" });
    chain.mine({ hash: hashOf("topped up"), from: outsider, to: keys.hotWalletAddress, value: 9n });
    chain.mineEmpty(4);
    await until(() => (read() as { units: string }).units === "9");
  });

  it("of a chain are read as far as they can be when one contract does not answer", async () => {
    chain.coins.push({ block: 2, address: keys.hotWalletAddress, units: 7n });
    nodes[0]!.lie = (method, _params, honest) => (method === "eth_call" ? "0x" : honest);
    watch(configOf([nodes[0]!.url], 3));
    await until(() => db.store.database.get("SELECT 1 FROM balances") !== undefined);
    expect(db.store.database.all("SELECT currency, units FROM balances")).toEqual([
      { currency: "eth", units: "7" },
    ]);
    await until(() => watcher!.ready());
    expect([...watcher!.outOfService().keys()]).toEqual(["usd"]);
  });

  it("a watcher is not ready on a wrong chain, and says so", async () => {
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
      const hotWallet = getAddress(((await rpc(anvil.url, "eth_accounts")) as string[])[0]!);
      await sendUnlocked(anvil.url, {
        to: contract,
        data: tokenCall("mint", hotWallet, 9_000_000n),
      });
      await rpc(anvil.url, "anvil_mine", ["0x5"]);
      payFrom(hotWallet);
      const config = configOf([anvil.url], 5);
      watch({
        ...config,
        currencies: { eth: currency("eth", ""), usd: currency("usd", contract) },
      });
      await until(() => watcher!.ready());
      const [native, inside, tokens] = [request(0), request(1), request(2, usd)];
      await sendUnlocked(anvil.url, { to: native.address, value: "0xde0b6b3a7640000" });
      await sendUnlocked(anvil.url, {
        data: `0x73${inside.address.slice(2)}ff`,
        value: "0xde0b6b3a7640000",
      });
      await sendUnlocked(anvil.url, {
        to: contract,
        data: tokenCall("transfer", tokens.address, 5_000_000n),
      });
      const paying = [
        [signedAs("eth", `${eth}`, 1), { to: receiver, value: "0xde0b6b3a7640000" }],
        [
          signedAs("usd", "4000000", 2),
          { to: contract, data: tokenCall("transfer", receiver, 4_000_000n) },
        ],
      ] as const;
      for (const [id, transaction] of paying) {
        const nonce = await transactionCount(anvil.url, hotWallet);
        const hash = await sendUnlocked(anvil.url, transaction);
        db.store.database.run(
          "INSERT INTO slots VALUES (?, ?, ?, ?)",
          network,
          hotWallet,
          `${nonce}`,
          id,
        );
        const sql =
          "INSERT INTO signatures VALUES (?, 1, ?, ?, ?, ?, ?, '21000', 1, 0, '', NULL, 0)";
        db.store.database.run(sql, id, keys.id, network, hotWallet, `${nonce}`, hash);
      }
      // The watcher may have read the payments' blocks before their signatures were here.
      await rpc(anvil.url, "anvil_mine", ["0x1"]);
      await until(() => paying.every(([id]) => row(id).stage === "confirming"));
      await rpc(anvil.url, "anvil_mine", ["0x5"]);
      for (const { id } of [native, inside, tokens]) await until(() => row(id).status === 1);
      for (const [id] of paying) await until(() => row(id).status === 1);
      expect(row(tokens.id).receivedUnits).toBe("5000000");
      const funds = (): { units: string }[] =>
        db.store.database.all("SELECT units FROM balances ORDER BY currency");
      await until(() => funds()[1]?.units === "0");
      expect(BigInt(funds()[0]!.units)).toBe(await balanceWei(anvil.url, hotWallet));
      expect(audit()).toEqual([]);
    } finally {
      await watcher?.close();
      await anvil.stop();
    }
  });

  const signedAs = (id: string, units: string, number: number): string =>
    askWithdrawal(db.store, keys.id, number, { stage: "signed", currency: id, units });
});
