/**
 * The standing of offered bytes: what no node took is offered again at the market on every chain
 * with bidding, what a node took only where nodes replace it, and the words for what stands.
 */
import { describe, expect, it } from "vitest";
import type { CourierView } from "../../agent/socket/verbs.ts";
import type { NodeAnswer } from "../../chains/nodes.ts";
import { addressOfScript } from "../../chains/utxo/address.ts";
import { bitcoin, litecoin, type UtxoNetwork } from "../../chains/utxo/network.ts";
import {
  declined,
  gasFor,
  look,
  observedBody,
  refused,
  sent,
  whyOf,
} from "../support/scheduler-answers.ts";
import {
  asked,
  attemptOf,
  type Driver,
  drive,
  idOf,
  only,
  sentView,
  viewOf,
} from "../support/scheduler-views.ts";
import {
  attemptAt,
  driveWaiting,
  lifetimeMs,
  marginMs,
  startMs,
  waitingView,
} from "../support/scheduler-waiting-views.ts";

const regtestOf = ({ networks }: { readonly networks: readonly UtxoNetwork[] }) =>
  networks.at(-1) as UtxoNetwork;
const p2wpkh = (network: UtxoNetwork, byte: number): string =>
  addressOfScript(
    Buffer.from([0x00, 0x14, ...Array.from({ length: 20 }, () => byte)]),
    network,
  ) as string;
const coin = { id: `${"1".padStart(64, "0")}:0`, units: 900_000n };
const satPerKvB = (rate: bigint, coins = [coin]) => ({
  feeMarket: { satPerKvB: rate },
  coins,
  balances: new Map([["", 900_000n]]),
});

/** One payment of coins, with its first attempt at 1 sat/vB, in a scheduler of its own. */
function coinPayment(network: UtxoNetwork, state: "released" | "broadcast" = "released"): Driver {
  const account = p2wpkh(network, 7);
  const paid = {
    currency: "coin",
    network: network.id,
    amount: "0.001",
    amountUnits: "100000",
    address: p2wpkh(network, 8),
  };
  const txParams = { coins: `${coin.id}:${coin.units}`, changeSat: "799828", feeSat: "172" };
  const attempts = [
    attemptOf(1, { txHash: "c".repeat(64), txParams, feeMax: "172", raw: "0x0201" }),
  ];
  const view: CourierView = viewOf(1, state, { ...paid, sender: account, account, attempts });
  const driver = drive([view], {
    accounts: [{ chain: "local", network: network.id, address: account, nextSlot: "7" }],
  });
  driver.block(10, satPerKvB(1_000n));
  return driver;
}

/** The next block, when half a minute has gone by, with an estimate if it is asked for. */
function blockLater(driver: Driver, number: number, over: Parameters<Driver["block"]>[1] = {}) {
  driver.nowMs += 31_000;
  const effects = driver.block(number, over);
  return only(effects, "gas").length === 0 ? effects : [...effects, ...gasFor(driver, 1)];
}

const feeSatOf = (effects: ReturnType<Driver["feed"]>): readonly bigint[] =>
  only(effects, "ask").flatMap((ask) =>
    ask.verb === "replace" ? [BigInt(ask.body.txParams.feeSat ?? 0)] : [],
  );

