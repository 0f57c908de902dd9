/**
 * The offline interface to the chains: slots, the rule for a replacement with a higher fee, and
 * addresses whose network is not known yet.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Bug } from "../../base/fault.ts";
import { parseAddress, parseAddressOnAny } from "../../chains/address-forms.ts";
import { openSender } from "../../chains/connect.ts";
import { encodeTransferCall } from "../../chains/evm/erc20.ts";
import { outcomeOf } from "../../chains/evm/outcome.ts";
import {
  addressSpaceNames,
  expiryExclusionOf,
  families,
  familyOf,
  findFamily,
  findFamilyOfAddressSpace,
  networkOf,
} from "../../chains/families.ts";
import type { PricedAttempt, TxParams } from "../../chains/family.ts";
import { mainNetworkByAddressSpace } from "../../chains/network-names.ts";
import { addressSpacesOf, isNetworkInSignedBytes } from "../../chains/several-networks.ts";
import { familyTransactionsOf } from "../../chains/transactions.ts";
import { utxoNetworks } from "../../chains/utxo/network.ts";

const onTron = "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC";
const shop = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const token = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
const { slots, fees } = families.evm;
const { replacement, replacementAt } = fees.bidding!;

describe("families", () => {
  it("are found by the names of their networks, and only ours are", () => {
    expect(networkOf({ family: "evm", chainId: 31337 })).toBe("eip155:31337");
    expect(familyOf("eip155:1")).toBe(families.evm);
    expect(
      ["bip122:0f9188f13cb7b2c71f2a335e3a4fc328f", "eip155", "", "constructor:1"].map(findFamily),
    ).toEqual(Array.from({ length: 4 }));
    expect(() => familyOf("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp")).toThrow(Bug);
  });

  it("exclude a second payment by a slot or by expiry, and only a family that excludes by expiry asks which attempts are void", () => {
    const [waits, pays] = ["tron:0x2b6653dc", "eip155:1"];
    expect([waits, pays].map((network) => familyOf(network).exclusion.kind)).toEqual([
      "expiry",
      "slot",
    ]);
    expect([expiryExclusionOf(waits)?.marginMs, expiryExclusionOf(pays)]).toEqual([120_000, null]);
    expect([waits, pays].map((network) => familyTransactionsOf(network).cancels === null)).toEqual([
      true,
      false,
    ]);
    expect([waits, pays].map((network) => familyOf(network).fees.bidding === null)).toEqual([
      true,
      false,
    ]);
    const options = { nodes: ["http://127.0.0.1:9"], confirmations: "finalized" } as const;
    const rest = { tokens: [], clock: () => 0, log: () => undefined };
    const asks = (chain: { family: "evm" | "tron"; chainId: number | string }): boolean => {
      const nodes = openSender({ chain: { ...chain, ...options }, ...rest });
      nodes.close();
      return nodes.findVoid !== undefined;
    };
    expect([
      asks({ family: "tron", chainId: "0x2b6653dc" }),
      asks({ family: "evm", chainId: 1 }),
    ]).toEqual([true, false]);
  });

  it("an address is read on its own network, and no other family's address is one there", () => {
    expect(parseAddress(shop.toLowerCase(), "eip155:1")).toEqual({ ok: true, address: shop });
    expect(parseAddress(shop.replace("C", "c"), "eip155:1")).toMatchObject({
      ok: false,
      code: "ADDRESS_CHECKSUM",
    });
    expect(parseAddress(onTron, "tron:0x2b6653dc")).toEqual({ ok: true, address: onTron });
    expect(parseAddress(onTron, "eip155:1")).toMatchObject({ ok: false, code: "ADDRESS_FORMAT" });
    expect(parseAddress(shop, "tron:0x2b6653dc").ok).toBe(false);
    expect(parseAddress(shop, "xrpl:0")).toMatchObject({ ok: false, code: "ADDRESS_FORMAT" });
    expect(parseAddress(shop, "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp")).toMatchObject({
      ok: false,
      code: "ADDRESS_FORMAT",
    });
  });

  it("an address without a network is read on each network that it may be of", () => {
    const networks = ["eip155:1", "eip155:56", "tron:0x2b6653dc"];
    expect(parseAddressOnAny(shop.toLowerCase(), networks)).toEqual({
      ok: true,
      addresses: [shop],
    });
    expect(parseAddressOnAny(onTron, networks)).toEqual({ ok: true, addresses: [onTron] });
    expect(parseAddressOnAny(onTron, ["eip155:1"])).toMatchObject({
      ok: false,
      code: "ADDRESS_FORMAT",
    });
    expect(parseAddressOnAny(shop.replace("C", "c"), networks)).toMatchObject({
      ok: false,
      code: "ADDRESS_CHECKSUM",
    });
    expect(parseAddressOnAny("somewhere", networks)).toMatchObject({ ok: false });
  });
});

describe("address spaces", () => {
  it("have the names of configurations, in the order in which a wallet lists its accounts, and each its family", () => {
    const coins = ["bitcoin", "bitcointestnet4", "bitcoinsignet", "bitcoinregtest"] as const;
    const litecoin = ["litecoin", "litecoinregtest"] as const;
    expect(addressSpaceNames).toEqual(["evm", "tron", ...coins, ...litecoin, "xrp"]);
    expect(addressSpaceNames.map((name) => families[name].addressSpace.name)).toEqual(
      addressSpaceNames,
    );
    expect(utxoNetworks.map(({ name }) => name)).toEqual([...coins, ...litecoin]);
    const keys = addressSpaceNames.map((name) => families[name].name);
    expect(keys).toEqual(["evm", "tron", ...utxoNetworks.map(() => "utxo"), "xrp"]);
    expect(addressSpacesOf(["xrpl:1", "xrpl:0", utxoNetworks[4]?.id ?? "", "eip155:1"])).toEqual([
      ...["evm", "litecoin", "xrp"],
    ]);
  });

  it("are found by names from outside alone, and a family's own name is none where it has several", () => {
    expect(findFamilyOfAddressSpace("litecoin")).toBe(families.litecoin);
    expect(["utxo", "", "constructor", "Bitcoin"].map(findFamilyOfAddressSpace)).toEqual(
      Array.from({ length: 4 }),
    );
  });

  it("on Tron and XRP a network stands in no signed byte", () => {
    const main = addressSpaceNames.filter(
      (name) => !isNetworkInSignedBytes(mainNetworkByAddressSpace[name]),
    );
    expect(main).toEqual(["tron", "xrp"]);
  });
});

describe("slots of an account", () => {
  it("have one spelling and end where the chain's do", () => {
    for (const text of ["0", "7", "18446744073709551614"]) expect(slots.read(text)).toBe(text);
    for (const text of ["", "00", "07", "-1", "0x7", "1.0", "18446744073709551615"])
      expect(slots.read(text)).toBeNull();
    expect([slots.next("0"), slots.next("9")]).toEqual(["1", "10"]);
  });

  it("stand in the order in which blocks take them", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 2n ** 64n - 2n }),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 2n }),
        (a, b) => {
          expect(Math.sign(slots.compare(`${a}`, `${b}`))).toBe(a < b ? -1 : a > b ? 1 : 0);
        },
      ),
    );
  });
});

describe("a replacement with a higher fee", () => {
  const wei = fc.bigInt({ min: 0n, max: 10n ** 15n });
  const offer = fc.record({ fee: wei, tip: wei }).map(
    ({ fee, tip }): TxParams => ({
      gasLimit: "21000",
      maxFeePerGas: `${fee + tip}`,
      maxPriorityFeePerGas: `${tip}`,
    }),
  );
  const attempt = (txParams: TxParams): PricedAttempt => ({
    txHash: "0x1",
    txParams,
    feeMax: `${fees.most(txParams)}`,
  });
  const figure = (txParams: TxParams, name: string): bigint => BigInt(txParams[name] ?? "-1");
  const isEighthAbove = (now: bigint, before: bigint): boolean =>
    8n * now >= 9n * before && now > before;

  it("raises both fees by an eighth at least, and the same rule leaves its own result as it is", () => {
    fc.assert(
      fc.property(offer, offer, (newest, asked) => {
        const next = replacement([attempt(newest)], asked, false);
        expect(isEighthAbove(figure(next, "maxFeePerGas"), figure(newest, "maxFeePerGas"))).toBe(
          true,
        );
        expect(
          isEighthAbove(
            figure(next, "maxPriorityFeePerGas"),
            figure(newest, "maxPriorityFeePerGas"),
          ),
        ).toBe(true);
        expect(figure(next, "maxFeePerGas")).toBeGreaterThanOrEqual(
          figure(next, "maxPriorityFeePerGas"),
        );
        expect(replacement([attempt(newest)], next, false)).toEqual(next);
      }),
    );
  });

  it("is to the signer what the courier reckoned it to be", () => {
    const feeMarket = {
      baseFeePerGas: 30n,
      maxPriorityFeePerGas: 2n,
      maxPriorityFeePerGasHigh: 5n,
    };
    const wanted = { network: "eip155:1", contract: "", destination: "", tag: "", amountUnits: 1n };
    fc.assert(
      fc.property(
        offer,
        fc.integer({ min: 1, max: 14 }),
        fc.boolean(),
        (newest, number, isTipLow) => {
          const next = replacementAt(
            { feeMarket, computeLimit: 21_000n, coins: [] },
            wanted,
            [attempt(newest)],
            number,
            isTipLow,
          )!;
          expect(replacement([attempt(newest)], next, false)).toEqual(next);
        },
      ),
    );
  });
});

describe("the rule for paid", () => {
  const payment = { account: token, contract: "", destination: shop, tag: "", amountUnits: 5n };
  const receipt = {
    ...{
      txHash: "0x1",
      blockNumber: 9,
      blockHash: "0xb",
      status: 1 as const,
      from: token,
      to: shop,
    },
    ...{ gasUsed: 1n, effectiveGasPrice: 1n, dataFee: 0n, logs: [] },
  };
  const sent = { to: shop, valueUnits: 5n, input: "0x" };

  it("knows a payment in coins, one that failed, one of nothing to oneself, and anything else", () => {
    expect(outcomeOf(payment, sent, receipt)).toBe("paid");
    expect(outcomeOf(payment, sent, { ...receipt, status: 0 })).toBe("reverted");
    expect(outcomeOf(payment, { ...sent, to: token, valueUnits: 0n }, receipt)).toBe("cancelled");
    expect(outcomeOf(payment, { ...sent, valueUnits: 4n }, receipt)).toBe("moved");
    expect(outcomeOf(payment, { ...sent, to: token }, receipt)).toBe("moved");
  });

  it("takes a call for no payment where the token says nothing", () => {
    const call = `0x${Buffer.from(encodeTransferCall(shop, 5n)).toString("hex")}`;
    const inToken = { ...payment, account: shop, contract: token };
    expect(outcomeOf(inToken, { to: token, valueUnits: 0n, input: call }, receipt)).toBe("moved");
  });
});
