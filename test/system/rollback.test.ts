/**
 * A state folder restored to an earlier day: the agent locks itself before it signs again
 * (invariant 6).
 */
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type Kit, startPairedKit } from "../../lab/kit/kit.ts";
import { stop, until } from "../../lab/kit/processes.ts";
import { transactionCount } from "../../lab/kit/rpc.ts";
import { createShop, type Shop } from "../../lab/kit/shop.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

let kit: Kit | null = null;
afterEach(async () => {
  await kit?.close();
  kit = null;
});

async function pay(shop: Shop, orderId: string): Promise<void> {
  const order = {
    currency: "eth" as const,
    amount: "0.1",
    receiver: `0x${"7a".repeat(20)}`,
    orderId,
  };
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

it("a state folder copied before a withdrawal and restored after it locks the agent", async () => {
  kit = await startPairedKit({ inProcess: true, confirmations: 1 });
  const shop = createShop(kit);
  await pay(shop, "before-the-copy");
  await stop(kit.crypto!);
  const copy = join(kit.dir, "copy");
  cpSync(kit.stateDir, copy, { recursive: true, preserveTimestamps: true });
  await kit.startCrypto();
  await pay(shop, "after-the-copy");
  await stop(kit.crypto!);
  await stop(kit.gateway!);

  rmSync(kit.stateDir, { recursive: true });
  cpSync(copy, kit.stateDir, { recursive: true, preserveTimestamps: true });
  const before = ledgerKinds(kit.stateDir).filter((kind) => kind === "SIGNED").length;
  expect(before).toBe(1);
  await kit.startCrypto(); // the service is unreachable: the agent waits
  const waiting = await kit.cli("status", "--json");
  expect([1, 4]).toContain(waiting.code);

  await kit.startGateway(); // and now it is back
  const locked = await until("locked", 120_000, async () => {
    const status = await kit!.cli("status");
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
  await until("the gateway knows", 120_000, async () => {
    const [agent] = JSON.parse(await kit!.operate("agents", "--json"));
    return agent.lockedCode === "AGENT_BEHIND" ? true : undefined;
  });
  await new Promise((resolve) => setTimeout(resolve, 5000));
  const kinds = ledgerKinds(kit.stateDir);
  expect(kinds).toContain("LOCKED");
  expect(kinds.filter((kind) => kind === "SIGNED").length).toBe(before);
  expect(await transactionCount(kit.anvil.url, kit.hotWalletAddress)).toBe(2);

  // The lock is a record: a restart does not lift it.
  await stop(kit.crypto!);
  const again = await kit.startCrypto().then(
    () => "running",
    () => "ended",
  );
  const status = await kit.cli("status");
  expect(again === "ended" || status.code === 4).toBe(true);
});
