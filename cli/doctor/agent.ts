/** The running agent by its own word: what `status` finds wrong, its ledger read back, isolation, version, limits against what was paid. */
import { type Finding, faultFound, finding } from "../../protocol/finding.ts";
import type { LimitView, SignerStatus, WithdrawalView } from "../../agent/socket/verbs.ts";
import { parseAmount } from "../../protocol/amount.ts";
import { type Code, codes } from "../../protocol/codes.ts";
import { AgentError } from "../../protocol/fault.ts";
import { version } from "../../protocol/version.ts";
import { problemsOf, type Seen } from "../status/problems.ts";

/** Whatever keeps `status` from "everything works". */
export function judgeStatus(status: SignerStatus, seen: Seen): readonly Finding[] {
  const problems = problemsOf(status, seen).map(({ code, what, hint, isWarning }) => {
    const known = (Object.hasOwn(codes, code) ? code : "SOCKET_FORMAT") as Code;
    return finding(known, isWarning ? "warning" : "error", what, hint === "" ? "wait: it is tried again by itself" : hint);
  });
  return [...problems, ...isolationFindings(status, seen), ...versionFindings(status, seen)];
}

/** Root is said by `status` itself. */
function isolationFindings({ isolation }: SignerStatus, { isUnderUnits }: Seen): readonly Finding[] {
  if (/^L0\b.*\broot\b/.test(isolation)) return [];
  if (/^L[2-9]\b/.test(isolation)) return [];
  if (isUnderUnits)
    return [
      finding(
        "DOCTOR_ISOLATION",
        "error",
        `the signer's unit gives it less than its own file says: ${isolation}`,
        "systemctl cat crypto-signer: look for drop-ins",
      ),
    ];
  return [finding("DOCTOR_ISOLATION", "warning", `the signer is not set apart as its units would do it: ${isolation}`)];
}

function versionFindings(status: SignerStatus, { isUnderUnits }: Seen): readonly Finding[] {
  if (status.version === version) return [];
  const hint = isUnderUnits ? "systemctl restart autowithdraw.target" : "stop crypto and start it again";
  return [
    finding("DOCTOR_VERSION_OTHER", "warning", `the signer that runs is ${status.version}, and this program is ${version}`, hint),
  ];
}

const dayMs = 86_400_000;
/** Fewer payments say nothing about what is usual. */
const paymentsMin = 10;
const factorMax = 100n;

/** `withdrawals` are the newest that the signer still lists; refused and expired ones were never paid. */
export function judgeLimits(limits: readonly LimitView[], withdrawals: readonly WithdrawalView[]): readonly Finding[] {
  return limits.flatMap((limit) => {
    const paid = withdrawals.filter((one) => one.currency === limit.currency && one.nonce !== "");
    const [first] = paid;
    if (first === undefined || paid.length < paymentsMin) return [];
    const largest = paid.reduce((most, one) => (BigInt(one.amountUnits) > most ? BigInt(one.amountUnits) : most), 0n);
    return [
      ...wide(limit, "maxPerWithdrawal", first, largest, "the largest payment"),
      ...wide(limit, "maxPerDay", first, largestDay(paid), "the most in 24 hours"),
    ];
  });
}

function largestDay(paid: readonly WithdrawalView[]): bigint {
  const byTime = [...paid].sort((a, b) => a.requestedAt - b.requestedAt);
  let most = 0n;
  let sum = 0n;
  let from = 0;
  for (const one of byTime) {
    sum += BigInt(one.amountUnits);
    for (let first = byTime[from]; first !== undefined && one.requestedAt - first.requestedAt > dayMs; first = byTime[from]) {
      sum -= BigInt(first.amountUnits);
      from += 1;
    }
    if (sum > most) most = sum;
  }
  return most;
}

function wide(
  limit: LimitView,
  key: "maxPerWithdrawal" | "maxPerDay",
  { decimal }: WithdrawalView,
  usedUnits: bigint,
  ofWhat: string,
): readonly Finding[] {
  const most = parseAmount(limit[key], decimal);
  if (!most.ok || usedUnits === 0n) return [];
  const factor = most.units / usedUnits;
  if (factor < factorMax) return [];
  const what = `${key} of ${limit.currency}, ${limit[key]}, is ${factor} times ${ofWhat} so far`;
  return [
    finding(
      "DOCTOR_LIMIT_WIDE",
      "warning",
      what,
      `lower policy.${limit.currency}.${key} in config.json: a thief may use all of it`,
    ),
  ];
}

/** A fault of asking: the signer away or silent is a finding; a missing right is something not looked at, and null. */
export function awayFinding(error: unknown): Finding | null {
  if (!(error instanceof AgentError)) throw error;
  return error.code === "COMMAND_RIGHT" ? null : faultFound(error);
}
