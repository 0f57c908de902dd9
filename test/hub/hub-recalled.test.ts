/**
 * Recalls between hub and agent: each acknowledgement names them, before any job, until the
 * withdrawal has ended or is signed.
 */
import { describe, expect, it } from "vitest";
import { keepRecall, listRecalled } from "../../gateway/store/recalls.ts";
import { askWithdrawal, readTransaction } from "../../lab/kit/gateway-database.ts";
import { statementOf } from "../../lab/kit/link-agent.ts";
import {
  db,
  decision,
  eachTestItsHub,
  handshake,
  keys,
  signals,
  signed,
} from "../support/hub-server.ts";

eachTestItsHub();

const ask = (number: number): string => askWithdrawal(db.store, keys.id, number);
const recall = (id: string, atMs = 1): void =>
  db.store.write((database) => keepRecall(database, id, atMs));
const recalled = (): readonly string[] => listRecalled(db.store.database, keys.id);

describe("a recall", () => {
  it("is named at once, in each acknowledgement, and at the next handshake before any job, until its withdrawal is refused", async () => {
    const id = ask(1);
    const agent = await handshake();
    agent.state(statementOf(keys.id, 0, [decision(id, "approved")], { handshake: agent.nonce }));
    expect(await agent.next("ack")).not.toHaveProperty("recalled");
    recall(id);
    signals.emit("recall", { agent: keys.id });
    expect(await agent.next("ack")).toMatchObject({ recalled: [id] });
    const second = ask(2);
    recall(second, 2);
    const again = await handshake();
    expect(await again.next("ack")).toMatchObject({ recalled: [id, second] });
    const kinds = again.frames
      .map(({ kind }) => kind)
      .filter((kind) => kind === "ack" || kind === "jobs");
    expect(kinds[0]).toBe("ack");
    again.state(
      statementOf(keys.id, 1, [decision(id, "refused", "SHOP_CANCELLED")], {
        handshake: again.nonce,
      }),
    );
    expect(await again.next("ack")).toMatchObject({ recalled: [second] });
    expect(readTransaction(db.store, id)).toMatchObject({
      status: 2,
      stage: "refused",
      code: "SHOP_CANCELLED",
    });
  });

  it("is over once a signature is stored, because the withdrawal may be paid", async () => {
    const id = ask(1);
    const agent = await handshake();
    recall(id);
    expect(recalled()).toEqual([id]);
    agent.state(
      statementOf(keys.id, 0, [decision(id, "approved"), signed(id, "7")], {
        handshake: agent.nonce,
      }),
    );
    expect(await agent.next("ack")).not.toHaveProperty("recalled");
    expect(recalled()).toEqual([]);
  });

  it("of many keeps the order of the recalls, and an acknowledgement names 256", () => {
    const ids = Array.from({ length: 260 }, (_, at) => ask(at + 1));
    for (const [at, id] of ids.entries()) recall(id, 1_000 - at);
    expect(recalled()).toEqual([...ids].reverse().slice(0, 256));
  });
});
