/**
 * Judges a balance that was compared. It fits, or a hot wallet's books begin with it. Money that
 * came to a hot wallet from outside, or that an owner took from an address without a key here,
 * becomes an entry and is no fault. The account may be moving at the moment. Any other result is a
 * difference that an operator must check. Reads the tables, writes nothing.
 */
import { listUnended } from "../store/book-moves.ts";
import { listForeignOutgoing } from "../store/books.ts";
import type { OutgoingRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import type { ComparedBalance } from "./compare.ts";

/** The verdict on one balance. */
export type Verdict =
  | { readonly kind: "fits" }
  | { readonly kind: "moving" }
  | { readonly kind: "opening" | "outside" | "owner"; readonly units: bigint }
  | { readonly kind: "difference"; readonly detail: string; readonly foreignAt: number | null };

const namedMax = 3; // transactions named in one sentence
const unendedMax = 200;

/** Harmless to call twice. */
export function verdictOf(database: Database, network: string, one: ComparedBalance): Verdict {
  const { account, currency, foundUnits, expectedUnits, isFit, isExact, sheet } = one;
  if (account.kind === "hot" && sheet.openedAt(currency.id) === null)
    return isExact ? { kind: "opening", units: foundUnits } : { kind: "moving" };
  const foreign = account.kind === "hot" ? foreignOutgoing(database, network, one) : [];
  const took = foreign.filter(
    ({ contract, units }) => contract === currency.contract && units !== "0",
  );
  if (isFit && took.length === 0) return { kind: "fits" };
  const unended = listUnended(database, network, account.address, unendedMax);
  const rest = foundUnits - expectedUnits;
  if (foreign.length === 0) {
    if (unended.some((row) => isOnItsWay(row, account.kind, rest))) return { kind: "moving" };
    if (account.kind === "hot" && rest > 0n) return { kind: "outside", units: rest };
    if (!account.isOurs && rest < 0n) return { kind: "owner", units: rest };
  }
  const words = [
    ...foreign
      .slice(0, namedMax)
      .map(({ txHash, block }) => `${txHash} in block ${block} was ordered by nobody here`),
    ...unended
      .slice(0, namedMax)
      .map(({ id, operation, stage }) => `${operation} ${id} is ${stage}`),
  ];
  return { kind: "difference", detail: words.join("; "), foreignAt: foreign[0]?.block ?? null };
}

/**
 * True if a final block may hold the transaction, though its row does not say so yet. The watcher
 * does not keep the outgoing transactions of deposit addresses on every chain, so a signed sweep
 * may be final. A stuck transaction waits for an operator, as the difference does. A hot wallet
 * does not count a stuck sweep's money as from outside.
 */
function isOnItsWay(
  { stage, operation, isFinal }: ReturnType<typeof listUnended>[number],
  kind: ComparedBalance["account"]["kind"],
  rest: bigint,
): boolean {
  const mayHaveCome = operation === "sweep" && rest > 0n;
  if (stage === "stuck") return kind === "hot" && mayHaveCome;
  return kind === "deposit" || isFinal === 1 || (mayHaveCome && stage === "confirming");
}

/**
 * Unexplained outgoing transactions since the books began, or since an operator's newest note. For
 * the native coin all of them, because each costs a fee.
 */
function foreignOutgoing(
  database: Database,
  network: string,
  { account, currency, block, sheet }: ComparedBalance,
): readonly OutgoingRow[] {
  const after = Math.max(sheet.openedAt(currency.id) ?? -1, sheet.settledAt(currency.id));
  const outgoing = listForeignOutgoing(
    database,
    { network, account: account.address },
    { after, last: block, most: 100 },
  );
  return outgoing.filter(
    ({ contract }) => currency.contract === "" || contract === currency.contract,
  );
}
