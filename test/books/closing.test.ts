/**
 * A closing explains every balance of a shop's common day to the unit, and names each difference by
 * address, amount and first block. Public reports of the kind: joinmarket-clientserver #113 and
 * aspectron/kdx #23 (a balance that the history does not explain, both ways), coblo/gui-demo #18.
 */
import { describe, expect, it } from "vitest";
import { keepBaseline } from "../../gateway/store/address-states.ts";
import { alarmOf } from "../../gateway/store/audit.ts";
import { repostRows } from "../../lab/kit/repost.ts";
import {
  agent,
  chain,
  close,
  currencies,
  customer,
  db,
  differences,
  eachTestItsBooks,
  issue,
  keepEnded,
  keepPayment,
  mine,
  network,
  outgoingForeign,
  pay,
  payout,
  signed,
  sweep,
  topUp,
} from "../support/books-kit.ts";

eachTestItsBooks();

const eth = 10n ** 18n;
const fee = 21_000n * 10n ** 9n;
const usd = 10n ** 6n;

/** A hot wallet whose books have begun, and a day with everything that moves money. */
async function aDay(): Promise<{
  readonly coins: ReturnType<typeof issue>;
  readonly tokens: ReturnType<typeof issue>;
}> {
  chain.move(agent.hotWalletAddress, "eth", 10n * eth);
  chain.move(agent.hotWalletAddress, "usd", 1_000n * usd);
  mine();
  await close();
  const coins = issue();
  const tokens = issue({ currency: "usd" });
  mine();
  pay(coins, "eth", 2n * eth);
  mine();
  pay(tokens, "usd", 50n * usd);
  pay(coins, "usd", 7n * usd);
  mine();
  topUp(tokens, "usd", 2n * fee, fee);
  mine();
  sweep(tokens, "usd", 50n * usd, fee);
  sweep(coins, "eth", eth, fee);
  mine();
  payout("usd", 30n * usd, fee);
  payout("eth", eth, fee, { status: 2, stage: "failed", code: "chain_reverted" });
  chain.move(agent.hotWalletAddress, "eth", eth); // a reverted payment moves no coins
  mine();
  return { coins, tokens };
}
/** Changes rows by hand; the journal has what they say then. */
function removeRow(sql: string, ...values: (string | number)[]): void {
  db.store.database.run(sql, ...values);
  repostRows(db.store);
}

describe("books that close", () => {
  it("a day of deposits, sweeps, top-ups, payouts and a failed payout leaves no difference", async () => {
    await aDay();
    const closed = await close();
    expect([differences(closed), closed.left, closed.entries]).toEqual([[], [], []]);
    expect([closed.addresses, closed.hotWallets, closed.compared]).toEqual([2, 1, 6]);
    expect(db.store.database.get("SELECT closedAt, lastBlock, compared FROM closings")).toEqual({
      ...{ closedAt: closed.at, lastBlock: chain.block, compared: 6 },
    });
  });

  it("books of a hot wallet begin with what it holds, and what moved before does not count", async () => {
    chain.move(agent.hotWalletAddress, "eth", 5n * eth);
    payout("eth", eth, fee);
    mine();
    const first = await close();
    expect(first.entries.map(({ kind, units, currency }) => [kind, units, currency])).toEqual([
      ["opening", (4n * eth - fee).toString(), "eth"],
      ["opening", "0", "usd"],
    ]);
    mine();
    payout("eth", eth, fee);
    mine();
    const closed = await close();
    expect([differences(closed), closed.entries]).toEqual([[], []]);
  });

  it("money that came to a hot wallet from outside is told once, as information", async () => {
    await aDay();
    chain.move(agent.hotWalletAddress, "usd", 400n * usd);
    mine();
    const closed = await close();
    expect(differences(closed)).toEqual([]);
    expect(closed.entries).toMatchObject([
      { kind: "outside", address: agent.hotWalletAddress, currency: "usd", units: `${400n * usd}` },
    ]);
    mine();
    expect((await close()).entries).toEqual([]);
  });

  it("a sweep that may have come to the hot wallet already is not booked as money from outside", async () => {
    await aDay();
    const to = issue();
    const { address } = to;
    const ends = { payer: address, receiver: agent.hotWalletAddress };
    const id = signed(9, {
      operation: "sweep",
      stage: "confirming",
      currency: "usd",
      addressIndex: 0,
      ...ends,
    });
    chain.move(agent.hotWalletAddress, "usd", 9n * usd);
    mine();
    expect((await close()).left).toEqual([{ currency: "usd", code: "moving", balances: 1 }]);
    db.store.database.run(
      "UPDATE transfers SET status = 1, stage = 'completed', finalBlock = ?, units = ?, feeUnits = '0' WHERE id = ?",
      ...[chain.block - 1, `${9n * usd}`, id],
    );
    repostRows(db.store);
    chain.move(address, "usd", 9n * usd, 100);
    keepPayment(to, "usd", 9n * usd, 100);
    chain.move(address, "usd", -9n * usd, chain.block - 1);
    mine();
    const closed = await close();
    expect([differences(closed), closed.entries]).toEqual([[], []]);
  });

  it("coins that lay on an address before it was given out are its baseline, and no difference", async () => {
    const { coins } = await aDay();
    chain.move(coins.address, "eth", 5n * eth, 50);
    db.store.write((database) =>
      keepBaseline(database, { network, address: coins.address, currency: "eth" }, 5n * eth),
    );
    mine();
    expect(differences(await close())).toEqual([]);
  });

  it("an address whose key no agent has may be emptied by its owner; more than was paid is a difference", async () => {
    await aDay();
    const theirs = issue({}, false);
    pay(theirs, "eth", eth);
    mine();
    chain.move(theirs.address, "eth", -eth);
    mine();
    const closed = await close();
    expect([differences(closed), closed.entries.map(({ kind, units }) => [kind, units])]).toEqual([
      [],
      [["owner", `${-eth}`]],
    ]);
    mine();
    expect((await close()).entries.map(({ kind, units }) => [kind, units])).toEqual([
      ["owner", `${-eth}`],
    ]);
    const block = mine();
    chain.move(theirs.address, "eth", eth + 3n);
    mine();
    expect(differences(await close())).toEqual([
      `${theirs.address} 0.000000000000000003 eth from ${block}`,
    ]);
  });
});

