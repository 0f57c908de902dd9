/**
 * Views, chain states and a small driver for tests of the scheduler: what the signer and the chain
 * would say, in short.
 */
import {
  applySchedulerEvent,
  type ChainState,
  createScheduler,
  type SchedulerEffect,
  type SchedulerEvent,
  type SchedulerState,
} from "../../agent/courier/scheduler/scheduler.ts";
import type {
  AttemptView,
  CourierAnswers,
  CourierView,
  WithdrawalState,
} from "../../agent/socket/verbs.ts";
import { familyOf } from "../../chains/families.ts";

export const account = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94";
const destination = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
export const token = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
export const gwei = 1_000_000_000n;
/** The fee market of every block here, in wei per gas. */
export const feeMarket = {
  baseFeePerGas: 10n * gwei,
  maxPriorityFeePerGas: gwei,
  maxPriorityFeePerGasHigh: gwei,
} as const;

export function idOf(sequence: number): string {
  return sequence.toString(16).padStart(32, "0");
}

export function attemptOf(attempt: number, over: Partial<AttemptView> = {}): AttemptView {
  return {
    attempt,
    txHash: `0x${attempt.toString(16).padStart(64, "a")}`,
    txParams: { gasLimit: "21000", maxFeePerGas: `${21n * gwei}`, maxPriorityFeePerGas: `${gwei}` },
    feeMax: `${21_000n * 21n * gwei}`,
    signedAt: 1,
    ...over,
  };
}

export function viewOf(
  sequence: number,
  state: WithdrawalState,
  over: Partial<CourierView> = {},
): CourierView {
  const bound = !["held", "approved", "refused", "expired"].includes(state);
  return {
    transactionId: idOf(sequence),
    sequence,
    mode: "auto",
    currency: "eth",
    chain: "local",
    network: "eip155:31337",
    contract: "",
    amount: "1",
    amountUnits: `${10n ** 18n}`,
    address: destination,
    tag: "",
    state,
    code: "",
    changedAt: 1,
    sender: account,
    account: bound ? account : "",
    slot: bound ? `${sequence}` : "",
    attempts: [],
    isOver: ["refused", "expired", "settled"].includes(state),
    ...over,
  };
}

/** A view from `released` on: its attempts carry bytes. */
export function sentView(
  sequence: number,
  state: WithdrawalState,
  attempts = 1,
  over: Partial<CourierView> = {},
): CourierView {
  const list = Array.from({ length: attempts }, (_, i) =>
    attemptOf(i + 1, { txHash: hashOf(sequence, i + 1), raw: `0x02${sequence}${i + 1}` }),
  );
  return viewOf(sequence, state, { attempts: list, ...over });
}

export function hashOf(sequence: number, attempt: number): string {
  return `0x${`${sequence.toString(16)}${attempt.toString(16).padStart(4, "0")}`.padStart(64, "0")}`;
}

export function helloOf(
  open: readonly CourierView[],
  over: Partial<CourierAnswers["hello"]> = {},
): CourierAnswers["hello"] {
  return {
    agent: "00".repeat(8),
    ledgerEpoch: 1,
    wallet: "11".repeat(16),
    head: { seq: 1, hash: "22".repeat(32) },
    acked: 0,
    nonce: "33".repeat(32),
    handshakeDone: true,
    locked: "",
    paused: false,
    stopped: [],
    config: { digest: "c0".repeat(32), readMs: 1 },
    accounts: [{ chain: "local", network: "eip155:31337", address: account, nextSlot: "7" }],
    open,
    ...over,
  };
}

export function chainStateOf(number: number, over: Partial<ChainState> = {}): ChainState {
  return {
    number,
    finalNumber: number - 2,
    feeMarket,
    balances: new Map([
      ["", 1000n * 10n ** 18n],
      [token, 10n ** 12n],
    ]),
    unfit: new Map(),
    accountHasCode: false,
    ...over,
  };
}

/** As heads and pools of two nodes that differ for a moment. */
const nothingCounted = { latest: 1n, pending: 1n, final: 0n, quorum: 2, isSame: false };

/** A scheduler with its clock. `feed` returns the effects; `only` those of one kind. */
export interface Driver {
  readonly scheduler: SchedulerState;
  nowMs: number;
  feed(event: SchedulerEvent): readonly SchedulerEffect[];
  block(number: number, over?: Partial<ChainState>): readonly SchedulerEffect[];
  tick(ms: number): readonly SchedulerEffect[];
}

export function drive(
  open: readonly CourierView[],
  over: Partial<CourierAnswers["hello"]> = {},
  inFlightMax?: number,
): Driver {
  const scheduler = createScheduler(inFlightMax === undefined ? {} : { inFlightMax });
  const driver: Driver = {
    scheduler,
    nowMs: 1000,
    feed: (event) => applySchedulerEvent(scheduler, event, driver.nowMs),
    block: (number, txParams = {}) =>
      driver.feed({ kind: "block", chain: "local", chainState: chainStateOf(number, txParams) }),
    tick(ms) {
      driver.nowMs += ms;
      return driver.feed({ kind: "tick" });
    },
  };
  const hello = helloOf(open, over);
  driver.feed({ kind: "hello", hello, isFresh: true, askedAtMs: 0 });
  // Nothing is signed before the nodes have counted; nothing of what they count here is beyond the
  // ledger.
  const [hotWallet] = hello.accounts;
  const isCounted =
    hello.handshakeDone &&
    hello.locked === "" &&
    hotWallet !== undefined &&
    hotWallet.nextSlot !== "" &&
    familyOf(hotWallet.network).slots.isCounted;
  if (isCounted)
    driver.feed({ kind: "slotCounts", chain: "local", answer: { ok: true, ...nothingCounted } });
  return driver;
}

export function only<K extends SchedulerEffect["kind"]>(
  effects: readonly SchedulerEffect[],
  kind: K,
): Extract<SchedulerEffect, { kind: K }>[] {
  return effects.filter(
    (effect): effect is Extract<SchedulerEffect, { kind: K }> => effect.kind === kind,
  );
}

/** `verb:sequence` of every request to the signer. */
export function asked(effects: readonly SchedulerEffect[]): string[] {
  return only(effects, "ask").map(
    (effect) => `${effect.verb}:${Number.parseInt(effect.body.transactionId, 16)}`,
  );
}

/**
 * The highest fee that the only request among the effects offers, in wei per gas; 0 without one.
 */
export function feeOf(effects: readonly SchedulerEffect[]): bigint {
  const [ask] = only(effects, "ask");
  const txParams =
    ask !== undefined && "txParams" in ask.body
      ? (ask.body.txParams as Readonly<Record<string, string>>)
      : {};
  return BigInt(txParams.maxFeePerGas ?? 0);
}
