/**
 * How a run on each family is started and ended: its chain, its people, the gateway and the agent.
 */
import { type RigOptions, startPairedRig } from "../rig.ts";
import { deployContracts, type EvmContracts, EvmTown, servedBy } from "./evm-town.ts";
import { TronTown } from "./tron-town.ts";
import { type DepositFaults, type DepositReport, DepositsWorld, depositMinutes } from "./world.ts";

export const familyNames = ["evm", "tron"] as const;
export type FamilyName = (typeof familyNames)[number];

const ether = 10n ** 18n;
const funds = { wei: 1_000n * ether, units: 1_000_000_000n };
const settings = { lifetimes: { depositMinutes }, sweepsAtOnce: 12 };

const runs: Readonly<Record<FamilyName, (faults: DepositFaults) => Promise<DepositReport>>> = {
  async evm(faults) {
    let contracts: EvmContracts | null = null;
    const alsoServes: RigOptions["alsoServes"] = async (url, token) => {
      contracts = await deployContracts(url, token);
      return servedBy(contracts, url);
    };
    const rig = await startPairedRig({ blockTimeMs: 400, confirmations: 8, alsoServes, settings }, funds);
    try {
      if (contracts === null) throw new Error("no contracts were deployed");
      const town = await EvmTown.open(rig.anvil.url, contracts);
      return await new DepositsWorld("evm", town, rig, rig.hotAddress, faults).play();
    } finally {
      await rig.close();
    }
  },
  async tron(faults) {
    const town = await TronTown.open({ slotMs: 400, solidLag: 9, isRefusing: true });
    try {
      const fees = { maxFee: "100", maxFeePerDay: "1000000" };
      const policy = { [town.currencies.coin]: fees, [town.currencies.token]: fees };
      const rig = await startPairedRig({ alsoServes: town.served(), settings, policy }, funds);
      try {
        const { output } = await rig.cli("address", town.coin.id, "--json");
        const { address } = JSON.parse(output) as { address: string };
        await town.fund(address, 1_000_000_000_000n);
        return await new DepositsWorld("tron", town, rig, address, faults).play();
      } finally {
        await rig.close();
      }
    } finally {
      await town.node.stop();
    }
  },
};

/** Plays one family's run on a chain of its own; what it started is gone afterwards. */
export function playFamily(name: FamilyName, faults: DepositFaults): Promise<DepositReport> {
  return runs[name](faults);
}
