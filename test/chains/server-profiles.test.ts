/**
 * The profiles of servers of the Esplora API and of the XRP Ledger: each with its sources, drawn by
 * a seed, and read by the product beside another one, to the unit.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { WatchedAddresses } from "../../chains/nodes.ts";
import { xrp } from "../../chains/xrp/family.ts";
import {
  apply,
  pairOfServers,
  serverProfiles,
  utxoProfiles,
  xrpProfiles,
} from "../../lab/deposits/server-profiles.ts";
import { seeded } from "../../lab/faults/tally.ts";
import { answerOf } from "../../lab/utxo-node/api.ts";
import { openLab, type XrpLab } from "./xrp-lab.ts";

let lab: XrpLab | null = null;
afterEach(async () => {
  await lab?.close();
  lab = null;
});

describe("profiles of servers", () => {
  it("have sources and different names, at least four of Esplora and three of the XRP Ledger", () => {
    const names = serverProfiles.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, sources } of serverProfiles)
      for (const source of sources) expect(source, name).toMatch(/^[\w.-]+\/[\w.-]+#\d+$/);
    expect(serverProfiles.filter(({ sources }) => sources.length === 0)).toEqual([]);
    expect(utxoProfiles.filter(({ isFit }) => isFit).length).toBeGreaterThanOrEqual(4);
    expect(xrpProfiles.filter(({ isFit }) => isFit).length).toBeGreaterThanOrEqual(3);
  });

  it("are drawn by the seed: the same pair again, two different ones, none that is unfit", () => {
    const pairs = Array.from({ length: 40 }, (_, at) =>
      pairOfServers(xrpProfiles, seeded(`seed ${at}`)),
    );
    for (const [at, [first, second]] of pairs.entries()) {
      expect(first).not.toBe(second);
      expect([first.isFit, second.isFit]).toEqual([true, true]);
      expect(pairOfServers(xrpProfiles, seeded(`seed ${at}`))).toEqual([first, second]);
    }
    expect(new Set(pairs.flat().map(({ name }) => name)).size).toBe(
      xrpProfiles.filter(({ isFit }) => isFit).length,
    );
    expect(
      pairOfServers(utxoProfiles, Math.random, ["own mempool", "lagging index"])[0].front.program,
    ).toBe("own mempool");
    expect(() => pairOfServers(utxoProfiles, Math.random, ["nobody", "own mempool"])).toThrow(
      /no profile of bitcoin/,
    );
  });

  it.each(xrpProfiles.filter(({ isFit }) => isFit).map(({ name }) => name))(
    "beside a full rippled, payments through %s are counted to the drop",
    async (name) => {
      const pair = pairOfServers(xrpProfiles, Math.random, [name, "rippled full"]);
      lab = await openLab(2, { fronts: pair.map(({ front }) => front) });
      const { node, to, watcher } = lab;
      const before = node.chain.head.index;
      for (let tag = 1; tag <= 50; tag += 1) node.people.fund(to.address, BigInt(tag), tag);
      node.closeLedgers(3);
      apply(node.fronts, pair);
      const { number } = await watcher.finalTip();
      const numbers = Array.from({ length: number - before }, (_, at) => before + 1 + at);
      const blocks = await Promise.all(numbers.map((one) => watcher.block(one, true)));
      const address = xrp.depositAddress(to.address, 0);
      const book: WatchedAddresses = {
        size: 1,
        has: (one) => one === address,
        all: () => new Set([address]),
      };
      const { found } = await watcher.payments(blocks, [""], book, true);
      expect([found.length, found.reduce((sum, { amountUnits }) => sum + amountUnits, 0n)]).toEqual(
        [50, (50n * 51n) / 2n],
      );
    },
  );

  it("an own mempool server lacks three paths and has others in their place", async () => {
    const txid = "ab".repeat(32);
    const outputs = [{ address: "bc1qone", units: 5, script: "00" }];
    const block = {
      hash: "cd".repeat(32),
      height: 0,
      parent: "",
      time: 1,
      transactions: [{ txid, spent: [], outputs }],
    };
    const sight = { blocks: [block], mempool: [] } as unknown as Parameters<typeof answerOf>[1];
    const ask = async (program: "own mempool" | "electrs", path: string) =>
      (await answerOf({ node: {} as never, rates: { 3: 7 }, utxosMax: 500, program }, sight, path))
        .status;
    const paths = ["/fee-estimates", `/tx/${txid}/outspend/0`, `/block/${block.hash}/txid/0`];
    const others = ["/v1/fees/recommended", `/tx/${txid}/outspends`, `/block/${block.hash}/txids`];
    expect(await Promise.all(paths.map((path) => ask("own mempool", path)))).toEqual([
      404, 404, 404,
    ]);
    expect(await Promise.all(others.map((path) => ask("own mempool", path)))).toEqual([
      200, 200, 200,
    ]);
    expect(await Promise.all(paths.map((path) => ask("electrs", path)))).toEqual([200, 200, 200]);
  });
});
