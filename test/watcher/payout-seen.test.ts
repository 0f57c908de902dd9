/**
 * A transaction of a hot wallet that nothing explains is kept from the first block that shows it,
 * as long as it may have paid somebody.
 */
import { describe, expect, it } from "vitest";
import type { UnexplainedOutgoingRow } from "../../gateway/store/outgoing-holds.ts";
import { hashOf } from "../../lab/kit/fake-chain.ts";
import { pairAgent, receiver } from "../../lab/kit/gateway-database.ts";
import { until } from "../support/until.ts";
import {
  chain,
  db,
  eachTestItsChain,
  eth,
  keys,
  network,
  passes,
  payment,
  signedWithdrawal,
  start,
} from "../support/watched-chain.ts";

eachTestItsChain();

const foreign = (nonce: number, change: object = {}) => ({
  ...payment("", nonce),
  hash: hashOf(`foreign ${nonce}`),
  ...change,
});
const kept = (): UnexplainedOutgoingRow[] =>
  db.store.database.all(
    "SELECT network, account, txHash, block, final, receiver, tag, contract, units FROM unexplained ORDER BY txHash",
  );

describe("an unexplained transaction of a hot wallet", () => {
  it("is kept while it is only seen, with what it paid, and becomes final with its block", async () => {
    await start(1, 3);
    const block = chain.mine(foreign(0));
    await until(() => kept().length > 0);
    const paid = {
      network,
      account: keys.hotWalletAddress,
      receiver,
      tag: "",
      contract: "",
      units: `${eth}`,
    };
    expect(kept()).toEqual([{ ...paid, txHash: hashOf("foreign 0"), block, final: 0 }]);
    chain.mineEmpty(4);
    await until(() => kept()[0]?.final === 1);
    expect(kept()).toEqual([{ ...paid, txHash: hashOf("foreign 0"), block, final: 1 }]);
  });

  it("is forgotten if it failed, and one that a signature explains is never kept", async () => {
    await start(1, 3);
    const id = signedWithdrawal(1);
    chain.mine(payment(id, 1), foreign(2, { status: 0 }));
    await until(() => kept().length === 1);
    chain.mineEmpty(4);
    await until(() => kept().length === 0);
  });

  it("is kept although a reorganisation takes it out of the chain: its bytes can come again", async () => {
    await start(1, 3);
    chain.mine(foreign(0));
    await until(() => kept().length > 0);
    chain.dropBlocks(1);
    chain.mineEmpty(6);
    await passes();
    expect(kept()).toMatchObject([{ txHash: hashOf("foreign 0"), final: 0 }]);
  });

  it("is found in blocks that were seen before its wallet was paired", async () => {
    await start(1, 3);
    const other = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
    chain.mine(foreign(0, { from: other }));
    await passes();
    expect(kept()).toEqual([]);
    pairAgent(db.store, "b", other);
    await until(() => kept().length > 0);
    expect(kept()).toMatchObject([{ account: other, final: 0 }]);
  });
});
