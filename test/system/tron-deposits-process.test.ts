/**
 * Deposits on Tron through the real gateway and the fake for java-tron, two processes: the
 * credited sum is the solidified chain's, through a replaced block and a killed gateway. tronweb
 * makes every payment and derives every address independently of the product.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";
import { HDKey } from "@scure/bip32";
import { TronWeb } from "tronweb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Client, createClient } from "../../clients/typescript/client.ts";
import { freePort, type StartedProcess, start, stop, until } from "../../lab/kit/processes.ts";
import { encodeTransfer } from "../../lab/tron-node/contracts.ts";
import { startTronProcess, type TronProcess } from "../../lab/tron-node/process.ts";
import { startsTheBuild } from "../support/built.ts";
import {
  lookAlike,
  type SignedTronTransaction,
  sender,
  signedBy,
  usdt,
} from "../support/tron-network.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const launcher = join(root, "gateway", "gateway.js");
const waitMs = 180_000;
const account = HDKey.fromMasterSeed(new Uint8Array(32).fill(18)).derive("m/44'/195'/1'");

/** The address at an index of the account, by tronweb. */
function addressAt(index: number): string {
  const { privateKey } = account.derive(`m/0/${index}`);
  return TronWeb.address.fromPrivateKey(Buffer.from(privateKey ?? []).toString("hex")) as string;
}

startsTheBuild();

