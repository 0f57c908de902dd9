/**
 * Chains on which only waiting excludes a second payment: the moment at which the gateway's own
 * reading of the chain calls a version dead, the effect of lies and halts on it, and the notice of
 * a transaction that nobody here ordered.
 */
import { describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import type { WatcherNodes } from "../../chains/nodes.ts";
import { isAllDead, keepExpiry, listDeadHashes } from "../../gateway/store/deaths.ts";
import { mendReserved } from "../../gateway/store/reserved.ts";
import { createSignals } from "../../gateway/store/signals.ts";
import type { WatchedChain } from "../../gateway/watcher/chain.ts";
import { checkDeaths, newDeathMemory } from "../../gateway/watcher/deaths.ts";
import { silentLog } from "../../lab/rig/gateway-database.ts";
import { inhabitant, payer } from "../support/tron-town.ts";
import {
  addVersion,
  alarms,
  audit,
  db,
  eachTestItsTown,
  isDead,
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
  told,
  town,
  until,
  watch,
  watcher,
  withdrawal,
} from "../support/waiting-gateway.ts";

eachTestItsTown();

const stranger = inhabitant("a stranger");
const withdrawalOf = ({ txHash }: { readonly txHash: string }): string => signature(txHash).transactionId;

describe("a version that no block holds", () => {
  it("a version that no block holds is dead once chain time is past its end by the margin, and the withdrawal stays pending", async () => {
    const id = withdrawal(1);
    const version = sign(id);
    await watch();
    mineUntilSolid(version.untilMs);
    await readsAll();
    await passes();
    expect(isDead(version.txHash)).toBe(false);
    outlive(version);
    await until(() => isDead(version.txHash));
    expect(row(id)).toMatchObject({ status: 0, stage: "signed" });
    expect([isAllDead(db.store.database, id), listDeadHashes(db.store.database, keys.id)]).toEqual([true, [version.txHash]]);
    expect(told).toEqual(["dead 1"]);
    const { timestampMs } = town.node.chain.blocks[town.node.chain.solid]!;
    const iso = (ms: number): string => new Date(ms).toISOString();
    expect(audit()).toEqual([
      {
        act: "version dead",
        subject: id,
        detail: `${version.txHash} ended at ${iso(version.untilMs)}; solidified chain time ${iso(timestampMs)} by 2 nodes`,
      },
    ]);
  });

  it("a version that no block holds is not dead by the clock: a chain that stands still for a day ends nothing", async () => {
    const version = sign(withdrawal(1));
    await watch();
    town.node.chain.mine(3);
    town.node.chain.halt(86_400_000);
    town.node.chain.mine(5);
    await readsAll();
    await passes();
    expect(isDead(version.txHash)).toBe(false);
    town.node.chain.mine(1);
    await until(() => isDead(version.txHash));
  });

  it("versions that no block holds are called dead together, and a younger one beside them is not", async () => {
    const old = [1, 2, 3].map((number) => sign(withdrawal(number)));
    town.node.chain.mine(40);
    const young = sign(withdrawal(4));
    await watch();
    outlive(old[0]!);
    await until(() => old.every(({ txHash }) => isDead(txHash)));
    await passes();
    expect(isDead(young.txHash)).toBe(false);
    outlive(young);
    await until(() => isDead(young.txHash));
  });

  it("a version without an end of its own, or of a withdrawal that has ended, is never asked for", async () => {
    const [open, ended] = [withdrawal(1), withdrawal(2)];
    addVersion(open, 1, { txHash: "11".repeat(32), untilMs: 0 });
    const version = sign(ended);
    db.store.database.run("UPDATE transactions SET status = 2 WHERE id = ?", ended);
    const twin = sign(withdrawal(3));
    await watch();
    outlive(twin);
    await until(() => isDead(twin.txHash));
    expect([isDead("11".repeat(32)), isDead(version.txHash)]).toEqual([false, false]);
  });
});

describe("a withdrawal that its agent called over before its database knew of the death", () => {
  it("a withdrawal that its agent called over fails once each version is dead by this gateway's nodes", async () => {
    const id = withdrawal(1);
    const first = sign(id);
    town.node.chain.mine(30);
    const second = sign(id, 2);
    db.store.write((database) => keepExpiry(database, id, "JOB_EXPIRED", 9));
    await watch();
    outlive(first);
    await until(() => isDead(first.txHash));
    await passes();
    expect(row(id)).toMatchObject({ status: 0, stage: "signed" });
    outlive(second);
    await until(() => row(id).status === 2);
    expect(row(id)).toMatchObject({ stage: "expired", code: "JOB_EXPIRED", txHash: "", finalBlock: null });
    expect(told).toEqual(["dead 1", "dead 1", "changed 1"]);
    expect(db.store.write(mendReserved)).toBe(0);
  });

  it("a withdrawal that its agent called over is completed all the same when a block holds a version, with an alarm", async () => {
    const id = withdrawal(1);
    const version = sign(id);
    db.store.write((database) => keepExpiry(database, id, "JOB_EXPIRED", 9));
    await watch();
    await town.send(version.signed);
    outlive(version);
    await until(() => row(id).status === 1);
    expect([isDead(version.txHash), alarms()]).toEqual([false, ["WATCHER_DEAD_INCLUDED"]]);
  });
});

describe("a version that a block holds", () => {
  it("a version that a block holds completes its withdrawal and is never dead", async () => {
    const id = withdrawal(1);
    const version = sign(id);
    await watch();
    await town.send(version.signed);
    town.node.chain.mine(2);
    await until(() => row(id).stage === "confirming");
    outlive(version);
    await until(() => row(id).status === 1);
    await passes();
    expect(row(id)).toMatchObject({ stage: "completed", txHash: version.txHash });
    expect([isDead(version.txHash), alarms()]).toEqual([false, []]);
  });

  it("a version in the first block after a halt that it did not outlive is paid, not dead", async () => {
    const id = withdrawal(1);
    const version = sign(id);
    await watch();
    await town.send(version.signed);
    town.node.chain.hold();
    town.node.chain.halt(7_200_000);
    town.node.chain.mine();
    expect(town.node.chain.placeOf(version.txHash)?.block.timestampMs).toBeGreaterThan(version.untilMs + 120_000);
    town.node.chain.mine(5);
    await readsAll();
    await until(() => row(id).status === 1);
    town.node.chain.mine(50);
    await passes();
    expect([isDead(version.txHash), alarms()]).toEqual([false, []]);
  });

  it("a version whose receipt is no success fails its withdrawal finally, and is not dead", async () => {
    const id = withdrawal(1, { currency: "usdt" });
    const version = sign(id, 1, { feeLimitSun: 1_000 });
    await watch();
    await town.send(version.signed);
    outlive(version);
    await until(() => row(id).status === 2);
    expect(row(id)).toMatchObject({ stage: "failed", code: "chain_reverted", txHash: version.txHash });
    expect([isDead(version.txHash), alarms()]).toEqual([false, ["WATCHER_PAYMENT_FAILED"]]);
  });

  it("a missing receipt is no failure: the withdrawal waits until its node remembers", async () => {
    const id = withdrawal(1);
    const version = sign(id);
    await watch();
    await town.send(version.signed);
    for (const front of town.node.fronts) front.suffer({ paths: "gettransactioninfobyid", lies: [{ kind: "hides" }] });
    outlive(version);
    await readsAll();
    await passes(6);
    expect([row(id).status, isDead(version.txHash)]).toEqual([0, false]);
    for (const front of town.node.fronts) front.suffer({});
    town.node.chain.mine(1);
    await until(() => row(id).status === 1);
  });
});

describe("a lying node of two", () => {
  it.each([0, 1])(
    "node %i of two that hides a paid version brings no death, and the truth comes out when it stops",
    async (liar) => {
      const id = withdrawal(1);
      const version = sign(id);
      await watch();
      await town.send(version.signed);
      town.node.chain.mine(1);
      town.node.fronts[liar]!.suffer({ lies: [{ kind: "hides", txIds: [version.txHash] }] });
      outlive(version);
      await until(() => !watcher!.ready());
      await passes(6);
      expect([row(id).status, isDead(version.txHash)]).toEqual([0, false]);
      town.node.fronts[liar]!.suffer({});
      town.node.chain.mine(1);
      await until(() => row(id).status === 1);
      expect([isDead(version.txHash), alarms()]).toEqual([false, []]);
    },
  );

  it("a node of two that claims later times, or everything solidified, ends a living version not a block sooner", async () => {
    const version = sign(withdrawal(1));
    await watch();
    town.node.chain.mine(20);
    for (const lie of [{ kind: "ahead", ms: 3_600_000 }, { kind: "all-solid" }] as const) {
      town.node.fronts[0]!.suffer({ lies: [lie] });
      await passes();
      expect(isDead(version.txHash)).toBe(false);
    }
    town.node.fronts[0]!.suffer({});
    outlive(version);
    await until(() => isDead(version.txHash));
  });

  it("nodes that forget their receipts and hide the block's transaction call dead what was read here before, and are not believed", async () => {
    const id = withdrawal(1);
    const version = sign(id);
    await watch();
    await town.send(version.signed);
    // Read here as a spend before anybody judged it, as by a gateway that was ended in between.
    db.store.database.run("UPDATE transactions SET currency = 'gone' WHERE id = ?", id);
    town.node.chain.mine(8);
    await readsAll();
    await watcher!.close();
    for (const front of town.node.fronts) front.suffer({ lies: [{ kind: "hides", txIds: [version.txHash] }] });
    await watch();
    outlive(version);
    await until(() => alarms().length > 0);
    expect([isDead(version.txHash), alarms()]).toEqual([false, ["WATCHER_DEAD_INCLUDED"]]);
    expect(audit().at(-1)?.detail).toContain("no block holds it");
  });

  it("nodes of two minds about one version hold up that one alone, and nodes that do not answer are asked once", async () => {
    const versions = [1, 2, 3, 4].map((number) => sign(withdrawal(number)));
    const odd = versions[1]!.txHash;
    let asked = 0;
    const reading = (code: "NODE_DISAGREE" | "NODE_UNREACHABLE"): WatchedChain => {
      const dead: WatcherNodes["dead"] = async (_, some) => {
        asked += 1;
        const chainMs = versions[0]!.untilMs + 200_000;
        if (some.some(({ txHash }) => txHash === odd)) throw new AgentError(code, "none", "no word");
        return { isDead: true, chainMs, block: 9, witnesses: 2 };
      };
      const parts = { name: "town", network, reader: { dead }, store: db.store, signals: createSignals(), log: silentLog };
      return { ...parts, clock: () => 9, run: "" } as unknown as WatchedChain;
    };
    const at = { number: 9, hash: "nine" };
    const tip = { head: at, final: at, askedAt: 0 };
    const check = (code: "NODE_DISAGREE" | "NODE_UNREACHABLE") => checkDeaths(reading(code), tip, newDeathMemory());
    await expect(check("NODE_UNREACHABLE")).rejects.toMatchObject({ code: "NODE_UNREACHABLE" });
    expect([asked, versions.filter(({ txHash }) => isDead(txHash))]).toEqual([1, []]);
    await expect(check("NODE_DISAGREE")).rejects.toMatchObject({ code: "NODE_DISAGREE" });
    expect(versions.map(({ txHash }) => isDead(txHash))).toEqual([true, false, true, true]);
  });

  it("a single node that says of a version that a block holds it keeps nobody from asking whether it is dead", async () => {
    const [seen, asked] = [sign(withdrawal(1)), sign(withdrawal(2))];
    const stuck = sign(withdrawal(3));
    const stageOf = (number: number, stage: string) =>
      db.store.database.run("UPDATE transactions SET stage = ? WHERE id = ?", stage, withdrawalOf([seen, asked, stuck][number]!));
    stageOf(0, "confirming");
    stageOf(2, "stuck");
    const dead: WatcherNodes["dead"] = async () => ({ isDead: true, chainMs: seen.untilMs + 200_000, block: 9, witnesses: 2 });
    const parts = { name: "town", network, reader: { dead }, store: db.store, signals: createSignals(), log: silentLog };
    const at = { number: 9, hash: "nine" };
    const chain = { ...parts, clock: () => 9, run: "" } as unknown as WatchedChain;
    await checkDeaths(chain, { head: at, final: at, askedAt: 0 }, newDeathMemory());
    expect([seen, asked, stuck].map(({ txHash }) => isDead(txHash))).toEqual([true, true, false]);
  });
});

describe("a dead version in a block", () => {
  it("a dead version in a block is an alarm and stays dead, and the chain's word on the payment counts", async () => {
    const id = withdrawal(1);
    const version = sign(id);
    db.store.database.run("UPDATE signatures SET deadAt = 7 WHERE txHash = ?", version.txHash);
    await watch();
    await town.send(version.signed);
    town.node.chain.mine(8);
    await until(() => row(id).status === 1);
    await readsAll();
    expect([signature(version.txHash).deadAt, alarms()]).toEqual([7, ["WATCHER_DEAD_INCLUDED"]]);
    expect(audit().find(({ act }) => act === "alarm WATCHER_DEAD_INCLUDED")?.detail).toMatch(
      /and it was called dead at 1970-01-01T00:00:00\.007Z$/,
    );
  });

  it("a dead version in a block is an alarm also after its withdrawal was given up", async () => {
    const id = withdrawal(1);
    const version = sign(id);
    db.store.database.run("UPDATE signatures SET deadAt = 7 WHERE txHash = ?", version.txHash);
    db.store.database.run("UPDATE transactions SET status = 2, stage = 'expired', code = 'JOB_EXPIRED' WHERE id = ?", id);
    await watch();
    await town.send(version.signed);
    town.node.chain.mine(8);
    await until(() => alarms().length > 0);
    expect([row(id).status, alarms()]).toEqual([2, ["WATCHER_DEAD_INCLUDED"]]);
  });

  it("an older dead version in a block does not complete twice: both paid is for a person", async () => {
    const id = withdrawal(1);
    const first = sign(id);
    db.store.database.run("UPDATE signatures SET deadAt = 7 WHERE txHash = ?", first.txHash);
    const second = sign(id, 2);
    await watch();
    await town.send(first.signed);
    await town.send(second.signed);
    town.node.chain.mine(8);
    await until(() => row(id).stage === "stuck");
    await readsAll();
    expect(row(id).status).toBe(0);
    expect([...alarms()].sort()).toEqual(["WATCHER_CONTENT_DIFFERS", "WATCHER_DEAD_INCLUDED"]);
  });
});

describe("a transaction that nobody here ordered", () => {
  const spends = (): unknown[] =>
    db.store.database.all("SELECT slot, txHash, receiver, units, untold FROM spends ORDER BY block");

  it("a transaction that nobody here ordered is an alarm once, and no withdrawal's is one", async () => {
    const id = withdrawal(1);
    const version = sign(id);
    const foreign = town.coins(payer, stranger.address, 3_000_000);
    await watch();
    await town.send(version.signed);
    await town.send(foreign);
    town.node.chain.mine(8);
    await until(() => alarms().length > 0);
    await passes();
    expect(spends()).toHaveLength(2);
    expect(audit().filter(({ act }) => act.startsWith("alarm"))).toEqual([
      {
        act: "alarm WATCHER_SPEND_FOREIGN",
        subject: foreign.txID,
        detail: expect.stringContaining(`${payer.address} paid 3000000 units of the coin to ${stranger.address}`) as string,
      },
    ]);
    db.store.database.run(
      "UPDATE cursors SET block = block - 8, hash = ?",
      town.node.chain.blocks[town.node.chain.solid - 8]!.id,
    );
    await readsAll();
    await passes();
    expect([spends().length, alarms().length]).toEqual([2, 1]);
  });

  it("a transaction that nobody here ordered is told only when the agent that pays was heard, who may explain it first", async () => {
    const id = withdrawal(1);
    const [explained, foreign] = [town.coins(payer, receiver, 5_000_000), town.coins(payer, stranger.address, 3_000_000)];
    db.store.database.run("UPDATE agents SET heard = 'an earlier run'");
    await watch();
    await town.send(explained);
    await town.send(foreign);
    town.node.chain.mine(8);
    await until(() => spends().length === 2);
    await passes();
    expect(alarms()).toEqual([]);
    addVersion(id, 1, { txHash: explained.txID, untilMs: 1 });
    db.store.database.run("UPDATE agents SET heard = 'this run'");
    await until(() => alarms().length > 0);
    await passes();
    expect(
      audit()
        .filter(({ act }) => act.startsWith("alarm"))
        .map(({ subject }) => subject),
    ).toEqual([foreign.txID]);
  });

  it("a transaction of somebody else, or one that failed, is no spend", async () => {
    town.node.fund(stranger.address, 10_000_000n);
    await watch();
    await town.send(town.coins(stranger, receiver, 1_000_000));
    await town.send(town.token(payer, inhabitant("contract of a token that is paused").address, receiver, 1n));
    town.node.chain.mine(8);
    await readsAll();
    await passes();
    expect([spends(), alarms()]).toEqual([[], []]);
    expect(network).toMatch(/^tron:/);
  });
});
