/**
 * The whole system on one machine, through nothing but its commands: a local EVM chain, a gateway
 * on SQLite, a paired agent and `crypto`. Demo, crash runs and end-to-end tests stand on it.
 * Everything lives in one temporary folder and is gone after close().
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Mnemonic } from "ethers";
import { findChainPreset } from "../../chains/presets.ts";
import { type Anvil, startAnvil } from "./anvil.ts";
import { type CommandResult, runAgentCommand, runGatewayCommand } from "./commands.ts";
import { childrenOf, freePort, run, type StartedProcess, start, stop, until } from "./processes.ts";
import { startProxy, type TcpProxy } from "./proxy.ts";
import { rpc, sendUnlocked, tokenCall } from "./rpc.ts";
import { deployToken } from "./token.ts";

/** From dist/lab/kit/ the tree's root is three folders up, from lab/kit/ two. */
const here = fileURLToPath(new URL(".", import.meta.url));
export const projectRoot = /[/\\]dist[/\\]lab[/\\]kit[/\\]?$/.test(here)
  ? join(here, "..", "..", "..")
  : join(here, "..", "..");

/** As gateway.config.json has them. */
export interface ServedChains {
  readonly chains: object;
  readonly currencies: object;
  readonly prices?: object; // beside the manual ones
}

export interface KitOptions {
  /** The Node binary that runs the agent; this process's own by default. */
  readonly node?: string;
  /** The Node binary that runs the gateway; `node` by default. */
  readonly gatewayNode?: string;
  /** Agent's and gateway's `confirmations`. */
  readonly confirmations?: number | "finalized";
  readonly blockTimeMs?: number;
  /** The preset that the local chain is, with its chain id; none by default, and chain id 31337. */
  readonly preset?: string;
  /** The folder of pair.js and the other launchers; default the project's root. */
  readonly root?: string;
  readonly keep?: boolean;
  /** Changes to the agent's policy, by currency. */
  readonly policy?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /**
   * Chains and currencies beside those of the local one, or in their place, as gateway.config.json
   * has them; told when the local chain and its token are there.
   */
  readonly alsoServes?: ServedChains | ((nodeUrl: string, token: string) => Promise<ServedChains>);
  /** Other members of gateway.config.json. */
  readonly settings?: object;
  /** Puts a proxy that can fail between the agent and the chain node. */
  readonly proxied?: boolean;
  /**
   * Runs pairing and the operator's commands in this process; as programs of their own unless told.
   */
  readonly inProcess?: boolean;
  /** Each start of gateway and agent has so long until it is ready; a minute unless told. */
  readonly readyMs?: number;
}

/** An answer of `/ready`. */
interface ReadinessReport {
  readonly ok: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly ok: boolean;
    readonly detail: string;
  }[];
}

export interface Kit {
  readonly dir: string;
  readonly stateDir: string;
  readonly configPath: string;
  readonly gatewayConfigPath: string;
  readonly anvil: Anvil;
  readonly token: string;
  readonly gatewayUrl: string;
  readonly merchantId: string;
  readonly apiKey: string; // pairs, and nothing else
  readonly shopKey: string;
  readonly mnemonic: string;
  readonly encKey: string;
  readonly proxy: TcpProxy | null;
  hotWalletAddress: string;
  /** Options of Node itself at the gateway's next start. */
  gatewayNodeOptions: readonly string[];
  gateway: StartedProcess | null;
  crypto: StartedProcess | null;
  /**
   * Resolves when it has read every chain; `withinMs` is for one that is far behind, a minute
   * unless told.
   */
  /** Ends once `/ready` says so; `isReady` is for a gateway that serves without being ready. */
  startGateway(withinMs?: number, isReady?: (ready: ReadinessReport) => boolean): Promise<void>;
  pair(): Promise<CommandResult>;
  startCrypto(): Promise<void>;
  /** Process ids of the running signer and courier. */
  signerPid(): number | undefined;
  courierPid(): number | undefined;
  /**
   * `node gateway/gateway.js …` on this gateway's configuration; what it printed. Rejects when it
   * does not end with 0.
   */
  operate(...args: string[]): Promise<string>;
  /** `node autowithdraw.js …` on this state folder. */
  cli(...args: string[]): Promise<CommandResult>;
  fund(wei: bigint, tokenUnits: bigint): Promise<void>;
  close(): Promise<void>;
}

const ether = 10n ** 18n;
const localChainId = 31_337;

/** @throws for a preset that is none of an EVM chain */
function chainIdOf(preset: string | undefined): number {
  const chainId = preset === undefined ? localChainId : findChainPreset(preset)?.lines.chainId;
  if (typeof chainId !== "number") throw new Error(`no EVM chain has the preset ${preset}`);
  return chainId;
}

/**
 * The members of gateway.config.json that make a gateway on `port` serve ether and a token of the
 * local chain.
 */
