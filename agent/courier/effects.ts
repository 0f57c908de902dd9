/**
 * Carries out the scheduler's effects: asks the signer, asks the nodes, and hands them bytes. Each
 * answer goes back as one event. Decides nothing, except that bytes which independent code reads
 * differently never reach a node.
 */

import { AgentError } from "../../base/fault.ts";
import type { AgentLog } from "../../base/log.ts";
import { expiryExclusionOf } from "../../chains/families.ts";
import type { SocketAnswer, SocketClient } from "../socket/client.ts";
import { type BatchVerb, batchRequestsMax } from "../socket/each.ts";
import { framedOffer } from "../socket/offered.ts";
import type { ChangedWithdrawalPart, CourierAnswers, CourierRequests } from "../socket/verbs.ts";
import type { Metrics } from "./metrics.ts";
import type { ChainAccess } from "./nodes/chain.ts";
import type { ReadBack } from "./nodes/read-back.ts";
import type { GatewayQuestions } from "./questions.ts";
import type {
  BlockCheckEffect,
  NodeQuestion,
  SchedulerEffect,
  SchedulerEvent,
  SchedulerRefusal,
  SendEffect,
} from "./scheduler/scheduler.ts";

/** The courier's end of the signer's socket. */
export type SignerSocket = SocketClient<CourierRequests, CourierAnswers>;

export interface EffectRunnerOptions {
  readonly signer: SignerSocket;
  readonly chainAccess: ReadonlyMap<string, ChainAccess>;
  readonly readBack: ReadBack;
  readonly feed: (event: SchedulerEvent) => void;
  readonly refresh: () => void;
  /** Has the account's watch read the chain's state at once. */
  readonly wake: (chain: string, account?: string) => void;
  /** `questions` asks the gateway for its word on coins and next slots; null before dialling. */
  readonly state: { readonly questions: Pick<GatewayQuestions, "ask"> | null };
  readonly log: AgentLog;
  readonly metrics: Metrics;
  readonly onBug: (error: unknown) => void;
}

type Effect<K extends SchedulerEffect["kind"]> = Extract<SchedulerEffect, { kind: K }>;

export function createEffectRunner(
  options: EffectRunnerOptions,
): (effect: SchedulerEffect) => void {
  const { chainAccess, feed, refresh, wake, state, log, onBug } = options;
  const together = createGathering(options);
  const withAccess = (
    effect: { readonly chain: string },
    run: (access: ChainAccess) => Promise<void>,
  ): Promise<void> => {
    const access = chainAccess.get(effect.chain);
    return access === undefined ? done : run(access);
  };
  const act = (effect: SchedulerEffect): Promise<void> => {
    switch (effect.kind) {
      case "ask":
        if (isOffer(effect)) return askWithEvidence(options, effect, together);
        return effect.verb === "observed" ? together(effect) : askSigner(options, effect);
      case "adopt":
        return adopt(options, effect);
      case "account":
        return informAccount(options, effect);
      case "foreign":
        return tellForeign(options, effect);
      case "unseen":
        return tellUnseen(options, effect);
      case "refresh":
        refresh();
        return done;
      case "wake":
        wake(effect.chain, effect.account);
        return done;
      case "question":
        state.questions?.ask(effect);
        return done;
      case "alarm":
        logAlarm(log, effect);
        return done;
      case "send":
        return withAccess(effect, (access) => send(options, access, effect));
      case "checkBlock":
        return withAccess(effect, (access) => checkBlock(options, access, effect));
      default:
        return withAccess(effect, async (access) => feed(await answerOf(access, effect)));
    }
  };
  return (effect) => {
    act(effect).catch(onBug);
  };
}

const done = Promise.resolve();

function logAlarm(log: AgentLog, { code, transactionId, detail }: Effect<"alarm">): void {
  log.error({ event: "withdrawal-alarm", code, transactionId, detail }, "an operator must look");
}

