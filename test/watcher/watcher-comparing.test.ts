/**
 * Balances of deposit addresses against the database's explanation: earlier money, transfers of
 * contracts in time and late, and the small number of questions. Reported for such software:
 * vsys-host/shkeeper.io #109, trezor/trezor-suite #3057 and LedgerHQ/ledger-live-desktop #1352
 * (coins by contracts); Kalapaja/Kalatori #255 (the balance at the end of an invoice);
 * dilan-dio4/Keagate #8 and btcpayserver/btcpayserver #2640 (money after the end);
 * btcpayserver/btcpayserver #3817 and spesmilo/electrum #6609 (addresses that were used before).
 */
import { describe, expect, it } from "vitest";
import { depositAddressOf } from "../../chains/evm/address.ts";
import { takeAddress } from "../../gateway/deposits/fresh-address.ts";
import { makeAddressMarks } from "../../gateway/store/address-marks.ts";
import { issueAddress } from "../../gateway/store/address-states.ts";
import { unsweptBalanceOf } from "../../gateway/store/journal.ts";
import { hashOf } from "../../lab/kit/fake-chain.ts";
import { depositXpub, giveAddress, insertTransaction } from "../../lab/kit/gateway-database.ts";
import { repostRows } from "../../lab/kit/repost.ts";
import { until as untilWithin } from "../support/until.ts";
import {
  audit,
  chain,
  clock,
  counting,
  currency,
  db,
  eachTestItsChain,
  eth,
  keys,
  network,
  nodes,
  outsider,
  passes,
  payments,
  request,
  row,
  start,
  token,
  usd,
  watcher,
} from "../support/watched-chain.ts";

eachTestItsChain();

const dayMs = 86_400_000;

/** With room for a machine that does much else. */
const until = (holds: () => boolean): Promise<void> => untilWithin(holds, 20_000);

/** Coins that a contract sends in the next block. */
function byContract(address: string, units: bigint): void {
  chain.coins.push({ block: chain.top + 1, address, units });
  chain.mine();
}

