/**
 * The courier during one run of the signer: scheduler, link, reports and watches, wired together.
 * Begins with the signer's `hello` and ends with its socket. The next run begins with the next
 * `hello`, by the same steps.
 */

import type { FeeMarket } from "../../chains/family.ts";
import type { ChainState, UnusableCoin } from "../../chains/nodes.ts";
import { envelopeHeaderBytes } from "../../protocol/envelope.ts";
import { parseAck } from "../../protocol/payloads.ts";
import { isWithoutFeeCoin } from "../problems/table.ts";
import type { PushMessage } from "../socket/verbs.ts";
import { createEffectRunner, type SignerSocket, settleAnswer } from "./effects.ts";
import { createLink, type Link } from "./link/link.ts";
import { prefetchAnswers } from "./nodes/prefetch.ts";
import { createGatewayQuestions } from "./questions.ts";
import { createReporter, type Reporter } from "./report/report.ts";
import {
  askSignerHello,
  type RunContext,
  type RunOptions,
  type RunState,
  type SignerHello,
} from "./run-state.ts";
import {
  accountKey,
  codeOfLostControl,
  isHotWalletIdle,
  listOpenSlots,
} from "./scheduler/accounts.ts";
import {
  applySchedulerEvent,
  createScheduler,
  type SchedulerEvent,
  type SchedulerRefusal,
} from "./scheduler/scheduler.ts";
import { listUnbegunAccounts, listWaitingItems } from "./scheduler/waiting.ts";
import { describeNodeProblems, snapshotOf, statusOf, stillAskingDetail } from "./status.ts";
import { type ChainPolling, startChainPolling } from "./watch/watch.ts";

/* Statements of the gateway that the signer refused because of a difference of clocks. */

/** A clock that jumped is often corrected within this time. */
const skewedMs = 30_000;

/**
 * Restarts the link after a refusal because of clocks. The gateway names an end twice on a
 * connection, then only after the next welcome. A signer that refused both needs a new connection;
 * `status` shows CLOCK_SKEW while the clocks differ.
 */
export function reconnectAfterClockSkew(
  { state, options }: Pick<RunContext, "state" | "options">,
  link: Pick<Link, "drop">,
): void {
  const { skewedAtMs } = state;
  if (skewedAtMs === null || state.link !== "up" || options.monotonic() - skewedAtMs < skewedMs)
    return;
  state.skewedAtMs = null;
  link.drop("LINK_RESUME", "CLOCK_SKEW");
}

/*
 * Runs the link: each frame of the gateway goes to the signer before any effect, and each statement
 * of the signer goes to the gateway until it is acknowledged. A frame that the signer does not take
 * ends the connection or restarts it.
 */

/**
 * Acknowledgements come much sooner. After this time without a new statement the signer is asked.
 */
const quietMs = 30_000;

/**
 * Connects to the gateway. From then on the gateway's frames go to the signer, and the signer's
 * statements to the gateway.
 */
