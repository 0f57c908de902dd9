/**
 * autoWithdraw and manualWithdraw over real HTTP and a real SQLite file: the stored rows, the
 * answers and their time, and every way in which a body can be wrong. The test writes the agent's
 * part: rows as the hub writes them, then the signal.
 */
import { describe, expect, it } from "vitest";
import { depositAddressOf } from "../../chains/evm/address.ts";
import { answerCodes } from "../../gateway/answer/messages.ts";
import type { JobRow } from "../../gateway/store/rows.ts";
import { receiver, usdtContract, wallet } from "../../lab/kit/gateway-server.ts";
import { placeJobs } from "../../lab/kit/level-reader.ts";
import { deriveOrderTransactionId, jobHashOf, zeroHash } from "../../protocol/identity.ts";
import { parseJob } from "../../protocol/payloads.ts";
import {
  agentRow,
  anotherGateway,
  answering,
  auto,
  countOf,
  db,
  decide,
  deposit,
  eachTestItsGateway,
  ether,
  gateway,
  manual,
  many,
  online,
  read,
  ready,
  release,
  row,
  withdrawal,
} from "../support/shop.ts";

eachTestItsGateway();

/** This run of the gateway receives the agent's word, so waiting orders get their place. */
function caughtUp(): void {
  placeJobs(gateway.service.store, agentRow().id, gateway.clock.nowMs);
}

/** Longer than a test may take: an answer that waits for the agent does not come. */
function waitLong(): void {
  Object.assign(gateway.service.config.limits, { withdrawalWaitMs: 3_600_000 });
}

