/**
 * Answers of nodes of the XRP Ledger that have another shape, another size or another meaning than
 * the API's, each beside one that is read; and what a provider says when it is asked too much.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, describe as group, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import {
  readAccount,
  readFee,
  readHistoryPage,
  readLedger,
  readNetworkId,
  readServerState,
  readTransaction,
} from "../../chains/xrp/node-answers.ts";
import { createHistoryReader } from "../../chains/xrp/node-history.ts";
import {
  accountQuestion,
  ledgerQuestion,
  transactionQuestion,
} from "../../chains/xrp/node-questions.ts";
import { createPool, type NodePool } from "../../chains/xrp/node-wire.ts";
import { owner } from "./xrp-wallet.ts";

const [alice, bob] = [owner("alice").address, owner("bob").address];
const hash = "A".repeat(64);
const parent = "B".repeat(64);
const odd = expect.objectContaining({ code: "NODE_ANSWER", effect: "none" });

type Json = Record<string, unknown>;

const server: Json = {
  info: {
    network_id: 0,
    complete_ledgers: "32570-40000,41000,50000-60000",
    validated_ledger: { reserve_base_xrp: 1, reserve_inc_xrp: 0.2, base_fee_xrp: 0.00001 },
  },
};
const ledger: Json = {
  ledger: {
    ledger_index: "95000000",
    ledger_hash: hash,
    parent_hash: parent,
    close_time: 790_000_000,
  },
  ledger_hash: hash,
  ledger_index: 95_000_000,
  validated: true,
};
const account: Json = {
  account_data: { Sequence: 9, Balance: "25000000", OwnerCount: 2, Flags: 0x0102_0000 },
  validated: true,
};
const affected = (before: string, after: string): Json => ({
  ModifiedNode: {
    LedgerEntryType: "AccountRoot",
    FinalFields: { Account: bob, Balance: after },
    PreviousFields: { Balance: before },
  },
});
const transaction: Json = {
  ...{
    TransactionType: "Payment",
    Account: alice,
    Destination: bob,
    DestinationTag: 0,
    Amount: "9",
    Fee: "12",
    Sequence: 7,
  },
  ...{ hash, ledger_index: 95_000_000, validated: true },
  meta: {
    TransactionResult: "tesSUCCESS",
    delivered_amount: "5",
    AffectedNodes: [affected("10", "15")],
  },
};
const { meta, ...tx } = transaction;
const page: Json = {
  ...{ ledger_index_min: 1, ledger_index_max: 9, transactions: [{ tx, meta, validated: true }] },
  validated: true,
};

/** The value with one field, at any depth, in another place; undefined takes it away. */
function changed(value: Json, path: string, to: unknown): Json {
  const [name = "", ...rest] = path.split(".");
  const inner = rest.length === 0 ? to : changed((value[name] ?? {}) as Json, rest.join("."), to);
  return { ...value, [name]: inner };
}

