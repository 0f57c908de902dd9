/**
 * One started system of the stream `restored`: gateway and agent as they are really started, on one
 * chain. Each of its runs has orders of its own. Both folders are copied, orders go on, both are
 * restored, and the shop asks again for all that it ever asked for.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { decimalText } from "../../deposits/test-network.ts";
import { type Kit, startKit } from "../../kit/kit.ts";
import { until } from "../../kit/processes.ts";
import { createShop, type Shop } from "../../kit/shop.ts";
import { policyOf } from "../steps/orders.ts";
import type { OpenedChain } from "./chain.ts";
import { Folders } from "./folders.ts";
import { judgedRun, type RestoredOrder } from "./judge.ts";
import { RestoredOperator } from "./operator.ts";
import type { RunPlan, Standing } from "./plan.ts";

/** As long as a machine needs that does much else. */
const readyMs = 300_000;
const endMs = 300_000;
const lookMs = 400;
/** Amounts in the chain's unit: below, and above the limit from which an operator approves. */
const units = { usual: 2n, held: 5n } as const;

export interface PlayReport {
  readonly orders: number;
  readonly waited: number; // orders that waited for a person
  readonly recoveries: number;
  readonly violations: readonly string[];
}

export class RestoredWorld {
  readonly #kit: Kit;
  readonly #opened: OpenedChain;
  readonly #hotWalletAddress: string;
  readonly #agent: string;
  readonly #shop: Shop;
  readonly #folders: Folders;
  readonly #seed: string;
  #count = 0;

  private constructor(
    kit: Kit,
    opened: OpenedChain,
    wallet: { address: string; agent: string },
    seed: string,
  ) {
    this.#kit = kit;
    this.#opened = opened;
    this.#hotWalletAddress = wallet.address;
    this.#agent = wallet.agent;
    this.#shop = createShop(kit);
    this.#folders = new Folders(kit);
    this.#seed = seed;
  }