function openLink(
  shared: RunContext,
  hello: SignerHello,
): { readonly link: Link; readonly reporter: Reporter } {
  const { options, signer, state } = shared;
  const { log, metrics, onBug } = options;
  const { agent, wallet, ledgerEpoch, nonce } = hello;
  const onExpected = (chain: string): void => shared.feed({ kind: "expected", chain });
  const link = createLink({
    address: options.address,
    gatewayKey: options.gatewayKey,
    linkKey: options.linkKey,
    self: { agent, wallet, ledgerEpoch, nonce },
    software: options.software,
    clock: options.clock,
    random: options.random,
    head: () => state.head,
    open: shared.openSlots,
    ...(options.linkTimes === undefined ? {} : { times: options.linkTimes }),
    onUp(frame) {
      metrics.count("linkUp");
      state.linkUps += 1;
      answerHandshake(shared, link, reporter, frame).catch(onBug);
    },
    onRecovery(frame) {
      keepOrder(shared, frame).catch(onBug);
    },
    onFrame(envelope, frame) {
      const take = { jobs: admitJobs, ack: forwardAcknowledgement, sightings: keepSightings }[
        envelope
      ];
      take(shared, link, frame).catch(onBug);
      // While the signer verifies and writes, the nodes can already answer the questions that this
      // job will need.
      if (envelope === "jobs")
        setImmediate(() => prefetchAnswers(frame, hello.accounts, { ...options, onExpected }));
    },
    onDown({ code, detail, wasUp, retryMs }) {
      metrics.count("linkDown");
      state.skewedAtMs = null;
      reporter.pause();
      const text = `${code}: ${detail}`;
      const isNews = wasUp || state.linkDetail !== text;
      state.link = "down";
      state.isOffered = false;
      state.stated = null;
      state.linkDetail = text;
      if (isNews) log.warn({ event: "link-down", code, detail, retryMs }, "the link is down");
      else log.debug({ event: "link-retry", code, detail, retryMs }, "the link is still down");
      shared.tellStatus();
    },
  });
  const { clock, linkKey, monotonic } = options;
  const send = (frame: Uint8Array): boolean => link.send(frame);
  state.questions = createGatewayQuestions({
    self: { agent, ledgerEpoch },
    linkKey,
    clock,
    monotonic,
    send,
  });
  const reporter = createReporter({
    link,
    report: async (after) => {
      const answer = await settleAnswer(signer.request("report", { after }));
      if (!answer.ok) throw new Error(`the signer gave no statements: ${answer.code}`);
      return answer.frames;
    },
    onStatement(head) {
      metrics.count("statements");
      state.stated = { seq: head.seq, atMs: options.monotonic() };
      if (head.seq > state.head.seq) state.head = head;
    },
  });
  return { link, reporter };
}

/**
 * Restarts a link without acknowledgements. A statement or its acknowledgement may get lost on a
 * good link, or the signer may refuse the acknowledgement while clocks differ. A new connection
 * repeats both, and also the statement about the signer's lock, which comes in no other way. No
 * acknowledgement answers the statement about the accepted welcome, so a quiet link repeats it.
 * Sends the questions that waited for their second, too.
 */
async function checkReceived(shared: RunContext, link: Link, reporter: Reporter): Promise<void> {
  const { state, options } = shared;
  state.questions?.flush();
  const { stated } = state;
  if (stated === null || state.link !== "up" || options.monotonic() - stated.atMs < quietMs) return;
  const looked = { seq: stated.seq, atMs: options.monotonic() };
  state.stated = looked;
  const hello = stated.seq > state.acked ? await askSignerHello(shared) : null;
  if (state.stated !== looked || (hello !== null && !("head" in hello))) return;
  if (hello !== null && hello.acked < stated.seq) link.drop("LINK_RESUME", "no acknowledgement");
  else reporter.ask();
}

/**
 * Gives the signer the welcome before any other frame of this connection. Then sends the gateway
 * every statement without acknowledgement.
 */
async function answerHandshake(
  shared: RunContext,
  link: Link,
  reporter: Reporter,
  frame: Uint8Array,
): Promise<void> {
  const { signer, state, options } = shared;
  const connection = state.linkUps;
  const admitted = await settleAnswer(signer.request("admit", { frames: [frame] }));
  const isOver = (): boolean => state.isEnded || state.linkUps !== connection || !link.isUp;
  if (isOver()) return;
  if (!admitted.ok) {
    link.drop("LINK_REFUSED", reasonOf(admitted));
    return;
  }
  const hello = await askSignerHello(shared);
  if (isOver()) return;
  if (!("head" in hello)) {
    link.drop("LINK_REFUSED", hello.code);
    return;
  }
  state.link = "up";
  state.linkDetail = "";
  if (hello.head.seq > state.head.seq) state.head = hello.head;
  const { agent, ledgerEpoch, head } = hello;
  options.log.info({ event: "link-up", agent, ledgerEpoch, ledger: head.seq }, "the link is up");
  state.stated = { seq: hello.acked, atMs: options.monotonic() };
  // Uses the signer's acknowledged head, not the gateway's head, because only the signer knows its
  // own ledger.
  reporter.resume(hello.acked);
  shared.tellStatus();
}

/**
 * Gives a recovery offer to the signer, where it waits for the operator. The scheduler stops here.
 */
