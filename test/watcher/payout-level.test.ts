/**
 * A hot wallet is level once its chain was read up to a head that was asked for after the start,
 * and what nodes show beside blocks was read; the payments found on the way hold orders back.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import type { UnconfirmedTransaction, WatcherNodes } from "../../chains/nodes.ts";
import { FaultBook } from "../../gateway/faults/book.ts";
import { isWalletChainRead, readCatchUpTrouble } from "../../gateway/store/levels.ts";
import type { Tip, WatchedChain } from "../../gateway/watcher/chain.ts";
import { markWalletChainsRead, newWalletChainMemory } from "../../gateway/watcher/watcher.ts";
import {
  type GatewayDatabase,
  gatewayDatabase,
  pairAgent,
  receiver,
} from "../../lab/kit/gateway-database.ts";

const run = "this run";
const account = "bcrt1qxvenxvenxvenxvenxvenxvenxvenxvenztev8a";
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
  pairAgent(db.store);
});
afterEach(() => db.remove());

/** The chain of one family, whose agent pays from `account`. */
function chainOf(name: Name, reader: Partial<WatcherNodes> = {}): WatchedChain {
  const network = networks[name];
  const accounts = JSON.stringify([
    { family: name, purpose: "hot", id: account, firstAddress: account },
  ]);
  db.store.database.run(
    "UPDATE agents SET accounts = ?, networks = ?",
    accounts,
    JSON.stringify([network]),
  );
  return {
    store: db.store,
    network,
    clock: () => 5_000,
    reader: { status: () => [], ...reader },
    run,
    faults: new FaultBook(() => 0),
  } as unknown as WatchedChain;
}
const tipAt = (number: number): Tip => ({
  head: { number, hash: "h" },
  final: { number: number - 1, hash: "f" },
  askedAt: 0,
});
const wallet = (name: Name) => ({ network: networks[name], account });
const level = (name: Name): boolean => isWalletChainRead(db.store.database, wallet(name), run);
const trouble = (name: Name): string => readCatchUpTrouble(db.store.database, wallet(name));
const unexplained = () =>
  db.store.database.all(
    "SELECT txHash, block, final, receiver, units FROM unexplained ORDER BY txHash",
  );

