/** The result of a look: findings, and in words whatever this user could not look at. */
import type { Finding } from "../../protocol/finding.ts";

export interface Look {
  readonly findings: readonly Finding[];
  readonly unseen: readonly string[];
}

export const nothing: Look = { findings: [], unseen: [] };

/** Joins several looks; a finding with the same code and sentence counts once. */
export function together(looks: readonly Look[]): Look {
  const seen = new Set<string>();
  const findings = looks
    .flatMap((look) => look.findings)
    .filter(({ code, what }) => {
      const key = `${code} ${what}`;
      return !seen.has(key) && seen.add(key);
    });
  return { findings, unseen: [...new Set(looks.flatMap((look) => look.unseen))] };
}
