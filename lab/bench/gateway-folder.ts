/**
 * A gateway's folder for measuring: one merchant with a paired agent that never comes, funds, open
 * withdrawals, old records.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { type GatewayKey, readGatewayKey } from "../../gateway/auth/gateway-key.ts";
import { createMerchant } from "../../gateway/operator/accounts.ts";
import { initFolder } from "../../gateway/operator/folder.ts";
import { insertAgent } from "../../gateway/store/agents.ts";
import { keepBalance } from "../../gateway/store/balances.ts";
import { openStore, type Store } from "../../gateway/store/store.ts";
import { insertWithdrawal } from "../../gateway/store/withdrawals.ts";
import { projectRoot } from "../kit/kit.ts";
import { freePort, type StartedProcess, start, until } from "../kit/processes.ts";

const hotWalletAddress = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
export const receiver = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const network = "eip155:31337";

export interface MeasuredFolder {
  readonly dir: string;
  readonly url: string;
  readonly config: string;
  readonly database: string;
  readonly key: GatewayKey;
  readonly shopKey: string; // the merchant with the agent
  readonly few: { readonly merchantId: string; readonly shopKey: string };
  readonly many: { readonly merchantId: string; readonly shopKey: string };
}

export const openOf = (database: string): Store => openStore(database, pino({ level: "silent" }));

/**
 * A folder whose gateway has `open` withdrawals that are pending, and two other merchants without
 * any record yet.
 */
export async function makeMeasuredFolder(dir: string, open: number): Promise<MeasuredFolder> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const made = initFolder(join(dir, "gateway"), pino({ level: "silent" }));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const config = {
    ...(JSON.parse(readFileSync(made.config, "utf8")) as object),
    ...{ listen: { host: "127.0.0.1", port }, publicUrl: url, logLevel: "warn" },
    chains: {
      local: { family: "evm", chainId: 31337, nodes: ["http://127.0.0.1:9"], confirmations: 1 },
    },
    currencies: Object.fromEntries(["eth", "rare"].map((id) => [id, currencyOf(id)])),
    limits: { readsPerSecond: 100_000, writesPerSecond: 100_000, burst: 5, withdrawalWaitMs: 0 },
  };
  writeFileSync(made.config, JSON.stringify(config));
  const key = readGatewayKey(made.key);
  const database = join(dir, "gateway", "gateway.db");
  const store = openOf(database);
  try {
    const by = {
      store,
      gatewayKey: key,
      random: randomBytes,
      nowMs: Date.now(),
      run: null,
      actor: "operator",
    };
    const [shop, few, many] = ["Shop", "Few", "Many"].map((name) =>
      createMerchant(by, { name, language: "en" }),
    );
    if (shop === undefined || few === undefined || many === undefined)
      throw new Error("three merchants were made");
    pair(store, shop.merchantId, open);
    return { dir, url, config: made.config, database, key, shopKey: shop.shopKey, few, many };
  } finally {
    store.close();
  }
}

function currencyOf(id: string): object {
  const contract = id === "eth" ? {} : { contract: "0x5FbDB2315678afecb367f032d93F642f64180aa3" };
  const named = { chain: "local", decimal: 18, name: id, symbol: id.toUpperCase(), ...contract };
  return { ...named, minPaymentAmount: "0.001", minWithdrawAmount: "0.000001" };
}

function pair(store: Store, merchant: string, open: number): void {
  const currencies = [{ id: "eth", network, contract: "", decimal: 18, maxFee: "0.01" }];
  store.write((database) => {
    insertAgent(database, {
      ...{
        id: "a".repeat(16),
        merchant,
        wallet: "aa".repeat(16),
        ledgerEpoch: 1,
        signerKey: "",
        linkKey: "",
      },
      ...{
        accounts: JSON.stringify([
          { family: "evm", purpose: "hot", id: hotWalletAddress, firstAddress: hotWalletAddress },
        ]),
        networks: JSON.stringify([network]),
      },
      ...{
        currencies: JSON.stringify(currencies),
        pairedAt: 1,
        nextDepositIndex: 0,
        transcriptHash: "",
        transcriptAt: 0,
      },
    });
    keepBalance(database, {
      account: hotWalletAddress,
      currency: "eth",
      units: `${10n ** 30n}`,
      block: 1,
      at: 1,
    });
    for (let number = 0; number < open; number += 1) {
      insertWithdrawal(database, {
        ...{
          id: number.toString(16).padStart(32, "0"),
          merchant,
          orderId: `open-${number}`,
          contentHash: "00",
        },
        ...{
          currency: "eth",
          network,
          amount: "0.000001",
          units: "1000000000000",
          receiver,
        },
        ...({ operation: "withdraw", mode: "auto", renews: "", refundOf: "" } as const),
        ...{
          payer: hotWalletAddress,
          tag: "",
          metadata: "",
          stage: "queued",
          createdAt: number,
          changedAt: number,
          expiresAt: 1,
        },
      });
    }
  });
}

/**
 * Records of a merchant that have ended; one in a hundred is a deposit, one in two hundred in the
 * rare currency.
 */
export function fillRecords(database: string, merchant: string, count: number): void {
  const store = openOf(database);
  try {
    const numbers =
      "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?)";
    const id = "printf('%s%020x', substr(hex(?), 1, 12), n)";
    const ended = `iif(n % 300 = 0, 2, 1), 'completed', 1700000000000 + n * 10, 1700000000000 + n * 10, 1800000000000`;
    const begin = [count, merchant.slice(-6), merchant];
    store.write((database) => {
      database.run(
        `${numbers} INSERT INTO deposits (id, merchant, origin, orderId, contentHash, currency, network, amount, units,
           toleranceUnits, address, payTo, status, stage, createdAt, changedAt, expiresAt)
         SELECT ${id}, ?, 'ordered', 'order-' || n, '00', iif(n % 200 = 0, 'rare', 'eth'), ?, '1', '1000000000000000000',
           '0', ?, ?, ${ended} FROM numbers WHERE n % 100 = 0`,
        ...[...begin, network, receiver, receiver],
      );
      database.run(
        `${numbers} INSERT INTO transfers (id, merchant, operation, contentHash, currency, network, amount, units,
           receiver, payer, status, stage, createdAt, changedAt, expiresAt)
         SELECT ${id}, ?, 'withdraw', '00', 'eth', ?, '1', '1000000000000000000', ?, ?, ${ended}
           FROM numbers WHERE n % 100 <> 0`,
        ...[...begin, network, receiver, hotWalletAddress],
      );
      database.run(
        `${numbers} INSERT INTO withdrawals (id, merchant, orderId, mode)
         SELECT ${id}, ?, 'order-' || n, 'auto' FROM numbers WHERE n % 100 <> 0`,
        ...begin,
      );
    });
  } finally {
    store.close();
  }
}

export async function startMeasured({
  dir,
  config,
}: Pick<MeasuredFolder, "dir" | "config">): Promise<StartedProcess> {
  const program = join(projectRoot, "gateway", "gateway.js");
  const started = start(process.execPath, [program, "start", "--config", config], {
    logFile: join(dir, "gateway.log"),
  });
  const kill = (): boolean => started.child.kill("SIGKILL");
  process.once("exit", kill);
  void started.ended.then(() => process.off("exit", kill));
  await until(
    "the gateway listening",
    30_000,
    async () =>
      started.output().includes("gateway: listens") || started.child.exitCode !== null
        ? true
        : undefined,
    started.output,
  );
  return started;
}
