/**
 * The first version of a withdrawal: the next slot of its account is bound to it for life. Touches nothing: the INTENT record and the
 * work for the vault leave through the turn.
 */
import { invariant, type Refusal, refuse } from "../../../protocol/fault.ts";
import type { EvmFacts } from "../../socket/verbs.ts";
import { type Account, pendingPerAccountMax } from "../state/accounts.ts";
import { step, type Withdrawal } from "../state/withdrawal.ts";
import { intend, type Prepared, recorded } from "./intent.ts";
import { closedGate, type Turn } from "./run.ts";

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
 * above them would pay it again. It locks when it stays (`checkChainCount`).
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
