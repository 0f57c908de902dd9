/**
 * `scan` finds money of deposit addresses by an account's public half alone, and what an operator
 * has watched is a payment, once. Reports of the kind: lightningnetwork/lnd #2691 and
 * decred/dcrwallet #106 (a recovery that looked too short a way), btcpayserver/btcpayserver-docker
 * #53 (the gap that unpaid invoices make) and btcpayserver/btcpayserver #3711 (funds behind another
 * wallet's gap).
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HDKey } from "@scure/bip32";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { goodResult } from "../../base/result.ts";
import { openWatcher } from "../../chains/connect.ts";
import { depositAddressOf } from "../../chains/evm/address.ts";
import { familyOf } from "../../chains/families.ts";
import { createWatcher as createTronWatcher } from "../../chains/tron/node-watcher.ts";
import { createGatewayKey } from "../../gateway/auth/gateway-key.ts";
import { runGatewayCommandLine } from "../../gateway/command.ts";
import { parseConfig } from "../../gateway/config/config.ts";
import { listMerchantDepositAccounts } from "../../gateway/deposits/ceilings.ts";
import { takeInFoundAddresses } from "../../gateway/deposits/found.ts";
import { type ScanNodes, type ScanResult, scanAccounts } from "../../gateway/deposits/scan.ts";
import { marksPathOf } from "../../gateway/store/address-marks.ts";
import { listUnattributed } from "../../gateway/store/credits.ts";
import { unattributedIdOf } from "../../gateway/store/forgotten-addresses.ts";
import { isRequestedAddress } from "../../gateway/store/found-addresses.ts";
import { sumUnsweptUnits } from "../../gateway/store/journal.ts";
import { addReceivingKey } from "../../gateway/store/receiving-keys.ts";
import { createStore, openStore } from "../../gateway/store/store.ts";
import { type ChainNode, FakeChain, hashOf, serveChain } from "../../lab/kit/fake-chain.ts";
import { depositXpub, pairAgent, silentLog } from "../../lab/kit/gateway-database.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import { RestoredKit } from "../support/restored-kit.ts";
import { startTestNetwork, usdt } from "../support/tron-network.ts";
import { until } from "../support/until.ts";
import { configOf, eth, network, outsider } from "../support/watched-chain.ts";

vi.mock("../../gateway/deposits/ceiling-steps.ts", () => ({
  ceilingStep: 10,
  indexesJumpMin: 30,
  ceilingAheadMax: 1_000_000,
}));

const at = (index: number): string => depositAddressOf(depositXpub, index);
const account = { family: "evm", id: depositXpub, firstAddress: at(0), known: 0 };

/** A chain whose nodes are answered for here. */
function nodesOf(held: ReadonlyMap<string, bigint>, used: ReadonlySet<string> = new Set()) {
  const asked: { balances: number; mostAtOnce: number; blocks: Set<number> } = {
    balances: 0,
    mostAtOnce: 0,
    blocks: new Set(),
  };
  let top = 100;
  let forgets = false;
  const reader: ScanNodes = {
    finalTip: async () => ({ number: top, hash: `${top}` }),
    balances: async (questions, block) => {
      if (forgets && block < top) throw new AgentError("NODE_ERROR", "none", "missing trie node");
      asked.balances += questions.length;
      asked.mostAtOnce = Math.max(asked.mostAtOnce, questions.length);
      asked.blocks.add(block);
      return questions.map(({ account: address, contract }) =>
        goodResult(contract === "" ? (held.get(address) ?? 0n) : 0n),
      );
    },
    wereUsed: async (accounts) => accounts.map((address) => goodResult(used.has(address))),
  };
  const forget = (): void => {
    forgets = true;
    top += 50;
  };
  return { reader, asked, forget };
}

const currencies = [
  { id: "eth", contract: "" },
  { id: "usd", contract: "0x5FbDB2315678afecb367f032d93F642f64180aa3" },
];
const scan = (reader: ScanNodes, change: object = {}): Promise<ScanResult> =>
  scanAccounts([account], {
    ...{ reader, currencies, from: 0, to: null, gap: 20, isNamed: () => false, clock: () => 0 },
    ...{ rest: async () => {}, onProgress: () => {}, ...change },
  });
const indexesOf = ({ found }: ScanResult): readonly number[] =>
  found.map(({ addressIndex }) => addressIndex);

