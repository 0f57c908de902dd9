/**
 * The operator's verbs: views and decisions. Requests are read strictly as well, because a user of
 * this socket is trusted with decisions but not with the process.
 */
import { AgentError, type Refusal, refuse } from "../../../base/fault.ts";
import {
  boolean,
  hex,
  integer,
  list,
  nullable,
  object,
  oneOf,
  type Reader,
  record,
  string,
} from "../../../base/shape.ts";
import { version } from "../../../base/version.ts";
import { networkOf } from "../../../chains/families.ts";
import { type FeeMarketTexts, readFeeMarket } from "../../../chains/fee-market.ts";
import { limitGroupOf } from "../../../protocol/job-mode.ts";
import { attemptsMax } from "../../../protocol/payloads.ts";
import { txParamLengthMax, txParamName, txParamsMax } from "../../socket/limits.ts";
import { parseStopKey, stopKey } from "../../socket/stops.ts";
import {
  type Answer,
  approverMax,
  type ListFilter,
  type OperatorAnswers,
  type OperatorRequests,
  type OperatorVerb,
  type OperatorView,
  type Request,
  type SignerStatus,
  type WaitView,
  type WithdrawalState,
  withdrawalsListMax,
} from "../../socket/verbs.ts";
import { adoptByOperator, mayAccountBeginAgain } from "../handlers/adopt.ts";
import { approveWithdrawal } from "../handlers/approve.ts";
import { accountCountKey } from "../handlers/context.ts";
import { endUnreachable, planEnd } from "../handlers/end.ts";
import { freeCoin } from "../handlers/free-coin.ts";
import { planReplacement } from "../handlers/manual-replacement.ts";
import { acceptRecovery, finishRecovery, showRecovery } from "../handlers/recovery/recover.ts";
import { refuseByOperator } from "../handlers/refuse.ts";
import type { Policy } from "../policy/policy.ts";
import { lockCode } from "../runtime/ledger-continuity.ts";
import type { Signer } from "../runtime/signer.ts";
import { isBegun } from "../state/accounts.ts";
import { canonicalLimits, limitsDigest, listLoosened } from "../state/canonical.ts";
import { canonicalAddress } from "../state/content.ts";
import { approvalDigestOf, confirmationOf } from "../state/digest.ts";
import {
  describeDestination,
  limitsInForce,
  listPolicyChainsOnGatewayNodes,
} from "../state/in-force.ts";
import { aheadOfBlocksMs } from "../state/ledger-time.ts";
import { allStates, isFinal } from "../state/machine.ts";
import { outOfReachCode } from "../state/out-of-reach.ts";
import { listPossiblePayments, listUnorderedOutgoing } from "../state/outgoing-transactions.ts";
import { amountUnitsOf, withdrawalForCourier } from "../state/view.ts";
import { isOver, type Withdrawal } from "../state/withdrawal.ts";
import { type ActOutcome, answerRequest, createSocketVerb, type SocketVerb } from "./answers.ts";
import {
  describeMissingForEnd,
  findManualReplace,
  findStuckWithdrawal,
  findUnreachable,
  findWithoutLimitRoom,
} from "./stuck.ts";

/* The operator's verb `pause`, and the stopped networks for `status`. Touches nothing. */

type Reply = (outcome: ({ readonly ok: true } & OperatorAnswers["pause"]) | Refusal) => void;

/**
 * Stops or allows new signatures, or first attempts on the named chain. Refuses CHAIN_UNKNOWN for
 * a name that config.json does not have.
 */
function pauseSigner(signer: Signer, body: OperatorRequests["pause"], reply: Reply): void {
  const { paused, approver, network: name, currency } = body;
  if (currency !== undefined) {
    const answer = resumeCurrency(signer, body, currency);
    signer.whenDurable(() => reply(answer));
    return;
  }
  const network = name === undefined ? undefined : networkNamed(signer, name);
  const where = network === undefined || network === null ? {} : { network };
  const done =
    network === null ? refuse("CHAIN_UNKNOWN", name) : signer.pause(paused, approver, where);
  const answer = done.ok && name !== undefined ? { ...done, network: name } : done;
  signer.whenDurable(() => reply(answer));
}

