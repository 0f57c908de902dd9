/**
 * Whose account takes a deposit where a gateway has chains of several families, and what a database
 * from before keeps of such accounts.
 */
import { HDKey } from "@scure/bip32";
import { TronWeb } from "tronweb";
import { beforeEach, describe, expect, it } from "vitest";
import { depositAddressOf } from "../../chains/evm/address.ts";
import { createMerchant, createReceivingMerchant } from "../../gateway/operator/accounts.ts";
import { type ReceivingAccount, readReceivingAccount } from "../../gateway/operator/xpub.ts";
import {
  type GatewayAnswer,
  handmadeToken,
  receiver,
  testConfig,
  wallet,
} from "../../lab/kit/gateway-server.ts";
import { anotherGateway, db, eachTestItsGateway, gateway, many } from "../support/shop.ts";

eachTestItsGateway();

const node = HDKey.fromMasterSeed(new Uint8Array(32).fill(4)).derive("m/44'/195'/1'");
const addressAt = (index: number): string =>
  TronWeb.address.fromPrivateKey(
    Buffer.from(node.derive(`m/0/${index}`).privateKey ?? []).toString("hex"),
  ) as string;
const accountOf = (text: string): ReceivingAccount => {
  const account = readReceivingAccount(text);
  if ("problem" in account) throw new Error(account.problem);
  return account;
};
const onTron = accountOf(`tron=${node.publicExtendedKey}`);
const chains = {
  ...testConfig.chains,
  tron: {
    family: "tron",
    chainId: "0x2b6653dc",
    nodes: ["http://127.0.0.1:9"],
    confirmations: "finalized",
  },
};
const trx = { chain: "tron", decimal: 6, name: "TRON", symbol: "TRX", minPaymentAmount: "1" };

function receives(...accounts: readonly ReceivingAccount[]) {
  const made = createReceivingMerchant(
    gateway.operator,
    { name: "Receiver", language: "en" },
    ...accounts,
  );
  if (!made.ok) throw new Error(made.code);
  return made;
}

const post = (apiKey: string, path: string, body: object): Promise<GatewayAnswer> =>
  gateway.send(`/api/v1/${path}`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      signatureToken: handmadeToken(apiKey, gateway.clock.nowMs),
    },
    body: JSON.stringify(body),
  });
const pay = (apiKey: string, currency: string, orderId: string): Promise<GatewayAnswer> =>
  post(apiKey, "createTransactionRequest", { currency, amount: "5", orderId });
const told = ({ status, body }: GatewayAnswer) => [status, body.code];

beforeEach(() =>
  anotherGateway({ ...many, chains, currencies: { ...testConfig.currencies, trx } }),
);

describe("a deposit on a chain of another family than the paired server's", () => {
  it("a deposit where the server has no account goes to the one that the merchant named, whether a server is paired or not, and each family counts its own address indexes", async () => {
    const made = receives(onTron);
    expect((await pay(made.shopKey, "trx", "in-1")).body.address).toBe(addressAt(0));
    expect(told(await pay(made.shopKey, "eth", "in-2"))).toEqual([400, "currency_not_payable"]);
    expect((await gateway.pair({}, made.apiKey)).status).toBe(200);
    expect((await pay(made.shopKey, "eth", "in-3")).body.address).toBe(
      depositAddressOf(wallet.depositXpub, 0),
    );
    expect((await pay(made.shopKey, "trx", "in-4")).body.address).toBe(addressAt(1));
    expect((await pay(made.shopKey, "trx", "in-1")).body.address).toBe(addressAt(0));
    const both = db().all(
      "SELECT agent IS NULL AS alone, addressIndex FROM addresses ORDER BY number",
    );
    expect(both).toEqual([
      { alone: 1, addressIndex: 0 },
      { alone: 0, addressIndex: 0 },
      { alone: 1, addressIndex: 1 },
    ]);
  });

  it("a deposit where the server has no account is refused to a merchant who named none there, in words that fit whether a server is paired", async () => {
    const other = createMerchant(gateway.operator, { name: "Other", language: "en" });
    expect(told(await pay(other.shopKey, "trx", "in-1"))).toEqual([400, "deposits_not_ready"]);
    expect((await gateway.pair({}, other.apiKey)).status).toBe(200);
    expect(told(await pay(other.shopKey, "trx", "in-1"))).toEqual([400, "currency_not_payable"]);
    expect((await pay(other.shopKey, "eth", "in-2")).status).toBe(200);
  });

  it("a withdrawal where the server has no account is refused, with a server or without", async () => {
    const made = receives(onTron);
    const out = { currency: "trx", amount: "1", address: addressAt(0), orderId: "out-1" };
    for (const path of ["autoWithdraw", "manualWithdraw"])
      expect(told(await post(made.shopKey, path, { ...out, orderId: path }))).toEqual([
        400,
        "agent_not_paired",
      ]);
    const onSlots = { currency: "eth", amount: "1", address: receiver, orderId: "out-2" };
    expect(told(await post(made.shopKey, "autoWithdraw", onSlots))).toEqual([
      400,
      "agent_not_paired",
    ]);
    expect((await gateway.pair({}, made.apiKey)).status).toBe(200);
    expect(told(await post(made.shopKey, "autoWithdraw", out))).toEqual([
      400,
      "currency_not_payable",
    ]);
  });
});
