/**
 * An operator's order to sweep an address, even if it is not worth the fee. The running gateway
 * carries it out after its next pass. Source: docs/api.md, Sweeps.
 */

import { type Refusal, refuse } from "../../base/fault.ts";
import { parseAddress } from "../../chains/families.ts";
import { recordAct } from "../store/audit.ts";
import type { Store } from "../store/store.ts";
import { keepWish, listSweepableAt } from "../store/sweeps.ts";

/** The operator's process, besides the gateway. */
export interface Wishing {
  readonly store: Store;
  readonly nowMs: number;
  readonly actor: string; // in the audit
}

export interface Wished {
  readonly ok: true;
  readonly address: string; // in the family's form
  readonly wished: readonly { readonly currency: string; readonly network: string; readonly units: string }[];
}

/**
 * Orders the sweep of all balances of an address, or of one currency, even if they are hardly worth
 * the fee. `text` is the address as an operator typed it. Refuses ADDRESS_*, GATEWAY_NOTHING_HELD.
 * Harmless to call twice.
 */
export function orderSweeps(by: Wishing, text: string, currency: string | undefined): Wished | Refusal {
  const parsed = parseAddress(text);
  if (!parsed.ok) return parsed;
  const { address } = parsed;
  return by.store.write((database) => {
    const held = listSweepableAt(database, address).filter(
      (row) => BigInt(row.units) > 0n && (currency === undefined || row.currency === currency),
    );
    if (held.length === 0)
      return refuse("GATEWAY_NOTHING_HELD", `nothing of ${currency ?? "any currency"} that could be swept lies on ${address}`);
    for (const row of held) {
      keepWish(database, row, by.nowMs);
      const detail = `${row.currency} on ${address}`;
      recordAct(database, { at: by.nowMs, actor: by.actor, act: "sweep ordered", subject: row.request, detail });
    }
    return { ok: true, address, wished: held.map(({ currency: id, network, units }) => ({ currency: id, network, units })) };
  });
}
