/**
 * One state folder that runs twice, each copy with a courier that withholds newer words: real
 * signers against the gateway's real tables. The gateway takes one ledger only, so one nonce never
 * gets two withdrawals and no withdrawal two nonces.
 */
import { createPublicKey } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { applyStatements } from "../../gateway/hub/statements.ts";
import { gatewayDatabase, insertTransaction, pairAgent } from "../../lab/kit/gateway-database.ts";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import { agentId, hotWallet, Kit, other, shop, txParams, vault } from "../../lab/kit/signer-kit.ts";
import { openEnvelope } from "../../protocol/envelope.ts";
import { jobHashOf } from "../../protocol/identity.ts";
import { parseStatement } from "../../protocol/payloads.ts";
import { assertTaken } from "../support/taken.ts";

let db: ReturnType<typeof gatewayDatabase>;
beforeEach(() => {
  db = gatewayDatabase();
  pairAgent(db.store, "a", hotWallet);
  db.store.database.run("UPDATE agents SET ledgerEpoch = 1");
});
afterEach(() => db.remove());

const opened = (frame: Uint8Array) => {
  const publicKey = createPublicKey(vault.signerKey);
  return parseStatement(
    openEnvelope(frame, { kind: "statement", publicKey, bytesMax: 262_144 }).payload,
  );
};

/**
 * The gateway stores the reports of `kit` beyond `after`; returns the head that it would
 * acknowledge.
 */
function store(kit: Kit, after: number) {
  const { frames } = kit.ask("report", { after });
  const by = { isOwn: () => false, showsHandshake: () => true, run: "run", nowMs: 1 };
  const verdict = db.store.writeIfOk((database) =>
    applyStatements(database, agentId, frames.map(opened), by),
  );
  assertTaken(verdict);
  return verdict.head;
}

function askFor(kit: Kit, number: number, address: string): string {
  const view = kit.request({ orderId: `order-${number}`, address });
  const text = kit.gateway.texts.at(-1) ?? "";
  const asked = {
    id: view.transactionId,
    orderId: `order-${number}`,
    receiver: address,
    payer: hotWallet,
  };
  insertTransaction(db.store, { ...asked, operation: "withdraw", mode: "auto", stage: "queued" });
  const sql =
    "INSERT INTO jobs (agent, sequence, hash, text, transactionId) VALUES (?, ?, ?, ?, ?)";
  db.store.database.run(sql, agentId, number, jobHashOf(text), text, view.transactionId);
  return view.transactionId;
}

/**
 * Two signers over the same ledger, both after the handshake, with two withdrawals approved; the
 * first has paid the first one.
 */
function twice() {
  const first = new Kit().ready();
  const [one, two] = [askFor(first, 1, shop), askFor(first, 2, other)];
  first.gateway.stored = store(first, 0);
  first.release(first.gateway.ack(first.gateway.stored));
  const copy = new Kit({ found: MemoryDisk.of(first.disk.files), gatewayKey: first.gateway.key });
  copy.admit(first.gateway.welcome(copy.nonce));
  first.ask("sign", { transactionId: one, txParams });
  first.gateway.stored = store(first, first.core.heads.acked.seq);
  first.release(first.gateway.ack(first.gateway.stored));
  expect(first.left.size).toBe(1);
  return { first, copy, two };
}

/** A record more than the other has: a courier's claim that is only alarming. */
const lengthen = (kit: Kit) => kit.ask("account", { chain: "local", slot: "99", quorum: 2 });

describe("a state folder that runs twice", () => {
  it("gives its nonce to one withdrawal only", () => {
    const { first, copy, two } = twice();
    expect(copy.ask("sign", { transactionId: two, txParams }).ok).toBe(true);
    lengthen(copy);
    // From where the copy completed the handshake, from where the gateway stands, and from
    // everything between.
    const held =
      db.store.database.get<{ headSeq: number }>("SELECT headSeq FROM agents")?.headSeq ?? 0;
    for (let after = copy.core.heads.acked.seq; after < held; after += 1) {
      expect(() => store(copy, after)).toThrow(/goes on/);
    }
    expect(() => store(copy, held)).toThrow("goes on from another record");
    expect(copy.left.size).toBe(0);
    expect(first.ask("sign", { transactionId: two, txParams }).ok).toBe(true);
    first.release(first.gateway.ack(store(first, first.core.heads.acked.seq)));
    expect(first.left.size).toBe(2);
    expect(db.store.database.all("SELECT slot FROM slots ORDER BY slot")).toHaveLength(2);
  });

  it("locks the copy as soon as it learns what the gateway holds", () => {
    const { first, copy } = twice();
    copy.admit(first.gateway.welcome(copy.nonce, { at: first.now + 1 }));
    expect(copy.core.locked?.code).toMatch(/^LEDGER_/);
    expect(first.core.locked).toBeNull();
  });
});
