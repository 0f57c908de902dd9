/**
 * Pairing as the gateway sees it: the agents that may pair, their tables, the number of tries, and
 * the worth of a recorded request.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { HDKey } from "@scure/bip32";
import { describe, expect, it } from "vitest";
import {
  deriveAccounts,
  pairedAccountsOf,
  type WalletAccount,
} from "../../agent/keystore/nodes.ts";
import {
  createMerchant,
  listAgents,
  recoverAgent,
  unpairAgent,
} from "../../gateway/operator/accounts.ts";
import { hotWalletAddressOn } from "../../gateway/store/agent-accounts.ts";
import { markWalletChainRead } from "../../gateway/store/levels.ts";
import type { JobRow } from "../../gateway/store/rows.ts";
import {
  type GatewayAnswer,
  handmadeToken,
  newAgentKeys,
  receiver,
  usdtContract,
  wallet,
  walletFrom,
} from "../../lab/kit/gateway-server.ts";
import { placeJobs } from "../../lab/kit/level-reader.ts";
import { openGrant, parseSealedGrant, shortCodeOf } from "../../protocol/grant.ts";
import { walletFingerprintOf } from "../../protocol/identity.ts";
import type { PairedAccount } from "../../protocol/messages.ts";
import { parseApiKey, signTranscript } from "../../protocol/pairing.ts";
import { parseJob } from "../../protocol/payloads.ts";
import {
  agentRow,
  anotherGateway,
  auto,
  caughtUp as caughtUpNow,
  countOf,
  db,
  eachTestItsGateway,
  gateway,
  ready,
  release,
  row,
} from "../support/shop.ts";

eachTestItsGateway();

/** This run of the gateway receives the agent's word, so waiting orders get their place. */
function caughtUp(): void {
  placeJobs(gateway.service.store, agentRow().id, gateway.clock.nowMs);
}

