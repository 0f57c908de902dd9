/** The prices that could be there and do not hold now: quotes in them are refused. */
import type { GatewayConfig, GatewayCurrency } from "../config/config.ts";
import { type Fiat, fiats } from "../config/fiat.ts";
import type { Prices } from "../service.ts";

export interface UnpricedPair {
  readonly currency: GatewayCurrency;
  readonly fiat: Fiat;
}

/** Currency by currency, as the configuration has them. */
export function unpricedOf(
  prices: Prices,
  currencies: GatewayConfig["currencies"],
): readonly UnpricedPair[] {
  const enabled = Object.values(currencies).filter((currency) => currency.enabled);
  return enabled.flatMap((currency) =>
    fiats
      .filter(
        (fiat) => prices.canHave(currency, fiat) && prices.of(currency, fiat)?.isStale !== false,
      )
      .map((fiat) => ({ currency, fiat })),
  );
}
