/**
 * The module with the keys. It signs only what policy cleared and the ledger holds on disk, both
 * proved by sealed values that name the same withdrawal, attempt and digest. Touches no disk, no
 * clock, no network. docs/architecture.md section 3.
 */
import type { KeyObject } from "node:crypto";
import { AgentError, invariant } from "../../../base/fault.ts";
import type { AddressSpaceName } from "../../../chains/family.ts";
import { privateKeyFromSeed } from "../../../protocol/envelope.ts";
import type { PairedAccount } from "../../../protocol/messages.ts";
import { copyToFixedBytes } from "../../files/fixed-bytes.ts";
import { type KeystoreContents, wipeKeystore } from "../../keystore/keystore.ts";
import {
  addressOfKey,
  depositKey,
  hotWalletKey,
  pairedAccountsOf,
  type WalletAccount,
} from "../../keystore/nodes.ts";
import { Secret } from "../../keystore/secret.ts";
import { isReceipt, type Receipt } from "../../ledger/receipt.ts";
import { type Clearance, isClearance } from "../policy/clearance.ts";
import { type SignDigest, signDigest } from "./curve.ts";

/** The unlocked keys of one wallet. */
export interface Vault {
  readonly accounts: readonly PairedAccount[];
  /** Ed25519, for statements. @throws AgentError VAULT_LOCKED */
  readonly signerKey: KeyObject;
  /**
   * Returns r(32) ‖ s(32) ‖ y parity(1) over each digest that both name, in their order; the same
   * every time. Values that do not match, or a look-alike of either, are a bug.
   * @throws AgentError VAULT_LOCKED
   */
  sign(clearance: Clearance, receipt: Receipt): readonly Uint8Array[];
  /** Wipes the keys; nothing is signed afterwards. A second call is harmless. */
  lock(): void;
}

/**
 * Derives the key of each hot wallet once and keeps it. Keeps the node of each deposit account,
 * whose keys are derived one by one. Takes ownership of the contents and wipes them.
 * @throws AgentError KEYSTORE_DERIVATION
 */
export function unlockVault(contents: KeystoreContents): Vault {
  return unlockVaultWithSignDigest(contents, signDigest);
}

/**
 * As `unlockVault`, with a given signing routine.
 * @package
 */
export function unlockVaultWithSignDigest(contents: KeystoreContents, sign: SignDigest): Vault {
  try {
    return new UnlockedVault(contents, privateKeyFromSeed(contents.signerSeed.bytes), sign);
  } finally {
    wipeKeystore(contents);
  }
}

/** The key of one hot wallet. */
interface HotWalletKey {
  readonly family: AddressSpaceName;
  readonly address: string;
  readonly key: Secret;
}

class UnlockedVault implements Vault {
  readonly accounts: readonly PairedAccount[];
  readonly #hotWallet: readonly HotWalletKey[];
  readonly #deposits: readonly WalletAccount[];
  readonly #sign: SignDigest;
  #signerKey: KeyObject | null;

  constructor({ accounts }: KeystoreContents, signerKey: KeyObject, sign: SignDigest) {
    this.accounts = pairedAccountsOf(accounts);
    this.#hotWallet = accounts.filter(({ purpose }) => purpose === "hot").map(hotWalletKeyOf);
    this.#deposits = accounts
      .filter(({ purpose }) => purpose === "deposits")
      .map((account) => ({ ...account, node: new Secret(copyToFixedBytes(account.node.bytes)) }));
    this.#sign = sign;
    this.#signerKey = signerKey;
  }

  get signerKey(): KeyObject {
    if (this.#signerKey === null)
      throw new AgentError("VAULT_LOCKED", "none", "the keys were wiped from memory");
    return this.#signerKey;
  }

  sign(clearance: Clearance, receipt: Receipt): readonly Uint8Array[] {
    invariant(isClearance(clearance), "only what policy cleared is signed");
    invariant(isReceipt(receipt), "only what the ledger holds is signed");
    invariant(
      clearance.transactionId === receipt.transactionId,
      "clearance and receipt name the same withdrawal",
    );
    invariant(clearance.attempt === receipt.attempt, "clearance and receipt name the same attempt");
    invariant(clearance.digest === receipt.digest, "clearance and receipt name the same digest");
    invariant(
      clearance.isCancel === receipt.isCancel,
      "a cancel is signed as a cancel, and nothing else is",
    );
    if (clearance.addressIndex === null) {
      const own = this.#hotWallet.find(
        ({ family, address }) => family === clearance.family && address === clearance.account,
      );
      invariant(own !== undefined, "the clearance is for an account of this vault");
      return this.#signWith(own.key, receipt);
    }
    const key = this.#depositKey(clearance, clearance.addressIndex);
    try {
      return this.#signWith(key, receipt);
    } finally {
      key.wipe();
    }
  }

  /**
   * Derives a deposit address's key at the moment of signing: a wallet has too many of them to
   * keep.
   */
  #depositKey({ family, account }: Clearance, index: number): Secret {
    for (const deposits of this.#deposits) {
      if (deposits.family !== family) continue;
      const key = depositKey(deposits, index);
      if (addressOfKey(family, key) === account) return key;
      key.wipe();
    }
    invariant(false, "the clearance is for an account of this vault");
  }

  #signWith(key: Secret, { digest }: Receipt): readonly Uint8Array[] {
    const digests = digest.match(/.{64}/g) ?? [];
    return digests.map((each) => this.#sign(Buffer.from(each, "hex"), key.bytes));
  }

  lock(): void {
    for (const { key } of this.#hotWallet) key.wipe();
    for (const { node } of this.#deposits) node.wipe();
    this.#signerKey = null; // Its bytes are outside the heap and are freed, not zeroed.
  }
}

function hotWalletKeyOf(account: WalletAccount): HotWalletKey {
  const key = hotWalletKey(account);
  return { family: account.family, address: addressOfKey(account.family, key), key };
}
