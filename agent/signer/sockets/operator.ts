/**
 * The operator's verbs: views and decisions. Requests are read strictly as well, because a user of
 * this socket is trusted with decisions but not with the process.
 */

import { AgentError, type Refusal, refuse } from "../../../base/fault.ts";
import { version } from "../../../base/version.ts";
import { networkOf } from "../../../chains/families.ts";
import { versionsMax } from "../../../protocol/payloads.ts";
import { boolean, hex, integer, nullable, object, oneOf, type Reader, record, string } from "../../../protocol/shape.ts";
import {
  type Answer,
  approverMax,
  type OperatorRequests,
  type OperatorVerb,
  type OperatorView,
  type Request,
  type SignerStatus,
  type WithdrawalState,
} from "../../socket/verbs.ts";
import { adoptByPerson, beginsAgain } from "../acts/adopt.ts";
import { approve } from "../acts/approve.ts";
import { endUnreachable, planEnd } from "../acts/end.ts";
import { finish, recover, showRecovery } from "../acts/recovery/recover.ts";
import { refuseByOperator } from "../acts/refuse.ts";
import { countKey } from "../acts/run.ts";
import { planUnstick } from "../acts/unstick.ts";
import type { Signer } from "../rim/signer.ts";
import { isBegun } from "../state/accounts.ts";
import { canonicalLimits, limitsDigest, loosened } from "../state/canonical.ts";
import { approvalDigestOf } from "../state/digest.ts";
import { limitsInForce, nodesOfGateway } from "../state/in-force.ts";
import { aheadOfBlocksMs } from "../state/ledger-time.ts";
import { isFinal, states } from "../state/machine.ts";
import { spendsLike, spendsWithoutOrder } from "../state/spends.ts";
import { unitsOf } from "../state/view.ts";
import { isOver, unreachableCode, type Withdrawal } from "../state/withdrawal.ts";
import { carryOut, type Outcome, type Verb, verb } from "./answers.ts";
import { operatorViewOf, waitOf } from "./operator-view.ts";
import { noRoomOf, resignOf, stuckOf, unreachableOf } from "./stuck.ts";

const listMax = 500;
const transactionId = hex(16);
const optionalDigest = string({ max: 64, pattern: /^(?:|[0-9a-f]{64})$/ });
const address = string({ max: 128, pattern: /^[\x21-\x7e]*$/ });
const firstSlotOrNone = string({ max: 16, pattern: /^(?:|0|[1-9][0-9]*)$/ });
/** "" leaves the choice to the signer. */
const wished = string({ max: 39, pattern: /^(?:|0|[1-9][0-9]*)$/ });
const wish = record(wished, { keysMax: 8, keyPattern: /^[A-Za-z]{1,32}$/ });
const act = oneOf("replace", "cancel");
const approver = string({ min: 1, max: approverMax, pattern: /^[\x21-\x7e]+$/ });

const unstickFields: Reader<OperatorRequests["unstick"]> = object({
  transactionId,
  act,
  facts: wish,
  approver,
  plan: nullable(
    object({
      act,
      version: integer({ min: 1, max: versionsMax + 1 }),
      facts: wish,
    }),
  ),
});

/** The part of `status` that the core does not know. */
export interface Surroundings {
  readonly isolation: string;
  readonly encKeyFrom: SignerStatus["encKeyFrom"];
  readonly config: SignerStatus["config"];
  readonly stuckAfterMinutes: number;
  readonly isCourierConnected: () => boolean;
  /** Runs an act after other waiting work, so that a long check does not stop signing. */
  readonly later: (act: () => void) => void;
}

