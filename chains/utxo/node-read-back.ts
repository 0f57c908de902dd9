/**
 * Reads a signed transaction back before a byte reaches a node, without any code of the
 * transaction's builder: `@scure/btc-signer` reads the bytes, and writes and reads addresses. Its
 * reader and hash are enough; the complete Transaction class copies and writes each part several
 * times. The library is loaded on the first use, and never by the signer. The amounts of the coins
 * stand in no byte, so a signature over false amounts does not show here; the signer proves them.
 * Source: BIP-141, BIP-144.
 */
import type { ExpectedAttempt, IndependentReading } from "../nodes.ts";
import type { UtxoNetwork } from "./network.ts";

type Scure = Pick<
  typeof import("@scure/btc-signer"),
  "Address" | "OutScript" | "p2wpkh" | "RawTx"
> &
  Pick<typeof import("@scure/btc-signer/utils"), "sha256x2">;
type RawFields = ReturnType<Scure["RawTx"]["decode"]>;

/** The parameters as the reader expects them, from their texts. */
interface ExpectedParameters {
  readonly coins: readonly string[]; // txHash:output
  readonly changeSat: readonly bigint[];
  readonly feeSat: bigint;
}

const hashTypeAll = 1;
const keyBytes = 33;

let loading: Promise<Scure> | null = null;

async function load(): Promise<Scure> {
  const [scure, { sha256x2 }] = await Promise.all([
    import("@scure/btc-signer"),
    import("@scure/btc-signer/utils"),
  ]);
  return { ...scure, sha256x2 };
}

/** A reader for the transactions of one network. */
export function independentReaderOn(network: UtxoNetwork): IndependentReading {
  let reader: Reader | null = null;
  return async (raw, said) => {
    loading ??= load();
    reader ??= readerOn(network, await loading);
    return compare(reader, Buffer.from(raw.replace(/^0x/, ""), "hex"), said);
  };
}

interface Reader extends Pick<Scure, "RawTx" | "sha256x2"> {
  readonly network: UtxoNetwork;
  readonly addressOf: (script: Uint8Array) => string;
  readonly ownerOf: (key: Uint8Array) => string; // "" for no key of 33 bytes
}

/** Keys whose address is remembered. */
const ownersMax = 16;

/**
 * All payments of an account show the same key, and to prove that it is a point of the curve takes
 * a third of a reading, so the last ones are kept.
 */
function readerOn(
  network: UtxoNetwork,
  { Address, OutScript, p2wpkh, RawTx, sha256x2 }: Scure,
): Reader {
  const versions = {
    bech32: network.prefix,
    pubKeyHash: network.p2pkh,
    scriptHash: network.p2sh,
    wif: 0,
  };
  const owners = new Map<string, string>();
  const ownerOf = (key: Uint8Array): string => {
    const name = Buffer.from(key).toString("hex");
    const known = owners.get(name);
    if (known !== undefined) return known;
    const owner = key.length === keyBytes ? (p2wpkh(key, versions).address ?? "") : "";
    if (owners.size >= ownersMax) owners.clear();
    owners.set(name, owner);
    return owner;
  };
  return {
    network,
    RawTx,
    sha256x2,
    ownerOf,
    addressOf: (script) => Address(versions).encode(OutScript.decode(script)),
  };
}

function compare(
  reader: Reader,
  bytes: Uint8Array,
  { payment, txParams, txHash, isCancel }: ExpectedAttempt,
): string {
  const { network, RawTx, addressOf, ownerOf } = reader;
  const transaction = RawTx.decode(bytes);
  const { inputs, outputs, witnesses = [] } = transaction;
  const { coins, changeSat, feeSat } = expectedOf(txParams);
  const amount = payment.isFeeInside === true ? payment.amountUnits - feeSat : payment.amountUnits;
  const paid = isCancel ? [] : outputs.slice(0, 1);
  const change = isCancel ? outputs : outputs.slice(1);
  const spent = inputs.map(({ txid, index }) => `${Buffer.from(txid).toString("hex")}:${index}`);
  const checks: readonly (readonly [what: string, said: unknown, expected: unknown])[] = [
    ["network", network.id, payment.network],
    ["tag", "none", payment.tag || "none"],
    ["token", "none", payment.contract || "none"],
    ["version", transaction.version, 2],
    ["lock time", transaction.lockTime, 0],
    ["coins", spent.join(), coins.join()],
    [
      "receiver",
      paid.map(({ script }) => addressOf(script)).join(),
      isCancel ? "" : payment.destination,
    ],
    ["amount", paid.map((output) => `${output.amount}`).join(), isCancel ? "" : `${amount}`],
    ["change", change.map(({ amount }) => `${amount}`).join(), changeSat.join()],
    ...change.map(
      ({ script }) => ["receiver of the change", addressOf(script), payment.account] as const,
    ),
    ...inputs.flatMap((input, at) =>
      stackChecks(ownerOf, input, witnesses[at] ?? [], payment.account),
    ),
    [
      "bytes",
      Buffer.from(RawTx.encode(transaction)).toString("hex"),
      Buffer.from(bytes).toString("hex"),
    ],
    ["id", idOf(reader, transaction), txHash],
  ];
  const wrong = checks.find(([, said, expected]) => said !== expected);
  return wrong === undefined ? "" : `${wrong[0]} reads as ${wrong[1]}, not ${wrong[2]}`;
}

/** The hash of the bytes without SegWit data, in the order in which ids are written. */
function idOf({ RawTx, sha256x2 }: Reader, transaction: RawFields): string {
  const body = RawTx.encode({ ...transaction, segwitFlag: false, witnesses: undefined });
  return Buffer.from(sha256x2(body)).reverse().toString("hex");
}

/** Each coin shows a signature over the whole transaction, and the account's own key. */
function stackChecks(
  ownerOf: Reader["ownerOf"],
  { finalScriptSig }: RawFields["inputs"][number],
  stack: readonly Uint8Array[],
  account: string,
) {
  const [signature = new Uint8Array(0), key = new Uint8Array(0)] = stack;
  return [
    ["script of a coin", finalScriptSig.length, 0],
    ["texts of a coin", stack.length, 2],
    ["kind of a signature", signature.at(-1) ?? 0, hashTypeAll],
    ["owner of a coin", ownerOf(key), account],
  ] as const;
}

function expectedOf(txParams: ExpectedAttempt["txParams"]): ExpectedParameters {
  const { coins = "", changeSat = "", feeSat = "" } = txParams ?? {};
  return {
    coins: coins.split(",").map((coin) => coin.slice(0, coin.lastIndexOf(":"))),
    changeSat:
      changeSat === "0" ? [] : changeSat.split(",").map((change) => BigInt(change || "-1")),
    feeSat: BigInt(feeSat || "-1"),
  };
}
