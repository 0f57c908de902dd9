/**
 * The real agent and gateway over two nodes that stand in for rippled: begun by an operator, paid
 * out with and without a tag while courier and signer are killed, replaced once its last ledger is
 * past, cancelled, declined for a receiver that no ledger would pay; paid in by tags, also by wrong
 * ones; and the books to the drop. Every balance is read from the stand-in itself.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeXAddress } from "../../chains/xrp/address.ts";
import { type Kit, projectRoot, startKit } from "../../lab/kit/kit.ts";
import { run, until } from "../../lab/kit/processes.ts";
import { createShop, type Shop } from "../../lab/kit/shop.ts";
import { nextSequence } from "../../lab/xrp-node/in-demo.ts";
import { person } from "../../lab/xrp-node/people.ts";
import { startXrpNode, type XrpNode, xrpNodeMissing } from "../../lab/xrp-node/xrp-node.ts";
import { startsTheBuild } from "../support/built.ts";

const waitMs = 120_000;
const xrp = 1_000_000n;
const chainId = 1;
const policy = {
  maxPerWithdrawal: "100",
  maxPerHour: "900",
  maxPerDay: "900",
  maxFee: "0.01",
  maxFeePerDay: "0.1",
};
const lacks = xrpNodeMissing;
if (lacks !== null) process.stderr.write(`\n*** SKIPPED: ${lacks}\n\n`);

interface Shown {
  readonly state: string;
  readonly attempts: readonly {
    readonly txHash: string;
    readonly raw?: string;
    readonly txParams: Record<string, string> | null;
  }[];
}

startsTheBuild();

describe.skipIf(lacks !== null)("an agent with a chain of XRP", () => {
  const customer = person("customer");
  const exchange = person("exchange");
  const shopper = person("shopper");
  let node: XrpNode;
  let kit: Kit;
  let shop: Shop;
  let hotWallet = "";

  const said = (): string =>
    `${kit.crypto?.output().slice(-3_000)}\n${kit.gateway?.output().slice(-2_000)}`;

  async function order(
    amount: string,
    receiver: string,
    orderId: string,
    tag = "",
  ): Promise<string> {
    let last = "";
    return until(
      `an answer to ${orderId}`,
      waitMs,
      async () => {
        const answer = await shop.autoWithdraw({
          currency: "xrp",
          amount,
          receiver,
          orderId,
          ...(tag === "" ? {} : { tag }),
        });
        last = JSON.stringify(answer);
        return answer.transactionId === "" ? undefined : answer.transactionId;
      },
      () => `${last}\n${said()}`,
    );
  }

  const ends = (id: string, status: number, type: 1 | 2 = 2) =>
    until(
      `${id} has the status ${status}`,
      waitMs,
      async () => {
        const found = await shop.transaction(id, type);
        return found.status === status ? found : undefined;
      },
      said,
    );

  const withdrawal = async (id: string): Promise<Shown> =>
    (JSON.parse((await kit.cli("show", id, "--json")).output) as { withdrawal: Shown }).withdrawal;

  const becomes = (id: string, what: string, is: (one: Shown) => boolean): Promise<Shown> =>
    until(
      `${id} ${what}`,
      waitMs,
      async () => {
        const one = await withdrawal(id);
        return is(one) ? one : undefined;
      },
      said,
    );

  beforeAll(async () => {
    node = await startXrpNode({
      fronts: [{}, { isClio: true }],
      isPaced: true,
      closeMs: 400,
      rules: { networkId: chainId },
    });
    for (const { address } of [customer, exchange, shopper]) node.fund(address, 1_000n * xrp);
    kit = await startKit({
      inProcess: true,
      alsoServes: {
        chains: {
          ripple: { family: "xrp", chainId, nodes: node.urls, confirmations: "finalized" },
        },
        currencies: {
          xrp: {
            ...{ chain: "ripple", decimal: 6, name: "XRP", symbol: "XRP", market: "" },
            ...{ minPaymentAmount: "0.01", minWithdrawAmount: "0.01" },
          },
        },
      },
    });
    const config = JSON.parse(readFileSync(kit.configPath, "utf8")) as {
      policy: Record<string, object>;
    };
    config.policy.xrp = policy;
    writeFileSync(kit.configPath, JSON.stringify(config), { mode: 0o600 });
    await kit.startGateway(waitMs);
    const paired = await kit.pair();
    expect(paired.code, paired.output).toBe(0);
    hotWallet = (
      JSON.parse((await kit.cli("address", "xrp", "--json")).output) as { address: string }
    ).address;
    expect(hotWallet).toMatch(/^r/);
    await kit.startCrypto();
    shop = createShop(kit);
  });
  afterAll(async () => {
    await kit?.close();
    await node?.close();
  });

  it("waits for its first XRP, then begins at the sequence that the nodes of both sides show, without an operator", async () => {
    const early = await kit.cli("adopt", "ripple", "--yes", "1");
    expect(early.output).toContain("the nodes have not agreed on a count yet");
    node.fund(hotWallet, 501n * xrp);
    const begins = node.chain.head.state.account(hotWallet)?.sequence;
    expect(begins).toBeGreaterThan(90_000_000);
    const next = await until(
      "both sides show the first sequence",
      waitMs,
      async () => (await nextSequence(kit)) || undefined,
      said,
    );
    expect(next).toBe(`${begins}`);
    await until(
      "the funds are known",
      waitMs,
      async () => ((await shop.balance("xrp")).available === "500" ? true : undefined),
      said,
    );
  });

  it("pays out with and without a tag, once, though the courier and the signer are killed", async () => {
    const [before, atExchange] = [node.balance(customer.address), node.balance(exchange.address)];
    node.people.setFlag(exchange, 1);
    node.closeLedgers();
    const fee = 12n;
    const ids = [
      await order("5", customer.address, "payout-0"),
      await order("7.000001", exchange.address, "payout-1", "4294967295"),
      await order("2", encodeXAddress({ address: exchange.address, tag: "7" }), "payout-2"),
    ];
    for (const pid of [kit.courierPid(), kit.signerPid()])
      if (pid !== undefined) process.kill(pid, "SIGKILL");
    for (const id of ids) await ends(id, 1);
    expect(node.balance(customer.address)).toBe(before + 5n * xrp);
    expect(node.balance(exchange.address)).toBe(atExchange + 9n * xrp + 1n - fee);
    const tags = node.chain.touching(exchange.address).map(({ tx }) => tx.fields.DestinationTag);
    expect(tags.filter((tag) => tag === 4_294_967_295 || tag === 7)).toHaveLength(2);
  });

  it("`status`, `show` and the shop name the tag and the sequence", async () => {
    await until("the payout has ended for the agent", 30_000, async () =>
      /Completed|final|paid/i.test((await kit.cli("withdrawals", "--order", "payout-1")).output)
        ? true
        : undefined,
    );
    const [one] = (
      JSON.parse((await kit.cli("withdrawals", "--json")).output) as {
        withdrawals: { transactionId: string; tag: string }[];
      }
    ).withdrawals.filter(({ tag }) => tag === "4294967295");
    const shown = await kit.cli("show", one?.transactionId ?? "");
    expect(shown.output).toMatch(/tag +4294967295/);
    expect(shown.output).toMatch(/sequence \d{8}/);
    expect((await kit.cli("status")).output).toContain(`account       ${hotWallet}, ripple`);
  });

  it("is paid in by tags; money with a wrong tag, or without one, waits for an operator who credits it", async () => {
    const right = await shop.deposit("xrp", "12.5", "deposit-right");
    const lost = await shop.deposit("xrp", "3", "deposit-lost");
    expect(right.address).toBe(hotWallet);
    expect(right.tag).toMatch(/^\d+$/);
    expect(right.tag).not.toBe(lost.tag);
    node.people.pay(shopper, hotWallet, 12_500_000n, Number(right.tag));
    expect(await ends(right.transactionId, 1, 1)).toMatchObject({ amountReceived: "12.5" });
    const { hash } = node.people.pay(shopper, hotWallet, 3n * xrp);
    node.people.pay(shopper, hotWallet, 1n * xrp, 4_000_000_000);
    const partly = node.people.payPartly(hotWallet, 900n * xrp, 2n * xrp, Number(lost.tag));
    const listed = await until(
      "both wait for an operator",
      waitMs,
      async () => {
        const output = await kit.operate("deposits", "unattributed", "--json");
        const rows = JSON.parse(output.slice(output.indexOf("["))) as {
          payment: string;
          amount: string;
          tag: string;
        }[];
        return rows.length >= 2 ? rows : undefined;
      },
      said,
    );
    expect(listed.map(({ amount, tag }) => `${amount} ${tag}`).sort()).toEqual([
      "1 4000000000",
      "3 ",
    ]);
    expect((await shop.transaction(lost.transactionId, 1)).amountReceived).toBe("2");
    expect(partly).toMatch(/^[0-9A-F]{64}$/);
    await kit.operate(
      "deposits",
      "credit",
      lost.transactionId,
      "--payment",
      `${hash}:-1`,
      "--reason",
      "the payer forgot the tag",
    );
    expect(await ends(lost.transactionId, 1, 1)).toMatchObject({ amountReceived: "5" });
  });

  it("offers again with the same sequence, and one of the two is paid; receivers that no ledger would pay are declined meanwhile", async () => {
    const refused = [
      await order("0.5", person("nobody yet").address, "payout-to-nobody"),
      await order("1", exchange.address, "payout-without-tag"),
    ];
    for (const front of node.fronts) front.suffer({ taking: "drops" });
    const before = node.balance(customer.address);
    const id = await order("1", customer.address, "payout-slow");
    const { attempts } = await becomes(
      id,
      "has a second attempt",
      (one) => one.attempts.filter(({ raw }) => raw !== undefined).length >= 2,
    );
    // No queue holds the first any more once its last ledger is past, so the market's fee is
    // enough.
    const lastLedgers = attempts.map(({ txParams }) => Number(txParams?.lastLedger ?? 0));
    expect(lastLedgers[1]).toBeGreaterThan(lastLedgers[0] ?? 0);
    for (const front of node.fronts) front.suffer({});
    await ends(id, 1);
    expect(node.balance(customer.address)).toBe(before + xrp);
    // Too little for a new account, and a receiver who wants a tag: no ledger would pay these two.
    for (const one of refused) expect(await ends(one, 2)).toMatchObject({ txHash: "" });
  });

  it("an operator's cancel uses the sequence up, and the shop sees Failed", async () => {
    for (const front of node.fronts) front.suffer({ taking: "drops" });
    const before = node.balance(customer.address);
    const id = await order("1.5", customer.address, "payout-cancelled");
    await becomes(id, "has bytes", ({ attempts }) => attempts.some(({ raw }) => raw !== undefined));
    const { code, output } = await kit.cli("cancel", id, "--yes");
    expect(code, output).toBe(0);
    for (const front of node.fronts) front.suffer({});
    const end = await until(
      "its end",
      waitMs,
      async () => {
        const found = await shop.transaction(id);
        return found.status === 0 ? undefined : found;
      },
      said,
    );
    // The first attempt may have been taken before the cancel; then it is paid, and once.
    const paid = node.balance(customer.address) - before;
    expect([end.status, end.code, paid]).toEqual(
      end.status === 1 ? [1, "", 1_500_000n] : [2, "cancelled", 0n],
    );
  });

  it("pays a receiver whose account begins with the payment", async () => {
    const { address } = person("nobody yet");
    await ends(await order("1", address, "payout-to-somebody-new"), 1);
    expect(node.balance(address)).toBe(xrp);
  });

  it("the books agree with the ledger, to the drop", async () => {
    const args = [
      join(projectRoot, "gateway/gateway.js"),
      "reconcile",
      "--json",
      "--config",
      kit.gatewayConfigPath,
    ];
    let last = "";
    const closed = await until(
      "the books agree",
      waitMs,
      async () => {
        const { code, output } = await run(process.execPath, args, {
          cwd: kit.dir,
          logFile: join(kit.dir, "books.log"),
        });
        last = output;
        return code === 0 ? output : undefined;
      },
      () => last,
    );
    const { chains } = JSON.parse(closed) as {
      chains: { chain: string; code: string; differences: object[] }[];
    };
    expect(chains.find(({ chain }) => chain === "ripple")).toMatchObject({
      code: "",
      uncompared: 0,
      differences: [],
    });
  });
});
