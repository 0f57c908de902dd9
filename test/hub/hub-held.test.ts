/**
 * The first signature of an order on a chain without counts, which a ledger and a database that
 * were both restored know as unsigned: it is not acknowledged, so that no bytes leave, while the
 * chain is not read or shows that the wallet paid exactly this.
 */
import { beforeEach, describe, expect, it } from "vitest";
import type { Operator } from "../../gateway/operator/accounts.ts";
import { releaseOrder } from "../../gateway/operator/releasing.ts";
import { keepLevel } from "../../gateway/store/levels.ts";
import { keepUnexplained } from "../../gateway/store/outgoing-holds.ts";
import { askWithdrawal, readAgent, readTransaction } from "../../lab/kit/gateway-database.ts";
import { callLevel } from "../../lab/kit/level-reader.ts";
import { type EntryBody, type LinkAgent, statementOf } from "../../lab/kit/link-agent.ts";
import type { SignedEntry } from "../../protocol/messages.ts";
import { audit, clock, db, decision, eachTestItsHub, handshake, keys, signed, told } from "../support/hub-server.ts";
import { inhabitant } from "../support/tron-network.ts";

eachTestItsHub();

const network = "tron:0x2b6653dc";
const hotWallet = inhabitant("a hot wallet").address;
const receiver = inhabitant("a receiver").address;
const foreignHash = "f".repeat(64);

beforeEach(() => {
  const accounts = JSON.stringify([{ family: "tron", purpose: "hot", id: hotWallet, firstAddress: hotWallet }]);
  const paired = JSON.stringify([{ id: "trx", network, contract: "", decimal: 6, maxFee: "2" }]);
  db.store.database.run("UPDATE agents SET accounts = ?, networks = ?, currencies = ?", accounts, `["${network}"]`, paired);
  callLevel(db.store.database, "first run");
});

function ask(number: number): string {
  const place = { network, currency: "trx", amount: "5", amountUnits: "5000000", receiverAddress: receiver };
  return askWithdrawal(db.store, keys.id, number, { ...place, depositAddress: hotWallet });
}

/** A payment of the wallet that nothing explains, of what `ask` orders. */
function foreign(txHash = foreignHash): void {
  const paid = { receiver, tag: "", contract: "", units: "5000000" };
  keepUnexplained(db.store.database, { network, account: hotWallet, txHash, block: 9, final: 1, ...paid });
}

const attempt = (id: string, number = 1, change: Partial<SignedEntry> = {}): EntryBody => ({
  ...{ kind: "signed", transactionId: id, attempt: number, network, account: hotWallet, slot: `${Number(`0x${id}`)}` },
  ...{ txHash: `${id.slice(-2)}${number}`.padStart(64, "a"), feeMax: "1377000", validUntilMs: 1_300_000 + number },
  ...change,
});
const approved = (id: string): EntryBody => ({ ...decision(id, "approved"), address: receiver }) as EntryBody;
const states = (agent: LinkAgent, bodies: readonly EntryBody[]): void =>
  agent.state(statementOf(keys.id, 0, bodies, { handshake: agent.nonce }));
const row = (id: string) => readTransaction(db.store, id);
const operator = (): Operator =>
  ({ store: db.store, run: "first run", actor: "operator", nowMs: clock.nowMs }) as unknown as Operator;

describe("a first signature", () => {
  it("of an order that its wallet paid is not acknowledged, whatever comes again, until an operator releases it", async () => {
    const id = ask(1);
    foreign();
    for (const turn of [1, 2]) {
      const agent = await handshake();
      states(agent, [approved(id), attempt(id)]);
      expect(await agent.closed).toMatchObject({ reason: "busy" });
      expect(readAgent(db.store, keys.id).headSeq, `${turn}`).toBe(0);
    }
    expect(row(id)).toMatchObject({ status: 0, stage: "awaiting_operator", code: "RECOVERY_HOLD" });
    expect(audit().filter(({ act }) => act === "alarm ORDER_PAID_BEFORE")).toHaveLength(1);
    expect(told.filter((one) => one === "changed 1")).toHaveLength(1);
    const released = releaseOrder(operator(), id, { txHash: foreignHash, reason: "it paid another", isNoOrders: false });
    expect(released).toMatchObject({ ok: true, holders: [] });
    const agent = await handshake();
    states(agent, [approved(id), attempt(id)]);
    await agent.next("ack");
    expect(row(id)).toMatchObject({ stage: "signed" });
  });

  it("waits while the chain is not read in this run, and is taken when it is", async () => {
    const id = ask(1);
    keepLevel(db.store.database, { network, account: hotWallet }, "an earlier run");
    const early = await handshake();
    states(early, [approved(id), attempt(id)]);
    expect(await early.closed).toMatchObject({ reason: "busy" });
    expect(row(id)).toMatchObject({ stage: "queued", code: "" });
    callLevel(db.store.database, "first run");
    const agent = await handshake();
    states(agent, [approved(id), attempt(id)]);
    await agent.next("ack");
  });

  it("is taken where the payment is the order's own, sent again to a restored database", async () => {
    const id = ask(1);
    foreign("b".repeat(64));
    const agent = await handshake();
    states(agent, [approved(id), attempt(id, 1, { txHash: "b".repeat(64) })]);
    await agent.next("ack");
    expect(row(id)).toMatchObject({ stage: "signed" });
    expect(db.store.database.all("SELECT * FROM unexplained")).toEqual([]);
  });

  it("on a chain that counts is taken, because the count excludes a second payment", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    db.store.database.run("DELETE FROM levels");
    db.store.database.run(
      "UPDATE agents SET accounts = ?",
      JSON.stringify([{ family: "evm", purpose: "hot", id: keys.hotWalletAddress, firstAddress: "" }]),
    );
    const agent = await handshake();
    states(agent, [decision(id, "approved"), signed(id, "4")]);
    await agent.next("ack");
  });
});