describe("a gateway with a chain of Tron", () => {
  const dir = mkdtempSync(join(tmpdir(), "tron-deposits-"));
  const config = join(dir, "gateway.config.json");
  let node: TronProcess;
  let gateway: StartedProcess;
  let client: Client;
  let port = 0;
  let stamp = 0;

  const command = (...args: string[]): string =>
    execFileSync(process.execPath, [launcher, ...args, "--config", config, "--json"], {
      encoding: "utf8",
    });
  const ask = async (path: string, asked: object): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${node.urls[0]}/${path}`, {
      method: "POST",
      body: JSON.stringify(asked),
    });
    return (await answer.json()) as Record<string, unknown>;
  };

  async function open(): Promise<void> {
    gateway = start(process.execPath, [launcher, "start", "--config", config], {
      logFile: join(dir, "gateway.log"),
    });
    await until(
      "the gateway listens",
      waitMs,
      async () => gateway.output().includes("listens at") || undefined,
      gateway.output,
    );
  }

  async function pay(type: string, value: Record<string, unknown>): Promise<SignedTronTransaction> {
    const { blockID, block_header } = (await ask("walletsolidity/getnowblock", {})) as {
      blockID: string;
      block_header: { raw_data: { timestamp: number } };
    };
    stamp += 1;
    const signed = signedBy(sender, type, value, {
      reference: { refBytes: blockID.slice(12, 16), refHash: blockID.slice(16, 32) },
      expirationMs: block_header.raw_data.timestamp + 400_000,
      timestampMs: block_header.raw_data.timestamp + stamp,
    });
    expect(await ask("wallet/broadcasttransaction", signed)).toMatchObject({ result: true });
    return signed;
  }
  const coins = (to: string, sun: number) =>
    pay("TransferContract", { to_address: TronWeb.address.toHex(to), amount: sun });
  const token = (contract: string, to: string, units: bigint) => {
    const data = encodeTransfer(TronWeb.address.toHex(to), units);
    return pay("TriggerSmartContract", { contract_address: TronWeb.address.toHex(contract), data });
  };

  async function order(
    currency: string,
    amount: string,
    orderId: string,
  ): Promise<{ id: string; address: string }> {
    const made = await client.createTransactionRequest({ currency, amount, orderId });
    if (!made.ok) throw new Error(`${orderId}: ${made.code} ${made.message}`);
    return { id: made.value.transactionId, address: made.value.address };
  }

  async function told(
    id: string,
  ): Promise<{ status: number; stage: string; amountReceived: string; txHash: string }> {
    const result = await client.transaction(id, 1);
    if (!result.ok) throw new Error(`${id}: ${result.code}`);
    const { status, stage = "", txHash = "", amountReceived = "" } = result.value;
    return { status, stage, amountReceived, txHash };
  }

  const becomes = (id: string, stage: string): Promise<unknown> =>
    until(
      `${id} is ${stage}`,
      waitMs,
      async () => ((await told(id)).stage === stage ? true : undefined),
      gateway.output,
    );

  /** The final block that the gateway has read up to. */
  const reads = (block: number): Promise<unknown> =>
    until(
      `block ${block} is read`,
      waitMs,
      async () => (finalRead() >= block ? true : undefined),
      gateway.output,
    );
  function finalRead(): number {
    const database = new DatabaseSync(join(dir, "gateway.db"), { readOnly: true });
    const row = database.prepare("SELECT max(block) AS block FROM cursors").get() as {
      block: number | null;
    };
    database.close();
    return row.block ?? 0;
  }

  /** The funds of an address at the newest solidified block, by the node itself. */
  async function held(address: string): Promise<{ sun: bigint; units: bigint }> {
    const hex = TronWeb.address.toHex(address);
    const [{ balance = 0 }, called] = await Promise.all([
      ask("walletsolidity/getaccount", { address: hex }) as Promise<{ balance?: number }>,
      ask("walletsolidity/triggerconstantcontract", {
        ...{ owner_address: hex, contract_address: TronWeb.address.toHex(usdt) },
        ...{ function_selector: "balanceOf(address)", parameter: hex.slice(2).padStart(64, "0") },
      }) as Promise<{ constant_result: string[] }>,
    ]);
    return { sun: BigInt(balance), units: BigInt(`0x${called.constant_result[0]}`) };
  }

  beforeAll(async () => {
    node = await startTronProcess(
      { fronts: [{}, {}] },
      join(root, "dist", "lab", "tron-node", "command.js"),
    );
    const tether = { name: "Tether USD", symbol: "USDT", decimals: 6 };
    await node.control("deploy", { address: usdt, kind: "usdt", ...tether });
    await node.control("deploy", { address: lookAlike, kind: "plain", ...tether });
    await node.control("fund", { address: sender.address, sun: "100000000000" });
    for (const contract of [usdt, lookAlike])
      await node.control("mint", { contract, address: sender.address, units: "1000000000" });
    await node.control("mine", { count: 25 });

    execFileSync(process.execPath, [launcher, "init", "--dir", dir]);
    port = await freePort();
    const settings = JSON.parse(readFileSync(config, "utf8")) as object;
    const nodes = node.urls.map((url, at) =>
      url.replace("http://", `http://key-of-provider-${at}@`),
    );
    const common = { chain: "tron", decimal: 6, minPaymentAmount: "1" };
    const chains = {
      tron: { family: "tron", chainId: node.chainId, nodes, confirmations: "finalized" },
    };
    const currencies = {
      trx: { ...common, name: "TRON", symbol: "TRX" },
      "usdt-trc20": { ...common, name: "Tether USD", symbol: "USDT", contract: usdt },
    };
    const listen = { host: "127.0.0.1", port };
    const limits = { readsPerSecond: 10_000, writesPerSecond: 1_000 };
    writeFileSync(
      config,
      JSON.stringify({ ...settings, listen, chains, currencies, limits, prices: {} }),
    );
    const made = JSON.parse(
      command("merchant", "create", "Shop", "--xpub", `tron=${account.publicExtendedKey}`),
    ) as {
      shopKey: string;
    };
    expect(made).toMatchObject({
      firstDepositAddress: addressAt(0),
      firstDepositAddresses: { tron: addressAt(0) },
    });
    client = createClient({
      baseUrl: `http://127.0.0.1:${port}`,
      key: { apiKey: made.shopKey },
      language: "en",
    });
    expect(JSON.parse(command("check"))).toMatchObject({ findings: [] });
    await open();
    await reads(1);
  });

  afterAll(async () => {
    if (gateway !== undefined) await stop(gateway);
    await node?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it("completes deposits in TRX and USDT to the last unit, through a replaced block and a killed gateway", async () => {
    const [inCoins, inTokens, never] = [
      await order("trx", "5", "in-trx"),
      await order("usdt-trc20", "7", "in-usdt"),
      await order("usdt-trc20", "9", "in-never"),
    ];
    expect([inCoins, inTokens, never].map(({ address }) => address)).toEqual(
      [0, 1, 2].map(addressAt),
    );

    // A block that will be replaced: one payment comes back in another block, one never does.
    const kept = await token(usdt, inTokens.address, 3_000_001n);
    await token(usdt, never.address, 9_000_000n);
    await node.control("mine");
    await Promise.all([becomes(inTokens.id, "seen"), becomes(never.id, "confirming")]);
    await node.control("replace", { depth: 1, kept: [kept.txID], empty: 2 });
    await node.control("mine");
    await becomes(never.id, "waiting");

    // The rest of both, one that fails on the chain, and a token that only has the name.
    await coins(inCoins.address, 2_000_000);
    await coins(inCoins.address, 3_000_002);
    const last = await token(usdt, inTokens.address, 4_000_000n);
    const failed = await token(usdt, never.address, 9_000_000_000_000n);
    await token(lookAlike, never.address, 9_000_000n);
    await node.control("mine");
    expect(await ask("wallet/gettransactioninfobyid", { value: failed.txID })).toMatchObject({
      result: "FAILED",
    });
    await becomes(inCoins.id, "confirming");

    gateway.child.kill("SIGKILL");
    await gateway.ended;
    const { head } = (await node.control("mine", { count: 20 })) as { head: number };
    await open();
    await Promise.all([becomes(inCoins.id, "completed"), becomes(inTokens.id, "completed")]);
    await reads(head - 19);

    expect(await told(inCoins.id)).toMatchObject({ status: 1, amountReceived: "5.000002" });
    expect(await told(inTokens.id)).toMatchObject({
      status: 1,
      amountReceived: "7.000001",
      txHash: last.txID,
    });
    expect(await told(never.id)).toMatchObject({
      status: 0,
      stage: "waiting",
      amountReceived: "0",
    });
    expect(await held(inCoins.address)).toEqual({ sun: 5_000_002n, units: 0n });
    expect(await held(inTokens.address)).toEqual({ sun: 0n, units: 7_000_001n });
    expect(await held(never.address)).toEqual({ sun: 0n, units: 0n });
    expect(gateway.output()).not.toContain("key-of-provider");
  });
});
