/**
 * The seven operations and pairing over real HTTP and a real SQLite file. What the agent and the chain would say is written by the
 * test itself: rows as hub and watcher write them, then the signal.
 */

import { execFile, spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HDKey } from "@scure/bip32";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { readConfig as readAgentConfig } from "../agent/config.ts";
import { addressOfPublicKey, depositAddressOf } from "../chains/evm/address.ts";
import { languageOf } from "../gateway/api/language.ts";
import { answerCodes } from "../gateway/api/messages.ts";
import { createPeers } from "../gateway/api/peers.ts";
import { balanceNumber } from "../gateway/balance/balance.ts";
import { parseConfig } from "../gateway/config.ts";
import { agentConfigText } from "../gateway/operator/agent-config.ts";
import { writeOwnFile } from "../gateway/operator/folder.ts";
import { createMerchant, listAgents, releaseAgent } from "../gateway/operator/people.ts";
import type { AgentRow, JobRow, TransactionRow } from "../gateway/store/rows.ts";
import { publicKeyHex } from "../protocol/envelope.ts";
import { jobHashOf, transactionIdOf, walletFingerprintOf, zeroHash } from "../protocol/identity.ts";
import { openGrant, parseApiKey, parseSealedGrant, sealTranscript, shortCodeOf } from "../protocol/pairing.ts";
import { parseJob } from "../protocol/payloads.ts";
import {
  type Answered,
  handmadeToken,
  newAgentKeys,
  receiver,
  startTestGateway,
  type TestGateway,
  testConfig,
  usdtContract,
  wallet,
} from "./support/gateway-server.ts";

const ether = 10n ** 18n;
const many = {
  limits: { readsPerSecond: 100_000, writesPerSecond: 100_000, pairingsPerMinute: 10_000, withdrawalWaitMs: 2_000 },
};

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway(many);
});
afterEach(() => gateway.close());

/** Paired, with 10 ETH and 1000 USDT at block 100. */
async function ready(): Promise<void> {
  expect((await gateway.pair()).status).toBe(200);
  gateway.fund("eth", 10n * ether);
  gateway.fund("usdt", 1_000_000_000n);
}

const db = () => gateway.service.store.database;
const row = (id: string) => db().get<TransactionRow>("SELECT * FROM transactions WHERE id = ?", id);
const agentRow = () => db().get<AgentRow>("SELECT * FROM agents WHERE releasedAt IS NULL") as AgentRow;
const countOf = (table: string) => db().get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)?.n;

const withdrawal = { currency: "eth", amount: "1", address: receiver, orderId: "order-1" };
const auto = (change: object = {}, headers: Record<string, string> = {}): Promise<Answered> =>
  gateway.call("POST", "/api/v1/autoWithdraw", { ...withdrawal, ...change }, headers);
const manual = (change: object = {}): Promise<Answered> =>
  gateway.call("POST", "/api/v1/manualWithdraw", { currency: "eth", amount: "1", orderId: "order-1", ...change });
const deposit = (change: object = {}): Promise<Answered> =>
  gateway.call("POST", "/api/v1/createTransactionRequest", { currency: "eth", amount: "1", orderId: "order-1", ...change });
const read = (path: string, headers: Record<string, string> = {}): Promise<Answered> =>
  gateway.call("GET", `/api/v1${path}`, undefined, headers);

/** What the hub stores and says when the agent answers a job. */
function decide(transactionId: string, change: { status?: number; stage: string; code?: string }): void {
  const { store, signals } = gateway.service;
  store.write((database) => {
    database.run("UPDATE jobs SET answeredAt = ? WHERE transactionId = ?", gateway.clock.nowMs, transactionId);
    const sql = "UPDATE transactions SET status = ?, stage = ?, code = ? WHERE id = ?";
    database.run(sql, change.status ?? 0, change.stage, change.code ?? "", transactionId);
  });
  signals.emit("decided", { transactionId });
}

function online(isOnline = true): void {
  gateway.service.signals.emit("agent", { agent: agentRow().id, online: isOnline });
}

/** Answers each job as it is made, as an agent would. */
function answering(change: { status?: number; stage: string; code?: string }): void {
  gateway.service.signals.on("job", ({ agent }) => {
    const job = db().get<JobRow>("SELECT * FROM jobs WHERE agent = ? ORDER BY sequence DESC LIMIT 1", agent);
    setImmediate(() => decide(job?.transactionId ?? "", change));
  });
}

