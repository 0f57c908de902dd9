/**
 * A final attempt that moved something else than its order says: the watcher keeps it and holds its
 * currency, and an operator ends it by what it moved, with what the nodes tell beside it. Report of
 * the kind: a token that takes a fee leaves a withdrawal `stuck`, and nobody can end it.
 */
import { describe, expect, it } from "vitest";
import { openWatcher } from "../../chains/connect.ts";
import { encodeTransferCall } from "../../chains/evm/erc20.ts";
import { recordOf } from "../../gateway/answer/record.ts";
import type { GatewayConfig } from "../../gateway/config/config.ts";
import { readSecretFile } from "../../gateway/config/secret-file.ts";
import {
  endWithdrawalByMoved,
  type MovedAmounts,
  type MovedEvidenceReader,
  movedEvidenceOf,
  readMovedEvidence,
} from "../../gateway/operator/moving.ts";
import { currencyHoldOf, resumeCurrency } from "../../gateway/store/currency-holds.ts";
import { listMovesAfter } from "../../gateway/store/journal.ts";
import { readMovedPayment } from "../../gateway/store/moved-payments.ts";
import { correctReservedSums, listReservedSums } from "../../gateway/store/reserved.ts";
import { updateWithdrawal } from "../../gateway/store/withdrawals.ts";
import { nodeLog } from "../../gateway/watcher/node-log.ts";
import { readAgent, receiver, silentLog, transferRow } from "../../lab/kit/gateway-database.ts";
import { until } from "../support/until.ts";
import {
  attemptTxHash,
  audit,
  chain,
  clock,
  configOf,
  db,
  eachTestItsChain,
  keys,
  network,
  nodes,
  outsider,
  passes,
  payment,
  row,
  signedWithdrawal,
  start,
  tokenPayment,
} from "../support/watched-chain.ts";

eachTestItsChain();

const units = 5_000_000n;
const call = `0x${Buffer.from(encodeTransferCall(receiver, units)).toString("hex")}`;
const config = (): GatewayConfig =>
  configOf(
    nodes.map(({ url }) => url),
    3,
  ) as GatewayConfig;
const by = () =>
  ({ store: db.store, nowMs: clock.nowMs, actor: "operator ann", run: "this run" }) as never;

const look: MovedEvidenceReader = async (asked, attempts) => {
  const reader = openWatcher({
    chain: config().chains.local!,
    readSecretFile,
    log: nodeLog(silentLog, "local"),
  });
  try {
    return await readMovedEvidence(reader, asked, attempts);
  } finally {
    reader.close();
  }
};

/** A token's withdrawal whose final transaction moved this; the call asks for the whole. */
async function stuck(
  number: number,
  transfers: Parameters<typeof tokenPayment>[2],
  input = call,
): Promise<string> {
  const id = signedWithdrawal(number, { currency: "usd", amount: "5", units: `${units}` });
  chain.mine({ ...tokenPayment(id, number, transfers), input });
  chain.mineEmpty(2);
  await until(() => row(id).stage === "stuck");
  return id;
}

const fee = [
  { to: receiver, units: 4_950_000n },
  { to: outsider, units: 50_000n },
];
const ends = (
  id: string,
  change: Partial<MovedAmounts> = {},
  operation: "withdraw" | "sweep" = "withdraw",
) => {
  const moving = { receivedUnits: 4_950_000n, sentUnits: units, reason: "a fee", ...change };
  return endWithdrawalByMoved(by(), config(), { operation, id }, moving, look);
};
const no = (detail: RegExp) => ({
  ok: false,
  code: "GATEWAY_NOT_MOVED",
  detail: expect.stringMatching(detail),
});
const heldFor = (merchant: string) => currencyHoldOf(db.store.database, "usd", merchant)?.merchant;

