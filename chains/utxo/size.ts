/**
 * Sizes of the transactions that are made here, which have only P2WPKH coins, and the least amount
 * that nodes accept in an output. Pure. Sources: BIP-141, "Transaction size calculations";
 * policy.cpp of Bitcoin Core (GetDustThreshold).
 */
import type { UtxoNetwork } from "./network.ts";

/** Version, lock time and both counts; the sizes of a coin's input, and of an output's head. */
const bytes = { frame: 10n, input: 41n, output: 9n } as const;
/** Marker and flag; number, longest signature (72) and key (33) of a coin, behind their lengths. */
const segwitBytes = { frame: 2n, input: 108n } as const;
/** The bytes for which nodes charge an output: those of the input that takes it later. */
const laterInputBytes = { segwit: 67n, other: 148n } as const;
/** The scripts of SegWit outputs, by the first byte: version 0 or 1. */
const segwitStarts: readonly (number | undefined)[] = [0x00, 0x51];
const p2wpkhBytes = 22n;
/** Nodes forward nothing below 1 sat for a virtual byte. */
export const satPerByteMin = 1n;

/**
 * Virtual bytes of a signed transaction, at its longest. `scriptBytes` is null if no output pays
 * another party. Measured: 110 for one coin and one P2WPKH output, 141 with change, 209 with two
 * coins.
 */
export function sizeOf(coinCount: number, scriptBytes: number | null, changeCount: number): bigint {
  const coins = BigInt(coinCount);
  const payment = scriptBytes === null ? 0n : bytes.output + BigInt(scriptBytes);
  const body =
    bytes.frame +
    coins * bytes.input +
    payment +
    BigInt(changeCount) * (bytes.output + p2wpkhBytes);
  const weight = body * 4n + segwitBytes.frame + coins * segwitBytes.input;
  return (weight + 3n) / 4n;
}

/** The least sat that nodes accept in an output with this script: 294 for P2WPKH on Bitcoin. */
export function dustOf(script: Uint8Array, { dustSatPerKvB }: UtxoNetwork): bigint {
  const later = segwitStarts.includes(script[0]) ? laterInputBytes.segwit : laterInputBytes.other;
  return ((bytes.output + BigInt(script.length) + later) * dustSatPerKvB) / 1000n;
}

/** As `dustOf`, for change. */
export function dustOfChange({ dustSatPerKvB }: UtxoNetwork): bigint {
  return ((bytes.output + p2wpkhBytes + laterInputBytes.segwit) * dustSatPerKvB) / 1000n;
}
