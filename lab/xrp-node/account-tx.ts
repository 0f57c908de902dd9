/**
 * account_tx: validated transactions of an account between two ledgers, in pages. The range that
 * is answered is the part of the asked one that the node has without a hole up to its newest
 * ledger. Source: xrpl.org, account_tx; rippled's handler for API version 1.
 */
import type { ValidatedTransaction } from "./chain.ts";
import type { Json } from "./codecs.ts";
import { doneJson, metaJson } from "./printing.ts";
import { Refusal } from "./refusal.ts";
import { contiguous, hasLedger, type View } from "./view.ts";

const pageLeast = 10;
const pageUsual = 200;

/** @throws Refusal lgrIdxsInvalid, lgrNotFound or invalidParams */
export function accountTx(view: View, asked: Json): Json {
  const { min, max } = rangeOf(view, asked);
  const isForward = asked.forward === true;
  const limit = Math.max(
    Math.min(pageLeast, view.pageMost),
    Math.min(view.pageMost, Number(asked.limit ?? pageUsual)),
  );
  const inRange = view.chain
    .touching(String(asked.account))
    .filter(
      ({ ledgerIndex }) => ledgerIndex >= min && ledgerIndex <= max && hasLedger(view, ledgerIndex),
    );
  const ordered = isForward ? inRange : [...inRange].reverse();
  const rest = ordered.slice(startOf(ordered, asked.marker, isForward));
  const next = rest[limit + (view.skipsAtBorders && isForward ? 1 : 0)];
  return {
    account: asked.account,
    ledger_index_max: max,
    ledger_index_min: min,
    limit,
    ...(next === undefined ? {} : { marker: { ledger: next.ledgerIndex, seq: next.place } }),
    transactions: rest.slice(0, limit).map((done) => itemOf(view, done)),
    validated: true,
  };
}

function rangeOf(view: View, asked: Json): { readonly min: number; readonly max: number } {
  const { ledger_index_min: askedMin, ledger_index_max: askedMax, ledger_index: single } = asked;
  const [least, most] = [contiguous(view), view.head];
  if (askedMin === undefined && askedMax === undefined && single !== undefined) {
    const index = single === "validated" ? view.head : Number(single);
    if (!hasLedger(view, index)) throw new Refusal("lgrNotFound", 21, "ledgerNotFound");
    return { min: index, max: index };
  }
  const min = Math.max(least, bound(askedMin, least));
  const max = Math.min(most, bound(askedMax, most));
  if (max < min) throw new Refusal("lgrIdxsInvalid", 57, "Ledger indexes invalid.");
  return { min, max };
}

/** Less than nothing means the end of what there is. */
function bound(asked: unknown, usual: number): number {
  return typeof asked === "number" && asked >= 0 ? asked : usual;
}

function startOf(
  ordered: readonly ValidatedTransaction[],
  marker: unknown,
  isForward: boolean,
): number {
  if (marker === undefined) return 0;
  const { ledger, seq } = (marker ?? {}) as Json;
  if (typeof ledger !== "number" || typeof seq !== "number")
    throw new Refusal(
      "invalidParams",
      31,
      "invalid marker. Provide ledger index via ledger field, and transaction sequence number via seq field",
    );
  const at = ordered.findIndex(({ ledgerIndex, place }) => {
    const order = ledgerIndex - ledger || place - seq;
    return isForward ? order >= 0 : order <= 0;
  });
  return at === -1 ? ordered.length : at;
}

function itemOf({ chain }: View, done: ValidatedTransaction): Json {
  return { meta: metaJson(done), tx: doneJson(chain, done), validated: true };
}
