/**
 * Reads a signed transaction back before a byte reaches a node, without any code of the
 * transaction's builder: `@scure/btc-signer` reads the bytes, and writes and reads addresses. The
 * library is loaded on the first use, and never by the signer. The amounts of the coins stand in no
 * byte, so a signature over false amounts does not show here; the signer proves them. Source:
 * BIP-141, BIP-144.
 */
import type { IndependentReading, Said } from "../nodes.ts";
import type { UtxoNetwork } from "./network.ts";

type Scure = typeof import("@scure/btc-signer");

/** The parameters as the reader expects them, from their texts. */
interface Expected {
  readonly coins: readonly string[]; // txHash:output
  readonly changeSat: readonly bigint[];
  readonly feeSat: bigint;
}

const hashTypeAll = 1;
const keyBytes = 33;

let loading: Promise<Scure> | null = null;

/** A reader for the transactions of one network. */
export function readBackOn(network: UtxoNetwork): IndependentReading {
  return async (raw, said) => {
    loading ??= import("@scure/btc-signer");
    return compare(await loading, network, Buffer.from(raw.replace(/^0x/, ""), "hex"), said);
  };
}

function compare(
  scure: Scure,
  network: UtxoNetwork,
  bytes: Uint8Array,
  { payment, txParams, txHash, isCancel }: Said,
): string {
  const transaction = scure.Transaction.fromRaw(bytes, {
    allowUnknownOutputs: true,
    disableScriptCheck: true,
  });
  const { coins, changeSat, feeSat } = expectedOf(txParams);
  const amount = payment.isFeeInside === true ? payment.amountUnits - feeSat : payment.amountUnits;
  const versions = {
    bech32: network.prefix,
    pubKeyHash: network.p2pkh,
    scriptHash: network.p2sh,
    wif: 0,
  };
  const addressOf = (script: Uint8Array | undefined): string =>
    script === undefined ? "" : scure.Address(versions).encode(scure.OutScript.decode(script));
  const inputs = Array.from({ length: transaction.inputsLength }, (_, at) =>
    transaction.getInput(at),
  );
  const outputs = Array.from({ length: transaction.outputsLength }, (_, at) =>
    transaction.getOutput(at),
  );
  const paid = isCancel ? [] : outputs.slice(0, 1);
  const change = isCancel ? outputs : outputs.slice(1);
  const spent = inputs.map(
    ({ txid, index }) => `${Buffer.from(txid ?? []).toString("hex")}:${index}`,
  );
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
    ...inputs.flatMap((input) => stackChecks(scure, versions, input, payment.account)),
    [
      "bytes",
      Buffer.from(transaction.toBytes(true, true)).toString("hex"),
      Buffer.from(bytes).toString("hex"),
    ],
    ["id", transaction.id, txHash],
  ];
  const wrong = checks.find(([, said, expected]) => said !== expected);
  return wrong === undefined ? "" : `${wrong[0]} reads as ${wrong[1]}, not ${wrong[2]}`;
}

/** Each coin shows a signature over the whole transaction, and the account's own key. */
function stackChecks(
  scure: Scure,
  versions: Parameters<Scure["Address"]>[0],
  {
    finalScriptSig,
    finalScriptWitness: stack = [],
  }: ReturnType<InstanceType<Scure["Transaction"]>["getInput"]>,
  account: string,
) {
  const [signature = new Uint8Array(0), key = new Uint8Array(0)] = stack;
  const owner = key.length === keyBytes ? (scure.p2wpkh(key, versions).address ?? "") : "";
  return [
    ["script of a coin", finalScriptSig?.length ?? 0, 0],
    ["texts of a coin", stack.length, 2],
    ["kind of a signature", signature.at(-1) ?? 0, hashTypeAll],
    ["owner of a coin", owner, account],
  ] as const;
}

function expectedOf(txParams: Said["txParams"]): Expected {
  const { coins = "", changeSat = "", feeSat = "" } = txParams ?? {};
  return {
    coins: coins.split(",").map((coin) => coin.slice(0, coin.lastIndexOf(":"))),
    changeSat:
      changeSat === "0" ? [] : changeSat.split(",").map((change) => BigInt(change || "-1")),
    feeSat: BigInt(feeSat || "-1"),
  };
}
