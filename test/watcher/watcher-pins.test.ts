/**
 * A withdrawal whose agent named a pin that is no coin, before the gateway read pins: it is stuck
 * and told, no node is asked about it, and the withdrawals beside it are judged.
 */
import { expect, it } from "vitest";
import type { Judgement } from "../../chains/nodes.ts";
import { FaultBook } from "../../gateway/faults/book.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import type { Tip, WatchedChain } from "../../gateway/watcher/chain.ts";
import { checkWithdrawals, newWithdrawalMemory } from "../../gateway/watcher/withdrawals.ts";
import {
  askWithdrawal,
  gatewayDatabase,
  pairAgent,
  readTransaction,
} from "../../lab/kit/gateway-database.ts";

const network = "bip122:0f9188f13cb7b2c71f2a335e3a4fc328";
const account = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

it("a pin that is no coin is asked of no node: its withdrawal is stuck and told, the one beside it is judged", async () => {
  const db = gatewayDatabase();
  const keys = pairAgent(db.store, "a", account);
  const asked: string[] = [];
  const reader = {
    pass: () => ({
      judge: async (_: unknown, __: unknown, pin: string): Promise<Judgement> => {
        asked.push(pin);
        return { kind: "waiting" };
      },
    }),
  };
  const chain = {
    ...{
      faults: new FaultBook(() => 9_000),
      store: db.store,
      network,
      reader,
      clock: () => 9_000,
      signals: { emit: () => undefined },
    },
    ...{
      currencies: [{ id: "btc", contract: "" }],
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    },
  } as unknown as WatchedChain;
  const coin = `${"a".repeat(64)}:0:1000`;
  const ids = ["zz:0:1", "../../admin/x?y=:0", coin].map((pin, at) => {
    const id = askWithdrawal(db.store, keys.id, at + 1, {
      network,
      currency: "btc",
      stage: "broadcast",
    });
    insertSignature(db.store.database, {
      ...{
        transactionId: id,
        attempt: 1,
        agent: keys.id,
        network,
        account,
        slot: `${at + 1}`,
        txHash: `${at}`.repeat(64),
      },
      ...{ feeMax: "1", seq: at + 1, validUntilMs: 0, pin, cancel: 0 },
    });
    return id;
  });
  const tip = {
    head: { number: 2, hash: "h2" },
    final: { number: 1, hash: "h1" },
    askedAt: 9_000,
  } as unknown as Tip;
  await checkWithdrawals(chain, tip, newWithdrawalMemory());
  expect(asked).toEqual([coin]);
  expect(ids.map((id) => readTransaction(db.store, id)?.stage)).toEqual([
    "stuck",
    "stuck",
    "broadcast",
  ]);
  const told = db.store.database.all<{ act: string; subject: string }>(
    "SELECT act, subject FROM audit ORDER BY id",
  );
  expect(told).toEqual(
    [ids[0], ids[1]].map((subject) => ({ act: "alarm PIN_UNREADABLE", subject })),
  );
  db.remove();
});
