/**
 * The offline door to the chains: all that the rest of the program knows of a family of chains.
 * Facts and slots are the family's own words; whoever carries them only compares, stores and hands
 * them back. Types, and the one list of names: whoever adds one is told by the compiler which
 * tables lack it.
 */
import type { Refusal } from "../protocol/fault.ts";

/**
 * Every family, in the order in which a wallet lists its accounts.
 * @public
 */
export const familyNames = ["evm", "tron"] as const;

/** @public */
export type FamilyName = (typeof familyNames)[number];

/**
 * A chain's id in its family's one spelling, as `readChainId` gave it.
 * @public
 */
export type ChainId = number | string;

/**
 * A chain as a configuration names it.
 * @public
 */
export interface ConfiguredChain {
  readonly family: FamilyName;
  readonly chainId: ChainId;
  readonly feeModel?: string; // one of the family's; by the chain's id unless told
  readonly nodesFrom?: NodesFrom;
}

/**
 * The party that named a chain's nodes: the service, in its gateway's file, or the merchant.
 * @public
 */
export type NodesFrom = "gateway" | "own";

/**
 * The offer of one version for its way into a block, in the family's own fields: decimal strings.
 * @public
 */
export type Facts = Readonly<Record<string, string>>;

/**
 * The market of one moment, as a chain's nodes agree on it, in the family's own fields.
 * @public
 */
export type Price = Readonly<Record<string, bigint>>;

/**
 * A payment on its slot. Addresses canonical, amounts in base units.
 * @public
 */
export interface Payment {
  readonly network: string; // CAIP-2
  readonly account: string;
  readonly slot: string;
  readonly contract: string; // the token, "" for the native coin
  readonly destination: string;
  readonly amountUnits: bigint;
}

/**
 * Unsigned bytes as they read; `account` is "" where the bytes name no payer; `feeMaxUnits` is the
 * most that they can cost, in units of the fee coin.
 * @public
 */
export type Description = Payment & { readonly facts: Facts; readonly feeMaxUnits: bigint };

/**
 * What was recorded beside unsigned bytes: of it `describe` takes what no byte says.
 * @public
 */
export interface Told {
  readonly network: string; // CAIP-2
  readonly account: string; // paying address
  readonly slot: string;
  readonly facts: Facts;
}

/** @public */
export type Described = { readonly ok: true; readonly description: Description } | Refusal;

/**
 * A version that was made before, and the most that it may cost. Of one that the gateway told of,
 * the facts are not known.
 * @public
 */
export interface PricedVersion {
  readonly txHash: string; // "" until signed
  readonly facts: Facts | null;
  readonly feeMax: string;
}

/**
 * The slots of an account: each excludes all but one of the transactions made for it. Spelled in
 * one way, at most 160 characters.
 * @public
 */
export interface Slots {
  /** Of an account that never paid. */
  readonly first: string;
  /** Beyond it no account of a living chain comes: such a slot was made up. */
  readonly last: string;
  /** The slot, or null when the text is none in its one spelling. */
  read(text: string): string | null;
  next(slot: string): string;
  /** Below 0 where the chain takes `a` before `b`. */
  compare(a: string, b: string): number;
  /** How many there are from one on and before another; 0 where it does not come later. */
  between(from: string, before: string): bigint;
  /** Whether no block takes a slot before all that come before it. */
  readonly blocksLater: boolean;
  /** Whether the chain counts an account's slots; else the signer alone gives them out. */
  readonly isCounted: boolean;
  /** For a person, in the chain's own word. */
  say(slot: string): string;
  readonly word: string;
}

/**
 * What keeps a second payment out where no slot does: the first one is dead once the chain's own
 * time is past its end, and no block has it. Times are milliseconds since 1970, all by the chain.
 * @public
 */
export interface Waiting {
  readonly kind: "waiting";
  /** So far past its end, in final chain time, before anybody calls a version dead. */
  readonly marginMs: number;
  /** The longest life that a version may have, from its stamp on. */
  readonly lifeMsMax: number;
  /** No block takes the version once the chain is past this. */
  untilMs(facts: Facts): number;
  /**
   * Rises strictly from one version of an account to the next, so that no two payments are one
   * transaction. Never after `untilMs`.
   */
  stamp(facts: Facts): bigint;
  /** The same offer with a stamp above `last`; its end moves as far. */
  stamped(facts: Facts, last: bigint): Facts;
}

