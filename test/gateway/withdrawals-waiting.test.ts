/**
 * Withdrawals over HTTP on a chain where only expiry excludes a second payment: the currencies and
 * addresses that are taken, the reservation for their fees, the shop's events for a withdrawal that
 * ran out after its signature, and the accounts of a wallet with such a chain beside another.
 */
import { mnemonicToSeedSync } from "bip39";
import { TronWeb } from "tronweb";
import { beforeEach, describe, expect, it } from "vitest";
import { deriveAccounts } from "../../agent/keystore/nodes.ts";
import { hotWalletAddressOn } from "../../gateway/store/agent-accounts.ts";
import { keepBalance } from "../../gateway/store/balances.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { insertSlot } from "../../gateway/store/slots.ts";
import { markVoid } from "../../gateway/store/void-attempts.ts";
import { testConfig, walletFrom } from "../../lab/kit/gateway-server.ts";
import { callLevel } from "../../lab/kit/level-reader.ts";
import { parseJob } from "../../protocol/payloads.ts";
import {
  agentRow,
  anotherGateway,
  auto,
  db,
  decide,
  deposit,
  eachTestItsGateway,
  gateway,
  manual,
  many,
  read,
  row,
} from "../support/shop.ts";
import { inhabitant } from "../support/tron-network.ts";

eachTestItsGateway();

const network = "tron:0x2b6653dc";
const contract = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
const receiver = inhabitant("a receiver").address;
const words = "test test test test test test test test test test test junk";
const both = walletFrom(
  deriveAccounts(Uint8Array.from(mnemonicToSeedSync(words)), ["evm", "tron"]),
);
const chains = {
  ...testConfig.chains,
  tron: {
    family: "tron",
    chainId: "0x2b6653dc",
    nodes: ["http://127.0.0.1:9"],
    confirmations: "finalized",
  },
};
const currencies = {
  ...testConfig.currencies,
  trx: {
    chain: "tron",
    decimal: 6,
    name: "TRON",
    symbol: "TRX",
    minPaymentAmount: "5",
    minWithdrawAmount: "1",
  },
  trc20: {
    chain: "tron",
    decimal: 6,
    contract,
    name: "Tether",
    symbol: "USDT",
    minPaymentAmount: "5",
    minWithdrawAmount: "1",
  },
  unpaired: {
    chain: "tron",
    decimal: 6,
    contract: inhabitant("contract of another token").address,
    name: "Other",
    symbol: "OTH",
    minPaymentAmount: "5",
  },
};
const paired = [
  { id: "eth", network: "eip155:31337", contract: "", decimal: 18, maxFee: "0.01" },
  { id: "trc20", network, contract, decimal: 6, maxFee: "45" },
  { id: "trx", network, contract: "", decimal: 6, maxFee: "2" },
];

function fund(currency: string, units: bigint): void {
  const account = hotWalletAddressOn(agentRow(), network);
  keepBalance(db(), { account, currency, units: `${units}`, block: 100, at: gateway.clock.nowMs });
}

beforeEach(async () => {
  await anotherGateway({ ...many, chains, currencies });
  const transcript = { networks: ["eip155:31337", network], currencies: paired };
  expect((await gateway.pair(transcript, undefined, undefined, both.nodes)).status).toBe(200);
  // In the first run the gateway has no agent's word; with such a word a job gets its place at
  // once.
  db().run("UPDATE agents SET caughtUp = 'first run'");
  callLevel(db(), "first run");
  fund("trx", 100_000_000n);
  fund("trc20", 50_000_000n);
});

const out = { currency: "trc20", amount: "10", address: receiver, orderId: "out-1" };

/** Stores the rows of hub and watcher for an attempt that was signed and became void. */
function signs(id: string, isVoid: boolean): void {
  const account = hotWalletAddressOn(agentRow(), network);
  const agent = agentRow().id;
  gateway.service.store.write((database) => {
    insertSlot(database, { network, account, slot: "0" }, id);
    const attempt = {
      transactionId: id,
      attempt: 1,
      agent,
      network,
      account,
      slot: "0",
      txHash: "ab".repeat(32),
    };
    insertSignature(database, {
      ...attempt,
      feeMax: "1",
      seq: 3,
      validUntilMs: 77,
      pin: "",
      cancel: 0,
    });
    if (isVoid)
      markVoid(database, { transactionId: id, txHash: attempt.txHash, validUntilMs: 77 }, 80);
  });
}

