/**
 * Chains on which only expiry excludes a second payment: the moment at which the gateway's own
 * reading of the chain calls an attempt void, the effect of lies and halts on it, and the alert of
 * a transaction that nobody here ordered.
 */
import { describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import type { WatcherNodes } from "../../chains/nodes.ts";
import { FaultBook } from "../../gateway/faults/book.ts";
import { correctReservedSums } from "../../gateway/store/reserved.ts";
import { createSignals } from "../../gateway/store/signals.ts";
import {
  isAllVoid,
  keepExpiryStatement,
  listVoidHashes,
} from "../../gateway/store/void-attempts.ts";
import type { WatchedChain } from "../../gateway/watcher/chain.ts";
import { checkVoidAttempts, newVoidMemory } from "../../gateway/watcher/void-attempts.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import { inhabitant, sender } from "../support/tron-network.ts";
import {
  addAttempt,
  alarms,
  audit,
  db,
  eachTestItsNetwork,
  isVoid,
  keys,
  mineUntilSolid,
  network,
  outlive,
  passes,
  readsAll,
  receiver,
  row,
  sign,
  signature,
  testNetwork,
  told,
  until,
  watch,
  watcher,
  withdrawal,
} from "../support/waiting-gateway.ts";

eachTestItsNetwork();

const outsider = inhabitant("an outsider");
const withdrawalOf = ({ txHash }: { readonly txHash: string }): string =>
  signature(txHash).transactionId;

describe("an attempt that no block holds", () => {
  it("is void once chain time is past its end by the margin, and the withdrawal stays pending", async () => {
    const id = withdrawal(1);
    const attempt = sign(id);
    await watch();
    mineUntilSolid(attempt.validUntilMs);
    await readsAll();
    await passes();
    expect(isVoid(attempt.txHash)).toBe(false);
    outlive(attempt);
    await until(() => isVoid(attempt.txHash));
    expect(row(id)).toMatchObject({ status: 0, stage: "signed" });
    expect([isAllVoid(db.store.database, id), listVoidHashes(db.store.database, keys.id)]).toEqual([
      true,
      [attempt.txHash],
    ]);
    expect(told).toEqual(["void 1"]);
    const { timestampMs } = testNetwork.node.chain.blocks[testNetwork.node.chain.solid]!;
    const iso = (ms: number): string => new Date(ms).toISOString();
    expect(audit()).toEqual([
      {
        act: "attempt void",
        subject: id,
        detail: `${attempt.txHash} ended at ${iso(attempt.validUntilMs)}; solidified chain time ${iso(timestampMs)} by 2 nodes`,
      },
    ]);
  });

  it("is not void by the clock: a chain that stands still for a day ends nothing", async () => {
    const attempt = sign(withdrawal(1));
    await watch();
    testNetwork.node.chain.mine(3);
    testNetwork.node.chain.halt(86_400_000);
    testNetwork.node.chain.mine(5);
    await readsAll();
    await passes();
    expect(isVoid(attempt.txHash)).toBe(false);
    testNetwork.node.chain.mine(1);
    await until(() => isVoid(attempt.txHash));
  });

  it("attempts that no block holds are called void together, and a younger one beside them is not", async () => {
    const old = [1, 2, 3].map((number) => sign(withdrawal(number)));
    testNetwork.node.chain.mine(40);
    const young = sign(withdrawal(4));
    await watch();
    outlive(old[0]!);
    await until(() => old.every(({ txHash }) => isVoid(txHash)));
    await passes();
    expect(isVoid(young.txHash)).toBe(false);
    outlive(young);
    await until(() => isVoid(young.txHash));
  });

  it("an attempt without an end of its own, or of a withdrawal that has ended, is never asked for", async () => {
    const [open, ended] = [withdrawal(1), withdrawal(2)];
    addAttempt(open, 1, { txHash: "11".repeat(32), validUntilMs: 0 });
    const attempt = sign(ended);
    db.store.database.run("UPDATE transfers SET status = 2 WHERE id = ?", ended);
    const twin = sign(withdrawal(3));
    await watch();
    outlive(twin);
    await until(() => isVoid(twin.txHash));
    expect([isVoid("11".repeat(32)), isVoid(attempt.txHash)]).toEqual([false, false]);
  });
});

describe("a withdrawal that its agent called over before its database knew that it is void", () => {
  it("a withdrawal that its agent called over fails once each attempt is void by this gateway's nodes", async () => {
    const id = withdrawal(1);
    const first = sign(id);
    testNetwork.node.chain.mine(30);
    const second = sign(id, 2);
    db.store.write((database) => keepExpiryStatement(database, id, "JOB_EXPIRED", 9));
    await watch();
    outlive(first);
    await until(() => isVoid(first.txHash));
    await passes();
    expect(row(id)).toMatchObject({ status: 0, stage: "signed" });
    outlive(second);
    await until(() => row(id).status === 2);
    expect(row(id)).toMatchObject({
      stage: "expired",
      code: "JOB_EXPIRED",
      txHash: "",
      finalBlock: null,
    });
    expect(told).toEqual(["void 1", "void 1", "changed 1"]);
    expect(db.store.write(correctReservedSums)).toBe(0);
  });

  it("a withdrawal that its agent called over is completed all the same when a block holds an attempt, with an alarm", async () => {
    const id = withdrawal(1);
    const attempt = sign(id);
    db.store.write((database) => keepExpiryStatement(database, id, "JOB_EXPIRED", 9));
    await watch();
    await testNetwork.send(attempt.signed);
    outlive(attempt);
    await until(() => row(id).status === 1);
    expect([isVoid(attempt.txHash), alarms()]).toEqual([false, ["WATCHER_VOID_INCLUDED"]]);
  });
});

describe("an attempt that a block holds", () => {
  it("completes its withdrawal and is never void", async () => {
    const id = withdrawal(1);
    const attempt = sign(id);
    await watch();
    await testNetwork.send(attempt.signed);
    testNetwork.node.chain.mine(2);
    await until(() => row(id).stage === "confirming");
    outlive(attempt);
    await until(() => row(id).status === 1);
    await passes();
    expect(row(id)).toMatchObject({ stage: "completed", txHash: attempt.txHash });
    expect([isVoid(attempt.txHash), alarms()]).toEqual([false, []]);
  });

  it("an attempt in the first block after a halt that it did not outlive is paid, not void", async () => {
    const id = withdrawal(1);
    const attempt = sign(id);
    await watch();
    await testNetwork.send(attempt.signed);
    testNetwork.node.chain.hold();
    testNetwork.node.chain.halt(7_200_000);
    testNetwork.node.chain.mine();
    expect(testNetwork.node.chain.placeOf(attempt.txHash)?.block.timestampMs).toBeGreaterThan(
      attempt.validUntilMs + 120_000,
    );
    testNetwork.node.chain.mine(5);
    await readsAll();
    await until(() => row(id).status === 1);
    testNetwork.node.chain.mine(50);
    await passes();
    expect([isVoid(attempt.txHash), alarms()]).toEqual([false, []]);
  });

  it("an attempt whose receipt is no success fails its withdrawal finally, and is not void", async () => {
    const id = withdrawal(1, { currency: "usdt" });
    const attempt = sign(id, 1, { feeLimitSun: 1_000 });
    await watch();
    await testNetwork.send(attempt.signed);
    outlive(attempt);
    await until(() => row(id).status === 2);
    expect(row(id)).toMatchObject({
      stage: "failed",
      code: "chain_reverted",
      txHash: attempt.txHash,
    });
    expect([isVoid(attempt.txHash), alarms()]).toEqual([
      false,
      ["WATCHER_PAYMENT_FAILED reverted"],
    ]);
  });

  it("a missing receipt is no failure: the withdrawal waits until its node remembers", async () => {
    const id = withdrawal(1);
    const attempt = sign(id);
    await watch();
    await testNetwork.send(attempt.signed);
    for (const front of testNetwork.node.fronts)
      front.suffer({ paths: "gettransactioninfobyid", lies: [{ kind: "hides" }] });
    outlive(attempt);
    await readsAll();
    await passes(6);
    expect([row(id).status, isVoid(attempt.txHash)]).toEqual([0, false]);
    for (const front of testNetwork.node.fronts) front.suffer({});
    testNetwork.node.chain.mine(1);
    await until(() => row(id).status === 1);
  });
});

describe("a lying node of two", () => {
  it.each([0, 1])(
    "node %i of two that hides a paid attempt brings no void attempt, and the truth comes out when it stops",
    async (liar) => {
      const id = withdrawal(1);
      const attempt = sign(id);
      await watch();
      await testNetwork.send(attempt.signed);
      testNetwork.node.chain.mine(1);
      testNetwork.node.fronts[liar]!.suffer({ lies: [{ kind: "hides", txIds: [attempt.txHash] }] });
      outlive(attempt);
      await until(() => !watcher!.ready());
      await passes(6);
      expect([row(id).status, isVoid(attempt.txHash)]).toEqual([0, false]);
      testNetwork.node.fronts[liar]!.suffer({});
      testNetwork.node.chain.mine(1);
      await until(() => row(id).status === 1);
      expect([isVoid(attempt.txHash), alarms()]).toEqual([false, []]);
    },
  );

  it("a node of two that claims later times, or everything solidified, ends a living attempt not a block sooner", async () => {
    const attempt = sign(withdrawal(1));
    await watch();
    testNetwork.node.chain.mine(20);
    for (const lie of [{ kind: "ahead", ms: 3_600_000 }, { kind: "all-solid" }] as const) {
      testNetwork.node.fronts[0]!.suffer({ lies: [lie] });
      await passes();
      expect(isVoid(attempt.txHash)).toBe(false);
    }
    testNetwork.node.fronts[0]!.suffer({});
    outlive(attempt);
    await until(() => isVoid(attempt.txHash));
  });

  it("nodes that forget their receipts and hide the block's transaction call void what was read here before, and are not believed", async () => {
    const id = withdrawal(1);
    const attempt = sign(id);
    await watch();
    await testNetwork.send(attempt.signed);
    // Read here as an outgoing transaction before anybody judged it, as by a gateway that was ended
    // in between.
    db.store.database.run("UPDATE transfers SET currency = 'gone' WHERE id = ?", id);
    testNetwork.node.chain.mine(8);
    await readsAll();
    await watcher!.close();
    for (const front of testNetwork.node.fronts)
      front.suffer({ lies: [{ kind: "hides", txIds: [attempt.txHash] }] });
    await watch();
    outlive(attempt);
    await until(() => alarms().length > 0);
    expect([isVoid(attempt.txHash), alarms()]).toEqual([false, ["WATCHER_VOID_INCLUDED"]]);
    expect(audit().at(-1)?.detail).toContain("no block holds it");
  });

  it("nodes of two minds about one attempt hold up that one alone, and nodes that do not answer are asked once", async () => {
    const attempts = [1, 2, 3, 4].map((number) => sign(withdrawal(number)));
    const odd = attempts[1]!.txHash;
    const faults = new FaultBook(() => 9);
    let asked = 0;
    const reading = (code: "NODE_DISAGREE" | "NODE_UNREACHABLE"): WatchedChain => {
      const findVoid: WatcherNodes["findVoid"] = async (_, some) => {
        asked += 1;
        const chainMs = attempts[0]!.validUntilMs + 200_000;
        if (some.some(({ txHash }) => txHash === odd))
          throw new AgentError(code, "none", "no word");
        return { isVoid: true, chainMs, block: 9, quorum: 2 };
      };
      const parts = {
        name: "testnet",
        network,
        reader: { findVoid },
        store: db.store,
        signals: createSignals(),
        log: silentLog,
      };
      return { ...parts, faults, clock: () => 9, run: "" } as unknown as WatchedChain;
    };
    const at = { number: 9, hash: "nine" };
    const tip = { head: at, final: at, askedAt: 0 };
    const check = (code: "NODE_DISAGREE" | "NODE_UNREACHABLE") =>
      checkVoidAttempts(reading(code), tip, newVoidMemory());
    await check("NODE_UNREACHABLE");
    expect([asked, attempts.filter(({ txHash }) => isVoid(txHash))]).toEqual([1, []]);
    await check("NODE_DISAGREE");
    expect(faults.list()).toMatchObject([
      { domain: "withdrawal", code: "NODE_DISAGREE", merchant: "m1" },
    ]);
    expect(attempts.map(({ txHash }) => isVoid(txHash))).toEqual([true, false, true, true]);
  });

  it("a single node that says of an attempt that a block holds it keeps nobody from asking whether it is void", async () => {
    const [seen, asked] = [sign(withdrawal(1)), sign(withdrawal(2))];
    const stuck = sign(withdrawal(3));
    const stageOf = (number: number, stage: string) =>
      db.store.database.run(
        "UPDATE transfers SET stage = ? WHERE id = ?",
        stage,
        withdrawalOf([seen, asked, stuck][number]!),
      );
    stageOf(0, "confirming");
    stageOf(2, "stuck");
    const findVoid: WatcherNodes["findVoid"] = async () => ({
      isVoid: true,
      chainMs: seen.validUntilMs + 200_000,
      block: 9,
      quorum: 2,
    });
    const parts = {
      name: "testnet",
      network,
      reader: { findVoid },
      store: db.store,
      signals: createSignals(),
      log: silentLog,
    };
    const at = { number: 9, hash: "nine" };
    const chain = {
      ...parts,
      faults: new FaultBook(() => 9),
      clock: () => 9,
      run: "",
    } as unknown as WatchedChain;
    await checkVoidAttempts(chain, { head: at, final: at, askedAt: 0 }, newVoidMemory());
    expect([seen, asked, stuck].map(({ txHash }) => isVoid(txHash))).toEqual([true, true, false]);
  });
});

describe("a void attempt in a block", () => {
  it("is an alarm and stays void, and the chain's word on the payment counts", async () => {
    const id = withdrawal(1);
    const attempt = sign(id);
    db.store.database.run("UPDATE signatures SET voidAt = 7 WHERE txHash = ?", attempt.txHash);
    await watch();
    await testNetwork.send(attempt.signed);
    testNetwork.node.chain.mine(8);
    await until(() => row(id).status === 1);
    await readsAll();
    expect([signature(attempt.txHash).voidAt, alarms()]).toEqual([7, ["WATCHER_VOID_INCLUDED"]]);
    expect(audit().find(({ act }) => act === "alarm WATCHER_VOID_INCLUDED")?.detail).toMatch(
      /and it was called void at 1970-01-01T00:00:00\.007Z$/,
    );
  });

  it("is an alarm also after its withdrawal was given up", async () => {
    const id = withdrawal(1);
    const attempt = sign(id);
    db.store.database.run("UPDATE signatures SET voidAt = 7 WHERE txHash = ?", attempt.txHash);
    db.store.database.run(
      "UPDATE transfers SET status = 2, stage = 'expired', code = 'JOB_EXPIRED' WHERE id = ?",
      id,
    );
    await watch();
    await testNetwork.send(attempt.signed);
    testNetwork.node.chain.mine(8);
    await until(() => alarms().length > 0);
    expect([row(id).status, alarms()]).toEqual([2, ["WATCHER_VOID_INCLUDED"]]);
  });

  it("an older void attempt in a block does not complete twice: both paid is for an operator", async () => {
    const id = withdrawal(1);
    const first = sign(id);
    db.store.database.run("UPDATE signatures SET voidAt = 7 WHERE txHash = ?", first.txHash);
    const second = sign(id, 2);
    await watch();
    await testNetwork.send(first.signed);
    await testNetwork.send(second.signed);
    testNetwork.node.chain.mine(8);
    await until(() => row(id).stage === "stuck");
    await readsAll();
    expect(row(id).status).toBe(0);
    expect([...alarms()].sort()).toEqual(["WATCHER_CONTENT_DIFFERS", "WATCHER_VOID_INCLUDED"]);
  });
});

describe("a transaction that nobody here ordered", () => {
  const outgoing = (): unknown[] =>
    db.store.database.all(
      "SELECT slot, txHash, receiver, units, untold FROM outgoing ORDER BY block",
    );

  it("is an alarm once, and no withdrawal's is one", async () => {
    const id = withdrawal(1);
    const attempt = sign(id);
    const foreign = testNetwork.coins(sender, outsider.address, 3_000_000);
    await watch();
    await testNetwork.send(attempt.signed);
    await testNetwork.send(foreign);
    testNetwork.node.chain.mine(8);
    await until(() => alarms().length > 0);
    await passes();
    expect(outgoing()).toHaveLength(2);
    expect(audit().filter(({ act }) => act.startsWith("alarm"))).toEqual([
      {
        act: "alarm WATCHER_OUTGOING_FOREIGN",
        subject: foreign.txID,
        detail: expect.stringContaining(
          `${sender.address} paid 3 trx to ${outsider.address}`,
        ) as string,
      },
    ]);
    db.store.database.run(
      "UPDATE cursors SET block = block - 8, hash = ?",
      testNetwork.node.chain.blocks[testNetwork.node.chain.solid - 8]!.id,
    );
    await readsAll();
    await passes();
    expect([outgoing().length, alarms().length]).toEqual([2, 1]);
  });

  it("is told only when the agent that pays has caught up, who may explain it first", async () => {
    const id = withdrawal(1);
    const [explained, foreign] = [
      testNetwork.coins(sender, receiver, 5_000_000),
      testNetwork.coins(sender, outsider.address, 3_000_000),
    ];
    db.store.database.run("UPDATE agents SET caughtUp = 'an earlier run'");
    await watch();
    await testNetwork.send(explained);
    await testNetwork.send(foreign);
    testNetwork.node.chain.mine(8);
    await until(() => outgoing().length === 2);
    await passes();
    expect(alarms()).toEqual([]);
    addAttempt(id, 1, { txHash: explained.txID, validUntilMs: 1 });
    db.store.database.run("UPDATE agents SET caughtUp = 'this run'");
    await until(() => alarms().length > 0);
    await passes();
    expect(
      audit()
        .filter(({ act }) => act.startsWith("alarm"))
        .map(({ subject }) => subject),
    ).toEqual([foreign.txID]);
  });

  it("a transaction of somebody else, or one that failed, is no outgoing transaction", async () => {
    testNetwork.node.fund(outsider.address, 10_000_000n);
    await watch();
    await testNetwork.send(testNetwork.coins(outsider, receiver, 1_000_000));
    await testNetwork.send(
      testNetwork.token(
        sender,
        inhabitant("contract of a token that is paused").address,
        receiver,
        1n,
      ),
    );
    testNetwork.node.chain.mine(8);
    await readsAll();
    await passes();
    expect([outgoing(), alarms()]).toEqual([[], []]);
    expect(network).toMatch(/^tron:/);
  });
});
