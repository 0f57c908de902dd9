/**
 * Signing and replacing: binds the next nonce to an approved withdrawal, builds the bytes from what was approved, and has policy
 * clear them. The courier's facts set fees and gas, within the ceilings, and nothing else. Touches nothing: the INTENT record and
 * the work for the vault leave through the turn.
 */
import { buildTransfer, type Description } from "../../../chains/evm/transaction.ts";
import { invariant, type Refusal, refuse } from "../../../protocol/fault.ts";
import { versionsMax } from "../../../protocol/payloads.ts";
import type { EvmFacts } from "../../socket/verbs.ts";
import type { Approval } from "../policy/approval.ts";
import type { Clearance } from "../policy/clearance.ts";
import { closedGate, closedToNew, type Turn } from "../run.ts";
import { type Account, pendingPerAccountMax } from "./accounts.ts";
import { isFinal, step, type Version, type Withdrawal } from "./withdrawal.ts";

/** Nodes take a replacement from 10 % on (both fees); an eighth leaves room for their rounding. */
const raiseNumerator = 9n;
const raiseDenominator = 8n;

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

/**
 * The first version of an approved withdrawal. Twice is harmless: a bound one is never bound again, its recorded bytes are signed
 * whatever the facts now say.
 * @throws AgentError TRANSACTION_FIELD when the facts are out of range; nothing is recorded then
 * @public
 */
export function prepareSign(turn: Turn, transactionId: string, facts: EvmFacts): Prepared {
  const closed = closedGate(turn);
  if (closed !== null) return closed;
  const { core, nowMs } = turn;
  const withdrawal = core.book.find(transactionId);
  if (withdrawal === undefined) return refuse("WITHDRAWAL_UNKNOWN");
  if (withdrawal.state === "quarantined") return refuse("WITHDRAWAL_HELD", withdrawal.code);
  const first = withdrawal.versions[0];
  if (first !== undefined && first.txHash !== "") return { ok: true, work: null };
  if (first !== undefined) return waitingBelow(core, placeOf(withdrawal)) ?? recorded(turn, withdrawal, first);
  if (withdrawal.state === "held") return refuse("WITHDRAWAL_HELD", withdrawal.code);
  if (step(withdrawal.state, "intent") === null) return refuse("WITHDRAWAL_CLOSED", withdrawal.state);
  if (nowMs > withdrawal.job.expiresAt) {
    turn.commit([{ kind: "EXPIRED", transactionId }]);
    return refuse("JOB_EXPIRED");
  }
  const approval = core.policy.approval(transactionId);
  invariant(approval !== undefined, "an approved withdrawal has its approval");
  const account = core.accounts.find(approval.network, turn.account);
  if (account === undefined) return refuse("ACCOUNT_NOT_ADOPTED", approval.chain);
  const stopped = waitingBelow(core, { ...account, nonce: account.next }) ?? overtaken(turn, account);
  if (stopped !== null) return stopped;
  if (account.pending >= pendingPerAccountMax) return refuse("ACCOUNT_FULL", `${account.pending} in no block yet`);
  return intend(turn, approval, account, account.next, 1, facts);
}

/**
 * What was bound and never signed, because a process died or the gate was closed in between: lowest nonce first, each with its own
 * recorded bytes. Whoever signs these before anything new keeps signatures in the order of their nonces, so that the gateway, once it
 * holds the signature of one nonce, holds those of all below it: a ledger put back to before them leaves no nonce that nobody knows.
 * What a recovery quarantined unsigned waits for its own yes, and what lies above it waits with it. Twice is harmless.
 * @public
 */
export function prepareBound(turn: Turn): readonly { readonly transactionId: string; readonly prepared: Prepared }[] {
  if (turn.core.book.count("intent") === 0 || closedGate(turn) !== null) return [];
  return [...turn.core.book.open()]
    .filter(({ state }) => state === "intent")
    .filter((withdrawal) => waitingBelow(turn.core, placeOf(withdrawal)) === null)
    .sort((a, b) => Number(BigInt(a.nonce) - BigInt(b.nonce)))
    .flatMap((withdrawal) => {
      const [first] = withdrawal.versions;
      return first === undefined
        ? []
        : [{ transactionId: withdrawal.transactionId, prepared: recorded(turn, withdrawal, first) }];
    });
}

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

/**
 * A recovery quarantined what had a nonce and no signature: no block takes a nonce above it before a person has let it go on. Signed and
 * let out now, those above would be all that the gateway knows, and a ledger put back to before them would forget the one below for good.
 */
function waitingBelow({ book }: Turn["core"], { network, account, nonce }: Place): Refusal | null {
  if (book.count("quarantined") === 0) return null;
  for (const one of book.open()) {
    if (one.state !== "quarantined" || one.versions.some(({ txHash }) => txHash !== "")) continue;
    const isBelow = one.job.network === network && one.account === account && BigInt(one.nonce) < nonce;
    if (isBelow) return refuse("ACCOUNT_WAITS", `nonce ${one.nonce} is ${one.transactionId}'s`);
  }
  return null;
}

/**
 * The chain's final count is past the next nonce: what lies between went to transactions that this ledger does not know. Perhaps they are
 * its own, of a time that ledger and gateway were both put back to before; then what is asked for now may be paid already, and a nonce
 * above them would pay it again. It locks when it stays (`weighCount`).
 */
function overtaken({ run }: Turn, { network, next }: Account): Refusal | null {
  const count = run.counts.get(network) ?? 0n;
  return count <= next ? null : refuse("ACCOUNT_BEHIND", `the chain counts ${count} transactions, the ledger ${next}`);
}

/** A nonce of an account, given already or next. */
interface Place {
  readonly network: string;
  readonly account: string;
  readonly nonce: bigint;
}

function placeOf({ job, account, nonce }: Withdrawal): Place {
  return { network: job.network, account, nonce: BigInt(nonce) };
}

/** Bytes, comparison, INTENT. Everything that can refuse comes before the record. */
function intend(turn: Turn, approval: Approval, account: Account, nonce: bigint, version: number, facts: EvmFacts): Prepared {
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
function recorded(turn: Turn, withdrawal: Withdrawal, { version, unsigned: hex, digest, intentSeq }: Version): Prepared {
  const { transactionId, account } = withdrawal;
  const approval = turn.core.policy.approval(transactionId);
  invariant(approval !== undefined, "a bound withdrawal has its approval");
  const unsigned = Uint8Array.from(Buffer.from(hex.slice(2), "hex"));
  const built = { approval, unsigned, version, account, nonce: BigInt(withdrawal.nonce) };
  const clearance = turn.core.policy.clearRecorded(built, digest);
  return { ok: true, work: { transactionId, version, intentSeq, clearance, unsigned, account } };
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