describe("a scan of an account", () => {
  it("goes on until the gap, counted again from each address in use, swept ones too", async () => {
    const { reader } = nodesOf(new Map([[at(15), 5n]]), new Set([at(30)]));
    const scanned = await scan(reader);
    expect(indexesOf(scanned)).toEqual([15, 30]);
    expect(scanned.found.map(({ balances, wasUsed }) => [balances, wasUsed])).toEqual([
      [[{ currency: "eth", units: 5n }], false],
      [[], true],
    ]);
    expect(scanned).toMatchObject({
      end: 51,
      asked: 51,
      named: 0,
      first: { number: 100 },
      last: 100,
    });
    // The twin: one index beyond the gap is not seen, and is with a wider one or from there on.
    const far = nodesOf(new Map([[at(21), 5n]]));
    expect(indexesOf(await scan(far.reader))).toEqual([]);
    expect(indexesOf(await scan(far.reader, { gap: 22 }))).toEqual([21]);
    expect(indexesOf(await scan(far.reader, { from: 21, to: 21 }))).toEqual([21]);
  });

  it("looks beyond all that may have left, asks for nothing that is known, and in bounded batches", async () => {
    const { reader, asked } = nodesOf(new Map([[at(275), 5n]]));
    const known = { ...account, known: 260 };
    const options = { gap: 20, isNamed: (address: string) => address === at(3) };
    const scanned = await scanAccounts([known], {
      ...{
        reader,
        currencies,
        from: 0,
        to: null,
        clock: () => 0,
        rest: async () => {},
        onProgress: () => {},
        ...options,
      },
    });
    expect(indexesOf(scanned)).toEqual([275]);
    expect(scanned).toMatchObject({ named: 1, asked: 295, end: 296 });
    expect([asked.balances, asked.mostAtOnce]).toEqual([295 * 2, 249 * 2]);
  });

  it("goes on at a newer block where the nodes have dropped the first one's state", async () => {
    const { reader, asked, forget } = nodesOf(new Map([[at(2), 5n]]));
    const scanned = await scan(reader, { onProgress: forget, to: 300 });
    expect(indexesOf(scanned)).toEqual([2]);
    expect([scanned.first.number, scanned.last, [...asked.blocks]]).toEqual([100, 150, [100, 150]]);
  });
});

describe("a scan on Tron", () => {
  it("finds coins and tokens below the account of its family", async () => {
    const testNetwork = await startTestNetwork({ fronts: [{}, {}] });
    const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(9)).derive(
      "m/44'/195'/1'",
    ).publicExtendedKey;
    const { depositAddress } = familyOf("tron:0x2b6653dc");
    const reader = createTronWatcher({
      urls: testNetwork.node.urls,
      chainId: testNetwork.node.chainId,
      log: () => undefined,
    });
    try {
      testNetwork.node.fund(depositAddress(xpub, 2), 7n);
      testNetwork.node.mint(usdt, depositAddress(xpub, 4), 9n);
      const scanned = await scanAccounts(
        [{ family: "tron", id: xpub, firstAddress: depositAddress(xpub, 0), known: 0 }],
        {
          ...{
            reader,
            from: 0,
            to: null,
            gap: 5,
            isNamed: () => false,
            clock: () => 0,
            rest: async () => {},
          },
          ...{
            onProgress: () => {},
            currencies: [{ id: "trx", contract: "" }].concat({ id: "usdt", contract: usdt }),
          },
        },
      );
      const shown = scanned.found.map(({ addressIndex, balances, wasUsed }) => [
        addressIndex,
        balances,
        wasUsed,
      ]);
      expect(shown).toEqual([
        [2, [{ currency: "trx", units: 7n }], true],
        [4, [{ currency: "usdt", units: 9n }], false],
      ]);
    } finally {
      reader.close();
      await testNetwork.node.close();
    }
  });
});

