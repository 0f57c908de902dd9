/**
 * The whole courier between a real signer, a gateway and a real chain (anvil), each of which comes
 * and goes; and the courier's metrics.
 */
import { describe, expect, it } from "vitest";
import { createMetrics } from "../../agent/courier/metrics.ts";
import { forwarding, startFakeNode } from "../../lab/rig/fake-node.ts";
import { balanceWei, rpc, transactionCount } from "../../lab/rig/rpc.ts";
import { hot } from "../../lab/rig/signer-rig.ts";
import { anvil, cleanups, ether, paid, receiver, rigOn, startsAnvil } from "../support/courier-on-anvil.ts";
import { until } from "../support/until.ts";

startsAnvil();

describe("a withdrawal", () => {
  it("a withdrawal is paid once, exactly, and reported to its end", async () => {
    const rig = await rigOn();
    const before = await transactionCount(anvil.url, hot);
    const to = receiver();
    const { transactionId } = rig.gateway.order({ address: to, amount: "1.25" });
    await paid(rig, transactionId);
    expect(await balanceWei(anvil.url, to)).toBe((ether * 5n) / 4n);
    expect(await transactionCount(anvil.url, hot)).toBe(before + 1);
    await until(() => rig.gateway.statements.at(-1)?.head === rig.signer.core.heads.acked.seq);
    for (const [i, { after, head }] of rig.gateway.statements.entries()) {
      if (i > 0) expect(after).toBe(rig.gateway.statements[i - 1]?.head);
      expect(head).toBeGreaterThan(after);
    }
    expect(rig.signer.kinds().filter((kind) => kind === "OBSERVED").length).toBeLessThanOrEqual(3);
  });

  it("a withdrawal is counted and timed, and logged once signed and once final", async () => {
    const rig = await rigOn();
    const { transactionId } = rig.gateway.order({ address: receiver() });
    const { transactionId: heldId } = rig.gateway.order({ address: receiver(), mode: "manual" });
    const beganAt = performance.now();
    await paid(rig, transactionId);
    // The signer knows of the end a moment before the courier has its answer.
    await until(() => rig.metrics.read().final === 1);
    const elapsedUs = (performance.now() - beganAt) * 1000;
    expect(rig.metrics.read()).toMatchObject({ linkUp: 1, signed: 1, replaced: 0, declined: 0, sent: 1, unsent: 0, final: 1 });
    expect(rig.metrics.durableMedianUs()).toBeGreaterThan(0);
    expect(rig.metrics.durableMedianUs()).toBeLessThan(elapsedUs);
    const told = rig.logged.map((line) => JSON.parse(line) as { level: number; event: string; transactionId?: string });
    const info = (id: string) => told.filter((one) => one.level >= 30 && one.transactionId === id).map((one) => one.event);
    expect(info(transactionId)).toEqual(["withdrawal-signed", "withdrawal-final"]);
    expect(info(heldId)).toEqual(["withdrawal-admitted"]);
  });

  it("a withdrawal flows with others, one nonce after the other", async () => {
    const rig = await rigOn();
    const before = await transactionCount(anvil.url, hot);
    const receivers = Array.from({ length: 40 }, receiver);
    const ids = receivers.map((address) => rig.gateway.order({ address, amount: "0.01" }).transactionId);
    await paid(rig, ...ids);
    expect(ids.map((id) => Number(rig.view(id)?.slot))).toEqual(ids.map((_, i) => before + i));
    for (const to of receivers) expect(await balanceWei(anvil.url, to)).toBe(ether / 100n);
  });

  it("a withdrawal survives the courier's end at any step", async () => {
    const rig = await rigOn();
    await until(() => rig.signer.core.heads.acked.seq > 0);
    rig.gateway.acknowledges = false;
    const to = receiver();
    const { transactionId } = rig.gateway.order({ address: to });
    await until(() => rig.stateOf(transactionId) === "signed");
    rig.stopCourier();
    rig.startCourier();
    await until(() => rig.gateway.connections === 2);
    rig.gateway.acknowledges = true;
    rig.stopCourier();
    rig.startCourier();
    await until(() => rig.stateOf(transactionId) !== "signed");
    rig.stopCourier();
    rig.startCourier();
    await paid(rig, transactionId);
    expect(await balanceWei(anvil.url, to)).toBe(ether);
    expect(rig.view(transactionId)?.versions).toHaveLength(1);
  });

  it("a withdrawal survives the signer's end, and finds the new run greeted", async () => {
    const rig = await rigOn();
    await until(() => rig.signer.core.heads.acked.seq > 0);
    rig.gateway.acknowledges = false;
    const to = receiver();
    const { transactionId } = rig.gateway.order({ address: to });
    await until(() => rig.stateOf(transactionId) === "signed");
    await rig.restartSigner();
    rig.gateway.acknowledges = true;
    await paid(rig, transactionId);
    expect(await balanceWei(anvil.url, to)).toBe(ether);
  });

  it("a withdrawal waits for a gateway that is away, and goes on where it was", async () => {
    const rig = await rigOn();
    await until(() => rig.signer.core.heads.acked.seq > 0);
    await rig.gateway.stop();
    const first = rig.gateway.order({ address: receiver() }).transactionId;
    const second = rig.gateway.order({ address: receiver() }).transactionId;
    await until(() => rig.logged.some((line) => line.includes("ECONNREFUSED")));
    await rig.gateway.start();
    await paid(rig, first, second);
  });

  it("the courier tells each connection that its greeting was taken, with nothing else to say", async () => {
    const rig = await rigOn();
    await until(() => rig.gateway.statements.some(({ isGreeted }) => isGreeted));
    // The account's first nonce is reported by itself; then there is nothing new.
    await until(() => rig.signer.core.heads.acked.seq > 1 && rig.signer.core.outbox.size === 0);
    await rig.gateway.stop();
    const before = rig.gateway.statements.length;
    await rig.gateway.start();
    await until(() => rig.gateway.statements.length > before);
    const head = rig.signer.core.heads.acked.seq;
    expect(rig.gateway.statements.slice(before)).toEqual([{ after: head, head, isGreeted: true }]);
  });

  it("the courier tells a line that stands once more that its greeting was taken, when that word was lost on it", async () => {
    const rig = await rigOn();
    await until(() => rig.signer.core.heads.acked.seq > 1 && rig.signer.core.outbox.size === 0);
    await rig.gateway.stop();
    rig.gateway.loses = Number.POSITIVE_INFINITY;
    await rig.gateway.start();
    await until(() => rig.gateway.lost === 1);
    rig.gateway.loses = 0;
    const [before, connections] = [rig.gateway.statements.length, rig.gateway.connections];
    rig.aheadMs += 31_000;
    await until(() => rig.gateway.statements.length > before);
    const head = rig.signer.core.heads.acked.seq;
    expect(rig.gateway.statements.slice(before)).toEqual([{ after: head, head, isGreeted: true }]);
    expect(rig.gateway.connections).toBe(connections);
  });

  it("the courier tells a quiet line what its signer said to somebody else", async () => {
    const rig = await rigOn();
    const { core, gateway, pushes } = rig.signer;
    await until(() => core.heads.acked.seq > 1 && core.outbox.size === 0);
    const { push } = pushes;
    pushes.push = () => 0;
    rig.gateway.order({ address: receiver(), mode: "manual" });
    await until(() => core.outbox.size > 0 && rig.signer.signer.ledger.durableHead.seq === core.heads.head.seq);
    rig.signer.ask("report", { after: core.heads.acked.seq });
    pushes.push = push;
    const { head } = core.heads;
    expect(gateway.stored?.seq).toBeLessThan(head.seq);
    rig.aheadMs += 31_000;
    await until(() => (gateway.stored?.seq ?? 0) >= head.seq);
  });

  it("the courier tells the gateway of a lock, also when the acknowledgement before it was lost", async () => {
    const rig = await rigOn();
    const { core, gateway } = rig.signer;
    await until(() => core.heads.acked.seq > 1 && core.outbox.size === 0);
    const { acked } = core.heads;
    rig.gateway.acknowledges = false;
    rig.gateway.order({ address: receiver() });
    await until(() => (gateway.stored?.seq ?? 0) > acked.seq && core.book.openCount === 1);
    await rig.gateway.stop();
    const beyond = { seq: 1_000, hash: "ab".repeat(32) };
    rig.signer.admit(gateway.jobs([], { echo: beyond, at: Date.now() }));
    expect(core.locked?.code).toBe("LEDGER_BEHIND_GATEWAY");
    expect(core.heads.acked).toEqual(acked);
    await rig.gateway.start();
    await until(() => gateway.stored?.seq === core.heads.head.seq);
    expect(rig.gateway.gaps).toBe(0);
  });

  it("the courier tells the gateway of a lock once more when the line lost it, and no more often than it is lost", async () => {
    const rig = await rigOn();
    const { core, gateway } = rig.signer;
    await until(() => core.heads.acked.seq > 1 && core.outbox.size === 0);
    rig.gateway.loses = 2;
    const beyond = { seq: 1_000, hash: "ab".repeat(32) };
    rig.signer.admit(gateway.jobs([], { echo: beyond, at: Date.now() }));
    expect(core.locked?.code).toBe("LEDGER_BEHIND_GATEWAY");
    await until(() => rig.gateway.loses === 1);
    expect(rig.gateway.connections).toBe(1);
    rig.aheadMs += 30_000;
    await until(() => rig.gateway.loses === 0);
    expect(gateway.stored?.seq).toBeLessThan(core.heads.head.seq);
    rig.aheadMs += 30_000;
    await until(() => gateway.stored?.seq === core.heads.head.seq);
    expect(rig.gateway.connections).toBe(3);
    // The signer takes no acknowledgement any more; that there was one is enough.
    await until(() => rig.logged.some((line) => line.includes("SIGNER_LOCKED")));
    const asked = rig.asked.length;
    rig.aheadMs += 60_000;
    await until(() => rig.asked.slice(asked).filter((verb) => verb === "tell").length >= 2, 10_000);
    expect(rig.gateway.connections).toBe(3);
    expect(rig.gateway.gaps).toBe(0);
  });

  it("the courier tells the gateway where its ledger stands, also when the lock took the number of the record that was forgotten", async () => {
    const rig = await rigOn();
    const { core, gateway } = rig.signer;
    await until(() => core.heads.acked.seq > 1 && core.outbox.size === 0);
    await rig.gateway.stop();
    const forgotten = { seq: core.heads.head.seq + 1, hash: "ab".repeat(32) };
    gateway.stored = forgotten;
    await rig.gateway.start();
    await until(() => core.locked?.code === "LEDGER_BEHIND_GATEWAY");
    expect(core.heads.head.seq).toBe(forgotten.seq);
    await until(() => rig.gateway.statements.some(({ after, head }) => after < forgotten.seq && head === forgotten.seq));
  });

  it("the courier tells a gateway that went back all of it again, and then signs for it", async () => {
    const rig = await rigOn();
    await until(() => rig.signer.core.heads.acked.seq > 0);
    expect(rig.gateway.gaps).toBe(0);
    const { stored } = rig.signer.gateway;
    await rig.gateway.stop();
    rig.signer.gateway.stored = null;
    await rig.gateway.start();
    await until(() => (rig.signer.gateway.stored?.seq ?? 0) >= (stored?.seq ?? 1));
    expect(rig.gateway.statements.some(({ after, isGreeted }) => after === 0 && !isGreeted)).toBe(true);
    await paid(rig, rig.gateway.order({ address: receiver() }).transactionId);
  });

  it("jobs are sent again in order when one came too early", async () => {
    const rig = await rigOn();
    await until(() => rig.signer.core.heads.acked.seq > 0);
    const { gateway } = rig.signer;
    const first = gateway.job({ currency: "eth", amount: "1", address: receiver() }, Date.now());
    const second = gateway.job({ currency: "eth", amount: "1", address: receiver() }, Date.now());
    rig.gateway.send(gateway.jobs([gateway.texts.at(-1)!], { at: Date.now() }));
    await paid(rig, first.transactionId, second.transactionId);
    expect(rig.logged.some((line) => line.includes("LINK_RESUME") && line.includes("JOB_GAP"))).toBe(true);
  });

  it("the courier ends the link over a job that the gateway's key did not sign", async () => {
    const rig = await rigOn();
    await until(() => rig.signer.core.heads.acked.seq > 0);
    const { gateway } = rig.signer;
    const job = gateway.job({ currency: "eth", amount: "1", address: receiver() }, Date.now());
    const frame = gateway.jobs([gateway.texts.at(-1)!], { at: Date.now() });
    frame[frame.length - 2]! ^= 1;
    rig.gateway.send(frame);
    await until(() => rig.logged.some((line) => line.includes("LINK_REFUSED") && line.includes("ENVELOPE_SIGNATURE")));
    await paid(rig, job.transactionId);
  });

  it("the courier waits while the node is away, and says so to the signer", async () => {
    let isAway = true;
    const node = await startFakeNode({
      answer: forwarding(anvil.url),
      hijack(_calls, response) {
        if (isAway) response.destroy();
        return isAway;
      },
    });
    cleanups.push(() => node.close());
    const rig = await rigOn([node.url]);
    const { transactionId } = rig.gateway.order({ address: receiver() });
    await until(() => rig.signer.signer.run.courier?.waiting.some((one) => one.why === "nodes NODE_UNREACHABLE") === true);
    expect(rig.signer.signer.run.courier?.chains[0]).toMatchObject({ chain: "local", ok: false });
    isAway = false;
    await paid(rig, transactionId);
    await until(() => rig.signer.signer.run.courier?.chains[0]?.ok === true);
    expect(rig.signer.signer.run.courier).toMatchObject({ link: "up", linkDetail: "" });
  });

  it("a withdrawal never reaches a node when independent code reads other bytes", async () => {
    const rig = await rigOn();
    await until(() => rig.signer.core.heads.acked.seq > 0);
    const before = await transactionCount(anvil.url, hot);
    const wrong = receiver();
    rig.tamper = (verb, answer) => {
      if (verb !== "admit" || !answer.ok) return answer;
      const { withdrawals, ...rest } = answer as unknown as { withdrawals: { address: string }[]; id: number; ok: true };
      return { ...rest, withdrawals: withdrawals.map((view) => ({ ...view, address: wrong })) };
    };
    const { transactionId } = rig.gateway.order({ address: receiver() });
    await until(() => rig.logged.some((line) => line.includes("COURIER_READ_BACK")));
    expect(rig.stateOf(transactionId)).toBe("released");
    expect(await transactionCount(anvil.url, hot)).toBe(before);
    rig.tamper = (_verb, answer) => answer;
    rig.stopCourier();
    rig.startCourier();
    await paid(rig, transactionId);
  });

  it("a withdrawal waits, and says why, while the chain would revert it", async () => {
    const rig = await rigOn();
    const refusing = "0x00000000000000000000000000000000000c0de0";
    await rpc(anvil.url, "anvil_setCode", [refusing, "0x60006000fd"]);
    const { transactionId } = rig.gateway.order({ address: refusing });
    await until(() => rig.signer.signer.run.courier?.waiting.some((one) => one.why.includes("revert")) === true, 8000);
    expect(rig.stateOf(transactionId)).toBe("approved");
  });
});

describe("metrics", () => {
  it("metrics time a job from its frame to its signature on disk, and give the median of the newest", () => {
    let nowMs = 0;
    const metrics = createMetrics(() => nowMs);
    expect(metrics.durableMedianUs()).toBe(0);
    for (let job = 0; job < 600; job += 1) {
      metrics.approved(`job ${job}`, nowMs);
      // a repeat of the frame does not begin anew
      metrics.approved(`job ${job}`, nowMs + 1_000_000);
      nowMs += job < 400 ? 9 : 2.5;
      metrics.durable(`job ${job}`);
      metrics.durable(`job ${job}`);
    }
    metrics.durable("held, approved by a person");
    expect(metrics.durableMedianUs()).toBe(2_500);
  });
});
