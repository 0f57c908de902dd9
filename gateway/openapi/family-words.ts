/**
 * Sentences of the description that depend on the families of chains, made from their table, so
 * that they stay true when a family is added.
 */
import { families, titlesOf } from "../../chains/families.ts";
import type { FamilyName } from "../../chains/family.ts";
import { mainNetworks } from "../../chains/network-names.ts";

const allTitles = titlesOf(() => true);
const taggedTitles = titlesOf((name) => families[name].readTag("1") !== null);
const link = (name: FamilyName): string =>
  families[name].paymentUri({
    network: mainNetworks[name],
    contract: "",
    receiver: "r",
    units: 1n,
  });
const linkedTitles = titlesOf((name) => link(name) !== "");

export const familyWords = {
  address:
    `External address the funds are sent to, in the form of the currency's network (${allTitles}). Its checksum is verified; ` +
    "on EVM chains an address in letters of one case has none.",
  tag:
    `The tag of the address: on ${taggedTitles} a whole number from 0 to 4294967295 as text, as the receiver says. ` +
    "Empty, or left out, where there is none; any other network refuses a tag.",
  paymentUri:
    `Deposits: a link for wallets, in the form of the network (${linkedTitles}). Empty on other networks, and when the currency is ` +
    "no longer configured.",
} as const;
