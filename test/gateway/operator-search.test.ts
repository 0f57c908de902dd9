/**
 * The operator's search and screen: everything that a person may have been told leads to its
 * record, each question uses an index, and each trouble has its line to type.
 */

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseConfig } from "../../gateway/config/config.ts";
import { showDeposit } from "../../gateway/operator/deposits.ts";
import { searchRecords } from "../../gateway/operator/find.ts";
import { readyAnswerOf } from "../../gateway/operator/health.ts";
import { ageText, exitStatusOf } from "../../gateway/operator/status.ts";
import { type GatewayState, problemsOf } from "../../gateway/operator/status-problems.ts";
import { nothingSeen } from "../../gateway/problems/judged.ts";
import { findCheckProblem, listConditions } from "../../gateway/problems/table.ts";
import { closeAlarm, listOpenAlarms } from "../../gateway/store/alarm.ts";
import { actOfAlarm, recordAct } from "../../gateway/store/audit.ts";
import { addBookEntry } from "../../gateway/store/books.ts";
import { countsOf } from "../../gateway/store/counts.ts";
import type { ShownGateway } from "../../gateway/store/leases.ts";
import type { Database, SqlScalar } from "../../gateway/store/store.ts";
import { listTransactionsWithMerchant } from "../../gateway/store/transaction-lists.ts";
import { listWaitingMerchants } from "../../gateway/store/withdrawals.ts";
import { isOnPostgres } from "../../lab/kit/fresh-store.ts";
import {
  askWithdrawal,
  type GatewayDatabase,
  gatewayDatabase,
  haveAddress,
  insertTransaction,
  pairAgent,
} from "../../lab/kit/gateway-database.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";

const config = parseConfig(JSON.stringify(testConfig), "/", 0);
const address = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94";
const hash = `0x${"ab".repeat(32)}`;

let db: GatewayDatabase;
beforeEach(() => {
  db = gatewayDatabase();
});
afterEach(() => db.remove());

const ids = (text: string): readonly string[] =>
  searchRecords(db.store.database, config, text, 50).records.map(({ row }) => row.id);