/**
 * What keeps a second payment out: a slot, which the chain gives to one transaction alone; or
 * waiting until the first one is dead.
 * @public
 */
export type Exclusion = { readonly kind: "slot" } | Waiting;

/**
 * What a person types of fees, each in the chain's own unit: the most per unit of work, the tip,
 * and the work. Undefined leaves a figure to us.
 * @public
 */
export interface TypedFees {
  readonly maxFee?: string | undefined;
  readonly tip?: string | undefined;
  readonly work?: string | undefined;
  readonly dataFee?: string | undefined; // billed beside the work, where the chain does so
}

/** @public */
export interface Fees {
  readonly decimal: number; // of the coin that fees are paid in
  readonly tipDecimal: number; // of the unit that people speak of tips in
  readonly tipUnit: string; // its name; "" where nobody offers a tip
  readonly tipMax: string; // ceiling of a tip where config.json names none, in that unit
  /** Ceilings for a chain that has no preset and no price, in whole coins: a cautious start. */
  readonly ceilings: { readonly maxFee: string; readonly maxFeePerDay: string };
  /** Work of the cheapest payment, and of one whose work is not known. */
  readonly workMin: bigint;
  readonly workUnknown: bigint;
  /**
   * The facts themselves. @throws AgentError JSON_SHAPE when a field is missing, one too many, or
   * no number
   */
  read(facts: Facts): Facts;
  /** As `read`; "" leaves a figure to us. */
  readWish(facts: Facts): Facts;
  /** A wish as a person types it. Says in words what is wrong. */
  typed(options: TypedFees): { readonly ok: true; readonly facts: Facts } | { readonly ok: false; readonly problem: string };
  /** The most that a version may cost. */
  most(facts: Facts): bigint;
  /** The part of the offer that a ceiling of its own holds, per unit of work. */
  tipOf(facts: Facts): bigint;
  workOf(facts: Facts): bigint;
  /** The offer of a first version. */
  first(price: Price, work: bigint): Facts;
  /** Null where nobody bids for a place in a block: there no version is dearer than another. */
  readonly bidding: Bidding | null;
  /** Why the bytes can never do what they say for so little, or null. */
  tooLittle(description: Description): string | null;
  /** Why facts leave open what a version may cost on such a chain, or null. */
  unbounded(chain: ConfiguredChain, facts: Facts): string | null;
  /** The offer for a person, in a line and in rows beside that of an earlier version. */
  say(facts: Facts): string;
  rows(facts: Facts, before: Facts | null, beforeName: string): readonly (readonly [name: string, text: string])[];
}

/**
 * How a version comes before others of its slot: by offering more.
 * @public
 */
export interface Bidding {
  /**
   * The rule for a dearer version, which nodes take in the place of all before: at least the least
   * step above the newest, more where `asked` is. The same again for its own result.
   */
  dearer(versions: readonly PricedVersion[], asked: Facts, isCancel: boolean): Facts;
  /**
   * As `dearer`, by the market: of a newest version that is number `version`. `isTipLow` keeps to
   * the lower of the nodes' tips.
   */
  dearerAt(price: Price, versions: readonly PricedVersion[], work: bigint, version: number, isTipLow: boolean): Facts;
  /** The least tip above every version so far; 0 where none offered one. */
  leastTip(versions: readonly PricedVersion[]): bigint;
  /** Offers to try for a person's `replace` or `cancel`, best first. Refuses with UNSTICK_FEES. */
  unstick(
    versions: readonly PricedVersion[],
    isCancel: boolean,
    wish: Facts,
  ): { readonly ok: true; readonly facts: readonly Facts[] } | Refusal;
}

/**
 * What a link for wallets asks a payer for. Addresses canonical, the amount above zero.
 * @public
 */
export interface PaymentLink {
  readonly network: string; // CAIP-2
  readonly contract: string; // the token, "" for the native coin
  readonly receiver: string;
  readonly units: bigint; // base units
}

/**
 * A family of chains, without a network. Every function is deterministic.
 * @public
 */
