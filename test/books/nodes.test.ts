/**
 * A closing beside nodes as they are: without old state, that report their newest block alone,
 * away, behind the watcher; and with very many addresses. Public reports of the kind:
 * btcpayserver/btcpayserver #4835 and cryptoadvance/specter-desktop #298 (balances of nodes that
 * keep no old state).
 */
import { describe, expect, it } from "vitest";
import { lastStartOfDailyHour, startBooks } from "../../gateway/books/books.ts";
import { booksState } from "../../gateway/books/state.ts";
import { acceptDifference } from "../../gateway/books/taking-in.ts";
import { isOnPostgres } from "../../lab/kit/fresh-store.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import {
  agent,
  chain,
  clock,
  close,
  currencies,
  db,
  differences,
  eachTestItsBooks,
  issue,
  keepPayment,
  mine,
  network,
  outgoingForeign,
  pay,
  payout,
  read,
  signed,
} from "../support/books-kit.ts";

eachTestItsBooks();

const eth = 10n ** 18n;
const fee = 21_000n * 10n ** 9n;
const closedRow = () =>
  db.store.database.get<{ lastBlock: number; left: number; fault: string }>(
    "SELECT * FROM closings",
  );

describe("books and the nodes", () => {
  it("books without old state at the nodes name the difference, and its first block as unknown", async () => {
    const one = issue();
    pay(one, "eth", eth);
    mine(50);
    keepPayment(one, "eth", eth, 100);
    chain.oldest = 149;
    const closed = await close();
    expect(differences(closed)).toEqual([`${one.address} -1 eth from unknown`]);
    expect(closed.differences[0]?.detail).toContain("the nodes keep no old state: NODE_ERROR");
  });

  it("books whose block the nodes have forgotten meanwhile go on at the newest one, each account at one block", async () => {
    const one = issue();
    pay(one, "eth", eth);
    mine();
    const rest = async (): Promise<void> => {
      mine();
      chain.oldest = chain.block;
    };
    chain.oldest = chain.block + 1;
    const closed = await close({ rest });
    expect([closed.differences, closed.left]).toEqual([[], []]);
    expect(closed.lastBlock).toBeGreaterThan(closed.firstBlock);
  });

  it("nodes that tell of their newest block alone are believed where the balance fits a block that was read", async () => {
    chain.tellsNewestBalances = true;
    const one = issue();
    const two = issue();
    pay(one, "eth", eth);
    mine();
    const rest = async (): Promise<void> => {
      chain.block += 1;
      if (chain.block < 140) pay(one, "eth", 1n);
      read();
    };
    expect(differences(await close({ rest }))).toEqual([]);
    keepPayment(two, "eth", eth, chain.block);
    const closed = await close({ rest });
    expect(differences(closed)).toEqual([`${two.address} -1 eth from unknown`]);
    expect(closed.differences[0]?.detail).toContain("newest final block alone");
  });

  it("a balance of a block that the watcher has not read is waited for before it is judged", async () => {
    chain.tellsNewestBalances = true;
    const one = issue();
    chain.move(agent.hotWalletAddress, "eth", eth);
    mine();
    await close();
    pay(one, "eth", eth);
    chain.block += 1;
    let rests = 0;
    const rest = async (): Promise<void> => {
      rests += 1;
      if (rests % 5 === 0) read();
    };
    const { calls } = chain;
    expect(differences(await close({ rest }))).toEqual([]);
    expect(chain.calls - calls).toBe(4);
  });

  it("an address that a restored database may have forgotten is compared, with what came to it", async () => {
    const insert =
      "INSERT INTO addresses (number, address, merchant, agent, addressIndex, addressSpace, origin, at) VALUES (?, ?, 'm1', ?, ?, 'eip155:', 'skipped', 0)";
    db.store.database.run(insert, -1, "forgotten 1", agent.id, 71);
    db.store.database.run(insert, -2, "forgotten 2", agent.id, 72);
    const [paid, lost] = [issue(), issue()].map(({ id }) => id);
    db.store.database.run("DELETE FROM addresses WHERE request IS NOT NULL");
    db.store.database.run(
      `UPDATE deposits SET origin = 'unattributed', orderId = 'unattributed/forgotten 1', contentHash = NULL, amount = NULL,
         units = NULL, toleranceUnits = NULL WHERE id = ?`,
      paid ?? "",
    );
    pay({ id: paid ?? "", address: "forgotten 1" }, "eth", eth);
    chain.move("forgotten 2", "usd", 3n);
    const block = mine();
    const closed = await close();
    expect([closed.addresses, differences(closed)]).toEqual([
      2,
      [`forgotten 2 0.000003 usd from ${block - 1}`],
    ]);
    expect(lost).not.toBe(paid);
  });

  it("a payment that the database learns of late is no difference", async () => {
    const one = issue();
    chain.move(one.address, "eth", eth);
    mine();
    let looks = 0;
    const rest = async (ms: number): Promise<void> => {
      if (ms < 1_000) return;
      looks += 1;
      if (looks === 2) keepPayment(one, "eth", eth, chain.block);
    };
    expect(differences(await close({ rest }))).toEqual([]);
    expect(looks).toBe(2);
  });

  it("nodes that are away leave balances uncompared, and earlier differences as they are", async () => {
    const one = issue();
    chain.move(one.address, "eth", eth);
    mine();
    expect((await close()).differences).toHaveLength(1);
    chain.isAway = true;
    const closed = await close();
    expect(closed.left).toContainEqual({ currency: "eth", code: "NODE_UNREACHABLE", balances: 2 });
    expect([closed.compared, closedRow()?.left]).toEqual([0, 4]);
    expect(db.store.database.all("SELECT address FROM bookDifferences")).toEqual([
      { address: one.address },
    ]);
    expect(booksState(db.store.database, network, clock.nowMs).detail).toMatch(
      /^1 difference, found at \S+, 4 balances not compared, newest whole closing at \S+$/,
    );
  });

  it("an account that a signed payout may have moved already is left for the next closing, a stuck one is named", async () => {
    chain.move(agent.hotWalletAddress, "eth", 10n * eth);
    mine();
    await close();
    mine();
    const id = signed(7);
    chain.move(agent.hotWalletAddress, "eth", -eth - fee);
    db.store.database.run(
      "INSERT INTO outgoing VALUES (?, ?, '7', ?, ?, '0x01', '', '', ?, 0)",
      ...[network, agent.hotWalletAddress, `signed ${id}`, chain.block, `${eth}`],
    );
    mine();
    const closed = await close();
    expect([closed.differences, closed.left]).toEqual([
      [],
      [{ currency: "eth", code: "moving", balances: 1 }],
    ]);
    db.store.database.run("UPDATE transfers SET stage = 'stuck' WHERE id = ?", id);
    const [row] = (await close()).differences;
    expect([row?.address, row?.sinceBlock, row?.detail]).toEqual([
      ...[agent.hotWalletAddress, chain.block - 1, `withdraw ${id} is stuck`],
    ]);
  });

  // The one statement that makes the addresses takes longer than a server is given for one.
  it.skipIf(isOnPostgres)(
    "a hundred thousand addresses are compared by four hundred questions a currency, with progress",
    async () => {
      const count = 100_000;
      db.store.database.run("PRAGMA synchronous = OFF");
      db.store.write((database) => {
        const numbers =
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)";
        database.run(
          `INSERT INTO deposits (id, merchant, origin, orderId, contentHash, currency, network, amount, units, toleranceUnits,
           payTo, address, status, stage, createdAt, changedAt, expiresAt)
         ${numbers} SELECT 'many' || i, 'm1', 'ordered', 'many' || i, '00', 'eth', ?, '1', '1', '0', 'many' || i, 'many' || i, 2, 'expired', 0, 0, 0 FROM n`,
          ...[count, network],
        );
        database.run(
          `INSERT INTO addresses (address, addressSpace, merchant, addressIndex, origin, request, at)
         ${numbers} SELECT 'many' || i, 'eip155:', 'm1', i, 'given', 'many' || i, 0 FROM n`,
          count,
        );
      });
      const odd = "many77777";
      chain.move(odd, "eth", 5n, 60);
      const steps: number[] = [];
      const closed = await close({ onProgress: (done) => steps.push(done) });
      expect(differences(closed)).toEqual([`${odd} 0.000000000000000005 eth from 60`]);
      expect([closed.addresses, closed.compared, chain.questions >= 2 * count]).toEqual([
        count,
        2 * count + 2,
        true,
      ]);
      const perCurrency = (count / 250) * currencies.length;
      expect(chain.calls).toBeLessThan(perCurrency + 20);
      expect([steps.length, steps.at(-1)]).toEqual([count / 250 + 1, count + 1]);
    },
  );
});

