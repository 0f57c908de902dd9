/**
 * A dearer version on the slot that a withdrawal has: built from the same approval. Touches nothing: the INTENT record and the work
 * for the vault leave through the turn.
 */
import { invariant, refuse } from "../../../protocol/fault.ts";
import { versionsMax } from "../../../protocol/payloads.ts";
import type { EvmFacts } from "../../socket/verbs.ts";
import { isFinal, step, type Version, type Withdrawal } from "../state/withdrawal.ts";
import { intend, type Prepared, recorded } from "./intent.ts";
import { closedGate, type Turn } from "./run.ts";

/** Nodes take a replacement from 10 % on (both fees); an eighth leaves room for their rounding. */
const raiseNumerator = 9n;
const raiseDenominator = 8n;

/**
 * A dearer version of the same token, `above` the newest one. Both fees rise by an eighth at least, more if the facts ask for it.
 * Twice is harmless: the version already made answers.
 * @throws AgentError TRANSACTION_FIELD as `prepareSign`
 * @public
 */
export function prepareReplace(turn: Turn, transactionId: string, above: number, facts: EvmFacts): Prepared {
  const closed = closedGate(turn);
  if (closed !== null) return closed;
  const { core } = turn;
  const withdrawal = core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (withdrawal.state === "quarantined") return refuse("WITHDRAWAL_HELD", withdrawal.code);
  const made = withdrawal.versions[above];
  if (made !== undefined && made.txHash !== "") return { ok: true, work: null };
  if (isFinal(withdrawal.state)) return refuse("WITHDRAWAL_CLOSED", withdrawal.state);
  if (made !== undefined) return recorded(turn, withdrawal, made);
  const newest = withdrawal.versions[above - 1];
  if (newest === undefined) return refuse("WITHDRAWAL_VERSION_UNKNOWN", `there is no version ${above}`);
  if (!newest.released) return refuse("WITHDRAWAL_NOT_RELEASED");
  if (step(withdrawal.state, "intent") === null) return refuse("WITHDRAWAL_INCLUDED");
  if (above >= versionsMax) return refuse("WITHDRAWAL_TOO_MANY_VERSIONS");
  const approval = core.policy.approval(transactionId);
  invariant(approval !== undefined, "a withdrawal that is not final has its approval");
  const account = core.accounts.find(approval.network, withdrawal.account);
  invariant(account !== undefined, "a bound token has its account");
  return intend(turn, approval, account, BigInt(withdrawal.nonce), above + 1, unlike(withdrawal, raised(newest, facts)));
}

function raised(newest: Version, facts: EvmFacts): EvmFacts {
  const maxFeePerGas = larger(BigInt(facts.maxFeePerGas), raise(BigInt(newest.maxFeePerGas)));
  const maxPriorityFeePerGas = larger(BigInt(facts.maxPriorityFeePerGas), raise(BigInt(newest.maxPriorityFeePerGas)));
  return {
    gasLimit: facts.gasLimit,
    maxFeePerGas: maxFeePerGas.toString(),
    maxPriorityFeePerGas: maxPriorityFeePerGas.toString(),
  };
}

/**
 * Of a version that a recovery took over the fees are not known, and equal ones would make its very bytes again, under another number:
 * for the gateway a contradiction. One wei more for each gas makes another transaction.
 */
function unlike({ versions }: Withdrawal, facts: EvmFacts): EvmFacts {
  const taken = new Set(versions.flatMap(({ feeMax }) => (feeMax === undefined ? [] : [feeMax])));
  const gasLimit = BigInt(facts.gasLimit);
  let maxFeePerGas = BigInt(facts.maxFeePerGas);
  for (let rest = taken.size; rest > 0 && taken.has(`${gasLimit * maxFeePerGas}`); rest -= 1) maxFeePerGas += 1n;
  return { ...facts, maxFeePerGas: maxFeePerGas.toString() };
}

/** Rounded up, and by one at least: nodes want both fees strictly higher, even from nothing. */
function raise(fee: bigint): bigint {
  return larger((fee * raiseNumerator + raiseDenominator - 1n) / raiseDenominator, fee + 1n);
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
