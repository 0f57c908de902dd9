/**
 * INTENT: builds bytes from the approval, reads the bytes back, has policy compare and clear them,
 * then records them. The courier's parameters set only fees and gas, within the ceilings. A cancel
 * is built only from the slot. Touches nothing; the record and the vault's work go through the
 * `RequestContext`.
 */
import { invariant, type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf, isFeeInside, pinExclusionOf } from "../../../chains/families.ts";
import type { TxParams } from "../../../chains/family.ts";
import { familyTransactionsOf } from "../../../chains/transactions.ts";
import { limitGroupOf } from "../../../protocol/job-mode.ts";
import type { RecordBody } from "../../ledger/records.ts";
import type { Approval } from "../policy/approval.ts";
import type { Clearance } from "../policy/clearance.ts";
import type { BuiltCancel, BuiltTransaction, ComparisonResult } from "../policy/comparison.ts";
import type { Account } from "../state/accounts.ts";
import { nextState } from "../state/machine.ts";
import { outpointOf } from "../state/owed-coins.ts";
import {
  type Attempt,
  isEndedByOperator,
  isOver,
  pinOf,
  type Withdrawal,
} from "../state/withdrawal.ts";
import { type RequestContext, refuseIfClosedOrFull } from "./context.ts";
import { refuseIfTopUpOverlaps } from "./top-up.ts";

/*
 * Exclusion by the pin, for chains with coins. All attempts of a withdrawal spend one coin, the
 * pin, which the chain takes only once, so at most one attempt is paid. No coin is in two open
 * withdrawals, or one of them could never be paid. The amounts of coins come from the transactions
 * that made them, never from the courier's word. No proof says that a block has such a transaction,
 * so the pin of a first attempt must be named by the gateway in this run: a courier alone cannot
 * bind a withdrawal to a coin that does not exist. Touches nothing.
 */

/** An attempt of a withdrawal, and its parts. */
export interface OfferedAttempt {
  readonly withdrawal: Withdrawal;
  readonly approval: object | null; // null for a cancel
  readonly account: Account;
  readonly slot: string; // the withdrawal's, or about to be
  readonly txParams: TxParams;
  readonly evidence?: readonly string[] | undefined; // as `CourierOffer`
}

/**
 * Returns why an attempt must not spend its coins, or null. The renewal of a withdrawal that an
 * operator ended spends what it owes in each attempt that pays (`OwedCoins`). Coins of the
 * attempts that this ledger recorded were proven before, so they need no evidence again. The
 * gateway's word for a coin after a recovery is no proof. A cancel of one coin needs none: its
 * signature commits to the amount (BIP-143), so with a false one no block takes it. Only the pin
 * needs the gateway's word: another coin that does not exist spoils its own attempt, and the next
 * one spends others.
 * @throws AgentError JSON_SHAPE for malformed parameters
 */
export function refuseIfCoinsUnspendable(
  { core, run }: RequestContext,
  offer: OfferedAttempt,
): Refusal | null {
  const { withdrawal, approval, account, slot, txParams, evidence = [] } = offer;
  const exclusion = pinExclusionOf(account.network);
  if (exclusion === null) return null;
  const coins = exclusion.coins(familyOf(account.network).fees.read(txParams));
  const isFirst = withdrawal.attempts.length === 0;
  const left =
    approval === null
      ? undefined
      : core.owed.of(withdrawal.transactionId).find((coin) => !holds(coins, coin));
  if (left !== undefined) return refuse("ACCOUNT_COIN_OWED", left);
  if (!isFirst && pinOf(withdrawal) !== coins[0])
    return refuse("ACCOUNT_PIN_OTHER", pinOf(withdrawal) || "it is not known");
  for (const one of core.book.open()) {
    if (
      one === withdrawal ||
      one.job.network !== account.network ||
      one.account !== account.account
    )
      continue;
    // An operator ended it, and its renewal is to spend the same coins.
    if (isEndedByOperator(one) && isOver(one)) continue;
    const taken = coinsOf(one).find((coin) => holds(coins, coin));
    if (taken !== undefined)
      return refuse("ACCOUNT_PIN_TAKEN", `${taken} is ${one.transactionId}'s`);
  }
  // Nodes that are behind show it once more, to the gateway too.
  const spent = coins.find(
    (coin) => core.book.spenderOf(account.network, outpointOf(coin)) !== undefined,
  );
  if (spent !== undefined) return refuse("ACCOUNT_COIN_SPENT", spent);
  if (isFirst && !run.sightings.names(account, coins[0]))
    return refuse("ACCOUNT_PIN_UNNAMED", coins[0]);
  const proven = withdrawal.attempts.flatMap(({ txParams: known }) =>
    known === null ? [] : exclusion.coins(known),
  );
  const others =
    approval === null && coins.length === 1 ? [] : coins.filter((coin) => !proven.includes(coin));
  const shown = others.map((coin) => evidence[coins.indexOf(coin)] ?? "");
  return (
    familyTransactionsOf(account.network).unproven?.({ ...account, slot }, others, shown) ?? null
  );
}

