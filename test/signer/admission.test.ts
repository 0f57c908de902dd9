/**
 * The messages of the gateway that the signer takes and those that it refuses: each refusal has a
 * twin, which differs in one thing and passes.
 */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { begun, facts, other, Rig, shop } from "../../lab/rig/signer-rig.ts";
import { sealEnvelope } from "../../protocol/envelope.ts";

const foreignKey = generateKeyPairSync("ed25519").privateKey;

/** A greeted rig with one job waiting in the gateway's chain. */
function waiting(): Rig {
  const rig = new Rig().ready();
  rig.gateway.job();
  return rig;
}

const lastText = (rig: Rig): string => rig.gateway.texts.at(-1)!;
const take = (rig: Rig, change: object = {}) => rig.admit(rig.gateway.jobs([lastText(rig)], { at: rig.now, ...change }));

describe("an envelope of jobs", () => {
  it("an envelope of jobs is taken when the pinned key signed it for this agent, wallet and epoch", () => {
    expect(take(waiting())).toMatchObject({ ok: true, withdrawals: [{ state: "approved" }] });
  });

  it.each([
    ["another agent", { agent: "bb".repeat(8) }, "ADMISSION_OTHER_AGENT"],
    ["another wallet", { wallet: "bb".repeat(16) }, "ADMISSION_OTHER_WALLET"],
    ["another epoch", { epoch: 2 }, "ADMISSION_OTHER_EPOCH"],
  ])("an envelope of jobs for %s is refused without a record", (_, change, code) => {
    const rig = waiting();
    const before = rig.records().length;
    expect(take(rig, change)).toMatchObject({ ok: false, code });
    expect(rig.records()).toHaveLength(before);
    expect(take(rig).ok).toBe(true);
  });

  it("an envelope of jobs under a foreign key, altered, cut or of another kind is refused without a record", () => {
    const rig = waiting();
    const before = rig.records().length;
    const genuine = rig.gateway.jobs([lastText(rig)]);
    const altered = Uint8Array.from(genuine);
    altered[altered.length - 30]! ^= 1;
    expect(rig.admit(rig.gateway.jobs([lastText(rig)], {}, foreignKey)).code).toBe("ENVELOPE_SIGNATURE");
    expect(rig.admit(altered).code).toBe("ENVELOPE_SIGNATURE");
    expect(rig.admit(genuine.subarray(0, 60)).code).toBe("ENVELOPE_SIZE");
    expect(rig.admit(rig.gateway.ack(rig.core.heads.head)).code).toBe("ENVELOPE_KIND");
    for (const frames of [[], [genuine, genuine], [new Uint8Array(65_537)]])
      expect(rig.ask("admit", { frames }).code).toBe("JSON_SHAPE");
    expect(rig.ask("admit").code).toBe("JSON_SHAPE");
    expect(rig.records()).toHaveLength(before);
    expect(rig.admit(genuine).ok).toBe(true);
  });

  it("an envelope of jobs is not parsed before its signature holds, and strictly after", () => {
    const rig = waiting();
    expect(rig.admit(sealEnvelope("jobs", Buffer.from("{"), foreignKey)).code).toBe("ENVELOPE_SIGNATURE");
    expect(rig.admit(sealEnvelope("jobs", Buffer.from("{"), rig.gateway.key)).code).toBe("JSON_SYNTAX");
    expect(take(rig, { more: 1 }).code).toBe("JSON_SHAPE");
  });

  it("an envelope of jobs waits for the greeting", () => {
    const rig = new Rig();
    rig.gateway.job();
    expect(take(rig).code).toBe("SIGNER_NOT_GREETED");
    rig.greet();
    expect(take(rig).ok).toBe(true);
  });
});

