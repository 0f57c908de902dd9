/**
 * A stored row that no renderer can take is set aside with one alarm; the lists, the events and the
 * page of all other rows go on, and the process lives. Reported of this gateway: one record without
 * an amount ended the process at each start.
 */

import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AgentError, Bug } from "../../base/fault.ts";
import { addressSpaceNames, families } from "../../chains/families.ts";
import { mainNetworkByAddressSpace } from "../../chains/network-names.ts";
import { csvTableForPrograms } from "../../gateway/answer/csv-cell.ts";
import { recordOf, writeRecord } from "../../gateway/answer/record.ts";
import { payerView } from "../../gateway/api/payer.ts";
import { type Callbacks, startCallbacks } from "../../gateway/callbacks/callbacks.ts";
import { makeEventsOfChanges } from "../../gateway/callbacks/outbox.ts";
import type { DeliveryRequest } from "../../gateway/callbacks/send.ts";
import { csvRecordsOf } from "../../gateway/operations/csv.ts";
import { listTransactions } from "../../gateway/operations/transactions.ts";
import type { OperatorContext } from "../../gateway/operator/accounts.ts";
import { addCallback } from "../../gateway/operator/callbacks.ts";
import { jsonOfRecord, writeLineOrSetAside } from "../../gateway/operator/records.ts";
import { retryRows } from "../../gateway/operator/rows.ts";
import { rightClock } from "../../gateway/own-clock.ts";
import { renderPage } from "../../gateway/pages/page.tsx";
import type { Service } from "../../gateway/service.ts";
import { hasChanges } from "../../gateway/store/callback-outbox.ts";
import { unattributedOrderOf } from "../../gateway/store/forgotten-addresses.ts";
import {
  crashedRowsPathOf,
  noteCrashedRow,
  takeRepeatedlyCrashedRows,
} from "../../gateway/store/last-item.ts";
import { readMerchant } from "../../gateway/store/merchants.ts";
import type { DepositRow, TransactionRow } from "../../gateway/store/rows.ts";
import {
  guardedWrite,
  insertAsideRow,
  isRowAside,
  listAside,
  rowOfBug,
  runGuarded,
  runTrackingRow,
} from "../../gateway/store/set-aside.ts";
import { createSignals } from "../../gateway/store/signals.ts";
import { listTransactionsWithMerchant } from "../../gateway/store/transaction-lists.ts";
import { listUnvaluedCompletions } from "../../gateway/store/transactions.ts";
import type { WatchedChain } from "../../gateway/watcher/chain.ts";
import { judgeRequests } from "../../gateway/watcher/payments.ts";
import { isRefused } from "../../lab/kit/database-tables.ts";
import { isOnPostgres } from "../../lab/kit/fresh-store.ts";
import {
  type AnyTransaction,
  depositRow,
  type GatewayDatabase,
  gatewayDatabase,
  insertTransaction,
  readTransaction,
  silentLog,
} from "../../lab/kit/gateway-database.ts";
import { RestoredKit } from "../support/restored-kit.ts";
import { until } from "../support/until.ts";
import { currency } from "../support/watched-chain.ts";

// A step of a thousand addresses shows no more, and takes a second to derive.
vi.mock("../../gateway/deposits/ceiling-steps.ts", () => ({
  ceilingStep: 10,
  indexesJumpMin: 30,
  ceilingAheadMax: 1_000_000,
}));

const nowMs = 2_000_000;
const publicUrl = "https://pay.example";
const idOf = (at: number): string => at.toString(16).padStart(32, "0");
const bad = idOf(1);
const good = idOf(2);
/** No reader takes this. */
const poison = { id: bad, orderId: "bad", metadata: "{" };

let db: GatewayDatabase;
let service: Service;
let by: OperatorContext;
beforeEach(() => {
  db = gatewayDatabase();
  serve({ eth: currency("eth", "") });
});
afterEach(() => db.remove());

