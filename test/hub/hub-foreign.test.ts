/**
 * Transactions that nothing here signed, between hub and agent: named in acknowledgements until
 * the agent's ledger has them, and what its ledger says of its stop.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { insertAssigned } from "../../gateway/store/assigned-payments.ts";
import { countsOf } from "../../gateway/store/counts.ts";
import { listForeignTransactions } from "../../gateway/store/foreign.ts";
import { keepOrderRelease, keepUnexplainedOutgoing } from "../../gateway/store/outgoing-holds.ts";
import { askWithdrawal, readAgent } from "../../lab/kit/gateway-database.ts";
import { type EntryBody, type LinkAgent, statementOf } from "../../lab/kit/link-agent.ts";
import { db, eachTestItsHub, handshake, keys, signals } from "../support/hub-server.ts";
import { inhabitant } from "../support/tron-network.ts";

eachTestItsHub();

const network = "tron:0x2b6653dc";
const hotWallet = inhabitant("a hot wallet").address;
const hash = (number: number): string => number.toString(16).padStart(64, "0");

beforeEach(() => {
  const accounts = JSON.stringify([
    { family: "tron", purpose: "hot", id: hotWallet, firstAddress: hotWallet },
  ]);
  db.store.database.run("UPDATE agents SET accounts = ?, networks = ?", accounts, `["${network}"]`);
});

/** A final transaction of the wallet that nothing explains. */
function foreign(
  number: number,
  change: Partial<Parameters<typeof keepUnexplainedOutgoing>[1]> = {},
): void {
  const paid = { receiver: "x", tag: "", contract: "", units: "5" };
  const row = {
    network,
    account: hotWallet,
    txHash: hash(number),
    block: number,
    final: 1,
    ...paid,
    ...change,
  } as const;
  keepUnexplainedOutgoing(db.store.database, row, 0);
}

const tells = (): void => signals.emit("foreign", { agent: keys.id });
const said = (paused: boolean, change: object = {}): EntryBody =>
  ({ kind: "paused", paused, network, ...change }) as EntryBody;
const named = (number: number) => ({ network, account: hotWallet, txHash: hash(number) });
const foreignOf = async (agent: LinkAgent) => (await agent.next("ack")).foreign;
const stops = () => countsOf(db.store.database, "first run").networkStops;

async function caughtUp(): Promise<LinkAgent> {
  const agent = await handshake();
  agent.state(statementOf(keys.id, 0, [said(false)], { handshake: agent.nonce }));
  expect(await foreignOf(agent)).toBeUndefined();
  expect(readAgent(db.store, keys.id).caughtUp).toBe("first run");
  return agent;
}

describe("a transaction that nothing here signed", () => {
  it("is named at once and at each handshake, until the agent's ledger has it", async () => {
    const agent = await caughtUp();
    foreign(7);
    tells();
    expect(await foreignOf(agent)).toEqual([named(7)]);
    const again = await handshake();
    expect(await foreignOf(again)).toEqual([named(7)]);
    again.state(
      statementOf(keys.id, 1, [said(true, { txHashes: [hash(7)] })], { handshake: again.nonce }),
    );
    expect(await foreignOf(again)).toBeUndefined();
    expect(stops()).toEqual([expect.objectContaining({ agent: keys.id, network })]);
    again.state(statementOf(keys.id, 2, [said(false)], { handshake: again.nonce }));
    expect(await foreignOf(again)).toBeUndefined();
    expect(stops()).toEqual([]);
  });

  it("is one of sixteen in each acknowledgement, the newest first", async () => {
    const agent = await caughtUp();
    for (let number = 1; number <= 20; number += 1) foreign(number);
    tells();
    expect(await foreignOf(agent)).toEqual(Array.from({ length: 16 }, (_, at) => named(20 - at)));
    const txHashes = Array.from({ length: 16 }, (_, at) => hash(20 - at));
    agent.state(statementOf(keys.id, 1, [said(true, { txHashes })], { handshake: agent.nonce }));
    expect(await foreignOf(agent)).toEqual([4, 3, 2, 1].map(named));
  });

  it("is none before the agent has caught up, because a restored database may lack its signature", async () => {
    foreign(7);
    const agent = await handshake();
    agent.state(statementOf(keys.id, 0, [said(false)]));
    expect(await foreignOf(agent)).toBeUndefined();
    agent.state(statementOf(keys.id, 1, [said(false)], { handshake: agent.nonce }));
    expect(await foreignOf(agent)).toEqual([named(7)]);
  });

  const none: Readonly<Record<string, () => void>> = {
    "not final": () => foreign(7, { final: 0 }),
    "of another account": () => foreign(7, { account: inhabitant("somebody").address }),
    "of a chain that counts": () => foreign(7, { network: "eip155:1" }),
    "explained by an operator": () => {
      foreign(7);
      const transactionId = askWithdrawal(db.store, keys.id, 1);
      const of = { network, account: hotWallet, txHash: hash(7), block: 7, feeUnits: "1", at: 1 };
      db.store.write((database) => insertAssigned(database, { transactionId, ...of }));
    },
    "released from every order": () => {
      foreign(7);
      db.store.write((database) =>
        keepOrderRelease(database, { account: hotWallet, txHash: hash(7) }, "", 1),
      );
    },
  };
  it.each(Object.entries(none))("is not named if it is %s", async (_, keep) => {
    await caughtUp();
    keep();
    expect(listForeignTransactions(db.store.database, readAgent(db.store, keys.id))).toEqual([]);
    foreign(8);
    expect(listForeignTransactions(db.store.database, readAgent(db.store, keys.id))).toEqual([
      named(8),
    ]);
  });
});
