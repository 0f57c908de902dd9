/**
 * The outgoing transactions of a hot wallet, as the gateway's watcher keeps them, also those that
 * no withdrawal explains.
 */
import { describe, expect, it } from "vitest";
import type { Block, BlockTransaction, SentTransaction } from "../../chains/evm/answers.ts";
import { encodeTransferCall } from "../../chains/evm/erc20.ts";
import type { EvmNodes } from "../../chains/evm/node.ts";
import { createWatcherOverNodes } from "../../chains/evm/node-watcher.ts";
import type { WatchedBlock } from "../../chains/nodes.ts";
import { keepOutgoing } from "../../gateway/store/outgoing-transactions.ts";
import type { OutgoingRow } from "../../gateway/store/rows.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import type { WatchedChain } from "../../gateway/watcher/chain.ts";
import { SenderList } from "../../gateway/watcher/deposit-memory.ts";
import { findOutgoing } from "../../gateway/watcher/outgoing-transactions.ts";
import {
  askWithdrawal,
  gatewayDatabase,
  pairAgent,
  receiver,
} from "../../lab/kit/gateway-database.ts";

const token = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
const hotWallet = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const sent = (nonce: number, change: Partial<SentTransaction> = {}): BlockTransaction => {
  const hash = `0x${nonce.toString(16).padStart(64, "0")}`;
  const one = {
    hash,
    from: hotWallet,
    nonce: BigInt(nonce),
    to: receiver,
    valueUnits: 7n,
    input: "0x",
    ...change,
  };
  return { ...one, fromKey: one.from.toLowerCase(), toKey: one.to?.toLowerCase() ?? "", bytes: 0 };
};
const blockOf = (transactions: readonly BlockTransaction[]): WatchedBlock => {
  const content: Block = {
    number: 12,
    hash: "0xb",
    parentHash: "0xa",
    timestamp: 1,
    bloom: "",
    transactions,
  };
  return { number: 12, hash: "0xb", parentHash: "0xa", content };
};

function watched(status = 1) {
  const db = gatewayDatabase();
  const nodes = { finalReceipt: async () => ({ status }) } as unknown as EvmNodes;
  const reader = createWatcherOverNodes({ together: nodes, each: [nodes] });
  const chain = { store: db.store, network: "eip155:31337", reader } as unknown as WatchedChain;
  return { db, chain };
}

describe("the outgoing transactions of an account", () => {
  it("are kept by slot with receiver, asset and units, coins and tokens alike, and nobody else's", async () => {
    const { db, chain } = watched();
    const senders = new SenderList(chain.network);
    senders.refresh(db.store.database);
    expect(senders.payers.size).toBe(0);
    pairAgent(db.store, "a", hotWallet);
    senders.refresh(db.store.database);
    expect([...senders.payers]).toEqual([hotWallet]);
    const input = `0x${Buffer.from(encodeTransferCall(receiver, 25n)).toString("hex")}`;
    const call = sent(2, { to: token, valueUnits: 0n, input });
    const odd = sent(3, { to: token, valueUnits: 0n, input: "0x12345678" });
    const { paid: found } = await findOutgoing(chain, senders.payers, [
      blockOf([sent(1), call, odd, sent(9, { from: receiver })]),
    ]);
    const rows = found.map(({ slot, receiver: to, contract, units, block }) => [
      slot,
      to,
      contract,
      units,
      block,
    ]);
    expect(rows).toEqual([
      ["1", receiver, "", "7", 12],
      ["2", receiver, token, "25", 12],
      ["3", token, "", "0", 12],
    ]);
    for (const outgoingTx of [...found, ...found]) keepOutgoing(db.store.database, outgoingTx);
    expect(db.store.database.all<OutgoingRow>("SELECT * FROM outgoing ORDER BY slot")).toEqual(
      found,
    );
    db.remove();
  });

  it("leave out what failed, for it paid nobody", async () => {
    const { db, chain } = watched(0);
    pairAgent(db.store, "a", hotWallet);
    const { paid, failed } = await findOutgoing(chain, new Set([hotWallet]), [blockOf([sent(1)])]);
    expect([paid, failed.map(({ slot }) => slot)]).toEqual([[], ["1"]]);
    db.remove();
  });
});

describe("a slot", () => {
  it("has one outgoing transaction, and a chain without slots has many without a slot", () => {
    const db = gatewayDatabase();
    const keys = pairAgent(db.store, "a", hotWallet);
    const id = askWithdrawal(db.store, keys.id, 1);
    const outgoingTx: OutgoingRow = {
      ...{
        network: "eip155:31337",
        account: hotWallet,
        slot: "4",
        txHash: "0x01",
        block: 9,
        receiver,
        tag: "",
        contract: "",
        units: "5",
      },
      untold: 0,
    };
    const { database } = db.store;
    keepOutgoing(database, outgoingTx);
    keepOutgoing(database, { ...outgoingTx, slot: "5", txHash: "0x02" });
    insertSignature(database, {
      ...{
        transactionId: id,
        attempt: 1,
        agent: keys.id,
        network: outgoingTx.network,
        account: hotWallet,
        slot: "4",
        txHash: "0x01",
      },
      ...{ feeMax: "1", seq: 2, validUntilMs: 0, pin: "", cancel: 0 },
    });
    const before = [
      database.all("SELECT * FROM outgoing ORDER BY slot"),
      database.all("SELECT * FROM signatures"),
    ];
    db.reopen();
    const after = db.store.database;
    expect([
      after.all("SELECT * FROM outgoing ORDER BY slot"),
      after.all("SELECT * FROM signatures"),
    ]).toEqual(before);
    // Read again after a reorganisation, the slot holds another transaction; without slots both
    // stand.
    keepOutgoing(after, { ...outgoingTx, txHash: "0x03" });
    for (const txHash of ["0x04", "0x05", "0x05"])
      keepOutgoing(after, { ...outgoingTx, slot: "", txHash });
    const hashes = after
      .all<{ txHash: string }>("SELECT txHash FROM outgoing ORDER BY txHash")
      .map(({ txHash }) => txHash);
    expect(hashes).toEqual(["0x02", "0x03", "0x04", "0x05"]);
    db.remove();
  });
});
