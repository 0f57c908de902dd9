/** Accounts with keys, which sign payments and cancels by the product's own writer. */
import { SigningKey, sha256, toUtf8Bytes } from "ethers";
import type { Payment, TxParams } from "../../chains/family.ts";
import { xrp } from "../../chains/xrp/family.ts";
import { xrpTransactions } from "../../chains/xrp/transactions.ts";

export interface Owner {
  readonly key: SigningKey;
  readonly address: string;
}

export interface SignedXrp {
  readonly raw: string; // as the courier has it
  readonly txHash: string;
  readonly txParams: TxParams;
}

/** The same key for the same name, in every run. */
export function owner(name: string): Owner {
  const key = new SigningKey(sha256(toUtf8Bytes(name)));
  return {
    key,
    address: xrp.accounts.addressOf(Buffer.from(key.compressedPublicKey.slice(2), "hex")),
  };
}

export function paymentOf(from: Owner, fields: Partial<Payment> = {}): Payment {
  const to = { destination: owner("a receiver").address, tag: "", amountUnits: 5_000_000n };
  return { network: "xrpl:0", account: from.address, slot: "7", contract: "", ...to, ...fields };
}

export function sign(
  from: Owner,
  payment: Payment,
  txParams: TxParams,
  isCancel = false,
): SignedXrp {
  const build = isCancel
    ? xrpTransactions.cancels?.build(payment, txParams)
    : xrpTransactions.build(payment, txParams);
  const unsigned = build ?? new Uint8Array(0);
  const signatures = xrpTransactions.digests(unsigned).map((digest) => signature(from, digest));
  const { raw, txHash } = xrpTransactions.attach(unsigned, signatures, from.address);
  return { raw: `0x${Buffer.from(raw).toString("hex")}`, txHash, txParams };
}

function signature({ key }: Owner, digest: Uint8Array): Uint8Array {
  const { r, s, yParity } = key.sign(digest);
  return Buffer.concat([
    Buffer.from(r.slice(2), "hex"),
    Buffer.from(s.slice(2), "hex"),
    Uint8Array.of(yParity),
  ]);
}
