/**
 * The whole courier between a real signer, a gateway and a real chain (anvil), each of which comes
 * and goes; and the courier's metrics.
 */
import { describe, expect, it } from "vitest";
import { createMetrics } from "../../agent/courier/metrics.ts";
import { forwarding, startFakeNode } from "../../lab/kit/fake-node.ts";
import { balanceWei, rpc, transactionCount } from "../../lab/kit/rpc.ts";
import { hotWallet } from "../../lab/kit/signer-kit.ts";
import {
  anvil,
  cleanups,
  ether,
  kitOn,
  paid,
  receiver,
  startsAnvil,
} from "../support/courier-on-anvil.ts";
import { until } from "../support/until.ts";

startsAnvil();

describe("two versions of config.json", () => {
  const other = "d0".repeat(32);
  const cases: readonly (readonly [
    config: string,
    digest: string,
    readMs: number,
    signer: number,
    courier: number,
  ])[] = [
    ["a newer one at the courier: the signer gives way", other, 2, 1, 0],
    ["an older one at the courier: the courier gives way", other, 0, 0, 1],
    ["the same one, read later by the courier", "c0".repeat(32), 2, 0, 0],
    ["the same one, read earlier by the courier", "c0".repeat(32), 0, 0, 0],
  ];

  it.each(cases)("%s", async (_, digest, readMs, signer, courier) => {
    const kit = await kitOn();
    kit.stopCourier();
    kit.config = { digest, readMs };
    const before = kit.asked.length;
    kit.startCourier();
    // A courier that goes on reports on itself.
    await until(() => kit.gaveWay > 0 || kit.asked.slice(before).includes("tell"));
    expect([kit.signer.gaveWay, kit.gaveWay]).toEqual([signer, courier]);
  });

  it("a signer that comes back with the same other version moves no courier: it goes by a file of its own", async () => {
    const kit = await kitOn();
    kit.stopCourier();
    kit.config = { digest: other, readMs: 2 };
    kit.startCourier();
    await until(() => kit.signer.gaveWay === 1);
    const { settings } = kit.signer;
    kit.signer.edited = { ...settings, config: { ...settings.config, readMs: 3 } };
    const before = kit.asked.length;
    await kit.restartSigner();
    await until(() => kit.gaveWay > 0 || kit.asked.slice(before).includes("tell"));
    expect([kit.signer.gaveWay, kit.gaveWay]).toEqual([1, 0]);
  });
});

