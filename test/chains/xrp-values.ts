/** Accounts and payments of XRP, made from numbers. */
import { createHash } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1";
import type { Payment } from "../../chains/family.ts";
import { xrp } from "../../chains/xrp/family.ts";

export const network = "xrpl:0";

export interface TestAccount {
  readonly key: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly address: string;
}

/**
 * Its public key is known to the family from then on, as after an unlock, for some hundred others.
 */
export function accountAt(index: number): TestAccount {
  const key = bytesAt("key", index);
  const publicKey = secp256k1.getPublicKey(key, true);
  return { key, publicKey, address: xrp.accounts.addressOf(publicKey) };
}

export function bytesAt(name: string, index: number): Uint8Array {
  return createHash("sha256").update(`${name} ${index}`).digest();
}

export const sender = accountAt(0);
/** Many other addresses may have taken the place of the sender's key in the meantime. */
export const knowSender = (): void => void xrp.accounts.addressOf(sender.publicKey);
export const receiver = accountAt(1);

export const payment: Payment = {
  ...{ network, account: sender.address, slot: "7", contract: "" },
  ...{ destination: receiver.address, tag: "", amountUnits: 1_500_000n },
};

export const txParams = { feeDrops: "12", lastLedger: "95123456" };
