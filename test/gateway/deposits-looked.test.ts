/**
 * A deposit address leaves only after a look at it: money that lay there before anybody could
 * pay is known, through restarts, nodes that do not answer, and a restored database. Reports of the
 * same kind: btcpayserver/btcpayserver #3817 and spesmilo/electrum #6609 (addresses that were used
 * before).
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { depositAddressOf } from "../../chains/evm/address.ts";
import { keepUnissuedLook, lookMs, readAddressState } from "../../gateway/store/address-states.ts";
import { markRestored } from "../../gateway/store/restored-database.ts";
import { depositXpub, gatewayDatabase } from "../../lab/kit/gateway-database.ts";
import { RestoredKit } from "../support/restored-kit.ts";
import { eth, network } from "../support/watched-chain.ts";

let kit: RestoredKit;
const addressAt = (index: number): string => depositAddressOf(depositXpub, index);

beforeEach(async () => {
  kit = new RestoredKit();
  await kit.begin();
});
afterEach(() => kit.remove());

describe("an order right after a start", () => {
  it("waits for the first look, and gets no address that was used", async () => {
    await kit.stop();
    kit.chain.coins.push({ block: 1, address: addressAt(0), units: 1n });
    kit.start();
    kit.store.database.run("DELETE FROM addressStates");
    expect(await kit.order("anna")).toMatchObject({ address: addressAt(1) });
  });

  it("counts coins that a contract sends at once", async () => {
    await kit.stop();
    kit.start();
    kit.store.database.run("DELETE FROM addressStates");
    const { address } = await kit.order("anna");
    kit.chain.coins.push({ block: kit.chain.top + 1, address, units: eth });
    await kit.settle();
    await kit.settle();
    expect(kit.rows()).toMatchObject([{ orderId: "anna", status: 1, receivedUnits: `${eth}` }]);
  });

  it("tells of the address that leaves, once, so that the next ones are looked at in time", async () => {
    const left: object[] = [];
    kit.service.signals.on("left", (signal) => void left.push(signal));
    await kit.order("anna");
    await kit.order("anna");
    await kit.order("bora");
    expect(left).toEqual([0, 1].map((index) => ({ network, account: depositXpub, index })));
  });

  it("more orders at once than addresses that were looked at each get one", async () => {
    const got = await Promise.all(
      Array.from({ length: 80 }, (_, number) => kit.order(`o-${number}`)),
    );
    expect(new Set(got.map(({ address }) => address)).size).toBe(80);
    expect(got.filter(({ address }) => address === "")).toEqual([]);
  });
});

describe("nodes that do not answer", () => {
  const seen = async (): Promise<void> => {
    await kit.read();
    kit.isDeaf = true;
  };

  it("stop no order while an address is left that was looked at", async () => {
    await seen();
    kit.nowMs += 10 * lookMs;
    expect(await kit.order("anna")).toMatchObject({ address: addressAt(0) });
  });

  it("after a start stop no order for a quarter of an hour, and what comes then waits for them", async () => {
    await seen();
    await kit.stop();
    kit.start();
    expect(await kit.order("anna")).toMatchObject({ address: addressAt(0) });
    kit.nowMs += lookMs + 1;
    expect(await kit.order("bora")).toMatchObject({
      code: "unavailable",
      reason: "address_unchecked",
    });
    kit.isDeaf = false;
    expect(await kit.orderSoon("bora")).toBe(addressAt(1));
  });
});

describe("a look that was made while the clock was a day ahead", () => {
  const dayMs = 86_400_000;
  const lookedAhead = async (): Promise<void> => {
    kit.nowMs += dayMs;
    await kit.read();
    kit.store.database.run("DELETE FROM addressStates");
    await kit.read();
    await kit.read();
    kit.nowMs -= dayMs;
  };

  it("gives no address once the clock is right", async () => {
    await lookedAhead();
    await kit.stop();
    kit.isDeaf = true;
    kit.start();
    expect(await kit.order("anna")).toMatchObject({
      code: "unavailable",
      reason: "address_unchecked",
    });
  });

  it("is made once more, and finds the address used", async () => {
    await lookedAhead();
    kit.pay(addressAt(0));
    await kit.settle();
    await kit.read();
    expect(await kit.orderSoon("anna")).toBe(addressAt(1));
  });
});

it("a look after a restore of the database says only that an address was used", () => {
  const { store, remove } = gatewayDatabase();
  const [unused, used, left] = [0, 1, 2].map((index) => addressAt(index)) as [
    string,
    string,
    string,
  ];
  const look = { network, block: 7, comparedAt: 5, run: "run" };
  store.write((database) => {
    for (const address of [unused, left])
      keepUnissuedLook(database, { ...look, address, isUsed: 0 });
    keepUnissuedLook(database, { ...look, address: used, isUsed: 1 });
    database.run("UPDATE addressStates SET run = '' WHERE address = ?", left);
    markRestored(database, "a test");
  });
  const stands = (address: string): boolean =>
    readAddressState(store.database, network, address) !== undefined;
  expect([stands(unused), stands(used), stands(left)]).toEqual([false, true, true]);
  remove();
});