/** True if one of the coins is this one, whatever amount the two texts give it. */
function holds(coins: readonly string[], coin: string): boolean {
  return coins.some((each) => outpointOf(each) === outpointOf(coin));
}

/** All coins of a withdrawal's attempts; of an attempt from a recovery, its pin is known. */
export function coinsOf({ job, attempts }: Withdrawal): readonly string[] {
  const exclusion = pinExclusionOf(job.network);
  return attempts.flatMap(({ txParams, pin = "" }) =>
    txParams === null ? [pin] : (exclusion?.coins(txParams) ?? []),
  );
}

/** A recorded intent, to be signed once it is on disk. */
export interface SignWork {
  readonly transactionId: string;
  readonly attempt: number;
  readonly intentSeq: number;
  readonly clearance: Clearance;
  readonly unsigned: Uint8Array;
  readonly account: string;
}

/** Work for the vault, or `work` null for an attempt that is signed already. */
export type PreparedAttempt = { readonly ok: true; readonly work: SignWork | null } | Refusal;

/** An attempt to make. Without an approval it is a cancel: a zero payment to the account itself. */
export interface NextAttempt extends OfferedAttempt {
  readonly approval: Approval | null;
  readonly attempt: number; // 1 first
  readonly tipAllowedUnits?: bigint; // a tip that is allowed above the ceiling (`BuiltTransaction`)
  readonly before?: readonly RecordBody[]; // records right in front of its INTENT
}

/**
 * Builds, compares and records an attempt as INTENT. Every refusal comes before the record, also
 * one because the approval does not match the job.
 */
export function recordIntent(context: RequestContext, next: NextAttempt): PreparedAttempt {
  const waits = next.approval === null ? null : refuseIfTopUpOverlaps(context, next.withdrawal);
  if (waits !== null) return waits;
  const cleared = buildClearedAttempt(context, next);
  if (!cleared.ok) return cleared;
  const { unsigned, clearance } = cleared;
  const { transactionId, attempt } = clearance;
  const intent = context.commit([...(next.before ?? []), intentBody(next.account, cleared)]).at(-1);
  invariant(intent?.kind === "INTENT", "the last body is the intent");
  const { account } = next.account;
  return {
    ok: true,
    work: { transactionId, attempt, intentSeq: intent.seq, clearance, unsigned, account },
  };
}

/** Bytes that policy cleared. */
interface ClearedBytes extends ComparisonResult {
  readonly unsigned: Uint8Array;
}

/** Builds and clears an attempt; records nothing. */
export function buildClearedAttempt(
  context: RequestContext,
  next: NextAttempt,
): ClearedBytes | Refusal {
  const closed = refuseIfClosedOrFull(context);
  if (closed !== null) return closed;
  const { withdrawal, approval, txParams, attempt, slot, tipAllowedUnits = 0n } = next;
  const { policy } = context.core;
  const unlike =
    approval !== null && attempt === 1 ? policy.unlike(approval, withdrawal.job) : null;
  const unpinned = unlike ?? refuseIfCoinsUnspendable(context, next);
  if (unpinned !== null) return unpinned;
  const place = { account: next.account.account, slot };
  const unsigned = bytesOf(withdrawal, place, approval, txParams);
  const built = builtOf(
    context,
    withdrawal,
    { ...place, unsigned, txParams, attempt, tipAllowedUnits },
    approval,
  );
  const cleared =
    "approval" in built
      ? policy.clear(built, context.nowMs)
      : policy.clearCancel(built, context.nowMs);
  if (!cleared.ok) return cleared;
  return (
    sameBytesRefusal(context, next.account.network, cleared.clearance) ?? { ...cleared, unsigned }
  );
}