describe("money that a scan found", () => {
  let kit: RestoredKit;
  beforeEach(async () => {
    kit = new RestoredKit();
    await kit.begin();
  });
  afterEach(() => kit.remove());

  const isNamed = (address: string): boolean =>
    isRequestedAddress(kit.store.database, address, unattributedIdOf({ merchant: "m1", address }));

  async function found(): Promise<ScanResult> {
    const reader = openWatcher({
      chain: configOf([kit.nodeUrl], 2).chains.local!,
      log: () => undefined,
    });
    try {
      return await scan(reader, { isNamed, gap: 40, currencies: currencies.slice(0, 1) });
    } finally {
      reader.close();
    }
  }
  const take = (scanned: ScanResult) =>
    takeInFoundAddresses(
      kit.store,
      listMerchantDepositAccounts(kit.store.database, "m1"),
      [{ network, scanned }],
      {
        ...{ networks: [network], nowMs: kit.nowMs, actor: "operator" },
      },
    );
  const listed = () =>
    listUnattributed(kit.store.database, null, 10).map(({ address, units, txHash }) => [
      address,
      units,
      txHash.split(":")[0],
    ]);

  it("is a payment once its address is watched, counts once, and no order gets its index", async () => {
    await kit.orderSoon("anna");
    kit.pay(at(25), 2n * eth);
    kit.chain.mine({ hash: hashOf("swept"), from: at(27), to: outsider, nonce: 0 });
    await kit.settle();
    const start = kit.store.database.get<{ block: number; hash: string }>("SELECT * FROM cursors");
    kit.pay(at(26));
    const scanned = await found();
    expect(indexesOf(scanned)).toEqual([25, 27]);
    expect(listed()).toEqual([]);
    // Both of these come after the look, to an address that was found and to one that was not.
    kit.pay(at(25), 3n * eth);
    await kit.settle();
    kit.nowMs += 86_400_000; // a clock of these years, beside a chain of 1970
    expect(take(scanned)).toEqual({ watched: 2, passedOver: 27, unswept: [] });
    await until(() => listed().length === 3);
    const lists = [
      [at(25), `${2n * eth}`, "internal"],
      [at(25), `${3n * eth}`, hashOf("payment 3")],
      [at(26), `${eth}`, hashOf("payment 2")],
    ];
    expect([...listed()].sort()).toEqual([...lists].sort());
    expect(sumUnsweptUnits(kit.store.database, "m1", "eth")).toBe(6n * eth);
    // The blocks of that very payment are read again by name, and it counts no second time.
    const early = start!.block - 6;
    kit.store.database.run(
      "UPDATE cursors SET block = ?, hash = ?",
      early,
      kit.chain.blocks[early]!.hash,
    );
    await kit.settle();
    expect(listed()).toHaveLength(3);
    expect(sumUnsweptUnits(kit.store.database, "m1", "eth")).toBe(6n * eth);
    expect(take(await found())).toMatchObject({ passedOver: 0 });
    expect(await kit.orderSoon("bora")).toBe(at(28));
  });

  it("after a database was lost with all its copies is all that came, and no address leaves again", async () => {
    kit.keep("empty", "file");
    const before = [];
    for (const order of ["anna", "carl", "dora"]) before.push(await kit.orderSoon(order));
    const [annas, carls, doras] = before as [string, string, string];
    for (const address of [annas, doras]) kit.pay(address);
    await kit.settle();
    await kit.restored("empty", () => {
      rmSync(marksPathOf(kit.database));
      const store = openStore(kit.database, silentLog);
      for (const table of ["meta WHERE name = 'addressMarks'", "cursors", "vouched"])
        store.database.run(`DELETE FROM ${table}`);
      store.close();
    });
    expect([kit.reason, kit.rows()]).toEqual(["", []]);
    await kit.read();
    const scanned = await found();
    expect(scanned.found.map(({ address }) => address)).toEqual([annas, doras]);
    kit.nowMs += 86_400_000;
    expect(take(scanned)).toMatchObject({ watched: 2, passedOver: 3 });
    expect(before).not.toContain(await kit.orderSoon("bora"));
    // The address in between was given out, and nobody had paid to it yet.
    kit.pay(carls);
    await kit.settle();
    await until(() => listed().length === 3);
    expect(listed().map(([address, units]) => `${address} ${units}`)).toEqual(
      expect.arrayContaining(before.map((address) => `${address} ${eth}`)),
    );
    expect(kit.rows().filter(({ status }) => status === 1)).toEqual([]);
  });

  it("stays where it is without an operator's word", async () => {
    kit.pay(at(25), eth);
    await kit.settle();
    expect(indexesOf(await found())).toEqual([25]);
    await kit.settle();
    expect(listed()).toEqual([]);
    expect(await kit.orderSoon("anna")).toBe(at(0));
  });
});