describe("the chain of jobs", () => {
  it("the chain of jobs waits for what is missing and takes it then", () => {
    const rig = new Rig().ready();
    rig.gateway.job();
    rig.gateway.job();
    const [first, second] = rig.gateway.texts as [string, string];
    const before = rig.records().length;
    expect(rig.admit(rig.gateway.jobs([second])).code).toBe("JOB_GAP");
    expect(rig.admit(rig.gateway.jobs([second, first])).code).toBe("JOB_GAP");
    expect(rig.records()).toHaveLength(before);
    expect(rig.admit(rig.gateway.jobs([first, second])).withdrawals).toHaveLength(2);
  });

  it("the chain of jobs refuses a list out of order as a whole", () => {
    const rig = new Rig().ready();
    for (let i = 0; i < 3; i++) rig.gateway.job();
    const [first, , third] = rig.gateway.texts as [string, string, string];
    expect(rig.admit(rig.gateway.jobs([first, third])).code).toBe("JOB_ORDER");
    expect(rig.core.chain.sequence).toBe(0);
  });

  it("the chain of jobs answers a repeat as before and records nothing", () => {
    const rig = waiting();
    const { transactionId } = take(rig).withdrawals[0]!;
    rig.ask("sign", { transactionId, facts });
    const before = rig.records().length;
    expect(take(rig)).toMatchObject({ ok: true, withdrawals: [{ transactionId, state: "signed" }] });
    expect(rig.records()).toHaveLength(before);
  });

  it("the chain of jobs locks when a place in the chain gets a second content", () => {
    const rig = waiting();
    take(rig);
    const forged = JSON.stringify({ ...(JSON.parse(lastText(rig)) as object), amount: "2" });
    expect(rig.admit(rig.gateway.jobs([forged], {}, foreignKey)).code).toBe("ENVELOPE_SIGNATURE");
    expect(rig.core.locked).toBeNull();
    expect(rig.admit(rig.gateway.jobs([forged]))).toMatchObject({ code: "SIGNER_LOCKED", detail: "LEDGER_FORKED" });
    rig.start();
    expect(rig.ask("hello").locked).toBe("LEDGER_FORKED");
  });

  it("the chain of jobs locks when the next job does not follow ours", () => {
    const rig = waiting();
    take(rig);
    rig.gateway.job({ previous: "ab".repeat(32) });
    expect(take(rig)).toMatchObject({ code: "SIGNER_LOCKED", detail: "LEDGER_FORKED" });
  });

  it.each([
    ["another agent", { agent: "bb".repeat(8) }, "JOB_OTHER_AGENT"],
    ["another wallet", { wallet: "bb".repeat(16) }, "JOB_OTHER_WALLET"],
    ["a later epoch", { epoch: 2 }, "JOB_OTHER_EPOCH"],
  ])("the chain of jobs takes no job for %s", (_, change, code) => {
    const rig = new Rig().ready();
    rig.gateway.job(change);
    const before = rig.records().length;
    expect(take(rig).code).toBe(code);
    expect(rig.records()).toHaveLength(before);
  });
});

describe("a job that cannot be done", () => {
  it.each([
    ["of an unknown currency", { currency: "doge" }, "POLICY_CURRENCY_UNKNOWN"],
    ["of a currency without policy", { currency: "usdc", network: "eip155:1" }, "POLICY_NONE"],
    ["for another network", { network: "eip155:1" }, "JOB_NETWORK"],
    ["with a tag", { tag: "7" }, "JOB_TAG_UNSUPPORTED"],
    ["with too many decimals", { amount: "0.0000001" }, "AMOUNT_PRECISION"],
    ["to a bad address", { address: "nowhere" }, "ADDRESS_FORMAT"],
    ["to an address with a wrong checksum", { address: `${shop.slice(0, -1)}9` }, "ADDRESS_CHECKSUM"],
    ["to the zero address", { address: `0x${"0".repeat(40)}` }, "ADDRESS_ZERO"],
    ["above the limit", { amount: "1000.000001" }, "POLICY_ABOVE_WITHDRAWAL"],
    ["whose id is not its order's", { transactionId: "ab".repeat(16) }, "JOB_ID_MISMATCH"],
    ["that ran out", { issuedAt: begun - 10, expiresAt: begun - 1 }, "JOB_EXPIRED"],
  ])("%s is recorded as refused, and the chain goes on", (_, change, code) => {
    const rig = new Rig().ready();
    expect(rig.request(change)).toMatchObject({ state: "refused", code });
    expect(rig.kinds().slice(-2)).toEqual(["REQUESTED", "REFUSED"]);
    expect(rig.request()).toMatchObject({ state: "approved", code: "" });
  });

  it("a job that cannot be done is not one that ends this very millisecond, or that names its address in lower case", () => {
    const rig = new Rig().ready();
    expect(rig.request({ issuedAt: begun - 10, expiresAt: begun }).state).toBe("approved");
    expect(rig.request({ address: shop.toLowerCase() })).toMatchObject({ state: "approved", address: shop });
    expect(rig.request({ amount: "1000" }).state).toBe("approved");
  });
});

