/**
 * The status of the connection to a provider of Tron that is out: its beginning, its words, and no
 * entry for a refusal that passes.
 */
import { afterEach, expect, describe as group, it } from "vitest";
import type { NodeStatus } from "../../chains/nodes.ts";
import { createSender, type TronSender } from "../../chains/tron/node-sender.ts";
import { sender, startTestNetwork, type TestNetwork } from "../support/tron-network.ts";
import { until } from "../support/until.ts";

let testNetwork: TestNetwork;
let nodes: TronSender;

async function begin(): Promise<void> {
  testNetwork = await startTestNetwork({ fronts: [{}, {}] });
  const clock = (): number => performance.now();
  nodes = createSender({
    urls: testNetwork.node.urls,
    chainId: testNetwork.node.chainId,
    tokens: [],
    clock,
    log: () => undefined,
  });
  await nodes.chainState(sender.address);
}

afterEach(async () => {
  nodes.close();
  await testNetwork.node.close();
});

const second = (): NodeStatus => nodes.status()[1]!;

group("a provider of Tron that is out", () => {
  it("a provider that answers 429 all the time is out after five seconds, though its questions wait still", async () => {
    await begin();
    expect(second()).toMatchObject({ ok: true, detail: "", outForMs: null });
    testNetwork.node.fronts[1]!.suffer({ status: 429 });
    let isOver = false;
    const asked = nodes.chainState(sender.address).catch(() => undefined);
    void asked.then(() => {
      isOver = true;
    });
    await until(() => !second().ok);
    expect(isOver).toBe(false);
    expect(second().detail).toBe("NODE_QUOTA: HTTP status 429 (too many requests): trouble");
    expect(second().outForMs).toBeGreaterThanOrEqual(5_000);
    expect(nodes.status()[0]).toMatchObject({ ok: true, outForMs: null });
    testNetwork.node.fronts[1]!.suffer({});
    await asked;
    expect(second()).toMatchObject({ ok: true, detail: "", outForMs: null });
  });

  it("a provider that answers 429 for a moment is not out", async () => {
    await begin();
    testNetwork.node.fronts[1]!.suffer({ status: 429, times: 2 });
    const asked = nodes.chainState(sender.address);
    await until(() => testNetwork.node.fronts[1]!.counts.size > 0);
    await new Promise((done) => setTimeout(done, 500));
    expect(second()).toMatchObject({ ok: true, outForMs: null });
    await asked;
  });

  it("a provider that is down is out since its first failure, not its last", async () => {
    await begin();
    testNetwork.node.fronts[1]!.suffer({ isCut: true });
    const chainState = () =>
      expect(nodes.chainState(sender.address)).rejects.toMatchObject({ code: "NODE_UNREACHABLE" });
    await chainState();
    // One node's failure ends the question; the other node's may come a moment later.
    await until(() => second().outForMs !== null);
    const { outForMs } = second();
    await new Promise((done) => setTimeout(done, 300));
    await chainState();
    expect(second().ok).toBe(false);
    expect(second().outForMs).toBeGreaterThanOrEqual(outForMs! + 290);
  });
});