async function keepOrder(shared: RunContext, frame: Uint8Array): Promise<void> {
  const { signer, state, options } = shared;
  const kept = await settleAnswer(signer.request("admit", { frames: [frame] }));
  if (state.isEnded) return;
  if (!kept.ok) {
    options.log.warn(
      { event: "recovery-refused", code: kept.code },
      "the signer did not take a recovery offer",
    );
    return;
  }
  // All parts of a recovery offer have the same effect on the signer: it stops.
  if (state.isOffered) return;
  state.isOffered = true;
  state.linkDetail = "RECOVERY_OFFERED: the gateway offers a recovery";
  await askSignerHello(shared);
  shared.tellStatus();
}

async function admitJobs(shared: RunContext, link: Link, frame: Uint8Array): Promise<void> {
  const { signer, feed, options } = shared;
  const arrivedAtMs = options.monotonic();
  options.metrics.count("jobFrames");
  const answer = await settleAnswer(signer.request("admit", { frames: [frame] }));
  if (answer.ok) {
    const { withdrawals } = answer;
    ordersTaken(shared, "");
    for (const { transactionId, state } of withdrawals) {
      if (state === "approved") options.metrics.approved(transactionId, arrivedAtMs);
    }
    feed({ kind: "views", withdrawals });
    for (const { transactionId, state, code, amount, currency } of withdrawals) {
      const fields = { transactionId, state, code, amount, currency };
      // The log reports an approved withdrawal when it is signed.
      if (state === "approved")
        options.log.debug({ event: "withdrawal-approved", ...fields }, "a withdrawal was approved");
      else
        options.log.info(
          { event: "withdrawal-admitted", ...fields },
          `a withdrawal was taken in, and is ${state}`,
        );
    }
    return;
  }
  ordersTaken(shared, answer.code);
  refusedFrame(options, link, answer);
}

/**
 * While the ledger takes nothing, new jobs wait at the gateway and no list here shows them. So
 * `status` shows the reason in the link's detail.
 */
function ordersTaken({ state, tellStatus }: RunContext, code: string): void {
  const detail =
    code.startsWith("LEDGER_") || code === "CLOCK_AHEAD"
      ? `${code}: the signer does not take new orders`
      : "";
  if (state.link !== "up" || state.isOffered || detail === state.linkDetail) return;
  state.linkDetail = detail;
  tellStatus();
}

/** For clocks that differ the code alone does not say which one is wrong. */
function reasonOf({ code, detail = "" }: SchedulerRefusal): string {
  return code === "CLOCK_SKEW" && detail !== "" ? `${code}: ${detail}` : code;
}

/**
 * The gateway's word on coins, next slots and withdrawals. The signer verifies it and says what it
 * took.
 */
async function keepSightings(
  shared: RunContext,
  link: Pick<Link, "drop">,
  frame: Uint8Array,
): Promise<void> {
  const { signer, feed, options } = shared;
  const answer = await settleAnswer(signer.request("sightings", { frames: [frame] }));
  if (answer.ok)
    feed({ kind: "sighted", coins: answer.coins, next: answer.next, orders: answer.orders });
  else refusedFrame(options, link, answer);
}

/** An acknowledgement of the gateway, as it came. */
export async function forwardAcknowledgement(
  shared: RunContext,
  link: Pick<Link, "drop">,
  frame: Uint8Array,
): Promise<void> {
  const { signer, feed, options, state } = shared;
  options.metrics.count("ackFrames");
  const answer = await settleAnswer(signer.request("release", { frames: [frame] }));
  if (answer.ok) {
    for (const { transactionId } of answer.withdrawals)
      options.metrics.reached(transactionId, "released");
    feed({ kind: "steps", withdrawals: answer.withdrawals });
    keepUnreachable(shared, frame);
    return;
  }
  if (answer.code === "SIGNER_LOCKED") keepAcknowledged(state, frame);
  if (answer.code === "CLOCK_SKEW") state.skewedAtMs ??= options.monotonic();
  refusedFrame(options, link, answer);
}

/**
 * A locked signer takes no acknowledgement and does not report one. But the signer verified this
 * one before its answer.
 */
