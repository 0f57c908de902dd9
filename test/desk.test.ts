/** The courier's desk: scripted events one by one, then whole random worlds with lost, doubled, late and lying answers. */
import { describe, expect, it } from "vitest";
import { waiting } from "../agent/courier/desk/desk.ts";
import {
  asked,
  type Driver,
  drive,
  hashOf,
  helloOf,
  idOf,
  only,
  sentView,
  token,
  versionOf,
  viewOf,
} from "./support/desk-views.ts";
import { runWorld } from "./support/desk-world.ts";
import { seedsOfRun } from "./support/seeded.ts";

const gasFor = (driver: Driver, sequence: number) =>
  driver.feed({ kind: "gas", transactionId: idOf(sequence), answer: { ok: true, gasLimit: 21_000n } });
const revertFor = (driver: Driver, sequence: number) =>
  driver.feed({
    kind: "gas",
    transactionId: idOf(sequence),
    answer: { ok: false, code: "NODE_WOULD_REVERT", effect: "none", wouldRevert: true },
  });
const refused = (verb: "sign" | "replace" | "observed", sequence: number, code: string) =>
  ({ kind: "answered", verb, transactionId: idOf(sequence), answer: { ok: false, code, effect: "none" } }) as const;
const sent = (
  driver: Driver,
  sequence: number,
  outcome: "sent" | "unsent" | "misread" | "nonce-consumed" = "sent",
  version = 1,
) => driver.feed({ kind: "sent", transactionId: idOf(sequence), version, outcome, detail: "" });
const look = (driver: Driver, sequence: number, block: number | null, version = 1) =>
  driver.feed({
    kind: "looked",
    chain: "local",
    found: [
      {
        transactionId: idOf(sequence),
        place: block === null ? null : { txHash: hashOf(sequence, version), block, blockHash: `0x${block}` },
      },
    ],
  });
const confirm = (driver: Driver, sequence: number, outcome: "paid" | "reverted" | "moved") =>
  driver.feed({
    kind: "confirmed",
    chain: "local",
    found: [{ transactionId: idOf(sequence), verdict: { outcome, txHash: hashOf(sequence, 1), block: 9 } }],
  });
const observedBody = (effects: ReturnType<Driver["feed"]>) =>
  only(effects, "ask").flatMap((effect) => (effect.verb === "observed" ? [effect.body] : []));
const whyOf = (driver: Driver, sequence: number) => waiting(driver.desk).find((one) => one.transactionId === idOf(sequence))?.why;