function serve(currencies: Record<string, unknown>): void {
  const config = {
    currencies,
    chains: {},
    publicUrl,
    limits: { listMax: 0 },
    callbacks: { allowLoopback: false, allowNetworks: [], retryMs: [1_000], timeoutMs: 1_000 },
  };
  service = {
    ...{
      config,
      store: db.store,
      log: silentLog,
      clock: () => nowMs,
      signals: createSignals(),
      random: randomBytes,
    },
    ...{
      confirmations: () => null,
      readAt: () => nowMs,
      waitsRead: () => 0,
      outOfService: () => "",
      ownClock: () => rightClock,
      unreadSince: () => null,
      isLate: () => false,
    },
  } as unknown as Service;
  const gatewayKey = { sealingKey: new Uint8Array(32).fill(7) };
  by = {
    store: db.store,
    gatewayKey,
    random: randomBytes,
    nowMs,
    run: null,
    actor: "operator",
  } as unknown as OperatorContext;
}

const outbox = () => ({
  config: service.config,
  random: randomBytes,
  clock: () => nowMs,
  recordOf: (row: TransactionRow) => recordOf(row, service),
  invoiceOf: ({ id }: { readonly id: string }) => ({ invoice: id }),
});
const tell = () => db.store.write((database) => makeEventsOfChanges(database, outbox()));
const bodies = (): readonly { type: string; data: Record<string, unknown> }[] =>
  db.store.database
    .all<{ body: string }>("SELECT body FROM callbackEvents ORDER BY number")
    .map(({ body }) => JSON.parse(body));
const listen = (): void => {
  const url = "https://shop.example/told";
  expect(addCallback(by, { merchant: "m1", url, events: [] }, service.config.callbacks).ok).toBe(
    true,
  );
};
const alarms = (): readonly string[] =>
  db.store.database
    .all<{ detail: string }>("SELECT detail FROM audit WHERE act = 'alarm ROW_SET_ASIDE'")
    .map(({ detail }) => detail);
const aside = (): readonly string[] =>
  listAside(db.store.database).map(({ kind, id }) => `${kind}/${id}`);
const listed = (accept?: string): string => {
  const answer = listTransactions(service, "m1", {}, { headers: { accept }, isInterface: false });
  return answer.kind === "list" ? [...(answer.parts as Iterable<string>)].join("") : answer.kind;
};

/** Each reader of a stored row. */
const readers: Readonly<Record<string, (row: DepositRow) => unknown>> = {
  "the list": () => JSON.parse(listed()),
  "the list as CSV": () => listed("text/csv"),
  "one record": (row) =>
    writeRecord(row, service, csvRecordsOf(csvTableForPrograms, service.config).line),
  "the operator's list": (row) =>
    listTransactionsWithMerchant(db.store.database, { operations: [row.operation], most: 5 }).map(
      (one) => jsonOfRecord(by, one, service.config),
    ),
  "a page": (row) => {
    const merchant = readMerchant(db.store.database, "m1")!;
    return renderPage(payerView(service, row, merchant, 0), {
      language: "en",
      version: "1",
    });
  },
  "a callback": ({ id }) => {
    db.store.database.run(
      "UPDATE deposits SET status = 2, stage = 'expired', receivedUnits = '5', changedAt = changedAt + 1 WHERE id = ?",
      id,
    );
    tell();
    expect(bodies().at(-1)?.data.transactionId).toBe(id);
    return bodies();
  },
};
const rows: Readonly<Record<string, Partial<AnyTransaction>>> = {
  "no request": { contentHash: null, status: 2, stage: "expired" },
  "no address": { address: "", payTo: "" },
  "none of them": { contentHash: null, address: "", payTo: "" },
};
const cells = addressSpaceNames.flatMap((name) =>
  Object.keys(rows).map((row) => [name, row] as const),
);

