/**
 * `currencies`: lists every currency of the configuration, including those that shops are not
 * offered, and whether the running gateway has one out of service. Asks that gateway for /ready;
 * the other columns do not need its answer. `resume` ends the hold of one in which a payout moved
 * something else than was asked for.
 */
import type { Command } from "commander";
import { type Refusal, refuse } from "../../base/fault.ts";
import type { GatewayConfig, GatewayCurrency } from "../config/config.ts";
import { type Fiat, fiats } from "../config/fiat.ts";
import { openPriceBoard } from "../prices/prices.ts";
import type { Prices } from "../service.ts";
import { recordAct } from "../store/audit.ts";
import { type CurrencyHold, listCurrencyHolds, resumeCurrency } from "../store/currency-holds.ts";
import { formatTimestamp, type OperatorContext } from "./accounts.ts";
import {
  type ActorOption,
  configInForce,
  isOkOrPrintsRefusal,
  type JsonOption,
  printJson,
  printList,
  printText,
  runInOperatorContext,
} from "./command.ts";
import { askHealth, type Health } from "./health.ts";
import { agentsResumeLine } from "./state-words.ts";
import { addActorOptions, addConfigAndJsonOptions, readRemark } from "./words.ts";

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
  readonly holds: readonly CurrencyHoldLine[]; // while nothing is paid in it
}

/** A hold, of one merchant or, with "", of all. */
export interface CurrencyHoldLine {
  readonly merchant: string; // its id
  readonly since: string;
  readonly transactionId: string; // the payout that moved something else
  readonly txHash: string;
}

const holdLine = ({ merchant, at, transactionId, txHash }: CurrencyHold): CurrencyHoldLine => {
  return { merchant, since: formatTimestamp(at), transactionId, txHash };
};

/**
 * The reasons why currencies are out of service, by id, from the running gateway; null if it was
 * not reached or its answer has another form.
 */
function outReasons(health: Health): ReadonlyMap<string, string> | null {
  if (!health.reached) return null;
  try {
    const { checks } = JSON.parse(health.text) as {
      readonly checks: readonly { name: string; ok: boolean; detail: string }[];
    };
    const out = checks.filter(({ name, ok }) => !ok && name.startsWith("currency "));
    return new Map(out.map(({ name, detail }) => [name.slice("currency ".length), detail]));
  } catch {
    return null;
  }
}

/** The currencies in the order of the configuration. `health` is the running gateway's answer. */
export function listCurrencyLines(
  config: GatewayConfig,
  health: Health,
  prices: Pick<Prices, "of">,
  held: readonly CurrencyHold[] = [],
): readonly CurrencyLine[] {
  const out = outReasons(health);
  return Object.values(config.currencies).map((currency: GatewayCurrency) => {
    const {
      id,
      chain,
      network,
      contract,
      decimal,
      enabled,
      depositOnly,
      minPaymentAmount,
      minWithdrawAmount,
    } = currency;
    const outReason = out?.get(id) ?? "";
    const service = out === null ? "unknown" : outReason === "" ? "in" : "out";
    const unpriced = fiats.filter((fiat) => prices.of(currency, fiat) === null);
    const listed = enabled && (unpriced.length === 0 || currency.listUnpriced);
    const fixed = { id, chain, network, contract, decimal, enabled, listed, unpriced, depositOnly };
    const holds = held.filter((hold) => hold.currency === id).map(holdLine);
    return { ...fixed, service, outReason, minPaymentAmount, minWithdrawAmount, holds };
  });
}

function linesOf(line: CurrencyLine): string {
  const service = { in: "in service", out: line.outReason, unknown: "the gateway was not reached" }[
    line.service
  ];
  const state = line.enabled
    ? service
    : ["switched off", line.outReason].filter((text) => text !== "").join(", ");
  const asset = line.contract === "" ? "native coin" : line.contract;
  return [
    `${line.id}  ${state}${line.depositOnly ? ", deposits only" : ""}`,
    `  ${line.chain} (${line.network}), ${asset}, ${line.decimal} decimals`,
    `  at least ${line.minPaymentAmount} in, ${line.minWithdrawAmount} out${priceWords(line)}`,
    ...line.holds.map(({ merchant, since, transactionId, txHash }) => {
      const whose = merchant === "" ? "every merchant" : merchant;
      return `  held since ${since} for ${whose}: ${txHash} moved something else than ${transactionId} asks for`;
    }),
  ].join("\n");
}

function priceWords({ enabled, listed, unpriced }: CurrencyLine): string {
  if (!enabled || unpriced.length === 0) return "";
  return `; no price in ${unpriced.join(", ")}${listed ? "" : ", so shops do not see it"}`;
}

async function list(options: JsonOption): Promise<void> {
  const health = await askHealth(configInForce(options.config));
  runInOperatorContext(options, ({ store, nowMs }, config) => {
    const lines = listCurrencyLines(
      config,
      health,
      openPriceBoard({ config, store, clock: () => nowMs }),
      listCurrencyHolds(store.database),
    );
    if (options.json === true) printJson(lines);
    else printList(lines.map(linesOf), "The configuration names no currency.");
  });
}

/**
 * Ends every hold of a currency: its waiting orders go on. Harmless to call twice. Refuses
 * GATEWAY_UNKNOWN_CURRENCY for one that is neither configured nor held.
 */
export function endCurrencyHolds(
  by: OperatorContext,
  { currencies }: Pick<GatewayConfig, "currencies">,
  id: string,
  reason: string,
): { readonly ok: true; readonly ended: readonly CurrencyHold[] } | Refusal {
  return by.store.writeIfOk((database) => {
    const ended = resumeCurrency(database, id);
    if (ended.length === 0 && !Object.hasOwn(currencies, id))
      return refuse("GATEWAY_UNKNOWN_CURRENCY");
    for (const { merchant, txHash, transactionId } of ended) {
      const whose = merchant === "" ? "every merchant" : merchant;
      const detail = `held for ${whose} by ${txHash} of ${transactionId}: ${reason}`;
      recordAct(database, {
        at: by.nowMs,
        actor: by.actor,
        act: "currency resumed",
        subject: id,
        detail,
      });
    }
    return { ok: true, ended };
  });
}

function resume(
  id: string,
  { reason, ...options }: JsonOption & ActorOption & { readonly reason: string },
): void {
  runInOperatorContext(options, (by, config) => {
    const done = endCurrencyHolds(by, config, id, reason);
    if (!isOkOrPrintsRefusal(done)) return;
    const holds = done.ended.map(holdLine);
    if (options.json === true) printJson({ currency: id, ended: holds });
    else if (holds.length === 0) printText(`${id} was not held here.`);
    else
      printText(
        `${id} is held no longer: its orders go on.\n  an agent that holds it too goes on after: ${agentsResumeLine(id)}`,
      );
  });
}

export function addCurrencyCommand(program: Command): void {
  const currencies = program
    .command("currencies")
    .description("all of them, and whether each is in service");
  addConfigAndJsonOptions(
    currencies
      .command("list", { isDefault: true })
      .description("all of them, and whether each is in service"),
  ).action(list);
  addActorOptions(
    currencies
      .command("resume")
      .description("pay in one again that is held since a payout in it moved something else")
      .argument("<currencyId>"),
  )
    .requiredOption("--reason <text>", "why, for anybody who looks later", readRemark)
    .action(resume);
}
