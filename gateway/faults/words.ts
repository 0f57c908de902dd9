/** Faults in words for operators. Pure. */
import { formatTimestampUtc } from "../../base/timestamp.ts";
import type { Fault } from "./fault.ts";

/** Items of one kind and one merchant; "" for nobody's. */
export interface FaultCount {
  readonly domain: string;
  readonly merchant: string;
  readonly count: number;
  readonly sinceMs: number; // Unix milliseconds, of the oldest
}

const nouns: Readonly<Record<string, readonly [one: string, many: string]>> = {
  head: ["chain", "chains"],
  currency: ["currency", "currencies"],
  account: ["hot wallet", "hot wallets"],
  address: ["address", "addresses"],
  withdrawal: ["withdrawal", "withdrawals"],
  transaction: ["transaction", "transactions"],
  history: ["gap of blocks", "gaps of blocks"],
};

/** For example "3 addresses of shop-a are not read since 2026-11-29T08:12:00Z". */
export function faultText({ domain, merchant, count, sinceMs }: FaultCount): string {
  const [one, many] = nouns[domain] ?? [domain, domain];
  const of = merchant === "" ? "" : ` of ${merchant}`;
  return `${count} ${count === 1 ? one : many}${of} ${count === 1 ? "is" : "are"} not read since ${formatTimestampUtc(sinceMs)}`;
}

/** Faults that one alert tells of: of one domain, merchant and code. */
export function faultGroupName({
  domain,
  network,
  merchant,
  code,
}: Pick<Fault, "network" | "merchant"> & {
  readonly domain: string;
  readonly code: string;
}): string {
  return `${domain} ${network} ${merchant || "nobody"} ${code}`;
}
