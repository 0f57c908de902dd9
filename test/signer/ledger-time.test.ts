/**
 * Both clocks jump, and are right again: the blocks are the third clock, and time stands
 * meanwhile. Public reports of the same kind, a time that only goes up and was pushed ahead by a
 * passing fault: cockroachdb/cockroach 74909 (some clocks eight hours ahead, for a while) and
 * 23717, palantir/atlasdb 3425 (a timestamp that stays until the clocks come there).
 */

import { describe, expect, it } from "vitest";
import { limitUseAt } from "../../agent/signer/state/policy-state.ts";
import { type AnyAnswer, Kit, txParams } from "../../lab/kit/signer-kit.ts";
import { well } from "../support/operator-socket.ts";
import { SignerAndGateway } from "../support/signer-and-gateway.ts";

const hourMs = 3_600_000;
const jumpMs = 30 * hourMs;

/** The courier's word of the newest block. */
function tellBlock(kit: Kit, headAtMs: number): void {
  const courier = well.courier!;
  const [chain] = courier.chains;
  expect(
    kit.ask("tell", { courier: { ...courier, chains: [{ ...chain, headAtMs }] } }),
  ).toMatchObject({ ok: true });
}

/** A handshake, and a new order, by a gateway whose clock and this server's are so far ahead. */
function handshakeAt(kit: Kit, aheadMs: number): AnyAnswer {
  kit.now += 1000;
  kit.skew = aheadMs;
  return kit.admit(kit.gateway.welcome(kit.nonce, { at: kit.now + aheadMs }));
}

function orderAt(kit: Kit, aheadMs: number): AnyAnswer {
  kit.now += 1000;
  kit.gateway.job({ currency: "eth", amount: "1", issuedAt: kit.now + aheadMs }, kit.now + aheadMs);
  return kit.admit(kit.gateway.jobs([kit.gateway.texts.at(-1)!], { at: kit.now + aheadMs }));
}

describe("both clocks thirty hours ahead for a moment", () => {
  it("both clocks ahead push no time if a node shows the chain: nothing is taken or signed, and it all goes on afterwards", () => {
    const kit = new Kit().ready();
    tellBlock(kit, kit.now);
    const waits = kit.request({ currency: "eth", amount: "1" });
    kit.pay({ currency: "eth", amount: "1" });
    kit.skew = jumpMs;
    kit.signer.tick();
    expect(kit.show(waits.transactionId).state).toBe("approved");
    const ack = kit.gateway.ack(kit.gateway.stored!, { at: kit.now + jumpMs });
    expect(kit.release(ack)).toMatchObject({ code: "CLOCK_AHEAD" });
    expect(handshakeAt(kit, jumpMs)).toMatchObject({ code: "CLOCK_AHEAD" });
    expect(kit.ask("sign", { transactionId: waits.transactionId, txParams })).toMatchObject({
      code: "SIGNER_NO_HANDSHAKE",
    });
    expect(kit.operate("status").status).toMatchObject({
      handshakeDone: false,
      clockAheadMs: expect.any(Number),
      ledgerAheadMs: 0,
    });
    expect(handshakeAt(kit, 0)).toMatchObject({ ok: true });
    expect(kit.operate("status").status).toMatchObject({
      handshakeDone: true,
      clockAheadMs: 0,
      ledgerAheadMs: 0,
    });
    expect(limitUseAt(kit.core.policy, "eth", kit.signer.context().nowMs).dayUnits).toBe(
      2n * 10n ** 18n,
    );
    expect(orderAt(kit, 0)).toMatchObject({ withdrawals: [{ state: "approved" }] });
    expect(kit.ask("sign", { transactionId: waits.transactionId, txParams })).toMatchObject({
      ok: true,
    });
  });

  it("stop a run with a complete handshake before they jumped, and only as long as they are ahead", () => {
    const kit = new Kit().ready();
    tellBlock(kit, kit.now);
    // Within ten minutes of the gateway the local clock alone may be wrong.
    kit.now += 5 * hourMs;
    expect(kit.request({ currency: "eth", amount: "1" })).toMatchObject({ state: "approved" });
    const frozen = new Kit().ready();
    tellBlock(frozen, frozen.now - 2 * hourMs);
    expect(orderAt(frozen, 0)).toMatchObject({ code: "CLOCK_AHEAD" });
    tellBlock(frozen, frozen.now);
    expect(orderAt(frozen, 0)).toMatchObject({ ok: false, code: "JOB_GAP" });
  });

  it("both clocks ahead push the time of the ledger if no node showed a block; new orders then wait for a new ledger and are not refused permanently", () => {
    const kit = new Kit().ready();
    expect(handshakeAt(kit, jumpMs)).toMatchObject({ ok: true });
    expect(orderAt(kit, jumpMs)).toMatchObject({ ok: true });
    expect(handshakeAt(kit, 0)).toMatchObject({ ok: true });
    expect(kit.operate("status").status).toMatchObject({ ledgerAheadMs: expect.any(Number) });
    expect(kit.core.heads.at).toBeGreaterThan(kit.now + 29 * hourMs);
    expect(orderAt(kit, 0)).toMatchObject({ code: "LEDGER_AHEAD" });
    // An order that lives longer than that is taken as ever.
    const long = kit.gateway.texts.pop()!;
    const { sequence, previous } = JSON.parse(long) as { sequence: number; previous: string };
    kit.gateway.last = { sequence: sequence - 1, hash: previous };
    expect(
      kit.request({ currency: "eth", amount: "0.5", expiresAt: kit.now + 48 * hourMs }),
    ).toMatchObject({
      state: "approved",
    });
  });

  it("stand in the gateway's row of the agent, which makes no order meanwhile", () => {
    const both = new SignerAndGateway();
    both.order("one");
    both.acknowledge();
    expect(both.agent.ledgerAt).toBe(both.kit.core.heads.at);
    both.remove();
  });
});
