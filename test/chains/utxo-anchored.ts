/**
 * Withdrawals of three attempts each over a real daemon: attempts reach the mempool in any order, a
 * block takes any one of them, and some blocks are lost, after which the chain takes another one.
 */
import { expect } from "vitest";
import type { Coin, PricedAttempt, TxParams } from "../../chains/family.ts";
import type { ChainOutcome, Judgement } from "../../chains/nodes.ts";
import { bitcoin } from "../../chains/utxo/network.ts";
import { utxoFeesOf } from "../../chains/utxo/offers.ts";
import { coinTexts, feeMaxOf } from "../../chains/utxo/tx-params.ts";
import type { Signed, Wallet } from "./utxo-wallet.ts";

const batchMax = 12;
/** Every third batch loses its first block; the second batch is the first of them. */
const lostEvery = 3;

interface Withdrawal {
  readonly target: { readonly destination: string; readonly amountUnits: bigint };
  readonly versions: readonly Signed[];
  mined: Signed | null;
  readonly ends: string[]; // each end that watcher and sender named, without repeats
}

/** The number of withdrawals by the attempt that the chain took, and of those that lost a block. */
export interface Fates {
  readonly mined: Readonly<Record<string, number>>;
  readonly lost: number; // the chain took one attempt, lost its block, and took another one
  readonly withdrawals: number;
}

export class Anchored {
  readonly #wallet: Wallet;
  readonly #confirmations: number;
  readonly #all: Withdrawal[] = [];
  readonly #mined = new Map<string, number>();
  #batches = 0;
  #lost = 0;

  constructor(wallet: Wallet) {
    this.#wallet = wallet;
    this.#confirmations = wallet.confirmations;
  }

