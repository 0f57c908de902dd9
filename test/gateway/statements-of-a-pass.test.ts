/**
 * The SQL of each pass, each closing of the books and each question for a balance reads what is
 * open, new or asked for. No statement of them reads each sweep, payment or slot that ever was.
 */

import { afterEach, beforeEach, expect, describe as group, it, vi } from "vitest";
import { familyOf } from "../../chains/families.ts";
import {
  explainedUnits,
  listClaimedAddresses,
  listComparedBefore,
  listComparedBeforeIn,
  listDueByAge,
  listNeverCompared,
} from "../../gateway/store/address-states.ts";
import { listAdjustments } from "../../gateway/store/books.ts";
import { insertStrayAddress } from "../../gateway/store/forgotten-addresses.ts";
import {
  listAccountsAtMove,
  listMovesAfter,
  listMovesOfMany,
  sumUnsweptUnits,
  unitsMovedAfter,
} from "../../gateway/store/journal.ts";
import { markOutgoingTold } from "../../gateway/store/outgoing-transactions.ts";
import { keepNativeCoins } from "../../gateway/store/posting.ts";
import { depositsOfPayee } from "../../gateway/store/search.ts";
import { insertSlot, listSlotsAfter, newestSlotPlace } from "../../gateway/store/slots.ts";
import type { Database } from "../../gateway/store/store.ts";
import { listSweepsAwaitingTopUp, openSweepUnits } from "../../gateway/store/sweeps.ts";
import { listAssignedSweeps, listEndedUnreached } from "../../gateway/store/unreachable.ts";
import { SenderList } from "../../gateway/watcher/deposit-memory.ts";
import { isOnPostgres } from "../../lab/kit/fresh-store.ts";
import {
  askWithdrawal,
  type GatewayDatabase,
  gatewayDatabase,
  giveAddress,
  insertTransaction,
  pairAgent,
} from "../../lab/kit/gateway-database.ts";

const network = "eip155:31337";
const account = `0x${"a".repeat(40)}`;
let db: GatewayDatabase;
beforeEach(() => {
  db = gatewayDatabase();
});
afterEach(() => db.remove());

/** The texts of the statements that `ask` gives to the database. */
function askedBy(ask: (database: Database) => unknown): readonly string[] {
  const { database } = db.store;
  const asked: string[] = [];
  const spies = (["get", "all", "run"] as const).map((name) => {
    const real = database[name] as (sql: string, ...values: never[]) => unknown;
    return vi
      .spyOn(database as Record<typeof name, typeof real>, name)
      .mockImplementation((sql, ...values) => {
        asked.push(sql);
        return real(sql, ...values);
      });
  });
  ask(database);
  for (const spy of spies) spy.mockRestore();
  return asked;
}

