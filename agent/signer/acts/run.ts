/**
 * What this run knows that is no fact of the ledger, and what one request may use. All of it starts
 * anew with the process, so a restored ledger begins ungreeted and signs nothing before the gateway
 * has told what it holds.
 */

import type { Code } from "../../../protocol/codes.ts";
import { type AgentError, type Refusal, refuse } from "../../../protocol/fault.ts";
import type { OpenedBody } from "../../ledger/ledger.ts";
import type { LedgerRecord, RecordBody } from "../../ledger/records.ts";
import type { CourierStatus } from "../../socket/verbs.ts";
import type { Core, CoreSnapshot } from "../state/core.ts";
import { aheadOfBlocksMs } from "../state/ledger-time.ts";
import type { Withdrawal } from "../state/withdrawal.ts";
import { Orders } from "./orders.ts";

/**
 * The gateway is told again what it lost: from its own records, and nothing new is taken until it
 * has all of it.
 * @public
 */
export interface Telling {
  readonly from: number; // the gateway holds the ledger up to here
  readonly to: number; // the head when that showed
  readonly challenge: string; // of its welcome
}

/**
 * The run's own knowledge.
 * @public
 */
export interface Run {
  readonly runId: string; // 32 random bytes, hex; the welcome must answer it
  readonly startedAt: number; // local clock
  isReadOnly: boolean; // the ledger's disk takes no writes: nothing is decided or signed
  greeted: boolean;
  // while locked: up to where the gateway holds this ledger, null unless the newest welcome fits it
  echoed: number | null;
  greeting: string; // challenge of the newest welcome that was taken, "" before the first
  // of the newest welcome that showed a gateway that went back, 0 for none: only a later word
  // greets
  behindAt: number;
  telling: Telling | null; // what the gateway is being told again
  // hashes that the gateway has called dead in this run, and since it was told again: its database
  // may have forgotten what it said before, and takes nothing that builds on that
  readonly deadHeard: Set<string>;
  // sweeps whose slot the chain cannot reach, as the newest word of the gateway in this run says
  unreachable: ReadonlySet<string>;
  gatewayAt: number; // newest time in a verified envelope of this run
  heardAt: number; // monotonic, when that came
  // most that the time of a block was ahead of the monotonic clock, as the courier's nodes agree
  chainLeadMs: number;
  gatewayLeadMs: number; // most that a verified envelope's time was ahead of the monotonic clock: by the one least long on its way
  adoptions: number; // first counters recorded in this run
  // by `countKey`: where an account may begin, as the courier said last
  readonly firstSlots: Map<string, { readonly slot: string; readonly witnesses: number }>;
  readonly adopted: Set<string>; // by `countKey`: accounts that had no counter before this run
  courier: CourierStatus | null;
  readonly alarms: Set<string>; // recorded once per run
  readonly aheadSince: Map<string, number>; // by `countKey`: monotonic time when the chain's count was first ahead
  // chain → most nodes that agreed lately
  readonly witnesses: Map<string, { readonly most: number; readonly atMs: number }>;
  // by `countKey`: the slot that the chain takes next after its final block, as nodes agreed last
  readonly counts: Map<string, string>;
  readonly orders: Orders;
}

/**
 * An answer, given when everything it says is on disk.
 * @public
 */
export type Reply<A> = (answer: ({ readonly ok: true } & A) | Refusal | AgentError) => void;

/** @public */
export function beginRun(runId: string, startedAt: number): Run {
  return {
    runId,
    startedAt,
    isReadOnly: false,
    greeted: false,
    echoed: null,
    greeting: "",
    behindAt: 0,
    telling: null,
    deadHeard: new Set(),
    unreachable: new Set(),
    gatewayAt: 0,
    heardAt: 0,
    chainLeadMs: Number.NEGATIVE_INFINITY,
    gatewayLeadMs: Number.NEGATIVE_INFINITY,
    adoptions: 0,
    firstSlots: new Map(),
    adopted: new Set(),
    courier: null,
    alarms: new Set(),
    aheadSince: new Map(),
    witnesses: new Map(),
    counts: new Map(),
    orders: new Orders(),
  };
}

/**
 * What an act leaves of a withdrawal, or why it did nothing.
 * @public
 */
export type Done = { readonly ok: true; readonly withdrawal: Withdrawal } | Refusal;

/**
 * The withdrawals that an envelope touched, by transactionId, or why it did nothing.
 * @public
 */
export type Admitted = { readonly ok: true; readonly touched: readonly string[] } | Refusal;