/**
 * Returns why an attempt must not have these bytes, or null. A coin that came back may give the
 * renewal of an ended payment its bytes once more, and then one transaction would pay two
 * withdrawals. The slot makes other families' bytes differ, on Tron the timestamp.
 */
function sameBytesRefusal(
  { core }: RequestContext,
  network: string,
  { transactionId, digest }: Clearance,
): Refusal | null {
  if (pinExclusionOf(network) === null) return null;
  const other = core.book.sameBytesOf(transactionId, network, digest);
  return other === undefined ? null : refuse("ACCOUNT_BYTES_TAKEN", `${other} has them`);
}

type Bytes = Omit<BuiltTransaction, "approval" | "addressIndex" | "isFeeInside">;
type Place = Pick<Bytes, "account" | "slot">;

function bytesOf(
  { job }: Withdrawal,
  place: Place,
  approval: Approval | null,
  txParams: TxParams,
): Uint8Array {
  const { network } = job;
  if (approval !== null) {
    const { contract, address: destination, tag, amountUnits } = approval;
    const payment = {
      ...place,
      network: approval.network,
      contract,
      destination,
      tag,
      amountUnits,
    };
    return familyTransactionsOf(approval.network).build(
      { ...payment, isFeeInside: isFeeInside(network, job.mode) },
      txParams,
    );
  }
  const { cancels } = familyTransactionsOf(network);
  invariant(cancels !== null, "an attempt that ends by expiry is cancelled without another one");
  return cancels.build({ ...place, network }, txParams);
}

function builtOf(
  { core }: RequestContext,
  one: Withdrawal,
  bytes: Bytes,
  approval: Approval | null,
): BuiltTransaction | BuiltCancel {
  const { transactionId, job } = one;
  const { addressIndex = null } = core.policy.sender(job) ?? {};
  const isFirstHere = bytes.attempt > 1 && one.attempts.every(({ raw }) => raw === "");
  if (approval !== null)
    return {
      ...bytes,
      approval,
      addressIndex,
      isFirstHere,
      isFeeInside: isFeeInside(job.network, job.mode),
    };
  return {
    ...bytes,
    transactionId,
    currency: limitGroupOf(job),
    network: job.network,
    addressIndex,
  };
}

/** Returns the record of the bytes: every field is taken from their description. */
function intentBody(
  { network, account }: Account,
  { unsigned, clearance, description: said }: ClearedBytes,
): RecordBody {
  return {
    kind: "INTENT",
    transactionId: clearance.transactionId,
    attempt: clearance.attempt,
    network,
    account,
    slot: said.slot,
    contract: said.contract,
    address: said.destination,
    ...(said.tag === "" ? {} : { tag: said.tag }),
    amountUnits: said.amountUnits.toString(),
    txParams: said.txParams,
    feeMax: said.feeMaxUnits.toString(),
    digest: clearance.digest,
    unsigned: `0x${Buffer.from(unsigned.buffer, unsigned.byteOffset, unsigned.length).toString("hex")}`,
  };
}

/**
 * Prepares an intent from before a crash, or one whose signature is under way: the same bytes,
 * whatever the parameters, but judged again. If policy refuses an unsigned first attempt, the
 * withdrawal is held on its slot for an operator.
 */
export function prepareRecordedIntent(
  context: RequestContext,
  withdrawal: Withdrawal,
  made: Attempt,
): PreparedAttempt {
  const { core } = context;
  const { transactionId, account, slot, job } = withdrawal;
  const { attempt, digest, intentSeq } = made;
  const unsigned = Uint8Array.from(Buffer.from(made.unsigned.slice(2), "hex"));
  const approval = made.isCancel ? null : core.policy.approval(transactionId);
  invariant(approval !== undefined, "a withdrawal with a slot has its approval");
  const built = builtOf(
    context,
    withdrawal,
    { account, slot, unsigned, txParams: made.txParams ?? {}, attempt },
    approval,
  );
  const cleared = core.policy.clearRecorded(built, digest, job);
  if (cleared.ok)
    return {
      ok: true,
      work: { transactionId, attempt, intentSeq, clearance: cleared.clearance, unsigned, account },
    };
  if (nextState(withdrawal.state, "held") === null) return cleared;
  context.commit([{ kind: "HELD", transactionId, code: cleared.code }]);
  return refuse("WITHDRAWAL_HELD", cleared.code);
}