/** SQLite's plan for the statements, a line for each table. */
const stepsOf = (ask: (database: Database) => unknown): readonly string[] =>
  askedBy(ask)
    .flatMap((sql) => db.store.database.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`))
    .map(({ detail }) => detail)
    .filter(
      (detail) =>
        !/json_each|VIRTUAL TABLE|CONSTANT ROW|SUBQUERY|COMPOUND|UNION|LEFT-MOST/.test(detail),
    );

/** Indexes with few rows, whatever ended before. */
const few =
  /USING (?:COVERING )?INDEX (?:transfersOpen|depositsOpen|sweepsUnreached|depositsByTag) /;
/**
 * True if SQLite looks at each row of a table, or of one network, operation or merchant in it. Rows
 * of a part of the statement were read by a step of their own.
 */
const walks = (step: string): boolean =>
  /^SCAN (?!\(subquery)/.test(step) ||
  (/\((?:(?:network|operation|merchant|agent|status|run)=\?(?: AND )?)+\)$/.test(step) &&
    !few.test(step));

const merchant = "m1";
const asks: Readonly<Record<string, (database: Database) => unknown>> = {
  "sweeps behind a top-up": (database) => listSweepsAwaitingTopUp(database, network),
  "sweeps with a slot": (database) => listAssignedSweeps(database, network),
  "ended sweeps that the chain did not reach": (database) =>
    listEndedUnreached(database, network, null),
  "ended sweeps of one address that the chain did not reach": (database) =>
    listEndedUnreached(database, network, account),
  "units on their way by sweeps": (database) => [
    openSweepUnits(database, merchant, "usdt"),
    unitsMovedAfter(database, "in", { network, address: account, currency: "usdt" }, 5, ["sweep"]),
  ],
  "units on their way by top-ups": (database) =>
    unitsMovedAfter(database, "out", { network, address: account, currency: "eth" }, 5, ["topup"]),
  "movements of deposit addresses": (database) => [
    listMovesOfMany(database, network, [account], 5),
    listAdjustments(database, network, [account]),
    listAccountsAtMove(database, network, [account], 5),
  ],
  "movements of a hot wallet": (database) => [
    listMovesAfter(database, network, account, "in", { block: 7, number: 3 }, 5),
    listMovesAfter(database, network, account, "out", { block: 7, number: 3 }, 5),
  ],
  "balances to sweep": (database) => sumUnsweptUnits(database, merchant, "usdt"),
  "the owner of an account that got a wrong tag": (database) =>
    insertStrayAddress(database, { network, address: account }, 1),
  "requests with a tag": (database) => depositsOfPayee(database, { address: account, tag: "7" }, 5),
  "an outgoing transaction that was told": (database) =>
    markOutgoingTold(database, { network, txHash: "0x1" }),
  "addresses to compare again": (database) =>
    listDueByAge(database, network, { after: 1, window: 9, mostEach: 5 }, { nowMs: 9, leastMs: 1 }),
  "addresses that were never compared": (database) =>
    listNeverCompared(
      database,
      { network, start: "eip155:" },
      { after: 1, window: 9, mostEach: 5 },
    ),
  "addresses compared long ago": (database) => listComparedBefore(database, network, 9, 5),
  "addresses of a window compared long ago": (database) =>
    listComparedBeforeIn(database, network, 9, { after: 1, window: 9, mostEach: 5 }),
  "addresses with coins that receipts name": (database) =>
    listClaimedAddresses(database, network, 5, 5),
  "units that explain a balance": (database) =>
    explainedUnits(database, { network, address: account, currency: "eth" }, 5),
  "slots that are new": (database) => [newestSlotPlace(database), listSlotsAfter(database, 5)],
};

group("statements of a pass", () => {
  it.skipIf(isOnPostgres).each(Object.entries(asks))(
    "%s are read without a walk through the past",
    (_, ask) => {
      expect(askedBy(ask).length).toBeGreaterThan(0);
      expect(stepsOf(ask).filter(walks)).toEqual([]);
    },
  );

  it.skipIf(isOnPostgres)("a walk through the past would be seen", () => {
    const walk = (from: string) => (database: Database) =>
      database.all(`SELECT units FROM ${from}`);
    for (const from of [
      "transfers WHERE operation = 'sweep' AND network = 'n'",
      "transfers",
      "deposits WHERE merchant = 'm'",
      "deposits",
    ])
      expect(stepsOf(walk(from)).filter(walks), from).toHaveLength(1);
  });

  it.skipIf(isOnPostgres)("payments with a tag come in the order of blocks without a sort", () => {
    const page = stepsOf((database) =>
      listMovesAfter(database, network, account, "in", { block: 7, number: 3 }, 5),
    );
    expect(page.filter((step) => step.includes("TEMP B-TREE"))).toEqual([]);
    expect(page[0]).toContain("movesIn (toSide=? AND network=? AND (block,rowid)>(?,?))");
  });

  it("units on their way are those of open sweeps and of sweeps and top-ups that ended after the block", () => {
    const rows = [
      { operation: "sweep", status: 0, units: "1" },
      { operation: "sweep", status: 1, units: "10", finalBlock: 5 },
      { operation: "sweep", status: 1, units: "100", finalBlock: 6 },
      { operation: "sweep", status: 2, units: "1000", finalBlock: 6 },
      { operation: "topup", status: 0, units: "1" },
      { operation: "topup", status: 1, units: "10", finalBlock: 5 },
      { operation: "topup", status: 1, units: "100", finalBlock: 6 },
    ] as const;
    const other = "0xother";
    db.store.write((database) => keepNativeCoins(database, new Map([[network, "eth"]])));
    for (const [at, row] of rows.entries()) {
      insertTransaction(db.store, {
        id: `${at}`.padStart(32, "0"),
        orderId: `${at}`,
        currency: "usdt",
        network,
        ...(row.operation === "sweep"
          ? { payer: other, receiver: account }
          : { payer: account, receiver: other }),
        ...row,
      });
    }
    const { database } = db.store;
    const hot = { network, address: account };
    const came = unitsMovedAfter(database, "in", { ...hot, currency: "usdt" }, 5, ["sweep"]);
    expect(openSweepUnits(database, merchant, "usdt") + came).toBe(101n);
    expect(unitsMovedAfter(database, "out", { ...hot, currency: "eth" }, 5, ["topup"])).toBe(100n);
  });
});

group("a payment with a tag that nobody gave out", () => {
  const onXrp = "xrpl:1";
  const hotWallet = "rHsMGQEkVNJmpGWs8XUBoTBiAAbwxZN5v3";
  const addressAt = (index: number): string => familyOf(onXrp).depositAddress(hotWallet, index);

  /** Requests that strays made before: their addresses were given to nobody. */
  function keepStrays(count: number): void {
    const same =
      "merchant, origin, contentHash, payTo, network, currency, amount, units, toleranceUnits";
    const rest = "status, stage, createdAt, changedAt, expiresAt";
    db.store.database.run(
      `WITH RECURSIVE count (n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM count WHERE n < ?)
       INSERT INTO deposits (id, orderId, address, ${same}, ${rest})
       SELECT n, n, 'stray ' || n, ${same}, ${rest} FROM deposits, count WHERE id = ?`,
      999 + count,
      "1".repeat(32),
    );
  }

  it.skipIf(isOnPostgres).each([100, 10_000])(
    "asks and reads the same after %i others: one row by its key",
    (count) => {
      const given = { id: "1".repeat(32), address: addressAt(1), place: 1, agent: null };
      giveAddress(db.store, given, {
        network: onXrp,
        currency: "xrp",
        payTo: hotWallet,
        tag: "1",
      });
      keepStrays(count);
      const stray = { network: onXrp, address: addressAt(7) };
      const ask = (database: Database): void => insertStrayAddress(database, stray, 5);
      const plan = stepsOf(ask).filter((step) => !step.startsWith("SCAN CONSTANT"));
      expect(plan).toEqual([
        "SEARCH accountOwners USING INDEX sqlite_autoindex_accountOwners_1 (network=? AND account=?)",
        // The lowest number, which SQLite reads as one row from the end of the key.
        "SEARCH addresses USING INTEGER PRIMARY KEY (rowid<?)",
        "SEARCH meta USING INDEX sqlite_autoindex_meta_1 (name=?)",
      ]);
      expect(
        db.store.database.all(
          "SELECT merchant, agent, address, addressIndex FROM addresses WHERE origin <> 'given'",
        ),
      ).toEqual([{ merchant: "m1", agent: null, address: stray.address, addressIndex: null }]);
      expect(askedBy(ask)).toHaveLength(2);
    },
  );

  it("belongs to the owner of the newest request, and without any request to nobody", () => {
    const stray = (index: number): void =>
      insertStrayAddress(db.store.database, { network: onXrp, address: addressAt(index) }, 5);
    stray(3);
    expect(db.store.database.all("SELECT 1 FROM addresses WHERE origin <> 'given'")).toEqual([]);
    const { id: agent } = pairAgent(db.store, "a");
    const request = { network: onXrp, currency: "xrp", payTo: hotWallet };
    giveAddress(
      db.store,
      { id: "1".repeat(32), address: addressAt(1), place: 1, agent: null },
      request,
    );
    giveAddress(db.store, { id: "2".repeat(32), address: addressAt(2), place: 2, agent }, request);
    giveAddress(db.store, { id: "3".repeat(32), address: account, place: 3, agent: null });
    stray(4);
    expect(db.store.database.all("SELECT agent FROM addresses WHERE origin <> 'given'")).toEqual([
      { agent },
    ]);
    expect(db.store.database.all("SELECT account FROM accountOwners")).toEqual([
      { account: hotWallet },
    ]);
  });
});

group("accounts that send", () => {
  it("accounts that send are those of each slot on the chain, also of slots that come later", () => {
    const { id } = pairAgent(db.store, "a", account);
    const use = (number: number, of: string, on = network): void => {
      const transactionId = askWithdrawal(db.store, id, number);
      db.store.write((database) =>
        insertSlot(database, { network: on, account: of, slot: `${number}` }, transactionId),
      );
    };
    use(1, "first");
    const [list, late] = [new SenderList(network), new SenderList(network)];
    const users = (of: SenderList): readonly string[] => {
      of.refresh(db.store.database);
      return [...of.users];
    };
    expect(users(list)).toEqual(["first"]);
    use(2, "elsewhere", "eip155:1");
    use(3, "second");
    use(4, "first");
    expect(users(list)).toEqual(["first", "second"]);
    expect(users(list)).toEqual(users(late));
    expect([...list.payers]).toEqual([account]);
  });
});
