/**
 * Turns each snapshot of the courier into alerts for the receiver of `notify`, and keeps the last
 * snapshot for the metrics. Lives as long as the process: a new run of the signer resets nothing
 * here. Clocks and sender are passed in.
 */
import type { AlertDelivery, AlertQueueCounts } from "../../../base/alerts/queue/alert-queue.ts";
import {
  type AlertCondition,
  type AlertStandings,
  observeConditions,
} from "../../../base/alerts/queue/due-alerts.ts";
import { createLoggedAlertQueue } from "../../../base/alerts/queue/logged-queue.ts";
import { type AlertName, alertTable } from "../../../base/alerts/queue/table.ts";
import { adviceOf, dangerOf } from "../../../base/causes.ts";
import type { AgentLog } from "../../../base/log.ts";
import { commandOfEnd } from "../../../base/state-end.ts";
import { formatAmount, parseAmount } from "../../../protocol/amount.ts";
import type { CourierSettings, NotifySettings } from "../../config/settings.ts";
import type { CourierStatus, WithdrawalState } from "../../socket/verbs.ts";
import { agentStateEnds } from "../../state-ends.ts";
import type { Snapshot, SnapshotChain, WithdrawalSnapshot } from "./snapshot.ts";

/* Finds the conditions of base/alerts/queue/table.ts that hold in the courier's snapshot. Pure. */

const minuteMs = 60_000;
/**
 * The disk counts as low below this multiple of the space that the signer needs for any new work.
 */
const roomFactor = 4;
/** Fees that fall again within this time cause no alert. */
const feesMs = 5 * minuteMs;
/**
 * States that a withdrawal must leave by itself; in the later states it only waits for the chain.
 */
const moving: ReadonlySet<WithdrawalState> = new Set([
  "approved",
  "intent",
  "signed",
  "released",
  "broadcast",
]);
/**
 * Reasons for which every withdrawal, or every one of a currency, waits; each has its own event.
 */
const general =
  /^(?:locked|link|nodes|SIGNER_PAUSED|NETWORK_PAUSED:|CURRENCY_MOVES_OTHERWISE:|COURIER_TOKEN_REFUSES)(?: |$)|ACCOUNT_(?:PIN_UNNAMED|FIRST_UNNAMED|FIRST_SLOT)/;
/** With the time until the courier names it, a silence of the gateway is told within a minute. */
const unnamedMs = 30_000;

/** Every condition that holds, and the events whose state is unknown now. */
export function conditionsOf(
  snapshot: Snapshot,
  notify: Pick<NotifySettings, "stuckMinutes" | "awayMinutes" | "lowFunds">,
  currencies: CourierSettings["currencies"],
): { readonly conditions: readonly AlertCondition[]; readonly unknown: readonly AlertName[] } {
  const stuckMs = notify.stuckMinutes * minuteMs;
  const awayMs = notify.awayMinutes * minuteMs;
  const conditions = [
    ...lockConditions(snapshot),
    ...(snapshot.link === "up"
      ? []
      : [
          condition(
            "link-down",
            "gateway",
            "the link to the gateway is down",
            { detail: snapshot.linkDetail },
            awayMs,
          ),
        ]),
    ...snapshot.chains.flatMap(stopConditions),
    ...snapshot.chains.flatMap(({ held }) => held.map(heldCurrency)),
    ...snapshot.chains.flatMap(({ chain, ok, isAsking, detail }) =>
      ok || isAsking
        ? []
        : [
            condition(
              "nodes-away",
              chain,
              `too few nodes of ${chain} can be used`,
              { detail },
              awayMs,
            ),
          ],
    ),
    ...snapshot.chains.flatMap(({ chain, ok, health }) =>
      (ok ? (health?.nodes ?? []) : [])
        .filter(({ code }) => code !== "")
        .map(({ url, code, words }) =>
          condition(
            "node-poor",
            `${chain} ${url}`,
            `node ${url} of ${chain} ${words}`,
            { code },
            awayMs,
          ),
        ),
    ),
    ...snapshot.chains.flatMap(({ chain, ok, health }) =>
      (ok ? (health?.delays ?? []) : []).map(({ code, words }) =>
        condition("chain-late", chain, words, { code }, awayMs),
      ),
    ),
    ...snapshot.items.flatMap((item) => withdrawalConditions(item, stuckMs)),
    ...feeConditions(snapshot.items),
    ...namingConditions(snapshot.items),
    ...refusedConditions(snapshot.items),
    ...lowFundsOf(snapshot, notify.lowFunds, currencies).map(({ currency, has, wanted }) =>
      condition(
        "funds-low",
        currency,
        `the hot wallet has ${has} ${currency}, less than ${wanted}`,
        { has, wanted },
      ),
    ),
    ...signerConditions(snapshot),
  ];
  const unknown: AlertName[] = snapshot.summary === null ? ["disk-room-low", "config-differs"] : [];
  // Before a chain's first answer, and after its last, the balance is unknown.
  if (snapshot.chains.some(({ isAsking }) => isAsking))
    unknown.push("nodes-away", "node-poor", "chain-late");
  if (snapshot.chains.some(({ balances }) => balances.size === 0)) unknown.push("funds-low");
  return { conditions, unknown };
}

