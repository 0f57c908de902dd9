/**
 * Real processes restored to an earlier day, by the steps of docs/recovering.md: everything is paid
 * once.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { run, stop, until } from "../../lab/kit/processes.ts";
import { transactionCount } from "../../lab/kit/rpc.ts";
import { startsTheBuild } from "../support/built.ts";
import { RecoveryKit, receiver } from "../support/recovery-kit.ts";

startsTheBuild();

const tenth = 10n ** 17n;
const timeout = 300_000;
let world: RecoveryKit | null = null;
afterEach(async () => {
  await world?.kit.close();
  world = null;
});

describe("recovery", () => {
  it("a ledger restored from a backup pays a forgotten withdrawal once, on the nonce that it had", {
    timeout,
  }, async () => {
    world = await RecoveryKit.start();
    const { kit } = world;
    const before = await world.pay("before", "0.1", receiver(0x11));
    // Without the gateway's word on its end, the withdrawal would be kept on its slot as well.
    await until("the signer knows its end", 30_000, async () =>
      (await world!.withdrawal(before)).isOver ? true : undefined,
    );
    await stop(kit.crypto!);
    world.keepState("copy");
    await kit.startCrypto();

    // Three withdrawals that the copy lacks: one is paid, one is released and in no block yet, one
    // waits for an operator.
    const paid = await world.pay("lost-and-paid", "0.1", receiver(0x12));
    await world.chain("anvil_setIntervalMining", 0);
    const pending = await world.order("lost-and-pending", "0.1", receiver(0x13));
    await until("it was handed to the node", 30_000, async () =>
      (await world!.withdrawal(pending)).state === "broadcast" ? true : undefined,
    );
    const waiting = await world.order("lost-and-waiting", "2.5", receiver(0x14));
    await until("it waits", 30_000, async () =>
      (await world!.withdrawal(waiting)).state === "held" ? true : undefined,
    );
    const signed = world
      .opened()
      .filter((record) => record.kind === "SIGNED" && record.transactionId === pending);
    const released = signed[0]!;
    if (released.kind !== "SIGNED") throw new Error("no signature");
    await world.stopAll();
    await world.chain("anvil_dropTransaction", released.txHash);
    world.restoreState("copy");

    await kit.startGateway();
    await kit.startCrypto();
    await world.statusIs("locked", ({ locked }) => locked === "LEDGER_BEHIND_GATEWAY");
    expect((await world.operator("recover")).code).toBe("RECOVERY_NONE");
    expect(await world.gateway("agents", "recover", world.agent)).toMatchObject({
      ledgerEpoch: 2,
      openWithdrawals: 2,
    });
    const offered = await world.statusIs(
      "offered",
      ({ recovery }) => recovery === "RECOVERY_OFFERED",
    );
    expect(offered.locked).toBe("LEDGER_BEHIND_GATEWAY");
    expect((await world.status()).exitCode).toBe(4);
    // The courier first has to count what the chain knows of the account.
    await until("a recovery of another name is none", 30_000, async () =>
      (await world!.operator("recover", "--yes", "00".repeat(32))).code === "RECOVERY_NONE"
        ? true
        : undefined,
    );
    const plan = await world.recover();
    expect(plan).toMatchObject({
      kept: 1,
      left: 0,
      newLedgerEpoch: 2,
      isHere: false,
      bothRestored: false,
    });
    expect(plan.withdrawals.find(({ transactionId }) => transactionId === pending)).toMatchObject({
      ...{ here: "", isContested: false, slot: "2", txHashes: [released.txHash] },
    });

    // No more is needed: the withdrawal whose bytes are gone is signed again on its nonce, the
    // others come again as jobs.
    await world.chain("anvil_setIntervalMining", 1);
    await world.completed(pending);
    const attempts = (await world.withdrawal(pending)).attempts;
    expect(attempts.map(({ txHash }) => txHash)).toHaveLength(2);
    expect(attempts[0]?.txHash).toBe(released.txHash);
    // Bytes that were released before the restore are worth nothing to an operator who kept them.
    await expect(world.chain("eth_sendRawTransaction", released.raw)).rejects.toThrow(/nonce/i);
    await until("it waits again", 30_000, async () =>
      (await world!.withdrawal(waiting)).state === "held" ? true : undefined,
    );
    expect((await world.withdrawal(waiting)).code).toBe("POLICY_HOLD_ABOVE");
    expect((await world.approve(waiting)).exitCode).toBe(0);
    await world.completed(waiting);
    await world.pay("after-the-recovery", "0.1", receiver(0x15));

    expect(await world.balance(receiver(0x12))).toBe(tenth);
    expect(await world.balance(receiver(0x13))).toBe(tenth);
    expect(await world.balance(receiver(0x14))).toBe(25n * tenth);
    expect(await world.balance(receiver(0x15))).toBe(tenth);
    expect(await transactionCount(kit.anvil.url, kit.hotWalletAddress)).toBe(5);
    expect(await world.order("lost-and-paid", "0.1", receiver(0x12))).toBe(paid);
    // Only two findings are left: root runs this test, and the nodes came in the gateway's file.
    const isRoot = process.getuid?.() === 0;
    expect((await world.status()).problems.map(({ code }) => code)).toEqual([
      ...(isRoot ? ["DOCTOR_ISOLATION"] : []),
      "AGENT_NODES_OF_GATEWAY",
    ]);

    // The copy once more: its epoch is over, and no handshake completes with it.
    await world.stopAll();
    world.restoreState("copy");
    await kit.startGateway();
    await kit.startCrypto();
    await world.statusIs("refused", ({ courier }) => courier?.linkDetail.includes("4003") === true);
    expect((await world.status()).handshakeDone).toBe(false);
  });

  it("a new ledger in place of a lost one begins locked, and takes everything from the gateway", {
    timeout,
  }, async () => {
    world = await RecoveryKit.start();
    const { kit } = world;
    await world.pay("before", "0.1", receiver(0x21));
    const waiting = await world.order("waiting", "2.5", receiver(0x22));
    await until("it waits", 30_000, async () =>
      (await world!.withdrawal(waiting)).state === "held" ? true : undefined,
    );
    await stop(kit.crypto!);
    rmSync(join(kit.stateDir, "signer", "ledger"), { recursive: true });
    const args = [
      join(projectRoot, "crypto.js"),
      "--config",
      kit.configPath,
      "--state",
      kit.stateDir,
    ];
    const ended = await run(process.execPath, args, {
      logFile: join(kit.dir, "without-ledger.log"),
    });
    expect(ended).toMatchObject({
      code: 4,
      output: expect.stringContaining("recover --new-ledger"),
    });

    expect((await world.operator("recover", "--new-ledger")).exitCode).toBe(2);
    expect(
      (await world.operator("recover", "--new-ledger", "--yes", "ff".repeat(8))).exitCode,
    ).toBe(2);
    expect(
      (
        await world.operator(
          "recover",
          "--new-ledger",
          "--yes",
          world.agent,
          "--config",
          kit.configPath,
        )
      ).exitCode,
    ).toBe(0);
    await kit.startCrypto();
    expect(kit.crypto!.output()).toContain("LEDGER_BEHIND_GATEWAY");
    await world.gateway("agents", "recover", world.agent);
    await world.statusIs("offered", ({ recovery }) => recovery === "RECOVERY_OFFERED");
    const counted = await until("the chain was asked", 30_000, async () => {
      const { plan } = await world!.operator<{ plan: { accounts: { chainCount: string }[] } }>(
        "recover",
      );
      return plan?.accounts[0]?.chainCount === "1" ? plan : undefined;
    });
    expect(counted.accounts).toMatchObject([
      { ledgerNext: "", gatewayNext: "1", chainCount: "1", next: "1" },
    ]);
    expect(await world.recover()).toMatchObject({ kept: 0, left: 0 });
    await until("it waits again", 60_000, async () =>
      (await world!.withdrawal(waiting))?.state === "held" ? true : undefined,
    );
    expect((await world.approve(waiting)).exitCode).toBe(0);
    await world.completed(waiting);
    await world.pay("after", "0.1", receiver(0x23));
    expect(await world.balance(receiver(0x21))).toBe(tenth);
    expect(await world.balance(receiver(0x22))).toBe(25n * tenth);
    expect(await transactionCount(kit.anvil.url, kit.hotWalletAddress)).toBe(3);
  });

  it("a gateway restored from a backup gets its lost records again, and nothing is paid twice", {
    timeout,
  }, async () => {
    world = await RecoveryKit.start();
    const { kit } = world;
    await world.pay("before", "0.1", receiver(0x31));
    await world.stopAll();
    world.keepDatabase("old-gateway");
    await kit.startGateway();
    await kit.startCrypto();
    const paid = await world.pay("forgotten-and-paid", "0.1", receiver(0x32));
    const waiting = await world.order("forgotten-and-waiting", "2.5", receiver(0x33));
    await until("it waits", 30_000, async () =>
      (await world!.withdrawal(waiting)).state === "held" ? true : undefined,
    );
    await world.stopAll();
    world.restoreDatabase("old-gateway");

    await kit.startGateway();
    await kit.startCrypto();
    // Nobody acts: the gateway takes both back, and finds the payment on chain itself.
    await world.completed(paid);
    expect(await world.order("forgotten-and-paid", "0.1", receiver(0x32))).toBe(paid);
    expect(await world.order("forgotten-and-waiting", "2.5", receiver(0x33))).toBe(waiting);
    expect((await world.withdrawal(waiting)).state).toBe("held");
    expect((await world.approve(waiting)).exitCode).toBe(0);
    await world.completed(waiting);
    expect(await world.gateway("agents")).toMatchObject([{ ledgerEpoch: 1, notCaughtUp: "" }]);
    expect(world.records().some(({ kind }) => kind === "RECOVERED" || kind === "LOCKED")).toBe(
      false,
    );
    await world.pay("after", "0.1", receiver(0x34));
    expect(await world.balance(receiver(0x32))).toBe(tenth);
    expect(await world.balance(receiver(0x33))).toBe(25n * tenth);
    expect(await transactionCount(kit.anvil.url, kit.hotWalletAddress)).toBe(4);
  });

  it("a recovery of both sides holds each later order, and shows the chain's payments next to it", {
    timeout,
  }, async () => {
    world = await RecoveryKit.start();
    const { kit } = world;
    await world.pay("before", "0.1", receiver(0x41));
    await world.stopAll();
    world.keepDatabase("old-gateway");
    world.keepState("old-agent");
    await kit.startGateway();
    await kit.startCrypto();
    await world.pay("forgotten-and-paid", "0.1", receiver(0x42));
    await world.stopAll();
    world.restoreDatabase("old-gateway");
    world.restoreState("old-agent");

    await kit.startGateway();
    await world.gateway("agents", "recover", world.agent);
    await kit.startCrypto();
    await world.statusIs("offered", ({ recovery }) => recovery === "RECOVERY_OFFERED");
    const shown = await until("the chain was read again", 60_000, async () => {
      const { plan } = await world!.operator<{
        plan: { outgoing: object[]; accounts: { chainCount: string }[] };
      }>("recover", "--both-restored");
      if (plan?.outgoing.length === 1 && plan.accounts[0]?.chainCount === "2") return plan;
      await stop(kit.crypto!);
      await kit.startCrypto();
      await world!.statusIs("offered", ({ recovery }) => recovery === "RECOVERY_OFFERED");
      return undefined;
    });
    expect(shown.outgoing).toMatchObject([
      { slot: "1", receiver: receiver(0x42), units: tenth.toString() },
    ]);
    expect(await world.recover("--both-restored")).toMatchObject({
      bothRestored: true,
      accounts: [{ gatewayNext: "1", next: "2" }],
    });
    const again = await world.order("forgotten-and-paid", "0.1", receiver(0x42));
    const alike = await world.order("of-another-amount", "0.3", receiver(0x42));
    const fresh = await world.order("never-asked", "0.2", receiver(0x43));
    for (const id of [alike, fresh]) {
      await until(
        "it is held",
        60_000,
        async () => ((await world!.withdrawal(id))?.code === "RECOVERY_HOLD" ? true : undefined),
        () => `${kit.gateway!.output().slice(-6000)}\n${kit.crypto!.output().slice(-6000)}`,
      );
    }
    type Shown = { outgoing: { slot: string; txHash: string }[] };
    const { outgoing } = await world.operator<Shown>("show", alike);
    expect(outgoing).toMatchObject([{ slot: "1" }]);
    expect((await world.operator<Shown>("show", fresh)).outgoing).toEqual([]);
    // Gateway and agent have both forgotten the order; the chain shows its payment, and the gateway
    // gives the agent no order of the same content.
    expect(await world.shop.transaction(again)).toMatchObject({
      status: 0,
      stage: "awaiting_operator",
    });
    const [paid] = outgoing;
    const named = ["--transaction", paid?.txHash ?? "", "--reason", "seen on the chain"];
    expect(await world.gatewayOutcome("withdrawals", "paid", fresh, ...named)).toMatchObject({
      exitCode: 1,
      said: expect.stringContaining("the transaction paid 0x4242"),
    });
    expect(await world.gateway("withdrawals", "paid", again, ...named)).toMatchObject({
      transactionId: again,
    });
    await world.completed(again);
    expect(await world.shop.transaction(again)).toMatchObject({ status: 1, txHash: paid?.txHash });
    expect((await world.operator("refuse", alike, "--yes")).exitCode).toBe(0);
    expect((await world.approve(fresh)).exitCode).toBe(0);
    await world.completed(fresh);
    await world.finish();
    await world.pay("by-itself-again", "0.1", receiver(0x44));
    expect(await world.balance(receiver(0x42))).toBe(tenth);
    expect(await transactionCount(kit.anvil.url, kit.hotWalletAddress)).toBe(4);
  });
});
