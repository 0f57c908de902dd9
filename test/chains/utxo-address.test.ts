/**
 * chains/utxo offline, addresses and accounts: the vectors of BIP-84, BIP-173, BIP-350 and
 * SLIP-132, and addresses of every kind against two other programs.
 */
import { HDKey } from "@scure/bip32";
import * as scure from "@scure/btc-signer";
import { mnemonicToSeedSync } from "bip39";
import { describe, expect, it } from "vitest";
import { families, findFamily } from "../../chains/families.ts";
import { addressOfPublicKey, addressOfScript, parseAddress } from "../../chains/utxo/address.ts";
import { depositAddressOf, readExtendedPublicKey } from "../../chains/utxo/family.ts";

import { bitcoin, litecoin, networkOf, type UtxoNetwork } from "../../chains/utxo/network.ts";
import { seed } from "../support/evm-values.ts";
import { mainOf, scriptKinds, Values } from "./utxo-values.ts";

const main = mainOf(bitcoin);
const test = bitcoin.networks[1] as UtxoNetwork;
const ltc = mainOf(litecoin);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const codeOf = (text: string, network: UtxoNetwork): string => {
  const parsed = parseAddress(text, network);
  return parsed.ok ? "" : parsed.code;
};
const root = HDKey.fromMasterSeed(mnemonicToSeedSync(`${"abandon ".repeat(11)}about`));
const zpub =
  "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs";
const vpub =
  "vpub5Y6cjg78GGuNLsaPhmYsiw4gYX3HoQiRBiSwDaBXKUafCt9bNwWQiitDk5VZ5BVxYnQdwoTyXSs2JHRPAgjAvtbBrf8ZhDYe2jWAqvZVnsc";

describe("addresses of BIP-173 and BIP-350", () => {
  it.each([
    [
      "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
      main,
      "0014751e76e8199196d454941c45d1b3a323f1433bd6",
    ],
    [
      "tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7",
      test,
      "00201863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262",
    ],
    [
      "tb1qqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesrxh6hy",
      test,
      "0020000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433",
    ],
    [
      "tb1pqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesf3hn0c",
      test,
      "5120000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433",
    ],
    [
      "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
      main,
      "512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
    ],
  ])("%s is read, and written in lower case", (text, network, script) => {
    const parsed = parseAddress(text, network);
    expect(parsed).toMatchObject({ ok: true, address: text.toLowerCase() });
    expect(parsed.ok && hex(parsed.script)).toBe(script);
    expect(addressOfScript(Uint8Array.from(Buffer.from(script, "hex")), network)).toBe(
      text.toLowerCase(),
    );
  });

  it.each([
    [
      "bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y",
      "ADDRESS_FORMAT",
    ], // version 1, 40 bytes
    ["BC1SW50QGDZ25J", "ADDRESS_FORMAT"], // version 16
    ["bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs", "ADDRESS_FORMAT"], // version 2
    ["tc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq5zuyut", "ADDRESS_FORMAT"],
    ["bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd", "ADDRESS_CHECKSUM"],
    ["BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL", "ADDRESS_CHECKSUM"],
    ["bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh", "ADDRESS_CHECKSUM"],
    ["bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4", "ADDRESS_CHECKSUM"],
    ["BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R", "ADDRESS_FORMAT"],
    ["bc1pw5dgrnzv", "ADDRESS_FORMAT"],
    [
      "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav",
      "ADDRESS_FORMAT",
    ],
    ["BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P", "ADDRESS_FORMAT"],
    ["bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf", "ADDRESS_FORMAT"],
    ["bc1gmk9yu", "ADDRESS_FORMAT"],
    ["bc1pfeessrawgf", "ADDRESS_FORMAT"], // pay to anchor
    ["bc1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4", "ADDRESS_FORMAT"],
    ["tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7", "ADDRESS_FORMAT"],
    ["", "ADDRESS_FORMAT"],
    ["bc1", "ADDRESS_CHECKSUM"],
    [`bc1q${"q".repeat(200)}`, "ADDRESS_FORMAT"],
  ])("%s is refused with %s", (text, code) => {
    expect(codeOf(text, main)).toBe(code);
  });

  it.each([
    "tb1z0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqglt7rf",
    "tb1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq24jc47",
    "tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq47Zagq",
    "tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vpggkg4j",
  ])("%s is refused on a test network", (text) => {
    expect(codeOf(text, test)).toMatch(/^ADDRESS_(FORMAT|CHECKSUM)$/);
  });
});

