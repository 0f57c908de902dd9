/** The ground of a run on a chain of coins, where a coin is taken only once. */
import type { SightedCoin } from "../../../protocol/sightings.ts";
import { CoinMoney } from "../invariants/coins.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import type { ChainFixture, Explorer, Hostilities, JudgedRun, Strikes } from "./chain-fixture.ts";
import { CoinChain } from "./coin-chain.ts";
import { CoinNode } from "./coin-node.ts";
import { scriptOf } from "./coin-script.ts";
import { noFaults } from "./node.ts";
import type { Plan } from "./plan.ts";
import { begun, hotWallet, network, nodeUrls } from "./setting.ts";

const satPerKvB = 3_000n;
/** The least rate that nodes forward. */
const relayedMin = 1_000n;
/** A payment of several coins costs less than its ceiling at this rate. */
const dearMax = 60_000n;
const hostileCoinsMax = 12;
/** Coins that each pay for an order, and more. */
const lumps: readonly bigint[] = [35n, 35n, 60n, 15n, 15n, 90n, 120n].map(
  (hundredths) => hundredths * 1_000_000n,
);
/** Coins of which an order takes several, and most of the last one comes back. */
const small: readonly bigint[] = Array.from(
  { length: 24 },
  (_, at) => 6_000_000n + BigInt((at * 7_919) % 40) * 100_000n,
);
/** Coins that pay for an order almost exactly: little change or none is left for a higher fee. */
const exact: readonly bigint[] = Array.from(
  { length: 32 },
  (_, at) => 5_000_000n + 230n + BigInt((at * 53) % 170),
);
/** Coins that cost more than they bring at most rates. */
const dust: readonly bigint[] = Array.from({ length: 8 }, (_, at) => 330n + BigInt(at * 190));
/** The account's coins when a run begins, and those that outsiders pay into it later. */
const wallets = [
  { funds: lumps, later: [] },
  { funds: small, later: [] },
  { funds: [...small.slice(0, 16), ...dust], later: [lumps.slice(0, 2), dust.slice(0, 3)] },
  { funds: exact, later: [] },
  { funds: exact.slice(0, 20), later: [exact.slice(20, 26), dust.slice(0, 2), exact.slice(26)] },
  {
    funds: exact.slice(0, 3),
    later: [dust.slice(0, 4), exact.slice(3, 12), small.slice(0, 6), small.slice(6)],
  },
] as const;
/** The first block of each network for tests, and whether its nodes replace what waits. */
const networks = {
  bitcoinregtest: {
    genesis: "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206",
    isReplaced: true,
  },
  litecoinregtest: {
    genesis: "530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9",
    isReplaced: false,
  },
} as const;

export class CoinChainFixture implements ChainFixture {
  readonly evm = null;
  readonly counted = null;
  readonly openTxParams = { satPerKvB: "" };
  readonly namedTxParams = { satPerKvB: "20000" };
  readonly fullTxParams = this.namedTxParams;
  readonly money: CoinMoney;
  readonly #network: (typeof networks)[keyof typeof networks];
  readonly #chain: CoinChain;
  readonly #nodes: readonly CoinNode[];
  readonly #amounts: readonly bigint[]; // that are ordered
  readonly #later: (readonly bigint[])[];
  readonly #makesUp: boolean; // the courier names coins that there are not
  readonly #isAgreed: boolean; // and so does the gateway
  readonly #agreed = new Map<bigint, Pick<SightedCoin, "id" | "units">>(); // by the payment's amount
  #dearUntilMs = 0; // the market's rise ends then; 0 for none

