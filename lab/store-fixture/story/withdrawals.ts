/** Withdrawals of the shop with an agent: every way in which one ends, on four chains. */
import { assignPayment } from "../../../gateway/operator/assigning.ts";
import type { FixtureAgent } from "../agent.ts";
import { goneCurrency, networks } from "../setting.ts";
import type { OutgoingPayment, Shop, Story } from "../story.ts";
import { fine } from "./fine.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;

export async function playWithdrawals(
  story: Story,
  shop: Shop,
  agent: FixtureAgent,
): Promise<void> {
  await playPaidOut(story, shop, agent);
  await playFailed(story, shop, agent);
  await playUnsigned(story, shop, agent);
  await playVoid(story, shop, agent);
  await playAssigned(story, shop, agent);
  await story.world.tell();
}

/** Completed: automatic, approved by a person, a refund, and one on each chain. */
async function playPaidOut(story: Story, shop: Shop, agent: FixtureAgent): Promise<void> {
  const order = (
    currency: string,
    amount: string,
    orderId: string,
    more: object = {},
  ): Promise<OutgoingPayment> => story.withdraw(shop, { currency, amount, orderId, ...more });
  await story.carryOut(
    agent,
    await order("eth", "0.05", "out-auto", { metadata: { payout: "week 5" } }),
  );
  await story.carryOut(agent, await order("usdt-erc20", "3", "out-token"));
  await story.carryOut(agent, await order(goneCurrency, "8", "out-gone"));
  await story.carryOut(agent, await order("usdt-trc20", "16", "out-trc20"));
  await story.carryOut(agent, await order("xrp", "5", "out-tag", { tag: "77" }));
  await story.carryOut(agent, await order("btc", "0.002", "out-btc"));
  const { transactions } = await story.records(shop, "transactionType=1&orderId=in-partly");
  const refund = { refundOf: transactions[0]?.transactionId };
  await story.carryOut(agent, await order("usdt-erc20", "10", "out-refund", refund));
  const manual = await story.withdraw(
    shop,
    { currency: "eth", amount: "0.02", orderId: "out-manual" },
    "manual",
  );
  await agent.decide(manual.id, "held", "POLICY_MANUAL");
  story.world.sleep(10 * minuteMs);
  // A person at the agent names the receiver.
  await story.carryOut(agent, { ...manual, to: story.customer(manual.network, 40) });
}

/** On the chain without the payment: reverted, its slot used by others, cancelled by its agent. */
async function playFailed(story: Story, shop: Shop, agent: FixtureAgent): Promise<void> {
  const { world } = story;
  const order = (orderId: string, more: object = {}): Promise<OutgoingPayment> =>
    story.withdraw(shop, { currency: "usdt-erc20", amount: "2", orderId, ...more });
  await story.carryOut(agent, await order("out-reverted"), { isReverted: true });
  const replaced = await order("out-replaced");
  const first = await story.send(agent, replaced);
  const second = await story.sign(agent, replaced, { attempt: 2, slot: first.slot });
  story.include(agent, replaced, second);
  await world.settle();
  const cancelled = await order("out-cancelled-there");
  const signed = await story.send(agent, cancelled);
  const cancel = await story.sign(agent, cancelled, {
    attempt: 2,
    slot: signed.slot,
    cancel: true,
  });
  const hot = agent.hot(networks.ethereum);
  story.include(agent, cancelled, cancel, { to: hot, contract: "", units: 0n });
  await world.settle();
  const consumed = await order("out-consumed");
  const lost = await story.send(agent, consumed);
  story.block("ethereum", {
    from: hot,
    slot: lost.slot,
    to: story.customer(networks.ethereum, 50),
    units: 1_000n,
    fee: 21_000n,
  });
  await world.settle();
}

/** Ended before any signature: by policy, by a person, by the shop, by time; and one renewed. */
async function playUnsigned(story: Story, shop: Shop, agent: FixtureAgent): Promise<void> {
  const { world } = story;
  const order = (orderId: string, more: object = {}): Promise<OutgoingPayment> =>
    story.withdraw(shop, { currency: "usdt-erc20", amount: "7", orderId, ...more });
  await agent.decide((await order("out-denied")).id, "refused", "POLICY_DENIED");
  const held = await order("out-held-refused");
  await agent.decide(held.id, "held", "POLICY_HOLD_ABOVE");
  world.sleep(minuteMs);
  await agent.decide(held.id, "refused", "OPERATOR_REFUSED");
  const unwanted = await order("out-unwanted");
  await story.cancel(shop, unwanted.id);
  await agent.decide(unwanted.id, "refused", "SHOP_CANCELLED");
  const over = await order("out-over", { metadata: { payout: "week 6" } });
  world.sleep(dayMs + minuteMs);
  await agent.decide(over.id, "expired", "JOB_EXPIRED");
  const renewed = await order("out-over", { renew: over.id, address: over.to });
  await story.carryOut(agent, renewed);
}

/** A chain without slots: an attempt that no block takes any more, and another after it. */
async function playVoid(story: Story, shop: Shop, agent: FixtureAgent): Promise<void> {
  const { world } = story;
  const order = (orderId: string): Promise<OutgoingPayment> =>
    story.withdraw(shop, { currency: "trx", amount: "20", orderId });
  const ended = await order("out-void");
  await story.send(agent, ended);
  const again = await order("out-void-again");
  const first = await story.send(agent, again);
  world.sleep(30 * minuteMs);
  await world.settle();
  await agent.decide(ended.id, "expired", "JOB_EXPIRED");
  const second = await story.sign(agent, again, { attempt: 2, slot: first.slot });
  await agent.broadcast(again.id, second.hash);
  story.include(agent, again, second);
  await world.settle();
}

/** Payments that neither gateway nor agent knows of, named by an operator. */
async function playAssigned(story: Story, shop: Shop, agent: FixtureAgent): Promise<void> {
  const { world } = story;
  const hot = agent.hot(networks.ethereum);
  const { contract } = story.currency("usdt-erc20");
  const order = (orderId: string, amount: string): Promise<OutgoingPayment> =>
    story.withdraw(shop, { currency: "usdt-erc20", amount, orderId });
  const failed = await order("out-assigned", "8");
  await agent.decide(failed.id, "refused", "POLICY_ABOVE_DAY");
  const open = await order("out-assigned-open", "9");
  const recalled = await order("out-assigned-recalled", "9.5");
  const paid = [failed, open, recalled].map(({ to, units }) => ({
    from: hot,
    to,
    contract,
    units,
    fee: 50_000n,
  }));
  const hashes = story.block(
    "ethereum",
    ...paid.map((one) => ({ ...one, slot: story.skipSlot(networks.ethereum, hot) })),
  );
  await world.settle();
  const judge = world.judgeOf("ethereum");
  for (const [index, { id }] of [failed, open, recalled].entries()) {
    const assigning = { txHash: hashes[index] ?? "", reason: "the explorer shows it" };
    fine(await assignPayment(world.operator(), world.config, id, assigning, judge));
  }
  await agent.decide(open.id, "refused", "SHOP_CANCELLED");
  // Nobody explains this one.
  const foreign = {
    from: hot,
    to: story.customer(networks.ethereum, 60),
    units: 5_000_000n,
    fee: 21_000n,
  };
  story.block("ethereum", { ...foreign, slot: story.skipSlot(networks.ethereum, hot) });
  story.block("tron", {
    from: agent.hot(networks.tron),
    to: story.customer(networks.tron, 60),
    units: 3_000_000n,
    fee: 1_000n,
  });
  await world.settle();
}
