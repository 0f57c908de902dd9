/** One agent's ledger beside another merchant's: a hash that one names is the other's as well. */
import { describe, expect, it } from "vitest";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { askWithdrawal, pairAgent, readAgent } from "../../rig/gateway-database.ts";
import { headAt, statementOf } from "../../rig/link-agent.ts";
import { db, decision, eachTestItsHub, greeted, keys, signed } from "../support/hub-server.ts";

eachTestItsHub();

describe("a hash that another merchant's agent named first", () => {
  it.each([
    ["another account's", "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65", ""],
    ["its own account's", "", "HUB_CONTRADICTION"],
  ])("a hash that is %s already locks the agent: %s %s", async (_, account, lockedCode) => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const other = pairAgent(db.store, "b");
    const entry = signed(id, "7");
    const txHash = entry.kind === "signed" ? entry.txHash : "";
    insertSignature(db.store.database, {
      ...{ transactionId: askWithdrawal(db.store, other.id, 2), version: 1, agent: other.id, network: "eip155:31337" },
      ...{ account: account || keys.hotAddress, slot: "9", txHash, feeMax: "1", seq: 1, untilMs: 0, cancel: 0 },
    });
    const agent = await greeted();
    agent.state(statementOf(keys.id, 0, [decision(id, "approved"), entry]));
    if (lockedCode === "") expect(await agent.next("ack")).toMatchObject({ head: headAt(2) });
    else await agent.closed;
    expect(readAgent(db.store, keys.id).lockedCode).toBe(lockedCode);
  });
});
