/**
 * The whole product with its networks, for measuring: a gateway, a paired agent, funds on each
 * network, and an address before each node that counts. A network whose figures are not taken makes
 * no block meanwhile, so that nobody reads it.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { type Kit, projectRoot, startKit } from "../kit/kit.ts";
import { until } from "../kit/processes.ts";
import { type CountedNode, countCalls } from "./calls.ts";
import type { StatementCounts } from "./counted-sqlite.ts";
import {
  evmStandIn,
  type NetworkName,
  networks,
  type StandIn,
  servedBy,
  startStandIn,
} from "./networks.ts";
import { ask, drain } from "./requests.ts";

export interface PathNetwork {
  readonly standIn: StandIn;
  readonly ofAgent: CountedNode;
  readonly ofGateway: CountedNode;
}

export interface PathWorld {
  readonly kit: Kit;
  readonly networks: ReadonlyMap<NetworkName, PathNetwork>;
  close(): Promise<void>;
}

const generous = {
  maxPerWithdrawal: "1000",
  maxPerHour: "1000000",
  maxPerDay: "1000000",
  maxFeePerDay: "1000000",
};
const unlimited = {
  readsPerSecond: 100_000,
  writesPerSecond: 100_000,
  payerReadsPerSecond: 100_000,
};
const hotWalletWei = 10n ** 21n;
/** Blocks after which a network that rested is read again by both sides. */
const wokenMs = 2_500;

/** The network's chain and both counting addresses; throws for one that the world has not. */
export function networkOf(world: PathWorld, name: NetworkName): PathNetwork {
  const found = world.networks.get(name);
  if (found === undefined) throw new Error(`this world has no network ${name}`);
  return found;
}

async function open(
  names: readonly NetworkName[],
  opened: Map<NetworkName, PathNetwork>,
  nodeUrl: string,
  kit: () => Kit,
) {
  const chains: Record<string, object> = {};
  const currencies: Record<string, object> = {};
  for (const name of names) {
    const fund = (): Promise<void> => kit().fund(hotWalletWei, 0n);
    const standIn = name === "evm" ? evmStandIn(nodeUrl, fund) : await startStandIn(name);
    const { callMark } = networks[name];
    const ofAgent = await countCalls(standIn.url, callMark);
    opened.set(name, { standIn, ofAgent, ofGateway: await countCalls(standIn.url, callMark) });
    const served = servedBy(name, standIn, networkUrl(opened, name));
    Object.assign(chains, served.chains);
    Object.assign(currencies, served.currencies);
  }
  return { chains, currencies };
}

const networkUrl = (opened: ReadonlyMap<NetworkName, PathNetwork>, name: NetworkName): string =>
  opened.get(name)?.ofGateway.url ?? "";

function pointAgentAt(configPath: string, opened: ReadonlyMap<NetworkName, PathNetwork>): void {
  const config = JSON.parse(readFileSync(configPath, "utf8")) as { chains: Record<string, object> };
  for (const [name, { ofAgent }] of opened) {
    const { chainName } = networks[name];
    config.chains[chainName] = {
      ...config.chains[chainName],
      nodes: [ofAgent.url],
      nodesFrom: "own",
    };
  }
  writeFileSync(configPath, JSON.stringify(config), { mode: 0o600 });
}

/** Pairs, funds the hot wallet on each network, starts the agent, and awaits the funds. */
async function begin(kit: Kit, opened: ReadonlyMap<NetworkName, PathNetwork>): Promise<void> {
  pointAgentAt(kit.configPath, opened);
  kit.gatewayNodeOptions = [
    "--import",
    pathToFileURL(join(projectRoot, "dist", "lab", "bench", "statements.js")).href,
  ];
  await kit.startGateway();
  const paired = await kit.pair();
  if (paired.code !== 0) throw new Error(`pair.js ended with ${paired.code}:\n${paired.output}`);
  for (const [name, { standIn }] of opened) {
    const { output } = await kit.cli("address", networks[name].currency, "--json");
    await standIn.fund((JSON.parse(output) as { readonly address: string }).address);
  }
  await kit.startCrypto();
  await until("funds at the gateway", 60_000, async () => {
    for (const name of opened.keys()) {
      const path = `/balance/${networks[name].currency}`;
      const { head } = await drain(await ask(kit.gatewayUrl, { path, shopKey: kit.shopKey }));
      if (/"available":"0"/.test(head)) return undefined;
    }
    return true;
  });
}

/** Starts everything; all networks make blocks. The local chain is always there. */
export async function startPathWorld(names: readonly NetworkName[]): Promise<PathWorld> {
  const opened = new Map<NetworkName, PathNetwork>();
  let kit: Kit | null = null;
  const close = async (): Promise<void> => {
    await kit?.close();
    for (const { standIn, ofAgent, ofGateway } of opened.values()) {
      await ofAgent.close();
      await ofGateway.close();
      await standIn.stop();
    }
  };
  try {
    kit = await startKit({
      ...{ confirmations: 1, blockTimeMs: 1_000 },
      settings: { limits: { ...unlimited, burst: 5 }, logLevel: "warn" },
      policy: Object.fromEntries(
        names.map(
          (name) =>
            [networks[name].currency, { ...generous, maxFee: networks[name].maxFee }] as const,
        ),
      ),
      alsoServes: (nodeUrl) =>
        open([...new Set<NetworkName>(["evm", ...names])], opened, nodeUrl, () => kit as Kit),
    });
    await begin(kit, opened);
    return { kit, networks: opened, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Only this network makes blocks from now on. */
export async function wakeOnly(world: PathWorld, name: NetworkName): Promise<void> {
  for (const [each, { standIn }] of world.networks) await standIn.pace(each === name);
  await sleep(wokenMs);
}

/** The statements that the gateway gave to SQLite since its start. */
export async function statementsOf({ kit }: PathWorld): Promise<StatementCounts> {
  const file = join(kit.dir, "statements.json");
  rmSync(file, { force: true });
  process.kill(kit.gateway?.pid ?? 0, "SIGUSR2");
  return until(
    "the gateway's statements",
    30_000,
    async () => JSON.parse(readFileSync(file, "utf8")) as StatementCounts,
  );
}
