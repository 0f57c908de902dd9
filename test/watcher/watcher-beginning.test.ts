/**
 * The block at which the reading of a chain begins in a database that has not read the chain:
 * before everything that such a database may have to know.
 */
import { afterEach, beforeEach, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { families, familyOf } from "../../chains/families.ts";
import { readCursor } from "../../gateway/store/cursors.ts";
import { newDepositMemory } from "../../gateway/watcher/deposit-memory.ts";
import { scanDeposits } from "../../gateway/watcher/deposits.ts";
import {
  type GatewayDatabase,
  gatewayDatabase,
  pairAgent,
} from "../../lab/kit/gateway-database.ts";
import { watchedBy } from "../support/watched-by.ts";

const dayMs = 86_400_000;
const topBlock = 10_000;
const nowMs = 400 * dayMs;
const networks = {
  evm: "eip155:31337",
  tron: "tron:0x2b6653dc",
  bitcoin: "bip122:000000000019d6689c085ae165831e93",
  litecoin: "bip122:12a765e31ffd4059bada1e25190f6e98",
  xrp: "xrpl:0",
} as const;
type Name = keyof typeof networks;

let db: GatewayDatabase;
beforeEach(() => {
  db = gatewayDatabase();
});
afterEach(() => db.remove());

/** The block at which a chain of a block each quarter of an hour is begun; the newest is of now. */
async function beginning(
  name: Name,
  pairedAt: number,
  isKnown: (number: number) => boolean = () => true,
): Promise<number> {
  const network = networks[name];
  pairAgent(db.store);
  db.store.database.run(
    "UPDATE agents SET networks = ?, pairedAt = ?",
    JSON.stringify([network]),
    pairedAt,
  );
  let opened = -1;
  const reader = {
    timestamp: async (number: number) => {
      if (!isKnown(number)) throw new AgentError("NODE_PRUNED", "none", "no header");
      return nowMs / 1000 - (topBlock - number) * 900;
    },
    // The cursor is written before the first question for a block's content behind it.
    block: async (number: number) =>
      ({ number, hash: `${number}`, parentHash: `${number - 1}` }) as never,
    blocks: async () => {
      throw new AgentError("NODE_TIMEOUT", "none", "no answer in time");
    },
  };
  const top = { number: topBlock, hash: `${topBlock}` };
  const chain = watchedBy({ db, network, reader: reader as never, clock: () => nowMs });
  await scanDeposits(
    chain,
    { head: top, final: top, askedAt: nowMs },
    newDepositMemory(network),
  ).catch(() => {});
  opened = readCursor(db.store.database, network)?.block ?? -1;
  return opened;
}

it.each(["tron", "bitcoin", "litecoin"] as const)(
  "on %s, where nothing counts, it is before the pairing of the first agent, whose payments nothing else may remember",
  async (name) => {
    // Two days, and a quarter of an hour for clocks that differ.
    expect(await beginning(name, nowMs - 2 * dayMs)).toBe(topBlock - 2 * 96 - 2);
  },
);

it("the beginning is thirty days back at most, and at the oldest known time where nodes have dropped older headers", async () => {
  expect(await beginning("tron", nowMs - 300 * dayMs)).toBe(topBlock - 30 * 96 - 2);
  db.remove();
  db = gatewayDatabase();
  expect(await beginning("tron", nowMs - 2 * dayMs, (number) => number > topBlock - 50)).toBe(
    topBlock - 50,
  );
});

it.each(["tron", "bitcoin", "litecoin"] as const)(
  "on %s a block whose time no node tells now passes no older block over",
  async (name) => {
    for (const back of [1, 3, 7, 127, 194]) {
      const isKnown = (number: number) => number !== topBlock - back;
      const block = await beginning(name, nowMs - 2 * dayMs, isKnown);
      expect(block, `${back}`).toBeLessThanOrEqual(topBlock - 2 * 96 - 2);
      db.remove();
      db = gatewayDatabase();
    }
  },
);

it.each(["evm", "xrp"] as const)(
  "on %s it is the newest final block, because counts exclude a second payment",
  async (name) => {
    expect(await beginning(name, nowMs - 2 * dayMs)).toBe(topBlock);
  },
);

it("each family that does not count has a row here", () => {
  const uncounted = Object.values(families).filter(({ slots }) => !slots.isCounted);
  const rows = new Set(Object.values(networks).map((network) => familyOf(network).name));
  expect(uncounted.filter(({ name }) => !rows.has(name))).toEqual([]);
});