describe("an operator and the books", () => {
  const taking = {
    network,
    currency: "eth",
    decimal: 18,
    operator: "Jane Doe",
    reason: "refunded by hand",
    nowMs: 9,
  };

  it("a difference is taken in by its amount and a name alone, counts as explained, and stands in the audit table", async () => {
    const one = issue();
    pay(one, "eth", 2n * eth);
    mine();
    chain.move(one.address, "eth", -eth);
    mine();
    await close();
    const { address } = one;
    expect(acceptDifference(db.store, { ...taking, address, amount: "1" })).toMatchObject({
      ok: false,
      code: "GATEWAY_NO_DIFFERENCE",
    });
    expect(
      acceptDifference(db.store, { ...taking, address, amount: "-1", currency: "usd" }),
    ).toMatchObject({
      ok: false,
    });
    expect(acceptDifference(db.store, { ...taking, address, amount: "-1" })).toMatchObject({
      ok: true,
      entry: { units: `${-eth}` },
    });
    expect(acceptDifference(db.store, { ...taking, address, amount: "-1" })).toMatchObject({
      ok: false,
    });
    expect(
      db.store.database.get(
        "SELECT actor, act, subject, detail FROM audit WHERE act = 'difference taken in'",
      ),
    ).toEqual({
      ...{ actor: "operator Jane Doe", act: "difference taken in", subject: address },
      detail: `-1 eth at block ${chain.block}, by Jane Doe: refunded by hand`,
    });
    mine();
    expect(differences(await close())).toEqual([]);
    chain.move(address, "eth", -eth);
    mine();
    expect(differences(await close())).toEqual([`${address} -1 eth from ${chain.block - 1}`]);
  });

  it("an outgoing transaction of a hot wallet by another program is taken in with its fee, and the next one is named again", async () => {
    chain.move(agent.hotWalletAddress, "eth", 10n * eth);
    mine();
    await close();
    mine();
    const hash = outgoingForeign("eth", eth, fee);
    mine();
    const [row] = (await close()).differences;
    expect([row?.sinceBlock, row?.detail]).toEqual([
      chain.block - 1,
      `${hash} in block ${chain.block - 1} was ordered by nobody here`,
    ]);
    expect(
      acceptDifference(db.store, {
        ...taking,
        address: agent.hotWalletAddress,
        amount: "-1.000021",
      }),
    ).toMatchObject({ ok: true });
    payout("eth", eth, fee);
    mine();
    expect(differences(await close())).toEqual([]);
    outgoingForeign("eth", 1n, fee);
    mine();
    expect(differences(await close())).toEqual([
      `${agent.hotWalletAddress} -0.000021000000000001 eth from ${chain.block - 1}`,
    ]);
  });
});