describe("a final attempt that moved something else", () => {
  it("is kept with its block, and holds the currency of every merchant, if the contract did otherwise than it was asked", async () => {
    await start();
    const id = await stuck(0, fee);
    expect(readMovedPayment(db.store.database, id)).toMatchObject({
      txHash: attemptTxHash(id),
      block: 6,
      receivedUnits: null,
    });
    expect([heldFor("m1"), heldFor("another")]).toEqual(["", ""]);
    expect(audit()).toEqual(["alarm CURRENCY_MOVES_OTHERWISE", "alarm WATCHER_CONTENT_DIFFERS"]);
  });

  it("holds the currency of its merchant alone, if the agent asked for something else", async () => {
    await start();
    await stuck(0, fee, "0xa9059cbb");
    const { merchant } = readAgent(db.store, keys.id);
    expect([heldFor(merchant), heldFor("another")]).toEqual([merchant, undefined]);
  });

  it("holds nothing if the transaction is not the account's own", async () => {
    await start();
    const id = signedWithdrawal(0);
    chain.mine(payment(id, 0, { from: outsider }));
    chain.mineEmpty(2);
    await until(() => row(id).stage === "stuck");
    expect([readMovedPayment(db.store.database, id), audit()]).toEqual([
      undefined,
      ["alarm WATCHER_CONTENT_DIFFERS"],
    ]);
    expect(await ends(id)).toMatchObject(no(/stage is stuck, and no final attempt/));
  });

  it("holds its currency once: a later pass does not undo an operator's resume, and the next one holds it again", async () => {
    await start();
    await stuck(0, fee);
    db.store.write((database) => resumeCurrency(database, "usd"));
    chain.mineEmpty(2);
    await passes();
    expect(heldFor("m1")).toBeUndefined();
    await stuck(1, fee);
    expect(heldFor("m1")).toBe("");
  });
});