describe("asking for a signature", () => {
  it("asks for gas once facts are there, and signs with them", () => {
    const driver = drive([viewOf(1, "approved")]);
    expect(only(driver.block(10), "gas")).toHaveLength(1);
    const [ask] = only(gasFor(driver, 1), "ask");
    expect(ask).toEqual({
      kind: "ask",
      withdrawal: viewOf(1, "approved"),
      verb: "sign",
      body: {
        transactionId: idOf(1),
        facts: { gasLimit: "21000", maxFeePerGas: "21000000000", maxPriorityFeePerGas: "1000000000" },
      },
    });
  });

  it("waits for funds that do not cover it with its fee, and says so", () => {
    const fee = 21_000n * 21_000_000_000n;
    const short = drive([viewOf(1, "approved")]);
    short.block(10, { balances: new Map([["", 10n ** 18n + fee - 1n]]) });
    expect(asked(gasFor(short, 1))).toEqual([]);
    expect(whyOf(short, 1)).toBe("funds");
    const enough = drive([viewOf(1, "approved")]);
    enough.block(10, { balances: new Map([["", 10n ** 18n + fee]]) });
    expect(asked(gasFor(enough, 1))).toEqual(["sign:1"]);
  });

  it("counts what is bound and not final against the funds", () => {
    const balances = new Map([["", 2n * 10n ** 18n + 10n ** 17n]]);
    const driver = drive([sentView(1, "broadcast"), viewOf(2, "approved"), viewOf(3, "approved")]);
    driver.block(10, { balances });
    expect(asked(gasFor(driver, 2))).toEqual(["sign:2"]);
    gasFor(driver, 3);
    expect(whyOf(driver, 3)).toBe("funds");
  });

  it("keeps the order of a currency, and lets another currency pass", () => {
    const big = viewOf(1, "approved", { amountUnits: `${10n ** 24n}` });
    const tokens = viewOf(3, "approved", { currency: "usdt", contract: token, amountUnits: "1000000" });
    const driver = drive([big, viewOf(2, "approved"), tokens]);
    expect(only(driver.block(10), "gas").map((effect) => effect.withdrawal.sequence)).toEqual([3]);
    expect(asked(gasFor(driver, 3))).toEqual(["sign:3"]);
    expect(whyOf(driver, 2)).toBe("funds");
  });

  it("asks in order of sequence when estimates arrive the other way round", () => {
    const driver = drive([viewOf(2, "approved"), viewOf(1, "approved")]);
    driver.block(10);
    expect(asked(gasFor(driver, 2))).toEqual([]);
    expect(asked(gasFor(driver, 1))).toEqual(["sign:1", "sign:2"]);
  });

  it("asks nothing while locked, ungreeted, without nodes, with code at the account, or before the first nonce", () => {
    const ready = (over: Parameters<typeof drive>[1], facts = {}) => {
      const driver = drive([viewOf(1, "approved")], over);
      return only(driver.block(10, facts), "gas").length;
    };
    expect(ready({})).toBe(1);
    expect(ready({ locked: "LEDGER_FORKED" })).toBe(0);
    expect(ready({ greeted: false })).toBe(0);
    expect(ready({}, { accountHasCode: true })).toBe(0);
    expect(ready({ accounts: [{ chain: "local", network: "eip155:31337", address: "0x1", nextNonce: "" }] })).toBe(0);
    const away = drive([viewOf(1, "approved")]);
    away.feed({ kind: "away", chain: "local", code: "NODE_TIMEOUT" });
    expect(whyOf(away, 1)).toBe("nodes NODE_TIMEOUT");
  });

  it("bounds what is in no block by what the signer was told", () => {
    const driver = drive([sentView(1, "broadcast"), viewOf(2, "approved")], {}, 1);
    driver.block(10);
    expect(whyOf(driver, 2)).toBe("others in flight");
    const effects = look(driver, 1, 10);
    expect(effects.map((effect) => effect.kind)).toEqual(["ask", "gas"]);
    expect(asked(effects)).toEqual(["observed:1"]);
    driver.feed(refused("observed", 1, "WITHDRAWAL_NOT_RELEASED"));
    expect(asked(gasFor(driver, 2))).toEqual([]);
    expect(whyOf(driver, 2)).toBe("others in flight");
    expect(asked(driver.tick(6000))).toEqual(["observed:1", "sign:2"]);
    const answer = { ok: true, withdrawal: sentView(1, "included") } as const;
    expect(asked(driver.feed({ kind: "answered", verb: "observed", transactionId: idOf(1), answer }))).toEqual([]);
  });

  it("asks again after a pause when the account is full by the signer's book", () => {
    const driver = drive([viewOf(2, "approved")]);
    driver.block(10);
    expect(asked(gasFor(driver, 2))).toEqual(["sign:2"]);
    expect(asked(driver.feed(refused("sign", 2, "ACCOUNT_FULL")))).toEqual([]);
    expect(asked(driver.tick(1000))).toEqual(["sign:2"]);
  });

  it("offers a fee above its ceiling again at each block, and lets others pass meanwhile", () => {
    const driver = drive([viewOf(1, "approved"), viewOf(2, "approved")]);
    driver.block(10);
    gasFor(driver, 1);
    expect(asked(driver.feed(refused("sign", 1, "POLICY_FEE_ABOVE_WITHDRAWAL")))).toEqual([]);
    expect(whyOf(driver, 1)).toBe("fee POLICY_FEE_ABOVE_WITHDRAWAL");
    expect(asked(gasFor(driver, 2))).toEqual(["sign:2"]);
    expect(asked(driver.tick(1000))).toEqual([]);
    expect(asked(driver.block(11))).toEqual(["sign:1"]);
  });

  it("asks again, ever more slowly, for what the policy has no room for yet", () => {
    const driver = drive([viewOf(1, "approved")]);
    driver.block(10);
    gasFor(driver, 1);
    const answers = [5000, 10_000, 20_000, 40_000, 60_000, 60_000].map((waitMs) => {
      driver.feed(refused("sign", 1, "POLICY_ABOVE_DAY"));
      expect(whyOf(driver, 1)).toBe("POLICY_ABOVE_DAY");
      expect(asked(driver.tick(waitMs - 1))).toEqual([]);
      const again = driver.tick(1);
      return asked(only(again, "gas").length > 0 ? gasFor(driver, 1) : again);
    });
    expect(answers).toEqual(answers.map(() => ["sign:1"]));
  });

  it("asks the signer for its view after a refusal it did not expect", () => {
    const driver = drive([viewOf(1, "approved")]);
    driver.block(10);
    gasFor(driver, 1);
    expect(only(driver.feed(refused("sign", 1, "JOB_EXPIRED")), "refresh")).toHaveLength(1);
    driver.nowMs += 1;
    driver.feed({ kind: "hello", hello: helloOf([]), isFresh: false, askedAtMs: driver.nowMs });
    expect(waiting(driver.desk)).toEqual([]);
    expect(asked(driver.tick(60_000))).toEqual([]);
  });

  it("keeps funds bound when a sign may have happened", () => {
    const balances = new Map([["", 15n * 10n ** 17n]]);
    const driver = drive([viewOf(1, "approved"), viewOf(2, "approved")]);
    driver.block(10, { balances });
    gasFor(driver, 1);
    const lost = {
      kind: "answered",
      verb: "sign",
      transactionId: idOf(1),
      answer: { ok: false, code: "SOCKET_TIMEOUT", effect: "unknown" },
    } as const;
    const effects = driver.feed(lost);
    expect(only(effects, "refresh")).toHaveLength(1);
    expect(asked(effects)).toEqual([]);
    expect(asked(gasFor(driver, 2))).toEqual([]);
    const hello = helloOf([viewOf(2, "approved")]);
    expect(asked(driver.feed({ kind: "hello", hello, isFresh: false, askedAtMs: driver.nowMs + 1 }))).toEqual(["sign:2"]);
  });

  it("keeps funds of a final withdrawal bound until the balance at hand includes it", () => {
    const balances = new Map([["", 15n * 10n ** 17n]]);
    const driver = drive([sentView(1, "broadcast"), viewOf(2, "approved")]);
    driver.block(10, { finalNumber: 8, balances });
    look(driver, 1, 9);
    confirm(driver, 1, "paid");
    const answer = { ok: true, withdrawal: sentView(1, "paid") } as const;
    driver.feed({ kind: "answered", verb: "observed", transactionId: idOf(1), answer });
    expect(only(driver.block(11, { finalNumber: 8, balances }), "gas")).toEqual([]);
    expect(only(driver.block(12, { finalNumber: 9, balances }), "gas")).toHaveLength(1);
  });

  it("takes no view that is older than what it knows", () => {
    const driver = drive([sentView(1, "released", 1, { changedAt: 5 })]);
    driver.feed({ kind: "views", withdrawals: [viewOf(1, "approved", { changedAt: 4 })] });
    expect(only(driver.block(10), "gas")).toEqual([]);
    const newer = drive([viewOf(1, "held", { changedAt: 5 })]);
    newer.feed({ kind: "views", withdrawals: [viewOf(1, "approved", { changedAt: 6 })] });
    expect(only(newer.block(10), "gas")).toHaveLength(1);
  });

  it("finishes an intent that a crash left without a signature", () => {
    const driver = drive([viewOf(1, "intent")]);
    expect(asked(driver.block(10))).toEqual(["sign:1"]);
  });
});

