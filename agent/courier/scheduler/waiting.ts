/** The reasons for which withdrawals wait, in words for `status`. Pure. */
import { limitGroupOf } from "../../../protocol/job-mode.ts";
import type { CourierStatus } from "../../socket/verbs.ts";
import { describeUntakenOffer } from "./offers.ts";
import type { SchedulerState } from "./scheduler.ts";

import { describeStandstill } from "./signing.ts";
import { describeCurrencyStop } from "./stops.ts";

const waitingMax = 100;

/** The hot wallets that have not begun and wait for somebody's word, by chain. */
export function listUnbegunAccounts(state: SchedulerState): NonNullable<CourierStatus["unbegun"]> {
  return [...state.book.accounts.values()].flatMap(
    ({ isDeposit, chain, nextSlot, slotCounts: { detail } }) =>
      !isDeposit && nextSlot === "" && detail.startsWith("ACCOUNT_FIRST_")
        ? [{ chain, why: detail }]
        : [],
  );
}

/** The withdrawals that wait, each with its reason: for `status`. */
export function listWaitingItems(state: SchedulerState): CourierStatus["waiting"] {
  const found: { transactionId: string; why: string }[] = [];
  for (const item of state.book.items.values()) {
    if (found.length === waitingMax) break;
    const isQueued = item.view.state === "approved" && item.asking === null;
    const standing = isQueued
      ? describeStandstill(state.book, item.account) || describeCurrencyStop(state.book, item.view)
      : "";
    const first = isQueued ? item.account.queues.get(limitGroupOf(item.view))?.[0] : undefined;
    const why = standing || describeUntakenOffer(item) || item.waiting || first?.waiting || "";
    if (why !== "") found.push({ transactionId: item.view.transactionId, why });
  }
  return found;
}
