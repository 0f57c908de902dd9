/**
 * A gateway's own watcher over a real daemon that loses blocks: each run has a deposit and a
 * withdrawal with a signed cancel, which a lost block held and the new chain takes again, or takes
 * the cancel in place of the payment.
 */
import { expect } from "vitest";
import type { Tip } from "../../gateway/watcher/chain.ts";
import { type DepositMemory, newDepositMemory } from "../../gateway/watcher/deposit-memory.ts";
import {
  checkWithdrawals,
  newWithdrawalMemory,
  type WithdrawalMemory,
} from "../../gateway/watcher/withdrawals.ts";
import {
  type AgentKeys,
  type GatewayDatabase,
  gatewayDatabase,
  giveAddress,
  insertTransaction,
  pairAgent,
  readTransaction,
} from "../../lab/kit/gateway-database.ts";
import { scan, watchedBy } from "../support/watched-by.ts";
import { currency } from "../support/watched-chain.ts";
import type { Account } from "./utxo-values.ts";
import { anchorOf, type Signed, type Wallet } from "./utxo-wallet.ts";

/** A block's time is the clock's, and no request here may be over before it. */
const neverMs = 4_000_000_000_000;

interface Run {
  readonly depositId: string;
  readonly deposit: Signed;
  readonly depositUnits: bigint;
  readonly withdrawalId: string;
  readonly payment: Signed;
  readonly cancel: Signed;
}

export class LostBlocks {
  readonly #wallet: Wallet;
  readonly #payer: Account; // of the deposits
  readonly #db: GatewayDatabase = gatewayDatabase();
  readonly #keys: AgentKeys;
  readonly #chain: ReturnType<typeof watchedBy>;
  readonly #deposits: DepositMemory;
  readonly #withdrawals: WithdrawalMemory = newWithdrawalMemory();
  #runs = 0;
  #passes = 0;

