/** An agent's last sight is written when its link opens, and at most once a minute after it. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createLastSeenWriter } from "../../gateway/hub/hub.ts";
import { linkLimits } from "../../gateway/hub/link-limits.ts";
import {
  type GatewayDatabase,
  gatewayDatabase,
  pairAgent,
  readAgent,
} from "../../lab/kit/gateway-database.ts";

let db: GatewayDatabase;
let live: Map<string, boolean>;
let writes: number;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  db = gatewayDatabase();
  live = new Map();
  writes = 0;
});
afterEach(() => {
  vi.useRealTimers();
  db.remove();
});

function start() {
  const note = <T>(fn: Parameters<typeof db.store.write<T>>[0]): T => {
    writes += 1;
    return db.store.write(fn);
  };
  return createLastSeenWriter(
    live,
    { note },
    { clock: () => Date.now(), everyMs: linkLimits.seenMs },
  );
}

const seenAt = (id: string) => readAgent(db.store, id).lastSeenAt;

it("an agent that stays is written once a minute, and one that left with its own time", () => {
  const ids = ["a", "b", "c"].map((digit) => pairAgent(db.store, digit).id);
  const [stays = "", left = "", never = ""] = ids;
  const seen = start();
  for (const id of [stays, left]) {
    live.set(id, true);
    seen.came(id);
  }
  expect([writes, ...ids.map(seenAt)]).toEqual([2, 1_000_000, 1_000_000, null]);
  vi.advanceTimersByTime(20_000);
  live.delete(left);
  seen.left(left);
  vi.advanceTimersByTime(39_999);
  expect([writes, seenAt(stays), seenAt(left)]).toEqual([2, 1_000_000, 1_000_000]);
  vi.advanceTimersByTime(1);
  expect([writes, seenAt(stays), seenAt(left)]).toEqual([3, 1_060_000, 1_020_000]);
  vi.advanceTimersByTime(60_000);
  expect([writes, seenAt(stays), seenAt(left), seenAt(never)]).toEqual([
    4,
    1_120_000,
    1_020_000,
    null,
  ]);
  seen.close();
});

it("the time of an agent that came again is not the one of its end before", () => {
  const { id } = pairAgent(db.store);
  const seen = start();
  seen.left(id);
  vi.advanceTimersByTime(5_000);
  live.set(id, true);
  seen.came(id);
  vi.advanceTimersByTime(55_000);
  expect(seenAt(id)).toBe(1_060_000);
  live.delete(id);
  seen.left(id);
  vi.advanceTimersByTime(60_000);
  const before = writes;
  vi.advanceTimersByTime(120_000);
  expect([writes, seenAt(id)]).toEqual([before, 1_060_000]);
  seen.close();
});

it("the end writes all times and stops; nobody seen is no write", () => {
  const { id } = pairAgent(db.store);
  const seen = start();
  vi.advanceTimersByTime(120_000);
  expect(writes).toBe(0);
  live.set(id, true);
  vi.advanceTimersByTime(30_000);
  seen.close();
  expect([writes, seenAt(id)]).toEqual([1, 1_150_000]);
  vi.advanceTimersByTime(120_000);
  expect(writes).toBe(1);
});