describe("addresses of each kind", () => {
  const values = new Values(seed);

  it("two programs write and read the same addresses on both coins", () => {
    for (const network of [main, test, ltc]) {
      const other = scure.Address({
        bech32: network.prefix,
        pubKeyHash: network.p2pkh,
        scriptHash: network.p2sh,
        wif: 0,
      });
      for (const kind of scriptKinds) {
        for (let run = 0; run < 20; run += 1) {
          const script = values.script(kind);
          const address = addressOfScript(script, network) as string;
          expect(address).toBe(other.encode(scure.OutScript.decode(script)));
          const parsed = parseAddress(address, network);
          expect(parsed.ok && hex(parsed.script)).toBe(hex(script));
          const typo =
            address.slice(0, -2) + (address.at(-2) === "q" ? "p" : "q") + address.slice(-1);
          expect(codeOf(typo, network)).toBe("ADDRESS_CHECKSUM");
        }
      }
    }
  });

  it("the first characters are those that wallets of the coin show", () => {
    const starts = (network: UtxoNetwork) =>
      scriptKinds.map((kind) =>
        (addressOfScript(values.script(kind), network) as string).slice(0, 5),
      );
    expect(starts(main).join(" ")).toMatch(/^1.{4} 3.{4} bc1q. bc1q. bc1p.$/);
    expect(starts(ltc).join(" ")).toMatch(/^L.{4} M.{4} ltc1q ltc1q ltc1p$/);
  });

  it("an address of Litecoin in base58 may begin as the prefix of SegWit in mixed case", () => {
    const text = "LTc1fBaoHmwBeBBJiX1yS6AjAoWLKETPfK";
    const parsed = parseAddress(text, ltc);
    expect(parsed).toMatchObject({ ok: true, address: text });
    expect(parsed.ok && addressOfScript(parsed.script, ltc)).toBe(text);
    expect(parseAddress(`${text.slice(0, -1)}L`, ltc)).toMatchObject({
      ok: false,
      code: "ADDRESS_FORMAT",
    });
  });

  it("Litecoin refuses 3… and MWEB with words, and addresses of Bitcoin", () => {
    const script = values.script("p2sh");
    const bitcoins = addressOfScript(script, main) as string;
    expect(parseAddress(bitcoins, ltc)).toMatchObject({
      ok: false,
      code: "ADDRESS_FORMAT",
      detail: expect.stringContaining("begins with M"),
    });
    // Published in the tests of libraries for Litecoin; below it with the prefix of the test
    // network.
    const extension =
      "ltcmweb1qq20e2arnhvxw97katjkmsd35agw3capxjkrkh7dk8d30rczm8ypxuq329nwh2twmchhqn3jqh7ua4ps539f6aazh79jy76urqht4qa59ts3at6gf";
    for (const text of [
      extension,
      extension.replace("ltcmweb", "tmweb"),
      extension.toUpperCase(),
    ]) {
      expect(parseAddress(text, ltc), text).toMatchObject({
        ok: false,
        detail: expect.stringContaining("MWEB"),
      });
    }
    expect(parseAddress(`ltc1${"q".repeat(117)}`, ltc)).toMatchObject({
      ok: false,
      detail: expect.not.stringContaining("MWEB"),
    });
    const legacy = values.script("p2pkh");
    expect(codeOf(addressOfScript(legacy, main) as string, ltc)).toBe("ADDRESS_FORMAT");
    expect(codeOf(addressOfScript(legacy, ltc) as string, main)).toBe("ADDRESS_FORMAT");
    expect(codeOf(addressOfScript(script, ltc) as string, ltc)).toBe("");
    expect(codeOf(addressOfScript(values.script("p2wpkh"), ltc) as string, main)).toBe(
      "ADDRESS_FORMAT",
    );
  });

  it("an address that burns money is refused", () => {
    expect(codeOf("1111111111111111111114oLvT2", main)).toBe("ADDRESS_ZERO");
    expect(
      codeOf(addressOfScript(Uint8Array.of(0, 20, ...new Uint8Array(20)), main) as string, main),
    ).toBe("ADDRESS_ZERO");
    expect(
      codeOf(
        addressOfScript(Uint8Array.of(0x51, 32, ...new Uint8Array(31), 5), main) as string,
        main,
      ),
    ).toBe("ADDRESS_FORMAT");
    expect(
      codeOf(
        addressOfScript(Uint8Array.of(0x51, 32, ...new Uint8Array(31), 1), main) as string,
        main,
      ),
    ).toBe("");
  });

  it("other scripts have no address", () => {
    for (const text of [
      "",
      "6a",
      "0014",
      "51024e73",
      "00150102030405060708090a0b0c0d0e0f101112131415",
      "76a914",
    ]) {
      expect(addressOfScript(Uint8Array.from(Buffer.from(text, "hex")), main)).toBe(null);
    }
  });
});