  constructor(wallet: Wallet, payer: Account) {
    const { id: network } = wallet.network;
    this.#wallet = wallet;
    this.#payer = payer;
    this.#keys = pairAgent(this.#db.store, "a", wallet.owner.address);
    const hot = {
      family: wallet.network.name,
      purpose: "hot",
      id: wallet.owner.address,
      firstAddress: wallet.owner.address,
    };
    this.#db.store.database.run("UPDATE agents SET accounts = ?", JSON.stringify([hot]));
    const currencies = [{ ...currency("btc", ""), decimal: 8 }];
    this.#chain = watchedBy({
      db: this.#db,
      network,
      reader: wallet.watcher,
      currencies,
      clock: () => this.#passes,
    });
    this.#deposits = newDepositMemory(network);
  }

  /** Loses `depth` blocks after they were seen, and goes on until all has ended. */
  async run(depth: number): Promise<"paid" | "cancelled"> {
    const { node } = this.#wallet.testNetwork;
    await this.pass();
    const run = await this.#open();
    const lost = await this.#seen(run, depth);
    await node.ask("invalidateblock", lost);
    for (let made = 0; made <= depth; made += 1) await this.#mine([]);
    await this.pass();
    // The deposit is un-seen, and the withdrawal is in no block.
    expect(this.#depositOf(run)).toMatchObject({
      status: 0,
      stage: "waiting",
      receivedUnits: "0",
    });
    expect(this.#withdrawalOf(run)).toMatchObject({ status: 0, stage: "broadcast", txHash: "" });
    const isCancelled = this.#wallet.values.random.chance(3);
    await this.#again(run, isCancelled ? run.cancel : run.payment);
    this.#ended(run, isCancelled ? run.cancel : run.payment);
    return isCancelled ? "cancelled" : "paid";
  }

  /** One pass of the watcher over deposits and withdrawals. */
  async pass(): Promise<void> {
    const { watcher } = this.#wallet;
    this.#passes += 1;
    const [head, final] = [await watcher.tip(), await watcher.finalTip()];
    const tip: Tip = { head, final, askedAt: this.#passes };
    await scan(this.#chain, () => tip, this.#deposits);
    await checkWithdrawals(this.#chain, tip, this.#withdrawals);
  }

  /** Everything that the watcher called an alarm. */
  get alarms(): readonly unknown[] {
    return this.#db.store.database.all("SELECT * FROM audit WHERE actor = 'watcher'");
  }

  close(): void {
    this.#db.remove();
  }

  async #open(): Promise<Run> {
    this.#runs += 1;
    const { network, values, other, owner } = this.#wallet;
    const shared = { currency: "btc", network: network.id, createdAt: 1, expiresAt: neverMs };
    const [depositId, withdrawalId] = [`d${this.#runs}`, `w${this.#runs}`];
    const address = values.destination(network);
    const depositUnits = values.units(10_000, 50_000_000);
    const given = { id: depositId, address, place: this.#runs, agent: this.#keys.id };
    giveAddress(this.#db.store, given, { ...shared, units: `${depositUnits}` });
    const deposit = await this.#wallet.first(
      { destination: address, amountUnits: depositUnits },
      this.#payer,
    );
    const target = { destination: other, amountUnits: values.units(10_000, 50_000_000) };
    const payment = await this.#wallet.first(target);
    const cancel = await this.#wallet.next(null, [payment]);
    const paid = {
      units: `${target.amountUnits}`,
      receiver: target.destination,
      payer: owner.address,
    };
    const order = {
      id: withdrawalId,
      orderId: withdrawalId,
      operation: "withdraw",
      mode: "auto",
      stage: "broadcast",
    } as const;
    insertTransaction(this.#db.store, { ...shared, ...order, ...paid });
    for (const [at, attempt] of [payment, cancel].entries())
      this.#sign(withdrawalId, at + 1, attempt);
    return { depositId, deposit, depositUnits, withdrawalId, payment, cancel };
  }

  #sign(id: string, attempt: number, { txHash, txParams, target }: Signed): void {
    const { network, owner } = this.#wallet;
    const pin = (txParams.coins ?? "").split(",")[0];
    this.#db.store.database.run(
      `INSERT INTO signatures (transactionId, attempt, agent, network, account, slot, txHash, feeMax, seq, pin, cancel)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[
        id,
        attempt,
        this.#keys.id,
        network.id,
        owner.address,
        `${this.#runs}`,
        txHash,
        txParams.feeSat ?? "",
        attempt,
      ],
      ...[pin ?? "", target === null ? 1 : 0],
    );
  }

  /** Mines `depth` blocks, the first with deposit and payment; nothing has ended in any of them. */
  async #seen(run: Run, depth: number): Promise<string> {
    let first = "";
    for (let made = 0; made < depth; made += 1) {
      const hash = await this.#mine(made === 0 ? [run.deposit, run.payment] : []);
      if (made === 0) first = hash;
      await this.pass();
      expect(this.#depositOf(run)).toMatchObject({ status: 0, stage: "confirming" });
      expect(this.#withdrawalOf(run)).toMatchObject({
        status: 0,
        stage: "confirming",
        txHash: run.payment.txHash,
      });
    }
    return first;
  }

  /** The new chain takes deposit and attempt, in one block or in two, and makes both final. */
  async #again(run: Run, version: Signed): Promise<void> {
    const { confirmations, values } = this.#wallet;
    const isLater = values.random.chance(2);
    const [deposits, withdrawals] = isLater ? [2, 1] : [1, 1];
    for (let made = 1; made < deposits + confirmations; made += 1) {
      const due = [
        ...(made === deposits ? [run.deposit] : []),
        ...(made === withdrawals ? [version] : []),
      ];
      await this.#mine(due);
      await this.pass();
      const depths = { deposit: made - deposits + 1, withdrawal: made - withdrawals + 1 };
      expect(this.#depositOf(run).status, `deposit at depth ${depths.deposit}`).toBe(
        depths.deposit < confirmations ? 0 : 1,
      );
      const isEnded = this.#withdrawalOf(run).status !== 0;
      expect(isEnded, `withdrawal at depth ${depths.withdrawal}`).toBe(
        depths.withdrawal >= confirmations,
      );
    }
  }

  #ended(run: Run, { txHash, txParams, target }: Signed): void {
    const { depositUnits, deposit } = run;
    const came = {
      status: 1,
      stage: "completed",
      receivedUnits: `${depositUnits}`,
      txHash: deposit.txHash,
    };
    expect(this.#depositOf(run)).toMatchObject(came);
    const end =
      target === null
        ? { status: 2, stage: "failed", code: "cancelled" }
        : { status: 1, stage: "completed", code: "" };
    expect(this.#withdrawalOf(run)).toMatchObject({ ...end, txHash, feeUnits: txParams.feeSat });
    expect(anchorOf(run.payment)).toBe(anchorOf(run.cancel));
  }

  /** A block of these alone; its hash. */
  async #mine(these: readonly Signed[]): Promise<string> {
    const raws = these.map(({ raw }) => raw);
    const { hash } = await this.#wallet.testNetwork.node.ask<{ hash: string }>(
      "generateblock",
      this.#wallet.other,
      raws,
    );
    return hash;
  }

  #depositOf({ depositId }: Run) {
    return readTransaction(this.#db.store, depositId);
  }

  #withdrawalOf({ withdrawalId }: Run) {
    return readTransaction(this.#db.store, withdrawalId);
  }
}
