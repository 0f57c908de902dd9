/**
 * One withdrawal from request to final state: a pure state machine over ledger records. `step` is the machine, `apply` folds a
 * record into a withdrawal. Touches nothing; a record that does not fit is a bug, since whoever writes one asks the machine first.
 *
 * Rows are states, columns are steps, a dot is a step that must not happen there. From `released` on, the steps intent, signed and
 * released are those of a later version (same token, higher fee) and move nothing; included to broadcast is a reorganisation. Held to
 * held is a delay that is over, where policy finds another reason to hold.
 * A recovery (recovered.ts) moves what is open and unbound to held or settled, what is bound to quarantined; the approval of a
 * quarantined one leads back to intent, signed or released, as far as its versions had come. A settled one that the gateway asks for
 * again begins again: at requested by a job, then held for a person; at held or quarantined by a later recovery.
 *
 * state      approved  held  refused  expired  intent     signed     released   broadcast  included  paid  reverted  lost
 * requested  approved  held  refused  expired  .          .          .          .          .         .     .         .
 * held       approved  held  refused  expired  .          .          .          .          .         .     .         .
 * approved   .         .     refused  expired  intent     .          .          .          .         .     .         .
 * intent     .         .     .        .        .          signed     .          .          .         .     .         .
 * signed     .         .     .        .        .          .          released   .          .         .     .         .
 * released   .         .     .        .        released   released   released   broadcast  included  paid  reverted  lost
 * broadcast  .         .     .        .        broadcast  broadcast  broadcast  broadcast  included  paid  reverted  lost
 * included   .         .     .        .        .          included   included   broadcast  included  paid  reverted  lost
 * paid       .         .     .        .        .          .          .          .          .         .     .         .
 * reverted   .         .     .        .        .          .          .          .          .         .     .         .
 * lost       .         .     .        .        .          .          .          .          .         .     .         .
 * refused    .         .     .        .        .          .          .          .          .         .     .         .
 * expired    .         .     .        .        .          .          .          .          .         .     .         .
 * quarantined .        .     .        .        .          .          .          quarantined quarantined paid reverted lost
 * settled    .         .     .        .        .          .          .          .          .         .     .         .
 */
import { invariant } from "../../../protocol/fault.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { LedgerRecord } from "../../ledger/records.ts";
import type { LedgerLine, WithdrawalState } from "../../socket/verbs.ts";
import { canonicalAddress } from "./content.ts";
import { lineOf } from "./history.ts";

/**
 * `requested` lasts from a job's record to the decision in the same write; a crash between the two leaves it to the next start.
 * @public
 */
export type State = "requested" | WithdrawalState;

/** @public */
export type Step = Exclude<State, "requested" | "quarantined" | "settled">;

type Row = Readonly<Partial<Record<Step, State>>>;

const seen: Row = { broadcast: "broadcast", included: "included", paid: "paid", reverted: "reverted", lost: "lost" };

const machine: Readonly<Record<State, Row>> = {
  requested: { approved: "approved", held: "held", refused: "refused", expired: "expired" },
  held: { approved: "approved", held: "held", refused: "refused", expired: "expired" },
  approved: { refused: "refused", expired: "expired", intent: "intent" },
  intent: { signed: "signed" },
  signed: { released: "released" },
  released: { ...seen, intent: "released", signed: "released", released: "released" },
  broadcast: { ...seen, intent: "broadcast", signed: "broadcast", released: "broadcast" },
  included: { ...seen, signed: "included", released: "included" },
  paid: {},
  reverted: {},
  lost: {},
  refused: {},
  expired: {},
  quarantined: { broadcast: "quarantined", included: "quarantined", paid: "paid", reverted: "reverted", lost: "lost" },
  settled: {},
};

const ended: ReadonlySet<State> = new Set(["paid", "reverted", "lost", "refused", "expired", "settled"]);
const bound: ReadonlySet<State> = new Set(["intent", "signed", "released", "broadcast", "included", "quarantined"]);

/**
 * Every state in the order of the drawing.
 * @public
 */
export const states = Object.keys(machine) as readonly State[];

/**
 * The state after a step, or null when the step must not happen there.
 * @public
 */
export function step(state: State, by: Step): State | null {
  return machine[state][by] ?? null;
}

