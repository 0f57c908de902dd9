/**
 * A gateway's folder made by its own rooms, with one merchant and one paired agent whose ledger is
 * this process's, and the real gateway process on it, always on the same port of loopback.
 */
import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { pino } from "pino";
import { type GatewayKey, readGatewayKey } from "../../gateway/auth/gateway-key.ts";
import { createMerchant } from "../../gateway/operator/accounts.ts";
import { initFolder } from "../../gateway/operator/folder.ts";
import { openStore } from "../../gateway/store/store.ts";
import { publicKeyHex } from "../../protocol/envelope.ts";
import type { AgentKeys } from "../kit/gateway-database.ts";
import { projectRoot } from "../kit/kit.ts";
import { freePort, type StartedProcess, start, until } from "../kit/processes.ts";

const silent = pino({ level: "silent" });

export interface GatewayFolder {
  readonly dir: string;
  readonly database: string;
  readonly configPath: string;
  readonly url: string;
  readonly port: number;
  readonly key: GatewayKey;
  readonly shopKey: string;
  readonly agent: AgentKeys;
}

export const hotWalletAddress = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
/** Nobody pays from it: of the words "abandon" eleven times and "about". */
const depositAccount = {
  ...{
    family: "evm",
    purpose: "deposits",
    firstAddress: "0x030821f53C79461511bCf64367eCc9D013060408",
  },
  id: "xpub6BosfCnifzxcFwrSzQiqu2DBVTshkCXacvNsWGYJVVhhawA7d4R5WSWGFNbi8Aw6ZRc1brxMyWMzG3DSSSSoekkudhUd9yLb6qx39T9nMdj",
};
const eth = { id: "eth", network: "eip155:31337", contract: "", decimal: 18, maxFee: "0.01" };

/** The other end of the link: keys of this process, or a paired agent's public ones. */
export interface PairedAgent {
  readonly id: string;
  readonly wallet: string;
  readonly signerKey: KeyObject;
  readonly linkKey: KeyObject;
  readonly hotWalletAddress: string;
}

/** `node` is the chain's address for the gateway. */
export async function makeGatewayFolder(
  dir: string,
  node: string,
  paired?: PairedAgent,
): Promise<GatewayFolder> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  // Made elsewhere and copied: a connection that this process had to the real file might end at any
  // later moment, and tidy up.
  const draft = join(dir, "draft");
  const made = initFolder(draft, silent);
  const port = await freePort();
  const base = JSON.parse(readFileSync(made.config, "utf8")) as Record<string, unknown>;
  const config = {
    ...base,
    listen: { host: "127.0.0.1", port },
    publicUrl: `http://127.0.0.1:${port}`,
    chains: { local: { family: "evm", chainId: 31337, nodes: [node], confirmations: 1 } },
    currencies: {
      eth: {
        ...{ chain: "local", decimal: 18, name: "Ether", symbol: "ETH" },
        ...{ minPaymentAmount: "0.001", minWithdrawAmount: "0.000001" },
      },
    },
    limits: { readsPerSecond: 1000, writesPerSecond: 1000, burst: 5 },
  };
  const configPath = join(dir, "gateway.config.json");
  writeFileSync(configPath, JSON.stringify(config));
  const key = readGatewayKey(made.key);
  const database = join(dir, "gateway.db");
  const store = openStore(join(draft, "gateway.db"), silent);
  const signerKey = generateKeyPairSync("ed25519").privateKey;
  const linkKey = generateKeyPairSync("ed25519").privateKey;
  const agent = paired ?? {
    id: randomBytes(8).toString("hex"),
    wallet: "aa".repeat(16),
    signerKey,
    linkKey,
    hotWalletAddress,
  };
  try {
    const merchant = createMerchant(
      {
        store,
        gatewayKey: key,
        random: randomBytes,
        nowMs: Date.now(),
        run: null,
        actor: "operator",
      },
      { name: "Shop", language: "en" },
    );
    store.database.run(
      `INSERT INTO agents (id, merchant, wallet, ledgerEpoch, signerKey, linkKey, accounts, networks, currencies, pairedAt)
         VALUES (?, ?, ?, 1, ?, ?, ?, '["eip155:31337"]', ?, 0)`,
      agent.id,
      merchant.merchantId,
      agent.wallet,
      publicKeyHex(agent.signerKey),
      publicKeyHex(agent.linkKey),
      JSON.stringify([
        {
          family: "evm",
          purpose: "hot",
          id: agent.hotWalletAddress,
          firstAddress: agent.hotWalletAddress,
        },
        depositAccount,
      ]),
      JSON.stringify([eth]),
    );
    for (const name of ["gateway.key", "gateway.db", "gateway.db-wal"])
      copyFileSync(join(draft, name), join(dir, name));
    const url = `http://127.0.0.1:${port}`;
    return { dir, database, configPath, url, port, key, shopKey: merchant.shopKey, agent };
  } finally {
    store.close();
  }
}

/**
 * Starts the gateway, under a tracer where told, and waits until it listens; rejects when it ends
 * first.
 */
export async function startGateway(
  folder: GatewayFolder,
  within: readonly string[] = [],
): Promise<StartedProcess> {
  const program = join(projectRoot, "gateway", "gateway.js");
  const [command = process.execPath, ...args] = [
    ...within,
    process.execPath,
    program,
    "start",
    "--config",
    folder.configPath,
  ];
  const started = start(command, args, {
    cwd: folder.dir,
    logFile: join(folder.dir, "gateway.log"),
  });
  const killWithUs = (): boolean => started.child.kill("SIGKILL");
  process.once("exit", killWithUs);
  void started.ended.then(() => process.off("exit", killWithUs));
  const listens = async (): Promise<true | undefined> => {
    if (started.child.exitCode !== null) return true;
    return started.output().includes("gateway: listens") ? true : undefined;
  };
  await until("the gateway listening", 60_000, listens, started.output);
  if (started.child.exitCode !== null)
    throw new Error(`the gateway ended instead of starting: ${started.output().slice(-1500)}`);
  return started;
}

/**
 * Asks a copy of a gateway's database, which may be running: no connection of this process ever
 * touches the real files, where its end could tidy away what is being looked at.
 */
export function askCopy<Row>(database: string, sql: string): readonly Row[] {
  const dir = mkdtempSync(join(tmpdir(), "autowithdraw-faults-"));
  const copy = join(dir, "copy.db");
  copyFileSync(database, copy);
  if (existsSync(`${database}-wal`)) copyFileSync(`${database}-wal`, `${copy}-wal`);
  const raw = new DatabaseSync(copy);
  try {
    return raw.prepare(sql).all() as unknown as Row[];
  } finally {
    raw.close();
    rmSync(dir, { recursive: true, force: true });
  }
}
