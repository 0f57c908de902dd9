/**
 * Views, facts and a small driver for tests of the desk: what the signer and the chain would say,
 * in short.
 */
import {
  type BlockFacts,
  createDesk,
  type DeskEffect,
  type DeskEvent,
  type DeskState,
  step,
} from "../../agent/courier/desk/desk.ts";
import type { CourierAnswers, CourierView, VersionView, WithdrawalState } from "../../agent/socket/verbs.ts";
import { familyOf } from "../../chains/families.ts";

export const account = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94";
const destination = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
export const token = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
export const gwei = 1_000_000_000n;

export function idOf(sequence: number): string {
  return sequence.toString(16).padStart(32, "0");
}

export function versionOf(version: number, over: Partial<VersionView> = {}): VersionView {
  return {
    version,
    txHash: `0x${version.toString(16).padStart(64, "a")}`,
    facts: { gasLimit: "21000", maxFeePerGas: `${21n * gwei}`, maxPriorityFeePerGas: `${gwei}` },
    feeMax: `${21_000n * 21n * gwei}`,
    signedAt: 1,
    ...over,
  };
}

export function viewOf(sequence: number, state: WithdrawalState, over: Partial<CourierView> = {}): CourierView {
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
    state,
    code: "",
    changedAt: 1,
    payer: account,
    account: bound ? account : "",
    slot: bound ? `${sequence}` : "",
    versions: [],
    isOver: ["refused", "expired", "settled"].includes(state),
    ...over,
  };
}

/** A view from `released` on: its versions carry bytes. */
export function sentView(sequence: number, state: WithdrawalState, versions = 1, over: Partial<CourierView> = {}): CourierView {
  const list = Array.from({ length: versions }, (_, i) =>
    versionOf(i + 1, { txHash: hashOf(sequence, i + 1), raw: `0x02${sequence}${i + 1}` }),
  );
  return viewOf(sequence, state, { versions: list, ...over });
}

export function hashOf(sequence: number, version: number): string {
  return `0x${`${sequence.toString(16)}${version.toString(16).padStart(4, "0")}`.padStart(64, "0")}`;
}

export function helloOf(open: readonly CourierView[], over: Partial<CourierAnswers["hello"]> = {}): CourierAnswers["hello"] {
  return {
    agent: "00".repeat(8),
    epoch: 1,
    wallet: "11".repeat(16),
    head: { seq: 1, hash: "22".repeat(32) },
    acked: 0,
    nonce: "33".repeat(32),
    greeted: true,
    locked: "",
    paused: false,
    accounts: [{ chain: "local", network: "eip155:31337", address: account, nextSlot: "7" }],
    open,
    ...over,
  };
}

export function factsOf(number: number, over: Partial<BlockFacts> = {}): BlockFacts {
  return {
    number,
    finalNumber: number - 2,
    price: { baseFeePerGas: 10n * gwei, maxPriorityFeePerGas: gwei, maxPriorityFeePerGasHigh: gwei },
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
const nothingCounted = { latest: 1n, pending: 1n, final: 0n, witnesses: 2, isSame: false };

/** A desk with its clock. `feed` returns the effects; `only` those of one kind. */
export interface Driver {
  readonly desk: DeskState;
  nowMs: number;
  feed(event: DeskEvent): readonly DeskEffect[];
  block(number: number, over?: Partial<BlockFacts>): readonly DeskEffect[];
  tick(ms: number): readonly DeskEffect[];
}

export function drive(open: readonly CourierView[], over: Partial<CourierAnswers["hello"]> = {}, inFlightMax?: number): Driver {
  const desk = createDesk(inFlightMax === undefined ? {} : { inFlightMax });
  const driver: Driver = {
    desk,
    nowMs: 1000,
    feed: (event) => step(desk, event, driver.nowMs),
    block: (number, facts = {}) => driver.feed({ kind: "block", chain: "local", facts: factsOf(number, facts) }),
    tick(ms) {
      driver.nowMs += ms;
      return driver.feed({ kind: "tick" });
    },
  };
  const hello = helloOf(open, over);
  driver.feed({ kind: "hello", hello, isFresh: true, askedAtMs: 0 });
  // Nothing is signed before the nodes have counted; nothing of what they count here is beyond the
  // ledger.
  const [hot] = hello.accounts;
  const isCounted =
    hello.greeted && hello.locked === "" && hot !== undefined && hot.nextSlot !== "" && familyOf(hot.network).slots.isCounted;
  if (isCounted) driver.feed({ kind: "counters", chain: "local", answer: { ok: true, ...nothingCounted } });
  return driver;
}

export function only<K extends DeskEffect["kind"]>(effects: readonly DeskEffect[], kind: K): Extract<DeskEffect, { kind: K }>[] {
  return effects.filter((effect): effect is Extract<DeskEffect, { kind: K }> => effect.kind === kind);
}

/** `verb:sequence` of every request to the signer. */
export function asked(effects: readonly DeskEffect[]): string[] {
  return only(effects, "ask").map((effect) => `${effect.verb}:${Number.parseInt(effect.body.transactionId, 16)}`);
}
