/**
 * The messages of the gateway that the signer takes and those that it refuses: each refusal has a
 * twin, which differs in one thing and passes.
 */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { begun, Kit, other, shop, txParams } from "../../lab/kit/signer-kit.ts";
import { sealEnvelope, signJob } from "../../protocol/envelope.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import { crashBefore } from "../support/earlier-write.ts";

const foreignKey = generateKeyPairSync("ed25519").privateKey;

/** A kit after the handshake with one job waiting in the gateway's chain. */
function waiting(): Kit {
  const kit = new Kit().ready();
  kit.gateway.job();
  return kit;
}

const lastText = (kit: Kit): string => kit.gateway.texts.at(-1)!;
const take = (kit: Kit, change: object = {}) =>
  kit.admit(kit.gateway.jobs([lastText(kit)], { at: kit.now, ...change }));

describe("an envelope of jobs", () => {
  it("is taken when the pinned key signed it for this agent, wallet and epoch", () => {
    expect(take(waiting())).toMatchObject({ ok: true, withdrawals: [{ state: "approved" }] });
  });

  it.each([
    ["another agent", { agent: "bb".repeat(8) }, "ADMISSION_OTHER_AGENT"],
    ["another wallet", { wallet: "bb".repeat(16) }, "ADMISSION_OTHER_WALLET"],
    ["another epoch", { ledgerEpoch: 2 }, "ADMISSION_OTHER_EPOCH"],
  ])("for %s is refused without a record", (_, change, code) => {
    const kit = waiting();
    const before = kit.records().length;
    expect(take(kit, change)).toMatchObject({ ok: false, code });
    expect(kit.records()).toHaveLength(before);
    expect(take(kit).ok).toBe(true);
  });

  it("under a foreign key, altered, cut or of another kind is refused without a record", () => {
    const kit = waiting();
    const before = kit.records().length;
    const genuine = kit.gateway.jobs([lastText(kit)]);
    const altered = Uint8Array.from(genuine);
    altered[altered.length - 30]! ^= 1;
    expect(kit.admit(kit.gateway.jobs([lastText(kit)], {}, foreignKey)).code).toBe(
      "ENVELOPE_SIGNATURE",
    );
    expect(kit.admit(altered).code).toBe("ENVELOPE_SIGNATURE");
    expect(kit.admit(genuine.subarray(0, 60)).code).toBe("ENVELOPE_SIZE");
    expect(kit.admit(kit.gateway.ack(kit.core.heads.head)).code).toBe("ENVELOPE_KIND");
    for (const frames of [[], [genuine, genuine], [new Uint8Array(65_537)]])
      expect(kit.ask("admit", { frames }).code).toBe("JSON_SHAPE");
    expect(kit.ask("admit").code).toBe("JSON_SHAPE");
    expect(kit.records()).toHaveLength(before);
    expect(kit.admit(genuine).ok).toBe(true);
  });

  it("is not parsed before its signature holds, and strictly after", () => {
    const kit = waiting();
    expect(kit.admit(sealEnvelope("jobs", Buffer.from("{"), foreignKey)).code).toBe(
      "ENVELOPE_SIGNATURE",
    );
    expect(kit.admit(sealEnvelope("jobs", Buffer.from("{"), kit.gateway.key)).code).toBe(
      "JSON_SYNTAX",
    );
    expect(take(kit, { more: 1 }).code).toBe("JSON_SHAPE");
  });

  it("waits for the handshake", () => {
    const kit = new Kit();
    kit.gateway.job();
    expect(take(kit).code).toBe("SIGNER_NO_HANDSHAKE");
    kit.handshake();
    expect(take(kit).ok).toBe(true);
  });
});

