/**
 * `reconcile` by a process of its own kind: the command line, a real database and nodes over HTTP,
 * and the checks of the books and of the disk at /ready of a gateway that runs.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createGatewayKey } from "../../gateway/auth/gateway-key.ts";
import { runGatewayCommandLine } from "../../gateway/command.ts";
import { parseConfig } from "../../gateway/config/config.ts";
import { type Gateway, startGateway } from "../../gateway/gateway.ts";
import { keepFinalPayment } from "../../gateway/store/payments.ts";
import { createStore, openStore } from "../../gateway/store/store.ts";
import { type ChainNode, FakeChain, hashOf, serveChain } from "../../lab/kit/fake-chain.ts";
import { giveAddress, silentLog } from "../../lab/kit/gateway-database.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";

const disk = vi.hoisted(() => ({ freeBytes: 2 ** 40 }));
vi.mock("../../gateway/store/disk.ts", async (real) => ({
  ...(await real<typeof import("../../gateway/store/disk.ts")>()),
  freeBytesOf: () => disk.freeBytes,
}));

let dir = "";
let node: ChainNode;
let chain: FakeChain;
let running: Gateway | null = null;
const address = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94";
const network = "eip155:31337";
const nowMs = 1_005_000; // as the blocks of the fake chain say

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "gateway-books-"));
  chain = new FakeChain();
  node = await serveChain(chain);
});
afterEach(async () => {
  await running?.close();
  running = null;
  await node.close();
  rmSync(dir, { recursive: true, force: true });
});

/** A gateway's folder: 2 ETH were paid to one deposit address, and the database knows. */
function prepared(): ReturnType<typeof parseConfig> {
  const { eth } = testConfig.currencies;
  const text = JSON.stringify({
    ...testConfig,
    ...{
      chains: { local: { ...testConfig.chains.local, nodes: [node.url] } },
      currencies: { eth },
      prices: {},
    },
  });
  writeFileSync(join(dir, "gateway.config.json"), text);
  const config = parseConfig(text, dir, 0);
  const { fingerprint } = createGatewayKey(config.keyFile);
  const store = createStore(config.database, fingerprint, silentLog);
  store.database.run("INSERT INTO merchants (id, name, createdAt) VALUES ('m1', 'Shop', 0)");
  const amount = { units: "2000000000000000000", status: 1, stage: "completed" } as const;
  giveAddress(store, { id: "d1", address, place: 0, agent: null }, amount);
  chain.mine({
    hash: hashOf("paid"),
    from: "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
    to: address,
    value: 2n * 10n ** 18n,
  });
  chain.mineEmpty(3);
  const payment = {
    ...{ network, txHash: hashOf("paid"), logIndex: -1, address, currency: "eth", block: 1 },
    ...{ units: "2000000000000000000", blockHash: chain.blocks[1]?.hash ?? "", final: 1 as const },
    transactionId: "d1",
  } as const;
  store.write((database) => keepFinalPayment(database, payment));
  store.database.run("INSERT INTO cursors VALUES (?, 3, ?)", network, chain.blocks[3]?.hash ?? "");
  store.close();
  return config;
}

async function command(
  ...words: readonly string[]
): Promise<{ readonly text: string; readonly code: number }> {
  let text = "";
  const spy = vi.spyOn(process.stdout, "write").mockImplementation((part) => {
    text += part.toString();
    return true;
  });
  const before = process.exitCode;
  process.exitCode = undefined;
  try {
    await runGatewayCommandLine([...words, "--config", join(dir, "gateway.config.json")]);
    return { text, code: Number(process.exitCode ?? 0) };
  } finally {
    process.exitCode = before;
    spy.mockRestore();
  }
}

