/** The ground of a run on a chain that counts an account's transactions. */

import { Payments, type Reading } from "../invariants/payments.ts";
import { Prices } from "../invariants/prices.ts";
import { kernel, note, type RpcEndpoint } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import { Chain, type ChainRules } from "./chain.ts";
import type { ChainFixture, Hostilities, JudgedRun, Strikes } from "./chain-fixture.ts";
import { Node, type NodeFaults, noFaults } from "./node.ts";
import type { Plan } from "./plan.ts";
import { type Provider, providersOf } from "./provider.ts";
import { readRaw, type SignedTransaction } from "./raw.ts";
import { begun, chainId, contract, hotWallet, nodeUrls } from "./setting.ts";

/** The most that a sweep of coins may leave. */
const restWei = 10n ** 17n;
const amounts = [
  "0",
  "1",
  "21000",
  "2000000000",
  "99999999999999999999",
  "-1",
  "07",
  "1e9",
] as const;
const gasLimits = ["100000", "100000", "100000", "60000", ...amounts] as const;
/** Around the ceilings: 100,000 gas cost 0.009 and 0.011 coins at the last two of these. */
const prices = [
  "12000000000",
  "30000000000",
  "60000000000",
  "90000000000",
  "90000000000",
  "110000000000",
  ...amounts,
] as const;
const fairTxParams = {
  gasLimit: "100000",
  maxFeePerGas: "60000000000",
  maxPriorityFeePerGas: "1000000000",
} as const;
/** Just under the ceiling of one, and two are above the day's; the tip is an honest one. */
const greedyTxParams = {
  gasLimit: "100000",
  maxFeePerGas: "95000000000",
  maxPriorityFeePerGas: "1000000000",
} as const;
/** Just above the ceiling of one, and within the day's. */
const dearTxParams = { ...greedyTxParams, maxFeePerGas: "105000000000" } as const;

/** A node of such a chain. */
interface GroundNode extends RpcEndpoint {
  faults: NodeFaults;
  passOn(): void;
}

/** The properties in which families with counted slots differ. */
export interface Ground {
  readonly rules?: ChainRules;
  readonly baseFeeWei: bigint;
  readonly nativeWei: bigint;
  readonly tokenUnits: bigint;
  readonly openTxParams: Readonly<Record<string, string>>;
  readonly read: Reading["read"];
  pricesOf(chain: Chain): Reading["prices"];
  nodeOf(
    chain: Chain,
    rejects: (receiver: string) => boolean,
    onCircle: (owner: Owner) => void,
    provider: Provider | undefined,
  ): GroundNode;
}

const evmGround: Ground = {
  ...{
    baseFeeWei: 10_000_000_000n,
    nativeWei: 1_000n * 10n ** 18n,
    tokenUnits: 1_000_000n * 10n ** 6n,
  },
  openTxParams: { gasLimit: "", maxFeePerGas: "", maxPriorityFeePerGas: "" },
  read: readRaw,
  pricesOf: (chain) => new Prices(chain.baseFeeWei),
  nodeOf: (chain, rejects, onCircle, provider) => new Node(chain, rejects, onCircle, provider),
};

export class CountedChainFixture implements ChainFixture {
  readonly explorer = null;
  readonly money: Payments;
  readonly evm: Chain;
  readonly openTxParams: Readonly<Record<string, string>>;
  readonly #nodes: readonly GroundNode[];
  readonly #ground: Ground;