group("the answers of nodes", () => {
  it("the answers of nodes are read", () => {
    expect(readNetworkId(server)).toBe("0");
    expect(readServerState(server)).toEqual({
      reserve: { baseDrops: 1_000_000n, incrementDrops: 200_000n },
      ledgers: [
        [32_570, 40_000],
        [41_000, 41_000],
        [50_000, 60_000],
      ],
    });
    const timestampMs = (790_000_000 + 946_684_800) * 1000;
    expect(readLedger(ledger)).toEqual({
      number: 95_000_000,
      hash,
      parentHash: parent,
      timestampMs,
    });
    expect(readAccount(account)).toEqual({
      ...{
        sequence: 9n,
        balanceDrops: 25_000_000n,
        ownerCount: 2n,
        flags: 0x0102_0000,
        isPseudo: false,
        sequenceQueued: 9n,
      },
    });
    expect(readFee({ drops: { base_fee: "10", open_ledger_fee: "5000" } })).toEqual({
      baseDrops: 10n,
      openDrops: 5_000n,
    });
    const read = readTransaction(transaction);
    expect(read).toEqual({
      ...{
        txHash: hash,
        ledger: 95_000_000,
        account: alice,
        kind: "Payment",
        sequence: "7",
        result: "tesSUCCESS",
      },
      ...{
        feeDrops: 12n,
        destination: bob,
        tag: "0",
        amountDrops: 9n,
        deliveredDrops: 5n,
        risen: [[bob, 5n]],
        fallen: [],
      },
    });
    expect(readHistoryPage(page)).toEqual({
      from: 1,
      to: 9,
      transactions: [read],
      unread: [],
      marker: undefined,
    });
  });

  it.each<[string, unknown, unknown]>([
    ["account_data.AMMID", hash, { isPseudo: true }],
    ["queue_data", { txn_count: 2, highest_sequence: 10 }, { sequenceQueued: 11n }],
    ["queue_data", { txn_count: 0 }, { sequenceQueued: 9n }],
    ["queue_data", { txn_count: 1, highest_sequence: 3 }, { sequenceQueued: 9n }],
  ])("the answers about an account with %s %j tell more", (path, to, part) => {
    expect(readAccount(changed(account, path, to))).toMatchObject(part as object);
    expect(readAccount(account)).not.toMatchObject({ isPseudo: true });
  });

  it.each<[string, unknown, unknown]>([
    ["Amount", { currency: "USD", issuer: alice, value: "5" }, { amountDrops: null }],
    ["TicketSequence", 3, { sequence: "" }],
    ["DestinationTag", 4_294_967_295, { tag: "4294967295" }],
    ["DestinationTag", undefined, { tag: "" }],
    ["meta.AffectedNodes", [affected("15", "10")], { risen: [], fallen: [[bob, 5n]] }],
    [
      "meta.AffectedNodes",
      [{ ModifiedNode: { LedgerEntryType: "AccountRoot" } }, { DeletedNode: {} }],
      { risen: [] },
    ],
    [
      "meta.AffectedNodes",
      [
        {
          CreatedNode: {
            LedgerEntryType: "AccountRoot",
            NewFields: { Account: bob, Balance: "8" },
          },
        },
      ],
      { risen: [[bob, 8n]] },
    ],
  ])("the answers about a transaction with %s %j say so", (path, to, part) => {
    expect(readTransaction(changed(transaction, path, to))).toMatchObject(part as object);
    expect(readTransaction(transaction)).not.toMatchObject(part as object);
  });

  it.each<[string, (value: Json) => unknown, Json, string, unknown]>([
    ["reserve", readServerState, server, "info.validated_ledger.reserve_base_xrp", "1"],
    [
      "reserve with a part of a drop",
      readServerState,
      server,
      "info.validated_ledger.reserve_inc_xrp",
      0.2000001,
    ],
    ["list of ledgers", readServerState, server, "info.complete_ledgers", "1-x"],
    ["ledger's hash", readLedger, ledger, "ledger_hash", hash.toLowerCase()],
    ["ledger's time", readLedger, ledger, "ledger.close_time", -1],
    ["sequence", readAccount, account, "account_data.Sequence", 2 ** 32],
    ["balance", readAccount, account, "account_data.Balance", 25_000_000],
    ["queue", readAccount, account, "queue_data", []],
    ["result", readTransaction, transaction, "meta.TransactionResult", "temBAD_FEE"],
    ["delivered amount", readTransaction, transaction, "meta.delivered_amount", "-5"],
    [
      "delivered amount that is absent",
      readTransaction,
      transaction,
      "meta.delivered_amount",
      undefined,
    ],
    [
      "delivered amount that nobody knows",
      readTransaction,
      transaction,
      "meta.delivered_amount",
      "unavailable",
    ],
    [
      "delivered token where XRP was sent",
      readTransaction,
      transaction,
      "meta.delivered_amount",
      { value: "5" },
    ],
    ["address", readTransaction, transaction, "Destination", "rO0Il"],
    ["tag", readTransaction, transaction, "DestinationTag", 1.5],
    ["metadata", readTransaction, transaction, "meta", "hex"],
    ["validated mark", readHistoryPage, page, "transactions", [{ tx, meta, validated: false }]],
    ["searched span", readHistoryPage, page, "ledger_index_min", -1],
  ])("the answers of nodes with another %s are refused", (_, read, value, path, to) => {
    expect(() => read(changed(value, path, to))).toThrow(odd);
    expect(() => read(value)).not.toThrow();
  });

  it("the answers of nodes are no ends for a ledger that is not validated, and for a transaction in none", () => {
    expect(() => readLedger(changed(ledger, "validated", false))).toThrow(
      expect.objectContaining({ code: "NODE_NO_BLOCK" }),
    );
    expect(readTransaction(changed(transaction, "validated", false))).toBeNull();
    expect(readNetworkId(changed(server, "info.network_id", undefined))).toBe("none");
  });
});

