/**
 * The watcher's fee for a payment on Tron, against the fake for java-tron: the gateway keeps
 * this amount back before it orders a sweep.
 */
import { afterEach, expect, describe as group, it } from "vitest";
import { createWatcher, type TronWatcher } from "../../chains/tron/node-watcher.ts";
import {
  inhabitant,
  sender,
  startTestNetwork,
  type TestNetwork,
  usdt,
} from "../support/tron-network.ts";

let testNetwork: TestNetwork;
let nodes: TronWatcher;

async function begin(): Promise<void> {
  testNetwork = await startTestNetwork({ fronts: [{}, {}] });
  nodes = createWatcher({
    urls: testNetwork.node.urls,
    chainId: testNetwork.node.chainId,
    log: () => {},
  });
}

afterEach(async () => {
  nodes.close();
  await testNetwork.node.close();
});

const coinsTo = (destination: string) => ({
  contract: "",
  destination,
  tag: "",
  amountUnits: 1_000_000n,
});

group("the cost of a payment on Tron", () => {
  it("the cost of a payment on Tron is bandwidth alone for coins to a known receiver, and a new account's price more for an unknown one", async () => {
    await begin();
    const known = await nodes.cost(sender.address, coinsTo(sender.address));
    const unknown = await nodes.cost(sender.address, coinsTo(inhabitant("nobody so far").address));
    expect(known).toEqual({ ok: true, feeUnits: 277_000n });
    expect(unknown).toEqual({ ok: true, feeUnits: 277_000n + 1_100_000n });
  });

  it("the cost of a payment on Tron holds the fee limit of a token's call, which is above coins' by its energy", async () => {
    await begin();
    const wanted = {
      contract: usdt,
      destination: inhabitant("a holder").address,
      tag: "",
      amountUnits: 5n,
    };
    const cost = await nodes.cost(sender.address, wanted);
    expect(cost.ok && cost.feeUnits > 1_000_000n).toBe(true);
  });

  it("the cost of a payment on Tron is refused for coins to a contract, as the chain refuses them", async () => {
    await begin();
    expect(await nodes.cost(sender.address, coinsTo(usdt))).toMatchObject({
      ok: false,
      code: "NODE_WOULD_REVERT",
    });
  });
});