/**
 * No step leads out: nothing will ever happen to this withdrawal again, but that the gateway may ask anew for a settled one.
 * @public
 */
export function isFinal(state: State): boolean {
  return ended.has(state);
}

/**
 * The token is bound and its fate is open.
 * @public
 */
export function isUnfinished(state: State): boolean {
  return bound.has(state);
}

/**
 * One version: every one of a withdrawal carries the same nonce. Counters as decimal strings, bytes as 0x hex.
 * @public
 */
export interface Version {
  readonly version: number;
  readonly intentSeq: number;
  readonly digest: string;
  readonly unsigned: string;
  readonly gasLimit: string;
  readonly maxFeePerGas: string;
  readonly maxPriorityFeePerGas: string;
  readonly txHash: string; // "" until signed
  readonly raw: string; // "" until signed
  readonly signedAt: number;
  readonly released: boolean;
  readonly feeMax?: string; // wei: all that is known of the fees of one that a recovery took over
}

/**
 * The most that a version may cost in fees, in wei.
 * @public
 */
export function feeMaxOf({ gasLimit, maxFeePerGas, feeMax }: Version): bigint {
  return feeMax === undefined ? BigInt(gasLimit) * BigInt(maxFeePerGas) : BigInt(feeMax);
}

/**
 * The first yes of two.
 * @public
 */
export interface Confirmation {
  readonly approver: string;
  readonly digest: string; // of what they saw
  readonly address: string; // EIP-55
  readonly at: number;
}

/**
 * A withdrawal as the ledger tells it. Changed by `apply` alone.
 * @public
 */
export interface Withdrawal {
  readonly transactionId: string;
  readonly job: Job;
  readonly requestedAt: number;
  state: State;
  code: string; // why held, refused or expired
  address: string; // destination in force
  amountUnits: string; // "" until approved
  contract: string; // of the approval
  confirmed: Confirmation | null; // while it waits for the second yes
  changedAt: number;
  revision: number; // seq of the record that last decided; part of what an approval names
  account: string;
  nonce: string; // the token, "" before INTENT
  versions: Version[];
  observed: { readonly stage: string; readonly txHash: string; readonly block: number } | null;
  observations: number;
  history: LedgerLine[];
}

/**
 * A withdrawal as it begins. One that a recovery had settled comes with its history, as far as that is still known, and carries the
 * code that sends it to a person; null for any other.
 */
export function begin(
  record: Extract<LedgerRecord, { kind: "REQUESTED" }>,
  job: Job,
  settled: readonly LedgerLine[] | null,
): Withdrawal {
  return {
    transactionId: record.transactionId,
    job,
    requestedAt: record.at,
    state: "requested",
    code: settled === null ? "" : "RECOVERY_SETTLED",
    address: canonicalAddress(job.address),
    amountUnits: "",
    contract: "",
    confirmed: null,
    changedAt: record.at,
    revision: record.seq,
    account: "",
    nonce: "",
    versions: [],
    observed: null,
    observations: 0,
    history: [...(settled ?? []), lineOf(record)],
  };
}

/** Folds one record about this withdrawal. */
export function apply(withdrawal: Withdrawal, record: LedgerRecord): void {
  switch (record.kind) {
    case "APPROVED":
      if (withdrawal.state === "quarantined") resume(withdrawal, record.at);
      else move(withdrawal, "approved", record);
      withdrawal.code = "";
      withdrawal.address = record.address;
      withdrawal.amountUnits = record.amountUnits;
      withdrawal.contract = record.contract;
      withdrawal.confirmed = null;
      withdrawal.revision = record.seq;
      break;
    case "HELD":
      move(withdrawal, "held", record);
      withdrawal.code = record.code;
      withdrawal.confirmed = null;
      withdrawal.revision = record.seq;
      break;
    case "CONFIRMED":
      confirm(withdrawal, record);
      break;
    case "REFUSED":
      move(withdrawal, "refused", record);
      withdrawal.code = record.code;
      break;
    case "EXPIRED":
      move(withdrawal, "expired", record);
      withdrawal.code = "JOB_EXPIRED";
      break;
    case "INTENT":
      bind(withdrawal, record);
      break;
    case "SIGNED":
      move(withdrawal, "signed", record);
      change(withdrawal, record.version, (old) => ({ ...old, txHash: record.txHash, raw: record.raw, signedAt: record.at }));
      break;
    case "OBSERVED": {
      move(withdrawal, observedStep(record.stage, record.outcome), record);
      withdrawal.observed = { stage: record.stage, txHash: record.txHash, block: record.block };
      withdrawal.observations += 1;
      break;
    }
    default:
      invariant(false, `no withdrawal is moved by ${record.kind}`);
  }
  withdrawal.history.push(lineOf(record));
}