export function localGateway(kit: {
  readonly port: number;
  readonly nodeUrl: string;
  readonly token: string;
  readonly confirmations: number | "finalized";
  readonly preset?: string;
}) {
  const id =
    kit.preset === undefined ? { family: "evm", chainId: localChainId } : { preset: kit.preset };
  return {
    listen: { host: "127.0.0.1", port: kit.port },
    publicUrl: `http://127.0.0.1:${kit.port}`,
    chains: { local: { ...id, nodes: [kit.nodeUrl], confirmations: kit.confirmations } },
    currencies: {
      eth: {
        chain: "local",
        decimal: 18,
        name: "Ether",
        symbol: "ETH",
        minPaymentAmount: "0.001",
        minWithdrawAmount: "0.000001",
      },
      usdt: {
        chain: "local",
        decimal: 6,
        contract: kit.token,
        name: "Tether USD",
        symbol: "USDT",
        minPaymentAmount: "1",
        minWithdrawAmount: "0.01",
      },
    },
    prices: {
      manual: {
        eth: { usd: "3000", eur: "2600", try: "126000" },
        usdt: { usd: "1", eur: "0.87", try: "42" },
      },
    },
    limits: { readsPerSecond: 1000, writesPerSecond: 1000, burst: 5 },
    callbacks: { allowPrivate: true },
  };
}

const kitPolicy: Record<string, Record<string, unknown>> = {
  eth: {
    maxPerWithdrawal: "5",
    maxPerHour: "400",
    maxPerDay: "400",
    maxFee: "0.01",
    maxFeePerDay: "20",
    holdAbove: "2",
    allow: [],
    deny: [],
  },
  usdt: { maxPerWithdrawal: "5000", maxPerDay: "500000", maxFee: "0.01", maxFeePerDay: "20" },
};

/**
 * Starts chain and gateway, makes a merchant, writes the agent's config. Pairing and `crypto` are
 * the caller's next steps.
 */