function keepAcknowledged(state: RunContext["state"], frame: Uint8Array): void {
  const { head } = parseAck(frame.subarray(envelopeHeaderBytes));
  state.acked = Math.max(state.acked, head.seq);
}

/**
 * Keeps which withdrawals no block takes, from an acknowledgement that the signer took. Most name
 * none, and are not read here.
 */
function keepUnreachable(
  { state, feed }: Pick<RunContext, "state" | "feed">,
  frame: Uint8Array,
): void {
  const isNaming = Buffer.from(frame.buffer, frame.byteOffset, frame.length).includes(
    '"unreachable"',
  );
  if (!isNaming && state.unreachable === "") return;
  const { unreachable = [] } = parseAck(frame.subarray(envelopeHeaderBytes));
  const named = unreachable.join(" ");
  if (named === state.unreachable) return;
  state.unreachable = named;
  feed({ kind: "unreachable", transactionIds: unreachable });
}

/**
 * A frame from another sender than the gateway ends the connection; a frame out of order restarts
 * it.
 */
function refusedFrame(
  { log, metrics }: RunOptions,
  link: Pick<Link, "drop">,
  { code, effect }: SchedulerRefusal,
): void {
  metrics.count("refusals");
  log.warn({ event: "frame-refused", code }, "the signer did not take a frame of the gateway");
  if (effect !== "none" || code === "JOB_GAP" || code === "JOB_ORDER" || code === "SOCKET_BUSY")
    link.drop("LINK_RESUME", code);
  else if (/^(ENVELOPE|JSON|ADMISSION)_/.test(code)) link.drop("LINK_REFUSED", code);
}

/*
 * Watches a chain during a run: passes the nodes' reports to the scheduler, and the nodes'
 * availability to the status.
 */

/** Watches a deposit address while a sweep of it is open. The chain's own watch gives the rest. */
function watchDeposit(
  { options, feed }: RunContext,
  chain: string,
  account: string,
): ChainPolling | null {
  const access = options.chainAccess.get(chain);
  if (access === undefined) return null;
  return startChainPolling({
    access,
    account,
    pollMsMin: options.pollMs.min,
    pollMsMax: options.pollMs.max,
    clock: options.monotonic,
    isIdle: () => false,
    onBug: options.onBug,
    onHead: (number) => feed({ kind: "head", chain, account, number }),
    onChainState: (chainState) => feed({ kind: "block", chain, account, chainState }),
    onAway: (code) => feed({ kind: "away", chain, account, code }),
  });
}

/** Whether a currency of the chain is below the threshold of notify.lowFunds. */
function isLow({ alertMonitor, currencies }: RunContext["options"], chain: string): boolean {
  return (
    alertMonitor?.lowFunds().some(({ currency }) => currencies[currency]?.chain === chain) === true
  );
}

const partNames = {
  market: "the market's price",
  funds: "the account's funds",
  control: "the account's own state",
} as const;

/** What lacks beside blocks that are read, each with its code. */
function partWords({ unread }: ChainState): readonly string[] {
  return [...(unread ?? [])].map(
    ([part, { code, message }]) => `${code}: ${partNames[part]} cannot be read: ${message}`,
  );
}

