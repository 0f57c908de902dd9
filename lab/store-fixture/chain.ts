/**
 * A chain in memory, of any family, as the watcher asks for it: blocks with payments, and balances
 * that are the sums of what moved. It decides nothing for the gateway: which block is final, what a
 * slot excludes and how a withdrawal ended follow from the blocks.
 */
import { createHash } from "node:crypto";
import { goodResult } from "../../base/result.ts";
import { expiryExclusionOf, familyOf } from "../../chains/families.ts";
import type { Payment } from "../../chains/family.ts";
import type {
  BalanceQuestion,
  DetectedPayment,
  Judgement,
  OutgoingTransaction,
  SlotCounts,
  VoidQuestion,
  WatchedAddresses,
  WatchedBlock,
  WatcherNodes,
} from "../../chains/nodes.ts";
import { hasTags } from "../../chains/payees.ts";
import { encodeXAddress } from "../../chains/xrp/address.ts";

/** A transaction that pays one receiver. */
export interface ChainPayment {
  readonly hash: string;
  readonly from: string;
  readonly slot?: string; // the sender's; only for accounts of the gateway's wallets
  readonly to: string; // the payee's address, without a tag
  readonly tag?: string;
  readonly contract?: string; // "" the coin
  readonly units: bigint;
  readonly fee?: bigint; // in the coin; of the sender
  readonly isReverted?: true; // it cost its fee and paid nothing
}

/** Units that came to an account or left it, in the coin ("") or a token, in one block. */
interface Move {
  readonly block: number;
  readonly account: string;
  readonly contract: string;
  readonly units: bigint;
}

interface MadeBlock {
  readonly hash: string;
  readonly at: number; // milliseconds since 1970
  readonly payments: readonly ChainPayment[];
  readonly grants: readonly Omit<Move, "block">[]; // units that no transaction of the block names
}

/** The parts of a chain that a later reader needs to answer for it. */
export interface KeptChain {
  readonly final: number;
  readonly times: readonly number[]; // each block's own, in seconds since 1970
  readonly moves: readonly (readonly [
    block: number,
    account: string,
    contract: string,
    units: string,
  ])[];
}

export class FixtureChain {
  readonly network: string;
  readonly lag: number; // blocks above the final one
  readonly decimals: ReadonlyMap<string, number>; // of tokens
  /** Accounts whose count passed this slot by a transaction that no block read shows. */
  readonly passed = new Map<string, bigint>();
  readonly used = new Set<string>(); // accounts that sent before
  #blocks: MadeBlock[] = [];
  #salt = "";

  constructor(
    network: string,
    { lag, decimals, at }: { lag: number; decimals: ReadonlyMap<string, number>; at: number },
  ) {
    this.network = network;
    this.lag = lag;
    this.decimals = decimals;
    this.mine(at);
  }

  get top(): number {
    return this.#blocks.length - 1;
  }

  get final(): number {
    return Math.max(0, this.top - this.lag);
  }

  /** The spelling of a transaction's hash on this chain. */
  hashOf(text: string): string {
    const digits = createHash("sha256").update(`${this.network} ${text}`).digest("hex");
    return (
      [digits, `0x${digits}`, digits.toUpperCase()].find((hash) =>
        familyOf(this.network).isTxHash(hash),
      ) ?? digits
    );
  }

  mine(
    at: number,
    payments: readonly ChainPayment[] = [],
    grants: MadeBlock["grants"] = [],
  ): number {
    const hash = this.hashOf(`block ${this.#blocks.length} ${this.#salt}`);
    this.#blocks.push({ hash, at, payments, grants });
    return this.top;
  }

  /** Other blocks, without payments, stand in the place of the newest ones. */
  reorganise(count: number): void {
    const gone = this.#blocks.splice(-count);
    this.#salt += "x";
    for (const { at } of gone) this.mine(at);
  }