export interface Family {
  readonly name: FamilyName;
  readonly namespace: string; // of its networks' names, CAIP-2
  readonly exclusion: Exclusion;
  /** Whether a configuration may count blocks until one is final; else the chain alone says so. */
  readonly countsConfirmations: boolean;
  readonly slots: Slots;
  readonly fees: Fees;
  /** The words for how a chain bills, as a configuration may name them. */
  readonly feeModels: readonly string[];
  /** The id of a chain that a configuration names; null when the value is none. */
  readChainId(value: unknown): ChainId | null;
  networkOf(chain: ConfiguredChain): string;
  /** Whether a text is a transaction's hash in its one spelling. */
  isTxHash(text: string): boolean;
  /** The canonical form. Refuses with ADDRESS_*. */
  parseAddress(text: string): { readonly ok: true; readonly address: string } | Refusal;
  /** A link that wallets of the family open; "" where they have no form for one. */
  paymentUri(link: PaymentLink): string;
  /** An address for deposits under the id of an account for deposits. @throws ADDRESS_* */
  depositAddress(accountId: string, index: number): string;
  /** Where its keys lie. */
  readonly paths: KeyPaths;
  /**
   * The id of an account by its public key (hot), or the text that stands for its node (deposits).
   */
  readonly accounts: Accounts;
}

/**
 * Places of keys on secp256k1 under a seed, all of BIP-44: an account's node is m/44'/coinType'/N',
 * and every key lies below one, unhardened. Sources: BIP-32, BIP-44, SLIP-44.
 * @public
 */
export interface KeyPaths {
  readonly coinType: number;
  readonly accounts: readonly KeyAccount[]; // of a wallet, in the order of a pairing transcript
  readonly hotKey: readonly number[]; // below a hot account's node
  readonly deposits: readonly number[]; // below the node of an account for deposits, in front of the index
}

/**
 * `number` is N of the node's path.
 * @public
 */
export interface KeyAccount {
  readonly purpose: NamedAccount["purpose"];
  readonly number: number;
}

/**
 * The public half of an account's node.
 * @public
 */
export interface PublicNode {
  readonly publicKey: Uint8Array; // 33 bytes
  readonly chainCode: Uint8Array; // 32 bytes
  readonly parentFingerprint: number;
  readonly depth: number;
  readonly index: number;
}

/**
 * The transactions of a family, as bytes. For whoever signs: nobody else needs the curve that this
 * brings.
 * @public
 */
export interface Transactions {
  /** Unsigned bytes. @throws TRANSACTION_FIELD, or ADDRESS_*, when a field is out of range */
  build(payment: Payment, facts: Facts): Uint8Array;
  /**
   * Read back from the bytes; refuses whatever `build` does not make. Of `told` it takes what no
   * byte says, such as a fee that the chain bills beside the transaction's own.
   */
  describe(unsigned: Uint8Array, told: Told): Described;
  /** Null where no transaction uses a slot up. */
  readonly cancels: Cancels | null;
  /** What gets signed, 32 bytes each. */
  digests(unsigned: Uint8Array): readonly Uint8Array[];
  /** One signature a digest, in their order. @throws TRANSACTION_SIGNATURE, TRANSACTION_SENDER */
  attach(
    unsigned: Uint8Array,
    signatures: readonly Uint8Array[],
    account: string,
  ): { readonly raw: Uint8Array; readonly txHash: string };
}

/**
 * Transactions that use a slot up and pay nothing.
 * @public
 */
export interface Cancels {
  /** @throws as `build` */
  build(slot: Pick<Payment, "network" | "account" | "slot">, facts: Facts): Uint8Array;
  describe(unsigned: Uint8Array, told: Told): Described;
}

/**
 * An account as others know it: hot by its address, deposits by what its addresses are derived
 * from.
 * @public
 */
export interface NamedAccount {
  readonly purpose: "hot" | "deposits";
  readonly id: string;
}

/** @public */
export interface Accounts {
  addressOf(publicKey: Uint8Array): string;
  /** The id of an account for deposits, by its node. */
  depositsIdOf(node: PublicNode): string;
  /** Whether the account's own key made `proof` over `digest` (32 bytes). */
  proofFits(account: NamedAccount, digest: Uint8Array, proof: string): boolean;
  /** The proof as text, of a signature r ‖ s; null when the key is not the account's. */
  proofOf(account: NamedAccount, digest: Uint8Array, signature: Uint8Array): string | null;
}
