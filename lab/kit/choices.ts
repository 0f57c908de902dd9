/** Prices of choices for a world that has no price: the first quote of each stands. */
import type { GatewayConfig } from "../../gateway/config/config.ts";
import { createChoicePricing } from "../../gateway/invoices/pricing.ts";
import type { ChoicePricing } from "../../gateway/watcher/chain.ts";

export const unpricedChoices = (
  config: Pick<GatewayConfig, "currencies">,
  clock: () => number,
): ChoicePricing =>
  createChoicePricing({ config, clock, prices: { of: () => null, canHave: () => false } });
