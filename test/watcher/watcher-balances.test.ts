/**
 * The block of a kept balance, with nodes that report only their newest final block: it is the
 * block of the value, also while blocks become final between two questions.
 */

import { afterEach, beforeEach, expect, it } from "vitest";
import { goodResult } from "../../base/result.ts";
import type { BalanceQuestion, BlockId } from "../../chains/nodes.ts";
import { readBalanceRow } from "../../gateway/store/balances.ts";
import { newBalanceMemory, readBalances } from "../../gateway/watcher/balances.ts";
import type { WatchedChain } from "../../gateway/watcher/chain.ts";
import { HotWallets } from "../../gateway/watcher/wallets.ts";
import {
  type AgentKeys,
  type GatewayDatabase,
  gatewayDatabase,
  pairAgent,
} from "../../lab/kit/gateway-database.ts";
import { watchedBy } from "../support/watched-by.ts";
import { network } from "../support/watched-chain.ts";

let db: GatewayDatabase;
let keys: AgentKeys;
let height = 10;
/** The number of blocks that become final before a balance is answered. */
let arriving = 0;

const blockAt = (number: number): BlockId => ({ number, hash: `hash ${number}` });
/** The units at a block, for every account. */
const unitsAt = (number: number): bigint => BigInt(number * 100);

function chainWith(isNewestAlone: boolean): WatchedChain {
  const balance = async (_account: string, _contract: string, block: number): Promise<bigint> => {
    height += arriving;
    return unitsAt(isNewestAlone ? height : block);
  };
  const balances = (asked: readonly BalanceQuestion[], block: number) =>
    Promise.all(
      asked.map(async ({ account, contract }) =>
        goodResult(await balance(account, contract, block)),
      ),
    );
  const reader = {
    tellsNewestBalances: isNewestAlone,
    finalTip: async () => blockAt(height),
    balances,
  };
  return watchedBy({ db, network, reader });
}

const kept = () => readBalanceRow(db.store.database, keys.hotWalletAddress, "eth");

beforeEach(() => {
  db = gatewayDatabase();
  keys = pairAgent(db.store);
  height = 10;
  arriving = 0;
});
afterEach(() => db.remove());

it("a balance is kept for the block it is of, and one told of a later block is asked for again", async () => {
  const [chain, memory] = [chainWith(true), newBalanceMemory(new HotWallets(network))];
  await readBalances(chain, blockAt(10), memory);
  expect(kept()).toMatchObject({ block: 10, units: "1000" });
  height = 11;
  arriving = 1;
  memory.wallets.mark(keys.hotWalletAddress, 11);
  await readBalances(chain, blockAt(11), memory);
  expect(kept()).toMatchObject({ block: 10, units: "1000" });
  arriving = 0;
  await readBalances(chain, blockAt(12), memory);
  expect(kept()).toMatchObject({ block: 12, units: "1200" });
});

it("a balance at the block asked for is kept at once, whatever becomes final meanwhile", async () => {
  arriving = 1;
  await readBalances(chainWith(false), blockAt(10), newBalanceMemory(new HotWallets(network)));
  expect(kept()).toMatchObject({ block: 10, units: "1000" });
});

it("a balance of a chain that never stands still is kept by the fourth reading", async () => {
  const [chain, memory] = [chainWith(true), newBalanceMemory(new HotWallets(network))];
  arriving = 1;
  for (let reading = 0; reading < 3; reading += 1)
    await readBalances(chain, blockAt(height), memory);
  expect(kept()).toBeUndefined();
  await readBalances(chain, blockAt(height), memory);
  expect(kept()).toMatchObject({ block: 13, units: "1400" });
});
