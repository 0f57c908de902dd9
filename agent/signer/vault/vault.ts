/**
 * The room with the keys. It signs nothing but what policy cleared and the ledger holds on disk,
 * both proved by sealed values that name the same withdrawal, version and digest. Touches no disk,
 * no clock, no network. docs/architecture.md section 3.
 */
import type { KeyObject } from "node:crypto";
import type { FamilyName } from "../../../chains/family.ts";
import { privateKeyFromSeed } from "../../../protocol/envelope.ts";
import { AgentError, invariant } from "../../../protocol/fault.ts";
import { type KeystoreContents, wipeKeystore } from "../../keystore/keystore.ts";
import { hotAddress, hotKey } from "../../keystore/nodes.ts";
import type { Secret } from "../../keystore/secret.ts";
import { isReceipt, type Receipt } from "../../ledger/receipt.ts";
import { type Clearance, isClearance } from "../policy/clearance.ts";
import { type SignDigest, signDigest } from "./curve.ts";

/** @public */
export interface VaultAccount {
  readonly family: FamilyName;
  readonly address: string;
}

/**
 * The unlocked keys of one wallet.
 * @public
 */
export interface Vault {
  readonly accounts: readonly VaultAccount[];
  /** Ed25519, for statements. @throws AgentError VAULT_LOCKED */
  readonly signerKey: KeyObject;
  /**
   * r(32) ‖ s(32) ‖ y parity(1) over each digest that both name, in their order; the same every
   * time. Unlike values, or a look-alike of either, are a bug.
   * @throws AgentError VAULT_LOCKED
   */
  sign(clearance: Clearance, receipt: Receipt): readonly Uint8Array[];
  /** Wipes the keys; nothing is signed after it. Twice is harmless. */
  lock(): void;
}

/**
 * Derives the paying key once and keeps it; takes the contents over and wipes them.
 * @throws AgentError KEYSTORE_DERIVATION
 * @public
 */
export function unlockVault(contents: KeystoreContents): Vault {
  return unlockWith(contents, signDigest);
}

/** As `unlockVault`, with a given signing routine. */
export function unlockWith(contents: KeystoreContents, sign: SignDigest): Vault {
  try {
    const account: VaultAccount = { family: "evm", address: hotAddress(contents.evm.account0) };
    return new UnlockedVault(account, hotKey(contents.evm.account0), privateKeyFromSeed(contents.signerSeed.bytes), sign);
  } finally {
    wipeKeystore(contents);
  }
}

class UnlockedVault implements Vault {
  readonly accounts: readonly VaultAccount[];
  readonly #key: Secret;
  readonly #sign: SignDigest;
  #signerKey: KeyObject | null;

  constructor(account: VaultAccount, key: Secret, signerKey: KeyObject, sign: SignDigest) {
    this.accounts = [account];
    this.#key = key;
    this.#signerKey = signerKey;
    this.#sign = sign;
  }

  get signerKey(): KeyObject {
    if (this.#signerKey === null) throw new AgentError("VAULT_LOCKED", "none", "the keys were wiped from memory");
    return this.#signerKey;
  }

  sign(clearance: Clearance, receipt: Receipt): readonly Uint8Array[] {
    invariant(isClearance(clearance), "only what policy cleared is signed");
    invariant(isReceipt(receipt), "only what the ledger holds is signed");
    invariant(clearance.transactionId === receipt.transactionId, "clearance and receipt name the same withdrawal");
    invariant(clearance.version === receipt.version, "clearance and receipt name the same version");
    invariant(clearance.digest === receipt.digest, "clearance and receipt name the same digest");
    invariant(clearance.isCancel === receipt.isCancel, "a cancel is signed as a cancel, and nothing else is");
    const account = this.accounts.find(({ family, address }) => family === clearance.family && address === clearance.account);
    invariant(account !== undefined, "the clearance is for an account of this vault");
    const digests = receipt.digest.match(/.{64}/g) ?? [];
    return digests.map((digest) => this.#sign(Buffer.from(digest, "hex"), this.#key.bytes));
  }

  lock(): void {
    this.#key.wipe();
    this.#signerKey = null; // Its bytes live outside the heap and are freed, not zeroed.
  }
}