/**
 * The currencies of which the hot wallet has less than its threshold. An unknown balance is not
 * low.
 */
export function lowFundsOf(
  snapshot: Snapshot,
  thresholds: NotifySettings["lowFunds"],
  currencies: CourierSettings["currencies"],
): CourierStatus["lowFunds"] {
  return Object.entries(thresholds).flatMap(([id, wanted]) => {
    const currency = currencies[id];
    if (currency === undefined) return [];
    const balance = snapshot.chains
      .find(({ chain }) => chain === currency.chain)
      ?.balances.get(currency.contract ?? "");
    const least = parseAmount(wanted, currency.decimal);
    if (balance === undefined || !least.ok || balance >= least.units) return [];
    return [{ currency: id, has: formatAmount(balance, currency.decimal), wanted }];
  });
}

function condition(
  event: AlertName,
  subject: string,
  message: string,
  context: AlertCondition["context"],
  afterMs = 0,
): AlertCondition {
  return { event, subject, message, context, afterMs };
}

function lockConditions({ agent, locked }: Snapshot): readonly AlertCondition[] {
  if (locked === "") return [];
  if (locked === "RECOVERY_OFFERED")
    return [condition("recovery-offered", agent, "the gateway offers a recovery", {})];
  const hint = adviceOf(locked) || alertTable["agent-locked"].advice;
  const context = { code: locked, danger: dangerOf(locked) };
  return [{ ...condition("agent-locked", agent, `the agent is locked: ${locked}`, context), hint }];
}

/** First payments of a chain stopped because of a transaction that nobody here signed. */
function stopConditions({ chain, stopped }: SnapshotChain): readonly AlertCondition[] {
  if (stopped !== "CHAIN_COIN_FOREIGN") return [];
  const words = `the account on ${chain} paid by a transaction that nothing here signed: no first payment is signed there`;
  const context = { code: stopped, danger: dangerOf(stopped) };
  return [{ ...condition("network-stopped", chain, words, context), hint: adviceOf(stopped) }];
}

/** First payments in a currency stopped because a final one moved something else. */
function heldCurrency(currency: string): AlertCondition {
  const code = "CURRENCY_MOVES_OTHERWISE";
  const words = `a final payment in ${currency} moved something else than was asked for: no first payment is signed in it`;
  return {
    ...condition("currency-stopped", currency, words, { code, danger: dangerOf(code) }),
    hint: adviceOf(code),
  };
}

function withdrawalConditions(
  item: WithdrawalSnapshot,
  stuckMs: number,
): readonly AlertCondition[] {
  const { transactionId, state, code, currency, amount, why } = item;
  const context = { state, code, currency, amount };
  if (state === "held" || state === "quarantined") return [heldCondition(item, context)];
  if (!moving.has(state) || general.test(why)) return [];
  const words = `a withdrawal of ${amount} ${currency} does not go on: ${why === "" ? "no block has it yet" : why}`;
  const hint = `${commandOfEnd(agentStateEnds.signer.stuck, { ID: transactionId })} says what it waits for`;
  return [
    { ...condition("withdrawal-stuck", transactionId, words, { ...context, why }, stuckMs), hint },
  ];
}

/** An alert that an operator can act on: the order, the amount, the end, and the lines to type. */
function heldCondition(
  { transactionId, currency, amount, awaited }: WithdrawalSnapshot,
  context: AlertCondition["context"],
): AlertCondition {
  const names = { ID: transactionId };
  const yes = commandOfEnd(agentStateEnds.withdrawals.held, names).replace(/^autowithdraw /, "");
  const hint = `${commandOfEnd(agentStateEnds.signer.stuck, names)}; ${yes} pays it, refuse ${transactionId} rejects it`;
  const words = `a withdrawal of ${amount} ${currency}`;
  if (awaited === null)
    return {
      ...condition("withdrawal-held", transactionId, `${words} waits for an operator`, context),
      hint,
    };
  const { order, endsAtMs } = awaited;
  const until = new Date(endsAtMs).toISOString();
  const message = `${words} (order ${order}) waits for an operator until ${until}`;
  return {
    ...condition("withdrawal-held", transactionId, message, { ...context, orderId: order, until }),
    hint,
    endsAt: endsAtMs,
  };
}

function feeConditions(items: readonly WithdrawalSnapshot[]): readonly AlertCondition[] {
  const chains = new Map<string, number>();
  for (const { chain, why } of items)
    if (why.startsWith("fee ")) chains.set(chain, (chains.get(chain) ?? 0) + 1);
  return [...chains].map(([chain, waiting]) =>
    condition("fees-high", chain, `fees of ${chain} are above maxFee`, { waiting }, feesMs),
  );
}

/**
 * Orders that wait for the gateway's word on a coin, a first slot or the order, or for an operator.
 */
