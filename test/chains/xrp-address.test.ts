/**
 * Addresses of XRP, X-addresses and the tags of deposit requests; three independent packages judge
 * them.
 */
import { mnemonicToSeedSync } from "@scure/bip39";
import { describe, expect, it } from "vitest";
import type { WalletAccount } from "../../agent/keystore/nodes.ts";
import { deriveAccounts, pairedAccountsOf, proveAccounts } from "../../agent/keystore/nodes.ts";
import { publicKeyOf } from "../../chains/xrp/account.ts";
import {
  addressOfPublicKey,
  decodeXAddress,
  encodeXAddress,
  parseAddress,
} from "../../chains/xrp/address.ts";
import { depositTagOf } from "../../chains/xrp/deposit-tag.ts";
import { xrp } from "../../chains/xrp/family.ts";
import { codeOf } from "../support/evm-values.ts";
import { places, strideOfRun } from "../support/stride.ts";
import { findJudges } from "./xrp-judges.ts";
import { accountAt, bytesAt, receiver } from "./xrp-values.ts";

const judges = await findJudges();
const words = `${"abandon ".repeat(11)}about`;
/** The address at m/44'/144'/0'/0/0 of these words. */
const known = "rHsMGQEkVNJmpGWs8XUBoTBiAAbwxZN5v3";
const genesis = "rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh";
const wallet: readonly WalletAccount[] = deriveAccounts(
  Uint8Array.from(mnemonicToSeedSync(words)),
  ["xrp"],
);
const named = pairedAccountsOf(wallet);
const xpub = named[1]?.id ?? "";

describe("the account of a wallet", () => {
  it("it pays and receives at m/44'/144'/0'/0/0, which other wallets show for the same words", () => {
    expect(named.map(({ purpose }) => purpose)).toEqual(["hot", "deposits"]);
    expect(named[0]?.id).toBe(known);
    expect(xpub).toMatch(/^xpub/);
    for (const index of [0, 1, 2 ** 31 - 2])
      expect(xrp.accounts.payeeOf(xrp.depositAddress(xpub, index)).address).toBe(known);
  });

  it("each account proves its key, and neither proof is the other's", () => {
    const digest = bytesAt("digest", 0);
    const [hot = "", deposits = ""] = proveAccounts(wallet, digest);
    const [first, second] = named as [(typeof named)[0], (typeof named)[0]];
    const fits = (account: typeof first, proof: string): boolean =>
      xrp.accounts.proofFits(account, digest, proof);
    expect([fits(first, hot), fits(second, deposits)]).toEqual([true, true]);
    expect([fits(first, deposits), fits(second, hot)]).toEqual([false, false]);
  });

  it("the key of an address is known once it was named, and no other", () => {
    const own = accountAt(900);
    expect(publicKeyOf(own.address)).toEqual(own.publicKey);
    expect(publicKeyOf(addressOfPublicKey(own.publicKey))).toEqual(own.publicKey);
    expect(publicKeyOf(genesis)).toBeUndefined();
    expect(codeOf(() => xrp.accounts.addressOf(new Uint8Array(33)))).toBe("ADDRESS_PUBLIC_KEY");
  });

  it("a merchant without an agent names it by its extended public key or by its address", () => {
    for (const id of [xpub, known]) {
      expect(xrp.accounts.readKey(id)).toBe(id);
      expect(xrp.depositAddress(id, 7)).toBe(
        encodeXAddress({ address: known, tag: `${depositTagOf(7)}` }),
      );
    }
    for (const text of [
      "",
      "zpub",
      `${known}x`,
      known.replace("M", "N"),
      genesis,
      "rrrrrrrrrrrrrrrrrrrrBZbvji",
      "0x",
    ])
      expect(xrp.accounts.readKey(text), text).toBeNull();
    expect(codeOf(() => xrp.depositAddress("xpub", 0))).toBe("ADDRESS_XPUB");
    expect(codeOf(() => xrp.depositAddress(known.replace("M", "N"), 0))).toBe("ADDRESS_CHECKSUM");
    for (const index of [-1, 0.5, 2 ** 31 - 1])
      expect(codeOf(() => xrp.depositAddress(known, index))).toBe("ADDRESS_INDEX");
  });
});

