/**
 * Merchants of one gateway: one pays another's deposit address, and an agent's word on its own
 * withdrawals never changes another merchant's payments. Reported for such software: lnbits/lnbits
 * #3907 (what one wallet of an instance pays another arrives as nothing); kolliderhq/lndhubx #83
 * (an invoice that another account of the same service pays stays unpaid).
 */
import { describe, expect, it } from "vitest";
import { unsweptBalanceOf } from "../../gateway/store/journal.ts";
import {
  keepOutgoing,
  listUnexplainedOutgoing,
  listUntoldOutgoing,
} from "../../gateway/store/outgoing-transactions.ts";
import { correctReservedSums } from "../../gateway/store/reserved.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { hashOf } from "../../lab/kit/fake-chain.ts";
import {
  type AgentKeys,
  type AnyTransaction,
  askWithdrawal,
  pairAgent,
  receiver,
} from "../../lab/kit/gateway-database.ts";
import { journalFaults } from "../../lab/kit/journal-audit.ts";
import { until } from "../support/until.ts";
import {
  chain,
  db,
  eachTestItsChain,
  eth,
  keys,
  network,
  outsider,
  passes,
  payments,
  request,
  row,
  start,
  token,
  usd,
  usdPayment,
} from "../support/watched-chain.ts";

eachTestItsChain();

const otherHotWallet = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65";

/** The word of an agent's signer: this transaction is an attempt of that order. */
function names(
  agent: AgentKeys,
  number: number,
  txHash: string,
  change: Partial<AnyTransaction> = {},
): string {
  const orderId = number.toString(16).padStart(32, "e"); // as a top-up names its sweep
  const id = askWithdrawal(db.store, agent.id, number, { stage: "signed", orderId, ...change });
  const account = agent.hotWalletAddress;
  insertSignature(db.store.database, {
    ...{
      transactionId: id,
      attempt: 1,
      agent: agent.id,
      network,
      account,
      slot: `${number}`,
      txHash,
      feeMax: "1",
      seq: number,
    },
    ...{ validUntilMs: 0, pin: "", cancel: 0 },
  });
  correctReservedSums(db.store.database);
  return id;
}

/** The unswept balance, when the journal has what the rows say. */
function held(address: string, currency: string): bigint {
  expect(journalFaults(db.store.database)).toEqual([]);
  return unsweptBalanceOf(db.store.database, address, network, currency);
}

describe("a payment between two merchants of one gateway", () => {
  it("is a payment, in tokens and in coins", async () => {
    const tokens = request(0, usd);
    const coins = request(1);
    const other = pairAgent(db.store, "b", otherHotWallet);
    const toTokens = { receiver: tokens.address, ...usd };
    names(other, 1, hashOf("tokens"), toTokens);
    names(other, 2, hashOf("coins"), { receiver: coins.address });
    await start();
    const transfers = [
      { contract: token, from: otherHotWallet, to: tokens.address, units: 5_000_000n },
    ];
    chain.mine({ hash: hashOf("tokens"), from: otherHotWallet, nonce: 1, to: token, transfers });
    chain.mine({
      hash: hashOf("coins"),
      from: otherHotWallet,
      nonce: 2,
      to: coins.address,
      value: eth,
    });
    chain.mineEmpty(3);
    await until(() => row(tokens.id).status === 1 && row(coins.id).status === 1);
    expect(payments().map(({ txHash }) => txHash)).toEqual([hashOf("tokens"), hashOf("coins")]);
    expect(held(tokens.address, "usd")).toBe(5_000_000n);
    expect(held(coins.address, "eth")).toBe(eth);
  });

  it("a payment to a merchant counts whatever another merchant's agent calls it, while it confirms and afterwards", async () => {
    const paid = request(0);
    const tokens = request(1, usd);
    const other = pairAgent(db.store, "b", otherHotWallet);
    await start();
    chain.mine(
      { hash: hashOf("a"), from: outsider, to: paid.address, value: eth },
      usdPayment("b", tokens.address, 5_000_000n),
    );
    await until(() => row(tokens.id).stage === "confirming");
    names(other, 1, hashOf("b"));
    const topUp = {
      operation: "topup",
      receiver: paid.address,
      addressIndex: 0,
    } as const;
    names(other, 2, hashOf("a"), topUp);
    chain.mineEmpty(3);
    await until(() => row(paid.id).status === 1 && row(tokens.id).status === 1);
    expect(payments().map(({ txHash }) => txHash)).toEqual([hashOf("a"), hashOf("b")]);
    expect(held(paid.address, "eth")).toBe(eth);
    expect(held(tokens.address, "usd")).toBe(5_000_000n);
  });

  it("a payment to an address is left out where it is the top-up of that address' own sweep, and nowhere else", async () => {
    const swept = request(0, { status: 1, stage: "completed" });
    const beside = request(1);
    await start();
    const units = eth / 100n;
    const topUp = {
      operation: "topup",
      receiver: swept.address,
      addressIndex: 0,
    } as const;
    names(keys, 1, hashOf("top-up"), { ...topUp, units: `${units}` });
    chain.mine({
      hash: hashOf("top-up"),
      from: keys.hotWalletAddress,
      nonce: 1,
      to: swept.address,
      value: units,
    });
    // The same agent names the hash of a payment to another address of its merchant.
    names(keys, 2, hashOf("b"), { ...topUp, units: `${eth}` });
    chain.mine({ hash: hashOf("b"), from: outsider, to: beside.address, value: eth });
    chain.mineEmpty(3);
    await until(() => row(beside.id).status === 1);
    await passes();
    expect(payments().map(({ address }) => address)).toEqual([beside.address]);
    expect(row(swept.id)).toMatchObject({ late: 0, receivedUnits: "0" });
  });
});

describe("an outgoing transaction of a merchant", () => {
  it("is explained by its own account's signature alone", () => {
    const { database } = db.store;
    const other = pairAgent(db.store, "b", otherHotWallet);
    const outgoingTx = {
      network,
      account: keys.hotWalletAddress,
      slot: "7",
      txHash: hashOf("theft"),
      block: 3,
      receiver,
      tag: "",
      contract: "",
    };
    keepOutgoing(database, { ...outgoingTx, units: "5", untold: 1 });
    names(other, 1, outgoingTx.txHash);
    expect(listUnexplainedOutgoing(database, keys.hotWalletAddress, 9)).toHaveLength(1);
    expect(listUntoldOutgoing(database, network)).toMatchObject([{ isExplained: 0 }]);
    names(keys, 2, outgoingTx.txHash);
    expect(listUnexplainedOutgoing(database, keys.hotWalletAddress, 9)).toEqual([]);
    expect(listUntoldOutgoing(database, network)).toMatchObject([{ isExplained: 1 }]);
  });
});
