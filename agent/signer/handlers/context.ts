/**
 * Knowledge of this run that is not in the ledger, and the context of one request. All of it begins
 * empty with the process. So a restored ledger begins without a handshake and signs nothing before
 * the gateway has reported what it holds.
 */

import type { Code } from "../../../base/codes.ts";
import { type AgentError, type Refusal, refuse } from "../../../base/fault.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { RecoveredBody } from "../../ledger/ledger.ts";
import type { LedgerRecord, RecordBody } from "../../ledger/records.ts";
import type { AccountBeginning } from "../../socket/first-slot.ts";
import type { CourierStatus } from "../../socket/verbs.ts";
import type { Core, CoreSnapshot } from "../state/core.ts";
import { aheadOfBlocksMs } from "../state/ledger-time.ts";
import type { Withdrawal } from "../state/withdrawal.ts";
import { KnownSightings } from "./known-sightings.ts";
import { RecoveryOrderCollector } from "./orders.ts";

/**
 * A resync: the gateway receives its lost records again, and nothing new is taken until the gateway
 * has everything.
 */
export interface Resync {
  readonly from: number; // the gateway holds the ledger up to here
  readonly to: number; // our head when the loss was seen
  readonly challenge: string; // from the gateway's welcome
}

/**
 * The courier's newest look for the transaction that made a pin; `gainedMs` is the chain time that
 * it and those before add to the record.
 */
export interface CoinLook {
  readonly isShown: boolean;
  readonly heardMs: number; // monotonic
  readonly chainMs: number;
  readonly gainedMs: number;
}

/** The knowledge of one run. */
export class SignerRun {
  readonly runId: string; // 32 random bytes, hex; the welcome must repeat it
  readonly startedAt: number; // local clock
  isReadOnly = false; // the ledger's disk takes no writes: nothing is decided or signed
  handshakeDone = false;
  // while locked: the record up to which the gateway holds this ledger; null unless the newest
  // welcome fits the ledger
  gatewayHeadSeq: number | null = null;
  handshake = ""; // challenge of the newest accepted welcome, "" before the first
  // time of the newest welcome that showed a rolled-back gateway, 0 for none; only a later envelope
  // completes the handshake
  behindAt = 0;
  resync: Resync | null = null; // the resync under way
  // hashes that the gateway has called void in this run and since its last resync. A restored
  // database may have forgotten earlier statements, and refuses everything that depends on them.
  readonly voidReceived = new Set<string>();
  // withdrawals that no block takes, from the gateway's newest envelope in this run
  unreachable: ReadonlySet<string> = new Set();
  // those of them whose coin the gateway's nodes have not shown for a day
  endable: ReadonlySet<string> = new Set();
  // by transactionId: the courier's newest looks for the transaction that made a pin
  readonly coinLooks = new Map<string, CoinLook>();
  // withdrawals that their shop recalled, from the gateway's newest envelope in this run
  recalled: ReadonlySet<string> = new Set();
  gatewayAt = 0; // newest time in a verified envelope of this run
  receivedAt = 0; // monotonic time at which that envelope arrived
  // the most that a block's time was ahead of the monotonic clock, as the courier's nodes agree
  chainLeadMs = Number.NEGATIVE_INFINITY;
  // the most that a verified envelope's time was ahead of the monotonic clock; the envelope with
  // the shortest delay decides
  gatewayLeadMs = Number.NEGATIVE_INFINITY;
  adoptions = 0; // first slots recorded in this run
  // by `countKey`: the first slot that the courier claimed last
  readonly firstSlots = new Map<string, { readonly slot: string; readonly quorum: number }>();
  readonly adopted = new Set<string>(); // by `countKey`: accounts that had no slot before this run
  courier: CourierStatus | null = null;
  readonly alarms = new Set<string>(); // recorded once per run
  // by `countKey`: monotonic time when the chain's count was first ahead
  readonly aheadSince = new Map<string, number>();
  // chain → most nodes that agreed lately
  readonly quorum = new Map<string, { readonly most: number; readonly atMs: number }>();
  // by `countKey`: the slot that the chain takes next after its final block, as nodes agreed last
  readonly counts = new Map<string, string>();
  // by `countKey`: the account's beginning, as nodes agreed with the newest count
  readonly began = new Map<string, AccountBeginning>();
  readonly orders = new RecoveryOrderCollector();
  readonly sightings = new KnownSightings(); // what the gateway's nodes show, by its own signature

  constructor(runId: string, startedAt: number) {
    this.runId = runId;
    this.startedAt = startedAt;
  }
}

/** Sends an answer once everything it states is on disk. */
export type Reply<A> = (answer: ({ readonly ok: true } & A) | Refusal | AgentError) => void;

/** The withdrawal after an act, or the reason why the act did nothing. */
export type ActResult = { readonly ok: true; readonly withdrawal: Withdrawal } | Refusal;

/** The withdrawals that an envelope touched, by transactionId, or the reason why it did nothing. */
export type AdmissionResult = { readonly ok: true; readonly touched: readonly string[] } | Refusal;