describe("rows without an amount, a request or an address", () => {
  it.each(cells)("on %s a row with %s is taken by each reader", (name, kind) => {
    const network = mainNetworkByAddressSpace[name];
    const contract = name === "evm" ? "0x5FbDB2315678afecb367f032d93F642f64180aa3" : "";
    serve({
      coin: { ...currency("coin", ""), network },
      token: { ...currency("token", contract), network },
    });
    listen();
    const deposit = {
      address: "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
      payTo: "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
    };
    for (const [at, id] of ["coin", "token"].entries()) {
      const of = { ...deposit, network, currency: id, ...rows[kind] };
      insertTransaction(db.store, { id: idOf(at), orderId: unattributedOrderOf(id), ...of });
      for (const [reader, read] of Object.entries(readers)) {
        expect(() => read(depositRow(readTransaction(db.store, idOf(at)))), reader).not.toThrow();
        expect(aside(), reader).toEqual([]);
      }
    }
  });

  it("the table takes no request for an amount of 0, and no amount that nobody asked for", () => {
    const change = (fields: string, id: string) => () =>
      db.store.database.run(`UPDATE deposits SET ${fields} WHERE id = ?`, id);
    insertTransaction(db.store, { id: good, orderId: "good" });
    expect(isRefused(change("units = '0'", good))).toBe(true);
    expect(isRefused(change("amount = NULL, units = NULL", good))).toBe(true);
    insertTransaction(db.store, { id: bad, orderId: "bad", contentHash: null });
    expect(isRefused(change("amount = '1', units = '1'", bad))).toBe(true);
    expect(readTransaction(db.store, bad)).toMatchObject({ amount: null, units: null });
  });

  it.each(addressSpaceNames)(
    "a link of %s without an amount names the receiver and asks for none",
    (name) => {
      const receiver = "RECEIVER";
      const link = { network: mainNetworkByAddressSpace[name], contract: "", receiver };
      const [none, some] = [
        families[name].paymentUri({ ...link, units: 0n }),
        families[name].paymentUri({ ...link, units: 1n }),
      ];
      expect([none === "", some === ""]).toEqual([name === "tron", name === "tron"]);
      if (name === "tron") return;
      expect(none).toContain(receiver);
      expect(none).not.toMatch(/[?&=]/);
      expect(some).toMatch(/(?:value|amount)=/);
    },
  );
});

describe("a row that no reader takes", () => {
  it("comes bare in lists and CSV, with one alarm however often it is met, and the others come whole", () => {
    insertTransaction(db.store, { id: good, orderId: "good", metadata: '{"a":1}', createdAt: 500 });
    insertTransaction(db.store, poison);
    for (let round = 0; round < 3; round += 1) {
      const [first, second] = JSON.parse(listed());
      expect(first).toMatchObject({
        transactionId: bad,
        orderId: "bad",
        code: "record_unreadable",
        amount: "1",
        metadata: {},
      });
      expect(second).toMatchObject({ transactionId: good, code: "", metadata: { a: 1 } });
      expect(Object.keys(first).filter((key) => !(key in second))).toEqual([]);
    }
    expect(listed("text/csv").match(/record_unreadable/g)).toHaveLength(1);
    expect(listed("text/csv")).toContain(good);
    expect(aside()).toEqual([`record/${bad}`]);
    expect(alarms()).toEqual([expect.stringContaining(`autowithdraw-gateway find ${bad}`)]);
    const [row] = listTransactionsWithMerchant(db.store.database, {
      operations: ["deposit"],
      most: 1,
    });
    expect(jsonOfRecord(by, row!, service.config)).toMatchObject({ code: "record_unreadable" });
    expect(writeLineOrSetAside(by, row!, () => String(BigInt(row!.metadata)))).toContain(
      "record_unreadable",
    );
    expect(writeLineOrSetAside(by, row!, () => "whole")).toBe("whole");
  });

  it("is tried again when an operator says so, and comes whole once it is corrected", () => {
    insertTransaction(db.store, poison);
    listed();
    expect(retryRows(by, "nothing")).toMatchObject({ ok: false, code: "GATEWAY_UNKNOWN_ROW" });
    expect(retryRows(by, `record/${bad}`)).toMatchObject({
      ok: true,
      rows: [{ kind: "record", id: bad, code: "BUG" }],
    });
    listed();
    expect([aside().length, alarms().length]).toEqual([1, 2]);
    db.store.database.run("UPDATE deposits SET metadata = NULL WHERE id = ?", bad);
    expect(retryRows(by, bad).ok).toBe(true);
    expect(JSON.parse(listed())).toMatchObject([{ transactionId: bad, code: "" }]);
    expect(aside()).toEqual([]);
  });

  it("its change waits, half of an event of it is never kept, and the changes of others are told", () => {
    listen();
    insertTransaction(db.store, { ...poison, operation: "withdraw", mode: "auto" });
    insertTransaction(db.store, { id: good, orderId: "good", operation: "withdraw", mode: "auto" });
    const told = tell();
    expect(told.aside.map(({ key }) => key)).toEqual([{ kind: "change", id: "1", about: bad }]);
    expect(bodies().map(({ data }) => data.transactionId)).toEqual([good]);
    expect(hasChanges(db.store.database)).toBe(false);
    expect(tell().aside).toEqual([]);
    db.store.database.run("UPDATE withdrawals SET metadata = NULL WHERE id = ?", bad);
    expect(hasChanges(db.store.database)).toBe(false);
    expect(retryRows(by, bad).ok).toBe(true);
    expect(hasChanges(db.store.database)).toBe(true);
    tell();
    expect(bodies().map(({ type, data }) => [type, data.transactionId])).toEqual([
      ["withdrawal.created", good],
      ["withdrawal.created", bad],
    ]);
  });

  it("what a job wrote before it failed is taken back; a failure of the disk is nobody's row", () => {
    const count = (): number =>
      db.store.database.get<{ n: number }>("SELECT count(*) AS n FROM merchants")?.n ?? -1;
    const insert = "INSERT INTO merchants (id, name, createdAt) VALUES ('m2', 'Two', 0)";
    const failing = (error: Error) => () =>
      db.store.write((database) =>
        guardedWrite(database, () => {
          database.run(insert);
          throw error;
        }),
      );
    expect(failing(new Bug("made up"))()).toMatchObject({ ok: false });
    expect(count()).toBe(1);
    expect(failing(new AgentError("GATEWAY_STORE_POISONED", "unknown", "made up"))).toThrow(
      "made up",
    );
    expect(failing(Object.assign(new Error("full"), { errcode: 13 }))).toThrow("full");
    expect(count()).toBe(1);
    expect(runGuarded(() => BigInt("x"))).toMatchObject({ ok: false });
    expect(
      db.store.write((database) => guardedWrite(database, () => database.run(insert))),
    ).toMatchObject({ ok: true });
    expect(count()).toBe(2);
  });
});