async function answerOf(access: ChainAccess, effect: NodeQuestion): Promise<SchedulerEvent> {
  switch (effect.kind) {
    case "gas":
      return {
        kind: "gas",
        transactionId: effect.withdrawal.transactionId,
        ...(effect.isOwn === true ? { isOwn: true } : {}),
        answer: await access.gas(
          effect.from,
          effect.isOwn === true
            ? { ...effect.withdrawal, address: effect.from }
            : effect.withdrawal,
        ),
      };
    case "look":
      return {
        kind: "looked",
        ...accountIn(effect),
        ...answered(effect, await access.look(effect.wanted)),
      };
    case "confirm":
      return {
        kind: "confirmed",
        ...accountIn(effect),
        ...answered(effect, await access.confirm(effect.wanted)),
      };
    case "void":
      return { kind: "void", ...accountIn(effect), found: await access.findVoid(effect.wanted) };
    case "spenders":
      return { kind: "spenders", ...accountIn(effect), found: await access.spenders(effect.coins) };
    case "makers":
      return { kind: "makers", ...accountIn(effect), found: await access.makers(effect.wanted) };
    case "slotCounts":
      return { kind: "slotCounts", ...accountIn(effect), answer: await slotCounts(access, effect) };
  }
}

/** The answers to a question, and the withdrawals that they leave out. */
function answered<T extends { readonly transactionId: string }>(
  { wanted }: Extract<NodeQuestion, { kind: "look" | "confirm" }>,
  found: readonly T[],
): { readonly found: readonly T[]; readonly failed: readonly string[] } {
  const known = new Set(found.map(({ transactionId }) => transactionId));
  const ids = wanted.map(({ withdrawal: { transactionId } }) => transactionId);
  return { found, failed: ids.filter((id) => !known.has(id)) };
}

/** The account of an answer, as its question named it. */
function accountIn({ chain, account }: InPlay): InPlay {
  return account === undefined ? { chain } : { chain, account };
}

interface InPlay {
  readonly chain: string;
  readonly account?: string;
}

type AskEffect = Effect<"ask"> & { readonly verb: BatchVerb };

/** Joins the signer's requests of one tick into one line for each verb. */
function createGathering(options: EffectRunnerOptions): (effect: AskEffect) => Promise<void> {
  let gathered: AskEffect[] = [];
  const flush = (): void => {
    const effects = gathered;
    gathered = [];
    for (const of of ["observed", "sign"] as const) {
      const own = effects.filter(({ verb }) => verb === of);
      for (let from = 0; from < own.length; from += batchRequestsMax) {
        askEach(options, of, own.slice(from, from + batchRequestsMax)).catch(options.onBug);
      }
    }
  };
  return (effect) => {
    if (gathered.push(effect) === 1) setImmediate(flush);
    return done;
  };
}

async function askEach(
  options: EffectRunnerOptions,
  of: BatchVerb,
  effects: readonly AskEffect[],
): Promise<void> {
  const [first] = effects;
  if (first === undefined) return;
  if (effects.length === 1) {
    await askSigner(options, first);
    return;
  }
  const bodies = effects.map(({ body }) => body);
  const answer = await settleAnswer(options.signer.request("each", { of, bodies }));
  for (const [at, effect] of effects.entries()) {
    const own = answer.ok ? answer.answers[at] : answer;
    takeAnswer(options, effect, own ?? { ok: false, code: "SOCKET_FORMAT", effect: "unknown" });
  }
}

type Offer = Effect<"ask"> & { readonly verb: "sign" | "replace" };

function isOffer(effect: Effect<"ask">): effect is Offer {
  return effect.verb === "sign" || effect.verb === "replace";
}

/**
 * Asks for a signature. On a chain with coins, the transactions that made them go along, one
 * request a line because of their length.
 */
async function askWithEvidence(
  options: EffectRunnerOptions,
  effect: Offer,
  together: (effect: AskEffect) => Promise<void>,
): Promise<void> {
  const evidenceOf = options.chainAccess.get(effect.withdrawal.chain)?.nodes.evidence;
  if (evidenceOf === undefined)
    return effect.verb === "sign" ? together(effect) : askSigner(options, effect);
  let evidence: readonly string[];
  try {
    evidence = await evidenceOf(effect.body.txParams);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    takeAnswer(options, effect, { ok: false, code: error.code, effect: "none" });
    return;
  }
  const proven = framedOffer({ txParams: effect.body.txParams, evidence });
  await askSigner(options, { ...effect, body: { ...effect.body, ...proven } } as Offer);
}