describe("the operator's search", () => {
  it("finds a payment by each spelling of its address and hash, and by its amount alone", () => {
    const id = "1".repeat(32);
    insertTransaction(db.store, { id, orderId: "in-1", address, payTo: address });
    haveAddress(db.store, { address, agent: null, addressIndex: 0, request: id });
    db.store.database.run(
      "INSERT INTO payments VALUES ('eip155:31337', ?, 0, ?, 'eth', '1230000000000000000', 7, '0x07', 1, ?)",
      ...[hash, address, id],
    );
    const asTold = [
      address,
      address.toLowerCase(),
      address.replace("EfFD", "effD"),
      hash,
      hash.toUpperCase().replace("X", "x"),
      hash.slice(2),
      "1.23",
      "1.23 ETH",
      "in-1",
    ];
    for (const text of asTold) expect(ids(text), text).toEqual([id]);
    const others = [
      "1.23 usdt",
      "1.24",
      `${hash.slice(0, -1)}c`,
      "in-",
      address.slice(0, -1),
      "%",
      "' OR 1=1 --",
    ];
    for (const text of others) expect(ids(text), text).toEqual([]);
  });

  it("finds a deposit by its tag, alone and behind the word, and any record by the beginning of its id", () => {
    const [shared, id, other] = [
      "rN7n7otQDd6FczFgLdSqtcsAUxDkw6fzRH",
      "abc123".padEnd(32, "1"),
      "abc124".padEnd(32, "2"),
    ];
    const tagged = (one: string, tag: string): void => {
      insertTransaction(db.store, {
        id: one,
        orderId: `in-${tag}`,
        address: `${shared}:${tag}`,
        payTo: shared,
        tag,
      });
      haveAddress(db.store, {
        address: `${shared}:${tag}`,
        agent: null,
        addressIndex: Number(tag),
        request: one,
      });
    };
    tagged(id, "77001");
    tagged(other, "77002");
    expect(["77001", "tag 77001", `${shared} 77001`].map(ids)).toEqual([[id], [id], [id]]);
    expect(["7700", "77003", "tag 0"].map(ids)).toEqual([[], [], []]);
    expect(["abc123", "ABC1231"].map(ids)).toEqual([[id], [id]]);
    expect([...ids("abc12")], "five letters name no record").toEqual([]);
    expect([...ids(`${id.slice(0, 5)}%`)]).toEqual([]);
  });

  it("finds a hash of a family that writes hashes in capitals, in both spellings", () => {
    const id = "1".repeat(32);
    const capitals = "AB".repeat(32);
    insertTransaction(db.store, { id, orderId: "in-1", address, payTo: address });
    haveAddress(db.store, { address, agent: null, addressIndex: 0, request: id });
    db.store.database.run(
      "INSERT INTO payments VALUES ('xrpl:0', ?, 0, ?, 'xrp', '5', 7, '0x07', 1, ?)",
      capitals,
      address,
      id,
    );
    const [local] = Object.values(config.chains);
    const chains = { ...config.chains, xrp: { ...local!, network: "xrpl:0" } };
    const found = (text: string) =>
      searchRecords(db.store.database, { ...config, chains }, text, 50).records.map(
        ({ row }) => row.id,
      );
    expect([capitals, capitals.toLowerCase()].map(found)).toEqual([[id], [id]]);
    expect(found(`${capitals.slice(0, -1)}C`)).toEqual([]);
  });

  it("finds an address of a family whose chains are no longer configured", () => {
    const id = "1".repeat(32);
    insertTransaction(db.store, { id, orderId: "in-1", address, payTo: address });
    haveAddress(db.store, { address, agent: null, addressIndex: 0, request: id });
    const found = searchRecords(
      db.store.database,
      { ...config, chains: {} },
      address.toLowerCase(),
      50,
    );
    expect(found.records.map(({ row }) => row.id)).toEqual([id]);
  });

  it("names a transaction of a hot wallet that nobody ordered, and not one that was signed here", () => {
    const agent = pairAgent(db.store);
    const id = askWithdrawal(db.store, agent.id, 1);
    const outgoing = (slot: string, txHash: string) =>
      db.store.database.run(
        "INSERT INTO outgoing VALUES ('eip155:31337', ?, ?, ?, 9, ?, '', '', '5', 1)",
        ...[agent.hotWalletAddress, slot, txHash, address],
      );
    outgoing("1", hash);
    outgoing("2", hash.replace("ab", "cd"));
    db.store.database.run(
      "INSERT INTO signatures (transactionId, attempt, agent, network, account, slot, txHash, feeMax, seq) VALUES (?, 0, ?, 'eip155:31337', ?, '2', ?, '1', 2)",
      ...[id, agent.id, agent.hotWalletAddress, hash.replace("ab", "cd")],
    );
    const found = searchRecords(db.store.database, config, hash, 50);
    expect([found.records, found.foreign.map(({ slot }) => slot)]).toEqual([[], ["1"]]);
    const signed = searchRecords(db.store.database, config, hash.replace("ab", "cd"), 50);
    expect([signed.records.map(({ row }) => row.id), signed.foreign]).toEqual([[id], []]);
    const ofWallet = searchRecords(
      db.store.database,
      config,
      agent.hotWalletAddress.toLowerCase(),
      50,
    );
    expect(ofWallet.others).toEqual([{ kind: "agent", id: agent.id, name: "Shop", by: "address" }]);
  });

  it("a deposit is shown by its id and by the shop's order, unless two merchants have an order of that name", () => {
    const by = { store: db.store } as Parameters<typeof showDeposit>[0];
    insertTransaction(db.store, { id: "1".repeat(32), orderId: "bd-1", address, payTo: address });
    for (const name of ["1".repeat(32), "bd-1"])
      expect(showDeposit(by, name), name).toMatchObject({ ok: true, row: { orderId: "bd-1" } });
    db.store.database.run("INSERT INTO merchants (id, name, createdAt) VALUES ('m2', 'Other', 0)");
    insertTransaction(db.store, { id: "2".repeat(32), orderId: "bd-1", merchant: "m2" });
    for (const name of ["bd-1", "bd-2"])
      expect(showDeposit(by, name), name).toEqual({ ok: false, code: "GATEWAY_UNKNOWN_RECORD" });
  });

  it.skipIf(isOnPostgres)("and lists read no table of records whole", () => {
    const plans: string[] = [];
    const raw = db.store.database;
    const explained: Database = {
      run: raw.run,
      get: <Row>(sql: string, ...values: readonly SqlScalar[]) =>
        explained.all<Row>(sql, ...values)[0],
      all: <Row>(sql: string, ...values: readonly SqlScalar[]) => {
        const steps = raw.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
        plans.push(...steps.map(({ detail }) => `${detail}  ${sql}`));
        return raw.all<Row>(sql, ...values);
      },
    };
    for (const text of ["in-1", address, hash, "12.5", "1".repeat(32)])
      searchRecords(explained, config, text, 50);
    countsOf(explained, null);
    for (const merchant of [undefined, "m1"])
      for (const orderId of [undefined, "in-1"])
        for (const sinceMs of [undefined, 5])
          for (const operation of ["deposit", "withdraw", "sweep", "topup"] as const)
            listTransactionsWithMerchant(explained, {
              operations: [operation],
              merchant,
              orderId,
              sinceMs,
              stage: "waiting",
              most: 5,
            });
    expect(plans.length).toBeGreaterThan(30);
    const isOfRecords = (plan: string): boolean =>
      /^SCAN (?:deposits|transfers|withdrawals|sweeps|topUps|payments|signatures|outgoing|jobs|addresses|depositCredits|callback(?:Deliveries|Events)|[a-z])\b/.test(
        plan,
      );
    // By the number of the row, newest first, a list ends with its page.
    const isWalk = (plan: string): boolean =>
      /^SCAN [dt] .*ORDER BY [dt]\.number DESC LIMIT \?$/s.test(plan);
    // Tables of people, servers and open alarms are short beside the records.
    const isOfServers = (plan: string): boolean =>
      /FROM (?:callbackTargets t|agents a|openAlarms o)\b/.test(plan);
    expect(
      plans.filter(
        (plan) =>
          isOfRecords(plan) && !/^SCAN \w+ USING/.test(plan) && !isWalk(plan) && !isOfServers(plan),
      ),
    ).toEqual([]);
    const isOfList = (plan: string): boolean => /AS merchantName.* LIMIT \?$/s.test(plan);
    expect(plans.filter(isOfList)).not.toEqual([]);
    const sorted = plans.filter(
      (plan) => plan.startsWith("USE TEMP B-TREE FOR ORDER BY") && isOfList(plan),
    );
    expect(sorted.filter((plan) => !plan.includes("orderId = ?"))).toEqual([]);
  });
});

