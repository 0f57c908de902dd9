/**
 * Real processes: a restored gateway, an agent whose server is gone, and another server in its
 * place, which pays nothing a second time.
 */
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../../lab/kit/processes.ts";
import { transactionCount } from "../../lab/kit/rpc.ts";
import { startsTheBuild } from "../support/built.ts";
import { RecoveryKit, receiver } from "../support/recovery-kit.ts";

startsTheBuild();

const tenth = 10n ** 17n;
const waitMs = 180_000;
let world: RecoveryKit | null = null;
afterEach(async () => {
  await world?.kit.close();
  world = null;
});

describe("another server", () => {
  it("takes the place of one that never caught up with a restored gateway, and holds what was paid already", async () => {
    world = await RecoveryKit.start();
    const { kit, agent } = world;
    await world.pay("before", "0.1", receiver(0x41));
    await world.stopAll();
    world.keepDatabase("old-gateway");
    await kit.startGateway();
    await kit.startCrypto();
    await world.pay("forgotten-and-paid", "0.1", receiver(0x42));
    await world.stopAll();
    world.restoreDatabase("old-gateway");

    const release = (...flags: string[]) =>
      world!.gatewayOutcome("agents", "unpair", agent, ...flags);
    expect(await release()).toMatchObject({
      exitCode: 1,
      said: expect.stringContaining("does not run"),
    });
    await kit.startGateway();
    expect(await release()).toMatchObject({
      exitCode: 1,
      said: expect.stringMatching(/not caught up since.*\nhint: .*--skip-catch-up/),
    });

    expect(await release("--skip-catch-up")).toMatchObject({
      exitCode: 0,
      said: expect.stringContaining("begins with a recovery"),
    });
    const next = await world.pairAnotherServer();
    expect(next).not.toBe(agent);
    await kit.startCrypto();
    await world.statusIs("offered", ({ recovery }) => recovery === "RECOVERY_OFFERED");
    const again = await world.order("forgotten-and-paid", "0.1", receiver(0x42));
    await until("the chain was asked", waitMs, async () => {
      const { plan } = await world!.operator<{ plan: { accounts: { chainCount: string }[] } }>(
        "recover",
      );
      return plan?.accounts[0]?.chainCount === "2" ? plan : undefined;
    });
    const { accounts, outgoing } = await world.recover("--both-restored");
    expect(accounts).toMatchObject([{ gatewayNext: "1", chainCount: "2", next: "2" }]);
    const fresh = await world.order("after-the-takeover", "0.1", receiver(0x43));
    const alike = await world.order("of-another-amount", "0.3", receiver(0x42));
    for (const id of [alike, fresh]) {
      await until("it is held", waitMs, async () =>
        (await world!.withdrawal(id)).code === "RECOVERY_HOLD" ? true : undefined,
      );
    }
    expect((await world.operator("refuse", alike, "--yes")).exitCode).toBe(0);
    // The gateway gives the agent no order whose payment the chain shows.
    expect(await world.shop.transaction(again)).toMatchObject({
      status: 0,
      stage: "awaiting_operator",
    });
    const named = ["--transaction", outgoing[0]?.txHash ?? "", "--reason", "seen on the chain"];
    expect(await world.gateway("withdrawals", "paid", again, ...named)).toMatchObject({
      transactionId: again,
    });
    await world.completed(again);
    expect((await world.approve(fresh)).exitCode).toBe(0);
    await world.completed(fresh);
    expect(await world.balance(receiver(0x42))).toBe(tenth);
    expect(await world.balance(receiver(0x43))).toBe(tenth);
    expect(await transactionCount(kit.anvil.url, kit.hotWalletAddress)).toBe(3);

    // An agent that had caught up is released without more ado.
    await until("it has caught up and is released", waitMs, async () =>
      (await world!.gatewayOutcome("agents", "unpair", next)).exitCode === 0 ? true : undefined,
    );
  });
});