describe("coins on an address from before it was given out", () => {
  it("complete no request, and later ones alone count", async () => {
    const one = request(0);
    const dollars = request(1, usd);
    chain.coins.push(
      { block: 2, address: one.address, units: 5n * eth },
      { block: 2, address: dollars.address, units: eth },
    );
    chain.tokens.set(`${token} 0x${dollars.address.slice(2)}`.toLowerCase(), 9_000_000n);
    await start();
    await passes();
    expect(row(one.id)).toMatchObject({ status: 0, receivedUnits: "0" });
    byContract(one.address, eth / 4n);
    chain.mineEmpty(3);
    await until(() => row(one.id).receivedUnits === `${eth / 4n}`);
    expect(payments().map(({ units }) => units)).toEqual([`${eth / 4n}`]);
  });

  it("an address that was ever used is passed over when one is given out, with an alarm", async () => {
    const addresses = [0, 1, 2, 3].map((index) => depositAddressOf(depositXpub, index));
    chain.coins.push(
      { block: 1, address: addresses[0]!, units: eth },
      { block: 1, address: addresses[1]!, units: 1n },
    );
    chain.mineEmpty(1);
    await start();
    await until(() => audit().filter((act) => act === "alarm WATCHER_ADDRESS_USED").length === 2);
    // The third place belongs to a request of another server of the same wallet.
    request(2);
    db.store.database.run("UPDATE agents SET currencies = ?", JSON.stringify([paidEth]));
    const taken = db.store.write((database) =>
      takeAddress(database, "m1", currency("eth", ""), beside()),
    );
    expect(taken).toMatchObject({ addressIndex: 3, address: addresses[3] });
  });

  it("an address whose account ever sent something is passed over, though nothing lies there, and what follows is looked at first", async () => {
    const addresses = [0, 1, 2].map((index) => depositAddressOf(depositXpub, index));
    chain.mine({ hash: hashOf("swept"), from: addresses[0]!, to: outsider, value: 0n });
    chain.mineEmpty(4);
    let counts = 0;
    nodes[0]!.lie = counting((method, _params, honest) => {
      if (method === "eth_getTransactionCount") counts += 1;
      return honest;
    });
    await start();
    await until(() => audit().includes("alarm WATCHER_ADDRESS_USED"));
    const asked = counts;
    db.store.database.run("UPDATE agents SET currencies = ?", JSON.stringify([paidEth]));
    const take = () =>
      db.store.write((database) => takeAddress(database, "m1", currency("eth", ""), beside()));
    db.store.database.run("DELETE FROM addressStates WHERE address = ?", addresses[1]!);
    expect(take()).toEqual({ look: { network, account: depositXpub } });
    const isLookedAt = () =>
      db.store.database.get("SELECT 1 FROM addressStates WHERE address = ?", addresses[1]!);
    await until(() => isLookedAt() !== undefined);
    expect(take()).toMatchObject({ addressIndex: 1, address: addresses[1] });
    // Once in a run, however often an address is looked at.
    expect(counts - asked).toBeLessThanOrEqual(1);
  });

  it("a node that counts transactions otherwise than the other stops nothing, and the balance alone tells of a used address", async () => {
    const [first, second] = [0, 1].map((index) => depositAddressOf(depositXpub, index));
    chain.coins.push({ block: 1, address: first!, units: 1n });
    chain.mine({ hash: hashOf("swept"), from: second!, to: outsider });
    chain.mineEmpty(4);
    await start(2);
    nodes[1]!.lie = (method, _params, honest) =>
      method === "eth_getTransactionCount" ? "0x9" : honest;
    db.store.database.run("DELETE FROM addressStates");
    await watcher?.close();
    await start(2);
    const used = (address: string) =>
      db.store.database.get(
        "SELECT isUsed FROM addressStates WHERE address = ? AND comparedAt > 0",
        address,
      );
    await until(() => used(second!) !== undefined);
    expect([used(first!), used(second!)]).toEqual([{ isUsed: 1 }, { isUsed: 0 }]);
    expect(watcher?.ready()).toBe(true);
    nodes[1]!.lie = null;
    db.store.database.run("DELETE FROM addressStates"); // so that it looks again
    await until(() => used(second!) !== undefined);
    expect(used(second!)).toEqual({ isUsed: 1 });
  });

  it("a look at an address counts for a quarter of an hour, and for the process after the one that looked", async () => {
    await start();
    const [address, other] = [0, 1].map((index) => depositAddressOf(depositXpub, index)) as [
      string,
      string,
    ];
    const state = (of: string) =>
      db.store.database.get("SELECT run FROM addressStates WHERE address = ?", of);
    await until(() => state(address) !== undefined && state(other) !== undefined);
    await watcher?.close();
    const { nowMs } = clock;
    issueAddress(db.store.database, address, { since: nowMs + 1, nowMs });
    expect(state(address)).toBeUndefined();
    issueAddress(db.store.database, other, { since: nowMs, nowMs });
    expect(state(other)).toEqual({ run: "" });
  });
});

/** Nothing is held beside the database, and the chain was read. */
const beside = () => ({
  marks: makeAddressMarks(new Map(), {
    append: () => {},
    syncNow: () => {},
    sync: () => {},
    close: () => {},
  }),
  readAt: () => 0,
  waitsRead: () => 0,
  nowMs: clock.nowMs,
  lookedIn: ["eth"],
});
const paidEth = { id: "eth", network, contract: "", decimal: 18, maxFee: "1" };

/** The time of the block that comes next: the chain makes block N at second 1,000 + N. */
const nextBlockMs = (): number => (1_001 + chain.top) * 1_000;