describe("a call that would revert", () => {
  it("is declined after three estimates over thirty seconds with funds at hand", () => {
    const driver = drive([viewOf(1, "approved", { currency: "usdt", contract: token, amountUnits: "5" })]);
    expect(only(driver.block(10), "gas")).toHaveLength(1);
    expect(asked(revertFor(driver, 1))).toEqual([]);
    expect(only(driver.tick(12_000), "gas")).toHaveLength(1);
    expect(asked(revertFor(driver, 1))).toEqual([]);
    expect(only(driver.tick(17_000), "gas")).toHaveLength(0);
    expect(only(driver.tick(1000), "gas")).toHaveLength(1);
    const [ask] = only(revertFor(driver, 1), "ask");
    expect(ask?.body).toEqual({ transactionId: idOf(1), code: "CHAIN_WOULD_REVERT" });
  });

  it("is asked about no more while it is being declined, and holds up nobody behind it", () => {
    const usdt = { currency: "usdt", contract: token, amountUnits: "5" };
    const driver = drive([viewOf(1, "approved", usdt), viewOf(2, "approved", usdt)]);
    driver.block(10);
    for (const waitMs of [12_000, 18_000, 0]) {
      const effects = revertFor(driver, 1);
      if (waitMs === 0) expect(effects.map((effect) => effect.kind)).toEqual(["ask"]);
      driver.tick(waitMs);
    }
    expect(only(driver.tick(1000), "gas")).toEqual([]);
    expect(asked(gasFor(driver, 2))).toEqual(["sign:2"]);
    expect(asked(gasFor(driver, 1))).toEqual([]);
  });

  it("is not declined while funds are missing", () => {
    const balances = new Map([
      ["", 10n ** 18n],
      [token, 4n],
    ]);
    const driver = drive([viewOf(1, "approved", { currency: "usdt", contract: token, amountUnits: "5" })]);
    driver.block(10, { balances });
    for (let i = 0; i < 10; i++) {
      revertFor(driver, 1);
      expect(asked(driver.tick(20_000))).toEqual([]);
    }
    expect(whyOf(driver, 1)).toBe("funds");
  });
});

