/**
 * The gateway's word that nothing on the chain pays a withdrawal already: said of an agent's open
 * withdrawals on chains without counts, while the wallet's chain is read in this run and shows no
 * payment that looks like them.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { OperatorContext } from "../../gateway/operator/accounts.ts";
import { releaseOrder } from "../../gateway/operator/releasing.ts";
import { markWalletChainRead } from "../../gateway/store/levels.ts";
import { keepUnexplainedOutgoing } from "../../gateway/store/outgoing-holds.ts";
import { createSignals } from "../../gateway/store/signals.ts";
import { createOrderClearing } from "../../gateway/withdrawals/clearing.ts";
import {
  type AgentKeys,
  askWithdrawal,
  type GatewayDatabase,
  gatewayDatabase,
  pairAgent,
  readTransaction,
  silentLog,
} from "../../lab/kit/gateway-database.ts";
import { callLevel } from "../../lab/kit/level-reader.ts";

const run = "this run";
const hotWallet = "wallet";
const receiver = "customer";
const foreignHash = "f".repeat(64);
const uncounted = {
  tron: "tron:0x2b6653dc",
  bitcoin: "bip122:000000000019d6689c085ae165831e93",
  litecoin: "bip122:12a765e31ffd4059bada1e25190f6e98",
} as const;
const counted = { evm: "eip155:31337", xrp: "xrpl:0" } as const;
const networks = { ...uncounted, ...counted };
type Name = keyof typeof networks;
const currencyOf = (network: string): string => network.replace(/[^a-z0-9]/g, "");

let db: GatewayDatabase;
let keys: AgentKeys;
let told: string[];
beforeEach(() => {
  db = gatewayDatabase();
  keys = pairAgent(db.store);
  told = [];
});
afterEach(() => db.remove());

/** The agent pays from one wallet on each network, and has caught up with this run. */
function begin(isRead = true): void {
  const accounts = Object.keys(networks).map((family) => ({
    family,
    purpose: "hot",
    id: hotWallet,
    firstAddress: hotWallet,
  }));
  const paired = Object.values(networks).map((network) => ({
    id: currencyOf(network),
    network,
    contract: "",
    decimal: 6,
    maxFee: "2",
  }));
  db.store.database.run(
    "UPDATE agents SET accounts = ?, networks = ?, currencies = ?, caughtUp = ?",
    ...[
      JSON.stringify(accounts),
      JSON.stringify(Object.values(networks)),
      JSON.stringify(paired),
      run,
    ],
  );
  if (isRead) callLevel(db.store.database, run);
}

const clear = (ids: readonly string[], agent = keys.id) => {
  const signals = createSignals();
  signals.on("changed", ({ transactionId }) => told.push(transactionId));
  return createOrderClearing({ store: db.store, signals, log: silentLog, clock: () => 9, run })(
    agent,
    ids,
  );
};

function ask(name: Name, number = 1): string {
  const network = networks[name];
  const place = {
    network,
    currency: currencyOf(network),
    amount: "5",
    units: "5000000",
    receiver,
  };
  return askWithdrawal(db.store, keys.id, number, { ...place, payer: hotWallet });
}

/** A payment of the wallet that nothing explains, of what `ask` orders. */
function foreign(name: Name, change: object = {}): void {
  const paid = { receiver, tag: "", contract: "", units: "5000000" };
  const place = {
    network: networks[name],
    account: hotWallet,
    txHash: foreignHash,
    block: 9,
    final: 1 as const,
  };
  keepUnexplainedOutgoing(db.store.database, { ...place, ...paid, ...change }, 0);
}

const row = (id: string) => readTransaction(db.store, id);
const alarms = (): number =>
  db.store.database.all("SELECT 1 FROM audit WHERE act = 'alarm ORDER_PAID_BEFORE'").length;
const operator = (): OperatorContext =>
  ({ store: db.store, run, actor: "operator", nowMs: 9 }) as unknown as OperatorContext;

describe.each(Object.keys(uncounted) as (keyof typeof uncounted)[])(
  "a withdrawal on %s",
  (name) => {
    it("is cleared while its wallet's chain is read in this run, and not before", () => {
      begin(false);
      const id = ask(name);
      expect(clear([id])).toEqual([]);
      markWalletChainRead(
        db.store.database,
        { network: networks[name], account: hotWallet },
        "an earlier run",
      );
      expect(clear([id])).toEqual([]);
      markWalletChainRead(db.store.database, { network: networks[name], account: hotWallet }, run);
      expect(clear([id])).toEqual([id]);
      expect(told).toEqual([]);
    });

    it("that its wallet paid already is not cleared and waits for an operator; the others are cleared meanwhile", () => {
      begin();
      const [id, other] = [ask(name), ask(name, 2)];
      db.store.database.run("UPDATE transfers SET units = '6000000' WHERE id = ?", other);
      foreign(name);
      for (const turn of [1, 2]) expect(clear([id, other]), `${turn}`).toEqual([other]);
      expect(row(id)).toMatchObject({
        status: 0,
        stage: "awaiting_operator",
        code: "RECOVERY_HOLD",
      });
      expect([alarms(), told]).toEqual([1, [id]]);
      const released = releaseOrder(operator(), id, {
        txHash: foreignHash,
        reason: "it paid another",
        isNoOrders: false,
      });
      expect(released).toMatchObject({ ok: true, holders: [] });
      expect(clear([id])).toEqual([id]);
      expect(row(id)).toMatchObject({ stage: "queued", code: "" });
    });
  },
);

describe("nothing is said", () => {
  it("of a withdrawal on a chain that counts, of an ended one, of another agent's, and of none", () => {
    begin();
    const open = ask("tron");
    const ended = ask("tron", 2);
    db.store.database.run("UPDATE transfers SET status = 1 WHERE id = ?", ended);
    const silent = [ask("evm", 3), ask("xrp", 4), ended, "0".repeat(32)];
    expect(clear([...silent, open])).toEqual([open]);
    const second = pairAgent(db.store, "b");
    db.store.database.run("UPDATE agents SET caughtUp = ? WHERE id = ?", run, second.id);
    expect(clear([open], second.id)).toEqual([]);
    expect(clear([open], "c".repeat(16))).toEqual([]);
  });

  it("to an agent that has not caught up with this run, or was unpaired", () => {
    begin();
    const id = ask("tron");
    expect(clear([id])).toEqual([id]);
    db.store.database.run("UPDATE agents SET caughtUp = 'an earlier run'");
    expect(clear([id])).toEqual([]);
    db.store.database.run("UPDATE agents SET caughtUp = ?, unpairedAt = 1", run);
    expect(clear([id])).toEqual([]);
  });
});
