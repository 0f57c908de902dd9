/**
 * The status of the door for a provider of Tron that is out: its beginning, its words, and no entry
 * for a refusal that passes.
 */
import { afterEach, expect, describe as group, it } from "vitest";
import type { NodeStatus } from "../../chains/nodes.ts";
import { createPayer, type TronPayer } from "../../chains/tron/node-payer.ts";
import { payer, startTown, type Town } from "../support/tron-town.ts";
import { until } from "../support/until.ts";

let town: Town;
let door: TronPayer;

async function begin(): Promise<void> {
  town = await startTown({ fronts: [{}, {}] });
  const clock = (): number => performance.now();
  door = createPayer({ urls: town.node.urls, chainId: town.node.chainId, tokens: [], clock, log: () => undefined });
  await door.facts(payer.address);
}

afterEach(async () => {
  door.close();
  await town.node.close();
});

const second = (): NodeStatus => door.status()[1]!;

group("a provider of Tron that is out", () => {
  it("a provider that answers 429 all the time is out after five seconds, though its questions wait still", async () => {
    await begin();
    expect(second()).toMatchObject({ ok: true, detail: "", outForMs: null });
    town.node.fronts[1]!.suffer({ status: 429 });
    let isOver = false;
    const asked = door.facts(payer.address).catch(() => undefined);
    void asked.then(() => {
      isOver = true;
    });
    await until(() => !second().ok, 8_000);
    expect(isOver).toBe(false);
    expect(second().detail).toBe("NODE_QUOTA: HTTP status 429 (too many requests): trouble");
    expect(second().outForMs).toBeGreaterThanOrEqual(5_000);
    expect(door.status()[0]).toMatchObject({ ok: true, outForMs: null });
    town.node.fronts[1]!.suffer({});
    await asked;
    expect(second()).toMatchObject({ ok: true, detail: "", outForMs: null });
  }, 20_000);

  it("a provider that answers 429 for a moment is not out", async () => {
    await begin();
    town.node.fronts[1]!.suffer({ status: 429, times: 2 });
    const asked = door.facts(payer.address);
    await until(() => town.node.fronts[1]!.counts.size > 0);
    await new Promise((done) => setTimeout(done, 500));
    expect(second()).toMatchObject({ ok: true, outForMs: null });
    await asked;
  });

  it("a provider that is down is out since its first failure, not its last", async () => {
    await begin();
    town.node.fronts[1]!.suffer({ isCut: true });
    const facts = () => expect(door.facts(payer.address)).rejects.toMatchObject({ code: "NODE_UNREACHABLE" });
    await facts();
    // One node's failure ends the question; the other node's may come a moment later.
    await until(() => second().outForMs !== null);
    const { outForMs } = second();
    await new Promise((done) => setTimeout(done, 300));
    await facts();
    expect(second().ok).toBe(false);
    expect(second().outForMs).toBeGreaterThanOrEqual(outForMs! + 290);
  });
});
