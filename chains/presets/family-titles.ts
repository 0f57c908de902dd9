/** The names of the families of chains for people. Pure. */
import { type FamilyName, familyNames } from "../family.ts";

/** The test networks of a family share its name. */
const titles: Readonly<Record<FamilyName, string>> = {
  evm: "EVM chains",
  tron: "Tron",
  bitcoin: "Bitcoin",
  bitcointestnet4: "Bitcoin",
  bitcoinsignet: "Bitcoin",
  bitcoinregtest: "Bitcoin",
  litecoin: "Litecoin",
  litecoinregtest: "Litecoin",
  xrp: "XRP",
};

/** The name of each family for which something is true, each once, in the order of the table. */
export function titlesOf(isOne: (name: FamilyName) => boolean): string {
  return [...new Set(familyNames.filter(isOne).map((name) => titles[name]))].join(", ");
}
