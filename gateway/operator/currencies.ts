/**
 * `currencies`: lists every currency of the configuration, including those that shops are not
 * offered, and whether the running gateway has one out of service. Asks that gateway for /ready;
 * the other columns do not need its answer.
 */
import type { Command } from "commander";
import type { GatewayConfig, GatewayCurrency } from "../config/config.ts";
import { type Fiat, fiats } from "../config/fiat.ts";
import { boardOf } from "../prices/prices.ts";
import type { Prices } from "../service.ts";
import { asOperator, configInForce, type JsonOption, printJson, printList } from "./command.ts";
import { askHealth, type Health } from "./health.ts";
import { withBoth } from "./words.ts";

export interface CurrencyLine {
  readonly id: string;
  readonly chain: string;
  readonly network: string;
  readonly contract: string; // "" native
  readonly decimal: number;
  readonly enabled: boolean;
  // Shops are offered it: it is enabled and has prices, or is listed on purpose.
  readonly listed: boolean;
  readonly unpriced: readonly Fiat[]; // the fiat currencies without a price
  readonly depositOnly: boolean;
  readonly service: "in" | "out" | "unknown"; // unknown: the gateway was not reached
  readonly outReason: string; // "" unless it is out
  readonly minPaymentAmount: string;
  readonly minWithdrawAmount: string;
}

/**
 * The reasons why currencies are out of service, by id, from the running gateway; null if it was
 * not reached or its answer has another form.
 */
function outReasons(health: Health): ReadonlyMap<string, string> | null {
  if (!health.reached) return null;
  try {
    const { checks } = JSON.parse(health.text) as { readonly checks: readonly { name: string; ok: boolean; detail: string }[] };
    const out = checks.filter(({ name, ok }) => !ok && name.startsWith("currency "));
    return new Map(out.map(({ name, detail }) => [name.slice("currency ".length), detail]));
  } catch {
    return null;
  }
}

/** The currencies in the order of the configuration. `health` is the running gateway's answer. */
export function describeService(config: GatewayConfig, health: Health, prices: Pick<Prices, "of">): readonly CurrencyLine[] {
  const out = outReasons(health);
  return Object.values(config.currencies).map((currency: GatewayCurrency) => {
    const { id, chain, network, contract, decimal, enabled, depositOnly, minPaymentAmount, minWithdrawAmount } = currency;
    const outReason = out?.get(id) ?? "";
    const service = out === null ? "unknown" : outReason === "" ? "in" : "out";
    const unpriced = fiats.filter((fiat) => prices.of(currency, fiat) === null);
    const listed = enabled && (unpriced.length === 0 || currency.listUnpriced);
    const fixed = { id, chain, network, contract, decimal, enabled, listed, unpriced, depositOnly };
    return { ...fixed, service, outReason, minPaymentAmount, minWithdrawAmount };
  });
}

function linesOf(line: CurrencyLine): string {
  const service = { in: "in service", out: line.outReason, unknown: "the gateway was not reached" }[line.service];
  const state = line.enabled ? service : ["switched off", line.outReason].filter((text) => text !== "").join(", ");
  const asset = line.contract === "" ? "native coin" : line.contract;
  return [
    `${line.id}  ${state}${line.depositOnly ? ", deposits only" : ""}`,
    `  ${line.chain} (${line.network}), ${asset}, ${line.decimal} decimals`,
    `  at least ${line.minPaymentAmount} in, ${line.minWithdrawAmount} out${priceWords(line)}`,
  ].join("\n");
}

function priceWords({ enabled, listed, unpriced }: CurrencyLine): string {
  if (!enabled || unpriced.length === 0) return "";
  return `; no price in ${unpriced.join(", ")}${listed ? "" : ", so shops do not see it"}`;
}

async function list(options: JsonOption): Promise<void> {
  const health = await askHealth(configInForce(options.config));
  asOperator(options, ({ store, nowMs }, config) => {
    const lines = describeService(config, health, boardOf({ config, store, clock: () => nowMs }));
    if (options.json === true) printJson(lines);
    else printList(lines.map(linesOf), "The configuration names no currency.");
  });
}

export function addCurrencyCommand(program: Command): void {
  withBoth(program.command("currencies").description("all of them, and whether each is in service")).action(list);
}