type Day = Awaited<ReturnType<typeof aDay>>;

/** Acts on chain or database, and the difference that a closing names. */
const mutants: readonly [string, (day: Day) => string | readonly string[]][] = [
  [
    "a payment that was never recorded",
    ({ coins }) => {
      removeRow("DELETE FROM payments WHERE address = ? AND currency = 'usd'", coins.address);
      return `${coins.address} 7 usd from 103`;
    },
  ],
  [
    "a payment that is recorded twice",
    ({ coins }) => {
      keepPayment(coins, "eth", 2n * eth, 102);
      return `${coins.address} -2 eth from 102`;
    },
  ],
  [
    "a payment that never came, such as staked coins that count as money",
    ({ tokens }) => {
      keepPayment(tokens, "eth", 1_000n * eth, 104);
      return `${tokens.address} -1000 eth from 104`;
    },
  ],
  [
    "a payment that is recorded with one unit too many",
    ({ tokens }) => {
      removeRow(
        "UPDATE payments SET units = CAST(CAST(units AS INTEGER) + 1 AS TEXT) WHERE address = ?",
        tokens.address,
      );
      return `${tokens.address} -0.000001 usd from 103`;
    },
  ],
  [
    "a payment that is recorded in another currency",
    ({ coins }) => {
      removeRow(
        "UPDATE payments SET currency = 'usd' WHERE address = ? AND currency = 'eth'",
        coins.address,
      );
      return [`${coins.address} 2 eth from 102`, `${coins.address} -2000000000000 usd from 102`];
    },
  ],
  [
    "a payment that is recorded at another address",
    ({ coins, tokens }) => {
      const sql =
        "UPDATE payments SET address = ?, transactionId = ? WHERE address = ? AND currency = 'eth'";
      removeRow(sql, tokens.address, tokens.id, coins.address);
      return [`${coins.address} 2 eth from 102`, `${tokens.address} -2 eth from 102`];
    },
  ],
  [
    "coins that lay there before and count as a payment beside a baseline",
    ({ coins }) => {
      const units = 5n * eth;
      chain.move(coins.address, "eth", units, 50);
      keepPayment(coins, "eth", units, 102);
      db.store.write((database) =>
        keepBaseline(database, { network, address: coins.address, currency: "eth" }, units),
      );
      return `${coins.address} -5 eth from 102`;
    },
  ],
  [
    "a sweep that took more than its row says",
    ({ coins }) => {
      chain.move(coins.address, "eth", -3n, 105);
      chain.move(agent.hotWalletAddress, "eth", 3n, 105);
      return `${coins.address} -0.000000000000000003 eth from 105`;
    },
  ],
  [
    "a sweep that completed and never happened",
    ({ coins }) => {
      const ends = { payer: coins.address, receiver: agent.hotWalletAddress };
      keepEnded({
        operation: "sweep",
        currency: "usd",
        ...ends,
        units: `${7n * usd}`,
        feeUnits: "0",
        finalBlock: 105,
      });
      return [`${agent.hotWalletAddress} -7 usd from 105`, `${coins.address} 7 usd from 105`];
    },
  ],
  [
    "a sweep's fee that is not recorded",
    ({ coins }) => {
      removeRow(
        "UPDATE transfers SET feeUnits = NULL WHERE operation = 'sweep' AND payer = ?",
        coins.address,
      );
      return `${coins.address} -0.000021 eth from 105`;
    },
  ],
  [
    "a top-up that counts as a payment too",
    ({ tokens }) => {
      keepPayment(tokens, "eth", 2n * fee, 104);
      return `${tokens.address} -0.000042 eth from 104`;
    },
  ],
  [
    "a top-up that is recorded as failed",
    ({ tokens }) => {
      removeRow("UPDATE transfers SET status = 2 WHERE operation = 'topup'");
      return [
        `${tokens.address} 0.000042 eth from 104`,
        `${agent.hotWalletAddress} -0.000042 eth from 104`,
      ];
    },
  ],
  [
    "a payout that counts as failed and was paid",
    () => {
      removeRow(
        "UPDATE transfers SET status = 2 WHERE operation = 'withdraw' AND currency = 'usd'",
      );
      return `${agent.hotWalletAddress} -30 usd from 106`;
    },
  ],
  [
    "a payout that paid twice",
    () => {
      chain.move(agent.hotWalletAddress, "usd", -30n * usd, 106);
      return `${agent.hotWalletAddress} -30 usd from 106`;
    },
  ],
  [
    "a transaction of the hot wallet that nobody ordered, behind money from outside",
    () => {
      chain.move(agent.hotWalletAddress, "usd", 500n * usd);
      outgoingForeign("usd", 20n * usd, fee);
      return [
        `${agent.hotWalletAddress} 480 usd from 107`,
        `${agent.hotWalletAddress} -0.000021 eth from 107`,
      ];
    },
  ],
  [
    "a transaction of the hot wallet that nobody ordered, and just as much from outside",
    () => {
      chain.move(agent.hotWalletAddress, "usd", 20n * usd);
      outgoingForeign("usd", 20n * usd, fee);
      return [
        `${agent.hotWalletAddress} 0 usd from 107`,
        `${agent.hotWalletAddress} -0.000021 eth from 107`,
      ];
    },
  ],
  [
    "a deposit address that somebody else emptied",
    ({ coins }) => {
      chain.move(coins.address, "usd", -7n * usd);
      return `${coins.address} -7 usd from 107`;
    },
  ],
];