describe("sending", () => {
  it("sends released bytes at once, in order of nonce, and none that are not released", () => {
    const driver = drive([]);
    driver.block(10);
    const effects = driver.feed({
      kind: "views",
      withdrawals: [sentView(3, "released"), viewOf(4, "signed", { versions: [versionOf(1)] }), sentView(2, "released")],
    });
    expect(only(effects, "send").map((effect) => effect.withdrawal.sequence)).toEqual([2, 3]);
  });

  it("tells broadcast after any outcome but unsent, and tries an unsent one again", () => {
    const driver = drive([sentView(1, "released"), sentView(2, "released")]);
    sent(driver, 1, "sent");
    expect(asked(sent(driver, 2, "unsent"))).toEqual([]);
    expect(whyOf(driver, 2)).toBe("no node takes it");
    const later = driver.tick(500);
    expect(observedBody(later)).toEqual([
      { transactionId: idOf(1), stage: "broadcast", outcome: "", txHash: hashOf(1, 1), block: 0 },
    ]);
    expect(only(later, "send")).toHaveLength(0);
    expect(only(driver.tick(600), "send").map((effect) => effect.withdrawal.sequence)).toEqual([2]);
  });

  it("tells no stage that the next one overtakes at once", () => {
    const driver = drive([sentView(1, "released")]);
    driver.block(10, { finalNumber: 9 });
    expect(asked(sent(driver, 1))).toEqual([]);
    expect(asked(driver.tick(499))).toEqual([]);
    expect(asked(look(driver, 1, 9))).toEqual([]);
    expect(observedBody(confirm(driver, 1, "paid")).map(({ stage }) => stage)).toEqual(["final"]);
    const slower = drive([sentView(1, "released")]);
    slower.block(10, { finalNumber: 9 });
    look(slower, 1, 9);
    expect(observedBody(slower.tick(500)).map(({ stage }) => stage)).toEqual(["included"]);
  });

  it("never sends what independent code reads differently", () => {
    const driver = drive([sentView(1, "released")]);
    expect(only(sent(driver, 1, "misread"), "alarm")).toHaveLength(1);
    for (let i = 0; i < 20; i++) expect(only(driver.tick(30_000), "send")).toEqual([]);
    expect(whyOf(driver, 1)).toBe("COURIER_READ_BACK");
  });

  it("sends the same version again while no block has it, lowest nonces first", () => {
    const many = Array.from({ length: 20 }, (_, i) => sentView(i + 1, "broadcast"));
    const driver = drive(many);
    for (const view of many) sent(driver, view.sequence);
    expect(only(driver.tick(29_000), "send")).toEqual([]);
    const again = only(driver.tick(1000), "send");
    expect(again.map((effect) => effect.withdrawal.sequence)).toEqual(Array.from({ length: 16 }, (_, i) => i + 1));
    expect(again.every((effect) => effect.version === 1)).toBe(true);
  });

  it("looks at the chain at once when a node says that the nonce is used", () => {
    const driver = drive([sentView(1, "released")]);
    expect(only(sent(driver, 1, "nonce-consumed"), "look")).toHaveLength(1);
  });
});

