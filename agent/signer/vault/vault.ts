/**
 * The room with the keys. It signs nothing but what policy cleared and the ledger holds on disk,
 * both proved by sealed values that name the same withdrawal, version and digest. Touches no disk,
 * no clock, no network. docs/architecture.md section 3.
 */
import type { KeyObject } from "node:crypto";
import type { FamilyName } from "../../../chains/family.ts";
import { privateKeyFromSeed } from "../../../protocol/envelope.ts";
import { AgentError, invariant } from "../../../protocol/fault.ts";
import { fixedCopy } from "../../files/fixed-bytes.ts";
import { type KeystoreContents, wipeKeystore } from "../../keystore/keystore.ts";
import { accountsOf, addressOfKey, depositKey, hotAddress, hotKey } from "../../keystore/nodes.ts";
import { Secret } from "../../keystore/secret.ts";
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
  /** The id of the account that addresses for deposits are made from. */
  readonly deposits: string;
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
 * Derives the paying key once and keeps it, and the node of the account for deposits, whose keys it
 * makes one by one; takes the contents over and wipes them.
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
    const { account0, account1 } = contents.evm;
    const deposits = accountsOf(contents.evm).find(({ purpose }) => purpose === "deposits")?.id ?? "";
    const keys = { hot: hotKey(account0), deposits: new Secret(fixedCopy(account1.bytes)) };
    return new UnlockedVault({ account, deposits }, keys, privateKeyFromSeed(contents.signerSeed.bytes), sign);
  } finally {
    wipeKeystore(contents);
  }
}

interface Public {
  readonly account: VaultAccount;
  readonly deposits: string;
}

interface Keys {
  readonly hot: Secret;
  readonly deposits: Secret; // an account node
}

class UnlockedVault implements Vault {
  readonly accounts: readonly VaultAccount[];
  readonly deposits: string;
  readonly #keys: Keys;
  readonly #sign: SignDigest;
  #signerKey: KeyObject | null;

  constructor({ account, deposits }: Public, keys: Keys, signerKey: KeyObject, sign: SignDigest) {
    this.accounts = [account];
    this.deposits = deposits;
    this.#keys = keys;
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
    const { child } = clearance;
    if (child === null) return this.#signWith(this.#keys.hot, clearance, receipt);
    const key = depositKey(this.#keys.deposits, child);
    try {
      return this.#signWith(key, clearance, receipt);
    } finally {
      key.wipe();
    }
  }

  #signWith(key: Secret, { family, account, child }: Clearance, { digest }: Receipt): readonly Uint8Array[] {
    const own = this.accounts.find((each) => each.family === family);
    const address = child === null ? own?.address : addressOfKey(key);
    invariant(own !== undefined && address === account, "the clearance is for an account of this vault");
    const digests = digest.match(/.{64}/g) ?? [];
    return digests.map((each) => this.#sign(Buffer.from(each, "hex"), key.bytes));
  }

  lock(): void {
    this.#keys.hot.wipe();
    this.#keys.deposits.wipe();
    this.#signerKey = null; // Its bytes live outside the heap and are freed, not zeroed.
  }
}