describe("the signer, given jobs", () => {
  it("the signer waits for a missing job and takes all of them then", () => {
    const kit = new Kit().ready();
    kit.gateway.job();
    kit.gateway.job();
    const [first, second] = kit.gateway.texts as [string, string];
    const before = kit.records().length;
    expect(kit.admit(kit.gateway.jobs([second])).code).toBe("JOB_GAP");
    expect(kit.admit(kit.gateway.jobs([second, first])).code).toBe("JOB_GAP");
    expect(kit.records()).toHaveLength(before);
    expect(kit.admit(kit.gateway.jobs([first, second])).withdrawals).toHaveLength(2);
  });

  it("the signer refuses a list of jobs out of order as a whole", () => {
    const kit = new Kit().ready();
    for (let i = 0; i < 3; i++) kit.gateway.job();
    const [first, , third] = kit.gateway.texts as [string, string, string];
    expect(kit.admit(kit.gateway.jobs([first, third])).code).toBe("JOB_ORDER");
    expect(kit.core.chain.sequence).toBe(0);
  });

  describe("and their own signatures", () => {
    const unfit = "ab".repeat(64);
    const signaturesOf = (kit: Kit, texts: readonly string[], bad: readonly number[]): string[] =>
      texts.map((text, index) => (bad.includes(index) ? unfit : signJob(text, kit.gateway.key)));
    function offer(kit: Kit, texts: readonly string[], bad: readonly number[]) {
      return kit.admit(kit.gateway.jobs(texts, { signatures: signaturesOf(kit, texts, bad) }));
    }
    /** A kit that knows the first `known` of four jobs. */
    function knowing(known: number): { kit: Kit; texts: readonly string[] } {
      const kit = new Kit().ready();
      for (let i = 0; i < 4; i++) kit.gateway.job();
      const { texts } = kit.gateway;
      if (known > 0) expect(kit.admit(kit.gateway.jobs(texts.slice(0, known))).ok).toBe(true);
      return { kit, texts };
    }

    it.each([0, 2, 3])(
      "a list whose last new job is not signed is refused without a record, with %i known before",
      (known) => {
        const { kit, texts } = knowing(known);
        const before = kit.records().length;
        expect(offer(kit, texts, [3])).toMatchObject({ ok: false, code: "JOB_UNSIGNED" });
        expect(kit.records()).toHaveLength(before);
        expect(offer(kit, texts, [])).toMatchObject({ ok: true });
        expect(kit.core.chain.sequence).toBe(4);
      },
    );

    it("the last job's signature covers the new jobs before it, whose own are recorded as they came", () => {
      const { kit, texts } = knowing(1);
      expect(offer(kit, texts, [0, 1, 2])).toMatchObject({ ok: true });
      const recorded = kit
        .records()
        .flatMap((record) => (record.kind === "REQUESTED" ? [record.signature] : []));
      const own = texts.map((text) => signJob(text, kit.gateway.key));
      expect(recorded).toEqual([own[0], unfit, unfit, own[3]]);
    });

    it("a list of known jobs is answered, whatever its signatures are, and records nothing", () => {
      const { kit, texts } = knowing(4);
      const before = kit.records().length;
      expect(offer(kit, texts, [0, 1, 2, 3])).toMatchObject({ ok: true });
      expect(kit.records()).toHaveLength(before);
    });

    it.each<[string, number, number]>([
      ["a known job with another content", 3, 1],
      ["a new job that does not follow ours", 1, 1],
      ["a new job that does not follow another new one", 1, 3],
    ])("%s locks only under its own signature and those of the others", (_, known, changed) => {
      for (const bad of [0, changed]) {
        const { kit, texts } = knowing(known);
        const previous = changed >= known ? { previous: "ab".repeat(32) } : {};
        const text = JSON.stringify({
          ...(JSON.parse(texts[changed]!) as object),
          amount: "2",
          ...previous,
        });
        const forked = texts
          .slice(0, changed + 1)
          .map((one, index) => (index === changed ? text : one));
        expect(offer(kit, forked, [bad])).toMatchObject({ ok: false, code: "JOB_UNSIGNED" });
        expect(kit.core.locked).toBeNull();
        expect(offer(kit, forked, [])).toMatchObject({
          code: "SIGNER_LOCKED",
          detail: "LEDGER_FORKED",
        });
      }
    });
  });

  it("the signer answers a repeated job as before and records nothing", () => {
    const kit = waiting();
    const { transactionId } = take(kit).withdrawals[0]!;
    kit.ask("sign", { transactionId, txParams });
    const before = kit.records().length;
    expect(take(kit)).toMatchObject({
      ok: true,
      withdrawals: [{ transactionId, state: "signed" }],
    });
    expect(kit.records()).toHaveLength(before);
  });

  it("the signer locks when a job of a known number has another content", () => {
    const kit = waiting();
    take(kit);
    const forged = JSON.stringify({ ...(JSON.parse(lastText(kit)) as object), amount: "2" });
    expect(kit.admit(kit.gateway.jobs([forged], {}, foreignKey)).code).toBe("ENVELOPE_SIGNATURE");
    expect(kit.core.locked).toBeNull();
    expect(kit.admit(kit.gateway.jobs([forged]))).toMatchObject({
      code: "SIGNER_LOCKED",
      detail: "LEDGER_FORKED",
    });
    kit.start();
    expect(kit.ask("hello").locked).toBe("LEDGER_FORKED");
  });

  it("the signer locks when the next job does not follow the newest known one", () => {
    const kit = waiting();
    take(kit);
    kit.gateway.job({ previous: "ab".repeat(32) });
    expect(take(kit)).toMatchObject({ code: "SIGNER_LOCKED", detail: "LEDGER_FORKED" });
  });

  it.each([
    ["another agent", { agent: "bb".repeat(8) }, "JOB_OTHER_AGENT"],
    ["another wallet", { wallet: "bb".repeat(16) }, "JOB_OTHER_WALLET"],
    ["a later epoch", { ledgerEpoch: 2 }, "JOB_OTHER_EPOCH"],
  ])("the signer takes no job for %s", (_, change, code) => {
    const kit = new Kit().ready();
    kit.gateway.job(change);
    const before = kit.records().length;
    expect(take(kit).code).toBe(code);
    expect(kit.records()).toHaveLength(before);
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
    [
      "to an address with a wrong checksum",
      { address: `${shop.slice(0, -1)}9` },
      "ADDRESS_CHECKSUM",
    ],
    ["to the zero address", { address: `0x${"0".repeat(40)}` }, "ADDRESS_ZERO"],
    ["to a precompiled contract", { address: `0x${"0".repeat(39)}9` }, "ADDRESS_RESERVED"],
    ["to a system contract", { address: `0x${"0".repeat(36)}0100` }, "ADDRESS_RESERVED"],
    ["above the limit", { amount: "1000.000001" }, "POLICY_ABOVE_WITHDRAWAL"],
    ["whose id is not its order's", { transactionId: "ab".repeat(16) }, "JOB_ID_MISMATCH"],
    ["that ran out", { issuedAt: begun - 10, expiresAt: begun - 1 }, "JOB_EXPIRED"],
  ])("%s is recorded as refused, and the next job is taken", (_, change, code) => {
    const kit = new Kit().ready();
    expect(kit.request(change)).toMatchObject({ state: "refused", code });
    expect(kit.kinds().slice(-2)).toEqual(["REQUESTED", "REFUSED"]);
    expect(kit.request()).toMatchObject({ state: "approved", code: "" });
  });

  it("is not one that ends this very millisecond, or that names its address in lower case", () => {
    const kit = new Kit().ready();
    expect(kit.request({ issuedAt: begun - 10, expiresAt: begun }).state).toBe("approved");
    expect(kit.request({ address: shop.toLowerCase() })).toMatchObject({
      state: "approved",
      address: shop,
    });
    expect(kit.request({ amount: "1000" }).state).toBe("approved");
  });
});

