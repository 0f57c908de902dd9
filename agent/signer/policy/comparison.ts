/**
 * Describes unsigned bytes and holds them against the approval. The clearance names the digest of the same bytes. Touches nothing.
 */
import { type Description, describe, digestOf } from "../../../chains/evm/transaction.ts";
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import type { Approval } from "./approval.ts";
import { type Clearance, makeClearance } from "./clearance.ts";

/**
 * A transaction that was built for an approval. Whoever calls keeps the buffer.
 * @public
 */
export interface Built {
  readonly approval: Approval;
  readonly unsigned: Uint8Array;
  readonly version: number; // 1 first
  readonly account: string; // paying address, EIP-55
  readonly nonce: bigint; // bound to this withdrawal, or about to be
}

/** The bytes agree with the approval; `description` is read back from them. */
export interface Compared {
  readonly ok: true;
  readonly clearance: Clearance;
  readonly description: Description;
}

/** Refuses with POLICY_NOT_AS_APPROVED or a code of `describe`. */
export function compare({ approval, unsigned, version, account, nonce }: Built): Compared | Refusal {
  const read = describe(unsigned);
  if (!read.ok) return read;
  const { description } = read;
  const same =
    `eip155:${description.chainId}` === approval.network &&
    description.contract === approval.contract &&
    description.destination === approval.address &&
    description.amountUnits === approval.amountUnits &&
    description.nonce === nonce;
  if (!same) return refuse("POLICY_NOT_AS_APPROVED", "the bytes do not say what was approved");
  const digest = Buffer.from(digestOf(unsigned)).toString("hex");
  const { transactionId } = approval;
  return { ok: true, description, clearance: makeClearance({ transactionId, version, family: "evm", account, digest }) };
}
