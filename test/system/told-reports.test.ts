/**
 * Reports about other programs, by kinds that could cost money, each tried on this one: what the
 * report says happens, and what happens here.
 */
import { afterEach, describe, expect, it } from "vitest";
import { backoffMs } from "../../agent/courier/link/link.ts";
import { broadcastRefusals } from "../../chains/evm/node.ts";
import type { DetectedPayment } from "../../chains/nodes.ts";
import { findBroadcastMeaning } from "../../chains/providers/broadcasts.ts";
import { createSender as createTronSender } from "../../chains/tron/node-sender.ts";
import { bitcoin, type UtxoNetwork } from "../../chains/utxo/network.ts";
import { createUtxoSender } from "../../chains/utxo/node-sender.ts";
import { createUtxoWatcher } from "../../chains/utxo/node-watcher.ts";
import { xrp } from "../../chains/xrp/family.ts";
import type { FamilyKey } from "../../lab/faults/items/plants.ts";
import { ItemWorld, type MerchantTransfer } from "../../lab/faults/items/world.ts";
import { readTransaction } from "../../lab/kit/gateway-database.ts";
import { openLab, xrpOf } from "../chains/xrp-lab.ts";
import { EsploraChain, serveEsplora } from "../support/esplora-chain.ts";
import { inhabitant, sender, startTestNetwork } from "../support/tron-network.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function worldOf(family: FamilyKey): Promise<ItemWorld> {
  const world = new ItemWorld(family, null);
  closers.push(() => world.close());
  world.fund();
  await world.settle();
  return world;
}

const rowOf = (world: ItemWorld, { id }: MerchantTransfer) => readTransaction(world.store, id);