  /** Closes the chain too, at its end. */
  static async create(opened: OpenedChain, seed: string): Promise<RestoredWorld> {
    const { chain } = opened;
    const policy = { [chain.id]: policyOf(chain) };
    const kit = await startKit({
      alsoServes: chain.served(),
      policy,
      readyMs,
      inProcess: true,
      confirmations: 2,
    });
    try {
      await chain.begins?.(kit.anvil.url);
      if (chain.agentLines !== undefined)
        addLines(kit.configPath, chain.chainName, chain.agentLines);
      const world = await startOn(kit, opened);
      return new RestoredWorld(kit, opened, world, seed);
    } catch (error) {
      await kit.close();
      await chain.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#kit.close();
    await this.#opened.chain.close();
  }

  /** One run; `tell` gets each line that somebody types. */
  async play(
    plan: RunPlan,
    isRecovered: boolean,
    tell: (line: string) => void,
  ): Promise<PlayReport> {
    const { chain, finalMs } = this.#opened;
    const operator = new RestoredOperator(this.#kit, this.#agent, finalMs, tell);
    const before = await this.#stand(plan.atCopy, operator);
    this.#folders.copy();
    chain.goesOn(true);
    const later = await this.#goOn(plan, before, operator);
    for (const order of [...before, ...later]) {
      await this.#note(order);
      order.before = await operator.attemptsOf(order.transactionId);
    }
    await this.#folders.end(plan.isKilled);
    if (!plan.isAtRest) {
      chain.goesOn(true);
      await sleep(finalMs);
    }
    this.#folders.restore(isRecovered);
    const forgotten = later.filter((one) => one.before.length > 0).length;
    await this.#start(isRecovered, operator, forgotten);
    const [paid] = later;
    const alike = Array.from({ length: plan.alike }, () => this.#next(units.usual, paid));
    const all = [...before, ...later, ...alike, this.#next(units.usual)];
    for (const order of all) await this.#post(order);
    chain.goesOn(true);
    await this.#untilEnded(all, operator);
    await operator.finish();
    return {
      orders: all.length,
      waited: operator.waited.size,
      recoveries: operator.recoveries,
      violations: await this.#judge(all, operator),
    };
  }

  /** The ledger as it is at the end. */
  async verify(): Promise<readonly string[]> {
    const { code, output } = await this.#kit.cli("verify", "--json");
    return code === 0 ? [] : [`the ledger does not verify: ${output.trim()}`];
  }

  /** Orders that reach their steps; no block comes afterwards if some are on their way. */
  async #stand(
    { paid, held, onItsWay }: Standing,
    operator: RestoredOperator,
  ): Promise<readonly RestoredOrder[]> {
    const { chain } = this.#opened;
    const ended = this.#several(paid, units.usual);
    for (const order of ended) await this.#post(order);
    await this.#untilEnded(ended, operator);
    const waiting = this.#several(held, units.held);
    for (const order of waiting) await this.#post(order);
    for (const order of waiting) await this.#reaches(order, ["awaiting_approval"]);
    const going = this.#several(onItsWay, units.usual);
    if (going.length > 0) chain.goesOn(false);
    for (const order of going) await this.#post(order);
    for (const order of going) await this.#reaches(order, ["broadcast", "confirming"]);
    return [...ended, ...waiting, ...going];
  }

  /** After the copy: what was on its way arrives, somebody approves, and there are more orders. */
  async #goOn(
    plan: RunPlan,
    before: readonly RestoredOrder[],
    operator: RestoredOperator,
  ): Promise<readonly RestoredOrder[]> {
    const isLeft = (one: RestoredOrder): boolean =>
      one.units >= units.held * this.#opened.chain.unit;
    const ends = before.filter((one) => plan.isApprovedAfter || !isLeft(one));
    await this.#untilEnded(ends, operator);
    return this.#stand(plan.after, operator);
  }

  async #start(isRecovered: boolean, operator: RestoredOperator, forgotten: number): Promise<void> {
    const { chain, finalMs } = this.#opened;
    if (!isRecovered) {
      await startGateway(this.#kit, this.#opened);
      await this.#kit.startCrypto();
      return;
    }
    chain.goesOn(true);
    await startGateway(this.#kit, this.#opened);
    await sleep(finalMs);
    const recovering = operator.recover(forgotten);
    await this.#kit.startCrypto();
    await recovering;
  }

  #several(count: number, of: bigint): readonly RestoredOrder[] {
    return Array.from({ length: count }, () => this.#next(of));
  }

  /** The next order, not posted yet; of the content of `like`, where that is there. */
  #next(of: bigint, like?: RestoredOrder): RestoredOrder {
    const { chain } = this.#opened;
    this.#count += 1;
    const content = like ?? {
      receiver: chain.receiver(`${this.#seed}/receiver/${this.#count}`),
      units: of * chain.unit + BigInt(this.#count),
    };
    const { receiver, units: amount } = content;
    return {
      orderId: `order-${this.#count}`,
      receiver,
      units: amount,
      transactionId: "",
      status: 0,
      txHash: "",
      before: [],
    };
  }

  /** Posts until there is an answer, as a shop has to, harmless because of the orderId. */
  async #post(one: RestoredOrder): Promise<void> {
    const { id: currency, decimal } = this.#opened.chain;
    const order = {
      orderId: one.orderId,
      receiver: one.receiver,
      currency,
      amount: decimalText(one.units, decimal),
    };
    await until(`an answer for ${one.orderId}`, readyMs, async () => {
      const { status, code, message, transactionId } = await this.#shop.autoWithdraw(order);
      if (transactionId === "") throw new Error(`${status} ${code} ${message}`);
      one.transactionId = transactionId;
      return true;
    });
    one.status = 0;
  }

  async #reaches(one: RestoredOrder, stages: readonly string[]): Promise<void> {
    let last = "";
    const look = async (): Promise<true | undefined> => {
      last = (await this.#shop.transaction(one.transactionId)).stage;
      return stages.includes(last) ? true : undefined;
    };
    await until(
      `${one.orderId} is ${stages.join(" or ")}`,
      endMs,
      look,
      () => `${last}\n${this.#said()}`,
    );
  }

  /** What the shop is told of an order now goes into its books. */
  async #note(one: RestoredOrder): Promise<string> {
    const { status, stage, txHash } = await this.#shop.transaction(one.transactionId);
    one.status = status;
    if (txHash !== "") one.txHash = txHash;
    return stage;
  }

  async #untilEnded(orders: readonly RestoredOrder[], operator: RestoredOperator): Promise<void> {
    const stages = new Map<string, string>();
    const look = async (): Promise<true | undefined> => {
      for (const one of orders) stages.set(one.transactionId, await this.#note(one));
      if (orders.every(({ status }) => status !== 0)) return true;
      const held = new Set(
        [...stages].filter(([, stage]) => stage === "awaiting_operator").map(([id]) => id),
      );
      const { transactions } = await this.#opened.chain.judge(this.#hotWalletAddress, []);
      await operator.look(orders, { held, paid: new Set(transactions.keys()) });
      return undefined;
    };
    const told = (): string =>
      `${[...stages].map(([id, stage]) => `${id} ${stage}`).join(", ")}\n${this.#said()}`;
    if (orders.length > 0) await until("the end of every order", endMs, look, told, lookMs);
  }

  async #judge(
    orders: readonly RestoredOrder[],
    operator: RestoredOperator,
  ): Promise<readonly string[]> {
    await sleep(this.#opened.finalMs);
    const receivers = [...new Set(orders.map(({ receiver }) => receiver))];
    const judged = await this.#opened.chain.judge(this.#hotWalletAddress, receivers);
    return [...operator.violations, ...judgedRun(orders, judged)];
  }

  readonly #said = (): string =>
    `${this.#kit.crypto?.output().slice(-3_000)}\n${this.#kit.gateway?.output().slice(-3_000)}`;
}

async function startOn(
  kit: Kit,
  opened: OpenedChain,
): Promise<{ readonly address: string; readonly agent: string }> {
  const { chain } = opened;
  await startGateway(kit, opened);
  const paired = await kit.pair();
  if (paired.code !== 0) throw new Error(`pair.js ended with ${paired.code}:\n${paired.output}`);
  const { output } = await kit.cli("address", chain.id, "--json");
  const { address } = JSON.parse(output) as { address: string };
  await kit.startCrypto();
  await chain.fund(kit, address);
  const [{ agentId = "" } = {}] = JSON.parse(await kit.operate("agents", "--json")) as {
    agentId?: string;
  }[];
  const shop = createShop(kit);
  const isThere = async (): Promise<true | undefined> =>
    Number((await shop.balance(chain.id)).available) > 0 ? true : undefined;
  await until(
    "the hot wallet has its money",
    readyMs,
    isThere,
    () => kit.gateway?.output().slice(-2_000) ?? "",
  );
  return { address, agent: agentId };
}

/** A chain at rest, and one with a clock of its own, has nodes that the gateway calls stale. */
function startGateway(kit: Kit, { chain: { chainName } }: OpenedChain): Promise<void> {
  return kit.startGateway(readyMs, ({ checks }) =>
    checks.every(
      ({ name, ok, detail }) =>
        ok || (name === `chain ${chainName}` && detail.includes("NODE_STALE")),
    ),
  );
}

function addLines(path: string, chainName: string, lines: Readonly<Record<string, unknown>>): void {
  const config = JSON.parse(readFileSync(path, "utf8")) as { chains: Record<string, object> };
  config.chains[chainName] = { ...config.chains[chainName], ...lines };
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
}
