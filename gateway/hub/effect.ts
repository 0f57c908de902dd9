/**
 * Computes the effect of one ledger entry of an agent on the gateway's tables: a pure function of
 * the entry and the database's content. Nothing here reads or writes. An entry that contradicts the
 * database is never stored or acknowledged, and the agent's signer never releases bytes without an
 * acknowledgement. Sources: docs/protocol.md section 6; docs/architecture.md section 2 (bijection,
 * truth).
 */

import type { SingleCauseCode } from "../../base/causes.ts";
import { answerOfFirstGuard, type Guard } from "../../base/guard.ts";
import { formatTimestampUtc } from "../../base/timestamp.ts";
import { expiryExclusionOf, findFamily, isFirstSlotOnChain } from "../../chains/families.ts";
import type {
  DecisionEntry,
  Entry,
  ObservedEntry,
  PausedEntry,
  SignedEntry,
} from "../../protocol/messages.ts";
import { attemptsMax } from "../../protocol/payloads.ts";
import { ceilingAheadMax } from "../deposits/ceiling-steps.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import type { PaymentAssignedToWithdrawal } from "../store/assigned-payments.ts";
import { endedSlotUnreachableCode, slotUnreachableCode } from "../store/below-beginning.ts";
import type { JobRecordRow } from "../store/jobs.ts";
import type { AgentRow, SignatureRow } from "../store/rows.ts";
import { sweepUnreachableCode } from "../store/slots.ts";
import { coinEndedCode } from "../store/unknown-coins.ts";

/** The record that an entry is about. */
type RequestedRecord = Omit<JobRecordRow, "jobAgent" | "answeredAt">;

/**
 * The database's content around one entry, read inside the transaction that will store the effect.
 */
export interface EntryContext {
  readonly agent: Pick<AgentRow, "id" | "accounts" | "nextDepositIndex">;
  readonly row: RequestedRecord | null; // null: no such transaction
  readonly jobAgent: string | null; // the agent that has the withdrawal's job
  readonly isSigned: boolean; // this withdrawal has a signed attempt; not read for a yes to an open one
  readonly slot: string | null; // the slot of this withdrawal
  readonly known: SignatureRow | null; // the attempt that a signed entry names
  readonly pin: string; // the coin that the withdrawal's attempts spend; "" before the first
  readonly slotOwner: string | null; // the withdrawal that holds a signed entry's slot
  readonly hashOwner: string | null; // the other withdrawal of the same account that has a signed entry's txHash
  readonly assigned: PaymentAssignedToWithdrawal | null; // the transaction that paid it, as an operator says
  readonly isCoinGone: boolean; // no node has shown its pin for a day of chain time; read for an end
  readonly isVoid: boolean; // it was signed, and every attempt except the named one is void
  readonly nowMs: number; // this gateway's clock
  /**
   * True if the agent accepted the handshake of this connection, so this database is complete.
   * Otherwise the agent may be resending entries that a database restored from a backup has
   * forgotten.
   */
  readonly isHandshakeDone: boolean;
}

/** Columns of the withdrawal's row that change. */
export interface WithdrawalRowChange {
  readonly status?: 0 | 2;
  readonly stage?: string;
  readonly code?: string;
  readonly receiver?: string;
}