it("reconcile closes the books over HTTP, beside a gateway or without one, and --last shows the same", async () => {
  prepared();
  const live = await command("reconcile");
  expect(live.text).toMatch(
    /^local: closed \S+ at block 3, 1 deposit address and 0 hot wallets, 1 balance compared, 0 differences\n$/,
  );
  const last = await command("reconcile", "--last");
  expect([live.code, last]).toEqual([0, live]);
  const listed = JSON.parse((await command("reconcile", "--json", "--currency", "eth")).text) as {
    ok: boolean;
    chains: object[];
  };
  expect(listed).toMatchObject({
    ok: true,
    chains: [{ chain: "local", lastBlock: 3, addresses: 1, compared: 1, code: "" }],
  });
});

it("the running gateway names a difference and a disk without room at /ready, and is ready all the same", async () => {
  const config = prepared();
  const store = openStore(config.database, silentLog);
  store.database.run(
    "INSERT INTO bookDifferences VALUES (?, ?, 'eth', 'm1', 'deposit', '2', '1', 3, 2, '', 5)",
    network,
    address,
  );
  store.database.run(
    "INSERT INTO closings VALUES (?, ?, 3, 3, 1, 0, 1, 0, ?, '')",
    network,
    nowMs,
    nowMs,
  );
  store.close();
  running = await startGateway(config, {
    log: silentLog,
    clock: () => nowMs,
    onPoisoned: () => {},
  });
  await vi.waitFor(
    async () => expect(await (await fetch(`${running?.url}/ready`)).text()).toMatch(/"ready"/),
    {
      timeout: 10_000,
      interval: 50,
    },
  );
  const said = async (
    name: string,
  ): Promise<readonly [number, boolean | undefined, string | undefined]> => {
    const answer = await fetch(`${running?.url}/ready`);
    const { checks } = (await answer.json()) as {
      checks: { name: string; ok: boolean; detail: string }[];
    };
    const check = checks.find((one) => one.name === name);
    return [answer.status, check?.ok, check?.detail];
  };
  expect(await said("books local")).toEqual([
    200,
    false,
    expect.stringMatching(/^1 difference, found at \S+, newest whole closing at \S+$/),
  ]);
  expect(await said("disk")).toEqual([200, true, ""]);
  disk.freeBytes = 64 * 1024 * 1024 - 1;
  expect(await said("disk")).toEqual([
    200,
    false,
    "63 MiB are free on the database's disk, too few: make room",
  ]);
});

it("report shows what a merchant had, received and has, equal to the chain at both ends, and the way out of bad periods", async () => {
  prepared();
  const all = await command("report", "--since", "1970-01-01", "--on-chain");
  expect(all.text).toMatch(
    /^from 1970-01-01T00:00:00.000Z to \S+\nlocal: blocks 0 to 3\n {2}m1 {2}Shop {2}eth: opening 0, paid in 2, paid out 0, fees 0, closing 2; as on the chain\n$/,
  );
  expect(all.code).toBe(0);
  const later = JSON.parse((await command("report", "--month", "2026-03", "--json")).text) as {
    chains: object[];
  };
  const still = { opening: "2", paidIn: "0", closing: "2", chainOpening: "" };
  expect(later).toMatchObject({
    since: "2026-03-01T00:00:00.000Z",
    chains: [{ blocks: { before: 3, last: 3 }, lines: [still] }],
  });
  const csv = (await command("report", "--since", "1970-01-01", "--csv")).text.split("\r\n");
  expect(csv[1]).toBe("m1,Shop,eth,0,2,0,0,0,0,2,,,local,-1,3");
  await node.close();
  const dead = await command("report", "--month", "2026-03");
  expect([dead.code, dead.text]).toEqual([
    3,
    expect.stringMatching(/local: cannot be read: NODE_/),
  ]);
  for (const words of [
    ["--month", "2026-13"],
    ["--until", "2026-01-01"],
    ["--month", "2026-01", "--since", "2026-01-01"],
    ["--since", "2026-02-01", "--until", "2026-01-01"],
  ])
    expect((await command("report", ...words)).code, words.join(" ")).toBe(2);
});
