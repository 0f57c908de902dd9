/**
 * The stream `deposits`: how a run on each family is started and ended, with its chain, its people,
 * the gateway and the agent, and its figures in words.
 */
import { type Report, seeded } from "../faults/tally.ts";
import { type Kit, type KitOptions, startPairedKit } from "../kit/kit.ts";
import { type EvmFront, startEvmFront } from "../kit/provider/evm-front.ts";
import type { Profile } from "../kit/provider/profile.ts";
import { drawPair, ofOneChain, profileNamed } from "../kit/provider/profiles.ts";
import { missing, type NodeName } from "../utxo-node/daemon.ts";
import { awaitXrp, fundXrp } from "../xrp-node/in-demo.ts";
import { xrpNodeMissing } from "../xrp-node/xrp-node.ts";
import { deployContracts, type EvmContracts, EvmTestNetwork, servedBy } from "./evm-network.ts";
import type { DepositFaults, DepositReport } from "./report.ts";
import {
  pairOfServers,
  type UtxoProfile,
  utxoProfiles,
  type XrpProfile,
  xrpProfiles,
} from "./server-profiles.ts";
import { TronTestNetwork } from "./tron-network.ts";
import { UtxoDepositsNetwork } from "./utxo-network.ts";
import { DepositsWorld, depositMinutes, readyMs } from "./world.ts";
import { XrpTestNetwork } from "./xrp-network.ts";

export const familyNames = ["evm", "tron", "bitcoin", "litecoin", "xrp"] as const;
export type FamilyName = (typeof familyNames)[number];

const ether = 10n ** 18n;
const funds = { wei: 1_000n * ether, units: 1_000_000_000_000n };
const hotWalletCoins = 12;
const hotWalletCoinSat = 500_000_000n;
const settings = { lifetimes: { depositMinutes }, sweepsAtOnce: 12 };

type Pair = readonly [Profile, Profile];

const namesOf = (pair: Pair): readonly string[] => pair.map(({ name }) => name);

/** One sentence for a family that cannot run on this machine. */
const lacks: Readonly<Record<FamilyName, string | null>> = {
  ...{ evm: null, tron: null },
  ...{ bitcoin: missing("bitcoin"), litecoin: missing("litecoin"), xrp: xrpNodeMissing },
};

/** One sentence where the family cannot run on this machine, else null. */
export function lackOf(name: FamilyName): string | null {
  return lacks[name];
}

/** Each says which nodes it has, and plays. */
const plays: Readonly<Record<FamilyName, (faults: DepositFaults) => Promise<DepositReport>>> = {
  evm: (faults) => playEvm(faults, pairOf("evm", faults)),
  tron: (faults) => playTron(faults, pairOf("tron", faults)),
  bitcoin: (faults) => playCoins("bitcoin", faults),
  litecoin: (faults) => playCoins("litecoin", faults),
  xrp: (faults) => playXrp(faults, serversOf("xrp", xrpProfiles, faults)),
};

/** Profiles as told, or as the seed draws them. */
function pairOf(name: Profile["family"], { profiles, seed, say }: DepositFaults): Pair {
  const pair: Pair =
    profiles === undefined
      ? drawPair(name, seeded(`${seed}/${name}/profiles`))
      : ofOneChain([profileNamed(name, profiles[0]), profileNamed(name, profiles[1])]);
  say(`${name}: nodes like ${namesOf(pair).join(" and ")}`);
  return pair;
}

/** As `pairOf`, for the families whose servers are told apart by their programs. */
function serversOf<P extends UtxoProfile | XrpProfile>(
  name: FamilyName,
  all: readonly P[],
  { profiles, seed, say }: DepositFaults,
): readonly [P, P] {
  const pair = pairOfServers(all, seeded(`${seed}/${name}/profiles`), profiles);
  say(`${name}: nodes like ${pair.map((one) => one.name).join(" and ")}`);
  return pair;
}

async function playEvm(faults: DepositFaults, pair: Pair): Promise<DepositReport> {
  let contracts: EvmContracts | null = null;
  const fronts: EvmFront[] = [];
  const alsoServes: KitOptions["alsoServes"] = async (url, token) => {
    contracts = await deployContracts(url, token);
    for (const profile of pair) fronts.push(await startEvmFront({ profile, chain: url }));
    return servedBy(
      contracts,
      fronts.map((front) => front.url),
    );
  };
  try {
    const kit = await startPairedKit(
      { blockTimeMs: faults.blockMs, confirmations: 8, alsoServes, settings, readyMs },
      funds,
    );
    try {
      if (contracts === null) throw new Error("no contracts were deployed");
      const testNetwork = await EvmTestNetwork.open(kit.anvil.url, contracts);
      return await new DepositsWorld(
        "evm",
        testNetwork,
        kit,
        kit.hotWalletAddress,
        namesOf(pair),
        faults,
      ).play();
    } finally {
      await kit.close();
    }
  } finally {
    await Promise.all(fronts.map((front) => front.close()));
  }
}

