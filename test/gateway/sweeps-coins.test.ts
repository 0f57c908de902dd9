/**
 * A sweep of coins in the gateway's sums: what left the address is the amount, its fee included;
 * what came to the hot wallet is the rest; a cancelled one cost its fee. Every sum agrees.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { familyOf } from "../../chains/families.ts";
import { movesOf } from "../../gateway/books/sheet.ts";
import { explainedUnits } from "../../gateway/store/address-states.ts";
import { listDepositAddressMoves, listHotWalletMoves } from "../../gateway/store/book-moves.ts";
import { keepFinalPayment } from "../../gateway/store/payments.ts";
import {
  correctUnsweptBalances,
  keepNativeCoins,
  unsweptBalanceOf,
} from "../../gateway/store/unswept-balances.ts";
import { endWithdrawal, insertPendingTransfer } from "../../gateway/store/withdrawals.ts";
import {
  type GatewayDatabase,
  gatewayDatabase,
  haveAddress,
  insertTransaction,
  pairAgent,
} from "../../lab/kit/gateway-database.ts";

const coins = "bip122:0f9188f13cb7b2c71f2a335e3a4fc328";
const slots = "eip155:31337";
const [address, hotWallet] = ["bcrt1qdeposit", "bcrt1qhot"];
const [request, sweep] = ["d".repeat(32), "e".repeat(32)];
let db: GatewayDatabase;

beforeEach(() => {
  db = gatewayDatabase();
});
afterEach(() => db.remove());

/** 100,000 units came, and a sweep of so many ended with this status and a fee of 500. */
function ended(network: string, units: bigint, status: 1 | 2): void {
  const { store } = db;
  const place = { network, currency: "coin" };
  const given = { address, payTo: address };
  insertTransaction(store, { ...place, ...given, id: request, orderId: "in", status: 1 });
  const agent = pairAgent(store).id;
  store.write((database) => {
    keepNativeCoins(database, new Map([[network, "coin"]]));
    haveAddress(store, { address, agent, addressIndex: 1, request });
    const paid = {
      network,
      txHash: "01",
      logIndex: 0,
      address,
      currency: "coin",
      block: 1,
      blockHash: "02",
    };
    keepFinalPayment(database, { ...paid, transactionId: request, units: "100000", final: 1 });
    insertPendingTransfer(database, {
      ...{
        ...place,
        id: sweep,
        merchant: "m1",
        operation: "sweep",
        orderId: `${address}/1`,
        amount: "1",
      },
      ...{
        units: `${units}`,
        contentHash: "00",
        payer: address,
        receiver: hotWallet,
        tag: "",
        stage: "queued",
      },
      ...{ addressIndex: 1, nextSlot: "", createdAt: 1, changedAt: 1, expiresAt: 2 },
    });
    const how = {
      status,
      stage: "x",
      code: "",
      txHash: "03",
      feeUnits: "500",
      finalBlock: 5,
      changedAt: 20,
    };
    endWithdrawal(database, sweep, how);
  });
}

const booked = (rows: Parameters<typeof movesOf>[0][]): bigint =>
  rows.flatMap((row) => movesOf(row, "coin")).reduce((sum, { units }) => sum + units, 0n);

/** What lies at the address by each of the three sums, and what came to the hot wallet. */
function sums(network: string) {
  const { database } = db.store;
  const deposit = booked([...listDepositAddressMoves(database, network, [address])]);
  const place = { network, address, currency: "coin" };
  return {
    unswept: unsweptBalanceOf(database, address, network, "coin"),
    explained: explainedUnits(database, place, {
      transactionId: request,
      isNative: true,
      block: 9,
    }),
    booked: deposit,
    hotWallet: booked([
      ...listHotWalletMoves(
        database,
        "in",
        { network, account: hotWallet },
        { block: -1, row: -1 },
        10,
      ),
    ]),
  };
}

describe("a sweep", () => {
  it.each([
    ["of coins that is paid", coins, 100_000n, 1, 0n, 99_500n],
    ["of coins that was cancelled", coins, 100_000n, 2, 99_500n, 0n],
    ["of coins with a part that stays", coins, 60_000n, 1, 40_000n, 59_500n],
    ["on a chain of accounts that is paid", slots, 99_500n, 1, 0n, 99_500n],
    ["on a chain of accounts that failed", slots, 99_500n, 2, 99_500n, 0n],
  ] as const)("%s leaves the same by every sum", (_, network, units, status, left, arrived) => {
    ended(network, units, status);
    expect(sums(network)).toEqual({
      unswept: left,
      explained: left,
      booked: left,
      hotWallet: arrived,
    });
    expect(db.store.write((database) => correctUnsweptBalances(database))).toBe(0);
    expect(familyOf(network).exclusion.kind).toBe(network === coins ? "pin" : "slot");
  });
});
