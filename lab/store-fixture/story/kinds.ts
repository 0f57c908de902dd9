/**
 * A shop of tokens alone, whose sweeps and top-ups stand in the stages that the other shop's do not
 * reach: held, refused, and top-ups at every step of their way.
 */
import { networks } from "../setting.ts";
import type { OutgoingPayment, SignedAttempt, Story } from "../story.ts";

const currency = "usdt-erc20";

/** Returns the top-up that the last block includes. */
export async function playKinds(story: Story) {
  const { world } = story;
  const shop = story.openShop("Lark Books");
  const agent = await story.pair(shop, ["evm"]);
  const hot = agent.hot(networks.ethereum);
  story.grant("eth", hot, "4");
  const given = [];
  for (let number = 1; number <= 7; number += 1)
    given.push(
      await story.deposit(shop, {
        currency,
        amount: "150",
        orderId: `in-${number}`,
        expiresInMinutes: 60,
      }),
    );
  await world.settle(1);
  story.block(
    "ethereum",
    ...given.map((one, index) => story.paid(one, currency, "150", 50 + index)),
  );
  await world.settle();
  const own = (await story.sweeps()).filter(
    ({ from, to, status }) => status === 0 && (from === hot || to === hot),
  );
  const sweeps = own.filter(({ kind }) => kind === "sweep");
  const topUpOf = (index: number): OutgoingPayment => {
    const found = own.find(
      ({ kind, sweep }) => kind === "topup" && sweep === sweeps[index]?.transactionId,
    );
    if (found === undefined) throw new Error(`sweep ${index} has no top-up`);
    return { ...story.outgoingOf(found), from: hot };
  };
  const sweepOf = (index: number): string => sweeps[index]?.transactionId ?? "";
  // The first slot is used by somebody else, so that its top-up is stuck.
  await story.send(agent, topUpOf(0));
  world.chains.ethereum.passed.set(hot, 1n);
  await agent.decide(topUpOf(1).id, "held", "RECOVERY_HOLD");
  await agent.decide(sweepOf(1), "held", "RECOVERY_HOLD");
  await agent.decide(topUpOf(2).id, "refused", "POLICY_ABOVE_DAY");
  await agent.decide(sweepOf(2), "refused", "POLICY_ABOVE_DAY");
  await agent.decide(topUpOf(3).id, "expired", "JOB_EXPIRED");
  await agent.decide(topUpOf(4).id, "approved");
  await story.sign(agent, topUpOf(4));
  await story.send(agent, topUpOf(5));
  const out = topUpOf(6);
  const signed: SignedAttempt = await story.send(agent, out);
  return { agent, out, signed };
}