/** Answers one request of an operator. A Bug passes through. */
export function operatorVerbs(
  signer: Signer,
  surroundings: Surroundings,
): (request: Request, answer: (answer: Answer) => void) => void {
  const verbs: { readonly [V in OperatorVerb]: Verb } = {
    status: verb("status", object({}), (_, reply) => {
      const status = statusOf(signer, surroundings);
      signer.whenDurable(() => reply({ ok: true, status }));
    }),
    list: verb("list", object({ openOnly: boolean(), limit: integer({ min: 1, max: listMax }) }), (body, reply) => {
      const withdrawals = newest(signer, body.openOnly, body.limit).map((withdrawal) => viewOf(signer, withdrawal));
      signer.whenDurable(() => reply({ ok: true, withdrawals }));
    }),
    show: verb("show", object({ transactionId }, { address }), (body, reply) => show(signer, body, reply)),
    approve: verb("approve", object({ transactionId, digest: hex(32), address, approver }), (body, reply) =>
      decide(signer, body.transactionId, reply, (withdrawal) =>
        approve(signer.turn(), { ...body, expected: digestOf(signer, withdrawal) }),
      ),
    ),
    refuse: verb("refuse", object({ transactionId, approver }), (body, reply) =>
      decide(signer, body.transactionId, reply, () => refuseByOperator(signer.turn(), body.transactionId, body.approver)),
    ),
    unstick: verb("unstick", unstickFields, (body, reply) => unstick(signer, body, reply)),
    end: verb("end", object({ transactionId, slot: firstSlotOrNone, approver }), (body, reply) => end(signer, body, reply)),
    pause: verb("pause", object({ paused: boolean(), approver }), (body, reply) => {
      const done = signer.pause(body.paused, body.approver);
      signer.whenDurable(() => reply(done));
    }),
    recover: verb("recover", object({ digest: optionalDigest, both: boolean() }), (body, reply) =>
      recoverLedger(signer, body, reply),
    ),
    finish: verb("finish", object({}, { isLook: boolean() }), (body, reply) => {
      // The end of the hold forgets these transactions.
      const spends = spendsWithoutOrder(signer.core);
      const done = body.isLook === true ? ({ ok: true } as const) : finish(signer.turn());
      const { book } = signer.core;
      const answer = done.ok ? { ...done, held: book.count("held"), quarantined: book.count("quarantined"), spends } : done;
      signer.whenDurable(() => reply(answer));
    }),
    adopt: verb("adopt", object({ chain: string({ min: 1, max: 64 }), slot: firstSlotOrNone }, { address }), (body, reply) =>
      adopt(signer, body, reply),
    ),
    verify: verb("verify", object({}), (_, reply) => verify(signer, surroundings, reply)),
  };
  const byName = new Map(Object.entries(verbs));
  return (request, answer) => carryOut(byName, request, answer);
}

function statusOf(signer: Signer, surroundings: Surroundings): SignerStatus {
  const { core, run, ledger } = signer;
  const { agent, epoch, wallet } = core.paired;
  const canonical = canonicalLimits(core.policy.rules);
  const counts: Partial<Record<WithdrawalState, number>> = {};
  for (const state of states) if (state !== "requested") counts[state] = core.book.count(state);
  return {
    agent,
    epoch,
    wallet,
    head: core.heads.head,
    acked: core.heads.acked.seq,
    greeted: run.greeted,
    locked: core.locked?.code ?? "",
    lockedDetail: core.locked?.detail ?? "",
    recovery: run.orders.isWhole ? "RECOVERY_OFFERED" : core.isHolding ? "RECOVERY_HOLD" : "",
    isTellingAgain: run.telling !== null,
    ...clocksOf(signer),
    paused: core.paused,
    stuck: stuckOf(signer, surroundings.stuckAfterMinutes),
    ...resignOf(signer),
    ...noRoomOf(signer),
    ...unreachableOf(signer),
    ledgerWritable: !ledger.poisoned && ledger.refusal === null,
    ...(ledger.readOnly ? { ledgerReadOnly: true as const } : {}),
    isolation: surroundings.isolation,
    encKeyFrom: surroundings.encKeyFrom,
    nodesOfGateway: nodesOfGateway(core.policy),
    version,
    startedAt: run.startedAt,
    config: surroundings.config,
    policyChangedAt: core.ruled?.at ?? 0,
    policyDigest: limitsDigest(canonical),
    policyLooser: loosened(core.limitsBefore(canonical) ?? canonical, canonical),
    limits: limitsInForce(core.policy, signer.turn().nowMs),
    freeBytes: ledger.freeBytes(),
    freeBytesMin: ledger.roomBytesMin,
    counts: counts as SignerStatus["counts"],
    accounts: signer.accounts(),
    courierConnected: surroundings.isCourierConnected(),
    courier: run.courier,
  };
}

