/**
 * The commands of both programs that no other test types beside real processes: a paired agent
 * whose account was used before, its orders, and a merchant with keys, callbacks, deposits and
 * books. Each command is a process; what it did is read back by another command or by REST.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { HDNodeWallet, Wallet } from "ethers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Receiver, startReceiver } from "../../lab/kit/callback-receiver.ts";
import { type Kit, projectRoot, settle, startKit } from "../../lab/kit/kit.ts";
import { run, until } from "../../lab/kit/processes.ts";
import { balanceWei, rpc, sendUnlocked } from "../../lab/kit/rpc.ts";
import { createShop, type Shop } from "../../lab/kit/shop.ts";
import { startsTheBuild } from "../support/built.ts";
import { done, refusal, typeAgent, typeGateway } from "../support/typed-commands.ts";

const waitMs = 120_000;
const receiver = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const unknownId = "ab".repeat(16);
const why = ["--reason", "the operator says so"] as const;
const half = 5n * 10n ** 17n;

startsTheBuild();

/** An agent's command that was refused: the code stands in its answer. */
const refused = (exit: number, code: string) => ({
  code: exit,
  json: expect.objectContaining({ ok: false, code }),
  said: expect.stringContaining("hint: "),
});

describe("the commands of agent and gateway", () => {
  let kit: Kit;
  let shop: Shop;
  const agent = (...words: string[]) => typeAgent(kit, words);
  const gateway = (...words: string[]) => typeGateway(kit, words);
  const ordered = async (orderId: string, amount: string): Promise<string> =>
    (await shop.autoWithdraw({ currency: "eth", amount, receiver, orderId })).transactionId;
  const said = (): string =>
    `${kit.crypto?.output().slice(-3_000)}\n${kit.gateway?.output().slice(-3_000)}`;

  const becomes = (
    id: string,
    is: (record: Awaited<ReturnType<Shop["transaction"]>>) => boolean,
    type: 1 | 2 = 2,
  ) =>
    until(
      `${id} is like that`,
      waitMs,
      async () => {
        const found = await shop.transaction(id, type);
        return is(found) ? found : undefined;
      },
      said,
    );
  const withdrawal = async (id: string) => {
    const { output } = await kit.cli("show", id, "--json");
    return (
      JSON.parse(output) as {
        withdrawal: { state: string; attempts: readonly { txHash: string }[] };
      }
    ).withdrawal;
  };
  const hasAttempts = (id: string, count: number) =>
    until(
      `${id} has ${count} attempts`,
      waitMs,
      async () => {
        const { state, attempts } = await withdrawal(id);
        return state === "broadcast" && attempts.length === count ? attempts : undefined;
      },
      said,
    );
  /** The node has the transaction, so that it can be in the next block. */
  const isSent = (hash = "") =>
    until(
      `${hash} is at the node`,
      waitMs,
      async () =>
        (await rpc(kit.anvil.url, "eth_getTransactionByHash", [hash])) ? true : undefined,
      said,
    );

  beforeAll(async () => {
    kit = await startKit({ inProcess: true, confirmations: 2 });
    // Another program used the account before it was paired.
    const { address, privateKey } = HDNodeWallet.fromPhrase(kit.mnemonic, "", "m/44'/60'/0'/0/0");
    await sendUnlocked(kit.anvil.url, { to: address, value: "0x56BC75E2D63100000" });
    const fees = {
      maxFeePerGas: 3_000_000_000n,
      maxPriorityFeePerGas: 1_000_000_000n,
      gasLimit: 21_000n,
    };
    const before = { to: address, value: 1n, nonce: 0, chainId: 31_337n, type: 2, ...fees };
    await rpc(kit.anvil.url, "eth_sendRawTransaction", [
      await new Wallet(privateKey).signTransaction(before),
    ]);
    await settle(kit.anvil.url, 4);
    await kit.startGateway();
    expect((await kit.pair()).code).toBe(0);
    await kit.startCrypto();
    shop = createShop(kit);
  }, 240_000);
  afterAll(async () => {
    await kit?.close();
  });

  it("adopt: an account that was used before begins at the count that its operator says", {
    timeout: 300_000,
  }, async () => {
    await until(
      "the agent waits for the first slot",
      waitMs,
      async () =>
        (await kit.cli("status", "--json")).output.includes("ACCOUNT_FIRST_SLOT")
          ? true
          : undefined,
      said,
    );
    expect(await agent("adopt", "nowhere", "--yes", "1")).toMatchObject({ json: { ok: false } });
    expect(await agent("adopt", "local")).toEqual(refused(2, "COMMAND_USAGE"));
    expect(await agent("adopt", "local", "--yes", "7")).toEqual(refused(1, "ACCOUNT_FIRST_SLOT"));
    const first = { chain: "local", adopted: "1", counted: "1" };
    expect(await agent("adopt", "local", "--yes", "1")).toEqual(
      done({ ok: true, first: expect.objectContaining(first) }),
    );
    await until(
      "the funds are known",
      waitMs,
      async () => ((await shop.balance("eth")).available === "0" ? undefined : true),
      said,
    );
    const { json } = await agent("address", "eth");
    expect(json).toMatchObject({ ok: true, currency: "eth", address: kit.hotWalletAddress });
  });

  it("pause and resume: no order is signed in between, and the gateway's operator sees it", {
    timeout: 300_000,
  }, async () => {
    expect(await agent("pause")).toEqual(refused(2, "COMMAND_USAGE"));
    expect(await agent("pause", "--yes")).toEqual(
      done(expect.objectContaining({ ok: true, paused: true })),
    );
    const id = await ordered("while-paused", "1");
    const pausedAt = await until("the gateway knows", waitMs, async () => {
      const [one] = JSON.parse(await kit.operate("agents", "list", "--json")) as {
        pausedAt: string;
      }[];
      return one?.pausedAt || undefined;
    });
    const [listed] = (await gateway("agents", "list")).json as {
      pausedAt: string;
      merchantId: string;
      lockedCode: string;
    }[];
    expect(listed).toMatchObject({ pausedAt, merchantId: kit.merchantId, lockedCode: "" });
    await until("the order is at the agent", waitMs, async () =>
      (await withdrawal(id)).state === "approved" ? true : undefined,
    );
    expect((await withdrawal(id)).attempts).toEqual([]);
    expect(await shop.transaction(id)).toMatchObject({ status: 0, stage: "queued" });
    expect(await agent("resume", "--yes")).toEqual(
      done(expect.objectContaining({ ok: true, paused: false })),
    );
    await becomes(id, ({ status }) => status === 1);
  });

  it("approve and refuse: a held order is paid by one word, and ends by the other", {
    timeout: 300_000,
  }, async () => {
    const ids = [await ordered("held-1", "3"), await ordered("held-2", "3")];
    for (const id of ids) await becomes(id, ({ stage }) => stage === "awaiting_approval");
    const held = (await agent("status", "--held")).json as { count: number; held: string[] };
    expect([held.count, [...held.held].sort()]).toEqual([2, [...ids].sort()]);
    const [paid = "", ended = ""] = ids;
    expect(await agent("approve", unknownId, "--yes")).toMatchObject({
      code: 1,
      json: { ok: false },
    });
    expect(await agent("approve", paid)).toEqual(refused(2, "COMMAND_USAGE"));
    expect(await agent("approve", paid, "--yes")).toMatchObject({
      code: 0,
      json: { ok: true, withdrawal: { state: "approved" } },
    });
    expect(await agent("refuse", ended, "--yes")).toMatchObject({
      code: 0,
      json: { ok: true, withdrawal: { state: "refused" } },
    });
    await becomes(paid, ({ status }) => status === 1);
    expect(await becomes(ended, ({ status }) => status === 2)).toMatchObject({ txHash: "" });
    expect(await agent("approve", ended, "--yes")).toMatchObject({ code: 1, json: { ok: false } });
  });

  it("replace and cancel: attempts on one slot, of which the chain takes one", {
    timeout: 300_000,
  }, async () => {
    const before = await balanceWei(kit.anvil.url, receiver);
    await rpc(kit.anvil.url, "evm_setIntervalMining", [0]);
    await rpc(kit.anvil.url, "evm_setAutomine", [false]);
    const paid = await ordered("replaced", "0.5");
    await hasAttempts(paid, 1);
    expect(await agent("replace", paid)).toEqual(refused(2, "COMMAND_USAGE"));
    expect(await agent("replace", paid, "--yes")).toMatchObject({
      code: 0,
      json: { ok: true, plan: { act: "replace" } },
    });
    const [, second] = await hasAttempts(paid, 2);
    await isSent(second?.txHash);
    await settle(kit.anvil.url, 4);
    expect((await becomes(paid, ({ status }) => status === 1)).txHash).toBe(second?.txHash);
    const cancelled = await ordered("cancelled", "0.5");
    await hasAttempts(cancelled, 1);
    expect(await agent("cancel", cancelled, "--yes")).toMatchObject({
      code: 0,
      json: { ok: true, plan: { act: "cancel" } },
    });
    const [, instead] = await hasAttempts(cancelled, 2);
    await isSent(instead?.txHash);
    await rpc(kit.anvil.url, "evm_setIntervalMining", [1]);
    expect(await becomes(cancelled, ({ status }) => status === 2)).toMatchObject({
      code: "cancelled",
    });
    expect(await balanceWei(kit.anvil.url, receiver)).toBe(before + half);
    expect(await agent("replace", cancelled, "--yes")).toMatchObject({
      code: 1,
      json: { ok: false },
    });
  });

  it("status, withdrawals, show, verify, doctor, check, completion and token answer of the running agent", async () => {
    const status = (await agent("status")).json as { status: { counts: Record<string, number> } };
    expect(status.status.counts).toMatchObject({ paid: 3, refused: 1, cancelled: 1 });
    const listed = (await agent("withdrawals")).json as {
      withdrawals: { transactionId: string; state: string }[];
    };
    expect(listed.withdrawals.map(({ state }) => state).sort()).toEqual([
      "cancelled",
      "paid",
      "paid",
      "paid",
      "refused",
    ]);
    const [{ transactionId = "" } = {}] = listed.withdrawals;
    expect(await agent("show", transactionId)).toEqual(done(expect.objectContaining({ ok: true })));
    expect(await agent("verify")).toEqual(
      done(expect.objectContaining({ ok: true, by: "signer" })),
    );
    expect((await agent("doctor")).json).toHaveProperty("findings");
    expect((await agent("check", "--config", kit.configPath)).json).toMatchObject({
      ok: true,
      role: "both",
    });
    const program = [join(projectRoot, "autowithdraw.js"), "completion", "bash"];
    const completion = await run(process.execPath, program, {
      logFile: join(kit.dir, "completion.log"),
    });
    expect([completion.code, completion.output]).toEqual([
      0,
      expect.stringContaining("_autowithdraw()"),
    ]);
    expect(await agent("token", "--api-key-file", kit.configPath)).toEqual(
      refused(2, "PAIRING_API_KEY"),
    );
    const keyFile = join(kit.dir, "shop.key");
    writeFileSync(keyFile, kit.shopKey, { mode: 0o600 });
    const { signatureToken } = (await agent("token", "--api-key-file", keyFile)).json as {
      signatureToken: string;
    };
    const answer = await fetch(`${kit.gatewayUrl}/api/v1/balance/eth`, {
      headers: { signatureToken },
    });
    expect(answer.status).toBe(200);
  });

  it("merchant show, page, disable and enable: a merchant that is switched off is refused", async () => {
    const id = kit.merchantId;
    expect(await gateway("merchant", "show", id)).toEqual(
      done(expect.objectContaining({ merchantId: id, disabledAt: "" })),
    );
    expect(await gateway("merchant", "disable", "m_0000000000000000")).toEqual(
      refusal("GATEWAY_UNKNOWN_MERCHANT"),
    );
    expect(await gateway("merchant", "disable", id)).toEqual(
      done({ merchantId: id, enabled: false, openTransactions: 0 }),
    );
    await expect(shop.balance("eth")).rejects.toThrow("merchant_disabled");
    expect(await gateway("merchant", "enable", id)).toEqual(
      done({ merchantId: id, enabled: true, openTransactions: 0 }),
    );
    await shop.balance("eth");
    const page = { shownName: "Corner Shop", contact: "help@shop.example", origins: [] };
    const words = ["--shown-name", page.shownName, "--contact", page.contact];
    expect(await gateway("merchant", "page", id, ...words)).toEqual(
      done({ merchantId: id, ...page }),
    );
    expect((await gateway("merchant", "list")).json).toEqual([
      expect.objectContaining({ merchantId: id, page }),
    ]);
  });

  it("key create, list, rotate, allow, expire and revoke: a key opens what its row says, and then nothing", async () => {
    const asks = async (shopKey: string): Promise<string> =>
      createShop({ gatewayUrl: kit.gatewayUrl, shopKey })
        .balance("eth")
        .then(
          () => "",
          ({ message }: Error) => message.replace(/^balance of eth: /, "").split(" ")[0] ?? "",
        );
    const made = (await gateway("key", "create", "--merchant", kit.merchantId, "--scopes", "read"))
      .json as Record<string, string>;
    const { keyId = "", shopKey = "" } = made;
    expect(await asks(shopKey)).toBe("");
    const allowed = { keyId, allowedAddresses: ["192.0.2.1"] };
    expect(await gateway("key", "allow", keyId, "--ip", "192.0.2.1")).toEqual(done(allowed));
    expect(await asks(shopKey)).not.toBe("");
    expect(await gateway("key", "allow", keyId, "--anywhere")).toEqual(
      done({ keyId, allowedAddresses: [] }),
    );
    const next = (await gateway("key", "rotate", keyId)).json as Record<string, string>;
    expect([await asks(shopKey), await asks(next.shopKey ?? "")]).toEqual(["", ""]);
    expect(await gateway("key", "expire", keyId)).toMatchObject({ code: 0, json: { keyId } });
    expect(await gateway("key", "revoke", next.keyId ?? "")).toEqual(
      done({ keyId: next.keyId, revoked: true }),
    );
    expect(await gateway("key", "revoke", next.keyId ?? "")).toEqual(
      refusal("GATEWAY_UNKNOWN_KEY"),
    );
    for (const key of [shopKey, next.shopKey ?? ""]) expect(await asks(key)).not.toBe("");
    const rows = (await gateway("key", "list", "--merchant", kit.merchantId)).json as {
      keyId: string;
      revokedAt: string;
    }[];
    expect(rows.find((one) => one.keyId === next.keyId)?.revokedAt).not.toBe("");
  });

  let deposit = { transactionId: "", address: "" };

  it("callbacks add, test, rotate, deliveries, redeliver and remove: a receiver that was down gets what it missed", {
    timeout: 300_000,
  }, async () => {
    const hook: Receiver = await startReceiver();
    try {
      const added = await gateway(
        "callbacks",
        "add",
        "--merchant",
        kit.merchantId,
        "--url",
        hook.url,
      );
      const { callbackId, secret } = added.json as { callbackId: string; secret: string };
      hook.secret = secret;
      expect(await gateway("callbacks", "test", callbackId)).toMatchObject({
        code: 0,
        json: { taken: true, status: 204 },
      });
      hook.answer = (response) => void response.writeHead(500).end();
      expect(await gateway("callbacks", "test", callbackId)).toMatchObject({
        code: 1,
        json: { taken: false, status: 500 },
      });
      deposit = await shop.deposit("eth", "0.5", "paid-in");
      await sendUnlocked(kit.anvil.url, { to: deposit.address, value: `0x${half.toString(16)}` });
      await becomes(deposit.transactionId, ({ status }) => status === 1, 1);
      await until("an event is refused", waitMs, async () =>
        hook.received.some(({ type }) => type.startsWith("deposit.")) ? true : undefined,
      );
      const waiting = async () =>
        (
          (await gateway("callbacks", "deliveries", "--callback", callbackId)).json as {
            delivery: number;
            type: string;
            state: string;
          }[]
        ).filter(({ type, state }) => type.startsWith("deposit.") && state === "waiting");
      const [one] = await waiting();
      hook.answer = (response) => void response.writeHead(204).end();
      expect(await gateway("callbacks", "redeliver", "999999")).toEqual(
        refusal("GATEWAY_UNKNOWN_CALLBACK"),
      );
      expect(await gateway("callbacks", "redeliver", `${one?.delivery}`)).toMatchObject({
        code: 0,
      });
      expect(await gateway("callbacks", "redeliver", "--callback", callbackId)).toMatchObject({
        code: 0,
        json: { callbackId },
      });
      await until(
        "all is taken",
        waitMs,
        async () => ((await waiting()).length === 0 ? true : undefined),
        said,
        1_000,
      );
      expect((await gateway("callbacks", "rotate", callbackId)).json).toMatchObject({ callbackId });
      expect((await gateway("callbacks", "list")).json).toEqual([
        expect.objectContaining({ callbackId, waiting: 0 }),
      ]);
      expect(await gateway("callbacks", "remove", callbackId)).toMatchObject({
        code: 0,
        json: { callbackId, removed: true },
      });
      expect((await gateway("callbacks", "list")).json).toEqual([]);
      expect(hook.refused).toEqual([]);
    } finally {
      await hook.close();
    }
  });

  it("find, deposits note and strays, withdrawals list and balances show what came and went", async () => {
    const id = deposit.transactionId;
    expect(await gateway("deposits", "note", unknownId, "called")).toEqual(
      refusal("GATEWAY_UNKNOWN_RECORD"),
    );
    expect(await gateway("deposits", "note", id, "the payer called")).toEqual(
      done({ transactionId: id, note: "the payer called" }),
    );
    const { records } = (await gateway("find", "paid-in")).json as {
      records: { record: { transactionId: string } }[];
    };
    expect(records.map(({ record }) => record.transactionId)).toEqual([id]);
    expect(await gateway("deposits", "strays")).toEqual(done([]));
    const out = (await gateway("withdrawals", "list")).json as {
      orderId: string;
      status: number;
    }[];
    expect(out.map(({ orderId, status }) => `${orderId} ${status}`).sort()).toEqual(
      ["cancelled 2", "held-1 1", "held-2 2", "replaced 1", "while-paused 1"].sort(),
    );
    const [eth] = (await gateway("balances", "--currency", "eth")).json as {
      total: string;
      difference: string;
    }[];
    expect(eth).toMatchObject({ difference: "0" });
    const acts = (await gateway("audit", "--about", id)).json as { act: string }[];
    expect(acts.map(({ act }) => act)).toContain("note");
  });

  it("sweeps list, show and order: an address is swept once more by an operator's word", {
    timeout: 300_000,
  }, async () => {
    const list = async () =>
      (
        (await gateway("sweeps", "list")).json as {
          sweeps: { transactionId: string; status: number }[];
        }
      ).sweeps;
    const [first] = await until("it is swept", waitMs, async () => {
      const sweeps = await list();
      return sweeps.length > 0 && sweeps.every(({ status }) => status === 1) ? sweeps : undefined;
    });
    expect((await gateway("sweeps", "show", first?.transactionId ?? "")).json).toMatchObject({
      status: 1,
    });
    expect(await gateway("sweeps", "show", deposit.transactionId)).toEqual(
      refusal("GATEWAY_UNKNOWN_RECORD"),
    );
    await sendUnlocked(kit.anvil.url, { to: deposit.address, value: `0x${half.toString(16)}` });
    await settle(kit.anvil.url, 4);
    const ordered = await until("something lies there", waitMs, async () => {
      const asked = await gateway("sweeps", "order", deposit.address);
      return asked.code === 0 ? asked : undefined;
    });
    expect(ordered.json).toMatchObject({
      address: deposit.address,
      ordered: [expect.objectContaining({ currency: "eth" })],
    });
    expect(await gateway("sweeps", "order", "nowhere")).toEqual(refusal("ADDRESS_FORMAT"));
    await until("a second sweep ends", waitMs, async () =>
      (await list()).filter(({ status }) => status === 1).length > 1 ? true : undefined,
    );
  });

  it("currencies list, prices, scan, report, reconcile and its note answer of the same books", {
    timeout: 300_000,
  }, async () => {
    const currencies = (await gateway("currencies", "list")).json as {
      id: string;
      service: string;
    }[];
    expect(currencies.map(({ id, service }) => `${id} ${service}`)).toEqual(["eth in", "usdt in"]);
    expect((await gateway("prices")).json).toContainEqual(
      expect.objectContaining({ currency: "eth", fiat: "USD", price: "3000" }),
    );
    const scan = await gateway("scan", "--merchant", kit.merchantId, "--to", "3");
    expect(scan).toEqual(done(expect.objectContaining({ ok: true, found: [] })));
    expect((await gateway("report", "--since", "2020-01-01")).json).toHaveProperty("chains");
    const listed = (await gateway("report", "--since", "2020-01-01", "--moves")).json as {
      readonly chains: readonly { readonly moves: readonly Record<string, string>[] }[];
    };
    const paid = listed.chains
      .flatMap(({ moves }) => moves)
      .filter(({ kind }) => kind === "payment");
    expect(paid).toContainEqual(
      expect.objectContaining({
        ...{ account: "deposit", address: deposit.address, column: "paidIn", other: "customers" },
        day: new Date().toISOString().slice(0, 10),
      }),
    );
    expect((await gateway("report", "--moves", "--on-chain")).code).toBe(2);
    const books = await until("the books agree", waitMs, async () => {
      const closed = await gateway("reconcile");
      return closed.code === 0 ? closed : undefined;
    });
    expect(books.json).toMatchObject({
      ok: true,
      chains: [expect.objectContaining({ differences: [] })],
    });
    const note = [
      "reconcile",
      "note",
      deposit.address,
      "eth",
      "--amount",
      "1",
      "--by",
      "Ayse",
      ...why,
    ];
    expect(await gateway(...note)).toEqual(refusal("GATEWAY_NO_DIFFERENCE"));
    expect((await gateway("reconcile", "--last")).json).toMatchObject({ ok: true });
    expect((await gateway("status")).json).toMatchObject({ ok: true, running: true });
  });
});