/**
 * The context of one request: the state, the run, ledger time, the hot wallets, and the way to
 * add records. `commit` numbers and applies records at once; an answer waits until they are on
 * disk.
 */
export interface RequestContext {
  readonly core: Core;
  readonly run: SignerRun;
  readonly nowMs: number; // ledger time, read again at each access: never before the newest record
  readonly localMs: number; // the local clock, only for the comparison with the gateway's clock
  readonly monotonicMs: number;
  /** Returns the hot wallet's address on a network. */
  accountOn(network: string): string;
  /** Returns the code of the disk's refusal to take new withdrawals; null without a refusal. */
  fullDisk(): Code | null;
  /** Returns the hash of any record; null beyond the head. */
  hashAt(seq: number): string | null;
  /** Begins a recovered ledger with this state; its first record is durable with the next flush. */
  open(state: CoreSnapshot, body: RecoveredBody): void;
  /** Adds records; `parsed` is the job of a REQUESTED among them. */
  commit(bodies: readonly RecordBody[], parsed?: Job): readonly LedgerRecord[];
}

/** The clocks that are compared, and the times in the run with which they are. */
type Clocks = Pick<RequestContext, "run" | "localMs" | "monotonicMs">;

/** Returns why nothing may be signed, released or decided now; null if it may. */
export function refuseIfGateClosed(context: Clocks & Pick<RequestContext, "core">): Refusal | null {
  const { core, run } = context;
  if (core.locked !== null) return refuse("SIGNER_LOCKED", core.locked.code);
  if (run.isReadOnly) return refuse("LEDGER_READ_ONLY");
  if (run.orders.isWhole) return refuse("RECOVERY_OFFERED");
  return run.handshakeDone ? refuseIfClocksAheadOfBlocks(context) : refuse("SIGNER_NO_HANDSHAKE");
}

/** Returns why ledger time stands after a handshake: both clocks are far ahead of every chain. */
export function refuseIfClocksAheadOfBlocks({ run, localMs, monotonicMs }: Clocks): Refusal | null {
  const aheadMs = aheadOfBlocksMs(run, localMs, monotonicMs);
  return aheadMs === 0 ? null : refuse("CLOCK_AHEAD", `${aheadMs} ms ahead of the newest block`);
}

/** Keeps the courier's report on the outside. A block time older than before changes nothing. */
export function keepCourierStatus(
  { run, monotonicMs }: Pick<RequestContext, "run" | "monotonicMs">,
  courier: CourierStatus,
): void {
  run.courier = courier;
  for (const { headAtMs } of courier.chains)
    if (headAtMs > 0) run.chainLeadMs = Math.max(run.chainLeadMs, headAtMs - monotonicMs);
}

/** Returns the key under which an account's count is kept; the hot wallet's key is its network. */
export function accountCountKey(
  context: Pick<RequestContext, "accountOn">,
  network: string,
  account: string,
): string {
  return account === context.accountOn(network) ? network : `${network} ${account}`;
}

/**
 * As `refuseIfGateClosed`, and the disk must have room. The check stands before every new use of a
 * slot, so that open withdrawals can still be recorded to their end.
 */
export function refuseIfClosedOrFull(context: RequestContext): Refusal | null {
  return refuseIfGateClosed(context) ?? refuseIfDiskFull(context);
}

/** Returns the refusal of a disk that takes nothing new; null if it does. */
export function refuseIfDiskFull(context: Pick<RequestContext, "fullDisk">): Refusal | null {
  const code = context.fullDisk();
  return code === null ? null : refuse(code);
}

/**
 * Returns why no payment may be signed, in addition to `refuseIfGateClosed`: an operator paused the
 * signer. A cancel is an operator's own order and pays nothing.
 */
export function refuseIfPaused({ core }: Pick<RequestContext, "core">): Refusal | null {
  return core.paused === null ? null : refuse("SIGNER_PAUSED", core.paused.approver);
}

/** Keeps the newest verified time of the gateway. A time older than before changes nothing. */
export function keepGatewayTime({ run, monotonicMs }: RequestContext, at: number): void {
  run.gatewayLeadMs = Math.max(run.gatewayLeadMs, at - monotonicMs);
  if (at <= run.gatewayAt) return;
  run.gatewayAt = at;
  run.receivedAt = monotonicMs;
}

/** Stops signing permanently. The lock is recorded once and survives restarts. */
export function lockSigner(context: RequestContext, code: Code, detail: string): Refusal {
  if (context.core.locked === null) context.commit([{ kind: "LOCKED", code, detail }]);
  return refuse("SIGNER_LOCKED", context.core.locked?.code ?? code);
}

/**
 * Records an alarm for the operator. The same code is recorded once per run, so a repeated alarm
 * cannot fill the disk.
 */
export function raiseAlarm(context: RequestContext, code: Code, detail: string): void {
  if (context.run.alarms.has(code)) return;
  context.run.alarms.add(code);
  context.commit([{ kind: "ALARM", code, detail }]);
}