  kept(): KeptChain {
    const times = this.#blocks.map(({ at }) => Math.floor(at / 1000));
    const moves = this.#moves().map(
      ({ block, account, contract, units }) => [block, account, contract, `${units}`] as const,
    );
    return { final: this.final, times, moves };
  }

  reader(): WatcherNodes {
    const id = (number: number) => ({ number, hash: this.#blocks[number]?.hash ?? "" });
    const isCounted = familyOf(this.network).slots.isCounted;
    const canExpire = expiryExclusionOf(this.network) !== null;
    return {
      nobody: "nobody",
      status: () => [],
      close: () => {},
      tip: async () => id(this.top),
      finalTip: async () => id(this.final),
      timestamp: async (number) => Math.floor((this.#blocks[number]?.at ?? 0) / 1000),
      block: async (number) => ({
        ...id(number),
        parentHash: this.#blocks[number - 1]?.hash ?? "",
        content: null,
      }),
      balance: async (account, contract, block) => this.balance(account, contract, block),
      balances: async (asked: readonly BalanceQuestion[], block: number) =>
        asked.map(({ account, contract }) => goodResult(this.balance(account, contract, block))),
      wereUsed: async (accounts) => accounts.map((account) => goodResult(this.used.has(account))),
      decimals: async (contract) => BigInt(this.decimals.get(contract) ?? 0),
      payments: async (blocks, contracts, addresses) => ({
        found: this.#payments(blocks, contracts, addresses),
        unread: [],
      }),
      outgoing: async (blocks, accounts) => ({
        found: this.#outgoing(blocks, accounts),
        unread: [],
      }),
      hasFailed: async (txHash) => this.#find([txHash])?.payment.isReverted === true,
      cost: async (_account, { contract }) => ({ ok: true, feeUnits: this.#feeOf(contract) }),
      judgeOutgoing: async (payment, sent) => this.#judgeOther(payment, sent),
      ...(isCounted ? { closed: async (account: string) => this.#counts(account) } : {}),
      ...(canExpire
        ? {
            findVoid: async (_account: string, asked: readonly VoidQuestion[]) =>
              this.#findVoid(asked),
          }
        : {}),
      pass: () => ({ judge: async (payment, txHashes) => this.#judge(payment, txHashes) }),
    };
  }

  balance(account: string, contract: string, block: number): bigint {
    const own = this.#moves().filter(
      (move) => move.account === account && move.contract === contract && move.block <= block,
    );
    return own.reduce((sum, { units }) => sum + units, 0n);
  }

  #feeOf(contract: string): bigint {
    const coin = 10n ** BigInt(familyOf(this.network).fees.decimal);
    return contract === "" ? coin / 10_000n : coin / 1_000n;
  }

  #moves(): readonly Move[] {
    return this.#blocks.flatMap(({ payments, grants }, block) => [
      ...grants.map((grant) => ({ ...grant, block })),
      ...payments.flatMap(({ from, to, contract = "", units, fee = 0n, isReverted }) => [
        ...(isReverted === true
          ? []
          : [
              { block, account: from, contract, units: -units },
              { block, account: to, contract, units },
            ]),
        { block, account: from, contract: "", units: -fee },
      ]),
    ]);
  }

  #payments(
    blocks: readonly WatchedBlock[],
    contracts: readonly string[],
    addresses: WatchedAddresses,
  ): readonly DetectedPayment[] {
    const isTagged = hasTags(this.network);
    const accounts = new Set(
      [...addresses.all()].map((one) => familyOf(this.network).accounts.payeeOf(one).address),
    );
    return blocks.flatMap(({ number: block, hash: blockHash }) =>
      (this.#blocks[block]?.payments ?? []).flatMap((one): readonly DetectedPayment[] => {
        const { hash: txHash, to, tag = "", contract = "", units: amountUnits } = one;
        const address = isTagged ? encodeXAddress({ address: to, tag }) : to;
        const isWatched = isTagged ? accounts.has(to) : addresses.has(address);
        if (one.isReverted === true || !contracts.includes(contract) || !isWatched) return [];
        return [
          {
            txHash,
            index: contract === "" ? -1 : 0,
            address,
            contract,
            amountUnits,
            block,
            blockHash,
          },
        ];
      }),
    );
  }

  #outgoing(
    blocks: readonly WatchedBlock[],
    accounts: ReadonlySet<string>,
  ): readonly OutgoingTransaction[] {
    return blocks.flatMap(({ number: block }) =>
      (this.#blocks[block]?.payments ?? [])
        .filter(({ from }) => accounts.has(from))
        .map(
          ({
            hash: txHash,
            from: account,
            slot = "",
            to: receiver,
            tag = "",
            contract = "",
            units: amountUnits,
          }) => {
            const isCounted = familyOf(this.network).slots.isCounted;
            const paid = { receiver, tag, contract, amountUnits, content: null };
            return { account, slot: isCounted ? slot : "", txHash, block, ...paid };
          },
        ),
    );
  }

  #find(
    hashes: readonly string[],
  ): { readonly payment: ChainPayment; readonly block: number } | null {
    for (const [block, { payments }] of this.#blocks.entries()) {
      const payment = payments.find(({ hash }) => hashes.includes(hash));
      if (payment !== undefined) return { payment, block };
    }
    return null;
  }

  #judge({ account, slot, ...wanted }: Payment, txHashes: readonly string[]): Judgement {
    const found = this.#find(txHashes);
    if (found === null) {
      const isPassed = (this.passed.get(account) ?? 0n) > BigInt(slot);
      const detail = `slot ${slot} of ${account} was used by another transaction`;
      return isPassed
        ? { kind: "stuck", code: "WATCHER_SLOT_CONSUMED", detail }
        : { kind: "waiting" };
    }
    const { payment, block } = found;
    if (block > this.final) return { kind: "confirming", txHash: payment.hash, block };
    const final = { txHash: payment.hash, block, feeUnits: payment.fee ?? 0n };
    if (payment.isReverted === true) return { kind: "failed", code: "chain_reverted", final };
    if (payment.to === account && payment.units === 0n)
      return { kind: "failed", code: "cancelled", final };
    return payment.to === wanted.destination ? { kind: "completed", final } : { kind: "waiting" };
  }

  #judgeOther(
    wanted: Payment,
    { txHash, block, receiver, contract, amountUnits, tag }: OutgoingTransaction,
  ): Judgement {
    const final = { txHash, block, feeUnits: this.#find([txHash])?.payment.fee ?? 0n };
    const isSame =
      receiver === wanted.destination &&
      contract === wanted.contract &&
      amountUnits === wanted.amountUnits;
    return isSame && tag === wanted.tag
      ? { kind: "completed", final }
      : { kind: "failed", code: "chain_slot_consumed", final };
  }

  #counts(account: string): SlotCounts {
    const { slots } = familyOf(this.network);
    const countAt = (top: number): bigint => {
      const sent = this.#blocks
        .slice(0, top + 1)
        .flatMap(({ payments }) => payments.filter(({ from }) => from === account));
      const last = sent.reduce(
        (most, { slot = "" }) => (slot !== "" && BigInt(slot) >= most ? BigInt(slot) + 1n : most),
        0n,
      );
      const passed = this.passed.get(account) ?? 0n;
      return [BigInt(slots.least), last, passed].reduce((most, one) => (one > most ? one : most));
    };
    return {
      latest: countAt(this.top),
      pending: countAt(this.top),
      final: countAt(this.final),
      quorum: 1,
      isSame: true,
    };
  }

  #findVoid(asked: readonly VoidQuestion[]) {
    const chainMs = this.#blocks[this.final]?.at ?? 0;
    const margin = expiryExclusionOf(this.network)?.marginMs ?? 0;
    const isOver = asked.every(({ validUntilMs }) => chainMs > validUntilMs + margin);
    const isVoid = isOver && this.#find(asked.map(({ txHash }) => txHash)) === null;
    return { isVoid, chainMs, block: this.final, quorum: 1 };
  }
}
