/**
 * chains/tron offline, addresses: public vectors, chance judged by tronweb (SEED=<number> replays
 * it), and accounts under an extended public key.
 */
import { HDKey } from "@scure/bip32";
import { mnemonicToSeedSync } from "bip39";
import { TronWeb, utils } from "tronweb";
import { expect, describe as group, it } from "vitest";
import { signDigest } from "../../agent/signer/vault/curve.ts";
import { createCompressedKeyAccounts } from "../../chains/curve/account-proof.ts";
import {
  addressBytes,
  addressOfBytes,
  addressOfHash,
  addressOfPublicKey,
  depositAddressOf,
  parseAddress,
} from "../../chains/tron/address.ts";
import { share } from "../../lab/kit/share.ts";
import { bytes, codeOf, random, seed, vectors } from "../support/evm-values.ts";

interface AddressVectors {
  readonly addresses: readonly {
    readonly address: string;
    readonly hex: string;
    readonly privateKey: string;
  }[];
  readonly refusedAddresses: readonly {
    readonly text: string;
    readonly code: string;
    readonly why: string;
  }[];
  readonly derived: { readonly mnemonic: string; readonly addresses: readonly string[] };
}

const { addresses, refusedAddresses, derived } = vectors<AddressVectors>("tron");
const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const root = HDKey.fromMasterSeed(mnemonicToSeedSync(derived.mnemonic));

group("Tron addresses", () => {
  it.each(addresses)(
    "$address is read, and is the vector's bytes both ways",
    ({ address, hex: digits }) => {
      expect(parseAddress(address)).toEqual({ ok: true, address });
      expect(Buffer.from(addressBytes(address)).toString("hex")).toBe(digits);
      expect(addressOfBytes(bytes(digits))).toBe(address);
      expect(addressOfHash(bytes(digits).subarray(1))).toBe(address);
    },
  );

  it.each(refusedAddresses)("an address is refused with $code: $why", ({ text, code }) => {
    expect(parseAddress(text)).toMatchObject({ ok: false, code });
  });

  it("a refusal of a hex form and of a lost case says so", () => {
    expect(parseAddress("415cd0fb0ab3ce40f3051414c604b27756e69e43db")).toMatchObject({
      detail: "hex; give the form that begins with T",
    });
    expect(parseAddress("tjrywwfs9wtfgzg3jbrvrifbnfcug5tdec")).toMatchObject({
      detail: expect.stringContaining("lost their case"),
    });
  });

  it("every change of one character of an address is refused", () => {
    let tried = 0;
    const taken: string[] = [];
    for (const { address } of addresses) {
      for (let at = 0; at < address.length; at++) {
        for (const character of `${alphabet}0OIl `) {
          if (character === address[at]) continue;
          if (parseAddress(address.slice(0, at) + character + address.slice(at + 1)).ok)
            taken.push(`${address} ${at} ${character}`);
          tried += 1;
        }
      }
    }
    expect(taken).toEqual([]);
    expect(tried).toBe(addresses.length * 34 * 62);
  });

  it(`addresses by chance and corruptions of them are judged as tronweb judges them, SEED=${seed}`, () => {
    for (let n = 0; n < share(300); n++) {
      const address = utils.crypto.getBase58CheckAddress([0x41, ...random.bytes(20)]);
      expect(parseAddress(address)).toEqual({ ok: true, address });
      expect(addressOfBytes(bytes(TronWeb.address.toHex(address)))).toBe(address);
      const at = 1 + random.below(33);
      const corrupt =
        address.slice(0, at) + alphabet.charAt(random.below(58)) + address.slice(at + 1);
      expect(parseAddress(corrupt).ok, corrupt).toBe(TronWeb.isAddress(corrupt));
    }
  });

  it("twenty-one bytes behind another prefix are no address", () => {
    expect(addressOfBytes(bytes("a0".padEnd(42, "1")))).toBeNull();
    expect(addressOfBytes(bytes("41".padEnd(40, "1")))).toBeNull();
    expect(addressOfBytes(bytes("41".padEnd(42, "1")))).not.toBeNull();
  });

  it("addresses are made from public keys as the vectors and tronweb make them", () => {
    for (const { privateKey, address } of addresses.filter(({ privateKey: key }) => key !== "")) {
      const key = bytes(privateKey);
      expect(addressOfPublicKey(new Uint8Array(utils.crypto.getPubKeyFromPriKey([...key])))).toBe(
        address,
      );
      expect(utils.crypto.pkToAddress(privateKey)).toBe(address);
    }
    expect(codeOf(() => addressOfPublicKey(new Uint8Array(33)))).toBe("ADDRESS_PUBLIC_KEY");
  });
});

group("Tron accounts", () => {
  const account = root.derive("m/44'/195'/0'");
  const accounts = createCompressedKeyAccounts(addressOfPublicKey);
  const digest = new Uint8Array(32).fill(9);

  it("addresses under an account's extended public key are the vectors' and tronweb's", () => {
    const xpub = account.publicExtendedKey;
    expect(derived.addresses.map((_, index) => depositAddressOf(xpub, index))).toEqual(
      derived.addresses,
    );
    for (const index of [0, 7, 2 ** 31 - 1]) {
      const child = account.deriveChild(0).deriveChild(index).privateKey!;
      expect(depositAddressOf(xpub, index)).toBe(
        utils.crypto.pkToAddress(Buffer.from(child).toString("hex")),
      );
    }
    expect(TronWeb.fromMnemonic(derived.mnemonic).address).toBe(derived.addresses[0]);
    expect(codeOf(() => depositAddressOf(account.privateExtendedKey, 0))).toBe("ADDRESS_XPUB");
    expect(codeOf(() => depositAddressOf(xpub, -1))).toBe("ADDRESS_INDEX");
  });

  it("a proof fits the account whose key made it, hot or for deposits, and no other", () => {
    const hotWallet = root.derive("m/44'/195'/0'/0/0");
    const named = { purpose: "hot", id: derived.addresses[0]! } as const;
    const proof = accounts.proofOf(
      named,
      digest,
      signDigest(digest, hotWallet.privateKey!).subarray(0, 64),
    );
    expect(accounts.proofFits(named, digest, proof!)).toBe(true);
    expect(accounts.proofFits({ purpose: "hot", id: derived.addresses[1]! }, digest, proof!)).toBe(
      false,
    );
    expect(accounts.proofFits(named, new Uint8Array(32), proof!)).toBe(false);
    const deposits = { purpose: "deposits", id: account.publicExtendedKey } as const;
    const ofNode = accounts.proofOf(
      deposits,
      digest,
      signDigest(digest, account.privateKey!).subarray(0, 64),
    );
    expect(accounts.proofFits(deposits, digest, ofNode!)).toBe(true);
    expect(accounts.proofFits(deposits, digest, proof!)).toBe(false);
    expect(
      accounts.proofOf(named, digest, signDigest(digest, account.privateKey!).subarray(0, 64)),
    ).toBeNull();
  });
});
