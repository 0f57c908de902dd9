/**
 * One chain for the scheduler. Puts the scheduler's questions to the chain's interface, keeps early
 * answers for some seconds, and leaves out questions that the nodes could not answer. Decides
 * nothing.
 */

import { AgentError, invariant } from "../../../base/fault.ts";
import { type ChainPace, paceUnknown } from "../../../chains/final-times.ts";
import { type ChainHealth, healthOf } from "../../../chains/health.ts";
import type {
  ChainState,
  CoinVisibility,
  SenderNodes,
  VoidQuestion,
  WantedPaymentFrom,
} from "../../../chains/nodes.ts";
import type { CourierView } from "../../socket/verbs.ts";
import type { PinQuestion } from "../scheduler/events.ts";
import type {
  ChainOutcome,
  InclusionAnswer,
  InclusionQuestion,
  SchedulerEvent,
  VoidAttemptsAnswer,
  VoidAttemptsQuestion,
} from "../scheduler/scheduler.ts";

type GasAnswer = Extract<SchedulerEvent, { kind: "gas" }>["answer"];

/** The fields on which an estimate depends. */
type Payment = Pick<CourierView, "contract" | "address" | "tag" | "amountUnits">;

/** Time for which an answer asked for ahead may be used, and how many are kept. */
const expectedMs = 5000;
const expectedMax = 256;

export interface ChainAccess {
  readonly nodes: SenderNodes;
  /** The usual time between two blocks by the preset; null without one. */
  readonly blockMs: number | null;
  /** The state of its nodes; `nowMs` in Unix milliseconds. */
  health(chain: string, nowMs: number): ChainHealth;
  chainState(account: string): Promise<ChainState>;
  gas(from: string, payment: Payment): Promise<GasAnswer>;
  /** Asks ahead for the values that `gas` will need. Rejects only for bugs. */
  expect(from: string, payment: Payment): Promise<unknown>;
  /** Look-ups that failed are left out. */
  look(wanted: readonly InclusionQuestion[]): Promise<readonly InclusionAnswer[]>;
  confirm(
    wanted: readonly InclusionQuestion[],
  ): Promise<
    readonly { readonly transactionId: string; readonly chainOutcome: ChainOutcome | null }[]
  >;
  /** The final spender of each coin; null without one, and where a question failed. */
  spenders(
    coins: readonly string[],
  ): Promise<readonly { readonly coin: string; readonly txHash: string | null }[]>;
  /** If nodes show the makers of these coins; null where a question failed. */
  makers(
    wanted: readonly PinQuestion[],
  ): Promise<readonly (PinQuestion & { readonly answer: CoinVisibility | null })[]>;
  /** Asks which attempts of one account are void; for chains with exclusion by expiry. */
  findVoid(wanted: readonly VoidAttemptsQuestion[]): Promise<readonly VoidAttemptsAnswer[]>;
}

/** `pace` is the chain's usual pace; by default one without a preset that finalizes by itself. */
export function createChainAccess(
  nodes: SenderNodes,
  clock: () => number,
  pace: ChainPace = paceUnknown,
): ChainAccess {
  const expected = new Map<
    string,
    { readonly atMs: number; readonly answer: Promise<GasAnswer> }
  >();
  return {
    nodes,
    blockMs: pace.blockMs,
    health: (chain, nowMs) => healthOf(chain, pace, nodes.status(), nowMs),
    chainState: (account) => nodes.chainState(account),
    async gas(from, payment) {
      const early = expected.get(keyOf(payment));
      expected.delete(keyOf(payment));
      const answer =
        early !== undefined && clock() - early.atMs < expectedMs ? await early.answer : null;
      // A refusal may also have been too early, so it is asked for again.
      return answer?.ok ? answer : answerGas(nodes, from, payment);
    },
    expect(from, payment) {
      if (expected.size >= expectedMax) expected.clear();
      const answer = answerGas(nodes, from, payment);
      expected.set(keyOf(payment), { atMs: clock(), answer });
      return answer;
    },
    async look(wanted) {
      const [first] = wanted;
      if (first === undefined) return [];
      const asked = wanted.map(({ withdrawal, txHashes }) => ({ slot: withdrawal.slot, txHashes }));
      const found = await nodes.locations(first.withdrawal.account, asked);
      return wanted.flatMap(({ withdrawal: { transactionId } }, at) => {
        const one = found[at] ?? null;
        return one === null ? [] : [{ transactionId, ...one }];
      });
    },
    confirm: (wanted) =>
      each(wanted, async (one) => ({
        chainOutcome: await nodes.chainOutcome(paidFrom(one), attemptsOf(one)),
      })),
    async spenders(coins) {
      const found = (await nodes.spentBy?.(coins)) ?? [];
      return coins.map((coin, at) => ({ coin, txHash: found[at] ?? null }));
    },
    async makers(wanted) {
      const found = (await nodes.coinsSeen?.(wanted.map(({ coin }) => coin))) ?? [];
      return wanted.map((one, at) => ({ ...one, answer: found[at] ?? null }));
    },
    findVoid: (wanted) => findVoid(nodes, wanted),
  };
}

