/** The made-up family behind the offline interface. */
import { refuse } from "../../../base/fault.ts";
import type { Family } from "../../../chains/family.ts";
import { fees } from "./fees.ts";
import { isAddress, mainNetwork, namespace } from "./network.ts";

/** A family by another name than the table's own, as it is outside the table. */
type Named<Name extends string> = Omit<Family, "name" | "addressSpace"> & {
  readonly name: Name;
  readonly addressSpace: { readonly name: Name; readonly networks: string };
};

export const madeup: Named<"madeup"> = {
  name: "madeup",
  title: "Made-up",
  exclusion: { kind: "slot" },
  blockTimes: "rising",
  finalDepth: null,
  countsConfirmations: true,
  slots: {
    first: "1",
    least: "1",
    last: "999",
    read: (text) => (/^[1-9][0-9]{0,2}$/.test(text) ? text : null),
    next: (slot) => `${Number(slot) + 1}`,
    compare: (a, b) => Number(a) - Number(b),
    between: (from, before) => BigInt(Math.max(0, Number(before) - Number(from))),
    blocksLater: true,
    isCounted: true,
    say: (slot) => `page ${slot}`,
    word: "page",
  },
  fees,
  feeModels: [],
  readChainId: (value) => (value === 1 ? 1 : null),
  networkOf: () => mainNetwork,
  addressSpace: { name: "madeup", networks: `${namespace}:` },
  isTxHash: (text) => /^[0-9a-f]{64}$/.test(text),
  readPin: () => null,
  parseAddress: (text) =>
    isAddress(text) ? { ok: true, address: text } : refuse("ADDRESS_FORMAT", text),
  readTag: (text) => (text === "" ? "" : null),
  isReserved: () => false,
  paymentUri: ({ receiver, units }) => `${namespace}:${receiver}?${units}`,
  depositAddress: (accountId, index) => `${accountId}${"abcdefghij"[index % 10]}`,
  paths: {
    purpose: 44,
    coinType: 1,
    accounts: [{ purpose: "hot", number: 0 }],
    hotWalletKey: [0, 0],
    deposits: [0],
  },
  accounts: {
    keyLetters: "word",
    readKey: (text) => (isAddress(text) ? text : null),
    addressOf: (publicKey) => Buffer.from(publicKey).toString("hex").replace(/\d/g, "g"),
    depositsIdOf: ({ publicKey }) => Buffer.from(publicKey).toString("hex").replace(/\d/g, "g"),
    proofFits: ({ id }, digest, proof) => proof === `${id} ${Buffer.from(digest).toString("hex")}`,
    proofOf: ({ id }, digest) => `${id} ${Buffer.from(digest).toString("hex")}`,
    deposits: "addresses",
    payeeOf: (address) => ({ address, tag: "" }),
  },
};