describe("a dearer version", () => {
  const waited = (over = {}) => {
    const driver = drive([sentView(1, "broadcast"), sentView(2, "broadcast")]);
    driver.block(10, over);
    sent(driver, 1);
    sent(driver, 2);
    return driver;
  };

  it("is asked for the lowest nonce alone, after six blocks, an eighth dearer", () => {
    const driver = waited();
    expect(asked(driver.block(15))).toEqual([]);
    const [ask] = only(driver.block(16), "ask");
    expect(ask?.body).toEqual({
      transactionId: idOf(1),
      above: 1,
      facts: { gasLimit: "21000", maxFeePerGas: "23625000000", maxPriorityFeePerGas: "1125000000" },
    });
  });

  it("follows the market where that is higher", () => {
    const driver = waited();
    const [ask] = only(driver.block(16, { baseFeePerGas: 50_000_000_000n, maxPriorityFeePerGas: 3_000_000_000n }), "ask");
    expect(ask?.verb === "replace" && ask.body.facts).toEqual({
      gasLimit: "21000",
      maxFeePerGas: "103000000000",
      maxPriorityFeePerGas: "3000000000",
    });
  });

  it("comes after a minute on a slow chain, but never without a new block", () => {
    const driver = waited();
    expect(asked(driver.tick(61_000)).filter((ask) => ask.startsWith("replace"))).toEqual([]);
    expect(asked(driver.block(11))).toContain("replace:1");
  });

  it("counts blocks from the first one known after a start", () => {
    const driver = drive([sentView(1, "broadcast")]);
    sent(driver, 1);
    expect(asked(driver.block(1000))).not.toContain("replace:1");
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "broadcast") },
    });
    expect(asked(driver.block(1005))).toEqual([]);
    expect(asked(driver.block(1006))).toEqual(["replace:1"]);
  });

  it("waits for its ceiling block by block", () => {
    const driver = waited();
    driver.block(16);
    driver.feed(refused("replace", 1, "POLICY_FEE_ABOVE_DAY"));
    expect(whyOf(driver, 1)).toBe("fee POLICY_FEE_ABOVE_DAY");
    expect(asked(driver.block(17))).toEqual(["replace:1"]);
  });

  it("is sent once released, and both versions are looked for", () => {
    const driver = waited();
    driver.block(16);
    const effects = driver.feed({
      kind: "answered",
      verb: "replace",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: signedAgain() },
    });
    expect(only(effects, "send")).toEqual([]);
    const released = driver.feed({ kind: "views", withdrawals: [sentView(1, "broadcast", 2)] });
    expect(only(released, "send").map((effect) => effect.version)).toEqual([2]);
    expect(only(driver.block(17), "look")[0]?.wanted[0]?.txHashes).toEqual([hashOf(1, 1), hashOf(1, 2)]);
  });

  const signedAgain = () => {
    const view = sentView(1, "broadcast", 2);
    return {
      ...view,
      versions: view.versions.map(({ raw, ...rest }) => (rest.version === 1 ? { ...rest, raw: raw ?? "" } : rest)),
    };
  };
});