describe("autoWithdraw", () => {
  it("stores withdrawal, reservation and job in one go, and answers 200 at once when the agent is offline", async () => {
    await ready();
    const started = performance.now();
    const answer = await auto();
    expect(performance.now() - started).toBeLessThan(1_000);
    const id = transactionIdOf({ merchant: gateway.merchant.merchantId, operation: "withdraw", orderId: "order-1" });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ message: "The withdrawal request was sent.", transactionId: id });
    expect(row(id)).toMatchObject({
      status: 0,
      stage: "queued",
      mode: "auto",
      amount: "1",
      amountUnits: ether.toString(),
      receiverAddress: receiver,
      depositAddress: wallet.hotAddress,
      expiresAt: gateway.clock.nowMs + 24 * 3_600_000,
    });
    const job = db().get<JobRow>("SELECT * FROM jobs") as JobRow;
    const agent = agentRow();
    expect(parseJob(job.text)).toMatchObject({
      agent: agent.id,
      wallet: agent.wallet,
      network: "eip155:31337",
      epoch: 1,
      sequence: 1,
      previous: zeroHash,
      mode: "auto",
      transactionId: id,
      amount: "1",
      address: receiver,
      tag: "",
    });
    expect([agent.jobSequence, agent.jobHash, job.hash]).toEqual([1, jobHashOf(job.text), jobHashOf(job.text)]);
    expect((await read("/balance/eth")).body).toMatchObject({ available: "8.99", reserved: "1.01", total: "10" });
  });

  it("chains jobs: each names the hash of the one before", async () => {
    await ready();
    for (const orderId of ["a", "b", "c"]) expect((await auto({ orderId })).status).toBe(200);
    const jobs = db().all<JobRow>("SELECT * FROM jobs ORDER BY sequence");
    expect(jobs.map((job) => parseJob(job.text).sequence)).toEqual([1, 2, 3]);
    expect(jobs.map((job) => parseJob(job.text).previous)).toEqual([zeroHash, jobs[0]?.hash, jobs[1]?.hash]);
  });

  it("answers 200 when the agent approves or holds, 422 when it refuses, each within the short wait", async () => {
    await ready();
    online();
    answering({ stage: "queued" });
    const approved = await auto();
    expect([approved.status, approved.body.stage]).toEqual([200, "queued"]);
    await gateway.close();
    gateway = await startTestGateway(many);
    await ready();
    online();
    answering({ status: 2, stage: "refused", code: "POLICY_ABOVE_DAY" });
    const refused = await auto();
    expect(refused.status).toBe(422);
    expect(refused.body).toMatchObject({
      message: "The withdrawal transaction has failed.",
      code: "withdrawal_failed",
      reason: "POLICY_ABOVE_DAY",
      retryable: true,
      transactionId: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect((await auto()).body.transactionId).toBe(refused.body.transactionId);
    expect((await auto()).status).toBe(422);
    expect(countOf("jobs")).toBe(1);
  });

  it("answers 200 after the short wait when an online agent says nothing, and when it goes offline meanwhile", async () => {
    await ready();
    online();
    const started = performance.now();
    expect((await auto()).status).toBe(200);
    expect(performance.now() - started).toBeGreaterThan(1_900);
    const going = auto({ orderId: "order-2" });
    setTimeout(() => online(false), 50);
    const since = performance.now();
    expect((await going).status).toBe(200);
    expect(performance.now() - since).toBeLessThan(1_500);
  });

  it("answers 200 at once while the agent stands locked, however well its link does", async () => {
    await ready();
    online();
    db().run("UPDATE agents SET lockedCode = 'AGENT_BEHIND'");
    const started = performance.now();
    expect((await auto()).status).toBe(200);
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  it("says retryable only when nothing was signed", async () => {
    await ready();
    const { transactionId } = (await auto()).body;
    decide(transactionId, { status: 2, stage: "failed", code: "CHAIN_REVERTED" });
    expect((await auto()).body.retryable).toBe(true);
    db().run(
      "INSERT INTO signatures (transactionId, version, agent, network, account, token, txHash, feeMaxWei, seq) VALUES (?, 1, ?, 'eip155:31337', ?, '0', '0xab', '1', 1)",
      transactionId,
      agentRow().id,
      wallet.hotAddress,
    );
    expect((await auto()).body.retryable).toBe(false);
  });

  it("makes one withdrawal of many equal requests at once", async () => {
    await ready();
    const answers = await Promise.all(Array.from({ length: 12 }, () => auto()));
    expect(new Set(answers.map((answer) => answer.body.transactionId)).size).toBe(1);
    expect(answers.every((answer) => answer.status === 200)).toBe(true);
    expect([countOf("transactions"), countOf("jobs")]).toEqual([1, 1]);
  });

  it("knows the same content in another spelling, and answers 409 for other content", async () => {
    await ready();
    const first = await auto();
    for (const same of [{}, { amount: "1.000" }, { address: receiver.toLowerCase() }, { tag: "" }]) {
      const answer = await auto(same);
      expect([answer.status, answer.body.transactionId], JSON.stringify(same)).toEqual([200, first.body.transactionId]);
    }
    for (const other of [
      { amount: "2" },
      { address: wallet.hotAddress },
      { currency: "usdt" },
      { tag: "7" },
      { currency: "gone" },
    ]) {
      const answer = await auto(other);
      expect([answer.status, answer.body.code, answer.body.transactionId], JSON.stringify(other)).toEqual([
        409,
        "order_id_reused",
        first.body.transactionId,
      ]);
    }
    const asManual = await manual({ address: receiver });
    expect([asManual.status, asManual.body.transactionId]).toEqual([409, first.body.transactionId]);
    expect((await deposit()).status).toBe(200); // deposits are another space
    expect(countOf("jobs")).toBe(1);
  });

  it("still answers the same after funds, currency and agent are gone", async () => {
    await ready();
    const first = await auto();
    gateway.fund("eth", 0n);
    releaseAgent(gateway.operator, agentRow().id);
    expect((await auto()).body).toEqual(first.body);
    expect((await auto({ orderId: "order-2" })).body.code).toBe("agent_not_paired");
  });
});

describe("funds", () => {
  it("are reserved with the agent's own maxFee: the last wei counts", async () => {
    await ready();
    const above = await auto({ amount: "9.990000000000000001" });
    expect([above.status, above.body]).toEqual([
      400,
      expect.objectContaining({
        code: "balance_insufficient",
        currency: "eth",
        available: "10",
        needed: "10.000000000000000001",
      }),
    ]);
    expect((await auto({ amount: "9.99" })).status).toBe(200);
    expect((await read("/balance/eth")).body).toMatchObject({ balance: 0, available: "0", reserved: "10" });
    expect((await auto({ amount: "0.001", orderId: "order-2" })).body.code).toBe("balance_insufficient");
  });

  it("of a token need the native coin for the fee", async () => {
    await ready();
    gateway.fund("eth", ether / 50n - 1n);
    const short = await auto({ currency: "usdt", amount: "5" });
    expect([short.status, short.body.code, short.body.currency]).toEqual([400, "balance_insufficient", "eth"]);
    expect((await read("/balance/usdt")).body).toMatchObject({
      available: "1000",
      feeAsset: "eth",
      feeReserve: "0.02",
      feeSufficient: false,
    });
    gateway.fund("eth", ether / 50n);
    expect((await read("/balance/usdt")).body.feeSufficient).toBe(true);
    expect((await auto({ currency: "usdt", amount: "5" })).status).toBe(200);
    expect((await read("/balance/usdt")).body).toMatchObject({ balance: 995, reserved: "5" });
    expect((await read("/balance/eth")).body).toMatchObject({ available: "0", reserved: "0.02" });
  });

  it("stay reserved until the balance was read at a block that has the payment", async () => {
    await ready();
    const { transactionId } = (await auto()).body;
    db().run("UPDATE transactions SET status = 1, stage = 'final', finalBlock = 120 WHERE id = ?", transactionId);
    gateway.fund("eth", 10n * ether, 119);
    expect((await read("/balance/eth")).body).toMatchObject({ available: "8.99", reserved: "1.01" });
    gateway.fund("eth", 8_999_000_000_000_000_000n, 120);
    expect((await read("/balance/eth")).body).toMatchObject({ available: "8.999", reserved: "0" });
  });

  it("of a refused withdrawal are free again; of a reverted one all but the fee", async () => {
    await ready();
    const { transactionId } = (await auto()).body;
    decide(transactionId, { status: 2, stage: "refused", code: "POLICY_DENIED" });
    expect((await read("/balance/eth")).body).toMatchObject({ available: "10", reserved: "0" });
    db().run("UPDATE transactions SET finalBlock = 101 WHERE id = ?", transactionId);
    expect((await read("/balance/eth")).body).toMatchObject({ available: "9.99", reserved: "0.01" });
  });

  it("that nobody has read yet make it 503, and nothing is created", async () => {
    await gateway.pair();
    const answer = await auto();
    expect([answer.status, answer.body.code, answer.headers["retry-after"]]).toEqual([503, "unavailable", "5"]);
    expect(countOf("transactions")).toBe(0);
    gateway.fund("eth", 10n * ether);
    expect((await auto()).status).toBe(200);
  });

  it("are told as a number that is never above the truth", async () => {
    expect(balanceNumber(1_234_567_890_123_456_789n, 18)).toBe("1.23456789012345");
    expect(balanceNumber(999_999_999_999_999_999n, 18)).toBe("0.999999999999999");
    expect(balanceNumber(1n, 18)).toBe("0.000000000000000001");
    expect(balanceNumber(0n, 18)).toBe("0");
    expect(balanceNumber(123_456_789_012_345_678_901n, 0)).toBe("123456789012345000000");
    await ready();
    gateway.fund("eth", 1n);
    const answer = await read("/balance/eth");
    expect(answer.text).toMatch(/^\{"balance":0\.000000000000000001,/);
    expect(answer.body.available).toBe("0.000000000000000001");
    const unknown = await read("/balance/nothing");
    expect([unknown.status, unknown.body.code]).toEqual([404, "currency_not_found"]);
    expect((await read("/balance/__proto__")).status).toBe(404);
    expect((await read("/balance/constructor")).status).toBe(404);
  });

  it("without a paired agent are zero; deposits paid for good are pending, not available", async () => {
    expect((await read("/balance/eth")).body).toMatchObject({ balance: 0, total: "0", pending: "0" });
    await ready();
    const { transactionId, address } = (await deposit()).body;
    db().run(
      "INSERT INTO payments (network, txHash, logIndex, address, currency, units, block, blockHash, final, transactionId) VALUES ('eip155:31337', '0x1', 0, ?, 'eth', ?, 5, '0x2', 0, ?)",
      address,
      (2n * ether).toString(),
      transactionId,
    );
    expect((await read("/balance/eth")).body).toMatchObject({ pending: "0", total: "10" }); // its block may still vanish
    db().run("UPDATE payments SET final = 1");
    expect((await read("/balance/eth")).body).toMatchObject({ balance: 10, available: "10", pending: "2", total: "12" });
  });
});

describe("a withdrawal's body", () => {
  const fields: Record<string, [change: object | string, status: number, code: string]> = {
    "is not JSON": ["{currency:eth}", 400, "json_invalid"],
    "is empty": ["", 400, "json_invalid"],
    "is a list": ["[]", 400, "json_invalid"],
    "is null": ["null", 400, "json_invalid"],
    "has the same key twice": [`{"amount":"1",${JSON.stringify(withdrawal).slice(1)}`, 400, "json_invalid"],
    "has something after it": [`${JSON.stringify(withdrawal)} x`, 400, "json_invalid"],
    "has half a surrogate pair": [JSON.stringify(withdrawal).replace("order-1", "\\ud800"), 400, "json_invalid"],
    "has __proto__": [`{"__proto__":{},${JSON.stringify(withdrawal).slice(1)}`, 400, "json_invalid"],
    "has a byte order mark": [`\ufeff${JSON.stringify(withdrawal)}`, 400, "json_invalid"],
    "has a field nobody knows": [{ adress: receiver }, 400, "field_unknown"],
    "lacks currency": [{ currency: undefined }, 400, "field_missing"],
    "lacks amount": [{ amount: undefined }, 400, "field_missing"],
    "lacks address": [{ address: undefined }, 400, "field_missing"],
    "lacks orderId": [{ orderId: undefined }, 400, "field_missing"],
    "has an unknown currency": [{ currency: "doge" }, 400, "currency_unknown"],
    "has a currency from the prototype": [{ currency: "constructor" }, 400, "currency_unknown"],
    "has a number as currency": [{ currency: 1 }, 400, "currency_unknown"],
    "has a currency that is off": [{ currency: "off" }, 400, "currency_disabled"],
    "has a number as amount": [{ amount: 1 }, 400, "amount_format"],
    "has a fraction as amount": [JSON.stringify(withdrawal).replace('"1"', "1.5"), 400, "amount_format"],
    "has a fraction elsewhere": [JSON.stringify(withdrawal).replace('"order-1"', "1.5"), 400, "json_invalid"],
    "has amount null": [{ amount: null }, 400, "amount_format"],
    "has amount zero": [{ amount: "0" }, 400, "amount_format"],
    "has a negative amount": [{ amount: "-1" }, 400, "amount_format"],
    "has a plus": [{ amount: "+1" }, 400, "amount_format"],
    "has an exponent": [{ amount: "1e3" }, 400, "amount_format"],
    "has a comma": [{ amount: "1,5" }, 400, "amount_format"],
    "has a leading zero": [{ amount: "01" }, 400, "amount_format"],
    "has a point at the end": [{ amount: "1." }, 400, "amount_format"],
    "has a point in front": [{ amount: ".5" }, 400, "amount_format"],
    "has a space": [{ amount: " 1" }, 400, "amount_format"],
    "has hex": [{ amount: "0x1" }, 400, "amount_format"],
    "has Arabic digits": [{ amount: "١" }, 400, "amount_format"],
    "has 79 digits": [{ amount: "1".repeat(79) }, 400, "amount_format"],
    "has 19 decimals of 18": [{ amount: `1.${"0".repeat(18)}1` }, 400, "amount_precision"],
    "has 7 decimals of 6": [{ currency: "usdt", amount: "1.0000001" }, 400, "amount_precision"],
    "is below the minimum": [{ amount: "0.0009" }, 400, "amount_below_minimum"],
    "has an empty address": [{ address: "" }, 400, "address_invalid"],
    "has a short address": [{ address: receiver.slice(0, -1) }, 400, "address_invalid"],
    "has an address with a wrong checksum": [{ address: receiver.replace("C7", "c7") }, 400, "address_invalid"],
    "has the zero address": [{ address: `0x${"0".repeat(40)}` }, 400, "address_invalid"],
    "has a number as address": [{ address: 1 }, 400, "address_invalid"],
    "pays the token's own contract": [{ currency: "usdt", address: usdtContract }, 400, "address_contract"],
    "pays the hot account itself": [{ address: wallet.hotAddress }, 400, "address_own"],
    "has a tag where there is none": [{ tag: "1" }, 400, "tag_not_supported"],
    "has an empty orderId": [{ orderId: "" }, 400, "order_id_invalid"],
    "has a space in orderId": [{ orderId: "a b" }, 400, "order_id_invalid"],
    "has a letter beyond ASCII in orderId": [{ orderId: "sipariş" }, 400, "order_id_invalid"],
    "has 129 characters in orderId": [{ orderId: "a".repeat(129) }, 400, "order_id_invalid"],
    "has a number as orderId": [{ orderId: 7 }, 400, "order_id_invalid"],
    "asks for more than there is": [{ amount: "11" }, 400, "balance_insufficient"],
  };

  for (const [name, [change, status, code]] of Object.entries(fields)) {
    it(`that ${name} is ${status} ${code}, and creates nothing`, async () => {
      await ready();
      const body = typeof change === "string" ? change : JSON.stringify({ ...withdrawal, ...change });
      const answer = await gateway.call("POST", "/api/v1/autoWithdraw", body);
      expect([answer.status, answer.body.code]).toEqual([status, code]);
      expect(answer.body).toMatchObject({
        message: answerCodes[code as keyof typeof answerCodes][1],
        requestId: expect.any(String),
      });
      expect([countOf("transactions"), countOf("jobs")]).toEqual([0, 0]);
      expect((await auto()).status).toBe(200); // the twin
    });
  }

  it("may have the largest orderId and the smallest amount, in any spelling of the address", async () => {
    await ready();
    expect((await auto({ orderId: "~".repeat(128), amount: "0.001" })).status).toBe(200);
    expect((await auto({ orderId: "upper", address: `0x${receiver.slice(2).toUpperCase()}` })).status).toBe(200);
  });

  it("needs an agent, and a currency the agent pays", async () => {
    expect((await auto()).body.code).toBe("agent_not_paired");
    await gateway.pair({
      currencies: [{ id: "usdt", network: "eip155:31337", contract: usdtContract, decimal: 6, maxFee: "0.02" }],
    });
    gateway.fund("eth", 10n * ether);
    gateway.fund("usdt", 1_000_000_000n);
    expect((await auto()).body.code).toBe("currency_not_payable");
    expect((await auto({ currency: "usdt", amount: "5" })).status).toBe(200);
  });

  it("must not pay one of the agent's own deposit addresses", async () => {
    await ready();
    const { address } = (await deposit()).body;
    expect((await auto({ address })).body).toMatchObject({ code: "address_own", field: "address" });
    expect((await auto({ address: depositAddressOf(wallet.depositXpub, 1) })).status).toBe(200); // never handed out
  });
});

describe("manualWithdraw", () => {
  it("takes an address or none, is held for a person, and lives longer", async () => {
    await ready();
    const answer = await manual();
    expect([answer.status, answer.body.message]).toEqual([200, "The withdrawal request was sent and awaits approval."]);
    expect(row(answer.body.transactionId)).toMatchObject({
      stage: "awaiting_approval",
      mode: "manual",
      receiverAddress: "",
      expiresAt: gateway.clock.nowMs + 7 * 86_400_000,
    });
    expect(parseJob(db().get<JobRow>("SELECT * FROM jobs")?.text ?? "")).toMatchObject({ mode: "manual", address: "" });
    expect((await manual({ address: "" })).body.transactionId).toBe(answer.body.transactionId);
    expect((await manual({ address: receiver })).status).toBe(409);
    expect((await manual({ orderId: "order-2", address: receiver })).status).toBe(200);
    expect((await manual({ orderId: "order-3", address: "0x1" })).body.code).toBe("address_invalid");
    expect((await read("/balance/eth")).body.reserved).toBe("2.02");
  });
});

describe("createTransactionRequest", () => {
  it("hands out a fresh address each time, the same one for the same order, and none twice", async () => {
    await ready();
    const first = await deposit({ amount: "1.50" });
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({
      address: depositAddressOf(wallet.depositXpub, 0),
      amount: "1.5",
      tag: "",
      transactionId: transactionIdOf({ merchant: gateway.merchant.merchantId, operation: "deposit", orderId: "order-1" }),
    });
    expect((await deposit({ amount: "1.5" })).body).toEqual(first.body);
    expect((await deposit({ amount: "2" })).body).toMatchObject({
      code: "order_id_reused",
      transactionId: first.body.transactionId,
    });
    const more = await Promise.all(Array.from({ length: 10 }, (_, i) => deposit({ orderId: `more-${i}` })));
    expect(new Set(more.map((answer) => answer.body.address)).size).toBe(10);
    expect(agentRow().nextDepositIndex).toBe(11);
    expect(row(first.body.transactionId)).toMatchObject({
      stage: "waiting",
      status: 0,
      expiresAt: gateway.clock.nowMs + 3_600_000,
    });
  });

  it("enforces minPaymentAmount, takes no address, and needs an agent", async () => {
    expect((await deposit()).body.code).toBe("agent_not_paired");
    await ready();
    expect((await deposit({ currency: "usdt", amount: "4.999999" })).body).toMatchObject({
      code: "amount_below_minimum",
      minimum: "5",
    });
    expect((await deposit({ address: receiver })).body).toMatchObject({ code: "field_unknown", field: "address" });
    expect((await deposit({ amount: 1 })).body.code).toBe("amount_format");
    expect((await deposit({ currency: "usdt", amount: "5" })).status).toBe(200);
  });

  it("never hands out an address again after the agent was released and another one paired with the same wallet", async () => {
    await ready();
    await deposit();
    releaseAgent(gateway.operator, agentRow().id);
    const again = await gateway.pair({ signerKey: publicKeyHex(generateKeyPairSync("ed25519").publicKey) });
    expect(again.status).toBe(200);
    expect((await deposit({ orderId: "order-2" })).body.address).toBe(depositAddressOf(wallet.depositXpub, 1));
  });
});

describe("transaction and transactions", () => {
  it("show the interface's fields with their types", async () => {
    await ready();
    const out = (await auto()).body.transactionId;
    const into = (await deposit()).body;
    const one = await read(`/transaction/${out}?transactionType=2`);
    expect(one.body).toMatchObject({
      transactionId: out,
      receiverAddress: receiver,
      depositAddress: wallet.hotAddress,
      orderId: "order-1",
      tag: "",
      currency: "eth",
      amount: "1",
      callbackStatus: 3,
      createdAt: "2026-01-02T03:04:05.678Z",
      status: 0,
      transactionType: 2,
    });
    const other = await read(`/transaction/${into.transactionId}?transactionType=1`);
    expect(other.body).toMatchObject({
      receiverAddress: into.address,
      depositAddress: into.address,
      amountReceived: "0",
      stage: "waiting",
    });
  });

  it("are not found under the wrong type, for another merchant, or for an id that is none", async () => {
    await ready();
    const id = (await auto()).body.transactionId;
    expect((await read(`/transaction/${id}?transactionType=2`)).status).toBe(200);
    for (const path of [`${id}?transactionType=1`, `${"0".repeat(32)}?transactionType=2`, "x'--?transactionType=2"]) {
      const answer = await read(`/transaction/${path}`);
      expect([answer.status, answer.body.code], path).toEqual([404, "transaction_not_found"]);
    }
    for (const query of [
      "",
      "?transactionType=",
      "?transactionType=3",
      "?transactionType=2&transactionType=2",
      "?transactionType=deposit",
    ]) {
      const answer = await read(`/transaction/${id}${query}`);
      expect([answer.status, answer.body.code], query).toEqual([400, "transaction_type_invalid"]);
    }
    const stranger = createMerchant(gateway.operator, { name: "Other", language: "tr" });
    const headers = { "Content-Type": "application/json", signatureToken: handmadeToken(stranger.apiKey, gateway.clock.nowMs) };
    expect((await gateway.send(`/api/v1/transaction/${id}?transactionType=2`, { headers })).status).toBe(404);
    expect((await gateway.send("/api/v1/transactions", { headers })).body).toEqual([]);
  });

  it("come newest first, in pages that neither skip nor repeat, filtered as asked", async () => {
    await ready();
    for (let i = 0; i < 7; i += 1) {
      gateway.clock.nowMs += i % 2 === 0 ? 1000 : 0; // pairs within one millisecond
      await deposit({ orderId: `o-${i}` });
    }
    await auto();
    const all = (await read("/transactions")).body as { transactionId: string; createdAt: string; orderId: string }[];
    expect(all).toHaveLength(8);
    const times = all.map((record) => record.createdAt);
    expect(times).toEqual([...times].sort().reverse());
    const seen: string[] = [];
    let path: string | null = "/api/v1/transactions?limit=3";
    while (path !== null) {
      const page: Answered = await gateway.call("GET", path);
      seen.push(...page.body.map((record: { transactionId: string }) => record.transactionId));
      path = /^<([^>]+)>; rel="next"$/.exec(String(page.headers.link ?? ""))?.[1] ?? null;
    }
    expect(seen).toEqual(all.map((record) => record.transactionId));
    expect((await read("/transactions?transactionType=2")).body).toHaveLength(1);
    expect((await read("/transactions?orderId=o-3&status=0&currency=eth&transactionType=1")).body).toHaveLength(1);
    expect((await read("/transactions?status=1")).body).toEqual([]);
    expect((await read(`/transactions?from=${all[0]?.createdAt}`)).body).toHaveLength(2);
    expect((await read(`/transactions?to=${all[0]?.createdAt}`)).body).toHaveLength(6);
    for (const bad of [
      "limit=0",
      "limit=501",
      "limit=x",
      "status=3",
      "cursor=abc",
      "from=yesterday",
      "typo=1",
      "limit=1&limit=2",
      "__proto__=1",
    ]) {
      const answer = await read(`/transactions?${bad}`);
      expect([answer.status, answer.body.code], bad).toEqual([400, "query_invalid"]);
    }
  });

  it("are bounded even when nobody asks for a page", async () => {
    await gateway.close();
    gateway = await startTestGateway({ limits: { ...many.limits, listMax: 2 } });
    await ready();
    for (let i = 0; i < 3; i += 1) await deposit({ orderId: `o-${i}` });
    const page = await read("/transactions");
    expect(page.body).toHaveLength(2);
    expect((await gateway.call("GET", /<([^>]+)>/.exec(String(page.headers.link))?.[1] ?? "")).body).toHaveLength(1);
  });
});

describe("supportedCurrency", () => {
  it("lists every currency; one without a price has none invented", async () => {
    const { body } = await read("/supportedCurrency");
    expect(body.map((currency: { id: string }) => currency.id)).toEqual(["eth", "usdt", "off"]);
    expect(body[0]).toMatchObject({
      name: "Ether",
      symbol: "ETH",
      decimal: 18,
      usdPrice: "3000",
      eurPrice: "2800.5",
      tryPrice: "126000",
      minPaymentAmount: "0.001",
      priceStale: false,
    });
    expect(body[1]).toMatchObject({ usdPrice: "", eurPrice: "", tryPrice: "", priceStale: true, contract: usdtContract });
  });
});

describe("HTTP", () => {
  const headers = (): Record<string, string> => ({
    "Content-Type": "application/json",
    signatureToken: handmadeToken(gateway.merchant.apiKey, gateway.clock.nowMs),
  });

  it("demands Content-Type on every operation, GET included, unless configuration excuses GET", async () => {
    const { "Content-Type": _, ...bare } = headers();
    const path = "/api/v1/supportedCurrency";
    const missing = await gateway.send(path, { headers: bare });
    expect([missing.status, missing.body.code]).toEqual([415, "content_type"]);
    for (const type of ["text/plain", "application/jsonp", "application/json-patch+json", "application/x-www-form-urlencoded"]) {
      expect((await gateway.send(path, { headers: { ...bare, "Content-Type": type } })).status, type).toBe(415);
      const sent = { method: "POST", headers: { ...bare, "Content-Type": type }, body: JSON.stringify(withdrawal) };
      expect((await gateway.send("/api/v1/autoWithdraw", sent)).status, type).toBe(415);
    }
    for (const type of ["application/json; charset=utf-8", "Application/JSON", "application/json ;charset=UTF-8"]) {
      expect((await gateway.send(path, { headers: { ...bare, "Content-Type": type } })).status, type).toBe(200);
    }
    const relaxed = await startTestGateway({ contentTypeOnGet: false });
    const token = handmadeToken(relaxed.merchant.apiKey, relaxed.clock.nowMs);
    expect((await relaxed.send(path, { headers: { signatureToken: token } })).status).toBe(200);
    expect(
      (await relaxed.send("/api/v1/autoWithdraw", { method: "POST", headers: { signatureToken: token }, body: "{}" })).status,
    ).toBe(415);
    await relaxed.close();
  });

  it("refuses a body above the limit and takes one at it", async () => {
    await ready();
    const fill = (bytes: number): string => {
      const text = JSON.stringify({ ...withdrawal, orderId: "big" });
      return text + " ".repeat(bytes - text.length);
    };
    const over = await gateway.call("POST", "/api/v1/autoWithdraw", fill(16_385));
    expect([over.status, over.body.code]).toEqual([413, "body_too_large"]);
    expect((await gateway.call("POST", "/api/v1/autoWithdraw", fill(16_384))).status).toBe(200);
    const chunked = await gateway.send("/api/v1/autoWithdraw", {
      method: "POST",
      headers: { ...headers(), "Transfer-Encoding": "chunked" },
      body: fill(100_000),
    });
    expect(chunked.status).toBe(413);
  });

  it("says 404 and 405 in the same shape", async () => {
    for (const path of ["/", "/api/v1", "/api/v1/", "/api/v2/transactions", "/api/v1/Transactions", "/api/v1/transactions/"]) {
      const answer = await gateway.send(path, { headers: headers() });
      expect([answer.status, answer.body.code], path).toEqual([404, "not_found"]);
    }
    const wrong = await gateway.send("/api/v1/autoWithdraw", { headers: headers() });
    expect([wrong.status, wrong.body.code, wrong.headers.allow]).toEqual([405, "method_not_allowed", "POST"]);
    const put = await gateway.send("/api/v1/balance/eth", { method: "PUT", headers: headers(), body: "{}" });
    expect([put.status, put.headers.allow]).toEqual([405, "GET, HEAD"]);
    const head = await gateway.send("/api/v1/supportedCurrency", { method: "HEAD", headers: headers() });
    expect([head.status, head.text]).toEqual([200, ""]);
  });

  it("answers bytes that are not HTTP, too many headers and bad URLs with JSON, and goes on", async () => {
    const raw = (text: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1", () => socket.write(text));
        let got = "";
        socket.on("data", (part) => {
          got += part.toString("utf8");
        });
        socket.on("close", () => resolve(got));
        socket.on("error", reject);
      });
    expect(await raw("nonsense\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"request_invalid"/);
    expect(await raw(`GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(20_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 [\s\S]*"code":"headers_too_large"/,
    );
    const bad = await gateway.send("/api/v1/balance/%E0%A4%A", { headers: headers() });
    expect([bad.status, bad.body.code]).toEqual([400, "request_invalid"]);
    expect((await read("/supportedCurrency")).status).toBe(200);
  });

  it("gives every answer an id and no-store, and never quotes what was sent", async () => {
    const answer = await gateway.call("POST", "/api/v1/autoWithdraw", '{"secret-looking":"<script>"}');
    expect(answer.headers["x-request-id"]).toBe(answer.body.requestId);
    expect(answer.headers["cache-control"]).toBe("no-store");
    expect(answer.body.field).toBe("secret-looking");
    expect(answer.text).not.toContain("<script>");
  });

  it("answers 503 while another process holds the database, and nothing was created", async () => {
    await ready();
    const { DatabaseSync } = await import("@photostructure/sqlite");
    const other = new DatabaseSync(gateway.service.config.database);
    other.exec("BEGIN IMMEDIATE");
    const waiting = auto();
    const answer = await waiting;
    other.exec("ROLLBACK");
    other.close();
    expect([answer.status, answer.body.code]).toEqual([503, "unavailable"]);
    expect(countOf("transactions")).toBe(0);
    expect((await auto()).status).toBe(200);
  });

  it("answers 500 without a word about the inside when something breaks", async () => {
    await ready();
    db().run("UPDATE agents SET currencies = 'broken'");
    const answer = await auto();
    expect([answer.status, Object.keys(answer.body).sort()]).toEqual([500, ["code", "message", "requestId"]]);
    expect(countOf("transactions")).toBe(0);
  });
});

describe("the language of messages", () => {
  it("follows Accept-Language with its weights, then the merchant's, then English", () => {
    const cases: [string | undefined, "en" | "tr", "en" | "tr"][] = [
      [undefined, "en", "en"],
      [undefined, "tr", "tr"],
      ["tr", "en", "tr"],
      ["tr-TR,tr;q=0.9,en;q=0.8", "en", "tr"],
      ["TR-tr", "en", "tr"],
      ["en;q=0.5, tr;q=0.6", "en", "tr"],
      ["en;q=0.6, tr;q=0.5", "tr", "en"],
      ["de, fr;q=0.9", "tr", "tr"],
      ["tr;q=0", "en", "en"],
      ["tr;q=0", "tr", "tr"],
      ["*;q=0.1, tr;q=0", "tr", "en"],
      ["*", "tr", "tr"],
      ["de;q=1, en;q=0.1", "tr", "en"],
      ["en, tr", "tr", "tr"],
      ["tr;q=banana, en", "tr", "en"],
      [";;;,,q=", "en", "en"],
      ["tr,".repeat(1000), "en", "en"],
    ];
    for (const [header, fallback, expected] of cases) expect(languageOf(header, fallback), String(header)).toBe(expected);
  });

  it("is named in the answer, errors and successes alike", async () => {
    const turkish = await read("/balance/none", { "Accept-Language": "tr" });
    expect([turkish.body.message, turkish.headers["content-language"], turkish.headers.vary]).toEqual([
      "Para birimi bulunamadı.",
      "tr",
      "Accept-Language",
    ]);
    await ready();
    expect((await auto({}, { "Accept-Language": "tr" })).body.message).toBe("Çekim isteği gönderildi.");
    expect((await auto()).body.message).toBe("The withdrawal request was sent.");
    const stranger = createMerchant(gateway.operator, { name: "Dükkân", language: "tr" });
    const token = handmadeToken(stranger.apiKey, gateway.clock.nowMs);
    const answer = await gateway.send("/api/v1/balance/none", {
      headers: { "Content-Type": "application/json", signatureToken: token },
    });
    expect(answer.headers["content-language"]).toBe("tr");
  });

  it("has both for every code", () => {
    for (const [code, [status, en, tr]] of Object.entries(answerCodes)) {
      expect(status, code).toBeGreaterThanOrEqual(200);
      expect(en.length * tr.length, code).toBeGreaterThan(0);
      expect(en, code).not.toBe(tr);
    }
  });
});

describe("pairing", () => {
  it("grants under the key that apiKey names, with the same short code on both sides", async () => {
    const { keyId, fingerprint } = parseApiKey(gateway.merchant.apiKey);
    let transcript = "";
    const stop = gateway.service.signals.on("job", () => {});
    stop();
    const original = gateway.send;
    gateway.send = (path, sent) => {
      transcript = JSON.parse(String(sent?.body)).transcript;
      return original(path, sent);
    };
    const answer = await gateway.pair();
    gateway.send = original;
    expect(answer.status).toBe(200);
    const { grant, gatewayKey } = openGrant(parseSealedGrant(answer.text), { fingerprint, transcript });
    expect(grant).toMatchObject({ merchant: gateway.merchant.merchantId, epoch: 1, agent: agentRow().id });
    expect(gatewayKey).toBe(gateway.service.key.publicKey);
    const [line] = listAgents(gateway.service.store);
    expect(line).toMatchObject({
      agentId: grant.agent,
      shortCode: shortCodeOf(transcript, answer.body.grant),
      releasedAt: "",
      openWithdrawals: 0,
    });
    expect(keyId).toBe(gateway.merchant.keyId);
  });

  it("again with the same keys raises the epoch; with others it is refused until the agent is released", async () => {
    await gateway.pair();
    const { id } = agentRow();
    const again = await gateway.pair();
    expect([again.status, JSON.parse(again.body.grant).epoch, JSON.parse(again.body.grant).agent]).toEqual([200, 2, id]);
    const otherKeys = newAgentKeys();
    const taken = await gateway.pair({}, undefined, otherKeys);
    expect([taken.status, taken.body.code, taken.body.agent]).toEqual([409, "pairing_taken", id]);
    expect(releaseAgent(gateway.operator, id)).toEqual({ ok: true, openWithdrawals: 0 });
    expect(releaseAgent(gateway.operator, id)).toEqual({ ok: false, code: "GATEWAY_UNKNOWN_AGENT" });
    const other = await gateway.pair({}, undefined, otherKeys);
    expect([other.status, agentRow().id === id]).toEqual([200, false]);
    expect((await gateway.pair()).body.code).toBe("pairing_taken");
  });

  it("comes back to a released agent with its chain of jobs and a higher epoch", async () => {
    await ready();
    await auto();
    const { id } = agentRow();
    releaseAgent(gateway.operator, id);
    const again = await gateway.pair();
    expect(JSON.parse(again.body.grant)).toMatchObject({ agent: id, epoch: 2 });
    await auto({ orderId: "order-2" });
    expect(parseJob(db().get<JobRow>("SELECT * FROM jobs WHERE sequence = 2")?.text ?? "")).toMatchObject({
      epoch: 2,
      sequence: 2,
    });
  });

  it("uses up the key's right, once for every key", async () => {
    await gateway.pair();
    db().run("UPDATE agents SET releasedAt = 1");
    expect((await gateway.pair()).body.code).toBe("pairing_used");
    db().run("UPDATE keys SET pairingUsed = 0");
    expect((await gateway.pair()).status).toBe(200);
  });

  describe("keeps to one merchant", () => {
    const root = HDKey.fromMasterSeed(Buffer.alloc(32, 7));
    const hotOf = (change: number): string => {
      const { publicKey } = root.derive(`m/44'/60'/0'/0/${change}`);
      return addressOfPublicKey(publicKey as Uint8Array);
    };
    const foreign = { hotAddress: hotOf(0), depositXpub: root.derive("m/44'/60'/1'").publicExtendedKey };
    /** The same key and so the same addresses in another text: nothing checks which parent an xpub names. */
    const otherText = (xpub: string): string => {
      const { publicKey, chainCode, depth, index, parentFingerprint, versions } = HDKey.fromExtendedKey(xpub);
      const same = {
        publicKey: publicKey!,
        chainCode: chainCode!,
        depth,
        index,
        parentFingerprint: (parentFingerprint ^ 1) >>> 0,
        versions,
      };
      return new HDKey(same).publicExtendedKey;
    };
    const pairStranger = async (who: typeof wallet): Promise<Answered> => {
      const stranger = createMerchant(gateway.operator, { name: "Other", language: "en" });
      const accounts = [{ family: "evm", address: who.hotAddress, depositXpub: who.depositXpub }] as const;
      return gateway.pair({ wallet: walletFingerprintOf(who), accounts }, stranger.apiKey, newAgentKeys());
    };

    it.each([
      ["a whole wallet", wallet],
      ["a paying address", { ...foreign, hotAddress: wallet.hotAddress }],
      ["a deposit key", { ...foreign, depositXpub: wallet.depositXpub }],
      ["a deposit key in another text", { ...foreign, depositXpub: otherText(wallet.depositXpub) }],
    ])("%s, even after its agent was released", async (_name, theirs) => {
      await gateway.pair();
      const refused = async (): Promise<void> => {
        const answer = await pairStranger(theirs);
        expect([answer.status, answer.body.code]).toEqual([409, "pairing_wallet_taken"]);
        expect(countOf("agents")).toBe(1);
      };
      await refused();
      db().run("UPDATE agents SET hotAddress = lower(hotAddress)");
      await refused();
      releaseAgent(gateway.operator, agentRow().id);
      await refused();
      expect((await pairStranger(foreign)).status).toBe(200);
    });
  });

  it("answers the same request again with the very same grant and changes nothing", async () => {
    const sealed = gateway.sealed();
    const granted = await gateway.register(sealed);
    const before = agentRow();
    gateway.clock.nowMs += 5_000;
    const again = await gateway.register(sealed);
    expect([granted.status, again.status, again.text]).toEqual([200, 200, granted.text]);
    expect(agentRow()).toEqual(before);
    expect(db().all("SELECT 1 FROM audit WHERE act = 'paired'").length).toBe(1);
    expect(JSON.parse((await gateway.pair()).body.grant).epoch).toBe(2);
  });

  it("refuses a recorded request once a newer one was granted, and after the agent was released", async () => {
    const recorded = gateway.sealed();
    const newer = gateway.sealed();
    for (const sealed of [recorded, newer]) expect((await gateway.register(sealed)).status).toBe(200);
    const before = agentRow();
    const replayed = await gateway.register(recorded);
    expect([replayed.status, replayed.body.code]).toEqual([409, "pairing_replayed"]);
    expect(agentRow()).toEqual(before);
    releaseAgent(gateway.operator, before.id);
    for (const sealed of [recorded, newer]) expect((await gateway.register(sealed)).body.code).toBe("pairing_replayed");
    expect(agentRow()).toBeUndefined();
    expect((await gateway.pair()).status).toBe(200);
  });

  it("needs the signature of the link key that the transcript names", async () => {
    const sealed = gateway.sealed();
    const { signature, ...unsigned } = sealed;
    const without = await gateway.register(unsigned);
    expect([without.status, without.body.code]).toEqual([400, "pairing_invalid"]);
    const { secret } = parseApiKey(gateway.merchant.apiKey);
    const others = [
      sealTranscript(sealed.transcript, { secret, linkKey: newAgentKeys().link }).signature,
      gateway.sealed().signature,
      `${signature.slice(0, 64)}${"0".repeat(64)}`,
    ];
    for (const other of others) {
      const answer = await gateway.register({ ...sealed, signature: other });
      expect([answer.status, answer.body.code]).toEqual([401, "pairing_unsigned"]);
    }
    expect(countOf("agents")).toBe(0);
    expect((await gateway.register(sealed)).status).toBe(200);
  });

  const currency = { id: "eth", network: "eip155:31337", contract: "", decimal: 18, maxFee: "0.01" };
  const usdt = { id: "usdt", network: "eip155:31337", contract: usdtContract, decimal: 6, maxFee: "0.01" };
  const wrong: Record<string, [change: object, status: number, code: string]> = {
    "another gateway's fingerprint": [{ gatewayFingerprint: "0".repeat(32) }, 400, "pairing_other_gateway"],
    "an unknown key": [{ keyId: "k_0000000000000000" }, 401, "pairing_key_invalid"],
    "a clock ten minutes slow": [{ at: Date.parse("2026-01-02T03:04:05.678Z") - 600_001 }, 400, "pairing_clock"],
    "a network nobody here has": [{ networks: ["eip155:1", "eip155:31337"] }, 400, "pairing_network_differs"],
    "a currency nobody here has": [{ currencies: [{ ...currency, id: "doge" }] }, 400, "pairing_currency_differs"],
    "other decimals": [{ currencies: [{ ...usdt, decimal: 18 }] }, 400, "pairing_currency_differs"],
    "another contract": [{ currencies: [{ ...usdt, contract: receiver }] }, 400, "pairing_currency_differs"],
    "a wallet that is not its account's": [{ wallet: "0".repeat(32) }, 400, "pairing_invalid"],
    "a field too many": [{ extra: 1 }, 400, "pairing_invalid"],
    "one key for both": [{ signerKey: "1".repeat(64), linkKey: "1".repeat(64) }, 400, "pairing_invalid"],
  };
  for (const [name, [change, status, code]] of Object.entries(wrong)) {
    it(`is refused with ${name}, and uses nothing up`, async () => {
      const answer = await gateway.pair(change);
      expect([answer.status, answer.body.code]).toEqual([status, code]);
      expect(countOf("agents")).toBe(0);
      expect((await gateway.pair()).status).toBe(200);
    });
  }

  it("is refused with a wrong secret, a revoked key, a key without the right, a public-key one, and a bent MAC", async () => {
    const { keyId, fingerprint } = parseApiKey(gateway.merchant.apiKey);
    const forged = `${keyId}.${Buffer.alloc(32).toString("base64url")}.${fingerprint}`;
    expect((await gateway.pair({}, forged)).body.code).toBe("pairing_key_invalid");
    const narrow = gateway.key({ scopes: ["read"] });
    expect((await gateway.pair({}, narrow.apiKey)).body).toMatchObject({ code: "scope_missing", scope: "agent:pair" });
    const seedKey = gateway.key({ alg: "EdDSA" });
    expect((await gateway.pair({}, seedKey.apiKey)).body.code).toBe("pairing_key_invalid");
    const revoked = gateway.key({ scopes: ["agent:pair"] });
    db().run("UPDATE keys SET revokedAt = 1 WHERE id = ?", revoked.keyId);
    expect((await gateway.pair({}, revoked.apiKey)).body.code).toBe("key_revoked");
    const bare = { transcript: "{}", mac: "0".repeat(64), signature: "0".repeat(128) };
    for (const body of ["", "{}", "[]", JSON.stringify({ ...bare, mac: "00" }), JSON.stringify(bare)]) {
      const sent = { method: "POST", headers: { "Content-Type": "application/json" }, body };
      expect((await gateway.send("/agent/v1/pair", sent)).body.code, body).toBe("pairing_invalid");
    }
    expect((await gateway.pair()).status).toBe(200);
  });

  it("is limited by address", async () => {
    await gateway.close();
    gateway = await startTestGateway();
    for (let i = 0; i < 5; i += 1) expect((await gateway.pair()).status).toBe(200);
    const away = await gateway.pair();
    expect([away.status, away.body.code, away.headers["retry-after"]]).toEqual([429, "rate_limited", "12"]);
    gateway.clock.nowMs += 12_000;
    expect((await gateway.pair()).status).toBe(200);
  });
});

describe("the station", () => {
  it("says alive and ready without a token", async () => {
    expect((await gateway.send("/health")).body).toEqual({ status: "ok" });
    expect((await gateway.send("/ready")).body).toEqual({ status: "ready", checks: [] });
  });
});

describe("configuration", () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-config-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const parse = (change: object) => parseConfig(JSON.stringify({ ...testConfig, ...change }), folder, 0);
  const { chains, currencies, listen } = testConfig;

  it("is taken as the tests use it, with its defaults and absolute paths", () => {
    const config = parse({});
    expect(config.limits).toMatchObject({ readsPerSecond: 10, writesPerSecond: 2, burst: 5, bodyBytesMax: 16_384 });
    expect(config.database).toBe(join(folder, "gateway.db"));
    expect(config.currencies.eth?.minWithdrawAmount).toBe("0.001");
    expect(parse({ publicUrl: "https://pay.example.com/" }).publicUrl).toBe("https://pay.example.com");
    expect(parse({ listen: { ...listen, host: "0.0.0.0", tls: { certificate: "c.pem", key: "k.pem" } } }).listen.tls?.key).toBe(
      join(folder, "k.pem"),
    );
    expect(parse({ listen: { ...listen, host: "0.0.0.0" }, trustProxy: ["10.0.0.0/8"] }).trustProxy).toEqual(["10.0.0.0/8"]);
  });

  const wrong: Record<string, object> = {
    "an unknown key": { limit: {} },
    "an unknown limit": { limits: { readPerSecond: 1 } },
    "plaintext off loopback": { listen: { host: "0.0.0.0", port: 1 } },
    "a plain publicUrl off loopback": { publicUrl: "http://pay.example.com" },
    "a publicUrl with a query": { publicUrl: "https://pay.example.com/?a=1" },
    "another database": { database: "postgres://localhost/x" },
    "a port that is none": { listen: { host: "127.0.0.1", port: 65_536 } },
    "a proxy that is no address": { trustProxy: ["proxy"] },
    "a network with too many bits": { trustProxy: ["10.0.0.0/33"] },
    "no nodes": { chains: { local: { ...chains.local, nodes: [] } } },
    "a node that is no URL": { chains: { local: { ...chains.local, nodes: ["node"] } } },
    "another family": { chains: { local: { ...chains.local, family: "bitcoin" } } },
    "no confirmations": { chains: { local: { ...chains.local, confirmations: 0 } } },
    "two chains with one id": { chains: { local: chains.local, other: chains.local } },
    "a currency on no chain": { currencies: { eth: { ...currencies.eth, chain: "gone" } } },
    "a contract with a wrong checksum": {
      currencies: { ...currencies, usdt: { ...currencies.usdt, contract: usdtContract.replace("dAC", "DAC") } },
    },
    "one asset twice": { currencies: { ...currencies, again: currencies.usdt } },
    "a native coin with other decimals": { currencies: { eth: { ...currencies.eth, decimal: 6 } }, prices: {} },
    "a minimum of zero": { currencies: { ...currencies, eth: { ...currencies.eth, minPaymentAmount: "0" } } },
    "a price for nothing": { prices: { manual: { doge: { usd: "1", eur: "1", try: "1" } } } },
    "a price that is a number": { prices: { manual: { eth: { usd: 1, eur: "1", try: "1" } } } },
  };
  for (const [name, change] of Object.entries(wrong)) {
    it(`is refused with ${name}`, () => {
      expect(() => parse(change)).toThrow(expect.objectContaining({ code: "JSON_SHAPE" }));
    });
  }

  it("keeps plaintext to this machine and the named proxies", () => {
    const plain = createPeers({ listen: { ...listen, tls: null }, trustProxy: ["10.1.0.0/16", "2001:db8::1"] });
    for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.1.2.3", "2001:db8::1"])
      expect(plain.mayComePlain(address), address).toBe(true);
    for (const address of ["10.2.0.1", "192.0.2.1", "2001:db8::2", undefined])
      expect(plain.mayComePlain(address), String(address)).toBe(false);
    const tls = createPeers({ listen: { ...listen, tls: { certificate: "c", key: "k" } }, trustProxy: [] });
    expect(tls.mayComePlain("192.0.2.1")).toBe(true);
  });

  it("makes the agent's own file, which the agent takes but for the three secrets", () => {
    const path = join(folder, "config.json");
    writeOwnFile(path, agentConfigText(parse({ prices: { manual: { eth: { usd: "3000", eur: "1", try: "1" } } } })));
    const { settings } = readAgentConfig(path, { requireSecrets: [] });
    expect(settings.gatewayUrl).toBe("http://127.0.0.1:8080");
    expect(Object.keys(settings.currencies)).toEqual(["eth", "usdt"]);
    expect(settings.policy.eth).toMatchObject({
      maxPerWithdrawal: "1.6",
      maxPerDay: "16",
      holdAbove: "1",
      maxFee: "0.01",
      maxFeePerDay: "0.2",
    });
    expect(settings.policy.usdt).toMatchObject({ maxPerWithdrawal: "1000", maxPerDay: "10000" });
    expect(() => readAgentConfig(path, { requireSecrets: ["apiKey"] })).toThrow();
    expect(() => writeOwnFile(path, "")).toThrow(expect.objectContaining({ code: "GATEWAY_FILE_EXISTS" }));
  });
});

describe("docs/api.md", () => {
  const page = new URL("../docs/api.md", import.meta.url);

  it("holds the table of codes (write it anew with -u)", async () => {
    const text = readFileSync(page, "utf8");
    const [before, rest = ""] = text.split("<!-- answers -->\n");
    const [, after = ""] = rest.split("<!-- /answers -->");
    const rows = Object.entries(answerCodes).map(([code, [status, en, tr]]) => `| ${status} | \`${code}\` | ${en} | ${tr} |`);
    const table = ["| status | code | English | Turkish |", "|---|---|---|---|", ...rows].join("\n");
    await expect(`${before}<!-- answers -->\n\n${table}\n\n<!-- /answers -->${after}`).toMatchFileSnapshot("../docs/api.md");
  });

  it("has a shell example that works", async (context) => {
    const script = /```sh\n(KEY_ID[\s\S]*?)```/.exec(readFileSync(page, "utf8"))?.[1] ?? "";
    const tools = spawnSync("sh", ["-c", "command -v openssl && command -v curl"]);
    if (tools.status !== 0) context.skip("this machine lacks openssl or curl: apt-get install openssl curl");
    gateway.clock.nowMs = Date.now();
    const run = (apiKey: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const env = { PATH: process.env.PATH, API_KEY: apiKey, BASE_URL: gateway.url };
        execFile("sh", ["-c", script], { env }, (error, stdout) => (error === null ? resolve(stdout) : reject(error)));
      });
    expect(JSON.parse(await run(gateway.merchant.apiKey))).toHaveLength(3);
    const { keyId, fingerprint } = parseApiKey(gateway.merchant.apiKey);
    const wrong = await run(`${keyId}.${Buffer.alloc(32).toString("base64url")}.${fingerprint}`);
    expect(JSON.parse(wrong).code).toBe("token_invalid");
  });
});
