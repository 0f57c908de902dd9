/**
 * The cost of an idle pass of the watcher at few and at many agents: questions to the nodes,
 * statements and rows of the database. All of it follows what happens, and not who exists. The
 * nodes are the test's own and have blocks without a transaction.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { failedResult, goodResult } from "../../base/result.ts";
import { listHotWalletsEver } from "../../gateway/store/agents.ts";
import { unreserveAmount } from "../../gateway/store/reserved.ts";
import { newBalanceMemory, readBalances } from "../../gateway/watcher/balances.ts";
import { SenderList } from "../../gateway/watcher/deposit-memory.ts";
import { HotWallets } from "../../gateway/watcher/wallets.ts";
import {
  askWithdrawal,
  type GatewayDatabase,
  gatewayDatabase,
  insertTransaction,
  pairAgent,
  readTransaction,
  transferRow,
} from "../../lab/kit/gateway-database.ts";
import { share } from "../../lab/kit/share.ts";
import { type Costs, hotOf, World } from "../support/growth-world.ts";
import { watchedBy } from "../support/watched-by.ts";
import { currency, network, token } from "../support/watched-chain.ts";

const few = 10;
const many = share(2_000, 100);

const opened: World[] = [];
function open(agents: number): World {
  const world = new World({ agents });
  opened.push(world);
  return world;
}
afterEach(async () => {
  vi.restoreAllMocks();
  for (const world of opened.splice(0)) await world.close();
});

/** Passes until each wallet has had its first reading. */
async function settle(world: World, agents: number): Promise<void> {
  await world.pass(Math.ceil(agents / 200) + 8);
  const read = world.db.store.database.get<{ n: number }>("SELECT count(*) AS n FROM balances")?.n;
  expect(read).toBe(2 * agents);
}

/**
 * The costs of the larger world beside those of the smaller, in as many blocks as bring each
 * resting thing its turn.
 */
async function ratios(): Promise<Costs> {
  const [small, large] = [open(few), open(many)];
  await settle(small, few);
  await settle(large, many);
  small.count();
  large.count();
  const [less, more] = [await small.costOf(150), await large.costOf(150)];
  expect(less.questions).toBeGreaterThan(150);
  const ratioOf = (name: keyof Costs): number => more[name] / less[name];
  return {
    questions: ratioOf("questions"),
    statements: ratioOf("statements"),
    rows: ratioOf("rows"),
  };
}

describe("an idle pass", () => {
  it("costs questions, statements and rows that do not grow with the agents", async () => {
    const { questions, statements, rows } = await ratios();
    expect(
      [questions < 3, statements < 1.5, rows < 1.5],
      `${questions} ${statements} ${rows}`,
    ).toEqual([true, true, true]);
  });

  it("with a question for each agent, or a row, would be seen", async () => {
    vi.spyOn(HotWallets.prototype, "markResting").mockImplementation(function (this: HotWallets) {
      for (const account of this.all()) this.mark(account, 0);
    });
    vi.spyOn(SenderList.prototype, "refresh").mockImplementation(
      (database) => void listHotWalletsEver(database, network),
    );
    const { questions, rows } = await ratios();
    expect([questions > 3, rows > 1.5]).toEqual([true, true]);
  });
});

/** A reading of wallets apart from all else of a pass, by blocks of the test's own. */
class Readings {
  readonly db: GatewayDatabase = gatewayDatabase();
  readonly keys = pairAgent(this.db.store);
  readonly memory = newBalanceMemory(new HotWallets(network));
  asked: string[] = [];
  refused: string | null = null;
  nowMs = 5_000;
  #height = 10;
  readonly chain = watchedBy({
    db: this.db,
    network,
    clock: () => this.nowMs,
    currencies: [currency("eth", ""), currency("usd", token)],
    reader: {
      balances: async (questions) => {
        this.asked.push(...questions.map(({ contract }) => contract || "coin"));
        const fault = new AgentError("NODE_ANSWER", "none", "no answer");
        return questions.map(({ contract }) =>
          contract === this.refused ? failedResult(fault) : goodResult(1n),
        );
      },
    },
  });

  get account(): string {
    return this.keys.hotWalletAddress;
  }

  /** Reads at the next final block; gives the questions. */
  async next(blocks = 1): Promise<readonly string[]> {
    this.#height += blocks;
    return this.again();
  }