function namingConditions(items: readonly WithdrawalSnapshot[]): readonly AlertCondition[] {
  const waitingFor = (code: RegExp): ReadonlyMap<string, number> => {
    const chains = new Map<string, number>();
    for (const { chain, why } of items)
      if (code.test(why)) chains.set(chain, (chains.get(chain) ?? 0) + 1);
    return chains;
  };
  const unnamed = [...waitingFor(/ACCOUNT_(?:PIN|FIRST)_UNNAMED|WITHDRAWAL_UNCLEARED/)].map(
    ([chain, waiting]) => {
      const words = `the gateway says nothing of coins, first slots or orders of ${chain}: ${waiting} wait`;
      return condition("gateway-unnamed", chain, words, { waiting }, unnamedMs);
    },
  );
  const unadopted = [...waitingFor(/ACCOUNT_FIRST_SLOT/)].map(([chain, waiting]) => {
    const words = `the account of ${chain} was used before, and begins with an operator's yes: ${waiting} wait`;
    return {
      ...condition("adopt-needed", chain, words, { waiting }),
      hint: commandOfEnd(agentStateEnds.courier.firstSlot, { CHAIN: chain }),
    };
  });
  return [...unnamed, ...unadopted];
}

/** A paused token, or a blocked hot wallet, is one trouble, whatever the number of withdrawals. */
function refusedConditions(items: readonly WithdrawalSnapshot[]): readonly AlertCondition[] {
  const currencies = new Map<string, number>();
  for (const { currency, why } of items)
    if (why === "COURIER_TOKEN_REFUSES")
      currencies.set(currency, (currencies.get(currency) ?? 0) + 1);
  return [...currencies].map(([currency, waiting]) => {
    const words = `the contract of ${currency} refuses every transfer of the hot wallet: ${waiting} wait`;
    return condition("currency-refused", currency, words, {
      code: "COURIER_TOKEN_REFUSES",
      waiting,
    });
  });
}

function signerConditions({ summary }: Snapshot): readonly AlertCondition[] {
  if (summary === null) return [];
  const { freeBytes, freeBytesMin, configDiffers } = summary;
  const found: AlertCondition[] = [];
  if (freeBytes >= 0 && freeBytes < freeBytesMin * roomFactor) {
    const words =
      freeBytes < freeBytesMin
        ? "the ledger's disk is full: nothing new is begun"
        : "the ledger's disk is nearly full";
    found.push(condition("disk-room-low", "ledger", words, { freeBytes, freeBytesMin }));
  }
  if (configDiffers)
    found.push(
      condition(
        "config-differs",
        "config",
        "signer and courier go by two versions of config.json",
        {},
      ),
    );
  return found;
}

export interface AlertMonitor {
  /** Called every few seconds; sends an alert for every condition that is due. */
  look(snapshot: Snapshot): void;
  /** Null before the first look. */
  latest(): Snapshot | null;
  /** For `status`: null if config.json has no `notify`. */
  notify(): CourierStatus["notify"];
  /** For `status`: the result of the last look, empty before it and without `notify`. */
  lowFunds(): CourierStatus["lowFunds"];
  counts(): AlertQueueCounts;
  close(): void;
}

export interface AlertMonitorOptions {
  readonly settings: Pick<CourierSettings, "notify" | "currencies">;
  readonly deliver: AlertDelivery | null; // For `status`: null if config.json has no `notify`.
  readonly clock: () => number; // Unix milliseconds
  readonly monotonic: () => number; // milliseconds
  readonly log: AgentLog;
  readonly retryMs?: { readonly first: number; readonly most: number };
}

const none: AlertQueueCounts = { told: 0, failures: 0, dropped: 0, waiting: 0 };

export function createAlertMonitor(options: AlertMonitorOptions): AlertMonitor {
  const { settings, deliver, clock, monotonic, log, retryMs } = options;
  const { notify, currencies } = settings;
  let standings: AlertStandings = new Map();
  let latest: Snapshot | null = null;
  const alertQueue = deliver === null ? null : createLoggedAlertQueue(deliver, log, retryMs);
  return {
    look(snapshot) {
      latest = snapshot;
      if (alertQueue === null || notify === undefined) return;
      const times = { at: clock(), nowMs: monotonic(), alertsMax: alertQueue.room() };
      const observation = { ...times, ...conditionsOf(snapshot, notify, currencies) };
      const seen = observeConditions(standings, observation, {
        process: "courier",
        agent: snapshot.agent,
      });
      standings = seen.standings;
      alertQueue.take(seen.alerts);
    },
    latest: () => latest,
    notify() {
      if (alertQueue === null) return null;
      const trouble = alertQueue.trouble();
      const { waiting, dropped } = alertQueue.counts();
      return {
        ok: trouble === "",
        detail: trouble === "" ? "" : `${trouble}; ${waiting} wait, ${dropped} given up`,
      };
    },
    lowFunds: () =>
      latest === null || notify === undefined
        ? []
        : lowFundsOf(latest, notify.lowFunds, currencies),
    counts: () => alertQueue?.counts() ?? none,
    close: () => alertQueue?.close(),
  };
}