/**
 * Lets first attempts in a currency go on, which the signer alone stops. Harmless for one that is
 * not stopped. Refuses POLICY_CURRENCY_UNKNOWN for one that is not known here either.
 */
function resumeCurrency(
  signer: Signer,
  { paused, approver }: OperatorRequests["pause"],
  currency: string,
): Parameters<Reply>[0] {
  const stop = signer.core.stops.networks().find((one) => one.currency === currency);
  if (stop === undefined && signer.core.policy.asset(currency) === undefined)
    return refuse("POLICY_CURRENCY_UNKNOWN", currency);
  if (paused) return refuse("SOCKET_VERB", "an operator only resumes a currency");
  if (stop === undefined) return { ok: true, paused, currency };
  const done = signer.pause(false, approver, parseStopKey(stopKey(stop)));
  return done.ok ? { ...done, currency } : done;
}

/** The network of a chain's name, or of a stopped network that config.json has no more. */
function networkNamed(signer: Signer, name: string): string | null {
  const chain = signer.chain(name);
  if (chain !== undefined) return networkOf(chain);
  return signer.core.stops.on(name) === null ? null : name;
}

/** The networks on which no first attempt is signed. */
function stoppedOf(signer: Signer): Pick<SignerStatus, "stopped"> {
  const stopped = signer.core.stops.networks();
  if (stopped.length === 0) return {};
  const chains = new Map(signer.accounts().map(({ chain, network }) => [network, chain]));
  return { stopped: stopped.map((one) => ({ ...one, chain: chains.get(one.network) ?? "" })) };
}

/* The operator's verb of a recovery: the plan, and the ledger that it begins. */

/**
 * Shows or carries out a recovery from durable records; the answer follows when its record is on
 * disk.
 */
