/**
 * The one account of a wallet, which pays and receives: deposit requests differ by their tag. A
 * deposit account's id is the extended public key above the address, or the address itself, which a
 * merchant without an agent brings. No network, no disk, and no private key. Sources: BIP-44,
 * SLIP-44.
 */
import { AgentError } from "../../base/fault.ts";
import type { FamilyAccounts, KeyPaths, Payee } from "../accounts.ts";
import { childKeyOf, keyPathsOfCoinType } from "../curve/account-node.ts";
import { createCompressedKeyAccounts } from "../curve/account-proof.ts";
import { pointOf } from "../curve/point.ts";
import {
  addressOfPublicKey,
  compressPoint,
  decodeXAddress,
  encodeXAddress,
  isReserved,
  parseAddress,
} from "./address.ts";
import { depositTagOf } from "./deposit-tag.ts";
import { coinType } from "./network.ts";

/** Both accounts are m/44'/144'/0', and their only key is 0/0 below. */
export const xrpKeyPaths: KeyPaths = {
  ...keyPathsOfCoinType(coinType),
  accounts: [
    { purpose: "hot", number: 0 },
    { purpose: "deposits", number: 0 },
  ],
};

/** Most keys and most addresses that are kept; the oldest goes first. */
const keptMax = 1024;
const publicKeys = new Map<string, Uint8Array>();
const receivers = new Map<string, string>();

/** The public key (33 bytes) that `accounts.addressOf` named by an address; undefined if none. */
export function publicKeyOf(address: string): Uint8Array | undefined {
  return publicKeys.get(address);
}

/**
 * The X-address of a deposit request, by its index 0 … 2^31-2. Every one of an account has the same
 * address in it.
 * @throws ADDRESS_XPUB, ADDRESS_FORMAT, ADDRESS_CHECKSUM, ADDRESS_ZERO, ADDRESS_INDEX
 */
export function depositAddressOf(accountId: string, index: number): string {
  return encodeXAddress({ address: receiverOf(accountId), tag: `${depositTagOf(index)}` });
}

export const xrpAccounts: FamilyAccounts = {
  ...createCompressedKeyAccounts(addressOf),
  keyLetters: "xpub or address",
  readKey(text) {
    if (text.startsWith("xpub")) return text;
    const parsed = parseAddress(text);
    return parsed.ok && !isReserved(parsed.address) ? parsed.address : null;
  },
  deposits: "tags",
  payeeOf: (depositAddress: string): Payee =>
    decodeXAddress(depositAddress) ?? { address: depositAddress, tag: "" },
};

/**
 * Keeps the key too, because the bytes of a payment hold it and a payment names only the address.
 */
function addressOf(publicKey: Uint8Array): string {
  const key = compressPoint(pointOf(publicKey));
  const address = addressOfPublicKey(key);
  keep(publicKeys, address, key);
  return address;
}

function receiverOf(accountId: string): string {
  const known = receivers.get(accountId);
  if (known !== undefined) return known;
  const address = accountId.startsWith("r")
    ? addressOrThrow(accountId)
    : addressOfPublicKey(childKeyOf(accountId, 0));
  keep(receivers, accountId, address);
  return address;
}

function addressOrThrow(text: string): string {
  const parsed = parseAddress(text);
  if (!parsed.ok) throw new AgentError(parsed.code, "none", parsed.detail ?? parsed.code);
  return parsed.address;
}

function keep<T>(kept: Map<string, T>, name: string, value: T): void {
  kept.delete(name);
  const oldest = kept.keys().next();
  if (kept.size >= keptMax && !oldest.done) kept.delete(oldest.value);
  kept.set(name, value);
}
