/**
 * A gateway database in a temporary folder, with one merchant and whatever agents, withdrawals and
 * deposit requests a test needs.
 */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { addressSpaceOf } from "../../chains/network-names.ts";
import { hotWalletAddressOn } from "../../gateway/store/agent-accounts.ts";
import { giveAddress as giveRow } from "../../gateway/store/deposit-addresses.ts";
import {
  keepNativeCoins,
  type PostedTransfer,
  postTransfer,
  readPostedTransfer,
} from "../../gateway/store/posting.ts";
import { reserveAmount } from "../../gateway/store/reserved.ts";
import type {
  AgentRow,
  DepositRow,
  GivenAddress,
  RowsByOperation,
  SweepRow,
  TopUpRow,
  TransactionRow,
  TransferRow,
  WithdrawalRow,
} from "../../gateway/store/rows.ts";
import type { Store } from "../../gateway/store/store.ts";
import {
  readDeposit,
  readTransaction as readStored,
  sweepOrdinalOf,
} from "../../gateway/store/transactions.ts";
import { appendJob } from "../../gateway/withdrawals/jobs.ts";
import { publicKeyHex } from "../../protocol/envelope.ts";
import { freshStore, reopenStore } from "./fresh-store.ts";

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
      made.store = reopenStore(path, silentLog);
    },
    remove() {
      made.store.close();
      rmSync(folder, { recursive: true });
    },
  };
  made.store.database.run("INSERT INTO merchants (id, name, createdAt) VALUES ('m1', 'Shop', 0)");
  keepNativeCoins(made.store.database, new Map([["eip155:31337", "eth"]]));
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

/** A withdrawal of `units` with its job appended; `number` makes its id. */
export function askWithdrawal(
  store: Store,
  agentId: string,
  number: number,
  change: Partial<AnyTransaction> = {},
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
  change: Partial<AnyTransaction> = {},
): string {
  const { database } = store;
  const agent = database.get<AgentRow>("SELECT * FROM agents WHERE id = ?", agentId)!;
  const row = insertTransaction(store, {
    operation: "withdraw",
    mode: "auto",
    merchant: agent.merchant,
    id: number.toString(16).padStart(32, "0"),
    orderId: `w-${number}`,
    receiver,
    payer: hotWalletAddressOn(agent, "eip155:31337"),
    stage: "queued",
    ...change,
  });
  appendJob(database, agent, row as TransferRow);
  return row.id;
}

/** The fields of a row of any kind; a row has those of its kind. */
export type AnyTransaction = FieldsOf<DepositRow> &
  FieldsOf<WithdrawalRow> &
  FieldsOf<SweepRow> &
  FieldsOf<TopUpRow> & {
    readonly operation: TransactionRow["operation"];
    readonly contentHash: string | null; // null: a deposit that nobody asked for
    readonly receiver: string | null;
  };

type FieldsOf<T> = Omit<T, "operation" | "contentHash" | "receiver">;

/**
 * Any row of deposits or transfers; what is not said is that of a pending deposit, or of a pending
 * transfer, of merchant m1. A deposit is ordered unless its contentHash is null.
 */
export function insertTransaction(
  store: Store,
  change: Partial<AnyTransaction> & { id: string; orderId: string },
): AnyTransaction {
  const unknown = Object.keys(change).filter((name) => !names.has(name));
  if (unknown.length > 0) throw new Error(`no row has ${unknown.join(", ")}`);
  const row: AnyTransaction = {
    ...absent,
    merchant: "m1",
    operation: "deposit",
    contentHash: "00",
    currency: "eth",
    network: "eip155:31337",
    amount: "1",
    units: "1000000000000000000",
    status: 0,
    stage: "waiting",
    createdAt: 1_000,
    changedAt: 1_000,
    expiresAt: 10_000_000,
    ...change,
  };
  if (row.operation === "deposit") plantDeposit(store, row);
  else plantTransfer(store, row);
  return readTransaction(store, row.id);
}

/** The fields of a row that lacks all that it may lack. */
const absent = {
  mode: "auto",
  acceptedAt: null,
  invoice: "",
  origin: "ordered",
  renews: "",
  address: "",
  payTo: "",
  payer: "",
  receiver: "",
  tag: "",
  code: "",
  txHash: "",
  feeUnits: "",
  receivedUnits: "0",
  finalBlock: null,
  metadata: "",
  late: 0,
  quote: "",
  toleranceUnits: "0",
  payToken: "",
  returnUrl: "",
  refundOf: "",
  value: "",
  callbackStatus: 3,
  addressIndex: 0,
  nextSlot: "",
} as const;

const names: ReadonlySet<string> = new Set([
  ...Object.keys(absent),
  ...["id", "orderId", "merchant", "operation", "contentHash", "currency", "network", "amount"],
  ...["units", "status", "stage", "createdAt", "changedAt", "expiresAt"],
]);

type Columns = Readonly<Record<string, string | number | null>>;