function recoverLedger(
  signer: Signer,
  { digest, bothRestored, uncounted = [] }: OperatorRequests["recover"],
  reply: (outcome: ActOutcome) => void,
): void {
  signer.whenDurable(() => {
    // Other requests may have added records since.
    if (signer.core.heads.head.seq > signer.ledger.durableHead.seq) {
      recoverLedger(signer, { digest, bothRestored, uncounted }, reply);
      return;
    }
    try {
      const done =
        digest === ""
          ? showPlan(signer, bothRestored, uncounted)
          : acceptRecovery(signer.context(), digest);
      const answer: ActOutcome = done.ok
        ? { ok: true, plan: done.plan, done: digest !== "" }
        : done;
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

/** Refuses as `showRecovery`, and with CHAIN_UNKNOWN for a name that is not in the settings. */
function showPlan(
  signer: Signer,
  bothRestored: boolean,
  names: readonly string[],
): ReturnType<typeof showRecovery> {
  const networks = new Set<string>();
  for (const name of names) {
    const chain = signer.chain(name);
    if (chain === undefined) return refuse("CHAIN_UNKNOWN", name);
    networks.add(networkOf(chain));
  }
  return showRecovery(signer.context(), bothRestored, networks);
}

/*
 * Withdrawals as operators see them: the courier's view, and with it the order, its times and the
 * digest that an approval names. The runtime, which answers the courier, does not import this
 * module. Touches nothing.
 */

/** Returns one withdrawal. `approvalDigest` is "" unless an operator must decide. */
export function operatorViewOf(withdrawal: Withdrawal, policy: Policy): OperatorView {
  const { job, requestedAt, ordered } = withdrawal;
  const { awaited: _awaited, ...view } = withdrawalForCourier(withdrawal, policy);
  const isWaiting = view.state === "held" || view.state === "quarantined";
  return {
    ...view,
    orderId: job.orderId,
    decimal: policy.asset(limitGroupOf(job))?.decimal ?? 0,
    requestedAt,
    expiresAt: job.expiresAt,
    ...(ordered?.act === "cancel" ? { isCancelling: true } : {}),
    approvalDigest: isWaiting ? approvalDigestOf(withdrawal, view.amountUnits) : "",
  };
}

/**
 * Returns the facts for the operator who decides; null if no decision is needed. `address` is the
 * destination that the operator would give to a withdrawal without one.
 */
function waitOf(withdrawal: Withdrawal, policy: Policy, address = ""): WaitView | null {
  const { state, code, job, requestedAt } = withdrawal;
  if (state !== "held" && state !== "quarantined") return null;
  const first = confirmationOf(
    withdrawal,
    approvalDigestOf(withdrawal, amountUnitsOf(withdrawal, policy)),
  );
  const destination =
    withdrawal.address || first?.address || canonicalAddress(job.network, address);
  return {
    until:
      code === "POLICY_NEW_DESTINATION_DELAY" ? policy.delayEndsAt(job.currency, requestedAt) : 0,
    ...describeDestination(policy, job, destination),
    confirmed:
      first === null ? null : { approver: first.approver, address: first.address, at: first.at },
  };
}

const transactionId = hex(16);
const optionalDigest = string({ max: 64, pattern: /^(?:|[0-9a-f]{64})$/ });
const address = string({ max: 128, pattern: /^[\x21-\x7e]*$/ });
const firstSlotOrNone = string({ max: 16, pattern: /^(?:|0|[1-9][0-9]*)$/ });
/** "" leaves the choice to the signer. */
const wished = string({ max: txParamLengthMax, pattern: /^[0-9A-Za-z:,]*$/ });
const wish = record(wished, { keysMax: txParamsMax, keyPattern: txParamName });
const act = oneOf("replace", "cancel");
const moment = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const listFields: Reader<OperatorRequests["list"]> = object(
  { openOnly: boolean(), limit: integer({ min: 1, max: withdrawalsListMax }) },
  { order: string({ min: 1, max: 128 }), address, since: moment, until: moment },
);
const chainName = string({ min: 1, max: 64 });
const chainsMax = 256; // as the settings
const coinText = string({ min: 1, max: 128, pattern: /^[0-9a-z:]+$/ });
const approver = string({ min: 1, max: approverMax, pattern: /^[\x21-\x7e]+$/ });

const replacementFields: Reader<OperatorRequests["manualReplacement"]> = object({
  transactionId,
  act,
  txParams: wish,
  approver,
  plan: nullable(
    object({
      act,
      attempt: integer({ min: 1, max: attemptsMax + 1 }),
      txParams: wish,
    }),
  ),
});

/** The part of `status` that the core does not know. */
export interface StatusOutsideCore {
  readonly isolation: string;
  readonly encKeyFrom: SignerStatus["encKeyFrom"];
  readonly config: SignerStatus["config"];
  readonly stuckAfterMinutes: number;
  readonly isCourierConnected: () => boolean;
  /** Runs an act after other waiting work, so that a long check does not stop signing. */
  readonly later: (act: () => void) => void;
}

/** Answers one request of an operator. A Bug passes through. */
export function createOperatorRequestHandler(
  signer: Signer,
  environment: StatusOutsideCore,
): (request: Request, answer: (answer: Answer) => void) => void {
  const verbs: { readonly [V in OperatorVerb]: SocketVerb } = {
    status: createSocketVerb("status", object({}), (_, reply) => {
      const status = statusOf(signer, environment);
      signer.whenDurable(() => reply({ ok: true, status }));
    }),
    list: createSocketVerb("list", listFields, (body, reply) => {
      const withdrawals = newest(signer, body).map((withdrawal) => viewOf(signer, withdrawal));
      signer.whenDurable(() => reply({ ok: true, withdrawals }));
    }),
    show: createSocketVerb("show", object({ transactionId }, { address }), (body, reply) =>
      show(signer, body, reply),
    ),
    approve: createSocketVerb(
      "approve",
      object({ transactionId, digest: hex(32), address, approver }),
      (body, reply) =>
        decide(signer, body.transactionId, reply, (withdrawal) =>
          approveWithdrawal(signer.context(), { ...body, expected: digestOf(signer, withdrawal) }),
        ),
    ),
    refuse: createSocketVerb("refuse", object({ transactionId, approver }), (body, reply) =>
      decide(signer, body.transactionId, reply, () =>
        refuseByOperator(signer.context(), body.transactionId, body.approver),
      ),
    ),
    manualReplacement: createSocketVerb("manualReplacement", replacementFields, (body, reply) =>
      manualReplacement(signer, body, reply),
    ),
    end: createSocketVerb(
      "end",
      object({ transactionId, slot: firstSlotOrNone, approver }),
      (body, reply) => end(signer, body, reply),
    ),
    freeCoin: createSocketVerb(
      "freeCoin",
      object({ chain: chainName, coin: coinText, approver }, { isLook: boolean() }),
      (body, reply) => freeSpentCoin(signer, body, reply),
    ),
    pause: createSocketVerb(
      "pause",
      object({ paused: boolean(), approver }, { network: chainName, currency: chainName }),
      (body, reply) => pauseSigner(signer, body, reply),
    ),
    recover: createSocketVerb(
      "recover",
      object(
        { digest: optionalDigest, bothRestored: boolean() },
        { uncounted: list(chainName, chainsMax) },
      ),
      (body, reply) => recoverLedger(signer, body, reply),
    ),
    finish: createSocketVerb("finish", object({}, { isLook: boolean() }), (body, reply) => {
      // The end of the hold forgets these transactions.
      const outgoing = listUnorderedOutgoing(signer.core);
      const done =
        body.isLook === true ? ({ ok: true } as const) : finishRecovery(signer.context());
      const { book } = signer.core;
      const answer = done.ok
        ? { ...done, held: book.count("held"), quarantined: book.count("quarantined"), outgoing }
        : done;
      signer.whenDurable(() => reply(answer));
    }),
    adopt: createSocketVerb(
      "adopt",
      object({ chain: string({ min: 1, max: 64 }), slot: firstSlotOrNone }, { address }),
      (body, reply) => adopt(signer, body, reply),
    ),
    verify: createSocketVerb("verify", object({}), (_, reply) =>
      verify(signer, environment, reply),
    ),
  };
  const byName = new Map(Object.entries(verbs));
  return (request, answer) => answerRequest(byName, request, answer);
}

function statusOf(signer: Signer, environment: StatusOutsideCore): SignerStatus {
  const { core, run, ledger } = signer;
  const { agent, ledgerEpoch, wallet } = core.paired;
  const canonical = canonicalLimits(core.policy.rules);
  const counts: Partial<Record<WithdrawalState, number>> = {};
  for (const state of allStates) if (state !== "requested") counts[state] = core.book.count(state);
  return {
    agent,
    ledgerEpoch,
    wallet,
    head: core.heads.head,
    acked: core.heads.acked.seq,
    handshakeDone: run.handshakeDone,
    locked: core.locked?.code ?? "",
    lockedDetail: core.locked?.detail ?? "",
    recovery: run.orders.isWhole ? "RECOVERY_OFFERED" : core.isHolding ? "RECOVERY_HOLD" : "",
    isResyncing: run.resync !== null,
    ...clocksOf(signer),
    paused: core.paused,
    ...stoppedOf(signer),
    stuck: findStuckWithdrawal(signer, environment.stuckAfterMinutes),
    ...findManualReplace(signer),
    ...findWithoutLimitRoom(signer),
    ...findUnreachable(signer),
    ledgerWritable: !ledger.poisoned && ledger.refusal === null,
    ...(ledger.readOnly ? { ledgerReadOnly: true as const } : {}),
    isolation: environment.isolation,
    encKeyFrom: environment.encKeyFrom,
    nodesOfGateway: listPolicyChainsOnGatewayNodes(core.policy),
    version,
    startedAt: run.startedAt,
    config: environment.config,
    policyChangedAt: core.ruled?.at ?? 0,
    policyDigest: limitsDigest(canonical),
    policyLooser: listLoosened(core.limitsBefore(canonical) ?? canonical, canonical),
    limits: limitsInForce(core.policy, signer.context().nowMs),
    freeBytes: ledger.freeBytes(),
    freeBytesMin: ledger.roomBytesMin,
    counts: counts as SignerStatus["counts"],
    accounts: signer.accounts(),
    courierConnected: environment.isCourierConnected(),
    courier: run.courier,
  };
}

/**
 * Returns how far the clocks are ahead of the chains, and the ledger of the clocks; 0 if they
 * agree.
 */
function clocksOf(signer: Signer): Pick<SignerStatus, "clockAheadMs" | "ledgerAheadMs"> {
  const { run, localMs, monotonicMs, core } = signer.context();
  return {
    clockAheadMs: aheadOfBlocksMs(run, localMs, monotonicMs),
    ledgerAheadMs: Math.max(0, core.heads.at - localMs),
  };
}

/** Shows a plan, or makes the plan that the order names. */
function manualReplacement(
  signer: Signer,
  asked: OperatorRequests["manualReplacement"],
  reply: (outcome: ActOutcome) => void,
): void {
  const { plan, approver, ...wish } = asked;
  if (plan === null) {
    const feeMarket = marketOf(signer, wish.transactionId);
    const planned = planReplacement(
      signer.context(),
      wish,
      feeMarket === null ? null : readFeeMarket(feeMarket),
    );
    const answer = planned.ok
      ? { ...planned, withdrawal: viewOf(signer, planned.withdrawal), feeMarket }
      : planned;
    signer.whenDurable(() => reply(answer));
    return;
  }
  signer.manualReplacement(wish, plan, approver, (answer) => {
    const withdrawal = signer.core.book.find(wish.transactionId);
    const isDone = "ok" in answer && answer.ok && withdrawal !== undefined;
    reply(
      isDone
        ? {
            ok: true,
            withdrawal: viewOf(signer, withdrawal),
            plan,
            feeMarket: marketOf(signer, wish.transactionId),
          }
        : (answer as Refusal | AgentError),
    );
  });
}

/** The fee market of a withdrawal's chain by the courier's last report; null if it knows none. */
function marketOf(signer: Signer, id: string): FeeMarketTexts | null {
  const withdrawal = signer.core.book.find(id);
  if (withdrawal === undefined) return null;
  const { chain: name } = viewOf(signer, withdrawal);
  return signer.run.courier?.chains.find(({ chain }) => chain === name)?.feeMarket ?? null;
}

/** Shows a plan, or ends the withdrawal with the slot that the order names. */
function end(
  signer: Signer,
  asked: OperatorRequests["end"],
  reply: (outcome: ActOutcome) => void,
): void {
  const { transactionId: id, slot, approver } = asked;
  const context = signer.context();
  const done =
    slot === "" ? planEnd(context, id, approver) : endUnreachable(context, id, slot, approver);
  const answer = done.ok ? { ...done, withdrawal: viewOf(signer, done.withdrawal) } : done;
  signer.whenDurable(() => reply(answer));
  if (done.ok && slot !== "" && isOver(done.withdrawal)) signer.changed([done.withdrawal]);
}

/** Shows the withdrawal that has spent a coin, or frees the coin. */
function freeSpentCoin(
  signer: Signer,
  { chain, coin, approver, isLook = false }: OperatorRequests["freeCoin"],
  reply: (outcome: ActOutcome) => void,
): void {
  const known = signer.chain(chain);
  const network = known === undefined ? "" : networkOf(known);
  const done =
    known === undefined
      ? refuse("CHAIN_UNKNOWN", chain)
      : freeCoin(signer.context(), { network, coin, approver, isLook });
  if (!done.ok) {
    signer.whenDurable(() => reply(done));
    return;
  }
  const { transactionId, orderId, state } = viewOf(signer, done.withdrawal);
  const txHash = state === "conflicted" ? "" : (done.withdrawal.observed?.txHash ?? "");
  const where = { chain, network, coin };
  const spent = { ...where, transactionId, orderId, state, txHash, isFree: done.isFree };
  signer.whenDurable(() => reply({ ok: true, spent }));
}

/**
 * Lists the open withdrawals first, the last recorded one on top, then the closed ones in the same
 * order.
 */
function newest(
  signer: Signer,
  { openOnly, limit, ...filter }: OperatorRequests["list"],
): readonly Withdrawal[] {
  const { book } = signer.core;
  const open = [...book.open()].filter((withdrawal) => !openOnly || !isOver(withdrawal));
  const all = (openOnly ? open : [...book.recent(), ...open]).filter((withdrawal) =>
    passes(withdrawal, filter),
  );
  return all.sort((a, b) => b.job.sequence - a.job.sequence).slice(0, limit);
}

/** Operators copy an address of a chain whose letters' case means nothing in either case. */
function passes(
  { job, requestedAt, address: destination }: Withdrawal,
  { order, address, since, until }: ListFilter,
): boolean {
  return (
    (order === undefined || job.orderId === order) &&
    (address === undefined ||
      canonicalAddress(job.network, destination) === canonicalAddress(job.network, address)) &&
    (since === undefined || requestedAt >= since) &&
    (until === undefined || requestedAt < until)
  );
}

/** An order that this ledger lacks may wait at the gateway: a locked agent takes none. */
function unknownWithdrawal({ core, run }: Signer): Refusal {
  const code = lockCode(core, run);
  return refuse(
    "WITHDRAWAL_UNKNOWN",
    code === "" ? undefined : `${code}: this agent is locked and takes no orders`,
  );
}

function show(
  signer: Signer,
  asked: OperatorRequests["show"],
  reply: (outcome: ActOutcome) => void,
): void {
  const withdrawal = signer.core.book.find(asked.transactionId);
  const answer: ActOutcome =
    withdrawal === undefined
      ? unknownWithdrawal(signer)
      : {
          ok: true,
          withdrawal: { ...viewOf(signer, withdrawal), ...reachOf(signer, withdrawal) },
          history: [...withdrawal.history],
          wait: waitOf(withdrawal, signer.core.policy, asked.address),
          outgoing: listPossiblePayments(signer.core, withdrawal, asked.address),
        };
  signer.whenDurable(() => reply(answer));
}

/** Returns the reason why it stands still, if the gateway has reported it, and what ends it. */
function reachOf(
  signer: Signer,
  one: Withdrawal,
): { readonly code?: string; readonly left?: string } {
  const isNamed =
    one.code === "" && !isFinal(one.state) && signer.run.unreachable.has(one.transactionId);
  return isNamed ? { code: outOfReachCode(one), left: describeMissingForEnd(signer, one) } : {};
}

function viewOf({ core }: Signer, withdrawal: Withdrawal): OperatorView {
  return operatorViewOf(withdrawal, core.policy);
}

function digestOf(signer: Signer, withdrawal: Withdrawal): string {
  return approvalDigestOf(withdrawal, amountUnitsOf(withdrawal, signer.core.policy));
}

/** Shows the first slot of a chain's account, or begins the account there. */
function adopt(
  signer: Signer,
  asked: OperatorRequests["adopt"],
  reply: (outcome: ActOutcome) => void,
): void {
  const { chain, slot } = asked;
  const known = signer.chain(chain);
  const context = signer.context();
  const address = asked.address ?? (known === undefined ? "" : context.accountOn(networkOf(known)));
  const done =
    known === undefined
      ? refuse("CHAIN_UNKNOWN", chain)
      : slot === ""
        ? ({ ok: true } as const)
        : adoptByOperator(context, known, slot, address);
  if (!done.ok || known === undefined) {
    signer.whenDurable(() => reply(done as Refusal));
    return;
  }
  const network = networkOf(known);
  const account = signer.core.accounts.find(network, address);
  const told = signer.run.firstSlots.get(accountCountKey(context, network, address));
  const first = {
    chain,
    network,
    account: address,
    adopted: account?.adopted ?? "",
    isBegun: account !== undefined && isBegun(account) && !mayAccountBeginAgain(context, account),
    counted: told?.slot ?? "",
    quorum: told?.quorum ?? 0,
  };
  signer.whenDurable(() => reply({ ok: true, first }));
}

/** Decides, answers, and informs the courier if the decision moved the withdrawal. */
function decide(
  signer: Signer,
  id: string,
  reply: (outcome: ActOutcome) => void,
  act: (withdrawal: Withdrawal) => { readonly ok: true; readonly withdrawal: Withdrawal } | Refusal,
): void {
  const withdrawal = signer.core.book.find(id);
  const before = withdrawal?.state;
  const done = withdrawal === undefined ? unknownWithdrawal(signer) : act(withdrawal);
  const wait = done.ok ? waitOf(done.withdrawal, signer.core.policy) : null;
  const answer = done.ok
    ? { ok: true as const, withdrawal: viewOf(signer, done.withdrawal), wait }
    : done;
  signer.whenDurable(() => reply(answer));
  if (!done.ok || done.withdrawal.state === before) return;
  signer.changed([done.withdrawal]);
  if (before === "quarantined") signer.signAssigned();
}

function verify(
  signer: Signer,
  { later }: StatusOutsideCore,
  reply: (outcome: ActOutcome) => void,
): void {
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
