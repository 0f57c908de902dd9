/**
 * Chains whose nodes the gateway's service named, for `pair`, `crypto --check`, `doctor` and
 * `status`. Pure.
 */
import { isNodesOfGateway } from "../../chains/families.ts";
import type { ConfiguredChain } from "../../chains/family.ts";

/** Their names, in the order of config.json. */
export function chainsOfGateway({
  chains,
}: {
  readonly chains: Readonly<Record<string, Pick<ConfiguredChain, "family" | "nodesFrom">>>;
}): readonly string[] {
  return Object.entries(chains).flatMap(([name, chain]) => (isNodesOfGateway(chain) ? [name] : []));
}

/** A sentence for the operator, without a stop. */
export function nodesOfGatewayWords(chain: string): string {
  return `the nodes of ${chain} count as the gateway's: it and the courier see the chain through one party`;
}
