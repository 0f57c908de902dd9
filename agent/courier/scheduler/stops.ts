/** The stops of the signer that are no lock, as its hello and its pushes tell them. Pure. */
import { parseStopKey, stopKey } from "../../socket/stops.ts";
import type { CourierAnswers, CourierView } from "../../socket/verbs.ts";
import type { SchedulerEvent } from "./events.ts";
import type { Account, SchedulerBook } from "./item.ts";

/** Takes every stop of a hello. */
export function takeStops(
  book: SchedulerBook,
  { paused, stopped }: Pick<CourierAnswers["hello"], "paused" | "stopped">,
): void {
  book.paused = paused;
  book.stopped.clear();
  for (const stop of stopped) book.stopped.set(stopKey(stop), stop.code);
}

/** Takes a stop or its end. @returns the accounts whose queues may now move */
export function takePauseChange(
  book: SchedulerBook,
  event: Extract<SchedulerEvent, { kind: "paused" }>,
): Iterable<Account> {
  const { paused, network, currency, code = "NETWORK_PAUSED" } = event;
  if (network === undefined) book.paused = paused;
  else {
    const key = stopKey(currency === undefined ? { network } : { network, currency });
    if (paused) book.stopped.set(key, code);
    else book.stopped.delete(key);
  }
  return paused ? [] : book.accounts.values();
}

/** The reason why no first attempt in a currency is signed; "" while signing goes on. */
export function describeCurrencyStop(
  { stopped }: SchedulerBook,
  { network, currency }: Pick<CourierView, "network" | "currency">,
): string {
  return stopped.has(stopKey({ network, currency })) ? `CURRENCY_MOVES_OTHERWISE: ${currency}` : "";
}

/** The currencies of a network in which no first attempt is signed. */
export function stoppedCurrenciesOn(
  { stopped }: SchedulerBook,
  network: string,
): readonly string[] {
  const places = [...stopped.keys()].map(parseStopKey).filter((place) => place.network === network);
  return places.flatMap(({ currency }) => (currency === undefined ? [] : [currency]));
}