describe("an offer that no node took", () => {
  it("is offered again at the market where nodes replace nothing, and is not where one took it", () => {
    const words = "mempool min fee not met";
    const none = coinPayment(regtestOf(litecoin));
    declined(none, 1, words, "price");
    expect(whyOf(none, 1)).toBe(`offered, no node took it: http://one: ${words}`);
    const [fee = 0n] = feeSatOf(blockLater(none, 11, satPerKvB(30_000n)));
    expect(fee).toBeGreaterThan(4_000n);
    const one = coinPayment(regtestOf(litecoin));
    sent(one, 1);
    expect(feeSatOf(blockLater(one, 20, satPerKvB(30_000n)))).toEqual([]);
    one.feed(refused("observed", 1, "WITHDRAWAL_NOT_RELEASED"));
    // The node lets it go without a word, and refuses the same bytes later.
    declined(one, 1, words, "price");
    expect(feeSatOf(blockLater(one, 21, satPerKvB(30_000n)))).toHaveLength(1);
    const replaced = coinPayment(regtestOf(bitcoin), "broadcast");
    sent(replaced, 1);
    expect(feeSatOf(blockLater(replaced, 20, satPerKvB(30_000n)))).toHaveLength(1);
  });

  it("follows the least fee that a node names, above a market of silence", () => {
    const feeWith = (least?: string): bigint => {
      const driver = coinPayment(regtestOf(litecoin));
      const answer = {
        node: "http://one",
        standing: "refused",
        meaning: "price",
        text: "min relay fee not met",
      } as const;
      const answers = [least === undefined ? answer : { ...answer, least }];
      driver.feed({ kind: "sent", transactionId: idOf(1), attempt: 1, answers });
      return feeSatOf(blockLater(driver, 11, satPerKvB(1_000n)))[0] ?? 0n;
    };
    expect(feeWith()).toBeLessThan(400n);
    expect(feeWith("2000")).toBeGreaterThanOrEqual(2_000n);
    expect(feeWith("2000")).toBeLessThan(2_600n);
  });

  it("follows the least tip that a node names on a chain with tips, unless the signer refuses that", () => {
    const tips = (driver: Driver, block: number): readonly (string | undefined)[] =>
      only(blockLater(driver, block), "ask").flatMap((ask) =>
        ask.verb === "replace" ? [ask.body.txParams.maxPriorityFeePerGas] : [],
      );
    const driver = drive([sentView(1, "released")]);
    driver.block(10);
    const least = {
      node: "http://one",
      standing: "refused",
      meaning: "price",
      text: "",
      least: "30000000000",
    } as const;
    driver.feed({ kind: "sent", transactionId: idOf(1), attempt: 1, answers: [least] });
    expect(tips(driver, 11)).toEqual(["30000000000"]);
    driver.feed(refused("replace", 1, "POLICY_TIP_ABOVE_MAX"));
    expect(whyOf(driver, 1)).toContain("offered, no node took it");
  });

  it("is told before every other reason, also where an attempt ends by time", () => {
    const driver = driveWaiting([waitingView(1, "released")]);
    driver.at(startMs);
    declined(driver, 1, "SIGERROR not contained of permission", "bytes");
    driver.tick(61_000);
    driver.at(startMs + 1_000);
    expect(whyOf(driver, 1)).toBe(
      "offered, no node took it: http://one: SIGERROR not contained of permission",
    );
    // An end by time alone is no refusal of the payment.
    const expired = driveWaiting([waitingView(1, "released", [attemptAt(1, 1)])]);
    expired.at(startMs);
    sent(expired, 1, "expired");
    expired.at(startMs + lifetimeMs + marginMs - 1);
    expect(whyOf(expired, 1)).toMatch(/^waits for chain time/);
  });
});

describe("bytes in doubt", () => {
  const waited = (said: "doubtful" | "slot-used" | "sent"): Driver => {
    const driver = drive([sentView(1, "released")]);
    driver.block(10);
    for (let at = 0; at < 3; at += 1) {
      sent(driver, 1, said, 1, "NODE_TIMEOUT: no answer");
      driver.tick(30_000);
    }
    return driver;
  };

  it("are told as such after a minute, and are no broadcast, as those that a node took are", () => {
    expect(whyOf(waited("doubtful"), 1)).toBe(
      "offered, no node has said that it took it: http://one: NODE_TIMEOUT: no answer",
    );
    expect(whyOf(waited("slot-used"), 1)).toBe(
      "offered, no node took it: http://one: NODE_TIMEOUT: no answer",
    );
    expect(whyOf(waited("sent"), 1)).toBeUndefined();
    const early = drive([sentView(1, "released")]);
    expect(observedBody(sent(early, 1, "doubtful"))).toEqual([]);
    expect(whyOf(early, 1)).toBeUndefined();
    expect(observedBody(early.tick(500))).toEqual([]);
    expect(observedBody(sent(early, 1)).map(({ stage }) => stage)).toEqual(["broadcast"]);
  });

  it("keep a node's last word while it cannot be reached", () => {
    const driver = drive([sentView(1, "released")]);
    const said = (...answers: readonly (readonly [string, NodeAnswer["standing"]])[]) =>
      driver.feed({
        kind: "sent",
        transactionId: idOf(1),
        attempt: 1,
        answers: answers.map(([node, standing]) => ({
          node,
          standing,
          meaning: "",
          text: "words",
        })),
      });
    said(["one", "taken"], ["two", "refused"]);
    said(["one", "unsent"], ["two", "refused"]);
    expect(whyOf(driver, 1)).toBeUndefined();
    said(["one", "refused"], ["two", "refused"]);
    expect(whyOf(driver, 1)).toBe("offered, no node took it: one: words");
    expect(asked(look(driver, 1, 9))).toEqual(["observed:1"]);
    expect(whyOf(driver, 1)).toBeUndefined();
  });
});

it("nothing is signed from an account that its own key does not control any more, and it goes on where it does", () => {
  const waits = (over: Parameters<Driver["block"]>[1]): string | undefined => {
    const driver = drive([viewOf(1, "approved")]);
    driver.block(10, over);
    return whyOf(driver, 1);
  };
  expect(waits({ isKeyChanged: true })).toBe("ACCOUNT_KEY_CHANGED");
  expect(waits({ accountHasCode: true })).toBe("COURIER_ACCOUNT_CODE");
  expect(waits({ isKeyChanged: false })).toBeUndefined();
});
