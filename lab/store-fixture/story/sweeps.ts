/**
 * Sweeps and top-ups: completed, failed, ended by an operator, and ones that the chain cannot
 * reach.
 */
import { orderSweep } from "../../../gateway/operator/sweeps.ts";
import type { FixtureAgent } from "../agent.ts";
import { networks } from "../setting.ts";
import type { ListedSweep, Shop, Story } from "../story.ts";
import { fine } from "./fine.ts";

const minuteMs = 60_000;

export async function playSweeps(story: Story, shop: Shop, agent: FixtureAgent): Promise<void> {
  const { world } = story;
  await world.settle();
  await sweepWithTopUp(story, agent, "usdt-erc20");
  await sweepWithTopUp(story, agent, "usdt-trc20");
  await sweepWithTopUp(story, agent, "eur-erc20");
  await playEndedSweeps(story, agent);
  const trx = await story.records(shop, "transactionType=1&orderId=in-trx");
  fine(
    orderSweep(
      world.operator(),
      world.config,
      trx.transactions[0]?.depositAddress ?? "",
      undefined,
    ),
  );
  await world.settle();
  const wished = await pick(story, "sweep", "trx");
  await story.carryOut(agent, story.outgoingOf(wished));
  await story.carryOut(agent, story.outgoingOf(await pick(story, "sweep", "btc")));
  await world.tell();
}

/** The newest open sweep or top-up of a currency that is not signed. */
async function pick(
  story: Story,
  kind: ListedSweep["kind"],
  currency: string,
): Promise<ListedSweep> {
  const found = (await story.sweeps()).filter(
    (one) =>
      one.kind === kind && one.currency === currency && one.status === 0 && one.stage === "queued",
  );
  const oldest = found.at(-1);
  if (oldest === undefined) throw new Error(`no ${kind} of ${currency} waits`);
  return oldest;
}

async function topUpOf(story: Story, sweep: ListedSweep): Promise<ListedSweep> {
  const found = (await story.sweeps()).find(
    ({ kind, sweep: of }) => kind === "topup" && of === sweep.transactionId,
  );
  if (found === undefined) throw new Error(`${sweep.transactionId} needs no top-up`);
  return found;
}

async function sweepWithTopUp(story: Story, agent: FixtureAgent, currency: string): Promise<void> {
  const sweep = await pick(story, "sweep", currency);
  await story.carryOut(agent, {
    ...story.outgoingOf(await topUpOf(story, sweep)),
    from: agent.hot(sweep.network),
  });
  await story.carryOut(agent, story.outgoingOf(sweep));
}

async function playEndedSweeps(story: Story, agent: FixtureAgent): Promise<void> {
  const { world } = story;
  // The top-up fails on the chain, and the agent gives the sweep up.
  const poor = await pick(story, "sweep", "usdt-erc20");
  await story.carryOut(agent, story.outgoingOf(await topUpOf(story, poor)), { isReverted: true });
  await agent.decide(poor.transactionId, "expired", "JOB_EXPIRED");
  // A sweep that costs its fee and moves nothing.
  await story.carryOut(agent, story.outgoingOf(await pick(story, "sweep", "eth")), {
    isReverted: true,
  });
  // Two with slots that the chain does not reach: one is ended by the agent's operator.
  const beyond = [await pick(story, "sweep", "eth")];
  for (const sweep of beyond) {
    const out = story.outgoingOf(sweep);
    await agent.decide(out.id, "approved", "", out.to);
    const signed = await story.sign(agent, out, { slot: "3" });
    await agent.broadcast(out.id, signed.hash);
  }
  const ended = await pick(story, "sweep", "eth");
  const out = story.outgoingOf(ended);
  await agent.decide(out.id, "approved", "", out.to);
  const signed = await story.sign(agent, out, { slot: "2" });
  await agent.broadcast(out.id, signed.hash);
  world.sleep(15 * minuteMs);
  await world.settle();
  await agent.decide(ended.transactionId, "expired", "JOB_EXPIRED");
  if (ended.network !== networks.ethereum)
    throw new Error("only a chain with slots has such sweeps");
}