export type EntryEffect =
  | { readonly kind: "none" }
  // The job is answered; the first answer wakes a waiting request.
  | { readonly kind: "answer"; readonly change: WithdrawalRowChange }
  | {
      readonly kind: "sign";
      readonly change: WithdrawalRowChange;
      readonly newAttempt: boolean;
      readonly newSlot: boolean;
    }
  | { readonly kind: "advance"; readonly change: WithdrawalRowChange }
  /**
   * The agent will sign nothing for the withdrawal, and an operator has said which transaction paid
   * it: it is Completed by that transaction.
   */
  | { readonly kind: "paid"; readonly by: PaymentAssignedToWithdrawal }
  /**
   * The agent reports the end. The end counts after this database holds that all attempts are void,
   * that the chain cannot reach the slot, that no node shows the pin, or that the account began
   * above the slot.
   */
  | { readonly kind: "expire"; readonly code: string }
  | { readonly kind: "alarm"; readonly code: string; readonly locked: boolean }
  /**
   * The agent's operator stopped new signatures, or allows them again. Orders are accepted as
   * before and wait.
   */
  | { readonly kind: "pause"; readonly pausedAt: number | null }
  /**
   * The same for first attempts on one network; its ledger knows these foreign transactions. With
   * `currency`, for first attempts in it.
   */
  | {
      readonly kind: "stop";
      readonly network: string;
      readonly currency: string; // "" for all of the network
      readonly at: number | null;
      readonly txHashes: readonly string[];
    }
  /** The agent's ledger holds a ceiling for the deposit addresses that may have left. */
  | { readonly kind: "ceiling"; readonly ceiling: number }
  /** A job that this database may have lost comes back, under the gateway's own signature. */
  | { readonly kind: "learn" }
  /**
   * The entry refers to something that a complete database would hold, so this database was
   * restored from a backup.
   */
  | { readonly kind: "behind"; readonly detail: string }
  /** Agent and database cannot both be right. */
  | { readonly kind: "contradiction"; readonly code: SingleCauseCode; readonly detail: string };

const unsignedStages: ReadonlySet<string> = new Set([
  "",
  "awaiting_approval",
  "awaiting_operator",
  "queued",
  "offered",
]);

/**
 * @returns the effect of `entry` on the database's content; the same input always gives the same
 * effect.
 */
export function entryEffectOf(entry: Entry, around: EntryContext): EntryEffect {
  switch (entry.kind) {
    case "adopted":
      return { kind: "none" };
    case "alarm":
      return { kind: "alarm", code: entry.code, locked: entry.locked };
    case "paused":
      return pauseEffect(entry);
    case "ceiling":
      if (entry.ceiling > around.agent.nextDepositIndex + ceilingAheadMax)
        return contradiction(
          `record ${entry.seq} holds addresses up to ${entry.ceiling}, more than anybody asked for`,
        );
      return { kind: "ceiling", ceiling: entry.ceiling };
    case "recovered":
      return contradiction(`record ${entry.seq} opens a ledger that is not awaited here`);
    case "asked":
      return { kind: "learn" };
    case "decision":
    case "signed":
    case "observed": {
      const { row } = around;
      if (row === null)
        return { kind: "behind", detail: `it holds no transaction ${entry.transactionId}` };
      if (
        row.operation === "deposit" ||
        (around.jobAgent !== null && around.jobAgent !== around.agent.id)
      ) {
        return contradiction(`transaction ${row.id} was never asked of this agent`);
      }
      if (around.jobAgent === null)
        return { kind: "behind", detail: `it holds no job for transaction ${entry.transactionId}` };
      if (entry.kind === "decision") return decisionEffect(entry, row, around);
      return entry.kind === "signed"
        ? signedEffect(entry, row, around)
        : observedEffect(entry, row);
    }
  }
}

function pauseEffect({
  paused,
  at,
  network,
  currency = "",
  txHashes = [],
}: PausedEntry): EntryEffect {
  const since = paused ? at : null;
  if (network === undefined) return { kind: "pause", pausedAt: since };
  return { kind: "stop", network, currency, at: since, txHashes };
}

