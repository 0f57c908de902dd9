/**
 * A withdrawal to which an operator assigned a payment, between hub and agent: the agent's refusal
 * completes it, and a signature of it ends the assignment.
 */
import { describe, expect, it } from "vitest";
import { insertAssigned } from "../../gateway/store/assigned-payments.ts";
import { keepRecall } from "../../gateway/store/recalls.ts";
import { askWithdrawal, readAgent, readTransaction } from "../../lab/kit/gateway-database.ts";
import { type EntryBody, statementOf } from "../../lab/kit/link-agent.ts";
import {
  audit,
  db,
  decision,
  eachTestItsHub,
  handshake,
  keys,
  signed,
  told,
} from "../support/hub-server.ts";

eachTestItsHub();

const network = "eip155:31337";
const txHash = `0x${"ab".repeat(32)}`;

/** An open withdrawal with its assigned payment, as the operator's command writes it. */
function assigned(number: number, hash = txHash): string {
  const id = askWithdrawal(db.store, keys.id, number);
  db.store.write((database) => {
    const paid = {
      transactionId: id,
      network,
      account: keys.hotWalletAddress,
      txHash: hash,
      block: 9,
      feeUnits: "21",
      at: 1,
    };
    insertAssigned(database, paid);
    keepRecall(database, id, 1);
  });
  return id;
}

const signedAs = (id: string, slot: string, hash: string) =>
  ({ ...signed(id, slot), txHash: hash }) as EntryBody;

describe("an assigned withdrawal", () => {
  for (const end of ["refused", "expired"] as const)
    it(`that its agent has ${end} is Completed by that payment, and its job is answered`, async () => {
      const id = assigned(1);
      const agent = await handshake();
      agent.state(statementOf(keys.id, 0, [decision(id, "approved")], { handshake: agent.nonce }));
      expect(await agent.next("ack")).toMatchObject({ recalled: [id] });
      expect(readTransaction(db.store, id)).toMatchObject({ status: 0, txHash: "" });
      agent.state(statementOf(keys.id, 1, [decision(id, end, "SHOP_CANCELLED")]));
      expect(await agent.next("ack")).not.toHaveProperty("recalled");
      const completed = {
        status: 1,
        stage: "completed",
        code: "",
        txHash,
        finalBlock: 9,
        feeUnits: "21",
      };
      expect(readTransaction(db.store, id)).toMatchObject(completed);
      expect(db.store.database.all("SELECT 1 FROM jobs WHERE answeredAt IS NULL")).toEqual([]);
      expect(told.slice(-2)).toEqual(["changed 1", "decided 1"]);
      // Its twin without an assigned payment fails.
      const twin = askWithdrawal(db.store, keys.id, 2);
      agent.state(statementOf(keys.id, 2, [decision(twin, end, "SHOP_CANCELLED")]));
      await agent.next("ack");
      expect(readTransaction(db.store, twin)).toMatchObject({ status: 2, stage: end });
    });

  it("that its agent had signed is that signature's, and the audit says so", async () => {
    const id = assigned(1);
    const agent = await handshake();
    agent.state(
      statementOf(keys.id, 0, [decision(id, "approved"), signed(id, "7")], {
        handshake: agent.nonce,
      }),
    );
    await agent.next("ack");
    expect(readTransaction(db.store, id)).toMatchObject({ status: 0, stage: "signed" });
    expect(db.store.database.all("SELECT 1 FROM assignedPayments")).toEqual([]);
    expect(audit()).toContainEqual(expect.objectContaining({ act: "payment not assigned" }));
  });

  it("that has ended is neither approved nor signed any more: the agent is locked", async () => {
    const id = assigned(1);
    const agent = await handshake();
    agent.state(
      statementOf(keys.id, 0, [decision(id, "refused", "SHOP_CANCELLED")], {
        handshake: agent.nonce,
      }),
    );
    await agent.next("ack");
    agent.state(statementOf(keys.id, 1, [decision(id, "approved")]));
    expect(await agent.closed).toMatchObject({ reason: "locked" });
    expect(readAgent(db.store, keys.id)).toMatchObject({ lockedCode: "HUB_CONTRADICTION" });
  });

  it("an assigned payment is no other withdrawal's attempt, and may be the withdrawal's own", async () => {
    const [id, other] = [assigned(1), askWithdrawal(db.store, keys.id, 2)];
    const agent = await handshake();
    agent.state(
      statementOf(keys.id, 0, [decision(id, "approved"), signedAs(id, "7", txHash)], {
        handshake: agent.nonce,
      }),
    );
    await agent.next("ack");
    expect(readTransaction(db.store, id)).toMatchObject({ stage: "signed" });
    const hash = `0x${"cd".repeat(32)}`;
    assigned(3, hash);
    agent.state(statementOf(keys.id, 2, [decision(other, "approved"), signedAs(other, "8", hash)]));
    expect(await agent.closed).toMatchObject({ reason: "locked" });
  });
});