/** Watches a hot wallet on one chain. Returns null if no nodes are configured for it. */
function watchChain(
  { options, feed, state, tellStatus, isIdle }: RunContext,
  chain: string,
  account: string,
): ChainPolling | null {
  const access = options.chainAccess.get(chain);
  if (access === undefined) return null;
  const { log, metrics, pollMs, onBug } = options;
  const known = {
    away: stillAskingDetail,
    awayWords: "",
    block: 0,
    nativeBalance: "",
    feeMarket: null as FeeMarket | null,
    balances: new Map<string, bigint>() as ReadonlyMap<string, bigint>,
    unfit: new Map<string, string>() as ReadonlyMap<string, string>,
    unread: [] as readonly string[],
    lost: "" as ReturnType<typeof codeOfLostControl>,
    unusable: "",
  };
  state.chains.set(chain, known);
  return startChainPolling({
    access,
    account,
    pollMsMin: pollMs.min,
    pollMsMax: pollMs.max,
    clock: options.monotonic,
    isIdle: () => isIdle(chain),
    isShort: () => isWithoutFeeCoin(known.nativeBalance) || isLow(options, chain),
    onBug,
    onHead(number) {
      metrics.count("blocks");
      known.block = number;
      feed({ kind: "head", chain, number });
    },
    onChainState(chainState) {
      const isBack = known.away !== "";
      if (isBack)
        log.info(
          { event: "chain-answers", chain, block: chainState.number },
          "the chain's nodes answer",
        );
      const lost = codeOfLostControl(chainState);
      if (lost !== "" && known.lost === "")
        log.error({ event: "account-code", code: lost, chain, account }, "an operator must look");
      known.away = "";
      known.awayWords = "";
      known.block = chainState.number;
      known.lost = lost;
      known.nativeBalance = `${chainState.balances.get("") ?? ""}`;
      known.balances = chainState.balances;
      known.feeMarket = chainState.feeMarket;
      known.unfit = chainState.unfit;
      known.unusable = unusableWords(chainState.unusable ?? []);
      known.unread = partWords(chainState);
      feed({ kind: "block", chain, chainState });
      if (isBack) tellStatus();
    },
    onAway(code, words) {
      metrics.count("nodeFaults");
      known.away = code;
      known.awayWords = words;
      const detail = words.replace(/^[A-Z_]+: /, "");
      log.warn(
        {
          event: "chain-away",
          chain,
          code,
          detail,
          nodes: describeNodeProblems(access, chain, options.clock()),
        },
        "the chain's nodes do not answer",
      );
      feed({ kind: "away", chain, code });
      tellStatus();
    },
  });
}

/** Says which coins of the hot wallet no payment spends; "" for none. */
function unusableWords(coins: readonly UnusableCoin[]): string {
  const [first] = coins;
  if (first === undefined) return "";
  const units = coins.reduce((sum, coin) => sum + coin.units, 0n);
  const count = coins.length === 1 ? "1 coin" : `${coins.length} coins`;
  return `${count} of ${units} units in all left out of what is available, such as ${first.id}: ${first.words}`;
}

const tickMs = 1000;
const statusMsDefault = 2000;

/**
 * Takes over a connected signer that has answered `hello`. @returns a function that ends the run
 * and the signer's connection
 */
export function beginRun(
  options: RunOptions,
  signer: SignerSocket,
  hello: SignerHello,
): { end(): void } {
  const { monotonic, onBug } = options;
  const scheduler = createScheduler();
  const state = newState(hello);
  const feed = (event: SchedulerEvent): void => {
    if (state.isEnded) return;
    for (const effect of applySchedulerEvent(scheduler, event, monotonic())) carry(effect);
    if (deposits.size > 0 || scheduler.book.accounts.size > hotWalletCount) watchDeposits();
  };
  const hotWalletCount = new Set(
    hello.accounts.flatMap(({ deposit, chain }) => (deposit === true ? [] : [chain])),
  ).size;
  const hotWallets = new Map<string, ChainPolling | null>();
  const deposits = new Map<string, ChainPolling | null>();
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
    isIdle: (chain) => isHotWalletIdle(scheduler.book, chain, monotonic()),
    openSlots: () => listOpenSlots(scheduler.book),
  };
  const refresh = (): void => {
    askSignerHello(shared).catch(onBug);
  };
  const wake = (chain: string, account?: string): void => {
    (account === undefined
      ? hotWallets.get(chain)
      : deposits.get(accountKey(chain, account))
    )?.wake();
  };
  const carry = createEffectRunner({ ...options, signer, feed, refresh, wake, state });

  feed({ kind: "hello", hello, isFresh: true, askedAtMs: monotonic() });
  for (const { deposit, chain, address } of hello.accounts)
    if (deposit !== true) hotWallets.set(chain, watchChain(shared, chain, address));
  const { link, reporter } = openLink(shared, hello);
  signer.onPush((push) => takePush(shared, reporter, push));
  const ticking = setInterval(() => {
    reconnectAfterClockSkew(shared, link);
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
function newState({ head, acked }: SignerHello): RunState {
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
      askSignerHello(shared).catch(options.onBug);
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
