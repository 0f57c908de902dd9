/**
 * What a recovery makes of one open withdrawal: held, or quarantined when it has a token, with every version that is known anywhere.
 * Called by the book where a RECOVERED record is folded. Touches nothing.
 */
import { invariant } from "../../../protocol/fault.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { Imported, ImportedVersion, LedgerRecord } from "../../ledger/records.ts";
import type { LedgerLine } from "../../socket/verbs.ts";
import { lineOf } from "./history.ts";
import type { Version, Withdrawal } from "./withdrawal.ts";

/** A withdrawal that this ledger had forgotten, or settled in an earlier recovery and then with a history, as it begins again. */
export function beginImported(record: Imported, job: Job, settled: readonly LedgerLine[] | null): Withdrawal {
  return {
    ...{ transactionId: record.transactionId, job, requestedAt: job.issuedAt, state: "requested", code: "" },
    ...{ address: record.address, amountUnits: "", contract: "", confirmed: null, changedAt: record.at, revision: record.seq },
    ...{ account: "", nonce: "", versions: [], observed: null, observations: 0 },
    history: [...(settled ?? [])],
  };
}

/** Puts it where the record says. The token, once there, is never another. */
export function applyImported(withdrawal: Withdrawal, record: Imported): void {
  const { nonce, account, address } = record;
  invariant(withdrawal.nonce === "" || (withdrawal.nonce === nonce && withdrawal.account === account), "one token for life");
  withdrawal.state = nonce === "" ? "held" : "quarantined";
  withdrawal.code = "RECOVERY_HOLD";
  withdrawal.address = address;
  withdrawal.account = account;
  withdrawal.nonce = nonce;
  // Whoever said yes before the recovery did not know what it has brought to light.
  withdrawal.confirmed = null;
  withdrawal.changedAt = record.at;
  withdrawal.revision = record.seq;
  withdrawal.versions = record.versions.map((version, i) => versionOf(version, withdrawal.versions[i], i + 1, record.at));
  if (nonce === "") {
    // A fresh yes decides what is paid.
    withdrawal.amountUnits = "";
    withdrawal.contract = "";
  }
  withdrawal.history.push(lineOf(record));
}

/** Ends what the gateway does not call open any more. */
export function applySettled(withdrawal: Withdrawal, record: Extract<LedgerRecord, { kind: "SETTLED" }>): void {
  withdrawal.state = "settled";
  withdrawal.code = "RECOVERY_SETTLED";
  withdrawal.changedAt = record.at;
  withdrawal.revision = record.seq;
  withdrawal.history.push(lineOf(record));
}

function versionOf(
  { txHash, feeMax, own, out }: ImportedVersion,
  known: Version | undefined,
  version: number,
  at: number,
): Version {
  if (own) {
    invariant(known !== undefined && known.txHash === txHash, "an own version stands in this ledger");
    return { ...known, released: known.released || out };
  }
  // Its bytes are gone: the hash is left, to be recognised by, and what it may cost, so that it is not made again.
  return {
    ...{ version, intentSeq: 0, digest: "", unsigned: "", gasLimit: "0", maxFeePerGas: "0", maxPriorityFeePerGas: "0" },
    ...{ txHash, raw: "", signedAt: at, released: true, feeMax },
  };
}
