/**
 * The meaning of a balance that was compared: it fits; a hot wallet's books begin with it; money
 * came to a hot wallet from outside, or its owner took it from an address that no agent here has
 * the key of, which are entries and no faults; the account moves just now; anything else is a
 * difference that a person has to look at. Reads the tables, writes nothing.
 */
import { listUnended } from "../store/book-moves.ts";
import { listForeignSpends } from "../store/books.ts";
import type { SpendRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import type { Compared } from "./compare.ts";

/** The verdict on one balance. */
export type Verdict =
  | { readonly kind: "fits" }
  | { readonly kind: "moving" }
  | { readonly kind: "opening" | "outside" | "owner"; readonly units: bigint }
  | { readonly kind: "difference"; readonly detail: string; readonly foreignAt: number | null };

const namedMax = 3; // spends and transactions in one sentence
const unendedMax = 200;

/** Twice is harmless. */
export function verdictOf(database: Database, network: string, one: Compared): Verdict {
  const { account, currency, foundUnits, expectedUnits, isFit, isExact, sheet } = one;
  if (account.kind === "hot" && sheet.openedAt(currency.id) === null)
    return isExact ? { kind: "opening", units: foundUnits } : { kind: "moving" };
  const foreign = account.kind === "hot" ? foreignSpends(database, network, one) : [];
  const took = foreign.filter(({ contract, units }) => contract === currency.contract && units !== "0");
  if (isFit && took.length === 0) return { kind: "fits" };
  const unended = listUnended(database, network, account.address, unendedMax);
  const rest = foundUnits - expectedUnits;
  if (foreign.length === 0) {
    if (unended.some((row) => isOnItsWay(row, account.kind, rest))) return { kind: "moving" };
    if (account.kind === "hot" && rest > 0n) return { kind: "outside", units: rest };
    if (!account.isOurs && rest < 0n) return { kind: "owner", units: rest };
  }
  const words = [
    ...foreign.slice(0, namedMax).map(({ txHash, block }) => `${txHash} in block ${block} was ordered by nobody here`),
    ...unended.slice(0, namedMax).map(({ id, operation, stage }) => `${operation} ${id} is ${stage}`),
  ];
  return { kind: "difference", detail: words.join("; "), foreignAt: foreign[0]?.block ?? null };
}

/**
 * A final block may hold it though its row does not say so yet. The watcher keeps no spends of
 * deposit addresses on every chain, so a signed sweep may be there. A stuck one waits for a person
 * as the difference does; a hot wallet is not credited with a stuck sweep's money as from outside.
 */
function isOnItsWay(
  { stage, operation, isFinal }: ReturnType<typeof listUnended>[number],
  kind: Compared["account"]["kind"],
  rest: bigint,
): boolean {
  const mayHaveCome = operation === "sweep" && rest > 0n;
  if (stage === "stuck") return kind === "hot" && mayHaveCome;
  return kind === "deposit" || isFinal === 1 || (mayHaveCome && stage === "confirming");
}

/**
 * Those since the books began or a person's newest note; for the coin all, since each costs a fee.
 */
function foreignSpends(database: Database, network: string, { account, currency, block, sheet }: Compared): readonly SpendRow[] {
  const after = Math.max(sheet.openedAt(currency.id) ?? -1, sheet.settledAt(currency.id));
  const spends = listForeignSpends(database, { network, account: account.address }, { after, last: block, most: 100 });
  return spends.filter(({ contract }) => currency.contract === "" || contract === currency.contract);
}
