/**
 * Section 5 of docs/recovering.md: ledger and gateway have both forgotten, and an operator compares
 * what the shop asks for again with what a block explorer shows of the account. That is the chain
 * itself, as it stands; what the gateway knows is left out of the list, and where the nonces begin
 * is what the recovery showed.
 */

import type { RecoveryPlan } from "../../../agent/socket/recovery-plan.ts";
import type { OperatorView } from "../../../agent/socket/verbs.ts";
import { lateOrder } from "./actors.ts";
import type { Block, Chain, IncludedTransaction } from "./chain.ts";
import { namedReceiver, showsAll } from "./plan.ts";
import type { Scene } from "./scene.ts";
import { payeeText } from "./sequence-raw.ts";
import { contract, hotWallet } from "./setting.ts";

const cheaperMarket = "what was forgotten waits for a cheaper market";

export class Comparison {
  readonly #world: Scene;
  readonly #evm: Chain | null;
  /** How many withdrawals both may have forgotten: as many as the shop misses. */
  #forgotten = 0;
  /**
   * The next nonce, as the last recovery that was shown had it, or the chain where that is further.
   */
  #next = 0;

  constructor(world: Scene) {
    this.#world = world;
    this.#evm = world.chainFixture.evm;
  }

  get isNeeded(): boolean {
    const { faultInjector, takeover } = this.#world;
    return (
      faultInjector.backups.wereBothRestored ||
      (takeover.isCatchUpSkipped && faultInjector.backups.wasGatewayRestored)
    );
  }

  /** The shop misses so many orders. */
  reckonsWith(missed: number): void {
    this.#forgotten = missed;
  }

  /** A recovery was shown. */
  shown({ accounts }: RecoveryPlan): void {
    this.#next = Math.max(
      this.#evm === null ? 0 : this.#final.nonce,
      ...accounts.map(({ next }) => Number(next)),
    );
  }

  /** Transactions that look like a foreign hand are those that both have forgotten. */
  explains(locked: string): boolean {
    return (
      locked === "CHAIN_SLOT_FOREIGN" && this.isNeeded && this.#world.payments.foreign.size === 0
    );
  }

  /** Every nonce that something forgotten may have is used for good, or nodes show all there is. */
  get isOutlived(): boolean {
    const isAll = !this.isNeeded || showsAll(this.#world.plan);
    return isAll || this.#final.nonce >= this.#next + this.#forgotten;
  }

  /**
   * Whether this one may be decided now: what was surely never asked for first, the rest when the
   * list stays as it is.
   */
  isDue({ orderId }: OperatorView): boolean {
    return this.isOutlived ? this.#isListed : orderId.startsWith(lateOrder);
  }

  /** Whether nothing that may be decided is there, and more of it is needed. */
  wantsNew(open: readonly OperatorView[]): boolean {
    const isEmpty =
      this.#world.actors.untaken.length === 0 &&
      unsettled(open).every((view) => view.state === "held" && !this.isDue(view));
    return isEmpty && !this.isOutlived;
  }

  /**
   * Policy decides what is asked for after the end; and what is lost to something forgotten after
   * it locks the agent once more.
   */
  mayEnd(open: readonly OperatorView[]): boolean {
    if (!this.isNeeded) return true;
    const isUnderWay = unsettled(open).some(
      ({ state }) => state !== "held" && state !== "quarantined",
    );
    return (
      this.isOutlived &&
      this.#world.actors.untaken.length === 0 &&
      (!isUnderWay || showsAll(this.#world.plan))
    );
  }

  /** Whether the account's list is as it will stay, but for what the gateway knows of. */
  get #isListed(): boolean {
    if (!this.isNeeded) return true;
    const known = this.#world.gateway.txHashes();
    const { explorer } = this.#world.chainFixture;
    if (explorer !== null) return explorer.young.every((hash) => known.has(hash));
    const { pool, blocks, finalNumber } = this.#chain;
    const young = blocks.slice(finalNumber + 1).flatMap(({ included }) => included);
    return [...pool.values(), ...young.map(({ transaction }) => transaction)].every(({ hash }) =>
      known.has(hash),
    );
  }

  /** Why nothing will come of waiting, "" while something may. */
  impasse(open: readonly OperatorView[]): string {
    if (!this.isNeeded || this.#world.isFaulty) return "";
    const { explorer } = this.#world.chainFixture;
    if (explorer !== null) {
      const known = this.#world.gateway.txHashes();
      return explorer.dear.every((hash) => known.has(hash)) ? "" : cheaperMarket;
    }
    const { pool, top, baseFeeWei } = this.#chain;
    if (open.some(({ slot }) => slot === `${top.nonce}`)) return "";
    const next = pool.get(top.nonce);
    if (next === undefined && top.nonce < this.#next)
      return "what another server bound and never sent holds up the account";
    const isCheap = next !== undefined && next.feeMaxWei < baseFeeWei;
    return isCheap ? cheaperMarket : "";
  }

  /** Whether a final transaction of the account pays this receiver this amount of this currency. */
  hasPaid({ contract: token, address, tag, amountUnits }: OperatorView): boolean {
    if (!this.isNeeded) return false;
    const { explorer } = this.#world.chainFixture;
    if (explorer !== null) return explorer.hasPaid(address, BigInt(amountUnits));
    const receiver = payeeText(address || namedReceiver, tag).toLowerCase();
    const paid = token === "" ? "" : contract.toLowerCase();
    const isIt = ({ status, transaction: { from, payment } }: IncludedTransaction): boolean =>
      status === 1 &&
      from === hotWallet.toLowerCase() &&
      payment?.receiver === receiver &&
      payment.contract === paid &&
      `${payment.units}` === amountUnits;
    return this.#chain.blocks
      .slice(0, this.#chain.finalNumber + 1)
      .some(({ included }) => included.some(isIt));
  }

  /** The explorer's list is enough on a chain without counts, because nodes show all that left. */
  get #chain(): Chain {
    if (this.#evm === null) throw new Error("nothing is compared with a chain that counts nothing");
    return this.#evm;
  }

  get #final(): Block {
    return this.#chain.blocks[this.#chain.finalNumber] as Block;
  }
}

/**
 * Less what is lost to something forgotten: its nonce is used, and the gateway may leave it to an
 * operator for good.
 */
function unsettled(open: readonly OperatorView[]): readonly OperatorView[] {
  return open.filter(({ state }) => state !== "conflicted");
}
