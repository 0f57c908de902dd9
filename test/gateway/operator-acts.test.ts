/**
 * The effect of the operator's acts on merchants, keys and deposits for shops and agents, at a
 * running gateway.
 */
import { HDKey } from "@scure/bip32";
import { mnemonicToSeedSync } from "bip39";
import { describe, expect, it } from "vitest";
import { depositAddressOf } from "../../chains/evm/address.ts";
import { familyOf } from "../../chains/families.ts";
import { addKey, createReceivingMerchant } from "../../gateway/operator/accounts.ts";
import { creditDeposit } from "../../gateway/operator/crediting.ts";
import { listCurrencyLines } from "../../gateway/operator/currencies.ts";
import { addDepositNote, listDeposits, showDeposit } from "../../gateway/operator/deposits.ts";
import { allowAddresses, expireKey, rotateKey } from "../../gateway/operator/keys.ts";
import {
  listMerchants,
  setMerchantEnabled,
  showMerchant,
} from "../../gateway/operator/merchants.ts";
import { readReceivingAccount } from "../../gateway/operator/xpub.ts";
import type { DepositRow } from "../../gateway/store/rows.ts";
import {
  type GatewayAnswer,
  handmadeToken,
  newAgentKeys,
  receiver,
  wallet,
} from "../../lab/kit/gateway-server.ts";
import {
  auto,
  db,
  deposit,
  eachTestItsGateway,
  gateway,
  manual,
  read,
  ready,
  release,
  row,
} from "../support/shop.ts";

eachTestItsGateway();

