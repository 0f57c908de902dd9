/** The accounts of other merchants at the same gateway, each with keys of its own. */
import {
  deriveAccounts,
  pairedAccountsOf,
  walletFingerprintOfAccounts,
} from "../../../agent/keystore/nodes.ts";
import { families } from "../../../chains/families.ts";
import { stage } from "./setting.ts";

const walletOfOther = new Map<
  string,
  { readonly wallet: string; readonly accounts: ReturnType<typeof pairedAccountsOf> }
>();

const firstAddresses = new Map<string, ReadonlySet<string>>();

/** Another mnemonic's accounts, by family and number. */
export function othersAccounts(at: number) {
  const key = `${stage.family} ${at}`;
  const known = walletOfOther.get(key);
  if (known !== undefined) return known;
  const made = deriveAccounts(
    Uint8Array.from({ length: 64 }, (_, index) => (index * 7 + at) % 256),
    [stage.family],
  );
  const one = { wallet: walletFingerprintOfAccounts(made), accounts: pairedAccountsOf(made) };
  walletOfOther.set(key, one);
  return one;
}

/** The first of them, as the nodes know it: its hot wallet and the addresses that leave first. */
export function firstOther(count: number): {
  readonly hotWallet: string;
  readonly addresses: ReadonlySet<string>;
} {
  const { accounts } = othersAccounts(0);
  const idOf = (wanted: string): string =>
    accounts.find(({ purpose }) => purpose === wanted)?.id ?? "";
  const key = `${stage.family} ${count}`;
  const known = firstAddresses.get(key);
  const addresses =
    known ??
    new Set(
      Array.from({ length: count }, (_, index) =>
        families[stage.family].depositAddress(idOf("deposits"), index),
      ),
    );
  firstAddresses.set(key, addresses);
  return { hotWallet: idOf("hot"), addresses };
}
