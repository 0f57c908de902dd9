/** The names of things that can have a fault, and the faults that stand. Pure. */
import type { Code } from "../../base/codes.ts";
import { type FaultDomain, faultDomains } from "./domains.ts";

export interface FaultKey {
  readonly domain: FaultDomain;
  readonly network: string;
  readonly id: string; // as the table of domains spells it
  readonly merchant: string; // "" if the thing is nobody's
}

/** A fault that stands. Times are Unix milliseconds. */
export interface Fault extends FaultKey {
  readonly code: Code;
  readonly words: string; // with the node's own text, for the operator
  readonly plain: string; // public text
  readonly sinceMs: number;
  readonly tries: number; // in a row without an answer
  readonly retryAtMs: number; // not asked for before
  readonly count: number; // 1; of a sum, the items that are not kept one by one
}

/** The name of a thing as text; its merchant is no part of it. */
export function keyText({ domain, network, id }: Omit<FaultKey, "merchant">): string {
  return `${domain} ${network} ${id}`;
}

/** The id of an account or address in one currency. */
export function currencyItemId(address: string, currency: string): string {
  return `${address} ${currency}`;
}

/** The thing that has the fault if many items below it fail alike; null if there is none. */
export function parentFaultKeyOf({ domain, network, id }: FaultKey): FaultKey | null {
  const { parent } = faultDomains[domain];
  if (parent === null) return null;
  if (parent === "currency")
    return { domain: "currency", network, id: id.slice(id.lastIndexOf(" ") + 1), merchant: "" };
  return { domain: parent as FaultDomain, network, id: domain, merchant: "" };
}
