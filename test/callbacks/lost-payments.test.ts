/**
 * Customers of the callbacks' run whose payment leaves the chain: however late the shop is told of
 * it, the payment is lost before it is final, and comes again after the shop was told that it is
 * gone.
 */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { EventType } from "../../gateway/callbacks/events.ts";
import { Depositor, depositConfirmations } from "../../lab/faults/deposits-plan.ts";
import type { Receiver } from "../../lab/kit/callback-receiver.ts";
import { FakeChain } from "../../lab/kit/fake-chain.ts";

const losing = 3; // the plan whose payment leaves the chain
const turnMs = 300;

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

function losingCustomers(count: number) {
  const chain = new FakeChain();
  const told: Receiver["received"] = [];
  const depositor = new Depositor(chain, () => told, false);
  const plansWithoutTime = 6;
  const ids = Array.from({ length: count }, (_, nth) => `deposit-${nth}`);
  for (const [nth, id] of ids.entries())
    depositor.take(id, `0x${String(nth).padStart(40, "7")}`, losing + nth * plansWithoutTime);
  return {
    tell(id: string, type: EventType): void {
      told.push({
        id: `${id} ${type}`,
        type,
        sequence: 1,
        data: { transactionId: id },
        headers: {},
        body: "",
        atMs: 0,
      });
    },
    isAwaiting: () => depositor.isAwaiting,
    /** @returns confirmations of the `nth` customer's payment; 0 while it is not in the chain */
    turn(nth = 0): number {
      depositor.turn([]);
      vi.advanceTimersByTime(turnMs);
      const to = `0x${String(nth).padStart(40, "7")}`;
      const found = chain.blocks.filter(({ transactions }) =>
        transactions.some((one) => one.to === to),
      );
      expect(found.length, "a payment is in one block").toBeLessThan(2);
      return found[0] === undefined ? 0 : chain.top - found[0].number + 1;
    },
  };
}

const turns = (count: number, turn: () => number): readonly number[] =>
  Array.from({ length: count }, () => turn());

it("a payment of which nobody was told is not final for a third of the request's life, and leaves the chain once it is told", () => {
  const { tell, turn, isAwaiting } = losingCustomers(1);
  expect(isAwaiting()).toBe(false);
  const before = turns(60, () => turn());
  expect(isAwaiting()).toBe(true);
  expect(Math.min(...before)).toBe(1);
  expect(Math.max(...before)).toBe(depositConfirmations - 1);
  tell("deposit-0", "deposit.detected");
  expect(turns(10, () => turn())).toEqual(Array.from({ length: 10 }, () => 0));
  expect(isAwaiting()).toBe(true);
  tell("deposit-0", "deposit.reorged");
  expect(turns(40, () => turn())).toEqual(Array.from({ length: 40 }, (_, nth) => nth + 1));
  expect(isAwaiting()).toBe(false);
});

it("a payment of which nobody was told for longer becomes final, and stays when it is told", () => {
  const { tell, turn, isAwaiting } = losingCustomers(1);
  expect(Math.max(...turns(100, () => turn()))).toBeGreaterThan(depositConfirmations);
  expect(isAwaiting()).toBe(false);
  tell("deposit-0", "deposit.detected");
  expect(Math.min(...turns(10, () => turn()))).toBeGreaterThan(depositConfirmations);
});

it("a lost payment that nobody tells to be gone comes again within two thirds of the request's life", () => {
  const { tell, turn, isAwaiting } = losingCustomers(1);
  turn();
  tell("deposit-0", "deposit.detected");
  const after = turns(140, () => turn());
  expect(after.slice(0, 130)).toEqual(Array.from({ length: 130 }, () => 0));
  expect(after.at(-1)).toBeGreaterThan(0);
  expect(isAwaiting()).toBe(false);
});

it("one payment at a time is awaited, and the other becomes final", () => {
  const { tell, turn, isAwaiting } = losingCustomers(2);
  expect(turns(30, () => turn(1)).at(-1)).toBe(30);
  expect(isAwaiting()).toBe(true);
  for (const type of ["deposit.detected", "deposit.reorged"] as const) {
    tell("deposit-0", type);
    turn();
  }
  expect(isAwaiting()).toBe(false);
});
