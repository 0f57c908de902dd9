/**
 * Nights in which the books are closed: beginnings, money from outside, a difference and a note.
 */
import { acceptDifference } from "../../../gateway/books/taking-in.ts";
import type { FixtureAgent } from "../agent.ts";
import { networks } from "../setting.ts";
import type { Shop, Story } from "../story.ts";
import { fine } from "./fine.ts";

/** The first night, on which the books of every hot wallet begin. */
export async function openTheBooks(story: Story): Promise<void> {
  await story.world.closeBooks();
}

export async function playBooks(story: Story, shop: Shop, agent: FixtureAgent): Promise<void> {
  const { world } = story;
  const hot = agent.hot(networks.ethereum);
  story.grant("eth", hot, "1.5");
  const { transactions } = await story.records(shop, "transactionType=1&orderId=in-gone");
  const swept = transactions[0]?.depositAddress ?? "";
  // Coins leave a deposit address and a hot wallet without any transaction that the gateway reads.
  story.grant("usdt-erc20", hot, "2");
  await world.settle();
  await world.closeBooks();
  story.drop("usdt-erc20", hot, "1.25");
  story.drop("eth", hot, "0.007");
  await world.settle();
  await world.closeBooks();
  const amount = await story.difference(hot, "eth");
  const taken = { network: networks.ethereum, address: hot, currency: "eth", decimal: 18, amount };
  fine(
    acceptDifference(world.store, {
      ...taken,
      operator: "Nora",
      reason: "a test of the wallet's owner",
      nowMs: world.nowMs,
    }),
  );
  story.grant("eth", swept, "0.00002");
  await world.settle();
  await world.closeBooks();
}
