/**
 * The courier during one run of the signer: scheduler, link, reports and watches, wired together.
 * Begins with the signer's `hello` and ends with its socket. The next run begins with the next
 * `hello`, by the same steps.
 */
import type { PushMessage } from "../socket/verbs.ts";
import { watchChain, watchDeposit } from "./chain-watch.ts";
import { createHands, type SignerSocket, settleAnswer } from "./effects.ts";
import { checkReceived, openLink } from "./gateway-link.ts";
import type { Reporter } from "./report/report.ts";
import {
  askHello,
  type Hello,
  type RunContext,
  type RunOptions,
  type RunState,
} from "./run-state.ts";
import { accountKey, isIdle, openSlots } from "./scheduler/accounts.ts";
import { createScheduler, type SchedulerEvent, stepScheduler } from "./scheduler/scheduler.ts";
import { listUnbegunAccounts, listWaitingItems } from "./scheduler/waiting.ts";
import { checkSkewed } from "./skew.ts";
import { snapshotOf, statusOf } from "./status.ts";
import type { Watch } from "./watch/watch.ts";

const tickMs = 1000;
const statusMsDefault = 2000;

/**
 * Takes over a connected signer that has answered `hello`. @returns a function that ends the run
 * and the signer's connection
 */
export function beginRun(options: RunOptions, signer: SignerSocket, hello: Hello): { end(): void } {
  const { monotonic, onBug } = options;
  const scheduler = createScheduler();
  const state = newState(hello);
  const feed = (event: SchedulerEvent): void => {
    if (state.isEnded) return;
    for (const effect of stepScheduler(scheduler, event, monotonic())) carry(effect);
    if (deposits.size > 0 || scheduler.book.accounts.size > hotWalletCount) watchDeposits();
  };
  const hotWalletCount = new Set(
    hello.accounts.flatMap(({ deposit, chain }) => (deposit === true ? [] : [chain])),
  ).size;
  const hotWallets = new Map<string, Watch | null>();
  const deposits = new Map<string, Watch | null>();
  const watchDeposits = (): void => {
    const { accounts } = scheduler.book;
    for (const [key, watch] of deposits) {
      if (accounts.has(key)) continue;
      watch?.close();
      deposits.delete(key);
    }
    for (const [key, { isDeposit, chain, address }] of accounts) {
      if (isDeposit && !deposits.has(key)) deposits.set(key, watchDeposit(shared, chain, address));
    }
  };
  const tellStatus = (): void => {
    options.alertMonitor?.look(snapshotOf(shared, hello.agent, scheduler));
    settleAnswer(
      signer.request("tell", {
        courier: statusOf(shared, listWaitingItems(scheduler), listUnbegunAccounts(scheduler)),
      }),
    )
      .then((answer) => {
        if (answer.ok) state.summary = answer.summary;
      })
      .catch(onBug);
  };
  const shared: RunContext = {
    options,
    signer,
    feed,
    state,
    tellStatus,
    isIdle: (chain) => isIdle(scheduler.book, chain, monotonic()),
    openSlots: () => openSlots(scheduler.book),
  };
  const refresh = (): void => {
    askHello(shared).catch(onBug);
  };
  const wake = (chain: string, account?: string): void => {
    (account === undefined
      ? hotWallets.get(chain)
      : deposits.get(accountKey(chain, account))
    )?.wake();
  };
  const carry = createHands({ ...options, signer, feed, refresh, wake, state });

  feed({ kind: "hello", hello, isFresh: true, askedAtMs: monotonic() });
  for (const { deposit, chain, address } of hello.accounts)
    if (deposit !== true) hotWallets.set(chain, watchChain(shared, chain, address));
  const { link, reporter } = openLink(shared, hello);
  signer.onPush((push) => takePush(shared, reporter, push));
  const ticking = setInterval(() => {
    checkSkewed(shared, link);
    feed({ kind: "tick" });
    checkReceived(shared, link, reporter).catch(onBug);
  }, tickMs);
  const statusTimer = setInterval(tellStatus, options.statusMs ?? statusMsDefault);
  tellStatus();
  return {
    end() {
      if (state.isEnded) return;
      state.isEnded = true;
      clearInterval(ticking);
      clearInterval(statusTimer);
      reporter.pause();
      link.close();
      for (const watch of [...hotWallets.values(), ...deposits.values()]) watch?.close();
      signer.close();
    },
  };
}

/** Before anything was asked or dialled. */
function newState({ head, acked }: Hello): RunState {
  return {
    head,
    link: "down",
    linkDetail: "dialling",
    linkUps: 0,
    skewedAtMs: null,
    isEnded: false,
    isOffered: false,
    stated: null,
    questions: null,
    unreachable: "",
    acked,
    summary: null,
    chains: new Map(),
  };
}

function pausedEvent({
  push: kind,
  ...stop
}: Extract<PushMessage, { push: "paused" }>): SchedulerEvent {
  return { kind, ...stop };
}

function takePush(shared: RunContext, reporter: Reporter, push: PushMessage): void {
  const { feed, options, signer } = shared;
  switch (push.push) {
    case "statement":
      for (const frame of push.frames) reporter.push({ frame, after: push.after, head: push.head });
      break;
    case "changed":
      feed({ kind: "views", withdrawals: [push.withdrawal] });
      break;
    case "locked":
      options.log.error(
        { event: "agent-locked", code: push.code },
        "the signer is locked: an operator must look",
      );
      feed({ kind: "locked", code: push.code });
      break;
    case "handshake":
      askHello(shared).catch(options.onBug);
      reporter.ask();
      break;
    case "paused":
      options.log.info(
        { event: "agent-paused", paused: push.paused, network: push.network ?? "" },
        push.paused ? "the signer is paused" : "the signer signs again",
      );
      feed(pausedEvent(push));
      break;
    case "recovered":
      options.log.info(
        { event: "agent-recovered" },
        "the ledger was recovered: everything begins again with its new epoch",
      );
      signer.close();
  }
}