function decisionEffect(
  entry: DecisionEntry,
  row: RequestedRecord,
  around: EntryContext,
): EntryEffect {
  const { isSigned } = around;
  const isOver = entry.decision === "expired" && waits(row.network);
  if (entry.address !== "" && row.receiver !== "" && entry.address !== row.receiver) {
    return contradiction(
      `transaction ${row.id} was decided for ${entry.address}, asked for ${row.receiver}`,
    );
  }
  // Text of an agent becomes the receiver that a page, a list and a question to a node name.
  if (row.receiver === "" && entry.address !== "" && !isAddress(entry.address, row.network)) {
    return contradiction(
      `transaction ${row.id} was decided for ${entry.address}, which is no address of ${row.network}`,
    );
  }
  const address = row.receiver === "" && entry.address !== "" ? { receiver: entry.address } : {};
  if (entry.decision === "approved" || entry.decision === "held") {
    if (row.status !== 0 && !isSigned) {
      return contradiction(
        `transaction ${row.id} was ${entry.decision} after it had ended unsigned`,
      );
    }
    const stage = entry.decision === "approved" ? "queued" : "awaiting_approval";
    const moves = row.status === 0 && unsignedStages.has(row.stage);
    return { kind: "answer", change: moves ? { stage, code: entry.code, ...address } : address };
  }
  const isSwept = row.operation === "sweep" && !waits(row.network) && !isPinned(row.network);
  if (isSigned && entry.decision === "expired" && isSwept) return unreached(row);
  if (isSigned && entry.decision === "expired" && isPinned(row.network))
    return uncoined(row, around);
  if (
    isSigned &&
    entry.decision === "expired" &&
    entry.code === slotUnreachableCode &&
    isFirstSlotOnChain(row.network)
  )
    return below(row);
  if (isSigned && !isOver)
    return contradiction(`transaction ${row.id} was ${entry.decision} after it had been signed`);
  if (isSigned && row.status === 1 && around.assigned === null)
    return contradiction(`transaction ${row.id} was expired after the chain had paid it`);
  if (isSigned && !around.isVoid) {
    if (row.status === 0 && !around.isHandshakeDone)
      return { kind: "expire", code: entry.code || entry.decision };
    return contradiction(`transaction ${row.id} was expired while an attempt of it is not void`);
  }
  if (row.status !== 0) return { kind: "answer", change: {} };
  if (around.assigned !== null) return { kind: "paid", by: around.assigned };
  return {
    kind: "answer",
    change: { status: 2, stage: entry.decision, code: entry.code || entry.decision },
  };
}

/**
 * An operator at the agent ended a sweep whose slot the chain cannot reach. The end counts after
 * this gateway's own nodes have confirmed it. If the chain decided meanwhile, its result stays.
 */
function unreached({ status, stage, code }: RequestedRecord): EntryEffect {
  if (status !== 0) return { kind: "answer", change: {} };
  if (stage !== "stuck" || code !== sweepUnreachableCode)
    return { kind: "expire", code: sweepUnreachableCode };
  return { kind: "answer", change: { status: 2, stage: "expired", code: sweepUnreachableCode } };
}

/**
 * An operator at the agent ended a payment or sweep whose pin no node shows. The end counts after
 * this gateway's own nodes have missed it for a day. If the chain decided meanwhile, that stays.
 */
function uncoined({ status }: RequestedRecord, { isCoinGone }: EntryContext): EntryEffect {
  if (status !== 0) return { kind: "answer", change: {} };
  if (!isCoinGone) return { kind: "expire", code: coinEndedCode };
  return { kind: "answer", change: { status: 2, stage: "expired", code: coinEndedCode } };
}

/**
 * An operator at the agent ended a payment with a slot below its account's first. The end counts
 * after this gateway's own nodes have shown that. If the chain decided meanwhile, that stays.
 */
function below({ status, stage, code }: RequestedRecord): EntryEffect {
  if (status !== 0) return { kind: "answer", change: {} };
  if (stage !== "stuck" || code !== slotUnreachableCode)
    return { kind: "expire", code: endedSlotUnreachableCode };
  return {
    kind: "answer",
    change: { status: 2, stage: "expired", code: endedSlotUnreachableCode },
  };
}

/** A signed entry, the row of its withdrawal, and what the database knows around it. */
interface SignedContext {
  readonly entry: SignedEntry;
  readonly row: RequestedRecord;
  readonly around: EntryContext;
}