describe("callbacks with a row that none takes", () => {
  let letters: DeliveryRequest[];
  let callbacks: Callbacks | null;
  beforeEach(() => {
    letters = [];
    callbacks = null;
  });
  afterEach(() => callbacks?.close());

  const start = (
    of: Service,
    sealingKey: Uint8Array,
    fiatValueOf: () => string = () => "",
  ): void => {
    const send = async (letter: DeliveryRequest) => {
      letters.push(letter);
      return { status: 204, answer: "", retryAfter: undefined, durationMs: 1 };
    };
    const callbackSender = { send, close: () => {} };
    callbacks = startCallbacks({
      ...of,
      sealingKey,
      fiatValueOf,
      callbackSender,
      recordOf: (row) => recordOf(row, of),
      invoiceOf: ({ id }: { readonly id: string }) => ({ invoice: id }),
    });
  };

  it("a value that cannot be made holds up no event", async () => {
    listen();
    for (const id of [bad, good]) insertTransaction(db.store, { id, orderId: id });
    db.store.database.run("UPDATE deposits SET status = 1, stage = 'completed', changedAt = 3000");
    start(service, by.gatewayKey.sealingKey, () => {
      throw new Bug("no value");
    });
    await until(() => letters.length === 2);
    expect([...aside()].sort()).toEqual([`value/${bad}`, `value/${good}`]);
    expect(listUnvaluedCompletions(db.store.database, 5)).toEqual([]);
    expect(db.store.database.all("SELECT 1 FROM completions")).toHaveLength(2);
  });

  it("a restored gateway takes money on a forgotten address: it lives, its list answers, and its callback goes", async () => {
    const kit = new RestoredKit();
    await kit.begin();
    try {
      const sealingKey = new Uint8Array(32).fill(7);
      const operator = {
        ...by,
        store: kit.store,
        gatewayKey: { sealingKey },
      } as unknown as OperatorContext;
      const url = "https://shop.example/told";
      expect(
        addCallback(operator, { merchant: "m1", url, events: [] }, service.config.callbacks).ok,
      ).toBe(true);
      kit.keep("copy", "backup");
      const address = await kit.orderSoon("ra-1");
      await kit.restored("copy");
      const restored = {
        ...kit.service,
        config: { ...service.config, ...kit.service.config, publicUrl },
      } as Service;
      start(restored, sealingKey);
      await kit.read();
      kit.pay(address);
      await kit.settle();
      const told = () =>
        letters.map(({ body }) => JSON.parse(body)).find(({ type }) => type === "deposit.late");
      await until(() => told() !== undefined);
      const order = unattributedOrderOf(address);
      expect(told()).toMatchObject({
        data: { orderId: order, amount: "0", paymentUri: `ethereum:${address}@31337` },
      });
      const answer = listTransactions(restored, "m1", {}, { headers: {}, isInterface: false });
      const text = answer.kind === "list" ? [...(answer.parts as Iterable<string>)].join("") : "";
      expect(JSON.parse(text)).toMatchObject([
        { orderId: order, code: "deposit_expired", paymentUri: `ethereum:${address}@31337` },
      ]);
      expect(kit.store.database.all("SELECT * FROM setAside")).toEqual([]);
    } finally {
      callbacks?.close();
      await kit.remove();
    }
  });
});