  /** Runs so many withdrawals to their ends. */
  async run(count: number): Promise<Fates> {
    while (this.#all.length < count)
      await this.#batch(Math.min(1 + this.#below(batchMax), count - this.#all.length));
    for (const one of this.#all) await this.#end(one, "");
    return {
      mined: Object.fromEntries([...this.#mined].sort()),
      lost: this.#lost,
      withdrawals: this.#all.length,
    };
  }

  /** The sat that the chain paid to each withdrawal's receiver, and what it should have paid. */
  async paid(): Promise<readonly (readonly [paid: readonly bigint[], due: readonly bigint[]])[]> {
    const { node } = this.#wallet.testNetwork;
    const paid = new Map<string, bigint[]>(this.#all.map(({ target }) => [target.destination, []]));
    const { number } = await this.#wallet.watcher.tip();
    for (let at = 1; at <= number; at += 1) {
      const hash = await node.ask<string>("getblockhash", at);
      const { tx } = await node.ask<{ tx: RpcTransaction[] }>("getblock", hash, 2);
      for (const { value, scriptPubKey } of tx.flatMap(({ vout }) => vout))
        paid.get(scriptPubKey.address ?? "")?.push(BigInt(Math.round(value * 1e8)));
    }
    return this.#all.map(({ target, mined }) => {
      const due = mined === null || mined.target === null ? [] : [target.amountUnits];
      return [paid.get(target.destination) ?? [], due] as const;
    });
  }

  /** The ends of each withdrawal; more than one would be a second end. */
  get ends(): readonly (readonly string[])[] {
    return this.#all.map(({ ends }) => ends);
  }

  async #batch(size: number): Promise<void> {
    const batch = await this.#open(size);
    this.#all.push(...batch);
    await this.#broadcast(batch);
    const lost = await this.#mine(batch);
    this.#batches += 1;
    if (this.#batches % lostEvery === 2) {
      for (const one of batch) await this.#unfinished(one);
      await this.#wallet.testNetwork.node.ask("invalidateblock", lost);
      await this.#mine(batch);
      this.#lost += batch.length;
    }
    for (let depth = 1; depth < this.#confirmations; depth += 1) {
      for (const one of batch) await this.#unfinished(one);
      await this.#empty();
    }
    for (const one of batch) {
      await this.#end(one, coinTexts(one.versions[0]?.txParams ?? {})[0]);
      await this.#takesNoOther(one);
      const kind = `version ${one.versions.indexOf(one.mined as Signed) + 1}${one.mined?.target === null ? ", a cancel" : ""}`;
      this.#mined.set(kind, (this.#mined.get(kind) ?? 0) + 1);
    }
  }

  /** Withdrawals whose coins no other open one holds, each with three signed attempts. */
  async #open(size: number): Promise<readonly Withdrawal[]> {
    let { coins: free } = await this.#wallet.market();
    const opened: Withdrawal[] = [];
    while (opened.length < size && free.length > 1) {
      const largest = free.map(({ units }) => units).sort((a, b) => Number(b - a))[0] ?? 0n;
      const amountUnits =
        this.#below(8) === 0
          ? largest + this.#units(100_000_000)
          : 10_000n + this.#units(400_000_000);
      const target = { destination: this.#wallet.other, amountUnits };
      const versions = await this.#versions(free, target);
      if (versions === null) continue;
      opened.push({ target, versions, mined: null, ends: [] });
      const held = new Set(versions.flatMap(({ txParams }) => coinTexts(txParams)));
      free = free.filter(({ id, units }) => !held.has(`${id}:${units}`));
    }
    if (opened.length === 0) throw new Error("the account has too few coins");
    return opened;
  }

  async #versions(
    free: readonly Coin[],
    target: Withdrawal["target"],
  ): Promise<readonly Signed[] | null> {
    const { network } = this.#wallet;
    const { first, bidding } = utxoFeesOf(bitcoin);
    const wanted = { network: network.id, contract: "", tag: "", ...target };
    const market = (coins: readonly Coin[], from: number) => ({
      ...{ feeMarket: { satPerKvB: BigInt(from + this.#below(40_000)) }, computeLimit: 1n, coins },
    });
    const begin = first(market(free, 1_000), wanted);
    if (begin === null || bidding === null) return null;
    const versions = [await this.#wallet.sign(begin, target)];
    for (const isCancel of [false, this.#below(2) === 0]) {
      const attempts = versions.map(pricedOf);
      const spent = new Set(versions.flatMap(({ txParams }) => coinTexts(txParams)));
      const now = market(
        free.filter(({ id, units }) => !spent.has(`${id}:${units}`)),
        1_000,
      );
      const byOperator = bidding.manualReplacement(
        attempts,
        isCancel,
        { satPerKvB: "" },
        now.feeMarket,
      );
      const offers: readonly (TxParams | null)[] =
        isCancel || this.#below(2) === 0
          ? byOperator.ok
            ? byOperator.txParams
            : []
          : [bidding.replacementAt(now, wanted, attempts, attempts.length, false)];
      const next = offers[this.#below(Math.max(1, offers.length))] ?? null;
      if (next === null) return null;
      versions.push(await this.#wallet.sign(next, isCancel ? null : target));
    }
    return versions;
  }

  /** Sends most attempts, in any order: the mempool keeps the one of the highest fee. */
  async #broadcast(batch: readonly Withdrawal[]): Promise<void> {
    const sent = batch.flatMap(({ versions }) => versions).filter(() => this.#below(4) !== 0);
    for (const { raw } of this.#shuffled(sent)) {
      const { standing, meaning } = await this.#wallet.sender.broadcast(raw);
      expect(["taken ", "refused price"]).toContain(`${standing} ${meaning}`);
    }
  }

  /**
   * Mines a block with any one attempt of each, also an older one than the mempool's, and not the
   * attempt of a lost block. Returns its hash.
   */
  async #mine(batch: readonly Withdrawal[]): Promise<string> {
    for (const one of batch)
      one.mined = this.#wallet.values.random.pick(
        one.versions.filter((version) => version !== one.mined),
      );
    const raws = this.#shuffled(batch.flatMap(({ mined }) => (mined === null ? [] : [mined.raw])));
    const { hash } = await this.#wallet.testNetwork.node.ask<{ hash: string }>(
      "generateblock",
      this.#wallet.other,
      raws,
    );
    return hash;
  }

  async #empty(): Promise<void> {
    await this.#wallet.testNetwork.node.ask("generateblock", this.#wallet.other, []);
  }

  async #judged(
    { target, versions }: Withdrawal,
    pin: string,
  ): Promise<[verdict: Judgement, outcome: ChainOutcome | null]> {
    const { watcher, sender } = this.#wallet;
    const payment = this.#wallet.payment(target);
    const attempts = versions.map(({ txHash, target: paid }) => ({
      txHash,
      isCancel: paid === null,
    }));
    const hashes = attempts.map(({ txHash }) => txHash);
    const final = await watcher.finalTip();
    return [
      await watcher.pass(final).judge(payment, hashes, pin),
      await sender.chainOutcome(payment, attempts),
    ];
  }

  async #unfinished(one: Withdrawal): Promise<void> {
    const [verdict, outcome] = await this.#judged(one, "");
    expect(verdict).toMatchObject({ kind: "confirming", txHash: one.mined?.txHash });
    expect(outcome).toBeNull();
  }

  /** By the watcher and by the sender, the end is that of the attempt in the chain. */
  async #end(one: Withdrawal, pin: string): Promise<void> {
    const [verdict, outcome] = await this.#judged(one, pin);
    const { txHash = "", target = null, txParams } = one.mined as Signed;
    const said = target === null ? { kind: "failed", code: "cancelled" } : { kind: "completed" };
    expect(verdict).toMatchObject({ ...said, final: { txHash, feeUnits: feeMaxOf(txParams) } });
    expect(outcome).toMatchObject({ outcome: target === null ? "cancelled" : "paid", txHash });
    const text = `${target === null ? "cancelled" : "paid"} by ${txHash} in ${outcome?.block}`;
    if (!one.ends.includes(text)) one.ends.push(text);
  }

  /** No mempool and no block takes another attempt any more. */
  async #takesNoOther({ versions, mined }: Withdrawal): Promise<void> {
    for (const { raw } of versions.filter((version) => version !== mined)) {
      expect(await this.#wallet.sender.broadcast(raw)).toMatchObject({ meaning: "slot-used" });
      const refusal = await this.#wallet.testNetwork.node.refusal(
        "generateblock",
        this.#wallet.other,
        [raw],
      );
      expect(refusal).toContain("bad-txns-inputs-missingorspent");
    }
  }

  #below(limit: number): number {
    return this.#wallet.values.random.below(limit);
  }

  #units(limit: number): bigint {
    return BigInt(this.#below(limit));
  }

  #shuffled<T>(items: readonly T[]): T[] {
    const placed = items.map((item) => ({ item, place: this.#below(1_000_000) }));
    return placed.sort((a, b) => a.place - b.place).map(({ item }) => item);
  }
}

interface RpcTransaction {
  readonly vout: readonly {
    readonly value: number;
    readonly scriptPubKey: { readonly address?: string };
  }[];
}

function pricedOf({ txHash, txParams, target }: Signed): PricedAttempt {
  return {
    txHash,
    txParams,
    feeMax: `${feeMaxOf(txParams)}`,
    isCancel: target === null,
    pin: coinTexts(txParams)[0],
  };
}
