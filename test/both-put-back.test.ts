/**
 * Ledger and database put back to the same moment, as when one server holds both and its snapshot is restored: they agree in everything,
 * and only the chain and the shop know what was paid since. Real processes.
 */
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../scripts/processes.ts";
import { transactionCount } from "../scripts/rpc.ts";
import { startsTheBuild } from "./support/built.ts";
import { RecoveryRig, receiver } from "./support/recovery-rig.ts";

startsTheBuild();

const tenth = 10n ** 17n;
const timeout = 300_000;
let world: RecoveryRig | null = null;
afterEach(async () => {
  await world?.rig.close();
  world = null;
});

describe("ledger and database, put back together,", () => {
  it("sign nothing while the chain counts past them, and pay what both forgot no second time", { timeout }, async () => {
    world = await RecoveryRig.start();
    const { rig } = world;
    await world.pay("before", "0.1", receiver(0x41));
    await world.stopAll();
    world.keepState("snapshot");
    world.keepDatabase("snapshot-gateway");
    await rig.startGateway();
    await rig.startCrypto();
    const first = await world.pay("forgotten-1", "0.1", receiver(0x42));
    await world.pay("forgotten-2", "0.1", receiver(0x43));
    await world.stopAll();
    world.restoreState("snapshot");
    world.restoreDatabase("snapshot-gateway");
    await rig.startGateway();
    await rig.startCrypto();

    // Two new ones would use up the nonces of the forgotten ones, and the third, asked for again, would be paid again.
    const fresh = [
      await world.order("fresh-1", "0.1", receiver(0x44)),
      await world.order("fresh-2", "0.1", receiver(0x45)),
    ] as const;
    expect(await world.order("forgotten-1", "0.1", receiver(0x42))).toBe(first);
    const all = [...fresh, first];
    await world.statusIs("they wait", ({ courier }) => {
      const behind = (courier?.waiting ?? []).filter(({ why }) => why === "ACCOUNT_BEHIND");
      return all.every((id) => behind.some(({ transactionId }) => transactionId === id));
    });
    await until("the alarm", 30_000, async () =>
      world!.records().some((record) => record.kind === "ALARM" && record.code === "CHAIN_NONCE_AHEAD") ? true : undefined,
    );
    for (const id of all) expect(await world.withdrawal(id)).toMatchObject({ state: "approved", nonce: "" });

    world.gateway("agents", "recover", world.agent);
    await world.statusIs("offered", ({ recovery }) => recovery === "RECOVERY_OFFERED");
    expect((await world.recover()).accounts).toMatchObject([{ ledgerNext: "1", gatewayNext: "1", chainCount: "3", next: "3" }]);
    await world.statusIs("in recovery", ({ recovery, courier }) => recovery === "RECOVERY_HOLD" && courier?.link === "up");
    for (const id of all) expect(await world.withdrawal(id)).toMatchObject({ state: "held", code: "RECOVERY_HOLD" });
    // The page's section 5: what the chain shows as paid is refused, the rest approved.
    expect((await world.operator("refuse", first, "--yes")).exitCode).toBe(0);
    for (const id of fresh) expect((await world.approve(id)).exitCode).toBe(0);
    for (const id of fresh) await world.completed(id);
    await world.finish();
    for (const n of [0x41, 0x42, 0x43, 0x44, 0x45]) expect(await world.balance(receiver(n))).toBe(tenth);
    expect(await transactionCount(rig.anvil.url, rig.hotAddress)).toBe(5);
  });
});
