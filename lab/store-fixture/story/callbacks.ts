/**
 * Receivers of callbacks: one that takes all, one that fails, one that is gone, one that is paused.
 */
import type { EventType } from "../../../gateway/callbacks/events.ts";
import {
  addCallback,
  callbackDeliveries,
  redeliverCallback,
  removeCallback,
  rotateCallback,
  testCallback,
} from "../../../gateway/operator/callbacks.ts";
import type { Shop, Story } from "../story.ts";
import { fine } from "./fine.ts";

const site = "https://hooks.harbour.example";

export function addReceivers(story: Story, shop: Shop): void {
  const { world } = story;
  const settings = world.config.callbacks;
  const add = (path: string, events: readonly EventType[] = []): string =>
    fine(
      addCallback(
        world.operator(),
        { merchant: shop.merchantId, url: `${site}/${path}`, events },
        settings,
      ),
    ).callbackId;
  add("all");
  add("fails", [
    "deposit.completed",
    "withdrawal.completed",
    "withdrawal.failed",
    "deposit.expired",
  ]);
  add("gone", ["deposit.completed"]);
  add("paused", ["withdrawal.failed", "deposit.expired"]);
  const removed = add("removed", ["deposit.detected"]);
  fine(removeCallback(world.operator(), removed));
  world.receivers.set(`${site}/fails`, () => ({ status: 503, answer: "later, please" }));
  world.receivers.set(`${site}/paused`, () => ({ status: 500, answer: "" }));
  world.receivers.set(`${site}/gone`, () => ({ status: 410, answer: "gone" }));
}

/** Retries until the failing receiver's events are given up, an event sent again, a new secret. */
export async function playCallbacks(story: Story, shop: Shop): Promise<void> {
  const { world } = story;
  for (const minutes of [2, 15]) {
    await world.tell();
    world.sleep(minutes * 60_000);
  }
  await world.tell();
  const given = callbackDeliveries(world.operator(), { merchant: shop.merchantId }, 500).find(
    ({ state }) => state === "given up",
  );
  if (given === undefined) throw new Error("no callback was given up");
  fine(redeliverCallback(world.operator(), given.delivery));
  await world.tell();
  const all = story.callbacks(shop).find(({ url }) => url === `${site}/all`)?.callbackId ?? "";
  fine(rotateCallback(world.operator(), all));
  const taken = {
    send: async () => ({ status: 200, answer: "ok", retryAfter: undefined, durationMs: 5 }),
    close: () => {},
  };
  fine(await testCallback(world.operator(), all, taken));
}
