/** Deposits of the shop with an agent: every way in which one ends, on four chains. */
import { creditDeposit, creditPayments } from "../../../gateway/operator/crediting.ts";
import { addDepositNote } from "../../../gateway/operator/deposits.ts";
import { changeMerchantPage } from "../../../gateway/operator/merchant-page.ts";
import type { FixtureAgent } from "../agent.ts";
import { goneCurrency, networks } from "../setting.ts";
import type { Deposit, Shop, Story } from "../story.ts";
import { fine } from "./fine.ts";

const hourMs = 3_600_000;

export async function playDeposits(story: Story, shop: Shop, agent: FixtureAgent): Promise<void> {
  const { world } = story;
  const page = {
    shownName: "Harbour",
    contact: "help@harbour.example",
    origins: ["https://harbour.example"],
  };
  fine(changeMerchantPage(world.operator(), shop.merchantId, page));
  await playPaid(story, shop);
  await playEnded(story, shop);
  await playTags(story, shop, agent);
  await world.tell();
}

/** Paid in time: exactly, too much, within the tolerance, by a contract, and in several parts. */
async function playPaid(story: Story, shop: Shop): Promise<void> {
  const { world } = story;
  const order = (
    currency: string,
    amount: string,
    orderId: string,
    more: object = {},
  ): Promise<Deposit> => story.deposit(shop, { currency, amount, orderId, ...more });
  const exact = await order("eth", "0.5", "in-exact", {
    metadata: { cart: "a-17", note: "gift, wrapped" },
    returnUrl: "https://harbour.example/thanks",
  });
  const over = await order("usdt-erc20", "25", "in-over");
  const short = await order("usdt-erc20", "30", "in-tolerance");
  const parts = await order("usdt-erc20", "60", "in-parts", {
    tolerancePercent: "0",
    expiresInMinutes: 180,
  });
  const contract = await order("eth", "0.3", "in-contract");
  const fiat = await story.deposit(shop, {
    currency: "eth",
    fiatCurrency: "USD",
    fiatAmount: "300",
    orderId: "in-fiat",
  });
  const gone = await order(goneCurrency, "20", "in-gone");
  const [tron, trx, btc] = [
    await order("usdt-trc20", "45", "in-trc20"),
    await order("trx", "500", "in-trx"),
    await order("btc", "0.01", "in-btc"),
  ];
  await world.settle(1);
  story.pay(exact, "eth", "0.5");
  story.pay(over, "usdt-erc20", "31.5", 2);
  story.pay(short, "usdt-erc20", "29.6", 3);
  story.pay(parts, "usdt-erc20", "20", 4);
  await world.settle();
  story.pay(parts, "usdt-erc20", "40", 5);
  story.grant("eth", contract.address, "0.3");
  story.pay(fiat, "eth", "0.1");
  story.pay(gone, goneCurrency, "20", 6);
  story.pay(tron, "usdt-trc20", "45");
  story.pay(trx, "trx", "500", 2);
  story.pay(btc, "btc", "0.01");
  await world.settle();
  await world.tell();
}

/** Not paid, paid in part, late, in another coin, or in a block that went away. */
async function playEnded(story: Story, shop: Shop): Promise<void> {
  const { world } = story;
  const order = (
    currency: string,
    amount: string,
    orderId: string,
    more: object = {},
  ): Promise<Deposit> => story.deposit(shop, { currency, amount, orderId, ...more });
  const never = await order("eth", "1", "in-never", { metadata: { cart: "a-18" } });
  const partly = await order("usdt-erc20", "50", "in-partly");
  const late = await order("usdt-erc20", "12", "in-late");
  const credited = await order("usdt-erc20", "18", "in-credited");
  const other = await order("usdt-erc20", "90", "in-other-coin");
  const wanted = await order("eth", "0.04", "in-wanted", { expiresInMinutes: 600 });
  const tiny = await order("usdt-erc20", "5", "in-tiny");
  const reorged = await order("eth", "0.2", "in-reorged");
  await world.settle(1);
  story.pay(partly, "usdt-erc20", "10", 7);
  const stray = story.pay(other, "eth", "0.04", 8);
  story.pay(tiny, "usdt-erc20", "1", 8);
  await world.settle();
  story.pay(reorged, "eth", "0.2", 9);
  await world.pass();
  world.chains.ethereum.reorganise(1);
  await world.settle();
  world.sleep(2 * hourMs);
  await world.settle();
  story.pay(late, "usdt-erc20", "12", 10);
  story.pay(credited, "usdt-erc20", "15", 11);
  await world.settle();
  const by = world.operator();
  fine(creditDeposit(by, credited.id, { reason: "agreed by phone", isShortFine: true }));
  fine(addDepositNote(by, partly.id, "the customer wants it back"));
  fine(
    creditPayments(by, wanted.id, {
      payments: [stray],
      reason: "paid to the wrong address",
      isShortFine: false,
    }),
  );
  await order("eth", "1", "in-never", { renew: never.id });
  await world.settle();
}

/** Tags: the right one, a wrong one, none, and a customer of a tag that nobody has. */
async function playTags(story: Story, shop: Shop, agent: FixtureAgent): Promise<void> {
  const { world } = story;
  const hot = agent.hot(networks.xrp);
  const tagged = await story.deposit(shop, { currency: "xrp", amount: "100", orderId: "in-tag" });
  await story.deposit(shop, { currency: "xrp", amount: "75", orderId: "in-tag-unpaid" });
  const wanted = await story.deposit(shop, {
    currency: "xrp",
    amount: "40",
    orderId: "in-tag-mistyped",
    expiresInMinutes: 600,
  });
  await world.settle(1);
  story.pay(tagged, "xrp", "100");
  const mistyped = story.pay({ address: hot, tag: "12345" }, "xrp", "40");
  story.pay({ address: hot, tag: "" }, "xrp", "7");
  await world.settle();
  const crediting = { payments: [mistyped], reason: "its tag was mistyped", isShortFine: false };
  fine(creditPayments(world.operator("operator Orhan"), wanted.id, crediting));
  world.sleep(2 * hourMs);
  await world.settle();
}
