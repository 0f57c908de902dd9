/**
 * Two runs of chains/tron against tronweb: generated transfers must be to it what they are to us,
 * and malformed bytes are refused or read as it reads them. Each throws a Finding with the bytes.
 */
import { utils } from "tronweb";
import { signDigest } from "../../agent/signer/vault/curve.ts";
import {
  attachSignature,
  buildTransfer,
  describeTransfer,
  digestOf,
} from "../../chains/tron/transaction.ts";
import { SeededRandom } from "../kit/seeded.ts";
import {
  encodeByTronweb,
  exactNumbers,
  jsonOf,
  type Reading,
  readByTronweb,
  readingOf,
  signerByTronweb,
} from "../kit/tron-judge.ts";
import { addressBy, keyBy, sender, transferBy } from "../kit/tron-values.ts";
import { must } from "./target.ts";
import { mutateRawData } from "./tron-mutations.ts";

const exactMax = 2n ** 53n - 1n;
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** How many of each kind were looked at. */
export interface Transfers {
  readonly coins: number;
  readonly tokens: number;
  readonly encodedByTronweb: number;
}

export function judgeTransfers(seed: number, count: number): Transfers {
  const random = new SeededRandom(seed);
  const seen = { coins: 0, tokens: 0, encodedByTronweb: 0 };
  for (let at = 0; at < count; at++) {
    const { contract, isExact } = judgeTransfer(random);
    seen[contract === "" ? "coins" : "tokens"] += 1;
    if (isExact) seen.encodedByTronweb += 1;
  }
  return seen;
}

/**
 * A transfer by chance: described back as it was built, its numbers the same to Google's reader,
 * its signer recovered by tronweb. If tronweb's numbers are exact, tronweb's own encoder gives the
 * same bytes and the same id as well, and the same reading.
 */
export function judgeTransfer(random: SeededRandom): {
  readonly contract: string;
  readonly isExact: boolean;
} {
  const key = keyBy(random);
  const transfer = transferBy(random, utils.crypto.pkToAddress(hex(key)), !random.chance(8));
  const { contract } = transfer;
  const rawData = buildTransfer(transfer);
  const described = describeTransfer(rawData);
  const wanted = readingOf(transfer);
  must(
    described.ok && same(readingOf(described.transfer), wanted),
    `our own reading differs: ${hex(rawData)}`,
  );
  must(
    same({ ...wanted, ...exactNumbers(rawData) }, wanted),
    `the plain reading differs: ${hex(rawData)}`,
  );
  const { raw, txHash } = attachSignature(
    rawData,
    signDigest(digestOf(rawData), key),
    transfer.sender,
  );
  must(
    signerByTronweb(txHash, raw.subarray(-65)) === transfer.sender,
    `tronweb recovers another signer: ${hex(rawData)}`,
  );
  if (contract === "" && transfer.amountUnits > exactMax) return { contract, isExact: false };
  must(same(readByTronweb(rawData), wanted), `tronweb reads it differently: ${hex(rawData)}`);
  const theirs = encodeByTronweb(jsonOf(transfer));
  must(
    theirs.rawData === hex(rawData),
    `tronweb writes other bytes: ${theirs.rawData}, ours ${hex(rawData)}`,
  );
  must(theirs.txId === txHash, `tronweb names another id: ${theirs.txId}`);
  return { contract, isExact: true };
}

/** Malformed bytes by their end; `refusedThoughRead` of the refused could be read by tronweb. */
export interface Mutations {
  readonly unchanged: number;
  readonly read: number;
  readonly refused: number;
  readonly refusedThoughRead: number;
  readonly byCode: Readonly<Record<string, number>>;
}

/** Malforms transfers `count` times; those that stay what they were are counted apart. */
export function judgeMutations(seed: number, count: number): Mutations {
  const random = new SeededRandom(seed);
  const seen = { unchanged: 0, read: 0, refused: 0, refusedThoughRead: 0 };
  const byCode: Record<string, number> = {};
  const others = Array.from({ length: 8 }, () =>
    buildTransfer(transferBy(random, addressBy(random), true)),
  );
  while (seen.read + seen.refused < count) {
    const honest = buildTransfer(
      transferBy(random, random.chance(2) ? sender : addressBy(random), random.chance(2)),
    );
    const malformed = mutateRawData(honest, others, random);
    if (Buffer.compare(honest, malformed) === 0) seen.unchanged += 1;
    else {
      const code = judgeBytes(malformed);
      seen[code === "" ? "read" : "refused"] += 1;
      if (code === "") continue;
      byCode[code] = (byCode[code] ?? 0) + 1;
      if (readOrNull(malformed) !== null) seen.refusedThoughRead += 1;
    }
  }
  return { ...seen, byCode };
}

/**
 * The code that the bytes are refused with; "" where they are read, and then as tronweb reads them.
 */
export function judgeBytes(rawData: Uint8Array): string {
  const described = describeTransfer(rawData);
  if (!described.ok) return described.code;
  const ours = readingOf(described.transfer);
  must(
    hex(buildTransfer(described.transfer)) === hex(rawData),
    `built again it is other bytes: ${hex(rawData)}`,
  );
  must(
    same({ ...ours, ...exactNumbers(rawData) }, ours),
    `the plain reading differs: ${hex(rawData)}`,
  );
  const theirs = readOrNull(rawData);
  must(theirs !== null, `tronweb cannot read it: ${hex(rawData)}`);
  must(same(theirs, roundedAsTronweb(ours)), `tronweb reads it differently: ${hex(rawData)}`);
  return "";
}

/** tronweb keeps an amount of TRX as a number. */
function roundedAsTronweb(reading: Reading): Reading {
  return reading.contract === ""
    ? { ...reading, amountUnits: `${Number(reading.amountUnits)}` }
    : reading;
}

function readOrNull(rawData: Uint8Array): Reading | null {
  try {
    return readByTronweb(rawData);
  } catch {
    return null;
  }
}

function same(one: Reading, other: Reading): boolean {
  return (Object.keys(other) as (keyof Reading)[]).every((name) => one[name] === other[name]);
}