const hourMs = 3_600_000;
const ask = (
  apiKey: string,
  method = "GET",
  path = "/supportedCurrency",
  body?: object,
): Promise<GatewayAnswer> =>
  gateway.send(`/api/v1${path}`, {
    method,
    headers: {
      "Content-Type": "application/json",
      signatureToken: handmadeToken(apiKey, gateway.clock.nowMs),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const told = ({ status, body }: GatewayAnswer) => [status, body.code];
const acts = (subject: string) =>
  db().all<{ act: string; detail: string }>(
    "SELECT act, detail FROM audit WHERE subject = ? ORDER BY id",
    subject,
  );

describe("a key", () => {
  it("ends when the operator says so, and works again when its end is taken away", async () => {
    const { keyId, apiKey } = gateway.key({});
    expect((await ask(apiKey)).status).toBe(200);
    expect(expireKey(gateway.operator, keyId, gateway.clock.nowMs + hourMs)).toEqual({ ok: true });
    expect((await ask(apiKey)).status).toBe(200);
    gateway.clock.nowMs += hourMs;
    expect(told(await ask(apiKey))).toEqual([403, "key_expired"]);
    expect(expireKey(gateway.operator, keyId, null)).toEqual({ ok: true });
    expect((await ask(apiKey)).status).toBe(200);
    expect(acts(keyId).map(({ act }) => act)).toEqual(["key created", "key ends", "key ends"]);
    expect(expireKey(gateway.operator, "k_0000000000000000", null)).toEqual({
      ok: false,
      code: "GATEWAY_UNKNOWN_KEY",
    });
  });

  it("that is made with addresses works from them alone, from its first use on, and the audit says from where", async () => {
    const { merchantId: merchant } = gateway.merchant;
    const made = (addresses: readonly string[]) => {
      const key = addKey(
        gateway.operator,
        { merchant, scopes: ["read"], profile: "compatible", alg: "HS256" },
        addresses,
      );
      if (!key.ok) throw new Error(key.code);
      return key;
    };
    const here = made(["127.0.0.0/8"]);
    expect((await ask(here.apiKey)).status).toBe(200);
    expect((await ask(made([]).apiKey)).status).toBe(200);
    expect(told(await ask(made(["203.0.113.0/24", "2001:db8::1"]).apiKey))).toEqual([
      403,
      "address_not_allowed",
    ]);
    const detail = `${merchant} read compatible HS256 from 127.0.0.0/8`;
    expect(acts(here.keyId)).toEqual([{ act: "key created", detail }]);
  });

  it("is followed by another with the same rights, and both work until the old one ends", async () => {
    const old = gateway.key({ scopes: ["read", "deposit"], profile: "compatible" });
    allowAddresses(gateway.operator, old.keyId, ["127.0.0.0/8"]);
    const rotated = rotateKey(gateway.operator, old.keyId, gateway.clock.nowMs + hourMs);
    if (!rotated.ok) throw new Error(rotated.code);
    expect(rotated).toMatchObject({
      replaces: old.keyId,
      replacesUntil: new Date(gateway.clock.nowMs + hourMs).toISOString(),
    });
    for (const { apiKey } of [old, rotated]) expect((await ask(apiKey)).status).toBe(200);
    expect(told(await ask(rotated.apiKey, "POST", "/autoWithdraw", {}))).toEqual([
      403,
      "scope_missing",
    ]);
    const shown = showMerchant(gateway.operator, gateway.merchant.merchantId);
    if (!shown.ok) throw new Error(shown.code);
    const line = (id: string) => shown.merchant.keys.find(({ keyId }) => keyId === id);
    expect(line(rotated.keyId)).toMatchObject({
      scopes: ["read", "deposit"],
      allowedAddresses: ["127.0.0.0/8"],
      expiresAt: "",
    });
    expect(line(old.keyId)?.lastUsedAt).not.toBe("");
    gateway.clock.nowMs += hourMs;
    expect(told(await ask(old.apiKey))).toEqual([403, "key_expired"]);
    expect((await ask(rotated.apiKey)).status).toBe(200);
    expect(rotateKey(gateway.operator, "k_0000000000000000", 0)).toEqual({
      ok: false,
      code: "GATEWAY_UNKNOWN_KEY",
    });
  });

  it("that pairs hands over its right to pair as far as that is not used up", async () => {
    const early = rotateKey(gateway.operator, gateway.merchant.keyId, gateway.clock.nowMs);
    if (!early.ok) throw new Error(early.code);
    expect(told(await gateway.pair())).toEqual([403, "key_expired"]);
    expect((await gateway.pair({}, early.apiKey)).status).toBe(200);
    const late = rotateKey(gateway.operator, early.keyId, gateway.clock.nowMs);
    if (!late.ok) throw new Error(late.code);
    db().run("UPDATE agents SET unpairedAt = 1");
    expect(told(await gateway.pair({}, late.apiKey, newAgentKeys()))).toEqual([
      409,
      "pairing_used",
    ]);
  });

  it("may be used from the addresses it is bound to, and from no other, pairing included", async () => {
    const { keyId, apiKey } = gateway.key({});
    expect(allowAddresses(gateway.operator, keyId, ["192.0.2.0/24", "2001:db8::/32"]).ok).toBe(
      true,
    );
    expect(told(await ask(apiKey))).toEqual([403, "address_not_allowed"]);
    expect(allowAddresses(gateway.operator, keyId, ["127.0.0.1"])).toEqual({
      ok: true,
      addresses: ["192.0.2.0/24", "2001:db8::/32", "127.0.0.1"],
    });
    expect((await ask(apiKey)).status).toBe(200);
    allowAddresses(gateway.operator, keyId, "anywhere");
    expect((await ask(apiKey)).status).toBe(200);
    allowAddresses(gateway.operator, gateway.merchant.keyId, ["192.0.2.1"]);
    expect(told(await gateway.pair())).toEqual([403, "address_not_allowed"]);
    allowAddresses(gateway.operator, gateway.merchant.keyId, "anywhere");
    expect((await gateway.pair()).status).toBe(200);
  });
});

describe("a merchant", () => {
  it("that is switched off gets 403 for everything and creates nothing; switched on again it goes on", async () => {
    await ready();
    const { merchantId } = gateway.merchant;
    expect((await auto()).status).toBe(200);
    expect(setMerchantEnabled(gateway.operator, merchantId, false)).toEqual({ ok: true, open: 1 });
    for (const answer of [
      await auto({ orderId: "order-2" }),
      await deposit(),
      await read("/transactions"),
      await gateway.pair(),
    ])
      expect(told(answer)).toEqual([403, "merchant_disabled"]);
    expect(setMerchantEnabled(gateway.operator, merchantId, false).ok).toBe(true); // twice is harmless
    expect(listMerchants(gateway.operator)[0]).toMatchObject({
      merchantId,
      transactions: 1,
      openTransactions: 1,
    });
    expect(listMerchants(gateway.operator)[0]?.disabledAt).not.toBe("");
    expect(setMerchantEnabled(gateway.operator, merchantId, true).ok).toBe(true);
    expect((await auto({ orderId: "order-2" })).status).toBe(200);
    expect(acts(merchantId).map(({ act }) => act)).toEqual([
      "merchant created",
      "merchant switched off",
      "merchant switched on",
    ]);
    expect(setMerchantEnabled(gateway.operator, "m_0000000000000000", false)).toEqual({
      ok: false,
      code: "GATEWAY_UNKNOWN_MERCHANT",
    });
  });

  it("that was never paired gets words that fit each operation", async () => {
    expect(told(await deposit())).toEqual([400, "deposits_not_ready"]);
    expect(told(await auto())).toEqual([400, "agent_not_paired"]);
    expect(told(await manual())).toEqual([400, "agent_not_paired"]);
    expect((await deposit()).body.message).not.toContain("withdraw");
    expect((await read("/balance/eth")).body).toMatchObject({ balance: 0, available: "0" });
  });
});

describe("a merchant who only receives", () => {
  const account = {
    family: "evm" as const,
    xpub: wallet.depositXpub,
    firstDepositAddress: depositAddressOf(wallet.depositXpub, 0),
  };
  const create = (given = account) => {
    const made = createReceivingMerchant(
      gateway.operator,
      { name: "Receiver", language: "en" },
      given,
    );
    if (!made.ok) throw new Error(made.code);
    return made;
  };
  const pay = (apiKey: string, orderId: string) =>
    ask(apiKey, "POST", "/createTransactionRequest", { currency: "usdt", amount: "5", orderId });

  it("takes deposits under the account without any server, and is told what it cannot do", async () => {
    const made = create();
    for (const [orderId, index] of [
      ["in-1", 0],
      ["in-2", 1],
      ["in-1", 0],
    ] as const)
      expect((await pay(made.shopKey, orderId)).body.address).toBe(
        depositAddressOf(wallet.depositXpub, index),
      );
    const out = { currency: "eth", amount: "1", address: receiver, orderId: "out-1" };
    expect(told(await ask(made.shopKey, "POST", "/autoWithdraw", out))).toEqual([
      400,
      "agent_not_paired",
    ]);
    expect((await ask(made.shopKey, "GET", "/balance/usdt")).body).toMatchObject({
      available: "0",
      pending: "0",
    });
    expect(listMerchants(gateway.operator).find(({ name }) => name === "Receiver")).toMatchObject({
      xpub: wallet.depositXpub,
      agentId: "",
    });
  });

  it("keeps its address indexes when a server with the same account is paired, and when that is released", async () => {
    const made = create();
    const seen = [await pay(made.shopKey, "in-1")];
    expect((await gateway.pair({}, made.apiKey)).status).toBe(200);
    seen.push(await pay(made.shopKey, "in-2"));
    release();
    seen.push(await pay(made.shopKey, "in-3"));
    expect((await gateway.pair({}, made.apiKey)).status).toBe(200);
    seen.push(await pay(made.shopKey, "in-4"));
    expect(seen.map(({ body }) => body.address)).toEqual(
      [0, 1, 2, 3].map((at) => depositAddressOf(wallet.depositXpub, at)),
    );
  });

  it("may bring an account of each family, and each is listed", async () => {
    const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(9)).derive(
      "m/44'/195'/1'",
    ).publicExtendedKey;
    const waits = readReceivingAccount(`tron=${xpub}`);
    if ("problem" in waits) throw new Error(waits.problem);
    const made = createReceivingMerchant(
      gateway.operator,
      { name: "Receiver", language: "en" },
      waits,
      account,
    );
    if (!made.ok) throw new Error(made.code);
    expect((await pay(made.shopKey, "in-1")).body.address).toBe(
      depositAddressOf(wallet.depositXpub, 0),
    );
    const receives = { evm: wallet.depositXpub, tron: xpub };
    expect(listMerchants(gateway.operator)).toContainEqual(
      expect.objectContaining({ xpub: wallet.depositXpub, receives }),
    );
    const again = createReceivingMerchant(
      gateway.operator,
      { name: "Second", language: "en" },
      waits,
    );
    expect(again).toEqual({ ok: false, code: "GATEWAY_ACCOUNT_TAKEN" });
  });

  it("shares its account with no other merchant, in either order", async () => {
    create();
    expect(
      createReceivingMerchant(gateway.operator, { name: "Second", language: "en" }, account),
    ).toEqual({
      ok: false,
      code: "GATEWAY_ACCOUNT_TAKEN",
    });
    expect(told(await gateway.pair())).toEqual([409, "pairing_wallet_taken"]);
    expect(listMerchants(gateway.operator)).toHaveLength(2);
  });

  it("shares the account with no server that was paired before", async () => {
    expect((await gateway.pair()).status).toBe(200);
    const second = createReceivingMerchant(
      gateway.operator,
      { name: "Second", language: "en" },
      account,
    );
    expect(second).toEqual({ ok: false, code: "GATEWAY_ACCOUNT_TAKEN" });
  });
});

describe("an account's key is read for its kind and depth", () => {
  const master = HDKey.fromMasterSeed(new Uint8Array(32).fill(7));
  const at = (path: string): string => master.derive(path).publicExtendedKey;
  const problem = (text: string): string => {
    const account = readReceivingAccount(text);
    return "problem" in account ? account.problem : "";
  };

  it("the reader of an account's key takes it for the family that stands in front, and says which there are", () => {
    const xpub = at("m/44'/195'/1'");
    const firstDepositAddress = familyOf("tron:0x2b6653dc").depositAddress(xpub, 0);
    expect(readReceivingAccount(`tron=${xpub}`)).toEqual({
      family: "tron",
      xpub,
      firstDepositAddress,
    });
    expect(firstDepositAddress).toMatch(/^T/);
    expect(problem(`tron=${at("m/44'/195'")}`)).toContain("depth 2, a coin (m/44'/195')");
    expect(problem(`tron=${master.derive("m/44'/195'/1'").privateExtendedKey}`)).toContain(
      "private key",
    );
    expect(problem(`dogecoin=${xpub}`)).toContain("one of evm, tron, bitcoin");
    expect(problem(`tron=${xpub.replace("xpub", "zpub")}`)).toContain(
      "is for Bitcoin's segwit addresses; give the xpub",
    );
  });

  it("the reader of an account's key takes the zpub of BIP-84's vector for Bitcoin, and keeps it as the xpub of the same key", () => {
    const seed = mnemonicToSeedSync(`${"abandon ".repeat(11)}about`);
    const zpub =
      "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs";
    const xpub = HDKey.fromMasterSeed(seed).derive("m/84'/0'/0'").publicExtendedKey;
    const firstDepositAddress = "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu";
    expect(readReceivingAccount(`bitcoin=${zpub}`)).toEqual({
      family: "bitcoin",
      xpub,
      firstDepositAddress,
    });
    expect(problem(`litecoin=${zpub.slice(0, -1)}t`)).toContain("give the zpub of an account");
  });

  it("the reader of an account's key takes the xpub of an account, with blanks around it", () => {
    expect(readReceivingAccount(` ${at("m/44'/60'/0'")}\n`)).toEqual({
      family: "evm",
      xpub: at("m/44'/60'/0'"),
      firstDepositAddress: depositAddressOf(at("m/44'/60'/0'"), 0),
    });
  });

  it.each([
    ["m", "depth 0, the master key"],
    ["m/44'", "depth 1"],
    ["m/44'/60'", "depth 2"],
    ["m/44'/60'/0'/0", "depth 4"],
    ["m/44'/60'/0'/0/0", "depth 5, one address"],
    ["m/44'/60'/0", "not hardened"],
  ])("the reader of an account's key says that %s is %s", (path, words) =>
    expect(problem(at(path))).toContain(words),
  );

  it("the reader of an account's key never repeats a private key, and names other kinds", () => {
    const secret = master.derive("m/44'/60'/0'").privateExtendedKey ?? "";
    expect(problem(secret)).toContain("private key");
    expect(problem(secret)).not.toContain(secret.slice(4, 20));
    expect(problem(`zpub${secret.slice(4)}`)).toContain("segwit");
    expect(problem(`tpub${secret.slice(4)}`)).toContain("test network");
    for (const text of ["", "xpub", `${at("m/44'/60'/0'").slice(0, -1)}z`, receiver])
      expect(problem(text)).toContain("no xpub");
  });
});

describe("a deposit that was paid late", () => {
  const expired = async (
    change: Partial<DepositRow> = {},
    orderId = "order-1",
  ): Promise<string> => {
    const { transactionId } = (await deposit({ orderId })).body;
    const next = {
      status: 2,
      stage: "expired",
      code: "deposit_expired",
      receivedUnits: `${10n ** 18n}`,
      late: 1,
      ...change,
    };
    const sql =
      "UPDATE deposits SET status = ?, stage = ?, code = ?, receivedUnits = ?, late = ? WHERE id = ?";
    db().run(sql, next.status, next.stage, next.code, next.receivedUnits, next.late, transactionId);
    return transactionId;
  };
  const how = { reason: "the customer paid eleven minutes late", isShortFine: false };

  it("says so when it is asked for again, and becomes Completed by an operator's reasoned word, once", async () => {
    await ready();
    const id = await expired();
    expect((await deposit()).body).toMatchObject({ status: 2, stage: "expired", late: true });
    expect(addDepositNote(gateway.operator, id, "called the customer")).toEqual({ ok: true });
    const credited = creditDeposit(gateway.operator, id, how);
    expect(credited.ok).toBe(true);
    expect((await deposit()).body).toMatchObject({ status: 1, stage: "completed", late: true });
    expect((await read(`/transaction/${id}?transactionType=1`)).body).toMatchObject({
      status: 1,
      code: "",
      amountReceived: "1",
    });
    const shown = showDeposit(gateway.operator, id);
    if (!shown.ok) throw new Error(shown.code);
    expect(shown.acts.map(({ actor, act, detail }) => [actor, act, detail])).toEqual([
      ["operator", "note", "called the customer"],
      ["operator", "deposit credited", how.reason],
    ]);
    expect(creditDeposit(gateway.operator, id, how)).toMatchObject({
      code: "GATEWAY_NOT_CREDITED",
    });
    expect(acts(id)).toHaveLength(2);
  });

  it("is not credited while it is open, unpaid, or paid too little without saying so", async () => {
    await ready();
    const open = await expired({ status: 0, stage: "waiting" }, "open");
    const unpaid = await expired({ receivedUnits: "0", late: 0 }, "unpaid");
    const short = await expired({ receivedUnits: "999" }, "short");
    for (const id of [open, unpaid, short])
      expect(creditDeposit(gateway.operator, id, how), id).toMatchObject({
        ok: false,
        code: "GATEWAY_NOT_CREDITED",
      });
    expect(creditDeposit(gateway.operator, unpaid, { ...how, isShortFine: true }).ok).toBe(false);
    expect([open, unpaid, short].map((id) => row(id)?.status)).toEqual([0, 2, 2]);
    expect(creditDeposit(gateway.operator, short, { ...how, isShortFine: true }).ok).toBe(true);
    const withdrawal = (await auto()).body.transactionId;
    expect(creditDeposit(gateway.operator, withdrawal, how)).toEqual({
      ok: false,
      code: "GATEWAY_UNKNOWN_RECORD",
    });
    const query = { operations: ["deposit"], isLate: true, most: 10 } as const;
    expect(listDeposits(gateway.operator, query).map(({ orderId }) => orderId)).not.toContain(
      "unpaid",
    );
    expect(listDeposits(gateway.operator, { ...query, isLate: false })).toHaveLength(3);
  });
});

describe("currencies", () => {
  it("are all there for the operator, and the running gateway says which is out of service", () => {
    const { config, prices } = gateway.service;
    const checks = [{ name: "currency usdt", ok: false, detail: "out of service: its contract …" }];
    const text = JSON.stringify({ status: "ready", checks });
    const lines = listCurrencyLines(
      config,
      { reached: true, ready: true, text, untrusted: "" },
      prices,
    );
    expect(
      lines.map(({ id, enabled, listed, unpriced, service }) => [
        id,
        enabled,
        listed,
        unpriced.length,
        service,
      ]),
    ).toEqual([
      ["eth", true, true, 0, "in"],
      ["usdt", true, true, 0, "out"],
      ["off", false, false, 3, "in"],
    ]);
    const onPurpose = {
      ...config.currencies,
      off: { ...config.currencies.off!, enabled: true, listUnpriced: true },
    };
    const shown = listCurrencyLines(
      { ...config, currencies: onPurpose },
      { reached: true, ready: true, text, untrusted: "" },
      prices,
    );
    expect(shown[2]).toMatchObject({ listed: true, unpriced: ["USD", "EUR", "TRY"] });
    expect(lines[1]?.outReason).toContain("its contract");
    expect(
      listCurrencyLines(config, { reached: false, text: "refused" }, prices).map(
        ({ service }) => service,
      ),
    ).toEqual(Array(3).fill("unknown"));
  });
});
