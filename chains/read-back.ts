/**
 * The second reading of signed bytes, by code that is not ours. A separate file, because it loads a
 * large library that only the courier needs.
 */
import { readBack } from "./evm/node-read-back.ts";
import type { FamilyName } from "./family.ts";
import type { IndependentReading } from "./nodes.ts";
import { readBack as tronReadBack } from "./tron/node-read-back.ts";
import { ofEachFamily } from "./utxo/network.ts";
import { readBackOn } from "./utxo/node-read-back.ts";
import { readBack as xrpReadBack } from "./xrp/node-read-back.ts";

const readings: Readonly<Record<FamilyName, IndependentReading>> = {
  evm: readBack,
  tron: tronReadBack,
  ...ofEachFamily((network) => readBackOn(network)),
  xrp: xrpReadBack,
};

export function readBackOf(family: FamilyName): IndependentReading {
  return readings[family];
}