describe("told of other programs", () => {
  it("Scottcjn/Rustchain #5346: a start gives back payouts that are under way; here one stays open, and a block ends it", async () => {
    const world = await worldOf("tron");
    world.payOut("A", 0, world.nowMs + 300_000);
    const [payout] = world.payouts as [MerchantTransfer];
    await world.restart();
    await world.pass(3);
    expect(rowOf(world, payout)).toMatchObject({ status: 0, stage: "broadcast" });
    world.chain.mine(world.nowMs, [
      {
        hash: payout.txHash,
        from: world.hotOf("A"),
        slot: "0",
        to: world.hotOf("B"),
        units: 1_000n,
        fee: 1n,
      },
    ]);
    await world.settle();
    expect(rowOf(world, payout)).toMatchObject({ status: 1 });
  });

  it.each<FamilyKey>(["evm", "bitcoin", "litecoin"])(
    "decred/dcrpool #205, mushroomlabs/hub20 #118: a block that comes back is paid again; on %s it counts once",
    async (family) => {
      const world = await worldOf(family);
      await world.order("A", "coin");
      const [request] = world.requests as [MerchantTransfer];
      world.payAll();
      await world.pass();
      for (let turn = 0; turn < 3; turn += 1) {
        world.chain.reorganise(1);
        await world.pass();
        world.payAll();
        await world.pass();
        world.chain.reorganise(1);
        await world.pass();
      }
      world.payAll();
      await world.settle();
      await world.settle();
      const { units } = world.database.get<{ units: string }>(
        "SELECT units FROM deposits WHERE id = ?",
        request.id,
      ) as { units: string };
      expect(rowOf(world, request)).toMatchObject({ status: 1, receivedUnits: units });
      const payments = world.database.all<DetectedPayment>(
        "SELECT * FROM payments WHERE address = ?",
        request.address,
      );
      expect(payments).toHaveLength(1);
    },
  );

  it("EspressoSystems/cape #1173, across-protocol/relayer #3651: a refused replacement counts as a failed payment; here as a fee that is too low", () => {
    for (const words of [
      "replacement transaction underpriced",
      "status-smart-proxy.error: replacement transaction underpriced, proxy-infura.error: replacement transaction underpriced",
    ])
      expect(findBroadcastMeaning(broadcastRefusals, words)?.meaning).toBe("price");
    expect(
      findBroadcastMeaning(broadcastRefusals, "nonce too low: next nonce 13, tx nonce 12")?.meaning,
    ).toBe("slot-used");
  });

  it("trezor/trezor-suite #31977: a partial payment counts with its DeliverMax of 100,000,000,000 XRP; here with what came", async () => {
    const lab = await openLab();
    closers.push(() => lab.close());
    const first = lab.node.chain.head.index + 1;
    const address = xrp.depositAddress(lab.to.address, 0);
    lab.node.people.payPartly(
      lab.to.address,
      xrpOf(90_000_000),
      147_413_155n,
      Number(xrp.accounts.payeeOf(address).tag),
    );
    lab.node.closeLedgers();
    const blocks = [await lab.watcher.block(first, true)];
    const book = { size: 1, has: (one: string) => one === address, all: () => new Set([address]) };
    const { found } = await lab.watcher.payments(blocks, [""], book, true);
    expect(found.map(({ amountUnits }) => amountUnits)).toEqual([147_413_155n]);
  });

  it("tronprotocol/tronweb #646: a node says that a transaction expired; here that ends no attempt before the chain's time does", async () => {
    const network = await startTestNetwork({ fronts: [{}, {}] });
    closers.push(() => network.node.close());
    const { chain, urls, chainId } = network.node;
    const limits = {
      timeoutMs: 20_000,
      patienceMs: 40_000,
      log: () => {},
      clock: () => performance.now(),
    };
    const nodes = createTronSender({ urls, chainId, tokens: [], ...limits });
    closers.push(() => nodes.close());
    const expirationMs = chain.head.timestampMs + 6_000;
    const signed = network.coins(sender, inhabitant("a holder").address, 1_000_000, {
      expirationMs,
    });
    chain.mine(4);
    const answer = await nodes.broadcast(rawOf(signed));
    expect(answer.standing).toBe("refused");
    const asked = [{ txHash: signed.txID, validUntilMs: expirationMs }];
    expect((await nodes.findVoid(sender.address, asked)).isVoid).toBe(false);
    chain.mine(80);
    expect((await nodes.findVoid(sender.address, asked)).isVoid).toBe(true);
  });

  const hot = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
  const genesis = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";

  it("bcoin-org/bcoin #499: a coin is listed twice, with its block and without one; here it counts once", async () => {
    const chain = new EsploraChain(genesis, 1_790_000_000_000);
    chain.pay(hot, 50_000_000n);
    for (let block = 1; block < 10; block += 1) chain.mine(1_790_000_000_000 + block * 600_000);
    const doubled = (
      path: string,
      answer: { readonly status: number; readonly body: string | Buffer },
    ) => {
      if (!path.endsWith("/utxo")) return answer;
      const list = JSON.parse(String(answer.body)) as readonly object[];
      return {
        ...answer,
        body: JSON.stringify([
          ...list,
          ...list.map((one) => ({ ...one, status: { confirmed: false } })),
        ]),
      };
    };
    const servers = [await serveEsplora(chain, doubled), await serveEsplora(chain, doubled)];
    for (const server of servers) closers.push(() => server.close());
    const options = {
      urls: servers.map(({ url }) => url),
      network: bitcoin.networks[0] as UtxoNetwork,
      confirmations: 3,
      ...{ log: () => {}, clock: () => performance.now(), timeoutMs: 20_000 },
    };
    const watcher = createUtxoWatcher(options);
    const payer = createUtxoSender(options);
    closers.push(
      () => watcher.close(),
      () => payer.close(),
    );
    expect(await watcher.balance(hot, "", (await watcher.finalTip()).number)).toBe(50_000_000n);
    const state = await payer.chainState(hot);
    expect(state.balances.get("")).toBe(50_000_000n);
    expect(state.coins?.map(({ units }) => units)).toEqual([50_000_000n]);
  });

  it("ElementsProject/lightning #6339: an end far in the future makes a start look without an end; here it costs a pass nothing", async () => {
    const world = await worldOf("evm");
    const statements = async (): Promise<number> => {
      const { database } = world;
      const { all } = database;
      let count = 0;
      Object.assign(database, {
        all: (...given: Parameters<typeof all>) => {
          count += 1;
          return all.apply(database, given);
        },
      });
      await world.pass();
      Object.assign(database, { all });
      return count;
    };
    await world.order("A", "coin");
    await world.settle();
    const before = await statements();
    await world.order("B", "coin", Number.MAX_SAFE_INTEGER - world.nowMs);
    await world.settle();
    await world.restart();
    await world.pass(2);
    expect(await statements()).toBeLessThanOrEqual(before + 5);
    world.payAll();
    await world.settle();
    for (const request of world.requests)
      expect(rowOf(world, request)).toMatchObject({ status: 1 });
  });

  it("BasedHardware/omi #5520: all clients come back in the same moment; here a thousand agents are spread", () => {
    const limits = { baseMs: 500, capMs: 30_000 };
    for (const attempt of [0, 1, 6, 40]) {
      const waits = Array.from({ length: 1_000 }, (_, at) =>
        backoffMs(attempt, (at * 0.618_033_988_75) % 1, limits),
      );
      const span = Math.min(limits.capMs, limits.baseMs * 2 ** Math.min(attempt, 16));
      const tenths = Array.from(
        { length: 10 },
        (_, tenth) => waits.filter((ms) => Math.floor((ms * 10) / span) === tenth).length,
      );
      expect(Math.max(...tenths)).toBeLessThanOrEqual(110);
    }
  });
});

/** A whole transaction: what tronweb made and signed, in its protobuf frame. */
function rawOf({
  raw_data_hex: raw,
  signature,
}: {
  readonly raw_data_hex: string;
  readonly signature: readonly string[];
}): string {
  const field = (tag: string, hex: string): string => {
    const bytes = hex.length / 2;
    const length = bytes < 128 ? [bytes] : [(bytes & 127) | 128, bytes >> 7];
    return tag + Buffer.from(length).toString("hex") + hex;
  };
  return field("0a", raw) + signature.map((one) => field("12", one)).join("");
}