async function askSigner(options: EffectRunnerOptions, effect: Effect<"ask">): Promise<void> {
  takeAnswer(options, effect, await settleAnswer(request(options.signer, effect)));
}

type StepAnswer = Extract<SchedulerEvent, { kind: "answered" }>["answer"];

function takeAnswer(
  { feed, metrics, log }: EffectRunnerOptions,
  effect: Effect<"ask">,
  answer: StepAnswer,
): void {
  const { verb, body } = effect;
  const { transactionId } = body;
  if (answer.ok) {
    count(metrics, effect, answer.withdrawal);
    logStep(log, effect, answer.withdrawal);
  } else {
    metrics.count("refusals");
    log.debug(
      { event: "signer-refused", verb, transactionId, code: answer.code },
      "the signer said no",
    );
  }
  feed({ kind: "answered", verb, transactionId, answer });
}

function request(
  signer: SignerSocket,
  effect: Effect<"ask">,
): Promise<SocketAnswer<{ readonly withdrawal: ChangedWithdrawalPart }>> {
  switch (effect.verb) {
    case "sign":
      return signer.request("sign", effect.body);
    case "replace":
      return signer.request("replace", effect.body);
    case "decline":
      return signer.request("decline", effect.body);
    case "observed":
      return signer.request("observed", effect.body);
  }
}

function count(metrics: Metrics, effect: Effect<"ask">, withdrawal: ChangedWithdrawalPart): void {
  if (effect.verb === "sign") {
    metrics.count("signed");
    metrics.durable(effect.body.transactionId);
  }
  if (effect.verb === "replace") metrics.count("replaced");
  if (effect.verb === "decline") metrics.count("declined");
  if (effect.verb === "observed" && withdrawal.state === "included") metrics.count("included");
  if (effect.verb === "observed" && effect.body.stage === "final") metrics.count("final");
  if (
    effect.verb === "observed" &&
    effect.body.stage !== "broadcast" &&
    effect.body.stage !== "void"
  )
    metrics.reached(effect.body.transactionId, effect.body.stage);
}

/**
 * Logs the steps that an operator needs of each withdrawal: the signed transaction, and the end.
 * Amounts are decimal strings.
 */
function logStep(log: AgentLog, effect: Effect<"ask">, withdrawal: ChangedWithdrawalPart): void {
  const { transactionId, amount, currency, network } = effect.withdrawal;
  const { state, slot } = withdrawal;
  if (effect.verb === "sign" || effect.verb === "replace") {
    const newest = withdrawal.attempts.at(-1);
    const fields = {
      transactionId,
      txHash: newest?.txHash,
      attempt: newest?.attempt,
      slot,
      amount,
      currency,
    };
    if (effect.verb === "sign")
      log.info({ event: "withdrawal-signed", ...fields }, "a withdrawal was signed");
    else
      log.info(
        { event: "withdrawal-replaced", ...fields },
        expiryExclusionOf(network) === null
          ? "a withdrawal was signed again with a higher fee"
          : "a withdrawal was signed again, since all attempts before are void",
      );
  } else if (effect.verb === "decline" || effect.body.stage === "final") {
    const txHash = effect.verb === "observed" ? effect.body.txHash : "";
    log.info(
      { event: "withdrawal-final", transactionId, state, txHash, amount, currency },
      "a withdrawal is final",
    );
  }
}

async function adopt(
  { signer, feed, log }: EffectRunnerOptions,
  { body }: Effect<"adopt">,
): Promise<void> {
  const answer = await settleAnswer(signer.request("adopt", body));
  const { chain, slot } = body;
  if (answer.ok)
    log.info(
      { event: "slot-adopted", chain, account: answer.account.address, slot },
      "first slot adopted",
    );
  feed({
    kind: "adopted",
    chain,
    ...(body.address === undefined ? {} : { account: body.address }),
    answer,
  });
}

