/**
 * The usual pace of a chain: the time between two blocks, and the time until a block is final by
 * the configured confirmations. Pure.
 */
import { findFamilyOfAddressSpace } from "./families.ts";
import type { ConfiguredChain } from "./family.ts";
import type { ChainPreset } from "./presets/preset.ts";
import { chainPresets } from "./presets.ts";

export interface ChainPace {
  readonly blockMs: number | null; // by the preset of the network, null if it has none
  /** Usual time until a block is final: in milliseconds, or in blocks. */
  readonly final: { readonly ms: number } | { readonly blocks: number };
}

/** The longest that a preset has: a rollup whose data has to be final elsewhere. */
const finalMsUnknown = 1_200_000;

export const paceUnknown: ChainPace = { blockMs: null, final: { ms: finalMsUnknown } };

export function paceOf(
  chain: Pick<ConfiguredChain, "family" | "chainId"> & {
    readonly confirmations: number | "finalized";
  },
): ChainPace {
  const { confirmations } = chain;
  const preset = presetOf(chain);
  const blockMs = preset?.blockMs ?? null;
  if (typeof confirmations === "number") return { blockMs, final: { blocks: confirmations } };
  const depth = findFamilyOfAddressSpace(chain.family)?.finalDepth ?? null;
  if (depth !== null) return { blockMs, final: { blocks: depth } };
  const isOwn = preset?.lines.confirmations === "finalized";
  return { blockMs, final: { ms: isOwn ? preset.finalSeconds * 1000 : finalMsUnknown } };
}

export function finalMsOf(final: ChainPace["final"], blockMs: number): number {
  return "ms" in final ? final.ms : final.blocks * blockMs;
}

/** The usual time between two blocks by the preset of this network; null if it has no preset. */
export function presetBlockMs(chain: Pick<ConfiguredChain, "family" | "chainId">): number | null {
  return presetOf(chain)?.blockMs ?? null;
}

/** The preset of this network, if it has one. */
export function presetOf({
  family,
  chainId,
}: Pick<ConfiguredChain, "family" | "chainId">): ChainPreset | undefined {
  return Object.values(chainPresets).find(
    ({ lines }) => lines.family === family && `${lines.chainId}` === `${chainId}`,
  );
}
