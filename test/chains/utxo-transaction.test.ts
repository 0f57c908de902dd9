/**
 * chains/utxo offline, transactions: the vector of BIP-143, generated withdrawals of each
 * coin that two other programs read alike, and every byte near to one that `describe` must refuse.
 */
import { setImmediate as pause } from "node:timers/promises";
import { expect, describe as group, it } from "vitest";
import { keyHashOf } from "../../chains/utxo/address.ts";
import { firstOffer, replacementOffer } from "../../chains/utxo/fees.ts";
import { bitcoin, litecoin, type NativeCoin } from "../../chains/utxo/network.ts";
import { decodeTransaction, encodeTransaction } from "../../chains/utxo/raw-transaction.ts";
import { digestsOf, encodeSignature } from "../../chains/utxo/transaction.ts";
import { utxoTransactions } from "../../chains/utxo/transactions.ts";
import { feeMaxOf, figuresOf, txParamsOf } from "../../chains/utxo/tx-params.ts";
import { share } from "../../lab/kit/share.ts";
import { bytes, codeOf, seed } from "../support/evm-values.ts";
import { places, strideOfRun } from "../support/stride.ts";
import {
  readByBitcoinjs,
  readByScure,
  readUnsignedByBitcoinjs,
  readUnsignedByScure,
} from "./utxo-judges.ts";
import {
  type Account,
  evidenceFor,
  type MadeCoin,
  mainOf,
  provenBy,
  scriptKinds,
  signAll,
  Values,
} from "./utxo-values.ts";

const hex = (text: Uint8Array): string => Buffer.from(text).toString("hex");

const shares = Array.from({ length: share(10, 2) }, (_, at) => at);

/** A generated withdrawal: its coins, and the parameters that the choice of coins gave. */
function withdrawalOf(coin: NativeCoin, values: Values, run = values.random.below(40)) {
  const network = mainOf(coin);
  const owner = values.account(network);
  const coins = Array.from({ length: 1 + (run % 8) }, () =>
    values.coin(owner.script, values.units(2_000_000, 5_000_000)),
  );
  const all = coins.reduce((sum, { units }) => sum + units, 0n);
  const satPerKvB = values.units(0, 9_000);
  const amountUnits = (all * values.units(50, 97)) / 100n;
  const destination = values.destination(network, scriptKinds[run % scriptKinds.length]);
  const txParams = firstOffer(network, { satPerKvB, coins }, { destination, amountUnits });
  if (txParams === null) throw new Error("the coins do not suffice");
  const place = { network: network.id, account: owner.address, slot: "7" };
  const payment = { ...place, contract: "", tag: "", destination, amountUnits };
  return {
    network,
    owner,
    coins,
    satPerKvB,
    txParams,
    place,
    payment,
    evidence: evidenceFor(txParams, coins),
    told: { ...place, txParams },
  };
}

group("the vector of BIP-143", () => {
  const raw =
    "0100000002fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f0000000000eeffffffef51e1b804cc89d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02202cb206000000001976a9148280b37df378db99f66f85c95a783a76ac7a6d5988ac9093510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa815988ac11000000";
  const decoded = decodeTransaction(bytes(raw));
  const coin = {
    units: 600_000_000n,
    script: bytes("00141d0f172a0ecb48aee1be1f2687d2963ae33f71a1"),
  };
  const foreign = {
    units: 625_000_000n,
    script: bytes("2103c9f4836b9a4f77fc0d81f7bcb01b7f1b35916864b9476c241ce9fc198bd25432ac"),
  };

  it("its P2WPKH coin has the digest and the signature of the vector, and the other coin none", () => {
    expect(decoded).not.toBe(null);
    const digests = digestsOf({ transaction: decoded!.transaction, coins: [foreign, coin] });
    expect(digests[0]).toBe(null);
    expect(hex(digests[1]!)).toBe(
      "c37af31116d1b27caf68aae9e3ac82f1477929014d5b917657d0eb49478cb670",
    );
    const [signature] = signAll(
      [digests[1]!],
      bytes("619c335025c7f4012e556c2a58b2506e30b8511b53ade95ea316fd8c3286feb9"),
    );
    expect(hex(encodeSignature(signature!))).toBe(
      "304402203609e17b84f6a7d30c80bfa610b5b4542f32a8a0d5447a12fb1366d7f01cc44a0220573a954c4518331561406f90300e8f3358f51928d43c212a8caed02de67eebee01",
    );
    expect(hex(encodeTransaction(decoded!.transaction))).toBe(raw);
    expect(hex(keyHashOf(coin.script)!)).toBe("1d0f172a0ecb48aee1be1f2687d2963ae33f71a1");
  });
});