/** The reasons why a signed entry contradicts the database, in order. */
export const signedGuards: readonly Guard<SignedContext, EntryEffect>[] = [
  [
    "ended unsigned before",
    ({ row, around }) => row.status !== 0 && !around.isSigned,
    ({ row }) => contradiction(`transaction ${row.id} was signed after it had ended unsigned`),
  ],
  [
    "no destination",
    ({ row }) => row.receiver === "",
    ({ row }) => contradiction(`transaction ${row.id} was signed without a destination`),
  ],
  [
    // Each slot and hash has only one spelling, because another spelling would pass the unique
    // constraints.
    "another spelling of slot or txHash",
    ({ entry }) => !isSpelled(entry),
    ({ row }) =>
      contradiction(
        `transaction ${row.id} was signed with a slot or txHash that its chain does not have`,
      ),
  ],
  [
    "another network or account",
    ({ entry, row, around }) =>
      entry.network !== row.network || entry.account !== senderOf(row, around.agent, entry.network),
    ({ entry, row }) =>
      contradiction(`transaction ${row.id} was signed for ${entry.account} on ${entry.network}`),
  ],
  [
    "after the last attempt",
    ({ entry }) => entry.attempt > attemptsMax,
    ({ entry, row }) =>
      contradiction(
        `transaction ${row.id} was signed in attempt ${entry.attempt}, and ${attemptsMax} is the last`,
      ),
  ],
  [
    "another withdrawal's slot",
    ({ row, around }) => around.slotOwner !== null && around.slotOwner !== row.id,
    ({ entry, row, around }) =>
      slotReused(
        `slot ${entry.slot} of ${entry.account} on ${entry.network} belongs to ${around.slotOwner}, not ${row.id}`,
      ),
  ],
  [
    "a second slot",
    ({ entry, around }) => around.slot !== null && around.slot !== entry.slot,
    ({ entry, row, around }) =>
      slotReused(
        `transaction ${row.id} holds slot ${around.slot} and was signed with ${entry.slot}`,
      ),
  ],
  [
    "an attempt signed twice",
    ({ entry, around: { known } }) => known !== null && known.txHash !== entry.txHash,
    ({ entry, row, around }) =>
      contradiction(
        `${versionWords(entry, row)} was signed as ${around.known?.txHash} and as ${entry.txHash}`,
      ),
  ],
  [
    "another end of validity",
    ({ entry: { network, validUntilMs = 0 }, around: { known } }) =>
      waits(network) !== validUntilMs > 0 ||
      (known !== null && known.validUntilMs !== validUntilMs),
    ({ entry, row }) =>
      contradiction(`${versionWords(entry, row)} was signed ${untilWords(entry)}`),
  ],
  [
    "an end that no attempt has",
    ({ entry, row, around }) => !isEnd(entry, row, around),
    ({ entry, row }) =>
      contradiction(
        `${versionWords(entry, row)} was signed ${untilWords(entry)}, which no signer does`,
      ),
  ],
  [
    // The pin becomes a question to nodes.
    "another spelling of the pin",
    ({ entry: { network, pin } }) => pin !== undefined && findFamily(network)?.readPin(pin) !== pin,
    ({ entry, row }) =>
      contradiction(
        `${versionWords(entry, row)} was signed with a pin that its chain does not have`,
      ),
  ],
  [
    "another pin",
    ({ entry: { network, pin = "" }, around }) =>
      isPinned(network) !== (pin !== "") || (around.pin !== "" && around.pin !== pin),
    ({ entry, row }) =>
      contradiction(
        `${versionWords(entry, row)} was signed with the coin ${entry.pin ?? "none"} in front`,
      ),
  ],
  [
    "a cancel where there is none",
    ({ entry }) => entry.cancel === true && waits(entry.network),
    ({ entry, row }) =>
      contradiction(`${versionWords(entry, row)} is a cancel, and its chain has none`),
  ],
  [
    "another withdrawal's txHash",
    ({ around }) => around.known === null && around.hashOwner !== null,
    ({ entry, row, around }) =>
      contradiction(
        `${entry.txHash} of transaction ${row.id} is known as an attempt of ${around.hashOwner}`,
      ),
  ],
  [
    // Only one attempt at a time, because only expiry keeps the earlier attempt out of a block.
    "another attempt is not void",
    ({ entry, row, around }) =>
      around.known === null &&
      waits(entry.network) &&
      !(row.status === 0 && (!around.isSigned || around.isVoid)) &&
      around.isHandshakeDone,
    ({ entry, row }) =>
      contradiction(`${versionWords(entry, row)} was signed while another is not void`),
  ],
];

