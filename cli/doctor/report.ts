/**
 * The result of a check: findings, and a description of the parts that this user could not look at.
 */
import type { Finding } from "../../base/finding.ts";

export interface DoctorReport {
  readonly findings: readonly Finding[];
  readonly unseen: readonly string[];
}

export const emptyReport: DoctorReport = { findings: [], unseen: [] };

/** Joins several results. A finding with the same code and sentence counts only once. */
export function joinReports(looks: readonly DoctorReport[]): DoctorReport {
  const seen = new Set<string>();
  const findings = looks
    .flatMap((look) => look.findings)
    .filter(({ code, what }) => {
      const key = `${code} ${what}`;
      return !seen.has(key) && seen.add(key);
    });
  return { findings, unseen: [...new Set(looks.flatMap((look) => look.unseen))] };
}
