/**
 * Faults of single items as conditions for alerts: one for each domain, merchant and code, once it
 * has stood for the time of its domain. An alert that an earlier run sent is not sent again. Reads
 * only the database.
 */
import type { AlertCondition } from "../../base/alerts/queue/due-alerts.ts";
import { faultDomains } from "../faults/domains.ts";
import type { Fault } from "../faults/fault.ts";
import { faultText } from "../faults/words.ts";
import { faultHint } from "../operator/state-words.ts";
import { listFaults } from "../store/faults.ts";
import type { Database } from "../store/store.ts";

/** An alert that left this shortly before the end of a run may not have arrived. */
const surelyToldMs = 60_000;

/** Faults that one alert tells of. */
export type FaultGroup = Pick<Fault, "domain" | "network" | "merchant" | "code">;

export function faultGroupName({
  domain,
  network,
  merchant,
  code,
}: Omit<FaultGroup, "domain" | "code"> & {
  readonly domain: string;
  readonly code: string;
}): string {
  return `${domain} ${network} ${merchant || "nobody"} ${code}`;
}

/** The groups whose alert an earlier run sent. */
export function listToldFaultGroups(database: Database, nowMs: number): ReadonlySet<string> {
  const told = listFaults(database).filter(
    ({ toldAt }) => toldAt !== null && toldAt <= nowMs - surelyToldMs,
  );
  return new Set(told.map(faultGroupName));
}

/** `faults`: those that stand; a chain's own are told by the chain's state. */
export function faultConditions(
  faults: readonly Fault[],
  nowMs: number,
  told: ReadonlySet<string>,
): readonly AlertCondition[] {
  const groups = new Map<string, Fault[]>();
  for (const fault of faults) {
    const { domain, sinceMs } = fault;
    if (
      domain === "head" ||
      domain === "span" ||
      nowMs - sinceMs < faultDomains[domain].toldAfterMs
    )
      continue;
    groups.set(faultGroupName(fault), [...(groups.get(faultGroupName(fault)) ?? []), fault]);
  }
  return [...groups].map(([subject, all]): AlertCondition => {
    const [first] = all as [Fault, ...Fault[]];
    const { domain, merchant, code, words, sinceMs } = first;
    const count = all.reduce((sum, one) => sum + one.count, 0);
    const message = `${faultText({ domain, merchant, count, sinceMs })}: ${code}: ${words}`;
    const hint = faultHint(domain, merchant);
    return {
      event: "item-fault",
      subject,
      message,
      context: { code, count },
      afterMs: 0,
      hint,
      isTold: told.has(subject),
    };
  });
}
