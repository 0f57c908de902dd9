/** The last hour: records of every stage that is not an end, as they stand when the story stops. */
import { pauseCallbacks } from "../../../gateway/callbacks/targets.ts";
import { orderSweep } from "../../../gateway/operator/sweeps.ts";
import type { FixtureAgent } from "../agent.ts";
import type { ChainPayment } from "../chain.ts";
import { networks } from "../setting.ts";
import type {
  Deposit,
  ListedSweep,
  OutgoingPayment,
  Shop,
  SignedAttempt,
  Story,
} from "../story.ts";
import { fine } from "./fine.ts";

export async function playOpen(
  story: Story,
  shop: Shop,
  agent: FixtureAgent,
  others: readonly ChainPayment[],
): Promise<void> {
  const { world } = story;
  const sweep = await playOpenSweeps(story, shop, agent);
  await story.deposit(shop, {
    currency: "eth",
    amount: "0.7",
    orderId: "now-ending",
    expiresInMinutes: 60,
  });
  const ending = world.nowMs + 60 * 60_000;
  const withdrawal = await playOpenWithdrawals(story, shop, agent);
  const seen = await playOpenDeposits(story, shop);
  // The last block has a payment of each kind in it; it is not final.
  const sent = [withdrawal, sweep].map(({ out, signed }) => story.included(agent, out, signed));
  story.block(
    "ethereum",
    ...others,
    ...sent,
    ...seen.map(([deposit, amount]) => story.paid(deposit, "usdt-erc20", amount, 41)),
  );
  // Its time is over, and the block of its end is not final.
  world.nowMs = Math.max(world.nowMs, ending + 60_000);
  await world.pass();
  await playLast(story, shop);
}

/** Wishes that no pass has read yet. */
async function playLast(story: Story, shop: Shop): Promise<void> {
  const { world } = story;
  const small = await story.records(shop, "transactionType=1&orderId=in-late");
  fine(
    orderSweep(
      world.operator(),
      world.config,
      small.transactions[0]?.depositAddress ?? "",
      "usdt-erc20",
    ),
  );
  const failing = story.callbacks(shop).find(({ url }) => url.endsWith("/paused"));
  const by = { ...world.operator(), actor: "operator Orhan" };
  if (failing !== undefined)
    world.store.write((database) => pauseCallbacks(database, by, failing.callbackId));
}

interface SentPayment {
  readonly out: OutgoingPayment;
  readonly signed: SignedAttempt;
}

async function playOpenWithdrawals(
  story: Story,
  shop: Shop,
  agent: FixtureAgent,
): Promise<SentPayment> {
  const { world } = story;
  const order = (orderId: string, currency = "usdt-erc20", amount = "1.5") =>
    story.withdraw(shop, { currency, amount, orderId, metadata: { open: orderId } });
  const held = await order("now-held");
  await agent.decide(held.id, "held", "POLICY_HOLD_ABOVE");
  const manual = await story.withdraw(
    shop,
    { currency: "eth", amount: "0.01", orderId: "now-manual" },
    "manual",
  );
  await agent.decide(manual.id, "held", "POLICY_MANUAL");
  await agent.decide((await order("now-approved")).id, "approved");
  const stuck = await order("now-stuck");
  const lost = await story.send(agent, stuck);
  // The account's count goes past the slot, and no block that is read shows by which transaction.
  world.chains.ethereum.passed.set(agent.hot(networks.ethereum), BigInt(lost.slot) + 1n);
  for (let look = 0; look < 3; look += 1) {
    world.sleep(60_000);
    world.mine();
    await world.pass();
  }
  const tron = await order("now-signed-tron", "trx", "12");
  await agent.decide(tron.id, "approved");
  await story.sign(agent, tron);
  const signed = await order("now-signed");
  await agent.decide(signed.id, "approved");
  await story.sign(agent, signed);
  await story.send(agent, await order("now-broadcast"));
  await story.send(agent, await order("now-broadcast-xrp", "xrp", "3"));
  const recalled = await order("now-recalled");
  await story.cancel(shop, recalled.id);
  await order("now-queued");
  const out = await order("now-confirming");
  return { out, signed: await story.send(agent, out) };
}

async function playOpenSweeps(story: Story, shop: Shop, agent: FixtureAgent): Promise<SentPayment> {
  const { world } = story;
  for (const number of [1, 2, 3, 4]) {
    const paid = await story.deposit(shop, {
      currency: "eth",
      amount: "0.2",
      orderId: `now-swept-${number}`,
    });
    await world.settle(1);
    story.pay(paid, "eth", "0.2", 30 + number);
  }
  await world.settle();
  const isOpen = ({ kind, currency, stage, from }: ListedSweep): boolean =>
    kind === "sweep" && currency === "eth" && stage === "queued" && story.isOf(agent, from);
  const [first, second, third] = (await story.sweeps())
    .filter(isOpen)
    .map((one) => story.outgoingOf(one));
  if (first === undefined || second === undefined || third === undefined)
    throw new Error("too few sweeps wait");
  await agent.decide(first.id, "approved", "", first.to);
  await story.sign(agent, first);
  await story.send(agent, second);
  return { out: third, signed: await story.send(agent, third) };
}

async function playOpenDeposits(
  story: Story,
  shop: Shop,
): Promise<readonly (readonly [Deposit, string])[]> {
  const { world } = story;
  const order = (orderId: string, currency = "usdt-erc20", amount = "30") =>
    story.deposit(shop, { currency, amount, orderId, expiresInMinutes: 1_440 });
  const partial = await order("now-partial");
  const seen = await order("now-seen");
  const confirming = await order("now-confirming");
  const mill = story.shop("Mill Market");
  await story.deposit(mill, {
    currency: "eth",
    amount: "0.1",
    orderId: "mill-now",
    expiresInMinutes: 1_440,
  });
  await order("now-waiting-eth", "eth", "2");
  await order("now-waiting-xrp", "xrp", "20");
  await order("now-waiting-tron", "usdt-trc20", "20");
  await world.settle(1);
  story.pay(partial, "usdt-erc20", "11", 40);
  await world.settle();
  return [
    [seen, "12"],
    [confirming, "30"],
  ];
}
