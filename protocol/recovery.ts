/**
 * The recovery offer: the state of one agent in the gateway's database, sent to one run of its
 * signer in several parts. The order changes nothing by itself: the signer keeps it until the
 * agent's own operator accepts it. docs/protocol.md section 8.
 */

import { parseJson } from "../base/json.ts";
import {
  integer,
  list,
  nullable,
  object,
  oneOf,
  type Reader,
  shapeFault,
  string,
} from "../base/shape.ts";
import * as fields from "./fields.ts";
import { domainHash } from "./identity.ts";
import type { AgentLedgerHead } from "./messages.ts";
import { attemptsMax, jobTextBytesMax } from "./payloads.ts";

/** Most parts of one order. */
export const recoveryPartsMax = 1024;

/** Most withdrawals in one order, all parts together. */
export const recoveryWithdrawalsMax = 10_000;

/** Most outgoing transactions that one order names, the newest ones. */
export const recoveryOutgoingMax = 64;

const accountsMax = 64;
const spentMax = 128;
const perPartMax = 1024;

/** The first slot of an account that the database has not assigned to a withdrawal. */
export interface RecoveryAccount {
  readonly network: string;
  readonly account: string;
  readonly next: string; // EVM: the highest nonce of any withdrawal, plus one
}

/**
 * Sums of the final withdrawals of the last 24 hours. With them a day that the ledger lost still
 * counts against its limits.
 */
export interface RecoverySpentSums {
  readonly currency: string; // the currency, or the limit group of its sweeps or top-ups as `limitGroupOf` names it
  readonly units: string;
  readonly feesUnits: string; // the most they can have cost
}

/**
 * One withdrawal with at least one signature, and all transactions that were ever signed for it.
 */
export interface RecoveryWithdrawal {
  readonly job: string; // the exact text of a Job
  readonly signature: string; // the gateway's signature of that text
  readonly address: string; // destination in force
  readonly account: string; // the sender
  readonly slot: string;
  readonly attempts: readonly RecoveryAttempt[]; // attempt 1 first
}

/** A signed attempt. The optional fields are the same as in its signed entry. */
export interface RecoveryAttempt {
  readonly txHash: string;
  readonly feeMax: string;
  readonly validUntilMs?: number;
  readonly pin?: string;
  readonly cancel?: true;
}

/**
 * A final transaction of the account that no withdrawal of the database explains, as the gateway's
 * watcher read it. It may be a payment that both sides have forgotten.
 */
export interface UnexplainedRecoveryTransaction {
  readonly network: string;
  readonly account: string;
  readonly slot: string; // its slot; "" if the chain has none
  readonly txHash: string;
  readonly block: number;
  readonly receiver: string;
  readonly tag?: string; // left out for none
  readonly contract: string; // "" native
  readonly units: string;
}

/**
 * One part of an order. All parts are equal except for `part`, `withdrawals`, `ended` and `at`;
 * accounts, spent and outgoing transactions stand in part 1.
 */
export interface RecoveryPart {
  readonly agent: string;
  readonly wallet: string;
  readonly ledgerEpoch: number; // the new one
  readonly answers: string; // Hello.nonce
  // name of the recovery and of the complete contents: the same order sent again has the same name
  readonly order: string;
  readonly part: number; // 1 … parts
  readonly parts: number;
  readonly held: AgentLedgerHead | null; // newest head the gateway held in the epoch before
  // the job after which the jobs go on
  readonly jobs: { readonly sequence: number; readonly hash: string };
  /** No deposit address at or above this index has left; left out before the first. */
  readonly ceiling?: number;
  readonly accounts: readonly RecoveryAccount[];
  readonly spent: readonly RecoverySpentSums[];
  readonly withdrawals: readonly RecoveryWithdrawal[];
  /**
   * Final withdrawals with a slot among those that the hello called open. A ledger that was
   * restored from a backup may not know the hash that used the slot.
   */
  readonly ended: readonly RecoveryWithdrawal[];
  readonly outgoing: readonly UnexplainedRecoveryTransaction[]; // newest first
  readonly at: number;
}

const attempt: Reader<RecoveryAttempt> = object(
  { txHash: fields.txHash, feeMax: fields.units },
  { validUntilMs: fields.ordinal, pin: fields.pin, cancel: oneOf(true) },
);

const withdrawal: Reader<RecoveryWithdrawal> = object({
  job: string({ min: 2, max: jobTextBytesMax }),
  signature: fields.signature,
  address: fields.destination,
  account: fields.account,
  slot: fields.nonceField,
  attempts: list(attempt, attemptsMax),
});

const outgoingTx: Reader<UnexplainedRecoveryTransaction> = object(
  {
    network: fields.network,
    account: fields.account,
    slot: fields.optionalNonceField,
    txHash: fields.txHash,
    block: fields.count,
    receiver: fields.destination,
    contract: fields.destination,
    units: fields.units,
  },
  { tag: fields.nonEmptyTag },
);

const recovery: Reader<RecoveryPart> = object(
  {
    agent: fields.agent,
    wallet: fields.wallet,
    ledgerEpoch: fields.ledgerEpoch,
    answers: fields.nonce,
    order: fields.hash,
    part: integer({ min: 1, max: recoveryPartsMax }),
    parts: integer({ min: 1, max: recoveryPartsMax }),
    held: nullable(fields.head),
    jobs: object({ sequence: fields.count, hash: fields.hash }),
    accounts: list(
      object({ network: fields.network, account: fields.account, next: fields.nonceField }),
      accountsMax,
    ),
    spent: list(
      object({ currency: fields.limitGroup, units: fields.units, feesUnits: fields.units }),
      spentMax,
    ),
    withdrawals: list(withdrawal, perPartMax),
    ended: list(withdrawal, perPartMax),
    outgoing: list(outgoingTx, recoveryOutgoingMax),
    at: fields.time,
  },
  { ceiling: fields.ceiling },
);

/**
 * Parses one part. The jobs inside stay texts, as in a list of jobs.
 * @throws AgentError JSON_* (JSON_SHAPE for JSON that is not this payload)
 */
export function parseRecoveryPart(payload: Uint8Array | string): RecoveryPart {
  const value = recovery(parseJson(payload), "recovery");
  if (value.part > value.parts)
    throw shapeFault("recovery.part", "must not be above recovery.parts");
  if ((value.jobs.sequence === 0) !== /^0+$/.test(value.jobs.hash)) {
    throw shapeFault("recovery.jobs.hash", "must be zeros exactly before the first job");
  }
  if (value.part > 1 && value.accounts.length + value.spent.length + value.outgoing.length > 0) {
    throw shapeFault(
      "recovery.accounts",
      "must stand in part 1 only, like recovery.spent and recovery.outgoing",
    );
  }
  for (const [list, items] of [
    ["withdrawals", value.withdrawals] as const,
    ["ended", value.ended] as const,
  ]) {
    const bare = items.findIndex(({ attempts }) => attempts.length === 0);
    if (bare >= 0) throw shapeFault(`recovery.${list}[${bare}].attempts`, "must not be empty");
  }
  return value;
}

/** The mark of a recovery as hex: half of an order's name. */
export const recoveryMarkBytes = 16;

/**
 * The name of an order: the mark that the recovery got at its start, then hash("recovery", the
 * contents as JSON) without its first characters, as many as the mark has.
 */
export function recoveryNameOf(mark: string, contents: object): string {
  return mark + domainHash("recovery", Buffer.from(JSON.stringify(contents))).slice(mark.length);
}