describe("the operator's screen", () => {
  const counts = () => countsOf(db.store.database, null);
  const well = (): GatewayState => ({
    nowMs: 10_000_000,
    configFault: "",
    reached: true,
    unreachedWhy: "",
    untrusted: "",
    ready: { status: "ready", checks: [{ name: "database", ok: true, detail: "" }] },
    counts: counts(),
    storeFault: null,
    books: [],
    restored: "",
    waitingMerchants: [],
    stuckSweeps: 0,
    shared: null,
    files: { databaseBytes: 1, walBytes: 0, freeBytes: null },
  });
  const seen = (change: Partial<GatewayState>): readonly (readonly [number, string])[] => {
    const state = { ...well(), ...change };
    const problems = problemsOf(state);
    return problems.map(({ what }) => [exitStatusOf(state, problems), what] as const);
  };

  it("has no problem of a gateway that is well, and one for each trouble", () => {
    expect(seen({})).toEqual([]);
    expect(seen({ reached: false, unreachedWhy: "ECONNREFUSED", ready: null })).toEqual([
      [3, "the gateway cannot be reached: ECONNREFUSED"],
    ]);
    expect(seen({ untrusted: "CERT_HAS_EXPIRED", ready: null })).toEqual([
      [
        1,
        "the gateway's address: it answers, but its certificate is not trusted here: CERT_HAS_EXPIRED",
      ],
    ]);
    expect(seen({ ready: null })).toEqual([
      [1, "another program answers at the gateway's address"],
    ]);
    const failed = {
      status: "not ready",
      checks: [{ name: "chain local", ok: false, detail: "not read: NODE_HTTP" }],
    };
    expect(seen({ ready: failed })).toEqual([[1, "chain local: not read: NODE_HTTP"]]);
    const warned = {
      status: "ready",
      checks: [{ name: "chain local", ok: true, detail: "1 of 2 nodes answer" }],
    };
    expect(seen({ ready: warned })).toEqual([[0, "chain local: 1 of 2 nodes answer"]]);
    expect(seen({ restored: "older marks" })[0]?.[0]).toBe(0);
  });

  it("has the problems of the alerts, in their words and with their gravity", () => {
    const waits = { merchant: "m1", name: "Shop", count: 2, oldestAt: 0, stage: "queued" };
    const isForApproval = { ...waits, stage: "awaiting_approval" };
    expect(seen({ waitingMerchants: [isForApproval] })).toEqual([]);
    expect(seen({ waitingMerchants: [waits], stuckSweeps: 1 })).toEqual([
      [1, "2 withdrawals wait at Shop (m1), the oldest since 1970-01-01T00:00:00.000Z as queued"],
      [1, "1 sweep or top-up contradicts the chain and waits for an operator"],
    ]);
    const judged = {
      ...nothingSeen,
      waitingMerchants: [isForApproval, waits, { ...isForApproval, merchant: "m2" }],
      stuckSweeps: 1,
      freeBytes: () => 200 * 1_048_576,
    };
    const told = listConditions(judged, { agentAwayMinutes: 1 });
    expect(told.map(({ event, gravity }) => [event, gravity])).toEqual([
      ["disk-room-low", "warning"],
      ["withdrawals-waiting", "warning"],
      ["withdrawals-waiting", "broken"],
      ["sweeps-stuck", "broken"],
    ]);
    const words = seen({ waitingMerchants: [waits], stuckSweeps: 1 }).map(([, what]) => what);
    expect(told.slice(2).map(({ message }) => message)).toEqual(words);
    // A disk that is nearly full leaves the check of `/ready` good, whose words `status` shows.
    const detail = "200 MiB are free on the database's disk: make room";
    expect(findCheckProblem(judged, "disk")).toEqual({ ok: true, detail });
    expect(findCheckProblem({ ...judged, freeBytes: () => 2 ** 40 }, "disk")).toBeNull();
  });

  it("names withdrawals that wait behind an older one for approval, at one merchant as at two", () => {
    const agent = pairAgent(db.store);
    const ask = (number: number, stage: string, createdAt: number): string =>
      askWithdrawal(db.store, agent.id, number, { stage, createdAt });
    ask(1, "awaiting_approval", 1_000);
    ask(2, "queued", 2_000);
    ask(3, "queued", 3_000);
    const waiting = (beforeMs: number) =>
      listWaitingMerchants(db.store.database, beforeMs, 10).map((one) => [one.stage, one.count]);
    expect(waiting(10_000)).toEqual([
      ["awaiting_approval", 1],
      ["queued", 2],
    ]);
    expect(waiting(1_500)).toEqual([["awaiting_approval", 1]]);
    const waitingMerchants = listWaitingMerchants(db.store.database, 10_000, 10);
    expect(seen({ waitingMerchants }).map(([, what]) => what)).toEqual([
      "2 withdrawals wait at Shop (m1), the oldest since 1970-01-01T00:00:02.000Z as queued",
      "1 withdrawal waiting for approval by a person at the merchant's server",
    ]);
    const told = listConditions({ ...nothingSeen, waitingMerchants }, { agentAwayMinutes: 1 });
    expect(told.map(({ subject, gravity }) => [subject, gravity])).toEqual([["m1", "broken"]]);
  });

  it("lists nothing healthy: neither a check without words nor books that wait for their first closing", () => {
    const names = ["database", "prices", "books local", "chain local", "currency usdt"];
    const checks = names.map((name) => ({ name, ok: true, detail: "" }));
    const books = [{ chain: "local", closedAt: null, differences: 0 }];
    expect(seen({ ready: { status: "ready", checks }, books })).toEqual([]);
    const unpriced = {
      name: "prices",
      ok: false,
      detail: "no price holds of eth in USD: quotes are refused",
    };
    expect(seen({ ready: { status: "ready", checks: [...checks, unpriced] } })).toEqual([
      [1, "prices: no price holds of eth in USD: quotes are refused"],
    ]);
  });

  it("says first, and with exit 1, that money may be stolen, until somebody has settled it", () => {
    const { database } = db.store;
    const agent = pairAgent(db.store, "a");
    const account = agent.hotWalletAddress;
    const network = "eip155:31337";
    const act = actOfAlarm({ code: "WATCHER_OUTGOING_FOREIGN" });
    const pays = (txHash: string, block: number): void => {
      database.run(
        "INSERT INTO outgoing VALUES (?, ?, ?, ?, ?, '0xthief', '', '', '5', 0)",
        ...[network, account, `${block}`, txHash, block],
      );
      recordAct(database, { at: 9, actor: "watcher", act, subject: txHash, detail: "paid" });
    };
    const enter = (kind: "opening" | "note", block: number): void =>
      addBookEntry(database, {
        ...{ network, address: account, currency: "eth", kind, units: "0", block, at: 9 },
        ...{ operator: "", reason: "", owner: { merchant: "m1", kind: "hot" } },
      });
    const lacks = (kind: string, expected: string, found: string): void =>
      void database.run(
        "INSERT INTO bookDifferences VALUES (?, ?, 'eth', ?, ?, ?, ?, 9, 8, '', 9)",
        ...[network, kind === "hot" ? account : "0xdeposit", "m1", kind, expected, found],
      );
    const screen = () => {
      const problems = problemsOf({
        ...well(),
        restored: "older marks",
        counts: countsOf(database, null),
      });
      return problems.filter(({ what }) => !/alarms? (?:is|are) open/.test(what));
    };
    const told = () => screen().map(({ what, isWarning }) => [what.split(" of ")[0], isWarning]);
    const [restored] = told();
    expect(told()).toEqual([restored]);
    pays("0x1", 10);
    lacks("hot", "5", "4");
    lacks("deposit", "5", "6");
    expect(told()).toEqual([[account, false], [`the hot wallet ${account}`, false], restored]);
    // A deposit address with more than the books have is no theft.
    expect(screen().map(({ gravity }) => gravity)).toEqual(["wake", "wake", "warning"]);
    for (const { hint } of screen().slice(0, 2))
      expect(hint).toMatch(/pause.*compare.*move the funds/);
    expect(exitStatusOf({ reached: true }, screen())).toBe(1);
    // Books that began later show no difference; the alarm counts as long as it is open.
    database.run("DELETE FROM bookDifferences");
    enter("opening", 11);
    expect(told()).toEqual([[account, false], restored]);
    const open = listOpenAlarms(database).map(({ id }) => id);
    for (const number of open) closeAlarm(database, number);
    expect(countsOf(database, null).foreignPayments).toEqual([]);
    for (const number of open) database.run("INSERT INTO openAlarms (act) VALUES (?)", number);
    enter("note", 9);
    expect(told()).toEqual([[account, false], restored]);
    enter("note", 10);
    expect(told()).toEqual([restored]);
    // A withdrawal that the payment paid settles it as well.
    pays("0x2", 12);
    expect(told()).toEqual([[account, false], restored]);
    insertTransaction(db.store, {
      id: "7".repeat(32),
      operation: "withdraw",
      orderId: "x",
      payer: account,
      txHash: "0x2",
      finalBlock: 12,
    });
    expect(told()).toEqual([restored]);
    pays("0x3", 13);
    expect(told()).toEqual([[account, false], restored]);
    database.run("UPDATE agents SET unpairedAt = 1");
    expect(told()).toEqual([restored]);
    lacks("deposit", "5", "4");
    expect(told()).toEqual([["the deposit address 0xdeposit", false], restored]);
  });

  it("says of an open alarm that woke somebody more than of one that can wait, until it is closed", () => {
    const { database } = db.store;
    const says = () =>
      problemsOf({ ...well(), counts: countsOf(database, null) }).map(
        ({ what, gravity, isWarning }) => [what, gravity, isWarning],
      );
    const raise = (code: "WATCHER_GAP" | "HUB_SLOT_REUSED"): void => {
      recordAct(database, {
        ...{ at: 9, actor: "watcher", act: actOfAlarm({ code }), subject: code, detail: "" },
      });
    };
    raise("WATCHER_GAP");
    expect(says()).toEqual([["1 alarm is open", "warning", true]]);
    raise("HUB_SLOT_REUSED");
    expect(says()).toEqual([["2 alarms are open", "wake", false]]);
    const newest = database.get<{ id: number }>("SELECT max(act) AS id FROM openAlarms")?.id ?? 0;
    closeAlarm(database, newest);
    expect(says()).toEqual([["1 alarm is open", "warning", true]]);
  });

  it("says that no gateway of a shared database is active, and nothing of it while one is", () => {
    const shown = (name: string, state: ShownGateway["state"]): ShownGateway => ({
      ...{ name, run: name, version: "", digest: "", state, heartbeatAgeMs: 0 },
    });
    const says = (...gateways: readonly ShownGateway[]) =>
      problemsOf({ ...well(), shared: { gateways, bytes: 1 } }).map(({ what, isWarning }) => [
        what,
        isWarning,
      ]);
    const wrong = [["no gateway on the database is active: nothing is paid or credited", false]];
    expect(says(shown("one", "was active"), shown("two", "standby"))).toEqual(wrong);
    expect(says(shown("one", "active"), shown("two", "standby"))).toEqual([]);
    expect(says()).toEqual([]);
  });

  it("counts locked and absent agents, also those that it does not name", () => {
    for (const digit of "abcdef0123456789") pairAgent(db.store, digit);
    expect(seen({})).toEqual([]);
    db.store.database.run("UPDATE agents SET lockedCode = 'LEDGER_FORKED'");
    expect(seen({}).map(([code]) => code)).toEqual(Array.from({ length: 16 }, () => 1));
    db.store.database.run("UPDATE agents SET lockedCode = ''");
    const figures = { version: "1", startedAt: "", agentsConnected: 14, chains: [] };
    expect(seen({ ready: { status: "ready", checks: [], figures } })).toEqual([
      [0, "2 of 16 paired agents have no link; their withdrawals wait"],
    ]);
  });

  it("reads an answer of another program as none", () => {
    for (const text of ["", "<html>", "{}", '{"status":"ready"}', "null", '{"checks":[]}'])
      expect(readyAnswerOf(text), text).toBeNull();
    expect(readyAnswerOf('{"status":"ready","checks":[]}')).toEqual({
      status: "ready",
      checks: [],
    });
  });

  it("tells a length of time in one unit", () => {
    expect(
      [0, 4_000, 119_000, 120_000, 7_199_000, 7_200_000, 172_799_000, 172_800_000, -5].map(ageText),
    ).toEqual([...["0 s", "4 s", "119 s", "2 min", "120 min", "2 h", "48 h", "2 d", "0 s"]]);
  });
});