/**
 * Asks for all in one question, because all share the blocks to be read. If the answer is no, asks
 * for each separately.
 */
async function findVoid(
  nodes: SenderNodes,
  wanted: readonly VoidAttemptsQuestion[],
): Promise<readonly VoidAttemptsAnswer[]> {
  const [first, ...others] = wanted;
  if (first === undefined) return [];
  const { account } = first.withdrawal;
  const ofAll = wanted.flatMap(({ attempts }) => attempts);
  const answer = await askVoid(nodes, account, ofAll);
  // A node's answer about one attempt may stop the complete question. A node out of reach concerns
  // all attempts.
  const isForAll = answer.ok ? answer.isVoid : !answer.code.startsWith("NODE_DISAGREE");
  if (others.length === 0 || isForAll) return wanted.map((one) => voidAnswerOf(one, answer));
  const found: VoidAttemptsAnswer[] = [];
  for (const one of wanted)
    found.push(voidAnswerOf(one, await askVoid(nodes, account, one.attempts)));
  return found;
}

function voidAnswerOf(
  { withdrawal, attempts }: VoidAttemptsQuestion,
  answer: VoidAttemptsAnswer["answer"],
): VoidAttemptsAnswer {
  return {
    transactionId: withdrawal.transactionId,
    txHashes: attempts.map(({ txHash }) => txHash),
    answer,
  };
}

async function askVoid(
  nodes: SenderNodes,
  account: string,
  attempts: readonly VoidQuestion[],
): Promise<VoidAttemptsAnswer["answer"]> {
  invariant(nodes.findVoid !== undefined, "nobody asks for void attempts where a slot excludes");
  try {
    return { ok: true, ...(await nodes.findVoid(account, attempts)) };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return { ok: false, code: describeNodeFault(error), effect: error.effect };
  }
}

/** A key of the newest head, to detect a new one. */
export function headKey(head: { readonly number: number; readonly hash: string }): string {
  return `${head.number} ${head.hash}`;
}

async function answerGas(
  nodes: SenderNodes,
  from: string,
  { contract, address, tag, amountUnits }: Payment,
): Promise<GasAnswer> {
  try {
    const answer = await nodes.computeLimit(from, {
      contract,
      destination: address,
      tag,
      amountUnits: BigInt(amountUnits),
    });
    if (answer.ok) return { ok: true, gasLimit: answer.computeLimit };
    return { ok: false, code: answer.code, effect: "none", wouldRevert: true };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return { ok: false, code: describeNodeFault(error), effect: error.effect, wouldRevert: false };
  }
}

function keyOf({ contract, address, tag, amountUnits }: Payment): string {
  return `${contract} ${address} ${amountUnits} ${tag}`;
}

/** A fault of the nodes for the operator: its code, and for a disagreement also its subject. */
export function describeNodeFault({ code, context }: AgentError): string {
  return code === "NODE_DISAGREE" && context?.what !== undefined
    ? `${code}: ${context.what}`
    : code;
}

function paidFrom({ withdrawal }: InclusionQuestion): WantedPaymentFrom {
  const { account, contract, address, tag, amountUnits } = withdrawal;
  return { account, contract, destination: address, tag, amountUnits: BigInt(amountUnits) };
}

function attemptsOf({
  withdrawal,
  txHashes,
}: InclusionQuestion): Parameters<SenderNodes["chainOutcome"]>[1] {
  const known = new Map(withdrawal.attempts.map((attempt) => [attempt.txHash, attempt]));
  return txHashes.map((txHash) => {
    const { isCancel = false, pin } = known.get(txHash) ?? {};
    return { txHash, isCancel, ...(pin === undefined ? {} : { pin }) };
  });
}

/** A fault of the nodes in a sentence: its code, the node, and the node's own text. */
export function explainNodeFault(error: AgentError): string {
  const { node, method } = error.context;
  if (typeof node !== "string") return `${error.code}: ${error.message}`;
  return `${error.code}: ${node} answers${typeof method === "string" ? ` ${method}` : ""}: ${error.message}`;
}

/**
 * Asks for all at the same time, so they share a batch. Leaves out questions that the nodes could
 * not answer.
 */
async function each<T extends object>(
  wanted: readonly InclusionQuestion[],
  ask: (one: InclusionQuestion) => Promise<T>,
): Promise<readonly ({ readonly transactionId: string } & T)[]> {
  const settled = await Promise.allSettled(
    wanted.map(async (one) => ({
      transactionId: one.withdrawal.transactionId,
      ...(await ask(one)),
    })),
  );
  const found: ({ readonly transactionId: string } & T)[] = [];
  for (const one of settled) {
    if (one.status === "fulfilled") found.push(one.value);
    else if (!(one.reason instanceof AgentError)) throw one.reason;
  }
  return found;
}
