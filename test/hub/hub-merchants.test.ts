/**
 * One agent's ledger beside another merchant's: a hash in one is also taken in the other, and one
 * agent's word that the database was restored stops no other agent. Other servers that one client
 * stops for all: open-mercato/open-mercato #3890, ujeenet/rustango #1228.
 */
import { describe, expect, it } from "vitest";
import {
  firstForgottenRange,
  hasForgottenIndexes,
  insertForgottenRange,
} from "../../gateway/store/forgotten-ranges.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { askWithdrawal, pairAgent, readAgent } from "../../lab/kit/gateway-database.ts";
import { headAt, statementOf } from "../../lab/kit/link-agent.ts";
import {
  connect,
  db,
  decision,
  eachTestItsHub,
  handshake,
  keys,
  observed,
  signed,
} from "../support/hub-server.ts";

eachTestItsHub();

describe("a hash that another merchant's agent named first", () => {
  it.each([
    ["another account's", "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65", ""],
    ["its own account's", "", "HUB_CONTRADICTION"],
  ])("a hash that is %s already locks the agent: %s %s", async (_, account, lockedCode) => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const other = pairAgent(db.store, "b");
    const entry = signed(id, "7");
    const txHash = entry.kind === "signed" ? entry.txHash : "";
    insertSignature(db.store.database, {
      ...{
        transactionId: askWithdrawal(db.store, other.id, 2),
        attempt: 1,
        agent: other.id,
        network: "eip155:31337",
      },
      ...{
        account: account || keys.hotWalletAddress,
        slot: "9",
        txHash,
        feeMax: "1",
        seq: 1,
        validUntilMs: 0,
        pin: "",
        cancel: 0,
      },
    });
    const agent = await handshake();
    agent.state(statementOf(keys.id, 0, [decision(id, "approved"), entry]));
    if (lockedCode === "") expect(await agent.next("ack")).toMatchObject({ head: headAt(2) });
    else await agent.closed;
    expect(readAgent(db.store, keys.id).lockedCode).toBe(lockedCode);
  });
});

describe("an agent that says that the database lacks what it knows", () => {
  const awaits = (id: string): number => readAgent(db.store, id).awaitsCeiling;

  /** The first merchant's agent, caught up in this run by default, and another merchant's link. */
  async function both(isCaughtUp: boolean) {
    const other = pairAgent(db.store, "b");
    if (isCaughtUp) {
      const agent = await handshake();
      agent.state(
        statementOf(keys.id, 0, [{ kind: "ceiling", ceiling: 100_000 }], {
          handshake: agent.nonce,
        }),
      );
      await agent.next("ack");
    }
    const link = connect(other);
    await link.handshake();
    return { other, link };
  }

  it.each([
    ["a ceiling that nobody asked for", { kind: "ceiling", ceiling: 900_000 } as const],
    ["a withdrawal that there never was", observed("22".repeat(16), "final")],
  ])(
    "an agent that doubts the database stops its own addresses alone, by %s, where the others have caught up in this run",
    async (_, entry) => {
      const { other, link } = await both(true);
      link.state(statementOf(other.id, 0, [entry]));
      await (entry.kind === "ceiling" ? link.next("ack") : link.closed);
      expect([awaits(keys.id), awaits(other.id)]).toEqual([0, 1]);
    },
  );

  it("an agent that doubts the database has those asked that have not caught up yet: it may lack what they know", async () => {
    const { other, link } = await both(false);
    link.state(statementOf(other.id, 0, [{ kind: "ceiling", ceiling: 900_000 }]));
    await link.next("ack");
    expect([awaits(keys.id), awaits(other.id)]).toEqual([1, 1]);
  });

  it("an agent that doubts the database says nothing new by it once it has caught up itself", async () => {
    const { other, link } = await both(true);
    link.state(
      statementOf(other.id, 0, [{ kind: "ceiling", ceiling: 100_000 }], { handshake: link.nonce }),
    );
    await link.next("ack");
    link.state(statementOf(other.id, 1, [{ kind: "ceiling", ceiling: 900_000 }]));
    await link.next("ack");
    expect([awaits(keys.id), awaits(other.id)]).toEqual([0, 0]);
    expect(db.store.database.all("SELECT 1 FROM meta WHERE name = 'restored'")).toEqual([]);
  });

  it.each([
    [1_000_000, ""],
    [1_000_001, "HUB_CONTRADICTION"],
    [0x7fffffff, "HUB_CONTRADICTION"],
  ])("an agent whose ledger holds a ceiling of %s is locked by %j", async (ceiling, lockedCode) => {
    const agent = await handshake();
    agent.state(
      statementOf(keys.id, 0, [{ kind: "ceiling", ceiling }], { handshake: agent.nonce }),
    );
    await (lockedCode === "" ? agent.next("ack") : agent.closed);
    expect(readAgent(db.store, keys.id).lockedCode).toBe(lockedCode);
  });

  it("an agent that doubts the database holds up no other merchant by a far jump of its own", () => {
    const other = pairAgent(db.store, "b");
    const range = { account: "x", family: "evm", next: 0, at: 1 };
    insertForgottenRange(db.store.database, {
      ...range,
      merchant: "m-b",
      agent: other.id,
      indexesEnd: 0x7fffffff,
    });
    expect(hasForgottenIndexes(db.store.database, "m1")).toBe(false);
    insertForgottenRange(db.store.database, {
      ...range,
      merchant: "m1",
      agent: keys.id,
      indexesEnd: 1_000,
    });
    expect(hasForgottenIndexes(db.store.database, "m1")).toBe(true);
    expect(firstForgottenRange(db.store.database)).toMatchObject({ merchant: "m1" });
  });
});