describe("coins that a contract sends before a request ends", () => {
  it("complete it, though they are final after the end", async () => {
    const expiresAt = nextBlockMs();
    const paid = request(0, { expiresAt });
    const unpaid = request(1, { expiresAt });
    await start(1, 6);
    byContract(paid.address, eth);
    clock.nowMs = expiresAt;
    await passes();
    byContract(unpaid.address, eth);
    await passes();
    expect([row(paid.id).status, row(unpaid.id).status]).toEqual([0, 0]);
    chain.mineEmpty(4);
    await until(() => row(paid.id).status === 1);
    chain.mineEmpty(4);
    await until(() => row(unpaid.id).status === 2);
    // A payment behind the block of the end is late, in the balance, and for an operator to credit.
    await until(() => row(unpaid.id).receivedUnits === "0");
    clock.nowMs += dayMs;
    await until(() => row(unpaid.id).receivedUnits === `${eth}`);
    expect(row(unpaid.id)).toMatchObject({ status: 2, stage: "expired", late: 1 });
    expect(unsweptBalanceOf(db.store.database, unpaid.address, network, "eth")).toBe(eth);
  });

  it("a direct payment behind the block of the end is late as well, however many blocks become final at once", async () => {
    const expiresAt = nextBlockMs() - 1_000;
    const { id, address } = request(0, { expiresAt });
    await start(1, 6);
    clock.nowMs = expiresAt;
    await passes();
    chain.mine({ hash: hashOf("late"), from: outsider, to: address, value: eth });
    chain.mineEmpty(20);
    await until(() => row(id).status === 2);
    expect(row(id)).toMatchObject({ late: 1, receivedUnits: `${eth}` });
  });

  it("a request ends by the newest balance where the nodes have dropped the state of its end", async () => {
    const expiresAt = nextBlockMs();
    const { id, address } = request(0, { expiresAt });
    await start(1, 6);
    byContract(address, eth);
    clock.nowMs = expiresAt;
    const end = chain.top;
    await passes();
    nodes[0]!.lie = counting((method, params, honest) =>
      method === "eth_getBalance" && Number(params[1]) === end ? undefined : honest,
    );
    chain.mineEmpty(20);
    await until(() => row(id).status === 1);
  });
});

/** A comparison under way may take the new time for its own: then the next one is a day later. */
function dayByDay(holds: () => boolean): Promise<void> {
  return until(() => {
    clock.nowMs += dayMs;
    return holds();
  });
}