async function playTron(faults: DepositFaults, pair: Pair): Promise<DepositReport> {
  const testNetwork = await TronTestNetwork.open({
    slotMs: faults.blockMs,
    solidLag: 9,
    profiles: pair,
  });
  try {
    const limits = { maxPerWithdrawal: "5000", maxPerHour: "500000", maxPerDay: "500000" };
    const fees = { maxFee: "100", maxFeePerDay: "1000000" };
    const policy = {
      [testNetwork.currencies.coin]: { ...limits, ...fees },
      [testNetwork.currencies.token]: { ...limits, ...fees },
    };
    const kit = await startPairedKit(
      { alsoServes: testNetwork.served(), settings, policy, readyMs },
      funds,
    );
    try {
      const address = await addressIn(kit, testNetwork.coin.id);
      await testNetwork.fund(address, 1_000_000_000_000n);
      await testNetwork.mint(address, 1_000_000_000_000n);
      return await new DepositsWorld(
        "tron",
        testNetwork,
        kit,
        address,
        namesOf(pair),
        faults,
      ).play();
    } finally {
      await kit.close();
    }
  } finally {
    await testNetwork.node.stop();
  }
}

async function playCoins(name: NodeName, faults: DepositFaults): Promise<DepositReport> {
  const pair = serversOf(name, utxoProfiles, faults);
  const testNetwork = await UtxoDepositsNetwork.open(name, faults.blockMs, pair);
  try {
    const limits = {
      maxPerWithdrawal: "10",
      maxPerHour: "900",
      maxPerDay: "900",
      maxFee: "0.01",
      maxFeePerDay: "10",
      holdAbove: "10",
    };
    const policy = { [testNetwork.coin.id]: limits };
    const kit = await startPairedKit(
      { alsoServes: testNetwork.served(), settings, policy, readyMs },
      funds,
    );
    try {
      const address = await addressIn(kit, testNetwork.coin.id);
      for (let coins = 0; coins < hotWalletCoins; coins += 1)
        await testNetwork.fund(address, hotWalletCoinSat);
      const nodes = pair.map(({ name }) => name);
      return await new DepositsWorld(name, testNetwork, kit, address, nodes, faults).play();
    } finally {
      await kit.close();
    }
  } finally {
    await testNetwork.close();
  }
}

async function playXrp(faults: DepositFaults, pair: readonly XrpProfile[]): Promise<DepositReport> {
  const testNetwork = await XrpTestNetwork.open(faults.blockMs, pair);
  try {
    const limits = {
      maxPerWithdrawal: "5000",
      maxPerHour: "500000",
      maxPerDay: "500000",
      maxFee: "1",
      maxFeePerDay: "100",
      holdAbove: "5000",
    };
    const policy = { [testNetwork.coin.id]: limits };
    const kit = await startPairedKit(
      { alsoServes: testNetwork.served(), settings, policy, readyMs },
      funds,
    );
    try {
      const address = await addressIn(kit, testNetwork.coin.id);
      await fundXrp(testNetwork.node, kit);
      await awaitXrp(testNetwork.node, kit);
      const nodes = pair.map(({ name }) => name);
      return await new DepositsWorld("xrp", testNetwork, kit, address, nodes, faults).play();
    } finally {
      await kit.close();
    }
  } finally {
    await testNetwork.node.close();
  }
}

async function addressIn(kit: Kit, currency: string): Promise<string> {
  const { output } = await kit.cli("address", currency, "--json");
  return (JSON.parse(output) as { address: string }).address;
}

/** Plays one family's run on a chain of its own; what it started is gone afterwards. */
export function playFamily(name: FamilyName, faults: DepositFaults): Promise<DepositReport> {
  return plays[name](faults);
}

export interface DepositReports extends Report {
  readonly families: readonly DepositReport[];
}

/** Plays one family after another. */
export async function playDeposits(
  families: readonly FamilyName[],
  faults: DepositFaults,
): Promise<DepositReports> {
  const reports: DepositReport[] = [];
  for (const name of families) {
    const lack = lackOf(name);
    if (lack === null) reports.push(await playFamily(name, faults));
    else faults.say(`*** SKIPPED: ${name}: ${lack}`);
  }
  return {
    families: reports,
    violations: reports.flatMap(({ violations }) => violations),
    lines: reports.flatMap((report) => linesOf(report).map((line) => `${report.family}: ${line}`)),
  };
}

const counted = (all: Readonly<Record<string, number | string>>): string =>
  Object.entries(all)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");

function linesOf(report: DepositReport): readonly string[] {
  return [
    `nodes: ${report.profiles.join(" and ")}; ${report.early} addresses were used before`,
    `${report.deposits} requests: ${counted(report.ends)}, ${report.lateMoney} with late money`,
    `${report.payments} payments; ${report.reorganisations} reorganisations of ${report.blocksReplaced} blocks: ${report.paymentsMoved} payments in another block, ${report.paymentsRedone} made again, ${report.paymentsLost} gone; ${report.ownDropped} of the agent's dropped`,
    ...(Object.keys(report.troubles).length === 0 ? [] : [`nodes had ${counted(report.troubles)}`]),
    `kill -9: ${counted(report.kills)}`,
    `arrived ${counted(report.arrived)}`,
    `credited ${counted(report.credited)}`,
    `${report.sweeps} sweeps, ${report.topUps} top-ups: swept ${counted(report.swept)} for ${report.fees} in fees`,
    `left on addresses ${counted(report.left)}; available ${counted(report.available)}; ${report.seconds} s`,
  ];
}
