/** Parts of the user's figures, each in a world of its own. */
import { type DepositFigures, measureDeposits } from "./deposits.ts";
import type { NetworkName } from "./networks.ts";
import { type LoadFigures, measureNetworks, type PathPlan } from "./path.ts";
import { startPathWorld } from "./path-world.ts";

export async function measureAlone(
  name: "networks" | "deposits",
  { networks, deposits }: PathPlan,
): Promise<DepositFigures | Partial<Record<NetworkName, LoadFigures>>> {
  const world = await startPathWorld(
    name === "networks" ? (Object.keys(networks) as NetworkName[]) : ["evm"],
  );
  try {
    return name === "networks"
      ? await measureNetworks(world, networks)
      : await measureDeposits(world, deposits);
  } finally {
    await world.close();
  }
}