/** Folds one RELEASED record's word about one version. Apart from `apply`, since such a record names many withdrawals. */
export function applyRelease(withdrawal: Withdrawal, version: number, record: Extract<LedgerRecord, { kind: "RELEASED" }>): void {
  const signed = withdrawal.versions[version - 1];
  invariant(signed !== undefined && signed.txHash !== "" && !signed.released, "what is released was signed, and once");
  move(withdrawal, "released", record);
  change(withdrawal, version, (old) => ({ ...old, released: true }));
  withdrawal.history.push(lineOf(record));
}

/**
 * Whether a recovery holds it: then only a person ends that, and no time does.
 * @public
 */
export function isHeldByRecovery({ state, code }: Withdrawal): boolean {
  return state === "held" && (code === "RECOVERY_HOLD" || code === "RECOVERY_SETTLED");
}

/**
 * The step that an observation asks for. A final one names its outcome.
 * @public
 */
export function observedStep(stage: "broadcast" | "included" | "final", outcome: "" | "paid" | "reverted" | "lost"): Step {
  if (stage !== "final") return stage;
  invariant(outcome !== "", "a final observation has an outcome");
  return outcome;
}

/** The revision stays: the second yes is to what the first one saw. What a recovery holds goes on saying so. */
function confirm(withdrawal: Withdrawal, { approver, digest, address, at }: Extract<LedgerRecord, { kind: "CONFIRMED" }>): void {
  const { state } = withdrawal;
  invariant(state === "held" || state === "quarantined", "a first yes is to what waits for a person");
  withdrawal.confirmed = { approver, digest, address, at };
  withdrawal.changedAt = at;
  if (state === "held" && !isHeldByRecovery(withdrawal)) withdrawal.code = "POLICY_CONFIRMED";
}

/** A person said yes to a quarantined one: it goes on with the token it has, from as far as its versions had come. */
function resume(withdrawal: Withdrawal, at: number): void {
  const { versions } = withdrawal;
  const isOut = versions.some((version) => version.released);
  const isSigned = versions.some((version) => version.txHash !== "");
  withdrawal.state = isOut ? "released" : isSigned ? "signed" : "intent";
  // What was seen before must be told again, to move it there from here.
  withdrawal.observed = null;
  withdrawal.changedAt = at;
}

function move(withdrawal: Withdrawal, by: Step, record: LedgerRecord): void {
  const next = step(withdrawal.state, by);
  invariant(next !== null, `${withdrawal.transactionId} must not go from ${withdrawal.state} by ${by}`);
  withdrawal.state = next;
  withdrawal.changedAt = record.at;
}

function bind(withdrawal: Withdrawal, record: Extract<LedgerRecord, { kind: "INTENT" }>): void {
  invariant(record.version === withdrawal.versions.length + 1, "versions count up without gaps");
  const isBound = withdrawal.nonce !== "";
  invariant(!isBound || (withdrawal.nonce === record.nonce && withdrawal.account === record.account), "one token for life");
  invariant(record.address === withdrawal.address, "every version pays the approved destination");
  invariant(record.amountUnits === withdrawal.amountUnits, "every version pays the approved amount");
  move(withdrawal, "intent", record);
  withdrawal.account = record.account;
  withdrawal.nonce = record.nonce;
  const { version, digest, unsigned, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = record;
  withdrawal.versions.push({
    ...{ version, intentSeq: record.seq, digest, unsigned, gasLimit, maxFeePerGas, maxPriorityFeePerGas },
    ...{ txHash: "", raw: "", signedAt: 0, released: false },
  });
}

function change(withdrawal: Withdrawal, version: number, to: (old: Version) => Version): void {
  const old = withdrawal.versions[version - 1];
  invariant(old !== undefined && old.version === version, "a version is signed and released after its intent");
  withdrawal.versions[version - 1] = to(old);
}
