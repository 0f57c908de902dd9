/**
 * What ends a signed payment or sweep that no block takes, for each family: asked of every one, so
 * that a new family cannot leave a withdrawal which nobody ends.
 */
import { expect, it } from "vitest";
import { outOfReachCode } from "../../agent/signer/state/out-of-reach.ts";
import { families } from "../../chains/families.ts";
import type { FamilyName } from "../../chains/family.ts";

/** `time`: its own end in chain time. The others: an operator's `end`, by this code. */
const ends: Readonly<Record<FamilyName, "time" | "SWEEP_UNREACHABLE" | "COIN_UNKNOWN">> = {
  evm: "SWEEP_UNREACHABLE",
  tron: "time",
  utxo: "COIN_UNKNOWN",
  xrp: "SWEEP_UNREACHABLE",
};

it.each(Object.entries(families))("%s has its end", (_, family) => {
  const by = { expiry: "time", slot: "SWEEP_UNREACHABLE", pin: "COIN_UNKNOWN" } as const;
  expect(by[family.exclusion.kind]).toBe(ends[family.name]);
  // An ordinal that only the signer counts holds up no later payment, so its end closes no account.
  expect(family.slots.isCounted).toBe(family.exclusion.kind === "slot");
  expect(family.slots.blocksLater).toBe(family.slots.isCounted);
});

it("the code of one that no block takes follows from its family, and where accounts begin late from its mode", () => {
  const codeOf = (network: string, mode: string) =>
    outOfReachCode({ job: { network, mode } } as never);
  for (const mode of ["auto", "sweep"]) expect(codeOf("eip155:1", mode)).toBe("SWEEP_UNREACHABLE");
  expect(["auto", "manual", "sweep"].map((mode) => codeOf("xrpl:0", mode))).toEqual([
    ...["SLOT_UNREACHABLE", "SLOT_UNREACHABLE", "SWEEP_UNREACHABLE"],
  ]);
  expect(codeOf("bip122:000000000019d6689c085ae165831e93", "auto")).toBe("COIN_UNKNOWN");
});

it("an account begins above the first slot on XRP alone, so no other family has payments below it", () => {
  const late = Object.values(families).filter(({ slots }) => slots.first === null);
  expect(late.map(({ name }) => name)).toEqual(["xrp"]);
});