describe.skipIf(isOnPostgres)("a row whose work ends the process", () => {
  const key = { kind: "judgement", id: bad, about: bad } as const;
  const path = (): string =>
    join(
      db.store.database.get<{ file: string }>("SELECT file FROM pragma_database_list")?.file ?? "",
    );
  const repeated = (atMs: number): readonly string[] =>
    takeRepeatedlyCrashedRows(path(), atMs).map(({ kind, id }) => `${kind}/${id}`);
  const error = new Bug("made up");
  const minuteMs = 60_000;

  it("a bug remembers the row in work; a fault, and a job that ends well, remember none", () => {
    const thrownBy = (job: () => void): unknown => {
      try {
        runTrackingRow(key, job);
      } catch (thrown) {
        return thrown;
      }
      return null;
    };
    const bug = new TypeError("no such field");
    expect(rowOfBug(thrownBy(() => fail(bug)))).toEqual(key);
    expect(
      rowOfBug(thrownBy(() => fail(new AgentError("NODE_TIMEOUT", "unknown", "slow")))),
    ).toBeNull();
    expect(rowOfBug(thrownBy(() => {}))).toBeNull();
    expect(rowOfBug(new Bug("elsewhere"))).toBeNull();
  });
  function fail(thrown: Error): never {
    throw thrown;
  }

  it("twice within ten minutes sets the row aside at the start, once or far apart does not", () => {
    expect(repeated(0)).toEqual([]);
    noteCrashedRow(path(), key, error, 0);
    expect(repeated(minuteMs)).toEqual([]);
    expect(existsSync(crashedRowsPathOf(path()))).toBe(true);
    noteCrashedRow(path(), { ...key, id: good }, error, 2 * minuteMs);
    noteCrashedRow(path(), key, error, 11 * minuteMs);
    expect(repeated(11 * minuteMs)).toEqual([]);
    noteCrashedRow(path(), key, error, 12 * minuteMs);
    writeFileSync(
      crashedRowsPathOf(path()),
      `${readFileSync(crashedRowsPathOf(path()), "utf8")}{"kind":"jud`,
    );
    expect(repeated(12 * minuteMs)).toEqual([`judgement/${bad}`]);
    expect(repeated(12 * minuteMs)).toEqual([]);
  });

  it("a deposit whose judgement is aside is passed over, the others are judged, and after a retry it is too", () => {
    for (const id of [bad, good]) insertTransaction(db.store, { id, orderId: id, expiresAt: 5 });
    const chain = {
      ...service,
      tokens: { out: new Map() },
      network: "eip155:31337",
    } as unknown as WatchedChain;
    const judge = (): readonly string[] =>
      db.store.write((database) => judgeRequests(chain, database, [bad, good], 9));
    db.store.write((database) => insertAsideRow(database, key, error, nowMs));
    expect(judge()).toEqual([good]);
    expect(isRowAside(db.store.database, "judgement", bad)).toBe(true);
    expect(retryRows(by, bad).ok).toBe(true);
    expect(
      db.store.database.get("SELECT 1 FROM meta WHERE name = 'unjudged eip155:31337 eth'"),
    ).toBeDefined();
    expect(judge()).toEqual([bad]);
  });

  it("a bug in the judgement names the deposit", () => {
    insertTransaction(db.store, { id: bad, orderId: "bad", units: "x" });
    const chain = { ...service, tokens: { out: new Map() } } as unknown as WatchedChain;
    let thrown: unknown = null;
    try {
      db.store.write((database) => judgeRequests(chain, database, [bad], 9));
    } catch (cause) {
      thrown = cause;
    }
    expect(rowOfBug(thrown)).toEqual(key);
  });
});
