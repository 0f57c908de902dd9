/**
 * The spends of a paying account, as the gateway's watcher keeps them, also those that no
 * withdrawal explains.
 */
import { describe, expect, it } from "vitest";
import type { Block, BlockTransaction, SentTransaction } from "../../chains/evm/answers.ts";
import { encodeTransferCall } from "../../chains/evm/erc20.ts";
import type { EvmNodes } from "../../chains/evm/node.ts";
import { watcherOf } from "../../chains/evm/node-watcher.ts";
import type { WatchedBlock } from "../../chains/nodes.ts";
import type { SpendRow } from "../../gateway/store/rows.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { keepSpend } from "../../gateway/store/spends.ts";
import type { WatchedChain } from "../../gateway/watcher/chain.ts";
import { findSpends, hasPayers } from "../../gateway/watcher/spends.ts";
import { askWithdrawal, gatewayDatabase, pairAgent, receiver } from "../../lab/rig/gateway-database.ts";

const token = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
const hot = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const sent = (nonce: number, change: Partial<SentTransaction> = {}): BlockTransaction => {
  const hash = `0x${nonce.toString(16).padStart(64, "0")}`;
  const one = { hash, from: hot, nonce: BigInt(nonce), to: receiver, valueUnits: 7n, input: "0x", ...change };
  return { ...one, fromKey: one.from.toLowerCase(), toKey: one.to?.toLowerCase() ?? "", bytes: 0 };
};
const blockOf = (transactions: readonly BlockTransaction[]): WatchedBlock => {
  const content: Block = { number: 12, hash: "0xb", parentHash: "0xa", timestamp: 1, bloom: "", transactions };
  return { number: 12, hash: "0xb", parentHash: "0xa", content };
};

function watched(status = 1) {
  const db = gatewayDatabase();
  const nodes = { finalReceipt: async () => ({ status }) } as unknown as EvmNodes;
  const reader = watcherOf({ together: nodes, each: [nodes] });
  const chain = { store: db.store, network: "eip155:31337", reader } as unknown as WatchedChain;
  return { db, chain };
}

describe("the spends of an account", () => {
  it("the spends of an account are kept by slot with receiver, asset and units, coins and tokens alike, and nobody else's", async () => {
    const { db, chain } = watched();
    expect(hasPayers(chain)).toBe(false);
    pairAgent(db.store, "a", hot);
    expect(hasPayers(chain)).toBe(true);
    const input = `0x${Buffer.from(encodeTransferCall(receiver, 25n)).toString("hex")}`;
    const call = sent(2, { to: token, valueUnits: 0n, input });
    const odd = sent(3, { to: token, valueUnits: 0n, input: "0x12345678" });
    const found = await findSpends(chain, [blockOf([sent(1), call, odd, sent(9, { from: receiver })])]);
    const facts = found.map(({ slot, receiver: to, contract, units, block }) => [slot, to, contract, units, block]);
    expect(facts).toEqual([
      ["1", receiver, "", "7", 12],
      ["2", receiver, token, "25", 12],
      ["3", token, "", "0", 12],
    ]);
    for (const spend of [...found, ...found]) keepSpend(db.store.database, spend);
    expect(db.store.database.all<SpendRow>("SELECT * FROM spends ORDER BY slot")).toEqual(found);
    db.remove();
  });

  it("the spends of an account leave out what failed, for it paid nobody", async () => {
    const { db, chain } = watched(0);
    pairAgent(db.store, "a", hot);
    expect(await findSpends(chain, [blockOf([sent(1)])])).toEqual([]);
    db.remove();
  });
});

describe("a slot", () => {
  it("a slot is spent once, and a chain without slots has many spends without one", () => {
    const db = gatewayDatabase();
    const keys = pairAgent(db.store, "a", hot);
    const id = askWithdrawal(db.store, keys.id, 1);
    const spend: SpendRow = {
      ...{ network: "eip155:31337", account: hot, slot: "4", txHash: "0x01", block: 9, receiver, contract: "", units: "5" },
      untold: 0,
    };
    const { database } = db.store;
    keepSpend(database, spend);
    keepSpend(database, { ...spend, slot: "5", txHash: "0x02" });
    insertSignature(database, {
      ...{ transactionId: id, version: 1, agent: keys.id, network: spend.network, account: hot, slot: "4", txHash: "0x01" },
      ...{ feeMax: "1", seq: 2, untilMs: 0, cancel: 0 },
    });
    const before = [database.all("SELECT * FROM spends ORDER BY slot"), database.all("SELECT * FROM signatures")];
    db.reopen();
    const after = db.store.database;
    expect([after.all("SELECT * FROM spends ORDER BY slot"), after.all("SELECT * FROM signatures")]).toEqual(before);
    // Read again after a reorganisation, the slot holds another transaction; without slots both
    // stand.
    keepSpend(after, { ...spend, txHash: "0x03" });
    for (const txHash of ["0x04", "0x05", "0x05"]) keepSpend(after, { ...spend, slot: "", txHash });
    const hashes = after.all<{ txHash: string }>("SELECT txHash FROM spends ORDER BY txHash").map(({ txHash }) => txHash);
    expect(hashes).toEqual(["0x02", "0x03", "0x04", "0x05"]);
    db.remove();
  });
});