/**
 * One request's view: the state, the run, ledger time, the paying accounts, and the way to make
 * facts. `commit` numbers and folds records at once; whoever answers waits until they are on disk.
 * @public
 */
export interface Turn {
  readonly core: Core;
  readonly run: Run;
  readonly nowMs: number; // ledger time, read anew each time: never before the newest record
  readonly localMs: number; // the local clock, for comparing it with the gateway's and for nothing else
  readonly monotonicMs: number;
  /** The address that pays on a network. */
  accountOn(network: string): string;
  /** The code by which the ledger's disk refuses anything new; null where it takes it. */
  fullDisk(): Code | null;
  /** The hash of any record, null beyond the head. */
  hashAt(seq: number): string | null;
  /** Opens a new ledger: its first state as given, its first record durable with the next flush. */
  open(state: CoreSnapshot, body: OpenedBody): void;
  commit(bodies: readonly RecordBody[]): readonly LedgerRecord[];
}

/**
 * Why nothing may be signed, released or decided now; null when it may.
 * @public
 */
export function closedGate(turn: Pick<Turn, "core" | "run" | "localMs" | "monotonicMs">): Refusal | null {
  const { core, run } = turn;
  if (core.locked !== null) return refuse("SIGNER_LOCKED", core.locked.code);
  if (run.isReadOnly) return refuse("LEDGER_READ_ONLY");
  if (run.orders.isWhole) return refuse("RECOVERY_OFFERED");
  return run.greeted ? aheadOfBlocks(turn) : refuse("SIGNER_NOT_GREETED");
}

/**
 * Why ledger time stands although a gateway has greeted: both clocks are far ahead of every chain.
 */
export function aheadOfBlocks({ run, localMs, monotonicMs }: Pick<Turn, "run" | "localMs" | "monotonicMs">): Refusal | null {
  const aheadMs = aheadOfBlocksMs(run, localMs, monotonicMs);
  return aheadMs === 0 ? null : refuse("CLOCK_AHEAD", `${aheadMs} ms ahead of the newest block`);
}

/**
 * The courier's word of the outside. An older time of a block than before changes nothing.
 * @public
 */
export function hearCourier({ run, monotonicMs }: Pick<Turn, "run" | "monotonicMs">, courier: CourierStatus): void {
  run.courier = courier;
  for (const { headAtMs } of courier.chains)
    if (headAtMs > 0) run.chainLeadMs = Math.max(run.chainLeadMs, headAtMs - monotonicMs);
}

/**
 * Under which name an account's count is kept: the hot account's is its network.
 * @public
 */
export function countKey(turn: Pick<Turn, "accountOn">, network: string, account: string): string {
  return account === turn.accountOn(network) ? network : `${network} ${account}`;
}

/**
 * As `closedGate`, and the disk must have room: asked before anything new is bound, so that what is
 * open can still be recorded to its end.
 * @public
 */
export function closedToNew(turn: Turn): Refusal | null {
  return closedGate(turn) ?? fullDisk(turn);
}

/**
 * The refusal of a disk that takes nothing new; null where it does.
 * @public
 */
export function fullDisk(turn: Pick<Turn, "fullDisk">): Refusal | null {
  const code = turn.fullDisk();
  return code === null ? null : refuse(code);
}

/**
 * Why nothing that pays may be signed, beside `closedGate`: a person stopped it. A cancel is a
 * person's own and pays nothing.
 * @public
 */
export function pausedBy({ core }: Pick<Turn, "core">): Refusal | null {
  return core.paused === null ? null : refuse("SIGNER_PAUSED", core.paused.approver);
}

/**
 * The gateway's verified word of what time it is. An older one than before changes nothing.
 * @public
 */
export function hearTime({ run, monotonicMs }: Turn, at: number): void {
  run.gatewayLeadMs = Math.max(run.gatewayLeadMs, at - monotonicMs);
  if (at <= run.gatewayAt) return;
  run.gatewayAt = at;
  run.heardAt = monotonicMs;
}

/**
 * Stops signing for good: recorded once, and it survives restarts.
 * @public
 */
export function lock(turn: Turn, code: Code, detail: string): Refusal {
  if (turn.core.locked === null) turn.commit([{ kind: "LOCKED", code, detail }]);
  return refuse("SIGNER_LOCKED", turn.core.locked?.code ?? code);
}

/**
 * Something a person must see; the same one is recorded once per run, so that repeating it cannot
 * fill the disk.
 * @public
 */
export function alarm(turn: Turn, code: Code, detail: string): void {
  if (turn.run.alarms.has(code)) return;
  turn.run.alarms.add(code);
  turn.commit([{ kind: "ALARM", code, detail }]);
}