describe("pairing", () => {
  it("grants under the key that apiKey names, with the same short code on both sides", async () => {
    const { keyId, fingerprint } = parseApiKey(gateway.merchant.apiKey);
    const sealed = gateway.sealed();
    const answer = await gateway.register(sealed);
    expect(answer.status).toBe(200);
    const { grant, gatewayKey } = openGrant(parseSealedGrant(answer.text), {
      fingerprint,
      transcript: sealed.transcript,
    });
    expect(grant).toMatchObject({
      merchant: gateway.merchant.merchantId,
      ledgerEpoch: 1,
      agent: agentRow().id,
    });
    expect(gatewayKey).toBe(gateway.service.key.publicKey);
    const [line] = listAgents(gateway.operator);
    expect(line).toMatchObject({
      agentId: grant.agent,
      shortCode: shortCodeOf(sealed.transcript, answer.body.grant),
      unpairedAt: "",
      openWithdrawals: 0,
    });
    expect(keyId).toBe(gateway.merchant.keyId);
  });

  it("begins a recovery, and names the chains whose payments this run of the gateway has not read", async () => {
    await gateway.pair();
    const agent = agentRow();
    const [network = ""] = JSON.parse(agent.networks) as string[];
    const recover = (run: string | null) => recoverAgent({ ...gateway.operator, run }, agent.id, 0);
    expect(recover(null)).toMatchObject({ ok: true, ledgerEpoch: 2, unread: [network] });
    expect(recover("now")).toMatchObject({ ledgerEpoch: 3, unread: [network] });
    const wallet = { network, account: hotWalletAddressOn(agent, network) };
    markWalletChainRead(gateway.operator.store.database, wallet, "before");
    expect(recover("now")).toMatchObject({ unread: [network] });
    markWalletChainRead(gateway.operator.store.database, wallet, "now");
    expect(recover("now")).toMatchObject({ unread: [] });
  });

  it("again with the same keys raises the epoch; with others it is refused until the agent is released", async () => {
    await gateway.pair();
    const { id } = agentRow();
    const again = await gateway.pair();
    expect([
      again.status,
      JSON.parse(again.body.grant).ledgerEpoch,
      JSON.parse(again.body.grant).agent,
    ]).toEqual([200, 2, id]);
    const otherKeys = newAgentKeys();
    const taken = await gateway.pair({}, undefined, otherKeys);
    expect([taken.status, taken.body.code, taken.body.agent]).toEqual([409, "pairing_taken", id]);
    expect(release()).toEqual({ ok: true, openWithdrawals: 0 });
    expect(unpairAgent(gateway.operator, id)).toEqual({ ok: false, code: "GATEWAY_UNKNOWN_AGENT" });
    const other = await gateway.pair({}, undefined, otherKeys);
    expect([other.status, agentRow().id === id]).toEqual([200, false]);
    expect((await gateway.pair()).body.code).toBe("pairing_taken");
  });

  it("comes back to an unpaired agent with its jobs and a higher epoch", async () => {
    await ready();
    await auto();
    const { id } = agentRow();
    caughtUp();
    release();
    const again = await gateway.pair();
    expect(JSON.parse(again.body.grant)).toMatchObject({ agent: id, ledgerEpoch: 2 });
    await auto({ orderId: "order-2" });
    caughtUp();
    expect(
      parseJob(db().get<JobRow>("SELECT * FROM jobs WHERE sequence = 2")?.text ?? ""),
    ).toMatchObject({
      ledgerEpoch: 2,
      sequence: 2,
    });
  });

  it("is the right of one of the merchant's two keys, which has no other; the shop's has every other", async () => {
    const { apiKey, shopKey } = gateway.merchant;
    const noPairing = await gateway.pair({}, shopKey);
    expect([noPairing.status, noPairing.body.code, noPairing.body.scope]).toEqual([
      403,
      "scope_missing",
      "agent:pair",
    ]);
    await ready();
    const asks: ["GET" | "POST", string, object?][] = [
      ["GET", "/api/v1/supportedCurrency"],
      ["GET", "/api/v1/transactions"],
      ["GET", "/api/v1/balance/eth"],
      [
        "POST",
        "/api/v1/createTransactionRequest",
        { currency: "eth", amount: "1", orderId: "in-1" },
      ],
      [
        "POST",
        "/api/v1/autoWithdraw",
        { currency: "eth", amount: "1", address: receiver, orderId: "out-1" },
      ],
      ["POST", "/api/v1/manualWithdraw", { currency: "eth", amount: "1", orderId: "out-2" }],
    ];
    for (const [method, path, body] of asks) {
      const token = { signatureToken: handmadeToken(apiKey, gateway.clock.nowMs) };
      const refused = await gateway.call(method, path, body, token);
      expect([refused.status, refused.body.code], path).toEqual([403, "scope_missing"]);
      expect((await gateway.call(method, path, body)).status, path).toBe(200);
    }
    const strict = createMerchant(gateway.operator, {
      name: "Strict",
      language: "en",
      profile: "strict",
    });
    const profiles = db().all(
      "SELECT profile FROM keys WHERE id IN (?, ?) ORDER BY profile",
      strict.keyId,
      strict.shopKeyId,
    );
    expect(profiles).toEqual([{ profile: "compatible" }, { profile: "strict" }]);
    expect(shopKey).not.toBe(apiKey);
  });

  it("is refused with accounts of a family that is not served, and with a network whose family has none", async () => {
    const named = (family: string): PairedAccount[] =>
      wallet.accounts.map((account) => ({ ...account, family }));
    for (const accounts of [named("other"), [...wallet.accounts, ...named("other")]]) {
      const change = { wallet: walletFingerprintOf(accounts), accounts };
      const answer = await gateway.pair(change);
      expect([answer.status, answer.body.code, answer.body.reason]).toEqual([
        400,
        "pairing_invalid",
        "PAIRING_TRANSCRIPT",
      ]);
      expect(countOf("agents")).toBe(0);
    }
    expect((await gateway.pair()).status).toBe(200);
  });

  it("a server with open withdrawals is released only by a word for it, and they stay Pending with it; one without is by none", async () => {
    await ready();
    const { id } = agentRow();
    const stays = (await auto()).body.transactionId;
    await auto({ orderId: "order-2" });
    caughtUpNow();
    const words = "2 withdrawals and sweeps are open with this server, and no other can end them";
    expect(unpairAgent(gateway.operator, id)).toEqual({
      ok: false,
      code: "GATEWAY_AGENT_OPEN",
      detail: words,
    });
    expect([agentRow().id, db().all("SELECT 1 FROM audit WHERE act = 'agent unpaired'")]).toEqual([
      id,
      [],
    ]);
    expect(unpairAgent(gateway.operator, id, "open")).toEqual({ ok: true, openWithdrawals: 2 });
    expect(db().get("SELECT detail FROM audit WHERE act = 'agent unpaired'")).toEqual({
      detail: `${gateway.merchant.merchantId}, open: 2`,
    });
    await gateway.pair({}, undefined, newAgentKeys());
    expect(row(stays)?.status).toBe(0);
    expect(db().all("SELECT 1 FROM jobs WHERE agent = ?", agentRow().id)).toEqual([]);
    caughtUpNow();
    expect(unpairAgent(gateway.operator, agentRow().id)).toEqual({ ok: true, openWithdrawals: 0 });
  });

  it("uses up the key's right, once for every key", async () => {
    await gateway.pair();
    db().run("UPDATE agents SET unpairedAt = 1");
    expect((await gateway.pair()).body.code).toBe("pairing_used");
    db().run("UPDATE keys SET pairingUsed = 0");
    expect((await gateway.pair()).status).toBe(200);
  });

  describe("keeps to one merchant", () => {
    const foreign = walletFrom(deriveAccounts(new Uint8Array(64).fill(7), ["evm"]));
    const [account0, account1] = wallet.nodes as readonly [WalletAccount, WalletAccount];
    const [otherHotWallet, otherDeposits] = foreign.nodes as readonly [
      WalletAccount,
      WalletAccount,
    ];
    /**
     * The same key and so the same addresses in another text: nothing checks which parent an xpub
     * names.
     */
    const otherText = (xpub: string): string => {
      const { publicKey, chainCode, depth, index, parentFingerprint, versions } =
        HDKey.fromExtendedKey(xpub);
      const same = {
        publicKey: publicKey!,
        chainCode: chainCode!,
        depth,
        index,
        parentFingerprint: (parentFingerprint ^ 1) >>> 0,
        versions,
      };
      return new HDKey(same).publicExtendedKey;
    };
    /** Another merchant with the keys of `nodes`, who may name other accounts than theirs. */
    const pairOutsider = async (
      nodes: readonly WalletAccount[],
      accounts = pairedAccountsOf(nodes),
    ): Promise<GatewayAnswer> => {
      const outsider = createMerchant(gateway.operator, { name: "Other", language: "en" });
      const change = { wallet: walletFingerprintOf(accounts), accounts };
      return gateway.pair(change, outsider.apiKey, newAgentKeys(), nodes);
    };
    const [hotWallet, deposits] = wallet.accounts as readonly [PairedAccount, PairedAccount];
    const inOtherText = { ...deposits, id: otherText(deposits.id) };

    it.each<[string, readonly WalletAccount[], PairedAccount[]?]>([
      ["a whole wallet", wallet.nodes],
      ["a hot wallet address", [account0, otherDeposits]],
      ["a deposit key", [otherHotWallet, account1]],
      [
        "a deposit key in another text",
        [otherHotWallet, account1],
        [foreign.accounts[0] as PairedAccount, inOtherText],
      ],
    ])(
      "pairing keeps to one merchant: %s, even after its agent was released",
      async (_name, nodes, named) => {
        await gateway.pair();
        const refused = async (): Promise<void> => {
          const answer = await pairOutsider(nodes, named);
          expect([answer.status, answer.body.code]).toEqual([409, "pairing_wallet_taken"]);
          expect(countOf("agents")).toBe(1);
        };
        await refused();
        db().run(
          "UPDATE agents SET accounts = replace(accounts, ?, lower(?))",
          hotWallet.id,
          hotWallet.id,
        );
        await refused();
        release();
        await refused();
        expect((await pairOutsider(foreign.nodes)).status).toBe(200);
      },
    );

    it.each<[string, PairedAccount[]]>([
      ["hot wallet address", [hotWallet, foreign.accounts[1] as PairedAccount]],
      ["deposit key", [foreign.accounts[0] as PairedAccount, deposits]],
    ])(
      "pairing keeps to one merchant: an attacker who names the %s without its key does not stop the owner from pairing later",
      async (_name, named) => {
        const answer = await pairOutsider(foreign.nodes, named);
        const theirs = named.find((account) => account === hotWallet || account === deposits);
        expect([answer.status, answer.body.code, answer.body.account]).toEqual([
          401,
          "pairing_unproven",
          theirs?.id,
        ]);
        expect(countOf("agents")).toBe(0);
        expect((await gateway.pair()).status).toBe(200);
        expect((await pairOutsider(foreign.nodes)).status).toBe(200); // with his own keys he may
      },
    );
  });

  it("answers the same request again with the very same grant and changes nothing", async () => {
    const sealed = gateway.sealed();
    const granted = await gateway.register(sealed);
    const before = agentRow();
    gateway.clock.nowMs += 5_000;
    const again = await gateway.register(sealed);
    expect([granted.status, again.status, again.text]).toEqual([200, 200, granted.text]);
    expect(agentRow()).toEqual(before);
    expect(db().all("SELECT 1 FROM audit WHERE act = 'paired'").length).toBe(1);
    expect(JSON.parse((await gateway.pair()).body.grant).ledgerEpoch).toBe(2);
  });

  it("refuses a recorded request once a newer one was granted, and after the agent was released", async () => {
    const recorded = gateway.sealed();
    const newer = gateway.sealed();
    for (const sealed of [recorded, newer])
      expect((await gateway.register(sealed)).status).toBe(200);
    const before = agentRow();
    const replayed = await gateway.register(recorded);
    expect([replayed.status, replayed.body.code]).toEqual([409, "pairing_replayed"]);
    expect(agentRow()).toEqual(before);
    release();
    for (const sealed of [recorded, newer])
      expect((await gateway.register(sealed)).body.code).toBe("pairing_replayed");
    expect(agentRow()).toBeUndefined();
    expect((await gateway.pair()).status).toBe(200);
  });

  it.each([
    ["link", "linkSignature"],
    ["signer", "signerSignature"],
  ] as const)("needs the signature of the %s key that the transcript names", async (key, field) => {
    const sealed = gateway.sealed();
    const { [field]: signature, ...unsigned } = sealed;
    const without = await gateway.register(unsigned);
    expect([without.status, without.body.code]).toEqual([400, "pairing_invalid"]);
    const others = [
      signTranscript(sealed.transcript, newAgentKeys()[key]),
      gateway.sealed()[field],
      `${signature.slice(0, 64)}${"0".repeat(64)}`,
      key === "link" ? sealed.signerSignature : sealed.linkSignature,
    ];
    for (const other of others) {
      const answer = await gateway.register({ ...sealed, [field]: other });
      expect([answer.status, answer.body.code, answer.body.key]).toEqual([
        401,
        "pairing_unsigned",
        key,
      ]);
    }
    expect(countOf("agents")).toBe(0);
    expect((await gateway.register(sealed)).status).toBe(200);
  });

  it("needs the proof of each account's own key, over this transcript, in the accounts' order", async () => {
    const sealed = gateway.sealed();
    const [hotWallet = "", deposits = ""] = sealed.proofs;
    const [oldHotWallet = "", oldDeposits = ""] = gateway.sealed().proofs;
    const parity = (proof: string): string =>
      `${proof.slice(0, -1)}${proof.endsWith("1") ? "0" : "1"}`;
    const malleated = (proof: string): string => {
      const s = secp256k1.CURVE.n - BigInt(`0x${proof.slice(64, 128)}`);
      return parity(`${proof.slice(0, 64)}${s.toString(16).padStart(64, "0")}${proof.slice(128)}`);
    };
    for (const proofs of [
      [],
      [hotWallet],
      [deposits, hotWallet],
      [hotWallet, hotWallet],
      [oldHotWallet, deposits],
      [hotWallet, oldDeposits],
      [parity(hotWallet), deposits],
      [hotWallet, parity(deposits)],
      [malleated(hotWallet), deposits],
      [hotWallet, deposits, deposits],
      [`${hotWallet}00`, deposits],
      [`${"00".repeat(64)}00`, deposits],
    ]) {
      const answer = await gateway.register({ ...sealed, proofs });
      expect([answer.status, answer.body.code], JSON.stringify(proofs)).toEqual([
        401,
        "pairing_unproven",
      ]);
    }
    expect(countOf("agents")).toBe(0);
    expect((await gateway.register(sealed)).status).toBe(200);
  });

  const currency = {
    id: "eth",
    network: "eip155:31337",
    contract: "",
    decimal: 18,
    maxFee: "0.01",
  };
  const usdt = {
    id: "usdt",
    network: "eip155:31337",
    contract: usdtContract,
    decimal: 6,
    maxFee: "0.01",
  };
  const wrong: Record<string, [change: object, status: number, code: string]> = {
    "another gateway's fingerprint": [
      { gatewayFingerprint: "0".repeat(32) },
      400,
      "pairing_other_gateway",
    ],
    "an unknown key": [{ keyId: "k_0000000000000000" }, 401, "pairing_key_invalid"],
    "a clock ten minutes slow": [
      { at: Date.parse("2026-01-02T03:04:05.678Z") - 600_001 },
      400,
      "pairing_clock",
    ],
    "a network nobody here has": [
      { networks: ["eip155:1", "eip155:31337"] },
      400,
      "pairing_network_differs",
    ],
    "a currency nobody here has": [
      { currencies: [{ ...currency, id: "doge" }] },
      400,
      "pairing_currency_differs",
    ],
    "other decimals": [{ currencies: [{ ...usdt, decimal: 18 }] }, 400, "pairing_currency_differs"],
    "another contract": [
      { currencies: [{ ...usdt, contract: receiver }] },
      400,
      "pairing_currency_differs",
    ],
    "a wallet that is not its account's": [{ wallet: "0".repeat(32) }, 400, "pairing_invalid"],
    "a field too many": [{ extra: 1 }, 400, "pairing_invalid"],
    "one key for both": [
      { signerKey: "1".repeat(64), linkKey: "1".repeat(64) },
      400,
      "pairing_invalid",
    ],
  };
  for (const [name, [change, status, code]] of Object.entries(wrong)) {
    it(`is refused with ${name}, and uses nothing up`, async () => {
      const answer = await gateway.pair(change);
      expect([answer.status, answer.body.code]).toEqual([status, code]);
      expect(countOf("agents")).toBe(0);
      expect((await gateway.pair()).status).toBe(200);
    });
  }

  it("is refused with a wrong secret, a revoked key, a key without the right, a public-key one, and a malformed MAC", async () => {
    const { keyId, fingerprint } = parseApiKey(gateway.merchant.apiKey);
    const forged = `${keyId}.${Buffer.alloc(32).toString("base64url")}.${fingerprint}`;
    expect((await gateway.pair({}, forged)).body.code).toBe("pairing_key_invalid");
    const narrow = gateway.key({ scopes: ["read"] });
    expect((await gateway.pair({}, narrow.apiKey)).body).toMatchObject({
      code: "scope_missing",
      scope: "agent:pair",
    });
    const seedKey = gateway.key({ alg: "EdDSA" });
    expect((await gateway.pair({}, seedKey.apiKey)).body.code).toBe("pairing_key_invalid");
    const revoked = gateway.key({ scopes: ["agent:pair"] });
    db().run("UPDATE keys SET revokedAt = 1 WHERE id = ?", revoked.keyId);
    expect((await gateway.pair({}, revoked.apiKey)).body.code).toBe("key_revoked");
    const bare = { transcript: "{}", mac: "0".repeat(64), signature: "0".repeat(128) };
    for (const body of [
      "",
      "{}",
      "[]",
      JSON.stringify({ ...bare, mac: "00" }),
      JSON.stringify(bare),
    ]) {
      const sent = { method: "POST", headers: { "Content-Type": "application/json" }, body };
      expect((await gateway.send("/agent/v1/pair", sent)).body.code, body).toBe("pairing_invalid");
    }
    expect((await gateway.pair()).status).toBe(200);
  });

  it("is limited by address", async () => {
    await anotherGateway();
    for (let i = 0; i < 5; i += 1) expect((await gateway.pair()).status).toBe(200);
    const away = await gateway.pair();
    expect([away.status, away.body.code, away.headers["retry-after"]]).toEqual([
      429,
      "rate_limited",
      "12",
    ]);
    gateway.clock.nowMs += 12_000;
    expect((await gateway.pair()).status).toBe(200);
  });
});
