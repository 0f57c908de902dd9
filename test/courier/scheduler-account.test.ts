/** The scheduler and the account: where its nonces begin, and what the nodes count. */
import { describe, expect, it } from "vitest";
import { gasFor, whyOf } from "../support/scheduler-answers.ts";
import { type Driver, drive, helloOf, only, sentView, viewOf } from "../support/scheduler-views.ts";

describe("the account", () => {
  const unadopted = {
    accounts: [{ chain: "local", network: "eip155:31337", address: "0x1", nextSlot: "" }],
  };
  const slotCounts = (
    driver: Driver,
    latest: bigint,
    pending: bigint,
    final: bigint,
    isSame = true,
  ) =>
    driver.feed({
      kind: "slotCounts",
      chain: "local",
      answer: { ok: true, latest, pending, final, quorum: 2, isSame },
    });

  it("the scheduler adopts the first nonce only when all three slot counts agree", () => {
    const driver = drive([viewOf(1, "approved")], unadopted);
    expect(only(slotCounts(driver, 4n, 5n, 3n), "adopt")).toEqual([]);
    driver.block(10);
    expect(whyOf(driver, 1)).toBe(
      "first slot the account's slot counts differ: final 3, latest 4, pending 5",
    );
    expect(only(driver.tick(5000), "slotCounts")).toHaveLength(1);
    expect(only(slotCounts(driver, 4n, 4n, 4n), "adopt")[0]?.body).toEqual({
      chain: "local",
      slot: "4",
      quorum: 2,
    });
    const adopted = { chain: "local", network: "eip155:31337", address: "0x1", nextSlot: "4" };
    expect(
      only(
        driver.feed({ kind: "adopted", chain: "local", answer: { ok: true, account: adopted } }),
        "gas",
      ),
    ).toHaveLength(1);
  });

  it("whose first slot the gateway has not named is asked about, and begins with its word", () => {
    const driver = drive([viewOf(1, "approved")], unadopted);
    const refusal = (code: string) =>
      driver.feed({ kind: "adopted", chain: "local", answer: { ok: false, code, effect: "none" } });
    slotCounts(driver, 4n, 4n, 4n);
    driver.block(10);
    const asked = {
      kind: "question",
      coins: [],
      accounts: [{ network: "eip155:31337", account: "0x1" }],
      orders: [],
    };
    expect(only(refusal("ACCOUNT_FIRST_UNNAMED"), "question")).toEqual([asked]);
    driver.tick(20_000);
    slotCounts(driver, 4n, 4n, 4n);
    refusal("ACCOUNT_FIRST_UNNAMED");
    expect(whyOf(driver, 1)).toContain("ACCOUNT_FIRST_UNNAMED");
    const word = { network: "eip155:31337", account: "0x1" };
    expect(
      only(
        driver.feed({
          kind: "sighted",
          coins: [],
          next: [{ ...word, account: "0x2" }],
          orders: [],
        }),
        "slotCounts",
      ),
    ).toEqual([]);
    expect(
      only(driver.feed({ kind: "sighted", coins: [], next: [word], orders: [] }), "slotCounts"),
    ).toHaveLength(1);
    expect(only(slotCounts(driver, 4n, 4n, 4n), "adopt")).toHaveLength(1);
    // A word that does not suffice is the operator's matter, who finds the line to type.
    expect(only(refusal("ACCOUNT_FIRST_SLOT"), "question")).toEqual([]);
    expect(whyOf(driver, 1)).toContain("autowithdraw adopt local");
    // The word may be one that a node's lie made, so that it is asked for again, once a minute.
    driver.tick(60_000);
    expect(only(refusal("ACCOUNT_FIRST_SLOT"), "question")).toEqual([asked]);
    expect(only(refusal("ACCOUNT_FIRST_SLOT"), "question")).toEqual([]);
  });

  it("is asked about as soon as the handshake is complete, and not before", () => {
    const driver = drive([], { ...unadopted, handshakeDone: false });
    driver.block(10);
    expect(only(driver.tick(5000), "slotCounts")).toEqual([]);
    const handshake = {
      kind: "hello",
      hello: helloOf([], unadopted),
      isFresh: false,
      askedAtMs: driver.nowMs,
    } as const;
    expect(only(driver.feed(handshake), "slotCounts")).toHaveLength(1);
  });

  it("begins elsewhere when nothing is under way and all slot counts say so; the signer knows whether it still may", () => {
    const driver = drive([]);
    expect(only(slotCounts(driver, 9n, 9n, 8n), "adopt")).toEqual([]);
    expect(only(slotCounts(driver, 7n, 7n, 7n), "adopt")).toEqual([]);
    expect(slotCounts(driver, 9n, 9n, 9n).slice(0, 2)).toEqual([
      { kind: "adopt", body: { chain: "local", slot: "9", quorum: 2 } },
      { kind: "account", body: { chain: "local", slot: "9", quorum: 2 } },
    ]);
    const adopted = { chain: "local", network: "eip155:31337", address: "0x1", nextSlot: "9" };
    driver.feed({ kind: "adopted", chain: "local", answer: { ok: true, account: adopted } });
    expect(only(slotCounts(driver, 9n, 9n, 9n), "adopt")).toEqual([]);
    const busy = drive([sentView(1, "broadcast")]);
    expect(only(slotCounts(busy, 9n, 9n, 9n), "adopt")).toEqual([]);
  });

  it("the scheduler signs nothing new before the nodes have counted, nor while they count past the ledger, in whatever pool or block", () => {
    const handshake = (driver: Driver) =>
      driver.feed({
        kind: "hello",
        hello: helloOf([viewOf(1, "approved")]),
        isFresh: true,
        askedAtMs: driver.nowMs,
      });
    for (const [latest, pending, final] of [
      [8n, 8n, 8n],
      [8n, 8n, 7n],
      [7n, 8n, 7n],
    ] as const) {
      const driver = drive([]);
      driver.block(10);
      expect(only(handshake(driver), "gas")).toEqual([]);
      expect(whyOf(driver, 1)).toBe("the account's slot counts");
      for (const isSame of [true, false]) {
        expect(only(slotCounts(driver, latest, pending, final, isSame), "gas")).toEqual([]);
        expect(whyOf(driver, 1)).toBe("ACCOUNT_BEHIND");
      }
      expect(only(driver.tick(4999), "slotCounts")).toEqual([]);
      expect(only(driver.tick(1), "slotCounts")).toHaveLength(1);
      expect(only(slotCounts(driver, 7n, 7n, 7n), "gas")).toHaveLength(1);
    }
  });

  it("the scheduler counts its own payments among those that the ledger knows, as soon as they have a nonce", () => {
    const driver = drive([viewOf(1, "approved")]);
    driver.block(10);
    driver.feed({
      kind: "views",
      withdrawals: [sentView(1, "released", 1, { slot: "7" }), viewOf(2, "approved")],
    });
    slotCounts(driver, 8n, 8n, 7n);
    expect(whyOf(driver, 2)).toBeUndefined();
    slotCounts(driver, 9n, 9n, 7n);
    expect(whyOf(driver, 2)).toBe("ACCOUNT_BEHIND");
  });

  it("the scheduler takes nothing for the first nonce that not enough nodes say alike", () => {
    const driver = drive([viewOf(1, "approved")], unadopted);
    expect(only(slotCounts(driver, 4n, 4n, 4n, false), "adopt")).toEqual([]);
    expect(only(slotCounts(driver, 4n, 4n, 4n), "adopt")).toHaveLength(1);
  });

  it("the scheduler takes a fault for no number, and asks again", () => {
    const driver = drive([], unadopted);
    const fault = { ok: false, code: "NODE_DISAGREE", effect: "none" } as const;
    expect(driver.feed({ kind: "slotCounts", chain: "local", answer: fault })).toEqual([]);
    expect(only(driver.tick(5000), "slotCounts")).toHaveLength(1);
  });

  it("the scheduler gives the signer the final counter each minute", () => {
    const driver = drive([]);
    expect(only(slotCounts(driver, 7n, 7n, 6n), "account")[0]?.body).toEqual({
      chain: "local",
      slot: "6",
      quorum: 2,
    });
    expect(only(driver.tick(59_000), "slotCounts")).toEqual([]);
    expect(only(driver.tick(1000), "slotCounts")).toHaveLength(1);
  });

  describe("that began above a payment's slot", () => {
    const network = "xrpl:0";
    const [stated, first] = ["5", 95_000_000n];
    const begun = { accounts: [{ chain: "local", network, address: "r1", nextSlot: "6" }] };
    const payment = () => {
      const view = sentView(1, "broadcast");
      return { ...view, network, currency: "xrp", sender: "r1", account: "r1", slot: stated };
    };
    const counted = (driver: Driver, began: object | null) =>
      driver.feed({
        ...({ kind: "slotCounts", chain: "local" } as const),
        answer: {
          ok: true,
          latest: first,
          pending: first,
          final: first,
          quorum: 2,
          isSame: true,
          ...began,
        } as never,
      });
    /** So many counts, a quarter of a minute apart. */
    function counts(driver: Driver, times: number, began: object | null) {
      const effects = Array.from({ length: times }, () => [
        ...counted(driver, began),
        ...driver.tick(15_000),
      ]).flat();
      return { effects, asked: only(effects, "ask").filter(({ verb }) => verb === "observed") };
    }

    it("is asked for its beginning, tells the signer, and calls the slot nobody's", () => {
      const driver = drive([payment()], begun);
      const began = { began: { slot: `${first}`, absentMs: 1 } };
      const { effects, asked } = counts(driver, 8, began);
      expect(only(effects, "slotCounts")).toContainEqual(
        expect.objectContaining({ address: "r1", asksBegan: true }),
      );
      expect(only(effects, "account")[0]?.body).toEqual({
        chain: "local",
        slot: `${first}`,
        quorum: 2,
        ...began,
      });
      expect(JSON.stringify(asked)).not.toContain("conflicted");
    });

    it("has the slot taken by another transaction where the nodes show no beginning, or a lower one", () => {
      for (const began of [null, { began: { slot: stated, absentMs: 1 } }]) {
        const driver = drive([payment()], begun);
        expect(JSON.stringify(counts(driver, 8, began).asked)).toContain("conflicted");
      }
    });

    it("is begun again where the signer says so, also at the slot that it has", () => {
      const adopted = (driver: Driver) => only(slotCounts(driver, 7n, 7n, 7n), "adopt");
      const driver = drive([viewOf(1, "approved")]);
      driver.block(10);
      expect(only(gasFor(driver, 1), "ask")).toHaveLength(1);
      const { transactionId } = viewOf(1, "approved");
      const answer = { ok: false, code: "ACCOUNT_NOT_ADOPTED", effect: "none" } as const;
      driver.feed({ kind: "answered", verb: "sign", transactionId, answer });
      expect(adopted(driver)).toHaveLength(1);
      const account = { chain: "local", network: "eip155:31337", address: "0x1", nextSlot: "7" };
      driver.feed({ kind: "adopted", chain: "local", answer: { ok: true, account } });
      expect(adopted(driver)).toEqual([]);
    });
  });
});
