/**
 * The second reading of signed bytes, by code that is not ours. A separate file, because it loads a
 * large library that only the courier needs.
 */
import { invariant } from "../base/fault.ts";
import { readAttemptBack } from "./evm/node-read-back.ts";
import { familyOf } from "./families.ts";
import type { FamilyName } from "./family.ts";
import type { IndependentReading } from "./nodes.ts";
import { readAttemptBack as tronReadBack } from "./tron/node-read-back.ts";
import { utxoNetworks } from "./utxo/network.ts";
import { independentReaderOn } from "./utxo/node-read-back.ts";
import { readAttemptBack as xrpReadBack } from "./xrp/node-read-back.ts";

const onCoins = new Map(utxoNetworks.map((network) => [network.id, independentReaderOn(network)]));

const readings: Readonly<Record<FamilyName, (network: string) => IndependentReading | undefined>> =
  {
    evm: () => readAttemptBack,
    tron: () => tronReadBack,
    utxo: (network) => onCoins.get(network),
    xrp: () => xrpReadBack,
  };

/** The reading on a network of our own. An unknown network is a bug. */
export function independentReadingOf(network: string): IndependentReading {
  const reading = readings[familyOf(network).name](network);
  invariant(reading !== undefined, "a network of our own has its reading");
  return reading;
}