describe("an order that comes again", () => {
  it("with the same content is one more job and nothing else", () => {
    const kit = new Kit().ready();
    const { orderId } = kit.request();
    expect(kit.request({ orderId, address: shop.toLowerCase() })).toMatchObject({
      state: "approved",
      sequence: 1,
    });
    expect(kit.records().at(-1)).toMatchObject({ kind: "REPEATED", code: "", sequence: 2 });
  });

  it.each(["OPERATOR_REFUSED", "JOB_EXPIRED"] as const)(
    "an order that left its address open and ended unsigned by %s gets that answer, also with the address that a copy's operator gave it",
    (code) => {
      const kit = new Kit().ready();
      const { orderId, transactionId } = kit.request({
        mode: "manual",
        address: "",
        expiresAt: kit.now + 1_000,
      });
      if (code === "OPERATOR_REFUSED") kit.operate("refuse", { transactionId });
      else {
        kit.now += 2_000;
        kit.signer.tick();
      }
      kit.acknowledge();
      kit.request({ orderId, mode: "manual", address: other });
      expect(kit.records().at(-1)).toMatchObject({ kind: "REPEATED", transactionId, code: "" });
      expect(kit.show(transactionId).code).toBe(code);
      const entries = kit.statements.flatMap((statement) => statement.entries);
      const decision = code === "JOB_EXPIRED" ? "expired" : "refused";
      expect(entries.at(-1)).toMatchObject({
        kind: "decision",
        transactionId,
        decision,
        code,
        address: "",
      });
      kit.request({ orderId, mode: "manual", address: other, amount: "2" });
      expect(kit.records().at(-1)).toMatchObject({
        kind: "ALARM",
        code: "WITHDRAWAL_EXISTS_DIFFERENT_AMOUNT",
      });
    },
  );

  it("an order that left its address open and was paid is an alarm with another address", () => {
    const kit = new Kit().ready();
    const {
      orderId,
      transactionId,
      approvalDigest: digest,
    } = kit.request({ mode: "manual", address: "" });
    kit.operate("approve", { transactionId, digest, address: shop });
    kit.ask("sign", { transactionId, txParams });
    kit.request({ orderId, mode: "manual", address: other });
    expect(kit.records().at(-1)).toMatchObject({
      kind: "ALARM",
      code: "WITHDRAWAL_EXISTS_DIFFERENT_ADDRESS",
    });
  });

  it.each([
    ["AMOUNT", { amount: "2" }],
    ["ADDRESS", { address: other }],
    ["CURRENCY", { currency: "eth" }],
    ["TAG", { tag: "7" }],
  ])("with another %s is an alarm, before and after it was paid and closed", (field, change) => {
    const kit = new Kit().ready();
    const { transactionId, orderId, attempts } = kit.pay();
    const code = `WITHDRAWAL_EXISTS_DIFFERENT_${field}`;
    kit.request({ orderId, ...change });
    expect(kit.records().slice(-2)).toMatchObject([
      { kind: "REPEATED", code },
      { kind: "ALARM", code },
    ]);
    kit.ask("observed", {
      transactionId,
      stage: "final",
      outcome: "paid",
      txHash: attempts[0]!.txHash,
      block: 3,
    });
    kit.acknowledge();
    expect(kit.core.book.openCount).toBe(0);
    kit.request({ orderId, ...change });
    expect(kit.records().slice(-2)).toMatchObject([
      { kind: "REPEATED", code },
      { kind: "ALARM", code },
    ]);
    expect(kit.show(transactionId).state).toBe("paid");
  });
});

