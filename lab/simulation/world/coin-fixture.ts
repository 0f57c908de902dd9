/** The ground of a run on a chain of coins, where a coin is taken only once. */
import { CoinMoney } from "../invariants/coins.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import type { ChainFixture, Hostilities, Judged, Strikes } from "./chain-fixture.ts";
import { CoinChain } from "./coin-chain.ts";
import { CoinNode } from "./coin-node.ts";
import { scriptOf } from "./coin-script.ts";
import { noFaults } from "./node.ts";
import type { Plan } from "./plan.ts";
import { begun, hotWallet, nodeUrls } from "./setting.ts";

const satPerKvB = 3_000n;
const coin = 100_000_000n;
const funds = [35n, 35n, 60n, 15n, 15n, 90n, 120n].map((hundredths) => (hundredths * coin) / 100n);
/** The first block of the network for tests. */
const genesis = "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206";

export class CoinChainFixture implements ChainFixture {
  readonly evm = null;
  readonly counted = null;
  readonly openTxParams = { satPerKvB: "" };
  readonly namedTxParams = { satPerKvB: "20000" };
  readonly money: CoinMoney;
  readonly #chain: CoinChain;
  readonly #nodes: readonly CoinNode[];
  readonly #amounts: readonly bigint[]; // that are ordered

  constructor(plan: Plan, onCircle: (owner: Owner) => void) {
    const { confirmations } = plan;
    this.#amounts = plan.orders.map(({ units }) => units);
    this.#chain = new CoinChain({ genesis, script: scriptOf(hotWallet), confirmations, funds, startedAt: begun });
    this.#nodes = nodeUrls(plan).map((url) => {
      const node = new CoinNode(this.#chain, scriptOf, onCircle);
      kernel.nodes.set(url, node);
      return node;
    });
    this.money = new CoinMoney(this.#chain, plan);
  }

  get outside(): ReadonlySet<string> {
    return this.#chain.outside;
  }

  get incoming(): number {
    return this.#chain.incoming;
  }

  readonly hostilities: Hostilities = {
    noHash: "ab".repeat(32),
    fair: () => this.#offer(0n),
    txParams: () => this.#offer(kernel.random.pick("hostile amount", [0n, 0n, 0n, 10_000_000n, -10_000_000n])),
    hurried: () => this.#offer(0n),
    evidence: ({ coins = "" }) => this.#evidence(coins),
  };

  /** Some coins, of the account or of others, with an amount that may be made up. */
  #offer(moreSat: bigint): Readonly<Record<string, string>> {
    const { random } = kernel;
    const all = [...this.#chain.coins(), ...(this.#known.at(-1) === undefined ? [] : this.#known.slice(-3))];
    const count = random.between("hostile coins", 1, 2);
    const from = random.below("hostile first coin", Math.max(1, all.length));
    const chosen = [...new Set([...all.slice(from), ...all].slice(0, count))];
    this.#known.push(...chosen);
    const units = chosen.map((id) => (this.#chain.outputOf(id)?.units ?? 0n) + moreSat);
    const sum = units.reduce((total, one) => total + one, 0n);
    const amount = random.pick("hostile payment", this.#amounts);
    const feeSat = random.pick("hostile fee", [300n, 1_000n, 20_000n, 49_999n, 50_001n]);
    const changeSat = sum - amount - feeSat;
    const texts = chosen.map((id, at) => `${id}:${units[at]}`);
    return { coins: texts.join(","), changeSat: changeSat > 0n ? `${changeSat}` : "0", feeSat: `${feeSat}` };
  }

  /** Coins that were named before: they may be spent by now. */
  readonly #known: string[] = [];

  #evidence(coins: string): readonly string[] {
    const { random } = kernel;
    if (random.below("hostile evidence", 6) === 0) return [];
    return coins.split(",").flatMap((text) => this.#chain.made.get(text.slice(0, 64))?.body ?? []);
  }

  start(world: Judged): void {
    const { scheduler } = kernel;
    this.#chain.onBlock = (block) => {
      if (block !== null) world.holds(() => this.money.added(block));
    };
    scheduler.every(world.plan.blockMs, scheduler.world, () => void this.#chain.mine());
  }

  begin({ rates }: Plan): void {
    const { random } = kernel;
    this.#chain.skipRate = rates.blocksSkip;
    this.#chain.staleRate = rates.minerStale;
    const liar = random.below("which node lies", this.#nodes.length);
    for (const [index, node] of this.#nodes.entries()) {
      node.faults = { ...noFaults, error: rates.nodeErrors, silence: rates.nodeSilence, hides: rates.nodeHides };
      if (this.#nodes.length > 1 && index === liar) node.faults.lie = rates.nodeLies;
      if (rates.nodeSlow > 0) node.faults.slowMs = Math.ceil(rates.nodeSlow / 10);
    }
  }

  strike(strikes: Strikes, plan: Plan): void {
    const { random } = kernel;
    const chain = this.#chain;
    if (strikes("poolForgets", "the pool forgets")) chain.forget();
    if (plan.confirmations > 1 && strikes("reorganisation", "reorganisation"))
      chain.reorganise(random.between("depth", 1, plan.confirmations - 1), random.below("another of two", 2) === 0);
    if (strikes("feeSpikes", "fees spike")) chain.satPerKvB = satPerKvB * BigInt(random.pick("spike", [1, 2, 5, 15]));
    if (strikes("foreignOutgoing", "a foreign transaction")) this.outgoingElsewhere();
    if (strikes("nodeLags", "a node lags")) random.pick("which node", this.#nodes).faults.lagBlocks = random.below("lags by", 4);
  }

  calmDown(): void {
    for (const node of this.#nodes) {
      node.faults = { ...noFaults };
      node.passOn();
    }
    this.#chain.skipRate = 0;
    this.#chain.staleRate = 0;
    this.#chain.satPerKvB = satPerKvB;
  }

  market(before: bigint | null): bigint {
    const was = this.#chain.satPerKvB;
    this.#chain.satPerKvB = before ?? was * 5n;
    return was;
  }

  outgoingElsewhere(): void {
    this.#chain.mineForeign();
  }

  payIn(address: string, _contract: string, units: bigint): void {
    this.#chain.payIn([{ units, script: scriptOf(address) }]);
  }

  isLeft(): boolean {
    return false;
  }

  wasPlaced(txHash: string): boolean {
    return this.#chain.placeOf.has(txHash);
  }

  /** Nobody says that of what a coin excludes. */
  isVoid(): boolean {
    return false;
  }

  isGone(): boolean {
    return false;
  }

  publish(raw: string): string {
    const answer = this.#chain.offer(raw) || "accepted";
    note("publishes", answer);
    return answer;
  }

  finish(isOver: () => boolean): void {
    const { confirmations } = this.#chain.options;
    for (const raw of this.money.heldBytes()) this.#chain.offer(raw);
    for (let count = 0; count <= confirmations && !isOver(); count += 1) this.#chain.mine();
  }

  hasStillToCome(): boolean {
    return false;
  }

  unended(): string {
    return "";
  }
}
