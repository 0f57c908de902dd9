/** The oldest supported Node, with a real binary: built output, pairing, one withdrawal. */
import { expect, it } from "vitest";
import { proveOn } from "../../scripts/nodes.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

it("pairs and pays on Node 18.19.1", { timeout: 240_000 }, async (context) => {
  const proof = await proveOn("18");
  if (proof === null) {
    process.stderr.write("\n*** SKIPPED: no Node 18.19.1 binary for this machine; run it on Linux x64\n\n");
    context.skip();
    return;
  }
  expect(proof.version).toBe("v18.19.1");
  expect(proof.txHash).toMatch(/^0x[0-9a-f]{64}$/);
});