describe("autoWithdraw", () => {
  it("makes no order that a ledger far ahead would call over at once: 503, and 200 once its time is right", async () => {
    await ready();
    const setAhead = (ms: number) =>
      db().run("UPDATE agents SET ledgerAt = ?", gateway.clock.nowMs + ms);
    setAhead(30 * 3_600_000);
    const refused = await auto();
    expect(refused).toMatchObject({ status: 503, body: { code: "agent_clock_ahead" } });
    expect(refused.headers["retry-after"]).toBe("600");
    expect(countOf("jobs")).toBe(0);
    setAhead(3_600_000);
    expect((await auto()).status).toBe(200);
  });

  it("stores withdrawal, reservation and job in one go, and answers 200 at once when the agent is offline", async () => {
    await ready();
    waitLong();
    const answer = await auto();
    const id = deriveOrderTransactionId({
      merchant: gateway.merchant.merchantId,
      operation: "withdraw",
      orderId: "order-1",
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      message: "The withdrawal request was sent.",
      transactionId: id,
    });
    expect(row(id)).toMatchObject({
      status: 0,
      stage: "queued",
      mode: "auto",
      amount: "1",
      units: ether.toString(),
      receiver,
      payer: wallet.hotWalletAddress,
      expiresAt: gateway.clock.nowMs + 24 * 3_600_000,
    });
    expect([db().get<JobRow>("SELECT * FROM jobs")?.text, agentRow().jobSequence]).toEqual(["", 0]);
    caughtUp();
    const job = db().get<JobRow>("SELECT * FROM jobs") as JobRow;
    const agent = agentRow();
    expect(parseJob(job.text)).toMatchObject({
      agent: agent.id,
      wallet: agent.wallet,
      network: "eip155:31337",
      ledgerEpoch: 1,
      sequence: 1,
      previous: zeroHash,
      mode: "auto",
      transactionId: id,
      amount: "1",
      address: receiver,
      tag: "",
    });
    expect([agent.jobSequence, agent.jobHash, job.hash]).toEqual([
      1,
      jobHashOf(job.text),
      jobHashOf(job.text),
    ]);
    expect((await read("/balance/eth")).body).toMatchObject({
      available: "8.99",
      reserved: "1.01",
      total: "10",
    });
  });

  it("an order that was made while the clock was a day ahead answers as fast as every other once it is right", async () => {
    await ready();
    online();
    Object.assign(gateway.service.config.limits, { withdrawalWaitMs: 100 });
    gateway.clock.nowMs += 86_400_000;
    const made = await auto();
    gateway.clock.nowMs -= 86_400_000;
    expect(await auto()).toMatchObject({ status: made.status, body: made.body });
  });

  it("chains jobs: each names the hash of the one before", async () => {
    await ready();
    for (const orderId of ["a", "b", "c"]) expect((await auto({ orderId })).status).toBe(200);
    caughtUp();
    const jobs = db().all<JobRow>("SELECT * FROM jobs ORDER BY sequence");
    expect(jobs.map((job) => parseJob(job.text).sequence)).toEqual([1, 2, 3]);
    expect(jobs.map((job) => parseJob(job.text).previous)).toEqual([
      zeroHash,
      jobs[0]?.hash,
      jobs[1]?.hash,
    ]);
  });

  it("answers 200 when the agent approves or holds, 422 when it refuses, each within the short wait", async () => {
    await ready();
    online();
    answering({ stage: "queued" });
    const approved = await auto();
    expect([approved.status, approved.body.stage]).toEqual([200, "queued"]);
    await anotherGateway(many);
    await ready();
    online();
    answering({ status: 2, stage: "refused", code: "POLICY_ABOVE_DAY" });
    const refused = await auto();
    expect(refused.status).toBe(422);
    expect(refused.body).toMatchObject({
      message: "The withdrawal transaction has failed.",
      code: "withdrawal_failed",
      reason: "POLICY_ABOVE_DAY",
      signed: false,
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
    waitLong();
    const going = auto({ orderId: "order-2" });
    setTimeout(() => online(false), 50);
    expect((await going).status).toBe(200);
  });

  it("answers 200 at once while the agent stands locked, however well its link does", async () => {
    await ready();
    online();
    db().run("UPDATE agents SET lockedCode = 'AGENT_BEHIND'");
    waitLong();
    expect((await auto()).status).toBe(200);
  });

  it.each([
    ["JOB_EXPIRED", true],
    ["POLICY_ABOVE_HOUR", true],
    ["POLICY_ABOVE_DAY", true],
    ["OPERATOR_REFUSED", false],
    ["POLICY_DENIED", false],
    ["POLICY_ABOVE_WITHDRAWAL", false],
  ])("after %s says whether a new order is worth trying: %s", async (code, retryable) => {
    await ready();
    const { transactionId } = (await auto()).body;
    decide(transactionId, { status: 2, stage: "refused", code });
    expect((await auto()).body).toMatchObject({ signed: false, retryable });
  });

  it("never says retryable of what was signed", async () => {
    await ready();
    const { transactionId } = (await auto()).body;
    decide(transactionId, { status: 2, stage: "failed", code: "JOB_EXPIRED" });
    expect((await auto()).body).toMatchObject({ signed: false, retryable: true });
    db().run(
      "INSERT INTO signatures (transactionId, attempt, agent, network, account, slot, txHash, feeMax, seq) VALUES (?, 1, ?, 'eip155:31337', ?, '0', '0xab', '1', 1)",
      transactionId,
      agentRow().id,
      wallet.hotWalletAddress,
    );
    expect((await auto()).body).toMatchObject({ signed: true, retryable: false });
  });

  it("makes one withdrawal of many equal requests at once", async () => {
    await ready();
    const answers = await Promise.all(Array.from({ length: 12 }, () => auto()));
    expect(new Set(answers.map((answer) => answer.body.transactionId)).size).toBe(1);
    expect(answers.every((answer) => answer.status === 200)).toBe(true);
    expect(["deposits", "transfers", "withdrawals", "jobs"].map(countOf)).toEqual([0, 1, 1, 1]);
  });

  it("knows the same content in another spelling, and answers 409 for other content", async () => {
    await ready();
    const first = await auto();
    for (const same of [
      {},
      { amount: "1.000" },
      { address: receiver.toLowerCase() },
      { tag: "" },
    ]) {
      const answer = await auto(same);
      expect([answer.status, answer.body.transactionId], JSON.stringify(same)).toEqual([
        200,
        first.body.transactionId,
      ]);
    }
    for (const other of [
      { amount: "2" },
      { address: wallet.hotWalletAddress },
      { currency: "usdt" },
      { tag: "7" },
      { currency: "gone" },
    ]) {
      const answer = await auto(other);
      expect(
        [answer.status, answer.body.code, answer.body.transactionId],
        JSON.stringify(other),
      ).toEqual([409, "order_id_reused", first.body.transactionId]);
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
    release();
    expect((await auto()).body).toEqual(first.body);
    expect((await auto({ orderId: "order-2" })).body.code).toBe("agent_not_paired");
  });
});

describe("a withdrawal's body", () => {
  const fields: Record<string, [change: object | string, status: number, code: string]> = {
    "is not JSON": ["{currency:eth}", 400, "json_invalid"],
    "is empty": ["", 400, "json_invalid"],
    "is a list": ["[]", 400, "json_invalid"],
    "is null": ["null", 400, "json_invalid"],
    "has the same key twice": [
      `{"amount":"1",${JSON.stringify(withdrawal).slice(1)}`,
      400,
      "json_invalid",
    ],
    "has something after it": [`${JSON.stringify(withdrawal)} x`, 400, "json_invalid"],
    "has half a surrogate pair": [
      JSON.stringify(withdrawal).replace("order-1", "\\ud800"),
      400,
      "json_invalid",
    ],
    "has __proto__": [
      `{"__proto__":{},${JSON.stringify(withdrawal).slice(1)}`,
      400,
      "json_invalid",
    ],
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
    "has a fraction as amount": [
      JSON.stringify(withdrawal).replace('"1"', "1.5"),
      400,
      "amount_format",
    ],
    "has a fraction elsewhere": [
      JSON.stringify(withdrawal).replace('"order-1"', "1.5"),
      400,
      "json_invalid",
    ],
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
    "has an address with a wrong checksum": [
      { address: receiver.replace("C7", "c7") },
      400,
      "address_invalid",
    ],
    "has the zero address": [{ address: `0x${"0".repeat(40)}` }, 400, "address_invalid"],
    "has a number as address": [{ address: 1 }, 400, "address_invalid"],
    "pays the token's own contract": [
      { currency: "usdt", address: usdtContract },
      400,
      "address_contract",
    ],
    "pays the hot wallet itself": [{ address: wallet.hotWalletAddress }, 400, "address_own"],
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
      const body =
        typeof change === "string" ? change : JSON.stringify({ ...withdrawal, ...change });
      const answer = await gateway.call("POST", "/api/v1/autoWithdraw", body);
      expect([answer.status, answer.body.code]).toEqual([status, code]);
      expect(answer.body).toMatchObject({
        message: answerCodes[code as keyof typeof answerCodes].en,
        requestId: expect.any(String),
      });
      expect(["deposits", "transfers", "withdrawals", "jobs"].map(countOf)).toEqual([0, 0, 0, 0]);
      expect((await auto()).status).toBe(200); // the twin
    });
  }

  it("may have the largest orderId and the smallest amount, in any spelling of the address", async () => {
    await ready();
    expect((await auto({ orderId: "~".repeat(128), amount: "0.001" })).status).toBe(200);
    expect(
      (await auto({ orderId: "upper", address: `0x${receiver.slice(2).toUpperCase()}` })).status,
    ).toBe(200);
  });

  it("needs an agent, and a currency the agent pays", async () => {
    expect((await auto()).body.code).toBe("agent_not_paired");
    await gateway.pair({
      currencies: [
        { id: "usdt", network: "eip155:31337", contract: usdtContract, decimal: 6, maxFee: "0.02" },
      ],
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
    // never handed out
    expect((await auto({ address: depositAddressOf(wallet.depositXpub, 1) })).status).toBe(200);
  });
});

describe("manualWithdraw", () => {
  it("takes an address or none, is held for an operator, and lives longer", async () => {
    await ready();
    const answer = await manual();
    expect([answer.status, answer.body.message]).toEqual([
      200,
      "The withdrawal request was sent and awaits approval.",
    ]);
    expect(row(answer.body.transactionId)).toMatchObject({
      stage: "awaiting_approval",
      mode: "manual",
      receiver: null,
      expiresAt: gateway.clock.nowMs + 7 * 86_400_000,
    });
    caughtUp();
    expect(parseJob(db().get<JobRow>("SELECT * FROM jobs")?.text ?? "")).toMatchObject({
      mode: "manual",
      address: "",
    });
    expect((await manual({ address: "" })).body.transactionId).toBe(answer.body.transactionId);
    expect((await manual({ address: receiver })).status).toBe(409);
    expect((await manual({ orderId: "order-2", address: receiver })).status).toBe(200);
    expect((await manual({ orderId: "order-3", address: "0x1" })).body.code).toBe(
      "address_invalid",
    );
    expect((await read("/balance/eth")).body.reserved).toBe("2.02");
  });
});