  async again(): Promise<readonly string[]> {
    this.asked = [];
    await readBalances(
      this.chain,
      { number: this.#height, hash: `hash ${this.#height}` },
      this.memory,
    );
    return this.asked;
  }
}

describe("a hot wallet", () => {
  let readings: Readings;
  const both = ["coin", token];
  beforeEach(async () => {
    readings = new Readings();
    expect(await readings.next()).toEqual(both);
  });
  afterEach(() => readings.db.remove());

  it("that nothing moves is read again five minutes later", async () => {
    readings.nowMs += 4 * 60_000;
    expect([await readings.again(), await readings.next()]).toEqual([[], []]);
    readings.nowMs += 60_000;
    expect(await readings.next()).toEqual(both);
  });

  it("is read in its turn although the clock was set back", async () => {
    readings.nowMs += 86_400_000;
    expect(await readings.next()).toEqual(both);
    readings.nowMs -= 86_400_000;
    expect(await readings.next()).toEqual(both);
  });

  it("that a block moved is read when that block is final, once", async () => {
    readings.memory.wallets.mark(readings.account, 14);
    expect([await readings.next(), await readings.next()]).toEqual([[], []]);
    expect([await readings.next(), await readings.again(), await readings.next()]).toEqual([
      both,
      [],
      [],
    ]);
  });

  it("that each block moves is read at each of them that is final, also if an outsider pays", async () => {
    const { wallets } = readings.memory;
    for (const final of [12, 13, 14]) {
      // The newest block is far above the final one.
      wallets.mark(readings.account, final);
      wallets.mark(readings.account, final + 60);
      expect([await readings.next(), await readings.again()]).toEqual([both, []]);
    }
    expect(await readings.next()).toEqual(both);
  });

  it("is read in its turn, and its faults end, although another part of the pass took the agents first", async () => {
    const { db, memory, chain } = readings;
    readings.refused = token;
    memory.wallets.mark(readings.account, 12);
    await readings.next();
    expect(chain.faults.list({ domain: "account" })).toHaveLength(1);
    pairAgent(db.store, "b", hotOf(1));
    db.store.database.run("UPDATE agents SET unpairedAt = 1 WHERE merchant = 'm1'");
    readings.refused = null;
    memory.wallets.refresh(db.store.database);
    expect(await readings.next()).toEqual(both);
    expect(chain.faults.list({ domain: "account" })).toEqual([]);
  });

  it("has its first reading although another agent was unpaired in the midst of the round", async () => {
    const { db } = readings;
    const wallets = new HotWallets(network);
    pairAgent(db.store, "b", hotOf(1));
    pairAgent(db.store, "c", hotOf(2));
    wallets.reached(20);
    wallets.refresh(db.store.database);
    wallets.markFirst(1);
    expect(wallets.due()).toEqual([readings.account]);
    db.store.database.run("UPDATE agents SET unpairedAt = 1 WHERE merchant = 'm1'");
    wallets.refresh(db.store.database);
    wallets.markFirst(9);
    expect(wallets.due()).toEqual([hotOf(1), hotOf(2)]);
  });

  it("with an open withdrawal is read at each final block, and once more at the block that ends it", async () => {
    const { db, keys } = readings;
    const order = readTransaction(db.store, askWithdrawal(db.store, keys.id, 1));
    expect([await readings.next(), await readings.again(), await readings.next()]).toEqual([
      both,
      [],
      both,
    ]);
    db.store.write((database) => unreserveAmount(database, transferRow(order)));
    expect([await readings.next(), await readings.next()]).toEqual([both, []]);
  });

  it("that receives an open sweep is read at each final block", async () => {
    const { db, account } = readings;
    const sweep = {
      id: "5".repeat(32),
      orderId: "s",
      operation: "sweep",
      status: 0,
      network,
      receiver: account,
      payer: token,
    } as const;
    insertTransaction(db.store, sweep);
    expect([await readings.next(), await readings.next()]).toEqual([both, both]);
  });

  it("of which one currency cannot be read is asked for that one again", async () => {
    readings.refused = token;
    readings.memory.wallets.mark(readings.account, 12);
    expect(await readings.next()).toEqual(both);
    readings.refused = null;
    readings.nowMs += 60_000;
    expect(await readings.again()).toEqual([token]);
    expect(await readings.again()).toEqual([]);
  });

  it("is read again in a currency that comes back into service, and after a reorganisation of final blocks", async () => {
    readings.chain.tokens.out.set("usd", "out of service");
    expect(await readings.next()).toEqual([]);
    readings.chain.tokens.out.delete("usd");
    expect(await readings.next()).toEqual([token]);
    // The coin was not read there, so that a block before moves it all the same.
    readings.memory.wallets.mark(readings.account, 13);
    expect(await readings.again()).toEqual(both);
    readings.memory.wallets.markAll();
    expect(await readings.again()).toEqual(both);
  });

  it("of an agent that pairs later is read at the next pass, and that of an unpaired agent no more", async () => {
    const { db } = readings;
    pairAgent(db.store, "b", hotOf(1));
    expect(await readings.again()).toEqual(both);
    db.store.database.run("UPDATE agents SET unpairedAt = 1");
    readings.nowMs += 3_600_000;
    expect(await readings.next()).toEqual([]);
  });
});
