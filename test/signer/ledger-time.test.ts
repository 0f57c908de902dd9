/**
 * Both clocks jump, and are right again: the blocks are the third witness, and time stands
 * meanwhile. Public reports of the same kind, a time that only goes up and was pushed ahead by a
 * passing fault: cockroachdb/cockroach 74909 (some clocks eight hours ahead, for a while) and
 * 23717, palantir/atlasdb 3425 (a timestamp that stays until the clocks come there).
 */

import { describe, expect, it } from "vitest";
import { usedAt } from "../../agent/signer/state/policy-state.ts";
import { type AnyAnswer, facts, Rig } from "../../lab/rig/signer-rig.ts";
import { well } from "../support/operator-socket.ts";
import { SignerAndGateway } from "../support/signer-and-gateway.ts";

const hourMs = 3_600_000;
const jumpMs = 30 * hourMs;

/** The courier's word of the newest block. */
function tellBlock(rig: Rig, headAtMs: number): void {
  const courier = well.courier!;
  const [chain] = courier.chains;
  expect(rig.ask("tell", { courier: { ...courier, chains: [{ ...chain, headAtMs }] } })).toMatchObject({ ok: true });
}

/** A greeting, and a new order, by a gateway whose clock and this server's are so far ahead. */
function greetAt(rig: Rig, aheadMs: number): AnyAnswer {
  rig.now += 1000;
  rig.skew = aheadMs;
  return rig.admit(rig.gateway.welcome(rig.nonce, { at: rig.now + aheadMs }));
}

function orderAt(rig: Rig, aheadMs: number): AnyAnswer {
  rig.now += 1000;
  rig.gateway.job({ currency: "eth", amount: "1", issuedAt: rig.now + aheadMs }, rig.now + aheadMs);
  return rig.admit(rig.gateway.jobs([rig.gateway.texts.at(-1)!], { at: rig.now + aheadMs }));
}

describe("both clocks thirty hours ahead for a moment", () => {
  it("both clocks ahead push no time if a node shows the chain: nothing is taken or signed, and it all goes on afterwards", () => {
    const rig = new Rig().ready();
    tellBlock(rig, rig.now);
    const waits = rig.request({ currency: "eth", amount: "1" });
    rig.pay({ currency: "eth", amount: "1" });
    rig.skew = jumpMs;
    rig.signer.tick();
    expect(rig.show(waits.transactionId).state).toBe("approved");
    const ack = rig.gateway.ack(rig.gateway.stored!, { at: rig.now + jumpMs });
    expect(rig.release(ack)).toMatchObject({ code: "CLOCK_AHEAD" });
    expect(greetAt(rig, jumpMs)).toMatchObject({ code: "CLOCK_AHEAD" });
    expect(rig.ask("sign", { transactionId: waits.transactionId, facts })).toMatchObject({ code: "SIGNER_NOT_GREETED" });
    expect(rig.operate("status").status).toMatchObject({ greeted: false, clockAheadMs: expect.any(Number), ledgerAheadMs: 0 });
    expect(greetAt(rig, 0)).toMatchObject({ ok: true });
    expect(rig.operate("status").status).toMatchObject({ greeted: true, clockAheadMs: 0, ledgerAheadMs: 0 });
    expect(usedAt(rig.core.policy, "eth", rig.signer.turn().nowMs).dayUnits).toBe(2n * 10n ** 18n);
    expect(orderAt(rig, 0)).toMatchObject({ withdrawals: [{ state: "approved" }] });
    expect(rig.ask("sign", { transactionId: waits.transactionId, facts })).toMatchObject({ ok: true });
  });

  it("both clocks thirty hours ahead for a moment stop a run that was greeted before they jumped, and only as long as they are ahead", () => {
    const rig = new Rig().ready();
    tellBlock(rig, rig.now);
    // Within ten minutes of the gateway the local clock alone may be wrong.
    rig.now += 5 * hourMs;
    expect(rig.request({ currency: "eth", amount: "1" })).toMatchObject({ state: "approved" });
    const frozen = new Rig().ready();
    tellBlock(frozen, frozen.now - 2 * hourMs);
    expect(orderAt(frozen, 0)).toMatchObject({ code: "CLOCK_AHEAD" });
    tellBlock(frozen, frozen.now);
    expect(orderAt(frozen, 0)).toMatchObject({ ok: false, code: "JOB_GAP" });
  });

  it("both clocks ahead push the time of the ledger if no node showed a block; new orders then wait for a new ledger and are not refused permanently", () => {
    const rig = new Rig().ready();
    expect(greetAt(rig, jumpMs)).toMatchObject({ ok: true });
    expect(orderAt(rig, jumpMs)).toMatchObject({ ok: true });
    expect(greetAt(rig, 0)).toMatchObject({ ok: true });
    expect(rig.operate("status").status).toMatchObject({ ledgerAheadMs: expect.any(Number) });
    expect(rig.core.heads.at).toBeGreaterThan(rig.now + 29 * hourMs);
    expect(orderAt(rig, 0)).toMatchObject({ code: "LEDGER_AHEAD" });
    // An order that lives longer than that is taken as ever.
    const long = rig.gateway.texts.pop()!;
    const { sequence, previous } = JSON.parse(long) as { sequence: number; previous: string };
    rig.gateway.last = { sequence: sequence - 1, hash: previous };
    expect(rig.request({ currency: "eth", amount: "0.5", expiresAt: rig.now + 48 * hourMs })).toMatchObject({
      state: "approved",
    });
  });

  it("both clocks thirty hours ahead for a moment stand in the gateway's row of the agent, which makes no order meanwhile", () => {
    const both = new SignerAndGateway();
    both.order("one");
    both.acknowledge();
    expect(both.agent.ledgerAt).toBe(both.rig.core.heads.at);
    both.remove();
  });
});