describe("an address", () => {
  it("the classic form alone is taken, and the words about another one help", () => {
    expect(parseAddress(known)).toEqual({ ok: true, address: known });
    const refused = (text: string) => parseAddress(text) as { code: string; detail?: string };
    expect(refused(known.replace("M", "N")).code).toBe("ADDRESS_CHECKSUM");
    expect(refused("rrrrrrrrrrrrrrrrrrrrrhoLvTp").code).toBe("ADDRESS_ZERO");
    for (const text of [
      "",
      "r",
      known.toLowerCase(),
      ` ${known}`,
      known.slice(1),
      `${known}${known}`,
      xpub,
      "0x00",
    ])
      expect(parseAddress(text).ok, text).toBe(false);
    expect(refused("XVPcpSm47b1CZkf5AkKM9a84dQHe3mStTFRCftmx38NkCG9")).toMatchObject({
      ...{
        code: "ADDRESS_FORMAT",
        detail: `an X-address; give the address ${genesis} and the tag 1 in its place`,
      },
    });
    expect(refused("TVK3SYvMLZR6rEtLDZh3saYHaqFSeMpn3Dz7EsmQC63VUwh").detail).toBe(
      `an X-address; give the address ${genesis} in its place`,
    );
    expect(refused("XVPcpSm47b1CZkf5AkKM9a84dQHe3mStTFRCftmx38NkCG8").code).toBe(
      "ADDRESS_CHECKSUM",
    );
    expect(xrp.parseAddress(known, "xrpl:1")).toEqual({ ok: true, address: known });
    expect(xrp.parseAddress(known, "xrpl:1025").ok).toBe(false);
  });

  it("addresses whose money nobody can spend are reserved, and others are not", () => {
    const black = [
      "rrrrrrrrrrrrrrrrrrrrrhoLvTp",
      "rrrrrrrrrrrrrrrrrrrrBZbvji",
      "rrrrrrrrrrrrrrrrrNAMEtxvNvQ",
      "rrrrrrrrrrrrrrrrrrrn5RM1rHd",
    ];
    expect([...black, genesis].map((address) => xrp.isReserved(address))).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
    expect([known, receiver.address].map((address) => xrp.isReserved(address))).toEqual([
      false,
      false,
    ]);
  });

  it("an X-address is split only if every byte of it has a meaning", () => {
    expect(decodeXAddress(encodeXAddress({ address: known, tag: "" }))).toEqual({
      address: known,
      tag: "",
    });
    expect(decodeXAddress(encodeXAddress({ address: known, tag: "0" }))).toEqual({
      address: known,
      tag: "0",
    });
    for (const text of [known, "", "X", `X${"1".repeat(46)}`])
      expect(decodeXAddress(text), text).toBeNull();
    expect(xrp.accounts.payeeOf(known)).toEqual({ address: known, tag: "" });
  });
});

describe("the tags of deposit requests", () => {
  it("200,000 requests have 200,000 tags of 31 bits, none is 0, and no two neighbours are near", () => {
    const tags = new Set<number>();
    let last = 0;
    for (let index = 0; index < 200_000; index += 1) {
      const tag = depositTagOf(index);
      if (tag < 1 || tag > 2 ** 31 - 1 || Math.abs(tag - last) < 10)
        expect.fail(`index ${index} has ${tag} after ${last}`);
      tags.add(tag);
      last = tag;
    }
    expect(tags.size).toBe(200_000);
  });

  it("the last indexes have tags of their own too, and the first ones are fixed for good", () => {
    const all = Array.from({ length: 50_000 }, (_, at) => depositTagOf(2 ** 31 - 2 - at));
    expect(new Set(all).size).toBe(all.length);
    expect(all.some((tag) => tag < 1 || tag > 2 ** 31 - 1)).toBe(false);
    expect([0, 1, 2, 2 ** 31 - 2].map(depositTagOf)).toMatchInlineSnapshot(`
      [
        1378302561,
        609154242,
        1020098347,
        1124030336,
      ]
    `);
  });

  it("a tag has one spelling", () => {
    for (const tag of ["0", "7", "4294967295"]) expect(xrp.readTag(tag)).toBe(tag);
    for (const text of ["", "00", "07", "-1", "+1", "1.0", "4294967296", "99999999999", " 1", "a"])
      expect(xrp.readTag(text), text).toBeNull();
  });
});