describe("a crash between request and decision", () => {
  it("leaves the job undecided until the handshake is complete", () => {
    const kit = waiting();
    const frame = kit.gateway.jobs([lastText(kit)]);
    kit.send("admit", { frames: [frame] });
    crashBefore(kit, "APPROVED");
    const { transactionId } = JSON.parse(lastText(kit)) as { transactionId: string };
    expect(kit.kinds().at(-1)).toBe("REQUESTED");
    expect(kit.show(transactionId)).toMatchObject({ state: "held", code: "SIGNER_NO_HANDSHAKE" });
    const yes = { transactionId, digest: "00".repeat(32), address: "" };
    expect(kit.operate("approve", yes).code).toBe("SIGNER_NO_HANDSHAKE");
    kit.handshake();
    expect(kit.show(transactionId).state).toBe("approved");
    expect(kit.operate("approve", { ...yes, address: other }).code).toBe("WITHDRAWAL_NOT_HELD");
  });

  it("decides it by the time of the handshake, not by that of the newest record", () => {
    const kit = waiting();
    const { expiresAt, transactionId } = JSON.parse(lastText(kit)) as {
      expiresAt: number;
      transactionId: string;
    };
    kit.send("admit", { frames: [kit.gateway.jobs([lastText(kit)])] });
    crashBefore(kit, "APPROVED");
    expect(kit.kinds().at(-1)).toBe("REQUESTED");
    kit.now = expiresAt + 1;
    kit.start();
    kit.handshake();
    expect(kit.show(transactionId)).toMatchObject({ state: "refused", code: "JOB_EXPIRED" });
  });
});

describe("a job that renews another", () => {
  const renewing = (kit: Kit, orderId: string, renews: string) => {
    const { merchant } = kit.core.paired;
    return {
      orderId,
      renews,
      transactionId: deriveOrderTransactionId({ merchant, operation: "withdraw", orderId, renews }),
    };
  };

  it("is taken if this ledger has the other as refused, once, and policy judges it again", () => {
    const kit = new Kit().ready();
    const old = kit.request({ orderId: "a", amount: "1000.000001" });
    expect(old).toMatchObject({ state: "refused", code: "POLICY_ABOVE_WITHDRAWAL" });
    const again = renewing(kit, "a", old.transactionId);
    expect(kit.request({ ...again, amount: "1000.000001" })).toMatchObject({
      code: "POLICY_ABOVE_WITHDRAWAL",
    });
    const refused = kit.request({ orderId: "b", tag: "7" });
    expect(kit.request(renewing(kit, "b", refused.transactionId))).toMatchObject({
      state: "approved",
      code: "",
    });
  });

  it("is refused while the other is open here, and for one that this ledger does not know", () => {
    const kit = new Kit().ready();
    const open = kit.request({ orderId: "a" });
    expect(open.state).toBe("approved");
    expect(kit.request(renewing(kit, "a", open.transactionId))).toMatchObject({
      state: "refused",
      code: "JOB_RENEWAL",
    });
    expect(kit.request(renewing(kit, "b", "ab".repeat(16)))).toMatchObject({
      state: "refused",
      code: "JOB_RENEWAL",
    });
  });

  it("has an id that follows from the other", () => {
    const kit = new Kit().ready();
    const refused = kit.request({ orderId: "a", tag: "7" });
    const { renews } = renewing(kit, "a", refused.transactionId);
    expect(kit.request({ orderId: "a", renews, transactionId: "cd".repeat(16) })).toMatchObject({
      code: "JOB_ID_MISMATCH",
    });
  });
});