describe("accounts of BIP-84 and SLIP-132", () => {
  const node = root.derive("m/84'/0'/0'");
  const id = node.publicExtendedKey;

  it("the public vector: account, and its first addresses", () => {
    expect(readExtendedPublicKey(zpub, main)).toEqual({ ok: true, id });
    expect(depositAddressOf(id, 0, main)).toBe("bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu");
    expect(depositAddressOf(id, 1, main)).toBe("bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g");
    const key = Uint8Array.from(
      Buffer.from("0330d54fd0dd420a6e5f8d3624f5f3482cae350f79d5f0753bf5beef9c2d91af3c", "hex"),
    );
    expect(addressOfPublicKey(key, main)).toBe("bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu");
  });

  it("a test network has vpub, and the same id for the same key", () => {
    const testId = root.derive("m/84'/1'/0'").publicExtendedKey;
    expect(readExtendedPublicKey(vpub, test)).toEqual({ ok: true, id: testId });
    expect(depositAddressOf(testId, 0, test)).toBe("tb1q6rz28mcfaxtmd6v789l9rrlrusdprr9pqcpvkl");
    expect(readExtendedPublicKey(id, main)).toEqual({ ok: true, id });
  });

  it("texts of other networks, scripts, levels and private keys are refused", () => {
    const typo = zpub.replace("AijB", "AijC");
    const yprv = root.derive("m/84'/0'/0'").privateExtendedKey;
    for (const text of [
      vpub,
      typo,
      "zpub",
      "",
      yprv,
      `${zpub} `,
      "ypub6Ww3ibxVfGzLrAH1PNcjyAWenMTbbAosGNB6VvmSEgytSER9azLDWCxoJwW7Ke7icmizBMXrzBx9979FfaHxHcrArf3zbeJJJUZPf663zsP",
    ])
      expect(readExtendedPublicKey(text, main)).toMatchObject({ ok: false, code: "ADDRESS_XPUB" });
    expect(readExtendedPublicKey(root.derive("m/84'/0'").publicExtendedKey, main)).toMatchObject({
      ok: false,
      code: "ADDRESS_XPUB",
    });
    expect(readExtendedPublicKey(zpub, test)).toMatchObject({ ok: false, code: "ADDRESS_XPUB" });
  });
});

describe("networks by their names", () => {
  it("each is an address space of its own, with purpose 84 and the coin type of SLIP-44", () => {
    const [btc, other] = [families.bitcoin, families.litecoin];
    expect(
      [main.id, ltc.id, test.id].map((network) => findFamily(network)?.addressSpace.name),
    ).toEqual(["bitcoin", "litecoin", "bitcointestnet4"]);
    expect(findFamily(`${main.id}0`)).toBe(undefined);
    expect(btc.networkOf({ family: "bitcoin", chainId: main.reference })).toBe(main.id);
    expect([btc.readChainId(main.reference), btc.readChainId(ltc.reference)]).toEqual([
      main.reference,
      null,
    ]);
    expect(
      [btc, families.bitcoinsignet, other].map(({ paths: { purpose, coinType } }) => [
        purpose,
        coinType,
      ]),
    ).toEqual([
      [84, 0],
      [84, 1],
      [84, 2],
    ]);
    expect(networkOf("eip155:1")).toBe(null);
    expect(btc.parseAddress("bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", ltc.id)).toMatchObject({
      ok: false,
      code: "ADDRESS_FORMAT",
    });
    expect([btc, other].map(({ fees }) => fees.bidding?.isReplaced)).toEqual([true, false]);
  });
});
