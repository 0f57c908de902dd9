/**
 * The courier's verbs: a dozen requests, each read strictly, because the signer treats the courier
 * as hostile. `runtime/courier-acts.ts` carries them out.
 */

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
  shapeFault,
  string,
} from "../../../base/shape.ts";
import type { TxParams } from "../../../chains/family.ts";
import { parseAmount } from "../../../protocol/amount.ts";
import { agentFrameBytesMax } from "../../../protocol/envelope.ts";
import { type ConfigRead, isOlderConfig } from "../../socket/config-read.ts";
import { batchRequestsMax } from "../../socket/each.ts";
import { txParamForm, txParamLengthMax, txParamName, txParamsMax } from "../../socket/limits.ts";
import {
  evidenceBytesMax,
  evidenceMax,
  evidencePieceBytes,
  offerOf,
} from "../../socket/offered.ts";
import type { SignerSummary, SyncSummary } from "../../socket/summary.ts";
import {
  type Answer,
  type CourierRequests,
  type CourierVerb,
  type LimitView,
  type Request,
  statusTextMax,
  type WithdrawalState,
} from "../../socket/verbs.ts";
import { courierActs, takeCourierReport } from "../runtime/courier-acts.ts";
import type { Signer } from "../runtime/signer.ts";
import { limitsInForce } from "../state/in-force.ts";
import { allStates } from "../state/machine.ts";
import { isOver } from "../state/withdrawal.ts";
import {
  type ActOutcome,
  answerRequest,
  createBatchVerb,
  createSocketVerb,
  type SocketVerb,
} from "./answers.ts";

/*
 * The signer's summary for the courier, in answer to `tell`, for metrics and alerts: only numbers
 * and data that the courier has already. Touches nothing.
 */

/** Data that only the process has. */
interface SummarySource {
  readonly config: ConfigRead;
  readonly residentBytes: () => number;
  readonly syncs: () => SyncSummary;
}

const millionths = 1_000_000n;
/** The upper bound of a ratio, for any value of the limit. */
const ratioMax = 1_000_000_000n;

function summaryOf(signer: Signer, source: SummarySource, courierDigest: string): SignerSummary {
  const { core, ledger, run } = signer;
  const { nowMs } = signer.context();
  const counts: Partial<Record<WithdrawalState, number>> = {};
  for (const state of allStates) if (state !== "requested") counts[state] = core.book.count(state);
  const oldest: Partial<Record<WithdrawalState, number>> = {};
  for (const withdrawal of core.book.open()) {
    const { state, changedAt } = withdrawal;
    if (state === "requested" || isOver(withdrawal)) continue;
    oldest[state] = Math.max(oldest[state] ?? 0, nowMs - changedAt);
  }
  return {
    counts: counts as SignerSummary["counts"],
    oldestMs: oldest,
    limits: limitsInForce(core.policy, nowMs).map(usedOf),
    records: core.heads.head.seq,
    acked: core.heads.acked.seq,
    startedAt: run.startedAt,
    freeBytes: ledger.freeBytes(),
    freeBytesMin: ledger.roomBytesMin,
    residentBytes: source.residentBytes(),
    syncs: source.syncs(),
    configDiffers: courierDigest !== source.config.digest,
  };
}

function usedOf(limit: LimitView): SignerSummary["limits"][number] {
  return {
    currency: limit.currency,
    hour: ratio(limit.usedInHour, limit.maxPerHour),
    day: ratio(limit.usedInDay, limit.maxPerDay),
    feesDay: ratio(limit.usedFeesInDay, limit.maxFeePerDay),
  };
}

/** Returns millionths of the limit; -1 without a limit. A limit of zero is used up. */
function ratio(used: string, limit: string): number {
  if (limit === "") return -1;
  const [usedUnits, limitUnits] = [units(used), units(limit)];
  if (limitUnits === 0n) return Number(millionths);
  const found = (usedUnits * millionths) / limitUnits;
  return Number(found > ratioMax ? ratioMax : found);
}

/** Both amounts have the decimals of one currency, at most 36. */
function units(text: string): bigint {
  const parsed = parseAmount(text, 36);
  return parsed.ok ? parsed.units : 0n;
}

