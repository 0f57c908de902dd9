/**
 * The books explain all that the watcher credits; without a rule of crediting they name the
 * address. The chain is scripted; the watcher reads it over HTTP, the books as it stands.
 */

import { describe, expect, it, vi } from "vitest";
import { goodResult } from "../../base/result.ts";
import { closeBooks } from "../../gateway/books/closing.ts";
import type { BookNodes } from "../../gateway/books/compare.ts";
import { hashOf } from "../../lab/kit/fake-chain.ts";
import {
  chain,
  currency,
  db,
  eachTestItsChain,
  eth,
  keys,
  network,
  outsider,
  passes,
  payment,
  request,
  signedWithdrawal,
  start,
  token,
  usd,
  usdPayment,
} from "../support/watched-chain.ts";

const rule = vi.hoisted(() => ({ out: "" }));
vi.mock("../../gateway/store/top-ups.ts", async (real) => {
  const found = await real<typeof import("../../gateway/store/top-ups.ts")>();
  const isOwnTopUp: typeof found.isOwnTopUp = (database, paid) =>
    rule.out === "another merchant's payouts"
      ? database.get("SELECT 1 FROM signatures WHERE txHash = ?", paid.txHash) !== undefined
      : found.isOwnTopUp(database, paid);
  return { ...found, isOwnTopUp };
});
vi.mock("../../gateway/store/address-states.ts", async (real) => {
  const found = await real<typeof import("../../gateway/store/address-states.ts")>();
  return {
    ...found,
    explainedUnits: (...[database, place, ...how]: Parameters<typeof found.explainedUnits>) => {
      if (rule.out === "explained") return 0n;
      const sql = "SELECT units FROM moves WHERE kind = 'opening' AND toSide = ? AND currency = ?";
      const [opening] =
        rule.out === "baseline"
          ? database.all<{ units: string }>(sql, place.address, place.currency)
          : [];
      return found.explainedUnits(database, place, ...how) - BigInt(opening?.units ?? "0");
    },
  };
});
vi.mock("../../gateway/watcher/readings.ts", async (real) => {
  const found = await real<typeof import("../../gateway/watcher/readings.ts")>();
  return {
    ...found,
    applyReading: (...given: Parameters<typeof found.applyReading>) =>
      rule.out === "compared" || rule.out === "another merchant's payouts"
        ? false
        : found.applyReading(...given),
  };
});
vi.mock("../../gateway/watcher/findings.ts", async (real) => {
  const found = await real<typeof import("../../gateway/watcher/findings.ts")>();
  const findPayments: typeof found.findPayments = async (...given) => {
    const rows = await found.findPayments(...given);
    if (rule.out === "tokens") return rows.filter((row) => row.currency !== "usd");
    if (rule.out === "first") return rows.slice(0, 1);
    if (rule.out === "twice")
      return rows.flatMap((row) => [row, { ...row, logIndex: row.logIndex + 1_000 }]);
    if (rule.out === "unit")
      return rows.map((row) => ({ ...row, units: `${BigInt(row.units) + 1n}` }));
    return rows;
  };
  return { ...found, findPayments };
});

eachTestItsChain();

/** The scripted chain's answers; nothing is asked of the hot wallet. */
const nodes: BookNodes = {
  balances: async (asked, block) =>
    asked.map(({ account, contract }) => {
      const call = {
        to: contract,
        data: `0x70a08231${account.slice(2).toLowerCase().padStart(64, "0")}`,
      };
      const answer =
        contract === ""
          ? chain.answer("eth_getBalance", [account, `0x${block.toString(16)}`])
          : chain.answer("eth_call", [call]);
      return goodResult(BigInt(String(answer)));
    }),
  finalTip: async () => ({ number: chain.top, hash: "" }),
};

async function named(): Promise<readonly string[]> {
  db.store.database.run("UPDATE agents SET unpairedAt = 1");
  const currencies = [currency("eth", ""), currency("usd", token)];
  const options = {
    store: db.store,
    network,
    reader: nodes,
    currencies,
    coin: "eth",
    merchant: null,
    isWhole: true,
  };
  const closed = await closeBooks({ ...options, clock: () => 5_000, rest: async () => {} });
  return closed.differences.map(
    (row) => `${row.address} ${row.currency} ${BigInt(row.foundUnits) - BigInt(row.expectedUnits)}`,
  );
}

/** Every way in which money comes to an address here, and coins that lay on an address before. */
async function aDay() {
  const [direct, tokens, contract, payout, used] = [
    request(0),
    request(1, usd),
    request(2),
    request(3),
    request(4),
  ];
  const [hotWallet, id] = [
    keys.hotWalletAddress,
    signedWithdrawal(5, { receiver: payout.address }),
  ];
  chain.coins.push({ block: 0, address: used.address, units: 3n * eth });
  await start();
  await passes(6);
  chain.mine(
    { hash: hashOf("direct"), from: outsider, to: direct.address, value: eth },
    usdPayment("tokens", tokens.address, 5_000_000n),
  );
  chain.tokens.set(`${token} ${tokens.address}`.toLowerCase(), 5_000_000n);
  chain.coins.push({ block: chain.mine(), address: contract.address, units: eth / 2n });
  chain.mine(payment(id, 5, { from: hotWallet, to: payout.address }));
  chain.mineEmpty(6);
  await passes(8);
  chain.mineEmpty(2);
  await passes(6);
  return {
    direct: direct.address,
    tokens: tokens.address,
    contract: contract.address,
    payout: payout.address,
    used: used.address,
  };
}

describe("the books judge the watcher", () => {
  it("the watcher's credits and the books agree to the unit", async () => {
    rule.out = "";
    await aDay();
    expect(await named()).toEqual([]);
  });

  const rules: readonly [string, (day: Awaited<ReturnType<typeof aDay>>) => string][] = [
    ["another merchant's payouts", ({ payout }) => `${payout} eth ${eth}`],
    ["baseline", ({ used }) => `${used} eth ${-3n * eth}`],
    ["compared", ({ contract }) => `${contract} eth ${eth / 2n}`],
    ["explained", ({ contract }) => `${contract} eth -`],
    ["tokens", ({ tokens }) => `${tokens} usd 5000000`],
    ["twice", ({ direct }) => `${direct} eth ${-eth}`],
    ["unit", ({ direct }) => `${direct} eth -1`],
  ];
  it.each(rules)(
    "the watcher without the rule %s is found out by the address",
    async (out, expected) => {
      rule.out = out;
      const day = await aDay();
      const found = await named();
      expect(
        found.some((name) => name.startsWith(expected(day))),
        found.join(),
      ).toBe(true);
    },
  );
});
