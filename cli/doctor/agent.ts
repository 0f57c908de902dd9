/**
 * Judges the running agent by its own answers: `status`, isolation, version, and limits against
 * past payments. Pure.
 */

import type { LimitView, OperatorView, SignerStatus } from "../../agent/socket/verbs.ts";
import { type Code, codes } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import { type Finding, faultFound, newFinding } from "../../base/finding.ts";
import { version } from "../../base/version.ts";
import { parseAmount } from "../../protocol/amount.ts";
import { problemsOf, type StatusContext } from "../status/problems.ts";

/** A finding for every problem of `status`, and for isolation and version. */
export function judgeStatus(status: SignerStatus, seen: StatusContext): readonly Finding[] {
  const problems = problemsOf(status, seen).map(({ code, what, hint, isWarning }) => {
    const known = (Object.hasOwn(codes, code) ? code : "SOCKET_FORMAT") as Code;
    return newFinding(
      known,
      isWarning ? "warning" : "error",
      what,
      hint === "" ? "wait: it is tried again by itself" : hint,
    );
  });
  return [...problems, ...isolationFindings(status, seen), ...versionFindings(status, seen)];
}

/** A signer that runs as root is a problem of `status` already, so it is no finding here. */
function isolationFindings(
  { isolation }: SignerStatus,
  { isUnderUnits }: StatusContext,
): readonly Finding[] {
  if (/^level 0:.*\broot\b/.test(isolation)) return [];
  if (/^level [2-9]\b/.test(isolation)) return [];
  if (isUnderUnits)
    return [
      newFinding(
        "DOCTOR_ISOLATION",
        "error",
        `the signer's unit gives it less than its own file says: ${isolation}`,
        "systemctl cat autowithdraw-signer: look for drop-ins",
      ),
    ];
  return [
    newFinding(
      "DOCTOR_ISOLATION",
      "warning",
      `the signer is not set apart as its units would do it: ${isolation}`,
    ),
  ];
}

function versionFindings(
  status: SignerStatus,
  { isUnderUnits }: StatusContext,
): readonly Finding[] {
  if (status.version === version) return [];
  const hint = isUnderUnits
    ? "systemctl restart autowithdraw.target"
    : "stop crypto and start it again";
  return [
    newFinding(
      "DOCTOR_VERSION_OTHER",
      "warning",
      `the signer that runs is ${status.version}, and this program is ${version}`,
      hint,
    ),
  ];
}

const dayMs = 86_400_000;
/** Fewer payments show no habit. */
const paymentsMin = 10;
/** A limit this many times the largest payment is wide. */
const factorMax = 100n;

/**
 * Finds limits far above all payments. `withdrawals`: the newest ones of the signer's list, in any
 * state.
 */
export function judgeLimits(
  limits: readonly LimitView[],
  withdrawals: readonly OperatorView[],
): readonly Finding[] {
  return limits.flatMap((limit) => {
    const paid = withdrawals.filter((one) => one.currency === limit.currency && one.slot !== "");
    const [first] = paid;
    if (first === undefined || paid.length < paymentsMin) return [];
    const largest = paid.reduce(
      (most, one) => (BigInt(one.amountUnits) > most ? BigInt(one.amountUnits) : most),
      0n,
    );
    return [
      ...wideFindings(limit, "maxPerWithdrawal", first, largest, "the largest payment"),
      ...wideFindings(limit, "maxPerDay", first, largestDay(paid), "the most in 24 hours"),
    ];
  });
}

/** The largest sum within 24 hours, in base units. */
function largestDay(paid: readonly OperatorView[]): bigint {
  const byTime = [...paid].sort((a, b) => a.requestedAt - b.requestedAt);
  let most = 0n;
  let sum = 0n;
  let from = 0;
  for (const one of byTime) {
    sum += BigInt(one.amountUnits);
    for (
      let first = byTime[from];
      first !== undefined && one.requestedAt - first.requestedAt > dayMs;
      first = byTime[from]
    ) {
      sum -= BigInt(first.amountUnits);
      from += 1;
    }
    if (sum > most) most = sum;
  }
  return most;
}

function wideFindings(
  limit: LimitView,
  key: "maxPerWithdrawal" | "maxPerDay",
  { decimal }: OperatorView,
  usedUnits: bigint,
  usedWords: string,
): readonly Finding[] {
  const most = parseAmount(limit[key], decimal);
  if (!most.ok || usedUnits === 0n) return [];
  const factor = most.units / usedUnits;
  if (factor < factorMax) return [];
  const what = `${key} of ${limit.currency}, ${limit[key]}, is ${factor} times ${usedWords} so far`;
  return [
    newFinding(
      "DOCTOR_LIMIT_WIDE",
      "warning",
      what,
      `lower policy.${limit.currency}.${key} in config.json: an attacker may use all of it`,
    ),
  ];
}

/**
 * The finding for a signer that is away or silent; null for a missing right, which leaves a part
 * unseen.
 */
export function awayFinding(error: unknown): Finding | null {
  if (!(error instanceof AgentError)) throw error;
  return error.code === "COMMAND_RIGHT" ? null : faultFound(error);
}
