/**
 * The ground of a run on a chain of sequences: every block is final, an attempt ends with its last
 * ledger, and what the ledger takes and does not carry out uses a sequence up.
 */
import { SequencePrices } from "../invariants/sequence-prices.ts";
import { kernel } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import type { ChainRules } from "./chain.ts";
import type { Hostilities } from "./chain-fixture.ts";
import { CountedChainFixture, type Ground } from "./evm-fixture.ts";
import type { Plan } from "./plan.ts";
import { SequenceNode } from "./sequence-node.ts";
import { ledgersBefore, readSequenceRaw, type SequenceTransaction } from "./sequence-raw.ts";
import { hotWallet } from "./setting.ts";

const feeDrops = 12n;
const openTxParams = { feeDrops: "", lastLedger: "" };
const rules: ChainRules = {
  ...{ gasNative: 1n, gasToken: 1n, gasIntrinsic: 1n },
  // A queue takes another in place of one at a quarter more.
  isHigher: (next, before) => next.feeMaxWei * 4n > before.feeMaxWei * 5n,
  gasPriceOf: ({ feeMaxWei }) => feeMaxWei,
};
/** Around the ceiling of 500 drops. */
const hostileFees = ["12", "15", "480", "499", "500", "501", "90000", "0", "07", "-1"] as const;

const ground: Ground = {
  ...{ rules, baseFeeWei: feeDrops, nativeWei: 1_000_000_000n, tokenUnits: 0n, openTxParams },
  read: readSequenceRaw,
  pricesOf: (chain) =>
    new SequencePrices(
      () => chain.dearestWei,
      () => chain.top.number,
    ),
  nodeOf: (chain, rejects, onCircle) => new SequenceNode(chain, hotWallet, rejects, onCircle),
};

export class SequenceChainFixture extends CountedChainFixture {
  constructor(plan: Plan, onCircle: (owner: Owner) => void) {
    super(plan, onCircle, ground);
  }

  override readonly hostilities: Hostilities = {
    noHash: "AB".repeat(32),
    fair: () => this.#fair(),
    txParams: () => {
      const { random } = kernel;
      const newest = this.evm.top.number + ledgersBefore;
      const lastLedger =
        newest + random.pick("hostile end", [20, 20, 20, 1, 0, -1, 4, 1_000, 1_000_000]);
      return { feeDrops: random.pick("hostile fee", hostileFees), lastLedger: `${lastLedger}` };
    },
    hurried: () => ({ ...this.#fair(), feeDrops: kernel.random.pick("hurried fee", ["12", "9"]) }),
  };

  #fair(): Readonly<Record<string, string>> {
    return { feeDrops: "40", lastLedger: `${this.evm.top.number + ledgersBefore + 20}` };
  }

  override get namedTxParams() {
    return { feeDrops: `${this.evm.baseFeeWei * 2n}`, lastLedger: "" };
  }

  override get fullTxParams() {
    return this.namedTxParams;
  }

  protected override foreignOf(hash: string, nonce: number): SequenceTransaction {
    const elsewhere = "rrrrrrrrrrrrrrrrrrrrBZbvji";
    return {
      ...{
        hash: hash.slice(2).toUpperCase(),
        from: hotWallet.toLowerCase(),
        chainId: 0,
        nonce,
        tipWei: 0n,
        feeMaxWei: 12n,
      },
      ...{ gasLimit: 1n, to: elsewhere.toLowerCase(), valueWei: 1n, data: "0x", payment: null },
      shown: { kind: "Payment", account: hotWallet, destination: elsewhere, tag: "" },
    };
  }
}
