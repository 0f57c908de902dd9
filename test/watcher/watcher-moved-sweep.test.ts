/**
 * A sweep whose final transaction moved something else than it asks for: it waits for an operator,
 * who ends it by `sweeps moved`, and the deposit address, the hot wallet and the books count what
 * moved. The twin of watcher-moved.test.ts, whose withdrawals leave the hot wallet.
 */
import { describe, expect, it } from "vitest";
import { openWatcher } from "../../chains/connect.ts";
import { encodeTransferCall } from "../../chains/evm/erc20.ts";
import type { GatewayConfig } from "../../gateway/config/config.ts";
import { readSecretFile } from "../../gateway/config/secret-file.ts";
import {
  endWithdrawalByMoved,
  type MovedAmounts,
  type MovedEvidenceReader,
  movedEvidenceOf,
  readMovedEvidence,
} from "../../gateway/operator/moving.ts";
import { currencyHoldOf } from "../../gateway/store/currency-holds.ts";
import { listMovesAfter, unsweptBalanceOf } from "../../gateway/store/journal.ts";
import { readMovedPayment } from "../../gateway/store/moved-payments.ts";
import { keepNativeCoins } from "../../gateway/store/posting.ts";
import { correctReservedSums } from "../../gateway/store/reserved.ts";
import type { SweepRow } from "../../gateway/store/rows.ts";
import { listSweepable, openSweepUnits } from "../../gateway/store/sweeps.ts";
import { updateWithdrawal } from "../../gateway/store/withdrawals.ts";
import { orderSweep } from "../../gateway/sweeps/orders.ts";
import { nodeLog } from "../../gateway/watcher/node-log.ts";
import { readAll, silentLog } from "../../lab/kit/gateway-database.ts";
import { journalFaults } from "../../lab/kit/journal-audit.ts";
import { callLevel } from "../../lab/kit/level-reader.ts";
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
  request,
  row,
  start,
  token,
  usd,
  usdPayment,
} from "../support/watched-chain.ts";

eachTestItsChain();

const run = "this run";
const units = 5_000_000n;
const received = 4_950_000n;
const config = (): GatewayConfig =>
  configOf(
    nodes.map(({ url }) => url),
    3,
  ) as GatewayConfig;
const by = () => ({ store: db.store, nowMs: clock.nowMs, actor: "operator ann", run }) as never;

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

/** Orders the sweep of a deposit that a block has paid, as a pass of the sweeps does. */
function order(address: string): SweepRow {
  const { database } = db.store;
  const found = listSweepable(database, network).find(
    (one) => one.address === address && one.currency === "usd",
  )!;
  const wanted = { ok: true, row: found, amountUnits: units, topUpUnits: 0n, decimal: 6 } as const;
  db.store.write((writing) =>
    orderSweep(writing, wanted, { run, nowMs: 10, lifetimeMs: 3_600_000 }),
  );
  return readAll(db.store, "sweep").find(({ payer }) => payer === address)!;
}

/** The sweep's first attempt is signed at the deposit address, and a block has it with these. */
function mineSweep(
  { id, payer: from }: SweepRow,
  transfers: readonly { to: string; units: bigint }[],
): void {
  const sql = "INSERT INTO signatures VALUES (?, 1, ?, ?, ?, '0', ?, '21000', 1, 0, '', NULL, 0)";
  db.store.database.run(sql, id, keys.id, network, from, attemptTxHash(id));
  db.store.database.run("INSERT INTO slots VALUES (?, ?, '0', ?)", network, from, id);
  db.store.write((database) =>
    updateWithdrawal(database, id, { status: 0, stage: "signed", code: "" }, 20),
  );
  const paid = transfers.map((one) => ({ contract: token, from, ...one }));
  const input = `0x${Buffer.from(encodeTransferCall(keys.hotWalletAddress, units)).toString("hex")}`;
  chain.mine({
    hash: attemptTxHash(id),
    from,
    nonce: 0,
    to: token,
    value: 0n,
    input,
    transfers: paid,
  });
  chain.mineEmpty(2);
}

/** A deposit of 5 usd and its sweep, of which the token kept a fee. */
async function stuckSweep(): Promise<SweepRow> {
  db.store.database.run("UPDATE agents SET caughtUp = ?", run);
  callLevel(db.store.database, run);
  db.store.write((database) => keepNativeCoins(database, new Map([[network, "eth"]])));
  const { id, address } = request(0, usd);
  await start();
  chain.mine(usdPayment("paid in", address, units));
  chain.mineEmpty(2);
  await until(() => row(id).status === 1);
  const sweep = order(address);
  mineSweep(sweep, [
    { to: keys.hotWalletAddress, units: received },
    { to: outsider, units: units - received },
  ]);
  await until(() => row(sweep.id).stage === "stuck");
  return sweep;
}