export async function startKit(options: KitOptions = {}): Promise<Kit> {
  const root = options.root ?? projectRoot;
  const node = options.node ?? process.execPath;
  const gatewayNode = options.gatewayNode ?? node;
  const confirmations = options.confirmations ?? "finalized";
  const dir = mkdtempSync(join(tmpdir(), "autowithdraw-"));
  const log = (name: string): string => join(dir, `${name}.log`);
  const anvil = await startAnvil({
    chainId: chainIdOf(options.preset),
    blockTimeMs: options.blockTimeMs ?? 1000,
  });
  const proxy = options.proxied === true ? await startProxy(Number(new URL(anvil.url).port)) : null;

  const gatewayDir = join(dir, "gateway");
  mkdirSync(gatewayDir, { mode: 0o700 });
  const gatewayJs = join(root, "gateway", "gateway.js");
  const command = async (...args: string[]): Promise<string> => {
    const done =
      options.inProcess === true
        ? await runGatewayCommand(args)
        : await run(gatewayNode, [gatewayJs, ...args], {
            cwd: dir,
            logFile: log("gateway-commands"),
          });
    if (done.code !== 0)
      throw new Error(`gateway ${args.join(" ")} ended with ${done.code}:\n${done.output}`);
    return done.output;
  };
  const [{ address: token }] = await Promise.all([
    deployToken(anvil.url),
    command("init", "--dir", gatewayDir),
  ]);
  const gatewayConfigPath = join(gatewayDir, "gateway.config.json");
  const port = await freePort();
  const base = JSON.parse(readFileSync(gatewayConfigPath, "utf8")) as Record<string, unknown>;
  const { preset } = options;
  const served = localGateway({
    ...{ port, nodeUrl: anvil.url, token, confirmations },
    ...(preset === undefined ? {} : { preset }),
  });
  const { alsoServes = { chains: {}, currencies: {} } } = options;
  const also = typeof alsoServes === "function" ? await alsoServes(anvil.url, token) : alsoServes;
  const chains = { ...served.chains, ...also.chains };
  const currencies = { ...served.currencies, ...also.currencies };
  const prices = { manual: { ...served.prices.manual, ...also.prices } };
  writeFileSync(
    gatewayConfigPath,
    `${JSON.stringify({ ...base, ...served, ...options.settings, chains, currencies, prices }, null, 2)}\n`,
  );

  const configPath = join(dir, "config.json");
  const made = await command(
    "merchant",
    "create",
    "Demo shop",
    "--json",
    "--config",
    gatewayConfigPath,
    "--config-out",
    configPath,
  );
  const { merchantId, apiKey, shopKey } = JSON.parse(
    made.slice(made.indexOf("{"), made.lastIndexOf("}") + 1),
  ) as {
    merchantId: string;
    apiKey: string;
    shopKey: string;
  };
  const mnemonic = Mnemonic.fromEntropy(randomBytes(16)).phrase;
  const encKey = randomBytes(32).toString("hex");
  const config = JSON.parse(readFileSync(configPath, "utf8")) as {
    chains: Record<string, { nodes: string[] }>;
    policy: Record<string, object>;
  };
  for (const currency of Object.keys({ ...kitPolicy, ...options.policy }))
    config.policy[currency] = {
      ...(kitPolicy[currency] ?? config.policy[currency]),
      ...options.policy?.[currency],
    };
  if (proxy !== null) config.chains.local!.nodes = [`http://127.0.0.1:${proxy.port}`];
  writeFileSync(
    configPath,
    `${JSON.stringify({ ...config, mnemonic, apiKey, encKey }, null, 2)}\n`,
    { mode: 0o600 },
  );

  const stateDir = join(dir, "state");
  const kit: Kit = {
    dir,
    stateDir,
    configPath,
    gatewayConfigPath,
    anvil,
    token,
    gatewayUrl: `http://127.0.0.1:${port}`,
    merchantId,
    apiKey,
    shopKey,
    mnemonic,
    encKey,
    proxy,
    hotWalletAddress: "",
    gatewayNodeOptions: [],
    gateway: null,
    crypto: null,
    async startGateway(withinMs = options.readyMs ?? 60_000, isReady = ({ ok }) => ok) {
      const started = start(
        gatewayNode,
        [...kit.gatewayNodeOptions, gatewayJs, "start", "--config", gatewayConfigPath],
        {
          cwd: dir,
          logFile: log("gateway"),
        },
      );
      kit.gateway = started;
      const ready = async (): Promise<true | undefined> => {
        if (started.child.exitCode !== null)
          throw new Error(`the gateway ended with ${started.child.exitCode}`);
        const answer = await fetch(`${kit.gatewayUrl}/ready`);
        const { checks } = (await answer.json()) as Pick<ReadinessReport, "checks">;
        if (isReady({ ok: answer.ok, checks })) return true;
        const out = checks.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`);
        throw new Error(out.join("; ")); // kept as the newest reason, should it never be ready
      };
      await until("gateway ready", withinMs, ready, started.output);
    },
    async pair() {
      const args = ["--config", configPath, "--state", stateDir, "--yes", "--json"];
      const done =
        options.inProcess === true
          ? await runAgentCommand(["pair", ...args])
          : await run(node, [join(root, "pair.js"), ...args], { cwd: dir, logFile: log("pair") });
      const shown = await kit.cli("address", "eth", "--json");
      kit.hotWalletAddress = /0x[0-9a-fA-F]{40}/.exec(shown.output)?.[0] ?? "";
      return done;
    },
    async startCrypto() {
      const args = [join(root, "crypto.js"), "--config", configPath, "--state", stateDir];
      const started = start(node, args, { cwd: dir, logFile: log("crypto") });
      kit.crypto = started;
      const ready = async (): Promise<true | undefined> => {
        if (started.child.exitCode !== null)
          throw new Error(`crypto ended with ${started.child.exitCode}`);
        return started.output().includes("crypto: ready") ? true : undefined;
      };
      await until("crypto ready", options.readyMs ?? 60_000, ready, started.output);
    },
    signerPid: () =>
      kit.crypto === null
        ? undefined
        : childrenOf(kit.crypto.pid, join("agent", "signer", "main.js"))[0],
    courierPid: () =>
      kit.crypto === null
        ? undefined
        : childrenOf(kit.crypto.pid, join("agent", "courier", "main.js"))[0],
    operate: (...args) => command(...args, "--config", gatewayConfigPath),
    cli: (...args) =>
      options.inProcess === true
        ? runAgentCommand([...args, "--state", stateDir])
        : run(node, [join(root, "autowithdraw.js"), ...args, "--state", stateDir], {
            cwd: dir,
            logFile: log("cli"),
          }),
    async fund(wei, units) {
      const mint = {
        to: token,
        data: tokenCall("mint", kit.hotWalletAddress, units),
        gas: "0x30d40",
      };
      const coins =
        wei > 0n
          ? [sendUnlocked(anvil.url, { to: kit.hotWalletAddress, value: `0x${wei.toString(16)}` })]
          : [];
      await Promise.all([...coins, ...(units > 0n ? [sendUnlocked(anvil.url, mint)] : [])]);
      await settle(anvil.url, 4);
    },
    async close() {
      if (kit.crypto !== null) await stop(kit.crypto);
      if (kit.gateway !== null) await stop(kit.gateway);
      if (proxy !== null) await proxy.close();
      await anvil.stop();
      if (options.keep !== true) rmSync(dir, { recursive: true, force: true });
    },
  };
  return kit;
}

/** Puts `blocks` more blocks on the chain at once, which leaves its clock where it is. */
export async function settle(url: string, blocks: number): Promise<void> {
  await rpc(url, "anvil_mine", [`0x${blocks.toString(16)}`, "0x0"]);
}

/** Everything a script needs in one call: kit, gateway, pairing, `crypto`, funds. */
export async function startPairedKit(
  options: KitOptions = {},
  funds = { wei: 100n * ether, units: 100_000_000_000n },
): Promise<Kit> {
  const kit = await startKit(options);
  try {
    await kit.startGateway();
    const paired = await kit.pair();
    if (paired.code !== 0) throw new Error(`pair.js ended with ${paired.code}:\n${paired.output}`);
    await kit.fund(funds.wei, funds.units);
    await kit.startCrypto();
    return kit;
  } catch (error) {
    await kit.close();
    throw error;
  }
}
