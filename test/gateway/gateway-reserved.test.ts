/**
 * Reserved sums stay equal to the sums of the withdrawals' rows after every event; a start corrects
 * wrong sums.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { correctReservedSums, listReservedSums } from "../../gateway/store/reserved.ts";
import type { Database } from "../../gateway/store/store.ts";
import { insertDeposit } from "../../gateway/store/transactions.ts";
import {
  endWithdrawal,
  insertWithdrawal,
  LaterSums,
  moveWithdrawalToStage,
  replaceOrderContent,
  updateWithdrawal,
} from "../../gateway/store/withdrawals.ts";
import { type GatewayDatabase, gatewayDatabase } from "../../lab/kit/gateway-database.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { share } from "../../lab/kit/share.ts";

let db: GatewayDatabase;
beforeEach(() => {
  db = gatewayDatabase();
});
afterEach(() => db.remove());

const networks = ["eip155:1", "eip155:56"] as const;
const currencies = ["eth", "usdt", "dai"] as const;
const accounts = ["0xa", "0xb"] as const;

const idOf = (number: number): string => number.toString(16).padStart(32, "0");

function orderOf(number: number, seeded: SeededRandom) {
  const units = 10n ** BigInt(seeded.below(60)) + BigInt(seeded.below(1_000));
  return {
    ...({
      id: idOf(number),
      merchant: "m1",
      operation: "withdraw",
      mode: "auto",
      orderId: `o-${number}`,
      renews: "",
      contentHash: "00",
    } as const),
    ...{
      currency: seeded.pick(currencies),
      network: seeded.pick(networks),
      amount: "1",
      units: `${units}`,
    },
    ...{
      receiver: "0xc",
      payer: seeded.pick(accounts),
      tag: "",
      refundOf: "",
      stage: "queued",
    },
    ...{ createdAt: number, changedAt: number, expiresAt: 10_000_000, metadata: "" },
  };
}

const place = { txHash: "0x01", feeUnits: "1", finalBlock: 7, changedAt: 1 };

/** One event of a withdrawal; repeats and late words are among them. */
function act(number: number, seeded: SeededRandom): void {
  const id = idOf(seeded.below(number));
  db.store.write((database) => {
    const acts = [
      () =>
        moveWithdrawalToStage(database, id, { stage: "broadcast", txHash: "0x02", changedAt: 1 }),
      () => endWithdrawal(database, id, { status: 1, stage: "completed", code: "", ...place }),
      () =>
        endWithdrawal(database, id, { status: 2, stage: "failed", code: "cancelled", ...place }),
      () => {
        const later = new LaterSums();
        for (const one of [id, idOf(seeded.below(number)), idOf(seeded.below(number))])
          endWithdrawal(
            database,
            one,
            { status: 1, stage: "completed", code: "", ...place },
            later,
          );
        later.flush(database);
      },
      () =>
        updateWithdrawal(database, id, { status: 2, stage: "refused", code: "POLICY_DENIED" }, 1),
      () => updateWithdrawal(database, id, { stage: "signed" }, 1),
      () => replaceOrderContent(database, id, orderOf(number, seeded)),
    ];
    seeded.pick(acts)();
  });
}

describe("the reserved sums", () => {
  it.each(seedsOfRun(share(3, 1)))(
    "are what hundreds of withdrawals make after each act, seed %i",
    (seed) => {
      const seeded = new SeededRandom(seed);
      let made = 0;
      for (let step = 0; step < share(1_200, 400); step += 1) {
        if (step % 4 === 0) {
          made += 1;
          const order = orderOf(made - 1, seeded);
          const known = (database: Database) =>
            listReservedSums(database, order.payer, order.network);
          db.store.write((database) =>
            insertWithdrawal(database, order, ...(made % 2 === 0 ? [known(database)] : [])),
          );
        } else act(made, seeded);
        if (step % 10 === 0) expect(correctReservedSums(db.store.database), `step ${step}`).toBe(0);
      }
      expect(correctReservedSums(db.store.database)).toBe(0);
      const kept = accounts.flatMap((account) =>
        networks.flatMap((network) => listReservedSums(db.store.database, account, network)),
      );
      expect(kept.reduce((sum, row) => sum + row.withdrawals, 0)).toBe(
        db.store.database.get<{ n: number }>("SELECT count(*) AS n FROM transfers WHERE status = 0")
          ?.n,
      );
    },
  );

  it("count no deposit", () => {
    insertDeposit(db.store.database, {
      ...orderOf(1, new SeededRandom(1)),
      ...{
        address: "0xa",
        payTo: "0xa",
        quote: "",
        toleranceUnits: "0",
        payToken: "",
        returnUrl: "",
      },
    });
    expect(
      networks.flatMap((network) => listReservedSums(db.store.database, "0xa", network)),
    ).toEqual([]);
  });

  it("stay as they were when the transaction around a withdrawal is taken back", () => {
    const order = {
      ...orderOf(1, new SeededRandom(1)),
      network: "eip155:1",
      payer: "0xa",
      units: "5",
    };
    const failing = () =>
      db.store.write((database) => {
        insertWithdrawal(database, order);
        throw new Error("no");
      });
    expect(failing).toThrow("no");
    expect(listReservedSums(db.store.database, "0xa", "eip155:1")).toEqual([]);
    db.store.write((database) => insertWithdrawal(database, order));
    expect(listReservedSums(db.store.database, "0xa", "eip155:1")).toMatchObject([
      { withdrawals: 1, units: "5" },
    ]);
  });

  it("are corrected when a row went past them, and that is told by a number", () => {
    const order = {
      ...orderOf(1, new SeededRandom(1)),
      network: "eip155:1",
      payer: "0xa",
      currency: "eth",
      units: "5",
    };
    insertWithdrawal(db.store.database, order);
    expect(correctReservedSums(db.store.database)).toBe(0);
    db.store.database.run("UPDATE transfers SET status = 1");
    expect(correctReservedSums(db.store.database)).toBe(1);
    expect(listReservedSums(db.store.database, "0xa", "eip155:1")).toEqual([]);
    db.store.database.run("UPDATE transfers SET status = 0, units = '9'");
    expect(correctReservedSums(db.store.database)).toBe(1);
    expect(listReservedSums(db.store.database, "0xa", "eip155:1")).toMatchObject([
      { withdrawals: 1, units: "9" },
    ]);
  });
});