  constructor(plan: Plan, onCircle: (owner: Owner) => void) {
    const { confirmations, family } = plan;
    this.#network = networks[family === "litecoinregtest" ? family : "bitcoinregtest"];
    this.#isAgreed = plan.unnamed === "both";
    this.#makesUp = plan.unnamed === "courier" || this.#isAgreed;
    this.#amounts = plan.orders.map(({ units }) => units);
    const { funds, later } = kernel.random.pick("the account's coins", wallets);
    this.#later = [...later];
    this.#chain = new CoinChain({
      ...this.#network,
      script: scriptOf(hotWallet),
      confirmations,
      funds,
      startedAt: begun,
    });
    this.#nodes = nodeUrls(plan).map((url) => {
      const node = new CoinNode(this.#chain, scriptOf, onCircle);
      kernel.nodes.set(url, node);
      return node;
    });
    this.money = new CoinMoney(this.#chain, plan);
  }

  get explorer(): Explorer {
    const { young, dear } = this.#chain;
    return {
      young,
      dear,
      hasPaid: (address, units) => this.money.hasPaid(scriptOf(address), units),
    };
  }

  conceal(): ReadonlyMap<string, () => void> {
    return new Map(
      [...this.#chain.conceal()].map(([hash, raw]) => [hash, () => void this.#chain.offer(raw)]),
    );
  }

  get outside(): ReadonlySet<string> {
    return this.#chain.outside;
  }

  get headMs(): number {
    return this.#chain.top.timestamp * 1_000;
  }

  get incoming(): number {
    return this.#chain.incoming;
  }

  readonly hostilities: Hostilities = {
    noHash: "ab".repeat(32),
    fair: (_, transactionId) => this.#offer(0n, transactionId),
    txParams: (transactionId) =>
      this.#offer(kernel.random.pick("hostile amount", [0n, 0n, 0n, 1n, -1n]), transactionId),
    hurried: (transactionId) => this.#offer(0n, transactionId),
    evidence: ({ coins = "" }) => this.#evidence(coins),
    madeUp: () =>
      [...this.#agreed.values()].map((coin) => ({ network, account: hotWallet, ...coin })),
  };

  /**
   * Some coins, of the account or of others, with amounts of which one may be made up, by an eighth
   * more or less.
   */
  #offer(eighths: bigint, transactionId = ""): Readonly<Record<string, string>> {
    const { random } = kernel;
    const amount =
      this.money.amountOf(transactionId) ?? random.pick("hostile payment", this.#amounts);
    const isMadeUp = this.#makesUp && random.below("made-up coins", 3) > 0;
    const chosen = isMadeUp
      ? [this.#madeUpFor(amount)]
      : random.below("hostile coins", 2) === 0
        ? this.#changed()
        : this.#some();
    this.#known.push(...chosen);
    const falsified = random.below("hostile amount of", Math.max(1, chosen.length));
    const units = chosen.map((id, at) => {
      const known = this.#chain.outputOf(id)?.units ?? 0n;
      return at === falsified ? known + (known * eighths) / 8n : known;
    });
    const sum = units.reduce((total, one) => total + one, 0n);
    const feeSat = random.pick("hostile fee", [300n, 1_000n, 20_000n, 49_999n, 50_001n]);
    const changeSat = sum - amount - feeSat;
    const texts = chosen.map((id, at) => `${id}:${units[at]}`);
    return {
      coins: texts.join(","),
      changeSat: changeSat > 0n ? `${changeSat}` : "0",
      feeSat: `${feeSat}`,
    };
  }

  /** The same for each payment of this amount, where gateway and courier lie with one mind. */
  #madeUpFor(amount: bigint): string {
    const units = amount * 2n;
    if (!this.#isAgreed) return this.#chain.makeUp(units);
    const coin = this.#agreed.get(amount) ?? { id: this.#chain.makeUp(units), units: `${units}` };
    this.#agreed.set(amount, coin);
    return coin.id;
  }

  /** Coins in a row, of the account, of others, or named before, enough for an order as a rule. */
  #some(): readonly string[] {
    const { random } = kernel;
    const others =
      random.below("hostile coins of others", 4) === 0 ? this.#chain.coinsOfOthers() : [];
    const all = [...this.#chain.coins(), ...this.#known.slice(-3), ...others];
    const from = random.below("hostile first coin", Math.max(1, all.length));
    const row = [...new Set([...all.slice(from), ...all])];
    const least = random.pick("hostile coins for", [0n, ...this.#amounts]);
    let sum = 0n;
    const enough = row.findIndex((id) => {
      sum += this.#chain.outputOf(id)?.units ?? 0n;
      return sum > least;
    });
    const more = others.length > 0 ? others.slice(-1) : [];
    return [...new Set([...row.slice(0, enough + 1), ...more])].slice(0, hostileCoinsMax);
  }

  /** The coins of an attempt that left, with one more, one fewer, or one in another's place. */
  #changed(): readonly string[] {
    const { random } = kernel;
    const attempts = this.money.attempts;
    if (attempts.length === 0) return this.#some();
    const own = random.pick("hostile attempt", attempts).inputs.map(({ coin }) => coin);
    const other = random.pick("hostile second attempt", attempts).inputs.map(({ coin }) => coin);
    const free = this.#chain.coins();
    const one = free[random.below("hostile free coin", Math.max(1, free.length))] ?? "";
    const changed = random.pick("hostile change", [
      own,
      [...own, one],
      [...own, ...other.slice(-1)],
      // Enough of the account's own, and a coin of a payment that has another pin.
      ...[own, other].map((spent) => [...this.#some(), ...spent.slice(-1)]),
      [one, ...own],
      own.length > 1 ? own.slice(0, -1) : own,
      own.length > 1 ? own.slice(1) : own,
      [...own.slice(0, 1), one],
      [...own].reverse(),
    ]);
    return [...new Set(changed.filter((id) => id !== ""))];
  }

  /** Coins that were named before: they may be spent by now. */
  readonly #known: string[] = [];

  /** The transactions that made the coins; at times none, the first one alone, or in its place. */
  #evidence(coins: string): readonly string[] {
    const { random } = kernel;
    const whole = coins
      .split(",")
      .map((text) => this.#chain.made.get(text.slice(0, 64))?.body ?? "");
    switch (random.below("hostile evidence", 10)) {
      case 0:
        return [];
      case 1:
        return whole.slice(0, 1);
      case 2:
        return whole.map(() => whole[0] ?? "");
      default:
        return whole;
    }
  }

  start(world: JudgedRun): void {
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
      node.faults = {
        ...noFaults,
        error: rates.nodeErrors,
        silence: rates.nodeSilence,
        hides: rates.nodeHides,
      };
      if (this.#nodes.length > 1 && index === liar) node.faults.lie = rates.nodeLies;
      if (rates.nodeSlow > 0) node.faults.slowMs = Math.ceil(rates.nodeSlow / 10);
    }
  }

  strike(strikes: Strikes, plan: Plan): void {
    const { random } = kernel;
    const chain = this.#chain;
    if (strikes("poolForgets", "the pool forgets")) chain.forget();
    if (plan.confirmations > 1 && strikes("reorganisation", "reorganisation"))
      chain.reorganise(
        random.between("depth", 1, plan.confirmations - 1),
        random.below("another of two", 2) === 0,
      );
    if (random.below("outsiders pay in", 12) === 0) this.#payLater();
    if (strikes("foreignOutgoing", "a foreign transaction")) this.outgoingElsewhere();
    if (strikes("nodeLags", "a node lags"))
      random.pick("which node", this.#nodes).faults.lagBlocks = random.below("lags by", 4);
    if (kernel.scheduler.nowMs < this.#dearUntilMs) return;
    if (chain.pool.size > 0 && strikes("marketRises", "the market rises")) this.#rise();
    else if (strikes("feeSpikes", "fees spike"))
      chain.satPerKvB = satPerKvB * BigInt(random.pick("spike", [1, 2, 5, 15]));
    else if (this.#dearUntilMs > 0) this.#fall();
  }

  /** No block takes the attempts that wait, until others are made in their places. */
  #rise(): void {
    const { random, scheduler } = kernel;
    this.#dearUntilMs = scheduler.nowMs + random.between("dear for seconds", 35, 75) * 1_000;
    this.#chain.satPerKvB *= BigInt(random.pick("rises by", [3, 4, 6]));
    if (this.#chain.satPerKvB > dearMax) this.#chain.satPerKvB = dearMax;
  }

  #fall(): void {
    this.#dearUntilMs = 0;
    this.#chain.satPerKvB = satPerKvB;
  }

  #payLater(): void {
    const amounts = this.#later.shift();
    if (amounts !== undefined) this.#chain.fund(amounts);
  }

  calmDown(): void {
    while (this.#later.length > 0) this.#payLater();
    for (const node of this.#nodes) {
      node.faults = { ...noFaults };
      node.passOn();
    }
    this.#chain.skipRate = 0;
    this.#chain.staleRate = 0;
    // A market that rose is no fault: replacements with a higher fee get payments through. Where
    // nodes replace nothing, blocks take all that the pool has once the market has fallen.
    const calmMax = this.#network.isReplaced ? satPerKvB * 5n : relayedMin;
    if (this.#chain.satPerKvB > calmMax) this.#chain.satPerKvB = calmMax;
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
