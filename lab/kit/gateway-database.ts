/**
 * A gateway database in a temporary folder, with one merchant and whatever agents, withdrawals and
 * deposit requests a test needs.
 */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { hotWalletAddressOn } from "../../gateway/store/agent-accounts.ts";
import { reserveAmount } from "../../gateway/store/reserved.ts";
import type { AgentRow, TransactionColumns, TransferRow } from "../../gateway/store/rows.ts";
import { openStore, type Store } from "../../gateway/store/store.ts";
import { rowOf } from "../../gateway/store/transaction-rows.ts";
import { appendJob } from "../../gateway/withdrawals/jobs.ts";
import { publicKeyHex } from "../../protocol/envelope.ts";
import { freshStore } from "./fresh-store.ts";

export const silentLog = pino({ level: "silent" });

export interface AgentKeys {
  readonly id: string;
  readonly signerKey: KeyObject;
  readonly linkKey: KeyObject;
  readonly hotWalletAddress: string;
}

export interface GatewayDatabase {
  store: Store;
  /** Closes and opens the same file, as a restart does. */
  reopen(): void;
  remove(): void;
}

export function gatewayDatabase(): GatewayDatabase {
  const folder = mkdtempSync(join(tmpdir(), "gateway-database-"));
  const path = join(folder, "gateway.db");
  const made: GatewayDatabase = {
    store: freshStore(path, "", silentLog),
    reopen() {
      made.store.close();
      made.store = openStore(path, silentLog);
    },
    remove() {
      made.store.close();
      rmSync(folder, { recursive: true });
    },
  };
  made.store.database.run("INSERT INTO merchants (id, name, createdAt) VALUES ('m1', 'Shop', 0)");
  return made;
}

/**
 * Pairs an agent with fresh keys; ids are a digit repeated. A second live agent needs its own
 * merchant.
 */
export function pairAgent(
  store: Store,
  digit = "a",
  hotWalletAddress = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
): AgentKeys {
  const id = digit.repeat(16);
  const merchant = digit === "a" ? "m1" : `m-${digit}`;
  const signerKey = generateKeyPairSync("ed25519").privateKey;
  const linkKey = generateKeyPairSync("ed25519").privateKey;
  if (merchant !== "m1")
    store.database.run(
      "INSERT INTO merchants (id, name, createdAt) VALUES (?, 'Shop', 0)",
      merchant,
    );
  store.database.run(
    `INSERT INTO agents (id, merchant, wallet, ledgerEpoch, signerKey, linkKey, accounts, networks, currencies, pairedAt, depositCeiling)
       VALUES (?, ?, ?, 2, ?, ?, ?, '["eip155:31337"]', '[]', 0, 100000)`,
    id,
    merchant,
    digit.repeat(32),
    publicKeyHex(signerKey),
    publicKeyHex(linkKey),
    accountsText(hotWalletAddress),
  );
  return { id, signerKey, linkKey, hotWalletAddress };
}

/** A deposit account, of either family. */
export const depositXpub =
  "xpub6BosfCnifzxcFwrSzQiqu2DBVTshkCXacvNsWGYJVVhhawA7d4R5WSWGFNbi8Aw6ZRc1brxMyWMzG3DSSSSoekkudhUd9yLb6qx39T9nMdj";
export const receiver = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

/** A withdrawal of `amountUnits` with its job appended; `number` makes its id. */
export function askWithdrawal(
  store: Store,
  agentId: string,
  number: number,
  change: Partial<TransactionColumns> = {},
): string {
  return store.write(() => appendWithdrawal(store, agentId, number, change));
}

/** Withdrawals 1 to `count`, all in one commit. */
export function askWithdrawals(store: Store, agentId: string, count: number): void {
  store.write(() => {
    for (let number = 1; number <= count; number += 1) appendWithdrawal(store, agentId, number);
  });
}

/** Inside of a write. */
function appendWithdrawal(
  store: Store,
  agentId: string,
  number: number,
  change: Partial<TransactionColumns> = {},
): string {
  const { database } = store;
  const agent = database.get<AgentRow>("SELECT * FROM agents WHERE id = ?", agentId)!;
  const row = insertTransaction(store, {
    operation: "withdraw",
    mode: "auto",
    merchant: agent.merchant,
    id: number.toString(16).padStart(32, "0"),
    orderId: `w-${number}`,
    receiverAddress: receiver,
    depositAddress: hotWalletAddressOn(agent, "eip155:31337"),
    stage: "queued",
    ...change,
  });
  appendJob(database, agent, transferRow(row));
  return row.id;
}

/**
 * Any row of `transactions`; what is not said is a pending withdrawal-shaped row of merchant m1.
 */
export function insertTransaction(
  store: Store,
  change: Partial<TransactionColumns> & { id: string; orderId: string },
): TransactionColumns {
  const row: TransactionColumns = {
    merchant: "m1",
    operation: "deposit",
    mode: "",
    contentHash: "00",
    currency: "eth",
    network: "eip155:31337",
    amount: "1",
    amountUnits: "1000000000000000000",
    receiverAddress: "",
    depositAddress: "",
    tag: "",
    status: 0,
    stage: "waiting",
    code: "",
    txHash: "",
    feeUnits: "",
    amountReceivedUnits: "0",
    finalBlock: null,
    createdAt: 1_000,
    changedAt: 1_000,
    expiresAt: 10_000_000,
    metadata: "",
    late: 0,
    quote: "",
    toleranceUnits: "0",
    payToken: "",
    returnUrl: "",
    refundOf: "",
    value: "",
    renews: "",
    callbackStatus: 3,
    ...change,
  };
  const names = Object.keys(row) as (keyof TransactionColumns)[];
  store.database.run(
    `INSERT INTO transactions (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    ...names.map((name) => row[name]),
  );
  if (row.operation === "withdraw" && row.status === 0) reserveAmount(store.database, row);
  return row;
}

/** A request that was given this address; `agent` null where nobody here has its key. */
export function giveAddress(
  store: Store,
  given: {
    readonly id: string;
    readonly address: string;
    readonly place: number;
    readonly agent: string | null;
  },
  change: Partial<TransactionColumns> = {},
): void {
  const { id, address, place, agent } = given;
  insertTransaction(store, {
    id,
    orderId: id,
    depositAddress: address,
    receiverAddress: address,
    ...change,
  });
  store.database.run("INSERT INTO depositAddresses VALUES (?, ?, ?, ?)", address, agent, place, id);
}

export function readTransaction(store: Store, id: string): TransactionColumns {
  return store.database.get<TransactionColumns>("SELECT * FROM transactions WHERE id = ?", id)!;
}

/** The columns of a withdrawal, sweep or top-up as the row of its kind. */
export function transferRow(columns: TransactionColumns): TransferRow {
  return rowOf(columns) as TransferRow;
}

/** The columns of a transaction as the hub compares them with an agent's entries. */
export function requestedRecord(columns: TransactionColumns) {
  const { receiverAddress: receiver, depositAddress: payer } = columns;
  return { ...columns, receiver, payer };
}

export function readAgent(store: Store, id: string): AgentRow {
  return store.database.get<AgentRow>("SELECT * FROM agents WHERE id = ?", id)!;
}

/** The accounts in the row of an agent whose wallet pays from this address. */
export function accountsText(hotWallet: string): string {
  return JSON.stringify([
    { family: "evm", purpose: "hot", id: hotWallet, firstAddress: hotWallet },
    { family: "evm", purpose: "deposits", id: depositXpub, firstAddress: "none" },
  ]);
}