  constructor(plan: Plan, onCircle: (owner: Owner) => void, ground = evmGround) {
    const { rules, baseFeeWei, nativeWei, tokenUnits } = ground;
    this.#ground = ground;
    this.openTxParams = ground.openTxParams;
    this.evm = new Chain({
      ...{
        chainId: Number(chainId),
        account: hotWallet.toLowerCase(),
        contract: contract.toLowerCase(),
      },
      ...{ confirmations: plan.confirmations, nonce: plan.firstNonce },
      ...{
        nativeWei,
        tokenUnits,
        baseFeeWei,
        startedAt: begun,
        ...(rules === undefined ? {} : { rules }),
      },
    });
    const providers = providersOf(plan);
    this.#nodes = nodeUrls(plan).map((url, at) => {
      const rejects = (receiver: string): boolean =>
        receiver.toLowerCase() === plan.refusing.toLowerCase();
      const node = ground.nodeOf(this.evm, rejects, onCircle, providers[at]);
      kernel.nodes.set(url, node);
      return node;
    });
    this.money = new Payments(this.evm, plan, {
      read: ground.read,
      prices: ground.pricesOf(this.evm),
    });
  }

  get counted(): string | null {
    const { nonce } = this.evm.top;
    return nonce === 0 ? null : `${nonce}`;
  }

  get outside(): ReadonlySet<string> {
    return this.evm.outside;
  }

  get headMs(): number {
    return this.evm.top.timestamp * 1_000;
  }

  get incoming(): number {
    return this.evm.incoming;
  }

  readonly hostilities: Hostilities = {
    fair: () => fairTxParams,
    txParams: () => {
      const { random } = kernel;
      if (random.below("greedy", 2) === 0)
        return random.below("above the ceiling", 3) === 0 ? dearTxParams : greedyTxParams;
      const maxFeePerGas = random.pick("hostile fee", prices);
      const isPlain = random.below("plain tip", 2) === 0;
      return {
        gasLimit: random.pick("hostile gas", gasLimits),
        ...{
          maxFeePerGas,
          maxPriorityFeePerGas: isPlain ? maxFeePerGas : random.pick("hostile tip", prices),
        },
      };
    },
    hurried: () => ({
      ...fairTxParams,
      gasLimit: kernel.random.pick("hurried gas", ["100000", "30000"]),
    }),
    get noHash() {
      return contract;
    },
  };

  get namedTxParams(): Readonly<Record<string, string>> {
    const tipWei = 3n * 10n ** 9n;
    return {
      gasLimit: "",
      maxFeePerGas: `${this.evm.baseFeeWei * 2n + tipWei}`,
      maxPriorityFeePerGas: `${tipWei}`,
    };
  }

  /** Within the limit of a fee as long as the market is not above five times its usual price. */
  get fullTxParams(): Readonly<Record<string, string>> {
    const tipWei = 3n * 10n ** 9n;
    const maxFeePerGas = `${(this.evm.baseFeeWei * 9n) / 8n + tipWei}`;
    return { gasLimit: fairTxParams.gasLimit, maxFeePerGas, maxPriorityFeePerGas: `${tipWei}` };
  }

  start(world: JudgedRun): void {
    const { scheduler } = kernel;
    this.evm.onBlock = (block) => {
      if (block !== null) world.holds(() => this.money.added(block));
    };
    scheduler.every(world.plan.blockMs, scheduler.world, () => void this.evm.mine());
  }

  begin({ rates }: Plan): void {
    const { random } = kernel;
    this.evm.revertRate = rates.reverts;
    this.evm.skipRate = rates.blocksSkip;
    this.evm.staleRate = rates.minerStale;
    const liar = random.below("which node lies", this.#nodes.length);
    for (const [index, node] of this.#nodes.entries()) {
      node.faults = {
        ...noFaults,
        error: rates.nodeErrors,
        silence: rates.nodeSilence,
        hides: rates.nodeHides,
      };
      if (this.#nodes.length > 1 && index === liar && rates.nodeLies > 0) {
        node.faults.lie = rates.nodeLies;
        node.faults.aheadBlocks = random.pick("runs ahead by", [0, 0, 1, 2]);
      }
      if (rates.nodeSlow > 0) node.faults.slowMs = Math.ceil(rates.nodeSlow / 10);
    }
  }

  strike(strikes: Strikes, plan: Plan): void {
    const { random } = kernel;
    const { evm } = this;
    if (strikes("poolForgets", "the pool forgets"))
      evm.forget(evm.top.nonce + random.below("forgotten nonce", 2));
    if (plan.confirmations > 1 && strikes("reorganisation", "reorganisation"))
      evm.reorganise(random.between("depth", 1, plan.confirmations - 1));
    if (strikes("feeSpikes", "fees spike")) {
      evm.baseFeeWei = this.#ground.baseFeeWei * BigInt(random.pick("spike", [1, 2, 5, 30]));
    }
    if (strikes("foreignOutgoing", "a foreign transaction")) this.outgoingElsewhere();
    if (strikes("nodeLags", "a node lags")) {
      random.pick("which node", this.#nodes).faults.lagBlocks = random.below("lags by", 4);
    }
  }

  calmDown(): void {
    for (const node of this.#nodes) {
      node.faults = { ...noFaults };
      node.passOn();
    }
    this.evm.revertRate = 0;
    this.evm.skipRate = 0;
    // A market that rose is no fault: replacements with a higher fee are what gets payments
    // through, or the ones before after all.
    const dearWei = 5n * this.#ground.baseFeeWei;
    if (this.evm.baseFeeWei > dearWei) this.evm.baseFeeWei = dearWei;
  }

  market(before: bigint | null): bigint {
    const was = this.evm.baseFeeWei;
    this.evm.baseFeeWei = before ?? was * 5n;
    return was;
  }

  /** The account's next nonce is used. */
  outgoingElsewhere(): void {
    const { nonce } = this.evm.top;
    const hash = `0x${kernel.random.bytes("foreign hash", 32).toString("hex")}`;
    const transaction = this.foreignOf(hash, nonce);
    this.money.foreign.add(transaction.hash);
    this.evm.mineForeign(transaction);
  }

  protected foreignOf(hash: string, nonce: number): SignedTransaction {
    return {
      ...{
        hash,
        from: hotWallet.toLowerCase(),
        chainId: Number(chainId),
        nonce,
        tipWei: 0n,
        feeMaxWei: 10n ** 13n,
      },
      ...{ gasLimit: 60_000n, to: `0x${"fe".repeat(20)}`, valueWei: 1n, data: "0x", payment: null },
    };
  }

  payIn(address: string, token: string, units: bigint): void {
    const hash = `0x${kernel.random.bytes("hash of a deposit", 32).toString("hex")}`;
    this.evm.payIn(hash, address.toLowerCase(), token.toLowerCase(), units);
  }

  isLeft(address: string, token: string): boolean {
    const { nativeWei, tokenUnits } = this.evm.purseOf(address.toLowerCase());
    return token === "" ? nativeWei >= restWei : tokenUnits > 0n;
  }

  wasPlaced(txHash: string): boolean {
    return this.evm.placeOf.has(txHash);
  }

  /** Nobody says that of a slot's transaction. */
  isVoid(): boolean {
    return false;
  }

  isGone(): boolean {
    return false;
  }

  publish(raw: string): string {
    const transaction = this.#ground.read(raw);
    const answer = transaction === null ? "" : this.evm.offer(transaction);
    if (answer !== "") note("publishes", answer);
    return answer;
  }

  finish(isOver: () => boolean): void {
    for (const transaction of this.money.heldBytes()) this.evm.offer(transaction);
    for (let count = 0; count <= this.evm.options.confirmations && !isOver(); count += 1)
      this.evm.mine();
  }

  hasStillToCome(slot: string): boolean {
    return Number(slot) >= this.evm.top.nonce;
  }

  unended(next: string): string {
    const { nonce } = this.evm.top;
    return BigInt(nonce) >= BigInt(next) ? "" : `${nonce} of ${next}`;
  }
}