/** A decimal number of the fee market. */
const figure = string({ min: 1, max: 39, pattern: /^(?:0|[1-9][0-9]*)$/ });
/** A number of the transaction parameters, or coins; the family reads it. */
const txParam = string({ min: 1, max: txParamLengthMax, pattern: txParamForm });
/** A slot in the family's own spelling, which the family reads. */
const slot = string({ min: 1, max: 160, pattern: /^[\x21-\x7e]+$/ });
const transactionId = hex(16);
const chain = string({ min: 1, max: 64 });
const address = string({ min: 1, max: 128, pattern: /^[\x21-\x7e]+$/ });
/** A coin in the family's own spelling; kept nowhere. */
const coin = string({ min: 1, max: 160, pattern: /^[\x21-\x7e]+$/ });
const foreignHash = string({ min: 1, max: 130, pattern: /^[0-9A-Za-z]+$/ });
const quorum = integer({ min: 1, max: 64 });
const began = object({ slot, absentMs: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }) });
const text = string({ max: statusTextMax });
/** One each for the final block, blocks, an hour's questions, and three parts of a state. */
const delaysMax = 16;
const amount = string({ max: 128, pattern: /^[0-9.]*$/ });

/** One complete envelope, as it came before the line. */
const frames: Reader<Uint8Array> = (value, path) => {
  const [frame, ...more]: readonly unknown[] = Array.isArray(value) ? value : [];
  if (!(frame instanceof Uint8Array) || more.length > 0)
    throw shapeFault(path, "must be one frame");
  if (frame.length > agentFrameBytesMax)
    throw shapeFault(path, `must be at most ${agentFrameBytesMax} bytes`);
  return frame;
};

const feeMarket: Reader<TxParams> = record(figure, { keysMax: 8, keyPattern: /^[A-Za-z]{1,32}$/ });
const txParams: Reader<TxParams> = record(txParam, {
  keysMax: txParamsMax,
  keyPattern: txParamName,
});
const evidence = list(integer({ min: 1, max: evidenceBytesMax }), evidenceMax);
/** Pieces of the transactions that made the coins, which came before the line. */
const pieces: Reader<readonly Uint8Array[]> = (value, path) => {
  const all: readonly unknown[] = Array.isArray(value) ? value : [];
  const isPiece = (one: unknown): one is Uint8Array =>
    one instanceof Uint8Array && one.length <= evidencePieceBytes;
  if (!all.every(isPiece))
    throw shapeFault(path, `must be frames of at most ${evidencePieceBytes} bytes`);
  return all;
};
const proofs = { evidence, frames: pieces };

const config: Reader<ConfigRead> = object({ digest: hex(32), readMs: integer({ min: 0 }) });

const courierStatus: Reader<CourierRequests["tell"]["courier"]> = object(
  {
    at: integer(),
    link: oneOf("up", "down"),
    linkDetail: text,
    chains: list(
      object(
        {
          chain,
          ok: boolean(),
          isAsking: boolean(),
          detail: text,
          block: integer(),
          headAtMs: integer({ min: 0 }),
          nativeBalance: string({ max: 78, pattern: /^[0-9]*$/ }),
          nodes: list(
            object({ url: text, ok: boolean(), detail: text, since: integer({ min: 0 }) }),
            8,
          ),
        },
        { feeMarket, delays: list(text, delaysMax) },
      ),
      64,
    ),
    waiting: list(object({ transactionId, why: text }), 1024),
    durableMedianUs: integer({ min: 0 }),
    configDigest: hex(32),
    notify: nullable(object({ ok: boolean(), detail: text })),
    outOfService: list(object({ currency: chain, why: text }), 512),
    lowFunds: list(object({ currency: chain, has: amount, wanted: amount }), 512),
  },
  { unbegun: list(object({ chain, why: text }), 64) },
);

/** The part of an answer that the process adds to the signer's. */
export interface CourierAnswerSource extends SummarySource {
  /** Ends the process, so that its next start reads config.json again. */
  readonly giveWay: () => void;
}