describe("differences", () => {
  it.each(mutants)(
    "%s is named by address, amount and first block, and told of once",
    async (_what, mutate) => {
      const day = await aDay();
      expect(differences(await close())).toEqual([]);
      db.store.database.run("DELETE FROM closings");
      const named = [mutate(day)].flat();
      mine(10);
      const closed = await close();
      expect([...differences(closed)].sort()).toEqual([...named].sort());
      expect(closed.news).toHaveLength(named.length);
      mine();
      const again = await close();
      expect([[...differences(again)].sort(), again.news]).toEqual([[...named].sort(), []]);
      const alarms = db.store.database.all<{ subject: string; act: string }>(
        "SELECT subject, act FROM audit WHERE act LIKE 'alarm BOOKS_DIFFERENCE%'",
      );
      // One cause each: money that left a hot wallet, or less or more on a deposit address.
      const causes = named.map((text) => {
        const [account = "", amount = ""] = text.split(" ");
        const cause =
          account === agent.hotWalletAddress
            ? "hot"
            : amount.startsWith("-")
              ? "deposit-less"
              : "deposit-more";
        return `${account} ${cause}`;
      });
      expect(alarms.map(({ subject, act }) => `${subject} ${alarmOf(act).cause}`).sort()).toEqual(
        causes.sort(),
      );
    },
  );

  it("a corrected difference is not open any more", async () => {
    const { coins } = await aDay();
    const block = chain.block;
    chain.move(coins.address, "usd", 5n);
    mine();
    expect(differences(await close())).toEqual([`${coins.address} 0.000005 usd from ${block}`]);
    keepPayment(coins, "usd", 5n, block);
    mine();
    expect(differences(await close())).toEqual([]);
    expect(db.store.database.all("SELECT * FROM bookDifferences")).toEqual([]);
  });

  it("a closing of one currency or merchant leaves the differences of others as they are", async () => {
    const { coins } = await aDay();
    chain.move(coins.address, "usd", 5n);
    mine();
    await close();
    const [first] = currencies;
    const part = await close({ currencies: first === undefined ? [] : [first], isWhole: false });
    expect([part.compared, part.differences]).toEqual([3, []]);
    expect(db.store.database.get("SELECT compared FROM closings")).toEqual({ compared: 6 });
    const other = await close({ merchant: "another", isWhole: false });
    expect([other.addresses, other.compared]).toEqual([0, 0]);
    expect(db.store.database.all("SELECT address FROM bookDifferences")).toEqual([
      { address: coins.address },
    ]);
    expect(customer).not.toBe(coins.address);
  });
});
