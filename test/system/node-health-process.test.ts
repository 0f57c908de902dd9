/**
 * A gateway and an agent as really started, with two nodes of which one stands still but answers:
 * `/ready`, `health`, `status` and `doctor` name that node, and are well when it goes on. Sources:
 * shkeeper.io #197 (fourteen hours unnoticed), litentry/heima #807.
 */
import { afterEach, expect, it } from "vitest";
import { readConfig } from "../../gateway/config/config.ts";
import { operatorHeaders } from "../../gateway/operator/health.ts";
import { type FakeAnswer, type FakeNode, startFakeNode } from "../../lab/kit/fake-node.ts";
import { type Kit, startPairedKit } from "../../lab/kit/kit.ts";
import { until } from "../../lab/kit/processes.ts";
import { rpc } from "../../lab/kit/rpc.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

const waitMs = 180_000;
let kit: Kit | null = null;
let second: FakeNode | null = null;
afterEach(async () => {
  await kit?.close();
  await second?.close();
  [kit, second] = [null, null];
});

/** A node that hands all on to `url`, and whose newest block is `stillAt()` unless that is null. */
function nodeBefore(url: string, stillAt: () => number | null): Promise<FakeNode> {
  const answer = async ({
    method,
    params,
  }: {
    method: string;
    params: readonly unknown[];
  }): Promise<FakeAnswer> => {
    const at = stillAt();
    const isNewest = params[0] === "latest" || params[0] === "finalized";
    const asked =
      at !== null && method === "eth_getBlockByNumber" && isNewest
        ? [`0x${at.toString(16)}`, params[1]]
        : params;
    return { result: await rpc(url, method, [...asked]) };
  };
  return startFakeNode({ answer });
}

it("a node that stands still is named by /ready, health, status and doctor", async () => {
  let stillAt: number | null = null;
  kit = await startPairedKit({
    inProcess: true,
    confirmations: 3,
    blockTimeMs: 500,
    alsoServes: async (url) => {
      second = await nodeBefore(url, () => stillAt);
      const local = { family: "evm", chainId: 31337, nodes: [url, second.url], confirmations: 3 };
      return { chains: { local }, currencies: {} };
    },
  });
  const { gatewayUrl, anvil } = kit;
  const headers = operatorHeaders(readConfig(kit.gatewayConfigPath));
  const name = second!.url;
  const says = async (): Promise<{ readonly status: number; readonly detail: string }> => {
    const answer = await fetch(`${gatewayUrl}/ready`, { headers });
    const { checks } = (await answer.json()) as { checks: { name: string; detail: string }[] };
    return {
      status: answer.status,
      detail: checks.find((check) => check.name === "chain local")?.detail ?? "",
    };
  };
  expect(await says()).toEqual({ status: 200, detail: "" });

  stillAt = Number(await rpc(anvil.url, "eth_blockNumber", []));
  // As many blocks as half a minute has, at once, and their own times with them.
  await rpc(anvil.url, "anvil_mine", ["0x50", "0x1"]);
  // The first 503 may still tell the blocks that the node was behind when it was asked last.
  const words = new RegExp(
    `NODE_LAG.*${name} is \\d+ blocks behind: its newest block is ${stillAt}, of [0-9:]{8} UTC`,
  );
  await until("a word in /ready", waitMs, async () => {
    const { status, detail } = await says();
    return status === 503 && words.test(detail) ? true : undefined;
  });
  await expect(kit.operate("health")).rejects.toThrow(`${name} is `);
  const status = await until("a word in status", waitMs, async () => {
    const { code, output } = await kit!.cli("status");
    return code === 1 && output.includes(`${name} is `) ? output : undefined;
  });
  expect(status).toMatch(/PROBLEMS \(\d+\)[\s\S]+blocks behind: its newest block is/);
  const doctor = await kit.cli("doctor");
  expect([doctor.code, doctor.output]).toEqual([1, expect.stringContaining("NODE_LAG")]);

  stillAt = null;
  await until("a ready gateway", waitMs, async () =>
    (await says()).status === 200 ? true : undefined,
  );
  await until("a well chain in status", waitMs, async () =>
    (await kit!.cli("status")).output.includes(name) ? undefined : true,
  );
});
