/**
 * Other merchants, keys and agents: one that was unpaired with an order open, one that is locked
 * and paused and awaits its recovery, one that is switched off, and one with nothing.
 */

import { familyOf } from "../../../chains/families.ts";
import { listMerchantDepositAccounts } from "../../../gateway/deposits/ceilings.ts";
import { takeInFoundAddresses } from "../../../gateway/deposits/found.ts";
import { scanAccounts } from "../../../gateway/deposits/scan.ts";
import {
  addKey,
  recoverAgent,
  revokeMerchantKey,
  unpairAgent,
} from "../../../gateway/operator/accounts.ts";
import { allowAddresses, expireKey } from "../../../gateway/operator/keys.ts";
import { setMerchantEnabled } from "../../../gateway/operator/merchants.ts";
import { publicKeyHex } from "../../../protocol/envelope.ts";
import { fixedKey, networks, storyEnds } from "../setting.ts";
import type { Shop, Story } from "../story.ts";
import { fine } from "./fine.ts";

const dayMs = 86_400_000;

export async function playPeople(story: Story): Promise<void> {
  const { world } = story;
  story.openShop("Dawn Bakery");
  const quay = story.openShop("Old Quay");
  const kiosk = story.openShop("Night Kiosk", "tr");
  const [quayAgent, kioskAgent] = [
    await story.pair(quay, ["evm"]),
    await story.pair(kiosk, ["evm", "tron"]),
  ];
  for (const agent of [quayAgent, kioskAgent])
    story.grant("eth", agent.hot(networks.ethereum), "3");
  story.grant("usdt-trc20", kioskAgent.hot(networks.tron), "50");
  await world.settle();
  for (const [shop, agent] of [[quay, quayAgent] as const, [kiosk, kioskAgent] as const]) {
    const paid = await story.deposit(shop, { currency: "eth", amount: "0.002", orderId: "in-1" });
    await world.settle(1);
    story.pay(paid, "eth", "0.002", 12);
    await world.settle();
    await story.carryOut(
      agent,
      await story.withdraw(shop, { currency: "eth", amount: "0.01", orderId: "out-1" }),
    );
    await story.withdraw(shop, { currency: "eth", amount: "0.03", orderId: "out-open" });
  }
  fine(unpairAgent(world.operator(), quayAgent.id, "open"));
  await quayAgent.disconnect();
  fine(setMerchantEnabled(world.operator(), quay.merchantId, false));
  await kioskAgent.say(
    { kind: "paused", paused: true },
    { kind: "alarm", code: "LEDGER_DISK_FULL", locked: false },
  );
  await kioskAgent.say({ kind: "alarm", code: "LEDGER_FORKED", locked: true });
  await kioskAgent.disconnect();
  world.sleep(dayMs / 24);
  fine(recoverAgent(world.operator("operator Orhan"), kioskAgent.id, 0));
}

export function playKeys(story: Story, shop: Shop): void {
  const { world } = story;
  const by = world.operator();
  const merchant = shop.merchantId;
  const made = (
    scopes: Parameters<typeof addKey>[1]["scopes"],
    more: Partial<Parameters<typeof addKey>[1]> = {},
  ) => fine(addKey(by, { merchant, scopes, profile: "compatible", alg: "HS256", ...more }));
  fine(revokeMerchantKey(by, made(["read"]).keyId));
  fine(
    expireKey(by, made(["read", "deposit"], { profile: "strict" }).keyId, storyEnds + 30 * dayMs),
  );
  fine(allowAddresses(by, made(["callbacks"]).keyId, ["192.0.2.7", "198.51.100.0/24"]));
  const readKey = made(["read", "callbacks"]).apiKey;
  const interfaceKey = made(["read"], { profile: "interface" }).apiKey;
  story.shops.set(shop.name, { ...shop, readKey, interfaceKey });
  made(["read"], { alg: "EdDSA", publicKey: publicKeyHex(fixedKey("shop's own")) });
}

/** Addresses beyond those given out, one with money and one that was used: a scan finds both. */
export async function playFound(story: Story, shop: Shop, currency: string): Promise<void> {
  const { world } = story;
  const { network } = story.currency(currency);
  const family = familyOf(network);
  const accounts = listMerchantDepositAccounts(world.store.database, shop.merchantId).filter(
    (one) => one.family === family.addressSpace.name,
  );
  const account = accounts[0];
  if (account === undefined) throw new Error("the shop has no account to scan");
  story.grant(currency, family.depositAddress(account.id, account.next + 2), "66");
  const chain = world.chains[story.chainOf(network)];
  chain.used.add(family.depositAddress(account.id, account.next + 1));
  world.mine(4);
  const currencies = Object.values(world.config.currencies).filter(
    (one) => one.network === network,
  );
  const scanned = await scanAccounts(
    accounts.map((one) => ({ ...one, known: one.next })),
    {
      ...{
        reader: chain.reader(),
        currencies,
        from: account.next,
        to: null,
        gap: 20,
        clock: () => world.nowMs,
      },
      isNamed: (address) => story.isNamed(address),
      rest: async () => {},
      onProgress: () => {},
    },
  );
  const how = { networks: Object.values(networks), nowMs: world.nowMs, actor: "operator Nora" };
  takeInFoundAddresses(world.store, accounts, [{ network, scanned }], how);
  await world.settle();
}