describe("the nightly closing", () => {
  const night = Date.parse("2026-03-02T03:00:00Z");

  it("the night's moment is the newest full hour of the day that is named", () => {
    const at = (time: string, hour: number): string =>
      new Date(lastStartOfDailyHour(Date.parse(time), hour)).toISOString();
    expect(at("2026-03-02T03:00:00Z", 3)).toBe("2026-03-02T03:00:00.000Z");
    expect(at("2026-03-02T02:59:59Z", 3)).toBe("2026-03-01T03:00:00.000Z");
    expect(at("2026-03-02T00:10:00Z", 23)).toBe("2026-03-01T23:00:00.000Z");
  });

  it("the gateway opens a hot wallet's books at once, closes once a night, and says how they stand", async () => {
    const config = {
      books: { hour: 3 },
      currencies: Object.fromEntries(currencies.map((one) => [one.id, { ...one, network }])),
    } as unknown as Parameters<typeof startBooks>[0]["config"];
    clock.nowMs = night + 5 * 3_600_000;
    const books = startBooks({
      store: db.store,
      config,
      log: silentLog,
      clock: () => clock.nowMs,
      rest: async () => {},
    });
    const pass = async (): Promise<void> => {
      books.onPass({ name: "local", network, reader: chain });
      await new Promise((resolve) => setTimeout(resolve, 20));
    };
    const state = () => booksState(db.store.database, network, clock.nowMs);
    await pass();
    expect(
      db.store.database.all("SELECT 1 FROM accounts WHERE openedBlock IS NOT NULL"),
    ).toHaveLength(2);
    expect(state()).toMatchObject({ ok: true, detail: "", closedAt: null });
    clock.nowMs = night + 24 * 3_600_000;
    await pass();
    expect(state()).toMatchObject({
      ok: true,
      detail: "",
      closedAt: night + 24 * 3_600_000,
      differences: 0,
    });
    const { calls } = chain;
    clock.nowMs += 20 * 3_600_000;
    await pass();
    expect(chain.calls).toBe(calls);
    chain.move(issue().address, "eth", eth);
    mine();
    clock.nowMs += 5 * 3_600_000;
    await pass();
    expect(state()).toMatchObject({
      ok: false,
      detail:
        "1 difference, found at 2026-03-04T04:00:00.000Z, newest whole closing at 2026-03-04T04:00:00.000Z",
    });
    await books.close();
    await books.close();
  });

  it("books closed for one currency alone keep the time of the whole closing, and the difference has its own", async () => {
    await close();
    const wholeAt = clock.nowMs;
    const state = () => booksState(db.store.database, network, clock.nowMs);
    expect(state().detail).toBe("");
    clock.nowMs += 3_600_000;
    outgoingForeign("eth", eth, fee);
    mine();
    await close({ currencies: currencies.slice(0, 1), isWhole: false });
    const [found, whole] = [clock.nowMs, wholeAt].map((at) => new Date(at).toISOString());
    expect(state()).toMatchObject({
      ...{ ok: false, differences: 1, closedAt: wholeAt },
      detail: `1 difference, found at ${found}, newest whole closing at ${whole}`,
    });
  });

  it("books that were not closed for more than a day are not well, and a failed try is named", async () => {
    await close();
    const { closedAt } = booksState(db.store.database, network, clock.nowMs);
    expect(booksState(db.store.database, network, (closedAt ?? 0) + 29 * 3_600_000).ok).toBe(true);
    expect(booksState(db.store.database, network, (closedAt ?? 0) + 31 * 3_600_000).ok).toBe(false);
    db.store.database.run("UPDATE closings SET fault = 'BOOKS_UNREAD'");
    expect(booksState(db.store.database, network, clock.nowMs).detail).toMatch(
      /^newest try: BOOKS_UNREAD, newest whole closing at \S+$/,
    );
  });

  it("books of a chain that was never read cannot be closed", async () => {
    db.store.database.run("DELETE FROM cursors");
    await expect(close()).rejects.toMatchObject({ code: "BOOKS_UNREAD" });
  });
});
