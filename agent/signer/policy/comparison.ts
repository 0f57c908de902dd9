/**
 * Describes unsigned bytes and compares the description with the approval. The clearance names the
 * digest of the same bytes. Touches nothing.
 */

import { type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf } from "../../../chains/families.ts";
import type { Description, DescriptionResult, TxParams } from "../../../chains/family.ts";
import { familyTransactionsOf } from "../../../chains/transactions.ts";
import type { Approval } from "./approval.ts";
import { type Clearance, type ClearedFields, makeClearance } from "./clearance.ts";

/** A transaction that was built for an approval. The caller keeps the buffer. */
export interface BuiltTransaction {
  readonly approval: Approval;
  readonly unsigned: Uint8Array;
  readonly txParams: TxParams; // the parameters that it was built with
  readonly attempt: number; // 1 first
  readonly isFirstHere?: boolean; // a later attempt, of which this ledger has no earlier bytes
  readonly account: string; // sender
  readonly addressIndex: number | null; // as in `ClearedFields`
  readonly slot: string; // this withdrawal's, or about to be
  readonly tipAllowedUnits?: bigint; // a tip up to this is allowed, whatever the ceiling
  readonly isFeeInside?: boolean; // as `Payment` has it
}

/** A cancel that was built for a withdrawal's slot. The caller keeps the buffer. */
export interface BuiltCancel extends Omit<BuiltTransaction, "approval" | "isFeeInside"> {
  readonly transactionId: string;
  readonly currency: string;
  readonly network: string; // CAIP-2
}

/** The bytes agree with the approval; `description` is read back from the bytes. */
export interface ComparisonResult {
  readonly ok: true;
  readonly clearance: Clearance;
  readonly description: Description;
}

/** Compares a payment. Refuses with POLICY_NOT_AS_APPROVED or a code of `describe`. */
export function compareBytes(built: BuiltTransaction): ComparisonResult | Refusal {
  const {
    approval,
    unsigned,
    txParams,
    attempt,
    account,
    addressIndex,
    slot,
    isFeeInside = false,
  } = built;
  const { network, contract, address, tag, amountUnits, transactionId } = approval;
  const isSame = (said: Description): boolean =>
    said.network === network &&
    (said.account === "" || said.account === account) &&
    said.contract === contract &&
    said.destination === address &&
    said.tag === tag &&
    said.amountUnits === amountUnits &&
    said.slot === slot;
  const told = { network, account, slot, txParams, isFeeInside };
  const read = likeness(
    familyTransactionsOf(network).describe(unsigned, told),
    isSame,
    "the bytes do not say what was approved",
  );
  if (!read.ok) return read;
  const fields = { transactionId, attempt, account, addressIndex, isCancel: false };
  return { ...read, clearance: clearanceFor(network, unsigned, fields) };
}

/** Compares a cancel. Refuses with POLICY_NOT_AS_APPROVED or a code of `describeCancel`. */
export function compareCancel(built: BuiltCancel): ComparisonResult | Refusal {
  const { transactionId, network, unsigned, txParams, attempt, account, addressIndex, slot } =
    built;
  const isSame = (said: Description): boolean => said.network === network && said.slot === slot;
  const { cancels } = familyTransactionsOf(network);
  if (cancels === null)
    return refuse("POLICY_NOT_AS_APPROVED", "no transaction cancels a payment there");
  const described = cancels.describe(unsigned, { network, account, slot, txParams });
  const read = likeness(described, isSame, "the cancel is not for this slot");
  if (!read.ok) return read;
  const fields = { transactionId, attempt, account, addressIndex, isCancel: true };
  return { ...read, clearance: clearanceFor(network, unsigned, fields) };
}

function likeness(
  read: DescriptionResult,
  isSame: (said: Description) => boolean,
  otherwise: string,
): DescriptionResult {
  if (!read.ok || isSame(read.description)) return read;
  return refuse("POLICY_NOT_AS_APPROVED", otherwise);
}

function clearanceFor(
  network: string,
  unsigned: Uint8Array,
  fields: Omit<ClearedFields, "family" | "digest">,
): Clearance {
  const digest = familyTransactionsOf(network)
    .digests(unsigned)
    .map((each) => Buffer.from(each).toString("hex"));
  return makeClearance({
    ...fields,
    family: familyOf(network).addressSpace.name,
    digest: digest.join(""),
  });
}
