/**
 * An address for deposits leaves only after a look at it: money that lay there before anybody could
 * pay is known, through restarts, nodes that do not answer, and a restored database. Reports of the
 * same kind: btcpayserver/btcpayserver #3817 and spesmilo/electrum #6609 (addresses that were used
 * before).
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { depositAddressOf } from "../../chains/evm/address.ts";
import { keepAhead, lookMs, readAddressState } from "../../gateway/store/address-states.ts";
import { markPutBack } from "../../gateway/store/put-back.ts";
import { depositXpub, gatewayDatabase } from "../../lab/rig/gateway-database.ts";
import { PutBackRig } from "../support/put-back-rig.ts";
import { eth, network } from "../support/watched-chain.ts";

let rig: PutBackRig;
const addressAt = (index: number): string => depositAddressOf(depositXpub, index);

beforeEach(async () => {
  rig = new PutBackRig();
  await rig.begin();
});
afterEach(() => rig.remove());

describe("an order right after a start", () => {
  it("an order right after a start waits for the first look, and gets no address that was used", async () => {
    await rig.stop();
    rig.chain.coins.push({ block: 1, address: addressAt(0), units: 1n });
    rig.start();
    rig.store.database.run("DELETE FROM addressStates");
    expect(await rig.order("anna")).toMatchObject({ address: addressAt(1) });
  });

  it("an order right after a start counts coins that a contract sends at once", async () => {
    await rig.stop();
    rig.start();
    rig.store.database.run("DELETE FROM addressStates");
    const { address } = await rig.order("anna");
    rig.chain.coins.push({ block: rig.chain.top + 1, address, units: eth });
    await rig.settle();
    await rig.settle();
    expect(rig.rows()).toMatchObject([{ orderId: "anna", status: 1, amountReceivedUnits: `${eth}` }]);
  });

  it("more orders at once than addresses that were looked at each get one", async () => {
    const got = await Promise.all(Array.from({ length: 80 }, (_, number) => rig.order(`o-${number}`)));
    expect(new Set(got.map(({ address }) => address)).size).toBe(80);
    expect(got.filter(({ address }) => address === "")).toEqual([]);
  });
});

describe("nodes that do not answer", () => {
  const seen = async (): Promise<void> => {
    await rig.read();
    rig.isDeaf = true;
  };

  it("nodes that do not answer stop no order while an address is left that was looked at", async () => {
    await seen();
    rig.nowMs += 10 * lookMs;
    expect(await rig.order("anna")).toMatchObject({ address: addressAt(0) });
  });

  it("nodes that do not answer after a start stop no order for a quarter of an hour, and what comes then waits for them", async () => {
    await seen();
    await rig.stop();
    rig.start();
    expect(await rig.order("anna")).toMatchObject({ address: addressAt(0) });
    rig.nowMs += lookMs + 1;
    expect(await rig.order("bora")).toMatchObject({ code: "unavailable", reason: "address_unchecked" });
    rig.isDeaf = false;
    expect(await rig.orderSoon("bora")).toBe(addressAt(1));
  });
});

it("a look after a restore of the database says only that an address was used", () => {
  const { store, remove } = gatewayDatabase();
  const [unused, used, left] = [0, 1, 2].map((index) => addressAt(index)) as [string, string, string];
  const look = { network, block: 7, comparedAt: 5, run: "run" };
  store.write((database) => {
    for (const address of [unused, left]) keepAhead(database, { ...look, address, isUsed: 0 });
    keepAhead(database, { ...look, address: used, isUsed: 1 });
    database.run("UPDATE addressStates SET run = '' WHERE address = ?", left);
    markPutBack(database, { at: 9, reason: "a test" });
  });
  const stands = (address: string): boolean => readAddressState(store.database, network, address) !== undefined;
  expect([stands(unused), stands(used), stands(left)]).toEqual([false, true, true]);
  remove();
});