group.each([
  ["Bitcoin", bitcoin],
  ["Litecoin", litecoin],
])("%s: generated withdrawals", (_, coin) => {
  const transactions = utxoTransactions;

  it.each(shares)(
    "100, of five address kinds and 1 to 8 coins, are read alike by two other programs: share %i",
    async (at) => {
      const values = new Values(seed + at);
      const counts = new Set<number>();
      for (let run = 0; run < 100; run += 1) {
        const { network, owner, txParams, payment, evidence, told } = withdrawalOf(
          coin,
          values,
          run,
        );
        const figures = figuresOf(txParams);
        const unsigned = provenBy(transactions)(payment, txParams, evidence);
        const description = { ...payment, txParams, feeMaxUnits: feeMaxOf(txParams) };
        expect(transactions.describe(unsigned, told)).toEqual({ ok: true, description });
        const digests = transactions.digests(unsigned);
        const { raw, txHash } = transactions.attach(
          unsigned,
          signAll(digests, owner.key),
          owner.address,
        );
        const amounts = figures.coins.map(({ units }) => units);
        const byScure = readByScure(raw, network, owner.script, amounts);
        expect(byScure).toEqual({
          txHash,
          coins: figures.coins.map(({ id }) => id),
          sequences: amounts.map(() => (network.isReplaced ? 0xfffffffd : 0xffffffff)),
          outputs: [
            { address: payment.destination, units: payment.amountUnits },
            ...figures.changeSat.map((units) => ({ address: owner.address, units })),
          ],
          digests: digests.map(hex),
          size: byScure.size,
        });
        expect(readByBitcoinjs(raw, network, owner.script, amounts, run % 10 === 0)).toEqual(
          byScure,
        );
        if (run % 10 === 0) {
          expect(readUnsignedByScure(unsigned, network)).toEqual({ ...byScure, size: 0 });
          expect(readUnsignedByBitcoinjs(unsigned, network)).toEqual({ ...byScure, size: 0 });
        }
        counts.add(amounts.length);
        await pause();
      }
      expect(counts.size).toBeGreaterThanOrEqual(5);
    },
  );

  it("a cancel pays the anchor back, and only `cancels` describes it", () => {
    const values = new Values(seed + 1);
    for (let run = 0; run < share(50); run += 1) {
      const { network, coins, txParams, payment, place, evidence, told } = withdrawalOf(
        coin,
        values,
      );
      const earlier = [{ txParams, feeMax: `${feeMaxOf(txParams)}` }];
      const anchor = figuresOf(txParams).coins[0]!.id;
      const cancel = replacementOffer(network, { satPerKvB: 1000n, coins }, null, earlier, anchor)!;
      expect(figuresOf(cancel).coins[0]!.id).toBe(anchor);
      const unsigned = transactions.cancels.build(place, cancel);
      const description = {
        ...payment,
        destination: place.account,
        amountUnits: 0n,
        txParams: cancel,
        feeMaxUnits: feeMaxOf(cancel),
      };
      expect(transactions.cancels.describe(unsigned, { ...place, txParams: cancel })).toEqual({
        ok: true,
        description,
      });
      expect(transactions.describe(unsigned, { ...place, txParams: cancel })).toMatchObject({
        ok: false,
        code: "TRANSACTION_FIELD",
      });
      expect(
        transactions.cancels.describe(provenBy(transactions)(payment, txParams, evidence), told),
      ).toMatchObject({
        ok: false,
      });
    }
  });

  it("no flipped bit, cut or longer text is described as the same payment", () => {
    const values = new Values(seed + 2);
    const { txParams, payment, evidence, told } = withdrawalOf(coin, values, 1);
    const unsigned = provenBy(transactions)(payment, txParams, evidence);
    const same = transactions.describe(unsigned, told);
    expect(same.ok).toBe(true);
    let others = 0;
    for (const place of places(unsigned.length, strideOfRun())) {
      for (let bit = 0; bit < 8; bit += 1) {
        const flipped = Uint8Array.from(unsigned);
        flipped[place]! ^= 1 << bit;
        const found = transactions.describe(flipped, told);
        if (transactions.cancels.describe(flipped, told).ok)
          expect.unreachable(`a cancel by bit ${bit} of ${place}`);
        if (!found.ok) continue;
        others += 1;
        expect(found).not.toEqual(same);
        const { account, destination, ...rest } = found.description;
        expect(account !== payment.account || destination !== payment.destination).toBe(true);
        expect(rest).toMatchObject({
          amountUnits: payment.amountUnits,
          feeMaxUnits: feeMaxOf(txParams),
        });
      }
      expect(transactions.describe(unsigned.subarray(0, place), told)).toMatchObject({
        ok: false,
        code: "TRANSACTION_PSBT",
      });
    }
    expect(others).toBeGreaterThan(0);
    expect(transactions.describe(Uint8Array.of(...unsigned, 0), told)).toMatchObject({
      ok: false,
      code: "TRANSACTION_PSBT",
    });
  });
});

