/** Two independent programs, @scure/btc-signer and bitcoinjs-lib, that read our bytes. */
import { secp256k1 } from "@noble/curves/secp256k1";
import * as scure from "@scure/btc-signer";
import * as bitcoinjs from "bitcoinjs-lib";
import type { UtxoNetwork } from "../../chains/utxo/network.ts";

/** A transaction as one of them reads it. */
export interface Reading {
  readonly txHash: string;
  readonly coins: readonly string[];
  readonly sequences: readonly number[];
  readonly outputs: readonly { readonly address: string; readonly units: bigint }[];
  readonly digests: readonly string[];
  readonly size: number; // virtual bytes; 0 for unsigned bytes
}

const { Point } = secp256k1;
const pointOf = (x: Uint8Array) => Point.fromHex(Uint8Array.of(2, ...x));
bitcoinjs.initEccLib({
  isXOnlyPoint: (x) => {
    try {
      pointOf(x);
      return true;
    } catch {
      return false;
    }
  },
  xOnlyPointAddTweak: (x, tweak) => {
    const point = pointOf(x).add(
      Point.BASE.multiply(BigInt(`0x${Buffer.from(tweak).toString("hex")}`)),
    );
    if (point.equals(Point.ZERO)) return null;
    const sum = point.toBytes(true);
    return { parity: sum[0] === 3 ? 1 : 0, xOnlyPubkey: sum.slice(1) };
  },
});

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const signedScript = (keyHash: Uint8Array): Uint8Array =>
  Uint8Array.of(0x76, 0xa9, 20, ...keyHash, 0x88, 0xac);

function versionsOf(network: UtxoNetwork) {
  const bip32 = { public: 0, private: 0 };
  return {
    messagePrefix: "",
    bech32: network.prefix,
    bip32,
    pubKeyHash: network.p2pkh,
    scriptHash: network.p2sh,
    wif: 0x80,
  };
}

export function readByScure(
  raw: Uint8Array,
  network: UtxoNetwork,
  own: Uint8Array,
  amounts: readonly bigint[],
): Reading {
  return scureReading(
    scure.Transaction.fromRaw(raw, { allowUnknownOutputs: true, disableScriptCheck: true }),
    network,
    own,
    amounts,
  );
}

/** Reads a PSBT; amounts and scripts are those in it. */
export function readUnsignedByScure(unsigned: Uint8Array, network: UtxoNetwork): Reading {
  const tx = scure.Transaction.fromPSBT(unsigned);
  const coins = Array.from(
    { length: tx.inputsLength },
    (_, place) => tx.getInput(place).witnessUtxo!,
  );
  return scureReading(
    tx,
    network,
    coins[0]!.script,
    coins.map(({ amount }) => amount),
    true,
  );
}

function scureReading(
  tx: scure.Transaction,
  network: UtxoNetwork,
  own: Uint8Array,
  amounts: readonly bigint[],
  isUnsigned = false,
): Reading {
  const inputs = Array.from({ length: tx.inputsLength }, (_, place) => tx.getInput(place));
  const outputs = Array.from({ length: tx.outputsLength }, (_, place) => tx.getOutput(place));
  return {
    txHash: isUnsigned ? hex(bitcoinjs.crypto.hash256(tx.unsignedTx).reverse()) : tx.id,
    coins: inputs.map(({ txid, index }) => `${hex(txid!)}:${index}`),
    sequences: inputs.map(({ sequence }) => sequence!),
    outputs: outputs.map(({ script, amount }) => ({
      address: scure.Address(versionsOf(network)).encode(scure.OutScript.decode(script!)),
      units: amount!,
    })),
    digests: inputs.map((_, place) =>
      hex(tx.preimageWitnessV0(place, signedScript(own.slice(2)), 1, amounts[place]!)),
    ),
    size: isUnsigned ? 0 : tx.vsize,
  };
}

/**
 * Also checks each signature's form and its key, and with `isVerified` the signature itself, which
 * takes most of the time.
 */
export function readByBitcoinjs(
  raw: Uint8Array,
  network: UtxoNetwork,
  own: Uint8Array,
  amounts: readonly bigint[],
  isVerified: boolean,
): Reading {
  const tx = bitcoinjs.Transaction.fromBuffer(raw);
  const digests = tx.ins.map((_, place) =>
    tx.hashForWitnessV0(place, signedScript(own.slice(2)), amounts[place]!, 1),
  );
  for (const [place, { witness: stack }] of tx.ins.entries()) {
    const { signature, hashType } = bitcoinjs.script.signature.decode(stack[0]!);
    const isOwn = hex(bitcoinjs.crypto.hash160(stack[1]!)) === hex(own.slice(2));
    const isSigned =
      !isVerified || secp256k1.verify(signature, digests[place]!, stack[1]!, { lowS: true });
    if (stack.length !== 2 || hashType !== 1 || !isOwn || !isSigned)
      throw new Error(`coin ${place} is not signed`);
  }
  return { ...bitcoinjsReading(tx, network), digests: digests.map(hex), size: tx.virtualSize() };
}

export function readUnsignedByBitcoinjs(unsigned: Uint8Array, network: UtxoNetwork): Reading {
  const psbt = bitcoinjs.Psbt.fromBuffer(unsigned, { network: versionsOf(network) });
  const tx = bitcoinjs.Transaction.fromBuffer(psbt.data.getTransaction());
  const coins = psbt.data.inputs.map(({ witnessUtxo }) => witnessUtxo!);
  const digests = coins.map(({ script, value }, place) =>
    tx.hashForWitnessV0(place, signedScript(script.slice(2)), value, 1),
  );
  return { ...bitcoinjsReading(tx, network), digests: digests.map(hex), size: 0 };
}

function bitcoinjsReading(tx: bitcoinjs.Transaction, network: UtxoNetwork) {
  return {
    txHash: tx.getId(),
    coins: tx.ins.map(({ hash, index }) => `${hex(Uint8Array.from(hash).reverse())}:${index}`),
    sequences: tx.ins.map(({ sequence }) => sequence),
    outputs: tx.outs.map(({ script, value }) => ({
      address: bitcoinjs.address.fromOutputScript(script, versionsOf(network)),
      units: value,
    })),
  };
}
