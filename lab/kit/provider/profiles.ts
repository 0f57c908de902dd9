/** All profiles of providers: by name, and pairs of them by chance. */
import { evmProfiles } from "./evm-profiles.ts";
import type { OddField, Profile } from "./profile.ts";
import { tronProfiles } from "./tron-profiles.ts";

export const profiles: readonly Profile[] = [...evmProfiles, ...tronProfiles];

/** @throws Error for a name that no profile of the family has */
export function profileNamed(family: Profile["family"], name: string): Profile {
  const found = profiles.find((one) => one.family === family && one.name === name);
  if (found === undefined) throw new Error(`no profile of ${family} is called ${name}`);
  return found;
}

export function hasProfile(name: string): boolean {
  return profiles.some((one) => one.name === name);
}

/**
 * Two different profiles that a gateway can work with. At most one of them has a backend that lies:
 * a word that both nodes say is the chain's.
 */
export function drawPair(
  family: Profile["family"],
  random: () => number,
): readonly [Profile, Profile] {
  const fit = profiles.filter((one) => one.family === family && one.isFit);
  const first = fit[Math.floor(random() * fit.length)] as Profile;
  const others = fit.filter((one) => one !== first && !(isLying(one) && isLying(first)));
  return ofOneChain([first, others[Math.floor(random() * others.length)] as Profile]);
}

/** Transactions that one node of a chain shows are in the blocks of every other. */
const ofChain: ReadonlySet<OddField> = new Set(["op-deposit", "arbitrum", "strange-contracts"]);

/** Nodes of one chain: each shows the kinds of transactions that the others' blocks hold. */
export function ofOneChain<const T extends readonly Profile[]>(
  all: T,
): { readonly [At in keyof T]: Profile } {
  const kinds = all.flatMap(({ odd = [] }) => odd).filter((one) => ofChain.has(one));
  const shown = (one: Profile): Profile => ({
    ...one,
    odd: [...new Set([...kinds, ...(one.odd ?? [])])],
  });
  return (kinds.length === 0 ? all : all.map(shown)) as { readonly [At in keyof T]: Profile };
}

/**
 * A profile for a chain's only node, in a run that measures how soon a process is ready: refusals,
 * odd fields and broken bodies, and nothing that lags, waits or counts seconds.
 */
export function drawSteady(family: Profile["family"], random: () => number): Profile {
  const steady = profiles.filter(({ limits, backends, still, body, ...one }) => {
    const isTimed =
      limits?.perSecond !== undefined || limits?.quota !== undefined || body?.kind === "slow";
    return (
      one.family === family &&
      one.isFit &&
      !isTimed &&
      backends === undefined &&
      still === undefined
    );
  });
  return steady[Math.floor(random() * steady.length)] as Profile;
}

function isLying({ backends = [] }: Profile): boolean {
  return backends.some(({ lies = [] }) => lies.length > 0);
}