describe("an order that comes again", () => {
  it("an order that comes again with the same content moves the chain and nothing else", () => {
    const rig = new Rig().ready();
    const { orderId } = rig.request();
    expect(rig.request({ orderId, address: shop.toLowerCase() })).toMatchObject({ state: "approved", sequence: 1 });
    expect(rig.records().at(-1)).toMatchObject({ kind: "REPEATED", code: "", sequence: 2 });
  });

  it.each(["OPERATOR_REFUSED", "JOB_EXPIRED"] as const)(
    "an order that left its address open and ended unsigned by %s gets that answer, also with the address that a copy's person gave it",
    (code) => {
      const rig = new Rig().ready();
      const { orderId, transactionId } = rig.request({ mode: "manual", address: "", expiresAt: rig.now + 1_000 });
      if (code === "OPERATOR_REFUSED") rig.operate("refuse", { transactionId });
      else {
        rig.now += 2_000;
        rig.signer.tick();
      }
      rig.acknowledge();
      rig.request({ orderId, mode: "manual", address: other });
      expect(rig.records().at(-1)).toMatchObject({ kind: "REPEATED", transactionId, code: "" });
      expect(rig.show(transactionId).code).toBe(code);
      const entries = rig.statements.flatMap((statement) => statement.entries);
      const decision = code === "JOB_EXPIRED" ? "expired" : "refused";
      expect(entries.at(-1)).toMatchObject({ kind: "decision", transactionId, decision, code, address: "" });
      rig.request({ orderId, mode: "manual", address: other, amount: "2" });
      expect(rig.records().at(-1)).toMatchObject({ kind: "ALARM", code: "WITHDRAWAL_EXISTS_DIFFERENT_AMOUNT" });
    },
  );

  it("an order that left its address open and was paid is an alarm with another address", () => {
    const rig = new Rig().ready();
    const { orderId, transactionId, approvalDigest: digest } = rig.request({ mode: "manual", address: "" });
    rig.operate("approve", { transactionId, digest, address: shop });
    rig.ask("sign", { transactionId, facts });
    rig.request({ orderId, mode: "manual", address: other });
    expect(rig.records().at(-1)).toMatchObject({ kind: "ALARM", code: "WITHDRAWAL_EXISTS_DIFFERENT_ADDRESS" });
  });

  it.each([
    ["AMOUNT", { amount: "2" }],
    ["ADDRESS", { address: other }],
    ["CURRENCY", { currency: "eth" }],
    ["TAG", { tag: "7" }],
  ])("an order that comes again with another %s is an alarm, before and after it was paid and closed", (field, change) => {
    const rig = new Rig().ready();
    const { transactionId, orderId, versions } = rig.pay();
    const code = `WITHDRAWAL_EXISTS_DIFFERENT_${field}`;
    rig.request({ orderId, ...change });
    expect(rig.records().slice(-2)).toMatchObject([
      { kind: "REPEATED", code },
      { kind: "ALARM", code },
    ]);
    rig.ask("observed", { transactionId, stage: "final", outcome: "paid", txHash: versions[0]!.txHash, block: 3 });
    rig.acknowledge();
    expect(rig.core.book.openCount).toBe(0);
    rig.request({ orderId, ...change });
    expect(rig.records().slice(-2)).toMatchObject([
      { kind: "REPEATED", code },
      { kind: "ALARM", code },
    ]);
    expect(rig.show(transactionId).state).toBe("paid");
  });
});

describe("a crash between request and decision", () => {
  it("a crash between request and decision leaves the job undecided until the gateway has greeted", () => {
    const rig = waiting();
    const frame = rig.gateway.jobs([lastText(rig)]);
    rig.send("admit", { frames: [frame] });
    const whole = rig.disk.crash(1_000_000).read("00000001.jsonl", 0, 1_000_000);
    const text = Buffer.from(whole).toString();
    const kept = text.indexOf('"kind":"APPROVED"') - Buffer.from(rig.disk.read("00000001.jsonl", 0, 1_000_000)).length;
    rig.crash(kept);
    const { transactionId } = JSON.parse(lastText(rig)) as { transactionId: string };
    expect(rig.kinds().at(-1)).toBe("REQUESTED");
    expect(rig.show(transactionId)).toMatchObject({ state: "held", code: "SIGNER_NOT_GREETED" });
    const yes = { transactionId, digest: "00".repeat(32), address: "" };
    expect(rig.operate("approve", yes).code).toBe("SIGNER_NOT_GREETED");
    rig.greet();
    expect(rig.show(transactionId).state).toBe("approved");
    expect(rig.operate("approve", { ...yes, address: other }).code).toBe("WITHDRAWAL_NOT_HELD");
  });

  it("a crash between request and decision decides it by the time of the greeting, not by that of the newest record", () => {
    const rig = waiting();
    const { expiresAt, transactionId } = JSON.parse(lastText(rig)) as { expiresAt: number; transactionId: string };
    rig.send("admit", { frames: [rig.gateway.jobs([lastText(rig)])] });
    const whole = rig.disk.crash(1_000_000).read("00000001.jsonl", 0, 1_000_000);
    const text = Buffer.from(whole).toString();
    rig.crash(text.indexOf('"kind":"APPROVED"') - Buffer.from(rig.disk.read("00000001.jsonl", 0, 1_000_000)).length);
    rig.now = expiresAt + 1;
    rig.start();
    rig.greet();
    expect(rig.show(transactionId)).toMatchObject({ state: "refused", code: "JOB_EXPIRED" });
  });
});