/** Answers one request of the courier. A Bug passes through. */
export function createCourierRequestHandler(
  signer: Signer,
  source: CourierAnswerSource,
): (request: Request, answer: (answer: Answer) => void) => void {
  const byName = new Map<string, SocketVerb>();
  const verbs: { readonly [V in CourierVerb]: SocketVerb } = {
    hello: createSocketVerb("hello", object({}, { config }), (body, reply) =>
      hello(signer, source, body, reply),
    ),
    admit: createSocketVerb("admit", object({ frames }), (body, reply) =>
      courierActs.admit(signer, { frames: [body.frames] }, reply),
    ),
    sign: createSocketVerb(
      "sign",
      object({ transactionId, txParams }, proofs),
      ({ transactionId: id, ...offer }, reply) =>
        courierActs.sign(signer, { transactionId: id, ...offerOf(offer) }, reply),
    ),
    replace: createSocketVerb(
      "replace",
      object({ transactionId, above: integer({ min: 1, max: 1000 }), txParams }, proofs),
      ({ transactionId: id, above, ...offer }, reply) =>
        courierActs.replace(signer, { transactionId: id, above, ...offerOf(offer) }, reply),
    ),
    release: createSocketVerb("release", object({ frames }), (body, reply) =>
      courierActs.release(signer, { frames: [body.frames] }, reply),
    ),
    sightings: createSocketVerb("sightings", object({ frames }), (body, reply) =>
      courierActs.sightings(signer, { frames: [body.frames] }, reply),
    ),
    decline: createSocketVerb(
      "decline",
      object({ transactionId, code: string({ min: 1, max: 64 }) }),
      (body, reply) => courierActs.decline(signer, body, reply),
    ),
    observed: createSocketVerb(
      "observed",
      object(
        {
          transactionId,
          stage: oneOf("broadcast", "included", "final", "void"),
          outcome: oneOf("", "paid", "reverted", "conflicted", "cancelled", "moved"),
          txHash: string({ max: 130, pattern: /^[0-9A-Za-z]*$/ }),
          block: integer(),
        },
        { quorum },
      ),
      (body, reply) => courierActs.observed(signer, body, reply),
    ),
    each: createBatchVerb(byName, batchRequestsMax, "sign", "observed"),
    adopt: createSocketVerb("adopt", object({ chain, slot, quorum }, { address }), (body, reply) =>
      courierActs.adopt(signer, body, reply),
    ),
    account: createSocketVerb(
      "account",
      object({ chain, slot, quorum }, { address, began }),
      (body, reply) => courierActs.account(signer, body, reply),
    ),
    report: createSocketVerb("report", object({ after: integer() }), (body, reply) =>
      courierActs.report(signer, body, reply),
    ),
    foreign: createSocketVerb(
      "foreign",
      object({ chain, coin, txHash: foreignHash }, { address }),
      (body, reply) => courierActs.foreign(signer, body, reply),
    ),
    unseen: createSocketVerb(
      "unseen",
      object({
        transactionId,
        coin,
        isShown: boolean(),
        chainMs: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
      }),
      (body, reply) => courierActs.unseen(signer, body, reply),
    ),
    tell: createSocketVerb("tell", object({ courier: courierStatus }), (body, reply) => {
      takeCourierReport(signer, body);
      reply({ ok: true, summary: summaryOf(signer, source, body.courier.configDigest) });
    }),
  };
  for (const [name, act] of Object.entries(verbs)) byName.set(name, act);
  return (request, answer) => answerRequest(byName, request, answer);
}

/**
 * A courier that has read a newer config.json gets the signer's, and the signer gives way to it
 * before it takes another request: nothing is signed by the older limits. A hostile courier can
 * only end the signer with it, as it can by saying nothing.
 */
function hello(
  signer: Signer,
  source: CourierAnswerSource,
  body: CourierRequests["hello"],
  reply: (outcome: ActOutcome) => void,
): void {
  courierActs.hello(signer, body, (answer) => {
    reply("ok" in answer && answer.ok ? { ...answer, config: source.config } : answer);
    if (body.config !== undefined && isOlderConfig(source.config, body.config)) source.giveWay();
  });
}
