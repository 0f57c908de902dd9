/**
 * An operator's order to sweep an address, even if it is not worth the fee. The running gateway
 * carries it out after its next pass. Source: docs/gateway.md, Sweeps.
 */

import { type Refusal, refuse } from "../../base/fault.ts";
import { parseAddressOnAny } from "../../chains/address-forms.ts";
import { recordAct } from "../store/audit.ts";
import type { Store } from "../store/store.ts";
import { keepSweepRequest, listSweepableAt } from "../store/sweeps.ts";

/** The operator's process, besides the gateway. */
export interface SweepRequestContext {
  readonly store: Store;
  readonly nowMs: number;
  readonly actor: string; // in the audit
}

export interface SweepRequestResult {
  readonly ok: true;
  readonly address: string; // in the family's form
  readonly wished: readonly {
    readonly currency: string;
    readonly network: string;
    readonly units: string;
  }[];
}

/**
 * Orders the sweep of all balances of an address, or of one currency, even if they are hardly worth
 * the fee. `text` is the address as an operator typed it, on any of the networks. Refuses
 * ADDRESS_*, GATEWAY_NOTHING_HELD. Harmless to call twice.
 */
export function orderSweeps(
  by: SweepRequestContext,
  networks: readonly string[],
  { text, currency }: { readonly text: string; readonly currency: string | undefined },
): SweepRequestResult | Refusal {
  const parsed = parseAddressOnAny(text, networks);
  if (!parsed.ok) return parsed;
  return by.store.write((database) => {
    const held = parsed.addresses
      .flatMap((each) => listSweepableAt(database, each))
      .filter(
        (row) => BigInt(row.units) > 0n && (currency === undefined || row.currency === currency),
      );
    const address = held[0]?.address ?? (parsed.addresses[0] as string);
    if (held.length === 0)
      return refuse(
        "GATEWAY_NOTHING_HELD",
        `nothing of ${currency ?? "any currency"} that could be swept lies on ${address}`,
      );
    for (const row of held) {
      keepSweepRequest(database, row, by.nowMs);
      const detail = `${row.currency} on ${row.address}`;
      recordAct(database, {
        at: by.nowMs,
        actor: by.actor,
        act: "sweep ordered",
        subject: row.request,
        detail,
      });
    }
    return {
      ok: true,
      address,
      wished: held.map(({ currency: id, network, units }) => ({ currency: id, network, units })),
    };
  });
}