group("a node that answers by a script", () => {
  const opened: { close(): unknown }[] = [];
  afterEach(async () => {
    for (const one of opened.splice(0)) one.close();
  });

  /** Answers by method; a text is the whole body, with the status before it. */
  async function scripted(
    answers: Record<string, (asked: Json) => Json | readonly [number, string]>,
  ): Promise<NodePool> {
    const listening = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { method, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
        method: string;
        params: readonly Json[];
      };
      const answer =
        answers[method]?.(params[0] ?? {}) ??
        (method === "server_info" ? server : { error: "unknownCmd" });
      if (Array.isArray(answer)) response.writeHead(answer[0] as number).end(answer[1]);
      else response.end(JSON.stringify({ result: { status: "success", ...answer } }));
    });
    await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
    const limits = {
      timeoutMs: 20_000,
      patienceMs: 25_000,
      log: () => undefined,
      clock: () => performance.now(),
    };
    const pool = createPool({ urls: [url], networkId: 0, ...limits });
    opened.push(pool, listening, { close: () => listening.closeAllConnections() });
    return pool;
  }

  const ask = (pool: NodePool, question: Parameters<NodePool["ask"]>[1]) =>
    pool.first((node) => pool.ask(node, question));

  it("an answer with the ledger or the transaction that was asked for is read; with another one it is at fault", async () => {
    const pool = await scripted({ ledger: () => ledger, tx: () => transaction });
    expect(await ask(pool, ledgerQuestion(95_000_000))).toMatchObject({ hash });
    expect(await ask(pool, transactionQuestion(hash))).toMatchObject({ txHash: hash });
    await expect(ask(pool, transactionQuestion(parent))).rejects.toEqual(odd);
    await expect(ask(pool, ledgerQuestion(95_000_001))).rejects.toEqual(odd);
  });

  it("an answer with an error of its own is told in its words, and a ledger that it lacks as such", async () => {
    const errors: Record<number, string> = { 1: "lgrNotFound", 2: "internal", 3: "noNetwork" };
    const pool = await scripted({
      ledger: ({ ledger_index: index }) => ({
        error: errors[index as number],
        error_message: "its words",
        status: "error",
      }),
      tx: () => ({ error: "txnNotFound", status: "error" }),
    });
    await expect(ask(pool, ledgerQuestion(1))).rejects.toMatchObject({
      code: "NODE_NO_BLOCK",
      message: "lgrNotFound: its words",
    });
    await expect(ask(pool, ledgerQuestion(2))).rejects.toMatchObject({
      code: "NODE_ERROR",
      message: "internal: its words",
    });
    await expect(ask(pool, ledgerQuestion(3))).rejects.toMatchObject({ code: "NODE_NO_BLOCK" });
    expect(await ask(pool, transactionQuestion(hash))).toBeNull();
  });

  it("a node that answers with an account, or none, out of a ledger that it has not validated, has not come so far", async () => {
    const at = { ledger_index: 95_000_000, validated: true };
    const missing = { error: "actNotFound", status: "error" };
    const answers: readonly Json[] = [
      ...[{ ...account, ...at }, { ...missing, ...at }, missing],
      ...[
        { ...account, ...at, validated: false },
        { ...missing, validated: false },
        { ...account, ...at, ledger_index: 95_000_001 },
      ],
    ];
    let next = 0;
    const pool = await scripted({ account_info: () => answers[next++] ?? {} });
    const question = accountQuestion(bob, 95_000_000);
    expect(await ask(pool, question)).toMatchObject({ sequence: 9n });
    expect(await ask(pool, question)).toBeNull();
    expect(await ask(pool, question)).toBeNull(); // a server that knows validated ledgers alone
    await expect(ask(pool, question)).rejects.toMatchObject({ code: "NODE_NO_BLOCK" });
    await expect(ask(pool, question)).rejects.toMatchObject({ code: "NODE_NO_BLOCK" });
    await expect(ask(pool, question)).rejects.toEqual(odd);
  });

  it("an answer with slowDown, by any status, is asked again after a pause", async () => {
    let asked = 0;
    const refusals = [
      { error: "slowDown", status: "error" },
      [503, JSON.stringify({ error: "slowDown" })] as const,
    ];
    const pool = await scripted({ ledger: () => refusals[asked++] ?? ledger });
    expect(await ask(pool, ledgerQuestion(95_000_000))).toMatchObject({ hash });
    expect(asked).toBe(3);
  });

  it("an answer with a page, with another document, or without a NetworkID is at fault", async () => {
    const page = await scripted({ ledger: () => [200, "<html></html>"] });
    await expect(ask(page, ledgerQuestion(1))).rejects.toEqual(odd);
    const other = await scripted({ ledger: () => [200, '{"result":[]}'] });
    await expect(ask(other, ledgerQuestion(1))).rejects.toEqual(odd);
    const refused = await scripted({ ledger: () => [403, "Forbidden"] });
    await expect(ask(refused, ledgerQuestion(1))).rejects.toMatchObject({ code: "NODE_HTTP" });
    const unnamed = await scripted({
      server_info: () => changed(server, "info.network_id", undefined),
      ledger: () => ledger,
    });
    await expect(ask(unnamed, ledgerQuestion(95_000_000))).rejects.toMatchObject({
      code: "NODE_WRONG_CHAIN",
    });
  });

  it("an answer with a list that never ends, or leaves the span, is at fault; the marker goes back as it came", async () => {
    const markers: unknown[] = [];
    const listed = (change: Json, most: number): Promise<NodePool> =>
      scripted({
        account_tx: ({ marker }) => {
          markers.push(marker);
          const isLast = markers.length >= most;
          return {
            ...page,
            ledger_index_max: 99_999_999,
            ...(isLast ? {} : { marker: { ledger: 95_000_000, seq: 3 } }),
            ...change,
          };
        },
      });
    const span = { from: 94_999_999, to: 95_000_001, hash };
    const forgotten = async (): Promise<bigint> => {
      throw new AgentError("NODE_NO_BLOCK", "none", "lgrNotFound");
    };
    const within = async (pool: NodePool, change = {}) =>
      createHistoryReader(pool, forgotten).within(bob, { ...span, ...change }, true);
    expect((await within(await listed({}, 2))).found).toHaveLength(1);
    expect(markers.splice(0)).toEqual([undefined, { ledger: 95_000_000, seq: 3 }]);
    await expect(within(await listed({}, 1_000))).rejects.toEqual(odd);
    await expect(within(await listed({}, 1), { from: 95_000_001 })).rejects.toEqual(odd);
  });
});