describe.skipIf(typeof judges === "string")("addresses of XRP, judged by others", () => {
  if (typeof judges === "string") {
    it.skip(judges, () => undefined);
    return;
  }
  const { addresses, keys } = judges;

  it("keys have the address that ripple-keypairs gives, and X-addresses are made and split alike", () => {
    // The first four have the edges of a tag.
    for (const at of new Set([0, 1, 2, 3, ...places(500, strideOfRun())])) {
      const { publicKey, address } = accountAt(1_000 + at);
      expect(address).toBe(
        keys.deriveAddress(Buffer.from(publicKey).toString("hex").toUpperCase()),
      );
      const tag = [false as const, 0, 1, 2 ** 32 - 1][at] ?? depositTagOf(at);
      const payee = { address, tag: tag === false ? "" : `${tag}` };
      const text = addresses.classicAddressToXAddress(address, tag, false);
      expect(encodeXAddress(payee)).toBe(text);
      expect(decodeXAddress(text)).toEqual(payee);
      const onTest = addresses.classicAddressToXAddress(address, tag, true);
      expect(onTest).toMatch(/^T/);
      expect(decodeXAddress(onTest)).toEqual(payee);
      const deposit = xrp.depositAddress(address, at);
      expect(addresses.xAddressToClassicAddress(deposit)).toEqual({
        classicAddress: address,
        tag: depositTagOf(at),
        test: false,
      });
      expect(xrp.accounts.payeeOf(deposit)).toEqual({ address, tag: `${depositTagOf(at)}` });
    }
  });

  it("the key at m/44'/144'/0'/0/0 of the known words has the known address by ripple-keypairs too", () => {
    const key = publicKeyOf(known);
    expect(key).toHaveLength(33);
    expect(
      keys.deriveAddress(
        Buffer.from(key ?? [])
          .toString("hex")
          .toUpperCase(),
      ),
    ).toBe(known);
  });

  it("bytes that the judge refuses in an X-address are refused here, and bytes behind the tag, which the judge overlooks", () => {
    const hash = addresses.decodeAccountID(known);
    const textOf = (prefix: readonly number[], rest: readonly number[]): string =>
      addresses.codec.encodeChecked(Uint8Array.from([...prefix, ...hash, ...rest]));
    const zeros = [0, 0, 0, 0];
    const main = [0x05, 0x44];
    expect(decodeXAddress(textOf(main, [1, 7, 0, 0, 0, ...zeros]))).toEqual({
      address: known,
      tag: "7",
    });
    const odd = [
      textOf(main, [2, 7, 0, 0, 0, ...zeros]),
      textOf(main, [0, 7, 0, 0, 0, ...zeros]),
      textOf(main, [1, 7, 0, 0, 0, 1, 0, 0, 0]),
      textOf([0x05, 0x45], [1, 7, 0, 0, 0, ...zeros]),
      textOf(main, [1, 7, 0, 0, 0, ...zeros, 0]),
    ];
    expect(odd.map((text) => addresses.isValidXAddress(text))).toEqual([
      false,
      false,
      true,
      false,
      true,
    ]);
    expect(odd.map(decodeXAddress)).toEqual([null, null, null, null, null]);
  });
});

describe("the keys that are kept by their address", () => {
  it("1,024 keys are kept, the oldest goes first, and a key that was named again counts as the newest", () => {
    const [again, once] = [accountAt(5_000), accountAt(5_001)];
    for (let at = 0; at < 1_023; at += 1) {
      accountAt(6_000 + at);
      if (at === 1_000) xrp.accounts.addressOf(again.publicKey);
    }
    expect([again, once].map(({ address }) => publicKeyOf(address) === undefined)).toEqual([
      false,
      true,
    ]);
    expect(publicKeyOf(accountAt(6_000).address)).toBeDefined();
  });
});