describe("watching", () => {
  it("tells inclusion, then finality, then forgets", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10, { finalNumber: 8 });
    sent(driver, 1);
    expect(observedBody(look(driver, 1, 9))).toEqual([
      { transactionId: idOf(1), stage: "included", outcome: "", txHash: hashOf(1, 1), block: 9 },
    ]);
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "included") },
    });
    expect(only(driver.block(10, { finalNumber: 8 }), "confirm")).toEqual([]);
    expect(only(driver.block(11, { finalNumber: 9 }), "confirm")).toHaveLength(1);
    expect(observedBody(confirm(driver, 1, "paid"))).toEqual([
      { transactionId: idOf(1), stage: "final", outcome: "paid", txHash: hashOf(1, 1), block: 9 },
    ]);
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "paid") },
    });
    driver.feed({ kind: "views", withdrawals: [sentView(1, "included")] });
    expect(only(driver.block(12), "look")).toEqual([]);
  });

  it("tells a revert, and keeps a token transfer that moved otherwise for a person", () => {
    const reverted = drive([sentView(1, "included")]);
    reverted.block(10);
    look(reverted, 1, 5);
    reverted.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "included") },
    });
    expect(observedBody(confirm(reverted, 1, "reverted"))[0]?.outcome).toBe("reverted");
    const moved = drive([sentView(1, "included", 1, { contract: token, currency: "usdt" })]);
    moved.block(10);
    look(moved, 1, 5);
    const effects = confirm(moved, 1, "moved");
    expect(only(effects, "alarm")[0]?.code).toBe("COURIER_TOKEN_MOVED");
    expect(observedBody(effects)).toEqual([]);
  });

  it("goes back to broadcast and sends again after two looks in a row miss it, not after one", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10);
    sent(driver, 1);
    look(driver, 1, 9);
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "included") },
    });
    const [guard] = only(driver.block(11), "guard");
    expect(guard).toMatchObject({ block: 9, blockHash: "0x9" });
    expect(only(driver.feed({ kind: "guarded", chain: "local", holds: true }), "look")).toEqual([]);
    expect(only(driver.feed({ kind: "guarded", chain: "local", holds: false }), "look")).toHaveLength(1);
    expect(only(look(driver, 1, null), "send")).toEqual([]);
    expect(only(look(driver, 1, null), "send")).toHaveLength(1);
    sent(driver, 1);
    expect(observedBody(driver.tick(500))).toEqual([
      { transactionId: idOf(1), stage: "broadcast", outcome: "", txHash: hashOf(1, 1), block: 0 },
    ]);
  });

  it("looks again for one that a single node put into a block which is final by now, and sends it when it is not there", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10);
    sent(driver, 1);
    look(driver, 1, 9);
    const unproven = (): ReturnType<Driver["feed"]> =>
      driver.feed({ kind: "confirmed", chain: "local", found: [{ transactionId: idOf(1), verdict: null }] });
    driver.block(20);
    expect(only(unproven(), "look")).toHaveLength(1);
    expect(only(look(driver, 1, null), "send")).toEqual([]);
    expect(only(unproven(), "look")).toHaveLength(1);
    expect(only(look(driver, 1, null), "send")).toHaveLength(1);
    sent(driver, 1);
    expect(only(unproven(), "look"), "it is in no block any more").toEqual([]);
  });

  it("asks for receipts in order of nonce, only as far as they are found", () => {
    const many = Array.from({ length: 80 }, (_, i) => sentView(i + 1, "broadcast"));
    const driver = drive(many);
    const [first] = only(driver.block(10), "look");
    expect(first?.wanted.map((one) => one.withdrawal.sequence)).toEqual(Array.from({ length: 32 }, (_, i) => i + 1));
    const found = (from: number, to: number, last: number) =>
      driver.feed({
        kind: "looked",
        chain: "local",
        found: many.slice(from, to).map(({ transactionId, sequence }) => ({
          transactionId,
          place: sequence > last ? null : { txHash: hashOf(sequence, 1), block: 10, blockHash: "0x10" },
        })),
      });
    const [second] = only(found(0, 32, 40), "look");
    expect(second?.wanted[0]?.withdrawal.sequence).toBe(33);
    expect(second?.wanted).toHaveLength(48);
    expect(only(found(32, 80, 40), "look")).toEqual([]);
  });

  it("looks as soon as there is a block, and not again when its facts follow", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10);
    expect(only(driver.feed({ kind: "head", chain: "local", number: 11 }), "look")).toHaveLength(1);
    expect(only(driver.block(11), "look")).toEqual([]);
    expect(only(driver.tick(14_000), "look")).toEqual([]);
    expect(only(driver.tick(1000), "look")).toHaveLength(1);
  });

  it("calls a nonce lost only when its use by another was agreed again and again for a minute", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10);
    sent(driver, 1);
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "broadcast") },
    });
    const counters = () =>
      driver.feed({ kind: "counters", chain: "local", answer: { ok: true, latest: 2n, pending: 2n, final: 2n, witnesses: 2 } });
    for (let i = 0; i < 4; i++) {
      expect(observedBody(counters())).toEqual([]);
      driver.tick(15_000);
    }
    expect(observedBody(counters())[0]).toMatchObject({ stage: "final", outcome: "lost" });
  });

  it("tells of a lost nonce though a dearer version is refused at each block", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10);
    sent(driver, 1, "nonce-consumed");
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "broadcast") },
    });
    const asks: string[] = [];
    for (let number = 16; number < 60; number++) {
      asks.push(...asked(driver.block(number)));
      driver.feed(refused("replace", 1, "POLICY_FEE_ABOVE_DAY"));
      driver.feed({ kind: "counters", chain: "local", answer: { ok: true, latest: 2n, pending: 2n, final: 2n, witnesses: 2 } });
      asks.push(...asked(driver.tick(3_000)));
    }
    expect(asks).toContain("replace:1");
    expect(asks.at(-1)).toBe("observed:1");
  });

  it("takes a late answer of an earlier stage for no answer to the last", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10);
    look(driver, 1, 9);
    const answer = (state: "included" | "paid") =>
      ({
        kind: "answered",
        verb: "observed",
        transactionId: idOf(1),
        answer: { ok: true, withdrawal: sentView(1, state) },
      }) as const;
    driver.feed(answer("included"));
    expect(asked(confirm(driver, 1, "paid"))).toEqual(["observed:1"]);
    driver.feed(answer("included"));
    expect(asked(driver.tick(36_000))).toEqual(["observed:1"]);
  });

  it("tells nothing twice", () => {
    const driver = drive([sentView(1, "broadcast")]);
    driver.block(10);
    look(driver, 1, 9);
    expect(asked(look(driver, 1, 9))).toEqual([]);
    driver.feed({
      kind: "answered",
      verb: "observed",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: sentView(1, "included") },
    });
    expect(asked(look(driver, 1, 9))).toEqual([]);
    expect(asked(driver.tick(1000))).toEqual([]);
    expect(asked(look(driver, 1, 10))).toEqual(["observed:1"]);
  });
});

