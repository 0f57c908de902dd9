/**
 * INTENT: bytes built from what was approved, read back, compared and cleared by policy, then recorded. The courier's facts set fees
 * and gas within the ceilings and nothing else. Touches nothing: the record and the vault's work leave through the turn.
 */
import { buildTransfer, type Description } from "../../../chains/evm/transaction.ts";
import { invariant, type Refusal } from "../../../protocol/fault.ts";
import type { EvmFacts } from "../../socket/verbs.ts";
import type { Approval } from "../policy/approval.ts";
import type { Clearance } from "../policy/clearance.ts";
import type { Account } from "../state/accounts.ts";
import type { Version, Withdrawal } from "../state/withdrawal.ts";
import { closedToNew, type Turn } from "./run.ts";

/**
 * A recorded intent to be signed once it is on disk.
 * @public
 */
export interface SignWork {
  readonly transactionId: string;
  readonly version: number;
  readonly intentSeq: number;
  readonly clearance: Clearance;
  readonly unsigned: Uint8Array;
  readonly account: string;
}

/**
 * Signed already (`work` null: answer with what is there), or work for the vault.
 * @public
 */
export type Prepared = { readonly ok: true; readonly work: SignWork | null } | Refusal;

/** Bytes, comparison, INTENT. Everything that can refuse comes before the record. */
export function intend(
  turn: Turn,
  approval: Approval,
  account: Account,
  nonce: bigint,
  version: number,
  facts: EvmFacts,
): Prepared {
  const closed = closedToNew(turn);
  if (closed !== null) return closed;
  const { transactionId } = approval;
  const unsigned = buildTransfer({
    chainId: BigInt(approval.network.slice("eip155:".length)),
    nonce,
    contract: approval.contract,
    destination: approval.address,
    amountUnits: approval.amountUnits,
    gasLimit: BigInt(facts.gasLimit),
    maxFeePerGas: BigInt(facts.maxFeePerGas),
    maxPriorityFeePerGas: BigInt(facts.maxPriorityFeePerGas),
  });
  const cleared = turn.core.policy.clear({ approval, unsigned, version, account: account.account, nonce }, turn.nowMs);
  if (!cleared.ok) return cleared;
  const { clearance, description } = cleared;
  const [intent] = turn.commit([intentBody(transactionId, version, account, description, clearance.digest, unsigned)]);
  invariant(intent !== undefined, "one body is one record");
  return { ok: true, work: { transactionId, version, intentSeq: intent.seq, clearance, unsigned, account: account.account } };
}

/** The record says what the bytes say: every field is taken from the description. */
function intentBody(
  transactionId: string,
  version: number,
  { network, account }: Account,
  said: Description,
  digest: string,
  unsigned: Uint8Array,
): Parameters<Turn["commit"]>[0][number] {
  return {
    kind: "INTENT",
    transactionId,
    version,
    network,
    account,
    nonce: said.nonce.toString(),
    contract: said.contract,
    address: said.destination,
    amountUnits: said.amountUnits.toString(),
    gasLimit: said.gasLimit.toString(),
    maxFeePerGas: said.maxFeePerGas.toString(),
    maxPriorityFeePerGas: said.maxPriorityFeePerGas.toString(),
    digest,
    unsigned: `0x${Buffer.from(unsigned.buffer, unsigned.byteOffset, unsigned.length).toString("hex")}`,
  };
}

/** An intent from before a crash, or one whose signature is on its way: the same bytes, whatever the facts. */
export function recorded(turn: Turn, withdrawal: Withdrawal, { version, unsigned: hex, digest, intentSeq }: Version): Prepared {
  const { transactionId, account } = withdrawal;
  const approval = turn.core.policy.approval(transactionId);
  invariant(approval !== undefined, "a bound withdrawal has its approval");
  const unsigned = Uint8Array.from(Buffer.from(hex.slice(2), "hex"));
  const built = { approval, unsigned, version, account, nonce: BigInt(withdrawal.nonce) };
  const clearance = turn.core.policy.clearRecorded(built, digest);
  return { ok: true, work: { transactionId, version, intentSeq, clearance, unsigned, account } };
}