/**
 * Returns how far the clocks are ahead of the chains, and the ledger of the clocks; 0 if they
 * agree.
 */
function clocksOf(signer: Signer): Pick<SignerStatus, "clockAheadMs" | "ledgerAheadMs"> {
  const { run, localMs, monotonicMs, core } = signer.turn();
  return { clockAheadMs: aheadOfBlocksMs(run, localMs, monotonicMs), ledgerAheadMs: Math.max(0, core.heads.at - localMs) };
}

/** Shows a plan, or makes the plan that the order names. */
function unstick(signer: Signer, asked: OperatorRequests["unstick"], reply: (outcome: Outcome) => void): void {
  const { plan, approver, ...wish } = asked;
  if (plan === null) {
    const planned = planUnstick(signer.turn(), wish);
    const answer = planned.ok ? { ...planned, withdrawal: viewOf(signer, planned.withdrawal) } : planned;
    signer.whenDurable(() => reply(answer));
    return;
  }
  signer.unstick(wish, plan, approver, (answer) => {
    const withdrawal = signer.core.book.find(wish.transactionId);
    const isDone = "ok" in answer && answer.ok && withdrawal !== undefined;
    reply(isDone ? { ok: true, withdrawal: viewOf(signer, withdrawal), plan } : (answer as Refusal | AgentError));
  });
}

/** Shows a plan, or ends the sweep with the slot that the order names. */
function end(signer: Signer, asked: OperatorRequests["end"], reply: (outcome: Outcome) => void): void {
  const { transactionId: id, slot, approver } = asked;
  const turn = signer.turn();
  const done = slot === "" ? planEnd(turn, id) : endUnreachable(turn, id, slot, approver);
  const answer = done.ok ? { ...done, withdrawal: viewOf(signer, done.withdrawal) } : done;
  signer.whenDurable(() => reply(answer));
  if (done.ok && slot !== "") signer.changed([done.withdrawal]);
}

/**
 * Lists the open withdrawals first, the last recorded one on top, then the closed ones in the same
 * order.
 */
function newest(signer: Signer, openOnly: boolean, limit: number): readonly Withdrawal[] {
  const { book } = signer.core;
  const open = [...book.open()].filter((withdrawal) => !openOnly || !isOver(withdrawal));
  const all = openOnly ? open : [...book.recent(), ...open];
  return all.sort((a, b) => b.job.sequence - a.job.sequence).slice(0, limit);
}

function show(signer: Signer, asked: OperatorRequests["show"], reply: (outcome: Outcome) => void): void {
  const withdrawal = signer.core.book.find(asked.transactionId);
  const answer: Outcome =
    withdrawal === undefined
      ? refuse("WITHDRAWAL_UNKNOWN")
      : {
          ok: true,
          withdrawal: { ...viewOf(signer, withdrawal), ...reachOf(signer, withdrawal) },
          history: [...withdrawal.history],
          wait: waitOf(withdrawal, signer.core.policy, asked.address),
          spends: spendsLike(signer.core, withdrawal, asked.address),
        };
  signer.whenDurable(() => reply(answer));
}

/** Returns the reason why an open sweep stands still, if the gateway has reported it. */
function reachOf({ run }: Signer, { transactionId, state, code }: Withdrawal): { readonly code?: string } {
  return code === "" && !isFinal(state) && run.unreachable.has(transactionId) ? { code: unreachableCode } : {};
}

