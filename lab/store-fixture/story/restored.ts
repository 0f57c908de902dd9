/**
 * A merchant without an agent, and a database that was restored from a backup: addresses that may
 * have left are skipped and watched, and money that comes there waits for an operator.
 */
import { renameSync, rmSync } from "node:fs";
import { deriveAccounts, pairedAccountsOf } from "../../../agent/keystore/nodes.ts";
import { familyOf, findFamilyOfAddressSpace } from "../../../chains/families.ts";
import { createReceivingMerchant } from "../../../gateway/operator/accounts.ts";
import { backUp } from "../../../gateway/operator/command.ts";
import { creditPayments } from "../../../gateway/operator/crediting.ts";
import { fixedSeed, networks } from "../setting.ts";
import type { Deposit, Shop, Story } from "../story.ts";
import { fine } from "./fine.ts";

const hourMs = 3_600_000;

export async function playRestored(story: Story): Promise<void> {
  const { world } = story;
  const mill = openMill(story);
  const early: Deposit[] = [];
  for (const orderId of ["mill-1", "mill-2", "mill-3"])
    early.push(await story.deposit(mill, { currency: "eth", amount: "0.25", orderId }));
  await world.settle();
  const copy = `${world.config.database}.copy`;
  backUp(world.store, copy, world.nowMs, false);
  const forgotten = await story.deposit(mill, {
    currency: "usdt-erc20",
    amount: "40",
    orderId: "mill-4",
  });
  const { database } = world.config;
  await world.stop();
  for (const rest of ["", "-wal", "-shm"]) rmSync(`${database}${rest}`, { force: true });
  renameSync(copy, database);
  world.sleep(hourMs / 4);
  await world.start(false);
  await world.settle();
  // The customer pays the address that the database forgot, and the shop orders again.
  const hash = story.pay(forgotten, "usdt-erc20", "40");
  await world.settle();
  const again = await story.deposit(mill, {
    currency: "usdt-erc20",
    amount: "40",
    orderId: "mill-4",
    metadata: { table: "7" },
  });
  const crediting = {
    payments: [hash],
    reason: "the address of before the restore",
    isShortFine: false,
  };
  fine(creditPayments(world.operator(), again.id, crediting));
  // Nobody has claimed this one yet.
  const { id } = accountOf("evm");
  story.pay({ address: familyOf(networks.ethereum).depositAddress(id, 9), tag: "" }, "eth", "0.75");
  for (const deposit of early.slice(0, 2)) story.pay(deposit, "eth", "0.25");
  await story.deposit(mill, {
    currency: "btc",
    amount: "0.02",
    orderId: "mill-5",
    expiresInMinutes: 10,
  });
  await world.settle();
  // The owner, whose keys no agent has, takes coins out of an address.
  story.drop("eth", early[0]?.address ?? "", "0.1");
  world.sleep(24 * hourMs);
  await world.settle();
}

function accountOf(family: "evm" | "bitcoin") {
  const nodes = deriveAccounts(fixedSeed("mill"), [family]);
  const id = pairedAccountsOf(nodes).find(({ purpose }) => purpose === "deposits")?.id ?? "";
  return {
    family,
    id,
    firstDepositAddress: findFamilyOfAddressSpace(family)?.depositAddress(id, 0) ?? "",
  };
}

function openMill(story: Story): Shop {
  const accounts = (["evm", "bitcoin"] as const).map(accountOf);
  const receiving = accounts.map(({ id: xpub, family, firstDepositAddress }) => ({
    family,
    xpub,
    firstDepositAddress,
  }));
  const made = fine(
    createReceivingMerchant(
      story.world.operator(),
      { name: "Mill Market", language: "tr" },
      ...receiving,
    ),
  );
  const shop = { ...made, name: "Mill Market" };
  story.shops.set(shop.name, shop);
  return shop;
}