describe("an old address", () => {
  it("is compared once a day, also of tokens, and what nothing explains is a payment like any other", async () => {
    const { id, address } = request(0, {
      ...usd,
      status: 2,
      stage: "expired",
      code: "deposit_expired",
    });
    await start();
    await passes();
    byContract(address, eth / 2n);
    chain.tokens.set(`${token} 0x${address.slice(2)}`.toLowerCase(), 5_000_000n);
    chain.mineEmpty(5);
    await passes();
    expect(payments()).toEqual([]);
    clock.nowMs += dayMs;
    await until(() => row(id).receivedUnits === "5000000");
    expect(row(id)).toMatchObject({ status: 2, late: 1 });
    expect(unsweptBalanceOf(db.store.database, address, network, "eth")).toBe(eth / 2n);
    clock.nowMs += dayMs;
    await passes();
    expect(payments()).toHaveLength(2);
  });

  it("an address that left lately is compared again when half its age has passed, and no sooner", async () => {
    clock.nowMs = 200_000;
    const { id, address } = request(0, {
      ...usd,
      status: 2,
      stage: "expired",
      code: "deposit_expired",
      createdAt: 20_000,
    });
    await start();
    await passes();
    byContract(address, eth / 2n);
    chain.mineEmpty(5);
    await passes();
    clock.nowMs += 89_000;
    await passes();
    expect(payments()).toEqual([]);
    clock.nowMs += 2_000;
    await until(() => payments().length === 1);
    expect(unsweptBalanceOf(db.store.database, address, network, "eth")).toBe(eth / 2n);
    expect(row(id)).toMatchObject({ status: 2 });
  });

  it("an address from before baselines were kept is compared from nothing", async () => {
    const { id, address } = request(0, { status: 2, stage: "expired", code: "deposit_expired" });
    db.store.database.run("INSERT INTO meta (name, value) VALUES ('baselinesAfter', '9')");
    chain.coins.push({ block: 2, address, units: eth });
    await start();
    await until(() => row(id).receivedUnits === `${eth}`);
    expect(row(id)).toMatchObject({ status: 2, late: 1 });
  });

  it("an address that is being swept, or whose top-up is on its way, is left for later", async () => {
    const { id, address } = request(0, { status: 1, stage: "completed" });
    await start();
    await passes();
    const sweep = {
      operation: "sweep",
      payer: address,
      receiver: keys.hotWalletAddress,
    } as const;
    insertTransaction(db.store, {
      id: "5".repeat(32),
      orderId: `${address}/1`,
      ...sweep,
      currency: "usd",
      stage: "topping_up",
    });
    const topUp = {
      operation: "topup",
      payer: keys.hotWalletAddress,
      receiver: address,
    } as const;
    insertTransaction(db.store, {
      id: "6".repeat(32),
      orderId: "5".repeat(32),
      ...topUp,
      units: `${eth / 100n}`,
    });
    byContract(address, eth / 100n);
    chain.mineEmpty(3);
    clock.nowMs += dayMs;
    await passes();
    expect(payments()).toEqual([]);
    db.store.database.run(
      "UPDATE transfers SET status = 1, finalBlock = 6 WHERE operation IN ('sweep', 'topup')",
    );
    db.store.database.run("UPDATE transfers SET status = 2, units = '0' WHERE operation = 'sweep'");
    repostRows(db.store);
    clock.nowMs += dayMs;
    await passes(5);
    expect(payments()).toEqual([]);
    byContract(address, 7n);
    chain.mineEmpty(3);
    await dayByDay(() => payments().length === 1);
    expect(payments()).toMatchObject([{ units: "7", transactionId: id }]);
  });

  it("coins that the owner of the key takes out hide nothing that comes later", async () => {
    const { id, address } = request(0, { status: 1, stage: "completed" });
    db.store.database.run("UPDATE addresses SET agent = NULL");
    await start();
    chain.mine({ hash: hashOf("in"), from: outsider, to: address, value: eth });
    chain.mineEmpty(3);
    await until(() => row(id).receivedUnits === `${eth}`);
    chain.coins.push({ block: chain.top + 1, address, units: -eth });
    chain.mineEmpty(3);
    await dayByDay(
      () =>
        db.store.database.get(
          "SELECT 1 FROM moves WHERE kind = 'owner' AND fromSide = ?",
          address,
        ) !== undefined,
    );
    byContract(address, eth / 2n);
    chain.mineEmpty(3);
    await dayByDay(() => row(id).receivedUnits === `${eth + eth / 2n}`);
  });
});

/** How many addresses that left were compared. */
const compared = (): number =>
  db.store.database.all("SELECT 1 FROM addressStates s JOIN addresses d ON d.address = s.address")
    .length;

describe("questions for balances", () => {
  it("grow neither with open requests nor with old addresses", async () => {
    for (let index = 0; index < 400; index += 1) {
      const address = `0x1${`${index}`.padStart(39, "0")}`;
      const id = `e${`${index}`.padStart(31, "0")}`;
      giveAddress(db.store, { id, address, place: index, agent: keys.id });
    }
    await start();
    await until(() => compared() === 400);
    let asked = 0;
    const tally = counting((method, _params, honest) => {
      if (method === "eth_getBalance") asked += 1;
      return honest;
    });
    nodes[0]!.lie = tally;
    for (let block = 0; block < 4; block += 1) {
      chain.mine();
      await passes(2);
    }
    // One slice of the open addresses at each block, and no old address until a day is over.
    expect(asked).toBeLessThanOrEqual(5 * 256);
    asked = 0;
    await passes(4);
    expect(asked).toBe(0);
    expect(watcher!.ready()).toBe(true);
  });
});
