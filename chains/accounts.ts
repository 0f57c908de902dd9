/**
 * Accounts of a wallet: the paths of their keys, and their names and proofs at pairing. Only types.
 */

/**
 * Derivation paths of keys on secp256k1 under a seed. An account's node is
 * m/purpose'/coinType'/N', and every key lies below such a node, unhardened. Sources: BIP-32,
 * BIP-44, BIP-84, SLIP-44.
 */
export interface KeyPaths {
  readonly purpose: 44 | 84;
  readonly coinType: number;
  /** Accounts of a wallet, in the order of a pairing transcript. */
  readonly accounts: readonly NumberedAccount[];
  readonly hotWalletKey: readonly number[]; // below a hot wallet's node
  readonly deposits: readonly number[]; // below the node of a deposit account, in front of the index
}

/** `number` is N of the node's path. */
export interface NumberedAccount {
  readonly purpose: NamedAccount["purpose"];
  readonly number: number;
}

/** The public half of an account's node. */
export interface PublicKeyNode {
  readonly publicKey: Uint8Array; // 33 bytes
  readonly chainCode: Uint8Array; // 32 bytes
  readonly parentFingerprint: number;
  readonly depth: number;
  readonly index: number;
}

/**
 * An account for other parties: hot by its address, deposits by the text from which its addresses
 * are derived.
 */
export interface NamedAccount {
  readonly purpose: "hot" | "deposits";
  readonly id: string;
}

export interface FamilyAccounts {
  /** The letters with which wallets begin a deposit account's extended public key. */
  readonly keyLetters: string;
  /** The id of a deposit account, by its key as wallets show it; null for another kind of text. */
  readKey(text: string): string | null;
  addressOf(publicKey: Uint8Array): string;
  /** The id of a deposit account, by its node. */
  depositsIdOf(node: PublicKeyNode): string;
  /** True if the account's own key made `proof` over `digest` (32 bytes). */
  proofFits(account: NamedAccount, digest: Uint8Array, proof: string): boolean;
  /** The proof as text, made from a signature r ‖ s; null if the key is not the account's. */
  proofOf(account: NamedAccount, digest: Uint8Array, signature: Uint8Array): string | null;
  /**
   * Whether each deposit request gets an address of its own, or the hot wallet's address with a tag
   * of its own. Nothing is swept on a chain with tags.
   */
  readonly deposits: "addresses" | "tags";
  /**
   * The address and the tag that a customer types for a deposit address, which is one text for
   * both.
   */
  payeeOf(depositAddress: string): Payee;
}

/** Addresses canonical; the tag is "" for none. */
export interface Payee {
  readonly address: string;
  readonly tag: string;
}