describe("the account", () => {
  const unadopted = { accounts: [{ chain: "local", network: "eip155:31337", address: "0x1", nextNonce: "" }] };
  const counters = (driver: Driver, latest: bigint, pending: bigint, final: bigint) =>
    driver.feed({ kind: "counters", chain: "local", answer: { ok: true, latest, pending, final, witnesses: 2 } });

  it("adopts the first nonce only when all three counters agree", () => {
    const driver = drive([viewOf(1, "approved")], unadopted);
    expect(only(counters(driver, 4n, 5n, 3n), "adopt")).toEqual([]);
    driver.block(10);
    expect(whyOf(driver, 1)).toBe("first nonce the account's counters differ: final 3, latest 4, pending 5");
    expect(only(driver.tick(5000), "counters")).toHaveLength(1);
    expect(only(counters(driver, 4n, 4n, 4n), "adopt")[0]?.body).toEqual({ chain: "local", nonce: "4", witnesses: 2 });
    const adopted = { chain: "local", network: "eip155:31337", address: "0x1", nextNonce: "4" };
    expect(only(driver.feed({ kind: "adopted", chain: "local", answer: { ok: true, account: adopted } }), "gas")).toHaveLength(1);
  });

  it("is asked about as soon as the gateway has greeted, and not before", () => {
    const driver = drive([], { ...unadopted, greeted: false });
    driver.block(10);
    expect(only(driver.tick(5000), "counters")).toEqual([]);
    const greeting = { kind: "hello", hello: helloOf([], unadopted), isFresh: false, askedAtMs: driver.nowMs } as const;
    expect(only(driver.feed(greeting), "counters")).toHaveLength(1);
  });

  it("begins elsewhere when nothing is under way and all counters say so; the signer knows whether it still may", () => {
    const driver = drive([]);
    expect(only(counters(driver, 9n, 9n, 8n), "adopt")).toEqual([]);
    expect(only(counters(driver, 7n, 7n, 7n), "adopt")).toEqual([]);
    expect(counters(driver, 9n, 9n, 9n).slice(0, 2)).toEqual([
      { kind: "adopt", body: { chain: "local", nonce: "9", witnesses: 2 } },
      { kind: "account", body: { chain: "local", nonce: "9", witnesses: 2 } },
    ]);
    const adopted = { chain: "local", network: "eip155:31337", address: "0x1", nextNonce: "9" };
    driver.feed({ kind: "adopted", chain: "local", answer: { ok: true, account: adopted } });
    expect(only(counters(driver, 9n, 9n, 9n), "adopt")).toEqual([]);
    const busy = drive([sentView(1, "broadcast")]);
    expect(only(counters(busy, 9n, 9n, 9n), "adopt")).toEqual([]);
  });

  it("takes a fault for no number, and asks again", () => {
    const driver = drive([], unadopted);
    const fault = { ok: false, code: "NODE_DISAGREE", effect: "none" } as const;
    expect(driver.feed({ kind: "counters", chain: "local", answer: fault })).toEqual([]);
    expect(only(driver.tick(5000), "counters")).toHaveLength(1);
  });

  it("gives the signer the final counter each minute", () => {
    const driver = drive([]);
    expect(only(counters(driver, 9n, 9n, 8n), "account")[0]?.body).toEqual({ chain: "local", nonce: "8", witnesses: 2 });
    expect(only(driver.tick(59_000), "counters")).toEqual([]);
    expect(only(driver.tick(1000), "counters")).toHaveLength(1);
  });
});

describe("a start", () => {
  it("takes the same steps for each unfinished withdrawal, wherever it stood", () => {
    const driver = drive([]);
    const hello = helloOf([sentView(1, "included"), sentView(2, "broadcast"), sentView(3, "released"), viewOf(4, "approved")]);
    const effects = driver.feed({ kind: "hello", hello, isFresh: true, askedAtMs: driver.nowMs });
    expect(only(effects, "send").map((effect) => effect.withdrawal.sequence)).toEqual([1, 2, 3]);
    const block = driver.block(10);
    expect(only(block, "look")[0]?.wanted.map((one) => one.withdrawal.sequence)).toEqual([1, 2, 3]);
    expect(only(block, "gas")).toHaveLength(1);
  });
});

describe("random worlds", () => {
  it.each(seedsOfRun(40))("ends every withdrawal and breaks no rule, SEED=%i", (seed) => {
    const { ended, broken } = runWorld(seed);
    expect(broken, `SEED=${seed}`).toEqual([]);
    expect(ended, `SEED=${seed}`).toEqual({});
  });
});