async function informAccount(
  { signer, log }: EffectRunnerOptions,
  { body }: Effect<"account">,
): Promise<void> {
  const answer = await settleAnswer(signer.request("account", body));
  if (answer.ok) return;
  const fields = { chain: body.chain, slot: body.slot, code: answer.code };
  log.warn({ event: "slot-count-refused", ...fields }, "the account's slot count was not taken");
}

async function tellForeign(
  { signer, log }: EffectRunnerOptions,
  { body }: Effect<"foreign">,
): Promise<void> {
  const answer = await settleAnswer(signer.request("foreign", body));
  const { chain, coin, txHash } = body;
  const fields = { code: "CHAIN_COIN_FOREIGN", chain, coin, txHash, told: answer.ok };
  log.error(
    { event: "coin-foreign", ...fields },
    "a coin was spent by no payment of ours: an operator must look",
  );
}

/** A lost report costs ten minutes: the nodes are asked again. */
async function tellUnseen(
  { signer }: EffectRunnerOptions,
  { body }: Effect<"unseen">,
): Promise<void> {
  await settleAnswer(signer.request("unseen", body));
}

async function send(
  options: EffectRunnerOptions,
  access: ChainAccess,
  { withdrawal, attempt }: SendEffect,
): Promise<void> {
  const { feed, readBack, log, metrics } = options;
  const { transactionId } = withdrawal;
  const view = withdrawal.attempts.find((one) => one.attempt === attempt);
  if (view?.raw === undefined) return;
  const differs = await readBack(withdrawal, view);
  if (differs !== "") {
    feed({ kind: "misread", transactionId, attempt, detail: differs });
    return;
  }
  const { standing, meaning, text, node, byNode } = await access.nodes.broadcast(view.raw);
  metrics.count(standing === "unsent" ? "unsent" : "sent");
  if (standing === "taken") metrics.reached(transactionId, "broadcast");
  const outcome = meaning === "" ? standing : `${standing}: ${meaning}`;
  const fields = {
    transactionId,
    txHash: view.txHash,
    slot: withdrawal.slot,
    attempt,
    outcome,
    detail: text,
    node,
  };
  if (standing === "taken") log.debug({ event: "bytes-handed", ...fields }, "handed to the nodes");
  // A node gives this answer for a payment that is already in a block of another node.
  else if (meaning === "slot-used")
    log.debug({ event: "slot-used", ...fields }, "the nodes know the slot as used");
  else log.warn({ event: "bytes-declined", ...fields }, "the nodes did not say yes");
  feed({ kind: "sent", transactionId, attempt, answers: byNode });
}

async function checkBlock(
  { feed }: EffectRunnerOptions,
  access: ChainAccess,
  effect: BlockCheckEffect,
): Promise<void> {
  try {
    feed({
      kind: "blockChecked",
      ...accountIn(effect),
      holds: await access.nodes.holds(effect.block, effect.blockHash),
    });
  } catch (error) {
    // No answer is no news.
    if (!(error instanceof AgentError)) throw error;
  }
}

async function slotCounts(
  { nodes }: ChainAccess,
  { address, asksBegan }: Effect<"slotCounts">,
): Promise<Extract<SchedulerEvent, { kind: "slotCounts" }>["answer"]> {
  try {
    const counts = await nodes.closed(address);
    const began = asksBegan === true ? ((await nodes.began?.(address)) ?? null) : null;
    return { ok: true, ...counts, ...(began === null ? {} : { began }) };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return { ok: false, code: error.code, effect: error.effect };
  }
}

/** Returns a fault of the socket as an answer; the scheduler uses its effect. */
export async function settleAnswer<A>(
  answer: Promise<SocketAnswer<A>>,
): Promise<({ readonly ok: true } & A) | SchedulerRefusal> {
  try {
    const found = await answer;
    return found.ok
      ? found
      : { ok: false, code: found.code, detail: found.detail, effect: found.effect };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return { ok: false, code: error.code, effect: error.effect };
  }
}