function signedEffect(entry: SignedEntry, row: RequestedRecord, around: EntryContext): EntryEffect {
  const contradicts = answerOfFirstGuard(signedGuards, { entry, row, around });
  if (contradicts !== null) return contradicts;
  const moves = row.status === 0 && unsignedStages.has(row.stage);
  const change = moves ? { stage: "signed" } : {};
  return {
    kind: "sign",
    change,
    newAttempt: around.known === null,
    newSlot: around.slotOwner === null,
  };
}

function isSpelled({ network, slot, txHash }: SignedEntry): boolean {
  const family = findFamily(network);
  return family !== undefined && family.slots.read(slot) !== null && family.isTxHash(txHash);
}

function isAddress(text: string, network: string): boolean {
  const parsed = findFamily(network)?.parseAddress(text, network);
  return parsed?.ok === true && parsed.address === text;
}

/**
 * True for an end that a signer can have given the attempt, and where there is none. A gateway
 * whose own clock was set back by years would call each honest end a contradiction, so the later of
 * its clock and the signer's counts; and an order that it made by a clock which was ahead is not
 * made after now. A signer that lies about its own time harms its own merchant alone, as one that
 * never answers does.
 */
function isEnd(
  { network, validUntilMs, at }: SignedEntry,
  { createdAt }: RequestedRecord,
  { nowMs }: EntryContext,
): boolean {
  const exclusion = expiryExclusionOf(network);
  const [madeAtMs, latestMs] = [Math.min(createdAt, nowMs), Math.max(nowMs, at)];
  return (
    exclusion === null ||
    validUntilMs === undefined ||
    exclusion.readEnd(validUntilMs, madeAtMs, latestMs) !== null
  );
}

/** Returns the account that pays; a sweep is paid by the address that it empties. */
function senderOf(
  row: RequestedRecord,
  agent: EntryContext["agent"],
  network: string,
): string | null | undefined {
  return row.operation === "sweep" ? row.payer : hotWalletAddressOn(agent, network);
}

function versionWords({ attempt }: SignedEntry, { id }: RequestedRecord): string {
  return `attempt ${attempt} of transaction ${id}`;
}

function untilWords({ validUntilMs = 0 }: SignedEntry): string {
  return validUntilMs === 0 ? "without an end" : `until ${formatTimestampUtc(validUntilMs)}`;
}

/**
 * Moves a withdrawal to broadcast at most. Only the gateway's own watcher decides that a withdrawal
 * is included, paid, conflicted or void; an agent's statement does not.
 */
function observedEffect(entry: ObservedEntry, row: RequestedRecord): EntryEffect {
  const moves = entry.stage === "broadcast" && row.status === 0 && row.stage === "signed";
  return moves ? { kind: "advance", change: { stage: "broadcast" } } : { kind: "none" };
}

/** True if only expiry prevents a second payment on the network. */
function waits(network: string): boolean {
  return findFamily(network)?.exclusion.kind === "expiry";
}

/** True if all attempts of a withdrawal spend one coin on the network. */
function isPinned(network: string): boolean {
  return findFamily(network)?.exclusion.kind === "pin";
}

function contradiction(detail: string): EntryEffect {
  return { kind: "contradiction", code: "HUB_CONTRADICTION", detail };
}

function slotReused(detail: string): EntryEffect {
  return { kind: "contradiction", code: "HUB_SLOT_REUSED", detail };
}
