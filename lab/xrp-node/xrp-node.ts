/**
 * A node of ours that stands in for rippled in tests and in the demo, since no local one can be
 * had as a package: one chain in memory behind one or several providers' addresses on loopback.
 */
import { Chain, type ChainOptions, type LeftOut } from "./chain.ts";
import { codecs, missing } from "./codecs.ts";
import { Front, type FrontOptions } from "./front.ts";
import { People } from "./people.ts";

export interface XrpNodeOptions extends ChainOptions {
  readonly fronts?: readonly FrontOptions[]; // default: one
  readonly isPaced?: boolean; // a ledger each closeMs by itself; default: on command
}

/** One sentence where the stand-in cannot run, else null. */
export const xrpNodeMissing = missing;

export class XrpNode {
  readonly chain: Chain;
  readonly people: People;
  readonly fronts: readonly Front[];
  #pace: NodeJS.Timeout | null = null;

  /** @throws Error in one sentence, where Ripple's packages do not load */
  constructor(options: XrpNodeOptions = {}) {
    codecs();
    this.chain = new Chain({ isWallClock: options.isPaced === true, ...options });
    this.people = new People(this.chain);
    this.fronts = (options.fronts ?? [{}]).map((front) => new Front(this.chain, front));
  }

  get urls(): readonly string[] {
    return this.fronts.map(({ url }) => url);
  }

  /** Begins, or with false ends, closing a ledger at each pace. */
  pace(isPaced: boolean): void {
    if (this.#pace !== null) clearInterval(this.#pace);
    this.#pace = isPaced ? setInterval(() => this.chain.close(), this.chain.closeMs) : null;
  }

  /** Closes ledgers; with `leftOut` without their transactions, which come again or never. */
  closeLedgers(count = 1, leftOut?: LeftOut): void {
    this.chain.close(count, leftOut);
  }

  /**
   * Drops from the faucet in a ledger that closes at once. @throws Error for fewer than an account
   * needs
   */
  fund(address: string, drops: bigint, tag?: number): string {
    const { hash, result } = this.people.fund(address, drops, tag);
    if (result !== "tesSUCCESS") throw new Error(`the faucet's payment ended in ${result}`);
    this.chain.close();
    return hash;
  }

  /** Drops in the newest validated ledger; 0 for no account. */
  balance(address: string): bigint {
    return this.chain.head.state.account(address)?.balanceDrops ?? 0n;
  }

  /**
   * A price of the open ledger above the base fee queues what pays less; undefined is the base fee.
   */
  escalate(openFeeDrops = this.chain.rules.baseFeeDrops): void {
    this.chain.open.openFeeDrops = openFeeDrops;
  }

  /** Objects that an account owns, whose reserve it keeps. */
  own(address: string, objects: number): void {
    this.chain.open.state.put(address, { ownerCount: objects });
  }

  async close(): Promise<void> {
    this.pace(false);
    await Promise.all(this.fronts.map((front) => front.close()));
  }
}

/**
 * Resolves when every address answers. @throws Error in one sentence, where Ripple's packages do
 * not load
 */
export async function startXrpNode(options: XrpNodeOptions = {}): Promise<XrpNode> {
  const node = new XrpNode(options);
  await Promise.all(node.fronts.map((front) => front.listen()));
  node.pace(options.isPaced === true);
  return node;
}
