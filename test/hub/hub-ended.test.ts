/**
 * The gateway's last word: the ends that an agent is sent, the time of it, the repeat after a loss;
 * and the record of a pause.
 */
import { describe, expect, it } from "vitest";
import { keepMovedAttempt, listEndedMovedWithdrawals } from "../../gateway/store/moved-payments.ts";
import { endWithdrawal } from "../../gateway/store/withdrawals.ts";
import { askWithdrawal, readAgent } from "../../lab/kit/gateway-database.ts";
import { headAt, type LinkAgent, statementOf } from "../../lab/kit/link-agent.ts";
import { endedPerAckMax } from "../../protocol/payloads.ts";
import {
  connect,
  db,
  decision,
  eachTestItsHub,
  handshake,
  keys,
  signals,
  signed,
  start,
  stop,
} from "../support/hub-server.ts";

eachTestItsHub();

const network = "eip155:31337";

/** The watcher's act at finality. */
function end(id: string, status: 1 | 2 = 1): void {
  db.store.database.run("UPDATE transfers SET status = ? WHERE id = ?", status, id);
  signals.emit("changed", { transactionId: id });
}

async function paying(
  count: number,
): Promise<{ readonly agent: LinkAgent; readonly ids: readonly string[] }> {
  const ids = Array.from({ length: count }, (_, i) => askWithdrawal(db.store, keys.id, i + 1));
  const agent = await handshake();
  for (const [i, id] of ids.entries()) {
    const txHash = `0x${(i + 1).toString(16).padStart(64, "0")}`;
    agent.state(
      statementOf(keys.id, i * 2, [decision(id, "approved"), signed(id, `${i}`, { txHash })]),
    );
    expect(await agent.next("ack")).toMatchObject({ ended: [] });
  }
  return { agent, ids };
}

describe("an end on chain", () => {
  it("is told at once, in an acknowledgement of the head that is stored; progress and what was never signed are not", async () => {
    const { agent, ids } = await paying(2);
    const unsigned = askWithdrawal(db.store, keys.id, 9);
    signals.emit("changed", { transactionId: ids[0]! });
    end(unsigned, 2);
    end(ids[1]!);
    expect(await agent.next("ack")).toMatchObject({ head: headAt(4), ended: [ids[1]] });
    end(ids[0]!, 2);
    expect(await agent.next("ack")).toMatchObject({ head: headAt(4), ended: [ids[0]] });
  });

  it("is sent again after a handshake, of the slots that the hello calls open and of no others", async () => {
    const { ids } = await paying(3);
    for (const id of ids) end(id);
    const account = keys.hotWalletAddress;
    for (const [first, last, expected] of [
      ["0", "2", [...ids]],
      ["1", "1", [ids[1]]],
    ] as const) {
      const agent = connect();
      await agent.hello({ open: [{ network, account, first, last }] });
      await agent.next("welcome");
      const { ended } = await agent.next("ack");
      expect([...ended].sort()).toEqual([...expected].sort());
    }
    const other = connect();
    await other.hello({ open: [{ network, account, first: "7", last: "9" }] });
    await other.next("welcome");
    end(ids[2]!);
    expect(await other.next("ack")).toMatchObject({ ended: [ids[2]] });
  });

  it("by an operator's command, which is another process, is told with a later heartbeat, to its agent and twice alone", async () => {
    const { ids } = await paying(2);
    await stop();
    await start({ heartbeatMs: 20, deadMs: 600_000 });
    const [id = "", open = ""] = ids;
    const agent = await handshake();
    for (const each of ids)
      keepMovedAttempt(db.store.database, {
        transactionId: each,
        txHash: "0xa",
        block: 1,
        feeUnits: "1",
        at: 1,
      });
    const units = { moved: { receivedUnits: "7", sentUnits: "9" } };
    const at = { txHash: "0xa", feeUnits: "1", finalBlock: 1, changedAt: 2 };
    endWithdrawal(db.store.database, id, {
      ...at,
      ...units,
      status: 2,
      stage: "failed",
      code: "chain_moved",
    });
    const named = (): number =>
      agent.frames.filter(
        ({ kind, message }) => kind === "ack" && JSON.stringify(message).includes(id),
      ).length;
    for (let came = 0; came < 20; came += 1) await agent.next("heartbeat");
    expect(named()).toBe(2);
    expect(JSON.stringify(agent.frames)).not.toContain(open);
    expect(listEndedMovedWithdrawals(db.store.database, "another")).toEqual([]);
  });

  it("is told in as many acknowledgements as it takes", async () => {
    const { ids } = await paying(1);
    const { database } = db.store;
    const many = endedPerAckMax + 5;
    for (let i = 1; i <= many; i++) {
      const id = askWithdrawal(db.store, keys.id, 100 + i);
      const account = keys.hotWalletAddress;
      database.run(
        "INSERT INTO slots (network, account, slot, transactionId) VALUES (?, ?, ?, ?)",
        network,
        account,
        `${i}`,
        id,
      );
      database.run("UPDATE transfers SET status = 1 WHERE id = ?", id);
    }
    const agent = connect();
    await agent.hello({
      open: [{ network, account: keys.hotWalletAddress, first: "0", last: "9999" }],
    });
    await agent.next("welcome");
    expect((await agent.next("ack")).ended).toHaveLength(endedPerAckMax);
    expect((await agent.next("ack")).ended).toHaveLength(5);
    expect(ids).toHaveLength(1);
  });
});

describe("a pause of the agent's operator", () => {
  it("is kept until the agent says that it is over, and orders are taken as before", async () => {
    const agent = await handshake();
    agent.state(statementOf(keys.id, 0, [{ kind: "paused", paused: true }]));
    await agent.next("ack");
    expect(readAgent(db.store, keys.id)).toMatchObject({ pausedAt: 5_000, lockedCode: "" });
    const id = askWithdrawal(db.store, keys.id, 1);
    signals.emit("job", { agent: keys.id });
    expect((await agent.next("jobs")).jobs).toHaveLength(1);
    agent.state(
      statementOf(keys.id, 1, [decision(id, "approved"), { kind: "paused", paused: false }]),
    );
    await agent.next("ack");
    expect(readAgent(db.store, keys.id)).toMatchObject({ pausedAt: null });
  });
});
