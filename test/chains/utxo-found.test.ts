/**
 * Who spends a coin: an input with an account's key is a candidate, and the coin's own script
 * decides. Outputs of other kinds take any stack (BIP-141, SegWit versions 2 to 16; BIP-341, leaf
 * versions; Bitcoin Core #30352, P2A).
 */
import { describe, expect, it } from "vitest";
import { addressOfScript } from "../../chains/utxo/address.ts";
import type { ChainTransaction } from "../../chains/utxo/chain-transaction.ts";
import { accountsByKeyHash, outgoingOf, paymentsIn, scriptKey } from "../../chains/utxo/found.ts";
import { hash160 } from "../../chains/utxo/hash.ts";
import { bitcoin, type UtxoNetwork } from "../../chains/utxo/network.ts";

const network = bitcoin.networks.at(-1) as UtxoNetwork;
const key = Buffer.from(`02${"11".repeat(32)}`, "hex");
const own = Buffer.concat([Buffer.from([0x00, 0x14]), hash160(key)]);
const account = addressOfScript(own, network) as string;
const outsider = Buffer.concat([Buffer.from([0x00, 0x14]), Buffer.alloc(20, 7)]);
const made = "ab".repeat(32);
const strange: readonly (readonly [string, Buffer])[] = [
  ["SegWit version 16", Buffer.concat([Buffer.from([0x60, 0x14]), hash160(key)])],
  ["pay to anchor", Buffer.from("51024e73", "hex")],
  ["taproot", Buffer.concat([Buffer.from([0x51, 0x20]), Buffer.alloc(32, 9)])],
];

function spending(receiver: Buffer): ChainTransaction {
  const inputs = [{ outpoint: `${made}:1`, stack: [Buffer.alloc(71, 1), key] }];
  return {
    ...{
      txHash: "cd".repeat(32),
      inputs,
      outputs: [{ units: 500_000_000n, script: receiver }],
      isReward: false,
    },
    ...{ isExtension: false, hasStacks: true, body: Buffer.alloc(0), whole: Buffer.alloc(0) },
  };
}

describe("an input with the account's key", () => {
  const find = (text: string): string | undefined =>
    text === scriptKey(own) ? account : undefined;
  const outgoing = (script: Buffer, receiver = outsider) =>
    outgoingOf([spending(receiver)], accountsByKeyHash([account]), network, async () => script);

  it("is the account's spend, and its output there is change, where the coin's own script is the account's", async () => {
    expect(await outgoing(own)).toMatchObject([
      { account, amountUnits: 500_000_000n, outpoints: [`${made}:1`] },
    ]);
    expect(await paymentsIn(spending(own), find, async () => own)).toEqual([]);
  });

  it.each(strange)(
    "is nobody's spend out of %s, and its output to the account is a payment",
    async (_, script) => {
      expect(await outgoing(script)).toEqual([]);
      expect(await paymentsIn(spending(own), find, async () => script)).toMatchObject([
        { address: account },
      ]);
    },
  );

  it("is not judged without the coin's script, and no other input is asked about", async () => {
    const asked: string[] = [];
    const lost = async (outpoint: string): Promise<Uint8Array> => {
      asked.push(outpoint);
      throw new Error("no node shows it");
    };
    await expect(
      outgoingOf([spending(outsider)], accountsByKeyHash([account]), network, lost),
    ).rejects.toThrow("no node");
    const other = addressOfScript(outsider, network) as string;
    expect(await outgoingOf([spending(own)], accountsByKeyHash([other]), network, lost)).toEqual(
      [],
    );
    expect(asked).toEqual([`${made}:1`]);
  });
});