describe("a hot wallet", () => {
  it.each(["evm", "xrp"] as const)(
    "on %s is level when all blocks up to the head were read, and not before",
    async (name) => {
      const chain = chainOf(name);
      const memory = newWalletChainMemory();
      await markWalletChainsRead(chain, tipAt(9), memory, false);
      expect(level(name)).toBe(false);
      await markWalletChainsRead(chain, tipAt(9), memory, true);
      expect([
        level(name),
        isWalletChainRead(db.store.database, wallet(name), "another run"),
      ]).toEqual([true, false]);
    },
  );

  it("on Tron is level a minute of blocks after the first head of the run, whatever the gateway's clock says", async () => {
    const times = new Map([10, 11, 29, 30].map((number) => [number, 1_000 + number * 3]));
    const chain = chainOf("tron", { timestamp: async (number) => times.get(number) ?? 0 });
    const memory = newWalletChainMemory();
    // The first head counts although its blocks are read later.
    await markWalletChainsRead(chain, tipAt(10), memory, false);
    await markWalletChainsRead(chain, tipAt(11), memory, true);
    await markWalletChainsRead(chain, tipAt(29), memory, true);
    expect(level("tron")).toBe(false);
    await markWalletChainsRead(chain, tipAt(30), memory, false);
    expect(level("tron")).toBe(false);
    await markWalletChainsRead(chain, tipAt(30), memory, true);
    expect(level("tron")).toBe(true);
  });

  it("on Tron is not level while no node tells the time of the head, says so, and stops nothing else", async () => {
    let isTold = false;
    const chain = chainOf("tron", {
      timestamp: async (number) => {
        if (!isTold) throw new AgentError("NODE_ANSWER", "none", "no header");
        return 1_000 + number * 3;
      },
    });
    const memory = newWalletChainMemory();
    await markWalletChainsRead(chain, tipAt(10), memory, true);
    expect([level("tron"), trouble("tron")]).toEqual([
      false,
      expect.stringMatching(/block 10.*NODE_ANSWER/),
    ]);
    isTold = true;
    await markWalletChainsRead(chain, tipAt(10), memory, true);
    expect(level("tron")).toBe(false);
    await markWalletChainsRead(chain, tipAt(30), memory, true);
    expect([level("tron"), trouble("tron")]).toEqual([true, ""]);
  });

  it.each(["bitcoin", "litecoin"] as const)(
    "on %s is level when its mempool was read too, one pass later, and says why while that cannot be",
    async (name) => {
      let asked = 0;
      const waiting: UnconfirmedTransaction = {
        account,
        txHash: "aa",
        receiver,
        tag: "",
        contract: "",
        amountUnits: 7n,
      };
      const unconfirmed = async (): Promise<readonly UnconfirmedTransaction[]> => {
        asked += 1;
        if (asked === 1) throw new AgentError("NODE_TIMEOUT", "none", "no answer in time");
        return [waiting];
      };
      const chain = chainOf(name, { unconfirmed });
      const memory = newWalletChainMemory();
      await markWalletChainsRead(chain, tipAt(9), memory, false);
      expect(asked).toBe(0);
      await markWalletChainsRead(chain, tipAt(9), memory, true);
      expect([level(name), trouble(name)]).toEqual([
        false,
        expect.stringMatching(/mempool.*NODE_TIMEOUT/),
      ]);
      expect(await markWalletChainsRead(chain, tipAt(9), memory, true)).toBe(true);
      expect([level(name), trouble(name)]).toEqual([false, ""]);
      expect(unexplained()).toEqual([
        { txHash: "aa", block: null, final: 0, receiver, units: "7" },
      ]);
      expect(await markWalletChainsRead(chain, tipAt(9), memory, true)).toBe(false);
      expect([level(name), trouble(name)]).toEqual([true, ""]);
      await markWalletChainsRead(chain, tipAt(9), memory, true);
      expect(asked).toBe(3);
    },
  );

  it.each(["bitcoin", "litecoin"] as const)(
    "on %s is not level while a block may have what left the mempool since its head was asked for",
    async (name) => {
      // The pass began at block 9; block 10 took the payment before the mempool was read.
      const chain = chainOf(name, { unconfirmed: async () => [] });
      const memory = newWalletChainMemory();
      await markWalletChainsRead(chain, tipAt(9), memory, true);
      expect(level(name)).toBe(false);
      // Its blocks are not all read yet.
      await markWalletChainsRead(chain, tipAt(10), memory, false);
      expect(level(name)).toBe(false);
      await markWalletChainsRead(chain, tipAt(10), memory, true);
      expect(level(name)).toBe(true);
    },
  );

  it("whose mempool cannot be read keeps no other wallet from being level", async () => {
    const chain = chainOf("bitcoin", {
      unconfirmed: async (one) => {
        if (one === account) throw new AgentError("NODE_ERROR", "none", "too many");
        return [];
      },
    });
    pairAgent(db.store, "b");
    const other = JSON.stringify([
      { family: "bitcoin", purpose: "hot", id: "bc1other", firstAddress: "bc1other" },
    ]);
    db.store.database.run(
      "UPDATE agents SET accounts = ?, networks = ? WHERE id = ?",
      other,
      `["${networks.bitcoin}"]`,
      "b".repeat(16),
    );
    const memory = newWalletChainMemory();
    for (let pass = 0; pass < 2; pass += 1)
      await markWalletChainsRead(chain, tipAt(9), memory, true);
    expect([
      level("bitcoin"),
      isWalletChainRead(db.store.database, { network: networks.bitcoin, account: "bc1other" }, run),
    ]).toEqual([false, true]);
  });

  it("whose mempool holds more strange transactions than are kept is not level", async () => {
    const one = (n: number): UnconfirmedTransaction => ({
      account,
      txHash: `${n}`,
      receiver,
      tag: "",
      contract: "",
      amountUnits: 7n,
    });
    let count = 1_001;
    const chain = chainOf("bitcoin", {
      unconfirmed: async () => Array.from({ length: count }, (_, n) => one(n)),
    });
    const memory = newWalletChainMemory();
    const passes = async (): Promise<void> => {
      for (let pass = 0; pass < 2; pass += 1)
        await markWalletChainsRead(chain, tipAt(9), memory, true);
    };
    await passes();
    expect([level("bitcoin"), unexplained().length]).toEqual([false, 1_000]);
    count = 0;
    await passes();
    expect(level("bitcoin")).toBe(true);
  });
});
