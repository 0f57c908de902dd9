/**
 * The node that stands in for rippled, where Ripple's packages do not load: one sentence, and no
 * node.
 */
import { afterEach, expect, it, vi } from "vitest";
import { hasXrpNode } from "../support/xrp-network.ts";

afterEach(() => {
  vi.doUnmock("ripple-keypairs");
  vi.resetModules();
});

it("a package that does not load is one sentence, for the caller that asks first and for the one that starts", async () => {
  vi.doMock("ripple-keypairs", () => {
    throw new Error("no such export\nat a line that nobody needs");
  });
  vi.resetModules();
  const { startXrpNode, xrpNodeMissing } = await import("../../lab/xrp-node/xrp-node.ts");
  expect(xrpNodeMissing).toMatch(
    /^The stand-in for rippled needs Ripple's codecs, which Node v[\d.]+ does not load: [^\n]+$/,
  );
  await expect(startXrpNode()).rejects.toThrow(xrpNodeMissing!);
});

it.skipIf(!hasXrpNode())("the same node starts where all packages load", async () => {
  const { startXrpNode, xrpNodeMissing } = await import("../../lab/xrp-node/xrp-node.ts");
  expect(xrpNodeMissing).toBeNull();
  const node = await startXrpNode();
  expect(node.urls).toHaveLength(1);
  await node.close();
});