describe("the command scan", () => {
  let dir = "";
  let node: ChainNode;
  let chain: FakeChain;
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), "gateway-scan-"));
    chain = new FakeChain();
    node = await serveChain(chain);
    const text = JSON.stringify({
      ...testConfig,
      ...{
        chains: { local: { ...testConfig.chains.local, nodes: [node.url] } },
        currencies: { eth: testConfig.currencies.eth },
      },
      prices: {},
    });
    writeFileSync(join(dir, "gateway.config.json"), text);
    const config = parseConfig(text, dir, 0);
    const { fingerprint } = createGatewayKey(config.keyFile);
    const store = createStore(config.database, fingerprint, silentLog);
    store.database.run("INSERT INTO merchants (id, name, createdAt) VALUES ('m1', 'Shop', 0)");
    addReceivingKey(store.database, {
      merchant: "m1",
      family: "evm",
      xpub: depositXpub,
      firstDepositAddress: at(0),
      createdAt: 0,
    });
    store.close();
    chain.mine({ hash: hashOf("paid"), from: outsider, to: at(4), value: eth });
    chain.mineEmpty(3);
  });
  afterEach(async () => {
    await node.close();
    rmSync(dir, { recursive: true, force: true });
  });

  async function command(
    ...words: readonly string[]
  ): Promise<{ readonly text: string; readonly code: number }> {
    let text = "";
    const take = (part: string | Uint8Array): boolean => {
      text += part.toString();
      return true;
    };
    const spies = [process.stdout, process.stderr].map((stream) =>
      vi.spyOn(stream, "write").mockImplementation(take),
    );
    const before = process.exitCode;
    process.exitCode = undefined;
    try {
      await runGatewayCommandLine([...words, "--config", join(dir, "gateway.config.json")]);
      return { text, code: Number(process.exitCode ?? 0) };
    } finally {
      process.exitCode = before;
      for (const spy of spies) spy.mockRestore();
    }
  }

  it("shows what the database does not know, has it watched at an operator's word, and then finds nothing", async () => {
    const first = await command("scan", "--merchant", "m1", "--gap", "5");
    expect(first.text).toBe(
      `local: at block 4, indexes below 10: 10 addresses asked, 0 known, 1 found that are not\n  ${at(4)}  0/4  1 eth; its account sent nothing\n`,
    );
    expect(first.code).toBe(1);
    const watched = await command("scan", "--merchant", "m1", "--gap", "5", "--watch", "--json");
    expect([watched.code, JSON.parse(watched.text)]).toMatchObject([
      0,
      {
        ok: false,
        taken: { watched: 1, passedOver: 5, unswept: [] },
        found: [
          {
            address: at(4),
            path: "0/4",
            balances: [{ currency: "eth", amount: "1" }],
            wasUsed: false,
          },
        ],
      },
    ]);
    const again = await command("scan", "--merchant", "m1", "--gap", "5");
    expect([again.code, again.text]).toEqual([
      0,
      "local: at block 4, indexes below 10: 9 addresses asked, 1 known, 0 found that are not\n",
    ]);
  });

  it("states the whole path of an address whose key a server has", async () => {
    const store = openStore(join(dir, "gateway.db"), silentLog);
    pairAgent(store, "2");
    store.close();
    const { found } = JSON.parse(
      (await command("scan", "--merchant", "m-2", "--to", "4", "--json")).text,
    );
    expect(found).toMatchObject([{ address: at(4), path: "m/44'/60'/1'/0/4", addressIndex: 4 }]);
  });

  it("takes an account that nobody here has, and says what it cannot do", async () => {
    const scanned = await command("scan", "--xpub", depositXpub, "--to", "4", "--json");
    expect([scanned.code, JSON.parse(scanned.text)]).toMatchObject([
      1,
      { found: [{ addressIndex: 4 }], taken: null },
    ]);
    expect((await command("scan")).code).toBe(2);
    expect((await command("scan", "--xpub", depositXpub, "--watch")).code).toBe(2);
    expect((await command("scan", "--merchant", "m9")).code).toBe(1);
    node.isDown = true;
    const unread = await command("scan", "--merchant", "m1");
    expect([unread.code, unread.text]).toEqual([
      3,
      expect.stringMatching(/^local: not scanned: NODE_/),
    ]);
  });
});
