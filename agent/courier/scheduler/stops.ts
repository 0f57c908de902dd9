/** The stops of the signer that are no lock, as its hello and its pushes tell them. Pure. */
import type { CourierAnswers } from "../../socket/verbs.ts";
import type { SchedulerEvent } from "./events.ts";
import type { Account, Book } from "./item.ts";

/** Takes every stop of a hello. */
export function takeStops(book: Book, { paused, stopped }: Pick<CourierAnswers["hello"], "paused" | "stopped">): void {
  book.paused = paused;
  book.stopped.clear();
  for (const { network, code } of stopped) book.stopped.set(network, code);
}

/** Takes a stop or its end. @returns the accounts whose queues may now move */
export function takePaused(book: Book, event: Extract<SchedulerEvent, { kind: "paused" }>): Iterable<Account> {
  const { paused, network, code = "NETWORK_PAUSED" } = event;
  if (network === undefined) book.paused = paused;
  else if (paused) book.stopped.set(network, code);
  else book.stopped.delete(network);
  return paused ? [] : book.accounts.values();
}
