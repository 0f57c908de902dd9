/**
 * A simulated chain by Tron's rules: no count of an account's transactions, so that nothing but
 * time excludes one. A transaction refers to a block and expires; a block is judged by the time of
 * the one before it, so that the first one after a halt may take what expired meanwhile. Blocks
 * some way below the head are solidified and stay, the others can be replaced. Shows nothing;
 * `tron-node.ts` is what others see. Source: java-tron's Manager.validateCommon and validateTapos.
 */
import { createHash } from "node:crypto";
import { kernel, note } from "../kernel/kernel.ts";
import type { SignedTransfer } from "./tron-raw.ts";

type ContractResult = "SUCCESS" | "REVERT" | "OUT_OF_ENERGY";

export interface ChainTransfer {
  readonly transfer: SignedTransfer;
  readonly ret: ContractResult;
  readonly feeSun: bigint;
}

interface Purse {
  readonly sun: bigint;
  readonly units: bigint; // the token's
  /** Coins came here once: a token alone makes no account. */
  readonly isActive: boolean;
}

export interface TronBlock {
  readonly number: number;
  readonly id: string; // number(8) ‖ hash(24), hex
  readonly parentId: string;
  readonly timestampMs: number;
  readonly done: readonly ChainTransfer[];
  /** After this block, by address in hex. */
  readonly purses: ReadonlyMap<string, Purse>;
}

interface TronChainOptions {
  readonly genesis: string; // the last eight hex digits of the first block's id
  readonly account: string; // hex, as every address here
  readonly contract: string;
  readonly solidLag: number;
  readonly slotMs: number;
  readonly startedAt: number; // milliseconds
  /** It takes a transaction whatever block that refers to. */
  readonly isAnyReference: boolean;
}

/** Codes of java-tron's answer to a broadcast. */
type BroadcastCode =
  | "SUCCESS"
  | "DUP_TRANSACTION_ERROR"
  | "TAPOS_ERROR"
  | "TRANSACTION_EXPIRATION_ERROR"
  | "SIGERROR"
  | "CONTRACT_VALIDATE_ERROR"
  | "BANDWITH_ERROR";

export const byteSun = 1_000n;
export const energySunUsual = 100n;
export const createAccountSun = 100_000n;
export const activationSun = 1_000_000n;
const energyOfHolder = 64_285n;
export const energyOfNew = 130_285n;
const resultBytes = 64;
const dayMs = 86_400_000;
const firstPurse: Purse = {
  sun: 1_000_000n * 10n ** 6n,
  units: 1_000_000n * 10n ** 6n,
  isActive: true,
};
const emptyPurse: Purse = { sun: 0n, units: 0n, isActive: false };
/** Blocks of before the run begins, above those that are solidified. */
const earlierBlocks = 2;

export class TronChain {
  readonly options: TronChainOptions;
  readonly blocks: TronBlock[] = [];
  readonly pool = new Map<string, SignedTransfer>(); // by hash
  /** Everything that was ever offered, for a branch that takes what the pool gave up. */
  readonly #offered = new Map<string, SignedTransfer>();
  /** Every transaction that ever was in a block, with the newest block that held it. */
  readonly placeOf = new Map<string, number>();
  /** Payments from outside. */
  readonly outside = new Set<string>();
  #incoming: SignedTransfer[] = [];
  energySun = energySunUsual;
  /** Parts of 10,000. */
  revertRate = 0;
  skipRate = 0;
  oldRate = 0; // a branch takes what had expired on the other
  topEver = 0;
  /** No block before this; simulated time. */
  haltedUntilMs = 0;
  /** Blocks take nothing before this; simulated time. */
  jammedUntilMs = 0;
  /** Called for each block that is added, and with `null` when blocks are taken away. */
  onBlock: (block: TronBlock | null) => void = () => {};
  #salt = 0;

  constructor(options: TronChainOptions) {
    this.options = options;
    const { solidLag, slotMs, startedAt, account } = options;
    const count = solidLag + earlierBlocks;
    for (let back = count; back >= 0; back -= 1)
      this.#add([], new Map([[account, firstPurse]]), startedAt - back * slotMs);
  }

  get top(): TronBlock {
    return this.blocks[this.blocks.length - 1] as TronBlock;
  }

  get solid(): TronBlock {
    return this.blocks[this.solidNumber] as TronBlock;
  }

  /** The newest block that never leaves the chain. */
  get solidNumber(): number {
    return Math.max(0, this.topEver - this.options.solidLag);
  }

  purseOf(address: string, block: TronBlock = this.top): Purse {
    return block.purses.get(address) ?? emptyPurse;
  }

  get incoming(): number {
    return this.#incoming.length;
  }

