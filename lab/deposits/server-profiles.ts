/**
 * Servers of the Esplora API and of the XRP Ledger as data, each named for its kind, with the
 * reports of its behaviour: the front of a test network gets it. A profile names its sources as
 * owner/repository#number.
 */
import type { FrontOptions as UtxoFront, Trouble as UtxoTrouble } from "../utxo-node/front.ts";
import type { FrontOptions as XrpFront, Trouble as XrpTrouble } from "../xrp-node/front.ts";

interface ServerProfile<Front, Trouble> {
  readonly name: string;
  readonly sources: readonly string[];
  /** False: a gateway cannot work with such a server, and has to name it. A run draws none. */
  readonly isFit: boolean;
  readonly front: Front;
  readonly trouble: Trouble;
}

export type UtxoProfile = ServerProfile<UtxoFront, UtxoTrouble> & { readonly family: "bitcoin" };
export type XrpProfile = ServerProfile<XrpFront, XrpTrouble> & { readonly family: "xrp" };

const rates = { 1: 4, 2: 4, 3: 3, 6: 2, 144: 1 } as const;

const utxo: readonly Omit<UtxoProfile, "family">[] = [
  {
    name: "public Esplora",
    sources: ["Blockstream/electrs#243", "Blockstream/esplora#282"],
    isFit: true,
    front: { program: "electrs", utxosMax: 500, rates },
    trouble: {},
  },
  {
    name: "public mempool",
    sources: ["mempool/electrs#54", "mempool/mempool#4106"],
    isFit: true,
    front: { program: "mempool", utxosMax: 500, rates },
    trouble: {},
  },
  {
    name: "own mempool",
    sources: ["bitcoindevkit/bdk#1962", "arkade-os/ts-sdk#858"],
    isFit: true,
    front: { program: "own mempool", utxosMax: 20_000, rates },
    trouble: {},
  },
  {
    name: "own electrs",
    sources: ["Blockstream/electrs#132", "bitcoindevkit/rust-esplora-client#47"],
    isFit: true,
    front: { program: "electrs", utxosMax: 20_000, rates: {} },
    trouble: {},
  },
  {
    name: "lagging index",
    sources: ["interlay/interbtc#368", "trustwallet/blockatlas#934"],
    isFit: true,
    front: { program: "electrs", rates },
    trouble: { lagBlocks: 1 },
  },
  {
    name: "sparse rates",
    sources: ["lightningdevkit/ldk-node#1028", "lightningdevkit/ldk-node#249"],
    isFit: true,
    front: { program: "electrs", rates: { 1008: 1 } },
    trouble: {},
  },
  {
    name: "without a mempool",
    sources: ["litecoin-project/litecoin#410"],
    isFit: true,
    front: { program: "electrs", rates },
    trouble: { hasNoMempool: true },
  },
];

const xrp: readonly Omit<XrpProfile, "family">[] = [
  {
    name: "rippled full",
    sources: ["XRPLF/rippled#4262"],
    isFit: true,
    front: {},
    trouble: {},
  },
  {
    name: "rippled stock",
    sources: ["XRPLF/rippled#2903", "XRPLF/rippled#2968"],
    isFit: true,
    front: { keepsLedgers: 512 },
    trouble: {},
  },
  {
    name: "rippled without network_id",
    sources: ["XRPLF/rippled#4778", "XRPLF/xrpl-dev-portal#1977"],
    isFit: false,
    front: {},
    trouble: { lies: [{ kind: "odd", name: "network_id", value: undefined }] },
  },
  {
    name: "Clio",
    sources: ["XRPLF/clio#171", "XRPLF/clio#699"],
    isFit: true,
    front: { isClio: true, pageMost: 20 },
    trouble: {},
  },
  {
    name: "Clio that skips at borders",
    sources: ["XRPLF/clio#1389"],
    isFit: true,
    front: { isClio: true, pageMost: 20, skipsAtBorders: true },
    trouble: {},
  },
  {
    name: "one ledger behind",
    sources: ["XRPLF/clio#263"],
    isFit: true,
    front: { isClio: true },
    trouble: { lagLedgers: 1 },
  },
];

export const utxoProfiles: readonly UtxoProfile[] = utxo.map((one) => ({
  ...one,
  family: "bitcoin",
}));
export const xrpProfiles: readonly XrpProfile[] = xrp.map((one) => ({ ...one, family: "xrp" }));
export const serverProfiles = [...utxoProfiles, ...xrpProfiles] as const;

/** Two different profiles that a gateway can work with, as told or by chance. */
export function pairOfServers<P extends UtxoProfile | XrpProfile>(
  all: readonly P[],
  random: () => number,
  names?: readonly [string, string],
): readonly [P, P] {
  const named = (name: string): P => {
    const found = all.find((one) => one.name === name);
    if (found === undefined) throw new Error(`no profile of ${all[0]?.family} is called ${name}`);
    return found;
  };
  if (names !== undefined) return [named(names[0]), named(names[1])];
  const fit = all.filter(({ isFit }) => isFit);
  const first = fit[Math.floor(random() * fit.length)] as P;
  const others = fit.filter((one) => one !== first);
  return [first, others[Math.floor(random() * others.length)] as P];
}

/** Gives the fronts of a network the troubles of their profiles. */
export function apply<T>(
  fronts: readonly { suffer(trouble: T): void }[],
  pair: readonly { readonly trouble: T }[],
): void {
  for (const [at, front] of fronts.entries()) front.suffer(pair[at]?.trouble as T);
}
