/** A chain (anvil) for a test file, and couriers on it that end with their test. */
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { type Anvil, startAnvil } from "../../lab/kit/anvil.ts";
import { CourierKit } from "./courier-kit.ts";
import { until } from "./until.ts";

export const ether = 10n ** 18n;

// Another one in each test file.
export let anvil: Anvil;
/** The acts that end the running test, the newest first. */
export const cleanups: (() => unknown)[] = [];
let last = 0;

/** To be called once at the head of a test file. */
export function startsAnvil(): void {
  beforeAll(async () => {
    anvil = await startAnvil({ blockTimeMs: 100 });
  });
  afterAll(() => anvil.stop());
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });
}

/** Another address each time, which nobody has paid yet. */
export const receiver = () =>
  `0xb0b000000000000000000000000000000000${(++last).toString(16).padStart(4, "0")}`;

/**
 * A courier between its neighbours, on the chain unless other nodes are named; no test may leave a
 * bug behind.
 */
export async function kitOn(nodes: readonly string[] = [anvil.url]): Promise<CourierKit> {
  const kit = new CourierKit();
  cleanups.push(async () => {
    await kit.stop();
    expect(kit.bugs).toEqual([]);
  });
  return kit.start(nodes);
}

/** Until each of them is paid. @throws with what was logged */
export const paid = (kit: CourierKit, ...ids: readonly string[]) =>
  until(() => ids.every((id) => kit.stateOf(id) === "paid")).catch(() => {
    throw new Error(
      `${ids.map((id) => kit.stateOf(id)).join(" ")}\n${kit.logged.slice(-30).join("")}`,
    );
  });
