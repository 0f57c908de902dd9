/**
 * chains/evm offline, addresses and RLP: recorded vectors, and chance (SEED=<number> replays it)
 * judged by ethers.
 */
import { getAddress, HDNodeWallet, isAddress, Wallet } from "ethers";
import { expect, describe as group, it } from "vitest";
import type { AgentError } from "../../base/fault.ts";
import {
  addressBytes,
  addressOfPublicKey,
  depositAddressOf,
  parseAddress,
} from "../../chains/evm/address.ts";
import {
  decodeRlp,
  encodeRlp,
  integerBytes,
  type RlpItem,
  readShortestInteger,
} from "../../chains/evm/rlp.ts";
import { share } from "../../lab/kit/share.ts";
import { bytes, codeOf, hex, random, seed, vectors } from "../support/evm-values.ts";

group("addresses", () => {
  const eip55 = vectors<{
    accepted: readonly string[];
    refused: readonly { text: string; code: string; why: string }[];
  }>("eip55");

  it("an address is taken as in the vectors of EIP-55, and in one case", () => {
    for (const address of eip55.accepted) {
      const canonical = parseAddress(address);
      expect(canonical.ok, address).toBe(true);
      expect(parseAddress(address.toLowerCase())).toEqual(canonical);
      expect(parseAddress(`0x${address.slice(2).toUpperCase()}`)).toEqual(canonical);
      expect(hex(addressBytes(address))).toBe(address.toLowerCase());
    }
  });

  it.each(eip55.refused)("an address is refused: $why", ({ text, code }) => {
    expect(parseAddress(text)).toMatchObject({ ok: false, code });
  });

  it("a checksummed address with any single character changed is refused", () => {
    let tried = 0;
    const taken: string[] = [];
    for (const address of eip55.accepted.filter(
      (text) => /[a-f]/.test(text) && /[A-F]/.test(text),
    )) {
      for (let i = 2; i < address.length; i++) {
        for (const digit of "0123456789abcdefABCDEFgxO ") {
          if (digit === address[i]) continue;
          const corrupt = address.slice(0, i) + digit + address.slice(i + 1);
          if (parseAddress(corrupt).ok) taken.push(corrupt);
          tried += 1;
        }
      }
    }
    expect(taken).toEqual([]);
    expect(tried).toBe(4 * 40 * 25);
  });

  it(`random corruptions of an address are judged as by ethers, SEED=${seed}`, () => {
    for (let n = 0; n < share(200); n++) {
      const address = getAddress(hex(random.bytes(20)));
      if (n % 100 === 0) expect(parseAddress(address)).toEqual({ ok: true, address });
      for (let k = 0; k < 3; k++) {
        const at = 2 + random.below(40);
        const corrupt =
          address.slice(0, at) +
          "0123456789abcdefABCDEF".charAt(random.below(22)) +
          address.slice(at + 1);
        expect(parseAddress(corrupt).ok, corrupt).toBe(isAddress(corrupt));
      }
    }
  });

  it("addresses of public keys are those of ethers", () => {
    for (let n = 0; n < share(20); n++) {
      const wallet = new Wallet(hex(random.bytes(32)));
      expect(addressOfPublicKey(bytes(wallet.signingKey.publicKey))).toBe(wallet.address);
      expect(addressOfPublicKey(bytes(wallet.signingKey.compressedPublicKey))).toBe(wallet.address);
    }
    const point = bytes(new Wallet(`0x${"11".repeat(32)}`).signingKey.publicKey);
    expect(codeOf(() => addressOfPublicKey(point.slice(1)))).toBe("ADDRESS_PUBLIC_KEY");
    point[64]! ^= 1;
    expect(codeOf(() => addressOfPublicKey(point))).toBe("ADDRESS_PUBLIC_KEY");
  });

  it("deposit addresses are those of ethers, and need only an account's extended public key", () => {
    const phrase = "test test test test test test test test test test test junk";
    const account = HDNodeWallet.fromPhrase(phrase, "", "m/44'/60'/1'");
    const xpub = account.neuter().extendedKey;
    for (const index of [0, 1, 2, 1000, 2 ** 31 - 1]) {
      expect(depositAddressOf(xpub, index)).toBe(account.deriveChild(0).deriveChild(index).address);
      expect(depositAddressOf(xpub, index)).toBe(account.neuter().derivePath(`0/${index}`).address);
    }
    for (const index of [-1, 2 ** 31, 1.5, Number.NaN])
      expect(codeOf(() => depositAddressOf(xpub, index))).toBe("ADDRESS_INDEX");
    const wrong = {
      "extended private key": account.extendedKey,
      "another depth": account.deriveChild(0).neuter().extendedKey,
      "not hardened": HDNodeWallet.fromPhrase(phrase, "", "m/44'/60'/1").neuter().extendedKey,
      "one character changed": `${xpub.slice(0, 50)}${xpub[50] === "a" ? "b" : "a"}${xpub.slice(51)}`,
      empty: "",
    };
    for (const [why, text] of Object.entries(wrong))
      expect(
        codeOf(() => depositAddressOf(text, 0)),
        why,
      ).toBe("ADDRESS_XPUB");
    try {
      depositAddressOf(account.extendedKey, 0);
    } catch (error) {
      expect(
        JSON.stringify([(error as AgentError).message, (error as AgentError).context]),
      ).not.toContain("xprv");
    }
  });
});

group("RLP", () => {
  type Item = string | readonly Item[];
  const rlp = vectors<{
    accepted: readonly { item: Item; rlp: string }[];
    refused: readonly { rlp: string; why: string }[];
  }>("rlp");
  const itemOf = (item: Item): RlpItem =>
    typeof item === "string" ? bytes(item) : item.map(itemOf);

  it("RLP encodes and decodes the vectors", () => {
    for (const vector of rlp.accepted) {
      expect(hex(encodeRlp(itemOf(vector.item)))).toBe(`0x${vector.rlp}`);
      expect(decodeRlp(bytes(vector.rlp))).toEqual({ ok: true, item: itemOf(vector.item) });
    }
  });

  it.each(rlp.refused)("RLP is refused: $why", ({ rlp: text }) => {
    expect(decodeRlp(bytes(text))).toMatchObject({ ok: false, code: "TRANSACTION_RLP" });
  });

  it("RLP decodes every accepted text back to the same bytes", () => {
    let taken = 0;
    for (let n = 0; n < share(20_000); n++) {
      const text = random.bytes(1 + random.below(6));
      if (n % 2 === 0) text[0] = 0xc0 + text.length - 1;
      const decoded = decodeRlp(text);
      if (!decoded.ok) continue;
      taken += 1;
      if (hex(encodeRlp(decoded.item)) !== hex(text))
        expect.unreachable(`another form of ${hex(text)}`);
    }
    expect(taken).toBeGreaterThan(share(1000));
  });

  it("RLP writes integers in their shortest form and reads no other", () => {
    expect([...integerBytes(0n)]).toEqual([]);
    expect([...integerBytes(256n)]).toEqual([1, 0]);
    expect(readShortestInteger(Uint8Array.of(1, 0), 32)).toBe(256n);
    expect(readShortestInteger(Uint8Array.of(0, 1), 32)).toBeNull();
    expect(readShortestInteger(Uint8Array.of(0), 32)).toBeNull();
    expect(readShortestInteger(new Uint8Array(33).fill(1), 32)).toBeNull();
    expect(readShortestInteger(new Uint8Array(32).fill(255), 32)).toBe(2n ** 256n - 1n);
  });
});
