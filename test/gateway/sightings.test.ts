/**
 * The gateway's word on coins and next slots: for whom it is said, what its nodes must show, and
 * how much an agent can ask for.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentError, Bug } from "../../base/fault.ts";
import {
  type AnswerSightingsQuestion,
  createSightingsAnswerer,
  type SightingReader,
} from "../../gateway/sightings/sightings.ts";
import {
  type AgentKeys,
  type GatewayDatabase,
  gatewayDatabase,
  insertTransaction,
  pairAgent,
  silentLog,
} from "../../lab/kit/gateway-database.ts";

const bitcoin = "bip122:0f9188f13cb7b2c71f2a335e3a4fc328";
const evm = "eip155:31337";
const deposit = "0x1111111111111111111111111111111111111111";
const hotCoins = "bcrt1q6rz28mcfaxtmd6v789l9rrlrusdprr9pz3cppk";
let db: GatewayDatabase;
let keys: AgentKeys;
let nowMs = 0;
let reads: string[] = [];
let nodes: SightingReader = {};

beforeEach(() => {
  db = gatewayDatabase();
  keys = pairAgent(db.store);
  nowMs = 1_000;
  reads = [];
  nodes = {
    sightedCoins: async (account, coins) => {
      reads.push(account);
      return coins.map(({ units }) => units === 5n);
    },
    nextSlot: async (account) => {
      reads.push(account);
      return { slot: "3", isUnused: false };
    },
  };
  const { accounts } = db.store.database.get<{ accounts: string }>(
    "SELECT accounts FROM agents",
  ) as { accounts: string };
  const coinsAccount = {
    family: "bitcoinregtest",
    purpose: "hot",
    id: hotCoins,
    firstAddress: hotCoins,
  };
  const all = JSON.stringify([...(JSON.parse(accounts) as object[]), coinsAccount]);
  db.store.database.run(
    "UPDATE agents SET accounts = ?, networks = ?",
    all,
    JSON.stringify([bitcoin, evm]),
  );
});
afterEach(() => db.remove());

const sightings = (
  change: Partial<Parameters<typeof createSightingsAnswerer>[0]> = {},
): AnswerSightingsQuestion =>
  createSightingsAnswerer({
    store: db.store,
    log: silentLog,
    clock: () => nowMs,
    reader: () => nodes,
    ...change,
  });
const coin = (units: string, account = hotCoins) => ({
  network: bitcoin,
  account,
  id: `${"a".repeat(64)}:0`,
  units,
});
const account = (address: string, network = evm) => ({ network, account: address });

describe("the word on coins and next slots", () => {
  it("is said of the agent's hot wallets, and of an address while a sweep from it is open", async () => {
    const answer = sightings();
    const ask = (...addresses: string[]) =>
      answer(keys.id, { coins: [], accounts: addresses.map((one) => account(one)) });
    expect(await ask(keys.hotWalletAddress)).toEqual({
      coins: [],
      next: [{ ...account(keys.hotWalletAddress), slot: "3", isUnused: false }],
    });
    expect(await ask(deposit)).toBeNull();
    const sweep = {
      id: "1".repeat(32),
      operation: "sweep",
      orderId: `${deposit}/1`,
      payer: deposit,
      receiver: keys.hotWalletAddress,
      network: evm,
    } as const;
    insertTransaction(db.store, { ...sweep, status: 0 });
    expect((await ask(deposit))?.next).toHaveLength(1);
    db.store.database.run("UPDATE transfers SET network = 'eip155:1'");
    expect(await ask(deposit)).toBeNull();
    db.store.database.run("INSERT INTO merchants (id, name, createdAt) VALUES ('m2', 'Other', 0)");
    db.store.database.run("UPDATE transfers SET network = ?, merchant = 'm2'", evm);
    expect(await ask(deposit)).toBeNull();
    db.store.database.run("UPDATE transfers SET merchant = 'm1', status = 1");
    expect(await ask(deposit)).toBeNull();
    expect(
      await answer("f".repeat(16), { coins: [], accounts: [account(keys.hotWalletAddress)] }),
    ).toBeNull();
    expect(reads).toEqual([keys.hotWalletAddress, deposit]);
  });

  it("names the coins that the nodes show, with one question for all of an account", async () => {
    const asked = [coin("5"), coin("6"), coin("5", "bcrt1qother")];
    expect(await sightings()(keys.id, { coins: asked, accounts: [] })).toEqual({
      coins: [coin("5")],
      next: [],
    });
    expect(reads).toEqual([hotCoins]);
  });

  it("is silent while the nodes are away, are not opened, or do not know such things, and a bug is no silence", async () => {
    const question = { coins: [coin("5")], accounts: [account(keys.hotWalletAddress)] };
    nodes = {
      sightedCoins: async () => {
        throw new AgentError("NODE_UNREACHABLE", "none", "away");
      },
    };
    expect(await sightings()(keys.id, question)).toBeNull();
    expect(await sightings({ reader: () => undefined })(keys.id, question)).toBeNull();
    nodes = {
      nextSlot: async () => {
        throw new Bug("nobody's");
      },
    };
    await expect(sightings()(keys.id, question)).rejects.toThrow("nobody's");
  });

  it("is said once at a time, and for one account more every two seconds after thirty-two", async () => {
    const answer = sightings();
    const question = {
      coins: [],
      accounts: Array.from({ length: 16 }, () => account(keys.hotWalletAddress)),
    };
    const [one, two] = await Promise.all([answer(keys.id, question), answer(keys.id, question)]);
    // At most eight questions of all agents are under way on a network.
    expect([one?.next.length, two]).toEqual([8, null]);
    for (let round = 0; round < 3; round += 1) await answer(keys.id, question);
    expect(await answer(keys.id, question)).toBeNull();
    expect(reads).toHaveLength(32);
    nowMs += 4_000;
    expect((await answer(keys.id, question))?.next).toHaveLength(2);
    expect(await answer(keys.id, question)).toBeNull();
  });
});