group("what build refuses, each with a twin that it takes", () => {
  const transactions = utxoTransactions;
  const values = new Values(seed + 3);
  const network = mainOf(bitcoin);
  const owner: Account = values.account(network);
  const coins: readonly MadeCoin[] = [
    values.coin(owner.script, 60_000n),
    values.coin(owner.script, 40_000n),
  ];
  const payment = {
    network: network.id,
    account: owner.address,
    slot: "1",
    contract: "",
    tag: "",
    destination: values.destination(network, "p2wpkh"),
    amountUnits: 30_000n,
  };
  const figures = { coins, changeSat: [34_000n, 35_000n], feeSat: 1_000n };
  const evidence = coins.map(({ made }) => made);
  const build = (
    other: Partial<typeof payment> = {},
    changed: Partial<Parameters<typeof txParamsOf>[0]> = {},
    shown = evidence,
  ): string =>
    codeOf(() =>
      provenBy(transactions)(
        { ...payment, ...other },
        txParamsOf({ ...figures, ...changed }),
        shown,
      ),
    );

  it.each<[string, string, () => string, () => string]>([
    [
      "change that leaves another amount",
      "TRANSACTION_FIELD",
      () => build({}, { changeSat: [34_000n, 35_001n] }),
      () => build(),
    ],
    [
      "dust as the payment",
      "TRANSACTION_FIELD",
      () => build({ amountUnits: 293n }, { changeSat: [98_707n] }),
      () => build({ amountUnits: 294n }, { changeSat: [98_706n] }),
    ],
    [
      "dust as change",
      "TRANSACTION_FIELD",
      () => build({}, { changeSat: [68_707n, 293n] }),
      () => build({}, { changeSat: [68_706n, 294n] }),
    ],
    [
      "a fee below 1 sat for a byte",
      "TRANSACTION_FIELD",
      () => build({}, { changeSat: [69_792n], feeSat: 208n }),
      () => build({}, { changeSat: [69_791n], feeSat: 209n }),
    ],
    ["no fee", "JSON_SHAPE", () => build({}, { changeSat: [70_000n], feeSat: 0n }), () => build()],
    [
      "a payment to the sender itself",
      "TRANSACTION_FIELD",
      () => build({ destination: owner.address }),
      () => build(),
    ],
    ["a token", "TRANSACTION_FIELD", () => build({ contract: owner.address }), () => build()],
    ["a tag", "TRANSACTION_FIELD", () => build({ tag: "7" }), () => build()],
    [
      "another family's network",
      "TRANSACTION_FIELD",
      () => build({ network: "eip155:1" }),
      () => build(),
    ],
    [
      "another coin's network",
      "ADDRESS_FORMAT",
      () => build({ network: "bip122:12a765e31ffd4059bada1e25190f6e98" }),
      () => build(),
    ],
    [
      "an account that is not P2WPKH",
      "TRANSACTION_FIELD",
      () => build({ account: values.destination(network, "p2wsh") }),
      () => build(),
    ],
    [
      "a mistyped destination",
      "ADDRESS_CHECKSUM",
      () =>
        build({
          destination: payment.destination.replace(/.$/, (end) => (end === "q" ? "p" : "q")),
        }),
      () => build({ destination: payment.destination.toUpperCase() }),
    ],
    [
      "a coin twice",
      "JSON_SHAPE",
      () => build({}, { coins: [coins[0]!, coins[0]!] }, [evidence[0]!, evidence[0]!]),
      () => build(),
    ],
    ["no coin", "JSON_SHAPE", () => build({}, { coins: [] }, []), () => build()],
    [
      "three outputs of change",
      "JSON_SHAPE",
      () => build({}, { changeSat: [30_000n, 30_000n, 9_000n] }),
      () => build(),
    ],
    [
      "no transaction for a coin",
      "TRANSACTION_EVIDENCE",
      () => build({}, {}, evidence.slice(1)),
      () => build(),
    ],
    [
      "one transaction more than coins",
      "TRANSACTION_EVIDENCE",
      () => build({}, {}, [...evidence, evidence[0]!]),
      () => build(),
    ],
    [
      "transactions in another order",
      "TRANSACTION_EVIDENCE",
      () => build({}, {}, [...evidence].reverse()),
      () => build(),
    ],
    [
      "hex in upper case",
      "TRANSACTION_EVIDENCE",
      () =>
        build(
          {},
          {},
          evidence.map((text) => text.toUpperCase()),
        ),
      () => build(),
    ],
  ])("%s: %s", (_, code, refused, taken) => {
    expect(refused()).toBe(code);
    expect(taken()).toBe("");
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ["an amount with a zero in front", { coins: `${coins[0]!.id}:060000,${coins[1]!.id}:40000` }],
    ["an id in upper case", { coins: `${coins[0]!.id.toUpperCase()}:60000,${coins[1]!.id}:40000` }],
    ["an end without a coin", { coins: `${coins[0]!.id}:60000,` }],
    ["change of nothing", { changeSat: "34000,0" }],
    ["a field more", { tip: "1" }],
    ["no fee", { feeSat: "" }],
    [
      "65 coins",
      {
        coins: Array.from(
          { length: 65 },
          (_, place) => `${coins[0]!.id.slice(0, 65)}${place}:60000`,
        ).join(","),
      },
    ],
  ])("parameters with %s are no parameters", (_, changed) => {
    const txParams = txParamsOf(figures);
    expect(codeOf(() => figuresOf(txParams))).toBe("");
    expect(codeOf(() => figuresOf({ ...txParams, ...changed }))).toBe("JSON_SHAPE");
  });

  it("a signature of another key, a high s, a wrong parity or a wrong number is not attached", () => {
    const unsigned = provenBy(transactions)(payment, txParamsOf(figures), evidence);
    const digests = transactions.digests(unsigned);
    const own = signAll(digests, owner.key);
    const attach = (signatures: readonly Uint8Array[], account = owner.address): string =>
      codeOf(() => transactions.attach(unsigned, signatures, account));
    expect(attach(own)).toBe("");
    expect(attach(own.map((each) => each.subarray(0, 64)))).toBe("");
    expect(attach(own.slice(1))).toBe("TRANSACTION_SIGNATURE");
    expect(attach([...own].reverse())).toBe("TRANSACTION_SENDER");
    expect(attach(signAll(digests, values.account(network).key))).toBe("TRANSACTION_SENDER");
    expect(attach(own, values.account(network).address)).toBe("TRANSACTION_SENDER");
    expect(attach(own, "not an address")).toBe("TRANSACTION_SENDER");
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const changed = (change: (signature: Uint8Array) => Uint8Array): string =>
      attach([change(Uint8Array.from(own[0]!)), own[1]!]);
    const otherParity = (signature: Uint8Array) =>
      signature.map((byte, place) => (place === 64 ? byte ^ 1 : byte));
    const highS = (signature: Uint8Array) => {
      const s = order - BigInt(`0x${hex(signature.subarray(32, 64))}`);
      return Uint8Array.of(
        ...signature.subarray(0, 32),
        ...Buffer.from(s.toString(16).padStart(64, "0"), "hex"),
        signature[64]! ^ 1,
      );
    };
    expect(changed(otherParity)).toBe("TRANSACTION_SENDER");
    expect(changed(highS)).toBe("TRANSACTION_SIGNATURE");
    expect(changed((signature) => signature.subarray(0, 63))).toBe("TRANSACTION_SIGNATURE");
    expect(changed((signature) => signature.fill(2, 64))).toBe("TRANSACTION_SIGNATURE");
    expect(codeOf(() => transactions.attach(unsigned.subarray(1), own, owner.address))).toBe(
      "TRANSACTION_PSBT",
    );
    expect(codeOf(() => transactions.digests(new Uint8Array(0)))).toBe("TRANSACTION_PSBT");
  });
});