describe("withdrawals moved", () => {
  it("shows the attempt, its payments to the receiver and both balances, and writes nothing", async () => {
    await start();
    const id = await stuck(0, fee);
    const told = await movedEvidenceOf(by(), config(), { operation: "withdraw", id }, look);
    expect(told).toMatchObject({
      ok: true,
      final: { txHash: attemptTxHash(id), block: 6 },
      seen: {
        payments: [{ txHash: attemptTxHash(id), units: 4_950_000n }],
        receiver: { address: receiver },
      },
    });
    expect(row(id)).toMatchObject({ status: 0, stage: "stuck" });
  });

  it("ends it as Failed by another amount: the reservation ends, the agent is to hear it, and the books have what moved", async () => {
    await start();
    const id = await stuck(0, fee);
    expect(await ends(id)).toMatchObject({ ok: true });
    expect(row(id)).toMatchObject({
      ...{
        status: 2,
        stage: "failed",
        code: "chain_moved",
        txHash: attemptTxHash(id),
        finalBlock: 6,
      },
      receivedUnits: "4950000",
    });
    expect(
      recordOf(transferRow(row(id)), { config: config(), confirmations: () => null }),
    ).toMatchObject({
      received: "4.95",
      amount: "5",
    });
    const { database } = db.store;
    expect(listReservedSums(database, keys.hotWalletAddress, network)).toEqual([
      expect.objectContaining({ currency: "usd", withdrawals: 0, units: "0" }),
    ]);
    expect(db.store.write((writing) => correctReservedSums(writing))).toBe(0);
    const moves = (side: "in" | "out", account: string) =>
      listMovesAfter(database, network, account, side, { block: -1, number: 0 }, 10)
        .filter(({ kind }) => kind === "withdraw")
        .map(({ units: moved }) => moved);
    expect(moves("out", keys.hotWalletAddress)).toEqual([-4_950_000n, -50_000n]);
    expect(audit()).toContain("moved payment ended");
    chain.mineEmpty(2);
    await passes();
    expect(row(id)).toMatchObject({ status: 2, code: "chain_moved" });
  });

  it("ends it as Completed by exactly the amount, whatever its events say", async () => {
    await start();
    const id = await stuck(0, [...fee, { to: outsider, units: 1n }]);
    expect(await ends(id, { receivedUnits: units })).toMatchObject({ ok: true });
    expect(row(id)).toMatchObject({ status: 1, stage: "completed", code: "" });
    expect(
      recordOf(transferRow(row(id)), { config: config(), confirmations: () => null }),
    ).not.toHaveProperty("received");
  });

  it("is harmless twice with the same units, and refused with others", async () => {
    await start();
    const id = await stuck(0, fee);
    await ends(id);
    const acts = audit().length;
    expect(await ends(id)).toMatchObject({ ok: true, row: { id } });
    expect(audit()).toHaveLength(acts);
    expect(await ends(id, { receivedUnits: 1n })).toMatchObject(
      no(/was ended with 4950000 base units received/),
    );
    expect(await ends(id, { sentUnits: 1n })).toMatchObject(no(/and 5000000 sent/));
    expect(row(id).receivedUnits).toBe("4950000");
  });

  it("refuses each one that is not in that state, and writes nothing", async () => {
    await start();
    const open = signedWithdrawal(3, { currency: "usd", units: `${units}` });
    expect(await ends("0".repeat(32))).toMatchObject({ ok: false, code: "GATEWAY_UNKNOWN_RECORD" });
    expect(await ends(open)).toMatchObject(no(/its stage is signed/));
    const id = await stuck(0, fee);
    expect(await ends(id, {}, "sweep")).toMatchObject({
      ok: false,
      code: "GATEWAY_UNKNOWN_RECORD",
    });
    const elsewhere = { ...config(), currencies: {} };
    const moving = { receivedUnits: 1n, sentUnits: 1n, reason: "a fee" };
    expect(
      await endWithdrawalByMoved(by(), elsewhere, { operation: "withdraw", id }, moving, look),
    ).toMatchObject(no(/does not have usd/));
    const notFinal: MovedEvidenceReader = async (asked, attempts) => {
      return {
        ...(await look(asked, attempts)),
        judged: { kind: "confirming", txHash: attemptTxHash(id), block: 6 },
      };
    };
    expect(
      await endWithdrawalByMoved(by(), config(), { operation: "withdraw", id }, moving, notFinal),
    ).toMatchObject(no(/\(confirming\)/));
    const notOwn: MovedEvidenceReader = async (asked, attempts) => {
      const seen = await look(asked, attempts);
      return {
        ...seen,
        judged: { ...(seen.judged as { kind: "stuck" }), final: null } as typeof seen.judged,
      };
    };
    expect(
      await endWithdrawalByMoved(by(), config(), { operation: "withdraw", id }, moving, notOwn),
    ).toMatchObject({ ok: false });
    expect([row(id).status, audit().filter((act) => act.startsWith("moved"))]).toEqual([0, []]);
    expect(await ends(id)).toMatchObject({ ok: true });
    db.store.write((database) =>
      updateWithdrawal(database, open, { status: 2, stage: "expired", code: "JOB_EXPIRED" }, 9),
    );
    expect(await ends(open)).toMatchObject(no(/it has ended already \(expired\)/));
  });

  it("tells that balances and events are not told by nodes that keep no old state", async () => {
    await start();
    const id = await stuck(0, fee);
    const pruned: MovedEvidenceReader = async (asked, attempts) => {
      const reader = openWatcher({
        chain: config().chains.local!,
        readSecretFile,
        log: nodeLog(silentLog, "local"),
      });
      try {
        return await readMovedEvidence({ ...reader, tellsNewestBalances: true }, asked, attempts);
      } finally {
        reader.close();
      }
    };
    const told = await movedEvidenceOf(by(), config(), { operation: "withdraw", id }, pruned);
    expect(told).toMatchObject({
      ok: true,
      seen: { receiver: { before: null, after: null }, payer: { before: null } },
    });
  });
});