const ends = (
  id: string,
  change: Partial<MovedAmounts> = {},
  operation: "withdraw" | "sweep" = "sweep",
) => {
  const moving = { receivedUnits: received, sentUnits: units, reason: "a fee", ...change };
  return endWithdrawalByMoved(by(), config(), { operation, id }, moving, look);
};
const no = (detail: RegExp) => ({
  ok: false,
  code: "GATEWAY_NOT_MOVED",
  detail: expect.stringMatching(detail),
});

/** The sums at the address and on their way from it, as the gateway has them. */
const sumsOf = ({ merchant, payer }: SweepRow): readonly bigint[] => [
  unsweptBalanceOf(db.store.database, payer, network, "usd"),
  openSweepUnits(db.store.database, merchant, "usd"),
];
const movesOf = (side: "in" | "out", account: string) =>
  listMovesAfter(db.store.database, network, account, side, { block: -1, number: 0 }, 10)
    .filter(({ kind }) => kind === "sweep")
    .map(({ units: moved }) => moved);

describe("sweeps moved", () => {
  it("shows a sweep's attempt, what the hot wallet got and both balances, and writes nothing", async () => {
    const sweep = await stuckSweep();
    expect(readMovedPayment(db.store.database, sweep.id)).toMatchObject({
      txHash: attemptTxHash(sweep.id),
      receivedUnits: null,
    });
    expect(currencyHoldOf(db.store.database, "usd", "another")).toMatchObject({ merchant: "" });
    const told = await movedEvidenceOf(by(), config(), { operation: "sweep", id: sweep.id }, look);
    expect(told).toMatchObject({
      ok: true,
      final: { txHash: attemptTxHash(sweep.id) },
      seen: {
        payments: [{ txHash: attemptTxHash(sweep.id), units: received }],
        receiver: { address: keys.hotWalletAddress },
        payer: { address: sweep.payer },
      },
    });
    expect([row(sweep.id).status, sumsOf(sweep)]).toEqual([0, [0n, units]]);
  });

  it("ends it as Failed by another amount: nothing is on its way any more, and nothing is left to sweep", async () => {
    const sweep = await stuckSweep();
    expect(await ends(sweep.id)).toMatchObject({ ok: true });
    expect(row(sweep.id)).toMatchObject({
      ...{ status: 2, stage: "failed", code: "chain_moved", txHash: attemptTxHash(sweep.id) },
      receivedUnits: `${received}`,
    });
    expect(sumsOf(sweep)).toEqual([0n, 0n]);
    expect([journalFaults(db.store.database), db.store.write(correctReservedSums)]).toEqual([
      [],
      0,
    ]);
    expect(movesOf("in", keys.hotWalletAddress)).toEqual([received]);
    expect(audit()).toContain("moved payment ended");
    chain.mineEmpty(2);
    await passes();
    expect(row(sweep.id)).toMatchObject({ status: 2, code: "chain_moved" });
  });

  it("leaves at the address what did not leave it", async () => {
    const sweep = await stuckSweep();
    expect(await ends(sweep.id, { sentUnits: received })).toMatchObject({ ok: true });
    expect(sumsOf(sweep)).toEqual([units - received, 0n]);
    expect(journalFaults(db.store.database)).toEqual([]);
  });

  it("ends it as Completed by exactly the amount", async () => {
    const sweep = await stuckSweep();
    expect(await ends(sweep.id, { receivedUnits: units })).toMatchObject({ ok: true });
    expect(row(sweep.id)).toMatchObject({ status: 1, stage: "completed", code: "" });
    expect(movesOf("in", keys.hotWalletAddress)).toEqual([units]);
  });

  it("is harmless twice with the same units, refused with others, and no business of withdrawals moved", async () => {
    const sweep = await stuckSweep();
    expect(await ends(sweep.id, {}, "withdraw")).toMatchObject({
      ok: false,
      code: "GATEWAY_UNKNOWN_RECORD",
    });
    await ends(sweep.id);
    const acts = audit().length;
    expect(await ends(sweep.id)).toMatchObject({ ok: true, row: { id: sweep.id } });
    expect(audit()).toHaveLength(acts);
    expect(await ends(sweep.id, { receivedUnits: 1n })).toMatchObject(
      no(/was ended with 4950000 base units received/),
    );
  });
});