describe("a withdrawal where only expiry excludes a second payment", () => {
  it.each(["trx", "trc20"])(
    "a withdrawal of %s is made with the job that its agent takes, from that family's own account",
    async (currency) => {
      const made = await auto({ ...out, currency });
      expect([made.status, made.body]).toMatchObject([200, { status: 0, stage: "queued" }]);
      const [job] = db().all<{ text: string }>("SELECT text FROM jobs");
      expect(parseJob(job?.text ?? "")).toMatchObject({
        network,
        currency,
        amount: "10",
        address: receiver,
        mode: "auto",
        tag: "",
      });
      const hotWallet = TronWeb.address.fromPrivateKey(
        Buffer.from(keyOf()).toString("hex"),
      ) as string;
      expect(row(made.body.transactionId)).toMatchObject({
        network,
        payer: hotWallet,
        receiver,
      });
      expect((await auto({ ...out, currency })).body.transactionId).toBe(made.body.transactionId);
    },
  );

  it("a withdrawal for an operator, without an address, is made like any other", async () => {
    expect((await manual({ currency: "trc20", amount: "10" })).body).toMatchObject({
      status: 0,
      stage: "awaiting_approval",
    });
  });

  it.each([
    [
      "an address of another family",
      { address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8" },
      "address_invalid",
    ],
    [
      "an address whose checksum is wrong",
      { address: `${receiver.slice(0, -1)}${receiver.endsWith("1") ? "2" : "1"}` },
      "address_invalid",
    ],
    ["the address as hex", { address: TronWeb.address.toHex(receiver) }, "address_invalid"],
    ["the token's own contract", { address: contract }, "address_contract"],
    [
      "another token's contract",
      { address: inhabitant("contract of another token").address },
      "address_contract",
    ],
    ["a tag", { tag: "12" }, "tag_not_supported"],
    [
      "a currency that its agent was not paired with",
      { currency: "unpaired" },
      "currency_not_payable",
    ],
    ["an amount of too many decimals", { amount: "1.0000001" }, "amount_precision"],
    ["an amount below the least", { amount: "0.5" }, "amount_below_minimum"],
    ["more than the account has", { amount: "51" }, "balance_insufficient"],
  ])("a withdrawal with %s is refused, and nothing is made", async (_, change, code) => {
    const answer = await auto({ ...out, ...change });
    expect([answer.status, answer.body.code]).toEqual([400, code]);
    expect(db().all("SELECT id FROM transfers UNION ALL SELECT id FROM deposits")).toEqual([]);
    expect((await auto(out)).status).toBe(200);
  });

  it("a withdrawal to one of the wallet's own addresses is refused", async () => {
    const own = hotWalletAddressOn(agentRow(), network);
    const given = await deposit({ currency: "trc20", amount: "10" });
    expect(given.status).toBe(200);
    for (const address of [own, given.body.address as string])
      expect((await auto({ ...out, address })).body.code).toBe("address_own");
  });

  it("a withdrawal of a token reserves the most that it may cost in the coin, and is refused where that is not there", async () => {
    for (const orderId of ["a", "b"]) expect((await auto({ ...out, orderId })).status).toBe(200);
    expect((await read("/balance/trx")).body).toMatchObject({
      available: "10",
      reserved: "90",
      feeAsset: "trx",
      feeReserve: "2",
    });
    expect((await read("/balance/trc20")).body).toMatchObject({
      available: "30",
      reserved: "20",
      feeReserve: "45",
      feeSufficient: false,
    });
    const third = await auto({ ...out, orderId: "c" });
    expect(third.body).toMatchObject({
      code: "balance_insufficient",
      currency: "trx",
      available: "10",
      needed: "45",
    });
    // The coin's own fee is less, and goes beside its amount.
    expect(
      (await auto({ ...out, currency: "trx", amount: "8.000001", orderId: "d" })).body.code,
    ).toBe("balance_insufficient");
    expect((await auto({ ...out, currency: "trx", amount: "8", orderId: "d" })).status).toBe(200);
  });

  it("a withdrawal that ran out after it was signed says so, gives its reserve back, and may be asked for under another order once it is void", async () => {
    const { transactionId } = (await auto(out)).body as { transactionId: string };
    signs(transactionId, true);
    decide(transactionId, { status: 2, stage: "expired", code: "JOB_EXPIRED" });
    expect(await auto(out)).toMatchObject({
      status: 422,
      body: { code: "withdrawal_failed", reason: "JOB_EXPIRED", signed: true, retryable: true },
    });
    expect((await read("/balance/trx")).body).toMatchObject({ available: "100", reserved: "0" });
    expect((await read(`/transaction/${transactionId}?transactionType=2`)).body).toMatchObject({
      status: 2,
      stage: "expired",
      code: "JOB_EXPIRED",
    });
  });

  it("a withdrawal that failed with an attempt that is not void is not worth another try", async () => {
    const { transactionId } = (await auto(out)).body as { transactionId: string };
    signs(transactionId, false);
    decide(transactionId, { status: 2, stage: "failed", code: "chain_reverted" });
    expect((await auto(out)).body).toMatchObject({ signed: true, retryable: false });
  });
});

describe("a deposit where the paired server has an account", () => {
  it("goes to it, and each family's address has its own index there", async () => {
    const first = await deposit({ currency: "trc20", amount: "10", orderId: "in-1" });
    const second = await deposit({ currency: "eth", amount: "1", orderId: "in-2" });
    const rows = db().all("SELECT address, agent, addressIndex FROM addresses ORDER BY number");
    expect(rows).toEqual([
      { address: first.body.address, agent: agentRow().id, addressIndex: 0 },
      { address: second.body.address, agent: agentRow().id, addressIndex: 1 },
    ]);
    expect([first.body.address, second.body.address]).toEqual([
      expect.stringMatching(/^T[1-9A-HJ-NP-Za-km-z]{33}$/),
      expect.stringMatching(/^0x/),
    ]);
  });
});

/** The private key of the hot wallet, by a second reading of its path. */
function keyOf(): Uint8Array {
  const key = TronWeb.fromMnemonic(words, "m/44'/195'/0'/0/0").privateKey;
  return Buffer.from(key.replace(/^0x/, ""), "hex");
}