function viewOf({ core }: Signer, withdrawal: Withdrawal): OperatorView {
  return operatorViewOf(withdrawal, core.policy);
}

function digestOf(signer: Signer, withdrawal: Withdrawal): string {
  return approvalDigestOf(withdrawal, unitsOf(withdrawal, signer.core.policy));
}

/** Shows the first slot of a chain's account, or begins the account there. */
function adopt(signer: Signer, asked: OperatorRequests["adopt"], reply: (outcome: Outcome) => void): void {
  const { chain, slot } = asked;
  const known = signer.chain(chain);
  const turn = signer.turn();
  const address = asked.address ?? (known === undefined ? "" : turn.accountOn(networkOf(known)));
  const done =
    known === undefined
      ? refuse("CHAIN_UNKNOWN", chain)
      : slot === ""
        ? ({ ok: true } as const)
        : adoptByPerson(turn, known, slot, address);
  if (!done.ok || known === undefined) {
    signer.whenDurable(() => reply(done as Refusal));
    return;
  }
  const network = networkOf(known);
  const account = signer.core.accounts.find(network, address);
  const told = signer.run.firstSlots.get(countKey(turn, network, address));
  const first = {
    chain,
    network,
    account: address,
    adopted: account?.adopted ?? "",
    isBegun: account !== undefined && isBegun(account) && !beginsAgain(turn, account),
    counted: told?.slot ?? "",
    witnesses: told?.witnesses ?? 0,
  };
  signer.whenDurable(() => reply({ ok: true, first }));
}

/** Decides, answers, and informs the courier if the decision moved the withdrawal. */
function decide(
  signer: Signer,
  id: string,
  reply: (outcome: Outcome) => void,
  act: (withdrawal: Withdrawal) => { readonly ok: true; readonly withdrawal: Withdrawal } | Refusal,
): void {
  const withdrawal = signer.core.book.find(id);
  const before = withdrawal?.state;
  const done = withdrawal === undefined ? refuse("WITHDRAWAL_UNKNOWN") : act(withdrawal);
  const wait = done.ok ? waitOf(done.withdrawal, signer.core.policy) : null;
  const answer = done.ok ? { ok: true as const, withdrawal: viewOf(signer, done.withdrawal), wait } : done;
  signer.whenDurable(() => reply(answer));
  if (!done.ok || done.withdrawal.state === before) return;
  signer.changed([done.withdrawal]);
  if (before === "quarantined") signer.signBound();
}

/**
 * Shows or carries out a recovery from durable records; the answer follows when its record is on
 * disk.
 */
function recoverLedger(signer: Signer, { digest, both }: OperatorRequests["recover"], reply: (outcome: Outcome) => void): void {
  signer.whenDurable(() => {
    // Other requests may have added records since.
    if (signer.core.heads.head.seq > signer.ledger.durableHead.seq) {
      recoverLedger(signer, { digest, both }, reply);
      return;
    }
    try {
      const done = digest === "" ? showRecovery(signer.turn(), both) : recover(signer.turn(), digest);
      const answer: Outcome = done.ok ? { ok: true, plan: done.plan, done: digest !== "" } : done;
      signer.whenDurable(() => {
        reply(answer);
        if (done.ok && digest !== "") signer.restarted();
      });
    } catch (cause) {
      if (!(cause instanceof AgentError)) throw cause;
      reply(cause);
    }
  });
}

function verify(signer: Signer, { later }: Surroundings, reply: (outcome: Outcome) => void): void {
  signer.whenDurable(() => {
    const steps = signer.ledger.verify();
    const next = (): void => {
      try {
        const step = steps.next();
        if (!step.done) {
          later(next);
          return;
        }
        const { records, segments, head } = step.value;
        reply({ ok: true, records, segments, head });
      } catch (cause) {
        if (!(cause instanceof AgentError)) throw cause;
        reply(cause);
      }
    };
    next();
  });
}
