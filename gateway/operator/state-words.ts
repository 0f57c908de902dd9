/**
 * The hints of states at the gateway, for `status`, the lists and the alerts alike: what ends a
 * state, by its row, and which list shows it. Pure.
 */
import { commandOfEnd, effectOfEnd, endWords } from "../../base/state-end.ts";
import { gatewayStateEnds } from "./state-ends.ts";

const { agents, alarms, books, clock, deposits, faults, withdrawals } = gatewayStateEnds;
const command = "autowithdraw-gateway";

/** Items of one domain and one merchant that cannot be read; "" for nobody's. */
export function faultHint(domain: string, merchant: string): string {
  const list = `${command} faults${merchant === "" ? "" : ` --merchant ${merchant}`}`;
  return Object.hasOwn(faults, domain)
    ? `${list} names them; it ${endWords(faults[domain as keyof typeof faults])}`
    : list;
}

/** A receiver of callbacks that fails. */
export function targetHint(id: string): string {
  return `${command} callbacks deliveries --callback ${id} shows its answers; it ${endWords(faults.target)}`;
}

/** Alarms that nobody has dealt with. */
export const alarmsHint = `${command} alarms --open shows each with the line to type; then ${endWords(alarms.open)}`;

/** Orders that wait for the reader of their chain. */
export const readerHint = endWords(agents.unread);

/** A deposit whose credited payment left the chain. */
export function reorgHint(id: string): string {
  return `${command} deposits show ${id} names the payment; then ${endWords(deposits.reorged, { ID: id })}`;
}

/** An order that its wallet has paid already, as it seems. */
export function heldHint(id: string): string {
  return `${command} withdrawals show ${id} names the transaction; then ${endWords(withdrawals.awaiting_operator, { ORDER: id })}`;
}

/** An agent that signs no first payment on a network. */
export const stopHint = `its operator ends that, once it is explained: autowithdraw status, then ${endWords(agents.networkStopped)}`;

/** A currency in which nothing is paid here. */
export function heldCurrencyHint(id: string): string {
  return `look at that transaction; once it is clear why: ${commandOfEnd(agents.currencyHeld, { ID: id })}`;
}

/** The line by which an agent's operator lets first payments in a currency go on. */
export function agentsResumeLine(id: string): string {
  return commandOfEnd(agents.currencyStopped, { ID: id });
}

/** A currency in which an agent signs no first payment. */
export function stoppedCurrencyHint(id: string): string {
  return `its operator ends that, once it is explained: autowithdraw status, then ${agentsResumeLine(id)}`;
}

/** Agents without a link. */
export const awayHint = `${endWords(agents.away)}; ${command} agents shows when each was last seen`;

/** Coins of a hot wallet that no payment spends. */
export const coinHint = `${effectOfEnd(books.unusable)}: docs/chains.md, section 7`;

/** A database from a backup. */
export const restoredHint = `docs/recovering.md, section 2; it ${endWords(agents.restored)}`;

/** The line to type for a failed check of `/ready`, by the first word of its name. */
export const checkHints: Readonly<Record<string, string>> = {
  database: `systemctl status ${command}; then ${commandOfEnd(faults.head)}`,
  disk: "make room on that disk; nothing is damaged",
  chain: endWords(faults.head),
  clock: `set the clock by NTP: ${endWords(clock.ahead)}; until then tokens get 503 clock_wrong`,
  currency: `${command} currencies shows what its contract says`,
  books: `${command} reconcile --last lists each difference; then ${endWords(books.difference)}`,
  prices: `${command} prices shows each source's answer; it ${endWords(faults.price)}`,
};

/** The line to type for any other check. */
export const otherCheckHint = commandOfEnd(faults.head);
