/**
 * A state folder restored to an earlier day: the agent locks itself before it signs again
 * (invariant 6).
 */
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import { stop, until } from "../../lab/rig/processes.ts";
import { type Rig, startPairedRig } from "../../lab/rig/rig.ts";
import { transactionCount } from "../../lab/rig/rpc.ts";
import { createShop, type Shop } from "../../lab/rig/shop.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

let rig: Rig | null = null;
afterEach(async () => {
  await rig?.close();
  rig = null;
});

async function pay(shop: Shop, orderId: string): Promise<void> {
  const order = { currency: "eth" as const, amount: "0.1", receiver: `0x${"7a".repeat(20)}`, orderId };
  const answer = await until("an answer", 60_000, async () => {
    const given = await shop.autoWithdraw(order);
    return given.transactionId === "" ? undefined : given;
  });
  await until(`${orderId} Completed`, 60_000, async () =>
    (await shop.transaction(answer.transactionId)).status === 1 ? true : undefined,
  );
}

function ledgerKinds(stateDir: string): string[] {
  const folder = join(stateDir, "signer", "ledger");
  const files = readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .sort();
  return files.flatMap((name) =>
    readFileSync(join(folder, name), "utf8")
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { kind: string }).kind),
  );
}

it("a state folder copied before a withdrawal and restored after it locks the agent", { timeout: 240_000 }, async () => {
  rig = await startPairedRig({ confirmations: 1 });
  const shop = createShop(rig);
  await pay(shop, "before-the-copy");
  await stop(rig.crypto!);
  const copy = join(rig.dir, "copy");
  cpSync(rig.stateDir, copy, { recursive: true, preserveTimestamps: true });
  await rig.startCrypto();
  await pay(shop, "after-the-copy");
  await stop(rig.crypto!);
  await stop(rig.gateway!);

  rmSync(rig.stateDir, { recursive: true });
  cpSync(copy, rig.stateDir, { recursive: true, preserveTimestamps: true });
  const before = ledgerKinds(rig.stateDir).filter((kind) => kind === "SIGNED").length;
  expect(before).toBe(1);
  await rig.startCrypto(); // the service is unreachable: the agent waits
  const waiting = await rig.cli("status", "--json");
  expect([1, 4]).toContain(waiting.code);

  await rig.startGateway(); // and now it is back
  const locked = await until("locked", 60_000, async () => {
    const status = await rig!.cli("status");
    return status.code === 4 ? status : undefined;
  });
  expect(locked.output).toMatch(/locked/i);
  const answer = await shop.autoWithdraw({
    currency: "eth",
    amount: "0.2",
    receiver: `0x${"7b".repeat(20)}`,
    orderId: "after-the-lock",
  });
  expect([200, 400, 422, 503]).toContain(answer.status);
  const gatewayJs = fileURLToPath(new URL("../../gateway/gateway.js", import.meta.url));
  const listed = ["agents", "--json", "--config", rig.gatewayConfigPath];
  await until("the gateway knows", 30_000, async () => {
    const [agent] = JSON.parse(execFileSync(process.execPath, [gatewayJs, ...listed], { encoding: "utf8" }));
    return agent.lockedCode === "AGENT_BEHIND" ? true : undefined;
  });
  await new Promise((resolve) => setTimeout(resolve, 5000));
  const kinds = ledgerKinds(rig.stateDir);
  expect(kinds).toContain("LOCKED");
  expect(kinds.filter((kind) => kind === "SIGNED").length).toBe(before);
  expect(await transactionCount(rig.anvil.url, rig.hotAddress)).toBe(2);

  // The lock is a record: a restart does not lift it.
  await stop(rig.crypto!);
  const again = await rig.startCrypto().then(
    () => "running",
    () => "ended",
  );
  const status = await rig.cli("status");
  expect(again === "ended" || status.code === 4).toBe(true);
});
