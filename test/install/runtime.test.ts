/**
 * The oldest Node of each part, with real binaries: built output, pairing, one withdrawal. The
 * versions are those of `engines`.
 */
import { expect, it } from "vitest";
import { proveOn } from "../../lab/nodes.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

it("an agent on Node 18.19.1 pairs with a gateway on Node 20.9.0, and pays", async (context) => {
  const proof = await proveOn("18", "20");
  if (proof === null) {
    process.stderr.write(
      "\n*** SKIPPED: no Node binaries for this machine; run it on Linux x64\n\n",
    );
    context.skip();
    return;
  }
  expect(proof).toMatchObject({ version: "v18.19.1", gatewayVersion: "v20.9.0" });
  expect(proof.txHash).toMatch(/^0x[0-9a-f]{64}$/);
});
