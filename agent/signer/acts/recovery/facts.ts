/**
 * Facts of the ledger that the gateway may have lost with its database, as it will be told them again: of open withdrawals from what
 * is known of them now, of ended ones from their records. Reads the ledger through the caller and changes nothing.
 */
import { invariant } from "../../../../protocol/fault.ts";
import type { Job } from "../../../../protocol/messages.ts";
import { parseJob } from "../../../../protocol/payloads.ts";
import type { LedgerRecord } from "../../../ledger/records.ts";
import type { Fact } from "../../state/entries.ts";
import { feeMaxOf, type Version, type Withdrawal } from "../../state/withdrawal.ts";

type Intent = Extract<LedgerRecord, { kind: "INTENT" }>;
type Signed = Extract<LedgerRecord, { kind: "SIGNED" }>;

/** Durable records `from` to `to`, both included, at most some thousands. */
export type ReadRecords = (from: number, to: number) => readonly LedgerRecord[];

/** Records read at a time. */
const chunk = 2_000;

/** What the gateway asked for. */
export function askedFact(job: Job): Fact {
  const { transactionId, mode, network, orderId, currency, amount, address, tag, issuedAt, expiresAt } = job;
  return { kind: "asked", transactionId, mode, network, orderId, currency, amount, address, tag, issuedAt, expiresAt };
}

/** The versions of an open withdrawal that are named, with the yes that gave them their destination. */
export function signedFacts(withdrawal: Withdrawal, versions: readonly Version[]): readonly Fact[] {
  const { transactionId, job, account, nonce, address } = withdrawal;
  if (versions.length === 0) return [];
  const facts: Fact[] = [{ kind: "decision", transactionId, decision: "approved", code: "", address }];
  for (const one of versions) {
    const { version, txHash } = one;
    const feeMax = feeMaxOf(one).toString();
    facts.push({ kind: "signed", transactionId, version, network: job.network, account, token: nonce, txHash, feeMax });
  }
  return facts;
}

/**
 * Everything recorded after `start` up to `end` about withdrawals that `isEnded` says are final, in ledger order. Of one that was settled
 * and asked for again only what came then: nothing of before was carried out, and another yes may have stood there.
 */
export function endedFacts(read: ReadRecords, start: number, end: number, isEnded: (transactionId: string) => boolean): Fact[] {
  let facts: Fact[] = [];
  const intents = new Map<string, Intent>();
  const begun = new Set<string>();
  for (let from = start + 1; from <= end; from += chunk) {
    for (const record of read(from, Math.min(end, from + chunk - 1))) {
      const begins = record.kind === "REQUESTED" || (record.kind === "IMPORTED" && record.job !== "");
      if (begins && begun.has(record.transactionId)) facts = facts.filter((fact) => !isAbout(fact, record.transactionId));
      if (begins) begun.add(record.transactionId);
      if (record.kind === "INTENT") intents.set(keyOf(record), record);
      if (record.kind === "RESTATED") {
        const fact = JSON.parse(record.fact) as Fact;
        if ("transactionId" in fact && isEnded(fact.transactionId)) facts.push(fact);
      } else if ("transactionId" in record && isEnded(record.transactionId)) {
        facts.push(...factsOf(record, (signed) => intents.get(keyOf(signed)) ?? findIntent(read, signed)));
      }
    }
  }
  return withoutVoidYes(facts);
}

/** A yes that came to nothing says nothing; to a gateway that knows the end already it would be one after the end. */
function withoutVoidYes(facts: readonly Fact[]): Fact[] {
  const isEnd = (fact: Fact): boolean => fact.kind === "decision" && (fact.decision === "refused" || fact.decision === "expired");
  const unsigned = new Set(facts.filter(isEnd).map((fact) => ("transactionId" in fact ? fact.transactionId : "")));
  return facts.filter((fact) => fact.kind !== "decision" || isEnd(fact) || !unsigned.has(fact.transactionId));
}

function factsOf(record: LedgerRecord, intentOf: (signed: Signed) => Intent): readonly Fact[] {
  switch (record.kind) {
    case "REQUESTED":
      return [askedFact(parseJob(record.job))];
    case "APPROVED": {
      const { transactionId, address } = record;
      return [{ kind: "decision", transactionId, decision: "approved", code: "", address }];
    }
    case "REFUSED":
      return [{ kind: "decision", transactionId: record.transactionId, decision: "refused", code: record.code, address: "" }];
    case "EXPIRED":
      return [{ kind: "decision", transactionId: record.transactionId, decision: "expired", code: "JOB_EXPIRED", address: "" }];
    case "SIGNED": {
      const { network, account, nonce, gasLimit, maxFeePerGas } = intentOf(record);
      const feeMax = (BigInt(gasLimit) * BigInt(maxFeePerGas)).toString();
      const { transactionId, version, txHash } = record;
      return [{ kind: "signed", transactionId, version, network, account, token: nonce, txHash, feeMax }];
    }
    case "OBSERVED": {
      const { transactionId, stage, outcome, txHash } = record;
      return stage === "final" ? [{ kind: "observed", transactionId, stage, outcome, txHash }] : [];
    }
    case "IMPORTED":
      return importedFacts(record);
    default:
      return [];
  }
}

/** What an earlier recovery took over from the gateway, which has lost it since. */
function importedFacts(record: Extract<LedgerRecord, { kind: "IMPORTED" }>): readonly Fact[] {
  const { transactionId, job, network, address, account, nonce, versions } = record;
  const facts: Fact[] = job === "" ? [] : [askedFact(parseJob(job))];
  if (nonce !== "") facts.push({ kind: "decision", transactionId, decision: "approved", code: "", address });
  for (const [index, { txHash, feeMax, own }] of versions.entries()) {
    if (own) continue;
    facts.push({ kind: "signed", transactionId, version: index + 1, network, account, token: nonce, txHash, feeMax });
  }
  return facts;
}

/** The intent of a signature, when it stands before what was read: a crash may have come between the two. */
function findIntent(read: ReadRecords, { transactionId, version, seq }: Signed): Intent {
  for (let to = seq - 1; to >= 1; to -= chunk) {
    for (const record of read(Math.max(1, to - chunk + 1), to)) {
      const isIt = record.kind === "INTENT" && record.transactionId === transactionId && record.version === version;
      if (isIt) return record;
    }
  }
  invariant(false, "what is signed was intended");
}

function keyOf({ transactionId, version }: { readonly transactionId: string; readonly version: number }): string {
  return `${transactionId} ${version}`;
}

function isAbout(fact: Fact, transactionId: string): boolean {
  return "transactionId" in fact && fact.transactionId === transactionId;
}
