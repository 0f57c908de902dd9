/**
 * Chains whose nodes the gateway's service named, for `pair`, `crypto --check`, `doctor` and
 * `status`. Pure.
 */
import { hasGatewayNodes } from "../../chains/families.ts";
import type { ConfiguredChain } from "../../chains/family.ts";

/** Their names, in the order of config.json. */
export function listChainsOnGatewayNodes({
  chains,
}: {
  readonly chains: Readonly<Record<string, Pick<ConfiguredChain, "family" | "nodesFrom">>>;
}): readonly string[] {
  return Object.entries(chains).flatMap(([name, chain]) => (hasGatewayNodes(chain) ? [name] : []));
}

/** A sentence for the operator, without a stop. */
export function describeGatewayNodes(chain: string): string {
  return `the nodes of ${chain} count as the gateway's: it and the courier see the chain through one party`;
}