  /**
   * Whether some block may still take it, whatever becomes of those that are not solidified: one
   * that follows the newest solidified block is judged by that block's time.
   */
  canTake({ hash, expirationMs }: SignedTransfer): boolean {
    return expirationMs > this.solid.timestampMs || this.includedIn(hash) !== null;
  }

  /** Somebody pays a deposit address, with the next block. */
  payIn(hash: string, receiver: string, contract: string, units: bigint): void {
    this.outside.add(hash);
    const data =
      contract === ""
        ? ""
        : `a9059cbb${receiver.slice(2).padStart(64, "0")}${units.toString(16).padStart(64, "0")}`;
    this.#incoming.push({
      ...{
        hash,
        bytes: 0,
        owner: `41${"0d".repeat(20)}`,
        signer: "",
        refBlockBytes: "",
        refBlockHash: "",
      },
      ...{
        expirationMs: Number.MAX_SAFE_INTEGER,
        timestampMs: 0,
        feeLimitSun: 0n,
        contract,
        receiver,
        units,
        data,
      },
    });
  }

  /** Somebody with the account's key pays somebody, with the next block. */
  outgoingOutside(hash: string): void {
    this.outside.add(hash);
    this.#incoming.push({
      ...{
        hash,
        bytes: 0,
        owner: this.options.account,
        signer: "",
        refBlockBytes: "",
        refBlockHash: "",
      },
      ...{ expirationMs: Number.MAX_SAFE_INTEGER, timestampMs: 0, feeLimitSun: 0n, contract: "" },
      ...{ receiver: `41${"fe".repeat(20)}`, units: 1n, data: "" },
    });
  }

  /** A transaction reaches the network. */
  offer(transfer: SignedTransfer): BroadcastCode {
    this.#offered.set(transfer.hash, transfer);
    if (transfer.owner !== transfer.signer) return "SIGERROR";
    if (this.pool.has(transfer.hash) || this.includedIn(transfer.hash) !== null)
      return "DUP_TRANSACTION_ERROR";
    const why = this.#refusal(transfer, this.top);
    if (why !== null) return why;
    if (this.#carryOut(transfer, new Map(this.top.purses), false) === null)
      return "CONTRACT_VALIDATE_ERROR";
    this.pool.set(transfer.hash, transfer);
    return "SUCCESS";
  }

  /** The reason of a block after `parent` not to take it. */
  #refusal(
    { refBlockBytes, refBlockHash, expirationMs }: SignedTransfer,
    parent: TronBlock,
  ): BroadcastCode | null {
    const low = Number.parseInt(refBlockBytes, 16);
    const wanted = parent.number - ((((parent.number - low) % 65_536) + 65_536) % 65_536);
    const isKnown =
      this.options.isAnyReference || this.blocks[wanted]?.id.slice(16, 32) === refBlockHash;
    if (!isKnown) return "TAPOS_ERROR";
    const isLate = expirationMs <= parent.timestampMs || expirationMs > parent.timestampMs + dayMs;
    return isLate ? "TRANSACTION_EXPIRATION_ERROR" : null;
  }

  /** The next block, unless the chain stands still. */
  tick(nowMs: number): void {
    if (nowMs < this.haltedUntilMs) return;
    this.mine(this.options.startedAt + Math.floor(nowMs));
  }

  /** Takes what the pool has into a block. */
  mine(timestampMs: number): void {
    const parent = this.top;
    const purses = new Map(parent.purses);
    const done: ChainTransfer[] = [];
    for (const transfer of this.#incoming.splice(0)) {
      done.push({ transfer, ret: "SUCCESS", feeSun: 0n });
      receive(purses, transfer);
    }
    const isJammed = timestampMs < this.options.startedAt + this.jammedUntilMs;
    for (const transfer of [...this.pool.values()]) {
      if (this.#refusal(transfer, parent) !== null) {
        this.pool.delete(transfer.hash);
        continue;
      }
      if (isJammed) continue;
      if (this.skipRate > 0 && kernel.random.fault("block without it", this.skipRate)) continue;
      const one = this.#carryOut(transfer, purses, true);
      this.pool.delete(transfer.hash);
      if (one !== null) done.push(one);
    }
    this.#add(done, purses, Math.max(timestampMs, parent.timestampMs + 1));
  }

  /**
   * Another branch takes the place of the newest blocks, and goes on to be longer. Their
   * transactions wait again, or are forgotten. Transactions that had expired meanwhile may come
   * with the branch, since older blocks judge its blocks.
   */
  reorganise(depth: number): void {
    const { random } = kernel;
    const most = Math.min(depth, this.top.number - this.solidNumber);
    if (most <= 0) return;
    const gone = this.blocks.splice(this.blocks.length - most);
    this.#salt += 1;
    note("reorganisation", most);
    this.onBlock(null);
    for (const { transfer } of gone.flatMap((block) => block.done)) {
      if (this.outside.has(transfer.hash)) this.#incoming.push(transfer);
      else if (this.skipRate === 0 || !random.fault("forgotten in a reorganisation", this.skipRate))
        this.pool.set(transfer.hash, transfer);
    }
    if (this.oldRate > 0) {
      for (const transfer of this.#offered.values()) {
        const isOut = transfer.owner === transfer.signer && this.includedIn(transfer.hash) === null;
        if (isOut && random.fault("the branch has what had expired", this.oldRate))
          this.pool.set(transfer.hash, transfer);
      }
    }
    for (const { timestampMs } of gone) this.mine(timestampMs);
  }

  forget(): void {
    for (const hash of this.pool.keys())
      if (kernel.random.below("forgets this one", 2) === 0) this.pool.delete(hash);
  }

  /** The block of the present chain that holds a transaction. */
  includedIn(hash: string): TronBlock | null {
    const number = this.placeOf.get(hash);
    const block = number === undefined ? undefined : this.blocks[number];
    return block?.done.some(({ transfer }) => transfer.hash === hash) ? block : null;
  }

  doneOf(hash: string): ChainTransfer | null {
    return this.includedIn(hash)?.done.find(({ transfer }) => transfer.hash === hash) ?? null;
  }

  isSolid(hash: string): boolean {
    const block = this.includedIn(hash);
    return block !== null && block.number <= this.solidNumber;
  }

  energyFor(receiver: string, purses: ReadonlyMap<string, Purse> = this.top.purses): bigint {
    return (purses.get(receiver)?.units ?? 0n) > 0n ? energyOfHolder : energyOfNew;
  }

  /** Null where no block takes it at all: what it cannot pay for itself. */
  #carryOut(
    transfer: SignedTransfer,
    purses: Map<string, Purse>,
    isForGood: boolean,
  ): ChainTransfer | null {
    const { owner, contract, receiver, units, feeLimitSun } = transfer;
    const purse = purses.get(owner) ?? emptyPurse;
    const isNew = contract === "" && purses.get(receiver)?.isActive !== true;
    const bandwidthSun = isNew
      ? createAccountSun + activationSun
      : BigInt(transfer.bytes + resultBytes) * byteSun;
    if (purse.sun < bandwidthSun + (contract === "" ? units : 0n)) return null;
    if (contract === "") {
      purses.set(owner, { ...purse, sun: purse.sun - bandwidthSun - units });
      receive(purses, transfer);
      return { transfer, ret: "SUCCESS", feeSun: bandwidthSun };
    }
    const left = purse.sun - bandwidthSun;
    const affordable = smaller(feeLimitSun, left) / this.energySun;
    const energy = this.energyFor(receiver, purses);
    const reverts =
      purse.units < units ||
      (isForGood && this.revertRate > 0 && kernel.random.fault("revert", this.revertRate));
    const isShort = energy > affordable;
    const energyFee = (isShort ? affordable : energy) * this.energySun;
    const ret = isShort ? "OUT_OF_ENERGY" : reverts ? "REVERT" : "SUCCESS";
    const isPaid = ret === "SUCCESS";
    purses.set(owner, {
      ...purse,
      sun: left - energyFee,
      units: purse.units - (isPaid ? units : 0n),
    });
    if (isPaid) receive(purses, transfer);
    return { transfer, ret, feeSun: bandwidthSun + energyFee };
  }

  #add(
    done: readonly ChainTransfer[],
    purses: ReadonlyMap<string, Purse>,
    timestampMs: number,
  ): void {
    const number = this.blocks.length;
    const parentId = number === 0 ? "0".repeat(64) : this.top.id;
    const text = `${number} ${parentId} ${timestampMs} ${this.#salt} ${done.map((one) => one.transfer.hash + one.ret).join()}`;
    const body =
      number === 0
        ? this.options.genesis.padStart(48, "0")
        : createHash("sha256").update(text).digest("hex").slice(16);
    const block: TronBlock = {
      ...{ number, id: number.toString(16).padStart(16, "0") + body, parentId, timestampMs, done },
      purses: done.length === 0 && number > 0 ? this.top.purses : purses,
    };
    this.blocks.push(block);
    this.topEver = Math.max(this.topEver, number);
    for (const { transfer } of done) this.placeOf.set(transfer.hash, number);
    note(
      "block",
      done.length,
      () => `${number} ${done.map((one) => `${one.transfer.hash.slice(0, 8)} ${one.ret}`).join()}`,
    );
    this.onBlock(block);
  }
}

function receive(purses: Map<string, Purse>, { receiver, contract, units }: SignedTransfer): void {
  const purse = purses.get(receiver) ?? emptyPurse;
  if (contract !== "") purses.set(receiver, { ...purse, units: purse.units + units });
  else purses.set(receiver, { ...purse, sun: purse.sun + units, isActive: true });
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
