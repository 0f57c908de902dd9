/**
 * Reorganisations of one to six blocks on a real bitcoind, as the gateway's watcher reads them:
 * nothing is completed before its depth, a deposit in a lost block is un-seen and comes again, and
 * every deposit and withdrawal ends. RUNS=<number> sets the runs of each depth, SEED=<number>
 * repeats a run. Skipped, with the command that brings the daemon, where it is not there.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { missing } from "../../lab/utxo-node/daemon.ts";
import { seed } from "../support/evm-values.ts";
import { LostBlocks } from "./utxo-lost-blocks.ts";
import { openWallet, type Wallet } from "./utxo-wallet.ts";

const why = missing("bitcoin");
const depths = [1, 2, 3, 4, 5, 6] as const;
const confirmations = 7;
const runs = Number(process.env.RUNS ?? 1);

describe.skipIf(why !== null)(
  "reorganisations of bitcoind, to the ends of deposits and withdrawals",
  () => {
    if (why !== null) {
      process.stderr.write(`\n*** SKIPPED: ${why}\n\n`);
      it.skip(why, () => undefined);
      return;
    }
    let wallet: Wallet;
    let lostBlocks: LostBlocks;

    beforeAll(async () => {
      process.stdout.write(`SEED=${seed} RUNS=${runs}\n`);
      wallet = await openWallet("bitcoin", confirmations);
      const payer = wallet.values.account(wallet.network);
      await wallet.mine(8, payer.address);
      await wallet.fund(8);
      lostBlocks = new LostBlocks(wallet, payer);
    });
    afterAll(async () => {
      lostBlocks?.close();
      await wallet?.close();
    });

    it.each(depths)(
      "%d lost blocks un-see what they held, and end nothing",
      async (depth) => {
        const ends: string[] = [];
        for (let run = 0; run < runs; run += 1) ends.push(await lostBlocks.run(depth));
        expect(ends).toHaveLength(runs);
        expect(lostBlocks.alarms).toEqual([]);
        process.stdout.write(`depth ${depth}: ${ends.join(" ")}\n`);
      },
      60_000 + runs * 30_000,
    );
  },
);
