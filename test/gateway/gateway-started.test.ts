/**
 * The running gateway reports a token that is out of service, at /ready and in its log, and counts
 * wrong sums again at its start: startGateway with its own probes on a chain whose contract lies.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, it } from "vitest";
import { depositAddressOf } from "../../chains/evm/address.ts";
import { createGatewayKey } from "../../gateway/auth/gateway-key.ts";
import { operatorProof } from "../../gateway/auth/operator-view.ts";
import { type GatewayConfig, parseConfig } from "../../gateway/config/config.ts";
import { type Gateway, startGateway } from "../../gateway/gateway.ts";
import type { OperatorContext } from "../../gateway/operator/accounts.ts";
import { retryFault } from "../../gateway/operator/faults.ts";
import { operatorHeaders } from "../../gateway/operator/health.ts";
import { listFaults } from "../../gateway/store/faults.ts";
import { addReceivingKey } from "../../gateway/store/receiving-keys.ts";
import { createStore, openStore } from "../../gateway/store/store.ts";
import {
  type ChainNode,
  FakeChain,
  type Lie,
  NodeErrorAnswer,
  serveChain,
} from "../../lab/kit/fake-chain.ts";
import { depositXpub } from "../../lab/kit/gateway-database.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import { until } from "../support/until.ts";

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

let dir = "";
let node: ChainNode;
let running: Gateway | null = null;
let lines: Record<string, unknown>[] = [];
const log = pino({ level: "info" }, { write: (text: string) => void lines.push(JSON.parse(text)) });

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "gateway-started-"));
  lines = [];
  const chain = new FakeChain(Math.floor(Date.now() / 1000) - 10);
  chain.mineEmpty(5);
  node = await serveChain(chain);
});
afterEach(async () => {
  await running?.close();
  running = null;
  await node.close();
  rmSync(dir, { recursive: true, force: true });
});

function prepared(nodes: readonly string[] = [node.url]): GatewayConfig {
  const local = { ...testConfig.chains.local, nodes };
  const { eth, usdt } = testConfig.currencies;
  const text = JSON.stringify({ ...testConfig, chains: { local }, currencies: { eth, usdt } });
  const config = parseConfig(text, dir, 0);
  const { fingerprint } = createGatewayKey(config.keyFile);
  createStore(config.database, fingerprint, log).close();
  return config;
}

let taken: GatewayConfig;
const begin = async (config: GatewayConfig): Promise<Gateway> => {
  taken = config;
  running = await startGateway(config, { log, clock: Date.now, onPoisoned: () => {} });
  return running;
};

/** Every call of a contract is answered so. */
const answering =
  (word: string): Lie =>
  (method, _params, honest) =>
    method === "eth_call" ? word : honest;

async function checked(): Promise<{ readonly status: number; readonly token: Check | undefined }> {
  const { status, named } = await askReady();
  return { status, token: named("currency usdt") };
}

/** As the operator's own commands ask, unless a test says how. */
async function askReady(headers?: Readonly<Record<string, string>>) {
  const answer = await fetch(`${running?.url}/ready`, {
    headers: headers ?? operatorHeaders(taken),
  });
  const { checks, figures } = (await answer.json()) as {
    readonly checks: readonly Check[];
    readonly figures?: object;
  };
  return {
    status: answer.status,
    figures,
    named: (wanted: string): Check | undefined => checks.find(({ name }) => name === wanted),
  };
}

/** Waits until the chain's check has these words, and returns its state. */
async function chainSays(
  words: RegExp,
): Promise<{ readonly status: number; readonly ok: boolean; readonly detail: string }> {
  for (let tries = 0; tries < 200; tries += 1) {
    const { status, named } = await askReady();
    const { ok = false, detail = "nothing" } = named("chain local") ?? {};
    if (words.test(detail)) return { status, ok, detail };
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`the chain's check never says ${words}`);
}

/** The log's own words for it are waited for, then /ready is asked. */
const saidOnce = (event: string): Promise<void> =>
  until(() => lines.some((line) => line.event === event));

it("a token whose contract counts otherwise is named at /ready and once in the log, and comes back by itself", async () => {
  node.lie = answering(`0x${"12".padStart(64, "0")}`);
  await begin(prepared());
  await saidOnce("currency-out");
  await until(() => lines.some((line) => line.event === "chain-read"));
  expect(await checked()).toEqual({
    status: 200,
    token: {
      ...{ name: "currency usdt", ok: false, aloneOut: true },
      detail: "out of service: its contract does not confirm its decimals",
    },
  });
  const out = lines.filter((line) => line.event === "currency-out");
  expect(out).toMatchObject([{ chain: "local", currency: "usdt", code: "WATCHER_DECIMALS" }]);
  node.lie = answering(`0x${"6".padStart(64, "0")}`);
  await until(() => lines.some((line) => line.event === "currency-back"));
  expect((await checked()).token).toEqual({
    name: "currency usdt",
    ok: true,
    detail: "",
    aloneOut: true,
  });
});