describe("a withdrawal", () => {
  it("is paid once, exactly, and reported to its end", async () => {
    const kit = await kitOn();
    const before = await transactionCount(anvil.url, hotWallet);
    const to = receiver();
    const { transactionId } = kit.gateway.order({ address: to, amount: "1.25" });
    await paid(kit, transactionId);
    expect(await balanceWei(anvil.url, to)).toBe((ether * 5n) / 4n);
    expect(await transactionCount(anvil.url, hotWallet)).toBe(before + 1);
    await until(() => kit.gateway.statements.at(-1)?.head === kit.signer.core.heads.acked.seq);
    for (const [i, { after, head }] of kit.gateway.statements.entries()) {
      if (i > 0) expect(after).toBe(kit.gateway.statements[i - 1]?.head);
      expect(head).toBeGreaterThan(after);
    }
    expect(kit.signer.kinds().filter((kind) => kind === "OBSERVED").length).toBeLessThanOrEqual(3);
  });

  it("is counted and timed, and logged once signed and once final", async () => {
    const kit = await kitOn();
    const { transactionId } = kit.gateway.order({ address: receiver() });
    const { transactionId: heldId } = kit.gateway.order({ address: receiver(), mode: "manual" });
    const beganAt = performance.now();
    await paid(kit, transactionId);
    // The signer knows of the end a moment before the courier has its answer.
    await until(() => kit.metrics.read().final === 1);
    const elapsedUs = (performance.now() - beganAt) * 1000;
    expect(kit.metrics.read()).toMatchObject({
      linkUp: 1,
      signed: 1,
      replaced: 0,
      declined: 0,
      sent: 1,
      unsent: 0,
      final: 1,
    });
    expect(kit.metrics.durableMedianUs()).toBeGreaterThan(0);
    expect(kit.metrics.durableMedianUs()).toBeLessThan(elapsedUs);
    const told = kit.logged.map(
      (line) => JSON.parse(line) as { level: number; event: string; transactionId?: string },
    );
    const info = (id: string) =>
      told.filter((one) => one.level >= 30 && one.transactionId === id).map((one) => one.event);
    expect(info(transactionId)).toEqual(["withdrawal-signed", "withdrawal-final"]);
    expect(info(heldId)).toEqual(["withdrawal-admitted"]);
  });

  it("flows with others, one nonce after the other", async () => {
    const kit = await kitOn();
    const before = await transactionCount(anvil.url, hotWallet);
    const receivers = Array.from({ length: 40 }, receiver);
    const ids = receivers.map(
      (address) => kit.gateway.order({ address, amount: "0.01" }).transactionId,
    );
    await paid(kit, ...ids);
    expect(ids.map((id) => Number(kit.view(id)?.slot))).toEqual(ids.map((_, i) => before + i));
    for (const to of receivers) expect(await balanceWei(anvil.url, to)).toBe(ether / 100n);
  });

  it("survives the courier's end at any step", async () => {
    const kit = await kitOn();
    await until(() => kit.signer.core.heads.acked.seq > 0);
    kit.gateway.acknowledges = false;
    const to = receiver();
    const { transactionId } = kit.gateway.order({ address: to });
    await until(() => kit.stateOf(transactionId) === "signed");
    kit.stopCourier();
    kit.startCourier();
    await until(() => kit.gateway.connections === 2);
    kit.gateway.acknowledges = true;
    kit.stopCourier();
    kit.startCourier();
    await until(() => kit.stateOf(transactionId) !== "signed");
    kit.stopCourier();
    kit.startCourier();
    await paid(kit, transactionId);
    expect(await balanceWei(anvil.url, to)).toBe(ether);
    expect(kit.view(transactionId)?.attempts).toHaveLength(1);
  });

  it("survives the signer's end, and finds the handshake of the new run complete", async () => {
    const kit = await kitOn();
    await until(() => kit.signer.core.heads.acked.seq > 0);
    kit.gateway.acknowledges = false;
    const to = receiver();
    const { transactionId } = kit.gateway.order({ address: to });
    await until(() => kit.stateOf(transactionId) === "signed");
    await kit.restartSigner();
    kit.gateway.acknowledges = true;
    await paid(kit, transactionId);
    expect(await balanceWei(anvil.url, to)).toBe(ether);
  });

  it("waits for a gateway that is away, and goes on where it was", async () => {
    const kit = await kitOn();
    await until(() => kit.signer.core.heads.acked.seq > 0);
    await kit.gateway.stop();
    const first = kit.gateway.order({ address: receiver() }).transactionId;
    const second = kit.gateway.order({ address: receiver() }).transactionId;
    await until(() => kit.logged.some((line) => line.includes("ECONNREFUSED")));
    await kit.gateway.start();
    await paid(kit, first, second);
  });

  it("the courier tells each connection that its handshake was taken, with nothing else to say", async () => {
    const kit = await kitOn();
    await until(() => kit.gateway.statements.some(({ isHandshakeDone }) => isHandshakeDone));
    // The account's first nonce is reported by itself; then there is nothing new.
    await until(() => kit.signer.core.heads.acked.seq > 1 && kit.signer.core.outbox.size === 0);
    await kit.gateway.stop();
    const before = kit.gateway.statements.length;
    await kit.gateway.start();
    await until(() => kit.gateway.statements.length > before);
    const head = kit.signer.core.heads.acked.seq;
    expect(kit.gateway.statements.slice(before)).toEqual([
      { after: head, head, isHandshakeDone: true },
    ]);
  });

  it("the courier tells a line that stands once more that its handshake was taken, when that word was lost on it", async () => {
    const kit = await kitOn();
    await until(() => kit.signer.core.heads.acked.seq > 1 && kit.signer.core.outbox.size === 0);
    await kit.gateway.stop();
    kit.gateway.loses = Number.POSITIVE_INFINITY;
    await kit.gateway.start();
    await until(() => kit.gateway.lost === 1);
    kit.gateway.loses = 0;
    const [before, connections] = [kit.gateway.statements.length, kit.gateway.connections];
    kit.aheadMs += 31_000;
    await until(() => kit.gateway.statements.length > before);
    const head = kit.signer.core.heads.acked.seq;
    expect(kit.gateway.statements.slice(before)).toEqual([
      { after: head, head, isHandshakeDone: true },
    ]);
    expect(kit.gateway.connections).toBe(connections);
  });

  it("the courier tells a quiet line what its signer said to somebody else", async () => {
    const kit = await kitOn();
    const { core, gateway, pushes } = kit.signer;
    await until(() => core.heads.acked.seq > 1 && core.outbox.size === 0);
    const { push } = pushes;
    pushes.push = () => 0;
    kit.gateway.order({ address: receiver(), mode: "manual" });
    await until(
      () =>
        core.outbox.size > 0 && kit.signer.signer.ledger.durableHead.seq === core.heads.head.seq,
    );
    kit.signer.ask("report", { after: core.heads.acked.seq });
    pushes.push = push;
    const { head } = core.heads;
    expect(gateway.stored?.seq).toBeLessThan(head.seq);
    kit.aheadMs += 31_000;
    await until(() => (gateway.stored?.seq ?? 0) >= head.seq);
  });

  it("the courier tells the gateway of a lock, also when the acknowledgement before it was lost", async () => {
    const kit = await kitOn();
    const { core, gateway } = kit.signer;
    await until(() => core.heads.acked.seq > 1 && core.outbox.size === 0);
    const { acked } = core.heads;
    kit.gateway.acknowledges = false;
    kit.gateway.order({ address: receiver() });
    await until(() => (gateway.stored?.seq ?? 0) > acked.seq && core.book.openCount === 1);
    await kit.gateway.stop();
    const beyond = { seq: 1_000, hash: "ab".repeat(32) };
    kit.signer.admit(gateway.jobs([], { gatewayHead: beyond, at: Date.now() }));
    expect(core.locked?.code).toBe("LEDGER_BEHIND_GATEWAY");
    expect(core.heads.acked).toEqual(acked);
    await kit.gateway.start();
    await until(() => gateway.stored?.seq === core.heads.head.seq);
    expect(kit.gateway.gaps).toBe(0);
  });

  it("the courier tells the gateway of a lock once more when the line lost it, and no more often than it is lost", async () => {
    const kit = await kitOn();
    const { core, gateway } = kit.signer;
    await until(() => core.heads.acked.seq > 1 && core.outbox.size === 0);
    kit.gateway.loses = 2;
    const beyond = { seq: 1_000, hash: "ab".repeat(32) };
    kit.signer.admit(gateway.jobs([], { gatewayHead: beyond, at: Date.now() }));
    expect(core.locked?.code).toBe("LEDGER_BEHIND_GATEWAY");
    await until(() => kit.gateway.loses === 1);
    expect(kit.gateway.connections).toBe(1);
    kit.aheadMs += 30_000;
    await until(() => kit.gateway.loses === 0);
    expect(gateway.stored?.seq).toBeLessThan(core.heads.head.seq);
    kit.aheadMs += 30_000;
    await until(() => gateway.stored?.seq === core.heads.head.seq);
    expect(kit.gateway.connections).toBe(3);
    // The signer takes no acknowledgement any more; that there was one is enough.
    await until(() => kit.logged.some((line) => line.includes("SIGNER_LOCKED")));
    const asked = kit.asked.length;
    kit.aheadMs += 60_000;
    await until(() => kit.asked.slice(asked).filter((verb) => verb === "tell").length >= 2);
    expect(kit.gateway.connections).toBe(3);
    expect(kit.gateway.gaps).toBe(0);
  });

  it("the courier tells the gateway where its ledger stands, also when the lock took the number of the record that was forgotten", async () => {
    const kit = await kitOn();
    const { core, gateway } = kit.signer;
    await until(() => core.heads.acked.seq > 1 && core.outbox.size === 0);
    await kit.gateway.stop();
    const forgotten = { seq: core.heads.head.seq + 1, hash: "ab".repeat(32) };
    gateway.stored = forgotten;
    await kit.gateway.start();
    await until(() => core.locked?.code === "LEDGER_BEHIND_GATEWAY");
    expect(core.heads.head.seq).toBe(forgotten.seq);
    await until(() =>
      kit.gateway.statements.some(
        ({ after, head }) => after < forgotten.seq && head === forgotten.seq,
      ),
    );
  });

  it("the courier tells a gateway that was rolled back all of it again, and then signs for it", async () => {
    const kit = await kitOn();
    await until(() => kit.signer.core.heads.acked.seq > 0);
    expect(kit.gateway.gaps).toBe(0);
    const { stored } = kit.signer.gateway;
    await kit.gateway.stop();
    kit.signer.gateway.stored = null;
    await kit.gateway.start();
    await until(() => (kit.signer.gateway.stored?.seq ?? 0) >= (stored?.seq ?? 1));
    expect(
      kit.gateway.statements.some(({ after, isHandshakeDone }) => after === 0 && !isHandshakeDone),
    ).toBe(true);
    await paid(kit, kit.gateway.order({ address: receiver() }).transactionId);
  });

  it("jobs are sent again in order when one came too early", async () => {
    const kit = await kitOn();
    await until(() => kit.signer.core.heads.acked.seq > 0);
    const { gateway } = kit.signer;
    const first = gateway.job({ currency: "eth", amount: "1", address: receiver() }, Date.now());
    const second = gateway.job({ currency: "eth", amount: "1", address: receiver() }, Date.now());
    kit.gateway.send(gateway.jobs([gateway.texts.at(-1)!], { at: Date.now() }));
    await paid(kit, first.transactionId, second.transactionId);
    expect(
      kit.logged.some((line) => line.includes("LINK_RESUME") && line.includes("JOB_GAP")),
    ).toBe(true);
  });

  it("the courier ends the link over a job that the gateway's key did not sign", async () => {
    const kit = await kitOn();
    await until(() => kit.signer.core.heads.acked.seq > 0);
    const { gateway } = kit.signer;
    const job = gateway.job({ currency: "eth", amount: "1", address: receiver() }, Date.now());
    const frame = gateway.jobs([gateway.texts.at(-1)!], { at: Date.now() });
    frame[frame.length - 2]! ^= 1;
    kit.gateway.send(frame);
    await until(() =>
      kit.logged.some(
        (line) => line.includes("LINK_REFUSED") && line.includes("ENVELOPE_SIGNATURE"),
      ),
    );
    await paid(kit, job.transactionId);
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
    const kit = await kitOn([node.url]);
    const { transactionId } = kit.gateway.order({ address: receiver() });
    await until(
      () =>
        kit.signer.signer.run.courier?.waiting.some(
          (one) => one.why === "nodes NODE_UNREACHABLE",
        ) === true,
    );
    expect(kit.signer.signer.run.courier?.chains[0]).toMatchObject({ chain: "local", ok: false });
    isAway = false;
    await paid(kit, transactionId);
    await until(() => kit.signer.signer.run.courier?.chains[0]?.ok === true);
    expect(kit.signer.signer.run.courier).toMatchObject({ link: "up", linkDetail: "" });
  });

  it("never reaches a node when independent code reads other bytes", async () => {
    const kit = await kitOn();
    await until(() => kit.signer.core.heads.acked.seq > 0);
    const before = await transactionCount(anvil.url, hotWallet);
    const wrong = receiver();
    kit.tamper = (verb, answer) => {
      if (verb !== "admit" || !answer.ok) return answer;
      const { withdrawals, ...rest } = answer as unknown as {
        withdrawals: { address: string }[];
        id: number;
        ok: true;
      };
      return { ...rest, withdrawals: withdrawals.map((view) => ({ ...view, address: wrong })) };
    };
    const { transactionId } = kit.gateway.order({ address: receiver() });
    await until(() => kit.logged.some((line) => line.includes("COURIER_READ_BACK")));
    expect(kit.stateOf(transactionId)).toBe("released");
    expect(await transactionCount(anvil.url, hotWallet)).toBe(before);
    kit.tamper = (_verb, answer) => answer;
    kit.stopCourier();
    kit.startCourier();
    await paid(kit, transactionId);
  });

  it("waits, and says why, while the chain would revert it", async () => {
    const kit = await kitOn();
    const refusing = "0xc0de000000000000000000000000000000000de0";
    await rpc(anvil.url, "anvil_setCode", [refusing, "0x60006000fd"]);
    const { transactionId } = kit.gateway.order({ address: refusing });
    await until(
      () =>
        kit.signer.signer.run.courier?.waiting.some((one) => one.why.includes("revert")) === true,
      8000,
    );
    expect(kit.stateOf(transactionId)).toBe("approved");
  });
});

describe("metrics", () => {
  it("time a job from its frame to its signature on disk, and give the median of the newest", () => {
    let nowMs = 0;
    const metrics = createMetrics(() => nowMs);
    expect(metrics.durableMedianUs()).toBe(0);
    for (let job = 0; job < 600; job += 1) {
      metrics.approved(`job ${job}`, nowMs);
      // a repeat of the frame does not begin again
      metrics.approved(`job ${job}`, nowMs + 1_000_000);
      nowMs += job < 400 ? 9 : 2.5;
      metrics.durable(`job ${job}`);
      metrics.durable(`job ${job}`);
    }
    metrics.durable("held, approved by an operator");
    expect(metrics.durableMedianUs()).toBe(2_500);
  });
});