function insertColumns({ database }: Store, table: string, columns: Columns): void {
  const names = Object.keys(columns);
  // A blank is NULL in the table, but for these columns, which each row has.
  const isText = (name: string): boolean =>
    ["address", "payTo", "payer", "tag", "renews", "orderId", "stage"].includes(name);
  database.run(
    `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    ...names.map((name) =>
      columns[name] === "" && !isText(name) ? null : (columns[name] ?? null),
    ),
  );
}

function plantDeposit(store: Store, row: AnyTransaction): void {
  const isOrdered = row.contentHash !== null;
  const { id, merchant, orderId, renews, contentHash, address, payTo, tag, network } = row;
  const { currency, quote, payToken, returnUrl, metadata, status, stage, code } = row;
  const { receivedUnits, late, txHash, finalBlock, value, callbackStatus } = row;
  const { createdAt, changedAt, expiresAt } = row;
  insertColumns(store, "deposits", {
    ...{ id, merchant, origin: isOrdered ? "ordered" : "unattributed", orderId, renews },
    ...{ contentHash, address, payTo, tag, network, currency },
    amount: isOrdered ? row.amount : null,
    units: isOrdered ? row.units : null,
    toleranceUnits: isOrdered ? row.toleranceUnits : null,
    ...{ quote, payToken, returnUrl, metadata, status, stage, code, receivedUnits, late, txHash },
    ...{ finalBlock, value, callbackStatus, createdAt, changedAt, expiresAt },
  });
}

function plantTransfer(store: Store, row: AnyTransaction): void {
  const { id, operation, merchant, contentHash, network, currency, amount, units, payer } = row;
  const { receiver, tag, status, stage, code, txHash, feeUnits, finalBlock, orderId } = row;
  const { createdAt, changedAt, expiresAt, renews, mode, refundOf, metadata } = row;
  const { value, callbackStatus, addressIndex, nextSlot } = row;
  insertColumns(store, "transfers", {
    ...{ id, operation, merchant, contentHash, network },
    currency: operation === "topup" ? null : currency,
    ...{ amount, units, payer, receiver, tag, status, stage, code, txHash, feeUnits, finalBlock },
    ...{ createdAt, changedAt, expiresAt },
  });
  if (operation === "withdraw") {
    const order = { id, merchant, orderId, renews, mode, refundOf };
    insertColumns(store, "withdrawals", { ...order, metadata, value, callbackStatus });
    if (status === 0) reserveAmount(store.database, row as TransferRow);
  } else if (operation === "sweep") {
    const ordinal = sweepOrdinalOf(row) ?? sweepCount(store, payer) + 1;
    insertColumns(store, "sweeps", { id, address: payer, ordinal, addressIndex, nextSlot });
  } else {
    insertColumns(store, "topUps", { id, sweep: orderId, sweptCurrency: currency, addressIndex });
  }
  postTransfer(store.database, null, readPostedTransfer(store.database, id) as PostedTransfer);
}

const sweepCount = ({ database }: Store, address: string): number =>
  database.get<{ n: number }>("SELECT count(*) AS n FROM sweeps WHERE address = ?", address)!.n;

/** A request that was given this address; `agent` null where nobody here has its key. */
export function giveAddress(
  store: Store,
  given: {
    readonly id: string;
    readonly address: string;
    readonly place: number;
    readonly agent: string | null;
  },
  change: Partial<AnyTransaction> = {},
): void {
  const { id, address, place, agent } = given;
  insertTransaction(store, {
    id,
    orderId: id,
    address,
    payTo: address,
    ...change,
  });
  haveAddress(store, { address, agent, addressIndex: place, request: id });
}

/** A deposit that is there has the address. */
export function haveAddress(
  { database }: Pick<Store, "database">,
  {
    address,
    agent,
    addressIndex,
    request,
  }: Pick<GivenAddress, "address" | "agent" | "addressIndex" | "request">,
): void {
  const { merchant, network, createdAt: at } = readDeposit(database, request) as DepositRow;
  const addressSpace = addressSpaceOf(network);
  giveRow(database, { address, addressSpace, merchant, agent, addressIndex, request, at });
}

/** The row of an id, which has the fields of its kind. */
export function readTransaction(store: Store, id: string): AnyTransaction {
  return readStored(store.database, id)! as AnyTransaction;
}

/** Every row of an operation, in the order in which they were made. */
export function readAll<T extends TransactionRow["operation"]>(
  { database }: Store,
  operation: T,
): readonly RowsByOperation[T][] {
  const table = operation === "deposit" ? "deposits" : "transfers";
  const where = operation === "deposit" ? "" : `WHERE operation = '${operation}'`;
  return database
    .all<{ id: string }>(`SELECT id FROM ${table} ${where} ORDER BY number`)
    .map(({ id }) => readStored(database, id) as RowsByOperation[T]);
}

/** A row of deposits as its kind, and one of transfers. */
export const depositRow = (row: AnyTransaction): DepositRow => row as DepositRow;
export const transferRow = (row: AnyTransaction): TransferRow => row as TransferRow;

/** A row as the hub compares it with an agent's entries. */
export function requestedRecord(row: AnyTransaction) {
  const isDeposit = row.operation === "deposit";
  const receiver = isDeposit ? row.payTo : (row.receiver ?? "");
  return { ...row, receiver, payer: isDeposit ? row.address : row.payer };
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
