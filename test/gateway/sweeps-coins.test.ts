/**
 * A sweep of coins in the gateway's sums: what left the address is the amount, its fee included;
 * what came to the hot wallet is the rest; a cancelled one cost its fee. Every sum agrees.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { familyOf } from "../../chains/families.ts";
import { sheetsOf } from "../../gateway/books/accounts.ts";
import { explainedUnits } from "../../gateway/store/address-states.ts";
import { unsweptBalanceOf } from "../../gateway/store/journal.ts";
import { keepFinalPayment } from "../../gateway/store/payments.ts";
import { keepNativeCoins } from "../../gateway/store/posting.ts";
import { endWithdrawal, insertPendingTransfer } from "../../gateway/store/withdrawals.ts";
import {
  type GatewayDatabase,
  gatewayDatabase,
  haveAddress,
  insertTransaction,
  pairAgent,
} from "../../lab/kit/gateway-database.ts";
import { journalFaults } from "../../lab/kit/journal-audit.ts";

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
      code: "" as const,
      txHash: "03",
      feeUnits: "500",
      finalBlock: 5,
      changedAt: 20,
    };
    endWithdrawal(database, sweep, how);
  });
}

/** The units at the address by each of the sums, and those that came to the hot wallet. */
async function sums(network: string) {
  const { database } = db.store;
  const place = { network, address, currency: "coin" };
  const accounts = [
    { address, merchant: "m1", kind: "deposit", isOurs: true },
    { address: hotWallet, merchant: "m1", kind: "hot", isOurs: true },
  ] as const;
  const sheets = await sheetsOf(database, { network }, accounts, 0, async () => {});
  return {
    unswept: unsweptBalanceOf(database, address, network, "coin"),
    explained: explainedUnits(database, place, 9),
    booked: sheets.get(address)?.at("coin", 9),
    hotWallet: sheets.get(hotWallet)?.at("coin", 9),
  };
}

describe("a sweep", () => {
  it.each([
    ["of coins that is paid", coins, 100_000n, 1, 0n, 99_500n],
    ["of coins that was cancelled", coins, 100_000n, 2, 99_500n, 0n],
    ["of coins with a part that stays", coins, 60_000n, 1, 40_000n, 59_500n],
    ["on a chain of accounts that is paid", slots, 99_500n, 1, 0n, 99_500n],
    ["on a chain of accounts that failed", slots, 99_500n, 2, 99_500n, 0n],
  ] as const)(
    "%s leaves the same by every sum",
    async (_, network, units, status, left, arrived) => {
      ended(network, units, status);
      expect(await sums(network)).toEqual({
        unswept: left,
        explained: left,
        booked: left,
        hotWallet: arrived,
      });
      expect(journalFaults(db.store.database)).toEqual([]);
      expect(familyOf(network).exclusion.kind).toBe(network === coins ? "pin" : "slot");
    },
  );
});