it("a token whose contract breaks while the gateway runs goes out by itself, an operator has it tried, and it comes back", async () => {
  const decimals = answering(`0x${"6".padStart(64, "0")}`);
  const breaks: Lie = (method, params, honest) =>
    method === "eth_call" && String((params[0] as { data?: string }).data).startsWith("0x70a08231")
      ? new NodeErrorAnswer("execution reverted")
      : decimals(method, params, honest);
  node.lie = decimals;
  const config = prepared();
  const store = openStore(config.database, log);
  store.database.run("INSERT INTO merchants (id, name, createdAt) VALUES ('m_a', 'Shop', 0)");
  const firstDepositAddress = depositAddressOf(depositXpub, 0);
  addReceivingKey(store.database, {
    merchant: "m_a",
    family: "evm",
    xpub: depositXpub,
    firstDepositAddress,
    createdAt: 0,
  });
  store.close();
  const { store: served } = await begin(config);
  await saidOnce("chain-read");
  expect(listFaults(served.database)).toEqual([]);
  node.lie = breaks;
  served.database.run("DELETE FROM addressStates"); // the next addresses are looked at again
  await until(() => listFaults(served.database).length > 0);
  expect(listFaults(served.database)).toMatchObject([
    { domain: "currency", id: "usdt", merchant: "", code: "NODE_ERROR", toldAt: null },
  ]);
  expect(listFaults(served.database)[0]?.words).toContain("execution reverted");
  expect((await chainSays(/^$/)).status).toBe(200);
  node.lie = decimals;
  const by = {
    store: served,
    actor: "ayse",
    nowMs: 1,
    clock: () => 1,
  } as unknown as OperatorContext;
  expect(retryFault(by, "currency/eip155:31337/usdc")).toMatchObject({
    ok: false,
    code: "GATEWAY_UNKNOWN_FAULT",
  });
  expect(retryFault(by, "currency/eip155:31337/usdt")).toEqual({ ok: true });
  await until(() => listFaults(served.database).length === 0);
}, 20_000);

it("a token whose contract counts as configured is in service, and the log has no word of it", async () => {
  node.lie = answering(`0x${"6".padStart(64, "0")}`);
  await begin(prepared());
  await saidOnce("chain-read");
  expect(await checked()).toMatchObject({ status: 200, token: { ok: true } });
  expect(lines.filter((line) => String(line.event).startsWith("currency-"))).toEqual([]);
});

it("/ready says which of three nodes is out and since when, while the chain is read, and nothing of it once it answers", async () => {
  const others = [await serveChain(node.chain), await serveChain(node.chain)];
  try {
    await begin(prepared([node.url, ...others.map(({ url }) => url)]));
    expect(await chainSays(/^$/)).toMatchObject({ status: 200, ok: true });
    const before = Date.now();
    others[0]!.isDown = true;
    const words = new RegExp(
      `^2 of 3 nodes answer; ${others[0]!.url} cannot be reached since (\\S+) UTC: [A-Z]+$`,
    );
    const { status, ok, detail } = await chainSays(words);
    expect([status, ok]).toEqual([200, true]);
    const after = Date.now();
    const today = Date.parse(
      `${new Date(after).toISOString().slice(0, 10)}T${words.exec(detail)?.[1]}.999Z`,
    );
    // A time that is still to come today was yesterday's: midnight has passed since.
    const since = today > after + 1_000 ? today - 86_400_000 : today;
    expect(since).toBeGreaterThanOrEqual(before - 1);
    // Anybody else reads no address and no word of a node, and no figures, also from this machine:
    // a proxy there may ask for an outsider and add no header.
    const { "operator-proof": proof = "" } = operatorHeaders(taken);
    const ofAnotherRun = operatorProof(running!.key, "another run");
    const outsiders = [
      {},
      { "x-forwarded-for": "203.0.113.5" },
      { "operator-proof": "" },
      { "operator-proof": ofAnotherRun },
    ];
    for (const headers of [
      ...outsiders,
      { "operator-proof": `${proof.slice(0, -1)}${proof.endsWith("0") ? "1" : "0"}` },
    ]) {
      const { named, figures } = await askReady(headers);
      expect(named("chain local")?.detail).toMatch(
        /^2 of 3 nodes answer; node 1 cannot be reached since [0-9:]{8} UTC$/,
      );
      expect(figures).toBeUndefined();
    }
    expect((await askReady()).figures).toMatchObject({ agentsConnected: 0 });
    others[0]!.isDown = false;
    expect(await chainSays(/^$/)).toMatchObject({ status: 200, ok: true });
  } finally {
    await running?.close();
    running = null;
    for (const other of others) await other.close();
  }
});

it("reserved sums that are not what the withdrawals make are counted again at the start, and that is told", async () => {
  const config = prepared();
  const told = () => lines.filter((line) => line.event === "reserved-corrected");
  const { store } = await begin(config);
  expect(told()).toEqual([]);
  const sum = ["0xa", "eip155:31337", "eth", 1, "5"] as const;
  store.database.run(
    "INSERT INTO reserved (account, network, currency, withdrawals, units) VALUES (?, ?, ?, ?, ?)",
    ...sum,
  );
  await running?.close();
  const again = await begin(config);
  expect(told()).toMatchObject([{ wrong: 1 }]);
  expect(again.store.database.all("SELECT * FROM reserved")).toEqual([]);
});

it("a start that fails at the prices of the database leaves nothing running: the next start has the database to itself", async () => {
  const config = prepared();
  const held = openStore(config.database, log);
  const [{ sql } = { sql: "" }] = held.database.all<{ sql: string }>(
    "SELECT sql FROM sqlite_master WHERE name = 'prices'",
  );
  held.write((database) => database.run("DROP TABLE prices"));
  await expect(begin(config)).rejects.toThrow("prices");
  held.write((database) => database.run(sql));
  held.close();
  await begin(config);
  expect((await fetch(`${running?.url}/health`)).status).toBe(200);
});
