/**
 * Sweeps that the chain cannot reach, between hub and agent: the content of an acknowledgement, and
 * the moment at which an agent's `expired` ends a signed sweep.
 */
import { describe, expect, it } from "vitest";
import { takeExpiryStatement } from "../../gateway/store/void-attempts.ts";
import { updateWithdrawal } from "../../gateway/store/withdrawals.ts";
import { askWithdrawal, readAgent, readTransaction } from "../../lab/kit/gateway-database.ts";
import { type EntryBody, type LinkAgent, statementOf } from "../../lab/kit/link-agent.ts";
import { db, eachTestItsHub, handshake, keys, signals, signed } from "../support/hub-server.ts";

eachTestItsHub();

const deposit = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";

const ask = (): string => {
  const place = {
    operation: "sweep",
    receiver: keys.hotWalletAddress,
    payer: deposit,
  } as const;
  return askWithdrawal(db.store, keys.id, 1, { ...place, addressIndex: 0, nextSlot: "7" });
};
const word = (id: string, decision: "approved" | "expired", code = ""): EntryBody => ({
  ...{ kind: "decision", transactionId: id, decision, code, address: keys.hotWalletAddress },
});

async function out(): Promise<{ readonly agent: LinkAgent; readonly id: string }> {
  const id = ask();
  const agent = await handshake();
  agent.state(
    statementOf(keys.id, 0, [word(id, "approved"), signed(id, "7", { account: deposit })], {
      handshake: agent.nonce,
    }),
  );
  expect(await agent.next("ack")).not.toHaveProperty("unreachable");
  return { agent, id };
}

/** The gateway's pass, once its nodes say so. */
function strands(id: string): void {
  db.store.write((database) =>
    updateWithdrawal(database, id, { stage: "stuck", code: "SWEEP_UNREACHABLE" }, 7_000),
  );
  signals.emit("void", { transactionId: id });
}

describe("a sweep that the chain cannot reach", () => {
  it("is named at once, in each acknowledgement and at each handshake, until it is none", async () => {
    const { agent, id } = await out();
    strands(id);
    expect(await agent.next("ack")).toMatchObject({ unreachable: [id] });
    agent.state(statementOf(keys.id, 2, [word(id, "approved")], { handshake: agent.nonce }));
    expect(await agent.next("ack")).toMatchObject({ unreachable: [id] });
    const again = await handshake();
    expect(await again.next("ack")).toMatchObject({ unreachable: [id] });
    db.store.write((database) =>
      updateWithdrawal(database, id, { stage: "broadcast", code: "" }, 8_000),
    );
    signals.emit("void", { transactionId: id });
    expect(await again.next("ack")).not.toHaveProperty("unreachable");
  });

  it("ends by its agent's word, and gives its place back", async () => {
    const { agent, id } = await out();
    strands(id);
    await agent.next("ack");
    agent.state(
      statementOf(keys.id, 2, [word(id, "expired", "SWEEP_UNREACHABLE")], {
        handshake: agent.nonce,
      }),
    );
    expect(await agent.next("ack")).not.toHaveProperty("unreachable");
    expect(readTransaction(db.store, id)).toMatchObject({
      status: 2,
      stage: "expired",
      code: "SWEEP_UNREACHABLE",
    });
  });

  it("a sweep that the gateway's own nodes can reach stays open whatever its agent says, and the word is kept", async () => {
    const { agent, id } = await out();
    agent.state(
      statementOf(keys.id, 2, [word(id, "expired", "SWEEP_UNREACHABLE")], {
        handshake: agent.nonce,
      }),
    );
    await agent.next("ack");
    expect(readTransaction(db.store, id)).toMatchObject({ status: 0, stage: "signed" });
    expect(readAgent(db.store, keys.id).lockedCode).toBe("");
    expect(db.store.write((database) => takeExpiryStatement(database, id))).toBe(
      "SWEEP_UNREACHABLE",
    );
  });

  it("a sweep that the chain has paid meanwhile stays paid", async () => {
    const { agent, id } = await out();
    db.store.write((database) =>
      updateWithdrawal(database, id, { status: 1, stage: "completed", code: "" }, 7_000),
    );
    agent.state(
      statementOf(keys.id, 2, [word(id, "expired", "SWEEP_UNREACHABLE")], {
        handshake: agent.nonce,
      }),
    );
    await agent.next("ack");
    expect(readTransaction(db.store, id)).toMatchObject({ status: 1, stage: "completed" });
    expect(db.store.write((database) => takeExpiryStatement(database, id))).toBeUndefined();
    expect(readAgent(db.store, keys.id).lockedCode).toBe("");
  });
});
